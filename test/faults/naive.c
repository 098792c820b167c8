/*
 * naive.c
 *	  The control of the fault rounds: a generator that keeps nothing durable.
 *
 * It is of the same kind as uidgen (a position in shared memory, taken by an
 * atomic step, never behind the clock, in order as long as the memory lives),
 * but after a crash it starts from the clock.  If it issues no duplicate in a
 * round, the round's crash and clock proved nothing about uidgen either.
 *
 * Compiled and preloaded by FaultRounds.pm; never installed.
 */
#include "postgres.h"

#include <sys/time.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

PG_MODULE_MAGIC;

/* An id is milliseconds since 1970, shifted, plus worker and sequence. */
#define SEQUENCE_BITS 12
#define WORKER_BITS 10
#define WORKER 1

extern PGDLLEXPORT void _PG_init(void);

PG_FUNCTION_INFO_V1(naive_next);

static pg_atomic_uint64 *position = NULL;	/* the next free one */
static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static void
request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(sizeof(*position));
}

static void
startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	position = ShmemInitStruct("naive", sizeof(*position), &found);
	if (!found)
		pg_atomic_init_u64(position, 0);
	LWLockRelease(AddinShmemInitLock);
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}

Datum
naive_next(PG_FUNCTION_ARGS)
{
	struct timeval now;
	uint64		first;
	uint64		old;
	uint64		new;

	if (!position)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the control is not preloaded")));
	gettimeofday(&now, NULL);
	first = ((uint64) now.tv_sec * 1000 + now.tv_usec / 1000) << SEQUENCE_BITS;
	old = pg_atomic_read_u64(position);
	do
	{
		new = Max(old, first);
	} while (!pg_atomic_compare_exchange_u64(position, &old, new + 1));
	PG_RETURN_INT64((int64) ((new >> SEQUENCE_BITS) << (WORKER_BITS + SEQUENCE_BITS) |
							 WORKER << SEQUENCE_BITS |
							 (new & ((1 << SEQUENCE_BITS) - 1))));
}
