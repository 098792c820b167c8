/*
 * shmem.c
 *	  Requests and initializes the shared memory that shmem.h describes.
 */
#include "postgres.h"

#include "shared/shmem.h"

#include "miscadmin.h"
#include "shared/segments.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#define NAME "uidgen"

static UidgenTicketWords no_words = {.era = {1}};

UidgenShared *uidgen_shared = NULL;
UidgenTicketWords *uidgen_words = &no_words;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static void
request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(add_size(MAXALIGN(sizeof(UidgenShared)), uidgen_segments_size()));
	RequestNamedLWLockTranche(NAME, 1);
}

/* After a crash of a process it runs again, on fresh memory. */
static void
startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	uidgen_shared = ShmemInitStruct(NAME, sizeof(UidgenShared), &found);
	if (!found)
	{
		memset(uidgen_shared, 0, sizeof(*uidgen_shared));
		uidgen_ticket_init(&uidgen_shared->words);
		pg_atomic_init_u64(&uidgen_shared->wasted, 0);
		pg_atomic_init_u32(&uidgen_shared->keeper_pid, 0);
		uidgen_shared->lock = &GetNamedLWLockTranche(NAME)->lock;
		uidgen_demand_init(&uidgen_shared->grant_demand, uidgen_shared->lock,
						   &uidgen_shared->keeper_latch);
		uidgen_demand_init(&uidgen_shared->move_demand, uidgen_shared->lock,
						   &uidgen_shared->keeper_latch);
		uidgen_lease_init(&uidgen_shared->lease);
		uidgen_node_init(&uidgen_shared->node);
	}
	uidgen_segments_init();
	uidgen_words = &uidgen_shared->words;
	Assert((uintptr_t) uidgen_words % UIDGEN_TICKET_LINE == 0);
	LWLockRelease(AddinShmemInitLock);
}

void
uidgen_request_shmem(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}
