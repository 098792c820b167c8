/*
 * keeper.c
 *	  The background worker that acquires, renews and releases the grant, and fetches numbers
 *	  of segments.
 *
 * The keeper works on demand: callers number their demands and set its latch
 * (demand.h); it makes one attempt for all demands that are there, publishes the
 * result and broadcasts.  While there is no demand, it sleeps without a connection to a database of this cluster.  So
 * the registry's database can be dropped or copied, and an idle server runs no transaction.  A node of a fleet keeps
 * its grant meanwhile (keep_grant()).  A connection to a database of this cluster can only be closed by exiting:
 * after a while without demand the keeper leaves its place to a successor (succession.h).  Because it exits, its
 * state is in shared memory; what must outlive that is in the registry.
 *
 * After an error that it cannot survive, and after SIGTERM, it exits with code 1, and the
 * postmaster starts it anew.  The restart time is 0, because the postmaster measures it on
 * the wall clock: with a second, a clock set back by an hour would keep the keeper away
 * for an hour.
 *
 * What an attempt does is in grants.c and, for a segment, in segment_fetch.c.
 *
 * The grant comes first: after each attempt for a segment the keeper looks whether a grant
 * is demanded.  Segments take turns.  Each has its own demand and pauses.  But if no
 * connection can be made, one failed attempt counts for all segments.
 * Names that the registry has not known so far take one turn together: anybody can name a
 * segment that does not exist.  If each such name had a turn, real segments would get none.
 *
 * Any failure is kept for uidgen.status and for the callers, and followed by a growing
 * pause.  The log has each cause once in an outage (demand.h).
 */
#include "postgres.h"

#include "keeper/keeper.h"

#include "compat.h"
#include "core/clock.h"
#include "core/pause.h"
#include "keeper/grants.h"
#include "keeper/keeping.h"
#include "keeper/pinning.h"
#include "keeper/segment_fetch.h"
#include "keeper/succession.h"
#include "link/link.h"
#include "memory/segment_slots.h"
#include "memory/server.h"
#include "memory/worker.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "utils/elog.h"
#include "utils/memutils.h"

/*
 * Names of segments that the registry does not know.  The keeper asks for an unknown name again after a growing
 * pause of LAST_UNKNOWN_PAUSE_MS at most: nobody who draws from a segment right after creating it should wait longer.
 * A slot is given to another name only if no segment needs it.  So new names can make the keeper forget such pauses,
 * and nothing else.  New names cost no more calls either, since the keeper asks for up to LOOK_UP_MAX of them in one
 * call.  Where the registry is far away, such calls take a third of the keeper's time, and segments have the rest.
 */
#define LAST_UNKNOWN_PAUSE_MS 2000
#define LOOK_UP_MAX 64
#define LOOK_UP_LEAST_PAUSE_MS 100
#define LOOK_UP_PAUSE 2			/* times as long as the call took */

/* How long a stopping server hands back numbers of segments. */
#define RELEASE_MS 5000

/* How soon a successor is called again that could not be started, or was ended; and how long
 * a keeper waits for one that cannot do anything before it has ended. */
#define CALL_AGAIN_MS 30000
#define SUCCESSOR_MS 1000

/* How often the keeper looks whether recovery has ended. */
#define RECOVERY_POLL_MS 1000

static uint32 idle_wait_event = 0;

/* While set, SIGTERM also breaks off what the registry is doing. */
static volatile sig_atomic_t in_attempt = false;

/* The connection is being made.  SIGTERM does not break that off: it ends by itself, and
 * breaking it off may end the process before it has released the grant.  A link whose
 * connections take long looks for SIGTERM itself. */
static volatile sig_atomic_t connecting = false;

/* Keep attempts and their failures out of TopMemoryContext. */
static MemoryContext attempt_context;

/* The attempt under way. */
static struct
{
	const UidgenLink *link;
	UidgenDemand *demand;
	UidgenSegmentSlot *slot;	/* NULL: it is for the grant */
}			attempt;

/* The names that are looked up together; the demands up to these numbers are served by that. */
static struct
{
	int			n;
	UidgenSegmentSlot *slots[LOOK_UP_MAX];
	uint64		numbers[LOOK_UP_MAX];
	UidgenFailure failures[LOOK_UP_MAX];	/* none: it is there */
}			names;

/* The segment whose turn is next, and the name; and whether that one is before this one. */
static int	next_slot = 0;
static int	next_name = 0;
static bool name_is_next = false;

/* Names are not looked up before this; monotonic clock. */
static UidgenMicroseconds look_up_at = 0;

/*
 * A fast shutdown waits for the keeper, so end any wait for a lock.  Only at the first signal: the postmaster signals
 * the process and then its group.  The second signal must not break off the release, whose own waits are bounded by
 * lock_timeout.
 */
static void
handle_sigterm(SIGNAL_ARGS)
{
	int			save_errno = errno;

	if (in_attempt && !connecting && !ShutdownRequestPending)
	{
		InterruptPending = true;
		QueryCancelPending = true;
	}
	ShutdownRequestPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* ---- attempts ---- */

/* Milliseconds until `time` of the monotonic clock; at least 0. */
static long
milliseconds_until(UidgenMicroseconds time)
{
	return (long) Max((time - uidgen_clock_monotonic() + 999) / 1000, 0);
}

/*
 * Is the grant in force of the local registry, where the settings name a fleet's?  Until
 * that one has given a grant, ids go on from the local one.
 */
static bool
must_move(void)
{
	const UidgenLease *lease = &uidgen_memory->lease;

	return uidgen_link()->fleet && lease->held && !uidgen_grant_is_of_fleet(&lease->grant);
}

/* The link to the registry from which grants come now. */
static const UidgenLink *
link_in_use(void)
{
	return must_move() ? &uidgen_link_local : uidgen_link();
}

/* The longest pause after a failure, in milliseconds. */
static int
last_pause(void)
{
	const UidgenLease *lease = &uidgen_memory->lease;
	const UidgenDemand *demand = attempt.demand;
	int64		left;
	int64		outage;

	if (!attempt.link->fleet)
		return connecting ? UIDGEN_LAST_CONNECT_PAUSE_MS : UIDGEN_LAST_PAUSE_MS;

	left = lease->held ? uidgen_server_ms(lease->grant.last - uidgen_clock_tick()) : 0;
	outage = demand->failures_in_row == 0 ? 0 :
		(uidgen_clock_monotonic() - demand->failing_since) / 1000;
	return (int) uidgen_last_fleet_pause(left, outage);
}

/*
 * No connection could be made: that is the failure of all segments for which somebody waits.
 */
static void
note_failure_of_segments(const UidgenFailure *failure)
{
	for (int i = 0, n = uidgen_segments_used(); i < n; i++)
	{
		UidgenDemand *demand = &uidgen_segments_slot(i)->demand;
		uint64		number = uidgen_demand_open(demand);

		if (number == 0 || demand == attempt.demand)
			continue;
		uidgen_demand_begin(demand, number);
		(void) uidgen_demand_failed(demand, failure, last_pause(), attempt.link->fleet);
		uidgen_demand_end(demand);
	}
}

/* The registry has no segment of this name.  True if that is news. */
static bool
note_missing(UidgenDemand *demand, const UidgenFailure *failure)
{
	return uidgen_demand_failed(demand, failure, Min(last_pause(), LAST_UNKNOWN_PAUSE_MS),
								attempt.link->fleet);
}

/* Note a failure, for callers and for the pause that follows it.  True if it is news. */
static bool
note_failure(UidgenFailure *failure)
{
	bool		is_news;

	/* Other nodes give worker ids back, and time does. */
	if (attempt.link->fleet)
		failure->transient |= failure->sqlerrcode == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED ||
			failure->sqlerrcode == ERRCODE_OBJECT_IN_USE;
	is_news = failure->sqlerrcode == ERRCODE_NO_DATA_FOUND ?
		note_missing(attempt.demand, failure) :
		uidgen_demand_failed(attempt.demand, failure, last_pause(), attempt.link->fleet);
	if (attempt.slot && connecting)
		note_failure_of_segments(failure);

	/*
	 * Anybody can name a segment that there is not, and whoever asks for a
	 * rehearsal is told.
	 */
	return is_news && failure->sqlerrcode != ERRCODE_NO_DATA_FOUND &&
		attempt.demand != &uidgen_memory->rehearsal_demand;
}

/* Note that the process ends during an attempt, by an error after which it cannot go on. */
static void
note_broken_attempt(void)
{
	UidgenFailure failure;

	if (connecting)
		uidgen_failure_set(&failure, ERRCODE_CONNECTION_FAILURE,
						   psprintf("could not connect to %s", attempt.link->target()),
						   "The server log says why.",
						   psprintf("Check the setting \"%s\".", attempt.link->setting));
	else
		uidgen_failure_set(&failure, ERRCODE_INTERNAL_ERROR,
						   "the keeper ended during an attempt",
						   "The server log says why.", NULL);
	/* Not logged here: what ended the process wrote to the log. */
	(void) note_failure(&failure);
}

/*
 * Is it one that a registry or its server gives for reasons of its own?  Then message, detail and hint
 * say all.  Of others somebody has to find the place.
 */
static bool
is_refusal(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case MAKE_SQLSTATE('0', '8', '0', '0', '0'):	/* connection */
		case MAKE_SQLSTATE('2', '2', '0', '0', '0'):	/* data */
		case MAKE_SQLSTATE('2', '5', '0', '0', '0'):	/* transaction state */
		case MAKE_SQLSTATE('4', '0', '0', '0', '0'):	/* rollback */
		case MAKE_SQLSTATE('5', '3', '0', '0', '0'):	/* resources */
		case MAKE_SQLSTATE('5', '4', '0', '0', '0'):	/* limits */
		case MAKE_SQLSTATE('5', '5', '0', '0', '0'):	/* prerequisite state */
		case MAKE_SQLSTATE('5', '7', '0', '0', '0'):	/* intervention */
			return true;
		default:
			return sqlerrcode == ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED ||
				sqlerrcode == ERRCODE_NO_DATA_FOUND;
	}
}

static void
report_failure(const UidgenDemand *demand, const ErrorData *error)
{
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 demand == &uidgen_memory->grant_demand ?
			 errmsg("uidgen has no new grant: %s", error->message) :
			 demand == &uidgen_memory->move_demand ?
			 errmsg("uidgen goes on with its local registry: %s", error->message) :
			 errmsg("uidgen has no further numbers of segment \"%s\": %s",
					uidgen_segments_plain_name(attempt.slot->name), error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0,
			 error->hint ? errhint("%s", error->hint) : 0,
			 error->context && !is_refusal(error->sqlerrcode) ?
			 errcontext("%s", error->context) : 0));
}

/*
 * Connect to the registry if needed, and run `action`, for this demand; `slot` is the segment's,
 * or NULL for the grant.  False if that failed; then its transaction is ended, and the failure
 * is noted.
 */
static bool
try_registry(const UidgenLink *link, UidgenDemand *demand, UidgenSegmentSlot *slot,
			 void (*action) (const UidgenLink *))
{
	volatile bool succeeded = true;

	MemoryContextSwitchTo(attempt_context);
	attempt.link = link;
	attempt.demand = demand;
	attempt.slot = slot;
	PG_TRY();
	{
		/*
		 * First, since from the next line on SIGTERM breaks off what is no
		 * connecting.
		 */
		connecting = !link->is_connected();
		in_attempt = true;
		if (connecting)
		{
			link->connect();
			connecting = false;
		}
		action(link);
		in_attempt = false;
	}
	PG_CATCH();
	{
		ErrorData  *error;
		UidgenFailure failure;

		HOLD_INTERRUPTS();
		QueryCancelPending = false;
		MemoryContextSwitchTo(attempt_context);
		error = CopyErrorData();
		FlushErrorState();
		link->end_failed();
		MemoryContextSwitchTo(attempt_context);
		uidgen_failure_set(&failure, error->sqlerrcode, error->message, error->detail,
						   error->hint);
		if (note_failure(&failure))
			report_failure(demand, error);
		connecting = false;
		in_attempt = false;
		RESUME_INTERRUPTS();
		succeeded = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(attempt_context);
	MemoryContextReset(attempt_context);
	return succeeded;
}

/* For the segment of the attempt. */
static void
fetch_numbers(const UidgenLink *link)
{
	uidgen_fetch_numbers(link, attempt.slot);
}

/* For several names at once. */
static void
look_up_names(const UidgenLink *link)
{
	uidgen_fetch_look_up(link, names.n, names.slots, names.failures);
}

static void
release_numbers(const UidgenLink *link)
{
	uidgen_fetch_release(link, attempt.slot);
}

/*
 * A fleet's registry does not know what the local one granted.  False if that one could not be
 * asked.
 */
static bool
recall_local_grants(const UidgenLink *link, UidgenDemand *demand)
{
	return !link->fleet || uidgen_memory->local_recalled ||
		try_registry(&uidgen_link_local, demand, NULL, uidgen_grants_recall);
}

/*
 * Begin an attempt for all demands that are there, if there are any, and their pause is over.
 * Returns for how many milliseconds there is nothing to do: 0 if the attempt has begun, -1
 * while nothing is demanded.
 */
static long
begin_attempt(UidgenDemand *demand)
{
	uint64		number = uidgen_demand_open(demand);
	long		pause;

	Assert(uidgen_is_keeper());
	if (number == 0)
		return -1;
	pause = milliseconds_until(demand->retry_at);
	if (pause == 0)
		uidgen_demand_begin(demand, number);
	return pause;
}

static void
end_attempt(UidgenDemand *demand, bool succeeded)
{
	if (succeeded)
		uidgen_demand_succeeded(demand);
	uidgen_demand_end(demand);
}

static void
note_place(const UidgenLink *link)
{
	LWLockAcquire(&uidgen_memory->lock, LW_EXCLUSIVE);
	uidgen_memory->served_place = link->place();
	LWLockRelease(&uidgen_memory->lock);
}

/*
 * A setting may have been changed before the demand was made, and that signal has been handled; then the
 * configuration has to be read first, as the grant would pin what it said before.
 */
static bool
must_reload(const UidgenDemand *demand)
{
	return uidgen_demand_open(unconstify(UidgenDemand *, demand)) != 0 &&
		ConfigReloadPending && uidgen_may_change_settings();
}

/* Make an attempt for the grant, by one of its demands.  Returns what begin_attempt() does. */
static long
attend(UidgenDemand *demand, const UidgenLink *link)
{
	long		pause;
	bool		succeeded;

	if (must_reload(demand))
		return 0;
	pause = begin_attempt(demand);
	if (pause != 0)
		return pause;
	succeeded = recall_local_grants(link, demand) &&
		try_registry(link, demand, NULL, uidgen_grants_serve);
	if (succeeded)
		note_place(link);
	end_attempt(demand, succeeded);
	return 0;
}

/*
 * Leave the local registry for the fleet's registry in the settings.  The move has a demand of its own, so that it
 * and the demand for grants do not wait for each other.
 */
static long
attend_move(void)
{
	UidgenDemand *demand = &uidgen_memory->move_demand;

	if (uidgen_demand_open(demand) == 0)
		(void) uidgen_demand_make(demand);
	return attend(demand, uidgen_link());
}

/*
 * Find out whether there would be a grant, for a diagnosis: at once, whatever has failed before, since
 * somebody waits for the answer.
 */
static long
attend_rehearsal(const UidgenLink *link)
{
	UidgenDemand *demand = &uidgen_memory->rehearsal_demand;
	uint64		number = uidgen_demand_open(demand);

	if (number == 0)
		return -1;
	if (must_reload(demand))
		return 0;
	uidgen_demand_begin(demand, number);
	end_attempt(demand, try_registry(link, demand, NULL, uidgen_grants_rehearse));
	return 0;
}

/*
 * A fleet's registry may be away when the next call comes.  So a node renews its grant while it is idle,
 * too.  A local registry is where its server is, and an idle server writes nothing.
 */
static long
keep_grant(const UidgenLink *link)
{
	static UidgenMicroseconds demand_at = 0;
	UidgenDemand *demand = &uidgen_memory->grant_demand;
	const UidgenLease *lease = &uidgen_memory->lease;
	UidgenTick	due;
	long		left;

	if (!link->fleet || !lease->held || !uidgen_grant_is_of_fleet(&lease->grant) ||
		uidgen_demand_open(demand) != 0)
		return -1;
	due = uidgen_ticket_tick(&uidgen_rules, uidgen_atomic_read(&uidgen_memory->words.renew_at));

	/* Not at once, since R4 (design/fleet.md) can leave the grant as it was. */
	left = Max((long) uidgen_server_ms(due - uidgen_clock_tick()), milliseconds_until(demand_at));
	if (left > 0)
		return left;
	demand_at = uidgen_clock_monotonic() + INT64CONST(1000) * UIDGEN_LAST_FLEET_PAUSE_MS;
	(void) uidgen_demand_make(demand);
	return 0;
}

/* The shorter of two pauses, where -1 has no end. */
static long
sooner(long a, long b)
{
	if (a < 0 || b < 0)
		return Max(a, b);
	return Min(a, b);
}

/*
 * A range is fetched in advance where one call asks for it.  Where that attempt failed, nobody
 * asks again before the numbers are used up, and then all callers wait.  So the keeper
 * asks itself, as long as the failure is one that ends without anybody's help.  But where
 * the process would end with each connection that cannot be made, it waits for a caller.
 */
static void
repeat_demand(UidgenSegmentSlot *slot)
{
	UidgenSegmentLook look;

	if (!slot->demand.failure.transient || uidgen_demand_open(&slot->demand) != 0 ||
		!(uidgen_link()->fleet || uidgen_link()->is_connected()))
		return;
	uidgen_segment_look(&slot->words, &look);
	if (uidgen_supply_due(&look, false))
		(void) uidgen_demand_make(&slot->demand);
}

/* Make an attempt for one segment, which is there.  They are in the registry that the settings name, also
 * while the grant is still another's. */
static long
attend_segment(void)
{
	int			n = uidgen_segments_used();
	long		pause = -1;

	for (int i = 0; i < n; i++)
	{
		int			index = (next_slot + i) % n;
		UidgenSegmentSlot *slot = uidgen_segments_slot(index);
		long		its_pause;

		if (!slot->there)
			continue;
		repeat_demand(slot);
		its_pause = begin_attempt(&slot->demand);
		if (its_pause == 0)
		{
			next_slot = index + 1;
			end_attempt(&slot->demand, try_registry(uidgen_link(), &slot->demand, slot, fetch_numbers));
			return 0;
		}
		pause = sooner(pause, its_pause);
	}
	return pause;
}

/* Fetch numbers of the only name.  False if there is no such segment. */
static bool
fetch_by_name(void)
{
	UidgenDemand *demand = &names.slots[0]->demand;

	uidgen_demand_begin(demand, names.numbers[0]);
	end_attempt(demand, try_registry(uidgen_link(), demand, names.slots[0], fetch_numbers));
	return demand->failure.sqlerrcode != ERRCODE_NO_DATA_FOUND;
}

/* Look up the names.  False if one of them is missing. */
static bool
look_up_together(void)
{
	UidgenDemand *first = &names.slots[0]->demand;
	bool		all_there = true;

	memset(names.failures, 0, sizeof(names.failures));
	if (!try_registry(uidgen_link(), first, names.slots[0], look_up_names))
		for (int i = 0; i < names.n; i++)
			names.failures[i] = first->failure;
	for (int i = 0; i < names.n; i++)
	{
		UidgenDemand *demand = &names.slots[i]->demand;
		const UidgenFailure *failure = &names.failures[i];

		/* Of a failed connection all have been told. */
		if (failure->sqlerrcode == 0 || uidgen_demand_served(demand, names.numbers[i]))
			continue;
		uidgen_demand_begin(demand, names.numbers[i]);
		if (failure->sqlerrcode == ERRCODE_NO_DATA_FOUND)
		{
			(void) note_missing(demand, failure);
			all_there = false;
		}
		else if (demand != first)
			(void) uidgen_demand_failed(demand, failure, last_pause(), attempt.link->fleet);
		uidgen_demand_end(demand);
	}
	return all_there;
}

/*
 * Make an attempt for the names that the registry has not known so far.  One alone is fetched, since
 * mostly there is such a segment.  Several are looked up, in one call; those that are there have their turn as
 * segments then, by the demands that they have.
 */
static long
attend_names(void)
{
	int			n = uidgen_segments_used();
	long		pause = -1;
	int			index = 0;
	UidgenMicroseconds begun = uidgen_clock_monotonic();
	bool		all_there;

	names.n = 0;
	for (int i = 0; i < n && names.n < LOOK_UP_MAX; i++)
	{
		UidgenSegmentSlot *slot;
		uint64		number;
		long		its_pause;

		index = (next_name + i) % n;
		slot = uidgen_segments_slot(index);
		number = slot->there ? 0 : uidgen_demand_open(&slot->demand);
		if (number == 0)
			continue;
		its_pause = milliseconds_until(Max(slot->demand.retry_at, look_up_at));
		if (its_pause == 0)
		{
			names.slots[names.n] = slot;
			names.numbers[names.n++] = number;
		}
		pause = sooner(pause, its_pause);
	}
	if (names.n == 0)
		return pause;
	next_name = index + 1;
	all_there = names.n == 1 ? fetch_by_name() : look_up_together();
	if (!all_there && attempt.link->fleet)
	{
		UidgenMicroseconds took = uidgen_clock_monotonic() - begun;

		look_up_at = begun + took +
			Min(Max(LOOK_UP_PAUSE * took, INT64CONST(1000) * LOOK_UP_LEAST_PAUSE_MS),
				INT64CONST(1000) * LAST_UNKNOWN_PAUSE_MS);
	}
	return 0;
}

/* A segment and the names in turn, if both are waited for. */
static long
attend_segments(void)
{
	long		pause = -1;

	for (int i = 0; i < 2; i++)
	{
		bool		is_name = i == 0 ? name_is_next : !name_is_next;
		long		its_pause = is_name ? attend_names() : attend_segment();

		if (its_pause == 0)
		{
			name_is_next = !is_name;
			return 0;
		}
		pause = sooner(pause, its_pause);
	}
	return pause;
}

/* For how long a connection without demand is kept. */
static long
idle_ms(const UidgenLink *link)
{
	if (!link->fleet)
		return UIDGEN_IDLE_MS;
	return (long) uidgen_fleet_idle(uidgen_server_ms(uidgen_grants_window()));
}

/* ---- connections that are not needed ---- */

/* A node of a fleet needs its local registry only until it has moved. */
static bool
has_moved(void)
{
	return uidgen_link()->fleet && uidgen_memory->local_recalled && !must_move();
}

static bool
call_successor(void)
{
	BackgroundWorker worker = uidgen_describe_keeper();

	return uidgen_library_is_there(&worker) && uidgen_call_successor(&worker);
}

/*
 * Close a connection that is not needed.  If only the end of the process closes it, this process stays until its
 * successor has come.  So it is too if the server has no free worker slot for one.  Returns for how many milliseconds
 * there is nothing to do.
 */
static long
close_connection(const UidgenLink *link)
{
	static UidgenMicroseconds call_again_at = 0;
	long		pause;

	if (link->disconnect())
		return -1;
	pause = milliseconds_until(call_again_at);
	if (pause > 0)
		return pause;
	(void) call_successor();
	call_again_at = uidgen_clock_monotonic() + INT64CONST(1000) * CALL_AGAIN_MS;
	return CALL_AGAIN_MS;
}

/*
 * The connection is to a database that the settings name no more, and nothing can be done
 * before it is closed.
 */
static void
leave_connection(const UidgenLink *link)
{
	UidgenMicroseconds end = uidgen_clock_monotonic() + INT64CONST(1000) * SUCCESSOR_MS;
	long		left;

	if (link->disconnect())
		return;
	if (call_successor())
		while (!ShutdownRequestPending && (left = milliseconds_until(end)) > 0)
		{
			uidgen_hand_over();
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 left, uidgen_wait_event(&idle_wait_event, "UidgenKeeper"));
			ResetLatch(MyLatch);
		}
	proc_exit(1);
}

/* ---- the settings ---- */

static void
reload(void)
{
	const UidgenLink *link = uidgen_link();
	uint64		place = link->place();
	UidgenDemand *demand = &uidgen_memory->grant_demand;

	ProcessConfigFile(PGC_SIGHUP);
	uidgen_pinning_reload();
	uidgen_grants_bound();
	if (link == uidgen_link() && place == link->place())
		return;

	/* Also if they lead back to where they led before. */
	uidgen_keeper_goes(uidgen_link());

	/*
	 * Tell the new registry at once what was granted, while shared memory
	 * still knows.
	 */
	if (uidgen_memory->lease.held && !must_move())
		(void) uidgen_demand_make(demand);
	/* A failure of the old registry says nothing about the new one. */
	uidgen_demand_retry_now(demand);
	uidgen_demand_retry_now(&uidgen_memory->move_demand);
	for (int i = 0, n = uidgen_segments_used(); i < n; i++)
	{
		uidgen_fetch_leave(uidgen_segments_slot(i));
		uidgen_demand_retry_now(&uidgen_segments_slot(i)->demand);
	}
	if (link->is_connected() && (link == uidgen_link() || link != link_in_use()))
		leave_connection(link);
}

/* ---- the end ---- */

/* The process ends, for whatever reason, and no successor has its place.  Callers may be
 * waiting. */
static void
end_attempts(void)
{
	if (in_attempt)
		note_broken_attempt();
	uidgen_demand_break_off(&uidgen_memory->grant_demand);
	uidgen_demand_break_off(&uidgen_memory->move_demand);
	uidgen_demand_break_off(&uidgen_memory->rehearsal_demand);
	for (int i = 0, n = uidgen_segments_used(); i < n; i++)
		uidgen_demand_break_off(&uidgen_segments_slot(i)->demand);
}

/* Hand back what nobody has drawn.  After a failure, no further attempts: most would fail,
 * too, and the shutdown waits.  It does not wait for thousands of commits either. */
static void
release_segments(void)
{
	const UidgenLink *link = uidgen_link();
	UidgenMicroseconds end = uidgen_clock_monotonic() + INT64CONST(1000) * RELEASE_MS;

	if (link->in_recovery() || !link->finish())
		return;
	for (int i = 0, n = uidgen_segments_used(); i < n; i++)
	{
		UidgenSegmentSlot *slot = uidgen_segments_slot(i);

		if (uidgen_clock_monotonic() >= end)
			break;
		if (uidgen_fetch_has_rest(slot) &&
			!try_registry(link, &slot->demand, slot, release_numbers))
			break;
	}
}

/* SIGTERM: a shutdown, or somebody's pg_terminate_backend(). */
static void
shut_down(void)
{
	const UidgenLink *link = link_in_use();

	/* What the signal should break off has ended. */
	QueryCancelPending = false;

	/*
	 * The grant of a keeper without a connection is usually over: nothing to
	 * hand back.
	 */
	if (uidgen_memory->lease.held && !link->in_recovery() &&
		(link->is_connected() ||
		 uidgen_memory->lease.grant.last > uidgen_clock_tick()) &&
		link->finish())
		(void) try_registry(link, &uidgen_memory->grant_demand, NULL, uidgen_grants_release);
	release_segments();
	proc_exit(1);
}

/* ---- the loop ---- */

/* Signals and reloads that have come.  Does not return if the process has to end. */
static void
handle_interrupts(void)
{
	ResetLatch(MyLatch);
	if (ShutdownRequestPending)
		shut_down();

	/*
	 * Between attempts there is no query to cancel; an error would end the
	 * process.
	 */
	QueryCancelPending = false;
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		reload();
	}
	uidgen_pin_if_wanted();

	/*
	 * Not while a signal waits for this process.  The successor may have
	 * begun with the new settings, and would not see that they have changed.
	 */
	if (uidgen_successor_has_come() && !ConfigReloadPending && !ShutdownRequestPending)
		uidgen_hand_over();
}

/*
 * Make the attempts that are due.  Returns for how long nothing is, in milliseconds: 0 an attempt was made, so look
 * again; negative: until the latch is set.  *segments_timeout is the same for segments alone.
 */
static long
attend_demands(const UidgenLink *link, long *segments_timeout)
{
	long		timeout;

	*segments_timeout = -1;
	if (link->in_recovery())
		timeout = RECOVERY_POLL_MS;
	else
	{
		timeout = attend(&uidgen_memory->grant_demand, link);
		if (timeout != 0)
			timeout = sooner(timeout, attend_rehearsal(link));
		if (timeout != 0)
			timeout = sooner(timeout, keep_grant(link));
	}
	if (timeout != 0 && must_move())
		timeout = sooner(timeout, attend_move());
	if (!uidgen_link()->in_recovery())
		*segments_timeout = attend_segments();
	return sooner(timeout, *segments_timeout);
}

void
uidgen_keeper_main(Datum main_arg)
{
	UidgenMicroseconds idle_since;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, handle_sigterm);
	BackgroundWorkerUnblockSignals();

	/* The keeper must run no transactions during pg_upgrade. */
	if (IsBinaryUpgrade)
		proc_exit(0);

	/*
	 * Another copy of the library than the one that was preloaded has no
	 * shared memory; see memory/worker.c.
	 */
	if (!uidgen_preloaded && uidgen_settings_of_another())
	{
		ereport(LOG,
				(errmsg("the uidgen keeper's process found another library than the server has preloaded"),
				 errhint("Restart the server.")));
		proc_exit(0);
	}

	/* What it says is ASCII then, and libpq's texts are: see plaintext.h. */
	SetConfigOption("lc_messages", "C", PGC_SUSET, PGC_S_OVERRIDE);
	uidgen_pinning_begin();
	uidgen_enter_slot(end_attempts);
	uidgen_settle();
	attempt_context = AllocSetContextCreate(TopMemoryContext, "uidgen keeper",
											ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(attempt_context);
	uidgen_grants_bound();
	idle_since = uidgen_clock_monotonic();

	for (;;)
	{
		const UidgenLink *link;
		long		timeout;
		long		segments_timeout;

		handle_interrupts();
		link = link_in_use();
		timeout = attend_demands(link, &segments_timeout);
		if (timeout == 0)
		{
			idle_since = uidgen_clock_monotonic();
			continue;
		}
		if (link->is_connected() && segments_timeout < 0 &&
			uidgen_demand_open(&uidgen_memory->grant_demand) == 0)
		{
			long		idle = milliseconds_until(idle_since + INT64CONST(1000) * idle_ms(link));

			timeout = sooner(timeout, idle > 0 ? idle : close_connection(link));
		}
		if (has_moved() && uidgen_link_local.is_connected())
			timeout = sooner(timeout, close_connection(&uidgen_link_local));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
						 (timeout > 0 ? WL_TIMEOUT : 0), timeout,
						 uidgen_wait_event(&idle_wait_event, "UidgenKeeper"));
	}
}
