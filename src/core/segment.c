/*
 * segment.c
 *	  The rare steps of callers, and the keeper's side of the rules in segment.h.
 *
 * One process at a time may call the keeper's functions.  None can be broken off halfway
 * by an interrupt, since none looks for one; a process that is killed outright takes the
 * shared memory with it.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/segment.h"

/* How many of the places from `place` on a range of this size has. */
static inline uint64_t
left_of(uint64_t size, uint64_t place)
{
	return place < size ? size - place : 0;
}

/* ---- callers ---- */

/* Somebody waits for a block of n numbers. */
static void
note_wanted(UidgenSegmentWords *words, uint64_t n)
{
	uint64_t	wanted = uidgen_atomic_read(&words->wanted);

	while (wanted < n && !uidgen_atomic_compare_exchange(&words->wanted, &wanted, n))
		;
}

/*
 * n places were taken from `before` on, of a range of `size` numbers that begins at `first`.
 * False if the range has not enough there; then what it has is left.
 */
static bool
use_places(UidgenSegmentWords *words, UidgenSegmentTicket *ticket, uint64_t n,
		   UidgenSegmentKind kind, uint64_t before, uint64_t first, uint64_t size,
		   uint64_t fetch_at)
{
	uint64_t	place = uidgen_segment_place(before);
	uint64_t	left = left_of(size, place);

	if (left < (kind == UIDGEN_SEGMENT_BLOCK ? n : 1))
	{
		ticket->skipped += left;
		return false;
	}
	ticket->first = (int64_t) (first + place);
	ticket->count = n < left ? n : left;
	ticket->fetch = fetch_at - place < n &&
		!uidgen_segment_next_filled(words, uidgen_segment_generation(before));
	return true;
}

/* The next range is filled: go on with it, and leave what a range of this size has behind `position`. */
static void
cross_seam(UidgenSegmentWords *words, UidgenSegmentTicket *ticket, uint64_t position, uint64_t size)
{
	uint64_t	left = left_of(size, uidgen_segment_place(position));

	if (uidgen_atomic_compare_exchange(&words->position, &position,
									   (uidgen_segment_generation(position) + 1) << 32))
		ticket->skipped += left;
}

UidgenSegmentResult
uidgen_segment_seek(UidgenSegmentWords *words, uint64_t segment,
					UidgenSegmentTicket *ticket, uint64_t n, UidgenSegmentKind kind)
{
	bool		ended = false;	/* before the last look at the position */

	if (n < 1 || n > UIDGEN_SEGMENT_MAX)
		return UIDGEN_SEGMENT_REFUSED;
	for (;;)
	{
		uint64_t	position = uidgen_atomic_read(&words->position);
		uint64_t	generation = uidgen_segment_generation(position);
		uint64_t	place = uidgen_segment_place(position);
		UidgenSegmentBuffer *buffer = uidgen_segment_buffer(words, generation);
		uint64_t	size = 0;
		uint64_t	first;
		uint64_t	fetch_at;
		uint64_t	max_size;

		uidgen_read_barrier();
		if (uidgen_atomic_read(&words->segment) != segment)
			return UIDGEN_SEGMENT_OTHER;
		if (uidgen_atomic_read(&buffer->era) == 2 * generation)
			size = uidgen_atomic_read(&buffer->size);
		first = uidgen_atomic_read(&buffer->first);
		fetch_at = uidgen_atomic_read(&buffer->fetch_at);

		/* Gate and ticket. */
		if (left_of(size, place) >= (kind == UIDGEN_SEGMENT_BLOCK ? n : 1))
		{
			uint64_t	count = n < size - place ? n : size - place;

			if (n <= UIDGEN_SEGMENT_ADD_MAX)
			{
				uint64_t	before = uidgen_atomic_fetch_add(&words->position, n);

				if (uidgen_segment_generation(before) != generation)
					return uidgen_segment_settle(words, segment, ticket, n, kind, before);
				if (use_places(words, ticket, n, kind, before, first, size, fetch_at))
					return UIDGEN_SEGMENT_GOOD;
			}
			else if (uidgen_atomic_compare_exchange(&words->position, &position,
													position + count))
			{
				use_places(words, ticket, count, kind, position, first, size, fetch_at);
				return UIDGEN_SEGMENT_GOOD;
			}
			continue;
		}

		max_size = uidgen_atomic_read(&words->max_size);
		if (kind == UIDGEN_SEGMENT_BLOCK && max_size != 0 && n > max_size)
			return UIDGEN_SEGMENT_TOO_LONG;

		if (uidgen_segment_next_filled(words, generation))
		{
			cross_seam(words, ticket, position, size);
			continue;
		}

		/*
		 * Nothing is there, unless others have gone on to a later generation
		 * meanwhile, whose successor is not what was looked for.
		 */
		uidgen_read_barrier();
		if (uidgen_segment_generation(uidgen_atomic_read(&words->position)) != generation)
			continue;
		if (ended)
			return UIDGEN_SEGMENT_ENDED;

		/*
		 * What was filled before the end is to be found first: look once
		 * more.
		 */
		ended = uidgen_atomic_read(&words->ended) != 0;
		if (ended)
			continue;
		if (kind == UIDGEN_SEGMENT_BLOCK)
			note_wanted(words, n);
		return UIDGEN_SEGMENT_EMPTY;
	}
}

UidgenSegmentResult
uidgen_segment_settle(UidgenSegmentWords *words, uint64_t segment,
					  UidgenSegmentTicket *ticket, uint64_t n, UidgenSegmentKind kind,
					  uint64_t before)
{
	uint64_t	generation = uidgen_segment_generation(before);
	UidgenSegmentBuffer *buffer = uidgen_segment_buffer(words, generation);
	uint64_t	first = uidgen_atomic_read(&buffer->first);
	uint64_t	size = uidgen_atomic_read(&buffer->size);
	uint64_t	fetch_at = uidgen_atomic_read(&buffer->fetch_at);

	/* The ticket was a full barrier: these are of its generation, or of a later one. */
	uidgen_read_barrier();
	if (uidgen_atomic_read(&buffer->era) != 2 * generation)
	{
		/* An empty generation, or its range is gone: then nobody knows its size. */
		ticket->skipped += n;
	}
	else if (uidgen_atomic_read(&words->segment) != segment)
	{
		uint64_t	left = left_of(size, uidgen_segment_place(before));

		ticket->skipped += n < left ? n : left;
		return UIDGEN_SEGMENT_OTHER;
	}
	else if (use_places(words, ticket, n, kind, before, first, size, fetch_at))
		return UIDGEN_SEGMENT_GOOD;
	return uidgen_segment_seek(words, segment, ticket, n, kind);
}

void
uidgen_segment_look(UidgenSegmentWords *words, UidgenSegmentLook *look)
{
	uint64_t	position = uidgen_atomic_read(&words->position);
	uint64_t	generation;

	/* Until the generation was the same before and after. */
	do
	{
		UidgenSegmentBuffer *buffer;

		generation = uidgen_segment_generation(position);
		buffer = uidgen_segment_buffer(words, generation);
		uidgen_read_barrier();
		look->segment = uidgen_atomic_read(&words->segment);
		look->generation = (uint32_t) generation;
		look->size = uidgen_atomic_read(&buffer->era) == 2 * generation ?
			uidgen_atomic_read(&buffer->size) : 0;
		look->next = 0;
		if (uidgen_segment_next_filled(words, generation))
		{
			uidgen_read_barrier();
			look->next = uidgen_atomic_read(&uidgen_segment_buffer(words, generation + 1)->size);
		}
		look->wanted = uidgen_atomic_read(&words->wanted);
		look->ended = uidgen_atomic_read(&words->ended) != 0;
		uidgen_read_barrier();
		position = uidgen_atomic_read(&words->position);
	} while (uidgen_segment_generation(position) != generation);
	look->left = left_of(look->size, uidgen_segment_place(position));
}

/* ---- the keeper ---- */

/* The generation that is drawn from; by an atomic add of nothing: see segment.h. */
static inline uint64_t
current_generation(UidgenSegmentWords *words)
{
	return uidgen_segment_generation(uidgen_atomic_fetch_add(&words->position, 0));
}

void
uidgen_segment_init(UidgenSegmentWords *words)
{
	/* Generation 1 is empty, since an era is 0. */
	uidgen_atomic_init(&words->position, UINT64_C(1) << 32);
	uidgen_atomic_init(&words->segment, 0);
	for (int i = 0; i < 2; i++)
	{
		uidgen_atomic_init(&words->buffer[i].era, 0);
		uidgen_atomic_init(&words->buffer[i].first, 0);
		uidgen_atomic_init(&words->buffer[i].size, 0);
		uidgen_atomic_init(&words->buffer[i].fetch_at, 0);
	}
	uidgen_atomic_init(&words->ended, 0);
	uidgen_atomic_init(&words->max_size, 0);
	uidgen_atomic_init(&words->wanted, 0);
}

void
uidgen_segment_assign(UidgenSegmentWords *words, uint64_t segment)
{
	UidgenSegmentRest rests[2];

	/* First: no caller of the new segment may find the old one's buffers. */
	uidgen_segment_close(words, rests);
	uidgen_atomic_write(&words->ended, 0);
	uidgen_atomic_write(&words->max_size, 0);
	uidgen_atomic_write(&words->wanted, 0);
	uidgen_atomic_write(&words->segment, segment);
}

void
uidgen_segment_bound(UidgenSegmentWords *words, uint64_t max_size)
{
	uint64_t	wanted = uidgen_atomic_read(&words->wanted);

	uidgen_assert(max_size > 0 && max_size <= UIDGEN_SEGMENT_MAX);
	uidgen_atomic_write(&words->max_size, max_size);
	/* Who waits for a longer block will be told that there is none. */
	if (wanted > max_size)
		uidgen_atomic_compare_exchange(&words->wanted, &wanted, 0);
}

void
uidgen_segment_fill(UidgenSegmentWords *words, int64_t first, uint64_t size)
{
	uint64_t	next = (uint32_t) (current_generation(words) + 1);
	UidgenSegmentBuffer *buffer = uidgen_segment_buffer(words, next);
	uint64_t	wanted = uidgen_atomic_read(&words->wanted);

	uidgen_assert(uidgen_atomic_read(&words->segment) != 0);
	uidgen_assert(uidgen_atomic_read(&buffer->era) != 2 * next);
	uidgen_assert(first >= 0 && size > 0 && size <= UIDGEN_SEGMENT_MAX);
	/* Odd before anything else: whoever sees another range sees another era. */
	uidgen_atomic_write(&buffer->era, 2 * next - 1);
	uidgen_write_barrier();
	uidgen_atomic_write(&buffer->first, (uint64_t) first);
	uidgen_atomic_write(&buffer->size, size);
	uidgen_atomic_write(&buffer->fetch_at, UIDGEN_SEGMENT_FETCH_AT(size));
	uidgen_atomic_write(&words->ended, 0);
	/* Even after everything else: whoever sees the era sees all of its range. */
	uidgen_write_barrier();
	uidgen_atomic_write(&buffer->era, 2 * next);

	/* If others take these numbers first, who waits says it again. */
	if (wanted != 0 && wanted <= size)
		uidgen_atomic_compare_exchange(&words->wanted, &wanted, 0);
}

void
uidgen_segment_end(UidgenSegmentWords *words, bool ended)
{
	/* Whoever sees the end sees all that was filled before. */
	uidgen_write_barrier();
	uidgen_atomic_write(&words->ended, ended);
	if (ended)
		uidgen_atomic_write(&words->wanted, 0);
}

void
uidgen_segment_close(UidgenSegmentWords *words, UidgenSegmentRest rests[2])
{
	uint64_t	before = uidgen_atomic_fetch_add(&words->position, UINT64_C(2) << 32);
	uint64_t	generation = uidgen_segment_generation(before);

	for (int i = 0; i < 2; i++)
	{
		uint64_t	g = (uint32_t) (generation + i);
		uint64_t	place = i == 0 ? uidgen_segment_place(before) : 0;
		UidgenSegmentBuffer *buffer = uidgen_segment_buffer(words, g);

		rests[i] = (UidgenSegmentRest) {0, 0};
		if (uidgen_atomic_read(&buffer->era) == 2 * g)
		{
			rests[i].count = left_of(uidgen_atomic_read(&buffer->size), place);
			if (rests[i].count > 0)
				rests[i].first = (int64_t) (uidgen_atomic_read(&buffer->first) + place);
		}
	}
}
