/*
 * client.c
 *	  The client of a registry on another server: see link/link.h.
 *
 * Everything is asynchronous, since a wait inside libpq knows neither the process's latch nor
 * a limit.  Each call is one statement, and nothing else is said in the session: so it works behind a
 * pooler that gives each transaction another connection.
 *
 * When does an answer count?  The server shows a statement's row before it commits.  A commit that waits for a
 * synchronous standby can be cut short, and only a WARNING tells: a failover loses it.  So an answer counts if it is
 * one row, nothing else came, the session is idle and alive behind it, and there was no WARNING.
 */
#include "postgres.h"

#include "link/link.h"

#include <libpq-fe.h>
#include <sys/ioctl.h>

#include "compat.h"
#include "core/clock.h"
#include "lib/stringinfo.h"
#include "remote/candidates.h"
#include "remote/hosts.h"
#include "remote/plaintext.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/memutils.h"

UIDGEN_MODULE_MAGIC("uidgen_libpq");

extern PGDLLEXPORT const UidgenLink *uidgen_libpq_client(UidgenAskRemote ask);
extern PGDLLEXPORT void _PG_init(void);

/* As much of the other server's texts as is kept. */
#define MESSAGE_MAX 200
#define DETAIL_MAX 250
#define HINT_MAX 250			/* it may be a statement */

/* An answer has some hundred bytes.  libpq takes what comes; so look at what is waiting before
 * each read.  (A single message may have up to 1 GB: that much libpq trusts its server.) */
#define ANSWER_MAX (256 * 1024)

/* The states in which a server whose commit is uncertain may say so: the classes of
 * SQLSTATE "connection exception", and 40003. */
#define IS_CONNECTION_EXCEPTION(sqlstate) (strncmp(sqlstate, "08", 2) == 0)
#define STATEMENT_COMPLETION_UNKNOWN "40003"
#define READ_ONLY_TRANSACTION "25006"

/* As long as the end of the server may wait for the registry. */
#define FINISH_MS 1000

/* For so long a name is waited for while other hosts could be asked. */
#define LOOKUP_MS 250

/* What the link is to go by, and the string as it was asked for last; hosts is NULL until the string
 * was read. */
static UidgenAskRemote ask_remote;
static UidgenRemote remote;
static char *target = NULL;
static UidgenHosts *hosts = NULL;

/* The end of all waits; 0: the process is not about to end. */
static UidgenMicroseconds finish_at = 0;

/* The connection, and the host that it leads to. */
static PGconn *conn = NULL;
static UidgenHost *host = NULL;

/* Connections that are being made; NULL: none. */
static UidgenCandidates *candidates = NULL;

/* The last result; kept here, so that an error does not lose it. */
static PGresult *result = NULL;

/* The first message since the last call, or since the connection was made, that is more
 * than a notice; empty: there was none. */
static char warning[MESSAGE_MAX + 1];

/* A call was sent, and it is not known yet what came of it. */
static bool in_doubt = false;

static uint32 call_wait_event = 0;

/* ---- the connection's end ---- */

static void
forget_result(void)
{
	PQclear(result);
	result = NULL;
}

static void
disconnect(void)
{
	forget_result();
	if (candidates)
		uidgen_candidates_free(candidates);
	candidates = NULL;
	if (conn)
		uidgen_hosts_disconnect(conn);
	conn = NULL;
	host = NULL;
}

static bool
is_connected(void)
{
	return conn != NULL;
}

static const char *
connected_host(void)
{
	return host ? host->name : NULL;
}

/* ---- waits ---- */

static UidgenMicroseconds
deadline(void)
{
	UidgenMicroseconds end = uidgen_clock_monotonic() + INT64CONST(1000) * remote.timeout;

	return finish_at > 0 ? Min(end, finish_at) : end;
}

/*
 * The keeper's handler of SIGTERM cancels what is under way.  It does not cancel while the first connection is made,
 * since another link could not bear it; so look for SIGTERM, too.
 */
static void
check_interrupts(void)
{
	if (QueryCancelPending || (ShutdownRequestPending && finish_at == 0))
	{
		QueryCancelPending = false;
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("waiting for the registry was broken off")));
	}
	CHECK_FOR_INTERRUPTS();
}

/* Wait until the connection's socket is ready, for no longer than until `end`; false if it
 * is not ready then. */
static bool
wait_for_socket(int events, UidgenMicroseconds end, uint32 wait_event)
{
	for (;;)
	{
		int			occurred;
		int64		left = end - uidgen_clock_monotonic();

		check_interrupts();
		if (left <= 0)
			return false;
		occurred = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | events,
									 PQsocket(conn), (long) ((left + 999) / 1000), wait_event);
		if (occurred & WL_LATCH_SET)
			ResetLatch(MyLatch);
		if (occurred & events)
			return true;
	}
}

/* ---- connecting ---- */

/* Whatever is no notice may mean that a commit is not what it seems. */
static void
receive_notice(void *arg, const PGresult *notice)
{
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
	static const char *const harmless[] = {"NOTICE", "INFO", "LOG", "DEBUG"};
	const char *text;

	for (size_t i = 0; severity && i < lengthof(harmless); i++)
		if (strcmp(severity, harmless[i]) == 0)
			return;
	if (warning[0])
		return;

	/*
	 * Called by libpq, which an error must not leave; so nothing is
	 * allocated.
	 */
	text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
	strlcpy(warning, text && *text ? text : "no text", sizeof(warning));
}

/* Go on with the connection to `host`; false if there is none. */
static bool
take_connection(void)
{
	conn = uidgen_candidates_take(candidates, host);
	uidgen_candidates_free(candidates);
	candidates = NULL;
	if (!conn)
		return false;
	PQsetNoticeReceiver(conn, receive_notice, NULL);
	/* What was said up to now is about the session, such as an old collation. */
	warning[0] = '\0';
	return true;
}

/* `host` tells another registry than is known.  It may be so for long. */
static void
refuse_host(void)
{
	uidgen_hosts_failed(hosts, host,
						psprintf("it has registry %lld, and this server knows registry %lld",
								 (long long) host->registry_id, (long long) remote.registry_id));
	host->other = true;
	if (!host->refused)
		ereport(LOG,
				(errmsg("uidgen does not ask %s, which has another registry", host->name),
				 errdetail("It has registry %lld, and this server knows registry %lld.",
						   (long long) host->registry_id, (long long) remote.registry_id),
				 errhint(UIDGEN_ONE_REGISTRY_HINT)));
	host->refused = true;
}

/* What hosts have told of their registries has to agree.  A host that is away counts, too. */
static void
compare_hosts(void)
{
	StringInfoData told;
	const UidgenHost *first = NULL;
	bool		differ = false;

	initStringInfo(&told);
	for (int i = 0; i < hosts->nhosts; i++)
	{
		const UidgenHost *one = &hosts->hosts[i];

		if (!one->told)
			continue;
		if (first)
			differ |= one->registry_id != first->registry_id;
		else
			first = one;
		appendStringInfo(&told, "%s%s: registry %lld", told.len > 0 ? "; " : "",
						 one->name, (long long) one->registry_id);
	}
	if (!differ)
	{
		pfree(told.data);
		return;
	}
	disconnect();				/* else the next call would go there */
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the hosts of the setting \"uidgen.registry\" have different registries"),
			 errdetail_internal("%s.", told.data),
			 errhint(UIDGEN_ONE_REGISTRY_HINT)));
}

/*
 * Connect to `host`; false if that failed.  Where the look-up of its name takes long, the other hosts come first, and
 * then it is its turn once more.
 */
static bool
connect_to_host(void)
{
	bool		ask = remote.known || hosts->nhosts > 1;
	bool		again = host->asked_at == 0 && uidgen_hosts_remain(hosts);
	int			lookup_ms = remote.timeout;

	if (again)
		lookup_ms = Min(lookup_ms, LOOKUP_MS);
	else if (host->asked_at > 0)
		lookup_ms = (int) Max(lookup_ms - (uidgen_clock_monotonic() - host->asked_at) / 1000, 0);
	candidates = uidgen_candidates_make(hosts, host, ask);
	uidgen_candidates_connect(candidates, lookup_ms, remote.timeout, check_interrupts);
	if (again && host->slow)
		host->tried = false;
	if (!take_connection())
		return false;
	if (!remote.known)
		compare_hosts();
	else if (host->told && host->registry_id != remote.registry_id)
	{
		refuse_host();
		return false;
	}
	host->refused = false;
	return true;
}

/* All hosts were tried in this round. */
static void
report_no_host(void)
{
	StringInfoData problems;
	bool		read_only = false;
	bool		other = false;

	initStringInfo(&problems);
	for (int i = 0; i < hosts->nhosts; i++)
	{
		const UidgenHost *one = &hosts->hosts[i];

		read_only |= one->read_only;
		other |= one->other;
		if (one->problem[0])
			appendStringInfo(&problems, "%s%s: %s", problems.len > 0 ? "; " : "",
							 one->name, one->problem);
	}
	/* Callers wait: as after a failover, the right one may be back soon. */
	if (other)
		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("only another registry answers than before"),
				 errdetail_internal("%s", problems.data),
				 errhint(UIDGEN_ONE_REGISTRY_HINT)));
	ereport(ERROR,
			(errcode(read_only ? ERRCODE_READ_ONLY_SQL_TRANSACTION :
					 ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
			 read_only ?
			 errmsg("no host of the registry takes writes") :
			 errmsg("could not connect to the registry"),
			 errdetail_internal("%s", problems.data),
			 read_only ?
			 errhint("The setting \"uidgen.registry\" should name every server that can be the primary server of the registry. If that one is among them, the detail says which setting of its keeps it from being written.") :
			 errhint("Check host, port, dbname, user and passfile of the setting \"uidgen.registry\". The detail, which is in the log of this server, says what each host answered.")));
}

/* Connect to the first host that answers, of those that were not tried in this round. */
static void
connect_to_next(void)
{
	disconnect();
	/* Where would it be told to stop, if not here? */
	if (finish_at > 0)
		ereport(ERROR,
				(errcode(ERRCODE_ADMIN_SHUTDOWN),
				 errmsg("the connection to the registry is lost, and the server ends")));
	do
	{
		disconnect();
		host = uidgen_hosts_next(hosts);
		if (!host)
			report_no_host();
	} while (!connect_to_host());
}

/*
 * Of those to which there are connections, the one to ask; NULL: there are none.  A standby
 * is asked if there is no other one.
 */
static UidgenHost *
choose_candidate(void)
{
	UidgenHost *chosen;

	for (int i = 0; i < candidates->n; i++)
	{
		UidgenCandidate *candidate = &candidates->candidate[i];

		candidate->host->tried = candidate->state != UIDGEN_CANDIDATE_READY || candidate->host->in_recovery;
	}
	chosen = uidgen_hosts_next(hosts);
	for (int i = 0; i < candidates->n; i++)
	{
		UidgenCandidate *candidate = &candidates->candidate[i];

		if (candidate->state == UIDGEN_CANDIDATE_READY && candidate->host != chosen)
			candidate->host->tried = false;
	}
	return chosen ? chosen : uidgen_hosts_next(hosts);
}

/* Nobody knows which registry is the right one: connect to all hosts, and compare. */
static void
connect_to_all(void)
{
	candidates = uidgen_candidates_make(hosts, NULL, true);
	uidgen_candidates_connect(candidates, remote.timeout, remote.timeout, check_interrupts);
	compare_hosts();
	host = choose_candidate();
	if (!host)
		report_no_host();
	(void) take_connection();
}

static void
connect_to_registry(void)
{
	if (!hosts)
		hosts = uidgen_hosts_read(target);
	uidgen_hosts_begin_round(hosts);
	if (remote.known || hosts->nhosts == 1 || finish_at > 0)
		connect_to_next();
	else
	{
		disconnect();
		connect_to_all();
	}
}

/* Has nothing happened to the connection since it was last used? */
static bool
is_fresh(void)
{
	return PQconsumeInput(conn) && !PQisBusy(conn) && PQstatus(conn) == CONNECTION_OK &&
		PQtransactionStatus(conn) == PQTRANS_IDLE && !warning[0];
}

/* ---- calls ---- */

static void report_no_answer(const char *function, const char *why,...)
			pg_attribute_printf(2, 3);

/* What came is no answer that counts.  The connection is not used any more, since the
 * rest may still come. */
static void
report_no_answer(const char *function, const char *why,...)
{
	char		detail[512];
	va_list		args;

	va_start(args, why);
	vsnprintf(detail, sizeof(detail), why, args);
	va_end(args);
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("the registry did not answer"),
			 errdetail_internal("uidgen_registry.%s, %s: %s.", function, host->name, detail)));
}

/* Send the call. */
static void
send_call(const char *function, int nargs, const UidgenArgument *args)
{
	StringInfoData query;
	Oid		   *types = palloc(nargs * sizeof(Oid));
	const char **values = palloc(nargs * sizeof(char *));

	initStringInfo(&query);
	appendStringInfo(&query, "SELECT * FROM uidgen_registry.%s(", function);
	for (int i = 0; i < nargs; i++)
	{
		appendStringInfo(&query, "%s%s => $%d", i > 0 ? ", " : "", args[i].name, i + 1);
		types[i] = args[i].type;
		values[i] = args[i].value;
	}
	appendStringInfoChar(&query, ')');
	warning[0] = '\0';
	in_doubt = true;
	if (!PQsendQueryParams(conn, query.data, nargs, types, values, NULL, NULL, 0))
		report_no_answer(function, "%s",
						 uidgen_plain_report(PQerrorMessage(conn), DETAIL_MAX));
}

/* Wait until PQgetResult() does not. */
static void
wait_for_result(const char *function, UidgenMicroseconds end, int *length)
{
	while (PQisBusy(conn))
	{
		int			unsent = PQflush(conn);
		int			waiting = 0;

		if (unsent < 0)
			report_no_answer(function, "%s",
							 uidgen_plain_report(PQerrorMessage(conn), DETAIL_MAX));
		if (!wait_for_socket(WL_SOCKET_READABLE | (unsent > 0 ? WL_SOCKET_WRITEABLE : 0),
							 end, uidgen_wait_event(&call_wait_event, "UidgenRegistry")))
			report_no_answer(function, "no answer within %d ms", remote.timeout);
		if (ioctl(PQsocket(conn), FIONREAD, &waiting) == 0 && waiting > ANSWER_MAX - *length)
			report_no_answer(function, "the answer is too long");
		*length += waiting;
		if (!PQconsumeInput(conn))
			report_no_answer(function, "%s",
							 uidgen_plain_report(PQerrorMessage(conn), DETAIL_MAX));
	}
}

/*
 * Take what the server answers, up to its end.  When this returns, `result` is a row or an
 * error, and the only one; anything else is an error here.
 */
static void
receive_answer(const char *function, UidgenMicroseconds end)
{
	int			length = 0;

	for (;;)
	{
		PGresult   *next;
		ExecStatusType status;

		wait_for_result(function, end, &length);
		next = PQgetResult(conn);
		if (!next)
			break;
		status = PQresultStatus(next);
		if (result)
		{
			/* It tells more than the row that came before the commit. */
			forget_result();
			result = next;
			report_no_answer(function, "there was more than one result: %s",
							 uidgen_plain_report(PQresultErrorMessage(result), DETAIL_MAX));
		}
		result = next;
		/* Not even its end can be waited for: a COPY has none. */
		if (status != PGRES_TUPLES_OK && status != PGRES_FATAL_ERROR)
			report_no_answer(function, "the result is of the kind %s", PQresStatus(status));
	}
	if (!result)
		report_no_answer(function, "there was no result");
	if (PQstatus(conn) != CONNECTION_OK || PQtransactionStatus(conn) != PQTRANS_IDLE)
		report_no_answer(function, "the connection was lost: %s",
						 uidgen_plain_report(PQerrorMessage(conn), DETAIL_MAX));
	if (warning[0])
		report_no_answer(function, "it came with the warning \"%s\"",
						 uidgen_plain_message(warning, "01000", MESSAGE_MAX));
}

/* The SQLSTATE of an error after which nothing is committed; NULL: that is not certain. */
static const char *
refusal(void)
{
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (!severity || strcmp(severity, "ERROR") != 0 || !sqlstate ||
		strlen(sqlstate) != 5 || strspn(sqlstate, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 ||
		strncmp(sqlstate, "00", 2) == 0 || IS_CONNECTION_EXCEPTION(sqlstate) ||
		strcmp(sqlstate, STATEMENT_COMPLETION_UNKNOWN) == 0)
		return NULL;
	return sqlstate;
}

/*
 * What to do where the other server cannot know: it has no registry, or none of ours, or
 * nobody has let this role in.  NULL: the server's own hint is the better one.
 */
static const char *
hint_for_refusal(const char *sqlstate)
{
	if (strcmp(sqlstate, "42501") == 0) /* insufficient_privilege */
		return "The owner of the registry can run SELECT uidgen_registry.grant_node('ROLE'), with the role that \"uidgen.registry\" names as its user.";
	if (strcmp(sqlstate, "3F000") == 0 ||	/* invalid_schema_name */
		strcmp(sqlstate, "42883") == 0) /* undefined_function */
		return "The database that \"uidgen.registry\" names has no registry, or one of another version. Correct the setting, or install the extension of this server's version there.";
	return NULL;
}

/* The server's own error. */
static void
report_refusal(const char *function, const char *sqlstate)
{
	const char *message = uidgen_plain_message(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), sqlstate, MESSAGE_MAX);
	const char *detail = uidgen_plain_message(PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL), NULL, DETAIL_MAX);
	const char *hint = uidgen_plain_message(PQresultErrorField(result, PG_DIAG_MESSAGE_HINT), NULL, HINT_MAX);

	hint = hint_for_refusal(sqlstate) ? hint_for_refusal(sqlstate) : hint ? hint :
		strcmp(sqlstate, "55P03") == 0 ?	/* lock_not_available */
		"If this lasts, see in the registry's database who holds the lock: SELECT pid, usename, client_addr, state, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL." :
		NULL;
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(sqlstate[0], sqlstate[1], sqlstate[2], sqlstate[3],
								   sqlstate[4])),
			 errmsg_internal("%s", message ? message : "the registry refused without a message"),
			 errdetail_internal("%s%sSQLSTATE %s of uidgen_registry.%s, %s.", detail ? detail : "",
								detail ? " " : "", sqlstate, function, host->name),
			 hint ? errhint("%s", hint) : 0));
}

static void
read_row(const char *function, UidgenRow *row)
{
	if (PQntuples(result) != 1)
		report_no_answer(function, "it has %d rows", PQntuples(result));
	if (PQresultMemorySize(result) > ANSWER_MAX)
		report_no_answer(function, "the answer is too long");
	row->ncolumns = PQnfields(result);
	row->names = palloc(row->ncolumns * sizeof(char *));
	row->values = palloc(row->ncolumns * sizeof(char *));
	for (int i = 0; i < row->ncolumns; i++)
	{
		const char *name = PQfname(result, i);

		row->names[i] = uidgen_plain_value(name, strlen(name));
		row->values[i] = PQgetisnull(result, 0, i) ? NULL :
			uidgen_plain_value(PQgetvalue(result, 0, i), PQgetlength(result, 0, i));
	}
}

/* Call one host; false if it takes no writes.  Then nothing was done. */
static bool
call_host(const char *function, int nargs, const UidgenArgument *args, UidgenRow *row)
{
	const char *sqlstate;

	send_call(function, nargs, args);
	receive_answer(function, deadline());
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
	{
		read_row(function, row);
		in_doubt = false;
		uidgen_hosts_answered(hosts, host);
		uidgen_hosts_begin_round(hosts);
		return true;
	}
	sqlstate = refusal();
	if (!sqlstate)
		report_no_answer(function, "%s",
						 uidgen_plain_report(PQresultErrorMessage(result), DETAIL_MAX));
	in_doubt = false;
	if (strcmp(sqlstate, READ_ONLY_TRANSACTION) != 0)
	{
		uidgen_hosts_answered(hosts, host);
		uidgen_hosts_begin_round(hosts);
		report_refusal(function, sqlstate);
	}
	uidgen_hosts_failed(hosts, host,
						uidgen_plain_message(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
											 sqlstate, DETAIL_MAX));
	host->tried = host->read_only = true;
	return false;
}

/* What the settings say now; if that is another string, the connection is closed. */
static void
read_settings(void)
{
	ask_remote(&remote);
	if (target && strcmp(target, remote.conninfo) == 0)
		return;
	disconnect();
	if (hosts)
		uidgen_hosts_free(hosts);
	hosts = NULL;
	if (target)
		pfree(target);
	target = MemoryContextStrdup(TopMemoryContext, remote.conninfo);
}

static void
connect_anew(void)
{
	read_settings();
	connect_to_registry();
}

static void
call(const char *function, int nargs, const UidgenArgument *args, const char *activity,
	 UidgenRow *row)
{
	MemoryContext caller_context = CurrentMemoryContext;

	read_settings();
	Assert(conn && !in_doubt);
	PG_TRY();
	{
		/*
		 * The host may have closed the connection while there was nothing to
		 * do.
		 */
		if (!is_fresh())
			connect_to_registry();
		while (!call_host(function, nargs, args, row))
			connect_to_next();
		forget_result();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (!in_doubt)
			PG_RE_THROW();
		/* Whatever it was, a cancel or a lack of memory: there is no answer. */
		in_doubt = false;
		if (host)
			uidgen_hosts_failed(hosts, host, "no answer");
		MemoryContextSwitchTo(caller_context);
		error = CopyErrorData();
		FlushErrorState();
		disconnect();
		error->sqlerrcode = ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN;
		ReThrowError(error);
	}
	PG_END_TRY();
}

/*
 * The connection is kept if the error was the registry's own: then the session is idle.  In the
 * other cases it is half made, or was closed already.
 */
static void
end_failed(void)
{
	forget_result();
	if (candidates || (conn && (PQstatus(conn) != CONNECTION_OK || PQtransactionStatus(conn) != PQTRANS_IDLE)))
		disconnect();
}

static void
reject_host(void)
{
	if (host)
		uidgen_hosts_failed(hosts, host, "its answer was rejected");
	disconnect();
}

/* ---- the end ---- */

/* From now on nothing connects, and all calls together end soon. */
static bool
finish(void)
{
	if (!is_connected())
		return false;
	finish_at = uidgen_clock_monotonic() + INT64CONST(1000) * FINISH_MS;
	return true;
}

static bool
close_connection(void)
{
	disconnect();
	return true;
}

/* The registry has committed the call. */
static void
commit(void)
{
}

const UidgenLink *
uidgen_libpq_client(UidgenAskRemote ask)
{
	static const UidgenLink link = {
		.version = UIDGEN_VERSION,
		.is_connected = is_connected,
		.connect = connect_anew,
		.host = connected_host,
		.call = call,
		.commit = commit,
		.end_failed = end_failed,
		.reject_host = reject_host,
		.disconnect = close_connection,
		.finish = finish,
	};

	ask_remote = ask;
	return &link;
}

/*
 * The environment of the postmaster may hold what libpq would begin each session with.  What it
 * says of hosts, users and certificates counts, as for other clients.
 */
void
_PG_init(void)
{
	static const char *const session_state[] = {
		"PGOPTIONS", "PGDATESTYLE", "PGTZ", "PGGEQO",
		/* It may name options of that kind. */
		"PGSERVICE",
		/* It would be asked for once more, without the others. */
		"PGHOSTADDR"
	};

	for (size_t i = 0; i < lengthof(session_state); i++)
		unsetenv(session_state[i]);

	/*
	 * Kerberos is asked for a ticket without a bound on time, so only where
	 * it is wanted.
	 */
	setenv("PGGSSENCMODE", "disable", 0);
}
