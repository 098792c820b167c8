/*
 * values.c
 *	  What the functions that SQL calls share: arguments, times, rows.
 */
#include "postgres.h"

#include "functions/values.h"

#include "access/htup_details.h"
#include "common/int.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "memory/server.h"
#include "memory/version.h"
#include "utils/builtins.h"
#include "utils/regproc.h"
#include "utils/tuplestore.h"

/* ---- arguments ---- */

/* How many bytes of a text an error shows at most. */
#define SHOWN_BYTES 40

void
uidgen_parse_layout(const char *text, UidgenLayout *layout)
{
	UidgenComplaint error;

	if (!uidgen_layout_parse(text, layout, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s", error.message),
				 errdetail_internal("%s", error.detail),
				 errhint("%s", error.hint)));
}

/* What a call site keeps between its calls: the layout that was its argument. */
typedef struct ParsedLayout
{
	UidgenLayout layout;
	int			length;
	char		text[FLEXIBLE_ARRAY_MEMBER];
} ParsedLayout;

static const UidgenLayout *
parse_layout(FunctionCallInfo fcinfo, const text * argument)
{
	ParsedLayout *parsed = fcinfo->flinfo->fn_extra;
	int			length = VARSIZE_ANY_EXHDR(argument);

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
	uidgen_parse_layout(parsed->text, &parsed->layout);
	fcinfo->flinfo->fn_extra = parsed;
	return &parsed->layout;
}

const UidgenLayout *
uidgen_arg_layout(FunctionCallInfo fcinfo, int n)
{
	if (PG_NARGS() < n)
		return uidgen_server_layout();
	if (PG_ARGISNULL(n - 1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the layout must not be null"),
				 errhint("To use the server's layout, leave the argument out.")));
	return parse_layout(fcinfo, PG_GETARG_TEXT_PP(n - 1));
}

char *
uidgen_shown_text(const char *bytes, int length)
{
	int			shown = pg_mbcliplen(bytes, length, SHOWN_BYTES);

	return psprintf("%.*s%s", shown, bytes, shown < length ? "..." : "");
}

int
uidgen_arg_readings(FunctionCallInfo fcinfo, int i, UidgenReading readings[UIDGEN_READINGS_MAX])
{
	text	   *argument = PG_GETARG_TEXT_PP(i);
	UidgenComplaint error;
	int			n = uidgen_read_text(VARDATA_ANY(argument), VARSIZE_ANY_EXHDR(argument), readings, &error);

	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("%s: \"%s\"", error.message,
						uidgen_shown_text(VARDATA_ANY(argument), VARSIZE_ANY_EXHDR(argument))),
				 errdetail_internal("%s", error.detail),
				 errhint("%s", error.hint)));
	return n;
}

int32
uidgen_arg_int(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name),
				 errhint("Pass a number; the argument has no default here.")));
	return PG_GETARG_INT32(i);
}

uint64
uidgen_field_bits(const UidgenLayout *layout, UidgenField field, int32 value)
{
	uint64		maximum = uidgen_layout_maximum(layout, field);

	if (value < 0 || (uint64) value > maximum)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s %d is out of range", uidgen_field_name(field), value),
				 layout->bits[field] == 0 ?
				 errdetail("The layout has no %s field, so the value must be 0.",
						   uidgen_field_name(field)) :
				 errdetail("The layout has %d bits for this field: 0 to " UINT64_FORMAT ".",
						   layout->bits[field], maximum),
				 errhint("uid_layout() shows the largest value of each field.")));
	return uidgen_layout_put(layout, field, (uint64) value);
}

const char *
uidgen_field_meaning(UidgenField field)
{
	switch (field)
	{
		case UIDGEN_TIME:
			return "ticks since the epoch";
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

/* ---- times ---- */

/* The infinities need no case of their own: no layout reaches that far. */
UidgenTimePlace
uidgen_find_tick(const UidgenLayout *layout, TimestampTz timestamp, uint64 *tick)
{
	int64		time;

	/* So late that no layout has a tick for it. */
	if (pg_add_s64_overflow(timestamp, POSTGRES_EPOCH_UNIX, &time))
		return UIDGEN_AFTER_END;
	if (uidgen_layout_tick(layout, time, tick))
		return UIDGEN_IN_LAYOUT;
	return time < layout->epoch ? UIDGEN_BEFORE_EPOCH : UIDGEN_AFTER_END;
}

bool
uidgen_tick_timestamp(const UidgenLayout *layout, uint64 tick, TimestampTz *timestamp)
{
	int64		time;

	if (!uidgen_layout_time(layout, tick, &time))
		return false;
	*timestamp = time - POSTGRES_EPOCH_UNIX;
	return IS_VALID_TIMESTAMP(*timestamp);
}

TimestampTz
uidgen_id_timestamp(const UidgenLayout *layout, int64 id)
{
	TimestampTz timestamp;
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];

	if (!uidgen_layout_fits(layout, id))
	{
		uidgen_layout_print(layout, text);
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("id " INT64_FORMAT " does not fit the layout", id),
				 errdetail("The layout \"%s\" uses %d bits, but the id has other bits set.",
						   text, layout->total_bits),
				 errhint(UIDGEN_OTHER_LAYOUT_HINT)));
	}
	if (!uidgen_tick_timestamp(layout, uidgen_layout_get(layout, UIDGEN_TIME, id),
							   &timestamp))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the time in id " INT64_FORMAT " is out of range", id),
				 errdetail("Its tick is " UINT64_FORMAT ".",
						   uidgen_layout_get(layout, UIDGEN_TIME, id)),
				 errhint(UIDGEN_OTHER_LAYOUT_HINT)));
	return timestamp;
}

TimestampTz
uidgen_layout_expiry(const UidgenLayout *layout)
{
	TimestampTz timestamp;

	if (!uidgen_tick_timestamp(layout, uidgen_layout_lifetime(layout), &timestamp))
		TIMESTAMP_NOEND(timestamp);
	return timestamp;
}

Interval *
uidgen_interval(UidgenMicroseconds duration)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = duration;
	return interval;
}

/* ---- rows ---- */

#define MAX_COLUMNS 32

/*
 * The columns that the catalog declares for this call; raises an error if the library
 * returns others.  A row that is formed with other columns would read values that nobody
 * set, or take a number for an address.
 */
static TupleDesc
check_columns(FunctionCallInfo fcinfo, const UidgenColumn *columns, int n)
{
	TupleDesc	desc;
	int			declared;
	int			i;
	UidgenVersions versions;

	/* A function that is declared with one column returns a value, not a row. */
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		desc = NULL;
	declared = desc ? desc->natts : 1;
	for (i = 0; desc && i < Min(declared, n); i++)
		if (TupleDescAttr(desc, i)->atttypid != columns[i].type)
			break;
	if (i == n && declared == n)
		return desc;
	versions = uidgen_compare_versions("uidgen");
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
split_columns(const UidgenColumn *columns, int n, Datum *values, bool *nulls)
{
	Assert(n <= MAX_COLUMNS);
	for (int i = 0; i < n; i++)
	{
		values[i] = columns[i].value;
		nulls[i] = columns[i].isnull;
	}
}

Datum
uidgen_return_row(FunctionCallInfo fcinfo, const UidgenColumn *columns, int n)
{
	TupleDesc	desc = check_columns(fcinfo, columns, n);
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];

	split_columns(columns, n, values, nulls);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

void
uidgen_begin_rows(FunctionCallInfo fcinfo, const UidgenColumn *columns, int n)
{
	(void) check_columns(fcinfo, columns, n);
	/* Raises an error if the caller cannot take a set. */
	InitMaterializedSRF(fcinfo, 0);
}

void
uidgen_put_row(FunctionCallInfo fcinfo, const UidgenColumn *columns, int n)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[MAX_COLUMNS];
	bool		nulls[MAX_COLUMNS];

	if (!result || !IsA(result, ReturnSetInfo) || !result->setResult)
		uidgen_begin_rows(fcinfo, columns, n);
	split_columns(columns, n, values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}
