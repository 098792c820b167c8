/*
 * plaintext.c
 *	  What another server says, in plain ASCII: see plaintext.h.
 */
#include "postgres.h"

#include "remote/plaintext.h"

#include "lib/stringinfo.h"

/* What a text that was cut ends in. */
#define CUT "..."

#define SQLSTATE_LENGTH 5

/* As PL/pgSQL names them: what a registry may answer, whichever language it speaks. */
static const struct
{
	const char *sqlstate;
	const char *name;
}			conditions[] = {
	{"01000", "warning"}, {"08006", "connection_failure"}, {"22023", "invalid_parameter_value"}, {"25006", "read_only_sql_transaction"},
	{"28000", "invalid_authorization_specification"}, {"28P01", "invalid_password"}, {"3D000", "invalid_catalog_name"},
	{"3F000", "invalid_schema_name"}, {"42501", "insufficient_privilege"}, {"42883", "undefined_function"},
	{"42P01", "undefined_table"}, {"53100", "disk_full"}, {"53200", "out_of_memory"}, {"53300", "too_many_connections"},
	{"53400", "configuration_limit_exceeded"}, {"55P03", "lock_not_available"}, {"57014", "query_canceled"}, {"57P01", "admin_shutdown"},
	{"57P02", "crash_shutdown"}, {"57P03", "cannot_connect_now"}, {"58030", "io_error"}, {"XX000", "internal_error"},
};

static const char *
condition_name(const char *sqlstate)
{
	for (size_t i = 0; i < lengthof(conditions); i++)
		if (strncmp(sqlstate, conditions[i].sqlstate, SQLSTATE_LENGTH) == 0)
			return conditions[i].name;
	return psprintf("SQLSTATE %.*s", SQLSTATE_LENGTH, sqlstate);
}

static bool
is_ascii(const char *text)
{
	while (*text && !IS_HIGHBIT_SET(*text))
		text++;
	return *text == '\0';
}

static bool
is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

char *
uidgen_plain_message(const char *message, const char *sqlstate, int limit)
{
	StringInfoData plain;

	if (message && !is_ascii(message))
		message = sqlstate ? condition_name(sqlstate) : NULL;
	if (!message)
		return NULL;
	initStringInfo(&plain);
	for (const char *c = message; *c && plain.len <= limit; c++)
	{
		if (is_printable(*c) && *c != ' ')
			appendStringInfoChar(&plain, *c);
		else if (plain.len > 0 && plain.data[plain.len - 1] != ' ')
			appendStringInfoChar(&plain, ' ');
	}
	if (plain.len > limit)
		strcpy(plain.data + limit - strlen(CUT), CUT);
	else if (plain.len > 0 && plain.data[plain.len - 1] == ' ')
		plain.data[plain.len - 1] = '\0';
	return plain.data;
}

/* In "... failed: FATAL:  57P03: text" the SQLSTATE, or NULL. */
static char *
find_sqlstate(char *line)
{
	for (char *at = strstr(line, ":  "); at; at = strstr(at + 1, ":  "))
		if (strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == SQLSTATE_LENGTH && strncmp(at + 3 + SQLSTATE_LENGTH, ": ", 2) == 0)
			return at + 3;
	return NULL;
}

char *
uidgen_plain_report(const char *report, int limit)
{
	StringInfoData plain;
	char	   *rest;

	initStringInfo(&plain);
	for (char *line = strtok_r(pstrdup(report), "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
	{
		char	   *sqlstate = find_sqlstate(line);
		char	   *failed = strstr(line, "failed: ");

		if (strncmp(line, "LOCATION:", strlen("LOCATION:")) == 0)
			continue;
		if (is_ascii(line))
			appendStringInfo(&plain, "%.*s%s ", sqlstate ? (int) (sqlstate - line) : 0, line,
							 sqlstate ? sqlstate + SQLSTATE_LENGTH + 2 : line);
		else if (sqlstate)		/* the severity is in the other language, too */
			appendStringInfo(&plain, "%.*s%s ", failed ? (int) (failed - line + strlen("failed: ")) : 0, line,
							 condition_name(sqlstate));
	}
	return uidgen_plain_message(plain.len > 0 ? plain.data : condition_name("08006"), "08006", limit);
}

char *
uidgen_plain_value(const char *value, int length)
{
	char	   *plain = palloc(length + 1);

	for (int i = 0; i < length; i++)
		plain[i] = is_printable(value[i]) ? value[i] : '?';
	plain[length] = '\0';
	return plain;
}
