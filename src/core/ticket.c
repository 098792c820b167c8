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
	/* As after close(); position 1, so that the one before it is no less
	 * than 0. */
	uidgen_atomic_init(&words->position, 1);
	uidgen_atomic_init(&words->clock_high, 0);
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
}

uint64_t
uidgen_ticket_close(UidgenTicketWords *words)
{
	uidgen_atomic_write(&words->era, uidgen_atomic_read(&words->era) | 1);
	uidgen_atomic_write(&words->renew_at, 0);
	uidgen_atomic_write(&words->limit, 0);
	/* An atomic add of nothing, not a read: whoever takes a ticket that it does not
	 * show, or reads what open() writes, sees the odd era.  See ticket.h. */
	return uidgen_atomic_fetch_add(&words->position, 0);
}

void
uidgen_ticket_open(UidgenTicketWords *words, uint64_t position, uint64_t limit,
				   uint64_t renew_at, uint64_t constant, uint64_t now,
				   uint64_t clock_known, uint64_t opened, UidgenAheadCause cause)
{
	uint64_t	era = uidgen_atomic_read(&words->era) + 1;

	uidgen_assert((era & 1) == 0);
	uidgen_assert(limit > 0 && renew_at <= limit);
	uidgen_atomic_write(&words->position, position);
	/* Not `now` where that is higher: it may be a leap that no grant follows. */
	uidgen_atomic_write(&words->clock_high,
						uidgen_ticket_note(era, uidgen_ticket_lower(now, clock_known)));
	uidgen_atomic_write(&words->clock_before, clock_known);
	uidgen_atomic_write(&words->opened, opened > now ? opened : 0);
	uidgen_atomic_write(&words->opened_at, now);
	uidgen_atomic_write(&words->opened_cause, cause);
	uidgen_atomic_write(&words->constant, constant);
	uidgen_atomic_write(&words->limit, limit);
	uidgen_atomic_write(&words->renew_at, renew_at);
	/* Even after everything else: whoever sees the era sees all of its grant. */
	uidgen_write_barrier();
	uidgen_atomic_write(&words->era, era);
}

void
uidgen_ticket_extend(UidgenTicketWords *words, uint64_t limit,
					 uint64_t renew_at)
{
	uidgen_assert((uidgen_atomic_read(&words->era) & 1) == 0);
	uidgen_assert(limit >= uidgen_atomic_read(&words->limit) && renew_at <= limit);
	/* Seen in either order: see ticket.h. */
	uidgen_atomic_write(&words->limit, limit);
	uidgen_atomic_write(&words->renew_at, renew_at);
}

void
uidgen_ticket_bound(UidgenTicketWords *words, const UidgenTicketRules *rules,
					const UidgenTicketBounds *bounds, uint64_t now)
{
	bool		in_force = (uidgen_atomic_read(&words->era) & 1) == 0;
	UidgenTicketReach before = uidgen_ticket_reach(words);
	UidgenTicketReach after = before;
	uint64_t	allowed = uidgen_ticket_last_allowed(&before, now);
	bool		step = uidgen_ticket_step_in_era(&before, now);
	uint64_t	limit = uidgen_atomic_read(&words->limit);
	uint64_t	renew_at = uidgen_atomic_read(&words->renew_at);
	uint64_t	known = uidgen_ticket_clock_known(&before);
	uint64_t	position = 0;
	uint64_t	reached = 0;	/* the tick that ids may have reached, before */
	uint64_t	burst = 0;		/* this is drawn on top */
	UidgenAheadCause cause = UIDGEN_AHEAD_NOT;
	bool		reopen;

	after.ahead = bounds->ahead;
	after.burst = bounds->burst;
	after.large_step = bounds->large_step;
	after.room = uidgen_ticket_plus(bounds->crash, bounds->burst);
	/* An era that needs more room than that keeps what it has, but never gets more.
	 * Also where it was closed for another grant. */
	if (before.opened > uidgen_ticket_plus(now, bounds->crash))
		after.room = uidgen_ticket_higher(after.room, before.room);

	/*
	 * Less than before needs a new era, because callers go by the old bounds until
	 * they read the clock again: one of them could push the position out of reach.
	 */
	reopen = in_force && !uidgen_ticket_large_step(&before, now) &&
		(step || uidgen_ticket_large_step(&after, now) ||
		 uidgen_ticket_last_allowed(&after, now) < allowed);
	if (reopen)
	{
		position = uidgen_ticket_close(words);
		cause = uidgen_ticket_cause(&before, position >> rules->sequence_bits, now);
		burst = cause == UIDGEN_AHEAD_BURST ? 0 : bounds->burst;
		reached = uidgen_ticket_minus(uidgen_ticket_lower(position >> rules->sequence_bits,
														  allowed), burst);
		if (step)
			reached = uidgen_ticket_higher(reached,
										   uidgen_ticket_before_step(&before, now));
		/* What was out of reach before stays so. */
		after.room = uidgen_ticket_higher(after.room,
										  uidgen_ticket_minus(uidgen_ticket_lower(uidgen_ticket_plus(reached, burst),
																				  allowed), now));
		if (uidgen_ticket_large_step(&after, now))
			known = now;
	}
	uidgen_atomic_write(&words->ahead, after.ahead);
	uidgen_atomic_write(&words->burst, after.burst);
	uidgen_atomic_write(&words->large_step, after.large_step);
	uidgen_atomic_write(&words->room, after.room);
	if (reopen)
		uidgen_ticket_open(words, position, limit, renew_at,
						   uidgen_atomic_read(&words->constant), now,
						   known,
						   uidgen_ticket_higher(reached, before.opened), cause);
}
