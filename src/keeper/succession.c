/*
 * succession.c
 *	  Enters and leaves the keeper's slot, and hands it over: see succession.h.
 */
#include "postgres.h"

#include "keeper/succession.h"

#include "compat.h"
#include "memory/memory.h"
#include "memory/worker.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

static uint32 wait_event = 0;

/* What a process that comes finds. */
typedef enum
{
	SLOT_MINE,
	SLOT_PROMISED,				/* the keeper knows that this process has come */
	SLOT_TAKEN
} SlotState;

static void (*before_leaving) (void);

/* The successor that this process has called; NULL: none. */
static BackgroundWorkerHandle *called = NULL;

/* The lock is held. */
static void
set_successor(uint32 pid, UidgenProcess process)
{
	uidgen_memory->successor_pid = pid;
	uidgen_memory->successor = process;
}

/* Is this process the successor that has come?  The lock is held. */
static bool
am_successor(void)
{
	return uidgen_memory->successor_pid == (uint32) MyProcPid;
}

/* Give up the place of the successor; false: this process is none, or owns the slot by now. */
static bool
step_back(void)
{
	bool		result;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	result = am_successor();
	if (result)
		set_successor(0, 0);
	LWLockRelease(&uidgen_memory->lock);
	return result;
}

/* The process ends, for whatever reason. */
static void
leave_slot(int code, Datum arg)
{
	if (step_back() || !uidgen_is_keeper())
		return;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_memory->keeper = 0;
	uidgen_memory->successor_awaited = false;
	LWLockRelease(&uidgen_memory->lock);

	/* What it writes, only the owner may write. */
	before_leaving();
	pg_atomic_write_u32(&uidgen_memory->keeper_pid, 0);

	/* Whoever has come need not wait until this process is started again. */
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	uidgen_wake(uidgen_memory->successor);
	LWLockRelease(&uidgen_memory->lock);
}

static SlotState
try_slot(void)
{
	uint32		owner = 0;
	SlotState	state = SLOT_TAKEN;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	if (pg_atomic_compare_exchange_u32(&uidgen_memory->keeper_pid, &owner, MyProcPid))
	{
		uidgen_memory->keeper = uidgen_this_process();

		/*
		 * A successor that has come is this process, or is too late: the
		 * keeper that it was called by has ended, and was started again.
		 */
		uidgen_wake(uidgen_memory->successor);
		set_successor(0, 0);
		state = SLOT_MINE;
	}
	else if (owner == (uint32) MyProcPid)
		state = SLOT_MINE;
	else if (am_successor())
		state = SLOT_PROMISED;
	else if (uidgen_memory->successor_awaited && uidgen_memory->successor == 0)
	{
		set_successor(MyProcPid, uidgen_this_process());
		uidgen_wake(uidgen_memory->keeper);
		state = SLOT_PROMISED;
	}
	if (state == SLOT_MINE)
		uidgen_memory->keeper_ran = true;
	LWLockRelease(&uidgen_memory->lock);
	return state;
}

void
uidgen_enter_slot(void (*at_end) (void))
{
	SlotState	state;

	before_leaving = at_end;
	/* First, since the slot may be given to this process from then on. */
	before_shmem_exit(leave_slot, 0);
	while ((state = try_slot()) != SLOT_MINE)
	{
		/*
		 * With code 0 in both cases: the owner goes on, or ends with another
		 * code, and is started again.
		 */
		if (state == SLOT_TAKEN || (ShutdownRequestPending && step_back()))
			proc_exit(0);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0,
						 uidgen_wait_event(&wait_event, "UidgenKeeper"));
		ResetLatch(MyLatch);
		/* There is no query to cancel. */
		QueryCancelPending = false;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
await_successor(bool awaited)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_memory->successor_awaited = awaited;
	LWLockRelease(&uidgen_memory->lock);
}

bool
uidgen_call_successor(BackgroundWorker *worker)
{
	MemoryContext caller_context;
	pid_t		pid;

	Assert(uidgen_is_keeper());
	if (called)
	{
		if (GetBackgroundWorkerPid(called, &pid) != BGWH_STOPPED)
			return true;
		/* Somebody has ended it. */
		pfree(called);
		called = NULL;
	}

	/* First: one that comes and is not awaited ends. */
	await_successor(true);
	caller_context = MemoryContextSwitchTo(TopMemoryContext);
	if (!RegisterDynamicBackgroundWorker(worker, &called))
	{
		called = NULL;
		await_successor(false);
	}
	MemoryContextSwitchTo(caller_context);
	return called != NULL;
}

bool
uidgen_successor_has_come(void)
{
	bool		result;

	if (!called)
		return false;
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	result = uidgen_memory->successor != 0;
	LWLockRelease(&uidgen_memory->lock);
	return result;
}

void
uidgen_hand_over(void)
{
	bool		given = false;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	if (uidgen_memory->successor != 0)
	{
		pg_atomic_write_u32(&uidgen_memory->keeper_pid, uidgen_memory->successor_pid);
		uidgen_memory->keeper = uidgen_memory->successor;
		uidgen_memory->successor_awaited = false;
		set_successor(0, 0);
		uidgen_wake(uidgen_memory->keeper);
		given = true;
	}
	LWLockRelease(&uidgen_memory->lock);
	if (given)
		proc_exit(0);
}
