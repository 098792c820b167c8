/*
 * uncommitted.h
 *	  What a transaction has made, and the keeper cannot see before it commits.
 *
 * The keeper reads the registry in transactions of its own.  waiting.c asks here when the
 * keeper did not find a segment, so that the error does not tell the caller to create what
 * it has just created.
 */
#ifndef UIDGEN_UNCOMMITTED_H
#define UIDGEN_UNCOMMITTED_H

#include "postgres.h"

/*
 * Has this transaction created the segment of this name, which is in UTF-8?  False also if
 * another session's lock is in the way of looking: nothing here waits, or raises an error
 * that looking could cause.  To be called only where the registry is in this database:
 * see UidgenLink.is_here().
 */
extern bool uidgen_has_created_segment(const char *name);

#endif							/* UIDGEN_UNCOMMITTED_H */
