/*
 * waiting.h
 *	  How a call waits for the keeper, and the errors that end such a wait.
 *
 * A call that misses a grant, or numbers of a segment, tells the keeper by a demand (memory/demand.h).  Then it comes
 * here until the keeper has got them.  This file knows what can be in the way; its callers (generator.c,
 * segment_numbers.c) know what is missing.
 */
#ifndef UIDGEN_WAITING_H
#define UIDGEN_WAITING_H

#include "memory/demand.h"

/* What a call misses, for messages. */
typedef struct UidgenLack
{
	const char *message;		/* what is missing */
	const char *timeout_detail; /* the time is up; has %d for the milliseconds */
	const char *timeout_hint;
	UidgenWaitReason reason;
} UidgenLack;

/*
 * Wait until the keeper has made an attempt for this call.  Returns when it is worth
 * trying again; raises an error when it is not, or when the time is up.  `wait` is
 * zero before the first call, but for the demand that it is on.
 *
 * Errors: as uidgen_check_server(); 55000 the keeper cannot work, or its attempt failed; 09000 it would wait for
 * itself; 53000 there is none, and none can be started; of attempts that failed 42704, 53400, 55006, 2200H, and 22023
 * as the registry says.
 */
extern void uidgen_wait_for_keeper(UidgenWait *wait, const UidgenLack *lack);

/* The same, for a grant. */
extern void uidgen_wait_for_grant(UidgenWait *wait);

/*
 * Is this the keeper, or a session in which the registry of a fleet is asked, perhaps by this server's keeper?  Then what the caller waits
 * for would wait for it: 09000, which says what draws there.
 */
extern bool uidgen_would_wait_for_itself(UidgenFailure *why);

/* What is said in single-user mode. */
#define UIDGEN_SINGLE_USER_MESSAGE "uidgen issues no ids in single-user mode"
#define UIDGEN_SINGLE_USER_DETAIL "Only a background worker can get a grant, and single-user mode has none."
#define UIDGEN_SINGLE_USER_HINT "Start the server normally."

/* Raise an error if this server cannot issue ids now: 55000 single-user mode, 25006 recovery. */
extern void uidgen_check_server(void);

/* The server has no worker slot for a keeper: 53000. */
extern void uidgen_no_keeper_failure(UidgenFailure *failure);

#endif							/* UIDGEN_WAITING_H */
