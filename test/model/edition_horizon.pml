/*
 * edition_horizon.pml
 *	  A model for the checker Spin of uid_horizon() in the edition in SQL: a lock that names a
 *	  position, and notes for snapshots.
 *
 * It has the steps of script/sql/52_horizon.sql, each access to a sequence, to the locks and to the
 * snapshots by itself, beside draws and jumps, which edition.pml has:
 *
 *	- writers: a transaction holds, draws, and commits: what it has written is visible, and then its locks go.  Or it
 *	  rolls back, all or to a savepoint within which it has held, and perhaps drawn an id that it stores; what it has
 *	  locked itself may remain then in the place of what it held.  The lock of a turn stays;
 *	- jumpers: close, look at the position, set it to that or to the clock, and open;
 *	- a reader: a statement has a snapshot, looks at the position, at the locks and at the clock, notes what it found with
 *	  a snapshot of then, and answers by that or by the note before.
 *	  It begins the other turn anew if nobody has locked that;
 *	- a crash: it forgets what was drawn by transactions that were not committed.  It ends the poll and the transaction.
 *
 * What is checked: P8_final: a transaction with an id up to the answer is visible to the statement; P9_passed: no id
 * is drawn that is not above all answers so far.
 *
 * Each rule can be broken (-DBUG_...); check.sh has the searches.
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef TRANSACTIONS
#define TRANSACTIONS 2			/* of all writers together */
#endif
#ifndef JUMPS
#define JUMPS 1
#endif
#ifndef POLLS
#define POLLS 2
#endif
#ifndef CLOCKS
#define CLOCKS 0				/* moves of the clock */
#endif
#ifndef SAVEPOINTS
#define SAVEPOINTS 0			/* that are rolled back */
#endif
#ifndef CANCELS
#define CANCELS 0				/* in the middle of a draw */
#endif
#ifndef CRASHES
#define CRASHES 0				/* with one writer, and no jumps */
#endif
#ifndef START
#define START 9					/* the clock: above all that is drawn, or not */
#endif
#define STEP 3
#ifndef OF_OTHERS
#define OF_OTHERS NONE			/* a key that a transaction has locked itself; NONE: it has not */
#endif
#define NONE 255				/* as a lock: there is none */
#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))

byte position = 1, jumps;
byte clock = START;
byte logged = 1;				/* the position that a crash leaves */

byte begun, jumped, polled, clocks, savepoints, cancels, crashes;
byte lock[TRANSACTIONS] = NONE;
byte turns[TRANSACTIONS];		/* the set of turns that it has locked */
byte since[2], turn;
byte first[TRANSACTIONS] = NONE;	/* the lowest id that counts */
byte visible;					/* the set of transactions that snapshots see */
byte told;						/* the highest answer */
byte noted, noted_snapshot;		/* of the reader's session; 0: nothing */
bool P8_final = true, P9_passed = true;

/* Tries until it is held. */
inline hold()
{
	do
	:: j = jumps;
		if
		:: j % 2 == 1 -> skip	/* somebody else's jump ends */
		:: else ->
			p = position;
#ifndef BUG_HOLD_WITHOUT_LOOK
			if
			:: jumps != j -> skip
			:: else -> break
			fi
#else
			break
#endif
		fi
	od;
	if
	:: place == 0 -> place = p
	:: else					/* where it held before it went back */
#ifdef BUG_HOLD_ANEW
		-> place = p
#endif
	fi;
	lock[me] = place;
#if SAVEPOINTS
	v = turn;
	turns[me] = turns[me] | (1 << v);
#endif
	held = true
}

/* Tries until it counts. */
inline draw()
{
	do
	:: j = jumps;
		if
		:: j % 2 == 1 -> skip
		:: else ->
			atomic { position++; v = position };
			atomic {
				if
				:: cancels < CANCELS -> cancels++; goto undo
				:: jumps == j ->
					P9_passed = v > told;
					assert(P9_passed);
					first[me] = MIN(first[me], v);
					break
				:: jumps != j
				fi }
		fi
	od
}

proctype writer()
{
	byte j, p, v, me, place;
	bool held;

end: do
	:: atomic { begun < TRANSACTIONS -> me = begun; begun++ };
#ifndef BUG_HOLD_AFTER_DRAW
		if
		:: !held -> hold()
		:: else
		fi;
#endif
		if
		:: atomic {				/* back to a savepoint */
				savepoints < SAVEPOINTS -> savepoints++ };
			if
			:: draw()
			:: true
			fi;
			atomic {
				lock[me] = OF_OTHERS; held = false }
		:: true
		fi;
#ifndef BUG_HOLD_AFTER_DRAW
		if
		:: !held && first[me] != NONE -> goto ends
		:: !held -> hold()
		:: else
		fi;
#endif
		draw();
ends:
#ifdef BUG_HOLD_AFTER_DRAW
		hold();
#endif
		if
		:: atomic {
				crashes < CRASHES ->
				crashes++;
				lock[me] = NONE; first[me] = NONE;
				turns[me] = 0; since[0] = 0; since[1] = 0; turn = 0;
				noted = 0; noted_snapshot = 0;
				position = MAX(logged, clock) }
		:: true ->
undo:		atomic { first[me] = NONE; lock[me] = NONE; turns[me] = 0 }	/* rollback */
		:: true ->
#ifdef BUG_LOCK_OF_SESSION
			atomic { lock[me] = NONE; turns[me] = 0 };
#endif
			atomic { visible = visible | (1 << me); logged = position };
			atomic { lock[me] = NONE; turns[me] = 0 }
		fi;
		atomic { j = 0; p = 0; v = 0; me = 0; place = 0;
#ifndef BUG_REMEMBERED_TOO_LONG
			held = false
#endif
		}
	od
}

proctype jumper()
{
	byte r;

end: do
	:: atomic { jumped < JUMPS -> jumped++; jumps++ };
		r = position;
		position = MAX(r, clock);
		atomic { jumps++; r = 0 }
	od
}

inline look_at_locks()
{
	atomic {
		low = NONE;
		locked = 0;
		for (i : 0 .. TRANSACTIONS - 1) {
			locked = locked | turns[i];
			h = lock[i];
			if
#ifndef BUG_KEY_ABOVE_POSITION
			:: h != NONE && h > position -> h = NONE
#endif
			:: else
			fi;
#ifndef BUG_NO_TURN
			if
			:: h == NONE && turns[i] != 0 -> h = MIN((turns[i] & 1 -> begin_0 : NONE), (turns[i] & 2 -> begin_1 : NONE))
			:: else
			fi;
#endif
			low = MIN(low, h)
		}
		h = 0;
		i = 0 }
}

proctype reader()
{
	byte j, p, low, i, snapshot, later, answer, before, h, locked, present, begin_0, begin_1;

end: do
	:: atomic { polled < POLLS -> polled++; snapshot = visible; before = crashes };
#if SAVEPOINTS
		present = turn;
		atomic { begin_0 = since[0]; begin_1 = since[1] };
#endif
#ifdef BUG_LOCKS_BEFORE_POSITION
		look_at_locks();
#endif
		do
		:: j = jumps;
			p = position;
#ifdef BUG_READ_WITHOUT_LOOK
			break
#else
			if
			:: j % 2 == 0 && jumps == j -> break
			:: else
			fi
#endif
		od;
#ifdef BUG_SNAPSHOT_BEFORE_LOCKS
		later = visible;
#endif
#ifndef BUG_LOCKS_BEFORE_POSITION
		look_at_locks();
#endif
#ifndef BUG_AHEAD_OF_CLOCK
		p = MIN(p, clock);
#endif
#if SAVEPOINTS
		if
#ifdef BUG_TURN_IN_USE
		:: true ->
#else
		:: (locked & (2 >> present)) == 0 && crashes == before ->
#endif
#ifdef BUG_TURN_BEGINS_AFTER_LOOK
			since[1 - present] = position;
#else
			since[1 - present] = p;
#endif
			turn = 1 - present
		:: else
		fi;
#endif
		p = MIN(p, low);
#ifndef BUG_SNAPSHOT_BEFORE_LOCKS
		later = visible;
#endif
		atomic {
			if
			:: crashes != before -> answer = 0
#ifdef BUG_FOR_OLDER_SNAPSHOT
			:: else -> answer = p
#else
			:: else ->
				if
				:: (later & snapshot) == later -> answer = p
				:: (later & snapshot) != later && (noted_snapshot & snapshot) == noted_snapshot -> answer = noted
				:: else -> answer = 0
				fi;
				noted = p; noted_snapshot = later
#endif
			fi;
			for (i : 0 .. TRANSACTIONS - 1) {
				P8_final = first[i] > answer || ((snapshot >> i) & 1) == 1;
				assert(P8_final)
			}
			told = MAX(told, answer);
			j = 0; p = 0; low = 0; i = 0; snapshot = 0; later = 0; answer = 0; before = 0; locked = 0; present = 0; begin_0 = 0; begin_1 = 0 }
	od
}

proctype timekeeper()
{
end: do
	:: atomic {
			clocks < CLOCKS -> clocks++;
			if
			:: clock = clock + STEP
			:: clock = 0
			fi }
	od
}

init {
	atomic {
		byte n;
		for (n : 1 .. WRITERS) {
			run writer()
		}
		run jumper();
		run reader();
		run timekeeper()
	}
}
