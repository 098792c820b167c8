/*
 * uidgen.c
 *	  What happens when the library is loaded.
 *
 * Preloaded, it defines the settings, asks for shared memory and has the keeper
 * run, in that order, as each needs the one before.  Loaded later, it only
 * decodes: a setting that is fixed at server start cannot be defined then (that
 * ends the session), so none is.
 *
 * A process can have two copies of the library, if the calls of the extension lead to
 * another file than the one that was preloaded.  The second one is loaded later, so it
 * defines nothing twice, and never sees the memory of the first, which may have
 * another shape: the memory is found when it is made, and inherited.
 */
#include "postgres.h"

#include "compat.h"
#include "keeper/keeper.h"
#include "miscadmin.h"
#include "shared/guc.h"
#include "shared/shmem.h"

UIDGEN_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	uidgen_define_settings();
	uidgen_request_shmem();
	/* With a bad setting nothing may be granted, so the registry is left alone. */
	if (uidgen_settings_good())
		uidgen_register_keeper();
}
