/*
 * fuzz_lease.c
 *	  The lease and the shared words in a small world: registries that forget, clocks
 *	  that are set, calls on the registry that fail, crashes; and what must hold all the
 *	  same.
 *
 * The keeper's attempts (core/attempt.h), lease.c and ticket.c are the real ones.  Played are the
 * registry (registry.h), and of the server what is around them:
 *
 *	  look_at_clock(), call()		as look_at_clock(), take_slowly() in generator.c
 *	  ask_to_...()					as local_registry.c
 *	  set_bounds()					as uidgen_time_bounds() in guc.c
 *
 * The input says first what there is: unit, number of worker ids, how one is chosen,
 * bits of the sequence, length of the layout, where the clock begins, whether the worker
 * id is fixed, and the settings; see LLVMFuzzerTestOneInput().  The rest is a program:
 * each step is a letter of STEPS with the letters of its arguments; see step().  A
 * character that is none of those asked for stands for one of them, so that every input
 * is a program.  LEASE_TRACE=1 test/fuzz/fuzz_lease INPUT tells what happens.
 *
 * What must hold is in the section "what must hold", beside what the registry and the
 * assertions of lease.c and ticket.c see:
 *
 *	- No id comes twice, over the whole program.  After a crash the registry alone
 *	  protects; so where it forgot, or was replaced by one that never knew, no more is
 *	  promised of what was issued before that crash (`excused`).
 *	- An id's tick was granted to its worker id, and committed.
 *	- An id is above those of all calls that had returned when its call began, unless a
 *	  large step back was followed in between, or the server crashed.
 *	- An id is no older than its call, and not too far ahead of the clock: see `top`.
 *	- A large step of the clock is followed before anything is issued, and nothing else
 *	  is taken for one.  A leap forward leaves the row in use where it is.
 *	- With a registry that answers, a call gets an id after a few attempts of the keeper,
 *	  or an error that is true.
 */
#include "registry.h"

#include "core/attempt.h"

#include <stdarg.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

#define HOUR INT64_C(3600000000)
#define DATABASES 2
#define CALLERS 2
#define ISSUED 1024

/* Rows never used before that large steps may take in an hour of the boot clock. */
#define STEP_ROWS 10

/* ---- the input ---- */

static const uint8_t *next_byte;
static const uint8_t *end_of_input;

static int
take_byte(void)
{
	return next_byte < end_of_input ? *next_byte++ : 0;
}

/* One of these letters. */
static char
take_letter(const char *letters)
{
	int			byte = take_byte();

	if (byte != 0 && strchr(letters, byte))
		return (char) byte;
	return letters[(size_t) byte % strlen(letters)];
}

/* A digit, or any other number. */
static int
take_number(void)
{
	int			byte = take_byte();

	return byte >= '0' && byte <= '9' ? byte - '0' : byte;
}

static void
trace(const char *format,...)
{
	static int	wanted = -1;
	va_list		args;

	if (wanted < 0)
		wanted = getenv("LEASE_TRACE") != NULL;
	if (!wanted)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
}

/* ---- the world ---- */

typedef struct Caller
{
	enum
	{
		IDLE, LOOKED, TAKEN
	}			state;
	UidgenTicket ticket;
	UidgenTicketClock look;
	bool		noted;			/* the clock that it saw was granted */
	bool		behind;			/* the clock was behind by a large step */
	UidgenTick	allowed;		/* ids were then, to this tick */
	uint64_t	above;			/* its ids are to be above this position */
	int			above_worker;	/* of this worker id */
	int			life;
	int			steps;
} Caller;

/* Why an attempt of the keeper failed. */
typedef enum Failure
{
	NO_FAILURE,
	BROKEN,						/* the call on the registry was lost */
	LEAPT,						/* the clock was set forward meanwhile */
	ANSWERED,					/* `answer` says why */
	UNTAUGHT,
	LARGE_STEP
} Failure;

static struct
{
	/* The layout, and settings. */
	UidgenTicketRules rules;
	UidgenTerms terms;
	int			padding_factor;
	int			max_worker;
	int64_t		second;			/* in ticks */
	uint64_t	choice;			/* among the worker ids never used; 0: the lowest */
	int			worker_at_start;	/* is the setting from the next start on */

	/* The clocks, in microseconds: the wall clock's since the layout's epoch. */
	int64_t		wall;
	int64_t		boot;

	/* Shared memory, and what belongs to processes. */
	UidgenTicketWords words;
	UidgenLease lease;
	UidgenNode	node;			/* no part of a fleet */
	UidgenGrant unused;
	Caller		callers[CALLERS];
	bool		connected;

	/* The registries, and how they were when that was kept. */
	Registry	registries[DATABASES];
	Registry	kept[DATABASES];
	int			database;		/* the one of the setting */
	int			identity;
	int64_t		token;

	/* What is to happen to a call on the registry: the next but so many. */
	int			armed_after;
	bool		fails;
	bool		loses_answer;
	int64_t		leap_before;
	int64_t		leap_during;
	bool		draws;
	bool		calling;
	uint64_t	position_asked; /* the next free one, when a grant was asked for */

	Failure		failure;
	RegistryAnswer answer;
}			world;

static UidgenTick
clock_tick(void)
{
	if (world.wall < 0)
		return 0;
	return MIN(world.wall / world.terms.unit, world.rules.last_tick);
}

/* ---- what must hold ---- */

typedef struct Issued
{
	int			previous;		/* one of the same worker id, or -1 */
	int			life;
	uint64_t	first;
	uint64_t	last;
} Issued;

static struct
{
	int			life;			/* lives of the shared memory, counted */
	int			steps;			/* large steps back that were followed, counted */
	Issued		issued[ISSUED];
	int			nissued;
	int			last_issued[WORKERS];	/* -1: none */
	int64_t		issued_before[WORKERS]; /* the highest tick, in lives that ended */
	int64_t		issued_now[WORKERS];	/* and in this one */
	int64_t		excused[DATABASES][WORKERS];	/* up to this tick, the registry may
												 * have forgotten what ended lives
												 * issued */
	uint64_t	highest;		/* position that was returned; 0: none */
	int			highest_worker;

	UidgenGrant grant;			/* the last one that was published */
	int64_t		offset;			/* of the clocks then */
	UidgenTick	clock_known;	/* the clock showed this tick where an id was issued */
	UidgenTick	clock_highest;	/* the clock's highest tick ever */
	int64_t		step_rows[2 * STEP_ROWS];	/* when the last ones were taken */
	int			nstep_rows;

	/*
	 * How far ids may be ahead of the clock: to `burst` ticks ahead of it, or to the
	 * tick top / 2, if that is more.  Top rises
	 *
	 * - where the clock is set back: to where ids were allowed before it;
	 * - with each new era, which begins with a whole tick, by that one;
	 * - where a new era has to begin ahead of the clock: to there, and burst;
	 * - with the clock, at half its pace.
	 *
	 * No cause together with others leads further than `room`.
	 */
	UidgenTick	top;
	bool		top_is_burst;	/* it was drawing alone that put ids there */
	UidgenTick	overtaken;		/* the tick to which a call moved the position by the
								 * clock that it had seen before this era; its ticket
								 * is void */
	UidgenTick	room;			/* in this life, by the settings that were largest */
}			oracle;

static UidgenTick
allowed(UidgenTick now)
{
	return MAX(now + world.terms.bounds.burst, oracle.top / 2);
}

/* The tick after the last one of which anything can be taken. */
static UidgenTick
beyond_position(UidgenTick now)
{
	return MAX(allowed(now), oracle.overtaken) + 1;
}

static void
raise_top(UidgenTick tick, bool burst)
{
	if (2 * tick > oracle.top)
		oracle.top = 2 * tick;
	oracle.top_is_burst &= burst;
}

/* The clock goes on, or is set. */
static void
set_clock(int64_t wall)
{
	UidgenTick	before = clock_tick();
	UidgenTick	now;

	world.wall = MAX(MIN(wall, INT64_C(1) << 62), -(INT64_C(1) << 40));
	now = clock_tick();
	if (now < before)
		raise_top(before + world.terms.bounds.burst, false);
	else if (oracle.top > 0)
		oracle.top += now - before;
	/* Not where burst reaches further: it can be lowered. */
	if (oracle.top <= 2 * now)
	{
		oracle.top = 0;
		oracle.top_is_burst = true;
	}
	/* The registry sees it beyond the layout's end, too. */
	if (world.wall >= 0)
		oracle.clock_highest = MAX(oracle.clock_highest, world.wall / world.terms.unit);
}

static void
let_pass(int64_t microseconds)
{
	/* Not beyond what a number can say. */
	microseconds = MIN(microseconds, (INT64_C(1) << 62) - world.boot);
	world.boot += microseconds;
	set_clock(world.wall + microseconds);
}

/* Which ticks that ended lives issued are unknown to this registry?  Of what this
 * life issued the shared memory knows. */
static void
excuse(int database)
{
	for (int i = 0; i < WORKERS; i++)
	{
		const Row  *row = &world.registries[database].rows[i];
		int64_t		known = row->used ? row->until : -1;

		if (oracle.issued_before[i] > known)
			oracle.excused[database][i] = MAX(oracle.excused[database][i],
											  oracle.issued_before[i]);
	}
}

/* A call returns with this ticket. */
static void
judge_ids(const Caller *caller)
{
	const UidgenTicket *ticket = &caller->ticket;
	int			bits = world.rules.sequence_bits;
	int			worker = (int) (ticket->constant & 0xffff);
	int			database = (int) (ticket->constant >> 16) - 1;
	uint64_t	last = ticket->first + ticket->count - 1;
	UidgenTick	first_tick = ticket->first >> bits;
	UidgenTick	last_tick = last >> bits;
	Issued	   *issued = oracle.issued;
	int			newest;

	trace("    id of worker %d, tick %llu, %llu of them; the clock was at %llu\n", worker,
		  (unsigned long long) first_tick, (unsigned long long) ticket->count,
		  (unsigned long long) caller->look.tick);
	REQUIRE(caller->life == oracle.life);

	/* Granted. */
	REQUIRE(worker == oracle.grant.worker);
	REQUIRE((uint32_t) database + 1 == oracle.grant.registry);
	REQUIRE(first_tick >= oracle.grant.first);
	REQUIRE(last_tick <= oracle.grant.last);
	REQUIRE(last_tick < world.rules.last_tick);

	/* True. */
	REQUIRE(!caller->behind);
	REQUIRE(first_tick >= caller->look.tick);
	REQUIRE(last_tick <= MAX(caller->allowed, oracle.top / 2));
	REQUIRE(last_tick <= caller->look.tick + oracle.room);

	/* In order. */
	if (caller->steps == oracle.steps && caller->above > 0)
	{
		if (worker == caller->above_worker)
			REQUIRE(ticket->first > caller->above);
		else
			REQUIRE(first_tick > (UidgenTick) (caller->above >> bits));
	}
	if (last > oracle.highest)
	{
		oracle.highest = last;
		oracle.highest_worker = worker;
	}

	/* Unique. */
	for (int i = oracle.last_issued[worker]; i >= 0; i = issued[i].previous)
		if (issued[i].first <= last && ticket->first <= issued[i].last)
		{
			REQUIRE(issued[i].life < oracle.life);
			REQUIRE((int64_t) (MIN(last, issued[i].last) >> bits) <=
					oracle.excused[database][worker]);
		}
	newest = oracle.last_issued[worker];
	if (newest >= 0 && issued[newest].life == oracle.life && issued[newest].last + 1 == ticket->first)
		issued[newest].last = last;
	else if (oracle.nissued < ISSUED)
	{
		issued[oracle.nissued] = (Issued) {newest, oracle.life, ticket->first, last};
		oracle.last_issued[worker] = oracle.nissued++;
	}
	oracle.issued_now[worker] = MAX(oracle.issued_now[worker], last_tick);

	if (caller->noted)
		oracle.clock_known = MAX(oracle.clock_known, caller->look.tick);
}

/* The lease has decided. */
static void
judge_action(const UidgenLeaseAction *action, const UidgenClocks *clocks)
{
	const UidgenTicketBounds *bounds = &world.terms.bounds;
	UidgenTick	now = clocks->tick;
	bool		held = world.lease.held &&
		world.lease.grant.registry == (uint64_t) world.database + 1;
	int64_t		leap = held ? (clocks->offset - oracle.offset) / world.terms.unit : 0;
	UidgenStepKind step = action->step.kind;

	/* The grant was out of reach before the leap. */
	bool		was_slow = oracle.grant.last - (clocks->tick - leap) > (int64_t) bounds->crash;

	/* What is taken for a step is one, and the other way round. */
	if (oracle.clock_known > now + bounds->large_step)
		REQUIRE(step == UIDGEN_STEP_BACK);
	if (step == UIDGEN_STEP_BACK)
		REQUIRE(oracle.clock_highest > now + bounds->large_step);
	if (step == UIDGEN_STEP_FORWARD)
		REQUIRE(leap > (int64_t) bounds->large_step && !was_slow);
	if (step != UIDGEN_STEP_NONE)
		REQUIRE(action->call == (world.terms.other_workers ? UIDGEN_ACQUIRE : UIDGEN_REFUSE));
	else
		REQUIRE(action->call == (held ? UIDGEN_RENEW : UIDGEN_ACQUIRE));

	/* A renewal would carry the row along with the leap. */
	if (action->call == UIDGEN_RENEW && leap > (int64_t) bounds->large_step)
		REQUIRE(was_slow);

	/* No more is granted than the window, from where ids may be. */
	if (action->call == UIDGEN_RENEW)
		REQUIRE(action->needed <= (int64_t) beyond_position(now) + 1);
	if (action->call == UIDGEN_ACQUIRE && step != UIDGEN_STEP_BACK)
		REQUIRE(action->request.floor <= (int64_t) beyond_position(now));

	/* Few rows are taken for steps. */
	if (action->call == UIDGEN_ACQUIRE && !action->request.never_used)
	{
		REQUIRE(oracle.nstep_rows >= STEP_ROWS);
		REQUIRE(world.boot - oracle.step_rows[(oracle.nstep_rows - STEP_ROWS) % (2 * STEP_ROWS)] < HOUR);
	}
}

/* A row never used was taken for a step.  Ten are counted together, from any time on:
 * so an hour that is looked at may have the end of ten and the begin of ten. */
static void
judge_step_row(void)
{
	int64_t    *row = &oracle.step_rows[oracle.nstep_rows % (2 * STEP_ROWS)];

	if (oracle.nstep_rows++ >= 2 * STEP_ROWS)
		REQUIRE(world.boot - *row >= HOUR);
	*row = world.boot;
}

/* An era opens, after one that ended at this position. */
static void
judge_era(const UidgenEra *era, const UidgenGrant *grant, UidgenStepKind step,
		  uint64_t position, uint64_t position_asked, int64_t offset)
{
	int			bits = world.rules.sequence_bits;
	UidgenTick	burst = world.terms.bounds.burst;
	UidgenTick	now = clock_tick();
	UidgenTick	next = (position + (UINT64_C(1) << bits) - 1) >> bits;
	UidgenTick	first = grant->first;
	UidgenTick	tick = era->position >> bits;

	trace("    worker %d from tick %llu to %lld, era from tick %llu\n", grant->worker,
		  (unsigned long long) first, (long long) grant->last, (unsigned long long) tick);
	REQUIRE((era->position & ((UINT64_C(1) << bits) - 1)) == 0);
	if (step == UIDGEN_STEP_BACK)
	{
		REQUIRE(tick == first);
		oracle.top = 0;
		oracle.top_is_burst = true;
		if (first > now)
			raise_top(first + burst, false);
		oracle.clock_known = 0;
		oracle.highest = 0;
		oracle.steps++;
	}
	else
	{
		REQUIRE(tick == MAX(next, first));
		if (next > now)
			REQUIRE(next <= beyond_position(now));
		if (next > now)
			raise_top(next + (oracle.top_is_burst ? 0 : burst), oracle.top_is_burst);
		if (first > next && first > now)
			raise_top(first + burst, false);
	}
	/* Where the row was used last, the clock has been; a further step back counts from
	 * there. */
	oracle.clock_known = MAX(oracle.clock_known,
							 MIN(MAX(grant->seen, 0), now + world.terms.bounds.large_step));

	/* Of a registry that forgot the row in use, that is no way back any more. */
	if (step == UIDGEN_STEP_FORWARD)
		REQUIRE(grant->worker != oracle.grant.worker || grant->never_used);

	/* It is of use, where nobody has gone on meanwhile. */
	if (position == position_asked)
		REQUIRE(era->position <= era->limit);
	REQUIRE(era->renew_at <= era->limit);
	oracle.grant = *grant;
	oracle.offset = offset;
	oracle.overtaken = 0;
}

/* New bounds are published, after others. */
static void
judge_bounds(const UidgenTicketBounds *before)
{
	const UidgenTicketBounds *after = &world.terms.bounds;
	UidgenTick	now = clock_tick();

	/* Who was allowed to go so far still is. */
	if (after->burst < before->burst)
		raise_top(now + before->burst, false);
	if (after->burst > before->burst && !oracle.top_is_burst)
		oracle.top += 2 * (after->burst - before->burst);
	oracle.room = MAX(oracle.room, after->crash + after->burst);
	/* What was a small step when it was made becomes no large one, but is forgotten. */
	if (after->large_step < before->large_step)
		oracle.clock_known = MIN(oracle.clock_known, now);
}

/* ---- callers ---- */

/* Their demands are not played: the keeper is called. */
static bool attempt(void);

static void
look_at_clock(Caller *caller)
{
	UidgenTick	tick = clock_tick();

	uidgen_ticket_note_clock(&world.words, &world.rules, caller->ticket.era, tick);
	caller->look = uidgen_ticket_clock(&world.words, &world.rules, tick);
	caller->noted = uidgen_ticket_position(&world.rules, tick) <= uidgen_atomic_read(&world.words.limit);
	caller->behind = oracle.clock_known > tick + world.terms.bounds.large_step;
	caller->allowed = allowed(tick);
}

static void
begin_call(Caller *caller)
{
	uidgen_ticket_begin(&world.words, &caller->ticket);
	look_at_clock(caller);
	caller->state = LOOKED;
}

static UidgenTicketResult
take_ticket(Caller *caller, uint64_t n, UidgenTicketKind kind)
{
	n = MIN(MAX(n, 1), UINT64_C(1) << world.rules.sequence_bits);
	switch (kind)
	{
		case UIDGEN_TAKE_ROW:
			return uidgen_ticket_take(&world.words, &world.rules, &caller->ticket,
									  &caller->look, n, UIDGEN_TAKE_ROW);
		default:
			return uidgen_ticket_take(&world.words, &world.rules, &caller->ticket,
									  &caller->look, n, UIDGEN_TAKE_BLOCK);
	}
}

static Caller
new_caller(void)
{
	return (Caller) {
		.above = oracle.highest,
		.above_worker = oracle.highest_worker,
		.life = oracle.life,
		.steps = oracle.steps,
	};
}

/* Wait until `blocked` is near enough. */
static void
wait_for_clock(UidgenTick blocked)
{
	UidgenTicketReach reach = uidgen_ticket_reach(&world.words);
	UidgenTick	now = clock_tick();
	UidgenTick	target = uidgen_ticket_allowed_at(&reach, blocked);

	/* The wait ends when it should, or would be a busy loop. */
	if (target <= now)
	{
		REQUIRE(uidgen_ticket_last_allowed(&reach, now) >= blocked);
		return;
	}
	REQUIRE(uidgen_ticket_last_allowed(&reach, target) >= blocked);
	REQUIRE(uidgen_ticket_last_allowed(&reach, target - 1) < blocked);
	trace("    waits for tick %llu\n", (unsigned long long) target);
	let_pass((int64_t) target * world.terms.unit - world.wall);
}

/* Does a call get its ids?  If not, it has to wait for the clock and was told not to,
 * or the keeper failed. */
static bool
call(uint64_t n, UidgenTicketKind kind, bool waits)
{
	Caller		caller = new_caller();
	UidgenTicketResult result = UIDGEN_TICKET_VOID;
	int			rounds = 0;

	world.failure = NO_FAILURE;
	for (;;)
	{
		UidgenTicketReach reach;
		bool		taken = result == UIDGEN_TICKET_UNGRANTED || result == UIDGEN_TICKET_EARLY;

		REQUIRE(++rounds < 20);
		if (taken)
		{
			look_at_clock(&caller);
			result = uidgen_ticket_settle(&world.words, &world.rules, &caller.ticket,
										  &caller.look);
		}
		else
		{
			begin_call(&caller);
			result = take_ticket(&caller, n, kind);
		}
		switch (result)
		{
			case UIDGEN_TICKET_GOOD:
				judge_ids(&caller);
				if (caller.ticket.renew && waits)
					(void) attempt();
				return true;
			case UIDGEN_TICKET_UNGRANTED:
			case UIDGEN_TICKET_NO_GRANT:
				if (!attempt())
					return false;
				break;
			case UIDGEN_TICKET_EARLY:
			case UIDGEN_TICKET_AHEAD:
				reach = uidgen_ticket_reach(&world.words);
				if (uidgen_ticket_large_step(&reach, clock_tick()) ||
					uidgen_ticket_step_in_era(&reach, clock_tick()))
				{
					if (!attempt())
						return false;
				}
				else if (!waits)
					return false;
				else
					wait_for_clock(caller.ticket.blocked);
				break;
			case UIDGEN_TICKET_VOID:
				break;
			case UIDGEN_TICKET_REFUSED:
				REQUIRE(false);
		}
	}
}

/* The steps of a call one by one, so that others come between. */
static void
go_on(Caller *caller)
{
	uint64_t	n = (uint64_t) take_number();
	UidgenTicketKind kind = (UidgenTicketKind) (n % 2);
	UidgenTicketResult result = UIDGEN_TICKET_VOID;

	switch (caller->state)
	{
		case IDLE:
			*caller = new_caller();
			begin_call(caller);
			return;
		case LOOKED:
			result = take_ticket(caller, n, kind);
			caller->state = TAKEN;
			if (result == UIDGEN_TICKET_VOID)
				oracle.overtaken = (uidgen_atomic_read(&world.words.position) - 1) >> world.rules.sequence_bits;
			break;
		case TAKEN:
			look_at_clock(caller);
			result = uidgen_ticket_settle(&world.words, &world.rules, &caller->ticket,
										  &caller->look);
			break;
	}
	if (result == UIDGEN_TICKET_GOOD)
		judge_ids(caller);
	if (result != UIDGEN_TICKET_UNGRANTED && result != UIDGEN_TICKET_EARLY)
		caller->state = IDLE;
}

/* ---- calls on the registry ---- */

static bool
failed(Failure failure)
{
	trace("    the attempt fails: %d, %d\n", (int) failure, (int) world.answer);
	world.failure = failure;
	return false;
}

/* A call on the registry begins: is it this one that something happens to? */
static bool
is_armed(void)
{
	if (world.armed_after-- != 0)
		return false;
	set_clock(world.wall + world.leap_before);
	return true;
}

static RegistryCall
registry_call(void)
{
	return (RegistryCall) {
		.database = (uint64_t) world.database + 1,
		.identity = world.identity,
		.disposable = world.terms.disposable,
		.max_worker = world.max_worker,
		.max_tick = (int64_t) world.rules.last_tick,
		.unit = world.terms.unit,
		.now = world.wall,
		.token = ++world.token,
	};
}

/* What happens while the registry is asked. */
static void
meanwhile(bool armed)
{
	if (!armed)
		return;
	set_clock(world.wall + world.leap_during);
	if (world.draws && !world.calling)
	{
		Caller		caller = new_caller();

		begin_call(&caller);
		if (take_ticket(&caller, 3, UIDGEN_TAKE_ROW) == UIDGEN_TICKET_GOOD)
			judge_ids(&caller);
	}
}

/* A row of this server's that can be had for this step, and does not begin too far
 * ahead. */
static bool
has_row(const Registry *registry, const RegistryCall *asked, UidgenStepKind step, int64_t lead)
{
	int64_t		now = registry_tick(asked, asked->now);

	/* A copy's rows are somebody else's. */
	if (registry->database != asked->database)
		return false;
	for (int i = 0; i < WORKERS; i++)
	{
		const Row  *row = &registry->rows[i];

		if (row->used && row->identity == asked->identity && row->until + 1 - now <= lead &&
			!(step == UIDGEN_STEP_FORWARD && i == oracle.grant.worker) &&
			(step == UIDGEN_STEP_BACK || registry_tick(asked, row->modified) - now <= (int64_t) world.terms.bounds.large_step))
			return true;
	}
	return false;
}

static bool
ask_to_acquire(const UidgenRequest *request, UidgenStepKind step, UidgenGrant *grant)
{
	const UidgenTicketBounds *bounds = &world.terms.bounds;
	int64_t		lead = (int64_t) (step == UIDGEN_STEP_BACK ? bounds->large_step : bounds->crash);
	Registry   *registry = &world.registries[world.database];
	Registry	before = *registry;
	bool		armed = is_armed();
	RegistryCall asked = registry_call();

	if (armed && world.fails)
		return failed(BROKEN);
	asked.random = (int) (world.choice * (uint64_t) world.token >> 3 & 0xffff);
	world.answer = registry_acquire(registry, &asked, request, grant);
	if (world.answer != REGISTRY_GOOD)
	{
		*registry = before;
		return failed(ANSWERED);
	}
	meanwhile(armed);
	if (armed && world.loses_answer)
		return failed(BROKEN);
	REQUIRE(grant->first >= request->floor && grant->first <= grant->last);
	REQUIRE(request->wanted < 0 || grant->worker == request->wanted);
	/* It begins no further ahead than that, unless there was no other; and where one can
	 * be had that was used before, none is used up. */
	if (request->wanted < 0 && !grant->reason[0])
		REQUIRE(grant->first <= MAX(registry_tick(&asked, asked.now) + lead,
									step == UIDGEN_STEP_BACK ? 0 : request->floor));
	/* Nor is it one of this server's whose time is known to be wrong. */
	if (request->wanted < 0 && !grant->reason[0] && step != UIDGEN_STEP_BACK &&
		before.rows[grant->worker].identity == asked.identity)
		REQUIRE(grant->seen - registry_tick(&asked, asked.now) <= (int64_t) bounds->large_step);
	if (request->wanted < 0 && !asked.disposable && grant->never_used)
		REQUIRE(!has_row(&before, &asked, step, lead));
	return true;
}

static bool
ask_to_renew(UidgenGrant *grant, int64_t needed, int64_t window, int64_t at_most,
			 bool *fenced)
{
	Registry   *registry = &world.registries[world.database];
	bool		armed = is_armed();
	RegistryCall asked;
	UidgenGrant renewed = *grant;

	if (armed && world.fails)
		return failed(BROKEN);
	/* Before the registry looks at its clock, or it would be no part of the call. */
	meanwhile(armed);
	asked = registry_call();
	world.answer = registry_renew(registry, &asked, &renewed, needed, window, at_most);
	if (world.answer == REGISTRY_LIFETIME)
	{
		/* All that there is was granted. */
		REQUIRE(grant->last >= asked.max_tick - 1 ||
				registry_tick(&asked, asked.now) >= asked.max_tick);
		return failed(ANSWERED);
	}
	if (world.answer == REGISTRY_LEAPT)
		return failed(LEAPT);
	*fenced = world.answer == REGISTRY_FENCED;
	if (armed && world.loses_answer)
		return failed(BROKEN);
	if (!*fenced)
		*grant = renewed;
	return true;
}

static bool
ask_to_release(const UidgenGrant *grant, int64_t last_issued)
{
	bool		armed = is_armed();
	RegistryCall asked = registry_call();

	if (armed && world.fails)
		return failed(BROKEN);
	/* What was issued is kept, and no more. */
	REQUIRE(oracle.issued_now[grant->worker] <= last_issued);
	REQUIRE(last_issued <= (int64_t) beyond_position(clock_tick()));
	(void) registry_release(&world.registries[world.database], &asked, grant, last_issued);
	meanwhile(armed);
	return armed && world.loses_answer ? failed(BROKEN) : true;
}

/* ---- the keeper ---- */

static UidgenTimes
look_at_clocks(const void *machine)
{
	(void) machine;
	return (UidgenTimes) {.wall = world.wall, .boot = world.boot};
}

static uint64_t
constant_bits(const UidgenGrant *grant)
{
	return (uint64_t) grant->registry << 16 | (uint64_t) grant->worker;
}

static UidgenKeeping
keeping(void)
{
	return (UidgenKeeping) {
		.words = &world.words,
		.lease = &world.lease,
		.node = &world.node,
		.unused = &world.unused,
		.rules = &world.rules,
		.settings = world.terms,
		.fleet_window = world.terms.window,
		.padding_factor = world.padding_factor,
		.look = look_at_clocks,
		.constant = constant_bits,
	};
}

static void
publish_bounds(void)
{
	UidgenKeeping kept = keeping();

	uidgen_publish_bounds(&kept);
}

/* The linker puts this in its place: an era is about to open. */
extern UidgenEra __real_uidgen_lease_era(const UidgenLease *lease, const UidgenTerms *terms,
										 UidgenStepKind step, UidgenTick now,
										 const UidgenTicketReach *reach, UidgenPosition position);
extern UidgenEra __wrap_uidgen_lease_era(const UidgenLease *lease, const UidgenTerms *terms,
										 UidgenStepKind step, UidgenTick now,
										 const UidgenTicketReach *reach, UidgenPosition position);

UidgenEra
__wrap_uidgen_lease_era(const UidgenLease *lease, const UidgenTerms *terms, UidgenStepKind step,
						UidgenTick now, const UidgenTicketReach *reach, UidgenPosition position)
{
	UidgenEra	era = __real_uidgen_lease_era(lease, terms, step, now, reach, position);

	judge_era(&era, &lease->grant, step, position, world.position_asked, lease->clock_offset);
	return era;
}

static bool
make_call(const UidgenAttempt *attempt, UidgenReply *reply)
{
	const UidgenCall *call = &attempt->call;
	UidgenGrant grant = {.worker = call->worker, .token = call->old_token, .last = call->until};
	bool		fenced = false;
	bool		answered = false;

	switch (call->kind)
	{
		case UIDGEN_CALL_ACQUIRE:
			if (attempt->calls == 1)
				world.position_asked = uidgen_atomic_read(&world.words.position);
			answered = ask_to_acquire(&call->request, attempt->action.lease.step.kind, &grant);
			break;
		case UIDGEN_CALL_RENEW:
			answered = ask_to_renew(&grant, call->needed, call->window, call->at_most, &fenced);
			break;
		case UIDGEN_CALL_RELEASE:
			answered = ask_to_release(&grant, call->last_issued);
			break;
		case UIDGEN_CALL_IMPORT:
			REQUIRE(false);
			break;
	}
	*reply = (UidgenReply) {.done = !fenced, .grant = grant};
	return answered;
}

/* Something was published. */
static void
note_published(const UidgenAttempt *attempt)
{
	const UidgenGrant *grant = &world.lease.grant;

	if (attempt->renewed)
	{
		trace("    renewed to tick %lld\n", (long long) grant->last);
		oracle.grant = *grant;
		oracle.offset = world.lease.clock_offset;
	}
	if (attempt->acquired && attempt->action.lease.step.kind != UIDGEN_STEP_NONE && attempt->took_row)
		judge_step_row();
}

/* Make the calls of an attempt. */
static bool
finish_attempt(UidgenAttempt *attempt)
{
	UidgenKeeping kept = keeping();

	while (attempt->state == UIDGEN_ATTEMPT_CALLS)
	{
		UidgenReply reply;

		if (!make_call(attempt, &reply))
		{
			uidgen_attempt_fails(&kept, attempt, &(UidgenNoReply) {0});
			return false;
		}
		uidgen_attempt_hear(&kept, attempt, &reply, 0);
		note_published(attempt);
	}
	if (attempt->state == UIDGEN_ATTEMPT_LARGE_STEP)
		return failed(LARGE_STEP);
	if (attempt->state == UIDGEN_ATTEMPT_UNTAUGHT)
		return failed(UNTAUGHT);
	REQUIRE(attempt->state == UIDGEN_ATTEMPT_DONE);
	return true;
}

static bool
attempt(void)
{
	UidgenKeeping kept = keeping();
	UidgenAttempt attempt;

	world.connected = true;
	uidgen_attempt_begin(&kept, &attempt, false, (uint64_t) world.database + 1, 0);
	trace("    keeper: call %d, step %d\n", (int) attempt.action.lease.call,
		  (int) attempt.action.lease.step.kind);
	judge_action(&attempt.action.lease, &attempt.clocks);
	return finish_attempt(&attempt);
}

static void
release(void)
{
	UidgenKeeping kept = keeping();
	UidgenAttempt attempt;

	uidgen_attempt_release(&kept, &attempt, false, (uint64_t) world.database + 1);
	(void) finish_attempt(&attempt);
}

/* SIGTERM. */
static void
shut_down(void)
{
	if (world.lease.held &&
		(world.connected || world.lease.grant.last > clock_tick()))
		release();
}

static void
start_keeper(void)
{
	world.connected = false;
	publish_bounds();
}

/* ---- steps ---- */

static void
set_bounds(void)
{
	UidgenTicketBounds *bounds = &world.terms.bounds;

	bounds->large_step = bounds->ahead + world.second;
	bounds->crash = bounds->large_step + world.terms.window + bounds->burst + 3;
}

/* The settings that a reload changes. */
static void
take_settings(void)
{
	static const int64_t windows[] = {1, 2, 10, 100, 1000, 3600};
	static const int64_t aheads[] = {0, 1, 20, 3600, 1000000};
	static const int64_t bursts[] = {0, 1, 8, 200};
	UidgenTerms *terms = &world.terms;

	terms->window = windows[take_number() % 6];
	terms->bounds.ahead = aheads[take_number() % 5];
	terms->bounds.burst = bursts[take_number() % 4];
	world.padding_factor = take_number() % 3 * 50;
	terms->padding = terms->window * world.padding_factor / 100;
	terms->disposable = take_letter("rd") == 'd';
	set_bounds();
}

static void
reload(void)
{
	UidgenTicketBounds before = world.terms.bounds;

	take_settings();
	judge_bounds(&before);
	publish_bounds();
}

static void
start_server(void)
{
	const UidgenTicketBounds *bounds = &world.terms.bounds;

	world.terms.worker = world.worker_at_start;
	world.terms.other_workers = world.terms.worker < 0 && world.max_worker > 0;
	uidgen_ticket_init(&world.words);
	uidgen_lease_init(&world.lease);
	memset(world.callers, 0, sizeof(world.callers));

	for (int i = 0; i < WORKERS; i++)
	{
		oracle.issued_before[i] = MAX(oracle.issued_before[i], oracle.issued_now[i]);
		oracle.issued_now[i] = -1;
	}
	for (int i = 0; i < DATABASES; i++)
		excuse(i);
	oracle.life++;
	oracle.highest = 0;
	oracle.clock_known = 0;
	oracle.nstep_rows = 0;
	oracle.top = 0;
	oracle.top_is_burst = true;
	oracle.overtaken = 0;
	oracle.room = bounds->crash + bounds->burst;
	start_keeper();
}

/* Of the next call on the registry, or one soon after. */
static void
arm(char what)
{
	world.armed_after = take_number() % 3;
	world.fails = what == 'F';
	world.loses_answer = what == 'L';
	world.draws = what == 'D';
	world.leap_before = world.leap_during = 0;
}

/* A length of time, in microseconds. */
static int64_t
take_time(void)
{
	const UidgenTicketBounds *bounds = &world.terms.bounds;
	int64_t		unit = world.terms.unit;
	int64_t		ticks = 0;

	switch (take_letter("1BWPASCRH#E0"))
	{
		case '1':
			ticks = 1;
			break;
		case 'B':
			ticks = (int64_t) bounds->burst;
			break;
		case 'W':
			ticks = world.terms.window;
			break;
		case 'P':
			ticks = world.terms.padding;
			break;
		case 'A':
			ticks = (int64_t) bounds->ahead;
			break;
		case 'S':
			ticks = (int64_t) bounds->large_step;
			break;
		case 'C':
			ticks = (int64_t) bounds->crash;
			break;
		case 'R':
			ticks = (int64_t) (bounds->crash + bounds->burst);
			break;
		case 'H':
			ticks = HOUR / unit;
			break;
		case '#':
			ticks = take_byte();
			ticks = ticks << 8 | take_byte();
			break;
		case 'E':				/* to the end of the layout */
			ticks = (int64_t) (world.rules.last_tick - clock_tick());
			break;
		case '0':				/* back to tick 0 */
			ticks = clock_tick();
			break;
	}
	switch (take_letter("=+-2/3."))
	{
		case '=':
			break;
		case '+':
			ticks++;
			break;
		case '-':
			ticks -= ticks > 0;
			break;
		case '2':
			ticks = MIN(2 * ticks, (int64_t) world.rules.last_tick);
			break;
		case '/':
			ticks /= 2;
			break;
		case '3':
			ticks = MIN(ticks, (int64_t) world.rules.last_tick - 3) + 3;
			break;
		case '.':
			return MIN(ticks, (int64_t) world.rules.last_tick) * unit + unit / 2;
	}
	return MIN(ticks, (int64_t) world.rules.last_tick) * unit;
}

/* Rows of others, or none: the ids that are left become few, or many. */
static void
fill_rows(Registry *registry, int leave)
{
	for (int i = 0; i <= world.max_worker - leave; i++)
		if (!registry->rows[i].used)
			registry->rows[i] = (Row) {true, SOMEBODY, 1, clock_tick(), world.wall};
	if (registry->database == 0)
		registry->database = (uint64_t) world.database + 1;
}

/*
 * From here on nothing is in the way.  A call gets an id, or the registry or the lease
 * says why not; that this is true is seen where they say it.
 */
static void
judge_progress(void)
{
	world.armed_after = -1;
	for (int tries = 0; !call(1, UIDGEN_TAKE_ROW, true); tries++)
	{
		if (world.failure == ANSWERED || world.failure == LARGE_STEP)
			return;
		REQUIRE(world.failure == UNTAUGHT && tries < 3);
	}
}

#define STEPS "dwckrTtfbsCIoSFLDEMvzxnlgyXa!u"

static void
step(void)
{
	char		what = take_letter(STEPS);
	Registry   *registry = &world.registries[world.database];
	int			number;
	RegistryCall asked = registry_call();

	trace("%c at %lld, position's tick %llu\n", what, (long long) clock_tick(),
		  (unsigned long long) (uidgen_atomic_read(&world.words.position) >> world.rules.sequence_bits));
	switch (what)
	{
			/* Callers, and the keeper. */
		case 'd':				/* a call that does not wait for the clock */
		case 'w':				/* and one that does */
			number = take_number();
			world.calling = true;
			(void) call((uint64_t) number, (UidgenTicketKind) (number % 2), what == 'w');
			world.calling = false;
			break;
		case 'c':				/* a step of one of the calls that take their time */
			go_on(&world.callers[take_number() % CALLERS]);
			break;
		case 'k':				/* the keeper attends to a demand */
			(void) attempt();
			break;
		case 'r':				/* is idle, and starts anew */
			start_keeper();
			break;
		case 'T':				/* is terminated */
			shut_down();
			start_keeper();
			break;

			/* The clock. */
		case 't':
			let_pass(take_time());
			break;
		case 'f':
			set_clock(world.wall + take_time());
			break;
		case 'b':
			set_clock(world.wall - take_time());
			break;

			/* The server. */
		case 's':				/* is stopped, and starts again */
			shut_down();
			start_server();
			break;
		case 'C':				/* crashes */
			start_server();
			break;
		case 'I':				/* is another one, by promotion or restore */
			world.identity++;
			start_server();
			break;
		case 'o':				/* has this worker id from the next start on */
			number = take_number();
			world.worker_at_start = number == 0 ? -1 : MIN(number - 1, world.max_worker);
			break;
		case 'S':
			reload();
			break;

			/* What happens to a call on the registry. */
		case 'F':
		case 'L':
		case 'D':
			arm(what);
			break;
		case 'E':
			arm(what);
			number = take_letter("fb");
			world.leap_before = take_time() * (number == 'f' ? 1 : -1);
			break;
		case 'M':
			arm(what);
			number = take_letter("fb");
			world.leap_during = take_time() * (number == 'f' ? 1 : -1);
			break;

			/* The registry. */
		case 'v':				/* is another one from now on */
			world.database = (world.database + 1) % DATABASES;
			publish_bounds();
			start_keeper();
			break;
		case 'z':				/* is saved, */
			world.kept[world.database] = *registry;
			break;
		case 'x':				/* and restored */
			*registry = world.kept[world.database];
			excuse(world.database);
			break;
		case 'n':				/* is made anew */
			memset(registry, 0, sizeof(*registry));
			excuse(world.database);
			break;
		case 'y':				/* is copied to the other one */
			world.registries[(world.database + 1) % DATABASES] = *registry;
			excuse((world.database + 1) % DATABASES);
			break;
		case 'l':				/* loses the row in use */
			memset(&registry->rows[world.lease.grant.worker], 0, sizeof(Row));
			excuse(world.database);
			break;
		case 'g':				/* somebody has taken the row in use */
			registry->rows[world.lease.grant.worker].identity = SOMEBODY;
			registry->rows[world.lease.grant.worker].token = ++world.token;
			break;
		case 'X':				/* an operator forgets a worker id */
			number = take_number() % (world.max_worker + 1);
			if (registry->rows[number].used)
				registry_forget(registry, &asked, number);
			break;
		case 'a':				/* all but so many are others' */
			fill_rows(registry, take_number());
			break;

		case 'u':				/* many rows are lost */
			for (number = take_number(); number > 0; number--)
			{
				registry->rows[world.lease.grant.worker].identity = SOMEBODY;
				registry->rows[world.lease.grant.worker].token = ++world.token;
				if (!attempt() || !call(1, UIDGEN_TAKE_ROW, false))
					break;
			}
			break;
		case '!':
			judge_progress();
			break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t units[] = {1000, 1000000, 1};
	static const int max_workers[] = {WORKERS - 1, 7, 1, 0};
	int			bits;

	next_byte = data;
	end_of_input = data + size;
	memset(&world, 0, sizeof(world));
	memset(&oracle, 0, sizeof(oracle));
	world.armed_after = -1;
	world.identity = SOMEBODY + 1;
	for (int i = 0; i < WORKERS; i++)
	{
		oracle.issued_before[i] = oracle.issued_now[i] = oracle.last_issued[i] = -1;
		for (int j = 0; j < DATABASES; j++)
			oracle.excused[j][i] = -1;
	}

	/* The layout. */
	world.terms.unit = units[take_number() % 3];
	world.max_worker = max_workers[take_number() % 4];
	world.choice = (uint64_t) take_number() * 40503;
	bits = take_number() % 5 * 3;
	world.terms.sequence_bits = world.rules.sequence_bits = MAX(bits, 1);
	world.terms.last_tick = (INT64_C(1) << (take_letter("sl") == 's' ? 20 : 40)) - 1;
	world.rules.last_tick = world.terms.last_tick;
	world.second = MAX(1000000 / world.terms.unit, 1);

	/* The start. */
	world.boot = HOUR;
	switch (take_letter("m0e"))
	{
		case 'm':
			world.wall = world.terms.last_tick / 2 * world.terms.unit;
			break;
		case '0':
			world.wall = 0;
			break;
		case 'e':
			world.wall = (world.terms.last_tick - 5000) * world.terms.unit;
			break;
	}
	set_clock(world.wall);
	world.worker_at_start = take_letter("af") == 'a' ? -1 : 0;
	take_settings();
	start_server();

	for (int steps = 0; next_byte < end_of_input && steps < 200; steps++)
		step();
	judge_progress();
	return 0;
}
