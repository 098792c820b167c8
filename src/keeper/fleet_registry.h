/*
 * fleet_registry.h
 *	  The calls on the registry of a fleet.
 *
 * As local_registry.h, for the functions that nodes call.  When a call returns, it is
 * committed, and every field of the answer was checked: the registry's owner can deny
 * grants and set the fleet's time, nothing more.  What the answer means for this node is
 * decided by core/attempt.h.
 */
#ifndef UIDGEN_FLEET_REGISTRY_H
#define UIDGEN_FLEET_REGISTRY_H

#include "postgres.h"

#include "core/attempt.h"
#include "link/link.h"

/*
 * Make a call.  *did_nothing becomes false when it is sent; if an error is raised, it is true
 * where the call certainly did nothing, now or later.
 *
 * Errors: 53400 there is no worker id now; 55006 the wanted one is another node's, or another
 * node holds one that is brought along; 55000 the layout is not the registry's, the
 * registry is not shared, or an end is further ahead than nodes may bring along; 2200H the time bits
 * are used up; 22023 the epoch is in the future; 55P03 the row is locked; 57014 the call came too
 * late; 42501 this server may not be a node; 08P01 the answer makes no sense; and the errors of the
 * link.
 */
extern void uidgen_fleet_call(const UidgenLink *link, const UidgenCall *call,
							  UidgenReply *reply, volatile bool *did_nothing);

#endif							/* UIDGEN_FLEET_REGISTRY_H */
