/*
 * judge.c
 *	  What must hold in the simulation, after each step.
 *
 *	P1	No tick of a worker id is told to two nodes or guests, nor to two lives of one; nor twice to one
 *		life, also where a local registry had granted it before.  (Excused: copies of a memory
 *		have the grant that it held.)
 *	P2	An id lies in what its node was told, by an answer that counts.
 *	P4	The ids of a node increase, unless its clock was set back by a large step; those of a guest
 *		always do.
 *	P5	An id is no older than the node's clock, and at most max_lead ahead of where that
 *		was; no grant reaches further ahead of the registry's.  For guests the length is guest_lead, and
 *		the clock is the registry's that answered last: they are behind it by an answer that took as
 *		long as it may, and by what they do not notice of their machine's clocks.
 *	Where the clocks agree, callers wait at the gate: the registry refuses no renewal.
 *	A worker id is given up for a reason only.
 *	Once nothing goes wrong any more, every node gets ids.
 */
#include "simulation.h"

#include <inttypes.h>
#include <string.h>

/* What nodes were told to be theirs. */
typedef struct Told
{
	int			worker;
	UidgenTick	first;
	UidgenTick	last;
	uint64_t	lives;			/* whose: a bit for each */
	bool		local;			/* by a local registry */
	int			imported;		/* the call that brought it along; 0: none */
} Told;

static Told told[TOLD];
static int	ntold;

void
judge_begin(void)
{
	ntold = 0;
}

static void
add_told(const Told *more)
{
	Told	   *last = ntold > 0 ? &told[ntold - 1] : NULL;

	if (last && last->worker == more->worker && last->last + 1 == more->first &&
		last->lives == more->lives && !last->local && !more->local)
		last->last = more->last;
	else if (ntold == TOLD)
		fail("simulation", "more grants than there is room for");
	else
		told[ntold++] = *more;
}

/* A life may issue these; the keeper of a node has them. */
static void
judge_ticks(int life, const Keeper *keeper, int worker, UidgenTick first, UidgenTick last)
{
	Told		more = {
		.worker = worker,
		.first = first,
		.last = last,
		.lives = UINT64_C(1) << life,
	};

	if (!world.changes && is_of_guests(worker) != (keeper == NULL))
		fail("sides", "worker id %d is for %s", worker, keeper ? "guests" : "nodes");
	for (int i = 0; i < ntold; i++)
	{
		if (told[i].worker != worker || told[i].last < first || told[i].first > last)
			continue;

		/*
		 * What others had issued before they came is as unique as their
		 * worker ids were.  A primary that was left behind does not know that
		 * they have come since.
		 */
		if (told[i].local && told[i].lives != more.lives &&
			(told[i].imported == 0 || told[i].imported > keeper->reply.number ||
			 (keeper->call.to_old && told[i].imported > world.registry.calls_before)))
			continue;
		fail("P1", "ticks %" PRId64 " to %" PRId64 " of worker id %d were granted before",
			 Max(first, told[i].first) - START_TICK, Min(last, told[i].last) - START_TICK, worker);
	}
	add_told(&more);
}

void
judge_told(Node *node, int worker, UidgenTick first, UidgenTick last)
{
	tell("    node %d may issue worker id %d, ticks %" PRId64 " to %" PRId64, (int) (node - world.nodes), worker,
		 first - START_TICK, last - START_TICK);
	judge_ticks(node->memory.life, &node->keeper, worker, first, last);
}

void
judge_guest_told(const Guest *guest, int worker, UidgenTick first, UidgenTick last)
{
	tell("    guest %d may issue worker id %d, ticks %" PRId64 " to %" PRId64, (int) (guest - world.guests), worker,
		 first - START_TICK, last - START_TICK);
	judge_ticks(guest->life, NULL, worker, first, last);
}

/* This life may issue what the other one may. */
void
judge_twins(int first_life, int second_life)
{
	for (int i = 0; i < ntold; i++)
		if (told[i].lives >> first_life & 1)
			told[i].lives |= UINT64_C(1) << second_life;
}

/* Granted by a local registry. */
void
judge_local(const Node *node, const UidgenGrant *grant)
{
	Told		more = {
		.worker = grant->worker,
		.first = grant->first,
		.last = grant->last,
		.lives = UINT64_C(1) << node->memory.life,
		.local = true,
	};

	add_told(&more);
}

/* It has a registry of its own from now on, and its worker id for good. */
void
judge_left(Node *node, int worker)
{
	UidgenTick	now = tick_of(world.now + node->wall);

	tell("    it may issue worker id %d from tick %" PRId64 " on", worker, now - START_TICK);
	judge_ticks(node->memory.life, &node->keeper, worker, now, now + 20000);
}

/*
 * The shared one knows of it: what it grants from now on is apart from what was issued.  But
 * where another node holds this worker id, and was granted more, its ids may have been
 * equal all along, and may be after that is lost.
 */
void
judge_imported(const Node *node, const Call *call)
{
	for (int i = 0; i < ntold; i++)
		for (int j = 0; j < call->nends; j++)
			if (told[i].local && (told[i].lives >> node->memory.life & 1) && told[i].worker == call->workers[j])
			{
				told[i].last = Min(told[i].last, call->ends[j]);
				if (!was_granted(told[i].worker, told[i].last))
					told[i].imported = node->keeper.reply.number;
			}
}

/* What a shared registry grants is above all that it has granted to this node. */
void
judge_known(const Node *node, const Reply *reply)
{
	if (reply->worker != node->memory.local_worker)
		fail("known", "worker id %d is granted from tick %" PRId64 ", which this node knows to be granted", reply->worker,
			 reply->first - START_TICK);
}

static bool
was_told(int life, int worker, UidgenTick tick)
{
	for (int i = ntold - 1; i >= 0; i--)
		if (told[i].worker == worker && told[i].first <= tick && told[i].last >= tick && (told[i].lives >> life & 1))
			return true;
	return false;
}

void
judge_ids(Node *node, const UidgenTicket *ticket, UidgenTick now)
{
	Memory	   *memory = &node->memory;
	int			worker = (int) ticket->constant;
	UidgenTick	tick = (UidgenTick) (ticket->first >> world.setup.sequence_bits);

	events[EVENT_IDS]++;
	memory->clock_highest = Max(memory->clock_highest, now);
	if (!was_told(memory->life, worker, tick))
		fail("P2", "an id of worker id %d has tick %" PRId64 ", which was not granted", worker, tick - START_TICK);
	if (ticket->first <= memory->highest)
		fail("P4", "an id of tick %" PRId64 " comes after a higher one", tick - START_TICK);
	memory->highest = ticket->first;
	if (tick < now)
		fail("P5", "an id has tick %" PRId64 ", the clock %" PRId64, tick - START_TICK, now - START_TICK);
	if (uidgen_grant_is_of_fleet(&memory->lease.grant) && tick > memory->clock_highest + (world.changes ? ticks_in(world.setup.max_lead) : memory->node.max_lead))
		fail("P5", "an id has tick %" PRId64 ", the clock was at %" PRId64 " at most", tick - START_TICK,
			 memory->clock_highest - START_TICK);
	if (tick >= world.setup.last_tick)
		fail("P6", "an id has the last tick of the layout");
}

/* The time of a guest, by what the registry said. */
void
judge_guest_clock(const Guest *guest, UidgenTick now)
{
	UidgenMicroseconds clock = guest->clock + world.now - guest->ran;

	if (now > tick_of(clock) || now < tick_of(clock - world.setup.timeout - world.setup.unit))
		fail("P5", "for guest %d it is tick %" PRId64 ", for the registry that it asked tick %" PRId64,
			 (int) (guest - world.guests), now - START_TICK, tick_of(clock) - START_TICK);
}

/* It has issued one. */
void
judge_guest_id(Guest *guest)
{
	UidgenTick	tick = guest->position >> world.setup.sequence_bits;

	events[EVENT_GUEST_IDS]++;
	if (!was_told(guest->life, guest->worker, tick))
		fail("P2", "an id of worker id %d has tick %" PRId64 ", which guest %d was not granted", guest->worker, tick - START_TICK,
			 (int) (guest - world.guests));
	/* The other worker id may be lower. */
	if (tick < guest->id_tick || (tick == guest->id_tick && guest->worker != guest->id_worker))
		fail("P4", "an id of tick %" PRId64 " and worker id %d comes after one of tick %" PRId64 " and worker id %d",
			 tick - START_TICK, guest->worker, guest->id_tick - START_TICK, guest->id_worker);
	guest->id_tick = tick;
	guest->id_worker = guest->worker;
	if (tick >= world.setup.last_tick)
		fail("P6", "an id has the last tick of the layout");
}

/* A call is about to be noted as committed. */
void
judge_reply(const Call *call, const Reply *reply)
{
	bool		renews = call->kind == CALL_RENEW || call->kind == CALL_GUEST_RENEW;
	UidgenTick	now = reply->clock / world.setup.unit;
	UidgenTick	lead = ticks_in(lead_of(reply->worker));
	UidgenTick	needed;

	if (!reply->granted || (!renews && call->kind != CALL_ACQUIRE && call->kind != CALL_GUEST_ACQUIRE))
		return;
	if (reply->last > call->until && reply->last > now + lead)
		fail("P5", "a grant reaches to tick %" PRId64 ", the registry's clock shows %" PRId64, reply->last - START_TICK,
			 now - START_TICK);
	if (call->to_old || procedures_played)
		return;
	/* No further ahead than it has to. */
	needed = Max(Min(call->at, now), Max(call->until, renews ? call->needed : call->floor));
	if (renews)
		needed += call->window;
	else
	{
		needed = Max(needed, Max(call->until, row_until(reply->worker)) + 1);
		needed = Max(needed, reply->word.quarantine_until + 1);
	}
	if ((renews ? reply->last : reply->first) > needed)
		fail("P5", "a grant %s at tick %" PRId64 " instead of %" PRId64, renews ? "ends" : "begins",
			 (renews ? reply->last : reply->first) - START_TICK, needed - START_TICK);
}

/* A renewal was answered: as far as was needed? */
void
judge_renewal(Node *node, const Reply *reply)
{
	Memory	   *memory = &node->memory;

	memory->changed = memory->shown = reply->clock;
	/* One that joined may have been further ahead with its own registry. */
	if (memory->local_worker == -1 && !world.changes && reply->last < node->keeper.call.needed && reply->last < world.setup.last_tick - 1 &&
		Max(Max(memory->clock_highest, node->keeper.call.at), node_tick(node)) <=
		tick_of(reply->clock - LOOKS * world.setup.pace) + 1)
		fail("bounds", "the registry grants to tick %" PRId64 ", where %" PRId64 " is needed and its clock shows %" PRId64,
			 reply->last - START_TICK, node->keeper.call.needed - START_TICK, tick_of(reply->clock) - START_TICK);
}

/* A worker id was acquired, after another one or the same. */
void
judge_worker(Node *node, const UidgenGrant *before, const UidgenGrant *grant, UidgenStepKind step)
{
	Memory	   *memory = &node->memory;
	UidgenMicroseconds clock = Max(memory->shown, memory->acquired);

	/* Not tick_of(), which ends with the layout. */
	UidgenTick	ended_since = clock / world.setup.unit - ticks_in(world.setup.max_lead);

	if (step == UIDGEN_STEP_BACK)
	{
		events[EVENT_STEP_BACK]++;
		memory->causes |= CAUSE_SET_BACK;
		memory->highest = 0;
		memory->clock_highest = 0;
	}
	if (uidgen_grant_is_of_fleet(before) && before->worker != grant->worker && memory->causes == 0 &&
		!memory->had_twin && !world.changes && (before->last >= ended_since || memory->changed >= clock - world.setup.max_lead))
		fail("worker id", "node %d gives up worker id %d, which it has until tick %" PRId64 ", for worker id %d",
			 (int) (node - world.nodes), before->worker, before->last - START_TICK, grant->worker);
	memory->causes = node->keeper.call.to_old ? CAUSE_OLD_PRIMARY :
		memory->acquired_call <= world.registry.calls_before ? CAUSE_LOST : 0;
	memory->changed = memory->shown = memory->acquired;
}

/* The same for a guest that is granted this one.  After a loss it goes on as well, if the row is its own
 * and ends earlier; a renewal that was no longer has left no trace but a token that is forgotten. */
void
judge_guest_worker(Guest *guest, int worker)
{
	UidgenMicroseconds clock = Max(guest->shown, guest->reply.clock);
	UidgenTick	ended_since = clock / world.setup.unit - ticks_in(world.setup.guest_lead);

	if (guest->causes == CAUSE_LOST && !guest->call.to_old && life_of_row(guest->worker) == guest->life &&
		row_until(guest->worker) < guest->last)
		guest->causes = 0;
	if (guest->worker >= 0 && guest->worker != worker && guest->causes == 0 && !guest->had_twin && !world.changes &&
		(guest->last >= ended_since || guest->changed >= clock - world.setup.guest_lead))
		fail("worker id", "guest %d gives up worker id %d, which it has until tick %" PRId64 ", for worker id %d",
			 (int) (guest - world.guests), guest->worker, guest->last - START_TICK, worker);
	guest->causes = guest->call.to_old ? CAUSE_OLD_PRIMARY :
		guest->reply.number <= world.registry.calls_before ? CAUSE_LOST : 0;
}

/* ---- the end ---- */

/*
 * From here on nothing goes wrong.  By when has everything ended that is in the way?  What
 * clocks have shown, rows and the quarantine go by, for max_lead and clock_slack after
 * that; and nobody is further ahead of a clock than max_lead.
 */
static UidgenTick
served_until(void)
{
	UidgenTick	highest = tick_of(Max(world.clock_highest, registry_clock()));

	for (int i = 0; i < world.setup.nodes; i++)
		highest = Max(highest, Max(node_tick(&world.nodes[i]), world.nodes[i].memory.clock_highest));
	for (int i = 0; i < ntold; i++)
		highest = Max(highest, told[i].last);
	return highest + 2 * (ticks_in(world.setup.max_lead) + ticks_in(world.setup.clock_slack)) + 10;
}

/* Node or guest: has it an id, or has the layout no more? */
static bool
is_served(int i)
{
	const char *sqlstate;
	bool		well;

	if (i < NODES)
	{
		well = draws_well(&world.nodes[i]);
		sqlstate = world.nodes[i].sqlstate;
	}
	else
	{
		well = guest_draws_well(&world.guests[i - NODES]);
		sqlstate = world.guests[i - NODES].reply.sqlstate;
	}
	return well || (strcmp(sqlstate, "2200H") == 0 && tick_of(registry_clock()) >= world.setup.last_tick - 1);
}

void
judge_served(void)
{
	const Setup *setup = &world.setup;
	UidgenTick	until = served_until();
	UidgenTick	step = Max(1, (until - tick_of(registry_clock())) / 16);
	bool		served[NODES + GUESTS];
	int			left = 0;

	/* If there is a worker id for each. */
	for (int i = 0; i < NODES + GUESTS; i++)
	{
		served[i] = i < NODES ? i >= setup->nodes || world.nodes[i].left || setup->nodes > world.registry.first_guest :
			procedures_played || i - NODES >= setup->guests || setup->guests > Min(setup->max_worker + 1 + setup->guest_workers - world.registry.first_guest, setup->guest_bound);
		left += !served[i];
	}
	if (left == 0)
		return;
	tell("from here on nothing goes wrong, clock %" PRId64, tick_of(registry_clock()) - START_TICK);
	for (;;)
	{
		for (int i = 0; i < NODES + GUESTS; i++)
		{
			if (served[i])
				continue;
			/* Of those that fail, the last one is told. */
			tell_later();
			served[i] = is_served(i);
			tell_now(served[i] || tick_of(registry_clock()) > until);
			left -= served[i];
		}
		if (left == 0)
			return;
		if (tick_of(registry_clock()) > until)
			break;
		world.now += step * world.setup.unit;
	}
	for (int i = 0; i < NODES; i++)
		if (!served[i])
			fail("served", "node %d has no id up to tick %" PRId64 ": %s", i, until - START_TICK, world.nodes[i].failure);
	for (int i = 0; i < GUESTS; i++)
		if (!served[NODES + i])
			fail("served", "guest %d has no id up to tick %" PRId64 ": %s", i, until - START_TICK, world.guests[i].reply.text);
}
