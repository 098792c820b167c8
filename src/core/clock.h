/*
 * clock.h
 *	  The one place that reads clocks.
 *
 * Three clocks, for three purposes that must not be mixed:
 *
 * - the wall clock is what an id's time shows.  It may be set to anything at
 *	 any moment; nothing that must hold rests on it.
 * - the monotonic clock times waits and retries.  It never steps.  There is a coarse one
 *	 too, which is older and cheaper.
 * - the boot clock also runs on while the machine is suspended, so that the
 *	 wall clock can be compared with it: the two drift apart only when
 *	 somebody sets the wall clock.  In a fleet an id's time is the boot clock's, plus
 *	 an offset.
 *
 * All go through libc's clock_gettime(), so that a test can step the wall clock
 * of a whole process tree with a preloaded library.  The processor's counter is not
 * used as a clock, only as an upper bound on the time that has passed since a clock was
 * read.  Inline, because every call of uid_next() needs one of them.  C99 and
 * POSIX only, but for the counter.
 */
#ifndef UIDGEN_CLOCK_H
#define UIDGEN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#include "core/units.h"

/* In microseconds.  Fails only for a clock that the system lacks, and then
 * always. */
static inline UidgenMicroseconds
uidgen_clock_read(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (UidgenMicroseconds) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The wall clock, in microseconds since 1970 UTC. */
static inline UidgenMicroseconds
uidgen_clock_wall(void)
{
	return uidgen_clock_read(CLOCK_REALTIME);
}

/*
 * The coarse monotonic clock.  It advances at each timer interrupt of the kernel, every 1 to 10 ms.  The result has
 * no unit: compare it for equality only.
 */
#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#endif
static inline int64_t
uidgen_clock_coarse(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t) ((uint64_t) now.tv_sec << 30 | (uint64_t) now.tv_nsec);
}

/* The monotonic clock, in microseconds since some point in the past. */
static inline UidgenMicroseconds
uidgen_clock_monotonic(void)
{
	return uidgen_clock_read(CLOCK_MONOTONIC);
}

/* The boot clock, in microseconds since some point in the past. */
static inline UidgenMicroseconds
uidgen_clock_boot(void)
{
#ifdef CLOCK_BOOTTIME
	return uidgen_clock_read(CLOCK_BOOTTIME);
#else
	/*
	 * Elsewhere the monotonic clock is the nearest; a suspended machine then
	 * looks like a clock that was set forward, which is survived too.
	 */
	return uidgen_clock_read(CLOCK_MONOTONIC);
#endif
}

/*
 * The wall clock minus the boot clock, in microseconds: it changes when the wall
 * clock is set.
 */
static inline UidgenMicroseconds
uidgen_clock_offset(void)
{
	return uidgen_clock_wall() - uidgen_clock_boot();
}

/*
 * The processor's time stamp counter, where there is one that runs at a steady
 * rate in all states of the processor; else false.  Reading it costs less than
 * half of what reading the wall clock does.  Its rate is not known: some 0.8 GHz on
 * the slowest machines, several GHz on most.
 */
static inline bool
uidgen_clock_has_counter(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
	unsigned int eax,
				ebx,
				ecx,
				edx;

	/* Advanced Power Management Information: the bit InvariantTSC */
	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1 << 8)) != 0;
#else
	return false;
#endif
}

/* How many nanoseconds have passed at most when the counter has moved by one step. */
#define UIDGEN_CLOCK_STEP_NS 2

static inline uint64_t
uidgen_clock_counter(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

#endif							/* UIDGEN_CLOCK_H */
