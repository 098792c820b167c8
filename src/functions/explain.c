/*
 * explain.c
 *	  The functions that show an id to people: its bits with their fields, what these
 *	  mean, how long ago it was, and its forms.
 *
 * Each line is a row, since psql marks the lines inside of one value.  Lines are
 * ASCII, no wider than 80 columns, and for eyes only: programs call uid_parse().
 *
 * Errors: 22P02 a text is no id; the errors of uidgen_arg_layout() and uidgen_id_timestamp().
 */
#include "postgres.h"

#include "access/xact.h"
#include "core/reading.h"
#include "core/textform.h"
#include "core/uuidform.h"
#include "funcapi.h"
#include "functions/values.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/uuid.h"

SQL_FUNCTION(uidgen_explain_id);
SQL_FUNCTION(uidgen_explain_text);

#define WIDTH 80
/* What stands in front of each value. */
#define LABEL 10
#define BITS 64
#define DAY (24 * SECS_PER_HOUR * USECS_PER_SEC)

/* The first of these ids were made in 2010, by Twitter; microseconds since 1970. */
#define FIRST_IDS INT64CONST(1262304000000000)

static void
put_row(ReturnSetInfo *out, const char *line)
{
	Datum		value = CStringGetTextDatum(line);
	bool		null = false;

	tuplestore_putvalues(out->setResult, out->setDesc, &value, &null);
}

/* A line with a label, or one that goes on below. */
static void
put_line(ReturnSetInfo *out, const char *label, const char *value)
{
	put_row(out, psprintf("%-*s%s", LABEL, label, value));
}

/* The items of a layout, on as many lines as they take. */
static void
put_layout(ReturnSetInfo *out, const char *text)
{
	StringInfoData line;
	const char *label = "layout";

	initStringInfo(&line);
	while (*text)
	{
		int			length = (int) strcspn(text, " ");

		if (line.len > 0 && LABEL + line.len + 1 + length > WIDTH)
		{
			put_line(out, label, line.data);
			resetStringInfo(&line);
			label = "";
		}
		appendStringInfo(&line, "%s%.*s", line.len > 0 ? " " : "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	put_line(out, label, line.data);
}

/* Under which names a layout is known. */
static char *
names_of(const char *text, bool server)
{
	StringInfoData names;

	initStringInfo(&names);
	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
	{
		UidgenLayout layout;
		char		canonical[UIDGEN_LAYOUT_TEXT_SIZE];

		uidgen_parse_layout(preset->layout, &layout);
		uidgen_layout_print(&layout, canonical);
		if (strcmp(canonical, text) == 0)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", preset->name);
	}
	if (server)
		appendStringInfo(&names, "%sthe layout of this server", names.len > 0 ? "; " : "");
	return names.data;
}

/* ---- the time ---- */

/* "3 days ago", "2 years ahead" */
static const char *
distance_of(TimestampTz timestamp)
{
	static const struct
	{
		const char *name;
		int64		length;
		int64		below;		/* shown up to this number of them */
	}			units[] = {
		{"second", USECS_PER_SEC, 120},
		{"minute", USECS_PER_MINUTE, 120},
		{"hour", USECS_PER_HOUR, 48},
		{"day", DAY, 61},
		{"month", INT64CONST(2629746) * USECS_PER_SEC, 24},
		{"year", INT64CONST(31556952) * USECS_PER_SEC, PG_INT64_MAX},
	};
	TimestampTz now = GetCurrentStatementStartTimestamp();
	const char *side = timestamp > now ? "ahead" : "ago";

	/*
	 * Both lie in PostgreSQL's years, whose number of microseconds 64 bits
	 * can hold.
	 */
	int64		distance = timestamp > now ? timestamp - now : now - timestamp;
	int			i = 0;
	int64		n;

	if (distance < USECS_PER_SEC)
		return "just now";
	while (distance / units[i].length >= units[i].below)
		i++;
	n = distance / units[i].length;
	return psprintf(INT64_FORMAT " %s%s %s", n, units[i].name, n == 1 ? "" : "s", side);
}

/* How long ago, and what is strange about it. */
static void
put_distance(ReturnSetInfo *out, const UidgenLayout *layout, TimestampTz timestamp)
{
	int64		since_epoch = timestamp + POSTGRES_EPOCH_UNIX - layout->epoch;
	const char *question = "";

	/* The clocks of others may be ahead of ours. */
	if (timestamp > GetCurrentStatementStartTimestamp() + DAY ||
		timestamp + POSTGRES_EPOCH_UNIX < FIRST_IDS)
		question = ": is this the layout? docs/decoder.html lists others";
	else if (since_epoch < DAY)
		question = ", hardly after the epoch: is it such an id?";
	put_line(out, "", psprintf("%s%s", distance_of(timestamp), question));
}

/* ---- the bits ---- */

static void
put_bits(ReturnSetInfo *out, const UidgenLayout *layout, int64 id)
{
	char		numbers[BITS + 1];
	char		bits[BITS + 1];
	char		ruler[BITS + 1];

	memset(numbers, ' ', BITS);
	memset(ruler, '-', BITS);
	for (int bit = 0; bit < BITS; bit++)
	{
		int			column = BITS - 1 - bit;

		bits[column] = (uint64) id >> bit & 1 ? '1' : '0';
		if (bit % 8 == 7 || bit == 0)
			memcpy(numbers + column, psprintf("%d", bit), bit >= 10 ? 2 : 1);
	}
	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		int			width = layout->bits[field];
		char	   *start = ruler + BITS - layout->shift[field] - width;
		const char *name = uidgen_field_name(field);
		int			room = width - 2;
		int			shown = Min((int) strlen(name), Max(room, 0));

		if (width == 1)
			*start = '|';
		else
		{
			start[0] = '[';
			memset(start + 1, '.', room);
			start[width - 1] = ']';
			memcpy(start + 1 + (room - shown) / 2, name, shown);
		}
	}
	/* Bits above the layout are of no field. */
	memset(ruler, ' ', BITS - layout->total_bits);
	numbers[BITS] = bits[BITS] = ruler[BITS] = '\0';
	put_line(out, "bits", numbers);
	put_line(out, "", bits);
	put_line(out, "", ruler);
}

static void
put_fields(ReturnSetInfo *out, const UidgenLayout *layout, int64 id)
{
	char		unit[UIDGEN_UNIT_TEXT_SIZE];
	int			width = (int) strlen("value");

	for (int i = 0; i < layout->nfields; i++)
		width = Max(width, (int) strlen(psprintf(UINT64_FORMAT, uidgen_layout_get(layout, layout->order[i], id))));
	uidgen_unit_print(layout->unit, unit);
	put_line(out, "field", psprintf("  %5s  %*s  %s", "bits", width, "value", "meaning"));
	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		int			last = layout->shift[field];
		int			first = last + layout->bits[field] - 1;

		put_line(out, uidgen_field_name(field),
				 psprintf("  %5s  %*s  %s", first == last ? psprintf("%d", last) : psprintf("%d-%d", first, last),
						  width, psprintf(UINT64_FORMAT, uidgen_layout_get(layout, field, id)),
						  field == UIDGEN_TIME ? psprintf("ticks of %s since the epoch", unit) :
						  uidgen_field_meaning(field)));
	}
}

/* ---- the forms ---- */

static void
put_forms(ReturnSetInfo *out, TimestampTz timestamp, int64 id)
{
	pg_uuid_t	uuid;

	for (int form = 0; form < UIDGEN_TEXT_FORMS; form++)
	{
		char		text[UIDGEN_TEXT_FORM_MAX + 1];

		uidgen_textform_write((UidgenTextForm) form, id, text);
		text[uidgen_textform_length((UidgenTextForm) form)] = '\0';
		put_line(out, uidgen_textform_name((UidgenTextForm) form), text);
	}
	put_line(out, "uuid", uidgen_uuidform_write(timestamp + POSTGRES_EPOCH_UNIX, id, uuid.data) ?
			 DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid))) :
			 "none: a uuid has no room for the time");
}

/* ---- the calls ---- */

static Datum
explain(FunctionCallInfo fcinfo, int64 id, const UidgenReading *reading)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	const UidgenLayout *layout = uidgen_arg_layout(fcinfo, 2);
	TimestampTz timestamp = uidgen_id_timestamp(layout, id);
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];
	char	   *names;

	put_line(out, "id", psprintf(INT64_FORMAT, id));
	uidgen_layout_print(layout, text);
	put_layout(out, text);
	names = names_of(text, PG_NARGS() < 2);
	if (*names)
		put_line(out, "", names);
	put_line(out, "time", timestamptz_to_str(timestamp));
	put_distance(out, layout, timestamp);
	if (reading && reading->has_time &&
		(timestamp + POSTGRES_EPOCH_UNIX < reading->time || timestamp + POSTGRES_EPOCH_UNIX >= reading->time + 1000))
		put_line(out, "", psprintf("the uuid says %s: is this the layout?", timestamptz_to_str(reading->time - POSTGRES_EPOCH_UNIX)));
	put_row(out, "");
	put_bits(out, layout, id);
	put_row(out, "");
	put_fields(out, layout, id);
	put_row(out, "");
	put_forms(out, timestamp, id);
	return (Datum) 0;
}

Datum
uidgen_explain_id(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	return explain(fcinfo, PG_GETARG_INT64(0), NULL);
}

Datum
uidgen_explain_text(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *out = (ReturnSetInfo *) fcinfo->resultinfo;
	UidgenReading readings[UIDGEN_READINGS_MAX];
	int			n = uidgen_arg_readings(fcinfo, 0, readings);
	int			chosen = 0;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (!readings[0].has_id)
	{
		TimestampTz timestamp = readings[0].time - POSTGRES_EPOCH_UNIX;

		put_line(out, "read as", readings[0].form == UIDGEN_FORM_ULID ? "ULID, which holds no id of 64 bits" :
				 "uuid of version 7, which holds no id of 64 bits");
		put_line(out, "time", timestamptz_to_str(timestamp));
		put_line(out, "", distance_of(timestamp));
		return (Datum) 0;
	}
	/* If none fits the layout, the error is about the first one. */
	while (chosen < n && !uidgen_layout_fits(uidgen_arg_layout(fcinfo, 2), readings[chosen].id))
		chosen++;
	if (chosen == n)
		chosen = 0;
	if (n > 1 || readings[chosen].form != UIDGEN_FORM_DECIMAL)
		put_line(out, "read as", uidgen_form_name(readings[chosen].form));
	for (int i = 0; i < n; i++)
		if (i != chosen)
			put_line(out, "", psprintf("as %s it is " INT64_FORMAT, uidgen_form_name(readings[i].form), readings[i].id));
	return explain(fcinfo, readings[chosen].id, &readings[chosen]);
}
