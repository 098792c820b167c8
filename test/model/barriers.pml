/*
 * barriers.pml
 *	  A model for the checker Spin of a machine that reorders loads and stores, under
 *	  the rules by which callers and the keeper share words without a lock.
 *
 * generator.pml has the rules in full, on a machine where each access is seen by
 * all at once and in the order of the program.  Here is the least of them that
 * shows what the barriers in ticket.h and ticket.c are for, on a machine that
 * promises what PostgreSQL promises, and no more:
 *
 *	- What the keeper writes goes to a buffer.  Each word leaves it at any time, and
 *	  in any order.  After a write barrier, nothing is written before the buffer is
 *	  empty.
 *	- What a caller reads is read at any time after the read barrier before it, and
 *	  in any order.  Behind a read barrier, all that was to be read before has been.
 *	- Fetch-add and compare-exchange happen in memory and are full barriers, unless
 *	  the exchange fails: then it is none.
 *
 * So of two reads, the later one may find what is older; and a reader that finds
 * something new may still find something old in another word.  This is the order of
 * ARM and POWER, as far as these rules can tell: callers write by atomic steps
 * alone, and the keeper reads nothing between a write barrier and the next full one.
 * x86 allows less: there, only a store may be passed by a later load.
 *
 * What is modelled:
 *
 *	- callers: uidgen_ticket_begin(); the clock, which is read like a word; its note;
 *	  the bounds; the ticket, by compare-exchange or fetch-add; uidgen_ticket_settle(),
 *	  also again for a ticket that is not granted yet or early, or given up;
 *	- the keeper: it hands back what is left of its grant and acquires another, for
 *	  either worker id; extends it; lowers the bounds; follows a clock that was set
 *	  back by a large step.  Its lock is a full barrier at the end of each;
 *	- the clock, which is set back once, at any time.
 *
 * One word stands for the bounds and for all else that only calls that look at the
 * clock read.  There is no gate, and no position from which to renew: more tickets are
 * taken than in truth.  So nothing that is checked depends on the order in which
 * close() and extend() change limit and renew_at, and they have no barrier for it.
 *
 * What is checked: P1_unique, P2_granted, P4_ordered and P5_near, as in generator.pml.
 * P4 is that no large step of the clock is followed but one that there was; P5, that a
 * ticket of an era that began under the low bound is not too far ahead by that one.
 *
 * Each barrier can be left out (-DBUG_NO_BARRIER_...), and the add of nothing be a
 * read (-DBUG_POSITION_ONLY_READ).  check.sh has the searches.  Measured like those of
 * generator.pml:
 *
 *	- small: 4 worlds of 440 to 680 thousand states, and 5 searches with a broken rule,
 *	  each found within 460 thousand: 13 s of processor time, of which the compiler
 *	  takes half;
 *	- MODEL=large: 4 worlds of up to 12 million states (28 s, 650 MB).
 *
 * That ticket.h and ticket.c have these barriers is for test/unit/test_ticket.c to
 * show, which runs them on memory of this kind.
 */

#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef TICKETS
#define TICKETS 2	/* that they take, all together */
#endif
#ifndef STEPS
#define STEPS 3		/* of the keeper; the first begins an era */
#endif
#ifndef SET_BACK
#define SET_BACK 0	/* times that the clock is set back */
#endif
#ifndef LOWERED
#define LOWERED 0	/* times that the keeper lowers the bound */
#endif

#define WINDOW		1	/* ticks of a grant after its first */
#define LARGE		2	/* a step of the clock beyond it is large */
#define START		(SET_BACK -> 7 : 2)	/* where the clock is at first */
#define HIGH_BOUND	3
#define LOW_BOUND	0

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define BIT(n)		(1 << (n))
#define UP_TO(n)	(BIT((n) + 1) - 1)

/* ---- memory ---- */

#define ERA			0
#define LIMIT		1
#define CONSTANT	2
#define POSITION	3
#define CLOCK_HIGH	4
#define BOUND		5
#define CLOCK		6
#define WORDS		7

byte memory[WORDS];

/* A tick of the clock with the mark of its era. */
#define NOTE(era, tick)	((era) / 2 % 4 * 16 + (tick))
#define TICK(note)		((note) % 16)
#define MARK(note)		((note) / 16)

/* What the keeper has written, and nobody else sees yet. */
byte buffer[WORDS];
byte buffered;		/* bit w: word w is in the buffer */

#define LEAVES(w) \
	:: atomic { buffered & BIT(w) -> memory[w] = buffer[w]; buffer[w] = 0; buffered = buffered & ~BIT(w) }

active proctype store_buffer()
{
end:	do
	LEAVES(ERA)
	LEAVES(LIMIT)
	LEAVES(CONSTANT)
	LEAVES(POSITION)
	LEAVES(CLOCK_HIGH)
	LEAVES(BOUND)
	od
}

/* Of one word, the writes keep their order. */
#define WRITE(w, value) \
	!(buffered & BIT(w)) -> buffer[w] = value; buffered = buffered | BIT(w)
#define WRITE_BARRIER()	buffered == 0
#define FULL_BARRIER()	buffered == 0

/* A read is due, until it is done. */
#define READ(w)		due = due | BIT(w)
#define IS_DONE(w) \
	:: atomic { due & BIT(w) -> found[w] = memory[w]; due = due & ~BIT(w) }

inline read_barrier()
{
	do
	IS_DONE(ERA)
	IS_DONE(LIMIT)
	IS_DONE(CONSTANT)
	IS_DONE(POSITION)
	IS_DONE(CLOCK_HIGH)
	IS_DONE(BOUND)
	IS_DONE(CLOCK)
	:: due == 0 -> break
	od
}

/* What was read is needed now. */
#define use_what_was_read	read_barrier

/* ---- what is checked ---- */

bool P1_unique = true;
bool P2_granted = true;
bool P4_ordered = true;
bool P5_near = true;

int granted[2];		/* bit p: (worker, p) was granted */
int issued[2];		/* bit p: (worker, p) was issued */
byte peak;			/* highest tick of the clock since a large step was followed */
byte low_era;		/* the first that began under the low bound */

/* ---- callers ---- */

/* A word that does not change need not be read. */
#if SET_BACK
#define NOW			found[CLOCK]
#else
#define NOW			START
#endif
#if LOWERED
#define FOUND_BOUND	found[BOUND]
#else
#define FOUND_BOUND	HIGH_BOUND
#endif
#define LOOKED_AT	(SET_BACK * (BIT(CLOCK) | BIT(CLOCK_HIGH)) | LOWERED * BIT(BOUND))

byte tickets;

proctype caller()
{
	byte found[WORDS];
	byte due, my_era, p, i;
	bool taken;

end:	do
	:: {
		atomic {		/* uidgen_ticket_begin() */
			tickets < TICKETS -> tickets++;
			READ(ERA)
		};
#ifndef BUG_NO_BARRIER_AFTER_ERA
		read_barrier();
#endif
		READ(POSITION);

look:		due = due | LOOKED_AT;		/* look_at_clock() */
		use_what_was_read();
		atomic {
			if
			:: !taken -> my_era = found[ERA]
			:: else
			fi;
			found[ERA] = 0;
			if
			:: my_era % 2 == 1 -> goto over
			:: else
			fi
		};

#if SET_BACK
		do		/* uidgen_ticket_note_clock() */
		:: atomic {
			MARK(found[CLOCK_HIGH]) == MARK(NOTE(my_era, 0)) &&
			found[CLOCK] > TICK(found[CLOCK_HIGH]) ->
			if
			:: found[CLOCK_HIGH] == memory[CLOCK_HIGH] ->
				memory[CLOCK_HIGH] = NOTE(my_era, found[CLOCK]);
				due = LOWERED * BIT(BOUND) | (taken -> 0 : BIT(POSITION));	/* anew */
				break
			:: else -> found[CLOCK_HIGH] = memory[CLOCK_HIGH]
			fi }
		:: else -> break
		od;
		found[CLOCK_HIGH] = 0;
		use_what_was_read();
#endif

		do		/* uidgen_ticket_take() */
		:: taken -> break
		:: atomic { !taken && found[POSITION] >= NOW ->	/* fetch-add */
			p = memory[POSITION]; memory[POSITION] = p + 1; taken = true; break }
		:: atomic { !taken && found[POSITION] < NOW ->	/* compare-exchange */
			if
			:: found[POSITION] == memory[POSITION] ->
				p = NOW; memory[POSITION] = p + 1; taken = true; break
			:: else -> found[POSITION] = memory[POSITION]
			fi }
		od;

		atomic {		/* uidgen_ticket_settle() */
			found[POSITION] = 0;
			READ(LIMIT);
			READ(CONSTANT)
		};
#ifndef BUG_NO_BARRIER_BEFORE_ERA
		read_barrier();
#endif
		READ(ERA);
		use_what_was_read();
		atomic {
			if
			:: found[ERA] != my_era -> goto over		/* void */
			:: else
			fi;
			if
			:: p > found[LIMIT] || p > NOW + FOUND_BOUND ->		/* not granted yet, early */
				for (i : 0 .. WORDS - 1) { found[i] = 0 }
				i = 0;
				goto look
			:: p > found[LIMIT] || p > NOW + FOUND_BOUND -> goto over	/* given up */
			:: else
			fi;
			i = found[CONSTANT];
			P1_unique = !((issued[i] >> p) & 1);
			assert(P1_unique);
			issued[i] = issued[i] | BIT(p);
			P2_granted = (granted[i] >> p) & 1;
			assert(P2_granted);
			P5_near = p <= NOW + (low_era > 0 && my_era >= low_era -> LOW_BOUND : HIGH_BOUND);
			assert(P5_near)
		};

over:		atomic {
			for (i : 0 .. WORDS - 1) { found[i] = 0 }
			due = 0; my_era = 0; p = 0; i = 0; taken = false
		}
	} od
}

/* ---- the keeper ---- */

byte until[2];		/* the registry: the last tick granted, by worker */

inline close()
{
	atomic { era = era | 1; WRITE(ERA, era); WRITE(LIMIT, 0) };
#ifndef BUG_POSITION_ONLY_READ
	FULL_BARRIER();			/* of the add of nothing */
#endif
	at = memory[POSITION]
}

inline open()
{
	atomic {
		era = era + 1;
		WRITE(POSITION, at);
#if SET_BACK
		WRITE(CLOCK_HIGH, NOTE(era, now));
#endif
		WRITE(CONSTANT, worker);
		WRITE(LIMIT, until[worker])
	};
#ifndef BUG_NO_BARRIER_BEFORE_EVEN
	WRITE_BARRIER();
#endif
	atomic {
		WRITE(ERA, era);
		if
		:: back -> peak = memory[CLOCK]
		:: else
		fi
	}
}

proctype keeper()
{
	byte steps, lowered, era, worker, at, first, now;
	bool back;

	era = memory[ERA];
end:	do
	:: {
		atomic {
			steps < STEPS -> steps++;
			now = memory[CLOCK];
			back = TICK(memory[CLOCK_HIGH]) > now + LARGE;
			P4_ordered = !back || peak > now + LARGE;
			assert(P4_ordered);
			if
			:: goto change
			:: !back && era % 2 == 0 -> goto extend
			:: !back && era % 2 == 0 && lowered < LOWERED -> goto bound
			fi
		};

change:		close();
		atomic {		/* the registry: what is left is handed back, */
			until[worker] = MIN(until[worker], at - 1);
			P2_granted = (issued[worker] & ~UP_TO(at - 1)) == 0;
			assert(P2_granted);
			granted[worker] = granted[worker] & UP_TO(at - 1);
			if		/* and another grant acquired */
			:: worker = 0
			:: worker = 1
			fi;
			first = MAX(until[worker] + 1, now);
			at = (back -> first : MAX(at, first));
			granted[worker] = granted[worker] | (UP_TO(at + WINDOW) & ~UP_TO(at - 1));
			until[worker] = at + WINDOW
		};
		open();
		goto over;

extend:		atomic {
			until[worker] = until[worker] + 1;
			granted[worker] = granted[worker] | BIT(until[worker]);
			WRITE(LIMIT, until[worker]);
			goto over
		};

bound:		close();
		atomic { lowered++; low_era = era + 1; WRITE(BOUND, LOW_BOUND) };
		open();

over:		atomic { FULL_BARRIER(); at = 0; first = 0; now = 0; back = false }
	} od
}

/* ---- the clock ---- */

#if SET_BACK
active proctype clock()
{
	memory[CLOCK] = 2
}
#endif

init
{
	atomic {
		byte n;

		memory[ERA] = 1;
		memory[POSITION] = 1;
		memory[BOUND] = HIGH_BOUND;
		memory[CLOCK] = START;
		peak = START;
		for (n : 1 .. CALLERS) { run caller() }
		run keeper()
	}
}
