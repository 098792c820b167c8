/*
 * guc.c
 *	  Every setting: variable, limits and hooks, and what follows from them.
 *
 * A bad value must not be replaced by the default: with the wrong layout or worker id
 * the server would pin that layout and issue wrong ids.  But that is what PostgreSQL
 * does, with a WARNING, when a preloaded library defines a setting whose value in the
 * configuration does not parse or is refused by the check hook (reapply_options in
 * PostgreSQL's guc.c).  So while settings are defined, the hooks accept everything,
 * define_int() and define_enum() look at the text of the value themselves, and
 * uidgen_define_settings() judges all values together at the end.  If any is bad, the
 * server runs with the generator off, and every uid_next() says why.  Once the server
 * runs, the hooks refuse as usual.
 */
#include "postgres.h"

#include "memory/guc.h"

#include <limits.h>

#include "compat.h"
#include "core/clock.h"
#include "memory/secrets.h"
#include "miscadmin.h"
#include "utils/datetime.h"

#define WINDOW_MAX (24 * 60 * 60 * 1000)	/* a day */
#define WAIT_TIMEOUT_MAX (60 * 60 * 1000)	/* an hour */
#define REGISTRY_TIMEOUT_MAX (10 * 60 * 1000)	/* ten minutes */
#define CACHE_MAX 1000000
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

static char *layout_setting;
int			uidgen_datacenter_id;
int			uidgen_worker_id = -1;
int			uidgen_worker_policy = UIDGEN_REUSE;
char	   *uidgen_database;
char	   *uidgen_registry;
int			uidgen_registry_timeout;
int			uidgen_window;
int			uidgen_padding_factor;
int			uidgen_max_ahead;
int			uidgen_max_burst;
int			uidgen_wait_timeout;
int			uidgen_max_segments;
int			uidgen_segment_duration;
int			uidgen_cache = 1;
bool		uidgen_cache_in_use = false;
bool		uidgen_cache_assigned = false;
static int	sequence_start = UIDGEN_START_ZERO;

/* The unit is not 0, since code divides by it also where no layout was ever read. */
UidgenLayout uidgen_layout = {.unit = 1};
char		uidgen_layout_text[UIDGEN_LAYOUT_TEXT_SIZE];
UidgenTicketRules uidgen_rules;

/* The first bad setting and what is wrong with it; NULL: all are good. */
static const char *bad_setting = NULL;
static UidgenComplaint settings_error;

/* Has this copy of the library defined the settings? */
static bool defined = false;

bool
uidgen_settings_of_another(void)
{
	/* A setting that no library has defined is a placeholder. */
	return !defined && GetConfigOption("uidgen.layout", true, false) &&
		!(GetConfigOptionFlags("uidgen.layout", true) & GUC_CUSTOM_PLACEHOLDER);
}

bool
uidgen_settings_good(void)
{
	return bad_setting == NULL;
}

const char *
uidgen_bad_setting(const UidgenComplaint **error)
{
	*error = &settings_error;
	return bad_setting;
}

/* Note a bad setting: keep the first one, and log each. */
static void
note_error(const UidgenComplaint *error, const char *setting)
{
	if (!bad_setting)
	{
		bad_setting = setting;
		settings_error = *error;
	}
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
	return Max(ticks_up(uidgen_window), 1);
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

/* The cache itself is left alone; cache.c decides at the next id. */
static void
assign_cache(int newval, void *extra)
{
	if (newval > 1)
		uidgen_cache_in_use = true;
	uidgen_cache_assigned = true;
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

	if (process_shared_preload_libraries_in_progress)
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

	if (process_shared_preload_libraries_in_progress ||
		uidgen_conninfo_may_be_shown(*newval, &error))
		return true;
	GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
	GUC_check_errmsg("invalid value for the setting \"uidgen.registry\"");
	GUC_check_errdetail("%s", error.detail);
	GUC_check_errhint("%s", error.hint);
	return false;
}

/* DefineCustomIntVariable, after a check of the value in the configuration. */
static void
define_int(const char *name, const char *short_desc, const char *long_desc,
		   int *variable, int boot, int min, int max, GucContext context,
		   int flags, GucIntAssignHook assign)
{
	const char *text = GetConfigOption(name, true, false);
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
	const char *text = GetConfigOption(name, true, false);
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
warn_of_end(void)
{
	UidgenMicroseconds end;

	if (layout_lasts(&uidgen_layout, &end) < LAYOUT_WARNING)
		ereport(LOG,
				(errmsg("the layout of uidgen is used up on %s", date_of(end)),
				 errdetail("The setting \"uidgen.layout\" is \"%s\".", uidgen_layout_text),
				 errhint("Plan a new registry with a layout that has more time bits or a later epoch.")));
}

/* Judge the settings against each other, which no single hook can do. */
static void
judge_settings(void)
{
	UidgenLayout layout;
	UidgenComplaint error;
	uint64		workers;
	uint64		datacenters;

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
	if (!uidgen_conninfo_may_be_shown(uidgen_registry, &error))
		note_error(&error, "uidgen.registry");
	uidgen_layout = layout;
	uidgen_layout_print(&uidgen_layout, uidgen_layout_text);
	warn_of_end();
	derive_rules(sequence_start);

	workers = uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER);
	if (uidgen_worker_id >= 0 && (uint64) uidgen_worker_id > workers)
		note_value("uidgen.worker_id",
				   "%d is above " UINT64_FORMAT ", the layout's largest worker id.",
				   uidgen_worker_id, workers);
	datacenters = uidgen_layout_maximum(&uidgen_layout, UIDGEN_DATACENTER);
	if (datacenters == 0 && uidgen_datacenter_id > 0)
		note_value("uidgen.datacenter_id",
				   "%d is above 0, but the layout has no datacenter field. A layout that has one is \"time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2025-01-01\".",
				   uidgen_datacenter_id);
	else if ((uint64) uidgen_datacenter_id > datacenters)
		note_value("uidgen.datacenter_id",
				   "%d is above " UINT64_FORMAT ", the layout's largest datacenter id.",
				   uidgen_datacenter_id, datacenters);
}

void
uidgen_define_settings(void)
{
	DefineCustomStringVariable("uidgen.layout",
							   "The bit fields of an id, most significant first.",
							   "Or the name of a preset, optionally followed by items that replace its own; the view uidgen.presets lists them.",
							   &layout_setting, UIDGEN_LAYOUT_DEFAULT,
							   PGC_POSTMASTER, 0, check_layout, NULL, NULL);
	define_int("uidgen.datacenter_id",
			   "The datacenter in every id of this server.",
			   "Must be 0 if the layout has no datacenter field.",
			   &uidgen_datacenter_id, 0, 0, INT_MAX,
			   PGC_POSTMASTER, 0, NULL);
	define_int("uidgen.worker_id",
			   "The worker id of this server.",
			   "-1 lets the registry choose one.",
			   &uidgen_worker_id, -1, -1, INT_MAX,
			   PGC_POSTMASTER, 0, NULL);
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
			   "Each crash can move the time in ids ahead by up to this much.",
			   &uidgen_window, 10000, 1, WINDOW_MAX,
			   PGC_SIGHUP, GUC_UNIT_MS, NULL);
	define_int("uidgen.padding_factor",
			   "The grant is renewed when less than this percentage of the window is left.",
			   NULL,
			   &uidgen_padding_factor, 50, 0, 100,
			   PGC_SIGHUP, 0, NULL);
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
	define_int("uidgen.cache",
			   "How many ids a session takes at a time at most.",
			   "Above 1, ids increase within each session, and over sessions from one tick to the next.",
			   &uidgen_cache, 1, 1, CACHE_MAX,
			   PGC_USERSET, 0, assign_cache);
	define_int("uidgen.max_segments",
			   "How many segments this server can draw numbers of.",
			   "Each takes some 2 kB of shared memory.",
			   &uidgen_max_segments, 1000, 0, SEGMENTS_MAX,
			   PGC_POSTMASTER, 0, NULL);
	define_int("uidgen.segment_duration",
			   "How long a range of a segment's numbers should last.",
			   "A range that is used up sooner is followed by one twice as long, up to the segment's max_step.",
			   &uidgen_segment_duration, 15 * 60, 1, SEGMENT_DURATION_MAX,
			   PGC_SIGHUP, GUC_UNIT_S, NULL);
	define_enum("uidgen.sequence_start",
				"Where the sequence starts in a new tick.",
				"\"random\" and \"continue\" spread id % n evenly when few ids are drawn.",
				&sequence_start, UIDGEN_START_ZERO, sequence_starts,
				PGC_SIGHUP, assign_sequence_start);
	MarkGUCPrefixReserved("uidgen");
	defined = true;

	judge_settings();
}
