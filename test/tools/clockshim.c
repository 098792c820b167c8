/*
 * clockshim.c
 *	  Shows a false clock to a server and all of its processes.
 *
 * Preloaded (LD_PRELOAD) into the postmaster, it adds an offset to the wall
 * clock, or lets it stand still.  Both lie in the file that CLOCKSHIM_FILE
 * names, which every process maps, so that one write steps the clock of all of
 * them at once.  The monotonic clock is left alone, as it is when somebody sets
 * a machine's clock; so is the boot clock, unless the file has an offset for it
 * too: it runs on while a machine is suspended.  A third offset is for all clocks:
 * so much time has passed.  It wakes nobody who sleeps.
 *
 * Not libfaketime, because that leaves background workers with the true clock:
 * the postmaster forks them inside its select(), for which libfaketime switches
 * itself off.
 *
 * The file is written by test/perl/FakeClock.pm, whole and in place.  It must
 * never be truncated: a process that has it mapped would die of SIGBUS.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

/* What the file holds.  Nanoseconds; times are since 1970 UTC. */
typedef struct FalseClock
{
	int64_t		offset;			/* added to the true wall clock */
	int64_t		standstill;		/* if not 0, the time that is shown instead */
	int64_t		suspended;		/* added to the true boot clock */
	int64_t		passed;			/* added to all of them, the monotonic ones
								 * too */
	int64_t		check;			/* ~(offset ^ standstill ^ suspended ^
								 * passed): the write is complete */
} FalseClock;

typedef int (*ClockGettime) (clockid_t, struct timespec *);

static const FalseClock true_clock = {0, 0, 0, 0, -1};
static const volatile FalseClock *shown = &true_clock;
static ClockGettime real_clock_gettime;

/* A test that runs on the true clock without knowing would prove nothing. */
static void
fail(const char *what)
{
	fprintf(stderr, "clockshim: cannot %s the file of CLOCKSHIM_FILE\n", what);
	_exit(127);
}

static void
__attribute__((constructor))
start(void)
{
	const char *name = getenv("CLOCKSHIM_FILE");
	struct stat status;
	void	   *map;
	int			fd;

	if (real_clock_gettime)
		return;
	real_clock_gettime = (ClockGettime) dlsym(RTLD_NEXT, "clock_gettime");
	if (!name)
		return;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail("open");
	if (fstat(fd, &status) != 0 || status.st_size < (off_t) sizeof(FalseClock))
		fail("use");
	map = mmap(NULL, sizeof(FalseClock), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail("map");
	close(fd);
	shown = map;
}

/* What the file holds, of one write. */
static FalseClock
read_file(void)
{
	FalseClock	read;

	do
	{
		read.offset = shown->offset;
		read.standstill = shown->standstill;
		read.suspended = shown->suspended;
		read.passed = shown->passed;
		read.check = shown->check;
	} while (read.check != ~(read.offset ^ read.standstill ^ read.suspended ^ read.passed));
	return read;
}

/* The time to show in place of a true one. */
static int64_t
falsify(clockid_t clock, int64_t now)
{
	FalseClock	is;

	switch (clock)
	{
		case CLOCK_REALTIME:
		case CLOCK_REALTIME_COARSE:
		case CLOCK_TAI:
			is = read_file();
			return is.passed + (is.standstill != 0 ? is.standstill : now + is.offset);
		case CLOCK_BOOTTIME:
			is = read_file();
			return is.passed + now + is.suspended;
		case CLOCK_MONOTONIC:
		case CLOCK_MONOTONIC_COARSE:
		case CLOCK_MONOTONIC_RAW:
			return now + read_file().passed;
		default:
			return now;
	}
}

int
clock_gettime(clockid_t clock, struct timespec *result)
{
	int64_t		now;

	start();
	if (real_clock_gettime(clock, result) != 0)
		return -1;
	now = falsify(clock, (int64_t) result->tv_sec * SECOND + result->tv_nsec);
	result->tv_sec = now / SECOND;
	result->tv_nsec = now % SECOND;
	return 0;
}

int
gettimeofday(struct timeval *restrict result, void *restrict zone)
{
	struct timespec now;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &now);
	result->tv_sec = now.tv_sec;
	result->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *result)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}
