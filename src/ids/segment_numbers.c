/*
 * segment_numbers.c
 *	  Takes numbers of a segment; waits, and says why it cannot: see segment_numbers.h.
 *
 * The rules by which a number is taken are in core/segment.h; this file adds the name, the
 * waiting and the errors.
 */
#include "postgres.h"

#include "ids/segment_numbers.h"

#include "compat.h"
#include "ids/attach.h"
#include "ids/waiting.h"
#include "mb/pg_wchar.h"
#include "memory/counts.h"
#include "memory/guc.h"
#include "memory/server.h"
#include "miscadmin.h"

/* ---- names ---- */

/* The name in the database's encoding, for messages. */
static const char *
printed_name(const UidgenNumbers *numbers)
{
	return pg_any_to_server(numbers->name, (int) strlen(numbers->name), PG_UTF8);
}

/* After an error the call site is as before: it may be called once more. */
static void
look_up(UidgenNumbers *numbers)
{
	UidgenSegmentSlot *slot;

	(void) uidgen_attach();
	slot = uidgen_segments_find(numbers->name, &numbers->segment);
	if (!slot)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no room for segment \"%s\"", printed_name(numbers)),
				 errdetail("The server has room for %d segments, by the setting \"uidgen.max_segments\", and all of it is taken.",
						   uidgen_max_segments),
				 errhint("Raise \"uidgen.max_segments\" and restart the server.")));
	numbers->slot = slot;
	uidgen_counts_begin();
}

void
uidgen_find_numbers(UidgenNumbers *numbers, const char *name, int length)
{
	const char *utf8 = pg_server_to_any(name, length, PG_UTF8);
	size_t		size = utf8 == name ? (size_t) length : strlen(utf8);

	if (size == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("the name of a segment must not be empty"),
				 errhint("Give the name of a segment that uidgen_registry.create_segment() has made.")));
	if (size >= sizeof(numbers->name))
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("the name of a segment is too long"),
				 errdetail("It has %zu bytes in UTF-8; a name has at most %zu.", size,
						   sizeof(numbers->name) - 1),
				 errhint("Give the name of a segment that uidgen_registry.create_segment() has made.")));
	memcpy(numbers->name, utf8, size);
	numbers->name[size] = '\0';
	look_up(numbers);
}

/* ---- taking numbers ---- */

static void
wait_for_numbers(UidgenNumbers *numbers, UidgenWait *wait)
{
	UidgenLack	lack = {
		.message = psprintf("segment \"%s\" has no numbers to draw", printed_name(numbers)),
		.timeout_detail = "Within %d ms the keeper got no further numbers.",
		.timeout_hint = "See uidgen.segment_status and the server log, or raise the setting \"uidgen.wait_timeout\".",
		.reason = UIDGEN_WAIT_SEGMENT,
	};

	wait->on = &numbers->slot->demand;
	uidgen_wait_for_keeper(wait, &lack);
	pfree(unconstify(char *, lack.message));
}

static void
report_too_long(const UidgenNumbers *numbers, uint64 n)
{
	int64		longest;

	LWLockAcquire(&uidgen_memory->lock, LW_SHARED);
	longest = numbers->slot->supply.max_step;
	LWLockRelease(&uidgen_memory->lock);
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("number of consecutive numbers is out of range"),
			 errdetail(UINT64_FORMAT " were asked for; segment \"%s\" has ranges of at most " INT64_FORMAT ".",
					   n, printed_name(numbers), longest),
			 errhint("Ask for fewer, or use uid_segment_batch(). If max_step of the segment was raised, this server learns of it when it fetches the next range.")));
}

/* Before the slot can be another segment's. */
static void
count_skipped(UidgenNumbers *numbers, const UidgenSegmentTicket *ticket)
{
	if (ticket->skipped > 0)
		pg_atomic_fetch_add_u64(&numbers->slot->skipped, ticket->skipped);
}

/*
 * The rest of taking n numbers, after a start that did not take them, or found that the
 * keeper is to fetch the next range.  The ticket is passed by value, so that callers
 * can keep theirs in registers.
 */
static pg_noinline UidgenSegmentTicket
take_slowly(UidgenNumbers *numbers, UidgenSegmentStart start, uint64 before,
			UidgenSegmentTicket ticket, uint64 n, UidgenSegmentKind kind)
{
	UidgenWait	wait = {0};
	UidgenSegmentResult result = uidgen_segment_finish(&numbers->slot->words, numbers->segment,
													   &ticket, n, kind, start, before);

	count_skipped(numbers, &ticket);
	while (result != UIDGEN_SEGMENT_GOOD)
	{
		switch (result)
		{
			case UIDGEN_SEGMENT_EMPTY:
			case UIDGEN_SEGMENT_ENDED:	/* there may be more by now */
				wait_for_numbers(numbers, &wait);
				break;
			case UIDGEN_SEGMENT_OTHER:
				/* Another slot has other demands. */
				CHECK_FOR_INTERRUPTS();
				look_up(numbers);
				wait.number = 0;
				break;
			case UIDGEN_SEGMENT_TOO_LONG:
				report_too_long(numbers, n);
				break;
			case UIDGEN_SEGMENT_REFUSED:
				elog(ERROR, "cannot take " UINT64_FORMAT " numbers at once", n);
				break;
			case UIDGEN_SEGMENT_GOOD:
				break;
		}
		result = uidgen_segment_take(&numbers->slot->words, numbers->segment, &ticket, n, kind);
		count_skipped(numbers, &ticket);
	}
	if (ticket.fetch)
		uidgen_demand_in_advance(&numbers->slot->demand);
	return ticket;
}

static uidgen_always_inline UidgenSegmentTicket
take(UidgenNumbers *numbers, uint64 n, UidgenSegmentKind kind)
{
	UidgenSegmentTicket ticket;
	uint64		before;
	UidgenSegmentStart start = uidgen_segment_start(&numbers->slot->words, numbers->segment,
													&ticket, n, kind, &before);

	if (unlikely(start != UIDGEN_SEGMENT_TAKEN || ticket.fetch))
		return take_slowly(numbers, start, before, ticket, n, kind);
	return ticket;
}

int64
uidgen_take_numbers(UidgenNumbers *numbers, uint64 n, UidgenSegmentKind kind, uint64 *count)
{
	UidgenSegmentTicket ticket = take(numbers, n, kind);

	uidgen_count(&uidgen_counts->numbers, ticket.count);
	*count = ticket.count;
	return ticket.first;
}

uidgen_no_stack_protector int64
uidgen_next_number(UidgenNumbers *numbers)
{
	int64		number = take(numbers, 1, UIDGEN_SEGMENT_REST).first;

	uidgen_count(&uidgen_counts->numbers, 1);
	return number;
}
