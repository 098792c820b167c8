/*
 * values.h
 *	  What the functions that SQL calls share: arguments, times, rows.
 *
 * A function checks its arguments and makes one call: ids/ issues ids, core/layout.c
 * takes them apart.  A function with an optional layout is declared twice in SQL over one
 * C function: without the layout (STABLE, the server's layout) and with it (IMMUTABLE).
 */
#ifndef UIDGEN_VALUES_H
#define UIDGEN_VALUES_H

#include "postgres.h"

#include "core/layout.h"
#include "core/reading.h"
#include "core/units.h"
#include "fmgr.h"
#include "utils/timestamp.h"

/* Before PostgreSQL 16, PG_FUNCTION_INFO_V1 leaves the function itself hidden. */
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/* PostgreSQL counts time from 2000, layouts from 1970. */
#define POSTGRES_EPOCH_UNIX \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* ---- arguments ---- */

/*
 * The layout given as argument n, the last one, or the server's if the call has fewer
 * arguments.  Errors: 22023 it is not a layout, 22004 it is null; and the errors of uidgen_server_layout().
 */
extern const UidgenLayout *uidgen_arg_layout(FunctionCallInfo fcinfo, int n);

/* A layout or preset; error 22023: it is none. */
extern void uidgen_parse_layout(const char *text, UidgenLayout *layout);

/* What the text that is argument i may stand for: at least one reading, and how many.
 * Error 22P02: it is no id. */
extern int	uidgen_arg_readings(FunctionCallInfo fcinfo, int i, UidgenReading readings[UIDGEN_READINGS_MAX]);

/* The beginning of a text, for a message: it may be long, and its end is not what is wrong
 * with it.  Allocated. */
extern char *uidgen_shown_text(const char *bytes, int length);

/* Argument i; `name` is for the message.  Error 22004: it is null. */
extern int32 uidgen_arg_int(FunctionCallInfo fcinfo, int i, const char *name);

/* The bits of an id that hold `value` in a field.  Error 22003: it does not fit. */
extern uint64 uidgen_field_bits(const UidgenLayout *layout, UidgenField field,
								int32 value);

/* What a field means, for people; for the time "ticks since the epoch". */
extern const char *uidgen_field_meaning(UidgenField field);

/* ---- times ---- */

/* The hint of errors about an id that a layout cannot read. */
#define UIDGEN_OTHER_LAYOUT_HINT \
	"It may be an id of another layout: the page docs/decoder.html lists which, and functions that decode ids take one as an argument."

/* Where a time lies, seen from the ticks of a layout. */
typedef enum UidgenTimePlace
{
	UIDGEN_BEFORE_EPOCH,
	UIDGEN_IN_LAYOUT,
	UIDGEN_AFTER_END
} UidgenTimePlace;

/* The place of a time, which may be infinite, and its tick if that is in the layout. */
extern UidgenTimePlace uidgen_find_tick(const UidgenLayout *layout, TimestampTz timestamp,
										uint64 *tick);

/* When a tick begins; false if PostgreSQL's timestamps do not reach that far. */
extern bool uidgen_tick_timestamp(const UidgenLayout *layout, uint64 tick,
								  TimestampTz *timestamp);

/* The time in an id.  Errors: 22003 the id does not fit the layout, 22008 the time is
 * beyond PostgreSQL's. */
extern TimestampTz uidgen_id_timestamp(const UidgenLayout *layout, int64 id);

/* When a layout is used up; infinity if PostgreSQL's timestamps do not reach that far. */
extern TimestampTz uidgen_layout_expiry(const UidgenLayout *layout);

/* Allocated. */
extern Interval *uidgen_interval(UidgenMicroseconds duration);

/* ---- rows ---- */

/* One column of a row that a function returns. */
typedef struct UidgenColumn
{
	Oid			type;
	Datum		value;
	bool		isnull;
} UidgenColumn;

#define COLUMN(oid, datum) {.type = (oid), .value = (datum)}
#define NULL_COLUMN(oid) {.type = (oid), .isnull = true}

/* Give a column of the array that is called `row` its value, or one that may be null. */
#define SET_OR_NULL(column, datum, null) (row[column].value = (datum), row[column].isnull = (null))
#define SET(column, datum) SET_OR_NULL(column, datum, false)

/*
 * uidgen_return_row() makes the only row of a function's result.  uidgen_put_row() adds a
 * row to a set, and begins the set with its first call; uidgen_begin_rows() begins one that
 * may stay empty.  Error 55000: the catalog declares other columns.
 */
extern Datum uidgen_return_row(FunctionCallInfo fcinfo, const UidgenColumn *columns,
							   int n);
extern void uidgen_begin_rows(FunctionCallInfo fcinfo, const UidgenColumn *columns, int n);
extern void uidgen_put_row(FunctionCallInfo fcinfo, const UidgenColumn *columns, int n);

#endif							/* UIDGEN_VALUES_H */
