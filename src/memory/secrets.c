/*
 * secrets.c
 *	  What the setting "uidgen.registry" may be, so that it shows no password: see secrets.h.
 *
 * Settings are checked in the postmaster, where there is no libpq.  So the two forms of a connection
 * string are read here, as far as it takes to know each option and where its value ends:
 *
 *	host=a user = b application_name='c d'
 *	postgresql://user@host:port,host:port/database?option=value&option=value
 *
 * What libpq cannot read, it reports with a piece of the string.  A password may be in it, though nobody
 * can say where.  So a string in neither of these forms is refused.  No message repeats any of it: messages tell only
 * the position of the error.
 */
#include "postgres.h"

#include "memory/secrets.h"

#include <ctype.h>

/* What is looked at in an option's value. */
typedef enum Kind
{
	ANY,
	SECRET,						/* libpq does not show it */
	HOST,
	PORT,
	DATABASE
} Kind;

/* libpq's options up to PostgreSQL 19; test/t/remote_keeper.pl compares them with the libpq that is there. */
static const struct
{
	const char *keyword;
	Kind		kind;
}			options[] = {
	{"host", HOST}, {"hostaddr", HOST}, {"port", PORT}, {"dbname", DATABASE},
	{"password", SECRET}, {"sslpassword", SECRET}, {"oauth_client_secret", SECRET},
	{"scram_client_key", SECRET}, {"scram_server_key", SECRET},
	{"application_name", ANY}, {"authtype", ANY}, {"channel_binding", ANY}, {"client_encoding", ANY},
	{"connect_timeout", ANY}, {"fallback_application_name", ANY}, {"gssdelegation", ANY},
	{"gssencmode", ANY}, {"gsslib", ANY}, {"keepalives", ANY}, {"keepalives_count", ANY},
	{"keepalives_idle", ANY}, {"keepalives_interval", ANY}, {"krbsrvname", ANY},
	{"load_balance_hosts", ANY}, {"max_protocol_version", ANY}, {"min_protocol_version", ANY},
	{"oauth_ca_file", ANY}, {"oauth_client_id", ANY}, {"oauth_issuer", ANY}, {"oauth_scope", ANY},
	{"options", ANY}, {"passfile", ANY}, {"replication", ANY}, {"require_auth", ANY},
	{"requirepeer", ANY}, {"requiressl", ANY}, {"service", ANY}, {"servicefile", ANY},
	{"ssl_max_protocol_version", ANY}, {"ssl_min_protocol_version", ANY}, {"sslcert", ANY},
	{"sslcertmode", ANY}, {"sslcompression", ANY}, {"sslcrl", ANY}, {"sslcrldir", ANY}, {"sslkey", ANY},
	{"sslkeylogfile", ANY}, {"sslmode", ANY}, {"sslnegotiation", ANY}, {"sslrootcert", ANY},
	{"sslsni", ANY}, {"target_session_attrs", ANY}, {"tcp_user_timeout", ANY}, {"tty", ANY}, {"user", ANY},
};

#define SECRET_DETAIL "It holds a password, which the server log and members of pg_monitor would see."
#define SECRET_HINT "Put the password into a file that the option \"passfile\" names, or into a service file; and change it, since the log may have this statement."
#define FORM_HINT "It has the form that libpq reads, \"host=a,b dbname=uidgen user=node7 passfile=/path\". If it holds a password, change that: the log may have this statement."

static bool
has_secret(UidgenComplaint *error)
{
	strlcpy(error->detail, SECRET_DETAIL, sizeof(error->detail));
	strlcpy(error->hint, SECRET_HINT, sizeof(error->hint));
	return false;
}

/* What is wrong, of which `at` is the place. */
static bool
unreadable(UidgenComplaint *error, const char *what, const char *conninfo, const char *at)
{
	snprintf(error->detail, sizeof(error->detail), "%s at position %d.",
			 what, (int) (at - conninfo) + 1);
	strlcpy(error->hint, FORM_HINT, sizeof(error->hint));
	return false;
}

/* Can they be names, addresses, or folders with a socket, of which a blank may be part? */
static bool
are_hosts(const char *list)
{
	if (strpbrk(list, "=?") || strstr(list, "://"))
		return false;
	for (const char *host = list;; host++)
	{
		bool		is_socket = *host == '/' || *host == '@';
		size_t		length = strcspn(host, ",");

		if (!is_socket && strcspn(host, " \t\n/@") < length)
			return false;
		host += length;
		if (!*host)
			return true;
	}
}

/*
 * An option whose keyword and value have no escapes any more.  `at` is its place in the string.
 */
static bool
check_option(const char *keyword, const char *value, const char *conninfo, const char *at,
			 UidgenComplaint *error)
{
	for (size_t i = 0; i < lengthof(options); i++)
	{
		/* A secret is one in capitals, too, though libpq would not know it. */
		if (options[i].kind == SECRET && pg_strcasecmp(keyword, options[i].keyword) == 0)
			return has_secret(error);
		if (strcmp(keyword, options[i].keyword) != 0)
			continue;
		switch (options[i].kind)
		{
			case ANY:
			case SECRET:
				return true;
			case HOST:
				if (!are_hosts(value))
					return unreadable(error, "There is no name of a host", conninfo, at);
				return true;
			case PORT:
				if (value[strspn(value, "0123456789, \t\n")] != '\0')
					return unreadable(error, "There is no port number", conninfo, at);
				return true;
			case DATABASE:
				/* libpq may read such a name as a connection string. */
				if (strchr(value, '=') || strstr(value, "://"))
					return unreadable(error, "There is a connection string instead of the name of a database", conninfo, at);
				return true;
		}
	}
	return unreadable(error, "There is an option that is none of libpq's", conninfo, at);
}

/* ---- a URI ---- */

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
		c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A part of a URI, without its percent signs.  Allocated. */
static char *
decode(const char *part, size_t length)
{
	char	   *decoded = palloc(length + 1);
	size_t		n = 0;

	for (size_t i = 0; i < length; i++)
	{
		char		c = part[i];

		if (c == '%' && i + 2 < length && hex_digit(part[i + 1]) >= 0 && hex_digit(part[i + 2]) >= 0)
		{
			c = (char) (hex_digit(part[i + 1]) * 16 + hex_digit(part[i + 2]));
			i += 2;
		}
		decoded[n++] = c;
	}
	decoded[n] = '\0';
	return decoded;
}

/* host:port,[address]:port up to a slash or a question mark. */
static bool
check_hosts(const char *c, const char *end, const char *conninfo, UidgenComplaint *error)
{
	for (;;)
	{
		const char *host = c;
		size_t		length;

		if (c < end && *c == '[')
		{
			host = ++c;
			while (c < end && *c != ']')
				c++;
			length = c - host;
			if (c == end)
				return unreadable(error, "There is a bracket without its end", conninfo, host - 1);
			c++;
		}
		else
		{
			while (c < end && *c != ':' && *c != ',')
				c++;
			length = c - host;
		}
		if (!check_option("host", decode(host, length), conninfo, host, error))
			return false;
		if (c < end && *c == ':')
		{
			const char *port = ++c;

			while (c < end && *c != ',')
				c++;
			if (!check_option("port", decode(port, c - port), conninfo, port, error))
				return false;
		}
		if (c == end)
			return true;
		if (*c++ != ',')
			return unreadable(error, "There is no comma", conninfo, c - 1);
	}
}

/* What follows "postgresql://". */
static bool
check_uri(const char *uri, const char *conninfo, UidgenComplaint *error)
{
	const char *query = strchr(uri, '?');
	const char *end = query ? query : uri + strlen(uri);
	const char *at = NULL;
	const char *database;
	bool		colon = false;

	/* user:password@, also where a question mark or a slash was not encoded. */
	for (const char *c = uri; *c; c++)
	{
		if (*c == ':')
			colon = true;
		if (*c == '@' && colon && (!query || c < query || !memchr(uri, '/', c - uri)))
			return has_secret(error);
	}
	for (const char *c = uri; c < end && *c != '/' && !at; c++)
		if (*c == '@')
			at = c;
	if (at)
		uri = at + 1;
	database = memchr(uri, '/', end - uri);
	if (!check_hosts(uri, database ? database : end, conninfo, error))
		return false;
	if (database &&
		!check_option("dbname", decode(database + 1, end - database - 1), conninfo, database + 1, error))
		return false;
	while (query && *query)
	{
		const char *option = query + 1;
		size_t		length = strcspn(option, "&");
		const char *equals = memchr(option, '=', length);
		char	   *keyword;
		char	   *value;

		query = option + length;
		if (length == 0 && !*query)
			break;
		if (!equals)
			return unreadable(error, "There is an option without a value", conninfo, option);
		keyword = decode(option, equals - option);
		value = decode(equals + 1, option + length - equals - 1);
		/* As other clients write sslmode=require. */
		if (strcmp(keyword, "ssl") == 0 && strcmp(value, "true") == 0)
			continue;
		if (!check_option(keyword, value, conninfo, option, error))
			return false;
	}
	return true;
}

/* ---- the other form ---- */

static bool
check_pairs(const char *conninfo, UidgenComplaint *error)
{
	const char *c = conninfo;
	char	   *value = palloc(strlen(conninfo) + 1);

	for (;;)
	{
		const char *option;
		char	   *keyword;
		bool		quoted;
		size_t		n = 0;

		while (isspace((unsigned char) *c))
			c++;
		if (!*c)
			return true;
		option = c;
		while (*c && *c != '=' && !isspace((unsigned char) *c))
			c++;
		keyword = pnstrdup(option, c - option);
		while (isspace((unsigned char) *c))
			c++;
		if (*c != '=')
			return unreadable(error, "There is an option without a value", conninfo, option);
		for (c++; isspace((unsigned char) *c);)
			c++;
		quoted = *c == '\'';
		if (quoted)
			c++;
		while (*c && (quoted ? *c != '\'' : !isspace((unsigned char) *c)))
		{
			if (*c == '\\' && c[1])
				c++;
			value[n++] = *c++;
		}
		value[n] = '\0';
		if (!check_option(keyword, value, conninfo, option, error))
			return false;
		if (quoted && *c++ != '\'')
			return unreadable(error, "There is an option whose quoted value has no end", conninfo, option);
	}
}

bool
uidgen_conninfo_may_be_shown(const char *conninfo, UidgenComplaint *error)
{
	memset(error, 0, sizeof(*error));
	strlcpy(error->message, "invalid value", sizeof(error->message));
	if (strncmp(conninfo, "postgresql://", 13) == 0)
		return check_uri(conninfo + 13, conninfo, error);
	if (strncmp(conninfo, "postgres://", 11) == 0)
		return check_uri(conninfo + 11, conninfo, error);
	return check_pairs(conninfo, error);
}
