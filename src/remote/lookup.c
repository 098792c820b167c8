/*
 * lookup.c
 *	  Names of hosts, looked up beside everything else: see lookup.h.
 *
 * A thread knows nothing of PostgreSQL: it allocates nothing there, reports nothing, and blocks all signals,
 * whose handlers are for the process's first thread.  What it has found it writes into its look-up,
 * which is its own until it has handed it over, by its address in a pipe.  After that it is the process's.
 * So there is no lock, and the process can wait for the pipe as for any socket.
 *
 * Not getaddrinfo_a(), which only glibc has, and whose threads all look-ups of a process share.
 */
#include "postgres.h"

#include "remote/lookup.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "datatype/timestamp.h"
#include "storage/fd.h"

/*
 * At most this many names are looked up at a time.  A further name waits until a look-up has ended; each ends, since
 * a resolver gives up by itself.
 */
#define THREADS_MAX 64

/* For so long a result counts that nobody has asked for.  After that the name may have moved. */
#define FRESH (INT64CONST(60) * USECS_PER_SEC)

/* The addresses of a name; any more are left out. */
#define ADDRESSES_MAX 1024

typedef struct Lookup
{
	struct Lookup *next;		/* the process's, like all that follows */
	bool		ended;			/* the thread has handed it over: */
	UidgenMicroseconds ended_at;

	/* The thread's, until then. */
	int			error;			/* getaddrinfo()'s */
	int			system_error;	/* errno, where that says so */
	char		addresses[ADDRESSES_MAX];

	char		name[FLEXIBLE_ARRAY_MEMBER];	/* never changed */
} Lookup;

/* Those under way, and those whose result nobody has asked for yet. */
static Lookup *lookups = NULL;
static int	under_way = 0;

/*
 * A pipe into which threads write the addresses of their look-ups.  It has room for all threads' addresses, so no
 * thread waits.  Kept to the end of the process.
 */
static int	handed_over[2] = {-1, -1};

/* ---- in a thread ---- */

static void
write_addresses(Lookup *lookup, const struct addrinfo *found)
{
	size_t		length = 0;

	for (; found; found = found->ai_next)
	{
		/* with a scope, such as %eth0 */
		char		address[INET6_ADDRSTRLEN + 64];
		size_t		n;

		if ((found->ai_family != AF_INET && found->ai_family != AF_INET6) ||
			getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof(address), NULL, 0,
						NI_NUMERICHOST) != 0)
			continue;
		n = strlen(address);
		if (length + n + 2 > sizeof(lookup->addresses))
			break;
		if (length > 0)
			lookup->addresses[length++] = ',';
		memcpy(lookup->addresses + length, address, n + 1);
		length += n;
	}
}

static void *
look_up(void *arg)
{
	Lookup	   *lookup = arg;

	/* as libpq asks */
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	lookup->error = getaddrinfo(lookup->name, NULL, &hints, &found);
	lookup->system_error = errno;
	if (lookup->error == 0)
	{
		write_addresses(lookup, found);
		freeaddrinfo(found);
	}
	while (write(handed_over[1], &lookup, sizeof(lookup)) < 0 && errno == EINTR)
		;
	return NULL;
}

/* ---- in the process ---- */

/* These return 0 or an error number. */

static int
open_pipe(void)
{
	int			fds[2];

	if (handed_over[0] >= 0)
		return 0;
	if (pipe(fds) != 0)
		return errno;
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0 ||
		fcntl(fds[0], F_SETFD, FD_CLOEXEC) != 0 || fcntl(fds[1], F_SETFD, FD_CLOEXEC) != 0)
	{
		int			error = errno;

		close(fds[0]);
		close(fds[1]);
		return error;
	}
	ReserveExternalFD();
	ReserveExternalFD();
	memcpy(handed_over, fds, sizeof(fds));
	return 0;
}

static int
start_thread(Lookup *lookup)
{
	pthread_attr_t attributes;
	pthread_t	thread;
	sigset_t	all;
	sigset_t	before;
	int			error = pthread_attr_init(&attributes);

	if (error != 0)
		return error;
	(void) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* A thread begins with the mask of the one that makes it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, look_up, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

static int
begin(const char *name)
{
	Lookup	   *lookup = calloc(1, offsetof(Lookup, name) + strlen(name) + 1);
	int			error;

	if (!lookup)
		return ENOMEM;
	strcpy(lookup->name, name);
	error = open_pipe();
	if (error == 0)
		error = start_thread(lookup);
	if (error != 0)
	{
		free(lookup);
		return error;
	}
	lookup->next = lookups;
	lookups = lookup;
	under_way++;
	return 0;
}

/* Take what threads have handed over. */
static void
take_ended(void)
{
	Lookup	   *lookup;

	while (handed_over[0] >= 0 && read(handed_over[0], &lookup, sizeof(lookup)) == sizeof(lookup))
	{
		lookup->ended = true;
		lookup->ended_at = uidgen_clock_monotonic();
		under_way--;
	}
}

/* Forget results that nobody has asked for in time. */
static void
forget_old(void)
{
	UidgenMicroseconds now = uidgen_clock_monotonic();
	Lookup	  **link = &lookups;

	while (*link)
	{
		Lookup	   *lookup = *link;

		if (lookup->ended && now - lookup->ended_at > FRESH)
		{
			*link = lookup->next;
			free(lookup);
		}
		else
			link = &lookup->next;
	}
}

static char *
why_not(const char *name, const char *why)
{
	/* in libpq's words */
	return psprintf("could not translate host name \"%s\" to address: %s", name, why);
}

static UidgenLookupState
take_result(const Lookup *lookup, char **text)
{
	if (lookup->error == 0 && lookup->addresses[0])
	{
		*text = pstrdup(lookup->addresses);
		return UIDGEN_LOOKUP_FOUND;
	}
	*text = why_not(lookup->name,
					lookup->error == 0 ? "it has none" :
					lookup->error == EAI_SYSTEM ? strerror(lookup->system_error) :
					gai_strerror(lookup->error));
	return UIDGEN_LOOKUP_FAILED;
}

UidgenLookupState
uidgen_lookup(const char *name, char **text)
{
	int			error;

	take_ended();
	forget_old();
	for (Lookup **link = &lookups; *link; link = &(*link)->next)
	{
		Lookup	   *lookup = *link;
		UidgenLookupState state;

		if (strcmp(lookup->name, name) != 0)
			continue;
		if (!lookup->ended)
			return UIDGEN_LOOKUP_UNDER_WAY;
		state = take_result(lookup, text);
		*link = lookup->next;
		free(lookup);
		return state;
	}
	if (under_way >= THREADS_MAX)
		return UIDGEN_LOOKUP_UNDER_WAY;
	error = begin(name);
	if (error == 0)
		return UIDGEN_LOOKUP_UNDER_WAY;
	*text = why_not(name, strerror(error));
	return UIDGEN_LOOKUP_FAILED;
}

pgsocket
uidgen_lookup_socket(void)
{
	return handed_over[0];
}

bool
uidgen_lookup_is_for(const char *host)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct addrinfo *found = NULL;

	/* '@': a socket that is in no file system */
	if (is_absolute_path(host) || host[0] == '@')
		return false;
	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return true;
	freeaddrinfo(found);
	return false;
}
