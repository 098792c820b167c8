/*
 * catalog.c
 *	  Locks for a look at a catalog that must not wait.
 */
#include "postgres.h"

#include "memory/catalog.h"

#include "storage/lmgr.h"

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
