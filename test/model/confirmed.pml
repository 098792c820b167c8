/*
 * confirmed.pml
 *	  A model for the checker Spin of segments_confirmed: which standbys have to know of a
 *	  failover before numbers are given out, so that whoever takes over next knows of it, too.
 *
 * What is modelled:
 *
 *	- SERVERS of a registry: one leads, and others follow it, are cut off, or are not there.  One that
 *	  follows has what the leader had at some time, or all of it.  Any that is not the leader, and was not
 *	  one since it last was a copy, may take over, cut off or not; with CONSULTED, no other one of so many knows of more;
 *	- a segment: the last number that was given, the history in which it was, and whether the history is not
 *	  confirmed so far.  The first call in another history leaves out the gap and gives nothing; a later
 *	  one gives a number if enough standbys have that.  What is enough: NEEDED standbys; or, if that is 0, all
 *	  that follow and all that have followed, as far as calls have noted that; where they were noted in a former
 *	  history, but for one, which is the leader itself.  Once they have confirmed, the names begin anew.
 *
 * What is assumed: a failover loses at most GAP numbers of the last history that the new leader knows; and where NEEDED
 * is 0, each standby was noted by a call before it takes over, and what was noted last is known to all that follow.
 *
 * What is checked: P1_unique, no number is given twice.
 *
 * Rules can be broken (-DBUG_...).  LIMIT_... breaks none: it shows that NEEDED + CONSULTED has to be more than the number of
 * servers that can take over; and, where NEEDED is 0, what comes of a standby that no call had noted, and of one that came while
 * another one was cut off, which takes over before.  check.sh has the searches.
 */
#ifndef SERVERS
#define SERVERS 3
#endif
#ifndef CALLS
#define CALLS 6
#endif
#ifndef FAILOVERS
#define FAILOVERS 2
#endif
#ifndef NEEDED
#define NEEDED 0
#endif
#ifndef CONSULTED
#define CONSULTED 1
#endif
#ifndef GAP
#define GAP 1
#endif
/* With UNNOTED the last one came after the last call. */
#ifdef UNNOTED
#define UNNOTED_LEADS true
#else
#define UNNOTED_LEADS false
#endif
#define BIT(x)	(1 << (x))

typedef Server {
	byte place;					/* in the log: calls that it knows of, and begun histories */
	byte row_history, last;
	bool unconfirmed;
	byte known;					/* set: the standbys that were noted */
	byte noted_in				/* in which history */
}
Server server[SERVERS];
byte lead, history = 1;
byte following;					/* set */
byte gone;						/* set: former leaders, which come back as copies only */
byte highest[8];				/* of each history: the last number that was given in it */
int given;						/* set of numbers */
byte calls, failovers;
bool P1_unique = true;

#define R server[lead]

inline copy(o)
{
	server[o].place = R.place;
	server[o].row_history = R.row_history;
	server[o].last = R.last;
	server[o].unconfirmed = R.unconfirmed;
	server[o].known = R.known;
	server[o].noted_in = R.noted_in
}

/* How many standbys that follow know of the leader's history, and are there other ones? */
inline look()
{
	n = 0;
	missing = 0;
	lacks = false;
	for (k : 0 .. SERVERS - 1) {
		if
		:: k != lead && (following & BIT(k)) ->
			if
			:: server[k].row_history == history -> n++
			:: else -> lacks = true
			fi
		:: k == lead || !(following & BIT(k)) ->
			if
			:: R.known & BIT(k) -> missing++
			:: else
			fi
		fi
	}
	k = 0
}

inline note(begins)
{
	if
	:: begins && R.noted_in != history ->
		R.known = following;
		R.noted_in = history
	:: else -> R.known = R.known | following
	fi;
	for (k : 0 .. SERVERS - 1) {
		if
		:: following & BIT(k) ->
			server[k].known = R.known;
			server[k].noted_in = R.noted_in
		:: else
		fi
	}
	k = 0
}

inline call()
{
	R.place++;
	if
	:: R.row_history != history ->
		R.last = R.last + GAP;
		R.row_history = history;
		R.unconfirmed = true
	:: else ->
		if
		:: R.unconfirmed ->
			look();
			if
#if NEEDED
			:: n >= NEEDED ->
#else
#ifdef BUG_ANY_STANDBY
			:: n > 0 ->
#else
#ifdef BUG_FOLLOWERS_ALONE
			:: n > 0 && !lacks ->
#else
#ifdef BUG_FORMER_ONES_ALONE
			:: n > 0 && missing <= (R.noted_in == history -> 0 : 1) ->
#else
			:: n > 0 && !lacks && missing <= (R.noted_in == history -> 0 : 1) ->
#endif
#endif
#endif
#endif
				R.unconfirmed = false;
				note(true)
			:: else -> note(false)
			fi
		:: else -> note(false)
		fi;
		if
		:: !R.unconfirmed ->
			R.last++;
			P1_unique = (given & BIT(R.last)) == 0;
			assert(P1_unique);
			given = given | BIT(R.last);
			highest[history] = R.last
		:: else
		fi
	fi;
	n = 0; missing = 0; lacks = false
}

init {
	byte o, k, n, missing, ahead;
	bool lacks;

	atomic {
		R.row_history = 1;
		R.noted_in = 1;
		following = BIT(SERVERS) - 2;
		R.known = following;
#ifdef UNNOTED
		R.known = R.known & ~BIT(SERVERS - 1);
#endif
		for (o : 1 .. SERVERS - 1) {
			copy(o)
		}
		o = 0
	}
end: do
	:: atomic { calls < CALLS -> calls++; call() }
	/* A standby replays the log. */
	:: atomic {
			select(o : 0 .. SERVERS - 1);
			if
			:: o != lead && (following & BIT(o)) -> copy(o)
			:: else
			fi;
			o = 0 }
	:: atomic {
			select(o : 0 .. SERVERS - 1);
			following = following & ~BIT(o);
			o = 0 }
	/* One is made anew, or follows the leader if it has nothing that the leader has not. */
	:: atomic {
			select(o : 0 .. SERVERS - 1);
			if
			:: o != lead && !(following & BIT(o)) ->
				copy(o);
				gone = gone & ~BIT(o);
				following = following | BIT(o)
			:: else
			fi;
			o = 0 }
	:: atomic {
			failovers < FAILOVERS -> failovers++;
			gone = gone | BIT(lead);
			select(o : 0 .. SERVERS - 1);
			ahead = 0;
			for (k : 0 .. SERVERS - 1) {
				if
				:: !(gone & BIT(k)) && k != o && server[k].row_history > server[o].row_history -> ahead++
				:: gone & BIT(k) -> n++
				:: else
				fi
			}
			k = 0;
			/* Of those that are there others may know of more, as many as are not asked. */
			if
			:: !(gone & BIT(o)) && ahead + n + CONSULTED <= SERVERS &&
				highest[server[o].row_history] - server[o].last <= GAP &&
				(NEEDED || (server[o].known & BIT(o)) || UNNOTED_LEADS) ->
				lead = o;
				following = 0;
				history++
			:: else -> gone = gone & ~BIT(lead); failovers--
			fi;
			ahead = 0; n = 0; o = 0 }
	od
}
