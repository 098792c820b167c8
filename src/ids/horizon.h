/*
 * horizon.h
 *	  Up to where ids are final for a statement: the readers' side of core/horizon.h.
 *
 * A reading says below which tick nothing can appear any more, for snapshots that are taken after
 * it.  The snapshot of a statement is older than its call of uid_horizon().  So each reading is noted together with a
 * snapshot that was taken after it.  A call goes by the latest note whose snapshot is not later than its own
 * (horizon_holders.h has the notes and their order).
 *
 * A statement calls uid_horizon() for each row where no index is used, and again for each scan.  The first answer for
 * a snapshot is kept, also a null: another answer in the middle of a scan would pass over rows.  The next statement
 * of a READ COMMITTED transaction has another snapshot, and asks anew, also in a loop of a function.
 */
#ifndef UIDGEN_HORIZON_IDS_H
#define UIDGEN_HORIZON_IDS_H

#include "core/units.h"
#include "memory/guc.h"

/*
 * The tick below which all ids of this database are visible to the active snapshot, or will never be
 * stored.  False: nothing can be said for this snapshot.
 *
 * Errors: 55000 in recovery, no snapshot of the usual kind, or ids were drawn below what readers were told; and the
 * errors of uidgen_attach().
 */
extern bool uidgen_horizon_tick(UidgenTick *tick);

/*
 * How many ticks the holders keep readers of this database behind the clock, or behind the last id if that is ahead
 * of the clock.  Nobody reads on by this number, so it counts as no reading.  False: likewise.
 */
extern bool uidgen_horizon_lag(UidgenTick *lag);

/* The largest id below a tick, of whatever worker. */
static inline int64
uidgen_horizon_id(UidgenTick tick)
{
	return (int64) ((uint64) tick << uidgen_layout.shift[UIDGEN_TIME]) - 1;
}

/*
 * Forget that ids were drawn below what readers were told, who now know.  They have gone back to the id *from, or
 * NULL: to wherever; ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if ids below that were drawn.
 */
extern void uidgen_horizon_accept(const int64 *from);

#endif							/* UIDGEN_HORIZON_IDS_H */
