/*
 * tap.h
 *	  What the unit tests say: TAP, the Test Anything Protocol; and what they read, test/vectors.tsv.
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

/* A row of test/vectors.tsv. */
typedef struct Row
{
	char		line[512];
	const char *kind;
	const char *input;
	const char *by;
	const char *output;
} Row;

/* The next one; false at the end.  Files are named from the root of the source tree on. */
static inline bool
next_row(FILE **file, Row *row)
{
	if (*file == NULL && (*file = fopen("test/vectors.tsv", "r")) == NULL)
		return ok(false, "vectors: can be read");
	do
		if (!fgets(row->line, sizeof(row->line), *file))
			return fclose(*file) == EOF;
	while (row->line[0] == '#');
	row->kind = strtok(row->line, "\t");
	row->input = strtok(NULL, "\t");
	row->by = strtok(NULL, "\t");
	row->output = strtok(NULL, "\t");
	return ok(row->output != NULL, "vectors: a row of %s", row->kind);
}

/* The end: the program's exit status. */
static inline int
done_testing(void)
{
	printf("1..%d\n", tests);
	return failures != 0;
}

#endif							/* TAP_H */
