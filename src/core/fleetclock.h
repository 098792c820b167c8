/*
 * fleetclock.h
 *	  What time it is in a fleet: the boot clock plus an offset.
 *
 * Servers that share a registry should agree on the time, and a step of one server's wall
 * clock should concern nobody.  So a node of a fleet goes by its boot clock, which nobody
 * sets, plus an offset.  Each reply of the registry bounds the offset: its clock was read
 * between the moment before the call was sent and the moment after the reply had come,
 * however long either way took.  The offset moves only as far as such an interval
 * contradicts it.  It begins with the node's own wall clock, where that lies inside; so a
 * node whose clock is correct keeps it, and one whose clock is wrong follows the
 * registry's to within the round trip.
 *
 * A contradiction by more than a large step has two possible causes: the node's boot clock
 * stood still (a machine that its hypervisor had paused), or the registry's clock leapt.
 * The node's wall clock is the third witness.  A leap forward of the registry that it does
 * not confirm is not followed, since ids would carry a wrong time for as long; every other
 * contradiction is, because the clock of the fleet is the registry's.
 *
 * This rests on D. L. Mills' observation that a reply bounds the offset whatever the
 * asymmetry of the network (RFC 5905, section 8).  Pure: clocks come in as values; tested
 * by test/unit/test_fleetclock.c.
 */
#ifndef UIDGEN_FLEETCLOCK_H
#define UIDGEN_FLEETCLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/units.h"

/* A node whose wall clock is further from the registry's at first contact gets no grant:
 * one of both clocks is so wrong that ids would be wrong for years. */
#define UIDGEN_FLEETCLOCK_FIRST_MAX (INT64_C(24) * 3600 * 1000000)

typedef struct UidgenFleetClock
{
	bool		known;			/* the registry has replied */
	UidgenMicroseconds offset;	/* fleet time minus boot clock */
	UidgenMicroseconds width;	/* how exact the offset is: the width of the
								 * last interval */

	/*
	 * The registry's own clock minus the boot clock, at most.  It differs
	 * from the offset while a leap is not followed; what the registry is told
	 * by its own clock goes by this.
	 */
	bool		registry_known;
	UidgenMicroseconds registry_offset;
} UidgenFleetClock;

/* One reply of the registry, and the node's clocks around it. */
typedef struct UidgenClockReading
{
	UidgenMicroseconds boot_before; /* boot clock, before the call was sent */
	UidgenMicroseconds boot_after;	/* boot clock, after the whole reply had
									 * come */
	UidgenMicroseconds registry;	/* the registry's clock, since 1970 UTC */
	UidgenMicroseconds wall_offset; /* the node's wall clock minus its boot
									 * clock */
} UidgenClockReading;

typedef enum UidgenClockVerdict
{
	UIDGEN_CLOCK_AGREES,		/* the offset moved by no more than a large
								 * step */
	UIDGEN_CLOCK_FOLLOWS,		/* the offset moved by more: a step of the
								 * fleet's time */
	UIDGEN_CLOCK_STAYS,			/* the registry's clock leapt forward; not
								 * followed */
	UIDGEN_CLOCK_TOO_FAR		/* first contact, and the clocks are too far
								 * apart */
} UidgenClockVerdict;

/*
 * Judge a reading.  *step is by how much the offset moved, or would have had to move, in
 * microseconds; positive is forward.  After UIDGEN_CLOCK_TOO_FAR nothing is changed.
 */
extern UidgenClockVerdict uidgen_fleetclock_judge(UidgenFleetClock *clock,
												  const UidgenClockReading *reading,
												  UidgenMicroseconds large_step,
												  UidgenMicroseconds *step);

/*
 * The offset jumps to the registry's clock, which new nodes use anyway.  For a node that did not follow a leap of
 * that clock (UIDGEN_CLOCK_STAYS), and would have to wait for the registry's next grant to begin.
 */
extern void uidgen_fleetclock_follow(UidgenFleetClock *clock);

/*
 * What the registry's clock shows at the latest when the boot clock shows this; INT64_MAX: that is
 * not known.
 */
static inline UidgenMicroseconds
uidgen_fleetclock_registry(const UidgenFleetClock *clock, UidgenMicroseconds boot)
{
	return clock->registry_known ? clock->registry_offset + boot : INT64_MAX;
}

#endif							/* UIDGEN_FLEETCLOCK_H */
