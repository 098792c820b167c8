/*
 * load.c
 *	  Many nodes of a fleet, played by one process against one real registry.
 *
 *	load [OPTION]... CONNINFO
 *
 *	--nodes N		so many (1000)
 *	--window MS		uidgen.window of all (10000)
 *	--timeout MS	uidgen.registry_timeout of all (5000)
 *	--every MS		each node draws an id about as often (100)
 *	--idle MS		a connection without a demand is kept for so long (30000, or a window)
 *	--seed N		what is random (1)
 *
 * What a node does is what the rules say: attempts of the keeper, lease, node, fleet's time, shared words and
 * pauses after failures are those of src/core.  What this file adds is what takes real time: connections and waits
 * for answers.  What counts as an answer is as in src/remote/client.c, which knows one connection, and this program ten thousand.
 *
 * The host of a connection string is one address; the nodes log in as node0, node1 and so on,
 * unless the string names a user.
 *
 * Commands come as lines, and each is answered by lines; see command().  Of all that nodes are told,
 * no tick of a worker id may be another node's: that ends the program at once.
 */
#include "simulation.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/pause.h"

#define LAYOUT "time:41:1ms worker:16 sequence:6 epoch:2025-01-01"
#define TIME_BITS 41
#define WORKER_BITS 16
#define SEQUENCE_BITS 6
#define EPOCH INT64_C(1735689600000000)

#define NEVER INT64_MAX

/* What the simulation shares; of its world, the time and the settings count. */
World		world;
int64_t		events[EVENTS];

typedef enum Activity
{
	WAITING,					/* for a demand, or for the end of a pause */
	CONNECTING,
	CALLING
} Activity;

/* What a node has besides what the simulation plays. */
typedef struct Player
{
	Activity	activity;
	PGconn	   *conn;
	int			fd;				/* that epoll knows; -1: none */
	PostgresPollingStatusType polling;
	PGresult   *result;
	bool		warned;			/* the answer came with a WARNING */
	bool		several;		/* ... or is more than one result */
	UidgenMicroseconds began;	/* the attempt */
	UidgenMicroseconds sent;	/* the call */
	UidgenMicroseconds deadline;	/* of the connection or the call */
	bool		connected_now;	/* in this attempt */
	int			failures_in_row;
	UidgenMicroseconds failing_since;
	UidgenMicroseconds next;	/* demand, or attempt after a pause */
	UidgenMicroseconds idle_end;	/* of the connection */
	bool		drawing;		/* it issues ids */
	int			worker;			/* that it had last; -1: none */
} Player;

static Player *players;
static int	nodes = 1000;
static UidgenMicroseconds every = 100000;
static UidgenMicroseconds idle = -1;
static const char *conninfo_text;
static PQconninfoOption *conninfo;
static const char *forced_user;
static uint64_t chance = 1;
static int	epoll;
static bool ended;

/* ---- chance and time ---- */

/* Marsaglia, "Xorshift RNGs", 2003; multiplied. */
static uint64_t
random_bits(void)
{
	chance ^= chance >> 12;
	chance ^= chance << 25;
	chance ^= chance >> 27;
	return chance * UINT64_C(2685821657736338717);
}

/* From 0 to below 1. */
static double
random_part(void)
{
	return (double) (random_bits() >> 11) / (double) (UINT64_C(1) << 53);
}

int64_t
new_number(void)
{
	return (int64_t) random_bits();
}

/* The wall clock, which nobody sets here. */
static UidgenMicroseconds
look_at_clock(void)
{
	static UidgenMicroseconds offset = 0;

	if (offset == 0)
		offset = uidgen_clock_offset();
	world.now = uidgen_clock_boot() + offset;
	return world.now;
}

UidgenTick
tick_of(UidgenMicroseconds time)
{
	return (time - EPOCH) / world.setup.unit;
}

static UidgenMicroseconds
tick_begins(UidgenTick tick)
{
	return tick * world.setup.unit + EPOCH;
}

/* ---- figures ---- */

/* Times in classes that differ by 1/64. */
#define CLASSES (41 * 64)
typedef struct Times
{
	int64_t		count;
	UidgenMicroseconds longest;
	int64_t		classes[CLASSES];
} Times;

static int
class_of(UidgenMicroseconds time)
{
	int			octave = 0;

	if (time < 128)
		return (int) time;
	while (time >> octave >= 128)
		octave++;
	return Min(octave * 64 + (int) (time >> octave), CLASSES - 1);
}

/* The longest time of a class. */
static UidgenMicroseconds
class_ends(int class)
{
	int			octave = class < 128 ? 0 : class / 64 - 1;

	return ((UidgenMicroseconds) (class - octave * 64 + 1) << octave) - 1;
}

static void
note_time(Times *times, UidgenMicroseconds time)
{
	times->count++;
	times->longest = Max(times->longest, time);
	times->classes[class_of(Max(time, 0))]++;
}

static double
percentile(const Times *times, double percent)
{
	int64_t		left = (int64_t) (percent / 100 * (double) times->count + 0.999999);

	for (int i = 0; i < CLASSES; i++)
		if ((left -= times->classes[i]) <= 0)
			return (double) Min(class_ends(i), times->longest) / 1000;
	return (double) times->longest / 1000;
}

/* What failed, by SQLSTATE. */
typedef struct Failures
{
	char		sqlstate[6];
	int64_t		count;
} Failures;

#define FAILURES 32

typedef struct Figures
{
	UidgenMicroseconds since;
	Times		renewals;		/* the call alone */
	Times		acquisitions;
	Times		attempts;		/* all of an attempt that succeeded, with
								 * connecting */
	Times		logins;			/* connecting */
	int64_t		calls;			/* sent */
	int64_t		connects;		/* begun */
	int64_t		given_up;		/* calls that were sent and not answered in
								 * time */
	int64_t		fenced;
	int64_t		changed;		/* worker ids, of nodes that had one */
	int			peak_calls;		/* in a second */
	int			peak_connects;
	Failures	failures[FAILURES];
} Figures;

static Figures figures;
static Figures second;			/* the present one */
static bool timeline;

static void
count_failure(const char *sqlstate)
{
	Failures   *failures = figures.failures;

	for (int i = 0; i < FAILURES; i++)
	{
		if (failures[i].count == 0)
			strcpy(failures[i].sqlstate, sqlstate);
		if (strcmp(failures[i].sqlstate, sqlstate) == 0)
		{
			failures[i].count++;
			return;
		}
	}
}

static void
print_times(const char *name, const Times *times)
{
	printf(" %s.count=%" PRId64 " %s.p50=%.1f %s.p99=%.1f %s.p999=%.1f %s.max=%.1f", name, times->count,
		   name, percentile(times, 50), name, percentile(times, 99), name, percentile(times, 99.9),
		   name, (double) times->longest / 1000);
}

static void
begin_figures(void)
{
	memset(&figures, 0, sizeof(figures));
	figures.since = look_at_clock();
}

/* ---- what fleet.c shares with the rest of the simulation ---- */

bool
is_broken(const char *name)
{
	(void) name;
	return false;
}

void
tell(const char *format,...)
{
	(void) format;
}

void
fail(const char *promise, const char *format,...)
{
	va_list		args;

	printf("broken %s: ", promise);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
	fflush(stdout);
	exit(1);
}

/* What nodes were told to be theirs, by worker id: each life of a node once for each grant that
 * it went on with. */
typedef struct Told
{
	int			life;
	UidgenTick	first;
	UidgenTick	last;
} Told;

static struct
{
	Told	   *list;
	int			n;
	int			room;
}			told[1 << WORKER_BITS];
static int64_t tolds;

void
judge_told(Node *node, int worker, UidgenTick first, UidgenTick last)
{
	Told	   *list = told[worker].list;
	int			n = told[worker].n;

	for (int i = n - 1; i >= 0; i--)
		if (list[i].first <= last && list[i].last >= first)
			fail("P1", "ticks %" PRId64 " to %" PRId64 " of worker id %d were granted before",
				 Max(first, list[i].first), Min(last, list[i].last), worker);
	tolds++;
	if (n > 0 && list[n - 1].life == node->memory.life && list[n - 1].last + 1 == first)
	{
		list[n - 1].last = last;
		return;
	}
	if (n == told[worker].room)
	{
		told[worker].room = told[worker].room * 2 + 4;
		told[worker].list = list = realloc(list, (size_t) told[worker].room * sizeof(Told));
	}
	list[told[worker].n++] = (Told) {node->memory.life, first, last};
}

void
judge_worker(Node *node, const UidgenGrant *before, const UidgenGrant *grant, UidgenStepKind step)
{
	Player	   *player = &players[node - world.nodes];

	(void) before;
	(void) step;
	figures.changed += player->worker >= 0 && player->worker != grant->worker;
	player->worker = grant->worker;
}

/* An id lies in what its node was told. */
void
judge_ids(Node *node, const UidgenTicket *ticket, UidgenTick now)
{
	const UidgenGrant *grant = &node->memory.lease.grant;
	UidgenTick	tick = (UidgenTick) (ticket->first >> SEQUENCE_BITS);

	(void) now;
	if (tick < grant->first || tick > grant->last)
		fail("P2", "an id of tick %" PRId64 " of worker id %d is not granted", tick, grant->worker);
}

void
judge_renewal(Node *node, const Reply *reply)
{
	(void) node;
	(void) reply;
}

/* Of what other registries granted there is nothing here, and no segments. */
static void
not_here(const char *what)
{
	fail("load", "%s is not played", what);
}

void
judge_known(const Node *node, const Reply *reply)
{
	(void) node;
	fail("known", "worker id %d is granted from tick %" PRId64 ", which its node knows to be granted", reply->worker, reply->first);
}

void
judge_local(const Node *node, const UidgenGrant *grant)
{
	(void) node;
	(void) grant;
	not_here("a local registry");
}

void
judge_imported(const Node *node, const Call *call)
{
	(void) node;
	(void) call;
	not_here("a local registry");
}

void
slots_start(Memory *memory)
{
	(void) memory;
}

void
keeper_hear_fetch(Node *node, const Reply *reply)
{
	(void) node;
	(void) reply;
	not_here("a segment");
}

void
keeper_hear_hand_back(Node *node, bool done)
{
	(void) node;
	(void) done;
	not_here("a segment");
}

/* ---- timers: a heap, with one for each node ---- */

static struct
{
	UidgenMicroseconds *time;	/* of each node */
	int		   *heap;			/* nodes */
	int		   *place;			/* of each node in the heap */
}			timers;

static void
put_timer(int place, int n)
{
	timers.heap[place] = n;
	timers.place[n] = place;
}

static void
set_timer(int n, UidgenMicroseconds time)
{
	int			place = timers.place[n];

	timers.time[n] = time;
	while (place > 0 && timers.time[timers.heap[(place - 1) / 2]] > time)
	{
		put_timer(place, timers.heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	for (;;)
	{
		int			child = 2 * place + 1;

		if (child + 1 < nodes && timers.time[timers.heap[child + 1]] < timers.time[timers.heap[child]])
			child++;
		if (child >= nodes || timers.time[timers.heap[child]] >= time)
			break;
		put_timer(place, timers.heap[child]);
		place = child;
	}
	put_timer(place, n);
}

/* ---- connections ---- */

static void attempt_ends(int n);
static void receive(int n);

static void
receive_notice(void *arg, const PGresult *notice)
{
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (!severity || strcmp(severity, "WARNING") == 0)
		((Player *) arg)->warned = true;
}

static void
disconnect(int n)
{
	Player	   *player = &players[n];

	PQclear(player->result);
	player->result = NULL;
	if (!player->conn)
		return;
	if (player->fd >= 0)
		(void) epoll_ctl(epoll, EPOLL_CTL_DEL, player->fd, NULL);
	player->fd = -1;
	PQfinish(player->conn);
	player->conn = NULL;
}

/* Wait for the connection once. */
static void
wait_for(int n, uint32_t what)
{
	Player	   *player = &players[n];
	struct epoll_event event = {.events = what | EPOLLONESHOT,.data.u32 = (uint32_t) n};
	int			fd = PQsocket(player->conn);

	if (fd == player->fd && epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0)
		return;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		fail("load", "cannot wait for a connection: %s", strerror(errno));
	player->fd = fd;
}

static void
begin_connecting(int n)
{
	Player	   *player = &players[n];
	const char *keywords[64];
	const char *values[64];
	char		user[20];
	int			count = 0;

	disconnect(n);
	for (PQconninfoOption *option = conninfo; option->keyword; option++)
		if (option->val && count < 60)
		{
			keywords[count] = option->keyword;
			values[count++] = option->val;
		}
	if (!forced_user)
	{
		snprintf(user, sizeof(user), "node%d", n);
		keywords[count] = "user";
		values[count++] = user;
	}
	keywords[count] = NULL;
	figures.connects++;
	second.connects++;
	player->activity = CONNECTING;
	player->connected_now = true;
	player->sent = look_at_clock();
	player->deadline = world.now + world.setup.timeout;
	player->conn = PQconnectStartParams(keywords, values, 0);
	if (!player->conn)
		fail("load", "out of memory");
	PQsetNoticeReceiver(player->conn, receive_notice, player);
	player->polling = PGRES_POLLING_WRITING;
	set_timer(n, player->deadline);
	if (PQstatus(player->conn) != CONNECTION_BAD)
		wait_for(n, EPOLLOUT);
	else
		set_timer(n, world.now);
}

/* ---- calls ---- */

#define PARAMETERS 24
static struct
{
	const char *values[PARAMETERS];
	char		texts[PARAMETERS][256];
	Oid			types[PARAMETERS];
	int			n;
}			parameters;

/* As in catalog/pg_type.h. */
#define INT8 20
#define INT4 23
#define TEXT 25
#define INT8S 1016

static void
add(Oid type, const char *format,...)
{
	va_list		args;
	int			n = parameters.n++;

	va_start(args, format);
	vsnprintf(parameters.texts[n], sizeof(parameters.texts[n]), format, args);
	va_end(args);
	parameters.values[n] = parameters.texts[n];
	parameters.types[n] = type;
}

static void
add_number(int64_t number)
{
	add(INT8, "%" PRId64, number);
}

static void
add_tokens(const Call *call)
{
	char		text[256];
	int			length = 0;

	for (int i = 0; i < call->nknown; i++)
		length += sprintf(text + length, "%c%" PRId64, i == 0 ? '{' : ',', call->known_tokens[i]);
	add(INT8S, "%s", call->nknown == 0 ? "{}" : strcat(text, "}"));
}

/* As in fleet_registry.c.  The identity is as long as a real one. */
static const char *
write_call(int n, const Call *call)
{
	parameters.n = 0;
	if (call->kind == CALL_RENEW)
	{
		add(INT4, "0");
		add(INT4, "%d", call->worker);
		add_number(call->old_token);
		add_number(call->until);
		add_number(call->token);
		add_number(call->needed);
		add_number(call->window);
		add_number(call->at);
		add_number(call->not_after);
		return "SELECT * FROM uidgen_registry.lease_renew($1, $2, $3, $4, $5, $6, $7, $8, $9)";
	}
	if (call->kind != CALL_ACQUIRE)
		not_here("such a call");
	add(TEXT, "7432160955110%06d/1/%d/1763856000.123456789/0123456789abcdef0123456789abcdef", n, 1000000 + n);
	add(TEXT, LAYOUT);
	add_number(call->token);
	add_tokens(call);
	add(INT4, "%d", call->worker);
	add_number(call->worker < 0 ? -1 : call->until);
	add(INT4, "0");
	add(INT4, "-1");
	add_number(call->floor);
	add_number(call->window);
	add_number(call->at);
	add_number(call->not_after);
	add(TEXT, "host%d.example.com", n);
	add(INT4, "5432");
	add(INT4, "2");
	return "SELECT * FROM uidgen_registry.lease($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
}

static void hear_nothing(int n);

/* Send what the keeper has decided on. */
static void
send_call(int n)
{
	Player	   *player = &players[n];
	const char *statement = write_call(n, &world.nodes[n].keeper.call);
	int			unsent;

	figures.calls++;
	second.calls++;
	player->activity = CALLING;
	player->warned = player->several = false;
	player->sent = look_at_clock();
	player->deadline = world.now + world.setup.timeout;
	set_timer(n, player->deadline);
	if (!PQsendQueryParams(player->conn, statement, parameters.n, parameters.types, parameters.values, NULL, NULL, 0) ||
		(unsent = PQflush(player->conn)) < 0)
		hear_nothing(n);
	else
		wait_for(n, EPOLLIN | (unsent > 0 ? EPOLLOUT : 0));
}

/* No answer, or none that counts. */
static void
hear_nothing(int n)
{
	figures.given_up++;
	disconnect(n);
	keeper_hear_nothing(&world.nodes[n], false);
	strcpy(world.nodes[n].sqlstate, "08007");
	attempt_ends(n);
}

/* The registry's own error, or a host that lets nobody in: nothing was done. */
static void
hear_refusal(int n, const char *sqlstate)
{
	Node	   *node = &world.nodes[n];

	if (node->keeper.progress == NOT_CALLING)	/* the attempt began with
												 * connecting */
		keeper_fails(node, sqlstate, "no connection");
	else
	{
		node->keeper.reply = (Reply) {0};
		snprintf(node->keeper.reply.sqlstate, sizeof(node->keeper.reply.sqlstate), "%s", sqlstate);
		keeper_hear(node);
	}
	attempt_ends(n);
}

static int64_t
number_of(const PGresult *result, const char *column)
{
	int			field = PQfnumber(result, column);
	char	   *end;
	int64_t		number;

	if (field < 0 || PQgetisnull(result, 0, field))
		fail("load", "an answer has no %s", column);
	number = strtoll(PQgetvalue(result, 0, field), &end, 10);
	if (*end != '\0')
		fail("load", "an answer has %s as %s", PQgetvalue(result, 0, field), column);
	return number;
}

static bool
is_null(const PGresult *result, const char *column)
{
	return PQgetisnull(result, 0, PQfnumber(result, column));
}

/* A row has come, and its commit. */
static void
hear(int n)
{
	Player	   *player = &players[n];
	Node	   *node = &world.nodes[n];
	Keeper	   *keeper = &node->keeper;
	const PGresult *result = player->result;
	bool		renewal = keeper->call.kind == CALL_RENEW;
	Reply		reply = {
		.clock = number_of(result, "clock"),
		.word = {
			.life = {
				.registry_id = number_of(result, "registry_id"),
				.cluster = number_of(result, "system_identifier"),
				.timeline = (int) number_of(result, "timeline"),
			},
			.max_lead = number_of(result, "max_lead"),
			.quarantine_until = number_of(result, "quarantine_until"),
		},
	};

	note_time(renewal ? &figures.renewals : &figures.acquisitions, world.now - player->sent);
	if (renewal)
	{
		reply.granted = !is_null(result, "last_tick");
		reply.worker = keeper->call.worker;
		reply.last = reply.granted ? number_of(result, "last_tick") : 0;
		figures.fenced += !reply.granted;
	}
	else
	{
		reply.granted = !is_null(result, "worker");
		reply.has_first = !is_null(result, "first_tick");
		reply.first = reply.has_first ? number_of(result, "first_tick") : 0;
		if (reply.granted)
		{
			reply.worker = (int) number_of(result, "worker");
			reply.last = number_of(result, "last_tick");
			reply.seen = number_of(result, "seen_tick");
			reply.never_used = *PQgetvalue(result, 0, PQfnumber(result, "never_used")) == 't';
			reply.free_workers = number_of(result, "free_workers");
		}
	}
	PQclear(player->result);
	player->result = NULL;
	keeper->reply = reply;
	keeper_hear(node);
	if (keeper->progress == SENT)
		send_call(n);
	else
		attempt_ends(n);
}

/* As client.c judges what has come. */
static void
judge_answer(int n)
{
	Player	   *player = &players[n];
	const char *severity;
	const char *sqlstate;

	if (!player->result || player->several || player->warned || PQstatus(player->conn) != CONNECTION_OK ||
		PQtransactionStatus(player->conn) != PQTRANS_IDLE)
	{
		hear_nothing(n);
		return;
	}
	if (PQresultStatus(player->result) == PGRES_TUPLES_OK && PQntuples(player->result) == 1)
	{
		hear(n);
		return;
	}
	severity = PQresultErrorField(player->result, PG_DIAG_SEVERITY_NONLOCALIZED);
	sqlstate = PQresultErrorField(player->result, PG_DIAG_SQLSTATE);
	if (!severity || strcmp(severity, "ERROR") != 0 || !sqlstate || strncmp(sqlstate, "08", 2) == 0 ||
		strcmp(sqlstate, "40003") == 0)
		hear_nothing(n);
	else
	{
		char		state[6];

		/* Such an error is one of this program. */
		if (strncmp(sqlstate, "42", 2) == 0 || strncmp(sqlstate, "XX", 2) == 0)
			fail("load", "a call fails: %s", PQresultErrorMessage(player->result));
		snprintf(state, sizeof(state), "%s", sqlstate);
		PQclear(player->result);
		player->result = NULL;
		/* Another host, if there were one. */
		if (strcmp(state, "25006") == 0)
			disconnect(n);
		hear_refusal(n, state);
	}
}

static void
receive(int n)
{
	Player	   *player = &players[n];
	int			unsent = PQflush(player->conn);

	if (unsent < 0 || !PQconsumeInput(player->conn))
	{
		hear_nothing(n);
		return;
	}
	while (!PQisBusy(player->conn))
	{
		PGresult   *next = PQgetResult(player->conn);

		if (!next)
		{
			judge_answer(n);
			return;
		}
		player->several |= player->result != NULL;
		PQclear(player->result);
		player->result = next;
	}
	wait_for(n, EPOLLIN | (unsent > 0 ? EPOLLOUT : 0));
}

/* ---- attempts ---- */

/* Other attempts begin as soon as one ends. */
static struct
{
	int64_t		calls;			/* that are left to begin */
	int			under_way;
	int			next;
	UidgenMicroseconds began;
	int64_t		count;
}			fast;

static bool
has_grant(int n)
{
	Memory	   *memory = &world.nodes[n].memory;

	return memory->lease.held && uidgen_atomic_read(&memory->words.limit) != 0 &&
		memory->lease.grant.last >= node_tick(&world.nodes[n]);
}

/* Nothing was sent since the connection was used last, and it is still there. */
static bool
is_fresh(const Player *player)
{
	return PQconsumeInput(player->conn) && !PQisBusy(player->conn) && PQstatus(player->conn) == CONNECTION_OK &&
		PQtransactionStatus(player->conn) == PQTRANS_IDLE && !player->warned;
}

/* The connection stands. */
static void
go_on(int n)
{
	Node	   *node = &world.nodes[n];

	if (node->keeper.progress == NOT_CALLING)
		keeper_serve(node, false);
	send_call(n);
}

static void
attempt_begins(int n)
{
	Player	   *player = &players[n];

	player->began = look_at_clock();
	player->connected_now = false;
	world.nodes[n].failure = NULL;
	if (!player->conn)
	{
		begin_connecting(n);
		return;
	}
	keeper_serve(&world.nodes[n], false);
	if (is_fresh(player))
		send_call(n);
	else
		begin_connecting(n);
}

/* When a caller makes the next demand; it draws about every so often. */
static UidgenMicroseconds
next_demand(int n)
{
	Memory	   *memory = &world.nodes[n].memory;
	UidgenPosition renew_at = uidgen_atomic_read(&memory->words.renew_at);

	if (uidgen_atomic_read(&memory->words.limit) == 0)
		return world.now;
	return Max(world.now, tick_begins((UidgenTick) (renew_at >> SEQUENCE_BITS) + 1)) +
		(UidgenMicroseconds) (random_part() * (double) every);
}

/* With the jitter that uidgen_demand_failed() adds. */
static UidgenMicroseconds
next_pause(int n)
{
	const UidgenLease *lease = &world.nodes[n].memory.lease;
	int64_t		left = lease->held ? (lease->grant.last - node_tick(&world.nodes[n])) * world.setup.unit / 1000 : 0;
	int64_t		outage = players[n].failures_in_row == 0 ? 0 : (world.now - players[n].failing_since) / 1000;
	UidgenMicroseconds pause = uidgen_pause(players[n].failures_in_row, uidgen_last_fleet_pause(left, outage)) * 1000;

	return pause - (UidgenMicroseconds) ((double) (pause / 2) * random_part());
}

static void
wait_for_demand(int n)
{
	Player	   *player = &players[n];

	player->activity = WAITING;
	set_timer(n, player->conn ? Min(player->next, player->idle_end) : player->next);
}

static void
fast_goes_on(void)
{
	fast.under_way--;
	if (fast.calls > 0)
	{
		/* The next one that is at leisure. */
		for (int i = 0; i < nodes; i++)
		{
			int			n = fast.next++ % nodes;

			if (players[n].activity != WAITING)
				continue;
			fast.calls--;
			fast.under_way++;
			attempt_begins(n);
			return;
		}
	}
	if (fast.under_way == 0)
	{
		double		seconds = (double) (look_at_clock() - fast.began) / 1000000;

		printf("fast calls=%" PRId64 " seconds=%.1f rate=%.1f\n", fast.count, seconds, (double) fast.count / seconds);
		fast.count = 0;
		for (int n = 0; n < nodes; n++)
			if (players[n].activity == WAITING)
			{
				players[n].next = next_demand(n);
				wait_for_demand(n);
			}
	}
}

static void
attempt_ends(int n)
{
	Player	   *player = &players[n];
	Node	   *node = &world.nodes[n];

	look_at_clock();
	/* As end_failed() in client.c. */
	if (player->conn && (PQstatus(player->conn) != CONNECTION_OK || PQtransactionStatus(player->conn) != PQTRANS_IDLE))
		disconnect(n);
	if (node->failure)
	{
		count_failure(node->sqlstate);
		player->next = world.now + next_pause(n);
		if (player->failures_in_row++ == 0)
			player->failing_since = world.now;
	}
	else
	{
		note_time(&figures.attempts, world.now - player->began);
		player->failures_in_row = 0;
		player->next = next_demand(n);
	}
	player->idle_end = node->failure ? NEVER : world.now + idle;
	if (fast.count > 0)
		player->next = player->idle_end = NEVER;
	if (!player->drawing)
	{
		/* It was told to begin anew meanwhile. */
		disconnect(n);
		node_start(node);
		player->drawing = true;
		player->failures_in_row = 0;
		player->next = world.now;
	}
	wait_for_demand(n);
	if (fast.count > 0)
		fast_goes_on();
}

/* ---- events ---- */

static void
timer_ends(int n)
{
	Player	   *player = &players[n];

	switch (player->activity)
	{
		case CONNECTING:
			disconnect(n);
			hear_refusal(n, "08001");
			return;
		case CALLING:
			hear_nothing(n);
			return;
		case WAITING:
			break;
	}
	if (world.now < player->next)
	{
		disconnect(n);
		wait_for_demand(n);
	}
	else if (player->failures_in_row > 0)	/* callers go on to draw */
		attempt_begins(n);
	else
		switch (node_draw(&world.nodes[n], 1))
		{
			case DRAWN_AND_RENEW:
			case DRAWN_NO_GRANT:
				attempt_begins(n);
				break;
			case DRAWN_ALL:
			case DRAWN_TOO_FAR:
				player->next = Max(next_demand(n), world.now + every);
				wait_for_demand(n);
				break;
		}
}

static void
socket_ready(int n)
{
	Player	   *player = &players[n];

	switch (player->activity)
	{
		case CONNECTING:
			player->polling = PQconnectPoll(player->conn);
			if (player->polling == PGRES_POLLING_OK)
			{
				note_time(&figures.logins, world.now - player->sent);
				(void) PQsetnonblocking(player->conn, 1);
				go_on(n);
			}
			else if (player->polling == PGRES_POLLING_FAILED)
			{
				disconnect(n);
				hear_refusal(n, "08001");
			}
			else
				wait_for(n, player->polling == PGRES_POLLING_READING ? EPOLLIN : EPOLLOUT);
			break;
		case CALLING:
			receive(n);
			break;
		case WAITING:			/* it was closed, which the next call finds */
			break;
	}
}

/* ---- commands ---- */

/* All nodes are to have a grant. */
static struct
{
	UidgenMicroseconds since;	/* 0: nobody waits for that */
	UidgenMicroseconds looked;
}			awaited;

static int
count_grants(void)
{
	int			count = 0;

	for (int n = 0; n < nodes; n++)
		count += has_grant(n);
	return count;
}

/* Begin, or begin anew as after a crash, within so many seconds. */
static void
start(double seconds)
{
	for (int n = 0; n < nodes; n++)
	{
		Player	   *player = &players[n];

		if (player->activity != WAITING)
		{
			player->drawing = false;	/* see attempt_ends() */
			continue;
		}
		disconnect(n);
		node_start(&world.nodes[n]);
		player->drawing = true;
		player->failures_in_row = 0;
		player->next = world.now + (UidgenMicroseconds) (seconds * 1000000 * random_part());
		wait_for_demand(n);
	}
}

/* Each renews once, at a random moment of so many seconds, as nodes that began long ago do. */
static void
scatter(double seconds)
{
	for (int n = 0; n < nodes; n++)
		if (players[n].activity == WAITING && players[n].failures_in_row == 0)
		{
			Memory	   *memory = &world.nodes[n].memory;
			UidgenMicroseconds at = world.now + (UidgenMicroseconds) (seconds * 1000000 * random_part());
			UidgenPosition position = (UidgenPosition) tick_of(at) << SEQUENCE_BITS;

			if (position < uidgen_atomic_read(&memory->words.renew_at))
				uidgen_atomic_write(&memory->words.renew_at, position);
			players[n].next = next_demand(n);
			wait_for_demand(n);
		}
}

static void
print_figures(const char *name)
{
	double		seconds = (double) (world.now - figures.since) / 1000000;

	printf("figures name=%s seconds=%.1f nodes=%d granted=%d calls=%" PRId64 " connects=%" PRId64 " peak_calls=%d peak_connects=%d"
		   " given_up=%" PRId64 " fenced=%" PRId64 " changed=%" PRId64,
		   name, seconds, nodes, count_grants(), figures.calls, figures.connects, figures.peak_calls, figures.peak_connects,
		   figures.given_up, figures.fenced, figures.changed);
	print_times("renew", &figures.renewals);
	print_times("acquire", &figures.acquisitions);
	print_times("attempt", &figures.attempts);
	print_times("login", &figures.logins);
	for (int i = 0; i < FAILURES && figures.failures[i].count > 0; i++)
		printf(" failed.%s=%" PRId64, figures.failures[i].sqlstate, figures.failures[i].count);
	puts("");
	begin_figures();
}

static void
command(const char *line)
{
	char		word[32] = "";
	char		name[64] = "";
	double		number = 0;
	double		other = 0;

	if (sscanf(line, "figures %63s", name) == 1)
		print_figures(name);
	else if (sscanf(line, "%31s %lf %lf", word, &number, &other) < 1)
		return;
	else if (strcmp(word, "start") == 0)	/* start SECONDS */
		start(number);
	else if (strcmp(word, "scatter") == 0)	/* scatter SECONDS */
		scatter(number);
	else if (strcmp(word, "await") == 0)	/* answered once all have a grant */
		awaited.since = world.now;
	else if (strcmp(word, "timeline") == 0) /* timeline 0 or 1: a line for
											 * each second */
		timeline = number != 0;
	else if (strcmp(word, "fast") == 0) /* fast CALLS AT-ONCE */
	{
		int			at_once = (int) Min(other, nodes);

		fast.calls = fast.count = (int64_t) number;
		fast.began = world.now;
		fast.under_way = 0;
		for (int n = 0; n < nodes; n++)
			if (players[n].activity == WAITING)
			{
				players[n].next = players[n].idle_end = NEVER;
				wait_for_demand(n);
			}
		for (int i = 0; i < at_once; i++)
		{
			fast.under_way++;
			fast_goes_on();
		}
	}
	else if (strcmp(word, "quit") == 0)
		ended = true;
	else
		fail("load", "there is no command %s", word);
}

static void
read_commands(void)
{
	static char text[4096];
	static size_t length = 0;
	ssize_t		count = read(STDIN_FILENO, text + length, sizeof(text) - 1 - length);
	char	   *end;

	if (count <= 0)
	{
		ended = true;
		return;
	}
	length += (size_t) count;
	text[length] = '\0';
	while ((end = strchr(text, '\n')) != NULL)
	{
		*end = '\0';
		command(text);
		length -= (size_t) (end + 1 - text);
		memmove(text, end + 1, length + 1);
	}
}

/* What happens by the clock alone. */
static void
look_around(UidgenMicroseconds *second_ends)
{
	if (awaited.since != 0 && world.now - awaited.looked >= 50000)
	{
		awaited.looked = world.now;
		if (count_grants() == nodes)
		{
			printf("all seconds=%.2f\n", (double) (world.now - awaited.since) / 1000000);
			awaited.since = 0;
		}
	}
	if (world.now < *second_ends)
		return;
	figures.peak_calls = Max(figures.peak_calls, (int) second.calls);
	figures.peak_connects = Max(figures.peak_connects, (int) second.connects);
	if (timeline)
		printf("second calls=%" PRId64 " connects=%" PRId64 " granted=%d\n", second.calls, second.connects, count_grants());
	second.calls = second.connects = 0;
	*second_ends += 1000000 * ((world.now - *second_ends) / 1000000 + 1);
}

/* ---- the program ---- */

static void
play(void)
{
	UidgenMicroseconds second_ends = look_at_clock() + 1000000;
	struct epoll_event input = {.events = EPOLLIN,.data.u32 = UINT32_MAX};
	struct epoll_event ready[256];

	(void) epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input);
	begin_figures();
	while (!ended)
	{
		int64_t		wait = Max(Min(timers.time[timers.heap[0]] - look_at_clock(), 50000), 0);
		int			count = epoll_wait(epoll, ready, 256, (int) ((wait + 999) / 1000));

		for (int i = 0; i < count; i++)
		{
			look_at_clock();
			if (ready[i].data.u32 == UINT32_MAX)
				read_commands();
			else if (players[ready[i].data.u32].conn)
				socket_ready((int) ready[i].data.u32);
		}
		/* Not for ever, since answers come meanwhile. */
		for (int i = 0; i < 64 && timers.time[timers.heap[0]] <= look_at_clock(); i++)
			timer_ends(timers.heap[0]);
		look_around(&second_ends);
	}
	printf("ended told=%" PRId64 "\n", tolds);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"nodes", required_argument, NULL, 'n'},
		{"window", required_argument, NULL, 'w'},
		{"timeout", required_argument, NULL, 't'},
		{"every", required_argument, NULL, 'e'},
		{"idle", required_argument, NULL, 'i'},
		{"seed", required_argument, NULL, 's'},
		{0}
	};
	int64_t		window = 10000;
	char	   *error = NULL;
	int			option;

	world.setup.timeout = 5000000;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
	{
		int64_t		number = optarg ? strtoll(optarg, NULL, 10) : 0;

		switch (option)
		{
			case 'n':
				nodes = (int) number;
				break;
			case 'w':
				window = number;
				break;
			case 't':
				world.setup.timeout = number * 1000;
				break;
			case 'e':
				every = number * 1000;
				break;
			case 'i':
				idle = number * 1000;
				break;
			case 's':
				chance += (uint64_t) number << 20;
				break;
			default:
				return 2;
		}
	}
	if (nodes < 1 || nodes > NODES || optind >= argc)
	{
		fprintf(stderr, "see the head of load.c; there is room for %d nodes\n", NODES);
		return 2;
	}
	conninfo_text = argv[optind];
	conninfo = PQconninfoParse(conninfo_text, &error);
	if (!conninfo)
	{
		fprintf(stderr, "%s", error);
		return 2;
	}
	for (PQconninfoOption *each = conninfo; each->keyword; each++)
		if (each->val && strcmp(each->keyword, "user") == 0)
			forced_user = each->val;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* The defaults of the settings, in ticks of a millisecond. */
	world.setup.unit = 1000;
	world.setup.sequence_bits = SEQUENCE_BITS;
	world.setup.last_tick = (INT64_C(1) << TIME_BITS) - 1;
	world.setup.max_worker = (1 << WORKER_BITS) - 1;
	world.setup.window = window;
	world.setup.ahead = 3600000;
	world.setup.burst = 1000;
	world.setup.second = 1000;
	world.setup.padding_factor = 50;
	if (idle < 0)
		idle = uidgen_fleet_idle(window) * 1000;
	look_at_clock();

	epoll = epoll_create1(EPOLL_CLOEXEC);
	players = calloc((size_t) nodes, sizeof(Player));
	timers.time = calloc((size_t) nodes, sizeof(*timers.time));
	timers.heap = calloc((size_t) nodes, sizeof(*timers.heap));
	timers.place = calloc((size_t) nodes, sizeof(*timers.place));
	for (int n = 0; n < nodes; n++)
	{
		players[n].fd = -1;
		players[n].worker = -1;
		players[n].drawing = true;
		players[n].next = players[n].idle_end = NEVER;
		timers.time[n] = NEVER;
		put_timer(n, n);
		node_start(&world.nodes[n]);
	}
	play();
	return 0;
}
