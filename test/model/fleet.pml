/*
 * fleet.pml
 *	  A model for the checker Spin of many nodes that get their grants from one shared
 *	  registry, which may go back to what a standby knows.
 *
 * generator.pml has the callers and the keeper of one server.  Here a node is no more than
 * what it remembers of its grant, since it may issue all ids of it, at any time, however
 * wrong its clock is.  So "the same id twice" is "a tick of a worker id that nodes were told
 * of twice".
 *
 * What is modelled, by the names of the functions in script/registry/30_fleet.sql and 32_fleet_calls.sql:
 *
 *	- node_acquire(): find_claimed_worker(); the history and the evidence, with
 *	  begin_quarantine(); choose_for_node() with is_free(), where any row that it might
 *	  prefer is taken;
 *	- node_renew(), by the clock or by what the node needs; node_release(); node_import();
 *	- what becomes of an answer: it comes; it is lost after the commit; it comes with the
 *	  warning that a synchronous standby has not confirmed; or nobody waits for it, since
 *	  the node has given up the call;
 *	- the node: the tokens that it knows, the row that it had, and whether an answer is
 *	  missing; it acquires, renews and releases whenever it may.  A crash makes it forget all
 *	  but its identity;
 *	- the world: a clock that moves, and is set back; a copy of a node's memory; two nodes of one identity; a
 *	  registry that is restarted, or goes back to what the standby has, which is a copy
 *	  taken at any time, or after each answer (SYNC); with a clock that is behind.  At first
 *	  the standby has nothing: so much has a registry that is made again.
 *
 * The rules are R1 to R7 of docs/design/fleet.md.  The model differs from the SQL in
 * this:
 *
 *	- each call is one step, though others may come in between: the compare-and-swap of
 *	  node_acquire() is shown by test/isolation/specs/fleet.spec;
 *	- begin_quarantine() and free_bounds() add a tick for what rounding takes away; here all
 *	  lengths are whole ticks;
 *	- there are no datacenters, wanted worker ids, policies and end of the layout; neither
 *	  lock_timeout nor not_after: calls may always be late;
 *	- a guest (46_guests.sql) is a node with a LEAD of its own; GUESTS is what else it differs in: what it says is no
 *	  evidence, its claim by an end counts in the quarantine alone, and no row is its own by its identity.  Its
 *	  grants never begin before the clock (no OWN_TIME), so the end of its row is older than the last change only where
 *	  the clock was set back (SET_BACK) after a release;
 *	- what the order of preference and the samples of find_free_worker() are for, is not
 *	  checked: few worker ids in use, and nodes that leave each other alone.
 *	  end_quarantine() is the owner's word that nothing was lost.
 *
 * What is checked: P1_unique.  With KEPT, R6_kept: a node that gets its answers, or loses
 * some, stays with its worker id, unless it has been too long without one.
 *
 * Each rule can be broken: -DBUG_..., named where it is.  check.sh has the searches; the
 * LIMIT_... of its large ones find what the rules do not promise, with none broken.  Measured
 * like those of generator.pml:
 *
 *	- small: 13 worlds of up to 0.7 million states, and 36 searches with a broken rule, each
 *	  found within 0.5 million: 51 s of processor time, of which the compiler takes
 *	  half;
 *	- MODEL=large: 36 worlds of up to 24 million states (13 minutes of processor time, 3 GB), and 6 limits.
 */

#ifndef NODES
#define NODES 3
#endif
#ifndef WORKERS
#define WORKERS 2	/* 1 or 2 */
#endif
#ifndef CALLS
#define CALLS 4		/* on the registry, all together */
#endif
#ifndef MOVES
#define MOVES 2		/* of the clock */
#endif
#ifndef LOST
#define LOST 0		/* answers that are lost after the commit */
#endif
#ifndef UNCONFIRMED
#define UNCONFIRMED 0	/* answers with the warning that the standby has not confirmed */
#endif
#ifndef LATE
#define LATE 0		/* acquisitions that a node has given up, and that run all the same */
#endif
#ifndef RELEASES
#define RELEASES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef IMPORTS
#define IMPORTS 0	/* of ticks that a server was granted by its local registry */
#endif
#ifndef COPIES
#define COPIES 0	/* times that node 1 becomes a copy of node 0's memory */
#endif
#ifndef RESTARTS
#define RESTARTS 0	/* of the registry, which lose nothing */
#endif
#ifndef FAILOVERS
#define FAILOVERS 0	/* of the registry, which lose what the standby lacks */
#endif
#ifndef BEHIND
#define BEHIND 0	/* by so much is the clock of the next server behind */
#endif
#ifndef SET_BACK
#define SET_BACK 0	/* by so much is the clock set back once, before anything is lost */
#endif
#ifndef NOTICED
#define NOTICED 1	/* 0: it goes back without another history */
#endif
#ifndef OWN_TIME
#define OWN_TIME 0	/* by so much may a node's time be behind; beyond LEAD, a grant has ended when it is made */
#endif
#ifndef WINDOW
#define WINDOW 1	/* ticks of a grant after its first */
#endif
#ifndef LEAD
#define LEAD 3		/* max_lead */
#endif
#ifndef SLACK
#define SLACK 0		/* clock_slack */
#endif

#define LAST_TICK	28
#define LAST_CLOCK	14

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define TICKS(f, u)	(((1 << ((u) + 1)) - 1) & ~((1 << (f)) - 1))

/* ---- the registry ---- */

typedef Row {
	byte until;		/* granted_until; 0: there is no row */
	byte token;		/* 0: null */
	byte identity;
	byte modified;
	bit released
}

typedef Registry {
	Row row[2];
	byte history;
	byte quarantine	/* its last tick */
}

Registry registry, standby;
byte history;		/* what registry_history() says */
byte clock = 1 + OWN_TIME;
byte new_token;

/* ---- the nodes ---- */

typedef Node {
	bit holds;
	bit unsure;		/* an answer is missing: what the row's token is, is not known */
	byte worker;	/* what it holds, or had: for a claim */
	byte until;		/* 0: nothing */
	byte token;
	byte proposed;	/* 0: none */
	byte identity
#ifdef KEPT
	;
	byte told		/* when the last answer came */
#endif
}

Node node[NODES];
int told[2];		/* by worker id: the ticks that nodes were told of */

byte calls, moves, lost, unconfirmed, late, releases, crashes, imports, copies, restarts, failovers;
#if SET_BACK > 0
bit is_set_back;
#endif
bool P1_unique = true, R6_kept = true;

#define ME		node[n]
#define ROW(x)	registry.row[x]

/* Synchronously, an answer comes when the standby has it, too. */
inline copy(to, from)
{
	to.history = from.history;
	to.quarantine = from.quarantine;
	for (i : 0 .. 1) {
		to.row[i].until = from.row[i].until;
		to.row[i].token = from.row[i].token;
		to.row[i].identity = from.row[i].identity;
		to.row[i].modified = from.row[i].modified;
		to.row[i].released = from.row[i].released
	}
	i = 0
}

#ifdef SYNC
#define CONFIRM	copy(standby, registry)
#else
#define CONFIRM	skip
#endif

/* ---- the rules ---- */

/*
 * R1 and R2: a row whose end and last change are older, others may have been granted since;
 * R3 looks at both, too.  A release changes a row that is its node's no longer, so that
 * change says nothing of a grant above the row's end.
 */
#define AGED(t)		((t) + LEAD < clock)
#ifdef BUG_BY_END_ALONE
#define FRESH(x)	(!AGED(ROW(x).until))
#else
#define FRESH(x)	(!AGED(ROW(x).until) || !AGED(ROW(x).modified))
#endif
#ifdef BUG_CLAIM_OF_RELEASED
#define CHANGED(x)	(ROW(x).until > 0 && !AGED(ROW(x).modified))
#else
#define CHANGED(x)	(ROW(x).until > 0 && !AGED(ROW(x).modified) && !ROW(x).released)
#endif
#ifdef BUG_RENEW_STALE
#define RENEWABLE(x)	true
#else
#define RENEWABLE(x)	FRESH(x)
#endif
#ifdef BUG_CLAIM_STALE
#define TOKEN_COUNTS(x)	true
#define END_COUNTS(x)	true
#else
#define TOKEN_COUNTS(x)	FRESH(x)
#define END_COUNTS(x)	(!AGED(ME.until) || CHANGED(x))
#endif

#define KNOWN(x)	(ROW(x).token != 0 && (ROW(x).token == ME.token || ROW(x).token == ME.proposed))
#define NAMED(x)	(ROW(x).identity == ME.identity || ME.until > 0 && ME.worker == x)
#define BY_TOKEN(x)	(ROW(x).until > 0 && KNOWN(x) && NAMED(x) && TOKEN_COUNTS(x))
#ifdef GUESTS
/*
 * What a guest says is no evidence, and counts only where the registry knows that it went back; and of its name no row is its own.
 */
#define BELIEVED(x)	(ROW(x).until > 0 && ME.until <= registry.quarantine)
#define EVIDENCE	false
#else
#define BELIEVED(x)	true
#define EVIDENCE	(claims && x == ME.worker && ME.until > MAX(ROW(x).until, registry.quarantine) && ME.until <= clock + LEAD + SLACK)
#endif
#define BY_END(x)	(ROW(x).until < ME.until && ME.worker == x && END_COUNTS(x) && BELIEVED(x))

/* R3 */
#ifdef BUG_FREE_AT_ONCE
#define LONG_AGO(t)	((t) < clock)
#else
#ifdef BUG_FREE_WITHOUT_SLACK
#define LONG_AGO(t)	((t) + LEAD < clock)
#else
#define LONG_AGO(t)	((t) + LEAD + SLACK < clock)
#endif
#endif
#ifdef BUG_FREE_BY_END
#define UNUSED(x)	LONG_AGO(ROW(x).until)
#else
#define UNUSED(x)	(LONG_AGO(ROW(x).until) && LONG_AGO(ROW(x).modified))
#endif
#define FREE(x)		(ROW(x).until == 0 || ROW(x).released || UNUSED(x))
#ifdef GUESTS
#define OWN(x)		false
#else
#define OWN(x)		(ROW(x).until > 0 && ROW(x).identity == ME.identity)
#endif
#define NONE_FREE	(!FREE(0) && (WORKERS == 1 || !FREE(1)))

/* R4 */
#ifdef BUG_NO_CLAMP
#define REACH	LAST_TICK
#else
#define REACH	(clock + LEAD)
#endif
#ifdef BUG_QUARANTINE_BEYOND_CLAMP
#define REACH_OF_NEW	(registry.quarantine >= clock -> LAST_TICK : REACH)
#else
#define REACH_OF_NEW	REACH
#endif

#ifdef BUG_IMPORT_BEYOND_CLAMP
#define IMPORT_REACH	(clock + LEAD + 2)
#else
#define IMPORT_REACH	(clock + LEAD)
#endif

/* R5 */
#ifdef BUG_QUARANTINE_FORGOTTEN
#define ABOVE_QUARANTINE	(registry.quarantine >= clock -> registry.quarantine + 1 : 0)
#else
#ifdef BUG_QUARANTINE_FROM_ITS_END
#define ABOVE_QUARANTINE	registry.quarantine
#else
#define ABOVE_QUARANTINE	(registry.quarantine > 0 -> registry.quarantine + 1 : 0)
#endif
#endif
#ifdef BUG_QUARANTINE_WITHOUT_SLACK
#define QUARANTINE	LEAD
#else
#define QUARANTINE	(LEAD + SLACK)
#endif

inline begin_quarantine()
{
	registry.history = history;
#ifndef BUG_NO_QUARANTINE
	registry.quarantine = MAX(registry.quarantine, QUARANTINE + MAX(clock, MAX(ROW(0).modified, ROW(1).modified)));
#endif
	printf("      quarantine until %d\n", registry.quarantine);
	CONFIRM
}

/* ---- what becomes of an answer ---- */

/* R6: the node was told of worker id x from tick f to u. */
inline use()
{
	printf("      node %d may issue worker id %d, ticks %d to %d\n", n, x, f, u);
	P1_unique = f > u || (told[x] & TICKS(f, u)) == 0;
	assert(P1_unique);
	told[x] = (f > u -> told[x] : told[x] | TICKS(f, u));
#ifdef KEPT
	R6_kept = ME.until == 0 || ME.worker == x || AGED(ME.until) && AGED(ME.told);
	assert(R6_kept);
	ME.told = clock;
#endif
	ME.holds = 1; ME.unsure = 0; ME.worker = x; ME.until = u; ME.token = new_token; ME.proposed = 0
}

inline use_not()
{
	printf("      node %d is not told of worker id %d, ticks %d to %d\n", n, x, f, u);
	ME.unsure = 1;
#ifndef BUG_TOKEN_NOT_PROPOSED
	ME.proposed = new_token
#endif
}

inline answer()
{
	if
	:: given_up -> printf("      nobody waits\n")
	:: !given_up -> CONFIRM; use()
	:: !given_up && lost < LOST -> lost++; use_not()
	:: !given_up && unconfirmed < UNCONFIRMED -> unconfirmed++;
#ifdef BUG_UNCONFIRMED_USED
		use()
#else
		use_not()
#endif
	fi
}

/* ---- the three calls ---- */

inline node_acquire()
{
	printf("node %d acquires, clock %d\n", n, clock);
	if	/* find_claimed_worker() */
	:: BY_TOKEN(0) -> x = 0; claims = 1
	:: WORKERS > 1 && BY_TOKEN(1) -> x = 1; claims = 1
	:: else -> x = ME.worker; claims = BY_END(x)
	fi;
	if
	:: registry.history != history -> begin_quarantine()
	:: registry.history == history && EVIDENCE -> begin_quarantine()
	:: else ->
		if	/* choose_for_node() */
		:: claims
		:: !claims && FREE(0) -> x = 0
		:: !claims && WORKERS > 1 && FREE(1) -> x = 1
		:: !claims && NONE_FREE && OWN(0) -> x = 0
		:: !claims && NONE_FREE && WORKERS > 1 && OWN(1) -> x = 1
		:: else -> x = WORKERS
		fi;
		if
		:: x < WORKERS ->
			if
			:: f = clock
			:: OWN_TIME > 0 && clock > OWN_TIME -> f = clock - OWN_TIME
			fi;
			f = MAX(f, ROW(x).until + 1);
#ifdef BUG_CLAIM_ABOVE_ROW_ONLY
			f = MAX(f, (claims -> 0 : ABOVE_QUARANTINE));
#else
			f = MAX(f, (claims -> ME.until + 1 : ABOVE_QUARANTINE));
#endif
			u = MIN(f + WINDOW, (claims -> REACH : REACH_OF_NEW));
			if
			:: f <= u && u <= LAST_TICK ->
				new_token++;
				ROW(x).until = u; ROW(x).token = new_token; ROW(x).identity = ME.identity;
				ROW(x).modified = MAX(ROW(x).modified, clock); ROW(x).released = 0;
				answer()
			:: else	/* too far ahead */
			fi
		:: else	/* none is free */
		fi
	fi
}

inline node_renew()
{
	x = ME.worker;
	printf("node %d renews worker id %d from %d, clock %d\n", n, x, ME.until, clock);
	if
	:: registry.history != history -> begin_quarantine()
	:: true		/* another call is about to do that */
	fi;
	if
#ifdef BUG_RENEW_WITHOUT_TOKEN
	:: RENEWABLE(x) ->
#else
	:: ROW(x).token == ME.token && ROW(x).until == ME.until && RENEWABLE(x) ->
#endif
		f = ME.until + 1;
		if
		:: u = clock
		:: OWN_TIME > 0 && clock > OWN_TIME -> u = clock - OWN_TIME
		fi;
		if	/* what is needed: nothing, or the next tick */
		:: u = MAX(ME.until, MIN(u + WINDOW, REACH))
		:: u = MAX(ME.until, MIN(MAX(u, f) + WINDOW, REACH))	/* f > u: too far ahead */
		fi;
		if
		:: u <= LAST_TICK ->
			new_token++;
			ROW(x).until = u; ROW(x).token = new_token; ROW(x).modified = MAX(ROW(x).modified, clock);
			answer()
		:: else
		fi
	:: else -> printf("      fenced\n"); ME.holds = 0
	fi
}

inline forget()
{
	ME.holds = 0; ME.unsure = 0; ME.worker = 0; ME.until = 0; ME.token = 0; ME.proposed = 0
}

inline node_release()
{
	x = ME.worker;
	printf("node %d releases worker id %d\n", n, x);
	if
	:: KNOWN(x) ->
#ifdef BUG_RELEASE_LOWERS	/* by a tick that the node has not issued */
		told[x] = told[x] & ~TICKS(ROW(x).until, ROW(x).until);
		/* ... but its copy may */
		told[x] = (copies > 0 && n < 2 && node[1 - n].worker == x && node[1 - n].until >= ROW(x).until ->
			told[x] | TICKS(ROW(x).until, ROW(x).until) : told[x]);
		ROW(x).until--;
#endif
		ROW(x).released = 1; ROW(x).token = 0; ROW(x).modified = MAX(ROW(x).modified, clock);
		CONFIRM
	:: else
	fi;
	forget()	/* it ends, and another one comes */
}

/* If there is a row that is free and lower, it tells of the rest of the ticks. */
inline node_import()
{
	printf("worker id %d is imported until %d, clock %d\n", x, u, clock);
	if
	:: ROW(x).until < u && FREE(x) ->
		told[x] = told[x] | TICKS(ROW(x).until + 1, u);
		ROW(x).until = u; ROW(x).modified = MAX(ROW(x).modified, clock);
#ifndef BUG_IMPORT_KEEPS_TOKEN
		ROW(x).token = 0; ROW(x).released = 1;
#endif
		CONFIRM
	:: else	/* nothing to do, or it is another's */
	fi
}

/* ---- all together ---- */

init
{
	byte n, x, f, u, i;
	bit claims, given_up;

	d_step {
		for (i : 0 .. NODES - 1) {
#ifdef ONE_IDENTITY	/* of nodes 0 and 1 */
			node[i].identity = MAX(i, 1)
#else
			node[i].identity = i + 1
#endif
		}
		i = 0
	}
	do
	:: atomic {
		calls < CALLS -> calls++;
		select (n : 0 .. NODES - 1);
		if
		:: COPIES > 0 && n == 1 && copies == 0	/* it is not there yet */
		:: else ->
			if
			:: ME.holds && !ME.unsure -> node_renew()
			:: !ME.holds || ME.unsure -> node_acquire()
			:: late < LATE -> late++; given_up = 1; node_acquire()
			:: ME.holds && releases < RELEASES -> releases++; node_release()
			fi
		fi;
		n = 0; x = 0; f = 0; u = 0; claims = 0; given_up = 0 }
	:: atomic { moves < MOVES && clock < LAST_CLOCK -> moves++; clock++ }
	:: atomic { moves < MOVES && clock < LAST_CLOCK -> moves++; clock = clock + WINDOW + 2 }	/* grants end */
	:: atomic { moves < MOVES && clock < LAST_CLOCK -> moves++; clock = clock + WINDOW + LEAD + SLACK + 2 }	/* rows get free */
#if SET_BACK > 0
	:: atomic { !is_set_back && failovers == 0 && clock > SET_BACK ->
		copy(standby, registry);
		is_set_back = 1; clock = clock - SET_BACK;
		printf("the clock is set back to %d\n", clock) }
#endif
	:: atomic { crashes < CRASHES -> crashes++;
		select (n : 0 .. NODES - 1);
		printf("node %d crashes\n", n);
		forget();
		n = 0 }
	:: atomic { imports < IMPORTS -> imports++;
		select (x : 0 .. WORKERS - 1);
		select (u : clock .. IMPORT_REACH);
		node_import();
		x = 0; u = 0 }
	:: atomic { copies < COPIES -> copies++;
		printf("node 1 is a copy of node 0\n");
		node[1].holds = node[0].holds; node[1].unsure = node[0].unsure; node[1].worker = node[0].worker;
		node[1].until = node[0].until; node[1].token = node[0].token; node[1].proposed = node[0].proposed;
		node[1].identity = node[0].identity }
	:: atomic { restarts < RESTARTS -> restarts++; history++; printf("the registry restarts\n") }
	:: atomic { failovers < FAILOVERS -> copy(standby, registry); printf("the standby catches up\n") }
	:: atomic { failovers < FAILOVERS -> failovers++;
		copy(registry, standby);
		history = history + NOTICED;
		clock = (clock > BEHIND -> clock - BEHIND : 1);
		printf("the registry goes back, clock %d\n", clock) }
	:: break
	od
}
