/*
 * succession.h
 *	  Which process is the keeper, and how one follows another.
 *
 * A connection to a database of this cluster is closed by the end of the process only.  If a worker ends with code 0,
 * the postmaster does not start it again; with another code, it does, and writes a line to the log.  So a keeper that
 * gives up its connection has the postmaster start a successor, gives it the slot in shared memory, and ends with 0.
 *
 * The rules, each with what it prevents:
 *
 * - The keeper gives the slot to a successor that runs, and ends with 0 only after that.  A
 *	 registration that the postmaster has not noticed yet is lost if a process crashes.  If
 *	 the keeper had ended already, the server would have none until it is restarted.
 * - The slot passes from one to the other under the lock, in one step.  A successor that is told to end gives up its
 *   place under the same lock.  If it owns the slot by then, it is the keeper.  Otherwise both could end with 0.
 * - A process that finds another one in the slot, and is not awaited, ends with 0.  After a
 *	 crash the postmaster starts all that it knows: both, if it was between the two.  With
 *	 another code it would start this one again, without end, and with a line each time.
 * - A keeper that ends for any other reason ends with code 1, and is started again.  So does
 *	 one that finds no free worker slot for a successor when it cannot go on.
 */
#ifndef UIDGEN_SUCCESSION_H
#define UIDGEN_SUCCESSION_H

#include "postgres.h"

#include "postmaster/bgworker.h"

/*
 * Own the slot: at once, or when the keeper that awaits a successor gives it.  Ends the
 * process if that is not to be.  `at_end` is called before the owner leaves the slot,
 * for whatever reason, but for a successor.
 */
extern void uidgen_enter_slot(void (*at_end) (void));

/* Have the postmaster start a successor, if none is on its way.  False: it has no free
 * worker slot. */
extern bool uidgen_call_successor(BackgroundWorker *worker);

extern bool uidgen_successor_has_come(void);

/* Give the slot to the successor, and end.  Returns if none has come. */
extern void uidgen_hand_over(void);

#endif							/* UIDGEN_SUCCESSION_H */
