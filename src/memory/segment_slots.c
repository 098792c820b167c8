/*
 * segment_slots.c
 *	  Slots for segments in shared memory, found by name: see segment_slots.h.
 */
#include "postgres.h"

#include "memory/segment_slots.h"

#include "common/hashfn.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"

typedef struct SegmentTable
{
	/* &uidgen_memory->lock protects these and the index. */
	int			used;			/* slots that were ever taken */
	uint64		last_segment;	/* number that was given last */
} SegmentTable;

/*
 * The index: which slot has a name, by linear probing from the hash of the name on.  A place has the number of a
 * slot, counted from 1; 0: the place is free.  More than half of the places are always free.
 */
static SegmentTable *table;
static int *places;
static uint32 place_mask;		/* one less than there are places */
static UidgenSegmentSlot *slots;

static uint32
place_count(void)
{
	return pg_nextpower2_32(2 * (uint32) Max(uidgen_max_segments, 1) + 1);
}

/* Slots begin on a cache line of their own. */
static Size
slots_offset(void)
{
	return TYPEALIGN(UIDGEN_TICKET_LINE, sizeof(SegmentTable) + mul_size(place_count(), sizeof(int)));
}

Size
uidgen_segments_size(void)
{
	return add_size(slots_offset(), mul_size(uidgen_max_segments, sizeof(UidgenSegmentSlot)));
}

void
uidgen_segments_use(char *memory, bool make)
{
	table = (SegmentTable *) memory;
	places = (int *) (memory + sizeof(SegmentTable));
	place_mask = place_count() - 1;
	slots = (UidgenSegmentSlot *) (memory + slots_offset());
	if (make)
	{
		for (int i = 0; i < uidgen_max_segments; i++)
		{
			uidgen_segment_init(&slots[i].words);
			pg_atomic_init_u64(&slots[i].skipped, 0);
			uidgen_demand_init(&slots[i].demand);
		}
	}
}

/* Where the search for a name begins. */
static uint32
home_of(const char *name)
{
	return hash_bytes((const unsigned char *) name, (int) strlen(name)) & place_mask;
}

/* The place of a name, or the free one where it would be.  Needs the lock. */
static int *
find_place(const char *name)
{
	uint32		i = home_of(name);

	while (places[i] != 0 && strcmp(slots[places[i] - 1].name, name) != 0)
		i = (i + 1) & place_mask;
	return &places[i];
}

/*
 * Free the place of a name.  If the place lies between a later entry and that entry's home, the entry would no longer
 * be found.  So it moves into the place, and its own place is freed in turn.
 */
static void
free_place(const char *name)
{
	uint32		gap = (uint32) (find_place(name) - places);

	for (uint32 i = (gap + 1) & place_mask; places[i] != 0; i = (i + 1) & place_mask)
	{
		uint32		home = home_of(slots[places[i] - 1].name);

		if (((i - home) & place_mask) < ((i - gap) & place_mask))
			continue;
		places[gap] = places[i];
		gap = i;
	}
	places[gap] = 0;
}

/* The slot of this name, with its number; NULL: it has none.  Needs the lock. */
static UidgenSegmentSlot *
look_up(const char *name, uint64 *segment)
{
	int			number = *find_place(name);

	if (number == 0)
		return NULL;
	*segment = slots[number - 1].segment;
	return &slots[number - 1];
}

/*
 * May the slot be given to another segment?  Yes, if the registry never knew a segment of its name, or knows it no
 * more, and nobody waits for the keeper to ask.  Otherwise whoever may draw could take all slots until the server
 * ends, with names for which the registry was never asked, or could not be.
 */
static bool
is_vacant(UidgenSegmentSlot *slot)
{
	return !slot->there && !slot->demand.attempting &&
		uidgen_demand_open(&slot->demand) == 0;
}

/*
 * A slot that no segment needs; NULL: there is none.  If possible, not one whose name had numbers: how far they
 * went is told to the registry that has a segment of this name next.
 */
static UidgenSegmentSlot *
find_free_slot(void)
{
	UidgenSegmentSlot *vacant = NULL;

	if (table->used < uidgen_max_segments)
		return &slots[table->used];
	for (int i = 0; i < table->used; i++)
		if (is_vacant(&slots[i]))
		{
			vacant = &slots[i];
			if (vacant->supply.highest < 0)
				break;
		}
	return vacant;
}

/* Begin with a segment in a slot: nothing that was drawn or known before counts for it. */
static void
begin_segment(UidgenSegmentSlot *slot)
{
	slot->segment = ++table->last_segment;
	uidgen_supply_init(&slot->supply);
	slot->there = false;
	uidgen_segment_assign(&slot->words, slot->segment);
}

static UidgenSegmentSlot *
take_slot(const char *name, uint64 *segment)
{
	UidgenSegmentSlot *slot = find_free_slot();

	if (!slot)
		return NULL;
	if (slot->name[0])
		free_place(slot->name);
	else
		table->used++;
	*find_place(name) = (int) (slot - slots) + 1;
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

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	slot = look_up(name, segment);
	LWLockRelease(&uidgen_memory->lock);
	if (slot)
		return slot;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	slot = look_up(name, segment);
	if (!slot)
		slot = take_slot(name, segment);
	LWLockRelease(&uidgen_memory->lock);
	return slot;
}

int
uidgen_segments_used(void)
{
	int			used;

	if (!table)
		return 0;
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	used = table->used;
	LWLockRelease(&uidgen_memory->lock);
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
