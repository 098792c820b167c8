/*
 * horizon_support.c
 *	  Refuses to plan a query that compares uid_horizon() with a column of a foreign table.
 *
 * The rows of a foreign table are another server's, which has a horizon of its own, and no function like this one is sent
 * there.  So this server's horizon would be taken for the other one, and rows that are committed late over there would be
 * lost without an error.
 *
 * The planner shows each call of uid_horizon() to this support function, but not what is around it.  So the function
 * looks through this query and the outer ones.  It looks for comparisons with a horizon on one side and such a column
 * on the other.  Columns of subqueries, views, CTEs, joins and functions are followed to where they come from.  What
 * hides its source is not found: a variable of PL/pgSQL, a function in SQL around uid_horizon(), the result of
 * dblink().  Nor are two cases that the planner takes apart before.  In the first, a correlated subquery compares
 * with the horizon of a subquery in FROM that is planned by itself.  In the second, uid_horizon() is in FROM of a
 * subquery, beside a CTE of an outer query.
 *
 * It looks while the expressions of a query are prepared.  Later the planner shows each call again for each partition, when all has been
 * looked at: PlannerInfo has arrays of relations by then.  The tables that have foreign children are found from pg_foreign_table
 * upwards, and kept until a relation changes: a look at all partitions would take longer than to plan the query.
 *
 * A query in the planner has parts that are planned already.  None of them is changed here, and each that is followed may be missing.
 *
 * Error: 0A000.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

SQL_FUNCTION(uidgen_horizon_support);

/* A query, and the one that it is part of. */
typedef struct Level
{
	Query	   *query;
	struct Level *outer;
} Level;

/* What is looked for in an expression: a call of a function, or a column of a foreign table. */
typedef struct Search
{
	Oid			function;		/* InvalidOid: the column */
	Level	   *level;			/* the query level that is looked at */
	int			patience;		/* how many columns may still be followed */
	RangeTblEntry *table;		/* the table of the column that was found */
} Search;

/* A column may be made of many, and these of many others. */
#define PATIENCE 10000

static bool reaches(Node *node, void *context);

/* ---- tables that have foreign children ---- */

static List *parents = NIL;

/* How often a relation has changed, and as of when `parents` are. */
static uint64 changes = 0;
static uint64 parents_as_of = 0;

static void
note_change(Datum argument, Oid relation)
{
	(void) argument;
	(void) relation;
	changes++;
}

static List *
add_ancestors(List *found, Relation inherits, Oid table)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Oid			parent = ((Form_pg_inherits) GETSTRUCT(row))->inhparent;

		if (!list_member_oid(found, parent))
			found = add_ancestors(lappend_oid(found, parent), inherits, parent);
	}
	systable_endscan(scan);
	return found;
}

static void
find_parents(void)
{
	uint64		as_of = changes;
	List	   *found = NIL;
	Relation	foreign = table_open(ForeignTableRelationId, AccessShareLock);
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(foreign, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	row;
	MemoryContext caller;

	while (HeapTupleIsValid(row = systable_getnext(scan)))
		found = add_ancestors(found, inherits, ((Form_pg_foreign_table) GETSTRUCT(row))->ftrelid);
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	table_close(foreign, AccessShareLock);
	list_free(parents);
	parents = NIL;
	caller = MemoryContextSwitchTo(CacheMemoryContext);
	parents = list_copy(found);
	MemoryContextSwitchTo(caller);
	parents_as_of = as_of;
}

static bool
is_foreign(const RangeTblEntry *table)
{
	if (table->relkind == RELKIND_FOREIGN_TABLE || !table->inh)
		return table->relkind == RELKIND_FOREIGN_TABLE;
	if (changes == 0)
	{
		CacheRegisterRelcacheCallback(note_change, (Datum) 0);
		changes++;
	}
	if (parents_as_of != changes)
		find_parents();
	return list_member_oid(parents, table->relid);
}

/* ---- where a column comes from ---- */

static bool
reaches_in(Level *level, Node *expression, Search *search)
{
	Level	   *present = search->level;
	bool		found;

	search->level = level;
	found = reaches(expression, search);
	search->level = present;
	return found;
}

/* A column of a query's result. */
static bool
reaches_result(Node *node, Level *outer, AttrNumber column, Search *search)
{
	Query	   *query = (Query *) node;
	Level		level = {query, outer};
	TargetEntry *entry;
	ListCell   *cell;

	/* The planner drops a subquery when it has become part of the query. */
	if (query == NULL || !IsA(query, Query))
		return false;
	if (query->setOperations != NULL)
	{
		foreach(cell, query->rtable)
		{
			RangeTblEntry *arm = lfirst_node(RangeTblEntry, cell);

			if (arm->rtekind == RTE_SUBQUERY && reaches_result((Node *) arm->subquery, &level, column, search))
				return true;
		}
		return false;
	}
	entry = get_tle_by_resno(query->commandType == CMD_SELECT ? query->targetList : query->returningList, column);
	return entry != NULL && reaches_in(&level, (Node *) entry->expr, search);
}

static bool
reaches_cte(const RangeTblEntry *table, Level *level, AttrNumber column, Search *search)
{
	ListCell   *cell;

	for (Index up = table->ctelevelsup; up > 0 && level != NULL; up--)
		level = level->outer;
	if (level == NULL || table->self_reference)
		return false;
	foreach(cell, level->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, cell);

		if (strcmp(cte->ctename, table->ctename) == 0)
			return reaches_result(cte->ctequery, level, column, search);
	}
	return false;
}

static bool
reaches_from(Var *column, Search *search)
{
	Level	   *level = search->level;
	RangeTblEntry *table;
	List	   *expressions;

	for (Index up = column->varlevelsup; up > 0 && level != NULL; up--)
		level = level->outer;
	if (level == NULL || column->varno < 1 || column->varno > list_length(level->query->rtable) || search->patience-- <= 0)
		return false;
	table = rt_fetch(column->varno, level->query->rtable);
	switch (table->rtekind)
	{
		case RTE_RELATION:
			if (OidIsValid(search->function) || !is_foreign(table))
				return false;
			search->table = table;
			return true;
		case RTE_SUBQUERY:
			return reaches_result((Node *) table->subquery, level, column->varattno, search);
		case RTE_CTE:
			return reaches_cte(table, level, column->varattno, search);
		case RTE_FUNCTION:
			return reaches_in(level, (Node *) table->functions, search);
		case RTE_JOIN:
			expressions = table->joinaliasvars;
			break;
		default:
			expressions = uidgen_group_expressions(table);
	}
	return column->varattno > 0 && column->varattno <= list_length(expressions) &&
		reaches_in(level, list_nth(expressions, column->varattno - 1), search);
}

static bool
reaches(Node *node, void *context)
{
	Search	   *search = context;

	if (node == NULL)
		return false;
	check_stack_depth();
	if (IsA(node, Var))
		return reaches_from((Var *) node, search);
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == search->function)
		return true;
	/* What a subquery looks at does not matter, only what it returns. */
	if (IsA(node, SubLink))
		return ((SubLink *) node)->subLinkType == EXPR_SUBLINK &&
			reaches_result(((SubLink *) node)->subselect, search->level, 1, search);
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, Query))
		return false;
	return expression_tree_walker(node, reaches, context);
}

/* ---- comparisons ---- */

/* What uidgen_horizon_support() looks for. */
typedef struct Comparison
{
	Oid			function;		/* uid_horizon() */
	Level	   *level;
} Comparison;

static void
refuse_foreign(Comparison *comparison, Node *one, Node *other)
{
	Search		horizon = {.function = comparison->function,.level = comparison->level,.patience = PATIENCE};
	Search		column = {.level = comparison->level,.patience = PATIENCE};

	if (reaches(one, &horizon) && reaches(other, &column))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg(column.table->relkind == RELKIND_FOREIGN_TABLE ? "uid_horizon() cannot be compared with a column of foreign table \"%s\"" :
						"uid_horizon() cannot be compared with a column of table \"%s\", which has foreign tables below it", get_rel_name(column.table->relid)),
				 errdetail("Rows of a foreign table are another server's, which has a horizon of its own."),
				 errhint("Make a view on the other server that has uid_horizon() in its condition, and read that through a foreign table.")));
}

static bool
find_comparisons(Node *node, void *context)
{
	Comparison *comparison = context;
	List	   *sides = NIL;

	if (node == NULL)
		return false;
	check_stack_depth();
	if (IsA(node, Query))
	{
		Level		level = {(Query *) node, comparison->level};

		comparison->level = &level;
		(void) query_tree_walker((Query *) node, find_comparisons, context, QTW_IGNORE_JOINALIASES);
		comparison->level = level.outer;
		return false;
	}
	if (IsA(node, OpExpr) && ((OpExpr *) node)->opresulttype == BOOLOID)
		sides = ((OpExpr *) node)->args;
	else if (IsA(node, ScalarArrayOpExpr))
		sides = ((ScalarArrayOpExpr *) node)->args;
	else if (IsA(node, RowCompareExpr))
		sides = list_make2(((RowCompareExpr *) node)->largs, ((RowCompareExpr *) node)->rargs);
	if (list_length(sides) == 2)
	{
		refuse_foreign(comparison, linitial(sides), lsecond(sides));
		refuse_foreign(comparison, lsecond(sides), linitial(sides));
	}
	return expression_tree_walker(node, find_comparisons, context);
}

Datum
uidgen_horizon_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Comparison	comparison = {0};
	PlannerInfo *root;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	comparison.function = ((SupportRequestSimplify *) request)->fcall->funcid;
	root = ((SupportRequestSimplify *) request)->root;
	if (root != NULL && root->simple_rel_array == NULL)
		for (; root != NULL; root = root->parent_root)
			(void) find_comparisons((Node *) root->parse, &comparison);
	PG_RETURN_POINTER(NULL);
}
