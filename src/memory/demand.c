/*
 * demand.c
 *	  Numbers demands, waits for them, and keeps what became of them: see demand.h.
 */
#include "postgres.h"

#include "memory/demand.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "compat.h"
#include "core/clock.h"
#include "core/pause.h"
#include "mb/pg_wchar.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "miscadmin.h"
#include "storage/proc.h"

/* A step of the clock wakes nobody, so a sleep is no longer than this. */
#define RECHECK_MS 100

/* How long a call waits for the keeper at least, whatever wait_timeout is. */
#define LEAST_WAIT_MS 100

/* A call whose demands are served and do not help pauses for 2 ms, then twice as long each time,
 * up to so often. */
#define FRUITLESS_DOUBLINGS_MAX 7

UidgenProcess
uidgen_this_process(void)
{
	return (UidgenProcess) (MyProc - ProcGlobal->allProcs) + 1;
}

void
uidgen_wake(UidgenProcess process)
{
	if (process != 0)
		SetLatch(&ProcGlobal->allProcs[process - 1].procLatch);
}

void
uidgen_demand_init(UidgenDemand *demand)
{
	memset(demand, 0, sizeof(*demand));
	pg_atomic_init_u64(&demand->demanded, 0);
	pg_atomic_init_u64(&demand->served, 0);
	pg_atomic_init_u64(&demand->waits, 0);
	ConditionVariableInit(&demand->changed);
}

void
uidgen_demand_forget(UidgenDemand *demand)
{
	Assert(LWLockHeldByMeInMode(&uidgen_memory->lock, LW_EXCLUSIVE) && !demand->attempting);
	memset(&demand->failure, 0, sizeof(demand->failure));
	demand->failures = 0;
	memset(demand->causes, 0, sizeof(demand->causes));
	demand->failures_in_row = 0;
	demand->retry_at = 0;
	pg_atomic_write_u64(&demand->waits, 0);
}

/* ---- callers ---- */

void
uidgen_wake_keeper(void)
{
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	uidgen_wake(uidgen_memory->keeper);
	LWLockRelease(&uidgen_memory->lock);
}

uint64
uidgen_demand_make(UidgenDemand *demand)
{
	uint64		number = pg_atomic_fetch_add_u64(&demand->demanded, 1) + 1;

	uidgen_wake_keeper();
	return number;
}

void
uidgen_demand_in_advance(UidgenDemand *demand)
{
	if (uidgen_demand_open(demand) == 0)
		(void) uidgen_demand_make(demand);
}

bool
uidgen_demand_served(UidgenDemand *demand, uint64 number)
{
	return pg_atomic_read_u64(&demand->served) >= number;
}

bool
uidgen_demand_failure(UidgenDemand *demand, UidgenFailure *failure)
{
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	*failure = demand->failure;
	LWLockRelease(&uidgen_memory->lock);
	return failure->sqlerrcode != 0;
}

/* Copy as much of a text as fits, in whole characters; NULL counts as empty. */
static void
copy_text(char *to, const char *from, size_t size)
{
	int			length = from ? (int) strlen(from) : 0;

	length = pg_mbcliplen(from ? from : "", length, (int) size - 1);
	memcpy(to, from ? from : "", length);
	to[length] = '\0';
}

static bool
is_transient(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case MAKE_SQLSTATE('0', '8', '0', '0', '0'):	/* connection */
			/* A protocol violation does not go away by retrying. */
			return sqlerrcode != ERRCODE_PROTOCOL_VIOLATION;
		case MAKE_SQLSTATE('4', '0', '0', '0', '0'):	/* rollback */
		case MAKE_SQLSTATE('5', '8', '0', '0', '0'):	/* system error */
			return true;
		case MAKE_SQLSTATE('5', '3', '0', '0', '0'):	/* resources */
			return sqlerrcode != ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
		case MAKE_SQLSTATE('5', '7', '0', '0', '0'):	/* intervention */
			return true;
		default:
			return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
			/* a standby is promoted, or another host is found */
				sqlerrcode == ERRCODE_READ_ONLY_SQL_TRANSACTION;
	}
}

void
uidgen_failure_set(UidgenFailure *failure, int sqlerrcode, const char *message,
				   const char *detail, const char *hint)
{
	failure->sqlerrcode = sqlerrcode;
	failure->transient = is_transient(sqlerrcode);
	copy_text(failure->message, message, sizeof(failure->message));
	copy_text(failure->detail, detail, sizeof(failure->detail));
	copy_text(failure->hint, hint, sizeof(failure->hint));
}

void
uidgen_raise_failure(const UidgenFailure *failure)
{
	ereport(ERROR,
			(errcode(failure->sqlerrcode),
			 errmsg("%s", failure->message),
			 failure->detail[0] ? errdetail_internal("%s", failure->detail) : 0,
			 failure->hint[0] ? errhint("%s", failure->hint) : 0));
}

void
uidgen_wait_begin(UidgenWait *wait, int at_least)
{
	if (wait->deadline != 0)
		return;
	wait->deadline = uidgen_clock_monotonic() +
		(int64) Max(uidgen_wait_timeout, at_least) * 1000;
	pg_atomic_fetch_add_u64(&wait->on->waits, 1);
}

bool
uidgen_wait_expired(const UidgenWait *wait)
{
	return uidgen_clock_monotonic() >= wait->deadline;
}

/*
 * If wait_timeout is 0, this is the only wait, so it is long enough for a keeper that is
 * asleep; but not while attempts fail.
 */
int
uidgen_wait_at_least(UidgenDemand *demand)
{
	bool		outage;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	outage = demand->failures_in_row > 0;
	LWLockRelease(&uidgen_memory->lock);
	return uidgen_wait_timeout == 0 && !outage ? UIDGEN_WAKE_UP_MS : LEAST_WAIT_MS;
}

/* The call waits for this, now: the time.  It counts as one that waits even if that ends by an error. */
static UidgenMicroseconds
begin_to_wait(UidgenWait *wait, UidgenWaitReason reason)
{
	if (reason < UIDGEN_COUNTED_WAITS && !wait->counted[reason])
	{
		uidgen_count(&uidgen_counts->waits[reason].calls, 1);
		wait->counted[reason] = true;
	}
	return uidgen_clock_monotonic();
}

static void
count_time(UidgenWaitReason reason, UidgenMicroseconds since)
{
	if (reason < UIDGEN_COUNTED_WAITS)
		uidgen_count(&uidgen_counts->waits[reason].microseconds,
					 (uint64) (uidgen_clock_monotonic() - since));
}

static uint32
wait_event(UidgenWaitReason reason)
{
	static const char *const names[] = {
		[UIDGEN_WAIT_GRANT] = "UidgenGrant",
		[UIDGEN_WAIT_CLOCK] = "UidgenClock",
		[UIDGEN_WAIT_SEGMENT] = "UidgenSegment",
		[UIDGEN_WAIT_ATTACH] = "UidgenAttach",
	};
	static uint32 events[lengthof(names)];

	Assert(reason < lengthof(names));
	return uidgen_wait_event(&events[reason], names[reason]);
}

void
uidgen_wait_sleep(UidgenWait *wait, uint64 number, long milliseconds, UidgenWaitReason reason)
{
	UidgenMicroseconds begin = begin_to_wait(wait, reason);

	milliseconds = Min(milliseconds, Min((wait->deadline - begin) / 1000, RECHECK_MS));

	/*
	 * Prepare before the check: a broadcast after the check then ends the
	 * sleep.
	 */
	ConditionVariablePrepareToSleep(&wait->on->changed);
	if (!uidgen_demand_served(wait->on, number))
		ConditionVariableTimedSleep(&wait->on->changed, Max(milliseconds, 1),
									wait_event(reason));
	ConditionVariableCancelSleep();
	count_time(reason, begin);
}

void
uidgen_wait_briefly(UidgenWait *wait, long microseconds, UidgenWaitReason reason)
{
	UidgenMicroseconds begin = begin_to_wait(wait, reason);

	CHECK_FOR_INTERRUPTS();
	pg_usleep(microseconds);
	count_time(reason, begin);
}

/* Without a pause, demands could follow each other as fast as the registry commits; so
 * pause first, longer each time. */
void
uidgen_wait_demand_again(UidgenWait *wait, UidgenWaitReason reason)
{
	if (wait->fruitless > 0)
		uidgen_wait_sleep(wait, UIDGEN_NEVER_SERVED,
						  1L << Min(wait->fruitless, FRUITLESS_DOUBLINGS_MAX),
						  reason);
	wait->fruitless++;
	wait->number = uidgen_demand_make(wait->on);
}

/* ---- the keeper ---- */

uint64
uidgen_demand_open(UidgenDemand *demand)
{
	uint64		number = pg_atomic_read_u64(&demand->demanded);

	return uidgen_demand_served(demand, number) ? 0 : number;
}

void
uidgen_demand_begin(UidgenDemand *demand, uint64 number)
{
	Assert(!uidgen_demand_served(demand, number));
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	demand->attempting = true;
	demand->attempt = number;
	LWLockRelease(&uidgen_memory->lock);
}

void
uidgen_demand_end(UidgenDemand *demand)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	demand->attempting = false;
	LWLockRelease(&uidgen_memory->lock);
	pg_atomic_write_u64(&demand->served, demand->attempt);
	ConditionVariableBroadcast(&demand->changed);
}

void
uidgen_demand_break_off(UidgenDemand *demand)
{
	if (demand->attempting)
		uidgen_demand_end(demand);
	else
		ConditionVariableBroadcast(&demand->changed);
}

void
uidgen_demand_succeeded(UidgenDemand *demand)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	memset(&demand->failure, 0, sizeof(demand->failure));
	demand->failures_in_row = 0;
	demand->retry_at = 0;
	LWLockRelease(&uidgen_memory->lock);
}

/* Put the cause before the others; true if it was not among them.  Under the lock. */
static bool
note_cause(UidgenDemand *demand, const UidgenFailure *failure)
{
	uint32		cause = hash_bytes((const unsigned char *) failure->message,
								   (int) strlen(failure->message)) ^ (uint32) failure->sqlerrcode;
	int			place = 0;
	bool		is_news;

	/* Of answers that make no sense, each is another one. */
	if (failure->sqlerrcode == ERRCODE_PROTOCOL_VIOLATION)
		cause ^= hash_bytes((const unsigned char *) failure->detail, (int) strlen(failure->detail));
	cause = Max(cause, 1);
	if (demand->failures_in_row == 0 &&
		uidgen_clock_monotonic() - demand->failed_at > UIDGEN_OUTAGE_OVER_US)
		memset(demand->causes, 0, sizeof(demand->causes));
	while (place < UIDGEN_CAUSES && demand->causes[place] != cause)
		place++;
	is_news = place == UIDGEN_CAUSES;
	place = Min(place, UIDGEN_CAUSES - 1);
	memmove(demand->causes + 1, demand->causes, place * sizeof(demand->causes[0]));
	demand->causes[0] = cause;
	return is_news;
}

bool
uidgen_demand_failed(UidgenDemand *demand, const UidgenFailure *failure, int last_pause,
					 bool jitter)
{
	bool		is_news;
	int64		pause;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	is_news = note_cause(demand, failure);
	demand->failed_at = uidgen_clock_monotonic();
	demand->failure = *failure;
	pause = uidgen_pause(demand->failures_in_row, last_pause);
	demand->failures++;
	if (demand->failures_in_row++ == 0)
		demand->failing_since = uidgen_clock_monotonic();
	pause *= 1000;
	if (jitter)
		pause -= (int64) (pause / 2 * pg_prng_double(&pg_global_prng_state));
	demand->retry_at = uidgen_clock_monotonic() + pause;
	LWLockRelease(&uidgen_memory->lock);
	return is_news;
}

void
uidgen_demand_retry_now(UidgenDemand *demand)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	demand->retry_at = 0;
	memset(demand->causes, 0, sizeof(demand->causes));
	LWLockRelease(&uidgen_memory->lock);
}
