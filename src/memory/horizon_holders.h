/*
 * horizon_holders.h
 *	  Who holds the horizon back, and what was read: the shared memory of core/horizon.h.
 *
 * A process has one slot, by its number among PostgreSQL's processes, for its top-level transaction.
 * Only those who have drawn an id in it have a bound there.  ids/horizon_hold.c writes the slots,
 * ids/horizon.c reads them.
 */
#ifndef UIDGEN_HORIZON_HOLDERS_H
#define UIDGEN_HORIZON_HOLDERS_H

#include "postgres.h"

#include "access/transam.h"
#include "core/horizon.h"
#include "datatype/timestamp.h"
#include "storage/lwlock.h"

/* Lines of their own, as nobody writes to another's. */
typedef struct UidgenHolder
{
	UidgenAtomic bound;			/* see core/horizon.h */
	/* Written before the bound, and read after it. */
	TimestampTz since;			/* the start of the transaction */
	Oid			database;
	int			pid;
	char		pad[64 - sizeof(UidgenAtomic) - sizeof(TimestampTz) - sizeof(Oid) - sizeof(int)];
} UidgenHolder;

/* A prepared transaction that has drawn ids, or may have. */
typedef struct UidgenPreparedHolder
{
	FullTransactionId xid;		/* the entry is dead once it is no longer in
								 * progress */
	Oid			database;
	uint64		bound;			/* 0: it was prepared before the server
								 * started */
	TimestampTz since;			/* 0: likewise */
} UidgenPreparedHolder;

/*
 * A reading, and the snapshot that was taken after it.  The reading is good for this snapshot and for each that is
 * not older.  Snapshots are ordered by xmax, and by how few top-level transactions below it were running: each end of
 * such a transaction raises the one or lowers the other.
 */
typedef struct UidgenHorizonNote
{
	UidgenTick	tick;
	uint64		xmax;			/* a full transaction id */
	int64		running;
	int64		span;			/* the span of time that it was made in */
	Oid			database;		/* the holders of this one were read */
	uint64		generation;		/* the generation of what readers are told */
} UidgenHorizonNote;

/* The last notes, of each database one in each span of time at most. */
#define UIDGEN_NOTES 1024
typedef struct UidgenNotes
{
	uint64		count;			/* how many were ever written */
	UidgenHorizonNote note[UIDGEN_NOTES];
} UidgenNotes;

typedef struct UidgenHorizon
{
	UidgenAtomic read_to;		/* no reading has begun beyond this tick */
	char		pad[UIDGEN_TICKET_LINE - sizeof(UidgenAtomic)];

	LWLock		lock;			/* for all that follows */

	/*
	 * Readers were told that no new id is below `told`, and then ids from
	 * `drawn` on were drawn.  told = 0: this has not happened.
	 */
	UidgenTick	told;
	UidgenTick	drawn;
	uint64		generation;		/* counts how often that was accepted: what
								 * was noted before is void */

	bool		begun;			/* ids were drawn or held since the server
								 * started */
	bool		prepared_known; /* the table has also those prepared before
								 * this start */
	int			nprepared;
	UidgenNotes milliseconds;
	UidgenNotes seconds;
} UidgenHorizon;

extern UidgenHorizon *uidgen_horizon;
extern UidgenHolder *uidgen_holders;	/* one for each process */
extern UidgenPreparedHolder *uidgen_prepared;

/* How many slots there are. */
extern int	uidgen_holders_count(void);

/* The shared memory that is needed; and its use, with `make` of zeros for the first time, with locks of
 * this tranche.  It begins on a cache line. */
extern Size uidgen_holders_size(void);
extern void uidgen_holders_use(char *memory, bool make, int tranche);

/*
 * Forget prepared transactions that have ended; the first time, note those prepared before the server started.  Needs
 * the lock exclusively.
 */
extern void uidgen_refresh_prepared(void);

/* The full number of a transaction id that is not older than 2^31 others, as one that is in progress. */
extern FullTransactionId uidgen_full_xid(TransactionId xid);

/* Is it still prepared? */
extern bool uidgen_is_prepared(const UidgenPreparedHolder *holder);

/* Room for one more, of which there always is some after a refresh.  Needs the lock exclusively. */
extern void uidgen_note_prepared(const UidgenPreparedHolder *holder);

#endif							/* UIDGEN_HORIZON_HOLDERS_H */
