/*
 * reading.c
 *	  What a text may stand for: see reading.h.
 */
#include "core/reading.h"

#include <stdio.h>
#include <string.h>

#include "core/textform.h"
#include "core/uuidform.h"

#define BASE32_DIGITS 13
#define ULID_DIGITS 26
#define ULID_TIME_DIGITS 10
#define UUID_DIGITS (2 * UIDGEN_UUID_SIZE)
#define DECIMAL_DIGITS_MAX 20
#define MICROSECONDS_PER_MILLISECOND 1000

static const char *const form_names[] = {
	[UIDGEN_FORM_ULID] = "ulid",
	[UIDGEN_FORM_UUID] = "uuid",
	[UIDGEN_FORM_DECIMAL] = "decimal",
	[UIDGEN_FORM_BASE32] = "base32",
	[UIDGEN_FORM_BASE58] = "base58",
	[UIDGEN_FORM_BASE62] = "base62",
	[UIDGEN_FORM_HEX] = "hex",
};

static const UidgenForm form_of[UIDGEN_TEXT_FORMS] = {
	[UIDGEN_BASE32] = UIDGEN_FORM_BASE32,
	[UIDGEN_BASE58] = UIDGEN_FORM_BASE58,
	[UIDGEN_BASE62] = UIDGEN_FORM_BASE62,
	[UIDGEN_HEX] = UIDGEN_FORM_HEX,
};

const char *
uidgen_form_name(UidgenForm form)
{
	return form_names[form];
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The value of a hexadecimal digit, or -1. */
static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Of the 26 digits of a ULID the first ten are its time; the first is at most 7, since it has
 * 128 bits.  Hyphens, which base32 passes over, are no part of one.
 */
static bool
read_ulid(const char *text, size_t length, UidgenReading *reading)
{
	char		digits[BASE32_DIGITS];
	int64_t		milliseconds;
	int64_t		rest;
	UidgenComplaint error;

	if (length != ULID_DIGITS || memchr(text, '-', length))
		return false;
	memset(digits, '0', sizeof(digits));
	memcpy(digits + BASE32_DIGITS - ULID_TIME_DIGITS, text, ULID_TIME_DIGITS);
	if (!uidgen_textform_read(UIDGEN_BASE32, digits, sizeof(digits), &milliseconds, &error))
		return false;
	if ((uint64_t) milliseconds >> 48 != 0)
		return false;
	/* Of the others nothing is wanted but that they are digits. */
	for (size_t i = ULID_TIME_DIGITS; i < length; i++)
	{
		digits[BASE32_DIGITS - 1] = text[i];
		if (!uidgen_textform_read(UIDGEN_BASE32, digits, sizeof(digits), &rest, &error))
			return false;
	}
	*reading = (UidgenReading) {
		.form = UIDGEN_FORM_ULID, .has_time = true, .time = milliseconds * MICROSECONDS_PER_MILLISECOND
	};
	return true;
}

/* 32 hexadecimal digits, with hyphens in the usual places or without any. */
static bool
scan_uuid(const char *text, size_t length, uint8_t uuid[UIDGEN_UUID_SIZE])
{
	static const int places[] = {8, 13, 18, 23};
	bool		hyphens = length == UUID_DIGITS + 4;
	int			digit = 0;

	if (length != UUID_DIGITS && !hyphens)
		return false;
	for (size_t i = 0; i < length; i++)
	{
		bool		between = false;
		int			value;

		for (int j = 0; hyphens && j < 4; j++)
			between = between || (size_t) places[j] == i;
		if (between)
		{
			if (text[i] != '-')
				return false;
			continue;
		}
		value = hex_value(text[i]);
		if (value < 0)
			return false;
		uuid[digit / 2] = (uint8_t) (digit % 2 == 0 ? value << 4 : uuid[digit / 2] | value);
		digit++;
	}
	return true;
}

/* Returns 1, or 0 with a complaint: only version 7 begins with the time. */
static int
read_uuid(const uint8_t uuid[UIDGEN_UUID_SIZE], UidgenReading *reading, UidgenComplaint *error)
{
	UidgenMicroseconds milliseconds = 0;
	UidgenComplaint no_id;

	if (uuid[8] >> 6 != 2 || uuid[6] >> 4 != 7)
	{
		if (uuid[8] >> 6 != 2)
			snprintf(error->detail, sizeof(error->detail),
					 "It is a uuid whose variant is not RFC 9562's.");
		else
			snprintf(error->detail, sizeof(error->detail),
					 "It is a uuid of version %d.", uuid[6] >> 4);
		snprintf(error->hint, sizeof(error->hint),
				 "Only uuids of version 7 begin with their time, and only those that uid_to_uuid() made hold an id.");
		return 0;
	}
	for (int i = 0; i < 6; i++)
		milliseconds = milliseconds << 8 | uuid[i];
	*reading = (UidgenReading) {
		.form = UIDGEN_FORM_UUID, .has_time = true,
		.time = milliseconds * MICROSECONDS_PER_MILLISECOND
	};
	reading->has_id = uidgen_uuidform_read(uuid, &reading->id, &no_id);
	return 1;
}

/* Hexadecimal digits after 0x. */
static bool
read_prefixed(const char *text, size_t length, UidgenReading *reading)
{
	uint64_t	number = 0;

	if (length < 3 || length > 18 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return false;
	for (size_t i = 2; i < length; i++)
	{
		int			value = hex_value(text[i]);

		if (value < 0)
			return false;
		number = number << 4 | (uint64_t) value;
	}
	*reading = (UidgenReading) {
		.form = UIDGEN_FORM_HEX, .has_id = true, .id = (int64_t) number
	};
	return true;
}

static bool
read_decimal(const char *text, size_t length, UidgenReading *reading)
{
	bool		negative = length > 0 && text[0] == '-';
	size_t		start = negative ? 1 : 0;
	uint64_t	number = 0;

	if (length == start || length - start > DECIMAL_DIGITS_MAX ||
		(text[start] == '0' && length - start > 1))
		return false;
	for (size_t i = start; i < length; i++)
	{
		unsigned	digit = (unsigned) (text[i] - '0');

		if (text[i] < '0' || text[i] > '9' || number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (negative && number > UINT64_C(1) << 63)
		return false;
	*reading = (UidgenReading) {
		.form = UIDGEN_FORM_DECIMAL, .has_id = true,
		.id = (int64_t) (negative ? 0 - number : number)
	};
	return true;
}

int
uidgen_read_text(const char *text, size_t length, UidgenReading readings[UIDGEN_READINGS_MAX],
				 UidgenComplaint *error)
{
	uint8_t		uuid[UIDGEN_UUID_SIZE];
	UidgenComplaint reason;
	int			n = 0;

	snprintf(error->message, sizeof(error->message), "text is no id in any known form");
	while (length > 0 && is_blank(text[length - 1]))
		length--;
	while (length > 0 && is_blank(*text))
	{
		text++;
		length--;
	}
	if (read_ulid(text, length, &readings[0]) || read_prefixed(text, length, &readings[0]))
		return 1;
	if (scan_uuid(text, length, uuid))
		return read_uuid(uuid, &readings[0], error);

	if (read_decimal(text, length, &readings[0]))
		n++;
	/* A sign is no hyphen. */
	for (int form = 0; form < UIDGEN_TEXT_FORMS && (length == 0 || text[0] != '-'); form++)
	{
		int64_t		id;

		if (uidgen_textform_read((UidgenTextForm) form, text, length, &id, &reason))
			readings[n++] = (UidgenReading) {
				.form = form_of[form], .has_id = true, .id = id
			};
	}
	if (n == 0)
	{
		snprintf(error->detail, sizeof(error->detail),
				 "It is none of: a number of 64 bits, 13 digits of base32, 11 of base58 or base62, 16 of hex, a uuid, a ULID.");
		snprintf(error->hint, sizeof(error->hint),
				 "Give the id alone, with all of its digits, and nothing else.");
	}
	return n;
}
