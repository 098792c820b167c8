/*
 * drop.c
 *	  Warns when the registry in use is dropped, and keeps the extensions from being dropped under their own calls: see drop.h.
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
#include "functions/confined.h"
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

/*
 * The rest of a call of uidgen_tools would find what the owner of the database has put in the place of the two extensions, and run
 * that out of the confinement.  Other sessions are kept from it by a lock (uidgen_tools.hold_extensions()).
 */
static void
refuse_drop(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("extensions uidgen and uidgen_tools cannot be dropped by a table's own code while they work on it"),
			 errdetail("What the owner of the database could put in their place would act on the session of the role that has logged in."),
			 errhint("Drop the extension in a statement of its own, which no trigger or function of a table runs.")));
}

static void
notice_drop(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (prev_object_access_hook)
		prev_object_access_hook(access, class, object, part, arg);
	if (access != OAT_DROP || class != ExtensionRelationId)
		return;
	if (uidgen_is_confining() &&
		(object == get_extension_oid("uidgen", true) || object == get_extension_oid("uidgen_tools", true)))
		refuse_drop();
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
