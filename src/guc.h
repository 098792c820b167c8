/*
 * guc.h
 *	  The settings, and what follows from them.
 *
 * A value of these variables is only as good as uidgen_settings_good(): a
 * server with a bad setting starts all the same, with the generator off.
 */
#ifndef UIDGEN_GUC_H
#define UIDGEN_GUC_H

#include "layout.h"
#include "ticket.h"

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
extern int	uidgen_window;		/* milliseconds */
extern int	uidgen_padding_factor;	/* percent */
extern int	uidgen_max_ahead;	/* milliseconds */
extern int	uidgen_wait_timeout;	/* milliseconds */
extern int	uidgen_cache;
extern uint32 uidgen_cache_changes; /* times that uidgen.cache was set */

/* The server's layout, and its canonical text. */
extern UidgenLayout uidgen_layout;
extern char uidgen_layout_text[UIDGEN_LAYOUT_TEXT_SIZE];

/* The layout and the settings in the form in which tickets are taken. */
extern UidgenTicketRules uidgen_rules;

/* Define all settings and judge them together.  At preload only. */
extern void uidgen_define_settings(void);

/* Were all settings good when the server started? */
extern bool uidgen_settings_good(void);

/* The first setting that was not, with what is wrong; NULL: all were good. */
extern const char *uidgen_bad_setting(const UidgenLayoutError **error);

/* uidgen.window in ticks: rounded up, at least one. */
extern int64 uidgen_window_ticks(void);

/* How far the clock may be set back, or forward, before the step counts as a
 * large one, in ticks: max_ahead, but at least a window. */
extern int64 uidgen_large_step_ticks(void);

/*
 * How far a grant may begin in front of the clock, in ticks.  A crash leaves
 * behind a grant that ends a window after the tick that follows a position; that
 * may itself be the first one of the tick after max_ahead.  The next grant begins
 * a tick later.
 */
extern int64 uidgen_max_lead_ticks(void);

#endif							/* UIDGEN_GUC_H */
