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
#include <string.h>
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

/* What threads share besides the words. */
#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_SEQ_CST)

/* What a thread has drawn: positions of a worker id, or numbers of a segment. */
typedef struct Record
{
	uint64_t	owner;
	uint64_t	first;
	uint64_t	count;
} Record;

typedef struct Records
{
	Record	   *record;
	size_t		count;
} Records;

#define RECORDS_MAX 2000000		/* of one thread */

/* False if there is no room for it: then the stress is to end. */
static inline bool
record(Records *records, uint64_t owner, uint64_t first, uint64_t count)
{
	if (records->count == RECORDS_MAX)
		return false;
	records->record[records->count++] = (Record) {owner, first, count};
	return true;
}

static inline void
add_records(Records *all, const Records *more)
{
	memcpy(all->record + all->count, more->record, more->count * sizeof(Record));
	all->count += more->count;
}

static inline int
compare_records(const void *a, const void *b)
{
	const Record *x = a;
	const Record *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* How many records have something that the one before has too.  Sorts them. */
static inline uint64_t
count_overlaps(Records *all, const char *of)
{
	uint64_t	overlaps = 0;

	qsort(all->record, all->count, sizeof(Record), compare_records);
	for (size_t i = 1; i < all->count; i++)
	{
		const Record *former = &all->record[i - 1];
		const Record *one = &all->record[i];

		if (one->owner == former->owner && one->first < former->first + former->count && overlaps++ < 5)
			printf("# %s %" PRIu64 ": %" PRIu64 " and %" PRIu64 " from %" PRIu64 " and %" PRIu64 " on\n",
				   of, one->owner, former->count, one->count, former->first, one->first);
	}
	return overlaps;
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
