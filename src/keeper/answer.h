/*
 * answer.h
 *	  Arguments for the registry's functions, and the check of what they return.
 *
 * local_registry.c, fleet_registry.c and segment_fetch.c know the functions; this file knows how values are written
 * for a link and read from its rows (link.h).  An answer that makes no sense is an error
 * here, since the registry may be of another version, or not as it was installed.
 */
#ifndef UIDGEN_ANSWER_H
#define UIDGEN_ANSWER_H

#include "postgres.h"

#include "core/node.h"
#include "link/link.h"

/* What a function of the registry returned. */
typedef struct UidgenAnswer
{
	const char *function;
	UidgenRow	row;
} UidgenAnswer;

/* `name` is the function's parameter. */
extern UidgenArgument uidgen_text_argument(const char *name, const char *value);
extern UidgenArgument uidgen_int_argument(const char *name, int value);
extern UidgenArgument uidgen_bigint_argument(const char *name, int64 value);
extern UidgenArgument uidgen_bool_argument(const char *name, bool value);
extern UidgenArgument uidgen_ints_argument(const char *name, int n, const int *values);
extern UidgenArgument uidgen_bigints_argument(const char *name, int n, const int64 *values);

/*
 * The columns of an answer, by name.  Error: 08P01 if the column is missing, is null (but for
 * uidgen_answer_is_null()), does not parse, or is out of range.
 */
extern bool uidgen_answer_is_null(const UidgenAnswer *answer, const char *column);
extern const char *uidgen_answer_text(const UidgenAnswer *answer, const char *column);
extern int64 uidgen_answer_bigint(const UidgenAnswer *answer, const char *column,
								  int64 least, int64 most);

/* An array of numbers in these bounds: how many, of which at most n are written to `values`. */
extern int	uidgen_answer_bigints(const UidgenAnswer *answer, const char *column,
								  int n, int64 least, int64 most, int64 *values);
extern bool uidgen_answer_bool(const UidgenAnswer *answer, const char *column);

/* What a fleet's registry says of its life, in three columns. */
extern UidgenRegistryLife uidgen_answer_life(const UidgenAnswer *answer);

/* The registry has parsed the layout by itself.  Error: 08P01 if it found another unit or epoch. */
extern void uidgen_check_answered_layout(const UidgenAnswer *answer);

/* Raise the error that this value of a column makes no sense; NULL: it has none. */
extern void uidgen_report_answer(const UidgenAnswer *answer, const char *column,
								 const char *value);

#endif							/* UIDGEN_ANSWER_H */
