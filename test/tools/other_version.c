/*
 * other_version.c
 *	  Makes the shared memory of uidgen before uidgen does, as a version of it would that has
 *	  another shape.  Compiled by test/t/attach_late.pl; never installed.
 */
#include "postgres.h"

#include "compat.h"
#include "memory/memory.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(make_strange_memory);

Datum
make_strange_memory(PG_FUNCTION_ARGS)
{
	UidgenMemoryHead *head = uidgen_named_memory("uidgen", 64 * 1024);

	head->shape = 1;
	strlcpy(head->version, "9.9.9", sizeof(head->version));
	PG_RETURN_VOID();
}
