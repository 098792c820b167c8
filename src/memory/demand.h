/*
 * demand.h
 *	  What callers ask of the keeper, what became of it, and how they wait for it.
 *
 * A caller that misses something takes the next number of `demanded` and sets the
 * keeper's latch.  The keeper notes the number before an attempt and writes it to
 * `served` afterwards; so a caller knows when an attempt that began after its demand has
 * ended.  After each attempt `changed` is broadcast.  Each thing that can be asked for has a UidgenDemand of its own.
 * So a failure of one causes no pause and explains no error of another.
 *
 * Callers (waiting.c) and the keeper (keeper.c) use this file; it knows neither.
 */
#ifndef UIDGEN_DEMAND_H
#define UIDGEN_DEMAND_H

#include "core/units.h"
#include "memory/counts.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "utils/elog.h"

/* Why an attempt failed.  The detail may name hosts and ports: it is for members of
 * pg_monitor only. */
typedef struct UidgenFailure
{
	int			sqlerrcode;		/* 0: it did not fail */
	char		message[256];
	char		detail[512];
	char		hint[256];
	bool		transient;		/* the same attempt may succeed a little
								 * later, without anybody's help */
} UidgenFailure;

/* A process by its number among PostgreSQL's, counted from 1; 0: none.  Its latch has an address of
 * its own in each process. */
typedef int UidgenProcess;

extern UidgenProcess uidgen_this_process(void);

/* Set the latch of a process, if it is one. */
extern void uidgen_wake(UidgenProcess process);

/*
 * The log has each cause once in an outage, also where a network that comes and goes lets causes
 * alternate.  An outage is over once no attempt has failed for this long and one has succeeded.  A
 * process that is replaced must not repeat them, so they are in shared memory, as hashes.
 */
#define UIDGEN_CAUSES 4
#define UIDGEN_OUTAGE_OVER_US (60 * INT64CONST(1000000))

typedef struct UidgenDemand
{
	pg_atomic_uint64 demanded;
	pg_atomic_uint64 served;
	ConditionVariable changed;

	pg_atomic_uint64 waits;		/* times that a call had to wait */

	/*
	 * uidgen_memory->lock protects the fields below; the keeper alone writes
	 * them.
	 */
	UidgenFailure failure;		/* why the last attempt failed */
	int64		failures;		/* attempts that failed */
	int			failures_in_row;
	UidgenMicroseconds failing_since;	/* first failure; monotonic clock */
	UidgenMicroseconds failed_at;	/* the last one; monotonic clock */
	uint32		causes[UIDGEN_CAUSES];	/* this outage's, the last first; 0:
										 * none */
	UidgenMicroseconds retry_at;	/* no attempt before this; monotonic clock */
	bool		attempting;		/* an attempt is under way or was broken off */
	uint64		attempt;		/* number of the last demand that it serves */
} UidgenDemand;

extern void uidgen_demand_init(UidgenDemand *demand);

/* The demand is for another thing from now on, for which no attempt was made.  The lock is held exclusively, and no
 * attempt is under way. */
extern void uidgen_demand_forget(UidgenDemand *demand);

/* ---- callers ---- */

/* A call's wait. */
typedef struct UidgenWait
{
	UidgenDemand *on;
	uint64		number;			/* the call's last demand; 0: none yet */
	UidgenMicroseconds deadline;	/* monotonic clock; 0: not set */
	int			fruitless;		/* demands that were served and did not help */
	bool		counted[UIDGEN_COUNTED_WAITS];	/* as one that waits for this */
} UidgenWait;

/* In this time a keeper that sleeps, or is to start, has made an attempt. */
#define UIDGEN_WAKE_UP_MS 1000

/* A number that is never served. */
#define UIDGEN_NEVER_SERVED PG_UINT64_MAX

/* Have the keeper look what there is to do; if there is none now, the next one does so when it starts. */
extern void uidgen_wake_keeper(void);

/* Number a demand and wake the keeper. */
extern uint64 uidgen_demand_make(UidgenDemand *demand);

/* The same in advance of need: does nothing while a demand is open. */
extern void uidgen_demand_in_advance(UidgenDemand *demand);

extern bool uidgen_demand_served(UidgenDemand *demand, uint64 number);

/* Why the last attempt failed; false if it did not fail. */
extern bool uidgen_demand_failure(UidgenDemand *demand, UidgenFailure *failure);

/* Fill in a failure; detail and hint may be NULL, and a text that is too long is cut.  Whether
 * it is transient follows from the code. */
extern void uidgen_failure_set(UidgenFailure *failure, int sqlerrcode,
							   const char *message, const char *detail,
							   const char *hint);

/* Raise it as an error of the caller, as it is. */
extern void uidgen_raise_failure(const UidgenFailure *failure);

/* Start the time of a wait, if it has not been started: uidgen.wait_timeout, but
 * at_least milliseconds if that is longer. */
extern void uidgen_wait_begin(UidgenWait *wait, int at_least);

/* Is that time over? */
extern bool uidgen_wait_expired(const UidgenWait *wait);

/* The shortest wait for the keeper, in milliseconds. */
extern int	uidgen_wait_at_least(UidgenDemand *demand);

/*
 * Sleep until the demand of this number is served or another attempt has ended.  It sleeps for at most
 * `milliseconds`, and no longer than the wait may last.  Errors: as CHECK_FOR_INTERRUPTS().
 */
extern void uidgen_wait_sleep(UidgenWait *wait, uint64 number, long milliseconds,
							  UidgenWaitReason reason);

/* Sleep for less than a millisecond, for which a latch cannot wait. */
extern void uidgen_wait_briefly(UidgenWait *wait, long microseconds, UidgenWaitReason reason);

/* Demand once more, after a demand that was served and did not help. */
extern void uidgen_wait_demand_again(UidgenWait *wait, UidgenWaitReason reason);

/* ---- the keeper ---- */

/* Is there a demand that is not served?  Its number, or 0. */
extern uint64 uidgen_demand_open(UidgenDemand *demand);

/* An attempt for all demands up to this number begins, and ends. */
extern void uidgen_demand_begin(UidgenDemand *demand, uint64 number);
extern void uidgen_demand_end(UidgenDemand *demand);

/* The keeper's process ends; if an attempt is under way, it ends, too. */
extern void uidgen_demand_break_off(UidgenDemand *demand);

/*
 * The attempt succeeded, or failed.  After a failure no attempt is made for a while: twice
 * as long with each failure in a row, up to last_pause milliseconds; with `jitter` less
 * by up to a half, at random, so that servers that lost the same registry do not come
 * back together.  Returns whether its cause is news in this outage.
 */
extern void uidgen_demand_succeeded(UidgenDemand *demand);
extern bool uidgen_demand_failed(UidgenDemand *demand, const UidgenFailure *failure,
								 int last_pause, bool jitter);

/* Allow the next attempt at once: the failures up to now say nothing about it. */
extern void uidgen_demand_retry_now(UidgenDemand *demand);

#endif							/* UIDGEN_DEMAND_H */
