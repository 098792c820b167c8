/*
 * memory.h
 *	  What lies in shared memory, and who owns each part of it.
 *
 * Callers (generator.c) and the keeper (keeper.c) meet here and nowhere else.
 * The memory begins empty at every start of the server and after every crash of
 * a process; what must outlive it is in the registry.
 *
 * No address is in it, so that it may lie at another one in each process.
 */
#ifndef UIDGEN_MEMORY_H
#define UIDGEN_MEMORY_H

#include "core/node.h"
#include "core/ticket.h"
#include "memory/demand.h"
#include "port/atomics.h"
#include "storage/lwlock.h"

typedef struct UidgenMemory
{
	/*
	 * Lock-free; the rules are in ticket.h.  It stands first, on cache lines
	 * of its own.
	 */
	UidgenTicketWords words;

	/*
	 * Demands for a grant, or for one that reaches further than the one in
	 * force.
	 */
	UidgenDemand grant_demand;

	/*
	 * The demand to leave the local registry, from which the grant in force
	 * is, for a fleet's.
	 */
	UidgenDemand move_demand;

	pg_atomic_uint64 wasted;	/* positions that sessions took and discarded */

	/*
	 * Process id of the keeper that owns the slot, or 0.  The slot is taken
	 * by compare-exchange, so that there are never two keepers.  The rules of
	 * its succession are in succession.h.
	 */
	pg_atomic_uint32 keeper_pid;

	/*
	 * `lock` protects everything below.  The keeper alone writes it, and so
	 * may read it without the lock; others take it shared.
	 */
	LWLock		lock;
	UidgenProcess keeper;		/* whose latch is set to wake it; none: there
								 * is no keeper now */
	bool		keeper_ran;		/* a keeper has started since the memory was
								 * made */

	/* These are written by the successor, too. */
	bool		successor_awaited;	/* the keeper has called a successor */
	uint32		successor_pid;	/* of the one that has come, or 0 */
	UidgenProcess successor;	/* the same; none has come, or that one */

	UidgenLease lease;
	uint64		served_place;	/* where the last attempt for a grant that
								 * succeeded went: UidgenLink.place() */
	bool		local_recalled; /* the lease knows what the local registry
								 * granted before the server started */
	UidgenNode	node;			/* as a node of a fleet */
	UidgenGrant unused;			/* a grant of a shared registry that was
								 * acquired, and never published */
	char		registry_host[64];	/* the host of the registry that answered
									 * last; empty: none, or it is local */

	/* Counters for uidgen.status. */
	int64		renewals;
	int64		clock_steps;
} UidgenMemory;

/* NULL if uidgen is not preloaded. */
extern UidgenMemory *uidgen_memory;

/* The words in uidgen_memory or, if uidgen is not preloaded, words of the process's own in which
 * no era has begun. */
extern UidgenTicketWords *uidgen_server_words;

/*
 * The gate, through which this transaction takes positions at once: the server's words, once
 * generator.c has admitted it, and until then words in which no era has begun.  The fast path finds no
 * grant there and goes the slow way, so that it needs no test of its own for what comes before the first
 * id of a process, or of a transaction.
 */
extern UidgenTicketWords *uidgen_words;

/* The next call goes the slow way. */
extern void uidgen_shut_gate(void);

/* Ask for the shared memory.  At preload only. */
extern void uidgen_request_shmem(void);

#endif							/* UIDGEN_MEMORY_H */
