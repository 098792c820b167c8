/*
 * units.h
 *	  What a number counts.
 *
 * All three are plain integers to the compiler; the names are for those who read.
 */
#ifndef UIDGEN_UNITS_H
#define UIDGEN_UNITS_H

#include <stdint.h>

/* Units of the layout since its epoch; also a number of ticks.  A layout that ids are made
 * with has at most 62 bits of them, so that sums of two fit. */
typedef int64_t UidgenTick;

/* tick << sequence_bits | sequence: where an id stands in the order of ids. */
typedef uint64_t UidgenPosition;

/* Of a clock, or a duration. */
typedef int64_t UidgenMicroseconds;

/* a + b, and a - b or 0, of numbers that are not negative. */
static inline UidgenTick
uidgen_tick_plus(UidgenTick a, UidgenTick b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static inline UidgenTick
uidgen_tick_minus(UidgenTick a, UidgenTick b)
{
	return a > b ? a - b : 0;
}

static inline UidgenTick
uidgen_tick_lower(UidgenTick a, UidgenTick b)
{
	return a < b ? a : b;
}

static inline UidgenTick
uidgen_tick_higher(UidgenTick a, UidgenTick b)
{
	return a > b ? a : b;
}

#endif							/* UIDGEN_UNITS_H */
