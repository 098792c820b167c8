/*
 * limits.c
 *	  What may be lost and copied in the simulation, so that all promises still hold.
 *
 * The rules of a shared registry do not survive everything: docs/design/fleet.md, "What
 * remains", has the list.  What is on that list does not happen here, and everything short
 * of it does.  Each commit is noted, so that it is known what a failover would lose:
 *
 *	clock		The clock of a server that takes over is behind by clock_slack at most: behind
 *				what any clock showed when a grant was made that is lost.  It is never set
 *				back beyond that later, either.  So a primary that was left behind may go on
 *				granting until its clock is clock_slack ahead of where the next one's was when
 *				that began its quarantine; and for ever, to nodes that have seen the later
 *				timeline.
 *	failovers	One that loses grants comes when none that was lost before can be claimed
 *				any more: max_lead after its end, or after its row was changed.  What a primary
 *				that was left behind grants is lost, too: one that was left behind earlier than
 *				that grants nothing.
 *	copies		Where two nodes have one memory, the first change of their row by either is not
 *				lost.  (Nor are the grants their own that both had when the copy was made:
 *				judge.c.)
 *	last resort	Where a node took a row of its own identity that was not free, and another
 *				node of this identity runs, that is not lost.  Nor does a node use such a row
 *				of a primary that was left behind: it may have run before.
 *
 * A change of first_guest or of lengths may be lost.  max_lead is the longest that it was.  For guests guest_lead takes the place of max_lead; nothing is the last resort of a guest.  For numbers of
 * segments: ranges.c.
 *
 * With a synchronous standby nothing is lost that a node was told of; then there is no limit.
 */
#include "simulation.h"

#include <limits.h>
#include <string.h>

/* Worker ids of guests have lengths of their own. */
bool
is_of_guests(int worker)
{
	return worker >= world.registry.first_guest;
}

UidgenMicroseconds
lead_of(int worker)
{
	return is_of_guests(worker) && !world.changes ? world.setup.guest_lead : world.setup.max_lead;
}

/* What it granted nobody knows of any more. */
static void
lose(const Commit *commit)
{
	UidgenTick	until = Max(commit->until, tick_of(commit->clock));

	world.registry.clock_floor = Max(world.registry.clock_floor, commit->clock - world.setup.clock_slack);
	world.registry.claims_end = Max(world.registry.claims_end, (until + ticks_in(lead_of(commit->worker)) + 1) * world.setup.unit);
}

static void
add_commit(const Commit *commit, bool to_old)
{
	if (to_old)
	{
		if (!world.setup.synchronous)
			lose(commit);		/* when it is made */
		return;
	}
	if (world.registry.ncommits == COMMITS)
		fail("simulation", "more commits than there is room for");
	world.registry.commits[world.registry.ncommits++] = *commit;
	for (int i = 0; i < world.registry.ntwins; i++)
	{
		Twins	   *twins = &world.registry.twins[i];

		if (twins->apart == 0 && commit->worker == twins->worker && commit->life >= 0 &&
			(commit->life == twins->lives[0] || commit->life == twins->lives[1]))
			twins->apart = world.registry.ncommits;
	}
}

/* A call has been committed. */
void
note_commit(const Call *call, const Reply *reply)
{
	Commit		commit = {
		.clock = reply->clock,
		.worker = reply->worker,
		.until = call->kind == CALL_RELEASE || call->kind == CALL_GUEST_RELEASE ? 0 : reply->last,
		.life = call->life,
		.identity = call->identity,
		.imported = call->kind == CALL_IMPORT,
		.last_resort = reply->last_resort,
	};

	if (!reply->granted)
		return;

	/*
	 * It may have been taken from this node itself, by a call that came late
	 * before it knew the registry's time.
	 */
	for (int i = 0; i < world.setup.nodes && commit.last_resort; i++)
		if (world.nodes[i].identity == commit.identity)
			world.nodes[i].memory.causes |= CAUSE_LAST_RESORT;
	if (call->kind != CALL_IMPORT)
		add_commit(&commit, call->to_old);
	for (int i = 0; i < call->nends; i++)
	{
		commit.worker = call->workers[i];
		commit.until = call->ends[i];
		add_commit(&commit, call->to_old);
	}
}

/* The end of a row of the registry. */
UidgenTick
row_until(int worker)
{
	UidgenTick	until = -1;

	for (int i = 0; i < world.registry.ncommits; i++)
		if (world.registry.commits[i].worker == worker && world.registry.commits[i].until > 0)
			until = Max(until, world.registry.commits[i].until);
	return until;
}

/* Who has changed it last; -1: nobody, as far as this registry knows. */
int
life_of_row(int worker)
{
	for (int i = world.registry.ncommits - 1; i >= 0; i--)
		if (world.registry.commits[i].worker == worker)
			return world.registry.commits[i].life;
	return -1;
}

/* Has the registry itself granted so much to somebody? */
bool
was_granted(int worker, UidgenTick until)
{
	for (int i = 0; i < world.registry.ncommits; i++)
		if (world.registry.commits[i].worker == worker && world.registry.commits[i].until >= until && !world.registry.commits[i].imported)
			return true;
	return false;
}

static void
add_twins(int first_life, int second_life, int worker, bool row_is_known)
{
	world.registry.twins[world.registry.ntwins++] = (Twins) {
		.lives = {first_life, second_life},
		.worker = worker,
		.apart = row_is_known ? 0 : INT_MAX,
	};
}

/* Two nodes have one memory from now on. */
void
note_twins(const Memory *memory, int life)
{
	const UidgenNode *node = &memory->node;

	/* Neither row nor claim. */
	if (node->ntokens == 0 && !node->claims)
		return;
	add_twins(memory->life, life, memory->lease.grant.worker,
			  node->claims && node->ntokens <= 1 && (node->ntokens == 0 || node->tokens[0] == memory->lease.grant.token));
}

void
note_guest_twins(const Guest *guest, int life)
{
	if (guest->ntokens > 0)
		add_twins(guest->life, life, guest->worker, guest->worker >= 0 && !guest->doubt);
}

/* The memory of a node is gone.  What it was told after they came apart counts still. */
void
note_end(int life)
{
	for (int i = 0; i < world.registry.ntwins; i++)
	{
		Twins	   *twins = &world.registry.twins[i];

		for (int j = 0; j < 2; j++)
			if (twins->lives[j] == life)
				twins->lives[j] = -1;
		if (twins->lives[0] == twins->lives[1] || (twins->apart == 0 && Min(twins->lives[0], twins->lives[1]) == -1))
			world.registry.twins[i--] = world.registry.twins[--world.registry.ntwins];
	}
}

/* Could either of two nodes go on with the other's row? */
bool
has_twin(int life)
{
	for (int i = 0; i < world.registry.ntwins; i++)
		if ((world.registry.twins[i].lives[0] == life || world.registry.twins[i].lives[1] == life) &&
			(world.registry.twins[i].apart == 0 || world.registry.twins[i].apart == INT_MAX))
			return true;
	return false;
}

static bool
has_namesake(int identity, int life)
{
	for (int i = 0; i < world.setup.nodes; i++)
		if (world.nodes[i].identity == identity && world.nodes[i].memory.life != life)
			return true;
	return false;
}

/* The registry's clock, from when on nothing can be claimed that was lost so far. */
UidgenMicroseconds
claims_end(void)
{
	return world.setup.synchronous ? 0 : world.registry.claims_end;
}

/* A primary was left behind, and might go on; `claims_ended` is claims_end() of before. */
void
note_old(UidgenMicroseconds claims_ended)
{
	world.registry.old_grants = registry_clock() >= claims_ended;
	if (world.registry.old_grants)
		world.registry.clock_floor = Max(world.registry.clock_floor, claims_ended);
}

/* Does what the primary that was left behind grants now lie in the quarantine? */
static bool
old_may_grant(void)
{
	UidgenMicroseconds began = world.registry.quarantine_clock ? world.registry.quarantine_clock : registry_clock();

	return world.registry.old_grants && !world.setup.synchronous && world.now + world.registry.old_clock <= began + world.setup.clock_slack;
}

/* May this node ask it? */
bool
may_ask_old(const Node *node)
{
	if (!world.registry.old.there)
		return false;
	/* It will not use the answer. */
	if (node->memory.node.answered && node->memory.node.seen.timeline > world.registry.old_history.timeline + world.registry.old.timeline_offset)
		return true;
	return old_may_grant() && !has_twin(node->memory.life) && !has_namesake(node->identity, node->memory.life);
}

bool
guest_may_ask_old(const Guest *guest)
{
	return world.registry.old.there && (guest->timeline > world.registry.old_history.timeline + world.registry.old.timeline_offset || (old_may_grant() && !has_twin(guest->life)));
}

/* May all commits but so many be lost?  Then the registry's clock is this at least. */
bool
may_go_back(int commits, UidgenMicroseconds *least_clock)
{
	bool		grants = false;

	*least_clock = world.registry.clock_floor;
	if (world.setup.synchronous)
		return true;
	for (int i = commits; i < world.registry.ncommits; i++)
	{
		const Commit *commit = &world.registry.commits[i];

		if (commit->until == 0)
			continue;
		grants = true;
		*least_clock = Max(*least_clock, commit->clock - world.setup.clock_slack);
		if (commit->last_resort && has_namesake(commit->identity, commit->life))
			return false;
	}
	if (!grants)
		return true;
	if (registry_clock() < claims_end())
		return false;
	*least_clock = Max(*least_clock, claims_end());
	for (int i = 0; i < world.registry.ntwins; i++)
		if (world.registry.twins[i].apart > commits)
			return false;
	return true;
}

/* All of them, and the registry with them. */
void
lose_all(void)
{
	for (int i = 0; i < world.registry.ncommits; i++)
		if (world.registry.commits[i].until > 0)
			lose(&world.registry.commits[i]);
	world.registry.ncommits = 0;
}

/* They are lost. */
void
note_lost(int commits)
{
	bool		grants = false;

	for (int i = commits; i < world.registry.ncommits; i++)
	{
		const Commit *commit = &world.registry.commits[i];

		if (commit->until == 0)
			continue;
		grants = true;
		if (!world.setup.synchronous)
			lose(commit);
	}
	world.registry.ncommits = commits;
	for (int i = 0; i < world.registry.ntwins; i++)
		if (world.registry.twins[i].apart > commits && world.registry.twins[i].apart != INT_MAX)
			world.registry.twins[i].apart = 0;
	if (!grants)
		return;
	events[EVENT_LOST_GRANT]++;
	for (int i = 0; i < world.setup.nodes; i++)
		world.nodes[i].memory.causes |= CAUSE_LOST;
	for (int i = 0; i < world.setup.guests; i++)
		world.guests[i].causes |= CAUSE_LOST;
}
