/*
 * test_segment_supply.c
 *	  Proves src/core/segment_supply.c without a server, under the sanitizers.
 *
 * Each rule by itself, and then a long life: a segment at a registry that other servers
 * fetch from, too, that fails over and is made anew, beside a count of where each
 * number went.
 *
 * Output is TAP.  Build and run: make unitcheck
 */
#include "core/segment_supply.h"

#include "tap.h"

#define MINUTE INT64_C(60000000)
#define DURATION (15 * MINUTE)
#define START (100 * MINUTE)

static UidgenSupply supply;
static UidgenSegmentLook look;
static UidgenSupplyRequest request;
static UidgenSupplyVerdict verdict;
static UidgenSupplyRelease release;

/* A registry's answer, as it is to be. */
static UidgenSupplyAnswer
answer_of(int64_t first, int64_t last)
{
	return (UidgenSupplyAnswer) {
		.first = first,
		.last = last,
		.incarnation = 5,
		.version = 1000 + last % 100000,
		.course = {9},
		.ncourse = 1,
		.step = 1000,
		.min_step = 100,
		.max_step = 4000,
		.max_value = INT64_MAX,
		.gap_lasts = 7 * MINUTE,
		.registry = 77
	};
}

static void
buffers(uint64_t size, uint64_t left, uint64_t next)
{
	look = (UidgenSegmentLook) {.segment = 1,.generation = 3,.size = size,.left = left,.next = next};
}

static UidgenSupplyFault
receive(UidgenSupplyAnswer answer, UidgenMicroseconds now)
{
	verdict = uidgen_supply_receive(&supply, &request, &answer, &look, now);
	return verdict.fault;
}

/* The supply after a first range, from 1 to 1000. */
static void
begin(void)
{
	memset(&supply, 0x55, sizeof(supply));
	uidgen_supply_init(&supply);
	buffers(0, 0, 0);
	request = uidgen_supply_request(&supply, &look, DURATION, START);
	receive(answer_of(1, 1000), START);
}

/* ---- when ---- */

static void
is_due(bool due, bool if_demanded, const char *name)
{
	ok(uidgen_supply_due(&look, false) == due && uidgen_supply_due(&look, true) == if_demanded,
	   "%s", name);
}

static void
test_due(void)
{
	buffers(0, 0, 0);
	is_due(false, true, "due: of an empty slot only what somebody asks for");
	buffers(1000, 1000, 0);
	is_due(false, false, "due: not where nothing is used");
	buffers(1000, 900, 0);
	is_due(false, false, "due: not before a tenth is used");
	buffers(1000, 899, 0);
	is_due(true, true, "due: but after that, whether somebody asks or not");
	buffers(1000, 899, 1);
	is_due(false, false, "due: not without a free buffer");
	buffers(1000, 0, 1000);
	is_due(false, false, "due: even if it is about to be free");
	buffers(1000, 0, 0);
	is_due(false, true, "due: where all is used up and nobody asks, nobody draws");
	buffers(1, 1, 0);
	is_due(false, false, "due: a range of one number");
	buffers(1000, 950, 0);
	look.wanted = 950;
	is_due(false, false, "due: not for a block that fits");
	look.wanted = 951;
	is_due(false, true, "due: for a longer one");
	look.next = 10;
	is_due(false, false, "due: unless there is no room");
	buffers(1000, 100, 0);
	look.ended = true;
	is_due(false, true, "due: after the end only what somebody asks for");
}

/* ---- how much ---- */

static void
test_first_request(void)
{
	uidgen_supply_init(&supply);
	buffers(0, 0, 0);
	request = uidgen_supply_request(&supply, &look, DURATION, START);
	ok(request.step == 0 && request.incarnation == 0 && request.version == 0 && request.highest == -1,
	   "first request: nothing is known");
	look.wanted = 5000;
	is_int(uidgen_supply_request(&supply, &look, DURATION, START).step, 5000,
		   "first request: a block of any length may be waited for");
	begin();
	ok(verdict.fault == UIDGEN_SUPPLY_SOUND && !verdict.discard &&
	   verdict.first == 1 && verdict.size == 1000, "first answer: fill in its range");
	ok(supply.known && supply.registry == 77 && supply.incarnation == 5 && supply.version == 2000 &&
	   supply.highest == 1000 && supply.length == 1000 && supply.max_step == 4000 &&
	   supply.min_step == 100 && supply.step == 1000 && supply.max_value == INT64_MAX &&
	   supply.gap_lasts == 7 * MINUTE,
	   "first answer: all of it is noted");
	ok(supply.ranges == 1 && supply.received == 1000 && supply.lost == 0 && supply.returned == 0,
	   "first answer: and counted");
	buffers(1000, 899, 0);
	request = uidgen_supply_request(&supply, &look, DURATION, START + 2 * MINUTE);
	ok(request.incarnation == 5 && request.version == 2000 && request.highest == 1000,
	   "next request: says what is known");
}

/* How long is the next range, if so much was used of so much in this time? */
static void
asks(uint64_t size, uint64_t used, uint64_t next, UidgenMicroseconds time, int64_t length,
	 int64_t want, const char *name)
{
	begin();
	supply.length = length;
	supply.left_then = size + next;
	buffers(size, size - used, next);
	is_int(uidgen_supply_request(&supply, &look, DURATION, START + time).step, want, name);
}

static void
test_length(void)
{
	asks(1000, 500, 0, DURATION / 2, 1000, 1000, "length: just the duration is kept");
	asks(1000, 500, 0, DURATION / 2 - 1, 1000, 2000, "length: less doubles it");
	asks(1000, 500, 0, DURATION - 1, 1000, 1000, "length: less than twice as long is kept");
	asks(1000, 500, 0, DURATION, 1000, 500, "length: twice as long halves it");
	asks(1000, 101, 0, 0, 1000, 2000, "length: a tenth in no time doubles it");
	asks(1000, 101, 0, 2 * MINUTE, 1000, 1000, "length: a tenth is enough to judge by");
	asks(1000, 1000, 0, DURATION / 10, 3000, 4000, "length: no further than max_step");
	asks(1000, 1000, 0, 0, 4000, 4000, "length: which stays");
	asks(1000, 500, 0, 100 * DURATION, 150, 100, "length: no less than min_step");
	asks(1000, 500, 0, 100 * DURATION, 100, 100, "length: which stays");
	asks(1000, 1000, 0, 100 * DURATION, 1000, 2000,
		 "length: where nothing is left calls may have waited, however long that took, and it is doubled");
	asks(9, 9, 0, 100 * DURATION, 1000, 1000,
		 "length: of a range that is asked for with its first number nothing is left, and it is not made shorter");
	asks(1000, 0, 0, 100 * DURATION, 1000, 1000, "length: nor where nothing is used");
	asks(1000000000, 1000000000, 0, INT64_MAX / 4, 4000, 4000, "length: large numbers");
	asks(1000, 999, 0, 100 * DURATION, 1000, 500, "length: where a single number is left nobody has waited");
	asks(1000, 500, 1000, DURATION / 2 - 1, 1000, 2000, "length: what is in the other buffer is not used");
	asks(1000, 1, 0, INT64_MAX / 4, 4000, 2000, "length: larger ones");

	/* What others used is what counts, whatever the range's own length. */
	asks(100, 99, 0, DURATION / 10, 1000, 1000, "length: a short range used up fast lasts as it should");

	begin();
	buffers(1000, 899, 0);
	look.wanted = 1001;
	request = uidgen_supply_request(&supply, &look, DURATION, START + 2 * MINUTE);
	is_int(request.step, 1001, "block: gets a range of its length");
	look.wanted = 5000;
	request = uidgen_supply_request(&supply, &look, DURATION, START + 2 * MINUTE);
	is_int(request.step, 4000, "block: up to max_step");
	receive(answer_of(1001, 5000), START + 2 * MINUTE);
	is_int(supply.length, 1000, "block: the next range is as long as always");
	is(supply.left_then, 4899, "block: its numbers count for how fast they are used");
	buffers(1000, 899, 4000);
	look.wanted = 10;
	is_int(uidgen_supply_request(&supply, &look, DURATION, START).step, 1000, "block: a short one gets no less");

	begin();
	buffers(1000, 500, 0);
	request = uidgen_supply_request(&supply, &look, DURATION, START + MINUTE);
	is_int(request.step, 2000, "attempts: twice as long");
	request = uidgen_supply_request(&supply, &look, DURATION, START + MINUTE);
	is_int(request.step, 2000, "attempts: one that failed does not double it again");
	receive(answer_of(1001, 3000), START + MINUTE);
	is_int(supply.length, 2000, "attempts: the answer makes it so");
	is_int(supply.received_at, START + MINUTE, "attempts: time begins anew");
	is(supply.left_then, 2500, "attempts: with what is there");
}

/* ---- answers ---- */

static void
is_fault(UidgenSupplyAnswer answer, UidgenSupplyFault fault, const char *name)
{
	UidgenSupply before = supply;

	ok(receive(answer, START + MINUTE) == fault && memcmp(&before, &supply, sizeof(supply)) == 0 &&
	   !verdict.discard && verdict.size == 0, "%s", name);
}

static void
test_answers(void)
{
	UidgenSupplyAnswer answer;

	begin();
	buffers(1000, 899, 0);
	request = uidgen_supply_request(&supply, &look, DURATION, START + 2 * MINUTE);
	is_fault(answer_of(1000, 1999), UIDGEN_SUPPLY_NOT_ABOVE, "answer: numbers that we were told of are refused");
	is_fault(answer_of(0, 10), UIDGEN_SUPPLY_NOT_ABOVE, "answer: all the more so far below");
	is_fault(answer_of(1001, 1000), UIDGEN_SUPPLY_BAD_RANGE, "answer: so is an empty range");
	is_fault(answer_of(INT64_MAX, INT64_MIN), UIDGEN_SUPPLY_BAD_RANGE, "answer: an upside-down one");
	is_fault(answer_of(-5, 5), UIDGEN_SUPPLY_BAD_RANGE, "answer: one below 0");
	is_fault(answer_of(1001, 5001), UIDGEN_SUPPLY_BAD_RANGE, "answer: one longer than max_step");
	is_fault(answer_of(1001, INT64_MAX), UIDGEN_SUPPLY_BAD_RANGE, "answer: by far");
	answer = answer_of(1001, 2000);
	answer.max_value = 1999;
	is_fault(answer, UIDGEN_SUPPLY_BAD_RANGE, "answer: one beyond max_value");
	answer = answer_of(1001, 2000);
	answer.incarnation = 0;
	is_fault(answer, UIDGEN_SUPPLY_BAD_MARKS, "answer: one without an incarnation");
	answer = answer_of(1001, 2000);
	answer.version = 0;
	is_fault(answer, UIDGEN_SUPPLY_BAD_MARKS, "answer: one without a version");
	answer = answer_of(1001, 2000);
	answer.ncourse = UIDGEN_SUPPLY_COURSE + 1;
	is_fault(answer, UIDGEN_SUPPLY_BAD_MARKS, "answer: one with too many");
	answer = answer_of(1001, 2000);
	answer.min_step = 0;
	is_fault(answer, UIDGEN_SUPPLY_BAD_STEPS, "answer: a step of 0");
	answer.min_step = 4001;
	is_fault(answer, UIDGEN_SUPPLY_BAD_STEPS, "answer: steps that cross");
	answer.min_step = 1;
	answer.max_step = (int64_t) UIDGEN_SEGMENT_MAX + 1;
	is_fault(answer, UIDGEN_SUPPLY_BAD_STEPS, "answer: a step that no buffer can hold");
	answer = answer_of(1001, 2000);
	answer.min_step = 1;
	answer.max_step = (int64_t) UIDGEN_SEGMENT_MAX;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND, "answer: the shortest and the longest step");
	answer = answer_of(2001, 3000);
	answer.ncourse = 0;
	answer.min_step = answer.max_step = 1000;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && supply.length == 1000, "answer: steps that are fixed, and no course, as of a former version");
	begin();
	answer = answer_of(1001, 2000);
	ok(receive(answer, START + 2 * MINUTE) == UIDGEN_SUPPLY_SOUND && verdict.first == 1001 && verdict.size == 1000 &&
	   !verdict.discard, "answer: the next numbers are not");
	answer = answer_of(9000, 9000);
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && verdict.first == 9000 && verdict.size == 1,
	   "answer: nor is one number far above");
	answer = answer_of(INT64_MAX - 3999, INT64_MAX);
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && verdict.size == 4000 && supply.highest == INT64_MAX,
	   "answer: nor are the highest numbers of all");

	begin();
	supply.length = 4000;
	answer = answer_of(1001, 2000);
	answer.step = 500;
	receive(answer, START);
	is_int(supply.length, 500, "answer: if the owner has chosen another step, that counts");
	answer = answer_of(2001, 3000);
	answer.step = 500;
	request.length = 3000;
	answer.max_step = 1000;
	receive(answer, START);
	is_int(supply.length, 1000, "answer: a lower max_step counts as well");
	answer = answer_of(3001, 3100);
	answer.step = 500;
	answer.min_step = 2000;
	receive(answer, START);
	is_int(supply.length, 3000, "answer: if it was raised again, what was asked for counts");
	answer = answer_of(3201, 3300);
	answer.step = 20;
	answer.min_step = 50;
	receive(answer, START);
	is_int(supply.length, 50, "answer: a step below min_step counts as that");
}

static void
test_other(void)
{
	UidgenSupplyAnswer answer;

	begin();
	buffers(1000, 899, 0);
	answer = answer_of(1, 100);
	answer.incarnation = 6;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && verdict.discard && verdict.first == 1 && verdict.size == 100,
	   "another incarnation: throw away what is left, then fill");
	ok(supply.highest == 100 && supply.incarnation == 6 && supply.left_then == 100 && supply.length == 1000,
	   "another incarnation: begins anew");
	ok(supply.ranges == 2 && supply.received == 1100, "another incarnation: what is counted stays");
	answer.registry = 78;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && verdict.discard && supply.registry == 78,
	   "another registry: is another segment, too");
	buffers(1000, 1, 0);
	answer.registry = 79;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && verdict.discard, "another registry: a single number is thrown away as well");
	buffers(1000, 0, 0);
	answer.incarnation = 7;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && !verdict.discard, "another incarnation: nothing is left to be thrown away");
	buffers(0, 0, 5);
	answer.incarnation = 8;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && verdict.discard,
	   "another incarnation: what is left is thrown away");
	uidgen_supply_discarded(&supply, (UidgenSegmentRest[2]) {{1, 30}, {100, 5}});
	is(supply.lost, 35, "another incarnation: what was thrown away is lost");

	begin();
	request = uidgen_supply_request(&supply, &look, DURATION, START);
	ok(request.ncourse == 1 && request.course[0] == 9 && request.highest == 1000,
	   "reign: the registry is told in which one the highest number was given");
	answer = answer_of(3001, 4000);
	answer.course[1] = 10;
	answer.ncourse = 2;
	buffers(1000, 899, 0);
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && !verdict.discard, "reign: another one is no other segment");
	request = uidgen_supply_request(&supply, &look, DURATION, START);
	ok(request.ncourse == 2 && request.course[0] == 9 && request.course[1] == 10, "reign: those of the last answer count");

	begin();
	uidgen_supply_leave(&supply);
	ok(!supply.known && supply.version == 0 && supply.length == 0 && supply.received == 1000,
	   "another place: nothing can be handed back there");
	request = uidgen_supply_request(&supply, &look, DURATION, START);
	ok(request.ncourse == 1 && request.course[0] == 9 && request.highest == 1000 && request.incarnation == supply.incarnation,
	   "another place: it is told what was given, should it have that segment");
	ok(receive(answer_of(1000, 1999), START) == UIDGEN_SUPPLY_NOT_ABOVE, "another place: and numbers that were given are refused");
	answer = answer_of(1, 1000);
	answer.incarnation++;
	ok(receive(answer, START) == UIDGEN_SUPPLY_SOUND && supply.highest == 1000, "another place: another segment begins anew");
}

/* ---- handing back ---- */

static bool
closes(int64_t first, uint64_t count, int64_t next_first, uint64_t next_count)
{
	return uidgen_supply_close(&supply, (UidgenSegmentRest[2]) {{first, count}, {next_first, next_count}},
							   &release);
}

static void
test_release(void)
{
	begin();
	ok(closes(901, 100, 0, 0) && release.version == 2000 && release.first_unused == 901 && release.count == 100,
	   "release: the rest of the range");
	ok(supply.version == 0 && supply.highest == 1000, "release: the version is used once");
	uidgen_supply_released(&supply, &release, true);
	ok(supply.highest == 900 && supply.returned == 100 && supply.lost == 0, "release: done, the numbers are others'");
	ok(!closes(901, 100, 0, 0) && supply.lost == 100, "release: without a version there is none");

	begin();
	closes(901, 100, 0, 0);
	uidgen_supply_released(&supply, &release, false);
	ok(supply.highest == 900 && supply.returned == 0 && supply.lost == 100,
	   "release: not done, or nobody knows: the numbers are lost, and not told to the registry");

	begin();
	receive(answer_of(1001, 1500), START);
	ok(closes(901, 100, 1001, 500) && release.first_unused == 901 && release.count == 600 && supply.lost == 0,
	   "release: both ranges, if they meet");
	begin();
	receive(answer_of(2001, 2500), START);
	ok(closes(901, 100, 2001, 500) && release.first_unused == 2001 && release.count == 500 && supply.lost == 100,
	   "release: else the later one");
	ok(release.version == 3500, "release: with the version of the later one");
	begin();
	receive(answer_of(1001, 1500), START);
	ok(closes(0, 0, 1001, 500) && release.first_unused == 1001 && supply.lost == 0,
	   "release: the later one, where the other one is used up");
	begin();
	receive(answer_of(1001, 1500), START);
	ok(!closes(901, 100, 0, 0) && supply.lost == 100 && release.count == 0,
	   "release: not the earlier one alone: what came after it is used");
	begin();
	supply.version = 1;
	ok(closes(1000, 1, 0, 0) && release.count == 1 && release.version == 1, "release: a single number");
	begin();
	ok(!closes(0, 0, 0, 0) && supply.lost == 0, "release: nothing is left");
	begin();
	receive(answer_of(0, 9), START);
	uidgen_supply_init(&supply);
	buffers(0, 0, 0);
	request = uidgen_supply_request(&supply, &look, DURATION, START);
	receive(answer_of(0, 9), START);
	ok(closes(0, 0, 0, 10) && release.first_unused == 0, "release: from number 0 on");
	uidgen_supply_released(&supply, &release, true);
	is_int(supply.highest, -1, "release: then none was told of");
	begin();
	receive(answer_of(INT64_MAX - 9, INT64_MAX), START);
	ok(closes(INT64_MAX - 9, 10, 0, 0) && release.first_unused == INT64_MAX - 9 && release.count == 10,
	   "release: up to the highest number of all");
}

/* ---- a long life ---- */

static uint64_t random_state = 88172645463325252;

static uint64_t
draw(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % n;
}

/* A segment with two buffers, as segment.h keeps them, and a registry. */
static void
test_life(void)
{
	UidgenSegmentRest rests[2] = {{0, 0}, {0, 0}};
	uint64_t	size[2] = {0, 0};
	int64_t		last_value = 0;
	int64_t		version = 1;
	int64_t		incarnation = 1;
	int64_t		told = -1;		/* in this incarnation, and not left */
	uint64_t	used = 0;
	int			fetches = 0;
	int			releases = 0;
	int			others = 0;
	int			wrong = 0;
	UidgenMicroseconds now = START;

	uidgen_supply_init(&supply);
	for (int i = 0; i < 200000; i++)
	{
		uint64_t	take = draw(60);

		now += (UidgenMicroseconds) draw(10000000);
		/* Callers draw. */
		for (int b = 0; b < 2 && take > 0; b++)
		{
			uint64_t	n = take < rests[0].count ? take : rests[0].count;

			rests[0].first += (int64_t) n;
			rests[0].count -= n;
			used += n;
			take -= n;
			if (rests[0].count == 0 && rests[1].count > 0)
			{
				rests[0] = rests[1];
				size[0] = size[1];
				rests[1].count = 0;
			}
		}
		buffers(size[0], rests[0].count, rests[1].count);
		switch (draw(200))
		{
			case 0:				/* another server fetches */
				last_value += 1 + (int64_t) draw(500);
				version++;
				break;
			case 1:				/* the segment is made anew */
				incarnation++;
				last_value = 0;
				version++;
				others++;
				break;
			case 2:				/* a failover lost a range, and the registry jumps */
				last_value += 4000 - (int64_t) draw(2000);
				version++;
				break;
			case 3:				/* a clean stop */
				if (uidgen_supply_close(&supply, rests, &release))
				{
					bool		done = release.version == version && supply.incarnation == incarnation;

					wrong += done && release.first_unused + (int64_t) release.count - 1 != last_value;
					if (done)
					{
						last_value = release.first_unused - 1;
						version++;
					}
					/* The reply may be lost. */
					done = done && draw(3) > 0;
					uidgen_supply_released(&supply, &release, done);
					told = supply.highest;
					releases += done;
				}
				rests[0].count = rests[1].count = 0;
				break;
			default:
				if (uidgen_supply_due(&look, take > 0))
				{
					UidgenSupplyAnswer answer;
					bool		same;
					int64_t		length;

					request = uidgen_supply_request(&supply, &look, DURATION, now);
					if (draw(10) == 0)
					{
						version++;	/* the reply is lost, or the call */
						last_value += request.step;
						break;
					}
					same = request.incarnation == incarnation;
					if (same && request.highest > last_value)
						last_value = request.highest;
					length = request.step < 100 ? 100 : request.step > 4000 ? 4000 : request.step;
					answer = answer_of(last_value + 1, last_value + length);
					answer.incarnation = incarnation;
					answer.version = ++version;
					last_value += length;
					wrong += receive(answer, now) != UIDGEN_SUPPLY_SOUND;
					wrong += same && answer.first <= told;
					wrong += verdict.discard != (!same && rests[0].count + rests[1].count > 0);
					if (verdict.discard)
					{
						uidgen_supply_discarded(&supply, rests);
						rests[0].count = rests[1].count = 0;
					}
					rests[rests[0].count > 0] = (UidgenSegmentRest) {verdict.first, verdict.size};
					size[rests[1].count > 0] = verdict.size;
					told = answer.last;
					fetches++;
				}
		}
		wrong += supply.received != used + supply.lost + supply.returned +
			rests[0].count + rests[1].count;
	}
	printf("# %d fetches, %d releases, %d incarnations; %" PRIu64 " used, %" PRIu64 " lost, %" PRIu64 " returned\n",
		   fetches, releases, others, used, supply.lost, supply.returned);
	is((uint64_t) wrong, 0, "a long life: every number is used, left, lost or handed back, and none comes again");
	ok(fetches > 1000 && releases > 100 && others > 100, "a long life: all of it was met");
}

int
main(void)
{
	test_due();
	test_first_request();
	test_length();
	test_answers();
	test_other();
	test_release();
	test_life();
	return done_testing();
}
