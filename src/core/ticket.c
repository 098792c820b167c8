/*
 * ticket.c
 *	  The keeper's side of the rules in ticket.h.
 *
 * One process at a time may call these; the keeper owns its slot in shared
 * memory for that.  None can be broken off halfway by an interrupt, since none
 * looks for one; a process that is killed outright takes the shared memory with
 * it.  Should an era be left odd all the same, close() starts from there.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/ticket.h"

void
uidgen_ticket_init(UidgenTicketWords *words)
{
	/*
	 * The same state as after close().  The position starts at 1, because
	 * readers compute the one before it.
	 */
	uidgen_atomic_init(&words->position, 1);
	uidgen_atomic_init(&words->clock_high, 0);
	uidgen_atomic_init(&words->clock_base, 0);
	uidgen_atomic_init(&words->clock_before, 0);
	uidgen_atomic_init(&words->era, 1);
	uidgen_atomic_init(&words->limit, 0);
	uidgen_atomic_init(&words->renew_at, 0);
	uidgen_atomic_init(&words->constant, 0);
	uidgen_atomic_init(&words->opened, 0);
	uidgen_atomic_init(&words->opened_at, 0);
	uidgen_atomic_init(&words->opened_cause, UIDGEN_AHEAD_NOT);
	uidgen_atomic_init(&words->room, 0);
	uidgen_atomic_init(&words->ahead, 0);
	uidgen_atomic_init(&words->burst, 0);
	uidgen_atomic_init(&words->large_step, 0);
	uidgen_atomic_init(&words->clock_offset, 0);
}

UidgenPosition
uidgen_ticket_close(UidgenTicketWords *words)
{
	uidgen_atomic_write(&words->era, uidgen_atomic_read(&words->era) | 1);
	uidgen_atomic_write(&words->renew_at, 0);
	uidgen_atomic_write(&words->limit, 0);

	/*
	 * An atomic add of nothing, not a read: whoever takes a ticket that it
	 * does not show, or reads what open() writes, sees the odd era.  See
	 * ticket.h.
	 */
	return uidgen_atomic_fetch_add(&words->position, 0);
}

void
uidgen_ticket_open(UidgenTicketWords *words, UidgenPosition position,
				   UidgenPosition limit, UidgenPosition renew_at, uint64_t constant,
				   UidgenTick now, UidgenTick clock_known, UidgenTick opened,
				   UidgenAheadCause cause)
{
	uint64_t	era = uidgen_atomic_read(&words->era) + 1;

	uidgen_assert((era & 1) == 0);
	uidgen_assert(limit > 0 && renew_at <= limit);
	uidgen_atomic_write(&words->position, position);
	/* Not `now` where that is higher: it may be a leap that no grant follows. */
	uidgen_atomic_write(&words->clock_base, (uint64_t) uidgen_tick_lower(now, clock_known));
	uidgen_atomic_write(&words->clock_high, uidgen_ticket_note(era, 0));
	uidgen_atomic_write(&words->clock_before, (uint64_t) clock_known);
	uidgen_atomic_write(&words->opened, (uint64_t) (opened > now ? opened : 0));
	uidgen_atomic_write(&words->opened_at, (uint64_t) now);
	uidgen_atomic_write(&words->opened_cause, cause);
	uidgen_atomic_write(&words->constant, constant);
	uidgen_atomic_write(&words->limit, limit);
	uidgen_atomic_write(&words->renew_at, renew_at);
	/* Even after everything else: whoever sees the era sees all of its grant. */
	uidgen_write_barrier();
	uidgen_atomic_write(&words->era, era);
}

void
uidgen_ticket_extend(UidgenTicketWords *words, UidgenPosition limit,
					 UidgenPosition renew_at)
{
	uidgen_assert((uidgen_atomic_read(&words->era) & 1) == 0);
	uidgen_assert(limit >= uidgen_atomic_read(&words->limit) && renew_at <= limit);
	/* Seen in either order: see ticket.h. */
	uidgen_atomic_write(&words->limit, limit);
	uidgen_atomic_write(&words->renew_at, renew_at);
}

void
uidgen_ticket_bound(UidgenTicketWords *words, const UidgenTicketRules *rules,
					const UidgenTicketBounds *bounds, UidgenTick now)
{
	bool		in_force = (uidgen_atomic_read(&words->era) & 1) == 0;
	UidgenTicketReach before = uidgen_ticket_reach(words);
	UidgenTicketReach after = before;
	UidgenTick	allowed = uidgen_ticket_last_allowed(&before, now);
	bool		step = uidgen_ticket_step_in_era(&before, now);
	UidgenPosition limit = uidgen_atomic_read(&words->limit);
	UidgenPosition renew_at = uidgen_atomic_read(&words->renew_at);
	UidgenTick	known = uidgen_ticket_clock_known(&before);
	UidgenPosition position = 0;
	UidgenTick	reached = 0;	/* the tick that ids may have reached, before */
	UidgenTick	burst = 0;		/* this is drawn on top */
	UidgenAheadCause cause = UIDGEN_AHEAD_NOT;
	bool		worn;
	bool		reopen;

	after.ahead = bounds->ahead;
	after.burst = bounds->burst;
	after.large_step = bounds->large_step;
	after.room = uidgen_tick_plus(bounds->crash, bounds->burst);

	/*
	 * An era that needs more room than that keeps what it has, but never gets
	 * more. Also where it was closed for another grant.
	 */
	if (before.opened > uidgen_tick_plus(now, bounds->crash))
		after.room = uidgen_tick_higher(after.room, before.room);

	/* There is room for half of what clock_high can count. */
	worn = uidgen_ticket_position(rules, now) <= limit &&
		uidgen_tick_minus(now, (UidgenTick) uidgen_atomic_read(&words->clock_base)) >
		UIDGEN_TICKET_NOTED_MAX / 2;
	if (worn)
		known = uidgen_tick_higher(known, now);

	/*
	 * Less than before needs a new era, because callers go by the old bounds
	 * until they read the clock again: one of them could push the position
	 * out of reach.
	 */
	reopen = in_force && !uidgen_ticket_large_step(&before, now) &&
		(step || worn || uidgen_ticket_large_step(&after, now) ||
		 uidgen_ticket_last_allowed(&after, now) < allowed);
	if (reopen)
	{
		position = uidgen_ticket_close(words);
		cause = uidgen_ticket_cause(&before, uidgen_ticket_tick(rules, position), now);
		burst = cause == UIDGEN_AHEAD_BURST ? 0 : bounds->burst;
		reached = uidgen_tick_minus(uidgen_tick_lower(uidgen_ticket_tick(rules, position),
													  allowed), burst);
		if (step)
			reached = uidgen_tick_higher(reached,
										 uidgen_ticket_before_step(&before, now));
		/* What was out of reach before stays so. */
		after.room = uidgen_tick_higher(after.room,
										uidgen_tick_minus(uidgen_tick_lower(uidgen_tick_plus(reached, burst),
																			allowed), now));
		if (uidgen_ticket_large_step(&after, now))
			known = now;
	}
	uidgen_atomic_write(&words->ahead, (uint64_t) after.ahead);
	uidgen_atomic_write(&words->burst, (uint64_t) after.burst);
	uidgen_atomic_write(&words->large_step, (uint64_t) after.large_step);
	uidgen_atomic_write(&words->room, (uint64_t) after.room);
	if (reopen)
		uidgen_ticket_open(words, position, limit, renew_at,
						   uidgen_atomic_read(&words->constant), now,
						   known,
						   uidgen_tick_higher(reached, before.opened), cause);
}
