/*
 * registry.c
 *	  The registry of the simulation: the real functions, in a database that setup.sql has
 *	  prepared, over one connection.
 *
 * Each call is one statement and one transaction, as a node makes it.  Clock, history and
 * what random() gives are set in the same statement.
 */
#include "simulation.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "c.registry_id, c.system_identifier, c.timeline, c.clock"
#define LOOK "simulation.look($1, $2, $3, $4) AS looked, LATERAL "

static const char *const segment_names[SEGMENTS] = {"invoices", "orders"};

static PGconn *connection;
static int	begun;				/* registries, since the last VACUUM */

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(2);
}

/* ---- statements ---- */

/* The parameters of a statement, as texts. */
#define PARAMETERS 24
static struct
{
	const char *values[PARAMETERS];
	char		texts[PARAMETERS][1500];
	int			n;
}			parameters;

static void
add_text(const char *text)
{
	parameters.values[parameters.n++] = text;
}

static void
add_number(int64_t number)
{
	snprintf(parameters.texts[parameters.n], sizeof(parameters.texts[0]), "%" PRId64, number);
	add_text(parameters.texts[parameters.n]);
}

static void
add_bool(bool value)
{
	add_text(value ? "true" : "false");
}

static void
add_numbers(const int64_t *numbers, int n)
{
	char	   *text = parameters.texts[parameters.n];
	int			length = 0;

	for (int i = 0; i < n; i++)
		length += sprintf(text + length, "%c%" PRId64, i == 0 ? '{' : ',', numbers[i]);
	strcpy(text + length, n == 0 ? "{}" : "}");
	add_text(text);
}

/* What a call sees of the world. */
static void
add_world(UidgenMicroseconds clock, const History *history, uint64_t salt)
{
	char	   *text;

	add_number(clock);
	add_number(world.setup.pace);
	text = parameters.texts[parameters.n];
	sprintf(text, "%d %d %d %d %" PRId64 " %" PRId64, history->cluster, history->timeline, history->started, history->database, world.registry.replayed, world.registry.received);
	add_text(text);
	text = parameters.texts[parameters.n];
	sprintf(text, "%.12f", (double) (salt >> 11) / (double) (UINT64_C(1) << 52) - 1);
	add_text(text);
}

/* Run a prepared statement with the parameters that were added. */
static PGresult *
run(const char *statement)
{
	PGresult   *result = PQexecPrepared(connection, statement, parameters.n,
										parameters.values, NULL, NULL, 0);

	parameters.n = 0;
	return result;
}

/* ... that cannot fail. */
static PGresult *
run_well(const char *statement)
{
	PGresult   *result = run(statement);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die(statement, PQresultErrorMessage(result));
	return result;
}

static void
prepare(const char *name, const char *text)
{
	PGresult   *result = PQprepare(connection, name, text, 0, NULL);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die(text, PQresultErrorMessage(result));
	PQclear(result);
}

static void
command(const char *text)
{
	PGresult   *result = PQexec(connection, text);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die(text, PQresultErrorMessage(result));
	PQclear(result);
}

void
registry_connect(const char *conninfo)
{
	connection = PQconnectdb(conninfo);
	if (PQstatus(connection) != CONNECTION_OK)
		die("could not connect", PQerrorMessage(connection));
	PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
	prepare("break", "SELECT simulation.break_rule($1, $2, $3, $4)");
	prepare("begin", "SELECT simulation.begin($5, $6, $7, $8, $9, $10, $11, $12, $13, $14) FROM simulation.look($1, $2, $3, $4)");
	prepare("segment", "SELECT simulation.begin_segment($5, $6, $7, $8, $9, $10, $11) FROM simulation.look($1, $2, $3, $4)");
	prepare("change", "SELECT simulation.change_segment($5, $6, $7) AS beyond FROM simulation.look($1, $2, $3, $4)");
	prepare("lengths", "SELECT simulation.change_registry($5, $6, $7) FROM simulation.look($1, $2, $3, $4)");
	prepare("rows", "SELECT simulation.segment_rows()");
	prepare("keep", "SELECT * FROM simulation.keep()");
	prepare("become", "SELECT simulation.go_back($1, $2, $3, $4, $5)");
	prepare("look", "SELECT simulation.look($1, $2, $3, $4)");
	prepare("position", "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint AS position");
	prepare("acquire", "SELECT c.worker, c.first_tick, c.last_tick, c.seen_tick, c.never_used, c.free_workers, c.reason, c.quarantine_until, c.max_lead, " COLUMNS " FROM " LOOK
			"uidgen_registry.lease($5, 'simulated', $9, $6, $7, $8, looked, -1, $10, $11, $12, $13, 'host', 5432, 2) AS c");
	prepare("renew", "SELECT c.last_tick, c.quarantine_until, c.max_lead, " COLUMNS " FROM " LOOK
			"uidgen_registry.lease_renew(looked, $5, $6, $7, $8, $9, $10, $11, $12) AS c");
	prepare("release", "SELECT c.done, c.clock FROM " LOOK "uidgen_registry.lease_release(looked, $5, $6, $7) AS c");
	prepare("import", "SELECT c.done, c.clock FROM " LOOK "uidgen_registry.node_import(looked, $5, $6, $7) AS c");
	prepare("guest_acquire", "SELECT c.worker, c.first_tick, c.last_tick, c.registry_id, c.timeline, c.clock, (SELECT r.guest_quarantine_until FROM uidgen_registry.registry AS r) AS quarantine_until FROM " LOOK
			"uidgen_registry.guest_acquire($5, looked + $6::bigint, $7, $8, $9) AS c");
	prepare("guest_renew", "SELECT c.last_tick, c.registry_id, c.timeline, c.clock FROM " LOOK
			"uidgen_registry.guest_renew(looked + $5::integer, $6, $7, $8, $9) AS c");
	prepare("guest_release", "SELECT c.done, $1::bigint AS clock FROM " LOOK "uidgen_registry.guest_release(looked + $5::integer, $6) AS c (done)");
	prepare("fetch", "SELECT c.first_value, c.last_value, c.incarnation, c.version, c.course, c.refusal, c.refusal_detail, c.step, c.min_step, c.max_step, c.max_value, " COLUMNS " FROM " LOOK
			"uidgen_registry.segment_fetch(convert_to($5, 'UTF8'), looked + $6::bigint, $7, $8, $9, $10, $11) AS c");
	prepare("hand_back", "SELECT c.done, c.clock FROM " LOOK
			"uidgen_registry.segment_release(convert_to($5, 'UTF8'), looked + $6::bigint, $7, $8) AS c");
}

void
registry_close(void)
{
	PQfinish(connection);
}

void
registry_break(const char *function, const char *old, const char *new_text, int times)
{
	add_text(function);
	add_text(old);
	add_text(new_text);
	add_number(times);
	PQclear(run_well("break"));
}

static int64_t
number_of(const PGresult *result, const char *column)
{
	return strtoll(PQgetvalue(result, 0, PQfnumber(result, column)), NULL, 10);
}

/* ---- databases ---- */

void
registry_begin(bool ends_quarantine)
{
	const Setup *setup = &world.setup;

	/* Rows that were deleted make each look at the table longer. */
	if (++begun % 20 == 0)
		command("VACUUM uidgen_registry.worker_node, uidgen_registry.registry, uidgen_registry.segment, uidgen_registry.guest_role, pg_class, pg_attribute, pg_type, pg_depend");
	add_world(registry_clock(), &world.registry.history, world.salt);
	add_number(setup->unit);
	add_number(setup->last_tick);
	add_number(setup->max_worker + setup->guest_workers);
	add_number(setup->max_lead);
	add_number(setup->clock_slack);
	add_number(77);
	add_bool(ends_quarantine);
	add_number(setup->guest_workers);
	add_number(setup->guest_lead);
	add_number(setup->guest_bound);
	PQclear(run_well("begin"));
	for (int i = 0; i < setup->segments; i++)
	{
		const SegmentRow *row = &setup->rows[i];

		add_world(registry_clock(), &world.registry.history, world.salt + (uint64_t) i);
		add_text(segment_names[i]);
		add_number(row->last_value + 1);
		add_number(row->step);
		add_number(row->min_step);
		add_number(row->max_step);
		add_number(row->max_value);
		add_number(row->failover_gap);
		PQclear(run_well("segment"));
	}
}

/* What segment_rows() says. */
static void
read_rows(const char *text, SegmentRow *rows)
{
	for (int i = 0; i < world.setup.segments; i++)
	{
		SegmentRow	row = {.beyond = world.registry.beyond[i]};
		int			dropped;
		int			length;

		if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %d %d %d %d%n",
				   &row.last_value, &row.step, &row.min_step, &row.max_step, &row.max_value, &row.failover_gap,
				   &row.incarnation, &row.history.cluster, &row.history.timeline, &row.history.database, &dropped,
				   &length) != 11)
			die("segments are not read", text);
		row.dropped = dropped;
		rows[i] = row;
		text += length + 1;
	}
}

void
registry_segment(int segment, SegmentRow *row)
{
	SegmentRow	rows[SEGMENTS];
	PGresult   *result = run_well("rows");

	read_rows(PQgetvalue(result, 0, 0), rows);
	*row = rows[segment];
	PQclear(result);
}

/* Its owner changes a segment. */
void
registry_owner(int segment, const char *what, int64_t number)
{
	PGresult   *result;

	add_world(registry_clock(), &world.registry.history, (uint64_t) new_number() << 1);
	add_text(segment_names[segment]);
	add_text(what);
	add_number(number);
	result = run_well("change");
	if (!PQgetisnull(result, 0, 0))
		world.registry.beyond[segment] = strcmp(what, "restart") == 0 || strcmp(what, "anew") == 0 ? number_of(result, "beyond") :
			Max(world.registry.beyond[segment], number_of(result, "beyond"));
	PQclear(result);
	if (strcmp(what, "restart") == 0)
	{
		SegmentRow	row;

		registry_segment(segment, &row);
		note_restart(row.incarnation);
	}
}

/* Its owner changes which worker ids are for guests, or the lengths of grants; 0 leaves a length as it is. */
void
registry_changes(int first_guest, UidgenMicroseconds max_lead, UidgenMicroseconds guest_lead)
{
	PGresult   *result;

	add_world(registry_clock(), &world.registry.history, (uint64_t) new_number() << 1);
	add_number(first_guest);
	add_number(max_lead);
	add_number(guest_lead);
	for (int i = 4; i < 7; i++)
		if (strcmp(parameters.values[i], "0") == 0)
			parameters.values[i] = NULL;
	result = run_well("lengths");
	world.registry.first_guest = atoi(PQgetvalue(result, 0, 0));
	PQclear(result);
}

void
registry_forget(Database *database)
{
	free(database->workers);
	free(database->layout);
	free(database->segments);
	free(database->guests);
	free(database->moved);
	*database = (Database) {0};
}

void
registry_keep(Database *database)
{
	PGresult   *result = run_well("keep");

	registry_forget(database);
	database->there = true;
	database->workers = strdup(PQgetvalue(result, 0, 0));
	/* An empty database has none. */
	database->layout = PQgetisnull(result, 0, 1) ? NULL : strdup(PQgetvalue(result, 0, 1));
	database->segments = strdup(PQgetvalue(result, 0, 2));
	read_rows(PQgetvalue(result, 0, 3), database->rows);
	database->first_guest = PQgetisnull(result, 0, 4) ? world.setup.max_worker + 1 : atoi(PQgetvalue(result, 0, 4));
	database->replayed = strtoll(PQgetvalue(result, 0, 5), NULL, 10);
	database->guests = strdup(PQgetvalue(result, 0, 6));
	database->moved = PQgetisnull(result, 0, 7) ? NULL : strdup(PQgetvalue(result, 0, 7));
	database->timeline_offset = atoi(PQgetvalue(result, 0, 8));
	database->history = world.registry.history;
	database->commits = world.registry.ncommits;
	database->releases = world.nreleases;
	PQclear(result);
}

void
registry_become(const Database *database)
{
	add_text(database->workers);
	add_text(database->layout);
	add_text(database->segments);
	add_text(database->guests);
	add_text(database->moved);
	PQclear(run_well("become"));
}

int64_t
registry_position(void)
{
	PGresult   *result = run_well("position");
	int64_t		position = number_of(result, "position");

	PQclear(result);
	return position;
}

/* This registry is the one that is looked at. */
void
registry_use(int registry)
{
	if (registry == world.present)
		return;
	registry_keep(&world.away[world.present]);
	world.others[world.present] = world.registry;
	world.registry = world.others[registry];
	world.present = registry;
	registry_become(&world.away[registry]);
	registry_forget(&world.away[registry]);
}

/* Its owner runs these in one transaction.  What the last one says, each row a line, is *result: NULL if nothing.  Returns the SQLSTATE of an
 * error, after which nothing was done, or NULL. */
const char *
registry_statements(char *const *statements, int n, char **result)
{
	static char sqlstate[6];
	PGresult   *answer = NULL;
	bool		well = true;

	command("BEGIN; SET LOCAL search_path = simulation, pg_catalog");
	add_world(registry_clock(), &world.registry.history, (uint64_t) new_number() << 1);
	PQclear(run_well("look"));
	for (int i = 0; i < n && well; i++)
	{
		PQclear(answer);
		answer = PQexec(connection, statements[i]);
		well = PQresultStatus(answer) == PGRES_TUPLES_OK || PQresultStatus(answer) == PGRES_COMMAND_OK;
	}
	*result = NULL;
	if (!well)
		snprintf(sqlstate, sizeof(sqlstate), "%s", PQresultErrorField(answer, PG_DIAG_SQLSTATE));
	tell("    %s", well ? "done" : PQresultErrorMessage(answer));
	for (int row = 0; well && row < PQntuples(answer); row++)
	{
		const char *value = PQgetvalue(answer, row, 0);
		size_t		length = *result ? strlen(*result) : 0;

		*result = realloc(*result, length + strlen(value) + 2);
		sprintf(*result + length, "%s%s", length > 0 ? "\n" : "", value);
	}
	PQclear(answer);
	command(well ? "COMMIT" : "ROLLBACK");
	return well ? NULL : sqlstate;
}

/* ---- calls ---- */

static bool
is_null(const PGresult *result, const char *column)
{
	return PQgetisnull(result, 0, PQfnumber(result, column));
}

static PGresult *
acquire(const Call *call)
{
	char		identity[20];

	snprintf(identity, sizeof(identity), "i%d", call->identity);
	add_text(identity);
	add_numbers(call->known_tokens, call->nknown);
	add_number(call->worker);
	add_number(call->until);
	add_number(call->token);
	add_number(call->floor);
	add_number(call->window);
	add_number(call->at);
	add_number(call->not_after);
	return run("acquire");
}

static PGresult *
renew(const Call *call)
{
	add_number(call->worker);
	add_number(call->old_token);
	add_number(call->until);
	add_number(call->token);
	add_number(call->needed);
	add_number(call->window);
	add_number(call->at);
	add_number(call->not_after);
	return run("renew");
}

static PGresult *
release(const Call *call)
{
	add_number(call->worker);
	add_numbers(call->known_tokens, call->nknown);
	add_number(call->not_after);
	return run("release");
}

static PGresult *
import(const Call *call)
{
	int64_t		workers[WORKERS];

	for (int i = 0; i < call->nends; i++)
		workers[i] = call->workers[i];
	add_numbers(workers, call->nends);
	add_numbers(call->ends, call->nends);
	add_number(call->not_after);
	return run("import");
}

static PGresult *
guest_acquire(const Call *call)
{
	char		holder[20];

	snprintf(holder, sizeof(holder), "guest %d", call->identity);
	add_text(holder);
	add_number(call->token);
	add_numbers(call->known_tokens, call->nknown);
	add_number(call->worker);
	add_number(call->until);
	return run("guest_acquire");
}

static PGresult *
guest_renew(const Call *call)
{
	add_number(call->worker);
	add_number(call->old_token);
	add_number(call->until);
	add_number(call->token);
	add_number(call->needed);
	return run("guest_renew");
}

static PGresult *
guest_release(const Call *call)
{
	add_number(call->worker);
	add_numbers(call->known_tokens, call->nknown);
	return run("guest_release");
}

/* An array of numbers. */
static void
read_course(const char *text, UidgenSupplyAnswer *range)
{
	for (char *c = (char *) text; *c != '}' && *c != '\0' && range->ncourse < UIDGEN_SUPPLY_COURSE;)
		range->course[range->ncourse++] = strtoll(c + 1, &c, 10);
}

static PGresult *
fetch(const Call *call)
{
	add_text(segment_names[call->segment]);
	add_number(call->wanted.step);
	add_number(call->wanted.incarnation);
	add_number(call->wanted.version);
	add_numbers(is_broken("no_reigns") ? NULL : call->course, is_broken("no_reigns") ? 0 : call->wanted.ncourse);
	add_number(call->wanted.highest);
	add_number(call->not_after);
	return run("fetch");
}

static PGresult *
hand_back(const Call *call)
{
	add_text(segment_names[call->segment]);
	add_number(call->rest.version);
	add_number(call->rest.first_unused);
	add_number(call->not_after);
	return run("hand_back");
}

void
registry_call(const Call *call, UidgenMicroseconds clock, const History *history,
			  uint64_t salt, Reply *reply)
{
	PGresult   *result = NULL;

	events[EVENT_CALLS]++;
	*reply = (Reply) {.worker = call->worker, .number = ++world.ncalls, .ran = world.now};
	add_world(clock, history, salt);
	switch (call->kind)
	{
		case CALL_ACQUIRE:
			result = acquire(call);
			break;
		case CALL_RENEW:
			result = renew(call);
			break;
		case CALL_RELEASE:
			result = release(call);
			break;
		case CALL_IMPORT:
			result = import(call);
			break;
		case CALL_FETCH:
			result = fetch(call);
			break;
		case CALL_HAND_BACK:
			result = hand_back(call);
			break;
		case CALL_GUEST_ACQUIRE:
			result = guest_acquire(call);
			break;
		case CALL_GUEST_RENEW:
			result = guest_renew(call);
			break;
		case CALL_GUEST_RELEASE:
			result = guest_release(call);
			break;
	}
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
	{
		const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

		/* Of a class that says that the functions are no good?  A role that is no guest was granted nothing. */
		if (!state || (strncmp(state, "42", 2) == 0 && strcmp(state, "42501") != 0) || strncmp(state, "XX", 2) == 0 ||
			strncmp(state, "08", 2) == 0)
			die("a call fails", PQresultErrorMessage(result));
		snprintf(reply->sqlstate, sizeof(reply->sqlstate), "%s", state);
		snprintf(reply->text, sizeof(reply->text), "%s", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
		PQclear(result);
		return;
	}
	if (PQntuples(result) != 1)
		die("a call", "is not answered by one row");
	reply->clock = number_of(result, "clock");
	switch (call->kind)
	{
		case CALL_ACQUIRE:
			reply->granted = !is_null(result, "worker");
			reply->has_first = !is_null(result, "first_tick");
			reply->worker = (int) number_of(result, "worker");
			reply->first = number_of(result, "first_tick");
			reply->last = number_of(result, "last_tick");
			reply->seen = number_of(result, "seen_tick");
			reply->never_used = *PQgetvalue(result, 0, PQfnumber(result, "never_used")) == 't';
			reply->free_workers = number_of(result, "free_workers");
			snprintf(reply->text, sizeof(reply->text), "%s", PQgetvalue(result, 0, PQfnumber(result, "reason")));
			reply->last_resort = strstr(reply->text, "no worker id is free") != NULL;
			break;
		case CALL_GUEST_ACQUIRE:
			reply->granted = !is_null(result, "worker");
			reply->has_first = !is_null(result, "first_tick");
			reply->worker = (int) number_of(result, "worker");
			reply->first = number_of(result, "first_tick");
			reply->last = number_of(result, "last_tick");
			reply->word.quarantine_until = number_of(result, "quarantine_until");
			break;
		case CALL_RENEW:
		case CALL_GUEST_RENEW:
			reply->granted = !is_null(result, "last_tick");
			reply->last = number_of(result, "last_tick");
			break;
		case CALL_FETCH:
			reply->granted = is_null(result, "refusal");
			if (!reply->granted)
			{
				strcpy(reply->sqlstate, "55000");
				snprintf(reply->text, sizeof(reply->text), "%s", PQgetvalue(result, 0, PQfnumber(result, "refusal_detail")));
				break;
			}
			reply->range = (UidgenSupplyAnswer) {
				.first = number_of(result, "first_value"),
				.last = number_of(result, "last_value"),
				.incarnation = number_of(result, "incarnation"),
				.version = number_of(result, "version"),
				.step = number_of(result, "step"),
				.min_step = number_of(result, "min_step"),
				.max_step = number_of(result, "max_step"),
				.max_value = number_of(result, "max_value"),
				.registry = uidgen_node_registry(number_of(result, "registry_id")),
			};
			read_course(PQgetvalue(result, 0, PQfnumber(result, "course")), &reply->range);
			break;
		case CALL_RELEASE:
		case CALL_IMPORT:
		case CALL_HAND_BACK:
		case CALL_GUEST_RELEASE:
			reply->granted = *PQgetvalue(result, 0, PQfnumber(result, "done")) == 't';
			break;
	}
	if (PQfnumber(result, "timeline") >= 0)
		reply->word.life.timeline = (int) number_of(result, "timeline");
	if (PQfnumber(result, "registry_id") >= 0)
		reply->word.life.registry_id = number_of(result, "registry_id");
	if (call->kind == CALL_ACQUIRE || call->kind == CALL_RENEW || call->kind == CALL_FETCH)
	{
		reply->word.life.cluster = number_of(result, "system_identifier");
	}
	if (call->kind == CALL_ACQUIRE || call->kind == CALL_RENEW)
	{
		reply->word.max_lead = number_of(result, "max_lead");
		reply->word.quarantine_until = number_of(result, "quarantine_until");
	}
	PQclear(result);
}
