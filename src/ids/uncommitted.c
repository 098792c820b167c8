/*
 * uncommitted.c
 *	  What a transaction has made, and the keeper cannot see: see uncommitted.h.
 *
 * The table is read directly: a caller may have no privilege on it, and a query would
 * need a snapshot and could meet what others have made in this database.
 */
#include "postgres.h"

#include "ids/uncommitted.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "memory/catalog.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* The table of segments, locked; NULL: the extension is too old to have one, or it
 * cannot be locked without waiting. */
static Relation
open_segments(void)
{
	Oid			table = InvalidOid;
	bool		locked = false;

	if (!uidgen_lock_catalog(NamespaceRelationId, NamespaceNameIndexId))
		return NULL;
	if (uidgen_lock_catalog(RelationRelationId, ClassNameNspIndexId))
	{
		table = get_relname_relid("segment", get_namespace_oid("uidgen_registry", true));
		locked = OidIsValid(table) && ConditionalLockRelationOid(table, AccessShareLock);
		uidgen_unlock_catalog(RelationRelationId, ClassNameNspIndexId);
	}
	uidgen_unlock_catalog(NamespaceRelationId, NamespaceNameIndexId);
	return locked ? try_table_open(table, NoLock) : NULL;
}

/* A row's value, if it is of this type and not null. */
static bool
get_value(Relation table, HeapTuple row, const char *column, Oid type, Datum *value)
{
	AttrNumber	number = get_attnum(RelationGetRelid(table), column);
	bool		isnull;

	if (number == InvalidAttrNumber || get_atttype(RelationGetRelid(table), number) != type)
		return false;
	*value = heap_getattr(row, number, RelationGetDescr(table), &isnull);
	return !isnull;
}

static bool
has_name(Relation table, HeapTuple row, const char *name)
{
	Datum		value;
	char	   *found;

	if (!get_value(table, row, "name", TEXTOID, &value))
		return false;
	found = TextDatumGetCString(value);
	return strcmp(pg_server_to_any(found, (int) strlen(found), PG_UTF8), name) == 0;
}

static bool
is_dropped(Relation table, HeapTuple row)
{
	Datum		value;

	return !get_value(table, row, "dropped", BOOLOID, &value) || DatumGetBool(value);
}

bool
uidgen_has_created_segment(const char *name)
{
	Relation	table = open_segments();
	SysScanDesc scan;
	HeapTuple	row;
	bool		found = false;

	if (!table)
		return false;

	/*
	 * What is committed, and what this transaction has done, whatever its
	 * snapshot shows.
	 */
	scan = systable_beginscan(table, InvalidOid, false, SnapshotSelf, 0, NULL);
	while (!found && HeapTupleIsValid(row = systable_getnext(scan)))
		found = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data)) &&
			has_name(table, row, name) && !is_dropped(table, row);
	systable_endscan(scan);
	table_close(table, AccessShareLock);
	return found;
}
