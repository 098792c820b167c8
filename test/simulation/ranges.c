/*
 * ranges.c
 *	  What must hold of the numbers of segments in the simulation, and what of them may be lost,
 *	  so that it does.
 *
 *	P1	No number of one incarnation is told to two nodes, nor to two lives of one, nor twice
 *		to one; nor issued twice.
 *	P2	What is issued was told.
 *	P4	The numbers of one incarnation that a node issues increase, and it issues none of the one
 *		before once it has had one of the next.
 *	S7	A node issues no number of a name that it had issued before, in another incarnation, unless the
 *		owner has said that numbers begin anew.  Only what makes that so stops a segment.
 *	Numbers go on above what the owner was told that they do.  None are left out but for a
 *	failover, or numbers that were lost.  Each number that was fetched is accounted for.
 *	Once nothing goes wrong any more, every node gets numbers.
 *
 * Segments are not fenced, and a range never ends.  So this is what the owner has to see to, and
 * what does not happen here (docs/design/segments.md):
 *
 *	failovers	One loses at most failover_gap numbers of a segment: the highest one that a node was
 *				told is no further above what the next primary knows.  What that leaves out is
 *				for the primary that was left behind, too: it gives out no more to nodes that use
 *				it.
 *	restores	A data directory that is taken back without another timeline is not noticed, as it
 *				looks like a restart.  Then the first to call has to know of a number that was
 *				lost.
 *	releases	Where one is lost, and a reign began before it or since, that may look as if numbers
 *				had come twice: the segment is stopped until its owner raises it.
 *	copies		A copy of a memory has the numbers in its buffers, too.  They may be issued by both,
 *				and, where one of them hands them back, by others.  Nothing else is.  To the other
 *				one that looks like a loss: numbers are left out, or the segment is stopped until
 *				its owner raises it, where failover_gap is less than what was handed back.
 */
#include "simulation.h"

#include <inttypes.h>
#include <string.h>

/* What nodes were told to be theirs. */
typedef struct Range
{
	int			segment;
	int64_t		incarnation;
	int64_t		first;
	int64_t		last;
	uint64_t	lives;			/* whose: a bit for each; 0: it was handed
								 * back */
} Range;

static Range told[TOLD];
static int	ntold;
static Range copied[TOLD];
static int	ncopied;
static struct
{
	int			segment;
	int64_t		incarnation;
	int64_t		first;
	int64_t		last;
	bool		lost;			/* the registry knows nothing of it */
}			releases[TOLD];
static int64_t restarts[STEPS]; /* incarnations that began anew */
static int	nrestarts;

void
ranges_begin(void)
{
	ntold = ncopied = nrestarts = 0;
}

void
note_restart(int64_t incarnation)
{
	restarts[nrestarts++] = incarnation;
}

static bool
began_anew(int64_t incarnation)
{
	for (int i = 0; i < nrestarts; i++)
		if (restarts[i] == incarnation)
			return true;
	return false;
}

static void
add_range(Range *ranges, int *n, const Range *more)
{
	if (*n == TOLD)
		fail("simulation", "more ranges than there is room for");
	ranges[(*n)++] = *more;
}

static bool
same_history(const History *a, const History *b)
{
	return a->cluster == b->cluster && a->timeline == b->timeline && a->database == b->database;
}

static int64_t
plus_gap(const SegmentRow *row)
{
	return row->last_value > row->max_value - row->failover_gap ? row->max_value :
		row->last_value + row->failover_gap;
}

/* Of the range that a fetch is to bring; 0 leaves it to the registry. */
static int64_t
length_of(const Call *call, const SegmentRow *row)
{
	int64_t		wanted = call->wanted.step == 0 ? row->step : call->wanted.step;

	return Max(Min(wanted, row->max_step), row->min_step);
}

/* ---- what may be lost ---- */

/* The highest number that a node was told, or is about to be. */
static int64_t
highest_told(int segment, int64_t incarnation)
{
	int64_t		highest = -1;

	for (int i = 0; i < ntold; i++)
		if (told[i].segment == segment && told[i].incarnation == incarnation && told[i].lives != 0)
			highest = Max(highest, told[i].last);
	for (int i = 0; i < world.setup.nodes; i++)
	{
		const Keeper *keeper = &world.nodes[i].keeper;

		if (keeper->progress == DONE && keeper->call.kind == CALL_FETCH && keeper->call.segment == segment &&
			keeper->reply.granted && keeper->reply.range.incarnation == incarnation)
			highest = Max(highest, keeper->reply.range.last);
	}
	return highest;
}

static void
note_release(const Call *call, const SegmentRow *before)
{
	int			n = world.nreleases;

	if (n == TOLD)
		fail("simulation", "more releases than there is room for");
	releases[n].segment = call->segment;
	releases[n].incarnation = before->incarnation;
	releases[n].first = call->rest.first_unused;
	releases[n].last = before->last_value;
	releases[n].lost = call->to_old;
	world.nreleases++;
}

/* Was one lost that explains what this caller knows?  It has handed back all that it had of a reign, or knows of one that ended
 * where the registry takes for given out what was taken back. */
static bool
release_is_lost(const Call *call)
{
	for (int i = 0; i < world.nreleases; i++)
	{
		if (!releases[i].lost || releases[i].segment != call->segment || releases[i].incarnation != call->wanted.incarnation)
			continue;
		if (call->wanted.highest == releases[i].first - 1)
			return true;
		for (int end = 1; end < call->wanted.ncourse; end += 2)
			if (call->course[end] >= releases[i].first - 1 && call->course[end] < releases[i].last)
				return true;
	}
	return false;
}

/* May the registry go back to this database? */
bool
ranges_may_be_lost(const Database *database)
{
	for (int i = 0; i < world.setup.segments && !world.setup.synchronous; i++)
	{
		const SegmentRow *row = &database->rows[i];
		int64_t		highest = highest_told(i, row->incarnation);

		if (highest > row->last_value && highest - row->last_value > row->failover_gap)
			return false;
	}
	return true;
}

/* It has. */
void
note_ranges_lost(const Database *database, const History *next)
{
	for (int i = database->releases; i < world.nreleases; i++)
		releases[i].lost = true;
	for (int i = 0; i < world.setup.segments; i++)
	{
		const SegmentRow *row = &database->rows[i];
		bool		lost = highest_told(i, row->incarnation) > row->last_value;

		world.registry.gaps[i] = *row;
		world.registry.fetched_since[i] = false;
		world.registry.beyond[i] = row->beyond;
		world.registry.old_unnoticed[i] = world.registry.unnoticed[i];
		world.registry.unnoticed[i] = lost && same_history(&row->history, next);
		events[EVENT_LOST_RANGE] += lost;
		events[EVENT_LOST_ALL] += lost && highest_told(i, row->incarnation) == plus_gap(row);
	}
}

/* May the primary that was left behind run this call? */
bool
may_ask_old_for_numbers(const Node *node, const Call *call)
{
	const SegmentRow *row = &world.registry.old.rows[call->segment];
	const SegmentRow *next = &world.registry.gaps[call->segment];
	int64_t		length = length_of(call, row);
	int64_t		base = same_history(&row->history, &world.registry.old_history) ? row->last_value : plus_gap(row);

	if (!world.registry.old.there)
		return false;
	/* It will not use the answer. */
	if (node->memory.node.answered && node->memory.node.seen.timeline > world.registry.old_history.timeline + world.registry.old.timeline_offset)
		return true;
	if (world.setup.synchronous || world.registry.old_unnoticed[call->segment])
		return false;
	if (call->kind == CALL_HAND_BACK)
		return true;
	if (call->wanted.incarnation == row->incarnation && call->wanted.highest > row->last_value)
		return false;
	return next->incarnation != row->incarnation || plus_gap(next) - base >= length;
}

/* May the registry run this call? */
bool
may_call_for_segment(const Call *call)
{
	SegmentRow	row;

	if (!world.registry.unnoticed[call->segment])
		return true;
	registry_segment(call->segment, &row);
	if (highest_told(call->segment, row.incarnation) <= row.last_value ||
		!same_history(&row.history, &world.registry.history))
	{
		world.registry.unnoticed[call->segment] = false;
		return true;
	}
	return call->kind == CALL_FETCH && call->wanted.incarnation == row.incarnation &&
		call->wanted.highest > row.last_value;
}

/* ---- what nodes are told and issue ---- */

/* Are all of these numbers in buffers that were copied? */
static bool
were_copied(int segment, int64_t incarnation, int64_t first, int64_t last)
{
	for (int i = 0; i < ncopied; i++)
		if (copied[i].segment == segment && copied[i].incarnation == incarnation &&
			copied[i].first <= first && copied[i].last >= first)
			return copied[i].last >= last || were_copied(segment, incarnation, copied[i].last + 1, last);
	return false;
}

void
judge_range(Node *node, int segment, const UidgenSupplyAnswer *range)
{
	Range		more = {segment, range->incarnation, range->first, range->last, UINT64_C(1) << node->memory.life};

	tell("    node %d may issue numbers %" PRId64 " to %" PRId64 " of segment %d", (int) (node - world.nodes),
		 range->first, range->last, segment);
	for (int i = 0; i < ntold; i++)
	{
		int64_t		first = Max(range->first, told[i].first);
		int64_t		last = Min(range->last, told[i].last);

		if (told[i].segment == segment && told[i].incarnation == range->incarnation && told[i].lives != 0 &&
			first <= last && !were_copied(segment, range->incarnation, first, last))
			fail("P1", "numbers %" PRId64 " to %" PRId64 " of segment %d were given out before", first, last, segment);
	}
	add_range(told, &ntold, &more);
}

void
judge_numbers(Node *node, int segment, int64_t first, uint64_t count)
{
	Memory	   *memory = &node->memory;
	Slot	   *slot = &memory->slots[segment];
	int64_t		incarnation = slot->supply.incarnation;
	int64_t		last = first + (int64_t) (count - 1);
	bool		found = false;

	events[EVENT_NUMBERS] += (int64_t) count;
	for (int i = ntold - 1; i >= 0 && !found; i--)
		found = told[i].segment == segment && told[i].incarnation == incarnation &&
			told[i].first <= first && told[i].last >= last && (told[i].lives >> memory->life & 1);
	if (!found)
		fail("P2", "numbers %" PRId64 " to %" PRId64 " of segment %d were not given to node %d", first, last, segment,
			 (int) (node - world.nodes));
	if (slot->incarnation != incarnation)
	{
		slot->before = began_anew(incarnation) ? -1 : Max(slot->before, slot->highest);
		slot->highest = -1;
	}
	slot->incarnation = incarnation;
	if (first <= slot->before)
		fail("S7", "node %d had number %" PRId64 " of segment %d when it was another one", (int) (node - world.nodes), first, segment);
	if (first <= slot->highest)
		fail("P4", "number %" PRId64 " of segment %d comes after %" PRId64, first, segment, slot->highest);
	slot->highest = last;
}

/* The first life may issue no more of these; somebody else may. */
static void
judge_handed_back(const Call *call, int64_t incarnation)
{
	uint64_t	life = UINT64_C(1) << Max(call->life, 0);
	int			n = ntold;

	/* Where a copy may issue them as well, they are its own. */
	for (int i = 0; i < n && call->life >= 0; i++)
	{
		Range		others = told[i];

		if (told[i].segment != call->segment || told[i].incarnation != incarnation ||
			!(told[i].lives & life) || told[i].last < call->rest.first_unused)
			continue;
		others.lives &= ~life;
		if (others.lives != 0)
			add_range(told, &ntold, &others);
		told[i].lives = told[i].first < call->rest.first_unused ? life : 0;
		told[i].last = Max(told[i].first, call->rest.first_unused - 1);
	}
}

/* The second life may issue what the first one may. */
void
judge_copied_ranges(const Memory *memory, int second_life)
{
	for (int i = 0; i < ntold; i++)
	{
		Range		range = told[i];
		const Slot *slot = &memory->slots[range.segment];

		if (!(range.lives >> memory->life & 1))
			continue;
		told[i].lives |= UINT64_C(1) << second_life;
		if (range.incarnation == slot->incarnation)
			range.first = Max(range.first, slot->highest + 1);
		if (range.incarnation == slot->supply.incarnation && range.first <= range.last)
			add_range(copied, &ncopied, &range);
	}
}

void
judge_accounts(const Node *node, int segment)
{
	const Slot *slot = &node->memory.slots[segment];
	const Keeper *keeper = &node->keeper;
	UidgenSegmentLook look;
	uint64_t	sum;

	uidgen_segment_look((UidgenSegmentWords *) &slot->words, &look);
	sum = slot->drawn + look.left + look.next + slot->skipped + slot->supply.lost + slot->supply.returned;
	if (keeper->progress != NOT_CALLING && keeper->call.kind == CALL_HAND_BACK && keeper->call.segment == segment)
		sum += keeper->call.rest.count;
	if (sum != slot->supply.received)
		fail("accounts", "of %" PRIu64 " numbers of segment %d, %" PRIu64 " are accounted for", slot->supply.received,
			 segment, sum);
}

/* ---- what the registry gives ---- */

static void
judge_refusal(const Call *call, const Reply *reply, const SegmentRow *before, int64_t base, bool no_room)
{
	bool		lost = !call->of_copy && !call->late && release_is_lost(call);
	bool		is_excused = call->of_copy || call->late || lost;

	events[EVENT_NO_SEGMENT] += strcmp(reply->sqlstate, "P0002") == 0;
	events[EVENT_LOST_RELEASE] += lost && strcmp(reply->sqlstate, "55000") == 0;
	events[EVENT_USED_UP] += strcmp(reply->sqlstate, "2200H") == 0;

	/* S7: its owner looks, and raises it above what is known. */
	if (strstr(reply->text, "another segment of this name") && !call->to_old)
	{
		if (call->wanted.incarnation == before->incarnation || began_anew(before->incarnation) ||
			Min(call->wanted.highest, before->max_value) <= world.registry.beyond[call->segment])
			fail("S7", "segment %d is stopped: %s", call->segment, reply->text);
		events[EVENT_ELSEWHERE]++;
		registry_owner(call->segment, "raise", 0);
		return;
	}

	/*
	 * A copy, a call of before, or a release that was lost: it is stopped for
	 * all, until its owner has looked.  Others may have lost numbers, too.
	 */
	if (strcmp(reply->sqlstate, "55000") == 0 && !call->to_old && is_excused)
		registry_owner(call->segment, "raise", no_room || lost ? before->failover_gap : 0);
	if (is_excused || call->to_old)
		return;
	if (strcmp(reply->sqlstate, "55000") == 0)
	{
		/*
		 * The gap would reach beyond the end: nobody knows what was given out
		 * of the rest.
		 */
		if (!no_room)
			fail("gap", "the registry refuses numbers: %s", reply->text);
		events[EVENT_NO_ROOM]++;
		registry_owner(call->segment, "raise", before->failover_gap);
	}
	if (strcmp(reply->sqlstate, "2200H") == 0 && base < before->max_value)
		fail("gap", "segment %d ends after %" PRId64 ", of %" PRId64, call->segment, before->last_value, before->max_value);
}

/* A call for a segment was run; the row was like this before. */
void
judge_segment_reply(const Call *call, const Reply *reply, const SegmentRow *before)
{
	const UidgenSupplyAnswer *range = &reply->range;
	const History *history = call->to_old ? &world.registry.old_history : &world.registry.history;
	bool		went_back = !same_history(&before->history, history);
	bool		left_out = (went_back && (call->to_old || !world.registry.fetched_since[call->segment])) ||
		highest_told(call->segment, before->incarnation) > before->last_value;
	int64_t		base = left_out ? plus_gap(before) : before->last_value;
	int64_t		length = length_of(call, before);

	if (reply->sqlstate[0])
	{
		judge_refusal(call, reply, before, base, left_out && before->max_value - before->last_value < before->failover_gap);
		return;
	}
	if (call->kind == CALL_HAND_BACK)
	{
		events[reply->granted ? EVENT_HANDED_BACK : EVENT_NOT_TAKEN_BACK]++;
		if (reply->granted)
		{
			judge_handed_back(call, before->incarnation);
			note_release(call, before);
		}
		return;
	}
	events[EVENT_FETCHED]++;
	events[EVENT_GAP] += range->first > before->last_value + 1;
	events[EVENT_EVIDENCE] += range->first > before->last_value + 1 && !went_back;
	world.registry.fetched_since[call->segment] |= !call->to_old;
	if (range->first <= before->last_value)
		fail("P1", "segment %d has given out %" PRId64 ", and gives out %" PRId64, call->segment, before->last_value, range->first);
	if (!call->to_old && range->first <= world.registry.beyond[call->segment])
		fail("raised", "numbers of segment %d were to go on above %" PRId64 ", and go on from %" PRId64, call->segment,
			 world.registry.beyond[call->segment], range->first);
	if (range->first > before->last_value + 1 && !left_out && !call->of_copy && !call->late && !call->to_old)
		fail("gap", "segment %d goes on from %" PRId64 " after %" PRId64 ", and nothing was lost", call->segment,
			 range->first, before->last_value);
	if (range->last > before->max_value ||
		(range->last - range->first + 1 != length && (range->last != before->max_value || range->last - range->first >= length)))
		fail("steps", "segment %d gives %" PRId64 " to %" PRId64 ", where %" PRId64 " are wanted", call->segment, range->first,
			 range->last, call->wanted.step);
}

/* ---- the end ---- */

void
judge_numbers_served(void)
{
	for (int i = 0; i < world.setup.segments; i++)
	{
		SegmentRow	row;

		registry_segment(i, &row);
		if (row.dropped || world.registry.unnoticed[i])
			continue;
		for (int j = 0; j < world.setup.nodes; j++)
		{
			Node	   *node = &world.nodes[j];

			if (draws_number_well(node, i) || strcmp(node->sqlstate, "2200H") == 0)
				continue;
			/* It knows of numbers that the other copy has handed back. */
			if (node->memory.copied && strcmp(node->sqlstate, "55000") == 0)
				continue;
			fail("served", "node %d has no number of segment %d: %s %s", j, i, node->sqlstate, node->failure);
		}
	}
}
