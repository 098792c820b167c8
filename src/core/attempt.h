/*
 * attempt.h
 *	  One attempt of the keeper to get what callers ask for: which calls on the registry it makes,
 *	  one after the other, and what their replies mean.
 *
 * lease.h and node.h decide on single questions; here is the order in which they are asked, which
 * is what the promises rest on.  Whoever drives an attempt (the keeper by src/keeper/grants.c, the
 * simulation, the fuzzer) does this:
 *
 *	  uidgen_attempt_begin()		or uidgen_attempt_release()
 *	  while the state is UIDGEN_ATTEMPT_CALLS:
 *		  make attempt->call
 *		  uidgen_attempt_hear()		or, if there is no reply, uidgen_attempt_fails()
 *
 * Nothing here waits.  So a call may take any time, and the process may end in between: what has to
 * be known then is in what the keeper holds (publish.h), before the call is made.  All functions
 * need the lock.
 *
 * Of a local registry:
 *
 *	- It may have been restored or replaced, and grant ticks that this server has had already.
 *	  Then it is taught: the row is renewed to beyond those ticks, and acquired once more.
 *
 * Of a fleet's:
 *
 *	- A grant that follows one of another registry is used only after that registry's ends were
 *	  brought along.  Should that fail, ids go on as before, and the new grant is kept for the next
 *	  attempt.
 *	- An answer counts only if it comes from the registry that was known, on no older timeline.
 *	  Otherwise the call is treated as one without an answer.
 */
#ifndef UIDGEN_ATTEMPT_H
#define UIDGEN_ATTEMPT_H

#include "core/publish.h"

/* No tick, and no time: the node does not know the fleet's yet. */
#define UIDGEN_NOT_KNOWN INT64_MAX

/* ---- calls and replies ---- */

typedef enum UidgenCallKind
{
	UIDGEN_CALL_ACQUIRE,
	UIDGEN_CALL_RENEW,
	UIDGEN_CALL_IMPORT,			/* bring along what another registry granted */
	UIDGEN_CALL_RELEASE
} UidgenCallKind;

typedef struct UidgenCall
{
	UidgenCallKind kind;

	/* ACQUIRE */
	UidgenRequest request;
	int			claimed_worker; /* -1: none */
	UidgenTick	claimed_until;	/* last tick of the grant that is claimed */

	/* RENEW, RELEASE */
	int			worker;
	int64_t		old_token;		/* the token of the grant in question */
	UidgenTick	until;			/* last tick of the grant to be renewed */
	UidgenTick	needed;			/* the grant is to reach beyond this tick */
	UidgenTick	window;
	UidgenTick	at_most;		/* see UidgenLeaseAction */
	UidgenTick	last_issued;	/* the last tick with ids of the grant */

	/* IMPORT: worker ids, and their ends.  Only this registry is to be told. */
	int			nends;
	int			workers[UIDGEN_KNOWN_GRANTS];
	UidgenTick	ends[UIDGEN_KNOWN_GRANTS];
	int64_t		registry_id;
	int			timeline;

	/* Of a fleet's registry */
	int64_t		token;			/* the row gets it */
	UidgenTick	at;				/* the node's time; or UIDGEN_NOT_KNOWN */
	UidgenMicroseconds not_after;	/* by the registry's clock, since 1970
									 * UTC: the node waits no longer; or
									 * UIDGEN_NOT_KNOWN */
	int			ntokens;		/* how many tokens the row may have */
	int64_t		tokens[UIDGEN_NODE_TOKENS];
} UidgenCall;

/* What a fleet's registry says of itself in each reply, and when. */
typedef struct UidgenNodeReply
{
	UidgenRegistryWord word;
	UidgenClockReading reading;
} UidgenNodeReply;

typedef struct UidgenReply
{
	/*
	 * The worker id was acquired, the grant renewed, or what was to be
	 * brought along is.  If not: the row was taken (RENEW), the registry had
	 * to write down that it went back, or (later) it grants nothing yet.
	 */
	bool		done;
	bool		later;			/* grant.first is where a grant would begin */
	UidgenGrant grant;			/* ACQUIRE: that was made; RENEW: its token
								 * and last tick */
	UidgenNodeReply node;		/* only of a fleet's registry */
} UidgenReply;

/* Why there is no reply. */
typedef struct UidgenNoReply
{
	bool		did_nothing;	/* the call certainly did nothing, now or
								 * later */
	bool		locked;			/* the row is locked by somebody */
	bool		too_late;		/* the call came after not_after */
} UidgenNoReply;

/* ---- an attempt ---- */

typedef enum UidgenAttemptState
{
	UIDGEN_ATTEMPT_CALLS,		/* `call` is to be made */
	UIDGEN_ATTEMPT_DONE,

	/* It has failed. */
	UIDGEN_ATTEMPT_NO_REPLY,
	UIDGEN_ATTEMPT_LARGE_STEP,	/* `action.step` needs another worker id, and
								 * there is none */
	UIDGEN_ATTEMPT_UNTAUGHT,	/* `grant` begins at `known` or below, also
								 * after the registry was taught */
	UIDGEN_ATTEMPT_UNGRANTED,	/* no grant in UIDGEN_ATTEMPT_CALLS_MAX calls */
	UIDGEN_ATTEMPT_TOO_FAR,		/* the registry grants nothing at `beyond`,
								 * which is too far ahead of its clock */
	UIDGEN_ATTEMPT_CLOCKS,		/* the clocks are too far apart: `clock_step` */
	UIDGEN_ATTEMPT_UNUSABLE,	/* the reply is another registry's, or of an
								 * older timeline */
	UIDGEN_ATTEMPT_MANY_ENDS,	/* more than can be brought along */
	UIDGEN_ATTEMPT_ELSEWHERE	/* they were brought to another registry */
} UidgenAttemptState;

/* How many calls one acquisition of a fleet's node may take: the registry may have to note that it went back, and to
 * learn what was granted. */
#define UIDGEN_ATTEMPT_CALLS_MAX 10

typedef struct UidgenAttempt
{
	UidgenAttemptState state;
	UidgenCall	call;

	/* ---- what has happened, for logs and counters ---- */
	bool		acquired;		/* `grant` is in force */
	bool		renewed;
	bool		heard;			/* the last reply of a fleet's registry counts */
	UidgenClockVerdict verdict; /* on its clock, if the reply counts */
	UidgenMicroseconds clock_step;	/* by how much its clock differs */
	UidgenTick	caught_up;		/* the fleet's time is followed after all: so
								 * far ahead; 0: it is not */

	/* ---- what it is about ---- */
	bool		fleet;
	uint64_t	registry;		/* the local one: UidgenGrant.registry */
	UidgenClocks clocks;		/* when it began */
	UidgenNodeAction action;	/* what was decided last */
	UidgenGrant grant;			/* the grant that was acquired */
	bool		taught;			/* a grant began at `known` or below, and the
								 * registry was asked again */
	UidgenTick	known;			/* the last known tick of its worker id */
	UidgenTick	beyond;
	int			calls;			/* how many this acquisition has made */
	bool		took_row;		/* the row was never used before */
	int			lost_worker;	/* its row was taken; -1: none */
	int			held_worker;	/* the worker id of the last grant before */
	bool		held;			/* the last grant was in force */
	uint64_t	held_registry;	/* the registry that had given it */
} UidgenAttempt;

/*
 * Decide on the first call.  `registry` is the local one that is connected to; a fleet's is where
 * the settings lead by now (uidgen_node_goes()).  `token` is a random number for a call that gives
 * the row a new one.  Afterwards the state is UIDGEN_ATTEMPT_CALLS, DONE or LARGE_STEP; if no call is needed, it is
 * the state that the reply would have led to.
 */
extern void uidgen_attempt_begin(const UidgenKeeping *keeping, UidgenAttempt *attempt,
								 bool fleet, uint64_t registry, int64_t token);

/* End the era, and hand back the worker id: in a call, unless the grant is of another registry. */
extern void uidgen_attempt_release(const UidgenKeeping *keeping, UidgenAttempt *attempt,
								   bool fleet, uint64_t registry);

/* The reply has come, and was checked: publish what it brought, and decide on the next call. */
extern void uidgen_attempt_hear(const UidgenKeeping *keeping, UidgenAttempt *attempt,
								const UidgenReply *reply, int64_t token);

/* There is no reply: the call may have been run, or may be run yet. */
extern void uidgen_attempt_fails(const UidgenKeeping *keeping, UidgenAttempt *attempt,
								 const UidgenNoReply *why);

/* ---- for all calls of a fleet's node, also about segments ---- */

/* Until when a call that is made now may run, by the registry's clock; or UIDGEN_NOT_KNOWN. */
extern UidgenMicroseconds uidgen_keeping_not_after(const UidgenKeeping *keeping);

/* The clocks, by the fleet's time if it is known, also while a local registry's grant is in force. */
extern UidgenClocks uidgen_keeping_fleet_clocks(const UidgenKeeping *keeping);

#endif							/* UIDGEN_ATTEMPT_H */
