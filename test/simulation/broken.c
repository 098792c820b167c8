/*
 * broken.c
 *	  The rules that the simulation can do without, so that one sees that it misses them.
 *
 * The registry's are taken out of its functions, in the database that the simulation runs
 * in.  Those of a node are functions of src/core: the linker puts __wrap_...() in their place, which
 * calls them only while their rule is there (DROPPED in random_fleets.pl).  A few are left out where
 * answers are played (fleet.c, segments.c), and those of a guest in guests.c.  R1 to R7, and S1 to S4 and S7 of segments, are those of
 * docs/design/fleet.md and segments.md.  Steps of procedures say themselves what can be left out (procedures.c).
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
	int			theme;			/* of the schedules that miss it soonest */
	int			schedules;		/* within so many; some four times what it
								 * takes now.  0: only with another rule */
} Rule;

static const Rule rules[] = {
	/* R1, R2 */
	{"renewal_of_any_age", "lease_renew", "AND (n.granted_until >= now_tick - lead OR n.modified >= now_time - l.max_lead)", "", 2, CHANGING_HANDS, 200},
	{"renewal_by_end_alone", "lease_renew", "OR n.modified >= now_time - l.max_lead", "", 2, LEAPS, 200},
	{"renewal_without_token", "lease_renew", "AND n.token = old_token AND n.granted_until = old_until", "", 2, EVERYTHING, 100},
	{"claim_of_any_age", "find_claimed_worker", "bigint := now_tick - uidgen_registry.ticks_in(l.max_lead, l.unit)", "bigint := 0", 1, CHANGING_HANDS, 200},
	{"claim_by_end_alone", "find_claimed_worker", "timestamptz := clock - l.max_lead", "timestamptz := 'infinity'", 1, LEAPS, 600},
	{"claim_of_released", "find_claimed_worker", "AND NOT before.released", "", 1, CHANGING_HANDS, 12000},
	{"claim_above_row_only", "lease", "least(claimed_until, l.max_tick) + 1", "0", 1, FAR_AHEAD, 200},
	/* R3 */
	{"free_at_once", "free_bounds", "(uidgen_registry.ticks_in(l.max_lead, l.unit) + uidgen_registry.ticks_in(l.clock_slack, l.unit) + 1)", "0", 1, CHANGING_HANDS, 600},
	{"free_by_end_alone", "free_bounds", "clock - l.max_lead - l.clock_slack", "'infinity'", 1, LEAPS, 3000},
	{"free_without_slack", "free_bounds", "l.clock_slack", "interval '0'", 2, CHANGING_HANDS, 3000},
	/* R4 */
	{"no_clamp", "lease_renew", "now_tick + lease_renew.max_lead, l.max_tick - 1", "l.max_tick - 1", 1, EVERYTHING, 100},
	{"quarantine_beyond_clamp", "lease", "latest := now_tick + max_lead", "latest := now_tick + 2 * max_lead", 2, EVERYTHING, 100},
	/* R5 */
	{"no_quarantine", "begin_quarantine", "quarantine_until = greatest(r.quarantine_until,", "quarantine_until = least(r.quarantine_until,", 1, EVERYTHING, 100},
	{"quarantine_from_its_end", "lease", "l.quarantine_until + 1", "l.quarantine_until", 2, FAR_AHEAD, 5000},
	{"quarantine_without_slack", "begin_quarantine", "uidgen_registry.ticks_in(r.clock_slack, r.unit) + 1", "0", 1, FAR_AHEAD, 100},
	{"quarantine_forgotten", "lease", "THEN l.quarantine_until + 1", "THEN CASE WHEN l.quarantine_until >= now_tick THEN l.quarantine_until + 1 ELSE 0 END", 1, LEAPS, 2000},
	/* R7 */
	{"release_lowers", "lease_release", "released = true", "released = true, granted_until = n.granted_until - 1", 1, EVERYTHING, 100},
	/* Of what was granted elsewhere */
	{"import_keeps_token", "raise_ends", "token = NULL,", "", 1, JOINS_LATE, 3000},
	{"import_beyond_clamp", "node_import", "IF FOUND THEN", "IF false THEN", 1, JOINS, 6000},
	/* Grants begin at the node's own time. */
	{"at_ignored", "lease", "least(now_tick, at_tick)", "now_tick", 1, EVERYTHING, 100},
	{"at_ignored_in_renewals", "lease_renew", "least(now_tick, at_tick)", "now_tick", 1, EVERYTHING, 100},

	/* R6 */
	{"token_not_proposed", NULL, NULL, NULL, 0, EVERYTHING, 100},
	{"unconfirmed_used", NULL, NULL, NULL, 0, CHANGING_HANDS, 3000},
	{"older_timeline_used", NULL, NULL, NULL, 0, FAR_AHEAD, 200},
	{"release_forgets_nothing", NULL, NULL, NULL, 0, CHANGING_HANDS, 1400},
	{"bounds_not_cut", NULL, NULL, NULL, 0, EVERYTHING, 200},
	{"known_not_checked", NULL, NULL, NULL, 0, EVERYTHING, 100},
	{"leap_never_followed", NULL, NULL, NULL, 0, LEAPS, 1000},

	/* S1 */
	{"no_failover_gap", "leave_out_lost", "s.last_value + s.failover_gap::numeric, s.max_value", "s.last_value::numeric, s.max_value", 2, NUMBERS, 100},
	{"gap_by_evidence_alone", "leave_out_lost", "IF went_back THEN", "IF false THEN", 1, NUMBERS, 100},
	{"gap_to_evidence", "leave_out_lost", "s.last_value + s.failover_gap::numeric, s.max_value", "greatest(s.last_value, highest)::numeric, s.max_value", 2, NUMBERS, 100},
	{"gap_one_less", "leave_out_lost", "s.last_value + s.failover_gap::numeric, s.max_value", "greatest(s.last_value + s.failover_gap::numeric - 1, s.last_value), s.max_value", 2, NUMBERS, 100},
	{"gap_at_each_fetch", "segment_fetch", "s.timeline := call.timeline;", "", 1, NUMBERS, 100},
	{"no_evidence", "leave_out_lost", "IF verdict = 'lost' THEN", "IF false THEN", 1, NUMBERS, 400},
	{"jump_keeps_version", "segment_fetch", "version := uidgen_registry.write_segment(s);", "version := uidgen_registry.write_segment(s); IF first_value > before.last_value + 1 THEN version := before.version; UPDATE uidgen_registry.segment AS t SET version = before.version WHERE t.name = s.name; END IF;", 1, NUMBERS_RETURN, 400},
	/* S3 */
	{"release_of_any_version", "segment_release", "t.version = known_version", "true", 1, NUMBERS_RETURN, 200},
	{"release_in_another_history", "segment_release", "AND NOT call.went_back", "", 1, NUMBERS_RETURN, 200},
	/* S4 */
	{"release_below_run", "segment_release", "BETWEEN t.run_start AND", "<=", 1, NUMBERS_RETURN, 0},
	{"handed_back_is_told", NULL, NULL, NULL, 0, NUMBERS_RETURN, 100},
	/* Of what the owner does */
	{"same_incarnation", "create_segment", "excluded.incarnation", "t.incarnation", 1, NUMBERS, 100},
	{"created_again_below", "create_segment", "s := uidgen_registry.go_beyond(s, start - 1);", "s.last_value := start - 1;", 1, NUMBERS, 100},
	{"nothing_discarded", NULL, NULL, NULL, 0, NUMBERS, 100},
	/* S7 */
	{"begun_below", "leave_out_lost", "ELSIF least(highest, s.max_value) > s.began_above THEN", "ELSIF false THEN", 1, NUMBERS, 100},
	{"restart_not_written", "create_segment", "began_above = excluded.began_above", "began_above = excluded.last_value", 1, NUMBERS, 100},
	{"raised_in_vain", "go_beyond", "s.began_above := beyond;", "", 1, NUMBERS, 100},
	{"forgotten_where_there_is_none", NULL, NULL, NULL, 0, NUMBERS, 600},
	/* Whose answers count */
	{"numbers_of_older_timeline", NULL, NULL, NULL, 0, NUMBERS, 400},
	{"numbers_unconfirmed", NULL, NULL, NULL, 0, NUMBERS, 200},

	/*
	 * R1 to R7 for guests: where their functions have them, and in those that
	 * they share with nodes.  The other half of R1, the last change, is not
	 * needed: no grant of a guest begins before the clock, so what is told
	 * last is the end. Walls between roles, their bounds, and what a guest
	 * says that is not so: sql/guests.sql.
	 */
	{"guest_renewal_of_any_age", "lease_renew", "AND (n.granted_until >= now_tick - lead OR n.modified >= now_time - l.max_lead)", "", 2, LATE_RELEASE | BY_GUESTS, 200},
	{"guest_renewal_without_token", "lease_renew", "AND n.token = old_token AND n.granted_until = old_until", "", 2, CLONES | BY_GUESTS, 100},
	{"guest_claim_of_any_age", "find_claimed_worker", "bigint := now_tick - uidgen_registry.ticks_in(l.max_lead, l.unit)", "bigint := 0", 1, CHANGING_HANDS | BY_GUESTS, 200},
	{"guest_claim_by_token_alone", "find_claimed_worker", "OR claimed_until <= l.quarantine_until", "", 1, FAR_AHEAD | BY_GUESTS, 100},
	{"guest_claim_of_released", "find_claimed_worker", "AND NOT before.released", "", 1, LATE_RELEASE | BY_GUESTS, 700},
	{"guest_claim_above_row_only", "lease", "least(claimed_until, l.max_tick) + 1", "0", 1, FAR_AHEAD | BY_GUESTS, 200},
	{"guest_free_at_once", "free_bounds", "(uidgen_registry.ticks_in(l.max_lead, l.unit) + uidgen_registry.ticks_in(l.clock_slack, l.unit) + 1)", "0", 1, CHANGING_HANDS | BY_GUESTS, 600},
	{"guest_free_by_end_alone", "free_bounds", "clock - l.max_lead - l.clock_slack", "'infinity'", 1, LEAP_AFTER_RELEASE | BY_GUESTS, 1000},
	{"guest_free_without_slack", "free_bounds", "l.clock_slack", "interval '0'", 2, CHANGING_HANDS | BY_GUESTS, 800},
	{"guest_lead_of_nodes", "begin_node_call", "l.max_lead := l.guest_lead;", "", 1, EVERYTHING | BY_GUESTS, 1000},
	{"guest_no_clamp", "lease_renew", "now_tick + lease_renew.max_lead, l.max_tick - 1", "l.max_tick - 1", 1, EVERYTHING | BY_GUESTS, 100},
	{"guest_quarantine_beyond_clamp", "lease", "least(first_tick + span, latest, l.max_tick - 1)", "least(first_tick + span, l.max_tick - 1)", 1, EVERYTHING | BY_GUESTS, 100},
	{"guest_no_quarantine", "begin_quarantine", "guest_quarantine_until = greatest(r.guest_quarantine_until,", "guest_quarantine_until = least(r.guest_quarantine_until,", 1, EVERYTHING | BY_GUESTS, 100},
	{"guest_quarantine_of_nodes", "begin_node_call", "l.quarantine_until := l.guest_quarantine_until;", "", 1, EVERYTHING | BY_GUESTS, 100},
	{"guest_quarantine_from_its_end", "lease", "l.quarantine_until + 1", "l.quarantine_until", 2, FAR_AHEAD | BY_GUESTS, 2500},
	{"guest_quarantine_without_slack", "begin_quarantine", "uidgen_registry.ticks_in(r.clock_slack, r.unit) + 1", "0", 1, FAR_AHEAD | BY_GUESTS, 100},
	{"guest_history_not_written", "begin_lease", "uidgen_registry.begin_quarantine(guest)", "l.quarantine_until", 1, EVERYTHING | BY_GUESTS, 100},
	{"guest_release_lowers", "lease_release", "released = true", "released = true, granted_until = n.granted_until - 1", 1, LATE_RELEASE | BY_GUESTS, 100},
	{"long_grants_of_both_sides", "reach_of", "LEAST((l).guest_lead, (l).former_guest_lead)", "NULL", 1, CHANGING_SIDES, 2000},
	{"lowest_is_present", "set_first_guest", "lowest_first_guest = least(r.lowest_first_guest, first)", "lowest_first_guest = first", 1, CHANGING_SIDES, 2000},
	{"length_counts_at_once", "change_lengths", "CASE WHEN standbys IS NOT NULL THEN old.max_lead END", "NULL", 1, CHANGING_LENGTHS, 6000},
	{"guest_length_counts_at_once", "change_lengths", "CASE WHEN standbys IS NOT NULL THEN old.guest_lead END", "NULL", 1, CHANGING_LENGTHS, 2000},
	{"length_counts_unseen", "judge_lengths", "uidgen_registry.lagging_standbys(awaited) IS NOT NULL", "false", 1, CHANGING_LENGTHS, 2000},
	{"guest_among_nodes", "find_free_worker", "CASE WHEN for_guest THEN l.first_guest ELSE 0 END", "0", 1, EVERYTHING | BY_GUESTS, 100},
	/* What a client has to do: docs/protocol.md */
	{"guest_token_not_kept", NULL, NULL, NULL, 0, EVERYTHING | BY_GUESTS, 100},
	{"guest_unconfirmed_counts", NULL, NULL, NULL, 0, CHANGING_HANDS | BY_GUESTS, 1400},
	{"guest_older_timeline_counts", NULL, NULL, NULL, 0, FAR_AHEAD | BY_GUESTS, 200},
	{"guest_late_answer_counts", NULL, NULL, NULL, 0, IN_CALLS | BY_GUESTS, 200},
	{"guest_end_not_kept", NULL, NULL, NULL, 0, EVERYTHING | BY_GUESTS, 100},
	{"guest_begin_not_kept", NULL, NULL, NULL, 0, EVERYTHING | BY_GUESTS, 100},
	{"guest_worker_in_same_tick", NULL, NULL, NULL, 0, CLONES | BY_GUESTS, 200},
	{"guest_time_of_call", NULL, NULL, NULL, 0, EVERYTHING | BY_GUESTS, 100},
	{"guest_sleep_unnoticed", NULL, NULL, NULL, 0, IN_CALLS | BY_GUESTS, 100},
	{"guest_sleep_in_call_unnoticed", NULL, NULL, NULL, 0, IN_CALLS | BY_GUESTS, 200},
	{"guest_release_forgets_nothing", NULL, NULL, NULL, 0, CHANGING_HANDS | BY_GUESTS, 100},
};

/* The second of these would cover for the first one. */
static const char *const pairs[][2] = {
	{"jump_keeps_version", "release_below_run"},
};

static const Rule *broken;

static const Rule *
find_rule(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

static void
take_out(const Rule *rule)
{
	if (rule->function)
		registry_break(rule->function, rule->old, rule->new_text, rule->times);
}

/* Go on without this rule, and those that cover for it.  Says of which theme and how many the
 * schedules are to be that miss it; is there such a rule? */
bool
choose_broken(const char *name, int *theme, int64_t *schedules)
{
	broken = find_rule(name);
	if (!broken)
	{
		*theme = OPERATIONS;
		return choose_statement(name, schedules);
	}
	*theme = broken->theme;
	*schedules = broken->schedules;
	take_out(broken);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (strcmp(pairs[i][0], name) == 0)
			take_out(find_rule(pairs[i][1]));
	return true;
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
		if (rules[i].schedules > 0)
			printf("%s %d %s\n", rules[i].name, rules[i].schedules, rules[i].function ? "registry" : "program");
	list_statements();
}

/* ---- rules of a node ---- */

extern void __real_uidgen_node_cut_terms(const UidgenNode *node, UidgenTerms *terms);
extern void __wrap_uidgen_node_cut_terms(const UidgenNode *node, UidgenTerms *terms);
extern void __real_uidgen_node_releases(UidgenNode *node);
extern void __wrap_uidgen_node_releases(UidgenNode *node);
extern void __real_uidgen_fleetclock_follow(UidgenFleetClock *clock);
extern void __wrap_uidgen_fleetclock_follow(UidgenFleetClock *clock);
extern UidgenTick __real_uidgen_lease_known_until(const UidgenLease *lease, int worker);
extern UidgenTick __wrap_uidgen_lease_known_until(const UidgenLease *lease, int worker);

void
__wrap_uidgen_node_cut_terms(const UidgenNode *node, UidgenTerms *terms)
{
	if (!is_broken("bounds_not_cut"))
		__real_uidgen_node_cut_terms(node, terms);
}

void
__wrap_uidgen_node_releases(UidgenNode *node)
{
	if (!is_broken("release_forgets_nothing"))
		__real_uidgen_node_releases(node);
}

void
__wrap_uidgen_fleetclock_follow(UidgenFleetClock *clock)
{
	if (!is_broken("leap_never_followed"))
		__real_uidgen_fleetclock_follow(clock);
}

UidgenTick
__wrap_uidgen_lease_known_until(const UidgenLease *lease, int worker)
{
	return is_broken("known_not_checked") ? -1 : __real_uidgen_lease_known_until(lease, worker);
}
