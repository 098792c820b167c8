/*
 * session.c
 *	  A client that runs a program of statements and goes on after each error.
 *
 * Usage: session PROGRAM IDS LOG CONNINFO...
 *
 * Each line of PROGRAM is one step, its parts separated by tabs:
 *
 *	  connect NODE DATABASE ROLE [OPTIONS]	to the NODE-th CONNINFO, anew
 *	  pause MS
 *	  cancel MS				ask the server to cancel the next statement after MS
 *	  copy ROWS FLAGS SQL	COPY FROM STDIN, of ROWS lines with a number each
 *	  query FLAGS TAG SQL
 *	  program NAME			is noted in LOG
 *	  end					wait until the session is to end; what follows is run then
 *
 * FLAGS are letters: o, f, c, s and g for those of record.h; e: by the extended
 * protocol; a: ids that this session has seen before may come again (a cursor that
 * goes back), and are left out then; n: the result is counters, of which none may
 * be negative.  "-" stands for none.
 *
 * Every id that arrives is written to IDS (record.h) at once: in columns named id,
 * or first_id and last_id for a block, each as often as a row has them; as the
 * bigints of a COPY in binary form; or in a notice "id=N".  So it does not matter
 * whether the statement fails later or its transaction is rolled back.  A lost
 * connection is made again before the next statement.  LOG gets a line for each step.
 *
 * SIGTERM tells it to end: steps up to "end" are passed over.  It is started under
 * the server's false clock (FakeClock.pm), so that its clock is the server's.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#include "record.h"

#define MS INT64_C(1000000)

/* A statement is cancelled after that long: some would go on for minutes. */
#define PATIENCE_MS 4000
/* And what does not end then hangs. */
#define HANG_MS 40000
#define CONNECT_MS 60000

#define RANGES 4096
#define SEEN (1 << 16)

static FILE *ids_file;
static FILE *log_file;
static char **conninfos;
static int	nconninfos;

static PGconn *conn;
static char connect_to[1024];
static int	node;
static uint32_t connection;

static volatile sig_atomic_t to_end = 0;

/* The chunk in hand, and what this statement came to. */
static Chunk chunk;
static Range ranges[RANGES];
static bool may_come_again;
static long drawn;

/* The last ids that the session saw, for those that may come again. */
static int64_t seen[SEEN];
static unsigned int nseen;

/* The statement's deadlines, by the monotonic clock; 0: none. */
static int64_t cancel_at;
static int64_t hang_at;

static void fail(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *format,...)
{
	va_list		args;

	fputs("session: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static int64_t
read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t) now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void
handle_sigterm(int signal)
{
	(void) signal;
	to_end = 1;
}

/* ---- ids ---- */

static void
flush_ids(void)
{
	if (chunk.ranges > 0 &&
		(fwrite(&chunk, sizeof(chunk), 1, ids_file) != 1 ||
		 fwrite(ranges, sizeof(Range), chunk.ranges, ids_file) != chunk.ranges))
		fail("cannot write the ids");
	chunk.ranges = 0;
}

static void
note_ids(int64_t first, int64_t last)
{
	if (may_come_again)
		for (unsigned int i = 0; i < nseen && i < SEEN; i++)
			if (seen[i] == first)
				return;
	seen[nseen++ % SEEN] = first;
	if (chunk.ranges == RANGES)
		flush_ids();
	ranges[chunk.ranges++] = (Range) {first, last};
	drawn += last - first + 1;
}

/* Whatever arrived up to now did so before this time. */
static void
note_arrival(void)
{
	flush_ids();
	chunk.wall_after = read_clock(CLOCK_REALTIME);
	chunk.mono_after = read_clock(CLOCK_MONOTONIC);
}

static void
receive_notice(void *arg, const PGresult *result)
{
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int64_t		id;

	(void) arg;
	if (message && sscanf(message, "id=%" SCNd64, &id) == 1)
		note_ids(id, id);
}

/* The ids in a row, from left to right.  Counters: none may be negative. */
static void
read_rows(const PGresult *result, bool counters, uint32_t line)
{
	for (int row = 0; row < PQntuples(result); row++)
	{
		int64_t		first = 0;

		for (int column = 0; column < PQnfields(result); column++)
		{
			const char *name = PQfname(result, column);
			int64_t		value;

			if (PQgetisnull(result, row, column))
				continue;
			value = strtoll(PQgetvalue(result, row, column), NULL, 10);
			if (counters && value < 0)
				fprintf(log_file, "%u NEGATIVE %s %" PRId64 "\n", line, name, value);
			if (strcmp(name, "id") == 0)
				note_ids(value, value);
			else if (strcmp(name, "first_id") == 0)
				first = value;
			else if (strcmp(name, "last_id") == 0)
				note_ids(first, value);
		}
	}
}

/* The rows of a COPY in binary form come one at a time, the first mostly behind
 * the header. */
static void
read_copy_row(const char *row, int length)
{
	int			at = 2;			/* behind the number of fields */

	if (length >= 19 && memcmp(row, "PGCOPY\n\377", 8) == 0)
	{
		row += 19;
		length -= 19;
	}
	/* The trailer is too short for a field; each has its length, 8, in front. */
	for (; at + 12 <= length; at += 12)
	{
		uint64_t	id = 0;

		for (int i = 4; i < 12; i++)
			id = id << 8 | (unsigned char) row[at + i];
		note_ids((int64_t) id, (int64_t) id);
	}
}

/* ---- the connection ---- */

/* Wait for input, and read it.  False if the connection is lost or hangs. */
static bool
wait_for_input(void)
{
	for (;;)
	{
		struct pollfd input = {.fd = PQsocket(conn), .events = POLLIN};
		int64_t		now = read_clock(CLOCK_MONOTONIC);

		if (cancel_at > 0 && now >= cancel_at)
		{
			PGcancel   *cancel = PQgetCancel(conn);
			char		error[256];

			if (cancel)
				(void) PQcancel(cancel, error, sizeof(error));
			PQfreeCancel(cancel);
			cancel_at = 0;
		}
		if (now >= hang_at)
			return false;
		if (poll(&input, 1, (int) (((cancel_at > 0 ? cancel_at : hang_at) - now) / MS) + 1) > 0)
			break;
	}
	flush_ids();
	if (!PQconsumeInput(conn))
	{
		note_arrival();
		return false;
	}
	note_arrival();
	return true;
}

static void
disconnect(void)
{
	PQfinish(conn);
	conn = NULL;
}

/* Until it succeeds: the server may be down. */
static bool
connected(void)
{
	int64_t		end = read_clock(CLOCK_MONOTONIC) + CONNECT_MS * MS;

	if (conn && PQstatus(conn) == CONNECTION_OK)
		return true;
	for (;;)
	{
		disconnect();
		conn = PQconnectdb(connect_to);
		if (PQstatus(conn) == CONNECTION_OK)
			break;
		if (read_clock(CLOCK_MONOTONIC) > end)
		{
			fprintf(log_file, "NO CONNECTION %s", PQerrorMessage(conn));
			return false;
		}
		nanosleep(&(struct timespec) {.tv_nsec = 20 * MS}, NULL);
	}
	PQsetNoticeReceiver(conn, receive_notice, NULL);
	connection++;
	return true;
}

/* ---- the steps ---- */

/* Send ROWS lines to a COPY FROM. */
static void
send_rows(int rows)
{
	char		line[32];

	for (int i = 0; i < rows; i++)
	{
		int			length = snprintf(line, sizeof(line), "%d\n", i);

		if (PQputCopyData(conn, line, length) != 1)
			return;
	}
	(void) PQputCopyEnd(conn, NULL);
}

/* Run one statement; the chunk's head has been filled in.  Writes its line of the
 * log. */
static void
run_statement(uint32_t line, const char *flags, const char *sql, int rows, int64_t cancel_ms)
{
	char		outcome[512] = "ok";
	PGresult   *result;
	bool		lost = false;

	drawn = 0;
	chunk.line = line;
	chunk.connection = connection;
	chunk.node = (uint16_t) node;
	chunk.flags = (uint16_t) ((strchr(flags, 'o') ? RECORD_ORDERED : 0) |
							  (strchr(flags, 'f') ? RECORD_FRESH : 0) |
							  (strchr(flags, 'g') ? RECORD_NUMBERS : 0));
	may_come_again = strchr(flags, 'a') != NULL;
	chunk.mono_before = read_clock(CLOCK_MONOTONIC);
	chunk.wall_before = read_clock(CLOCK_REALTIME);
	cancel_at = chunk.mono_before + (cancel_ms >= 0 ? cancel_ms : PATIENCE_MS) * MS;
	hang_at = chunk.mono_before + HANG_MS * MS;

	if (!(strchr(flags, 'e') ? PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0)
		  : PQsendQuery(conn, sql)))
		lost = true;
	else
		(void) PQsetSingleRowMode(conn);
	note_arrival();

	while (!lost)
	{
		ExecStatusType status;

		while (!lost && PQisBusy(conn))
			lost = !wait_for_input();
		if (lost || !(result = PQgetResult(conn)))
			break;
		status = PQresultStatus(result);
		if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK)
			read_rows(result, strchr(flags, 'n') != NULL, line);
		else if (status == PGRES_COPY_IN)
			send_rows(rows);
		else if (status == PGRES_COPY_OUT)
		{
			char	   *row;
			int			length;

			while ((length = PQgetCopyData(conn, &row, true)) >= 0 && !lost)
			{
				if (length == 0)
				{
					lost = !wait_for_input();
					continue;
				}
				read_copy_row(row, length);
				PQfreemem(row);
			}
		}
		else if (status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
		{
			const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
			const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

			if (!state)
				lost = true;
			snprintf(outcome, sizeof(outcome), "%s %s", state ? state : "08006",
					 message ? message : PQresultErrorMessage(result));
		}
		PQclear(result);
	}
	flush_ids();
	fflush(ids_file);
	if (lost || PQstatus(conn) != CONNECTION_OK)
	{
		if (read_clock(CLOCK_MONOTONIC) >= hang_at)
			snprintf(outcome, sizeof(outcome), "HANGS");
		else if (strcmp(outcome, "ok") == 0)
			snprintf(outcome, sizeof(outcome), "08006 %s", PQerrorMessage(conn));
		disconnect();
	}
	outcome[strcspn(outcome, "\n")] = '\0';
	fprintf(log_file, "%u %" PRId64 " %" PRId64 " %ld %s\n", line, chunk.mono_before / MS,
			(read_clock(CLOCK_MONOTONIC) - chunk.mono_before) / MS, drawn, outcome);
	fflush(log_file);
}

static char *
part(char **rest, const char *what)
{
	char	   *found = strsep(rest, "\t");

	if (!found)
		fail("a step lacks its %s", what);
	return found;
}

int
main(int argc, char **argv)
{
	char	   *text = NULL;
	size_t		size = 0;
	uint32_t	line = 0;
	int64_t		cancel_ms = -1;
	bool		ending = false;
	FILE	   *program;
	struct sigaction term = {.sa_handler = handle_sigterm};

	if (argc < 5)
		fail("usage: session PROGRAM IDS LOG CONNINFO...");
	sigaction(SIGTERM, &term, NULL);
	signal(SIGPIPE, SIG_IGN);
	program = fopen(argv[1], "r");
	ids_file = fopen(argv[2], "w");
	log_file = fopen(argv[3], "w");
	if (!program || !ids_file || !log_file)
		fail("cannot open %s, %s or %s", argv[1], argv[2], argv[3]);
	setvbuf(ids_file, NULL, _IOFBF, 1 << 20);
	conninfos = argv + 4;
	nconninfos = argc - 4;

	while (getline(&text, &size, program) > 0)
	{
		char	   *rest = text;
		char	   *step;

		line++;
		text[strcspn(text, "\n")] = '\0';
		step = strsep(&rest, "\t");
		if (strcmp(step, "end") == 0)
		{
			ending = true;
			fflush(log_file);
			while (!to_end)
				(void) poll(NULL, 0, 20);
		}
		if (to_end && !ending)
			continue;

		if (strcmp(step, "connect") == 0)
		{
			int			wanted = atoi(part(&rest, "node"));
			char	   *database = part(&rest, "database");
			char	   *role = part(&rest, "role");

			if (wanted >= nconninfos)
				fail("there is no node %d", wanted);
			node = wanted;
			snprintf(connect_to, sizeof(connect_to),
					 "%s dbname=%s user=%s options='%s' connect_timeout=10 application_name=session",
					 conninfos[node], database, role, rest ? rest : "");
			disconnect();
		}
		else if (strcmp(step, "pause") == 0)
			(void) poll(NULL, 0, atoi(part(&rest, "time")));
		else if (strcmp(step, "cancel") == 0)
			cancel_ms = atoi(part(&rest, "time"));
		else if (strcmp(step, "query") == 0 || strcmp(step, "copy") == 0)
		{
			bool		copy = strcmp(step, "copy") == 0;
			int			rows = copy ? atoi(part(&rest, "rows")) : 0;
			char	   *flags = part(&rest, "flags");
			int			tag = copy ? -1 : atoi(part(&rest, "tag"));

			chunk.tag = tag;
			if (connected())
				run_statement(line, flags, rest, rows, cancel_ms);
			cancel_ms = -1;
		}
		else if (strcmp(step, "program") == 0)
			fprintf(log_file, "%u program %s\n", line, rest);
		else if (strcmp(step, "end") != 0)
			fail("there is no step \"%s\"", step);
	}
	if (fclose(ids_file) != 0 || fclose(log_file) != 0)
		fail("cannot write %s or %s", argv[2], argv[3]);
	disconnect();
	return 0;
}
