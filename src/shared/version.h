/*
 * version.h
 *	  The version of the extension in this database, beside the library's.
 *
 * The two come from different versions of uidgen while one was updated and the other
 * not yet.  Then the extension's functions may have other arguments or columns than
 * the library expects; whoever finds out says which side is the older one.
 */
#ifndef UIDGEN_VERSION_H
#define UIDGEN_VERSION_H

#include "postgres.h"

typedef struct UidgenVersions
{
	char	   *extension;		/* in this database; NULL: there is none */
	int			order;			/* below 0: the extension is older than the library;
								 * above 0: it is newer */
} UidgenVersions;

/* Reads the catalog, so within a transaction. */
extern UidgenVersions uidgen_compare_versions(void);

#endif							/* UIDGEN_VERSION_H */
