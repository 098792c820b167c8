/*
 * confined.c
 *	  A statement that is run out of reach of the role that has logged in.
 *
 * adopt() and uid_partitions() plan queries and run statements on a table, and so
 * run what its owner has put there.  They do so for that owner only; but a superuser who
 * has become the owner by SET ROLE is still logged in, and code of the owner's
 * can RESET ROLE.  In a security-restricted operation it cannot, nor leave anything behind:
 * so PostgreSQL's own maintenance of others' tables does it.  Some releases let it leave a type in the
 * temporary schema, which is refused here.  And a query is run only if all tables that its names lead to
 * are the current role's.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

SQL_FUNCTION(uidgen_run_confined);

/*
 * Tells whether the types of this session's temporary schema are others than before.  These
 * are found before PostgreSQL's own, and the CHECK of a domain runs as whoever uses its name.
 * Not every release refuses to make them in a security-restricted operation.
 */
static uint64
hash_temporary_types(void)
{
	Oid			schema;
	Oid			toast;
	uint64		sum = 0;
	Relation	types;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	GetTempNamespaceState(&schema, &toast);
	if (!OidIsValid(schema))
		return 0;
	types = table_open(TypeRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_type_typnamespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(schema));
	scan = systable_beginscan(types, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_type type = (Form_pg_type) GETSTRUCT(tuple);

		sum += hash_bytes_extended((unsigned char *) NameStr(type->typname),
								   strlen(NameStr(type->typname)), type->oid);
	}
	systable_endscan(scan);
	table_close(types, AccessShareLock);
	return sum;
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

/*
 * An error leaves by the end of a transaction or of a subtransaction, which restores
 * role, context and settings.
 */
Datum
uidgen_run_confined(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text	   *value = NULL;
	SPIPlanPtr	plan;
	uint64		types = 0;
	Oid			role;
	int			context;
	int			settings;
	int			result;
	bool		is_confined;

	if ((result = SPI_connect()) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed: %s", SPI_result_code_string(result));
	GetUserIdAndSecContext(&role, &context);
	settings = NewGUCNestLevel();

	/*
	 * Who has logged in as the owner has nothing to lose, and can go on to
	 * have temporary tables.  The session's role does not tell: SET SESSION
	 * AUTHORIZATION changes it.
	 */
	is_confined = role != GetAuthenticatedUserId();
	if (is_confined)
	{
		types = hash_temporary_types();
		SetUserIdAndSecContext(role, context | SECURITY_RESTRICTED_OPERATION);
	}
	plan = SPI_prepare(statement, 0, NULL);
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
	AtEOXact_GUC(false, settings);
	if (is_confined)
	{
		CommandCounterIncrement();
		if (hash_temporary_types() != types)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("what the owner of a table has put into it makes types in the temporary schema of this session"),
					 errdetail("They would be found in place of others by whoever goes on in this session."),
					 errhint("Log in as the owner.")));
	}
	SetUserIdAndSecContext(role, context);
	SPI_finish();
	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(value);
}
