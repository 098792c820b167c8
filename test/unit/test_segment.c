/*
 * test_segment.c
 *	  Proves src/core/segment.h and src/core/segment.c without a server.
 *
 * First each rule by itself, in one thread.  Then one call whose accesses to shared words
 * are interrupted: at each of them, and at each two, others draw, the keeper fills,
 * closes or gives the slot to another segment.  At last all of them under stress:
 * threads draw blocks and single numbers, while a keeper does all that a keeper may.  All
 * that was drawn is kept, and looked through at the end.
 *
 * segment.c is part of this program, so that every access to a shared word can be
 * disturbed.  And under stress the words are in memory that reorders as far as the barriers
 * allow (reordered.h), so that a barrier that is left out is found.
 *
 * Output is TAP.  Built twice, under the address and undefined behaviour sanitizers and
 * under ThreadSanitizer.  Build and run: make unitcheck
 */
#define _POSIX_C_SOURCE 200809L

#include "stress.h"

#include "core/segment.c"

#define REST UIDGEN_SEGMENT_REST
#define BLOCK UIDGEN_SEGMENT_BLOCK
#define GOOD UIDGEN_SEGMENT_GOOD
#define EMPTY UIDGEN_SEGMENT_EMPTY
#define ENDED UIDGEN_SEGMENT_ENDED
#define TOO_LONG UIDGEN_SEGMENT_TOO_LONG
#define OTHER UIDGEN_SEGMENT_OTHER
#define REFUSED UIDGEN_SEGMENT_REFUSED
#define RESULTS (REFUSED + 1)

static const char *const result_names[RESULTS] = {
	"GOOD", "EMPTY", "ENDED", "TOO_LONG", "OTHER", "REFUSED"
};

/* What happens at an access to a shared word, when so many others have been made. */
typedef void (*Happening) (void);

static struct
{
	Happening	what;
	int			after;
}			plan[2];
static int	planned;
static int	accesses;

/* Now and then another thread goes first; or what is to happen at this access. */
static void
disturb(void)
{
	if (disturbance != 0)
	{
		give_way();
		return;
	}
	while (planned > 0 && accesses == plan[0].after)
	{
		Happening	happens = plan[0].what;

		plan[0] = plan[1];
		planned--;
		happens();
	}
	accesses++;
}

static void
plan_for(int after, Happening what)
{
	plan[planned].what = what;
	plan[planned++].after = after;
}

static void
plan_begins(void)
{
	planned = 0;
	accesses = 0;
}

/* ---- rules, in one thread ---- */

static UidgenSegmentWords words;
static UidgenSegmentTicket ticket;
static UidgenSegmentRest rests[2];

#define MINE 7

static uint64_t
generation(void)
{
	return uidgen_segment_generation(uidgen_atomic_read(&words.position));
}

static void
begin(void)
{
	memset(&words, 0x55, sizeof(words));
	memset(&ticket, 0x55, sizeof(ticket));
	uidgen_segment_init(&words);
	uidgen_segment_assign(&words, MINE);
}

static UidgenSegmentResult
take(uint64_t n, UidgenSegmentKind kind)
{
	return kind == BLOCK ? uidgen_segment_take(&words, MINE, &ticket, n, BLOCK) :
		uidgen_segment_take(&words, MINE, &ticket, n, REST);
}

static void
is_result(UidgenSegmentResult got, UidgenSegmentResult want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got: %s\n#  want: %s\n", result_names[got], result_names[want]);
}

/* A draw that is good, and what it draws and leaves. */
static void
takes(uint64_t n, UidgenSegmentKind kind, int64_t first, uint64_t count, uint64_t skipped,
	  const char *name)
{
	UidgenSegmentResult result = take(n, kind);

	if (!ok(result == GOOD && ticket.first == first && ticket.count == count &&
			ticket.skipped == skipped, "%s", name))
		printf("# %s, %" PRIu64 " from %" PRId64 ", %" PRIu64 " skipped\n",
			   result_names[result], ticket.count, ticket.first, ticket.skipped);
}

/* A draw that draws and leaves nothing. */
static void
refuses(uint64_t n, UidgenSegmentKind kind, UidgenSegmentResult want, const char *name)
{
	uint64_t	position = uidgen_atomic_read(&words.position);
	UidgenSegmentResult result = take(n, kind);

	if (!ok(result == want && ticket.skipped == 0 && !ticket.fetch &&
			uidgen_atomic_read(&words.position) == position, "%s", name))
		printf("# %s instead of %s, or something was taken\n", result_names[result],
			   result_names[want]);
}

static UidgenSegmentLook
look_at(UidgenSegmentWords *slot)
{
	UidgenSegmentLook seen;

	memset(&seen, 0x55, sizeof(seen));
	uidgen_segment_look(slot, &seen);
	return seen;
}

static UidgenSegmentLook
look(void)
{
	return look_at(&words);
}

/* Is a buffer free to be filled? */
static bool
room(UidgenSegmentWords *slot)
{
	return look_at(slot).next == 0;
}

static void
looks(uint64_t size, uint64_t left, uint64_t next, const char *name)
{
	UidgenSegmentLook seen = look();

	if (!ok(seen.size == size && seen.left == left && seen.next == next &&
			seen.generation == generation() && seen.segment == MINE, "%s", name))
		printf("# %" PRIu64 " of %" PRIu64 " left, next %" PRIu64 "\n", seen.left, seen.size,
			   seen.next);
}

static void
test_empty(void)
{
	memset(&words, 0x55, sizeof(words));
	uidgen_segment_init(&words);
	is(look().segment, 0, "new slot: no segment");
	for (int i = 0; i < 2; i++)
		ok(uidgen_atomic_read(&words.buffer[i].era) == 0 && uidgen_atomic_read(&words.buffer[i].first) == 0 &&
		   uidgen_atomic_read(&words.buffer[i].size) == 0 && uidgen_atomic_read(&words.buffer[i].fetch_at) == 0,
		   "new slot: nothing in buffer %d", i);
	refuses(1, REST, OTHER, "new slot: it is not the caller's");
	uidgen_segment_assign(&words, MINE);
	looks(0, 0, 0, "given to a segment: nothing in it");
	ok(look().wanted == 0 && !look().ended, "given to a segment: nobody waits, it has not ended");
	ok(room(&words), "given to a segment: there is room");
	refuses(1, REST, EMPTY, "given to a segment: no number");
	refuses(1, BLOCK, EMPTY, "given to a segment: nor a block");
	refuses(0, REST, REFUSED, "no number at all is refused");
	refuses(0, BLOCK, REFUSED, "so is a block of none");
	refuses(UIDGEN_SEGMENT_MAX + 1, REST, REFUSED, "so are more than any range has");
	refuses(UIDGEN_SEGMENT_MAX + 1, BLOCK, REFUSED, "also as a block");
	refuses(UINT64_MAX, BLOCK, REFUSED, "also the largest number of all");
	refuses(UIDGEN_SEGMENT_MAX, REST, EMPTY, "as many as a range may have are not");
	refuses(3, BLOCK, EMPTY, "somebody waits for a block");
	ok(look().wanted != 0, "... which is noted");
	uidgen_segment_assign(&words, MINE + 1);
	is(look().wanted, 0, "given to another segment: nobody waits for that any more");
}

static void
test_draws(void)
{
	begin();
	uidgen_segment_fill(&words, 100, 50);
	ok(room(&words) == false, "before the first draw the range is to follow");
	looks(0, 0, 50, "and lies in the other buffer");
	takes(1, BLOCK, 100, 1, 0, "the first number of a range");
	ok(room(&words), "once it is drawn from, there is room for another");
	looks(50, 49, 0, "and so it looks");
	takes(1, REST, 101, 1, 0, "the next one");
	takes(10, BLOCK, 102, 10, 0, "a block");
	takes(10, REST, 112, 10, 0, "several");
	refuses(0, REST, REFUSED, "no number at all is refused here, too");
	refuses(0, BLOCK, REFUSED, "so is a block of none here");
	takes(28, BLOCK, 122, 28, 0, "a block that just fits");
	looks(50, 0, 0, "all of the range is drawn");
	refuses(1, BLOCK, EMPTY, "no number is left");
	refuses(1, REST, EMPTY, "in no way");
	uidgen_segment_fill(&words, 300, 5);
	looks(50, 0, 5, "until another range is filled in");
}

static void
test_seam(void)
{
	uint64_t	before;

	begin();
	uidgen_segment_fill(&words, 0, 5);
	takes(1, REST, 0, 1, 0, "seam: numbers may begin with 0");
	uidgen_segment_fill(&words, 100, 5);
	looks(5, 4, 5, "seam: both buffers are filled");
	ok(!room(&words), "seam: there is no room");
	takes(9, REST, 1, 4, 0, "seam: the rest of the first one");
	takes(9, REST, 100, 5, 0, "seam: then the next one");
	ok(room(&words), "seam: the first one is free");
	uidgen_segment_fill(&words, 200, 5);
	takes(2, BLOCK, 200, 2, 0, "seam: and used again");
	uidgen_segment_fill(&words, 300, 5);
	takes(4, BLOCK, 300, 4, 3, "seam: a block leaves a rest that is too short");
	refuses(4, BLOCK, EMPTY, "seam: but only if there is another range");
	takes(1, BLOCK, 304, 1, 0, "seam: so smaller draws get it");

	/* As where the seam was crossed between a caller's look and its ticket. */
	begin();
	uidgen_segment_fill(&words, 100, 5);
	takes(5, REST, 100, 5, 0, "seam: a range is used up");
	uidgen_segment_fill(&words, 200, 5);
	takes(1, REST, 200, 1, 0, "seam: the next one is begun");
	before = uidgen_atomic_fetch_add(&words.position, 1);
	memset(&ticket, 0, sizeof(ticket));
	is_result(uidgen_segment_settle(&words, MINE, &ticket, 1, BLOCK, before), GOOD, "seam: who took a ticket of it unawares");
	ok(ticket.first == 201 && ticket.count == 1 && ticket.skipped == 0, "... uses its number");

	begin();
	refuses(1, BLOCK, EMPTY, "block of one: there is none");
	is(look().wanted, 1, "block of one: it is waited for");
	uidgen_segment_fill(&words, 10, 10);
	is(look().wanted, 0, "block of one: any range has it");
	takes(1, REST, 10, 1, 0, "long block: a range of 10");
	uidgen_segment_fill(&words, 20, 10);
	is_result(take(11, BLOCK), EMPTY, "long block: longer than both buffers");
	is(ticket.skipped, 9, "long block: leaves the first, so that there is room");
	is(look().wanted, 11, "long block: and is waited for");
	takes(1, REST, 20, 1, 0, "long block: others draw from the second meanwhile");
	is_result(take(13, BLOCK), EMPTY, "long block: a longer one");
	is_result(take(12, BLOCK), EMPTY, "long block: and one that is not so long");
	is(look().wanted, 13, "long block: the longest is what is waited for");
	uidgen_segment_fill(&words, 30, 12);
	is(look().wanted, 13, "long block: too short a range does not help");
	takes(12, BLOCK, 30, 12, 9, "long block: though it helps the other one");
	uidgen_segment_fill(&words, 50, 13);
	is(look().wanted, 0, "long block: one that is long enough does");
	takes(13, BLOCK, 50, 13, 0, "long block: all of it");
	is(look().wanted, 0, "long block: nobody waits any more");
}

static void
test_limits(void)
{
	uint64_t	max = UIDGEN_SEGMENT_MAX;

	begin();
	is_result(take(30, BLOCK), EMPTY, "bound: a block of any length may come");
	is(look().wanted, 30, "bound: and is waited for");
	uidgen_segment_bound(&words, 20);
	is(look().wanted, 0, "bound: nobody waits for more than the registry gives");
	refuses(21, BLOCK, TOO_LONG, "bound: it says so");
	is(look().wanted, 0, "bound: and is not waited for");
	refuses(20, BLOCK, EMPTY, "bound: a block of that length may come");
	uidgen_segment_bound(&words, 20);
	is(look().wanted, 20, "bound: and is still waited for");
	refuses(21, REST, EMPTY, "bound: several numbers get what there is");
	uidgen_segment_fill(&words, 0, 20);
	takes(1, REST, 0, 1, 0, "bound: a range");
	uidgen_segment_fill(&words, 20, 20);
	refuses(21, BLOCK, TOO_LONG, "bound: what is too long leaves no rest");
	takes(20, BLOCK, 20, 20, 19, "bound: what is not does");

	begin();
	uidgen_segment_bound(&words, max);
	uidgen_segment_fill(&words, INT64_MAX - (int64_t) max + 1, max);
	takes(max - 1, BLOCK, INT64_MAX - (int64_t) max + 1, max - 1, 0, "largest: a block");
	refuses(max, BLOCK, EMPTY, "largest: not twice");
	takes(max, REST, INT64_MAX, 1, 0, "largest: the highest number of all");
	refuses(max, REST, EMPTY, "largest: and no more");
	is(uidgen_segment_place(uidgen_atomic_read(&words.position)), max, "largest: the place is its end");
	begin();
	uidgen_segment_fill(&words, 0, max);
	takes(UIDGEN_SEGMENT_ADD_MAX, BLOCK, 0, UIDGEN_SEGMENT_ADD_MAX, 0, "largest: by fetch-add");
	takes(UIDGEN_SEGMENT_ADD_MAX + 1, BLOCK, UIDGEN_SEGMENT_ADD_MAX, UIDGEN_SEGMENT_ADD_MAX + 1, 0,
		  "largest: by compare-exchange");

	/* The generation comes round. */
	for (int odd = 0; odd < 2; odd++)
	{
		begin();
		uidgen_atomic_write(&words.position, UINT64_C(0xFFFFFFFC) << 32);
		for (int64_t i = 0; i < 4; i++)
		{
			uidgen_segment_fill(&words, 10 * i, 10);
			takes(10, BLOCK, 10 * i, 10, 0, "coming round: numbers go on");
		}
		is(generation(), 0, "coming round: generation 0");
		if (odd)
			uidgen_segment_fill(&words, 40, 10);
		uidgen_segment_close(&words, rests);
		is(generation(), 2, "coming round: closed");
		refuses(1, REST, EMPTY, "coming round: nothing is left");
	}
	begin();
	uidgen_atomic_write(&words.position, UINT64_C(0xFFFFFFFD) << 32);
	uidgen_segment_fill(&words, 10, 10);
	takes(1, REST, 10, 1, 0, "coming round: from the last but one");
	uidgen_segment_fill(&words, 20, 10);
	uidgen_segment_close(&words, rests);
	ok(generation() == 0 && rests[0].count == 9 && rests[1].count == 10,
	   "coming round: what close() finds in both");
	refuses(1, REST, EMPTY, "coming round: it is closed");
}

static void
test_fetch(void)
{
	uint64_t	flags = 0;

	begin();
	uidgen_segment_fill(&words, 0, 100);
	for (int i = 0; i < 100; i++)
		if (take(1, BLOCK) == GOOD && ticket.fetch)
			flags = flags * 1000 + ticket.first + 1;
	is(flags, 11, "fetch: one draw asks for the next range, after a tenth");
	uidgen_segment_fill(&words, 100, 100);
	takes(50, BLOCK, 100, 50, 0, "fetch: a block over that place");
	ok(ticket.fetch, "fetch: asks, too");
	uidgen_segment_fill(&words, 200, 3);
	takes(50, REST, 150, 50, 0, "fetch: the rest");
	ok(!ticket.fetch, "fetch: does not ask again");
	takes(1, REST, 200, 1, 0, "fetch: of a range that is very short");
	ok(ticket.fetch, "fetch: the first one asks");
	begin();
	uidgen_segment_fill(&words, 0, 100);
	takes(10, BLOCK, 0, 10, 0, "fetch: up to that place");
	ok(!ticket.fetch, "fetch: does not ask");
	uidgen_segment_fill(&words, 100, 20000);
	takes(1, BLOCK, 10, 1, 0, "fetch: where there is a next range");
	ok(!ticket.fetch, "fetch: nobody asks");
	takes(90, BLOCK, 100, 90, 89, "fetch: over the seam");
	takes(8000, BLOCK, 190, 8000, 0, "fetch: a long block");
	ok(ticket.fetch, "fetch: asks as well");
	begin();
	uidgen_segment_fill(&words, 0, 100000);
	takes(5000, BLOCK, 0, 5000, 0, "fetch: a long block before that place");
	ok(!ticket.fetch, "fetch: does not ask");
	takes(6000, BLOCK, 5000, 6000, 0, "fetch: the next one, over it");
	ok(ticket.fetch, "fetch: asks");
}

static void
test_end(void)
{
	begin();
	uidgen_segment_fill(&words, 10, 10);
	takes(1, REST, 10, 1, 0, "end: a last range");
	uidgen_segment_end(&words, true);
	ok(look().ended, "end: the registry has no more");
	takes(1, BLOCK, 11, 1, 0, "end: what is there is drawn");
	refuses(9, BLOCK, ENDED, "end: a block that is longer is not there");
	is(look().wanted, 0, "end: and nobody waits for it");
	takes(9, REST, 12, 8, 0, "end: several draw the rest");
	refuses(1, REST, ENDED, "end: no number is left");
	refuses(1, BLOCK, ENDED, "end: no block either");
	uidgen_segment_end(&words, false);
	refuses(1, REST, EMPTY, "end: there may be some again");
	uidgen_segment_end(&words, true);
	uidgen_segment_fill(&words, 20, 10);
	ok(!look().ended, "end: a range ends the end");
	takes(1, REST, 20, 1, 0, "end: and is drawn from");
	is_result(take(30, BLOCK), EMPTY, "end: a block is waited for");
	uidgen_segment_end(&words, true);
	is(look().wanted, 0, "end: it will not come");
	uidgen_segment_assign(&words, MINE);
	refuses(1, REST, EMPTY, "end: is forgotten with the segment");
}

static void
test_close(void)
{
	begin();
	uidgen_segment_close(&words, rests);
	ok(rests[0].count == 0 && rests[1].count == 0, "close: nothing was there");
	uidgen_segment_fill(&words, 10, 10);
	uidgen_segment_close(&words, rests);
	ok(rests[0].count == 0 && rests[1].count == 10 && rests[1].first == 10,
	   "close: a range that nobody has drawn from");
	refuses(1, REST, EMPTY, "close: nor will");
	looks(0, 0, 0, "close: the buffers are empty");
	uidgen_segment_fill(&words, 10, 10);
	takes(4, BLOCK, 10, 4, 0, "close: numbers that were taken back can be filled in again");
	uidgen_segment_fill(&words, 20, 10);
	uidgen_segment_close(&words, rests);
	ok(rests[0].count == 6 && rests[0].first == 14, "close: the rest of the range in use");
	ok(rests[1].count == 10 && rests[1].first == 20, "close: and the next one");
	refuses(1, REST, EMPTY, "close: all is gone");
	uidgen_segment_close(&words, rests);
	ok(rests[0].count == 0 && rests[1].count == 0, "close: and found once only");
	uidgen_segment_fill(&words, 30, 3);
	takes(3, BLOCK, 30, 3, 0, "close: a range that is used up");
	uidgen_segment_close(&words, rests);
	ok(rests[0].count == 0 && rests[1].count == 0, "close: leaves nothing");

	/* Long ago, a call overshot by as much as it can. */
	uidgen_segment_fill(&words, 40, 3);
	takes(1, BLOCK, 40, 1, 0, "close: a range that others overshoot");
	for (int i = 0; i < 5; i++)
		uidgen_atomic_fetch_add(&words.position, UIDGEN_SEGMENT_ADD_MAX);
	refuses(1, REST, EMPTY, "close: has nothing left");
	uidgen_segment_close(&words, rests);
	ok(rests[0].count == 0 && rests[1].count == 0, "close: nor does it give anything back");
}

static void
test_assign(void)
{
	begin();
	uidgen_segment_bound(&words, 10);
	uidgen_segment_fill(&words, 10, 10);
	takes(1, REST, 10, 1, 0, "another segment: the one before");
	uidgen_segment_fill(&words, 20, 10);
	uidgen_segment_end(&words, true);
	uidgen_segment_assign(&words, MINE + 1);
	refuses(1, REST, OTHER, "another segment: its slot is somebody else's");
	refuses(1, BLOCK, OTHER, "another segment: also for a block");
	refuses(5000, BLOCK, OTHER, "another segment: even one that is too long");
	is_result(uidgen_segment_take(&words, MINE + 1, &ticket, 5000, BLOCK), EMPTY,
			  "another segment: finds nothing of the old one, nor its bound and end");
	uidgen_segment_fill(&words, 500, 10);
	refuses(1, REST, OTHER, "another segment: has its own numbers");
	is_result(uidgen_segment_take(&words, MINE + 1, &ticket, 1, REST), GOOD,
			  "another segment: draws them");
	is_int(ticket.first, 500, "another segment: from the first on");
	uidgen_segment_assign(&words, 0);
	is_result(uidgen_segment_take(&words, MINE + 1, &ticket, 1, REST), OTHER,
			  "no segment: nobody's slot");
}

/* ---- one call, interrupted ---- */

/* What was drawn and taken back, by number; numbers of another segment have their own. */
#define NUMBERS 4000
#define THEIRS 2000				/* the other segment's begin here */
static unsigned char used[NUMBERS];
static int64_t next_number;		/* of the caller's segment */
static int64_t their_next;
static int64_t highest_drawn;	/* of the caller's segment */
static uint64_t filled;
static uint64_t accounted;		/* drawn and taken back */
static uint64_t skipped;
static bool slot_is_mine;
static bool wrong;
static const char *what_is_wrong;

static void
complain(bool is_wrong, const char *what)
{
	if (is_wrong && !wrong)
	{
		wrong = true;
		what_is_wrong = what;
	}
}

static void
use(int64_t first, uint64_t count)
{
	complain(first < 0 || first + (int64_t) count > NUMBERS, "a number that was never filled in");
	if (wrong)
		return;
	for (uint64_t i = 0; i < count; i++)
		complain(used[first + (int64_t) i]++ != 0, "a number comes twice");
	accounted += count;
}

/* Others do not stop at each access. */
static void
undisturbed(void (*what) (void))
{
	int			kept_accesses = accesses;
	int			kept_planned = planned;

	planned = 0;
	what();
	planned = kept_planned;
	accesses = kept_accesses;
}

static void
fill_mine(void)
{
	if (slot_is_mine && room(&words))
	{
		uidgen_segment_fill(&words, next_number, 5);
		next_number += 5;
		filled += 5;
	}
}

static void
draw_one(void)
{
	UidgenSegmentTicket other;

	if (uidgen_segment_take(&words, MINE, &other, 1, BLOCK) == GOOD)
	{
		use(other.first, other.count);
		complain(other.first <= highest_drawn, "out of order");
		highest_drawn = other.first;
	}
	skipped += other.skipped;
}

static void
draw_block(void)
{
	UidgenSegmentTicket other;

	if (uidgen_segment_take(&words, MINE, &other, 3, BLOCK) == GOOD)
	{
		use(other.first, other.count);
		complain(other.first <= highest_drawn, "out of order");
		highest_drawn = other.first + 2;
	}
	skipped += other.skipped;
}

static void
draw_range(void)
{
	for (int i = 0; i < 5; i++)
		draw_one();
}

/* One generation further, two, and with nothing to follow. */
static void
one_further(void)
{
	fill_mine();
	draw_range();
	draw_one();
}

static void
two_further(void)
{
	one_further();
	one_further();
	fill_mine();
}

/* A range that follows is filled, and there always is one. */
static void
always_some(void)
{
	for (int i = 0; i < 11; i++)
	{
		fill_mine();
		draw_one();
		fill_mine();
	}
}

static void
close_only(void)
{
	uidgen_segment_close(&words, rests);
	for (int i = 0; i < 2; i++)
		use(rests[i].first, rests[i].count);
}

/* As at a clean stop: what is left is handed back, and comes again. */
static void
close_and_refill(void)
{
	if (!slot_is_mine)
	{
		close_only();
		return;
	}
	uidgen_segment_close(&words, rests);
	for (int i = 0; i < 2; i++)
		if (rests[i].count > 0)
		{
			next_number = next_number < rests[i].first ? next_number : rests[i].first;
			filled -= rests[i].count;
		}
	fill_mine();
	draw_one();
}

/* The slot goes to another segment, which draws. */
static void
give_away(void)
{
	UidgenSegmentTicket other;

	if (slot_is_mine)
	{
		close_only();
		slot_is_mine = false;
		uidgen_segment_assign(&words, MINE + 1);
	}
	if (room(&words))
	{
		uidgen_segment_fill(&words, their_next, 5);
		their_next += 5;
		filled += 5;
	}
	for (int i = 0; i < 2; i++)
	{
		if (uidgen_segment_take(&words, MINE + 1, &other, 1, BLOCK) == GOOD)
			use(other.first, other.count);
		skipped += other.skipped;
	}
}

/* The last range comes, and the registry says that there is no more. */
static bool has_ended;

static void
fill_and_end(void)
{
	fill_mine();
	uidgen_segment_end(&words, true);
	has_ended = true;
}

static const struct
{
	const char *name;
	Happening	what;
}			events[] = {
	{"another draws", draw_one},
	{"another draws a block", draw_block},
	{"the keeper fills", fill_mine},
	{"the range is used up", draw_range},
	{"one generation further", one_further},
	{"two generations further", two_further},
	{"the keeper takes numbers back, and fills them in again", close_and_refill},
	{"the keeper takes numbers back", close_only},
	{"the slot is given to another segment", give_away},
	{"the last range comes", fill_and_end},
};
#define EVENTS ((int) (sizeof(events) / sizeof(events[0])))

static Happening event;
static Happening next_event;

static void
this_event(void)
{
	undisturbed(event);
}

static void
that_event(void)
{
	undisturbed(next_event);
}

/* A slot in use. */
static void
begin_world(int drawn_before, bool next_is_there)
{
	begin();
	memset(used, 0, sizeof(used));
	next_number = 1;
	their_next = THEIRS;
	highest_drawn = 0;
	filled = accounted = skipped = 0;
	slot_is_mine = true;
	has_ended = wrong = false;
	fill_mine();
	for (int i = 0; i < drawn_before; i++)
		draw_one();
	if (next_is_there)
		fill_mine();
}

static UidgenSegmentResult
interrupted_call(uint64_t n, UidgenSegmentKind kind, int drawn_before, bool next_is_there)
{
	int64_t		returned;
	UidgenSegmentResult result;
	int			kept_planned = planned;

	planned = 0;
	begin_world(drawn_before, next_is_there);
	returned = highest_drawn;

	planned = kept_planned;
	accesses = 0;
	result = take(n, kind);
	planned = 0;
	skipped += ticket.skipped;
	if (result == GOOD)
	{
		use(ticket.first, ticket.count);
		complain(ticket.first <= returned, "below what had returned");
		complain(kind == BLOCK ? ticket.count != n : ticket.count < 1 || ticket.count > n,
				 "not as many as were asked for");
		complain(ticket.first >= THEIRS, "a number of another segment");
		/* It takes nothing before it knows that there is something. */
		complain(n > UIDGEN_SEGMENT_ADD_MAX && ticket.skipped > 0, "a long rest leaves numbers out");
		/* Later calls get larger numbers. */
		if (ticket.first + (int64_t) ticket.count - 1 > highest_drawn)
			highest_drawn = ticket.first + (int64_t) ticket.count - 1;
	}
	complain(result == OTHER && slot_is_mine, "the slot is the caller's");
	draw_one();
	complain(result == ENDED && !has_ended, "it has not ended");
	close_only();

	/*
	 * What is nowhere was skipped.  Where the call slept while its ticket's
	 * buffer was used up, it counts more than that, but no more than it
	 * wanted each time.
	 */
	complain(filled > accounted + skipped, "numbers are lost that were not skipped");
	complain(filled + 2 * n < accounted + skipped, "more was skipped than was there");
	return result;
}

/* All interruptions by one event, or by two. */
static void
test_interruptions(void)
{
	static const struct
	{
		uint64_t	n;
		UidgenSegmentKind kind;
		const char *name;
	}			calls[] = {
		{1, BLOCK, "one number"},
		{3, BLOCK, "a block"},
		{4, REST, "a rest"},
		{UIDGEN_SEGMENT_ADD_MAX + 1, REST, "a long rest"}
	};
	int			met[RESULTS] = {0};
	long		total = 0;

	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
	{
		long		bad = 0;

		for (int drawn = 0; drawn <= 5; drawn++)
			for (int next = 0; next < 2; next++)
				for (int a = 0; a < EVENTS; a++)
					for (int b = -1; b < EVENTS; b++)
						for (int i = 0; i < 14; i++)
							for (int j = i; j < (b < 0 ? i + 1 : 20); j++)
							{
								UidgenSegmentResult result;

								event = events[a].what;
								plan_begins();
								plan_for(i, this_event);
								if (b >= 0)
								{
									next_event = events[b].what;
									plan_for(j, that_event);
								}
								result = interrupted_call(calls[c].n, calls[c].kind, drawn, next);
								met[result]++;
								total++;
								if (wrong && bad++ < 3)
									printf("# %s, after %d draws%s: %s at access %d, %s at %d: %s (%s)\n",
										   calls[c].name, drawn, next ? ", both filled" : "",
										   events[a].name, i, b < 0 ? "nothing" : events[b].name, j,
										   what_is_wrong, result_names[result]);
							}
		is(bad, 0, calls[c].n == 1 ? "interrupted: one number is nobody else's, in order, and none is lost" :
		   calls[c].kind == BLOCK ? "interrupted: so is a block" :
		   calls[c].n < UIDGEN_SEGMENT_ADD_MAX ? "interrupted: so is a rest" : "interrupted: so is a long rest");
	}
	printf("# %ld calls: %d good, %d found nothing, %d the end, %d another segment\n", total,
		   met[GOOD], met[EMPTY], met[ENDED], met[OTHER]);
	ok(met[GOOD] > 1000 && met[EMPTY] > 1000 && met[ENDED] > 1000 && met[OTHER] > 1000,
	   "interrupted: each result was met");
}

/* A ticket of two generations ago, whose buffer the keeper fills meanwhile: it has its own number, or one that is drawn
 * anew once all is filled, but none of half a range. */
static uint64_t late_before;
static UidgenSegmentTicket late;
static UidgenSegmentResult late_result;

static void
take_late(void)
{
	planned = 0;
	begin();
	uidgen_segment_fill(&words, 100, 5);
	take(3, REST);
	late_before = uidgen_atomic_fetch_add(&words.position, 1);
	take(1, REST);
}

/* After that, only a third range is to be filled. */
static void
draw_next_range(void)
{
	uidgen_segment_fill(&words, 200, 5);
	take(5, REST);
}

static bool
is_strange(void)
{
	return late_result == GOOD && late.first != 103 && late.first != 300;
}

static void
settle_late(void)
{
	memset(&late, 0, sizeof(late));
	late_result = uidgen_segment_settle(&words, MINE, &late, 1, BLOCK, late_before);
}

static void
test_late_ticket(void)
{
	int			met = 0;
	int			strange = 0;

	event = settle_late;
	for (int i = 0; i < 20; i++)
	{
		take_late();
		draw_next_range();
		late_result = REFUSED;
		plan_begins();
		plan_for(i, this_event);
		uidgen_segment_fill(&words, 300, 5);
		planned = 0;
		if (late_result == REFUSED)
			continue;
		met++;
		strange += is_strange();
	}
	ok(met > 5, "late ticket: the buffer was being filled");
	is(strange, 0, "late ticket: no number of another range");
}

/* The same ticket, of a caller whose processor has read some words of the buffer before the keeper filled it: it is
 * dropped, as it would else be a place of the other range. */
static void
test_late_ticket_reordered(void)
{
	int			anew = 0;
	int			strange = 0;

	for (uint64_t seed = 1; seed <= 200; seed++)
	{
		take_late();
		memset(&reordered, 0, sizeof(reordered));
		reorder(seed);
		settle_late();			/* so it knows these words */
		uidgen_read_barrier();	/* and reads some in advance */
		reorder(0);
		draw_next_range();
		uidgen_segment_fill(&words, 300, 5);
		reorder(seed);
		settle_late();
		reorder(0);
		anew += late_result == GOOD && late.first == 300;
		strange += is_strange();
	}
	memset(&reordered, 0, sizeof(reordered));
	ok(anew > 100, "reordered late ticket: it is drawn anew");
	is(strange, 0, "reordered late ticket: it is no place of another range");
}

/* What the keeper writes gets to memory in another order, as far as its barriers allow, and meanwhile the same ticket is
 * looked at by a caller who sees memory as it is. */
static void
settle_late_meanwhile(void)
{
	uint64_t	random = reordered.random;

	reorder(0);
	settle_late();
	reorder(random);
}

static void
test_late_ticket_reordered_fill(void)
{
	int			met = 0;
	int			strange = 0;

	event = settle_late_meanwhile;
	for (uint64_t seed = 1; seed <= 50; seed++)
		for (int i = 0; i < 20; i++)
		{
			take_late();
			draw_next_range();
			late_result = REFUSED;
			memset(&reordered, 0, sizeof(reordered));
			reorder(seed);
			plan_begins();
			plan_for(i, this_event);
			uidgen_segment_fill(&words, 300, 5);
			planned = 0;
			uidgen_write_barrier();
			reorder(0);
			met += late_result == GOOD;
			strange += is_strange();
		}
	memset(&reordered, 0, sizeof(reordered));
	ok(met > 100, "reordered fill: the late ticket had a number");
	is(strange, 0, "reordered fill: it is no place of the other range");
}

/* A caller that had passed the gate takes a place behind the end of the range, just where another one goes on with the
 * next range. */
static void
late_add(void)
{
	uidgen_atomic_fetch_add(&words.position, 1);
}

static void
test_late_add(void)
{
	int			bad = 0;

	event = late_add;
	for (int i = 0; i < 20; i++)
	{
		planned = 0;
		begin();
		uidgen_segment_fill(&words, 100, 5);
		take(5, REST);
		uidgen_segment_fill(&words, 200, 5);
		plan_begins();
		plan_for(i, this_event);
		bad += take(1, REST) != GOOD || ticket.first < 200;
		planned = 0;
	}
	is(bad, 0, "late place: the next range is found");
}

/* Where a number is there at each moment, a call finds one; and no end, if the last range
 * came before it was said. */
static void
test_never_empty(void)
{
	static const Happening meanwhile[] = {always_some, two_further, fill_and_end};
	int			misses = 0;

	next_event = always_some;

	for (int drawn = 0; drawn <= 5; drawn++)
		for (int e = 0; e < 3; e++)
			for (int i = 0; i < 20; i++)
				for (int n = 0; n < 2; n++)
				{
					UidgenSegmentResult result;

					if (e != 2 && n == 1)
						continue;
					plan_begins();
					event = meanwhile[e];
					plan_for(i, this_event);
					result = interrupted_call(1, n == 0 ? BLOCK : REST, drawn, e != 2);
					if (e == 2 ? result == ENDED : result != GOOD)
						misses++;
					if (e == 0)
					{
						/* The same, again and again. */
						plan_begins();
						event = always_some;
						plan_for(i, this_event);
						plan_for(i + 3, that_event);
						misses += interrupted_call(1, BLOCK, drawn, true) != GOOD;
					}
				}
	is(misses, 0, "interrupted: as long as there are numbers a call finds one");
}

/* The keeper's steps, interrupted by callers: those of the segment, and those of the one
 * that is to come and know its number already. */
static bool theirs_too_early;

static void
callers_draw(void)
{
	UidgenSegmentTicket other;
	UidgenSegmentResult result;

	draw_one();
	result = uidgen_segment_take(&words, MINE + 1, &other, 1, BLOCK);
	theirs_too_early |= result != OTHER && result != EMPTY;
	draw_block();
}

static void
callers_pass_the_seam(void)
{
	draw_range();
	callers_draw();
}

static void
assign_theirs(void)
{
	uidgen_segment_assign(&words, MINE + 1);
}

static void
end_mine(void)
{
	uidgen_segment_end(&words, true);
}

static void
test_interrupted_keeper(void)
{
	static const Happening steps[] = {fill_mine, close_only, close_and_refill, assign_theirs, end_mine};
	static const Happening draws[] = {draw_one, draw_block, callers_draw, callers_pass_the_seam};
	int			bad = 0;

	theirs_too_early = false;
	for (int s = 0; s < 5; s++)
		for (int d = 0; d < 4; d++)
			for (int drawn = 0; drawn <= 6; drawn++)
				for (int i = 0; i < 24; i++)
				{
					plan_begins();
					begin_world(drawn, drawn % 2 == 0);
					event = draws[d];
					accesses = 0;
					plan_for(i, this_event);
					steps[s] ();
					planned = 0;
					draw_one();
					close_only();
					/* What assign() finds, nobody sees. */
					complain(steps[s] != assign_theirs && filled != accounted + skipped,
							 "numbers are lost, or there are too many");
					bad += wrong;
				}
	is((uint64_t) bad, 0, "interrupted: the keeper fills, takes back and ends while others draw");
	ok(!theirs_too_early, "interrupted: who knows the next segment's number finds nothing of this one");
}

/* Two callers wait for blocks: the longer one is noted. */
static void
want_less(void)
{
	UidgenSegmentTicket other;

	uidgen_segment_take(&words, MINE, &other, 3, BLOCK);
}

static void
test_both_wait(void)
{
	int			forgotten = 0;

	for (int i = 0; i < 20; i++)
	{
		begin();
		event = want_less;
		plan_begins();
		plan_for(i, this_event);
		take(5, BLOCK);
		planned = 0;
		forgotten += look().wanted != 5;
	}
	is((uint64_t) forgotten, 0, "interrupted: the longest block that is waited for is noted");
}

/* Callers that go through the gate, and then sleep while others do the same. */
static int	sleepers;
static int	sleep_at;

static void
sleep_while_others_come(void)
{
	UidgenSegmentTicket other;

	if (sleepers-- > 0)
	{
		plan_begins();
		plan_for(sleep_at, sleep_while_others_come);
		uidgen_segment_take(&words, MINE, &other, UIDGEN_SEGMENT_MAX, BLOCK);
	}
}

static void
test_overshoot(void)
{
	int			left = 0;

	for (sleep_at = 0; sleep_at < 16; sleep_at++)
	{
		begin();
		uidgen_segment_fill(&words, 0, UIDGEN_SEGMENT_MAX);
		uidgen_atomic_write(&words.position, (generation() + 1) << 32);
		sleepers = 8;
		plan_begins();
		plan_for(sleep_at, sleep_while_others_come);
		take(UIDGEN_SEGMENT_MAX, BLOCK);
		planned = 0;
		left += generation() != 4 ||
			uidgen_segment_place(uidgen_atomic_read(&words.position)) > UIDGEN_SEGMENT_MAX;
	}
	is(left, 0, "interrupted: late tickets for long blocks stay within the generation");
}

/* ---- stress ---- */

#define CALLERS 5
#define SLOTS 2
#define ENDLESS SLOTS			/* one more slot, with long ranges, that is
								 * never empty */
#define SEGMENTS_MAX 100000		/* that the slots have one after the other */
#define RANGE_MAX 24
#define SECONDS_MIN 2
#define SECONDS_MAX 3600		/* reached only by what never comes */
#ifdef __SANITIZE_THREAD__
#define PART 5					/* less is met, as each access is recorded */
#else
#define PART 1
#endif

#define ADD(x, n) __atomic_fetch_add(&(x), (n), __ATOMIC_SEQ_CST)

typedef struct Caller
{
	pthread_t	thread;
	uint64_t	random;
	Records		drawn;
	uint64_t	skipped;
	uint64_t	disorders;
	uint64_t	not_as_asked;
	uint64_t	after_the_end;
	uint64_t	empty_handed;
	uint64_t	fetches;
} Caller;

/* The 64-bit numbers come first: these are aligned as the words are, by 8. */
static struct
{
	UidgenSegmentWords words[SLOTS + 1];
	uint64_t	segment[SLOTS + 1]; /* as callers look it up */
	uint64_t	results[RESULTS];
	uint64_t	wakes;			/* somebody misses something */

	/*
	 * By the number of a segment: the highest number that has returned, and
	 * whether a call was told that there are no more.
	 */
	int64_t		returned[SEGMENTS_MAX + 1];
	bool		told_the_end[SEGMENTS_MAX + 1];
	bool		stop;
}			stress;

/* The keeper's own. */
static struct
{
	uint64_t	random;
	uint64_t	last_segment;
	int64_t		next[SLOTS + 1];	/* the registry: the next number */
	bool		ended[SLOTS];
	Records		lost;
	uint64_t	filled;			/* numbers */
	uint64_t	fills;
	uint64_t	closes;
	uint64_t	refills;		/* of numbers that were taken back */
	uint64_t	assigns;
	uint64_t	ends;
	uint64_t	looks;
	uint64_t	moves;			/* of the endless slot */
}			keeper;

static void
note(Records *records, uint64_t segment, int64_t first, uint64_t count)
{
	if (!record(records, segment, (uint64_t) first, count))
		SET(stress.stop, true);
}

/* One call: as in the server, but that it gives up at random. */
static void
call(Caller *caller)
{
	uint64_t	slot = next_random(&caller->random) % (SLOTS + 1);
	uint64_t	segment = GET(stress.segment[slot]);
	uint64_t	n = next_random(&caller->random) % 4 != 0 ? 1 :
		1 + next_random(&caller->random) % (RANGE_MAX + 1);
	UidgenSegmentKind kind = next_random(&caller->random) % 2 != 0 ? BLOCK : REST;

	reordered_full_barrier();	/* as the lock of the look-up is */
	while (!GET(stress.stop))
	{
		int64_t		returned = GET(stress.returned[segment]);
		bool		told_the_end = GET(stress.told_the_end[segment]);
		UidgenSegmentTicket got;
		UidgenSegmentResult result;

		result = kind == BLOCK ?
			uidgen_segment_take(&stress.words[slot], segment, &got, n, BLOCK) :
			uidgen_segment_take(&stress.words[slot], segment, &got, n, REST);
		ADD(stress.results[result], 1);
		caller->empty_handed += slot == ENDLESS && result != GOOD;
		caller->skipped += slot != ENDLESS ? got.skipped : 0;
		caller->fetches += result == GOOD && got.fetch;
		if (result == GOOD)
		{
			int64_t		last = got.first + (int64_t) got.count - 1;

			caller->disorders += got.first <= returned;
			caller->after_the_end += told_the_end;
			caller->not_as_asked += kind == BLOCK ? got.count != n : got.count < 1 || got.count > n;
			while (last > returned &&
				   !__atomic_compare_exchange_n(&stress.returned[segment], &returned, last, false,
												__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				;
			note(&caller->drawn, segment, got.first, got.count);
			return;
		}
		if (result == ENDED && n == 1)
			SET(stress.told_the_end[segment], true);
		if (result == OTHER || result == TOO_LONG || next_random(&caller->random) % 100 == 0)
			return;
		ADD(stress.wakes, 1);
		reordered_full_barrier();	/* as to wait is */
		step_aside();
	}
}

static void *
caller_main(void *argument)
{
	Caller	   *caller = argument;

	stress_thread(caller->random);
	while (!GET(stress.stop))
		call(caller);
	return NULL;
}

/* The endless slot goes on, as if a block had been too long for what was left. */
static void
go_on(void)
{
	UidgenSegmentWords *in = &stress.words[ENDLESS];
	uint64_t	position = uidgen_atomic_read(&in->position);

	if (room(in))
	{
		uidgen_segment_fill(in, keeper.next[ENDLESS], UIDGEN_SEGMENT_MAX);
		keeper.next[ENDLESS] += (int64_t) UIDGEN_SEGMENT_MAX;
	}
	else if (uidgen_atomic_compare_exchange(&in->position, &position,
											(uidgen_segment_generation(position) + 1) << 32))
		keeper.moves++;
}

static void
fill(uint64_t slot)
{
	UidgenSegmentWords *in = &stress.words[slot];
	uint64_t	size = 1 + next_random(&keeper.random) % RANGE_MAX;

	if (keeper.ended[slot] || !room(in))
		return;
	/* Other servers fetch, too. */
	if (next_random(&keeper.random) % 4 == 0)
		keeper.next[slot] += (int64_t) size;
	uidgen_segment_fill(in, keeper.next[slot], size);
	keeper.next[slot] += (int64_t) size;
	keeper.filled += size;
	keeper.fills++;
	if (next_random(&keeper.random) % 16 == 0)
	{
		keeper.ended[slot] = true;
		uidgen_segment_end(in, true);
		keeper.ends++;
	}
}

/* What is left is handed back or lost. */
static void
clear(uint64_t slot)
{
	UidgenSegmentRest left[2];
	int64_t		end = keeper.next[slot];
	bool		hands_back = next_random(&keeper.random) % 2 == 0;

	uidgen_segment_close(&stress.words[slot], left);
	keeper.closes++;
	for (int i = 1; i >= 0; i--)
	{
		if (left[i].count == 0)
			continue;
		if (hands_back && left[i].first + (int64_t) left[i].count == end)
		{
			end = keeper.next[slot] = left[i].first;
			keeper.filled -= left[i].count;
			keeper.refills++;
			continue;
		}
		note(&keeper.lost, stress.segment[slot], left[i].first, left[i].count);
		end = -1;
	}
}

static void
assign(uint64_t slot)
{
	if (stress.segment[slot] != 0)
		clear(slot);

	/*
	 * Its numbers lie far from those of others, so that they cannot be taken
	 * for them.
	 */
	uidgen_segment_assign(&stress.words[slot], ++keeper.last_segment);
	keeper.next[slot] = (int64_t) (keeper.last_segment % 7 * 1000000000);
	keeper.ended[slot] = false;
	keeper.assigns++;
	SET(stress.returned[keeper.last_segment], -1);
	reordered_full_barrier();	/* as its lock is */
	SET(stress.segment[slot], keeper.last_segment);
	if (keeper.last_segment == SEGMENTS_MAX - 1)
		SET(stress.stop, true);
}

static void
keep(void)
{
	uint64_t	slot = next_random(&keeper.random) % SLOTS;
	UidgenSegmentLook seen;

	switch (next_random(&keeper.random) % 40)
	{
		case 0:
			if (keeper.ended[slot])
				assign(slot);
			break;
		case 1:
			assign(slot);
			break;
		case 2:
		case 3:
			/* Once it was said that there are no more, there are none. */
			if (!keeper.ended[slot])
				clear(slot);
			break;
		case 4:
			uidgen_segment_bound(&stress.words[slot], RANGE_MAX);
			break;
		case 5:
			seen = look_at(&stress.words[slot]);
			keeper.looks += seen.left <= seen.size && seen.size <= RANGE_MAX && seen.next <= RANGE_MAX;
			break;
		default:
			fill(slot);
	}
}

/* Has every case been met? */
static bool
met_all(void)
{
	for (int r = 0; r < REFUSED; r++)
		if (GET(stress.results[r]) < 10)
			return false;
	return keeper.fills > 10000 / PART && keeper.closes > 500 / PART && keeper.refills > 100 / PART &&
		keeper.assigns > 300 / PART && keeper.ends > 300 / PART && keeper.looks > 100 / PART && keeper.moves > 1000 / PART;
}

static void
test_stress(void)
{
	static Caller callers[CALLERS];
	double		start = seconds();
	uint64_t	skips = 0;
	uint64_t	disorders = 0;
	uint64_t	not_as_asked = 0;
	uint64_t	after_the_end = 0;
	uint64_t	empty_handed = 0;
	uint64_t	fetches = 0;
	uint64_t	numbers = 0;
	uint64_t	strange = 0;
	Records		all = {allocate((CALLERS + 1) * RECORDS_MAX * sizeof(Record)), 0};

	keeper.lost.record = allocate(RECORDS_MAX * sizeof(Record));
	keeper.random = 12345;
	for (int i = 0; i < SLOTS; i++)
	{
		uidgen_segment_init(&stress.words[i]);
		assign(i);
	}
	uidgen_segment_init(&stress.words[ENDLESS]);
	uidgen_segment_assign(&stress.words[ENDLESS], SEGMENTS_MAX);
	stress.segment[ENDLESS] = SEGMENTS_MAX;
	stress.returned[SEGMENTS_MAX] = -1;
	go_on();
	for (int i = 0; i < CALLERS; i++)
	{
		callers[i].random = (uint64_t) i * 7919 + 1;
		callers[i].drawn.record = allocate(RECORDS_MAX * sizeof(Record));
	}
	for (int i = 0; i < CALLERS; i++)
		start_thread(&callers[i].thread, caller_main, &callers[i]);

	stress_thread(54321);
	while (!GET(stress.stop))
	{
		reordered_full_barrier();	/* as its lock is */
		for (uint64_t n = next_random(&keeper.random) % 8; n > 0; n--)
			go_on();
		if (__atomic_exchange_n(&stress.wakes, 0, __ATOMIC_SEQ_CST) != 0 ||
			next_random(&keeper.random) % 8 == 0)
			keep();
		else
			step_aside();
		reordered_full_barrier();
		if (seconds() - start > (met_all() ? SECONDS_MIN : SECONDS_MAX))
			SET(stress.stop, true);
	}
	stress_thread(0);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	plan_begins();
	for (int i = 0; i < SLOTS; i++)
		clear(i);

	for (int i = 0; i < CALLERS; i++)
	{
		skips += callers[i].skipped;
		disorders += callers[i].disorders;
		not_as_asked += callers[i].not_as_asked;
		after_the_end += callers[i].after_the_end;
		empty_handed += callers[i].empty_handed;
		fetches += callers[i].fetches;
		add_records(&all, &callers[i].drawn);
		free(callers[i].drawn.record);
	}
	add_records(&all, &keeper.lost);
	free(keeper.lost.record);
#ifdef __SANITIZE_THREAD__
	printf("# under ThreadSanitizer\n");
#endif
	for (int r = 0; r < REFUSED; r++)
		printf("# %s: %" PRIu64 "\n", result_names[r], GET(stress.results[r]));
	printf("# %" PRIu64 " ranges of %" PRIu64 " numbers, %" PRIu64 " asked for in advance\n",
		   keeper.fills, keeper.filled, fetches);
	printf("# %" PRIu64 " times further in the endless slot\n", keeper.moves);
	printf("# %" PRIu64 " closed, %" PRIu64 " refilled, %" PRIu64 " other segments, %" PRIu64 " ends\n",
		   keeper.closes, keeper.refills, keeper.assigns, keeper.ends);
	is(count_overlaps(&all, "segment"), 0, "stress: no number comes twice");
	/* Each segment has its numbers elsewhere. */
	for (size_t i = 0; i < all.count; i++)
		if (all.record[i].owner != SEGMENTS_MAX)
		{
			numbers += all.record[i].count;
			strange += all.record[i].first / 1000000000 != all.record[i].owner % 7;
		}
	free(all.record);
	printf("# %" PRIu64 " numbers drawn or thrown away, %" PRIu64 " skipped\n", numbers, skips);
	is(strange, 0, "stress: each is of the caller's segment");
	is(disorders, 0, "stress: calls get higher numbers than all that had returned");
	is(not_as_asked, 0, "stress: a block is a block, a rest is what there is");
	is(after_the_end, 0, "stress: once a call was told of the end, nobody draws");
	is(empty_handed, 0, "stress: where a number is there at each moment, each call finds one");
	ok(numbers <= keeper.filled && keeper.filled - numbers <= skips,
	   "stress: what was filled in was drawn, thrown away or skipped");
	ok(met_all(), "stress: every case was met, by the calls and by the keeper");
}

int
main(void)
{
	test_empty();
	test_draws();
	test_seam();
	test_limits();
	test_fetch();
	test_end();
	test_close();
	test_assign();
	/* By a thread alone, so the sanitizer of threads would learn nothing. */
	if (PART == 1)
		test_interruptions();
	test_late_ticket();
	test_late_ticket_reordered();
	test_late_ticket_reordered_fill();
	test_late_add();
	test_never_empty();
	test_interrupted_keeper();
	test_both_wait();
	test_overshoot();
	test_stress();
	return done_testing();
}
