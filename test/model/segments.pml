/*
 * segments.pml
 *	  A model for the checker Spin of one segment at a registry: nodes fetch ranges of it
 *	  and hand back what they have not used, and the registry loses what was committed
 *	  last, once or more often.
 *
 * What is modelled:
 *
 *	- two servers with a row each; calls go to the one that leads.  The other one copies
 *	  the row at any time, and takes over: then it is in another history, on the next
 *	  timeline.  With SWAPS the former one lives on, and answers calls as well;
 *	- the row: the last value that was given, its version and history, and its reigns.  Each
 *	  call is one step, as it locks the row.  A call that finds another history begins a reign
 *	  above last + GAP; one that finds another start of the server, one that leaves
 *	  nothing out.  SNAPSHOTS are copies of the row that are started without another history;
 *	- nodes: they fetch ranges of different lengths, and say which number is the highest
 *	  that they were told of, and which course the row had taken then; an answer may be lost, and that of an earlier
 *	  timeline than a node has seen is not used.  They hand back the end of the range
 *	  that they got last.  A release may run once more, or late, as a call that was given up
 *	  does behind a pooler;
 *	- the owner, who raises a segment that was stopped above all that was ever given.
 *
 * What is assumed, besides: a failover loses at most MAXLOST numbers that were given; what was
 * left out does not count.  A row remembers each of its reigns (the real one, the last 32).  With
 * CONFIRMED there is one standby, and what takes over is that one.
 *
 * What a node has drawn of a range, and how its buffers are used, is in switch.pml.
 *
 * What is checked:
 *	P1_unique	No number is given to two nodes, unless the first one has handed it back; nor to one
 *				node twice.  With one failover; with more, if CONFIRMED.
 *	P1_noticed	Who is given numbers has none that others were given, as far as the row has it:
 *				so a node that knows of numbers which came twice is the last to be told of a number.
 *	P1_stopped	Once a node has told what a row cannot explain, neither that row nor a copy
 *				gives numbers, until its owner has raised it.
 *	P4_order	A node is given numbers above all that it was told of.
 *
 * Rules can be broken (-DBUG_...).  LIMIT_... break none: they show what is not promised, that the gap
 * must be no less than what a failover can lose, and that two of them repeat numbers.
 * check.sh has the searches.
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef CALLS
#define CALLS 4					/* that fetch */
#endif
#ifndef FAILOVERS
#define FAILOVERS 0
#endif
#ifndef SNAPSHOTS
#define SNAPSHOTS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef SWAPS
#define SWAPS 0					/* times that the other server leads without a failover */
#endif
#ifndef RAISES
#define RAISES 0
#endif
#ifndef LOST
#define LOST 0					/* answers */
#endif
#ifndef RELEASES
#define RELEASES 0
#endif
#ifndef RESENDS
#define RESENDS 0				/* releases that run once more, or late */
#endif
#ifndef STEP_MAX
#define STEP_MAX 2
#endif
#ifndef GAP
#define GAP 5
#endif
#ifndef MAXLOST
#define MAXLOST 5
#endif
#if defined(CONFIRMED) || defined(BUG_LIMIT_TWO_FAILOVERS) || (FAILOVERS < 2 && !SNAPSHOTS && !SWAPS)
#define UNIQUE
#endif
#define END 30					/* numbers that the sets have room for */
#define REIGNS 10
#define BITS(f, u)	(((1 << ((u) + 1)) - 1) & ~((1 << (f)) - 1))
#define MAX(a, b)	((a) > (b) -> (a) : (b))

typedef Server {
	byte history, timeline, start;	/* of the server */
	/* ---- and what its row has ---- */
	byte last, version, row_history, row_start;
	byte reign;					/* the present one */
	short reigns;				/* set */
	byte floor;
	byte jumped;				/* numbers that were left out */
	bool stopped, unconfirmed;
	bool noticed;				/* as it ought to be stopped */
	int given[NODES]			/* sets of numbers, by whom they were given to */
}
Server server[2];
byte lead;						/* which one is asked; the other is a standby or a copy */
bool other_lives;

typedef Node {
	byte first, last;			/* the range that it got last; 0: none */
	byte version;				/* of the row then */
	short reigns;				/* set: those that the row had then */
	byte highest;				/* number that it was told of */
	byte timeline;				/* latest that it has seen */
	byte sent_version, sent_unused;	/* of its last release */
	int mine					/* set: what it was told and has not handed back */
}
Node node[NODES];

/* Of each reign: where it began, and where the one before ended; and whether it goes on, since a
 * server's start or the owner began it, and no other history. */
byte begins[REIGNS], ends[REIGNS];
short goes_on;
byte histories = 1, starts = 1, reigns = 1;
byte versions = 1;				/* the next version is never one that was: as if at random */
byte calls, failovers, snapshots, restarts, swaps, raises, lost, releases, resends;
bool P1_unique = true, P1_noticed = true, P1_stopped = true, P4_order = true;

#define R server[lead]
#define O server[1 - lead]

inline renew_version()
{
	versions++;
	R.version = versions
}

inline begin_reign(base, soft)
{
	reigns++;
	ends[reigns] = R.last;
	begins[reigns] = base;
	R.reign = reigns;
	R.reigns = R.reigns | (1 << reigns);
	goes_on = (goes_on & ~(1 << reigns)) | (soft << reigns);
	R.jumped = R.jumped + base - R.last;
	R.last = base
}

inline jump()
{
	begin_reign(R.last + GAP, 0)
}

/* S2, S5: does the row explain what the node knows?  Sets verdict: 0 it does, 1 numbers were lost
 * that are still to be left out, 2 it does not. */
inline judge(n, leapt)
{
	verdict = 0;
	bound = R.last;
	known = R.last;
	others = false;
	which = 0;
	own = END;					/* where the node's course left that reign */
	strange = false;
	/* Down from its last reign: which is the last one that the row has, too? */
	k = REIGNS - 1;
	do
	:: k == 0 || (R.reigns & node[n].reigns & (1 << k)) -> which = k; break
	:: else ->
		if
		:: node[n].reigns & (1 << k) ->
			own = ends[k];
			if
#ifdef BUG_LOST_HISTORY_IS_BELIEVED
			:: false -> skip
#else
			:: !(goes_on & (1 << k)) -> strange = true
#endif
			:: else
			fi
		:: else
		fi;
		k--
	od;
	k = 0;
	if
	:: node[n].highest <= R.floor || node[n].reigns == 0 -> skip
	:: node[n].highest > R.floor && node[n].reigns != 0 && (which == 0 || strange) ->
#ifdef BUG_UNKNOWN_IS_BELIEVED
		skip
#else
		verdict = 2
#endif
	:: else ->
		/* Down from the present reign: the last one found is the first one in time. */
		k = R.reign;
		e = R.last;				/* where reign k ended, or is now */
		do
		:: k <= which -> break
		:: else ->
			if
			:: R.reigns & (1 << k) ->
				if
				:: e > begins[k] -> bound = begins[k]; others = true
				:: else
				fi;
				e = ends[k]
			:: else
			fi;
			k--
		od;
		known = e;
#ifndef BUG_PARTED_AT_END
		/* The row has given more in the reign in which they parted. */
		if
		:: own < e -> bound = own; others = true
		:: else
		fi
#endif
	fi;
	if
	:: verdict == 0 && node[n].highest > R.floor && node[n].highest > bound ->
#ifdef BUG_FORMER_IS_BELIEVED
		if
		:: others -> skip
		:: else ->
#endif
		if
		:: others || leapt || node[n].highest > known + GAP -> verdict = 2
		:: else -> verdict = 1
		fi
#ifdef BUG_FORMER_IS_BELIEVED
		fi
#endif
	:: else
	fi;
	k = 0; e = 0; which = 0; bound = 0; known = 0; own = 0; others = false; strange = false
}

inline fetch(n)
{
	/* Nothing that is to be undone is written before it is judged. */
	save_last = R.last; save_reign = R.reign; save_reigns = R.reigns; save_jumped = R.jumped;
	save_version = R.version; save_count = reigns;
	leapt = false;
	if
	:: R.row_history != R.history ->
		leapt = true;
		jump()
#ifndef BUG_NO_REIGN_AT_START
	:: R.row_history == R.history && R.row_start != R.start -> begin_reign(R.last, 1)
#endif
	:: else
	fi;
	judge(n, leapt);
	if
	:: verdict == 1 -> jump()
	:: else
	fi;
	if
	:: verdict == 2 || R.stopped ->
		reigns = save_count;
		R.last = save_last; R.reign = save_reign; R.reigns = save_reigns; R.jumped = save_jumped;
		R.noticed = true;
#ifdef BUG_STOP_NOT_WRITTEN
		R.version = save_version
#else
		R.stopped = true;
		renew_version()
#endif
	:: else ->
#ifdef CONFIRMED
		if
		:: leapt ->
			R.unconfirmed = true;
#ifndef BUG_UNCONFIRMED_KEEPS_VERSION
			renew_version()
#endif
		:: else ->
			if
#ifdef BUG_CONFIRMED_BY_ITSELF
			:: R.unconfirmed -> R.unconfirmed = false
#else
			:: R.unconfirmed && (failovers == FAILOVERS || (O.reigns & (1 << R.reign))) -> R.unconfirmed = false
#endif
			:: else
			fi
		fi;
#endif
		R.row_history = R.history;
		R.row_start = R.start;
		select(s : 1 .. STEP_MAX);
		if
		:: !R.unconfirmed && R.last + s <= END &&
			(failovers == FAILOVERS || R.last + s - R.jumped - (O.last - O.jumped) <= MAXLOST) ->
			f = R.last + 1;
			R.last = R.last + s;
#ifdef BUG_JUMP_KEEPS_VERSION
			if
			:: R.reign != save_reign
			:: else -> renew_version()
			fi;
#else
			renew_version();
#endif
			P1_stopped = !R.noticed;
			assert(P1_stopped);
			R.given[n] = R.given[n] | BITS(f, R.last);
			if
			:: R.timeline < node[n].timeline	/* it does not use the answer */
			:: R.timeline >= node[n].timeline && lost < LOST -> lost++
			:: R.timeline >= node[n].timeline ->
				P4_order = f > node[n].highest;
				assert(P4_order);
				for (k : 0 .. NODES - 1) {
					if
					:: k != n ->
#ifdef UNIQUE
						P1_unique = P1_unique && (node[k].mine & BITS(f, R.last)) == 0;
#endif
						P1_noticed = P1_noticed && (R.given[k] & node[n].mine & ~BITS(0, R.floor)) == 0
					:: else
					fi
				}
				k = 0;
				assert(P1_unique);
				assert(P1_noticed);
				node[n].mine = node[n].mine | BITS(f, R.last);
				node[n].first = f;
				node[n].last = R.last;
				node[n].highest = R.last;
				node[n].timeline = R.timeline;
				node[n].reigns = R.reigns;
#ifdef BUG_RELEASE_BY_VALUE
				node[n].version = R.last
#else
				node[n].version = R.version
#endif
			fi
		:: else
		fi
	fi;
	verdict = 0; leapt = false;
	save_last = 0; save_reign = 0; save_reigns = 0; save_jumped = 0; save_version = 0; save_count = 0
}

inline release(proof, from)
{
	if
#ifdef BUG_RELEASE_BY_VALUE
	:: R.last == proof && R.row_history == R.history ->
#else
	:: R.version == proof && R.row_history == R.history ->
#endif
		R.last = from - 1;
		renew_version()
	:: else
	fi
}

inline copy_row()
{
	O.last = R.last;
	O.version = R.version;
	O.row_history = R.row_history;
	O.row_start = R.row_start;
	O.reign = R.reign;
	O.reigns = R.reigns;
	O.floor = R.floor;
	O.jumped = R.jumped;
	O.stopped = R.stopped;
	O.unconfirmed = R.unconfirmed;
	O.noticed = R.noticed;
	O.timeline = R.timeline;
	O.history = R.history;
	O.start = R.start;
	for (k : 0 .. NODES - 1) {
		O.given[k] = R.given[k]
	}
	k = 0
}

init {
	byte n, s, f, k, e, which, own, bound, known, verdict, top;
	bool others, strange, leapt;
	byte save_last, save_reign, save_jumped, save_version, save_count;
	short save_reigns;

	atomic {
		R.version = 1;
		R.history = 1; R.timeline = 1; R.start = 1;
		R.row_history = 1; R.row_start = 1;
		R.reign = 1;
		R.reigns = 2;
		copy_row()
	}
end: do
	:: atomic {
			calls < CALLS -> calls++;
			select(n : 0 .. NODES - 1);
			fetch(n);
			n = 0; s = 0; f = 0 }
	:: atomic {
			releases < RELEASES -> releases++;
			select(n : 0 .. NODES - 1);
			if
			:: node[n].first > 0 ->
				select(s : 0 .. 1);		/* so many numbers are used */
				f = node[n].first + s;
				if
				:: f <= node[n].last ->
					node[n].mine = node[n].mine & ~BITS(f, node[n].last);
					/* nor does any row have it as the node's, whatever comes of the call */
					server[0].given[n] = server[0].given[n] & ~BITS(f, node[n].last);
					server[1].given[n] = server[1].given[n] & ~BITS(f, node[n].last);
					node[n].sent_version = node[n].version;
					node[n].sent_unused = f;
					node[n].highest = f - 1;
					release(node[n].version, f)
				:: else
				fi;
				node[n].first = 0; node[n].last = 0; node[n].version = 0
			:: else
			fi;
			n = 0; s = 0; f = 0 }
	:: atomic {
			resends < RESENDS -> resends++;
			select(n : 0 .. NODES - 1);
			if
			:: node[n].sent_version > 0 -> release(node[n].sent_version, node[n].sent_unused)
			:: else
			fi;
			n = 0 }
#if FAILOVERS || SNAPSHOTS
	:: atomic {
			!other_lives && (failovers < FAILOVERS || snapshots < SNAPSHOTS) ->
			copy_row() }
#endif
#if FAILOVERS
	:: atomic {
			!other_lives && failovers < FAILOVERS -> failovers++;
			lead = 1 - lead;
			histories++; starts++;
			R.history = histories;
			R.start = starts;
			R.timeline++;
			if
			:: swaps < SWAPS -> other_lives = true
			:: true -> copy_row()
			fi }
#endif
#if SNAPSHOTS
	:: atomic {
			!other_lives && snapshots < SNAPSHOTS -> snapshots++;
			lead = 1 - lead;
			starts++;
			R.start = starts;
			if
			:: swaps < SWAPS -> other_lives = true
			:: true -> copy_row()
			fi }
#endif
#if RESTARTS
	:: atomic {
			restarts < RESTARTS -> restarts++;
			starts++;
			R.start = starts }
#endif
#if SWAPS
	:: atomic {
			other_lives && swaps < SWAPS -> swaps++;
			lead = 1 - lead }
#endif
#if RAISES
	:: atomic {
			raises < RAISES && R.stopped -> raises++;
			top = R.last;
			for (n : 0 .. NODES - 1) {
				do
				:: top < END && (node[n].mine >> (top + 1)) != 0 -> top++
				:: else -> break
				od
			}
			begin_reign(top, 1);
			renew_version();
			R.floor = top;
			R.stopped = false;
			R.unconfirmed = false;
			R.noticed = false;
			n = 0; top = 0 }
#endif
	od
}
