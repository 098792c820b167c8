/*
 * guess.c
 *	  How well an id fits a layout: see guess.h.
 */
#include "core/guess.h"

/* For each of these that a time lies back, ids of it are half as many. */
#define AGE INT64_C(126144000000000)	/* 4 years, in microseconds */

static int
bit_length(uint64_t number)
{
	int			length = 0;

	for (; number != 0; number >>= 1)
		length++;
	return length;
}

/* Of a field whose values are mostly small. */
static int
field_cost(int bits, uint64_t value)
{
	return value == 0 ? 1 : bit_length((uint64_t) bits - 1) + bit_length(value);
}

bool
uidgen_guess_small(int bits, uint64_t value)
{
	return field_cost(bits, value) < bits;
}

int64_t
uidgen_guess_cost(const UidgenLayout *layout, const UidgenHabits *habits, int64_t id,
				  UidgenMicroseconds since, UidgenMicroseconds until, UidgenMicroseconds *time)
{
	int64_t		cost;

	if (!uidgen_layout_fits(layout, id) ||
		!uidgen_layout_time(layout, uidgen_layout_get(layout, UIDGEN_TIME, id), time) ||
		*time < since || *time > until)
		return -1;
	/* The difference of two int64 in order always fits uint64. */
	cost = habits->rarity +
		bit_length(((uint64_t) until - (uint64_t) since) / (uint64_t) layout->unit) +
		(int64_t) (((uint64_t) until - (uint64_t) *time) / (uint64_t) AGE);
	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		uint64_t	value = uidgen_layout_get(layout, field, id);

		if (field == UIDGEN_TIME || field == UIDGEN_ZERO)
			continue;
		if (value == 0 && habits->positive & 1U << field)
			return -1;
		cost += habits->spread & 1U << field ? layout->bits[field] :
			field_cost(layout->bits[field], value);
	}
	return cost;
}
