/*
 * server.c
 *	  The layout that this server generates with, and its clock in ticks of that layout.
 */
#include "postgres.h"

#include "memory/server.h"

#include "memory/attachment.h"

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
	UidgenAttachment attachment;
	const UidgenLayout *layout;

	if (likely(uidgen_attached))
		return &uidgen_layout;
	attachment = uidgen_look();
	if (attachment == UIDGEN_ATTACHED)
		return &uidgen_layout;
	uidgen_report_attachment(attachment);
	layout = uidgen_layout_of_settings();
	if (!layout)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this session does not know the server's layout"),
				 errdetail("The setting \"uidgen.layout\" was given to this database, role or connection, where it does not count, and hides the server's."),
				 errhint("Take it away with ALTER DATABASE or ALTER ROLE ... RESET; draw an id first; or give the layout as an argument.")));
	return layout;
}
