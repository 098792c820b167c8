/*
 * uuidform.h
 *	  Ids as uuids of version 7, and back.
 *
 * The uuid begins with the time of the id, in milliseconds since 1970, where version 7
 * (RFC 9562, section 5.7) has the time; so whatever reads the time of such a uuid reads
 * the id's.  Of the 74 bits that the RFC leaves to the application, the first 64 hold the
 * whole id and the last 10 check bits:
 *
 *	 0                   1                   2                   3
 *	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *	+---------------------------------------------------------------+
 *	|                 milliseconds, bits 47 to 16                   |
 *	+-------------------------------+-------+-----------------------+
 *	|   milliseconds, bits 15 to 0  |0 1 1 1|   id, bits 63 to 52   |  rand_a
 *	+---+---------------------------+-------+-----------------------+
 *	|1 0|                   id, bits 51 to 22                       |  rand_b
 *	+---+---------------------------------------+-------------------+
 *	|              id, bits 21 to 0             |    check bits     |  rand_b
 *	+-------------------------------------------+-------------------+
 *
 * The id is an unsigned number of 64 bits here, all of which are kept, also of an id that
 * is negative as a bigint.  Milliseconds are rounded down.  Uuids are compared by the
 * time first, then by the id: of one layout whose first field is the time they are in the
 * order of the ids.
 *
 * The check bits tell our uuids from others of version 7, but for one in 1024, and find
 * errors of typing.  They are the CRC-10/ATM (width 10, polynomial 0x233, initial value
 * 0, nothing reflected or inverted; the check value of "123456789" is 0x199) of 14 bytes:
 * the 6 of the milliseconds and the 8 of the id, each most significant first.  It notices
 * every change of up to three of these 122 bits, and every change within ten of them that
 * follow one another: so a wrong hexadecimal digit, or two neighbours that have changed
 * places.  All of this is fixed forever, since uuids are stored.
 *
 * Pure functions of their arguments, in C99; nothing is allocated.
 */
#ifndef UIDGEN_UUIDFORM_H
#define UIDGEN_UUIDFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/complaint.h"
#include "core/units.h"

#define UIDGEN_UUID_SIZE 16

/*
 * The uuid of an id and its time, in microseconds since 1970 UTC.  False if the uuid has
 * no room for the time: it is before 1970, or after 48 bits of milliseconds, in the year
 * 10889.
 */
extern bool uidgen_uuidform_write(UidgenMicroseconds time, int64_t id,
								  uint8_t uuid[UIDGEN_UUID_SIZE]);

/* The id in a uuid.  False if none was written there: then *error says whether version,
 * variant or check bits are others. */
extern bool uidgen_uuidform_read(const uint8_t uuid[UIDGEN_UUID_SIZE], int64_t *id,
								 UidgenComplaint *error);

#endif							/* UIDGEN_UUIDFORM_H */
