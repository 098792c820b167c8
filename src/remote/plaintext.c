/*
 * plaintext.c
 *	  What another server says, in plain ASCII: see plaintext.h.
 */
#include "postgres.h"

#include "remote/plaintext.h"

#include "lib/stringinfo.h"

/* What a text that was cut ends in. */
#define CUT "..."

static bool
is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

char *
uidgen_plain_message(const char *message, int limit)
{
	StringInfoData plain;
	const char *c = message;

	if (!message)
		return NULL;
	initStringInfo(&plain);
	while (*c && plain.len <= limit)
	{
		if (IS_HIGHBIT_SET(*c))
		{
			/* One for each character, if this is UTF-8. */
			appendStringInfoChar(&plain, '?');
			do
				c++;
			while ((*c & 0xC0) == 0x80);
		}
		else
		{
			if (is_printable(*c) && *c != ' ')
				appendStringInfoChar(&plain, *c);
			else if (plain.len > 0 && plain.data[plain.len - 1] != ' ')
				appendStringInfoChar(&plain, ' ');
			c++;
		}
	}
	if (plain.len > limit)
		strcpy(plain.data + limit - strlen(CUT), CUT);
	else if (plain.len > 0 && plain.data[plain.len - 1] == ' ')
		plain.data[plain.len - 1] = '\0';
	return plain.data;
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
