/*
 * candidates.h
 *	  Hosts that are connected to, several at once, and asked which registry they have.
 *
 * Those whose name has to be looked up wait for that first, while the others are connected to and asked:
 * the time that a host has begins when its addresses are known.  All wait together: if one host can be used,
 * the wait for all is no longer than for one host alone.  A host that fails says so in its `problem`.  One that has no such
 * function, or refuses it, or has no registry of a fleet, tells nothing, and can be used like any other:
 * registries are older than the question.
 */
#ifndef UIDGEN_CANDIDATES_H
#define UIDGEN_CANDIDATES_H

#include "postgres.h"

#include "core/clock.h"
#include "remote/hosts.h"

typedef enum UidgenCandidateState
{
	UIDGEN_CANDIDATE_NAMED,		/* its name is looked up */
	UIDGEN_CANDIDATE_CONNECTING,
	UIDGEN_CANDIDATE_ASKED,		/* connected, and the question is sent */
	UIDGEN_CANDIDATE_READY,		/* connected and idle */
	UIDGEN_CANDIDATE_FAILED		/* there is no connection any more */
} UidgenCandidateState;

typedef struct UidgenCandidate
{
	UidgenHost *host;
	PGconn	   *conn;
	UidgenCandidateState state;
	UidgenMicroseconds begun;	/* when the connection began; monotonic clock */
	UidgenMicroseconds end;		/* when to stop waiting for it, or look-up */
	PostgresPollingStatusType polling;
	int			length;			/* how much of the answer has come */
	PGresult   *result;
} UidgenCandidate;

typedef struct UidgenCandidates
{
	UidgenHosts *hosts;
	bool		ask;
	int			n;
	UidgenCandidate candidate[FLEXIBLE_ARRAY_MEMBER];
} UidgenCandidates;

/* These are to be connected to: one host, or with NULL all of them; and asked, if `ask`. */
extern UidgenCandidates *uidgen_candidates_make(UidgenHosts *hosts, UidgenHost *only, bool ask);

/*
 * Do so.  Each is READY or FAILED after that.  A name may take `lookup_ms`, and then connecting `timeout_ms`.
 * `check` raises an error if the wait is to be broken off.  After an error there may be connections.
 */
extern void uidgen_candidates_connect(UidgenCandidates *candidates, int lookup_ms, int timeout_ms,
									  void (*check) (void));

/* Take the connection to this host; NULL: it has failed. */
extern PGconn *uidgen_candidates_take(UidgenCandidates *candidates, const UidgenHost *host);

/* Close the connections that were not taken, and free all. */
extern void uidgen_candidates_free(UidgenCandidates *candidates);

#endif							/* UIDGEN_CANDIDATES_H */
