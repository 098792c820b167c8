/*
 * confined.h
 *	  Statements that are run out of reach of the role that has logged in.
 *
 * uid_adopt() and uid_partitions() of the extension uidgen_tools plan queries and run statements
 * on a table, and so run what its owner has put there.  They do so for that owner only; but a superuser who
 * has become the owner by SET ROLE is still logged in, and code of the owner's
 * can RESET ROLE.  confined.c keeps such code from that, and from what is the session's.
 */
#ifndef UIDGEN_CONFINED_H
#define UIDGEN_CONFINED_H

/* Does a confined statement run? */
extern bool uidgen_is_confining(void);

/* Refuses statements that PostgreSQL lets such code run. */
extern void uidgen_install_confined_hook(void);

#endif							/* UIDGEN_CONFINED_H */
