/*
 * segments.pml
 *	  A model for the checker Spin of one segment at a registry: nodes fetch ranges of it
 *	  and hand back what they have not used, and the registry loses what was committed
 *	  last.
 *
 * What is modelled:
 *
 *	- the registry's row: the last value that was given, its version and history; each
 *	  call is one step, as it locks the row.  A call that finds another history first
 *	  raises the last value by GAP, which renews the version;
 *	- nodes: they fetch ranges of different lengths, and say which number is the highest
 *	  that they were told of; an answer may be lost; they hand back the end of the range
 *	  that they got last.  A release may run once more, or late, as a call that was given up
 *	  does behind a pooler;
 *	- a standby, which copies the row at any time and takes over.  What is lost then is
 *	  at most MAXLOST numbers.
 *
 * What a node has drawn of a range, and how its buffers are used, is in switch.pml.
 *
 * What is checked: P1_unique: no number is given to two nodes, unless the first one has
 * handed it back; nor to one node twice.
 *
 * Rules can be broken (-DBUG_...).  LIMIT_GAP_TOO_SMALL breaks none: it shows that the gap
 * must be no less than what a failover can lose.  check.sh has the searches.
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
#define END 29					/* numbers that the sets have room for */
#define BITS(f, u)	(((1 << ((u) + 1)) - 1) & ~((1 << (f)) - 1))
#define MAX(a, b)	((a) > (b) -> (a) : (b))

typedef Row {
	byte last, version, history
}
Row registry, standby;

typedef Node {
	byte first, last;			/* the range that it got last; 0: none */
	byte version;				/* of the row then */
	byte highest;				/* number that it was told of */
	byte sent_version, sent_unused;	/* of its last release */
}
Node node[NODES];

byte history = 1, versions = 1;	/* the next version is never one that was: as if at random */
byte calls, failovers, lost, releases, resends;
int given;						/* set of numbers */
bool P1_unique = true;

inline renew_version()
{
	versions++;
	registry.version = versions
}

inline notice_history()
{
	if
	:: registry.history != history ->
		registry.history = history;
		registry.last = registry.last + GAP;
#ifndef BUG_JUMP_KEEPS_VERSION
		renew_version()
#endif
	:: else
	fi
}

inline fetch(n)
{
	notice_history();
	registry.last = MAX(registry.last, node[n].highest);
	select(s : 1 .. STEP_MAX);
	if
	:: registry.last + s <= END &&
		(failovers == FAILOVERS || registry.last + s - standby.last <= MAXLOST) ->
		f = registry.last + 1;
		registry.last = registry.last + s;
		renew_version();
		if
		:: P1_unique = (given & BITS(f, registry.last)) == 0;
			assert(P1_unique);
			given = given | BITS(f, registry.last);
			node[n].first = f;
			node[n].last = registry.last;
			node[n].highest = MAX(node[n].highest, registry.last);
#ifdef BUG_RELEASE_BY_VALUE
			node[n].version = registry.last
#else
			node[n].version = registry.version
#endif
		:: lost < LOST -> lost++	/* the answer is: nobody has the numbers */
		fi
	:: else
	fi
}

inline release(proof, from)
{
	notice_history();
	if
#ifdef BUG_RELEASE_BY_VALUE
	:: registry.last == proof ->
#else
	:: registry.version == proof ->
#endif
		registry.last = from - 1;
		renew_version()
	:: else
	fi
}

init {
	byte n, s, f;

	registry.version = 1;
	registry.history = 1;
	standby.version = 1;
	standby.history = 1;
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
					given = given & ~BITS(f, node[n].last);
					node[n].sent_version = node[n].version;
					node[n].sent_unused = f;
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
#if FAILOVERS
	:: atomic {
			failovers < FAILOVERS ->
			standby.last = registry.last;
			standby.version = registry.version;
			standby.history = registry.history }
	:: atomic {
			failovers < FAILOVERS -> failovers++;
			history++;
			registry.last = standby.last;
			registry.version = standby.version;
			registry.history = standby.history }
#endif
	od
}
