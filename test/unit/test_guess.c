/*
 * test_guess.c
 *	  Proves src/core/reading.c and guess.c without a server, under the sanitizers.
 *
 * What is expected comes from elsewhere than the code under test: ids and ULIDs that others
 * published, the texts of textform.c, which has a test of its own, and costs that were added
 * up by hand from the rules in guess.h.  Each text lies in a heap block of its own size,
 * without a terminating zero, so that a step outside is seen.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/guess.h"
#include "core/reading.h"
#include "core/textform.h"

#include <stdlib.h>

#include "tap.h"

#define ROUNDS 30000
#define DAY (86400 * INT64_C(1000000))
#define YEAR_2010 INT64_C(1262304000000000)
#define YEAR_2026 INT64_C(1767225600000000)

static uint64_t
random_number(void)
{
	static uint64_t state = 42;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * UINT64_C(0x2545F4914F6CDD1D);
}

/* ---- readings ---- */

static UidgenReading readings[UIDGEN_READINGS_MAX];
static UidgenComplaint complaint;

static int
read_bytes(const char *text, size_t length)
{
	char	   *block = malloc(length > 0 ? length : 1);
	int			n;

	if (length > 0)
		memcpy(block, text, length);
	memset(&complaint, 0, sizeof(complaint));
	/* Where there is no text, there is nothing that may be looked at. */
	n = uidgen_read_text(length > 0 ? block : block + 1, length, readings, &complaint);
	free(block);
	return n;
}

/* The forms of a text, in their order, as one word; what it holds is in `readings`. */
static const char *
forms_of(const char *text)
{
	static char forms[80];
	int			n = read_bytes(text, strlen(text));

	forms[0] = '\0';
	for (int i = 0; i < n; i++)
	{
		strcat(forms, i > 0 ? " " : "");
		strcat(forms, uidgen_form_name(readings[i].form));
	}
	return n > 0 ? forms : complaint.message[0] && complaint.detail[0] && complaint.hint[0] ? "none" : "none, without a complaint";
}

static void
test_forms(void)
{
	static const struct
	{
		const char *text;
		const char *forms;
		int64_t		first;		/* the id of the first reading */
	}			cases[] = {
		{"0", "decimal", 0},
		{"-0", "decimal", 0},
		{"1278735254782615552", "decimal", INT64_C(1278735254782615552)},
		{"-1", "decimal", -1},
		{"-9223372036854775808", "decimal", INT64_MIN},
		{"9223372036854775807", "decimal", INT64_MAX},
		{"9223372036854775808", "decimal", INT64_MIN},
		{"18446744073709551615", "decimal", -1},
		{"18446744073709551616", "none", 0},
		{"-9223372036854775809", "none", 0},
		{"99999999999999999999", "none", 0},
		{"123456789012345678901", "none", 0},
		{"00", "none", 0},
		{"-", "none", 0},
		{"--1", "none", 0},
		{"1-", "none", 0},
		{"1.0", "none", 0},
		{"", "none", 0},
		{" \t\r\n", "none", 0},
		{" \t\r\n7\n ", "decimal", 7},
		{"7 7", "none", 0},
		{"06Y784EKEPG00", "base32", INT64_C(250205019140997120)},
		{"06y7-84ek-epgOO", "base32", INT64_C(250205019140997120)},
		{"-6Y784EKEPG000", "none", 0},
		{"1agmJadevWK", "base58 base62", INT64_C(250205019140997120)},
		{"0ITwNfgmvQG", "base62", INT64_C(250205019140997120)},
		{"0378e823a6eb4000", "hex", INT64_C(250205019140997120)},
		{"0378E823A6EB4000", "hex", INT64_C(250205019140997120)},
		{"0x378e823a6eb4000", "hex", INT64_C(250205019140997120)},
		{"0XFFFFFFFFFFFFFFFF", "hex", -1},
		{"0x0", "hex", 0},
		{"0x", "none", 0},
		{"0xg", "none", 0},
		{"0x123456789", "hex", INT64_C(0x123456789)},	/* or base62 */
		{"0x12345678901", "hex", INT64_C(0x12345678901)},	/* or base32 */
		{"0x1ffffffffffffffff", "none", 0},
		{"1234567890123", "decimal base32", INT64_C(1234567890123)},
		{"12345678912", "decimal base58 base62", INT64_C(12345678912)},
		{"12345678902", "decimal base62", INT64_C(12345678902)},
		{"1234567890123456", "decimal hex", INT64_C(1234567890123456)},
		{"0234567890123", "base32", INT64_C(75581742757446723)},
		{"GZZZZZZZZZZZZ", "none", 0},	/* more than 64 bits */
		{"01a202ca-0a9b-7037-a3a0-8e9bad00000f", "uuid", INT64_C(250205019140997120)},
		{"01A202CA0A9B7037A3A08E9BAD00000F", "uuid", INT64_C(250205019140997120)},
		{"01a202ca-0a9b-4037-a3a0-8e9bad00000f", "none", 0},
		{"01a202ca-0a9b-7037-23a0-8e9bad00000f", "none", 0},
		{"01a202ca0-a9b-7037-a3a0-8e9bad00000f", "none", 0},
		{"01a202ca-0a9b-7037-a3a0-8e9bad00000g", "none", 0},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid", 0},
		{"01arz3ndektsv4rrffq69g5fav", "ulid", 0},
		{"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ulid", 0},
		{"8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "none", 0},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAU", "none", 0},
		{"01ARZ3NDEKUSV4RRFFQ69G5FAV", "none", 0},
		{"01ARZ3NUEKTSV4RRFFQ69G5FAV", "none", 0},
		{"01ARZ3NDEK-SV4RRFFQ69G5FAV", "none", 0},
		{"01234567890123456789012345", "ulid", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const char *forms = forms_of(cases[i].text);
		bool		has_id = strcmp(forms, "none") != 0 && strcmp(forms, "ulid") != 0;

		ok(strcmp(forms, cases[i].forms) == 0 && (!has_id || (readings[0].has_id && readings[0].id == cases[i].first)),
		   "\"%.40s\" is read as %s", cases[i].text, cases[i].forms);
	}
}

/* A character that may not stand there, at each place. */
static void
test_letters(const char *good, const char *forms, char letter)
{
	char		text[40];
	int			taken = 0;

	ok(strcmp(forms_of(good), forms) == 0, "\"%s\" is read as %s", good, forms);
	for (size_t i = 0; good[i] != '\0'; i++)
	{
		strcpy(text, good);
		text[i] = letter;
		taken += good[i] != letter && strcmp(forms_of(text), "none") != 0;
	}
	ok(taken == 0, "... and with %c at any other place as nothing", letter);
}

static void
test_times(void)
{
	forms_of("01ARZ3NDEKTSV4RRFFQ69G5FAV");
	is_int(readings[0].time, INT64_C(1469922850259000), "the time of the ULID that its specification shows");
	ok(readings[0].has_time && !readings[0].has_id, "it has a time and no id");
	forms_of("7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	is_int(readings[0].time, ((INT64_C(1) << 48) - 1) * 1000, "the last ULID");
	forms_of("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
	is_int(readings[0].time, INT64_C(1645557742000000), "the time of the uuid that RFC 9562 shows");
	ok(readings[0].has_time && !readings[0].has_id, "it has a time and no id");
	forms_of("01a202ca-0a9b-7037-a3a0-8e9bad00000f");
	is_int(readings[0].time, INT64_C(1795343125147000), "the time of a uuid of an id");
}

/* A uuid without a time: why. */
static void
test_other_uuids(void)
{
	static const struct
	{
		const char *uuid;
		const char *detail;
	}			cases[] = {
		{"01a202ca-0a9b-4037-a3a0-8e9bad00000f", "It is a uuid of version 4."},
		{"c232ab00-9414-11ec-b3c8-9f6bdeced846", "It is a uuid of version 1."},
		{"ffffffff-ffff-ffff-bfff-ffffffffffff", "It is a uuid of version 15."},
		{"01a202ca-0a9b-7080-23a0-8e9bad00000f", "It is a uuid whose variant is not that of RFC 9562."},
		{"01a202ca-0a9b-7080-6380-8e9bad00000f", "It is a uuid whose variant is not that of RFC 9562."},
		{"01a202ca-0a9b-7080-c380-8e9bad00000f", "It is a uuid whose variant is not that of RFC 9562."},
		{"00000000-0000-0000-0000-000000000000", "It is a uuid whose variant is not that of RFC 9562."},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		forms_of(cases[i].uuid);
		ok(strcmp(complaint.detail, cases[i].detail) == 0, "%s: %s", cases[i].uuid, cases[i].detail);
	}
}

/* Each form of each id is read, and the readings are in the order of the forms. */
static void
test_round_trips(void)
{
	int			missed = 0;
	int			disordered = 0;

	for (int round = 0; round < ROUNDS; round++)
	{
		int64_t		id = (int64_t) (random_number() >> random_number() % 64);
		char		text[UIDGEN_TEXT_FORM_MAX + 24];

		for (int form = -1; form < UIDGEN_TEXT_FORMS; form++)
		{
			int			n;
			bool		found = false;

			if (form < 0)
				snprintf(text, sizeof(text), "%" PRId64, id);
			else
			{
				uidgen_textform_write((UidgenTextForm) form, id, text);
				text[uidgen_textform_length((UidgenTextForm) form)] = '\0';
			}
			n = read_bytes(text, strlen(text));
			for (int i = 0; i < n; i++)
			{
				found = found || (readings[i].id == id &&
								  strcmp(uidgen_form_name(readings[i].form),
										 form < 0 ? "decimal" : uidgen_textform_name((UidgenTextForm) form)) == 0);
				disordered += i > 0 && readings[i].form <= readings[i - 1].form;
			}
			missed += !found;
		}
	}
	is_int(missed, 0, "each id is found in each of its forms");
	is_int(disordered, 0, "readings are in the order of the forms");
}

/* Whatever the bytes are, what is said of them is complete. */
static void
test_bytes(void)
{
	int			incomplete = 0;

	for (int round = 0; round < ROUNDS; round++)
	{
		static const char some[] = "0123456789abcdefABCDEFxXzZuUiIlLoO- \t-\303\244\377";
		char		text[64];
		size_t		length = random_number() % sizeof(text);

		for (size_t i = 0; i < length; i++)
			text[i] = some[random_number() % (sizeof(some) - 1)];
		if (read_bytes(text, length) == 0)
			incomplete += !complaint.message[0] || !complaint.detail[0] || !complaint.hint[0];
	}
	is_int(incomplete, 0, "what is no id has a message, a detail and a hint");
}

/* ---- guesses ---- */

static UidgenLayout
layout_of(const char *text)
{
	UidgenLayout layout;
	UidgenComplaint error;

	if (!uidgen_layout_parse(text, &layout, &error))
	{
		printf("Bail out! %s: %s\n", text, error.detail);
		exit(1);
	}
	return layout;
}

static int64_t
cost_of(const char *text, unsigned spread, int64_t id, int64_t since, int64_t until)
{
	UidgenLayout layout = layout_of(text);
	UidgenHabits habits = {.spread = spread};
	UidgenMicroseconds time;

	return uidgen_guess_cost(&layout, &habits, id, since, until, &time);
}

static void
test_costs(void)
{
	static const char ticks[] = "time:20:1s worker:8 tag:4 sequence:12 epoch:2026-01-01";
	UidgenLayout layout = layout_of(ticks);
	UidgenHabits habits = {.rarity = 0};
	UidgenMicroseconds time;
	const int64_t since = YEAR_2026;
	const int64_t until = YEAR_2026 + 1000 * INT64_C(1000000);	/* 1000 ticks: 10 bits */
	const int64_t half = INT64_C(500) << 24;

	is_int(cost_of(ticks, 0, half, since, until), 10 + 1 + 1 + 1, "time, and fields that are zero");
	is_int(cost_of(ticks, 0, half | 1, since, until), 10 + 1 + 1 + 4 + 1, "sequence 1: its length, of 12, and itself");
	is_int(cost_of(ticks, 0, half | 4095, since, until), 10 + 1 + 1 + 4 + 12, "sequence 4095");
	is_int(cost_of(ticks, 0, half | 5 << 16, since, until), 10 + 3 + 3 + 1 + 1, "worker 5: its length, of 8, and itself");
	is_int(cost_of(ticks, 1U << UIDGEN_WORKER, half | 5 << 16, since, until), 10 + 8 + 1 + 1, "workers that are spread");
	is_int(cost_of(ticks, 1U << UIDGEN_WORKER, half, since, until), 10 + 8 + 1 + 1, "... also where it is 0");
	is_int(cost_of(ticks, 0, half, since, until - INT64_C(1000000) * 490), 9 + 3, "less time, fewer bits");
	is_int(cost_of(ticks, 0, half, since - 12 * 365 * DAY, since + 1460 * DAY + INT64_C(500000000)), 29 + 1 + 3, "a time of four years before");
	is_int(cost_of("time:20:10ms zero:3 worker:8 epoch:2026-01-01", 0, INT64_C(50000) << 11, since, until), 17 + 1, "a zero says nothing");

	is_int(cost_of("worker:8 time:20:1s epoch:2026-01-01", 0, INT64_C(5) << 20 | 500, since, until), 10 + 3 + 3, "a field above the time");
	is_int(cost_of("zero:1 time:20:1s datacenter:4 worker:8 tag:4 sequence:12 epoch:2026-01-01", 0, INT64_C(500) << 28, since, until), 10 + 4, "all fields that there are");

	is_int(uidgen_guess_cost(&layout, &habits, half, since, until, &time), 13, "the time is told");
	is_int(time, YEAR_2026 + 500 * INT64_C(1000000), "... as the beginning of its tick");
	is_int(cost_of(ticks, 0, half, time, until), 12, "since the very time");
	ok(cost_of(ticks, 0, half, time + 1, until) < 0, "since a microsecond later");
	is_int(cost_of(ticks, 0, half, since, time), 12, "until the very time");
	ok(cost_of(ticks, 0, half, since, time - 1) < 0, "until a microsecond earlier");
	ok(cost_of(ticks, 0, half | INT64_C(1) << 44, since, until) < 0, "a bit that is of no field");
	ok(cost_of(ticks, 0, -1, since, until) < 0, "a negative id of 44 bits");
	ok(cost_of("time:63:3600s epoch:2026-01-01", 0, INT64_MAX, since, INT64_MAX) < 0, "a time beyond 64 bits");
	ok(cost_of("time:63:1us epoch:0001-01-01", 0, INT64_MAX, INT64_MIN, INT64_MAX) > 0, "all the time that there is");

	habits.rarity = 7;
	is_int(uidgen_guess_cost(&layout, &habits, half, since, until, &time), 13 + 7, "rare ones take more");
	habits.positive = 1U << UIDGEN_TAG;
	ok(uidgen_guess_cost(&layout, &habits, half, since, until, &time) < 0, "a field that is never 0");
	is_int(uidgen_guess_cost(&layout, &habits, half | 1 << 12, since, until, &time), 10 + 1 + 3 + 1 + 7, "... and 1");

	ok(uidgen_guess_small(12, 0) && uidgen_guess_small(12, 127) && !uidgen_guess_small(12, 128), "small values of 12 bits");
	ok(uidgen_guess_small(5, 1) && !uidgen_guess_small(5, 2) && !uidgen_guess_small(1, 0), "and of 5 and of 1");
}

/* Whatever a preset's fields hold, its ids are possible, and told in a number of bits that makes sense. */
static void
test_presets(void)
{
	int			bad = 0;

	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
	{
		UidgenLayout layout = layout_of(preset->layout);

		for (int round = 0; round < 100; round++)
		{
			int64_t		earliest = layout.epoch > YEAR_2010 ? layout.epoch : YEAR_2010;
			uint64_t	tick;
			uint64_t	id = 0;
			int64_t		cost;
			UidgenMicroseconds time;

			if (!uidgen_layout_tick(&layout, earliest + (int64_t) (random_number() % (uint64_t) (300 * DAY)), &tick))
				exit(1);
			for (int i = 0; i < layout.nfields; i++)
			{
				UidgenField field = layout.order[i];

				if (field != UIDGEN_TIME && field != UIDGEN_ZERO)
					id |= uidgen_layout_put(&layout, field, (random_number() & uidgen_layout_maximum(&layout, field)) | (preset->habits.positive >> field & 1));
			}
			id |= uidgen_layout_put(&layout, UIDGEN_TIME, tick);
			cost = uidgen_guess_cost(&layout, &preset->habits, (int64_t) id, earliest, YEAR_2026 + 400 * DAY, &time);

			/*
			 * At most: 64 bits, the rarity, the age, and for each field with
			 * the length of its length.
			 */
			bad += cost < 1 || cost > 64 + 7 + 6 + 4 * 5;
		}
	}
	is_int(bad, 0, "every preset tells its own ids, in no absurd number of bits");
	for (const UidgenPreset *preset = uidgen_presets; preset->name; preset++)
		ok(preset->habits.rarity >= 0 && preset->habits.rarity <= 7 && strcspn(preset->note, ",;:") > 3, "%s has a rarity and a name", preset->name);
}

int
main(void)
{
	test_forms();
	test_letters("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ulid", 'U');
	test_letters("01a202ca-0a9b-7037-a3a0-8e9bad00000f", "uuid", 'g');
	test_letters("01a202ca-0a9b-7037-a3a0-8e9bad00000f", "uuid", '-');
	test_times();
	test_other_uuids();
	test_round_trips();
	test_bytes();
	test_costs();
	test_presets();
	return done_testing();
}
