/*
 * test_node.c
 *	  Proves src/core/node.c without a server, under the sanitizers.
 *
 * Each rule by itself: how far a registry's max_lead cuts the settings; which call follows
 * from what is held, known, locked and not answered; which tokens the node's row may have; which
 * answers it uses.  Ticks have 16 positions; the clock is at tick 1000, and the grant that
 * is held reaches from there to tick 1100.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/node.h"

#include "tap.h"

#define BITS 4
#define POSITION(tick, sequence) ((uint64_t) (tick) << BITS | (uint64_t) (sequence))
#define MILLISECOND INT64_C(1000)
#define HOUR (INT64_C(3600) * 1000 * MILLISECOND)
#define NOW 1000
#define LAST (NOW + 100)
#define REGISTRY INT64_C(5)
#define WORKER 3
#define TOKEN 77
#define LARGE_STEP 30

static UidgenNode node;
static UidgenLease lease;
static UidgenTerms terms;
static UidgenClocks clocks;
static UidgenNodeAction action;
static UidgenClockVerdict verdict;
static UidgenMicroseconds step;
static int64_t cluster;			/* whose answers come */

/* An answer of a registry, whose clock is so far ahead of the node's wall clock. */
static bool
hear(int64_t registry_id, int timeline, UidgenMicroseconds ahead)
{
	UidgenRegistryWord word = {
		.life = {registry_id, cluster, timeline},
		.max_lead = 400,
		.quarantine_until = NOW + timeline,
	};
	UidgenClockReading reading = {
		.boot_before = HOUR,
		.boot_after = HOUR,
		.registry = 6 * HOUR + ahead,
		.wall_offset = 5 * HOUR,
	};

	return uidgen_node_hears(&node, &word, &reading, LARGE_STEP * MILLISECOND, &verdict, &step);
}

/* What the settings say; no registry has answered. */
static void
begin(void)
{
	uidgen_node_init(&node);
	uidgen_lease_init(&lease);
	terms = (UidgenTerms) {
		.worker = -1,
		.other_workers = true,
		.unit = MILLISECOND,
		.sequence_bits = BITS,
		.last_tick = 100000,
		.window = 100,
		.padding = 40,
		.bounds = {.ahead = 20, .burst = 8, .crash = 161, .large_step = LARGE_STEP},
	};
	clocks = (UidgenClocks) {.tick = NOW, .offset = 5 * HOUR, .boot = HOUR};
}

/* What a token is worth is known by how the calls until then have ended. */
static void
send(int64_t token)
{
	uidgen_node_sends(&node, &lease, &action, token);
}

static void
hold(int worker, int64_t token, int64_t registry_id)
{
	UidgenGrant grant = {
		.worker = worker,
		.token = token,
		.first = NOW,
		.last = LAST,
		.registry = uidgen_node_registry(registry_id),
	};

	uidgen_lease_hold(&lease, &grant, clocks.offset);
	uidgen_node_holds(&node);
}

/* A grant is held: worker id 3, ticks 1000 to 1100. */
static void
begin_held(void)
{
	begin();
	(void) hear(REGISTRY, 1, 0);
	action = (UidgenNodeAction) {.claimed_worker = -1};
	send(TOKEN);
	uidgen_node_confirmed(&node);
	hold(WORKER, TOKEN, REGISTRY);
}

static void
next(void)
{
	action = uidgen_node_next(&node, &lease, &terms, &clocks, POSITION(NOW + 60, 3), NOW);
}

static void
is_call(UidgenLeaseCall call, UidgenStepKind kind, const char *name)
{
	if (!ok(action.lease.call == call && action.lease.step.kind == kind, "%s", name))
		printf("#   got: call %d, step %d\n", action.lease.call, action.lease.step.kind);
}

static void
is_claim(int worker, int64_t until, const char *name)
{
	if (!ok(action.claimed_worker == worker && action.claimed_until == until, "%s", name))
		printf("#   got: worker id %d until %" PRId64 "\n", action.claimed_worker, action.claimed_until);
}

/* The node's row may have these tokens, the oldest first; the list ends with 0. */
static void
is_tokens(const int64_t *tokens, const char *name)
{
	int			n = 0;

	while (tokens[n] != 0 && n < node.ntokens && node.tokens[n] == tokens[n])
		n++;
	if (!ok(tokens[n] == 0 && n == node.ntokens, "%s", name))
		for (int i = 0; i < node.ntokens; i++)
			printf("#   got: %" PRId64 "\n", node.tokens[i]);
}
#define TOKENS(...) ((const int64_t[]) {__VA_ARGS__, 0})
#define NO_TOKENS ((const int64_t[]) {0})

/* ---- how far max_lead cuts the settings ---- */

static void
cut(int64_t max_lead)
{
	node.max_lead = max_lead;
	terms.window = 100;
	terms.bounds = (UidgenTicketBounds) {.ahead = 20, .burst = 8, .crash = 161, .large_step = LARGE_STEP};
	uidgen_node_cut_terms(&node, &terms);
}

static void
is_cut(int64_t window, int64_t burst, int64_t ahead, int64_t crash, int64_t large_step, const char *name)
{
	const UidgenTicketBounds *bounds = &terms.bounds;

	if (!ok(terms.window == window && bounds->burst == burst && bounds->ahead == ahead &&
			bounds->crash == crash && bounds->large_step == large_step, "%s", name))
		printf("#   got: window %" PRId64 ", burst %" PRId64 ", ahead %" PRId64 ", crash %" PRId64 ", large step %" PRId64 "\n",
			   terms.window, bounds->burst, bounds->ahead, bounds->crash, bounds->large_step);
}

static void
test_cut(void)
{
	begin();
	cut(10);
	is_cut(100, 8, 20, 161, LARGE_STEP, "cut: nothing, before a registry has answered");

	begin_held();
	cut(1000);
	is_cut(100, 8, 20, 989, 100, "cut: nothing but the room after a crash, where max_lead is long");
	ok(terms.padding == 40 && terms.unit == MILLISECOND && terms.last_tick == 100000, "cut: nor what has no bound");
	cut(200);
	is_cut(100, 8, 20, 189, 100, "cut: nor where a window is half of it");
	cut(199);
	is_cut(99, 8, 20, 188, 99, "cut: the window to half of it");
	cut(59);
	is_cut(29, 8, 19, 48, 30, "cut: then what a clock that was set back leaves, to what is left");
	cut(23);
	is_cut(11, 8, 1, 12, 23, "cut: almost");
	cut(22);
	is_cut(11, 8, 0, 11, 22, "cut: to nothing");
	cut(21);
	is_cut(10, 8, 0, 10, 21, "cut: at last bursts, which keep what they can");
	cut(20);
	is_cut(10, 7, 0, 10, 20, "cut: and get less");
	cut(8);
	is_cut(4, 1, 0, 4, 8, "cut: the shortest that a registry may have");
	cut(3);
	is_cut(1, 0, 0, 0, 3, "cut: below that nothing is negative");
	cut(40);
	is_cut(20, 8, 9, 29, LARGE_STEP, "cut: a large step is one as the settings have it,");
	cut(29);
	is_cut(14, 8, 4, 18, 29, "cut: at most max_lead,");
	terms.bounds.large_step = 5;
	terms.window = 12;
	uidgen_node_cut_terms(&node, &terms);
	is_int(terms.bounds.large_step, 12, "cut: and at least a window");

	/* Together they stay within max_lead, and ids that are renewed leave a tick. */
	for (int64_t max_lead = 8; max_lead < 400; max_lead++)
	{
		const UidgenTicketBounds *bounds = &terms.bounds;

		cut(max_lead);
		if (terms.window + bounds->burst + bounds->ahead + 3 > max_lead ||
			bounds->crash + bounds->burst + 3 != max_lead ||
			terms.window < 1 || bounds->ahead < 0 || bounds->burst < 0)
			break;
		if (max_lead == 399)
			ok(true, "cut: all together are within max_lead, whatever that is");
	}
	is_int(node.max_lead, 399, "cut: to the longest");
}

/* ---- the next call ---- */

static void
test_first(void)
{
	begin();
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "first: a worker id is acquired");
	is_claim(-1, 0, "first: none is claimed");
	is_int(action.lease.request.wanted, -1, "first: any");
	is_int(action.lease.request.floor, NOW + 61, "first: above the ids of before");
	is_int(action.lease.request.window, 100, "first: a window");
	terms.worker = 0;
	next();
	is_int(action.lease.request.wanted, 0, "first: the worker id that is set");

	/* What a local registry granted is no claim in a shared one. */
	begin();
	hold(WORKER, TOKEN, REGISTRY);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "first: what is held is not renewed before the registry has answered");
	is_claim(-1, 0, "first: nor claimed");
	(void) hear(REGISTRY, 1, 0);
	lease.grant.registry = REGISTRY;
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "first: nor what a local registry has granted");
	is_claim(-1, 0, "first: which is no claim either");
}

static void
test_renew(void)
{
	begin_held();
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "renew: the grant in force is renewed");
	is_int(action.lease.needed, NOW + 61, "renew: to beyond the next id");
	is_claim(-1, 0, "renew: which is no claim");
	clocks.offset += 50 * MILLISECOND;
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "renew: the fleet's time follows no wall clock, so no leap is followed");
	clocks.offset = 5 * HOUR;

	lease.grant.token = TOKEN + 1;
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "renew: not if the row has another token");
	is_claim(WORKER, LAST, "renew: but its grant is claimed");
	lease.grant.token = TOKEN;
	send(TOKEN + 1);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "renew: nor if it may have another one");
	is_claim(WORKER, LAST, "renew: its grant is claimed then, too");
	uidgen_node_refused(&node, &lease);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "renew: again, once it certainly has not");
	uidgen_node_fenced(&node);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "renew: not if the row has no token of ours");
	is_claim(WORKER, LAST, "renew: the end of the grant is claimed all the same");

	begin_held();
	lease.held = false;
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "lost: a worker id is acquired");
	is_claim(WORKER, LAST, "lost: the one that was held is claimed");
	is_int(action.lease.request.wanted, -1, "lost: which is no more than a wish");

	/* Another registry answers, where the settings lead now. */
	begin_held();
	uidgen_node_goes(&node, 7);
	(void) hear(REGISTRY + 1, 1, 0);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "renew: not in another registry");
	is_claim(-1, 0, "renew: where nothing is claimed");
	uidgen_node_goes(&node, 8);
	(void) hear(REGISTRY, 1, 0);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "renew: again in the one that granted");

	/* The settings lead elsewhere, while a call was not answered. */
	begin_held();
	uidgen_node_goes(&node, 7);
	(void) hear(REGISTRY, 1, 0);
	send(TOKEN + 1);
	uidgen_node_goes(&node, 7);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "elsewhere: not where the same place is asked");
	uidgen_node_goes(&node, 8);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "elsewhere: a renewal asks first, which takes nothing");
	uidgen_node_goes(&node, 8);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "elsewhere: until it is answered");
	(void) hear(REGISTRY, 1, 0);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "elsewhere: it is the same registry");
	is_claim(WORKER, LAST, "elsewhere: so the grant is claimed");
	uidgen_node_goes(&node, 7);
	ok(hear(REGISTRY + 1, 1, 0), "elsewhere: the answer of another registry counts");
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "elsewhere: it is another registry");
	is_claim(-1, 0, "elsewhere: so nothing is claimed");
}

static void
test_lost(void)
{
	begin_held();
	action = uidgen_node_lost(&node, &lease, &terms, &clocks, POSITION(NOW + 60, 3));
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "lost: acquired");
	is_claim(WORKER, LAST, "lost: the grant is claimed");
	is_int(action.lease.request.floor, NOW + 61, "lost: above the ids of before");
	uidgen_node_teach(&action, NOW + 59);
	is_int(action.lease.request.floor, NOW + 61, "taught: what is below that is no news");
	uidgen_node_teach(&action, NOW + 60);
	is_int(action.lease.request.floor, NOW + 61, "taught: nor is its end");
	uidgen_node_teach(&action, NOW + 61);
	is_int(action.lease.request.floor, NOW + 62, "taught: what is known is above it: begin above that");
	is_claim(WORKER, LAST, "taught: the claim stays");
}

/* So many answers in a row were that the row is locked: each call did nothing. */
static void
meet_locks(int n)
{
	for (int i = 0; i < n; i++)
	{
		next();
		send(TOKEN + 1);
		uidgen_node_refused(&node, &lease);
		uidgen_node_meets_lock(&node, true);
	}
	next();
}

static void
test_locked(void)
{
	begin_held();
	meet_locks(UIDGEN_NODE_LOCKED - 1);
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "locked: a row that is locked now and then is renewed");
	meet_locks(1);
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "locked: one that stays locked is left");
	is_claim(-1, 0, "locked: nothing of it is claimed");
	ok(action.leaves, "locked: it stays as it is");
	is_int(action.lease.request.wanted, -1, "locked: any other one will do");
	is_int(action.lease.request.floor, NOW + 61, "locked: ids stay in order");
	send(TOKEN + 2);
	is_tokens(TOKENS(TOKEN + 2), "locked: its token is not that of the next one");
	uidgen_node_refused(&node, &lease);
	is_tokens(TOKENS(TOKEN), "locked: it is, if there is no next one");
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "locked: another one is asked for until there is one");
	send(TOKEN + 3);
	uidgen_node_confirmed(&node);
	hold(WORKER + 1, TOKEN + 3, REGISTRY);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "locked: which is then renewed");

	begin_held();
	meet_locks(UIDGEN_NODE_LOCKED - 1);
	uidgen_node_meets_lock(&node, false);
	meet_locks(UIDGEN_NODE_LOCKED - 1);
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "locked: only answers in a row count");
	meet_locks(1);
	uidgen_node_meets_lock(&node, false);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "locked: and no longer, once the row is free");

	/* Fenced: what it claims is locked. */
	begin_held();
	uidgen_node_fenced(&node);
	lease.held = false;
	meet_locks(UIDGEN_NODE_LOCKED - 1);
	is_claim(WORKER, LAST, "locked: a claim is made again");
	meet_locks(1);
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "locked: and then another worker id is acquired");
	is_claim(-1, 0, "locked: without the claim");

	/* Its own call may be the one that has the lock. */
	begin_held();
	next();
	send(TOKEN + 1);
	uidgen_node_meets_lock(&node, false);
	meet_locks(10 * UIDGEN_NODE_LOCKED);
	is_claim(WORKER, LAST, "locked: while a call is not answered, the row is claimed for ever");

	/* Nothing else is wanted. */
	begin_held();
	terms.worker = WORKER;
	meet_locks(10 * UIDGEN_NODE_LOCKED);
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "locked: a worker id that is set is not left");
	begin_held();
	terms.worker = 0;
	lease.grant.worker = 0;
	meet_locks(10 * UIDGEN_NODE_LOCKED);
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "locked: nor is worker id 0, if that is set");

	/* A step of the fleet's time has its own reason to leave the row. */
	begin_held();
	meet_locks(UIDGEN_NODE_LOCKED);
	clocks.tick = NOW - 200;
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_BACK, "locked: a step back is followed as always");
}

static void
test_released(void)
{
	begin_held();
	send(TOKEN + 1);
	(void) uidgen_lease_end(&lease, &terms, POSITION(NOW + 60, 3));
	uidgen_node_releases(&node);
	is_tokens(NO_TOKENS, "released: no token is used any more");
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "released: acquired anew");
	is_claim(-1, 0, "released: others may have been granted what follows, so nothing is claimed");
	is_int(action.lease.request.wanted, -1, "released: any");
	action = uidgen_node_lost(&node, &lease, &terms, &clocks, 0);
	is_claim(-1, 0, "released: nor where a row is lost");
	terms.disposable = true;
	next();
	is_int(action.lease.request.wanted, WORKER, "released: a disposable one is wanted again");
	lease.grant.registry = 5;
	next();
	is_int(action.lease.request.wanted, -1, "released: not one of another registry");
	lease.grant.registry = uidgen_node_registry(REGISTRY);
	is_claim(-1, 0, "released: but not claimed");
	hold(WORKER + 1, TOKEN + 2, REGISTRY);
	next();
	is_claim(WORKER + 1, LAST, "released: once another one is held, that is claimed");
}

static void
test_back(void)
{
	begin_held();
	clocks.tick = NOW - LARGE_STEP;
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "back: a small step is none");
	clocks.tick--;
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_BACK, "back: a large one needs another row");
	is_claim(-1, 0, "back: the one in use is left as it is");
	is_int(action.lease.request.floor, 0, "back: the time is to be true");
	send(TOKEN + 1);
	is_tokens(TOKENS(TOKEN + 1), "back: so its token is not used");
	send(TOKEN + 2);
	is_tokens(TOKENS(TOKEN + 1, TOKEN + 2), "back: but that of a new row is, should no answer come");
	begin_held();
	clocks.tick = NOW - LARGE_STEP - 1;
	next();
	send(TOKEN + 1);
	uidgen_node_refused(&node, &lease);
	is_tokens(TOKENS(TOKEN), "back: refused, the row in use is not left");
	begin_held();
	terms.other_workers = false;
	clocks.tick = NOW - LARGE_STEP - 1;
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_BACK, "back: asked for, too, if there is no other worker id");
	is_claim(lease.grant.worker, lease.grant.last, "back: then the row in use is claimed");
	send(TOKEN + 1);
	is_tokens(TOKENS(TOKEN, TOKEN + 1), "back: and its token is used");

	/* A call without an answer, and then the step. */
	begin_held();
	send(TOKEN + 1);
	clocks.tick = NOW - LARGE_STEP - 1;
	next();
	send(TOKEN + 2);
	is_tokens(TOKENS(TOKEN + 2), "back: also if the row in use may have another token");
}

/* ---- tokens ---- */

static void
test_tokens(void)
{
	bool		last = true;

	begin();
	next();
	is_tokens(NO_TOKENS, "tokens: none, at first");
	send(1);
	is_tokens(TOKENS(1), "tokens: the row may have one as soon as it is sent");
	send(2);
	is_tokens(TOKENS(1, 2), "tokens: and still that of a call without an answer");
	uidgen_node_refused(&node, &lease);
	is_tokens(TOKENS(1), "tokens: not that of a call that was refused");
	send(3);
	send(4);
	uidgen_node_confirmed(&node);
	is_tokens(TOKENS(4), "tokens: only that of a call that was answered");
	uidgen_node_refused(&node, &lease);
	is_tokens(NO_TOKENS, "tokens: none");
	send(5);
	uidgen_node_fenced(&node);
	is_tokens(NO_TOKENS, "tokens: none after the row was taken");

	/* None counts that the row may have no more. */
	begin();
	next();
	send(1);
	send(2);
	uidgen_node_refused(&node, &lease);
	hold(WORKER, 2, REGISTRY);
	clocks.tick = NOW - LARGE_STEP - 1;
	next();
	send(3);
	is_tokens(TOKENS(1, 3), "tokens: a row that may be left is known by its token");

	begin();
	next();
	for (int i = 1; i <= UIDGEN_NODE_TOKENS + 1; i++)
		send(i);
	is_int(node.ntokens, UIDGEN_NODE_TOKENS, "tokens: as many as there is room for");
	for (int i = 1; i < UIDGEN_NODE_TOKENS; i++)
		last &= node.tokens[i] == i + 2;
	ok(last, "tokens: of those without an answer, the last ones");
}

/* ---- answers ---- */

static void
test_answers(void)
{
	begin();
	ok(!node.joined && !node.clock.known, "answers: at first there was none");
	ok(hear(REGISTRY, 4, 0) && verdict == UIDGEN_CLOCK_AGREES && step == 0, "answers: the first one counts");
	ok(node.joined && node.registry_id == REGISTRY && node.seen.timeline == 4 &&
	   node.max_lead == 400 && node.quarantine_until == NOW + 4, "answers: it says what the registry is");
	ok(node.clock.known && node.clock.offset == 5 * HOUR, "answers: and what time it is");
	ok(hear(REGISTRY, 5, MILLISECOND) && node.seen.timeline == 5 && node.quarantine_until == NOW + 5, "answers: a later timeline counts");
	ok(verdict == UIDGEN_CLOCK_AGREES && step == MILLISECOND && node.clock.offset == 5 * HOUR + MILLISECOND, "answers: with its time");
	ok(hear(REGISTRY, 5, MILLISECOND), "answers: so does the same one");

	verdict = UIDGEN_CLOCK_TOO_FAR;
	step = 7;
	ok(!hear(REGISTRY, 4, HOUR), "answers: an older one does not");
	ok(node.seen.timeline == 5 && node.quarantine_until == NOW + 5 && node.clock.offset == 5 * HOUR + MILLISECOND &&
	   verdict == UIDGEN_CLOCK_TOO_FAR && step == 7, "answers: and changes nothing");

	uidgen_node_goes(&node, 7);
	ok(hear(REGISTRY + 1, 4, 0), "answers: of another registry, any timeline counts");
	ok(node.registry_id == REGISTRY + 1 && node.seen.timeline == 4, "answers: which is that one's");
	ok(!hear(REGISTRY + 1, 3, 0), "answers: from then on, no older one does");
	cluster++;
	ok(!hear(REGISTRY + 1, node.seen.timeline - 1, 0), "answers: nor in another cluster, which tells a later timeline if it comes after");
	ok(!hear(REGISTRY + 1, node.seen.timeline, 0), "answers: of two clusters on the same timeline the first one counts");
	ok(hear(REGISTRY + 1, node.seen.timeline + 1, 0), "answers: another cluster goes on with a later timeline");
	ok(hear(REGISTRY + 1, 5, -HOUR) && verdict == UIDGEN_CLOCK_FOLLOWS && step == -HOUR, "answers: a large step is said");
	ok(hear(REGISTRY + 1, 5, HOUR + 1), "answers: as is one that is not followed");

	begin();
	ok(hear(REGISTRY, 4, 25 * HOUR) && verdict == UIDGEN_CLOCK_TOO_FAR && step == 25 * HOUR, "answers: clocks that are too far apart are said");
	ok(node.joined && !node.clock.known, "answers: and give no time");
}

/* Which registry answers, where the settings lead. */
static bool
see(int64_t registry_id, int timeline)
{
	UidgenRegistryLife life = {registry_id, cluster, timeline};

	return uidgen_node_sees(&node, &life);
}

static void
test_places(void)
{
	int64_t		known;

	begin();
	uidgen_node_goes(&node, 7);
	ok(!uidgen_node_knows(&node, 7, &known), "places: no registry is known, before one has answered");
	ok(see(REGISTRY, 4) && uidgen_node_knows(&node, 7, &known) && known == REGISTRY, "places: then it is, whatever it was asked");
	ok(!node.joined, "places: not only where it was asked for a grant");
	ok(!uidgen_node_knows(&node, 8, &known), "places: nobody knows of another place");
	ok(!see(REGISTRY + 1, 4) && !see(REGISTRY + 1, 9), "places: another registry there does not count, on any timeline");
	cluster++;
	ok(!see(REGISTRY + 1, 4), "places: nor in another cluster");
	cluster--;
	ok(!hear(REGISTRY + 1, 4, 0) && !node.joined && !node.clock.known, "places: nor for grants");
	ok(node.seen.registry_id == REGISTRY && node.seen.timeline == 4 && uidgen_node_knows(&node, 7, &known) && known == REGISTRY,
	   "places: and it changes nothing");
	ok(!see(REGISTRY, 3) && see(REGISTRY, 5), "places: the one that is known counts, as before");
	uidgen_node_goes(&node, 7);
	ok(!see(REGISTRY + 1, 5), "places: also with the next call");
	ok(hear(REGISTRY, 5, 0) && !hear(REGISTRY + 1, 5, 0) && node.registry_id == REGISTRY, "places: and once it has granted");

	/* The settings are changed. */
	uidgen_node_goes(&node, 8);
	ok(!uidgen_node_knows(&node, 8, &known), "places: none is known where the settings lead now");
	ok(!see(REGISTRY, 4), "places: of the same registry, still no older timeline counts");
	ok(see(REGISTRY + 1, 1), "places: but another registry does");
	ok(!see(REGISTRY, 5), "places: and from then on, no other one");
	uidgen_node_goes(&node, 7);
	uidgen_node_goes(&node, 8);
	ok(see(REGISTRY, 1), "places: the settings lead elsewhere, and back: any one counts");
	uidgen_node_init(&node);
	uidgen_node_goes(&node, 8);
	ok(see(REGISTRY + 1, 1), "places: and after a restart, of which nothing is remembered");
}

static void
test_registries(void)
{
	UidgenGrant grant = {.registry = 5};

	ok(!uidgen_grant_is_of_fleet(&grant), "registries: a local one has the number of a database");
	grant.registry = uidgen_node_registry(5);
	ok(uidgen_grant_is_of_fleet(&grant) && grant.registry != 5, "registries: a shared one has another number");
	grant.registry = uidgen_node_registry(-1);
	ok(uidgen_grant_is_of_fleet(&grant) && grant.registry == UINT64_MAX, "registries: whatever its own is");
}

int
main(void)
{
	test_cut();
	test_first();
	test_renew();
	test_lost();
	test_locked();
	test_released();
	test_back();
	test_tokens();
	test_answers();
	test_places();
	test_registries();
	return done_testing();
}
