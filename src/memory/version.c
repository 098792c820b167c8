/*
 * version.c
 *	  The version of the extension in this database, beside the library's.
 */
#include "postgres.h"

#include "memory/version.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

/* The version of an extension in this database, and its owner; NULL and InvalidOid: it is not installed. */
static char *
read_extension(const char *extension, Oid *owner)
{
	Relation	catalog = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *version = NULL;

	*owner = InvalidOid;
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(extension));
	scan = systable_beginscan(catalog, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, Anum_pg_extension_extversion,
										 RelationGetDescr(catalog), &isnull);

		if (!isnull)
			version = TextDatumGetCString(value);
		*owner = ((Form_pg_extension) GETSTRUCT(tuple))->extowner;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return version;
}

Oid
uidgen_extension_owner(const char *extension)
{
	Oid			owner;

	(void) read_extension(extension, &owner);
	return owner;
}

/* Compare versions number by number, so that 0.10.0 is newer than 0.9.0; a missing number
 * is 0. */
static int
compare(const char *a, const char *b)
{
	while (*a || *b)
	{
		char	   *a_end;
		char	   *b_end;
		unsigned long a_number = strtoul(a, &a_end, 10);
		unsigned long b_number = strtoul(b, &b_end, 10);

		if (a_number != b_number)
			return a_number < b_number ? -1 : 1;
		/* Pass over the character after the number, whatever it is. */
		a = *a_end ? a_end + 1 : a_end;
		b = *b_end ? b_end + 1 : b_end;
	}
	return 0;
}

UidgenVersions
uidgen_compare_versions(const char *extension)
{
	Oid			owner;
	UidgenVersions versions = {.extension = read_extension(extension, &owner)};

	if (versions.extension)
		versions.order = compare(versions.extension, UIDGEN_VERSION);
	return versions;
}
