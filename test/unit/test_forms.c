/*
 * test_forms.c
 *	  Proves src/core/textform.c and uuidform.c without a server, under the sanitizers.
 *
 * What is expected comes from elsewhere than the code under test: texts that other
 * programs publish (test/vectors.tsv), the layout of version 7 in RFC 9562, and slow models in this file, of
 * positional numbers and of polynomials as rows of bits.  Each text and uuid lies in a
 * heap block of its own size, without a terminating zero, so that a step outside is seen.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/layout.h"
#include "core/textform.h"
#include "core/uuidform.h"

#include <stdlib.h>

#include "tap.h"

#define ROUNDS 30000
#define LAST_MILLISECOND ((INT64_C(1) << 48) - 1)

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

/* What a text is worth, digit by digit, and how often 2^64 beyond that.  In two parts of 32 bits, since not each
 * architecture has longer integers. */
static uint64_t
worth(UidgenTextForm form, const char *text, uint64_t *beyond)
{
	uint64_t	upper = 0;
	uint64_t	lower = 0;

	for (; *text; text++)
	{
		lower = lower * strlen(forms[form].digits) + (uint64_t) (strchr(forms[form].digits, *text) - forms[form].digits);
		upper = upper * strlen(forms[form].digits) + (lower >> 32);
		lower &= UINT32_MAX;
	}
	*beyond = upper >> 32;
	return upper << 32 | lower;
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
			uint64_t	more;
			char		text[UIDGEN_TEXT_FORM_MAX + 1];
			char		other_text[UIDGEN_TEXT_FORM_MAX + 1];
			int			order;

			write_text((UidgenTextForm) form, number, text);
			write_text((UidgenTextForm) form, other, other_text);
			order = strcmp(text, other_text);
			changed += !read_text((UidgenTextForm) form, text, &id) || id != number;
			worthless += worth((UidgenTextForm) form, text, &more) != number || more > 0;
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
					uint64_t	beyond;
					uint64_t	value = worth(form, text, &beyond);

					wrong += good != (beyond == 0) || (good && id != value);
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
		uint64_t	beyond;
		UidgenComplaint error;

		if (!*forms[f].beyond)
			continue;
		write_text(form, UINT64_MAX, largest);
		ok(!read_bytes(form, forms[f].beyond, strlen(forms[f].beyond), &id, &error), "2^64 has no %s", forms[f].name);
		ok(well_formed(&error) && strstr(error.detail, "64 bits") && strstr(error.detail, largest),
		   "... and the error names the largest number");
		ok(worth(form, forms[f].beyond, &beyond) == 0 && beyond == 1, "... and that is 2^64");
		memset(text, forms[f].digits[base - 1], (size_t) forms[f].length);
		text[forms[f].length] = '\0';
		ok(!read_text(form, text, &id), "nor has the largest number of so many digits");
		for (int round = 0; round < ROUNDS; round++)
		{
			uint64_t	value;

			for (int i = 0; i < forms[f].length; i++)
				text[i] = i == 0 || round % 16 >= i ?
					forms[f].digits[base - 1 - random_number() % (i == 0 ? base : 2)] :
					forms[f].digits[random_number() % base];
			value = worth(form, text, &beyond);
			if (read_text(form, text, &id))
				wrong += beyond > 0 || id != value;
			else
				wrong += beyond == 0;
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

/* The uuid of an id, and back. */
static void
say_uuid(const Row *row, char text[80])
{
	int64_t		id = strtoll(row->input, NULL, 10);
	UidgenLayout layout;
	UidgenComplaint error;
	Uuid		uuid;
	int64_t		time;
	uint64_t	back;

	if (!uidgen_layout_parse(row->by, &layout, &error) || !uidgen_layout_fits(&layout, id))
		strcpy(text, "error 22003");
	else if (!uidgen_layout_time(&layout, uidgen_layout_get(&layout, UIDGEN_TIME, id), &time) || !write_uuid(time, (uint64_t) id, &uuid))
		strcpy(text, "error 22008");
	else
		print_uuid(&uuid, text);
	if (text[0] != 'e')
		ok(read_uuid(&uuid, &back, &error) && back == (uint64_t) id, "... and read: %s", text);
}

/* What a text or a uuid is read as. */
static void
say_read(int form, const char *input, char text[80])
{
	UidgenComplaint error;
	Uuid		uuid;
	uint64_t	id;
	int			digits = 0;
	bool		good;

	for (const char *c = input; form == UIDGEN_TEXT_FORMS && *c && digits < 2 * UIDGEN_UUID_SIZE; c++)
		if (*c != '-')
			set_digit(&uuid, digits++, (unsigned) (strchr(forms[UIDGEN_HEX].digits, *c) - forms[UIDGEN_HEX].digits));
	good = form == UIDGEN_TEXT_FORMS ? read_uuid(&uuid, &id, &error) : read_text((UidgenTextForm) form, input, &id);
	snprintf(text, 80, good ? "%" PRId64 : "error 22P02", (int64_t) id);
}

/* What others publish, as text and as uuids, and what was computed by another program, in another
 * language: fixed forever. */
static void
test_vectors(void)
{
	FILE	   *file = NULL;
	Row			row;
	int			rows = 0;

	while (next_row(&file, &row))
	{
		char		text[80] = "";
		int			form = 0;

		while (form < UIDGEN_TEXT_FORMS && strcmp(forms[form].name, row.by) != 0)
			form++;
		if (strcmp(row.kind, "text") == 0)
		{
			uint64_t	id = (uint64_t) strtoll(row.input, NULL, 10);
			uint64_t	back;

			write_text((UidgenTextForm) form, id, text);
			ok(read_text((UidgenTextForm) form, text, &back) && back == id, "... and read: %s", text);
		}
		else if (strcmp(row.kind, "uuid") == 0)
			say_uuid(&row, text);
		else if (strcmp(row.kind, "read") == 0)
			say_read(form, row.input, text);
		else
			continue;
		rows++;
		is_text(text, row.output, row.input);
	}
	ok(rows > 50, "vectors: %d rows", rows);
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
	changed = uuid;
	changed.bytes[15] ^= 1;
	ok(!read_uuid(&changed, &id, &error) && well_formed(&error) && strstr(error.detail, "check bits"), "nor one of other check bits");
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
	test_alphabets();
	test_round_trips();
	test_characters();
	test_lengths();
	test_overflow();
	test_check_of_catalogue();
	test_vectors();
	test_uuid_round_trips();
	test_times_without_uuid();
	test_foreign_uuids();
	test_errors_in_uuids();
	return done_testing();
}
