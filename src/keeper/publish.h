/*
 * publish.h
 *	  What the lease goes by, and what becomes of a grant: the part of the keeper that the
 *	  modes share.
 *
 * local_mode.c and shared_mode.c ask the lease what to do and make the calls on their kind
 * of registry.  The terms and clocks that they go by come from here, and here a grant is
 * written to shared memory.  A change is always committed to the registry first.  In the
 * other order a crash could forget ids that were issued.
 */
#ifndef UIDGEN_PUBLISH_H
#define UIDGEN_PUBLISH_H

#include "postgres.h"

#include "core/lease.h"

/* What the settings and the layout say now; for a shared registry, cut so that it fits. */
extern UidgenTerms uidgen_read_terms(bool shared);

/* The clocks, by the time that ids have now. */
extern UidgenClocks uidgen_read_clocks(void);

/* Publish for callers how far ids may run ahead of the clock, by the present settings. */
extern void uidgen_publish_bounds(void);

/* The grant in force was renewed. */
extern void uidgen_publish_renewal(const UidgenGrant *grant, const UidgenTerms *terms,
								   const UidgenClocks *clocks);

/*
 * Begin a new era with this grant.  clock_offset is that of the fleet's time, or 0 if the
 * wall clock counts (server.h).
 */
extern void uidgen_publish_acquisition(const UidgenGrant *grant, const UidgenTerms *terms,
									   const UidgenClocks *clocks, UidgenStepKind step,
									   UidgenMicroseconds clock_offset);

/* End the era: nothing more is issued of the grant, until there is another one, or this one
 * is published again.  Returns the next free position.  The lock must be held. */
extern UidgenPosition uidgen_publish_end(void);
extern void uidgen_publish_again(void);

/* Say in the log which worker id it is, and why. */
extern void uidgen_report_acquisition(const UidgenGrant *grant,
									  const UidgenLeaseAction *action);

/* Say in the log that the row was taken. */
extern void uidgen_report_loss(int worker);

#endif							/* UIDGEN_PUBLISH_H */
