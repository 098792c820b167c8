/*
 * publish.c
 *	  What the lease goes by, and what becomes of a grant: see publish.h.
 */
#include "postgres.h"

#include "keeper/publish.h"

#include "core/node.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "shared/server.h"
#include "utils/elog.h"

#ifdef USE_ASSERT_CHECKING
/* May this process write what `lock` protects? */
static inline bool
may_write(void)
{
	return pg_atomic_read_u32(&uidgen_shared->keeper_pid) == (uint32) MyProcPid &&
		LWLockHeldByMeInMode(uidgen_shared->lock, LW_EXCLUSIVE);
}
#endif

/* ---- what the lease goes by ---- */

UidgenTerms
uidgen_read_terms(bool shared)
{
	bool		chosen = uidgen_worker_id < 0;	/* by the registry */

	UidgenTerms terms = {
		.worker = uidgen_worker_id,
		.other_workers = chosen &&
			uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER) > 0,
		.disposable = uidgen_worker_policy == UIDGEN_DISPOSABLE,
		.unit = uidgen_layout.unit,
		.sequence_bits = uidgen_rules.sequence_bits,
		.last_tick = uidgen_rules.last_tick,
		.window = uidgen_window_ticks(),
		.bounds = uidgen_time_bounds(),
	};

	if (shared)
		uidgen_node_cut_terms(&uidgen_shared->node, &terms);
	terms.padding = terms.window * uidgen_padding_factor / 100;
	return terms;
}

UidgenClocks
uidgen_read_clocks(void)
{
	return (UidgenClocks) {
		.tick = uidgen_clock_tick(),
		.offset = uidgen_clock_offset(),
		.boot = uidgen_clock_boot(),
	};
}

/* ---- publishing a grant ---- */

/*
 * A shared registry may grant less than a window.  The padding is a part of what there is to
 * use, since otherwise every call would demand a renewal that changes nothing.
 */
static UidgenTerms
fit_padding(const UidgenTerms *terms, const UidgenGrant *grant, UidgenTick now,
			UidgenPosition position)
{
	UidgenTerms fitting = *terms;
	UidgenTick	used = Max(now, uidgen_ticket_tick(&uidgen_rules, position));

	if (uidgen_grant_is_shared(grant))
		fitting.padding = Min(terms->window, uidgen_tick_minus(grant->last, used)) *
			uidgen_padding_factor / 100;
	return fitting;
}

void
uidgen_publish_bounds(void)
{
	const UidgenLease *lease = &uidgen_shared->lease;
	UidgenTerms terms = uidgen_read_terms(lease->held && uidgen_grant_is_shared(&lease->grant));

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	Assert(may_write());
	uidgen_ticket_bound(&uidgen_shared->words, &uidgen_rules, &terms.bounds,
						uidgen_clock_tick());
	LWLockRelease(uidgen_shared->lock);
}

void
uidgen_publish_renewal(const UidgenGrant *grant, const UidgenTerms *terms,
					   const UidgenClocks *clocks)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTicketWords *words = &uidgen_shared->words;
	UidgenTerms fitting = fit_padding(terms, grant, uidgen_clock_tick(),
									  uidgen_atomic_read(&words->position));

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	Assert(may_write() && lease->held && grant->last >= lease->grant.last);
	uidgen_lease_hold(lease, grant, clocks->offset);
	uidgen_shared->renewals++;
	uidgen_ticket_extend(words, uidgen_lease_limit(lease, &fitting),
						 uidgen_lease_renew_at(lease, &fitting));
	LWLockRelease(uidgen_shared->lock);
	uidgen_publish_bounds();
}

/* Begin an era with the grant that is held now, above all positions of the last one. */
static void
open_era(const UidgenTerms *terms, UidgenStepKind step, UidgenMicroseconds clock_offset)
{
	const UidgenGrant *grant = &uidgen_shared->lease.grant;
	UidgenTicketWords *words = &uidgen_shared->words;
	uint64		constant =
		uidgen_layout_put(&uidgen_layout, UIDGEN_DATACENTER,
						  (uint64) uidgen_datacenter_id) |
		uidgen_layout_put(&uidgen_layout, UIDGEN_WORKER, (uint64) grant->worker);
	UidgenPosition position = uidgen_ticket_close(words);
	UidgenTicketReach reach;
	UidgenTick	now;
	UidgenTerms fitting;
	UidgenEra	era;

	Assert(may_write());
	/* Between two eras, so that no call uses the clock of one in the other. */
	uidgen_atomic_write(&words->clock_offset, (uint64) clock_offset);

	/*
	 * Read before the clock, so that what callers note meanwhile does not look
	 * like a clock that was set back.
	 */
	reach = uidgen_ticket_reach(words);
	now = uidgen_clock_tick();
	fitting = fit_padding(terms, grant, now, position);
	era = uidgen_lease_era(&uidgen_shared->lease, &fitting, step, now, &reach, position);
	uidgen_ticket_bound(words, &uidgen_rules, &terms->bounds, now);
	uidgen_ticket_open(words, era.position, era.limit, era.renew_at, constant,
					   now, era.clock_known,
					   uidgen_ticket_tick(&uidgen_rules, era.position), era.cause);
}

void
uidgen_publish_acquisition(const UidgenGrant *grant, const UidgenTerms *terms,
						   const UidgenClocks *clocks, UidgenStepKind step,
						   UidgenMicroseconds clock_offset)
{
	UidgenLease *lease = &uidgen_shared->lease;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	/* No tick of the grant was granted before. */
	Assert(grant->first > uidgen_lease_known_until(lease, grant->worker));
	uidgen_lease_hold(lease, grant, clocks->offset);
	if (uidgen_grant_is_shared(grant))
		uidgen_node_holds(&uidgen_shared->node);
	open_era(terms, step, clock_offset);
	LWLockRelease(uidgen_shared->lock);
}

UidgenPosition
uidgen_publish_end(void)
{
	Assert(may_write());
	return uidgen_ticket_close(&uidgen_shared->words);
}

void
uidgen_publish_again(void)
{
	UidgenTerms terms = uidgen_read_terms(uidgen_grant_is_shared(&uidgen_shared->lease.grant));

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	open_era(&terms, UIDGEN_STEP_NONE,
			 (UidgenMicroseconds) uidgen_atomic_read(&uidgen_shared->words.clock_offset));
	LWLockRelease(uidgen_shared->lock);
}

/* ---- messages ---- */

void
uidgen_report_acquisition(const UidgenGrant *grant, const UidgenLeaseAction *action)
{
	UidgenTick	lead = grant->first - uidgen_clock_tick();
	StringInfoData detail;

	initStringInfo(&detail);
	switch (action->step.kind)
	{
		case UIDGEN_STEP_NONE:
			break;
		case UIDGEN_STEP_BACK:
			appendStringInfo(&detail, "The clock was set back by %lld ms. ",
							 uidgen_server_ms(action->step.ticks));
			break;
		case UIDGEN_STEP_FORWARD:
			appendStringInfo(&detail, "The clock was set forward by %lld ms; worker id %d is kept for when the clock returns. ",
							 uidgen_server_ms(action->step.ticks), action->request.avoid);
			break;
	}
	appendStringInfoString(&detail, grant->reason);
	if (lead > 0)
		appendStringInfo(&detail, " Its grant begins %lld ms ahead of the clock.",
						 uidgen_server_ms(lead));
	ereport(LOG,
			(errmsg("uidgen acquired worker id %d", grant->worker),
			 errdetail_internal("%s", detail.data)));
	pfree(detail.data);
}

void
uidgen_report_loss(int worker)
{
	ereport(LOG,
			(errmsg("uidgen lost worker id %d", worker),
			 errdetail("Its row in the registry was taken or removed.")));
}
