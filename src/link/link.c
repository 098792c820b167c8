/*
 * link.c
 *	  Which link to the registry is in use: see link.h.
 */
#include "postgres.h"

#include "link/link.h"

#include "memory/guc.h"

/* A test's own link stays in its place. */
static const UidgenLink *replacement = NULL;

const UidgenLink *
uidgen_link(void)
{
	if (replacement)
		return replacement;
	/* Of a library that is not preloaded, the setting is not defined. */
	return uidgen_registry && uidgen_registry[0] ? &uidgen_link_remote : &uidgen_link_local;
}

const UidgenLink *
uidgen_replace_link(const UidgenLink *link)
{
	const UidgenLink *before = uidgen_link();

	replacement = link;
	return before;
}
