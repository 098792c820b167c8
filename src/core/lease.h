/*
 * lease.h
 *	  The rules of the lease on a worker id: what the keeper does next, and why.
 *
 * The lease is what the registry has granted to this server: a worker id and a range of ticks.  Beside it the server
 * keeps what it knows of all earlier grants.  An attempt of the keeper (attempt.h) asks here for its next call on the
 * registry, and has the answer checked here.  Settings, clocks and answers come in as values; nothing here waits,
 * reads a clock or calls a server.  So every case can be tested by itself: test/unit/test_lease.c.
 *
 *	- No grant is held: acquire.
 *	- The clock was set back by a large step: acquire for the true time.  The registry skips rows that are too far ahead; the row in use is one of them.
 *	- The grant is of another registry: acquire in this one.  A copy of the registry
 *	  has the row in use too, and so may others that have one.
 *	- The wall clock leapt forward against the boot clock: acquire for the new time,
 *	  and avoid the row in use, which keeps its old time as the way back: should the
 *	  leap be a mistake, a row that was renewed would be out of use for as long.
 *	- Otherwise renew; and if the row was taken from us, acquire.
 *
 * Ticks are signed, as in the registry; lengths of time are in ticks, too,
 * unless they are said to be in microseconds.
 */
#ifndef UIDGEN_LEASE_H
#define UIDGEN_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ticket.h"

/* ---- calls on the registry, and their answers ---- */

/* What the keeper asks for when it needs a worker id. */
typedef struct UidgenRequest
{
	int			wanted;			/* exactly this worker id, or -1 */
	int			avoid;			/* not this worker id, or -1 */
	bool		never_used;		/* a worker id never used may be taken */
	UidgenTick	floor;			/* the grant begins at this tick or later */
	UidgenTick	window;			/* ticks to grant */
	UidgenTick	max_lead;		/* ticks that it may begin ahead of the clock */
	UidgenTick	max_step;		/* ticks that the clock may have been set back
								 * since the worker id was used last */
} UidgenRequest;

/* What was granted. */
typedef struct UidgenGrant
{
	int			worker;
	int64_t		token;			/* proves to the registry that we are the
								 * holder */
	UidgenTick	first;			/* tick */
	UidgenTick	last;			/* tick */
	UidgenTick	seen;			/* tick of the clock when the worker id was
								 * last granted or released; 0: it never was */
	bool		never_used;		/* it is the first grant of this worker id */
	int64_t		free_workers;	/* worker ids that are left */
	uint64_t	registry;		/* which registry it comes from: of a local
								 * one its place, of a fleet's its number */
	int64_t		registry_number;	/* what tells it from one that was made
									 * anew in the same place */
	char		reason[256];	/* why this worker id, for the log */
} UidgenGrant;

/* ---- what is held and known ---- */

/* The highest tick that is known to be granted to a worker. */
typedef struct UidgenKnownGrant
{
	int			worker;
	UidgenTick	granted_until;
} UidgenKnownGrant;

/* More workers than this in the life of one shared memory are exceptional; what
 * is known of the others is merged into one mark for all. */
#define UIDGEN_KNOWN_GRANTS 64

typedef struct UidgenLease
{
	bool		held;			/* the grant is in force */
	bool		released;		/* it was handed back; the worker id is still
								 * ours to take again */
	UidgenGrant grant;

	/*
	 * The registry can be dropped, restored or switched under a running
	 * server, and then knows less than we do.  So what was granted is
	 * remembered here, too.
	 */
	UidgenKnownGrant known[UIDGEN_KNOWN_GRANTS];
	int			nknown;
	UidgenTick	known_others;	/* at least this tick for all workers not
								 * above */

	/*
	 * The wall clock minus the boot clock, in microseconds, when the registry
	 * was last asked for a grant that it gave: a change since is a step of
	 * the clock.
	 */
	UidgenMicroseconds clock_offset;

	/*
	 * Rows never used before that were taken because of such steps, and the
	 * boot clock, in microseconds, when counting began.
	 */
	int			step_rows;
	UidgenMicroseconds step_rows_since;
} UidgenLease;

/* ---- what comes in ---- */

/* What the settings and the layout say. */
typedef struct UidgenTerms
{
	int			worker;			/* the only worker id that may be used, or -1 */
	bool		other_workers;	/* another worker id may be used */
	bool		disposable;		/* each start of the server takes another one */
	UidgenMicroseconds unit;	/* microseconds in a tick */
	int			sequence_bits;
	UidgenTick	last_tick;		/* the layout's, which is never granted */
	UidgenTick	window;
	UidgenTick	padding;		/* what must be left of a grant, or it is
								 * renewed */
	UidgenTicketBounds bounds;
} UidgenTerms;

/* The clocks.  To be read after the shared words: what callers note afterwards is no
 * step of the clock. */
typedef struct UidgenClocks
{
	UidgenTick	tick;			/* the wall clock's */
	UidgenMicroseconds offset;	/* wall clock minus boot clock, in
								 * microseconds */
	UidgenMicroseconds boot;	/* boot clock, in microseconds */
} UidgenClocks;

/* ---- what goes out ---- */

/* A step of the clock that needs another worker id. */
typedef enum UidgenStepKind
{
	UIDGEN_STEP_NONE,
	UIDGEN_STEP_BACK,
	UIDGEN_STEP_FORWARD
} UidgenStepKind;

typedef struct UidgenClockStep
{
	UidgenStepKind kind;
	UidgenTick	ticks;
} UidgenClockStep;

typedef enum UidgenLeaseCall
{
	UIDGEN_ACQUIRE,				/* with `request` */
	UIDGEN_RENEW,				/* to beyond the tick `needed` */
	UIDGEN_REFUSE				/* nothing: the step needs another worker id,
								 * and there is none */
} UidgenLeaseCall;

typedef struct UidgenLeaseAction
{
	UidgenLeaseCall call;
	UidgenClockStep step;
	UidgenRequest request;
	UidgenTick	needed;
	UidgenTick	at_most;		/* the highest tick that the registry's clock
								 * may show for a renewal to be what was meant */
} UidgenLeaseAction;

/* An era to be opened: see uidgen_ticket_open(). */
typedef struct UidgenEra
{
	UidgenPosition position;
	UidgenPosition limit;
	UidgenPosition renew_at;
	UidgenTick	clock_known;	/* the highest tick of the clock that is known */
	UidgenAheadCause cause;
} UidgenEra;

/* First use: nothing is held or known. */
extern void uidgen_lease_init(UidgenLease *lease);

/*
 * What to do so that ids go on.  `position` is the next free one, clock_known the
 * highest tick of the clock that is known; `registry` is the one that is connected to.
 */
extern UidgenLeaseAction uidgen_lease_next(const UidgenLease *lease,
										   const UidgenTerms *terms,
										   const UidgenClocks *clocks,
										   UidgenPosition position, UidgenTick clock_known,
										   uint64_t registry);

/*
 * The steps of that decision, for the rules of a fleet's node (node.h), which has them in another
 * order.
 *
 * By how much the clock is behind the highest tick that it is known to have shown, if that is a large step.
 */
extern UidgenClockStep uidgen_lease_step_back(const UidgenTerms *terms,
											  const UidgenClocks *clocks,
											  UidgenTick clock_known);

/* A grant for the time that the clock shows after a step. */
extern UidgenLeaseAction uidgen_lease_follow(const UidgenLease *lease,
											 const UidgenTerms *terms,
											 const UidgenClocks *clocks,
											 UidgenPosition position, UidgenClockStep step);

/* Extend the grant in force. */
extern UidgenLeaseAction uidgen_lease_renewal(const UidgenLease *lease,
											  const UidgenTerms *terms,
											  const UidgenClocks *clocks,
											  UidgenPosition position);

/*
 * The worker id that is asked for, or -1: any.  A disposable one is kept for the whole run of the
 * server, even if the keeper restarts.  `here`: the grant is of the registry that is asked.
 */
extern int	uidgen_lease_wanted(const UidgenLease *lease, const UidgenTerms *terms, bool here);

/* What to do when a renewal found the row taken from us. */
extern UidgenLeaseAction uidgen_lease_lost(const UidgenTerms *terms,
										   const UidgenClocks *clocks,
										   UidgenPosition position);

/* The last tick that is known to be granted to a worker; no grant may begin there
 * or below. */
extern UidgenTick uidgen_lease_known_until(const UidgenLease *lease, int worker);

/* The local registry granted this before the server started: no grant may begin there. */
extern void uidgen_lease_recall(UidgenLease *lease, int worker, UidgenTick granted_until);

/* A row is about to be acquired.  What was released is asked for once: by the next time
 * it may be somebody else's. */
extern void uidgen_lease_asks(UidgenLease *lease);

/* A grant of ticks that nobody was granted before, or the renewal of the one in
 * force, holds from now on.  `offset` is from before the registry was asked, so that
 * the next call sees what the clock did meanwhile. */
extern void uidgen_lease_hold(UidgenLease *lease, const UidgenGrant *grant,
							  UidgenMicroseconds offset);

/* A row was acquired because of a step of the clock; was it one never used? */
extern void uidgen_lease_count_step(UidgenLease *lease, const UidgenClocks *clocks,
									bool took_row);

/* Nothing more is issued of the grant, whose era ended at this position; it is about to be handed back.  Returns the
 * last tick of which ids may have been issued. */
extern UidgenTick uidgen_lease_end(UidgenLease *lease, const UidgenTerms *terms,
								   UidgenPosition position);

/* The grant was handed back: nothing above tick `last_issued` was issued. */
extern void uidgen_lease_release(UidgenLease *lease, UidgenTick last_issued);

/* The era in which ids are issued from the grant in force, after another one that had
 * this reach and ended at this position. */
extern UidgenEra uidgen_lease_era(const UidgenLease *lease, const UidgenTerms *terms,
								  UidgenStepKind step, UidgenTick now,
								  const UidgenTicketReach *reach,
								  UidgenPosition position);

/* The grant in force in positions: its last one, and the one beyond which it is to be
 * renewed. */
extern UidgenPosition uidgen_lease_limit(const UidgenLease *lease, const UidgenTerms *terms);
extern UidgenPosition uidgen_lease_renew_at(const UidgenLease *lease, const UidgenTerms *terms);

#endif							/* UIDGEN_LEASE_H */
