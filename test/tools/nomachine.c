/*
 * nomachine.c
 *	  Hides the machine id from a server, as where a container has none, and gives it a host name that is no text in
 *	  UTF-8: loaded before its libraries.
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

int
gethostname(char *name, size_t length)
{
	strncpy(name, "pod\xe9\n\xf0", length);
	return 0;
}
