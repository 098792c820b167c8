/*
 * segment_slots.c
 *	  Slots for segments in shared memory, found by name: see segment_slots.h.
 */
#include "postgres.h"

#include "memory/segment_slots.h"

#include "compat.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"

#define NAME "uidgen segments"
#define INDEX_NAME "uidgen names of segments"

typedef struct SegmentTable
{
	/* uidgen_memory->lock protects these and the index. */
	int			used;			/* slots that were ever taken */
	uint64		last_segment;	/* number that was given last */
} SegmentTable;

typedef struct IndexEntry
{
	char		name[UIDGEN_SEGMENT_NAME_SIZE];
	int			slot;
} IndexEntry;

static SegmentTable *table;
static UidgenSegmentSlot *slots;
static HTAB *names;

/* The table and the slots, which begin on a cache line of their own. */
static Size
table_size(void)
{
	return add_size(sizeof(SegmentTable) + UIDGEN_TICKET_LINE,
					mul_size(uidgen_max_segments, sizeof(UidgenSegmentSlot)));
}

Size
uidgen_segments_size(void)
{
	return add_size(MAXALIGN(table_size()),
					hash_estimate_size(uidgen_max_segments, sizeof(IndexEntry)));
}

void
uidgen_segments_init(void)
{
	HASHCTL		control = {
		.keysize = UIDGEN_SEGMENT_NAME_SIZE,
		.entrysize = sizeof(IndexEntry),
	};
	bool		found;

	table = ShmemInitStruct(NAME, table_size(), &found);
	slots = (UidgenSegmentSlot *) TYPEALIGN(UIDGEN_TICKET_LINE, (char *) table + sizeof(SegmentTable));
	if (!found)
	{
		memset(table, 0, table_size());
		for (int i = 0; i < uidgen_max_segments; i++)
		{
			uidgen_segment_init(&slots[i].words);
			pg_atomic_init_u64(&slots[i].skipped, 0);
			uidgen_demand_init(&slots[i].demand, uidgen_memory->lock,
							   &uidgen_memory->keeper_latch);
		}
	}
	names = uidgen_shmem_hash(INDEX_NAME, Max(uidgen_max_segments, 1),
							  &control, HASH_ELEM | HASH_STRINGS);
}

/* The slot of this name, with its number; NULL: it has none.  Needs the lock. */
static UidgenSegmentSlot *
look_up(const char *name, uint64 *segment)
{
	IndexEntry *entry = hash_search(names, name, HASH_FIND, NULL);

	if (!entry)
		return NULL;
	*segment = slots[entry->slot].segment;
	return &slots[entry->slot];
}

/*
 * May the slot be given to another segment?  If the registry has never said that there is
 * one of its name, or says now that there is none, and nobody waits for the keeper to ask.
 * Otherwise whoever may draw could take all slots until the server ends, with names for which
 * the registry was never asked, or could not be.
 */
static bool
is_vacant(UidgenSegmentSlot *slot)
{
	return !slot->supply.known && !slot->demand.attempting &&
		uidgen_demand_open(&slot->demand) == 0;
}

/* A slot that no segment needs; NULL: there is none. */
static UidgenSegmentSlot *
find_free_slot(void)
{
	if (table->used < uidgen_max_segments)
		return &slots[table->used];
	for (int i = 0; i < table->used; i++)
		if (is_vacant(&slots[i]))
			return &slots[i];
	return NULL;
}

/* Begin with a segment in a slot: nothing that was drawn or known before counts for it. */
static void
begin_segment(UidgenSegmentSlot *slot)
{
	slot->segment = ++table->last_segment;
	uidgen_supply_init(&slot->supply);
	uidgen_segment_assign(&slot->words, slot->segment);
}

static UidgenSegmentSlot *
take_slot(const char *name, uint64 *segment)
{
	UidgenSegmentSlot *slot = find_free_slot();
	IndexEntry *entry;

	if (!slot)
		return NULL;
	if (slot->name[0])
		(void) hash_search(names, slot->name, HASH_REMOVE, NULL);
	else
		table->used++;
	/* There is room: the index has an entry for each slot. */
	entry = hash_search(names, name, HASH_ENTER, NULL);
	entry->slot = (int) (slot - slots);
	strlcpy(slot->name, name, sizeof(slot->name));
	uidgen_demand_forget(&slot->demand);
	pg_atomic_write_u64(&slot->skipped, 0);
	begin_segment(slot);
	*segment = slot->segment;
	return slot;
}

UidgenSegmentSlot *
uidgen_segments_find(const char *name, uint64 *segment)
{
	UidgenSegmentSlot *slot;

	LWLockAcquire(uidgen_memory->lock, LW_SHARED);
	slot = look_up(name, segment);
	LWLockRelease(uidgen_memory->lock);
	if (slot)
		return slot;

	LWLockAcquire(uidgen_memory->lock, LW_EXCLUSIVE);
	slot = look_up(name, segment);
	if (!slot)
		slot = take_slot(name, segment);
	LWLockRelease(uidgen_memory->lock);
	return slot;
}

int
uidgen_segments_used(void)
{
	int			used;

	LWLockAcquire(uidgen_memory->lock, LW_SHARED);
	used = table->used;
	LWLockRelease(uidgen_memory->lock);
	return used;
}

UidgenSegmentSlot *
uidgen_segments_slot(int i)
{
	return &slots[i];
}

char *
uidgen_segments_plain_name(const char *name)
{
	char	   *result = pstrdup(name);

	for (char *c = result; *c; c++)
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	return result;
}
