/*
 * server.h
 *	  The layout that this server generates with, and its clock in ticks of that layout.
 */
#ifndef UIDGEN_SERVER_H
#define UIDGEN_SERVER_H

#include "postgres.h"

#include "core/clock.h"
#include "core/layout.h"
#include "core/units.h"
#include "memory/guc.h"
#include "memory/memory.h"

/*
 * The layout that the server generates with, for those who only look.  As long as nobody has drawn, it is the layout
 * in the settings.  Errors: as uidgen_report_attachment(); 55000 this process cannot know it.
 */
extern const UidgenLayout *uidgen_server_layout(void);

/* The tick of a time since 1970 UTC: at least 0, and at most the
 * layout's last tick. */
extern UidgenTick uidgen_server_tick(UidgenMicroseconds time);

/*
 * What time it is for ids, in microseconds since 1970 UTC: the wall clock or, in a fleet,
 * the boot clock plus an offset (fleetclock.h), which the keeper writes.  Before there is a
 * grant of a fleet, it is the wall clock.
 */
static inline UidgenMicroseconds
uidgen_server_clock(void)
{
	UidgenMicroseconds offset =
		(UidgenMicroseconds) uidgen_atomic_read(&uidgen_server_words->clock_offset);

	return offset == 0 ? uidgen_clock_wall() : uidgen_clock_boot() + offset;
}

/* The tick that it shows, within the same limits. */
extern UidgenTick uidgen_clock_tick(void);

/* The last tick that is ever granted: the one after it is not, so that the end of the
 * layout is noticed before it is reached. */
static inline UidgenTick
uidgen_last_grantable(void)
{
	return uidgen_rules.last_tick - 1;
}

/* So many ticks in milliseconds, for messages. */
extern long long uidgen_server_ms(UidgenTick ticks);

#endif							/* UIDGEN_SERVER_H */
