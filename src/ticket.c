/*
 * ticket.c
 *	  The keeper's side of the rules in ticket.h.
 *
 * One process at a time may call these; the keeper owns its slot in shared
 * memory for that.  None can be broken off halfway by an interrupt, since none
 * looks for one; a process that is killed outright takes the shared memory with
 * it.  Should an era be left odd all the same, close() starts from there.
 */
#ifndef UIDGEN_STANDALONE
#include "postgres.h"
#endif

#include "ticket.h"

void
uidgen_ticket_init(UidgenTicketWords *words)
{
	/* As after close(); position 1, so that the one before it is no less
	 * than 0. */
	uidgen_atomic_init(&words->position, 1);
	uidgen_atomic_init(&words->clock_high, 0);
	uidgen_atomic_init(&words->era, 1);
	uidgen_atomic_init(&words->limit, 0);
	uidgen_atomic_init(&words->renew_at, 0);
	uidgen_atomic_init(&words->constant, 0);
}

uint64_t
uidgen_ticket_close(UidgenTicketWords *words)
{
	/* Odd before anything else changes: whoever reads the zeroes, or takes a
	 * ticket that the position below no longer shows, must see it. */
	uidgen_atomic_write(&words->era, uidgen_atomic_read(&words->era) | 1);
	uidgen_write_barrier();
	uidgen_atomic_write(&words->renew_at, 0);
	uidgen_atomic_write(&words->limit, 0);
	/* An atomic add of nothing, not a read: see ticket.h. */
	return uidgen_atomic_fetch_add(&words->position, 0);
}

void
uidgen_ticket_open(UidgenTicketWords *words, uint64_t position,
				   uint64_t limit, uint64_t renew_at, uint64_t constant,
				   uint64_t clock_high)
{
	uidgen_assert(uidgen_atomic_read(&words->era) & 1);
	uidgen_assert(limit > 0 && renew_at <= limit);
	uidgen_atomic_write(&words->position, position);
	uidgen_atomic_write(&words->clock_high, clock_high);
	uidgen_atomic_write(&words->constant, constant);
	uidgen_atomic_write(&words->limit, limit);
	uidgen_atomic_write(&words->renew_at, renew_at);
	/* Even after everything else: whoever sees the era sees all of its grant. */
	uidgen_write_barrier();
	uidgen_atomic_write(&words->era, uidgen_atomic_read(&words->era) + 1);
}

void
uidgen_ticket_extend(UidgenTicketWords *words, uint64_t limit,
					 uint64_t renew_at)
{
	uidgen_assert((uidgen_atomic_read(&words->era) & 1) == 0);
	uidgen_assert(limit >= uidgen_atomic_read(&words->limit) && renew_at <= limit);
	/* The limit first: renew_at never lies above it. */
	uidgen_atomic_write(&words->limit, limit);
	uidgen_write_barrier();
	uidgen_atomic_write(&words->renew_at, renew_at);
}
