/*
 * uidgen.c
 *	  What happens when the library is loaded.
 *
 * If it is preloaded, it defines the settings, asks for shared memory and registers the
 * keeper, in that order, since each step needs the one before; it also installs the hook
 * that notices COPY FROM.  If it is loaded later, it only decodes: to define a setting
 * that is fixed at server start would end the session then, so it defines none.
 *
 * A process can have two copies of the library, if the extension's functions name another
 * file than the one that was preloaded.  The second copy is loaded later, so it defines
 * nothing twice.  And it never sees the memory of the first, which may have another
 * shape: only the copy that made the memory has its address, which processes inherit.
 */
#include "postgres.h"

#include "compat.h"
#include "functions/copy.h"
#include "ids/holding.h"
#include "keeper/keeper.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "miscadmin.h"

UIDGEN_MODULE_MAGIC("uidgen");

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	uidgen_define_settings();
	uidgen_request_shmem();
	uidgen_register_holding();
	uidgen_install_copy_hook();
	/* With a bad setting nothing may be granted, so no keeper is needed. */
	if (uidgen_settings_good())
		uidgen_register_keeper();
}
