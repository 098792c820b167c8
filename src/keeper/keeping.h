/*
 * keeping.h
 *	  What the keeper of this server holds, and what a fleet's node does around each call.
 *
 * grants.c and segment_fetch.c make calls on the registry, for worker ids and for numbers of segments.  Both
 * say until when a call may run, and use no answer of another registry than the one that is
 * known.
 */
#ifndef UIDGEN_KEEPING_H
#define UIDGEN_KEEPING_H

#include "postgres.h"

#include "core/attempt.h"
#include "link/link.h"

/* What the rules work on: shared memory, the present settings and the machine's clocks. */
extern UidgenKeeping uidgen_keeping(void);

/*
 * ---- for a fleet's registry ----
 *
 * Where the next calls go, and whether it is elsewhere than before: said before each of them, and
 * when the settings have changed.
 */
extern void uidgen_keeper_goes(const UidgenLink *link);

/* Until when a call that is sent now may run, by the registry's clock; or UIDGEN_NOT_KNOWN. */
extern UidgenMicroseconds uidgen_keeper_not_after(void);

/*
 * May this answer be used?  Error: 08007 the server that answered was left behind by the registry,
 * or has another one.
 */
extern void uidgen_keeper_sees(const UidgenLink *link, const UidgenRegistryLife *life);

/* Raise that error, and leave the host. */
extern void uidgen_report_unusable(const UidgenLink *link, const UidgenRegistryLife *life);

/* After an error of a call: if it came too late, perhaps the registry's clock shows another
 * time than we think.  The next call says nothing about it. */
extern void uidgen_keeper_failed(int sqlerrcode);

#endif							/* UIDGEN_KEEPING_H */
