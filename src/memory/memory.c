/*
 * memory.c
 *	  Requests and initializes the shared memory that memory.h describes.
 */
#include "postgres.h"

#include "memory/memory.h"

#include "memory/holders.h"
#include "memory/segment_slots.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#define NAME "uidgen"

static UidgenTicketWords no_words = {.era = {1}};

UidgenMemory *uidgen_memory = NULL;
UidgenTicketWords *uidgen_server_words = &no_words;
UidgenTicketWords *uidgen_words = &no_words;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

void
uidgen_shut_gate(void)
{
	uidgen_words = &no_words;
}

static void
request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(add_size(MAXALIGN(sizeof(UidgenMemory)),
									add_size(uidgen_segments_size(), uidgen_holders_size())));
	RequestNamedLWLockTranche(NAME, 1); /* for its name; the locks are in the
										 * memory */
}

/* After a crash of a process it runs again, on fresh memory. */
static void
startup(void)
{
	bool		found;
	int			tranche;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	tranche = GetNamedLWLockTranche(NAME)->lock.tranche;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	uidgen_memory = ShmemInitStruct(NAME, sizeof(UidgenMemory), &found);
	if (!found)
	{
		memset(uidgen_memory, 0, sizeof(*uidgen_memory));
		uidgen_ticket_init(&uidgen_memory->words);
		pg_atomic_init_u64(&uidgen_memory->wasted, 0);
		pg_atomic_init_u32(&uidgen_memory->keeper_pid, 0);
		LWLockInitialize(&uidgen_memory->lock, tranche);
		uidgen_demand_init(&uidgen_memory->grant_demand);
		uidgen_demand_init(&uidgen_memory->move_demand);
		uidgen_lease_init(&uidgen_memory->lease);
		uidgen_node_init(&uidgen_memory->node);
	}
	uidgen_segments_init();
	uidgen_holders_init(tranche);
	uidgen_server_words = &uidgen_memory->words;
	Assert((uintptr_t) uidgen_server_words % UIDGEN_TICKET_LINE == 0);
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
