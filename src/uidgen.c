/*
 * uidgen.c
 *	  What happens when the library is loaded.
 *
 * If it is preloaded, it defines the settings, then asks for shared memory, then registers the keeper: each step
 * needs the step before.  Loaded later, it defines the settings, and the rest comes when it is needed
 * (memory/attachment.h); before PostgreSQL 17 that cannot be, so there it only decodes.  In both cases it installs
 * the hooks that notice COPY FROM and the end of the registry.
 *
 * A process can have two copies of the library, if the extension's functions name another
 * file than the one that was loaded first.  The second copy finds the settings defined, and
 * does nothing; so there are never two generators in one server.
 */
#include "postgres.h"

#include "compat.h"
#include "functions/copy.h"
#include "functions/drop.h"
#include "ids/horizon_hold.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "memory/worker.h"
#include "miscadmin.h"

UIDGEN_MODULE_MAGIC("uidgen");

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	bool		preload = process_shared_preload_libraries_in_progress;

	if (!preload && (!UIDGEN_CAN_ATTACH || uidgen_settings_of_another()))
		return;
	uidgen_define_settings();
	if (preload)
		uidgen_request_shmem();
	uidgen_register_holding();
	uidgen_install_copy_hook();
	uidgen_install_drop_hook();
	/* With a bad setting nothing may be granted, so no keeper is needed. */
	if (preload && !uidgen_checked_settings()->bad_setting[0])
		uidgen_register_keeper();
}
