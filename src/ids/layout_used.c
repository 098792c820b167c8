/*
 * layout_used.c
 *	  Reads the table uidgen.layout_used: see layout_used.h.
 *
 * Any role may draw ids, in any transaction.  So the table is read directly: no privilege and no
 * policy counts, and a serializable transaction does not come to depend on it.  And nothing here
 * waits, since uid_next() waits no longer than uidgen.wait_timeout.
 */
#include "postgres.h"

#include "ids/layout_used.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/extension.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "memory/catalog.h"
#include "memory/guc.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* The columns of the table, as the extension's script has them. */
enum
{
	LAYOUT = 1,
	SINCE,
	SYSTEM_IDENTIFIER,
	DATABASE
};

/* What finding and opening the table reads. */
static const struct
{
	Oid			catalog;
	Oid			index;
}			to_read[] = {
	{NamespaceRelationId, NamespaceNameIndexId},
	{RelationRelationId, ClassNameNspIndexId},
	{RelationRelationId, ClassOidIndexId},
	{AttributeRelationId, AttributeRelidNumIndexId},
	{TriggerRelationId, TriggerRelidNameIndexId},
	{DependRelationId, DependDependerIndexId},
	{ExtensionRelationId, ExtensionNameIndexId},
};

/*
 * The table, locked for reading.  NULL: there is none, or with *busy it may be there.  Only one that
 * is the extension's counts, since only a superuser can make it that.
 */
static Relation
open_table(bool *busy)
{
	Oid			schema = get_namespace_oid("uidgen", true);
	Oid			oid = OidIsValid(schema) ? get_relname_relid("layout_used", schema) : InvalidOid;
	Relation	table;

	*busy = false;
	if (!OidIsValid(oid) ||
		getExtensionOfObject(RelationRelationId, oid) != get_extension_oid("uidgen", true))
		return NULL;
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
	{
		*busy = true;
		return NULL;
	}
	/* It may have been dropped before it was locked. */
	table = try_table_open(oid, NoLock);
	if (!table)
		UnlockRelationOid(oid, AccessShareLock);
	return table;
}

/* Adds a layout to a list, unless it is there; returns how many it has now. */
static int
add_layout(StringInfo list, int n, const char *layout)
{
	const char *quoted = psprintf("\"%s\"", layout);

	if (strstr(list->data, quoted))
		return n;
	appendStringInfo(list, "%s%s", n > 0 ? ", " : "", quoted);
	return n + 1;
}

/*
 * Rows that another database has written came with its data, and decide.  Without one, those of
 * this database do: CREATE EXTENSION writes one before a restore brings the others.
 */
static UidgenLayoutUse
judge(Relation table, char **layouts, int *n)
{
	uint64		system_identifier = GetSystemIdentifier();
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TableScanDesc scan = table_beginscan(table, SnapshotSelf, 0, NULL);
	StringInfoData list[2];		/* those of this database, and of others */
	int			count[2] = {0};
	bool		suits[2] = {false};
	bool		decisive;

	initStringInfo(&list[false]);
	initStringInfo(&list[true]);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		char	   *layout = TextDatumGetCString(slot_getattr(slot, LAYOUT, &isnull));
		bool		others = (uint64) DatumGetInt64(slot_getattr(slot, SYSTEM_IDENTIFIER, &isnull)) != system_identifier ||
			DatumGetObjectId(slot_getattr(slot, DATABASE, &isnull)) != MyDatabaseId;

		count[others] = add_layout(&list[others], count[others], layout);
		if (strcmp(layout, uidgen_layout_text) == 0)
			suits[others] = true;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);

	decisive = count[true] > 0;
	*layouts = list[decisive].data;
	*n = count[decisive];
	return count[decisive] == 0 ? UIDGEN_LAYOUT_UNKNOWN :
		suits[decisive] ? UIDGEN_LAYOUT_SUITS : UIDGEN_LAYOUT_OTHER;
}

UidgenLayoutUse
uidgen_layout_use(char **layouts, int *n)
{
	UidgenLayoutUse use = UIDGEN_LAYOUT_BUSY;
	size_t		locked = 0;

	*layouts = NULL;
	*n = 0;
	while (locked < lengthof(to_read) &&
		   uidgen_lock_catalog(to_read[locked].catalog, to_read[locked].index))
		locked++;
	if (locked == lengthof(to_read))
	{
		bool		busy;
		Relation	table = open_table(&busy);

		if (table)
		{
			use = judge(table, layouts, n);
			table_close(table, AccessShareLock);
		}
		else if (!busy)
			use = UIDGEN_LAYOUT_NO_TABLE;
	}
	while (locked-- > 0)
		uidgen_unlock_catalog(to_read[locked].catalog, to_read[locked].index);
	return use;
}

bool
uidgen_check_layout_used(void)
{
	char	   *layouts;
	int			n;
	UidgenLayoutUse use = uidgen_layout_use(&layouts, &n);

	if (use == UIDGEN_LAYOUT_OTHER)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(UIDGEN_LAYOUT_USED_MESSAGE),
				 errdetail(UIDGEN_LAYOUT_USED_DETAIL, layouts, uidgen_layout_text),
				 errhint(UIDGEN_LAYOUT_USED_HINT)));
	return use != UIDGEN_LAYOUT_BUSY;
}
