/*
 * procedures.c
 *	  What people do with the registries of the simulation: the procedures of the run book, from
 *	  test/procedures, which test/perl/Procedures.pm describes.
 *
 * One step of the schedule is one of a procedure; anything can happen between two of them, and any
 * procedure can be broken off, after which the next one begins at its first step.  Statements are played
 * as they are, in the registry's database.  What is no statement is one of these:
 *
 *	RESTART, STOP, OPEN		the registry's server: again, no more, for nodes too
 *	PROMOTE, FOLLOW, STANDBY	a standby takes over; the old primary becomes one; there is one
 *	BACKUP, RESTORE			of the registry's files; after the latter only its owner is let in
 *	BEGIN					an empty database, in its place if it is the one in use
 *	LOSE					its rows are gone
 *	POINT					the nodes' settings lead to the registry, one after the other
 *	END, JOIN, LEAVE		a node ends; one comes, which had a registry of its own; one goes back to that
 *	WAIT					until $until
 *	WORKER, CHECKPOINT		what an operator notes of a node, and of a server that is stopped
 *
 * What an operator knows is the result of what he has noted, in variables.  He remembers the longest
 * lengths that there were, the lowest first_guest, and the worker id of a server that has left.
 */
#include "simulation.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCEDURES 24
#define STEPS_OF_ONE 12
#define LINES 6
#define VARIABLES 16

typedef enum LineKind
{
	NOTE,
	IF,
	PLAY,
	NEVER						/* what the page warns of */
} LineKind;

typedef struct Line
{
	LineKind	kind;
	char	   *name;			/* of what is noted */
	char	   *text;
	int64_t		without;		/* schedules that miss it; 0: not tried */
	char	   *instead;		/* is played then */
	bool		left_out;
} Line;

typedef struct PlayedStep
{
	bool		other;			/* on the registry that is not in use */
	Line		lines[LINES];
	int			nlines;
	int64_t		broken_off;
	int64_t		lost;
	bool		followed;		/* a standby may lack it */
} PlayedStep;

typedef struct Procedure
{
	char	   *name;
	PlayedStep	steps[STEPS_OF_ONE];
	int			nsteps;
} Procedure;

typedef enum Outcome
{
	DONE_WELL,
	WAITS,						/* the same step comes again */
	CANNOT
} Outcome;

static Procedure procedures[PROCEDURES];
static int	nprocedures;
static int	broken_one = -1;	/* which has a line that is left out, */
static int	broken_step;		/* in this step */
bool		procedures_played;
bool		procedures_covered;

/* The procedure under way, and what its operator knows. */
static struct
{
	Procedure  *procedure;		/* NULL: none */
	int			step;
	PlayedStep *last;			/* that was done */
	int			last_registry;
	int64_t		positions[REGISTRIES];	/* in the log, after the last step on each */
	bool		unwell;			/* something is half done, or was lost */
	bool		waits;			/* the step is to come again */
	bool		restored;
	int			wrote;			/* registries: a bit for each */
	int			standby;		/* that is to be promoted */
	int64_t		stopped;		/* where the log ended */
	int			node;
	struct
	{
		char	   *name;
		char	   *value;
	}			variables[VARIABLES];
	int			nvariables;
	UidgenMicroseconds max_lead;
	UidgenMicroseconds guest_lead;
	int			first_guest;
	int			kept;			/* -1: none */
	bool		ready;			/* the other registry is */
	PlayedStep *target;			/* after which this schedule interrupts, */
	Procedure  *steered;		/* which alone is played */
	bool		loses;			/* by a failover that loses it; else it is the
								 * last one */
}			under_way;

/* ---- reading ---- */

static char *
copy_of(const char *text)
{
	char	   *copy = strdup(text);

	copy[strcspn(copy, "\n")] = '\0';
	return copy;
}

static void
read_line(Procedure *procedure, const char *text)
{
	static const char *const kinds[] = {[NOTE] = "note ",[IF] = "if ",[PLAY] = "play ",[NEVER] = "never "};
	PlayedStep *step = &procedure->steps[procedure->nsteps - 1];

	if (strncmp(text, "by ", 3) == 0)
	{
		/* One that is for people alone is none. */
		if (procedure->nsteps == 0 || step->nlines > 0)
			step = &procedure->steps[procedure->nsteps++];
		*step = (PlayedStep) {.other = strstr(text, " other ") != NULL};
	}
	else if (strncmp(text, "without", 7) == 0)
	{
		Line	   *line = &step->lines[step->nlines - 1];
		char	   *rest;

		line->without = strtoll(text + 7, &rest, 10);
		if (*rest == ' ')
			line->instead = copy_of(rest + 1);
	}
	for (int kind = NOTE; kind <= NEVER; kind++)
		if (strncmp(text, kinds[kind], strlen(kinds[kind])) == 0)
		{
			Line	   *line = &step->lines[step->nlines++];
			const char *rest = text + strlen(kinds[kind]);

			*line = (Line) {.kind = kind};
			if (kind == NOTE)
			{
				line->name = strndup(rest, strcspn(rest, " "));
				rest += strlen(line->name) + 1;
			}
			line->text = copy_of(rest);
		}
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const Procedure *) a)->name, ((const Procedure *) b)->name);
}

void
procedures_read(const char *folder)
{
	DIR		   *directory = opendir(folder);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)) != NULL)
	{
		char		path[1000];
		char		text[4000];
		Procedure  *procedure = &procedures[nprocedures];
		FILE	   *file;
		bool		played = true;

		if (!strstr(entry->d_name, ".steps"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		file = fopen(path, "r");
		*procedure = (Procedure) {.name = strndup(entry->d_name, strcspn(entry->d_name, "."))};
		while (file && fgets(text, sizeof(text), file))
		{
			played &= strncmp(text, "# not simulated", 15) != 0;
			if (text[0] != '\t' && text[0] != '#')
				read_line(procedure, text);
		}
		if (procedure->nsteps > 0 && procedure->steps[procedure->nsteps - 1].nlines == 0)
			procedure->nsteps--;
		if (played && procedure->nsteps > 0)
			nprocedures++;
		fclose(file);
	}
	closedir(directory);
	qsort(procedures, (size_t) nprocedures, sizeof(Procedure), compare_names);
}

/* ---- what is left out ---- */

/* Calls `look` for each line that can be; its name is PROCEDURE_N. */
static Line *
find_line(const char *name, bool list)
{
	for (int i = 0; i < nprocedures; i++)
	{
		int			n = 0;

		for (int j = 0; j < procedures[i].nsteps; j++)
			for (int k = 0; k < procedures[i].steps[j].nlines; k++)
			{
				Line	   *line = &procedures[i].steps[j].lines[k];
				char		own[100];

				if (line->without == 0)
					continue;
				snprintf(own, sizeof(own), "%s_%d", procedures[i].name, ++n);
				if (list)
					printf("%s %" PRId64 " program\n", own, line->without);
				else if (strcmp(own, name) == 0)
				{
					broken_one = i;
					broken_step = j;
					return line;
				}
			}
	}
	return NULL;
}

bool
choose_statement(const char *name, int64_t *schedules)
{
	Line	   *line = find_line(name, false);

	if (!line)
		return false;
	line->left_out = true;
	*schedules = line->without;
	return true;
}

void
list_statements(void)
{
	(void) find_line("", true);
}

/* A statement without its condition: the first one that is not in parentheses.  NULL: it has none. */
static char *
without_condition(const char *text)
{
	int			depth = 0;

	for (const char *at = text; *at; at++)
	{
		depth += (*at == '(') - (*at == ')');
		if (depth == 0 && (strncmp(at, " WHERE ", 7) == 0 || strncmp(at, " HAVING ", 8) == 0))
			return strndup(text, (size_t) (at - text));
	}
	return NULL;
}

/* ---- variables ---- */

static const char *
value_of(const char *name, size_t length)
{
	static char text[60];

	for (int i = under_way.nvariables - 1; i >= 0; i--)
		if (strncmp(under_way.variables[i].name, name, length) == 0 && under_way.variables[i].name[length] == '\0')
			return under_way.variables[i].value;
	if (strncmp(name, "max_lead", length) == 0)
		sprintf(text, "interval '%" PRId64 " us'", under_way.max_lead);
	else if (strncmp(name, "guest_lead", length) == 0)
		sprintf(text, "interval '%" PRId64 " us'", under_way.guest_lead);
	else if (strncmp(name, "first_guest", length) == 0)
		sprintf(text, "%d", under_way.first_guest);
	else if (strncmp(name, "kept", length) == 0 && under_way.kept >= 0)
		sprintf(text, "%d", under_way.kept);
	else
		return NULL;
	return text;
}

static void
forget_variables(void)
{
	for (int i = 0; i < under_way.nvariables; i++)
		free(under_way.variables[i].value);
	under_way.nvariables = 0;
}

static void
set_variable(char *name, const char *value)
{
	if (under_way.nvariables == VARIABLES)
		fail("simulation", "more variables than there is room for");
	under_way.variables[under_way.nvariables].name = name;
	under_way.variables[under_way.nvariables++].value = strdup(value ? value : "");
}

/* A statement with their values; NULL: one is not known. */
static char *
expand(const char *text)
{
	char	   *result = malloc(strlen(text) + 20000);
	size_t		length = 0;

	while (*text)
	{
		size_t		name = *text == '$' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
		const char *value;

		if (name == 0)
		{
			result[length++] = *text++;
			continue;
		}
		value = value_of(text + 1, name);
		if (!value || strlen(value) > 19000)
		{
			free(result);
			return NULL;
		}
		length += (size_t) sprintf(result + length, "%s", value);
		text += 1 + name;
	}
	result[length] = '\0';
	return result;
}

/* One value.  NULL: an error, or nothing. */
static char *
ask(const char *text)
{
	char	   *statement = expand(text);
	char	   *result = NULL;

	if (!statement)
		return NULL;
	tell("    %s", statement);
	(void) registry_statements(&statement, 1, &result);
	free(statement);
	return result;
}

static int64_t
ask_number(const char *text)
{
	char	   *result = ask(text);
	int64_t		number = result && *result ? strtoll(result, NULL, 10) : 0;

	free(result);
	return number;
}

/* ---- what is no statement ---- */

static Registry *
registry_of(int i)
{
	return i == world.present ? &world.registry : &world.others[i];
}

static UidgenMicroseconds
behind(const Step *step)
{
	return step->whom % 2 == 0 ? 0 : step->length + world.setup.clock_slack;
}

static Outcome
begin_database(const Step *step)
{
	static Database empty = {.workers = "{}",.segments = "{}",.guests = "{}"};
	Registry   *registry = &world.registry;
	UidgenMicroseconds clock = registry_clock();

	for (int i = 0; i < world.setup.nodes && world.present != world.address; i++)
		if (world.nodes[i].registry == world.present)
			return CANNOT;
	if (world.present != world.address)
		clock = world.now + registry_of(world.address)->clock;
	lose_all();
	registry_forget(&registry->old);
	registry_forget(&registry->backup);
	forget_standbys();
	registry->history = (History) {.cluster = 1 + world.present,.timeline = 1,.started = ++world.histories,.database = world.histories};
	registry->down = registry->closed = false;
	registry->quarantine_clock = 0;
	registry->calls_before = world.ncalls;
	registry->first_guest = world.setup.max_worker + 1;
	registry_become(&empty);
	set_clock(clock - (step->whom % 2 == 0 ? 0 : world.setup.clock_slack));
	return DONE_WELL;
}

static Outcome
promote(const Step *step)
{
	bool		was_stopped = world.registry.down;

	if (!go_back(BY_PROMOTION, &world.registry.standbys[under_way.standby], behind(step)))
		return CANNOT;
	if (was_stopped)
		registry_forget(&world.registry.old);
	return DONE_WELL;
}

static Outcome
restore(const Step *step)
{
	/* What it lacks is what the rest of the procedure is for, but for two within a second by the registry's clock. */
	bool		unwell = under_way.unwell || under_way.restored;

	under_way.restored = true;
	under_way.last = NULL;
	if (!go_back(BY_BACKUP, &world.registry.backup, behind(step)))
		return CANNOT;
	under_way.unwell = unwell;
	registry_forget(&world.registry.old);
	forget_standbys();
	world.registry.closed = true;
	return DONE_WELL;
}

static bool
uses_other(const Procedure *procedure)
{
	for (int i = 0; i < procedure->nsteps; i++)
		if (procedure->steps[i].other)
			return true;
	return false;
}

/* One node, or in the end none. */
static Outcome
point(void)
{
	int			target = uses_other(under_way.procedure) ? under_way.last_registry : world.address;

	if (under_way.node < 0)
		under_way.node = 0;
	world.address = target;
	while (under_way.node < world.setup.nodes && world.nodes[under_way.node].left)
		under_way.node++;
	if (under_way.node == world.setup.nodes)
		return DONE_WELL;
	tell("    node %d", under_way.node);
	world.nodes[under_way.node].registry = target;
	world.nodes[under_way.node++].moves++;
	return WAITS;
}

static Outcome
leave(void)
{
	Node	   *node = &world.nodes[under_way.node];
	const char *worker = value_of("worker", 6);

	if (world.lives >= LIVES)
		return CANNOT;
	start_again(node);
	under_way.kept = atoi(worker);
	judge_left(node, under_way.kept);
	node->left = true;
	return DONE_WELL;
}

static Outcome
join(const Step *step)
{
	Node	   *node = &world.nodes[step->whom];

	if (node->left || world.lives >= LIVES)
		return CANNOT;
	start_again(node);
	node_had_local_grant(node, (int) (step->salt >> 24) % (world.setup.max_worker + 1));
	node->registry = world.address;
	node->moves++;
	return DONE_WELL;
}

static Outcome
note_worker(char *name, const Step *step)
{
	const Node *node = &world.nodes[step->whom];
	char		worker[20];

	for (int i = 0; i < world.setup.nodes && !node->memory.lease.held; i++)
		node = &world.nodes[i];
	if (under_way.kept >= 0 || !node->memory.lease.held || !uidgen_grant_is_of_fleet(&node->memory.lease.grant) ||
		node->registry != world.address)
		return CANNOT;
	sprintf(worker, "%d", node->memory.lease.grant.worker);
	set_variable(name, worker);
	under_way.node = (int) (node - world.nodes);
	return DONE_WELL;
}

static Outcome
wait_until(void)
{
	int64_t		until = ask_number("SELECT uidgen_registry.microseconds(nullif('$until', '')::timestamptz) FROM (SELECT 1) AS t");
	const Node *node = &world.nodes[under_way.node];

	/* What is not known is over, for those who go on all the same. */
	world.now = Max(world.now, until - node->wall);
	return DONE_WELL;
}

static Outcome
act(const char *name, const Step *step)
{
	Registry   *registry = &world.registry;

	if (strcmp(name, "RESTART") == 0 || strcmp(name, "OPEN") == 0)
	{
		registry->history.started = ++world.histories;
		registry->down = false;
		registry->closed &= strcmp(name, "OPEN") != 0;
	}
	else if (strcmp(name, "STOP") == 0)
	{
		/* Who is cut off does not receive what comes last. */
		under_way.stopped = registry_position();
		if (step->salt >> 20 & 1 && !registry->down && !registry->closed)
			follow(under_way.standby);
		registry->down = true;
	}
	else if (strcmp(name, "PROMOTE") == 0)
		return promote(step);
	else if (strcmp(name, "FOLLOW") == 0 || strcmp(name, "STANDBY") == 0)
	{
		if (registry->down || registry->closed)
			return CANNOT;
		if (name[0] == 'F')
			registry_forget(&registry->old);
		follow(under_way.standby);
	}
	else if (strcmp(name, "BACKUP") == 0)
	{
		if (registry->down || registry->closed)
			return CANNOT;
		registry_keep(&registry->backup);
	}
	else if (strcmp(name, "RESTORE") == 0)
		return restore(step);
	else if (strcmp(name, "BEGIN") == 0)
		return begin_database(step);
	else if (strcmp(name, "LOSE") == 0)
	{
		free(ask("SELECT simulation.lose_rows()"));
		registry_forget(&registry->old);
		forget_standbys();
		lose_all();
	}
	else if (strcmp(name, "POINT") == 0)
		return point();
	else if (strcmp(name, "END") == 0)
	{
		Node	   *node = &world.nodes[step->whom];

		if (node->left || world.lives >= LIVES)
			return CANNOT;
		node_hands_back(node, step);
		start_again(node);
	}
	else if (strcmp(name, "JOIN") == 0)
		return join(step);
	else if (strcmp(name, "LEAVE") == 0)
		return leave();
	else if (strcmp(name, "WAIT") == 0)
		return wait_until();
	else
		fail("simulation", "nobody knows what %s is", name);
	return DONE_WELL;
}

/* ---- steps ---- */

static bool
is_action(const char *text)
{
	return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(text);
}

/* What the owner has made of the registry may count for longer than it is known. */
static void
remember(void)
{
	char	   *texts[] = {"SELECT concat_ws(' ', uidgen_registry.microseconds('epoch'::timestamptz + max_lead), coalesce(uidgen_registry.microseconds('epoch'::timestamptz + guest_lead), 0), coalesce(lowest_first_guest, 99)) FROM uidgen_registry.registry"};
	char	   *result;
	int64_t		max_lead;
	int64_t		guest_lead;
	int			first;

	if (!registry_statements(texts, 1, &result) && result && sscanf(result, "%" SCNd64 " %" SCNd64 " %d", &max_lead, &guest_lead, &first) == 3)
	{
		under_way.max_lead = world.setup.max_lead = Max(world.setup.max_lead, max_lead);
		under_way.guest_lead = world.setup.guest_lead = Max(world.setup.guest_lead, guest_lead);
		under_way.first_guest = Min(under_way.first_guest, first);
		world.registry.first_guest = Min(first, world.setup.max_worker + 1 + world.setup.guest_workers);
	}
	free(result);
}

/* The statements of a step are one transaction. */
static Outcome
play_statements(const PlayedStep *step)
{
	char	   *texts[LINES];
	int			n = 0;
	char	   *result = NULL;
	const char *error = NULL;

	for (int i = 0; i < step->nlines; i++)
	{
		const Line *line = &step->lines[i];
		const char *text = line->text;
		char	   *cut = NULL;

		if (line->kind == IF || line->kind == NOTE || is_action(text) || (line->kind == NEVER && !line->left_out))
			continue;
		if (line->left_out && line->kind == PLAY)
		{
			cut = without_condition(text);
			text = line->instead ? line->instead : cut;
			tell("    here it is left out: %s", line->text);
		}
		/* Of what he does not know there is none. */
		if (text && (texts[n] = expand(text)) != NULL)
		{
			if (texts[n][0] != '\0')
				tell("    %s", texts[n++]);
			else
				free(texts[n]);
		}
		free(cut);
	}
	if (n > 0)
	{
		error = registry_statements(texts, n, &result);
		free(result);
		if (!error)
			remember();
	}
	while (n > 0)
		free(texts[--n]);
	return error ? CANNOT : DONE_WELL;
}

static Outcome
note(Line *line, const Step *by)
{
	char	   *statement;
	char	   *cut;
	char	   *result = NULL;
	const char *error;

	if (strcmp(line->text, "WORKER") == 0)
		return note_worker(line->name, by);
	if (strcmp(line->text, "CHECKPOINT") == 0)
	{
		char		position[40];

		/* Behind it the log ends. */
		sprintf(position, "%X/%X", (unsigned) ((under_way.stopped - 1) >> 32), (unsigned) (under_way.stopped - 1));
		set_variable(line->name, position);
		return DONE_WELL;
	}
	cut = line->left_out ? without_condition(line->text) : NULL;
	statement = expand(cut ? cut : line->text);
	free(cut);
	if (!statement)
		return CANNOT;
	tell("    %s", statement);
	error = registry_statements(&statement, 1, &result);
	tell("    $%s is \"%s\"", line->name, result ? result : "");
	set_variable(line->name, result);
	free(statement);
	free(result);
	return error ? CANNOT : DONE_WELL;
}

/* Does it change the registry? */
static bool
writes(const PlayedStep *step)
{
	for (int i = 0; i < step->nlines; i++)
	{
		const char *text = step->lines[i].text;

		if (step->lines[i].kind == PLAY ? strcmp(text, "WAIT") != 0 && strcmp(text, "POINT") != 0 && strcmp(text, "LEAVE") != 0 :
			strstr(text, "keep_worker(") != NULL)
			return true;
	}
	return false;
}

/* Is it, on the same registry, the step that this schedule is to lose, or one before that? */
static bool
is_before_target(const PlayedStep *step)
{
	return under_way.target && under_way.loses && step->other == under_way.target->other &&
		step >= under_way.procedure->steps && step <= under_way.target && under_way.target < under_way.procedure->steps + STEPS_OF_ONE;
}

static Outcome
take_step(PlayedStep *step, const Step *by)
{
	bool		is_sql = false;

	registry_use(step->other ? 1 - world.address : world.address);
	/* So that a standby lacks what comes from here on. */
	if (is_before_target(step) && writes(step) && by->salt >> 52 & 1 && !world.registry.down && !world.registry.closed)
		follow(under_way.standby);
	for (int i = 0; i < step->nlines; i++)
		is_sql |= !is_action(step->lines[i].text) && step->lines[i].kind != NEVER;
	if (is_sql && world.registry.down && !strstr(step->lines[0].text, "pg_last_wal_receive_lsn"))
		return CANNOT;
	for (int i = 0; i < step->nlines; i++)
	{
		Line	   *line = &step->lines[i];
		Outcome		outcome = DONE_WELL;

		if (line->kind == IF && !line->left_out)
		{
			char	   *answer;

			world.registry.received = world.registry.standbys[under_way.standby].replayed;
			answer = ask(line->text);
			outcome = answer && strcmp(answer, "t") == 0 ? DONE_WELL : WAITS;
			free(answer);
			/* Who follows goes on meanwhile, mostly. */
			for (int j = 0; j < STANDBYS && outcome == WAITS && !world.registry.down && by->salt >> 30 & 3; j++)
				if (world.registry.standbys[j].there)
					follow(j);
		}
		else if (line->kind == NOTE)
			outcome = note(line, by);
		else if (line->kind == PLAY && is_action(line->text) && !line->left_out)
		{
			tell("    %s", line->text);
			outcome = act(line->text, by);
		}
		if (outcome != DONE_WELL)
			return outcome;
	}
	return play_statements(step);
}

/* One with many steps is chosen more often. */
static Procedure *
chosen(int number, int *step)
{
	int			nsteps = 0;
	int			i;

	for (i = 0; i < nprocedures; i++)
		nsteps += procedures[i].nsteps;
	number %= nsteps;
	for (i = 0; number >= procedures[i].nsteps; i++)
		number -= procedures[i].nsteps;
	if (step)
		*step = number;
	return &procedures[i];
}

void
procedures_begin(void)
{
	forget_variables();
	memset(&under_way, 0, sizeof(under_way));
	under_way.max_lead = world.setup.max_lead;
	under_way.guest_lead = world.setup.guest_lead;
	under_way.first_guest = world.setup.max_worker + 1;
	under_way.kept = -1;
	procedures_played = false;
	if (nprocedures == 0 || world.setup.procedures[0] == 0)
		return;
	if (world.setup.procedures[2] % 2 || procedures_covered)
	{
		Procedure  *procedure = NULL;
		int			deepest = -1;

		/* What comes late in one is reached less often, so it is chosen more often. */
		for (int i = 0; i < (world.setup.procedures[2] & 0x100 ? 3 : 1); i++)
		{
			int			number;
			Procedure  *one = chosen(world.setup.procedures[i], &number);

			if (number > deepest)
			{
				procedure = one;
				deepest = number;
			}
		}
		/* Where something is left out, it is lost with what follows. */
		if (broken_one >= 0)
		{
			procedure = &procedures[broken_one];
			deepest = Min(broken_step + world.setup.procedures[0] % 3, procedure->nsteps - 1);
		}
		under_way.steered = procedure;
		under_way.loses = broken_one >= 0 || world.setup.procedures[1] / 2 % 2 || deepest == procedure->nsteps - 1;
		if (broken_one < 0 || world.setup.procedures[1] / 2 % 2)
			under_way.target = &procedure->steps[deepest];
	}
	/* There is a backup, now and then by shorter lengths than are in use, and from before a server had left. */
	registry_keep(&world.registry.backup);
	if (world.setup.procedures[1] % 2 && world.setup.new_fleet && world.setup.max_worker > 0)
	{
		Node	   *node = &world.nodes[world.setup.nodes - 1];

		under_way.kept = world.setup.max_worker;
		free(ask("SELECT uidgen_registry.keep_worker(0, $kept)"));
		follow(0);
		node_start(node);
		node->left = true;
		judge_left(node, under_way.kept);
	}
	if (world.setup.procedures[0] % 2)
	{
		free(ask("SELECT uidgen_registry.change_registry(max_lead => '4 minutes', guest_lead => '4 minutes')"));
		follow(0);
		remember();
		world.changes = true;
	}
}

static bool
has_action(const Procedure *procedure, const char *name)
{
	for (int i = 0; i < procedure->nsteps; i++)
		for (int j = 0; j < procedure->steps[i].nlines; j++)
			if (strcmp(procedure->steps[i].lines[j].text, name) == 0)
				return true;
	return false;
}

/* The step done last is lost, or will be, if a standby lacks it. */
static bool
lose_last(const Step *step)
{
	registry_use(under_way.last_registry);
	for (int i = 0; i < STANDBYS; i++)
		if (world.registry.standbys[i].there && world.registry.standbys[i].replayed < under_way.positions[world.present])
		{
			(void) go_back(BY_PROMOTION, &world.registry.standbys[i], behind(step));
			return true;
		}
	return false;
}

/* The next step of the procedure under way, or of another one that begins. */
static void
go_on(const Step *step)
{
	Outcome		outcome;
	int			which;
	bool		at_target = under_way.last != NULL && under_way.last == under_way.target;
	bool		breaks_off = at_target && !under_way.loses ? under_way.step > 0 : (!under_way.steered || under_way.waits) && (step->salt >> 40 & 7) == 0;

	if (nprocedures == 0)
		return;
	procedures_played = world.changes = true;
	if (at_target && under_way.loses && step->salt >> 50 & 3 && lose_last(step))
		return;
	if (!under_way.procedure && step->salt >> 40 & (!under_way.steered ? 3 : broken_one >= 0 ? 7 : 0))
		return;
	if (!under_way.procedure || breaks_off)
	{
		if (under_way.procedure && under_way.step > 0)
		{
			tell("the procedure %s is broken off", under_way.procedure->name);
			under_way.procedure->steps[under_way.step - 1].broken_off++;
			under_way.unwell = true;
		}
		forget_variables();
		which = under_way.steered ? 0 : (int) ((step->salt >> 44 & 0xffff) % 3);
		under_way.procedure = which == 0 && broken_one >= 0 ? &procedures[broken_one] :
			under_way.steered ? under_way.steered : chosen(world.setup.procedures[which], NULL);
		/* The other registry has to be ready. */
		if (uses_other(under_way.procedure) && !under_way.ready)
			for (int i = 0; i < nprocedures; i++)
				if (procedures[i].steps[0].other)
					under_way.procedure = &procedures[i];
		under_way.step = under_way.wrote = 0;
		under_way.node = -1;
		/* A registry that is half restored has to be restored. */
		if (registry_of(world.address)->closed && !has_action(under_way.procedure, "RESTORE") && !has_action(under_way.procedure, "BEGIN"))
		{
			under_way.procedure = NULL;
			return;
		}
		under_way.standby = (int) (step->salt >> 60) % STANDBYS;
	}
	tell("%s, step %d, clock %.2f", under_way.procedure->name, under_way.step + 1,
		 (double) registry_clock() / (double) world.setup.unit - START_TICK);
	outcome = take_step(&under_way.procedure->steps[under_way.step], step);
	if (outcome == CANNOT)
	{
		tell("    it cannot be done");
		under_way.unwell |= under_way.step > 0;
		under_way.procedure = NULL;
	}
	under_way.waits = outcome == WAITS;
	if (outcome != DONE_WELL)
		return;
	events[EVENT_OPERATED]++;
	under_way.last = &under_way.procedure->steps[under_way.step];
	under_way.last_registry = world.present;
	if (writes(under_way.last))
	{
		under_way.positions[world.present] = registry_position();
		under_way.wrote |= 1 << world.present;
	}
	for (int i = 0; i < STANDBYS; i++)
		under_way.last->followed |= under_way.wrote >> world.present & 1 && world.registry.standbys[i].there && world.registry.standbys[i].replayed < under_way.positions[world.present];
	if (++under_way.step < under_way.procedure->nsteps)
		return;
	if (uses_other(under_way.procedure))
		under_way.ready = under_way.procedure->steps[0].other;
	under_way.procedure = NULL;
}

/* Who leaves something out may be in a hurry, so that quarantines do not end meanwhile. */
void
procedures_go_on(const Step *step)
{
	int			n = under_way.steered && broken_one >= 0 ? (int) (step->salt >> 54 & 7) : 0;

	do
		go_on(step);
	while (n-- > 0 && under_way.procedure && !under_way.waits);
}

/* The registry that is looked at knows no more than what was written up to here. */
void
procedures_lost(int64_t replayed)
{
	if (replayed >= under_way.positions[world.present])
		return;
	under_way.unwell = true;
	if (under_way.last && under_way.last_registry == world.present)
		under_way.last->lost++;
	under_way.last = NULL;
}

/* Is all done that was begun?  Then nodes get ids. */
bool
procedures_end_well(void)
{
	registry_use(world.address);
	return !procedures_played || (!under_way.procedure && !under_way.unwell && !world.registry.down && !world.registry.closed);
}

/* How often each step was broken off, and lost.  Was that so many times at least? */
bool
procedures_report(int64_t least)
{
	bool		well = true;

	for (int i = 0; i < nprocedures; i++)
	{
		bool		played = false;

		for (int j = 0; j < procedures[i].nsteps; j++)
			played |= procedures[i].steps[j].broken_off + procedures[i].steps[j].lost > 0;
		if (!played && least == 0)
			continue;
		printf("# %s, broken off and lost after each step:", procedures[i].name);
		for (int j = 0; j < procedures[i].nsteps; j++)
		{
			const PlayedStep *step = &procedures[i].steps[j];

			/* Behind the last one nothing is broken off. */
			if (j + 1 < procedures[i].nsteps)
				printf(" %" PRId64, step->broken_off);
			else
				printf(" -");
			if (step->followed)
				printf(" %" PRId64, step->lost);
			else
				printf(" -");
			printf(j + 1 < procedures[i].nsteps ? "," : "\n");
			well &= (!step->followed || step->lost >= least) && (step->broken_off >= least || j + 1 == procedures[i].nsteps);
		}
	}
	return well;
}
