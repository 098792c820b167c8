/*
 * status.c
 *	  The functions for operators: uidgen.status and uidgen.diagnose().
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "functions/values.h"
#include "ids/attach.h"
#include "ids/generator.h"
#include "ids/horizon.h"
#include "ids/layout_used.h"
#include "ids/waiting.h"
#include "link/link.h"
#include "link/strangers.h"
#include "memory/attachment.h"
#include "memory/guc.h"
#include "memory/identity.h"
#include "memory/memory.h"
#include "memory/server.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

SQL_FUNCTION(uidgen_status);
SQL_FUNCTION(uidgen_diagnose);
SQL_FUNCTION(uidgen_ask_for_grant);
SQL_FUNCTION(uidgen_library_version);

/* Not everybody may see the detail of a failed attempt; everybody may see the other failures' details. */
static char *
failure_text(const UidgenFailure *failure, bool with_detail)
{
	const char *detail = with_detail ? failure->detail : "";

	return psprintf("%s.%s%s%s%s", failure->message, detail[0] ? " " : "", detail,
					failure->hint[0] ? " " : "", failure->hint);
}

/* What the server would say if somebody drew an id. */
static char *
attachment_complaint(UidgenAttachment attachment)
{
	UidgenFailure failure;

	uidgen_attachment_failure(attachment, &failure);
	return failure_text(&failure, true);
}

/* Why ids are ahead of the clock; NULL: they are not. */
static const char *
ahead_cause(UidgenAheadCause cause)
{
	switch (cause)
	{
		case UIDGEN_AHEAD_NOT:
			return NULL;
		case UIDGEN_AHEAD_BURST:
			return "burst";
		case UIDGEN_AHEAD_CLOCK_SET_BACK:
			return "clock set back";
		case UIDGEN_AHEAD_CRASH:
			return "crash";
	}
	return NULL;
}

/* The names of settings whose value in the configuration files counts from the next start of the server on; false: none. */
static bool
find_pending_settings(char names[UIDGEN_NAMES_SIZE])
{
	names[0] = '\0';
	if (uidgen_look() != UIDGEN_ATTACHED)
		return false;
	if (uidgen_preloaded)
		uidgen_pending_settings(uidgen_checked_settings(), names);
	else
	{
		LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
		strlcpy(names, uidgen_memory->pending, UIDGEN_NAMES_SIZE);
		LWLockRelease(&uidgen_memory->lock);
	}
	return names[0] != '\0';
}

/* The columns of uidgen.status. */
typedef enum StatusColumn
{
	STATE, WORKER_ID, DATACENTER_ID, LAYOUT, REGISTRY, GRANTED_UNTIL, AHEAD,
	RENEWALS, FAILURES, LAST_ERROR, WAITS, CLOCK_STEPS, EXPIRES_AT, WASTED,
	AHEAD_CAUSE, FREE_WORKER_IDS,
	REGISTRY_HOST, CLOCK_OFFSET, CLOCK_WIDTH, TIMELINE, QUARANTINE_UNTIL,
	HORIZON_LAG, PENDING_RESTART,
	STATUS_COLUMNS
} StatusColumn;

static const UidgenColumn no_status[STATUS_COLUMNS] = {
	[STATE] = NULL_COLUMN(TEXTOID),
	[WORKER_ID] = NULL_COLUMN(INT4OID),
	[DATACENTER_ID] = NULL_COLUMN(INT4OID),
	[LAYOUT] = NULL_COLUMN(TEXTOID),
	[REGISTRY] = NULL_COLUMN(TEXTOID),
	[GRANTED_UNTIL] = NULL_COLUMN(TIMESTAMPTZOID),
	[AHEAD] = NULL_COLUMN(INTERVALOID),
	[RENEWALS] = NULL_COLUMN(INT8OID),
	[FAILURES] = NULL_COLUMN(INT8OID),
	[LAST_ERROR] = NULL_COLUMN(TEXTOID),
	[WAITS] = NULL_COLUMN(INT8OID),
	[CLOCK_STEPS] = NULL_COLUMN(INT8OID),
	[EXPIRES_AT] = NULL_COLUMN(TIMESTAMPTZOID),
	[WASTED] = NULL_COLUMN(INT8OID),
	[AHEAD_CAUSE] = NULL_COLUMN(TEXTOID),
	[FREE_WORKER_IDS] = NULL_COLUMN(INT8OID),
	[REGISTRY_HOST] = NULL_COLUMN(TEXTOID),
	[CLOCK_OFFSET] = NULL_COLUMN(INTERVALOID),
	[CLOCK_WIDTH] = NULL_COLUMN(INTERVALOID),
	[TIMELINE] = NULL_COLUMN(INT4OID),
	[QUARANTINE_UNTIL] = NULL_COLUMN(TIMESTAMPTZOID),
	[HORIZON_LAG] = NULL_COLUMN(INTERVALOID),
	[PENDING_RESTART] = NULL_COLUMN(TEXTOID),
};

/* What the shared memory says, read in one look.  All zero: there is no memory yet. */
typedef struct StatusLook
{
	bool		held;
	bool		of_fleet;		/* the registry */
	UidgenGrant grant;
	UidgenNode	node;
	char		host[sizeof(uidgen_memory->registry_host)];
	UidgenFailure failure;		/* why the last attempt for a grant failed */
	UidgenFailure move_failure; /* why the last move to the fleet failed */
} StatusLook;

static void
look_at_memory(StatusLook *look, UidgenColumn *row)
{
	memset(look, 0, sizeof(*look));
	if (!uidgen_memory)
		return;
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	look->held = uidgen_memory->lease.held;
	look->grant = uidgen_memory->lease.grant;
	look->node = uidgen_memory->node;
	strlcpy(look->host, uidgen_memory->registry_host, sizeof(look->host));
	look->failure = uidgen_memory->grant_demand.failure;
	look->move_failure = uidgen_memory->move_demand.failure;
	SET(RENEWALS, Int64GetDatum(uidgen_memory->renewals));
	SET(FAILURES, Int64GetDatum(uidgen_memory->grant_demand.failures));
	SET(CLOCK_STEPS, Int64GetDatum(uidgen_memory->clock_steps));
	LWLockRelease(&uidgen_memory->lock);
	SET(WAITS, Int64GetDatum(pg_atomic_read_u64(&uidgen_memory->grant_demand.waits)));
	SET(WASTED, Int64GetDatum(pg_atomic_read_u64(&uidgen_memory->wasted)));
	look->of_fleet = look->held ? uidgen_grant_is_of_fleet(&look->grant) : uidgen_link()->fleet;
	SET(REGISTRY, CStringGetTextDatum(look->of_fleet ? "shared" : "local"));
}

/* The state in a word or two; *error is the reason for a bad one, or NULL. */
static const char *
find_state(UidgenAttachment attachment, StatusLook *look, const char **error)
{
	char	   *layouts;
	int			nlayouts;

	*error = NULL;
	if (attachment == UIDGEN_NOT_PRELOADED)
		return "not preloaded";
	if (attachment == UIDGEN_OTHER_LIBRARY || attachment == UIDGEN_OTHER_SHAPE)
	{
		*error = attachment_complaint(attachment);
		return "other library";
	}
	if (attachment == UIDGEN_BAD_SETTING)
	{
		*error = attachment_complaint(attachment);
		return "bad setting";
	}
	if (uidgen_link()->in_recovery())
		return "recovery";
	if (uidgen_link()->is_missing(&look->failure) || look->failure.sqlerrcode != 0)
	{
		*error = look->failure.message;
		return "failing";
	}
	if (uidgen_layout_use(&layouts, &nlayouts) == UIDGEN_LAYOUT_OTHER)
	{
		*error = UIDGEN_LAYOUT_USED_MESSAGE;
		return "failing";
	}

	/*
	 * The server goes on with its local registry while the fleet's cannot be
	 * had.
	 */
	if (look->held && !look->of_fleet && uidgen_link()->fleet && look->move_failure.sqlerrcode != 0)
		*error = look->move_failure.message;

	/*
	 * If the clock has passed the grant's end, the grant is over until the
	 * next call.
	 */
	return look->held && look->grant.last >= uidgen_clock_tick() ? "granted" : "idle";
}

/* The settings that ids are made by or, while this process is unattached, would be. */
static void
show_settings(UidgenAttachment attachment, UidgenColumn *row)
{
	if (attachment == UIDGEN_ATTACHED)
	{
		SET(DATACENTER_ID, Int32GetDatum(uidgen_datacenter_id));
		SET(LAYOUT, CStringGetTextDatum(uidgen_layout_text));
		SET(EXPIRES_AT, TimestampTzGetDatum(uidgen_layout_expiry(&uidgen_layout)));
	}
	else if (attachment == UIDGEN_UNATTACHED && !uidgen_layout_is_unknown())
	{
		SET(DATACENTER_ID, Int32GetDatum(uidgen_checked_settings()->datacenter_id));
		SET(LAYOUT, CStringGetTextDatum(uidgen_servers_layout()));
		SET(EXPIRES_AT, TimestampTzGetDatum(uidgen_layout_expiry(uidgen_layout_of_settings())));
	}
}

/* Also while idle: the worker id is kept, and its grant is renewed when needed. */
static void
show_grant(const UidgenGrant *grant, UidgenColumn *row)
{
	TimestampTz granted_until;

	/*
	 * Read before the clock, so that an id drawn meanwhile does not seem
	 * ahead; `tick` is the last id's.
	 */
	UidgenTicketReach reach = uidgen_ticket_reach(uidgen_server_words);
	UidgenPosition position = uidgen_atomic_read(&uidgen_server_words->position);
	UidgenTick	tick = uidgen_ticket_tick(&uidgen_rules, position - (position > 0));
	UidgenTick	now = uidgen_clock_tick();
	const char *cause = ahead_cause(uidgen_ticket_cause(&reach, tick, now));

	SET(WORKER_ID, Int32GetDatum(grant->worker));
	if (uidgen_tick_timestamp(&uidgen_layout, (uint64) grant->last, &granted_until))
		SET(GRANTED_UNTIL, TimestampTzGetDatum(granted_until));
	SET(AHEAD, IntervalPGetDatum(uidgen_interval(uidgen_tick_minus(tick, now) * uidgen_layout.unit)));
	if (cause)
		SET(AHEAD_CAUSE, CStringGetTextDatum(cause));
	SET(FREE_WORKER_IDS, Int64GetDatum(grant->free_workers));
}

/* What the last answer of a fleet's registry said. */
static void
show_fleet(const UidgenNode *node, const char *host, UidgenColumn *row)
{
	TimestampTz quarantine_until;

	if (host[0])
		SET(REGISTRY_HOST, CStringGetTextDatum(host));
	if (node->clock.known)
	{
		SET(CLOCK_OFFSET, IntervalPGetDatum(uidgen_interval(node->clock.offset - uidgen_clock_offset())));
		SET(CLOCK_WIDTH, IntervalPGetDatum(uidgen_interval(node->clock.width)));
	}
	SET(TIMELINE, Int32GetDatum(node->seen.timeline));
	if (node->quarantine_until > uidgen_clock_tick() &&
		uidgen_tick_timestamp(&uidgen_layout, (uint64) node->quarantine_until, &quarantine_until))
		SET(QUARANTINE_UNTIL, TimestampTzGetDatum(quarantine_until));
}

/* The row of uidgen.status. */
Datum
uidgen_status(PG_FUNCTION_ARGS)
{
	UidgenColumn row[STATUS_COLUMNS];
	StatusLook	look;
	bool		see_details = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
	const char *error;
	char		pending[UIDGEN_NAMES_SIZE];
	UidgenTick	lag;
	UidgenAttachment attachment = uidgen_look();

	memcpy(row, no_status, sizeof(row));
	look_at_memory(&look, row);
	SET(STATE, CStringGetTextDatum(find_state(attachment, &look, &error)));
	if (error && see_details)
		SET(LAST_ERROR, CStringGetTextDatum(error));
	show_settings(attachment, row);
	if (look.held)
		show_grant(&look.grant, row);
	if (look.of_fleet && look.node.joined)
		show_fleet(&look.node, see_details ? look.host : "", row);
	/* How far readers are behind, where something can be said. */
	if (attachment == UIDGEN_ATTACHED && !RecoveryInProgress() && uidgen_horizon_lag(&lag))
		SET(HORIZON_LAG, IntervalPGetDatum(uidgen_interval(lag * uidgen_layout.unit)));
	if (find_pending_settings(pending))
		SET(PENDING_RESTART, CStringGetTextDatum(pending));
	return uidgen_return_row(fcinfo, row, STATUS_COLUMNS);
}

/* What to say if this database has ids of another layout; otherwise NULL. */
static char *
other_layout_complaint(void)
{
	char	   *layouts;
	int			n;

	if (uidgen_layout_use(&layouts, &n) != UIDGEN_LAYOUT_OTHER)
		return NULL;
	return psprintf(UIDGEN_LAYOUT_USED_MESSAGE ". " UIDGEN_LAYOUT_USED_DETAIL " %s%s",
					layouts, uidgen_servers_layout(), UIDGEN_LAYOUT_USED_HINT,
					n > 1 ? "" :
					" Until then, functions such as uid_parse(id) read them wrongly unless they are given the layout.");
}

/* What the next start will do with the layout of the configuration files, in a sentence with a space before it. */
static char *
next_start(const char *names)
{
	char		layout[UIDGEN_LAYOUT_TEXT_SIZE];
	UidgenComplaint error;
	char	   *layouts;
	int			n;

	if (!strstr(names, "uidgen.layout"))
		return "";
	switch (uidgen_configured_layout(layout, &error))
	{
		case UIDGEN_CONFIGURED_BAD:
			return psprintf(" It will refuse all ids, since the layout there is bad: %s.", error.message);
		case UIDGEN_CONFIGURED_SAME:
			return " The layout there is the same as now.";
		case UIDGEN_CONFIGURED_OTHER:
			break;
	}
	if (uidgen_layout_use(&layouts, &n) == UIDGEN_LAYOUT_SUITS || uidgen_atomic_read(&uidgen_server_words->era) != 1)
		return psprintf(" It will refuse all ids of this database: ids were issued of \"%s\", and the layout there is \"%s\". "
						"Set \"uidgen.layout\" back, or follow \"A new layout\" in docs/layouts.md.",
						uidgen_layout_text, layout);
	return psprintf(" Its ids will be of \"%s\".", layout);
}

/* What to say if settings are pending; otherwise NULL. */
static char *
pending_complaint(void)
{
	char		names[UIDGEN_NAMES_SIZE];

	if (!find_pending_settings(names))
		return NULL;
	return psprintf("the value of %s in the configuration counts only from the next start of the server on.%s",
					names, next_start(names));
}

/* What is on the registry's tables, such as a trigger, and is not the registry's; NULL: nothing known here. */
static char *
find_stranger(void)
{
	char	   *name;

	if (!uidgen_attached)
		return NULL;
	if (uidgen_link()->fleet)	/* this may be its server */
		return uidgen_find_strange_trigger();
	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	name = pstrdup(uidgen_memory->stranger);
	LWLockRelease(&uidgen_memory->lock);
	return name[0] ? name : NULL;
}

/* What to say if strangers are there that `error` does not name; otherwise NULL. */
static char *
stranger_complaint(const char *error)
{
	char	   *name = find_stranger();

	return name && !(error && strstr(error, name)) ? psprintf("%s is none of the registry's. If it draws ids, or fails, no worker id is granted when this server starts the next time. Drop it.", name) : NULL;
}

/* Has this session values that do not count? */
static char *
misplaced_complaint(void)
{
	if (uidgen_misplaced_settings()[0] == '\0')
		return NULL;
	return psprintf("ALTER DATABASE, ALTER ROLE or the client has set %s, and only the configuration of the server counts. Take it back with RESET.",
					uidgen_misplaced_settings());
}

/* What to say if a copy would be taken for this server; otherwise NULL. */
static char *
copies_complaint(void)
{
	if (!uidgen_is_like_its_copies())
		return NULL;
	return "this server cannot be told from a copy of its disk. " UIDGEN_LIKE_COPIES_DETAIL " " UIDGEN_LIKE_COPIES_HINT;
}

/* Nothing was granted since the server started, and a grant of the local registry would pin the layout. */
static bool
would_pin(void)
{
	return !uidgen_link()->fleet &&
		(!uidgen_memory || uidgen_atomic_read(&uidgen_memory->words.era) == 1);
}

/*
 * What is missing before ids can be issued, and what to do, in a sentence or two; NULL if
 * nothing is.  Everyone may call it, since those who see uid_next() fail are seldom
 * superusers; so it says no more than the error of uid_next() does.  And it costs the
 * registry nothing while all is well, unless the keeper is to make an attempt in any case.
 */
static char *
find_what_is_missing(bool in_any_case)
{
	UidgenAttachment attachment = uidgen_look();
	UidgenFailure failure = {0};
	char	   *complaint;

	if (attachment != UIDGEN_ATTACHED && attachment != UIDGEN_UNATTACHED)
		return attachment_complaint(attachment);
	if (!IsUnderPostmaster)
		return UIDGEN_SINGLE_USER_MESSAGE ". " UIDGEN_SINGLE_USER_DETAIL " " UIDGEN_SINGLE_USER_HINT;
	if (uidgen_link()->in_recovery())
		return "The server is in recovery; ids are issued after its end.";

	/* Before the keeper is asked, because a first grant would pin the layout. */
	complaint = other_layout_complaint();
	if (complaint)
		return complaint;
	if (uidgen_layout_is_misplaced(&failure))
		return failure_text(&failure, true);
	if (!uidgen_link()->is_missing(&failure) &&
		((!in_any_case && attachment == UIDGEN_ATTACHED && uidgen_has_sound_grant()) ||
		 uidgen_probe_grant(!in_any_case && would_pin(), &failure)))
		return NULL;
	if (failure.sqlerrcode == 0)
		return "The keeper has not answered. See the server log, and the setting \"max_worker_processes\".";
	return failure_text(&failure, false);
}

static void
put_diagnosis(FunctionCallInfo fcinfo, const char *severity, const char *message)
{
	UidgenColumn row[] = {NULL_COLUMN(TEXTOID), NULL_COLUMN(TEXTOID)};

	SET(0, CStringGetTextDatum(severity));
	SET(1, CStringGetTextDatum(message));
	uidgen_put_row(fcinfo, row, lengthof(row));
}

/* If no ids are issued, the only warning tells what may be the cause. */
Datum
uidgen_diagnose(PG_FUNCTION_ARGS)
{
	char	   *error = find_what_is_missing(false);
	const char *found[][2] = {
		{"error", error},
		{"warning", error ? NULL : pending_complaint()},
		{"warning", stranger_complaint(error)},
		{"warning", error ? NULL : misplaced_complaint()},
		{"warning", error ? NULL : copies_complaint()},
	};
	bool		sound = true;

	for (int i = 0; i < (int) lengthof(found); i++)
	{
		if (!found[i][1])
			continue;
		put_diagnosis(fcinfo, found[i][0], found[i][1]);
		sound = false;
	}
	if (sound)
		put_diagnosis(fcinfo, "ok", "nothing is missing");
	return (Datum) 0;
}

/* Returns when the keeper has made an attempt, also where a grant is in force. */
Datum
uidgen_ask_for_grant(PG_FUNCTION_ARGS)
{
	char	   *missing = find_what_is_missing(true);

	PG_RETURN_TEXT_P(cstring_to_text(missing ? missing : "ok"));
}

Datum
uidgen_library_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(UIDGEN_VERSION));
}
