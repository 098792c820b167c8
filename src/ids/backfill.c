/*
 * backfill.c
 *	  Issues ids of past times: see backfill.h.
 *
 * The table uidgen.backfill has a row for each worker id that is reserved, with the last id that was issued
 * under it.  A transaction takes a worker id for itself, keeps its place here, and writes the row once, before
 * it commits: a write for each id would leave dead rows, which the next call of the transaction has to pass over.
 *
 * A savepoint that is rolled back takes back what it has issued, since rows that are tried again have the same
 * times.  But the worker id stays taken until the transaction ends, by a lock that is not the savepoint's: otherwise
 * another transaction could write the row in between.
 *
 * The table is read as it is now, and not as the transaction's snapshot has it: what another one has issued
 * counts in any isolation level.
 */
#include "postgres.h"

#include "ids/backfill.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "compat.h"
#include "core/layout.h"
#include "core/node.h"
#include "ids/attach.h"
#include "ids/generator.h"
#include "link/link.h"
#include "memory/attachment.h"
#include "memory/catalog.h"
#include "memory/counts.h"
#include "memory/identity.h"
#include "memory/memory.h"
#include "memory/server.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* The columns of the table, as the extension's script has them. */
enum
{
	DATACENTER_ID = 1,
	WORKER_ID,
	UPTO,
	ASKED,
	LAYOUT,
	REGISTRY,
	REGISTRY_DATABASE,
	HOME,
	COLUMNS = HOME
};
static const Oid column_types[COLUMNS] = {INT4OID, INT4OID, INT8OID, INT8OID, TEXTOID, INT8OID, OIDOID, TEXTOID};

/* How far a worker id had come before a savepoint, or a later one, issued with it. */
typedef struct Saved
{
	struct Saved *outer;
	int			level;			/* the level of the savepoint that issued */
	UidgenPosition next;
	UidgenTick	asked;
	bool		changed;
} Saved;

/* A worker id that is reserved for this database. */
typedef struct Stream
{
	int32		datacenter;
	int32		worker;
	UidgenPosition next;		/* the first one that is free */
	UidgenTick	asked;			/* the latest tick that was asked for */
	bool		mine;			/* this transaction has taken it */
	bool		busy;			/* another transaction had taken it */
	bool		changed;
	bool		stored;			/* it is in the table */
	Saved	   *saved;			/* the innermost; NULL: only the top level has
								 * issued */
} Stream;

/* The worker ids that this transaction may use; the array lives in TopTransactionContext. */
static Stream *streams = NULL;
static int	nstreams = 0;
static bool written = false;	/* it is about to end */

/*
 * A registry as the table names it.  A copy of a local one has its number as well, and another database.  One that
 * was made anew in the same database has another number.
 */
typedef struct Registry
{
	int64		number;			/* the sign bit is set for a fleet's */
	Oid			database;		/* a local registry's database */
} Registry;

/* The database and the registry that they are of. */
static char home[UIDGEN_HOME_SIZE];
static Registry registry;

/* Does a row count, and why not? */
typedef enum RowKind
{
	ROW_OURS,
	ROW_OF_OTHER_HOME,
	ROW_OF_OTHER_REGISTRY,
	ROW_OF_OTHER_LAYOUT
} RowKind;

/* How many do not count. */
typedef struct Others
{
	int			homes;			/* another database's: this is its copy */
	int			registries;
	int			layouts;
} Others;

void
uidgen_backfill_home(char *result)
{
	UidgenIdentity identity;
	Oid			extension = get_extension_oid("uidgen", true);

	if (!OidIsValid(extension))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension uidgen is not in this database"),
				 errhint("Run CREATE EXTENSION uidgen.")));
	uidgen_identify(&identity);
	snprintf(result, UIDGEN_HOME_SIZE, "%s/" UINT64_FORMAT "/%u", identity.text, uidgen_database_number(), extension);
}

/* ---- the table ---- */

static Relation
open_table(LOCKMODE mode)
{
	Oid			oid = uidgen_find_table("backfill");
	Relation	table = OidIsValid(oid) ? try_table_open(oid, mode) : NULL;
	bool		good;

	good = table && table->rd_rel->relkind == RELKIND_RELATION && RelationGetDescr(table)->natts >= COLUMNS;
	for (int i = 0; good && i < COLUMNS; i++)
		good = !TupleDescAttr(RelationGetDescr(table), i)->attisdropped &&
			TupleDescAttr(RelationGetDescr(table), i)->atttypid == column_types[i];
	if (!good)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this database has no table uidgen.backfill, or another one"),
				 errhint("Run ALTER EXTENSION uidgen UPDATE.")));
	if (table->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table uidgen.backfill is not logged"),
				 errdetail("A crash empties it, or has done so: ids of past times could be issued twice."),
				 errhint("Reserve another worker id for ids of the past. Then a superuser can run ALTER TABLE uidgen.backfill SET LOGGED.")));
	return table;
}

/* A row's value; a null is 0. */
static Datum
get_value(Relation table, HeapTuple row, int column)
{
	bool		isnull;
	Datum		value = heap_getattr(row, column, RelationGetDescr(table), &isnull);

	return isnull ? (Datum) 0 : value;
}

static bool
has_text(Relation table, HeapTuple row, int column, const char *wanted)
{
	Datum		value = get_value(table, row, column);

	return value != (Datum) 0 && strcmp(TextDatumGetCString(value), wanted) == 0;
}

/* The position after the last id that was issued. */
static UidgenPosition
first_free(Relation table, HeapTuple row)
{
	bool		isnull;
	int64		id = DatumGetInt64(heap_getattr(row, UPTO, RelationGetDescr(table), &isnull));

	return isnull ? 0 :
		(uidgen_ticket_position(&uidgen_rules, (UidgenTick) uidgen_layout_get(&uidgen_layout, UIDGEN_TIME, id)) |
		 uidgen_layout_get(&uidgen_layout, UIDGEN_SEQUENCE, id)) + 1;
}

static bool
is_same_registry(Registry a, Registry b)
{
	return a.number == b.number && a.database == b.database;
}

/* The registry that this server's grants are from; false if it has none at the moment. */
static bool
look_for_registry(Registry *found)
{
	bool		held;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	/* A grant that is over says nothing: meanwhile the registry may be another one. */
	held = uidgen_memory->lease.held && uidgen_memory->served_place == uidgen_link()->place() &&
		uidgen_memory->lease.grant.last >= uidgen_clock_tick();
	found->number = uidgen_memory->lease.grant.registry_number;
	found->database = uidgen_grant_is_of_fleet(&uidgen_memory->lease.grant) ? InvalidOid :
		(Oid) uidgen_memory->lease.grant.registry;
	LWLockRelease(&uidgen_memory->lock);
	return held;
}

/* The same, of which a worker id has to be: waited for, if there is no grant. */
static Registry
present_registry(void)
{
	Registry	found;
	UidgenFailure failure;

	for (bool asked = false;; asked = true)
	{
		uidgen_follow_server_settings();
		if (look_for_registry(&found))
			return found;
		uidgen_counts_begin();	/* for the wait, which may be the process's first call */
		if (asked || !uidgen_probe_grant(false, &failure))
			break;
	}
	if (failure.sqlerrcode == 0)
		uidgen_failure_set(&failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						   "it is not known which registry this server has now",
						   "A worker id for ids of past times is reserved by one registry.",
						   "Try again; uidgen.diagnose() says what is missing.");
	uidgen_raise_failure(&failure);
	return found;
}

/*
 * What this transaction has issued lies below all that a registry grants which came later.  What it would issue from
 * then on does not.
 */
static void
check_registry(void)
{
	Registry	found = present_registry();

	if (!is_same_registry(found, registry))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the server has another registry than when this transaction began to issue ids of past times"),
				 errdetail("The other one may grant the worker id that is reserved."),
				 errhint("Reserve a worker id with uidgen_registry.reserve_backfill(), and run the transaction again.")));
}

static Stream *
find_stream(int32 datacenter, int32 worker)
{
	for (int i = 0; i < nstreams; i++)
		if (streams[i].datacenter == datacenter && streams[i].worker == worker)
			return &streams[i];
	return NULL;
}

static Stream *
add_stream(int32 datacenter, int32 worker)
{
	Size		size = (nstreams + 1) * sizeof(Stream);
	Stream	   *stream;

	streams = streams ? repalloc(streams, size) : MemoryContextAlloc(TopTransactionContext, size);
	stream = &streams[nstreams++];
	memset(stream, 0, sizeof(Stream));
	stream->datacenter = datacenter;
	stream->worker = worker;
	return stream;
}

static UidgenTick
latest_asked(Relation table, HeapTuple row)
{
	return (UidgenTick) uidgen_layout_get(&uidgen_layout, UIDGEN_TIME, DatumGetInt64(get_value(table, row, ASKED)));
}

static Registry
registry_of(Relation table, HeapTuple row)
{
	return (Registry) {
		.number = DatumGetInt64(get_value(table, row, REGISTRY)),
		.database = DatumGetObjectId(get_value(table, row, REGISTRY_DATABASE)),
	};
}

/* Is it null, or an id that uid_backfill() can have written for this worker id? */
static bool
is_of_worker(Relation table, HeapTuple row, int column, int32 datacenter, int32 worker)
{
	int64		id = DatumGetInt64(get_value(table, row, column));

	return id == 0 ||
		(id > 0 &&
		 uidgen_layout_get(&uidgen_layout, UIDGEN_DATACENTER, id) == (uint64) datacenter &&
		 uidgen_layout_get(&uidgen_layout, UIDGEN_WORKER, id) == (uint64) worker &&
		 uidgen_layout_get(&uidgen_layout, UIDGEN_TAG, id) == 0);
}

/* Whoever restores the database may write what he likes into the table. */
static void
check_row(Relation table, HeapTuple row, int32 datacenter, int32 worker)
{
	bool		live;

	/* The registry reserves no such one: who may write into the table has made it up. */
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	live = uidgen_memory->lease.held && worker == uidgen_memory->lease.grant.worker && datacenter == uidgen_datacenter_id;
	LWLockRelease(&uidgen_memory->lock);
	if (live)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a row of uidgen.backfill has the worker id of this server"),
				 errdetail("Ids of worker id %d are issued now, so no ids of past times can be.", worker),
				 errhint("A superuser can delete it.")));
	if (datacenter >= 0 && (uint64) datacenter <= uidgen_layout_maximum(&uidgen_layout, UIDGEN_DATACENTER) &&
		worker >= 0 && (uint64) worker <= uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER) &&
		is_of_worker(table, row, UPTO, datacenter, worker) &&
		is_of_worker(table, row, ASKED, datacenter, worker))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a row of uidgen.backfill does not fit the layout"),
			 errdetail("It has worker id %d of datacenter %d, and says that ids were issued up to %lld.",
					   worker, datacenter, (long long) DatumGetInt64(get_value(table, row, UPTO))),
			 errhint("A superuser can delete it.")));
}

static RowKind
kind_of(Relation table, HeapTuple row)
{
	return !has_text(table, row, HOME, home) ? ROW_OF_OTHER_HOME :
		!is_same_registry(registry_of(table, row), registry) ? ROW_OF_OTHER_REGISTRY :
		!has_text(table, row, LAYOUT, uidgen_layout_text) ? ROW_OF_OTHER_LAYOUT :
		ROW_OURS;
}

/*
 * Read what the table has; of a worker id that this transaction has taken it knows better.  The table has no
 * key, so that rows can be restored whatever is there: of several rows of a worker id the farthest counts.  By
 * an older one, which a dump of this database brings back, ids would be issued again.
 */
static void
read_table(Others *others)
{
	Relation	table;
	SysScanDesc scan;
	HeapTuple	row;

	registry = present_registry();
	uidgen_backfill_home(home);
	memset(others, 0, sizeof(Others));
	table = open_table(AccessShareLock);
	scan = systable_beginscan(table, InvalidOid, false, SnapshotSelf, 0, NULL);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		int32		datacenter = DatumGetInt32(get_value(table, row, DATACENTER_ID));
		int32		worker = DatumGetInt32(get_value(table, row, WORKER_ID));
		Stream	   *stream;

		switch (kind_of(table, row))
		{
			case ROW_OF_OTHER_HOME:
				others->homes++;
				break;
			case ROW_OF_OTHER_REGISTRY:
				others->registries++;
				break;
			case ROW_OF_OTHER_LAYOUT:
				others->layouts++;
				break;
			case ROW_OURS:
				check_row(table, row, datacenter, worker);
				stream = find_stream(datacenter, worker);
				if (!stream)
					stream = add_stream(datacenter, worker);
				if (stream->changed)
					break;
				stream->next = Max(stream->next, first_free(table, row));
				stream->asked = Max(stream->asked, latest_asked(table, row));
				break;
		}
	}
	systable_endscan(scan);
	table_close(table, AccessShareLock);
}

/* The id at a position, without a tag. */
static int64
stream_id(const Stream *stream, UidgenPosition position)
{
	return uidgen_layout_place(&uidgen_layout, position,
							   uidgen_layout_put(&uidgen_layout, UIDGEN_DATACENTER, (uint64) stream->datacenter) |
							   uidgen_layout_put(&uidgen_layout, UIDGEN_WORKER, (uint64) stream->worker));
}

static void
write_row(Relation table, HeapTuple row, const Stream *stream)
{
	int			natts = RelationGetDescr(table)->natts;
	Datum	   *values = palloc0(natts * sizeof(Datum));
	bool	   *nulls = palloc0(natts * sizeof(bool));
	bool	   *replace = palloc0(natts * sizeof(bool));

	values[UPTO - 1] = Int64GetDatum(stream_id(stream, stream->next - 1));
	values[ASKED - 1] = Int64GetDatum(stream_id(stream, uidgen_ticket_position(&uidgen_rules, stream->asked)));
	replace[UPTO - 1] = replace[ASKED - 1] = true;
	CatalogTupleUpdate(table, &row->t_self,
					   heap_modify_tuple(row, RelationGetDescr(table), values, nulls, replace));
}

/* Write down what this transaction has issued. */
static void
write_table(void)
{
	Relation	table;
	SysScanDesc scan;
	HeapTuple	row;
	bool		missing = false;
	int			changed = 0;

	for (int i = 0; i < nstreams; i++)
		changed += streams[i].changed;
	if (changed == 0)
		return;
	table = open_table(RowExclusiveLock);
	scan = systable_beginscan(table, InvalidOid, false, SnapshotSelf, 0, NULL);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Stream	   *stream = find_stream(DatumGetInt32(get_value(table, row, DATACENTER_ID)),
										 DatumGetInt32(get_value(table, row, WORKER_ID)));

		if (!stream || !stream->changed || kind_of(table, row) != ROW_OURS)
			continue;
		/* Its new version is met, too. */
		if (first_free(table, row) != stream->next || latest_asked(table, row) != stream->asked)
			write_row(table, row, stream);
		stream->stored = true;
	}
	systable_endscan(scan);
	table_close(table, NoLock);
	for (int i = 0; i < nstreams; i++)
	{
		missing |= streams[i].changed && !streams[i].stored;
		streams[i].changed = streams[i].stored = false;
	}
	if (missing)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a row of uidgen.backfill was removed while ids were issued by it"),
				 errhint("Run the transaction again.")));
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			write_table();
			written = nstreams > 0;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			/* Their memory is the transaction's. */
			streams = NULL;
			nstreams = 0;
			written = false;
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

/* ---- savepoints ---- */

/* The present savepoint, or the top level, is about to issue. */
static void
save_stream(Stream *stream)
{
	int			level = GetCurrentTransactionNestLevel();
	Saved	   *saved;

	if (level == 1 || (stream->saved && stream->saved->level == level))
		return;
	saved = MemoryContextAlloc(TopTransactionContext, sizeof(Saved));
	*saved = (Saved) {
		.outer = stream->saved,
		.level = level,
		.next = stream->next,
		.asked = stream->asked,
		.changed = stream->changed,
	};
	stream->saved = saved;
}

static void
restore_stream(Stream *stream)
{
	stream->next = stream->saved->next;
	stream->asked = stream->saved->asked;
	stream->changed = stream->saved->changed;
	stream->saved = stream->saved->outer;
}

/* What a savepoint has issued is what the one around it has issued. */
static void
release_saved(Stream *stream)
{
	Saved	   *saved = stream->saved;
	int			level = saved->level - 1;

	if (level == 1 || (saved->outer && saved->outer->level == level))
		stream->saved = saved->outer;
	else
		saved->level = level;
}

static void
at_savepoint_event(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	for (int i = 0; i < nstreams; i++)
		while (streams[i].saved && streams[i].saved->level >= level)
			if (event == SUBXACT_EVENT_ABORT_SUB)
				restore_stream(&streams[i]);
			else
				release_saved(&streams[i]);
}

/* ---- which worker id ---- */

/*
 * Take a worker id for this transaction, and with `waits` wait until it is free.  The lock holds only the low 16 bits
 * of the datacenter: two datacenters that agree in these wait for each other without need, which is rare.
 */
static bool
take_stream(Stream *stream, bool waits)
{
	ResourceOwner owner = CurrentResourceOwner;
	LOCKTAG		tag;
	LockAcquireResult result;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, get_relname_relid("backfill", get_namespace_oid("uidgen", false)),
					   (uint32) stream->worker, (uint16) stream->datacenter);
	/* An error leaves another owner to whoever ends the transaction. */
	CurrentResourceOwner = TopTransactionResourceOwner;
	result = LockAcquire(&tag, ExclusiveLock, false, !waits);
	CurrentResourceOwner = owner;
	stream->busy = result == LOCKACQUIRE_NOT_AVAIL;
	stream->mine = !stream->busy;
	return stream->mine;
}

/*
 * The worker id that fits a tick best: some may still issue ids of this tick, and among these it has come furthest.
 * The others stay free for earlier ticks.
 */
static Stream *
find_fit(UidgenTick tick, bool busy)
{
	Stream	   *best = NULL;

	for (int i = 0; i < nstreams; i++)
		if (streams[i].asked <= tick && streams[i].busy == busy &&
			(!best || streams[i].asked > best->asked || (streams[i].asked == best->asked && streams[i].mine && !best->mine)))
			best = &streams[i];
	return best;
}

/* Raise the error that no worker id fits. */
static void
report_none(UidgenTick tick, const Others *others)
{
	StringInfoData rows;
	UidgenTick	earliest = 0;

	if (nstreams > 0)
	{
		for (int i = 0; i < nstreams; i++)
			if (i == 0 || streams[i].asked < earliest)
				earliest = streams[i].asked;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("times of uid_backfill() must not decrease"),
				 nstreams == 1 ?
				 errdetail("The time is %lld ms before the latest one that worker id %d has issued an id for.",
						   uidgen_server_ms(earliest - tick), streams[0].worker) :
				 errdetail("%d worker ids are reserved, and the time is %lld ms before the latest one of each.",
						   nstreams, uidgen_server_ms(earliest - tick)),
				 errhint("Sort the rows by their time, or reserve a further worker id with uidgen_registry.reserve_backfill().")));
	}
	initStringInfo(&rows);
	if (others->homes > 0)
		appendStringInfo(&rows, "%d in uidgen.backfill are reserved for the database that this is a copy of, or was. ", others->homes);
	if (others->registries > 0)
		appendStringInfo(&rows, "%d are of another registry than the server has now. ", others->registries);
	if (others->layouts > 0)
		appendStringInfo(&rows, "%d are of another layout than the server has now. ", others->layouts);
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no worker id is reserved for ids of past times in this database"),
			 errdetail_internal("%sThis database is %s.", rows.data, home),
			 errhint("In the database of the registry, its owner can run SELECT uidgen_registry.reserve_backfill('%s'), and here SELECT uidgen.accept_backfill() with what that returns.", home)));
}

static Stream *
choose_stream(UidgenTick tick)
{
	static bool registered = false;
	Others		others;
	Stream	   *stream;

	if (!registered)
	{
		RegisterXactCallback(at_transaction_event, NULL);
		RegisterSubXactCallback(at_savepoint_event, NULL);
		registered = true;
	}
	read_table(&others);
	for (;;)
	{
		bool		waits = false;

		stream = find_fit(tick, false);
		if (stream && stream->mine)
			return stream;
		if (!stream)
		{
			/* All that would do are busy, if there are any. */
			stream = find_fit(tick, true);
			waits = true;
		}
		if (!stream)
			report_none(tick, &others);
		else if (take_stream(stream, waits))
			read_table(&others);	/* what its last owner has written */
	}
}

int64
uidgen_backfill_id(UidgenTick tick, uint64 tag_bits)
{
	Stream	   *stream = find_fit(tick, false);
	UidgenPosition position;

	if (written)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("ids of past times cannot be issued while the transaction commits")));
	if (!stream || !stream->mine)
		stream = choose_stream(tick);
	else
		check_registry();
	position = Max(uidgen_ticket_position(&uidgen_rules, tick), stream->next);
	/* No id is 0. */
	if (stream_id(stream, position) == 0)
		position++;
	if (uidgen_ticket_tick(&uidgen_rules, position) >= uidgen_clock_tick())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the next id of this time would not be of the past"),
				 errdetail("So many ids of one time were issued that the room of all ticks after it is used up, up to now."),
				 errhint("Try again later, or reserve a further worker id with uidgen_registry.reserve_backfill().")));
	save_stream(stream);
	stream->next = position + 1;
	stream->asked = tick;
	stream->changed = true;
	return (int64) ((uint64) stream_id(stream, position) | tag_bits);
}
