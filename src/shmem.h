/*
 * shmem.h
 *	  What lies in shared memory, and who owns each part of it.
 *
 * Callers (generator.c) and the keeper (keeper.c) meet here and nowhere else.
 * The memory begins empty at every start of the server and after every crash of
 * a process; all that must outlive it is in the registry.
 */
#ifndef UIDGEN_SHMEM_H
#define UIDGEN_SHMEM_H

#include "lease.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "ticket.h"

/* Why the keeper's last attempt failed.  The detail may name hosts and ports: it is
 * for members of pg_monitor only. */
typedef struct UidgenFailure
{
	int			sqlerrcode;		/* 0: it did not */
	char		message[256];
	char		detail[512];
	char		hint[256];
} UidgenFailure;

typedef struct UidgenShared
{
	/* Lock-free; the rules are in ticket.h.  First, on cache lines of its own. */
	UidgenTicketWords words;

	/*
	 * Demand.  A caller that needs a grant takes the next number of `demanded`
	 * and sets the keeper's latch; the keeper notes the number before an attempt
	 * and writes it to `served` after.  So a caller knows whether an attempt
	 * that began after its demand has ended.  `changed` is broadcast after each
	 * attempt.
	 */
	pg_atomic_uint64 demanded;
	pg_atomic_uint64 served;
	ConditionVariable changed;

	pg_atomic_uint64 waits;		/* times that a call had to wait */
	pg_atomic_uint64 wasted;	/* positions that sessions took and discarded */

	/* Process id of the keeper that owns the slot, or 0: taken by compare and
	 * exchange, so that two keepers can never work on one position. */
	pg_atomic_uint32 keeper_pid;

	/*
	 * `lock` protects everything below.  The keeper alone writes it, and so may
	 * read it without the lock; others take it shared.
	 */
	LWLock	   *lock;
	Latch	   *keeper_latch;	/* NULL: there is no keeper now */
	bool		keeper_ran;		/* a keeper has started in this memory */

	UidgenLease lease;

	UidgenFailure failure;		/* of the last attempt */
	int			failures_in_row;
	int64		retry_at;		/* monotonic clock: no attempt before */
	bool		attempting;		/* an attempt is under way or was broken off */
	uint64		attempt_demand; /* the demand that it serves */

	/* Counters for uidgen.status. */
	int64		renewals;
	int64		failures;
	int64		clock_steps;
} UidgenShared;

/* NULL unless preloaded. */
extern UidgenShared *uidgen_shared;

/* The words in it; without it, words in which no era has begun, so that the fast
 * path need not ask for the preload. */
extern UidgenTicketWords *uidgen_words;

/* Ask for the shared memory.  At preload only. */
extern void uidgen_request_shmem(void);

#endif							/* UIDGEN_SHMEM_H */
