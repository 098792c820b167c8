/*
 * compat.h
 *	  Every difference between the supported versions of PostgreSQL (15 to 19).
 *
 * No other file tests PG_VERSION_NUM.  Include after postgres.h.
 */
#ifndef UIDGEN_COMPAT_H
#define UIDGEN_COMPAT_H

#include "access/tableam.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/shmem.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/rangetypes.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#endif

#if PG_VERSION_NUM < 150000
#error uidgen needs PostgreSQL 15 or later
#endif

/* Since 16 what looks into a text has a header of its own. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Since 18 a module can say its name and version. */
#if PG_VERSION_NUM >= 180000
#define UIDGEN_MODULE_MAGIC(module) \
	PG_MODULE_MAGIC_EXT(.name = module, .version = UIDGEN_VERSION)
#else
#define UIDGEN_MODULE_MAGIC(module) PG_MODULE_MAGIC
#endif

/*
 * Since 17 an extension can name its wait events; before 17 they show as
 * Extension/Extension.  *event keeps the number, which is the same in every process for
 * as long as the server runs.
 */
static inline uint32
uidgen_wait_event(uint32 *event, const char *name)
{
#if PG_VERSION_NUM >= 170000
	if (*event == 0)
		*event = WaitEventExtensionNew(name);
	return *event;
#else
	(void) event;
	(void) name;
	return PG_WAIT_EXTENSION;
#endif
}

/* Has any process of this server named such a wait event since its start, or since a crash? */
static inline bool
uidgen_has_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	int			n;
	char	  **names = GetWaitEventCustomNames(PG_WAIT_EXTENSION, &n);

	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
#endif
	(void) name;
	return false;
}

/*
 * Since 17 a library that is not preloaded can have shared memory: every process finds it by its
 * name, and the first one makes it.  Whoever asks for a name must always ask for the same size.  It
 * begins with zeros.
 */
#if PG_VERSION_NUM >= 170000
#define UIDGEN_CAN_ATTACH true

#if PG_VERSION_NUM >= 190000
static inline void
uidgen_clear_named_memory(void *memory, void *size)
{
	memset(memory, 0, *(Size *) size);
}
#else
/* The callback has no argument, so the size is kept here. */
static Size uidgen_named_memory_size;

static inline void
uidgen_clear_named_memory(void *memory)
{
	memset(memory, 0, uidgen_named_memory_size);
}
#endif

static inline void *
uidgen_named_memory(const char *name, Size size)
{
	bool		found;

#if PG_VERSION_NUM >= 190000
	return GetNamedDSMSegment(name, size, uidgen_clear_named_memory, &found, &size);
#else
	uidgen_named_memory_size = size;
	return GetNamedDSMSegment(name, size, uidgen_clear_named_memory, &found);
#endif
}
#else
#define UIDGEN_CAN_ATTACH false

static inline void *
uidgen_named_memory(const char *name, Size size)
{
	elog(ERROR, "this version of PostgreSQL has no shared memory named \"%s\"", name);
	return NULL;
}
#endif

/* What the columns of a grouping step stand for.  Since 18 it has an entry of its own in the range table. */
static inline List *
uidgen_group_expressions(const RangeTblEntry *entry)
{
#if PG_VERSION_NUM >= 180000
	return entry->rtekind == RTE_GROUP ? entry->groupexprs : NIL;
#else
	(void) entry;
	return NIL;
#endif
}

/* A number for locks of this name, which is the same in every process. */
static inline int
uidgen_new_tranche(const char *name)
{
#if PG_VERSION_NUM >= 190000
	return LWLockNewTrancheId(name);
#else
	(void) name;
	return LWLockNewTrancheId();
#endif
}

/* Before 19, each process has to be told the name of such locks. */
static inline void
uidgen_name_tranche(int tranche, const char *name)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, name);
#else
	(void) tranche;
	(void) name;
#endif
}

/* May the present role execute a function? */
static inline bool
uidgen_may_execute(Oid function)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#else
	return pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

/* Every setting that is defined now, by the server or by an extension. */
static inline struct config_generic **
uidgen_all_settings(int *n)
{
#if PG_VERSION_NUM >= 160000
	return get_guc_variables(n);
#else
	*n = GetNumConfigOptions();
	return get_guc_variables();
#endif
}

/* The range between two bounds.  Since 16 errors can be kept instead of raised. */
static inline RangeType *
uidgen_make_range(TypeCacheEntry *type, RangeBound *lower, RangeBound *upper)
{
#if PG_VERSION_NUM >= 160000
	return make_range(type, lower, upper, false, NULL);
#else
	return make_range(type, lower, upper, false);
#endif
}

/* A set of events to wait for, which the caller frees.  Since 17 a resource owner can do so. */
static inline WaitEventSet *
uidgen_create_wait_event_set(int nevents)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, nevents);
#else
	return CreateWaitEventSet(CurrentMemoryContext, nevents);
#endif
}

/* A scan of a whole table.  Since 19 it has flags. */
static inline TableScanDesc
uidgen_begin_scan(Relation table, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(table, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(table, snapshot, 0, NULL);
#endif
}

/*
 * Makes a column of fixed length count as passed by reference, in a tuple descriptor that nobody else uses.  Its
 * value is then the column's address in a row.  PostgreSQL 18 takes rows apart by a second form of the descriptor, 19
 * by one with offsets.
 */
static inline void
uidgen_pass_by_reference(TupleDesc columns, int column)
{
	TupleDescAttr(columns, column - 1)->attbyval = false;
#if PG_VERSION_NUM >= 180000
	populate_compact_attribute(columns, column - 1);
#endif
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(columns);
#endif
}

/* The number of this process's present transaction among its own. */
static inline LocalTransactionId
uidgen_local_transaction(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

/* Force settings that would disturb the keeper and that not all versions have. */
static inline void
uidgen_force_later_settings(void)
{
#if PG_VERSION_NUM >= 170000
	SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
#endif
}

/*
 * For a function in which each call counts.  What it needs a stack for is rare, and no array is
 * on it; but the stack protector's check would be made in each call.
 */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define uidgen_no_stack_protector __attribute__((no_stack_protector))
#endif
#endif
#ifndef uidgen_no_stack_protector
#define uidgen_no_stack_protector
#endif

/*
 * For a variable that each call reads, in its declaration: no other library has it, so the code has its
 * address at hand.  (-fvisibility=hidden covers definitions only.)
 */
#if defined(__GNUC__) && !defined(_WIN32)
#define uidgen_hidden __attribute__((visibility("hidden")))
#else
#define uidgen_hidden
#endif

#endif							/* UIDGEN_COMPAT_H */
