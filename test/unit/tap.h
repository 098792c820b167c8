/*
 * tap.h
 *	  What the unit tests say: TAP, the Test Anything Protocol.
 */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int	tests;
static int	failures;

/* One test, by its name. */
static inline bool
ok(bool pass, const char *format,...)
{
	char		name[160];
	va_list		args;
	char	   *c;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	for (c = name; *c; c++)
		if ((unsigned char) *c < ' ' || *c == '#')
			*c = '?';			/* would mean something in TAP */
	printf("%sok %d - %s\n", pass ? "" : "not ", ++tests, name);
	failures += !pass;
	return pass;
}

static inline void
is(uint64_t got, uint64_t want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got: %" PRIu64 "\n#  want: %" PRIu64 "\n", got, want);
}

static inline void
is_int(int64_t got, int64_t want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got: %" PRId64 "\n#  want: %" PRId64 "\n", got, want);
}

static inline void
is_text(const char *got, const char *want, const char *name)
{
	if (!ok(strcmp(got, want) == 0, "%s", name))
		printf("#   got: %s\n#  want: %s\n", got, want);
}

/* Always the same ones, in each run. */
static inline uint64_t
random_number(void)
{
	static uint64_t state = 42;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * UINT64_C(0x2545F4914F6CDD1D);
}

/* The end: the program's exit status. */
static inline int
done_testing(void)
{
	printf("1..%d\n", tests);
	return failures != 0;
}

#endif							/* TAP_H */
