/*
 * test_fleetclock.c
 *	  Proves src/core/fleetclock.c without a server, under the sanitizers.
 *
 * Each rule by itself, and then a node whose clocks go wrong in random ways: its time
 * stays within the last interval unless it says that it does not follow.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/fleetclock.h"

#include <stdlib.h>

#include "tap.h"

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)
#define LARGE (5 * SECOND)
#define BOOT (100 * SECOND)
#define TRUE_OFFSET (INT64_C(1800000000) * SECOND)	/* fleet time minus boot clock */

static UidgenFleetClock fleet;
static UidgenClockReading reading;
static UidgenMicroseconds step;

/* A call that takes 40 ms, of whose 10 ms pass until the registry reads its clock, which is
 * wrong by so much; the wall clock is wrong by so much. */
static UidgenClockVerdict
reply(UidgenMicroseconds registry_error, UidgenMicroseconds wall_error)
{
	reading = (UidgenClockReading) {
		.boot_before = BOOT,
		.boot_after = BOOT + 40000,
		.registry = TRUE_OFFSET + BOOT + 10000 + registry_error,
		.wall_offset = TRUE_OFFSET + wall_error,
	};
	return uidgen_fleetclock_judge(&fleet, &reading, LARGE, &step);
}

static void
begin(UidgenMicroseconds error)
{
	fleet = (UidgenFleetClock) {.known = true,.offset = TRUE_OFFSET + error};
}

#define ERROR_OF_OFFSET (fleet.offset - TRUE_OFFSET)

static void
first_contact(void)
{
	fleet = (UidgenFleetClock) {0};
	ok(reply(0, 0) == UIDGEN_CLOCK_AGREES && fleet.known && ERROR_OF_OFFSET == 0 && step == 0,
	   "first contact: a wall clock inside of the interval is kept");
	ok(fleet.width == 40000, "the width is the round trip");
	fleet = (UidgenFleetClock) {0};
	ok(reply(0, 9999) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == 9999,
	   "first contact: also at its edge");
	fleet = (UidgenFleetClock) {0};
	ok(reply(0, HOUR) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == 10000 && step == 10000 - HOUR,
	   "first contact: a wall clock that is an hour ahead follows to the interval's end");
	fleet = (UidgenFleetClock) {0};
	ok(reply(0, -HOUR) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == -30000,
	   "first contact: and one that is behind to its beginning");
	fleet = (UidgenFleetClock) {0};
	ok(reply(0, 24 * HOUR + 10000) == UIDGEN_CLOCK_AGREES, "first contact: a day is allowed");
	fleet = (UidgenFleetClock) {0};
	ok(reply(0, 24 * HOUR + 10001) == UIDGEN_CLOCK_TOO_FAR && !fleet.known && step == -24 * HOUR - 1,
	   "first contact: more than a day ahead is refused");
	ok(reply(0, -24 * HOUR - 30001) == UIDGEN_CLOCK_TOO_FAR && !fleet.known && step == 24 * HOUR + 1,
	   "first contact: more than a day behind is refused");
}

static void
small_steps(void)
{
	begin(0);
	ok(reply(0, HOUR) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == 0 && step == 0,
	   "later: what the wall clock shows does not matter");
	ok(reply(0, -30 * 24 * HOUR) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == 0,
	   "later: not even a month");
	ok(reply(30000, 0) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == 0, "an interval that has the offset moves nothing");
	ok(reply(30001, 0) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == 1 && step == 1,
	   "one that has it not moves it as far as needed: forward");
	begin(0);
	ok(reply(-10001, 0) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == -1 && step == -1, "and back");
	ok(reply(-LARGE - 10001, HOUR) == UIDGEN_CLOCK_AGREES && step == -LARGE, "by as much as a large step");
}

static void
large_steps(void)
{
	begin(0);
	ok(reply(-LARGE - 10001, 0) == UIDGEN_CLOCK_FOLLOWS && step == -LARGE - 1 && ERROR_OF_OFFSET == step,
	   "the registry's clock goes back: followed, though the wall clock does not");
	begin(0);
	ok(reply(LARGE + 30001, 0) == UIDGEN_CLOCK_STAYS && ERROR_OF_OFFSET == 0 && step == LARGE + 1,
	   "the registry's clock leaps forward, the wall clock does not: not followed");
	ok(fleet.known && fleet.width == 40000, "which is no reason to forget what is known");
	ok(reply(HOUR, HOUR) == UIDGEN_CLOCK_FOLLOWS && ERROR_OF_OFFSET == HOUR - 30000,
	   "it leaps, and the wall clock is with it: followed");
	begin(-HOUR);
	ok(reply(0, 0) == UIDGEN_CLOCK_FOLLOWS && ERROR_OF_OFFSET == -30000,
	   "the boot clock stood still for an hour, and the wall clock tells: followed");
	begin(-HOUR);
	ok(reply(0, -HOUR) == UIDGEN_CLOCK_STAYS && ERROR_OF_OFFSET == -HOUR,
	   "both of the node's clocks stood still: looks like a leap of the registry");
	begin(0);
	ok(reply(HOUR, -HOUR) == UIDGEN_CLOCK_FOLLOWS && ERROR_OF_OFFSET == HOUR - 30000,
	   "three clocks, three times: the registry's counts");
	begin(0);
	ok(reply(HOUR, LARGE) == UIDGEN_CLOCK_STAYS && reply(HOUR, LARGE + 1) == UIDGEN_CLOCK_FOLLOWS,
	   "the wall clock is with the offset up to a large step from it");
	begin(0);
	ok(reply(HOUR, HOUR - 30000 - LARGE) == UIDGEN_CLOCK_FOLLOWS, "and with the registry up to a large step from the interval");
}

/* What the registry's own clock shows, and a node that follows it after all. */
static void
registry_clock(void)
{
	begin(0);
	ok(uidgen_fleetclock_registry(&fleet, BOOT) == INT64_MAX, "the registry's clock is not known before it has replied");
	(void) reply(HOUR, 0);
	ok(uidgen_fleetclock_registry(&fleet, BOOT) == TRUE_OFFSET + BOOT + 10000 + HOUR,
	   "it is known, at the latest, also where it is not followed");
	ok(uidgen_fleetclock_registry(&fleet, BOOT + SECOND) == TRUE_OFFSET + BOOT + 10000 + HOUR + SECOND,
	   "and goes on with the boot clock");
	uidgen_fleetclock_follow(&fleet);
	ok(ERROR_OF_OFFSET == HOUR - 30000, "followed after all");
	ok(reply(HOUR, 0) == UIDGEN_CLOCK_AGREES && ERROR_OF_OFFSET == HOUR - 30000, "which holds");
	uidgen_fleetclock_follow(&fleet);
	ok(ERROR_OF_OFFSET == HOUR - 30000, "a clock that agrees does not move");
	begin(HOUR);
	fleet.registry_offset = TRUE_OFFSET;
	uidgen_fleetclock_follow(&fleet);
	ok(ERROR_OF_OFFSET == 0, "backward, too");
}

/* Any clocks: what is followed lies in the interval, and what is not is a leap forward. */
static void
any_clocks(void)
{
	int			wrong = 0;
	int			kept = 0;

	srand(11);
	fleet = (UidgenFleetClock) {0};
	for (int i = 0; i < 1000000; i++)
	{
		UidgenMicroseconds before = fleet.offset;
		UidgenMicroseconds low;
		UidgenMicroseconds high;
		bool		inside;
		UidgenClockVerdict verdict;

		reading.boot_before = BOOT + rand();
		reading.boot_after = reading.boot_before + rand() % (2 * SECOND);
		reading.registry = TRUE_OFFSET + reading.boot_before + rand() % (20 * SECOND) - 10 * SECOND;
		reading.wall_offset = TRUE_OFFSET + rand() % (20 * SECOND) - 10 * SECOND;
		verdict = uidgen_fleetclock_judge(&fleet, &reading, LARGE, &step);
		low = reading.registry - reading.boot_after;
		high = reading.registry - reading.boot_before;
		inside = fleet.offset >= low && fleet.offset <= high;
		if (verdict == UIDGEN_CLOCK_STAYS)
		{
			kept++;
			wrong += fleet.offset != before || step <= LARGE || inside;
		}
		else
			wrong += !inside || (i > 0 && fleet.offset != before + step);
	}
	ok(wrong == 0 && kept > 1000, "any clocks: the offset is in the interval, or the leap is said (%d of them)", kept);
}

int
main(void)
{
	first_contact();
	small_steps();
	large_steps();
	registry_clock();
	any_clocks();
	return done_testing();
}
