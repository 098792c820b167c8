/*
 * fuzz_ids.c
 *	  Ids put together and taken apart under any layout: no bit of a field
 *	  reaches another, generated ids are not negative and in the order of time,
 *	  and the ends of a tick enclose its ids.
 *
 * The input's first line is a layout, or else the bytes from which one is made;
 * the rest are values.  A value is the character 0, 1, m or M (zero, one, the
 * last but one and the last of its range), or any other byte and then eight.
 * Expected are sums over single bits and numbers of 128 bits.
 */
#include "fuzz.h"

typedef __int128 int128;

typedef struct Input
{
	const uint8_t *next;
	const uint8_t *end;
} Input;

static uint8_t
take_byte(Input *input)
{
	return input->next < input->end ? *input->next++ : 0;
}

/* A number from 0 to maximum, which is a power of two less one. */
static uint64_t
take_value(Input *input, uint64_t maximum)
{
	uint64_t	value = 0;

	switch (input->next < input->end ? take_byte(input) : '0')
	{
		case '0':
			return 0;
		case '1':
			return maximum & 1;
		case 'm':
			return maximum & ~UINT64_C(1);
		case 'M':
			return maximum;
	}
	for (int i = 0; i < 8; i++)
		value = value << 8 | take_byte(input);
	return value & maximum;
}

/* ---- layouts ---- */

/* Make a layout from bytes, with the text that must mean it. */
static void
make_layout(Input *input, UidgenLayout *layout)
{
	static const struct
	{
		const char *text;
		int64_t		length;
	}			units[] = {
		{"1us", 1}, {"10us", 10}, {"1ms", 1000}, {"999ms", 999000},
		{"1s", 1000000}, {"3600s", INT64_C(3600000000)}
	};
	static const char *const epochs[] = {
		"0001-01-01", "1970-01-01", "2025-01-01", "9999-12-31T23:59:59.999999Z"
	};
	UidgenField left[UIDGEN_FIELDS] = {
		UIDGEN_TIME, UIDGEN_DATACENTER, UIDGEN_WORKER, UIDGEN_TAG,
		UIDGEN_SEQUENCE, UIDGEN_ZERO
	};
	UidgenField order[UIDGEN_FIELDS];
	int			bits[UIDGEN_FIELDS];
	int			nleft = UIDGEN_FIELDS;
	int			fields = 0;
	int			room = 64;
	int			unit = take_byte(input) % 6;
	char		text[UIDGEN_LAYOUT_TEXT_SIZE];
	size_t		length = 0;
	UidgenComplaint error;
	int			first;

	while (nleft > 0 && room > 0)
	{
		/* Time is the first of them, and must get a bit. */
		int			i = room == 1 ? 0 : take_byte(input) % nleft;
		int			reserved = left[0] == UIDGEN_TIME && i > 0;
		int			most = left[i] == UIDGEN_TIME ? UIDGEN_TIME_BITS_MAX : UIDGEN_FIELD_BITS_MAX;

		if (most > room - reserved)
			most = room - reserved;
		order[fields] = left[i];
		bits[fields] = 1 + take_byte(input) % most;
		room -= bits[fields];
		length += (size_t) snprintf(text + length, sizeof(text) - length,
									left[i] == UIDGEN_TIME ? "%s:%d:%s " : "%s:%d ",
									uidgen_field_name(left[i]), bits[fields], units[unit].text);
		fields++;
		memmove(left + i, left + i + 1, sizeof(left[0]) * (size_t) (--nleft - i));
		if (left[0] != UIDGEN_TIME && take_byte(input) % 4 == 0)
			break;
	}
	snprintf(text + length, sizeof(text) - length, "epoch:%s", epochs[take_byte(input) % 4]);

	REQUIRE(uidgen_layout_parse(text, layout, &error));
	REQUIRE(layout->unit == units[unit].length);
	first = order[0] == UIDGEN_ZERO;	/* it is dropped */
	REQUIRE(layout->nfields == fields - first);
	for (int i = first, above = first ? bits[0] : 0; i < fields; i++)
	{
		above += bits[i];
		REQUIRE(layout->order[i - first] == order[i]);
		REQUIRE(layout->bits[order[i]] == bits[i]);
		REQUIRE(layout->shift[order[i]] == 64 - room - above);
	}
}

static void
take_layout(Input *input, UidgenLayout *layout)
{
	size_t		size = (size_t) (input->end - input->next);
	const uint8_t *newline = size > 0 ? memchr(input->next, '\n', size) : NULL;
	UidgenComplaint error;

	if (newline)
	{
		char	   *text = text_of(input->next, (size_t) (newline - input->next));
		bool		parsed = uidgen_layout_parse(text, layout, &error);

		free(text);
		if (parsed)
		{
			input->next = newline + 1;
			return;
		}
	}
	make_layout(input, layout);
}

/* ---- ids ---- */

/* The values of an id's fields. */
typedef struct Values
{
	uint64_t	of[UIDGEN_FIELDS];
} Values;

static Values
take_values(Input *input, const UidgenLayout *layout)
{
	Values		values = {{0}};

	for (int field = 0; field < UIDGEN_ZERO; field++)
		values.of[field] = take_value(input, uidgen_layout_maximum(layout, (UidgenField) field));
	return values;
}

/* The id, bit by bit from the lowest field on. */
static int64_t
slow_id(const UidgenLayout *layout, const Values *values)
{
	uint64_t	id = 0;
	int			position = 0;

	for (int i = layout->nfields - 1; i >= 0; i--)
		for (int bit = 0; bit < layout->bits[layout->order[i]]; bit++)
			id |= (values->of[layout->order[i]] >> bit & 1) << position++;
	return (int64_t) id;
}

static int64_t
make_id(const UidgenLayout *layout, const Values *values)
{
	uint64_t	id = 0;

	for (int field = 0; field < UIDGEN_FIELDS; field++)
	{
		uint64_t	bits = uidgen_layout_put(layout, (UidgenField) field, values->of[field]);

		REQUIRE((id & bits) == 0);
		id |= bits;
	}
	return (int64_t) id;
}

/* Put together and taken apart again, nothing has changed. */
static void
check_round_trip(const UidgenLayout *layout, const Values *values, int64_t id)
{
	REQUIRE(id == slow_id(layout, values));
	for (int field = 0; field < UIDGEN_FIELDS; field++)
		REQUIRE(uidgen_layout_get(layout, (UidgenField) field, id) == values->of[field]);
	REQUIRE(uidgen_layout_fits(layout, id));
}

/* Any number at all: it fits if its fields are all that there is in it. */
static void
check_any(const UidgenLayout *layout, int64_t id)
{
	Values		values = {{0}};

	for (int field = 0; field < UIDGEN_ZERO; field++)
		values.of[field] = uidgen_layout_get(layout, (UidgenField) field, id);
	REQUIRE(uidgen_layout_fits(layout, id) == (slow_id(layout, &values) == id));
}

/* The ends of its tick enclose an id, and are ids of that tick themselves. */
static void
check_ends(const UidgenLayout *layout, int64_t id)
{
	uint64_t	tick = uidgen_layout_get(layout, UIDGEN_TIME, id);
	int64_t		lowest = uidgen_layout_min(layout, tick);
	int64_t		highest = uidgen_layout_max(layout, tick);

	REQUIRE(lowest <= id && id <= highest);
	REQUIRE(uidgen_layout_fits(layout, lowest) && uidgen_layout_fits(layout, highest));
	REQUIRE(uidgen_layout_get(layout, UIDGEN_TIME, lowest) == tick);
	REQUIRE(uidgen_layout_get(layout, UIDGEN_TIME, highest) == tick);
	REQUIRE(uidgen_layout_first(layout) <= lowest && highest <= uidgen_layout_last(layout));
}

/* What a layout promises once it generates. */
static void
check_generated(const UidgenLayout *layout, const Values *values, int64_t id,
				const Values *others, int64_t other)
{
	int			sequence_bits = layout->bits[UIDGEN_SEQUENCE];
	uint64_t	capacity = UINT64_C(1) << sequence_bits;
	uint64_t	tick = values->of[UIDGEN_TIME];
	uint64_t	position = tick << sequence_bits | values->of[UIDGEN_SEQUENCE];
	uint64_t	constant =
		uidgen_layout_put(layout, UIDGEN_DATACENTER, values->of[UIDGEN_DATACENTER]) |
		uidgen_layout_put(layout, UIDGEN_WORKER, values->of[UIDGEN_WORKER]) |
		uidgen_layout_put(layout, UIDGEN_TAG, values->of[UIDGEN_TAG]);

	REQUIRE(id >= 0);
	REQUIRE(uidgen_layout_place(layout, position, constant) == id);
	REQUIRE((uint64_t) uidgen_layout_tick_capacity(layout) == capacity);

	/* A later tick's ids are larger, whatever their other fields. */
	if (tick != others->of[UIDGEN_TIME])
		REQUIRE((tick < others->of[UIDGEN_TIME]) == (id < other));
	if (tick > 0)
		REQUIRE(uidgen_layout_max(layout, tick - 1) < uidgen_layout_min(layout, tick));
	/* Under one grant and tag, so is the id of the next position. */
	if (position < (uidgen_layout_maximum(layout, UIDGEN_TIME) << sequence_bits | (capacity - 1)))
	{
		int64_t		next = uidgen_layout_place(layout, position + 1, constant);

		REQUIRE(next > id);
		REQUIRE((((uint64_t) id ^ (uint64_t) next) & constant) == 0);
		REQUIRE(uidgen_layout_fits(layout, next));
	}
}

/* ---- time ---- */

static void
check_tick_of(const UidgenLayout *layout, int64_t time)
{
	int128		since = (int128) time - layout->epoch;
	uint64_t	tick;
	bool		known = uidgen_layout_tick(layout, time, &tick);

	REQUIRE(known == (since >= 0 &&
					  since / layout->unit <= (int128) uidgen_layout_maximum(layout, UIDGEN_TIME)));
	if (known)
		REQUIRE((int128) tick == since / layout->unit);
}

static void
check_time_of(const UidgenLayout *layout, uint64_t tick)
{
	int128		begin = (int128) tick * layout->unit + layout->epoch;
	int64_t		time;
	bool		known = uidgen_layout_time(layout, tick, &time);

	REQUIRE(known == (begin <= INT64_MAX));
	if (known)
	{
		REQUIRE(time == begin);
		check_tick_of(layout, time);
		if (begin + layout->unit - 1 <= INT64_MAX)
			check_tick_of(layout, time + (layout->unit - 1));
		if (time > INT64_MIN)
			check_tick_of(layout, time - 1);
	}
}

static void
check_room(const UidgenLayout *layout)
{
	int128		capacity = (int128) 1 << layout->bits[UIDGEN_SEQUENCE];
	uint64_t	lifetime = uidgen_layout_lifetime(layout);
	uint64_t	last = uidgen_layout_maximum(layout, UIDGEN_TIME);

	REQUIRE(uidgen_layout_tick_capacity(layout) == capacity);
	REQUIRE(uidgen_layout_second_capacity(layout) == capacity * 1000000 / layout->unit);

	/*
	 * It ends with the time bits, or with the last tick whose bits are no
	 * sign.
	 */
	REQUIRE((int64_t) uidgen_layout_put(layout, UIDGEN_TIME, lifetime - 1) >= 0);
	REQUIRE(lifetime - 1 == last ||
			(int64_t) uidgen_layout_put(layout, UIDGEN_TIME, lifetime) < 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input		input = {data, data + size};
	UidgenLayout layout;
	UidgenComplaint error;
	Values		values[2];
	int64_t		ids[2];

	take_layout(&input, &layout);
	check_room(&layout);
	for (int i = 0; i < 2; i++)
	{
		values[i] = take_values(&input, &layout);
		ids[i] = make_id(&layout, &values[i]);
		check_round_trip(&layout, &values[i], ids[i]);
		check_ends(&layout, ids[i]);
		check_time_of(&layout, values[i].of[UIDGEN_TIME]);
	}
	if (uidgen_layout_generates(&layout, &error))
		for (int i = 0; i < 2; i++)
			check_generated(&layout, &values[i], ids[i], &values[!i], ids[!i]);
	check_any(&layout, (int64_t) take_value(&input, UINT64_MAX));
	check_tick_of(&layout, (int64_t) take_value(&input, UINT64_MAX));
	check_time_of(&layout, take_value(&input, UINT64_MAX));
	return 0;
}
