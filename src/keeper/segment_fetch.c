/*
 * segment_fetch.c
 *	  Fetches numbers of segments, and hands back what is left of them: see segment_fetch.h.
 */
#include "postgres.h"

#include "keeper/segment_fetch.h"

#include "catalog/pg_type.h"
#include "core/clock.h"
#include "keeper/answer.h"
#include "keeper/keeping.h"
#include "lib/stringinfo.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* ---- calls ---- */

/* A name as bytea in hex: the registry's database may have another encoding. */
static const char *
name_in_hex(const UidgenSegmentSlot *slot)
{
	char	   *text = palloc(2 * UIDGEN_SEGMENT_NAME_SIZE);

	text[hex_encode(slot->name, strlen(slot->name), text)] = '\0';
	return text;
}

static UidgenArgument
name_argument(const UidgenSegmentSlot *slot)
{
	return (UidgenArgument) {"name", BYTEAOID, psprintf("\\x%s", name_in_hex(slot))};
}

static UidgenArgument
names_argument(int n, UidgenSegmentSlot *const *slots)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
		appendStringInfo(&text, "%c\"\\\\x%s\"", i == 0 ? '{' : ',', name_in_hex(slots[i]));
	appendStringInfoChar(&text, '}');
	return (UidgenArgument) {"names", BYTEAARRAYOID, text.data};
}

static UidgenArgument
not_after_argument(const UidgenLink *link)
{
	return uidgen_bigint_argument("not_after", link->fleet ?
								  uidgen_keeper_not_after() : PG_INT64_MAX);
}

/*
 * The number by which a supply knows its registry.  A fleet's says which it is; it has
 * to be of the link's mode, the one that is known there, and no server that it has left behind.
 */
static uint64
read_registry(const UidgenLink *link, const UidgenAnswer *answer)
{
	bool		of_fleet = !uidgen_answer_is_null(answer, "registry_id");
	UidgenRegistryLife life;

	if (of_fleet != link->fleet)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 of_fleet ?
				 errmsg("this registry is shared by many servers") :
				 errmsg("this registry is not shared"),
				 of_fleet ?
				 errhint("Point the setting \"uidgen.registry\" at the server itself, as on all other servers that share the registry.") :
				 errhint("Point the setting \"uidgen.registry\" at a database whose registry is shared.")));
	if (!of_fleet)
		return link->registry();
	life = uidgen_answer_life(answer);
	uidgen_keeper_sees(link, &life);
	return uidgen_node_registry(life.registry_id);
}

/* The registry gives out nothing of this segment, and has written that down. */
static void
report_refusal(const UidgenAnswer *answer)
{
	ereport(ERROR,
	/* Callers wait for what passes by itself. */
			(errcode(uidgen_answer_bool(answer, "refusal_passes") ? ERRCODE_CANNOT_CONNECT_NOW :
					 ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg_internal("%s", uidgen_answer_text(answer, "refusal")),
			 errdetail_internal("%s", uidgen_answer_text(answer, "refusal_detail")),
			 errhint("%s", uidgen_answer_text(answer, "refusal_hint"))));
}

/* False if nothing was given out. */
static bool
fetch(const UidgenLink *link, const UidgenSegmentSlot *slot, const UidgenSupplyRequest *request,
	  UidgenAnswer *answer, UidgenSupplyAnswer *result)
{
	const UidgenArgument args[] = {
		name_argument(slot),
		uidgen_bigint_argument("wanted_step", request->step),
		uidgen_bigint_argument("known_incarnation", request->incarnation),
		uidgen_bigint_argument("known_version", request->version),
		uidgen_bigints_argument("known_course", request->ncourse, request->course),
		uidgen_bigint_argument("highest", request->highest),
		not_after_argument(link),
	};
	uint64		registry;

	if (link->fleet)
		uidgen_keeper_goes(link);
	answer->function = "segment_fetch";
	link->call(answer->function, lengthof(args), args, "uidgen: fetch numbers of a segment", &answer->row);
	registry = read_registry(link, answer);
	if (!uidgen_answer_is_null(answer, "refusal"))
		return false;
	*result = (UidgenSupplyAnswer) {
		.incarnation = uidgen_answer_bigint(answer, "incarnation", PG_INT64_MIN, PG_INT64_MAX),
		.version = uidgen_answer_bigint(answer, "version", PG_INT64_MIN, PG_INT64_MAX),
		.first = uidgen_answer_bigint(answer, "first_value", 0, PG_INT64_MAX),
		.last = uidgen_answer_bigint(answer, "last_value", 0, PG_INT64_MAX),
		.step = uidgen_answer_bigint(answer, "step", 1, PG_INT64_MAX),
		.min_step = uidgen_answer_bigint(answer, "min_step", 1, PG_INT64_MAX),
		.max_step = uidgen_answer_bigint(answer, "max_step", 1, PG_INT64_MAX),
		.max_value = uidgen_answer_bigint(answer, "max_value", 0, PG_INT64_MAX),
		.registry = registry,
	};
	if (!uidgen_answer_is_null(answer, "gap_lasts"))
		result->gap_lasts = uidgen_answer_bigint(answer, "gap_lasts", 0, PG_INT64_MAX);
	result->ncourse = uidgen_answer_bigints(answer, "course", UIDGEN_SUPPLY_COURSE, -1,
											PG_INT64_MAX, result->course);
	return true;
}

/* What the registry says of each of them. */
static void
look_up(const UidgenLink *link, int n, UidgenSegmentSlot *const *slots, UidgenAnswer *answer,
		int64 *there)
{
	const UidgenArgument args[] = {
		names_argument(n, slots),
		not_after_argument(link),
	};

	if (link->fleet)
		uidgen_keeper_goes(link);
	answer->function = "segments_there";
	link->call(answer->function, lengthof(args), args, "uidgen: look up names of segments",
			   &answer->row);
	(void) read_registry(link, answer);
	if (uidgen_answer_bigints(answer, "there", n, -1, 1, there) != n)
		uidgen_report_answer(answer, "there", uidgen_answer_text(answer, "there"));
	link->commit();
}

/* True if the registry took them back. */
static bool
release(const UidgenLink *link, const UidgenSegmentSlot *slot, const UidgenSupplyRelease *rest)
{
	const UidgenArgument args[] = {
		name_argument(slot),
		uidgen_bigint_argument("known_version", rest->version),
		uidgen_bigint_argument("first_unused", rest->first_unused),
		not_after_argument(link),
	};
	UidgenAnswer answer = {.function = "segment_release"};
	bool		done;

	link->call(answer.function, lengthof(args), args, "uidgen: release numbers of a segment",
			   &answer.row);
	done = uidgen_answer_bool(&answer, "done");
	link->commit();
	return done;
}

/* ---- what is in the slot ---- */

/* Throw away what is left.  Needs the lock. */
static void
discard(UidgenSegmentSlot *slot)
{
	UidgenSegmentRest rests[2];

	uidgen_segment_close(&slot->words, rests);
	uidgen_supply_discarded(&slot->supply, rests);
}

void
uidgen_fetch_leave(UidgenSegmentSlot *slot)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	discard(slot);
	uidgen_supply_leave(&slot->supply);
	slot->there = false;
	LWLockRelease(&uidgen_memory->lock);
}

static void
note_there(UidgenSegmentSlot *slot)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	slot->there = true;
	LWLockRelease(&uidgen_memory->lock);
}

/* What is wrong with an answer; NULL: nothing. */
static const char *
fault_column(UidgenSupplyFault fault)
{
	switch (fault)
	{
		case UIDGEN_SUPPLY_SOUND:
			return NULL;
		case UIDGEN_SUPPLY_BAD_STEPS:
			return "max_step";
		case UIDGEN_SUPPLY_BAD_RANGE:
			return "last_value";
		case UIDGEN_SUPPLY_BAD_MARKS:
			return "version";
		case UIDGEN_SUPPLY_NOT_ABOVE:
			return "first_value";
	}
	return NULL;
}

/* Put what was fetched into the slot. */
static void
take_range(UidgenSegmentSlot *slot, const UidgenSupplyRequest *request,
		   const UidgenAnswer *answer, const UidgenSupplyAnswer *result)
{
	UidgenSupplyVerdict verdict;
	UidgenSegmentLook look;
	const char *column;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_segment_look(&slot->words, &look);
	verdict = uidgen_supply_receive(&slot->supply, request, result, &look, uidgen_clock_monotonic());
	if (verdict.fault == UIDGEN_SUPPLY_SOUND)
	{
		if (verdict.discard)
			discard(slot);
		uidgen_segment_bound(&slot->words, result->max_step);
		uidgen_segment_fill(&slot->words, verdict.first, verdict.size);
	}
	LWLockRelease(&uidgen_memory->lock);
	column = fault_column(verdict.fault);
	if (column)
		uidgen_report_answer(answer, column, uidgen_answer_text(answer, column));
}

/* After an error of a fetch: what it says of the segment, and of the registry. */
static void
note_error(const UidgenLink *link, UidgenSegmentSlot *slot, int sqlerrcode)
{
	if (link->fleet)
		uidgen_keeper_failed(sqlerrcode);

	/*
	 * A refusal does not say which server it came from.  One that the
	 * registry has left behind knows less of a segment than this server was
	 * told, or nothing: then another host is asked first, or the keeper would
	 * stay with that one.
	 */
	if (slot->supply.known && link->is_connected() &&
		(sqlerrcode == ERRCODE_NO_DATA_FOUND ||
		 sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE))
		link->reject_host();
	if (sqlerrcode == ERRCODE_NO_DATA_FOUND)
		uidgen_fetch_leave(slot);
	else if (sqlerrcode == ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED)
	{
		note_there(slot);
		uidgen_segment_end(&slot->words, true);
	}
}

/* ---- what the keeper does ---- */

void
uidgen_fetch_numbers(const UidgenLink *link, UidgenSegmentSlot *slot)
{
	UidgenSegmentLook look;
	UidgenSupplyRequest request;
	UidgenAnswer answer;
	UidgenSupplyAnswer result;
	volatile bool given;

	uidgen_segment_look(&slot->words, &look);
	if (!uidgen_supply_due(&look, true))
		return;
	request = uidgen_supply_request(&slot->supply, &look,
									USECS_PER_SEC * uidgen_segment_duration,
									uidgen_clock_monotonic());
	PG_TRY();
	{
		given = fetch(link, slot, &request, &answer, &result);

		/*
		 * What the supply notes of an answer must not be undone: it is told
		 * to the registry.  Nor must a refusal: others are to get nothing
		 * either.
		 */
		link->commit();
	}
	PG_CATCH();
	{
		note_error(link, slot, geterrcode());
		PG_RE_THROW();
	}
	PG_END_TRY();
	note_there(slot);
	if (!given)
		report_refusal(&answer);
	take_range(slot, &request, &answer, &result);
}

void
uidgen_fetch_look_up(const UidgenLink *link, int n, UidgenSegmentSlot *const *slots,
					 UidgenFailure *missing)
{
	UidgenAnswer answer;
	int64	   *there = palloc(n * sizeof(int64));

	PG_TRY();
	{
		look_up(link, n, slots, &answer, there);
	}
	PG_CATCH();
	{
		if (link->fleet)
			uidgen_keeper_failed(geterrcode());
		PG_RE_THROW();
	}
	PG_END_TRY();
	for (int i = 0; i < n; i++)
	{
		if (there[i] == 1)
			note_there(slots[i]);
		else
			uidgen_failure_set(&missing[i], ERRCODE_NO_DATA_FOUND,
							   there[i] == 0 ? "there is no such segment" : "the segment was dropped",
							   NULL, uidgen_answer_text(&answer, "hint"));
	}
}

bool
uidgen_fetch_has_rest(UidgenSegmentSlot *slot)
{
	UidgenSegmentLook look;

	uidgen_segment_look(&slot->words, &look);
	return look.left + look.next > 0;
}

void
uidgen_fetch_release(const UidgenLink *link, UidgenSegmentSlot *slot)
{
	UidgenSegmentRest rests[2];
	UidgenSupplyRelease rest;
	volatile bool done = false;
	bool		possible;

	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_segment_close(&slot->words, rests);
	possible = uidgen_supply_close(&slot->supply, rests, &rest);
	LWLockRelease(&uidgen_memory->lock);
	if (!possible)
		return;
	PG_TRY();
	{
		done = release(link, slot, &rest);
	}
	PG_FINALLY();
	{
		LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
		uidgen_supply_released(&slot->supply, &rest, done);
		LWLockRelease(&uidgen_memory->lock);
	}
	PG_END_TRY();
}
