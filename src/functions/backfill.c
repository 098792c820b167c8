/*
 * backfill.c
 *	  The functions that issue ids of past times, and that tell a database from its copies.
 *
 * Errors: 22004 an argument is null, 22003 a tag is out of range, 22008 the layout begins later, 22023 the time is not
 * past; 25006 in a transaction that only reads; and the errors in ids/backfill.h.
 */
#include "postgres.h"

#include "compat.h"
#include "functions/values.h"
#include "ids/attach.h"
#include "ids/backfill.h"
#include "ids/layout_used.h"
#include "ids/waiting.h"
#include "memory/attachment.h"
#include "memory/server.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/datetime.h"

SQL_FUNCTION(uidgen_backfill);
SQL_FUNCTION(uidgen_backfill_home_text);

/* The beginning of a time's day, in the form that a layout has its epoch in.  Null for an infinite time, or one before
 * the year 1, which no epoch has. */
static const char *
epoch_before(TimestampTz timestamp)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (TIMESTAMP_NOT_FINITE(timestamp) ||
		timestamp2tm(timestamp, NULL, &tm, &fsec, NULL, NULL) != 0 || tm.tm_year < 1)
		return NULL;
	return psprintf("%04d-%02d-%02d", tm.tm_year, tm.tm_mon, tm.tm_mday);
}

/* The tick of a time that is past. */
static UidgenTick
past_tick(const UidgenLayout *layout, TimestampTz timestamp)
{
	uint64		tick;
	UidgenTimePlace place = uidgen_find_tick(layout, timestamp, &tick);

	if (place == UIDGEN_BEFORE_EPOCH)
	{
		char	   *epoch = pstrdup(timestamptz_to_str(layout->epoch - POSTGRES_EPOCH_UNIX));
		const char *earlier = epoch_before(timestamp);

		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the time is before the epoch of the layout: %s", timestamptz_to_str(timestamp)),
				 errdetail("The layout \"%s\" begins at %s.", uidgen_layout_text, epoch),
				 earlier ?
				 errhint("A layout with \"epoch:%s\" or an earlier one has room for it. A registry keeps its layout, so that takes a new one.", earlier) :
				 errhint("No layout begins so early.")));
	}
	if (place == UIDGEN_AFTER_END || (UidgenTick) tick >= uidgen_clock_tick())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the time is not past: %s", timestamptz_to_str(timestamp)),
				 errdetail("uid_backfill() issues ids for times before the present one."),
				 errhint("For a new row, call uid_next().")));
	return (UidgenTick) tick;
}

Datum
uidgen_backfill(PG_FUNCTION_ARGS)
{
	static LocalTransactionId checked = InvalidLocalTransactionId;
	const UidgenLayout *layout;
	uint64		tag_bits;
	int64		id;

	PreventCommandDuringRecovery("uid_backfill()");
	PreventCommandIfReadOnly("uid_backfill()");
	PreventCommandIfParallelMode("uid_backfill()");
	layout = uidgen_attach();
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the time must not be null"),
				 errhint("Decide which time the rows without one are to have.")));
	tag_bits = uidgen_field_bits(layout, UIDGEN_TAG, uidgen_arg_int(fcinfo, 1, "tag"));

	/* The layout of the ids that are there. */
	if (checked != uidgen_local_transaction())
	{
		(void) uidgen_check_layout_used();
		checked = uidgen_local_transaction();
	}
	id = uidgen_backfill_id(past_tick(layout, PG_GETARG_TIMESTAMPTZ(0)), tag_bits);
	uidgen_layout_drawn();
	PG_RETURN_INT64(id);
}

Datum
uidgen_backfill_home_text(PG_FUNCTION_ARGS)
{
	char		home[UIDGEN_HOME_SIZE];

	(void) uidgen_look();		/* the name of the instance may be pinned */
	uidgen_backfill_home(home);
	PG_RETURN_TEXT_P(cstring_to_text(home));
}
