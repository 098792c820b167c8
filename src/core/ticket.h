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
 *	2.  Gate: if the next position is not granted, or its tick is too far ahead of the clock, nothing is taken and the
 *	caller waits.
 *	   Without the gate, calls that fail and come again would push the position
 *	   ever further from the clock.  How far is too far: see UidgenTicketBounds.
 *	3. Ticket: where the clock is ahead of the position, the position is moved
 *	   there by compare-exchange; otherwise fetch-add takes the next n.  What
 *	   was taken is the caller's alone, whatever happens next.
 *	4. uidgen_ticket_settle(): limit and constant are read, then the era once
 *	   more.  If the era has changed, they may belong to another grant than the
 *	   ticket: it is void and the call starts again.  Others may have come
 *	   between gate and ticket: one above the limit waits until it is granted,
 *	   one too far ahead of the clock until the clock is nearer.  A second one is
 *	   never taken while waiting.
 *
 * A caller that reads the clock notes its tick in clock_high first.  So if the clock is set back, the next caller
 * that reads it notices.
 *
 * The keeper's steps to another grant, all without interrupts:
 *
 *	1. uidgen_ticket_close(): era odd, limit 0, then the position read.
 *	2. uidgen_ticket_open(): position, opened, constant, limit, then era even.
 *
 * Why no id is issued twice.  Within one era, tickets are disjoint because
 * position only grows, by atomic steps.  Between eras, a ticket counts only if the era was the same before it was
 * taken and after the grant was read.  So it belongs to that grant.  A grant that is released is shortened to the
 * position read in close(): a ticket that close() did not see was taken after it on the same word, hence its caller
 * sees the era odd.  That last step is why close() reads the position by an atomic add of nothing: the two
 * read-modify-writes of one word are ordered, and the later one has acquired what came before the earlier one.  On
 * ARM (and in x86's store buffer) a plain read could overtake the write of the era, and both sides would miss each
 * other.
 *
 * Barriers.  Fetch-add and a compare-exchange that succeeds are full ones.  Each of
 * the others has its partner on the other side:
 *
 *	- begin(), after the era: whoever sees it even sees the clock and the bounds
 *	  of that era, or later ones.  An older clock may be the one that was wrong; with
 *	  older bounds the ticket could be too far ahead.  Partner: the one in open().
 *	- settle(), before the era: whoever sees limit or constant of another grant sees
 *	  another era.  Partner: the add in close(), which stands between the odd era and
 *	  all that open() writes.
 *	- open(), before the even era: whoever sees it sees all of its grant.  Partner:
 *	  the one in begin().
 *
 * A read barrier is needed for both pairs, since no read depends on the value of the
 * one before it; that a branch does is no order among reads.
 *
 * Nothing else needs an order.  A caller may see the limit of 0 before the odd era, or renew_at before the limit that
 * extend() wrote.  It finds no grant or holds a ticket, and looks again after it has waited.
 * test/model/barriers.pml, which leaves the gate and so renew_at out, shows both: that these are enough, and what
 * each is needed for.
 */
#ifndef UIDGEN_TICKET_H
#define UIDGEN_TICKET_H

#include "core/ahead.h"
#include "core/atomics.h"
#include "core/units.h"

#define UIDGEN_TICKET_LINE 128	/* two cache lines: neighbours are prefetched */

typedef struct UidgenTicketWords
{
	/* Written by every call. */
	UidgenAtomic position;		/* the next free one */
	/* Written by every call that reads the clock. */
	UidgenAtomic clock_high;	/* highest tick of the clock that a caller has noted in
								 * this era, counted from clock_base, with a mark of the
								 * era: see uidgen_ticket_note() */
	char		pad1[UIDGEN_TICKET_LINE - 2 * sizeof(UidgenAtomic)];

	/* Read by every call; written by the keeper alone. */
	UidgenAtomic era;			/* even: the grant below may be used */
	UidgenAtomic limit;			/* last granted position; 0: none */
	UidgenAtomic renew_at;		/* beyond it the keeper is to renew; <= limit */
	UidgenAtomic constant;		/* the bits of datacenter and worker in an id */
	/* Read by calls that read the clock; written by the keeper alone. */
	UidgenAtomic clock_base;	/* where clock_high is counted from */
	UidgenAtomic clock_before;	/* highest tick of the clock known when the era began */
	UidgenAtomic opened;		/* the tick that ids had reached when the era began,
								 * if that was ahead of the clock then; else 0 */
	UidgenAtomic opened_at;		/* the clock's tick then */
	UidgenAtomic opened_cause;	/* UidgenAheadCause: why it was ahead */
	UidgenAtomic room;			/* how far ids of such an era may be ahead of the
								 * clock: `crash` and `burst` together */
	UidgenAtomic ahead;			/* the bounds */
	UidgenAtomic burst;
	UidgenAtomic large_step;
	UidgenAtomic clock_offset;	/* for those who read the clock: see server.h */
	char		pad2[UIDGEN_TICKET_LINE - 14 * sizeof(UidgenAtomic)];
} UidgenTicketWords;

/* What a process goes by: from the layout and the settings. */
typedef struct UidgenTicketRules
{
	int			sequence_bits;
	UidgenTick	last_tick;		/* the layout's */
	uint64_t	start_mask;		/* which bits of a new tick's first sequence may
								 * be set; 0: it starts at zero */
	bool		start_random;	/* from `random`, or else where the last ended */
	uint64_t	random;			/* state of xorshift64; not 0 */
} UidgenTicketRules;

/* The clock, in positions. */
typedef struct UidgenTicketClock
{
	UidgenTick	tick;
	UidgenPosition first;		/* the tick's first position */
	UidgenPosition highest;		/* the last one that is not too far ahead of it */
} UidgenTicketClock;

typedef struct UidgenTicket
{
	uint64_t	era;			/* the era in which it was taken */
	UidgenPosition first;		/* the first position that was taken */
	uint64_t	count;			/* how many were taken */
	uint64_t	skipped;		/* positions that it passed over, to begin a tick */
	uint64_t	constant;		/* valid once the ticket is good */
	UidgenTick	blocked;		/* AHEAD, EARLY: the tick that is too far ahead */
	bool		renew;			/* the keeper should be told to renew */
} UidgenTicket;

/* What a caller wants of the n positions that it asks for. */
typedef enum UidgenTicketKind
{
	UIDGEN_TAKE_ROW,			/* all of them, one after the other */
	UIDGEN_TAKE_BLOCK			/* all of them, in one tick */
} UidgenTicketKind;

typedef enum UidgenTicketResult
{
	UIDGEN_TICKET_GOOD,			/* positions first .. first + count - 1 are yours */
	UIDGEN_TICKET_NO_GRANT,		/* nothing taken: there is no grant that far */
	UIDGEN_TICKET_AHEAD,		/* nothing taken: `blocked` is too far ahead */
	UIDGEN_TICKET_UNGRANTED,			/* taken, but not granted yet: settle again */
	UIDGEN_TICKET_EARLY,		/* taken, but too far ahead: settle again */
	UIDGEN_TICKET_VOID,			/* the era changed: begin again */
	UIDGEN_TICKET_REFUSED		/* nothing taken: n is 0, or more than a tick has */
} UidgenTicketResult;

/* The tick of a position, and the first position of a tick. */
static inline UidgenTick
uidgen_ticket_tick(const UidgenTicketRules *rules, UidgenPosition position)
{
	return (UidgenTick) (position >> rules->sequence_bits);
}

static inline UidgenPosition
uidgen_ticket_position(const UidgenTicketRules *rules, UidgenTick tick)
{
	return (UidgenPosition) tick << rules->sequence_bits;
}

/* Where the sequence starts in a new tick, after `position` in an older one. */
static inline uint64_t
uidgen_ticket_start(UidgenTicketRules *rules, UidgenPosition position)
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

/*
 * What the word clock_high holds: ticks since clock_base, and in its lowest bits which era it is.  A caller
 * may be stopped for hours, so the mark is wide: it comes again after 2^20 eras, and only the keeper begins
 * one.  That leaves 44 bits for the ticks, which is 200 days in the shortest ticks, of a microsecond.  So
 * uidgen_ticket_bound() begins another era before they are used up; a clock beyond that counts as the last.
 */
#define UIDGEN_TICKET_ERA_BITS 20
#define UIDGEN_TICKET_ERA_MASK ((UINT64_C(1) << UIDGEN_TICKET_ERA_BITS) - 1)
#define UIDGEN_TICKET_NOTED_MAX ((UidgenTick) (UINT64_MAX >> UIDGEN_TICKET_ERA_BITS))

static inline uint64_t
uidgen_ticket_note(uint64_t era, UidgenTick since_base)
{
	return (uint64_t) uidgen_tick_lower(since_base, UIDGEN_TICKET_NOTED_MAX) << UIDGEN_TICKET_ERA_BITS |
		(era >> 1 & UIDGEN_TICKET_ERA_MASK);
}

static inline UidgenTick
uidgen_ticket_clock_high(UidgenTicketWords *words)
{
	return (UidgenTick) (uidgen_atomic_read(&words->clock_base) +
						 (uidgen_atomic_read(&words->clock_high) >> UIDGEN_TICKET_ERA_BITS));
}

static inline UidgenTicketReach
uidgen_ticket_reach(UidgenTicketWords *words)
{
	return (UidgenTicketReach) {
		.clock_high = uidgen_ticket_clock_high(words),
		.clock_before = (UidgenTick) uidgen_atomic_read(&words->clock_before),
		.ahead = (UidgenTick) uidgen_atomic_read(&words->ahead),
		.burst = (UidgenTick) uidgen_atomic_read(&words->burst),
		.large_step = (UidgenTick) uidgen_atomic_read(&words->large_step),
		.opened = (UidgenTick) uidgen_atomic_read(&words->opened),
		.opened_at = (UidgenTick) uidgen_atomic_read(&words->opened_at),
		.opened_cause = (UidgenAheadCause) uidgen_atomic_read(&words->opened_cause),
		.room = (UidgenTick) uidgen_atomic_read(&words->room),
	};
}

/* The clock at `tick`, which is at most the layout's last one. */
static inline UidgenTicketClock
uidgen_ticket_clock(UidgenTicketWords *words, const UidgenTicketRules *rules,
					UidgenTick tick)
{
	UidgenTicketReach reach = uidgen_ticket_reach(words);
	UidgenTick	allowed = uidgen_ticket_last_allowed(&reach, tick);
	UidgenPosition highest;

	if (uidgen_ticket_large_step(&reach, tick))
		highest = 0;
	/* What lies beyond the layout is refused by the limit. */
	else if (allowed >= rules->last_tick)
		highest = UINT64_MAX;
	else
		highest = uidgen_ticket_position(rules, allowed + 1) - 1;
	return (UidgenTicketClock) {
		.tick = tick,
		.first = uidgen_ticket_position(rules, tick),
		.highest = highest,
	};
}

/*
 * Note that the clock has shown `now` in this era.
 *
 * A tick that is not granted does not count: nothing can have been taken from it.
 * Otherwise, if a clock leaps forward and no grant follows, correcting the clock would look like a large step back,
 * and need another worker id.
 *
 * By compare-exchange of the tick together with the mark of its era.  An era may have ended because its clock was
 * wrong, and a caller may be delayed at any point here.  It must not write the wrong clock into the next era.
 * Without the mark it could, as each begins with the same word: nothing noted since its base.  What is written
 * between the keeper's steps from one era to the next goes when clock_high is.  test/model/eras.pml has this.
 */
static inline void
uidgen_ticket_note_clock(UidgenTicketWords *words, const UidgenTicketRules *rules,
						 uint64_t era, UidgenTick now)
{
	UidgenTick	base = (UidgenTick) uidgen_atomic_read(&words->clock_base);
	uint64_t	note = uidgen_ticket_note(era, uidgen_tick_minus(now, base));
	uint64_t	high = uidgen_atomic_read(&words->clock_high);

	if (uidgen_ticket_position(rules, now) > uidgen_atomic_read(&words->limit))
		return;
	while (((high ^ note) & UIDGEN_TICKET_ERA_MASK) == 0 && high < note &&
		   !uidgen_atomic_compare_exchange(&words->clock_high, &high, note))
		;
}

/* Would n positions from this one on reach into the next tick? */
static inline bool
uidgen_ticket_spans_ticks(const UidgenTicketRules *rules, UidgenPosition position,
						  uint64_t n)
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
	ticket->skipped = 0;
	ticket->renew = false;
	uidgen_read_barrier();
}

/* Judge the positions that were taken.  GOOD, UNGRANTED, EARLY or VOID. */
static inline UidgenTicketResult
uidgen_ticket_settle(UidgenTicketWords *words, const UidgenTicketRules *rules,
					 UidgenTicket *ticket, const UidgenTicketClock *clock)
{
	UidgenPosition limit = uidgen_atomic_read(&words->limit);
	UidgenPosition last = ticket->first + ticket->count - 1;

	ticket->constant = uidgen_atomic_read(&words->constant);
	uidgen_read_barrier();
	if (uidgen_unlikely(uidgen_atomic_read(&words->era) != ticket->era))
		return UIDGEN_TICKET_VOID;
	if (uidgen_unlikely(last > limit))
		return UIDGEN_TICKET_UNGRANTED;
	if (uidgen_unlikely(last > clock->highest))
	{
		ticket->blocked = uidgen_ticket_tick(rules, last);
		return UIDGEN_TICKET_EARLY;
	}
	return UIDGEN_TICKET_GOOD;
}

/*
 * Gate and ticket: take n positions.  `kind` is a constant, so that the compiler
 * makes a function for each.  n is from 1 to the capacity of a tick, also where no
 * assertion says so: nothing taken would pass every gate.
 */
static uidgen_always_inline UidgenTicketResult
uidgen_ticket_take(UidgenTicketWords *words, UidgenTicketRules *rules,
				   UidgenTicket *ticket, const UidgenTicketClock *clock,
				   uint64_t n, UidgenTicketKind kind)
{
	uint64_t	capacity = UINT64_C(1) << rules->sequence_bits;
	UidgenPosition position;

	if (uidgen_unlikely(n != 1 && (n < 1 || n > capacity)))
		return UIDGEN_TICKET_REFUSED;
	if (uidgen_unlikely(ticket->era & 1))
		return UIDGEN_TICKET_NO_GRANT;
	position = uidgen_atomic_read(&words->position);
	for (;;)
	{
		UidgenPosition next = position;
		UidgenPosition last;

		if (uidgen_unlikely(position < clock->first))
		{
			next = clock->first | uidgen_ticket_start(rules, position);
			if (uidgen_ticket_spans_ticks(rules, next, n))
				next = clock->first;
		}
		else if (kind == UIDGEN_TAKE_BLOCK && uidgen_ticket_spans_ticks(rules, next, n))
		{
			next = uidgen_ticket_position(rules, uidgen_ticket_tick(rules, next) + 1);
			ticket->skipped = next - position;
		}
		last = next + n - 1;
		uidgen_assert(next >= position && next >= clock->first);
		uidgen_assert(kind == UIDGEN_TAKE_ROW ||
					  !uidgen_ticket_spans_ticks(rules, next, n));

		if (uidgen_unlikely(last > clock->highest))
		{
			ticket->blocked = uidgen_ticket_tick(rules, last);
			return UIDGEN_TICKET_AHEAD;
		}
		if (uidgen_unlikely(last > uidgen_atomic_read(&words->renew_at)))
		{
			ticket->renew = true;
			if (last > uidgen_atomic_read(&words->limit))
				return UIDGEN_TICKET_NO_GRANT;
		}

		ticket->count = n;
		if (uidgen_likely(next == position && kind == UIDGEN_TAKE_ROW))
		{
			ticket->first = uidgen_atomic_fetch_add(&words->position, n);
			break;
		}
		/* On failure `position` is what another caller made of it: look anew, so
		 * that no ticket of an older tick than the clock's is taken. */
		if (uidgen_atomic_compare_exchange(&words->position, &position, next + n))
		{
			ticket->first = next;
			break;
		}
		ticket->skipped = 0;
	}
	return uidgen_ticket_settle(words, rules, ticket, clock);
}

/* First use of the shared words: no era has begun, so no ticket is taken. */
extern void uidgen_ticket_init(UidgenTicketWords *words);

/*
 * End the era: from here on no ticket is good.  Returns the next free position:
 * every ticket that was or will be found good is below it.  Does no harm to an
 * era that is odd already.
 */
extern UidgenPosition uidgen_ticket_close(UidgenTicketWords *words);

/*
 * Begin a new era, after close(): positions from `position` to `limit`.  The clock is at `now`, and is known to have
 * shown at most the tick clock_known.  Ids have reached the tick `opened`, for this cause if it is ahead of the
 * clock.
 */
extern void uidgen_ticket_open(UidgenTicketWords *words, UidgenPosition position,
							   UidgenPosition limit, UidgenPosition renew_at,
							   uint64_t constant, UidgenTick now,
							   UidgenTick clock_known, UidgenTick opened,
							   UidgenAheadCause cause);

/* The grant in force now reaches to `limit`, which is not below the old one. */
extern void uidgen_ticket_extend(UidgenTicketWords *words, UidgenPosition limit,
								 UidgenPosition renew_at);

/*
 * From now on these bounds hold; the clock is at `now`.  If they allow for less than the old ones, or the clock was
 * set back, the grant is opened anew at the present position.  So no caller blocks.  The same is done if clock_high
 * has come far from its base.
 */
extern void uidgen_ticket_bound(UidgenTicketWords *words,
								const UidgenTicketRules *rules,
								const UidgenTicketBounds *bounds, UidgenTick now);

#endif							/* UIDGEN_TICKET_H */
