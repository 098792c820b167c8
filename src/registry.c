/*
 * registry.c
 *	  Calls the functions of a local registry: acquire, renew, release.
 *
 * The keeper is a superuser without a session of anybody's, in a database where
 * others may create what they like.  So nothing is found through a search path: the
 * functions are those of exactly this name and these arguments that are members of
 * the extension, which only a superuser could have made them, and are called by OID,
 * as their owner, with settings that no ALTER DATABASE or ALTER ROLE can change.
 */
#include "postgres.h"

#include "registry.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "clock.h"
#include "commands/extension.h"
#include "compat.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "guc.h"
#include "identity.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "version.h"

/* Bound on waiting for a lock on the registry's tables, for instance one that
 * a forgotten session holds. */
#define LOCK_TIMEOUT "1s"

static bool connected = false;

bool
uidgen_registry_connected(void)
{
	return connected;
}

Oid
uidgen_registry_database(void)
{
	Assert(connected);
	return MyDatabaseId;
}

/*
 * Connect so that nothing set by ALTER DATABASE or ALTER ROLE counts: the owner
 * of the registry's database could otherwise make us fail, now or with a setting
 * that a later version adds.  There is no flag for that.  But while connecting,
 * the server leaves alone each setting whose value has a stronger source; so
 * every setting that a session may change has one until then.  Afterwards each
 * has its own again and follows the configuration files.
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
 * Settings that the registry's calls rest on, whoever set them: these hold also
 * where the configuration files say something else, and while connecting.
 */
static void
force_settings(void)
{
	static const struct
	{
		const char *name;
		const char *value;
	}			forced[] = {
		/* an error ends an attempt, and not the keeper */
		{"exit_on_error", "off"},
		/* the database itself may be locked */
		{"lock_timeout", LOCK_TIMEOUT},
		{"statement_timeout", "0"},
		/* our triggers on the tables drop what replication brings */
		{"session_replication_role", "origin"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_isolation", "read committed"},
		{"search_path", "pg_catalog, pg_temp"},
		/* flushed here, but no wait for a standby that may be dead */
		{"synchronous_commit", "local"},
		{"row_security", "off"},
		/* rows that vanish are worker ids that seem never used */
		{"zero_damaged_pages", "off"},
		{"ignore_checksum_failure", "off"},
		{"application_name", "uidgen keeper"},
	};

	for (size_t i = 0; i < lengthof(forced); i++)
		SetConfigOption(forced[i].name, forced[i].value, PGC_SUSET,
						PGC_S_OVERRIDE);
	uidgen_force_later_settings();
}

void
uidgen_registry_connect(void)
{
	/* A setting has to be defined before it can be protected. */
	load_file("$libdir/plpgsql", false);
	force_settings();
	connect_without_database_settings();
	connected = true;
}

static void
begin_transaction(const char *activity)
{
	Assert(connected && !IsTransactionState());
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, activity);
}

/* After this everything is on disk: synchronous_commit is at least local. */
static void
commit_transaction(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
	pgstat_report_stat(true);
}

static void
report_missing_extension(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("extension \"uidgen\" is not installed in database \"%s\"",
					uidgen_database),
			 errdetail("That database holds the registry of worker ids."),
			 errhint("Run CREATE EXTENSION uidgen there, or name another database in the setting \"uidgen.database\".")));
}

/* An argument of one of the functions: none is null. */
typedef struct Argument
{
	Oid			type;
	Datum		value;
} Argument;

#define TEXT(x) {TEXTOID, CStringGetTextDatum(x)}
#define INT(x) {INT4OID, Int32GetDatum(x)}
#define BIGINT(x) {INT8OID, Int64GetDatum(x)}
#define BOOL(x) {BOOLOID, BoolGetDatum(x)}

/* The extension has no such function, for which there are two reasons. */
static void
report_missing_function(const char *name)
{
	UidgenVersions versions = uidgen_compare_versions();

	if (versions.order != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"uidgen\" in database \"%s\" is of version %s, and the library of version %s",
						uidgen_database, versions.extension, UIDGEN_VERSION),
				 versions.order < 0 ?
				 errdetail("The extension is older: it lacks a function %s that the library calls.", name) :
				 errdetail("The library is older: the function %s that it calls has been replaced.", name),
				 versions.order < 0 ?
				 errhint("Run ALTER EXTENSION uidgen UPDATE in that database.") :
				 errhint("Install the library that belongs to the extension, and restart the server.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("function uidgen.%s does not belong to the extension", name),
			 errdetail("The extension in database \"%s\" is not as it was installed.",
					   uidgen_database),
			 errhint("Restore the function, and run ALTER EXTENSION uidgen ADD FUNCTION. Dropping the extension would forget which ids may have been issued.")));
}

/*
 * The function of this name and these arguments that belongs to the extension: it may
 * have others of this name, for libraries of other versions.
 */
static Oid
find_function(const char *name, int nargs, const Argument *args)
{
	Oid			extension = get_extension_oid("uidgen", true);
	Oid			namespace = get_namespace_oid("uidgen", true);
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
		getExtensionOfObject(ProcedureRelationId, function) != extension)
		report_missing_function(name);
	return function;
}

/* Call one of the functions; its result is in the current memory context. */
static Datum
call_function(const char *name, int nargs, const Argument *args)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	FmgrInfo	flinfo;
	Oid			function = find_function(name, nargs, args);
	HeapTuple	proc;
	Oid			owner;
	Oid			save_user;
	int			save_context;
	Datum		result;

	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(proc))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(proc))->proowner;
	ReleaseSysCache(proc);

	fmgr_info(function, &flinfo);
	InitFunctionCallInfoData(*fcinfo, &flinfo, nargs, InvalidOid, NULL, NULL);
	for (int i = 0; i < nargs; i++)
		fcinfo->args[i] = (NullableDatum) {args[i].value, false};

	/*
	 * Restricted, so that nothing can be put off until after the call, when the
	 * user is another: no deferred trigger.  An error restores the user at the
	 * end of the transaction.
	 */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(owner, save_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	result = FunctionCallInvoke(fcinfo);
	SetUserIdAndSecContext(save_user, save_context);
	if (fcinfo->isnull)
		elog(ERROR, "function uidgen.%s returned null", name);
	return result;
}

static bool
is_null(HeapTupleHeader row, const char *column)
{
	bool		isnull;

	(void) GetAttributeByName(row, column, &isnull);
	return isnull;
}

static Datum
get_column(HeapTupleHeader row, const char *column)
{
	bool		isnull;
	Datum		value = GetAttributeByName(row, column, &isnull);

	if (isnull)
		elog(ERROR, "the registry returned no %s", column);
	return value;
}

static int64
get_bigint(HeapTupleHeader row, const char *column)
{
	return DatumGetInt64(get_column(row, column));
}

void
uidgen_registry_acquire(const UidgenRequest *request, UidgenGrant *grant)
{
	UidgenIdentity identity;
	HeapTupleHeader row;

	begin_transaction("uidgen: acquire a worker id");
	uidgen_identify(&identity);
	{
		const Argument args[] = {
			TEXT(identity.text),
			TEXT(uidgen_layout_text),
			BIGINT(uidgen_layout.unit),
			BIGINT(uidgen_layout.epoch),
			BIGINT((int64) uidgen_layout_maximum(&uidgen_layout, UIDGEN_TIME)),
			INT((int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_DATACENTER)),
			INT((int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER)),
			INT(uidgen_datacenter_id),
			INT(request->wanted),
			INT(request->avoid),
			TEXT(uidgen_worker_policy == UIDGEN_DISPOSABLE ? "disposable" : "reuse"),
			BOOL(request->never_used),
			BOOL(false),		/* the registry is not shared */
			BIGINT(request->floor),
			BIGINT(request->window),
			BIGINT(request->max_lead),
			BIGINT(request->max_step),
			TEXT(identity.host_name),
			INT(identity.port),
			INT(identity.type),
		};

		row = DatumGetHeapTupleHeader(call_function("acquire_worker_id",
														 lengthof(args), args));
	}
	grant->worker = DatumGetInt32(get_column(row, "worker"));
	grant->token = get_bigint(row, "token");
	grant->first = get_bigint(row, "first_tick");
	grant->last = get_bigint(row, "last_tick");
	grant->seen = get_bigint(row, "seen_tick");
	grant->never_used = DatumGetBool(get_column(row, "never_used"));
	grant->free_workers = get_bigint(row, "free_workers");
	grant->registry = uidgen_registry_database();
	strlcpy(grant->reason, TextDatumGetCString(get_column(row, "reason")),
			sizeof(grant->reason));
	commit_transaction();
	Assert(grant->first >= request->floor && grant->first <= grant->last);
	Assert(request->wanted < 0 || grant->worker == request->wanted);
}

bool
uidgen_registry_renew(UidgenGrant *grant, int64 needed, int64 window,
					  int64 clock_offset)
{
	const Argument args[] = {
		INT(uidgen_datacenter_id),
		INT(grant->worker),
		BIGINT(grant->token),
		BIGINT(grant->last),
		BIGINT(needed),
		BIGINT(window),
	};
	HeapTupleHeader row;
	int64		token = 0;
	int64		last = 0;
	int64		leap;
	int64		large_step;
	bool		fenced;

	begin_transaction("uidgen: renew the grant");
	row = DatumGetHeapTupleHeader(call_function("renew_worker", lengthof(args),
												 args));
	fenced = is_null(row, "token") && is_null(row, "last_tick");
	if (!fenced)
	{
		token = get_bigint(row, "token");
		last = get_bigint(row, "last_tick");
	}
	leap = (uidgen_clock_offset() - clock_offset) / uidgen_layout.unit;
	large_step = (int64) uidgen_time_bounds().large_step;
	if (leap > large_step)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the clock was set forward while the grant was renewed"),
				 errdetail("It leapt by %lld ms, more than the %lld ms that count as a small step.",
						   (long long) (leap * uidgen_layout.unit / 1000),
						   (long long) (large_step * uidgen_layout.unit / 1000)),
				 errhint("The next attempt follows it; correct the clock if it is wrong. What is a small step depends on the setting \"uidgen.max_ahead\".")));
	commit_transaction();
	if (fenced)
		return false;
	grant->token = token;
	grant->last = last;
	return true;
}

void
uidgen_registry_release(const UidgenGrant *grant, int64 last_issued)
{
	const Argument args[] = {
		INT(uidgen_datacenter_id),
		INT(grant->worker),
		BIGINT(grant->token),
		BIGINT(last_issued),
	};

	begin_transaction("uidgen: release the worker id");
	/* False if the row is no longer ours: then there is nothing to hand back. */
	(void) call_function("release_worker", lengthof(args), args);
	commit_transaction();
}
