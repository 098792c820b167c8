/*
 * test_reading.c
 *	  Proves src/core/reading.c without a server, under the sanitizers.
 *
 * What is expected comes from elsewhere than the code under test: ids and ULIDs that others
 * published, and the texts of textform.c, which has a test of its own.  Each text lies in a
 * heap block of its own size, without a terminating zero, so that a step outside is seen.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/reading.h"
#include "core/textform.h"

#include <stdlib.h>

#include "tap.h"

#define ROUNDS 30000

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
		{"01a202ca-0a9b-7080-23a0-8e9bad00000f", "It is a uuid whose variant is not RFC 9562's."},
		{"01a202ca-0a9b-7080-6380-8e9bad00000f", "It is a uuid whose variant is not RFC 9562's."},
		{"01a202ca-0a9b-7080-c380-8e9bad00000f", "It is a uuid whose variant is not RFC 9562's."},
		{"00000000-0000-0000-0000-000000000000", "It is a uuid whose variant is not RFC 9562's."},
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
	return done_testing();
}
