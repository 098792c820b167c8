/*
 * functions.c
 *	  The functions that SQL calls.
 *
 * Each checks its arguments and makes one call: generator.c issues ids, layout.c
 * takes them apart.  A function with an optional layout is declared twice in SQL,
 * without it (STABLE, the server's layout) and with it (IMMUTABLE), over one C
 * function.
 *
 * Errors: 22003 an argument is out of range, 22004 it is null, 22008 a time is
 * out of range, 22023 bad layout; and those of uidgen_take().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "cache.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "common/int.h"
#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "generator.h"
#include "guc.h"
#include "layout.h"
#include "miscadmin.h"
#include "shmem.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* PostgreSQL counts time from 2000, layouts from 1970. */
#define POSTGRES_EPOCH_UNIX \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

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
SQL_FUNCTION(uidgen_diagnose);

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
				 errhint("Give a number from 0 on.")));
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

static Datum
return_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
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
	if (unlikely(uidgen_cache > 1))
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
					 errmsg("n is out of range"),
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
		uidgen_take(batch->size, false, &batch->block);
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
	Datum		values[2];
	bool		nulls[2] = {false};

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
				 errmsg("n is out of range"),
				 errdetail("%d ids were asked for; a block has 1 to " INT64_FORMAT ", the capacity of one tick.",
						   n, capacity),
				 errhint("Ask for several blocks, use uid_next_batch(), or give the sequence more bits in \"uidgen.layout\".")));

	uidgen_cache_discard();
	uidgen_take(n, true, &block);
	values[0] = Int64GetDatum(uidgen_block_id(&block, 0, tag_bits));
	values[1] = Int64GetDatum(uidgen_block_id(&block, n - 1, tag_bits));
	return return_row(fcinfo, values, nulls);
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
	Datum		values[2 + lengthof(fields)];
	bool		nulls[2 + lengthof(fields)] = {false};

	values[0] = Int64GetDatum(id);
	values[1] = TimestampTzGetDatum(id_timestamp(layout, id));
	for (size_t i = 0; i < lengthof(fields); i++)
	{
		nulls[2 + i] = layout->bits[fields[i]] == 0;
		values[2 + i] = Int32GetDatum((int32) uidgen_layout_get(layout, fields[i], id));
	}
	return return_row(fcinfo, values, nulls);
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
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		Datum		values[] = {
			CStringGetTextDatum(uidgen_field_name(field)),
			Int32GetDatum(layout->bits[field]),
			Int32GetDatum(layout->shift[field]),
			Int64GetDatum(field == UIDGEN_ZERO ? 0 :
						  (int64) uidgen_layout_maximum(layout, field)),
			CStringGetTextDatum(field_meaning(layout, field)),
		};
		bool		nulls[lengthof(values)] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
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
		Datum		values[] = {
			CStringGetTextDatum(text),
			Int32GetDatum(layout->total_bits),
			IntervalPGetDatum(interval_from_microseconds(layout->unit)),
			TimestampTzGetDatum(layout->epoch - POSTGRES_EPOCH_UNIX),
			TimestampTzGetDatum(layout_expiry(layout)),
			Int64GetDatum(workers),
			Int64GetDatum(uidgen_layout_second_capacity(layout)),
			BoolGetDatum(layout->total_bits <= 53),
		};
		bool		nulls[lengthof(values)] = {false};

		return return_row(fcinfo, values, nulls);
	}
}

Datum
uidgen_preset_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
	{
		Datum		values[] = {
			CStringGetTextDatum(preset->name),
			CStringGetTextDatum(preset->layout),
			CStringGetTextDatum(preset->note),
		};
		bool		nulls[lengthof(values)] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
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

/* The generator's state in a word or two. */
static const char *
generator_state(const UidgenHolding *holding, const UidgenFailure *failure)
{
	if (!uidgen_shared)
		return "not preloaded";
	if (!uidgen_settings_good())
		return "bad setting";
	if (RecoveryInProgress())
		return "recovery";
	if (failure->sqlerrcode != 0)
		return "failing";
	return holding->held ? "granted" : "idle";
}

Datum
uidgen_status(PG_FUNCTION_ARGS)
{
	enum
	{
		STATE, WORKER_ID, DATACENTER_ID, LAYOUT, REGISTRY, GRANTED_UNTIL, AHEAD,
		RENEWALS, FAILURES, LAST_ERROR, WAITS, CLOCK_STEPS, EXPIRES_AT, WASTED,
		COLUMNS
	};
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS];
	UidgenHolding holding = {0};
	UidgenFailure failure = {0};
	bool		may_see_errors = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);

#define SET(column, value) (values[column] = (value), nulls[column] = false)
	memset(nulls, true, sizeof(nulls));
	if (uidgen_shared)
	{
		LWLockAcquire(uidgen_shared->lock, LW_SHARED);
		holding = uidgen_shared->holding;
		failure = uidgen_shared->failure;
		SET(RENEWALS, Int64GetDatum(uidgen_shared->renewals));
		SET(FAILURES, Int64GetDatum(uidgen_shared->failures));
		SET(CLOCK_STEPS, Int64GetDatum(uidgen_shared->clock_steps));
		LWLockRelease(uidgen_shared->lock);
		SET(WAITS, Int64GetDatum(pg_atomic_read_u64(&uidgen_shared->waits)));
		SET(WASTED, Int64GetDatum(pg_atomic_read_u64(&uidgen_shared->wasted)));
		SET(REGISTRY, CStringGetTextDatum("local"));
	}
	SET(STATE, CStringGetTextDatum(generator_state(&holding, &failure)));
	if (uidgen_shared && !uidgen_settings_good() && may_see_errors)
		SET(LAST_ERROR, CStringGetTextDatum(settings_complaint()));
	else if (failure.sqlerrcode != 0 && may_see_errors)
		SET(LAST_ERROR, CStringGetTextDatum(failure.message));
	if (uidgen_shared && uidgen_settings_good())
	{
		SET(DATACENTER_ID, Int32GetDatum(uidgen_datacenter_id));
		SET(LAYOUT, CStringGetTextDatum(uidgen_layout_text));
		SET(EXPIRES_AT, TimestampTzGetDatum(layout_expiry(&uidgen_layout)));
	}
	if (holding.held)
	{
		TimestampTz granted_until;
		uint64		position = uidgen_atomic_read(&uidgen_shared->words.position);
		int64		ahead = (int64) (position >> uidgen_rules.sequence_bits) -
			(int64) uidgen_clock_tick();

		SET(WORKER_ID, Int32GetDatum(holding.worker));
		if (tick_timestamp(&uidgen_layout, (uint64) holding.granted_until,
						   &granted_until))
			SET(GRANTED_UNTIL, TimestampTzGetDatum(granted_until));
		SET(AHEAD, IntervalPGetDatum(interval_from_microseconds(Max(ahead, 0) *
												   uidgen_layout.unit)));
	}
#undef SET
	return return_row(fcinfo, values, nulls);
}

Datum
uidgen_diagnose(PG_FUNCTION_ARGS)
{
	UidgenFailure failure = {0};
	Oid			registry;

	if (!uidgen_shared)
		PG_RETURN_TEXT_P(cstring_to_text("uidgen is not preloaded: functions that take a layout work, uid_next() does not. Add uidgen to the setting \"shared_preload_libraries\" and restart the server."));
	if (!uidgen_settings_good())
		PG_RETURN_TEXT_P(cstring_to_text(settings_complaint()));
	if (RecoveryInProgress())
		PG_RETURN_TEXT_P(cstring_to_text("The server is in recovery; ids are issued after its end."));
	registry = get_database_oid(uidgen_database, true);
	if (!OidIsValid(registry))
		PG_RETURN_TEXT_P(cstring_to_text(psprintf("There is no database \"%s\", which the setting \"uidgen.database\" names as the registry's.",
												  uidgen_database)));
	/* The keeper cannot see yet what is being created here. */
	if (creating_extension && registry == MyDatabaseId)
		PG_RETURN_NULL();
	if (uidgen_probe_grant(&failure))
		PG_RETURN_NULL();
	if (failure.sqlerrcode == 0)
		PG_RETURN_TEXT_P(cstring_to_text("The keeper has not answered within a second. See the server log, and the setting \"max_worker_processes\"."));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s. %s", failure.message,
											  failure.hint)));
}
