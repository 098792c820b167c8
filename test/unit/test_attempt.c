/*
 * test_attempt.c
 *	  Proves src/core/attempt.c, publish.c and pause.h without a server, under the sanitizers.
 *
 * An attempt is driven call by call, as the keeper does it: what each call says, what its reply is
 * taken for, and what callers see then.  That no promise is broken in any order of events is for
 * test/fuzz/fuzz_lease.c (local registries) and test/simulation (fleets), which drive the same code.
 * Ticks are milliseconds and have 16 positions; the clock is at tick 1000.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/attempt.h"
#include "core/pause.h"

#include "tap.h"

#define BITS 4
#define POSITION(tick, sequence) ((uint64_t) (tick) << BITS | (uint64_t) (sequence))
#define TICK INT64_C(1000)		/* microseconds */
#define EPOCH (INT64_C(500000) * TICK)
#define NOW 1000
#define WINDOW 100
#define MAX_LEAD 400
#define TIMEOUT (50 * TICK)
#define LOCAL 7					/* a local registry */
#define REGISTRY INT64_C(5)		/* a fleet's */
#define LARGE_STEP 30
#define HALF_DAY (INT64_C(12) * 3600 * 1000 * TICK)

static UidgenTicketWords words;
static UidgenLease lease;
static UidgenNode node;
static UidgenGrant unused;
static UidgenTimes times;
static UidgenKeeping keeping;
static UidgenAttempt attempt;
static UidgenReply reply;
static int64_t token;			/* that was proposed last */

static const UidgenTicketRules rules = {.sequence_bits = BITS, .last_tick = 100000};

static UidgenTimes
look(const void *machine)
{
	(void) machine;
	return times;
}

static uint64_t
constant(const UidgenGrant *grant)
{
	return (uint64_t) grant->worker + 1;
}

/* The clock goes on. */
static void
pass(UidgenTick ticks)
{
	times.wall += ticks * TICK;
	times.boot += ticks * TICK;
}

/* A server that has started. */
static void
begin(void)
{
	uidgen_ticket_init(&words);
	uidgen_lease_init(&lease);
	uidgen_node_init(&node);
	unused = (UidgenGrant) {0};
	times = (UidgenTimes) {.wall = EPOCH + NOW * TICK, .boot = 7 * TICK};
	keeping = (UidgenKeeping) {
		.words = &words,
		.lease = &lease,
		.node = &node,
		.unused = &unused,
		.rules = &rules,
		.settings = {
			.worker = -1,
			.other_workers = true,
			.unit = TICK,
			.sequence_bits = BITS,
			.last_tick = rules.last_tick,
			.window = WINDOW,
			.bounds = {.ahead = 20, .burst = 8, .crash = 161, .large_step = LARGE_STEP},
		},
		.fleet_window = WINDOW,
		.padding_factor = 40,
		.epoch = EPOCH,
		.timeout = TIMEOUT,
		.look = look,
		.constant = constant,
	};
	attempt.action.leaves = true;	/* nothing of a former attempt counts */
	uidgen_publish_bounds(&keeping);
}

static void
serve(bool fleet)
{
	uidgen_attempt_begin(&keeping, &attempt, fleet, LOCAL, ++token);
}

static void
hear(void)
{
	uidgen_attempt_hear(&keeping, &attempt, &reply, ++token);
}

static void
fails(bool did_nothing, bool locked, bool too_late)
{
	const UidgenNoReply why = {did_nothing, locked, too_late};

	uidgen_attempt_fails(&keeping, &attempt, &why);
}

static bool
calls(UidgenCallKind kind)
{
	return attempt.state == UIDGEN_ATTEMPT_CALLS && attempt.call.kind == kind;
}

static void
is_published(UidgenTick first, UidgenTick last, const char *name)
{
	if (!ok(uidgen_atomic_read(&words.position) == POSITION(first, 0) &&
			uidgen_atomic_read(&words.limit) == POSITION(last, 15) &&
			(uidgen_atomic_read(&words.era) & 1) == 0 &&
			uidgen_atomic_read(&words.constant) == (uint64_t) lease.grant.worker + 1, "%s", name))
		printf("# position %" PRIu64 ", limit %" PRIu64 "\n", uidgen_atomic_read(&words.position) >> BITS,
			   uidgen_atomic_read(&words.limit) >> BITS);
}

static bool
in_era(void)
{
	return (uidgen_atomic_read(&words.era) & 1) == 0;
}

/* ---- a local registry ---- */

static void
grant(int worker, UidgenTick first)
{
	reply = (UidgenReply) {
		.done = true,
		.grant = {.worker = worker, .token = 70, .first = first, .last = first + WINDOW, .registry = LOCAL},
	};
}

static void
hold_local(void)
{
	begin();
	serve(false);
	grant(3, NOW);
	hear();
}

static void
test_local(void)
{
	begin();
	times.wall -= TICK / 2;
	serve(false);
	ok(calls(UIDGEN_CALL_ACQUIRE), "no grant: acquire");
	is_int(attempt.call.request.window, WINDOW, "... a window");
	is_int(attempt.call.request.wanted, -1, "... of any worker id");
	is_int(attempt.call.claimed_worker, -1, "... and nothing is claimed");
	is_int(attempt.clocks.tick, NOW - 1, "... by the clock, with parts of a tick left out");
	ok(lease.nknown == 0 && !lease.held, "... and nothing is held yet");
	times.wall += TICK / 2;
	grant(3, NOW);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE && attempt.acquired && !attempt.renewed, "a grant: that is all");
	is_published(NOW, NOW + WINDOW, "... and callers see it");
	is(uidgen_atomic_read(&words.renew_at), POSITION(NOW + WINDOW - WINDOW * 40 / 100, 15), "... with the padding");
	is(uidgen_atomic_read(&words.clock_offset), 0, "... and go by the wall clock");
	is_int(lease.clock_offset, times.wall - TICK / 2 - times.boot, "... whose offset from before the call is noted");

	pass(30);
	serve(false);
	ok(calls(UIDGEN_CALL_RENEW), "a grant: renew");
	ok(attempt.call.worker == 3 && attempt.call.old_token == 70 && attempt.call.until == NOW + WINDOW,
	   "... the one in force");
	is_int(attempt.call.needed, NOW + 1, "... to beyond the position");
	is_int(attempt.call.window, WINDOW, "... by a window");
	is_int(attempt.call.at_most, NOW + 30 + LARGE_STEP, "... and not after a leap");
	pass(5);
	reply = (UidgenReply) {.done = true, .grant = {.token = 71, .last = NOW + 230}};
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE && attempt.renewed && !attempt.acquired, "renewed: that is all");
	is_published(NOW, NOW + 230, "... and callers see it");
	is_int(lease.grant.token, 71, "... with its new token");
	is_int(lease.grant.worker, 3, "... and its worker id");
	is_int(uidgen_lease_known_until(&lease, 3), NOW + 230, "... and it is known");

	serve(false);
	reply = (UidgenReply) {0};
	uidgen_atomic_write(&words.position, POSITION(NOW + 33, 1));
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.lost_worker == 3, "the row was taken: acquire");
	is_int(attempt.call.request.floor, NOW + 34, "... above what was drawn meanwhile");
	ok(in_era(), "... while ids go on");
	grant(4, NOW + 40);
	hear();
	is_published(NOW + 40, NOW + 40 + WINDOW, "... and another one is used");
	is_int(attempt.lost_worker, 3, "... and one knows which was lost");

	begin();
	keeping.settings.window = 1000;
	lease.released = true;
	serve(false);
	ok(!lease.released, "what was handed back is asked for once");
	grant(3, NOW);
	reply.grant.last = NOW + 1000;
	hear();
	is(uidgen_atomic_read(&words.renew_at), POSITION(NOW + 1000 - 400, 15), "the padding is a part of the window");

	hold_local();
	serve(false);
	is_int(attempt.held_worker, 3, "the worker id in force is noted");
	fails(false, false, false);
	ok(attempt.state == UIDGEN_ATTEMPT_NO_REPLY && in_era() && lease.grant.last == NOW + WINDOW,
	   "no reply: nothing changes");
	serve(false);
	ok(calls(UIDGEN_CALL_RENEW) && attempt.lost_worker == -1, "... and the next attempt is like the first");
}

static void
test_teaching(void)
{
	hold_local();
	uidgen_lease_recall(&lease, 4, NOW + 500);
	lease.held = false;
	serve(false);
	grant(4, NOW + 500);
	hear();
	ok(calls(UIDGEN_CALL_RENEW) && attempt.taught, "ticks that were granted before: the registry is taught");
	ok(attempt.call.worker == 4 && attempt.call.old_token == 70 && attempt.call.until == NOW + 500 + WINDOW,
	   "... by a renewal of that grant");
	ok(attempt.call.needed == NOW + 500 && attempt.call.window == 0, "... to what is known, and no further");
	is_int(attempt.call.at_most, NOW + LARGE_STEP, "... and not after a leap");
	ok(!attempt.acquired, "... and nothing of it is used");
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE), "... then it is asked again");
	grant(4, NOW + 501);
	hear();
	is_published(NOW + 501, NOW + 501 + WINDOW, "... and what it grants now is used");

	lease.held = false;
	serve(false);
	grant(4, NOW + 501);
	hear();
	reply.done = false;
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_UNTAUGHT, "a registry that cannot be taught: an error");
	is_int(attempt.known, NOW + 501 + WINDOW, "... which says what is known");
	is_int(attempt.grant.first, NOW + 501, "... and what it granted");

	lease.held = false;
	serve(false);
	for (int i = 0; i <= UIDGEN_KNOWN_GRANTS; i++)
	{
		grant(4, NOW + 501);
		hear();
		hear();
	}
	ok(calls(UIDGEN_CALL_ACQUIRE), "each of the known worker ids may be taught");
	grant(4, NOW + 501);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_UNTAUGHT, "... and no more");
}

static void
test_local_steps(void)
{
	hold_local();
	times.wall += (LARGE_STEP + 1) * TICK;
	serve(false);
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.call.request.avoid == 3, "a leap: acquire another worker id");
	grant(4, NOW + 40);
	reply.grant.never_used = true;
	hear();
	ok(attempt.acquired && attempt.took_row && lease.step_rows == 1, "... and the row is counted");

	hold_local();
	serve(false);
	reply = (UidgenReply) {0};
	hear();
	grant(4, NOW + 40);
	reply.grant.never_used = true;
	hear();
	ok(attempt.took_row && lease.step_rows == 0, "a row that is taken for another reason is not");

	hold_local();
	keeping.settings.other_workers = false;
	times.wall += (LARGE_STEP + 1) * TICK;
	serve(false);
	ok(attempt.state == UIDGEN_ATTEMPT_LARGE_STEP && in_era(), "no other worker id: an error");

	/* The clock is set back while the registry is asked. */
	begin();
	serve(false);
	times.wall -= (LARGE_STEP + 1) * TICK;
	grant(3, NOW);
	hear();
	serve(false);
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.action.lease.step.kind == UIDGEN_STEP_BACK, "set back meanwhile: acquire again");
	grant(4, NOW - LARGE_STEP - 1);
	hear();
	is_published(NOW - LARGE_STEP - 1, NOW - LARGE_STEP - 1 + WINDOW, "... for the true time");
	serve(false);
	ok(calls(UIDGEN_CALL_RENEW), "... once");
	begin();
	serve(false);
	times.wall -= (LARGE_STEP + 1) * TICK;
	grant(3, NOW - LARGE_STEP - 1);
	hear();
	serve(false);
	ok(calls(UIDGEN_CALL_RENEW), "set back before the registry looked: its grant is true");

	hold_local();
	times.wall -= EPOCH + 5 * NOW * TICK;
	serve(false);
	is_int(attempt.clocks.tick, 0, "before the epoch it is tick 0");
	times.wall = INT64_MAX;
	serve(false);
	is_int(attempt.clocks.tick, rules.last_tick, "at the end of time it is the last one");
}

static void
release(bool fleet, uint64_t registry)
{
	attempt.acquired = true;	/* nothing of a former attempt counts */
	attempt.lost_worker = 5;
	uidgen_attempt_release(&keeping, &attempt, fleet, registry);
}

static void
test_local_release(void)
{
	hold_local();
	uidgen_atomic_write(&words.position, POSITION(NOW + 10, 1));
	release(false, LOCAL);
	ok(calls(UIDGEN_CALL_RELEASE) && !attempt.acquired && attempt.lost_worker == -1, "the end: hand back");
	ok(attempt.call.worker == 3 && attempt.call.old_token == 70 && attempt.call.last_issued == NOW + 10,
	   "... what was not issued");
	ok(!in_era() && !lease.held, "... and nothing more is");
	is_int(uidgen_lease_known_until(&lease, 3), NOW + WINDOW, "... until the reply all of it is known");
	reply = (UidgenReply) {.done = true};
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE, "... then that is all");
	is_int(uidgen_lease_known_until(&lease, 3), NOW + 10, "... and only what was issued is known");

	hold_local();
	release(false, LOCAL);
	fails(false, false, false);
	is_int(uidgen_lease_known_until(&lease, 3), NOW + WINDOW, "no reply: all of it is known");

	hold_local();
	release(false, LOCAL + 1);
	ok(attempt.state == UIDGEN_ATTEMPT_DONE && !in_era(), "a grant of another registry is not handed back");
}

/* ---- a fleet ---- */

static UidgenMicroseconds ahead;	/* of the registry's clock to the wall clock */
static UidgenTick quarantine_until;

/* A reply of a registry, which took no time. */
static void
answer(int64_t registry_id, int timeline)
{
	reply = (UidgenReply) {
		.node = {
			.word = {.life = {registry_id, 9, timeline}, .max_lead = MAX_LEAD, .quarantine_until = quarantine_until},
			.reading = {.boot_before = times.boot, .boot_after = times.boot, .registry = times.wall + ahead, .wall_offset = times.wall - times.boot},
		},
	};
}

static void
fleet_grant(int worker, UidgenTick first)
{
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {
		.worker = worker,
		.token = attempt.call.token,
		.first = first,
		.last = first + WINDOW,
		.registry = uidgen_node_registry(REGISTRY),
	};
}

static void
begin_fleet(void)
{
	ahead = 0;
	quarantine_until = -1;
	begin();
	uidgen_node_goes(&node, 1);
}

static void
hold_fleet(void)
{
	begin_fleet();
	serve(true);
	fleet_grant(3, NOW);
	hear();
}

/* Its only token is this one. */
static bool
has_token(int64_t one)
{
	return node.ntokens == 1 && node.tokens[0] == one;
}

static void
test_fleet(void)
{
	int64_t		first;

	begin_fleet();
	serve(true);
	first = token;
	ok(calls(UIDGEN_CALL_ACQUIRE), "no grant: acquire");
	ok(attempt.call.token == first && has_token(first), "... with a new token, which is remembered");
	ok(attempt.call.ntokens == 0 && attempt.call.claimed_worker == -1 && attempt.call.claimed_until == -1,
	   "... and no other one, nor a claim");
	ok(attempt.call.at == UIDGEN_NOT_KNOWN && attempt.call.not_after == UIDGEN_NOT_KNOWN,
	   "... and what is not known is not said");
	ahead = 10 * TICK;
	fleet_grant(3, NOW + 10);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE && attempt.acquired && attempt.heard, "a grant: that is all");
	is_published(NOW + 10, NOW + 10 + WINDOW, "... and callers see it");
	is_int((int64_t) uidgen_atomic_read(&words.clock_offset), times.wall + ahead - times.boot, "... and go by the fleet's time");
	ok(node.claims && has_token(first), "... and it can be claimed");

	pass(20);
	times.wall += HALF_DAY;
	serve(true);
	ok(calls(UIDGEN_CALL_RENEW) && !attempt.acquired && !attempt.heard, "a grant: renew");
	ok(attempt.call.worker == 3 && attempt.call.old_token == first && attempt.call.until == NOW + 10 + WINDOW,
	   "... the one in force");
	ok(attempt.call.token == token && attempt.call.ntokens == 1 && attempt.call.tokens[0] == first && node.ntokens == 2,
	   "... with a new token, and the one that the row has");
	is_int(attempt.call.at, NOW + 30, "... at the fleet's time, wherever the wall clock is");
	is_int(attempt.call.not_after, EPOCH + (NOW + 30) * TICK + TIMEOUT, "... until the node waits no longer");
	is_int(attempt.call.needed, NOW + 11, "... to beyond the position");
	is_int(attempt.call.window, WINDOW, "... by a window");
	ahead = 10 * TICK - HALF_DAY;
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 200};
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE && attempt.renewed && !attempt.acquired, "renewed: that is all");
	is_published(NOW + 10, NOW + 200, "... and callers see it");
	ok(has_token(token - 1) && lease.grant.token == token - 1, "... with the new token alone");

	serve(true);
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 200};
	attempt.call.needed = NOW + 201;
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_TOO_FAR && attempt.renewed && attempt.beyond == NOW + 201,
	   "a renewal that does not reach far enough: an error");

	serve(true);
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 201};
	attempt.call.needed = NOW + 201;
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE, "... and one that just does is none");

	/* The padding is a part of what is left: the registry grants a quarter of a window. */
	hold_fleet();
	pass(60);
	serve(true);
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + WINDOW};
	hear();
	is(uidgen_atomic_read(&words.renew_at), POSITION(NOW + WINDOW - 16, 15), "the padding fits what is left");
}

static void
test_cut(void)
{
	begin_fleet();
	keeping.fleet_window = 1000;
	serve(true);
	is_int(attempt.call.request.window, 1000, "before the first answer a window is not cut");
	fleet_grant(3, NOW);
	reply.grant.last = NOW + 200;
	hear();
	serve(true);
	is_int(attempt.call.window, MAX_LEAD / 2, "after it a window is half of max_lead");
	is(uidgen_atomic_read(&words.ahead), 20, "... and max_ahead what fits");
	keeping.settings.bounds.ahead = 10000;
	uidgen_publish_bounds(&keeping);
	ok(uidgen_atomic_read(&words.ahead) < MAX_LEAD, "... also when the settings change");
	answer(REGISTRY, 1);
	reply.done = true;
	reply.node.word.max_lead = 40;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 300};
	hear();
	ok(uidgen_atomic_read(&words.ahead) < 40, "... and with a renewal, when max_lead does");
	begin_fleet();
	keeping.settings.bounds.ahead = 10000;
	serve(true);
	fleet_grant(3, NOW);
	hear();
	ok(uidgen_atomic_read(&words.ahead) < MAX_LEAD, "... and with the first grant");
	hold_local();
	keeping.settings.bounds.ahead = 10000;
	node.joined = true;
	node.max_lead = MAX_LEAD;
	uidgen_publish_bounds(&keeping);
	is(uidgen_atomic_read(&words.ahead), 10000, "what a local registry granted is not cut");
}

static void
test_fenced(void)
{
	hold_fleet();
	serve(true);
	answer(REGISTRY, 1);
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.lost_worker == 3, "the row is another node's: acquire");
	ok(attempt.call.claimed_worker == 3 && attempt.call.claimed_until == NOW + WINDOW, "... and claim it");
	ok(has_token(token), "... with none of its tokens");
	fleet_grant(3, NOW + WINDOW + 1);
	hear();
	ok(attempt.acquired && lease.grant.worker == 3, "... and it is found again");

	begin_fleet();
	serve(true);
	fleet_grant(0, NOW);
	hear();
	serve(true);
	answer(REGISTRY, 1);
	hear();
	ok(attempt.call.claimed_worker == 0 && attempt.call.claimed_until == NOW + WINDOW, "worker id 0 is claimed like others");

	/* Two tokens: the row may have the other one. */
	hold_fleet();
	serve(true);
	fails(false, false, false);
	is_int(node.ntokens, 2, "no reply: the row may have either token");
	serve(true);
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.call.ntokens == 2, "... so it is acquired with both");
	answer(REGISTRY, 1);
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.calls == 2 && attempt.call.ntokens == 2,
	   "the registry had to write something down: again");
	ok(attempt.heard, "... which was heard");
	fails(false, false, false);
	ok(!attempt.heard, "... and then there was no reply");
	serve(true);
	fleet_grant(3, NOW + WINDOW + 1);
	hear();
	ok(attempt.acquired && has_token(token - 1), "a reply: the row has the token that was sent");
	serve(true);
	fails(false, false, false);
	serve(true);

	uidgen_node_goes(&node, 2);
	fails(false, false, false);
	serve(true);
	ok(calls(UIDGEN_CALL_RENEW), "elsewhere: first a renewal");
	answer(REGISTRY, 1);
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.call.ntokens == 3 && attempt.call.tokens[2] != token - 1,
	   "... and its token, which the row has not got, is forgotten");

	hold_fleet();
	uidgen_node_goes(&node, 2);
	serve(true);
	answer(REGISTRY + 1, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 200};
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE) && !attempt.renewed && attempt.call.claimed_worker == -1,
	   "another registry: its row is not the one that is held");
}

static void
test_known(void)
{
	hold_fleet();
	serve(true);
	answer(REGISTRY, 1);
	hear();
	fleet_grant(3, NOW + WINDOW);
	hear();
	ok(calls(UIDGEN_CALL_ACQUIRE) && attempt.taught && !attempt.acquired, "ticks that were granted before: again");
	is_int(attempt.call.request.floor, NOW + WINDOW + 1, "... above them");
	answer(REGISTRY, 1);
	reply.later = true;
	reply.grant.first = NOW + 900;
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_TOO_FAR && attempt.beyond == NOW + 900, "they would be too far ahead: an error");
	is_int(node.ntokens, 0, "... and the row is left");

	hold_fleet();
	lease.held = false;
	serve(true);
	answer(REGISTRY, 1);
	reply.later = true;
	reply.grant.first = NOW + 900;
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_TOO_FAR && node.ntokens == 1, "too far, and nothing was taught: the row is kept");

	begin_fleet();
	serve(true);
	for (int i = 1; i < UIDGEN_ATTEMPT_CALLS_MAX; i++)
	{
		answer(REGISTRY, 1);
		hear();
	}
	ok(calls(UIDGEN_CALL_ACQUIRE), "ten calls are made");
	answer(REGISTRY, 1);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_UNGRANTED && attempt.calls == 10, "... and no more");
}

static void
test_whose_answer(void)
{
	hold_fleet();
	serve(true);
	answer(REGISTRY + 1, 1);
	reply.done = true;
	reply.grant.last = NOW + 300;
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_UNUSABLE && !attempt.heard, "another registry: no answer");
	ok(node.ntokens == 2 && lease.grant.last == NOW + WINDOW, "... and nothing changes");

	begin_fleet();
	serve(true);
	answer(REGISTRY, 1);
	hear();
	answer(REGISTRY + 1, 1);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_UNUSABLE && !attempt.heard, "... also after one that counts");

	hold_fleet();
	node.seen.timeline = 2;
	serve(true);
	answer(REGISTRY, 1);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_UNUSABLE && node.ntokens == 2, "an older timeline: no answer");

	begin_fleet();
	serve(true);
	ahead = 3 * 2 * HALF_DAY;
	fleet_grant(3, NOW);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_CLOCKS && attempt.clock_step == ahead, "clocks that are days apart: an error");
	ok(!lease.held && node.ntokens == 1, "... and the answer does not count");

	hold_fleet();
	serve(true);
	fails(true, false, false);
	ok(has_token(lease.grant.token) && node.locked == 0, "a call that did nothing: the row has its token");
	serve(true);
	fails(true, true, false);
	ok(node.locked == 1 && has_token(lease.grant.token), "a row that is locked is counted");
	serve(true);
	fails(false, true, false);
	ok(node.locked == 0 && node.ntokens == 2, "... but only if that is certain");

	hold_fleet();
	serve(true);
	fails(true, false, true);
	serve(true);
	is_int(attempt.call.not_after, UIDGEN_NOT_KNOWN, "a call that came too late: the next one has no limit");
	ok(attempt.call.at == NOW, "... but the fleet's time is known");

	hold_local();
	serve(false);
	node.clock.registry_known = true;
	fails(true, true, true);
	ok(node.locked == 0 && node.ntokens == 0 && node.clock.registry_known, "a local registry has nothing to do with it");
}

static void
test_clock(void)
{
	hold_fleet();
	pass(10);
	serve(true);
	ahead = 200 * TICK;
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 300};
	hear();
	ok(attempt.verdict == UIDGEN_CLOCK_STAYS && attempt.clock_step == ahead && attempt.caught_up == 0,
	   "the registry's clock leaps: not followed");
	is_int((int64_t) uidgen_atomic_read(&words.clock_offset), times.wall - times.boot, "... so callers see their own time");

	lease.held = false;
	node.ntokens = 0;
	ahead = (MAX_LEAD + 100) * TICK;
	serve(true);
	fleet_grant(4, NOW + 10 + MAX_LEAD);
	hear();
	ok(attempt.acquired && attempt.caught_up == 0, "a grant within max_lead can be waited for");
	lease.held = false;
	node.ntokens = 0;
	serve(true);
	fleet_grant(5, NOW + 10 + MAX_LEAD + 1);
	hear();
	is_int(attempt.caught_up, MAX_LEAD + 1, "one beyond it: the clock is followed after all");
	is_int((int64_t) uidgen_atomic_read(&words.clock_offset), times.wall + ahead - times.boot, "... so callers see the registry's time");

	hold_fleet();
	times.boot += (WINDOW - 1) * TICK;
	serve(true);
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 300};
	hear();
	ok(attempt.verdict == UIDGEN_CLOCK_AGREES, "a step that is less than a window is none");

	hold_fleet();
	times.boot += (WINDOW + 1) * TICK;	/* the wall clock has not */
	serve(true);
	answer(REGISTRY, 1);
	reply.done = true;
	reply.grant = (UidgenGrant) {.token = attempt.call.token, .last = NOW + 300};
	hear();
	ok(attempt.verdict == UIDGEN_CLOCK_FOLLOWS && attempt.clock_step == -(WINDOW + 1) * TICK, "a machine that slept follows");
	is_int((int64_t) uidgen_atomic_read(&words.clock_offset), times.wall - times.boot, "... at once");
}

/* ---- from a local registry to a fleet ---- */

/* Worker ids 3 to 6 were granted locally; 3 is in use, up to the tick 1010. */
static void
move(void)
{
	begin_fleet();
	serve(false);
	grant(3, NOW);
	hear();
	uidgen_lease_recall(&lease, 4, NOW + 50);
	uidgen_lease_recall(&lease, 5, NOW - 1);
	uidgen_lease_recall(&lease, 6, NOW);
	uidgen_atomic_write(&words.position, POSITION(NOW + 10, 1));
	serve(true);
}

static void
test_move(void)
{
	UidgenTicket ticket;
	uint64_t	era;

	move();
	ok(calls(UIDGEN_CALL_ACQUIRE) && in_era(), "a fleet: acquire, while the local grant is used");
	is(uidgen_atomic_read(&words.clock_offset), 0, "... by the wall clock");
	fleet_grant(8, NOW);
	uidgen_ticket_begin(&words, &ticket);
	era = ticket.era;
	hear();
	ok(calls(UIDGEN_CALL_IMPORT) && !attempt.acquired, "then what was granted elsewhere is brought along");
	ok(attempt.call.nends == 3 && attempt.call.workers[0] == 3 && attempt.call.workers[1] == 4 && attempt.call.workers[2] == 6, "... if the clock has not passed it");
	ok(attempt.call.ends[0] == NOW + 10 && attempt.call.ends[1] == NOW + 50 && attempt.call.ends[2] == NOW, "... of the grant in force what was issued");
	ok(!in_era(), "... and nothing more is issued of it");
	ok(attempt.call.registry_id == REGISTRY && attempt.call.timeline == 1, "... to this registry alone");
	is_int(attempt.call.not_after, times.wall + TIMEOUT, "... until the node waits no longer");
	ok(unused.worker == 8, "... and the grant is kept meanwhile");
	answer(REGISTRY, 1);
	reply.done = true;
	hear();
	ok(attempt.acquired && lease.grant.worker == 8 && unused.registry == 0 && unused.worker == 0, "... and then it is used");
	is_published(NOW + 11, NOW + WINDOW, "... above what was issued");

	move();
	fleet_grant(8, NOW);
	hear();
	reply = (UidgenReply) {0};
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_ELSEWHERE && !attempt.acquired, "brought elsewhere: an error");
	ok(in_era() && lease.grant.worker == 3 && uidgen_atomic_read(&words.clock_offset) == 0, "... and the local grant goes on");
	uidgen_ticket_begin(&words, &ticket);
	ok(ticket.era != era, "... in an era of its own");
	serve(true);
	ok(calls(UIDGEN_CALL_IMPORT) && attempt.calls == 0 && attempt.grant.worker == 8, "the next attempt has the grant already");
	fails(true, true, false);
	ok(attempt.state == UIDGEN_ATTEMPT_NO_REPLY && in_era() && lease.grant.worker == 3, "no reply: the local grant goes on");
	ok(node.ntokens == 1 && node.locked == 0, "... and the row of the other one is as it was");
	pass(WINDOW);
	serve(true);
	ok(calls(UIDGEN_CALL_ACQUIRE), "a grant that is over is not used");

	move();
	fleet_grant(3, NOW + 11);
	hear();
	ok(calls(UIDGEN_CALL_IMPORT) || attempt.acquired || calls(UIDGEN_CALL_ACQUIRE), "the same worker id");
	ok(!calls(UIDGEN_CALL_IMPORT), "... is above what was granted, or asked for again");

	move();
	uidgen_lease_recall(&lease, 4, NOW + 1);
	lease.known_others = NOW;
	fleet_grant(8, NOW + 1);
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_MANY_ENDS && in_era(), "more than is known one by one: an error, and ids go on");
	move();
	lease.known_others = NOW - 1;
	fleet_grant(8, NOW);
	hear();
	ok(calls(UIDGEN_CALL_IMPORT), "... but not where the clock has passed it");

	/* All that a lease can know of. */
	begin_fleet();
	serve(false);
	grant(0, NOW);
	hear();
	for (int i = 1; i < UIDGEN_KNOWN_GRANTS; i++)
		uidgen_lease_recall(&lease, i, NOW + i);
	uidgen_atomic_write(&words.position, POSITION(NOW + 10, 0));
	serve(true);
	ahead = 20 * TICK;
	fleet_grant(100, NOW + 20);
	hear();
	ok(calls(UIDGEN_CALL_IMPORT) && attempt.call.nends == UIDGEN_KNOWN_GRANTS, "as many as are known one by one are brought along");
	answer(REGISTRY, 1);
	hear();
	serve(true);
	is_int(attempt.clocks.tick, NOW + 20, "by then the fleet's time is known, and counts");

	begin_fleet();
	serve(false);
	grant(3, NOW);
	hear();
	pass(WINDOW + 1);
	serve(true);
	fleet_grant(8, NOW + WINDOW + 1);
	hear();
	ok(attempt.acquired, "nothing to bring along: the grant is used at once");

	/* The registry's clock is behind: what it has not reached is not over for it. */
	begin_fleet();
	serve(false);
	grant(3, NOW);
	hear();
	uidgen_atomic_write(&words.position, POSITION(NOW + 10, 0));
	pass(15);
	serve(true);
	ahead = -10 * TICK;
	fleet_grant(8, NOW + 5);
	hear();
	ok(calls(UIDGEN_CALL_IMPORT) && attempt.call.ends[0] == NOW + 9, "what the registry's clock has not reached counts");
	begin_fleet();
	serve(false);
	grant(3, NOW);
	hear();
	uidgen_atomic_write(&words.position, POSITION(NOW + 10, 0));
	pass(5);
	serve(true);
	ahead = 20 * TICK;
	fleet_grant(8, NOW + 25);
	hear();
	ok(calls(UIDGEN_CALL_IMPORT), "... and so does what ours has not");
}

/* The registry's clock is known to a few ticks: what it may not have reached counts. */
static void
test_width(void)
{
	begin_fleet();
	serve(false);
	grant(3, NOW);
	hear();
	uidgen_atomic_write(&words.position, POSITION(NOW + 10, 0));
	pass(12);
	serve(true);
	ahead = -5 * TICK;
	fleet_grant(8, NOW + 12);
	reply.node.reading.boot_before -= 5 * TICK;
	hear();
	ok(calls(UIDGEN_CALL_IMPORT), "what a slow reply leaves open is brought along");
}

static void
test_fleet_release(void)
{
	hold_fleet();
	release(true, 0);
	ok(calls(UIDGEN_CALL_RELEASE) && attempt.call.worker == 3, "the end: hand back");
	ok(attempt.call.ntokens == 1 && attempt.call.tokens[0] == lease.grant.token, "... with the tokens of the row");
	is_int(attempt.call.not_after, times.wall + TIMEOUT, "... until the node waits no longer");
	ok(!in_era() && !lease.held && !node.claims && node.ntokens == 0, "... which are forgotten before it is sent");
	reply = (UidgenReply) {.done = true};
	hear();
	ok(attempt.state == UIDGEN_ATTEMPT_DONE, "... and that is all");
	is_int(uidgen_lease_known_until(&lease, 3), NOW + WINDOW, "... and all that was granted is known");

	hold_local();
	release(true, 0);
	ok(attempt.state == UIDGEN_ATTEMPT_DONE && !in_era(), "a local grant is not handed back there");
}

static void
test_pauses(void)
{
	is_int(uidgen_pause(0, 5000), 50, "the first pause");
	is_int(uidgen_pause(3, 5000), 400, "each further one is twice as long");
	is_int(uidgen_pause(7, 5000), 5000, "... up to the longest");
	is_int(uidgen_pause(1000, INT64_C(1) << 40), INT64_C(50) << 16, "... and so often");
	is_int(uidgen_last_fleet_pause(0, 0), 1000, "a node without a grant asks every second");
	is_int(uidgen_last_fleet_pause(-20000, 30000), 3000, "... after a long outage it takes a tenth of that");
	is_int(uidgen_last_fleet_pause(2000, 30000), 3000, "... also while it has a short grant");
	is_int(uidgen_last_fleet_pause(4000, 30000), 4000, "whose grant lasts can wait");
	is_int(uidgen_last_fleet_pause(60000, 30000), 5000, "... for five seconds");
	is_int(uidgen_fleet_idle(4000), 30000, "a connection is kept for half a minute");
	is_int(uidgen_fleet_idle(60000), 60000, "... or a window");
}

int
main(void)
{
	test_pauses();
	test_local();
	test_teaching();
	test_local_steps();
	test_local_release();
	test_fleet();
	test_cut();
	test_fenced();
	test_known();
	test_whose_answer();
	test_clock();
	test_move();
	test_width();
	test_fleet_release();
	return done_testing();
}
