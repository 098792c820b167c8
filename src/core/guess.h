/*
 * guess.h
 *	  How well an id fits a layout that it is not known to have.
 *
 * Layouts differ in epoch and widths, and nothing in an id says which it has: of the 26
 * presets, 15 are possible for a usual id.  So a guess puts them in order.  It asks how
 * many bits it would take to say the id to somebody who knows the layout, and takes the
 * layout with the fewest:
 *
 *	rarity		how seldom one meets ids of this system (layout.h)
 *	time		the length of the number of ticks from `since`, or the epoch if that is
 *				later, to `until`; and one bit for each four years before `until`, since
 *				most ids that people ask about are young
 *	fields		a field whose values are spread over its room takes all of its bits.
 *				Others are mostly small: 1 for a zero; else the length of the value, and
 *				how many bits it takes to say that length.  In some systems a field is
 *				never 0: what has a 0 there is none of theirs
 *
 * These are whole numbers, so that docs/uidgen.mjs, which has the same rules, comes to
 * the same order.  The figures are nobody's measurement but a stated opinion; how
 * good it is says docs/decoding.md.
 *
 * Pure functions of their arguments, in C99.
 */
#ifndef UIDGEN_GUESS_H
#define UIDGEN_GUESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/layout.h"
#include "core/units.h"

/* A text has other readings than the first one; each takes so many bits more than the one
 * before. */
#define UIDGEN_GUESS_OTHER_READING 8

/* The first of these ids were made in 2010, by Twitter; microseconds since 1970. */
#define UIDGEN_GUESS_SINCE INT64_C(1262304000000000)

/* The clocks of others may be ahead of ours. */
#define UIDGEN_GUESS_AHEAD INT64_C(86400000000)

/* A number whose time is within a day of the epoch is more likely none of these ids. */
#define UIDGEN_GUESS_AFTER_EPOCH INT64_C(86400000000)

/*
 * The bits that it takes to say the id, and its time.  Negative: it does not fit the
 * layout, a field is 0 that never is, or its time is not within `since` and `until`.
 */
extern int64_t uidgen_guess_cost(const UidgenLayout *layout, const UidgenHabits *habits,
								 int64_t id, UidgenMicroseconds since,
								 UidgenMicroseconds until, UidgenMicroseconds *time);

/* Is a value of a field of so many bits smaller than most would be? */
extern bool uidgen_guess_small(int bits, uint64_t value);

#endif							/* UIDGEN_GUESS_H */
