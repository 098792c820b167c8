/*
 * identity.h
 *	  Who this instance is: what tells it from its copies.
 *
 * Two servers that share a row of the registry by mistake would issue the same
 * ids, and a copy of a data directory brings the rows of its origin along.  So
 * each row says whose it is.  The identity is made of what a copy changes and
 * nothing else does:
 *
 * - the system identifier: another cluster;
 * - the timeline: a promoted standby, a restore to a point in time;
 * - the inode of the control file: a copied data directory;
 * - its time of birth, where the file system keeps one: a copy made by the same
 *	 steps on a fresh file system, as containers are, which often gets the same
 *	 inode;
 * - the machine id, where there is one: a copied disk.
 *
 * Host name, address and device number are left out: in containers they change
 * with every move or restart of one and the same instance.
 */
#ifndef UIDGEN_IDENTITY_H
#define UIDGEN_IDENTITY_H

#include "postgres.h"

/* For people: what kind of place the instance runs in (column type). */
#define UIDGEN_TYPE_CONTAINER 1
#define UIDGEN_TYPE_SERVER 2

typedef struct UidgenIdentity
{
	char		text[128];
	char		host_name[256];
	int			port;
	int			type;
} UidgenIdentity;

/* Find out.  Not during recovery: the timeline is not known before its end.
 * Errors: the control file cannot be looked at. */
extern void uidgen_identify(UidgenIdentity *identity);

#endif							/* UIDGEN_IDENTITY_H */
