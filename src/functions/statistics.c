/*
 * statistics.c
 *	  The view uidgen.statistics, which adds up what the processes have counted (memory/counts.h).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "functions/values.h"
#include "memory/attachment.h"
#include "memory/counts.h"
#include "memory/memory.h"

SQL_FUNCTION(uidgen_read_statistics);
SQL_FUNCTION(uidgen_reset_statistics);

typedef enum StatisticsColumn
{
	IDS, IDS_SINGLE, IDS_BATCH, IDS_BLOCK, SEGMENT_NUMBERS,
	GRANT_WAITS, GRANT_WAIT_TIME, CLOCK_WAITS, CLOCK_WAIT_TIME, SEGMENT_WAITS, SEGMENT_WAIT_TIME,
	SINCE
} StatisticsColumn;

/* What was counted since the last reset, and since when. */
static void
read_counts(UidgenCounts *counts, TimestampTz *since)
{
	UidgenCounts before;

	/*
	 * In this order: what the lines had at a reset is not more than they have
	 * later.
	 */
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	before = uidgen_statistics->before;
	*since = uidgen_statistics->since;
	LWLockRelease(&uidgen_memory->lock);
	uidgen_counts_sum(counts);
	for (int i = 0; i < UIDGEN_COUNTS; i++)
		((uint64 *) counts)[i] -= ((uint64 *) &before)[i];
}

Datum
uidgen_read_statistics(PG_FUNCTION_ARGS)
{
	UidgenColumn row[] = {
		[IDS] = NULL_COLUMN(INT8OID),
		[IDS_SINGLE] = NULL_COLUMN(INT8OID),
		[IDS_BATCH] = NULL_COLUMN(INT8OID),
		[IDS_BLOCK] = NULL_COLUMN(INT8OID),
		[SEGMENT_NUMBERS] = NULL_COLUMN(INT8OID),
		[GRANT_WAITS] = NULL_COLUMN(INT8OID),
		[GRANT_WAIT_TIME] = NULL_COLUMN(INTERVALOID),
		[CLOCK_WAITS] = NULL_COLUMN(INT8OID),
		[CLOCK_WAIT_TIME] = NULL_COLUMN(INTERVALOID),
		[SEGMENT_WAITS] = NULL_COLUMN(INT8OID),
		[SEGMENT_WAIT_TIME] = NULL_COLUMN(INTERVALOID),
		[SINCE] = NULL_COLUMN(TIMESTAMPTZOID),
	};
	UidgenCounts counts;
	TimestampTz since;

#define SET_COUNT(column, count) SET(column, Int64GetDatum((int64) (count)))
#define SET_WAITS(column, reason) \
	(SET_COUNT(column, counts.waits[reason].calls), \
	 SET(column + 1, IntervalPGetDatum(uidgen_interval((int64) counts.waits[reason].microseconds))))
	if (uidgen_look() == UIDGEN_ATTACHED)
	{
		read_counts(&counts, &since);
		SET_COUNT(IDS, counts.single + counts.batch + counts.block);
		SET_COUNT(IDS_SINGLE, counts.single);
		SET_COUNT(IDS_BATCH, counts.batch);
		SET_COUNT(IDS_BLOCK, counts.block);
		SET_COUNT(SEGMENT_NUMBERS, counts.numbers);
		SET_WAITS(GRANT_WAITS, UIDGEN_WAIT_GRANT);
		SET_WAITS(CLOCK_WAITS, UIDGEN_WAIT_CLOCK);
		SET_WAITS(SEGMENT_WAITS, UIDGEN_WAIT_SEGMENT);
		SET(SINCE, TimestampTzGetDatum(since));
	}
#undef SET_WAITS
#undef SET_COUNT
	return uidgen_return_row(fcinfo, row, lengthof(row));
}

/* Where nothing was drawn yet, there is nothing to forget. */
Datum
uidgen_reset_statistics(PG_FUNCTION_ARGS)
{
	if (uidgen_look() == UIDGEN_ATTACHED)
	{
		LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
		uidgen_counts_sum(&uidgen_statistics->before);
		uidgen_statistics->since = GetCurrentTimestamp();
		LWLockRelease(&uidgen_memory->lock);
	}
	PG_RETURN_VOID();
}
