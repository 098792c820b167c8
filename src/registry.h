/*
 * registry.h
 *	  The three calls on the registry of worker ids, behind one interface.
 *
 * The registry is a table and three SQL functions on it (see the extension's
 * script).  Today it is local: a database of this cluster, which the keeper
 * connects to.  A registry that many clusters share, reached over libpq, is
 * another implementation of the same calls.
 *
 * Each call is a transaction of its own: when it returns, its effect is
 * committed and flushed.  Failures are raised as errors; the caller ends the
 * transaction with AbortCurrentTransaction().  It knows nothing of the shared
 * memory.
 */
#ifndef UIDGEN_REGISTRY_H
#define UIDGEN_REGISTRY_H

#include "postgres.h"

#include "lease.h"

/* Is there a connection?  The local one can be closed only by exiting. */
extern bool uidgen_registry_connected(void);

/* The database of the registry that we are connected to. */
extern Oid	uidgen_registry_database(void);

/* Connect.  On failure the process ends (FATAL). */
extern void uidgen_registry_connect(void);

/*
 * Acquire a worker id with its first range of ticks.  Errors: 53400 there is
 * none; 55006 the wanted one is another instance's; 55000 the layout is not the
 * registry's, the wanted one lies too far ahead of the clock, or the extension
 * there is of another version; 2200H the time bits are used up; 22023 the epoch is
 * in the future; 42704 the extension is not installed there; and all that a
 * transaction can fail with.
 */
extern void uidgen_registry_acquire(const UidgenRequest *request,
									UidgenGrant *grant);

/*
 * Extend grant->last to beyond the clock and `needed`, with a new token.  False
 * if the row was taken from us: the grant ends where it is.  Error 40001, and
 * nothing is changed, if the wall clock leapt forward since its offset was
 * clock_offset (see uidgen_clock_offset()): a grant up to there must be wanted.
 */
extern bool uidgen_registry_renew(UidgenGrant *grant, int64 needed,
								  int64 window, int64 clock_offset);

/* Hand back what lies above tick `last_issued`, and the worker id. */
extern void uidgen_registry_release(const UidgenGrant *grant,
									int64 last_issued);

#endif							/* UIDGEN_REGISTRY_H */
