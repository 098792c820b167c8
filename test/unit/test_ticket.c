/*
 * test_ticket.c
 *	  Proves src/core/ticket.h and src/core/ticket.c without a server.
 *
 * First each rule by itself, in one thread: the gate, where a ticket begins,
 * how it is judged, what the keeper's steps leave behind.  Then all of them
 * under stress: threads take tickets by a clock that goes to and fro, while a
 * keeper renews, changes worker ids, loses and releases grants, and a rival
 * uses whatever it can get hold of.  All that was issued is kept, and looked
 * through at the end.
 *
 * ticket.c is part of this program, so that every access to a shared word can
 * be disturbed: the thread may lose the processor there.  And under stress the words
 * are in memory that reorders as far as the barriers allow (reordered.h), so that each
 * barrier in ticket.h and ticket.c that is left out is found.
 *
 * Output is TAP.  Built twice, under the address and undefined behaviour
 * sanitizers and under ThreadSanitizer.  Build and run: make unitcheck
 */
#define _POSIX_C_SOURCE 200809L

#include "meddling.h"

#include "core/ticket.c"

static const char *
result_name(UidgenTicketResult result)
{
	switch (result)
	{
		case UIDGEN_TICKET_GOOD:
			return "GOOD";
		case UIDGEN_TICKET_NO_GRANT:
			return "NO_GRANT";
		case UIDGEN_TICKET_AHEAD:
			return "AHEAD";
		case UIDGEN_TICKET_UNGRANTED:
			return "UNGRANTED";
		case UIDGEN_TICKET_EARLY:
			return "EARLY";
		case UIDGEN_TICKET_VOID:
			return "VOID";
		case UIDGEN_TICKET_REFUSED:
			return "REFUSED";
	}
	return "none";
}

/* Those that a call can meet: what is refused is a mistake of the caller's. */
#define RESULTS (UIDGEN_TICKET_VOID + 1)

/* ---- rules, in one thread ---- */

#define BITS 4
#define CAPACITY (1 << BITS)
#define POSITION(tick, sequence) ((uint64_t) (tick) << BITS | (uint64_t) (sequence))
#define CONSTANT 5000
#define ROW UIDGEN_TAKE_ROW
#define BLOCK UIDGEN_TAKE_BLOCK

static UidgenTicketWords words;
static UidgenTicketRules rules;
static UidgenTicket ticket;

static uint64_t
word(UidgenAtomic *atomic)
{
	return uidgen_atomic_read(atomic);
}

/* The highest tick of the clock that is known. */
static uint64_t
known(UidgenTicketWords *of)
{
	UidgenTicketReach reach = uidgen_ticket_reach(of);

	return uidgen_ticket_clock_known(&reach);
}

static void
bound(uint64_t ahead, uint64_t burst, uint64_t crash, uint64_t large_step, uint64_t now)
{
	UidgenTicketBounds bounds = {ahead, burst, crash, large_step};

	uidgen_ticket_bound(&words, &rules, &bounds, now);
}

/* Begin an era, ahead of the clock as after a crash, if at all. */
static void
open_era(UidgenTicketWords *in, const UidgenTicketRules *by, uint64_t position, uint64_t limit,
		 uint64_t renew_at, uint64_t constant, uint64_t now, uint64_t clock_high)
{
	uidgen_ticket_open(in, position, limit, renew_at, constant, now, clock_high,
					   position >> by->sequence_bits, UIDGEN_AHEAD_CRASH);
}

/* Another era: from this tick on to tick 300, when the clock is at `now`. */
static void
open_at(uint64_t tick, uint64_t now)
{
	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(tick, 0), POSITION(300, 0),
					   POSITION(300, 0), CONSTANT + 1, now, now);
}

/* A grant of the ticks from 100 to 200, to be renewed beyond 150. */
static void
begin_grant(void)
{
	memset(&rules, 0, sizeof(rules));
	rules.sequence_bits = BITS;
	rules.last_tick = 1000;
	rules.random = 88172645463325252;
	memset(&ticket, 0x55, sizeof(ticket));
	uidgen_ticket_init(&words);
	uidgen_ticket_close(&words);
	bound(10, 3, 20, 15, 100);
	open_era(&words, &rules, POSITION(100, 0), POSITION(200, CAPACITY - 1),
					   POSITION(150, CAPACITY - 1), CONSTANT, 100, 0);
}

/* As a call looks at the clock. */
static UidgenTicketClock
look(uint64_t now)
{
	uidgen_ticket_note_clock(&words, &rules, ticket.era, now);
	return uidgen_ticket_clock(&words, &rules, now);
}

/* The rest of a call. */
static UidgenTicketResult
take_begun(uint64_t now, uint64_t n, UidgenTicketKind kind)
{
	UidgenTicketClock clock = look(now);

	return uidgen_ticket_take(&words, &rules, &ticket, &clock, n, kind);
}

static UidgenTicketResult
take(uint64_t now, uint64_t n, UidgenTicketKind kind)
{
	uidgen_ticket_begin(&words, &ticket);
	return take_begun(now, n, kind);
}

/* Judge ticket.first once more. */
static UidgenTicketResult
settle(uint64_t now, uint64_t n)
{
	UidgenTicketClock clock = look(now);

	ticket.count = n;
	return uidgen_ticket_settle(&words, &rules, &ticket, &clock);
}

static void
is_result(UidgenTicketResult got, UidgenTicketResult want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got: %s\n#  want: %s\n", result_name(got), result_name(want));
}

/* A take that is good, and where it begins. */
static void
takes(uint64_t now, uint64_t n, UidgenTicketKind kind, uint64_t first, const char *name)
{
	UidgenTicketResult result = take(now, n, kind);

	if (!ok(result == UIDGEN_TICKET_GOOD && ticket.first == first && ticket.count == n &&
			ticket.constant == CONSTANT && word(&words.position) == first + n,
			"%s", name))
		printf("# %s, first %" PRIu64 ":%" PRIu64 ", position %" PRIu64 ":%" PRIu64 "\n",
			   result_name(result), ticket.first >> BITS,
			   ticket.first & (CAPACITY - 1), word(&words.position) >> BITS,
			   word(&words.position) & (CAPACITY - 1));
}

/* A take that takes nothing. */
static void
refuses(uint64_t now, uint64_t n, UidgenTicketKind kind, UidgenTicketResult want,
		const char *name)
{
	uint64_t	position = word(&words.position);
	UidgenTicketResult result = take(now, n, kind);

	if (!ok(result == want && word(&words.position) == position, "%s", name))
		printf("# %s, position moved by %" PRIu64 "\n", result_name(result),
			   word(&words.position) - position);
}

static void
test_no_grant(void)
{
	/* Shared memory may hold anything when it is new. */
	memset(&words, 0x55, sizeof(words));
	uidgen_ticket_init(&words);
	is(word(&words.era), 1, "new words: the era is odd");
	ok((word(&words.clock_high) | word(&words.clock_base) | word(&words.limit) | word(&words.renew_at) |
		word(&words.clock_before) | word(&words.constant) |
		word(&words.opened) | word(&words.opened_at) |
		word(&words.opened_cause) | word(&words.ahead) |
		word(&words.burst) | word(&words.room) | word(&words.large_step)) == 0,
	   "new words: nothing of what was there before");
	begin_grant();
	uidgen_ticket_init(&words);
	refuses(0, 1, ROW, UIDGEN_TICKET_NO_GRANT, "new words: no grant at tick 0");
	refuses(1000, 1, ROW, UIDGEN_TICKET_NO_GRANT, "new words: no grant at any other");
	refuses(1000, CAPACITY, BLOCK, UIDGEN_TICKET_NO_GRANT, "new words: no grant for a block");
	is(uidgen_ticket_close(&words), 1, "new words: position 1, which has one before it");
	ok(word(&words.era) % 2 == 1, "new words: close() leaves the era odd");

	begin_grant();
	uidgen_ticket_close(&words);
	refuses(120, 1, ROW, UIDGEN_TICKET_NO_GRANT, "closed era: no grant");
	/* The keeper is about to open the next one. */
	uidgen_atomic_write(&words.limit, POSITION(200, 0));
	uidgen_atomic_write(&words.renew_at, POSITION(200, 0));
	refuses(120, 1, ROW, UIDGEN_TICKET_NO_GRANT, "closed era: none until the next one has begun");
}

/* Another caller notes the clock. */
static void
note_108(void)
{
	uidgen_ticket_note_clock(&words, &rules, ticket.era, 108);
}

static void
test_clock(void)
{
	begin_grant();
	takes(100, 1, ROW, POSITION(100, 0), "the grant's first tick: its first position");
	takes(100, 1, ROW, POSITION(100, 1), "the same tick: the next position");
	takes(100, 3, ROW, POSITION(100, 2), "several: one after the other");
	takes(103, 1, ROW, POSITION(103, 0), "a later tick: its first position");
	is(uidgen_ticket_clock_high(&words), 103, "the clock's tick is noted");
	takes(101, 1, ROW, POSITION(103, 1), "the clock was set back a little: positions go on");
	is(uidgen_ticket_clock_high(&words), 103, "the highest tick of the clock stays noted");
	takes(103, CAPACITY - 2, ROW, POSITION(103, 2), "the rest of a tick");
	takes(103, 1, ROW, POSITION(104, 0), "the capacity is exceeded: the next tick");
	takes(103, CAPACITY, ROW, POSITION(104, 1), "a batch may reach from one tick into the next");
	takes(104, 1, ROW, POSITION(105, 1), "the clock is not there yet: positions go on");
	is(uidgen_ticket_clock_high(&words), 104, "outrunning the clock does not move its highest tick");
	refuses(107, CAPACITY + 1, ROW, UIDGEN_TICKET_REFUSED, "more than a tick has is refused");
	refuses(107, 0, ROW, UIDGEN_TICKET_REFUSED, "so is nothing");
	is(uidgen_ticket_clock_high(&words), 107, "a call that takes nothing notes the clock too");
	uidgen_ticket_note_clock(&words, &rules, ticket.era, 90);
	is(uidgen_ticket_clock_high(&words), 107, "but not a lower tick");
	uidgen_ticket_note_clock(&words, &rules, ticket.era + 2, 110);
	is(uidgen_ticket_clock_high(&words), 107, "nor is the clock of another era noted");
	/* after the looks at clock_base, clock_high and the limit */
	meddle_before(4, note_108);
	uidgen_ticket_note_clock(&words, &rules, ticket.era, 109);
	is(uidgen_ticket_clock_high(&words), 109, "one that another caller comes before is noted all the same");
	refuses(201, 1, ROW, UIDGEN_TICKET_NO_GRANT, "the clock leaps beyond the grant");
	is(uidgen_ticket_clock_high(&words), 109, "a tick that is not granted is not noted");
	takes(110, 1, ROW, POSITION(110, 0), "so when the clock is set back again, positions go on");
	takes(200, 1, ROW, POSITION(200, 0), "the last tick of the grant");
	is(uidgen_ticket_clock_high(&words), 200, "is noted");
	open_at(201, 200);
	uidgen_ticket_note_clock(&words, &rules, word(&words.era), 300);
	is(uidgen_ticket_clock_high(&words), 300, "so is one of which a single position is granted");
}

static void
begin_next_era(void)
{
	open_at(120, 120);
}

/* The keeper begins another era at any access of a call that notes a wrong clock, with
 * the very tick that the call has found. */
static void
test_late_notes(void)
{
	int			noted = 0;
	int			delayed = 0;

	for (int i = 0; i < 10; i++)
	{
		begin_grant();
		takes(120, 1, ROW, POSITION(120, 0), "late note: the clock is at tick 120");
		uidgen_ticket_begin(&words, &ticket);
		happening = begin_next_era;
		accesses = i;
		uidgen_ticket_note_clock(&words, &rules, ticket.era, 190);
		delayed += happening == NULL;
		noted += happening == NULL && uidgen_ticket_clock_high(&words) != 120;
		happening = NULL;
	}
	ok(delayed > 1, "late note: the era ended meanwhile");
	is(noted, 0, "late note: the next one does not see the clock of the last");

	/* A caller may be stopped for hours: a million eras may pass, less one. */
	begin_grant();
	uidgen_ticket_begin(&words, &ticket);
	noted = 0;
	for (int eras = 1; eras < 1 << 20; eras++)
	{
		begin_next_era();
		uidgen_ticket_note_clock(&words, &rules, ticket.era, 190);
		noted += uidgen_ticket_clock_high(&words) != 120;
	}
	is(noted, 0, "late note: nor do those after it");
}

#define BASE (INT64_C(1) << 50)	/* where the clock is */
#define ROOM ((INT64_C(1) << 44) - 1)	/* what clock_high can count from its base */

/* The clock goes on, and the keeper looks; does it begin an era? */
static void
goes_on(UidgenTick now, bool want, const char *name)
{
	uint64_t	era = word(&words.era);

	uidgen_ticket_begin(&words, &ticket);
	(void) look(now);
	is(uidgen_ticket_clock_high(&words), (uint64_t) now, name);
	bound(10, 3, 20, 15, (uint64_t) now);
	is(word(&words.era), want ? era + 2 : era, want ? "... another era begins" : "... the era goes on");
	is(uidgen_ticket_clock_high(&words), (uint64_t) now, "... and the same is known");
	takes((uint64_t) now, 1, ROW, POSITION(now, 0), "... and ids go on");
}

static void
test_base(void)
{
	begin_grant();
	rules.last_tick = INT64_C(1) << 55;
	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(BASE, 0), POSITION(BASE + ROOM + 100, 0), POSITION(BASE + ROOM + 100, 0),
			 CONSTANT, BASE, BASE);
	is(uidgen_ticket_clock_high(&words), BASE, "a base: the clock is there");
	goes_on(BASE + 1, false, "a tick beyond its base");
	goes_on(BASE + ROOM / 2, false, "as far as the middle of what can be counted");
	goes_on(BASE + ROOM / 2 + 1, true, "beyond it");
	is(word(&words.clock_base), BASE + ROOM / 2 + 1, "... with a base of its own");
	goes_on(BASE + ROOM / 2 + 2, false, "a tick beyond that");

	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(BASE, 0), POSITION(BASE + ROOM + 100, 0), POSITION(BASE + ROOM + 100, 0),
			 CONSTANT, BASE, BASE);
	uidgen_ticket_begin(&words, &ticket);
	(void) look(BASE - 50);
	is(uidgen_ticket_clock_high(&words), BASE, "a clock that is below its base is not noted");
	bound(10, 3, 20, 15, BASE + ROOM / 2 + 1);
	is(uidgen_ticket_clock_high(&words), BASE + ROOM / 2 + 1, "... where the keeper comes before any caller, it is");
	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(BASE, 0), POSITION(BASE + ROOM + 100, 0), POSITION(BASE + ROOM + 100, 0),
			 CONSTANT, BASE, BASE);
	uidgen_ticket_begin(&words, &ticket);
	(void) look(BASE + ROOM);
	is(uidgen_ticket_clock_high(&words), BASE + ROOM, "the furthest that can be counted");
	(void) look(BASE + ROOM + 50);
	is(uidgen_ticket_clock_high(&words), BASE + ROOM, "beyond it counts as there");

	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(BASE, 0), POSITION(BASE + ROOM, 0), POSITION(BASE + ROOM, 0),
			 CONSTANT, BASE, BASE);
	bound(10, 3, 20, 15, BASE + ROOM + 50);
	is(word(&words.clock_base), BASE, "a leap that no grant follows begins no era");
}

/* Another caller takes what the tick has left. */
static void
take_the_rest(void)
{
	uidgen_atomic_write(&words.position, POSITION(101, 0));
}

static void
test_blocks(void)
{
	UidgenTicketClock clock;

	begin_grant();
	takes(100, 10, BLOCK, POSITION(100, 0), "block: at the start of a tick");
	takes(100, 6, BLOCK, POSITION(100, 10), "block: just fits into the rest of a tick");
	takes(100, 10, BLOCK, POSITION(101, 0), "block: at the start of the next tick");
	takes(100, 7, BLOCK, POSITION(102, 0), "block: passes over a rest that is too small");
	takes(104, CAPACITY, BLOCK, POSITION(104, 0), "block: a whole tick");
	takes(104, CAPACITY, BLOCK, POSITION(105, 0), "block: and the next one");
	takes(104, 1, BLOCK, POSITION(106, 0), "block: of one");
	is(ticket.skipped, 0, "block: that passes over nothing");
	takes(104, CAPACITY, BLOCK, POSITION(107, 0), "block: after a tick of which one was taken");
	is(ticket.skipped, CAPACITY - 1, "block: which passes over all others");
	takes(108, CAPACITY, BLOCK, POSITION(108, 0), "block: where the clock has gone on");
	is(ticket.skipped, 0, "block: nothing is passed over for its sake");

	begin_grant();
	takes(100, 10, BLOCK, POSITION(100, 0), "block: at the start of a tick");
	uidgen_ticket_begin(&words, &ticket);
	clock = look(100);
	/* after a look at the position and one at renew_at */
	meddle_before(3, take_the_rest);
	is_result(uidgen_ticket_take(&words, &rules, &ticket, &clock, 7, BLOCK), UIDGEN_TICKET_GOOD,
			  "block: others fill up the tick meanwhile");
	is(ticket.first, POSITION(101, 0), "block: then it takes the same");
	is(ticket.skipped, 0, "block: but has passed over nothing");
}

static void
test_set_back(void)
{
	begin_grant();
	takes(120, 1, ROW, POSITION(120, 0), "set back: the clock is at tick 120");
	takes(110, 1, ROW, POSITION(120, 1), "set back: by `ahead`, ids go on");
	takes(107, 1, ROW, POSITION(120, 2), "set back: and by `burst` more");
	refuses(106, 1, ROW, UIDGEN_TICKET_AHEAD, "set back: by one more, they wait");
	is(ticket.blocked, 120, "set back: for this tick");
	refuses(106, 1, BLOCK, UIDGEN_TICKET_AHEAD, "set back: so does a block");
	takes(110, CAPACITY - 3, ROW, POSITION(120, 3), "set back: the rest of the tick");
	takes(110, CAPACITY, ROW, POSITION(121, 0), "set back: drawing may go `burst` beyond where the clock was");
	takes(110, CAPACITY, ROW, POSITION(122, 0), "set back: tick after tick");
	takes(110, CAPACITY - 1, ROW, POSITION(123, 0), "set back: to its last position");
	refuses(110, CAPACITY, ROW, UIDGEN_TICKET_AHEAD, "set back: a batch is judged by its last position");
	is(ticket.blocked, 124, "set back: for that tick");
	takes(110, 1, ROW, POSITION(123, CAPACITY - 1), "set back: one that just fits");
	refuses(119, 1, ROW, UIDGEN_TICKET_AHEAD, "set back: until the clock is beyond where it was");
	takes(121, 1, ROW, POSITION(124, 0), "set back: then drawing goes on from it");

	begin_grant();
	takes(120, 1, ROW, POSITION(120, 0), "large step: the clock is at tick 120");
	bound(50, 50, 50, 15, 120);
	takes(105, 1, ROW, POSITION(120, 1), "large step: one that is not");
	refuses(104, 1, ROW, UIDGEN_TICKET_AHEAD, "large step: one that is shuts the gate, whatever the bounds");
	takes(105, 1, ROW, POSITION(120, 2), "large step: until the clock is back");

	begin_grant();
	uidgen_ticket_close(&words);
	open_era(&words, &rules, 1, POSITION(300, 0), POSITION(300, 0), CONSTANT, 0, 20);
	refuses(0, 1, ROW, UIDGEN_TICKET_AHEAD, "large step: also for the layout's first positions");
}

static void
test_burst(void)
{
	begin_grant();
	for (int tick = 120; tick <= 123; tick++)
		takes(120, CAPACITY, ROW, POSITION(tick, 0), "burst: a whole tick");
	refuses(120, 1, ROW, UIDGEN_TICKET_AHEAD, "burst: no further than `burst`");
	is(ticket.blocked, 124, "burst: for this tick");
	is(uidgen_ticket_clock_high(&words), 120, "burst: drawing does not move the highest tick of the clock");
	takes(121, 1, BLOCK, POSITION(124, 0), "burst: until the clock goes on");
	refuses(121, CAPACITY, BLOCK, UIDGEN_TICKET_AHEAD, "burst: a block that would begin a new tick");

	begin_grant();
	bound(10, 0, 20, 15, 100);
	takes(120, CAPACITY, ROW, POSITION(120, 0), "burst = 0: a whole tick");
	refuses(120, 1, ROW, UIDGEN_TICKET_AHEAD, "burst = 0: then the next tick's turn is to come");
	takes(121, 2, ROW, POSITION(121, 0), "burst = 0: now it has");
	refuses(121, CAPACITY - 1, ROW, UIDGEN_TICKET_AHEAD,
	        "burst = 0: a batch does not reach into the next tick");
	takes(115, 1, ROW, POSITION(121, 2), "burst = 0: set back by less than `ahead`, ids go on");

	begin_grant();
	bound(0, 0, 20, 15, 100);
	takes(120, 1, ROW, POSITION(120, 0), "ahead = 0, burst = 0: at the clock");
	refuses(119, 1, ROW, UIDGEN_TICKET_AHEAD, "ahead = 0, burst = 0: set back by any step, calls wait");
}

/* Is an id at the position given when the clock is at `now`? */
static bool
given(uint64_t now)
{
	return take(now, 1, ROW) == UIDGEN_TICKET_GOOD;
}

static void
test_crash(void)
{
	begin_grant();
	open_at(130, 110);
	ok(given(110), "crash: an era that begins by `crash` ahead of the clock stops nobody");
	ok(take(110, CAPACITY, BLOCK) == UIDGEN_TICKET_GOOD, "crash: nor does drawing on");
	is(word(&words.opened), 130, "crash: what it began with is kept");
	open_at(134, 110);
	ok(!given(110), "crash: one that begins further ahead than `crash` and `burst` does");
	ok(given(111), "crash: until the clock has come near enough");
	open_at(110, 110);
	is(word(&words.opened), 0, "crash: an era that begins at the clock needs no room");
	for (int i = 0; i < 4; i++)
		ok(take(110, CAPACITY, BLOCK) == UIDGEN_TICKET_GOOD, "crash: then ids go `burst` ahead");
	ok(!given(110), "crash: and no further");
}

/* Bounds that change while ids run ahead of the clock. */
static void
test_bounds(void)
{
	uint64_t	era;
	uint64_t	position;
	UidgenTicketClock clock;

	begin_grant();
	bound(10, 12, 30, 15, 100);
	for (int tick = 121; tick <= 129; tick++)
		takes(121, CAPACITY, ROW, POSITION(tick, 0), "bounds: ids are drawn ahead of the clock");
	takes(121, 6, ROW, POSITION(130, 0), "bounds: up to tick 130");
	era = word(&words.era);
	position = word(&words.position);
	bound(10, 12, 30, 15, 121);
	is(word(&words.era), era, "bounds: the same ones change nothing");
	bound(1, 1, 5, 2, 121);
	is(word(&words.era), era + 2, "bounds: lower ones begin another era");
	is(word(&words.position), position, "bounds: where ids are");
	is(word(&words.limit), POSITION(200, CAPACITY - 1), "bounds: with the same limit");
	is(word(&words.renew_at), POSITION(150, CAPACITY - 1), "bounds: the same time to renew");
	takes(121, 1, ROW, POSITION(130, 6), "bounds: and worker id: nobody is stopped");
	refuses(121, CAPACITY, ROW, UIDGEN_TICKET_AHEAD, "bounds: but ids run no further ahead than they do");
	bound(1, 1, 5, 2, 122);
	is(word(&words.era), era + 2, "bounds: the same once more, at a renewal, change nothing");
	refuses(122, CAPACITY, ROW, UIDGEN_TICKET_AHEAD, "bounds: while the clock catches up");
	takes(123, CAPACITY, ROW, POSITION(130, 7), "bounds: ids go on at half its pace");
	refuses(124, CAPACITY, ROW, UIDGEN_TICKET_AHEAD, "bounds: tick by tick");
	bound(1, 7, 11, 2, 124);
	refuses(124, CAPACITY, ROW, UIDGEN_TICKET_AHEAD, "bounds: raised again, they count from the clock");
	bound(1, 8, 12, 2, 124);
	takes(124, CAPACITY, ROW, POSITION(131, 7), "bounds: not from where ids had been carried");
	bound(1, 1, 5, 2, 124);
	bound(1, 1, 5, 2, 140);
	is(word(&words.room), 6, "bounds: when the clock has caught up, the new ones hold");
	takes(140, 1, BLOCK, POSITION(140, 0), "bounds: and ids have its time");
	bound(10, 50, 20, 15, 140);
	is(word(&words.burst), 50, "bounds: all of them");

	begin_grant();
	takes(130, 1, ROW, POSITION(130, 0), "step: the clock is at tick 130");
	bound(10, 3, 20, 15, 130);
	era = word(&words.era);
	bound(10, 3, 20, 15, 121);
	is(word(&words.era), era + 2, "step: set back to 121, another era begins");
	is(word(&words.opened), 130, "step: where the clock was");
	is(known(&words), 130, "step: which is still known");
	bound(10, 3, 20, 15, 121);
	is(word(&words.era), era + 2, "step: once");
	for (int tick = 131; tick <= 133; tick++)
		takes(121, CAPACITY, BLOCK, POSITION(tick, 0), "step: `burst` ticks may be drawn on top");
	refuses(122, CAPACITY, BLOCK, UIDGEN_TICKET_AHEAD, "step: and no more");
	for (int tick = 134; tick <= 142; tick++)
	{
		refuses(121 + 2 * (tick - 133) - 1, CAPACITY, BLOCK, UIDGEN_TICKET_AHEAD, "step: until the clock goes on");
		takes(121 + 2 * (tick - 133), CAPACITY, BLOCK, POSITION(tick, 0), "step: then ids go on at half its pace");
	}
	takes(140, CAPACITY, BLOCK, POSITION(143, 0), "step: until the clock has caught up");
	begin_grant();
	takes(130, 1, ROW, POSITION(130, 0), "step: the clock is at tick 130");
	bound(0, 3, 20, 15, 121);
	is(word(&words.opened), 121 + 9, "step: without `ahead` it is as far as it was allowed");
	begin_grant();
	takes(130, 1, ROW, POSITION(130, 0), "step: the clock is at tick 130");
	bound(1, 3, 5, 2, 121);
	for (int tick = 131; tick <= 133; tick++)
		takes(121, CAPACITY, BLOCK, POSITION(tick, 0), "step: with lower bounds, what could be drawn before still can");
	refuses(121, CAPACITY, BLOCK, UIDGEN_TICKET_AHEAD, "step: and no more");
	begin_grant();
	for (int tick = 130; tick <= 132; tick++)
		takes(130, CAPACITY, BLOCK, POSITION(tick, 0), "step: the clock is at tick 130, ids are ahead");
	takes(130, 1, ROW, POSITION(133, 0), "step: as far as they may");
	bound(10, 0, 20, 15, 121);
	takes(121, 1, ROW, POSITION(133, 1), "step: with a lower `burst` as well, nobody is stopped");
	refuses(121, CAPACITY, BLOCK, UIDGEN_TICKET_AHEAD, "step: but ids go no further");

	/* Of an era that began ahead of the clock, and has gone on since. */
	begin_grant();
	open_at(125, 110);
	for (int tick = 125; tick <= 130; tick++)
		ok(take(115, CAPACITY, BLOCK) == UIDGEN_TICKET_GOOD, "step: ids have gone on for five ticks of the clock");
	refuses(115, 1, ROW, UIDGEN_TICKET_AHEAD, "step: as far as they may");
	refuses(112, 1, ROW, UIDGEN_TICKET_AHEAD, "step: the clock is set back to 112");
	era = word(&words.era);
	bound(10, 3, 20, 15, 112);
	is(word(&words.era), era + 2, "step: another era begins");
	is(word(&words.opened), 127, "step: where ids were");
	is(word(&words.opened_at), 112, "step: and goes on from now");
	is(known(&words), 115, "step: where the clock was is still known");
	bound(10, 3, 20, 15, 112);
	is(word(&words.era), era + 2, "step: once");
	refuses(113, 1, ROW, UIDGEN_TICKET_AHEAD, "step: ids wait until the clock goes on");
	ok(given(114), "step: and not until it is back");
	bound(10, 3, 20, 15, 113);
	is(word(&words.era), era + 4, "step: one more begins another era, however small");
	is(word(&words.opened), 128, "step: where ids were");
	refuses(113, CAPACITY, ROW, UIDGEN_TICKET_AHEAD, "step: no further");
	bound(10, 3, 20, 15, 99);
	is(word(&words.era), era + 4, "step: not where the step is a large one, counted from the first");
	refuses(99, 1, ROW, UIDGEN_TICKET_AHEAD, "step: that needs another grant");

	/* A clock that leaps to where nothing is granted, while bounds are lowered. */
	begin_grant();
	takes(130, 1, ROW, POSITION(130, 0), "step: the clock is at tick 130");
	bound(5, 1, 20, 15, 5000);
	is(known(&words), 130, "step: a leap that no grant has followed is not known");
	takes(131, 1, ROW, POSITION(131, 0), "step: so its correction is no step");

	/* A call goes by the bounds that it has seen, whatever the keeper has. */
	begin_grant();
	uidgen_ticket_begin(&words, &ticket);
	clock = look(120);
	era = word(&words.era);
	bound(10, 3, 20, 15, 120);
	is(word(&words.era), era, "bounds: a call is not disturbed by the same ones");
	bound(10, 0, 20, 15, 115);
	is_result(uidgen_ticket_take(&words, &rules, &ticket, &clock, CAPACITY, BLOCK), UIDGEN_TICKET_VOID,
			  "bounds: it is void, if they are lower");
	is(known(&words), 120, "bounds: the highest tick of the clock stays known");
	refuses(110, CAPACITY + 1, ROW, UIDGEN_TICKET_REFUSED, "bounds: (set back)");
	bound(10, 0, 20, 9, 110);
	is(known(&words), 110, "bounds: unless its step back is a large one now");
	ok(take(112, 1, ROW) == UIDGEN_TICKET_GOOD, "bounds: which stops nobody either, but for the tick that was void");

	/* Ids that wait for the clock. */
	begin_grant();
	open_at(250, 110);
	ok(!given(110), "bounds: ids are out of reach");
	bound(10, 1, 20, 15, 110);
	ok(!given(110), "bounds: and stay so when those are lowered");
	bound(0, 0, 5, 1, 110);
	ok(!given(110) && !given(220), "bounds: however low");
	ok(!given(226) && given(227), "bounds: until the clock is near enough");

	/* What drawing had used of its room leaves none to a crash. */
	begin_grant();
	bound(10, 30, 20, 15, 100);
	for (int tick = 100; tick <= 130; tick++)
		takes(100, CAPACITY, BLOCK, POSITION(tick, 0), "room: ids are drawn ahead of the clock");
	bound(10, 2, 20, 15, 100);
	uidgen_ticket_close(&words);
	bound(10, 2, 20, 15, 100);
	open_era(&words, &rules, POSITION(140, 0), POSITION(200, 0), POSITION(200, 0), CONSTANT, 100, 100);
	ok(!given(109) && given(110), "room: the next grant has what they had, and not its burst on top");

	/* A caller may see one bound as it was, and the other as it is. */
	begin_grant();
	open_at(140, 110);
	ok(!given(116) && given(117), "room: 23 ticks");
	bound(10, 0, 20, 15, 110);
	is(word(&words.room), 23, "room: which the era keeps");
	uidgen_atomic_write(&words.burst, 3);
	ok(!given(116) && given(117), "room: with whatever burst");

	begin_grant();
	open_at(130, 110);
	bound(10, 1, 20, 15, 110);
	is(word(&words.room), 21, "bounds: a crash for which they have room does not raise them");

	begin_grant();
	uidgen_ticket_close(&words);
	bound(0, 0, 0, 1, 100);
	ok(word(&words.era) % 2 == 1, "bounds: without a grant they begin no era");
	is(word(&words.room), 0, "bounds: nor does it take more room than they have");
}

/* By brute force: the gate's rule and the end of a wait are the same. */
static void
test_waits(void)
{
	uint64_t	wrong = 0;
	uint64_t	not_monotonic = 0;

	for (int i = 0; i < 5 * 5 * 6 * 8 * 6 * 8 * 2; i++)
	{
		UidgenTicketReach reach = {
			.ahead = i % 5,
			.burst = i / 5 % 5,
			.room = i / 25 % 6,
			.large_step = 1000,
			.opened = i / 150 % 8,
			.opened_at = i / 1200 % 6,
			.clock_high = i / 7200 % 8,
			.opened_cause = i / 57600 ? UIDGEN_AHEAD_BURST : UIDGEN_AHEAD_CRASH,
		};

		for (UidgenTick tick = 0; tick < 20; tick++)
		{
			UidgenTick	first = 0;

			while (uidgen_ticket_last_allowed(&reach, first) < tick)
				first++;
			wrong += uidgen_ticket_allowed_at(&reach, tick) != first;
			not_monotonic += uidgen_ticket_last_allowed(&reach, first + 1) < tick;
		}
	}
	is(wrong, 0, "waits: end with exactly the first tick of the clock that lets an id pass");
	is(not_monotonic, 0, "waits: which then always passes");

	/* Another era is begun for a step only where it lets ids go on. */
	{
		UidgenTicketReach reach = {.clock_high = 20, .ahead = 5};

		ok(uidgen_ticket_step_in_era(&reach, 10), "step: ids may stay ahead of the clock, so another era begins");
		reach.ahead = 0;
		ok(!uidgen_ticket_step_in_era(&reach, 10), "step: they may not, so none does");
		ok(!uidgen_ticket_step_in_era(&reach, 20), "step: nor where there was no step");
	}

	{
		UidgenTicketReach reach = {
			.ahead = INT64_MAX,
			.burst = INT64_MAX,
			.room = INT64_MAX,
			.large_step = INT64_MAX,
			.opened = INT64_MAX,
			.clock_high = INT64_MAX,
		};

		is(uidgen_ticket_last_allowed(&reach, 5), INT64_MAX, "waits: sums do not overflow");
		is(uidgen_ticket_allowed_at(&reach, INT64_MAX), 0, "waits: nor do differences");
		ok(!uidgen_ticket_large_step(&reach, 5), "waits: nor does the size of a large step");
	}
}

static void
test_causes(void)
{
	UidgenTicketReach reach = {.ahead = 10, .burst = 3, .room = 23, .large_step = 15, .clock_high = 100};

	is(uidgen_ticket_cause(&reach, 100, 100), UIDGEN_AHEAD_NOT, "cause: an id at the clock has none");
	is(uidgen_ticket_cause(&reach, 90, 100), UIDGEN_AHEAD_NOT, "cause: nor has one behind it");
	is(uidgen_ticket_cause(&reach, 101, 100), UIDGEN_AHEAD_BURST, "cause: more are drawn than there is room for");
	is(uidgen_ticket_cause(&reach, 101, 95), UIDGEN_AHEAD_CLOCK_SET_BACK, "cause: the clock was set back");
	reach.opened = 104;
	reach.opened_at = 95;
	reach.opened_cause = UIDGEN_AHEAD_CRASH;
	is(uidgen_ticket_cause(&reach, 104, 95), UIDGEN_AHEAD_CRASH, "cause: a crash, after which it was set back a little");
	is(uidgen_ticket_cause(&reach, 104, 100), UIDGEN_AHEAD_CRASH, "cause: a crash");
	is(uidgen_ticket_cause(&reach, 120, 113), UIDGEN_AHEAD_BURST, "cause: a crash that the clock has caught up with is none");
	reach.opened_cause = UIDGEN_AHEAD_CLOCK_SET_BACK;
	is(uidgen_ticket_cause(&reach, 104, 100), UIDGEN_AHEAD_CLOCK_SET_BACK, "cause: what it was when the era began");
}

static void
test_limit(void)
{
	begin_grant();
	takes(150, CAPACITY, ROW, POSITION(150, 0), "limit: up to where it is to be renewed");
	ok(!ticket.renew, "limit: no word of renewal before");
	takes(151, 1, ROW, POSITION(151, 0), "limit: beyond it");
	ok(ticket.renew, "limit: the keeper should be told");
	takes(200, CAPACITY - 2, ROW, POSITION(200, 0), "limit: in the last tick");
	refuses(200, 3, ROW, UIDGEN_TICKET_NO_GRANT, "limit: a batch is judged by its last position");
	ok(ticket.renew, "limit: the keeper should be told of that too");
	takes(200, 2, ROW, POSITION(200, CAPACITY - 2), "limit: the last positions");
	refuses(200, 1, ROW, UIDGEN_TICKET_NO_GRANT, "limit: none after them");
	refuses(200, 1, ROW, UIDGEN_TICKET_NO_GRANT, "limit: however often one asks");
	refuses(201, 1, ROW, UIDGEN_TICKET_NO_GRANT, "limit: the clock is beyond it");

	uidgen_ticket_extend(&words, POSITION(300, CAPACITY - 1), POSITION(250, CAPACITY - 1));
	takes(200, 1, ROW, POSITION(201, 0), "extended: positions go on");
	ok(!ticket.renew, "extended: no word of renewal");
	takes(300, 1, ROW, POSITION(300, 0), "extended: up to the new limit");
	refuses(301, 1, ROW, UIDGEN_TICKET_NO_GRANT, "extended: and no farther");
	refuses(1000000, CAPACITY, BLOCK, UIDGEN_TICKET_NO_GRANT, "extended: by whatever step");

	begin_grant();
	rules.last_tick = 200;
	for (int tick = 197; tick <= 200; tick++)
		takes(197, CAPACITY, ROW, POSITION(tick, 0), "limit: up to the layout's last tick");
	refuses(197, 1, ROW, UIDGEN_TICKET_NO_GRANT, "limit: beyond it, waiting for the clock is of no use");

	begin_grant();
	rules.sequence_bits = 0;
	uidgen_ticket_close(&words);
	open_era(&words, &rules, 100, 200, 200, CONSTANT, 100, 0);
	takes(100, 1, ROW, 100, "limit: all of a tick of one");
	refuses(101, 2, ROW, UIDGEN_TICKET_REFUSED, "limit: more than a tick of one");
}

static void
test_starts(void)
{
	uint64_t	state = 88172645463325252;
	bool		equal = true;

	begin_grant();
	rules.start_mask = 1;
	takes(101, 3, ROW, POSITION(101, 0), "continue: at an even position");
	takes(102, 1, ROW, POSITION(102, 1), "continue: at an odd one");
	takes(102, CAPACITY - 2, ROW, POSITION(102, 2), "continue: the rest of the tick");
	takes(103, 1, ROW, POSITION(103, 0), "continue: a full tick ends where it began");
	takes(104, CAPACITY, ROW, POSITION(104, 0), "continue: a batch that would not fit begins at zero");
	takes(105, 1, ROW, POSITION(105, 0), "continue: after a full tick");
	takes(106, CAPACITY, BLOCK, POSITION(106, 0), "continue: a block that would not fit begins at zero");
	takes(107, 1, ROW, POSITION(107, 0), "continue: after a full tick");
	takes(108, CAPACITY - 1, BLOCK, POSITION(108, 1), "continue: a block that just fits");

	begin_grant();
	rules.start_mask = 7;
	rules.start_random = true;
	for (uint64_t tick = 101; tick < 150; tick++)
	{
		/* Marsaglia's example of xorshift64, with its seed */
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (take(tick, 1, ROW) != UIDGEN_TICKET_GOOD ||
			ticket.first != POSITION(tick, state & 7))
			equal = false;
	}
	ok(equal, "random: every tick begins with the next random number");
	begin_grant();
	rules.start_mask = 7;
	rules.start_random = true;
	take(101, 1, ROW);
	/* the first output that Marsaglia's paper leads to */
	is(rules.random, UINT64_C(8748534153485358512), "random: the generator is xorshift64");
	takes(101, 1, ROW, ticket.first + 1, "random: only where a tick begins");
	while (word(&words.position) < POSITION(102, 0))
		take(101, 1, ROW);
	takes(102, 1, ROW, POSITION(102, 0), "random: and others have not filled up the one before");
}

static void
test_settle(void)
{
	uint64_t	era;

	begin_grant();
	uidgen_ticket_begin(&words, &ticket);
	era = ticket.era;
	bound(10, 5, 20, 15, 200);
	ticket.first = POSITION(200, CAPACITY - 1);
	is_result(settle(200, 1), UIDGEN_TICKET_GOOD,
			  "settle: the last granted position is good");
	is(ticket.constant, CONSTANT, "settle: with the grant's constant");
	is_result(settle(200, 2), UIDGEN_TICKET_UNGRANTED,
			  "settle: two of which one is granted are held");
	ticket.first = POSITION(205, 0);
	is_result(settle(200, 1), UIDGEN_TICKET_UNGRANTED,
			  "settle: a ticket above the limit is held");
	uidgen_ticket_extend(&words, POSITION(204, CAPACITY - 1), POSITION(204, 0));
	is_result(settle(200, 1), UIDGEN_TICKET_UNGRANTED,
			  "settle: it still is, below a limit that is not enough");
	uidgen_ticket_extend(&words, POSITION(205, CAPACITY - 1), POSITION(204, 0));
	is_result(settle(200, 1), UIDGEN_TICKET_GOOD,
			  "settle: and good once it is granted");

	is_result(settle(190, 1), UIDGEN_TICKET_GOOD,
			  "settle: as far ahead of the clock as ids may be is good");
	is_result(settle(189, 1), UIDGEN_TICKET_EARLY,
			  "settle: further ahead is early");
	is(ticket.blocked, 205, "settle: for this tick");
	is_result(settle(0, 1), UIDGEN_TICKET_EARLY,
			  "settle: and so is very much further");
	ticket.first = POSITION(204, CAPACITY - 1);
	is_result(settle(189, 1), UIDGEN_TICKET_GOOD,
			  "settle: the last position that is not");
	is_result(settle(189, 2), UIDGEN_TICKET_EARLY,
			  "settle: of two, the later one decides");

	uidgen_ticket_close(&words);
	is_result(settle(200, 1), UIDGEN_TICKET_VOID,
			  "settle: void when the era has ended");
	open_era(&words, &rules, POSITION(100, 0), POSITION(300, 0), POSITION(300, 0), CONSTANT + 1, 200, 0);
	is_result(settle(200, 1), UIDGEN_TICKET_VOID,
			  "settle: void in the next era, however high its limit");
	ok(word(&words.era) > era && word(&words.era) % 2 == 0, "settle: which has another, even number");

	/* A call that began in an old era and takes in the new one. */
	begin_grant();
	uidgen_ticket_begin(&words, &ticket);
	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(100, 0), POSITION(300, 0), POSITION(300, 0), CONSTANT + 1, 200, 0);
	is_result(take_begun(120, 1, ROW), UIDGEN_TICKET_VOID,
			  "a call from an old era: void, if its clock is ahead");
	uidgen_ticket_begin(&words, &ticket);
	uidgen_ticket_close(&words);
	open_era(&words, &rules, POSITION(130, 0), POSITION(300, 0), POSITION(300, 0), CONSTANT + 1, 120, 0);
	is_result(take_begun(120, 1, ROW), UIDGEN_TICKET_VOID,
			  "a call from an old era: void, if its clock is behind");
	/* The keeper stopped between the two. */
	uidgen_ticket_begin(&words, &ticket);
	uidgen_ticket_close(&words);
	refuses(140, 1, ROW, UIDGEN_TICKET_NO_GRANT, "a call in between eras: no grant");
}

static void
test_keeper(void)
{
	uint64_t	era;

	begin_grant();
	takes(120, 5, ROW, POSITION(120, 0), "keeper: five positions are taken");
	is(uidgen_ticket_close(&words), POSITION(120, 5), "keeper: close() returns the next one");
	era = word(&words.era);
	is(word(&words.limit), 0, "keeper: and nothing is granted any more");
	is(word(&words.renew_at), 0, "keeper: nor to be renewed");
	is(uidgen_ticket_close(&words), POSITION(120, 5), "keeper: closing again returns the same");
	is(word(&words.era), era, "keeper: and changes nothing");
	open_era(&words, &rules, POSITION(121, 0), POSITION(140, 0), POSITION(130, 0), 77, 120, 119);
	is(word(&words.era), era + 1, "keeper: open() begins the next era");
	is(known(&words), 119, "keeper: with the tick of the clock that is known for it");
	is(word(&words.opened), 121, "keeper: and its first tick, which is ahead of the clock");
	is_result(take(121, 1, ROW), UIDGEN_TICKET_GOOD, "keeper: positions are taken in it");
	is(ticket.constant, 77, "keeper: with its constant");
	is(ticket.first, POSITION(121, 0), "keeper: from its first position on");

	/* The highest positions that a layout can have: 63 bits in all. */
	begin_grant();
	rules.sequence_bits = 31;
	rules.last_tick = (UINT64_C(1) << 32) - 1;
	uidgen_ticket_close(&words);
	bound(INT64_MAX >> 1, INT64_MAX >> 1, INT64_MAX, INT64_MAX, 100);
	open_era(&words, &rules, (UINT64_C(1) << 63) - (UINT64_C(2) << 31), (UINT64_C(1) << 63) - 1, 0, CONSTANT, 0, 0);
	takes((UINT64_C(1) << 32) - 1, 1, ROW, (UINT64_C(1) << 63) - (UINT64_C(1) << 31),
	      "highest: the last tick");
	takes((UINT64_C(1) << 32) - 1, INT32_MAX, BLOCK, (UINT64_C(1) << 63) - INT32_MAX, "highest: all of it");
	refuses((UINT64_C(1) << 32) - 1, 1, BLOCK, UIDGEN_TICKET_NO_GRANT, "highest: and no more");
}

/* As far as layouts and settings go; uidgen_time_bounds() makes these of them. */
static void
test_extremes(void)
{
	static const struct
	{
		const char *name;
		int			time_bits;
		int			sequence_bits;
		uint64_t	ahead;		/* max_ahead and max_burst of 2147483647 ms */
		uint64_t	second;		/* 1 s in ticks, rounded up */
		uint64_t	window;		/* 24 h */
	}			extremes[] = {
		{"1 us, 62 bits of time", 62, 1, UINT64_C(2147483647000), 1000000, UINT64_C(86400000000)},
		{"1 us, 20 bits of time", 20, 31, UINT64_C(2147483647000), 1000000, UINT64_C(86400000000)},
		{"1 us, 32 bits of time", 32, 31, UINT64_C(2147483647000), 1000000, UINT64_C(86400000000)},
		{"1 h, 62 bits of time", 62, 1, 596, 1, 24},
		{"1 h, 20 bits of time", 20, 31, 596, 1, 24},
	};

	for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++)
	{
		uint64_t	last_tick = (UINT64_C(1) << extremes[i].time_bits) - 1;
		int			bits = extremes[i].sequence_bits;
		uint64_t	limit = (last_tick << bits) - 1;
		uint64_t	last_capacity = (UINT64_C(1) << bits) - 1;
		uint64_t	burst = extremes[i].ahead + 1;
		uint64_t	step = extremes[i].ahead + 1 + extremes[i].second;
		uint64_t	crash = step + extremes[i].window + burst + 3;
		bool		good = true;

		begin_grant();
		rules.sequence_bits = bits;
		rules.last_tick = last_tick;
		uidgen_ticket_close(&words);
		bound(extremes[i].ahead, burst, crash, step, 0);
		open_era(&words, &rules, UINT64_C(1) << bits, limit, limit, CONSTANT, 0, 0);

		/* from the first tick to the last granted one, and back again */
		good = good && take(0, 1, ROW) == UIDGEN_TICKET_GOOD;
		good = good && take(1, last_capacity, BLOCK) == UIDGEN_TICKET_GOOD;
		good = good && take(last_tick - 1, 1, BLOCK) == UIDGEN_TICKET_GOOD &&
			ticket.first == (last_tick - 1) << bits;
		good = good && take(last_tick - 1, last_capacity, BLOCK) == UIDGEN_TICKET_GOOD &&
			ticket.first + ticket.count - 1 == limit;
		ok(good, "extreme: %s: ids go to the last granted tick", extremes[i].name);
		/* The keeper comes often enough for clock_high not to run out of bits. */
		bound(extremes[i].ahead, burst, crash, step, last_tick - 1);
		good = take(last_tick - 1, 1, ROW) == UIDGEN_TICKET_NO_GRANT &&
			take(last_tick, 1, BLOCK) == UIDGEN_TICKET_NO_GRANT &&
			take(last_tick, last_capacity, BLOCK) == UIDGEN_TICKET_NO_GRANT &&
			word(&words.position) == limit + 1;
		ok(good, "extreme: %s: and no further", extremes[i].name);
		good = last_tick > 2 * crash ?
			take(last_tick - step - 2, 1, ROW) == UIDGEN_TICKET_AHEAD :
			take(1, 1, ROW) == UIDGEN_TICKET_NO_GRANT;
		ok(good, "extreme: %s: a large step is one beyond the bounds only", extremes[i].name);
		bound(0, 0, 4, 1, last_tick - 2);
		ok(take(last_tick, 1, ROW) == UIDGEN_TICKET_NO_GRANT && word(&words.limit) == limit &&
		   word(&words.position) == limit + 1 && known(&words) == last_tick - 1,
		   "extreme: %s: lowered at the end of the layout", extremes[i].name);
	}
}

/* ---- stress ---- */

#define CALLERS 5
#define WORKERS 4
#define STRESS_BITS 3
#define STRESS_CAPACITY (1 << STRESS_BITS)
#define WINDOW 6				/* ticks */
#define LARGE_STEP 12			/* ticks; also how far the clock may be set back */
#define BURST 3
#define CRASH (LARGE_STEP + WINDOW + BURST + 3)
#define FIRST_TICK 1000
#define SECONDS_MIN 2
#define SECONDS_MAX 3600		/* reached only by what never comes */
#define BACK_STEPS_MAX 1000000
#define ERAS_MAX 1000000

typedef struct Caller
{
	pthread_t	thread;
	UidgenTicketRules rules;
	uint64_t	random;
	Records		issued;
	uint64_t	disorders;
	uint64_t	not_granted;
	uint64_t	old_clocks;		/* that were read before the era began */
	uint64_t	mixed;			/* with the worker id of another era's grant */
	uint64_t	split_blocks;
	uint64_t	too_far;
} Caller;

/* The 64-bit numbers come first: these are aligned as the words are, by 8. */
static struct
{
	UidgenTicketWords words;
	UidgenAtomic clock;			/* how often it moved, and its tick */
	uint64_t	results[RESULTS];	/* how often calls have met each */

	/* The registry: last tick granted, by worker.  Written by the keeper. */
	uint64_t	granted_until[WORKERS];

	/* Of an era: the worker id, and how often the clock had moved before. */
	uint64_t	worker_of[ERAS_MAX];
	uint64_t	moves_of[ERAS_MAX];

	/* How often the clock's large step back was followed, and by that number
	 * the highest position of a call that has returned. */
	uint64_t	back_steps;
	uint64_t	returned[BACK_STEPS_MAX + 1];

	bool		demand;			/* somebody misses something */
	bool		stop;
} stress;

/* The keeper's own. */
static struct
{
	UidgenTicketRules rules;
	uint64_t	random;
	bool		held;
	uint64_t	worker;
	bool		ours[WORKERS];	/* the row has our token */
	Records		rivals;
	uint64_t	renewals;
	uint64_t	acquisitions;
	uint64_t	releases;
	uint64_t	losses;
	uint64_t	reopened;		/* by bounds that were lowered */
} keeper;

static void
note(Records *records, uint64_t worker, uint64_t first, uint64_t count)
{
	if (!record(records, worker, first, count))
		SET(stress.stop, true);
}

#define TICK(clock) ((clock) & UINT32_MAX)
#define MOVES(clock) ((clock) >> 32)
#define CLOCK() TICK(GET(stress.clock.value))

/* The clock mostly stands or goes on; sometimes it steps, by little or by much. */
static void
move_clock(uint64_t *random)
{
	uint64_t	clock = GET(stress.clock.value);
	uint64_t	now = TICK(clock);
	uint64_t	step = next_random(random) % 40;

	switch (next_random(random) % 10000)
	{
		case 0:
			now += 2 * LARGE_STEP + step;
			break;
		case 1:
			if (now > FIRST_TICK + 200)
				now -= 2 * LARGE_STEP + step;
			break;
		case 2:
		case 3:
			if (now > FIRST_TICK)
				now -= step % LARGE_STEP;
			break;
		default:
			if (next_random(random) % 16 == 0)
				now++;
	}
	/* Unless another thread has moved it. */
	if (now != TICK(clock))
		__atomic_compare_exchange_n(&stress.clock.value, &clock,
									(MOVES(clock) + 1) << 32 | now, false,
									__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void
issue(Caller *caller, UidgenTicket *good, uint64_t n, uint64_t back_steps,
	  uint64_t returned)
{
	uint64_t	last = good->first + n - 1;
	uint64_t   *highest = &stress.returned[back_steps];

	/*
	 * The registry may have gone on since: a release leaves what was issued, and
	 * grants lie above it.
	 */
	if ((last >> STRESS_BITS) > GET(stress.granted_until[good->constant]))
		caller->not_granted++;
	if (good->constant != GET(stress.worker_of[good->era / 2]))
		caller->mixed++;

	/* Order holds where the clock's step back was not followed meanwhile. */
	if (GET(stress.back_steps) == back_steps)
	{
		if (good->first <= returned)
			caller->disorders++;
		while (last > returned &&
			   !__atomic_compare_exchange_n(highest, &returned, last, false,
											__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
	}
	note(&caller->issued, good->constant, good->first, n);
}

/* One call: as in generator.c, but that it never fails, and that it is cancelled
 * at random. */
static void
call(Caller *caller)
{
	uint64_t	back_steps = GET(stress.back_steps);
	uint64_t	returned = GET(stress.returned[back_steps]);
	uint64_t	n = next_random(&caller->random) % 4 != 0 ? 1 :
		1 + next_random(&caller->random) % STRESS_CAPACITY;
	UidgenTicketKind kind = (UidgenTicketKind) (next_random(&caller->random) % 2);
	UidgenTicketResult result = UIDGEN_TICKET_VOID;
	UidgenTicket good = {0};

	while (!GET(stress.stop))
	{
		bool		taken = result == UIDGEN_TICKET_UNGRANTED || result == UIDGEN_TICKET_EARLY;
		UidgenTicketClock clock;
		uint64_t	now;

		if (!taken)
			uidgen_ticket_begin(&stress.words, &good);
		now = uidgen_atomic_read(&stress.clock);
		if (good.era % 2 == 0 && MOVES(now) < GET(stress.moves_of[good.era / 2]))
			caller->old_clocks++;
		now = TICK(now);
		uidgen_ticket_note_clock(&stress.words, &caller->rules, good.era, now);
		clock = uidgen_ticket_clock(&stress.words, &caller->rules, now);
		if (taken)
			result = uidgen_ticket_settle(&stress.words, &caller->rules, &good,
										  &clock);
		else
			result = uidgen_ticket_take(&stress.words, &caller->rules, &good,
										&clock, n, kind);
		__atomic_fetch_add(&stress.results[result], 1, __ATOMIC_SEQ_CST);
		if (result == UIDGEN_TICKET_GOOD)
			issue(caller, &good, good.count, back_steps, returned);
		if (result == UIDGEN_TICKET_GOOD && kind != ROW &&
			(good.first & (STRESS_CAPACITY - 1)) + good.count > STRESS_CAPACITY)
			caller->split_blocks++;
		if (result == UIDGEN_TICKET_GOOD &&
			(UidgenTick) ((good.first + good.count - 1) >> STRESS_BITS) > clock.tick + CRASH + BURST)
			caller->too_far++;
		if (result == UIDGEN_TICKET_NO_GRANT || result == UIDGEN_TICKET_UNGRANTED ||
			(result == UIDGEN_TICKET_GOOD && good.renew) ||
			((result == UIDGEN_TICKET_AHEAD || result == UIDGEN_TICKET_EARLY) &&
			 known(&stress.words) >
			 CLOCK() + LARGE_STEP))
			SET(stress.demand, true);
		if (result == UIDGEN_TICKET_GOOD ||
			next_random(&caller->random) % 100 == 0)
			return;
		move_clock(&caller->random);
		if (result != UIDGEN_TICKET_VOID)
			reordered_full_barrier();	/* as to wait is */
		step_aside();
	}
}

static void *
caller_main(void *argument)
{
	Caller	   *caller = argument;

	stress_thread(caller->random);
	while (!GET(stress.stop))
	{
		move_clock(&caller->random);
		call(caller);
	}
	return NULL;
}

/* Another instance acquires a row, and uses all of its grant at once. */
static void
rival(uint64_t worker)
{
	uint64_t	first = GET(stress.granted_until[worker]) + 1;

	keeper.ours[worker] = false;
	SET(stress.granted_until[worker], first + 1);
	note(&keeper.rivals, worker, first << STRESS_BITS, 2 << STRESS_BITS);
}

/* A row that begins at most so many ticks ahead of the clock, else the lowest. */
static uint64_t
choose_worker(uint64_t now, uint64_t lead)
{
	uint64_t	start = next_random(&keeper.random);
	uint64_t	lowest = start % WORKERS;

	for (int i = 0; i < WORKERS; i++)
	{
		uint64_t	worker = (start + i) % WORKERS;

		if (GET(stress.granted_until[worker]) + 1 <= now + lead)
			return worker;
		if (GET(stress.granted_until[worker]) < GET(stress.granted_until[lowest]))
			lowest = worker;
	}
	return lowest;
}

/* What there is to know of the next era. */
static void
note_era(uint64_t worker)
{
	uint64_t	next = uidgen_atomic_read(&stress.words.era) / 2 + 1;

	if (next + 1 == ERAS_MAX)
		SET(stress.stop, true);
	SET(stress.worker_of[next], worker);
	SET(stress.moves_of[next], MOVES(GET(stress.clock.value)));
}

static void
acquire(bool stepped_back)
{
	uint64_t	now = CLOCK();
	uint64_t	floor = stepped_back ? 0 :
		((uidgen_atomic_read(&stress.words.position) - 1) >> STRESS_BITS) + 1;
	uint64_t	worker = choose_worker(now, stepped_back ? LARGE_STEP : CRASH);
	uint64_t	first;
	uint64_t	last;
	uint64_t	position;
	uint64_t	high = known(&stress.words);

	first = GET(stress.granted_until[worker]) + 1;
	first = first > now ? first : now;
	first = first > floor ? first : floor;
	last = first + WINDOW;
	SET(stress.granted_until[worker], last);
	keeper.ours[worker] = true;
	keeper.held = true;
	keeper.worker = worker;
	keeper.acquisitions++;
	note_era(worker);

	position = uidgen_ticket_close(&stress.words);
	position = (((position - 1) >> STRESS_BITS) + 1) << STRESS_BITS;
	if (stepped_back || position < first << STRESS_BITS)
		position = first << STRESS_BITS;
	if (stepped_back)
		SET(stress.back_steps, GET(stress.back_steps) + 1);
	open_era(&stress.words, &keeper.rules, position,
					   ((last + 1) << STRESS_BITS) - 1,
					   ((last + 1 - WINDOW / 2) << STRESS_BITS) - 1, worker, now,
					   stepped_back || high < now ? now : high);
}

static void
renew(void)
{
	uint64_t	now = CLOCK();
	uint64_t	needed = (uidgen_atomic_read(&stress.words.position) >> STRESS_BITS) + 1;
	uint64_t	last = (now > needed ? now : needed) + WINDOW;

	if (last < GET(stress.granted_until[keeper.worker]))
		last = GET(stress.granted_until[keeper.worker]);
	SET(stress.granted_until[keeper.worker], last);
	uidgen_ticket_extend(&stress.words, ((last + 1) << STRESS_BITS) - 1,
						 ((last + 1 - WINDOW / 2) << STRESS_BITS) - 1);
	keeper.renewals++;
}

static void
release(void)
{
	uint64_t	issued;

	keeper.held = false;
	issued = (uidgen_ticket_close(&stress.words) - 1) >> STRESS_BITS;
	if (keeper.ours[keeper.worker] &&
		issued < GET(stress.granted_until[keeper.worker]))
		SET(stress.granted_until[keeper.worker], issued);
	keeper.ours[keeper.worker] = false;
	keeper.releases++;
}

/* Other bounds: at most those that count as too far. */
static void
change_bounds(void)
{
	uint64_t	era = uidgen_atomic_read(&stress.words.era);
	UidgenTicketBounds bounds = {LARGE_STEP, BURST, CRASH, LARGE_STEP};

	if (next_random(&keeper.random) % 2 == 0)
		bounds = (UidgenTicketBounds) {
			next_random(&keeper.random) % (LARGE_STEP + 1),
			next_random(&keeper.random) % (BURST + 1),
			CRASH, LARGE_STEP
		};
	note_era(keeper.worker);
	uidgen_ticket_bound(&stress.words, &keeper.rules, &bounds, CLOCK());
	keeper.reopened += uidgen_atomic_read(&stress.words.era) != era;
}

static void
keep(void)
{
	uint64_t	high;

	switch (next_random(&keeper.random) % 20)
	{
		case 0:					/* a restart of the keeper */
			if (keeper.held)
				release();
			if (next_random(&keeper.random) % 2 == 0)
				rival(keeper.worker);
			break;
		case 1:					/* the row is taken away */
			rival(keeper.worker);
			keeper.losses++;
			break;
		case 2:					/* as after a leap of the clock */
			acquire(false);
			break;
		case 3:
			change_bounds();
			break;
		default:
			high = known(&stress.words);
			if (!keeper.held)
				acquire(false);
			else if (high > CLOCK() + LARGE_STEP)
				acquire(true);
			else if (keeper.ours[keeper.worker])
				renew();
			else
				acquire(false);
	}
}

/* Has every case been met? */
static bool
met_all(void)
{
	for (int r = 0; r < RESULTS; r++)
		if (GET(stress.results[r]) < 10)
			return false;
	return keeper.renewals > 100 && keeper.acquisitions > 300 &&
		keeper.releases > 50 && keeper.losses > 50 && keeper.reopened > 10 &&
		GET(stress.back_steps) > 10;
}

static void
test_stress(void)
{
	static Caller callers[CALLERS];
	double		start = seconds();
	uint64_t	disorders = 0;
	uint64_t	not_granted = 0;
	uint64_t	mixed = 0;
	uint64_t	old_clocks = 0;
	uint64_t	split_blocks = 0;
	uint64_t	too_far = 0;
	Records		all = {allocate((CALLERS + 1) * RECORDS_MAX * sizeof(Record)), 0};

	uidgen_ticket_init(&stress.words);
	SET(stress.clock.value, FIRST_TICK + 500);
	keeper.rivals.record = allocate(RECORDS_MAX * sizeof(Record));
	keeper.random = 12345;
	keeper.rules.sequence_bits = STRESS_BITS;
	change_bounds();
	for (int i = 0; i < CALLERS; i++)
	{
		callers[i].random = (uint64_t) i * 7919 + 1;
		callers[i].rules.sequence_bits = STRESS_BITS;
		callers[i].rules.last_tick = UINT64_C(1) << 40;
		callers[i].rules.start_mask = i % 3 == 0 ? 0 : 1;
		callers[i].rules.start_random = i % 3 == 1;
		callers[i].rules.random = callers[i].random;
		callers[i].issued.record = allocate(RECORDS_MAX * sizeof(Record));
	}
	for (int i = 0; i < CALLERS; i++)
		start_thread(&callers[i].thread, caller_main, &callers[i]);

	stress_thread(54321);
	while (!GET(stress.stop))
	{
		if (__atomic_exchange_n(&stress.demand, false, __ATOMIC_SEQ_CST) ||
			next_random(&keeper.random) % 8 == 0)
		{
			reordered_full_barrier();	/* as its lock is */
			keep();
			reordered_full_barrier();
		}
		else
			step_aside();
		if (seconds() - start > (met_all() ? SECONDS_MIN : SECONDS_MAX) ||
			GET(stress.back_steps) == BACK_STEPS_MAX)
			SET(stress.stop, true);
	}
	stress_thread(0);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);

	for (int i = 0; i < CALLERS; i++)
	{
		disorders += callers[i].disorders;
		not_granted += callers[i].not_granted;
		mixed += callers[i].mixed;
		old_clocks += callers[i].old_clocks;
		split_blocks += callers[i].split_blocks;
		too_far += callers[i].too_far;
		add_records(&all, &callers[i].issued);
		free(callers[i].issued.record);
	}
	add_records(&all, &keeper.rivals);
	free(keeper.rivals.record);
#ifdef __SANITIZE_THREAD__
	printf("# under ThreadSanitizer\n");
#endif
	for (int r = 0; r < RESULTS; r++)
		printf("# %s: %" PRIu64 "\n", result_name(r), GET(stress.results[r]));
	printf("# %" PRIu64 " renewals, %" PRIu64 " acquisitions\n",
		   keeper.renewals, keeper.acquisitions);
	printf("# %" PRIu64 " releases, %" PRIu64 " losses, %" PRIu64 " steps back\n",
		   keeper.releases, keeper.losses, GET(stress.back_steps));
	is(count_overlaps(&all, "worker"), 0, "stress: no position of a worker id is issued twice");
	is(not_granted, 0, "stress: none is issued above its grant");
	is(mixed, 0, "stress: each has the worker id that was granted for its era");
	is(disorders, 0, "stress: calls get higher positions than all that had returned");
	is(old_clocks, 0, "stress: a call goes by no clock from before its era");
	is(split_blocks, 0, "stress: a block lies within one tick");
	is(too_far, 0, "stress: none is issued too far ahead of the clock");
	ok(met_all(), "stress: every case was met, by the calls and by the keeper");
	free(all.record);
}

int
main(void)
{
	test_no_grant();
	test_clock();
	test_late_notes();
	test_base();
	test_blocks();
	test_set_back();
	test_burst();
	test_crash();
	test_bounds();
	test_waits();
	test_causes();
	test_limit();
	test_starts();
	test_settle();
	test_keeper();
	test_extremes();
	test_stress();
	return done_testing();
}
