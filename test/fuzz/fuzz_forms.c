/*
 * fuzz_forms.c
 *	  Any bytes at all as the text of an id in each form, as an id, and as a uuid.
 *
 * A text is read if and only if it is worth a number of 64 bits, and then it is the
 * canonical text but for what the form passes over or takes for another digit.  A uuid is
 * read if and only if writing its time and its id gives the same uuid.  Whatever is
 * written is read again.  And whatever the text may be without a form that is named
 * (reading.h), it is told completely.
 *
 * The input is the text; its first 8 bytes are the id, its first 16 the uuid.  It lies in
 * a block of its size, and an error is filled with garbage before each call.
 */
#include "fuzz.h"
#include "core/reading.h"
#include "core/textform.h"
#include "core/uuidform.h"

typedef unsigned __int128 uint128;

static const char *const digits[UIDGEN_TEXT_FORMS] = {
	[UIDGEN_BASE32] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
	[UIDGEN_BASE58] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
	[UIDGEN_BASE62] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	[UIDGEN_HEX] = "0123456789abcdef",
};

static const size_t lengths[UIDGEN_TEXT_FORMS] = {
	[UIDGEN_BASE32] = 13,
	[UIDGEN_BASE58] = 11,
	[UIDGEN_BASE62] = 11,
	[UIDGEN_HEX] = 16,
};

/* Each part ends within its field, with a period if it is a sentence. */
static void
check_error(const UidgenComplaint *error)
{
	REQUIRE(memchr(error->message, '\0', sizeof(error->message)) && *error->message);
	REQUIRE(memchr(error->detail, '\0', sizeof(error->detail)) && *error->detail);
	REQUIRE(memchr(error->hint, '\0', sizeof(error->hint)) && *error->hint);
	REQUIRE(error->detail[strlen(error->detail) - 1] == '.');
	REQUIRE(error->hint[strlen(error->hint) - 1] == '.');
}

/* ---- text ---- */

/* The digit that a character stands for; 0: it is passed over; -1: there is none. */
static int
digit_of(UidgenTextForm form, int c)
{
	if (form == UIDGEN_BASE32 && c == '-')
		return 0;
	if (form == UIDGEN_BASE32 && c >= 'a' && c <= 'z')
		c -= 'a' - 'A';
	if (form == UIDGEN_BASE32 && (c == 'I' || c == 'L'))
		c = '1';
	if (form == UIDGEN_BASE32 && c == 'O')
		c = '0';
	if (form == UIDGEN_HEX && c >= 'A' && c <= 'Z')
		c += 'a' - 'A';
	return c != '\0' && strchr(digits[form], c) ? c : -1;
}

static void
check_text(UidgenTextForm form, const char *text, size_t size)
{
	char		canonical[UIDGEN_TEXT_FORM_MAX];
	char		written[UIDGEN_TEXT_FORM_MAX];
	size_t		count = 0;
	bool		valid = true;
	uint128		worth = 0;
	int64_t		id;
	UidgenComplaint error;

	for (size_t i = 0; i < size; i++)
	{
		int			digit = digit_of(form, (unsigned char) text[i]);

		if (digit < 0)
			valid = false;
		if (digit <= 0)
			continue;
		if (count < lengths[form])
		{
			canonical[count] = (char) digit;
			worth = worth * strlen(digits[form]) +
				(uint128) (strchr(digits[form], digit) - digits[form]);
		}
		count++;
	}
	valid = valid && count == lengths[form] && worth <= UINT64_MAX;

	memset(&error, 0xA5, sizeof(error));
	REQUIRE(uidgen_textform_read(form, text, size, &id, &error) == valid);
	if (!valid)
	{
		check_error(&error);
		return;
	}
	REQUIRE((uint64_t) id == (uint64_t) worth);
	uidgen_textform_write(form, id, written);
	REQUIRE(memcmp(written, canonical, lengths[form]) == 0);
}

static void
check_id(UidgenTextForm form, int64_t id)
{
	size_t		length = (size_t) uidgen_textform_length(form);
	char	   *text = malloc(length);
	int64_t		again;
	UidgenComplaint error;

	REQUIRE(text && length == lengths[form]);
	uidgen_textform_write(form, id, text);
	REQUIRE(uidgen_textform_read(form, text, length, &again, &error));
	REQUIRE(again == id);
	check_text(form, text, length);
	free(text);
}

/* ---- uuids ---- */

static void
check_uuid(const uint8_t *uuid)
{
	uint8_t		written[UIDGEN_UUID_SIZE];
	int64_t		milliseconds = 0;
	uint64_t	id = (uint64_t) (uuid[6] & 0xF) << 8 | uuid[7];
	int64_t		result;
	UidgenComplaint error;
	bool		valid;

	for (int i = 0; i < 6; i++)
		milliseconds = milliseconds << 8 | uuid[i];
	/* 6 bits, 5 bytes, and another 6 bits */
	id = id << 6 | (uuid[8] & 0x3F);
	for (int i = 9; i < 14; i++)
		id = id << 8 | uuid[i];
	id = id << 6 | uuid[14] >> 2;

	REQUIRE(uidgen_uuidform_write(milliseconds * 1000 + 999, (int64_t) id, written));
	REQUIRE(uidgen_uuidform_read(written, &result, &error));
	REQUIRE((uint64_t) result == id);

	valid = memcmp(uuid, written, sizeof(written)) == 0;
	memset(&error, 0xA5, sizeof(error));
	REQUIRE(uidgen_uuidform_read(uuid, &result, &error) == valid);
	if (valid)
		REQUIRE((uint64_t) result == id);
	else
		check_error(&error);
}

/* ---- whatever it is ---- */

/* A text that is read in a form has that form among its readings, and no other id. */
static void
check_readings(const char *text, size_t length)
{
	UidgenReading readings[UIDGEN_READINGS_MAX];
	UidgenComplaint error;
	int			n;

	memset(&error, 0xA5, sizeof(error));
	n = uidgen_read_text(text, length, readings, &error);
	if (n == 0)
		check_error(&error);
	for (int i = 0; i < n; i++)
	{
		int64_t		id;
		UidgenComplaint unused;

		REQUIRE(readings[i].has_id || readings[i].has_time);
		REQUIRE(i == 0 || readings[i].form > readings[i - 1].form);
		for (int form = 0; form < UIDGEN_TEXT_FORMS; form++)
			if (strcmp(uidgen_textform_name((UidgenTextForm) form), uidgen_form_name(readings[i].form)) == 0 &&
				uidgen_textform_read((UidgenTextForm) form, text, length, &id, &unused))
				REQUIRE(id == readings[i].id);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *block = malloc(size > 0 ? size : 1);
	int64_t		id;

	REQUIRE(block);
	if (size > 0)
		memcpy(block, data, size);
	for (int form = 0; form < UIDGEN_TEXT_FORMS; form++)
	{
		check_text((UidgenTextForm) form, (const char *) block, size);
		if (size >= sizeof(id))
		{
			memcpy(&id, block, sizeof(id));
			check_id((UidgenTextForm) form, id);
		}
	}
	check_readings((const char *) block, size);
	if (size >= UIDGEN_UUID_SIZE)
		check_uuid(block);
	free(block);
	return 0;
}
