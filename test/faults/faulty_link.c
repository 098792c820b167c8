/*
 * faulty_link.c
 *	  A link to the registry that fails as it is told.
 *
 * Preloaded after uidgen, it puts itself in front of the link in use (src/link/link.h).  The
 * file "faulty_link" in the data directory says what goes wrong, in one line:
 *
 *	OPERATION[ FUNCTION] FAULT[ COLUMN VALUE]
 *
 * OPERATION is a member of UidgenLink, FUNCTION the registry's function that is called; "rehearse" is a make_registry that
 * only looks.
 * Faults:
 *
 *	error	the operation is not done, and ends in an error
 *	lost	it is done, and ends in an error
 *	fatal	it is not done, and the process ends
 *	silent	it is not done, and never returns
 *	late	it is done after the file has gone
 *	answer	it is done, and returns after the file has gone
 *	column	it is done; the answer has VALUE in COLUMN (NULL: null)
 *	drop	it is done; the answer lacks COLUMN
 *	yes		an operation that answers yes or no answers yes
 *	other	another registry answers
 *
 * Compiled by keeper_faulty_link.pl; never installed.
 */
#include "postgres.h"

#include <unistd.h>

#include "fmgr.h"
#include "link/link.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static const UidgenLink *real;

static bool committed = false;	/* the call under way */

static char fault[32];
static char column[64];
static char value[64];

/* Is something to go wrong in this operation?  Sets the variables above. */
static bool
is_faulty(const char *operation)
{
	FILE	   *file = fopen("faulty_link", "r");
	char		line[256] = "";
	size_t		length = strlen(operation);

	fault[0] = column[0] = value[0] = '\0';
	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strncmp(line, operation, length) == 0 && line[length] == ' ' &&
		sscanf(line + length, "%31s %63s %63[^\n]", fault, column, value) > 0;
}

static bool
is(const char *name)
{
	return strcmp(fault, name) == 0;
}

/* The file is made anew for each fault, so any other means that this one is over. */
static void
wait_for_end(const char *operation)
{
	while (is_faulty(operation))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 10,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		/* A connection that is being made is not cancelled, so it looks by itself. */
		if (ShutdownRequestPending && strcmp(operation, "connect") == 0)
			ereport(ERROR,
					(errcode(ERRCODE_ADMIN_SHUTDOWN),
					 errmsg("faulty link: connect is broken off")));
		CHECK_FOR_INTERRUPTS();
	}
}

static void
fail(const char *operation)
{
	ereport(is("fatal") ? FATAL : ERROR,
			(errcode(is("lost") ? ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN : ERRCODE_CONNECTION_FAILURE),
			 errmsg("faulty link: %s %s", operation, fault)));
}

/* What comes before the operation; true if something comes after it. */
static bool
begin(const char *operation)
{
	if (!is_faulty(operation))
		return false;
	/* Not where the log would be written to for each look. */
	if (strcmp(operation, "is_missing") != 0 && strcmp(operation, "in_recovery") != 0)
		ereport(LOG, (errmsg("faulty link: %s %s begins", operation, fault)));
	if (is("error") || is("fatal"))
		fail(operation);
	if (is("silent") || is("late"))
		wait_for_end(operation);
	return true;
}

static void
end(const char *operation)
{
	if (is("lost"))
		fail(operation);
	if (is("answer"))
		wait_for_end(operation);
}

static void
spoil(UidgenRow *row)
{
	for (int i = 0; i < row->ncolumns; i++)
		if (strcmp(row->names[i], column) == 0)
		{
			if (is("drop"))
				row->names[i] = "dropped";
			else
				row->values[i] = strcmp(value, "NULL") == 0 ? NULL : pstrdup(value);
			return;
		}
	elog(PANIC, "faulty link: there is no column \"%s\"", column);
}

static bool
in_recovery(void)
{
	return (begin("in_recovery") && is("yes")) || real->in_recovery();
}

static bool
is_missing(UidgenFailure *why)
{
	if (begin("is_missing") && is("yes"))
	{
		*why = (UidgenFailure) {
			.sqlerrcode = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			.message = "faulty link: nothing is there",
			.detail = "It is said so.",
			.hint = "Do not say so.",
		};
		return true;
	}
	return real->is_missing(why);
}

static char *
target(void)
{
	return real->target();
}

static uint64
place(void)
{
	return real->place();
}

static bool
is_connected(void)
{
	return real->is_connected();
}

static void
connect_really(void)
{
	bool		more = begin("connect");

	real->connect();
	if (more)
		end("connect");
}

static uint64
registry(void)
{
	bool		more = begin("registry");

	return real->registry() + (more && is("other") ? PG_UINT32_MAX : 0);
}

static bool
has_registry(void)
{
	bool		more = begin("has_registry");
	bool		has = real->has_registry();

	if (more)
		end("has_registry");
	return has;
}

static void
make_registry(bool rehearse)
{
	const char *operation = rehearse ? "rehearse" : "make_registry";
	bool		more = begin(operation);

	real->make_registry(rehearse);
	if (more)
		end(operation);
}

static void
call(const char *function, int nargs, const UidgenArgument *args, const char *activity,
	 UidgenRow *row)
{
	char		operation[128];
	bool		more;

	snprintf(operation, sizeof(operation), "call %s", function);
	more = begin(operation);
	real->call(function, nargs, args, activity, row);
	if (more && (is("column") || is("drop")))
		spoil(row);
	else if (more)
	{
		/* What is lost is the answer. */
		real->commit();
		committed = true;
		end(operation);
	}
}

static void
commit(void)
{
	if (!committed)
		real->commit();
	committed = false;
}

static void
end_failed(void)
{
	bool		more = begin("end_failed");

	committed = false;
	real->end_failed();
	if (more)
		end("end_failed");
}

static const char *
host(void)
{
	return real->host();
}

static void
reject_host(void)
{
	real->reject_host();
}

static bool
disconnect(void)
{
	(void) begin("disconnect");
	return real->disconnect();
}

static bool
finish(void)
{
	return real->finish();
}

void
_PG_init(void)
{
	static UidgenLink faulty = {
		.in_recovery = in_recovery,
		.is_missing = is_missing,
		.target = target,
		.place = place,
		.is_connected = is_connected,
		.connect = connect_really,
		.registry = registry,
		.has_registry = has_registry,
		.make_registry = make_registry,
		.host = host,
		.call = call,
		.commit = commit,
		.end_failed = end_failed,
		.reject_host = reject_host,
		.disconnect = disconnect,
		.finish = finish,
	};
	const UidgenLink *(*replace) (const UidgenLink *) =
		(const UidgenLink *(*) (const UidgenLink *))
		load_external_function("$libdir/uidgen", "uidgen_replace_link", true, NULL);

	real = replace(&faulty);
	faulty.setting = real->setting;
	faulty.fleet = real->fleet;
}
