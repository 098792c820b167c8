/*
 * test_lease.c
 *	  Proves src/core/lease.c without a server, under the sanitizers.
 *
 * Each case by itself: what is held, what the clocks and the settings are, and which
 * call on the registry follows; which grants are accepted; where the era of a grant
 * begins.  Ticks have 16 positions; the clock is at tick 1000, and a grant reaches
 * from there to tick 1100.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/lease.h"

#include "tap.h"

#define BITS 4
#define POSITION(tick, sequence) ((uint64_t) (tick) << BITS | (uint64_t) (sequence))
#define MILLISECOND INT64_C(1000)
#define HOUR (INT64_C(3600) * 1000 * MILLISECOND)
#define NOW 1000
#define REGISTRY 5
#define LARGE_STEP 30
#define CRASH 50
#define BURST 8

static UidgenLease lease;
static UidgenTerms terms;
static UidgenClocks clocks;
static UidgenLeaseAction action;

static UidgenGrant
grant_of(int worker, int64_t first, int64_t last)
{
	return (UidgenGrant) {
		.worker = worker,
		.token = 77,
		.first = first,
		.last = last,
		.registry = REGISTRY,
	};
}

/* Nothing is held; the registry chooses from many worker ids. */
static void
begin(void)
{
	uidgen_lease_init(&lease);
	terms = (UidgenTerms) {
		.worker = -1,
		.other_workers = true,
		.unit = MILLISECOND,
		.sequence_bits = BITS,
		.last_tick = 100000,
		.window = 100,
		.padding = 40,
		.bounds = {.ahead = 20, .burst = BURST, .crash = CRASH, .large_step = LARGE_STEP},
	};
	clocks = (UidgenClocks) {.tick = NOW, .offset = 5 * HOUR, .boot = 9 * HOUR};
}

/* A grant is held: worker id 3, ticks 1000 to 1100. */
static void
begin_held(void)
{
	UidgenGrant grant = grant_of(3, NOW, NOW + 100);

	begin();
	uidgen_lease_hold(&lease, &grant, clocks.offset);
}

/* The clock is set by so many ticks. */
static void
set_clock(int64_t ticks)
{
	clocks.tick += ticks;
	clocks.offset += ticks * MILLISECOND;
}

static void
next_in(uint32_t registry)
{
	action = uidgen_lease_next(&lease, &terms, &clocks, POSITION(NOW + 60, 3), NOW,
							   registry);
}

static void
next(void)
{
	next_in(REGISTRY);
}

static void
is_call(UidgenLeaseCall call, UidgenStepKind step, const char *name)
{
	if (!ok(action.call == call && action.step.kind == step, "%s", name))
		printf("#   got: call %d, step %d\n", action.call, action.step.kind);
}

static void
test_first(void)
{
	begin();
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "first: a worker id is acquired");
	is_int(action.request.wanted, -1, "first: any");
	is_int(action.request.avoid, -1, "first: none is avoided");
	ok(action.request.never_used, "first: also one never used");
	is_int(action.request.floor, NOW + 61, "first: above the ids of before");
	is_int(action.request.window, 100, "first: a window");
	is_int(action.request.max_lead, CRASH, "first: own rows may have been left by a crash");
	is_int(action.request.max_step, LARGE_STEP, "first: but not before a large step back");

	action = uidgen_lease_next(&lease, &terms, &clocks, POSITION(NOW, 1), NOW, REGISTRY);
	is_int(action.request.floor, NOW + 1, "floor: a tick of which an id was issued is used up");
	action = uidgen_lease_next(&lease, &terms, &clocks, POSITION(NOW, 0), NOW, REGISTRY);
	is_int(action.request.floor, NOW, "floor: one of which none was is not");

	action = uidgen_lease_next(&lease, &terms, &clocks, 0, 0, REGISTRY);
	is_int(action.request.floor, 0, "floor: nor where there is none before it");

	terms.worker = 0;
	next();
	is_int(action.request.wanted, 0, "first: the worker id that is set");
}

static void
test_renew(void)
{
	begin_held();
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "renew: the grant in force is renewed");
	is_int(action.needed, NOW + 61, "renew: to beyond the next id");
	next_in(REGISTRY + 1);
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "renew: not in another registry");

	/* The end of the layout. */
	terms.last_tick = NOW + 61;
	lease.grant.last = NOW + 59;
	next();
	is_int(action.needed, NOW + 60, "renew: its last tick but one is granted before the time is used up");
	clocks.tick = terms.last_tick - 1;
	next();
	is_int(action.at_most, terms.last_tick - 1 + LARGE_STEP, "renew: the registry's clock may be beyond it by a small step");
	clocks.tick = terms.last_tick;
	next();
	is_int(action.at_most, INT64_MAX, "renew: or anywhere, where ours says no more than that it is over");
	lease.grant.last = NOW + 60;
	next();
	is_int(action.needed, NOW + 61, "renew: then what is needed is beyond it");
	lease.grant.last = NOW + 61;
	next();
	is_int(action.needed, NOW + 61, "renew: and stays so");

	begin_held();
	action = uidgen_lease_lost(&terms, &clocks, POSITION(NOW + 60, 3));
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "lost: another row is acquired");
	is_int(action.at_most, clocks.tick + LARGE_STEP, "lost: which may be renewed at once, to what we know of it");
	is_int(action.request.floor, NOW + 61, "lost: above the ids of before");
}

static void
test_disposable(void)
{
	begin_held();
	is_int(uidgen_lease_end(&lease, &terms, POSITION(NOW + 60, 3)), NOW + 60, "released: ids were issued up to this tick");
	ok(!lease.held && lease.released, "released: it is no longer held");
	is_int(uidgen_lease_end(&lease, &terms, 0), -1, "released: of tick 0 none was, either");
	is_int(uidgen_lease_end(&lease, &terms, POSITION(NOW + 60, 0)), NOW + 59, "released: of the next one none was");
	is_int(uidgen_lease_end(&lease, &terms, POSITION(NOW + 500, 0)), NOW + 100, "released: what is not granted was not issued, whatever was taken");
	next();
	is_int(action.request.wanted, -1, "released: any worker id is acquired");
	terms.disposable = true;
	next();
	is_int(action.request.wanted, 3, "disposable: the one that this server had is");
	next_in(REGISTRY + 1);
	is_int(action.request.wanted, -1, "disposable: not that of another registry");
	uidgen_lease_asks(&lease);
	next();
	is_int(action.request.wanted, -1, "disposable: nor if it may be somebody else's");
	lease.released = true;
	terms.worker = 0;
	next();
	is_int(action.request.wanted, 0, "disposable: what is set counts for more");
	terms.worker = -1;
	set_clock(-LARGE_STEP - 1);
	next();
	is_int(action.request.wanted, -1, "disposable: nor after a step of the clock");
	uidgen_lease_hold(&lease, &lease.grant, clocks.offset);
	ok(lease.held && !lease.released, "disposable: once it is held, it is no longer released");
}

static void
test_back(void)
{
	begin_held();
	set_clock(-LARGE_STEP);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "back: a small step is none");
	set_clock(-1);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_BACK, "back: a large one needs another row");
	is_int(action.step.ticks, LARGE_STEP + 1, "back: this large");
	is_int(action.request.floor, 0, "back: the time is to be true");
	is_int(action.request.max_lead, LARGE_STEP, "back: so an own row must not lie far ahead");
	is_int(action.request.max_step, INT64_MAX, "back: whenever it was used");
	is_int(action.request.avoid, -1, "back: none is avoided");
	(void) uidgen_lease_end(&lease, &terms, POSITION(NOW + 60, 3));
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_BACK, "back: also if no grant is held");
	next_in(REGISTRY + 1);
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_BACK, "back: or that of another registry");
	terms.other_workers = false;
	next();
	is_call(UIDGEN_REFUSE, UIDGEN_STEP_BACK, "back: refused, if there is no other worker id");
	is_int(action.step.ticks, LARGE_STEP + 1, "back: with the size of the step");
}

static void
test_forward(void)
{
	/* What was granted lies 40 ticks ahead. */
	begin_held();
	clocks.tick = NOW + 60;
	set_clock(LARGE_STEP);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "forward: a small leap is none");
	is_int(action.at_most, clocks.tick + LARGE_STEP, "forward: nor is it one on the way to the registry");
	set_clock(1);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_FORWARD, "forward: a large one needs another row");
	is_int(action.step.ticks, LARGE_STEP + 1, "forward: this large");
	is_int(action.request.avoid, 3, "forward: the one in use is left for when it returns");
	is_int(action.request.floor, NOW + 61, "forward: ids stay in order");
	is_int(action.request.max_lead, CRASH, "forward: with room for a crash");
	is_int(action.request.max_step, LARGE_STEP, "forward: but not before a large step back");
	terms.other_workers = false;
	next();
	is_call(UIDGEN_REFUSE, UIDGEN_STEP_FORWARD, "forward: refused, if there is no other worker id");
	terms.other_workers = true;
	next_in(REGISTRY + 1);
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "forward: none, where another registry is asked");
	is_int(action.request.avoid, -1, "forward: where no row is in use");
	(void) uidgen_lease_end(&lease, &terms, POSITION(NOW + 60, 3));
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_NONE, "forward: none, without a grant");

	/* Only the boot clock tells a leap from time that has passed. */
	begin_held();
	clocks.tick += 5000;
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "forward: time that passes is no leap");

	/* A clock that was slow, and is correct now. */
	begin_held();
	clocks.tick = lease.grant.last - CRASH;
	set_clock(5000);
	next();
	is_call(UIDGEN_ACQUIRE, UIDGEN_STEP_FORWARD, "slow clock: the grant was within reach before the leap");
	begin_held();
	clocks.tick = lease.grant.last - CRASH - 1;
	set_clock(5000);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "slow clock: it was not, so the leap was a correction");

	/* The offset of the last grant counts. */
	begin_held();
	clocks.tick = NOW + 60;
	set_clock(LARGE_STEP + 1);
	uidgen_lease_hold(&lease, &lease.grant, clocks.offset);
	next();
	is_call(UIDGEN_RENEW, UIDGEN_STEP_NONE, "forward: a leap that was followed is over");
}

static void
test_rows_of_steps(void)
{
	begin_held();
	set_clock(-LARGE_STEP - 1);
	for (int i = 0; i < 10; i++)
	{
		next();
		ok(action.request.never_used, "rows: step %d in an hour may take a row never used", i + 1);
		uidgen_lease_count_step(&lease, &clocks, true);
		uidgen_lease_count_step(&lease, &clocks, false);
		clocks.boot += HOUR / 20;
	}
	next();
	ok(!action.request.never_used, "rows: the eleventh may not");
	action = uidgen_lease_lost(&terms, &clocks, POSITION(NOW, 0));
	ok(action.request.never_used, "rows: where there was no step, it may");
	clocks.boot += HOUR / 2 - 1;
	next();
	ok(!action.request.never_used, "rows: nor up to the end of the hour");
	clocks.boot++;
	next();
	ok(action.request.never_used, "rows: in the next hour, it may");
	uidgen_lease_count_step(&lease, &clocks, true);
	is_int(lease.step_rows, 1, "rows: which is counted anew");
	is_int(lease.step_rows_since, clocks.boot, "rows: from then on");
}

static void
test_known(void)
{
	UidgenGrant grant;

	begin();
	is_int(uidgen_lease_known_until(&lease, 3), -1, "known: nothing, at first");
	is_int(uidgen_lease_known_until(&lease, 0), -1, "known: nor of worker id 0");
	grant = grant_of(3, NOW, NOW + 100);
	uidgen_lease_hold(&lease, &grant, clocks.offset);
	is_int(uidgen_lease_known_until(&lease, 3), NOW + 100, "known: what is granted");
	is_int(uidgen_lease_known_until(&lease, 4), -1, "known: of this worker id");
	grant = grant_of(4, NOW + 50, NOW + 150);
	uidgen_lease_hold(&lease, &grant, clocks.offset);
	is_int(uidgen_lease_known_until(&lease, 3), NOW + 100, "known: also when there is another");
	grant.last = NOW + 250;
	uidgen_lease_hold(&lease, &grant, clocks.offset);
	is_int(uidgen_lease_known_until(&lease, 4), NOW + 250, "known: the last renewal");
	is_int(lease.nknown, 2, "known: once for each");
	(void) uidgen_lease_end(&lease, &terms, POSITION(NOW + 60, 3));
	is_int(uidgen_lease_known_until(&lease, 4), NOW + 250, "known: until the registry has what was released");
	uidgen_lease_release(&lease, NOW + 60);
	is_int(uidgen_lease_known_until(&lease, 4), NOW + 60, "known: then what was issued");

	/* More than there is room for: worker ids 0, 1, ... up to ticks 5000, 5001, ... */
	begin();
	for (int i = 0; i < UIDGEN_KNOWN_GRANTS; i++)
	{
		grant = grant_of(i, NOW, 5000 + i);
		uidgen_lease_hold(&lease, &grant, clocks.offset);
	}
	is_int(uidgen_lease_known_until(&lease, 0), 5000, "known: as many as there is room for");
	is_int(uidgen_lease_known_until(&lease, 1000), -1, "known: and nothing of others");
	grant = grant_of(1000, NOW, 4000);
	uidgen_lease_hold(&lease, &grant, clocks.offset);
	is_int(uidgen_lease_known_until(&lease, 1000), 4000, "known: one more");
	is_int(uidgen_lease_known_until(&lease, 0), 5000, "known: in place of the lowest, which holds for all others then");
	is_int(uidgen_lease_known_until(&lease, 2000), 5000, "known: as they may be that one");
	is_int(uidgen_lease_known_until(&lease, 1), 5001, "known: the rest is kept");
	grant = grant_of(1001, NOW, 3000);
	uidgen_lease_hold(&lease, &grant, clocks.offset);
	is_int(uidgen_lease_known_until(&lease, 2000), 5000, "known: what holds for all others never falls");

	/* Likewise, with the lowest at the end. */
	begin();
	for (int i = 0; i < UIDGEN_KNOWN_GRANTS; i++)
	{
		grant = grant_of(i, NOW, 5000 - i);
		uidgen_lease_hold(&lease, &grant, clocks.offset);
	}
	grant = grant_of(1000, NOW, 6000);
	uidgen_lease_hold(&lease, &grant, clocks.offset);
	is_int(uidgen_lease_known_until(&lease, 0), 5000, "known: the highest is kept");
	is_int(lease.known_others, 5001 - UIDGEN_KNOWN_GRANTS, "known: it is the lowest that goes, wherever it is");
}

/* The highest tick of the clock that was known when the last era began. */
static uint64_t clock_before;

static UidgenEra
era_of(UidgenStepKind step, int64_t now, int64_t clock_known, uint64_t position)
{
	UidgenTicketReach reach = {
		.ahead = 20,
		.burst = BURST,
		.large_step = LARGE_STEP,
		.clock_high = (uint64_t) clock_known,
		.clock_before = clock_before,
		.room = CRASH + BURST,
	};

	return uidgen_lease_era(&lease, &terms, step, now, &reach, position);
}

static void
test_era(void)
{
	UidgenEra	era;

	begin_held();
	era = era_of(UIDGEN_STEP_NONE, NOW, 0, 1);
	is(era.position, POSITION(NOW, 0), "era: begins where the grant does");
	is(era.limit, POSITION(NOW + 100, 15), "era: ends where it ends");
	is(era.renew_at, POSITION(NOW + 60, 15), "era: is renewed when the padding is left");
	is_int(era.clock_known, NOW, "era: the clock has been where it is");

	era = era_of(UIDGEN_STEP_NONE, NOW, NOW, POSITION(NOW + 30, 1));
	is(era.position, POSITION(NOW + 31, 0), "era: begins above the ids of before, with a whole tick");
	is_int(era.cause, UIDGEN_AHEAD_BURST, "era: which had been drawn");
	era = era_of(UIDGEN_STEP_NONE, NOW, NOW, POSITION(NOW, 1));
	is(era.position, POSITION(NOW + 1, 0), "era: also above those of the clock's own tick");
	is_int(era.cause, UIDGEN_AHEAD_BURST, "era: which are no more than drawn, so that burst is not added up era by era");
	era = era_of(UIDGEN_STEP_NONE, NOW, NOW, POSITION(NOW + 30, 0));
	is(era.position, POSITION(NOW + 30, 0), "era: or with the next one, of which none was issued");
	era = era_of(UIDGEN_STEP_NONE, NOW, NOW + 10, POSITION(NOW + 10, 5));
	is_int(era.cause, UIDGEN_AHEAD_CLOCK_SET_BACK, "era: ids are ahead, because the clock was set back");
	is_int(era.clock_known, NOW + 10, "era: where it was stays known");
	clock_before = NOW + 12;
	era = era_of(UIDGEN_STEP_NONE, NOW, NOW + 10, POSITION(NOW + 10, 5));
	is_int(era.clock_known, NOW + 12, "era: also from the time before the last one");
	clock_before = 0;
	era = era_of(UIDGEN_STEP_BACK, NOW, NOW + 5000, POSITION(NOW + 30, 0));
	is(era.position, POSITION(NOW, 0), "era: after a large step back, it begins at the true time");
	is_int(era.clock_known, NOW, "era: what the clock was before counts no more");
	era = era_of(UIDGEN_STEP_FORWARD, NOW, NOW - 60, POSITION(NOW - 60, 3));
	is(era.position, POSITION(NOW, 0), "era: after a leap, at the time that the clock shows");

	/* A grant that begins ahead of the clock. */
	begin_held();
	era = era_of(UIDGEN_STEP_NONE, NOW - 40, 0, 1);
	is(era.position, POSITION(NOW, 0), "row: the era begins where the row ended");
	is_int(era.cause, UIDGEN_AHEAD_CRASH, "row: as after a crash");
	is_int(era.clock_known, NOW - 40, "row: the clock was never there");
	era = era_of(UIDGEN_STEP_NONE, NOW - 5, 0, 1);
	is_int(era.cause, UIDGEN_AHEAD_CRASH, "row: also where it is as near as drawing carries ids");
	era = era_of(UIDGEN_STEP_NONE, NOW - 5, 0, POSITION(NOW, 0));
	is_int(era.cause, UIDGEN_AHEAD_BURST, "row: where ids were there already, it did not decide");
	lease.grant.seen = NOW - 30;
	era = era_of(UIDGEN_STEP_NONE, NOW - 40, 0, 1);
	is_int(era.clock_known, NOW - 30, "row: it has seen the clock there");
	is_int(era.cause, UIDGEN_AHEAD_CRASH, "row: which does not explain where it begins");
	lease.grant.seen = NOW - 41;
	era = era_of(UIDGEN_STEP_NONE, NOW - 40, 0, 1);
	is_int(era.clock_known, NOW - 40, "row: a clock that goes on is no step");
	lease.grant.seen = NOW - BURST;
	era = era_of(UIDGEN_STEP_NONE, NOW - 20, 0, 1);
	is_int(era.cause, UIDGEN_AHEAD_CLOCK_SET_BACK, "row: the clock was there, or as near as drawing carries ids");
	lease.grant.seen = NOW - BURST - 1;
	era = era_of(UIDGEN_STEP_NONE, NOW - 20, 0, 1);
	is_int(era.cause, UIDGEN_AHEAD_CRASH, "row: a tick less, and it was a crash");
	lease.grant.seen = NOW + 5000;
	era = era_of(UIDGEN_STEP_NONE, NOW, 0, 1);
	is_int(era.clock_known, NOW + LARGE_STEP, "row: a step that the registry let pass counts as a small one");

	/* The end of the layout. */
	begin_held();
	terms.last_tick = NOW + 101;
	is(uidgen_lease_renew_at(&lease, &terms), POSITION(NOW + 100, 15), "end: the last grant is not renewed early");
	terms.last_tick = NOW + 102;
	is(uidgen_lease_renew_at(&lease, &terms), POSITION(NOW + 60, 15), "end: the last but one is");
	terms.padding = 5000;
	is(uidgen_lease_renew_at(&lease, &terms), POSITION(0, 15), "padding: more than all there is");
}

int
main(void)
{
	test_first();
	test_renew();
	test_disposable();
	test_back();
	test_forward();
	test_rows_of_steps();
	test_known();
	test_era();
	return done_testing();
}
