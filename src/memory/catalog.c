/*
 * catalog.c
 *	  Locks for a look at a catalog that must not wait; and tables of the extension.
 */
#include "postgres.h"

#include "memory/catalog.h"

#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/extension.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

bool
uidgen_lock_catalog(Oid catalog, Oid index)
{
	if (!ConditionalLockRelationOid(catalog, AccessShareLock))
		return false;
	if (ConditionalLockRelationOid(index, AccessShareLock))
		return true;
	UnlockRelationOid(catalog, AccessShareLock);
	return false;
}

void
uidgen_unlock_catalog(Oid catalog, Oid index)
{
	UnlockRelationOid(index, AccessShareLock);
	UnlockRelationOid(catalog, AccessShareLock);
}

/*
 * While the extension is there, schema uidgen is a superuser's, and so is what has a name in it.  The extension's owner can
 * drop it, though, and then make a schema and a table of the same names: these belong to no extension.
 */
Oid
uidgen_find_table(const char *name)
{
	Oid			extension = get_extension_oid("uidgen", true);
	Oid			schema = get_namespace_oid("uidgen", true);
	Oid			table = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	if (!OidIsValid(extension) || !OidIsValid(table) ||
		getExtensionOfObject(RelationRelationId, table) != extension)
		return InvalidOid;
	return table;
}
