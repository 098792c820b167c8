/*
 * catalog.h
 *	  Locks for a look at a catalog that must not wait; and tables of the extension.
 *
 * Another session may lock a catalog for as long as its transaction lasts, but a call of
 * uid_next() may wait no longer than uidgen.wait_timeout.
 */
#ifndef UIDGEN_CATALOG_H
#define UIDGEN_CATALOG_H

#include "postgres.h"

/*
 * Lock a catalog, and the index by which it is read, for reading.  False if another
 * session's lock forbids that; then the caller has to do without the catalog.
 */
extern bool uidgen_lock_catalog(Oid catalog, Oid index);

/* Unlock both.  Not needed if an error follows, since that ends the locks. */
extern void uidgen_unlock_catalog(Oid catalog, Oid index);

/*
 * The extension's table of this name in this database; InvalidOid: there is none.  The caller
 * has the locks that it takes to look.
 */
extern Oid	uidgen_find_table(const char *name);

#endif							/* UIDGEN_CATALOG_H */
