/*
 * fleet_registry.c
 *	  The calls on the registry of a fleet: see fleet_registry.h.
 */
#include "postgres.h"

#include "keeper/fleet_registry.h"

#include "core/clock.h"
#include "keeper/answer.h"
#include "memory/identity.h"
#include "memory/server.h"

/* So that sums of a clock and a duration fit. */
#define CLOCK_MAX (PG_INT64_MAX / 4)

/* Call, and note the clocks around it. */
static UidgenAnswer
call_function(const UidgenLink *link, const char *function, const char *activity, int nargs,
			  const UidgenArgument *args, UidgenClockReading *reading,
			  volatile bool *did_nothing)
{
	UidgenAnswer result = {.function = function};

	*did_nothing = false;
	reading->boot_before = uidgen_clock_boot();
	PG_TRY();
	{
		link->call(function, nargs, args, activity, &result.row);
	}
	PG_CATCH();
	{
		/* See link.h. */
		*did_nothing = geterrcode() != ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN;
		PG_RE_THROW();
	}
	PG_END_TRY();
	reading->boot_after = uidgen_clock_boot();
	reading->wall_offset = uidgen_clock_offset();
	return result;
}

/* What each answer about a grant ends with. */
static void
read_word(const UidgenAnswer *result, UidgenNodeReply *node)
{
	node->word = (UidgenRegistryWord) {
		.life = uidgen_answer_life(result),
		.max_lead = uidgen_answer_bigint(result, "max_lead", 8, PG_INT64_MAX),
		.quarantine_until = uidgen_answer_bigint(result, "quarantine_until", PG_INT64_MIN,
												 PG_INT64_MAX),
	};
	node->reading.registry = uidgen_answer_bigint(result, "clock", 0, CLOCK_MAX);
}

static void
acquire(const UidgenLink *link, const UidgenCall *call, UidgenReply *reply,
		volatile bool *did_nothing)
{
	const UidgenRequest *request = &call->request;
	UidgenGrant *grant = &reply->grant;
	int			max_worker = (int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER);
	bool		fixed = request->wanted >= 0;
	UidgenIdentity identity;
	UidgenAnswer result;

	uidgen_identify(&identity);
	{
		const UidgenArgument args[] = {
			uidgen_text_argument("holder", identity.text),
			uidgen_text_argument("layout_text", uidgen_layout_text),
			uidgen_int_argument("datacenter", uidgen_datacenter_id),
			uidgen_int_argument("wanted", request->wanted),
			uidgen_text_argument("policy", uidgen_worker_policy == UIDGEN_DISPOSABLE ? "disposable" : "reuse"),
			uidgen_bigints_argument("known_tokens", call->ntokens, call->tokens),
			uidgen_int_argument("claimed_worker", call->claimed_worker),
			uidgen_bigint_argument("claimed_until", call->claimed_until),
			uidgen_bigint_argument("new_token", call->token),
			uidgen_bigint_argument("floor_tick", request->floor),
			uidgen_bigint_argument("window_ticks", request->window),
			uidgen_bigint_argument("at_tick", call->at),
			uidgen_bigint_argument("not_after", call->not_after),
			uidgen_text_argument("host", identity.host_name),
			uidgen_int_argument("host_port", identity.port),
			uidgen_int_argument("host_type", identity.type),
		};

		result = call_function(link, "lease", "uidgen: acquire a worker id",
							   lengthof(args), args, &reply->node.reading, did_nothing);
	}
	read_word(&result, &reply->node);
	uidgen_check_answered_layout(&result);
	reply->done = !uidgen_answer_is_null(&result, "worker");
	if (!reply->done)
	{
		reply->later = !uidgen_answer_is_null(&result, "first_tick");
		if (reply->later)
			grant->first = uidgen_answer_bigint(&result, "first_tick", 0, PG_INT64_MAX);
		return;
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
		.registry = uidgen_node_registry(reply->node.word.life.registry_id),
		.registry_number = (int64) uidgen_node_registry(reply->node.word.life.registry_id),
	};
	grant->last = uidgen_answer_bigint(&result, "last_tick", grant->first,
									   Min(grant->first + request->window,
										   uidgen_last_grantable()));
	strlcpy(grant->reason, uidgen_answer_text(&result, "reason"), sizeof(grant->reason));
}

/* Beyond the node's time and call->needed, as far as the registry grants; it may stay below. */
static void
renew(const UidgenLink *link, const UidgenCall *call, UidgenReply *reply,
	  volatile bool *did_nothing)
{
	const UidgenArgument args[] = {
		uidgen_int_argument("datacenter", uidgen_datacenter_id),
		uidgen_int_argument("worker", call->worker),
		uidgen_bigint_argument("old_token", call->old_token),
		uidgen_bigint_argument("old_until", call->until),
		uidgen_bigint_argument("new_token", call->token),
		uidgen_bigint_argument("needed", call->needed),
		uidgen_bigint_argument("window_ticks", call->window),
		uidgen_bigint_argument("at_tick", call->at),
		uidgen_bigint_argument("not_after", call->not_after),
	};
	UidgenAnswer result = call_function(link, "lease_renew", "uidgen: renew the grant",
										lengthof(args), args, &reply->node.reading, did_nothing);
	UidgenTick	reach = Max(call->needed, call->at);

	read_word(&result, &reply->node);
	reply->done = !uidgen_answer_is_null(&result, "last_tick");
	if (!reply->done)
		return;
	reach = Max(call->until, uidgen_tick_plus(reach, call->window));
	reply->grant.last = uidgen_answer_bigint(&result, "last_tick", call->until,
											 Min(reach, uidgen_last_grantable()));
	reply->grant.token = call->token;
}

/*
 * Nobody is granted these worker ids up to these ends any more: all of them or none.  It is not
 * done if another registry than this one answered, or on another timeline.
 */
static void
import(const UidgenLink *link, const UidgenCall *call, UidgenReply *reply,
	   volatile bool *did_nothing)
{
	const UidgenArgument args[] = {
		uidgen_int_argument("datacenter", uidgen_datacenter_id),
		uidgen_ints_argument("workers", call->nends, call->workers),
		uidgen_bigints_argument("ends", call->nends, call->ends),
		uidgen_bigint_argument("not_after", call->not_after),
	};
	UidgenAnswer result = call_function(link, "node_import", "uidgen: bring grants along",
										lengthof(args), args, &reply->node.reading, did_nothing);

	reply->done = uidgen_answer_bool(&result, "done") &&
		uidgen_answer_bigint(&result, "registry_id", PG_INT64_MIN, PG_INT64_MAX) == call->registry_id &&
		uidgen_answer_bigint(&result, "timeline", PG_INT32_MIN, PG_INT32_MAX) == call->timeline;
}

/* It is not done if the row is another node's now: then there is nothing to hand back. */
static void
release(const UidgenLink *link, const UidgenCall *call, UidgenReply *reply,
		volatile bool *did_nothing)
{
	const UidgenArgument args[] = {
		uidgen_int_argument("datacenter", uidgen_datacenter_id),
		uidgen_int_argument("worker", call->worker),
		uidgen_bigints_argument("known_tokens", call->ntokens, call->tokens),
		uidgen_bigint_argument("not_after", call->not_after),
	};
	UidgenAnswer result = call_function(link, "lease_release", "uidgen: release the worker id",
										lengthof(args), args, &reply->node.reading, did_nothing);

	reply->done = uidgen_answer_bool(&result, "done");
}

void
uidgen_fleet_call(const UidgenLink *link, const UidgenCall *call, UidgenReply *reply,
				  volatile bool *did_nothing)
{
	switch (call->kind)
	{
		case UIDGEN_CALL_ACQUIRE:
			acquire(link, call, reply, did_nothing);
			break;
		case UIDGEN_CALL_RENEW:
			renew(link, call, reply, did_nothing);
			break;
		case UIDGEN_CALL_IMPORT:
			import(link, call, reply, did_nothing);
			break;
		case UIDGEN_CALL_RELEASE:
			release(link, call, reply, did_nothing);
			break;
	}
}
