/*
 * fleet.c
 *	  The nodes of the simulation: machine, callers and keeper.
 *
 * Which call comes next, what is remembered of it and what is published are the real rules
 * (src/core/attempt.h).  Played is what is around them: the machine's clocks, callers, and the way of
 * a call to the registry and back.  node_draw() draws as take_slowly() in src/ids/generator.c.
 *
 * An attempt of the keeper stops wherever it waits for the registry, so that anything can
 * happen meanwhile; keeper_hear() goes on with it.
 */
#include "simulation.h"

#include <limits.h>
#include <string.h>

/* ---- the machine ---- */

UidgenMicroseconds
node_boot(const Node *node)
{
	return world.now + node->boot;
}

static UidgenTimes
look_at_clocks(const void *machine)
{
	const Node *node = machine;

	return (UidgenTimes) {.wall = world.now + node->wall, .boot = node_boot(node)};
}

static uint64_t
constant_bits(const UidgenGrant *grant)
{
	return (uint64_t) grant->worker;
}

static UidgenTicketRules
rules(void)
{
	return (UidgenTicketRules) {
		.sequence_bits = world.setup.sequence_bits,
		.last_tick = world.setup.last_tick,
	};
}

/* What the rules work on. */
static UidgenKeeping
keeping_of(Node *node)
{
	static UidgenTicketRules r;
	const Setup *setup = &world.setup;
	Memory	   *memory = &node->memory;
	UidgenTick	large_step = setup->ahead + setup->second;

	r = rules();
	return (UidgenKeeping) {
		.words = &memory->words,
		.lease = &memory->lease,
		.node = &memory->node,
		.unused = &memory->unused,
		.rules = &r,
		.settings = {
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
		},
		.fleet_window = setup->window,
		.padding_factor = setup->padding_factor,
		.timeout = setup->timeout,
		.look = look_at_clocks,
		.machine = node,
		.constant = constant_bits,
	};
}

/* What time it is for ids. */
UidgenTick
node_tick(const Node *node)
{
	UidgenKeeping keeping = keeping_of((Node *) node);

	return uidgen_keeping_clocks(&keeping).tick;
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

/* ---- the keeper ---- */

void
publish_bounds(Node *node)
{
	UidgenKeeping keeping = keeping_of(node);

	uidgen_publish_bounds(&keeping);
}

void
keeper_fails(Node *node, const char *sqlstate, const char *failure)
{
	tell("    the attempt fails: %s", failure);
	node->failure = failure;
	strcpy(node->sqlstate, sqlstate);
}

void
keeper_send(Node *node, Call *call)
{
	UidgenKeeping keeping = keeping_of(node);

	call->node = (int) (node - world.nodes);
	call->life = node->memory.life;
	call->identity = node->identity;
	call->registry = node->registry;
	call->of_copy = node->memory.copied;
	call->not_after = uidgen_keeping_not_after(&keeping);
	call->boot_before = node_boot(node);
	call->to_old = node->keeper.call.to_old;
	node->keeper.call = *call;
	node->keeper.progress = SENT;
}

/* The call that the attempt has decided on. */
static void
send_call(Node *node)
{
	static const CallKind kinds[] = {
		[UIDGEN_CALL_ACQUIRE] = CALL_ACQUIRE,
		[UIDGEN_CALL_RENEW] = CALL_RENEW,
		[UIDGEN_CALL_IMPORT] = CALL_IMPORT,
		[UIDGEN_CALL_RELEASE] = CALL_RELEASE,
	};
	const UidgenCall *decided = &node->keeper.attempt.call;
	bool		acquires = decided->kind == UIDGEN_CALL_ACQUIRE;
	Call		call = {
		.kind = kinds[decided->kind],
		.worker = acquires ? decided->claimed_worker : decided->worker,
		.until = acquires ? decided->claimed_until : decided->until,
		.floor = decided->request.floor,
		.window = acquires ? decided->request.window : decided->window,
		.old_token = decided->old_token,
		.needed = decided->needed,
		.token = decided->token,
		.at = decided->at,
		.nknown = decided->ntokens,
		.nends = decided->nends,
	};

	if (decided->nends > WORKERS)
		fail("simulation", "more ends are brought along than there are worker ids");
	memcpy(call.known_tokens, decided->tokens, sizeof(call.known_tokens));
	memcpy(call.workers, decided->workers, sizeof(call.workers));
	memcpy(call.ends, decided->ends, sizeof(call.ends));
	keeper_send(node, &call);
}

/* Why the attempt has failed; NULL: it has not. */
static const char *
failure_of(const UidgenAttempt *attempt, const char **sqlstate)
{
	*sqlstate = "55000";
	switch (attempt->state)
	{
		case UIDGEN_ATTEMPT_CALLS:
		case UIDGEN_ATTEMPT_DONE:
		case UIDGEN_ATTEMPT_NO_REPLY:
			return NULL;
		case UIDGEN_ATTEMPT_LARGE_STEP:
			return "a node has refused to follow a step";
		case UIDGEN_ATTEMPT_UNTAUGHT:
		case UIDGEN_ATTEMPT_UNGRANTED:
			return "the registry gives no grant";
		case UIDGEN_ATTEMPT_TOO_FAR:
			*sqlstate = "57P03";
			return "the grant would reach too far ahead of the registry's clock";
		case UIDGEN_ATTEMPT_CLOCKS:
			*sqlstate = "22008";
			return "the clocks are too far apart";
		case UIDGEN_ATTEMPT_UNUSABLE:
			*sqlstate = "08006";
			return "the answer is of an older timeline";
		case UIDGEN_ATTEMPT_MANY_ENDS:
			*sqlstate = "57P03";
			return "there is too much to be brought along";
		case UIDGEN_ATTEMPT_ELSEWHERE:
			*sqlstate = "08007";
			return "what was granted elsewhere is not brought along";
	}
	return NULL;
}

/* A grant is in force, after the one that was `before`. */
static void
judge_acquisition(Node *node, const UidgenGrant *before)
{
	const UidgenAttempt *attempt = &node->keeper.attempt;
	const UidgenGrant *grant = &attempt->grant;

	events[EVENT_FOLLOWED] += attempt->caught_up > 0;
	judge_worker(node, before, grant, attempt->action.lease.step.kind);
	judge_told(node, grant->worker, grant->first, grant->last);
}

/* The attempt has come to a call, or to its end. */
static void
go_on(Node *node)
{
	const char *sqlstate;
	const char *failure = failure_of(&node->keeper.attempt, &sqlstate);

	if (failure)
		keeper_fails(node, sqlstate, failure);
	else if (node->keeper.attempt.state == UIDGEN_ATTEMPT_CALLS)
		send_call(node);
}

/* An attempt begins. */
void
keeper_serve(Node *node, bool to_old)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	UidgenKeeping keeping = keeping_of(node);
	UidgenGrant before = memory->lease.grant;
	int			ntokens = memory->node.ntokens;

	keeper->call.to_old = to_old;
	uidgen_node_goes(&memory->node, (uint64_t) (PLACE + node->moves));
	uidgen_attempt_begin(&keeping, &keeper->attempt, true, 0, new_number());
	/* It forgets what its row may have beside the lease's token. */
	if (keeper->attempt.action.leaves && ntokens > 1)
		memory->causes |= CAUSE_SET_BACK;
	if (keeper->attempt.acquired)
		judge_acquisition(node, &before);
	go_on(node);
}

/* The last call of a keeper: what comes of it makes no difference. */
void
keeper_release(Node *node)
{
	UidgenKeeping keeping = keeping_of(node);

	uidgen_attempt_release(&keeping, &node->keeper.attempt, true, 0);
	node->memory.causes |= CAUSE_RELEASED;
	node->keeper.call.to_old = false;
	go_on(node);
}

/* ---- answers ---- */

/* Nobody waits for the call under way, which may have been run, or may be run yet. */
void
keeper_gives_up(Node *node)
{
	/* It had forgotten the token that its row has. */
	if (node->keeper.call.kind == CALL_ACQUIRE && node->keeper.attempt.action.leaves)
		node->memory.causes |= CAUSE_SET_BACK;
	node->keeper.progress = NOT_CALLING;
	if (node->keeper.call.kind == CALL_HAND_BACK)
		keeper_hear_hand_back(node, false);
}

/* Is the call one of an attempt for a grant? */
static bool
is_of_attempt(const Call *call)
{
	return call->kind != CALL_FETCH && call->kind != CALL_HAND_BACK;
}

/* No answer has come, or one that does not count. */
void
keeper_hear_nothing(Node *node, bool unconfirmed)
{
	Keeper	   *keeper = &node->keeper;
	UidgenKeeping keeping = keeping_of(node);
	const UidgenNoReply why = {0};

	if (unconfirmed && is_broken(keeper->call.kind == CALL_FETCH ? "numbers_unconfirmed" : "unconfirmed_used"))
	{
		keeper_hear(node);
		return;
	}
	events[EVENT_UNANSWERED]++;
	keeper_gives_up(node);
	keeper->reply = (Reply) {.sqlstate = "08006"};
	if (is_of_attempt(&keeper->call))
		uidgen_attempt_fails(&keeping, &keeper->attempt, &why);
	keeper_fails(node, "08006", "no answer");
	if (is_broken("token_not_proposed") && (keeper->call.kind == CALL_ACQUIRE || keeper->call.kind == CALL_RENEW))
		uidgen_node_refused(&node->memory.node, &node->memory.lease);
}

/* The registry has refused. */
static void
hear_refusal(Node *node, const char *sqlstate)
{
	UidgenKeeping keeping = keeping_of(node);
	const UidgenNoReply why = {
		.did_nothing = true,
		.locked = strcmp(sqlstate, "55P03") == 0,
		.too_late = strcmp(sqlstate, "57014") == 0,
	};

	uidgen_attempt_fails(&keeping, &node->keeper.attempt, &why);
	keeper_fails(node, sqlstate, "the registry refuses");
}

/* What has become of the call, by the judge. */
static void
judge_attempt(Node *node, const Reply *reply, const UidgenGrant *before)
{
	Memory	   *memory = &node->memory;
	const Keeper *keeper = &node->keeper;
	const UidgenAttempt *attempt = &keeper->attempt;
	CallKind	kind = keeper->call.kind;

	events[EVENT_OLD_USED] += attempt->heard && keeper->call.to_old;
	events[EVENT_NOT_FOLLOWED] += attempt->heard && attempt->verdict == UIDGEN_CLOCK_STAYS;
	if (attempt->state == UIDGEN_ATTEMPT_UNUSABLE)
	{
		events[EVENT_OLD_ANSWER]++;
		events[EVENT_UNANSWERED]++;
		keeper_gives_up(node);
	}
	if (kind == CALL_IMPORT && reply->granted && attempt->acquired)
		judge_imported(node, &keeper->call);
	if (kind == CALL_RENEW && attempt->heard && !attempt->renewed)
		events[EVENT_FENCED]++;
	if (attempt->renewed)
	{
		if (reply->last > before->last)
			judge_told(node, before->worker, before->last + 1, reply->last);
		judge_renewal(node, reply);
	}
	if (kind == CALL_ACQUIRE && attempt->heard && reply->granted)
	{
		memory->acquired = reply->clock;
		memory->acquired_call = reply->number;
		/* It was not taken, but asked for again. */
		if (!attempt->acquired && attempt->call.kind == UIDGEN_CALL_ACQUIRE)
		{
			events[EVENT_TAUGHT]++;
			/* By another one it may be lower. */
			if (node->moves == 0)
				judge_known(node, reply);
		}
	}
	if (attempt->acquired)
		judge_acquisition(node, before);
}

/* As the link checks it. */
static bool
is_done(const Call *call, const Reply *reply)
{
	return call->kind == CALL_IMPORT ? !call->to_old : reply->granted;
}

/* The reply has come.  The attempt goes on, and may send another call. */
void
keeper_hear(Node *node)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	Reply		reply = keeper->reply;
	UidgenKeeping keeping = keeping_of(node);
	UidgenGrant before = memory->lease.grant;
	const UidgenReply heard = {
		.done = is_done(&keeper->call, &reply),
		.later = !reply.granted && reply.has_first,
		.grant = {
			.worker = reply.worker,
			.token = keeper->call.token,
			.first = reply.first,
			.last = reply.last,
			.seen = reply.seen,
			.never_used = reply.never_used,
			.free_workers = reply.free_workers,
			.registry = uidgen_node_registry(reply.word.life.registry_id),
		},
		.node = {
			.word = reply.word,
			.reading = {
				.boot_before = keeper->call.boot_before,
				.boot_after = node_boot(node),
				.registry = reply.clock,
				.wall_offset = node->wall - node->boot,
			},
		},
	};

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
	if (reply.sqlstate[0])
	{
		hear_refusal(node, reply.sqlstate);
		return;
	}
	if (keeper->call.to_old)
		memory->causes |= CAUSE_OLD_PRIMARY;
	if (is_broken("older_timeline_used"))
		memory->node.seen.timeline = INT_MIN;
	uidgen_attempt_hear(&keeping, &keeper->attempt, &heard, new_number());
	judge_attempt(node, &reply, &before);
	go_on(node);
}

/* Before it had a shared registry this node had a local one, which granted this worker id. */
void
node_had_local_grant(Node *node, int worker)
{
	UidgenKeeping keeping = keeping_of(node);
	UidgenGrant grant = {
		.worker = worker,
		.token = new_number(),
		.first = node_tick(node),
		.last = node_tick(node) + world.setup.local_window,
		.registry = 1,
	};

	node->memory.local_worker = worker;
	judge_local(node, &grant);
	uidgen_publish_acquisition(&keeping, &grant, node->wall - node->boot, UIDGEN_STEP_NONE);
}
