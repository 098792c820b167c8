/*
 * secrets.h
 *	  Does a connection string hold a password?
 */
#ifndef UIDGEN_SECRETS_H
#define UIDGEN_SECRETS_H

/*
 * Is there a password, or another secret that libpq knows, in a connection string in either of
 * its forms?  Where the string is none that libpq would read, doubt counts as yes.
 */
extern bool uidgen_has_secret(const char *conninfo);

#endif							/* UIDGEN_SECRETS_H */
