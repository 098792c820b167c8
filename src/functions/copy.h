/*
 * copy.h
 *	  Lets COPY FROM store many rows at a time although a default issues ids.
 */
#ifndef UIDGEN_COPY_H
#define UIDGEN_COPY_H

extern void uidgen_install_copy_hook(void);

#endif							/* UIDGEN_COPY_H */
