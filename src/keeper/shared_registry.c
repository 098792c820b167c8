/*
 * shared_registry.c
 *	  The calls on a registry that a fleet of servers shares: see shared_registry.h.
 */
#include "postgres.h"

#include "keeper/shared_registry.h"

#include "core/clock.h"
#include "keeper/answer.h"
#include "keeper/identity.h"
#include "shared/server.h"

/* So that sums of a clock and a duration fit. */
#define CLOCK_MAX (PG_INT64_MAX / 4)

/* Call, and note the clocks around it. */
static UidgenAnswer
call_registry(const UidgenLink *link, UidgenNodeCall *call, const char *function,
			  const char *activity, int nargs, const UidgenArgument *args,
			  UidgenClockReading *reading)
{
	UidgenAnswer result = {.function = function};

	call->did_nothing = false;
	reading->boot_before = uidgen_clock_boot();
	PG_TRY();
	{
		link->call(function, nargs, args, activity, &result.row);
	}
	PG_CATCH();
	{
		/* See client.h. */
		call->did_nothing = geterrcode() != ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN;
		PG_RE_THROW();
	}
	PG_END_TRY();
	reading->boot_after = uidgen_clock_boot();
	reading->wall_offset = uidgen_clock_offset();
	return result;
}

/* What each answer ends with. */
static void
read_word(const UidgenAnswer *result, UidgenNodeAnswer *answer)
{
	answer->word = (UidgenRegistryWord) {
		.life = uidgen_answer_life(result),
		.max_lead = uidgen_answer_bigint(result, "max_lead", 8, PG_INT64_MAX),
		.quarantine_until = uidgen_answer_bigint(result, "quarantine_until", PG_INT64_MIN,
												 PG_INT64_MAX),
	};
	answer->reading.registry = uidgen_answer_bigint(result, "clock", 0, CLOCK_MAX);
}

UidgenAcquired
uidgen_shared_acquire(const UidgenLink *link, UidgenNodeCall *call,
					  const UidgenNodeAction *action, UidgenGrant *grant,
					  UidgenNodeAnswer *answer)
{
	const UidgenRequest *request = &action->lease.request;
	int			max_worker = (int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER);
	bool		fixed = request->wanted >= 0;
	UidgenIdentity identity;
	UidgenAnswer result;

	uidgen_identify(&identity);
	{
		const UidgenArgument args[] = {
			uidgen_text_argument(identity.text),
			uidgen_text_argument(uidgen_layout_text),
			uidgen_bigint_argument(uidgen_layout.unit),
			uidgen_bigint_argument(uidgen_layout.epoch),
			uidgen_bigint_argument((int64) uidgen_layout_maximum(&uidgen_layout, UIDGEN_TIME)),
			uidgen_int_argument((int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_DATACENTER)),
			uidgen_int_argument(max_worker),
			uidgen_int_argument(uidgen_datacenter_id),
			uidgen_int_argument(request->wanted),
			uidgen_text_argument(uidgen_worker_policy == UIDGEN_DISPOSABLE ? "disposable" : "reuse"),
			uidgen_bigints_argument(call->ntokens, call->tokens),
			uidgen_int_argument(action->claimed_worker),
			uidgen_bigint_argument(action->claimed_worker < 0 ? -1 : action->claimed_until),
			uidgen_bigint_argument(call->token),
			uidgen_bigint_argument(request->floor),
			uidgen_bigint_argument(request->window),
			uidgen_bigint_argument(call->at),
			uidgen_bigint_argument(call->not_after),
			uidgen_text_argument(identity.host_name),
			uidgen_int_argument(identity.port),
			uidgen_int_argument(identity.type),
		};

		result = call_registry(link, call, "node_acquire", "uidgen: acquire a worker id",
							   lengthof(args), args, &answer->reading);
	}
	read_word(&result, answer);
	if (uidgen_answer_is_null(&result, "worker"))
	{
		if (uidgen_answer_is_null(&result, "first_tick"))
			return UIDGEN_ACQUIRE_AGAIN;
		grant->first = uidgen_answer_bigint(&result, "first_tick", 0, PG_INT64_MAX);
		return UIDGEN_ACQUIRE_LATER;
	}
	*grant = (UidgenGrant) {
		.worker = (int) uidgen_answer_bigint(&result, "worker", fixed ? request->wanted : 0,
											 fixed ? request->wanted : max_worker),
		.token = call->token,
		.first = uidgen_answer_bigint(&result, "first_tick", Max(request->floor, 0),
									  uidgen_last_grantable()),
		.seen = uidgen_answer_bigint(&result, "seen_tick", PG_INT64_MIN, PG_INT64_MAX),
		.never_used = uidgen_answer_bool(&result, "never_used"),
		.free_workers = uidgen_answer_bigint(&result, "free_workers", 0, PG_INT64_MAX),
		.registry = uidgen_node_registry(answer->word.life.registry_id),
	};
	grant->last = uidgen_answer_bigint(&result, "last_tick", grant->first,
									   Min(grant->first + request->window,
										   uidgen_last_grantable()));
	strlcpy(grant->reason, uidgen_answer_text(&result, "reason"), sizeof(grant->reason));
	return UIDGEN_ACQUIRED;
}

bool
uidgen_shared_renew(const UidgenLink *link, UidgenNodeCall *call, UidgenGrant *grant,
					UidgenTick needed, UidgenTick window, UidgenNodeAnswer *answer)
{
	const UidgenArgument args[] = {
		uidgen_int_argument(uidgen_datacenter_id),
		uidgen_int_argument(grant->worker),
		uidgen_bigint_argument(grant->token),
		uidgen_bigint_argument(grant->last),
		uidgen_bigint_argument(call->token),
		uidgen_bigint_argument(needed),
		uidgen_bigint_argument(window),
		uidgen_bigint_argument(call->at),
		uidgen_bigint_argument(call->not_after),
	};
	UidgenAnswer result = call_registry(link, call, "node_renew", "uidgen: renew the grant",
										lengthof(args), args, &answer->reading);
	UidgenTick	reach = Max(needed, call->at);

	read_word(&result, answer);
	if (uidgen_answer_is_null(&result, "last_tick"))
		return false;
	reach = Max(grant->last, uidgen_tick_plus(reach, window));
	grant->last = uidgen_answer_bigint(&result, "last_tick", grant->last,
									   Min(reach, uidgen_last_grantable()));
	grant->token = call->token;
	return true;
}

bool
uidgen_shared_import(const UidgenLink *link, UidgenNodeCall *call, int n, const int *workers,
					 const UidgenTick *ends, int64 registry_id, int timeline)
{
	const UidgenArgument args[] = {
		uidgen_int_argument(uidgen_datacenter_id),
		uidgen_ints_argument(n, workers),
		uidgen_bigints_argument(n, ends),
		uidgen_bigint_argument(call->not_after),
	};
	UidgenClockReading reading;
	UidgenAnswer result = call_registry(link, call, "node_import", "uidgen: bring grants along",
										lengthof(args), args, &reading);

	return uidgen_answer_bool(&result, "done") &&
		uidgen_answer_bigint(&result, "registry_id", PG_INT64_MIN, PG_INT64_MAX) == registry_id &&
		uidgen_answer_bigint(&result, "timeline", PG_INT32_MIN, PG_INT32_MAX) == timeline;
}

void
uidgen_shared_release(const UidgenLink *link, UidgenNodeCall *call, int worker)
{
	const UidgenArgument args[] = {
		uidgen_int_argument(uidgen_datacenter_id),
		uidgen_int_argument(worker),
		uidgen_bigints_argument(call->ntokens, call->tokens),
		uidgen_bigint_argument(call->not_after),
	};
	UidgenClockReading reading;
	UidgenAnswer result = call_registry(link, call, "node_release", "uidgen: release the worker id",
										lengthof(args), args, &reading);

	/* False if the row is another node's now: then there is nothing to hand back. */
	(void) uidgen_answer_bool(&result, "done");
}
