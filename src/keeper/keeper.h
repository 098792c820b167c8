/*
 * keeper.h
 *	  The background worker that acquires, renews and releases the grant.
 */
#ifndef UIDGEN_KEEPER_H
#define UIDGEN_KEEPER_H

#include "postgres.h"

/* Entry point of the background worker. */
extern PGDLLEXPORT void uidgen_keeper_main(Datum main_arg);

#endif							/* UIDGEN_KEEPER_H */
