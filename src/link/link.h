/*
 * link.h
 *	  The way to the registry, wherever it is.
 *
 * The registry is a set of SQL functions in some database (see the extension's script);
 * local_registry.c, fleet_registry.c and segment_fetch.c know the functions, their arguments, rows and
 * errors.  A link calls one of them, and answers questions about the place where they are.  Arguments
 * and results are text, as in the protocol of clients, so that a link need not know what they mean.
 *
 * There are two links: link_local.c, for a database of this cluster, and link_remote.c, for
 * another server.  The setting uidgen.registry chooses.  What needs libpq lies in a library file of
 * its own, uidgen_libpq (src/remote): a server without libpq loads uidgen all the same.  Only the
 * keeper loads that file, when it connects for the first time; it brings the operations on a
 * connection.
 *
 * Whoever calls has to know what came of it, so these are told apart by their errors:
 *
 * - call() and commit() return: the answer came whole, and what the function did is committed.
 * - ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN (08007): there was no answer, or none that
 *	 counts.  The call may be committed, may not be, or may be committed later.
 * - Any other error: nothing of it is committed, now or later.  The registry refused, and
 *	 the error is its own; or no host could be asked.
 */
#ifndef UIDGEN_LINK_H
#define UIDGEN_LINK_H

#include "memory/demand.h"

/* What to do where a host has another registry than the one that is known there. */
#define UIDGEN_ONE_REGISTRY_HINT \
	"Name servers of one registry only in \"uidgen.registry\"; on each of them SELECT * FROM uidgen_registry.registry_identity() tells which it has. If the registry was begun anew, change the setting or restart this server."

/* An argument; it cannot be null. */
typedef struct UidgenArgument
{
	const char *name;			/* the function's parameter */
	Oid			type;			/* a built-in one: its OID is the same
								 * everywhere */
	const char *value;
} UidgenArgument;

/* What a function returned: a row, or one column that is named like the function. */
typedef struct UidgenRow
{
	int			ncolumns;
	char	  **names;
	char	  **values;			/* an element is NULL if the column is null */
} UidgenRow;

typedef struct UidgenLink
{
	/*
	 * The version of uidgen that this table belongs to.  Another version may
	 * have other members behind this one.
	 */
	const char *version;
	const char *setting;		/* the setting that says where the registry is */
	bool		fleet;			/* its registry must be a fleet's; else a
								 * local one */

	/* ---- for any process: they never wait for a lock ---- */

	/* Must grants wait until this server's recovery has ended? */
	bool		(*in_recovery) (void);

	/*
	 * Is it certain that the place has no registry?  Then *why says so,
	 * detail included, for everybody who draws ids.
	 */
	bool		(*is_missing) (UidgenFailure *why);

	/* ---- for the keeper ---- */

	/*
	 * The place that the settings name now, for messages.  Allocated; raises
	 * no error, since the keeper asks also where it could not go on.
	 */
	char	   *(*target) (void);

	/* A number for it: another number means another place. */
	uint64		(*place) (void);

	/*
	 * A number that tells the connected registry from others, if it is a
	 * local one; a fleet's tells it by itself.
	 */
	uint64		(*registry) (void);

	/* ---- for the keeper: a connection; errors are the place's ---- */

	bool		(*is_connected) (void);

	/*
	 * Connect to the target.  A failure is an error, or ends the process.
	 * SIGTERM does not cancel this; where it may take long, the link looks at
	 * ShutdownRequestPending.
	 *
	 * Of the hosts of another server's registry, to the one that answered
	 * last, else to one at random, else to the next one.  But where no
	 * registry is known, and there are several hosts, all are asked at once
	 * which one they have; one that takes writes comes first then.  Error:
	 * 55000 two of them have different ones.
	 */
	void		(*connect) (void);

	/*
	 * Is there a registry where the link is connected to?  And make it there;
	 * with `rehearse`, only look whether that can be done.  Only of a local
	 * one, and by acquiring alone: a node of a fleet asks its local registry
	 * for what that has granted, and should not be given one.  Errors: as in
	 * making.h; 42704 it was there, and is lost.
	 */
	bool		(*has_registry) (void);
	void		(*make_registry) (bool rehearse);

	/*
	 * The host that is connected, for people; NULL: none, or it is this
	 * server.
	 */
	const char *(*host) (void);

	/*
	 * Call a function of the registry in a transaction of its own.  The row
	 * is allocated in the current memory context.  `activity` is for people.
	 *
	 * The transaction is committed by commit() only, so that nothing is taken
	 * by an answer that is refused.  The remote link cannot keep it open, and
	 * has committed it already.  There a call is one statement; a host that
	 * takes no writes is left for the next one; texts of the row are ASCII,
	 * with any other byte a question mark.
	 */
	void		(*call) (const char *function, int nargs, const UidgenArgument *args,
						 const char *activity, UidgenRow *row);

	/*
	 * When this returns, what the function did is committed and flushed;
	 * after an error, it may be or not.
	 */
	void		(*commit) (void);

	/*
	 * Clean up after an error in any of these; disconnects if the connection
	 * cannot be used any more.
	 */
	void		(*end_failed) (void);

	/*
	 * What the host that is connected answered must not be used: leave it,
	 * and ask another one first.
	 */
	void		(*reject_host) (void);

	/* Close the connection; false: only the end of the process closes it. */
	bool		(*disconnect) (void);

	/*
	 * Prepare for the end of the process: later calls are limited to a second
	 * in all, where the registry is another server's.  False if there is no
	 * connection to use.
	 */
	bool		(*finish) (void);
} UidgenLink;

/* A database of this cluster. */
extern const UidgenLink uidgen_link_local;

/* Another server.  The library file brings its operations, once that is loaded. */
extern UidgenLink uidgen_link_remote;

/* The link that is in use, by the setting uidgen.registry: empty means the local one. */
extern const UidgenLink *uidgen_link(void);

/*
 * Put another link in its place, for good; returns the one that was.  A function, because all copies of the library
 * in a process share a variable that is seen from outside.  These copies may differ in what a link is.
 */
extern PGDLLEXPORT const UidgenLink *uidgen_replace_link(const UidgenLink *link);

/* ---- the library file ---- */

/* What its link is to go by; asked for before each connection and each call. */
typedef struct UidgenRemote
{
	const char *conninfo;		/* a connection string of libpq; another one
								 * closes the connection */
	int			timeout;		/* milliseconds, for looking up the name of
								 * one host, for connecting to it, or for one
								 * call */
	bool		known;			/* a registry has answered there: */
	int64		registry_id;	/* each host is asked which one it has when it
								 * is connected to, and one that tells another
								 * is left for the next one */
} UidgenRemote;

typedef void (*UidgenAskRemote) (UidgenRemote *remote);

/*
 * Sets only the members of a connection, and `version`, which comes first in each version, so that
 * either side can tell.
 */
typedef const UidgenLink *(*UidgenLinkFunction) (UidgenAskRemote ask);
#define UIDGEN_LINK_LIBRARY "uidgen_libpq"
#define UIDGEN_LINK_FUNCTION "uidgen_libpq_client"

#endif							/* UIDGEN_LINK_H */
