/*
 * answer.c
 *	  Arguments for the registry's functions, and the check of what they return: see
 *	  answer.h.
 */
#include "postgres.h"

#include "keeper/answer.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "memory/guc.h"
#include "utils/builtins.h"

/* ---- arguments ---- */

UidgenArgument
uidgen_text_argument(const char *name, const char *value)
{
	return (UidgenArgument) {name, TEXTOID, value};
}

UidgenArgument
uidgen_int_argument(const char *name, int value)
{
	return (UidgenArgument) {name, INT4OID, psprintf("%d", value)};
}

UidgenArgument
uidgen_bigint_argument(const char *name, int64 value)
{
	return (UidgenArgument) {name, INT8OID, psprintf(INT64_FORMAT, value)};
}

UidgenArgument
uidgen_bool_argument(const char *name, bool value)
{
	return (UidgenArgument) {name, BOOLOID, value ? "true" : "false"};
}

UidgenArgument
uidgen_ints_argument(const char *name, int n, const int *values)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
		appendStringInfo(&text, "%c%d", i == 0 ? '{' : ',', values[i]);
	appendStringInfoString(&text, n == 0 ? "{}" : "}");
	return (UidgenArgument) {name, INT4ARRAYOID, text.data};
}

UidgenArgument
uidgen_bigints_argument(const char *name, int n, const int64 *values)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
		appendStringInfo(&text, "%c" INT64_FORMAT, i == 0 ? '{' : ',', values[i]);
	appendStringInfoString(&text, n == 0 ? "{}" : "}");
	return (UidgenArgument) {name, INT8ARRAYOID, text.data};
}

/* ---- answers ---- */

void
uidgen_report_answer(const UidgenAnswer *answer, const char *column, const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("the registry gave an answer that makes no sense"),
			 value ?
			 errdetail("The function uidgen_registry.%s returned \"%s\" in column \"%s\".",
					   answer->function, value, column) :
			 errdetail("The function uidgen_registry.%s returned nothing in column \"%s\".",
					   answer->function, column),
			 errhint("The extension in the registry's database is not as it was installed. Compare its functions with a new installation of the same version.")));
}

/* The value of a column; NULL: it is null. */
static const char *
find_column(const UidgenAnswer *answer, const char *column)
{
	for (int i = 0; i < answer->row.ncolumns; i++)
		if (strcmp(answer->row.names[i], column) == 0)
			return answer->row.values[i];
	uidgen_report_answer(answer, column, NULL);
	return NULL;				/* not reached */
}

bool
uidgen_answer_is_null(const UidgenAnswer *answer, const char *column)
{
	return !find_column(answer, column);
}

const char *
uidgen_answer_text(const UidgenAnswer *answer, const char *column)
{
	const char *value = find_column(answer, column);

	if (!value)
		uidgen_report_answer(answer, column, NULL);
	return value;
}

int64
uidgen_answer_bigint(const UidgenAnswer *answer, const char *column, int64 least, int64 most)
{
	const char *value = uidgen_answer_text(answer, column);
	char	   *end;
	int64		number;

	errno = 0;
	number = strtoi64(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || number < least || number > most)
		uidgen_report_answer(answer, column, value);
	return number;
}

int
uidgen_answer_bigints(const UidgenAnswer *answer, const char *column, int n, int64 least,
					  int64 most, int64 *values)
{
	const char *text = uidgen_answer_text(answer, column);
	const char *c = text;
	int			found = 0;

	if (strcmp(text, "{}") == 0)
		return 0;
	for (; *c == (found == 0 ? '{' : ','); found++)
	{
		char	   *end;
		int64		number;

		errno = 0;
		number = strtoi64(c + 1, &end, 10);
		if (errno != 0 || end == c + 1 || number < least || number > most)
			break;
		if (found < n)
			values[found] = number;
		c = end;
	}
	if (found == 0 || strcmp(c, "}") != 0)
		uidgen_report_answer(answer, column, text);
	return found;
}

bool
uidgen_answer_bool(const UidgenAnswer *answer, const char *column)
{
	const char *value = uidgen_answer_text(answer, column);
	bool		result;

	if (!parse_bool(value, &result))
		uidgen_report_answer(answer, column, value);
	return result;
}

void
uidgen_check_answered_layout(const UidgenAnswer *answer)
{
	(void) uidgen_answer_bigint(answer, "unit", uidgen_layout.unit, uidgen_layout.unit);
	(void) uidgen_answer_bigint(answer, "epoch", uidgen_layout.epoch, uidgen_layout.epoch);
}

UidgenRegistryLife
uidgen_answer_life(const UidgenAnswer *answer)
{
	return (UidgenRegistryLife) {
		.registry_id = uidgen_answer_bigint(answer, "registry_id", PG_INT64_MIN, PG_INT64_MAX),
		.cluster = uidgen_answer_bigint(answer, "system_identifier", PG_INT64_MIN, PG_INT64_MAX),
		.timeline = (int) uidgen_answer_bigint(answer, "timeline", PG_INT32_MIN, PG_INT32_MAX),
	};
}
