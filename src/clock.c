/*
 * clock.c
 *	  The one place that reads clocks; see clock.h for which is for what.
 */
#define _POSIX_C_SOURCE 200809L

#include "clock.h"

#include <time.h>

static inline int64_t
read_clock(clockid_t id)
{
	struct timespec now;

	/* Fails only for a clock that the system lacks, and then always. */
	clock_gettime(id, &now);
	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
uidgen_clock_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t
uidgen_clock_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t
uidgen_clock_boot(void)
{
#ifdef CLOCK_BOOTTIME
	return read_clock(CLOCK_BOOTTIME);
#else
	/* Elsewhere the monotonic clock is the nearest; a suspended machine then
	 * looks like a clock that was set forward, which is survived too. */
	return read_clock(CLOCK_MONOTONIC);
#endif
}
