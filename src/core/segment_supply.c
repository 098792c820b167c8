/*
 * segment_supply.c
 *	  The rules by which a segment is supplied with numbers: see segment_supply.h.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "core/segment_supply.h"

#include <string.h>

static inline uint64_t
left_in_all(const UidgenSegmentLook *look)
{
	return look->left + look->next;
}

static inline int64_t
clamp(int64_t value, int64_t lowest, int64_t highest)
{
	return value < lowest ? lowest : value > highest ? highest : value;
}

void
uidgen_supply_init(UidgenSupply *supply)
{
	*supply = (UidgenSupply) {.highest = -1};
}

/* It is another segment. */
static void
forget(UidgenSupply *supply)
{
	*supply = (UidgenSupply) {
		.highest = -1,
		.ranges = supply->ranges,
		.received = supply->received,
		.returned = supply->returned,
		.lost = supply->lost
	};
}

void
uidgen_supply_leave(UidgenSupply *supply)
{
	supply->known = false;
	supply->version = 0;
	supply->length = 0;
}

/* ---- the next call ---- */

bool
uidgen_supply_due(const UidgenSegmentLook *look, bool demanded)
{
	if (look->next > 0)
		return false;			/* no buffer is free */
	if (look->left == 0 || look->ended)
		return demanded;
	if (demanded && look->wanted > look->left)
		return true;
	return look->size - look->left > UIDGEN_SEGMENT_FETCH_AT(look->size);
}

/* The length of the next range, by how long the numbers last. */
static int64_t
next_length(const UidgenSupply *supply, const UidgenSegmentLook *look,
			UidgenMicroseconds duration, UidgenMicroseconds now)
{
	uint64_t	left = left_in_all(look);
	UidgenMicroseconds elapsed = now - supply->received_at;
	double		lasts;

	if (left >= supply->left_then)
		return supply->length;
	/* How long that many numbers would last, if they are used as fast as those since. */
	lasts = (double) elapsed / (double) (supply->left_then - left) * (double) supply->length;
	/* Or the keeper came too late, though it was asked after a tenth of a range. */
	if (lasts < (double) duration || (left == 0 && UIDGEN_SEGMENT_FETCH_AT(look->size) > 0))
		return clamp(2 * supply->length, supply->min_step, supply->max_step);
	if (left > 0 && lasts >= 2 * (double) duration)
		return clamp(supply->length / 2, supply->min_step, supply->max_step);
	return supply->length;
}

UidgenSupplyRequest
uidgen_supply_request(const UidgenSupply *supply, const UidgenSegmentLook *look,
					  UidgenMicroseconds duration, UidgenMicroseconds now)
{
	UidgenSupplyRequest request = {
		.incarnation = supply->incarnation,
		.version = supply->version,
		.course = supply->course,
		.ncourse = supply->ncourse,
		.highest = supply->highest,
		.length = next_length(supply, look, duration, now)
	};

	request.step = request.length;
	if (look->wanted > (uint64_t) request.step)
		request.step = (int64_t) look->wanted;
	if (supply->known && request.step > supply->max_step)
		request.step = supply->max_step;
	return request;
}

/* ---- its answer ---- */

static UidgenSupplyFault
find_fault(const UidgenSupply *supply, const UidgenSupplyAnswer *answer, bool same)
{
	if (answer->incarnation == 0 || answer->version == 0 ||
		answer->ncourse < 0 || answer->ncourse > UIDGEN_SUPPLY_COURSE)
		return UIDGEN_SUPPLY_BAD_MARKS;
	if (answer->min_step <= 0 || answer->max_step < answer->min_step ||
		answer->max_step > (int64_t) UIDGEN_SEGMENT_MAX)
		return UIDGEN_SUPPLY_BAD_STEPS;
	if (answer->first < 0 || answer->last < answer->first ||
		answer->last - answer->first >= answer->max_step ||
		answer->last > answer->max_value)
		return UIDGEN_SUPPLY_BAD_RANGE;
	if (same && answer->first <= supply->highest)
		return UIDGEN_SUPPLY_NOT_ABOVE;
	return UIDGEN_SUPPLY_SOUND;
}

UidgenSupplyVerdict
uidgen_supply_receive(UidgenSupply *supply, const UidgenSupplyRequest *request,
					  const UidgenSupplyAnswer *answer, const UidgenSegmentLook *look,
					  UidgenMicroseconds now)
{
	bool		same = answer->registry == supply->registry &&
		answer->incarnation == supply->incarnation;
	bool		follow_step = !same || answer->step != supply->step;
	UidgenSupplyVerdict verdict = {.fault = find_fault(supply, answer, same)};

	if (verdict.fault != UIDGEN_SUPPLY_SOUND)
		return verdict;
	verdict.discard = !same && left_in_all(look) > 0;
	if (!same)
		forget(supply);
	supply->known = true;
	supply->registry = answer->registry;
	supply->incarnation = answer->incarnation;
	supply->version = answer->version;
	memcpy(supply->course, answer->course, sizeof(supply->course));
	supply->ncourse = answer->ncourse;
	supply->step = answer->step;
	supply->min_step = answer->min_step;
	supply->max_step = answer->max_step;
	supply->max_value = answer->max_value;
	supply->gap_lasts = answer->gap_lasts;
	/* Where the owner has chosen another step, what was learned begins anew. */
	supply->length = clamp(follow_step ? answer->step : request->length,
						   answer->min_step, answer->max_step);

	verdict.first = answer->first;
	verdict.size = (uint64_t) (answer->last - answer->first) + 1;
	supply->highest = answer->last;
	supply->received_at = now;
	supply->left_then = verdict.size + (verdict.discard ? 0 : left_in_all(look));
	supply->ranges++;
	supply->received += verdict.size;
	return verdict;
}

void
uidgen_supply_discarded(UidgenSupply *supply, const UidgenSegmentRest rests[2])
{
	supply->lost += rests[0].count + rests[1].count;
}

/* ---- handing back ---- */

bool
uidgen_supply_close(UidgenSupply *supply, const UidgenSegmentRest rests[2],
					UidgenSupplyRelease *release)
{
	int64_t		end = supply->highest;	/* where what goes back ends */

	*release = (UidgenSupplyRelease) {.version = supply->version};
	supply->version = 0;
	/* From the last number on, as long as there is no hole. */
	for (int i = 1; i >= 0; i--)
	{
		const UidgenSegmentRest *rest = &rests[i];

		if (rest->count == 0)
			continue;
		if (release->version != 0 && rest->first + (int64_t) (rest->count - 1) == end)
		{
			release->first_unused = rest->first;
			release->count += rest->count;
			end = rest->first - 1;
		}
		else
			supply->lost += rest->count;
	}
	return release->count > 0;
}

void
uidgen_supply_released(UidgenSupply *supply, const UidgenSupplyRelease *release, bool done)
{
	/*
	 * In any case none of these was drawn here.  The registry may have taken
	 * them back although the answer was lost.  If this server still reported
	 * them as `highest`, the registry would take that for lost commits.
	 */
	supply->highest = release->first_unused - 1;
	if (done)
		supply->returned += release->count;
	else
		supply->lost += release->count;
}
