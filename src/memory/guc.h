/*
 * guc.h
 *	  The settings, and what follows from them.
 *
 * These variables may be used only if uidgen_settings_good(): a server with a bad
 * setting starts all the same, with the generator off.
 */
#ifndef UIDGEN_GUC_H
#define UIDGEN_GUC_H

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

extern int	uidgen_datacenter_id;
extern int	uidgen_worker_id;	/* -1: the registry chooses */
extern int	uidgen_worker_policy;
extern char *uidgen_database;
extern char *uidgen_registry;	/* empty: in uidgen_database */
extern int	uidgen_registry_timeout;	/* milliseconds */
extern int	uidgen_window;		/* milliseconds */
extern int	uidgen_padding_factor;	/* percent */
extern int	uidgen_max_ahead;	/* milliseconds */
extern int	uidgen_max_burst;	/* milliseconds */
extern int	uidgen_wait_timeout;	/* milliseconds */
extern int	uidgen_max_segments;
extern int	uidgen_segment_duration;	/* seconds */
extern int	uidgen_cache;
extern bool uidgen_cache_in_use;	/* uidgen.cache is above 1, or was when
									 * the session drew its last id */
extern bool uidgen_cache_assigned;	/* it was assigned since cache.c looked
									 * last */

/* The server's layout, and its canonical text. */
extern UidgenLayout uidgen_layout;
extern char uidgen_layout_text[UIDGEN_LAYOUT_TEXT_SIZE];

/* The layout and the settings in the form in which tickets are taken. */
extern UidgenTicketRules uidgen_rules;

/* Define all settings and judge them together.  At preload only. */
extern void uidgen_define_settings(void);

/*
 * Did the server preload another copy of the library than this one?  Then the other copy
 * has defined the settings, and this one has neither their values nor the shared memory.
 */
extern bool uidgen_settings_of_another(void);

/* Were all settings good when the server started? */
extern bool uidgen_settings_good(void);

/* The first setting that was not good, and what is wrong; NULL: all were good. */
extern const char *uidgen_bad_setting(const UidgenComplaint **error);

/* uidgen.window in ticks: rounded up, at least one. */
extern UidgenTick uidgen_window_ticks(void);

/*
 * How far ids may run ahead of the clock, and above which size a step of the clock
 * counts as large, in ticks.
 */
extern UidgenTicketBounds uidgen_time_bounds(void);

#endif							/* UIDGEN_GUC_H */
