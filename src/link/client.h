/*
 * client.h
 *	  The client of a registry on another server.
 *
 * It is the part of a link (link.h) that needs libpq.  So it lies in a library file of its
 * own, uidgen_libpq (src/remote): a server without libpq loads uidgen all the same.  Only
 * the keeper loads that file, when it connects.
 *
 * A call is one statement, which the registry commits by itself.  Whoever calls has to
 * know what came of it, so these are told apart by their errors:
 *
 * - call() returns: the answer came whole, and what the function did is committed.
 * - ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN (08007): there was no answer, or none that
 *	 counts.  The call may be committed, may not be, or may be committed later.
 * - Any other error: nothing of it is committed, now or later.  The registry refused, and
 *	 the error is its own; or no host could be asked.
 *
 * No wait outlasts its time-out.  Each ends at once if the process is told to end, or if
 * the server's postmaster has ended.  (But libpq looks up names of hosts, and speaks to
 * Kerberos, without a bound on time.)
 */
#ifndef UIDGEN_CLIENT_H
#define UIDGEN_CLIENT_H

#include "link/link.h"

/* What to do where a host has another registry than the one that is known there. */
#define UIDGEN_ONE_REGISTRY_HINT \
	"Name servers of one registry only in \"uidgen.registry\"; on each of them SELECT * FROM uidgen.registry_identity() tells which it has. If the registry was begun anew, change the setting or restart this server."

typedef struct UidgenClient
{
	/*
	 * The version of uidgen that this library file belongs to.  Another
	 * version may have other members behind this one.
	 */
	const char *version;

	/*
	 * Where the registry is (a connection string of libpq), and the time for
	 * connecting to one of its hosts, or for one call.  Another string closes
	 * the connection.  Raises no error; a bad string is found by connect().
	 */
	void		(*configure) (const char *conninfo, int timeout_ms);

	bool		(*is_connected) (void);

	/*
	 * The registry that this server knows there; NULL: none.  Where it knows
	 * one, each host is asked which registry it has when it is connected to,
	 * and one that tells another is left for the next one.
	 */
	void		(*expect) (const int64 *registry_id);

	/*
	 * Connect to the host that answered last, else to one at random, else to
	 * the next one.  But where no registry is known, and there are several
	 * hosts, all are asked at once which one they have; one that takes writes
	 * comes first then.  Error: 55000 two of them have different ones.
	 */
	void		(*connect) (void);

	/*
	 * As in link.h, but without a commit of its own.  A host that takes no
	 * writes is left for the next one.  Texts of the row are ASCII: any other
	 * byte is a question mark.
	 */
	void		(*call) (const char *function, int nargs, const UidgenArgument *args,
						 UidgenRow *row);

	/* Clean up after an error in any of these. */
	void		(*end_failed) (void);

	/* Leave the host that is connected, and ask it last from now on. */
	void		(*reject_host) (void);

	void		(*disconnect) (void);

	/*
	 * The process is about to end: from now on nothing connects, and all
	 * calls together end within so many milliseconds.
	 */
	void		(*finish) (int milliseconds);

	/* The host that is connected, for people; NULL: none is. */
	const char *(*host) (void);
} UidgenClient;

/* What the library file has for uidgen to look up. */
#define UIDGEN_CLIENT_LIBRARY "uidgen_libpq"
#define UIDGEN_CLIENT_FUNCTION "uidgen_libpq_client"
typedef const UidgenClient *(*UidgenClientFunction) (void);

#endif							/* UIDGEN_CLIENT_H */
