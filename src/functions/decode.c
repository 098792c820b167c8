/*
 * decode.c
 *	  The functions that take ids apart, and put them together again.
 *
 * Errors: 22003 a field does not fit its bits; 22008 a time is out of range; and the errors of uidgen_arg_layout()
 * and uidgen_id_timestamp().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "functions/values.h"
#include "utils/timestamp.h"

SQL_FUNCTION(uidgen_parse);
SQL_FUNCTION(uidgen_timestamp);
SQL_FUNCTION(uidgen_make);

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

/* The tick that contains a time; raises an error if the layout has none for it. */
static uint64
get_tick(const UidgenLayout *layout, TimestampTz timestamp)
{
	uint64		tick;
	UidgenTimePlace place = uidgen_find_tick(layout, timestamp, &tick);
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];

	if (place == UIDGEN_IN_LAYOUT)
		return tick;
	uidgen_layout_print(layout, text);
	if (place == UIDGEN_BEFORE_EPOCH)
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
