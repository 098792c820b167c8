/*
 * deleted.c
 *	  A row of deleted keys, or a mark, written into the table for that: by its OID, under a lock, and as the current role's own.
 *
 * Who may rename schemas can lead a name to a table of his between any two looks at it, and an old snapshot shows the
 * former owner of a table: a statement would then run another role's triggers as the current role.  So the owner is read
 * from the relcache, which is as of now under the lock, and the row is stored without a statement: no trigger fires, no rule and no kept plan
 * leaves it out, and policies do not count.  What else the table evaluates (defaults, constraints, indexes) only its owner can have put there.
 *
 * The version is the default of its column, as in a statement.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "executor/executor.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/expandedrecord.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

SQL_FUNCTION(uidgen_write_deleted);

/* Locks the table, if it is one that the current role has made for its own rows. */
static Relation
open_own(Oid oid)
{
	Relation	table = try_relation_open(oid, RowExclusiveLock);

	if (table == NULL || table->rd_rel->relkind != RELKIND_RELATION || table->rd_rel->relowner != GetUserId() ||
		RELATION_IS_OTHER_TEMP(table) || IsSystemRelation(table))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the table of deleted keys is another one"),
				 errdetail("Its owner is not that of the table whose changes are tracked."),
				 errhint("Drop it, and the function of its name with CASCADE, call uid_track_changes() again, and let all readers copy the table anew.")));
	return table;
}

/* The value of a field of the row that was deleted.  Domains are of the type that they are made of. */
static Datum
read_key(ExpandedRecordHeader *deleted, Form_pg_attribute column, bool *isnull)
{
	ExpandedRecordFieldInfo field;

	if (!expanded_record_lookup_field(deleted, NameStr(column->attname), &field) || field.fnumber < 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the table whose changes are tracked has no column \"%s\"", NameStr(column->attname)),
				 errhint("Call uid_track_changes().")));
	if (getBaseType(field.ftypeid) != getBaseType(column->atttypid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s, and of type %s in the table of deleted keys",
						NameStr(column->attname), format_type_be(field.ftypeid), format_type_be(column->atttypid)),
				 errhint("Call uid_track_changes().")));
	return expanded_record_get_field(deleted, field.fnumber, isnull);
}

/* Is a column one of the key?  It is taken out of the list. */
static bool
take_out(List **key, const char *column)
{
	ListCell   *name;

	foreach(name, *key)
		if (strcmp(lfirst(name), column) == 0)
	{
		*key = foreach_delete_current(*key, name);
		return true;
	}
	return false;
}

/* Fills a row with a key, or none, and with the defaults of all other columns. */
static void
fill_row(TupleTableSlot *row, Relation table, List *key, ExpandedRecordHeader *deleted, EState *state)
{
	ExecStoreAllNullTuple(row);
	for (int i = 0; i < row->tts_tupleDescriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(row->tts_tupleDescriptor, i);
		Node	   *value;

		if (column->attisdropped || column->attgenerated != '\0')
			continue;
		if (take_out(&key, NameStr(column->attname)))
		{
			if (deleted != NULL)
				row->tts_values[i] = read_key(deleted, column, &row->tts_isnull[i]);
		}
		else if ((value = build_column_default(table, i + 1)) != NULL)
			row->tts_values[i] = ExecEvalExpr(ExecPrepareExpr((Expr *) value, state), GetPerTupleExprContext(state), &row->tts_isnull[i]);
	}
	if (key != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("the table of deleted keys has no column \"%s\"", (char *) linitial(key)),
				 errhint("Call uid_track_changes().")));
}

/*
 * write_deleted(relation regclass, key text[], deleted record) returns void: into the table goes the key of a row that was
 * deleted, or without a row a mark.
 */
Datum
uidgen_write_deleted(PG_FUNCTION_ARGS)
{
	List	   *key = NIL;
	Datum	   *names;
	int			n;
	Relation	table;
	EState	   *state;
	ResultRelInfo *target;
	TupleTableSlot *row;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("neither the table nor its key may be null")));
	PreventCommandIfReadOnly("INSERT");
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &n);
	while (n-- > 0)
		key = lappend(key, TextDatumGetCString(names[n]));

	table = open_own(PG_GETARG_OID(0));
	state = CreateExecutorState();
	row = ExecInitExtraTupleSlot(state, RelationGetDescr(table), table_slot_callbacks(table));
	fill_row(row, table, key, PG_ARGISNULL(2) ? NULL : DatumGetExpandedRecord(PG_GETARG_DATUM(2)), state);

	target = makeNode(ResultRelInfo);
	InitResultRelInfo(target, table, 0, NULL, 0);
	target->ri_TrigDesc = NULL;
	ExecOpenIndices(target, false);
	ExecSimpleRelationInsert(target, state, row);
	ExecCloseIndices(target);
	ExecResetTupleTable(state->es_tupleTable, false);
	FreeExecutorState(state);
	relation_close(table, NoLock);
	PG_RETURN_VOID();
}
