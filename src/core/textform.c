/*
 * textform.c
 *	  Ids as short text, and back.
 *
 * See textform.h for the forms.
 */
#include "core/textform.h"

#include <inttypes.h>
#include <stdio.h>

/* What a character is worth, plus one: 0 is no digit. */
#define PASSED_OVER UINT8_MAX
#define RUN_1(c, value) [(c)] = (value) + 1
#define RUN_2(c, value) RUN_1(c, value), RUN_1((c) + 1, (value) + 1)
#define RUN_4(c, value) RUN_2(c, value), RUN_2((c) + 2, (value) + 2)
#define RUN_8(c, value) RUN_4(c, value), RUN_4((c) + 4, (value) + 4)
#define RUN_26(c, value) \
	RUN_8(c, value), RUN_8((c) + 8, (value) + 8), RUN_8((c) + 16, (value) + 16), \
	RUN_2((c) + 24, (value) + 24)

/* The letters from A or a on: A to H, I, JK, L, MN, O, P to T, V to Z. */
#define CROCKFORD_LETTERS(a) \
	RUN_8(a, 10), RUN_1((a) + 8, 1), RUN_2((a) + 9, 18), RUN_1((a) + 11, 1), \
	RUN_2((a) + 12, 20), RUN_1((a) + 14, 0), RUN_4((a) + 15, 22), RUN_1((a) + 19, 26), \
	RUN_4((a) + 21, 27), RUN_1((a) + 25, 31)

static const uint8_t base32_values[UINT8_MAX + 1] = {
	RUN_8('0', 0), RUN_2('8', 8),
	CROCKFORD_LETTERS('A'), CROCKFORD_LETTERS('a'),
	['-'] = PASSED_OVER
};

static const uint8_t base58_values[UINT8_MAX + 1] = {
	RUN_8('1', 0), RUN_1('9', 8),
	RUN_8('A', 9), RUN_4('J', 17), RUN_1('N', 21), RUN_8('P', 22), RUN_2('X', 30), RUN_1('Z', 32),
	RUN_8('a', 33), RUN_2('i', 41), RUN_1('k', 43), RUN_8('m', 44), RUN_4('u', 52), RUN_2('y', 56)
};

static const uint8_t base62_values[UINT8_MAX + 1] = {
	RUN_8('0', 0), RUN_2('8', 8), RUN_26('A', 10), RUN_26('a', 36)
};

static const uint8_t hex_values[UINT8_MAX + 1] = {
	RUN_8('0', 0), RUN_2('8', 8),
	RUN_4('A', 10), RUN_2('E', 14), RUN_4('a', 10), RUN_2('e', 14)
};

typedef struct Alphabet
{
	const char *name;
	unsigned	base;
	int			length;			/* digits of an id */
	const char *digits;			/* from 0 on */
	const uint8_t *values;		/* by character */
	const char *last;			/* the largest number of 64 bits */
	const char *hint;			/* which characters it takes */
} Alphabet;

static const Alphabet alphabets[UIDGEN_TEXT_FORMS] = {
	[UIDGEN_BASE32] = {
		"base32", 32, 13, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", base32_values, "FZZZZZZZZZZZZ",
		"Its digits are 0 to 9 and A to Z, but not U, in upper or lower case; I and L are read as 1, O as 0, and hyphens are passed over."
	},
	[UIDGEN_BASE58] = {
		"base58", 58, 11, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
		base58_values, "jpXCZedGfVQ",
		"Its digits are 1 to 9, A to Z without I and O, and a to z without l; upper and lower case differ."
	},
	[UIDGEN_BASE62] = {
		"base62", 62, 11, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
		base62_values, "LygHa16AHYF",
		"Its digits are 0 to 9, A to Z and a to z; upper and lower case differ."
	},
	[UIDGEN_HEX] = {
		"hex", 16, 16, "0123456789abcdef", hex_values, "ffffffffffffffff",
		"Its digits are 0 to 9 and a to f, in upper or lower case."
	},
};

const char *
uidgen_textform_name(UidgenTextForm form)
{
	return alphabets[form].name;
}

int
uidgen_textform_length(UidgenTextForm form)
{
	return alphabets[form].length;
}

/* Inline, and called with constants: a division by one of those is a multiplication. */
static inline void
write_digits(uint64_t number, unsigned base, const char *digits, int length, char *text)
{
	while (length > 0)
	{
		text[--length] = digits[number % base];
		number /= base;
	}
}

void
uidgen_textform_write(UidgenTextForm form, int64_t id, char *text)
{
	const Alphabet *alphabet = &alphabets[form];
	uint64_t	number = (uint64_t) id;

	switch (form)
	{
		case UIDGEN_BASE32:
			write_digits(number, 32, alphabet->digits, alphabet->length, text);
			break;
		case UIDGEN_BASE58:
			write_digits(number, 58, alphabet->digits, alphabet->length, text);
			break;
		case UIDGEN_BASE62:
			write_digits(number, 62, alphabet->digits, alphabet->length, text);
			break;
		case UIDGEN_HEX:
			write_digits(number, 16, alphabet->digits, alphabet->length, text);
			break;
	}
}

/* Message and hint; the caller has written the detail. */
static bool
fail(UidgenComplaint *error, const Alphabet *alphabet, const char *hint)
{
	snprintf(error->message, sizeof(error->message), "invalid %s id", alphabet->name);
	snprintf(error->hint, sizeof(error->hint), "%s", hint);
	return false;
}

static bool
fail_character(UidgenComplaint *error, const Alphabet *alphabet, char c, size_t position)
{
	/*
	 * Everything before the bad character is one byte wide.  If the bad
	 * character is not, the message leaves it out.
	 */
	if (c > ' ' && c <= '~')
		snprintf(error->detail, sizeof(error->detail),
				 "Character \"%c\" at position %zu is no digit of %s.", c, position, alphabet->name);
	else
		snprintf(error->detail, sizeof(error->detail),
				 "The character at position %zu is no digit of %s.", position, alphabet->name);
	return fail(error, alphabet, alphabet->hint);
}

bool
uidgen_textform_read(UidgenTextForm form, const char *text, size_t length, int64_t *id,
					 UidgenComplaint *error)
{
	static const char other_form[] =
		"An id is read in the form that it was written in: base32, base58, base62 or hex.";
	const Alphabet *alphabet = &alphabets[form];
	uint64_t	number = 0;
	unsigned	last = 0;
	size_t		digits = 0;

	/*
	 * The last digit is kept back: without it, the number has at most 60
	 * bits.  Of more digits than an id has it wraps around, but then it is
	 * not looked at.
	 */
	for (size_t i = 0; i < length; i++)
	{
		unsigned	value = alphabet->values[(unsigned char) text[i]];

		if (value == PASSED_OVER)
			continue;
		if (value == 0)
			return fail_character(error, alphabet, text[i], i + 1);
		digits++;
		number = number * alphabet->base + last;
		last = value - 1;
	}
	if (digits != (size_t) alphabet->length)
	{
		snprintf(error->detail, sizeof(error->detail),
				 "Digits: %zu in the text, %d in each %s id.", digits, alphabet->length, alphabet->name);
		return fail(error, alphabet, other_form);
	}
	if (number > (UINT64_MAX - last) / alphabet->base)
	{
		snprintf(error->detail, sizeof(error->detail),
				 "The number has more than 64 bits; the largest one is %s.", alphabet->last);
		return fail(error, alphabet, other_form);
	}
	*id = (int64_t) (number * alphabet->base + last);
	return true;
}
