/*
 * generator.h
 *	  Takes positions out of the server's grant, waiting where it must.
 *
 * The callers' side of the shared memory.  The fast path is for the case that a grant is
 * in force and the clock agrees with it; all other cases (no preload, no grant yet, a
 * clock that was set back) go through one slow path that waits or raises an error.
 * It knows nothing of SQL.
 */
#ifndef UIDGEN_GENERATOR_H
#define UIDGEN_GENERATOR_H

#include "core/layout.h"
#include "memory/guc.h"
#include "memory/memory.h"

/* Positions of one grant. */
typedef struct UidgenBlock
{
	UidgenPosition first;
	uint64		constant;		/* bits of datacenter and worker in an id */
} UidgenBlock;

/*
 * Take n positions (at least 1, at most the capacity of a tick).  Waits for a grant or the
 * clock, at most uidgen.wait_timeout.
 *
 * Errors: 55000 not preloaded, the database has ids of another layout, no grant, or too far
 * ahead of the clock; 22023 bad settings; 25006 in recovery; 53400 no worker id left; 55006
 * the worker id belongs to another instance; 2200H the time bits are used up.
 */
extern void uidgen_take(uint64 n, UidgenTicketKind kind, UidgenBlock *block);

/* One new id, with the bits of its tag.  Waits and errors: see uidgen_take(). */
extern int64 uidgen_next_id(uint64 tag_bits);

/* The id at the i-th position of a block; tag_bits from uidgen_layout_put(). */
static inline int64
uidgen_block_id(const UidgenBlock *block, uint64 i, uint64 tag_bits)
{
	int64		id = uidgen_layout_place(&uidgen_layout, block->first + i,
										 block->constant | tag_bits);

	/* Every bit of an id belongs to one field, and none is the sign. */
	Assert(id >= 0 && uidgen_layout_fits(&uidgen_layout, id));
	Assert((block->constant & tag_bits) == 0);
	Assert(((uint64) id ^ block->constant ^ tag_bits) ==
		   (uint64) uidgen_layout_place(&uidgen_layout, block->first + i, 0));
	return id;
}

/* Is a grant in force, of the registry that the settings name now, after an attempt that
 * succeeded? */
extern bool uidgen_has_sound_grant(void);

#endif							/* UIDGEN_GENERATOR_H */
