/*
 * simulation.h
 *	  What the parts of the simulation of a fleet share.
 *
 * One program plays a fleet: many nodes with the real rules of src/core, guests, and the real
 * functions of a shared registry in a real PostgreSQL.  What it makes up is time, and all
 * that goes wrong; both follow from a seed, so that a failure can be repeated.
 *
 *	simulate.c	one schedule after the other; a failing one is made short and told
 *	schedule.c	the steps of a schedule: made from a seed, and carried out
 *	fleet.c		nodes: machine, callers and keeper
 *	registry.c	the registry, where calls on it are made by SQL
 *	limits.c	what may be lost and copied, so that all promises still hold
 *	guests.c	programs that make ids by a worker id that they lease
 *	judge.c		what must hold
 *	segments.c	numbers of segments: callers and keeper
 *	procedures.c	what people do with the registry, by test/procedures
 *	ranges.c	what must hold of numbers, and what of them may be lost
 *	broken.c	the rules that can be taken out, each of which must then be missed
 *
 * The nodes are played against a registry in real time as well, by tools/load/load.c: it has fleet.c,
 * and its own parts in place of the others.
 *
 * Times are in microseconds since 1970, ticks since the layout's epoch, which is the same.
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include "core/attempt.h"
#include "core/segment_supply.h"

#ifndef NODES
#define NODES 5
#endif
#define WORKERS 8
#define GUESTS 3
#define GUEST_TOKENS 16
#define LIVES 64				/* bits of a word */
#define TOLD 2048
#define COMMITS 2048
#define STANDBYS 2
#define REGISTRIES 2
#define LATE_CALLS 16
#define TWINS 8
#define STEPS 120
#define SEGMENTS 2
#define LOOKS 4					/* at the registry's clock, at most, in a call */

#define START_TICK INT64_C(1000000)

#define Max(a, b) ((a) > (b) ? (a) : (b))
#define Min(a, b) ((a) < (b) ? (a) : (b))

/* ---- the registry ---- */

/* The place of a registry; each change of a node's setting leads to the next one. */
#define PLACE 1

/* What tells one run of its database from another. */
typedef struct History
{
	int			cluster;
	int			timeline;
	int			started;
	int			database;
} History;

typedef enum CallKind
{
	CALL_ACQUIRE,
	CALL_RENEW,
	CALL_RELEASE,
	CALL_IMPORT,
	CALL_FETCH,					/* numbers of a segment */
	CALL_HAND_BACK,				/* ... that were not drawn */
	CALL_GUEST_ACQUIRE,
	CALL_GUEST_RENEW,
	CALL_GUEST_RELEASE
} CallKind;

/* A call, as a node or a guest sends it. */
typedef struct Call
{
	CallKind	kind;
	int			node;			/* who sends it: a guest if it is of that kind */
	int			life;
	int			identity;
	int64_t		token;			/* the new one */
	int64_t		known_tokens[GUEST_TOKENS]; /* nodes have fewer */
	int			nknown;
	int			worker;			/* that is claimed, renewed or released; -1:
								 * none */
	int64_t		old_token;
	UidgenTick	until;			/* end of its grant */
	UidgenTick	floor;
	UidgenTick	needed;
	UidgenTick	window;
	UidgenTick	at;
	int			workers[WORKERS];	/* that are brought along */
	UidgenTick	ends[WORKERS];
	int			nends;
	int			segment;		/* of which numbers are fetched or handed back */
	UidgenSupplyRequest wanted;
	int64_t		course[UIDGEN_SUPPLY_COURSE];	/* of that: the supply may
												 * change meanwhile */
	UidgenSupplyRelease rest;
	UidgenMicroseconds not_after;
	UidgenMicroseconds boot_before; /* the node's boot clock when it was sent */
	int			registry;		/* it goes to */
	bool		to_old;			/* to the server that was the primary before */
	bool		of_copy;		/* a memory that was copied sends it */
	bool		late;			/* it was given up before it runs */
} Call;

typedef struct Reply
{
	char		sqlstate[6];	/* of an error; else empty */
	char		text[256];		/* what it says, or why this worker id */
	bool		granted;		/* or released, or brought along */
	bool		has_first;
	int			worker;
	UidgenTick	first;
	UidgenTick	last;
	UidgenTick	seen;
	bool		never_used;
	int64_t		free_workers;
	UidgenRegistryWord word;
	UidgenMicroseconds clock;
	UidgenSupplyAnswer range;
	int			number;			/* of the call, in the order in which they
								 * were run */
	UidgenMicroseconds ran;		/* the true time then */
	bool		last_resort;	/* a row of this node's that was not free */
} Reply;

/* A change of the registry that a node may have been told of. */
typedef struct Commit
{
	UidgenMicroseconds clock;	/* of the registry */
	int			worker;
	UidgenTick	until;			/* end of what was granted; 0: it was a
								 * release */
	int			life;
	int			identity;
	bool		imported;
	bool		last_resort;	/* a row of this node's that was not free */
} Commit;

/* What a registry knows of a segment. */
typedef struct SegmentRow
{
	int64_t		last_value;
	int64_t		step;
	int64_t		min_step;
	int64_t		max_step;
	int64_t		max_value;
	int64_t		failover_gap;
	int64_t		incarnation;
	History		history;
	bool		dropped;
	int64_t		beyond;			/* its owner was told that numbers go on above */
} SegmentRow;

/* A database, where it is not the one that is in use. */
typedef struct Database
{
	bool		there;
	char	   *workers;		/* its rows, as texts */
	char	   *layout;
	char	   *segments;
	char	   *guests;
	char	   *moved;
	History		history;
	int			timeline_offset;	/* of what nodes are told */
	SegmentRow	rows[SEGMENTS]; /* the same */
	int			first_guest;
	int64_t		replayed;		/* position in the log */
	int			commits;		/* so many of the registry's it has */
	int			releases;		/* likewise of numbers */
} Database;

extern void registry_connect(const char *conninfo);
extern void registry_break(const char *function, const char *old, const char *new_text, int times);
extern void registry_begin(bool ends_quarantine);
extern void registry_call(const Call *call, UidgenMicroseconds clock, const History *history,
						  uint64_t salt, Reply *reply);
extern void registry_keep(Database *database);
extern void registry_become(const Database *database);
extern void registry_forget(Database *database);
extern void registry_segment(int segment, SegmentRow *row);
extern void registry_owner(int segment, const char *what, int64_t number);
extern const char *registry_statements(char *const *statements, int n, char **result);
extern int64_t registry_position(void);
extern void registry_use(int registry);
extern void registry_changes(int first_guest, UidgenMicroseconds max_lead, UidgenMicroseconds guest_lead);
extern void registry_close(void);

/* ---- nodes ---- */

typedef enum Progress
{
	NOT_CALLING,
	SENT,						/* the call has been sent, and has not been
								 * run */
	DONE						/* it has been run; the reply is on its way */
} Progress;

/* What the keeper's process knows while it makes an attempt. */
typedef struct Keeper
{
	Progress	progress;
	Call		call;
	Reply		reply;
	UidgenAttempt attempt;
} Keeper;

/* The reasons for which a node may take another worker id. */
#define CAUSE_RELEASED		0x01
#define CAUSE_SET_BACK		0x02	/* its clock */
#define CAUSE_LOST			0x04	/* the registry went back */
#define CAUSE_OLD_PRIMARY	0x08	/* which it has asked */
#define CAUSE_LAST_RESORT	0x10	/* no worker id was free */
#define CAUSE_MANY_TOKENS	0x20	/* it could not remember all */

/* A segment in shared memory. */
typedef struct Slot
{
	UidgenSegmentWords words;
	UidgenSupply supply;
	uint64_t	skipped;

	/* Of the judge. */
	uint64_t	drawn;
	int64_t		highest;		/* number that was drawn of */
	int64_t		incarnation;	/* this one */
	int64_t		before;			/* ... of those before, unless it began anew */
} Slot;

/* What a crash loses. */
typedef struct Memory
{
	int			life;			/* of the memories, counted */
	UidgenTicketWords words;
	UidgenLease lease;
	UidgenNode	node;
	UidgenGrant unused;			/* that was acquired, and is not used yet */
	Slot		slots[SEGMENTS];

	/* Of the judge. */
	int			causes;
	bool		copied;			/* while it was in use */
	bool		had_twin;		/* a copy of it, or another node of its
								 * identity */
	int			local_worker;	/* that a local registry had granted; -1: none */
	uint64_t	highest;		/* position that was issued */
	UidgenTick	clock_highest;	/* that callers have seen, since it was set
								 * back */
	UidgenMicroseconds acquired;	/* the registry's clock, when it gave the
									 * grant that is to be used */
	int			acquired_call;	/* that did so */
	UidgenMicroseconds changed; /* ... when it changed the row */
	UidgenMicroseconds shown;	/* ... when it ran any call since then, at
								 * most */
} Memory;

typedef struct Node
{
	bool		there;
	bool		left;			/* for a registry of its own, for good */
	int			registry;		/* its setting leads to */
	int			moves;			/* of its setting */
	int			identity;
	UidgenMicroseconds boot;	/* its boot clock minus the true time */
	UidgenMicroseconds wall;	/* its wall clock minus the true time */
	Memory		memory;
	Keeper		keeper;
	const char *failure;		/* why the last attempt failed, for people */
	char		sqlstate[6];
} Node;

/* What a node issues ids by, and when callers find no more. */
typedef enum Drawn
{
	DRAWN_ALL,
	DRAWN_AND_RENEW,			/* all, and the keeper was told to renew */
	DRAWN_NO_GRANT,				/* the keeper is needed */
	DRAWN_TOO_FAR				/* the clock has to go on */
} Drawn;

extern void node_start(Node *node);
extern void publish_bounds(Node *node);
extern void node_had_local_grant(Node *node, int worker);
extern Drawn node_draw(Node *node, int count);
extern void keeper_serve(Node *node, bool to_old);
extern void keeper_release(Node *node);
extern void keeper_hear(Node *node);
extern void keeper_gives_up(Node *node);
extern void keeper_hear_nothing(Node *node, bool unconfirmed);
extern void keeper_send(Node *node, Call *call);
extern void keeper_fails(Node *node, const char *sqlstate, const char *failure);
extern UidgenMicroseconds node_boot(const Node *node);
extern UidgenTick node_tick(const Node *node);

/* ---- segments.c ---- */

extern void slots_start(Memory *memory);
extern UidgenSegmentResult node_take_numbers(Node *node, int segment, uint64_t n, UidgenSegmentKind kind, bool *fetch);
extern bool keeper_fetch(Node *node, int segment, bool to_old);
extern bool keeper_hand_back(Node *node, int segment);
extern void keeper_hear_fetch(Node *node, const Reply *reply);
extern void keeper_hear_hand_back(Node *node, bool done);

/* ---- guests.c ---- */

typedef struct Guest
{
	int			life;			/* of the processes, counted with those of
								 * nodes */
	int			holder;			/* the same, where the memory is not a copy */
	UidgenMicroseconds monotonic;	/* its clock minus the true time */
	UidgenMicroseconds wall;

	/* What the process knows. */
	int			worker;			/* -1: it has none */
	UidgenTick	last;
	UidgenTick	renew_at;
	int64_t		tokens[GUEST_TOKENS];	/* that the row may have */
	int			ntokens;
	bool		doubt;			/* a call has no answer */
	int			claimed_worker;
	UidgenTick	claimed_until;
	int64_t		position;		/* of the last id */
	int			registry;		/* its address */
	int64_t		registry_id;	/* that answered first; 0: none has */
	int			timeline;		/* that it has seen */
	UidgenMicroseconds clock;	/* the registry's, when its answer was heard;
								 * 0: the time is not known */
	UidgenMicroseconds heard;	/* by its monotonic clock */
	UidgenMicroseconds apart;	/* its clocks, when that call was sent */
	UidgenMicroseconds apart_now;	/* ... the call under way */

	Progress	progress;
	Call		call;
	Reply		reply;

	/* Of the judge. */
	int			causes;
	bool		had_twin;		/* a copy of it */
	UidgenMicroseconds ran;		/* the true time of the answer that it heard */
	UidgenTick	id_tick;		/* of its last id */
	int			id_worker;
	UidgenMicroseconds changed; /* as in Memory */
	UidgenMicroseconds shown;
} Guest;

extern void guest_start(Guest *guest);
extern bool guest_draw(Guest *guest, int count);
extern bool guest_is_due(Guest *guest);
extern void guest_calls(Guest *guest, bool to_old);
extern bool guest_closes(Guest *guest);
extern bool guest_waits_no_longer(const Guest *guest);
extern void guest_hear(Guest *guest, bool confirmed);
extern void guest_hear_nothing(Guest *guest);

/* ---- the world ---- */

/* What a schedule begins with. */
typedef struct Setup
{
	int			nodes;
	int			max_worker;
	UidgenMicroseconds unit;
	int			sequence_bits;
	UidgenTick	last_tick;
	UidgenMicroseconds max_lead;
	UidgenMicroseconds clock_slack;
	UidgenTick	window;			/* the settings of all nodes */
	UidgenTick	ahead;
	UidgenTick	burst;
	UidgenTick	second;
	int			padding_factor;
	UidgenMicroseconds timeout;
	UidgenMicroseconds pace;	/* between two looks at the registry's clock */
	bool		new_fleet;		/* its owner has ended the quarantine */
	bool		synchronous;	/* what is answered a standby has, too */
	bool		ends_well;		/* at the end, each node is to get ids */
	int			local;			/* so many nodes had a local registry before */
	UidgenTick	local_window;	/* ... which granted so much */
	UidgenMicroseconds walls[NODES];
	int			segments;
	SegmentRow	rows[SEGMENTS]; /* as they begin */
	UidgenMicroseconds duration;	/* for which a range is to last */
	int			guests;
	int			guest_workers;	/* from max_worker + 1 on */
	int			guest_bound;	/* so many may their role have */
	UidgenMicroseconds guest_lead;
	int			procedures[3];	/* that its operator goes by: any numbers */
} Setup;

/* Two nodes with one memory. */
typedef struct Twins
{
	int			lives[2];
	int			worker;			/* whose grant both know */
	int			apart;			/* commits, with the first one there by
								 * either; 0: none yet; INT_MAX: that is not
								 * known */
} Twins;

typedef struct Registry
{
	UidgenMicroseconds clock;	/* its clock minus the true time */
	History		history;
	Commit		commits[COMMITS];
	int			ncommits;
	int			calls_before;	/* it went back last */
	Database	standbys[STANDBYS];
	int			first_guest;
	int64_t		replayed;		/* position in the log, by all standbys */
	int64_t		received;		/* ... by the one that is to be promoted */
	bool		down;			/* its server is stopped, */
	bool		closed;			/* or lets in its owner alone */
	Database	backup;

	/* The one that was before the last failover, and may still run. */
	Database	old;
	UidgenMicroseconds old_clock;
	History		old_history;
	bool		old_grants;

	/* What bounds what may be lost; see limits.c. */
	UidgenMicroseconds clock_floor; /* the registry's clock is at least this */
	UidgenMicroseconds quarantine_clock;	/* when the last failover began
											 * its quarantine; 0: not yet */
	UidgenMicroseconds claims_end;	/* from when on nothing can be claimed
									 * that was lost so far */
	Twins		twins[TWINS];
	int			ntwins;

	/* Likewise for numbers; see ranges.c. */
	int64_t		beyond[SEGMENTS];	/* what the owner was told */
	SegmentRow	gaps[SEGMENTS]; /* where the last failover began */
	bool		fetched_since[SEGMENTS];	/* it went back last */
	bool		unnoticed[SEGMENTS];	/* numbers are lost, and the
										 * registry's history is the same */
	bool		old_unnoticed[SEGMENTS];	/* so it was before the last
											 * failover */
} Registry;

typedef struct World
{
	Setup		setup;
	UidgenMicroseconds now;		/* the true time */
	uint64_t	salt;			/* of the present step; what is random follows
								 * from it */

	/* The registry that is looked at, and the others meanwhile. */
	int			present;
	Registry	registry;
	Registry	others[REGISTRIES];
	Database	away[REGISTRIES];	/* what they know */
	int			histories;		/* starts and databases, counted */
	int			ncalls;
	int			address;		/* the registry that programs are told of */
	bool		changes;		/* its owner has changed which worker ids are
								 * of guests, or lengths */

	Node		nodes[NODES];
	Guest		guests[GUESTS];
	int			lives;
	Call		late[LATE_CALLS];	/* given up, and yet to be run */
	int			nlate;
	int			nreleases;		/* of numbers, that were taken back */

	/* Of the judge. */
	UidgenMicroseconds clock_highest;	/* that the registry has shown */
} World;

extern World world;

extern UidgenTick tick_of(UidgenMicroseconds time);
extern UidgenTick ticks_in(UidgenMicroseconds length);
extern int64_t new_number(void);
extern UidgenMicroseconds registry_clock(void);

/* ---- schedule.c ---- */

typedef struct Step
{
	int			what;
	bool		by_guest;
	int			who;
	int			whom;
	int			fate;
	int			count;
	UidgenMicroseconds length;
	UidgenMicroseconds there;	/* a call is on its way for so long, */
	UidgenMicroseconds back;	/* and its reply */
	uint64_t	salt;
} Step;

typedef struct Schedule
{
	Setup		setup;
	Step		steps[STEPS];
	int			nsteps;
} Schedule;

/* What a schedule is about: for what needs many coincidences. */
typedef enum Theme
{
	EVERYTHING,
	FAR_AHEAD,					/* failovers, while grants reach as far as
								 * they may */
	CHANGING_HANDS,				/* nodes sleep, others get their rows, and the
								 * registry goes back */
	LEAPS,						/* of the registry's clock */
	JOINS,						/* of servers that had a registry of their own */
	JOINS_LATE,					/* ... when others sleep */
	NUMBERS,					/* of segments, while the registry goes back */
	NUMBERS_RETURN,				/* they are handed back, and memories copied */
	CHANGING_SIDES,				/* worker ids are nodes', and then guests' */
	CHANGING_LENGTHS,			/* of grants */
	OPERATIONS,					/* procedures of the run book */
	LATE_RELEASE,				/* by who slept, after the registry went back */
	LEAP_AFTER_RELEASE,			/* back to before it */
	CLONES,						/* of memories, ahead of the clock */
	IN_CALLS,					/* things happen while calls are on their way */
	THEMES						/* any of these */
} Theme;

/* Guests are in place of the nodes. */
#define BY_GUESTS 0x100

extern void schedule_make(Schedule *schedule, uint64_t seed, int only);
extern void schedule_run(const Schedule *schedule);
extern bool draws_well(Node *node);
extern bool draws_number_well(Node *node, int segment);
extern bool guest_draws_well(Guest *guest);

/* What operators do, with standbys and nodes. */
typedef enum Way
{
	BY_PROMOTION,				/* of a standby; the old primary may run on */
	BY_RESTORE,					/* what a standby has is taken for a backup */
	BY_DATABASE,				/* or for a copy of the database */
	BY_BACKUP,					/* with its timeline */
} Way;

extern bool go_back(Way way, const Database *database, UidgenMicroseconds behind);
extern void follow(int standby);
extern void forget_standbys(void);
extern void set_clock(UidgenMicroseconds clock);
extern void node_hands_back(Node *node, const Step *step);
extern void start_again(Node *node);

/* ---- procedures.c ---- */

extern bool procedures_played;	/* in this schedule */
extern bool procedures_covered; /* each schedule interrupts one, at a step */
extern void procedures_read(const char *folder);
extern void procedures_begin(void);
extern void procedures_go_on(const Step *step);
extern void procedures_lost(int64_t replayed);
extern bool procedures_end_well(void);
extern bool procedures_report(int64_t least);
extern bool choose_statement(const char *name, int64_t *schedules);
extern void list_statements(void);

/* ---- limits.c ---- */

extern void lose_all(void);

extern void note_commit(const Call *call, const Reply *reply);
extern void note_twins(const Memory *memory, int life);
extern void note_guest_twins(const Guest *guest, int life);
extern void note_end(int life);
extern void note_lost(int commits);
extern UidgenMicroseconds claims_end(void);
extern void note_old(UidgenMicroseconds claims_ended);
extern bool has_twin(int life);
extern UidgenTick row_until(int worker);
extern bool was_granted(int worker, UidgenTick until);
extern int	life_of_row(int worker);
extern bool is_of_guests(int worker);
extern UidgenMicroseconds lead_of(int worker);
extern bool may_ask_old(const Node *node);
extern bool guest_may_ask_old(const Guest *guest);
extern bool may_go_back(int commits, UidgenMicroseconds *least_clock);

/* ---- judge.c ---- */

extern void judge_begin(void);
extern void judge_told(Node *node, int worker, UidgenTick first, UidgenTick last);
extern void judge_known(const Node *node, const Reply *reply);
extern void judge_twins(int first_life, int second_life);
extern void judge_local(const Node *node, const UidgenGrant *grant);
extern void judge_left(Node *node, int worker);
extern void judge_imported(const Node *node, const Call *call);
extern void judge_ids(Node *node, const UidgenTicket *ticket, UidgenTick now);
extern void judge_reply(const Call *call, const Reply *reply);
extern void judge_renewal(Node *node, const Reply *reply);
extern void judge_guest_told(const Guest *guest, int worker, UidgenTick first, UidgenTick last);
extern void judge_guest_clock(const Guest *guest, UidgenTick now);
extern void judge_guest_id(Guest *guest);
extern void judge_guest_worker(Guest *guest, int worker);
extern void judge_worker(Node *node, const UidgenGrant *before, const UidgenGrant *grant, UidgenStepKind step);
extern void judge_served(void);

/* The schedule ends here: something does not hold. */
extern void fail(const char *promise, const char *format,...)
			__attribute__((noreturn, format(printf, 2, 3)));

/* ---- ranges.c ---- */

extern void ranges_begin(void);
extern void note_restart(int64_t incarnation);
extern bool ranges_may_be_lost(const Database *database);
extern void note_ranges_lost(const Database *database, const History *next);
extern bool may_ask_old_for_numbers(const Node *node, const Call *call);
extern bool may_call_for_segment(const Call *call);
extern void judge_range(Node *node, int segment, const UidgenSupplyAnswer *range);
extern void judge_numbers(Node *node, int segment, int64_t first, uint64_t count);
extern void judge_accounts(const Node *node, int segment);
extern void judge_copied_ranges(const Memory *memory, int second_life);
extern void judge_segment_reply(const Call *call, const Reply *reply, const SegmentRow *before);
extern void judge_numbers_served(void);

/* ---- broken.c ---- */

extern bool choose_broken(const char *name, int *theme, int64_t *schedules);
extern bool is_broken(const char *name);
extern void list_broken(void);

/* ---- simulate.c ---- */

/* What happens, in words, where somebody wants to know. */
extern bool telling;
extern void tell(const char *format,...) __attribute__((format(printf, 1, 2)));
extern void tell_later(void);
extern void tell_now(bool all);

/* What has happened in all schedules, so that one can see that it did. */
typedef enum Event
{
	EVENT_CALLS,
	EVENT_ACQUIRED,
	EVENT_BY_CLAIM,
	EVENT_OWN,
	EVENT_NEVER_USED,
	EVENT_RECYCLED,
	EVENT_LAST_RESORT,
	EVENT_QUARANTINED,
	EVENT_CLAMPED,
	EVENT_NONE_FREE,
	EVENT_TOO_LATE,
	EVENT_RENEWED,
	EVENT_FENCED,
	EVENT_RELEASED,
	EVENT_UNANSWERED,
	EVENT_LATE,
	EVENT_OLD_ANSWER,
	EVENT_OLD_USED,
	EVENT_TAUGHT,
	EVENT_STEP_BACK,
	EVENT_NOT_FOLLOWED,
	EVENT_FOLLOWED,
	EVENT_IMPORTED,
	EVENT_NOT_IMPORTED,
	EVENT_RESTARTED,
	EVENT_WENT_BACK,
	EVENT_LOST_GRANT,
	EVENT_COPIED,
	EVENT_CRASHED,
	EVENT_IDS,
	EVENT_FETCHED,
	EVENT_GAP,
	EVENT_EVIDENCE,
	EVENT_LOST_RANGE,
	EVENT_LOST_ALL,
	EVENT_USED_UP,
	EVENT_NO_SEGMENT,
	EVENT_NO_ROOM,
	EVENT_ELSEWHERE,
	EVENT_DISCARDED,
	EVENT_HANDED_BACK,
	EVENT_NOT_TAKEN_BACK,
	EVENT_OLD_RANGE,
	EVENT_LOST_RELEASE,
	EVENT_NUMBERS,
	EVENT_GUEST_ACQUIRED,
	EVENT_GUEST_GOES_ON,
	EVENT_GUEST_RENEWED,
	EVENT_GUEST_FENCED,
	EVENT_GUEST_WAITS,
	EVENT_GUEST_REFUSED,
	EVENT_GUEST_UNANSWERED,
	EVENT_GUEST_ENDED,
	EVENT_GUEST_IDS,
	EVENT_OPERATED,
	EVENTS
} Event;

extern int64_t events[EVENTS];

#endif							/* SIMULATION_H */
