/*
 * fmgr_bench.c
 *	  Times any function through the function manager, in the server, so that
 *	  neither the executor nor a connection is in the figure.  fmgr_bench.sql
 *	  says what SQL sees of it.
 *
 * Times are the monotonic clock's, in nanoseconds.  By clock_gettime() itself:
 * several sessions share the bounds of a window, so these must be absolute.
 */
#include "postgres.h"

#include <time.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_clock);
PG_FUNCTION_INFO_V1(bench_cpu_clock);
PG_FUNCTION_INFO_V1(bench_empty);
PG_FUNCTION_INFO_V1(bench_empty_trigger);
PG_FUNCTION_INFO_V1(bench_ns);
PG_FUNCTION_INFO_V1(bench_window);
PG_FUNCTION_INFO_V1(bench_pace);

/* Calls between two looks at the clock and for interrupts. */
#define CHUNK 1000
#define WINDOW_CHUNK 100

extern PGDLLEXPORT void bench_calls(FunctionCallInfo call, int64 n);

/* The function to be called, and what a call needs. */
typedef struct Bench
{
	FmgrInfo	flinfo;
	MemoryContext memory;		/* for what calls leave behind */
	ReturnSetInfo set;
	union
	{
		FunctionCallInfoBaseData call;
		char		space[SizeForFunctionCallInfo(FUNC_MAX_ARGS)];
	}			u;
} Bench;

static int64
monotonic_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64) time.tv_sec * 1000000000 + time.tv_nsec;
}

/*
 * What is measured.  Not inline and seen from outside, so that an instruction
 * counter can be switched on for it alone.
 */
pg_noinline void
bench_calls(FunctionCallInfo call, int64 n)
{
	ReturnSetInfo *set = (ReturnSetInfo *) call->resultinfo;

	if (!set)
	{
		for (int64 i = 0; i < n; i++)
		{
			call->isnull = false;
			(void) FunctionCallInvoke(call);
		}
		return;
	}
	/* A call is one that returns the whole set. */
	for (int64 i = 0; i < n; i++)
	{
		do
		{
			call->isnull = false;
			set->isDone = ExprSingleResult;
			(void) FunctionCallInvoke(call);
		} while (set->isDone == ExprMultipleResult);
	}
}

/*
 * The function given as the first argument, its arguments as texts in the array
 * that is argument i; called once, so that what the first call does is not measured.
 */
static Bench *
begin(FunctionCallInfo fcinfo, int i)
{
	Bench	   *bench = palloc0(sizeof(Bench));
	FunctionCallInfo call = &bench->u.call;
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(i);
	Oid		   *types;
	Datum	   *values;
	bool	   *nulls;
	List	   *constants = NIL;
	int			nargs;
	int			wanted;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &nargs);
	(void) get_func_signature(PG_GETARG_OID(0), &types, &wanted);
	fmgr_info(PG_GETARG_OID(0), &bench->flinfo);
	if (wanted != nargs || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the function has %d arguments, none of them null",
						wanted)));
	if (bench->flinfo.fn_retset)
	{
		bench->set.type = T_ReturnSetInfo;
		bench->set.econtext = CreateStandaloneExprContext();
		bench->set.allowedModes = SFRM_ValuePerCall;
		bench->set.returnMode = SFRM_ValuePerCall;
	}
	InitFunctionCallInfoData(*call, &bench->flinfo, nargs, InvalidOid, NULL,
							 bench->flinfo.fn_retset ? (Node *) &bench->set : NULL);
	for (int arg = 0; arg < nargs; arg++)
	{
		Oid			input;
		Oid			element;

		getTypeInputInfo(types[arg], &input, &element);
		call->args[arg].value = OidInputFunctionCall(input, TextDatumGetCString(values[arg]),
													 element, -1);
		call->args[arg].isnull = false;
		constants = lappend(constants,
							makeConst(types[arg], -1, InvalidOid, get_typlen(types[arg]),
									  call->args[arg].value, false, get_typbyval(types[arg])));
	}

	/*
	 * As a call is written in a column's default, for functions that look at
	 * that.
	 */
	fmgr_info_set_expr((Node *) makeFuncExpr(PG_GETARG_OID(0), get_func_rettype(PG_GETARG_OID(0)),
											 constants, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
					   &bench->flinfo);
	bench->memory = AllocSetContextCreate(CurrentMemoryContext, "fmgr_bench",
										  ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(bench->memory);
	(void) FunctionCallInvoke(call);
	while (bench->flinfo.fn_retset && bench->set.isDone == ExprMultipleResult)
		(void) FunctionCallInvoke(call);
	return bench;
}

/* Between two chunks. */
static void
pause_calls(Bench *bench)
{
	MemoryContextReset(bench->memory);
	CHECK_FOR_INTERRUPTS();
}

Datum
bench_clock(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(monotonic_ns());
}

Datum
bench_cpu_clock(PG_FUNCTION_ARGS)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	PG_RETURN_INT64(time.tv_sec * INT64CONST(1000000000) + time.tv_nsec);
}

Datum
bench_empty(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(1);
}

Datum
bench_empty_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *call = (TriggerData *) fcinfo->context;

	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? call->tg_newtuple : call->tg_trigtuple);
}

Datum
bench_ns(PG_FUNCTION_ARGS)
{
	int64		calls = PG_GETARG_INT64(1);
	MemoryContext caller = CurrentMemoryContext;
	Bench	   *bench = begin(fcinfo, 2);
	int64		time = 0;

	for (int64 left = calls; left > 0; left -= CHUNK)
	{
		int64		start;

		pause_calls(bench);
		start = monotonic_ns();
		bench_calls(&bench->u.call, Min(left, CHUNK));
		time += monotonic_ns() - start;
	}
	MemoryContextSwitchTo(caller);
	PG_RETURN_FLOAT8((double) time / Max(calls, 1));
}

Datum
bench_window(PG_FUNCTION_ARGS)
{
	int64		start = PG_GETARG_INT64(1);
	int64		end = start + PG_GETARG_INT64(2);
	MemoryContext caller = CurrentMemoryContext;
	Bench	   *bench = begin(fcinfo, 3);
	int64		calls = 0;

	if (monotonic_ns() > start)
		ereport(ERROR,
				(errmsg("the window began %lld us ago",
						(long long) (monotonic_ns() - start) / 1000)));
	while (monotonic_ns() < start)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(Min((start - monotonic_ns()) / 1000, 10000));
	}
	do
	{
		bench_calls(&bench->u.call, WINDOW_CHUNK);
		calls += WINDOW_CHUNK;
		pause_calls(bench);
	} while (monotonic_ns() < end);
	MemoryContextSwitchTo(caller);
	PG_RETURN_INT64(calls);
}

/* Calls in each millisecond, so few that the session mostly sleeps. */
Datum
bench_pace(PG_FUNCTION_ARGS)
{
	int64		per_ms = PG_GETARG_INT64(1);
	int64		length = PG_GETARG_INT64(2);
	MemoryContext caller = CurrentMemoryContext;
	Bench	   *bench = begin(fcinfo, 3);
	int64		start = monotonic_ns();
	int64		calls = 0;
	int64		longest = 0;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false};

	for (int64 elapsed = 0; elapsed < length; elapsed = monotonic_ns() - start)
	{
		/* What was slept too long is made up for. */
		for (; calls < (elapsed / 1000000 + 1) * per_ms; calls++)
		{
			int64		began = monotonic_ns();

			bench_calls(&bench->u.call, 1);
			longest = Max(longest, monotonic_ns() - began);
		}
		pause_calls(bench);
		pg_usleep(1000);
	}
	MemoryContextSwitchTo(caller);
	values[0] = Int64GetDatum(calls);
	values[1] = Int64GetDatum(longest);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
