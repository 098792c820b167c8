/*
 * link_remote.c
 *	  The way to a registry on another server, by uidgen.registry.
 *
 * What needs libpq is the client (client.h), in a library file of its own.  The keeper loads
 * it when it connects for the first time; no other process does.
 */
/* for dladdr() */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "postgres.h"

#include "link/client.h"

#include <dlfcn.h>

#include "common/hashfn.h"
#include "fmgr.h"
#include "shared/guc.h"
#include "shared/shmem.h"
#include "utils/elog.h"

/* As long as the end of the server may wait for the registry. */
#define FINISH_MS 1000

static const UidgenClient *client = NULL;

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

static bool
is_here(void)
{
	return false;
}

/* ---- the library file ---- */

/*
 * The file beside the one that this code was loaded from: another copy of the library
 * may be of another version.
 */
static char *
client_file(void)
{
	Dl_info		info;
	char	   *file;
	char	   *slash;

	if (dladdr((void *) client_file, &info) == 0 || !is_absolute_path(info.dli_fname))
		return pstrdup("$libdir/" UIDGEN_CLIENT_LIBRARY);
	file = palloc(strlen(info.dli_fname) + sizeof(UIDGEN_CLIENT_LIBRARY));
	strcpy(file, info.dli_fname);
	slash = strrchr(file, '/');
	strcpy(slash + 1, UIDGEN_CLIENT_LIBRARY);
	return file;
}

static UidgenClientFunction
load_file_and_function(const char *file)
{
	volatile UidgenClientFunction function = NULL;
	MemoryContext caller_context = CurrentMemoryContext;

	PG_TRY();
	{
		function = (UidgenClientFunction)
			load_external_function(file, UIDGEN_CLIENT_FUNCTION, true, NULL);
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
						 UIDGEN_CLIENT_LIBRARY)));
	}
	PG_END_TRY();
	return function;
}

static void
load_client(void)
{
	const UidgenClient *loaded;

	if (client)
		return;
	loaded = load_file_and_function(client_file()) ();
	/* The file may have been replaced since the server loaded uidgen. */
	if (strcmp(loaded->version, UIDGEN_VERSION) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the library file \"%s\" is of version %s, but the server runs uidgen of version %s",
						UIDGEN_CLIENT_LIBRARY, loaded->version, UIDGEN_VERSION),
				 errhint("Install both files of one version, and restart the server.")));
	client = loaded;
}

/* ---- for the keeper ---- */

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

static bool
is_connected(void)
{
	return client && client->is_connected();
}

/* What the settings say, and which registry has answered since they do. */
static void
configure(void)
{
	int64		registry_id;
	bool		known = uidgen_node_knows(&uidgen_shared->node, place(), &registry_id);

	client->configure(uidgen_registry, uidgen_registry_timeout);
	client->expect(known ? &registry_id : NULL);
}

static void
connect_registry(void)
{
	load_client();
	configure();
	client->connect();
}

static void
call(const char *function, int nargs, const UidgenArgument *args, const char *activity,
	 UidgenRow *row)
{
	configure();
	client->call(function, nargs, args, row);
}

/* The registry has committed the call. */
static void
commit(void)
{
}

static void
end_failed(void)
{
	if (client)
		client->end_failed();
}

static const char *
host(void)
{
	return client ? client->host() : NULL;
}

static void
reject_host(void)
{
	client->reject_host();
}

static bool
disconnect(void)
{
	client->disconnect();
	return true;
}

static bool
finish(void)
{
	if (!is_connected())
		return false;
	client->finish(FINISH_MS);
	return true;
}

const UidgenLink uidgen_link_remote = {
	.setting = "uidgen.registry",
	.shared = true,
	.in_recovery = in_recovery,
	.is_missing = is_missing,
	.is_here = is_here,
	.target = target,
	.place = place,
	.is_connected = is_connected,
	.connect = connect_registry,
	.host = host,
	.call = call,
	.commit = commit,
	.end_failed = end_failed,
	.reject_host = reject_host,
	.disconnect = disconnect,
	.finish = finish,
};
