/*
 * horizon_hold.h
 *	  A transaction that draws ids holds the horizon back until it has ended: the writers' side of
 *	  core/horizon.h in this process.
 *
 * generator.c calls uidgen_hold() before the first draw of each transaction.  It notices the first draw by the gate
 * (uidgen_words in memory.h), which is shut again when a transaction ends.  horizon.c is the readers' side.
 */
#ifndef UIDGEN_HORIZON_HOLD_H
#define UIDGEN_HORIZON_HOLD_H

#include "core/units.h"

/* When the library is loaded: every process has to notice the ends of its transactions, since a parallel worker
 * may hold in its leader's name. */
extern void uidgen_register_holding(void);

/* Hold the horizon at the position's tick.  Error: 55000 a parallel worker whose leader has ended. */
extern void uidgen_hold(void);

/*
 * Hold the horizon at the tick of ids that were drawn before.  False: readers may have passed these ids, which must
 * not be stored any more.  Errors: as uidgen_hold().
 */
extern bool uidgen_hold_older(UidgenTick tick);

/* The first look at the clock in another era, in which the position may be lower; `now` is the
 * clock's tick. */
extern void uidgen_hold_in_era(UidgenTick now);

#endif							/* UIDGEN_HORIZON_HOLD_H */
