/*
 * attachment.c
 *	  How this process stands to the server's generator: see attachment.h.
 */
#include "postgres.h"

#include "memory/attachment.h"

#include "compat.h"
#include "memory/guc.h"
#include "memory/memory.h"

/* Has somebody made the memory?  Asked once a transaction, as a function that decodes may be called for each of
 * many rows. */
static bool
memory_is_made(void)
{
	static LocalTransactionId looked_in = InvalidLocalTransactionId;
	LocalTransactionId now = uidgen_local_transaction();

	if (LocalTransactionIdIsValid(now) && now == looked_in)
		return false;
	looked_in = now;
	return uidgen_memory_is_made();
}

bool
uidgen_take_over_pinned(void)
{
	UidgenPinned pinned;
	UidgenPinState state;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	state = uidgen_memory->pin_state;
	pinned = uidgen_memory->pinned;
	LWLockRelease(&uidgen_memory->lock);
	if (state != UIDGEN_PINNED)
		return false;
	uidgen_go_by(&pinned);
	uidgen_map_slots(false);
	uidgen_attached = true;
	uidgen_follow_server_settings();
	return true;
}

/*
 * While nothing is pinned.  If this process does not know the settings of the configuration files, the
 * keeper will check them.
 */
static UidgenAttachment
unattached_state(void)
{
	static TimestampTz checked = 0;

	if (checked == 0)
		checked = PgReloadTime;
	if (checked != PgReloadTime)
	{
		checked = PgReloadTime;
		uidgen_check_settings_again();
	}
	return uidgen_checked_settings()->bad_setting[0] && !uidgen_layout_is_unknown() && !uidgen_settings_are_unknown() ?
		UIDGEN_BAD_SETTING : UIDGEN_UNATTACHED;
}

UidgenAttachment
uidgen_look(void)
{
	if (uidgen_attached)
	{
		uidgen_follow_server_settings();
		return UIDGEN_ATTACHED;
	}
	if (uidgen_preloaded)
		return UIDGEN_BAD_SETTING;
	if (uidgen_settings_of_another())
		return UIDGEN_OTHER_LIBRARY;
	if (!UIDGEN_CAN_ATTACH)
		return UIDGEN_NOT_PRELOADED;
	if (!uidgen_memory && !memory_is_made())
		return unattached_state();
	if (!uidgen_map_memory())
		return UIDGEN_OTHER_SHAPE;
	return uidgen_take_over_pinned() ? UIDGEN_ATTACHED : unattached_state();
}

void
uidgen_attachment_failure(UidgenAttachment attachment, UidgenFailure *failure)
{
	const UidgenPinned *checked = uidgen_checked_settings();

	switch (attachment)
	{
		case UIDGEN_ATTACHED:
		case UIDGEN_UNATTACHED:
			memset(failure, 0, sizeof(*failure));
			break;
		case UIDGEN_BAD_SETTING:
			uidgen_bad_setting_failure(checked, failure);
			break;
		case UIDGEN_NOT_PRELOADED:
			if (uidgen_restart_is_pending("shared_preload_libraries"))
				uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
								   "uidgen must be loaded via shared_preload_libraries",
								   "The setting \"shared_preload_libraries\" was changed, and counts from the next start of the server on.",
								   "Restart the server.");
			else
				uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
								   "uidgen must be loaded via shared_preload_libraries",
								   "Until then, only functions that are given a layout work.",
								   "Add uidgen to the setting \"shared_preload_libraries\" and restart the server, or give the layout as an argument where the function takes one.");
			break;
		case UIDGEN_OTHER_LIBRARY:
			uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   "another library of uidgen is loaded than the one that was called",
							   "The library that was called is of version " UIDGEN_VERSION " and has no shared memory.",
							   "Restart the server, or begin a new session where uidgen is not preloaded. If that does not help, name the library in the setting \"shared_preload_libraries\" without its folder: uidgen.");
			break;
		case UIDGEN_OTHER_SHAPE:
			uidgen_failure_set(failure, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
							   "the server generates ids with another version of uidgen",
							   psprintf("Its library is of version %s, and this session has version %s.",
										uidgen_other_head()->version, UIDGEN_VERSION),
							   "Restart the server: then all processes load the library that is installed.");
			break;
	}
}

void
uidgen_report_attachment(UidgenAttachment attachment)
{
	UidgenFailure failure;

	if (attachment == UIDGEN_ATTACHED || attachment == UIDGEN_UNATTACHED)
		return;
	uidgen_attachment_failure(attachment, &failure);
	uidgen_raise_failure(&failure);
}

void
uidgen_bad_setting_failure(const UidgenPinned *checked, UidgenFailure *failure)
{
	const UidgenComplaint *complaint = &checked->complaint;

	uidgen_failure_set(failure, ERRCODE_INVALID_PARAMETER_VALUE,
					   psprintf("uidgen is off because of the setting \"%s\": %s", checked->bad_setting, complaint->message),
					   psprintf("%s%s%s", complaint->detail, complaint->hint[0] ? " " : "", complaint->hint),
					   psprintf(uidgen_preloaded ? "Correct the setting \"%s\" and restart the server." :
								"Correct the setting \"%s\" and reload the configuration.", checked->bad_setting));
}

const UidgenLayout *
uidgen_layout_of_settings(void)
{
	static UidgenLayout layout;
	static char text[UIDGEN_LAYOUT_TEXT_SIZE];
	const UidgenPinned *checked = uidgen_checked_settings();
	UidgenComplaint error;

	Assert(!uidgen_attached);
	if (uidgen_layout_is_unknown())
		return NULL;
	uidgen_report_attachment(unattached_state());
	if (strcmp(text, checked->layout) != 0)
	{
		text[0] = '\0';
		if (!uidgen_layout_parse(checked->layout, &layout, &error))
			elog(ERROR, "the layout \"%s\" cannot be read: %s", checked->layout, error.message);
		strlcpy(text, checked->layout, sizeof(text));
	}
	return &layout;
}

const char *
uidgen_servers_layout(void)
{
	return uidgen_attached ? uidgen_layout_text : uidgen_checked_settings()->layout;
}

void
uidgen_follow_server_settings(void)
{
	static uint64 followed = 0;
	UidgenServerSettings settings;
	uint64		changes;

	if (!uidgen_settings_are_unknown())
		return;
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	changes = uidgen_memory->settings_changes;
	settings = uidgen_memory->settings;
	LWLockRelease(&uidgen_memory->lock);
	if (changes == followed)
		return;
	if (uidgen_set_server_settings(&settings))
		followed = changes;
}
