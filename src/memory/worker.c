/*
 * worker.c
 *	  What the postmaster is told of the keeper: see worker.h.
 */
#include "postgres.h"

#include "memory/worker.h"

#include <dlfcn.h>
#include <unistd.h>

#include "core/clock.h"
#include "memory/memory.h"

#define NAME "uidgen keeper"

/* How long a called keeper has to come before another is called.  The time doubles each time none has come, since
 * whatever keeps keepers away would keep each of them in a worker slot. */
#define CALL_AGAIN_US 1000000
#define MOST_DOUBLINGS 6

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

	/*
	 * A keeper that ends is needed at once, and the postmaster measures this
	 * time on the wall clock, which may be set back.  But where sessions have
	 * keepers started, they call another one; and a library file that is gone
	 * would let the postmaster try again and again.
	 */
	worker.bgw_restart_time = uidgen_preloaded ? 0 : 1;
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

bool
uidgen_is_keeper(void)
{
	return pg_atomic_read_u32(&uidgen_memory->keeper_pid) == (uint32) MyProcPid;
}

/*
 * One process calls for all that wait: otherwise each would take a worker slot for a moment.  Two
 * keepers do no harm, since the second one finds the first one and ends.
 */
bool
uidgen_ensure_keeper(void)
{
	BackgroundWorker worker;
	uint32		calls;
	uint64		called_at = pg_atomic_read_u64(&uidgen_memory->called_at);
	uint64		now = (uint64) uidgen_clock_monotonic();

	if (uidgen_preloaded)
		return true;
	if (pg_atomic_read_u32(&uidgen_memory->keeper_pid) != 0)
	{
		pg_atomic_write_u32(&uidgen_memory->calls, 0);
		return true;
	}
	calls = pg_atomic_read_u32(&uidgen_memory->calls);
	if ((called_at != 0 && now - called_at < (uint64) CALL_AGAIN_US << Min(calls, MOST_DOUBLINGS)) ||
		!pg_atomic_compare_exchange_u64(&uidgen_memory->called_at, &called_at, now))
		return true;
	worker = uidgen_describe_keeper();
	if (uidgen_library_is_there(&worker) && RegisterDynamicBackgroundWorker(&worker, NULL))
	{
		pg_atomic_fetch_add_u32(&uidgen_memory->calls, 1);
		return true;
	}
	pg_atomic_write_u64(&uidgen_memory->called_at, 0);
	return false;
}

void
uidgen_keeper_came(void)
{
	pg_atomic_write_u32(&uidgen_memory->calls, 0);
	pg_atomic_write_u64(&uidgen_memory->called_at, 0);
}

bool
uidgen_library_is_there(const BackgroundWorker *worker)
{
	return uidgen_preloaded || !is_absolute_path(worker->bgw_library_name) ||
		access(worker->bgw_library_name, R_OK) == 0;
}
