/*
 * horizon_holders.c
 *	  Shared memory of those who hold the horizon back: see horizon_holders.h.
 */
#include "postgres.h"

#include "memory/horizon_holders.h"

#include "access/twophase.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"

UidgenHorizon *uidgen_horizon = NULL;
UidgenHolder *uidgen_holders = NULL;
UidgenPreparedHolder *uidgen_prepared = NULL;

int
uidgen_holders_count(void)
{
	return MaxBackends;
}

/* Besides those that are prepared, each process may be about to prepare one. */
static int
most_prepared(void)
{
	return max_prepared_xacts + MaxBackends;
}

static Size
holders_offset(void)
{
	return TYPEALIGN(UIDGEN_TICKET_LINE, sizeof(UidgenHorizon));
}

static Size
prepared_offset(void)
{
	return add_size(holders_offset(), mul_size(uidgen_holders_count(), sizeof(UidgenHolder)));
}

Size
uidgen_holders_size(void)
{
	return add_size(prepared_offset(), mul_size(most_prepared(), sizeof(UidgenPreparedHolder)));
}

void
uidgen_holders_use(char *memory, bool make, int tranche)
{
	uidgen_horizon = (UidgenHorizon *) memory;
	uidgen_holders = (UidgenHolder *) (memory + holders_offset());
	uidgen_prepared = (UidgenPreparedHolder *) (memory + prepared_offset());
	if (!make)
		return;
	uidgen_atomic_init(&uidgen_horizon->read_to, 0);
	LWLockInitialize(&uidgen_horizon->lock, tranche);
	for (int i = 0; i < uidgen_holders_count(); i++)
		uidgen_atomic_init(&uidgen_holders[i].bound, 0);
}

void
uidgen_note_prepared(const UidgenPreparedHolder *holder)
{
	Assert(LWLockHeldByMeInMode(&uidgen_horizon->lock, LW_EXCLUSIVE));
	if (uidgen_horizon->nprepared >= most_prepared())
		elog(ERROR, "too many prepared transactions have drawn ids");
	uidgen_prepared[uidgen_horizon->nprepared++] = *holder;
}

FullTransactionId
uidgen_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return FullTransactionIdFromEpochAndXid(epoch, xid);
}

/*
 * The server lets no transaction become so old that numbers of 32 bits meet it again.  An entry that nobody has looked
 * at for so long would: its number seems to be one of the future, which the server takes for running.
 */
bool
uidgen_is_prepared(const UidgenPreparedHolder *holder)
{
	uint64		age = U64FromFullTransactionId(ReadNextFullTransactionId()) - U64FromFullTransactionId(holder->xid);

	return age < PG_INT32_MAX && TransactionIdIsInProgress(XidFromFullTransactionId(holder->xid));
}

void
uidgen_refresh_prepared(void)
{
	int			left = 0;

	Assert(LWLockHeldByMeInMode(&uidgen_horizon->lock, LW_EXCLUSIVE));
	for (int i = 0; i < uidgen_horizon->nprepared; i++)
		if (uidgen_is_prepared(&uidgen_prepared[i]))
			uidgen_prepared[left++] = uidgen_prepared[i];
	uidgen_horizon->nprepared = left;

	/*
	 * Whoever draws comes here before, so what is prepared now has drawn none since the server
	 * started.  During recovery they are not there yet.
	 */
	if (uidgen_horizon->prepared_known || RecoveryInProgress())
		return;
	for (int i = 0; i < max_prepared_xacts; i++)
	{
		const PGPROC *proc = &PreparedXactProcs[i];

		if (TransactionIdIsValid(proc->xid) && TransactionIdIsInProgress(proc->xid))
			uidgen_note_prepared(&(UidgenPreparedHolder) {
				.xid = uidgen_full_xid(proc->xid), .database = proc->databaseId
			});
	}
	uidgen_horizon->prepared_known = true;
}
