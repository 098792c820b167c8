/*
 * textform.h
 *	  Ids as short text, and back.
 *
 * A text form is an alphabet and a number of digits.  An id of any layout is taken as an unsigned number of 64 bits.
 * Its most significant digit comes first, with zeros in front: so each id has one text in a form, and all texts are
 * equally long.  An id that is negative as a bigint has its highest bit set; so its text comes after all others, and
 * no bit is lost.
 *
 *	base32	13 digits	0123456789ABCDEFGHJKMNPQRSTVWXYZ
 *			Douglas Crockford's, www.crockford.com/base32.html; TSIDs look like this.
 *			When read, lower case is taken for upper case, I and L for 1, O for 0, and
 *			hyphens are passed over.  There is no check symbol.
 *	base58	11 digits	123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz
 *			Bitcoin's; the zeros in front, which are 1s, make up all 11 digits, and not
 *			one for each zero byte as in an address.
 *	base62	11 digits	0123456789A...Za...z
 *			In the order of ASCII, as GMP and KSUID have it.
 *	hex		16 digits	0123456789abcdef
 *			When read, upper case is taken for lower case.
 *
 * The digits of each alphabet are in the order of ASCII.  So texts of one form, compared
 * byte by byte, are in the order of their numbers; in SQL that is the collation "C".
 *
 * Pure functions of their arguments, in C99; nothing is allocated.
 */
#ifndef UIDGEN_TEXTFORM_H
#define UIDGEN_TEXTFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/complaint.h"

typedef enum UidgenTextForm
{
	UIDGEN_BASE32,
	UIDGEN_BASE58,
	UIDGEN_BASE62,
	UIDGEN_HEX
} UidgenTextForm;

#define UIDGEN_TEXT_FORMS 4
/* Digits of the longest form. */
#define UIDGEN_TEXT_FORM_MAX 16

/* The form's name, in lower case. */
extern const char *uidgen_textform_name(UidgenTextForm form);

/* How many digits an id has in this form. */
extern int	uidgen_textform_length(UidgenTextForm form);

/* Write an id: exactly uidgen_textform_length() characters, without a terminating
 * zero. */
extern void uidgen_textform_write(UidgenTextForm form, int64_t id, char *text);

/*
 * Read a text of `length` bytes, which need not end with a zero, into *id.  False if it is no id in this form.  Then
 * *error says which character is no digit (counted from 1), or that digits are too few or too many, or the number too
 * large.
 */
extern bool uidgen_textform_read(UidgenTextForm form, const char *text, size_t length,
								 int64_t *id, UidgenComplaint *error);

#endif							/* UIDGEN_TEXTFORM_H */
