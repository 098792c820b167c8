/*
 * test_layout.c
 *	  Proves src/core/layout.c without a server, under the sanitizers.
 *
 * What is expected comes from elsewhere than the code under test: what other
 * systems published (test/vectors.tsv), constants worked out by hand, and, for
 * random layouts, a slow bit-by-bit and day-by-day model in this file.  Every text is parsed from a
 * heap block that ends with it, and printed to one of exactly the promised
 * size, so that a step outside is seen.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/layout.h"

#include <stdlib.h>

#include "tap.h"

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)
#define ROUNDS 200000
#define MOMENT_SIZE 80

/* The first and the last moment of the years that a layout can name. */
#define YEAR_1 (INT64_C(-62135596800) * SECOND)
#define YEAR_9999_END (INT64_C(253402300800) * SECOND - 1)

static void
append(char *text, size_t size, const char *format,...)
{
	size_t		length = strlen(text);
	va_list		args;

	va_start(args, format);
	vsnprintf(text + length, size - length, format, args);
	va_end(args);
}

/* ---- a slow calendar ---- */

static int64_t year_start[10001];	/* days from 1970-01-01, by year */

static int
month_days(int year, int month)
{
	if (month == 2)
		return year_start[year + 1] - year_start[year] == 366 ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static void
make_calendar(void)
{
	int64_t		day = -719162;	/* 0001-01-01 */

	for (int year = 1; year <= 10000; year++)
	{
		year_start[year] = day;
		day += 365;
		if (year % 400 == 0 || (year % 100 != 0 && year % 4 == 0))
			day++;
	}
}

static int64_t
moment(int year, int month, int day, int seconds, int microseconds)
{
	int64_t		days = year_start[year] + day - 1;

	while (--month > 0)
		days += month_days(year, month);
	return (days * 86400 + seconds) * SECOND + microseconds;
}

/* YYYY-MM-DDTHH:MM:SS, a fraction if it has one, and Z. */
static int64_t
read_moment(const char *text)
{
	int			year,
				month,
				day,
				hour,
				minute,
				second;
	char		fraction[7] = "";

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6[0-9]",
			   &year, &month, &day, &hour, &minute, &second, fraction) < 6)
	{
		printf("Bail out! not a time: %s\n", text);
		exit(1);
	}
	while (strlen(fraction) < 6)
		strcat(fraction, "0");
	return moment(year, month, day, (hour * 60 + minute) * 60 + second,
				  atoi(fraction));
}

/* The same with all six digits, for a time of the years 1 to 9999. */
static void
write_moment(int64_t time, char text[MOMENT_SIZE])
{
	int64_t		since = time - YEAR_1;
	int64_t		day = since / DAY - 719162;
	int64_t		rest = since % DAY;
	int			second = (int) (rest / SECOND);
	int			year = 1 + (int) (since / (366 * DAY)); /* or later */
	int			month = 1;

	while (year_start[year + 1] <= day)
		year++;
	day -= year_start[year];
	while (day >= month_days(year, month))
		day -= month_days(year, month++);
	snprintf(text, MOMENT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%06d",
			 year, month, (int) day + 1,
			 second / 3600, second / 60 % 60, second % 60,
			 (int) (rest % SECOND));
}

/* ---- layouts ---- */

static bool
parse(const char *text, UidgenLayout *layout, UidgenComplaint *error)
{
	size_t		size = strlen(text) + 1;
	char	   *copy = malloc(size);
	bool		good;

	memcpy(copy, text, size);
	memset(layout, 0x55, sizeof(*layout));
	memset(error, 0x55, sizeof(*error));
	good = uidgen_layout_parse(copy, layout, error);
	free(copy);
	return good;
}

/* A text of this file that has to be a layout. */
static UidgenLayout
lay(const char *text)
{
	UidgenLayout layout;
	UidgenComplaint error;

	if (!parse(text, &layout, &error))
	{
		printf("Bail out! %s: %.127s: %.191s\n", text, error.message,
			   error.detail);
		exit(1);
	}
	return layout;
}

/* The canonical text, good until the next call. */
static const char *
canonical(const UidgenLayout *layout)
{
	static char text[UIDGEN_LAYOUT_TEXT_SIZE];
	char	   *exact = malloc(UIDGEN_LAYOUT_TEXT_SIZE);

	memset(exact, 0x55, UIDGEN_LAYOUT_TEXT_SIZE);
	uidgen_layout_print(layout, exact);
	memcpy(text, exact, UIDGEN_LAYOUT_TEXT_SIZE);
	free(exact);
	return text;
}

static const char *const names[UIDGEN_FIELDS] = {
	"time", "datacenter", "worker", "tag", "sequence", "zero"
};

/* Do the numbers of a layout agree with each other? */
static bool
consistent(const UidgenLayout *layout)
{
	bool		seen[UIDGEN_FIELDS] = {false};
	int			total = 0;

	for (int i = layout->nfields - 1; i >= 0; i--)
	{
		UidgenField field = layout->order[i];

		if (layout->bits[field] < 1 || layout->shift[field] != total ||
			seen[field])
			return false;
		seen[field] = true;
		total += layout->bits[field];
	}
	for (int i = 0; i < UIDGEN_FIELDS; i++)
		if (!seen[i] && (layout->bits[i] != 0 || layout->shift[i] != 0))
			return false;
	return layout->total_bits == total && total <= 64;
}

static bool
same(const UidgenLayout *a, const UidgenLayout *b)
{
	return a->nfields == b->nfields &&
		memcmp(a->order, b->order,
			   sizeof(a->order[0]) * (size_t) a->nfields) == 0 &&
		memcmp(a->bits, b->bits, sizeof(a->bits)) == 0 &&
		memcmp(a->shift, b->shift, sizeof(a->shift)) == 0 &&
		a->total_bits == b->total_bits &&
		a->unit == b->unit && a->epoch == b->epoch;
}

/* Three texts, each ended within its array, sentences, none of them empty. */
static bool
well_formed(const UidgenComplaint *error)
{
	size_t		length;

	if (!memchr(error->message, '\0', sizeof(error->message)) ||
		!memchr(error->detail, '\0', sizeof(error->detail)) ||
		!memchr(error->hint, '\0', sizeof(error->hint)) ||
		error->message[0] == '\0' || error->detail[0] == '\0' ||
		error->hint[0] == '\0')
		return false;
	length = strlen(error->message);
	if (error->message[0] < 'a' || error->message[0] > 'z' ||
		error->message[length - 1] == '.')
		return false;
	length = strlen(error->detail);
	if (error->detail[0] < 'A' || error->detail[0] > 'Z' ||
		error->detail[length - 1] != '.')
		return false;
	length = strlen(error->hint);
	return error->hint[0] >= 'A' && error->hint[0] <= 'Z' &&
		error->hint[length - 1] == '.';
}

/* ---- published layouts and ids ---- */

/* What an id says: time, datacenter, worker, tag and sequence; and back. */
static void
say_fields(const UidgenLayout *layout, int64_t id, char text[160])
{
	static const UidgenField fields[] = {
		UIDGEN_DATACENTER, UIDGEN_WORKER, UIDGEN_TAG, UIDGEN_SEQUENCE
	};
	uint64_t	tick = uidgen_layout_get(layout, UIDGEN_TIME, id);
	uint64_t	again = uidgen_layout_put(layout, UIDGEN_TIME, tick);
	int64_t		time;

	strcpy(text, !uidgen_layout_fits(layout, id) ? "error 22003" : "error 22008");
	if (!uidgen_layout_fits(layout, id) || !uidgen_layout_time(layout, tick, &time))
		return;
	write_moment(time, text);
	append(text, 160, "Z");
	for (int i = 0; i < 4; i++)
	{
		uint64_t	value = uidgen_layout_get(layout, fields[i], id);

		append(text, 160, layout->bits[fields[i]] ? " %" PRIu64 : " -", value);
		again |= uidgen_layout_put(layout, fields[i], value);
	}
	if (again != (uint64_t) id || !uidgen_layout_tick(layout, time, &again) || again != tick ||
		uidgen_layout_min(layout, tick) > id || uidgen_layout_max(layout, tick) < id)
		append(text, 160, ", and back another one");
}

/* The smallest and the largest id of the tick of a time; beyond the layout's
 * times, of all. */
static void
say_range(const UidgenLayout *layout, const char *input, char text[160])
{
	int64_t		time = strcmp(input, "infinity") == 0 ? INT64_MAX :
		strcmp(input, "-infinity") == 0 ? INT64_MIN : read_moment(input);
	int64_t		end = time < layout->epoch ? uidgen_layout_first(layout) : uidgen_layout_last(layout);
	uint64_t	tick;
	bool		good = uidgen_layout_tick(layout, time, &tick);

	snprintf(text, 160, "%" PRId64 " %" PRId64,
			 good ? uidgen_layout_min(layout, tick) : end, good ? uidgen_layout_max(layout, tick) : end);
}

static void
test_vectors(void)
{
	FILE	   *file = NULL;
	Row			row;
	int			rows = 0;
	bool		published[200] = {false};

	while (next_row(&file, &row))
	{
		bool		is_layout = strcmp(row.kind, "layout") == 0;
		UidgenLayout layout,
					again;
		UidgenComplaint error;
		char		text[160];

		if (!is_layout && strcmp(row.kind, "fields") != 0 && strcmp(row.kind, "range") != 0)
			continue;
		rows++;
		if (!parse(is_layout ? row.input : row.by, &layout, &error))
			strcpy(text, "error 22023");
		else if (is_layout)
		{
			strcpy(text, canonical(&layout));
			ok(parse(row.output, &again, &error) && consistent(&layout) && same(&layout, &again),
			   "the same as its canonical text: %s", row.input);
		}
		else if (strcmp(row.kind, "fields") == 0)
			say_fields(&layout, strtoll(row.input, NULL, 10), text);
		else
			say_range(&layout, row.input, text);
		is_text(text, row.output, row.input);
		for (int i = 0; is_layout && uidgen_presets[i].name; i++)
			if (strcmp(uidgen_presets[i].name, row.input) == 0)
			{
				published[i] = true;
				is_text(uidgen_presets[i].layout, row.output, "which the table has");
				ok(uidgen_presets[i].note[0], "with a note");
			}
	}
	ok(rows > 100, "vectors: %d rows", rows);
	for (int i = 0; uidgen_presets[i].name; i++)
		ok(published[i], "vectors: the preset %s is there", uidgen_presets[i].name);
}

#define ORDER_OF_TIME "so its ids are not in the order of time."
#define NEGATIVE "Its fields take 64 bits together; with more than 63, ids could be negative."

/* ---- grammar: what is taken ---- */

static void
test_grammar(void)
{
	/* Text, canonical text.  ... is " epoch:2025-01-01". */
	static const char *const taken[][2] = {
		{"time:1:1us...", "time:1:1us..."},
		{"time:63:1us...", "time:63:1us..."},
		{"time:33:1s tag:31...", "time:33:1s tag:31..."},
		{"time:33:1s zero:31...", "time:33:1s zero:31..."},
		{"time:30:1s datacenter:1 worker:2 tag:3 sequence:4 zero:5...",
		"time:30:1s datacenter:1 worker:2 tag:3 sequence:4 zero:5..."},
		{"sequence:4 tag:3 epoch:2025-01-01 zero:5 worker:2 datacenter:1 time:30:1s",
		"sequence:4 tag:3 zero:5 worker:2 datacenter:1 time:30:1s..."},
		{"  \t\r\ntime:41:1ms\tworker:3\r\n epoch:2025-01-01 \n", "time:41:1ms worker:3..."},

		/* A zero in front of everything says nothing. */
		{"zero:11 time:41:1ms worker:3 sequence:9...", "time:41:1ms worker:3 sequence:9..."},
		{"epoch:2025-01-01 zero:1 worker:2 time:33:1ms", "worker:2 time:33:1ms..."},
		{"time:33:1ms zero:31...", "time:33:1ms zero:31..."},

		/* Units in their largest name. */
		{"time:41:999us...", "time:41:999us..."},
		{"time:41:999ms...", "time:41:999ms..."},
		{"time:41:1000ms...", "time:41:1s..."},
		{"time:41:3600000000us...", "time:41:3600s..."},
		{"time:41:3599999999us...", "time:41:3599999999us..."},
		{"time:41:0000000001s...", "time:41:1s..."},

		/* Letters in any case. */
		{"TIME:41:1MS EPOCH:2025-01-01", "time:41:1ms..."},
		{"Time:20:7uS DataCenter:1 WORKER:2 tAg:3 Sequence:4 zerO:5 Epoch:2025-01-01",
		"time:20:7us datacenter:1 worker:2 tag:3 sequence:4 zero:5..."},
		{"MyBatis-Plus epoch:2025-01-01t00:00z", "time:41:1ms datacenter:5 worker:5 sequence:12..."},

		/* Presets, and what replaces parts of them. */
		{"default time:38:10ms", "time:38:10ms worker:10 sequence:12..."},
		{"default\nsequence:13\ttime:40:1ms", "time:40:1ms worker:10 sequence:13..."},
		{"twitter worker:4 epoch:2025-01-01 datacenter:6", "time:41:1ms datacenter:6 worker:4 sequence:12..."},
	};
	UidgenLayout layout,
				again;
	UidgenComplaint error;

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
	{
		char		text[2][200];

		for (size_t side = 0; side < 2; side++)
		{
			size_t		length = strlen(taken[i][side]);

			strcpy(text[side], taken[i][side]);
			if (length > 3 && strcmp(taken[i][side] + length - 3, "...") == 0)
				strcpy(text[side] + length - 3, " epoch:2025-01-01");
		}
		if (!ok(parse(text[0], &layout, &error), "taken: %s", text[0]))
			continue;
		is_text(canonical(&layout), text[1], "and canonical");
		again = lay(text[1]);
		ok(consistent(&layout) && same(&layout, &again),
		   "and the same as its canonical text");
	}
	for (size_t i = 0; i < UIDGEN_FIELDS; i++)
		is_text(uidgen_field_name((UidgenField) i), names[i], "field name");
}

static void
test_epochs(void)
{
	/* Literals were worked out with another calendar (Python's datetime). */
	static const struct
	{
		const char *text;
		int64_t		epoch;
		const char *canonical;	/* NULL: the text itself */
	}			taken[] =
	{
		{"2025-01-01", 1735689600000000, NULL},
		{"1970-01-01", 0, NULL},
		{"0001-01-01", -62135596800000000, NULL},
		{"0004-02-29", -62035891200000000, NULL},
		{"0400-12-31", -49512902400000000, NULL},
		{"1582-10-10", -12219724800000000, NULL},
		{"1900-02-28", -2203977600000000, NULL},
		{"1900-03-01", -2203891200000000, NULL},
		{"2000-02-29", 951782400000000, NULL},
		{"9999-12-31T23:59:59.999999Z", 253402300799999999, NULL},
		{"1969-12-31T23:59:59.999999Z", -1, NULL},
		{"1970-01-01T00:00:00.000001Z", 1, NULL},

		/* Parts that may be left out. */
		{"2025-01-01T00:00", 1735689600000000, "2025-01-01"},
		{"2025-01-01T08:00", 1735718400000000, "2025-01-01T08:00:00Z"},
		{"2025-01-01T08:00:00z", 1735718400000000, "2025-01-01T08:00:00Z"},
		{"2025-01-01t08:00:00.5z", 1735718400500000, "2025-01-01T08:00:00.500Z"},

		/* Fractions. */
		{"2025-01-01T08:00:00.1", 1735718400100000, "2025-01-01T08:00:00.100Z"},
		{"2025-01-01T08:00:00.123456", 1735718400123456, "2025-01-01T08:00:00.123456Z"},
		{"2025-01-01T08:00:00.001Z", 1735718400001000, NULL},

		/* Zones. */
		{"2025-01-01T08:00:00.000+08:00", 1735689600000000, "2025-01-01"},
		{"2025-01-01T05:45:00-05:45", 1735731000000000, "2025-01-01T11:30:00Z"},
		{"2025-01-01T00:00:00-0330", 1735702200000000, "2025-01-01T03:30:00Z"},
		{"2025-01-01T00:00:00-00:00", 1735689600000000, "2025-01-01"},
		{"2024-12-31T08:01-15:59", 1735689600000000, "2025-01-01"},
		{"2024-03-01T00:30:00+01", 1709249400000000, "2024-02-29T23:30:00Z"},
	};
	static const char *const refused[] = {
		/* Days that are not in the calendar. */
		"2023-02-29", "2024-02-30", "1900-02-29", "2100-02-29", "2025-04-31",
		"2025-06-31", "2025-09-31", "2025-11-31", "2025-01-32", "2025-01-00",
		"2025-13-01", "2025-00-01", "0000-01-01", "2025-12-32",
		/* Times that are not on the clock. */
		"2025-01-01T24:00", "2025-01-01T24:00:00Z", "2025-01-01T00:60",
		"2025-01-01T00:00:60", "2025-01-01T25:00:00",
		/* Zones. */
		"2025-01-01T00:00+16", "2025-01-01T00:00-16:00",
		"2025-01-01T00:00+08:60", "2025-01-01T00:00+8", "2025-01-01T00:00+080",
		"2025-01-01T00:00+08:0", "2025-01-01T00:00+08:", "2025-01-01T00:00+",
		"2025-01-01T00:00-", "2025-01-01T00:00++08", "2025-01-01T00:00+-08",
		"2025-01-01T00:00+08:00:00", "2025-01-01T00:00Z+08",
		"2025-01-01T00:00zz", "2025-01-01T00:00ZZ", "2025-01-01T00:00UTC",
		"2025-01-01Z", "2025-01-01+08", "2025-01-01T+08",
		/* Outside the years 1 to 9999 once it is in UTC. */
		"0001-01-01T00:00+01", "0001-01-01T00:59:59.999999+01",
		"0001-01-01T00:00+00:01", "0000-12-31T23:30-01", "9999-12-31T23:00-01",
		"9999-12-31T23:59:59.999999-00:01",
		"10000-01-01", "-0001-01-01", "+2025-01-01", "02025-01-01",
		/* Fractions. */
		"2025-01-01T00:00:00.", "2025-01-01T00:00:00.Z",
		"2025-01-01T00:00:00.1234567", "2025-01-01T00:00:00.0000000",
		"2025-01-01T00:00:00,5", "2025-01-01T00:00.5", "2025-01-01T00:00:00.-1",
		"2025-01-01T00:00:00.5.5",
		/* Parts too short, too long, missing or foreign. */
		"", "2", "2025", "2025-", "2025-01", "2025-01-", "2025-1-01",
		"2025-01-1", "2025-001-01", "2025-01-001", "25-01-01", "20250101",
		"2025/01/01", "01-01-2025", "2025-01-01T", "2025-01-01T0",
		"2025-01-01T00", "2025-01-01T00:", "2025-01-01T00:0",
		"2025-01-01T0:00", "2025-01-01T00:00:", "2025-01-01T00:00:0",
		"2025-01-01T000000", "2025-01-01tT00:00", "2025-01-01_00:00",
		"2025-01-01x", "x2025-01-01", "2025-01-0x", "2025-01-01T00:00:00x",
		"now", "infinity", "1735689600000", "2025-W01-1", "\xEF\xBC\x92\060\062\065-01-01",
	};
	UidgenLayout layout;
	UidgenComplaint error;
	char		text[120];
	char		want[192];

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
	{
		snprintf(text, sizeof(text), "time:41:1ms epoch:%s", taken[i].text);
		if (!ok(parse(text, &layout, &error), "epoch: %s", taken[i].text))
			continue;
		is_int(layout.epoch, taken[i].epoch, "its microseconds");
		snprintf(want, sizeof(want), "time:41:1ms epoch:%s",
				 taken[i].canonical ? taken[i].canonical : taken[i].text);
		is_text(canonical(&layout), want, "its canonical text");
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
	{
		snprintf(text, sizeof(text), "time:41:1ms epoch:%s worker:3", refused[i]);
		if (!ok(!parse(text, &layout, &error), "no epoch: %s", refused[i]))
			continue;
		snprintf(want, sizeof(want), "Item \"epoch:%s\" at position 13: it is not a date or time of ISO 8601.",
				 refused[i]);
		is_text(error.detail, want, "and says so");
		ok(well_formed(&error) && strcmp(error.message, "invalid layout") == 0,
		   "and its error is well formed");
	}
}

/* Every day has its number, and the number its text again. */
static void
test_every_day(void)
{
	int64_t		number = -719162;	/* of 0001-01-01 */
	bool		good = true;

	for (int year = 1; year <= 9999; year++)
		for (int month = 1; month <= 12; month++)
			for (int day = 1; day <= month_days(year, month); day++, number++)
			{
				UidgenLayout layout;
				UidgenComplaint error;
				char		text[80];

				/* Of most years, only the days around the leap day. */
				if (year % 100 != 0 && year % 100 != 4 && year % 1000 != 999 &&
					!(month == 2 && day >= 28) && !(month == 3 && day == 1))
					continue;
				snprintf(text, sizeof(text), "time:20:1s epoch:%04d-%02d-%02d",
						 year, month, day);
				if (!uidgen_layout_parse(text, &layout, &error) ||
					layout.epoch != number * DAY ||
					strcmp(canonical(&layout), text) != 0)
					good = false;
			}
	ok(good, "epoch: the days of the years 1 to 9999");
	is_int(number, 2932897, "epoch: as many as there are");
}

/* ---- grammar: what is refused ---- */

static void
refuse(const char *text, const char *detail, const char *hint)
{
	UidgenLayout layout;
	UidgenComplaint error;

	if (!ok(!parse(text, &layout, &error), "refused: %s", text))
		return;
	ok(well_formed(&error), "and its error is well formed");
	is_text(error.message, "invalid layout", "and its message");
	is_text(error.detail, detail, "and its detail");
	ok(strstr(error.hint, hint) != NULL, "and its hint says: %s", hint);
}

#define ITEM(item, position) "Item \"" item "\" at position " position ": "
#define BITS_31 "its number of bits must be from 1 to 31."
#define BITS_63 "its number of bits must be from 1 to 63."
#define BAD_UNIT "its unit must be a number and us, ms or s, at most an hour."
#define NO_PRESET "there is no such preset."
#define NO_FIELD "there is no such field."
#define NO_ITEM "it is neither a preset at the start nor NAME:VALUE."
#define COMMA "it has a comma."
#define NOTHING_MORE "nothing may follow its number of bits."
#define TWICE "the field is given twice."
#define SEE_GRAMMAR "Items are time:BITS:UNIT"
#define SEE_EPOCH "epoch:2025-01-01"
#define SEE_PRESETS "uidgen.presets"
#define ONCE "Each item may be given once."

static void
test_refusals(void)
{
	static const char *const numbers[] = {
		"0", "", "-1", "+1", "00", "000", "64", "100", "257", "999", "1000",
		"0001", "0010", "4294967297", "18446744073709551617", "x", "x5", "0x5"
	};
	static const char *const units[] = {
		"", ":", ":1", ":ms", ":s", ":us", ":0us", ":0ms", ":0s", ":1ns",
		":1m", ":1h", ":1min", ":1MSS", ":1SS", ":1u", ":1sec", ":1mss", ":1uss", ":1ss", ":1ms:",
		":1ms:1", ":1.5s", ":-1s", ":+1s", ":1:s", ":1 ms", "ms", "1ms",
		":3601s", ":3600001ms", ":3600000001us", ":9999999999s",
		":9999999999us", ":00000000001s", ":18446744073709551617us",
		":\xC2\xB5s", ":1\xC2\xB5s", ":1e3us", ":0x1s"
	};
	char		text[160];
	char		want[192];

	refuse("", "The layout is empty.", SEE_GRAMMAR);
	refuse(" \t\r\n ", "The layout is empty.", SEE_GRAMMAR);

	/* Words that are no items. */
	refuse("nonsense", ITEM("nonsense", "1") NO_PRESET, SEE_PRESETS);
	refuse("  nonsense", ITEM("nonsense", "3") NO_PRESET, SEE_PRESETS);
	refuse("Twitte", ITEM("Twitte", "1") NO_PRESET, SEE_PRESETS);
	refuse("TWITTER\xC2\xA0", ITEM("TWITTER\xC2\xA0", "1") NO_PRESET, SEE_PRESETS);
	refuse("cosid-", ITEM("cosid-", "1") NO_PRESET, SEE_PRESETS);
	refuse("twitter twitter", ITEM("twitter", "9") NO_ITEM, SEE_GRAMMAR);
	refuse("time:41:1ms twitter", ITEM("twitter", "13") NO_ITEM, SEE_GRAMMAR);
	refuse("time:41:1ms, worker:10", ITEM("time:41:1ms,", "1") COMMA, "without commas");
	refuse("twitter, epoch:2025-01-01", ITEM("twitter,", "1") COMMA, "without commas");
	refuse("time:41:1ms,worker:10", ITEM("time:41:1ms,worker:10", "1") COMMA, "without commas");
	refuse("twitter:", ITEM("twitter:", "1") NO_FIELD, SEE_GRAMMAR);
	refuse(":", ITEM(":", "1") NO_FIELD, SEE_GRAMMAR);
	refuse("node:5", ITEM("node:5", "1") NO_FIELD, SEE_GRAMMAR);
	refuse("Tine:41:1ms", ITEM("Tine:41:1ms", "1") NO_FIELD, SEE_GRAMMAR);
	/* Letters alone have two cases: 0x14 and 0x54 are no pair, nor @ and `. */
	refuse("\x14ime:41:1ms", ITEM("\x14ime:41:1ms", "1") NO_FIELD, SEE_GRAMMAR);
	refuse("js5\x13", ITEM("js5\x13", "1") NO_PRESET, SEE_PRESETS);
	refuse("time:41:1ms  workers:10", ITEM("workers:10", "14") NO_FIELD, SEE_GRAMMAR);
	/* No other blanks. */
	refuse("time:41:1ms\vworker:5", ITEM("time:41:1ms\vworker:5", "1") BAD_UNIT, "time:41:1ms");
	refuse("twitter\f", ITEM("twitter\f", "1") NO_PRESET, SEE_PRESETS);
	refuse("twitter\xC2\xA0worker:5", ITEM("twitter\xC2\xA0worker:5", "1") NO_FIELD, SEE_GRAMMAR);

	/* Bits. */
	for (int field = 0; field < UIDGEN_FIELDS; field++)
	{
		bool		time = field == UIDGEN_TIME;

		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		{
			const char *unit = time ? ":1ms" : "";

			snprintf(text, sizeof(text), " %s:%s%s epoch:2025-01-01",
					 names[field], numbers[i], unit);
			snprintf(want, sizeof(want), "Item \"%s:%s%s\" at position 2: %s",
					 names[field], numbers[i], unit, time ? BITS_63 : BITS_31);
			refuse(text, want, SEE_GRAMMAR);
		}
	}
	refuse("worker:1O", ITEM("worker:1O", "1") NOTHING_MORE, SEE_GRAMMAR);
	refuse("worker:1.5", ITEM("worker:1.5", "1") NOTHING_MORE, SEE_GRAMMAR);
	refuse("time:41:1ms worker:5:5", ITEM("worker:5:5", "13") NOTHING_MORE, SEE_GRAMMAR);
	refuse("time:41:1ms worker:5:", ITEM("worker:5:", "13") NOTHING_MORE, SEE_GRAMMAR);
	refuse("time:41:1ms worker:5,", ITEM("worker:5,", "13") COMMA, "without commas");
	refuse("time:41:1ms sequence:5ms", ITEM("sequence:5ms", "13") NOTHING_MORE, SEE_GRAMMAR);

	/* Units. */
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
	{
		snprintf(text, sizeof(text), "worker:2 time:41%s epoch:2025-01-01", units[i]);
		if (strcmp(units[i], "1ms") == 0)
			strcpy(want, ITEM("time:411ms", "10") BITS_63);
		else
			snprintf(want, sizeof(want), "Item \"time:41%.*s\" at position 10: %s",
					 (int) strcspn(units[i], " "), units[i], BAD_UNIT);
		refuse(text, want, "time:");
	}

	/* Twice. */
	for (int field = 0; field < UIDGEN_FIELDS; field++)
	{
		const char *unit = field == UIDGEN_TIME ? ":1s" : "";

		snprintf(text, sizeof(text), "%s:20%s\nepoch:2025-01-01 %s:21%s",
				 names[field], unit, names[field], unit);
		snprintf(want, sizeof(want), "Item \"%s:21%s\" at position %d: %s",
				 names[field], unit,
				 (int) (strlen(names[field]) + strlen(unit)) + 22, TWICE);
		refuse(text, want, ONCE);
	}
	refuse("epoch:2025-01-01 time:41:1ms epoch:2025-01-01",
		   ITEM("epoch:2025-01-01", "30") "the epoch is given twice.", ONCE);

	/* In front of presets' items, and in their place. */
	refuse("twitter worker:5 worker:5", ITEM("worker:5", "18") TWICE, ONCE);
	refuse("twitter epoch:2025-01-01 epoch:2025-01-01",
		   ITEM("epoch:2025-01-01", "26") "the epoch is given twice.", ONCE);
	refuse("twitter epoch:2025-01-01 08:00", ITEM("08:00", "26") NO_FIELD, SEE_GRAMMAR);
	refuse("twitter epoch:2025", ITEM("epoch:2025", "9")
		   "it is not a date or time of ISO 8601.", SEE_EPOCH);
	refuse("twitter time:41", ITEM("time:41", "9") BAD_UNIT, "time:41:1ms");
	refuse("twitter tag:3", ITEM("tag:3", "9")
		   "the preset has no such field to replace.", "Spell the whole layout out");
	refuse("leaf worker:5 datacenter:5", ITEM("datacenter:5", "15")
		   "the preset has no such field to replace.", "Spell the whole layout out");
	refuse("leaf zero:1", ITEM("zero:1", "6")
		   "the preset has no such field to replace.", "Spell the whole layout out");

	/* The whole. */
	refuse("worker:5 epoch:2025-01-01", "It has no time field.", SEE_GRAMMAR);
	refuse("time:41:1ms", "It has no epoch.", SEE_EPOCH);
	refuse("time:63:1ms worker:2 epoch:2025-01-01",
		   "Its fields take 65 bits together; an id has 64.", "fewer bits");
	refuse("zero:31 time:34:1ms epoch:2025-01-01",
		   "Its fields take 65 bits together; an id has 64.", "fewer bits");
	refuse("time:63:1us datacenter:31 worker:31 tag:31 sequence:31 zero:31 epoch:2025-01-01",
		   "Its fields take 218 bits together; an id has 64.", "fewer bits");
	refuse("twitter worker:7",
		   "Its fields take 65 bits together; an id has 64.", "fewer bits");
}

/* Is it whole characters of UTF-8? */
static bool
is_utf8(const char *text)
{
	const unsigned char *c = (const unsigned char *) text;

	while (*c)
	{
		int			more = *c < 0x80 ? 0 : *c >= 0xF0 ? 3 : *c >= 0xE0 ? 2 :
			*c >= 0xC0 ? 1 : -1;

		if (more < 0)
			return false;
		for (c++; more > 0; more--, c++)
			if ((*c & 0xC0) != 0x80)
				return false;
	}
	return true;
}

/* Items longer than an error can show are cut, between characters. */
static void
test_long_items(void)
{
	static const char *const characters[] = {
		"x", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x90\x98"
	};
	static const char *const starts[] = {
		"", "worker:", "worker:5", "time:41:", "epoch:", "epoch:2025-01-01T00:00:00.",
	};
	static const int lengths[] = {50, 59, 60, 61, 62, 63, 64, 65, 150, 200, 1000, 100000};
	UidgenLayout layout;
	UidgenComplaint error;
	char	   *text = malloc(1000000);
	bool		good = true;
	bool		cut = true;

	for (size_t c = 0; c < 4; c++)
		for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++)
			for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
				for (int pad = 0; pad < 5; pad++)
				{
					const char *shown = error.detail + strlen("Item \"");
					size_t		length;
					size_t		kept;

					strcpy(text, starts[s]);
					length = strlen(text);
					memset(text + length, 'y', (size_t) pad);
					for (length += (size_t) pad; length < (size_t) lengths[l];
						 length += strlen(characters[c]))
						strcpy(text + length, characters[c]);
					if (parse(text, &layout, &error) || !well_formed(&error) ||
						!is_utf8(error.detail))
					{
						good = false;
						continue;
					}

					/*
					 * As much as goes in, and dots exactly if that is not
					 * all.
					 */
					for (kept = 0; shown[kept] == text[kept] && kept < length;)
						kept++;
					if (length <= 60 ? kept != length || shown[kept] != '"' :
						kept > 60 || (kept > 0 && (text[kept - 1] & 0x80)) ||
						strncmp(shown + kept, "...\" at position 1: ", 20) != 0)
						cut = false;
					for (; length > 60 && kept < 60; kept++)
						if (!(text[kept] & 0x80))
							cut = false;
				}
	ok(good, "long items: errors are well formed and whole characters");
	ok(cut, "long items: cut behind the last ASCII character of 60 bytes");

	memset(text, 'x', 61);
	text[61] = '\0';
	refuse(text, ITEM("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", "1") NO_PRESET, SEE_PRESETS);
	text[60] = '\0';
	refuse(text, ITEM("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "1") NO_PRESET, SEE_PRESETS);

	/* Not UTF-8 at all: nothing to keep whole, but nothing may break. */
	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
	{
		memset(text, 0x80, (size_t) lengths[l]);
		text[lengths[l]] = '\0';
		ok(!parse(text, &layout, &error) && well_formed(&error),
		   "long items: %d continuation bytes", lengths[l]);
		memset(text, 0xFF, (size_t) lengths[l]);
		ok(!parse(text, &layout, &error) && well_formed(&error),
		   "long items: %d bytes 0xFF", lengths[l]);
	}

	/* Far in. */
	memset(text, ' ', 900000);
	strcpy(text + 900000, "worker:0");
	refuse(text, ITEM("worker:0", "900001") BITS_31, SEE_GRAMMAR);
	strcpy(text + 900000, "time:41:1ms epoch:2025-01-01");
	ok(parse(text, &layout, &error), "long texts: blanks");
	free(text);
}

/* ---- what generates ---- */

static void
test_generates(void)
{
	static const char *const cases[][2] = {
		{"time:20:1s sequence:1", NULL},
		{"time:19:1s sequence:1", "Its time has 19 bits; at least 20 are needed."},
		{"time:1:1s sequence:12", "Its time has 1 bits; at least 20 are needed."},
		{"time:62:1ms sequence:1", NULL},
		{"time:63:1ms sequence:1", NEGATIVE},
		{"time:41:1ms worker:10 sequence:12", NULL},
		{"time:42:1ms worker:10 sequence:12", NEGATIVE},
		{"time:42:1ms worker:9 zero:1 sequence:12", NEGATIVE},
		{"time:41:1ms zero:22", "It has no sequence."},
		{"time:41:1ms worker:10", "It has no sequence."},
		{"worker:10 time:41:1ms sequence:12", "Its first field is worker, " ORDER_OF_TIME},
		{"datacenter:10 time:41:1ms sequence:12", "Its first field is datacenter, " ORDER_OF_TIME},
		{"tag:10 time:41:1ms sequence:12", "Its first field is tag, " ORDER_OF_TIME},
		{"sequence:12 time:41:1ms worker:10", "Its first field is sequence, " ORDER_OF_TIME},
		/* A zero in front does not count, in the order nor in the bits. */
		{"zero:1 time:41:1ms worker:10 sequence:12", NULL},
		{"zero:11 time:41:1ms sequence:12", NULL},
		{"zero:1 worker:10 time:41:1ms sequence:12", "Its first field is worker, " ORDER_OF_TIME},
		{"zero:1 time:19:1ms sequence:12", "Its time has 19 bits; at least 20 are needed."},
		/* Behind the time any order does, and zeros too. */
		{"time:41:1ms sequence:12 worker:10", NULL},
		{"time:30:1ms zero:1 tag:5 sequence:12 datacenter:2 worker:3", NULL},
		{"time:32:1s sequence:31", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		UidgenLayout layout;
		UidgenComplaint error;
		char		text[120];
		bool		generates;

		snprintf(text, sizeof(text), "%s epoch:2025-01-01", cases[i][0]);
		layout = lay(text);
		memset(&error, 0x55, sizeof(error));
		generates = uidgen_layout_generates(&layout, &error);
		if (!ok(generates == (cases[i][1] == NULL), "%s %s: %s",
				cases[i][1] ? "refuses" : "generates", cases[i][0],
				cases[i][1] ? cases[i][1] : "") || generates)
			continue;
		is_text(error.message, "layout cannot generate ids", "and its message");
		is_text(error.detail, cases[i][1], "and its detail");
		ok(well_formed(&error), "and its error is well formed");
	}
}

/* ---- arithmetic ---- */

static void
test_fields(void)
{
	UidgenLayout twitter = lay("twitter");
	UidgenLayout discord = lay("discord");
	UidgenLayout odd = lay("worker:31 zero:1 time:2:1s sequence:30 epoch:2025-01-01");
	UidgenLayout widest = lay("time:63:1us epoch:2025-01-01");
	UidgenLayout gap = lay("time:20:1s zero:4 sequence:4 epoch:2025-01-01");
	UidgenLayout mastodon = lay("mastodon");
	bool		good = true;

	/* maximum, of fields that are there and that are not */
	is_int((int64_t) uidgen_layout_maximum(&twitter, UIDGEN_TIME), 2199023255551, "maximum: 41 bits");
	is_int((int64_t) uidgen_layout_maximum(&twitter, UIDGEN_TAG), 0, "maximum: none");
	is_int((int64_t) uidgen_layout_maximum(&twitter, UIDGEN_ZERO), 0, "maximum: no zero");
	is_int((int64_t) uidgen_layout_maximum(&odd, UIDGEN_WORKER), 2147483647, "maximum: 31 bits");
	is_int((int64_t) uidgen_layout_maximum(&odd, UIDGEN_ZERO), 1, "maximum: 1 bit");
	is_int((int64_t) uidgen_layout_maximum(&widest, UIDGEN_TIME), INT64_MAX, "maximum: 63 bits");

	/* get and put, of fields that are not there */
	is_int((int64_t) uidgen_layout_get(&twitter, UIDGEN_TAG, INT64_MAX), 0, "get: no tag");
	is_int((int64_t) uidgen_layout_put(&twitter, UIDGEN_TAG, 7), 0, "put: no tag");
	/* with the sign bit in use */
	is_int((int64_t) uidgen_layout_put(&discord, UIDGEN_TIME, 2199023255552), INT64_MIN, "put: the sign bit");
	is_int((int64_t) uidgen_layout_get(&odd, UIDGEN_WORKER, -1), 2147483647, "get: worker of -1");
	is_int((int64_t) uidgen_layout_get(&odd, UIDGEN_WORKER, INT64_MIN), 1073741824, "get: worker of the least");

	/* fits */
	ok(uidgen_layout_fits(&twitter, 0) && uidgen_layout_fits(&twitter, INT64_MAX) &&
	   !uidgen_layout_fits(&twitter, -1) && !uidgen_layout_fits(&twitter, INT64_MIN),
	   "fits: 63 bits");
	ok(uidgen_layout_fits(&mastodon, INT64_MIN) && uidgen_layout_fits(&mastodon, -1) &&
	   uidgen_layout_fits(&mastodon, INT64_MAX), "fits: 64 bits");
	for (int bit = 0; bit < 64; bit++)
		if (uidgen_layout_fits(&gap, (int64_t) (UINT64_C(1) << bit)) !=
			(bit < 4 || (bit >= 8 && bit < 28)))
			good = false;
	ok(good, "fits: a zero field between others");
}

static void
test_place(void)
{
	UidgenLayout sony = lay("sonyflake");
	UidgenLayout twitter = lay("twitter");
	UidgenLayout wide = lay("time:32:1s sequence:31 epoch:2025-01-01");

	is_int(uidgen_layout_place(&sony, 5 * 256 + 255, 42), 5 * 16777216 + 255 * 65536 + 42, "place: sonyflake");
	is_int(uidgen_layout_place(&sony, 6 * 256, 42), 6 * 16777216 + 42, "place: its next tick");
	is_int(uidgen_layout_place(&twitter, 5 * 4096 + 7, 3 * 4096), 5 * 4194304 + 3 * 4096 + 7, "place: twitter");
	is_int(uidgen_layout_place(&twitter, (UINT64_C(1) << 53) - 1, 0x3FF000), INT64_MAX, "place: the last");
	is_int(uidgen_layout_place(&wide, (UINT64_C(1) << 63) - 1, 0), INT64_MAX, "place: 31 bits of sequence");
	is_int(uidgen_layout_place(&wide, UINT64_C(1) << 31, 0), INT64_C(1) << 31, "place: and its first tick");
}

static void
is_tick(const char *text, int64_t time, int64_t want)
{
	UidgenLayout layout = lay(text);
	uint64_t	tick = 0;
	bool		good = uidgen_layout_tick(&layout, time, &tick);

	if (!ok(want < 0 ? !good : good && tick == (uint64_t) want,
			"tick: %s at %" PRId64, text, time))
		printf("#   got: %d %" PRIu64 "\n", good, tick);
}

static void
is_time(const char *text, uint64_t tick, bool good, int64_t want)
{
	UidgenLayout layout = lay(text);
	int64_t		time = 0;

	if (!ok(good ? uidgen_layout_time(&layout, tick, &time) && time == want :
			!uidgen_layout_time(&layout, tick, &time),
			"time: %s tick %" PRIu64, text, tick))
		printf("#   got: %" PRId64 "\n", time);
}

static void
test_ticks(void)
{
	const int64_t begin = INT64_C(1735689600000000);	/* 2025-01-01 */

	is_tick("default", begin + 999, 0);
	is_tick("default", begin + 1000, 1);
	is_tick("default", INT64_MIN, -1);
	is_tick("default", INT64_MAX, -1);
	is_tick("time:1:3600s epoch:1970-01-01", 7199999999, 1);
	is_tick("time:1:3600s epoch:1970-01-01", 7200000000, -1);
	/* before 1970 */
	is_tick("time:41:1ms epoch:1969-12-31T23:59:59.999Z", -1000, 0);
	is_tick("time:41:1ms epoch:1969-12-31T23:59:59.999Z", -1001, -1);
	is_tick("time:41:1ms epoch:1969-12-31T23:59:59.999Z", -1, 0);
	is_tick("time:41:1ms epoch:1969-12-31T23:59:59.999Z", 0, 1);
	/* beyond the difference that an int64 holds */
	is_tick("time:63:1us epoch:0001-01-01", INT64_MAX, -1);
	is_tick("time:63:2us epoch:0001-01-01", INT64_MAX, 4642753816827387903);
	is_tick("time:63:1us epoch:0001-01-01", INT64_MAX + YEAR_1, INT64_MAX);
	is_tick("time:63:1us epoch:0001-01-01", INT64_MAX + YEAR_1 + 1, -1);
	is_tick("time:63:1us epoch:1970-01-01", INT64_MAX, INT64_MAX);
	is_tick("time:63:1us epoch:9999-12-31", INT64_MIN, -1);

	is_time("default", 1, true, begin + 1000);
	is_time("time:63:1us epoch:1970-01-01", INT64_MAX, true, INT64_MAX);
	is_time("time:63:1us epoch:1970-01-01", UINT64_C(1) << 63, false, 0);
	is_time("time:63:1us epoch:1970-01-01T00:00:00.000001Z", INT64_MAX, false, 0);
	is_time("time:63:1us epoch:1970-01-01T00:00:00.000001Z", INT64_MAX - 1, true, INT64_MAX);
	is_time("time:63:1us epoch:1969-12-31T23:59:59.999999Z", INT64_MAX, true, INT64_MAX - 1);
	is_time("time:63:1us epoch:0001-01-01", 0, true, YEAR_1);
	is_time("time:63:1us epoch:0001-01-01", UINT64_C(9285507633654775807), true, INT64_MAX);
	is_time("time:63:1us epoch:0001-01-01", UINT64_C(9285507633654775808), false, 0);
	is_time("time:63:1us epoch:0001-01-01", UINT64_MAX, false, 0);
	/* 2^63 - 1 us are 2562047788 hours, 54.775807 s */
	is_time("time:63:3600s epoch:1970-01-01", 2562047788, true, INT64_C(9223372036800000000));
	is_time("time:63:3600s epoch:1970-01-01", 2562047789, false, 0);
	is_time("time:63:3600s epoch:1970-01-01", INT64_MAX, false, 0);
	is_time("time:63:3600s epoch:9999-12-31T23:59:59.999999Z", 0, true, YEAR_9999_END);
}

static void
is_range(const char *text, uint64_t tick, int64_t min, int64_t max)
{
	UidgenLayout layout = lay(text);

	is_int(uidgen_layout_min(&layout, tick), min, text);
	is_int(uidgen_layout_max(&layout, tick), max, "and its largest");
}

static void
is_whole(const char *text, int64_t first, int64_t last)
{
	UidgenLayout layout = lay(text);

	is_int(uidgen_layout_first(&layout), first, text);
	is_int(uidgen_layout_last(&layout), last, "and its last");
}

static void
test_ranges(void)
{
	static const char worker_sign[] = "worker:10 time:42:1ms sequence:12 epoch:2025-01-01";
	static const char gap[] = "time:20:1s zero:4 sequence:4 epoch:2025-01-01";
	static const char bare[] = "time:63:1us epoch:2025-01-01";

	is_range("default", 1, 4194304, 8388607);
	/* worker in front: a tick's ids are strewn over the whole range */
	is_range("seata", 0, 0, INT64_C(0x7FE0000000000FFF));
	/* the time has the sign bit: its later half is negative */
	is_range("mastodon", UINT64_C(1) << 47, INT64_MIN, INT64_MIN + 65535);
	is_range("mastodon", (UINT64_C(1) << 48) - 1, -65536, -1);
	/* another field has it: each tick goes from negative to positive */
	is_range(worker_sign, 0, INT64_MIN, INT64_C(0x7FC0000000000FFF));
	is_range(worker_sign, 1, INT64_MIN + 4096, INT64_C(0x7FC0000000001FFF));
	is_range(worker_sign, (UINT64_C(1) << 42) - 1, INT64_MIN + INT64_C(0x3FFFFFFFFFF000), INT64_MAX);
	is_range(bare, 12345, 12345, 12345);

	is_whole("seata", 0, INT64_MAX);
	is_whole("mastodon", INT64_MIN, INT64_MAX);
	is_whole(worker_sign, INT64_MIN, INT64_MAX);
	is_whole(gap, 0, 0xFFFFF0F);
	is_whole(bare, 0, INT64_MAX);
	is_whole("time:32:1s zero:31 sequence:1 epoch:2025-01-01", INT64_MIN, INT64_C(0x7FFFFFFF00000001));
}

static void
is_capacity(const char *text, int64_t tick, int64_t second, uint64_t lifetime)
{
	UidgenLayout layout = lay(text);

	is_int(uidgen_layout_tick_capacity(&layout), tick, text);
	is_int(uidgen_layout_second_capacity(&layout), second, "and its ids a second");
	is_int((int64_t) uidgen_layout_lifetime(&layout), (int64_t) lifetime, "and its lifetime");
}

static void
test_capacities(void)
{
	is_capacity("default", 4096, 4096000, 2199023255552);
	is_capacity("sonyflake", 256, 25600, 549755813888);
	is_capacity("cockroachdb", 1, 100000, 281474976710656);
	/* Rounded down, to nothing too. */
	is_capacity("time:30:60s sequence:10 epoch:2025-01-01", 1024, 17, 1073741824);
	is_capacity("time:31:3600s sequence:1 epoch:2025-01-01", 2, 0, 2147483648);
	is_capacity("time:31:3600s epoch:2025-01-01", 1, 0, 2147483648);
	is_capacity("time:31:3us sequence:1 epoch:2025-01-01", 2, 666666, 2147483648);
	is_capacity("time:32:1us sequence:31 epoch:2025-01-01", 2147483648, 2147483648000000, 4294967296);
	/* The sign bit halves the time only where it is the time's. */
	is_capacity("discord", 4096, 4096000, 2199023255552);
	is_capacity("seata", 4096, 4096000, 2199023255552);
	is_capacity("worker:10 time:42:1ms sequence:12 epoch:2025-01-01", 4096, 4096000, 4398046511104);
	is_capacity("time:63:1ms sequence:1 epoch:2025-01-01", 2, 2000, UINT64_C(1) << 62);
	is_capacity("time:63:1ms epoch:2025-01-01", 1, 1000, UINT64_C(1) << 63);
	is_capacity("time:2:1s worker:31 tag:31 epoch:2025-01-01", 1, 1, 2);
	is_capacity("time:1:1s worker:31 tag:31 zero:1 epoch:2025-01-01", 1, 1, 1);
}

/* ---- random layouts ---- */

static uint64_t random_state = 20250101;

/* splitmix64: the same rounds on every machine */
static uint64_t
any(void)
{
	uint64_t	z = random_state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static int
below(int n)
{
	return (int) (any() % (uint64_t) n);
}

/* A value of so many bits, often an extreme one. */
static uint64_t
value_of(int bits)
{
	uint64_t	maximum = UINT64_MAX >> (64 - bits);

	switch (below(8))
	{
		case 0:
			return 0;
		case 1:
			return maximum;
		case 2:
			return maximum ^ (maximum >> 1);
		default:
			return any() & maximum;
	}
}

/* A layout of the text, and its model: whose each bit of an id is. */
typedef struct Model
{
	char		text[400];
	UidgenLayout layout;
	int			owner[64];		/* a field, or -1 */
} Model;

#define APPEND(...) append(text, sizeof(model->text), __VA_ARGS__)

static void
random_epoch(Model *model)
{
	char	   *text = model->text;
	int			year = 1 + below(9999);
	int			month = 1 + below(12);
	int			day = 1 + below(month_days(year, month));
	int			minutes = 0;
	int			second = 0;
	int			fraction = 0;
	int			zone = 0;		/* minutes */

	APPEND("epoch:%04d-%02d-%02d", year, month, day);
	if (below(4) != 0)
	{
		minutes = below(1440);
		APPEND("T%02d:%02d", minutes / 60, minutes % 60);
		if (below(4) != 0)
		{
			second = below(60);
			APPEND(":%02d", second);
			if (below(4) != 0)
			{
				int			digits = 1 + below(6);

				APPEND(".");
				for (int i = 0; i < 6; i++)
				{
					int			digit = i < digits ? below(10) : 0;

					fraction = fraction * 10 + digit;
					if (i < digits)
						APPEND("%d", digit);
				}
			}
		}
		/* Not at the ends, which a zone could leave. */
		if (year > 1 && year < 9999 && below(2) == 0)
		{
			bool		west = below(2) == 0;

			zone = below(16) * 60;
			APPEND("%c%02d", west ? '-' : '+', zone / 60);
			if (below(3) != 0)
			{
				int			rest = below(60);

				APPEND("%s%02d", below(2) == 0 ? ":" : "", rest);
				zone += rest;
			}
			if (west)
				zone = -zone;
		}
		else if (below(2) == 0)
			APPEND("Z");
	}
	model->layout.epoch = moment(year, month, day, minutes * 60 + second,
								 fraction) - zone * 60 * SECOND;
}

static void
random_unit(Model *model)
{
	char	   *text = model->text;
	int64_t		unit;

	switch (below(4))
	{
		case 0:
			unit = 1 + below(1000);
			break;
		case 1:
			unit = (1 + below(2000)) * INT64_C(1000);
			break;
		case 2:
			unit = (1 + below(3600)) * SECOND;
			break;
		default:
			unit = 1 + (int64_t) (any() % UINT64_C(3600000000));
			break;
	}
	model->layout.unit = unit;
	if (unit % SECOND == 0 && below(2) == 0)
		APPEND(":%" PRId64 "s", unit / SECOND);
	else if (unit % 1000 == 0 && below(2) == 0)
		APPEND(":%" PRId64 "ms", unit / 1000);
	else
		APPEND(":%" PRId64 "us", unit);
}

/* Any layout, its items in any spelling; half of them have the time first. */
static void
random_layout(Model *model)
{
	static const char *const blanks[] = {" ", "  ", "\n", "\t ", "\r\n"};
	UidgenLayout *layout = &model->layout;
	UidgenField fields[UIDGEN_FIELDS];
	char	   *text = model->text;
	int			nfields = 0;
	int			left = 64;
	int			epoch_at;
	int			bit = 0;

	memset(model, 0, sizeof(*model));
	for (int i = 0; i < UIDGEN_FIELDS; i++)
		if (i == UIDGEN_TIME || below(3) != 0)
		{
			/* Insert at a random place. */
			int			place = below(nfields + 1);

			for (int j = nfields++; j > place; j--)
				fields[j] = fields[j - 1];
			fields[place] = (UidgenField) i;
		}
	if (below(2) == 0)
		for (int i = 0; i < nfields; i++)
			if (fields[i] == UIDGEN_TIME)
			{
				fields[i] = fields[0];
				fields[0] = UIDGEN_TIME;
			}

	epoch_at = below(nfields + 1);
	for (int i = 0; i <= nfields; i++)
	{
		UidgenField field;
		int			room,
					bits;

		if (i == epoch_at)
		{
			random_epoch(model);
			APPEND("%s", blanks[below(5)]);
		}
		if (i == nfields)
			break;
		field = fields[i];
		room = left - (nfields - 1 - i);
		if (room > (field == UIDGEN_TIME ? 63 : 31))
			room = field == UIDGEN_TIME ? 63 : 31;
		/* To the last bit, often; and room for the others, mostly. */
		if (i == nfields - 1 && below(2) == 0)
			bits = room;
		else
			bits = 1 + below(field != UIDGEN_TIME && room > 12 ? 12 : room);
		left -= bits;
		APPEND("%s:%d", names[field], bits);
		if (field == UIDGEN_TIME)
			random_unit(model);
		APPEND("%s", blanks[below(5)]);
		if (i == 0 && field == UIDGEN_ZERO)
			continue;			/* is no part of the layout */
		layout->order[layout->nfields++] = field;
		layout->bits[field] = bits;
	}

	for (int i = layout->nfields - 1; i >= 0; i--)
	{
		UidgenField field = layout->order[i];

		layout->shift[field] = bit;
		for (int j = 0; j < layout->bits[field]; j++)
			model->owner[bit++] = (int) field;
	}
	layout->total_bits = bit;
	while (bit < 64)
		model->owner[bit++] = -1;
}

#define HOLDS(condition) \
	do { \
		if (!(condition)) \
			return #condition; \
	} while (0)

/* The text is read as the model says, and its canonical text is one. */
static const char *
check_text(const Model *model)
{
	UidgenLayout layout,
				again;
	UidgenComplaint error;
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];
	char		time[MOMENT_SIZE];
	char		want[300] = "";

	HOLDS(parse(model->text, &layout, &error));
	HOLDS(consistent(&layout));
	HOLDS(same(&layout, &model->layout));

	strcpy(text, canonical(&layout));
	HOLDS(strlen(text) <= 105);
	HOLDS(parse(text, &again, &error) && same(&again, &layout));

	for (int i = 0; i < layout.nfields; i++)
	{
		UidgenField field = layout.order[i];

		append(want, sizeof(want), "%s:%d", names[field], layout.bits[field]);
		if (field == UIDGEN_TIME)
		{
			bool		milli = layout.unit % 1000 == 0;
			bool		whole = layout.unit % SECOND == 0;

			append(want, sizeof(want), ":%" PRId64 "%s",
				   layout.unit / (whole ? SECOND : milli ? 1000 : 1),
				   whole ? "s" : milli ? "ms" : "us");
		}
		strcat(want, " ");
	}
	write_moment(layout.epoch, time);
	if (strcmp(time + 10, "T00:00:00.000000") == 0)
		time[10] = '\0';
	else
	{
		if (strcmp(time + 19, ".000000") == 0)
			time[19] = '\0';
		else if (strcmp(time + 23, "000") == 0)
			time[23] = '\0';
		strcat(time, "Z");
	}
	append(want, sizeof(want), "epoch:%s", time);
	HOLDS(strcmp(text, want) == 0);
	return NULL;
}

/* Every field goes in and comes out; what is no field's does not fit. */
static const char *
check_fields(const Model *model)
{
	const UidgenLayout *layout = &model->layout;
	uint64_t	values[UIDGEN_FIELDS] = {0};
	uint64_t	id = 0;
	uint64_t	put = 0;
	int			bit = below(64);
	bool		own;

	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];
		int			bits = layout->bits[field];

		if (field != UIDGEN_ZERO)
			values[field] = value_of(bits);
		id = (id << bits) + values[field];
	}
	for (int i = 0; i < UIDGEN_FIELDS; i++)
	{
		UidgenField field = (UidgenField) i;

		put |= uidgen_layout_put(layout, field, values[i]);
		HOLDS(uidgen_layout_get(layout, field, (int64_t) id) == values[i]);
		HOLDS(uidgen_layout_maximum(layout, field) ==
			  (layout->bits[i] ? UINT64_MAX >> (64 - layout->bits[i]) : 0));
	}
	HOLDS(put == id);
	HOLDS(uidgen_layout_fits(layout, (int64_t) id));
	own = model->owner[bit] >= 0 && model->owner[bit] != UIDGEN_ZERO;
	HOLDS(uidgen_layout_fits(layout, (int64_t) (id ^ (UINT64_C(1) << bit))) == own);
	HOLDS(uidgen_layout_first(layout) <= (int64_t) id);
	HOLDS(uidgen_layout_last(layout) >= (int64_t) id);
	HOLDS(uidgen_layout_min(layout, values[UIDGEN_TIME]) <= (int64_t) id);
	HOLDS(uidgen_layout_max(layout, values[UIDGEN_TIME]) >= (int64_t) id);
	return NULL;
}

/* The ends of a tick, and of everything, bit by bit. */
static const char *
check_ranges(const Model *model)
{
	const UidgenLayout *layout = &model->layout;
	uint64_t	tick = value_of(layout->bits[UIDGEN_TIME]);
	uint64_t	min = 0,
				max = 0,
				first = 0,
				last = 0;
	uint64_t	lifetime = uidgen_layout_lifetime(layout);
	int			time_bit = 0;

	for (int bit = 0; bit < 64; bit++)
	{
		uint64_t	one = UINT64_C(1) << bit;

		if (model->owner[bit] < 0 || model->owner[bit] == UIDGEN_ZERO)
			continue;
		*(bit == 63 ? &first : &last) |= one;
		if (model->owner[bit] != UIDGEN_TIME)
			*(bit == 63 ? &min : &max) |= one;
		else if (tick >> time_bit++ & 1)
		{
			min |= one;
			max |= one;
		}
	}
	HOLDS(uidgen_layout_min(layout, tick) == (int64_t) min);
	HOLDS(uidgen_layout_max(layout, tick) == (int64_t) max);
	HOLDS(uidgen_layout_first(layout) == (int64_t) first);
	HOLDS(uidgen_layout_last(layout) == (int64_t) last);
	HOLDS((int64_t) min <= (int64_t) max);

	/* The lifetime's last tick is good, the next is not. */
	tick = uidgen_layout_maximum(layout, UIDGEN_TIME);
	HOLDS(lifetime >= 1 && lifetime - 1 <= tick);
	if (model->owner[63] == UIDGEN_TIME)
	{
		HOLDS((int64_t) uidgen_layout_put(layout, UIDGEN_TIME, lifetime - 1) >= 0);
		HOLDS((int64_t) uidgen_layout_put(layout, UIDGEN_TIME, lifetime) < 0);
	}
	else
		HOLDS(lifetime - 1 == tick);
	return NULL;
}

/* Ids of a generating layout are in the order of their positions. */
static const char *
check_order(const Model *model)
{
	const UidgenLayout *layout = &model->layout;
	int			sequence_bits = layout->bits[UIDGEN_SEQUENCE];
	int			position_bits = layout->bits[UIDGEN_TIME] + sequence_bits;
	uint64_t	positions[2];
	int64_t		ids[2];
	uint64_t	constant = 0;
	uint64_t	values[UIDGEN_FIELDS] = {0};
	UidgenComplaint error;
	bool		generates;

	generates = model->owner[63] < 0 && sequence_bits > 0 &&
		layout->order[0] == UIDGEN_TIME && layout->bits[UIDGEN_TIME] >= 20;
	HOLDS(uidgen_layout_generates(layout, &error) == generates);
	if (!generates)
		return NULL;

	for (int f = UIDGEN_DATACENTER; f <= UIDGEN_TAG; f++)
		if (layout->bits[f])
		{
			values[f] = value_of(layout->bits[f]);
			constant |= uidgen_layout_put(layout, (UidgenField) f, values[f]);
		}
	positions[0] = value_of(position_bits);
	positions[1] = below(2) == 0 || positions[0] == 0 ? value_of(position_bits) :
		positions[0] - 1;
	for (int i = 0; i < 2; i++)
	{
		uint64_t	sequence = positions[i] % (UINT64_C(1) << sequence_bits);
		uint64_t	tick = positions[i] / (UINT64_C(1) << sequence_bits);

		ids[i] = uidgen_layout_place(layout, positions[i], constant);
		HOLDS(ids[i] >= 0 && uidgen_layout_fits(layout, ids[i]));
		HOLDS(uidgen_layout_get(layout, UIDGEN_TIME, ids[i]) == tick);
		HOLDS(uidgen_layout_get(layout, UIDGEN_SEQUENCE, ids[i]) == sequence);
		for (int f = UIDGEN_DATACENTER; f <= UIDGEN_TAG; f++)
			HOLDS(uidgen_layout_get(layout, (UidgenField) f, ids[i]) == values[f]);
	}
	HOLDS((positions[0] < positions[1]) == (ids[0] < ids[1]));
	HOLDS((positions[0] == positions[1]) == (ids[0] == ids[1]));
	return NULL;
}

/* Ticks and times, with a product of more than 64 bits where there is one. */
static const char *
check_ticks(const Model *model)
{
	const UidgenLayout *layout = &model->layout;
	uint64_t	unit = (uint64_t) layout->unit;
	uint64_t	tick = below(8) == 0 ? any() : value_of(layout->bits[UIDGEN_TIME]);
	uint64_t	low = (tick & 0xFFFFFFFF) * unit;	/* unit has 32 bits */
	uint64_t	high = (tick >> 32) * unit + (low >> 32);
	bool		beyond = high >> 32 != 0;
	uint64_t	since = high << 32 | (low & 0xFFFFFFFF);
	uint64_t	maximum = uidgen_layout_maximum(layout, UIDGEN_TIME);
	uint64_t	got;
	int64_t		time,
				want;

	if (!beyond)
	{
		/* epoch + since > INT64_MAX, taking care of either sign */
		if (layout->epoch >= 0)
			beyond = since > (uint64_t) (INT64_MAX - layout->epoch);
		else
			beyond = since > (uint64_t) INT64_MAX &&
				since - (uint64_t) INT64_MAX > (uint64_t) -layout->epoch;
	}
	HOLDS(uidgen_layout_time(layout, tick, &time) == !beyond);
	if (beyond)
		return NULL;
	want = layout->epoch;
	if (since > (uint64_t) INT64_MAX)
	{
		want += INT64_MAX;
		since -= (uint64_t) INT64_MAX;
	}
	want += (int64_t) since;
	HOLDS(time == want);

	HOLDS(uidgen_layout_tick(layout, time, &got) == (tick <= maximum));
	if (tick > maximum)
		return NULL;
	HOLDS(got == tick);
	if (time <= INT64_MAX - (layout->unit - 1))
		HOLDS(uidgen_layout_tick(layout, time + layout->unit - 1, &got) &&
			  got == tick);
	if (time <= INT64_MAX - layout->unit)
		HOLDS(uidgen_layout_tick(layout, time + layout->unit, &got) ==
			  (tick < maximum) && (tick == maximum || got == tick + 1));
	if (tick == 0)
		HOLDS(!uidgen_layout_tick(layout, time - 1, &got));
	else
		HOLDS(uidgen_layout_tick(layout, time - 1, &got) && got == tick - 1);
	return NULL;
}

static void
test_random(void)
{
	static const struct
	{
		const char *(*check) (const Model *model);
		const char *name;
	}			checks[] =
	{
		{check_text, "texts are read and written as the model does"},
		{check_fields, "fields go in and come out"},
		{check_ranges, "ends of ticks and layouts"},
		{check_order, "ids are in the order of positions"},
		{check_ticks, "ticks and times are each other's inverse"},
	};
	int			broken[5] = {0};
	int			generating = 0;
	int			whole = 0;
	Model		model;
	UidgenComplaint error;

	for (int round = 0; round < ROUNDS; round++)
	{
		random_layout(&model);
		generating += uidgen_layout_generates(&model.layout, &error);
		whole += model.layout.total_bits == 64;
		for (int c = 0; c < 5; c++)
		{
			const char *what = checks[c].check(&model);

			if (what && broken[c]++ == 0)
				printf("# round %d: %s\n#   for: %s\n", round, what,
					   canonical(&model.layout));
		}
	}
	for (int c = 0; c < 5; c++)
		ok(broken[c] == 0, "random layouts: %s", checks[c].name);
	ok(generating > ROUNDS / 10 && whole > ROUNDS / 10,
	   "random layouts: enough generate (%d), enough use 64 bits (%d)",
	   generating, whole);
}

/* No layout has a longer canonical text than this one. */
static void
test_longest(void)
{
	static const char longest[] =
		"datacenter:10 time:14:3599999999us sequence:10 worker:10 zero:10 tag:10 epoch:2025-12-31T23:59:59.999999Z";
	UidgenLayout layout = lay(longest);

	is_text(canonical(&layout), longest, "longest: is canonical");
	is_int((int64_t) strlen(longest), 105, "longest: its length");
	ok(strlen(longest) < UIDGEN_LAYOUT_TEXT_SIZE, "longest: fits its array");
}

int
main(void)
{
	make_calendar();
	test_vectors();
	test_grammar();
	test_epochs();
	test_every_day();
	test_refusals();
	test_long_items();
	test_generates();
	test_fields();
	test_place();
	test_ticks();
	test_ranges();
	test_capacities();
	test_longest();
	test_random();
	return done_testing();
}
