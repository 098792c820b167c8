/*
 * row_trigger.c
 *	  How a trigger that writes an id into a column has to be made: see row_trigger.h.
 */
#include "postgres.h"

#include "functions/row_trigger.h"

#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/rel.h"

/* Raises the error that the trigger was not made as it must be. */
static void
refuse_trigger(const char *function, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("%s() %s", function, problem),
			 errhint("Create the trigger with BEFORE INSERT OR UPDATE, FOR EACH ROW and EXECUTE FUNCTION %s('column'), where the column is of type bigint.", function)));
}

void
uidgen_check_row_trigger(FunctionCallInfo fcinfo, const char *function)
{
	TriggerEvent event;

	if (!CALLED_AS_TRIGGER(fcinfo))
		refuse_trigger(function, "was not called as a trigger");
	event = ((TriggerData *) fcinfo->context)->tg_event;
	if (!TRIGGER_FIRED_FOR_ROW(event))
		refuse_trigger(function, "was called for a statement");
	if (!TRIGGER_FIRED_BEFORE(event))
		refuse_trigger(function, "was not called before the row is written");
	if (TRIGGER_FIRED_BY_DELETE(event))
		refuse_trigger(function, "was called for DELETE");
}

int
uidgen_find_column(TriggerData *call, const char *function)
{
	TupleDesc	columns = RelationGetDescr(call->tg_relation);
	const char *table = RelationGetRelationName(call->tg_relation);
	const char *name;

	if (call->tg_trigger->tgnargs != 1)
		refuse_trigger(function, "needs one argument, the name of a column");
	name = call->tg_trigger->tgargs[0];
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (column->attisdropped || strcmp(NameStr(column->attname), name) != 0)
			continue;
		if (column->atttypid != INT8OID)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of table \"%s\" is of type %s", name, table, format_type_be(column->atttypid)),
					 errdetail("Trigger \"%s\" calls %s(), which writes ids, of type bigint.", call->tg_trigger->tgname, function),
					 errhint("Change the type of the column to bigint, or name another column in the trigger.")));
		if (column->attgenerated != '\0')
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("column \"%s\" of table \"%s\" is generated", name, table),
					 errdetail("Trigger \"%s\" calls %s(), and what that writes would be computed anew.", call->tg_trigger->tgname, function),
					 errhint("Name another column in the trigger.")));
		return i + 1;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table \"%s\" has no column \"%s\"", table, name),
			 errdetail("Trigger \"%s\" calls %s() for it.", call->tg_trigger->tgname, function),
			 errhint("If the column was renamed, create the trigger anew with the new name.")));
	return 0;					/* not reached */
}
