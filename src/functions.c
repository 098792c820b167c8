/*
 * functions.c
 *	  The functions that SQL calls.
 *
 * Each checks its arguments and makes one call: generator.c issues ids, layout.c
 * takes them apart.  A function with an optional layout is declared twice in SQL,
 * without it (STABLE, the server's layout) and with it (IMMUTABLE), over one C
 * function.  A name that ends in a version, as uidgen_status_0_2, is what the script
 * has called since then; the name without is still called by older scripts, and
 * returns what they declare.
 *
 * Errors: 22003 an argument is out of range, 22004 it is null, 22008 a time is
 * out of range, 22023 bad layout, 55000 the catalog declares other columns; and
 * those of uidgen_take().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "cache.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "common/int.h"
#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "generator.h"
#include "guc.h"
#include "layout.h"
#include "link.h"
#include "miscadmin.h"
#include "shmem.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/regproc.h"
#include "utils/timestamp.h"
#include "version.h"

/* PostgreSQL counts time from 2000, layouts from 1970. */
#define POSTGRES_EPOCH_UNIX \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* Integers of so many bits are exact in JavaScript's numbers. */
#define JAVASCRIPT_BITS 53

/* Ids that a batch takes at a time: what an interrupted one wastes at most. */
#define BATCH_BLOCK 1024

/* Before PostgreSQL 16, PG_FUNCTION_INFO_V1 leaves the function itself hidden. */
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

SQL_FUNCTION(uidgen_next);
SQL_FUNCTION(uidgen_next_tagged);
SQL_FUNCTION(uidgen_next_batch);
SQL_FUNCTION(uidgen_next_block);
SQL_FUNCTION(uidgen_parse);
SQL_FUNCTION(uidgen_timestamp);
SQL_FUNCTION(uidgen_min);
SQL_FUNCTION(uidgen_max);
SQL_FUNCTION(uidgen_make);
SQL_FUNCTION(uidgen_layout_fields);
SQL_FUNCTION(uidgen_layout_info);
SQL_FUNCTION(uidgen_preset_list);
SQL_FUNCTION(uidgen_status);
SQL_FUNCTION(uidgen_status_0_2);
SQL_FUNCTION(uidgen_diagnose);
SQL_FUNCTION(uidgen_diagnose_0_2);
SQL_FUNCTION(uidgen_library_version);

/* ---- arguments ---- */

/* What a call site keeps between its calls: the layout it was given. */
typedef struct ParsedLayout
{
	UidgenLayout layout;
	int			length;
	char		text[FLEXIBLE_ARRAY_MEMBER];
} ParsedLayout;

static const UidgenLayout *
parse_layout(FunctionCallInfo fcinfo, const text *argument)
{
	ParsedLayout *parsed = fcinfo->flinfo->fn_extra;
	int			length = VARSIZE_ANY_EXHDR(argument);
	UidgenLayoutError error;

	if (parsed && parsed->length == length &&
		memcmp(parsed->text, VARDATA_ANY(argument), length) == 0)
		return &parsed->layout;

	fcinfo->flinfo->fn_extra = NULL;
	if (parsed)
		pfree(parsed);
	parsed = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
								offsetof(ParsedLayout, text) + length + 1);
	parsed->length = length;
	memcpy(parsed->text, VARDATA_ANY(argument), length);
	parsed->text[length] = '\0';
	if (!uidgen_layout_parse(parsed->text, &parsed->layout, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", error.message),
				 errdetail_internal("%s", error.detail),
				 errhint("%s", error.hint)));
	fcinfo->flinfo->fn_extra = parsed;
	return &parsed->layout;
}

/* The layout given as the last of n arguments, or the server's without it. */
static const UidgenLayout *
get_layout(FunctionCallInfo fcinfo, int n)
{
	if (PG_NARGS() < n)
		return uidgen_server_layout();
	if (PG_ARGISNULL(n - 1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the layout must not be null"),
				 errhint("Without that argument the server's layout is used.")));
	return parse_layout(fcinfo, PG_GETARG_TEXT_PP(n - 1));
}

/* An argument that must not be null. */
static int32
get_int(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name),
				 errhint("The value must not be negative.")));
	return PG_GETARG_INT32(i);
}

/* The bits of an id that hold `value` in a field. */
static uint64
field_bits(const UidgenLayout *layout, UidgenField field, int32 value)
{
	uint64		maximum = uidgen_layout_maximum(layout, field);

	if (value < 0 || (uint64) value > maximum)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s %d is out of range", uidgen_field_name(field), value),
				 layout->bits[field] == 0 ?
				 errdetail("The layout has no %s field, so it must be 0.",
						   uidgen_field_name(field)) :
				 errdetail("The layout has %d bits for it: 0 to " UINT64_FORMAT ".",
						   layout->bits[field], maximum),
				 errhint("The bits of each field are part of the layout; the server's is the setting \"uidgen.layout\".")));
	return uidgen_layout_put(layout, field, (uint64) value);
}

/* The tag given as argument i. */
static uint64
get_tag_bits(FunctionCallInfo fcinfo, int i)
{
	return field_bits(uidgen_server_layout(), UIDGEN_TAG,
					  get_int(fcinfo, i, "tag"));
}

/* Where a time lies, seen from the ticks of a layout. */
typedef enum TimePlace
{
	BEFORE_EPOCH,
	IN_LAYOUT,
	AFTER_END
} TimePlace;

/*
 * The place of a time and, in the layout, its tick.  The infinities need no case
 * of their own: no layout is as old or as long.
 */
static TimePlace
find_tick(const UidgenLayout *layout, TimestampTz timestamp, uint64 *tick)
{
	int64		time;

	/* Later than 64 bits of microseconds tell, and so is no tick of any layout. */
	if (pg_add_s64_overflow(timestamp, POSTGRES_EPOCH_UNIX, &time))
		return AFTER_END;
	if (uidgen_layout_tick(layout, time, tick))
		return IN_LAYOUT;
	return time < layout->epoch ? BEFORE_EPOCH : AFTER_END;
}

/* ---- results ---- */

static bool
tick_timestamp(const UidgenLayout *layout, uint64 tick, TimestampTz *timestamp)
{
	int64		time;

	if (!uidgen_layout_time(layout, tick, &time))
		return false;
	*timestamp = time - POSTGRES_EPOCH_UNIX;
	return IS_VALID_TIMESTAMP(*timestamp);
}

/* The time in an id; raises an error if the id is none of the layout's. */
static TimestampTz
id_timestamp(const UidgenLayout *layout, int64 id)
{
	TimestampTz timestamp;
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];

	if (!uidgen_layout_fits(layout, id))
	{
		uidgen_layout_print(layout, text);
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("id " INT64_FORMAT " does not fit the layout", id),
				 errdetail("The layout \"%s\" uses %d bits; other bits are set in the id.",
						   text, layout->total_bits),
				 errhint("Give the layout that the id was made with as the second argument.")));
	}
	if (!tick_timestamp(layout, uidgen_layout_get(layout, UIDGEN_TIME, id),
						&timestamp))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the time in id " INT64_FORMAT " is out of range", id),
				 errdetail("Its tick is " UINT64_FORMAT ".",
						   uidgen_layout_get(layout, UIDGEN_TIME, id)),
				 errhint("Give the layout that the id was made with as the second argument.")));
	return timestamp;
}

/* One column of a row that a function returns. */
typedef struct Column
{
	Oid			type;
	Datum		value;
	bool		isnull;
} Column;

#define COLUMN(oid, datum) {.type = (oid), .value = (datum)}
#define NULL_COLUMN(oid) {.type = (oid), .isnull = true}

#define MAX_COLUMNS 32

/*
 * The columns that the catalog declares for this call; raises an error if they
 * are not those of the library.  A row formed by other columns than ours would read
 * values that nobody set, or take a number for an address.
 */
static TupleDesc
check_columns(FunctionCallInfo fcinfo, const Column *columns, int n)
{
	TupleDesc	desc;
	int			declared;
	int			i;
	UidgenVersions versions;

	/* Declared with one column only, a function returns no row but a value. */
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		desc = NULL;
	declared = desc ? desc->natts : 1;
	for (i = 0; desc && i < Min(declared, n); i++)
		if (TupleDescAttr(desc, i)->atttypid != columns[i].type)
			break;
	if (i == n && declared == n)
		return desc;
	versions = uidgen_compare_versions();
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("function %s is declared with other columns than the library returns",
					format_procedure(fcinfo->flinfo->fn_oid)),
			 declared != n ?
			 errdetail("Columns: %d in the catalog, %d in the library.",
					   declared, n) :
			 errdetail("Column %d has type %s in the catalog and %s in the library.",
					   i + 1, format_type_be(TupleDescAttr(desc, i)->atttypid),
					   format_type_be(columns[i].type)),
			 versions.order < 0 ?
			 errhint("Run ALTER EXTENSION uidgen UPDATE: in this database it is of version %s, and the library is of version %s.",
					 versions.extension, UIDGEN_VERSION) :
			 versions.order > 0 ?
			 errhint("Restart the server, so that it loads the library that belongs to version %s of the extension; it has loaded version %s.",
					 versions.extension, UIDGEN_VERSION) :
			 errhint("Declare the function as the extension's script does.")));
}

static void
split_columns(const Column *columns, int n, Datum *values, bool *nulls)
{
	Assert(n <= MAX_COLUMNS);
	for (int i = 0; i < n; i++)
	{
		values[i] = columns[i].value;
		nulls[i] = columns[i].isnull;
	}
}

/* The only row of a function's result. */
static Datum
return_row(FunctionCallInfo fcinfo, const Column *columns, int n)
{
	TupleDesc	desc = check_columns(fcinfo, columns, n);
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];

	split_columns(columns, n, values, nulls);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* One of the rows of a function's result; the first call begins the result. */
static void
put_row(FunctionCallInfo fcinfo, const Column *columns, int n)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];

	if (!result || !IsA(result, ReturnSetInfo) || !result->setResult)
	{
		(void) check_columns(fcinfo, columns, n);
		/* Raises an error where there is no place for rows. */
		InitMaterializedSRF(fcinfo, 0);
	}
	split_columns(columns, n, values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static Interval *
interval_from_microseconds(int64 microseconds)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = microseconds;
	return interval;
}

/* When a layout is used up; infinity if that is beyond PostgreSQL's time. */
static TimestampTz
layout_expiry(const UidgenLayout *layout)
{
	TimestampTz timestamp;

	if (!tick_timestamp(layout, uidgen_layout_lifetime(layout), &timestamp))
		TIMESTAMP_NOEND(timestamp);
	return timestamp;
}

/* ---- new ids ---- */

static inline int64
next_id(uint64 tag_bits)
{
	if (unlikely(uidgen_cache_in_use))
		return uidgen_cached_id(tag_bits);
	return uidgen_next_id(tag_bits);
}

Datum
uidgen_next(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(next_id(0));
}

Datum
uidgen_next_tagged(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(next_id(get_tag_bits(fcinfo, 0)));
}

/* What a batch keeps between its calls. */
typedef struct Batch
{
	uint64		tag_bits;
	uint64		left;			/* ids still to be taken */
	uint64		used;			/* ids of the block that were returned */
	uint64		size;			/* ids of the block */
	UidgenBlock block;
} Batch;

Datum
uidgen_next_batch(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	Batch	   *batch;

	if (SRF_IS_FIRSTCALL())
	{
		int32		n = get_int(fcinfo, 0, "n");
		uint64		tag_bits = get_tag_bits(fcinfo, 1);

		if (n < 0)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("number of ids must not be negative"),
					 errdetail("%d ids were asked for.", n),
					 errhint("Ask for 0 ids or more.")));
		context = SRF_FIRSTCALL_INIT();
		batch = MemoryContextAllocZero(context->multi_call_memory_ctx,
									   sizeof(Batch));
		batch->tag_bits = tag_bits;
		batch->left = n;
		context->user_fctx = batch;
	}
	context = SRF_PERCALL_SETUP();
	batch = context->user_fctx;
	if (batch->used == batch->size)
	{
		if (batch->left == 0)
			SRF_RETURN_DONE(context);
		CHECK_FOR_INTERRUPTS();
		batch->size = Min(batch->left, BATCH_BLOCK);
		batch->size = Min(batch->size,
						  (uint64) uidgen_layout_tick_capacity(&uidgen_layout));
		uidgen_cache_discard();
		uidgen_take(batch->size, UIDGEN_TAKE_ROW, &batch->block);
		batch->left -= batch->size;
		batch->used = 0;
	}
	SRF_RETURN_NEXT(context,
					Int64GetDatum(uidgen_block_id(&batch->block, batch->used++,
												  batch->tag_bits)));
}

Datum
uidgen_next_block(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_server_layout();
	int32		n = get_int(fcinfo, 0, "n");
	uint64		tag_bits = get_tag_bits(fcinfo, 1);
	int64		capacity = uidgen_layout_tick_capacity(layout);
	UidgenBlock block;

	if (layout->shift[UIDGEN_SEQUENCE] != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the layout has no blocks of consecutive ids"),
				 errdetail("Its lowest field is %s, not the sequence.",
						   uidgen_field_name(layout->order[layout->nfields - 1])),
				 errhint("Use uid_next_batch(), or a layout in \"uidgen.layout\" that ends with the sequence.")));
	if (n < 1 || n > capacity)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of ids is out of range"),
				 errdetail("%d ids were asked for; a block has 1 to " INT64_FORMAT ", the capacity of one tick.",
						   n, capacity),
				 errhint("Ask for several blocks, use uid_next_batch(), or give the sequence more bits in \"uidgen.layout\".")));

	uidgen_cache_discard();
	uidgen_take(n, UIDGEN_TAKE_BLOCK, &block);
	{
		Column		row[] = {
			COLUMN(INT8OID, Int64GetDatum(uidgen_block_id(&block, 0, tag_bits))),
			COLUMN(INT8OID, Int64GetDatum(uidgen_block_id(&block, n - 1, tag_bits))),
		};

		return return_row(fcinfo, row, lengthof(row));
	}
}

/* ---- what ids say ---- */

Datum
uidgen_parse(PG_FUNCTION_ARGS)
{
	static const UidgenField fields[] = {
		UIDGEN_DATACENTER, UIDGEN_WORKER, UIDGEN_TAG, UIDGEN_SEQUENCE
	};
	int64		id = PG_GETARG_INT64(0);
	const UidgenLayout *layout = get_layout(fcinfo, 2);
	Column		row[2 + lengthof(fields)] = {
		COLUMN(INT8OID, Int64GetDatum(id)),
		COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(id_timestamp(layout, id))),
	};

	for (size_t i = 0; i < lengthof(fields); i++)
		row[2 + i] = (Column) {
			.type = INT4OID,
			.value = Int32GetDatum((int32) uidgen_layout_get(layout, fields[i], id)),
			.isnull = layout->bits[fields[i]] == 0,
		};
	return return_row(fcinfo, row, lengthof(row));
}

Datum
uidgen_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(id_timestamp(get_layout(fcinfo, 2), PG_GETARG_INT64(0)));
}

/*
 * The end of a range of time, for comparisons with the ids of a layout.  A time
 * for which the layout has no tick gives the layout's own end: the smallest id
 * before the epoch, the largest after the last tick; the infinities as well.
 *
 * So a bound never fails, is always an id that the layout can decode and, where
 * the layout can generate, never decreases as time goes on.  The price is one
 * id: no id is as old as a time before the epoch, and yet `id <= uid_max(time)`
 * is true for the smallest one of all (tick, worker and sequence 0), because
 * there is nothing smaller that uid_parse() takes.  Likewise `id >= uid_min(time)`
 * after the end is true for the largest one of all, which no server issues, since
 * the last tick is never granted.
 */
static int64
range_end(const UidgenLayout *layout, TimestampTz timestamp,
		  int64_t (*end_of_tick) (const UidgenLayout *, uint64_t))
{
	uint64		tick;

	switch (find_tick(layout, timestamp, &tick))
	{
		case BEFORE_EPOCH:
			return uidgen_layout_first(layout);
		case AFTER_END:
			return uidgen_layout_last(layout);
		case IN_LAYOUT:
			break;
	}
	return end_of_tick(layout, tick);
}

Datum
uidgen_min(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(range_end(get_layout(fcinfo, 2), PG_GETARG_TIMESTAMPTZ(0),
							  uidgen_layout_min));
}

Datum
uidgen_max(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(range_end(get_layout(fcinfo, 2), PG_GETARG_TIMESTAMPTZ(0),
							  uidgen_layout_max));
}

/* The tick that contains a time; raises an error if the layout has none for it. */
static uint64
get_tick(const UidgenLayout *layout, TimestampTz timestamp)
{
	uint64		tick;
	TimePlace	place = find_tick(layout, timestamp, &tick);
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];

	if (place == IN_LAYOUT)
		return tick;
	uidgen_layout_print(layout, text);
	if (place == BEFORE_EPOCH)
	{
		char	   *epoch = pstrdup(timestamptz_to_str(layout->epoch - POSTGRES_EPOCH_UNIX));

		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp is before the epoch of the layout: %s",
						timestamptz_to_str(timestamp)),
				 errdetail("The epoch of the layout \"%s\" is %s.", text, epoch),
				 errhint("Ids of older times need a layout with an earlier epoch; the server's is the setting \"uidgen.layout\".")));
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp is out of range: %s",
					timestamptz_to_str(timestamp)),
			 errdetail("The layout \"%s\" has %d bits of time since its epoch.",
					   text, layout->bits[UIDGEN_TIME]),
			 errhint("uid_layout_info() shows when it begins and ends.")));
}

Datum
uidgen_make(PG_FUNCTION_ARGS)
{
	static const UidgenField fields[] = {
		UIDGEN_WORKER, UIDGEN_SEQUENCE, UIDGEN_DATACENTER, UIDGEN_TAG
	};
	const UidgenLayout *layout = get_layout(fcinfo, 6);
	uint64		bits;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bits = uidgen_layout_put(layout, UIDGEN_TIME,
							 get_tick(layout, PG_GETARG_TIMESTAMPTZ(0)));
	for (size_t i = 0; i < lengthof(fields); i++)
		if (!PG_ARGISNULL(1 + i))
			bits |= field_bits(layout, fields[i], PG_GETARG_INT32(1 + i));
	PG_RETURN_INT64((int64) bits);
}

/* ---- layouts ---- */

/* What a field means, for people. */
static char *
field_meaning(const UidgenLayout *layout, UidgenField field)
{
	switch (field)
	{
		case UIDGEN_TIME:
			{
				char		text[UIDGEN_LAYOUT_TEXT_SIZE];
				char		unit[UIDGEN_LAYOUT_TEXT_SIZE];

				/* Unit and epoch as the canonical text has them. */
				uidgen_layout_print(layout, text);
				sscanf(strstr(text, "time:"), "time:%*d:%s", unit);
				return psprintf("ticks of %s since %s", unit,
								strstr(text, "epoch:") + strlen("epoch:"));
			}
		case UIDGEN_DATACENTER:
			return "a group of workers";
		case UIDGEN_WORKER:
			return "the instance that made the id";
		case UIDGEN_TAG:
			return "a value of the caller's";
		case UIDGEN_SEQUENCE:
			return "counts inside one tick";
		case UIDGEN_ZERO:
			return "always zero";
	}
	return NULL;
}

Datum
uidgen_layout_fields(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = get_layout(fcinfo, 1);

	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		Column		row[] = {
			COLUMN(TEXTOID, CStringGetTextDatum(uidgen_field_name(field))),
			COLUMN(INT4OID, Int32GetDatum(layout->bits[field])),
			COLUMN(INT4OID, Int32GetDatum(layout->shift[field])),
			COLUMN(INT8OID, Int64GetDatum(field == UIDGEN_ZERO ? 0 :
									(int64) uidgen_layout_maximum(layout, field))),
			COLUMN(TEXTOID, CStringGetTextDatum(field_meaning(layout, field))),
		};

		put_row(fcinfo, row, lengthof(row));
	}
	return (Datum) 0;
}

Datum
uidgen_layout_info(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = get_layout(fcinfo, 1);
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];
	int64		workers =
		(int64) ((uidgen_layout_maximum(layout, UIDGEN_WORKER) + 1) *
				 (uidgen_layout_maximum(layout, UIDGEN_DATACENTER) + 1));

	uidgen_layout_print(layout, text);
	{
		Column		row[] = {
			COLUMN(TEXTOID, CStringGetTextDatum(text)),
			COLUMN(INT4OID, Int32GetDatum(layout->total_bits)),
			COLUMN(INTERVALOID, IntervalPGetDatum(interval_from_microseconds(layout->unit))),
			COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(layout->epoch - POSTGRES_EPOCH_UNIX)),
			COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(layout_expiry(layout))),
			COLUMN(INT8OID, Int64GetDatum(workers)),
			COLUMN(INT8OID, Int64GetDatum(uidgen_layout_second_capacity(layout))),
			COLUMN(BOOLOID, BoolGetDatum(layout->total_bits <= JAVASCRIPT_BITS)),
		};

		return return_row(fcinfo, row, lengthof(row));
	}
}

Datum
uidgen_preset_list(PG_FUNCTION_ARGS)
{
	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
	{
		Column		row[] = {
			COLUMN(TEXTOID, CStringGetTextDatum(preset->name)),
			COLUMN(TEXTOID, CStringGetTextDatum(preset->layout)),
			COLUMN(TEXTOID, CStringGetTextDatum(preset->note)),
		};

		put_row(fcinfo, row, lengthof(row));
	}
	return (Datum) 0;
}

/* ---- operation ---- */

/* What is wrong with the settings. */
static char *
settings_complaint(void)
{
	const UidgenLayoutError *error;
	const char *setting = uidgen_bad_setting(&error);

	return psprintf("setting \"%s\": %s. %s", setting, error->message,
					error->detail);
}

/* Why ids are ahead of the clock; NULL: they are not. */
static const char *
ahead_cause(UidgenAheadCause cause)
{
	switch (cause)
	{
		case UIDGEN_AHEAD_NOT:
			return NULL;
		case UIDGEN_AHEAD_BURST:
			return "burst";
		case UIDGEN_AHEAD_CLOCK_SET_BACK:
			return "clock set back";
		case UIDGEN_AHEAD_CRASH:
			return "crash";
	}
	return NULL;
}

/* Later versions have added columns at the end. */
typedef enum StatusColumn
{
	STATE, WORKER_ID, DATACENTER_ID, LAYOUT, REGISTRY, GRANTED_UNTIL, AHEAD,
	RENEWALS, FAILURES, LAST_ERROR, WAITS, CLOCK_STEPS, EXPIRES_AT, WASTED,
	STATUS_COLUMNS_0_1,
	AHEAD_CAUSE = STATUS_COLUMNS_0_1, FREE_WORKER_IDS,
	STATUS_COLUMNS_0_2
} StatusColumn;

/* The first n columns of the state. */
static Datum
return_status(FunctionCallInfo fcinfo, StatusColumn n)
{
	Column		row[] = {
		[STATE] = NULL_COLUMN(TEXTOID),
		[WORKER_ID] = NULL_COLUMN(INT4OID),
		[DATACENTER_ID] = NULL_COLUMN(INT4OID),
		[LAYOUT] = NULL_COLUMN(TEXTOID),
		[REGISTRY] = NULL_COLUMN(TEXTOID),
		[GRANTED_UNTIL] = NULL_COLUMN(TIMESTAMPTZOID),
		[AHEAD] = NULL_COLUMN(INTERVALOID),
		[RENEWALS] = NULL_COLUMN(INT8OID),
		[FAILURES] = NULL_COLUMN(INT8OID),
		[LAST_ERROR] = NULL_COLUMN(TEXTOID),
		[WAITS] = NULL_COLUMN(INT8OID),
		[CLOCK_STEPS] = NULL_COLUMN(INT8OID),
		[EXPIRES_AT] = NULL_COLUMN(TIMESTAMPTZOID),
		[WASTED] = NULL_COLUMN(INT8OID),
		[AHEAD_CAUSE] = NULL_COLUMN(TEXTOID),
		[FREE_WORKER_IDS] = NULL_COLUMN(INT8OID),
	};
	bool		held = false;
	UidgenGrant grant = {0};
	UidgenFailure failure = {0};
	const char *state;
	const char *error = NULL;

#define SET(column, datum) (row[column].value = (datum), row[column].isnull = false)
	if (uidgen_shared)
	{
		LWLockAcquire(uidgen_shared->lock, LW_SHARED);
		held = uidgen_shared->lease.held;
		grant = uidgen_shared->lease.grant;
		failure = uidgen_shared->grant_demand.failure;
		SET(RENEWALS, Int64GetDatum(uidgen_shared->renewals));
		SET(FAILURES, Int64GetDatum(uidgen_shared->grant_demand.failures));
		SET(CLOCK_STEPS, Int64GetDatum(uidgen_shared->clock_steps));
		LWLockRelease(uidgen_shared->lock);
		SET(WAITS, Int64GetDatum(pg_atomic_read_u64(&uidgen_shared->grant_demand.waits)));
		SET(WASTED, Int64GetDatum(pg_atomic_read_u64(&uidgen_shared->wasted)));
		SET(REGISTRY, CStringGetTextDatum(uidgen_link->kind));
	}

	/* The state in a word or two, and the reason for a bad one. */
	if (!uidgen_shared)
		state = "not preloaded";
	else if (!uidgen_settings_good())
	{
		state = "bad setting";
		error = settings_complaint();
	}
	else if (uidgen_link->in_recovery())
		state = "recovery";
	else if (uidgen_link->is_missing(&failure) || failure.sqlerrcode != 0)
	{
		state = "failing";
		error = failure.message;
	}
	/* A grant that lies behind the clock is over: the next call has it renewed. */
	else if (held && grant.last >= (int64) uidgen_clock_tick())
		state = "granted";
	else
		state = "idle";
	SET(STATE, CStringGetTextDatum(state));
	if (error && has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
		SET(LAST_ERROR, CStringGetTextDatum(error));

	if (uidgen_shared && uidgen_settings_good())
	{
		SET(DATACENTER_ID, Int32GetDatum(uidgen_datacenter_id));
		SET(LAYOUT, CStringGetTextDatum(uidgen_layout_text));
		SET(EXPIRES_AT, TimestampTzGetDatum(layout_expiry(&uidgen_layout)));
	}
	/* Also while idle: worker id and grant are kept, and renewed when needed. */
	if (held)
	{
		TimestampTz granted_until;
		/* Read before the clock is; the tick is that of the last id. */
		UidgenTicketReach reach = uidgen_ticket_reach(uidgen_words);
		uint64		tick = (uidgen_atomic_read(&uidgen_words->position) - 1) >>
			uidgen_rules.sequence_bits;
		uint64		now = uidgen_clock_tick();
		const char *cause = ahead_cause(uidgen_ticket_cause(&reach, tick, now));

		SET(WORKER_ID, Int32GetDatum(grant.worker));
		if (tick_timestamp(&uidgen_layout, (uint64) grant.last,
						   &granted_until))
			SET(GRANTED_UNTIL, TimestampTzGetDatum(granted_until));
		SET(AHEAD, IntervalPGetDatum(interval_from_microseconds((int64) (tick - Min(now, tick)) *
												   uidgen_layout.unit)));
		if (cause)
			SET(AHEAD_CAUSE, CStringGetTextDatum(cause));
		SET(FREE_WORKER_IDS, Int64GetDatum(grant.free_workers));
	}
#undef SET
	return return_row(fcinfo, row, n);
}

Datum
uidgen_status(PG_FUNCTION_ARGS)
{
	return return_status(fcinfo, STATUS_COLUMNS_0_1);
}

Datum
uidgen_status_0_2(PG_FUNCTION_ARGS)
{
	return return_status(fcinfo, STATUS_COLUMNS_0_2);
}

/*
 * What is missing before ids can be issued, and what to do, in a sentence or two.
 * For everyone, since those who see uid_next() fail are seldom superusers: it
 * says no more than the error of uid_next() does.
 */
static char *
find_what_is_missing(void)
{
	UidgenFailure failure = {0};

	if (!uidgen_shared && uidgen_settings_of_another())
		return "The server has preloaded another library of uidgen than the one that was called. Restart the server. If that does not help, name the library in the setting \"shared_preload_libraries\" without its folder: uidgen.";
	if (!uidgen_shared)
		return "uidgen must be loaded via shared_preload_libraries: functions that take a layout work without, uid_next() does not. Add uidgen to the setting \"shared_preload_libraries\" and restart the server.";
	if (!uidgen_settings_good())
		return settings_complaint();
	if (uidgen_link->in_recovery())
		return "The server is in recovery; ids are issued after its end.";
	if (!uidgen_link->is_missing(&failure))
	{
		/* The keeper cannot see yet what is being created here. */
		if (creating_extension && uidgen_link->is_here())
			return NULL;
		if (uidgen_probe_grant(&failure))
			return NULL;
	}
	if (failure.sqlerrcode == 0)
		return "The keeper has not answered. See the server log, and the setting \"max_worker_processes\".";
	return psprintf("%s.%s%s", failure.message, failure.hint[0] ? " " : "",
					failure.hint);
}

Datum
uidgen_diagnose(PG_FUNCTION_ARGS)
{
	char	   *missing = find_what_is_missing();

	if (!missing)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(missing));
}

Datum
uidgen_diagnose_0_2(PG_FUNCTION_ARGS)
{
	char	   *missing = find_what_is_missing();

	PG_RETURN_TEXT_P(cstring_to_text(missing ? missing : "ok"));
}

Datum
uidgen_library_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(UIDGEN_VERSION));
}
