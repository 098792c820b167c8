/*
 * switch.pml
 *	  A model for the checker Spin of one segment in shared memory: callers draw numbers
 *	  from two buffers, and the keeper fills them.
 *
 * It has the steps of segment.h and segment.c, each access to a shared word by itself.
 * The order of memory is not modelled: test/unit/test_segment.c runs the code on memory
 * that reorders.
 *
 * What is modelled:
 *
 *	- callers: the look at position, segment and buffer; the gate; the ticket by fetch-add,
 *	  for one number or a block of two; a ticket of another generation than was read;
 *	  the seam; blocks that leave a rest;
 *	- the keeper: it fills; takes numbers back, and fills in the same ones again, as after
 *	  a release; gives the slot to another segment, for which callers come, too.
 *
 * Generations count from 1, and a range has SIZE numbers.  Between two ranges lie numbers
 * that other servers have got.  The numbers of the second segment begin with THEIRS.
 *
 * What is checked: P1_unique: no number is drawn twice; P2_ours: each is one that was put
 * into a buffer of the caller's segment; P4_ordered: a call gets higher numbers than all
 * those that had returned when it began.
 *
 * Each rule can be broken (-DBUG_...); check.sh has the searches.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef TICKETS
#define TICKETS 4				/* of all callers together */
#endif
#ifndef FILLS
#define FILLS 3
#endif
#ifndef CLOSES
#define CLOSES 0
#endif
#ifndef ASSIGNS
#define ASSIGNS 0				/* 1: the slot is given to another segment */
#endif
#ifndef BLOCKS
#define BLOCKS 0				/* draws of two numbers */
#endif
#ifndef SIZE
#define SIZE 2					/* of a range */
#endif
#define THEIRS 16
#define MAX(a, b)	((a) > (b) -> (a) : (b))

byte gen = 1, place;			/* the position: read and written in one step */
byte segment = 1;
byte era[2], first[2], size[2];

byte tickets, blocks, fills, closes, assigns;
byte next_number = 1;			/* of the segment in the slot; the keeper's own */
byte returned[3];				/* by segment: the highest number that has */
int drawn, put;					/* sets of numbers */
bool P1_unique = true, P2_ours = true, P4_ordered = true;

inline check_number(number)
{
	P1_unique = ((drawn >> (number)) & 1) == 0;
	assert(P1_unique);
	P2_ours = ((put >> (number)) & 1) == 1 && ((number) >= THEIRS) == (mine == 2);
	assert(P2_ours);
	drawn = drawn | (1 << (number))
}

/* n numbers of generation t lie at place p of a range of s from f on; or beyond it. */
inline use()
{
	atomic {
		if
		:: p + n <= s ->
			check_number(f + p);
			if
			:: n == 2 -> check_number(f + p + 1)
			:: else
			fi;
			P4_ordered = f + p > seen;
			assert(P4_ordered);
			returned[mine] = MAX(returned[mine], f + p + n - 1);
			goto over
		:: else -> goto again	/* the rest is left */
		fi
	}
}

proctype caller()
{
	byte mine, n, g, q, e, f, s, t, p, seen, h;

end: do
	:: atomic {
			tickets < TICKETS -> tickets++;
			n = 1;
			if
			:: blocks < BLOCKS -> blocks++; n = 2
			:: true
			fi;
			if
			:: mine = 1
			:: ASSIGNS > 0 -> mine = 2
			fi;
			seen = returned[mine] };
again:
#ifdef BUG_SEGMENT_BEFORE_POSITION
		h = segment;
		atomic { g = gen; q = place };
#else
		atomic { g = gen; q = place };
		h = segment;
#endif
#ifndef BUG_NO_SEGMENT
		if
		:: h != mine -> goto over
		:: else
		fi;
#endif
		h = 0;
		e = era[g % 2];
		s = size[g % 2];
#ifndef BUG_FIRST_AFTER_TICKET
		f = first[g % 2];
#endif
#ifndef BUG_NO_ERA
		if
		:: e != 2 * g -> goto ended
		:: else
		fi;
#endif
		e = 0;
#ifndef BUG_NO_GATE
		if
		:: q + n > s -> goto ended
		:: else
		fi;
#endif
		/* The ticket. */
#ifdef BUG_TICKET_NOT_ATOMIC
		atomic { t = gen; p = place };
		atomic { gen = t; place = p + n };
#else
		atomic { t = gen; p = place; place = place + n; q = 0 };
#endif
#ifdef BUG_FIRST_AFTER_TICKET
		f = first[g % 2];
#endif
#ifndef BUG_NO_GENERATION
		if
		:: t != g ->
			/* Of another generation than was read. */
			f = first[t % 2];
			s = size[t % 2];
			e = era[t % 2];
#ifndef BUG_SETTLE_WITHOUT_ERA
			if
			:: e != 2 * t -> goto again	/* dropped */
			:: else
			fi;
#endif
#ifndef BUG_SETTLE_WITHOUT_SEGMENT
			if
			:: segment != mine -> goto over
			:: else
			fi;
#endif
			e = 0
		:: else
		fi;
#endif
		use();
ended:	/* nothing is left of generation g: is the next one there? */
		e = era[(g + 1) % 2];
		if
		:: e == 2 * (g + 1) ->
#ifdef BUG_SEAM_BY_WRITE
			atomic { gen = g + 1; place = 0 };
#else
			atomic {
				if
				:: gen == g && place == q -> gen = g + 1; place = 0
				:: else
				fi };
#endif
			goto again
		:: else
		fi;
		/* It waits, or fails. */
over:	atomic { mine = 0; n = 0; g = 0; q = 0; e = 0; f = 0; s = 0; t = 0; p = 0; seen = 0; h = 0 }
	od
}

/* Take the rest of both buffers back; the numbers can be put in again. */
inline take_back()
{
#ifdef BUG_CLOSE_BY_READ
	atomic { c = gen; r = place };
	atomic { gen = c + 2; place = r };
#else
#ifdef BUG_CLOSE_BY_ONE
	atomic { c = gen; r = place; gen = gen + 1 };
#else
	atomic { c = gen; r = place; gen = gen + 2 };
#endif
#endif
	d_step {
		if
		:: era[(c + 1) % 2] == 2 * (c + 1) -> next_number = first[(c + 1) % 2]
		:: else
		fi;
		if
		:: era[c % 2] == 2 * c && r < size[c % 2] -> next_number = first[c % 2] + r
		:: else
		fi;
		c = 0;
		r = 0
	}
}

proctype keeper()
{
	byte c, r;

end: do
	:: atomic {
			fills < FILLS && era[(gen + 1) % 2] != 2 * (gen + 1) -> fills++;
			c = gen + 1 };
#ifndef BUG_FILL_NOT_ODD
#ifdef BUG_EVEN_FIRST
		era[c % 2] = 2 * c;
#else
		era[c % 2] = 2 * c - 1;
#endif
#endif
		atomic { first[c % 2] = next_number; put = put | (((1 << SIZE) - 1) << next_number) };
		size[c % 2] = SIZE;
		era[c % 2] = 2 * c;
		atomic {
			c = 0;
			next_number = next_number + SIZE;
			if
			:: next_number = next_number + 1	/* others have one */
			:: true
			fi }
	:: atomic { closes < CLOSES -> closes++ };
		take_back()
	:: atomic { assigns < ASSIGNS -> assigns++ };
#ifdef BUG_ASSIGN_BEFORE_CLOSE
		segment = 2;
		take_back();
		next_number = THEIRS;
#else
#ifndef BUG_ASSIGN_WITHOUT_CLOSE
		take_back();
#endif
		next_number = THEIRS;
		segment = 2;
#endif
	od
}

init {
	atomic {
		byte i;
		for (i : 1 .. CALLERS) {
			run caller()
		}
		run keeper()
	}
}
