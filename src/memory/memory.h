/*
 * memory.h
 *	  What lies in shared memory, who owns each part of it, and how it is made.
 *
 * Callers (generator.c) and the keeper (keeper.c) meet here and nowhere else.
 * The memory begins empty at every start of the server and after every crash of
 * a process; what must outlive it is in the registry.
 *
 * If the library is preloaded, the postmaster makes the memory, and every process has it.  Otherwise
 * (PostgreSQL 17 and later) the first process that needs it makes it, and others find it by its name:
 * attachment.h says when.  Then two processes may have loaded different versions of the library, so the
 * memory says its shape first.  It has two parts, because the size of the second one is known only when
 * the settings are pinned.
 *
 * No address is in it, so that it may lie at another one in each process.
 */
#ifndef UIDGEN_MEMORY_H
#define UIDGEN_MEMORY_H

#include "compat.h"
#include "core/node.h"
#include "core/ticket.h"
#include "datatype/timestamp.h"
#include "memory/demand.h"
#include "memory/guc.h"
#include "port/atomics.h"
#include "storage/lwlock.h"

/*
 * What a process compares before it reads anything else.  This struct is the same in all versions of the
 * library, for ever.
 */
typedef struct UidgenMemoryHead
{
	uint64		shape;			/* number of what follows; 0: not made yet */
	char		version[24];	/* the library's that made it */
	pg_atomic_uint32 other_versions;	/* keepers that came with another
										 * shape */
	char		pad[UIDGEN_TICKET_LINE - sizeof(uint64) - 24 - sizeof(pg_atomic_uint32)];
} UidgenMemoryHead;

/* Are the settings pinned? */
typedef enum UidgenPinState
{
	UIDGEN_UNPINNED = 0,		/* a changed setting counts after a reload */
	UIDGEN_PINNED,				/* for good; the second part is there */
	UIDGEN_UNFIT				/* a setting is bad, until a keeper finds
								 * otherwise */
} UidgenPinState;

typedef struct UidgenMemory
{
	UidgenMemoryHead head;

	/*
	 * Lock-free; the rules are in ticket.h.  On cache lines of their own.
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

	/* Demands to find out whether there would be a grant, without one. */
	UidgenDemand rehearsal_demand;

	/*
	 * Where the library is not preloaded: somebody waits for the settings to
	 * be pinned who draws no id.
	 */
	pg_atomic_uint32 pin_wanted;

	pg_atomic_uint64 wasted;	/* positions passed over or discarded */

	/*
	 * Process id of the keeper that owns the slot, or 0.  The slot is taken
	 * by compare-exchange, so that there are never two keepers.  The rules of
	 * its succession are in succession.h.
	 */
	pg_atomic_uint32 keeper_pid;

	/*
	 * Where the library is not preloaded: when a process called for a keeper
	 * last, in microseconds of the monotonic clock.
	 */
	pg_atomic_uint64 called_at;
	pg_atomic_uint32 calls;		/* since a keeper was seen last */

	int			tranche;		/* all locks here are in it */

	/*
	 * `lock` protects everything below.  The keeper alone writes it, and so
	 * may read it without the lock; others take it shared.
	 */
	LWLock		lock;
	UidgenProcess keeper;		/* callers set its latch; none: there is no
								 * keeper now */
	bool		keeper_ran;		/* a keeper has started since the memory was
								 * made */

	/* These are written by the successor, too. */
	bool		successor_awaited;	/* the keeper has called a successor */
	uint32		successor_pid;	/* the process that has come, or 0 */
	UidgenProcess successor;	/* its process; none: it has not come */

	/*
	 * What this server goes by.  The keeper writes it or, at preload, the
	 * postmaster.
	 */
	UidgenPinState pin_state;
	UidgenPinned pinned;
	TimestampTz checked_reload; /* PgReloadTime of the keeper that checked the
								 * settings last */
	uint64		settings_checks;	/* how many keepers have checked */
	UidgenServerSettings settings;	/* settings that may change, as the keeper
									 * has them */
	uint64		settings_changes;	/* how often that was written */
	char		pending[UIDGEN_NAMES_SIZE]; /* see uidgen_pending_settings() */

	UidgenLease lease;
	uint64		served_place;	/* where the last attempt for a grant that
								 * succeeded went: UidgenLink.place() */
	bool		local_recalled; /* the lease knows what the local registry
								 * granted before the server started */
	UidgenNode	node;			/* as a node of a fleet */
	UidgenGrant unused;			/* a grant of a fleet's registry that was
								 * acquired, and never published */
	char		registry_host[64];	/* the host of the registry that answered
									 * last; empty: none, or it is local */
	char		stranger[400];	/* uidgen_find_strange_trigger() of the local
								 * registry; empty: none */

	/* Counters for uidgen.status. */
	int64		renewals;
	int64		clock_steps;
} UidgenMemory;

/* NULL: this process has not mapped it, or cannot have it. */
extern UidgenMemory *uidgen_memory;

/* Was the library preloaded? */
extern bool uidgen_preloaded;

/*
 * This process has mapped both parts, and goes by what is pinned.  Callers may draw, and may use whatever
 * follows from the settings, only then.
 */
extern bool uidgen_attached;

/* The words in uidgen_memory or, as long as that is NULL, words of the process's own in which
 * no era has begun. */
extern uidgen_hidden UidgenTicketWords *uidgen_server_words;

/*
 * The gate, through which this transaction takes positions at once: the server's words, once
 * generator.c has admitted it, and until then words in which no era has begun.  The fast path finds no grant there
 * and goes the slow way.  So it needs no other test for what comes before the first id of a process, or of a
 * transaction.
 */
extern uidgen_hidden UidgenTicketWords *uidgen_words;

/* The next call goes the slow way. */
extern void uidgen_shut_gate(void);

/* Ask for the shared memory, and pin the settings in it.  At preload only. */
extern void uidgen_request_shmem(void);

/* Where it was not preloaded: has somebody made the first part?  Allocates. */
extern bool uidgen_memory_is_made(void);

/*
 * Map the first part, and make it if nobody has.  False: another version of the library has made it, in another
 * shape; uidgen_other_head() tells which version.  Errors: the server's, if there is no room for it.
 */
extern bool uidgen_map_memory(void);
extern UidgenMemoryHead *uidgen_other_head(void);

/* Map the second part, with room for what is pinned, and with `make` make it.  Errors: likewise. */
extern void uidgen_map_slots(bool make);

#endif							/* UIDGEN_MEMORY_H */
