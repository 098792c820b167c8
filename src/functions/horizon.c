/*
 * horizon.c
 *	  The functions for readers that go on by id, and for a look at those who hold them back.
 *
 * uid_horizon_lsn() is for readers on standbys: the horizon, and the position in the WAL from which on it holds
 * there.  The statement's snapshot sees each id up to the horizon that will ever be stored.  Each transaction that a
 * snapshot sees had ended before the snapshot, and a commit writes its record first.  After that comes
 * ProcArrayEndTransaction() or, for a prepared transaction, the removal of its entry, also with synchronous_commit =
 * off.  So each of these commit records lies below the position at which the WAL ends when it is looked up after the
 * snapshot was taken; and a standby that has replayed the WAL up to there shows them to each snapshot that it takes
 * then.  What it shows besides, above the horizon or from after it, the reader leaves to the next time.
 *
 * A standby gets only what the primary has flushed.  A record of a transaction that goes on may wait for that
 * as long as nobody commits, so the function flushes.
 *
 * Errors: as in ids/horizon.h.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_type.h"
#include "functions/values.h"
#include "ids/attach.h"
#include "ids/horizon.h"
#include "memory/attachment.h"
#include "memory/horizon_holders.h"
#include "memory/server.h"
#include "utils/pg_lsn.h"

SQL_FUNCTION(uidgen_horizon_of_statement);
SQL_FUNCTION(uidgen_horizon_and_lsn);
SQL_FUNCTION(uidgen_horizon_holders);
SQL_FUNCTION(uidgen_accept_step);

Datum
uidgen_horizon_of_statement(PG_FUNCTION_ARGS)
{
	UidgenTick	tick;

	if (!uidgen_horizon_tick(&tick))
		PG_RETURN_NULL();
	PG_RETURN_INT64(uidgen_horizon_id(tick));
}

/*
 * Where the last record of the WAL ends.  The server tells where the next one begins: on a new page, behind
 * its header.  A standby has not replayed up to there before there is a next one.
 */
static XLogRecPtr
end_of_wal(void)
{
	XLogRecPtr	next = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(next, wal_segment_size) == SizeOfXLogLongPHD)
		return next - SizeOfXLogLongPHD;
	if (next % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		return next - SizeOfXLogShortPHD;
	return next;
}

Datum
uidgen_horizon_and_lsn(PG_FUNCTION_ARGS)
{
	UidgenTick	tick;
	UidgenColumn row[] = {
		NULL_COLUMN(INT8OID),	/* horizon */
		NULL_COLUMN(PG_LSNOID), /* lsn */
	};

	if (uidgen_horizon_tick(&tick))
	{
		XLogRecPtr	lsn = end_of_wal();

		XLogFlush(lsn);
		SET(0, Int64GetDatum(uidgen_horizon_id(tick)));
		SET(1, LSNGetDatum(lsn));
	}
	return uidgen_return_row(fcinfo, row, lengthof(row));
}

Datum
uidgen_horizon_holders(PG_FUNCTION_ARGS)
{
	UidgenColumn row[] = {
		NULL_COLUMN(INT4OID),	/* pid */
		NULL_COLUMN(OIDOID),	/* database */
		NULL_COLUMN(TIMESTAMPTZOID),	/* since */
		NULL_COLUMN(INT8OID),	/* id */
		NULL_COLUMN(XIDOID),	/* of a prepared transaction */
	};
	UidgenAttachment attachment;
	UidgenPreparedHolder *prepared;
	int			nprepared;

	uidgen_begin_rows(fcinfo, row, lengthof(row));
	attachment = uidgen_look();
	uidgen_report_attachment(attachment);
	if (attachment != UIDGEN_ATTACHED)
		return (Datum) 0;		/* nobody has drawn */
	for (int i = 0; i < uidgen_holders_count(); i++)
	{
		UidgenHolder *holder = &uidgen_holders[i];
		uint64		bound = uidgen_atomic_read(&holder->bound);

		if (bound == 0)
			continue;
		uidgen_read_barrier();
		SET(0, Int32GetDatum(holder->pid));
		SET(1, ObjectIdGetDatum(holder->database));
		SET(2, TimestampTzGetDatum(holder->since));
		SET(3, Int64GetDatum(uidgen_horizon_id((UidgenTick) (bound - 1))));
		SET_OR_NULL(4, (Datum) 0, true);
		uidgen_put_row(fcinfo, row, lengthof(row));
	}
	LWLockAcquire(&uidgen_horizon->lock, LW_EXCLUSIVE);
	uidgen_refresh_prepared();
	nprepared = uidgen_horizon->nprepared;
	prepared = palloc(Max(nprepared, 1) * sizeof(UidgenPreparedHolder));
	memcpy(prepared, uidgen_prepared, nprepared * sizeof(UidgenPreparedHolder));
	LWLockRelease(&uidgen_horizon->lock);
	for (int i = 0; i < nprepared; i++)
	{
		bool		unknown = prepared[i].bound == 0;

		SET_OR_NULL(0, (Datum) 0, true);
		SET(1, ObjectIdGetDatum(prepared[i].database));
		SET_OR_NULL(2, TimestampTzGetDatum(prepared[i].since), unknown);
		SET_OR_NULL(3, Int64GetDatum(unknown ? 0 : uidgen_horizon_id((UidgenTick) (prepared[i].bound - 1))), unknown);
		SET(4, TransactionIdGetDatum(XidFromFullTransactionId(prepared[i].xid)));
		uidgen_put_row(fcinfo, row, lengthof(row));
	}
	return (Datum) 0;
}

Datum
uidgen_accept_step(PG_FUNCTION_ARGS)
{
	int64		from = PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0);

	(void) uidgen_attach();
	uidgen_horizon_accept(PG_ARGISNULL(0) ? NULL : &from);
	PG_RETURN_VOID();
}
