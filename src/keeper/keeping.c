/*
 * keeping.c
 *	  What the keeper of this server holds: see keeping.h.
 */
#include "postgres.h"

#include "keeper/keeping.h"

#include "core/clock.h"
#include "memory/server.h"
#include "utils/elog.h"

static UidgenTimes
look_at_clocks(const void *machine)
{
	return (UidgenTimes) {.wall = uidgen_clock_wall(), .boot = uidgen_clock_boot()};
}

static uint64
constant_bits(const UidgenGrant *grant)
{
	return uidgen_layout_put(&uidgen_layout, UIDGEN_DATACENTER, (uint64) uidgen_datacenter_id) |
		uidgen_layout_put(&uidgen_layout, UIDGEN_WORKER, (uint64) grant->worker);
}

UidgenKeeping
uidgen_keeping(void)
{
	return (UidgenKeeping) {
		.words = &uidgen_memory->words,
		.lease = &uidgen_memory->lease,
		.node = &uidgen_memory->node,
		.unused = &uidgen_memory->unused,
		.rules = &uidgen_rules,
		.settings = {
			.worker = uidgen_worker_id,
			.other_workers = uidgen_worker_id < 0 &&
			uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER) > 0,
			.disposable = uidgen_worker_policy == UIDGEN_DISPOSABLE,
			.unit = uidgen_layout.unit,
			.sequence_bits = uidgen_rules.sequence_bits,
			.last_tick = uidgen_rules.last_tick,
			.window = uidgen_window_ticks(),
			.bounds = uidgen_time_bounds(),
		},
		.fleet_window = uidgen_fleet_window_ticks(),
		.padding_factor = uidgen_padding_factor,
		.epoch = uidgen_layout.epoch,
		.timeout = INT64CONST(1000) * uidgen_registry_timeout,
		.look = look_at_clocks,
		.constant = constant_bits,
	};
}

void
uidgen_keeper_goes(const UidgenLink *link)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_node_goes(&uidgen_memory->node, link->place());
	LWLockRelease(&uidgen_memory->lock);
}

UidgenMicroseconds
uidgen_keeper_not_after(void)
{
	UidgenKeeping keeping = uidgen_keeping();

	return uidgen_keeping_not_after(&keeping);
}

void
uidgen_keeper_sees(const UidgenLink *link, const UidgenRegistryLife *life)
{
	bool		usable;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	usable = uidgen_node_sees(&uidgen_memory->node, life);
	LWLockRelease(&uidgen_memory->lock);
	if (!usable)
		uidgen_report_unusable(link, life);
}

/* uidgen_node_sees() has changed nothing, so `seen` tells why. */
void
uidgen_report_unusable(const UidgenLink *link, const UidgenRegistryLife *life)
{
	const UidgenRegistryLife *seen = &uidgen_memory->node.seen;

	link->reject_host();
	if (life->registry_id != seen->registry_id)
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("the answer came from another registry than before"),
				 errdetail("It came from registry %lld, and this server knows registry %lld there.",
						   (long long) life->registry_id, (long long) seen->registry_id),
				 errhint(UIDGEN_ONE_REGISTRY_HINT)));
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("the registry's answer came from a server that it has left behind"),
			 life->timeline == seen->timeline ?
			 errdetail("The server is on timeline %d, and the registry was on that timeline of another cluster before.",
					   life->timeline) :
			 errdetail("The server is on timeline %d, and the registry was on timeline %d before.",
					   life->timeline, seen->timeline),
			 errhint("Shut that server down. If it is to be the registry from here on, its owner can run SELECT uidgen_registry.take_over_registry() there.")));
}

void
uidgen_keeper_failed(int sqlerrcode)
{
	if (sqlerrcode != ERRCODE_QUERY_CANCELED)
		return;
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_memory->node.clock.registry_known = false;
	LWLockRelease(&uidgen_memory->lock);
}
