/*
 * memory.c
 *	  Makes the shared memory that memory.h describes, and maps it.
 *
 * Both ways of having it, at preload and later, run the same code; they differ in who gives the room.
 */
#include "postgres.h"

#include "memory/memory.h"

#include "common/hashfn.h"
#include "compat.h"
#include "memory/counts.h"
#include "memory/horizon_holders.h"
#include "memory/segment_slots.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#define NAME "uidgen"

/*
 * The size of the first part, in all versions of the library: the server refuses a process that asks
 * for the name with another one, with a message that helps nobody.
 */
#define MEMORY_SIZE (64 * 1024)

StaticAssertDecl(sizeof(UidgenMemory) <= MEMORY_SIZE, "the shared memory has outgrown its size");
StaticAssertDecl(sizeof(UidgenMemoryHead) == UIDGEN_TICKET_LINE, "the head has a line of its own");

/*
 * To be raised where what lies in the memory comes to mean something else, though all sizes stay: two
 * versions with the same number and the same sizes use it together.
 */
#define SHAPE 2

static UidgenTicketWords no_words = {.era = {1}};

UidgenMemory *uidgen_memory = NULL;
bool		uidgen_preloaded = false;
bool		uidgen_attached = false;
UidgenTicketWords *uidgen_server_words = &no_words;
UidgenTicketWords *uidgen_words = &no_words;

/* Mapped, though it has another shape. */
static UidgenMemoryHead *other_head = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

void
uidgen_shut_gate(void)
{
	uidgen_words = &no_words;
}

static uint64
shape(void)
{
	const uint64 sizes[] = {
		SHAPE, sizeof(UidgenMemory), offsetof(UidgenMemory, lock), sizeof(UidgenSegmentSlot),
		sizeof(UidgenHolder), sizeof(UidgenHorizon), sizeof(UidgenPreparedHolder),
		sizeof(UidgenStatistics), sizeof(UidgenCounts),
	};

	return hash_bytes_extended((const unsigned char *) sizes, sizeof(sizes), 0) | 1;
}

/* Begin the first part, in memory of zeros. */
static void
make_memory(UidgenMemory *memory, int tranche)
{
	uidgen_ticket_init(&memory->words);
	pg_atomic_init_u64(&memory->wasted, 0);
	pg_atomic_init_u32(&memory->keeper_pid, 0);
	pg_atomic_init_u64(&memory->called_at, 0);
	pg_atomic_init_u32(&memory->calls, 0);
	memory->tranche = tranche;
	LWLockInitialize(&memory->lock, tranche);
	uidgen_demand_init(&memory->grant_demand);
	uidgen_demand_init(&memory->move_demand);
	uidgen_demand_init(&memory->rehearsal_demand);
	pg_atomic_init_u32(&memory->pin_wanted, 0);
	uidgen_lease_init(&memory->lease);
	uidgen_node_init(&memory->node);
	pg_atomic_init_u32(&memory->head.other_versions, 0);
	strlcpy(memory->head.version, UIDGEN_VERSION, sizeof(memory->head.version));
	memory->head.shape = shape();
}

static void
use_memory(UidgenMemory *memory)
{
	uidgen_memory = memory;
	uidgen_server_words = &memory->words;
	Assert((uintptr_t) uidgen_server_words % UIDGEN_TICKET_LINE == 0);
}

/*
 * Whoever asks PostgreSQL for memory by its name makes it, and there is no question whether it is there.  So
 * whoever makes it names a wait event, and these can be asked for.
 */
#define MARK "UidgenAttach"

static void
mark_memory(void)
{
	static uint32 event = 0;

	(void) uidgen_wait_event(&event, MARK);
}

bool
uidgen_memory_is_made(void)
{
	return uidgen_has_wait_event(MARK);
}

/*
 * Shared memory by its name, of zeros if nobody has made it yet.
 *
 * The server makes it under a lock in other shared memory.  If there is no room, the lock stays held until the end of
 * the transaction.  The keeper has no transaction here.  If it ended with the lock, older minor versions (17.6) would
 * touch the lock after that memory is unmapped, and crash.
 *
 * ERRCODE_OUT_OF_MEMORY, or whatever else the server says.
 */
static void *
named_memory(const char *name, Size size)
{
	MemoryContext context = CurrentMemoryContext;
	void	   *memory = NULL;

	PG_TRY();
	{
		memory = uidgen_named_memory(name, size);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		LWLockReleaseAll();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();

		/*
		 * Its message has a number that is another one each time, which would
		 * be news to the log.
		 */
		ereport(ERROR,
				(errcode(error->sqlerrcode),
				 errmsg("could not make %zu kB of shared memory for uidgen", size / 1024),
				 errdetail_internal("%s.", error->message),
				 errhint("Make room for dynamic shared memory (/dev/shm), or lower the setting \"uidgen.max_segments\". If there is room, restart the server.")));
	}
	PG_END_TRY();
	return memory;
}

bool
uidgen_map_memory(void)
{
	UidgenMemory *memory;
	bool		fits;

	if (uidgen_memory)
		return true;
	memory = named_memory(NAME, MEMORY_SIZE);
	mark_memory();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (memory->head.shape == 0)
		make_memory(memory, uidgen_new_tranche(NAME));
	fits = memory->head.shape == shape();
	LWLockRelease(AddinShmemInitLock);
	if (!fits)
	{
		other_head = &memory->head;
		return false;
	}
	uidgen_name_tranche(memory->tranche, NAME);
	use_memory(memory);
	return true;
}

UidgenMemoryHead *
uidgen_other_head(void)
{
	return other_head;
}

/*
 * What is in the second part, each at the beginning of a cache line.  Lays it out from `memory` on, where
 * that is there, and returns its size.
 */
static Size
lay_out_slots(char *memory, bool make)
{
	Size		segments = TYPEALIGN(UIDGEN_TICKET_LINE, uidgen_segments_size());
	Size		counts = TYPEALIGN(UIDGEN_TICKET_LINE, uidgen_counts_size());

	if (memory)
	{
		uidgen_segments_use(memory, make);
		uidgen_counts_use(memory + segments, make);
		uidgen_holders_use(memory + segments + counts, make, uidgen_memory->tranche);
	}
	return add_size(add_size(segments, counts), uidgen_holders_size());
}

static Size
slots_size(void)
{
	return lay_out_slots(NULL, false);
}

/*
 * The name has the size: a keeper that ended before it had pinned anything may have made this part for
 * other settings.
 */
void
uidgen_map_slots(bool make)
{
	Size		size = slots_size();
	char		name[NAMEDATALEN];

	snprintf(name, sizeof(name), NAME " slots %zu", size);
	(void) lay_out_slots(named_memory(name, size), make);
}

/* ---- at preload ---- */

static void
request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(add_size(add_size(MEMORY_SIZE, slots_size()), 2 * UIDGEN_TICKET_LINE));
	RequestNamedLWLockTranche(NAME, 1); /* for its name; the locks are in the
										 * memory */
}

/* Memory of zeros at the beginning of a cache line. */
static char *
take_shmem(const char *name, Size size, bool *found)
{
	char	   *memory = ShmemInitStruct(name, size + UIDGEN_TICKET_LINE, found);

	if (!*found)
		memset(memory, 0, size + UIDGEN_TICKET_LINE);
	return (char *) TYPEALIGN(UIDGEN_TICKET_LINE, memory);
}

/* After a crash of a process it runs again, on fresh memory. */
static void
startup(void)
{
	bool		found;
	UidgenMemory *memory;
	char	   *slots;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	memory = (UidgenMemory *) take_shmem(NAME, MEMORY_SIZE, &found);
	if (!found)
		make_memory(memory, GetNamedLWLockTranche(NAME)->lock.tranche);
	use_memory(memory);
	slots = take_shmem(NAME " slots", slots_size(), &found);
	(void) lay_out_slots(slots, !found);
	if (!found)
	{
		memory->pinned = *uidgen_checked_settings();
		memory->pin_state = memory->pinned.bad_setting[0] ? UIDGEN_UNFIT : UIDGEN_PINNED;
	}
	uidgen_attached = memory->pin_state == UIDGEN_PINNED;
	LWLockRelease(AddinShmemInitLock);
}

void
uidgen_request_shmem(void)
{
	uidgen_preloaded = true;
	if (!uidgen_checked_settings()->bad_setting[0])
		uidgen_go_by(uidgen_checked_settings());
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}
