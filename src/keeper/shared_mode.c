/*
 * shared_mode.c
 *	  What the keeper does where the registry is a fleet's: see shared_mode.h.
 */
#include "postgres.h"

#include "keeper/shared_mode.h"

#include "core/clock.h"
#include "keeper/publish.h"
#include "keeper/shared_registry.h"
#include "link/client.h"
#include "shared/server.h"
#include "utils/timestamp.h"

/* How many calls one acquisition may take: the registry may have to write down that it
 * went back, and may have to be told of what was granted. */
#define CALLS_MAX 10

/* The registry grants this part of a window where the clamp leaves no more. */
#define ENOUGH 4

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

UidgenMicroseconds
uidgen_shared_mode_not_after(UidgenMicroseconds boot)
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
	call->not_after = uidgen_shared_mode_not_after(clocks->boot);
	call->did_nothing = true;	/* before it is sent */

	/*
	 * Remembered before it is sent: the process may end before there is an
	 * answer.
	 */
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_node_sends(node, &uidgen_shared->lease, action, call->token);
	call->ntokens = node->ntokens - 1;
	memcpy(call->tokens, node->tokens, sizeof(call->tokens));
	LWLockRelease(uidgen_shared->lock);
}

void
uidgen_shared_mode_failed(int sqlerrcode)
{
	if (sqlerrcode != ERRCODE_QUERY_CANCELED)
		return;
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->node.clock.registry_known = false;
	LWLockRelease(uidgen_shared->lock);
}

/* After an error: the call may have been made, unless it certainly was not. */
static void
end_failed_call(const UidgenNodeCall *call)
{
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	if (call->did_nothing)
		uidgen_node_refused(&uidgen_shared->node, &uidgen_shared->lease);
	uidgen_node_meets_lock(&uidgen_shared->node,
						   geterrcode() == ERRCODE_LOCK_NOT_AVAILABLE && call->did_nothing);
	LWLockRelease(uidgen_shared->lock);
	uidgen_shared_mode_failed(geterrcode());
}

/* The answer must not be used: uidgen_node_sees() has told why by changing nothing. */
static void
report_unusable(const UidgenLink *link, const UidgenRegistryLife *life)
{
	const UidgenRegistryLife *seen = &uidgen_shared->node.seen;

	link->reject_host();
	if (life->registry_id != seen->registry_id)
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("the answer came from another registry than before"),
				 errdetail("It came from registry %lld, and this server knows registry %lld there.",
						   (long long) life->registry_id, (long long) seen->registry_id),
				 errhint(UIDGEN_ONE_REGISTRY_HINT)));
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("the registry's answer came from a server that it has left behind"),
			 errdetail("The server is on timeline %d, and the registry was on timeline %d before.",
					   life->timeline, seen->timeline),
			 errhint("Shut that server down. If it is to be the registry from here on, its owner can run SELECT uidgen.take_over_registry() there.")));
}

void
uidgen_shared_mode_goes(const UidgenLink *link)
{
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_node_goes(&uidgen_shared->node, link->place());
	LWLockRelease(uidgen_shared->lock);
}

void
uidgen_shared_mode_sees(const UidgenLink *link, const UidgenRegistryLife *life)
{
	bool		usable;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	usable = uidgen_node_sees(&uidgen_shared->node, life);
	LWLockRelease(uidgen_shared->lock);
	if (!usable)
		report_unusable(link, life);
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
		report_unusable(link, &answer->word.life);
	report_clock(&answer->reading, verdict, step);
}

/* The registry grants nothing that begins so late, before its clock has gone on. */
static void
report_too_far(const UidgenNodeAnswer *answer, UidgenTick first, UidgenTick window)
{
	UidgenTick	max_lead = answer->word.max_lead;
	UidgenTick	possible = first - max_lead + Min(window, max_lead / 2) / ENOUGH;
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
		uidgen_node_refused(node, &uidgen_shared->lease);
	LWLockRelease(uidgen_shared->lock);
	return result;
}

/*
 * What has to be brought along of what other registries granted, where the clock is at `now`.
 * The era is closed first, so that what was issued counts, and not what was granted; it
 * is for the caller to begin another one.  Returns how many there are.
 */
static int
close_and_list(int worker, UidgenTick now, int *workers, UidgenTick *ends)
{
	UidgenLease *lease = &uidgen_shared->lease;
	int			n = 0;
	bool		too_many;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < lease->nknown; i++)
	{
		UidgenTick	end = lease->known[i].granted_until;

		/* Of the worker id that was acquired all that was granted lies below. */
		if (lease->known[i].worker == worker || end < now)
			continue;
		workers[n] = lease->known[i].worker;
		ends[n++] = end;
	}
	too_many = lease->known_others >= now;
	if (lease->held && !too_many)
	{
		UidgenTick	issued = uidgen_ticket_tick(&uidgen_rules, uidgen_publish_end() - 1);

		for (int i = n - 1; i >= 0; i--)
		{
			if (workers[i] != lease->grant.worker)
				continue;
			ends[i] = Min(ends[i], issued);
			if (ends[i] < now)
			{
				n--;
				workers[i] = workers[n];
				ends[i] = ends[n];
			}
		}
	}
	LWLockRelease(uidgen_shared->lock);
	if (too_many)
		ereport(ERROR,
				(errcode(ERRCODE_CANNOT_CONNECT_NOW),
				 errmsg("too many worker ids were granted ahead of the clock"),
				 errdetail("The grants of %d of them can be brought to another registry.",
						   UIDGEN_KNOWN_GRANTS),
				 errhint("Wait until the clock has passed their ends.")));
	return n;
}

/* Tell the registry of them; if that fails, ids go on as before. */
static void
import(const UidgenLink *link, int n, const int *workers, const UidgenTick *ends)
{
	const UidgenNode *node = &uidgen_shared->node;
	UidgenNodeCall call;

	call.not_after = uidgen_shared_mode_not_after(uidgen_clock_boot());
	PG_TRY();
	{
		/* A host that was left behind is no place to bring them to. */
		if (!uidgen_shared_import(link, &call, n, workers, ends, node->registry_id,
								  node->seen.timeline))
		{
			link->reject_host();
			ereport(ERROR,
					(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
					 errmsg("another server answered than the one that granted")));
		}
	}
	PG_CATCH();
	{
		if (uidgen_shared->lease.held)
			uidgen_publish_again();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * Another registry granted ticks that this one may grant to others.  So it is told of those that
 * its clock has not reached, or ours: nodes that do not follow a leap of its clock begin at
 * their own time.
 */
static void
bring_grants_along(const UidgenLink *link, int worker)
{
	const UidgenFleetClock *clock = &uidgen_shared->node.clock;
	UidgenMicroseconds registry =
		uidgen_fleetclock_registry(clock, uidgen_clock_boot()) - clock->width;
	UidgenTick	now = Min(uidgen_server_tick(registry),
						  uidgen_server_tick(uidgen_clock_wall()));
	int			workers[UIDGEN_KNOWN_GRANTS];
	UidgenTick	ends[UIDGEN_KNOWN_GRANTS];
	int			n = close_and_list(worker, now, workers, ends);

	if (n > 0)
		import(link, n, workers, ends);
}

/* A grant that was acquired, and of which nothing was issued: its tokens still tell. */
static bool
find_unused(const UidgenNodeAction *action, UidgenGrant *grant)
{
	const UidgenNode *node = &uidgen_shared->node;

	*grant = uidgen_shared->unused;
	return action->lease.step.kind == UIDGEN_STEP_NONE && node->clock.known &&
		node->ntokens == 1 && node->tokens[0] == grant->token &&
		grant->registry == uidgen_node_registry(node->registry_id) &&
		grant->last > read_clocks().tick;
}

/* Ask until there is a grant of ticks that were never granted to this server. */
static void
ask_until_granted(const UidgenLink *link, UidgenNodeAction *action, UidgenGrant *grant)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenNode *node = &uidgen_shared->node;
	bool		taught = false;

	for (int calls = 1;; calls++)
	{
		UidgenNodeAnswer answer;
		UidgenAcquired result = ask_for_grant(link, action, grant, &answer);

		if (result == UIDGEN_ACQUIRE_LATER)
		{
			/* Another row may have ticks that are nearer. */
			if (taught)
			{
				LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
				uidgen_node_fenced(node);
				LWLockRelease(uidgen_shared->lock);
			}
			report_too_far(&answer, grant->first, action->lease.request.window);
		}
		if (result == UIDGEN_ACQUIRED)
		{
			UidgenTick	known = uidgen_lease_known_until(lease, grant->worker);

			if (grant->first > known)
				return;
			uidgen_node_teach(action, known);
			taught = true;
		}
		if (calls == CALLS_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry has given no grant in %d calls", calls),
					 errhint("The registry may have been restored or replaced. The next attempt asks it again.")));
	}
}

/* By the time that it stays with, this node would have to wait until the grant begins. */
static void
follow_if_needed(const UidgenGrant *grant)
{
	UidgenNode *node = &uidgen_shared->node;
	UidgenTick	ahead = grant->first - read_clocks().tick;

	if (ahead <= node->max_lead)
		return;
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_fleetclock_follow(&node->clock);
	uidgen_shared->clock_steps++;
	LWLockRelease(uidgen_shared->lock);
	ereport(LOG,
			(errmsg("uidgen follows the clock of the registry after all"),
			 errdetail("The registry's grant begins %lld ms ahead of the time that this server had.",
					   uidgen_server_ms(ahead))));
}

static void
acquire(const UidgenLink *link, UidgenNodeAction action)
{
	UidgenLease *lease = &uidgen_shared->lease;
	UidgenTerms terms;
	UidgenClocks clocks;
	UidgenGrant grant;
	int			left = lease->grant.worker;

	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_lease_asks(lease);
	LWLockRelease(uidgen_shared->lock);

	if (!find_unused(&action, &grant))
		ask_until_granted(link, &action, &grant);
	if (lease->grant.registry != grant.registry)
	{
		/* Should that fail, the next attempt need not ask for another one. */
		LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
		uidgen_shared->unused = grant;
		LWLockRelease(uidgen_shared->lock);
		bring_grants_along(link, grant.worker);
	}
	follow_if_needed(&grant);

	/* The first answer may have said by how much the bounds are to be cut. */
	terms = uidgen_read_terms(true);
	clocks = read_clocks();
	LWLockAcquire(uidgen_shared->lock, LW_EXCLUSIVE);
	uidgen_shared->unused = (UidgenGrant) {0};
	if (action.lease.step.kind != UIDGEN_STEP_NONE)
		uidgen_shared->clock_steps++;
	LWLockRelease(uidgen_shared->lock);
	uidgen_publish_acquisition(&grant, &terms, &clocks, action.lease.step.kind,
							   uidgen_shared->node.clock.offset);
	uidgen_report_acquisition(&grant, &action.lease);
	if (action.leaves && action.lease.step.kind == UIDGEN_STEP_NONE)
		ereport(LOG,
				(errmsg("uidgen left worker id %d", left),
				 errdetail("Its row in the registry stayed locked.")));
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
	bool		here;

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
	here = grant.registry == uidgen_node_registry(node->registry_id);
	extended = extended && here;
	if (extended)
		uidgen_node_confirmed(node);
	else if (here && call.ntokens == 1)
		uidgen_node_fenced(node);
	else						/* the row may have one of the others */
		uidgen_node_refused(node, &uidgen_shared->lease);
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

	uidgen_shared_mode_goes(link);
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
	call.not_after = uidgen_shared_mode_not_after(uidgen_clock_boot());
	uidgen_node_releases(node);
	LWLockRelease(uidgen_shared->lock);

	if (uidgen_grant_is_shared(&lease->grant))
		uidgen_shared_release(link, &call, lease->grant.worker);
}
