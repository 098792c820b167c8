/*
 * shared_mode.h
 *	  What the keeper does where the registry is a fleet's: it is one of its nodes.
 *
 * The rules are those of core/node.h.
 */
#ifndef UIDGEN_SHARED_MODE_H
#define UIDGEN_SHARED_MODE_H

#include "postgres.h"

#include "core/node.h"
#include "link/link.h"

/*
 * Get what callers ask for: make the call that the node's rules decide on.  Where the grant in
 * force is of another registry, it is left only once this one has given a grant.  Errors: those of
 * shared_registry.h; 57P03 the registry grants nothing before some time; 08007 the
 * answer is one of a server that the registry has left behind, or of another registry; 22008 the
 * clocks are too far apart.
 */
extern void uidgen_shared_mode_serve(const UidgenLink *link);

/* Hand back the worker id.  As in local_mode.h the era is closed first, and stays closed. */
extern void uidgen_shared_mode_release(const UidgenLink *link);

/*
 * Where the next calls go, and whether it is elsewhere than before: said before each of them, and
 * when the settings have changed.
 */
extern void uidgen_shared_mode_goes(const UidgenLink *link);

/*
 * For calls about something else than grants: until when one that is sent now may run, by the
 * registry's clock; and whether its answer may be used.  Error: 08007 the server that
 * answered was left behind by the registry, or has another one.
 */
extern UidgenMicroseconds uidgen_shared_mode_not_after(UidgenMicroseconds boot);
extern void uidgen_shared_mode_sees(const UidgenLink *link, const UidgenRegistryLife *life);

/* After an error of a call: if it came too late, perhaps the registry's clock shows another
 * time than we think.  The next call says nothing about it. */
extern void uidgen_shared_mode_failed(int sqlerrcode);

#endif							/* UIDGEN_SHARED_MODE_H */
