/*
 * layout.h
 *	  The named bit fields of an id, and all arithmetic on them.
 *
 * A layout says which bits of a 64-bit id hold the time, the datacenter, the worker, the tag and the sequence.  It
 * also says how long a tick is and when tick zero began.  Everything here is a pure function of its arguments, and
 * looks at no clock, setting or server.  So the same code runs in the server, in unit tests and under a fuzzer.  C99
 * only; nothing is allocated.
 *
 * The text form is a list of items separated by blanks, most significant field
 * first, each at most once:
 *
 *	time:BITS:UNIT		ticks since the epoch; UNIT is a number and us, ms or s
 *	datacenter:BITS		a group of workers
 *	worker:BITS			one generating instance from another
 *	tag:BITS			a value of the caller's
 *	sequence:BITS		counts inside one tick
 *	zero:BITS			always zero
 *	epoch:ISO-8601		when tick zero began; UTC if it names no zone
 *
 * or the name of a preset, optionally followed by items that replace the
 * preset's own.  Letters may be in upper or lower case; the canonical text has
 * lower case, but for the T and Z of its epoch.
 */
#ifndef UIDGEN_LAYOUT_H
#define UIDGEN_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/complaint.h"

typedef enum UidgenField
{
	UIDGEN_TIME,
	UIDGEN_DATACENTER,
	UIDGEN_WORKER,
	UIDGEN_TAG,
	UIDGEN_SEQUENCE,
	UIDGEN_ZERO
} UidgenField;

#define UIDGEN_FIELDS 6

/* A field other than time fits SQL's integer. */
#define UIDGEN_FIELD_BITS_MAX 31
#define UIDGEN_TIME_BITS_MAX 63
/* Twenty bits of seconds are twelve days: less is a mistake. */
#define UIDGEN_GENERATING_TIME_BITS_MIN 20
/* The sign bit of a generated id stays clear. */
#define UIDGEN_GENERATING_BITS_MAX 63
#define UIDGEN_UNIT_MAX INT64_C(3600000000) /* an hour, in microseconds */

/* What the setting "uidgen.layout" is unless somebody sets it. */
#define UIDGEN_LAYOUT_DEFAULT "time:41:1ms worker:10 sequence:12 epoch:2025-01-01"

/* Longest canonical text, with its terminating zero. */
#define UIDGEN_LAYOUT_TEXT_SIZE 192
#define UIDGEN_UNIT_TEXT_SIZE 24
#define UIDGEN_EPOCH_TEXT_SIZE 64

typedef struct UidgenLayout
{
	UidgenField order[UIDGEN_FIELDS];	/* the fields, most significant first */
	int			nfields;
	int			bits[UIDGEN_FIELDS];	/* by field; 0: the layout lacks it */
	int			shift[UIDGEN_FIELDS];	/* by field: its lowest bit */
	int			total_bits;
	int64_t		unit;			/* length of a tick, microseconds */
	int64_t		epoch;			/* start of tick 0, microseconds since 1970
								 * UTC */
} UidgenLayout;

typedef struct UidgenPreset
{
	const char *name;
	const char *layout;
	const char *note;
} UidgenPreset;

/* The layouts that have a name; the last entry's name is NULL.  A preset's
 * meaning never changes once it is released. */
extern const UidgenPreset uidgen_presets[];

/*
 * Parse `text` into *layout.  False if it is no layout: then *error says what,
 * naming the item and its position (the first character of the text is 1).
 */
extern bool uidgen_layout_parse(const char *text, UidgenLayout *layout,
								UidgenComplaint *error);

/*
 * Can ids be made with this layout?  False if it is good for decoding only:
 * then *error says why.
 */
extern bool uidgen_layout_generates(const UidgenLayout *layout,
									UidgenComplaint *error);

/*
 * Write the canonical text: presets spelled out, the epoch in UTC, the unit in
 * its largest name.  Two layouts are the same if and only if these texts are.
 */
extern void uidgen_layout_print(const UidgenLayout *layout,
								char text[UIDGEN_LAYOUT_TEXT_SIZE]);

/* Two parts of it: a time unit ("10ms") and an epoch ("2025-01-01"), both given in microseconds. */
extern void uidgen_unit_print(int64_t unit, char text[UIDGEN_UNIT_TEXT_SIZE]);
extern void uidgen_epoch_print(int64_t epoch, char text[UIDGEN_EPOCH_TEXT_SIZE]);

/* The field's name in the grammar. */
extern const char *uidgen_field_name(UidgenField field);

/* Largest value of a field; 0 if the layout lacks it. */
static inline uint64_t
uidgen_layout_maximum(const UidgenLayout *layout, UidgenField field)
{
	return layout->bits[field] == 0 ? 0 :
		UINT64_MAX >> (64 - layout->bits[field]);
}

/* Value of one field of an id; 0 if the layout lacks it. */
static inline uint64_t
uidgen_layout_get(const UidgenLayout *layout, UidgenField field, int64_t id)
{
	return ((uint64_t) id >> layout->shift[field]) &
		uidgen_layout_maximum(layout, field);
}

/* The bits of an id that hold `value` in `field`; value must fit. */
static inline uint64_t
uidgen_layout_put(const UidgenLayout *layout, UidgenField field, uint64_t value)
{
	return layout->bits[field] == 0 ? 0 : value << layout->shift[field];
}

/*
 * The id of a position (tick << sequence_bits | sequence) under a generating
 * layout, given the bits of its constant fields.
 */
static inline int64_t
uidgen_layout_place(const UidgenLayout *layout, uint64_t position,
					uint64_t constant)
{
	int			sequence_bits = layout->bits[UIDGEN_SEQUENCE];
	uint64_t	sequence = position & ((UINT64_C(1) << sequence_bits) - 1);

	return (int64_t) ((position >> sequence_bits) << layout->shift[UIDGEN_TIME] |
					  sequence << layout->shift[UIDGEN_SEQUENCE] | constant);
}

/* Could this id have been made with the layout?  False if a bit is set that
 * belongs to no field, or to `zero`. */
extern bool uidgen_layout_fits(const UidgenLayout *layout, int64_t id);

/*
 * The tick that contains a time in microseconds since 1970 UTC.  False if the
 * time is before the epoch or after the layout's last tick.
 */
extern bool uidgen_layout_tick(const UidgenLayout *layout, int64_t time,
							   uint64_t *tick);

/* When a tick begins, in microseconds since 1970 UTC.  False if that is beyond
 * 64 bits. */
extern bool uidgen_layout_time(const UidgenLayout *layout, uint64_t tick,
							   int64_t *time);

/* Smallest and largest id of a tick, in bigint's order. */
extern int64_t uidgen_layout_min(const UidgenLayout *layout, uint64_t tick);
extern int64_t uidgen_layout_max(const UidgenLayout *layout, uint64_t tick);

/* Smallest and largest id of the layout, in bigint's order. */
extern int64_t uidgen_layout_first(const UidgenLayout *layout);
extern int64_t uidgen_layout_last(const UidgenLayout *layout);

/* Ids that one worker has room for: in a tick, and in a second (rounded down,
 * at most INT64_MAX). */
extern int64_t uidgen_layout_tick_capacity(const UidgenLayout *layout);
extern int64_t uidgen_layout_second_capacity(const UidgenLayout *layout);

/*
 * Lifetime: the ticks before the time bits are used up or, if the layout uses the sign bit for time, before ids turn
 * negative.
 */
extern uint64_t uidgen_layout_lifetime(const UidgenLayout *layout);

#endif							/* UIDGEN_LAYOUT_H */
