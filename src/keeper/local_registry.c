/*
 * local_registry.c
 *	  The calls on a local registry of worker ids: see local_registry.h.
 */
#include "postgres.h"

#include "keeper/local_registry.h"

#include "keeper/answer.h"
#include "memory/identity.h"
#include "memory/server.h"

static UidgenAnswer
call(const UidgenLink *link, const char *function, const char *activity, int nargs,
	 const UidgenArgument *args)
{
	UidgenAnswer answer = {.function = function};

	link->call(function, nargs, args, activity, &answer.row);
	return answer;
}

/* False: there is no registry, and with `rehearse` none is made; but there could be. */
static bool
ensure_registry(const UidgenLink *link, bool rehearse)
{
	if (link->has_registry())
		return true;
	link->make_registry(rehearse);
	return !rehearse;
}

/* The caller commits. */
static void
acquire(const UidgenLink *link, const UidgenRequest *request, UidgenGrant *grant)
{
	int			max_worker = (int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER);
	bool		fixed = request->wanted >= 0;
	UidgenIdentity identity;
	UidgenAnswer answer;

	uidgen_identify(&identity);
	{
		const UidgenArgument args[] = {
			uidgen_text_argument("holder", identity.text),
			uidgen_text_argument("layout_text", uidgen_layout_text),
			uidgen_int_argument("datacenter", uidgen_datacenter_id),
			uidgen_int_argument("wanted", request->wanted),
			uidgen_int_argument("avoid", request->avoid),
			uidgen_text_argument("policy", uidgen_worker_policy == UIDGEN_DISPOSABLE ? "disposable" : "reuse"),
			uidgen_bool_argument("take_never_used", request->never_used),
			uidgen_bigint_argument("floor_tick", request->floor),
			uidgen_bigint_argument("window_ticks", request->window),
			uidgen_bigint_argument("max_lead", request->max_lead),
			uidgen_bigint_argument("max_step", request->max_step),
			uidgen_text_argument("host", identity.host_name),
			uidgen_int_argument("host_port", identity.port),
			uidgen_int_argument("host_type", identity.type),
		};

		answer = call(link, "acquire_worker_id", "uidgen: acquire a worker id",
					  lengthof(args), args);
	}
	uidgen_check_answered_layout(&answer);
	grant->worker = (int) uidgen_answer_bigint(&answer, "worker", fixed ? request->wanted : 0,
											   fixed ? request->wanted : max_worker);
	grant->token = uidgen_answer_bigint(&answer, "token", PG_INT64_MIN, PG_INT64_MAX);
	grant->first = uidgen_answer_bigint(&answer, "first_tick", Max(request->floor, 0),
										uidgen_last_grantable());
	grant->last = uidgen_answer_bigint(&answer, "last_tick", grant->first, uidgen_last_grantable());
	grant->seen = uidgen_answer_bigint(&answer, "seen_tick", PG_INT64_MIN, PG_INT64_MAX);
	grant->never_used = uidgen_answer_bool(&answer, "never_used");
	grant->free_workers = uidgen_answer_bigint(&answer, "free_workers", PG_INT64_MIN,
											   PG_INT64_MAX);
	grant->registry = link->registry();
	grant->registry_number = uidgen_answer_bigint(&answer, "registry_id", PG_INT64_MIN, PG_INT64_MAX) & PG_INT64_MAX;
	strlcpy(grant->reason, uidgen_answer_text(&answer, "reason"), sizeof(grant->reason));
}

/* It is not done if another holder has taken the row: then the grant keeps its end. */
static void
renew(const UidgenLink *link, const UidgenCall *asked, UidgenReply *reply)
{
	const UidgenArgument args[] = {
		uidgen_int_argument("datacenter", uidgen_datacenter_id),
		uidgen_int_argument("worker", asked->worker),
		uidgen_bigint_argument("old_token", asked->old_token),
		uidgen_bigint_argument("old_until", asked->until),
		uidgen_bigint_argument("needed", asked->needed),
		uidgen_bigint_argument("window_ticks", asked->window),
		uidgen_bigint_argument("at_most", asked->at_most),
	};
	UidgenAnswer answer = call(link, "renew_worker_id", "uidgen: renew the grant",
							   lengthof(args), args);

	reply->done = !(uidgen_answer_is_null(&answer, "token") &&
					uidgen_answer_is_null(&answer, "last_tick"));
	if (reply->done)
	{
		reply->grant.token = uidgen_answer_bigint(&answer, "token", PG_INT64_MIN, PG_INT64_MAX);
		reply->grant.last = uidgen_answer_bigint(&answer, "last_tick", asked->until,
												 uidgen_last_grantable());
	}
	link->commit();
}

/* It is not done if the row is another holder's now: then there is nothing to hand back. */
static void
release(const UidgenLink *link, const UidgenCall *asked, UidgenReply *reply)
{
	const UidgenArgument args[] = {
		uidgen_int_argument("datacenter", uidgen_datacenter_id),
		uidgen_int_argument("worker", asked->worker),
		uidgen_bigint_argument("old_token", asked->old_token),
		uidgen_bigint_argument("last_issued", asked->last_issued),
	};
	UidgenAnswer answer = call(link, "release_worker", "uidgen: release the worker id",
							   lengthof(args), args);

	reply->done = uidgen_answer_bool(&answer, "release_worker");
	link->commit();
}

void
uidgen_local_call(const UidgenLink *link, const UidgenCall *asked, UidgenReply *reply)
{
	switch (asked->kind)
	{
		case UIDGEN_CALL_ACQUIRE:
			(void) ensure_registry(link, false);
			acquire(link, &asked->request, &reply->grant);
			link->commit();
			reply->done = true;
			break;
		case UIDGEN_CALL_RENEW:
			renew(link, asked, reply);
			break;
		case UIDGEN_CALL_RELEASE:
			release(link, asked, reply);
			break;
		case UIDGEN_CALL_IMPORT:
			/* Grants of another registry are brought to a fleet's only. */
			Assert(false);
			break;
	}
}

void
uidgen_local_rehearse(const UidgenLink *link, const UidgenCall *asked)
{
	UidgenGrant grant;

	/* Where a grant is in force, there is nothing to find out. */
	if (asked->kind != UIDGEN_CALL_ACQUIRE || !ensure_registry(link, true))
		return;
	acquire(link, &asked->request, &grant);
	link->end_failed();
}

int
uidgen_local_grants(const UidgenLink *link, int n, int64 *workers, int64 *ends)
{
	const UidgenArgument args[] = {
		uidgen_text_argument("layout_text", uidgen_layout_text),
		uidgen_int_argument("datacenter", uidgen_datacenter_id),
		uidgen_int_argument("at_most", n),
	};
	UidgenAnswer answer = call(link, "local_grants", "uidgen: read the local grants",
							   lengthof(args), args);
	int			found = uidgen_answer_bigints(&answer, "workers", n, 0, PG_INT32_MAX, workers);

	if (found > n || uidgen_answer_bigints(&answer, "ends", n, 0, PG_INT64_MAX, ends) != found)
		uidgen_report_answer(&answer, "ends", uidgen_answer_text(&answer, "ends"));
	link->commit();
	return found;
}
