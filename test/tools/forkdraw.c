/*
 * forkdraw.c
 *	  Draws an id in a fork of the session's process, as code in a procedural
 *	  language might.  Compiled by test/t/cache_promises.pl; never installed.
 *
 * draw_in_child(f regprocedure) returns what f() returns there.
 */
#include "postgres.h"

#include <sys/wait.h>
#include <unistd.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(draw_in_child);

Datum
draw_in_child(PG_FUNCTION_ARGS)
{
	Oid			function = PG_GETARG_OID(0);
	int64		id;
	int			ends[2];
	pid_t		child;
	ssize_t		length;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		elog(ERROR, "could not fork: %m");
	if (child == 0)
	{
		id = DatumGetInt64(OidFunctionCall0(function));
		/* Nothing of the parent's is to be cleaned up here. */
		_exit(write(ends[1], &id, sizeof(id)) == sizeof(id) ? 0 : 1);
	}
	close(ends[1]);
	length = read(ends[0], &id, sizeof(id));
	close(ends[0]);
	waitpid(child, NULL, 0);
	if (length != sizeof(id))
		elog(ERROR, "the child drew no id");
	PG_RETURN_INT64(id);
}
