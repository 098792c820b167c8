/*
 * segment_fetch.h
 *	  What the keeper does for a segment: it fetches numbers, and hands back what is left.
 *
 * The rules are in core/segment_supply.h, for a local registry and for a fleet's.  A fleet's answers have to be of
 * its latest timeline (keeping.h) besides.
 */
#ifndef UIDGEN_SEGMENT_FETCH_H
#define UIDGEN_SEGMENT_FETCH_H

#include "postgres.h"

#include "link/link.h"
#include "memory/segment_slots.h"

/*
 * Fetch a range, if there is room for one.  Errors: P0002 there is no such segment; 2200H its
 * numbers are used up; 55000 the registry has lost more of them than it allows for, or is
 * of the other mode than the link; 57014 the call came too late; 42501 this server may not be a
 * node; 08007 the answer is one of a server that the registry has left behind, or of another registry;
 * 08P01 it makes no sense; and the errors of the link.
 */
extern void uidgen_fetch_numbers(const UidgenLink *link, UidgenSegmentSlot *slot);

/*
 * Which of these segments are there?  Notes it in the slots that are; for the others *missing has what
 * uidgen_fetch_numbers() would say.  Errors: as above, but P0002 and 2200H.
 */
extern void uidgen_fetch_look_up(const UidgenLink *link, int n, UidgenSegmentSlot *const *slots,
								 UidgenFailure *missing);

/* The settings name another place: what is left is thrown away. */
extern void uidgen_fetch_leave(UidgenSegmentSlot *slot);

/* Has the slot numbers that could be handed back? */
extern bool uidgen_fetch_has_rest(UidgenSegmentSlot *slot);

/* Hand back what nobody has drawn; nobody draws it any more.  Errors: as above. */
extern void uidgen_fetch_release(const UidgenLink *link, UidgenSegmentSlot *slot);

#endif							/* UIDGEN_SEGMENT_FETCH_H */
