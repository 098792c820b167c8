/*
 * cache.c
 *	  A session's own cache of positions.
 *
 * With uidgen.cache above 1 a session takes several positions in one atomic step
 * and hands them out by itself.  Uniqueness rests on one rule: the cache changes
 * only after a take has succeeded, so it never holds a position that another session
 * may have.  What is in the cache is discarded where using it would break another
 * promise:
 *
 *	- time: the positions lie in one tick, and are not used when the clock has left
 *	  that tick behind;
 *	- order over sessions, from one tick to the next: nobody may have taken
 *	  positions of a later tick since;
 *	- order within the session: after the session took ids past the cache, nothing
 *	  older than those is used;
 *	- the grant: the era must be the one in which the positions were taken;
 *	- readers: what is left from an earlier transaction is used only if no reader was told that
 *	  nothing comes there any more (horizon_hold.h).
 *
 * For the time, the coarse clock is compared first, which moves with the kernel's
 * timer, every 1 to 10 ms.  Reading the exact clock costs five times as much, more
 * than taking an id without a cache.  So with a cache, the time in an id may be older
 * than the call by one step of the coarse clock.  Where ticks are shorter than
 * COARSE_US, the exact clock is read.
 *
 * How many positions to take follows from use: one at first; twice as many if all of
 * the last ones were used while they were good; otherwise as many as were used of the
 * last ones.  So a session that uses one id at a time takes one at a time, even if it
 * sets uidgen.cache for each (SET LOCAL, or a function that sets it).  And sessions
 * whose caches together are larger than a tick come to take less.  A take never passes
 * over the rest of a tick: it takes that rest, and begins the next tick only if nothing
 * is left.
 */
#include "postgres.h"

#include "ids/cache.h"

#include <pthread.h>

#include "core/clock.h"
#include "ids/attach.h"
#include "ids/generator.h"
#include "ids/horizon_hold.h"
#include "ids/layout_used.h"
#include "memory/counts.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "memory/server.h"
#include "storage/ipc.h"

#define COARSE_US 1000

static struct
{
	uint64		used;			/* the id used last, without tag */
	uint64		last;			/* the last id; same as used: nothing is left */
	uint64		stride;			/* from one id to the next */
	uint64		taken;			/* how many were taken */
	UidgenPosition next_tick;	/* first position of the tick after the
								 * cache's */
	uint64		era;			/* in which the ids were taken */
	int64		clock;			/* clock_mark() when the time was last checked */
	bool		has_callbacks;	/* the callbacks below are registered */
}			cache = {.stride = 1};

/* A value that changes when the clock may have left the tick. */
static inline int64
clock_mark(void)
{
	if (UIDGEN_COARSE_CLOCK && uidgen_layout.unit >= COARSE_US)
		return uidgen_clock_coarse();
	return uidgen_clock_tick();
}

/* A child that the process forks must not issue the same ids. */
static void
empty_in_child(void)
{
	cache.used = cache.last;
}

static void
discard_at_exit(int code, Datum arg)
{
	uidgen_cache_discard();
}

static inline uint64
left_in_cache(void)
{
	return (cache.last - cache.used) / cache.stride;
}

void
uidgen_cache_discard(void)
{
	uint64		left = left_in_cache();

	cache.next_tick = 0;		/* so that it does not count as used up */
	if (left == 0)
		return;
	pg_atomic_fetch_add_u64(&uidgen_memory->wasted, left);
	cache.taken -= left;		/* only what was used counts for the next size */
	cache.used = cache.last;
}

/* Are the cache's positions of the grant in force, and of the latest tick?  Not through a gate that
 * is shut. */
static inline bool
cache_in_order(void)
{
	return cache.era == uidgen_atomic_read(&uidgen_words->era) &&
		cache.next_tick >= uidgen_atomic_read(&uidgen_words->position);
}

/*
 * Is the clock still in the tick of the cache, or not too far behind it?  That can be
 * so after the coarse clock has moved: in a long tick, or where ids run ahead of the
 * clock.
 */
static bool
cache_in_time(void)
{
	int64		mark = clock_mark();
	const UidgenTicketClock *clock;

	if (mark == cache.clock)
		return true;
	clock = uidgen_look_at_clock(uidgen_server_words, cache.era);
	if (cache.next_tick <= clock->first || cache.next_tick - 1 > clock->highest)
		return false;
	cache.clock = mark;			/* good until it moves again */
	return true;
}

static inline int64
next_in_cache(uint64 tag_bits)
{
	uidgen_count(&uidgen_counts->cached, 1);
	cache.used += cache.stride;
	return (int64) (cache.used | tag_bits);
}

/* Take a new cache, and use its first position.  used_up: all of the last cache was
 * used while it was good. */
static int64
refill(bool used_up, uint64 tag_bits)
{
	UidgenBlock block;
	uint64		most = (uint64) Min(uidgen_cache,
									uidgen_layout_tick_capacity(uidgen_attach_to_draw()));
	uint64		n;
	int64		mark;

	uidgen_cache_discard();
	if (!cache.has_callbacks)
	{
		before_shmem_exit(discard_at_exit, 0);
		(void) pthread_atfork(NULL, NULL, empty_in_child);
		cache.has_callbacks = true;
	}

	/*
	 * Read before the take: if the take has to wait, the clock is then looked
	 * at again before the second position is used.
	 */
	mark = clock_mark();
	n = used_up && !uidgen_cache_assigned ? cache.taken * 2 : cache.taken;
	n = Max(Min(n, most), 1);
	uidgen_take(n, UIDGEN_TAKE_REST, &block);

	/*
	 * Nothing above has changed what the cache holds, so an error in the take
	 * leaves it empty.  Nothing below can fail.
	 */
	uidgen_cache_assigned = false;
	cache.clock = mark;
	cache.era = block.era;
	cache.taken = block.count;
	cache.next_tick = ((block.first >> uidgen_rules.sequence_bits) + 1) <<
		uidgen_rules.sequence_bits;
	cache.used = (uint64) uidgen_block_id(&block, 0, 0);
	cache.last = (uint64) uidgen_block_id(&block, block.count - 1, 0);
	cache.stride = UINT64CONST(1) << uidgen_layout.shift[UIDGEN_SEQUENCE];
	uidgen_count(&uidgen_counts->cached, 1);
	return (int64) (cache.used | tag_bits);
}

/*
 * A transaction begins: it holds the horizon at the cache's tick.  If readers have passed that, its
 * ids may be stored no more.
 */
static void
begin_transaction(void)
{
	if (left_in_cache() > 0 &&
		!uidgen_hold_older(uidgen_ticket_tick(&uidgen_rules, cache.next_tick) - 1))
		uidgen_cache_discard();
	uidgen_begin_drawing();
}

/* The cache cannot be used, or has to be checked first. */
static pg_noinline int64
cached_id_slowly(uint64 tag_bits)
{
	bool		good;

	if (uidgen_cache == 1)
	{
		/* The setting was set back to 1: take this id past the cache. */
		uidgen_cache_discard();
		uidgen_cache_in_use = false;
		return uidgen_next_id(tag_bits);
	}
	if (uidgen_words != uidgen_server_words)
		begin_transaction();
	good = cache.taken > 0 && cache_in_order() && cache_in_time();
	if (!good || cache.used == cache.last)
		return refill(good, tag_bits);
	uidgen_layout_drawn();
	return next_in_cache(tag_bits);
}

int64
uidgen_cached_id(uint64 tag_bits)
{
	if (unlikely(cache.used == cache.last || !cache_in_order() ||
				 cache.clock != clock_mark() || uidgen_cache == 1))
		return cached_id_slowly(tag_bits);
	return next_in_cache(tag_bits);
}
