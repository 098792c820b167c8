/*
 * keeper.c
 *	  The background worker that acquires, renews and releases the grant.
 *
 * The keeper works on demand: callers number their demands and set its latch
 * (demand.h); it makes one attempt for all demands that are there, publishes the
 * result and broadcasts.  While there is no demand, it sleeps without a connection to
 * any database, so that the registry's database can be dropped or copied, and an idle
 * server runs no transaction.  A connection can only be closed by exiting: after a while
 * without demand the keeper exits with code 1, and the postmaster starts it anew.  After
 * code 0 the postmaster would not.  The restart time is 0, because the postmaster
 * measures it on the wall clock: with a second, a clock set back by an hour would keep
 * the keeper away for an hour.
 *
 * Because it exits, its state is in shared memory; what must outlive that is in the
 * registry.  A change is always committed to the registry first, and written to shared
 * memory after.  In the other order a crash could forget ids that were issued.
 *
 * Which call on the registry is made is decided by the lease (lease.h).
 *
 * Any failure is kept for uidgen.status and for the callers, reported to the log
 * once, and followed by a growing pause.
 */
/* for dladdr() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "postgres.h"

#include "keeper/keeper.h"

#include <dlfcn.h>

#include "compat.h"
#include "core/clock.h"
#include "core/lease.h"
#include "keeper/registry.h"
#include "lib/stringinfo.h"
#include "link/link.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "shared/guc.h"
#include "shared/server.h"
#include "shared/shmem.h"
#include "storage/ipc.h"
#include "utils/elog.h"
#include "utils/memutils.h"

/* Without demand for this long, the connection is given up. */
#define IDLE_MS 30000

/* The longest pause between attempts: short, so that callers who wait see the end of an
 * outage soon; longer if the connection fails, which costs a process and lines in the
 * log. */
#define LAST_PAUSE_MS 250
#define LAST_CONNECT_PAUSE_MS 5000

/* How often the keeper looks whether recovery has ended. */
#define RECOVERY_POLL_MS 1000

static uint32 idle_wait_event = 0;

/* While set, SIGTERM also breaks off what the registry is doing. */
static volatile sig_atomic_t in_attempt = false;

/* The connection is being made.  SIGTERM does not break that off: it ends by itself, and
 * breaking it off may end the process before it has released the grant.  A link whose
 * connections take long looks for SIGTERM itself. */
static volatile sig_atomic_t connecting = false;

/* Keep attempts and their failures out of TopMemoryContext. */
static MemoryContext attempt_context;

static void note_broken_attempt(void);

/*
 * The name by which the keeper's process finds the library: the file that this code was
 * loaded from.  A bare name could find another copy of the library, whose shared memory
 * may have another shape.
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
	RegisterBackgroundWorker(&worker);
}

/*
 * A fast shutdown waits for the keeper, so end any wait for a lock.  Only at the first
 * signal: the postmaster signals the process and then its group, and the second signal
 * must not break off the release, whose own waits are bounded by lock_timeout.
 */
static void
handle_sigterm(SIGNAL_ARGS)
{
	int			save_errno = errno;

	if (in_attempt && !connecting && !ShutdownRequestPending)
	{
		InterruptPending = true;
		QueryCancelPending = true;
	}
	ShutdownRequestPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* ---- the slot ---- */

#ifdef USE_ASSERT_CHECKING
/* Does this process own the slot, and with it all that only the keeper writes? */
static inline bool
own_slot(void)
{
	return pg_atomic_read_u32(&uidgen_shared->keeper_pid) == (uint32) MyProcPid;
}

/* May this process write what `lock` protects? */
static inline bool
may_write(void)
{
	return own_slot() && LWLockHeldByMeInMode(uidgen_shared->lock, LW_EXCLUSIVE);
}
#endif

/* The process ends, for whatever reason.  Callers may be waiting. */
static void
leave_slot(int code, Datum arg)
{
	Assert(own_slot());
	if (in_attempt)
		note_broken_attempt();
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->keeper_latch = NULL;
	LWLockRelease(uidgen_shared->lock);
	uidgen_demand_break_off(&uidgen_shared->grant_demand);
	pg_atomic_write_u32(&uidgen_shared->keeper_pid, 0);
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

/* ---- what the lease goes by ---- */

static UidgenTerms
read_terms(void)
{
	bool		chosen = uidgen_worker_id < 0;	/* by the registry */
	UidgenTick	window = uidgen_window_ticks();

	return (UidgenTerms) {
		.worker = uidgen_worker_id,
		.other_workers = chosen &&
			uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER) > 0,
		.disposable = uidgen_worker_policy == UIDGEN_DISPOSABLE,
		.unit = uidgen_layout.unit,
		.sequence_bits = uidgen_rules.sequence_bits,
		.last_tick = uidgen_rules.last_tick,
		.window = window,
		.padding = window * uidgen_padding_factor / 100,
		.bounds = uidgen_time_bounds(),
	};
}

static UidgenClocks
read_clocks(void)
{
	return (UidgenClocks) {
		.tick = uidgen_clock_tick(),
		.offset = uidgen_clock_offset(),
		.boot = uidgen_clock_boot(),
	};
}

/* ---- publishing a grant ---- */

/* Publish for callers how far ids may run ahead of the clock, by the present settings. */
static void
publish_bounds(void)
{
	UidgenTicketBounds bounds = uidgen_time_bounds();

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	Assert(may_write());
	uidgen_ticket_bound(&uidgen_shared->words, &uidgen_rules, &bounds,
						uidgen_clock_tick());
	LWLockRelease(uidgen_shared->lock);
}

static void
publish_renewal(const UidgenGrant *grant, const UidgenTerms *terms,
				const UidgenClocks *clocks)
{
	UidgenLease *lease = &uidgen_shared->lease;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	Assert(may_write() && lease->held && grant->last >= lease->grant.last);
	uidgen_lease_hold(lease, grant, clocks->offset);
	uidgen_shared->renewals++;
	uidgen_ticket_extend(&uidgen_shared->words, uidgen_lease_limit(lease, terms),
						 uidgen_lease_renew_at(lease, terms));
	LWLockRelease(uidgen_shared->lock);
	publish_bounds();
}

static void
publish_acquisition(const UidgenGrant *grant, const UidgenTerms *terms,
					const UidgenClocks *clocks, UidgenStepKind step)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTicketWords *words = &uidgen_shared->words;
	uint64		constant =
		uidgen_layout_put(&uidgen_layout, UIDGEN_DATACENTER,
						  (uint64) uidgen_datacenter_id) |
		uidgen_layout_put(&uidgen_layout, UIDGEN_WORKER, (uint64) grant->worker);
	UidgenPosition position;
	UidgenTicketReach reach;
	UidgenTick	now;
	UidgenEra	era;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	Assert(may_write());
	/* No tick of the grant was granted before. */
	Assert(grant->first > uidgen_lease_known_until(lease, grant->worker));
	uidgen_lease_hold(lease, grant, clocks->offset);
	position = uidgen_ticket_close(words);
	/* Read before the clock, so that what callers note meanwhile does not look like a
	 * clock that was set back. */
	reach = uidgen_ticket_reach(words);
	now = uidgen_clock_tick();
	era = uidgen_lease_era(lease, terms, step, now, &reach, position);
	uidgen_ticket_bound(words, &uidgen_rules, &terms->bounds, now);
	uidgen_ticket_open(words, era.position, era.limit, era.renew_at, constant,
					   now, era.clock_known,
					   uidgen_ticket_tick(&uidgen_rules, era.position), era.cause);
	LWLockRelease(uidgen_shared->lock);
}

/* ---- attempts ---- */

/* Where there is no other worker id to take, a large step ends in an error. */
static void
refuse_step(const UidgenClockStep *step, const UidgenTerms *terms)
{
	bool		fixed = terms->worker >= 0;
	bool		back = step->kind == UIDGEN_STEP_BACK;
	long long	size = uidgen_server_ms(step->ticks);
	long long	large = uidgen_server_ms(terms->bounds.large_step);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 back ?
			 errmsg("the clock was set back by a large step") :
			 errmsg("the clock was set forward by a large step"),
			 fixed ?
			 errdetail("The step is %lld ms. Above %lld ms another worker id is needed, but the setting \"uidgen.worker_id\" allows for no other.",
					   size, large) :
			 errdetail("The step is %lld ms. Above %lld ms another worker id is needed, but the layout has no worker field.",
					   size, large),
			 !back ?
			 errhint("If the clock is correct now, restart the server; otherwise correct the clock.") :
			 fixed ?
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\", or set \"uidgen.worker_id\" to another worker id or to -1 and restart the server.") :
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\".")));
}

/* Say which worker id it is, and why, in the log. */
static void
report_acquisition(const UidgenGrant *grant, const UidgenLeaseAction *action)
{
	UidgenTick	lead = grant->first - uidgen_clock_tick();
	StringInfoData detail;

	initStringInfo(&detail);
	switch (action->step.kind)
	{
		case UIDGEN_STEP_NONE:
			break;
		case UIDGEN_STEP_BACK:
			appendStringInfo(&detail, "The clock was set back by %lld ms. ",
							 uidgen_server_ms(action->step.ticks));
			break;
		case UIDGEN_STEP_FORWARD:
			appendStringInfo(&detail, "The clock was set forward by %lld ms; worker id %d is kept for when the clock returns. ",
							 uidgen_server_ms(action->step.ticks), action->request.avoid);
			break;
	}
	appendStringInfoString(&detail, grant->reason);
	if (lead > 0)
		appendStringInfo(&detail, " Its grant begins %lld ms ahead of the clock.",
						 uidgen_server_ms(lead));
	ereport(LOG,
			(errmsg("uidgen acquired worker id %d", grant->worker),
			 errdetail_internal("%s", detail.data)));
	pfree(detail.data);
}

static void
acquire(const UidgenLeaseAction *action, const UidgenTerms *terms,
		const UidgenClocks *clocks)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenGrant grant;
	bool		took_row = false;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_lease_asks(lease);
	LWLockRelease(uidgen_shared->lock);

	for (int lessons = 0;; lessons++)
	{
		UidgenTick	known;

		uidgen_registry_acquire(&action->request, &grant);
		took_row |= grant.never_used;
		known = uidgen_lease_known_until(lease, grant.worker);
		if (grant.first > known)
			break;

		/*
		 * The registry knows less than shared memory does.  Teach it by a renewal, and
		 * acquire again: it may now find that another worker id is nearer to the clock.
		 */
		if (lessons > UIDGEN_KNOWN_GRANTS ||
			!uidgen_registry_renew(&grant, known, 0, action->at_most))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry grants ticks that were granted before"),
					 errdetail("The registry granted worker id %d from tick " INT64_FORMAT ", but its ticks up to " INT64_FORMAT " were granted before.",
							   grant.worker, grant.first, known),
					 errhint("The registry may have been restored or replaced. The next attempt asks it again.")));
	}
	if (action->step.kind != UIDGEN_STEP_NONE)
	{
		LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
		uidgen_shared->clock_steps++;
		uidgen_lease_count_step(lease, clocks, took_row);
		LWLockRelease(uidgen_shared->lock);
	}
	publish_acquisition(&grant, terms, clocks, action->step.kind);
	report_acquisition(&grant, action);
}

/* Extend the grant in force; if its row was taken, acquire a worker id instead. */
static void
renew(const UidgenLeaseAction *action, const UidgenTerms *terms,
	  const UidgenClocks *clocks)
{
	UidgenGrant grant = uidgen_shared->lease.grant;
	int			worker = grant.worker;
	UidgenLeaseAction instead;

	if (uidgen_registry_renew(&grant, action->needed, terms->window, action->at_most))
	{
		publish_renewal(&grant, terms, clocks);
		return;
	}
	instead = uidgen_lease_lost(terms, clocks, uidgen_atomic_read(&uidgen_shared->words.position));
	acquire(&instead, terms, clocks);
	/* Logged after the acquisition, so that attempts that fail do not repeat it. */
	ereport(LOG,
			(errmsg("uidgen lost worker id %d", worker),
			 errdetail("Its row in the registry was taken or removed.")));
}

/* Get what callers ask for: make the call that the lease decides on. */
static void
serve(void)
{
	UidgenTicketWords *words = &uidgen_shared->words;
	UidgenTerms terms = read_terms();
	UidgenPosition position = uidgen_atomic_read(&words->position);
	UidgenTicketReach reach = uidgen_ticket_reach(words);
	UidgenClocks clocks = read_clocks();
	UidgenLeaseAction action =
		uidgen_lease_next(&uidgen_shared->lease, &terms, &clocks, position,
						  uidgen_ticket_clock_known(&reach),
						  uidgen_link->registry());

	switch (action.call)
	{
		case UIDGEN_ACQUIRE:
			acquire(&action, &terms, &clocks);
			break;
		case UIDGEN_RENEW:
			renew(&action, &terms, &clocks);
			break;
		case UIDGEN_REFUSE:
			refuse_step(&action.step, &terms);
			break;
	}
}

/* Note a failure, for callers and for the pause that follows it.  True if it is news. */
static bool
note_failure(const UidgenFailure *failure)
{
	return uidgen_demand_failed(&uidgen_shared->grant_demand, failure,
								connecting ? LAST_CONNECT_PAUSE_MS : LAST_PAUSE_MS);
}

/* Note that the process ends during an attempt, by an error after which it cannot go on. */
static void
note_broken_attempt(void)
{
	UidgenFailure failure;

	if (connecting)
		uidgen_failure_set(&failure, ERRCODE_CONNECTION_FAILURE,
						   psprintf("could not connect to %s", uidgen_link->target()),
						   "The server log says why.",
						   psprintf("Check the setting \"%s\".", uidgen_link->setting));
	else
		uidgen_failure_set(&failure, ERRCODE_INTERNAL_ERROR,
						   "the keeper ended during an attempt",
						   "The server log says why.", NULL);
	/* Not logged here: what ended the process wrote to the log. */
	(void) note_failure(&failure);
}

/*
 * Connect to the registry if needed, and run `action`.  False if that failed; then its
 * transaction is ended, and the failure is noted.
 */
static bool
try_registry(void (*action) (void))
{
	volatile bool succeeded = true;

	MemoryContextSwitchTo(attempt_context);
	PG_TRY();
	{
		/* First, since from the next line on SIGTERM breaks off what is no connecting. */
		connecting = !uidgen_link->is_connected();
		in_attempt = true;
		if (connecting)
		{
			uidgen_link->connect();
			connecting = false;
		}
		action();
		in_attempt = false;
	}
	PG_CATCH();
	{
		ErrorData  *error;
		UidgenFailure failure;

		HOLD_INTERRUPTS();
		QueryCancelPending = false;
		MemoryContextSwitchTo(attempt_context);
		error = CopyErrorData();
		FlushErrorState();
		uidgen_link->end_failed();
		MemoryContextSwitchTo(attempt_context);
		uidgen_failure_set(&failure, error->sqlerrcode, error->message, error->detail,
						   error->hint);
		if (note_failure(&failure))
			ereport(LOG,
					(errcode(error->sqlerrcode),
					 errmsg("uidgen has no new grant: %s", error->message),
					 error->detail ? errdetail_internal("%s", error->detail) : 0,
					 error->hint ? errhint("%s", error->hint) : 0,
					 error->context ? errcontext("%s", error->context) : 0));
		connecting = false;
		in_attempt = false;
		RESUME_INTERRUPTS();
		succeeded = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(attempt_context);
	MemoryContextReset(attempt_context);
	return succeeded;
}

/* One attempt for all demands that are there. */
static void
attempt(uint64 number)
{
	UidgenDemand *demand = &uidgen_shared->grant_demand;

	Assert(own_slot());
	uidgen_demand_begin(demand, number);
	if (try_registry(serve))
		uidgen_demand_succeeded(demand);
	uidgen_demand_end(demand);
}

/* ---- the end ---- */

/*
 * Hand back what was not used.  When the position is read, no caller may take a ticket
 * any more: so the era is closed first, and stays closed.
 */
static void
release(void)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTerms terms = read_terms();
	UidgenGrant grant = lease->grant;
	UidgenTick	last_issued;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	last_issued = uidgen_lease_end(lease, &terms,
								   uidgen_ticket_close(&uidgen_shared->words));
	LWLockRelease(uidgen_shared->lock);

	/* The setting may name another registry by now, which knows nothing of this grant. */
	if (grant.registry != uidgen_link->registry())
		return;
	uidgen_registry_release(&grant, last_issued);

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_lease_release(lease, last_issued);
	LWLockRelease(uidgen_shared->lock);
}

/* SIGTERM: a shutdown, or somebody's pg_terminate_backend(). */
static void
shut_down(void)
{
	/* What the signal should break off has ended. */
	QueryCancelPending = false;
	/* The grant of a keeper without a connection is usually over: nothing to hand back. */
	if (uidgen_shared->lease.held && !uidgen_link->in_recovery() &&
		(uidgen_link->is_connected() ||
		 uidgen_shared->lease.grant.last > uidgen_clock_tick()) &&
		uidgen_link->finish())
		(void) try_registry(release);
	proc_exit(1);
}

/* ---- the loop ---- */

/* Milliseconds until `time` of the monotonic clock; at least 0. */
static long
milliseconds_until(UidgenMicroseconds time)
{
	return (long) Max((time - uidgen_clock_monotonic() + 999) / 1000, 0);
}

void
uidgen_keeper_main(Datum main_arg)
{
	UidgenMicroseconds idle_since;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, handle_sigterm);
	BackgroundWorkerUnblockSignals();

	/* The keeper must run no transactions during pg_upgrade. */
	if (IsBinaryUpgrade)
		proc_exit(0);

	/* Another copy of the library than the one that registered the keeper has no shared
	 * memory; see library_name(). */
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
		/* Between attempts there is no query to cancel; an error would end the process. */
		QueryCancelPending = false;
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			const UidgenLink *link = uidgen_link;
			uint64		place = link->place();

			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			publish_bounds();
			if (link != uidgen_link || place != link->place())
			{
				/* Tell the new registry at once what was granted, while shared
				 * memory still knows. */
				if (uidgen_shared->lease.held)
					(void) uidgen_demand_make(&uidgen_shared->grant_demand);
				if (link->is_connected())
					link->disconnect();
				/* A failure of the old registry says nothing about the new one. */
				uidgen_demand_retry_now(&uidgen_shared->grant_demand);
			}
		}

		demand = uidgen_demand_open(&uidgen_shared->grant_demand);
		if (uidgen_link->in_recovery())
			timeout = RECOVERY_POLL_MS;
		else if (demand > 0)
		{
			timeout = milliseconds_until(uidgen_shared->grant_demand.retry_at);
			if (timeout == 0)
			{
				attempt(demand);
				idle_since = uidgen_clock_monotonic();
			}
		}
		else if (uidgen_link->is_connected())
		{
			timeout = milliseconds_until(idle_since + INT64CONST(1000) * IDLE_MS);
			if (timeout == 0)
				uidgen_link->disconnect();
		}
		if (timeout != 0)
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
							 (timeout > 0 ? WL_TIMEOUT : 0), timeout,
							 uidgen_wait_event(&idle_wait_event, "UidgenKeeper"));
	}
}
