/*
 * dupcheck.c
 *	  Looks for duplicates in files of ids.
 *
 * Usage: dupcheck FILE...
 *
 * The files are those of COPY (SELECT id ...) TO ... (FORMAT binary), with one
 * bigint a row; or they are text, with one number a line.  One that is cut off,
 * as a crash leaves it, is read up to its last whole row.  Prints
 *
 *	   ids N duplicates N disorders N
 *	   from ID to ID
 *
 * the second line if there are any,
 * where a disorder is an id that is not larger than the one before it in the
 * same file, and names the first duplicates on standard error.  Exit status 0:
 * no duplicate and no disorder; 1: some; 2: it could not look.
 *
 * Sorts with a radix sort over those bits in which the ids differ: ten million
 * ids take half a second.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)

#define NAMED_DUPLICATES 10

typedef struct Ids
{
	uint64_t   *id;
	size_t		count;
	size_t		capacity;
	uint64_t	disorders;
} Ids;

static void fail(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *format,...)
{
	va_list		args;

	fputs("dupcheck: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static uint64_t *
allocate(uint64_t *old, size_t count)
{
	uint64_t   *ids = realloc(old, count * sizeof(uint64_t));

	if (!ids)
		fail("out of memory for %zu ids", count);
	return ids;
}

static uint64_t
big_endian(const unsigned char *bytes, int length)
{
	uint64_t	value = 0;

	while (length-- > 0)
		value = value << 8 | *bytes++;
	return value;
}

static void
append(Ids *ids, uint64_t id)
{
	if (ids->count == ids->capacity)
	{
		ids->capacity = ids->capacity ? ids->capacity * 2 : 1 << 20;
		ids->id = allocate(ids->id, ids->capacity);
	}
	ids->id[ids->count++] = id;
}

/* Reads up to `length` bytes.  False if the file ends before. */
static bool
get(FILE *file, unsigned char *bytes, size_t length)
{
	return fread(bytes, 1, length, file) == length;
}

/* Take the next id of a file; `first` and `previous` are for those of the file so far. */
static void
take(Ids *ids, uint64_t id, bool *first, uint64_t *previous)
{
	if (!*first && (int64_t) id <= (int64_t) *previous)
		ids->disorders++;
	*first = false;
	*previous = id;
	append(ids, id);
}

static void
read_text(const char *name, FILE *file, Ids *ids)
{
	char		line[32];
	uint64_t	previous = 0;
	bool		first = true;

	rewind(file);
	while (fgets(line, sizeof(line), file) && strchr(line, '\n'))
	{
		char	   *end;
		uint64_t	id = (uint64_t) strtoll(line, &end, 10);

		if (end == line || *end != '\n')
			fail("%s has a line that is no number: %s", name, line);
		take(ids, id, &first, &previous);
	}
}

static void
read_file(const char *name, Ids *ids)
{
	static const unsigned char signature[] = "PGCOPY\n\377\r\n";
	unsigned char header[sizeof(signature) + 8];
	unsigned char row[2 + 4 + 8];	/* number of columns, length, value */
	FILE	   *file = fopen(name, "rb");
	uint64_t	previous = 0;
	bool		first = true;
	int			begin;

	if (!file)
		fail("cannot open %s", name);
	begin = fgetc(file);
	rewind(file);
	if (begin == '-' || (begin >= '0' && begin <= '9'))
	{
		read_text(name, file, ids);
		fclose(file);
		return;
	}
	if (!get(file, header, sizeof(header)))
	{
		/* Cut off before the first row. */
		fclose(file);
		return;
	}
	if (memcmp(header, signature, sizeof(signature)) != 0 ||
		fseek(file, (long) big_endian(header + sizeof(signature) + 4, 4), SEEK_CUR) != 0)
		fail("%s is not of COPY in binary format", name);

	while (get(file, row, 2) && big_endian(row, 2) != 0xFFFF)
	{
		if (!get(file, row + 2, sizeof(row) - 2))
			break;
		if (big_endian(row, 2) != 1 || big_endian(row + 2, 4) != 8)
			fail("%s has other columns than one bigint", name);
		take(ids, big_endian(row + 6, 8), &first, &previous);
	}
	if (ferror(file))
		fail("cannot read %s", name);
	fclose(file);
}

static void
sort(Ids *ids)
{
	uint64_t   *sorted = allocate(NULL, ids->count);
	uint64_t	any = 0;
	uint64_t	all = UINT64_MAX;

	for (size_t i = 0; i < ids->count; i++)
	{
		any |= ids->id[i];
		all &= ids->id[i];
	}
	for (int shift = 0; shift < 64; shift += DIGIT_BITS)
	{
		size_t		start[DIGITS + 1] = {0};
		uint64_t   *swap;

		if ((((any & ~all) >> shift) & (DIGITS - 1)) == 0)
			continue;
		for (size_t i = 0; i < ids->count; i++)
			start[((ids->id[i] >> shift) & (DIGITS - 1)) + 1]++;
		for (int digit = 0; digit < DIGITS; digit++)
			start[digit + 1] += start[digit];
		for (size_t i = 0; i < ids->count; i++)
			sorted[start[(ids->id[i] >> shift) & (DIGITS - 1)]++] = ids->id[i];
		swap = ids->id;
		ids->id = sorted;
		sorted = swap;
	}
	free(sorted);
}

int
main(int argc, char **argv)
{
	Ids			ids = {0};
	uint64_t	duplicates = 0;

	if (argc < 2)
		fail("usage: dupcheck FILE...");
	for (int i = 1; i < argc; i++)
		read_file(argv[i], &ids);

	if (ids.count > 0)
		sort(&ids);
	for (size_t i = 1; i < ids.count; i++)
		if (ids.id[i] == ids.id[i - 1] && duplicates++ < NAMED_DUPLICATES)
			fprintf(stderr, "duplicate: %" PRId64 "\n", (int64_t) ids.id[i]);
	printf("ids %zu duplicates %" PRIu64 " disorders %" PRIu64 "\n",
		   ids.count, duplicates, ids.disorders);
	if (ids.count > 0)
		printf("from %" PRId64 " to %" PRId64 "\n", (int64_t) ids.id[0], (int64_t) ids.id[ids.count - 1]);
	free(ids.id);
	return duplicates > 0 || ids.disorders > 0;
}
