/*
 * server.h
 *	  The layout that this server generates with, and its clock in ticks of that layout.
 */
#ifndef UIDGEN_SERVER_H
#define UIDGEN_SERVER_H

#include "postgres.h"

#include "core/layout.h"
#include "core/units.h"

/*
 * The layout that the server generates with.  Errors: 55000 not preloaded,
 * 22023 bad settings.
 */
extern const UidgenLayout *uidgen_server_layout(void);

/* The tick of a time since 1970 UTC: at least 0, and at most the
 * layout's last tick. */
extern UidgenTick uidgen_server_tick(UidgenMicroseconds time);

/* The tick that the wall clock shows, within the same limits. */
extern UidgenTick uidgen_clock_tick(void);

/* So many ticks in milliseconds, for messages. */
extern long long uidgen_server_ms(UidgenTick ticks);

#endif							/* UIDGEN_SERVER_H */
