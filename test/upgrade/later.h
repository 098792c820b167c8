/*
 * later.h
 *	  Lets former releases compile with the headers of PostgreSQL 19, which releases up to 0.2.0
 *	  do not know: each of their files is compiled as if it included this first.
 */
#ifndef UIDGEN_LATER_H
#define UIDGEN_LATER_H

#include "postgres.h"

#if PG_VERSION_NUM >= 190000
#include "catalog/pg_database.h"
#include "storage/shmem.h"
#include "utils/tuplestore.h"
#include "varatt.h"

#define ShmemInitHash(name, init_size, max_size, control, flags) \
	ShmemInitHash(name, max_size, control, flags)
#endif

#endif							/* UIDGEN_LATER_H */
