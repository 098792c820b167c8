/*
 * segment_slots.h
 *	  The segments that callers of this server draw numbers of, by name.
 *
 * A segment is a counter of the registry; ranges of its numbers lie in a slot of shared
 * memory, which is one of uidgen.max_segments.  The first caller that names a segment
 * takes a slot for it.  Whether the registry has such a segment is for the keeper to find;
 * until then, and while there is none, the slot has no numbers.
 *
 * Callers (segment_numbers.c) draw from a slot by the rules of core/segment.h, and the keeper
 * (keeper/segment_fetch.c) fills it.  What becomes of a demand for more is in a UidgenDemand for
 * each slot, so that a segment that fails stops no other one.
 */
#ifndef UIDGEN_SEGMENT_SLOTS_H
#define UIDGEN_SEGMENT_SLOTS_H

#include "core/segment.h"
#include "core/segment_supply.h"
#include "memory/demand.h"

/* Of a name, in UTF-8: the registry takes up to 63 bytes. */
#define UIDGEN_SEGMENT_NAME_SIZE 64

typedef struct UidgenSegmentSlot
{
	/* Lock-free; the rules are in core/segment.h. */
	UidgenSegmentWords words;

	/* Demands for more numbers. */
	UidgenDemand demand;

	pg_atomic_uint64 skipped;	/* numbers that calls have left for nobody */

	/*
	 * &uidgen_memory->lock protects what follows.  A slot gets another
	 * segment only while the lock is held exclusively and no attempt is under
	 * way for it; so the keeper may read it without the lock during an
	 * attempt.
	 */
	char		name[UIDGEN_SEGMENT_NAME_SIZE]; /* UTF-8 */
	uint64		segment;		/* as in the words: no two are the same while
								 * the memory lives */
	UidgenSupply supply;		/* the keeper alone changes it */
	bool		there;			/* the registry has said that there is such a
								 * segment; likewise */
} UidgenSegmentSlot;

/* The shared memory that is needed; and its use, with `make` of zeros for the first time.  It begins on
 * a cache line. */
extern Size uidgen_segments_size(void);
extern void uidgen_segments_use(char *memory, bool make);

/*
 * The slot of the segment of this name, and the segment's number.  Takes a slot if it has
 * none.  NULL: there is no free slot.
 */
extern UidgenSegmentSlot *uidgen_segments_find(const char *name, uint64 *segment);

/* How many slots were ever taken, and the i-th of them.  None as long as this process has no slots. */
extern int	uidgen_segments_used(void);
extern UidgenSegmentSlot *uidgen_segments_slot(int i);

/* A name in ASCII, where nothing is known of the reader's encoding: bytes of other characters
 * become question marks.  Allocated. */
extern char *uidgen_segments_plain_name(const char *name);

#endif							/* UIDGEN_SEGMENT_SLOTS_H */
