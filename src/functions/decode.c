/*
 * decode.c
 *	  The functions that take ids apart, and make up others for comparisons.
 *
 * Errors: 22003 a field does not fit its bits; 22008 a time is out of range; and those of
 * uidgen_arg_layout() and uidgen_id_timestamp().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "functions/values.h"
#include "utils/timestamp.h"

SQL_FUNCTION(uidgen_parse);
SQL_FUNCTION(uidgen_timestamp);
SQL_FUNCTION(uidgen_min);
SQL_FUNCTION(uidgen_max);
SQL_FUNCTION(uidgen_make);

/* Where a time lies, seen from the ticks of a layout. */
typedef enum TimePlace
{
	BEFORE_EPOCH,
	IN_LAYOUT,
	AFTER_END
} TimePlace;

/*
 * The place of a time and, if that is in the layout, its tick.  The infinities need no
 * case of their own: no layout reaches that far.
 */
static TimePlace
find_tick(const UidgenLayout *layout, TimestampTz timestamp, uint64 *tick)
{
	int64		time;

	/* So late that no layout has a tick for it. */
	if (pg_add_s64_overflow(timestamp, POSTGRES_EPOCH_UNIX, &time))
		return AFTER_END;
	if (uidgen_layout_tick(layout, time, tick))
		return IN_LAYOUT;
	return time < layout->epoch ? BEFORE_EPOCH : AFTER_END;
}

Datum
uidgen_parse(PG_FUNCTION_ARGS)
{
	static const UidgenField fields[] = {
		UIDGEN_DATACENTER, UIDGEN_WORKER, UIDGEN_TAG, UIDGEN_SEQUENCE
	};
	int64		id = PG_GETARG_INT64(0);
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 2);
	UidgenColumn		row[2 + lengthof(fields)] = {
		COLUMN(INT8OID, Int64GetDatum(id)),
		COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(uidgen_id_timestamp(layout, id))),
	};

	for (size_t i = 0; i < lengthof(fields); i++)
		row[2 + i] = (UidgenColumn) {
			.type = INT4OID,
			.value = Int32GetDatum((int32) uidgen_layout_get(layout, fields[i], id)),
			.isnull = layout->bits[fields[i]] == 0,
		};
	return uidgen_return_row(fcinfo, row, lengthof(row));
}

Datum
uidgen_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(uidgen_id_timestamp(uidgen_arg_layout(fcinfo, 2), PG_GETARG_INT64(0)));
}

/*
 * The end of a range of time, for comparisons with the ids of a layout.  A time
 * for which the layout has no tick gives the layout's own end: before the epoch the
 * smallest id, after the last tick the largest.  This covers the infinities.
 *
 * So a bound never fails, is always an id that the layout can decode and, where
 * the layout can generate, never decreases as time goes on.  The price is one id at
 * each end.  With a time before the epoch, `id <= uid_max(time)` is true for the smallest
 * id of all (tick, worker and sequence 0), because uid_parse() takes nothing smaller.
 * With a time after the end, `id >= uid_min(time)` is true for the largest id of all; no
 * server issues that one, since the last tick is never granted.
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
	PG_RETURN_INT64(range_end(uidgen_arg_layout(fcinfo, 2), PG_GETARG_TIMESTAMPTZ(0),
							  uidgen_layout_min));
}

Datum
uidgen_max(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(range_end(uidgen_arg_layout(fcinfo, 2), PG_GETARG_TIMESTAMPTZ(0),
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
				 errhint("For older times, use a layout with an earlier epoch.")));
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp is out of range: %s",
					timestamptz_to_str(timestamp)),
			 errdetail("The layout \"%s\" has %d bits of time since its epoch.",
					   text, layout->bits[UIDGEN_TIME]),
			 errhint("uid_layout_info() shows when a layout begins and ends.")));
}

Datum
uidgen_make(PG_FUNCTION_ARGS)
{
	static const UidgenField fields[] = {
		UIDGEN_WORKER, UIDGEN_SEQUENCE, UIDGEN_DATACENTER, UIDGEN_TAG
	};
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 6);
	uint64		bits;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bits = uidgen_layout_put(layout, UIDGEN_TIME,
							 get_tick(layout, PG_GETARG_TIMESTAMPTZ(0)));
	for (size_t i = 0; i < lengthof(fields); i++)
		if (!PG_ARGISNULL(1 + i))
			bits |= uidgen_field_bits(layout, fields[i], PG_GETARG_INT32(1 + i));
	PG_RETURN_INT64((int64) bits);
}
