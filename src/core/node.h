/*
 * node.h
 *	  The rules by which a server keeps its lease as a node of a fleet.
 *
 * A fleet's registry may lose its last commits, and an answer of it may get lost on the way.
 * So the node remembers more than its lease (lease.h), and does less with it:
 *
 *	- It proposes the tokens itself, and remembers each before it is sent.  After a call
 *	  without an answer its row may have any of them; then it does not renew, but acquires
 *	  with all of them, and goes on above the end that the row has.
 *	- It claims its row even if the registry has forgotten the grant.  But if the settings may lead to
 *	  another registry, it sends a renewal first, which takes no row there.
 *	- It uses the fleet's time (fleetclock.h).  So it follows no leap of its own clock, and only a step back of the
 *	  fleet's time needs another row.  Where no row is free, it goes on above the end of its present row, if the
 *	  registry lets it.
 *	- It uses no answer of a server that the registry has left behind: one of an older
 *	  timeline than it has seen.
 *	- It leaves a row that stays locked, and takes another one.  Whoever has locked it may
 *	  commit or not; either way a grant of another row begins by that row's rules.  But what
 *	  locks it may be a call of this node that was not answered: that one is waited for.
 *	- It uses no answer of another registry, unless the settings lead elsewhere than when it
 *	  heard of this one.  Two registries would each grant the same worker ids, to some nodes
 *	  of one fleet.
 *	- It cuts the bounds that it asks for, because the registry refuses a grant further than max_lead ahead of its
 *	  clock.
 *
 * An attempt of the keeper (attempt.h) makes the calls that are decided on here.  As in lease.h all
 * that comes in are values: test/unit/test_node.c tries each rule.
 */
#ifndef UIDGEN_NODE_H
#define UIDGEN_NODE_H

#include "core/fleetclock.h"
#include "core/lease.h"

/* If more calls in a row than this have no answer, the row has the oldest token, since the
 * registry does nothing at all; or one of the latest. */
#define UIDGEN_NODE_TOKENS 8

/* A row that was locked in this number of calls, one after the other, is left.  Once is normal: the owner of the
 * registry, or another server that brings its grants along, may be at it. */
#define UIDGEN_NODE_LOCKED 3

/* A registry, and how far its history has come. */
typedef struct UidgenRegistryLife
{
	int64_t		registry_id;
	int64_t		cluster;		/* system identifier of its server */
	int			timeline;		/* the latest that was seen, as the registry
								 * tells it */
} UidgenRegistryLife;

typedef struct UidgenNode
{
	/* Of the registry that answered last, whatever it was asked. */
	bool		answered;		/* some registry has */
	bool		answered_here;	/* at `place`: no other is used there */
	UidgenRegistryLife seen;

	/* ---- of the one that answered last about grants ---- */
	bool		joined;			/* some registry has */
	int64_t		registry_id;
	UidgenTick	max_lead;		/* no grant reaches further ahead */
	UidgenTick	quarantine_until;
	UidgenFleetClock clock;

	/*
	 * The tokens that the row of this node may have, the oldest first.  While
	 * every call is answered, the lease's token is the only one.
	 */
	int64_t		tokens[UIDGEN_NODE_TOKENS];
	int			ntokens;

	/*
	 * Where the settings lead.  Elsewhere: it is another place than the one
	 * that answered last.  It may be another registry, where a claim would
	 * take the row of some node there.
	 */
	uint64_t	place;
	bool		elsewhere;

	/*
	 * The grant of the lease may be claimed.  Not after it was released: then
	 * another node may have been granted what follows, and a registry that
	 * went back would not know of that.
	 */
	bool		claims;

	/* So many answers in a row were that the row is locked. */
	int			locked;
} UidgenNode;

/* What each answer of a fleet's registry says of itself. */
typedef struct UidgenRegistryWord
{
	UidgenRegistryLife life;
	UidgenTick	max_lead;
	UidgenTick	quarantine_until;
} UidgenRegistryWord;

/* The next call, and what it says beyond what a local registry is told. */
typedef struct UidgenNodeAction
{
	UidgenLeaseAction lease;
	int			claimed_worker; /* -1: none */
	UidgenTick	claimed_until;	/* last tick of the grant that is claimed */
	bool		leaves;			/* the row in use is left as it is, for
								 * another one */
} UidgenNodeAction;

/* First use: no registry has answered. */
extern void uidgen_node_init(UidgenNode *node);

/* The number by which a lease knows its registry (UidgenGrant.registry), where it is a
 * fleet's; no local one has such a number. */
static inline uint64_t
uidgen_node_registry(int64_t registry_id)
{
	return (uint64_t) registry_id | UINT64_C(1) << 63;
}

static inline bool
uidgen_grant_is_of_fleet(const UidgenGrant *grant)
{
	return (grant->registry & UINT64_C(1) << 63) != 0;
}

/* Cut what the settings allow so that it fits into the registry's max_lead. */
extern void uidgen_node_cut_terms(const UidgenNode *node, UidgenTerms *terms);

/*
 * What to do so that ids go on.  As uidgen_lease_next(), but never UIDGEN_REFUSE: only the
 * registry's answers tell what the clock does next.  The clocks are the fleet's if that is
 * known.
 */
extern UidgenNodeAction uidgen_node_next(const UidgenNode *node, const UidgenLease *lease,
										 const UidgenTerms *terms,
										 const UidgenClocks *clocks,
										 UidgenPosition position, UidgenTick clock_known);

/* What to do when a renewal found the row taken from us. */
extern UidgenNodeAction uidgen_node_lost(const UidgenNode *node, const UidgenLease *lease,
										 const UidgenTerms *terms,
										 const UidgenClocks *clocks,
										 UidgenPosition position);

/* The registry has granted ticks up to `known`, which were granted before: ask again for
 * what is above. */
extern void uidgen_node_teach(UidgenNodeAction *action, UidgenTick known);

/* The next call goes to this place, whatever number it has; or the settings have changed. */
extern void uidgen_node_goes(UidgenNode *node, uint64_t place);

/* Has a registry answered at this place, since the settings lead there?  Then which? */
extern bool uidgen_node_knows(const UidgenNode *node, uint64_t place, int64_t *registry_id);

/* A call is about to be sent that gives the row this token.  `action` is what decided on
 * it. */
extern void uidgen_node_sends(UidgenNode *node, const UidgenLease *lease,
							  const UidgenNodeAction *action, int64_t token);

/* It certainly did nothing: the row has the token that it had. */
extern void uidgen_node_refused(UidgenNode *node, const UidgenLease *lease);

/* The registry has said that the row is locked, and did nothing; or something else has become
 * of the call. */
extern void uidgen_node_meets_lock(UidgenNode *node, bool locked);

/* It was answered: the row has the token that was sent. */
extern void uidgen_node_confirmed(UidgenNode *node);

/* Our row, if there is one, is left to its end: none of the tokens is used again. */
extern void uidgen_node_fenced(UidgenNode *node);

/* The lease holds what the registry has confirmed. */
extern void uidgen_node_holds(UidgenNode *node);

/* The lease has ended, and its row is about to be handed back: nothing of it is used any
 * more. */
extern void uidgen_node_releases(UidgenNode *node);

/*
 * An answer has come, of a registry of this life.  False if it must not be used; then nothing
 * is changed, and the call counts as one without an answer.  That is so if what answered here before (seen) was
 * another registry, a later timeline of the registry, or this timeline in another cluster.  (What the registry tells
 * as its timeline goes on when it comes to another cluster, as by pg_upgrade.  So the former cluster, should it be
 * started again, is left behind.)
 */
extern bool uidgen_node_sees(UidgenNode *node, const UidgenRegistryLife *life);

/*
 * Like uidgen_node_sees(), for an answer about grants: take what the registry says of itself, and bound the fleet's
 * time by it.  `verdict` and `step` are what uidgen_fleetclock_judge() found.
 */
extern bool uidgen_node_hears(UidgenNode *node, const UidgenRegistryWord *word,
							  const UidgenClockReading *reading,
							  UidgenMicroseconds large_step,
							  UidgenClockVerdict *verdict, UidgenMicroseconds *step);

#endif							/* UIDGEN_NODE_H */
