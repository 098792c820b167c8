/*
 * local_mode.h
 *	  What the keeper does where the registry is of this server alone.
 *
 * The rules are the lease's (core/lease.h).
 */
#ifndef UIDGEN_LOCAL_MODE_H
#define UIDGEN_LOCAL_MODE_H

#include "postgres.h"

#include "link/link.h"

/* Get what callers ask for: make the call that the lease decides on.  Errors: those of
 * local_registry.h; 55000 a large step of the clock needs another worker id. */
extern void uidgen_local_mode_serve(const UidgenLink *link);

/*
 * Hand back what was not used.  When the position is read, no caller may take a ticket
 * any more: so the era is closed first, and stays closed.
 */
extern void uidgen_local_mode_release(const UidgenLink *link);

/*
 * Remember what the local registry granted before the server started, for a node of a
 * fleet.  Shared memory knows what was granted since.
 */
extern void uidgen_local_mode_recall(const UidgenLink *link);

#endif							/* UIDGEN_LOCAL_MODE_H */
