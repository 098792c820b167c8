/*
 * pinning.c
 *	  Pins the settings of a server that has not preloaded the library: see pinning.h.
 */
#include "postgres.h"

#include "keeper/pinning.h"

#include "keeper/succession.h"
#include "memory/attachment.h"
#include "memory/memory.h"
#include "memory/worker.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

void
uidgen_pinning_begin(void)
{
	UidgenMemoryHead *head;

	if (uidgen_preloaded || uidgen_map_memory())
		return;
	head = uidgen_other_head();
	/* The server's keeper calls a successor again and again. */
	if (pg_atomic_fetch_add_u32(&head->other_versions, 1) == 0)
		ereport(LOG,
				(errmsg("the server generates ids with another version of uidgen"),
				 errdetail("The library that is installed is of version %s, and that in use of version %s.",
						   UIDGEN_VERSION, head->version),
				 errhint("Restart the server: then all processes load the library that is installed.")));
	proc_exit(0);
}

static void
note_settings(void)
{
	UidgenServerSettings settings;
	char		pending[UIDGEN_NAMES_SIZE];

	memset(&settings, 0, sizeof(settings));
	uidgen_read_server_settings(&settings);
	pending[0] = '\0';
	if (uidgen_memory->pin_state == UIDGEN_PINNED)
		uidgen_pending_settings(&uidgen_memory->pinned, pending);
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	if (uidgen_memory->settings_changes == 0 || memcmp(&settings, &uidgen_memory->settings, sizeof(settings)) != 0)
	{
		uidgen_memory->settings = settings;
		uidgen_memory->settings_changes++;
	}
	strlcpy(uidgen_memory->pending, pending, sizeof(uidgen_memory->pending));
	LWLockRelease(&uidgen_memory->lock);
}

static void
report_bad_setting(const UidgenPinned *checked)
{
	UidgenFailure failure;

	uidgen_bad_setting_failure(checked, &failure);
	ereport(LOG,
			(errcode(failure.sqlerrcode),
			 errmsg("uidgen issues no ids because of the setting \"%s\": %s", checked->bad_setting,
					checked->complaint.message),
			 errdetail_internal("%s", failure.detail),
			 errhint("%s", failure.hint)));
}

/*
 * Make the second part.  If there is no room for it, that is told to all who wait, and this process ends
 * with code 0: with another one it would be started again at once, and without end.  The next caller
 * calls another keeper.
 */
static void
make_slots(void)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		uidgen_map_slots(true);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		UidgenFailure failure;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		uidgen_failure_set(&failure, error->sqlerrcode, error->message, error->detail, error->hint);
		if (uidgen_demand_failed(&uidgen_memory->grant_demand, &failure, 0, false))
			EmitErrorReport();
		FlushErrorState();
		proc_exit(0);
	}
	PG_END_TRY();
}

/* Nothing is pinned yet: what this process goes by is its own. */
static bool unpinned = false;

bool
uidgen_may_change_settings(void)
{
	return unpinned;
}

/* What is known of grants counts ticks of the layout. */
static void
forget_grants(void)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	Assert(!uidgen_memory->lease.held);
	uidgen_lease_init(&uidgen_memory->lease);
	uidgen_node_init(&uidgen_memory->node);
	memset(&uidgen_memory->unused, 0, sizeof(uidgen_memory->unused));
	uidgen_memory->local_recalled = false;
	LWLockRelease(&uidgen_memory->lock);
}

/*
 * Go by the settings as they are, if they are good.  What a former keeper has learnt stays where the layout is the
 * same: a node that forgot which worker id an answer may have been about would take another one.
 */
static void
go_by_settings(void)
{
	UidgenPinned former = uidgen_memory->pinned;
	const UidgenPinned *checked = uidgen_checked_settings();
	bool		good = !checked->bad_setting[0];

	if (good)
	{
		uidgen_go_by(checked);
		if (strcmp(former.layout, checked->layout) != 0)
		{
			forget_grants();
			uidgen_warn_of_end();
		}
		if (!unpinned || former.max_segments != checked->max_segments)
			make_slots();
	}
	unpinned = true;
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_memory->pinned = *checked;
	uidgen_memory->checked_reload = PgReloadTime;
	uidgen_memory->settings_checks++;
	uidgen_memory->pin_state = good ? UIDGEN_UNPINNED : UIDGEN_UNFIT;
	LWLockRelease(&uidgen_memory->lock);
	if (good)
		return;
	report_bad_setting(checked);

	/*
	 * This process has come, so nobody need pause before another keeper is
	 * called.
	 */
	uidgen_keeper_came();
	/* Whoever waits is told when this process leaves the slot. */
	proc_exit(0);
}

void
uidgen_settle(void)
{
	Assert(uidgen_is_keeper());
	if (uidgen_attached)
		return;
	if (!uidgen_take_over_pinned())
	{
		go_by_settings();
		uidgen_attached = true;
	}
	note_settings();
	ConditionVariableBroadcast(&uidgen_memory->grant_demand.changed);
}

void
uidgen_pinning_reload(void)
{
	if (uidgen_preloaded)
		return;
	uidgen_check_settings_again();
	if (unpinned)
		go_by_settings();
	note_settings();
}

void
uidgen_pin_settings(void)
{
	if (!unpinned)
		return;
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_memory->pin_state = UIDGEN_PINNED;
	LWLockRelease(&uidgen_memory->lock);
	unpinned = false;
	note_settings();
	ConditionVariableBroadcast(&uidgen_memory->grant_demand.changed);
}

void
uidgen_pin_if_wanted(void)
{
	if (unpinned && pg_atomic_read_u32(&uidgen_memory->pin_wanted) != 0)
		uidgen_pin_settings();
}
