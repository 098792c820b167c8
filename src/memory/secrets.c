/*
 * secrets.c
 *	  Does a connection string hold a password?
 *
 * Settings are checked in the postmaster, where there is no libpq.  So the two forms of a connection
 * string are read here as far as it takes to tell the names of options and the end of values:
 *
 *	host=a user = b application_name='c d'
 *	postgresql://user@host:port,host:port/database?option=value&option=value
 */
#include "postgres.h"

#include "memory/secrets.h"

#include <ctype.h>

static bool
is_secret(const char *keyword)
{
	/* Those that libpq does not show, up to PostgreSQL 19. */
	static const char *const secrets[] = {
		"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"
	};

	for (size_t i = 0; i < lengthof(secrets); i++)
		if (pg_strcasecmp(keyword, secrets[i]) == 0)
			return true;
	return false;
}

/* Is a secret's name in there, wherever?  For what is no connection string. */
static bool
mentions_secret(const char *text)
{
	for (; *text; text++)
		if (pg_strncasecmp(text, "password", 8) == 0 ||
			pg_strncasecmp(text, "secret", 6) == 0 || pg_strncasecmp(text, "scram", 5) == 0)
			return true;
	return false;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
		c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The options of a URI, behind its question mark. */
static bool
has_secret_option(const char *c)
{
	while (*c)
	{
		char		keyword[64];
		size_t		n = 0;

		while (*c && *c != '=' && *c != '&')
		{
			char		read = *c;

			if (read == '%' && hex_digit(c[1]) >= 0 && hex_digit(c[2]) >= 0)
			{
				read = (char) (hex_digit(c[1]) * 16 + hex_digit(c[2]));
				c += 2;
			}
			/* A longer one is no keyword of libpq. */
			if (n < sizeof(keyword) - 1)
				keyword[n++] = read;
			c++;
		}
		keyword[n] = '\0';
		if (is_secret(keyword))
			return true;
		while (*c && *c != '&')
			c++;
		if (*c == '&')
			c++;
	}
	return false;
}

/* What follows "postgresql://". */
static bool
uri_has_secret(const char *uri)
{
	const char *options = strchr(uri, '?');
	bool		colon = false;

	/* user:password@, also where a question mark or a slash was not encoded. */
	for (const char *c = uri; *c; c++)
	{
		if (*c == ':')
			colon = true;
		if (*c == '@' && colon && (!options || c < options || !memchr(uri, '/', c - uri)))
			return true;
	}
	return options && has_secret_option(options + 1);
}

bool
uidgen_has_secret(const char *conninfo)
{
	const char *c = conninfo;

	if (strncmp(c, "postgresql://", 13) == 0)
		return uri_has_secret(c + 13);
	if (strncmp(c, "postgres://", 11) == 0)
		return uri_has_secret(c + 11);
	for (;;)
	{
		char		keyword[64];
		size_t		n = 0;
		bool		quoted;

		while (isspace((unsigned char) *c))
			c++;
		if (!*c)
			return false;
		for (; *c && *c != '=' && !isspace((unsigned char) *c); c++)
			if (n < sizeof(keyword) - 1)
				keyword[n++] = *c;
		keyword[n] = '\0';
		if (is_secret(keyword))
			return true;
		while (isspace((unsigned char) *c))
			c++;
		if (*c != '=')
			return mentions_secret(conninfo);
		for (c++; isspace((unsigned char) *c);)
			c++;
		quoted = *c == '\'';
		if (quoted)
			c++;
		while (*c && (quoted ? *c != '\'' : !isspace((unsigned char) *c)))
		{
			if (*c == '\\' && c[1])
				c++;
			c++;
		}
		if (quoted && *c++ != '\'')
			return mentions_secret(conninfo);
	}
}
