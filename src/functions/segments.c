/*
 * segments.c
 *	  The functions that draw numbers of segments, and uidgen.segment_status.
 *
 * Errors: 22003 an argument is out of range, 22004 it is null; and the errors in segment_numbers.h.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "core/clock.h"
#include "funcapi.h"
#include "functions/values.h"
#include "ids/segment_numbers.h"
#include "mb/pg_wchar.h"
#include "memory/attachment.h"
#include "memory/memory.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"

/* Numbers that a batch takes at a time; an interrupted batch leaves out no more than these. */
#define BATCH_BLOCK 1024

SQL_FUNCTION(uidgen_segment_next);
SQL_FUNCTION(uidgen_segment_batch);
SQL_FUNCTION(uidgen_segment_reserve);
SQL_FUNCTION(uidgen_list_segments);

/* Of a name as it comes: a character may take twice as many bytes as in UTF-8. */
#define RAW_NAME_SIZE (2 * UIDGEN_SEGMENT_NAME_SIZE)

/* What a call site keeps: the name that it was last called with, as it came, and its
 * segment. */
typedef struct CallSite
{
	bool		constant;		/* the name is the same in each call */
	int			length;			/* bytes of the name; 0: none yet */
	char		name[RAW_NAME_SIZE];
	UidgenNumbers numbers;
} CallSite;

/*
 * Is argument 0 written as a constant, as in a column's default?  A variable of a function is no constant,
 * though its value is the same for a whole query: the call site outlives the query.
 */
static bool
has_constant_name(const FmgrInfo *flinfo)
{
	const FuncExpr *call = (const FuncExpr *) flinfo->fn_expr;

	return call && IsA(call, FuncExpr) && IsA(linitial(call->args), Const);
}

/* For the first call of a call site, and for a call with another name than the last one. */
static pg_noinline CallSite *
find_segment(FunctionCallInfo fcinfo, const char *name, int length)
{
	CallSite   *site = fcinfo->flinfo->fn_extra;

	if (!site)
		site = fcinfo->flinfo->fn_extra =
			MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CallSite));
	site->length = 0;			/* should there be an error */
	uidgen_find_numbers(&site->numbers, name, length);
	if (length <= RAW_NAME_SIZE)
	{
		memcpy(site->name, name, length);
		site->length = length;
	}
	site->constant = has_constant_name(fcinfo->flinfo);
	return site;
}

/* Argument 0. */
static inline const text *
arg_name(FunctionCallInfo fcinfo)
{
	if (unlikely(PG_ARGISNULL(0)))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the name of a segment must not be null"),
				 errhint("Give the name of a segment that uidgen_registry.create_segment() has made.")));
	return PG_GETARG_TEXT_PP(0);
}

/* The segment that argument 0 names. */
static inline UidgenNumbers *
arg_segment(FunctionCallInfo fcinfo)
{
	CallSite   *site = fcinfo->flinfo->fn_extra;
	const		text *name;
	int			length;

	if (likely(site && site->constant))
		return &site->numbers;
	name = arg_name(fcinfo);
	length = VARSIZE_ANY_EXHDR(name);
	if (unlikely(!site || site->length != length ||
				 memcmp(site->name, VARDATA_ANY(name), length) != 0))
		site = find_segment(fcinfo, VARDATA_ANY(name), length);
	return &site->numbers;
}

Datum
uidgen_segment_next(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(uidgen_next_number(arg_segment(fcinfo)));
}

/* What a batch keeps between its calls. */
typedef struct Batch
{
	UidgenNumbers numbers;
	uint64		left;			/* numbers still to be taken */
	uint64		count;			/* numbers that were taken, and are left */
	int64		next;
} Batch;

Datum
uidgen_segment_batch(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	Batch	   *batch;

	if (SRF_IS_FIRSTCALL())
	{
		/* A set keeps its state in fn_extra, where a call site would be. */
		const		text *name = arg_name(fcinfo);
		int32		n = uidgen_arg_int(fcinfo, 1, "n");

		if (n < 0)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("batch size must not be negative"),
					 errdetail("%d numbers were asked for.", n),
					 errhint("Ask for 0 numbers or more.")));
		context = SRF_FIRSTCALL_INIT();
		batch = MemoryContextAllocZero(context->multi_call_memory_ctx, sizeof(Batch));
		uidgen_find_numbers(&batch->numbers, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
		batch->left = n;
		context->user_fctx = batch;
	}
	context = SRF_PERCALL_SETUP();
	batch = context->user_fctx;
	if (batch->count == 0)
	{
		if (batch->left == 0)
			SRF_RETURN_DONE(context);
		CHECK_FOR_INTERRUPTS();
		batch->next = uidgen_take_numbers(&batch->numbers, Min(batch->left, BATCH_BLOCK),
										  UIDGEN_SEGMENT_REST, &batch->count);
		batch->left -= batch->count;
	}
	batch->count--;
	SRF_RETURN_NEXT(context, Int64GetDatum(batch->next++));
}

/*
 * Argument 0: the segment; argument 1: how many consecutive numbers.  The result is the first
 * one.
 */
Datum
uidgen_segment_reserve(PG_FUNCTION_ARGS)
{
	UidgenNumbers *numbers = arg_segment(fcinfo);
	int32		n = uidgen_arg_int(fcinfo, 1, "n");
	uint64		count;

	if (n < 1 || (uint64) n > UIDGEN_SEGMENT_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of consecutive numbers is out of range"),
				 errdetail("%d were asked for; a segment has ranges of at most %d.", n,
						   (int) UIDGEN_SEGMENT_MAX),
				 errhint("Ask for 1 or more, or use uid_segment_batch().")));
	PG_RETURN_INT64(uidgen_take_numbers(numbers, n, UIDGEN_SEGMENT_BLOCK, &count));
}

/* ---- status ---- */

/* The columns of uidgen.segment_status. */
typedef enum SegmentColumn
{
	NAME, STATE, NUMBERS_LEFT, LASTS, RATE, STEP,
	FETCHES, FETCHED, DRAWN, SKIPPED, RETURNED, LOST,
	WAITS, FAILURES, LAST_ERROR,
	GAP_LASTS,
	SEGMENT_COLUMNS
} SegmentColumn;

static const UidgenColumn no_status[SEGMENT_COLUMNS] = {
	[NAME] = NULL_COLUMN(TEXTOID),
	[STATE] = NULL_COLUMN(TEXTOID),
	[NUMBERS_LEFT] = NULL_COLUMN(INT8OID),
	[LASTS] = NULL_COLUMN(INTERVALOID),
	[RATE] = NULL_COLUMN(FLOAT8OID),
	[STEP] = NULL_COLUMN(INT8OID),
	[FETCHES] = NULL_COLUMN(INT8OID),
	[FETCHED] = NULL_COLUMN(INT8OID),
	[DRAWN] = NULL_COLUMN(INT8OID),
	[SKIPPED] = NULL_COLUMN(INT8OID),
	[RETURNED] = NULL_COLUMN(INT8OID),
	[LOST] = NULL_COLUMN(INT8OID),
	[WAITS] = NULL_COLUMN(INT8OID),
	[FAILURES] = NULL_COLUMN(INT8OID),
	[LAST_ERROR] = NULL_COLUMN(TEXTOID),
	[GAP_LASTS] = NULL_COLUMN(INTERVALOID),
};

/*
 * A name in the database's encoding.  It may have been drawn from in a database of another one:
 * bytes of characters that this one lacks become question marks.
 */
static char *
print_name(const char *name)
{
	int			length = (int) strlen(name);
	int			encoding = GetDatabaseEncoding();
	Oid			conversion;
	char	   *result;

	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
		return pstrdup(name);
	result = palloc0(length * MAX_CONVERSION_GROWTH + 1);
	conversion = FindDefaultConversionProc(PG_UTF8, encoding);
	if (OidIsValid(conversion) &&
		pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding,
									  (unsigned char *) unconstify(char *, name), length,
									  (unsigned char *) result, length * MAX_CONVERSION_GROWTH + 1,
									  true) == length)
		return result;
	return uidgen_segments_plain_name(name);
}

/* In a word or two. */
static const char *
slot_state(const UidgenFailure *failure, const UidgenSegmentLook *look)
{
	bool		has_numbers = look->left + look->next > 0;

	switch (failure->sqlerrcode)
	{
		case 0:
			return has_numbers ? "ready" : "idle";
		case ERRCODE_NO_DATA_FOUND:
			return "no such segment";
		case ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED:
			return has_numbers ? "last numbers" : "used up";
		default:
			return "failing";
	}
}

static void
put_status(FunctionCallInfo fcinfo, UidgenSegmentSlot *slot)
{
	UidgenColumn row[SEGMENT_COLUMNS];
	char		name[UIDGEN_SEGMENT_NAME_SIZE];
	UidgenSegmentLook look;
	UidgenSupply supply;
	UidgenFailure failure;
	int64		failures;
	int64		skipped;
	int64		left;
	double		seconds;
	double		rate;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	strlcpy(name, slot->name, sizeof(name));
	supply = slot->supply;
	failure = slot->demand.failure;
	failures = slot->demand.failures;
	skipped = (int64) pg_atomic_read_u64(&slot->skipped);
	uidgen_segment_look(&slot->words, &look);
	LWLockRelease(&uidgen_memory->lock);
	left = (int64) (look.left + look.next);

	/* As fast as since the last range was fetched. */
	seconds = (double) (uidgen_clock_monotonic() - supply.received_at) / USECS_PER_SEC;
	rate = seconds > 0 ? Max((double) supply.left_then - left, 0) / seconds : 0;

	memcpy(row, no_status, sizeof(row));
	SET(NAME, CStringGetTextDatum(print_name(name)));
	SET(STATE, CStringGetTextDatum(slot_state(&failure, &look)));
	SET(NUMBERS_LEFT, Int64GetDatum(left));
	if (rate > 0)
		SET(LASTS, IntervalPGetDatum(uidgen_interval((UidgenMicroseconds)
													 Min(left / rate * USECS_PER_SEC,
														 (double) (PG_INT64_MAX / 2)))));
	if (supply.ranges > 0)
		SET(RATE, Float8GetDatum(rate));
	if (supply.known)
		SET(STEP, Int64GetDatum(supply.length > 0 ? supply.length : supply.step));
	SET(FETCHES, Int64GetDatum(supply.ranges));
	SET(FETCHED, Int64GetDatum(supply.received));
	SET(DRAWN, Int64GetDatum((int64) (supply.received - supply.returned - supply.lost) -
							 left - skipped));
	SET(SKIPPED, Int64GetDatum(skipped));
	SET(RETURNED, Int64GetDatum(supply.returned));
	SET(LOST, Int64GetDatum(supply.lost));
	SET(WAITS, Int64GetDatum(pg_atomic_read_u64(&slot->demand.waits)));
	SET(FAILURES, Int64GetDatum(failures));
	if (failure.sqlerrcode != 0)
		SET(LAST_ERROR, CStringGetTextDatum(failure.message));
	if (supply.gap_lasts > 0)
		SET(GAP_LASTS, IntervalPGetDatum(uidgen_interval(supply.gap_lasts)));
	uidgen_put_row(fcinfo, row, SEGMENT_COLUMNS);
}

Datum
uidgen_list_segments(PG_FUNCTION_ARGS)
{
	uidgen_begin_rows(fcinfo, no_status, SEGMENT_COLUMNS);
	if (uidgen_look() == UIDGEN_ATTACHED)
		for (int i = 0, n = uidgen_segments_used(); i < n; i++)
			put_status(fcinfo, uidgen_segments_slot(i));
	return (Datum) 0;
}
