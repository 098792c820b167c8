/*
 * backfill.h
 *	  Ids of past times, under worker ids that no live id has.
 *
 * docs/design/backfill.md says why no other id is the same.  functions/backfill.c checks what callers give.
 */
#ifndef UIDGEN_BACKFILL_H
#define UIDGEN_BACKFILL_H

#include "core/units.h"
#include "postgres.h"

/* Room for what uidgen_backfill_home() writes. */
#define UIDGEN_HOME_SIZE 192

/*
 * What tells this database, on this instance, from all of its copies: worker ids are reserved under this text.
 * Errors: as uidgen_identify(), and 55000 the extension is not in this database.
 */
extern void uidgen_backfill_home(char *home);

/*
 * An id of this tick, or of the first later one that has room, with the bits of its tag.  The process is attached;
 * the tick is before the clock's.  What was issued counts once the transaction commits; until then no other one
 * has this worker id.
 *
 * Errors: 53400 no worker id is reserved; 22023 the times of each that is reserved are beyond this tick already;
 * 55000 the room for ids of the past behind this tick is used up; and the errors of uidgen_probe_grant().
 */
extern int64 uidgen_backfill_id(UidgenTick tick, uint64 tag_bits);

#endif							/* UIDGEN_BACKFILL_H */
