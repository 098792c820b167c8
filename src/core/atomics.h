/*
 * atomics.h
 *	  The handful of atomic operations that ticket.h is written in.
 *
 * In the server they are PostgreSQL's (port/atomics.h), whose 64-bit
 * compare-exchange and fetch-add are full barriers and whose read and write
 * order nothing by themselves.  With UIDGEN_STANDALONE they are the compiler's.  So the same rules can run outside
 * the server, in threads under ThreadSanitizer, which cannot see into PostgreSQL's inline assembly.
 */
#ifndef UIDGEN_ATOMICS_H
#define UIDGEN_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef UIDGEN_STANDALONE

#include <assert.h>

/*
 * As PostgreSQL aligns its own.  i386 aligns a uint64_t in a struct by 4, so it could lie in two cache lines.  Then
 * it is read in two parts, and exchanging it stops all processors.
 */
typedef struct UidgenAtomic
{
	uint64_t	value __attribute__((aligned(8)));
} UidgenAtomic;

/* ThreadSanitizer does not model fences, so each access is ordered itself. */
#define uidgen_atomic_init(a, v)	__atomic_store_n(&(a)->value, (v), __ATOMIC_SEQ_CST)
#define uidgen_atomic_read(a)		__atomic_load_n(&(a)->value, __ATOMIC_SEQ_CST)
#define uidgen_atomic_write(a, v)	__atomic_store_n(&(a)->value, (v), __ATOMIC_SEQ_CST)
#define uidgen_atomic_fetch_add(a, n) \
	__atomic_fetch_add(&(a)->value, (n), __ATOMIC_SEQ_CST)
#define uidgen_atomic_compare_exchange(a, expected, v) \
	__atomic_compare_exchange_n(&(a)->value, (expected), (v), false, \
								__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define uidgen_read_barrier()		((void) 0)
#define uidgen_write_barrier()		((void) 0)
#define uidgen_likely(x)			__builtin_expect((x) != 0, 1)
#define uidgen_unlikely(x)			__builtin_expect((x) != 0, 0)
#define uidgen_always_inline		inline __attribute__((always_inline))
#define uidgen_assert(x)			assert(x)

#else

#include "port/atomics.h"

/* A lock in each word would not be what the rules of ticket.h are about. */
#ifdef PG_HAVE_ATOMIC_U64_SIMULATION
#error uidgen needs 64-bit atomic operations, which this platform lacks
#endif

typedef pg_atomic_uint64 UidgenAtomic;

#define uidgen_atomic_init(a, v)	pg_atomic_init_u64((a), (v))
#define uidgen_atomic_read(a)		pg_atomic_read_u64(a)
#define uidgen_atomic_write(a, v)	pg_atomic_write_u64((a), (v))
#define uidgen_atomic_fetch_add(a, n) pg_atomic_fetch_add_u64((a), (n))
#define uidgen_atomic_compare_exchange(a, expected, v) \
	pg_atomic_compare_exchange_u64((a), (expected), (v))
#define uidgen_read_barrier()		pg_read_barrier()
#define uidgen_write_barrier()		pg_write_barrier()
#define uidgen_likely(x)			likely(x)
#define uidgen_unlikely(x)			unlikely(x)
#define uidgen_always_inline		pg_attribute_always_inline
#define uidgen_assert(x)			Assert(x)

#endif							/* UIDGEN_STANDALONE */

#endif							/* UIDGEN_ATOMICS_H */
