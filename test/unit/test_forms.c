/*
 * test_forms.c
 *	  Proves src/core/textform.c and uuidform.c without a server, under the sanitizers.
 *
 * What is expected comes from elsewhere than the code under test: texts that other
 * programs publish, the layout of version 7 in RFC 9562, and slow models in this file, of
 * positional numbers and of polynomials as rows of bits.  Each text and uuid lies in a
 * heap block of its own size, without a terminating zero, so that a step outside is seen.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/textform.h"
#include "core/uuidform.h"

#include <stdlib.h>

#include "tap.h"

#define ROUNDS 30000
#define LAST_MILLISECOND ((INT64_C(1) << 48) - 1)

/* More than 64 bits.  Where there is no such integer, as on i386, a number with 64 binary digits: it is exact up to
 * 2^64, and beyond that only how large it is counts. */
#ifdef __SIZEOF_INT128__
typedef unsigned __int128 Wide;
#else
typedef long double Wide;
#endif

/* Numbers of all sizes, and those with all bits but a few alike. */
static uint64_t
trial_number(int round)
{
	static const uint64_t edges[] = {
		0, 1, UINT64_C(0x7FFFFFFFFFFFFFFF), UINT64_C(0x8000000000000000), UINT64_MAX - 1, UINT64_MAX
	};

	if (round < (int) (sizeof(edges) / sizeof(edges[0])))
		return edges[round];
	switch (round % 3)
	{
		case 0:
			return random_number();
		case 1:
			return random_number() >> random_number() % 64;
		default:
			return ~(random_number() >> random_number() % 64);
	}
}

static void *
copy_of(const void *data, size_t size)
{
	void	   *copy = malloc(size);

	if (!copy)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

/* It is complete, and no part was cut off: a sentence has its period. */
static bool
well_formed(const UidgenComplaint *error)
{
	size_t		message = strlen(error->message);
	size_t		detail = strlen(error->detail);
	size_t		hint = strlen(error->hint);

	return message > 0 && error->message[message - 1] != '.' &&
		detail > 0 && error->detail[detail - 1] == '.' &&
		hint > 0 && error->hint[hint - 1] == '.';
}

/* ---- text ---- */

/* The digits of each form as published, and all that is read as one, with those that it
 * stands for. */
static const struct
{
	const char *name;
	int			length;
	const char *digits;
	const char *other;
	const char *means;
	const char *passed_over;
	const char *beyond;			/* the text of 2^64; empty: it has another
								 * length */
}			forms[UIDGEN_TEXT_FORMS] = {

	[UIDGEN_BASE32] = {
		"base32", 13, "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
		"abcdefghjkmnpqrstvwxyz" "ILOilo", "ABCDEFGHJKMNPQRSTVWXYZ" "110110", "-", "G000000000000"
	},
	[UIDGEN_BASE58] = {
		"base58", 11, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
		"", "", "", "jpXCZedGfVR"
	},
	[UIDGEN_BASE62] = {
		"base62", 11, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
		"", "", "", "LygHa16AHYG"
	},
	[UIDGEN_HEX] = {
		"hex", 16, "0123456789abcdef", "ABCDEF", "abcdef", "", ""
	},
};

static bool
contains(const char *set, int c)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* The text of an id, from a block of exactly its length. */
static void
write_text(UidgenTextForm form, uint64_t id, char text[UIDGEN_TEXT_FORM_MAX + 1])
{
	size_t		length = (size_t) uidgen_textform_length(form);
	char	   *block = malloc(length);

	if (!block)
		abort();
	memset(block, '#', length);
	uidgen_textform_write(form, (int64_t) id, block);
	memcpy(text, block, length);
	text[length] = '\0';
	free(block);
}

static bool
read_bytes(UidgenTextForm form, const char *text, size_t length, uint64_t *id, UidgenComplaint *error)
{
	char	   *block = copy_of(text, length);
	int64_t		result = 0x5A5A;
	bool		good;

	memset(error, '#', sizeof(*error));
	good = uidgen_textform_read(form, block, length, &result, error);
	free(block);
	*id = (uint64_t) result;
	return good;
}

static bool
read_text(UidgenTextForm form, const char *text, uint64_t *id)
{
	UidgenComplaint error;

	return read_bytes(form, text, strlen(text), id, &error);
}

/* What a text is worth: the sum of its digits times powers of the base. */
static Wide
worth(UidgenTextForm form, const char *text)
{
	Wide		sum = 0;
	Wide		power = 1;

	for (size_t i = strlen(text); i-- > 0; power *= strlen(forms[form].digits))
		sum += power * (Wide) (strchr(forms[form].digits, text[i]) - forms[form].digits);
	return sum;
}

/* Numbers in texts that others publish; where theirs have no zeros in front, those are
 * added. */
static void
test_published(void)
{
	static const struct
	{
		UidgenTextForm form;
		uint64_t	number;
		const char *text;
		const char *where;
	}			known[] = {
		{UIDGEN_BASE32, UINT64_C(496830748901259230), "0DS8RXW6W0DYY", "tsid (Rust), conversions.rs"},
		{UIDGEN_BASE32, UINT64_C(501438102971408389), "0DXBQ9H279R05", "tsid-ts (JavaScript), README"},
		{UIDGEN_BASE32, UINT64_MAX, "FZZZZZZZZZZZZ", "TSID Creator, TsidTest"},
		{UIDGEN_BASE32, INT64_MAX, "7ZZZZZZZZZZZZ", "TSID Creator, TsidConverterTest"},
		{UIDGEN_BASE32, 10, "000000000000A", "TSID Creator, TsidTest"},
		{UIDGEN_BASE32, 1234, "000000000016J", "several libraries of Crockford's base 32"},
		{UIDGEN_BASE32, UINT64_C(1234567890), "00000014SC0PJ", "crockford (Ruby), README"},
		{UIDGEN_BASE32, UINT64_C(973113317), "0000000X011Z5", "base32_crockford (Elixir), manual"},
		{UIDGEN_BASE32, UINT64_C(9007199254740991), "007ZZZZZZZZZZ", "@darkwolf/base32crockford, README"},
		{UIDGEN_BASE58, 0x61, "1111111112g", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x626262, "1111111a3gV", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x636363, "1111111aPEr", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x10c8511e, "111111Rt5zm", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x572e4794, "111113EFU7m", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x271F359E, "111111zzzzy", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x271F359F, "111111zzzzz", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x271F35A0, "11111211111", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, 0x271F35A1, "11111211112", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE58, UINT64_C(0x516b6fcd0f), "1111ABnLTmg", "Bitcoin Core, base58_encode_decode.json"},
		{UIDGEN_BASE62, 0, "00000000000", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_BASE62, UINT64_MAX, "LygHa16AHYF", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_BASE62, UINT64_C(0x2133fb480623f824), "2qjozYFz4T6", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_BASE62, UINT64_C(0x8e461b1c52fff88e), "CDJrVSigTC2", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_BASE62, UINT64_C(0x85ca989d20b232d8), "BUART0BRYVs", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_BASE62, UINT64_C(0x040a2dca40e080de), "0LVDf2G4ILW", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_BASE62, UINT64_C(0x00f5d87cff4f54eb), "056vuFmDU55", "TSID Creator, TsidBaseNTest"},
		{UIDGEN_HEX, UINT64_C(0xfedcba9876543210), "fedcba9876543210", "by hand"},
		{UIDGEN_HEX, 255, "00000000000000ff", "by hand"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		char		text[UIDGEN_TEXT_FORM_MAX + 1];
		uint64_t	id;

		write_text(known[i].form, known[i].number, text);
		is_text(text, known[i].text, known[i].where);
		ok(read_text(known[i].form, known[i].text, &id) && id == known[i].number, "... and read: %s", text);
	}
}

/* Crockford's readings, as libraries of his base 32 show them. */
static void
test_readings(void)
{
	static const struct
	{
		const char *text;
		uint64_t	number;
	}			known[] = {
		{"0000000000oil", 33},
		{"0000000XoIlZ5", UINT64_C(973113317)},
		{"0000000x01-1z5", UINT64_C(973113317)},
		{"00000014S-C0-PJ", UINT64_C(1234567890)},
		{"fzzzzzzzzzzzz", UINT64_MAX},
		{"--0-D-S-8-R-X-W-6-W-0-D-Y-Y--", UINT64_C(496830748901259230)},
	};
	uint64_t	id;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		ok(read_text(UIDGEN_BASE32, known[i].text, &id) && id == known[i].number, "read: %s", known[i].text);
}

static void
test_alphabets(void)
{
	for (int form = 0; form < UIDGEN_TEXT_FORMS; form++)
	{
		const char *digits = forms[form].digits;

		is_text(uidgen_textform_name((UidgenTextForm) form), forms[form].name, "name");
		is_int(uidgen_textform_length((UidgenTextForm) form), forms[form].length, "length");
		for (size_t i = 1; i < strlen(digits); i++)
			if (digits[i - 1] >= digits[i])
				ok(false, "%s: digits in the order of ASCII", forms[form].name);
	}
}

/* There and back; the text is worth the number, and texts are in the order of numbers. */
static void
test_round_trips(void)
{
	for (int form = 0; form < UIDGEN_TEXT_FORMS; form++)
	{
		int			changed = 0;
		int			worthless = 0;
		int			disordered = 0;
		int			beyond = 0;

		for (int round = 0; round < ROUNDS; round++)
		{
			uint64_t	number = trial_number(round);
			uint64_t	other = round % 2 ? trial_number(round + 1) : number + 1;
			uint64_t	id;
			char		text[UIDGEN_TEXT_FORM_MAX + 1];
			char		other_text[UIDGEN_TEXT_FORM_MAX + 1];
			int			order;

			write_text((UidgenTextForm) form, number, text);
			write_text((UidgenTextForm) form, other, other_text);
			order = strcmp(text, other_text);
			changed += !read_text((UidgenTextForm) form, text, &id) || id != number;
			worthless += worth((UidgenTextForm) form, text) != number;
			disordered += (order < 0) != (number < other) || (order == 0) != (number == other);
			beyond += strspn(text, forms[form].digits) != (size_t) forms[form].length;
		}
		is_int(changed, 0, "ids that are not read as they were written");
		is_int(worthless, 0, "texts that are not worth their number");
		is_int(disordered, 0, "texts that are in another order than their numbers");
		is_int(beyond, 0, "texts of other characters than the digits");
	}
}

/* Each byte at each place is a digit, stands for one, is passed over, or is refused. */
static void
test_characters(void)
{
	for (int f = 0; f < UIDGEN_TEXT_FORMS; f++)
	{
		UidgenTextForm form = (UidgenTextForm) f;
		int			wrong = 0;
		int			unclear = 0;

		for (int position = 0; position < forms[f].length; position++)
			for (int c = 0; c <= 255; c++)
			{
				char		text[UIDGEN_TEXT_FORM_MAX + 1];
				char		expected[64];
				uint64_t	id = 0;
				UidgenComplaint error;
				bool		good;

				write_text(form, UINT64_C(0x0123456789ABCDEF), text);
				text[position] = (char) c;
				good = read_bytes(form, text, (size_t) forms[f].length, &id, &error);
				if (contains(forms[f].other, c))
					text[position] = forms[f].means[strchr(forms[f].other, c) - forms[f].other];
				if (contains(forms[f].digits, text[position]))
				{
					Wide		value = worth(form, text);

					wrong += good != (value <= UINT64_MAX) || (good && id != (uint64_t) value);
					unclear += !good && !well_formed(&error);
					continue;
				}
				wrong += good;
				unclear += !well_formed(&error);
				snprintf(expected, sizeof(expected), "at position %d is no digit of %s", position + 1, forms[f].name);
				if (!contains(forms[f].passed_over, c))
					wrong += strstr(error.detail, expected) == NULL;
				snprintf(expected, sizeof(expected), "Character \"%c\" at", c);
				/* One that takes one place and leaves a mark is shown. */
				unclear += (strstr(error.detail, expected) != NULL) !=
					(c > ' ' && c < 0x7F && !contains(forms[f].passed_over, c));
				for (const char *part = error.detail; *part; part++)
					unclear += (unsigned char) *part < ' ' || (unsigned char) *part > '~';
			}
		is_int(wrong, 0, "characters that are taken for others");
		is_int(unclear, 0, "errors that are incomplete or unclear");
	}
}

/* More digits or fewer than an id has, in each form. */
static void
test_lengths(void)
{
	for (int f = 0; f < UIDGEN_TEXT_FORMS; f++)
	{
		UidgenTextForm form = (UidgenTextForm) f;
		int			wrong = 0;

		for (int length = 0; length <= 60; length++)
		{
			char		text[64];
			char		expected[64];
			uint64_t	id;
			UidgenComplaint error;
			bool		good;

			memset(text, forms[f].digits[0], sizeof(text));
			good = read_bytes(form, text, (size_t) length, &id, &error);
			wrong += good != (length == forms[f].length) || (good && id != 0);
			if (good)
				continue;
			snprintf(expected, sizeof(expected), "Digits: %d in the text, %d in", length, forms[f].length);
			wrong += strstr(error.detail, expected) == NULL || !well_formed(&error);
			/* A character that is no digit is named first. */
			if (length > 0)
			{
				text[length - 1] = '!';
				good = read_bytes(form, text, (size_t) length, &id, &error);
				snprintf(expected, sizeof(expected), "\"!\" at position %d is", length);
				wrong += good || strstr(error.detail, expected) == NULL;
			}
		}
		is_int(wrong, 0, "lengths that are judged wrong");
	}
}

/* Numbers above 64 bits: the next one, and the largest with that many digits. */
static void
test_overflow(void)
{
	for (int f = 0; f < UIDGEN_TEXT_FORMS; f++)
	{
		UidgenTextForm form = (UidgenTextForm) f;
		size_t		base = strlen(forms[f].digits);
		char		largest[UIDGEN_TEXT_FORM_MAX + 1];
		char		text[UIDGEN_TEXT_FORM_MAX + 1];
		int			wrong = 0;
		uint64_t	id;
		UidgenComplaint error;

		if (!*forms[f].beyond)
			continue;
		write_text(form, UINT64_MAX, largest);
		ok(!read_bytes(form, forms[f].beyond, strlen(forms[f].beyond), &id, &error), "2^64 has no %s", forms[f].name);
		ok(well_formed(&error) && strstr(error.detail, "64 bits") && strstr(error.detail, largest),
		   "... and the error names the largest number");
		ok(worth(form, forms[f].beyond) == (Wide) UINT64_MAX + 1, "... and that is 2^64");
		memset(text, forms[f].digits[base - 1], (size_t) forms[f].length);
		text[forms[f].length] = '\0';
		ok(!read_text(form, text, &id), "nor has the largest number of so many digits");
		for (int round = 0; round < ROUNDS; round++)
		{
			Wide		value;

			for (int i = 0; i < forms[f].length; i++)
				text[i] = i == 0 || round % 16 >= i ?
					forms[f].digits[base - 1 - random_number() % (i == 0 ? base : 2)] :
					forms[f].digits[random_number() % base];
			value = worth(form, text);
			if (read_text(form, text, &id))
				wrong += value > UINT64_MAX || id != (uint64_t) value;
			else
				wrong += value <= UINT64_MAX;
		}
		is_int(wrong, 0, "numbers that are judged wrong");
	}
}

/* ---- uuids ---- */

typedef struct Uuid
{
	uint8_t		bytes[UIDGEN_UUID_SIZE];
} Uuid;

/* From a block of exactly its size. */
static bool
write_uuid(int64_t time, uint64_t id, Uuid *uuid)
{
	uint8_t    *block = malloc(UIDGEN_UUID_SIZE);
	bool		good;

	if (!block)
		abort();
	memset(block, '#', UIDGEN_UUID_SIZE);
	good = uidgen_uuidform_write(time, (int64_t) id, block);
	memcpy(uuid->bytes, block, UIDGEN_UUID_SIZE);
	free(block);
	return good;
}

static bool
read_uuid(const Uuid *uuid, uint64_t *id, UidgenComplaint *error)
{
	uint8_t    *block = copy_of(uuid->bytes, UIDGEN_UUID_SIZE);
	int64_t		result = 0x5A5A;
	bool		good;

	memset(error, '#', sizeof(*error));
	good = uidgen_uuidform_read(block, &result, error);
	free(block);
	*id = (uint64_t) result;
	return good;
}

static bool
holds_id(const Uuid *uuid)
{
	UidgenComplaint error;
	uint64_t	id;

	return read_uuid(uuid, &id, &error);
}

/* As RFC 9562 writes it. */
static void
print_uuid(const Uuid *uuid, char text[37])
{
	int			length = 0;

	for (int i = 0; i < UIDGEN_UUID_SIZE; i++)
		length += snprintf(text + length, (size_t) (37 - length), "%s%02x",
						   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid->bytes[i]);
}

/* Bits as characters, most significant first. */
static void
append_bits(char *bits, uint64_t number, int count)
{
	bits += strlen(bits);
	for (int i = 0; i < count; i++)
		bits[i] = (char) ('0' + (number >> (count - 1 - i) & 1));
	bits[count] = '\0';
}

/* The remainder of the bits, with ten zeros behind them, by CRC-10's polynomial: the
 * division as on paper. */
static unsigned
slow_check(const char *message)
{
	static const char polynomial[] = "11000110011";
	char		bits[256];
	size_t		length = strlen(message);
	unsigned	check = 0;

	snprintf(bits, sizeof(bits), "%s0000000000", message);
	for (size_t i = 0; i < length; i++)
		for (size_t j = 0; bits[i] == '1' && j < strlen(polynomial); j++)
			if (polynomial[j] == '1' && j > 0)
				bits[i + j] = bits[i + j] == '1' ? '0' : '1';
	for (size_t i = length; i < length + 10; i++)
		check = check << 1 | (unsigned) (bits[i] - '0');
	return check;
}

/* The uuid, put together from its picture in uuidform.h. */
static void
slow_uuid(uint64_t milliseconds, uint64_t id, Uuid *uuid)
{
	char		message[128] = "";
	char		bits[160] = "";

	append_bits(message, milliseconds, 48);
	append_bits(message, id, 64);
	append_bits(bits, milliseconds, 48);
	append_bits(bits, 7, 4);
	append_bits(bits, id >> 52, 12);
	append_bits(bits, 2, 2);
	append_bits(bits, id, 52);
	append_bits(bits, slow_check(message), 10);
	memset(uuid, 0, sizeof(*uuid));
	for (int i = 0; i < 128; i++)
		if (bits[i] == '1')
			uuid->bytes[i / 8] |= (uint8_t) (0x80 >> i % 8);
}

static void
test_check_of_catalogue(void)
{
	char		bits[128] = "";

	for (const char *c = "123456789"; *c; c++)
		append_bits(bits, (uint64_t) *c, 8);
	is(slow_check(bits), 0x199, "the model computes CRC-10/ATM: its published check value");
}

/* Fixed forever: these were computed by another program, in another language. */
static void
test_fixed_uuids(void)
{
	static const struct
	{
		int64_t		milliseconds;
		uint64_t	id;
		const char *uuid;
	}			known[] = {
		{0, 0, "00000000-0000-7000-8000-000000000000"},
		{1, 1, "00000000-0001-7000-8000-000000000493"},
		{0, 1, "00000000-0000-7000-8000-000000000633"},
		{LAST_MILLISECOND, UINT64_MAX, "ffffffff-ffff-7fff-bfff-fffffffffe2c"},
		{LAST_MILLISECOND, INT64_MAX, "ffffffff-ffff-77ff-bfff-ffffffffff7c"},
		{INT64_C(1795282092525), UINT64_C(249949029770874880), "01a1ff26-c1ed-7037-9ffd-45edc9400172"},
		{INT64_C(1704110400000), UINT64_C(1) << 63, "018cc4e5-2200-7800-8000-000000000244"},

		/*
		 * The bits of RFC 9562's example, A.6,
		 * 017F22E2-79B0-7CC3-98C4-DC0C0C07398F, but for the last ten.
		 */
		{INT64_C(0x017F22E279B0), UINT64_C(0xCC3) << 52 | (UINT64_C(0x18C4DC0C0C07398F) >> 10),
		"017f22e2-79b0-7cc3-98c4-dc0c0c0739a4"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		Uuid		uuid;
		uint64_t	id;
		UidgenComplaint error;
		char		text[37];

		ok(write_uuid(known[i].milliseconds * 1000, known[i].id, &uuid), "an id of %" PRId64 " ms", known[i].milliseconds);
		print_uuid(&uuid, text);
		is_text(text, known[i].uuid, "... has this uuid");
		ok(read_uuid(&uuid, &id, &error) && id == known[i].id, "... which is read");
	}
}

static void
test_uuid_round_trips(void)
{
	int			other = 0;
	int			changed = 0;
	int			disordered = 0;

	for (int round = 0; round < ROUNDS; round++)
	{
		int64_t		milliseconds = (int64_t) (trial_number(round + 1) & (uint64_t) LAST_MILLISECOND);
		uint64_t	id = trial_number(round);
		int64_t		later = round % 4 && milliseconds < LAST_MILLISECOND ? milliseconds + round % 4 : milliseconds;
		uint64_t	higher = round % 2 ? id + 1 : trial_number(round + 2);
		Uuid		uuid;
		Uuid		expected;
		Uuid		second;
		uint64_t	result;
		UidgenComplaint error;
		int			order;

		if (later > LAST_MILLISECOND)
			later = LAST_MILLISECOND;
		slow_uuid((uint64_t) milliseconds, id, &expected);
		/* Whatever the microsecond. */
		other += !write_uuid(milliseconds * 1000 + round % 1000, id, &uuid) ||
			memcmp(&uuid, &expected, sizeof(uuid)) != 0;
		changed += !read_uuid(&uuid, &result, &error) || result != id;
		if (!write_uuid(later * 1000, higher, &second))
			other++;
		order = memcmp(&uuid, &second, sizeof(uuid));
		disordered += (order < 0) != (milliseconds < later || (milliseconds == later && id < higher));
		disordered += (order == 0) != (milliseconds == later && id == higher);
	}
	is_int(other, 0, "uuids that differ from the picture's");
	is_int(changed, 0, "ids that are not read as they were written");
	is_int(disordered, 0, "uuids in another order than time and id");
}

static void
test_times_without_uuid(void)
{
	Uuid		uuid;

	ok(!write_uuid(-1, 0, &uuid), "no uuid is older than 1970");
	ok(!write_uuid(INT64_MIN, 0, &uuid), "nor is one of the oldest time");
	ok(write_uuid(0, 0, &uuid), "the first millisecond has uuids");
	ok(write_uuid((LAST_MILLISECOND + 1) * 1000 - 1, 0, &uuid), "so has the last one");
	ok(!write_uuid((LAST_MILLISECOND + 1) * 1000, 0, &uuid), "the next one has none");
	ok(!write_uuid(INT64_MAX, 0, &uuid), "nor has the last time");
}

/* Uuids of other versions and variants, and an error for each cause. */
static void
test_foreign_uuids(void)
{
	Uuid		uuid;
	Uuid		changed;
	uint64_t	id;
	UidgenComplaint error;
	int			wrong = 0;
	int			passed = 0;

	/* RFC 9562, A.6. */
	static const Uuid example = {{
			0x01, 0x7F, 0x22, 0xE2, 0x79, 0xB0, 0x7C, 0xC3, 0x98, 0xC4, 0xDC, 0x0C, 0x0C, 0x07, 0x39, 0x8F
	}};

	slow_uuid(UINT64_C(0x0123456789AB), UINT64_C(0x0123456789ABCDEF), &uuid);
	for (unsigned version = 0; version < 16; version++)
		for (unsigned variant = 0; variant < 4; variant++)
		{
			bool		good;

			changed = uuid;
			changed.bytes[6] = (uint8_t) (version << 4 | (changed.bytes[6] & 0xF));
			changed.bytes[8] = (uint8_t) (variant << 6 | (changed.bytes[8] & 0x3F));
			good = read_uuid(&changed, &id, &error);
			wrong += good != (version == 7 && variant == 2);
			wrong += !good && (!well_formed(&error) || !strstr(error.detail, variant == 2 ? "version" : "variant"));
		}
	is_int(wrong, 0, "versions and variants that are judged wrong");
	memset(&changed, 0, sizeof(changed));
	ok(!holds_id(&changed), "the nil uuid holds no id");
	memset(&changed, 0xFF, sizeof(changed));
	ok(!holds_id(&changed), "nor does the max uuid");
	ok(!read_uuid(&example, &id, &error), "nor does RFC 9562's example");
	ok(well_formed(&error) && strstr(error.detail, "check bits"), "... because of its check bits");
	for (int round = 0; round < 1 << 18; round++)
	{
		for (int i = 0; i < UIDGEN_UUID_SIZE; i += 8)
		{
			uint64_t	number = random_number();

			memcpy(changed.bytes + i, &number, 8);
		}
		changed.bytes[6] = 0x70 | (changed.bytes[6] & 0xF);
		changed.bytes[8] = 0x80 | (changed.bytes[8] & 0x3F);
		passed += holds_id(&changed);
	}
	ok(passed > 200 && passed < 320, "of 1024 others of version 7, about one passes: %d of 2^18", passed);
}

/* One of the 32 hexadecimal digits. */
static unsigned
get_digit(const Uuid *uuid, int i)
{
	return uuid->bytes[i / 2] >> (i % 2 ? 0 : 4) & 0xF;
}

static void
set_digit(Uuid *uuid, int i, unsigned digit)
{
	int			shift = i % 2 ? 0 : 4;

	uuid->bytes[i / 2] = (uint8_t) ((uuid->bytes[i / 2] & 0xF0 >> shift) | digit << shift);
}

/* What is changed in a uuid is noticed. */
static void
test_errors_in_uuids(void)
{
	int			places[122];
	int			free_bits = 0;
	int			missed = 0;

	for (int i = 0; i < 128; i++)
		if (!(i >= 48 && i < 52) && i != 64 && i != 65)
			places[free_bits++] = i;
	is_int(free_bits, 122, "bits that are not the same in all uuids");

#define FLIP(uuid, i) ((uuid).bytes[places[i] / 8] ^= (uint8_t) (0x80 >> places[i] % 8))
	for (int round = 0; round < 3; round++)
	{
		Uuid		uuid;

		slow_uuid(random_number() & (uint64_t) LAST_MILLISECOND, random_number(), &uuid);
		for (int i = 0; i < 122; i++)
			for (int j = i; j < 122; j++)
				for (int k = j; k < 122; k++)
				{
					Uuid		changed = uuid;

					/*
					 * All three alike are one change, two alike would be
					 * none.
					 */
					FLIP(changed, i);
					if (j > i)
						FLIP(changed, j);
					if (k > j && j > i)
						FLIP(changed, k);
					missed += holds_id(&changed);
				}
		for (int i = 0; i + 10 <= 122; i++)
			for (unsigned change = 1; change < 1024; change++)
			{
				Uuid		changed = uuid;

				for (int j = 0; j < 10; j++)
					if (change >> j & 1)
						FLIP(changed, i + j);
				missed += holds_id(&changed);
			}

		/* Typing: another digit, and neighbours that have changed places. */
		for (int i = 0; i < 32; i++)
		{
			unsigned	old = get_digit(&uuid, i);
			Uuid		changed = uuid;

			for (unsigned digit = 0; digit < 16; digit++)
			{
				set_digit(&changed, i, digit);
				missed += digit != old && holds_id(&changed);
			}
			if (i == 0 || get_digit(&uuid, i - 1) == old)
				continue;
			set_digit(&changed, i, get_digit(&uuid, i - 1));
			set_digit(&changed, i - 1, old);
			missed += holds_id(&changed);
		}
	}
#undef FLIP
	is_int(missed, 0, "changes that are missed: up to three bits, within ten in a row, a digit, two neighbours");
}

int
main(void)
{
	test_published();
	test_readings();
	test_alphabets();
	test_round_trips();
	test_characters();
	test_lengths();
	test_overflow();
	test_check_of_catalogue();
	test_fixed_uuids();
	test_uuid_round_trips();
	test_times_without_uuid();
	test_foreign_uuids();
	test_errors_in_uuids();
	return done_testing();
}
