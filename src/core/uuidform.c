/*
 * uuidform.c
 *	  Ids as uuids of version 7, and back.
 *
 * See uuidform.h for where each bit lies.  A uuid is two words of 64 bits, most
 * significant byte first.
 */
#include "core/uuidform.h"

#include <stdio.h>

#define MICROSECONDS_PER_MILLISECOND 1000

#define TIME_BITS 48
#define CHECK_BITS 10
#define CHECK_MASK ((1U << CHECK_BITS) - 1)

/* The first word has the milliseconds, the version and the upper bits of the id.  The second has the variant, the
 * lower bits of the id and the check bits. */
#define TIME_SHIFT 16
#define VERSION_SHIFT 12
#define VERSION_MASK 0xF
#define VERSION 7
#define VARIANT_SHIFT 62
#define VARIANT 2
#define LOWER_BITS 52
#define UPPER_MASK UINT64_C(0xFFF)
#define LOWER_MASK ((UINT64_C(1) << LOWER_BITS) - 1)

/* The check bits so far, followed by the lowest `bits` bits of a number, a multiple of
 * four. */
static unsigned
extend_check(unsigned check, uint64_t number, int bits)
{
	/* Remainders of 0 to 15, times x^10, by the polynomial. */
	static const uint16_t remainders[] = {
		0x000, 0x233, 0x255, 0x066, 0x299, 0x0AA, 0x0CC, 0x2FF,
		0x301, 0x132, 0x154, 0x367, 0x198, 0x3AB, 0x3CD, 0x1FE
	};

	while ((bits -= 4) >= 0)
		check = (check << 4 & CHECK_MASK) ^
			remainders[check >> (CHECK_BITS - 4) ^ (number >> bits & 0xF)];
	return check;
}

static unsigned
check_bits(uint64_t milliseconds, uint64_t id)
{
	return extend_check(extend_check(0, milliseconds, TIME_BITS), id, 64);
}

static void
put_word(uint8_t *bytes, uint64_t word)
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t) (word >> (56 - 8 * i));
}

static uint64_t
get_word(const uint8_t *bytes)
{
	uint64_t	word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | bytes[i];
	return word;
}

bool
uidgen_uuidform_write(UidgenMicroseconds time, int64_t id, uint8_t uuid[UIDGEN_UUID_SIZE])
{
	uint64_t	number = (uint64_t) id;
	uint64_t	milliseconds = (uint64_t) time / MICROSECONDS_PER_MILLISECOND;

	if (time < 0 || milliseconds >> TIME_BITS != 0)
		return false;
	put_word(uuid, milliseconds << TIME_SHIFT | (uint64_t) VERSION << VERSION_SHIFT |
			 number >> LOWER_BITS);
	put_word(uuid + 8, (uint64_t) VARIANT << VARIANT_SHIFT |
			 (number & LOWER_MASK) << CHECK_BITS | check_bits(milliseconds, number));
	return true;
}

bool
uidgen_uuidform_read(const uint8_t uuid[UIDGEN_UUID_SIZE], int64_t *id, UidgenComplaint *error)
{
	uint64_t	first = get_word(uuid);
	uint64_t	second = get_word(uuid + 8);
	uint64_t	number = (first & UPPER_MASK) << LOWER_BITS |
		(second >> CHECK_BITS & LOWER_MASK);
	unsigned	version = (unsigned) (first >> VERSION_SHIFT & VERSION_MASK);
	unsigned	found = (unsigned) second & CHECK_MASK;
	unsigned	expected = check_bits(first >> TIME_SHIFT, number);

	if (second >> VARIANT_SHIFT != VARIANT)
		snprintf(error->detail, sizeof(error->detail),
				 "Its variant is not RFC 9562's.");
	else if (version != VERSION)
		snprintf(error->detail, sizeof(error->detail),
				 "Its version is %u; uuids of ids have version %d.", version, VERSION);
	else if (found != expected)
		snprintf(error->detail, sizeof(error->detail),
				 "Its check bits are %u; its time and id give %u.", found, expected);
	else
	{
		*id = (int64_t) number;
		return true;
	}
	snprintf(error->message, sizeof(error->message), "uuid holds no id");
	snprintf(error->hint, sizeof(error->hint), "Only uuids that uid_to_uuid() made can be read.");
	return false;
}
