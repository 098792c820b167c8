/*
 * eras.pml
 *	  A model for the checker Spin of one word in shared memory: clock_high, in which callers note the
 *	  clock, while the keeper begins one era after the other.
 *
 * A caller may be stopped for hours between any two of its steps, and the clock that it has read may be
 * the one because of which the era ended.  What it writes then must not count in another era: ids would
 * follow a clock that was wrong.  generator.pml has this for a few eras, among all the rest, with a mark
 * that tells each era from all others.
 *
 * What is modelled, each access to a shared word by itself:
 *
 *	- callers: uidgen_ticket_begin(), the look at the clock, and uidgen_ticket_note_clock();
 *	- the keeper: uidgen_ticket_close() and uidgen_ticket_open(), as far as these words are concerned;
 *	- the clock, which anybody may set to anything at any time, MOVES times.
 *
 * The mark has MARKS values, where the real one has 2^20: so many eras may pass while a caller is stopped,
 * and one less than that are let pass here.  A real keeper takes hours for 2^20 eras, at the least.
 *
 * What is checked: P5_near: in an era, the highest tick of the clock that is noted is none that the clock
 * has not shown in that era.
 *
 * Each rule can be broken (-DBUG_...); check.sh has the searches.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef LOOKS
#define LOOKS 2			/* at the clock, of each caller */
#endif
#ifndef MOVES
#define MOVES 3			/* of the clock */
#endif
#ifndef MARKS
#define MARKS 4
#endif
#ifndef ERAS
#define ERAS (MARKS - 1)	/* that begin after the first one */
#endif
#define LAST 3			/* the clock's highest tick */
#define MAX(a, b)	((a) > (b) -> (a) : (b))
#ifdef BUG_NO_MARK
#define MARK(e)		0
#else
#define MARK(e)		(((e) / 2) % MARKS)
#endif

byte clock = 1;
byte moves = 0;
byte era = 2;
byte base = 1;
byte noted = 0;			/* clock_high: ticks since base, */
byte mark = MARK(2);	/* and the mark; one word */
byte shown = 1;			/* the highest tick of the clock in this era */
bool P5_near = true;

inline check()
{
	P5_near = (era % 2 == 1 || base + noted <= shown);
	assert(P5_near)
}

proctype caller()
{
	byte looks = 0;
	byte e, c, b, high, high_mark, note;

	do
	:: looks < LOOKS ->
		looks++;
#ifdef BUG_BASE_BEFORE_ERA
		b = base;
#endif
#ifdef BUG_CLOCK_BEFORE_ERA
		c = clock;
#endif
		e = era;
#ifndef BUG_CLOCK_BEFORE_ERA
		c = clock;
#endif
#ifndef BUG_BASE_BEFORE_ERA
		b = base;
#endif
		note = (c > b -> c - b : 0);
		atomic { high = noted; high_mark = mark };
		do
		:: atomic {
				high_mark == MARK(e) && high < note ->
				if
#ifdef BUG_NOTED_BY_WRITE
				:: true -> noted = note; mark = MARK(e); check(); break
#else
				:: high == noted && high_mark == mark -> noted = note; check(); break
				:: else -> high = noted; high_mark = mark
#endif
				fi
			}
		:: else -> break
		od
	:: else -> break
	od
}

/* A new base may be in front of, or behind, the old word; nobody is in an era then. */
proctype keeper()
{
	byte eras = 0;
	byte now;

	do
	:: eras < ERAS ->
		eras++;
		era++;
		now = clock;
		base = now;
		atomic { noted = 0; mark = MARK(era + 1) };
		atomic { era++; shown = MAX(clock, base); check() }
	:: else -> break
	od
}

proctype time()
{
end:	do
	:: atomic {
			moves < MOVES ->
			moves++;
			if
			:: clock = 0
			:: clock = 1
			:: clock = LAST
			fi;
			shown = MAX(shown, clock)
		}
	od
}

init
{
	atomic {
		byte i = 0;

		do
		:: i < CALLERS -> run caller(); i++
		:: else -> break
		od;
		run keeper();
		run time()
	}
}
