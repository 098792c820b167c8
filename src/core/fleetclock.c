/*
 * fleetclock.c
 *	  What time it is in a fleet: see fleetclock.h.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/fleetclock.h"

/* What must be added to an offset so that it lies in an interval; 0 if it does. */
static UidgenMicroseconds
way_into(UidgenMicroseconds offset, UidgenMicroseconds low, UidgenMicroseconds high)
{
	if (offset < low)
		return low - offset;
	if (offset > high)
		return high - offset;
	return 0;
}

static bool
is_large(UidgenMicroseconds step, UidgenMicroseconds large_step)
{
	return step > large_step || step < -large_step;
}

UidgenClockVerdict
uidgen_fleetclock_judge(UidgenFleetClock *clock, const UidgenClockReading *reading,
						UidgenMicroseconds large_step, UidgenMicroseconds *step)
{
	UidgenMicroseconds low = reading->registry - reading->boot_after;
	UidgenMicroseconds high = reading->registry - reading->boot_before;
	UidgenMicroseconds wall = reading->wall_offset;
	bool		first = !clock->known;
	UidgenMicroseconds offset = first ? wall : clock->offset;
	UidgenClockVerdict verdict = UIDGEN_CLOCK_AGREES;

	*step = way_into(offset, low, high);
	if (first)
	{
		if (is_large(*step, UIDGEN_FLEETCLOCK_FIRST_MAX))
			return UIDGEN_CLOCK_TOO_FAR;
	}
	else if (is_large(*step, large_step))
	{
		/* The wall clock is with the offset, and the registry alone is ahead. */
		if (*step > 0 && is_large(way_into(wall, low, high), large_step) &&
			!is_large(wall - offset, large_step))
			verdict = UIDGEN_CLOCK_STAYS;
		else
			verdict = UIDGEN_CLOCK_FOLLOWS;
	}

	clock->known = true;
	clock->registry_known = true;
	clock->registry_offset = high;
	clock->width = high - low;
	clock->offset = verdict == UIDGEN_CLOCK_STAYS ? offset : offset + *step;
	return verdict;
}

void
uidgen_fleetclock_follow(UidgenFleetClock *clock)
{
	UidgenMicroseconds high = clock->registry_offset;

	clock->offset += way_into(clock->offset, high - clock->width, high);
}
