/*
 * stress.h
 *	  What tests of lock-free rules share: every access to a shared word can be disturbed,
 *	  and threads run on memory that reorders (reordered.h).
 *
 * A test includes this, then the source of the rules, so that their atomic operations are
 * those here, and defines disturb(), which each of these calls first.
 */
#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "reordered.h"
#include "tap.h"

static void disturb(void);

#undef uidgen_atomic_read
#undef uidgen_atomic_write
#undef uidgen_atomic_fetch_add
#undef uidgen_atomic_compare_exchange
#undef uidgen_read_barrier
#undef uidgen_write_barrier
#define uidgen_atomic_read(a)		(disturb(), reordered_read(a))
#define uidgen_atomic_write(a, v)	(disturb(), reordered_write((a), (v)))
#define uidgen_atomic_fetch_add(a, n) \
	(disturb(), reordered_fetch_add((a), (n)))
#define uidgen_atomic_compare_exchange(a, expected, v) \
	(disturb(), reordered_compare_exchange((a), (expected), (v)))
#define uidgen_read_barrier()		reordered_read_barrier()
#define uidgen_write_barrier()		reordered_write_barrier()

/* The thread's state of next_random() under stress; 0: it is not under stress. */
static __thread uint64_t disturbance;

/* Under stress another thread goes first now and then. */
static inline void
give_way(void)
{
	if (next_random(&disturbance) % 16 == 0)
		step_aside();
}

/* The thread is under stress from now on, with this random seed; 0: not any more. */
static inline void
stress_thread(uint64_t seed)
{
	disturbance = seed;
	reorder(seed);
}

static inline void
start_thread(pthread_t *thread, void *(*run) (void *), void *argument)
{
	if (pthread_create(thread, NULL, run, argument) != 0)
	{
		printf("Bail out! could not start a thread\n");
		exit(1);
	}
}

static inline void *
allocate(size_t size)
{
	void	   *memory = malloc(size);

	if (!memory)
	{
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return memory;
}

/* Of some clock that nobody sets. */
static inline double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

#endif							/* STRESS_H */
