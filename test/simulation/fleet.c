/*
 * fleet.c
 *	  The nodes of the simulation: machine, callers and keeper.
 *
 * Which call comes next, what is remembered of it and what is published are the real rules
 * (src/core).  What makes the calls is played, in the keeper's sequence:
 *
 *	  keeper_serve(), keeper_hear() and so on	as serve(), acquire() and renew() in
 *												src/keeper/shared_mode.c
 *	  publish_...()								as the functions of these names in publish.c
 *	  node_draw()								as take_slowly() in src/ids/generator.c
 *
 * An attempt of the keeper stops wherever it waits for the registry, so that anything can
 * happen meanwhile; keeper_hear() goes on with it.
 */
#include "simulation.h"

#include <limits.h>
#include <string.h>

/* One acquisition may take as many. */
#define CALLS_MAX 10

/* ---- the machine ---- */

UidgenMicroseconds
node_boot(const Node *node)
{
	return world.now + node->boot;
}

/* What time it is for ids. */
UidgenTick
node_tick(const Node *node)
{
	UidgenMicroseconds offset = (UidgenMicroseconds) uidgen_atomic_read(&node->memory.words.clock_offset);

	return tick_of(offset == 0 ? world.now + node->wall : node_boot(node) + offset);
}

static UidgenTerms
read_terms(const Node *node, bool shared)
{
	const Setup *setup = &world.setup;
	UidgenTick	large_step = setup->ahead + setup->second;
	UidgenTerms terms = {
		.worker = -1,
		.other_workers = setup->max_worker > 0,
		.unit = setup->unit,
		.sequence_bits = setup->sequence_bits,
		.last_tick = setup->last_tick,
		.window = setup->window,
		.bounds = {
			.ahead = setup->ahead,
			.burst = setup->burst,
			.crash = large_step + setup->window + setup->burst + 3,
			.large_step = large_step,
		},
	};

	if (shared && !is_broken("bounds_not_cut"))
		uidgen_node_cut_terms(&node->memory.node, &terms);
	terms.padding = terms.window * setup->padding_factor / 100;
	return terms;
}

static UidgenClocks
read_clocks(const Node *node)
{
	const UidgenFleetClock *clock = &node->memory.node.clock;

	return (UidgenClocks) {
		.tick = clock->known ? tick_of(node_boot(node) + clock->offset) : node_tick(node),
		.offset = node->wall - node->boot,
		.boot = node_boot(node),
	};
}

static UidgenTicketRules
rules(void)
{
	return (UidgenTicketRules) {
		.sequence_bits = world.setup.sequence_bits,
		.last_tick = world.setup.last_tick,
	};
}

/* With new shared memory. */
void
node_start(Node *node)
{
	Memory	   *memory = &node->memory;

	memset(memory, 0, sizeof(*memory));
	memory->life = world.lives++;
	memory->local_worker = -1;
	uidgen_ticket_init(&memory->words);
	uidgen_lease_init(&memory->lease);
	uidgen_node_init(&memory->node);
	slots_start(memory);
	node->keeper.progress = NOT_CALLING;
	publish_bounds(node);
}

/* ---- callers ---- */

/* Draw so many ids. */
Drawn
node_draw(Node *node, int count)
{
	UidgenTicketWords *words = &node->memory.words;
	UidgenTicketRules r = rules();
	UidgenTick	now = node_tick(node);
	bool		renew = false;

	for (int i = 0; i < count; i++)
	{
		UidgenTicket ticket;
		UidgenTicketClock clock;
		UidgenTicketReach reach;

		uidgen_ticket_begin(words, &ticket);
		uidgen_ticket_note_clock(words, &r, ticket.era, now);
		clock = uidgen_ticket_clock(words, &r, now);
		switch (uidgen_ticket_take(words, &r, &ticket, &clock, 1, UIDGEN_TAKE_ROW))
		{
			case UIDGEN_TICKET_GOOD:
				judge_ids(node, &ticket, now);
				renew |= ticket.renew;
				break;
			case UIDGEN_TICKET_NO_GRANT:
			case UIDGEN_TICKET_UNGRANTED:
				return DRAWN_NO_GRANT;
			case UIDGEN_TICKET_AHEAD:
			case UIDGEN_TICKET_EARLY:
				reach = uidgen_ticket_reach(words);
				if (uidgen_ticket_large_step(&reach, now) || uidgen_ticket_step_in_era(&reach, now))
					return DRAWN_NO_GRANT;
				return DRAWN_TOO_FAR;
			case UIDGEN_TICKET_VOID:
			case UIDGEN_TICKET_REFUSED:
				fail("callers", "a ticket is void, where nobody else is at work");
		}
	}
	return renew ? DRAWN_AND_RENEW : DRAWN_ALL;
}

/* ---- publishing ---- */

/* The padding is a part of what there is to use. */
static UidgenTerms
fit_padding(const UidgenTerms *terms, const UidgenGrant *grant, UidgenTick now, UidgenPosition position)
{
	UidgenTicketRules r = rules();
	UidgenTerms fitting = *terms;
	UidgenTick	used = Max(now, uidgen_ticket_tick(&r, position));

	if (uidgen_grant_is_shared(grant))
		fitting.padding = Min(terms->window, uidgen_tick_minus(grant->last, used)) * world.setup.padding_factor / 100;
	return fitting;
}

void
publish_bounds(Node *node)
{
	const UidgenLease *lease = &node->memory.lease;
	UidgenTerms terms = read_terms(node, lease->held && uidgen_grant_is_shared(&lease->grant));
	UidgenTicketRules r = rules();

	uidgen_ticket_bound(&node->memory.words, &r, &terms.bounds, node_tick(node));
}

static void
publish_renewal(Node *node, const UidgenGrant *grant, const UidgenTerms *terms)
{
	UidgenLease *lease = &node->memory.lease;
	UidgenTicketWords *words = &node->memory.words;
	UidgenTerms fitting = fit_padding(terms, grant, node_tick(node), uidgen_atomic_read(&words->position));

	uidgen_lease_hold(lease, grant, node->keeper.clocks.offset);
	uidgen_ticket_extend(words, uidgen_lease_limit(lease, &fitting), uidgen_lease_renew_at(lease, &fitting));
	publish_bounds(node);
}

static void
open_era(Node *node, const UidgenTerms *terms, UidgenStepKind step, UidgenMicroseconds clock_offset)
{
	const UidgenGrant *grant = &node->memory.lease.grant;
	UidgenTicketWords *words = &node->memory.words;
	UidgenTicketRules r = rules();
	UidgenPosition position = uidgen_ticket_close(words);
	UidgenTicketReach reach;
	UidgenTick	now;
	UidgenTerms fitting;
	UidgenEra	era;

	uidgen_atomic_write(&words->clock_offset, (uint64_t) clock_offset);
	reach = uidgen_ticket_reach(words);
	now = node_tick(node);
	fitting = fit_padding(terms, grant, now, position);
	era = uidgen_lease_era(&node->memory.lease, &fitting, step, now, &reach, position);
	uidgen_ticket_bound(words, &r, &terms->bounds, now);
	uidgen_ticket_open(words, era.position, era.limit, era.renew_at, (uint64_t) grant->worker,
					   now, era.clock_known, uidgen_ticket_tick(&r, era.position), era.cause);
}

static void
publish_acquisition(Node *node, const UidgenGrant *grant, const UidgenTerms *terms, UidgenStepKind step,
					UidgenMicroseconds clock_offset)
{
	uidgen_lease_hold(&node->memory.lease, grant, node->keeper.clocks.offset);
	if (uidgen_grant_is_shared(grant))
		uidgen_node_holds(&node->memory.node);
	open_era(node, terms, step, clock_offset);
}

static void
publish_again(Node *node)
{
	UidgenTerms terms = read_terms(node, uidgen_grant_is_shared(&node->memory.lease.grant));

	open_era(node, &terms, UIDGEN_STEP_NONE,
			 (UidgenMicroseconds) uidgen_atomic_read(&node->memory.words.clock_offset));
}

/* ---- calls ---- */

void
keeper_fails(Node *node, const char *sqlstate, const char *failure)
{
	tell("    the attempt fails: %s", failure);
	node->failure = failure;
	strcpy(node->sqlstate, sqlstate);
}

static UidgenMicroseconds
not_after(const Node *node)
{
	UidgenMicroseconds registry = uidgen_fleetclock_registry(&node->memory.node.clock, node_boot(node));

	return registry == INT64_MAX ? INT64_MAX : registry + world.setup.timeout;
}

void
keeper_send(Node *node, Call *call)
{
	call->node = (int) (node - world.nodes);
	call->life = node->memory.life;
	call->identity = node->identity;
	call->of_copy = node->memory.copied;
	call->not_after = not_after(node);
	call->boot_before = node_boot(node);
	call->to_old = node->keeper.call.to_old;
	node->keeper.call = *call;
	node->keeper.progress = SENT;
}

static void go_on_with_grant(Node *node);

/* One that gives the row a new token. */
static void
send_with_token(Node *node, Call *call)
{
	Memory	   *memory = &node->memory;
	UidgenClocks clocks = read_clocks(node);

	call->at = memory->node.clock.known ? clocks.tick : INT64_MAX;
	call->token = new_number();
	uidgen_node_sends(&memory->node, &memory->lease, &node->keeper.action, call->token);
	call->nknown = memory->node.ntokens - 1;
	memcpy(call->known_tokens, memory->node.tokens, sizeof(call->known_tokens));
	keeper_send(node, call);
}

static void
send_acquire(Node *node)
{
	const UidgenNodeAction *action = &node->keeper.action;
	Call		call = {
		.kind = CALL_ACQUIRE,
		.worker = action->claimed_worker,
		.until = action->claimed_until,
		.floor = action->lease.request.floor,
		.window = action->lease.request.window,
	};

	node->keeper.calls++;
	send_with_token(node, &call);
}

/* A grant that was acquired, and of which nothing was issued: its tokens still tell. */
static bool
find_unused(Node *node)
{
	const UidgenNode *memory = &node->memory.node;

	node->keeper.grant = node->memory.unused;
	return node->keeper.action.lease.step.kind == UIDGEN_STEP_NONE && memory->clock.known &&
		memory->ntokens == 1 && memory->tokens[0] == node->keeper.grant.token &&
		node->keeper.grant.registry == uidgen_node_registry(memory->registry_id) &&
		node->keeper.grant.last > read_clocks(node).tick;
}

static void
acquire(Node *node)
{
	uidgen_lease_asks(&node->memory.lease);
	node->keeper.calls = 0;
	node->keeper.taught = false;
	if (find_unused(node))
		go_on_with_grant(node);
	else
		send_acquire(node);
}

static void
send_renew(Node *node)
{
	const UidgenGrant *grant = &node->memory.lease.grant;
	Call		call = {
		.kind = CALL_RENEW,
		.worker = grant->worker,
		.old_token = grant->token,
		.until = grant->last,
		.needed = node->keeper.action.lease.needed,
		.window = node->keeper.terms.window,
	};

	send_with_token(node, &call);
}

/*
 * What a local registry granted beyond the clock is brought along, before the grant of the
 * shared one is used.  Is there any?
 */
static bool
send_import(Node *node)
{
	Memory	   *memory = &node->memory;
	UidgenLease *lease = &memory->lease;
	const UidgenFleetClock *clock = &memory->node.clock;
	UidgenTick	now = Min(tick_of(uidgen_fleetclock_registry(clock, node_boot(node)) - clock->width),
						  tick_of(world.now + node->wall));
	UidgenTicketRules r = rules();
	UidgenTick	issued = lease->held ? uidgen_ticket_tick(&r, uidgen_ticket_close(&memory->words) - 1) : 0;
	Call		call = {.kind = CALL_IMPORT};

	for (int i = 0; i < lease->nknown; i++)
	{
		UidgenTick	end = lease->known[i].granted_until;

		if (lease->held && lease->known[i].worker == lease->grant.worker)
			end = Min(end, issued);
		if (lease->known[i].worker == node->keeper.grant.worker || end < now)
			continue;
		call.workers[call.nends] = lease->known[i].worker;
		call.ends[call.nends++] = end;
	}
	if (call.nends == 0)
		return false;
	keeper_send(node, &call);
	return true;
}

/* An attempt begins. */
void
keeper_serve(Node *node, bool to_old)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	UidgenPosition position = uidgen_atomic_read(&memory->words.position);
	UidgenTicketReach reach = uidgen_ticket_reach(&memory->words);

	keeper->terms = read_terms(node, true);
	keeper->clocks = read_clocks(node);
	keeper->call.to_old = to_old;
	uidgen_node_goes(&memory->node, PLACE);
	keeper->action = uidgen_node_next(&memory->node, &memory->lease, &keeper->terms, &keeper->clocks,
									  position, uidgen_ticket_clock_known(&reach));
	/* It forgets what its row may have beside the lease's token. */
	if (keeper->action.leaves && memory->node.ntokens > 1)
		memory->causes |= CAUSE_SET_BACK;
	if (keeper->action.lease.call == UIDGEN_RENEW)
		send_renew(node);
	else
		acquire(node);
}

/* The last call of a keeper: what comes of it makes no difference. */
void
keeper_release(Node *node)
{
	Memory	   *memory = &node->memory;
	UidgenTerms terms = read_terms(node, true);
	Call		call = {
		.kind = CALL_RELEASE,
		.worker = memory->lease.grant.worker,
		.nknown = memory->node.ntokens,
	};

	(void) uidgen_lease_end(&memory->lease, &terms, uidgen_ticket_close(&memory->words));
	memcpy(call.known_tokens, memory->node.tokens, sizeof(call.known_tokens));
	if (!is_broken("release_forgets_nothing"))
		uidgen_node_releases(&memory->node);
	memory->causes |= CAUSE_RELEASED;
	node->keeper.call.to_old = false;
	if (uidgen_grant_is_shared(&memory->lease.grant))
		keeper_send(node, &call);
}

/* ---- answers ---- */

/* Issue ids by the grant that was acquired. */
static void
use_grant(Node *node)
{
	Memory	   *memory = &node->memory;
	const UidgenGrant *grant = &node->keeper.grant;
	UidgenStepKind step = node->keeper.action.lease.step.kind;
	UidgenTerms terms;

	if (grant->first - read_clocks(node).tick > memory->node.max_lead && !is_broken("leap_never_followed"))
	{
		events[EVENT_FOLLOWED]++;
		uidgen_fleetclock_follow(&memory->node.clock);
	}
	terms = read_terms(node, true);
	node->keeper.clocks = read_clocks(node);
	memory->unused = (UidgenGrant) {0};
	judge_worker(node, grant, step);
	judge_told(node, grant->worker, grant->first, grant->last);
	publish_acquisition(node, grant, &terms, step, memory->node.clock.offset);
}

static void
go_on_with_grant(Node *node)
{
	Memory	   *memory = &node->memory;

	if (memory->lease.grant.registry != node->keeper.grant.registry)
	{
		memory->unused = node->keeper.grant;
		if (send_import(node))
			return;
	}
	use_grant(node);
}

static void
hear_acquire(Node *node, const Reply *reply)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	UidgenTick	known;

	if (reply->granted)
		uidgen_node_confirmed(&memory->node);
	else
		uidgen_node_refused(&memory->node, &memory->lease);
	if (!reply->granted && reply->has_first)
	{
		/* Another row may have ticks that are nearer. */
		if (keeper->taught)
			uidgen_node_fenced(&memory->node);
		keeper_fails(node, "57P03", "the grant would reach too far ahead of the registry's clock");
		return;
	}
	if (reply->granted)
	{
		keeper->grant = (UidgenGrant) {
			.worker = reply->worker,
			.token = keeper->call.token,
			.first = reply->first,
			.last = reply->last,
			.seen = reply->seen,
			.never_used = reply->never_used,
			.free_workers = reply->free_workers,
			.registry = uidgen_node_registry(reply->word.life.registry_id),
		};
		memory->acquired = reply->clock;
		memory->acquired_call = reply->number;
		known = uidgen_lease_known_until(&memory->lease, reply->worker);
		if (reply->first > known || is_broken("known_not_checked"))
		{
			go_on_with_grant(node);
			return;
		}
		events[EVENT_TAUGHT]++;
		judge_known(node, reply);
		uidgen_node_teach(&keeper->action, known);
		keeper->taught = true;
	}
	if (keeper->calls == CALLS_MAX)
		keeper_fails(node, "55000", "the registry gives no grant");
	else
		send_acquire(node);
}

static void
hear_renew(Node *node, const Reply *reply)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	UidgenGrant grant = memory->lease.grant;
	bool		here = grant.registry == uidgen_node_registry(memory->node.registry_id);
	bool		extended = reply->granted && here;
	UidgenTerms terms;

	if (extended)
		uidgen_node_confirmed(&memory->node);
	else if (here && keeper->call.nknown == 1)
		uidgen_node_fenced(&memory->node);
	else
		uidgen_node_refused(&memory->node, &memory->lease);
	terms = read_terms(node, true);
	if (!extended)
	{
		events[EVENT_FENCED]++;
		keeper->action = uidgen_node_lost(&memory->node, &memory->lease, &terms, &keeper->clocks,
										  uidgen_atomic_read(&memory->words.position));
		acquire(node);
		return;
	}
	if (reply->last > grant.last)
		judge_told(node, grant.worker, grant.last + 1, reply->last);
	judge_renewal(node, reply);
	grant.token = keeper->call.token;
	grant.last = reply->last;
	publish_renewal(node, &grant, &terms);
	if (reply->last < keeper->call.needed)
		keeper_fails(node, "57P03", "the grant would reach too far ahead of the registry's clock");
}

/* What was to be brought along is, or the old grant goes on. */
static void
hear_import(Node *node, bool done)
{
	Keeper	   *keeper = &node->keeper;

	if (done)
	{
		judge_imported(node, &keeper->call);
		use_grant(node);
		return;
	}
	if (node->memory.lease.held)
		publish_again(node);
	keeper_fails(node, keeper->reply.sqlstate, "what was granted elsewhere is not brought along");
}

/* Nobody waits for the call under way, which may have been run, or may be run yet. */
void
keeper_gives_up(Node *node)
{
	/* It had forgotten the token that its row has. */
	if (node->keeper.call.kind == CALL_ACQUIRE && node->keeper.action.leaves)
		node->memory.causes |= CAUSE_SET_BACK;
	node->keeper.progress = NOT_CALLING;
	if (node->keeper.call.kind == CALL_HAND_BACK)
		keeper_hear_hand_back(node, false);
}

/* No answer has come, or one that does not count. */
void
keeper_hear_nothing(Node *node, bool unconfirmed)
{
	Keeper	   *keeper = &node->keeper;

	if (unconfirmed && is_broken(keeper->call.kind == CALL_FETCH ? "numbers_unconfirmed" : "unconfirmed_used"))
	{
		keeper_hear(node);
		return;
	}
	events[EVENT_UNANSWERED]++;
	uidgen_node_meets_lock(&node->memory.node, false);
	keeper_gives_up(node);
	keeper->reply = (Reply) {.sqlstate = "08006"};
	if (keeper->call.kind == CALL_IMPORT)
		hear_import(node, false);
	else
		keeper_fails(node, "08006", "no answer");
	if (is_broken("token_not_proposed") && (keeper->call.kind == CALL_ACQUIRE || keeper->call.kind == CALL_RENEW))
		uidgen_node_refused(&node->memory.node, &node->memory.lease);
}

/* The reply has come.  The attempt goes on, and may send another call. */
void
keeper_hear(Node *node)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	Reply		reply = keeper->reply;
	UidgenClockReading reading = {
		.boot_before = keeper->call.boot_before,
		.boot_after = node_boot(node),
		.registry = reply.clock,
		.wall_offset = node->wall - node->boot,
	};
	UidgenTerms terms = read_terms(node, true);
	UidgenClockVerdict verdict;
	UidgenMicroseconds step;

	keeper->progress = NOT_CALLING;
	if (keeper->call.kind == CALL_RELEASE)
		return;
	if (keeper->call.kind == CALL_FETCH)
	{
		keeper_hear_fetch(node, &reply);
		return;
	}
	if (keeper->call.kind == CALL_HAND_BACK)
	{
		keeper_hear_hand_back(node, reply.sqlstate[0] == '\0' && reply.granted);
		return;
	}
	if (keeper->call.kind == CALL_IMPORT)
	{
		hear_import(node, reply.sqlstate[0] == '\0' && !keeper->call.to_old);
		return;
	}
	if (reply.sqlstate[0])
	{
		uidgen_node_refused(&memory->node, &memory->lease);
		uidgen_node_meets_lock(&memory->node, strcmp(reply.sqlstate, "55P03") == 0);
		if (strcmp(reply.sqlstate, "57014") == 0)
			memory->node.clock.registry_known = false;
		keeper_fails(node, reply.sqlstate, "the registry refuses");
		return;
	}
	if (keeper->call.to_old)
		memory->causes |= CAUSE_OLD_PRIMARY;
	if (is_broken("older_timeline_used"))
		memory->node.seen.timeline = INT_MIN;
	if (!uidgen_node_hears(&memory->node, &reply.word, &reading, terms.bounds.large_step * terms.unit,
						   &verdict, &step))
	{
		events[EVENT_OLD_ANSWER]++;
		tell("    the answer is of an older timeline");
		keeper_hear_nothing(node, false);
		return;
	}
	if (memory->lease.held && uidgen_grant_is_shared(&memory->lease.grant))
		uidgen_atomic_write(&memory->words.clock_offset, (uint64_t) memory->node.clock.offset);
	events[EVENT_OLD_USED] += keeper->call.to_old;
	events[EVENT_NOT_FOLLOWED] += verdict == UIDGEN_CLOCK_STAYS;
	if (verdict == UIDGEN_CLOCK_TOO_FAR)
	{
		keeper_fails(node, "22008", "the clocks are too far apart");
		return;
	}
	if (keeper->call.kind == CALL_ACQUIRE)
		hear_acquire(node, &reply);
	else
		hear_renew(node, &reply);
}

/* Before it had a shared registry this node had a local one, which granted this worker id. */
void
node_had_local_grant(Node *node, int worker)
{
	UidgenTerms terms = read_terms(node, false);
	UidgenGrant grant = {
		.worker = worker,
		.token = new_number(),
		.first = node_tick(node),
		.last = node_tick(node) + world.setup.local_window,
		.registry = 1,
	};

	node->keeper.clocks = read_clocks(node);
	node->memory.local_worker = worker;
	judge_local(node, &grant);
	publish_acquisition(node, &grant, &terms, UIDGEN_STEP_NONE, 0);
}
