/*
 * clock.h
 *	  The one place that reads clocks.
 *
 * Three clocks, for three purposes that must not be mixed:
 *
 * - the wall clock is what an id's time shows.  It may be set to anything at
 *	 any moment; nothing that must hold rests on it.
 * - the monotonic clock times waits and retries.  It never steps.
 * - the boot clock also runs on while the machine is suspended, so that the
 *	 wall clock can be compared with it: the two drift apart only when
 *	 somebody sets the wall clock.
 *
 * All go through libc's clock_gettime(), so that a test can step the wall clock
 * of a whole process tree with a preloaded library.  C99 and POSIX only.
 */
#ifndef UIDGEN_CLOCK_H
#define UIDGEN_CLOCK_H

#include <stdint.h>

/* The wall clock, in microseconds since 1970 UTC. */
extern int64_t uidgen_clock_wall(void);

/* The monotonic clock, in microseconds since some point in the past. */
extern int64_t uidgen_clock_monotonic(void);

/* The boot clock, in microseconds since some point in the past. */
extern int64_t uidgen_clock_boot(void);

#endif							/* UIDGEN_CLOCK_H */
