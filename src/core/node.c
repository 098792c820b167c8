/*
 * node.c
 *	  The rules by which a server keeps its lease as a node of a fleet: see node.h.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/node.h"

#include <string.h>

/* Between what ids may reach and what the registry grants: the next tick, the one that a
 * renewal needs beyond it, and one for the clock that goes on meanwhile. */
#define SPARE_TICKS 3

void
uidgen_node_init(UidgenNode *node)
{
	*node = (UidgenNode) {0};
}

/*
 * Together the window, a burst and what a clock that was set back leaves stay within
 * max_lead.  So callers find the gate shut and wait for the clock, where otherwise the
 * registry would refuse to renew.
 */
void
uidgen_node_cut_terms(const UidgenNode *node, UidgenTerms *terms)
{
	UidgenTicketBounds *bounds = &terms->bounds;
	UidgenTick	left = node->max_lead;

	if (!node->joined)
		return;
	terms->window = uidgen_tick_lower(terms->window, left / 2);
	left = uidgen_tick_minus(left, terms->window + SPARE_TICKS);
	bounds->burst = uidgen_tick_lower(bounds->burst, left);
	left -= bounds->burst;
	bounds->ahead = uidgen_tick_lower(bounds->ahead, left);
	bounds->crash = uidgen_tick_minus(node->max_lead, bounds->burst + SPARE_TICKS);
	bounds->large_step =
		uidgen_tick_higher(uidgen_tick_lower(bounds->large_step, node->max_lead),
						   terms->window);
}

/* ---- the next call ---- */

/* Is the lease one of the registry that answered last? */
static bool
is_here(const UidgenNode *node, const UidgenLease *lease)
{
	return node->joined && lease->grant.registry == uidgen_node_registry(node->registry_id);
}

static bool
may_have(const UidgenNode *node, int64_t token)
{
	for (int i = 0; i < node->ntokens; i++)
		if (node->tokens[i] == token)
			return true;
	return false;
}

/* Does the row have the lease's token, and no other one? */
static bool
is_certain(const UidgenNode *node, const UidgenLease *lease)
{
	return node->ntokens == 1 && node->tokens[0] == lease->grant.token;
}

/*
 * Is the row to be left, because somebody else keeps it locked?  Not where a call was not
 * answered, which may be the one that has the lock, as while it waits for a standby: each
 * call after it would use up a worker id.  Nor where there is no other row to take.
 */
static bool
leaves_locked(const UidgenNode *node, const UidgenLease *lease, const UidgenTerms *terms)
{
	return node->locked >= UIDGEN_NODE_LOCKED && terms->worker < 0 &&
		(node->ntokens == 0 || is_certain(node, lease));
}

UidgenNodeAction
uidgen_node_lost(const UidgenNode *node, const UidgenLease *lease, const UidgenTerms *terms,
				 const UidgenClocks *clocks, UidgenPosition position)
{
	UidgenNodeAction action = {
		.lease = uidgen_lease_lost(terms, clocks, position),
		.claimed_worker = -1,
	};

	if (!node->claims || !is_here(node, lease))
		return action;
	if (leaves_locked(node, lease, terms))
		action.leaves = true;
	else
	{
		action.claimed_worker = lease->grant.worker;
		action.claimed_until = lease->grant.last;
	}
	return action;
}

UidgenNodeAction
uidgen_node_next(const UidgenNode *node, const UidgenLease *lease, const UidgenTerms *terms,
				 const UidgenClocks *clocks, UidgenPosition position, UidgenTick clock_known)
{
	bool		here = is_here(node, lease);
	UidgenClockStep step = uidgen_lease_step_back(terms, clocks, clock_known);
	UidgenNodeAction action = {.claimed_worker = -1};

	if (step.kind == UIDGEN_STEP_BACK && terms->other_workers)
	{
		action.lease = uidgen_lease_follow(lease, terms, clocks, position, step);
		action.leaves = true;
		return action;
	}

	/* Where the row may have another token, that is found out by an acquisition; but not
	 * where it may be another registry's row. */
	if (step.kind == UIDGEN_STEP_NONE && lease->held && here &&
		(is_certain(node, lease) || node->elsewhere) && !leaves_locked(node, lease, terms))
	{
		action.lease = uidgen_lease_renewal(lease, terms, clocks, position);
		return action;
	}
	action = uidgen_node_lost(node, lease, terms, clocks, position);
	action.lease.request.wanted = uidgen_lease_wanted(lease, terms, here);
	action.lease.step = step;
	return action;
}

void
uidgen_node_teach(UidgenNodeAction *action, UidgenTick known)
{
	action->lease.request.floor = uidgen_tick_higher(action->lease.request.floor, known + 1);
}

/* ---- tokens ---- */

void
uidgen_node_goes(UidgenNode *node, uint64_t place)
{
	if (place == node->place)
		return;
	node->elsewhere |= node->joined;
	node->answered_here = false;
	node->place = place;
}

bool
uidgen_node_knows(const UidgenNode *node, uint64_t place, int64_t *registry_id)
{
	*registry_id = node->seen.registry_id;
	return node->answered_here && place == node->place;
}

void
uidgen_node_sends(UidgenNode *node, const UidgenLease *lease, const UidgenNodeAction *action,
				  int64_t token)
{
	/* Only once: what was sent since then may be the token of the other row. */
	if (action->leaves && may_have(node, lease->grant.token))
		node->ntokens = 0;
	if (node->ntokens == UIDGEN_NODE_TOKENS)
	{
		/* The first one stays: where the registry answers nobody, the row still has it. */
		node->ntokens--;
		memmove(&node->tokens[1], &node->tokens[2], (node->ntokens - 1) * sizeof(node->tokens[0]));
	}
	node->tokens[node->ntokens++] = token;
}

void
uidgen_node_refused(UidgenNode *node, const UidgenLease *lease)
{
	uidgen_assert(node->ntokens > 0);
	node->ntokens--;
	/* The row in use was to be left, and was not. */
	if (node->ntokens == 0 && lease->held && is_here(node, lease))
		node->tokens[node->ntokens++] = lease->grant.token;
}

void
uidgen_node_meets_lock(UidgenNode *node, bool locked)
{
	node->locked = locked ? node->locked + 1 : 0;
}

void
uidgen_node_confirmed(UidgenNode *node)
{
	uidgen_assert(node->ntokens > 0);
	node->tokens[0] = node->tokens[node->ntokens - 1];
	node->ntokens = 1;
	node->locked = 0;
}

void
uidgen_node_fenced(UidgenNode *node)
{
	node->ntokens = 0;
}

void
uidgen_node_holds(UidgenNode *node)
{
	node->claims = true;
}

void
uidgen_node_releases(UidgenNode *node)
{
	node->claims = false;
	node->ntokens = 0;
}

/* ---- answers ---- */

bool
uidgen_node_sees(UidgenNode *node, const UidgenRegistryLife *life)
{
	const UidgenRegistryLife *seen = &node->seen;

	if (node->answered_here && life->registry_id != seen->registry_id)
		return false;
	if (node->answered && seen->registry_id == life->registry_id &&
		(life->timeline < seen->timeline || (life->timeline == seen->timeline && life->cluster != seen->cluster)))
		return false;
	node->answered = node->answered_here = true;
	node->seen = *life;
	return true;
}

bool
uidgen_node_hears(UidgenNode *node, const UidgenRegistryWord *word,
				  const UidgenClockReading *reading, UidgenMicroseconds large_step,
				  UidgenClockVerdict *verdict, UidgenMicroseconds *step)
{
	if (!uidgen_node_sees(node, &word->life))
		return false;
	*verdict = uidgen_fleetclock_judge(&node->clock, reading, large_step, step);
	node->joined = true;
	node->registry_id = word->life.registry_id;
	node->elsewhere = false;
	node->max_lead = word->max_lead;
	node->quarantine_until = word->quarantine_until;
	return true;
}
