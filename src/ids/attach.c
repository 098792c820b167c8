/*
 * attach.c
 *	  Attaches this process to the server's generator: see attach.h.
 */
#include "postgres.h"

#include "ids/attach.h"

#include <limits.h>

#include "core/clock.h"
#include "ids/layout_used.h"
#include "ids/waiting.h"
#include "link/link.h"
#include "memory/attachment.h"
#include "memory/worker.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

static uint64
settings_checks(void)
{
	uint64		number;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	number = uidgen_memory->settings_checks;
	LWLockRelease(&uidgen_memory->lock);
	return number;
}

/*
 * The settings were found bad.  Is that so still?  `before` is the number of checks when this call
 * began.  A check of before counts only if its keeper had read the configuration when this process
 * had; otherwise another keeper has to check.  A process that does not know the settings would call one at
 * each call: it remembers what it was told since its last reload.  A process that knows them does not come here
 * while it finds them bad.
 */
static bool
is_unfit(uint64 before, UidgenFailure *failure)
{
	static TimestampTz told_at = 0;
	UidgenPinned pinned;
	bool		unfit;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	pinned = uidgen_memory->pinned;
	unfit = uidgen_memory->pin_state == UIDGEN_UNFIT &&
		(uidgen_memory->settings_checks != before || uidgen_memory->checked_reload == PgReloadTime ||
		 told_at == PgReloadTime);
	LWLockRelease(&uidgen_memory->lock);
	if (!unfit)
		return false;
	if (uidgen_settings_are_unknown())
		told_at = PgReloadTime;
	uidgen_bad_setting_failure(&pinned, failure);
	return true;
}

/* A new keeper has not pinned anything in that time. */
static void
set_timeout(UidgenFailure *failure, bool has_keeper, int milliseconds)
{
	if (uidgen_demand_failure(&uidgen_memory->grant_demand, failure))
		return;
	if (has_keeper)
		uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						   "uidgen has no grant to issue ids from",
						   psprintf("The keeper, a background worker, was called and has not begun within %d ms.",
									milliseconds),
						   "See the server log.");
	else
		uidgen_no_keeper_failure(failure);
}

static void
begin_wait(UidgenWait *wait, UidgenDemand *demand, int milliseconds)
{
	memset(wait, 0, sizeof(*wait));
	wait->on = demand;
	wait->deadline = uidgen_clock_monotonic() + INT64CONST(1000) * milliseconds;
}

/* A first grant pins the settings. */
static void
wait_for_first_grant(int milliseconds)
{
	UidgenWait	wait;
	UidgenFailure failure;
	uint64		before = settings_checks();

	begin_wait(&wait, &uidgen_memory->grant_demand, milliseconds);
	while (!uidgen_take_over_pinned())
	{
		bool		has_keeper;

		if (is_unfit(before, &failure))
			uidgen_raise_failure(&failure);
		if (settings_checks() > 0)
		{
			uidgen_wait_for_grant(&wait);
			continue;
		}

		/* No keeper has come as far as to go by any settings. */
		has_keeper = uidgen_ensure_keeper();
		if (uidgen_wait_expired(&wait))
		{
			set_timeout(&failure, has_keeper, milliseconds);
			uidgen_raise_failure(&failure);
		}
		uidgen_wait_sleep(&wait, UIDGEN_NEVER_SERVED, LONG_MAX, UIDGEN_WAIT_ATTACH);
	}
}

static void
wait_for_settings(int milliseconds)
{
	UidgenWait	wait;
	UidgenFailure failure;
	uint64		before = settings_checks();

	begin_wait(&wait, &uidgen_memory->grant_demand, milliseconds);
	pg_atomic_write_u32(&uidgen_memory->pin_wanted, 1);
	uidgen_wake_keeper();
	while (!uidgen_take_over_pinned())
	{
		bool		has_keeper;

		if (is_unfit(before, &failure))
			uidgen_raise_failure(&failure);
		has_keeper = uidgen_ensure_keeper();
		if (uidgen_wait_expired(&wait))
		{
			set_timeout(&failure, has_keeper, milliseconds);
			uidgen_raise_failure(&failure);
		}
		uidgen_wait_sleep(&wait, UIDGEN_NEVER_SERVED, LONG_MAX, UIDGEN_WAIT_ATTACH);
	}
}

bool
uidgen_layout_is_misplaced(UidgenFailure *failure)
{
	if (uidgen_attached || !strstr(uidgen_misplaced_settings(), "uidgen.layout"))
		return false;
	uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
					   "the layout is set where it does not count",
					   "ALTER DATABASE, ALTER ROLE or the client has set \"uidgen.layout\". The first id would fix another layout for this server and the ids of its databases.",
					   "Set \"uidgen.layout\" in postgresql.conf or by ALTER SYSTEM, reload the configuration, and take the other value back by ALTER DATABASE or ALTER ROLE with RESET.");
	return true;
}

void
uidgen_attach_slowly(bool draws)
{
	int			milliseconds = Max(uidgen_wait_timeout, UIDGEN_WAKE_UP_MS);
	UidgenFailure failure;

	uidgen_report_attachment(uidgen_look());
	if (uidgen_attached)
		return;

	/*
	 * Before anything is made and pinned.  What this process does not see,
	 * its first wait for the keeper finds.
	 */
	if (!IsUnderPostmaster || !uidgen_settings_are_unknown())
		uidgen_check_server();
	if (!uidgen_layout_is_unknown())
		(void) uidgen_check_layout_used();
	if (!uidgen_map_memory())
		uidgen_report_attachment(UIDGEN_OTHER_SHAPE);
	if (!uidgen_take_over_pinned() && uidgen_layout_is_misplaced(&failure))
		uidgen_raise_failure(&failure);
	if (draws)
		wait_for_first_grant(milliseconds);
	else
		wait_for_settings(milliseconds);
}

bool
uidgen_probe_grant(bool rehearse, UidgenFailure *failure)
{
	UidgenWait	wait;
	uint64		before;

	if (!uidgen_map_memory())
	{
		uidgen_attachment_failure(UIDGEN_OTHER_SHAPE, failure);
		return false;
	}
	if (uidgen_would_wait_for_itself(failure))
		return false;
	before = settings_checks();
	begin_wait(&wait, rehearse ? &uidgen_memory->rehearsal_demand : &uidgen_memory->grant_demand,
			   UIDGEN_PROBE_MS);
	wait.number = uidgen_demand_make(wait.on);
	while (!uidgen_demand_served(wait.on, wait.number))
	{
		bool		has_keeper;

		if (!uidgen_attached && !uidgen_take_over_pinned() && is_unfit(before, failure))
			return false;
		has_keeper = uidgen_ensure_keeper();
		if (uidgen_wait_expired(&wait))
		{
			if (!uidgen_attached)
				set_timeout(failure, has_keeper, UIDGEN_PROBE_MS);
			else
				(void) uidgen_demand_failure(wait.on, failure);
			return false;
		}
		uidgen_wait_sleep(&wait, wait.number, LONG_MAX, UIDGEN_WAIT_GRANT);
	}
	return !uidgen_demand_failure(wait.on, failure);
}
