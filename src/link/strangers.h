/*
 * strangers.h
 *	  What of somebody else's runs within the calls of a registry in this database.
 *
 * A trigger that is meant for all tables, such as an audit's, is on the registry's, too.  If it draws ids, the registry waits for
 * what it is asked for: in the keeper's own process, or in the session that a keeper elsewhere has asked.
 */
#ifndef UIDGEN_STRANGERS_H
#define UIDGEN_STRANGERS_H

/* A trigger on a table of the registry that is enabled, and none of the extension's: what it is called, and where it is; NULL: there is none. */
extern char *uidgen_find_strange_trigger(void);

/* Is a function of the registry running that writes? */
extern bool uidgen_in_registry_function(void);

#endif							/* UIDGEN_STRANGERS_H */
