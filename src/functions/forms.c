/*
 * forms.c
 *	  The functions that write ids as text or as uuids, and read those.
 *
 * Errors: 22P02 a text or a uuid is none of an id; 22023 there is no such form; and the errors of uidgen_arg_layout()
 * and uidgen_id_timestamp().
 */
#include "postgres.h"

#include "compat.h"
#include "core/textform.h"
#include "core/uuidform.h"
#include "functions/values.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

SQL_FUNCTION(uidgen_to_text);
SQL_FUNCTION(uidgen_from_text);
SQL_FUNCTION(uidgen_to_uuid);
SQL_FUNCTION(uidgen_from_uuid);

StaticAssertDecl(UUID_LEN == UIDGEN_UUID_SIZE, "uuids have 16 bytes");

static void
complain(const UidgenComplaint *error, const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("%s: \"%s\"", error->message, value),
			 errdetail_internal("%s", error->detail),
			 errhint("%s", error->hint)));
}

/* The form that is the second argument, or base32 without it. */
static UidgenTextForm
arg_form(FunctionCallInfo fcinfo)
{
	text	   *argument;
	int			length;

	if (PG_NARGS() < 2)
		return UIDGEN_BASE32;
	argument = PG_GETARG_TEXT_PP(1);
	length = VARSIZE_ANY_EXHDR(argument);
	for (int form = 0; form < UIDGEN_TEXT_FORMS; form++)
	{
		const char *name = uidgen_textform_name((UidgenTextForm) form);

		if (strlen(name) == (size_t) length && pg_strncasecmp(name, VARDATA_ANY(argument), length) == 0)
			return (UidgenTextForm) form;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no form \"%s\"", uidgen_shown_text(VARDATA_ANY(argument), length)),
			 errhint("Forms are base32, base58, base62 and hex.")));
}

Datum
uidgen_to_text(PG_FUNCTION_ARGS)
{
	UidgenTextForm form = arg_form(fcinfo);
	int			size = VARHDRSZ + uidgen_textform_length(form);
	text	   *result = palloc(size);

	SET_VARSIZE(result, size);
	uidgen_textform_write(form, PG_GETARG_INT64(0), VARDATA(result));
	PG_RETURN_TEXT_P(result);
}

Datum
uidgen_from_text(PG_FUNCTION_ARGS)
{
	text	   *argument = PG_GETARG_TEXT_PP(0);
	const char *bytes = VARDATA_ANY(argument);
	int			length = VARSIZE_ANY_EXHDR(argument);
	int64_t		id;
	UidgenComplaint error;

	/* What is copied by hand brings blanks along. */
	while (length > 0 && scanner_isspace(bytes[length - 1]))
		length--;
	while (length > 0 && scanner_isspace(*bytes))
		bytes++, length--;
	if (!uidgen_textform_read(arg_form(fcinfo), bytes, length, &id, &error))
		complain(&error, uidgen_shown_text(bytes, length));
	PG_RETURN_INT64(id);
}

Datum
uidgen_to_uuid(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	TimestampTz timestamp = uidgen_id_timestamp(uidgen_arg_layout(fcinfo, 2), id);
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	if (!uidgen_uuidform_write(timestamp + POSTGRES_EPOCH_UNIX, id, uuid->data))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the time in id " INT64_FORMAT " has no place in a uuid: %s",
						id, timestamptz_to_str(timestamp)),
				 errdetail("A uuid of version 7 has 48 bits for the milliseconds since 1970; they end in the year 10889."),
				 errhint(UIDGEN_OTHER_LAYOUT_HINT)));
	PG_RETURN_UUID_P(uuid);
}

Datum
uidgen_from_uuid(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	int64_t		id;
	UidgenComplaint error;

	if (!uidgen_uuidform_read(uuid->data, &id, &error))
		complain(&error, DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid))));
	PG_RETURN_INT64(id);
}
