/*
 * hold.c
 *	  uid_hold() and uid_hold_row(): ids that were drawn before the transaction which stores them.
 *
 * uid_hold_row() is the same as a trigger, so that it covers all rows of a table.  An UPDATE that leaves the id alone holds
 * nothing: readers may have passed that row long ago.
 *
 * Errors: 22003 an id does not fit the layout, 25006 in recovery, 40001 readers have passed it; and the errors of
 * uidgen_attach(), and for the trigger of row_trigger.h and uidgen_take().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "core/layout.h"
#include "functions/row_trigger.h"
#include "functions/values.h"
#include "ids/attach.h"
#include "ids/generator.h"
#include "ids/horizon_hold.h"
#include "utils/rel.h"

SQL_FUNCTION(uidgen_hold_id);
SQL_FUNCTION(uidgen_hold_row);

static void
hold(int64 id)
{
	const UidgenLayout *layout;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("ids cannot be held during recovery"),
				 errhint("Store rows on the primary server.")));
	layout = uidgen_attach();
	(void) uidgen_id_timestamp(layout, id); /* raises an error if the id does
											 * not fit */
	if (!uidgen_hold_older((UidgenTick) uidgen_layout_get(layout, UIDGEN_TIME, id)))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("readers have passed the id " INT64_FORMAT, id),
				 errdetail("They were told that no row with such an id comes any more."),
				 errhint("Run the transaction again with a new id.")));
}

Datum
uidgen_hold_id(PG_FUNCTION_ARGS)
{
	hold(PG_GETARG_INT64(0));
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

Datum
uidgen_hold_row(PG_FUNCTION_ARGS)
{
	TriggerData *call = (TriggerData *) fcinfo->context;
	TupleDesc	columns;
	HeapTuple	row;
	int			column;
	Datum		id;
	bool		isnull;

	uidgen_check_row_trigger(fcinfo, "uid_hold_row");
	columns = RelationGetDescr(call->tg_relation);
	column = uidgen_find_column(call, "uid_hold_row");
	row = TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? call->tg_newtuple : call->tg_trigtuple;
	id = heap_getattr(row, column, columns, &isnull);
	if (isnull)
	{
		id = Int64GetDatum(uidgen_next_id(0));
		isnull = false;
		return PointerGetDatum(heap_modify_tuple_by_cols(row, columns, 1, &column, &id, &isnull));
	}
	if (TRIGGER_FIRED_BY_UPDATE(call->tg_event))
	{
		Datum		former = heap_getattr(call->tg_trigtuple, column, columns, &isnull);

		if (!isnull && DatumGetInt64(former) == DatumGetInt64(id))
			return PointerGetDatum(row);
	}
	hold(DatumGetInt64(id));
	return PointerGetDatum(row);
}
