/*
 * ranges.c
 *	  The ids of a time, and of a range of time: bounds for comparisons.
 *
 * Errors: 22023 the ids of the layout are not in the order of time; and the errors of uidgen_arg_layout().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "compat.h"
#include "functions/values.h"

SQL_FUNCTION(uidgen_min);
SQL_FUNCTION(uidgen_max);
SQL_FUNCTION(uidgen_first_since);
SQL_FUNCTION(uidgen_last_before);
SQL_FUNCTION(uidgen_range);

/*
 * An end of the tick that a time is in, for comparisons with the ids of a layout.  A time
 * for which the layout has no tick gives the layout's own end: before the epoch the
 * smallest id, after the last tick the largest.  This covers the infinities.
 *
 * So a bound never fails, and is always an id that the layout can decode.  If the layout can generate, the bound
 * never decreases as time goes on.  The price is one id at each end.  With a time before the epoch, `id <=
 * uid_max(time)` is true for the smallest id (tick, worker and sequence 0), because uid_parse() takes nothing
 * smaller.  With a time after the end, `id >= uid_min(time)` is true for the largest id of all; no server issues that
 * one, since the last tick is never granted.
 */
static int64
range_end(const UidgenLayout *layout, TimestampTz timestamp,
		  int64_t (*end_of_tick) (const UidgenLayout *, uint64_t))
{
	uint64		tick;

	switch (uidgen_find_tick(layout, timestamp, &tick))
	{
		case UIDGEN_BEFORE_EPOCH:
			return uidgen_layout_first(layout);
		case UIDGEN_AFTER_END:
			return uidgen_layout_last(layout);
		case UIDGEN_IN_LAYOUT:
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

/*
 * The id at which a half-open range of time begins or ends: the smallest one of the tick
 * that the time is in, as uid_min() has it.  So the ids of a tick belong together to what
 * follows the bound, and ranges that meet share no id and leave none out.
 *
 * A range makes sense only where ids are in the order of time.  Any other layout is
 * refused, since the answer would be wrong without a word.  The same would be true for a
 * layout whose time has the sign bit, once its ids turn negative: for a range, it ends
 * there.
 *
 * After the end of the layout the bound is above its last id, so that a range that ends there
 * has all ids.  False if no number is: then it is the last one.
 */
static bool
range_bound(const UidgenLayout *layout, TimestampTz timestamp, int64 *bound)
{
	UidgenTimePlace place;
	uint64		tick;
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];

	if (layout->order[0] != UIDGEN_TIME)
	{
		uidgen_layout_print(layout, text);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of this layout are not in the order of time"),
				 errdetail("The layout is \"%s\": its first field is %s.",
						   text, uidgen_field_name(layout->order[0])),
				 errhint("A range of time is a range of ids only where the time is the first field. Compare uid_timestamp() with the two times instead.")));
	}
	place = uidgen_find_tick(layout, timestamp, &tick);
	*bound = range_end(layout, timestamp, uidgen_layout_min);
	if (place == UIDGEN_BEFORE_EPOCH ||
		(place == UIDGEN_IN_LAYOUT && tick < uidgen_layout_lifetime(layout)))
		return true;
	*bound = uidgen_layout_last(layout);
	if (*bound == PG_INT64_MAX)
		return false;
	(*bound)++;
	return true;
}

/*
 * uid_between() is SQL, so that it is inlined: id >= first_since(from) AND
 * id <= last_before(to).  Both are numbers for an open end too, so that the planner finds
 * two plain comparisons with a column: what it needs for an index or for partitions.
 */
Datum
uidgen_first_since(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 2);
	int64		bound;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(PG_INT64_MIN);
	(void) range_bound(layout, PG_GETARG_TIMESTAMPTZ(0), &bound);
	PG_RETURN_INT64(bound);
}

Datum
uidgen_last_before(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 2);
	int64		bound;

	if (PG_ARGISNULL(0) || !range_bound(layout, PG_GETARG_TIMESTAMPTZ(0), &bound))
		PG_RETURN_INT64(PG_INT64_MAX);
	/* Some layouts begin at the smallest number of all. */
	PG_RETURN_INT64(bound == PG_INT64_MIN ? bound : bound - 1);
}

Datum
uidgen_range(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 3);
	RangeBound	bounds[2];

	bool		above_all = false;	/* it begins there */

	for (int i = 0; i < 2; i++)
	{
		int64		bound = PG_INT64_MAX;
		bool		there = !PG_ARGISNULL(i) && range_bound(layout, PG_GETARG_TIMESTAMPTZ(i), &bound);

		if (i == 0)
			above_all = !PG_ARGISNULL(i) && !there;
		bounds[i].lower = bounds[i].inclusive = (i == 0);
		bounds[i].infinite = !there && !above_all;
		bounds[i].val = bounds[i].infinite ? (Datum) 0 : Int64GetDatum(bound);
	}
	PG_RETURN_RANGE_P(uidgen_make_range(lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO),
										&bounds[0], &bounds[1]));
}
