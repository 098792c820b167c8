/*
 * hosts.h
 *	  The hosts of a connection string, and which of them is asked next.
 *
 * libpq would try them all by itself.  But unless the whole process waits, it never leaves a host that accepts a
 * connection and then says nothing.  So client.c connects to one host at a time, and gives each the same time; or to
 * all of them, before the first answer.
 *
 * Hosts are asked in rounds, each at most once in a round.  First comes the host that answered last, then at random
 * the hosts that have not failed since they answered.  The hosts that failed most recently come last.
 */
#ifndef UIDGEN_HOSTS_H
#define UIDGEN_HOSTS_H

#include "postgres.h"

#include <libpq-fe.h>

#include "core/units.h"
#include "remote/lookup.h"

typedef struct UidgenHost
{
	/* As in the connection string; NULL: libpq's default. */
	const char *host;
	const char *hostaddr;
	const char *port;

	char	   *name;			/* for messages */
	bool		is_name;		/* its addresses must be looked up */

	/*
	 * When it failed last, counted in failures of all hosts; 0: never, or not
	 * since it answered; -1: no other host has answered later.
	 */
	int64		failed;

	/*
	 * What it told last, when it was asked which registry it has
	 * (candidates.h).
	 */
	bool		told;			/* it has told a registry */
	int64		registry_id;
	bool		in_recovery;
	UidgenMicroseconds mute_until;	/* it cannot tell; not asked again before */
	bool		refused;		/* it told another registry than is known, and
								 * the log says so */

	/* The round that goes on. */
	bool		tried;
	UidgenMicroseconds asked_at;	/* when its name was asked for first; 0:
									 * not yet */
	char	   *addresses;		/* what its name stands for; NULL: not known */
	bool		slow;			/* passed over: its addresses took too long */
	bool		read_only;		/* it takes no writes */
	bool		other;			/* it has another registry than is known */
	char		problem[256];	/* empty: none */
} UidgenHost;

typedef struct UidgenHosts
{
	MemoryContext context;		/* holds all of this */

	/* What the connections to all hosts have in common; one NULL at the end. */
	int			noptions;
	const char **keywords;
	const char **values;

	int			nhosts;
	UidgenHost *hosts;
	int64		failures;
} UidgenHosts;

/* Take a connection string apart.  An error if it cannot be used. */
extern UidgenHosts *uidgen_hosts_read(const char *conninfo);

extern void uidgen_hosts_free(UidgenHosts *hosts);

extern void uidgen_hosts_begin_round(UidgenHosts *hosts);

/* The host to ask now; NULL: all were tried in this round. */
extern UidgenHost *uidgen_hosts_next(UidgenHosts *hosts);

/* Is there one that was not tried yet? */
extern bool uidgen_hosts_remain(const UidgenHosts *hosts);

/*
 * How does it stand with the addresses of a host?  Ask again while it is UNDER_WAY (lookup.h).  With FAILED, *problem
 * says why.
 */
extern UidgenLookupState uidgen_hosts_look_up(UidgenHosts *hosts, UidgenHost *host, char **problem);

/*
 * Begin to connect to a host whose addresses were FOUND; ends as libpq's PQconnectStartParams().
 * Errors: 53000 there are too many open files; 53200.
 */
extern PGconn *uidgen_hosts_connect(const UidgenHosts *hosts, const UidgenHost *host);
extern void uidgen_hosts_disconnect(PGconn *conn);

/* Note what came of it. */
extern void uidgen_hosts_answered(UidgenHosts *hosts, UidgenHost *host);
extern void uidgen_hosts_failed(UidgenHosts *hosts, UidgenHost *host,
								const char *problem);

#endif							/* UIDGEN_HOSTS_H */
