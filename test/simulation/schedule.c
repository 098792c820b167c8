/*
 * schedule.c
 *	  The steps of the simulation: made from a seed, and carried out.
 *
 * A step says by itself all that it needs, so that a schedule of which some steps are left
 * out is one, too.  One that cannot be taken, or must not (limits.c), does nothing.
 */
#include "simulation.h"

#include <inttypes.h>
#include <string.h>

World		world;

/* ---- numbers ---- */

static uint64_t
mix(uint64_t *state)
{
	/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014 */
	uint64_t	z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t state;			/* while a schedule is made */

static int
below(int n)
{
	return (int) (mix(&state) % (uint64_t) n);
}

#define PICK(...) \
	(((const int64_t[]) {__VA_ARGS__})[below(sizeof((const int64_t[]) {__VA_ARGS__}) / sizeof(int64_t))])

/* Of the present step: for tokens, and the choices of the registry. */
int64_t
new_number(void)
{
	return (int64_t) (mix(&world.salt) >> 1 | 1);
}

/* ---- time ---- */

UidgenTick
tick_of(UidgenMicroseconds time)
{
	if (time < 0)
		return 0;
	return Min(time / world.setup.unit, world.setup.last_tick);
}

UidgenTick
ticks_in(UidgenMicroseconds length)
{
	return length / world.setup.unit;
}

UidgenMicroseconds
registry_clock(void)
{
	return world.now + world.registry.clock;
}

static double
in_ticks(UidgenMicroseconds length)
{
	return (double) length / (double) world.setup.unit;
}

/* ---- what can happen ---- */

typedef enum What
{
	DRAW,						/* and if the keeper is needed, it makes an attempt */
	PASS,						/* time */
	GO_ON,						/* a call that is under way */
	RUN_LATE,					/* one that was given up */
	OUTAGE,						/* the registry does not answer for some attempts */
	CRASH,
	KILL_KEEPER,
	STOP,						/* and start */
	END_KEEPER,					/* it hands back the grant; the server goes on */
	COPY,						/* a machine, with its memory */
	NAMESAKE,					/* a copy of a data directory */
	PAUSE,						/* a machine */
	SET_WALL,					/* a wall clock */
	SET_CLOCK,					/* the registry's */
	RESTART,					/* the registry */
	CATCH_UP,					/* a standby */
	PROMOTE,					/* it; the old primary may run on */
	RESTORE,					/* what a standby has is taken for a backup */
	CHANGE_DATABASE,			/* or for a copy of the database */
	DRAW_NUMBERS,				/* of a segment, as DRAW */
	CHANGE_SEGMENT,				/* its owner does */
	CHANGE_SIDES,				/* that of the registry: which worker ids are for guests */
	CHANGE_LENGTHS,
	OPERATE,					/* the next step of a procedure */
	WHATS
} What;

typedef enum Lengths
{
	OF_ALL_KINDS,
	SHORT,
	SLEEPS,						/* about as long as a row is its node's */
	FAR							/* some times as long */
} Lengths;

/* What becomes of a call. */
typedef enum Fate
{
	ANSWERED,
	UNDER_WAY,					/* other things happen first */
	NEVER_RUN,
	ANSWER_LOST,
	UNCONFIRMED,				/* a WARNING tells that the standby may lack it */
	GIVEN_UP,					/* it may be run later */
	REFUSED,					/* an error that says that nothing was done */
	KILLED,						/* the keeper, after it was run */
	BY_OLD,						/* the primary that was left behind is asked */
	FATES
} Fate;

/* Things that may do harm in this order; by nodes 0 to 2, which stand for any. */
#define PLOT 12
typedef struct PlotStep
{
	What		what;
	int			who;
	Fate		fate;			/* of its call, where the theme has_fates */
	int			count;			/* 0: any */
} PlotStep;

/*
 * What a schedule is about: how often each thing happens, among how many nodes and worker
 * ids.  What needs many coincidences has a theme of its own, with a plot: now and then its
 * steps come one after the other, though some of them are left out.
 */
typedef struct ThemeSetup
{
	int			often;
	int			nodes;			/* at most */
	int			max_worker;		/* at most */
	Lengths		lengths;
	int			local;			/* in one of so many, a node had a local registry */
	bool		segments;		/* numbers are drawn more than ids */
	int			weights[WHATS];
	PlotStep	plot[PLOT];
	int			plot_steps;
	bool		has_fates;
} ThemeSetup;

static const ThemeSetup themes[THEMES] = {
	[EVERYTHING] = {
		.often = 3, .nodes = NODES, .max_worker = WORKERS - 1, .local = 6,
		.weights = {
			[DRAW] = 100, [PASS] = 30, [GO_ON] = 15, [RUN_LATE] = 6, [OUTAGE] = 1,
			[CRASH] = 2, [KILL_KEEPER] = 2, [STOP] = 2, [END_KEEPER] = 2, [COPY] = 2, [NAMESAKE] = 1,
			[PAUSE] = 2, [SET_WALL] = 2, [SET_CLOCK] = 2, [RESTART] = 1, [CATCH_UP] = 6,
			[PROMOTE] = 3, [RESTORE] = 1, [CHANGE_DATABASE] = 1,
		},
	},
	[FAR_AHEAD] = {
		.often = 1, .nodes = 3, .max_worker = 1, .lengths = SHORT, .local = 3,
		.weights = {
			[DRAW] = 60, [PASS] = 25, [GO_ON] = 5, [CATCH_UP] = 8, [PROMOTE] = 5, [RESTART] = 2, [CRASH] = 1,
		},
		.plot = {
			{CATCH_UP}, {DRAW, 0}, {SET_CLOCK}, {DRAW, 0}, {DRAW, 0}, {PROMOTE}, {DRAW, 1}, {PASS}, {DRAW, 1}, {PASS}, {DRAW, 1},
		},
		.plot_steps = 11,
	},
	[CHANGING_HANDS] = {
		.often = 1, .nodes = 3, .max_worker = 1, .lengths = SLEEPS, .local = 6,
		.weights = {
			[DRAW] = 50, [PASS] = 25, [CATCH_UP] = 5, [PROMOTE] = 6, [RESTORE] = 3, [STOP] = 4, [END_KEEPER] = 6, [CRASH] = 1,
		},
		.plot = {
			{DRAW, 0}, {CATCH_UP}, {PASS}, {DRAW, 1}, {PASS}, {DRAW, 2}, {PROMOTE}, {END_KEEPER, 0}, {DRAW, 1}, {DRAW, 0},
		},
		.plot_steps = 10,
	},
	[LEAPS] = {
		.often = 1, .nodes = 4, .max_worker = 3, .lengths = FAR, .local = 6,
		.weights = {
			[DRAW] = 60, [PASS] = 20, [GO_ON] = 4, [SET_CLOCK] = 6, [PAUSE] = 2, [SET_WALL] = 1, [RESTART] = 1,
			[CATCH_UP] = 5, [PROMOTE] = 3, [STOP] = 3, [END_KEEPER] = 3, [CRASH] = 3,
		},
	},
	[JOINS] = {
		.often = 1, .nodes = 3, .max_worker = 1, .lengths = SHORT, .local = 1,
		.weights = {
			[DRAW] = 60, [PASS] = 15, [GO_ON] = 4, [SET_WALL] = 3, [CATCH_UP] = 5, [PROMOTE] = 4, [END_KEEPER] = 3,
		},
		.plot = {
			{CATCH_UP}, {DRAW, 0}, {DRAW, 0}, {PROMOTE}, {DRAW, 1}, {PASS}, {DRAW, 1}, {PASS}, {DRAW, 1}, {DRAW, 2},
		},
		.plot_steps = 10,
	},
	[JOINS_LATE] = {
		.often = 1, .nodes = 3, .max_worker = 1, .lengths = SLEEPS, .local = 1,
		.weights = {
			[DRAW] = 60, [PASS] = 15, [CATCH_UP] = 5, [PROMOTE] = 4, [END_KEEPER] = 3,
		},
		.plot = {
			{DRAW, 1}, {OUTAGE, 1}, {PASS}, {DRAW, 0}, {CATCH_UP}, {DRAW, 2}, {PROMOTE}, {DRAW, 1},
		},
		.plot_steps = 8,
	},
	[NUMBERS] = {
		.often = 2, .nodes = 4, .max_worker = WORKERS - 1, .lengths = SHORT, .local = 6, .segments = true,
		.weights = {
			[DRAW_NUMBERS] = 100, [DRAW] = 5, [PASS] = 6, [GO_ON] = 8, [RUN_LATE] = 4, [CRASH] = 2, [STOP] = 3, [END_KEEPER] = 6,
			[COPY] = 1, [NAMESAKE] = 1, [SET_CLOCK] = 1, [RESTART] = 1, [CATCH_UP] = 10, [PROMOTE] = 8, [RESTORE] = 8,
			[CHANGE_DATABASE] = 1, [CHANGE_SEGMENT] = 6,
		},
		.plot = {
			{CATCH_UP}, {DRAW_NUMBERS, 0}, {DRAW_NUMBERS, 1}, {PROMOTE}, {DRAW_NUMBERS, 2}, {DRAW_NUMBERS, 1}, {DRAW_NUMBERS, 0},
		},
		.plot_steps = 7,
	},
	[NUMBERS_RETURN] = {
		.often = 1, .nodes = 3, .max_worker = WORKERS - 1, .lengths = SHORT, .local = 6, .segments = true,
		.weights = {
			[DRAW_NUMBERS] = 60, [DRAW] = 2, [GO_ON] = 4, [RUN_LATE] = 8, [STOP] = 4, [END_KEEPER] = 12,
			[COPY] = 4, [CATCH_UP] = 8, [PROMOTE] = 6, [RESTORE] = 2, [CHANGE_SEGMENT] = 3,
		},
		.plot = {
			{DRAW_NUMBERS, 0}, {CATCH_UP}, {DRAW_NUMBERS, 1}, {PROMOTE}, {END_KEEPER, 0}, {DRAW_NUMBERS, 2}, {END_KEEPER, 0}, {DRAW_NUMBERS, 1}, {DRAW_NUMBERS, 2},
		},
		.plot_steps = 9,
	},
	[CHANGING_SIDES] = {
		.often = 1, .nodes = 2, .max_worker = 1, .lengths = SHORT, .local = 6,
		.weights = {
			[DRAW] = 60, [PASS] = 25, [CATCH_UP] = 6, [PROMOTE] = 6, [END_KEEPER] = 8, [CHANGE_SIDES] = 8, [CHANGE_LENGTHS] = 1,
		},
		.plot = {
			{CATCH_UP}, {CHANGE_SIDES}, {END_KEEPER, 0}, {DRAW, 0}, {DRAW, 0}, {DRAW, 0}, {PROMOTE}, {CHANGE_SIDES}, {DRAW, 1}, {PASS}, {DRAW, 1}, {DRAW, 1},
		},
		.plot_steps = 12,
	},
	[CHANGING_LENGTHS] = {
		.often = 1, .nodes = 3, .max_worker = 0, .lengths = SHORT, .local = 6,
		.weights = {
			[DRAW] = 60, [PASS] = 25, [CATCH_UP] = 4, [PROMOTE] = 4, [END_KEEPER] = 6, [CHANGE_LENGTHS] = 6,
		},
		.plot = {
			{CHANGE_LENGTHS}, {CATCH_UP}, {CHANGE_LENGTHS}, {DRAW, 0}, {DRAW, 0}, {DRAW, 0}, {PROMOTE}, {DRAW, 1}, {PASS}, {DRAW, 1}, {PASS}, {DRAW, 1},
		},
		.plot_steps = 12,
	},
	[OPERATIONS] = {
		.often = 2, .nodes = 4, .max_worker = 2, .lengths = SLEEPS, .local = 6,
		.weights = {
			[OPERATE] = 100, [DRAW] = 80, [PASS] = 40, [GO_ON] = 3, [CATCH_UP] = 8, [PROMOTE] = 4, [END_KEEPER] = 4, [STOP] = 2, [CRASH] = 3, [RESTART] = 1,
		},
		.plot = {
			{PASS}, {DRAW, 0}, {OPERATE}, {CATCH_UP}, {OPERATE}, {OPERATE}, {DRAW, 0}, {PROMOTE}, {OPERATE}, {DRAW, 1}, {PASS}, {DRAW, 1},
		},
		.plot_steps = 12,
	},
	/* For rules alone. */
	[LATE_RELEASE] = {
		.nodes = 3, .max_worker = 0, .lengths = FAR, .local = 6, .has_fates = true,
		.weights = {
			[DRAW] = 20, [PASS] = 10, [CATCH_UP] = 3, [END_KEEPER] = 2,
		},
		.plot = {
			{DRAW, 0}, {CATCH_UP}, {PASS}, {DRAW, 1}, {PASS}, {DRAW, 2}, {PROMOTE}, {END_KEEPER, 0}, {DRAW, 1},
		},
		.plot_steps = 9,
	},
	[LEAP_AFTER_RELEASE] = {
		.nodes = 3, .max_worker = 0, .lengths = FAR, .local = 6, .has_fates = true,
		.weights = {
			[DRAW] = 20, [PASS] = 10, [CATCH_UP] = 3, [END_KEEPER] = 2,
		},
		.plot = {
			{DRAW, 0}, {PASS}, {END_KEEPER, 0}, {SET_CLOCK, 0, ANSWERED, 1}, {DRAW, 1}, {CATCH_UP}, {PASS}, {DRAW, 2}, {PROMOTE}, {DRAW, 1},
		},
		.plot_steps = 10,
	},
	[CLONES] = {
		.nodes = 3, .max_worker = WORKERS - 1, .local = 6, .has_fates = true,
		.weights = {
			[DRAW] = 20, [PASS] = 10, [CRASH] = 5,
		},
		.plot = {
			{DRAW, 0, ANSWERED, 9}, {COPY, 0}, {DRAW, 0, ANSWERED, 3}, {DRAW, 1, ANSWERED, 1}, {DRAW, 1, ANSWERED, 1},
		},
		.plot_steps = 5,
	},
	[IN_CALLS] = {
		.nodes = 3, .max_worker = WORKERS - 1, .local = 6, .has_fates = true,
		.weights = {
			[DRAW] = 40, [PASS] = 20, [GO_ON] = 30, [PAUSE] = 20,
		},
		.plot = {
			{DRAW, 0, UNDER_WAY}, {GO_ON, 0}, {PAUSE, 0}, {PASS}, {GO_ON, 0}, {DRAW, 0},
		},
		.plot_steps = 6,
	},
};

static const int usual_fates[FATES] = {
	[ANSWERED] = 60, [UNDER_WAY] = 8, [NEVER_RUN] = 1, [ANSWER_LOST] = 3, [UNCONFIRMED] = 2,
	[GIVEN_UP] = 3, [REFUSED] = 1, [KILLED] = 2, [BY_OLD] = 4,
};

/* ---- making a schedule ---- */

static void
make_setup(Setup *setup, const ThemeSetup *theme)
{
	UidgenMicroseconds unit = 100000;
	int64_t		lead = PICK(8, 9, 12, 12, 20);

	*setup = (Setup) {
		.unit = unit,
		.nodes = 2 + below(theme->nodes - 1),
		.max_worker = (int) PICK(0, 1, 2, 3, 4, 5, 7) % (theme->max_worker + 1),
		.sequence_bits = (int) PICK(1, 1, 2, 3),
		.last_tick = START_TICK + (theme->lengths == OF_ALL_KINDS && below(4) == 0 ? 60 : 1000000),
		.max_lead = lead * unit + PICK(0, 0, 50000, 99900),
		.clock_slack = PICK(0, 1, 2, 4) * unit + PICK(0, 0, 50000),
		.window = PICK(1, 2, 3, 5, 40),
		.ahead = PICK(0, 2, 5, 40),
		.burst = PICK(0, 1, 3, 40, 40),
		.second = PICK(1, 3, 10),
		.padding_factor = (int) PICK(0, 50, 90),
		.timeout = PICK(2, 4, 6) * unit,
		.pace = PICK(0, 0, 10, 30000),
		.new_fleet = below(4) > 0,
		.synchronous = below(6) == 0,
		.local = below(theme->local) == 0 ? 1 : 0,
		.local_window = PICK(5, 40, 40),
		.ends_well = below(2),
	};
	for (int i = 0; i < NODES; i++)
		setup->walls[i] = PICK(0, 0, 0, 1, -1, 5, -5, 700000) * unit + below(100000);
}

static void
make_segment(SegmentRow *row, bool synchronous)
{
	*row = (SegmentRow) {
		.last_value = PICK(0, 0, 0, -1, 999, INT64_MAX - 80),
		.step = PICK(1, 2, 3, 5, 10),
		.max_value = INT64_MAX,
	};
	row->min_step = row->max_step = row->step;
	if (below(2))
	{
		row->min_step = Max(row->step / 2, 1);
		row->max_step = row->step * PICK(1, 2, 4, 10);
	}
	if (below(4) == 0)
		row->max_value = Min(row->last_value, INT64_MAX - 90) + 90;
	row->failover_gap = row->max_step * PICK(0, 1, 1, 2, 3, 5, 20);
	if (synchronous)
		row->failover_gap *= below(2);
}

static UidgenMicroseconds
make_length(const Setup *setup, Lengths lengths)
{
	UidgenMicroseconds unit = setup->unit;
	UidgenMicroseconds length = PICK(0, unit / 3, unit, 2 * unit, setup->clock_slack);

	if (lengths == FAR && below(2))
		return PICK(1, 2, 3, 4) * (setup->max_lead + setup->clock_slack);
	if (lengths == OF_ALL_KINDS && below(2))
		length = PICK(setup->window * unit, setup->timeout, setup->max_lead / 2, setup->max_lead,
					  setup->max_lead + setup->clock_slack);
	if (lengths == SLEEPS && below(2))
		length = PICK(setup->max_lead, setup->max_lead + setup->clock_slack, setup->max_lead + setup->clock_slack + 2 * unit,
					  2 * setup->max_lead + setup->clock_slack + 2 * unit);
	if (lengths != SHORT)
		length += PICK(0, 0, 0, 1, -1) * unit;
	return Max(length + PICK(0, 0, 50000, -1), 0);
}

/* Instead of nodes, in all steps or in some. */
static void
make_guests(Schedule *schedule, bool all)
{
	Setup	   *setup = &schedule->setup;
	UidgenMicroseconds shortest = 8 * setup->unit;

	setup->guests = Min(setup->nodes, GUESTS);
	setup->guest_workers = setup->max_worker + 1;
	setup->guest_bound = (int) PICK(1, 2, 100, 100, 100, 100);
	setup->guest_lead = PICK(setup->max_lead, setup->max_lead, shortest, (shortest + setup->max_lead) / 2);
	for (int i = 0; i < schedule->nsteps; i++)
		schedule->steps[i].by_guest = all || below(2);
}

/* The lengths that pages have: some minutes, and 10 seconds, which is a tick. */
static void
make_usual(Setup *setup)
{
	int64_t		factor = 10000000 / setup->unit;

	setup->unit *= factor;
	setup->timeout *= factor;
	setup->pace = 0;
	setup->max_lead = PICK(8, 12, 24) * setup->unit;
	setup->clock_slack = setup->unit;
	setup->synchronous = false;
	/* As it is by default, half of max_lead. */
	if (below(2))
		setup->window = 40;
	for (int i = 0; i < 3; i++)
		setup->procedures[i] = below(1 << 16);
}

static int
choose(const int *weights, int n)
{
	int			sum = 0;
	int			at;
	int			i;

	for (i = 0; i < n; i++)
		sum += weights[i];
	at = below(sum);
	for (i = 0; at >= weights[i]; i++)
		at -= weights[i];
	return i;
}

/* Each schedule leaves some things out, and has more of others, so that these come together
 * often enough. */
static void
vary(int *weights, int n)
{
	for (int i = 1; i < n; i++)
		weights[i] *= (int) PICK(0, 0, 1, 1, 4);
}

void
schedule_make(Schedule *schedule, uint64_t seed, int only)
{
	Setup	   *setup = &schedule->setup;
	int			how_often[THEMES];
	const ThemeSetup *theme;
	int			weights[WHATS];
	int			fate_weights[FATES];
	UidgenMicroseconds often;
	int			plot_step;
	int			first_node = 0;
	bool		by_guests = only >= BY_GUESTS;
	Lengths		lengths;

	only = Min(only % BY_GUESTS, THEMES);
	state = seed * UINT64_C(0x2545f4914f6cdd1d);
	for (int i = 0; i < THEMES; i++)
		how_often[i] = themes[i].often;
	theme = &themes[only == THEMES ? choose(how_often, THEMES) : only];
	make_setup(setup, theme);
	if (theme == &themes[OPERATIONS])
		make_usual(setup);
	/* Operators are in a hurry, or sleep over it. */
	lengths = theme == &themes[OPERATIONS] && seed % 2 ? SHORT : theme->lengths;
	memcpy(weights, theme->weights, sizeof(weights));
	memcpy(fate_weights, usual_fates, sizeof(fate_weights));
	if (setup->procedures[2] % 2)
		weights[OPERATE] *= 2;
	if (theme == &themes[EVERYTHING])
		vary(weights, DRAW_NUMBERS);
	vary(fate_weights, FATES);
	if (theme->segments && below(3) == 0)
		fate_weights[BY_OLD] = usual_fates[ANSWERED];
	if (setup->synchronous)
		fate_weights[UNCONFIRMED] = usual_fates[ANSWERED] / 4;
	often = make_length(setup, lengths);
	/* One joins only once. */
	plot_step = theme->local == 1 ? 0 : theme->plot_steps;
	schedule->nsteps = 20 + below(STEPS - 20);
	for (int i = 0; i < schedule->nsteps; i++)
	{
		Step	   *step = &schedule->steps[i];

		*step = (Step) {
			.what = choose(weights, WHATS),
			.fate = choose(fate_weights, FATES),
			.who = below(setup->nodes),
			.whom = below(setup->nodes),
			.count = (int) PICK(1, 1, 3, 8, 1000),
			.length = below(3) == 0 ? often : make_length(setup, lengths),
			.there = below(3) == 0 ? make_length(setup, lengths) / 2 : below((int) setup->unit / 4),
			.back = below(3) == 0 ? make_length(setup, lengths) / 2 : below((int) setup->unit / 4),
			.salt = mix(&state),
		};
		if (theme->plot_steps > 0 && plot_step == theme->plot_steps && below(8) == 0)
		{
			plot_step = 0;
			first_node = theme->local == 1 ? 0 : below(setup->nodes);
		}
		while (plot_step < theme->plot_steps && below(5) == 0)
			plot_step++;
		if (plot_step < theme->plot_steps)
		{
			step->what = theme->plot[plot_step].what;
			step->who = (first_node + theme->plot[plot_step].who) % setup->nodes;
			/* Of one segment, */
			if (theme->segments)
				step->whom = first_node;
			/* of one standby; and who goes far ahead, draws all that there is. */
			if (step->what == CATCH_UP || step->what == PROMOTE || (step->what == DRAW && theme->lengths == SHORT))
				step->count = 1000;
			/* What is restored may look as if it had only been restarted. */
			if (theme->segments && step->what == PROMOTE && below(3) == 0)
				step->what = RESTORE;
			step->there = step->back = below((int) setup->unit / 4);
			if (theme->has_fates)
				step->fate = theme->plot[plot_step].fate;
			if (theme->plot[plot_step].count > 0)
				step->count = theme->plot[plot_step].count;
			if (step->what == COPY)
				step->whom = (step->who + 1) % setup->nodes;
			plot_step++;
		}
	}

	/*
	 * From numbers of their own, so that what has no segments is not changed
	 * by them.
	 */
	state = seed * UINT64_C(0xd6e8feb86659fd93);
	if (theme->segments || (theme == &themes[EVERYTHING] && below(2)))
		setup->segments = 1 + below(SEGMENTS);
	for (int i = 0; i < setup->segments; i++)
		make_segment(&setup->rows[i], setup->synchronous);
	setup->duration = PICK(1, 2, 10) * setup->unit;
	for (int i = 0; i < schedule->nsteps && setup->segments > 0 && !theme->segments; i++)
		if (below(5) == 0)
			schedule->steps[i].what = below(12) == 0 ? CHANGE_SEGMENT : DRAW_NUMBERS;

	/* Likewise.  Guests do what nodes would. */
	state = seed * UINT64_C(0xa0761d6478bd642f);
	if (theme == &themes[OPERATIONS])
	{
		make_guests(schedule, false);
		setup->guest_lead = below(2) ? 8 * setup->unit : setup->max_lead;
		setup->guest_bound = 200;
	}
	else if (theme == &themes[CHANGING_SIDES] || theme == &themes[CHANGING_LENGTHS])
	{
		make_guests(schedule, below(2));
		if (below(2))
			setup->guest_lead = 8 * setup->unit;
		/* Each side has its part of the plot, or guests have all of it, or nodes. */
		for (int i = 0; i < schedule->nsteps; i++)
			if (theme == &themes[CHANGING_SIDES])
				schedule->steps[i].by_guest = schedule->steps[i].who % 2;
			else if (!schedule->steps[0].by_guest)
				schedule->steps[i].by_guest = false;
	}
	else if (by_guests || (!theme->segments && theme->local > 1 && below(2)))
		make_guests(schedule, by_guests || below(2));
}

/* ---- standbys ---- */

static void
look_at_standbys(void)
{
	world.registry.replayed = INT64_MAX;
	for (int i = 0; i < STANDBYS; i++)
		if (world.registry.standbys[i].there)
			world.registry.replayed = Min(world.registry.replayed, world.registry.standbys[i].replayed);
}

void
follow(int standby)
{
	registry_keep(&world.registry.standbys[standby]);
	look_at_standbys();
}

void
forget_standbys(void)
{
	for (int i = 0; i < STANDBYS; i++)
		registry_forget(&world.registry.standbys[i]);
	look_at_standbys();
}

/* ---- calls ---- */

static bool
is_for_segment(const Call *call)
{
	return call->kind == CALL_FETCH || call->kind == CALL_HAND_BACK;
}

static bool
is_of_guest(const Call *call)
{
	return call->kind == CALL_GUEST_ACQUIRE || call->kind == CALL_GUEST_RENEW || call->kind == CALL_GUEST_RELEASE;
}

static void
tell_call(const Call *call, const Reply *reply)
{
	const char *names[] = {"acquire", "renew", "release", "import", "fetch", "hand back", "acquire", "renew", "release"};

	if (reply->sqlstate[0])
		tell("    %s by %s %d: %s %s", names[call->kind], is_of_guest(call) ? "guest" : "node", call->node, reply->sqlstate, reply->text);
	else if (is_of_guest(call))
		tell("    %s by guest %d%s of worker id %d until tick %" PRId64 ", clock %.2f: %s %d, from tick %" PRId64 " to %" PRId64,
			 names[call->kind], call->node, call->to_old ? ", of the old primary," : "", call->worker, call->until - START_TICK,
			 in_ticks(reply->clock) - START_TICK, reply->granted ? "done" : "nothing", reply->worker,
			 reply->first - START_TICK, reply->last - START_TICK);
	else if (call->kind == CALL_FETCH)
		tell("    fetch by node %d%s of segment %d, knows %" PRId64 ": numbers %" PRId64 " to %" PRId64, call->node,
			 call->to_old ? ", of the old primary," : "", call->segment, call->wanted.highest, reply->range.first,
			 reply->range.last);
	else if (call->kind == CALL_HAND_BACK)
		tell("    node %d hands back segment %d from %" PRId64 " on: %s", call->node, call->segment,
			 call->rest.first_unused, reply->granted ? "done" : "not taken");
	else if (call->kind == CALL_IMPORT)
		tell("    import by node %d: done", call->node);
	else if (call->kind == CALL_RELEASE)
		tell("    release by node %d of worker id %d: %s", call->node, call->worker, reply->granted ? "done" : "not its own");
	else if (call->kind == CALL_RENEW)
		tell("    renew by node %d of worker id %d, to above tick %" PRId64 ", clock %.2f: %s %" PRId64, call->node,
			 call->worker, call->needed - START_TICK, in_ticks(reply->clock) - START_TICK,
			 reply->granted ? "to tick" : "not its own; quarantine",
			 (reply->granted ? reply->last : reply->word.quarantine_until) - START_TICK);
	else if (reply->granted)
		tell("    acquire by node %d, clock %.2f: worker id %d from tick %" PRId64 " to %" PRId64 ". %s", call->node,
			 in_ticks(reply->clock) - START_TICK, reply->worker, reply->first - START_TICK,
			 reply->last - START_TICK, reply->text);
	else
		tell("    acquire by node %d, clock %.2f, quarantine until tick %" PRId64 ": nothing%s", call->node,
			 in_ticks(reply->clock) - START_TICK, reply->word.quarantine_until - START_TICK,
			 reply->has_first ? ", too far ahead" : "; it has written down that it went back");
}

static void
count_events_of_guests(const Call *call, const Reply *reply)
{
	if (reply->sqlstate[0])
		events[EVENT_GUEST_REFUSED]++;
	else if (call->kind == CALL_GUEST_RENEW)
		events[reply->granted ? EVENT_GUEST_RENEWED : EVENT_GUEST_FENCED]++;
	else if (call->kind == CALL_GUEST_RELEASE)
		events[EVENT_GUEST_ENDED] += reply->granted;
	else if (reply->granted)
	{
		events[EVENT_GUEST_ACQUIRED]++;
		events[EVENT_GUEST_GOES_ON] += reply->worker == call->worker;
	}
	else
		events[EVENT_GUEST_WAITS]++;
}

static void
count_events(const Call *call, const Reply *reply)
{
	if (is_of_guest(call))
	{
		count_events_of_guests(call, reply);
		return;
	}
	/* For segments: judge_segment_reply(). */
	if (is_for_segment(call))
	{
		events[EVENT_TOO_LATE] += strcmp(reply->sqlstate, "57014") == 0;
		return;
	}
	if (reply->sqlstate[0])
	{
		events[EVENT_NONE_FREE] += strcmp(reply->sqlstate, "53400") == 0;
		events[EVENT_TOO_LATE] += strcmp(reply->sqlstate, "57014") == 0;
		events[EVENT_NOT_IMPORTED] += call->kind == CALL_IMPORT;
	}
	else if (call->kind == CALL_IMPORT)
		events[EVENT_IMPORTED]++;
	else if (call->kind == CALL_RELEASE)
		events[EVENT_RELEASED] += reply->granted;
	else if (call->kind == CALL_RENEW)
		events[EVENT_RENEWED] += reply->granted;
	else if (reply->granted)
	{
		events[EVENT_ACQUIRED]++;
		events[EVENT_BY_CLAIM] += strstr(reply->text, "goes on") != NULL;
		events[EVENT_OWN] += strstr(reply->text, "had it before") != NULL;
		events[EVENT_NEVER_USED] += strstr(reply->text, "never used") != NULL;
		events[EVENT_RECYCLED] += strstr(reply->text, "gave it up") != NULL;
		events[EVENT_LAST_RESORT] += reply->last_resort;
	}
	else if (reply->has_first)
		events[EVENT_CLAMPED]++;
	else
		events[EVENT_QUARANTINED]++;
}

/* The registry that is asked does what it is asked for. */
static void
run_call(const Call *call, bool confirmed, Reply *reply)
{
	static Database present;
	SegmentRow	before = {0};
	uint64_t	salt = (uint64_t) new_number() << 1;

	registry_use(call->registry);
	if (!call->to_old && (world.registry.down || world.registry.closed))
	{
		*reply = (Reply) {.sqlstate = "57P03"};
		tell("    the registry is away");
		return;
	}
	if (is_for_segment(call))
	{
		if (!call->to_old && !may_call_for_segment(call))
		{
			*reply = (Reply) {.sqlstate = "55P03"};
			return;
		}
		if (call->to_old)
			before = world.registry.old.rows[call->segment];
		else
			registry_segment(call->segment, &before);
	}
	if (call->to_old)
	{
		registry_keep(&present);
		registry_become(&world.registry.old);
		/* Nobody follows it that did. */
		world.registry.replayed = 0;
		registry_call(call, world.now + world.registry.old_clock, &world.registry.old_history, salt, reply);
		registry_keep(&world.registry.old);
		registry_become(&present);
		look_at_standbys();
	}
	else
	{
		registry_call(call, registry_clock(), &world.registry.history, salt, reply);
		world.clock_highest = Max(world.clock_highest, registry_clock() + LOOKS * world.setup.pace);
	}
	tell_call(call, reply);
	count_events(call, reply);
	if (is_for_segment(call))
		judge_segment_reply(call, reply, &before);
	if (reply->sqlstate[0])
		return;
	if (!call->to_old && (call->kind == CALL_ACQUIRE || call->kind == CALL_RENEW || is_of_guest(call)) && world.registry.quarantine_clock == 0)
		world.registry.quarantine_clock = reply->clock;
	for (int i = 0; i < world.setup.nodes; i++)
		world.nodes[i].memory.shown = Max(world.nodes[i].memory.shown, reply->clock);
	for (int i = 0; i < world.setup.guests; i++)
		world.guests[i].shown = Max(world.guests[i].shown, reply->clock);
	judge_reply(call, reply);
	note_commit(call, reply);
	if (world.setup.synchronous && confirmed && !call->to_old)
		follow(0);
}

/* May the primary that was left behind run the call? */
static bool
may_run_at_old(const Call *call)
{
	const Node *node = &world.nodes[call->node];

	if (is_of_guest(call))
		return guest_may_ask_old(&world.guests[call->node]);
	return is_for_segment(call) ? may_ask_old_for_numbers(node, call) : may_ask_old(node);
}

/* It is run later, or never. */
static void
give_up(const Call *call)
{
	if (world.nlate == LATE_CALLS)
		return;
	world.late[world.nlate] = *call;
	world.late[world.nlate++].late = true;
}

/* The call under way is nobody's any more. */
static void
drop_call(Node *node)
{
	if (node->keeper.progress == SENT)
		give_up(&node->keeper.call);
	if (node->keeper.progress != NOT_CALLING)
		keeper_gives_up(node);
}

/* A call goes its way, with the end that is meant for it.  What becomes of it for the sender: UNDER_WAY, ANSWERED,
 * ANSWER_LOST, UNCONFIRMED or KILLED. */
static Fate
carry(const Call *call, const Step *step, Fate fate, Reply *reply)
{
	UidgenMicroseconds timeout = world.setup.timeout;

	/* It takes too long. */
	if (step->there + step->back > timeout && (fate == ANSWERED || fate == UNCONFIRMED || fate == BY_OLD))
		fate = step->there > timeout ? GIVEN_UP : ANSWER_LOST;
	if (fate == UNDER_WAY)
		return UNDER_WAY;
	if (fate == NEVER_RUN || fate == GIVEN_UP)
	{
		if (fate == GIVEN_UP)
			give_up(call);
		world.now += timeout;
		return ANSWER_LOST;
	}
	world.now += Min(step->there, timeout);
	if (fate == REFUSED)
	{
		*reply = (Reply) {.sqlstate = "55P03"};
		tell("    refused by the registry");
		return ANSWERED;
	}
	if (call->to_old && !may_run_at_old(call))
		return ANSWER_LOST;
	run_call(call, fate != UNCONFIRMED, reply);
	world.now += Min(step->back, timeout - Min(step->there, timeout));
	if (call->to_old && reply->last_resort)
		fate = ANSWER_LOST;
	if (fate == KILLED)
		return KILLED;
	return reply->sqlstate[0] || (fate != ANSWER_LOST && fate != UNCONFIRMED) ? ANSWERED : fate;
}

/* That of a keeper. */
static void
make_call(Node *node, const Step *step, Fate fate)
{
	fate = carry(&node->keeper.call, step, fate, &node->keeper.reply);
	if (fate == KILLED)
	{
		tell("    the keeper is killed");
		keeper_gives_up(node);
	}
	else if (fate == ANSWERED)
		keeper_hear(node);
	else if (fate != UNDER_WAY)
		keeper_hear_nothing(node, fate == UNCONFIRMED);
}

/* The node has waited for too long. */
static void
look_at_timeout(Node *node)
{
	if (node->keeper.progress != NOT_CALLING &&
		node_boot(node) - node->keeper.call.boot_before > world.setup.timeout)
	{
		drop_call(node);
		keeper_hear_nothing(node, false);
	}
}

/* What is meant for the step becomes of its first call. */
static void
attempt(Node *node, const Step *step)
{
	Fate		fate = step->fate;

	look_at_timeout(node);
	if (node->keeper.progress != NOT_CALLING)
		return;
	keeper_serve(node, fate == BY_OLD && may_ask_old(node));
	while (node->keeper.progress != NOT_CALLING)
	{
		make_call(node, step, fate);
		if (fate == UNDER_WAY)
			break;
		fate = ANSWERED;
	}
}

/* The same for numbers.  Is the call answered? */
static bool
attempt_numbers(Node *node, int segment, const Step *step, Fate fate)
{
	look_at_timeout(node);
	if (node->keeper.progress != NOT_CALLING)
		return false;
	node->sqlstate[0] = '\0';
	if (!keeper_fetch(node, segment, fate == BY_OLD && world.registry.old.there))
		return true;
	make_call(node, step, fate);
	return node->keeper.progress == NOT_CALLING && node->sqlstate[0] == '\0';
}

/* n numbers, in calls of one kind; of all attempts the first one ends as is meant for the step. */
static bool
draw_numbers(Node *node, int segment, uint64_t n, uint64_t each, UidgenSegmentKind kind, const Step *step)
{
	Fate		fate = step->fate;
	int			attempts = 0;

	while (n > 0)
	{
		bool		fetch;
		uint64_t	count = Min(each, n);
		UidgenSegmentResult result = node_take_numbers(node, segment, count, kind, &fetch);

		if (result == UIDGEN_SEGMENT_TOO_LONG)
			return true;
		if (result == UIDGEN_SEGMENT_GOOD)
			n -= kind == UIDGEN_SEGMENT_BLOCK ? count : 1;
		if (!fetch)
			continue;
		if (result != UIDGEN_SEGMENT_GOOD && attempts == 3)
			return false;
		if (attempts < 3)
		{
			bool		answered = attempt_numbers(node, segment, step, fate);

			if (!answered && result != UIDGEN_SEGMENT_GOOD)
				return false;
			attempts++;
			fate = ANSWERED;
		}
	}
	return true;
}

bool
draws_number_well(Node *node, int segment)
{
	Step		step = {.fate = ANSWERED};

	registry_use(node->registry);
	if (node->keeper.progress != NOT_CALLING)
		keeper_hear_nothing(node, false);
	node->failure = "";
	/* The first call may come too late, by the clock that was known. */
	return draw_numbers(node, segment, 1, 1, UIDGEN_SEGMENT_REST, &step) ||
		draw_numbers(node, segment, 1, 1, UIDGEN_SEGMENT_REST, &step);
}

bool
draws_well(Node *node)
{
	Step		step = {.fate = ANSWERED};

	if (node->keeper.progress != NOT_CALLING)
		keeper_hear_nothing(node, false);
	for (int i = 0; i < 2; i++)
	{
		Drawn		drawn = node_draw(node, 1);

		if (drawn == DRAWN_ALL || drawn == DRAWN_AND_RENEW)
			return true;
		if (drawn == DRAWN_TOO_FAR)
		{
			node->failure = "ids would run too far ahead of the clock";
			return false;
		}
		attempt(node, &step);
	}
	return false;
}

/* ---- nodes ---- */

static bool
lives_are_left(void)
{
	return world.lives < LIVES;
}

void
start_again(Node *node)
{
	note_end(node->memory.life);
	node_start(node);
	for (int i = 0; i < world.setup.nodes; i++)
		if (&world.nodes[i] != node && world.nodes[i].identity == node->identity)
			node->memory.had_twin = true;
}

/* Is it still its own registry that it issues ids by? */
static bool
is_local(const Node *node)
{
	return node->memory.lease.held && !uidgen_grant_is_of_fleet(&node->memory.lease.grant);
}

void
node_hands_back(Node *node, const Step *step)
{
	Reply		reply;

	drop_call(node);
	if (!node->memory.lease.held)
		return;
	keeper_release(node);
	if (node->keeper.progress == NOT_CALLING)
		return;
	switch (step->fate)
	{
		case NEVER_RUN:
		case REFUSED:
			break;
		case GIVEN_UP:
		case UNDER_WAY:
			give_up(&node->keeper.call);
			break;
		default:
			run_call(&node->keeper.call, step->fate != UNCONFIRMED, &reply);
	}
	node->keeper.progress = NOT_CALLING;
}

/* What was not drawn. */
static void
hand_back_numbers(Node *node, const Step *step)
{
	Keeper	   *keeper = &node->keeper;

	drop_call(node);
	keeper->call.to_old = false;
	for (int i = 0; i < world.setup.segments; i++)
	{
		if (!keeper_hand_back(node, i))
			continue;
		keeper->call.to_old = step->fate == BY_OLD && may_run_at_old(&keeper->call);
		if (step->fate == GIVEN_UP || step->fate == UNDER_WAY)
			give_up(&keeper->call);
		else if (step->fate != NEVER_RUN && step->fate != REFUSED)
			run_call(&keeper->call, step->fate != UNCONFIRMED, &keeper->reply);
		if (step->fate != ANSWERED && step->fate != BY_OLD)
		{
			keeper_hear_nothing(node, step->fate == UNCONFIRMED);
			return;
		}
		keeper_hear(node);
	}
}

static void
copy_machine(Node *from, Node *to)
{
	if (from == to || world.registry.ntwins == TWINS || !lives_are_left() || has_twin(from->memory.life))
		return;
	/* A copy of the local registry would go on with it. */
	if (is_local(from))
		return;
	tell("node %d becomes a copy of node %d, with its memory", (int) (to - world.nodes), (int) (from - world.nodes));
	events[EVENT_COPIED]++;
	drop_call(to);
	note_end(to->memory.life);
	if (from->keeper.progress != NOT_CALLING)
		keeper_hear_nothing(from, false);
	for (int i = 0; i < world.nlate; i++)
		if (world.late[i].life == from->memory.life)
			world.late[i].life = -1;
	from->memory.had_twin = from->memory.copied = true;
	*to = *from;
	to->memory.life = world.lives++;
	note_twins(&from->memory, to->memory.life);
	judge_twins(from->memory.life, to->memory.life);
	judge_copied_ranges(&from->memory, to->memory.life);
}

static void
copy_directory(Node *from, Node *to)
{
	if (from == to || !lives_are_left())
		return;
	tell("node %d becomes a copy of node %d's data directory", (int) (to - world.nodes), (int) (from - world.nodes));
	drop_call(to);
	to->identity = from->identity;
	from->memory.had_twin = true;
	start_again(to);
}

static void
pass(UidgenMicroseconds length)
{
	world.now += length;
}

/* ---- guests ---- */

/* The call under way is nobody's any more. */
static void
guest_drops_call(Guest *guest)
{
	if (guest->progress == SENT)
		give_up(&guest->call);
	guest->progress = NOT_CALLING;
}

/* Does the last answer say to ask again at once? */
static bool
guest_is_to_come_again(const Guest *guest)
{
	const Reply *reply = &guest->reply;

	return guest->call.kind == CALL_GUEST_ACQUIRE && !reply->granted && !reply->has_first && !reply->sqlstate[0];
}

static void
guest_attempt(Guest *guest, const Step *step)
{
	Fate		fate;

	if (guest->progress != NOT_CALLING && guest_waits_no_longer(guest))
	{
		guest_drops_call(guest);
		guest_hear_nothing(guest);
	}
	if (guest->progress != NOT_CALLING || !guest_is_due(guest))
		return;
	guest_calls(guest, step->fate == BY_OLD && guest_may_ask_old(guest));
	fate = carry(&guest->call, step, (Fate) step->fate, &guest->reply);
	if (fate == ANSWERED || fate == UNCONFIRMED)
		guest_hear(guest, fate == ANSWERED);
	else if (fate != UNDER_WAY)
		guest_hear_nothing(guest);
	/* The registry went back, and has written that down. */
	if (fate == ANSWERED && !guest->call.to_old && guest_is_to_come_again(guest))
	{
		guest_calls(guest, false);
		run_call(&guest->call, true, &guest->reply);
		guest_hear(guest, true);
		if (guest_is_to_come_again(guest))
			fail("history", "guest %d is to ask again, and again", (int) (guest - world.guests));
	}
}

bool
guest_draws_well(Guest *guest)
{
	Step		step = {.fate = ANSWERED};

	if (guest->progress != NOT_CALLING)
		guest_hear_nothing(guest);
	for (int i = 0; i < 2; i++)
	{
		if (guest_draw(guest, 1))
			return true;
		guest_attempt(guest, &step);
	}
	return guest_draw(guest, 1);
}

/* The process ends, and another one begins. */
static void
guest_ends(Guest *guest, const Step *step, bool closes)
{
	Reply		reply;

	guest_drops_call(guest);
	if (closes && guest_closes(guest) &&
		carry(&guest->call, step, step->fate == BY_OLD ? ANSWERED : (Fate) step->fate, &reply) == UNDER_WAY)
		give_up(&guest->call);
	guest->progress = NOT_CALLING;
	note_end(guest->life);
	if (closes && is_broken("guest_release_forgets_nothing"))
	{
		guest->doubt = true;
		guest->causes |= CAUSE_RELEASED;
	}
	else
		guest_start(guest);
}

static void
guest_copies(Guest *from, Guest *to)
{
	if (from == to || world.registry.ntwins == TWINS || !lives_are_left() || has_twin(from->life))
		return;
	tell("guest %d becomes a copy of guest %d's memory", (int) (to - world.guests), (int) (from - world.guests));
	events[EVENT_COPIED]++;
	guest_drops_call(to);
	note_end(to->life);
	if (from->progress != NOT_CALLING)
		guest_hear_nothing(from);
	from->had_twin = true;
	*to = *from;
	to->life = world.lives++;
	note_guest_twins(from, to->life);
	judge_twins(from->life, to->life);
}

/* A step of a guest, where it is one that nodes take. */
static bool
take_by_guest(const Step *step)
{
	int			who = step->who % world.setup.guests;
	Guest	   *guest = &world.guests[who];

	switch ((What) step->what)
	{
		case DRAW:
			tell("guest %d draws %d, clock %.2f", who, step->count, in_ticks(registry_clock()) - START_TICK);
			(void) guest_draw(guest, step->count);
			guest_attempt(guest, step);
			(void) guest_draw(guest, step->count);
			break;
		case GO_ON:
			if (guest->progress == NOT_CALLING)
				break;
			tell("guest %d's call goes on, clock %.2f", who, in_ticks(registry_clock()) - START_TICK);
			if (guest->progress == DONE)
				guest_hear(guest, true);
			else if (guest->call.to_old && !guest_may_ask_old(guest))
				guest_hear_nothing(guest);
			else
			{
				run_call(&guest->call, true, &guest->reply);
				guest->progress = DONE;
			}
			break;
		case OUTAGE:
			if (guest->ntokens > 1)
				break;
			tell("the registry does not answer guest %d", who);
			guest_drops_call(guest);
			for (int i = 0; i < 12; i++)
			{
				guest_calls(guest, false);
				pass(world.setup.unit / 4);
				guest_hear_nothing(guest);
			}
			break;
		case CRASH:
		case NAMESAKE:
		case STOP:
		case END_KEEPER:
			if (!lives_are_left())
				break;
			tell("guest %d ends, and another one begins, clock %.2f", who, in_ticks(registry_clock()) - START_TICK);
			guest_ends(guest, step, step->what == STOP || step->what == END_KEEPER);
			break;
		case COPY:
			guest_copies(guest, &world.guests[step->whom % world.setup.guests]);
			break;
		case KILL_KEEPER:
			tell("the connection of guest %d is lost", who);
			if (guest->progress == NOT_CALLING)
				break;
			guest_drops_call(guest);
			guest_hear_nothing(guest);
			break;
		case PAUSE:
			tell("guest %d's machine is paused for %.2f ticks%s", who, in_ticks(step->length), step->count > 1 ? "" : ", and its wall clock is set then");
			pass(step->length);
			guest->monotonic -= step->length;
			if (step->count > 1)
			{
				/* It cannot know. */
				guest->wall -= step->length;
				guest->ran += step->length;
				guest->reply.ran += step->length;
			}
			break;
		case SET_WALL:
			tell("guest %d's wall clock is set", who);
			guest->wall += (step->count > 1 ? 1 : -1) * step->length;
			break;
		default:
			return false;
	}
	return true;
}

/* ---- the registry ---- */

void
set_clock(UidgenMicroseconds clock)
{
	world.registry.clock = Max(clock, world.registry.clock_floor) - world.now;
	tell("    its clock shows %.2f", in_ticks(registry_clock()) - START_TICK);
}

bool
go_back(Way way, const Database *database, UidgenMicroseconds behind)
{
	UidgenMicroseconds clock = registry_clock();
	UidgenMicroseconds claims_ended = claims_end();
	UidgenMicroseconds least_clock;
	History		next = way == BY_BACKUP ? database->history : world.registry.history;
	int64_t		replayed = database->replayed;

	if (!database->there || !may_go_back(database->commits, &least_clock) || !ranges_may_be_lost(database))
		return false;
	tell(way == BY_PROMOTION ? "the registry fails over, and loses %d commits" :
		 way != BY_DATABASE ? "the registry is restored, and loses %d commits" :
		 "the registry is another database now, which lacks %d commits",
		 world.registry.ncommits - database->commits);
	events[EVENT_WENT_BACK]++;
	registry_forget(&world.registry.old);
	if (way == BY_PROMOTION)
	{
		registry_keep(&world.registry.old);
		world.registry.old_clock = world.registry.clock;
		world.registry.old_history = world.registry.history;
	}
	if (way == BY_DATABASE)
		next.database = ++world.histories;
	else
	{
		next.started = ++world.histories;
		next.timeline += way == BY_PROMOTION || (way == BY_RESTORE && world.histories % 2);
	}
	world.registry.history = next;
	registry_become(database);
	world.registry.first_guest = database->first_guest;
	note_lost(database->commits);
	note_ranges_lost(database, &next);
	world.registry.calls_before = world.ncalls;
	for (int i = 0; i < STANDBYS; i++)
		if (world.registry.standbys[i].commits > world.registry.ncommits)
			registry_forget(&world.registry.standbys[i]);
	look_at_standbys();
	world.registry.quarantine_clock = 0;
	set_clock(Max(least_clock, clock - behind));
	note_old(claims_ended);
	world.registry.down = false;
	procedures_lost(replayed);
	return true;
}

/* ---- the steps ---- */

static void
take(const Step *step)
{
	Node	   *node = &world.nodes[step->who];
	int			sign = step->count > 1 ? 1 : -1;
	Reply		reply;
	Drawn		drawn;

	world.salt = step->salt;
	if (world.setup.guests > 0 && step->by_guest)
		registry_use(world.guests[step->who % world.setup.guests].registry);
	else if (step->what == CATCH_UP || step->what == PROMOTE || step->what == RESTART)
		registry_use(world.others[1].history.database > 0 || world.present > 0 ? (int) (step->salt >> 9 & 1) : 0);
	else
		registry_use(node->registry);
	if (node->left && !step->by_guest && step->what != PASS && step->what != OPERATE)
		return;
	if (step->by_guest && take_by_guest(step))
		return;
	switch ((What) step->what)
	{
		case DRAW:
			tell("node %d draws %d, clock %.2f, its own %" PRId64, step->who, step->count,
				 in_ticks(registry_clock()) - START_TICK, node_tick(node) - START_TICK);
			drawn = node_draw(node, step->count);
			/* A node that is to join need not have used up what it has. */
			if (drawn == DRAWN_NO_GRANT || drawn == DRAWN_AND_RENEW || is_local(node))
			{
				attempt(node, step);
				(void) node_draw(node, step->count);
			}
			break;
		case PASS:
			tell("%.2f ticks pass", in_ticks(step->length));
			pass(step->length);
			break;
		case GO_ON:
			look_at_timeout(node);
			if (node->keeper.progress == NOT_CALLING)
				break;
			tell("node %d's call goes on, clock %.2f", step->who, in_ticks(registry_clock()) - START_TICK);
			if (node->keeper.progress == SENT)
			{
				if (node->keeper.call.to_old && !may_run_at_old(&node->keeper.call))
				{
					keeper_hear_nothing(node, false);
					break;
				}
				run_call(&node->keeper.call, true, &node->keeper.reply);
				node->keeper.progress = DONE;
				if (node->keeper.call.to_old && node->keeper.reply.last_resort)
					keeper_hear_nothing(node, false);
			}
			else
				keeper_hear(node);
			break;
		case RUN_LATE:
			if (world.nlate == 0)
				break;
			tell("a call that was given up runs, clock %.2f", in_ticks(registry_clock()) - START_TICK);
			events[EVENT_LATE]++;
			{
				int			i = step->count % world.nlate;
				Call		call = world.late[i];

				world.late[i] = world.late[--world.nlate];
				call.to_old = false;
				run_call(&call, true, &reply);
			}
			break;
		case OUTAGE:
			/* One after the other: there is not room for all tokens. */
			if (node->memory.node.ntokens > 1)
				break;
			tell("the registry does not answer node %d", step->who);
			for (int i = 0; i < 12; i++)
			{
				look_at_timeout(node);
				if (node->keeper.progress == NOT_CALLING)
					keeper_serve(node, false);
				if (node->keeper.progress == NOT_CALLING)
					break;
				pass(world.setup.unit / 4);
				keeper_hear_nothing(node, false);
			}
			break;
		case CRASH:
			if (!lives_are_left())
				break;
			tell("node %d crashes, and starts again", step->who);
			events[EVENT_CRASHED]++;
			drop_call(node);
			start_again(node);
			break;
		case KILL_KEEPER:
			tell("node %d's keeper is killed", step->who);
			drop_call(node);
			break;
		case STOP:
			if (!lives_are_left())
				break;
			tell("node %d is stopped, and starts again, clock %.2f", step->who, in_ticks(registry_clock()) - START_TICK);
			node_hands_back(node, step);
			hand_back_numbers(node, step);
			start_again(node);
			break;
		case END_KEEPER:
			tell("node %d's keeper is ended, clock %.2f", step->who, in_ticks(registry_clock()) - START_TICK);
			node_hands_back(node, step);
			hand_back_numbers(node, step);
			break;
		case COPY:
			copy_machine(node, &world.nodes[step->whom]);
			break;
		case NAMESAKE:
			copy_directory(node, &world.nodes[step->whom]);
			break;
		case PAUSE:
			tell("node %d is paused for %.2f ticks%s", step->who, in_ticks(step->length), sign > 0 ? "" : ", and its wall clock is set then");
			pass(step->length);
			node->boot -= step->length;
			if (sign > 0)
				node->wall -= step->length;
			break;
		case SET_WALL:
			tell("node %d's wall clock is set by %.2f ticks", step->who, sign * in_ticks(step->length));
			node->wall += sign * step->length;
			break;
		case SET_CLOCK:
			tell("the registry's clock is set by %.2f ticks", sign * in_ticks(step->length));
			set_clock(registry_clock() + sign * step->length);
			break;
		case RESTART:
			tell("the registry restarts");
			events[EVENT_RESTARTED]++;
			world.registry.history.started = ++world.histories;
			world.registry.down = false;
			pass(step->there);
			break;
		case CATCH_UP:
			if (world.setup.synchronous || world.registry.down || world.registry.closed)
				break;
			tell("standby %d catches up", step->count % STANDBYS);
			follow(step->count % STANDBYS);
			break;
		case PROMOTE:
		case RESTORE:
		case CHANGE_DATABASE:
			/* The clock is behind, by anything if nothing can be lost. */
			go_back(step->what == PROMOTE ? BY_PROMOTION : step->what == RESTORE ? BY_RESTORE : BY_DATABASE,
					&world.registry.standbys[world.setup.synchronous ? 0 : step->count % STANDBYS],
					step->whom % 2 == 0 ? 0 : world.setup.synchronous ? 4 * step->length :
					step->length + world.setup.clock_slack);
			break;
		case DRAW_NUMBERS:
			if (world.setup.segments == 0)
				break;
			{
				/* One by one, a batch, or blocks. */
				const uint64_t each[] = {1, 1, 1000, 1 + step->salt / 8 % 12};
				int			way = step->salt % 4;
				int			segment = step->whom % world.setup.segments;
				uint64_t	n = (uint64_t) Min(step->count, 40);

				tell("node %d draws %" PRIu64 " numbers of segment %d%s", step->who, way == 3 ? each[way] : n, segment,
					 way == 3 ? ", in a row" : "");
				draw_numbers(node, segment, way == 3 ? each[way] : n, each[way],
							 way == 3 ? UIDGEN_SEGMENT_BLOCK : UIDGEN_SEGMENT_REST, step);
			}
			break;
		case CHANGE_SEGMENT:
			if (world.setup.segments == 0)
				break;
			{
				static const char *const ways[] = {"raise", "raise", "steps", "drop", "create", "create", "restart", "restart"};
				const char *way = ways[step->salt % 8];

				if (strcmp(way, "restart") == 0 && step->salt / 8 % 2 == 0)
					way = "anew";
				tell("the owner changes segment %d: %s %d", step->whom % world.setup.segments, way, 1 + step->count % 10);
				registry_owner(step->whom % world.setup.segments, way, 1 + step->count % 10);
				if (world.setup.synchronous)
					follow(0);
			}
			break;
		case CHANGE_SIDES:
		case CHANGE_LENGTHS:
			if (world.setup.guests == 0)
				break;
			{
				UidgenMicroseconds shortest = 8 * world.setup.unit;
				UidgenMicroseconds lead = step->what == CHANGE_SIDES ? 0 : shortest + (world.setup.max_lead - shortest) * (int64_t) (step->salt % 4) / 3;
				UidgenMicroseconds guest_lead = lead == 0 ? 0 : shortest + (lead - shortest) * (int64_t) (step->salt / 4 % 3) / 2;
				int			first = lead > 0 ? 0 : 1 + (int) (step->salt % (uint64_t) (world.setup.max_worker + 1 + world.setup.guest_workers));

				world.changes = true;
				registry_changes(first, lead, guest_lead);
				if (lead == 0)
					tell("the owner wants worker ids from %d on to be for guests: from %d", first, world.registry.first_guest);
				else
					tell("the owner changes max_lead to %.3f ticks, guest_lead to %.3f", in_ticks(lead), in_ticks(guest_lead));
				if (world.setup.synchronous)
					follow(0);
			}
			break;
		case OPERATE:
			procedures_go_on(step);
			break;
		case WHATS:
			break;
	}
}

void
schedule_run(const Schedule *schedule)
{
	const Setup *setup = &schedule->setup;

	for (int i = 0; i < REGISTRIES; i++)
	{
		world.registry = i == world.present ? world.registry : world.others[i];
		registry_forget(&world.away[i]);
		registry_forget(&world.registry.old);
		registry_forget(&world.registry.backup);
		forget_standbys();
		world.others[i] = world.registry;
	}
	world = (World) {
		.setup = *setup,
		.now = START_TICK * setup->unit,
		.salt = 1,
		.registry.history = {.cluster = 1, .timeline = 1, .started = 1, .database = 1},
		.histories = 1,
	};
	world.clock_highest = world.registry.quarantine_clock = world.now;
	for (int i = 0; i < SEGMENTS; i++)
		world.registry.beyond[i] = setup->rows[i].last_value;
	judge_begin();
	ranges_begin();
	tell("%d nodes, worker ids 0 to %d, max_lead %.3f ticks, clock_slack %.3f, window %" PRId64 ", max_ahead %" PRId64
		 ", max_burst %" PRId64 "%s%s", setup->nodes, setup->max_worker, in_ticks(setup->max_lead),
		 in_ticks(setup->clock_slack), setup->window, setup->ahead, setup->burst,
		 setup->synchronous ? ", synchronous" : "", setup->new_fleet ? "" : ", in quarantine");
	if (setup->guests > 0)
		tell("%d guests, %d worker ids for them, of which they may have %d, guest_lead %.3f ticks", setup->guests,
			 setup->guest_workers, setup->guest_bound, in_ticks(setup->guest_lead));
	for (int i = 0; i < setup->segments; i++)
		tell("segment %d from %" PRId64 ", steps %" PRId64 " to %" PRId64 ", failover_gap %" PRId64, i,
			 setup->rows[i].last_value + 1, setup->rows[i].min_step, setup->rows[i].max_step, setup->rows[i].failover_gap);
	registry_begin(setup->new_fleet);
	world.registry.first_guest = setup->max_worker + 1;
	follow(0);
	for (int i = 0; i < setup->nodes; i++)
	{
		Node	   *node = &world.nodes[i];

		node->identity = i;
		node->boot = -setup->unit * START_TICK / 2;
		node->wall = i < setup->local ? 0 : setup->walls[i];
		node_start(node);
		if (i < setup->local)
			node_had_local_grant(node, Min(i, setup->max_worker));
	}
	for (int i = 0; i < setup->guests; i++)
	{
		world.guests[i].monotonic = -setup->unit * START_TICK / 2;
		world.guests[i].wall = setup->walls[i];
		guest_start(&world.guests[i]);
	}
	procedures_begin();
	for (int i = 0; i < schedule->nsteps; i++)
		take(&schedule->steps[i]);
	world.nlate = 0;
	if (setup->ends_well && procedures_end_well())
	{
		judge_served();
		judge_numbers_served();
	}
}
