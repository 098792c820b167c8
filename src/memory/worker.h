/*
 * worker.h
 *	  What the postmaster is told of the keeper, at preload, by a caller and of a successor.
 */
#ifndef UIDGEN_WORKER_H
#define UIDGEN_WORKER_H

#include "postgres.h"

#include "postmaster/bgworker.h"

extern BackgroundWorker uidgen_describe_keeper(void);

/* Have the postmaster run the keeper.  At preload only. */
extern void uidgen_register_keeper(void);

/*
 * Where the library is not preloaded: have the postmaster start a keeper now, if there is none.  False:
 * there is none, and the server has no free worker slot.
 */
extern bool uidgen_ensure_keeper(void);

/* Is this process the keeper? */
extern bool uidgen_is_keeper(void);

/* A keeper that was called has come: if it ends, another one may be called at once. */
extern void uidgen_keeper_came(void);

/* Would the keeper's process find the library?  Its file may be gone while the server runs. */
extern bool uidgen_library_is_there(const BackgroundWorker *worker);

#endif							/* UIDGEN_WORKER_H */
