/*
 * worker.c
 *	  What the postmaster is told of the keeper: see worker.h.
 */
/* for dladdr() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "postgres.h"

#include "memory/worker.h"

#include <dlfcn.h>

#include "core/clock.h"
#include "memory/memory.h"
#include "storage/proc.h"

#define NAME "uidgen keeper"

/* A keeper that was called is given so long before another one is. */
#define CALL_AGAIN_US 1000000

/*
 * The name by which the keeper's process finds the library: the file that this code was
 * loaded from.  A bare name could find another copy of the library, whose shared memory
 * may have another shape.
 */
static void
library_name(char *name, size_t size)
{
	Dl_info		info;

	if (dladdr((void *) uidgen_describe_keeper, &info) == 0 ||
		!is_absolute_path(info.dli_fname) || strlen(info.dli_fname) >= size)
		strlcpy(name, "uidgen", size);
	else
		strlcpy(name, info.dli_fname, size);
}

BackgroundWorker
uidgen_describe_keeper(void)
{
	BackgroundWorker worker = {0};

	/*
	 * Not BGWORKER_INTERRUPTIBLE, which PostgreSQL 19 has: whoever renames,
	 * copies or drops the database that such a worker is connected to ends
	 * it, but the postmaster does not start it again then.  The server would
	 * issue no ids until it is restarted.
	 */
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = 0;
	library_name(worker.bgw_library_name, sizeof(worker.bgw_library_name));
	snprintf(worker.bgw_function_name, sizeof(worker.bgw_function_name),
			 "uidgen_keeper_main");
	snprintf(worker.bgw_name, sizeof(worker.bgw_name), NAME);
	snprintf(worker.bgw_type, sizeof(worker.bgw_type), NAME);
	return worker;
}

void
uidgen_register_keeper(void)
{
	BackgroundWorker worker = uidgen_describe_keeper();

	RegisterBackgroundWorker(&worker);
}

/*
 * One process calls for all that wait: otherwise each would take a worker slot for a moment.  Two
 * keepers do no harm, since the second one finds the first one and ends.
 */
bool
uidgen_ensure_keeper(void)
{
	BackgroundWorker worker;
	uint64		called_at = pg_atomic_read_u64(&uidgen_memory->called_at);
	uint64		now = (uint64) uidgen_clock_monotonic();

	if (uidgen_preloaded || pg_atomic_read_u32(&uidgen_memory->keeper_pid) != 0 ||
		(called_at != 0 && now - called_at < CALL_AGAIN_US) ||
		!pg_atomic_compare_exchange_u64(&uidgen_memory->called_at, &called_at, now))
		return true;
	worker = uidgen_describe_keeper();
	if (RegisterDynamicBackgroundWorker(&worker, NULL))
		return true;
	pg_atomic_write_u64(&uidgen_memory->called_at, 0);
	return false;
}

bool
uidgen_keeper_runs(void)
{
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		int			pid = ProcGlobal->allProcs[i].pid;
		const char *type = pid != 0 ? GetBackgroundWorkerTypeByPid(pid) : NULL;

		if (type && strcmp(type, NAME) == 0)
			return true;
	}
	return false;
}
