/*
 * grants.h
 *	  What the keeper does for grants of worker ids: it makes the calls that an attempt decides on
 *	  (core/attempt.h), and says in the log what has become of them.
 *
 * The calls themselves are in local_registry.c and fleet_registry.c.  After a call that fails, the
 * attempt is told before the error goes on to keeper.c.
 */
#ifndef UIDGEN_GRANTS_H
#define UIDGEN_GRANTS_H

#include "postgres.h"

#include "core/units.h"
#include "link/link.h"

/*
 * Get what callers ask for.  Another registry's grant stays in force until this registry has given one.  Errors: as
 * in local_registry.h and fleet_registry.h; 55000 a large step of the clock needs another worker id, or the registry
 * grants what was granted before; 57P03 the registry grants nothing before some time; 08007 the answer is one of a
 * server that the registry has left behind, or of another registry; 22008 the clocks are too far apart.
 */
extern void uidgen_grants_serve(const UidgenLink *link);

/*
 * Find out whether the local registry would give a grant, by the same rules, and take none.  Errors: as
 * uidgen_grants_serve().
 */
extern void uidgen_grants_rehearse(const UidgenLink *link);

/*
 * Hand back what was not used.  When the position is read, no caller may take a ticket
 * any more: so the era is closed first, and stays closed.
 */
extern void uidgen_grants_release(const UidgenLink *link);

/*
 * Remember what the local registry granted before the server started, for a node of a
 * fleet.  Shared memory knows what was granted since.
 */
extern void uidgen_grants_recall(const UidgenLink *link);

/* Publish for callers how far ids may run ahead of the clock, by the present settings. */
extern void uidgen_grants_bound(void);

/* For how many ticks a fleet's registry is asked at a time. */
extern UidgenTick uidgen_grants_window(void);

#endif							/* UIDGEN_GRANTS_H */
