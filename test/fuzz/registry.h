/*
 * registry.h
 *	  The registry as a table in memory, for fuzz_lease.c.
 *
 * The rules are those of acquire_worker_id(), renew_worker_id(), release_worker() and
 * forget_worker() in script/registry/20_local.sql and 10_registry.sql, for a local registry (shared is false) and one
 * datacenter, in the order in which they stand there.  Times are in microseconds since
 * the layout's epoch.  Whoever calls undoes what a call that fails has changed.
 */
#ifndef UIDGEN_FUZZ_REGISTRY_H
#define UIDGEN_FUZZ_REGISTRY_H

#include "fuzz.h"
#include "core/lease.h"

/* More than UIDGEN_KNOWN_GRANTS. */
#define WORKERS 80

/* Whose a row is; ours are above these. */
#define NOBODY 0				/* it was forgotten */
#define SOMEBODY 1				/* another instance, or another database of ours */

typedef struct Row
{
	bool		used;			/* there is such a row */
	int			identity;
	int64_t		token;			/* 0: released */
	int64_t		until;			/* granted_until */
	int64_t		modified;
} Row;

typedef struct Registry
{
	uint32_t	database;		/* in which the layout was pinned; 0: not yet */
	Row			rows[WORKERS];
} Registry;

/* The arguments that are not the lease's, and what the server adds. */
typedef struct RegistryCall
{
	uint32_t	database;
	int			identity;
	bool		disposable;
	int			max_worker;
	int64_t		max_tick;
	int64_t		unit;
	int64_t		now;
	int64_t		token;			/* the next one */
	int			random;			/* chooses among the worker ids never used */
} RegistryCall;

typedef enum RegistryAnswer
{
	REGISTRY_GOOD,
	REGISTRY_FENCED,			/* the row was taken */
	REGISTRY_EPOCH,				/* the epoch is in the future */
	REGISTRY_LIFETIME,			/* the time bits are used up */
	REGISTRY_LEAPT,				/* its clock is further than the caller expected */
	REGISTRY_FOREIGN,			/* the worker id belongs to another instance */
	REGISTRY_BEHIND,			/* the clock is behind the worker id's last grant */
	REGISTRY_NONE_FREE
} RegistryAnswer;

static inline int64_t
registry_tick(const RegistryCall *call, int64_t time)
{
	return time / call->unit - (time % call->unit < 0);
}

static int
never_used(const Registry *registry, const RegistryCall *call)
{
	int			count = 0;

	for (int i = 0; i <= call->max_worker; i++)
		count += !registry->rows[i].used;
	return count;
}

/* Which row, or one never used; -1: none. */
static int
choose_worker(const Registry *registry, const RegistryCall *call,
			  const UidgenRequest *request, bool *last_resort)
{
	const Row  *rows = registry->rows;
	int64_t		now = registry_tick(call, call->now);
	int			best = -1;
	int			free = never_used(registry, call);

	*last_resort = false;
	if (!call->disposable)
		for (int i = 0; i <= call->max_worker; i++)
			if (rows[i].used && i != request->avoid && rows[i].identity == call->identity &&
				rows[i].until + 1 - now <= request->max_lead &&
				registry_tick(call, rows[i].modified) - now <= request->max_step &&
				(best < 0 || rows[i].until > rows[best].until))
				best = i;
	if (best < 0 && request->never_used && free > 0)
	{
		int			pick = call->random % free;

		for (best = 0; rows[best].used || pick-- > 0; best++)
			;
	}
	else if (best < 0 && !call->disposable)
	{
		/* Forgotten rows count as released. */
		for (int i = 0; i <= call->max_worker; i++)
			if (rows[i].used && i != request->avoid && rows[i].identity == NOBODY &&
				rows[i].until + 1 - now <= request->max_lead &&
				(best < 0 || rows[i].until < rows[best].until))
				best = i;
		if (best < 0)
		{
			*last_resort = true;
			for (int i = 0; i <= call->max_worker; i++)
				if (rows[i].used && i != request->avoid && rows[i].identity == call->identity &&
					(best < 0 || rows[i].until < rows[best].until))
					best = i;
		}
	}
	return best;
}

static RegistryAnswer
registry_acquire(Registry *registry, const RegistryCall *call,
				 const UidgenRequest *request, UidgenGrant *grant)
{
	int64_t		now = registry_tick(call, call->now);
	bool		last_resort = false;
	int			worker = request->wanted;
	Row		   *row;

	if (registry->database == 0)
		registry->database = call->database;
	if (registry->database != call->database)
	{
		for (int i = 0; i < WORKERS; i++)
			if (registry->rows[i].identity != NOBODY)
				registry->rows[i].identity = SOMEBODY;
		registry->database = call->database;
	}
	if (now < 0)
		return REGISTRY_EPOCH;
	if (worker >= 0)
	{
		row = &registry->rows[worker];
		if (row->used && row->identity != NOBODY && row->identity != call->identity)
			return REGISTRY_FOREIGN;
		if (row->used && row->until + 1 - now > request->max_lead &&
			registry_tick(call, row->modified) - now > request->max_step)
			return REGISTRY_BEHIND;
	}
	else
		worker = choose_worker(registry, call, request, &last_resort);
	if (worker < 0)
		return REGISTRY_NONE_FREE;

	row = &registry->rows[worker];
	*grant = (UidgenGrant) {.worker = worker, .registry = call->database};
	grant->first = now > request->floor ? now : request->floor;
	if (row->used && grant->first <= row->until)
		grant->first = row->until + 1;
	if (grant->first >= call->max_tick)
		return REGISTRY_LIFETIME;
	grant->last = grant->first + request->window;
	if (grant->last > call->max_tick - 1)
		grant->last = call->max_tick - 1;
	grant->seen = row->used ? registry_tick(call, row->modified) : 0;
	grant->never_used = !row->used;
	grant->token = call->token;
	strcpy(grant->reason, last_resort ? "last resort" : "");

	if (!row->used || row->modified < call->now)
		row->modified = call->now;
	row->used = true;
	row->identity = call->identity;
	row->token = call->token;
	row->until = grant->last;
	return REGISTRY_GOOD;
}

static RegistryAnswer
registry_renew(Registry *registry, const RegistryCall *call, UidgenGrant *grant,
			   int64_t needed, int64_t window, int64_t at_most)
{
	Row		   *row = &registry->rows[grant->worker];
	int64_t		from = registry_tick(call, call->now);

	/* A registry without a layout has no rows either. */
	if (registry->database == 0)
		return REGISTRY_FENCED;
	if (from > at_most)
		return REGISTRY_LEAPT;
	if (from < needed)
		from = needed;
	if (from >= call->max_tick)
		return REGISTRY_LIFETIME;
	if (!row->used || row->token != grant->token || row->until != grant->last)
		return REGISTRY_FENCED;
	from += window;
	if (from > call->max_tick - 1)
		from = call->max_tick - 1;
	if (row->until < from)
		row->until = from;
	if (row->modified < call->now)
		row->modified = call->now;
	row->token = grant->token = call->token;
	grant->last = row->until;
	return REGISTRY_GOOD;
}

static RegistryAnswer
registry_release(Registry *registry, const RegistryCall *call, const UidgenGrant *grant,
				 int64_t last_issued)
{
	Row		   *row = &registry->rows[grant->worker];

	if (!row->used || row->token != grant->token)
		return REGISTRY_FENCED;
	row->token = 0;
	if (row->until > last_issued)
		row->until = last_issued;
	if (row->modified < call->now)
		row->modified = call->now;
	return REGISTRY_GOOD;
}

static void
registry_forget(Registry *registry, const RegistryCall *call, int worker)
{
	Row		   *row = &registry->rows[worker];

	row->identity = NOBODY;
	row->token = 0;
	row->modified = call->now;
}

#endif							/* UIDGEN_FUZZ_REGISTRY_H */
