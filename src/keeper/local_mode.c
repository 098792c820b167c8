/*
 * local_mode.c
 *	  What the keeper does where the registry is of this server alone: see local_mode.h.
 */
#include "postgres.h"

#include "keeper/local_mode.h"

#include "keeper/local_registry.h"
#include "keeper/publish.h"
#include "shared/server.h"

static void
acquire(const UidgenLink *link, const UidgenLeaseAction *action, const UidgenTerms *terms,
		const UidgenClocks *clocks)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenGrant grant;
	bool		took_row = false;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_lease_asks(lease);
	LWLockRelease(uidgen_shared->lock);

	for (int lessons = 0;; lessons++)
	{
		UidgenTick	known;

		uidgen_local_acquire(link, &action->request, &grant);
		took_row |= grant.never_used;
		known = uidgen_lease_known_until(lease, grant.worker);
		if (grant.first > known)
			break;

		/*
		 * The registry knows less than shared memory does.  Teach it by a
		 * renewal, and acquire again: it may now find that another worker id
		 * is nearer to the clock.
		 */
		if (lessons > UIDGEN_KNOWN_GRANTS ||
			!uidgen_local_renew(link, &grant, known, 0, action->at_most))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry grants ticks that were granted before"),
					 errdetail("The registry granted worker id %d from tick " INT64_FORMAT ", but its ticks up to " INT64_FORMAT " were granted before.",
							   grant.worker, grant.first, known),
					 errhint("The registry may have been restored or replaced. The next attempt asks it again.")));
	}
	if (action->step.kind != UIDGEN_STEP_NONE)
	{
		LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
		uidgen_shared->clock_steps++;
		uidgen_lease_count_step(lease, clocks, took_row);
		LWLockRelease(uidgen_shared->lock);
	}
	uidgen_publish_acquisition(&grant, terms, clocks, action->step.kind, 0);
	uidgen_report_acquisition(&grant, action);
}

/* Extend the grant in force; if its row was taken, acquire a worker id instead. */
static void
renew(const UidgenLink *link, const UidgenLeaseAction *action, const UidgenTerms *terms,
	  const UidgenClocks *clocks)
{
	UidgenGrant grant = uidgen_shared->lease.grant;
	int			worker = grant.worker;
	UidgenLeaseAction instead;

	if (uidgen_local_renew(link, &grant, action->needed, terms->window, action->at_most))
	{
		uidgen_publish_renewal(&grant, terms, clocks);
		return;
	}
	instead = uidgen_lease_lost(terms, clocks, uidgen_atomic_read(&uidgen_shared->words.position));
	acquire(link, &instead, terms, clocks);

	/*
	 * Logged after the acquisition, so that attempts that fail do not repeat
	 * it.
	 */
	uidgen_report_loss(worker);
}

/* Where there is no other worker id to take, a large step ends in an error. */
static void
refuse_step(const UidgenClockStep *step, const UidgenTerms *terms)
{
	bool		fixed = terms->worker >= 0;
	bool		back = step->kind == UIDGEN_STEP_BACK;
	long long	size = uidgen_server_ms(step->ticks);
	long long	large = uidgen_server_ms(terms->bounds.large_step);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 back ?
			 errmsg("the clock was set back by a large step") :
			 errmsg("the clock was set forward by a large step"),
			 fixed ?
			 errdetail("The step is %lld ms. Above %lld ms another worker id is needed, but the setting \"uidgen.worker_id\" allows for no other.",
					   size, large) :
			 errdetail("The step is %lld ms. Above %lld ms another worker id is needed, but the layout has no worker field.",
					   size, large),
			 !back ?
			 errhint("If the clock is correct now, restart the server; otherwise correct the clock.") :
			 fixed ?
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\", or set \"uidgen.worker_id\" to another worker id or to -1 and restart the server.") :
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\".")));
}

void
uidgen_local_mode_serve(const UidgenLink *link)
{
	UidgenTicketWords *words = &uidgen_shared->words;
	UidgenTerms terms = uidgen_read_terms(false);
	UidgenPosition position = uidgen_atomic_read(&words->position);
	UidgenTicketReach reach = uidgen_ticket_reach(words);
	UidgenClocks clocks = uidgen_read_clocks();
	UidgenLeaseAction action =
		uidgen_lease_next(&uidgen_shared->lease, &terms, &clocks, position,
						  uidgen_ticket_clock_known(&reach),
						  link->registry());

	switch (action.call)
	{
		case UIDGEN_ACQUIRE:
			acquire(link, &action, &terms, &clocks);
			break;
		case UIDGEN_RENEW:
			renew(link, &action, &terms, &clocks);
			break;
		case UIDGEN_REFUSE:
			refuse_step(&action.step, &terms);
			break;
	}
}

void
uidgen_local_mode_release(const UidgenLink *link)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTerms terms = uidgen_read_terms(false);
	UidgenGrant grant = lease->grant;
	UidgenTick	last_issued;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	last_issued = uidgen_lease_end(lease, &terms,
								   uidgen_publish_end());
	LWLockRelease(uidgen_shared->lock);

	/*
	 * The setting may name another registry by now, which knows nothing of
	 * this grant.
	 */
	if (grant.registry != link->registry())
		return;
	uidgen_local_release(link, &grant, last_issued);

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_lease_release(lease, last_issued);
	LWLockRelease(uidgen_shared->lock);
}

/* What the local registry has granted; nothing if there is none. */
static int
find_grants(const UidgenLink *link, int n, int64 *workers, int64 *ends)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int found = 0;

	PG_TRY();
	{
		found = uidgen_local_grants(link, n, workers, ends);
	}
	PG_CATCH();
	{
		/* The extension is not there: nothing was granted in this place. */
		if (geterrcode() != ERRCODE_UNDEFINED_OBJECT)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		link->end_failed();
		MemoryContextSwitchTo(context);
	}
	PG_END_TRY();
	return found;
}

/* One more than the lease has room for: then that stands for all others. */
#define RECALLED_GRANTS (UIDGEN_KNOWN_GRANTS + 1)

void
uidgen_local_mode_recall(const UidgenLink *link)
{
	int64		workers[RECALLED_GRANTS];
	int64		ends[RECALLED_GRANTS];
	int			found = find_grants(link, RECALLED_GRANTS, workers, ends);

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < found; i++)
		uidgen_lease_recall(&uidgen_shared->lease, (int) workers[i], ends[i]);
	uidgen_shared->local_recalled = true;
	LWLockRelease(uidgen_shared->lock);
}
