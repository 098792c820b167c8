/*
 * strangers.c
 *	  Triggers of others on the tables of a registry: see strangers.h.
 *
 * A caller may hold what others wait for: so nothing here waits for a lock.
 */
#include "postgres.h"

#include "link/strangers.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/dbcommands.h"
#include "commands/trigger.h"
#include "compat.h"
#include "link/making.h"
#include "memory/catalog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* The search path of the registry's functions that write; its guard_row() looks at the path, too. */
#define REGISTRY_PATH "pg_catalog, uidgen_registry, pg_temp"

/* Nobody but a superuser can create functions in the registry's schema. */
static const char *
stranger_on(Relation relation, Oid schema)
{
	TriggerDesc *triggers = relation->trigdesc;

	for (int i = 0; triggers && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (trigger->tgenabled != TRIGGER_DISABLED && !trigger->tgisinternal && get_func_namespace(trigger->tgfoid) != schema)
			return trigger->tgname;
	}
	return NULL;
}

char *
uidgen_find_strange_trigger(void)
{
	static const char *const tables[] = {"worker_node", "registry", "segment", "guest_role"};
	Oid			schema = get_namespace_oid(UIDGEN_REGISTRY_SCHEMA, true);
	char	   *found = NULL;

	if (!OidIsValid(schema) || !uidgen_lock_catalog(TriggerRelationId, TriggerRelidNameIndexId))
		return NULL;
	for (size_t i = 0; i < lengthof(tables) && !found; i++)
	{
		Oid			table = get_relname_relid(tables[i], schema);
		Relation	relation;
		const char *name;

		if (!OidIsValid(table) || !ConditionalLockRelationOid(table, AccessShareLock))
			continue;
		relation = try_relation_open(table, NoLock);
		if (relation)
		{
			name = stranger_on(relation, schema);
			if (name)
				found = psprintf("trigger %s of table " UIDGEN_REGISTRY_SCHEMA ".%s in database %s", quote_identifier(name), tables[i],
								 quote_identifier(get_database_name(MyDatabaseId)));
			relation_close(relation, NoLock);
		}
		UnlockRelationOid(table, AccessShareLock);
	}
	uidgen_unlock_catalog(TriggerRelationId, TriggerRelidNameIndexId);
	return found;
}

/* A trigger function may set a search path of its own; the registry function's path is then among the saved ones. */
bool
uidgen_in_registry_function(void)
{
	int			n;
	struct config_generic **settings = uidgen_all_settings(&n);

	for (int i = 0; i < n; i++)
		if (strcmp(settings[i]->name, "search_path") == 0)
			for (GucStack *outer = settings[i]->stack; outer; outer = outer->prev)
				if (outer->prior.val.stringval && strcmp(outer->prior.val.stringval, REGISTRY_PATH) == 0)
					return true;
	return strcmp(namespace_search_path, REGISTRY_PATH) == 0;
}
