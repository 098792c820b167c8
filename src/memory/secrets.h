/*
 * secrets.h
 *	  May a connection string be a setting, which the server log and members of pg_monitor see?
 */
#ifndef UIDGEN_SECRETS_H
#define UIDGEN_SECRETS_H

#include "core/complaint.h"

/*
 * False, and why, if the string has a password or another secret that libpq knows; or if libpq could not read it,
 * since then any part may be a password.  The complaint repeats nothing of the string.
 */
extern bool uidgen_conninfo_may_be_shown(const char *conninfo, UidgenComplaint *error);

#endif							/* UIDGEN_SECRETS_H */
