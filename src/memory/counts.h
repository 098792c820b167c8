/*
 * counts.h
 *	  How much was drawn and waited for since the server started: uidgen.statistics.
 *
 * Each process counts on lines of its own, by its number among PostgreSQL's, which nobody else writes
 * to: no line is shared, and what a process has counted stays when it is killed.  The process that has
 * the number after it counts on.  Readers add the lines up (functions/statistics.c).
 *
 * An id is counted when it has been taken, before it is returned.  ids/ counts what it hands out, and
 * memory/demand.c the waits.
 */
#ifndef UIDGEN_COUNTS_H
#define UIDGEN_COUNTS_H

#include "postgres.h"

#include "compat.h"
#include "core/ticket.h"
#include "datatype/timestamp.h"

/* What a call waits for. */
typedef enum UidgenWaitReason
{
	UIDGEN_WAIT_GRANT,
	UIDGEN_WAIT_CLOCK,
	UIDGEN_WAIT_SEGMENT,
	UIDGEN_COUNTED_WAITS,
	UIDGEN_WAIT_ATTACH = UIDGEN_COUNTED_WAITS	/* before there is anything to
												 * count on */
} UidgenWaitReason;

typedef struct UidgenWaits
{
	uint64		calls;			/* calls with a wait */
	uint64		microseconds;
} UidgenWaits;

/* All fields are uint64, so that they can be added up as an array. */
typedef struct UidgenCounts
{
	/* ids, by how they were drawn */
	uint64		single;			/* one at a time */
	uint64		batch;			/* uid_next_batch(), all that it took */
	uint64		block;			/* uid_reserve() */
	uint64		numbers;		/* numbers of segments */
	UidgenWaits waits[UIDGEN_COUNTED_WAITS];
	uint64		unused[6];		/* whole cache lines */
} UidgenCounts;

#define UIDGEN_COUNTS ((int) (sizeof(UidgenCounts) / sizeof(uint64)))

typedef struct UidgenStatistics
{
	/* uidgen_memory->lock protects these. */
	TimestampTz since;			/* when counting began */
	UidgenCounts before;		/* what the lines had then */

	char		pad[UIDGEN_TICKET_LINE - sizeof(TimestampTz)];
} UidgenStatistics;

/* The lines of this process; before its first draw, lines that nobody reads. */
extern uidgen_hidden UidgenCounts *uidgen_counts;

/* Of the shared memory, or NULL. */
extern UidgenStatistics *uidgen_statistics;

/*
 * Count n more.  A reader must not see half of a word: where words of 64 bits are not written as one,
 * PostgreSQL's atomics do it.
 */
static inline void
uidgen_count(uint64 *count, uint64 n)
{
#ifdef PG_HAVE_8BYTE_SINGLE_COPY_ATOMICITY
	*count += n;
#else
	pg_atomic_uint64 *word = (pg_atomic_uint64 *) count;

	pg_atomic_write_u64(word, pg_atomic_read_u64(word) + n);
#endif
}

/* Count on the lines of this process from now on.  Both parts of the memory are mapped. */
extern void uidgen_counts_begin(void);

/* The sum of all lines.  The second part of the memory is mapped. */
extern void uidgen_counts_sum(UidgenCounts *sum);

/* The shared memory that is needed; and its use, with `make` of zeros for the first time.  It begins on
 * a cache line. */
extern Size uidgen_counts_size(void);
extern void uidgen_counts_use(char *memory, bool make);

#endif							/* UIDGEN_COUNTS_H */
