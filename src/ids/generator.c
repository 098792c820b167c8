/*
 * generator.c
 *	  Takes positions out of the server's grant; waits, and says why it cannot.
 *
 * The rules by which a position is taken are in ticket.h; this file adds the
 * clock, the waiting and the errors.  A call that finds the gate shut tells the
 * keeper what it misses, and waits for an attempt (waiting.h).
 */
#include "postgres.h"

#include "ids/generator.h"

#include <limits.h>

#include "common/pg_prng.h"
#include "core/clock.h"
#include "ids/attach.h"
#include "ids/horizon_hold.h"
#include "ids/layout_used.h"
#include "ids/waiting.h"
#include "link/link.h"
#include "memory/counts.h"
#include "memory/memory.h"
#include "memory/server.h"
#include "memory/worker.h"
#include "miscadmin.h"

/*
 * What this process last saw of the clock, and for how long it goes by that: to the end
 * of the tick, measured by the processor's counter, since reading the clock would cost
 * more than all the rest of a call.  But no longer than LOOK_AGAIN_NS, since somebody
 * may set the clock; and never from one era into the next, which may have begun because
 * the clock was wrong.  So after a millisecond at the latest, a call sees that the clock
 * was set or a bound was changed.
 */
static struct
{
	UidgenTicketClock clock;
	uint64		era;
	uint64		counter;		/* read just before the clock was */
	uint64		good_for;		/* steps of the counter; 0: read the clock each time */
	bool		started;		/* the process has looked at the clock before */
	bool		has_counter;
}			last_look;

#define LOOK_AGAIN_NS 1000000

/* Allows for a counter that the processor reads earlier than the program says, and for a
 * clock that is read in whole microseconds. */
#define COUNTER_MARGIN_NS 2000

/*
 * Look at the clock, for a call that began in this era of these words: what it shows is noted there, and
 * kept for later calls of this process.  Also sets up what a process needs before its first id.
 */
static pg_noinline const UidgenTicketClock *
look_at_clock(UidgenTicketWords *words, uint64 era)
{
	UidgenMicroseconds now;
	UidgenTick	tick;
	int64		left;			/* nanoseconds to the tick's end */

	/* Nothing is taken through a gate that is shut. */
	if (words != uidgen_server_words)
		return &last_look.clock;
	if (!last_look.started)
	{
		uidgen_rules.random = pg_prng_uint64(&pg_global_prng_state) | 1;
		last_look.has_counter = uidgen_clock_has_counter();
		last_look.started = true;
	}
	last_look.counter = uidgen_clock_counter();
	now = uidgen_server_clock();
	tick = uidgen_server_tick(now);
	uidgen_ticket_note_clock(words, &uidgen_rules, era, tick);
	last_look.clock = uidgen_ticket_clock(words, &uidgen_rules, tick);
	if (era != last_look.era && (era & 1) == 0)
		uidgen_hold_in_era(tick);
	last_look.era = era;

	left = Min(uidgen_layout.unit - (now - uidgen_layout.epoch) % uidgen_layout.unit,
			   LOOK_AGAIN_NS / 1000) * 1000 - COUNTER_MARGIN_NS;
	last_look.good_for = last_look.has_counter && now >= uidgen_layout.epoch && left > 0 ?
		(uint64) left / UIDGEN_CLOCK_STEP_NS : 0;
	return &last_look.clock;
}

/* The clock, for a call that began in this era of these words. */
static inline const UidgenTicketClock *
read_clock(UidgenTicketWords *words, uint64 era)
{
	if (likely(uidgen_clock_counter() - last_look.counter < last_look.good_for &&
			   era == last_look.era))
		return &last_look.clock;
	return look_at_clock(words, era);
}

/* Raise the error that the wait's time is up, and the next id is still too far ahead. */
static void
report_ahead(const UidgenTicketReach *reach, UidgenTick tick, UidgenTick now)
{
	long long	lead = uidgen_server_ms(tick - now);
	long long	allowed = uidgen_server_ms(uidgen_ticket_last_allowed(reach, now) - now);

	switch (uidgen_ticket_cause(reach, tick, now))
	{
		case UIDGEN_AHEAD_CRASH:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("ids would run too far ahead of the clock"),
					 errdetail("The grant began ahead of the clock, above what was granted before a crash or a restart: the time of the next id is %lld ms ahead, and %lld ms are allowed.",
							   lead, allowed),
					 errhint("Try again when the clock has caught up, or raise the setting \"uidgen.wait_timeout\" or \"uidgen.max_ahead\". If many ids are drawn, raise \"uidgen.max_burst\".")));
			break;
		case UIDGEN_AHEAD_CLOCK_SET_BACK:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("ids would run too far ahead of the clock"),
					 errdetail("The clock was set back by %lld ms: the time of the next id is %lld ms ahead of it, and %lld ms are allowed.",
							   uidgen_server_ms(uidgen_tick_minus(uidgen_ticket_clock_known(reach), now)),
							   lead, allowed),
					 errhint("Correct the clock, or raise the setting \"uidgen.wait_timeout\" or \"uidgen.max_ahead\". If many ids are drawn, raise \"uidgen.max_burst\".")));
			break;
		case UIDGEN_AHEAD_BURST:
		case UIDGEN_AHEAD_NOT:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("ids would run too far ahead of the clock"),
					 errdetail("Ids are drawn faster than the layout has room for: the time of the next one is %lld ms ahead of the clock, and %lld ms are allowed.",
							   lead, allowed),
					 errhint("Raise the setting \"uidgen.max_burst\" or \"uidgen.wait_timeout\", or draw fewer ids at a time.")));
			break;
	}
}

/* Wait until the clock is nearer to a tick that is too far ahead of it. */
static void
wait_for_clock(UidgenWait *wait, UidgenTick tick)
{
	UidgenTicketReach reach = uidgen_ticket_reach(uidgen_server_words);
	UidgenTick	now = uidgen_clock_tick();
	UidgenTick	target = uidgen_ticket_allowed_at(&reach, tick);
	double		microseconds;

	/* If the clock was set back, the keeper has to act: by another grant, or by an era
	 * in which ids go on ahead of the clock. */
	if (uidgen_ticket_large_step(&reach, now) || uidgen_ticket_step_in_era(&reach, now))
	{
		uidgen_wait_for_grant(wait);
		return;
	}
	if (target <= now)
		return;
	if (uidgen_wait_timeout > 0)
		uidgen_wait_begin(wait, 0);
	if (uidgen_wait_timeout == 0 || uidgen_wait_expired(wait))
		report_ahead(&reach, tick, now);

	microseconds = (double) (target - now) * uidgen_layout.unit;
	if (microseconds < 1000)
	{
		uidgen_wait_briefly(wait, (long) microseconds, UIDGEN_WAIT_CLOCK);
		return;
	}
	uidgen_wait_sleep(wait, UIDGEN_NEVER_SERVED,
					  (long) Min(microseconds / 1000, (double) (LONG_MAX / 2)),
					  UIDGEN_WAIT_CLOCK);
}

static inline UidgenBlock
ticket_block(const UidgenTicket *ticket)
{
	return (UidgenBlock) {
		.first = ticket->first,
		.constant = ticket->constant,
	};
}

/*
 * What comes before the first draw of a transaction: it holds the horizon from here on.  And before the
 * first id of a process: does the layout suit its database?  If that cannot be seen for sure now
 * (layout_used.h), this id is issued all the same, and a later call looks again.
 */
static void
begin_drawing(void)
{
	static bool layout_suits = false;

	(void) uidgen_attach_to_draw();
	if (!layout_suits)
		layout_suits = uidgen_check_layout_used();
	uidgen_hold();
	uidgen_counts_begin();
	if (layout_suits)
		uidgen_words = uidgen_server_words;
}

/*
 * The rest of taking n positions, after a first try that failed, skipped positions or
 * found that the grant is to be renewed.  The ticket is passed by value, so that callers
 * can keep theirs in registers.
 */
static pg_noinline UidgenBlock
take_slowly(UidgenTicketResult result, UidgenTicket ticket, uint64 n,
			UidgenTicketKind kind)
{
	UidgenTicketWords *words;
	UidgenWait	wait = {0};

	(void) uidgen_attach_to_draw();
	words = uidgen_server_words;
	if (uidgen_words != words)
	{
		/* What the first try found was none of the server's. */
		begin_drawing();
		uidgen_ticket_begin(words, &ticket);
		result = uidgen_ticket_take(words, &uidgen_rules, &ticket,
									read_clock(words, ticket.era), n, kind);
	}
	wait.on = &uidgen_memory->grant_demand;
	while (result != UIDGEN_TICKET_GOOD)
	{
		bool		taken = false;

		switch (result)
		{
			case UIDGEN_TICKET_UNGRANTED:
				taken = true;
				uidgen_wait_for_grant(&wait);
				break;
			case UIDGEN_TICKET_EARLY:
				taken = true;
				wait_for_clock(&wait, ticket.blocked);
				break;
			case UIDGEN_TICKET_NO_GRANT:
				uidgen_wait_for_grant(&wait);
				break;
			case UIDGEN_TICKET_AHEAD:
				wait_for_clock(&wait, ticket.blocked);
				break;
			case UIDGEN_TICKET_VOID:
				CHECK_FOR_INTERRUPTS();
				break;
			case UIDGEN_TICKET_REFUSED:
				elog(ERROR, "cannot take " UINT64_FORMAT " ids at once", n);
				break;
			case UIDGEN_TICKET_GOOD:
				break;
		}
		if (taken)
			result = uidgen_ticket_settle(words, &uidgen_rules, &ticket,
										  look_at_clock(words, ticket.era));
		else
		{
			uidgen_ticket_begin(words, &ticket);
			result = uidgen_ticket_take(words, &uidgen_rules, &ticket,
										look_at_clock(words, ticket.era), n, kind);
		}
	}
	if (ticket.renew)
		uidgen_demand_in_advance(&uidgen_memory->grant_demand);
	if (ticket.skipped > 0)
		pg_atomic_fetch_add_u64(&uidgen_memory->wasted, ticket.skipped);
	uidgen_layout_drawn();
	return ticket_block(&ticket);
}

/* A function of its own, so that its caller has no block on the stack: each call would
 * pay for the stack protector's check. */
static pg_noinline int64
next_id_slowly(UidgenTicketResult result, UidgenTicket ticket, uint64 tag_bits)
{
	UidgenBlock block = take_slowly(result, ticket, 1, UIDGEN_TAKE_ROW);

	uidgen_count(&uidgen_counts->single, 1);
	return uidgen_block_id(&block, 0, tag_bits);
}

/* The first try. */
static uidgen_always_inline UidgenTicketResult
take_fast(UidgenTicket *ticket, uint64 n, UidgenTicketKind kind)
{
	uidgen_ticket_begin(uidgen_words, ticket);
	return uidgen_ticket_take(uidgen_words, &uidgen_rules, ticket,
							  read_clock(uidgen_words, ticket->era), n, kind);
}

int64
uidgen_next_id(uint64 tag_bits)
{
	UidgenTicket ticket;
	UidgenTicketResult result = take_fast(&ticket, 1, UIDGEN_TAKE_ROW);
	UidgenBlock block;

	if (unlikely(result != UIDGEN_TICKET_GOOD || ticket.renew))
		return next_id_slowly(result, ticket, tag_bits);
	uidgen_count(&uidgen_counts->single, 1);
	block = ticket_block(&ticket);
	return uidgen_block_id(&block, 0, tag_bits);
}

static uidgen_always_inline void
take(uint64 n, UidgenTicketKind kind, UidgenBlock *block)
{
	UidgenTicket ticket;
	UidgenTicketResult result = take_fast(&ticket, n, kind);

	if (unlikely(result != UIDGEN_TICKET_GOOD || ticket.renew || ticket.skipped > 0))
		*block = take_slowly(result, ticket, n, kind);
	else
		*block = ticket_block(&ticket);
}

void
uidgen_take(uint64 n, UidgenTicketKind kind, UidgenBlock *block)
{
	if (kind == UIDGEN_TAKE_ROW)
		take(n, UIDGEN_TAKE_ROW, block);
	else
		take(n, UIDGEN_TAKE_BLOCK, block);
}

bool
uidgen_has_sound_grant(void)
{
	bool		result;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	result = uidgen_memory->lease.held &&
		uidgen_memory->lease.grant.last >= uidgen_clock_tick() &&
		uidgen_memory->served_place == uidgen_link()->place() &&
		uidgen_memory->grant_demand.failure.sqlerrcode == 0;
	LWLockRelease(&uidgen_memory->lock);
	return result;
}
