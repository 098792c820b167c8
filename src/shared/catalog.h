/*
 * catalog.h
 *	  Locks for a look at a catalog that must not wait.
 *
 * Somebody may hold a lock on a catalog for as long as a transaction lasts, whereas a
 * call waits for uidgen.wait_timeout at most.
 */
#ifndef UIDGEN_CATALOG_H
#define UIDGEN_CATALOG_H

#include "postgres.h"

/*
 * Lock a catalog, and the index by which it is read, for reading.  False if somebody
 * holds a lock against that: what the catalog would tell is left open then.
 */
extern bool uidgen_lock_catalog(Oid catalog, Oid index);

/* Needed only where no error follows, which would end the locks. */
extern void uidgen_unlock_catalog(Oid catalog, Oid index);

#endif							/* UIDGEN_CATALOG_H */
