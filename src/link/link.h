/*
 * link.h
 *	  The way to the registry, wherever it is.
 *
 * The registry is a set of SQL functions in some database (see the extension's
 * script); registry.c knows which, with what arguments, rows and errors.  A link calls
 * one of them, and tells what can be told of the place where they are.  Values pass it
 * as text, as in the protocol of clients, so that it need not know what they mean.
 *
 * Today there is one: link_local.c, for a database of this cluster.  A test can put
 * another one in its place, since `uidgen_link` is seen from outside.
 */
#ifndef UIDGEN_LINK_H
#define UIDGEN_LINK_H

#include "shared/demand.h"

/* An argument; none is null. */
typedef struct UidgenArgument
{
	Oid			type;			/* built in, so that it is the same everywhere */
	const char *value;
} UidgenArgument;

/* What a function returned: a row, or one column that is named like the function. */
typedef struct UidgenRow
{
	int			ncolumns;
	char	  **names;
	char	  **values;			/* NULL in it: null */
} UidgenRow;

typedef struct UidgenLink
{
	const char *kind;			/* for uidgen.status */
	const char *setting;		/* that says where the registry is */

	/* ---- for any process: they raise no errors and never wait ---- */

	/* Has granting to wait for the end of this server's recovery? */
	bool		(*in_recovery) (void);

	/* Is it certain that there is no registry at that place?  Then *why says so, in
	 * words for those who draw ids. */
	bool		(*is_missing) (UidgenFailure *why);

	/* Does this transaction see the registry in its own database? */
	bool		(*is_here) (void);

	/* ---- for the keeper; errors are those of the place ---- */

	/* The place by the settings as they are now, for messages; another text, another
	 * place.  Allocated. */
	char	   *(*target) (void);

	bool		(*is_connected) (void);

	/* Connect to the target.  On failure an error, or the end of the process. */
	void		(*connect) (void);

	/* Which registry is connected: a number that another one does not have. */
	uint64		(*registry) (void);

	/*
	 * Call a function of the registry in a transaction of its own.  When this returns,
	 * what the function did is committed and flushed; after an error, it may be.  The
	 * row is allocated in the current memory context.  `activity` is for people.
	 */
	void		(*call) (const char *function, int nargs, const UidgenArgument *args,
						 const char *activity, UidgenRow *row);

	/* Clean up after an error in any of these; what cannot be trusted after it is
	 * disconnected. */
	void		(*end_failed) (void);

	/* Close the connection; perhaps by the end of the process, with exit code 1. */
	void		(*disconnect) (void);
} UidgenLink;

/* A database of this cluster. */
extern const UidgenLink uidgen_link_local;

/* The link that is in use. */
extern PGDLLEXPORT const UidgenLink *uidgen_link;

#endif							/* UIDGEN_LINK_H */
