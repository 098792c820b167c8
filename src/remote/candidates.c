/*
 * candidates.c
 *	  Hosts that are connected to, several at once, and asked which registry they have: see
 *	  candidates.h.
 */
#include "postgres.h"

#include "remote/candidates.h"

#include <sys/ioctl.h>

#include "compat.h"
#include "miscadmin.h"
#include "remote/plaintext.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#define QUESTION "SELECT * FROM uidgen_registry.registry_identity()"

/* As much of the other server's texts as is kept. */
#define DETAIL_MAX 250

/*
 * For how long a host that could not tell is not asked again: then it may have been updated, or have a
 * registry.  Each question is a line in its log.
 */
#define MUTE_TIME (INT64CONST(3600) * USECS_PER_SEC)

/* The answer is one short row; see also client.c. */
#define ANSWER_MAX (256 * 1024)

static uint32 wait_event = 0;

/* ---- one candidate ---- */

static bool
is_waiting(const UidgenCandidate *candidate)
{
	return candidate->state == UIDGEN_CANDIDATE_NAMED ||
		candidate->state == UIDGEN_CANDIDATE_CONNECTING ||
		candidate->state == UIDGEN_CANDIDATE_ASKED;
}

static void
forget_result(UidgenCandidate *candidate)
{
	PQclear(candidate->result);
	candidate->result = NULL;
}

static void
close_connection(UidgenCandidate *candidate)
{
	forget_result(candidate);
	if (candidate->conn)
		uidgen_hosts_disconnect(candidate->conn);
	candidate->conn = NULL;
}

static void
fail(UidgenCandidates *candidates, UidgenCandidate *candidate, const char *problem)
{
	uidgen_hosts_failed(candidates->hosts, candidate->host, problem);
	candidate->state = UIDGEN_CANDIDATE_FAILED;
	close_connection(candidate);
}

/* libpq says what is wrong. */
static void
fail_connection(UidgenCandidates *candidates, UidgenCandidate *candidate)
{
	fail(candidates, candidate, uidgen_plain_report(PQerrorMessage(candidate->conn), DETAIL_MAX));
}

/* What is said before a call was sent does not count. */
static void
ignore_notice(void *arg, const PGresult *notice)
{
}

static void
send_question(UidgenCandidates *candidates, UidgenCandidate *candidate)
{
	if (PQsetnonblocking(candidate->conn, 1) != 0)
		fail_connection(candidates, candidate);
	else if (!candidates->ask || uidgen_clock_monotonic() < candidate->host->mute_until)
		candidate->state = UIDGEN_CANDIDATE_READY;
	else if (PQsendQueryParams(candidate->conn, QUESTION, 0, NULL, NULL, NULL, NULL, 0))
		candidate->state = UIDGEN_CANDIDATE_ASKED;
	else
		fail_connection(candidates, candidate);
}

/* A column of the answer; NULL: it has none of this name, or it is null. */
static const char *
column(const PGresult *result, const char *name)
{
	int			number = PQfnumber(result, name);

	return number < 0 || PQgetisnull(result, 0, number) ? NULL : PQgetvalue(result, 0, number);
}

static void
read_answer(UidgenHost *host, const PGresult *result)
{
	const char *registry_id = column(result, "registry_id");
	const char *in_recovery = column(result, "in_recovery");
	char	   *end;

	if (!registry_id)
		return;
	errno = 0;
	host->registry_id = strtoi64(registry_id, &end, 10);
	host->told = errno == 0 && end != registry_id && *end == '\0';
	host->in_recovery = in_recovery && strcmp(in_recovery, "t") == 0;
}

/*
 * A refusal that is the same each time, and stands in the other server's log.  (It may have no
 * registry, or not let us in.)
 */
static bool
is_mute(const PGresult *result)
{
	static const char *const states[] = {"42883", "42501", "3F000"};
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	for (size_t i = 0; sqlstate && i < lengthof(states); i++)
		if (strcmp(sqlstate, states[i]) == 0)
			return true;
	return false;
}

static void
end_answer(UidgenCandidates *candidates, UidgenCandidate *candidate)
{
	UidgenHost *host = candidate->host;
	PGresult   *result = candidate->result;

	if (PQstatus(candidate->conn) != CONNECTION_OK ||
		PQtransactionStatus(candidate->conn) != PQTRANS_IDLE)
	{
		fail_connection(candidates, candidate);
		return;
	}
	host->told = host->in_recovery = false;
	if (result && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1)
		read_answer(host, result);
	else if (result)
		host->mute_until = is_mute(result) ? uidgen_clock_monotonic() + MUTE_TIME : 0;
	forget_result(candidate);
	candidate->state = UIDGEN_CANDIDATE_READY;
}

/* Take what has come of the answer. */
static void
receive_answer(UidgenCandidates *candidates, UidgenCandidate *candidate)
{
	PGconn	   *conn = candidate->conn;
	int			waiting = 0;

	if (ioctl(PQsocket(conn), FIONREAD, &waiting) == 0)
		candidate->length = waiting > ANSWER_MAX - candidate->length ? ANSWER_MAX : candidate->length + waiting;
	if (candidate->length >= ANSWER_MAX)
	{
		fail(candidates, candidate, "the answer is too long");
		return;
	}
	if (PQflush(conn) < 0 || !PQconsumeInput(conn))
	{
		fail_connection(candidates, candidate);
		return;
	}
	while (!PQisBusy(conn))
	{
		PGresult   *next = PQgetResult(conn);
		ExecStatusType status = PQresultStatus(next);

		if (!next)
		{
			end_answer(candidates, candidate);
			return;
		}
		if (candidate->result || (status != PGRES_TUPLES_OK && status != PGRES_FATAL_ERROR))
		{
			PQclear(next);
			fail(candidates, candidate, "the answer makes no sense");
			return;
		}
		candidate->result = next;
	}
}

static void
begin_connection(UidgenCandidates *candidates, UidgenCandidate *candidate, int timeout_ms)
{
	candidate->conn = uidgen_hosts_connect(candidates->hosts, candidate->host);
	candidate->state = UIDGEN_CANDIDATE_CONNECTING;
	candidate->polling = PGRES_POLLING_WRITING;
	candidate->begun = uidgen_clock_monotonic();
	candidate->end = candidate->begun + INT64CONST(1000) * timeout_ms;
	PQsetNoticeReceiver(candidate->conn, ignore_notice, NULL);
	if (PQstatus(candidate->conn) == CONNECTION_BAD)
		fail_connection(candidates, candidate);
}

/* Connect to it, if its addresses are known by now. */
static void
look_up(UidgenCandidates *candidates, UidgenCandidate *candidate, int timeout_ms)
{
	char	   *problem;

	switch (uidgen_hosts_look_up(candidates->hosts, candidate->host, &problem))
	{
		case UIDGEN_LOOKUP_UNDER_WAY:
			break;
		case UIDGEN_LOOKUP_FOUND:
			begin_connection(candidates, candidate, timeout_ms);
			break;
		case UIDGEN_LOOKUP_FAILED:
			fail(candidates, candidate, problem);
			break;
	}
}

/* It takes too long. */
static void
give_up(UidgenCandidates *candidates, UidgenCandidate *candidate, int timeout_ms)
{
	UidgenHost *host = candidate->host;
	bool		named = candidate->state == UIDGEN_CANDIDATE_NAMED;
	UidgenMicroseconds begun = named ? host->asked_at : candidate->begun;
	int			waited = (int) Min((uidgen_clock_monotonic() - begun) / 1000, timeout_ms);

	host->slow = named;
	fail(candidates, candidate,
		 psprintf(named ? "its name could not be looked up within %d ms%s" :
				  candidate->state == UIDGEN_CANDIDATE_CONNECTING ?
				  "no connection within %d ms%s" : "no answer within %d ms%s", waited,
				  named || !host->is_name || waited == timeout_ms ? "" : " after its name was looked up"));
}

/* Go on, as far as that needs no wait. */
static void
advance(UidgenCandidates *candidates, UidgenCandidate *candidate)
{
	if (candidate->state == UIDGEN_CANDIDATE_ASKED)
	{
		receive_answer(candidates, candidate);
		return;
	}
	candidate->polling = PQconnectPoll(candidate->conn);
	if (candidate->polling == PGRES_POLLING_FAILED)
		fail_connection(candidates, candidate);
	else if (candidate->polling == PGRES_POLLING_OK)
		send_question(candidates, candidate);
}

/* What it waits for. */
static uint32
awaited(const UidgenCandidate *candidate)
{
	if (candidate->state == UIDGEN_CANDIDATE_CONNECTING)
		return candidate->polling == PGRES_POLLING_READING ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE;
	return WL_SOCKET_READABLE | (PQflush(candidate->conn) > 0 ? WL_SOCKET_WRITEABLE : 0);
}

/* ---- all of them ---- */

UidgenCandidates *
uidgen_candidates_make(UidgenHosts *hosts, UidgenHost *only, bool ask)
{
	int			n = only ? 1 : hosts->nhosts;
	UidgenCandidates *candidates =
		MemoryContextAllocZero(TopMemoryContext,
							   offsetof(UidgenCandidates, candidate) + n * sizeof(UidgenCandidate));

	candidates->hosts = hosts;
	candidates->ask = ask;
	candidates->n = n;
	for (int i = 0; i < n; i++)
		candidates->candidate[i].host = only ? only : &hosts->hosts[i];
	return candidates;
}

/*
 * Wait until some can go on, which is noted in `ready`; a latch that is set, or a look-up that has ended,
 * ends the wait, too.
 */
static void
wait_for_some(UidgenCandidates *candidates, bool *ready, long milliseconds)
{
	int			nevents = candidates->n + 3;
	WaitEvent  *events = palloc(nevents * sizeof(WaitEvent));
	WaitEventSet *set = uidgen_create_wait_event_set(nevents);
	bool		named = false;
	int			occurred = 0;

	memset(ready, 0, candidates->n * sizeof(bool));
	PG_TRY();
	{
		(void) AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
		(void) AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
		for (int i = 0; i < candidates->n; i++)
		{
			UidgenCandidate *candidate = &candidates->candidate[i];

			if (candidate->state == UIDGEN_CANDIDATE_NAMED)
				named = true;
			else if (is_waiting(candidate))
				(void) AddWaitEventToSet(set, awaited(candidate), PQsocket(candidate->conn), NULL, &ready[i]);
		}
		if (named)
			(void) AddWaitEventToSet(set, WL_SOCKET_READABLE, uidgen_lookup_socket(), NULL, NULL);
		occurred = WaitEventSetWait(set, milliseconds, events, nevents,
									uidgen_wait_event(&wait_event, "UidgenConnect"));
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
	for (int i = 0; i < occurred; i++)
	{
		if (events[i].events & WL_LATCH_SET)
			ResetLatch(MyLatch);
		else if (events[i].user_data)
			*(bool *) events[i].user_data = true;
	}
	pfree(events);
}

static bool
is_any_waiting(const UidgenCandidates *candidates)
{
	for (int i = 0; i < candidates->n; i++)
		if (is_waiting(&candidates->candidate[i]))
			return true;
	return false;
}

/* Is there one that can be used, and is no standby? */
static bool
is_any_usable(const UidgenCandidates *candidates)
{
	for (int i = 0; i < candidates->n; i++)
		if (candidates->candidate[i].state == UIDGEN_CANDIDATE_READY &&
			!candidates->candidate[i].host->in_recovery)
			return true;
	return false;
}

/* Give up those that have waited for long enough; returns when that is for the next one. */
static UidgenMicroseconds
give_up_late(UidgenCandidates *candidates, UidgenMicroseconds all_end, int timeout_ms)
{
	UidgenMicroseconds now = uidgen_clock_monotonic();
	UidgenMicroseconds next = INT64_MAX;

	if (!is_any_usable(candidates))
		all_end = INT64_MAX;
	for (int i = 0; i < candidates->n; i++)
	{
		UidgenCandidate *candidate = &candidates->candidate[i];
		UidgenMicroseconds end = Min(candidate->end, all_end);

		if (!is_waiting(candidate))
			continue;
		if (end <= now)
			give_up(candidates, candidate, timeout_ms);
		else
			next = Min(next, end);
	}
	return next;
}

void
uidgen_candidates_connect(UidgenCandidates *candidates, int lookup_ms, int timeout_ms,
						  void (*check) (void))
{
	bool	   *ready = palloc(candidates->n * sizeof(bool));
	UidgenMicroseconds begun = uidgen_clock_monotonic();

	for (int i = 0; i < candidates->n; i++)
	{
		UidgenCandidate *candidate = &candidates->candidate[i];

		candidate->state = UIDGEN_CANDIDATE_NAMED;
		candidate->end = begun + INT64CONST(1000) * lookup_ms;
		look_up(candidates, candidate, timeout_ms);
	}
	for (;;)
	{
		/* A name that comes late makes nobody wait who could go on. */
		UidgenMicroseconds next =
			give_up_late(candidates, begun + INT64CONST(1000) * timeout_ms, timeout_ms);

		if (!is_any_waiting(candidates))
			break;
		check();
		wait_for_some(candidates, ready, (long) Max((next - uidgen_clock_monotonic() + 999) / 1000, 0));
		for (int i = 0; i < candidates->n; i++)
		{
			UidgenCandidate *candidate = &candidates->candidate[i];

			if (candidate->state == UIDGEN_CANDIDATE_NAMED)
				look_up(candidates, candidate, timeout_ms);
			else if (ready[i])
				advance(candidates, candidate);
		}
	}
	pfree(ready);
}

PGconn *
uidgen_candidates_take(UidgenCandidates *candidates, const UidgenHost *host)
{
	for (int i = 0; i < candidates->n; i++)
	{
		UidgenCandidate *candidate = &candidates->candidate[i];
		PGconn	   *conn = candidate->conn;

		if (candidate->host != host)
			continue;
		candidate->conn = NULL;
		return conn;
	}
	return NULL;
}

void
uidgen_candidates_free(UidgenCandidates *candidates)
{
	for (int i = 0; i < candidates->n; i++)
		close_connection(&candidates->candidate[i]);
	pfree(candidates);
}
