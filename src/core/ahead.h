/*
 * ahead.h
 *	  How far ids may run ahead of the clock, and why they are ahead of it.
 *
 * The gate of ticket.h asks here for the last tick that may be taken.  A call that waits for the clock asks when a
 * tick may be taken.  The keeper asks whether the clock was set back.  All are pure functions of a tick of the clock
 * and of what the shared words say (UidgenTicketReach).
 */
#ifndef UIDGEN_AHEAD_H
#define UIDGEN_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/units.h"

/*
 * How far ids may run ahead of the clock, in ticks.  Each bound has one cause.  So drawing ids, which every role may
 * do, cannot use up the room for a crash or for a clock that was set back:
 *
 *	- ahead: the clock was set back since this era began;
 *	- crash: the era had to begin ahead of the clock, above an older grant;
 *	- burst: on top of these, ids are drawn faster than the layout has room for.
 *
 * The keeper writes them from the settings, so that they hold for statements that
 * run already.
 */
typedef struct UidgenTicketBounds
{
	UidgenTick	ahead;
	UidgenTick	burst;
	UidgenTick	crash;
	UidgenTick	large_step;		/* a clock that was set back further needs
								 * another grant: until then nothing is taken */
} UidgenTicketBounds;

/* Why the tick of an id is ahead of the clock. */
typedef enum UidgenAheadCause
{
	UIDGEN_AHEAD_NOT,			/* it is not */
	UIDGEN_AHEAD_BURST,
	UIDGEN_AHEAD_CLOCK_SET_BACK,
	UIDGEN_AHEAD_CRASH
} UidgenAheadCause;

/* What decides, besides the clock, how far ids may run ahead of it. */
typedef struct UidgenTicketReach
{
	UidgenTick	clock_high;
	UidgenTick	clock_before;
	UidgenTick	ahead;
	UidgenTick	burst;
	UidgenTick	large_step;
	UidgenTick	opened;
	UidgenTick	opened_at;
	UidgenAheadCause opened_cause;
	UidgenTick	room;
} UidgenTicketReach;

/* Where ids were before the clock was set back, and at most `ahead` ahead of it. */
static inline UidgenTick
uidgen_ticket_set_back(const UidgenTicketReach *reach, UidgenTick now)
{
	return uidgen_tick_lower(reach->clock_high,
							 uidgen_tick_plus(now, reach->ahead));
}

/*
 * Where ids were when the era began ahead of the clock; else 0.  While the clock
 * catches up, the tick goes on at half its pace: standing still it would leave all
 * that is drawn until then nothing but `burst`.
 */
static inline UidgenTick
uidgen_ticket_opened(const UidgenTicketReach *reach, UidgenTick now)
{
	return reach->opened == 0 ? 0 :
		uidgen_tick_plus(reach->opened,
						 uidgen_tick_minus(now, reach->opened_at) / 2);
}

/* Do ids get `burst` ticks on top of where they were when the era began?  Not if it
 * was drawing that had carried them there. */
static inline UidgenTick
uidgen_ticket_opened_burst(const UidgenTicketReach *reach)
{
	return reach->opened_cause == UIDGEN_AHEAD_BURST ? 0 : reach->burst;
}

/* The last tick that may be taken from when the clock is at `now`. */
static inline UidgenTick
uidgen_ticket_last_allowed(const UidgenTicketReach *reach, UidgenTick now)
{
	UidgenTick	base = uidgen_tick_higher(now, uidgen_ticket_set_back(reach, now));
	UidgenTick	opened = uidgen_ticket_opened(reach, now);

	base = uidgen_tick_plus(base, reach->burst);
	if (opened != 0)
		opened = uidgen_tick_plus(opened, uidgen_ticket_opened_burst(reach));
	return uidgen_tick_higher(base,
							  uidgen_tick_lower(opened, uidgen_tick_plus(now, reach->room)));
}

/*
 * Where ids may have been when the clock was highest in this era; else 0.  Of an era
 * that began ahead of the clock they have gone on meanwhile.
 */
static inline UidgenTick
uidgen_ticket_before_step(const UidgenTicketReach *reach, UidgenTick now)
{
	return uidgen_tick_higher(uidgen_ticket_set_back(reach, now),
							  uidgen_ticket_opened(reach, reach->clock_high));
}

/*
 * Was the clock set back in this era, so that another era should begin where ids
 * are?  In that one they go on while the clock catches up.
 */
static inline bool
uidgen_ticket_step_in_era(const UidgenTicketReach *reach, UidgenTick now)
{
	return reach->clock_high > now &&
		uidgen_ticket_before_step(reach, now) >
		uidgen_tick_higher(now, uidgen_ticket_opened(reach, now));
}

/*
 * The first tick of the clock at which `tick` may be taken from: the inverse of
 * uidgen_ticket_last_allowed().  A wait by any other rule than the gate's would be
 * too long, or end too early and become a busy loop.
 */
static inline UidgenTick
uidgen_ticket_allowed_at(const UidgenTicketReach *reach, UidgenTick tick)
{
	UidgenTick	base = uidgen_tick_minus(tick, reach->burst);
	UidgenTick	at = base;

	if (reach->clock_high >= base)
		at = uidgen_tick_lower(at, uidgen_tick_minus(base, reach->ahead));
	if (reach->opened != 0)
	{
		UidgenTick	opened = uidgen_tick_minus(tick, uidgen_ticket_opened_burst(reach));
		UidgenTick	passed = uidgen_tick_minus(opened, reach->opened);

		/*
		 * From here on both conditions of uidgen_ticket_last_allowed() are
		 * met.
		 */
		passed = passed == 0 ? 0 :
			uidgen_tick_plus(reach->opened_at, uidgen_tick_plus(passed, passed));
		at = uidgen_tick_lower(at, uidgen_tick_higher(passed,
													  uidgen_tick_minus(tick, reach->room)));
	}
	return at;
}

/* The bound that reaches furthest, where ids are at `tick` and the clock at `now`.
 * The reach must have been read before the clock was. */
static inline UidgenAheadCause
uidgen_ticket_cause(const UidgenTicketReach *reach, UidgenTick tick, UidgenTick now)
{
	if (tick <= now)
		return UIDGEN_AHEAD_NOT;
	if (uidgen_ticket_set_back(reach, now) >
		uidgen_tick_higher(now, uidgen_ticket_opened(reach, reach->clock_high)))
		return UIDGEN_AHEAD_CLOCK_SET_BACK;
	if (uidgen_ticket_opened(reach, now) > now)
		return reach->opened_cause;
	return UIDGEN_AHEAD_BURST;
}

/* The highest tick of the clock that is known. */
static inline UidgenTick
uidgen_ticket_clock_known(const UidgenTicketReach *reach)
{
	return uidgen_tick_higher(reach->clock_high, reach->clock_before);
}

/* Was the clock set back so far that another grant is needed? */
static inline bool
uidgen_ticket_large_step(const UidgenTicketReach *reach, UidgenTick now)
{
	return uidgen_ticket_clock_known(reach) > uidgen_tick_plus(now, reach->large_step);
}

#endif							/* UIDGEN_AHEAD_H */
