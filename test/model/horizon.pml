/*
 * horizon.pml
 *	  A model for the checker Spin of the rules in src/core/horizon.h: those who draw ids, and a
 *	  reader that goes on by id.
 *
 * Each access to a shared word is a step of its own, seen by all at once; the barriers that make
 * it so are named in horizon.h.  A commit is one step: PostgreSQL ends a transaction for
 * all snapshots under one lock.  A snapshot is the number of commits that it sees, which is what
 * the order of snapshots in ids/horizon.c amounts to.
 *
 * What is modelled:
 *
 *	- writers: the bound, the look at the clock in another era, the draw, ids of an earlier
 *	  transaction (CACHE), the end; or PREPARE, and the end without the process (PREPARES);
 *	- an application that stores an id of an earlier transaction, before or after it draws one in the same
 *	  transaction, or alone (HOLDS);
 *	- a parallel worker of the first writer's, which draws and holds in its transaction (WORKER);
 *	- the reader: its snapshot, the reading with the move of the position, the bounds one by one, the
 *	  prepared ones, the note with a later snapshot, and the answer;
 *	- the clock, which goes on, and is set back STEPS times;
 *	- the keeper, which begins another era at the same position (ERAS), or where the clock was set
 *	  back at a lower one;
 *	- the owner, who accepts that ids were drawn below what readers were told: they go back to there;
 *	- the server, which has just started, or was promoted, and knows nothing of what was before (STARTED):
 *	  what readers were told, up to the clock, what the application has, and a transaction that is prepared.
 *
 * What is checked: when a transaction ends, its id is not below what a reader was told, unless all
 * readers are told that they have missed some (P8_final); and what a reader is told contains no id
 * that has ended after its snapshot (P8_visible).  Nor is that beyond the clock, at which ids begin after a
 * restart (P8_within_clock).
 *
 * Each rule can be left out: -DBUG_...; check.sh has the searches.
 */

#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef TRANSACTIONS
#define TRANSACTIONS 2	/* of each writer */
#endif
#ifndef POLLS
#define POLLS 2			/* of the reader */
#endif
#ifndef TIME
#define TIME 2			/* by how much the clock goes on */
#endif
#ifndef STEPS
#define STEPS 0
#endif
#ifndef ERAS
#define ERAS 0
#endif

#define CAPACITY	2	/* positions of a tick */
#define TICK(p)		((p) / CAPACITY)
#define FIRST(t)	((t) * CAPACITY)
#ifdef STARTED
#define ALL			(WRITERS * TRANSACTIONS + 1)
#define TABLE		(WRITERS + 1)
#else
#define ALL			(WRITERS * TRANSACTIONS)
#define TABLE		WRITERS
#endif
#define NONE		255
#define UNKNOWN		254		/* for `prepared` */
#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))

byte clock = 2;
byte passed = 0;		/* ticks that the clock has gone on */
byte steps = 0;
byte position = 4;
byte era = 2;
byte read_to = 0;
byte bound[WRITERS];	/* 0: none; else one more than the tick */
byte prepared[TABLE];	/* likewise, or UNKNOWN */
byte commits = 1;
byte told = 0;			/* the highest tick that a reader was told */
bool missed = false;	/* readers are told that they have missed ids: */
byte drawn = NONE;		/* from this tick on */
byte accepted = 0;
#ifdef STARTED
bool known = false;		/* what was prepared before is in the table */
bool begun = false;		/* ids were drawn or held since */
bool before = false;	/* a transaction that was prepared before has not ended */
#endif
#ifdef WORKER
byte working = 0;		/* 0: not begun; 2: it has ended */
byte worked = NONE;		/* the lowest tick that the worker has stored */
#endif
#ifdef HOLDS
byte pool = 0;			/* 0: none; else one more than a position that the application has */
#endif
bool P8_final = true;
bool P8_visible = true;
bool P8_within_clock = true;

/* Transactions that have ended: the tick of the id, and which commit it was. */
byte tick_of[ALL];
byte commit_of[ALL];

inline lower_bound(wanted)
{
	atomic {
		if
		:: bound[w] == 0 || bound[w] > wanted -> bound[w] = wanted
		:: else
		fi
	}
}

inline end_transaction(n, tick)
{
	commits++;
	commit_of[n] = commits;
	tick_of[n] = tick;
	P8_final = (tick >= told || missed);
	assert(P8_final)
}

#ifdef STARTED
/* Before anybody draws, holds or reads.  Nothing is found on a standby. */
inline look_for_prepared()
{
	atomic {
		if
		:: !known ->
			known = true;
#ifndef BUG_KNOWN_IN_RECOVERY
			prepared[WRITERS] = (before -> UNKNOWN : 0)
#endif
		:: else
		fi
	}
}

/* The first draw or hold: what is from before lies below. */
inline begin_run(now)
{
	if
	:: !begun ->
		p = position;
		atomic { read_to = MAX(read_to, MIN(TICK(p), now)); begun = true }
	:: else
	fi
}

proctype prepared_before(byte tick)
{
	atomic { end_transaction(ALL - 1, tick); before = false; prepared[WRITERS] = 0 }
}
#endif

#ifdef HOLDS
/* uid_hold() of an id that the application has; a transaction that is refused is rolled back, or goes on without it. */
inline hold_from_pool()
{
#ifdef STARTED
#ifndef BUG_HELD_BEFORE_GRANT
	if
	:: era == 1 -> goto refused
	:: else
	fi;
#endif
#ifndef BUG_START_FORGETS
	c = clock;
	begin_run(c);
#endif
#endif
	b = bound[w];
	if
#ifdef BUG_HELD_UNCONFIRMED
	:: b != 0 && b <= TICK(held) + 1
#else
	:: from <= TICK(held) + 1
#endif
	:: else ->
		lower_bound(TICK(held) + 1);
#ifndef BUG_HELD_UNCHECKED
		if
		:: read_to > TICK(held) -> goto refused
		:: read_to > TICK(held) && stored != NONE -> goto store
		:: else
		fi;
#endif
		from = MIN(from, TICK(held) + 1)
	fi;
	stored = MIN(stored, TICK(held))
}
#endif

/* From where on all that the transaction draws or holds is held, as readings that have not seen its bound are below. */
inline confirm(tick)
{
	r = read_to;
#ifdef BUG_CONFIRMED_BY_POSITION
	r = 0;
#endif
	from = MIN(from, MAX(tick, r) + 1)
#ifdef BUG_BOUND_RAISED
	;
	if
	:: r > tick && bound[w] == tick + 1 -> bound[w] = r + 1
	:: else
	fi
#endif
}

#ifdef WORKER
/* Of a parallel query of the first writer's, in whose transaction it draws and holds. */
proctype worker()
{
	byte from = NONE;
	byte p, b, c, r, id, held;
	byte stored = NONE;
	byte w = 0;

end:
	working == 1;
	p = position;
	b = TICK(p);
	lower_bound(b + 1);
	confirm(b);
	c = clock;
	atomic { id = MAX(position, FIRST(c)); position = id + 1 };
	stored = TICK(id);
	if
	:: atomic { pool != 0 -> held = pool - 1; pool = 0 }; hold_from_pool()
	:: true
	fi;
store:
refused:
	atomic { worked = stored; working = 2 }
}
#endif

proctype writer(byte w)
{
	byte done = 0;
	byte seen = 0;		/* the era in which it last looked at the clock */
	byte kept = NONE;	/* a position from an earlier transaction */
	byte from = NONE;	/* held_from */
	byte p, e, c, r, b, id, held, stored, n;

	do
	:: done < TRANSACTIONS ->
		n = w * TRANSACTIONS + done;
		stored = NONE;
#ifdef STARTED
		look_for_prepared();
#endif
#ifdef HOLDS
		if
		:: atomic { pool != 0 -> held = pool - 1; pool = 0 };
			hold_from_pool();
			if
			:: true -> goto store
			:: true
			fi
		:: true
		fi;
#endif
#ifndef BUG_NO_BOUND
#if defined(STARTED) && !defined(BUG_HOLDS_BEFORE_GRANT)
		/* Before the first grant the position says nothing; the look in the first era holds. */
		if
		:: era == 1 -> goto look
		:: else
		fi;
#endif
		p = position;
		b = TICK(p);
		if
		:: kept != NONE && TICK(kept) < b -> b = TICK(kept)
		:: else
		fi;
		lower_bound(b + 1);
		confirm(b);
#endif
#ifndef BUG_CACHE_UNCHECKED
		if
		:: kept != NONE && read_to > TICK(kept) -> kept = NONE
		:: else
		fi;
#endif
look:
		atomic { era % 2 == 0; e = era };
		c = clock;
		if
		:: e != seen ->
			kept = NONE;		/* of another era */
#ifndef BUG_BOUND_STAYS
			p = position;
			b = TICK(p);
			lower_bound(b + 1);
			confirm(b);
#endif
#ifdef STARTED
			begin_run(c);
#endif
#ifndef BUG_STEP_UNNOTICED
			r = read_to;
			p = position;
			if
			:: MAX(TICK(p), c) < r -> atomic { missed = true; drawn = MIN(drawn, MAX(TICK(p), c)) }
			:: else
			fi;
#endif
			seen = e
		:: else
		fi;
		if
		:: kept != NONE -> id = kept; kept = NONE
		:: else ->
			/* ticket.h: what is taken in an era counts only if the era is the same after it */
			atomic {
				if
				:: era != e -> goto look
				:: else
				fi;
				id = MAX(position, FIRST(c));
#ifdef CACHE
				if
				:: TICK(id) == TICK(id + 1) -> kept = id + 1; position = id + 2
				:: position = id + 1
				fi
#else
				position = id + 1
#endif
			}
		fi;
#ifdef WORKER
		if
		:: working == 0 -> working = 1
		:: true
		fi;
#endif
#ifdef HOLDS
		if
		:: atomic { pool != 0 -> held = pool - 1; pool = 0; stored = MIN(stored, TICK(id)) };
			hold_from_pool()
		:: pool == 0 -> pool = id + 1		/* for later */
		:: stored = MIN(stored, TICK(id))
		fi;
#else
		stored = TICK(id);
#endif
store:
#ifdef WORKER
		/* The leader ends after its worker. */
		if
		:: atomic { working == 2 -> stored = MIN(stored, worked); working = 3 }
		:: working == 0 || working == 3
		fi;
#endif
		if
		:: true ->
#ifdef BUG_BOUND_GOES_FIRST
			bound[w] = 0;
#endif
			atomic { end_transaction(n, stored) }
#ifdef PREPARES
		:: true ->
#ifndef BUG_PREPARE_FORGETS
			prepared[w] = bound[w];
#endif
			bound[w] = 0;
			/* By another process.  What is in the table is dead once it has ended. */
			atomic { end_transaction(n, stored); prepared[w] = 0 }
#endif
		fi;
refused:
#ifdef WORKER
		working != 1;
#endif
		bound[w] = 0;
#ifndef BUG_CONFIRMED_FOR_GOOD
		from = NONE;
#endif
		done++
	:: else -> break
	od
}

proctype reader()
{
	byte polls = 0;
	byte note = 0;			/* what the last reading said */
	byte note_commits = 0;	/* the snapshot that was taken after it; 0: no note */
	byte note_accepted = 0;
	byte snapshot, e, p, c, t, i, b, after, generation, answer;
	bool sure;

	do
	:: polls < POLLS ->
		snapshot = commits;
		generation = accepted;
#ifdef STARTED
		look_for_prepared();
#endif
again:
		e = era;
		c = clock;
		p = position;
		t = TICK(p);
		sure = true;
		if
		:: e == 1 -> t = c		/* nothing is granted yet, and ids will begin there */
		:: e % 2 == 0 && t < c && p > FIRST(t) ->
			/* compare-exchange */
			atomic {
				if
				:: position == p -> position = FIRST(t + 1)
				:: else -> goto again
				fi
			};
			t++
		:: else
		fi;
#ifndef BUG_AHEAD_OF_CLOCK
		t = MIN(t, c);
#endif
		atomic { read_to = MAX(read_to, t) };
#ifndef BUG_ERA_UNCHECKED
		if
		:: era != e -> goto again
		:: else
		fi;
#endif
#ifdef BUG_TABLE_FIRST
		i = 0;
		do
		:: i < TABLE -> b = prepared[i]; sure = (sure && b != UNKNOWN); t = (b != 0 && b - 1 < t -> b - 1 : t); i++
		:: else -> break
		od;
#endif
		i = 0;
		do
		:: i < WRITERS -> b = bound[i]; t = (b != 0 && b - 1 < t -> b - 1 : t); i++
		:: else -> break
		od;
#ifndef BUG_TABLE_FIRST
		i = 0;
		do
		:: i < TABLE -> b = prepared[i]; sure = (sure && b != UNKNOWN); t = (b != 0 && b - 1 < t -> b - 1 : t); i++
		:: else -> break
		od;
#endif
		after = commits;
		atomic {
			answer = NONE;
			if
			:: missed			/* an error */
			:: else ->
#ifdef BUG_ANY_SNAPSHOT
				answer = t;
#else
				/* A note counts for a snapshot that is not older than the note's. */
				if
				:: sure && after <= snapshot && generation == accepted -> answer = t
				:: else ->
					if
					:: note_commits != 0 && note_commits <= snapshot && note_accepted == accepted -> answer = note
					:: else
					fi
				fi;
#endif
				if
				:: answer != NONE ->
					/* After a restart ids begin at the clock, and this is forgotten. */
					P8_within_clock = (answer <= clock || steps > 0);
					assert(P8_within_clock);
					told = MAX(told, answer);
					i = 0;
					do
					:: i < ALL ->
						P8_visible = (commit_of[i] <= snapshot || tick_of[i] >= answer);
						assert(P8_visible);
						i++
					:: else -> break
					od
				:: else
				fi
			fi;
			if
			:: sure -> note = t; note_commits = after; note_accepted = generation
			:: else
			fi
		};
		polls++
	:: else -> break
	od
}

proctype time()
{
end:	do
	:: atomic { passed < TIME -> clock++; passed++ }
#ifdef STARTED
	/* Not before: nothing remembers what readers were told. */
	:: atomic { begun && steps < STEPS && clock >= 2 -> clock = clock - 2; steps++ }
#else
	:: atomic { steps < STEPS && clock >= 2 -> clock = clock - 2; steps++ }
#endif
	:: passed == TIME && steps == STEPS -> break
	od
}

/* Begins eras: the first one, and after a step, at the clock, else at the position that it found. */
proctype keeper()
{
	byte eras = 0;
	byte followed = 0;
	byte p;

end:	do
	:: era == 1 -> position = FIRST(clock); era++
	:: era != 1 && followed < steps ->
		followed = steps;
		era++;
		position = FIRST(clock);
		era++
	:: era != 1 && followed == steps && eras < ERAS ->
		eras++;
		era++;
		atomic { p = position };
		position = p;
		era++
	:: era != 1 && followed == STEPS && eras == ERAS -> break
	od
}

proctype owner()
{
	do
	:: atomic {
			missed ->
			missed = false;
			told = MIN(told, drawn);
#ifdef BUG_ACCEPTED_FROM_NOTHING
			read_to = 0;
#else
			read_to = drawn;
#endif
			drawn = NONE;
			accepted++
		}
	:: true -> break
	od
}

init
{
	atomic {
		byte w = 0;
#ifdef STARTED
		era = 1;
		position = 0;
		if
		:: told = 1
		:: told = clock
		fi;
#ifdef HOLDS
		pool = FIRST(told - 1) + 1;
#endif
		if
		:: before = true; run prepared_before(told)
		:: true
		fi;
#endif
		do
		:: w < WRITERS -> run writer(w); w++
		:: else -> break
		od;
		run reader();
#ifdef WORKER
		run worker();
#endif
		run time();
		run keeper();
		if
		:: STEPS > 0 -> run owner()
		:: else
		fi
	}
}
