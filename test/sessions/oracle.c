/*
 * oracle.c
 *	  Judges the ids that the sessions of a round saw (record.h).
 *
 * Usage: oracle FACTS IDS...
 *
 * FACTS says what the ids are compared with, one fact a line.  Ticks are those of the
 * layout; times are nanoseconds of the monotonic clock:
 *
 *	  layout UNIT_US EPOCH_US					unit and epoch of the time
 *	  field NAME SHIFT BITS						time, datacenter, worker, tag, sequence
 *	  datacenter ID
 *	  ahead CALM ALWAYS							ticks that ids may be ahead of the clock
 *	  blur US									the time of ids is off the clock by at most so much
 *	  calm_until TIME							when the first thing happened that may
 *												put them further ahead than CALM
 *	  grant NODE DATACENTER WORKER FIRST LAST	ticks that the registry granted
 *	  chance WORKER								two registries may both have chosen this id
 *	  step FROM TO								the clock was set in between
 *	  stepped NODE WORKER WORKER				after a large step back, the second took over
 *	  life NODE FROM TO							the shared memory ended in between
 *	  numbers UNORDERED							1: servers change to another registry that
 *												has the same segments
 *
 * What is checked, of every id:
 *
 *	unique		it came once;
 *	field		datacenter and tag are those that were asked for, no other bit is set;
 *	grant		its worker and tick were granted;
 *	order		it is above those that its connection saw before, and above those of
 *				every call that had ended when its call began;
 *	old, ahead	its time is not before its statement began, nor too far ahead of the
 *				clock when it arrived.
 *
 * Numbers of segments are judged by two rules: each came once; and each is above those that
 * its connection saw before, and above those of every call of its server that had ended
 * when its call began, if they are of the same segment.  Segments begin at multiples of
 * PER_SEGMENT, each at another one.
 *
 * Prints a line for each of the first violations of a kind, and at the end
 *
 *	  ids N numbers N violations N excused N ahead TICKS
 *
 * where excused are equal ids of a worker id that two registries chose by chance,
 * and ahead is the most that an id was ahead of the clock before calm_until.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define NAMED 5					/* of each kind */

/* Where the clock was set, statements are not judged that began so long after: a
 * process may go by the old time for a millisecond. */
#define STEP_MARGIN INT64_C(20000000)

/* How old an id may be: that millisecond. */
#define OLD_US 1000

/* Numbers from a multiple of this on are those of a segment. */
#define PER_SEGMENT INT64_C(10000000000)

#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)

enum Field
{
	TIME, DATACENTER, WORKER, TAG, SEQUENCE, FIELDS
};

static const char *const field_names[] = {"time", "datacenter", "worker", "tag", "sequence"};

enum Kind
{
	UNIQUE, FIELD, GRANT, ORDER, OLD, AHEAD, KINDS
};

static const char *const kind_names[] = {"unique", "field", "grant", "order", "old", "ahead"};

typedef struct Grant
{
	int			node;
	int64_t		datacenter;
	int64_t		worker;
	int64_t		first;
	int64_t		last;
} Grant;

typedef struct Span
{
	int			node;
	int64_t		from;
	int64_t		to;
} Span;

/* A chunk in memory, with what it says of order. */
typedef struct Statement
{
	Chunk		head;
	int			session;		/* the number of its file */
	uint64_t	lowest;
	uint64_t	highest;
	int64_t		lowest_worker;
	int64_t		highest_worker;
} Statement;

typedef struct Seen
{
	uint64_t	id;
	uint32_t	statement;
} Seen;

/* The numbers of a segment that arrived in one chunk. */
typedef struct Numbers
{
	uint32_t	statement;
	int64_t		segment;
	int64_t		lowest;
	int64_t		highest;
} Numbers;

static int64_t unit = 1;
static int64_t epoch;
static int	shift[FIELDS];
static int	bits[FIELDS];
static int64_t own_datacenter;
static int64_t calm_ahead;
static int64_t always_ahead;
static int64_t blur;
static int64_t calm_until = INT64_MAX;

static Grant *grants;
static size_t ngrants;
static Span *steps;
static size_t nsteps;
static Span *lives;
static size_t nlives;
static Span *stepped;			/* node and, as `from` and `to`, worker ids */
static size_t nstepped;
static int64_t *chances;
static size_t nchances;

static Statement *statements;
static size_t nstatements;
static Seen *ids;
static size_t nids;
static Seen *numbers;
static size_t nnumbers;
static Numbers *chunks;			/* in the order of files: numbers of a session */
static size_t nchunks;
static int64_t unordered;

static uint64_t violations[KINDS];
static uint64_t excused;
static int64_t most_ahead;

static void fail(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *format,...)
{
	va_list		args;

	fputs("oracle: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/* Room for one more in an array of `count`; doubled when full. */
static void *
grow(void *array, size_t count, size_t size)
{
	if (count >= 64 && (count & (count - 1)) != 0)
		return array;
	if (count > 0 && count < 64)
		return array;
	array = realloc(array, (count == 0 ? 64 : count * 2) * size);
	if (!array)
		fail("out of memory");
	return array;
}

#define APPEND(array, count, ...) \
	((array) = grow(array, count, sizeof(*(array))), (array)[(count)++] = (__VA_ARGS__))

static void violation(enum Kind kind, uint32_t statement, const char *format,...)
			__attribute__((format(printf, 3, 4)));

static void
violation(enum Kind kind, uint32_t statement, const char *format,...)
{
	const Statement *s = &statements[statement];
	va_list		args;

	if (violations[kind]++ >= NAMED)
		return;
	printf("%s session %d line %u at %" PRId64 ": ", kind_names[kind], s->session,
		   s->head.line, s->head.mono_before / 1000000);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* ---- facts ---- */

static void
read_facts(const char *name)
{
	FILE	   *file = fopen(name, "r");
	char		line[256];
	char		word[32];

	if (!file)
		fail("cannot open %s", name);
	while (fgets(line, sizeof(line), file))
	{
		Grant		g;
		Span		s = {0};
		int64_t		worker;
		int			at;
		int			width;

		if (sscanf(line, "layout %" SCNd64 " %" SCNd64, &unit, &epoch) == 2 ||
			sscanf(line, "datacenter %" SCNd64, &own_datacenter) == 1 ||
			sscanf(line, "ahead %" SCNd64 " %" SCNd64, &calm_ahead, &always_ahead) == 2 ||
			sscanf(line, "blur %" SCNd64, &blur) == 1 ||
			sscanf(line, "numbers %" SCNd64, &unordered) == 1 ||
			sscanf(line, "calm_until %" SCNd64, &calm_until) == 1)
			continue;
		if (sscanf(line, "field %31s %d %d", word, &at, &width) == 3)
		{
			for (int f = 0; f < FIELDS; f++)
				if (strcmp(word, field_names[f]) == 0)
				{
					shift[f] = at;
					bits[f] = width;
				}
		}
		else if (sscanf(line, "grant %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
						&g.node, &g.datacenter, &g.worker, &g.first, &g.last) == 5)
			APPEND(grants, ngrants, g);
		else if (sscanf(line, "chance %" SCNd64, &worker) == 1)
			APPEND(chances, nchances, worker);
		else if (sscanf(line, "step %" SCNd64 " %" SCNd64, &s.from, &s.to) == 2)
			APPEND(steps, nsteps, s);
		else if (sscanf(line, "stepped %d %" SCNd64 " %" SCNd64, &s.node, &s.from, &s.to) == 3)
			APPEND(stepped, nstepped, s);
		else if (sscanf(line, "life %d %" SCNd64 " %" SCNd64, &s.node, &s.from, &s.to) == 3)
			APPEND(lives, nlives, s);
		else
			fail("do not understand %s", line);
	}
	fclose(file);
}

static int
compare_grants(const void *a, const void *b)
{
	const Grant *x = a;
	const Grant *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Sort the grants and put together what touches. */
static void
merge_grants(void)
{
	size_t		n = 0;

	if (ngrants == 0)
		return;
	qsort(grants, ngrants, sizeof(Grant), compare_grants);
	for (size_t i = 1; i < ngrants; i++)
	{
		Grant	   *last = &grants[n];

		if (grants[i].node == last->node && grants[i].worker == last->worker &&
			grants[i].first <= last->last + 1)
		{
			if (grants[i].last > last->last)
				last->last = grants[i].last;
		}
		else
			grants[++n] = grants[i];
	}
	ngrants = n + 1;
}

static bool
is_granted(int node, int64_t worker, int64_t tick)
{
	static const Grant *last = NULL;
	size_t		low = 0;
	size_t		high = ngrants;
	Grant		sought = {.node = node, .worker = worker, .first = tick};

	if (last && last->node == node && last->worker == worker &&
		tick >= last->first && tick <= last->last)
		return true;
	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (compare_grants(&grants[middle], &sought) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	last = &grants[low - 1];
	return last->node == node && last->worker == worker && tick <= last->last;
}

/* Was a large step back followed between these worker ids? */
static bool
was_stepped(int node, int64_t before, int64_t after)
{
	for (size_t i = 0; i < nstepped; i++)
		if (stepped[i].node == node && stepped[i].from == before && stepped[i].to == after)
			return true;
	return false;
}

static bool
clock_was_set(int64_t from, int64_t to)
{
	for (size_t i = 0; i < nsteps; i++)
		if (steps[i].from <= to && from <= steps[i].to + STEP_MARGIN)
			return true;
	return false;
}

/* ---- fields ---- */

static uint64_t
field(uint64_t id, enum Field which)
{
	return (id >> shift[which]) & ((UINT64_C(1) << bits[which]) - 1);
}

static uint64_t
position(uint64_t id)
{
	return field(id, TIME) << bits[SEQUENCE] | field(id, SEQUENCE);
}

/* The tick at a time; a time before the epoch is in none. */
static int64_t
tick_at(int64_t us)
{
	return us < epoch ? -1 : (us - epoch) / unit;
}

/* ---- one file ---- */

static uint64_t known_bits;

static void
judge_id(uint32_t number, uint64_t id, int64_t earliest, int64_t now, int64_t bound)
{
	const Chunk *head = &statements[number].head;
	int64_t		tick = (int64_t) field(id, TIME);

	if ((id & ~known_bits) != 0 || field(id, DATACENTER) != (uint64_t) own_datacenter ||
		(head->tag >= 0 && field(id, TAG) != (uint64_t) head->tag))
		violation(FIELD, number, "id %" PRIu64, id);
	if (!is_granted(head->node, (int64_t) field(id, WORKER), tick))
		violation(GRANT, number, "id %" PRIu64 " of worker %" PRIu64 ", tick %" PRId64,
				  id, field(id, WORKER), tick);
	if (tick < earliest)
		violation(OLD, number, "id %" PRIu64 " is %" PRId64 " ticks before tick %" PRId64,
				  id, earliest - tick, earliest);
	if (bound >= 0)
	{
		if (tick - now > bound)
			violation(AHEAD, number, "id %" PRIu64 " is %" PRId64 " ticks ahead of tick %" PRId64 ", allowed are %" PRId64,
					  id, tick - now, now, bound);
		if (head->mono_after < calm_until && tick - now > most_ahead)
			most_ahead = tick - now;
	}
}

/* What a connection saw last. */
typedef struct Last
{
	uint32_t	connection;
	bool		any;
	uint64_t	position;
	int64_t		worker;
} Last;

static void
judge_order(uint32_t number, uint64_t id, Last *last)
{
	const Chunk *head = &statements[number].head;
	uint64_t	p = position(id);
	int64_t		worker = (int64_t) field(id, WORKER);

	if (last->connection != head->connection)
		*last = (Last) {.connection = head->connection};
	if (last->any && p <= last->position &&
		!was_stepped(head->node, last->worker, worker))
		violation(ORDER, number, "id %" PRIu64 " (worker %" PRId64 ", position %" PRIu64 ") after position %" PRIu64 " of worker %" PRId64 " in one session",
				  id, worker, p, last->position, last->worker);
	last->any = true;
	last->position = p;
	last->worker = worker;
}

/* A number of a segment; `begin` is where the connection's chunks begin. */
static void
judge_number(uint32_t statement, int64_t number, size_t *begin)
{
	const Chunk *head = &statements[statement].head;
	int64_t		segment = number / PER_SEGMENT;
	Numbers    *own = NULL;

	if (*begin < nchunks && statements[chunks[*begin].statement].head.connection != head->connection)
		*begin = nchunks;
	for (size_t i = nchunks; i-- > *begin;)
	{
		if (chunks[i].segment != segment)
			continue;
		if ((head->flags & RECORD_ORDERED) && !unordered && number <= chunks[i].highest)
			violation(ORDER, statement, "number %" PRId64 " after %" PRId64 " in one session",
					  number, chunks[i].highest);
		if (chunks[i].statement == statement)
			own = &chunks[i];
		break;
	}
	if (!own)
	{
		APPEND(chunks, nchunks, (Numbers) {statement, segment, number, number});
		own = &chunks[nchunks - 1];
	}
	if (number < own->lowest)
		own->lowest = number;
	if (number > own->highest)
		own->highest = number;
	APPEND(numbers, nnumbers, (Seen) {(uint64_t) number, statement});
}

static void
read_file(const char *name, int session)
{
	size_t		begin = nchunks;
	FILE	   *file = fopen(name, "rb");
	Last		last = {0};
	Chunk		head;

	if (!file)
		fail("cannot open %s", name);
	while (fread(&head, sizeof(head), 1, file) == 1)
	{
		uint32_t	number = (uint32_t) nstatements;
		bool		fresh = (head.flags & RECORD_FRESH) != 0;
		/* A cursor may have drawn its ids at any time before. */
		bool		set = clock_was_set(fresh ? head.mono_before : 0, head.mono_after);
		int64_t		earliest = INT64_MIN;
		int64_t		now = tick_at(head.wall_after / 1000 + blur);
		int64_t		bound = set ? -1 :
			head.mono_after < calm_until ? calm_ahead : always_ahead;
		Statement	s = {.head = head, .session = session, .lowest = UINT64_MAX};

		if (fresh && !set)
			earliest = tick_at(head.wall_before / 1000 - blur - OLD_US) - 1;
		APPEND(statements, nstatements, s);
		for (uint32_t i = 0; i < head.ranges; i++)
		{
			Range		range;

			if (fread(&range, sizeof(range), 1, file) != 1)
				fail("%s is cut off", name);
			if (range.first < 0 || range.last < range.first || range.last - range.first > 1 << 24)
			{
				violation(FIELD, number, "ids %" PRId64 " to %" PRId64, range.first, range.last);
				continue;
			}
			for (uint64_t id = (uint64_t) range.first; id <= (uint64_t) range.last; id++)
			{
				if (head.flags & RECORD_NUMBERS)
				{
					judge_number(number, (int64_t) id, &begin);
					continue;
				}

				Statement  *own = &statements[number];

				judge_id(number, id, earliest, now, bound);
				if (head.flags & RECORD_ORDERED)
					judge_order(number, id, &last);
				if (position(id) < own->lowest)
				{
					own->lowest = position(id);
					own->lowest_worker = (int64_t) field(id, WORKER);
				}
				if (position(id) >= own->highest)
				{
					own->highest = position(id);
					own->highest_worker = (int64_t) field(id, WORKER);
				}
				APPEND(ids, nids, (Seen) {id, number});
			}
		}
	}
	fclose(file);
}

/* ---- all files together ---- */

/* A radix sort over those bits in which the ids differ. */
static Seen *
sort_seen(Seen *ids, size_t nids)
{
	Seen	   *sorted = malloc((nids + 1) * sizeof(Seen));
	uint64_t	any = 0;
	uint64_t	all = UINT64_MAX;

	if (!sorted)
		fail("out of memory");
	for (size_t i = 0; i < nids; i++)
	{
		any |= ids[i].id;
		all &= ids[i].id;
	}
	for (int at = 0; at < 64; at += DIGIT_BITS)
	{
		size_t		start[DIGITS + 1] = {0};
		Seen	   *swap = ids;

		if ((((any & ~all) >> at) & (DIGITS - 1)) == 0)
			continue;
		for (size_t i = 0; i < nids; i++)
			start[((ids[i].id >> at) & (DIGITS - 1)) + 1]++;
		for (int digit = 0; digit < DIGITS; digit++)
			start[digit + 1] += start[digit];
		for (size_t i = 0; i < nids; i++)
			sorted[start[(ids[i].id >> at) & (DIGITS - 1)]++] = ids[i];
		ids = sorted;
		sorted = swap;
	}
	free(sorted);
	return ids;
}

static bool
is_chance(int64_t worker)
{
	for (size_t i = 0; i < nchances; i++)
		if (chances[i] == worker)
			return true;
	return false;
}

static void
judge_duplicates(void)
{
	ids = sort_seen(ids, nids);
	for (size_t i = 1; i < nids; i++)
	{
		const Statement *other = &statements[ids[i - 1].statement];

		if (ids[i].id != ids[i - 1].id)
			continue;
		if (is_chance((int64_t) field(ids[i].id, WORKER)))
			excused++;
		else
			violation(UNIQUE, ids[i].statement, "id %" PRIu64 " (worker %" PRIu64 ", tick %" PRIu64 ") came also to session %d line %u at %" PRId64,
					  ids[i].id, field(ids[i].id, WORKER), field(ids[i].id, TIME),
					  other->session, other->head.line, other->head.mono_before / 1000000);
	}
}

static int
compare_begins(const void *a, const void *b)
{
	const Statement *x = *(const Statement *const *) a;
	const Statement *y = *(const Statement *const *) b;

	return (x->head.mono_before > y->head.mono_before) - (x->head.mono_before < y->head.mono_before);
}

static int
compare_ends(const void *a, const void *b)
{
	const Statement *x = *(const Statement *const *) a;
	const Statement *y = *(const Statement *const *) b;

	return (x->head.mono_after > y->head.mono_after) - (x->head.mono_after < y->head.mono_after);
}

/* Did the shared memory of the node end between the two times? */
static bool
memory_ended(int node, int64_t from, int64_t to)
{
	for (size_t i = 0; i < nlives; i++)
		if (lives[i].node == node && lives[i].from <= to && from <= lives[i].to)
			return true;
	return false;
}

/*
 * Order over sessions, in one life of the shared memory: a statement's ids are above
 * all that had arrived when it began.
 */
static void
judge_sessions(int node)
{
	const Statement **begins = malloc((nstatements + 1) * sizeof(*begins));
	const Statement **ends = malloc((nstatements + 1) * sizeof(*ends));
	const Statement *highest = NULL;
	size_t		n = 0;
	size_t		ended = 0;

	if (!begins || !ends)
		fail("out of memory");
	for (size_t i = 0; i < nstatements; i++)
	{
		const Statement *s = &statements[i];

		if (s->head.node == node && (s->head.flags & RECORD_FRESH) && s->lowest <= s->highest &&
			!memory_ended(node, s->head.mono_before, s->head.mono_after))
			begins[n++] = s;
	}
	memcpy(ends, begins, n * sizeof(*ends));
	qsort(begins, n, sizeof(*begins), compare_begins);
	qsort(ends, n, sizeof(*ends), compare_ends);
	for (size_t i = 0; i < n; i++)
	{
		const Statement *s = begins[i];

		for (; ended < n && ends[ended]->head.mono_after < s->head.mono_before; ended++)
			if (!highest || ends[ended]->highest >= highest->highest ||
				memory_ended(node, highest->head.mono_after, ends[ended]->head.mono_before) ||
				was_stepped(node, highest->highest_worker, ends[ended]->highest_worker))
				highest = ends[ended];
		if (highest && s->lowest <= highest->highest &&
			!was_stepped(node, highest->highest_worker, s->lowest_worker) &&
			!memory_ended(node, highest->head.mono_after, s->head.mono_before))
			violation(ORDER, (uint32_t) (s - statements),
					  "position %" PRIu64 " of worker %" PRId64 " after session %d line %u had position %" PRIu64 " of worker %" PRId64,
					  s->lowest, s->lowest_worker, highest->session, highest->head.line,
					  highest->highest, highest->highest_worker);
	}
	free(begins);
	free(ends);
}

static void
judge_equal_numbers(void)
{
	numbers = sort_seen(numbers, nnumbers);
	for (size_t i = 1; i < nnumbers; i++)
	{
		const Statement *other = &statements[numbers[i - 1].statement];

		if (numbers[i].id == numbers[i - 1].id)
			violation(UNIQUE, numbers[i].statement, "number %" PRIu64 " came also to session %d line %u at %" PRId64,
					  numbers[i].id, other->session, other->head.line, other->head.mono_before / 1000000);
	}
}

static int
compare_segments(const Numbers *x, const Numbers *y)
{
	int			node = statements[x->statement].head.node - statements[y->statement].head.node;

	return node != 0 ? node : (x->segment > y->segment) - (x->segment < y->segment);
}

static int
compare_number_begins(const void *a, const void *b)
{
	const Numbers *x = *(const Numbers *const *) a;
	const Numbers *y = *(const Numbers *const *) b;
	const Statement *s = &statements[x->statement];
	const Statement *t = &statements[y->statement];
	int			segments = compare_segments(x, y);

	return segments != 0 ? segments : compare_begins(&s, &t);
}

static int
compare_number_ends(const void *a, const void *b)
{
	const Numbers *x = *(const Numbers *const *) a;
	const Numbers *y = *(const Numbers *const *) b;
	const Statement *s = &statements[x->statement];
	const Statement *t = &statements[y->statement];
	int			segments = compare_segments(x, y);

	return segments != 0 ? segments : compare_ends(&s, &t);
}

/* Order over sessions: a statement's numbers of a segment are above all that had arrived
 * at the same server when it began, also over a restart. */
static void
judge_numbers(void)
{
	const Numbers **begins = malloc((nchunks + 1) * sizeof(*begins));
	const Numbers **ends = malloc((nchunks + 1) * sizeof(*ends));
	const Numbers *highest = NULL;
	size_t		n = 0;
	size_t		ended = 0;

	if (!begins || !ends)
		fail("out of memory");
	for (size_t i = 0; i < nchunks; i++)
		if (statements[chunks[i].statement].head.flags & RECORD_FRESH)
			begins[n++] = &chunks[i];
	memcpy(ends, begins, n * sizeof(*ends));
	qsort(begins, n, sizeof(*begins), compare_number_begins);
	qsort(ends, n, sizeof(*ends), compare_number_ends);
	for (size_t i = 0; i < n; i++)
	{
		const Statement *s = &statements[begins[i]->statement];

		if (i > 0 && compare_segments(begins[i - 1], begins[i]) != 0)
		{
			highest = NULL;
			ended = i;			/* both are sorted by segments first */
		}
		for (; ended < n && compare_segments(ends[ended], begins[i]) == 0 &&
			 statements[ends[ended]->statement].head.mono_after < s->head.mono_before; ended++)
			if (!highest || ends[ended]->highest > highest->highest)
				highest = ends[ended];
		if (highest && begins[i]->lowest <= highest->highest)
			violation(ORDER, begins[i]->statement, "number %" PRId64 " after session %d line %u had %" PRId64,
					  begins[i]->lowest, statements[highest->statement].session,
					  statements[highest->statement].head.line, highest->highest);
	}
	free(begins);
	free(ends);
}

int
main(int argc, char **argv)
{
	uint64_t	sum = 0;

	if (argc < 2)
		fail("usage: oracle FACTS IDS...");
	read_facts(argv[1]);
	merge_grants();
	for (int f = 0; f < FIELDS; f++)
		known_bits |= ((UINT64_C(1) << bits[f]) - 1) << shift[f];
	for (int i = 2; i < argc; i++)
		read_file(argv[i], i - 2);
	if (nids > 0)
		judge_duplicates();
	if (nnumbers > 0)
		judge_equal_numbers();
	if (!unordered)
		judge_numbers();
	for (int node = 0; node <= 1; node++)
		judge_sessions(node);
	for (int kind = 0; kind < KINDS; kind++)
	{
		sum += violations[kind];
		if (violations[kind] > NAMED)
			printf("%s: %" PRIu64 " in all\n", kind_names[kind], violations[kind]);
	}
	printf("ids %zu numbers %zu violations %" PRIu64 " excused %" PRIu64 " ahead %" PRId64 "\n",
		   nids, nnumbers, sum, excused, most_ahead);
	return sum > 0;
}
