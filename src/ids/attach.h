/*
 * attach.h
 *	  Attaches this process to the server's generator, before it draws.
 *
 * Where the library is preloaded, every process is attached from the start.  Otherwise the first one that
 * draws makes the memory and has a keeper started.  The keeper goes by the settings of the configuration, as
 * they are after each reload, until it has a first grant: that pins them, and all who wait take them over.  So
 * where the first calls are refused, a setting that is corrected counts at once.  Numbers of segments, the
 * horizon and ids of the past need no grant, but memory whose size rests on the settings: whoever asks for
 * these has them pinned.  Whoever only looks uses memory/attachment.h.
 */
#ifndef UIDGEN_ATTACH_H
#define UIDGEN_ATTACH_H

#include "core/layout.h"
#include "memory/guc.h"
#include "memory/memory.h"

extern void uidgen_attach_slowly(bool draws);

/*
 * Returns the server's layout.  Errors: as uidgen_report_attachment(); 53000 the server has no worker slot for a
 * keeper; 55000 the keeper does not begin, or single-user mode; 25006 recovery; and the server's own, if there is no
 * room for the memory.
 */
static inline const UidgenLayout *
uidgen_attach(void)
{
	if (unlikely(!uidgen_attached))
		uidgen_attach_slowly(false);
	return &uidgen_layout;
}

/* uidgen_attach() for a call that draws ids, and needs a grant in any case.  Errors: as uidgen_wait_for_grant(), too. */
static inline const UidgenLayout *
uidgen_attach_to_draw(void)
{
	if (unlikely(!uidgen_attached))
		uidgen_attach_slowly(true);
	return &uidgen_layout;
}

/* How long a diagnosis waits for the keeper, in milliseconds, whatever wait_timeout is: longer than the
 * keeper waits for a lock. */
#define UIDGEN_PROBE_MS 2000

/*
 * Make the keeper try to get a grant, or to renew it, and wait for that for at most two
 * seconds.  With `rehearse` it only finds out whether it would get one: nothing is granted, and nothing is
 * pinned.  True if it gets one; otherwise *failure says why not.  For diagnosis: raises no error.
 */
extern bool uidgen_probe_grant(bool rehearse, UidgenFailure *failure);

/*
 * Was this session given a layout that does not count, by ALTER DATABASE or the like, while none is pinned?  Ids of another
 * one than was meant would pin that, and a layout cannot be changed later.  Then *failure says so.
 */
extern bool uidgen_layout_is_misplaced(UidgenFailure *failure);

#endif							/* UIDGEN_ATTACH_H */
