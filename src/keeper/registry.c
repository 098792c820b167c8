/*
 * registry.c
 *	  The three calls on the registry of worker ids: see registry.h.
 */
#include "postgres.h"

#include "keeper/registry.h"

#include "catalog/pg_type.h"
#include "keeper/identity.h"
#include "link/link.h"
#include "shared/guc.h"
#include "utils/builtins.h"

/* ---- arguments ---- */

static UidgenArgument
arg_text(const char *value)
{
	return (UidgenArgument) {TEXTOID, value};
}

static UidgenArgument
arg_int(int value)
{
	return (UidgenArgument) {INT4OID, psprintf("%d", value)};
}

static UidgenArgument
arg_bigint(int64 value)
{
	return (UidgenArgument) {INT8OID, psprintf(INT64_FORMAT, value)};
}

static UidgenArgument
arg_bool(bool value)
{
	return (UidgenArgument) {BOOLOID, value ? "true" : "false"};
}

/* ---- answers ---- */

/* What a function of the registry returned. */
typedef struct Answer
{
	const char *function;
	UidgenRow	row;
} Answer;

static Answer
call(const char *function, const char *activity, int nargs, const UidgenArgument *args)
{
	Answer		answer = {.function = function};

	uidgen_link->call(function, nargs, args, activity, &answer.row);
	return answer;
}

static void
report_answer(const Answer *answer, const char *column, const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("the registry gave an answer that makes no sense"),
			 value ?
			 errdetail("The function uidgen.%s returned \"%s\" in column \"%s\".",
					   answer->function, value, column) :
			 errdetail("The function uidgen.%s returned nothing in column \"%s\".",
					   answer->function, column),
			 errhint("The extension in the registry's database is not as it was installed. Compare its functions with those of a new installation of the same version.")));
}

/* The value of a column; NULL: it is null. */
static const char *
find_column(const Answer *answer, const char *column)
{
	for (int i = 0; i < answer->row.ncolumns; i++)
		if (strcmp(answer->row.names[i], column) == 0)
			return answer->row.values[i];
	report_answer(answer, column, NULL);
	return NULL;				/* not reached */
}

static const char *
get_text(const Answer *answer, const char *column)
{
	const char *value = find_column(answer, column);

	if (!value)
		report_answer(answer, column, NULL);
	return value;
}

static int64
get_bigint(const Answer *answer, const char *column, int64 least, int64 most)
{
	const char *value = get_text(answer, column);
	char	   *end;
	int64		number;

	errno = 0;
	number = strtoi64(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || number < least || number > most)
		report_answer(answer, column, value);
	return number;
}

static bool
get_boolean(const Answer *answer, const char *column)
{
	const char *value = get_text(answer, column);
	bool		result;

	if (!parse_bool(value, &result))
		report_answer(answer, column, value);
	return result;
}

/* ---- the calls ---- */

/* The last tick is never granted. */
static UidgenTick
last_grantable(void)
{
	return uidgen_rules.last_tick - 1;
}

void
uidgen_registry_acquire(const UidgenRequest *request, UidgenGrant *grant)
{
	int			max_worker = (int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_WORKER);
	bool		fixed = request->wanted >= 0;
	UidgenIdentity identity;
	Answer		answer;

	uidgen_identify(&identity);
	{
		const UidgenArgument args[] = {
			arg_text(identity.text),
			arg_text(uidgen_layout_text),
			arg_bigint(uidgen_layout.unit),
			arg_bigint(uidgen_layout.epoch),
			arg_bigint((int64) uidgen_layout_maximum(&uidgen_layout, UIDGEN_TIME)),
			arg_int((int) uidgen_layout_maximum(&uidgen_layout, UIDGEN_DATACENTER)),
			arg_int(max_worker),
			arg_int(uidgen_datacenter_id),
			arg_int(request->wanted),
			arg_int(request->avoid),
			arg_text(uidgen_worker_policy == UIDGEN_DISPOSABLE ? "disposable" : "reuse"),
			arg_bool(request->never_used),
			arg_bigint(request->floor),
			arg_bigint(request->window),
			arg_bigint(request->max_lead),
			arg_bigint(request->max_step),
			arg_text(identity.host_name),
			arg_int(identity.port),
			arg_int(identity.type),
		};

		answer = call("acquire_worker_id", "uidgen: acquire a worker id",
					  lengthof(args), args);
	}
	grant->worker = (int) get_bigint(&answer, "worker", fixed ? request->wanted : 0,
									 fixed ? request->wanted : max_worker);
	grant->token = get_bigint(&answer, "token", PG_INT64_MIN, PG_INT64_MAX);
	grant->first = get_bigint(&answer, "first_tick", Max(request->floor, 0),
							  last_grantable());
	grant->last = get_bigint(&answer, "last_tick", grant->first, last_grantable());
	grant->seen = get_bigint(&answer, "seen_tick", PG_INT64_MIN, PG_INT64_MAX);
	grant->never_used = get_boolean(&answer, "never_used");
	grant->free_workers = get_bigint(&answer, "free_workers", PG_INT64_MIN,
									 PG_INT64_MAX);
	grant->registry = uidgen_link->registry();
	strlcpy(grant->reason, get_text(&answer, "reason"), sizeof(grant->reason));
	uidgen_link->commit();
}

bool
uidgen_registry_renew(UidgenGrant *grant, UidgenTick needed, UidgenTick window,
					  UidgenTick at_most)
{
	const UidgenArgument args[] = {
		arg_int(uidgen_datacenter_id),
		arg_int(grant->worker),
		arg_bigint(grant->token),
		arg_bigint(grant->last),
		arg_bigint(needed),
		arg_bigint(window),
		arg_bigint(at_most),
	};
	Answer		answer = call("renew_worker_id", "uidgen: renew the grant",
							  lengthof(args), args);

	bool		fenced = !find_column(&answer, "token") && !find_column(&answer, "last_tick");

	if (!fenced)
	{
		grant->token = get_bigint(&answer, "token", PG_INT64_MIN, PG_INT64_MAX);
		grant->last = get_bigint(&answer, "last_tick", grant->last, last_grantable());
	}
	uidgen_link->commit();
	return !fenced;
}

void
uidgen_registry_release(const UidgenGrant *grant, UidgenTick last_issued)
{
	const UidgenArgument args[] = {
		arg_int(uidgen_datacenter_id),
		arg_int(grant->worker),
		arg_bigint(grant->token),
		arg_bigint(last_issued),
	};
	Answer		answer = call("release_worker", "uidgen: release the worker id",
							  lengthof(args), args);

	/* False if the row is another holder's now: then there is nothing to hand back. */
	(void) get_boolean(&answer, "release_worker");
	uidgen_link->commit();
}
