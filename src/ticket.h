/*
 * ticket.h
 *	  The lock-free rules by which callers take positions out of a grant.
 *
 * A position is tick << sequence_bits | sequence.  The grant that is in force
 * lies in a few shared words; callers take positions from them, the keeper
 * alone changes the grant.  Nothing here waits, reads a clock or knows a
 * server: time and grant are passed in.
 *
 * The caller's steps:
 *
 *	1. uidgen_ticket_begin() reads the era.  The clock must have been read in
 *	   that era.
 *	2. Gate: if the position that it would get is not granted, or its tick is
 *	   too far ahead of the clock, nothing is taken and the caller waits.
 *	   Without the gate, calls that fail and come again would push the position
 *	   ever further from the clock.
 *	3. Ticket: where the clock is ahead of the position, the position is moved
 *	   there by compare-exchange; otherwise fetch-add takes the next n.  What
 *	   was taken is the caller's alone, whatever happens next.
 *	4. uidgen_ticket_settle(): limit and constant are read, then the era once
 *	   more.  If the era has changed, they may belong to another grant than the
 *	   ticket: it is void and the call starts again.  Others may have come
 *	   between gate and ticket: one above the limit is held until it is granted,
 *	   one too far ahead of the clock until the clock is nearer.  A second one is
 *	   never taken while waiting.
 *
 * The keeper's steps to another grant, all without interrupts:
 *
 *	1. uidgen_ticket_close(): era odd, limit 0, then the position read.
 *	2. uidgen_ticket_open(): position, constant, limit, then era even.
 *
 * Why no id is issued twice.  Within one era, tickets are disjoint because
 * position only grows, by atomic steps.  Between eras, a ticket counts only if
 * the era was the same before it was taken and after the grant was read, so it
 * belongs to that grant.  A grant that is released is shortened to the position
 * read in close(): a ticket that close() did not see was taken after it on the
 * same word, hence its caller sees the era odd.  That last step is why
 * close() reads the position by an atomic add of nothing: the two
 * read-modify-writes of one word are ordered, and the later one has acquired
 * what came before the earlier one.  A plain read could pass the write of the
 * era on its way to memory on ARM (and in x86's store buffer), and both sides
 * would miss each other.
 *
 * Barriers: fetch-add and compare-exchange are full ones.  The caller has a
 * read barrier between era and position, and between limit/constant and era;
 * the keeper has write barriers around the odd and the even era, which pair
 * with them.
 */
#ifndef UIDGEN_TICKET_H
#define UIDGEN_TICKET_H

#include "atomics.h"

#define UIDGEN_TICKET_LINE 128	/* two cache lines: neighbours are prefetched */

typedef struct UidgenTicketWords
{
	/* Written by every call. */
	UidgenAtomic position;		/* the next free one */
	UidgenAtomic clock_high;	/* highest tick of the clock known in this era;
								 * of callers that race, it may miss some */
	char		pad1[UIDGEN_TICKET_LINE - 2 * sizeof(UidgenAtomic)];

	/* Read by every call; written by the keeper alone. */
	UidgenAtomic era;			/* even: the grant below may be used */
	UidgenAtomic limit;			/* last granted position; 0: none */
	UidgenAtomic renew_at;		/* beyond it the keeper is to renew; <= limit */
	UidgenAtomic constant;		/* the bits of datacenter and worker in an id */
	char		pad2[UIDGEN_TICKET_LINE - 4 * sizeof(UidgenAtomic)];
} UidgenTicketWords;

/* What a process goes by: from the layout and the settings. */
typedef struct UidgenTicketRules
{
	int			sequence_bits;
	uint64_t	last_tick;		/* of the layout */
	uint64_t	max_ahead;		/* ticks that ids may run ahead of the clock */
	uint64_t	start_mask;		/* which bits of a new tick's first sequence may
								 * be set; 0: it starts at zero */
	bool		start_random;	/* from `random`, or else where the last ended */
	uint64_t	random;			/* state of xorshift64; not 0 */
} UidgenTicketRules;

/* The clock, in positions. */
typedef struct UidgenTicketClock
{
	uint64_t	tick;
	uint64_t	first;			/* the tick's first position */
	uint64_t	highest;		/* the last one that is not too far ahead of it */
} UidgenTicketClock;

typedef struct UidgenTicket
{
	uint64_t	era;			/* in which it was taken */
	uint64_t	first;			/* its first position */
	uint64_t	constant;		/* valid once the ticket is good */
	uint64_t	blocked;		/* AHEAD, EARLY: the tick that is too far ahead */
	bool		renew;			/* the keeper should be told to renew */
} UidgenTicket;

typedef enum UidgenTicketResult
{
	UIDGEN_TICKET_GOOD,			/* positions first .. first + n - 1 are yours */
	UIDGEN_TICKET_NO_GRANT,		/* nothing taken: there is no grant that far */
	UIDGEN_TICKET_AHEAD,		/* nothing taken: `blocked` is too far ahead */
	UIDGEN_TICKET_HELD,			/* taken, but not granted yet: settle again */
	UIDGEN_TICKET_EARLY,		/* taken, but too far ahead: settle again */
	UIDGEN_TICKET_VOID			/* the era changed: begin again */
} UidgenTicketResult;

/* Where the sequence starts in a new tick, after `position` in an older one. */
static inline uint64_t
uidgen_ticket_start(UidgenTicketRules *rules, uint64_t position)
{
	if (uidgen_likely(rules->start_mask == 0))
		return 0;
	if (!rules->start_random)
		return position & rules->start_mask;
	/* Marsaglia, "Xorshift RNGs", 2003 */
	rules->random ^= rules->random << 13;
	rules->random ^= rules->random >> 7;
	rules->random ^= rules->random << 17;
	return rules->random & rules->start_mask;
}

/* The clock at `tick`, which is at most the layout's last one. */
static inline UidgenTicketClock
uidgen_ticket_clock(const UidgenTicketRules *rules, uint64_t tick)
{
	/* What lies beyond the layout is refused by the limit. */
	bool		to_the_end = rules->last_tick - tick <= rules->max_ahead;

	return (UidgenTicketClock) {
		.tick = tick,
		.first = tick << rules->sequence_bits,
		.highest = to_the_end ? UINT64_MAX :
			((tick + rules->max_ahead + 1) << rules->sequence_bits) - 1,
	};
}

/* Would n positions from this one on reach into the next tick? */
static inline bool
uidgen_ticket_spans_ticks(const UidgenTicketRules *rules, uint64_t position, uint64_t n)
{
	uint64_t	capacity = UINT64_C(1) << rules->sequence_bits;

	return (position & (capacity - 1)) + n > capacity;
}

/*
 * Start a call.  The clock must be read after this, or in an earlier call that
 * began in the same era: otherwise it could be used in an era that began because
 * it was wrong.
 */
static inline void
uidgen_ticket_begin(UidgenTicketWords *words, UidgenTicket *ticket)
{
	ticket->era = uidgen_atomic_read(&words->era);
	ticket->blocked = 0;
	ticket->renew = false;
	uidgen_read_barrier();
}

/* Judge the n positions that were taken.  GOOD, HELD, EARLY or VOID. */
static inline UidgenTicketResult
uidgen_ticket_settle(UidgenTicketWords *words, const UidgenTicketRules *rules,
					 UidgenTicket *ticket, const UidgenTicketClock *clock,
					 uint64_t n)
{
	uint64_t	limit = uidgen_atomic_read(&words->limit);
	uint64_t	last = ticket->first + n - 1;

	ticket->constant = uidgen_atomic_read(&words->constant);
	uidgen_read_barrier();
	if (uidgen_unlikely(uidgen_atomic_read(&words->era) != ticket->era))
		return UIDGEN_TICKET_VOID;
	if (uidgen_unlikely(last > limit))
		return UIDGEN_TICKET_HELD;
	if (uidgen_unlikely(last > clock->highest))
	{
		ticket->blocked = last >> rules->sequence_bits;
		return UIDGEN_TICKET_EARLY;
	}
	return UIDGEN_TICKET_GOOD;
}

/*
 * Note that the clock has shown `now` in this era, `high` being what was known.
 * Callers do where they move the position to the clock; while the position is
 * ahead of the clock nobody does, so the keeper notes it with each grant.
 *
 * By compare-exchange from what was read before the last look at the era: a
 * caller that is delayed after that look must not write the clock of an era that
 * ended because that clock was wrong into the next, which begins with its own.
 */
static inline void
uidgen_ticket_note_clock(UidgenTicketWords *words, uint64_t high, uint64_t now)
{
	if (now > high)
		(void) uidgen_atomic_compare_exchange(&words->clock_high, &high, now);
}

/*
 * Gate and ticket: take n positions.  With `within_tick` (a constant, so that the
 * compiler makes two functions) all n lie in one tick.  n is at most the capacity
 * of a tick, so that nothing overflows.
 */
static uidgen_always_inline UidgenTicketResult
uidgen_ticket_take(UidgenTicketWords *words, UidgenTicketRules *rules,
				   UidgenTicket *ticket, const UidgenTicketClock *clock,
				   uint64_t n, bool within_tick)
{
	uint64_t	position;
	uint64_t	high = 0;
	bool		moved = false;
	UidgenTicketResult result;

	uidgen_assert(n >= 1 && n <= UINT64_C(1) << rules->sequence_bits);
	if (uidgen_unlikely(ticket->era & 1))
		return UIDGEN_TICKET_NO_GRANT;
	position = uidgen_atomic_read(&words->position);
	for (;;)
	{
		uint64_t	next = position;
		uint64_t	last;

		if (uidgen_unlikely(position < clock->first))
		{
			next = clock->first | uidgen_ticket_start(rules, position);
			if (uidgen_ticket_spans_ticks(rules, next, n))
				next = clock->first;
		}
		else if (within_tick && uidgen_ticket_spans_ticks(rules, next, n))
			next = ((next >> rules->sequence_bits) + 1) << rules->sequence_bits;
		last = next + n - 1;
		uidgen_assert(next >= position && next >= clock->first);
		uidgen_assert(!within_tick || !uidgen_ticket_spans_ticks(rules, next, n));

		if (uidgen_unlikely(last > clock->highest))
		{
			ticket->blocked = last >> rules->sequence_bits;
			return UIDGEN_TICKET_AHEAD;
		}
		if (uidgen_unlikely(last > uidgen_atomic_read(&words->renew_at)))
		{
			ticket->renew = true;
			if (last > uidgen_atomic_read(&words->limit))
				return UIDGEN_TICKET_NO_GRANT;
		}

		if (uidgen_likely(next == position && !within_tick))
		{
			ticket->first = uidgen_atomic_fetch_add(&words->position, n);
			break;
		}
		/* On failure `position` is what another caller made of it: look anew,
		 * lest a ticket of an older tick than the clock's be taken. */
		if (uidgen_atomic_compare_exchange(&words->position, &position, next + n))
		{
			ticket->first = next;
			high = uidgen_atomic_read(&words->clock_high);
			moved = true;
			break;
		}
	}
	result = uidgen_ticket_settle(words, rules, ticket, clock, n);
	/* The position only grows within an era. */
	uidgen_assert(result == UIDGEN_TICKET_VOID || ticket->first >= position);
	if (uidgen_unlikely(moved && result != UIDGEN_TICKET_VOID))
		uidgen_ticket_note_clock(words, high, clock->tick);
	return result;
}

/* First use of the shared words: no era has begun, so no ticket is taken. */
extern void uidgen_ticket_init(UidgenTicketWords *words);

/*
 * End the era: from here on no ticket is good.  Returns the next free position:
 * every ticket that was or will be found good is below it.  Does no harm to an
 * era that is odd already.
 */
extern uint64_t uidgen_ticket_close(UidgenTicketWords *words);

/* Begin a new era, after close(): positions from `position` to `limit`; the
 * highest tick of the clock known for it is clock_high. */
extern void uidgen_ticket_open(UidgenTicketWords *words, uint64_t position,
							   uint64_t limit, uint64_t renew_at,
							   uint64_t constant, uint64_t clock_high);

/* The grant in force now reaches to `limit`, which is not below the old one. */
extern void uidgen_ticket_extend(UidgenTicketWords *words, uint64_t limit,
								 uint64_t renew_at);

#endif							/* UIDGEN_TICKET_H */
