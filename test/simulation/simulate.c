/*
 * simulate.c
 *	  Plays fleets by the thousand, and finds a short one where something does not hold.
 *
 *	simulate [OPTION]... CONNINFO
 *
 *	--seed N		begin with this schedule (1)
 *	--schedules N	so many (300)
 *	--theme N		all of this theme: see simulation.h; + 256: of guests
 *	--tell			say what happens in each
 *	--procedures FOLDER	what people do (test/procedures)
 *	--operations	all of the theme of these
 *	--cover N		each of their steps was broken off, and lost, N times; else end with 1
 *	--break RULE	without this rule: end with the first schedule that misses it, of as many
 *					as it may take
 *	--whole			leave what fails as long as it is
 *	--list			name the rules, and say how many
 *
 * The database has the registry's script and setup.sql.  Exit status: 0 all holds, or with
 * --break something does not; 1 otherwise.  What does not hold is told in words, with the
 * fewest steps for it.
 */
#include "simulation.h"

#include <getopt.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After so many, a change that breaks much has shown it. */
#define FAILURES 5

bool		telling;
int64_t		events[EVENTS];

static const char *const event_names[EVENTS] = {
	[EVENT_CALLS] = "calls",[EVENT_ACQUIRED] = "acquired",[EVENT_BY_CLAIM] = "by a claim",
	[EVENT_OWN] = "own before",[EVENT_NEVER_USED] = "never used",[EVENT_RECYCLED] = "recycled",
	[EVENT_LAST_RESORT] = "last resort",[EVENT_QUARANTINED] = "quarantine written",
	[EVENT_CLAMPED] = "too far ahead",[EVENT_NONE_FREE] = "none free",[EVENT_TOO_LATE] = "too late",
	[EVENT_RENEWED] = "renewed",[EVENT_FENCED] = "fenced",[EVENT_RELEASED] = "released",
	[EVENT_UNANSWERED] = "unanswered",[EVENT_LATE] = "run late",[EVENT_OLD_ANSWER] = "older timeline",
	[EVENT_OLD_USED] = "old primary used",[EVENT_TAUGHT] = "taught",[EVENT_STEP_BACK] = "steps back followed",
	[EVENT_NOT_FOLLOWED] = "leaps not followed",[EVENT_FOLLOWED] = "followed after all",
	[EVENT_IMPORTED] = "brought along",[EVENT_NOT_IMPORTED] = "not brought along",[EVENT_RESTARTED] = "restarts",[EVENT_WENT_BACK] = "went back",
	[EVENT_LOST_GRANT] = "with grants lost",[EVENT_COPIED] = "copies of memory",[EVENT_CRASHED] = "crashes",
	[EVENT_IDS] = "ids",[EVENT_FETCHED] = "ranges fetched",[EVENT_GAP] = "gaps",[EVENT_EVIDENCE] = "by evidence",
	[EVENT_LOST_RANGE] = "with ranges lost",[EVENT_LOST_ALL] = "all that the gap allows",[EVENT_USED_UP] = "used up",
	[EVENT_NO_SEGMENT] = "no segment",[EVENT_NO_ROOM] = "no room for a gap",[EVENT_ELSEWHERE] = "begun below",[EVENT_DISCARDED] = "discarded",[EVENT_HANDED_BACK] = "handed back",
	[EVENT_NOT_TAKEN_BACK] = "not taken back",[EVENT_OLD_RANGE] = "old primary's numbers",[EVENT_LOST_RELEASE] = "releases lost",[EVENT_NUMBERS] = "numbers",
	[EVENT_GUEST_ACQUIRED] = "acquired by guests",[EVENT_GUEST_GOES_ON] = "who go on",[EVENT_GUEST_RENEWED] = "renewed by guests",
	[EVENT_GUEST_FENCED] = "guests fenced",[EVENT_GUEST_WAITS] = "guests too far ahead",[EVENT_GUEST_REFUSED] = "guests refused",
	[EVENT_GUEST_UNANSWERED] = "guests unanswered",[EVENT_GUEST_ENDED] = "guests ended",[EVENT_GUEST_IDS] = "ids of guests",[EVENT_OPERATED] = "steps of procedures",
};

/* What is told later, or not at all. */
static bool later;
static char held_back[16384];
static size_t nheld;

void
tell(const char *format,...)
{
	va_list		args;

	if (!telling)
		return;
	va_start(args, format);
	if (!later)
	{
		printf("# ");
		vprintf(format, args);
		puts("");
	}
	else if (nheld < sizeof(held_back) - 400)
	{
		nheld += sprintf(held_back + nheld, "# ");
		nheld += vsnprintf(held_back + nheld, 390, format, args);
		nheld += sprintf(held_back + nheld, "\n");
	}
	va_end(args);
}

void
tell_later(void)
{
	later = true;
	nheld = 0;
}

void
tell_now(bool all)
{
	if (later && all)
		fwrite(held_back, 1, nheld, stdout);
	later = false;
}

/* ---- one schedule ---- */

static sigjmp_buf end_of_schedule;
static const char *promise;		/* that does not hold */
static char failure[300];

void
fail(const char *what, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
	promise = what;
	siglongjmp(end_of_schedule, 1);
}

/* An assertion of the rules themselves. */
static void
handle_abort(int signal)
{
	(void) signal;
	promise = "assertion";
	strcpy(failure, "see above");
	siglongjmp(end_of_schedule, 1);
}

/* Does all hold? */
static bool
holds(const Schedule *schedule)
{
	promise = NULL;
	if (sigsetjmp(end_of_schedule, 1) == 0)
		schedule_run(schedule);
	tell_now(true);
	if (promise)
		tell("%s: %s", promise, failure);
	return promise == NULL;
}

/* ---- a short one ---- */

static void
drop(const Schedule *from, int first, int count, Schedule *to)
{
	to->setup = from->setup;
	memcpy(to->steps, from->steps, first * sizeof(Step));
	memcpy(to->steps + first, from->steps + first + count, (from->nsteps - first - count) * sizeof(Step));
	to->nsteps = from->nsteps - count;
}

/* Leave out what is not needed for the same to fail: many steps first, then one by one. */
static void
shorten(Schedule *schedule)
{
	const char *same = promise;
	Schedule	shorter;
	bool		again = true;

	for (int count = schedule->nsteps / 2; count > 0; count = again ? count : count / 2)
	{
		again = false;
		for (int first = schedule->nsteps - count; first >= 0;)
		{
			drop(schedule, first, count, &shorter);
			if (!holds(&shorter) && promise == same)
			{
				*schedule = shorter;
				again = true;
			}
			first -= again ? Min(count, Max(first, 1)) : count;
			if (first > schedule->nsteps - count)
				first = schedule->nsteps - count;
		}
		if (count > 1)
			again = false;
	}
}

/* ---- all of them ---- */

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},
		{"schedules", required_argument, NULL, 'n'},
		{"theme", required_argument, NULL, 'm'},
		{"tell", no_argument, NULL, 't'},
		{"break", required_argument, NULL, 'b'},
		{"procedures", required_argument, NULL, 'p'},
		{"cover", required_argument, NULL, 'c'},
		{"operations", no_argument, NULL, 'o'},
		{"whole", no_argument, NULL, 'w'},
		{"list", no_argument, NULL, 'l'},
		{0}
	};
	uint64_t	seed = 1;
	int			theme = THEMES;
	int64_t		schedules = 0;
	int64_t		enough = 300;
	int64_t		cover = 0;
	const char *rule = NULL;
	bool		tells = false;
	bool		whole = false;
	int64_t		i;
	int			failed = 0;
	int			option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option)
		{
			case 's':
				seed = strtoull(optarg, NULL, 10);
				break;
			case 'n':
				schedules = strtoll(optarg, NULL, 10);
				break;
			case 'm':
				theme = atoi(optarg);
				break;
			case 't':
				tells = true;
				break;
			case 'b':
				rule = optarg;
				break;
			case 'p':
				procedures_read(optarg);
				break;
			case 'o':
				theme = OPERATIONS;
				break;
			case 'c':
				cover = strtoll(optarg, NULL, 10);
				procedures_covered = true;
				break;
			case 'w':
				whole = true;
				break;
			case 'l':
				list_broken();
				return 0;
			default:
				return 2;
		}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGABRT, handle_abort);
	registry_connect(optind < argc ? argv[optind] : "");
	if (rule && !choose_broken(rule, &theme, &enough))
	{
		fprintf(stderr, "there is no rule %s\n", rule);
		return 2;
	}

	if (schedules == 0)
		schedules = enough;
	for (i = 0; i < schedules && failed < (rule ? 1 : FAILURES); i++)
	{
		static Schedule schedule;

		schedule_make(&schedule, seed + (uint64_t) i, theme);
		telling = tells;
		if (holds(&schedule))
			continue;
		failed++;
		printf("# schedule %" PRIu64 " (%" PRId64 "): %s: %s\n", seed + (uint64_t) i, i + 1, promise, failure);
		if (tells || whole)
			continue;
		shorten(&schedule);
		printf("# shortened to %d steps:\n", schedule.nsteps);
		telling = true;
		(void) holds(&schedule);
	}
	registry_close();
	printf("# %" PRId64 " schedules, %d failed", i, failed);
	for (int event = 0; event < EVENTS; event++)
		printf(", %" PRId64 " %s", events[event], event_names[event]);
	puts("");
	if (!procedures_report(cover))
		return 1;
	return (rule != NULL) == (failed > 0) ? 0 : 1;
}
