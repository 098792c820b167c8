/*
 * test_horizon.c
 *	  Proves src/core/horizon.h without a server.
 *
 * First each rule by itself, in one thread.  Then all of them under stress: threads draw ids, keep
 * some for a later transaction and commit, others read how far ids are final, while a keeper
 * begins eras, some of them at a clock that was set back.  All commits and readings are kept, and
 * at the end none of the readings may reach beyond an id that was committed after it.
 *
 * As in test_ticket.c, every access to a shared word can be disturbed, and under stress the words
 * are in memory that reorders as far as the barriers allow (reordered.h).
 *
 * Output is TAP.  Built twice, under the address and undefined behaviour
 * sanitizers and under ThreadSanitizer.  Build and run: make unitcheck
 */
#define _POSIX_C_SOURCE 200809L

#include "meddling.h"

#include "core/horizon.h"
#include "core/ticket.c"

/* ---- rules, in one thread ---- */

#define BITS 4
#define POSITION(tick, sequence) ((uint64_t) (tick) << BITS | (uint64_t) (sequence))

static UidgenTicketWords words;
static UidgenTicketRules rules;
static UidgenAtomic bound;
static UidgenAtomic read_to;
static uint64_t held_from;

static uint64_t
word(UidgenAtomic *atomic)
{
	return uidgen_atomic_read(atomic);
}

static void
open_era(UidgenPosition position, UidgenTick now)
{
	uidgen_ticket_close(&words);
	uidgen_ticket_open(&words, position, POSITION(1000, 0), POSITION(1000, 0), 1, now, now, now,
					   UIDGEN_AHEAD_NOT);
}

/* No grant yet, nobody who holds and nobody who reads. */
static void
begin(void)
{
	happening = NULL;
	memset(&rules, 0, sizeof(rules));
	rules.sequence_bits = BITS;
	rules.last_tick = 1000;
	uidgen_ticket_init(&words);
	uidgen_atomic_init(&bound, 0);
	uidgen_atomic_init(&read_to, 0);
	held_from = UIDGEN_HORIZON_HOLDS_NOTHING;
}

static void
hold(void)
{
	uidgen_horizon_hold(&words, &rules, &bound, &read_to, &held_from);
}

static bool
hold_older(UidgenTick tick)
{
	return uidgen_horizon_hold_older(&bound, &read_to, &held_from, tick);
}

static void
lower_to_60(void)
{
	uidgen_atomic_write(&bound, uidgen_horizon_bound(60));
}

static void
lower_to_40(void)
{
	uidgen_atomic_write(&bound, uidgen_horizon_bound(40));
}

static void
raise_to_60(void)
{
	uidgen_atomic_write(&read_to, 60);
}

static void
raise_to_40(void)
{
	uidgen_atomic_write(&read_to, 40);
}

static void
test_bounds(void)
{
	begin();
	is(uidgen_horizon_bound(0), 1, "a bound at tick 0 is one");
	is(uidgen_horizon_bound(50), 51, "... and at each other tick is one more than the tick");
	uidgen_horizon_lower(&bound, 50);
	is(word(&bound), 51, "where there is no bound, one is set");
	uidgen_horizon_lower(&bound, 60);
	is(word(&bound), 51, "it is not raised");
	uidgen_horizon_lower(&bound, 49);
	is(word(&bound), 50, "but lowered");
	uidgen_horizon_lower(&bound, 0);
	uidgen_horizon_lower(&bound, 5);
	is(word(&bound), 1, "nothing is lower than tick 0");

	/* Workers lower the bound of their leader. */
	uidgen_atomic_write(&bound, uidgen_horizon_bound(70));
	meddle_before(2, lower_to_60);
	uidgen_horizon_lower(&bound, 50);
	is(word(&bound), 51, "another process has lowered it meanwhile, but less");
	uidgen_atomic_write(&bound, uidgen_horizon_bound(70));
	meddle_before(2, lower_to_40);
	uidgen_horizon_lower(&bound, 50);
	is(word(&bound), 41, "... or more");

	begin();
	open_era(POSITION(50, 3), 50);
	hold();
	is(word(&bound), 51, "who is about to draw holds the tick of the position");
	is(held_from, 51, "... for sure, if no reader is beyond it");
	uidgen_atomic_write(&read_to, 55);
	open_era(POSITION(52, 0), 50);
	hold();
	is(word(&bound), 51, "in a later era it holds what it did");
	is(held_from, 51, "... for sure, wherever readers are by now");
	open_era(POSITION(40, 0), 50);
	hold();
	is(word(&bound), 41, "in an era that begins lower it holds that");
	is(held_from, 51, "... for sure where it did before, as readers are above");
	uidgen_atomic_write(&read_to, 45);
	hold();
	is(held_from, 46, "... or from where they are");

	begin();
	hold();
	is(word(&bound), 0, "before the first grant nothing is held");
	is(held_from, UIDGEN_HORIZON_HOLDS_NOTHING, "... nor noted");
	/* The era, the position, the bound twice, and read_to. */
	begin();
	open_era(POSITION(50, 3), 50);
	meddle_before(3, raise_to_60);
	hold();
	is(word(&bound), 51, "readers have passed the position before the bound is there");
	is(held_from, 61, "... so it does not hold them back below");
	ok(!hold_older(50) && !hold_older(59), "... and no older id is held there");
	ok(hold_older(60), "... but where they have come to");
	begin();
	open_era(POSITION(50, 3), 50);
	meddle_before(5, raise_to_60);
	hold();
	ok(!hold_older(50), "the same where that is not certain");
}

static void
test_raise(void)
{
	begin();
	uidgen_horizon_raise(&read_to, 50);
	is(word(&read_to), 50, "what was read is raised");
	uidgen_horizon_raise(&read_to, 40);
	is(word(&read_to), 50, "... and not lowered");
	uidgen_horizon_raise(&read_to, 51);
	is(word(&read_to), 51, "... also by one");
	uidgen_atomic_write(&read_to, 0);
	meddle_before(2, raise_to_40);
	uidgen_horizon_raise(&read_to, 50);
	is(word(&read_to), 50, "another reader has raised it meanwhile, but less");
	uidgen_atomic_write(&read_to, 0);
	meddle_before(2, raise_to_60);
	uidgen_horizon_raise(&read_to, 50);
	is(word(&read_to), 60, "... or more");
}

static void
test_older(void)
{
	begin();
	uidgen_atomic_write(&read_to, 50);
	ok(!hold_older(49), "an older id: readers have passed its tick");
	is(word(&bound), 0, "... and nothing is held");
	ok(hold_older(50), "they have come to its tick");
	is(word(&bound), 51, "... which is held");
	uidgen_atomic_write(&read_to, 70);
	ok(hold_older(50), "it is held already, though readings have begun above it");
	ok(hold_older(60), "... and so is what lies above it");
	is(word(&bound), 51, "... by the same bound");
	ok(!hold_older(49), "what lies below it is not");
	is(word(&bound), 51, "... and does not change the bound");
	uidgen_atomic_write(&read_to, 40);
	ok(hold_older(45), "below the bound, but no reader has passed it");
	is(word(&bound), 46, "... is held as well");
	uidgen_atomic_write(&read_to, 70);
	ok(hold_older(45), "... and from then on for sure");

	/* The bound of a leader that its workers write, too. */
	begin();
	lower_to_40();
	uidgen_atomic_write(&read_to, 60);
	ok(!hold_older(50), "another process of the transaction has a lower bound: this one does not know since when");
	ok(hold_older(60), "... and looks where readers are");
	is(word(&bound), 41, "... and leaves that bound");

	/* read_to is read, then the bound twice, by lower(), and read_to again. */
	begin();
	uidgen_atomic_write(&read_to, 30);
	meddle_before(4, raise_to_60);
	ok(!hold_older(50), "a reading has begun before it was held");
	ok(!hold_older(50), "... and it is not held after that");
	begin();
	uidgen_atomic_write(&read_to, 30);
	uidgen_atomic_write(&bound, uidgen_horizon_bound(80));
	held_from = uidgen_horizon_bound(80);
	meddle_before(4, raise_to_60);
	ok(!hold_older(50), "the same where the transaction has drawn");
	uidgen_atomic_write(&read_to, 90);
	ok(hold_older(80), "... and it holds what it did");
	begin();
	uidgen_atomic_write(&read_to, 30);
	meddle_before(4, raise_to_40);
	ok(hold_older(50), "a reading has begun, but below it");
	begin();
	uidgen_atomic_write(&read_to, 30);
	meddle_before(4, raise_to_60);
	ok(hold_older(60), "... or just up to it");
	is(word(&bound), 61, "... so it is held");
}

/* Read, with the clock at `now`; what readers are told is noted. */
static void
reads(UidgenTick now, UidgenTick want, UidgenPosition position, const char *name)
{
	UidgenTick	got = uidgen_horizon_begin(&words, &rules, &read_to, now);

	if (!ok(got == want && word(&read_to) == (uint64_t) want && word(&words.position) == position, "%s", name))
		printf("# read %" PRId64 ", read_to %" PRIu64 ", position %" PRIu64 ":%" PRIu64 "\n", got,
			   word(&read_to), word(&words.position) >> BITS, word(&words.position) & ((1 << BITS) - 1));
}

static void
draw_one(void)
{
	(void) uidgen_atomic_fetch_add(&words.position, 1);
}

static void
draw_in_later_tick(void)
{
	uidgen_atomic_write(&words.position, POSITION(57, 1));
}

static void
open_lower(void)
{
	open_era(POSITION(20, 0), 20);
}

static void
test_readings(void)
{
	begin();
	reads(50, 50, 1, "nothing was granted yet: all below the clock is final");
	open_era(POSITION(60, 0), 60);
	reads(60, 60, POSITION(60, 0), "the clock is where ids are");
	draw_one();
	reads(60, 60, POSITION(60, 1), "in a tick that goes on, more may be drawn");
	reads(61, 61, POSITION(61, 0), "one that is over is ended");
	reads(90, 61, POSITION(61, 0), "... but no other where nothing was drawn");
	draw_one();
	reads(90, 62, POSITION(62, 0), "... and one at a time");
	uidgen_atomic_write(&words.position, POSITION(70, 5));
	reads(65, 65, POSITION(70, 5), "ids are ahead of the clock: all below the clock is final");
	uidgen_ticket_close(&words);
	reads(80, 70, POSITION(70, 5), "there is no grant now: what was drawn");
	open_era(POSITION(70, 5), 80);
	reads(80, 71, POSITION(71, 0), "and goes on in a later era");

	begin();
	open_era(POSITION(60, 5), 60);
	rules.start_mask = 3;
	reads(70, 61, POSITION(61, 1), "a tick begins as the layout has it");
	begin();
	open_era(POSITION(60, 5), 60);
	meddle_before(3, draw_one);
	reads(70, 61, POSITION(61, 0), "somebody draws meanwhile");
	begin();
	open_era(POSITION(55, 5), 55);
	meddle_before(3, draw_in_later_tick);
	reads(70, 58, POSITION(58, 0), "... in a later tick");

	/* The era, the position, read_to three times, and the era again. */
	begin();
	open_era(POSITION(60, 0), 60);
	meddle_before(6, open_lower);
	is((uint64_t) uidgen_horizon_begin(&words, &rules, &read_to, 60), 20,
	   "an era that begins lower meanwhile counts");
	begin();
	open_era(POSITION(60, 5), 60);
	meddle_before(3, open_lower);
	is((uint64_t) uidgen_horizon_begin(&words, &rules, &read_to, 70), 20,
	   "... also where a tick was to be ended");
}

static void
passes(UidgenTick now, bool want, UidgenTick want_tick, const char *name)
{
	UidgenTick	told = -1;
	UidgenTick	tick = -1;
	bool		got = uidgen_horizon_passed(&words, &rules, &read_to, now, &told, &tick);

	if (!ok(got == want && told == 50 && tick == want_tick, "%s", name))
		printf("# %s, told %" PRId64 ", tick %" PRId64 "\n", got ? "passed" : "not passed", told, tick);
}

static void
test_passed(void)
{
	begin();
	open_era(POSITION(40, 7), 40);
	uidgen_atomic_write(&read_to, 50);
	passes(30, true, 40, "the position was lowered below what readers were told");
	passes(49, true, 49, "... and the clock is there, too");
	passes(50, false, 50, "the clock is beyond");
	open_era(POSITION(50, 0), 40);
	passes(30, false, 50, "the position is");
	open_era(POSITION(51, 0), 40);
	passes(30, false, 51, "... or higher");
}

/* ---- barriers, each by itself ---- */

#define SEEDS 100

/* What another thread does: all of it is in memory at once. */
static void
elsewhere(void (*function) (void))
{
	uint64_t	random = reordered.random;

	reordered.random = 0;
	function();
	reordered.random = random;
}

/* This thread has read all words, and may read some of them in advance. */
static void
begin_reordered(uint64_t seed)
{
	begin();
	open_era(POSITION(60, 0), 60);
	memset(&reordered, 0, sizeof(reordered));
	reorder(seed);
	(void) uidgen_atomic_read(&words.era);
	(void) uidgen_atomic_read(&words.position);
	(void) uidgen_atomic_read(&bound);
	(void) uidgen_atomic_read(&read_to);
	reordered_read_barrier();
}

static void
end_tick_and_read(void)
{
	uidgen_atomic_write(&words.position, POSITION(61, 0));
	uidgen_atomic_write(&read_to, 61);
}

/* Somebody holds an older id, before another reader begins. */
static void
hold_and_read(void)
{
	lower_to_40();
	raise_to_60();
}

static void
open_at_60(void)
{
	uidgen_ticket_init(&words);
	open_era(POSITION(60, 0), 60);
}

static void
hold_and_read_elsewhere(void)
{
	elsewhere(hold_and_read);
}

static void
test_barriers(void)
{
	int			old_positions = 0;
	int			false_alarms = 0;
	int			missed_bounds = 0;
	int			late = 0;
	int			stale = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
	{
		UidgenTick	told;
		UidgenTick	tick;

		begin_reordered(seed);
		elsewhere(open_lower);
		old_positions += uidgen_horizon_begin(&words, &rules, &read_to, 60) != 20;

		begin_reordered(seed);
		elsewhere(end_tick_and_read);
		false_alarms += uidgen_horizon_passed(&words, &rules, &read_to, 60, &told, &tick);

		begin_reordered(seed);
		meddle_before(2, hold_and_read_elsewhere);
		uidgen_horizon_raise(&read_to, 60);
		missed_bounds += uidgen_atomic_read(&bound) == 0;

		begin_reordered(seed);
		elsewhere(hold_and_read);
		late += hold_older(50);

		begin();
		memset(&reordered, 0, sizeof(reordered));
		reorder(seed);
		(void) uidgen_atomic_read(&words.position);
		reordered_read_barrier();
		elsewhere(open_at_60);
		hold();
		stale += held_from < uidgen_horizon_bound(60);
	}
	reorder(0);
	is_int(old_positions, 0, "who sees an era sees no position from before it");
	is_int(false_alarms, 0, "who sees what readers were told sees a position as high");
	is_int(late, 0, "who finds a bound that another process of the transaction has lowered sees who has read before");
	is_int(stale, 0, "who sees that there was a grant sees a position of it");
	is_int(missed_bounds, 0, "who finds read_to raised by another sees the bounds that were set before");
}

/* ---- under stress ---- */

#define WRITERS 3
#define READERS 2
#define COMMITS_MAX 2000000
#define READINGS_MAX 1000000
#define STRESS_BITS 2
#define SECONDS_MIN 1.0
#define SECONDS_MAX 3600.0		/* reached only by what never comes */
#define FAR 1000000				/* ticks */

#define COUNT(x) __atomic_fetch_add(&(x), 1, __ATOMIC_SEQ_CST)	/* the former value */

/* An id that was stored, and a reading with the snapshot that was taken after it. */
typedef struct Commit
{
	UidgenTick	tick;
	uint64_t	generation;
} Commit;

typedef struct Reading
{
	UidgenTick	tick;
	uint64_t	generation;
	uint64_t	commits;		/* that its snapshot sees */
} Reading;

typedef struct Writer
{
	pthread_t	thread;
	int			number;
	uint64_t	random;
	uint64_t	held_from;
	uint64_t	kept;			/* ids that were used in a later transaction */
	uint64_t	refused;		/* ... and that were not */
	uint64_t	passed;
} Writer;

typedef struct Reader
{
	pthread_t	thread;
	uint64_t	random;
	uint64_t	held;			/* readings that a bound has lowered */
	size_t		count;
	Reading    *reading;
} Reader;

/* Words of horizon.h by its rules only, and the rest under the lock, as PostgreSQL's snapshots. */
static struct
{
	UidgenTicketWords words;
	UidgenAtomic read_to;
	UidgenAtomic bound[WRITERS];
	UidgenAtomic generation;	/* how often readers had to go back */
	uint64_t	clock;
	bool		stop;
	pthread_mutex_t lock;
	size_t		count;
	Commit	   *commit;
} stress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const UidgenTicketRules stress_rules = {.sequence_bits = STRESS_BITS, .last_tick = INT64_C(1) << 40};

static void
lock(void)
{
	pthread_mutex_lock(&stress.lock);
	reordered_full_barrier();
}

static void
unlock(void)
{
	reordered_full_barrier();
	pthread_mutex_unlock(&stress.lock);
}

/* Before the first draw in an era, as uidgen_hold_in_era(); the owner accepts at once what was missed. */
static void
enter_era(Writer *writer, UidgenTick now)
{
	UidgenTick	told;
	UidgenTick	tick;

	uidgen_horizon_hold(&stress.words, &stress_rules, &stress.bound[writer->number], &stress.read_to,
						&writer->held_from);
	if (!uidgen_horizon_passed(&stress.words, &stress_rules, &stress.read_to, now, &told, &tick))
		return;
	COUNT(writer->passed);
	lock();
	uidgen_atomic_write(&stress.read_to, (uint64_t) tick);
	uidgen_write_barrier();
	uidgen_atomic_write(&stress.generation, uidgen_atomic_read(&stress.generation) + 1);
	unlock();
}

/* One id, and its tick. */
static UidgenTick
draw(Writer *writer, uint64_t *era)
{
	UidgenTicketRules own = stress_rules;
	UidgenTicket ticket;

	while (!GET(stress.stop))
	{
		UidgenTicketClock clock;

		uidgen_ticket_begin(&stress.words, &ticket);
		clock = uidgen_ticket_clock(&stress.words, &own, (UidgenTick) GET(stress.clock));
		if (ticket.era != *era && ticket.era % 2 == 0)
		{
			enter_era(writer, clock.tick);
			*era = ticket.era;
		}
		if (uidgen_ticket_take(&stress.words, &own, &ticket, &clock, 1, UIDGEN_TAKE_ROW) == UIDGEN_TICKET_GOOD)
			return uidgen_ticket_tick(&own, ticket.first);
		step_aside();
	}
	return 0;
}

static void *
writer_main(void *argument)
{
	Writer	   *writer = argument;
	UidgenAtomic *own = &stress.bound[writer->number];
	uint64_t	era = 0;
	UidgenTick	kept = 0;		/* 0: none */

	stress_thread(writer->random);
	while (!GET(stress.stop))
	{
		UidgenTick	tick = 0;
		bool		draws = kept == 0 || next_random(&writer->random) % 2 == 0;
		bool		holds = kept != 0 && (!draws || next_random(&writer->random) % 2 == 0);
		UidgenTick	older = kept;

		writer->held_from = UIDGEN_HORIZON_HOLDS_NOTHING;
		if (draws)
		{
			uidgen_horizon_hold(&stress.words, &stress_rules, own, &stress.read_to, &writer->held_from);
			tick = draw(writer, &era);
			kept = next_random(&writer->random) % 3 == 0 ? draw(writer, &era) : 0;
		}
		else
			kept = 0;
		/* By itself, or after a draw; the lower of both is what readers must not pass. */
		if (holds && uidgen_horizon_hold_older(own, &stress.read_to, &writer->held_from, older))
		{
			tick = tick == 0 ? older : uidgen_tick_lower(tick, older);
			COUNT(writer->kept);
		}
		else if (holds)
			COUNT(writer->refused);
		if (tick == 0)
			tick = FAR * 2;		/* it stores nothing */
		for (uint64_t n = next_random(&writer->random) % 4; n > 0; n--)
			step_aside();
		lock();
		if (stress.count == COMMITS_MAX)
			SET(stress.stop, true);
		else if (!GET(stress.stop))
			stress.commit[COUNT(stress.count)] = (Commit) {tick, uidgen_atomic_read(&stress.generation)};
		unlock();
		uidgen_write_barrier();
		uidgen_atomic_write(own, 0);
	}
	return NULL;
}

static void *
reader_main(void *argument)
{
	Reader	   *reader = argument;
	UidgenTicketRules own = stress_rules;

	stress_thread(reader->random);
	while (!GET(stress.stop))
	{
		Reading		reading = {.generation = uidgen_atomic_read(&stress.generation)};
		uint64_t	least;
		bool		counts;

		reordered_full_barrier();
		least = uidgen_horizon_bound(uidgen_horizon_begin(&stress.words, &own, &stress.read_to,
														  (UidgenTick) GET(stress.clock)));
		for (int i = 0; i < WRITERS; i++)
		{
			uint64_t	found = uidgen_atomic_read(&stress.bound[i]);

			if (found == 0 || found >= least)
				continue;
			COUNT(reader->held);
			least = found;
		}
		reading.tick = (UidgenTick) least - 1;
		lock();
		reading.commits = stress.count;
		counts = reading.generation == uidgen_atomic_read(&stress.generation);
		unlock();
		if (reader->count == READINGS_MAX)
			SET(stress.stop, true);
		else if (counts)
			reader->reading[COUNT(reader->count)] = reading;
	}
	return NULL;
}

/* Another era: mostly where ids are, now and then at a clock that was set back. */
static void
keep(uint64_t *random)
{
	UidgenPosition position = uidgen_ticket_close(&stress.words);
	UidgenTick	now = (UidgenTick) GET(stress.clock);

	if (next_random(random) % 4 == 0)
	{
		now -= 20;
		SET(stress.clock, (uint64_t) now);
		position = uidgen_ticket_position(&stress_rules, now);
	}
	uidgen_ticket_open(&stress.words, position, uidgen_ticket_position(&stress_rules, now + FAR),
					   uidgen_ticket_position(&stress_rules, now + FAR), 1, now, now, now, UIDGEN_AHEAD_NOT);
}

/* The lowest tick of those that were committed in this generation, for each commit of it from there on. */
static UidgenTick *
lowest_ticks(void)
{
	UidgenTick *lowest = allocate((stress.count + 1) * sizeof(UidgenTick));

	for (size_t i = stress.count; i-- > 0;)
	{
		lowest[i] = stress.commit[i].tick;
		if (i + 1 < stress.count && stress.commit[i + 1].generation == stress.commit[i].generation)
			lowest[i] = uidgen_tick_lower(lowest[i], lowest[i + 1]);
	}
	return lowest;
}

static void
test_stress(void)
{
	static Writer writers[WRITERS];
	static Reader readers[READERS];
	const UidgenTicketBounds bounds = {FAR, FAR, FAR, FAR};
	double		start = seconds();
	uint64_t	random = 54321;
	uint64_t	held = 0;
	uint64_t	kept = 0;
	uint64_t	refused = 0;
	uint64_t	passed = 0;
	uint64_t	readings = 0;
	uint64_t	lost = 0;
	UidgenTick *lowest;

	uidgen_ticket_init(&stress.words);
	SET(stress.clock, 1000000);
	uidgen_ticket_bound(&stress.words, &stress_rules, &bounds, 1000000);
	uidgen_ticket_open(&stress.words, uidgen_ticket_position(&stress_rules, 1000000),
					   uidgen_ticket_position(&stress_rules, 1000000 + FAR),
					   uidgen_ticket_position(&stress_rules, 1000000 + FAR), 1, 1000000, 1000000, 1000000,
					   UIDGEN_AHEAD_NOT);
	stress.commit = allocate(COMMITS_MAX * sizeof(Commit));
	for (int i = 0; i < READERS; i++)
	{
		readers[i].random = (uint64_t) i * 104729 + 3;
		readers[i].reading = allocate(READINGS_MAX * sizeof(Reading));
		start_thread(&readers[i].thread, reader_main, &readers[i]);
	}
	for (int i = 0; i < WRITERS; i++)
	{
		writers[i].number = i;
		writers[i].random = (uint64_t) i * 7919 + 1;
		start_thread(&writers[i].thread, writer_main, &writers[i]);
	}

	stress_thread(12345);
	while (!GET(stress.stop))
	{
		uint64_t	chance = next_random(&random) % 64;

		if (chance < 16)
			COUNT(stress.clock);
		else if (chance == 16)
		{
			reordered_full_barrier();	/* as the keeper's lock is */
			keep(&random);
			reordered_full_barrier();
		}
		else
			step_aside();
		if (seconds() - start > SECONDS_MIN)
		{
			bool		enough = GET(stress.count) > 3000;

			for (int i = 0; i < READERS; i++)
				enough = enough && GET(readers[i].count) > 3000 && GET(readers[i].held) > 300;
			for (int i = 0; i < WRITERS; i++)
				enough = enough && GET(writers[i].kept) > 30 && GET(writers[i].refused) > 30 && GET(writers[i].passed) > 10;
			if (enough || seconds() - start > SECONDS_MAX)
				SET(stress.stop, true);
		}
	}
	stress_thread(0);
	for (int i = 0; i < WRITERS; i++)
	{
		pthread_join(writers[i].thread, NULL);
		kept += writers[i].kept;
		refused += writers[i].refused;
		passed += writers[i].passed;
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);

	lowest = lowest_ticks();
	for (int i = 0; i < READERS; i++)
	{
		held += readers[i].held;
		readings += readers[i].count;
		for (size_t j = 0; j < readers[i].count; j++)
		{
			const Reading *reading = &readers[i].reading[j];

			if (reading->commits < stress.count &&
				stress.commit[reading->commits].generation == reading->generation &&
				lowest[reading->commits] < reading->tick &&
				lost++ < 5)
				printf("# generation %" PRIu64 ": after %" PRIu64 " commits all below tick %" PRId64 ", then one at %" PRId64 "\n",
					   reading->generation, reading->commits, reading->tick, lowest[reading->commits]);
		}
		free(readers[i].reading);
	}
#ifdef __SANITIZE_THREAD__
	printf("# under ThreadSanitizer\n");
#endif
	printf("# %zu commits, %" PRIu64 " of them with an older id, %" PRIu64 " such were refused; %" PRIu64 " readings, %" PRIu64
		   " bounds have lowered them; %" PRIu64 " times readers had to go back\n",
		   stress.count, kept, refused, readings, held, passed);
	is(lost, 0, "stress: no reading reaches beyond an id that is committed later");
	ok(held > 0 && kept > 0 && refused > 0 && passed > 0 && readings > 0, "stress: every case was met");
	free(lowest);
	free(stress.commit);
}

int
main(void)
{
	test_bounds();
	test_raise();
	test_older();
	test_readings();
	test_passed();
	test_barriers();
	test_stress();
	return done_testing();
}
