/*
 * plaintext.h
 *	  What another server says, in plain ASCII.
 *
 * Its texts may be in any encoding: before the session has begun they are in the one that
 * the other server was started with.  They are shown in databases of this cluster of any
 * encoding, too.  ASCII is what all of these have in common, so any other character
 * becomes a question mark.
 */
#ifndef UIDGEN_PLAINTEXT_H
#define UIDGEN_PLAINTEXT_H

#include "postgres.h"

/*
 * A message in one line, without blanks at its ends, of at most `limit` characters; NULL
 * for NULL.  Allocated.
 */
extern char *uidgen_plain_message(const char *message, int limit);

/* A value, with nothing left out.  Allocated. */
extern char *uidgen_plain_value(const char *value, int length);

#endif							/* UIDGEN_PLAINTEXT_H */
