/*
 * cache.h
 *	  A session's own cache of positions, for uidgen.cache above 1.
 *
 * It stands between the functions and the generator: an id comes out of the cache, or a
 * new block is taken.  It knows nothing of SQL.
 */
#ifndef UIDGEN_CACHE_H
#define UIDGEN_CACHE_H

#include "postgres.h"

#include "ids/generator.h"

/*
 * One new id out of the cache, with the bits of its tag.  Waits and errors: see
 * uidgen_take().
 */
extern int64 uidgen_cached_id(uint64 tag_bits);

/*
 * Give up what is left of the cache.  To be called before the session takes ids in any
 * other way, since those ids would be larger than what is in the cache.
 */
extern void uidgen_cache_discard(void);

/* One new id, out of the cache if the session has one. */
static inline int64
uidgen_new_id(uint64 tag_bits)
{
	if (unlikely(uidgen_cache_in_use))
		return uidgen_cached_id(tag_bits);
	return uidgen_next_id(tag_bits);
}

#endif							/* UIDGEN_CACHE_H */
