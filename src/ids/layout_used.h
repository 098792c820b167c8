/*
 * layout_used.h
 *	  Which layouts the ids of this database have, and whether the server's is one of them.
 *
 * A database takes its ids along when it is restored into another server.  The table uidgen.layout_used, which is
 * dumped with the database, says which layouts its ids have.  A server whose setting says something else would issue
 * ids that sort below the old ones, and read the old ones wrongly.  generator.c asks before the first id of each
 * process; the functions for operators ask to tell it beforehand.
 *
 * A row is a fact: the first transaction that draws ids in the database and commits writes it.  As long as there is
 * no row, the setting may be corrected.
 */
#ifndef UIDGEN_LAYOUT_USED_H
#define UIDGEN_LAYOUT_USED_H

#include "postgres.h"

typedef enum UidgenLayoutUse
{
	UIDGEN_LAYOUT_SUITS,		/* the server's layout is one of them */
	UIDGEN_LAYOUT_OTHER,		/* it is none of them */
	UIDGEN_LAYOUT_UNKNOWN,		/* the table has no row */
	UIDGEN_LAYOUT_NO_TABLE,		/* the extension in this database has no such
								 * table, or there is none */
	UIDGEN_LAYOUT_BUSY			/* somebody has locked what is to be read */
} UidgenLayoutUse;

/*
 * Look, without waiting for a lock.  Sees what this transaction has written.  With UIDGEN_LAYOUT_OTHER, *layouts
 * lists the layouts that count, in quotes and with commas, but leaves some out if there are many.  *n is their
 * number.  The text is allocated.  Only where the server has a layout.
 */
extern UidgenLayoutUse uidgen_layout_use(char **layouts, int *n);

/*
 * Raise the error that the database has ids of another layout, if it has.  False if that has to be
 * asked again before the next id: nothing is known yet, somebody has locked what is to be read, or this
 * transaction, which may be rolled back, has written it.  Then a call looks again if a command that wrote has ended
 * since the last look, or in another subtransaction.  It also looks again in each step of the coarse clock, and where
 * a lock was in the way.
 *
 * Error: 55000 the database has ids of another layout.
 */
extern bool uidgen_check_layout_used(void);

/* This transaction has drawn an id.  If nothing was known when it was checked, it is noted when the transaction
 * is about to be committed. */
extern void uidgen_layout_drawn(void);

/*
 * The transaction is about to be committed or prepared: write the row.  Not where it is read only, and not where a
 * lock cannot be had at once; then a later transaction does it.
 */
extern void uidgen_note_layout_used(void);

/* The transaction has ended. */
extern void uidgen_forget_drawn(void);

/* What to do then, for everybody who draws ids. */
#define UIDGEN_LAYOUT_USED_MESSAGE "this database has ids of another layout"
#define UIDGEN_LAYOUT_USED_DETAIL "They are of %s; this server issues ids of \"%s\"."

/* Before anything is pinned, a restart is not needed. */
#define UIDGEN_LAYOUT_USED_HINT \
	(uidgen_attached ? \
	 "Set \"uidgen.layout\" to the layout of the ids and restart the server. Or, if this database shall have ids of both, let its owner run SELECT uidgen.use_layout() in it." : \
	 "Set \"uidgen.layout\" to the layout of the ids and reload the configuration. Or, if this database shall have ids of both, let its owner run SELECT uidgen.use_layout() in it.")

#endif							/* UIDGEN_LAYOUT_USED_H */
