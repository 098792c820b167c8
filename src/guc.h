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

/* A duration in whole ticks of the server's layout: rounded up, down. */
extern int64 uidgen_ticks_up(int64 milliseconds);
extern int64 uidgen_ticks_down(int64 milliseconds);

/* uidgen.window in ticks: at least one. */
extern int64 uidgen_window_ticks(void);

/*
 * How far a grant may begin, or its use may have been, in front of the clock
 * before the clock counts as set back by a large step, in ticks.  At least a
 * window: that much every crash leaves behind.
 */
extern int64 uidgen_large_step_ticks(void);

#endif							/* UIDGEN_GUC_H */
