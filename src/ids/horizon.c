/*
 * horizon.c
 *	  Up to where ids are final for a statement: see horizon.h.
 */
#include "postgres.h"

#include "ids/horizon.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "compat.h"
#include "core/clock.h"
#include "ids/attach.h"
#include "lib/qunique.h"
#include "link/link.h"
#include "memory/attachment.h"
#include "memory/horizon_holders.h"
#include "memory/memory.h"
#include "memory/server.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

/* The place of a snapshot in the order of snapshots. */
typedef struct SnapshotPlace
{
	uint64		xmax;			/* a full transaction id */
	int64		running;		/* top-level transactions below it that had
								 * not ended */
} SnapshotPlace;

/* What is answered for a snapshot. */
typedef struct Answer
{
	SnapshotPlace place;
	bool		known;
	UidgenTick	tick;
} Answer;

/* The last note of this process. */
static UidgenHorizonNote last_note;

/*
 * A snapshot leaves out the transaction id of its own session, and during PREPARE it has one
 * twice.
 */
static SnapshotPlace
place_of(Snapshot snapshot)
{
	TransactionId own = GetTopTransactionIdIfAny();
	SnapshotPlace place;

	place.xmax = U64FromFullTransactionId(uidgen_full_xid(snapshot->xmax));
	place.running = snapshot->xcnt;
	if (snapshot->xcnt > 1)
	{
		Size		size = snapshot->xcnt * sizeof(TransactionId);
		TransactionId *xids = memcpy(palloc(size), snapshot->xip, size);

		qsort(xids, snapshot->xcnt, sizeof(TransactionId), xidComparator);
		place.running = qunique(xids, snapshot->xcnt, sizeof(TransactionId), xidComparator);
	}
	if (TransactionIdIsValid(own) && TransactionIdPrecedes(own, snapshot->xmax))
		place.running++;
	return place;
}

/* Is the note's snapshot not after the one at this place?  Needs the lock. */
static inline bool
counts(const UidgenHorizonNote *note, const SnapshotPlace *place)
{
	return note->database == MyDatabaseId && note->generation == uidgen_horizon->generation &&
		(note->xmax < place->xmax ||
		 (note->xmax == place->xmax && note->running >= place->running));
}

/* In a fleet, what time it is for ids is known from the first grant on; the wall clock may be ahead of it. */
static inline bool
time_is_known(void)
{
	if (uidgen_atomic_read(&uidgen_server_words->era) == 1)
	{
		if (uidgen_attached)
			uidgen_follow_server_settings();
		return !uidgen_link()->fleet;
	}
	uidgen_read_barrier();
	return true;
}

/*
 * Lower *least to the least bound of all who hold this database, if that is lower.  False: nothing is known of some
 * prepared transaction.
 */
static bool
find_least_bound(uint64 *least)
{
	bool		known = true;

	for (int i = 0; i < uidgen_holders_count(); i++)
	{
		uint64		bound = uidgen_atomic_read(&uidgen_holders[i].bound);

		if (bound == 0 || bound >= *least)
			continue;
		uidgen_read_barrier();
		if (uidgen_holders[i].database == MyDatabaseId)
			*least = bound;
	}

	/*
	 * After the slots: a transaction is in the table before it leaves its
	 * slot.
	 */
	LWLockAcquire(&uidgen_horizon->lock, LW_SHARED);
	for (int i = 0; i < uidgen_horizon->nprepared; i++)
	{
		const UidgenPreparedHolder *prepared = &uidgen_prepared[i];

		if (prepared->database != MyDatabaseId || prepared->bound >= *least ||
			!uidgen_is_prepared(prepared))
			continue;
		if (prepared->bound == 0)
			known = false;
		else
			*least = prepared->bound;
	}
	LWLockRelease(&uidgen_horizon->lock);
	return known;
}

static void
learn_of_prepared(void)
{
	if (uidgen_horizon->prepared_known)
		return;
	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	uidgen_refresh_prepared();
	LWLockRelease(&uidgen_horizon->lock);
}

/* The tick below which all is visible to a snapshot that is taken now, or will never be stored. */
static bool
read_horizon(UidgenTick *tick)
{
	uint64		least;
	bool		known;

	if (!time_is_known())
		return false;
	learn_of_prepared();
	least = uidgen_horizon_bound(uidgen_horizon_begin(uidgen_server_words, &uidgen_rules,
													  &uidgen_horizon->read_to, uidgen_clock_tick()));
	known = find_least_bound(&least);
	*tick = (UidgenTick) (least - 1);
	return known;
}

bool
uidgen_horizon_lag(UidgenTick *lag)
{
	UidgenTick	now = uidgen_clock_tick();
	uint64		least = uidgen_horizon_bound(now);
	UidgenTick	newest = now;

	if (!time_is_known())
		return false;
	/* What was granted, but not drawn, keeps nobody waiting. */
	if (uidgen_horizon->begun)
		newest = Max(newest, uidgen_ticket_tick(&uidgen_rules, uidgen_atomic_read(&uidgen_server_words->position) - 1));
	learn_of_prepared();
	if (!find_least_bound(&least))
		return false;
	*lag = newest - (UidgenTick) (least - 1);
	return true;
}

/* Read, and take a snapshot after that. */
static bool
make_note(UidgenHorizonNote *note)
{
	static SnapshotData after = {.snapshot_type = SNAPSHOT_MVCC};
	SnapshotPlace place;

	if (!read_horizon(&note->tick))
		return false;
	/* Not GetLatestSnapshot(), which parallel mode forbids. */
	(void) GetSnapshotData(&after);
	place = place_of(&after);
	note->xmax = place.xmax;
	note->running = place.running;
	note->database = MyDatabaseId;
	return true;
}

/* Answer what the note says, if it counts, or more, if more is known.  Needs the lock. */
static bool
heed(const UidgenHorizonNote *note, Answer *answer)
{
	if (!counts(note, &answer->place))
		return false;
	answer->tick = Max(answer->tick, note->tick);
	answer->known = true;
	return true;
}

/* The newest note that counts.  Needs the lock. */
static void
heed_newest(const UidgenNotes *notes, Answer *answer)
{
	for (uint64 i = 1; i <= Min(notes->count, UIDGEN_NOTES); i++)
		if (heed(&notes->note[(notes->count - i) % UIDGEN_NOTES], answer))
			return;
}

/* Is there a note of this database in this span of time?  Needs the lock. */
static bool
has_note(const UidgenNotes *notes, int64 span)
{
	for (uint64 i = 1; i <= Min(notes->count, UIDGEN_NOTES); i++)
	{
		const UidgenHorizonNote *note = &notes->note[(notes->count - i) % UIDGEN_NOTES];

		if (note->span != span)
			return false;
		if (note->database == MyDatabaseId)
			return true;
	}
	return false;
}

/* The first of a span is kept: a snapshot of this span may be older than a later one. */
static void
keep_note(UidgenNotes *notes, UidgenHorizonNote note, int64 span)
{
	note.span = span;
	if (!has_note(notes, span))
		notes->note[notes->count++ % UIDGEN_NOTES] = note;
}

static void
report_passed(void)
{
	UidgenTick	told = uidgen_horizon->told;
	UidgenTick	drawn = uidgen_horizon->drawn;

	LWLockRelease(&uidgen_horizon->lock);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("readers that go on by id would miss rows"),
			 errdetail("The clock was set back. Readers were told that up to the id " INT64_FORMAT " nothing comes any more, and ids from " INT64_FORMAT " on were drawn after that.",
					   uidgen_horizon_id(told), uidgen_horizon_id(drawn) + 1),
			 errhint("Let each reader go back and read the rows between these ids again, then run SELECT uidgen.accept_step(" INT64_FORMAT ").",
					 uidgen_horizon_id(drawn) + 1)));
}

/* Find the answer for the snapshot at its place, which was not asked for before. */
static void
find_answer(Answer *answer)
{
	UidgenHorizonNote note = {.generation = uidgen_horizon->generation};
	UidgenMicroseconds now = uidgen_clock_monotonic();
	int64		millisecond = now / 1000;
	int64		second = now / 1000000;
	bool		noted;
	bool		kept;

	if (!time_is_known())
		uidgen_demand_in_advance(&uidgen_memory->grant_demand);

	/* What is accepted meanwhile makes the note void. */
	pg_memory_barrier();
	noted = make_note(&note);

	LWLockAcquire(&uidgen_horizon->lock, LW_SHARED);
	if (uidgen_horizon->told != 0)
		report_passed();
	/* One that was not made is of no database. */
	heed(&note, answer);
	heed(&last_note, answer);
	heed_newest(&uidgen_horizon->milliseconds, answer);
	heed_newest(&uidgen_horizon->seconds, answer);
	kept = has_note(&uidgen_horizon->milliseconds, millisecond) &&
		has_note(&uidgen_horizon->seconds, second);
	LWLockRelease(&uidgen_horizon->lock);

	if (!noted)
		return;
	last_note = note;
	if (kept)
		return;
	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	keep_note(&uidgen_horizon->milliseconds, note, millisecond);
	keep_note(&uidgen_horizon->seconds, note, second);
	LWLockRelease(&uidgen_horizon->lock);
}

/*
 * A snapshot's answer is kept in the snapshot, in the counter by which GetSnapshotData() finds that a snapshot that
 * it has filled is still good.  The server uses this counter in its own static snapshots only, and CopySnapshot()
 * sets it to 0.  So an answer lives as long as its snapshot, also a cursor's, and the next snapshot begins without an
 * answer.  Nothing else tells whether a snapshot is the same.  Two snapshots may be equal in all else, though in
 * between a transaction without an xid has drawn, held the horizon and ended.
 */
#define NOT_ANSWERED 0
#define NOTHING_KNOWN 1
#define ANSWERED 2				/* and the tick */

static bool
answer_in(Snapshot snapshot, UidgenTick *tick)
{
	if (snapshot->snapXactCompletionCount == NOT_ANSWERED)
	{
		Answer		answer = {.place = place_of(snapshot)};

		find_answer(&answer);
		snapshot->snapXactCompletionCount =
			answer.known ? ANSWERED + (uint64) answer.tick : NOTHING_KNOWN;
	}
	if (snapshot->snapXactCompletionCount == NOTHING_KNOWN)
		return false;
	*tick = (UidgenTick) (snapshot->snapXactCompletionCount - ANSWERED);
	return true;
}

bool
uidgen_horizon_tick(UidgenTick *tick)
{
	Snapshot	snapshot;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the horizon of ids is not known during recovery"),
				 errdetail("It rests on who is drawing ids, which only the primary server knows."),
				 errhint("Read on the primary server.")));
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the horizon of ids cannot be asked for in a parallel worker"),
				 errhint("Label functions that call uid_horizon() PARALLEL RESTRICTED.")));
	(void) uidgen_attach();
	snapshot = ActiveSnapshotSet() ? GetActiveSnapshot() : NULL;
	/* The statements of such a transaction have copies of one. */
	if (snapshot && IsolationUsesXactSnapshot())
		snapshot = GetTransactionSnapshot();
	if (!snapshot || !snapshot->copied || snapshot->snapshot_type != SNAPSHOT_MVCC || snapshot->takenDuringRecovery)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the horizon of ids needs a statement with a snapshot of this server")));
	return answer_in(snapshot, tick);
}

void
uidgen_horizon_accept(const int64 *from)
{
	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	if (uidgen_horizon->told != 0)
	{
		/* The clock was set back once more, so they have to go back further. */
		if (from && *from > uidgen_horizon_id(uidgen_horizon->drawn) + 1)
			report_passed();
		/* They have gone back to there, and no further. */
		uidgen_atomic_write(&uidgen_horizon->read_to, (uint64) uidgen_horizon->drawn);
		/* A reader that sees the new generation reads on from there. */
		pg_write_barrier();
		uidgen_horizon->told = 0;
		uidgen_horizon->generation++;
	}
	LWLockRelease(&uidgen_horizon->lock);
}
