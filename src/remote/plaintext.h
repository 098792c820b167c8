/*
 * plaintext.h
 *	  What another server says, in plain ASCII.
 *
 * Its texts may be in any language and encoding, and are shown in databases of this cluster of any
 * encoding.  ASCII is what all of these have in common.  So an error whose text is not ASCII is told
 * by the name of its SQLSTATE, and its detail or hint is left out.  libpq's own texts are ASCII,
 * since a keeper speaks English (keeper.c).
 */
#ifndef UIDGEN_PLAINTEXT_H
#define UIDGEN_PLAINTEXT_H

#include "postgres.h"

/*
 * A message in one line, without blanks at its ends, of at most `limit` characters.  If it is not
 * ASCII: the name of the SQLSTATE, or NULL if that is NULL.  NULL for NULL.  Allocated.
 */
extern char *uidgen_plain_message(const char *message, const char *sqlstate, int limit);

/* Likewise what libpq says with PQERRORS_VERBOSE, without SQLSTATE and location; never NULL. */
extern char *uidgen_plain_report(const char *report, int limit);

/* A value, with nothing left out: a question mark for what is not printable ASCII.  Allocated. */
extern char *uidgen_plain_value(const char *value, int length);

#endif							/* UIDGEN_PLAINTEXT_H */
