/*
 * link_local.c
 *	  The way to a local registry: the keeper connects to a database of this cluster.
 *
 * The keeper is a superuser process in a database where others may create what they
 * like.  So nothing is found through a search path.  A function must have exactly the
 * name and arguments, and be a member of extension uidgen_registry, which is a superuser's, as its members
 * are.  It is called by OID, as its owner, with settings that no ALTER DATABASE or
 * ALTER ROLE can change.
 *
 * A background worker closes its connection only by ending, and it also ends if it cannot
 * connect.
 */
#include "postgres.h"

#include "link/link.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_database.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "compat.h"
#include "funcapi.h"
#include "link/making.h"
#include "link/strangers.h"
#include "memory/catalog.h"
#include "memory/guc.h"
#include "memory/identity.h"
#include "memory/memory.h"
#include "memory/version.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* Bound on waiting for a lock on the extension or its tables, for instance one
 * that a forgotten session holds. */
#define LOCK_TIMEOUT "1s"

/* The same where the extension could not be locked before: well below PostgreSQL's deadlock_timeout, so that in a
 * deadlock with DROP EXTENSION the keeper ends, and not that. */
#define UNORDERED_LOCK_TIMEOUT "200ms"

static bool connected = false;

/* ---- for any process ---- */

/* During recovery nothing can be written, so nothing can be granted. */
static bool
in_recovery(void)
{
	return RecoveryInProgress();
}

static bool
is_missing(UidgenFailure *why)
{
	bool		missing;

	if (!uidgen_lock_catalog(DatabaseRelationId, DatabaseNameIndexId))
		return false;
	missing = !OidIsValid(get_database_oid(uidgen_database, true));
	uidgen_unlock_catalog(DatabaseRelationId, DatabaseNameIndexId);
	if (missing)
		uidgen_failure_set(why, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						   psprintf("database \"%s\" does not exist", uidgen_database),
						   "The registry of worker ids should be in that database.",
						   "Create the database, or name another one in the setting \"uidgen.database\".");
	return missing;
}

static const char *
host(void)
{
	return NULL;
}

/* ---- the connection ---- */

static char *
target(void)
{
	return psprintf("database \"%s\"", uidgen_database);
}

static uint64
place(void)
{
	return hash_bytes_extended((const unsigned char *) uidgen_database,
							   (int) strlen(uidgen_database), 0);
}

static bool
is_connected(void)
{
	return connected;
}

static uint64
registry(void)
{
	Assert(connected);
	return uidgen_database_number();
}

/*
 * Connect so that nothing set by ALTER DATABASE or ALTER ROLE counts: otherwise the owner
 * of the registry's database could make the keeper fail, now or with a setting that a
 * later version adds.  The server has no flag for that.  But while connecting, it does
 * not apply such a value to a setting whose present value has a stronger source.  So
 * every setting that a session may change is given a stronger source, and gets its own
 * source back afterwards; then it follows the configuration files again.
 */
static void
connect_without_database_settings(void)
{
	typedef struct
	{
		struct config_generic *setting;
		GucSource	source;
		GucSource	reset_source;
	} Origin;
	int			n;
	struct config_generic **settings = uidgen_all_settings(&n);
	Origin	   *origins = palloc(n * sizeof(Origin));
	int			norigins = 0;

	for (int i = 0; i < n; i++)
		if (settings[i]->context >= PGC_SUSET)
		{
			origins[norigins++] = (Origin) {
				settings[i], settings[i]->source, settings[i]->reset_source
			};
			settings[i]->source = settings[i]->reset_source = PGC_S_OVERRIDE;
		}
	BackgroundWorkerInitializeConnection(uidgen_database, NULL,
										 BGWORKER_BYPASS_ALLOWCONN);
	for (int i = 0; i < norigins; i++)
	{
		origins[i].setting->source = origins[i].source;
		origins[i].setting->reset_source = origins[i].reset_source;
	}
	pfree(origins);
}

/*
 * Settings that the registry's calls rely on.  They hold also if the configuration files
 * say something else, and while connecting.
 */
static void
force_settings(void)
{
	static const struct
	{
		const char *name;
		const char *value;
	}			forced[] = {
		/* an error must end the attempt, not the keeper */
		{"exit_on_error", "off"},
		/* the tables, or the database itself, may be locked */
		{"lock_timeout", LOCK_TIMEOUT},
		{"statement_timeout", "0"},
		/* our triggers on the tables drop what replication brings */
		{"session_replication_role", "origin"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_isolation", "read committed"},
		{"search_path", "pg_catalog, pg_temp"},
		/* flush here, but do not wait for a standby that may be dead */
		{"synchronous_commit", "local"},
		{"row_security", "off"},
		/* if rows vanished, their worker ids would seem never used */
		{"zero_damaged_pages", "off"},
		{"ignore_checksum_failure", "off"},
		{"application_name", "uidgen keeper"},
	};

	for (size_t i = 0; i < lengthof(forced); i++)
		SetConfigOption(forced[i].name, forced[i].value, PGC_SUSET,
						PGC_S_OVERRIDE);
	uidgen_force_later_settings();
}

static void
connect_database(void)
{
	/* A setting has to be defined before it can be protected. */
	load_file("$libdir/plpgsql", false);
	force_settings();
	/* A connection that is made only in part cannot be cleaned up: end the process. */
	ExitOnAnyError = true;
	connect_without_database_settings();
	ExitOnAnyError = false;
	connected = true;
}

/* There is no other host. */
static void
reject_host(void)
{
}

static bool
disconnect(void)
{
	return false;
}

/* ---- calls ---- */

static void
begin_transaction(const char *activity)
{
	Assert(connected && !IsTransactionState());
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, activity);
}

/*
 * A registry that this server was granted something by does not begin anew by itself: with it goes what was kept, reserved and given
 * out of segments, of which somebody has to hear.
 */
static bool
has_granted(void)
{
	return uidgen_memory->served_place == place();
}

static void
report_missing_extension(void)
{
	if (has_granted())
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the registry of worker ids is gone from database \"%s\"", uidgen_database),
				 errdetail("This server was granted a worker id by it since it started. With the registry went what it knew: worker ids that were granted, kept or reserved, and segments."),
				 errhint("If you have a backup of it, restore that. Otherwise run CREATE EXTENSION " UIDGEN_REGISTRY_EXTENSION " in that database, or restart this server: then a new registry begins.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("extension \"" UIDGEN_REGISTRY_EXTENSION "\" is not in database \"%s\"",
					uidgen_database),
			 errdetail("The registry of worker ids and segments should be in that database."),
			 errhint("The first id makes it. Or run CREATE EXTENSION " UIDGEN_REGISTRY_EXTENSION " in that database, or name another one in the setting \"uidgen.database\".")));
}

/* The extension has no such function: it is of another version, or was changed. */
static void
report_missing_function(const char *name)
{
	UidgenVersions versions = uidgen_compare_versions(UIDGEN_REGISTRY_EXTENSION);

	if (versions.order != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"" UIDGEN_REGISTRY_EXTENSION "\" in database \"%s\" is of version %s, but the library is of version %s",
						uidgen_database, versions.extension, UIDGEN_VERSION),
				 versions.order < 0 ?
				 errdetail("The extension is older: it lacks the function %s, which the library calls.", name) :
				 errdetail("The library is older: the function %s, which it calls, has been replaced.", name),
				 versions.order < 0 ?
				 errhint("Run ALTER EXTENSION " UIDGEN_REGISTRY_EXTENSION " UPDATE in that database.") :
				 errhint("Install the library that belongs to the extension, and restart the server.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("function " UIDGEN_REGISTRY_SCHEMA ".%s does not belong to the extension", name),
			 errdetail("The extension in database \"%s\" is not as it was installed.",
					   uidgen_database),
			 errhint("Restore the function, and run ALTER EXTENSION " UIDGEN_REGISTRY_EXTENSION " ADD FUNCTION. Do not drop the extension: the registry would forget which ids may have been issued.")));
}

/*
 * The functions that this process has found to belong to the extension of this OID.  Any role can keep others from reading
 * a catalog: its CREATE RULE waits for an exclusive lock behind an open transaction, before PostgreSQL looks whether the role
 * may do that.  So nobody is waited for there either, and what was found once counts.  OIDs do not come again.
 */
static Oid	members_of = InvalidOid;
static Oid	members[32];
static int	nmembers = 0;

static void
report_locked_catalog(const char *catalog)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("the catalog %s of database \"%s\" is locked", catalog, uidgen_database),
			 errdetail("Another session has locked it, or waits for such a lock."),
			 errhint("The view pg_locks in that database shows which one.")));
}

/* In another order than DROP EXTENSION may have, so not for long. */
static void
lock_tables(void)
{
	static const char *const names[] = {"worker_node", "registry", "segment"};
	Oid			schema = get_namespace_oid(UIDGEN_REGISTRY_SCHEMA, true);

	(void) set_config_option("lock_timeout", UNORDERED_LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	for (size_t i = 0; OidIsValid(schema) && i < lengthof(names); i++)
	{
		Oid			table = get_relname_relid(names[i], schema);

		if (OidIsValid(table))
			LockRelationOid(table, AccessShareLock);
	}
}

/*
 * The extension, kept until the transaction ends: what its functions name is looked up while they run, and must not become
 * somebody else's meanwhile.  DROP EXTENSION locks it before all that
 * belongs to it, and the tables in an order of its own: without this lock, it and the keeper
 * could each hold a table that the other one waits for.
 *
 * But any role may lock an extension, by ALTER FUNCTION ... DEPENDS ON EXTENSION, or by DROP EXTENSION: that is refused, but a
 * client that does not read the error keeps the lock.  It would stop all ids.  So nobody is waited for here.  The tables
 * are locked then, which DROP EXTENSION has to lock as well; of other roles only those that may name them can.
 */
static Oid
lock_extension(void)
{
	bool		free = uidgen_lock_catalog(ExtensionRelationId, ExtensionNameIndexId);
	Oid			extension = free ? get_extension_oid(UIDGEN_REGISTRY_EXTENSION, true) : members_of;
	LOCKTAG		tag;

	if (!free && !OidIsValid(extension))
		report_locked_catalog("pg_extension");
	if (!OidIsValid(extension))
		return InvalidOid;
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, extension, 0);
	if (LockAcquire(&tag, AccessShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		lock_tables();
	/* It may have been dropped, and created again, before it was locked. */
	AcceptInvalidationMessages();
	return free ? get_extension_oid(UIDGEN_REGISTRY_EXTENSION, true) : extension;
}

/* Does the function belong to the extension?  Where that cannot be looked up, only a function that did before does. */
static bool
is_member(Oid function, Oid extension)
{
	bool		free = uidgen_lock_catalog(DependRelationId, DependDependerIndexId);
	int			known = 0;

	if (members_of != extension)
		nmembers = 0;
	members_of = extension;
	while (known < nmembers && members[known] != function)
		known++;
	if (!free && known == nmembers)
		report_locked_catalog("pg_depend");
	if (free && getExtensionOfObject(ProcedureRelationId, function) != extension)
		return false;
	if (known == nmembers && nmembers < (int) lengthof(members))
		members[nmembers++] = function;
	return true;
}

/*
 * Is it the one whose parameters have these names, in this order?  Their types alone would not
 * tell two arguments that were exchanged.
 */
static bool
has_parameters(Oid function, int nargs, const UidgenArgument *args)
{
	HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid		   *types;
	char	  **names;
	char	   *modes;
	bool		same;

	if (!HeapTupleIsValid(proc))
		elog(ERROR, "cache lookup failed for function %u", function);
	same = get_func_arg_info(proc, &types, &names, &modes) >= nargs && (names || nargs == 0);
	for (int i = 0; same && i < nargs; i++)
		same = strcmp(names[i], args[i].name) == 0;
	ReleaseSysCache(proc);
	return same;
}

/*
 * The function of the extension with this name and these arguments.  The extension may
 * have others of this name, for libraries of other versions.
 */
static Oid
find_function(const char *name, int nargs, const UidgenArgument *args)
{
	Oid			extension = lock_extension();
	Oid			namespace = get_namespace_oid(UIDGEN_REGISTRY_SCHEMA, true);
	Oid			types[FUNC_MAX_ARGS];
	Oid			function;

	if (!OidIsValid(extension) || !OidIsValid(namespace))
		report_missing_extension();

	for (int i = 0; i < nargs; i++)
		types[i] = args[i].type;
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							   CStringGetDatum(name),
							   PointerGetDatum(buildoidvector(types, nargs)),
							   ObjectIdGetDatum(namespace));
	if (!OidIsValid(function) ||
		!is_member(function, extension) ||
		!has_parameters(function, nargs, args))
		report_missing_function(name);
	return function;
}

static Oid
function_owner(Oid function)
{
	HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(proc))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(proc))->proowner;
	ReleaseSysCache(proc);
	return owner;
}

static Datum
argument_datum(const UidgenArgument *argument)
{
	Oid			input;
	Oid			ioparam;

	getTypeInputInfo(argument->type, &input, &ioparam);
	return OidInputFunctionCall(input, unconstify(char *, argument->value), ioparam, -1);
}

/* Allocated in the current memory context. */
static char *
datum_text(Oid type, Datum value)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(type, &output, &is_varlena);
	return OidOutputFunctionCall(output, value);
}

/* What the function returned as text; allocated in the current memory context. */
static void
read_row(Oid function, const char *name, Datum result, UidgenRow *row)
{
	Oid			type = get_func_rettype(function);
	HeapTupleHeader header;
	HeapTupleData tuple;
	TupleDesc	descriptor;

	if (!type_is_rowtype(type))
	{
		row->ncolumns = 1;
		row->names = palloc(sizeof(char *));
		row->values = palloc(sizeof(char *));
		row->names[0] = pstrdup(name);
		row->values[0] = datum_text(type, result);
		return;
	}
	header = DatumGetHeapTupleHeader(result);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	tuple.t_data = header;
	descriptor = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
										HeapTupleHeaderGetTypMod(header));
	row->ncolumns = descriptor->natts;
	row->names = palloc(row->ncolumns * sizeof(char *));
	row->values = palloc(row->ncolumns * sizeof(char *));
	for (int i = 0; i < row->ncolumns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		bool		isnull;
		Datum		value = heap_getattr(&tuple, i + 1, descriptor, &isnull);

		row->names[i] = pstrdup(NameStr(attribute->attname));
		row->values[i] = isnull ? NULL : datum_text(attribute->atttypid, value);
	}
	ReleaseTupleDesc(descriptor);
}

/* Which may draw ids, or be in the way otherwise. */
static void
look_for_strangers(void)
{
	char	   *found = uidgen_find_strange_trigger();
	bool		is_news;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	is_news = strcmp(uidgen_memory->stranger, found ? found : "") != 0;
	if (is_news)
		strlcpy(uidgen_memory->stranger, found ? found : "", sizeof(uidgen_memory->stranger));
	LWLockRelease(&uidgen_memory->lock);
	if (is_news && found)
		ereport(LOG,
				(errmsg("%s is none of the registry's", found),
				 errhint("If it draws ids, or fails, no worker id is granted. Drop it.")));
}

static void
call(const char *name, int nargs, const UidgenArgument *args, const char *activity,
	 UidgenRow *row)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	FmgrInfo	flinfo;
	MemoryContext caller_context = CurrentMemoryContext;
	Oid			function;
	Oid			save_user;
	int			save_context;
	Datum		result;

	begin_transaction(activity);
	function = find_function(name, nargs, args);
	look_for_strangers();
	fmgr_info(function, &flinfo);
	InitFunctionCallInfoData(*fcinfo, &flinfo, nargs, InvalidOid, NULL, NULL);
	for (int i = 0; i < nargs; i++)
		fcinfo->args[i] = (NullableDatum) {argument_datum(&args[i]), false};

	/*
	 * Restricted, so that nothing that the function sets up, such as a deferred trigger,
	 * can run after the call as another user.  After an error, the end of the
	 * transaction restores the user.
	 */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(function_owner(function),
						   save_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	result = FunctionCallInvoke(fcinfo);
	SetUserIdAndSecContext(save_user, save_context);
	if (fcinfo->isnull)
		elog(ERROR, "function " UIDGEN_REGISTRY_SCHEMA ".%s returned null", name);

	/* The row has to outlive the transaction. */
	MemoryContextSwitchTo(caller_context);
	read_row(function, name, result, row);
}

/* After this everything is on disk: synchronous_commit is at least local. */
static void
commit(void)
{
	MemoryContext caller_context = CurrentMemoryContext;

	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
	pgstat_report_stat(true);
	MemoryContextSwitchTo(caller_context);
}

static void
end_failed(void)
{
	AbortCurrentTransaction();
	pgstat_report_activity(STATE_IDLE, NULL);
	pgstat_report_stat(true);
}

/* ---- the registry is made ---- */

static bool
has_registry(void)
{
	MemoryContext caller_context = CurrentMemoryContext;
	bool		found;

	begin_transaction("uidgen: look for the registry");
	found = uidgen_has_registry();
	commit();
	MemoryContextSwitchTo(caller_context);
	return found;
}

/* False: another session has made it meanwhile. */
static bool
try_to_make(void)
{
	MemoryContext caller_context = CurrentMemoryContext;
	volatile bool made = true;

	begin_transaction("uidgen: make the registry");
	PG_TRY();
	{
		uidgen_make_registry();
		commit();
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_UNIQUE_VIOLATION && geterrcode() != ERRCODE_DUPLICATE_OBJECT)
			PG_RE_THROW();
		MemoryContextSwitchTo(caller_context);
		FlushErrorState();
		end_failed();
		made = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller_context);
	return made;
}

static void
make_registry(bool rehearse)
{
	if (has_granted())
		report_missing_extension();
	if (rehearse)
	{
		begin_transaction("uidgen: look whether the registry can be made");
		uidgen_check_makeable();
		commit();
	}
	else if (try_to_make())
		ereport(LOG,
				(errmsg("uidgen has made the registry of worker ids in database \"%s\"", uidgen_database),
				 errdetail("It is extension " UIDGEN_REGISTRY_EXTENSION ".")));
}

/* A last call takes no longer than its waits for locks. */
static bool
finish(void)
{
	return true;
}

const UidgenLink uidgen_link_local = {
	.version = UIDGEN_VERSION,
	.setting = "uidgen.database",
	.in_recovery = in_recovery,
	.is_missing = is_missing,
	.target = target,
	.place = place,
	.is_connected = is_connected,
	.connect = connect_database,
	.registry = registry,
	.has_registry = has_registry,
	.make_registry = make_registry,
	.host = host,
	.call = call,
	.commit = commit,
	.end_failed = end_failed,
	.reject_host = reject_host,
	.disconnect = disconnect,
	.finish = finish,
};
