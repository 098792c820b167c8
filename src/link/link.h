/*
 * link.h
 *	  The way to the registry, wherever it is.
 *
 * The registry is a set of SQL functions in some database (see the extension's script);
 * local_registry.c and shared_registry.c know the functions, their arguments, rows and errors.  A link calls one of
 * them, and answers questions about the place where they are.  Arguments and results are
 * text, as in the protocol of clients, so that a link need not know what they mean.
 *
 * There are two links: link_local.c, for a database of this cluster, and link_remote.c, for
 * another server.  The setting uidgen.registry chooses (link.c).  A test can put another
 * one in their place: uidgen_replace_link() is seen from outside the library.
 */
#ifndef UIDGEN_LINK_H
#define UIDGEN_LINK_H

#include "shared/demand.h"

/* An argument; it cannot be null. */
typedef struct UidgenArgument
{
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
	const char *setting;		/* the setting that says where the registry is */
	bool		shared;			/* its registry must be a shared one; else a
								 * local one */

	/* ---- for any process: they never wait for a lock ---- */

	/* Must grants wait until this server's recovery has ended? */
	bool		(*in_recovery) (void);

	/*
	 * Is it certain that the place has no registry?  Then *why says so,
	 * detail included, for everybody who draws ids.
	 */
	bool		(*is_missing) (UidgenFailure *why);

	/* Does this transaction see the registry in its own database? */
	bool		(*is_here) (void);

	/* ---- for the keeper; errors are those of the place ---- */

	/*
	 * The place that the settings name now, for messages.  Allocated; raises
	 * no error, since the keeper asks also where it could not go on.
	 */
	char	   *(*target) (void);

	/* A number for it: another number means another place. */
	uint64		(*place) (void);

	bool		(*is_connected) (void);

	/*
	 * Connect to the target.  A failure is an error, or ends the process.
	 * SIGTERM does not cancel this; where it may take long, the link looks at
	 * ShutdownRequestPending.
	 */
	void		(*connect) (void);

	/*
	 * A number that tells the connected registry from others, if it is a
	 * local one; a shared one tells it by itself.
	 */
	uint64		(*registry) (void);

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
	 * has committed it already; which of its errors leave that in doubt says
	 * client.h.
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
	 * The process is about to end: is there a last call to be made?  All
	 * operations that follow end soon.
	 */
	bool		(*finish) (void);
} UidgenLink;

/* A database of this cluster. */
extern const UidgenLink uidgen_link_local;

/* Another server. */
extern const UidgenLink uidgen_link_remote;

/* The link that is in use. */
extern const UidgenLink *uidgen_link;

/* Choose it by the setting uidgen.registry: empty means the local one. */
extern void uidgen_choose_link(const char *registry);

/*
 * Put another link in its place, for good; returns the one that was.  A function, because a
 * variable that is seen from outside is one for all copies of the library in a process,
 * and these may differ in what a link is.
 */
extern PGDLLEXPORT const UidgenLink *uidgen_replace_link(const UidgenLink *link);

#endif							/* UIDGEN_LINK_H */
