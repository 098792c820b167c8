/*
 * grants.c
 *	  What the keeper does for grants of worker ids: see grants.h.
 */
#include "postgres.h"

#include "keeper/grants.h"

#include "keeper/fleet_registry.h"
#include "keeper/keeping.h"
#include "keeper/local_registry.h"
#include "keeper/pinning.h"
#include "lib/stringinfo.h"
#include "memory/identity.h"
#include "memory/server.h"
#include "memory/worker.h"
#include "miscadmin.h"
#include "utils/elog.h"
#include "utils/timestamp.h"

/* The registry grants this part of a window where the clamp leaves no more. */
#define ENOUGH 4

/* How far apart clocks are worth a line at first contact, in milliseconds. */
#define FIRST_CONTACT_NEWS 60000

/* ---- the lock ---- */

/* All that writes what the keeper holds is between these two. */
static void
begin_writing(void)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	Assert(uidgen_is_keeper());
}

static void
end_writing(void)
{
	LWLockRelease(&uidgen_memory->lock);
}

/* ---- what is said in the log ---- */

/* The beginning of a tick, for messages. */
static const char *
tick_time(UidgenTick tick)
{
	if (tick > (PG_INT64_MAX / 4 - uidgen_layout.epoch) / uidgen_layout.unit)
		return "the end of time";
	return timestamptz_to_str(tick * uidgen_layout.unit + uidgen_layout.epoch -
							  (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
}

static long long
milliseconds(UidgenMicroseconds time)
{
	return (long long) ((time < 0 ? -time : time) / 1000);
}

/* What became of the fleet's time. */
static void
report_clock(const UidgenAttempt *attempt)
{
	static bool stays = false;	/* it was said already */
	UidgenMicroseconds step = attempt->clock_step;

	if (!attempt->heard)
		return;
	if (attempt->verdict == UIDGEN_CLOCK_FOLLOWS)
		ereport(LOG,
				(errmsg("the time of the fleet was set %s by %lld ms",
						step < 0 ? "back" : "forward", milliseconds(step)),
				 errdetail("Ids follow the clock of the registry.")));
	if (attempt->verdict == UIDGEN_CLOCK_STAYS && !stays)
		ereport(LOG,
				(errmsg("uidgen does not follow the clock of the registry, which was set forward by %lld ms",
						milliseconds(step)),
				 errdetail("The clock of this server shows another time.")));
	stays = attempt->verdict == UIDGEN_CLOCK_STAYS;
	if (attempt->caught_up > 0)
		ereport(LOG,
				(errmsg("uidgen follows the clock of the registry after all"),
				 errdetail("The registry's grant begins %lld ms ahead of the time that this server had.",
						   uidgen_server_ms(attempt->caught_up))));
}

/* At first contact there is nobody else to ask whose clock is wrong; somebody should look. */
static void
report_first_contact(const UidgenAttempt *attempt)
{
	UidgenMicroseconds step = attempt->clock_step;

	if (!attempt->heard || milliseconds(step) <= FIRST_CONTACT_NEWS)
		return;
	ereport(LOG,
			(errmsg("uidgen begins by the clock of the registry, which is %lld ms %s this server's",
					milliseconds(step), step < 0 ? "behind" : "ahead of"),
			 errdetail("One of the two is wrong."),
			 errhint("If it is the registry's, ids go back once that is correct, and a quarantine that began meanwhile lasts longer.")));
}

/*
 * Has the server another grant of the worker id that it held?  As after an answer that was lost, or
 * where the grant ended before it was renewed.
 */
static bool
is_kept(const UidgenAttempt *attempt)
{
	return attempt->held && attempt->held_worker == attempt->grant.worker &&
		attempt->held_registry == attempt->grant.registry &&
		(attempt->fleet || attempt->lost_worker < 0);
}

/* Which worker id it is, and why; one that is kept is no news. */
static void
report_acquisition(const UidgenAttempt *attempt)
{
	const UidgenGrant *grant = &attempt->grant;
	const UidgenLeaseAction *action = &attempt->action.lease;
	UidgenTick	lead = grant->first - uidgen_clock_tick();
	StringInfoData detail;

	if (is_kept(attempt))
		return;
	initStringInfo(&detail);
	switch (action->step.kind)
	{
		case UIDGEN_STEP_NONE:
			break;
		case UIDGEN_STEP_BACK:
			appendStringInfo(&detail, "The clock was set back by %lld ms. ",
							 uidgen_server_ms(action->step.ticks));
			break;
		case UIDGEN_STEP_FORWARD:
			appendStringInfo(&detail, "The clock was set forward by %lld ms; worker id %d is kept for when the clock returns. ",
							 uidgen_server_ms(action->step.ticks), action->request.avoid);
			break;
	}
	appendStringInfoString(&detail, grant->reason);
	if (lead > 0)
		appendStringInfo(&detail, " Its grant begins %lld ms ahead of the clock.",
						 uidgen_server_ms(lead));
	ereport(LOG,
			(errmsg("uidgen acquired worker id %d", grant->worker),
			 errdetail_internal("%s", detail.data)));
	pfree(detail.data);
	if (uidgen_is_like_its_copies())
		ereport(LOG,
				(errmsg("this server cannot be told from a copy of its disk"),
				 errdetail(UIDGEN_LIKE_COPIES_DETAIL),
				 errhint(UIDGEN_LIKE_COPIES_HINT)));

	if (attempt->action.leaves && action->step.kind == UIDGEN_STEP_NONE)
		ereport(LOG,
				(errmsg("uidgen left worker id %d", attempt->held_worker),
				 errdetail("Its row in the registry stayed locked.")));

	/*
	 * Only now, so that attempts that fail do not repeat it.  A node that has
	 * found its row again has not lost it.
	 */
	if (attempt->lost_worker >= 0 &&
		!(attempt->fleet && attempt->lost_worker == grant->worker))
		ereport(LOG,
				(errmsg("uidgen lost worker id %d", attempt->lost_worker),
				 errdetail("Its row in the registry was taken or removed.")));
}

/* ---- why an attempt has failed ---- */

/* Where there is no other worker id to take, a large step ends in an error. */
static void
report_large_step(const UidgenClockStep *step)
{
	bool		fixed = uidgen_worker_id >= 0;
	bool		back = step->kind == UIDGEN_STEP_BACK;
	long long	size = uidgen_server_ms(step->ticks);
	long long	large = uidgen_server_ms(uidgen_time_bounds().large_step);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 back ?
			 errmsg("the clock was set back by a large step") :
			 errmsg("the clock was set forward by a large step"),
			 fixed ?
			 errdetail("The step is %lld ms. Above %lld ms another worker id is needed, but the setting \"uidgen.worker_id\" allows for no other.",
					   size, large) :
			 errdetail("The step is %lld ms. Above %lld ms another worker id is needed, but the layout has no worker field.",
					   size, large),
			 !back ?
			 errhint("If the clock is correct now, restart the server; otherwise correct the clock.") :
			 fixed ?
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\", or set \"uidgen.worker_id\" to another worker id or to -1 and restart the server.") :
			 errhint("Correct the clock, or raise the setting \"uidgen.max_ahead\".")));
}

/* The registry grants nothing that begins so late, before its clock has gone on. */
static void
report_too_far(const UidgenAttempt *attempt)
{
	const UidgenNode *node = &uidgen_memory->node;
	UidgenTick	first = attempt->beyond;
	UidgenTick	max_lead = node->max_lead;
	UidgenTick	window = attempt->call.request.window;	/* 0: of a renewal */
	UidgenTick	possible = first - max_lead + Min(window, max_lead / 2) / ENOUGH;
	bool		in_quarantine = first - 1 == node->quarantine_until;

	/*
	 * A quarantine ends max_lead and clock_slack after it has begun, and the
	 * slack is shorter than the lead.
	 */
	bool		was_ahead = in_quarantine && first - uidgen_clock_tick() > 2 * max_lead;

	ereport(ERROR,
			(errcode(ERRCODE_CANNOT_CONNECT_NOW),
			 in_quarantine ?
			 errmsg("the registry is in quarantine until %s", tick_time(possible)) :
			 errmsg("the grant would reach too far ahead of the registry's clock"),
			 in_quarantine ?
			 errdetail("The registry is new, was restarted or went back, and grants that it does not know of may reach up to %s. The next one begins above that, and no grant reaches further than %lld ms ahead of the clock.",
					   tick_time(first), uidgen_server_ms(max_lead)) :
			 errdetail("It would begin at %s, and no grant reaches further than %lld ms ahead of the clock.",
					   tick_time(first), uidgen_server_ms(max_lead)),
			 was_ahead ?
			 errhint("The clock of the registry was ahead when the quarantine began. If it is correct now, and nothing can be lost, its owner can run SELECT uidgen_registry.end_quarantine().") :
			 in_quarantine ?
			 errhint("Wait. If nothing can be lost, because the registry is new or was restarted as planned, its owner can run SELECT uidgen_registry.end_quarantine().") :
			 errhint("Wait. If a clock is wrong, correct it.")));
}

static void
report_failed_attempt(const UidgenLink *link, const UidgenAttempt *attempt,
					  const UidgenReply *reply)
{
	UidgenMicroseconds step = attempt->clock_step;

	switch (attempt->state)
	{
		case UIDGEN_ATTEMPT_CALLS:
		case UIDGEN_ATTEMPT_DONE:
		case UIDGEN_ATTEMPT_NO_REPLY:
			break;
		case UIDGEN_ATTEMPT_LARGE_STEP:
			report_large_step(&attempt->action.lease.step);
			break;
		case UIDGEN_ATTEMPT_UNTAUGHT:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry grants ticks that were granted before"),
					 errdetail("The registry granted worker id %d from tick " INT64_FORMAT ", but its ticks up to " INT64_FORMAT " were granted before.",
							   attempt->grant.worker, attempt->grant.first, attempt->known),
					 errhint("The registry may have been restored or replaced. The next attempt asks it again.")));
			break;
		case UIDGEN_ATTEMPT_UNGRANTED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the registry has given no grant in %d calls", attempt->calls),
					 errhint("The registry may have been restored or replaced. The next attempt asks it again.")));
			break;
		case UIDGEN_ATTEMPT_TOO_FAR:
			report_too_far(attempt);
			break;
		case UIDGEN_ATTEMPT_CLOCKS:
			ereport(ERROR,
					(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
					 errmsg("the clocks of this server and of the registry are more than a day apart"),
					 errdetail("The registry's clock is %lld ms %s this server's.",
							   milliseconds(step), step < 0 ? "behind" : "ahead of"),
					 errhint("Correct the clock that is wrong.")));
			break;
		case UIDGEN_ATTEMPT_UNUSABLE:
			uidgen_report_unusable(link, &reply->node.word.life);
			break;
		case UIDGEN_ATTEMPT_MANY_ENDS:
			ereport(ERROR,
					(errcode(ERRCODE_CANNOT_CONNECT_NOW),
					 errmsg("too many worker ids were granted ahead of the clock"),
					 errdetail("The grants of %d of them can be brought to another registry.",
							   UIDGEN_KNOWN_GRANTS),
					 errhint("Wait until the clock has passed their ends.")));
			break;
		case UIDGEN_ATTEMPT_ELSEWHERE:
			/* A host that was left behind is no place to bring them to. */
			link->reject_host();
			ereport(ERROR,
					(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
					 errmsg("another server answered than the one that granted"),
					 errdetail("Grants of another registry were to be brought to registry %lld on timeline %d.",
							   (long long) attempt->call.registry_id, attempt->call.timeline),
					 errhint("The next attempt asks another host first, if \"uidgen.registry\" names several.")));
			break;
	}
}

/* ---- calls ---- */

/* For a call that gives a row of a fleet's registry a new token. */
static int64
new_token(const UidgenLink *link)
{
	int64		token = 0;

	if (link->fleet && !pg_strong_random(&token, sizeof(token)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	return token;
}

static void
note_no_reply(const UidgenKeeping *keeping, UidgenAttempt *attempt, bool did_nothing)
{
	const UidgenNoReply why = {
		.did_nothing = did_nothing,
		.locked = geterrcode() == ERRCODE_LOCK_NOT_AVAILABLE,
		.too_late = geterrcode() == ERRCODE_QUERY_CANCELED,
	};

	begin_writing();
	uidgen_attempt_fails(keeping, attempt, &why);
	end_writing();
}

static void
make_call(const UidgenLink *link, const UidgenKeeping *keeping, UidgenAttempt *attempt,
		  UidgenReply *reply)
{
	volatile bool did_nothing = true;	/* before it is sent */

	PG_TRY();
	{
		if (link->fleet)
			uidgen_fleet_call(link, &attempt->call, reply, &did_nothing);
		else
			uidgen_local_call(link, &attempt->call, reply);
	}
	PG_CATCH();
	{
		note_no_reply(keeping, attempt, did_nothing);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* What has happened; under the lock. */
static void
count(const UidgenLink *link, const UidgenAttempt *attempt)
{
	const char *host = link->host();

	if (attempt->heard)
		strlcpy(uidgen_memory->registry_host, host ? host : "",
				sizeof(uidgen_memory->registry_host));
	uidgen_memory->renewals += attempt->renewed;
	uidgen_memory->clock_steps +=
		(attempt->heard && attempt->verdict == UIDGEN_CLOCK_FOLLOWS) +
		(attempt->caught_up > 0) +
		(attempt->acquired && attempt->action.lease.step.kind != UIDGEN_STEP_NONE);
}

/* Make all calls of an attempt that has begun. */
static void
finish_attempt(const UidgenLink *link, const UidgenKeeping *keeping, UidgenAttempt *attempt)
{
	UidgenReply reply = {0};
	int64		token;

	for (;;)
	{
		bool		is_first;

		report_clock(attempt);
		if (attempt->acquired)
			report_acquisition(attempt);
		report_failed_attempt(link, attempt, &reply);
		if (attempt->state == UIDGEN_ATTEMPT_DONE)
			return;

		reply = (UidgenReply) {0};
		token = new_token(link);
		make_call(link, keeping, attempt, &reply);
		if (reply.done && attempt->call.kind == UIDGEN_CALL_ACQUIRE)
			uidgen_pin_settings();
		begin_writing();
		is_first = link->fleet && !keeping->node->clock.known;
		uidgen_attempt_hear(keeping, attempt, &reply, token);
		count(link, attempt);
		end_writing();
		if (is_first)
			report_first_contact(attempt);
	}
}

/* ---- what the keeper does ---- */

void
uidgen_grants_serve(const UidgenLink *link)
{
	UidgenKeeping keeping = uidgen_keeping();
	UidgenAttempt attempt;
	int64		token = new_token(link);
	uint64		place = link->place();
	uint64		registry = link->fleet ? 0 : link->registry();

	begin_writing();
	if (link->fleet)
		uidgen_node_goes(keeping.node, place);
	uidgen_attempt_begin(&keeping, &attempt, link->fleet, registry, token);
	count(link, &attempt);
	end_writing();
	finish_attempt(link, &keeping, &attempt);
}

void
uidgen_grants_rehearse(const UidgenLink *link)
{
	UidgenKeeping keeping = uidgen_keeping();
	UidgenLease lease = uidgen_memory->lease;
	UidgenAttempt attempt;

	/* The setting has just been changed. */
	if (link->fleet)
		return;
	/* What it decides is not to be kept. */
	keeping.lease = &lease;
	begin_writing();
	uidgen_attempt_begin(&keeping, &attempt, false, link->registry(), 0);
	end_writing();
	if (attempt.state == UIDGEN_ATTEMPT_CALLS)
		uidgen_local_rehearse(link, &attempt.call);
	else
		report_failed_attempt(link, &attempt, NULL);
}

void
uidgen_grants_release(const UidgenLink *link)
{
	UidgenKeeping keeping = uidgen_keeping();
	UidgenAttempt attempt;
	uint64		registry = link->fleet ? 0 : link->registry();

	begin_writing();
	uidgen_attempt_release(&keeping, &attempt, link->fleet, registry);
	end_writing();
	finish_attempt(link, &keeping, &attempt);
}

/* What the local registry has granted; nothing if there is none. */
static int
find_grants(const UidgenLink *link, int n, int64 *workers, int64 *ends)
{
	MemoryContext context = CurrentMemoryContext;
	volatile int found = 0;

	PG_TRY();
	{
		found = uidgen_local_grants(link, n, workers, ends);
	}
	PG_CATCH();
	{
		/* The extension is not there: nothing was granted in this place. */
		if (geterrcode() != ERRCODE_UNDEFINED_OBJECT)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		link->end_failed();
		MemoryContextSwitchTo(context);
	}
	PG_END_TRY();
	return found;
}

/* One more than the lease has room for: then that stands for all others. */
#define RECALLED_GRANTS (UIDGEN_KNOWN_GRANTS + 1)

void
uidgen_grants_recall(const UidgenLink *link)
{
	int64		workers[RECALLED_GRANTS];
	int64		ends[RECALLED_GRANTS];
	int			found = find_grants(link, RECALLED_GRANTS, workers, ends);

	begin_writing();
	for (int i = 0; i < found; i++)
		uidgen_lease_recall(&uidgen_memory->lease, (int) workers[i], ends[i]);
	uidgen_memory->local_recalled = true;
	end_writing();
}

void
uidgen_grants_bound(void)
{
	UidgenKeeping keeping = uidgen_keeping();

	begin_writing();
	uidgen_publish_bounds(&keeping);
	end_writing();
}

UidgenTick
uidgen_grants_window(void)
{
	UidgenKeeping keeping = uidgen_keeping();

	return uidgen_keeping_terms(&keeping, true).window;
}
