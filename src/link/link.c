/*
 * link.c
 *	  Which link to the registry is in use: see link.h.
 */
#include "postgres.h"

#include "link/link.h"

const UidgenLink *uidgen_link = &uidgen_link_local;

/* A test's own link stays in its place. */
static bool replaced = false;

void
uidgen_choose_link(const char *registry)
{
	if (!replaced)
		uidgen_link = registry[0] ? &uidgen_link_remote : &uidgen_link_local;
}

const UidgenLink *
uidgen_replace_link(const UidgenLink *link)
{
	const UidgenLink *before = uidgen_link;

	uidgen_link = link;
	replaced = true;
	return before;
}
