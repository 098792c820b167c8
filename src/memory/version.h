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

/* Reads the catalog, so it must be called within a transaction. */
extern UidgenVersions uidgen_compare_versions(void);

#endif							/* UIDGEN_VERSION_H */
