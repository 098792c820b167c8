/*
 * confined.c
 *	  A statement that is run out of reach of the role that has logged in: see confined.h.
 *
 * In a security-restricted operation, in which PostgreSQL's own maintenance of others' tables runs, code cannot
 * become another role, nor leave settings, prepared statements or tables behind.  What it could do
 * besides to the session of a superuser who has become an owner by SET ROLE:
 *
 *	- read from the session's cursors, or put others in place of them, which the session then runs.
 *	  So each cursor is marked as running meanwhile; and a cursor that the code leaves open is an error;
 *	- change by SET CONSTRAINTS when, and under which search path, the session's triggers fire; end the
 *	  transaction, and with it the SET LOCAL ROLE, by a COMMIT that a driver has prepared; make a trigger on a
 *	  temporary table of the session's.  These statements are refused;
 *	- leave in the temporary schema what is found there in place of PostgreSQL's own, or change what the
 *	  session has made there as the owner.  The first is undone by an error, and the second is refused.
 *
 * And a query is run only if all tables that its names lead to are the current role's.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_shdepend.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "functions/confined.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/syscache.h"

SQL_FUNCTION(uidgen_run_confined);

static ProcessUtility_hook_type next_process_utility;
static bool is_confining = false;

bool
uidgen_is_confining(void)
{
	return is_confining;
}

/* Does the role own this object, or a role that it can become? */
static bool
is_owned_by(Oid role, Oid class, Oid object)
{
	Relation	owners = table_open(SharedDependRelationId, AccessShareLock);
	ScanKeyData keys[3];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&keys[0], Anum_pg_shdepend_dbid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(MyDatabaseId));
	ScanKeyInit(&keys[1], Anum_pg_shdepend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&keys[2], Anum_pg_shdepend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(owners, SharedDependDependerIndexId, true, NULL, 3, keys);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_shdepend owner = (Form_pg_shdepend) GETSTRUCT(tuple);

		found = owner->deptype == SHARED_DEPENDENCY_OWNER && owner->refclassid == AuthIdRelationId &&
			is_member_of_role_nosuper(role, owner->refobjid);
	}
	systable_endscan(scan);
	table_close(owners, AccessShareLock);
	return found;
}

/*
 * Looks at all that lies in this session's temporary schema.  The result tells whether these are
 * other objects than before; `has_own`, whether some are the role's.
 */
static uint64
look_at_temporary_objects(Oid role, bool *has_own)
{
	Oid			schema;
	Oid			toast;
	uint64		sum = 0;
	Relation	objects;
	SysScanDesc scan;
	ScanKeyData keys[2];
	HeapTuple	tuple;

	*has_own = false;
	GetTempNamespaceState(&schema, &toast);
	if (!OidIsValid(schema))
		return 0;
	objects = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(NamespaceRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(schema));
	scan = systable_beginscan(objects, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend object = (Form_pg_depend) GETSTRUCT(tuple);

		sum += hash_bytes_extended((unsigned char *) &object->objid, sizeof(object->objid), object->classid);
		*has_own = *has_own || is_owned_by(role, object->classid, object->objid);
	}
	systable_endscan(scan);
	table_close(objects, AccessShareLock);
	return sum;
}

/* The names of all cursors of this session, in the caller's memory. */
static List *
list_cursors(void)
{
	List	   *names = NIL;
	MemoryContext caller = CurrentMemoryContext;

	if (SPI_execute("SELECT c.name FROM pg_catalog.pg_cursor() AS c", true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the cursors");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char	   *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		MemoryContextSwitchTo(caller);
		names = lappend(names, makeString(pstrdup(name)));
	}
	SPI_freetuptable(SPI_tuptable);
	return names;
}

/*
 * Of the session's cursors, those that wait for their next FETCH count as being run: each FETCH, MOVE or CLOSE is an error.
 * Their names go to `held`, for release_cursors(), also where this ends in an error.
 */
static void
hold_cursors(List *names, List *volatile *held)
{
	ListCell   *name;

	foreach(name, names)
	{
		Portal		cursor = GetPortalByName(strVal(lfirst(name)));

		if (PortalIsValid(cursor) && cursor->status == PORTAL_READY)
		{
			*held = lappend(*held, lfirst(name));
			cursor->status = PORTAL_ACTIVE;
		}
	}
}

static void
release_cursors(List *names)
{
	ListCell   *name;

	foreach(name, names)
	{
		Portal		cursor = GetPortalByName(strVal(lfirst(name)));

		if (PortalIsValid(cursor) && cursor->status == PORTAL_ACTIVE)
			cursor->status = PORTAL_READY;
	}
}

/* What PostgreSQL lets code in a security-restricted operation run, though it is the session's business. */
static bool
concerns_session(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_ConstraintsSetStmt:
		case T_ExecuteStmt:
		case T_TransactionStmt:
			return true;
		case T_CreateTrigStmt:
			{
				Oid			relation = RangeVarGetRelid(((CreateTrigStmt *) statement)->relation, NoLock, true);

				return OidIsValid(relation) && get_rel_persistence(relation) == RELPERSISTENCE_TEMP;
			}
		default:
			return false;
	}
}

static void
process_utility(PlannedStmt *statement, const char *text, bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *receiver,
				QueryCompletion *completion)
{
	if (is_confining && concerns_session(statement->utilityStmt))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("what the owner of a table has put into it cannot run %s",
						GetCommandTagName(CreateCommandTag(statement->utilityStmt))),
				 errdetail("It would act on the session or the transaction of the role that has logged in."),
				 errhint("Log in as the owner.")));
	next_process_utility(statement, text, read_only_tree, context, parameters, environment, receiver, completion);
}

void
uidgen_install_confined_hook(void)
{
	next_process_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
}

/*
 * The name of a table may have been given to somebody else's since it was looked up: to a view,
 * whose functions would run as the current role.  To parse a query runs none of them.
 */
static void
refuse_other_relations(SPIPlanPtr plan)
{
	ListCell   *source;
	ListCell   *oid;

	foreach(source, SPI_plan_get_plan_sources(plan))
		foreach(oid, ((CachedPlanSource *) lfirst(source))->relationOids)
	{
		HeapTuple	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(oid)));
		bool		is_own = HeapTupleIsValid(relation) &&
			((Form_pg_class) GETSTRUCT(relation))->relowner == GetUserId();

		if (HeapTupleIsValid(relation))
			ReleaseSysCache(relation);
		if (!is_own)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("a table was exchanged for another role's meanwhile"),
					 errdetail("When it was looked up by its number, the table belonged to the current role."),
					 errhint("Call it again.")));
	}
}

/* Runs a statement; returns the first value, or null. */
static text *
run_statement(const char *statement)
{
	text	   *value = NULL;
	SPIPlanPtr	plan = SPI_prepare(statement, 0, NULL);
	int			result;

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	refuse_other_relations(plan);
	if ((result = SPI_execute_plan(plan, NULL, NULL, false, 0)) < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	if (SPI_tuptable != NULL && SPI_processed > 0)
	{
		char	   *first = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);

		if (first != NULL)
		{
			int			size = VARHDRSZ + strlen(first);

			value = SPI_palloc(size);
			SET_VARSIZE(value, size);
			memcpy(VARDATA(value), first, size - VARHDRSZ);
		}
	}
	return value;
}

/* The same out of reach of the role that has logged in. */
static text *
run_confined(const char *statement, Oid role, int context)
{
	text	   *volatile value = NULL;
	uint64		temporary;
	bool		has_own;
	List	   *cursors;
	List	   *volatile held = NIL;
	bool		was_confining = is_confining;

	temporary = look_at_temporary_objects(role, &has_own);
	if (has_own)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the owner of a table has temporary tables or other temporary objects in the session of another role"),
				 errdetail("What the owner has put into the table could change them, and whoever goes on in this session would use them."),
				 errhint("Log in as the owner, or run DISCARD TEMP before.")));
	cursors = list_cursors();
	PG_TRY();
	{
		hold_cursors(cursors, &held);
		is_confining = true;
		SetUserIdAndSecContext(role, context | SECURITY_RESTRICTED_OPERATION);
		value = run_statement(statement);
	}
	PG_FINALLY();
	{
		is_confining = was_confining;
		release_cursors(held);
	}
	PG_END_TRY();
	CommandCounterIncrement();
	if (list_difference(list_cursors(), cursors) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("what the owner of a table has put into it leaves a cursor open"),
				 errdetail("The role that has logged in would run its query."),
				 errhint("Log in as the owner.")));
	if (look_at_temporary_objects(role, &has_own) != temporary)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("what the owner of a table has put into it makes objects in the temporary schema of this session"),
				 errdetail("They would be found in place of others by whoever goes on in this session."),
				 errhint("Log in as the owner.")));
	return value;
}

/*
 * An error leaves by the end of a transaction or of a subtransaction, which restores
 * role, context and settings.
 */
Datum
uidgen_run_confined(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text	   *value;
	Oid			role;
	int			context;
	int			settings;
	int			result;

	if ((result = SPI_connect()) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed: %s", SPI_result_code_string(result));
	GetUserIdAndSecContext(&role, &context);
	settings = NewGUCNestLevel();

	/*
	 * Who has logged in as the owner has nothing to lose, and can go on to
	 * have temporary tables.  The session's role does not tell: SET SESSION
	 * AUTHORIZATION changes it.
	 */
	value = role == GetAuthenticatedUserId() ? run_statement(statement) : run_confined(statement, role, context);
	AtEOXact_GUC(false, settings);
	SetUserIdAndSecContext(role, context);
	SPI_finish();
	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(value);
}
