/*
 * stamp.c
 *	  uid_stamp(): a trigger that gives each row that is inserted or updated a new id as its version.
 *
 * It runs for each row.  So what can be done once for a table is done once, and kept until the next invalidation of its
 * relcache entry: the column's number, and a tuple descriptor in which the column is declared pass-by-reference.
 * By this descriptor the server returns the address of the column in a row, and the id is written there.
 *
 * The row is the executor's, which keeps a copy in a slot.  If the executor gets another row back it stores that into the slot,
 * which costs more than all the rest.  So the id is written into the slot's row, and into the value that the slot may have
 * read.  Where the slot holds something else, the id goes into a copy of the row.  A partition needs a copy, too: the server
 * checks the partition's bound again only if the trigger returns another row.  A row whose column is null is formed anew.
 *
 * Whoever may write to the table draws by it, as by any trigger that its owner has put there.
 *
 * Errors: as in row_trigger.h, and for uidgen_take().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "compat.h"
#include "executor/tuptable.h"
#include "functions/row_trigger.h"
#include "functions/values.h"
#include "ids/generator.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

SQL_FUNCTION(uidgen_stamp);

/* A table that was written to, by its OID. */
typedef struct Stamped
{
	Oid			table;
	Oid			trigger;		/* the one that `column` is of */
	int			column;
	TupleDesc	columns;		/* with `column` by reference */
} Stamped;

static HTAB *tables = NULL;

#define EXPECTED_TABLES 32

static void
forget(Stamped *stamped)
{
	FreeTupleDesc(stamped->columns);
	hash_search(tables, &stamped->table, HASH_REMOVE, NULL);
}

/* A table has changed, or any may have. */
static void
forget_table(Datum argument, Oid table)
{
	HASH_SEQ_STATUS all;
	Stamped    *stamped;

	(void) argument;
	if (OidIsValid(table))
	{
		stamped = hash_search(tables, &table, HASH_FIND, NULL);
		if (stamped != NULL)
			forget(stamped);
		return;
	}
	hash_seq_init(&all, tables);
	while ((stamped = hash_seq_search(&all)) != NULL)
		forget(stamped);
}

static void
make_tables(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Stamped)};

	tables = hash_create("tables that uid_stamp() was called for", EXPECTED_TABLES, &control, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(forget_table, (Datum) 0);
}

/* What is known of a trigger's table. */
static Stamped *
look_at_table(TriggerData *call)
{
	Oid			table = RelationGetRelid(call->tg_relation);
	Stamped    *stamped;
	int			column;
	TupleDesc	columns;
	MemoryContext caller;
	bool		found;

	if (tables == NULL)
		make_tables();
	stamped = hash_search(tables, &table, HASH_FIND, NULL);
	if (likely(stamped != NULL && stamped->trigger == call->tg_trigger->tgoid))
		return stamped;

	column = uidgen_find_column(call, "uid_stamp");
	caller = MemoryContextSwitchTo(CacheMemoryContext);
	columns = CreateTupleDescCopy(RelationGetDescr(call->tg_relation));
	MemoryContextSwitchTo(caller);
	uidgen_pass_by_reference(columns, column);
	stamped = hash_search(tables, &table, HASH_ENTER, &found);
	if (found)					/* of another trigger of the table */
		FreeTupleDesc(stamped->columns);
	stamped->trigger = call->tg_trigger->tgoid;
	stamped->column = column;
	stamped->columns = columns;
	return stamped;
}

/* Is this the row of the slot, and all that is to be changed? */
static inline bool
is_row_of(HeapTuple row, TupleTableSlot *slot, Relation table)
{
	return (TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot)) && ((HeapTupleTableSlot *) slot)->tuple == row &&
		!table->rd_rel->relispartition;
}

Datum
uidgen_stamp(PG_FUNCTION_ARGS)
{
	TriggerData *call = (TriggerData *) fcinfo->context;
	HeapTuple	row;
	TupleTableSlot *slot;
	Stamped    *stamped;
	int64		id;
	Datum		place = (Datum) 0;
	bool		isnull = true;
	bool		in_place;

	uidgen_check_row_trigger(fcinfo, "uid_stamp");
	row = TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? call->tg_newtuple : call->tg_trigtuple;
	slot = TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? call->tg_newslot : call->tg_trigslot;

	/* What was known before this is not certain after a wait. */
	id = uidgen_next_id(0);
	stamped = look_at_table(call);

	in_place = is_row_of(row, slot, call->tg_relation);
	if (!in_place)
		row = heap_copytuple(row);
	/* A row of before its last columns were added may end too early. */
	if (stamped->column <= HeapTupleHeaderGetNatts(row->t_data))
		place = fastgetattr(row, stamped->column, stamped->columns, &isnull);
	if (unlikely(isnull))
	{
		place = Int64GetDatum(id);
		isnull = false;
		return PointerGetDatum(heap_modify_tuple_by_cols(row, RelationGetDescr(call->tg_relation), 1, &stamped->column, &place, &isnull));
	}
	memcpy(DatumGetPointer(place), &id, sizeof(id));
	if (in_place && slot->tts_nvalid >= stamped->column)
		slot->tts_values[stamped->column - 1] = fastgetattr(row, stamped->column, RelationGetDescr(call->tg_relation), &isnull);
	return PointerGetDatum(row);
}
