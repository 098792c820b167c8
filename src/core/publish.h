/*
 * publish.h
 *	  What the keeper holds, and how callers come to see it.
 *
 * An attempt of the keeper (attempt.h) changes the lease by the registry's answers.  Here a grant
 * that the lease holds becomes an era of the words that callers draw from (ticket.h).  A change is
 * always committed to the registry first.  In the other order a crash could forget ids that were
 * issued.
 *
 * Pure: the settings come in as values, and the clocks by a function, since one of them has to be
 * read at a certain moment.  The keeper, the simulation of a fleet (test/simulation) and the fuzzer
 * of leases (test/fuzz) run this code, and so does whatever is proved by them.
 */
#ifndef UIDGEN_PUBLISH_H
#define UIDGEN_PUBLISH_H

#include "core/node.h"

/* The machine's clocks, in microseconds: since 1970 UTC, and since its start. */
typedef struct UidgenTimes
{
	UidgenMicroseconds wall;
	UidgenMicroseconds boot;
} UidgenTimes;

/*
 * What the keeper holds, and what it goes by.  In the server, all that the first four point to is
 * shared memory: whoever calls the functions below holds the lock, and is the keeper (memory.h).
 */
typedef struct UidgenKeeping
{
	UidgenTicketWords *words;
	UidgenLease *lease;
	UidgenNode *node;			/* what it knows as a node of a fleet */
	UidgenGrant *unused;		/* a fleet's grant that was acquired, and
								 * never published */

	const UidgenTicketRules *rules;
	UidgenTerms settings;		/* before a registry's lengths count; padding
								 * is not set */
	UidgenTick	fleet_window;	/* in place of settings.window, where the
								 * registry is a fleet's */
	int			padding_factor; /* percent of the window */
	UidgenMicroseconds epoch;	/* when tick 0 began, since 1970 UTC */
	UidgenMicroseconds timeout; /* how long a node waits for the registry */

	UidgenTimes (*look) (const void *machine);	/* at the clocks */
	const void *machine;

	/* What ids of this grant have beside time and sequence. */
	uint64_t	(*constant) (const UidgenGrant *grant);
} UidgenKeeping;

/* The terms of a lease by these settings: of a fleet's registry, cut so that it grants
 * what is asked for. */
extern UidgenTerms uidgen_keeping_terms(const UidgenKeeping *keeping, bool fleet);

/* The tick of this time: at least 0, and at most the layout's last one. */
extern UidgenTick uidgen_keeping_tick(const UidgenKeeping *keeping, UidgenMicroseconds time);

/* The clocks, by the time that ids have now. */
extern UidgenClocks uidgen_keeping_clocks(const UidgenKeeping *keeping);

/* How far ids may run ahead of the clock, by the present settings. */
extern void uidgen_publish_bounds(const UidgenKeeping *keeping);

/* The grant in force was renewed.  `offset`: see uidgen_lease_hold(). */
extern void uidgen_publish_renewal(const UidgenKeeping *keeping, const UidgenGrant *grant,
								   UidgenMicroseconds offset);

/* Begin a new era with this grant, no tick of which was granted to this server before. */
extern void uidgen_publish_acquisition(const UidgenKeeping *keeping, const UidgenGrant *grant,
									   UidgenMicroseconds offset, UidgenStepKind step);

/* Begin a new era with the grant that is held, after uidgen_ticket_close(). */
extern void uidgen_publish_again(const UidgenKeeping *keeping);

#endif							/* UIDGEN_PUBLISH_H */
