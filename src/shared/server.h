/*
 * server.h
 *	  The layout that this server generates with, and its clock in ticks of that.
 */
#ifndef UIDGEN_SERVER_H
#define UIDGEN_SERVER_H

#include "postgres.h"

#include "core/layout.h"

/*
 * The layout that the server generates with.  Errors: 55000 not preloaded,
 * 22023 bad settings.
 */
extern const UidgenLayout *uidgen_server_layout(void);

/* The tick of a time in microseconds since 1970 UTC: at least 0, and at most the
 * layout's last tick. */
extern uint64 uidgen_server_tick(int64 time);

/* The tick that the wall clock shows, within the same limits. */
extern uint64 uidgen_clock_tick(void);

#endif							/* UIDGEN_SERVER_H */
