/*
 * horizon.h
 *	  How far ids are final: the lock-free rules between those who draw and those who read on by id.
 *
 * Ids are drawn before the commit.  So a reader that goes on behind the largest id it has seen loses each row that is
 * committed later with a smaller id.  The horizon is the tick below which nothing can appear any more.  It is counted
 * in whole ticks, since within a tick tags, or a worker id below the sequence, put ids in another order than
 * positions.
 *
 * Who draws:
 *
 *	1.  Before the first draw of its transaction it lowers its bound, a word of its own, to the tick of the position
 *	(uidgen_horizon_hold()).  That is a full barrier.  2.  It draws.  While an era lasts, the position only grows, so
 *	nothing that it gets lies below
 *	   its bound.  When it first looks at the clock in another era, in which the position may be
 *	   lower, it lowers its bound again before it draws.
 *	3. When the transaction has ended for all, it takes its bound away.
 *
 * Who reads:
 *
 *	1. uidgen_horizon_begin() finds the tick that the position has reached, raises read_to to it, a
 *	   full barrier, and looks whether the era is the same.
 *	2. The horizon is that tick, or the least of all bounds that it reads after that.
 *
 * Why that is enough.  Of bound and reading, one comes first.  If the reader sees the bound, it
 * stays below it.  If the reader does not see the bound, it looked at the position before the
 * draw.  So the draw got that position or a higher one.  If a bound was removed
 * before the reading, its transaction had ended, so a later snapshot sees its rows.
 *
 * A tick that is not over for the position, but is for the clock, is ended by the reader: it moves
 * the position to the next tick, as a caller with that clock would.  Otherwise the ids of the last
 * tick that was drawn in would be final only once somebody draws again.
 *
 * Ids from before (uid_hold()) count as drawn in the transaction that uses them: their tick is held,
 * and they are used only if read_to is not above it, seen after the barrier.  What the
 * transaction holds already is used whatever read_to is by now.  A bound does not tell from which tick on that is
 * (H5).  So each process looks at read_to after the barrier, and notes the tick in held_from.
 *
 * read_to never passes the clock.  So what is said before a restart holds after it, because grants
 * then begin at the clock or later; unless the clock was set back meanwhile.
 *
 * test/model/horizon.pml has these rules, and what each of them is needed for.
 */
#ifndef UIDGEN_HORIZON_H
#define UIDGEN_HORIZON_H

#include "core/ticket.h"

/* A bound: 0, there is none, or one more than the tick from which on its owner draws. */
static inline uint64_t
uidgen_horizon_bound(UidgenTick tick)
{
	return (uint64_t) tick + 1;
}

/*
 * Lower a bound to this tick, if it is higher or there is none.  A full barrier follows, also where another process
 * of the transaction has lowered it.
 */
static inline void
uidgen_horizon_lower(UidgenAtomic *bound, UidgenTick tick)
{
	uint64_t	wanted = uidgen_horizon_bound(tick);
	uint64_t	present = uidgen_atomic_read(bound);

	while (present == 0 || present > wanted)
		if (uidgen_atomic_compare_exchange(bound, &present, wanted))
			return;
	(void) uidgen_atomic_fetch_add(bound, 0);
}

/*
 * Raise a word to this tick, and then a full barrier, also where another process has raised it: a
 * compare-exchange that fails is none.
 */
static inline void
uidgen_horizon_raise(UidgenAtomic *word, UidgenTick tick)
{
	uint64_t	present = uidgen_atomic_read(word);

	while (present < (uint64_t) tick &&
		   !uidgen_atomic_compare_exchange(word, &present, (uint64_t) tick))
		;
	(void) uidgen_atomic_fetch_add(word, 0);
}

/* held_from, as long as the process holds nothing; else what a bound has: one more than a tick. */
#define UIDGEN_HORIZON_HOLDS_NOTHING UINT64_MAX

/*
 * Before a draw: hold the horizon at the position's tick.  Not before the first grant, when the position
 * says nothing and would hold readers back from all there is; this comes again in the first era.
 */
static inline void
uidgen_horizon_hold(UidgenTicketWords *words, const UidgenTicketRules *rules, UidgenAtomic *bound,
					UidgenAtomic *read_to, uint64_t *held_from)
{
	UidgenTick	tick;
	uint64_t	from;

	if (uidgen_atomic_read(&words->era) == 1)
		return;
	uidgen_read_barrier();
	tick = uidgen_ticket_tick(rules, uidgen_atomic_read(&words->position));
	uidgen_horizon_lower(bound, tick);
	from = uidgen_horizon_bound(uidgen_tick_higher(tick, (UidgenTick) uidgen_atomic_read(read_to)));
	if (*held_from > from)
		*held_from = from;
}

/*
 * Hold the horizon at the tick of an id that was drawn before; false: a reader may have passed it.
 * The first look at read_to keeps what is refused from holding anything, but for a reader that comes
 * right then.
 */
static inline bool
uidgen_horizon_hold_older(UidgenAtomic *bound, UidgenAtomic *read_to, uint64_t *held_from, UidgenTick tick)
{
	uint64_t	wanted = uidgen_horizon_bound(tick);

	if (*held_from <= wanted)
		return true;
	if (uidgen_atomic_read(read_to) > (uint64_t) tick)
		return false;
	uidgen_horizon_lower(bound, tick);
	if (uidgen_atomic_read(read_to) > (uint64_t) tick)
		return false;
	if (*held_from > wanted)
		*held_from = wanted;
	return true;
}

/*
 * Begin a reading, with the clock at `now`: the tick below which nothing is drawn any more by those
 * whose bound is not found now.  What is found then lowers it.
 */
static inline UidgenTick
uidgen_horizon_begin(UidgenTicketWords *words, UidgenTicketRules *rules,
					 UidgenAtomic *read_to, UidgenTick now)
{
	for (;;)
	{
		uint64_t	era = uidgen_atomic_read(&words->era);
		UidgenPosition position;
		UidgenTick	tick;

		uidgen_read_barrier();
		position = uidgen_atomic_read(&words->position);
		tick = uidgen_ticket_tick(rules, position);
		if (era == 1)
			tick = now;			/* nothing was granted yet, and it will begin
								 * at the clock */
		else if ((era & 1) == 0 && tick < now && position > uidgen_ticket_position(rules, tick))
		{
			UidgenPosition next = uidgen_ticket_position(rules, tick + 1) |
				uidgen_ticket_start(rules, position);

			if (!uidgen_atomic_compare_exchange(&words->position, &position, next))
				continue;
			tick++;
		}
		tick = uidgen_tick_lower(tick, now);
		uidgen_horizon_raise(read_to, tick);

		/*
		 * Another era may have begun at a lower position than was read, or
		 * than was written.
		 */
		if (uidgen_atomic_read(&words->era) == era)
			return tick;
	}
}

/*
 * Has a position been lowered below what readers were told?  For a caller that holds the horizon,
 * before its first draw in an era; it draws at the position or at the clock, `now`.  *told is what
 * they were told, and *tick from where on it draws.
 */
static inline bool
uidgen_horizon_passed(UidgenTicketWords *words, const UidgenTicketRules *rules,
					  UidgenAtomic *read_to, UidgenTick now, UidgenTick *told, UidgenTick *tick)
{
	*told = (UidgenTick) uidgen_atomic_read(read_to);
	uidgen_read_barrier();
	*tick = uidgen_tick_higher(uidgen_ticket_tick(rules, uidgen_atomic_read(&words->position)), now);
	return *tick < *told;
}

#endif							/* UIDGEN_HORIZON_H */
