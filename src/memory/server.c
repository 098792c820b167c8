/*
 * server.c
 *	  The layout that this server generates with, and its clock in ticks of that layout.
 */
#include "postgres.h"

#include "memory/server.h"

UidgenTick
uidgen_server_tick(UidgenMicroseconds time)
{
	UidgenTick	tick;

	if (time < uidgen_layout.epoch)
		return 0;
	tick = (time - uidgen_layout.epoch) / uidgen_layout.unit;
	/* A tick beyond the last one would not fit in a position. */
	return Min(tick, uidgen_rules.last_tick);
}

UidgenTick
uidgen_clock_tick(void)
{
	return uidgen_server_tick(uidgen_server_clock());
}

long long
uidgen_server_ms(UidgenTick ticks)
{
	return (long long) ((double) ticks * uidgen_layout.unit / 1000);
}

const UidgenLayout *
uidgen_server_layout(void)
{
	if (!uidgen_memory && uidgen_settings_of_another())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the server has preloaded another library of uidgen than the one that was called"),
				 errdetail("The library that was called is of version %s and has no shared memory.",
						   UIDGEN_VERSION),
				 errhint("Restart the server. If that does not help, name the library in the setting \"shared_preload_libraries\" without its folder: uidgen.")));
	if (!uidgen_memory)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("uidgen must be loaded via shared_preload_libraries"),
				 errdetail("This call needs the server's layout and shared memory, which are set up when the server starts."),
				 errhint("Add uidgen to the setting \"shared_preload_libraries\" and restart the server, or give the layout as an argument where the function takes one.")));
	if (!uidgen_settings_good())
	{
		const UidgenComplaint *error;
		const char *setting = uidgen_bad_setting(&error);

		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uidgen is off because of the setting \"%s\": %s",
						setting, error->message),
				 errdetail_internal("%s%s%s", error->detail,
									error->hint[0] ? " " : "", error->hint),
				 errhint("Correct the setting \"%s\" and restart the server.",
						 setting)));
	}
	return &uidgen_layout;
}
