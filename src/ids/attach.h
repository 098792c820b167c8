/*
 * attach.h
 *	  Attaches this process to the server's generator, before it draws.
 *
 * Where the library is preloaded, every process is attached from the start.  Otherwise the first one that
 * draws makes the memory and has a keeper started; that one pins the settings, and all who wait take them
 * over.  Whoever only looks uses memory/attachment.h.
 */
#ifndef UIDGEN_ATTACH_H
#define UIDGEN_ATTACH_H

#include "core/layout.h"
#include "memory/guc.h"
#include "memory/memory.h"

/*
 * Attach a process that uidgen_look() has found unattached; so long it waits for the keeper.  False: see
 * *failure.
 */
extern bool uidgen_try_attach(int milliseconds, UidgenFailure *failure);

extern void uidgen_attach_slowly(void);

/*
 * Returns the server's layout.  Errors: those of uidgen_report_attachment(); 53000 the server has no worker
 * slot for a keeper; 55000 the keeper does not begin, or single-user mode; 25006 recovery; and those of the
 * server, if there is no room for the memory.
 */
static inline const UidgenLayout *
uidgen_attach(void)
{
	if (unlikely(!uidgen_attached))
		uidgen_attach_slowly();
	return &uidgen_layout;
}

#endif							/* UIDGEN_ATTACH_H */
