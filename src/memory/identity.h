/*
 * identity.h
 *	  Who this instance is: what tells it from its copies.
 *
 * Two servers that share a row of the registry by mistake would issue the same ids.  A copied data directory contains
 * the rows of its origin.  So each row says whose it is.  The identity is made of what changes when a server is
 * copied and at no other time:
 *
 * - the system identifier tells another cluster;
 * - the timeline tells a promoted standby and a restore to a point in time; during
 *	 recovery it is not known before the end, and counts as 0;
 * - the inode of the control file tells a copied data directory;
 * - the control file's time of birth, where the file system keeps it, tells copies that the same steps made on fresh
 *   file systems.  In containers such copies often get the same inode;
 * - the machine id, where there is one, tells a copied disk;
 * - the name that the setting uidgen.instance gives tells it where there is none, as in
 *	 containers: two of them that start from copies of one disk are equal in all else.
 *
 * Host name, address and device number are left out: in containers they change with
 * each move or restart of the same instance.
 */
#ifndef UIDGEN_IDENTITY_H
#define UIDGEN_IDENTITY_H

#include "postgres.h"

/* What the instance runs on, for people (column type of uidgen_registry.worker_node). */
#define UIDGEN_TYPE_CONTAINER 1
#define UIDGEN_TYPE_SERVER 2

typedef struct UidgenIdentity
{
	char		text[128];
	char		host_name[256];
	int			port;
	int			type;
} UidgenIdentity;

/* Is there neither a machine id nor a name?  Then it cannot be told from a copy of its disk. */
extern bool uidgen_is_like_its_copies(void);

/* What to say of that, and what to do. */
#define UIDGEN_LIKE_COPIES_DETAIL "It has no /etc/machine-id, and the setting \"uidgen.instance\" is empty. A copy of its disk or volume would issue the same ids."
#define UIDGEN_LIKE_COPIES_HINT "Set \"uidgen.instance\" to a name that no copy has, such as the name of the pod."

/*
 * What tells this process's database from its copies: the OID, and in the bits above 32 when its folder was made, or
 * the inode if the file system does not know when.  The OID alone can come twice: CREATE DATABASE can choose it.
 * Error: the folder cannot be looked at.
 */
extern uint64 uidgen_database_number(void);

/* Find out who this instance is.  Errors: the control file cannot be looked at. */
extern void uidgen_identify(UidgenIdentity *identity);

#endif							/* UIDGEN_IDENTITY_H */
