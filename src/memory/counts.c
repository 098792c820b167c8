/*
 * counts.c
 *	  Shared memory of what was drawn and waited for: see counts.h.
 */
#include "postgres.h"

#include "memory/counts.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

StaticAssertDecl(sizeof(UidgenCounts) % UIDGEN_TICKET_LINE == 0, "a process has cache lines of its own");

/* Aligned for the atomics that uidgen_count() may need. */
static UidgenCounts unread pg_attribute_aligned(8);

UidgenCounts *uidgen_counts = &unread;
UidgenStatistics *uidgen_statistics = NULL;

static UidgenCounts *lines = NULL;

static Size
lines_offset(void)
{
	return TYPEALIGN(UIDGEN_TICKET_LINE, sizeof(UidgenStatistics));
}

Size
uidgen_counts_size(void)
{
	return add_size(lines_offset(), mul_size(MaxBackends, sizeof(UidgenCounts)));
}

void
uidgen_counts_use(char *memory, bool make)
{
	uidgen_statistics = (UidgenStatistics *) memory;
	lines = (UidgenCounts *) (memory + lines_offset());
	if (make)
		uidgen_statistics->since = GetCurrentTimestamp();
}

void
uidgen_counts_begin(void)
{
	if (MyProc)
		uidgen_counts = &lines[MyProc - ProcGlobal->allProcs];
}

void
uidgen_counts_sum(UidgenCounts *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < MaxBackends; i++)
		for (int j = 0; j < UIDGEN_COUNTS; j++)
			((uint64 *) sum)[j] += pg_atomic_read_u64(&((pg_atomic_uint64 *) &lines[i])[j]);
}
