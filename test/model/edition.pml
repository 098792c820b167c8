/*
 * edition.pml
 *	  A model for the checker Spin of the lock that is made of sequences: ids of the edition
 *	  in SQL.
 *
 * It has the steps of script/sql/50_ids.sql, each access to a sequence by itself:
 *
 *	- drawers: a look at `jumps`, the draw from `position`, and the second look;
 *	- jumpers, one at a time: close, look at the position, set it to that or to the clock, whichever
 *	  is higher, and open; or take some numbers meanwhile.  Whoever finds it closed does
 *	  not close it again.  A jumper can be ended between any two steps, which gives its lock back;
 *	- set_up() waits until nobody draws, moves the position to the clock and makes `jumps` what it is after a crash; or
 *	  its transaction is rolled back, which sets the position back, and has drawn nothing;
 *	- the clock moves, forward and back;
 *	- the server crashes: all sessions end, `position` is what was flushed last, and `jumps`, which is not
 *	  logged, has no last value.  What was drawn AHEAD of the clock or less is not flushed, what is beyond that is,
 *	  and the first jump leaves a margin.  Recovery takes no time, and the clock is not set back meanwhile.
 *
 * Jumpers jump whether or not the position is behind the clock, which is more than they do.
 *
 * What is checked: P1_unique: no number counts twice; P4_ordered: a number that counts is above all those that had
 * counted when its draw began.
 *
 * Each rule can be broken (-DBUG_...); check.sh has the searches.
 */
#ifndef DRAWERS
#define DRAWERS 3
#endif
#ifndef DRAWS
#define DRAWS 4					/* of all drawers together */
#endif
#ifndef JUMPERS
#define JUMPERS 2
#endif
#ifndef JUMPS
#define JUMPS 2					/* of all jumpers together */
#endif
#ifndef BATCHES
#define BATCHES 0				/* jumps that take two numbers */
#endif
#ifndef ENDS
#define ENDS 1					/* of jumpers in the middle */
#endif
#ifndef CLOCKS
#define CLOCKS 1				/* moves of the clock */
#endif
#ifndef SETS
#define SETS 0					/* calls of set_up() */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#define STEP 3					/* of the clock, in numbers */
#define AHEAD 2					/* so far a number is at the clock */
#define MAX(a, b)	((a) > (b) -> (a) : (b))

byte position, durable;
byte jumps = 2;
bool unused;					/* jumps has no last value, which counts as 1 */
byte clock = STEP;
bool locked;

byte draws, jumped, batches, ends, clocks, sets, crashes;
byte under_way;					/* draws and jumps */
byte highest;					/* that has counted */
int drawn;						/* the set of numbers that have counted */
bool P1_unique = true, P4_ordered = true;

inline count(number)
{
	P1_unique = ((drawn >> (number)) & 1) == 0;
	assert(P1_unique);
	P4_ordered = (number) > seen;
	assert(P4_ordered);
	drawn = drawn | (1 << (number));
	highest = MAX(highest, number)
}

/* A crash ends the session. */
#if CRASHES
#define OR_CRASH(reset)	unless { atomic { lived < crashes -> lived = crashes; reset } }
#else
#define OR_CRASH(reset)
#endif

/* What is in the log by now is durable. */
inline flush()
{
	if
	:: CRASHES > 0 -> durable = position
	:: else
	fi
}

proctype drawer()
{
	byte j, v, seen, lived;

end: do
	:: { atomic { draws < DRAWS -> draws++; under_way++; seen = highest };
		j = jumps;
#ifndef BUG_NO_LOOK_BEFORE
		if
		:: j % 2 == 1 -> goto over
		:: else
		fi;
#endif
		atomic { position++; v = position };
		atomic {
			if
#ifdef BUG_NO_LOOK_AFTER
			:: true -> count(v)
#else
			:: jumps == j ->
				count(v);
#ifndef BUG_NO_LOG
				if
				:: v > clock + AHEAD -> flush()
				:: else
				fi
#endif
#endif
			:: else
			fi };
over:	atomic { under_way--; j = 0; v = 0; seen = 0 }
		} OR_CRASH(j = 0; v = 0; seen = 0)
	od
}

/* It may be ended here. */
inline may_end()
{
	if
	:: atomic { ends < ENDS -> ends++; goto over }
	:: true
	fi
}

proctype jumper()
{
	byte t, r, n, seen, lived;

end: do
	:: { atomic {
			jumped < JUMPS -> jumped++;
			under_way++;
			seen = highest;
			if
			:: batches < BATCHES -> batches++; n = 2
			:: true
			fi };
#ifndef BUG_NO_LOCK
		atomic { !locked -> locked = true };
#endif
#if defined(BUG_NO_MARGIN)
		t = clock;
#elif defined(BUG_MARGIN_ONCE)
		t = clock + (unused -> AHEAD : 0);
#else
		t = clock + (jumps == 1 -> AHEAD : 0);
#endif
#ifdef BUG_LOOK_BEFORE_CLOSING
		r = position;
#endif
#ifndef BUG_NO_CLOSING
		if
		:: unused -> unused = false
		:: jumps % 2 == 0 -> jumps++
		:: else
		fi;
#endif
		may_end();
#ifndef BUG_LOOK_BEFORE_CLOSING
		r = position;
#endif
		may_end();
#ifdef BUG_BACK
		atomic { position = t + n; r = t };
#else
		atomic { r = MAX(r, t); position = r + n };
#endif
		may_end();
#ifndef BUG_NO_CLOSING
		jumps++;
#endif
		atomic {
			if
			:: n == 2 -> count(r + 1); count(r + 2); flush()
			:: else
			fi };
over:	atomic {
#ifndef BUG_NO_LOCK
			locked = false;
#endif
			under_way--;
			t = 0; r = 0; n = 0; seen = 0 }
		} OR_CRASH(t = 0; r = 0; n = 0; seen = 0)
	od
}

proctype timekeeper()
{
end: do
	:: atomic {
			clocks < CLOCKS -> clocks++;
			if
			:: clock = clock + STEP
			:: CRASHES == 0 -> clock = 0
			fi }
	od
}

proctype setter()
{
	byte seen;

end: do
	:: atomic {
#ifdef BUG_SET_BESIDE_DRAWS
			sets < SETS -> sets++;
#else
			sets < SETS && under_way == 0 -> sets++;
#endif
			if
			:: position = MAX(position, clock); jumps = 1; unused = true
#ifdef BUG_DRAWN_BEFORE_COMMIT
			:: seen = highest; count(position + 1); seen = 0
#endif
			:: true
			fi }
	od
}

proctype crasher()
{
end: do
	:: atomic {
			crashes < CRASHES -> crashes++;
			position = durable;
#ifndef BUG_LOGGED
			jumps = 1;
			unused = true;
#endif
			under_way = 0;
			locked = false }
	od
}

init {
	atomic {
		byte i;
		for (i : 1 .. DRAWERS) {
			run drawer()
		}
		for (i : 1 .. JUMPERS) {
			run jumper()
		}
		run timekeeper();
		run setter();
		run crasher()
	}
}
