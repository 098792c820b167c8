/*
 * cache.c
 *	  A session's own store of positions.
 *
 * With uidgen.cache above 1 a session takes a block of positions in one atomic
 * step and hands them out by itself.  Uniqueness does not rest on anything here:
 * positions that were taken are the session's alone, used or not.  What is in the
 * store is discarded where using it would break another promise:
 *
 *	- time: a block lies within one tick, and the clock must stand where it stood
 *	  when the block was taken;
 *	- order over sessions, from one tick to the next: nobody may have taken
 *	  positions of a later tick since;
 *	- order within the session: a block of another setting, or one that is older
 *	  than ids that the session took past the store, is not used any more;
 *	- the grant: the era must be that of when the block was taken.
 *
 * The clock that is compared is the coarse one, which moves with the kernel's
 * timer, every 1 to 10 ms: reading it costs a fifth of the exact one, which would
 * cost more than taking an id without a store.  So with a cache the time in an id
 * may be older than the call by one such step.  Ticks shorter than COARSE_US are
 * compared exactly.
 *
 * A block that finds no room in the tick opens the next one, and so makes others
 * discard theirs; where all stores together are larger than a tick has room for,
 * sessions would drive each other ahead of the clock.  So a session that had to
 * discard for that reason takes half as many next time, and twice as many, up to
 * the setting, after it used all of a block.
 */
#include "postgres.h"

#include "cache.h"

#include <pthread.h>

#include "clock.h"
#include "generator.h"
#include "guc.h"
#include "shmem.h"
#include "storage/ipc.h"

#define COARSE_US 1000

static struct
{
	uint64		used;			/* the id used last, without tag */
	uint64		last;			/* the last one; the same: nothing is left */
	uint64		step;			/* from one to the next */
	uint64		size;			/* how many to take at a time */
	uint64		next_tick;		/* first position of the tick after theirs */
	uint64		era;			/* when they were taken: the era, */
	int64		clock;			/* the clock, */
	uint32		changes;		/* and the setting */
	bool		has_callbacks;	/* those below are registered */
}			store = {.step = 1};

/* What changes when the clock has moved too far. */
static inline int64
clock_mark(void)
{
	if (UIDGEN_COARSE_CLOCK && uidgen_layout.unit >= COARSE_US)
		return uidgen_clock_coarse();
	return (int64) uidgen_clock_tick();
}

/* A copy of the process must not issue the same ids. */
static void
empty_in_child(void)
{
	store.used = store.last;
}

static void
discard_at_exit(int code, Datum arg)
{
	uidgen_cache_discard();
}

void
uidgen_cache_discard(void)
{
	if (store.used != store.last)
		pg_atomic_fetch_add_u64(&uidgen_shared->wasted,
								(store.last - store.used) / store.step);
	store.used = store.last;
}

/* How many to take next; looks at what became of the store. */
static uint64
next_size(void)
{
	uint64		most = (uint64) Min(uidgen_cache,
									uidgen_layout_tick_capacity(uidgen_server_layout()));

	if (store.changes != uidgen_cache_changes)
		return most;
	if (store.used == store.last)
		return Min(store.size * 2, most);
	if (store.next_tick < uidgen_atomic_read(&uidgen_words->position))
		return Max(store.size / 2, 1);
	return store.size;
}

static pg_noinline int64
refill(uint64 tag_bits)
{
	UidgenBlock block;
	uint64		n = next_size();

	uidgen_cache_discard();
	if (!store.has_callbacks)
	{
		before_shmem_exit(discard_at_exit, 0);
		(void) pthread_atfork(NULL, NULL, empty_in_child);
		store.has_callbacks = true;
	}

	/* All that the block must agree with, before it is taken: what changes
	 * meanwhile makes it useless, not wrong. */
	store.changes = uidgen_cache_changes;
	store.era = uidgen_atomic_read(&uidgen_words->era);
	store.clock = clock_mark();
	uidgen_take(n, true, &block);

	store.size = n;
	store.next_tick = ((block.first >> uidgen_rules.sequence_bits) + 1) <<
		uidgen_rules.sequence_bits;
	store.used = (uint64) uidgen_block_id(&block, 0, 0);
	store.last = (uint64) uidgen_block_id(&block, n - 1, 0);
	store.step = UINT64CONST(1) << uidgen_layout.shift[UIDGEN_SEQUENCE];
	return (int64) (store.used | tag_bits);
}

int64
uidgen_cached_id(uint64 tag_bits)
{
	if (unlikely(store.used == store.last ||
				 store.changes != uidgen_cache_changes ||
				 store.era != uidgen_atomic_read(&uidgen_words->era) ||
				 store.next_tick < uidgen_atomic_read(&uidgen_words->position) ||
				 store.clock != clock_mark()))
		return refill(tag_bits);
	store.used += store.step;
	return (int64) (store.used | tag_bits);
}
