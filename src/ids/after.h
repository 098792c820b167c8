/*
 * after.h
 *	  An id that is greater than a given one, which another server may have issued.
 */
#ifndef UIDGEN_AFTER_H
#define UIDGEN_AFTER_H

#include "postgres.h"

/*
 * One new id above `after`, with the bits of its tag.  The process is attached, and the layout has room for `after`.
 *
 * Waits until this server's own ids are above it, at most uidgen.wait_timeout; and besides as uidgen_take() does.
 * Errors: 22023 that would take longer; and the errors of uidgen_take().
 */
extern int64 uidgen_next_after(int64 after, uint64 tag_bits);

#endif							/* UIDGEN_AFTER_H */
