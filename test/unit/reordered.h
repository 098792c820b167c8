/*
 * reordered.h
 *	  Memory that reorders what a thread reads and writes, as far as the barriers of
 *	  the program allow.
 *
 * The processors that tests run on mostly reorder little: x86 lets only a store be
 * passed by a later load.  So a barrier that is missing shows on another machine, or
 * after another compiler.  Here it shows everywhere:
 *
 *	- A write waits in a buffer of the thread.  After each access some of the words in
 *	  it go to memory, at random; at a barrier all of them do.
 *	- At a read barrier about half of the words that the thread has read before are
 *	  read in advance.  Each read of such a word gives that, until the next barrier.
 *	- The atomic steps happen in memory and are full barriers; a compare-exchange that
 *	  fails is none.
 *
 * A write barrier does more here than it must: it empties the buffer.  That makes no
 * difference as long as the thread reads nothing of others before its next full one.
 *
 * A thread takes part once it has called reorder(), with a random seed.
 */
#ifndef REORDERED_H
#define REORDERED_H

#include <sched.h>
#include <time.h>

#include "core/atomics.h"

#define REORDERED_WORDS 64		/* that one thread reads and writes */

static __thread struct
{
	uint64_t	random;			/* 0: takes no part */
	int			count;
	struct
	{
		UidgenAtomic *word;
		bool		is_written; /* waits in the buffer */
		bool		is_read;	/* in advance */
		uint64_t	value;
	}			known[REORDERED_WORDS];
}			reordered;

/*
 * Let other threads run.  Beside programs that never wait, sched_yield() takes milliseconds each
 * time, so that the test ends before it has met all cases; a thread that sleeps goes on at once.
 */
static inline void
step_aside(void)
{
	static const struct timespec shortest = {0, 1};
	static __thread bool busy;
	struct timespec before,
				after;

	if (busy)
	{
		nanosleep(&shortest, NULL);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	sched_yield();
	clock_gettime(CLOCK_MONOTONIC, &after);
	busy = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec > 3000000;
}

static inline void
reorder(uint64_t seed)
{
	reordered.random = seed;
}

/* xorshift64, of which the lowest bits are left out; the state is not 0. */
static inline uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

/* One in n. */
static inline bool
reordered_chance(int n)
{
	return next_random(&reordered.random) % (uint64_t) n == 0;
}

static inline int
reordered_find(UidgenAtomic *word)
{
	int			i = 0;

	while (i < reordered.count && reordered.known[i].word != word)
		i++;
	if (i == reordered.count)
	{
		assert(i < REORDERED_WORDS);
		reordered.known[reordered.count++].word = word;
	}
	return i;
}

/* The words that wait go to memory, in any order: all of them, or some.  Others may
 * look at what has got there, before the next one does. */
static inline void
reordered_flush(bool all)
{
	int			left;

	do
	{
		left = 0;
		for (int i = 0; i < reordered.count; i++)
			if (reordered.known[i].is_written && reordered_chance(4))
			{
				uidgen_atomic_write(reordered.known[i].word, reordered.known[i].value);
				reordered.known[i].is_written = false;
				if (reordered_chance(4))
					step_aside();
			}
			else
				left += reordered.known[i].is_written;
	} while (all && left > 0);
}

static inline void
reordered_write_barrier(void)
{
	if (reordered.random != 0)
		reordered_flush(true);
}

static inline void
reordered_read_barrier(void)
{
	if (reordered.random == 0)
		return;
	for (int i = 0; i < reordered.count; i++)
		if (!reordered.known[i].is_written)
		{
			reordered.known[i].is_read = reordered_chance(2);
			if (reordered.known[i].is_read)
				reordered.known[i].value = uidgen_atomic_read(reordered.known[i].word);
		}
	if (reordered_chance(8))
		step_aside();
}

static inline void
reordered_full_barrier(void)
{
	reordered_write_barrier();
	reordered_read_barrier();
}

static inline uint64_t
reordered_read(UidgenAtomic *word)
{
	int			i;

	if (reordered.random == 0)
		return uidgen_atomic_read(word);
	i = reordered_find(word);
	return reordered.known[i].is_written || reordered.known[i].is_read ?
		reordered.known[i].value : uidgen_atomic_read(word);
}

static inline void
reordered_write(UidgenAtomic *word, uint64_t value)
{
	int			i;

	if (reordered.random == 0)
	{
		uidgen_atomic_write(word, value);
		return;
	}
	i = reordered_find(word);
	/* Writes of one word keep their order. */
	if (reordered.known[i].is_written)
		uidgen_atomic_write(word, reordered.known[i].value);
	reordered.known[i].is_written = true;
	reordered.known[i].is_read = false;
	reordered.known[i].value = value;
	reordered_flush(false);
}

static inline uint64_t
reordered_fetch_add(UidgenAtomic *word, uint64_t n)
{
	uint64_t	before;

	reordered_write_barrier();
	before = uidgen_atomic_fetch_add(word, n);
	reordered_read_barrier();
	return before;
}

static inline bool
reordered_compare_exchange(UidgenAtomic *word, uint64_t *expected, uint64_t value)
{
	reordered_write_barrier();
	if (uidgen_atomic_compare_exchange(word, expected, value))
	{
		reordered_read_barrier();
		return true;
	}
	/* Later reads of this word give nothing older. */
	if (reordered.random != 0)
		reordered.known[reordered_find(word)].is_read = false;
	return false;
}

#endif							/* REORDERED_H */
