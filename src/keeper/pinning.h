/*
 * pinning.h
 *	  Pins the settings of a server that has not preloaded the library, and tells sessions of others.
 *
 * A background worker has the postmaster's settings until it connects to a database, so the keeper pins
 * them, and before that.  Sessions take over what is pinned (memory/attachment.h).  Where the library is
 * preloaded, the postmaster has pinned them.
 */
#ifndef UIDGEN_PINNING_H
#define UIDGEN_PINNING_H

/*
 * Map the memory, and make it if nobody has.  Ends the process, with code 0, if the memory is that of
 * another version of the library: sessions with that version say so, and only the server's end helps.
 */
extern void uidgen_pinning_begin(void);

/*
 * This process owns the slot: pin the settings, or take over what is pinned.  Ends the process, with code
 * 0, if one is bad: a session that finds the configuration changed calls another keeper.
 */
extern void uidgen_pin_settings(void);

/* The configuration was read again: tell sessions of what has changed. */
extern void uidgen_pinning_reload(void);

#endif							/* UIDGEN_PINNING_H */
