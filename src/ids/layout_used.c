/*
 * layout_used.c
 *	  Reads and writes the table uidgen.layout_used: see layout_used.h.
 *
 * Any role may draw ids, in any transaction.  So the table is read directly: no privilege and no
 * policy counts, and a serializable transaction does not come to depend on it.  And nothing here
 * waits, since uid_next() waits no longer than uidgen.wait_timeout.
 *
 * It is written directly, too, by whatever role: a row of a table that has no index, no key and no trigger but
 * the one that keeps rows of replication out.  Two first transactions at once write it both, which does no harm.
 */
#include "postgres.h"

#include "ids/layout_used.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "compat.h"
#include "core/clock.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "memory/attachment.h"
#include "memory/catalog.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* The columns of the table, as the extension's script has them. */
enum
{
	LAYOUT = 1,
	SINCE,
	SYSTEM_IDENTIFIER,
	DATABASE,
	EXTENSION,
	COLUMNS = EXTENSION
};
static const Oid column_types[COLUMNS] = {TEXTOID, TIMESTAMPTZOID, INT8OID, OIDOID, OIDOID};

/* Of what the owner of a database may have written, no more than this is told. */
#define MOST_LAYOUTS 5
#define MOST_CHARACTERS 200

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
	/* for the caches of the relations that are opened */
	{IndexRelationId, IndexRelidIndexId},
	{AccessMethodRelationId, AmOidIndexId},
};

/* Is it a table with the columns that it was made with? */
static bool
has_columns(Relation table)
{
	TupleDesc	columns = RelationGetDescr(table);

	if (table->rd_rel->relkind != RELKIND_RELATION || columns->natts < COLUMNS)
		return false;
	for (int i = 0; i < COLUMNS; i++)
		if (TupleDescAttr(columns, i)->attisdropped ||
			TupleDescAttr(columns, i)->atttypid != column_types[i])
			return false;
	return true;
}

/* The table, locked.  NULL: there is none, or with *busy it may be there. */
static Relation
open_table(LOCKMODE lock, bool *busy)
{
	Oid			oid = uidgen_find_table("layout_used");
	Relation	table;

	*busy = false;
	if (!OidIsValid(oid))
		return NULL;
	if (!ConditionalLockRelationOid(oid, lock))
	{
		*busy = true;
		return NULL;
	}

	/*
	 * It may have been dropped before it was locked, and a superuser may have
	 * changed it.
	 */
	table = try_relation_open(oid, NoLock);
	if (table && has_columns(table))
		return table;
	if (table)
		relation_close(table, NoLock);
	UnlockRelationOid(oid, lock);
	return NULL;
}

/* Adds a layout to a list, unless it is there; returns how many it has now. */
static int
add_layout(StringInfo list, int n, const char *layout)
{
	char	   *quoted;

	if (n > MOST_LAYOUTS)
		return n;
	/* Whoever may restore the database may have written anything. */
	quoted = psprintf("\"%.*s\"", pg_mbcliplen(layout, strlen(layout), MOST_CHARACTERS), layout);
	for (char *c = quoted; *c; c++)
		if ((unsigned char) *c < ' ' || (unsigned char) *c > '~')
			*c = '?';
	if (strstr(list->data, quoted))
		return n;
	appendStringInfo(list, "%s%s", n > 0 ? ", " : "", n < MOST_LAYOUTS ? quoted : "...");
	return n + 1;
}

/* Has this transaction written the row? */
static bool
is_mine(TupleTableSlot *slot)
{
	bool		isnull;

	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(slot_getsysattr(slot, MinTransactionIdAttributeNumber,
																					 &isnull)));
}

/* Has the extension that is in this database now written the row? */
static bool
is_own(TupleTableSlot *slot, Oid extension)
{
	Datum		identifier;
	Datum		database;
	Datum		of;
	bool		isnull[3];

	identifier = slot_getattr(slot, SYSTEM_IDENTIFIER, &isnull[0]);
	database = slot_getattr(slot, DATABASE, &isnull[1]);
	of = slot_getattr(slot, EXTENSION, &isnull[2]);
	return !isnull[0] && !isnull[1] && !isnull[2] &&
		(uint64) DatumGetInt64(identifier) == GetSystemIdentifier() &&
		DatumGetObjectId(database) == MyDatabaseId && DatumGetObjectId(of) == extension;
}

/*
 * Rows that another database has written, or this database with a former extension, came with the data, and decide.
 * Without such rows, the rows of this extension decide: an id may be drawn before a restore brings the others.
 * *for_now: what suits is a row that this transaction has written, and may take back.
 */
static UidgenLayoutUse
compare_rows(Relation table, char **layouts, int *n, bool *for_now)
{
	Oid			extension = get_extension_oid("uidgen", true);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	TableScanDesc scan = uidgen_begin_scan(table, SnapshotSelf);
	StringInfoData list[2];		/* this database's, and others' */
	int			count[2] = {0};
	bool		suits[2] = {false};
	bool		decisive;

	initStringInfo(&list[false]);
	initStringInfo(&list[true]);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, LAYOUT, &isnull);
		const char *layout = isnull ? "" : TextDatumGetCString(value);
		bool		others = !is_own(slot, extension);

		CHECK_FOR_INTERRUPTS();
		count[others] = add_layout(&list[others], count[others], layout);
		if (strcmp(layout, uidgen_servers_layout()) == 0)
			suits[others] = true;
		if (is_mine(slot))
			*for_now = true;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);

	decisive = count[true] > 0;
	*layouts = list[decisive].data;
	*n = count[decisive];
	return count[decisive] == 0 ? UIDGEN_LAYOUT_UNKNOWN :
		suits[decisive] ? UIDGEN_LAYOUT_SUITS : UIDGEN_LAYOUT_OTHER;
}

/* The row that this server's layout is one of the database's. */
static void
write_row(Relation table)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};
	HeapTuple	row;

	values[LAYOUT - 1] = CStringGetTextDatum(uidgen_servers_layout());
	values[SINCE - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
	values[SYSTEM_IDENTIFIER - 1] = Int64GetDatum((int64) GetSystemIdentifier());
	values[DATABASE - 1] = ObjectIdGetDatum(MyDatabaseId);
	values[EXTENSION - 1] = ObjectIdGetDatum(get_extension_oid("uidgen", false));
	row = heap_form_tuple(RelationGetDescr(table), values, nulls);
	simple_heap_insert(table, row);
	heap_freetuple(row);
}

/* With `note`, and where nothing is known, write the row. */
static UidgenLayoutUse
look(bool note, char **layouts, int *n, bool *for_now)
{
	LOCKMODE	lock = note ? RowExclusiveLock : AccessShareLock;
	UidgenLayoutUse use = UIDGEN_LAYOUT_BUSY;
	size_t		locked = 0;

	*layouts = NULL;
	*n = 0;
	*for_now = false;
	if (!uidgen_attached && uidgen_layout_is_unknown())
		return UIDGEN_LAYOUT_BUSY;
	while (locked < lengthof(to_read) &&
		   uidgen_lock_catalog(to_read[locked].catalog, to_read[locked].index))
		locked++;
	if (locked == lengthof(to_read))
	{
		bool		busy;
		Relation	table = open_table(lock, &busy);

		if (table)
		{
			use = compare_rows(table, layouts, n, for_now);
			/* A superuser may have given it an index, or another column. */
			if (note && use == UIDGEN_LAYOUT_UNKNOWN && !table->rd_rel->relhasindex &&
				RelationGetDescr(table)->natts == COLUMNS)
				write_row(table);
			/* Of what is written, the lock lasts as long as the transaction. */
			table_close(table, note ? NoLock : AccessShareLock);
		}
		else if (!busy)
			use = UIDGEN_LAYOUT_NO_TABLE;
	}
	while (locked-- > 0)
		uidgen_unlock_catalog(to_read[locked].catalog, to_read[locked].index);
	return use;
}

UidgenLayoutUse
uidgen_layout_use(char **layouts, int *n)
{
	bool		for_now;

	return look(false, layouts, n, &for_now);
}

/* Nothing was known of this database when it was checked last; and an id was drawn in this transaction. */
static bool unnoted = false;
static bool drawn = false;

/*
 * The last look in this transaction, if nothing was in its way and the next call has to look again.  A look takes as long
 * as a thousand ids, and the first statement of a database may draw millions.
 */
static struct
{
	SubTransactionId subtransaction;	/* invalid: there was none */
	CommandId	command;
	int64		coarse;			/* a step of that clock */
}			last_look;

/* If so, no command that wrote has ended since then, and no subtransaction was taken back. */
static bool
has_just_looked(void)
{
	return last_look.subtransaction == GetCurrentSubTransactionId() &&
		last_look.command == GetCurrentCommandId(false) &&
		last_look.coarse == uidgen_clock_coarse();
}

bool
uidgen_check_layout_used(void)
{
	char	   *layouts;
	int			n;
	bool		for_now;
	UidgenLayoutUse use;
	bool		sure;

	if (has_just_looked())
		return false;

	/*
	 * Where this look is refused or meets a lock, the next call looks, too: a
	 * caller may have caught the error.
	 */
	last_look.subtransaction = InvalidSubTransactionId;
	use = look(false, &layouts, &n, &for_now);
	if (use == UIDGEN_LAYOUT_OTHER)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(UIDGEN_LAYOUT_USED_MESSAGE),
				 errdetail(UIDGEN_LAYOUT_USED_DETAIL, layouts, uidgen_servers_layout()),
				 errhint("%s", UIDGEN_LAYOUT_USED_HINT)));
	unnoted = use == UIDGEN_LAYOUT_UNKNOWN;
	sure = (use == UIDGEN_LAYOUT_SUITS || use == UIDGEN_LAYOUT_NO_TABLE) && !for_now;

	/*
	 * Before this process is attached, it knows only the layout of its
	 * settings, and another one may be pinned.
	 */
	if (uidgen_attached && use != UIDGEN_LAYOUT_BUSY && !sure)
	{
		last_look.subtransaction = GetCurrentSubTransactionId();
		last_look.command = GetCurrentCommandId(false);
		last_look.coarse = uidgen_clock_coarse();
	}
	return sure;
}

void
uidgen_layout_drawn(void)
{
	drawn |= unnoted;
}

void
uidgen_forget_drawn(void)
{
	drawn = false;
	last_look.subtransaction = InvalidSubTransactionId;
}

void
uidgen_note_layout_used(void)
{
	char	   *layouts;
	int			n;
	bool		for_now;

	if (!drawn || XactReadOnly || IsBinaryUpgrade || IsInParallelMode())
		return;
	(void) look(true, &layouts, &n, &for_now);
}
