/*
 * segments.c
 *	  Numbers of segments in the simulation: a node's callers, and what its keeper does for them.
 *
 * The rules are the real ones (src/core/segment.h, segment_supply.h); what goes by them is played:
 *
 *	  node_take_numbers()			as take_slowly() in src/ids/segment_numbers.c
 *	  keeper_fetch() and so on		as uidgen_fetch_numbers() and uidgen_fetch_release() in
 *									src/keeper/segment_fetch.c
 *
 * Nobody else is at work while a caller draws or the keeper fills a buffer: how these meet is
 * for test/unit/test_segment.c.
 */
#include "simulation.h"

#include <limits.h>
#include <string.h>

void
slots_start(Memory *memory)
{
	for (int i = 0; i < SEGMENTS; i++)
	{
		Slot	   *slot = &memory->slots[i];

		uidgen_segment_init(&slot->words);
		uidgen_segment_assign(&slot->words, (uint64_t) i + 1);
		uidgen_supply_init(&slot->supply);
		slot->highest = slot->before = -1;
	}
}

/* ---- callers ---- */

/* One try.  `fetch` is set where the keeper is to fetch more. */
UidgenSegmentResult
node_take_numbers(Node *node, int segment, uint64_t n, UidgenSegmentKind kind, bool *fetch)
{
	Slot	   *slot = &node->memory.slots[segment];
	UidgenSegmentTicket ticket;
	UidgenSegmentResult result = uidgen_segment_take(&slot->words, (uint64_t) segment + 1, &ticket, n, kind);

	slot->skipped += ticket.skipped;
	*fetch = result == UIDGEN_SEGMENT_EMPTY || result == UIDGEN_SEGMENT_ENDED ||
		(result == UIDGEN_SEGMENT_GOOD && ticket.fetch);
	if (result == UIDGEN_SEGMENT_OTHER || result == UIDGEN_SEGMENT_REFUSED)
		fail("callers", "numbers are refused, though the slot is the segment's");
	if (result == UIDGEN_SEGMENT_GOOD)
	{
		slot->drawn += ticket.count;
		judge_numbers(node, segment, ticket.first, ticket.count);
	}
	judge_accounts(node, segment);
	return result;
}

/* ---- calls ---- */

/* An attempt begins.  False if there is nothing to fetch. */
bool
keeper_fetch(Node *node, int segment, bool to_old)
{
	Slot	   *slot = &node->memory.slots[segment];
	UidgenSegmentLook look;
	Call		call = {.kind = CALL_FETCH,.segment = segment};

	uidgen_segment_look(&slot->words, &look);
	if (!uidgen_supply_due(&look, true))
		return false;
	call.wanted = uidgen_supply_request(&slot->supply, &look, world.setup.duration, node_boot(node));
	memcpy(call.course, call.wanted.course, sizeof(call.course));
	if (is_broken("no_evidence"))
		call.wanted.highest = -1;
	node->keeper.call.to_old = to_old;
	uidgen_node_goes(&node->memory.node, (uint64_t) (PLACE + node->moves));
	keeper_send(node, &call);
	return true;
}

/* What nobody has drawn.  False if there is nothing. */
bool
keeper_hand_back(Node *node, int segment)
{
	Slot	   *slot = &node->memory.slots[segment];
	UidgenSegmentRest rests[2];
	Call		call = {.kind = CALL_HAND_BACK,.segment = segment};

	uidgen_segment_close(&slot->words, rests);
	if (!uidgen_supply_close(&slot->supply, rests, &call.rest))
	{
		judge_accounts(node, segment);
		return false;
	}
	keeper_send(node, &call);
	return true;
}

/* ---- answers ---- */

static void
discard(Slot *slot)
{
	UidgenSegmentRest rests[2];

	uidgen_segment_close(&slot->words, rests);
	uidgen_supply_discarded(&slot->supply, rests);
	events[EVENT_DISCARDED] += rests[0].count + rests[1].count > 0;
}

static void
hear_range(Node *node, const Call *call, const UidgenSupplyAnswer *range)
{
	Slot	   *slot = &node->memory.slots[call->segment];
	UidgenSegmentLook look;
	UidgenSupplyVerdict verdict;

	uidgen_segment_look(&slot->words, &look);
	verdict = uidgen_supply_receive(&slot->supply, &call->wanted, range, &look, node_boot(node));
	if (verdict.fault != UIDGEN_SUPPLY_SOUND)
		fail("answers", "a node finds fault (%d) with the range from %lld to %lld", (int) verdict.fault,
			 (long long) range->first, (long long) range->last);
	if (verdict.discard && !is_broken("nothing_discarded"))
		discard(slot);
	judge_range(node, call->segment, range);
	uidgen_segment_bound(&slot->words, (uint64_t) range->max_step);
	uidgen_segment_fill(&slot->words, verdict.first, verdict.size);
}

void
keeper_hear_fetch(Node *node, const Reply *reply)
{
	Memory	   *memory = &node->memory;
	Keeper	   *keeper = &node->keeper;
	Slot	   *slot = &memory->slots[keeper->call.segment];

	if (reply->sqlstate[0])
	{
		if (strcmp(reply->sqlstate, "P0002") == 0)
		{
			discard(slot);
			uidgen_supply_leave(&slot->supply);
			if (is_broken("forgotten_where_there_is_none"))
				slot->supply.highest = -1;
		}
		else if (strcmp(reply->sqlstate, "2200H") == 0)
			uidgen_segment_end(&slot->words, true);
		else if (strcmp(reply->sqlstate, "57014") == 0)
			memory->node.clock.registry_known = false;
		keeper_fails(node, reply->sqlstate, "the registry refuses numbers");
	}
	else if (is_broken("numbers_of_older_timeline") || uidgen_node_sees(&memory->node, &reply->word.life))
	{
		events[EVENT_OLD_RANGE] += keeper->call.to_old;
		hear_range(node, &keeper->call, &reply->range);
	}
	else
	{
		events[EVENT_OLD_ANSWER]++;
		keeper_fails(node, "08007", "the numbers are of an older timeline");
	}
	judge_accounts(node, keeper->call.segment);
}

/* Whether it was done; false also where nobody knows. */
void
keeper_hear_hand_back(Node *node, bool done)
{
	const Call *call = &node->keeper.call;
	UidgenSupply *supply = &node->memory.slots[call->segment].supply;
	int64_t		highest = supply->highest;

	uidgen_supply_released(supply, &call->rest, done);
	if (!done && is_broken("handed_back_is_told"))
		supply->highest = highest;
	judge_accounts(node, call->segment);
}
