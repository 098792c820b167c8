/*
 * layouts.c
 *	  The functions that show layouts and presets.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "functions/values.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* How many bits an integer may have that JavaScript's numbers hold exactly. */
#define JAVASCRIPT_BITS 53

SQL_FUNCTION(uidgen_layout_fields);
SQL_FUNCTION(uidgen_layout_info);
SQL_FUNCTION(uidgen_preset_list);

/* The time with its unit and epoch; the others as everywhere. */
static const char *
field_meaning(const UidgenLayout *layout, UidgenField field)
{
	char		unit[UIDGEN_UNIT_TEXT_SIZE];
	char		epoch[UIDGEN_EPOCH_TEXT_SIZE];

	if (field != UIDGEN_TIME)
		return uidgen_field_meaning(field);
	uidgen_unit_print(layout->unit, unit);
	uidgen_epoch_print(layout->epoch, epoch);
	return psprintf("ticks of %s since %s", unit, epoch);
}

Datum
uidgen_layout_fields(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 1);

	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		UidgenColumn row[] = {
			COLUMN(TEXTOID, CStringGetTextDatum(uidgen_field_name(field))),
			COLUMN(INT4OID, Int32GetDatum(layout->bits[field])),
			COLUMN(INT4OID, Int32GetDatum(layout->shift[field])),
			COLUMN(INT8OID, Int64GetDatum(field == UIDGEN_ZERO ? 0 :
										  (int64) uidgen_layout_maximum(layout, field))),
			COLUMN(TEXTOID, CStringGetTextDatum(field_meaning(layout, field))),
		};

		uidgen_put_row(fcinfo, row, lengthof(row));
	}
	return (Datum) 0;
}

Datum
uidgen_layout_info(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 1);
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];
	int64		workers =
		(int64) ((uidgen_layout_maximum(layout, UIDGEN_WORKER) + 1) *
				 (uidgen_layout_maximum(layout, UIDGEN_DATACENTER) + 1));

	uidgen_layout_print(layout, text);
	{
		UidgenColumn row[] = {
			COLUMN(TEXTOID, CStringGetTextDatum(text)),
			COLUMN(INT4OID, Int32GetDatum(layout->total_bits)),
			COLUMN(INTERVALOID, IntervalPGetDatum(uidgen_interval(layout->unit))),
			COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(layout->epoch - POSTGRES_EPOCH_UNIX)),
			COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(uidgen_layout_expiry(layout))),
			COLUMN(INT8OID, Int64GetDatum(workers)),
			COLUMN(INT8OID, Int64GetDatum(uidgen_layout_second_capacity(layout))),
			COLUMN(BOOLOID, BoolGetDatum(layout->total_bits <= JAVASCRIPT_BITS)),
		};

		return uidgen_return_row(fcinfo, row, lengthof(row));
	}
}

Datum
uidgen_preset_list(PG_FUNCTION_ARGS)
{
	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
	{
		UidgenColumn row[] = {
			COLUMN(TEXTOID, CStringGetTextDatum(preset->name)),
			COLUMN(TEXTOID, CStringGetTextDatum(preset->layout)),
			COLUMN(TEXTOID, CStringGetTextDatum(preset->note)),
		};

		uidgen_put_row(fcinfo, row, lengthof(row));
	}
	return (Datum) 0;
}
