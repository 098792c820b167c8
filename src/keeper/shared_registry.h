/*
 * shared_registry.h
 *	  The calls on a registry that a fleet of servers shares.
 *
 * As local_registry.h, for the functions that nodes call.  When a call returns, it is
 * committed, and every field of the answer was checked: the registry's owner can deny
 * grants and set the fleet's time, nothing more.  What the answer means for this node is
 * decided by shared_mode.c and core/node.h.
 */
#ifndef UIDGEN_SHARED_REGISTRY_H
#define UIDGEN_SHARED_REGISTRY_H

#include "postgres.h"

#include "core/node.h"
#include "link/link.h"

/* No tick, and no time: the node does not know the fleet's yet. */
#define UIDGEN_NOT_KNOWN PG_INT64_MAX

/* What a node says in each call. */
typedef struct UidgenNodeCall
{
	int64		token;			/* the row gets it */
	UidgenTick	at;				/* the node's time; or UIDGEN_NOT_KNOWN */
	UidgenMicroseconds not_after;	/* by the registry's clock, since 1970
									 * UTC: the node waits no longer; or
									 * UIDGEN_NOT_KNOWN */
	int			ntokens;		/* those that the row may have */
	int64		tokens[UIDGEN_NODE_TOKENS];

	/*
	 * Set before an error is raised: the call certainly did nothing, now or
	 * later.
	 */
	bool		did_nothing;
} UidgenNodeCall;

/* What each answer says. */
typedef struct UidgenNodeAnswer
{
	UidgenRegistryWord word;
	UidgenClockReading reading;
} UidgenNodeAnswer;

typedef enum UidgenAcquired
{
	UIDGEN_ACQUIRED,
	UIDGEN_ACQUIRE_AGAIN,		/* nothing: the registry had to write down
								 * that it went back */
	UIDGEN_ACQUIRE_LATER		/* nothing: it would reach too far; first is
								 * where it would begin */
} UidgenAcquired;

/*
 * Acquire a worker id with its first range of ticks.  Errors: 53400 there is none now;
 * 55006 the wanted one is another node's; 55000 the layout is not the registry's, or the
 * registry is not shared; 2200H the time bits are used up; 22023 the epoch is in the future;
 * 57014 the call came too late; 42501 this server may not be a node; 08P01 the answer
 * makes no sense; and the errors of the link.
 */
extern UidgenAcquired uidgen_shared_acquire(const UidgenLink *link, UidgenNodeCall *call,
											const UidgenNodeAction *action,
											UidgenGrant *grant, UidgenNodeAnswer *answer);

/*
 * Extend grant->last to beyond the node's time and `needed`, as far as the registry grants;
 * it may stay below.  False if no row has the grant's token and end.  Errors: as above.
 */
extern bool uidgen_shared_renew(const UidgenLink *link, UidgenNodeCall *call,
								UidgenGrant *grant, UidgenTick needed, UidgenTick window,
								UidgenNodeAnswer *answer);

/*
 * Bring along what was granted elsewhere: nobody is granted these worker ids up to these ends
 * any more.  All of them or none.  False if another registry than this one answered, or on
 * another timeline.  Errors: 55006 another node holds one; 55000 an end is
 * further ahead than nodes may bring along; and as above.
 */
extern bool uidgen_shared_import(const UidgenLink *link, UidgenNodeCall *call, int n,
								 const int *workers, const UidgenTick *ends,
								 int64 registry_id, int timeline);

/* Hand back the worker id, with what was granted. */
extern void uidgen_shared_release(const UidgenLink *link, UidgenNodeCall *call,
								  int worker);

#endif							/* UIDGEN_SHARED_REGISTRY_H */
