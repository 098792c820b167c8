/*
 * drop.c
 *	  Warns when the registry in use is dropped: see drop.h.
 *
 * A hook, since neither the script nor a trigger of an extension hears of the end of the extension, which a DROP
 * SCHEMA ... CASCADE may bring as well.  It is called before anything is deleted, and only where the library
 * is loaded: without the preload that is a session which has used the extension.
 */
#include "postgres.h"

#include "functions/drop.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "link/link.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "miscadmin.h"

static object_access_hook_type prev_object_access_hook = NULL;

/* Has this server a grant from a registry that is in this database? */
static bool
registry_is_in_use(void)
{
	bool		held;

	if (!uidgen_attached || uidgen_link()->fleet || get_database_oid(uidgen_database, true) != MyDatabaseId)
		return false;
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	held = uidgen_memory->lease.held;
	LWLockRelease(&uidgen_memory->lock);
	return held;
}

static void
notice_drop(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, class, object, part, arg);
	if (access != OAT_DROP || class != ExtensionRelationId)
		return;
	if (object == get_extension_oid("uidgen_registry", true) && registry_is_in_use())
		ereport(WARNING,
				(errmsg("the registry of worker ids goes, from which this server issues ids"),
				 errdetail("With it goes what was granted: a registry that is made anew may grant the same once the server has been restarted."),
				 errhint("To keep it, roll back. \"A registry that is lost\" in docs/operations.md says what to do otherwise.")));
}

void
uidgen_install_drop_hook(void)
{
	prev_object_access_hook = object_access_hook;
	object_access_hook = notice_drop;
}
