/*
 * publish.c
 *	  What the keeper holds, and how callers come to see it: see publish.h.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/publish.h"

/* ---- settings and clocks ---- */

static UidgenTick
part_of(const UidgenKeeping *keeping, UidgenTick window)
{
	return window * keeping->padding_factor / 100;
}

UidgenTerms
uidgen_keeping_terms(const UidgenKeeping *keeping, bool fleet)
{
	UidgenTerms terms = keeping->settings;

	if (fleet)
	{
		terms.window = keeping->fleet_window;
		uidgen_node_cut_terms(keeping->node, &terms);
	}
	terms.padding = part_of(keeping, terms.window);
	return terms;
}

UidgenTick
uidgen_keeping_tick(const UidgenKeeping *keeping, UidgenMicroseconds time)
{
	if (time < keeping->epoch)
		return 0;
	/* A tick beyond the last one would not fit in a position. */
	return uidgen_tick_lower((time - keeping->epoch) / keeping->settings.unit,
							 keeping->rules->last_tick);
}

UidgenClocks
uidgen_keeping_clocks(const UidgenKeeping *keeping)
{
	UidgenMicroseconds offset =
		(UidgenMicroseconds) uidgen_atomic_read(&keeping->words->clock_offset);
	UidgenTimes times = keeping->look(keeping->machine);

	return (UidgenClocks) {
		.tick = uidgen_keeping_tick(keeping, offset == 0 ? times.wall : times.boot + offset),
		.offset = times.wall - times.boot,
		.boot = times.boot,
	};
}

/* ---- publishing ---- */

/*
 * A fleet's registry may grant less than a window.  The padding is a part of what there is to
 * use, since otherwise every call would demand a renewal that changes nothing.
 */
static UidgenTerms
fit_padding(const UidgenKeeping *keeping, UidgenTick now, UidgenPosition position)
{
	const UidgenGrant *grant = &keeping->lease->grant;
	bool		fleet = uidgen_grant_is_of_fleet(grant);
	UidgenTerms terms = uidgen_keeping_terms(keeping, fleet);
	UidgenTick	used = uidgen_tick_higher(now, uidgen_ticket_tick(keeping->rules, position));

	if (fleet)
		terms.padding = part_of(keeping, uidgen_tick_lower(terms.window,
														   uidgen_tick_minus(grant->last, used)));
	return terms;
}

void
uidgen_publish_bounds(const UidgenKeeping *keeping)
{
	const UidgenLease *lease = keeping->lease;
	UidgenTerms terms = uidgen_keeping_terms(keeping, lease->held &&
											 uidgen_grant_is_of_fleet(&lease->grant));

	uidgen_ticket_bound(keeping->words, keeping->rules, &terms.bounds,
						uidgen_keeping_clocks(keeping).tick);
}

void
uidgen_publish_renewal(const UidgenKeeping *keeping, const UidgenGrant *grant,
					   UidgenMicroseconds offset)
{
	UidgenLease *lease = keeping->lease;
	UidgenTicketWords *words = keeping->words;
	UidgenTerms terms;

	uidgen_assert(lease->held && grant->last >= lease->grant.last);
	uidgen_lease_hold(lease, grant, offset);
	terms = fit_padding(keeping, uidgen_keeping_clocks(keeping).tick,
						uidgen_atomic_read(&words->position));
	uidgen_ticket_extend(words, uidgen_lease_limit(lease, &terms),
						 uidgen_lease_renew_at(lease, &terms));
	uidgen_publish_bounds(keeping);
}

/* Begin an era with the grant that is held now, above all positions of the last one. */
static void
open_era(const UidgenKeeping *keeping, UidgenStepKind step, UidgenMicroseconds clock_offset)
{
	UidgenTicketWords *words = keeping->words;
	const UidgenLease *lease = keeping->lease;
	UidgenPosition position = uidgen_ticket_close(words);
	UidgenTicketReach reach;
	UidgenClocks clocks;
	UidgenTick	now;
	UidgenTerms terms;
	UidgenEra	era;

	/* Between two eras, so that no call uses the clock of one in the other. */
	uidgen_atomic_write(&words->clock_offset, (uint64_t) clock_offset);

	/*
	 * Read before the clock, so that what callers note meanwhile does not look like a clock
	 * that was set back.
	 */
	reach = uidgen_ticket_reach(words);
	clocks = uidgen_keeping_clocks(keeping);
	now = clocks.tick;
	terms = fit_padding(keeping, now, position);
	era = uidgen_lease_era(lease, &terms, step, now, &reach, position);

	/*
	 * Nobody has noted a clock that was set back while the local registry was asked.  Its grant
	 * begins no lower than where the registry saw the clock.
	 */
	if (clock_offset == 0)
		era.clock_known =
			uidgen_tick_higher(era.clock_known,
							   uidgen_tick_lower(lease->grant.first,
												 uidgen_keeping_tick(keeping, clocks.boot + lease->clock_offset)));
	uidgen_ticket_bound(words, keeping->rules, &terms.bounds, now);
	uidgen_ticket_open(words, era.position, era.limit, era.renew_at,
					   keeping->constant(&lease->grant), now, era.clock_known,
					   uidgen_ticket_tick(keeping->rules, era.position), era.cause);
}

void
uidgen_publish_acquisition(const UidgenKeeping *keeping, const UidgenGrant *grant,
						   UidgenMicroseconds offset, UidgenStepKind step)
{
	bool		fleet = uidgen_grant_is_of_fleet(grant);

	uidgen_lease_hold(keeping->lease, grant, offset);
	if (fleet)
		uidgen_node_holds(keeping->node);
	open_era(keeping, step, fleet ? keeping->node->clock.offset : 0);
}

void
uidgen_publish_again(const UidgenKeeping *keeping)
{
	open_era(keeping, UIDGEN_STEP_NONE,
			 (UidgenMicroseconds) uidgen_atomic_read(&keeping->words->clock_offset));
}
