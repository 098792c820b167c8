/*
 * row_trigger.h
 *	  What triggers that write an id into a column share: the errors of one that was not made as it must be.
 *
 * `function` is the trigger's function as SQL names it.
 */
#ifndef UIDGEN_ROW_TRIGGER_H
#define UIDGEN_ROW_TRIGGER_H

#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"

/* Error 39P01: this is no call of a trigger BEFORE INSERT OR UPDATE for each row. */
extern void uidgen_check_row_trigger(FunctionCallInfo fcinfo, const char *function);

/* The number of the column that a trigger names.  Errors: 39P01 it has other arguments than one name, 42703 the table
 * has no such column, 42804 it is no bigint, 42809 it is generated. */
extern int	uidgen_find_column(TriggerData *call, const char *function);

#endif							/* UIDGEN_ROW_TRIGGER_H */
