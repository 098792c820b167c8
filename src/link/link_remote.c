/*
 * link_remote.c
 *	  The way to a registry on another server, by uidgen.registry.
 *
 * Before the keeper connects for the first time there is no connection; then it loads the library
 * file uidgen_libpq, whose operations take the place of those that are here.
 */
#include "postgres.h"

#include "link/link.h"

#include <dlfcn.h>

#include "common/hashfn.h"
#include "fmgr.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "utils/elog.h"

/* ---- for any process ---- */

/* A standby cannot write to its own tables, but to another server's. */
static bool
in_recovery(void)
{
	return false;
}

/* Only the keeper can know. */
static bool
is_missing(UidgenFailure *why)
{
	return false;
}

/* ---- the library file ---- */

/*
 * The file beside the one that this code was loaded from: another copy of the library
 * may be of another version.
 */
static char *
library_file(void)
{
	Dl_info		info;
	char	   *file;
	char	   *slash;

	if (dladdr((void *) library_file, &info) == 0 || !is_absolute_path(info.dli_fname))
		return pstrdup("$libdir/" UIDGEN_LINK_LIBRARY);
	file = palloc(strlen(info.dli_fname) + sizeof(UIDGEN_LINK_LIBRARY));
	strcpy(file, info.dli_fname);
	slash = strrchr(file, '/');
	strcpy(slash + 1, UIDGEN_LINK_LIBRARY);
	return file;
}

static UidgenLinkFunction
load_file_and_function(const char *file)
{
	volatile UidgenLinkFunction function = NULL;
	MemoryContext caller_context = CurrentMemoryContext;

	PG_TRY();
	{
		function = (UidgenLinkFunction)
			load_external_function(file, UIDGEN_LINK_FUNCTION, true, NULL);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller_context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not load the library file by which uidgen reaches the registry of another server"),
				 errdetail_internal("%s", error->message),
				 errhint("Install libpq and the file \"%s\", which comes with uidgen.",
						 UIDGEN_LINK_LIBRARY)));
	}
	PG_END_TRY();
	return function;
}

/* ---- the place ---- */

/* Callers see this, and the setting is for superusers. */
static char *
target(void)
{
	return pstrdup("the registry of the setting \"uidgen.registry\"");
}

static uint64
place(void)
{
	return hash_bytes_extended((const unsigned char *) uidgen_registry,
							   (int) strlen(uidgen_registry), 0);
}

/* What the settings say, and which registry has answered since they do. */
static void
ask_remote(UidgenRemote *remote)
{
	remote->conninfo = uidgen_registry;
	remote->timeout = uidgen_registry_timeout;
	remote->known = uidgen_node_knows(&uidgen_memory->node, place(), &remote->registry_id);
}

/* ---- before there is a connection ---- */

static bool
is_connected(void)
{
	return false;
}

/* Take the operations of the library file. */
static void
load_and_connect(void)
{
	const UidgenLink *loaded = load_file_and_function(library_file()) (ask_remote);
	UidgenLink *link = &uidgen_link_remote;

	/* The file may have been replaced since the server loaded uidgen. */
	if (strcmp(loaded->version, UIDGEN_VERSION) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the library file \"%s\" is of version %s, but the server runs uidgen of version %s",
						UIDGEN_LINK_LIBRARY, loaded->version, UIDGEN_VERSION),
				 errhint("Install both files of one version, and restart the server.")));
	link->is_connected = loaded->is_connected;
	link->connect = loaded->connect;
	link->host = loaded->host;
	link->call = loaded->call;
	link->commit = loaded->commit;
	link->end_failed = loaded->end_failed;
	link->reject_host = loaded->reject_host;
	link->disconnect = loaded->disconnect;
	link->finish = loaded->finish;
	link->connect();
}

static const char *
host(void)
{
	return NULL;
}

static void
end_failed(void)
{
}

static bool
disconnect(void)
{
	return true;
}

static bool
finish(void)
{
	return false;
}

UidgenLink	uidgen_link_remote = {
	.version = UIDGEN_VERSION,
	.setting = "uidgen.registry",
	.fleet = true,
	.in_recovery = in_recovery,
	.is_missing = is_missing,
	.target = target,
	.place = place,
	.is_connected = is_connected,
	.connect = load_and_connect,
	.host = host,
	.end_failed = end_failed,
	.disconnect = disconnect,
	.finish = finish,
};
