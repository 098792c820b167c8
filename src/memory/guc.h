/*
 * guc.h
 *	  The settings, and what follows from them.
 *
 * The layout, the two ids and the number of segments must be the same in all processes for as long
 * as the server runs: they are pinned.  Where the library is preloaded, the postmaster pins them when
 * it starts.  Otherwise the keeper does (keeper/pinning.c), because a session may not know them: a value
 * of ALTER DATABASE, which does not count, hides the value of the configuration files from it.
 * uidgen_go_by() tells a process what is pinned, and what follows from that may be used only afterwards
 * (uidgen_attached in memory.h).  If a setting is bad, the server runs all the same, with the generator
 * off.
 */
#ifndef UIDGEN_GUC_H
#define UIDGEN_GUC_H

#include "compat.h"
#include "core/layout.h"
#include "core/ticket.h"

typedef enum UidgenWorkerPolicy
{
	UIDGEN_REUSE,
	UIDGEN_DISPOSABLE
} UidgenWorkerPolicy;

typedef enum UidgenSequenceStart
{
	UIDGEN_START_ZERO,
	UIDGEN_START_RANDOM,
	UIDGEN_START_CONTINUE
} UidgenSequenceStart;

/* What is pinned. */
typedef struct UidgenPinned
{
	char		layout[UIDGEN_LAYOUT_TEXT_SIZE];	/* in canonical form */
	int			datacenter_id;
	int			worker_id;		/* -1: the registry chooses */
	int			max_segments;
	uint64		instance;		/* a hash of the instance's name; 0: it has
								 * none */

	/* The first setting that is bad, and why; empty: all are good. */
	char		bad_setting[64];
	UidgenComplaint complaint;
} UidgenPinned;

/* Pinned. */
extern int	uidgen_datacenter_id;
extern int	uidgen_worker_id;
extern int	uidgen_max_segments;
extern uint64 uidgen_instance;

/* As they are now. */
extern int	uidgen_worker_policy;
extern char *uidgen_database;
extern char *uidgen_registry;	/* empty: in uidgen_database */
extern int	uidgen_registry_timeout;	/* milliseconds */
extern int	uidgen_window;		/* milliseconds; 0: by the registry */
extern int	uidgen_padding_factor;	/* percent */
extern int	uidgen_max_ahead;	/* milliseconds */
extern int	uidgen_max_burst;	/* milliseconds */
extern int	uidgen_wait_timeout;	/* milliseconds */
extern int	uidgen_segment_duration;	/* seconds */

/* The server's layout, and its canonical text. */
extern uidgen_hidden UidgenLayout uidgen_layout;
extern char uidgen_layout_text[UIDGEN_LAYOUT_TEXT_SIZE];

/* The layout and the settings in the form in which tickets are taken. */
extern uidgen_hidden UidgenTicketRules uidgen_rules;

/* Define all settings and check them together.  Once in a process: at preload, or when the library is
 * loaded later. */
extern void uidgen_define_settings(void);

/* Has another copy of the library defined the settings in this process? */
extern bool uidgen_settings_of_another(void);

/*
 * What the settings of this process would pin.  It counts where they are the postmaster's: at preload,
 * and in a background worker without a database.
 */
extern const UidgenPinned *uidgen_checked_settings(void);

/* Say in the log if the layout that was pinned is used up within a year; the postmaster does so at preload. */
extern void uidgen_warn_of_end(void);

/* Check once more, after the configuration was read again. */
extern void uidgen_check_settings_again(void);

/* This process goes by what is pinned, which is good. */
extern void uidgen_go_by(const UidgenPinned *pinned);

/*
 * Does this process not know a value of the configuration files?  So it is if ALTER DATABASE, ALTER ROLE or the
 * client gave another value before the library was loaded.  For the layout; for other settings that a session goes
 * by.
 */
extern bool uidgen_layout_is_unknown(void);
extern bool uidgen_settings_are_unknown(void);

/* The names of the server's settings that ALTER DATABASE, ALTER ROLE or the client gave, in vain; empty: none. */
extern const char *uidgen_misplaced_settings(void);

/* The other settings that a session goes by, as the keeper has them. */
typedef struct UidgenServerSettings
{
	char		database[NAMEDATALEN];
	char		registry[2048]; /* what is longer is cut: then a session does
								 * not know its place (link.h) */
	int			sequence_start;
} UidgenServerSettings;

extern void uidgen_read_server_settings(UidgenServerSettings *settings);

/* This process goes by those that the keeper has.  False: until the present query has ended. */
extern bool uidgen_set_server_settings(const UidgenServerSettings *settings);

/* Has the server noted that a restart is pending for this setting? */
extern bool uidgen_restart_is_pending(const char *name);

/*
 * The names of settings whose value in the configuration files counts from the next start of the server
 * on; empty: none.  Where the library is preloaded, any process knows; otherwise the keeper does, once it
 * has checked again.
 */
#define UIDGEN_NAMES_SIZE 128
extern void uidgen_pending_settings(const UidgenPinned *pinned, char names[UIDGEN_NAMES_SIZE]);

/*
 * The layout in the configuration files, which counts from the next start on: in canonical form, and whether it is
 * the one that is pinned.  It is bad: *error says why.
 */
typedef enum UidgenConfigured
{
	UIDGEN_CONFIGURED_SAME,
	UIDGEN_CONFIGURED_OTHER,
	UIDGEN_CONFIGURED_BAD
} UidgenConfigured;

extern UidgenConfigured uidgen_configured_layout(char text[UIDGEN_LAYOUT_TEXT_SIZE], UidgenComplaint *error);

/*
 * uidgen.window in ticks, rounded up, at a local registry and at a fleet's.  If the setting is 0, a node asks for
 * more than any fleet's registry grants.  The registry cuts that to half of its max_lead, which only its owner knows.
 */
extern UidgenTick uidgen_window_ticks(void);
extern UidgenTick uidgen_fleet_window_ticks(void);

/*
 * How far ids may run ahead of the clock, and above which size a step of the clock
 * counts as large, in ticks.
 */
extern UidgenTicketBounds uidgen_time_bounds(void);

#endif							/* UIDGEN_GUC_H */
