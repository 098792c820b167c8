/*
 * local_registry.h
 *	  The calls on a local registry of worker ids.
 *
 * The registry is a table and SQL functions on it (script/registry), in a place that a link reaches (link.h).  Where there
 * is none, acquiring makes it; but if this server was granted something there since it started, it is an error.  This file knows their arguments and answers.  Each
 * field of an answer is checked before the call is committed.
 *
 * When a call returns, its effect is committed and flushed.  After an error, it may be
 * committed or not.  A grant that was made then is lost, and the next one begins above it.
 */
#ifndef UIDGEN_LOCAL_REGISTRY_H
#define UIDGEN_LOCAL_REGISTRY_H

#include "postgres.h"

#include "core/attempt.h"
#include "link/link.h"

/*
 * Make a call.  It acquires a worker id with its first range of ticks, or hands back what was not issued.  Or it
 * extends a grant to beyond the registry's clock and call->needed.
 *
 * Errors: 53400 there is no worker id; 55006 the wanted one is another instance's; 55000 the layout
 * is not the registry's, the wanted one lies too far ahead of the clock, or the registry's extension
 * is of another version; 40001, with nothing changed, a renewal where the registry's clock shows a
 * tick beyond at_most; 2200H the time bits are used up; 22023 the epoch is in the
 * future; 42704 the registry's database has no registry (of other calls than an acquisition); 08P01 the answer makes no
 * sense; and the errors of the link.
 */
extern void uidgen_local_call(const UidgenLink *link, const UidgenCall *call,
							  UidgenReply *reply);

/* Make the first call of an attempt and roll it back.  Errors: as uidgen_local_call(). */
extern void uidgen_local_rehearse(const UidgenLink *link, const UidgenCall *call);

/*
 * What was granted: worker ids and their ends, the highest ones, at most n.  Returns how many
 * were written to the arrays.
 */
extern int	uidgen_local_grants(const UidgenLink *link, int n, int64 *workers, int64 *ends);

#endif							/* UIDGEN_LOCAL_REGISTRY_H */
