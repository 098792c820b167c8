/*
 * drop.h
 *	  Warns when the registry in use is dropped.
 *
 * DROP EXTENSION asks nobody, and ids go on to the end of the grant.  But what was granted is forgotten.
 */
#ifndef UIDGEN_DROP_H
#define UIDGEN_DROP_H

/* When the library is loaded. */
extern void uidgen_install_drop_hook(void);

#endif							/* UIDGEN_DROP_H */
