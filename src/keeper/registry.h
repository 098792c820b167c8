/*
 * registry.h
 *	  The three calls on the registry of worker ids.
 *
 * The registry is a table and SQL functions on it (see the extension's script), in a
 * place that a link reaches (link.h).  Here is what they are called with and what they
 * answer: each field of an answer is checked before it is used, since the registry may
 * be of another version, or not as it was installed.
 *
 * When a call returns, its effect is committed and flushed.  After an error it may be:
 * what was granted then is lost, and the next grant begins above it.
 */
#ifndef UIDGEN_REGISTRY_H
#define UIDGEN_REGISTRY_H

#include "postgres.h"

#include "core/lease.h"

/*
 * Acquire a worker id with its first range of ticks.  Errors: 53400 there is
 * none; 55006 the wanted one is another instance's; 55000 the layout is not the
 * registry's, the wanted one lies too far ahead of the clock, or the extension
 * there is of another version; 2200H the time bits are used up; 22023 the epoch is
 * in the future; 42704 the extension is not installed there; 08P01 the answer makes
 * no sense; and all that a link can fail with.
 */
extern void uidgen_registry_acquire(const UidgenRequest *request,
									UidgenGrant *grant);

/*
 * Extend grant->last to beyond the registry's clock and `needed`, with a new token.
 * False if the row was taken from us: the grant ends where it is.  Errors: 40001, and
 * nothing is changed, if that clock shows a tick beyond at_most; and as above.
 */
extern bool uidgen_registry_renew(UidgenGrant *grant, UidgenTick needed,
								  UidgenTick window, UidgenTick at_most);

/* Hand back what lies above tick `last_issued`, and the worker id. */
extern void uidgen_registry_release(const UidgenGrant *grant,
									UidgenTick last_issued);

#endif							/* UIDGEN_REGISTRY_H */
