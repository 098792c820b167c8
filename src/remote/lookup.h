/*
 * lookup.h
 *	  Names of hosts, looked up beside everything else.
 *
 * A name server may take as long as it likes.  getaddrinfo() waits for it without a limit, and looks at
 * neither latch nor signal.  So each look-up has a thread of its own, and nobody waits for a thread:
 * whoever needs a name asks how it stands, can wait for a socket, and asks again.  The process may
 * end while a look-up goes on.
 *
 * A look-up that nobody waits for any more goes on, and counts for whoever asks next: so a name server
 * that takes longer than anybody waits is of use all the same.  A name that is looked up already is not
 * looked up once more, however often somebody asks.
 */
#ifndef UIDGEN_LOOKUP_H
#define UIDGEN_LOOKUP_H

#include "postgres.h"

typedef enum UidgenLookupState
{
	UIDGEN_LOOKUP_UNDER_WAY,	/* ask again */
	UIDGEN_LOOKUP_FOUND,
	UIDGEN_LOOKUP_FAILED
} UidgenLookupState;

/*
 * How does the look-up of this name stand?  If there is none, one begins.  FOUND and FAILED end it:
 * the next question begins another one.
 *
 * With FOUND, *text has the addresses in the order in which to try them, with commas, as for libpq's option hostaddr.
 * With FAILED, it says why there are none.  Allocated.
 */
extern UidgenLookupState uidgen_lookup(const char *name, char **text);

/*
 * Becomes readable when a look-up has ended, and stays so until somebody asks for any name.  There is
 * one if a look-up is under way.
 */
extern pgsocket uidgen_lookup_socket(void);

/* Is it a name?  Otherwise it is an address or the path of a socket, and needs no look-up. */
extern bool uidgen_lookup_is_for(const char *host);

#endif							/* UIDGEN_LOOKUP_H */
