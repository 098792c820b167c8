/*
 * identity.c
 *	  Finds out who this instance is; see identity.h for what counts and why.
 */
#include "postgres.h"

#include "memory/identity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "common/hashfn.h"
#include "memory/guc.h"
#include "memory/memory.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/fd.h"

/*
 * A hash of the machine id, or 0 where there is none.  The registry shows it to others,
 * and they should not see the machine id itself (machine-id(5)).
 */
static uint64
machine_hash(void)
{
	static const char *const files[] = {
		"/etc/machine-id", "/var/lib/dbus/machine-id"
	};

	for (size_t i = 0; i < lengthof(files); i++)
	{
		FILE	   *file = AllocateFile(files[i], "r");
		char		id[64] = "";
		bool		found = false;

		if (!file)
			continue;
		if (fgets(id, sizeof(id), file))
		{
			id[strcspn(id, "\r\n")] = '\0';
			found = strlen(id) == 32;
		}
		FreeFile(file);
		if (found)
			return hash_bytes_extended((unsigned char *) id, 32, 0);
	}
	return 0;
}

/* When the file was made, in nanoseconds since 1970; 0 where that is not known. */
static uint64
birth_time(const char *path)
{
#ifdef STATX_BTIME
	struct statx file;

	if (statx(AT_FDCWD, path, 0, STATX_BTIME, &file) == 0 &&
		(file.stx_mask & STATX_BTIME))
		return (uint64) file.stx_btime.tv_sec * UINT64CONST(1000000000) +
			file.stx_btime.tv_nsec;
#endif
	return 0;
}

static bool
in_container(void)
{
	return access("/.dockerenv", F_OK) == 0 ||
		access("/run/.containerenv", F_OK) == 0;
}

/* As it is pinned or, in a process that is not attached, as it would be. */
static uint64
instance_hash(void)
{
	return uidgen_attached ? uidgen_instance : uidgen_checked_settings()->instance;
}

bool
uidgen_is_like_its_copies(void)
{
	return machine_hash() == 0 && instance_hash() == 0;
}

uint64
uidgen_database_number(void)
{
	char		path[MAXPGPATH];
	struct stat file;
	uint64		birth;

	/*
	 * A file that only CREATE DATABASE makes: recovery may write it, but not
	 * make it anew.
	 */
	snprintf(path, sizeof(path), "%s/PG_VERSION", DatabasePath);
	if (stat(path, &file) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	birth = birth_time(path);
	if (birth == 0)
		birth = (uint64) file.st_ino;
	return (hash_bytes_uint32_extended((uint32) (birth ^ birth >> 32), 0) & PG_INT32_MAX) << 32 | MyDatabaseId;
}

void
uidgen_identify(UidgenIdentity *identity)
{
	struct stat control;

	if (stat(XLOG_CONTROL_FILE, &control) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", XLOG_CONTROL_FILE)));

	snprintf(identity->text, sizeof(identity->text),
			 UINT64_FORMAT "/%u/" UINT64_FORMAT "/" UINT64_FORMAT "/%016" PRIx64 "/%016" PRIx64,
			 GetSystemIdentifier(),
			 RecoveryInProgress() ? 0 : GetWALInsertionTimeLine(),
			 (uint64) control.st_ino, birth_time(XLOG_CONTROL_FILE),
			 machine_hash(), instance_hash());
	if (gethostname(identity->host_name, sizeof(identity->host_name)) != 0)
		identity->host_name[0] = '\0';
	identity->host_name[sizeof(identity->host_name) - 1] = '\0';
	/* Any bytes can be set. A registry has texts of an encoding. */
	for (char *c = identity->host_name; *c; c++)
		if ((unsigned char) *c < ' ' || (unsigned char) *c > '~')
			*c = '?';
	identity->port = PostPortNumber;
	identity->type = in_container() ? UIDGEN_TYPE_CONTAINER : UIDGEN_TYPE_SERVER;
}
