/*
 * remote_client.c
 *	  Lets SQL drive the client of a registry on another server (src/link/link.h).
 *
 * A session does what the keeper does: it loads the library file, calls its functions, and cleans
 * up after each error.  Compiled by the programs remote_*.pl; never installed.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "link/link.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(client_version);
PG_FUNCTION_INFO_V1(client_configure);
PG_FUNCTION_INFO_V1(client_expect);
PG_FUNCTION_INFO_V1(client_connect);
PG_FUNCTION_INFO_V1(client_host);
PG_FUNCTION_INFO_V1(client_call);
PG_FUNCTION_INFO_V1(client_disconnect);
PG_FUNCTION_INFO_V1(client_finish);

/* What the settings of the keeper would be. */
static UidgenRemote remote = {.conninfo = ""};

static void
ask_remote(UidgenRemote *asked)
{
	*asked = remote;
}

static const UidgenLink *
client(void)
{
	UidgenLinkFunction get = (UidgenLinkFunction)
		load_external_function("$libdir/" UIDGEN_LINK_LIBRARY, UIDGEN_LINK_FUNCTION, true, NULL);

	return get(ask_remote);
}

Datum
client_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(client()->version));
}

/* (connection string, milliseconds) */
Datum
client_configure(PG_FUNCTION_ARGS)
{
	remote.conninfo = MemoryContextStrdup(TopMemoryContext, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	remote.timeout = PG_GETARG_INT32(1);
	PG_RETURN_VOID();
}

/* (the registry that is known there) */
Datum
client_expect(PG_FUNCTION_ARGS)
{
	remote.known = true;
	remote.registry_id = PG_GETARG_INT64(0);
	PG_RETURN_VOID();
}

/* The host that is connected. */
Datum
client_connect(PG_FUNCTION_ARGS)
{
	PG_TRY();
	{
		client()->connect();
	}
	PG_CATCH();
	{
		client()->end_failed();
		PG_RE_THROW();
	}
	PG_END_TRY();
	Assert(client()->is_connected());
	PG_RETURN_TEXT_P(cstring_to_text(client()->host()));
}

Datum
client_host(PG_FUNCTION_ARGS)
{
	if (!client()->is_connected())
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(client()->host()));
}

/* (function, arguments for its parameters a and b, which are of type text): the row, in the form
 * "name=value name=value". */
Datum
client_call(PG_FUNCTION_ARGS)
{
	char	   *function = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Datum	   *values;
	int			nargs;
	UidgenArgument *args;
	UidgenRow	row;
	StringInfoData shown;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT,
					  &values, NULL, &nargs);
	args = palloc(nargs * sizeof(UidgenArgument));
	if (nargs > 2)
		elog(ERROR, "the parameters are named a and b");
	for (int i = 0; i < nargs; i++)
	{
		args[i].name = i == 0 ? "a" : "b";
		args[i].type = TEXTOID;
		args[i].value = TextDatumGetCString(values[i]);
	}
	PG_TRY();
	{
		if (!client()->is_connected())
			client()->connect();
		client()->call(function, nargs, args, "test", &row);
	}
	PG_CATCH();
	{
		client()->end_failed();
		PG_RE_THROW();
	}
	PG_END_TRY();
	initStringInfo(&shown);
	for (int i = 0; i < row.ncolumns; i++)
		appendStringInfo(&shown, "%s%s=%s", i > 0 ? " " : "", row.names[i],
						 row.values[i] ? row.values[i] : "NULL");
	PG_RETURN_TEXT_P(cstring_to_text(shown.data));
}

Datum
client_disconnect(PG_FUNCTION_ARGS)
{
	(void) client()->disconnect();
	PG_RETURN_VOID();
}

/* All that follows ends within a second. */
Datum
client_finish(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(client()->finish());
}
