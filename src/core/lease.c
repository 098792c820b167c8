/*
 * lease.c
 *	  The rules of the lease on a worker id: see lease.h.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/lease.h"

/* Rows never used before that steps of the clock may take in an hour. */
#define STEP_ROWS_MAX 10
#define STEP_ROWS_PERIOD (INT64_C(3600) * 1000000)

static inline UidgenPosition
first_position(const UidgenTerms *terms, UidgenTick tick)
{
	return (UidgenPosition) tick << terms->sequence_bits;
}

static inline UidgenPosition
last_position(const UidgenTerms *terms, UidgenTick tick)
{
	return first_position(terms, tick + 1) - 1;
}

static inline UidgenTick
position_tick(const UidgenTerms *terms, UidgenPosition position)
{
	return (UidgenTick) (position >> terms->sequence_bits);
}

/* The first tick of which nothing is taken, where this is the next free position. */
static inline UidgenTick
untouched_tick(const UidgenTerms *terms, UidgenPosition position)
{
	return position_tick(terms, position + first_position(terms, 1) - 1);
}

void
uidgen_lease_init(UidgenLease *lease)
{
	*lease = (UidgenLease) {.known_others = -1};
}

/* ---- what is known to be granted ---- */

UidgenTick
uidgen_lease_known_until(const UidgenLease *lease, int worker)
{
	for (int i = 0; i < lease->nknown; i++)
		if (lease->known[i].worker == worker)
			return lease->known[i].granted_until;
	return lease->known_others;
}

static void
remember(UidgenLease *lease, int worker, UidgenTick granted_until)
{
	UidgenKnownGrant *known = lease->known;
	int			lowest = 0;
	int			i;

	for (i = 0; i < lease->nknown; i++)
	{
		if (known[i].worker == worker)
			break;
		if (known[i].granted_until < known[lowest].granted_until)
			lowest = i;
	}
	if (i == UIDGEN_KNOWN_GRANTS)
	{
		/* Full: let the lowest go, and what it said hold for all others. */
		i = lowest;
		lease->known_others = uidgen_tick_higher(lease->known_others, known[i].granted_until);
	}
	else if (i == lease->nknown)
		lease->nknown++;
	known[i] = (UidgenKnownGrant) {worker, granted_until};
}

void
uidgen_lease_recall(UidgenLease *lease, int worker, UidgenTick granted_until)
{
	if (granted_until > uidgen_lease_known_until(lease, worker))
		remember(lease, worker, granted_until);
}

/* ---- steps of the clock ---- */

UidgenClockStep
uidgen_lease_step_back(const UidgenTerms *terms, const UidgenClocks *clocks, UidgenTick clock_known)
{
	UidgenTick	ticks = clock_known - clocks->tick;

	if (ticks <= terms->bounds.large_step)
		return (UidgenClockStep) {UIDGEN_STEP_NONE, 0};
	return (UidgenClockStep) {UIDGEN_STEP_BACK, ticks};
}

/* The wall clock leapt by a large step since the last grant. */
static UidgenClockStep
leap_forward(const UidgenLease *lease, const UidgenTerms *terms,
			 const UidgenClocks *clocks)
{
	UidgenTick	ticks = (clocks->offset - lease->clock_offset) / terms->unit;
	UidgenTick	before = clocks->tick - ticks;

	/* If the grant already lay too far ahead before the leap, the clock had been slow
	 * and is correct now: a renewal poisons nothing. */
	if (ticks <= terms->bounds.large_step ||
		lease->grant.last - before > terms->bounds.crash)
		return (UidgenClockStep) {UIDGEN_STEP_NONE, 0};
	return (UidgenClockStep) {UIDGEN_STEP_FORWARD, ticks};
}

/* Is the time over in which the rows taken because of steps are counted together? */
static bool
counts_anew(const UidgenLease *lease, const UidgenClocks *clocks)
{
	return lease->step_rows == 0 ||
		clocks->boot - lease->step_rows_since >= STEP_ROWS_PERIOD;
}

void
uidgen_lease_count_step(UidgenLease *lease, const UidgenClocks *clocks, bool took_row)
{
	if (!took_row)
		return;
	if (counts_anew(lease, clocks))
	{
		lease->step_rows = 0;
		lease->step_rows_since = clocks->boot;
	}
	lease->step_rows++;
}

/* ---- the next call ---- */

/*
 * A renewal follows the registry's clock.  If the clock leaps by a large step between
 * our look at it and the call, the row must not follow: the time until then would be
 * lost to this worker id, should the clock return.
 */
static UidgenTick
at_most(const UidgenTerms *terms, const UidgenClocks *clocks)
{
	/* Our tick stays at the last one then, wherever the clock is. */
	if (clocks->tick >= terms->last_tick)
		return INT64_MAX;
	return clocks->tick + terms->bounds.large_step;
}

UidgenLeaseAction
uidgen_lease_lost(const UidgenTerms *terms, const UidgenClocks *clocks, UidgenPosition position)
{
	return (UidgenLeaseAction) {
		.call = UIDGEN_ACQUIRE,
		.request = {
			.wanted = terms->worker,
			.avoid = -1,
			.never_used = true,
			/* Ids stay in order. */
			.floor = untouched_tick(terms, position),
			.window = terms->window,
			.max_lead = terms->bounds.crash,
			.max_step = terms->bounds.large_step,
		},
		.at_most = at_most(terms, clocks),
	};
}

UidgenLeaseAction
uidgen_lease_follow(const UidgenLease *lease, const UidgenTerms *terms,
					const UidgenClocks *clocks, UidgenPosition position, UidgenClockStep step)
{
	UidgenLeaseAction action = uidgen_lease_lost(terms, clocks, position);

	action.step = step;
	action.request.never_used = counts_anew(lease, clocks) ||
		lease->step_rows < STEP_ROWS_MAX;
	if (step.kind == UIDGEN_STEP_BACK)
	{
		/* The time is to be true: neither the order of ids nor what a crash may have
		 * left counts for more. */
		action.request.floor = 0;
		action.request.max_lead = terms->bounds.large_step;
		action.request.max_step = INT64_MAX;
	}
	else
		action.request.avoid = lease->grant.worker;
	if (!terms->other_workers)
		action.call = UIDGEN_REFUSE;
	return action;
}

int
uidgen_lease_wanted(const UidgenLease *lease, const UidgenTerms *terms, bool here)
{
	if (terms->worker < 0 && terms->disposable && lease->released && here)
		return lease->grant.worker;
	return terms->worker;
}

UidgenLeaseAction
uidgen_lease_renewal(const UidgenLease *lease, const UidgenTerms *terms,
					 const UidgenClocks *clocks, UidgenPosition position)
{
	UidgenTick	needed = position_tick(terms, position) + 1;

	/* What is left of the layout is granted before it counts as used up. */
	if (lease->grant.last < terms->last_tick - 1)
		needed = uidgen_tick_lower(needed, terms->last_tick - 1);
	return (UidgenLeaseAction) {
		.call = UIDGEN_RENEW,
		.needed = needed,
		.at_most = at_most(terms, clocks),
	};
}

UidgenLeaseAction
uidgen_lease_next(const UidgenLease *lease, const UidgenTerms *terms,
				  const UidgenClocks *clocks, UidgenPosition position, UidgenTick clock_known,
				  uint64_t registry)
{
	/* Test this first, even without a grant: after a large step back the new era
	 * must not start from the old position. */
	UidgenClockStep step = uidgen_lease_step_back(terms, clocks, clock_known);
	bool		here = lease->grant.registry == registry;
	UidgenLeaseAction action;

	if (step.kind == UIDGEN_STEP_NONE && lease->held && here)
		step = leap_forward(lease, terms, clocks);
	if (step.kind != UIDGEN_STEP_NONE)
		return uidgen_lease_follow(lease, terms, clocks, position, step);
	if (lease->held && here)
		return uidgen_lease_renewal(lease, terms, clocks, position);
	action = uidgen_lease_lost(terms, clocks, position);
	action.request.wanted = uidgen_lease_wanted(lease, terms, here);
	return action;
}

/* ---- the answers ---- */

void
uidgen_lease_asks(UidgenLease *lease)
{
	lease->released = false;
}

void
uidgen_lease_hold(UidgenLease *lease, const UidgenGrant *grant, UidgenMicroseconds offset)
{
	lease->held = true;
	lease->released = false;
	lease->grant = *grant;
	lease->clock_offset = offset;
	remember(lease, grant->worker, grant->last);
}

UidgenTick
uidgen_lease_end(UidgenLease *lease, const UidgenTerms *terms, UidgenPosition position)
{
	lease->held = false;
	lease->released = true;
	return uidgen_tick_lower(untouched_tick(terms, position) - 1, lease->grant.last);
}

void
uidgen_lease_release(UidgenLease *lease, UidgenTick last_issued)
{
	remember(lease, lease->grant.worker, last_issued);
}

UidgenPosition
uidgen_lease_limit(const UidgenLease *lease, const UidgenTerms *terms)
{
	return last_position(terms, lease->grant.last);
}

UidgenPosition
uidgen_lease_renew_at(const UidgenLease *lease, const UidgenTerms *terms)
{
	UidgenTick	padding = terms->padding;

	/* The end of the layout cannot be pushed further. */
	if (lease->grant.last + 1 >= terms->last_tick)
		padding = 0;
	return last_position(terms, lease->grant.last - uidgen_tick_lower(padding, lease->grant.last));
}

/*
 * The era starts no lower than where the last one ended, so that ids stay in order.  But after a large step back of
 * the clock the true time counts for more.
 */
UidgenEra
uidgen_lease_era(const UidgenLease *lease, const UidgenTerms *terms,
				 UidgenStepKind step, UidgenTick now, const UidgenTicketReach *reach,
				 UidgenPosition position)
{
	bool		back = step == UIDGEN_STEP_BACK;
	UidgenPosition row_starts = first_position(terms, lease->grant.first);
	UidgenEra	era = {
		/* Up to the next whole tick: the old worker id may have used this one. */
		.position = first_position(terms, untouched_tick(terms, position)),
		.limit = uidgen_lease_limit(lease, terms),
		.renew_at = uidgen_lease_renew_at(lease, terms),
	};

	/* Of that position: ids that have reached the clock's tick begin with the next. */
	era.cause = uidgen_ticket_cause(reach, position_tick(terms, era.position), now);

	/*
	 * How far the clock has been is known from the last era, unless it ended because
	 * of that, and from the registry.  Without that knowledge, a further step back
	 * would only seem small.
	 */
	era.clock_known = uidgen_tick_higher(now, uidgen_tick_lower(lease->grant.seen,
									   now + terms->bounds.large_step));
	if (!back)
		era.clock_known = uidgen_tick_higher(era.clock_known, uidgen_ticket_clock_known(reach));
	/* Where the row's end decided, it is a step of the clock, or else a crash. */
	if (back || era.position < row_starts)
	{
		era.position = row_starts;
		era.cause = era.clock_known > now &&
			lease->grant.first <= era.clock_known + terms->bounds.burst ?
			UIDGEN_AHEAD_CLOCK_SET_BACK : UIDGEN_AHEAD_CRASH;
	}
	return era;
}
