/*
 * making.h
 *	  The local registry is made where there is none.
 *
 * It is extension uidgen_registry in the database that uidgen.database names.  A server that issues ids needs nothing else, so
 * its keeper makes it, when it first asks for a worker id.  Each function is called within a transaction of the keeper's.
 */
#ifndef UIDGEN_MAKING_H
#define UIDGEN_MAKING_H

#define UIDGEN_REGISTRY_EXTENSION "uidgen_registry"
#define UIDGEN_REGISTRY_SCHEMA "uidgen_registry"

/* Is it in the database that this process is connected to?  As far as is committed. */
extern bool uidgen_has_registry(void);

/*
 * Error, if it cannot be made there: 55000 the database is a template, has a schema of that name, lacks PL/pgSQL, or is being
 * upgraded.
 */
extern void uidgen_check_makeable(void);

/*
 * Make the registry.  Errors: as uidgen_check_makeable(); its files are missing or of another version (0A000, 22023,
 * 58P01), or another session makes it (42710, 23505, 55P03), both with what to do; whatever CREATE EXTENSION says.
 */
extern void uidgen_make_registry(void);

#endif							/* UIDGEN_MAKING_H */
