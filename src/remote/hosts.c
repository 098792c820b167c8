/*
 * hosts.c
 *	  The hosts of a connection string: see hosts.h.
 *
 * libpq itself reads the string, a service file and the environment, so that all means
 * here what it means to other clients.  Three kinds of options do not count.  Those that
 * choose among hosts are this file's business.  Those that begin a session in a certain
 * state would not work behind a pooler.  And a time-out is a setting of its own.
 *
 * libpq never looks up a name here, since it would wait for that without a limit: it is given the addresses,
 * and the name beside them, for certificates and password files.
 */
#include "postgres.h"

#include "remote/hosts.h"

#include <libpq-fe.h>

#include "common/pg_prng.h"
#include "core/clock.h"
#include "lib/stringinfo.h"
#include "remote/plaintext.h"
#include "storage/fd.h"
#include "utils/memutils.h"

/* What no host can be called, so that libpq refuses it before it connects. */
#define NOT_AN_ATTRIBUTE "?"

/* Options that are set for each host. */
static const char *const replaced[] = {
	"host", "hostaddr", "port", "client_encoding", "fallback_application_name",
	/* the service file was read already */
	"service"
};

/* Options that do not count.  Only what the string itself has is worth a message. */
static const char *const ignored[] = {
	"target_session_attrs", "load_balance_hosts", "options", "replication", "connect_timeout"
};

static bool
is_among(const char *keyword, const char *const *list, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(keyword, list[i]) == 0)
			return true;
	return false;
}

static void
report_unusable(const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the setting \"uidgen.registry\" is not a connection string that can be used"),
			 errdetail_internal("%s", uidgen_plain_message(problem, "22023", 256)),
			 errhint("Correct the setting; it is in the form that libpq reads, such as \"host=a,b dbname=uidgen user=node7\".")));
}

/* Say which options of the string do not count, and find what is no connection string. */
static void
check_string(const char *conninfo)
{
	char	   *error = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &error);

	if (!options)
	{
		char	   *problem = pstrdup(error ? error : "out of memory");

		PQfreemem(error);
		report_unusable(problem);
	}
	for (PQconninfoOption *option = options; option->keyword; option++)
		if (option->val && is_among(option->keyword, ignored, lengthof(ignored)))
			ereport(LOG,
					(errmsg("uidgen ignores the option \"%s\" of the setting \"uidgen.registry\"",
							option->keyword)));
	PQconninfoFree(options);
}

/*
 * All options with their values, out of the string, a service file, the environment and libpq's
 * defaults.  libpq tells them of a connection only; so begin one that it refuses for an
 * option, before it asks any name server or opens a socket.
 */
static PQconninfoOption *
read_options(const char *conninfo)
{
	static const char *const keywords[] = {"dbname", "target_session_attrs", NULL};
	const char *const values[] = {conninfo, NOT_AN_ATTRIBUTE, NULL};
	PGconn	   *conn = PQconnectStartParams(keywords, values, 1);
	PQconninfoOption *options = conn ? PQconninfo(conn) : NULL;
	bool		good = false;

	for (PQconninfoOption *option = options; option && option->keyword; option++)
		if (strcmp(option->keyword, "target_session_attrs") == 0)
			good = option->val && strcmp(option->val, NOT_AN_ATTRIBUTE) == 0;
	if (!good)
	{
		char	   *problem = pstrdup(conn ? PQerrorMessage(conn) : "out of memory");

		PQconninfoFree(options);
		PQfinish(conn);
		report_unusable(problem);
	}
	PQfinish(conn);
	return options;
}

/* The elements of a list with commas, of which an empty one is NULL; returns how many. */
static int
split(char *list, const char ***elements)
{
	int			n = 1;

	for (char *c = list; c && *c; c++)
		n += *c == ',';
	*elements = palloc0(n * sizeof(char *));
	for (int i = 0; list; i++)
	{
		char	   *comma = strchr(list, ',');

		if (comma)
			*comma = '\0';
		(*elements)[i] = *list ? list : NULL;
		list = comma ? comma + 1 : NULL;
	}
	return n;
}

static void
set_hosts(UidgenHosts *hosts, char *host, char *hostaddr, char *port)
{
	const char **names;
	const char **addresses;
	const char **ports;
	int			nnames = split(host, &names);
	int			naddresses = split(hostaddr, &addresses);
	int			nports = split(port, &ports);

	hosts->nhosts = hostaddr ? naddresses : nnames;
	if (host && nnames != hosts->nhosts)
		report_unusable(psprintf("It has %d hosts, but %d addresses in hostaddr.",
								 nnames, naddresses));
	if (nports != 1 && nports != hosts->nhosts)
		report_unusable(psprintf("It has %d ports for %d hosts.", nports, hosts->nhosts));
	hosts->hosts = palloc0(hosts->nhosts * sizeof(UidgenHost));
	for (int i = 0; i < hosts->nhosts; i++)
	{
		UidgenHost *one = &hosts->hosts[i];
		const char *shown;

		one->host = host ? names[i] : NULL;
		one->hostaddr = hostaddr ? addresses[i] : NULL;
		one->port = ports[nports == 1 ? 0 : i];
		one->is_name = one->host && !one->hostaddr && uidgen_lookup_is_for(one->host);
		shown = one->host ? one->host : one->hostaddr ? one->hostaddr : "(default)";
		one->name = psprintf("host \"%s\", port %s", shown, one->port ? one->port : "(default)");
		one->name = uidgen_plain_value(one->name, Min(strlen(one->name), 128));
	}
}

UidgenHosts *
uidgen_hosts_read(const char *conninfo)
{
	MemoryContext context;
	MemoryContext caller_context;
	UidgenHosts *hosts;
	PQconninfoOption *options;
	char	   *host = NULL;
	char	   *hostaddr = NULL;
	char	   *port = NULL;
	int			n = 0;

	check_string(conninfo);
	options = read_options(conninfo);

	/*
	 * Below the caller's until all is well, since each step can end in an
	 * error.
	 */
	context = AllocSetContextCreate(CurrentMemoryContext, "uidgen hosts", ALLOCSET_SMALL_SIZES);
	caller_context = MemoryContextSwitchTo(context);
	hosts = palloc0(sizeof(UidgenHosts));
	hosts->context = context;
	for (PQconninfoOption *option = options; option->keyword; option++)
		n++;
	hosts->keywords = palloc0((n + 1) * sizeof(char *));
	hosts->values = palloc0((n + 1) * sizeof(char *));
	for (PQconninfoOption *option = options; option->keyword; option++)
	{
		char	   *value = option->val && *option->val ? pstrdup(option->val) : NULL;

		if (!value)
			continue;
		if (strcmp(option->keyword, "host") == 0)
			host = value;
		else if (strcmp(option->keyword, "hostaddr") == 0)
			hostaddr = value;
		else if (strcmp(option->keyword, "port") == 0)
			port = value;
		else if (!is_among(option->keyword, replaced, lengthof(replaced)) &&
				 !is_among(option->keyword, ignored, lengthof(ignored)))
		{
			hosts->keywords[hosts->noptions] = pstrdup(option->keyword);
			hosts->values[hosts->noptions] = value;
			hosts->noptions++;
		}
	}
	PQconninfoFree(options);
	set_hosts(hosts, host, hostaddr, port);
	MemoryContextSwitchTo(caller_context);
	MemoryContextSetParent(context, TopMemoryContext);
	return hosts;
}

void
uidgen_hosts_free(UidgenHosts *hosts)
{
	MemoryContextDelete(hosts->context);
}

void
uidgen_hosts_begin_round(UidgenHosts *hosts)
{
	for (int i = 0; i < hosts->nhosts; i++)
	{
		UidgenHost *host = &hosts->hosts[i];

		host->tried = false;
		host->asked_at = 0;
		if (host->addresses)
			pfree(host->addresses);
		host->addresses = NULL;
		host->slow = false;
		host->read_only = false;
		host->other = false;
		host->problem[0] = '\0';
	}
}

UidgenHost *
uidgen_hosts_next(UidgenHosts *hosts)
{
	UidgenHost *next = NULL;
	int			equal = 0;

	for (int i = 0; i < hosts->nhosts; i++)
	{
		UidgenHost *host = &hosts->hosts[i];

		if (host->tried || (next && host->failed > next->failed))
			continue;
		equal = next && host->failed == next->failed ? equal + 1 : 1;
		/* Of `equal` hosts, each is as likely as the others. */
		if (pg_prng_uint64_range(&pg_global_prng_state, 1, equal) == 1)
			next = host;
	}
	if (next)
		next->tried = true;
	return next;
}

bool
uidgen_hosts_remain(const UidgenHosts *hosts)
{
	for (int i = 0; i < hosts->nhosts; i++)
		if (!hosts->hosts[i].tried)
			return true;
	return false;
}

/* It may be in the list more than once, with several ports. */
static void
set_addresses(UidgenHosts *hosts, const char *name, const char *addresses)
{
	for (int i = 0; i < hosts->nhosts; i++)
	{
		UidgenHost *host = &hosts->hosts[i];

		if (host->is_name && !host->addresses && strcmp(host->host, name) == 0)
			host->addresses = MemoryContextStrdup(hosts->context, addresses);
	}
}

UidgenLookupState
uidgen_hosts_look_up(UidgenHosts *hosts, UidgenHost *host, char **problem)
{
	UidgenLookupState state;
	char	   *text;

	if (!host->is_name || host->addresses)
		return UIDGEN_LOOKUP_FOUND;
	if (host->asked_at == 0)
		host->asked_at = uidgen_clock_monotonic();
	state = uidgen_lookup(host->host, &text);
	if (state == UIDGEN_LOOKUP_FOUND)
		set_addresses(hosts, host->host, text);
	else if (state == UIDGEN_LOOKUP_FAILED)
		*problem = uidgen_plain_message(text, "08006", sizeof(host->problem) - 1);
	return state;
}

/* What goes with each of the addresses, where libpq takes several for several hosts. */
static char *
repeat_name(const UidgenHost *host)
{
	StringInfoData names;

	initStringInfo(&names);
	appendStringInfoString(&names, host->host);
	for (const char *c = host->addresses; *c; c++)
		if (*c == ',')
			appendStringInfo(&names, ",%s", host->host);
	return names.data;
}

PGconn *
uidgen_hosts_connect(const UidgenHosts *hosts, const UidgenHost *host)
{
	int			n = hosts->noptions;
	const char **keywords = palloc0((n + 7) * sizeof(char *));
	const char **values = palloc0((n + 7) * sizeof(char *));
	PGconn	   *conn;

	memcpy(keywords, hosts->keywords, n * sizeof(char *));
	memcpy(values, hosts->values, n * sizeof(char *));
	/* libpq takes a value that is NULL for none. */
	keywords[n] = "host";
	values[n++] = host->addresses ? repeat_name(host) : host->host;
	keywords[n] = "hostaddr";
	values[n++] = host->addresses ? host->addresses : host->hostaddr;
	keywords[n] = "port";
	values[n++] = host->port;
	keywords[n] = "target_session_attrs";
	values[n++] = "any";
	keywords[n] = "client_encoding";
	values[n++] = "UTF8";
	keywords[n] = "fallback_application_name";
	values[n++] = "uidgen keeper";

	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not connect to the registry"),
				 errdetail("There are too many open files on this server."),
				 errhint("Raise the setting \"max_files_per_process\".")));
	conn = PQconnectStartParams(keywords, values, 0);
	if (!conn)
	{
		ReleaseExternalFD();
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not connect to the registry"),
				 errdetail("libpq is out of memory.")));
	}
	(void) PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* see plaintext.h */
	return conn;
}

void
uidgen_hosts_disconnect(PGconn *conn)
{
	PQfinish(conn);
	ReleaseExternalFD();
}

void
uidgen_hosts_answered(UidgenHosts *hosts, UidgenHost *host)
{
	for (int i = 0; i < hosts->nhosts; i++)
		hosts->hosts[i].failed = Max(hosts->hosts[i].failed, 0);
	host->failed = -1;
}

void
uidgen_hosts_failed(UidgenHosts *hosts, UidgenHost *host, const char *problem)
{
	host->failed = ++hosts->failures;
	strlcpy(host->problem, problem, sizeof(host->problem));
}
