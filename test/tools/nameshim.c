/*
 * nameshim.c
 *	  A name server that answers when a test says so, for a server and all of its processes.
 *
 * Preloaded (LD_PRELOAD) into the postmaster, it takes over the names that end in ".test".  The look-up of such a name
 * lasts until the folder NAMESHIM_FOLDER has a file of that name: its lines are the addresses, and if it is empty, the
 * name does not exist.  The file "asked" there gets a line for each look-up that begins, and "wrong" one for each that
 * should not be as it is: in the process's first thread, which must not wait, or where signals are not blocked,
 * whose handlers would run in a thread that PostgreSQL does not know.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the end each look-up fails, so that a test which does not expect it ends. */
#define LOOKS 30000
#define PAUSE 10000				/* microseconds */

typedef int (*Getaddrinfo) (const char *, const char *, const struct addrinfo *, struct addrinfo **);

static Getaddrinfo real;

static void
append(const char *folder, const char *file, const char *what, const char *name)
{
	char		path[4096];
	char		line[512];
	int			fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	snprintf(line, sizeof(line), "%s%s\n", what, name);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}

static void
check_thread(const char *folder, const char *name)
{
	static const int handled[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGURG, SIGALRM, SIGCHLD};
	sigset_t	blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++)
		if (!sigismember(&blocked, handled[i]))
		{
			append(folder, "wrong", "a signal is not blocked: ", name);
			return;
		}
}

/* The addresses of a file; each is a result of its own, with the next one behind it. */
static int
read_addresses(FILE *file, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
	struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo **end = result;
	char		line[256];

	if (hints)
		numeric.	ai_socktype = hints->ai_socktype;

	*result = NULL;
	while (fgets(line, sizeof(line), file))
	{
		line[strcspn(line, "\n")] = '\0';
		if (real(line, service, &numeric, end) != 0)
			abort();
		while (*end)
			end = &(*end)->ai_next;
	}
	fclose(file);
	return *result ? 0 : EAI_NONAME;
}

int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
	const char *folder = getenv("NAMESHIM_FOLDER");
	const char *end = name ? strrchr(name, '.') : NULL;
	char		path[4096];

	if (!real)
		real = (Getaddrinfo) dlsym(RTLD_NEXT, "getaddrinfo");
	if (!folder || !end || strcmp(end, ".test") != 0 || (hints && hints->ai_flags & AI_NUMERICHOST))
		return real(name, service, hints, result);
	append(folder, "asked", "", name);
	if (syscall(SYS_gettid) == getpid())
	{
		append(folder, "wrong", "the first thread waits: ", name);
		return EAI_FAIL;
	}
	check_thread(folder, name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (int i = 0; i < LOOKS; i++)
	{
		FILE	   *file = fopen(path, "re");

		if (file)
			return read_addresses(file, service, hints, result);
		usleep(PAUSE);
	}
	return EAI_AGAIN;
}
