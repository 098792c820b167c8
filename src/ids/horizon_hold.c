/*
 * horizon_hold.c
 *	  A transaction that draws ids holds the horizon back: see horizon_hold.h.
 *
 * The bound is taken away in the callback of the transaction, which PostgreSQL calls after the
 * transaction has ended for others (ProcArrayEndTransaction() in xact.c).  At PREPARE the
 * transaction goes on without its process: before, it is noted in a table (horizon_holders.h).
 */
#include "postgres.h"

#include "ids/horizon_hold.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "compat.h"
#include "ids/generator.h"
#include "ids/layout_used.h"
#include "memory/horizon_holders.h"
#include "memory/memory.h"
#include "memory/server.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"

static bool prepared_are_known = false;

/* From where on this process holds for sure, in the present transaction: see core/horizon.h. */
static uint64 held_from = UIDGEN_HORIZON_HOLDS_NOTHING;

/*
 * The slot of this process's transaction; NULL: it cannot have one.  A parallel worker draws in the
 * transaction of its leader, which outlives it.
 */
static UidgenHolder *
my_holder(void)
{
	PGPROC	   *proc = MyProc;

	if (!uidgen_holders)
		return NULL;
	if (IsParallelWorker())
		proc = proc->lockGroupLeader;
	return proc ? &uidgen_holders[proc - ProcGlobal->allProcs] : NULL;
}

/* Others see the end of the transaction before they see that it no longer holds. */
static void
release(void)
{
	UidgenHolder *holder = IsParallelWorker() ? NULL : my_holder();

	uidgen_shut_gate();
	held_from = UIDGEN_HORIZON_HOLDS_NOTHING;
	if (holder && uidgen_atomic_read(&holder->bound) != 0)
	{
		uidgen_write_barrier();
		uidgen_atomic_write(&holder->bound, 0);
	}
}

static void
note_prepared(void)
{
	UidgenHolder *holder = my_holder();
	UidgenPreparedHolder prepared;

	if (!holder || uidgen_atomic_read(&holder->bound) == 0)
		return;
	prepared.xid = GetTopFullTransactionId();
	prepared.database = MyDatabaseId;
	prepared.bound = uidgen_atomic_read(&holder->bound);
	prepared.since = holder->since;
	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	uidgen_refresh_prepared();
	uidgen_note_prepared(&prepared);
	LWLockRelease(&uidgen_horizon->lock);
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			uidgen_note_layout_used();
			note_prepared();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PREPARE:
			uidgen_forget_drawn();
			release();
			break;
		case XACT_EVENT_PRE_COMMIT:
			uidgen_note_layout_used();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}

void
uidgen_register_holding(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
}

/*
 * For a callback that failed.  The process ends, and an open transaction with it: it stores nothing any
 * more.  Not later (on_shmem_exit()), when memory that was not there at preload is unmapped.
 */
static void
release_at_exit(int code, Datum arg)
{
	release();
}

/* The slot, ready for a bound. */
static UidgenHolder *
prepare_holder(void)
{
	static bool leaves = false;
	UidgenHolder *holder = my_holder();

	if (!leaves)
	{
		before_shmem_exit(release_at_exit, 0);
		leaves = true;
	}
	if (!prepared_are_known)
	{
		LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
		uidgen_refresh_prepared();
		prepared_are_known = uidgen_horizon->prepared_known;
		LWLockRelease(&uidgen_horizon->lock);
	}
	if (!holder)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a parallel worker cannot draw ids without its leader")));
	if (uidgen_atomic_read(&holder->bound) == 0)
	{
		holder->since = GetCurrentTransactionStartTimestamp();
		holder->database = MyDatabaseId;
		holder->pid = IsParallelWorker() ? MyProc->lockGroupLeader->pid : MyProcPid;
		uidgen_write_barrier();
	}
	return holder;
}

void
uidgen_hold(void)
{
	uidgen_horizon_hold(uidgen_server_words, &uidgen_rules, &prepare_holder()->bound,
						&uidgen_horizon->read_to, &held_from);
}

/* The first draw, or hold, since the server started: what lies below the position is from before. */
static void
begin_run(UidgenTick now)
{
	UidgenTick	tick = uidgen_ticket_tick(&uidgen_rules, uidgen_atomic_read(&uidgen_server_words->position));

	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	if (!uidgen_horizon->begun)
		uidgen_horizon_raise(&uidgen_horizon->read_to, Min(tick, now));
	uidgen_horizon->begun = true;
	LWLockRelease(&uidgen_horizon->lock);
}

bool
uidgen_hold_older(UidgenTick tick)
{
	UidgenHolder *holder = prepare_holder();

	/*
	 * Nothing was granted since the server started, so it is from before, and
	 * readers may have passed it.
	 */
	if (uidgen_atomic_read(&uidgen_server_words->era) == 1)
		return false;
	uidgen_read_barrier();
	if (unlikely(!uidgen_horizon->begun))
		begin_run(uidgen_clock_tick());
	return uidgen_horizon_hold_older(&holder->bound, &uidgen_horizon->read_to, &held_from, tick);
}

void
uidgen_hold_in_era(UidgenTick now)
{
	UidgenTick	told;
	UidgenTick	drawn;

	uidgen_hold();
	if (unlikely(!uidgen_horizon->begun))
		begin_run(now);
	if (likely(!uidgen_horizon_passed(uidgen_server_words, &uidgen_rules, &uidgen_horizon->read_to,
									  now, &told, &drawn)))
		return;
	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	if (uidgen_horizon->told == 0 || drawn < uidgen_horizon->drawn)
		uidgen_horizon->drawn = drawn;
	uidgen_horizon->told = Max(uidgen_horizon->told, told);
	LWLockRelease(&uidgen_horizon->lock);
}
