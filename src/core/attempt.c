/*
 * attempt.c
 *	  One attempt of the keeper to get what callers ask for: see attempt.h.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/attempt.h"

#include <string.h>

/* ---- clocks ---- */

UidgenClocks
uidgen_keeping_fleet_clocks(const UidgenKeeping *keeping)
{
	const UidgenFleetClock *clock = &keeping->node->clock;
	UidgenClocks clocks = uidgen_keeping_clocks(keeping);

	if (clock->known)
		clocks.tick = uidgen_keeping_tick(keeping, clocks.boot + clock->offset);
	return clocks;
}

UidgenMicroseconds
uidgen_keeping_not_after(const UidgenKeeping *keeping)
{
	UidgenMicroseconds boot = keeping->look(keeping->machine).boot;
	UidgenMicroseconds registry = uidgen_fleetclock_registry(&keeping->node->clock, boot);

	return registry == INT64_MAX ? UIDGEN_NOT_KNOWN : registry + keeping->timeout;
}

/* The next free position. */
static UidgenPosition
position_now(const UidgenKeeping *keeping)
{
	return uidgen_atomic_read(&keeping->words->position);
}

/* ---- the next call ---- */

static void
begin_call(UidgenAttempt *attempt, UidgenCallKind kind)
{
	attempt->state = UIDGEN_ATTEMPT_CALLS;
	attempt->call = (UidgenCall) {.kind = kind};
}

/*
 * A call gives the row of a node a new token.  It is remembered before it is sent, since the
 * process may end before there is an answer.
 */
static void
propose_token(const UidgenKeeping *keeping, UidgenAttempt *attempt, int64_t token)
{
	UidgenNode *node = keeping->node;
	UidgenCall *call = &attempt->call;

	uidgen_node_sends(node, keeping->lease, &attempt->action, token);
	call->token = token;
	call->at = node->clock.known ? uidgen_keeping_fleet_clocks(keeping).tick : UIDGEN_NOT_KNOWN;
	call->not_after = uidgen_keeping_not_after(keeping);
	call->ntokens = node->ntokens - 1;
	memcpy(call->tokens, node->tokens, sizeof(call->tokens));
}

static void
ask_for_grant(const UidgenKeeping *keeping, UidgenAttempt *attempt, int64_t token)
{
	const UidgenNodeAction *action = &attempt->action;

	begin_call(attempt, UIDGEN_CALL_ACQUIRE);
	attempt->call.request = action->lease.request;
	attempt->call.claimed_worker = action->claimed_worker;
	attempt->call.claimed_until = action->claimed_worker < 0 ? -1 : action->claimed_until;
	attempt->calls++;
	if (attempt->fleet)
		propose_token(keeping, attempt, token);
}

static void
ask_to_renew(UidgenAttempt *attempt, const UidgenGrant *grant, UidgenTick needed,
			 UidgenTick window)
{
	begin_call(attempt, UIDGEN_CALL_RENEW);
	attempt->call.worker = grant->worker;
	attempt->call.old_token = grant->token;
	attempt->call.until = grant->last;
	attempt->call.needed = needed;
	attempt->call.window = window;
	attempt->call.at_most = attempt->action.lease.at_most;
}

/* ---- the grant that was acquired ---- */

/*
 * The fleet's clock leapt forward, and this node did not follow (fleetclock.h).  But by the time
 * that it stays with, it would have to wait until its grant begins.
 */
static void
follow_if_needed(const UidgenKeeping *keeping, UidgenAttempt *attempt)
{
	UidgenNode *node = keeping->node;
	UidgenTick	ahead = attempt->grant.first - uidgen_keeping_fleet_clocks(keeping).tick;

	if (ahead <= node->max_lead)
		return;
	uidgen_fleetclock_follow(&node->clock);
	attempt->caught_up = ahead;
}

/* Issue ids by it. */
static void
use_grant(const UidgenKeeping *keeping, UidgenAttempt *attempt)
{
	UidgenStepKind step = attempt->action.lease.step.kind;

	if (attempt->fleet)
	{
		follow_if_needed(keeping, attempt);
		*keeping->unused = (UidgenGrant) {0};
	}
	else if (step != UIDGEN_STEP_NONE)
		uidgen_lease_count_step(keeping->lease, &attempt->clocks, attempt->took_row);
	uidgen_publish_acquisition(keeping, &attempt->grant, attempt->clocks.offset, step);
	attempt->acquired = true;
	attempt->state = UIDGEN_ATTEMPT_DONE;
}

/*
 * List the grants of other registries that this registry has to know, if the clock is at `now`.  Closes the era, so
 * that the list has what was issued, not what was granted.  False if there are too many grants; then nothing is
 * changed.
 */
static bool
close_and_list(const UidgenKeeping *keeping, UidgenCall *call, int worker, UidgenTick now)
{
	const UidgenLease *lease = keeping->lease;
	UidgenTick	issued = 0;

	if (lease->known_others >= now)
		return false;
	if (lease->held)
		issued = uidgen_ticket_tick(keeping->rules, uidgen_ticket_close(keeping->words) - 1);
	for (int i = 0; i < lease->nknown; i++)
	{
		UidgenTick	end = lease->known[i].granted_until;

		if (lease->held && lease->known[i].worker == lease->grant.worker)
			end = uidgen_tick_lower(end, issued);
		/* Of the worker id that was acquired all that was granted lies below. */
		if (lease->known[i].worker == worker || end < now)
			continue;
		call->workers[call->nends] = lease->known[i].worker;
		call->ends[call->nends++] = end;
	}
	return true;
}

/*
 * Another registry granted ticks that this one may grant to others.  So it is told of those that
 * its clock has not reached, or ours: nodes that do not follow a leap of its clock begin at
 * their own time.
 */
static void
bring_ends_along(const UidgenKeeping *keeping, UidgenAttempt *attempt)
{
	const UidgenNode *node = keeping->node;
	UidgenTimes times = keeping->look(keeping->machine);
	UidgenMicroseconds registry =
		uidgen_fleetclock_registry(&node->clock, times.boot) - node->clock.width;
	UidgenTick	now = uidgen_tick_lower(uidgen_keeping_tick(keeping, registry),
										uidgen_keeping_tick(keeping, times.wall));
	UidgenCall *call = &attempt->call;

	begin_call(attempt, UIDGEN_CALL_IMPORT);
	call->not_after = uidgen_keeping_not_after(keeping);
	call->registry_id = node->registry_id;
	call->timeline = node->seen.timeline;
	if (!close_and_list(keeping, call, attempt->grant.worker, now))
		attempt->state = UIDGEN_ATTEMPT_MANY_ENDS;
	else if (call->nends == 0)
		use_grant(keeping, attempt);
}

/* A grant has come that nobody had before. */
static void
take_grant(const UidgenKeeping *keeping, UidgenAttempt *attempt)
{
	uidgen_assert(attempt->grant.first >
				  uidgen_lease_known_until(keeping->lease, attempt->grant.worker));
	if (attempt->fleet && keeping->lease->grant.registry != attempt->grant.registry)
	{
		/* Should that fail, the next attempt need not ask for another one. */
		*keeping->unused = attempt->grant;
		bring_ends_along(keeping, attempt);
	}
	else
		use_grant(keeping, attempt);
}

/* ---- the beginning ---- */

/* A grant that was acquired, and of which nothing was issued: its tokens still tell. */
static bool
find_unused(const UidgenKeeping *keeping, UidgenAttempt *attempt)
{
	const UidgenNode *node = keeping->node;
	const UidgenGrant *unused = keeping->unused;

	attempt->grant = *unused;
	return attempt->fleet && attempt->action.lease.step.kind == UIDGEN_STEP_NONE &&
		node->clock.known && node->ntokens == 1 && node->tokens[0] == unused->token &&
		unused->registry == uidgen_node_registry(node->registry_id) &&
		unused->last > uidgen_keeping_fleet_clocks(keeping).tick;
}

/* By what was decided on. */
static void
acquire(const UidgenKeeping *keeping, UidgenAttempt *attempt, int64_t token)
{
	uidgen_lease_asks(keeping->lease);
	if (find_unused(keeping, attempt))
		take_grant(keeping, attempt);
	else
		ask_for_grant(keeping, attempt, token);
}

static void
decide(const UidgenKeeping *keeping, UidgenAttempt *attempt, const UidgenTerms *terms)
{
	UidgenPosition position = position_now(keeping);
	UidgenTicketReach reach = uidgen_ticket_reach(keeping->words);
	UidgenTick	clock_known = uidgen_ticket_clock_known(&reach);

	/* After the words: see UidgenClocks. */
	if (attempt->fleet)
	{
		attempt->clocks = uidgen_keeping_fleet_clocks(keeping);
		attempt->action = uidgen_node_next(keeping->node, keeping->lease, terms,
										   &attempt->clocks, position, clock_known);
	}
	else
	{
		attempt->clocks = uidgen_keeping_clocks(keeping);
		attempt->action = (UidgenNodeAction) {
			.lease = uidgen_lease_next(keeping->lease, terms, &attempt->clocks, position,
									   clock_known, attempt->registry),
			.claimed_worker = -1,
		};
	}
}

void
uidgen_attempt_begin(const UidgenKeeping *keeping, UidgenAttempt *attempt, bool fleet,
					 uint64_t registry, int64_t token)
{
	const UidgenLease *lease = keeping->lease;
	UidgenTerms terms = uidgen_keeping_terms(keeping, fleet);

	*attempt = (UidgenAttempt) {
		.fleet = fleet,
		.registry = registry,
		.lost_worker = -1,
		.held_worker = lease->grant.worker,
		.held = lease->held,
		.held_registry = lease->grant.registry,
	};
	decide(keeping, attempt, &terms);
	switch (attempt->action.lease.call)
	{
		case UIDGEN_ACQUIRE:
			acquire(keeping, attempt, token);
			break;
		case UIDGEN_RENEW:
			ask_to_renew(attempt, &lease->grant, attempt->action.lease.needed, terms.window);
			if (fleet)
				propose_token(keeping, attempt, token);
			break;
		case UIDGEN_REFUSE:
			attempt->state = UIDGEN_ATTEMPT_LARGE_STEP;
			break;
	}
}

void
uidgen_attempt_release(const UidgenKeeping *keeping, UidgenAttempt *attempt, bool fleet,
					   uint64_t registry)
{
	UidgenNode *node = keeping->node;
	UidgenLease *lease = keeping->lease;
	UidgenTerms terms = uidgen_keeping_terms(keeping, fleet);
	UidgenCall *call = &attempt->call;

	*attempt = (UidgenAttempt) {.fleet = fleet, .registry = registry, .lost_worker = -1};
	begin_call(attempt, UIDGEN_CALL_RELEASE);
	call->worker = lease->grant.worker;
	call->old_token = lease->grant.token;
	call->last_issued = uidgen_lease_end(lease, &terms, uidgen_ticket_close(keeping->words));
	if (fleet)
	{
		call->not_after = uidgen_keeping_not_after(keeping);
		call->ntokens = node->ntokens;
		memcpy(call->tokens, node->tokens, sizeof(call->tokens));
		uidgen_node_releases(node);
	}

	/* The settings may lead to another registry by now, which knows nothing of this grant. */
	if (fleet ? !uidgen_grant_is_of_fleet(&lease->grant) : lease->grant.registry != registry)
		attempt->state = UIDGEN_ATTEMPT_DONE;
}

/* ---- replies ---- */

/* Acquire after all: the row was taken. */
static void
acquire_instead(const UidgenKeeping *keeping, UidgenAttempt *attempt, int64_t token)
{
	UidgenTerms terms = uidgen_keeping_terms(keeping, attempt->fleet);
	UidgenPosition position = position_now(keeping);

	attempt->lost_worker = keeping->lease->grant.worker;
	if (attempt->fleet)
		attempt->action = uidgen_node_lost(keeping->node, keeping->lease, &terms,
										   &attempt->clocks, position);
	else
		attempt->action.lease = uidgen_lease_lost(&terms, &attempt->clocks, position);
	acquire(keeping, attempt, token);
}

/* What the reply says of the registry.  False: it must not be used. */
static bool
hear_registry(const UidgenKeeping *keeping, UidgenAttempt *attempt, const UidgenNodeReply *reply)
{
	UidgenNode *node = keeping->node;
	UidgenLease *lease = keeping->lease;
	UidgenTerms terms = uidgen_keeping_terms(keeping, true);

	if (!uidgen_node_hears(node, &reply->word, &reply->reading,
						   terms.bounds.large_step * terms.unit, &attempt->verdict,
						   &attempt->clock_step))
	{
		attempt->state = UIDGEN_ATTEMPT_UNUSABLE;
		return false;
	}
	attempt->heard = true;
	/* The era of a local grant goes on by the wall clock. */
	if (lease->held && uidgen_grant_is_of_fleet(&lease->grant))
		uidgen_atomic_write(&keeping->words->clock_offset, (uint64_t) node->clock.offset);
	if (attempt->verdict == UIDGEN_CLOCK_TOO_FAR)
		attempt->state = UIDGEN_ATTEMPT_CLOCKS;
	return attempt->verdict != UIDGEN_CLOCK_TOO_FAR;
}

static void
hear_acquired_of_fleet(const UidgenKeeping *keeping, UidgenAttempt *attempt,
					   const UidgenReply *reply, int64_t token)
{
	UidgenNode *node = keeping->node;

	if (reply->done)
		uidgen_node_confirmed(node);
	else
		uidgen_node_refused(node, keeping->lease);
	if (reply->later)
	{
		/* Another row may have ticks that are nearer. */
		if (attempt->taught)
			uidgen_node_fenced(node);
		attempt->beyond = reply->grant.first;
		attempt->state = UIDGEN_ATTEMPT_TOO_FAR;
		return;
	}
	if (reply->done)
	{
		UidgenTick	known = uidgen_lease_known_until(keeping->lease, reply->grant.worker);

		attempt->grant = reply->grant;
		if (reply->grant.first > known)
		{
			take_grant(keeping, attempt);
			return;
		}
		attempt->taught = true;
		uidgen_node_teach(&attempt->action, known);
	}
	if (attempt->calls == UIDGEN_ATTEMPT_CALLS_MAX)
		attempt->state = UIDGEN_ATTEMPT_UNGRANTED;
	else
		ask_for_grant(keeping, attempt, token);
}

/*
 * A local registry that knows less than shared memory does is taught by a renewal.  Then it is
 * asked again: it may now find that another worker id is nearer to the clock.
 */
static void
hear_acquired_of_local(const UidgenKeeping *keeping, UidgenAttempt *attempt,
					   const UidgenReply *reply)
{
	UidgenTick	known = uidgen_lease_known_until(keeping->lease, reply->grant.worker);

	attempt->grant = reply->grant;
	attempt->took_row |= reply->grant.never_used;
	if (reply->grant.first > known)
	{
		take_grant(keeping, attempt);
		return;
	}
	attempt->known = known;
	attempt->taught = true;
	if (attempt->calls > UIDGEN_KNOWN_GRANTS + 1)
		attempt->state = UIDGEN_ATTEMPT_UNTAUGHT;
	else
		ask_to_renew(attempt, &reply->grant, known, 0);
}

static void
hear_renewed_of_fleet(const UidgenKeeping *keeping, UidgenAttempt *attempt,
					  const UidgenReply *reply, int64_t token)
{
	UidgenNode *node = keeping->node;
	UidgenGrant grant = keeping->lease->grant;

	/* A row of another registry is not the one that is held. */
	bool		here = grant.registry == uidgen_node_registry(node->registry_id);

	if (reply->done && here)
	{
		uidgen_node_confirmed(node);
		grant.token = reply->grant.token;
		grant.last = reply->grant.last;
		uidgen_publish_renewal(keeping, &grant, attempt->clocks.offset);
		attempt->renewed = true;
		attempt->beyond = attempt->call.needed;
		attempt->state = grant.last < attempt->call.needed ?
			UIDGEN_ATTEMPT_TOO_FAR : UIDGEN_ATTEMPT_DONE;
		return;
	}
	if (here && attempt->call.ntokens == 1)
		uidgen_node_fenced(node);
	else						/* the row may have one of the others */
		uidgen_node_refused(node, keeping->lease);
	acquire_instead(keeping, attempt, token);
}

static void
hear_renewed_of_local(const UidgenKeeping *keeping, UidgenAttempt *attempt,
					  const UidgenReply *reply)
{
	bool		teaches = attempt->calls > 0;
	UidgenGrant grant = keeping->lease->grant;

	if (teaches)
	{
		if (reply->done)
			ask_for_grant(keeping, attempt, 0);
		else
			attempt->state = UIDGEN_ATTEMPT_UNTAUGHT;
	}
	else if (reply->done)
	{
		grant.token = reply->grant.token;
		grant.last = reply->grant.last;
		uidgen_publish_renewal(keeping, &grant, attempt->clocks.offset);
		attempt->renewed = true;
		attempt->state = UIDGEN_ATTEMPT_DONE;
	}
	else
		acquire_instead(keeping, attempt, 0);
}

/* Ids go on by the grant that was in force before. */
static void
go_on_as_before(const UidgenKeeping *keeping)
{
	if (keeping->lease->held)
		uidgen_publish_again(keeping);
}

void
uidgen_attempt_hear(const UidgenKeeping *keeping, UidgenAttempt *attempt,
					const UidgenReply *reply, int64_t token)
{
	bool		fleet = attempt->fleet;

	uidgen_assert(attempt->state == UIDGEN_ATTEMPT_CALLS);
	attempt->heard = false;
	switch (attempt->call.kind)
	{
		case UIDGEN_CALL_ACQUIRE:
			if (!fleet)
				hear_acquired_of_local(keeping, attempt, reply);
			else if (hear_registry(keeping, attempt, &reply->node))
				hear_acquired_of_fleet(keeping, attempt, reply, token);
			break;
		case UIDGEN_CALL_RENEW:
			if (!fleet)
				hear_renewed_of_local(keeping, attempt, reply);
			else if (hear_registry(keeping, attempt, &reply->node))
				hear_renewed_of_fleet(keeping, attempt, reply, token);
			break;
		case UIDGEN_CALL_IMPORT:
			if (reply->done)
				use_grant(keeping, attempt);
			else
			{
				go_on_as_before(keeping);
				attempt->state = UIDGEN_ATTEMPT_ELSEWHERE;
			}
			break;
		case UIDGEN_CALL_RELEASE:
			if (!fleet)
				uidgen_lease_release(keeping->lease, attempt->call.last_issued);
			attempt->state = UIDGEN_ATTEMPT_DONE;
			break;
	}
}

void
uidgen_attempt_fails(const UidgenKeeping *keeping, UidgenAttempt *attempt,
					 const UidgenNoReply *why)
{
	UidgenNode *node = keeping->node;
	UidgenCallKind kind = attempt->call.kind;

	uidgen_assert(attempt->state == UIDGEN_ATTEMPT_CALLS);
	attempt->heard = false;
	attempt->state = UIDGEN_ATTEMPT_NO_REPLY;
	if (!attempt->fleet)
		return;
	if (kind == UIDGEN_CALL_ACQUIRE || kind == UIDGEN_CALL_RENEW)
	{
		if (why->did_nothing)
			uidgen_node_refused(node, keeping->lease);
		uidgen_node_meets_lock(node, why->did_nothing && why->locked);
	}
	if (kind == UIDGEN_CALL_IMPORT)
		go_on_as_before(keeping);
	/* Perhaps the registry's clock shows another time than we think: the next call says nothing
	 * about it. */
	if (why->too_late)
		node->clock.registry_known = false;
}
