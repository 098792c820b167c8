/*
 * attachment.h
 *	  How this process stands to the server's generator, where it was not attached by the preload.
 *
 * A session that only looks (uidgen.status, a function that decodes) makes nothing: it attaches where
 * somebody has made the memory, and otherwise goes by the settings that it sees.  One that draws makes the memory, has
 * a keeper started and waits until that has pinned the settings (ids/attach.h).
 */
#ifndef UIDGEN_ATTACHMENT_H
#define UIDGEN_ATTACHMENT_H

#include "core/layout.h"
#include "memory/demand.h"
#include "memory/guc.h"

typedef enum UidgenAttachment
{
	UIDGEN_ATTACHED,
	UIDGEN_UNATTACHED,			/* nothing is wrong: there is no keeper yet */
	UIDGEN_BAD_SETTING,
	UIDGEN_NOT_PRELOADED,		/* before PostgreSQL 17 */
	UIDGEN_OTHER_LIBRARY,		/* this process has another copy of the
								 * library, too, and goes by that one */
	UIDGEN_OTHER_SHAPE			/* the server uses another version of it */
} UidgenAttachment;

/* Attach if the settings are pinned, and say how things stand.  Errors: the server's, if the memory cannot be mapped. */
extern UidgenAttachment uidgen_look(void);

/* What is wrong, and what to do; for all but the first two. */
extern void uidgen_attachment_failure(UidgenAttachment attachment, UidgenFailure *failure);

/* Of a setting that this or another process has checked. */
extern void uidgen_bad_setting_failure(const UidgenPinned *checked, UidgenFailure *failure);

/* Raise that as an error, if it is one of these.  55000, or 22023 a bad setting. */
extern void uidgen_report_attachment(UidgenAttachment attachment);

/*
 * The first part of the memory is mapped.  Where the settings are pinned, take them over, map the second
 * part, and return true: this process is attached.
 */
extern bool uidgen_take_over_pinned(void);

/* The layout that the server would be given now; NULL: this process does not see it.  Only while it is
 * unattached.  Error: 22023 it is bad. */
extern const UidgenLayout *uidgen_layout_of_settings(void);

/* The layout that ids are made by or, while this process is unattached, would be, as a text. */
extern const char *uidgen_servers_layout(void);

/* Settings whose values in the configuration files this process does not know: go by the values that the keeper has. */
extern void uidgen_follow_server_settings(void);

#endif							/* UIDGEN_ATTACHMENT_H */
