/*
 * pause.h
 *	  How long the keeper pauses after a failure, and for how long it keeps a connection that
 *	  nobody needs.
 *
 * The keeper (keeper.c, demand.c) goes by it, and so do the thousands of nodes that
 * tools/load/load.c plays to see what one registry carries.  All times are in milliseconds.
 */
#ifndef UIDGEN_PAUSE_H
#define UIDGEN_PAUSE_H

#include <stdint.h>

/* Without demand for this long, the connection is given up. */
#define UIDGEN_IDLE_MS 30000

/* Pause after the first failure in a row; each further one doubles it. */
#define UIDGEN_FIRST_PAUSE_MS 50
#define UIDGEN_PAUSE_DOUBLINGS_MAX 16

/*
 * The longest pause between attempts: short, so that callers who wait see the end of an outage
 * soon; longer if the connection fails, which costs a process and lines in the log.
 */
#define UIDGEN_LAST_PAUSE_MS 250
#define UIDGEN_LAST_CONNECT_PAUSE_MS 5000

/*
 * The same for a fleet's registry.  Many servers ask it, and the longer it was away, the more of
 * them do: so the pause may also be a part of how long that is.
 */
#define UIDGEN_LAST_FLEET_PAUSE_MS 1000
#define UIDGEN_PART_OF_OUTAGE 10

/* The pause after a failure that followed `failures_in_row` others. */
static inline int64_t
uidgen_pause(int failures_in_row, int64_t longest)
{
	int64_t		pause = (int64_t) UIDGEN_FIRST_PAUSE_MS <<
		(failures_in_row < UIDGEN_PAUSE_DOUBLINGS_MAX ? failures_in_row : UIDGEN_PAUSE_DOUBLINGS_MAX);

	return pause < longest ? pause : longest;
}

/*
 * The longest pause of a node whose grant lasts for so long, after an outage of so long.  Calls wait
 * once the grant has ended, and should soon see the end of the outage.
 */
static inline int64_t
uidgen_last_fleet_pause(int64_t left, int64_t outage)
{
	int64_t		longest = left;

	if (longest < outage / UIDGEN_PART_OF_OUTAGE)
		longest = outage / UIDGEN_PART_OF_OUTAGE;
	if (longest > UIDGEN_LAST_CONNECT_PAUSE_MS)
		longest = UIDGEN_LAST_CONNECT_PAUSE_MS;
	return longest > UIDGEN_LAST_FLEET_PAUSE_MS ? longest : UIDGEN_LAST_FLEET_PAUSE_MS;
}

/*
 * For how long a node keeps a connection without demand.  It renews its grant within each
 * window.  If it closed its connection in between, the registry would have to begin a session for
 * each renewal, which costs more than the renewal itself.
 */
static inline int64_t
uidgen_fleet_idle(int64_t window)
{
	return window > UIDGEN_IDLE_MS ? window : UIDGEN_IDLE_MS;
}

#endif							/* UIDGEN_PAUSE_H */
