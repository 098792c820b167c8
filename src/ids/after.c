/*
 * after.c
 *	  An id that is greater than a given one: see after.h.
 *
 * The given id may be from a server whose clock is a little ahead.  The call waits until the clock, or what others
 * draw, has brought the position to the next tick.  It never moves the position there: a call with a wrong id
 * would push the time of all ids ahead.
 *
 * In the tick of the given id itself, worker id, tag and sequence decide, in the layout's order.  So an id is drawn
 * there, and compared.  If it is below the given id, it is wasted, and the next one is drawn in a later tick.
 */
#include "postgres.h"

#include "ids/after.h"

#include <math.h>

#include "core/clock.h"
#include "ids/generator.h"
#include "memory/counts.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "memory/server.h"

/* The earliest tick that an id can have which is drawn now. */
static UidgenTick
earliest_tick(void)
{
	UidgenTick	tick = uidgen_ticket_tick(&uidgen_rules, uidgen_atomic_read(&uidgen_server_words->position));

	return Max(tick, uidgen_clock_tick());
}

/* Is nothing known of this server's ids?  In a fleet, what time it is for them is known from the first grant on. */
static bool
is_ungranted(void)
{
	return uidgen_atomic_read(&uidgen_server_words->era) == 1;
}

/* Raise the error that ids of this server come to a tick only in `left` microseconds. */
static void
report_ahead(int64 after, UidgenTick tick, double left)
{
	double		ahead = (double) (tick - uidgen_clock_tick()) * uidgen_layout.unit;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("id " INT64_FORMAT " is too far ahead of the clock", after),
			 errdetail("Its time is %.0f ms ahead. This server has an id above it in %.0f ms, and a call waits no longer than %d ms for that.",
					   Max(ahead, 0) / 1000, ceil(left / 1000), uidgen_wait_timeout),
			 errhint("Is the id one of this layout? If so, correct the clock of the server that has issued it, or this one's; or raise the setting \"uidgen.wait_timeout\".")));
}

/* Wait until ids are drawn above the tick of `after`, or for a part of that time. */
static void
wait_for_next_tick(UidgenWait *wait, int64 after, UidgenTick tick)
{
	/*
	 * Of the clock's time, in microseconds; a tick may lie beyond 64 bits of
	 * them.
	 */
	double		left = (double) uidgen_layout.epoch + ((double) tick + 1) * uidgen_layout.unit - (double) uidgen_server_clock();

	if (left <= 0 || earliest_tick() > tick)
		return;
	/* It may be the first call of the process, which has not drawn yet. */
	uidgen_counts_begin();
	uidgen_wait_begin(wait, 0);
	if (left > (double) (wait->deadline - uidgen_clock_monotonic()))
		report_ahead(after, tick, left);
	if (left < 1000)
		uidgen_wait_briefly(wait, (long) left + 1, UIDGEN_WAIT_CLOCK);
	else
		uidgen_wait_sleep(wait, UIDGEN_NEVER_SERVED, (long) (left / 1000), UIDGEN_WAIT_CLOCK);
}

int64
uidgen_next_after(int64 after, uint64 tag_bits)
{
	UidgenTick	tick = (UidgenTick) uidgen_layout_get(&uidgen_layout, UIDGEN_TIME, after);
	UidgenWait	wait = {.on = &uidgen_memory->grant_demand};

	for (;;)
	{
		if (is_ungranted() || earliest_tick() >= tick)
		{
			int64		id = uidgen_next_id(tag_bits);

			if (id > after)
				return id;
			pg_atomic_fetch_add_u64(&uidgen_memory->wasted, 1);
		}
		wait_for_next_tick(&wait, after, tick);
	}
}
