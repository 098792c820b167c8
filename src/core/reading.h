/*
 * reading.h
 *	  What a text may stand for: an id in one of its forms, or something that begins with
 *	  its time.
 *
 * People copy ids from logs, addresses and programs, without saying in which form they
 * are.  The forms overlap: 13 digits can be a decimal number and base32, 11 can be base58
 * and base62 besides.  All readings are returned, in this order:
 *
 *	ulid		26 digits of Crockford's base 32: 48 bits of milliseconds since 1970, and 80
 *				that are random.  It holds no id of 64 bits.
 *	uuid		32 hexadecimal digits, with hyphens or without, of version 7: it begins
 *				with its time, in milliseconds.  The check bits of uuidform.h say whether it
 *				holds an id.
 *	0x			hexadecimal by its prefix, of up to 16 digits
 *	decimal		a bigint, or an unsigned number of 64 bits; no zeros in front
 *	base32, base58, base62, hex
 *				as textform.h has them, in all digits; TSIDs are base32
 *
 * Where one of the first three fits there is no other reading.  Blanks at either end are
 * left out.
 *
 * Pure functions of their arguments, in C99; nothing is allocated.
 */
#ifndef UIDGEN_READING_H
#define UIDGEN_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/complaint.h"
#include "core/units.h"

typedef enum UidgenForm
{
	UIDGEN_FORM_ULID,
	UIDGEN_FORM_UUID,
	UIDGEN_FORM_DECIMAL,
	UIDGEN_FORM_BASE32,
	UIDGEN_FORM_BASE58,
	UIDGEN_FORM_BASE62,
	UIDGEN_FORM_HEX
} UidgenForm;

/* A text has no more readings than these. */
#define UIDGEN_READINGS_MAX 3

typedef struct UidgenReading
{
	UidgenForm	form;
	bool		has_id;
	int64_t		id;
	bool		has_time;		/* the text itself begins with it */
	UidgenMicroseconds time;	/* since 1970 */
} UidgenReading;

/* Its name, in lower case. */
extern const char *uidgen_form_name(UidgenForm form);

/*
 * The readings of a text of `length` bytes, which need not end with a zero.  Returns how
 * many; 0: there is none, and *error says why.
 */
extern int	uidgen_read_text(const char *text, size_t length,
							 UidgenReading readings[UIDGEN_READINGS_MAX], UidgenComplaint *error);

#endif							/* UIDGEN_READING_H */
