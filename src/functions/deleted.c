/*
 * deleted.c
 *	  A key of a deleted row, or a mark, is stored in the current role's table for these, by its OID.
 *
 * Who may rename schemas can lead a name to a table of his between two looks at it.  An old snapshot shows a table's
 * former owner.  A statement would then run another role's triggers as the current role.  So the owner is read under a lock, as of now,
 * and the row is stored without a statement: no trigger, rule, policy or kept plan has a part in it.  What else the
 * table evaluates (defaults, constraints, indexes) only its owner can have made.  The version is a default, as in a statement.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
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

static Relation
open_own(Oid oid)
{
	Relation	table = try_relation_open(oid, RowExclusiveLock);

	if (table == NULL || table->rd_rel->relkind != RELKIND_RELATION || table->rd_rel->relowner != GetUserId() ||
		RELATION_IS_OTHER_TEMP(table) || IsSystemRelation(table))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the table of deleted keys is another one"),
				 errdetail("It does not belong to the owner of the table whose changes are tracked."),
				 errhint("Drop it, and the function of its name with CASCADE, call uid_track_changes() again, and let all readers copy the table anew.")));
	return table;
}

/* Fills a row with the fields `names` of another, if there is one, and with the defaults of all other columns. */
static void
fill_row(TupleTableSlot *row, Relation table, ArrayType *names, ExpandedRecordHeader *deleted, EState *state)
{
	Bitmapset  *key = NULL;
	ExpandedRecordFieldInfo field;
	Datum	   *name;
	int			n;

	ExecStoreAllNullTuple(row);
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &name, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *column = TextDatumGetCString(name[i]);
		int			place = get_attnum(RelationGetRelid(table), column) - 1;
		Oid			type;

		if (place < 0 || (deleted != NULL && (!expanded_record_lookup_field(deleted, column, &field) || field.fnumber < 1)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" is missing in the table whose changes are tracked, or in the table of its deleted keys", column),
					 errhint("Call uid_track_changes().")));
		key = bms_add_member(key, place);
		if (deleted == NULL)
			continue;
		/* A domain may refuse null, and so a mark: it is not there. */
		type = TupleDescAttr(RelationGetDescr(table), place)->atttypid;
		if (getBaseType(field.ftypeid) != getBaseType(type))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" is of type %s, and in the table of deleted keys of type %s", column, format_type_be(field.ftypeid), format_type_be(type)),
					 errhint("Call uid_track_changes().")));
		row->tts_values[place] = expanded_record_get_field(deleted, field.fnumber, &row->tts_isnull[place]);
	}
	for (int i = 0; i < RelationGetDescr(table)->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), i);
		Node	   *value;

		if (!column->attisdropped && column->attgenerated == '\0' && !bms_is_member(i, key) && (value = build_column_default(table, i + 1)) != NULL)
			row->tts_values[i] = ExecEvalExpr(ExecPrepareExpr((Expr *) value, state), GetPerTupleExprContext(state), &row->tts_isnull[i]);
	}
}

/* write_deleted(relation regclass, key text[], deleted record) returns void: a mark, if `deleted` is null. */
Datum
uidgen_write_deleted(PG_FUNCTION_ARGS)
{
	ExpandedRecordHeader *deleted = PG_ARGISNULL(2) ? NULL : PG_GETARG_EXPANDED_RECORD(2);
	EState	   *state;
	Relation	table;
	ResultRelInfo *target;
	TupleTableSlot *row;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_VOID();
	PreventCommandIfReadOnly("INSERT");
	table = open_own(PG_GETARG_OID(0));
	state = CreateExecutorState();
	row = ExecInitExtraTupleSlot(state, RelationGetDescr(table), table_slot_callbacks(table));
	fill_row(row, table, PG_GETARG_ARRAYTYPE_P(1), deleted, state);

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
