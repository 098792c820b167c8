/*
 * layout.c
 *	  Grammar, presets, checks and arithmetic of layouts.
 *
 * See layout.h for the words and the contract.  script/registry/33_layouts.sql has the
 * same grammar, presets and errors for servers without the library, which
 * test/t/registry_layouts.pl compares with these.  The civil calendar arithmetic is the usual
 * count of days from 1 March, which puts the leap day last.
 */
#include "core/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MICROSECONDS_PER_SECOND INT64_C(1000000)
#define MICROSECONDS_PER_DAY (86400 * MICROSECONDS_PER_SECOND)

#define BLANKS " \t\r\n"

#define GRAMMAR_HINT \
	"Items are time:BITS:UNIT, datacenter:BITS, worker:BITS, tag:BITS, sequence:BITS, zero:BITS and epoch:ISO-8601, separated by blanks."
#define EPOCH_HINT \
	"Write the epoch as epoch:2025-01-01 or epoch:2025-01-01T08:00:00.000+08:00."

static const char *const field_names[UIDGEN_FIELDS] = {
	[UIDGEN_TIME] = "time",
	[UIDGEN_DATACENTER] = "datacenter",
	[UIDGEN_WORKER] = "worker",
	[UIDGEN_TAG] = "tag",
	[UIDGEN_SEQUENCE] = "sequence",
	[UIDGEN_ZERO] = "zero",
};

/* Where the values come from: the published code or documentation of each. */
const UidgenPreset uidgen_presets[] = {
	{"default", UIDGEN_LAYOUT_DEFAULT,
	"uidgen's default: 1024 workers, 4096 ids a millisecond each, until 2094"},
	{"js53", "time:31:1s worker:8 sequence:14 epoch:2025-01-01",
	"uidgen's layout of seconds, fit for JavaScript numbers: ids stay below 2^53; 256 workers, 16384 ids a second each, until 2093"},
	{"js53ms", "time:41:1ms worker:3 sequence:9 epoch:2025-01-01",
	"uidgen's layout of milliseconds, fit for JavaScript numbers: ids stay below 2^53; 8 workers, 512 ids a millisecond each, until 2094"},
	{"seconds", "time:32:1s worker:14 sequence:17 epoch:2025-01-01",
	"uidgen's layout of seconds: 16384 workers, 131072 ids a second each, until 2161"},
	{"twitter", "time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z",
	"Twitter Snowflake"},
	{"snowflake", "time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z",
	"another name of twitter"},
	{"baidu", "time:28:1s worker:22 sequence:13 epoch:2016-05-19T16:00:00Z",
	"Baidu UidGenerator's defaults; used up since 2024-11-20: give a new epoch to generate with it"},
	{"leaf", "time:41:1ms worker:10 sequence:12 epoch:2010-11-04T01:42:54.657Z",
	"Meituan Leaf, snowflake mode"},
	{"mybatis-plus", "time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z",
	"MyBatis-Plus Sequence (ASSIGN_ID)"},
	{"discord", "time:42:1ms worker:5 tag:5 sequence:12 epoch:2015-01-01",
	"Discord, for decoding; its process is the tag"},
	{"instagram", "time:41:1ms worker:13 sequence:10 epoch:2011-08-24T21:07:01.721Z",
	"Instagram, for decoding; its shard is the worker"},
	{"sonyflake", "time:39:10ms sequence:8 worker:16 epoch:2014-09-01",
	"Sonyflake version 1"},
	{"sonyflake-v2", "time:39:10ms sequence:8 worker:16 epoch:2025-01-01",
	"Sonyflake version 2 with its defaults"},
	{"mastodon", "time:48:1ms sequence:16 epoch:1970-01-01",
	"Mastodon, for decoding; its lowest bits are a hash plus a counter"},
	{"tsid", "time:42:1ms worker:10 sequence:12 epoch:2020-01-01",
	"TSID with 10 bits of node, for decoding"},
	{"cosid", "time:41:1ms worker:10 sequence:12 epoch:2019-12-24T16:00:00Z",
	"CosId, milliseconds"},
	{"cosid-s", "time:31:1s worker:10 sequence:22 epoch:2019-12-24T16:00:00Z",
	"CosId, seconds"},
	{"cosid-js", "time:41:1ms worker:3 sequence:9 epoch:2019-12-24T16:00:00Z",
	"CosId safe for JavaScript, milliseconds"},
	{"cosid-js-s", "time:31:1s worker:3 sequence:19 epoch:2019-12-24T16:00:00Z",
	"CosId safe for JavaScript, seconds"},
	{"seata", "worker:10 time:41:1ms sequence:12 epoch:2020-05-02T16:00:00Z",
	"Seata since its worker moved to the front, for decoding"},
	{"seata-2020", "time:41:1ms worker:10 sequence:12 epoch:2020-05-02T16:00:00Z",
	"Seata before its worker moved to the front"},
	{"yitter", "time:51:1ms worker:6 sequence:6 epoch:2020-02-19T18:20:02Z",
	"Yitter IdGenerator with its defaults and its Java epoch"},
	{"pgedge", "time:41:1ms worker:10 sequence:12 epoch:2023-01-01",
	"pgEdge snowflake"},
	{"pgedge-2023", "time:41:1ms sequence:12 worker:10 epoch:2023-01-01",
	"pgEdge snowflake's first releases"},
	{"cockroachdb", "time:48:10us worker:15 epoch:2015-01-01",
	"CockroachDB unique_rowid(), for decoding; node ids of up to 15 bits, which its exclusive or leaves as they are"},
	{"timeshard", "time:40:1ms worker:10 sequence:14 epoch:2016-10-06T23:22:19.634Z",
	"BDR 2 timeshard, for decoding"},
	{"pgactive", "time:40:1ms worker:10 sequence:14 epoch:2016-10-06T23:22:19.634Z",
	"pgactive_snowflake_id_nextval(), for decoding"},
	{"pgdog", "time:41:1ms worker:10 sequence:12 epoch:2025-11-26T19:13:15Z",
	"PgDog's unique ids"},
	{"linkedin", "time:41:1ms sequence:22 epoch:1970-01-01",
	"LinkedIn, for decoding; what its other bits are is not published"},
	{"tiktok", "time:32:1s tag:16 sequence:16 epoch:1970-01-01",
	"TikTok, for decoding; what its other bits are is not published"},
	{NULL, NULL, NULL}
};

/* One word of a layout's text. */
typedef struct Item
{
	const char *start;
	int			length;
	int			position;		/* where its first character is, from 1 */
} Item;

const char *
uidgen_field_name(UidgenField field)
{
	return field_names[field];
}

static bool
fail(UidgenComplaint *error, const char *detail, const char *hint,
	 const char *message)
{
	snprintf(error->message, sizeof(error->message), "%s", message);
	snprintf(error->detail, sizeof(error->detail), "%s", detail);
	snprintf(error->hint, sizeof(error->hint), "%s", hint);
	return false;
}

/* The item is bad; say which, where and why. */
static bool
fail_item(UidgenComplaint *error, const Item *item, const char *hint,
		  const char *reason)
{
	char		detail[sizeof(error->detail)];
	int			shown = item->length > 60 ? 60 : item->length;

	/*
	 * Do not cut a multibyte character in two: in every encoding of a server
	 * all its bytes have the high bit.
	 */
	while (shown > 0 && shown < item->length &&
		   ((unsigned char) item->start[shown - 1] & 0x80))
		shown--;
	snprintf(detail, sizeof(detail), "Item \"%.*s%s\" at position %d: %s.",
			 shown, item->start, shown < item->length ? "..." : "",
			 item->position, reason);
	return fail(error, detail, hint, "invalid layout");
}

/* ASCII only, whatever the locale: these are the words of the grammar. */
static char
to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* Is this the word, which is given in lower case?  It may be written in any. */
static bool
is_word(const char *start, size_t length, const char *word)
{
	if (strlen(word) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (to_lower(start[i]) != word[i])
			return false;
	return true;
}

/* Next item at or after *cursor; false at the end of the text. */
static bool
next_item(const char *text, const char **cursor, Item *item)
{
	*cursor += strspn(*cursor, BLANKS);
	item->start = *cursor;
	item->length = (int) strcspn(*cursor, BLANKS);
	item->position = (int) (item->start - text) + 1;
	*cursor += item->length;
	return item->length > 0;
}

/*
 * Digits from *cursor, at most max_digits of them, as a number.  False if
 * there is none or there are more.
 */
static bool
scan_number(const char **cursor, const char *end, int max_digits, int64_t *value)
{
	int			digits = 0;

	*value = 0;
	while (*cursor < end && **cursor >= '0' && **cursor <= '9')
	{
		if (++digits > max_digits)
			return false;
		*value = *value * 10 + (**cursor - '0');
		(*cursor)++;
	}
	return digits > 0;
}

/* This character, a letter in either case; it is given in lower case. */
static bool
scan_char(const char **cursor, const char *end, char c)
{
	if (*cursor == end || to_lower(**cursor) != c)
		return false;
	(*cursor)++;
	return true;
}

/* Exactly `digits` digits, between min and max; more may follow. */
static bool
scan_part(const char **cursor, const char *end, int digits, int min, int max,
		  int *value)
{
	*value = 0;
	for (; digits > 0; digits--)
	{
		if (*cursor == end || **cursor < '0' || **cursor > '9')
			return false;
		*value = *value * 10 + (**cursor - '0');
		(*cursor)++;
	}
	return *value >= min && *value <= max;
}

static bool
is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int
days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, year 1 to 9999. */
static int64_t
days_from_date(int year, int month, int day)
{
	int			y = month <= 2 ? year - 1 : year;
	int			m = month <= 2 ? month + 9 : month - 3; /* March is 0 */

	return (int64_t) y * 365 + y / 4 - y / 100 + y / 400 +
		(m * 153 + 2) / 5 + day - 1 - 719468;
}

static void
date_from_days(int64_t days, int *year, int *month, int *day)
{
	/* Never a later year than the right one; the loop steps at most once. */
	*year = (int) ((days + 719468) * 400 / 146097);
	while (days_from_date(*year + 1, 1, 1) <= days)
		(*year)++;
	for (*month = 1; *month < 12; (*month)++)
		if (days_from_date(*year, *month + 1, 1) > days)
			break;
	*day = (int) (days - days_from_date(*year, *month, 1)) + 1;
}

/*
 * ISO 8601: a date, or a date, T and a time.  A fraction of a second (up to 6 digits) and a zone (Z, +HH, +HHMM or
 * +HH:MM) may follow.
 */
static bool
scan_epoch(const char *cursor, const char *end, int64_t *epoch)
{
	int			year,
				month,
				day;
	int			hour = 0,
				minute = 0,
				second = 0;
	int64_t		fraction = 0;
	int64_t		zone = 0;		/* seconds east of UTC */

	if (!scan_part(&cursor, end, 4, 1, 9999, &year) ||
		!scan_char(&cursor, end, '-') ||
		!scan_part(&cursor, end, 2, 1, 12, &month) ||
		!scan_char(&cursor, end, '-') ||
		!scan_part(&cursor, end, 2, 1, days_in_month(year, month), &day))
		return false;
	if (scan_char(&cursor, end, 't'))
	{
		if (!scan_part(&cursor, end, 2, 0, 23, &hour) ||
			!scan_char(&cursor, end, ':') ||
			!scan_part(&cursor, end, 2, 0, 59, &minute))
			return false;
		if (scan_char(&cursor, end, ':'))
		{
			if (!scan_part(&cursor, end, 2, 0, 59, &second))
				return false;
			if (scan_char(&cursor, end, '.'))
			{
				const char *start = cursor;

				if (!scan_number(&cursor, end, 6, &fraction))
					return false;
				for (int digits = (int) (cursor - start); digits < 6; digits++)
					fraction *= 10;
			}
		}
		if (!scan_char(&cursor, end, 'z') && cursor < end)
		{
			int			sign = *cursor == '-' ? -1 : 1;
			int			zone_hour,
						zone_minute = 0;

			if (!scan_char(&cursor, end, '+') && !scan_char(&cursor, end, '-'))
				return false;
			if (!scan_part(&cursor, end, 2, 0, 15, &zone_hour))
				return false;
			if (cursor < end)
			{
				scan_char(&cursor, end, ':');
				if (!scan_part(&cursor, end, 2, 0, 59, &zone_minute))
					return false;
			}
			zone = sign * (zone_hour * INT64_C(3600) + zone_minute * INT64_C(60));
		}
	}
	if (cursor != end)
		return false;
	*epoch = days_from_date(year, month, day) * MICROSECONDS_PER_DAY +
		(hour * INT64_C(3600) + minute * INT64_C(60) + second - zone) *
		MICROSECONDS_PER_SECOND + fraction;
	/* The zone must not carry it out of the years that can be printed. */
	return *epoch >= days_from_date(1, 1, 1) * MICROSECONDS_PER_DAY &&
		*epoch < (days_from_date(9999, 12, 31) + 1) * MICROSECONDS_PER_DAY;
}

/* NUMBER and us, ms or s, in microseconds. */
static bool
scan_unit(const char *cursor, const char *end, int64_t *unit)
{
	int64_t		scale;

	if (!scan_number(&cursor, end, 10, unit))
		return false;
	if (is_word(cursor, (size_t) (end - cursor), "us"))
		scale = 1;
	else if (is_word(cursor, (size_t) (end - cursor), "ms"))
		scale = 1000;
	else if (is_word(cursor, (size_t) (end - cursor), "s"))
		scale = MICROSECONDS_PER_SECOND;
	else
		return false;
	if (*unit < 1 || *unit > UIDGEN_UNIT_MAX / scale)
		return false;
	*unit *= scale;
	return true;
}

/* State of one parse: the layout so far, and what may still be given. */
typedef struct Parse
{
	UidgenLayout *layout;
	bool		overriding;		/* a preset's fields are there already */
	bool		given[UIDGEN_FIELDS];
	bool		epoch_given;
} Parse;

static bool
parse_field(Parse *parse, const Item *item, UidgenField field,
			const char *cursor, UidgenComplaint *error)
{
	UidgenLayout *layout = parse->layout;
	const char *end = item->start + item->length;
	int			max = field == UIDGEN_TIME ? UIDGEN_TIME_BITS_MAX :
		UIDGEN_FIELD_BITS_MAX;
	int64_t		bits;
	char		reason[96];

	if (parse->given[field])
		return fail_item(error, item, "Each item may be given once.",
						 "the field is given twice");
	if (parse->overriding && layout->bits[field] == 0)
		return fail_item(error, item,
						 "Spell the whole layout out to change its fields.",
						 "the preset has no such field to replace");
	if (!scan_number(&cursor, end, 3, &bits) || bits < 1 || bits > max)
	{
		snprintf(reason, sizeof(reason),
				 "its number of bits must be from 1 to %d", max);
		return fail_item(error, item, GRAMMAR_HINT, reason);
	}
	if (field == UIDGEN_TIME)
	{
		if (!scan_char(&cursor, end, ':') ||
			!scan_unit(cursor, end, &layout->unit))
			return fail_item(error, item,
							 "Write the time as time:41:1ms, for example.",
							 "its unit must be a number and us, ms or s, at most an hour");
	}
	else if (cursor != end)
		return fail_item(error, item, GRAMMAR_HINT,
						 "nothing may follow its number of bits");

	parse->given[field] = true;
	if (layout->bits[field] == 0)
		layout->order[layout->nfields++] = field;
	layout->bits[field] = (int) bits;
	return true;
}

/* Lists have commas elsewhere, so it is a frequent error. */
static bool
has_comma(const Item *item, UidgenComplaint *error)
{
	return memchr(item->start, ',', (size_t) item->length) != NULL &&
		!fail_item(error, item, "Separate items by blanks, without commas.", "it has a comma");
}

static bool
parse_item(Parse *parse, const Item *item, UidgenComplaint *error)
{
	const char *colon = memchr(item->start, ':', (size_t) item->length);
	size_t		name_length = colon ? (size_t) (colon - item->start) : 0;

	if (colon && is_word(item->start, name_length, "epoch"))
	{
		if (parse->epoch_given)
			return fail_item(error, item, "Each item may be given once.",
							 "the epoch is given twice");
		if (!scan_epoch(colon + 1, item->start + item->length,
						&parse->layout->epoch))
			return fail_item(error, item, EPOCH_HINT,
							 "it is not a date or time of ISO 8601");
		parse->epoch_given = true;
		return true;
	}
	if (has_comma(item, error))
		return false;
	for (int field = 0; colon && field < UIDGEN_FIELDS; field++)
		if (is_word(item->start, name_length, field_names[field]))
			return parse_field(parse, item, (UidgenField) field, colon + 1,
							   error);
	return fail_item(error, item, GRAMMAR_HINT,
					 colon ? "there is no such field" :
					 "it is neither a preset at the start nor NAME:VALUE");
}

static bool
parse_items(Parse *parse, const char *text, const char *cursor,
			UidgenComplaint *error)
{
	Item		item;

	while (next_item(text, &cursor, &item))
		if (!parse_item(parse, &item, error))
			return false;
	return true;
}

static const UidgenPreset *
find_preset(const Item *item)
{
	const UidgenPreset *preset;

	for (preset = uidgen_presets; preset->name; preset++)
		if (is_word(item->start, (size_t) item->length, preset->name))
			return preset;
	return NULL;
}

bool
uidgen_layout_parse(const char *text, UidgenLayout *layout,
					UidgenComplaint *error)
{
	Parse		parse = {.layout = layout};
	const UidgenPreset *preset;
	const char *cursor = text;
	Item		first;
	char		detail[sizeof(error->detail)];

	memset(layout, 0, sizeof(*layout));
	if (!next_item(text, &cursor, &first))
		return fail(error, "The layout is empty.", GRAMMAR_HINT,
					"invalid layout");
	preset = find_preset(&first);
	if (preset)
	{
		if (!parse_items(&parse, preset->layout, preset->layout, error))
			return false;
		memset(&parse, 0, sizeof(parse));
		parse.layout = layout;
		parse.overriding = true;
	}
	else if (has_comma(&first, error))
		return false;
	else if (!memchr(first.start, ':', (size_t) first.length))
		return fail_item(error, &first,
						 "The view uidgen.presets lists the presets.",
						 "there is no such preset");
	else
		cursor = text;
	if (!parse_items(&parse, text, cursor, error))
		return false;

	if (layout->bits[UIDGEN_TIME] == 0)
		return fail(error, "It has no time field.", GRAMMAR_HINT,
					"invalid layout");
	if (!preset && !parse.epoch_given)
		return fail(error, "It has no epoch.", EPOCH_HINT, "invalid layout");

	for (int i = layout->nfields - 1; i >= 0; i--)
	{
		layout->shift[layout->order[i]] = layout->total_bits;
		layout->total_bits += layout->bits[layout->order[i]];
	}
	if (layout->total_bits > 64)
	{
		snprintf(detail, sizeof(detail),
				 "Its fields take %d bits together; an id has 64.",
				 layout->total_bits);
		return fail(error, detail, "Give fewer bits to some of the fields.",
					"invalid layout");
	}
	/* A zero in front of everything is what an id has there anyway. */
	if (layout->order[0] == UIDGEN_ZERO)
	{
		layout->total_bits -= layout->bits[UIDGEN_ZERO];
		layout->bits[UIDGEN_ZERO] = 0;
		layout->shift[UIDGEN_ZERO] = 0;
		layout->nfields--;
		memmove(layout->order, layout->order + 1,
				sizeof(layout->order[0]) * (size_t) layout->nfields);
	}
	return true;
}

bool
uidgen_layout_generates(const UidgenLayout *layout, UidgenComplaint *error)
{
	static const char message[] = "layout cannot generate ids";
	char		detail[sizeof(error->detail)];

	if (layout->order[0] != UIDGEN_TIME)
	{
		snprintf(detail, sizeof(detail),
				 "Its first field is %s, so its ids are not in the order of time.",
				 field_names[layout->order[0]]);
		return fail(error, detail, "Put the time first.", message);
	}
	if (layout->bits[UIDGEN_TIME] < UIDGEN_GENERATING_TIME_BITS_MIN)
	{
		snprintf(detail, sizeof(detail),
				 "Its time has %d bits; at least %d are needed.",
				 layout->bits[UIDGEN_TIME], UIDGEN_GENERATING_TIME_BITS_MIN);
		return fail(error, detail, "Give more bits to the time.", message);
	}
	if (layout->bits[UIDGEN_SEQUENCE] == 0)
		return fail(error, "It has no sequence.", "Add a sequence field.",
					message);
	if (layout->total_bits > UIDGEN_GENERATING_BITS_MAX)
	{
		snprintf(detail, sizeof(detail),
				 "Its fields take %d bits together; with more than %d, ids could be negative.",
				 layout->total_bits, UIDGEN_GENERATING_BITS_MAX);
		return fail(error, detail, "Give fewer bits to some of the fields.",
					message);
	}
	return true;
}

void
uidgen_unit_print(int64_t unit, char text[UIDGEN_UNIT_TEXT_SIZE])
{
	if (unit % MICROSECONDS_PER_SECOND == 0)
		snprintf(text, UIDGEN_UNIT_TEXT_SIZE, "%" PRId64 "s", unit / MICROSECONDS_PER_SECOND);
	else if (unit % 1000 == 0)
		snprintf(text, UIDGEN_UNIT_TEXT_SIZE, "%" PRId64 "ms", unit / 1000);
	else
		snprintf(text, UIDGEN_UNIT_TEXT_SIZE, "%" PRId64 "us", unit);
}

void
uidgen_epoch_print(int64_t epoch, char text[UIDGEN_EPOCH_TEXT_SIZE])
{
	int64_t		days = epoch / MICROSECONDS_PER_DAY;
	int64_t		rest = epoch % MICROSECONDS_PER_DAY;
	size_t		used = 0;
	int			year,
				month,
				day;

#define APPEND(...) \
	used += (size_t) snprintf(text + used, UIDGEN_EPOCH_TEXT_SIZE - used, __VA_ARGS__)

	if (rest < 0)
	{
		days--;
		rest += MICROSECONDS_PER_DAY;
	}
	date_from_days(days, &year, &month, &day);
	APPEND("%04d-%02d-%02d", year, month, day);
	if (rest != 0)
	{
		int			seconds = (int) (rest / MICROSECONDS_PER_SECOND);
		int			fraction = (int) (rest % MICROSECONDS_PER_SECOND);

		APPEND("T%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60,
			   seconds % 60);
		if (fraction % 1000 != 0)
			APPEND(".%06d", fraction);
		else if (fraction != 0)
			APPEND(".%03d", fraction / 1000);
		APPEND("Z");
	}
#undef APPEND
}

void
uidgen_layout_print(const UidgenLayout *layout,
					char text[UIDGEN_LAYOUT_TEXT_SIZE])
{
	char		unit[UIDGEN_UNIT_TEXT_SIZE];
	char		epoch[UIDGEN_EPOCH_TEXT_SIZE];
	size_t		used = 0;

	uidgen_unit_print(layout->unit, unit);
	uidgen_epoch_print(layout->epoch, epoch);
	for (int i = 0; i < layout->nfields; i++)
	{
		UidgenField field = layout->order[i];

		used += (size_t) snprintf(text + used, UIDGEN_LAYOUT_TEXT_SIZE - used,
								  field == UIDGEN_TIME ? "%s:%d:%s " : "%s:%d ",
								  field_names[field], layout->bits[field], unit);
	}
	snprintf(text + used, UIDGEN_LAYOUT_TEXT_SIZE - used, "epoch:%s", epoch);
}

/* The bits of an id that one field takes. */
static uint64_t
field_mask(const UidgenLayout *layout, UidgenField field)
{
	return uidgen_layout_put(layout, field, uidgen_layout_maximum(layout, field));
}

/* The bits of an id that may be set. */
static uint64_t
layout_mask(const UidgenLayout *layout)
{
	uint64_t	mask = 0;

	for (int i = 0; i < layout->nfields; i++)
		if (layout->order[i] != UIDGEN_ZERO)
			mask |= field_mask(layout, layout->order[i]);
	return mask;
}

bool
uidgen_layout_fits(const UidgenLayout *layout, int64_t id)
{
	return ((uint64_t) id & ~layout_mask(layout)) == 0;
}

bool
uidgen_layout_tick(const UidgenLayout *layout, int64_t time, uint64_t *tick)
{
	if (time < layout->epoch)
		return false;
	/* The difference of two int64 in order always fits uint64. */
	*tick = ((uint64_t) time - (uint64_t) layout->epoch) / (uint64_t) layout->unit;
	return *tick <= uidgen_layout_maximum(layout, UIDGEN_TIME);
}

bool
uidgen_layout_time(const UidgenLayout *layout, uint64_t tick, int64_t *time)
{
	uint64_t	room = (uint64_t) INT64_MAX - (uint64_t) layout->epoch;

	if (tick > room / (uint64_t) layout->unit)
		return false;
	*time = (int64_t) ((uint64_t) layout->epoch + tick * (uint64_t) layout->unit);
	return true;
}

/*
 * The smallest (want 0) or largest (want 1) number, in bigint's order, whose
 * bits outside `fixed` are free within the layout: there the sign bit counts
 * the other way round.
 */
static int64_t
extreme(const UidgenLayout *layout, uint64_t value, uint64_t fixed, bool largest)
{
	uint64_t	sign = UINT64_C(1) << 63;
	uint64_t	free_bits = layout_mask(layout) & ~fixed;

	return (int64_t) (value | (free_bits & (largest ? ~sign : sign)));
}

int64_t
uidgen_layout_min(const UidgenLayout *layout, uint64_t tick)
{
	return extreme(layout, uidgen_layout_put(layout, UIDGEN_TIME, tick),
				   field_mask(layout, UIDGEN_TIME), false);
}

int64_t
uidgen_layout_max(const UidgenLayout *layout, uint64_t tick)
{
	return extreme(layout, uidgen_layout_put(layout, UIDGEN_TIME, tick),
				   field_mask(layout, UIDGEN_TIME), true);
}

int64_t
uidgen_layout_first(const UidgenLayout *layout)
{
	return extreme(layout, 0, 0, false);
}

int64_t
uidgen_layout_last(const UidgenLayout *layout)
{
	return extreme(layout, 0, 0, true);
}

int64_t
uidgen_layout_tick_capacity(const UidgenLayout *layout)
{
	return INT64_C(1) << layout->bits[UIDGEN_SEQUENCE];
}

int64_t
uidgen_layout_second_capacity(const UidgenLayout *layout)
{
	/* At most 2^31 * 10^6: no overflow. */
	return uidgen_layout_tick_capacity(layout) * MICROSECONDS_PER_SECOND /
		layout->unit;
}

uint64_t
uidgen_layout_lifetime(const UidgenLayout *layout)
{
	int			bits = layout->bits[UIDGEN_TIME];

	if (layout->shift[UIDGEN_TIME] + bits == 64)
		bits--;
	return UINT64_C(1) << bits;
}
