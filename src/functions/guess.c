/*
 * guess.c
 *	  The functions that say of which layouts an id may be.
 *
 * SQL hands over what it finds in uidgen.layout_used, and calls these with it.  The
 * candidates are those layouts, the server's, and the presets, each once.
 *
 * Errors: 22P02 a text is no id; 22023 the times are in the wrong order, or a layout of
 * the database is none.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "compat.h"
#include "core/guess.h"
#include "core/reading.h"
#include "functions/values.h"
#include "lib/stringinfo.h"
#include "memory/server.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

SQL_FUNCTION(uidgen_guess_of_id);
SQL_FUNCTION(uidgen_guess_of_text);

typedef struct Candidate
{
	UidgenLayout layout;
	const char *text;			/* canonical */
	const char *name;			/* of the preset, or the text */
	List	   *also;			/* names of presets that are the same */
	const char *what;			/* what layout it is */
	UidgenHabits habits;
	bool		own;			/* of this database or server */
} Candidate;

typedef struct Row
{
	const Candidate *candidate; /* NULL: the text alone says the time */
	UidgenReading reading;
	TimestampTz timestamp;
	int64		cost;			/* by which it is sorted, after order */
	int			order;			/* negative: before those that are sorted by cost */
	int			number;			/* of the reading and of the candidate, in order */
} Row;

/* ---- the candidates ---- */

static Candidate *
find_candidate(List *candidates, const char *text)
{
	ListCell   *cell;

	foreach(cell, candidates)
	{
		Candidate  *candidate = lfirst(cell);

		if (strcmp(candidate->text, text) == 0)
			return candidate;
	}
	return NULL;
}

/* Adds a layout, unless it is there. */
static List *
add_layout(List *candidates, const UidgenLayout *layout, const char *what)
{
	Candidate  *candidate = palloc0(sizeof(Candidate));
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];

	uidgen_layout_print(layout, text);
	if (find_candidate(candidates, text))
		return candidates;
	candidate->layout = *layout;
	candidate->text = candidate->name = pstrdup(text);
	candidate->what = what;
	candidate->own = true;
	return lappend(candidates, candidate);
}

/* The name of the system: how the note begins. */
static const char *
system_of(const UidgenPreset *preset)
{
	return pnstrdup(preset->note, strcspn(preset->note, ",;:"));
}

static List *
add_presets(List *candidates)
{
	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
	{
		Candidate  *candidate = palloc0(sizeof(Candidate));
		Candidate  *equal;
		char		text[UIDGEN_LAYOUT_TEXT_SIZE];

		uidgen_parse_layout(preset->layout, &candidate->layout);
		uidgen_layout_print(&candidate->layout, text);
		equal = find_candidate(candidates, text);
		if (!equal)
		{
			candidate->text = pstrdup(text);
			candidate->what = system_of(preset);
			candidates = lappend(candidates, candidate);
			equal = candidate;
		}
		/* The first name is the best known. */
		if (equal->name && equal->name != equal->text)
			equal->also = lappend(equal->also, unconstify(char *, preset->name));
		else
		{
			equal->name = preset->name;
			equal->habits = preset->habits;
			/* Our own workers may be 0. */
			if (equal->own)
				equal->habits.positive = 0;
		}
	}
	return candidates;
}

/* Those of the database, which may be NULL, the server's if it has one, and the presets. */
static List *
make_candidates(ArrayType *layouts)
{
	const UidgenLayout *servers;
	List	   *candidates = NIL;
	Datum	   *texts;
	bool	   *nulls;
	int			n = 0;

	if (layouts)
		deconstruct_array(layouts, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		UidgenLayout layout;

		if (nulls[i])
			continue;
		uidgen_parse_layout(TextDatumGetCString(texts[i]), &layout);
		candidates = add_layout(candidates, &layout, "a layout of this database");
	}
	servers = uidgen_find_layout();
	if (servers)
		candidates = add_layout(candidates, servers, "the layout of this server");
	return add_presets(candidates);
}

/* ---- the rows ---- */

static int
compare_rows(const void *a, const void *b)
{
	const Row  *left = a;
	const Row  *right = b;

	if (left->order != right->order)
		return left->order < right->order ? -1 : 1;
	if (left->cost != right->cost)
		return left->cost < right->cost ? -1 : 1;
	return left->number < right->number ? -1 : 1;
}

/* In which order the fields are told. */
static const UidgenField fields[] = {
	UIDGEN_DATACENTER, UIDGEN_WORKER, UIDGEN_TAG, UIDGEN_SEQUENCE
};

/* What speaks for it. */
static char *
reasons_of(const Row *row)
{
	const Candidate *candidate = row->candidate;
	UidgenForm	form = row->reading.form;
	StringInfoData why;

	if (!candidate)
		return form == UIDGEN_FORM_ULID ? "a ULID; it begins with its time" :
			"a uuid of version 7; it begins with its time";
	initStringInfo(&why);
	appendStringInfoString(&why, candidate->what);
	if (form != UIDGEN_FORM_DECIMAL)
		appendStringInfo(&why, "; read as %s", uidgen_form_name(form));
	if (form == UIDGEN_FORM_UUID)
		appendStringInfoString(&why, "; its time is that of the uuid");
	for (int i = 0; i < candidate->layout.nfields; i++)
	{
		UidgenField field = candidate->layout.order[i];
		uint64		value = uidgen_layout_get(&candidate->layout, field, row->reading.id);

		if (field == UIDGEN_TIME || field == UIDGEN_ZERO || candidate->habits.spread & 1U << field)
			continue;
		if (value == 0)
			appendStringInfo(&why, "; %s is 0", uidgen_field_name(field));
		else if (uidgen_guess_small(candidate->layout.bits[field], value))
			appendStringInfo(&why, "; %s is small", uidgen_field_name(field));
	}
	return why.data;
}

static Datum
names_of(List *names)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(list_length(names), 1));
	int			n = 0;
	ListCell   *cell;

	foreach(cell, names)
		values[n++] = CStringGetTextDatum((const char *) lfirst(cell));
	return PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT));
}

static void
put_row(FunctionCallInfo fcinfo, int rank, const Row *row)
{
	const Candidate *candidate = row->candidate;
	UidgenColumn columns[6 + lengthof(fields)];
	int			n = 0;

	columns[n++] = (UidgenColumn) COLUMN(INT4OID, Int32GetDatum(rank));
	columns[n++] = (UidgenColumn) COLUMN(TEXTOID, CStringGetTextDatum(candidate ? candidate->name :
																	 row->reading.form == UIDGEN_FORM_ULID ? "ulid" : "uuidv7"));
	columns[n++] = (UidgenColumn) {
		.type = INT8OID, .value = Int64GetDatum(row->reading.id), .isnull = !row->reading.has_id
	};
	columns[n++] = (UidgenColumn) COLUMN(TIMESTAMPTZOID, TimestampTzGetDatum(row->timestamp));
	for (size_t i = 0; i < lengthof(fields); i++)
		columns[n++] = (UidgenColumn) {
			.type = INT4OID,
			.value = Int32GetDatum(candidate ? (int32) uidgen_layout_get(&candidate->layout, fields[i], row->reading.id) : 0),
			.isnull = !candidate || candidate->layout.bits[fields[i]] == 0
		};
	columns[n++] = (UidgenColumn) COLUMN(TEXTARRAYOID, names_of(candidate ? candidate->also : NIL));
	columns[n++] = (UidgenColumn) COLUMN(TEXTOID, CStringGetTextDatum(reasons_of(row)));
	uidgen_put_row(fcinfo, columns, n);
}

/* ---- the calls ---- */

/* A time of SQL's, in microseconds since 1970; the infinities, and what is beyond 64
 * bits, are their ends. */
static UidgenMicroseconds
get_time(TimestampTz timestamp)
{
	int64		time;

	if (TIMESTAMP_IS_NOBEGIN(timestamp))
		return PG_INT64_MIN;
	if (TIMESTAMP_IS_NOEND(timestamp) || pg_add_s64_overflow(timestamp, POSTGRES_EPOCH_UNIX, &time))
		return PG_INT64_MAX;
	return time;
}

/* Arguments 1 to 3: since, until, layouts. */
static Datum
guess(FunctionCallInfo fcinfo, const UidgenReading *readings, int nreadings)
{
	bool		since_given = !PG_ARGISNULL(1);
	UidgenMicroseconds since = since_given ? get_time(PG_GETARG_TIMESTAMPTZ(1)) : UIDGEN_GUESS_SINCE;
	UidgenMicroseconds until = PG_ARGISNULL(2) ?
		get_time(GetCurrentStatementStartTimestamp()) + UIDGEN_GUESS_AHEAD : get_time(PG_GETARG_TIMESTAMPTZ(2));
	List	   *candidates = make_candidates(PG_ARGISNULL(3) ? NULL : PG_GETARG_ARRAYTYPE_P(3));
	int			ncandidates = list_length(candidates);
	Row		   *rows = palloc(sizeof(Row) * nreadings * (ncandidates + 1));
	int			n = 0;

	if (since_given && since > until)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("since must not be later than until"),
				 errhint("Without until, ids are up to a day younger than now.")));
	for (int i = 0; i < nreadings; i++)
	{
		const UidgenReading *reading = &readings[i];

		for (int j = 0; reading->has_id && j < ncandidates; j++)
		{
			const Candidate *candidate = list_nth(candidates, j);
			const UidgenLayout *layout = &candidate->layout;
			UidgenMicroseconds earliest = candidate->own ?
				Max(since_given ? since : layout->epoch, layout->epoch) :
				Max(since, layout->epoch + UIDGEN_GUESS_AFTER_EPOCH);
			UidgenMicroseconds time;
			int64		cost = earliest > until ? -1 :
				uidgen_guess_cost(layout, &candidate->habits, reading->id, earliest, until, &time);

			if (cost < 0)
				continue;
			/* The time in a uuid has milliseconds. */
			if (reading->has_time && time - (time % 1000 + 1000) % 1000 != reading->time)
				continue;
			rows[n++] = (Row) {
				.candidate = candidate, .reading = *reading,
				.timestamp = time - POSTGRES_EPOCH_UNIX,
				.cost = cost + UIDGEN_GUESS_OTHER_READING * i,
				.order = candidate->own ? j - ncandidates : 0,
				.number = i * ncandidates + j
			};
		}
		if (reading->has_time && reading->time >= since && reading->time <= until)
			rows[n++] = (Row) {
				.reading = *reading, .timestamp = reading->time - POSTGRES_EPOCH_UNIX, .order = 1
			};
	}
	qsort(rows, n, sizeof(Row), compare_rows);
	for (int i = 0; i < n; i++)
		put_row(fcinfo, i + 1, &rows[i]);
	return (Datum) 0;
}

/* Both return at least an empty set: its columns are checked in any case. */
static bool
begin_rows(FunctionCallInfo fcinfo)
{
	static const UidgenColumn columns[] = {
		{.type = INT4OID}, {.type = TEXTOID}, {.type = INT8OID}, {.type = TIMESTAMPTZOID},
		{.type = INT4OID}, {.type = INT4OID}, {.type = INT4OID}, {.type = INT4OID},
		{.type = TEXTARRAYOID}, {.type = TEXTOID}
	};

	uidgen_begin_rows(fcinfo, columns, lengthof(columns));
	return !PG_ARGISNULL(0);
}

Datum
uidgen_guess_of_id(PG_FUNCTION_ARGS)
{
	UidgenReading reading = {.form = UIDGEN_FORM_DECIMAL, .has_id = true};

	if (!begin_rows(fcinfo))
		return (Datum) 0;
	reading.id = PG_GETARG_INT64(0);
	return guess(fcinfo, &reading, 1);
}

Datum
uidgen_guess_of_text(PG_FUNCTION_ARGS)
{
	UidgenReading readings[UIDGEN_READINGS_MAX];

	if (!begin_rows(fcinfo))
		return (Datum) 0;
	return guess(fcinfo, readings, uidgen_arg_readings(fcinfo, 0, readings));
}
