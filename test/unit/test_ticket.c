/*
 * test_ticket.c
 *	  Proves src/ticket.h and src/ticket.c without a server.
 *
 * First each rule by itself, in one thread: the gate, where a ticket begins,
 * how it is judged, what the keeper's steps leave behind.  Then all of them
 * under stress: threads take tickets by a clock that goes to and fro, while a
 * keeper renews, changes worker ids, loses and releases grants, and a rival
 * uses whatever it can get hold of.  All that was issued is kept, and looked
 * through at the end.
 *
 * ticket.c is part of this program, so that every access to a shared word can
 * be disturbed: the thread may lose the processor there.
 *
 * Output is TAP.  Built twice, under the address and undefined behaviour
 * sanitizers and under ThreadSanitizer.  Build and run: make unitcheck
 */
#define _POSIX_C_SOURCE 200809L

#include "atomics.h"

static void disturb(void);

#undef uidgen_atomic_read
#define uidgen_atomic_read(a) \
	(disturb(), __atomic_load_n(&(a)->value, __ATOMIC_SEQ_CST))
#undef uidgen_atomic_write
#define uidgen_atomic_write(a, v) \
	(disturb(), __atomic_store_n(&(a)->value, (v), __ATOMIC_SEQ_CST))
#undef uidgen_atomic_fetch_add
#define uidgen_atomic_fetch_add(a, n) \
	(disturb(), __atomic_fetch_add(&(a)->value, (n), __ATOMIC_SEQ_CST))
#undef uidgen_atomic_compare_exchange
#define uidgen_atomic_compare_exchange(a, expected, v) \
	(disturb(), __atomic_compare_exchange_n(&(a)->value, (expected), (v), \
											false, __ATOMIC_SEQ_CST, \
											__ATOMIC_SEQ_CST))

#include "ticket.c"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- TAP ---- */

static int	tests;
static int	failures;

static bool
ok(bool pass, const char *format,...)
{
	va_list		args;

	printf("%sok %d - ", pass ? "" : "not ", ++tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	failures += !pass;
	return pass;
}

static void
is(uint64_t got, uint64_t want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got: %" PRIu64 "\n#  want: %" PRIu64 "\n", got, want);
}

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
		case UIDGEN_TICKET_HELD:
			return "HELD";
		case UIDGEN_TICKET_EARLY:
			return "EARLY";
		case UIDGEN_TICKET_VOID:
			return "VOID";
	}
	return "none";
}

#define RESULTS (UIDGEN_TICKET_VOID + 1)

/* ---- rules, in one thread ---- */

#define BITS 4
#define CAPACITY (1 << BITS)
#define POSITION(tick, sequence) ((uint64_t) (tick) << BITS | (uint64_t) (sequence))
#define CONSTANT 5000

static UidgenTicketWords words;
static UidgenTicketRules rules;
static UidgenTicket ticket;

static uint64_t
word(UidgenAtomic *atomic)
{
	return uidgen_atomic_read(atomic);
}

/* A grant of the ticks from 100 to 200, to be renewed beyond 150. */
static void
begin_grant(void)
{
	memset(&rules, 0, sizeof(rules));
	rules.sequence_bits = BITS;
	rules.last_tick = 1000;
	rules.max_ahead = 10;
	rules.random = 88172645463325252;
	memset(&ticket, 0x55, sizeof(ticket));
	uidgen_ticket_init(&words);
	uidgen_ticket_close(&words);
	uidgen_ticket_open(&words, POSITION(100, 0), POSITION(200, CAPACITY - 1),
					   POSITION(150, CAPACITY - 1), CONSTANT, 0);
}

/* The rest of a call. */
static UidgenTicketResult
take_begun(uint64_t now, uint64_t n, bool within_tick)
{
	UidgenTicketClock clock = uidgen_ticket_clock(&rules, now);

	return uidgen_ticket_take(&words, &rules, &ticket, &clock, n, within_tick);
}

static UidgenTicketResult
take(uint64_t now, uint64_t n, bool within_tick)
{
	uidgen_ticket_begin(&words, &ticket);
	return take_begun(now, n, within_tick);
}

/* Judge ticket.first once more. */
static UidgenTicketResult
settle(uint64_t now, uint64_t n)
{
	UidgenTicketClock clock = uidgen_ticket_clock(&rules, now);

	return uidgen_ticket_settle(&words, &rules, &ticket, &clock, n);
}

static void
is_result(UidgenTicketResult got, UidgenTicketResult want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got: %s\n#  want: %s\n", result_name(got), result_name(want));
}

/* A take that is good, and where it begins. */
static void
takes(uint64_t now, uint64_t n, bool within_tick, uint64_t first, const char *name)
{
	UidgenTicketResult result = take(now, n, within_tick);

	if (!ok(result == UIDGEN_TICKET_GOOD && ticket.first == first &&
			ticket.constant == CONSTANT && word(&words.position) == first + n,
			"%s", name))
		printf("# %s, first %" PRIu64 ":%" PRIu64 ", position %" PRIu64 ":%" PRIu64 "\n",
			   result_name(result), ticket.first >> BITS,
			   ticket.first & (CAPACITY - 1), word(&words.position) >> BITS,
			   word(&words.position) & (CAPACITY - 1));
}

/* A take that takes nothing. */
static void
refuses(uint64_t now, uint64_t n, bool within_tick, UidgenTicketResult want,
		const char *name)
{
	uint64_t	position = word(&words.position);
	UidgenTicketResult result = take(now, n, within_tick);

	if (!ok(result == want && word(&words.position) == position, "%s", name))
		printf("# %s, position moved by %" PRIu64 "\n", result_name(result),
			   word(&words.position) - position);
}

static void
test_no_grant(void)
{
	begin_grant();
	uidgen_ticket_init(&words);
	refuses(0, 1, false, UIDGEN_TICKET_NO_GRANT, "new words: no grant at tick 0");
	refuses(1000, 1, false, UIDGEN_TICKET_NO_GRANT, "new words: no grant at any other");
	refuses(1000, CAPACITY, true, UIDGEN_TICKET_NO_GRANT, "new words: no grant for a block");
	is(uidgen_ticket_close(&words), 1, "new words: position 1, which has one before it");
	ok(word(&words.era) % 2 == 1, "new words: close() leaves the era odd");

	begin_grant();
	uidgen_ticket_close(&words);
	refuses(120, 1, false, UIDGEN_TICKET_NO_GRANT, "closed era: no grant");
}

static void
test_clock(void)
{
	begin_grant();
	takes(100, 1, false, POSITION(100, 0), "the grant's first tick: its first position");
	takes(100, 1, false, POSITION(100, 1), "the same tick: the next position");
	takes(100, 3, false, POSITION(100, 2), "several: one after the other");
	takes(103, 1, false, POSITION(103, 0), "a later tick: its first position");
	is(word(&words.clock_high), 103, "the clock's tick is noted");
	takes(101, 1, false, POSITION(103, 1), "the clock was set back a little: positions go on");
	is(word(&words.clock_high), 103, "the highest tick of the clock stays noted");
	takes(103, CAPACITY - 2, false, POSITION(103, 2), "the rest of a tick");
	takes(103, 1, false, POSITION(104, 0), "the capacity is exceeded: the next tick");
	takes(103, CAPACITY, false, POSITION(104, 1), "a batch may reach from one tick into the next");
	takes(104, 1, false, POSITION(105, 1), "the clock is not there yet: positions go on");
	is(word(&words.clock_high), 103, "outrunning the clock does not move its highest tick");
	uidgen_ticket_note_clock(&words, 103, 104);
	is(word(&words.clock_high), 104, "the keeper may note a tick of the clock");
	uidgen_ticket_note_clock(&words, 104, 90);
	is(word(&words.clock_high), 104, "but not a lower one");
	uidgen_ticket_note_clock(&words, 103, 105);
	is(word(&words.clock_high), 104, "nor does one who has seen another value than the present one");
}

static void
test_blocks(void)
{
	begin_grant();
	takes(100, 10, true, POSITION(100, 0), "block: at the start of a tick");
	takes(100, 6, true, POSITION(100, 10), "block: just fits into the rest of a tick");
	takes(100, 10, true, POSITION(101, 0), "block: at the start of the next tick");
	takes(100, 7, true, POSITION(102, 0), "block: passes over a rest that is too small");
	takes(104, CAPACITY, true, POSITION(104, 0), "block: a whole tick");
	takes(104, CAPACITY, true, POSITION(105, 0), "block: and the next one");
	takes(104, 1, true, POSITION(106, 0), "block: of one");
}

static void
test_ahead(void)
{
	begin_grant();
	takes(120, 1, false, POSITION(120, 0), "ahead: the clock is at tick 120");
	takes(110, 1, false, POSITION(120, 1), "ahead: set back by max_ahead, ids go on");
	refuses(109, 1, false, UIDGEN_TICKET_AHEAD, "ahead: by one more, they wait");
	is(ticket.blocked, 120, "ahead: for this tick");
	refuses(109, 1, true, UIDGEN_TICKET_AHEAD, "ahead: so does a block");
	refuses(0, 1, false, UIDGEN_TICKET_AHEAD, "ahead: and by very much more");
	takes(110, CAPACITY - 2, false, POSITION(120, 2), "ahead: the rest of the tick");
	refuses(110, 1, false, UIDGEN_TICKET_AHEAD, "ahead: the next tick is too far");
	is(ticket.blocked, 121, "ahead: for this tick, then");
	takes(111, 1, false, POSITION(121, 0), "ahead: until the clock goes on");
	refuses(111, CAPACITY, false, UIDGEN_TICKET_AHEAD, "ahead: a batch is judged by its last position");
	is(ticket.blocked, 122, "ahead: for that tick");
	refuses(111, CAPACITY, true, UIDGEN_TICKET_AHEAD, "ahead: a block that would begin a new tick");
	takes(111, CAPACITY - 1, false, POSITION(121, 1), "ahead: a batch that just fits");

	begin_grant();
	rules.max_ahead = 0;
	takes(120, CAPACITY, false, POSITION(120, 0), "max_ahead = 0: a whole tick");
	refuses(120, 1, false, UIDGEN_TICKET_AHEAD, "max_ahead = 0: then the next tick's turn is to come");
	takes(121, 2, false, POSITION(121, 0), "max_ahead = 0: now it has");
	refuses(121, CAPACITY - 1, false, UIDGEN_TICKET_AHEAD,
	        "max_ahead = 0: a batch does not reach into the next tick");
	refuses(119, 1, false, UIDGEN_TICKET_AHEAD, "max_ahead = 0: set back by any step, calls wait");
}

static void
test_limit(void)
{
	begin_grant();
	takes(150, CAPACITY, false, POSITION(150, 0), "limit: up to where it is to be renewed");
	ok(!ticket.renew, "limit: no word of renewal before");
	takes(151, 1, false, POSITION(151, 0), "limit: beyond it");
	ok(ticket.renew, "limit: the keeper should be told");
	takes(200, CAPACITY - 2, false, POSITION(200, 0), "limit: in the last tick");
	refuses(200, 3, false, UIDGEN_TICKET_NO_GRANT, "limit: a batch is judged by its last position");
	ok(ticket.renew, "limit: the keeper should be told of that too");
	takes(200, 2, false, POSITION(200, CAPACITY - 2), "limit: the last positions");
	refuses(200, 1, false, UIDGEN_TICKET_NO_GRANT, "limit: none after them");
	refuses(200, 1, false, UIDGEN_TICKET_NO_GRANT, "limit: however often one asks");
	refuses(201, 1, false, UIDGEN_TICKET_NO_GRANT, "limit: the clock is beyond it");
	refuses(1000000, CAPACITY, true, UIDGEN_TICKET_NO_GRANT, "limit: by whatever step");

	uidgen_ticket_extend(&words, POSITION(300, CAPACITY - 1), POSITION(250, CAPACITY - 1));
	takes(200, 1, false, POSITION(201, 0), "extended: positions go on");
	ok(!ticket.renew, "extended: no word of renewal");
	takes(300, 1, false, POSITION(300, 0), "extended: up to the new limit");
	refuses(301, 1, false, UIDGEN_TICKET_NO_GRANT, "extended: and no farther");
}

static void
test_starts(void)
{
	uint64_t	state = 88172645463325252;
	uint64_t	tick;
	bool		equal = true;

	begin_grant();
	rules.start_mask = 1;
	takes(101, 3, false, POSITION(101, 0), "continue: at an even position");
	takes(102, 1, false, POSITION(102, 1), "continue: at an odd one");
	takes(102, CAPACITY - 2, false, POSITION(102, 2), "continue: the rest of the tick");
	takes(103, 1, false, POSITION(103, 0), "continue: a full tick ends where it began");
	takes(104, CAPACITY, false, POSITION(104, 0), "continue: a batch that would not fit begins at zero");
	takes(105, 1, false, POSITION(105, 0), "continue: after a full tick");
	takes(106, CAPACITY, true, POSITION(106, 0), "continue: a block that would not fit begins at zero");
	takes(107, 1, false, POSITION(107, 0), "continue: after a full tick");
	takes(108, CAPACITY - 1, true, POSITION(108, 1), "continue: a block that just fits");

	begin_grant();
	rules.start_mask = 7;
	rules.start_random = true;
	for (tick = 101; tick < 150; tick++)
	{
		/* Marsaglia's example of xorshift64, with its seed */
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (take(tick, 1, false) != UIDGEN_TICKET_GOOD ||
			ticket.first != POSITION(tick, state & 7))
			equal = false;
	}
	ok(equal, "random: every tick begins with the next random number");
	begin_grant();
	rules.start_mask = 7;
	rules.start_random = true;
	take(101, 1, false);
	/* the first output that Marsaglia's paper leads to */
	is(rules.random, UINT64_C(8748534153485358512), "random: the generator is xorshift64");
	takes(101, 1, false, ticket.first + 1, "random: only where a tick begins");
}

static void
test_settle(void)
{
	uint64_t	era;

	begin_grant();
	uidgen_ticket_begin(&words, &ticket);
	era = ticket.era;
	ticket.first = POSITION(200, CAPACITY - 1);
	is_result(settle(200, 1), UIDGEN_TICKET_GOOD,
			  "settle: the last granted position is good");
	is(ticket.constant, CONSTANT, "settle: with the grant's constant");
	is_result(settle(200, 2), UIDGEN_TICKET_HELD,
			  "settle: two of which one is granted are held");
	ticket.first = POSITION(205, 0);
	is_result(settle(200, 1), UIDGEN_TICKET_HELD,
			  "settle: a ticket above the limit is held");
	uidgen_ticket_extend(&words, POSITION(204, CAPACITY - 1), POSITION(204, 0));
	is_result(settle(200, 1), UIDGEN_TICKET_HELD,
			  "settle: it still is, below a limit that is not enough");
	uidgen_ticket_extend(&words, POSITION(205, CAPACITY - 1), POSITION(204, 0));
	is_result(settle(200, 1), UIDGEN_TICKET_GOOD,
			  "settle: and good once it is granted");

	is_result(settle(195, 1), UIDGEN_TICKET_GOOD,
			  "settle: as far ahead of the clock as ids may be is good");
	is_result(settle(194, 1), UIDGEN_TICKET_EARLY,
			  "settle: further ahead is early");
	is(ticket.blocked, 205, "settle: for this tick");
	is_result(settle(0, 1), UIDGEN_TICKET_EARLY,
			  "settle: and so is very much further");
	ticket.first = POSITION(204, CAPACITY - 1);
	is_result(settle(194, 1), UIDGEN_TICKET_GOOD,
			  "settle: the last position that is not");
	is_result(settle(194, 2), UIDGEN_TICKET_EARLY,
			  "settle: of two, the later one decides");

	uidgen_ticket_close(&words);
	is_result(settle(200, 1), UIDGEN_TICKET_VOID,
			  "settle: void when the era has ended");
	uidgen_ticket_open(&words, POSITION(100, 0), POSITION(300, 0), POSITION(300, 0), CONSTANT + 1, 0);
	is_result(settle(200, 1), UIDGEN_TICKET_VOID,
			  "settle: void in the next era, however high its limit");
	ok(word(&words.era) > era && word(&words.era) % 2 == 0, "settle: which has another, even number");

	/* A call that began in an old era and takes in the new one. */
	begin_grant();
	uidgen_ticket_begin(&words, &ticket);
	uidgen_ticket_close(&words);
	uidgen_ticket_open(&words, POSITION(100, 0), POSITION(300, 0), POSITION(300, 0), CONSTANT + 1, 0);
	is_result(take_begun(120, 1, false), UIDGEN_TICKET_VOID,
			  "a call from an old era: void, if its clock is ahead");
	uidgen_ticket_begin(&words, &ticket);
	uidgen_ticket_close(&words);
	uidgen_ticket_open(&words, POSITION(130, 0), POSITION(300, 0), POSITION(300, 0), CONSTANT + 1, 0);
	is_result(take_begun(120, 1, false), UIDGEN_TICKET_VOID,
			  "a call from an old era: void, if its clock is behind");
	/* The keeper stopped between the two. */
	uidgen_ticket_begin(&words, &ticket);
	uidgen_ticket_close(&words);
	refuses(140, 1, false, UIDGEN_TICKET_NO_GRANT, "a call in between eras: no grant");
}

static void
test_keeper(void)
{
	uint64_t	era;

	begin_grant();
	takes(120, 5, false, POSITION(120, 0), "keeper: five positions are taken");
	is(uidgen_ticket_close(&words), POSITION(120, 5), "keeper: close() returns the next one");
	era = word(&words.era);
	is(word(&words.limit), 0, "keeper: and nothing is granted any more");
	is(uidgen_ticket_close(&words), POSITION(120, 5), "keeper: closing again returns the same");
	is(word(&words.era), era, "keeper: and changes nothing");
	uidgen_ticket_open(&words, POSITION(121, 0), POSITION(140, 0), POSITION(130, 0), 77, 119);
	is(word(&words.era), era + 1, "keeper: open() begins the next era");
	is(word(&words.clock_high), 119, "keeper: with the tick of the clock that is known for it");
	is_result(take(121, 1, false), UIDGEN_TICKET_GOOD, "keeper: positions are taken in it");
	is(ticket.constant, 77, "keeper: with its constant");
	is(ticket.first, POSITION(121, 0), "keeper: from its first position on");

	/* The highest positions that a layout can have: 63 bits in all. */
	begin_grant();
	rules.sequence_bits = 31;
	rules.last_tick = (UINT64_C(1) << 32) - 1;
	rules.max_ahead = UINT64_MAX >> 1;
	uidgen_ticket_close(&words);
	uidgen_ticket_open(&words, (UINT64_C(1) << 63) - (UINT64_C(2) << 31), (UINT64_C(1) << 63) - 1, 0, CONSTANT, 0);
	takes((UINT64_C(1) << 32) - 1, 1, false, (UINT64_C(1) << 63) - (UINT64_C(1) << 31),
	      "highest: the last tick");
	takes((UINT64_C(1) << 32) - 1, INT32_MAX, true, (UINT64_C(1) << 63) - INT32_MAX, "highest: all of it");
	refuses((UINT64_C(1) << 32) - 1, 1, true, UIDGEN_TICKET_NO_GRANT, "highest: and no more");
}

/* ---- stress ---- */

#define CALLERS 5
#define WORKERS 4
#define STRESS_BITS 3
#define STRESS_CAPACITY (1 << STRESS_BITS)
#define WINDOW 6				/* ticks */
#define LARGE_STEP 12			/* ticks; also max_ahead */
#define FIRST_TICK 1000
#define SECONDS_MIN 2
#define SECONDS_MAX 60
#define RECORDS_MAX 2000000		/* of one thread */
#define BACK_STEPS_MAX 1000000

/* Positions that were issued. */
typedef struct Record
{
	uint64_t	worker;
	uint64_t	first;
	uint64_t	count;
} Record;

typedef struct Records
{
	Record	   *record;
	size_t		count;
} Records;

typedef struct Caller
{
	pthread_t	thread;
	UidgenTicketRules rules;
	uint64_t	random;
	Records		issued;
	uint64_t	disorders;
	uint64_t	not_granted;
	uint64_t	split_blocks;
	uint64_t	too_far;
} Caller;

static struct
{
	UidgenTicketWords words;
	uint64_t	clock;			/* its tick */
	bool		demand;			/* somebody misses something */
	bool		stop;
	uint64_t	results[RESULTS];	/* how often calls have met each */

	/* The registry: last tick granted, by worker.  Written by the keeper. */
	uint64_t	granted_until[WORKERS];

	/* How often the clock's large step back was followed, and by that number
	 * the highest position of a call that has returned. */
	uint64_t	back_steps;
	uint64_t	returned[BACK_STEPS_MAX + 1];
} stress;

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_SEQ_CST)

/* The keeper's own. */
static struct
{
	uint64_t	random;
	bool		held;
	uint64_t	worker;
	bool		ours[WORKERS];	/* the row has our token */
	Records		rivals;
	uint64_t	renewals;
	uint64_t	acquisitions;
	uint64_t	releases;
	uint64_t	losses;
} keeper;

static __thread uint64_t disturbance;

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

/* Now and then another thread goes first. */
static void
disturb(void)
{
	if (disturbance != 0 && next_random(&disturbance) % 16 == 0)
		sched_yield();
}

static void
record(Records *records, uint64_t worker, uint64_t first, uint64_t count)
{
	if (records->count == RECORDS_MAX)
	{
		SET(stress.stop, true);
		return;
	}
	records->record[records->count++] = (Record) {worker, first, count};
}

static void
allocate(Records *records)
{
	records->record = malloc(RECORDS_MAX * sizeof(Record));
	if (!records->record)
	{
		printf("Bail out! out of memory\n");
		exit(1);
	}
}

/* The clock mostly stands or goes on; sometimes it steps, by little or by much. */
static void
move_clock(uint64_t *random)
{
	uint64_t	now = GET(stress.clock);
	uint64_t	step = next_random(random) % 40;

	switch (next_random(random) % 10000)
	{
		case 0:
			SET(stress.clock, now + 2 * LARGE_STEP + step);
			break;
		case 1:
			if (now > FIRST_TICK + 200)
				SET(stress.clock, now - 2 * LARGE_STEP - step);
			break;
		case 2:
		case 3:
			if (now > FIRST_TICK)
				SET(stress.clock, now - step % LARGE_STEP);
			break;
		default:
			if (next_random(random) % 16 == 0)
				__atomic_fetch_add(&stress.clock, 1, __ATOMIC_SEQ_CST);
	}
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
	record(&caller->issued, good->constant, good->first, n);
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
	bool		within_tick = next_random(&caller->random) % 4 == 0;
	UidgenTicketResult result = UIDGEN_TICKET_VOID;
	UidgenTicket good = {0};

	while (!GET(stress.stop))
	{
		UidgenTicketClock clock;

		if (result == UIDGEN_TICKET_HELD || result == UIDGEN_TICKET_EARLY)
		{
			clock = uidgen_ticket_clock(&caller->rules, GET(stress.clock));
			result = uidgen_ticket_settle(&stress.words, &caller->rules, &good,
										  &clock, n);
		}
		else
		{
			uidgen_ticket_begin(&stress.words, &good);
			clock = uidgen_ticket_clock(&caller->rules, GET(stress.clock));
			result = uidgen_ticket_take(&stress.words, &caller->rules, &good,
										&clock, n, within_tick);
		}
		__atomic_fetch_add(&stress.results[result], 1, __ATOMIC_SEQ_CST);
		if (result == UIDGEN_TICKET_GOOD)
			issue(caller, &good, n, back_steps, returned);
		if (result == UIDGEN_TICKET_GOOD && within_tick &&
			(good.first & (STRESS_CAPACITY - 1)) + n > STRESS_CAPACITY)
			caller->split_blocks++;
		if (result == UIDGEN_TICKET_GOOD &&
			((good.first + n - 1) >> STRESS_BITS) > clock.tick + LARGE_STEP)
			caller->too_far++;
		if (result == UIDGEN_TICKET_NO_GRANT || result == UIDGEN_TICKET_HELD ||
			(result == UIDGEN_TICKET_GOOD && good.renew) ||
			((result == UIDGEN_TICKET_AHEAD || result == UIDGEN_TICKET_EARLY) &&
			 uidgen_atomic_read(&stress.words.clock_high) >
			 GET(stress.clock) + LARGE_STEP))
			SET(stress.demand, true);
		if (result == UIDGEN_TICKET_GOOD ||
			next_random(&caller->random) % 100 == 0)
			return;
		move_clock(&caller->random);
		sched_yield();
	}
}

static void *
caller_main(void *argument)
{
	Caller	   *caller = argument;

	disturbance = caller->random;
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
	record(&keeper.rivals, worker, first << STRESS_BITS, 2 << STRESS_BITS);
}

/* A row that is not too far ahead of the clock, else the lowest. */
static uint64_t
choose_worker(uint64_t now)
{
	uint64_t	start = next_random(&keeper.random);
	uint64_t	lowest = start % WORKERS;

	for (int i = 0; i < WORKERS; i++)
	{
		uint64_t	worker = (start + i) % WORKERS;

		if (GET(stress.granted_until[worker]) + 1 <= now + LARGE_STEP)
			return worker;
		if (GET(stress.granted_until[worker]) < GET(stress.granted_until[lowest]))
			lowest = worker;
	}
	return lowest;
}

static void
acquire(bool stepped_back)
{
	uint64_t	now = GET(stress.clock);
	uint64_t	floor = stepped_back ? 0 :
		((uidgen_atomic_read(&stress.words.position) - 1) >> STRESS_BITS) + 1;
	uint64_t	worker = choose_worker(now);
	uint64_t	first;
	uint64_t	last;
	uint64_t	position;
	uint64_t	high = uidgen_atomic_read(&stress.words.clock_high);

	first = GET(stress.granted_until[worker]) + 1;
	first = first > now ? first : now;
	first = first > floor ? first : floor;
	last = first + WINDOW;
	SET(stress.granted_until[worker], last);
	keeper.ours[worker] = true;
	keeper.held = true;
	keeper.worker = worker;
	keeper.acquisitions++;

	position = uidgen_ticket_close(&stress.words);
	position = (((position - 1) >> STRESS_BITS) + 1) << STRESS_BITS;
	if (stepped_back || position < first << STRESS_BITS)
		position = first << STRESS_BITS;
	if (stepped_back)
		SET(stress.back_steps, GET(stress.back_steps) + 1);
	uidgen_ticket_open(&stress.words, position,
					   ((last + 1) << STRESS_BITS) - 1,
					   ((last + 1 - WINDOW / 2) << STRESS_BITS) - 1, worker,
					   stepped_back || high < now ? now : high);
}

static void
renew(void)
{
	uint64_t	now = GET(stress.clock);
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
		default:
			high = uidgen_atomic_read(&stress.words.clock_high);
			if (!keeper.held)
				acquire(false);
			else if (high > GET(stress.clock) + LARGE_STEP)
				acquire(true);
			else if (keeper.ours[keeper.worker])
				renew();
			else
				acquire(false);
	}
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static int
compare_records(const void *a, const void *b)
{
	const Record *x = a;
	const Record *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* How many records have a position that the one before has too. */
static uint64_t
count_overlaps(Caller *callers)
{
	size_t		count = keeper.rivals.count;
	Record	   *all;
	uint64_t	overlaps = 0;

	for (int i = 0; i < CALLERS; i++)
		count += callers[i].issued.count;
	all = malloc((count + 1) * sizeof(Record));
	if (!all)
	{
		printf("Bail out! out of memory\n");
		exit(1);
	}
	memcpy(all, keeper.rivals.record, keeper.rivals.count * sizeof(Record));
	count = keeper.rivals.count;
	for (int i = 0; i < CALLERS; i++)
	{
		memcpy(all + count, callers[i].issued.record,
			   callers[i].issued.count * sizeof(Record));
		count += callers[i].issued.count;
	}
	qsort(all, count, sizeof(Record), compare_records);
	for (size_t i = 1; i < count; i++)
		if (all[i].worker == all[i - 1].worker &&
			all[i].first < all[i - 1].first + all[i - 1].count &&
			overlaps++ < 5)
			printf("# worker %" PRIu64 ": %" PRIu64 " and %" PRIu64 " positions from %" PRIu64 " and %" PRIu64 " on\n",
				   all[i].worker, all[i - 1].count, all[i].count,
				   all[i - 1].first, all[i].first);
	free(all);
	return overlaps;
}

/* Has every case been met? */
static bool
met_all(void)
{
	for (int r = 0; r < RESULTS; r++)
		if (GET(stress.results[r]) < 10)
			return false;
	return keeper.renewals > 100 && keeper.acquisitions > 300 &&
		keeper.releases > 50 && keeper.losses > 50 &&
		GET(stress.back_steps) > 10;
}

static void
test_stress(void)
{
	static Caller callers[CALLERS];
	double		start = seconds();
	uint64_t	disorders = 0;
	uint64_t	not_granted = 0;
	uint64_t	split_blocks = 0;
	uint64_t	too_far = 0;

	uidgen_ticket_init(&stress.words);
	stress.clock = FIRST_TICK + 500;
	allocate(&keeper.rivals);
	keeper.random = 12345;
	for (int i = 0; i < CALLERS; i++)
	{
		callers[i].random = (uint64_t) i * 7919 + 1;
		callers[i].rules.sequence_bits = STRESS_BITS;
		callers[i].rules.last_tick = UINT64_C(1) << 40;
		callers[i].rules.max_ahead = LARGE_STEP;
		callers[i].rules.start_mask = i % 3 == 0 ? 0 : 1;
		callers[i].rules.start_random = i % 3 == 1;
		callers[i].rules.random = callers[i].random;
		allocate(&callers[i].issued);
	}
	for (int i = 0; i < CALLERS; i++)
		if (pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]) != 0)
		{
			printf("Bail out! could not start a thread\n");
			exit(1);
		}

	disturbance = 54321;
	while (!GET(stress.stop))
	{
		if (__atomic_exchange_n(&stress.demand, false, __ATOMIC_SEQ_CST))
			keep();
		else
			sched_yield();
		if (seconds() - start > (met_all() ? SECONDS_MIN : SECONDS_MAX) ||
			GET(stress.back_steps) == BACK_STEPS_MAX)
			SET(stress.stop, true);
	}
	disturbance = 0;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);

	for (int i = 0; i < CALLERS; i++)
	{
		disorders += callers[i].disorders;
		not_granted += callers[i].not_granted;
		split_blocks += callers[i].split_blocks;
		too_far += callers[i].too_far;
	}
#ifdef __SANITIZE_THREAD__
	printf("# under ThreadSanitizer\n");
#endif
	for (int r = 0; r < RESULTS; r++)
		printf("# %s: %" PRIu64 "\n", result_name(r), GET(stress.results[r]));
	printf("# %" PRIu64 " renewals, %" PRIu64 " acquisitions\n",
		   keeper.renewals, keeper.acquisitions);
	printf("# %" PRIu64 " releases, %" PRIu64 " losses, %" PRIu64 " steps back\n",
		   keeper.releases, keeper.losses, GET(stress.back_steps));
	is(count_overlaps(callers), 0, "stress: no position of a worker id is issued twice");
	is(not_granted, 0, "stress: none is issued above its grant");
	is(disorders, 0, "stress: calls get higher positions than all that had returned");
	is(split_blocks, 0, "stress: a block lies within one tick");
	is(too_far, 0, "stress: none is issued too far ahead of the clock");
	ok(met_all(), "stress: every case was met, by the calls and by the keeper");
	for (int i = 0; i < CALLERS; i++)
		free(callers[i].issued.record);
	free(keeper.rivals.record);
}

int
main(int argc, char **argv)
{
	/* The Makefile wants to know whether we can be started. */
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return 0;

	test_no_grant();
	test_clock();
	test_blocks();
	test_ahead();
	test_limit();
	test_starts();
	test_settle();
	test_keeper();
	test_stress();
	printf("1..%d\n", tests);
	return failures != 0;
}
