/*
 * guc.c
 *	  Every setting: variable, limits and hooks, and what follows from them.
 *
 * A bad value must not be replaced by the default: with the wrong layout or worker id
 * the server would pin that layout and issue wrong ids.  But PostgreSQL does so, with a WARNING, when a library
 * defines a setting and its configured value does not parse or is refused (reapply_options()).  So while settings are
 * defined, the hooks accept everything.  define_int() and define_enum() look at the text of the value themselves, and
 * check_together() checks all values at the end.  If any is bad, the generator is off, and every uid_next() says why.
 * Once they are defined, the hooks refuse as usual.
 *
 * A library that is not preloaded may not define settings that are fixed at server start.  Then a
 * reload can change these settings, too.  The server still goes by the pinned values.
 */
#include "postgres.h"

#include "memory/guc.h"

#include <limits.h>

#include "access/xact.h"
#include "common/hashfn.h"
#include "compat.h"
#include "core/clock.h"
#include "memory/secrets.h"
#include "miscadmin.h"
#include "utils/datetime.h"

#define WINDOW_DEFAULT (10 * 1000)	/* of a local registry */
#define WINDOW_MAX (24 * 60 * 60 * 1000)	/* a day */
#define WAIT_TIMEOUT_MAX (60 * 60 * 1000)	/* an hour */
#define REGISTRY_TIMEOUT_MAX (10 * 60 * 1000)	/* ten minutes */
#define SEGMENTS_MAX 100000
#define LAYOUT_WARNING (365 * USECS_PER_DAY)
#define SEGMENT_DURATION_MAX (24 * 60 * 60) /* a day, in seconds */

static const struct config_enum_entry worker_policies[] = {
	{"reuse", UIDGEN_REUSE, false},
	{"disposable", UIDGEN_DISPOSABLE, false},
	{NULL, 0, false}
};

static const struct config_enum_entry sequence_starts[] = {
	{"zero", UIDGEN_START_ZERO, false},
	{"random", UIDGEN_START_RANDOM, false},
	{"continue", UIDGEN_START_CONTINUE, false},
	{NULL, 0, false}
};

/* What the settings say; what is pinned is below. */
static char *layout_setting;
static int	datacenter_setting;
static int	worker_setting = -1;
static int	max_segments_setting;
static char *instance_setting;

int			uidgen_datacenter_id;
int			uidgen_worker_id = -1;
int			uidgen_max_segments;
uint64		uidgen_instance;
int			uidgen_worker_policy = UIDGEN_REUSE;
char	   *uidgen_database;
char	   *uidgen_registry;
int			uidgen_registry_timeout;
int			uidgen_window;
int			uidgen_padding_factor;
int			uidgen_max_ahead;
int			uidgen_max_burst;
int			uidgen_wait_timeout;
int			uidgen_segment_duration;
static int	sequence_start = UIDGEN_START_ZERO;

/* The unit is not 0, since code divides by it also where no layout was ever read. */
UidgenLayout uidgen_layout = {.unit = 1};
char		uidgen_layout_text[UIDGEN_LAYOUT_TEXT_SIZE];
UidgenTicketRules uidgen_rules;

static UidgenPinned checked;

/* Has this copy of the library defined the settings, or is it doing so now? */
static bool defined = false;
static bool defining = false;

/* What was found bad in the text of a value while settings were defined. */
static UidgenPinned bad_text;

/* Values of the configuration files that this process does not know. */
static bool layout_is_unknown = false;
static bool settings_are_unknown = false;

bool
uidgen_settings_of_another(void)
{
	/* A setting that no library has defined is a placeholder. */
	return !defined && GetConfigOption("uidgen.layout", true, false) &&
		!(GetConfigOptionFlags("uidgen.layout", true) & GUC_CUSTOM_PLACEHOLDER);
}

const UidgenPinned *
uidgen_checked_settings(void)
{
	return &checked;
}

/* Note a bad setting: keep the first one.  The postmaster logs each. */
static void
note_error(const UidgenComplaint *error, const char *setting)
{
	if (!checked.bad_setting[0])
	{
		strlcpy(checked.bad_setting, setting, sizeof(checked.bad_setting));
		checked.complaint = *error;
	}
	if (process_shared_preload_libraries_in_progress)
		ereport(LOG,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uidgen issues no ids because of the setting \"%s\": %s",
						setting, error->message),
				 errdetail_internal("%s%s%s", error->detail,
									error->hint[0] ? " " : "", error->hint),
				 errhint("Correct the setting and restart the server.")));
}

static void note_value(const char *setting, const char *detail,...) pg_attribute_printf(2, 3);

static void
note_value(const char *setting, const char *detail,...)
{
	UidgenComplaint error;
	va_list		args;

	memset(&error, 0, sizeof(error));
	strlcpy(error.message, "invalid value", sizeof(error.message));
	va_start(args, detail);
	vsnprintf(error.detail, sizeof(error.detail), detail, args);
	va_end(args);
	note_error(&error, setting);
}

/* A duration in whole ticks of the server's layout, rounded up or down. */
static UidgenTick
ticks_up(int64 milliseconds)
{
	return (milliseconds * 1000 + uidgen_layout.unit - 1) / uidgen_layout.unit;
}

static UidgenTick
ticks_down(int64 milliseconds)
{
	return milliseconds * 1000 / uidgen_layout.unit;
}

UidgenTick
uidgen_window_ticks(void)
{
	return ticks_up(uidgen_window == 0 ? WINDOW_DEFAULT : uidgen_window);
}

UidgenTick
uidgen_fleet_window_ticks(void)
{
	return ticks_up(uidgen_window == 0 ? WINDOW_MAX : uidgen_window);
}

UidgenTicketBounds
uidgen_time_bounds(void)
{
	UidgenTicketBounds bounds = {
		.ahead = ticks_down(uidgen_max_ahead),
		.burst = ticks_up(uidgen_max_burst),

		/*
		 * A second more, so that with max_ahead = 0 a small correction by a
		 * time server does not cost a worker id.
		 */
		.large_step = ticks_up(uidgen_max_ahead) + ticks_up(1000),
	};

	/*
	 * The worst that a crash leaves behind: ids were large_step and burst
	 * ahead, and the next position is one tick above that.  The keeper asks
	 * for the tick after it, and the grant ends a window later.  The next
	 * grant begins one tick above that end.
	 */
	bounds.crash = bounds.large_step + uidgen_window_ticks() + bounds.burst + 3;
	return bounds;
}

/* Set uidgen_rules by the layout and this uidgen.sequence_start. */
static void
derive_rules(int start)
{
	int			bits = uidgen_layout.bits[UIDGEN_SEQUENCE];

	if (bits == 0)
		return;					/* no generating layout (yet) */
	uidgen_rules.sequence_bits = bits;
	uidgen_rules.last_tick = (UidgenTick) uidgen_layout_maximum(&uidgen_layout, UIDGEN_TIME);

	/*
	 * The start is below an eighth of the capacity, so that a tick keeps most
	 * of it.
	 */
	uidgen_rules.start_mask = start == UIDGEN_START_ZERO || bits < 3 ? 0 :
		(UINT64CONST(1) << (bits - 3)) - 1;
	uidgen_rules.start_random = start == UIDGEN_START_RANDOM;
}

static void
assign_sequence_start(int newval, void *extra)
{
	derive_rules(newval);
}

/* How long a layout lasts from now on; less than 0: its time bits are used up. */
static UidgenMicroseconds
layout_lasts(const UidgenLayout *layout, UidgenMicroseconds *end)
{
	if (!uidgen_layout_time(layout, uidgen_layout_maximum(layout, UIDGEN_TIME), end))
		*end = PG_INT64_MAX;
	return *end - uidgen_clock_wall();
}

/* A date, as an error has it; there are no time zones yet when a server starts. */
static const char *
date_of(UidgenMicroseconds time)
{
	static char text[32];
	int			year;
	int			month;
	int			day;

	j2date((int) (time / USECS_PER_DAY) + UNIX_EPOCH_JDATE, &year, &month, &day);
	snprintf(text, sizeof(text), "%04d-%02d-%02d", year, month, day);
	return text;
}

/* Ids could be made with it, and decoded, but none can be drawn any more. */
static bool
is_used_up(const UidgenLayout *layout, UidgenComplaint *error)
{
	UidgenMicroseconds end;

	if (layout_lasts(layout, &end) >= 0)
		return false;
	memset(error, 0, sizeof(*error));
	strlcpy(error->message, "the layout is used up", sizeof(error->message));
	snprintf(error->detail, sizeof(error->detail), "Its time bits have ended on %s.", date_of(end));
	strlcpy(error->hint, "Give it a later epoch, as in \"baidu epoch:2025-01-01\", or more time bits.",
			sizeof(error->hint));
	return true;
}

static bool
check_layout(char **newval, void **extra, GucSource source)
{
	UidgenLayout layout;
	UidgenComplaint error;

	if (defining)
		return true;

	/*
	 * The one that the server runs with stays, however old it has become: a
	 * reload brings it here, too.
	 */
	if (uidgen_layout_parse(*newval, &layout, &error) &&
		uidgen_layout_generates(&layout, &error) &&
		(strcmp(*newval, layout_setting) == 0 || !is_used_up(&layout, &error)))
		return true;
	GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
	GUC_check_errmsg("%s", error.message);
	GUC_check_errdetail("%s", error.detail);
	GUC_check_errhint("%s", error.hint);
	return false;
}

/* The message does not repeat the value, as PostgreSQL's own would. */
static bool
check_registry(char **newval, void **extra, GucSource source)
{
	UidgenComplaint error;

	if (defining || uidgen_conninfo_may_be_shown(*newval, &error))
		return true;
	GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
	GUC_check_errmsg("invalid value for the setting \"uidgen.registry\"");
	GUC_check_errdetail("%s", error.detail);
	GUC_check_errhint("%s", error.hint);
	return false;
}

/*
 * The text that the configuration has for a setting that is not defined yet; NULL: none, or this process
 * does not see it, since a session, a role or a database has another one.  A setting that was taken out of
 * the configuration files is left behind by the postmaster, as an empty text without a source.
 */
static const char *
configured_text(const char *name)
{
	int			n;
	struct config_generic **settings = uidgen_all_settings(&n);

	for (int i = 0; i < n; i++)
		if (strcmp(settings[i]->name, name) == 0 &&
			(settings[i]->source == PGC_S_DEFAULT || settings[i]->source > PGC_S_ARGV))
			return NULL;
	return GetConfigOption(name, true, false);
}

/* DefineCustomIntVariable, after a check of the value in the configuration. */
static void
define_int(const char *name, const char *short_desc, const char *long_desc,
		   int *variable, int boot, int min, int max, GucContext context,
		   int flags, GucIntAssignHook assign)
{
	const char *text = configured_text(name);
	int			value;

	if (text && (!parse_int(text, &value, flags, NULL) ||
				 value < min || value > max))
		note_value(name, "\"%s\" is not a number from %d to %d%s.", text, min,
				   max, flags & GUC_UNIT_MS ? " ms" : flags & GUC_UNIT_S ? " s" : "");
	DefineCustomIntVariable(name, short_desc, long_desc, variable, boot, min,
							max, context, flags, NULL, assign, NULL);
}

/* DefineCustomEnumVariable, likewise. */
static void
define_enum(const char *name, const char *short_desc, const char *long_desc,
			int *variable, int boot, const struct config_enum_entry *options,
			GucContext context, GucEnumAssignHook assign)
{
	const char *text = configured_text(name);
	const struct config_enum_entry *option = options;

	while (text && option->name && pg_strcasecmp(text, option->name) != 0)
		option++;
	if (!option->name)
		note_value(name, "\"%s\" is not one of its values.", text);
	DefineCustomEnumVariable(name, short_desc, long_desc, variable, boot,
							 options, context, 0, NULL, assign, NULL);
}

/* In time for a new registry, which a layout with more room needs. */
static void
warn_of_end(const UidgenLayout *layout, const char *text)
{
	UidgenMicroseconds end;

	if (layout_lasts(layout, &end) < LAYOUT_WARNING)
		ereport(LOG,
				(errmsg("the layout of uidgen is used up on %s", date_of(end)),
				 errdetail("The setting \"uidgen.layout\" is \"%s\".", text),
				 errhint("Plan a new registry with a layout that has more time bits or a later epoch.")));
}

/* 0 of an empty text. */
static uint64
hash_of(const char *text)
{
	return text[0] ? Max(hash_bytes_extended((const unsigned char *) text, (int) strlen(text), 0), 1) : 0;
}

/* Check the settings against each other, which no single hook can do. */
static void
check_together(void)
{
	UidgenLayout layout;
	UidgenComplaint error;
	uint64		workers;
	uint64		datacenters;

	checked = bad_text;
	checked.datacenter_id = datacenter_setting;
	checked.worker_id = worker_setting;
	checked.max_segments = max_segments_setting;
	checked.instance = hash_of(instance_setting);
	if (!uidgen_layout_parse(layout_setting, &layout, &error) ||
		!uidgen_layout_generates(&layout, &error))
	{
		note_error(&error, "uidgen.layout");
		return;
	}
	Assert(layout.bits[UIDGEN_TIME] + layout.bits[UIDGEN_DATACENTER] +
		   layout.bits[UIDGEN_WORKER] + layout.bits[UIDGEN_TAG] +
		   layout.bits[UIDGEN_SEQUENCE] + layout.bits[UIDGEN_ZERO] ==
		   layout.total_bits);
	uidgen_layout_print(&layout, checked.layout);
	if (!uidgen_conninfo_may_be_shown(uidgen_registry, &error))
		note_error(&error, "uidgen.registry");
	if (process_shared_preload_libraries_in_progress)
		warn_of_end(&layout, checked.layout);

	workers = uidgen_layout_maximum(&layout, UIDGEN_WORKER);
	if (worker_setting >= 0 && (uint64) worker_setting > workers)
		note_value("uidgen.worker_id",
				   "%d is above " UINT64_FORMAT ", the layout's largest worker id.",
				   worker_setting, workers);
	datacenters = uidgen_layout_maximum(&layout, UIDGEN_DATACENTER);
	if (datacenters == 0 && datacenter_setting > 0)
		note_value("uidgen.datacenter_id",
				   "%d is above 0, but the layout has no datacenter field. A layout that has one is \"time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2025-01-01\".",
				   datacenter_setting);
	else if ((uint64) datacenter_setting > datacenters)
		note_value("uidgen.datacenter_id",
				   "%d is above " UINT64_FORMAT ", the layout's largest datacenter id.",
				   datacenter_setting, datacenters);
}

void
uidgen_warn_of_end(void)
{
	warn_of_end(&uidgen_layout, uidgen_layout_text);
}

void
uidgen_check_settings_again(void)
{
	/* A reload brings only values that have passed the hooks. */
	memset(&bad_text, 0, sizeof(bad_text));
	check_together();
}

void
uidgen_go_by(const UidgenPinned *pinned)
{
	UidgenComplaint error;

	Assert(!pinned->bad_setting[0]);
	if (!uidgen_layout_parse(pinned->layout, &uidgen_layout, &error))
		elog(ERROR, "the layout \"%s\" cannot be read: %s", pinned->layout, error.message);
	strlcpy(uidgen_layout_text, pinned->layout, sizeof(uidgen_layout_text));
	uidgen_datacenter_id = pinned->datacenter_id;
	uidgen_worker_id = pinned->worker_id;
	uidgen_max_segments = pinned->max_segments;
	uidgen_instance = pinned->instance;
	derive_rules(sequence_start);
}

/* ---- values that a process does not know ---- */

static char misplaced[4 * UIDGEN_NAMES_SIZE];	/* room for all */

static void
add_name(char *names, size_t size, const char *name)
{
	if (names[0])
		strlcat(names, ", ", size);
	strlcat(names, name, size);
}

const char *
uidgen_misplaced_settings(void)
{
	return misplaced;
}

bool
uidgen_layout_is_unknown(void)
{
	return layout_is_unknown;
}

bool
uidgen_settings_are_unknown(void)
{
	return settings_are_unknown;
}

/*
 * A setting that is not defined yet has one value, whoever gave it.  If that was neither the
 * configuration files nor the command line, theirs is lost.  And a library that a function of a parallel
 * query loads gets none of their values, since no setting may change then.
 */
static void
find_unknown_values(void)
{
	int			n;
	struct config_generic **settings = uidgen_all_settings(&n);

	layout_is_unknown = settings_are_unknown = IsInParallelMode();

	for (int i = 0; i < n; i++)
	{
		const char *name = settings[i]->name;

		if (!(settings[i]->flags & GUC_CUSTOM_PLACEHOLDER) || settings[i]->reset_source <= PGC_S_ARGV)
			continue;
		if (pg_strncasecmp(name, "uidgen.", strlen("uidgen.")) == 0 && pg_strcasecmp(name, "uidgen.wait_timeout") != 0)
			add_name(misplaced, sizeof(misplaced), name);
		if (pg_strcasecmp(name, "uidgen.layout") == 0)
			layout_is_unknown = true;
		if (pg_strcasecmp(name, "uidgen.database") == 0 ||
			pg_strcasecmp(name, "uidgen.registry") == 0 ||
			pg_strcasecmp(name, "uidgen.sequence_start") == 0)
			settings_are_unknown = true;
	}
}

void
uidgen_read_server_settings(UidgenServerSettings *settings)
{
	strlcpy(settings->database, uidgen_database, sizeof(settings->database));
	strlcpy(settings->registry, uidgen_registry, sizeof(settings->registry));
	settings->sequence_start = sequence_start;
}

static void
set_setting(const char *name, const char *value, GucAction action)
{
	(void) set_config_option(name, value, PGC_SIGHUP, PGC_S_FILE, action, true, 0, false);
}

/* As a reload would set them.  During a parallel query, only what ends with it may be set. */
bool
uidgen_set_server_settings(const UidgenServerSettings *settings)
{
	GucAction	action = IsInParallelMode() ? GUC_ACTION_SAVE : GUC_ACTION_SET;
	const struct config_enum_entry *start = sequence_starts;

	while (start->val != settings->sequence_start)
		start++;
	set_setting("uidgen.database", settings->database, action);
	set_setting("uidgen.registry", settings->registry, action);
	set_setting("uidgen.sequence_start", start->name, action);
	return action == GUC_ACTION_SET;
}

bool
uidgen_restart_is_pending(const char *name)
{
	int			n;
	struct config_generic **settings = uidgen_all_settings(&n);

	for (int i = 0; i < n; i++)
		if (strcmp(settings[i]->name, name) == 0)
			return (settings[i]->status & GUC_PENDING_RESTART) != 0;
	return false;
}

void
uidgen_pending_settings(const UidgenPinned *pinned, char names[UIDGEN_NAMES_SIZE])
{
	const struct
	{
		const char *name;
		bool		differs;
	}			settings[] = {
		{"uidgen.layout", strcmp(checked.layout, pinned->layout) != 0},
		{"uidgen.datacenter_id", checked.datacenter_id != pinned->datacenter_id},
		{"uidgen.worker_id", checked.worker_id != pinned->worker_id},
		{"uidgen.max_segments", checked.max_segments != pinned->max_segments},
		{"uidgen.instance", checked.instance != pinned->instance},
	};

	names[0] = '\0';
	for (size_t i = 0; i < lengthof(settings); i++)
		if (settings[i].differs || uidgen_restart_is_pending(settings[i].name))
			add_name(names, UIDGEN_NAMES_SIZE, settings[i].name);
}

/* Read from the files, since a process has no value that does not count for it; the last one counts. */
UidgenConfigured
uidgen_configured_layout(char text[UIDGEN_LAYOUT_TEXT_SIZE], UidgenComplaint *error)
{
	ConfigVariable *first = NULL;
	ConfigVariable *last = NULL;
	const char *configured = UIDGEN_LAYOUT_DEFAULT;
	UidgenLayout layout;

	if (ParseConfigFile(ConfigFileName, true, NULL, 0, 0, DEBUG1, &first, &last))
		(void) ParseConfigFile(PG_AUTOCONF_FILENAME, false, NULL, 0, 0, DEBUG1, &first, &last);
	for (const ConfigVariable *item = first; item; item = item->next)
		if (item->name && pg_strcasecmp(item->name, "uidgen.layout") == 0)
			configured = item->value;
	if (!uidgen_layout_parse(configured, &layout, error) || !uidgen_layout_generates(&layout, error))
		return UIDGEN_CONFIGURED_BAD;
	uidgen_layout_print(&layout, text);
	return strcmp(text, uidgen_layout_text) == 0 ? UIDGEN_CONFIGURED_SAME : UIDGEN_CONFIGURED_OTHER;
}

/* ---- the definitions ---- */

/* Those that are pinned. */
static void
define_pinned_settings(void)
{
	/* With the former, a session that loads the library would end. */
	GucContext	fixed = process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;

	DefineCustomStringVariable("uidgen.layout",
							   "The bit fields of an id, most significant first.",
							   "Or the name of a preset, optionally followed by items that replace its own; the view uidgen.presets lists them.",
							   &layout_setting, UIDGEN_LAYOUT_DEFAULT,
							   fixed, 0, check_layout, NULL, NULL);
	define_int("uidgen.datacenter_id",
			   "The datacenter in every id of this server.",
			   "Must be 0 if the layout has no datacenter field.",
			   &datacenter_setting, 0, 0, INT_MAX,
			   fixed, 0, NULL);
	define_int("uidgen.worker_id",
			   "The worker id of this server.",
			   "-1 lets the registry choose one.",
			   &worker_setting, -1, -1, INT_MAX,
			   fixed, 0, NULL);
	DefineCustomStringVariable("uidgen.instance",
							   "The name of this server, which no copy of it has.",
							   "Any text, such as the name of a pod. It is needed where there is no /etc/machine-id; with another one the server takes another worker id.",
							   &instance_setting, "",
							   fixed, 0, NULL, NULL, NULL);
	define_int("uidgen.max_segments",
			   "How many segments this server can draw numbers of.",
			   "Each takes some 2 kB of shared memory.",
			   &max_segments_setting, 1000, 0, SEGMENTS_MAX,
			   fixed, 0, NULL);
}

/* Where the registry is, and what the keeper asks it for. */
static void
define_keepers_settings(void)
{
	define_enum("uidgen.worker_policy",
				"Whether a restarted server takes its worker id again.",
				"With \"disposable\", each start of the server takes a worker id that was never used before.",
				&uidgen_worker_policy, UIDGEN_REUSE, worker_policies,
				PGC_SIGHUP, NULL);
	DefineCustomStringVariable("uidgen.database",
							   "The database that holds the registry of worker ids.",
							   "The extension must be installed in it.",
							   &uidgen_database, "postgres",
							   PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("uidgen.registry",
							   "Where another server holds the registry of worker ids, as a connection string.",
							   "If it is empty, the registry is in the database \"uidgen.database\" of this server. Passwords are refused.",
							   &uidgen_registry, "",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY, check_registry, NULL, NULL);
	define_int("uidgen.registry_timeout",
			   "How long a host of another server's registry may take to connect, or to answer.",
			   NULL,
			   &uidgen_registry_timeout, 5000, 1, REGISTRY_TIMEOUT_MAX,
			   PGC_SIGHUP, GUC_UNIT_MS, NULL);
	define_int("uidgen.window",
			   "How far ahead of the clock each renewal grants.",
			   "Each crash can move the time in ids ahead by up to this much. With 0, it is 10 seconds; with a fleet's registry, half of its max_lead.",
			   &uidgen_window, 0, 0, WINDOW_MAX,
			   PGC_SIGHUP, GUC_UNIT_MS, NULL);
	define_int("uidgen.padding_factor",
			   "The grant is renewed when less than this percentage of the window is left.",
			   NULL,
			   &uidgen_padding_factor, 50, 0, 100,
			   PGC_SIGHUP, 0, NULL);
	define_int("uidgen.segment_duration",
			   "How long a range of a segment's numbers should last.",
			   "A range that is used up sooner is followed by one twice as long, up to the segment's max_step.",
			   &uidgen_segment_duration, 15 * 60, 1, SEGMENT_DURATION_MAX,
			   PGC_SIGHUP, GUC_UNIT_S, NULL);
}

/* What calls go by; max_ahead and max_burst by the bounds that the keeper publishes for them (publish.c). */
static void
define_callers_settings(void)
{
	define_int("uidgen.max_ahead",
			   "How far the time in ids may run ahead of a clock that was set back.",
			   "If the clock is set back by over a second more than this, another worker id is needed.",
			   &uidgen_max_ahead, 3600000, 0, INT_MAX,
			   PGC_SIGHUP, GUC_UNIT_MS, NULL);
	define_int("uidgen.max_burst",
			   "How far the time in ids may run ahead of the clock because more are drawn than the layout has room for.",
			   "Beyond it, calls wait for the clock. With 0, calls wait for the next tick whenever a tick is full.",
			   &uidgen_max_burst, 1000, 0, INT_MAX,
			   PGC_SIGHUP, GUC_UNIT_MS, NULL);
	define_int("uidgen.wait_timeout",
			   "How long a call waits for a grant, for numbers of a segment or for the clock before it fails.",
			   "With 0, a call waits only for a sleeping keeper to wake up, up to a second.",
			   &uidgen_wait_timeout, 10000, 0, WAIT_TIMEOUT_MAX,
			   PGC_USERSET, GUC_UNIT_MS, NULL);
	define_enum("uidgen.sequence_start",
				"Where the sequence starts in a new tick.",
				"\"random\" and \"continue\" spread id % n evenly when few ids are drawn.",
				&sequence_start, UIDGEN_START_ZERO, sequence_starts,
				PGC_SIGHUP, assign_sequence_start);
}

void
uidgen_define_settings(void)
{
	if (!process_shared_preload_libraries_in_progress)
		find_unknown_values();
	defining = true;
	define_pinned_settings();
	define_keepers_settings();
	define_callers_settings();
	MarkGUCPrefixReserved("uidgen");
	defining = false;
	defined = true;

	bad_text = checked;
	check_together();

	/*
	 * Known also where another setting is bad: shared memory is made for so
	 * many.
	 */
	uidgen_max_segments = max_segments_setting;
}
