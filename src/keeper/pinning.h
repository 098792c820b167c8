/*
 * pinning.h
 *	  Pins the settings of a server that has not preloaded the library, and tells sessions of others.
 *
 * A background worker has the postmaster's settings until it connects to a database, and follows the
 * configuration files afterwards, so the keeper decides.  It goes by the settings of each reload as long as
 * nothing was granted since the memory was made; then it pins them.  Sessions take over what is pinned
 * (memory/attachment.h).  Where the library is preloaded, the postmaster has pinned them.
 */
#ifndef UIDGEN_PINNING_H
#define UIDGEN_PINNING_H

/*
 * Map the memory, and make it if nobody has.  Ends the process, with code 0, if the memory belongs to
 * another version of the library: sessions with that version say so, and only the server's end helps.
 */
extern void uidgen_pinning_begin(void);

/*
 * This process owns the slot: take over what is pinned, or go by the settings as they are.  Ends the process,
 * with code 0, if one is bad: a session that finds the configuration changed calls another keeper.
 */
extern void uidgen_settle(void);

/* The configuration was read again: do as uidgen_settle(), and tell sessions what has changed. */
extern void uidgen_pinning_reload(void);

/* Pin what this process goes by, unless that is done: a grant is about to be used, or somebody waits for it who
 * needs none. */
extern void uidgen_pin_settings(void);
extern void uidgen_pin_if_wanted(void);

/* A changed setting may count yet: what the configuration says has to be known before a grant is asked for. */
extern bool uidgen_may_change_settings(void);

#endif							/* UIDGEN_PINNING_H */
