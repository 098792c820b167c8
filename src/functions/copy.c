/*
 * copy.c
 *	  Lets COPY FROM store many rows at a time although a default issues ids.
 *
 * COPY FROM collects rows and stores them together, with one WAL record for a page of them.  But it stores row by row
 * if a column default is volatile: such a default might query the table, and must then find the rows before it.
 * uid_next() and uid_segment_next() query nothing, so they need no such care; what is said of the first here holds
 * for both.  The server makes an exception for nextval(), by its OID, and has no label that would ask for one
 * (contain_volatile_functions_not_nextval() in optimizer/util/clauses.c).
 *
 * So uid_next() has a planner support function, which replaces a call by one of its twin:
 * the same C function, declared STABLE.  COPY then collects rows and still calls the twin
 * for each of them.  Elsewhere the declaration would do harm: ALTER TABLE ... ADD COLUMN
 * calls a stable default once, for all rows.  Both plan the default in the same way, as
 * an expression without a query.  Therefore:
 *
 * - A call is replaced only while the innermost utility statement is a COPY FROM; a hook
 *	 keeps track of that.  Statements that a trigger or a function runs during COPY are
 *	 utility statements themselves, or they are planned as queries.
 * - Nobody can call the twin by its name: its last argument is of the type internal, of
 *	 which SQL has no values.
 * - The twin is declared as expensive.  Where the planner puts an SQL function's body in place of its call, the body
 *   may use an argument several times.  The planner repeats the argument there if it is cheap and not volatile.  With
 *   a cheap twin, one call would become several, each with its
 *	 own id.
 * - A caller needs the same rights as before, and what was set for uid_next() by ALTER
 *	 FUNCTION still counts: in such cases the call is not replaced.
 *
 * The server keeps one kind of expression that was planned during COPY FROM: the type
 * cache has the CHECK constraints of a domain until the session ends.  Each value still
 * gets its own id, since they are evaluated for each value, with a stable function too.
 * But after SET ROLE they are evaluated with the privileges that were checked for the
 * twin, not for uid_next(); the same is true of any function that the server inlined there.
 *
 * What remains: an extension may add a column with this default during COPY FROM by calling the C function
 * AlterTable(), without a statement.  All rows then get one id.
 */
#include "postgres.h"

#include "functions/copy.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* In the schema uidgen: the name of the function that it stands in for, with this ending; its
 * arguments, and then one of the type internal. */
#define TWIN_ENDING "_in_copy"

/* Declared in the script, in units of cpu_operator_cost. */
#define TWIN_COST 1000.0

SQL_FUNCTION(uidgen_next_support);

/* The innermost utility statement is a COPY FROM. */
static bool in_copy_from = false;

static ProcessUtility_hook_type next_process_utility;

static void
process_utility(PlannedStmt *statement, const char *query, bool read_only,
				ProcessUtilityContext context, ParamListInfo parameters,
				QueryEnvironment *environment, DestReceiver *destination,
				QueryCompletion *completion)
{
	bool		outer = in_copy_from;
	bool		inner = IsA(statement->utilityStmt, CopyStmt) &&
		castNode(CopyStmt, statement->utilityStmt)->is_from;

	if (inner == outer)
	{
		next_process_utility(statement, query, read_only, context, parameters,
							 environment, destination, completion);
		return;
	}
	in_copy_from = inner;
	PG_TRY();
	{
		next_process_utility(statement, query, read_only, context, parameters,
							 environment, destination, completion);
	}
	PG_FINALLY();
	{
		in_copy_from = outer;
	}
	PG_END_TRY();
}

void
uidgen_install_copy_hook(void)
{
	next_process_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
}

/* The twin of a function; InvalidOid if the extension's script is too old to have one. */
static Oid
find_twin(Oid function)
{
	Oid			namespace = get_namespace_oid("uidgen", true);
	Oid			types[FUNC_MAX_ARGS + 1];
	Oid		   *original_types;
	int			nargs;
	const char *name = psprintf("%s" TWIN_ENDING, get_func_name(function));

	(void) get_func_signature(function, &original_types, &nargs);
	memcpy(types, original_types, nargs * sizeof(Oid));
	types[nargs++] = INTERNALOID;
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, nargs)),
						   ObjectIdGetDatum(namespace));
}

/*
 * Is a twin so expensive that the planner does not repeat it, where an SQL function uses an argument twice?
 * inline_function() compares its cost with the cost of ten operators; both are 0 or infinite for some values of
 * cpu_operator_cost.
 */
static bool
twins_are_expensive(void)
{
	return TWIN_COST * cpu_operator_cost > 10 * cpu_operator_cost;
}

/*
 * May the caller's call of a function become a call of another one?  Not if the call
 * itself does something: these are the conditions under which the server puts a function's
 * body in place of its call (inline_function() in optimizer/util/clauses.c).
 */
static bool
is_replaceable(Oid function)
{
	HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		plain;

	if (!HeapTupleIsValid(proc))
		elog(ERROR, "cache lookup failed for function %u", function);
	plain = !((Form_pg_proc) GETSTRUCT(proc))->prosecdef &&
		heap_attisnull(proc, Anum_pg_proc_proconfig, NULL);
	ReleaseSysCache(proc);
	return plain && !FmgrHookIsNeeded(function) && uidgen_may_execute(function);
}

/*
 * uid_next_support(internal) returns internal: the planner's questions about uid_next().
 * A null pointer leaves the call as it is.
 */
Datum
uidgen_next_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	FuncExpr   *call;
	FuncExpr   *replacement;
	Oid			twin;
	Const	   *mark;

	if (!in_copy_from || !IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	/* A call in a query is not a column default of COPY FROM. */
	if (((SupportRequestSimplify *) request)->root != NULL)
		PG_RETURN_POINTER(NULL);
	call = ((SupportRequestSimplify *) request)->fcall;
	if (!twins_are_expensive() || !is_replaceable(call->funcid))
		PG_RETURN_POINTER(NULL);
	twin = find_twin(call->funcid);
	if (!OidIsValid(twin) || !uidgen_may_execute(twin))
		PG_RETURN_POINTER(NULL);

	mark = makeConst(INTERNALOID, -1, InvalidOid, sizeof(Datum), (Datum) 0, false, true);
	replacement = makeFuncExpr(twin, call->funcresulttype,
							   lappend(list_copy(call->args), mark),
							   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	replacement->location = call->location;
	PG_RETURN_POINTER(replacement);
}
