/*
 * confined.c
 *	  A statement on what a role owns, for uidgen_tools: it may run what that role has put there.
 *
 * Who has logged in as the owner has nothing to lose.  Code of the owner's in the session of somebody else, who has
 * become the owner by SET ROLE, could become that role again.  So a superuser is refused.  For a member it is run as
 * PostgreSQL's own maintenance of others' tables is, in a security-restricted operation: what is called there becomes no other
 * role, leaves no setting, and puts nothing off until later.  But it runs within the session, and reaches its
 * cursors, prepared statements and temporary objects.  So does each ALTER TABLE of the member's.
 *
 * And a query is run only if all tables that its names lead to are the current role's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/plancache.h"
#include "utils/syscache.h"

SQL_FUNCTION(uidgen_run_confined);

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

/* The same for who has become the owner. */
static text *
run_for_other(const char *statement, Oid role, int context)
{
	Oid			login = GetAuthenticatedUserId();
	Oid			extensions[] = {get_extension_oid("uidgen", true), get_extension_oid("uidgen_tools", true)};
	text	   *value;

	/*
	 * Not who calls a function with SECURITY DEFINER: he cannot become
	 * another role in there.
	 */
	if (superuser_arg(login) && !superuser_arg(GetOuterUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
				 errmsg("who has become role \"%s\" cannot change its tables", GetUserNameFromId(role, false)),
				 errdetail("The session is of role \"%s\", and code of the owner of a table could become that role again.",
						   GetUserNameFromId(login, false)),
				 errhint("Log in as the owner of the table, or as a member of that role who is no superuser, or let the owner make a function with SECURITY DEFINER that does this.")));
	SetUserIdAndSecContext(role, context | SECURITY_RESTRICTED_OPERATION);
	value = run_statement(statement);

	/*
	 * The rest of the call would find by name what the owner of the database
	 * has put in their place.  Other sessions are kept from it by a lock
	 * (uidgen_tools.hold_extensions()).
	 */
	if (get_extension_oid("uidgen", true) != extensions[0] || get_extension_oid("uidgen_tools", true) != extensions[1])
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("extensions uidgen and uidgen_tools cannot be dropped by a table's own code while they work on it"),
				 errdetail("What the owner of the database could put in their place would act on the session of the role that has logged in."),
				 errhint("Drop the extension in a statement of its own, which no trigger or function of a table runs.")));
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

	/* Not the session's role, which SET SESSION AUTHORIZATION changes. */
	value = role == GetAuthenticatedUserId() || superuser_arg(role) ? run_statement(statement) : run_for_other(statement, role, context);
	AtEOXact_GUC(false, settings);
	SetUserIdAndSecContext(role, context);
	SPI_finish();
	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(value);
}
