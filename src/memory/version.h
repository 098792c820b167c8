/*
 * version.h
 *	  The version of the extension in this database, beside the library's.
 *
 * They differ while one was updated and the other not yet.  Then the extension's
 * functions may have other arguments or columns than the library expects; the code that
 * finds such a difference says which side is older.
 */
#ifndef UIDGEN_VERSION_H
#define UIDGEN_VERSION_H

#include "postgres.h"

typedef struct UidgenVersions
{
	char	   *extension;		/* in this database; NULL: there is none */
	int			order;			/* below 0: the extension is older than the
								 * library; above 0: it is newer */
} UidgenVersions;

/* These read the catalog, so they must be called within a transaction. */
extern UidgenVersions uidgen_compare_versions(const char *extension);

/* InvalidOid: there is no such extension. */
extern Oid	uidgen_extension_owner(const char *extension);

#endif							/* UIDGEN_VERSION_H */
