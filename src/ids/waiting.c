/*
 * waiting.c
 *	  Waits for the keeper, and says why that was in vain: see waiting.h.
 *
 * Every wait ends: by what was missing, by an attempt of the keeper that failed for a
 * reason that waiting does not cure, or by uidgen.wait_timeout.  statement_timeout
 * alone would not do: it does not end a wait inside COMMIT.  Time-outs run on the
 * monotonic clock, since a wall clock that is set back would stretch them by the size
 * of the step.
 */
#include "postgres.h"

#include "ids/waiting.h"

#include <limits.h>

#include "catalog/pg_auth_members.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "link/link.h"
#include "link/making.h"
#include "link/strangers.h"
#include "memory/attachment.h"
#include "memory/catalog.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "memory/worker.h"
#include "miscadmin.h"
#include "utils/acl.h"

/*
 * May the caller see details, which may name hosts and ports or show rows of the
 * registry?  The catalogs are those that has_privs_of_role() reads.  They are not
 * unlocked, since an error follows.
 */
static bool
may_see_details(void)
{
	return uidgen_lock_catalog(AuthIdRelationId, AuthIdOidIndexId) &&
		uidgen_lock_catalog(AuthMemRelationId, AuthMemMemRoleIndexId) &&
		uidgen_lock_catalog(DatabaseRelationId, DatabaseOidIndexId) &&
		has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

void
uidgen_check_server(void)
{
	if (!IsUnderPostmaster)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg(UIDGEN_SINGLE_USER_MESSAGE),
				 errdetail(UIDGEN_SINGLE_USER_DETAIL),
				 errhint(UIDGEN_SINGLE_USER_HINT)));
	if (uidgen_link()->in_recovery())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("uidgen issues no ids during recovery"),
				 errhint("Draw ids on the primary server, or on this one after its promotion.")));
}

void
uidgen_no_keeper_failure(UidgenFailure *failure)
{
	BackgroundWorker worker = uidgen_describe_keeper();

	if (!uidgen_library_is_there(&worker))
	{
		uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						   "uidgen cannot start its keeper",
						   psprintf("The keeper is a background worker, and its library \"%s\" is not there any more.",
									worker.bgw_library_name),
						   "Install uidgen again, and restart the server.");
		return;
	}
	uidgen_failure_set(failure, ERRCODE_INSUFFICIENT_RESOURCES,
					   "uidgen cannot start its keeper",
					   psprintf("The keeper is a background worker, and all of the server's are in use; the setting \"max_worker_processes\" is %d.",
								max_worker_processes),
					   "Set \"max_parallel_workers\" below \"max_worker_processes\" and reload, so that parallel queries leave room, or raise the latter and restart the server. With uidgen in \"shared_preload_libraries\", the keeper has a place from the start.");
}

/*
 * The registry may be one that is not asked by this server's keeper.  Then that has what is missing when the call is made again, if it
 * is told.
 */
bool
uidgen_would_wait_for_itself(UidgenFailure *why)
{
	char	   *stranger;

	if (!uidgen_is_keeper())
	{
		if (!uidgen_link()->fleet || !uidgen_in_registry_function())
			return false;
		uidgen_demand_in_advance(&uidgen_memory->grant_demand);
	}
	stranger = uidgen_find_strange_trigger();
	uidgen_failure_set(why, ERRCODE_TRIGGERED_ACTION_EXCEPTION,
					   "no ids or numbers are drawn while the registry is asked for them", NULL,
					   stranger ? psprintf("Drop %s: it is none of the registry's.", stranger) :
					   "Take away what draws them: something on a table of schema " UIDGEN_REGISTRY_SCHEMA " that is none of the registry's.");
	return true;
}

/* Raise errors that the keeper cannot find, or would find only slowly. */
static void
check_preconditions(const UidgenLack *lack)
{
	UidgenFailure why;

	if (uidgen_would_wait_for_itself(&why))
		uidgen_raise_failure(&why);
	uidgen_follow_server_settings();
	uidgen_check_server();
	if (uidgen_link()->is_missing(&why))
		ereport(ERROR,
				(errcode(why.sqlerrcode),
				 errmsg("%s: %s", lack->message, why.message),
				 errdetail_internal("%s", why.detail),
				 errhint("%s", why.hint)));
}

/* SQLSTATEs that mean the same to the caller as to the keeper. */
static int
caller_errcode(int sqlerrcode)
{
	switch (sqlerrcode)
	{
		case ERRCODE_CONFIGURATION_LIMIT_EXCEEDED:
		case ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED:
		case ERRCODE_INVALID_PARAMETER_VALUE:
		case ERRCODE_OBJECT_IN_USE:
			return sqlerrcode;
		case ERRCODE_NO_DATA_FOUND: /* there is no such segment */
			return ERRCODE_UNDEFINED_OBJECT;
		default:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
	}
}

/* Raise the error that the keeper's attempt failed. */
static void
report_failure(const UidgenFailure *failure, const UidgenLack *lack)
{
	bool		has_detail = failure->detail[0] != '\0';
	bool		show_detail = has_detail && may_see_details();

	/* The registry's own server may lack the same. */
	bool		is_same = strncmp(failure->message, lack->message, strlen(lack->message)) == 0;

	ereport(ERROR,
			(errcode(caller_errcode(failure->sqlerrcode)),
			 is_same ? errmsg("%s", failure->message) : errmsg("%s: %s", lack->message, failure->message),
			 show_detail ? errdetail_internal("%s", failure->detail) :
			 has_detail ?
			 errdetail("The details are in the server log, and in this error for members of pg_monitor.") : 0,
			 failure->hint[0] ? errhint("%s", failure->hint) : 0));
}

/* Raise the error that the wait's time is up. */
static void
report_timeout(const UidgenWait *wait, const UidgenLack *lack)
{
	UidgenFailure failure;
	bool		running;
	bool		ran;

	if (uidgen_demand_failure(wait->on, &failure))
		report_failure(&failure, lack);
	if (!uidgen_ensure_keeper())
	{
		uidgen_no_keeper_failure(&failure);
		uidgen_raise_failure(&failure);
	}
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	running = uidgen_memory->keeper != 0;
	ran = uidgen_memory->keeper_ran;
	LWLockRelease(&uidgen_memory->lock);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", lack->message),
			 running ?
			 errdetail(lack->timeout_detail, uidgen_wait_timeout) :
			 pg_atomic_read_u32(&uidgen_memory->head.other_versions) > 0 ?
			 errdetail("The keeper has ended, and the library that is installed now is of another version than %s, which this server uses.",
					   UIDGEN_VERSION) :
			 ran ?
			 errdetail("The keeper is not running at this moment.") :
			 errdetail("The keeper, a background worker, has not started; the setting \"max_worker_processes\" is %d.",
					   max_worker_processes),
			 running ?
			 errhint("%s", lack->timeout_hint) :
			 pg_atomic_read_u32(&uidgen_memory->head.other_versions) > 0 ?
			 errhint("Restart the server.") :
			 ran ?
			 errhint("See the server log.") :
			 errhint("If the server log says that there are too many background workers, raise the setting \"max_worker_processes\".")));
}

void
uidgen_wait_for_keeper(UidgenWait *wait, const UidgenLack *lack)
{
	UidgenFailure failure;

	/* Each time, because these can change while we wait. */
	check_preconditions(lack);
	(void) uidgen_ensure_keeper();
	/* Otherwise the keeper could not publish what we wait for. */
	Assert(!LWLockHeldByMe(&uidgen_memory->lock));
	if (wait->number == 0)
		wait->number = uidgen_demand_make(wait->on);
	else if (uidgen_demand_served(wait->on, wait->number))
	{
		/* The keeper has made its attempt, and it did not help. */
		if (uidgen_demand_failure(wait->on, &failure) &&
			!failure.transient)
			report_failure(&failure, lack);
		if (uidgen_wait_timeout == 0)
			report_timeout(wait, lack);
		uidgen_wait_demand_again(wait, lack->reason);
	}
	uidgen_wait_begin(wait, uidgen_wait_at_least(wait->on));
	if (uidgen_wait_expired(wait))
		report_timeout(wait, lack);
	uidgen_wait_sleep(wait, wait->number, LONG_MAX, lack->reason);
}

void
uidgen_wait_for_grant(UidgenWait *wait)
{
	const UidgenLack lack = {
		.message = "uidgen has no grant to issue ids from",
		.timeout_detail = "Within %d ms the keeper got no grant that reaches far enough.",
		.timeout_hint = "See uidgen.status and the server log. If there are many renewals, raise the setting \"uidgen.window\"; otherwise raise \"uidgen.wait_timeout\".",
		.reason = UIDGEN_WAIT_GRANT,
	};

	uidgen_wait_for_keeper(wait, &lack);
}
