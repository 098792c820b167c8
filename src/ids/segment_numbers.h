/*
 * segment_numbers.h
 *	  Takes numbers of a segment, waiting where it must.
 *
 * The callers' side of the slots in shared memory (memory/segment_slots.h), as generator.h is the grant's.  A call
 * site looks a name up once, and then draws from the slot that it found, until the slot belongs to another segment.
 */
#ifndef UIDGEN_SEGMENT_NUMBERS_H
#define UIDGEN_SEGMENT_NUMBERS_H

#include "core/segment.h"
#include "memory/segment_slots.h"

/* A segment, as a call site knows it. */
typedef struct UidgenNumbers
{
	char		name[UIDGEN_SEGMENT_NAME_SIZE]; /* UTF-8 */
	UidgenSegmentSlot *slot;
	uint64		segment;		/* the slot's number when it was looked up */
} UidgenNumbers;

/*
 * Look a segment up by its name, which has `length` bytes in the database's encoding.  Errors: 55000
 * not preloaded; 22023 bad settings; 42602 the name is empty, 42622 it is too long; 22021 or
 * 22P05 it has no counterpart in UTF-8; 53400 there are too many segments.
 */
extern void uidgen_find_numbers(UidgenNumbers *numbers, const char *name, int length);

/*
 * Take n numbers (at least 1), the first of which is returned: consecutive ones or, with
 * UIDGEN_SEGMENT_REST, at most n, where *count says how many.  Waits for the keeper, at most
 * uidgen.wait_timeout.
 *
 * Errors: as uidgen_wait_for_keeper(); 53400 as above; 22003 no range of the segment is so long.
 */
extern int64 uidgen_take_numbers(UidgenNumbers *numbers, uint64 n, UidgenSegmentKind kind,
								 uint64 *count);

/* One number.  Waits and errors: as above. */
extern int64 uidgen_next_number(UidgenNumbers *numbers);

#endif							/* UIDGEN_SEGMENT_NUMBERS_H */
