/*
 * keeper.c
 *	  The background worker that acquires, renews and releases the grant.
 *
 * The keeper works on demand: callers number their demands and set its latch
 * (shmem.h); it makes one attempt for all that are there, publishes the result
 * and broadcasts.  While nobody asks it sleeps without a connection to any
 * database, so that the registry's database can be dropped or copied, and an
 * idle server runs no transaction.  A connection can only be closed by exiting:
 * after a while without demand it exits with code 1, and the postmaster starts
 * it anew.  Code 0 would mean never again.  The restart time is 0, because the
 * postmaster measures it on the wall clock: with a second, a clock set back by
 * an hour would keep the keeper away for an hour.
 *
 * Its state is therefore in shared memory, and in the registry what must outlive
 * that.  The order is always: registry first, shared memory after it has
 * committed.  The other way round a crash could forget ids that were issued.
 *
 * Which call is made is decided in serve():
 *
 *	- no grant is held: acquire.
 *	- the clock was set back by a large step: acquire for the true time.  The
 *	  registry passes over rows that lie too far ahead, as the one in use does.
 *	- the grant is of another registry: acquire in this one.  A copy of the registry
 *	  has the row in use too, and so may others that have one.
 *	- the wall clock leapt forward against the boot clock: acquire for the new
 *	  time, avoiding the row in use.  It keeps its old time as the way back;
 *	  renewing it would poison it for as long as the leap, should the leap be a
 *	  mistake.
 *	- otherwise renew; and if the row was taken from us, acquire.
 *
 * Any failure is kept for uidgen.status and for the callers, reported to the log
 * once, and followed by a growing pause.
 */
/* for dladdr() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "postgres.h"

#include "keeper.h"

#include <dlfcn.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "clock.h"
#include "compat.h"
#include "generator.h"
#include "guc.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "registry.h"
#include "shmem.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/elog.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Without demand for this long, the connection is given up. */
#define IDLE_MS 30000

/* Pause after the first failure in a row; each further one doubles it. */
#define FIRST_PAUSE_MS 50
/* Short enough that callers who wait meet the end of an outage, */
#define LAST_PAUSE_MS 250
/* but a connection that fails costs a process and lines in the log. */
#define LAST_CONNECT_PAUSE_MS 5000

/* How often the end of recovery is looked for. */
#define RECOVERY_POLL_MS 1000

/* Rows never used before that steps of the clock may take in an hour. */
#define STEP_ROWS_MAX 10
#define STEP_ROWS_PERIOD (INT64CONST(3600) * 1000000)

static uint32 idle_wait_event = 0;

/* While set, SIGTERM also breaks off what the registry is doing. */
static volatile sig_atomic_t in_attempt = false;

/* An attempt's connection is being made. */
static bool connecting = false;

/* Keep attempts and their failures out of TopMemoryContext. */
static MemoryContext attempt_context;

static void note_connection_failure(void);

/*
 * By what name the keeper's process finds the library: the file that we were
 * loaded from.  A bare name could find another copy of it, with shared memory
 * of its own kind.
 */
static void
library_name(char *name, size_t size)
{
	Dl_info		info;

	if (dladdr((void *) uidgen_register_keeper, &info) == 0 ||
		!is_absolute_path(info.dli_fname) || strlen(info.dli_fname) >= size)
		strlcpy(name, "uidgen", size);
	else
		strlcpy(name, info.dli_fname, size);
}

void
uidgen_register_keeper(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 0;
	library_name(worker.bgw_library_name, sizeof(worker.bgw_library_name));
	snprintf(worker.bgw_function_name, sizeof(worker.bgw_function_name),
			 "uidgen_keeper_main");
	snprintf(worker.bgw_name, sizeof(worker.bgw_name), "uidgen keeper");
	snprintf(worker.bgw_type, sizeof(worker.bgw_type), "uidgen keeper");
	RegisterBackgroundWorker(&worker);
}

/*
 * A fast shutdown waits for us; so end any wait for a lock.  Only the first time:
 * the postmaster signals the process and its group, and the second signal must
 * not break off the release, whose own wait is bounded by lock_timeout.
 */
static void
handle_sigterm(SIGNAL_ARGS)
{
	int			save_errno = errno;

	if (in_attempt && !ShutdownRequestPending)
	{
		InterruptPending = true;
		QueryCancelPending = true;
	}
	ShutdownRequestPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* ---- the slot ---- */

/* Does this process own the slot, and with it all that only the keeper writes? */
static inline bool pg_attribute_unused()
own_slot(void)
{
	return pg_atomic_read_u32(&uidgen_shared->keeper_pid) == (uint32) MyProcPid;
}

/* May this process write what `lock` protects? */
static inline bool pg_attribute_unused()
may_write(void)
{
	return own_slot() && LWLockHeldByMeInMode(uidgen_shared->lock, LW_EXCLUSIVE);
}

/* End of the process, for whatever reason.  Callers may be waiting. */
static void
leave_slot(int code, Datum arg)
{
	Assert(own_slot());
	if (connecting)
		note_connection_failure();
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->keeper_latch = NULL;
	if (uidgen_shared->attempting)
	{
		/* The attempt ended the process, and so it failed. */
		uidgen_shared->attempting = false;
		pg_atomic_write_u64(&uidgen_shared->served, uidgen_shared->attempt_demand);
	}
	LWLockRelease(uidgen_shared->lock);
	pg_atomic_write_u32(&uidgen_shared->keeper_pid, 0);
	ConditionVariableBroadcast(&uidgen_shared->changed);
}

static void
enter_slot(void)
{
	uint32		nobody = 0;

	if (!pg_atomic_compare_exchange_u32(&uidgen_shared->keeper_pid, &nobody,
										MyProcPid))
		ereport(FATAL,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another uidgen keeper is running"),
				 errdetail("Its process id is %u.", nobody)));
	before_shmem_exit(leave_slot, 0);
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->keeper_latch = MyLatch;
	uidgen_shared->keeper_ran = true;
	LWLockRelease(uidgen_shared->lock);
}

/* ---- what this shared memory knows to be granted ---- */

/*
 * The registry can be dropped, restored or switched under a running server, and
 * then knows less than we do.  So what was granted in the life of this shared
 * memory is remembered here, by worker id.
 */
static int64
known_until(int worker)
{
	for (int i = 0; i < uidgen_shared->nknown; i++)
		if (uidgen_shared->known[i].worker == worker)
			return uidgen_shared->known[i].granted_until;
	return uidgen_shared->known_others;
}

/* Caller holds the lock. */
static void
remember(int worker, int64 granted_until)
{
	UidgenKnownGrant *known = uidgen_shared->known;
	int			lowest = 0;
	int			i;

	Assert(may_write());
	for (i = 0; i < uidgen_shared->nknown; i++)
	{
		if (known[i].worker == worker)
			break;
		if (known[i].granted_until < known[lowest].granted_until)
			lowest = i;
	}
	if (i == UIDGEN_KNOWN_GRANTS)
	{
		/* Full: let the lowest go, and what it said hold for all others. */
		i = lowest;
		uidgen_shared->known_others = Max(uidgen_shared->known_others,
										  known[i].granted_until);
	}
	else if (i == uidgen_shared->nknown)
		uidgen_shared->nknown++;
	known[i].worker = worker;
	known[i].granted_until = granted_until;
}

/* ---- publishing a grant ---- */

static uint64
first_position(int64 tick)
{
	return (uint64) tick << uidgen_rules.sequence_bits;
}

static uint64
last_position(int64 tick)
{
	return first_position(tick + 1) - 1;
}

static int64
position_tick(uint64 position)
{
	return (int64) (position >> uidgen_rules.sequence_bits);
}

/* The position from which the grant is to be renewed. */
static uint64
renewal_position(int64 granted_until, int64 window)
{
	int64		padding = window * uidgen_padding_factor / 100;

	/* The end of the layout cannot be pushed further. */
	if ((uint64) granted_until + 1 >= uidgen_rules.last_tick)
		padding = 0;
	return last_position(granted_until - Min(padding, granted_until));
}

/* Caller holds the lock.  clock_offset is from before the registry was asked, so that
 * the next attempt sees what the clock did meanwhile. */
static void
hold(const UidgenGrant *grant, int64 clock_offset)
{
	Assert(may_write());
	uidgen_shared->holding.held = true;
	uidgen_shared->holding.released = false;
	uidgen_shared->holding.worker = grant->worker;
	uidgen_shared->holding.token = grant->token;
	uidgen_shared->holding.granted_until = grant->last;
	uidgen_shared->holding.database = grant->database;
	uidgen_shared->holding.free_workers = grant->free_workers;
	uidgen_shared->clock_offset = clock_offset;
	remember(grant->worker, grant->last);
}

/*
 * Publish how far ids may run ahead of the clock, for callers, by the settings as
 * they are now.
 */
static void
publish_bounds(void)
{
	UidgenTicketBounds bounds = uidgen_time_bounds();

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_ticket_bound(&uidgen_shared->words, &uidgen_rules, &bounds,
						uidgen_clock_tick());
	LWLockRelease(uidgen_shared->lock);
}

static void
publish_renewal(const UidgenGrant *grant, int64 window, int64 clock_offset)
{
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	Assert(uidgen_shared->holding.held);
	Assert(grant->last >= uidgen_shared->holding.granted_until);
	hold(grant, clock_offset);
	uidgen_shared->renewals++;
	uidgen_ticket_extend(&uidgen_shared->words, last_position(grant->last),
						 renewal_position(grant->last, window));
	LWLockRelease(uidgen_shared->lock);
	publish_bounds();
}

/*
 * Begin the era of a grant.  It starts no lower than where the last era ended, so
 * that ids stay in order, unless the clock was set back by a large step: then the
 * true time counts for more.
 */
static void
publish_acquisition(const UidgenGrant *grant, int64 window, int64 clock_offset,
					bool stepped_back)
{
	uint64		constant =
		uidgen_layout_put(&uidgen_layout, UIDGEN_DATACENTER,
						  (uint64) uidgen_datacenter_id) |
		uidgen_layout_put(&uidgen_layout, UIDGEN_WORKER, (uint64) grant->worker);
	UidgenTicketBounds bounds = uidgen_time_bounds();
	UidgenTicketReach reach;
	int64		now;
	UidgenAheadCause cause;
	uint64		position;
	bool		by_row;			/* it is where the row ended */
	int64		high;

	/* Nothing of it was granted before. */
	Assert(grant->first > known_until(grant->worker));
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	hold(grant, clock_offset);
	position = uidgen_ticket_close(&uidgen_shared->words);
	reach = uidgen_ticket_reach(&uidgen_shared->words);
	now = (int64) uidgen_clock_tick();
	cause = uidgen_ticket_cause(&reach, (uint64) position_tick(position), (uint64) now);
	/* Up to the next whole tick: the old worker id may have used this one. */
	position = first_position(position_tick(position - 1) + 1);
	by_row = stepped_back || position < first_position(grant->first);
	if (by_row)
		position = first_position(grant->first);

	/*
	 * How far the clock has been is known from the last era, unless it ended
	 * because of that, and from the registry.  Without that knowledge, a further
	 * step back would only seem small.
	 */
	high = Max(now, Min(grant->seen, now + (int64) bounds.large_step));
	if (!stepped_back)
		high = Max(high, (int64) uidgen_ticket_clock_known(&reach));
	/* Where the row's end decided, it is a step of the clock, or else a crash. */
	if (by_row)
		cause = high > now && grant->first <= high + (int64) bounds.burst ?
			UIDGEN_AHEAD_CLOCK_SET_BACK : UIDGEN_AHEAD_CRASH;
	uidgen_ticket_bound(&uidgen_shared->words, &uidgen_rules, &bounds, (uint64) now);
	uidgen_ticket_open(&uidgen_shared->words, position,
					   last_position(grant->last),
					   renewal_position(grant->last, window), constant,
					   (uint64) now, (uint64) high,
					   (uint64) position_tick(position), cause);
	LWLockRelease(uidgen_shared->lock);
}

/* ---- steps of the clock ---- */

/* What counts as a large step, in ticks. */
static int64
large_step(void)
{
	return (int64) uidgen_time_bounds().large_step;
}

/* How far the clock is behind the highest tick of it known in this era, if that is
 * a large step; else 0.  In ticks. */
static int64
step_back(void)
{
	/* Before the clock is read: what others note afterwards is no step of it. */
	UidgenTicketReach reach = uidgen_ticket_reach(&uidgen_shared->words);
	int64		step = (int64) uidgen_ticket_clock_known(&reach) -
		(int64) uidgen_clock_tick();

	return step > large_step() ? step : 0;
}

/* How far the wall clock leapt since the last grant, if that is a large step;
 * else 0.  In ticks. */
static int64
leap_forward(void)
{
	int64		leap = (uidgen_clock_offset() - uidgen_shared->clock_offset) /
		uidgen_layout.unit;
	int64		before = (int64) uidgen_clock_tick() - leap;

	/* Where the grant was out of reach before, renewing poisons nothing: the
	 * clock was behind, and is correct now. */
	if (uidgen_shared->holding.granted_until - before > (int64) uidgen_time_bounds().crash)
		return 0;
	return leap > large_step() ? leap : 0;
}

/* May a row never used before be taken because of a step of the clock? */
static bool
step_may_take_row(void)
{
	int64		now = uidgen_clock_boot();

	if (uidgen_shared->step_rows > 0 &&
		now - uidgen_shared->step_rows_since < STEP_ROWS_PERIOD)
		return uidgen_shared->step_rows < STEP_ROWS_MAX;
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->step_rows = 0;
	uidgen_shared->step_rows_since = now;
	LWLockRelease(uidgen_shared->lock);
	return true;
}

static void
count_step(bool took_row)
{
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->clock_steps++;
	if (took_row)
		uidgen_shared->step_rows++;
	LWLockRelease(uidgen_shared->lock);
}

/* With one worker id and no other, a large step cannot be got round. */
static void
refuse_step(int64 step, bool back)
{
	bool		fixed = uidgen_worker_id >= 0;

	if (!fixed && uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER) > 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the clock was set %s by a large step", back ? "back" : "forward"),
			 errdetail("The step is %lld ms; more than %lld ms need another worker id, and %s.",
					   (long long) (step * uidgen_layout.unit / 1000),
					   (long long) (large_step() * uidgen_layout.unit / 1000),
					   fixed ? "the worker id is fixed" :
					   "the layout has no worker field"),
			 back ?
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\"%s.",
					 fixed ? "; or set \"uidgen.worker_id\" to another one or to -1, and restart the server" : "") :
			 errhint("If the clock is correct now, restart the server; otherwise correct the clock.")));
}

/* ---- attempts ---- */

/* Say which worker id it is, and why, in the log. */
static void
report_acquisition(const UidgenGrant *grant, int64 back, int64 forward, int avoided)
{
	int64		lead = grant->first - (int64) uidgen_clock_tick();
	StringInfoData detail;

	initStringInfo(&detail);
	if (back > 0)
		appendStringInfo(&detail, "The clock was set back by %lld ms. ",
						 (long long) (back * uidgen_layout.unit / 1000));
	if (forward > 0)
		appendStringInfo(&detail, "The clock was set forward by %lld ms; worker id %d keeps its time for when it returns. ",
						 (long long) (forward * uidgen_layout.unit / 1000), avoided);
	appendStringInfoString(&detail, grant->reason);
	if (lead > 0)
		appendStringInfo(&detail, " Its grant begins %lld ms ahead of the clock.",
						 (long long) (lead * uidgen_layout.unit / 1000));
	ereport(LOG,
			(errmsg("uidgen acquired worker id %d", grant->worker),
			 errdetail_internal("%s", detail.data)));
	pfree(detail.data);
}

static void
acquire(int64 back, int64 forward, int64 clock_offset)
{
	UidgenHolding *holding = &uidgen_shared->holding;
	UidgenTicketBounds bounds = uidgen_time_bounds();
	int64		window = uidgen_window_ticks();
	bool		stepped = back > 0 || forward > 0;
	UidgenRequest request = {
		.wanted = uidgen_worker_id,
		.avoid = forward > 0 ? holding->worker : -1,
		.never_used = !stepped || step_may_take_row(),
		.window = window,
		.max_lead = (int64) bounds.crash,
		.max_step = (int64) bounds.large_step,
	};
	UidgenGrant grant;
	bool		took_row = false;

	/* A clock that is set back leaves no room for a crash: the time is to be true. */
	if (back > 0)
	{
		request.max_lead = (int64) bounds.large_step;
		request.max_step = PG_INT64_MAX;
	}

	/* A disposable worker id is kept for the whole run of the server, even if the
	 * keeper restarts. */
	if (request.wanted < 0 && holding->released && !stepped &&
		holding->database == uidgen_registry_database() &&
		uidgen_worker_policy == UIDGEN_DISPOSABLE)
		request.wanted = holding->worker;
	/* Once: it may turn out to be somebody else's by now. */
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	holding->released = false;
	LWLockRelease(uidgen_shared->lock);

	/* Ids stay in order, but where the clock goes back. */
	if (back == 0)
		request.floor = position_tick(uidgen_atomic_read(&uidgen_shared->words.position) - 1) + 1;

	for (int lessons = 0;; lessons++)
	{
		uidgen_registry_acquire(&request, &grant);
		took_row |= grant.never_used;
		if (grant.first > known_until(grant.worker))
			break;

		/*
		 * The registry knows less than we do.  Teach it, and acquire again: it
		 * may now find that another worker id lies nearer to the clock.
		 */
		if (lessons > UIDGEN_KNOWN_GRANTS ||
			!uidgen_registry_renew(&grant, known_until(grant.worker), 0, clock_offset))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry grants ticks that were granted before"),
					 errdetail("Worker id %d was granted from tick " INT64_FORMAT ", but up to " INT64_FORMAT " was granted to it already.",
							   grant.worker, grant.first,
							   known_until(grant.worker)),
					 errhint("Was the registry restored or switched? The next attempt asks again.")));
	}
	if (stepped)
		count_step(took_row);
	publish_acquisition(&grant, window, clock_offset, back > 0);
	report_acquisition(&grant, back, forward, request.avoid);
}

/* Make what callers miss; the decision is explained at the top. */
static void
serve(void)
{
	UidgenHolding *holding = &uidgen_shared->holding;
	int64		window = uidgen_window_ticks();
	UidgenGrant grant = {
		.worker = holding->worker,
		.token = holding->token,
		.last = holding->granted_until,
		.database = holding->database,
		.free_workers = holding->free_workers,
	};
	int64		clock_offset = uidgen_clock_offset();
	int64		needed =
		position_tick(uidgen_atomic_read(&uidgen_shared->words.position)) + 1;
	int64		last = (int64) uidgen_rules.last_tick - 1;
	int64		step;

	/* What is left of the layout is granted before it counts as used up. */
	if (holding->granted_until < last)
		needed = Min(needed, last);

	/* Test this first, even without a grant: after a large step back the new era
	 * must not start from the old position. */
	if ((step = step_back()) > 0)
	{
		refuse_step(step, true);
		acquire(step, 0, clock_offset);
	}
	else if (!holding->held || holding->database != uidgen_registry_database())
		acquire(0, 0, clock_offset);
	else if ((step = leap_forward()) > 0)
	{
		refuse_step(step, false);
		acquire(0, step, clock_offset);
	}
	else if (uidgen_registry_renew(&grant, needed, window, clock_offset))
		publish_renewal(&grant, window, clock_offset);
	else
	{
		/* Said afterwards, so that not every attempt that fails says it again. */
		acquire(0, 0, clock_offset);
		ereport(LOG,
				(errmsg("uidgen had lost worker id %d", grant.worker),
				 errdetail("Its row in the registry was taken or removed.")));
	}
}

/* No attempt before the pause is over; doubled with each failure in a row. */
static void
pause_attempts(int last_pause_ms)
{
	int			doublings = Min(uidgen_shared->failures_in_row, 16);
	int64		pause = Min((int64) FIRST_PAUSE_MS << doublings, last_pause_ms);

	Assert(may_write());
	uidgen_shared->failures_in_row++;
	uidgen_shared->retry_at = uidgen_clock_monotonic() + pause * 1000;
}

/* As much of a text as fits, in whole characters; NULL is empty. */
static void
copy_text(char *to, const char *from, size_t size)
{
	int			length = from ? (int) strlen(from) : 0;

	length = pg_mbcliplen(from ? from : "", length, (int) size - 1);
	memcpy(to, from ? from : "", length);
	to[length] = '\0';
}

/* Keep why an attempt failed.  True if that is news. */
static bool
keep_failure(const ErrorData *error, int last_pause_ms)
{
	UidgenFailure *failure = &uidgen_shared->failure;
	bool		is_news = failure->sqlerrcode != error->sqlerrcode ||
		strncmp(failure->message, error->message, strlen(failure->message)) != 0;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	failure->sqlerrcode = error->sqlerrcode;
	copy_text(failure->message, error->message, sizeof(failure->message));
	copy_text(failure->detail, error->detail, sizeof(failure->detail));
	copy_text(failure->hint, error->hint, sizeof(failure->hint));
	uidgen_shared->failures++;
	pause_attempts(last_pause_ms);
	LWLockRelease(uidgen_shared->lock);
	return is_news;
}

static void
note_success(void)
{
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	memset(&uidgen_shared->failure, 0, sizeof(uidgen_shared->failure));
	uidgen_shared->failures_in_row = 0;
	uidgen_shared->retry_at = 0;
	LWLockRelease(uidgen_shared->lock);
}

/*
 * Run `action` on the registry.  False if it failed; the transaction is ended
 * then, and the failure is noted.
 */
static bool
try_registry(void (*action) (void))
{
	volatile bool succeeded = true;

	MemoryContextSwitchTo(attempt_context);
	PG_TRY();
	{
		in_attempt = true;
		action();
		in_attempt = false;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		in_attempt = false;
		HOLD_INTERRUPTS();
		QueryCancelPending = false;
		MemoryContextSwitchTo(attempt_context);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
		pgstat_report_activity(STATE_IDLE, NULL);
		pgstat_report_stat(true);
		if (keep_failure(error, LAST_PAUSE_MS))
			ereport(LOG,
					(errcode(error->sqlerrcode),
					 errmsg("uidgen has no new grant: %s", error->message),
					 error->detail ? errdetail_internal("%s", error->detail) : 0,
					 error->hint ? errhint("%s", error->hint) : 0,
					 error->context ? errcontext("%s", error->context) : 0));
		RESUME_INTERRUPTS();
		succeeded = false;
	}
	PG_END_TRY();
	Assert(!IsTransactionState());
	MemoryContextSwitchTo(attempt_context);
	MemoryContextReset(attempt_context);
	return succeeded;
}

/* Connect to the registry.  A failure ends the process (FATAL). */
static void
connect_registry(void)
{
	connecting = true;
	uidgen_registry_connect();
	connecting = false;
}

/* For callers, and for the pause that our successor makes. */
static void
note_connection_failure(void)
{
	ErrorData	failure = {
		.sqlerrcode = ERRCODE_CONNECTION_FAILURE,
		.message = psprintf("could not connect to database \"%s\"", uidgen_database),
		.detail = "The server log says why.",
		.hint = "Check the setting \"uidgen.database\".",
	};

	/* No line for the log: the failure itself wrote one. */
	(void) keep_failure(&failure, LAST_CONNECT_PAUSE_MS);
}

/* One attempt for all demands that are there. */
static void
attempt(uint64 demand)
{
	Assert(own_slot() && demand > pg_atomic_read_u64(&uidgen_shared->served));
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->attempting = true;
	uidgen_shared->attempt_demand = demand;
	LWLockRelease(uidgen_shared->lock);

	if (!uidgen_registry_connected())
		connect_registry();
	if (try_registry(serve))
		note_success();

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->attempting = false;
	LWLockRelease(uidgen_shared->lock);
	pg_atomic_write_u64(&uidgen_shared->served, demand);
	ConditionVariableBroadcast(&uidgen_shared->changed);
}

/* ---- the end ---- */

/*
 * Hand back what was not used.  No caller may take a ticket any more when the
 * position is read: so the era is closed first, and stays so.
 */
static void
release(void)
{
	UidgenHolding *holding = &uidgen_shared->holding;
	UidgenGrant grant = {
		.worker = holding->worker,
		.token = holding->token,
		.last = holding->granted_until,
	};
	int64		last_issued;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	holding->held = false;
	holding->released = true;
	last_issued = position_tick(uidgen_ticket_close(&uidgen_shared->words) - 1);
	last_issued = Min(last_issued, grant.last);
	LWLockRelease(uidgen_shared->lock);

	if (!uidgen_registry_connected())
		uidgen_registry_connect();
	/* The setting may name another registry by now, which knows nothing of it. */
	if (holding->database != uidgen_registry_database())
		return;
	uidgen_registry_release(&grant, last_issued);

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	remember(grant.worker, last_issued);
	LWLockRelease(uidgen_shared->lock);
}

/* SIGTERM: a shutdown, or somebody's pg_terminate_backend(). */
static void
shut_down(void)
{
	/* What the signal was to break off is over. */
	QueryCancelPending = false;
	/* A sleeping keeper's grant is mostly over; then there is nothing to do. */
	if (uidgen_shared->holding.held && !RecoveryInProgress() &&
		(uidgen_registry_connected() ||
		 uidgen_shared->holding.granted_until > (int64) uidgen_clock_tick()))
		(void) try_registry(release);
	proc_exit(1);
}

/* ---- the loop ---- */

/* Milliseconds until `time` of the monotonic clock; at least 0. */
static long
milliseconds_until(int64 time)
{
	return (long) Max((time - uidgen_clock_monotonic() + 999) / 1000, 0);
}

void
uidgen_keeper_main(Datum main_arg)
{
	int64		idle_since;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, handle_sigterm);
	BackgroundWorkerUnblockSignals();

	/* pg_upgrade wants no transactions of ours. */
	if (IsBinaryUpgrade)
		proc_exit(0);

	/* Should this be another copy of the library than the one that registered the
	 * keeper (see library_name()), it has no memory to keep. */
	if (!uidgen_shared)
	{
		ereport(LOG,
				(errmsg("the uidgen keeper's process found another library than the server has preloaded"),
				 errhint("Restart the server.")));
		proc_exit(0);
	}

	enter_slot();
	attempt_context = AllocSetContextCreate(TopMemoryContext, "uidgen keeper",
											ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(attempt_context);
	publish_bounds();
	idle_since = uidgen_clock_monotonic();

	for (;;)
	{
		uint64		demand;
		long		timeout = -1;

		ResetLatch(MyLatch);
		if (ShutdownRequestPending)
			shut_down();
		/* There is no query to cancel; an error here would end the process. */
		QueryCancelPending = false;
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			char	   *database = pstrdup(uidgen_database);

			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			publish_bounds();
			if (strcmp(database, uidgen_database) != 0)
			{
				/* The new registry is to know what was granted before anything
				 * can make us forget it. */
				if (uidgen_shared->holding.held)
					pg_atomic_fetch_add_u64(&uidgen_shared->demanded, 1);
				if (uidgen_registry_connected())
					proc_exit(1);	/* and come back to the other database */
				/* What failed there says nothing of this one. */
				LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
				uidgen_shared->retry_at = 0;
				LWLockRelease(uidgen_shared->lock);
			}
			pfree(database);
		}

		demand = pg_atomic_read_u64(&uidgen_shared->demanded);
		if (RecoveryInProgress())
			timeout = RECOVERY_POLL_MS;
		else if (demand > pg_atomic_read_u64(&uidgen_shared->served))
		{
			timeout = milliseconds_until(uidgen_shared->retry_at);
			if (timeout == 0)
			{
				attempt(demand);
				idle_since = uidgen_clock_monotonic();
			}
		}
		else if (uidgen_registry_connected())
		{
			timeout = milliseconds_until(idle_since + INT64CONST(1000) * IDLE_MS);
			if (timeout == 0)
				proc_exit(1);	/* and come back without a connection */
		}
		if (timeout != 0)
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
							 (timeout > 0 ? WL_TIMEOUT : 0), timeout,
							 uidgen_wait_event(&idle_wait_event, "UidgenKeeper"));
	}
}
