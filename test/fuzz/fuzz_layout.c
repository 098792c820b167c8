/*
 * fuzz_layout.c
 *	  Any text at all as a layout: it is refused with a complete error, or it has
 *	  a canonical text that means the same, and arithmetic with sound results.
 *
 * The input is the text.  Runs under the address and undefined behaviour
 * sanitizers; layout and error lie in blocks of exactly their size, and are
 * filled with garbage before each call.
 */
#include "fuzz.h"

#define HOUR INT64_C(3600000000)
/* The first moment of year 1, and of year 10000. */
#define FIRST_EPOCH (INT64_C(-62135596800) * 1000000)
#define END_OF_EPOCHS (INT64_C(253402300800) * 1000000)

static UidgenLayout *layout;
static UidgenLayout *again;
static UidgenComplaint *error;
static char *canonical;
static char *reprinted;

static void *
block(size_t size)
{
	void	   *memory = malloc(size);

	REQUIRE(memory);
	return memory;
}

static bool
parse(const char *text, UidgenLayout *result)
{
	memset(result, 0xA5, sizeof(*result));
	memset(error, 0xA5, sizeof(*error));
	return uidgen_layout_parse(text, result, error);
}

/* It ends within its field, and was not cut off: a sentence has its period. */
static void
check_text(const char *text, size_t size, bool sentence)
{
	const char *end = memchr(text, '\0', size);

	REQUIRE(end);
	if (sentence)
		REQUIRE(end == text || end[-1] == '.');
	else
		REQUIRE(end > text && end[-1] != '.');
}

static void
check_error(void)
{
	check_text(error->message, sizeof(error->message), false);
	check_text(error->detail, sizeof(error->detail), true);
	check_text(error->hint, sizeof(error->hint), true);
	REQUIRE(error->detail[0] >= 'A' && error->detail[0] <= 'Z');
	REQUIRE(error->hint[0] >= 'A' && error->hint[0] <= 'Z');
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Where an error names an item's position, an item begins there. */
static void
check_position(const char *text)
{
	static const char before[] = "\" at position ";
	const char *found = NULL;
	long		position;

	/* The item itself may hold those words, so the last ones count. */
	for (const char *next = error->detail; (next = strstr(next, before)); next++)
		found = next;
	if (!found)
		return;
	position = strtol(found + strlen(before), NULL, 10);
	REQUIRE(position >= 1 && (size_t) position <= strlen(text));
	REQUIRE(!is_blank(text[position - 1]));
	REQUIRE(position == 1 || is_blank(text[position - 2]));
}

/* The fields are what they may be, and lie one above the other. */
static void
check_fields(void)
{
	int			shift = 0;
	unsigned	seen = 0;

	for (int i = layout->nfields - 1; i >= 0; i--)
	{
		UidgenField field = layout->order[i];

		REQUIRE(field <= UIDGEN_ZERO && !(seen & 1U << field));
		seen |= 1U << field;
		REQUIRE(layout->bits[field] >= 1);
		REQUIRE(layout->bits[field] <= (field == UIDGEN_TIME ?
										UIDGEN_TIME_BITS_MAX : UIDGEN_FIELD_BITS_MAX));
		REQUIRE(layout->shift[field] == shift);
		shift += layout->bits[field];
	}
	REQUIRE(seen & 1U << UIDGEN_TIME);
	REQUIRE(layout->order[0] != UIDGEN_ZERO);
	REQUIRE(layout->total_bits == shift && shift <= 64);
	for (int field = 0; field < UIDGEN_FIELDS; field++)
		REQUIRE((seen >> field & 1) ? layout->bits[field] > 0 : layout->bits[field] == 0 && layout->shift[field] == 0);
	REQUIRE(layout->unit >= 1 && layout->unit <= HOUR);
	REQUIRE(layout->epoch >= FIRST_EPOCH && layout->epoch < END_OF_EPOCHS);
}

static void
check_same(const UidgenLayout *other)
{
	REQUIRE(layout->nfields == other->nfields);
	for (int i = 0; i < layout->nfields; i++)
		REQUIRE(layout->order[i] == other->order[i]);
	REQUIRE(memcmp(layout->bits, other->bits, sizeof(layout->bits)) == 0);
	REQUIRE(memcmp(layout->shift, other->shift, sizeof(layout->shift)) == 0);
	REQUIRE(layout->total_bits == other->total_bits);
	REQUIRE(layout->unit == other->unit && layout->epoch == other->epoch);
}

static void
check_canonical(void)
{
	memset(canonical, 0xA5, UIDGEN_LAYOUT_TEXT_SIZE);
	uidgen_layout_print(layout, canonical);
	REQUIRE(memchr(canonical, '\0', UIDGEN_LAYOUT_TEXT_SIZE));
	REQUIRE(parse(canonical, again));
	check_same(again);
	uidgen_layout_print(again, reprinted);
	REQUIRE(strcmp(canonical, reprinted) == 0);
}

/* With every letter in the other case it means the same, or is refused, too. */
static void
check_case(const char *text, bool accepted)
{
	size_t		length = strlen(text);
	char	   *other = block(length + 1);

	for (size_t i = 0; i <= length; i++)
	{
		char		c = text[i];
		bool		letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		other[i] = (char) (letter ? c ^ 0x20 : c);
	}
	REQUIRE(parse(other, again) == accepted);
	if (accepted)
		check_same(again);
	free(other);
}

static void
check_generates(void)
{
	memset(error, 0xA5, sizeof(*error));
	if (uidgen_layout_generates(layout, error))
	{
		REQUIRE(layout->order[0] == UIDGEN_TIME);
		REQUIRE(layout->bits[UIDGEN_TIME] >= 20);
		REQUIRE(layout->bits[UIDGEN_SEQUENCE] >= 1);
		REQUIRE(layout->total_bits <= 63);
		REQUIRE(uidgen_layout_first(layout) == 0);
		REQUIRE(uidgen_layout_last(layout) > 0);
	}
	else
		check_error();
}

/* What SQL shows of a layout. */
static void
check_ends(void)
{
	int64_t		first = uidgen_layout_first(layout);
	int64_t		last = uidgen_layout_last(layout);
	uint64_t	tick;
	int64_t		time;

	REQUIRE(first < last);
	REQUIRE(uidgen_layout_fits(layout, first) && uidgen_layout_fits(layout, last));
	REQUIRE(uidgen_layout_min(layout, 0) >= first);
	REQUIRE(uidgen_layout_max(layout, 0) <= last);
	REQUIRE(uidgen_layout_lifetime(layout) > 0);
	REQUIRE(uidgen_layout_tick_capacity(layout) > 0);
	REQUIRE(uidgen_layout_second_capacity(layout) >= 0);
	REQUIRE(uidgen_layout_tick(layout, layout->epoch, &tick) && tick == 0);
	REQUIRE(!uidgen_layout_tick(layout, layout->epoch - 1, &tick));
	REQUIRE(uidgen_layout_time(layout, 0, &time) && time == layout->epoch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = text_of(data, size);

	if (!layout)
	{
		layout = block(sizeof(*layout));
		again = block(sizeof(*again));
		error = block(sizeof(*error));
		canonical = block(UIDGEN_LAYOUT_TEXT_SIZE);
		reprinted = block(UIDGEN_LAYOUT_TEXT_SIZE);
	}
	if (parse(text, layout))
	{
		check_fields();
		check_case(text, true);
		check_canonical();
		check_generates();
		check_ends();
	}
	else
	{
		check_error();
		REQUIRE(strcmp(error->message, "invalid layout") == 0);
		check_position(text);
		check_case(text, false);
	}
	free(text);
	return 0;
}
