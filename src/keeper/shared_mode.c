/*
 * shared_mode.c
 *	  What the keeper does where the registry is a fleet's: see shared_mode.h.
 */
#include "postgres.h"

#include "keeper/shared_mode.h"

#include "core/clock.h"
#include "keeper/publish.h"
#include "keeper/shared_registry.h"
#include "shared/server.h"
#include "utils/timestamp.h"

/* How many calls one acquisition may take: the registry may have to write down that it
 * went back, and may have to be told of what was granted. */
#define CALLS_MAX 10

/* ---- the node's time ---- */

static UidgenClocks
read_clocks(void)
{
	const UidgenFleetClock *clock = &uidgen_shared->node.clock;
	UidgenClocks clocks = uidgen_read_clocks();

	/* Also while ids are still those of a local registry. */
	if (clock->known)
		clocks.tick = uidgen_server_tick(clocks.boot + clock->offset);
	return clocks;
}

/* The beginning of a tick, for messages. */
static const char *
tick_time(UidgenTick tick)
{
	if (tick > (PG_INT64_MAX / 4 - uidgen_layout.epoch) / uidgen_layout.unit)
		return "the end of time";
	return timestamptz_to_str(tick * uidgen_layout.unit + uidgen_layout.epoch -
							  (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
}

static long long
milliseconds(UidgenMicroseconds time)
{
	return (long long) (time / 1000);
}

/* Say what became of the fleet's time. */
static void
report_clock(const UidgenClockReading *reading, UidgenClockVerdict verdict,
			 UidgenMicroseconds step)
{
	static bool stays = false;	/* it was said already */

	switch (verdict)
	{
		case UIDGEN_CLOCK_AGREES:
			stays = false;
			break;
		case UIDGEN_CLOCK_FOLLOWS:
			stays = false;
			ereport(LOG,
					(errmsg("the time of the fleet was set %s by %lld ms",
							step < 0 ? "back" : "forward", milliseconds(step < 0 ? -step : step)),
					 errdetail("Ids follow the clock of the registry.")));
			break;
		case UIDGEN_CLOCK_STAYS:
			if (!stays)
				ereport(LOG,
						(errmsg("uidgen does not follow the clock of the registry, which was set forward by %lld ms",
								milliseconds(step)),
						 errdetail("The clock of this server shows another time.")));
			stays = true;
			break;
		case UIDGEN_CLOCK_TOO_FAR:
			ereport(ERROR,
					(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
					 errmsg("the clocks of this server and of the registry are more than a day apart"),
					 errdetail("The registry's clock is %lld ms %s this server's.",
							   milliseconds(step < 0 ? -step : step), step < 0 ? "behind" : "ahead of"),
					 errhint("Correct the clock that is wrong.")));
	}
}

/* ---- calls ---- */

/* By the registry's clock: until when a call that is sent now may run. */
static UidgenMicroseconds
not_after(UidgenMicroseconds boot)
{
	UidgenMicroseconds registry =
		uidgen_fleetclock_registry(&uidgen_shared->node.clock, boot);

	return registry == INT64_MAX ? UIDGEN_NOT_KNOWN :
		registry + INT64CONST(1000) * uidgen_registry_timeout;
}

/* What is said in each call that gives the row a new token. */
static void
begin_call(UidgenNodeCall *call, const UidgenNodeAction *action, const UidgenClocks *clocks)
{
	UidgenNode *node = &uidgen_shared->node;

	if (!pg_strong_random(&call->token, sizeof(call->token)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	call->at = node->clock.known ? clocks->tick : UIDGEN_NOT_KNOWN;
	call->not_after = not_after(clocks->boot);
	call->did_nothing = true;	/* before it is sent */

	/* Remembered before it is sent: the process may end before there is an answer. */
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_node_sends(node, &uidgen_shared->lease, action, call->token);
	call->ntokens = node->ntokens - 1;
	memcpy(call->tokens, node->tokens, sizeof(call->tokens));
	LWLockRelease(uidgen_shared->lock);
}

/* After an error: the call may have been made, unless it certainly was not. */
static void
end_failed_call(const UidgenNodeCall *call)
{
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	if (call->did_nothing)
		uidgen_node_refused(&uidgen_shared->node);
	/* Perhaps the registry's clock shows another time than we think. */
	if (geterrcode() == ERRCODE_QUERY_CANCELED)
		uidgen_shared->node.clock.registry_known = false;
	LWLockRelease(uidgen_shared->lock);
}

/* An answer has come, and is a whole one: take what it says of the registry. */
static void
hear(const UidgenLink *link, const UidgenNodeAnswer *answer)
{
	UidgenNode *node = &uidgen_shared->node;
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTerms terms = uidgen_read_terms(true);
	const char *host = link->host();
	UidgenClockVerdict verdict = UIDGEN_CLOCK_AGREES;
	UidgenMicroseconds step = 0;
	bool		usable;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	usable = uidgen_node_hears(node, &answer->word, &answer->reading,
							   terms.bounds.large_step * terms.unit, &verdict, &step);
	if (usable)
	{
		strlcpy(uidgen_shared->registry_host, host ? host : "",
				sizeof(uidgen_shared->registry_host));
		if (verdict == UIDGEN_CLOCK_FOLLOWS)
			uidgen_shared->clock_steps++;
		/* The era of a local grant goes on by the wall clock. */
		if (lease->held && uidgen_grant_is_shared(&lease->grant))
			uidgen_atomic_write(&uidgen_shared->words.clock_offset, (uint64) node->clock.offset);
	}
	LWLockRelease(uidgen_shared->lock);
	if (!usable)
	{
		link->reject_host();
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("the registry's answer came from a server that it has left behind"),
				 errdetail("The server is on timeline %d, and the registry was on timeline %d before.",
						   answer->word.timeline, node->timeline),
				 errhint("Shut that server down.")));
	}
	report_clock(&answer->reading, verdict, step);
}

/* The registry grants nothing that begins so late, before its clock has gone on. */
static void
report_too_far(const UidgenNodeAnswer *answer, UidgenTick first, UidgenTick window)
{
	UidgenTick	max_lead = answer->word.max_lead;
	UidgenTick	possible = first - max_lead + Min(window, max_lead / 2);
	bool		in_quarantine = first == answer->word.quarantine_until + 1;

	ereport(ERROR,
			(errcode(ERRCODE_CANNOT_CONNECT_NOW),
			 in_quarantine ?
			 errmsg("the registry is in quarantine until %s", tick_time(possible)) :
			 errmsg("the grant would reach too far ahead of the registry's clock"),
			 in_quarantine ?
			 errdetail("The registry is new, was restarted or went back, and grants that it does not know of may reach up to %s. The next one begins above that, and no grant reaches further than %lld ms ahead of the clock.",
					   tick_time(first), uidgen_server_ms(max_lead)) :
			 errdetail("It would begin at %s, and no grant reaches further than %lld ms ahead of the clock.",
					   tick_time(first), uidgen_server_ms(max_lead)),
			 in_quarantine ?
			 errhint("Wait. If nothing can be lost, because the registry is new or was restarted as planned, its owner can run SELECT uidgen.end_quarantine().") :
			 errhint("Wait. If a clock is wrong, correct it.")));
}

static UidgenAcquired
ask_for_grant(const UidgenLink *link, const UidgenNodeAction *action, UidgenGrant *grant,
			  UidgenNodeAnswer *answer)
{
	UidgenNode *node = &uidgen_shared->node;
	UidgenClocks clocks = read_clocks();
	UidgenNodeCall call;
	UidgenAcquired result;

	begin_call(&call, action, &clocks);
	PG_TRY();
	{
		result = uidgen_shared_acquire(link, &call, action, grant, answer);
	}
	PG_CATCH();
	{
		end_failed_call(&call);
		PG_RE_THROW();
	}
	PG_END_TRY();
	hear(link, answer);
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	if (result == UIDGEN_ACQUIRED)
		uidgen_node_confirmed(node);
	else
		uidgen_node_refused(node);
	LWLockRelease(uidgen_shared->lock);
	return result;
}

/*
 * Another registry granted ticks that this one may grant to others.  So it is told of those that
 * its clock has not reached, or ours: nodes that do not follow a leap of its clock begin at
 * their own time.  The era is closed first, so that what was issued counts, and not
 * what was granted.
 */
static void
bring_grants_along(const UidgenLink *link, const UidgenNodeAnswer *answer)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTick	now = Min(uidgen_server_tick(answer->reading.registry),
						  uidgen_server_tick(uidgen_clock_wall()));
	bool		held = lease->held;
	int			n = 0;
	int			workers[UIDGEN_KNOWN_GRANTS + 1];
	UidgenTick	ends[UIDGEN_KNOWN_GRANTS + 1];
	UidgenNodeCall call;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	if (held)
	{
		UidgenTick	next = uidgen_ticket_tick(&uidgen_rules, uidgen_publish_end() - 1);

		if (Min(next, lease->grant.last) >= now)
		{
			workers[n] = lease->grant.worker;
			ends[n++] = Min(next, lease->grant.last);
		}
	}
	for (int i = 0; i < lease->nknown; i++)
		if (lease->known[i].granted_until >= now &&
			!(held && lease->known[i].worker == lease->grant.worker))
		{
			workers[n] = lease->known[i].worker;
			ends[n++] = lease->known[i].granted_until;
		}
	LWLockRelease(uidgen_shared->lock);
	if (n == 0)
		return;

	call.not_after = not_after(uidgen_clock_boot());
	PG_TRY();
	{
		uidgen_shared_import(link, &call, n, workers, ends);
	}
	PG_CATCH();
	{
		if (held)
			uidgen_publish_again();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

static void
acquire(const UidgenLink *link, UidgenNodeAction action)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenNode *node = &uidgen_shared->node;
	UidgenTerms terms;
	UidgenClocks clocks;
	UidgenGrant grant;
	UidgenNodeAnswer answer;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_lease_asks(lease);
	LWLockRelease(uidgen_shared->lock);

	for (int calls = 1;; calls++)
	{
		UidgenAcquired result = ask_for_grant(link, &action, &grant, &answer);
		UidgenTick	known;

		if (result == UIDGEN_ACQUIRE_LATER)
			report_too_far(&answer, grant.first, action.lease.request.window);
		if (result == UIDGEN_ACQUIRED)
		{
			known = uidgen_lease_known_until(lease, grant.worker);
			if (grant.first > known)
				break;
			uidgen_node_teach(&action, known);
		}
		if (calls == CALLS_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry has given no grant in %d calls", calls),
					 errhint("The registry may have been restored or replaced. The next attempt asks it again.")));
	}

	if (lease->grant.registry != grant.registry)
		bring_grants_along(link, &answer);

	/* The first answer may have said by how much the bounds are to be cut. */
	terms = uidgen_read_terms(true);
	clocks = read_clocks();
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	if (action.lease.step.kind != UIDGEN_STEP_NONE)
		uidgen_shared->clock_steps++;
	/* By the time that it stays with, this node would have to wait until the grant begins. */
	if (grant.first - clocks.tick > node->max_lead)
		uidgen_fleetclock_follow(&node->clock);
	LWLockRelease(uidgen_shared->lock);
	uidgen_publish_acquisition(&grant, &terms, &clocks, action.lease.step.kind,
							   node->clock.offset);
	uidgen_report_acquisition(&grant, &action.lease);
}

/* Extend the grant in force; if its row was taken, acquire a worker id instead. */
static void
renew(const UidgenLink *link, const UidgenNodeAction *action, const UidgenTerms *terms,
	  const UidgenClocks *clocks)
{
	UidgenNode *node = &uidgen_shared->node;
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenGrant grant = lease->grant;
	UidgenTick	needed = action->lease.needed;
	UidgenNodeCall call;
	UidgenNodeAnswer answer;
	UidgenNodeAction instead;
	UidgenTerms terms_now;
	volatile bool extended = false;

	begin_call(&call, action, clocks);
	PG_TRY();
	{
		extended = uidgen_shared_renew(link, &call, &grant, needed, terms->window, &answer);
	}
	PG_CATCH();
	{
		end_failed_call(&call);
		PG_RE_THROW();
	}
	PG_END_TRY();
	hear(link, &answer);
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	/* A row of another registry is not the one that is held. */
	extended = extended && grant.registry == uidgen_node_registry(node->registry_id);
	if (extended)
		uidgen_node_confirmed(node);
	else if (call.ntokens == 1)
		uidgen_node_fenced(node);
	else						/* the row may have one of the others */
		uidgen_node_refused(node);
	LWLockRelease(uidgen_shared->lock);

	terms_now = uidgen_read_terms(true);
	if (extended)
	{
		uidgen_publish_renewal(&grant, &terms_now, clocks);
		if (grant.last < needed)
			report_too_far(&answer, needed, 0);
		return;
	}
	instead = uidgen_node_lost(node, lease, &terms_now, clocks,
							   uidgen_atomic_read(&uidgen_shared->words.position));
	acquire(link, instead);

	/*
	 * Logged after the acquisition, so that attempts that fail do not repeat
	 * it; and so that a row that it has found again is none.
	 */
	if (lease->grant.worker != grant.worker)
		uidgen_report_loss(grant.worker);
}

/* ---- what the keeper does ---- */

void
uidgen_shared_mode_serve(const UidgenLink *link)
{
	UidgenTicketWords *words = &uidgen_shared->words;
	UidgenTerms terms = uidgen_read_terms(true);
	UidgenPosition position = uidgen_atomic_read(&words->position);
	UidgenTicketReach reach = uidgen_ticket_reach(words);
	UidgenClocks clocks = read_clocks();
	UidgenNodeAction action;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_node_goes(&uidgen_shared->node, link->place());
	LWLockRelease(uidgen_shared->lock);
	action = uidgen_node_next(&uidgen_shared->node, &uidgen_shared->lease, &terms, &clocks,
							  position, uidgen_ticket_clock_known(&reach));
	switch (action.lease.call)
	{
		case UIDGEN_ACQUIRE:
			acquire(link, action);
			break;
		case UIDGEN_RENEW:
			renew(link, &action, &terms, &clocks);
			break;
		case UIDGEN_REFUSE:
			Assert(false);
			break;
	}
}

void
uidgen_shared_mode_release(const UidgenLink *link)
{
	UidgenNode *node = &uidgen_shared->node;
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTerms terms = uidgen_read_terms(true);
	UidgenNodeCall call;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	(void) uidgen_lease_end(lease, &terms, uidgen_publish_end());
	call.ntokens = node->ntokens;
	memcpy(call.tokens, node->tokens, sizeof(call.tokens));
	call.not_after = not_after(uidgen_clock_boot());
	uidgen_node_releases(node);
	LWLockRelease(uidgen_shared->lock);

	if (uidgen_grant_is_shared(&lease->grant))
		uidgen_shared_release(link, &call, lease->grant.worker);
}
