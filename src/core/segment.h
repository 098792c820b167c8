/*
 * segment.h
 *	  The lock-free rules by which callers draw numbers of a segment.
 *
 * A segment is a named counter in the registry.  The keeper fetches ranges of it and puts
 * each into one of two buffers in shared memory; callers draw from there.  While they draw
 * from one buffer, the keeper fills the other.  Nothing here waits, reads a clock or knows
 * a server.  What the keeper fetches, and when, is in segment_supply.h.
 *
 * Each range that is put into a buffer begins a generation.  Generation g lies in buffer
 * g % 2, whose era is then 2 * g; it is odd while the keeper fills the buffer.  `position`
 * is generation << 32 | place: which generation is drawn from, and how many of its numbers
 * are taken.  It is one word, so that what fetch-add returns says which generation the
 * numbers belong to.  A generation without a range (era is not 2 * g) is empty: the first
 * one, and those that close() begins.
 *
 * The caller's steps:
 *
 *	1. Read the position: generation g and place.
 *	2. Then read which segment lies in the slot, and the buffer of g: era, first number and
 *	   size.  Another segment than the caller's ends the call; an era other than 2 * g
 *	   means that g is empty.
 *	3.  Gate: if the buffer has not enough left, nothing is taken.  If the other buffer has era 2 * (g + 1),
 *	compare-exchange moves the position to g + 1, and the call starts again.  Otherwise it has to wait for the keeper.
 *	4.  Ticket: fetch-add takes the next n places.  If the position was still of generation
 *	   g, then what was read in step 2 belongs to it, and the number is first + place.
 *	   Otherwise the places are of the generation that fetch-add returned.  Its buffer is
 *	   read, and counts if its era is that generation's before and after, and the slot still
 *	   has the caller's segment; else the numbers are dropped.  Where others were
 *	   faster, the places may lie beyond the end of the buffer: the call starts again.
 *
 * The keeper's steps.  It is alone:
 *
 *	- fill() puts a range into the buffer of g + 1, where g is the generation that is
 *	  drawn from: era odd; first and size; era 2 * (g + 1).
 *	- close() adds two to the generation.  g + 2 is empty and so is g + 3.  What fetch-add
 *	  returned says how much of g was taken; g + 1 is untouched.
 *	- assign() gives the slot to another segment: close(), and then the segment's number.
 *
 * Why a caller may trust what it read in step 2.  A buffer is filled for generation g + 2
 * only after the position has left g, and never for the generation that is drawn from.  The
 * segment changes only after close().  So neither buffer g nor the segment changes while the position is at g, unless
 * g is empty.  The caller read between two looks at the position, the second of which is the ticket itself; both
 * showed g.  So it may sleep anywhere for any time: before the ticket, the ticket shows another generation; after it,
 * nothing is looked at any more.  Only a ticket of another generation than was read in step 1 needs the second look
 * at the era.
 *
 * Why no number is drawn twice.  The position only grows, by atomic steps, so each place of
 * a generation is taken once; and each range is put into one generation.  What close()
 * gives back was not taken: a later ticket on the same word shows the next generation.
 *
 * Why numbers are in order.  The keeper fills each generation with numbers above the last generation's
 * (segment_supply.h).  So numbers are in the order of the positions, and a call that begins after another one has
 * returned takes a later position.
 *
 * Why the place never runs over into the generation.  A buffer has at most
 * UIDGEN_SEGMENT_MAX numbers.  Only calls for at most UIDGEN_SEGMENT_ADD_MAX numbers add
 * without a look at the place; longer ones use compare-exchange, which takes nothing
 * that the buffer has not.  Such an add may come late, but a caller makes only one each time the gate lets it pass.
 * The gate lets nobody pass once the place is at the end.  PostgreSQL has less than 2^18 processes; so the place
 * stays below 10^9 + 2^18 * 2^12 < 2^32.  The generation may come round to 0: only a caller that sleeps through 2^32
 * of them would not notice.
 *
 * Barriers.  Fetch-add and a compare-exchange that succeeds are full ones.  Each of the
 * others has its partner:
 *
 *	- step 1, after the position: whoever sees generation g sees the segment and all of its
 *	  buffer.  Partner: the one in fill() before the even era, which was seen by the
 *	  caller that moved the position to g.
 *	- step 3, where nothing is found, before another look at the position: if the other
 *	  buffer holds a later generation than g + 1, the position has left g.  Partner: the
 *	  one in fill() before the even era.
 *	- step 1 once more, where `ended` was seen before: whoever sees it sees all that was
 *	  filled before.  Partner: the one in end().
 *	- step 4, before the era, for a ticket of another generation than was read: whoever
 *	  sees first or size of a later range sees another era.  Partner: the one in
 *	  fill() after the odd era.
 *	- close() and fill() look at the position by an atomic add, after which they write:
 *	  whoever sees what they write finds the position where they found it, or further on.
 *	  In close() a plain read would miss tickets.  In fill() it would do on all
 *	  processors that there are, since the writes depend on what was read; but
 *	  PostgreSQL promises no such order, and no test can show what it is for.
 */
#ifndef UIDGEN_SEGMENT_H
#define UIDGEN_SEGMENT_H

#include "core/atomics.h"

#define UIDGEN_SEGMENT_LINE 128 /* two cache lines: neighbours are prefetched */

/* Numbers in a range, and of one call. */
#define UIDGEN_SEGMENT_MAX UINT64_C(1000000000)

/* The longest call that takes its numbers by fetch-add: see above. */
#define UIDGEN_SEGMENT_ADD_MAX UINT64_C(4096)

/* The place in a range whose taker asks for the next one. */
#define UIDGEN_SEGMENT_FETCH_AT(size) ((size) / 10)

/* One range.  Written by the keeper alone. */
typedef struct UidgenSegmentBuffer
{
	UidgenAtomic era;			/* 2 * generation; odd: it is being filled */
	UidgenAtomic first;			/* number */
	UidgenAtomic size;			/* numbers */
	UidgenAtomic fetch_at;		/* the call that takes this place asks for the
								 * next range */
} UidgenSegmentBuffer;

typedef struct UidgenSegmentWords
{
	/* Written by every call. */
	UidgenAtomic position;		/* generation << 32 | place */
	char		pad1[UIDGEN_SEGMENT_LINE - sizeof(UidgenAtomic)];

	/*
	 * Read by every call; written by the keeper alone, unless it says
	 * otherwise.
	 */
	UidgenAtomic segment;		/* number of the segment that lies in this
								 * slot; it is never used again while the
								 * memory lives; 0: none */
	UidgenSegmentBuffer buffer[2];
	/* Read by calls that find nothing. */
	UidgenAtomic ended;			/* the registry has no more numbers */
	UidgenAtomic max_size;		/* the longest range that the registry gives;
								 * 0: not known yet */
	UidgenAtomic wanted;		/* the longest block that somebody waits for;
								 * written by callers, too */
	char		pad2[UIDGEN_SEGMENT_LINE - 12 * sizeof(UidgenAtomic)];
} UidgenSegmentWords;

typedef enum UidgenSegmentResult
{
	UIDGEN_SEGMENT_GOOD,		/* the numbers may be used */
	UIDGEN_SEGMENT_EMPTY,		/* neither buffer has them: the keeper is to
								 * fetch */
	UIDGEN_SEGMENT_ENDED,		/* the same, but the registry has no more; it
								 * was asked before this call, and may have
								 * more by now */
	UIDGEN_SEGMENT_TOO_LONG,	/* a block that is longer than any range */
	UIDGEN_SEGMENT_OTHER,		/* another segment lies in this slot: look up
								 * again */
	UIDGEN_SEGMENT_REFUSED		/* n is 0, or above UIDGEN_SEGMENT_MAX */
} UidgenSegmentResult;

typedef enum UidgenSegmentKind
{
	UIDGEN_SEGMENT_REST,		/* from 1 to n numbers, as many as the buffer
								 * has left */
	UIDGEN_SEGMENT_BLOCK		/* n numbers in a row; the rest of a buffer
								 * that is too short is left */
} UidgenSegmentKind;

typedef struct UidgenSegmentTicket
{
	int64_t		first;			/* the numbers, where the result is GOOD */
	uint64_t	count;
	uint64_t	skipped;		/* numbers of this slot that this call has
								 * left for nobody, whatever the result is;
								 * where it slept while its buffer was used
								 * up, some of these may never have been
								 * numbers */
	bool		fetch;			/* ask the keeper for the next range, in
								 * advance of need */
} UidgenSegmentTicket;

/* Numbers that close() took out of a buffer. */
typedef struct UidgenSegmentRest
{
	int64_t		first;
	uint64_t	count;			/* 0: none */
} UidgenSegmentRest;

/* How a slot looks. */
typedef struct UidgenSegmentLook
{
	uint64_t	segment;		/* 0: none */
	uint32_t	generation;		/* the one drawn from */
	uint64_t	size;			/* how long its range is; 0: it is empty */
	uint64_t	left;			/* how much of the range is left */
	uint64_t	next;			/* size of the range in the other buffer; 0:
								 * it is free */
	uint64_t	wanted;			/* the longest block that somebody waits for;
								 * 0: none */
	bool		ended;			/* the registry had no more */
} UidgenSegmentLook;

static inline uint64_t
uidgen_segment_generation(uint64_t position)
{
	return position >> 32;
}

static inline uint64_t
uidgen_segment_place(uint64_t position)
{
	return position & UINT32_MAX;
}

static inline UidgenSegmentBuffer *
uidgen_segment_buffer(UidgenSegmentWords *words, uint64_t generation)
{
	return &words->buffer[generation & 1];
}

/* The generation after this one is in its buffer. */
static inline bool
uidgen_segment_next_filled(UidgenSegmentWords *words, uint64_t generation)
{
	uint64_t	next = (uint32_t) (generation + 1);

	return uidgen_atomic_read(&uidgen_segment_buffer(words, next)->era) == 2 * next;
}

/* All of take() that is rare.  settle() has taken n places, at the position `before`. */
extern UidgenSegmentResult uidgen_segment_seek(UidgenSegmentWords *words, uint64_t segment,
											   UidgenSegmentTicket *ticket, uint64_t n,
											   UidgenSegmentKind kind);
extern UidgenSegmentResult uidgen_segment_settle(UidgenSegmentWords *words, uint64_t segment,
												 UidgenSegmentTicket *ticket, uint64_t n,
												 UidgenSegmentKind kind, uint64_t before);

/* How far the part of take() that is not rare has come. */
typedef enum UidgenSegmentStart
{
	UIDGEN_SEGMENT_TAKEN,		/* to the end: the result is GOOD */
	UIDGEN_SEGMENT_CLOSED,		/* to the gate: nothing is taken */
	UIDGEN_SEGMENT_UNSETTLED	/* n places are taken, at the position
								 * `before` */
} UidgenSegmentStart;

/*
 * The part of take() that is not rare.  It gives the ticket's address to nobody.  So a caller that hands the ticket
 * on by value has it in registers.  A ticket on the stack would cost each call the stack protector's check.
 */
static uidgen_always_inline UidgenSegmentStart
uidgen_segment_start(UidgenSegmentWords *words, uint64_t segment,
					 UidgenSegmentTicket *ticket, uint64_t n, UidgenSegmentKind kind,
					 uint64_t *before)
{
	uint64_t	position = uidgen_atomic_read(&words->position);
	uint64_t	generation = uidgen_segment_generation(position);
	UidgenSegmentBuffer *buffer = uidgen_segment_buffer(words, generation);
	uint64_t	needed = kind == UIDGEN_SEGMENT_BLOCK ? n : 1;
	uint64_t	first;
	uint64_t	size;
	uint64_t	fetch_at;
	uint64_t	place;

	ticket->first = 0;
	ticket->count = 0;
	ticket->skipped = 0;
	ticket->fetch = false;
	*before = 0;
	uidgen_read_barrier();
	size = uidgen_atomic_read(&buffer->size);
	if (uidgen_unlikely(n - 1 >= UIDGEN_SEGMENT_ADD_MAX ||
						uidgen_atomic_read(&words->segment) != segment ||
						uidgen_atomic_read(&buffer->era) != 2 * generation ||
						uidgen_segment_place(position) + needed > size))
		return UIDGEN_SEGMENT_CLOSED;
	first = uidgen_atomic_read(&buffer->first);
	fetch_at = uidgen_atomic_read(&buffer->fetch_at);

	*before = uidgen_atomic_fetch_add(&words->position, n);
	place = uidgen_segment_place(*before);
	if (uidgen_unlikely(uidgen_segment_generation(*before) != generation ||
						place + needed > size))
		return UIDGEN_SEGMENT_UNSETTLED;
	ticket->first = (int64_t) (first + place);
	ticket->count = kind == UIDGEN_SEGMENT_BLOCK || n <= size - place ? n : size - place;
	if (uidgen_unlikely(fetch_at - place < n))
		ticket->fetch = !uidgen_segment_next_filled(words, generation);
	return UIDGEN_SEGMENT_TAKEN;
}

/* The rest of it. */
static inline UidgenSegmentResult
uidgen_segment_finish(UidgenSegmentWords *words, uint64_t segment,
					  UidgenSegmentTicket *ticket, uint64_t n, UidgenSegmentKind kind,
					  UidgenSegmentStart start, uint64_t before)
{
	switch (start)
	{
		case UIDGEN_SEGMENT_CLOSED:
			return uidgen_segment_seek(words, segment, ticket, n, kind);
		case UIDGEN_SEGMENT_UNSETTLED:
			return uidgen_segment_settle(words, segment, ticket, n, kind, before);
		case UIDGEN_SEGMENT_TAKEN:
			break;
	}
	return UIDGEN_SEGMENT_GOOD;
}

/*
 * Draw n numbers of the segment with this number, which is not 0.  `kind` is a constant,
 * so that the compiler makes a function for each.
 */
static uidgen_always_inline UidgenSegmentResult
uidgen_segment_take(UidgenSegmentWords *words, uint64_t segment,
					UidgenSegmentTicket *ticket, uint64_t n, UidgenSegmentKind kind)
{
	uint64_t	before;
	UidgenSegmentStart start = uidgen_segment_start(words, segment, ticket, n, kind, &before);

	return uidgen_segment_finish(words, segment, ticket, n, kind, start, before);
}

/* How the slot looks at one moment; anybody may look. */
extern void uidgen_segment_look(UidgenSegmentWords *words, UidgenSegmentLook *look);

/* ---- the keeper, which is alone ---- */

/* First use of the shared words: no segment. */
extern void uidgen_segment_init(UidgenSegmentWords *words);

/* Give the slot to another segment, or to none (0).  The slot is then empty: numbers from before are not drawn any
 * more. */
extern void uidgen_segment_assign(UidgenSegmentWords *words, uint64_t segment);

/* No range is longer than this; at most UIDGEN_SEGMENT_MAX. */
extern void uidgen_segment_bound(UidgenSegmentWords *words, uint64_t max_size);

/* Put a range into the free buffer: from 1 to UIDGEN_SEGMENT_MAX numbers, above all that
 * the slot has had of this segment.  The segment has not ended, then. */
extern void uidgen_segment_fill(UidgenSegmentWords *words, int64_t first, uint64_t size);

/* The registry has no more numbers; or it may have some again. */
extern void uidgen_segment_end(UidgenSegmentWords *words, bool ended);

/*
 * Take back what is left in the buffers; nobody draws it afterwards.  The rest of the range
 * that was drawn from comes first, then the one that was to follow; either may be empty.
 */
extern void uidgen_segment_close(UidgenSegmentWords *words, UidgenSegmentRest rests[2]);

#endif							/* UIDGEN_SEGMENT_H */
