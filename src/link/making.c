/*
 * making.c
 *	  The local registry is made where there is none: see making.h.
 *
 * The keeper runs CREATE EXTENSION as superuser in a database whose owner may have prepared it.  The script names nothing but
 * PostgreSQL's own and what it has made itself, and takes away what default privileges gave (script/registry).  The rest is here:
 * no event trigger fires, and no setting of the configuration files says where or how tables are stored.
 */
#include "postgres.h"

#include "link/making.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_database.h"
#include "catalog/pg_language.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "memory/guc.h"
#include "memory/version.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/syscache.h"

bool
uidgen_has_registry(void)
{
	return OidIsValid(get_extension_oid(UIDGEN_REGISTRY_EXTENSION, true));
}

static bool
is_template(void)
{
	HeapTuple	database = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	bool		template;

	if (!HeapTupleIsValid(database))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	template = ((Form_pg_database) GETSTRUCT(database))->datistemplate;
	ReleaseSysCache(database);
	return template;
}

/* PL/pgSQL, with an extension of its name where that brought it; each of a superuser. */
static bool
has_language(void)
{
	HeapTuple	language = SearchSysCache1(LANGNAME, CStringGetDatum("plpgsql"));
	Oid			owner;
	bool		good;

	if (!HeapTupleIsValid(language))
		return false;
	good = superuser_arg(((Form_pg_language) GETSTRUCT(language))->lanowner);
	ReleaseSysCache(language);
	owner = uidgen_extension_owner("plpgsql");
	return good && (!OidIsValid(owner) || superuser_arg(owner));
}

void
uidgen_check_makeable(void)
{
	/* pg_upgrade brings the old one, which knows what was granted. */
	if (IsBinaryUpgrade)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the registry of worker ids cannot be made while the server is being upgraded"),
				 errhint("Draw ids when pg_upgrade has ended.")));
	if (is_template())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the registry of worker ids cannot be made in database \"%s\", which is a template", uidgen_database),
				 errdetail("Each database that is made from it would have a copy of the registry."),
				 errhint("Name another database in the setting \"uidgen.database\".")));
	if (OidIsValid(get_namespace_oid(UIDGEN_REGISTRY_SCHEMA, true)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the registry of worker ids cannot be made in database \"%s\", which has a schema \"" UIDGEN_REGISTRY_SCHEMA "\" already", uidgen_database),
				 errhint("Rename or drop that schema, or name another database in the setting \"uidgen.database\".")));
	if (!has_language())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the registry of worker ids cannot be made in database \"%s\", which lacks the language plpgsql of a superuser", uidgen_database),
				 errdetail("Another owner could drop the language, and the registry with it."),
				 errhint("Let a superuser run CREATE EXTENSION plpgsql in that database, or name another one in the setting \"uidgen.database\". If the language belongs to the role that made the server, and that is a superuser no longer, make it a superuser until the registry is there.")));
}

/*
 * Settings for CREATE EXTENSION.  An event trigger would run its function as superuser, or refuse: those that fire for ordinary
 * commands do not under "replica", and from PostgreSQL 17 on none does.
 *
 * They are set as a session sets its own, within a nest level, which gives them back: a value from a stronger source, such as the one
 * that holds for the keeper's calls, would stay.
 */
static void
set_settings(void)
{
	static const char *const settings[][2] = {
		{"session_replication_role", "replica"},
		{"event_triggers", "off"},
		{"default_tablespace", ""},
		{"default_table_access_method", "heap"},
	};

	for (size_t i = 0; i < lengthof(settings); i++)
		if (GetConfigOption(settings[i][0], true, false))
			(void) set_config_option(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, 0, false);
}

/* What to do about an error of CREATE EXTENSION, of which PostgreSQL says little; NULL: what it says suffices. */
static const char *
hint_of(int sqlerrcode)
{
	switch (sqlerrcode)
	{
		case ERRCODE_FEATURE_NOT_SUPPORTED: /* no control file */
		case ERRCODE_UNDEFINED_FILE:
			return "Install all files of uidgen, the scripts and control files as well.";
		case ERRCODE_INVALID_PARAMETER_VALUE:
			return "The files are of another version than the library that the server has loaded. If uidgen was upgraded, restart the server.";
		case ERRCODE_LOCK_NOT_AVAILABLE:
			return "Another session may be making it. Commit or roll back its transaction.";
		default:
			return NULL;
	}
}

static void
create_extension(void)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		SPI_connect();
		if (SPI_execute("CREATE EXTENSION " UIDGEN_REGISTRY_EXTENSION " VERSION '" UIDGEN_VERSION "'", false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "CREATE EXTENSION did not run");
		SPI_finish();
	}
	PG_CATCH();
	{
		ErrorData  *error;
		const char *hint;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		hint = hint_of(error->sqlerrcode);
		ereport(ERROR,
				(errcode(error->sqlerrcode),
				 errmsg("the registry of worker ids could not be made in database \"%s\": %s", uidgen_database, error->message),
				 error->detail ? errdetail_internal("%s", error->detail) : 0,
				 hint ? errhint("%s", hint) : error->hint ? errhint("%s", error->hint) : 0));
	}
	PG_END_TRY();
}

void
uidgen_make_registry(void)
{
	int			level;

	uidgen_check_makeable();
	level = NewGUCNestLevel();
	set_settings();
	create_extension();
	AtEOXact_GUC(true, level);
}
