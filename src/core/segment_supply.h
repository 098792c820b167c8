/*
 * segment_supply.h
 *	  The rules by which the keeper supplies a segment with numbers.
 *
 * A UidgenSupply is what the keeper knows of one segment: which one it is at the registry,
 * the numbers that it was told of, and how fast they are used.  The keeper asks here whether it is time to fetch a
 * range, and how long a range.  It makes the call, and has the answer checked here.  What lies in the buffers
 * (segment.h), clocks and answers come in as values; nothing here waits, reads a clock or calls a server:
 * test/unit/test_segment_supply.c tries each rule.
 *
 *	- When: once a tenth of a range is used the next one is fetched, if a buffer is free
 *	  for it.  Where nothing is left, or a block is too long for what is left, somebody
 *	  must ask for it.
 *	- How much: a range shall last for `duration`.  A range that would be used up in less time makes the
 *	  next one twice as long, up to the registry's max_step; a range that would last twice as long or longer
 *	  makes it half as long, down to min_step.  Where nothing is left, callers may have waited, and the time
 *	  says nothing: then the next range is twice as long or, after a range that is too short to be asked for
 *	  in advance, no shorter.  A block that somebody waits for gets a range of its length, once.
 *	- Another incarnation of the segment, or another registry, is another segment:
 *	  what is left in the buffers is thrown away.
 *	- Of one incarnation, ranges lie one above the other, so that numbers are in order.
 *	  `highest` is told to the registry, which may have lost what it gave; and `course`, in
 *	  which course of its history that was.  To another registry as well: it gives no range
 *	  below what this server had, unless its owner has said that numbers begin anew.  So what the last
 *	  incarnation has given is all that is to be remembered.
 *	- Only the end of the range that was given last can be handed back; `version` proves to
 *	  the registry that nobody has got anything since.  It is used once, since a
 *	  release without an answer may have been done: others may have the numbers.
 */
#ifndef UIDGEN_SEGMENT_SUPPLY_H
#define UIDGEN_SEGMENT_SUPPLY_H

#include "core/segment.h"
#include "core/units.h"

/* How much the registry says of its course: 32 reigns, and where all but the last one ended.
 * It means nothing here, and is told to the registry with what came from it. */
#define UIDGEN_SUPPLY_COURSE 63

typedef struct UidgenSupply
{
	/* ---- what the registry said last ---- */
	bool		known;			/* it has answered */
	uint64_t	registry;		/* which registry that was: as
								 * UidgenGrant.registry */
	int64_t		incarnation;
	int64_t		version;		/* proves a release; 0: none may be made */
	int64_t		course[UIDGEN_SUPPLY_COURSE];	/* which the registry had
												 * taken */
	int			ncourse;		/* how many numbers `course` has; 0: nothing
								 * is known */
	int64_t		step;			/* length of a first range */
	int64_t		min_step;
	int64_t		max_step;
	int64_t		max_value;
	UidgenMicroseconds gap_lasts;	/* how long a loss is covered in which all
									 * servers are given numbers as now; 0:
									 * not known, or none is */
	int64_t		highest;		/* the highest number that the registry has
								 * told of since this incarnation of the
								 * segment began; -1: none */

	/* ---- how fast numbers are used ---- */
	int64_t		length;			/* how long the next range is to be, by how
								 * long others lasted; 0: the registry says */
	UidgenMicroseconds received_at; /* last range came; monotonic clock */
	uint64_t	left_then;		/* what both buffers had then */

	/* ---- counted since the slot was given to this segment ---- */
	uint64_t	ranges;			/* fetched */
	uint64_t	received;		/* numbers */
	uint64_t	returned;		/* numbers that were handed back */
	uint64_t	lost;			/* numbers in buffers that were thrown away,
								 * or could not be handed back */
} UidgenSupply;

/* A call of uidgen_registry.segment_fetch(): its arguments, where 0 and for `highest` -1 mean that
 * nothing is known. */
typedef struct UidgenSupplyRequest
{
	int64_t		step;			/* numbers wanted; 0: as many as the registry
								 * likes */
	int64_t		incarnation;
	int64_t		version;
	const int64_t *course;		/* the supply's */
	int			ncourse;
	int64_t		highest;
	int64_t		length;			/* UidgenSupply.length, once it is answered */
} UidgenSupplyRequest;

/* Its answer. */
typedef struct UidgenSupplyAnswer
{
	int64_t		first;
	int64_t		last;
	int64_t		incarnation;
	int64_t		version;
	int64_t		course[UIDGEN_SUPPLY_COURSE];
	int			ncourse;
	int64_t		step;
	int64_t		min_step;
	int64_t		max_step;
	int64_t		max_value;
	UidgenMicroseconds gap_lasts;
	uint64_t	registry;
} UidgenSupplyAnswer;

/* What is wrong with an answer. */
typedef enum UidgenSupplyFault
{
	UIDGEN_SUPPLY_SOUND,		/* nothing */
	UIDGEN_SUPPLY_BAD_STEPS,	/* not 0 < min_step <= max_step <= 10^9 */
	UIDGEN_SUPPLY_BAD_RANGE,	/* empty, longer than max_step, below 0 or
								 * beyond max_value */
	UIDGEN_SUPPLY_BAD_MARKS,	/* incarnation or version is 0, or the course
								 * is too long */
	UIDGEN_SUPPLY_NOT_ABOVE		/* the range is not above all that was told
								 * before */
} UidgenSupplyFault;

/*
 * What to do with an answer, in this order.  An answer with a fault is not used, and not noted.
 */
typedef struct UidgenSupplyVerdict
{
	UidgenSupplyFault fault;
	bool		discard;		/* close the buffers, and tell
								 * uidgen_supply_discarded() */
	int64_t		first;			/* then fill: this number, and those after it */
	uint64_t	size;
} UidgenSupplyVerdict;

/* A call of uidgen_registry.segment_release(): its arguments. */
typedef struct UidgenSupplyRelease
{
	int64_t		version;
	int64_t		first_unused;
	uint64_t	count;			/* numbers that are handed back */
} UidgenSupplyRelease;

/* First use: nothing is known and counted. */
extern void uidgen_supply_init(UidgenSupply *supply);

/* The next call may go to another place, or the registry has said that it has no such segment.
 * What was told in this incarnation stays: if it is the same segment after all, as in a restored
 * registry at another place, that may show that numbers were lost.  The buffers are closed first: see
 * uidgen_supply_discarded(). */
extern void uidgen_supply_leave(UidgenSupply *supply);

/* Is it time to fetch?  `demanded`: somebody asks for numbers. */
extern bool uidgen_supply_due(const UidgenSegmentLook *look, bool demanded);

/* The call that fetches a range, at this time by the monotonic clock. */
extern UidgenSupplyRequest uidgen_supply_request(const UidgenSupply *supply,
												 const UidgenSegmentLook *look,
												 UidgenMicroseconds duration,
												 UidgenMicroseconds now);

/* It was answered: note what the answer says.  `look` is from after the call. */
extern UidgenSupplyVerdict uidgen_supply_receive(UidgenSupply *supply,
												 const UidgenSupplyRequest *request,
												 const UidgenSupplyAnswer *answer,
												 const UidgenSegmentLook *look,
												 UidgenMicroseconds now);

/* The buffers were closed, and this was left in them; it is thrown away. */
extern void uidgen_supply_discarded(UidgenSupply *supply, const UidgenSegmentRest rests[2]);

/*
 * The buffers were closed, and this was left in them; what can be handed back shall be.
 * False if nothing can.  If true, uidgen_supply_released() follows in any case: it was done
 * for certain, or it was not, or nobody knows, which is false.
 */
extern bool uidgen_supply_close(UidgenSupply *supply, const UidgenSegmentRest rests[2],
								UidgenSupplyRelease *release);
extern void uidgen_supply_released(UidgenSupply *supply, const UidgenSupplyRelease *release,
								   bool done);

#endif							/* UIDGEN_SEGMENT_SUPPLY_H */
