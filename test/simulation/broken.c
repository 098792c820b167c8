/*
 * broken.c
 *	  The rules that the simulation can do without, so that one sees that it misses them.
 *
 * The registry's are taken out of its functions, in the database that the simulation runs
 * in; the node's are left out where it is played.  R1 to R7 are those of docs/design.md,
 * section 6.
 */
#include "simulation.h"

#include <stdio.h>
#include <string.h>

typedef struct Rule
{
	const char *name;
	const char *function;		/* of the registry's; NULL: the node's */
	const char *old;
	const char *new_text;
	int			times;			/* so often it is there */
	Theme		theme;			/* of the schedules that miss it soonest */
	int			schedules;		/* within so many; some four times what it
								 * takes now */
} Rule;

static const Rule rules[] = {
	/* R1, R2 */
	{"renewal_of_any_age", "node_renew", "AND (n.granted_until >= now_tick - node_renew.max_lead OR n.modified >= now_time - l.max_lead)", "", 1, CHANGING_HANDS, 200},
	{"renewal_by_end_alone", "node_renew", "OR n.modified >= now_time - l.max_lead", "", 1, LEAPS, 200},
	{"renewal_without_token", "node_renew", "AND n.token = old_token AND n.granted_until = old_until", "", 1, EVERYTHING, 100},
	{"claim_of_any_age", "find_claimed_worker", "bigint := now_tick - uidgen.ticks_in(l.max_lead, l.unit)", "bigint := 0", 1, CHANGING_HANDS, 200},
	{"claim_by_end_alone", "find_claimed_worker", "timestamptz := clock - l.max_lead", "timestamptz := 'infinity'", 1, LEAPS, 600},
	{"claim_of_released", "find_claimed_worker", "AND NOT before.released", "", 1, CHANGING_HANDS, 12000},
	{"claim_above_row_only", "node_acquire", "least(claimed_until, l.max_tick) + 1", "0", 1, FAR_AHEAD, 200},
	/* R3 */
	{"free_at_once", "choose_for_node", "CONSTANT bigint := uidgen.ticks_in(l.max_lead, l.unit) + uidgen.ticks_in(l.clock_slack, l.unit) + 1", "CONSTANT bigint := 0", 1, CHANGING_HANDS, 600},
	{"free_by_end_alone", "choose_for_node", "clock - l.max_lead - l.clock_slack", "'infinity'", 1, LEAPS, 3000},
	{"free_without_slack", "choose_for_node", "l.clock_slack", "interval '0'", 2, CHANGING_HANDS, 3000},
	/* R4 */
	{"no_clamp", "node_renew", "now_tick + node_renew.max_lead, l.max_tick - 1", "l.max_tick - 1", 1, EVERYTHING, 100},
	{"quarantine_beyond_clamp", "node_acquire", "first_tick > latest - span", "first_tick > latest - span AND claim.worker IS NOT NULL", 1, EVERYTHING, 100},
	/* R5 */
	{"no_quarantine", "begin_quarantine", "quarantine_until = greatest(r.quarantine_until,", "quarantine_until = least(r.quarantine_until,", 1, EVERYTHING, 100},
	{"quarantine_from_its_end", "node_acquire", "l.quarantine_until + 1", "l.quarantine_until", 1, FAR_AHEAD, 5000},
	{"quarantine_without_slack", "begin_quarantine", "uidgen.ticks_in(r.clock_slack, r.unit) + 1", "0", 1, FAR_AHEAD, 100},
	{"quarantine_forgotten", "node_acquire", "THEN l.quarantine_until + 1", "THEN CASE WHEN l.quarantine_until >= now_tick THEN l.quarantine_until + 1 ELSE 0 END", 1, LEAPS, 2000},
	/* R7 */
	{"release_lowers", "node_release", "released = true", "released = true, granted_until = n.granted_until - 1", 1, EVERYTHING, 100},
	/* Of what was granted elsewhere */
	{"import_keeps_token", "raise_ends", "token = NULL,", "", 1, JOINS_LATE, 3000},
	{"import_beyond_clamp", "node_import", "IF FOUND THEN", "IF false THEN", 1, JOINS, 6000},
	/* Grants begin at the node's own time. */
	{"at_ignored", "node_acquire", "least(now_tick, at_tick)", "now_tick", 1, EVERYTHING, 100},
	{"at_ignored_in_renewals", "node_renew", "least(now_tick, at_tick)", "now_tick", 1, EVERYTHING, 100},

	/* R6 */
	{"token_not_proposed", NULL, NULL, NULL, 0, EVERYTHING, 100},
	{"unconfirmed_used", NULL, NULL, NULL, 0, CHANGING_HANDS, 3000},
	{"older_timeline_used", NULL, NULL, NULL, 0, FAR_AHEAD, 200},
	{"release_forgets_nothing", NULL, NULL, NULL, 0, CHANGING_HANDS, 200},
	{"bounds_not_cut", NULL, NULL, NULL, 0, EVERYTHING, 200},
	{"known_not_checked", NULL, NULL, NULL, 0, EVERYTHING, 100},
	{"leap_never_followed", NULL, NULL, NULL, 0, LEAPS, 1000},
};

static const Rule *broken;

/* Go on without this rule.  Says of which theme and how many the schedules are to be that miss
 * it; is there such a rule? */
bool
choose_broken(const char *name, Theme *theme, int64_t *schedules)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].name, name) == 0)
		{
			broken = &rules[i];
			*theme = broken->theme;
			*schedules = broken->schedules;
			if (broken->function)
				registry_break(broken->function, broken->old, broken->new_text, broken->times);
			return true;
		}
	return false;
}

bool
is_broken(const char *name)
{
	return broken && strcmp(broken->name, name) == 0;
}

void
list_broken(void)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		printf("%s %d\n", rules[i].name, rules[i].schedules);
}
