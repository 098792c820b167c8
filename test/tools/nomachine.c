/*
 * nomachine.c
 *	  Hides the machine id from a server, as where a container has none: loaded before its libraries.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef FILE *(*Open) (const char *path, const char *mode);

static FILE *
open_other(const char *function, const char *path, const char *mode)
{
	if (strstr(path, "machine-id"))
	{
		errno = ENOENT;
		return NULL;
	}
	return ((Open) dlsym(RTLD_NEXT, function)) (path, mode);
}

FILE *
fopen(const char *path, const char *mode)
{
	return open_other("fopen", path, mode);
}

FILE *
fopen64(const char *path, const char *mode)
{
	return open_other("fopen64", path, mode);
}
