/*
 * generator.pml
 *	  A model for the checker Spin of how the generator's callers and the keeper
 *	  share the words in shared memory, and of what the keeper asks the registry.
 *
 * What is modelled, after ticket.h, ticket.c, keeper.c and the extension's
 * script.  One position stands for one tick.  Each access to a shared word is a
 * step of its own; each call on the registry is one step, being a transaction.
 *
 *	- callers: era, clock; the note of the clock by compare-exchange of its tick and
 *	  the era's mark; the bounds, one by one where they can change; position; the
 *	  gate; the ticket by compare-exchange, tried again as long as it fails, or by
 *	  fetch-add; limit, constant and the era again; tickets that are not granted yet or early,
 *	  which look at the clock again, and are given up;
 *	- the keeper: acquires, renews, releases, at any time; goes to another row
 *	  after a leap, to the true time after a large step back; changes the bounds; may
 *	  end between the registry's commit and what it publishes; a release may fail;
 *	- the registry: candidates in order (own rows within the lead and the step,
 *	  never used, left by others, own at any lead); renewal by compare and swap on
 *	  token and end, with a new token each time; what shared memory knows, and
 *	  teaches;
 *	- the world: a clock that goes where it likes; crashes of the server; rows
 *	  that another instance takes, at any time, or that an operator frees; a
 *	  registry that falls back to an older state, or to nothing; a copy of it that
 *	  is put in its place, while the origin's grants go on elsewhere.
 *
 * What the world does is put where it makes a difference: the clock moves when
 * it is read; others change the registry just before our next call; the server
 * crashes after something that lasts, a commit or an id.  At all other moments
 * it would come to the same, at many times the states.  For that reason, too, a
 * call that has nothing to note reads clock_high once, and `opened` together with
 * it: they belong to one era, or the ticket is void.
 *
 * What is left out: that the room of an era which begins ahead of the clock goes on at
 * half the clock's pace, and that an era begins where the clock was set back, which
 * only let ids go on: here the room stands still, and clock_high stands for
 * clock_before as well; several positions in a tick, blocks, and the position from
 * which to renew (here it is the limit: the gate decides by the limit, and the keeper
 * renews when it likes); demands and waiting, so nothing is said about progress;
 * sessions' caches; more eras than the mark tells apart; the registry's margin for idle
 * holders (here others take any row); two copies of one memory image; memory that
 * reorders, which barriers.pml has.  Of never-used rows the first is taken where all of them are
 * alike.
 *
 * What is checked, besides that nothing gets stuck:
 *
 *	- P1_unique: no (worker, position) is issued twice, by whomever.
 *	- P2_granted: what is issued was granted to us for that worker and committed,
 *	  and nothing that was issued is handed back.  So nothing is issued without a
 *	  grant.
 *	- P4_ordered: a call that began after another had returned gets the higher
 *	  position, unless a large step back was followed between them; and none is
 *	  followed but one that leaves the clock more than LARGE behind the highest
 *	  tick known.  The clock was there, since the last crash or, as the row in use
 *	  tells, before.
 *	- P5_near: an id is at most CRASH and BURST ahead of the clock that its call has
 *	  seen; and at most BURST ahead, as long as the clock was not set back, the server
 *	  did not crash, and no era had to begin ahead of the clock.
 *
 * A registry that falls back is checked without crashes and others: those are
 * not promised (P1 holds as long as the committed state is kept; what shared
 * memory knows is ours alone, and is lost in a crash).
 *
 * check.sh has the searches: the model as it is, in many small worlds, each to
 * the end; and with one rule broken at a time (-DBUG_...), which must be found.
 * Measured with Spin 6.5.2 on one core of some 3 GHz:
 *
 *	- small: 12 worlds of 13 to 460 thousand states, 2.1 million together, and 19
 *	  searches with a broken rule, each found within 840 thousand: 43 s of processor
 *	  time, of which the compiler takes two thirds;
 *	- MODEL=large: 32 worlds of up to 20 million states (51 s, 1.1 GB), and three more
 *	  broken rules: 9 minutes of processor time.
 *
 * Not needed for these promises, as the large searches show, are the gate
 * (BUG_NO_GATE: calls that fail would push the position away from the clock), that a
 * large step shuts it (BUG_NOT_SHUT: calls would go on in the old time until the
 * keeper comes), the zeroing of the limit in close() (BUG_LIMIT_KEPT), and
 * that `opened` is written before the era gets even (BUG_OPENED_AFTER_EVEN: calls
 * would wait for no reason).
 */

/* ---- bounds ---- */

#ifndef CALLERS
#define CALLERS 2	/* processes that draw ids */
#endif
#ifndef TICKETS
#define TICKETS 2	/* tickets that they take, all together */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 3	/* attempts of the keeper, releases included */
#endif
#ifndef RELEASES
#define RELEASES 0	/* ends of the keeper with a release */
#endif
#ifndef CLOCKS
#define CLOCKS 0	/* moves of the clock; THERE_AND_BACK: far, and back */
#endif
#ifdef STEADY		/* the keeper does not end in between */
#define MAY_END		false
#else
#define MAY_END		true
#endif
#ifndef LEAPS
#define LEAPS 0		/* times that the keeper finds the clock to have leapt */
#endif
#ifndef CRASHES
#define CRASHES 0	/* of the server */
#endif
#ifndef OTHERS
#define OTHERS 0	/* rows taken by another instance */
#endif
#ifndef FORGETS
#define FORGETS 0	/* rows freed by an operator */
#endif
#ifndef BACKS
#define BACKS 0		/* times that the registry falls back to an older state */
#endif
#ifndef COPIES
#define COPIES 0	/* times that the setting comes to name a copy of the registry */
#endif
#ifndef RELOADS
#define RELOADS 0	/* changes of the bounds, first to the low ones */
#endif
#ifndef WORKERS
#define WORKERS 2	/* worker ids in the layout: 2 or 3 */
#endif
#ifndef WINDOW
#define WINDOW 1	/* ticks of a grant after its first */
#endif
#ifndef AHEAD
#define AHEAD 1		/* uidgen.max_ahead */
#endif
#ifndef BURST
#define BURST 2		/* uidgen.max_burst */
#endif
#ifndef START
#define START 8		/* where the clock is at first */
#endif
#ifndef FAR
#define FAR 9		/* where it is set with THERE_AND_BACK, which ends at 2 */
#endif
#ifndef LAST
#define LAST 22		/* the last tick that may be granted */
#endif

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define NONE		255

/* uidgen_time_bounds(): as above, or low, where both settings are 0. */
#if RELOADS
#define IF_LOW(a, b)	(low -> (a) : (b))
#else
#define IF_LOW(a, b)	(b)
#endif
#define LARGE		IF_LOW(1, AHEAD + 1)	/* steps of the clock beyond it are large */
#define CRASH		IF_LOW(WINDOW + 4, AHEAD + WINDOW + BURST + 4)
/* uidgen_ticket_bound() makes it of them. */
#define ROOM		(CRASH + IF_LOW(0, BURST))
/* What P5 allows. */
#define FARTHEST	(AHEAD + WINDOW + BURST + 4 + BURST)

/* uidgen_ticket_last_allowed() */
#define ALLOWED(now, high, ahead, burst, room) \
	MAX(MAX(now, MIN(high, (now) + (ahead))) + (burst), MIN(opened + (burst), (now) + (room)))

/* ---- the registry: it outlives all ---- */

#define NOBODY		0
#define US		1
#define OTHER		2

typedef Row {
	byte until;		/* last tick granted; 0: never used */
	byte holder;
	byte token;		/* 0: released or forgotten */
	byte seen		/* highest tick of the clock when it was changed */
}
Row row[WORKERS];
byte last_token;
#if BACKS
Row older[WORKERS];		/* what it may fall back to; at first, nothing */
#endif

/* ---- shared memory: it ends with a crash ---- */

byte position = 1;
byte clock_high;
byte mark;			/* which era's clock_high it is; one word with it */
byte era = 1;
byte limit;
byte constant;
byte opened;
#if RELOADS
byte ahead = AHEAD, burst = BURST, opened_room = FARTHEST, large_step = AHEAD + 1;
#endif

/* the keeper's */
bool held;
bool released;			/* it was held, and handed back */
byte held_worker;
byte held_token;
byte held_until;
byte known[WORKERS];
bool locked;			/* LWLock around changes; for callers it is not there */
bool copied;			/* what is held was granted by another registry */

/* ---- the world ---- */

byte clk = START;
byte boot;			/* processes of an older boot are dead */
byte tickets, attempts, releases, clocks, leaps, crashes, others, forgets, backs, copies, reloads;
#if RELOADS
bool low;			/* the settings */
#endif

/* ---- what is checked ---- */

bool P1_unique = true;
bool P2_granted = true;
bool P4_ordered = true;
bool P5_near = true;

#define BIT(p)		(1 << (p))
#define UP_TO(p)	(BIT((p) + 1) - 1)

int granted[WORKERS];	/* bit p: (worker, p) was granted to us, and committed */
int issued[WORKERS];	/* bit p: (worker, p) was issued, by us or another */
byte order;		/* number of the large step back that was last followed */
byte returned;		/* highest position returned since then */
byte peak = START;	/* highest tick of the clock known since then */
bool calm = true;	/* no step back, no crash, no era that began ahead of the clock */

/* Every id goes through here, whoever issues it. */
inline issue(w, p)
{
	P1_unique = !((issued[w] >> p) & 1);
	assert(P1_unique);
	issued[w] = issued[w] | BIT(p)
}

/* ---- what the world does ---- */

/* The clock moves. */
inline look_at_clock()
{
	if
	:: true
	:: clocks < CLOCKS -> clocks++;
		if
#ifdef THERE_AND_BACK
		:: clk == START -> clk = FAR
		:: clk == FAR -> clk = 2; calm = false
#else
		:: clk != 2 -> clk = 2; calm = false
		:: clk != 7 -> calm = calm && clk < 7; clk = 7
		:: clk != 8 -> calm = calm && clk < 8; clk = 8
		:: clk != 9 -> clk = 9
#endif
		fi;
		peak = MAX(peak, clk)
	fi
}

/* All processes die, and shared memory begins anew. */
inline crash()
{
	crashes++;
	position = 1; clock_high = 0; mark = 0; era = 1; limit = 0; constant = 0; opened = 0;
#if RELOADS
	ahead = IF_LOW(0, AHEAD); burst = IF_LOW(0, BURST); opened_room = ROOM; large_step = LARGE;
#endif
	held = false; released = false; held_worker = 0; held_token = 0; held_until = 0; locked = false; copied = false;
	for (i : 0 .. WORKERS - 1) { known[i] = 0 }
	i = 0;
	order++; returned = 0; peak = clk; calm = false;
	boot++				/* last: it ends whoever runs this, too */
}

#define SET_ROW(w, u, h, t)	row[w].until = u; row[w].holder = h; row[w].token = t

/* Others change the registry before our next call. */
inline meanwhile()
{
#if OTHERS
	if
	:: true
	:: others < OTHERS -> others++;		/* its clock is its own */
		select (i : 0 .. WORKERS - 1);
		if
		:: p = row[i].until + 1
		:: p = row[i].until + 3
		fi;
		last_token++;
		SET_ROW(i, MIN(p + WINDOW, LAST), OTHER, last_token);
		do
		:: p <= row[i].until -> issue(i, p); p++
		:: else -> break
		od
	fi;
#endif
#if FORGETS
	if
	:: true
	:: forgets < FORGETS -> forgets++;
		select (i : 0 .. WORKERS - 1);
		SET_ROW(i, row[i].until, NOBODY, 0)
	fi;
#endif
#if BACKS
	if
	:: true
	:: backs < BACKS -> backs++;
		for (i : 0 .. WORKERS - 1) {
			SET_ROW(i, older[i].until, older[i].holder, older[i].token); row[i].seen = older[i].seen;
			older[i].until = 0; older[i].holder = NOBODY; older[i].token = 0; older[i].seen = 0
		}
	:: backs < BACKS && older[0].until == 0 && older[1].until == 0 ->
		for (i : 0 .. WORKERS - 1) {
			older[i].until = row[i].until; older[i].holder = row[i].holder; older[i].token = row[i].token; older[i].seen = row[i].seen
		}
	fi;
#endif
	i = 0; p = 0
}

/* The setting names a copy of the registry from now on.  The origin's grants go on,
 * unseen from here. */
inline copy()
{
	copies++; copied = true;
	for (i : 0 .. WORKERS - 1) {
		if
		:: row[i].holder == US && row[i].until > 0 ->
			for (p : row[i].until + 1 .. row[i].until + 1 + WINDOW) { issue(i, p) }
#ifndef BUG_COPY_IS_OURS
			row[i].holder = OTHER	/* as the first acquisition finds */
#endif
		:: else
		fi
	}
	i = 0; p = 0
}

/* ---- a call, as in ticket.h ---- */

/* Locals that are not needed any more would only multiply the states. */
inline forget_call()
{
	atomic {
		my_boot = boot; my_order = 0; seen = 0; taken = false;
#ifndef KEPT_CLOCK
		my_era = 0; now = 0; highest = 0;
#endif
		p = 0; next = 0; high = 0; last = 0; worker = 0; i = 0
#if RELOADS
		; my_ahead = 0; my_burst = 0; my_room = 0; my_large = 0
#endif
	}
}

proctype caller()
{
	byte my_boot, my_era, my_order, seen, now, p, next, high, highest, last, worker, i;
	bool taken;
#if RELOADS
	byte my_ahead, my_burst, my_room, my_large;
#endif

end:	do
	:: {
#ifdef BUG_CLOCK_BEFORE_ERA
		atomic { look_at_clock(); now = clk };
end_idle:
#endif
		atomic {	/* here the call begins, if it is to get anything */
			era % 2 == 0 && tickets < TICKETS ->
			tickets++;
			my_order = order; seen = returned;
#ifdef KEPT_CLOCK
			if
			:: my_era == era && highest > 0 -> goto take	/* as seen by an earlier call */
			:: true
			fi;
#endif
			my_era = era
		};
#ifdef BUG_CLOCK_BEFORE_ERA
		goto note;
#endif

look:		atomic { look_at_clock(); now = clk };

note:		atomic {	/* uidgen_ticket_note_clock() */
			high = clock_high;
			if
			:: now <= high || now > limit -> goto reach
			:: now > high && now <= limit && mark != my_era / 2 -> goto reach
			:: else
			fi
		};
#if defined(BUG_NOTED_BY_WRITE) || defined(BUG_NOTED_WITHOUT_MARK)
		atomic {	/* would a look at the era do? */
			if
			:: era != my_era -> goto reach
			:: else
			fi
		};
#endif
		atomic {	/* compare-exchange */
			if
#ifdef BUG_NOTED_BY_WRITE
			:: true -> clock_high = now
#elif defined(BUG_NOTED_WITHOUT_MARK)
			:: high == clock_high -> clock_high = now
			:: else -> goto note
#else
			:: high == clock_high && mark == my_era / 2 -> clock_high = now
			:: else -> goto note
#endif
			fi
		};

reach:		/* uidgen_ticket_reach() and uidgen_ticket_clock() */
#if RELOADS
		my_ahead = ahead;
		my_burst = burst;
		my_room = opened_room;
		my_large = large_step;
#define SEEN_ALLOWED	ALLOWED(now, high, my_ahead, my_burst, my_room)
#define SEEN_LARGE	my_large
#else
#define SEEN_ALLOWED	ALLOWED(now, high, AHEAD, BURST, ROOM)
#define SEEN_LARGE	LARGE
#endif
		atomic {
			high = clock_high;
#ifdef BUG_NOT_SHUT
			highest = SEEN_ALLOWED;
#else
			highest = (high > now + SEEN_LARGE -> 0 : SEEN_ALLOWED);
#endif
			high = 0;
#if RELOADS
			my_ahead = 0; my_burst = 0; my_room = 0; my_large = 0;
#endif
			if
			:: taken -> goto settle
			:: else
			fi
		};

take:		atomic { p = position; next = MAX(p, now) };

gate:		atomic {	/* nothing is taken if it is too far ahead, or not granted */
			if
#ifndef BUG_NO_GATE
			:: next > highest || next > limit -> tickets--; goto over
#endif
			:: else
			fi
		};

		atomic {
			if
			:: next == p ->				/* fetch-add */
				p = position; next = 0; taken = true;
#ifdef BUG_TICKET_NOT_ATOMIC
				goto late
#else
				position++
#endif
			:: next != p && p == position ->	/* compare-exchange */
				p = next; position = next + 1; next = 0; taken = true
			:: else ->				/* it failed */
				p = position; next = MAX(p, now);
				goto gate
			fi
		};

settle:		last = limit;		/* uidgen_ticket_settle() */
		worker = constant;
		atomic {
			if
#ifndef BUG_NO_ERA_RECHECK
			:: era != my_era -> goto over		/* void */
#endif
			:: else
			fi;
			if
#ifndef BUG_NO_LIMIT_CHECK
			:: p > last ->				/* not granted: it waits, */
				last = 0; worker = 0;
				goto look
			:: p > last -> goto over		/* or its time is up */
#endif
#ifndef BUG_NOT_EARLY
			:: p > highest ->			/* early, likewise */
				last = 0; worker = 0;
				goto look
			:: p > highest -> goto over
#endif
			:: else
			fi;

			/* It is good.  The sooner it returns, the more calls must get above it. */
			issue(worker, p);
			P2_granted = (granted[worker] >> p) & 1;
			assert(P2_granted);
			P5_near = p <= MAX(now, clk) + FARTHEST && (!calm || p <= clk + BURST);
			assert(P5_near);
			if
			:: my_order == order ->
				P4_ordered = p > seen;
				assert(P4_ordered);
				returned = MAX(returned, p)
			:: else
			fi;
			if
			:: true
			:: crashes < CRASHES -> crash()
			fi;
			goto over
		};

#ifdef BUG_TICKET_NOT_ATOMIC
late:		position = p + 1;
		goto settle;
#endif
over:		forget_call()
	} unless { boot != my_boot ->
#ifdef KEPT_CLOCK
		my_era = 0; now = 0; highest = 0;
#endif
		forget_call() }
	od
}

/* ---- the registry's calls: a transaction is one step ---- */

#define WITHIN_LEAD(w)	(row[w].until + 1 <= clk + (back -> LARGE : CRASH))
#define WITHIN_STEP(w)	(back || row[w].seen <= clk + LARGE)

#define OURS(w)		(w != avoid && row[w].holder == US)
#define LEFT(w)		(w != avoid && row[w].until > 0 && WITHIN_LEAD(w) && \
			 (row[w].holder == NOBODY || (OTHERS && row[w].until < clk)))
/* At random.  As long as none differs from the next, the first will do. */
#if BACKS
#define NEVER_USED(w)	(row[w].until == 0)
#else
#define NEVER_USED(w)	(row[w].until == 0 && (w == 0 || row[w - 1].until > 0))
#endif

#if WORKERS > 2
#define OR_THIRD(condition)	:: worker == NONE && condition(2) -> worker = 2
#else
#define OR_THIRD(condition)
#endif
#define ONE_OF(condition) \
	if \
	:: worker == NONE && condition(0) -> worker = 0 \
	:: worker == NONE && condition(1) -> worker = 1 \
	OR_THIRD(condition) \
	:: else \
	fi

/* Sets worker, token, first and last; worker NONE: refused. */
inline registry_acquire()
{
	meanwhile();
	look_at_clock();
	worker = NONE;
#ifdef DISPOSABLE
	/* After a release, the same again; after all, this start had it. */
	if
	:: !same -> ONE_OF(NEVER_USED)
	:: same && row[held_worker].holder != OTHER &&
	   (WITHIN_LEAD(held_worker) || WITHIN_STEP(held_worker)) -> worker = held_worker
	:: else
	fi;
#else
	for (i : 0 .. WORKERS - 1) {
		if
		:: OURS(i) && WITHIN_LEAD(i) && WITHIN_STEP(i) &&
		   (worker == NONE || row[i].until > row[worker].until) -> worker = i
		:: else
		fi
	}
	i = 0;
	ONE_OF(NEVER_USED);
	ONE_OF(LEFT);
	if
	:: worker == NONE ->
		for (i : 0 .. WORKERS - 1) {
			if
			:: OURS(i) && (worker == NONE || row[i].until < row[worker].until) -> worker = i
			:: else
			fi
		}
		i = 0
	:: else
	fi;
#endif
	if
	:: worker != NONE ->
#ifdef BUG_NOT_ABOVE_OLD_GRANT
		first = MAX(clk, floor);
#else
		first = MAX(MAX(clk, floor), row[worker].until + 1);
#endif
		if
		:: first + WINDOW <= LAST ->
			last = first + WINDOW;
			last_token++;
			token = last_token;
			p = row[worker].seen;
			SET_ROW(worker, last, US, token);
			row[worker].seen = MAX(p, clk);
			granted[worker] = granted[worker] | (UP_TO(last) & ~UP_TO(first - 1))
		:: else -> worker = NONE
		fi
	:: else
	fi
}

/* With worker, token and last.  If done, token and last are new. */
inline registry_renew(needed, window)
{
	meanwhile();
	look_at_clock();
#ifdef BUG_NO_TOKEN
	done = true;
#else
	done = row[worker].token == token && row[worker].until == last;
#endif
	done = done && MAX(clk, needed) + window <= LAST;
	if
	:: done ->
		first = row[worker].until + 1;
		last = MAX(row[worker].until, MAX(clk, needed) + window);
		last_token++;
		token = last_token;
		SET_ROW(worker, last, row[worker].holder, token);
		row[worker].seen = MAX(row[worker].seen, clk);
		granted[worker] = granted[worker] | (UP_TO(last) & ~UP_TO(first - 1));
		first = 0
	:: else
	fi
}

/* With worker and token: hand back what is above last. */
inline registry_release()
{
	meanwhile();
	if
#ifdef BUG_RELEASE_WITHOUT_TOKEN
	:: true ->
#else
	:: row[worker].token == token ->
#endif
		SET_ROW(worker, MIN(row[worker].until, last), row[worker].holder, 0);
		row[worker].seen = MAX(row[worker].seen, clk);
		granted[worker] = granted[worker] & UP_TO(last);
		P2_granted = (issued[worker] & ~UP_TO(last)) == 0;
		assert(P2_granted)
	:: else
	fi
}

/* ---- the keeper ---- */

#ifdef BUG_NO_KNOWN
#define KNOWN		0
#else
#define KNOWN		known[worker]
#endif

#ifdef BUG_RENEWED_IN_COPY
#define OTHER_REGISTRY	false
#else
#define OTHER_REGISTRY	copied
#endif

/* uidgen_ticket_close() */
inline close()
{
#ifdef BUG_POSITION_READ_BEFORE_ERA_ODD
	at = position;
#endif
#ifndef BUG_ERA_NOT_ODD
	era = era | 1;
#endif
#ifndef BUG_LIMIT_KEPT
	limit = 0;
#endif
#ifndef BUG_POSITION_READ_BEFORE_ERA_ODD
	at = position;
#endif
}

/* uidgen_ticket_open(); `now` is where the clock was, floor how far it has been. */
inline open()
{
#ifdef BUG_NO_FLOOR
	at = first;
#else
	atomic { at = (back || at < first -> first : at) };
#endif
	position = at;
	atomic { clock_high = floor; mark = era / 2 + 1 };
#ifndef BUG_OPENED_AFTER_EVEN
	opened = (at > now -> at : 0);
#endif
#ifndef BUG_CONSTANT_AFTER_EVEN
	constant = worker;
#endif
	limit = last;
	atomic {
		era = (era | 1) + 1;
		calm = calm && at <= now;
		if
		:: back && real -> order++; returned = 0; peak = MAX(clk, floor)
		:: else
		fi
	};
#ifdef BUG_OPENED_AFTER_EVEN
	opened = (at > now -> at : 0);
#endif
#ifdef BUG_CONSTANT_AFTER_EVEN
	constant = worker;
#endif
}

/* How far the clock has been when an era begins, as far as the registry knows.
 * registry_acquire() left in p what the row tells. */
inline clock_known()
{
	now = clk;
	floor = MAX(clk, MIN(p, clk + LARGE));
	peak = MAX(peak, floor);
	p = 0
}

#if RELOADS
inline write_bounds()
{
	ahead = IF_LOW(0, AHEAD);
	burst = IF_LOW(0, BURST);
	opened_room = room;
	large_step = LARGE
}

/* uidgen_ticket_bound() */
#define KEPT_ROOM	(opened > now + CRASH -> MAX(ROOM, opened_room) : ROOM)

inline bound()
{
	floor = clock_high;
	atomic {
		room = KEPT_ROOM;
		p = ALLOWED(now, floor, ahead, burst, opened_room);
		done = era % 2 == 0 && floor <= now + large_step &&
			(floor > now + LARGE || ALLOWED(now, floor, IF_LOW(0, AHEAD), IF_LOW(0, BURST), room) < p);
		if
		:: floor > now + LARGE -> floor = now
		:: else
		fi
	};
	if
	:: done ->
#ifdef BUG_REOPENED_WITHOUT_CLOSE
		at = position;
#else
		close();
#endif
		atomic {
			p = MIN(at, p);
			room = MAX(room, MAX(p, now) - now);
			p = MAX(p - MIN(p, IF_LOW(0, BURST)), opened)
		}
	:: else
	fi;
	write_bounds();
	if
	:: done ->
		position = at;
		atomic { clock_high = floor; mark = era / 2 + 1 };
		opened = (p > now -> p : 0);
		limit = held_until;
		atomic {
			p = 0;
			era = (era | 1) + 1;
			calm = calm && at <= now;
			peak = MAX(clk, floor)
		}
	:: else
	fi
}
#endif

inline hold()
{
	held = true; released = false; copied = false; held_worker = worker; held_token = token; held_until = last; known[worker] = last
}

inline forget_attempt()
{
	atomic {
		my_boot = boot; worker = 0; token = 0; first = 0; last = 0; at = 0; floor = 0; avoid = 0;
		back = false; real = false; same = false; done = false; i = 0; p = 0; now = 0
#if RELOADS
		; room = 0
#endif
	}
}

proctype keeper()
{
	byte my_boot, worker, token, first, last, at, floor, avoid, i, p, now;
	bool back, real, same, done;
#if RELOADS
	byte room;
#endif

end:	do
	:: {
		atomic {
			attempts < ATTEMPTS -> attempts++;
			avoid = NONE; worker = held_worker; token = held_token; last = held_until;
#if COPIES
			if
			:: held && copies < COPIES -> copy()
			:: true
			fi;
#endif
			if
			:: held && releases < RELEASES -> releases++; goto release
#if RELOADS
			:: reloads < RELOADS -> attempts--; reloads++; goto reload
#endif
			:: true
			fi
		};

		at = clock_high;	/* step_back() */
		atomic {
			look_at_clock();
			now = clk;
			back = at > now + LARGE;
			real = peak > now + LARGE;
			P4_ordered = !back || real;
			assert(P4_ordered);
			now = 0
		};

		atomic {
			if
			:: back || !held || OTHER_REGISTRY -> goto acquire
			:: !back && held && !OTHER_REGISTRY && leaps < LEAPS -> leaps++; avoid = worker; goto acquire
			:: !back && held && !OTHER_REGISTRY
			fi
		};

		at = position;		/* renew */
#ifdef BUG_PUBLISH_BEFORE_COMMIT
		limit = MAX(last, MAX(clk, at + 1) + WINDOW);
#endif
		atomic {
			registry_renew(at + 1, WINDOW);
			if
			:: !done -> goto acquire		/* the row was taken */
			:: done
			:: done && MAY_END -> goto over		/* the keeper ends here */
			:: done && crashes < CRASHES -> crash(); goto over
			fi
		};
		atomic { !locked -> locked = true; hold() };
		limit = last;
		locked = false;
		goto over;

acquire:	/* A floor that is out of date by now does no harm: see open(). */
		atomic {
			same = released && !back && avoid == NONE && !copied;
			released = false;
			floor = (back -> 0 : position)
		};
		atomic {
			registry_acquire();
			if
			:: worker == NONE -> goto over
			:: worker != NONE && first > KNOWN -> goto publish
			:: worker != NONE && first <= KNOWN
			:: worker != NONE && MAY_END -> goto over	/* the keeper ends here */
			:: worker != NONE && crashes < CRASHES -> crash(); goto over
			fi
		};
		/* The registry knows less than we do: teach it. */
		atomic {
			registry_renew(KNOWN, 0);
			if
			:: done
			:: else -> goto over
			fi
		};
		atomic {
			registry_acquire();
			if
			:: worker != NONE && first > KNOWN -> goto publish
			:: else -> goto over
			fi
		};

publish:	atomic { !locked -> locked = true; hold(); look_at_clock(); clock_known() };
		close();
		if
		:: back
		:: !back -> floor = MAX(floor, clock_high)
		fi;
#if RELOADS
		room = KEPT_ROOM;
		write_bounds();
#endif
		open();
		locked = false;
		goto over;

release:	atomic { !locked -> locked = true; held = false; released = true };
#ifdef BUG_RELEASE_BEFORE_ERA_ODD
		at = position;
		locked = false;
		atomic { last = MIN(at - 1, last); registry_release() };
		close();
		goto over;
#endif
		close();
		locked = false;
		atomic {
			last = MIN(at - 1, last);
			if
			:: !copied -> registry_release();
				known[worker] = last;
				if
				:: true
				:: crashes < CRASHES -> crash()
				fi
			:: true					/* it fails */
			fi;
			goto over
		};

#if RELOADS
reload:		atomic { !locked -> locked = true; low = !low; look_at_clock(); now = clk };
		bound();
		locked = false;
		goto over;
#endif

over:		forget_attempt()
	} unless { boot != my_boot -> forget_attempt() }
	od
}

init
{
	atomic {
		byte n;

		for (n : 1 .. CALLERS) { run caller() }
		run keeper();
#ifdef BUG_TWO_KEEPERS
		run keeper()
#endif
	}
}
