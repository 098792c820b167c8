/*
 * next.c
 *	  The functions that issue ids.
 *
 * Errors: 22003 an argument is out of range, 22004 it is null, 55000 the layout has no
 * blocks; and the errors of uidgen_take() and uidgen_next_after().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "functions/values.h"
#include "ids/after.h"
#include "ids/attach.h"
#include "ids/generator.h"
#include "memory/counts.h"
#include "memory/guc.h"
#include "memory/server.h"
#include "miscadmin.h"

/* Ids that a batch takes at a time; an interrupted batch wastes no more than these. */
#define BATCH_BLOCK 1024

SQL_FUNCTION(uidgen_next);
SQL_FUNCTION(uidgen_next_tagged);
SQL_FUNCTION(uidgen_next_after_id);
SQL_FUNCTION(uidgen_next_batch);
SQL_FUNCTION(uidgen_reserve);

/* The tag given as argument i. */
static uint64
get_tag_bits(FunctionCallInfo fcinfo, int i)
{
	return uidgen_field_bits(uidgen_attach_to_draw(), UIDGEN_TAG,
							 uidgen_arg_int(fcinfo, i, "tag"));
}

Datum
uidgen_next(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(uidgen_next_id(0));
}

Datum
uidgen_next_tagged(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(uidgen_next_id(get_tag_bits(fcinfo, 0)));
}

/* Declared twice, with a tag and without. */
Datum
uidgen_next_after_id(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_attach_to_draw();
	uint64		tag_bits = PG_NARGS() > 1 ? get_tag_bits(fcinfo, 1) : 0;
	int64		after;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the id must not be null"),
				 errhint("For a row that comes after no other one, call uid_next().")));
	after = PG_GETARG_INT64(0);
	/* Raises an error if the layout has no such id. */
	(void) uidgen_id_timestamp(layout, after);
	PG_RETURN_INT64(uidgen_next_after(after, tag_bits));
}

/* What a batch keeps between its calls. */
typedef struct Batch
{
	uint64		tag_bits;
	uint64		left;			/* ids still to be taken */
	uint64		used;			/* ids of the block that were returned */
	uint64		size;			/* ids of the block */
	UidgenBlock block;
} Batch;

Datum
uidgen_next_batch(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	Batch	   *batch;

	if (SRF_IS_FIRSTCALL())
	{
		int32		n = uidgen_arg_int(fcinfo, 0, "n");
		uint64		tag_bits = get_tag_bits(fcinfo, 1);

		if (n < 0)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("number of ids must not be negative"),
					 errdetail("%d ids were asked for.", n),
					 errhint("Ask for 0 ids or more.")));
		context = SRF_FIRSTCALL_INIT();
		batch = MemoryContextAllocZero(context->multi_call_memory_ctx,
									   sizeof(Batch));
		batch->tag_bits = tag_bits;
		batch->left = n;
		context->user_fctx = batch;
	}
	context = SRF_PERCALL_SETUP();
	batch = context->user_fctx;
	if (batch->used == batch->size)
	{
		if (batch->left == 0)
			SRF_RETURN_DONE(context);
		CHECK_FOR_INTERRUPTS();
		batch->size = Min(batch->left, BATCH_BLOCK);
		batch->size = Min(batch->size,
						  (uint64) uidgen_layout_tick_capacity(&uidgen_layout));
		uidgen_take(batch->size, UIDGEN_TAKE_ROW, &batch->block);
		uidgen_count(&uidgen_counts->batch, batch->size);
		batch->left -= batch->size;
		batch->used = 0;
	}
	SRF_RETURN_NEXT(context,
					Int64GetDatum(uidgen_block_id(&batch->block, batch->used++,
												  batch->tag_bits)));
}

/*
 * Argument 0: how many ids; argument 1: their tag.  The result is the first id of a block, and
 * the others are the numbers that follow.  It is one number and not both ends as a row, since
 * "(f()).*" is one call for each column: the columns would be of different blocks.
 */
Datum
uidgen_reserve(PG_FUNCTION_ARGS)
{
	const UidgenLayout *layout = uidgen_attach_to_draw();
	int32		n = uidgen_arg_int(fcinfo, 0, "n");
	uint64		tag_bits = get_tag_bits(fcinfo, 1);
	int64		capacity = uidgen_layout_tick_capacity(layout);
	UidgenBlock block;

	if (layout->shift[UIDGEN_SEQUENCE] != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the layout has no blocks of consecutive ids"),
				 errdetail("Its lowest field is %s, not the sequence.",
						   uidgen_field_name(layout->order[layout->nfields - 1])),
				 errhint("Use uid_next_batch(), or a layout in \"uidgen.layout\" that ends with the sequence.")));
	if (n < 1 || n > capacity)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number of ids is out of range"),
				 errdetail("%d ids were asked for; a block has from 1 to " INT64_FORMAT " ids, the capacity of one tick.",
						   n, capacity),
				 errhint("Ask for several blocks, use uid_next_batch(), or give the sequence more bits in \"uidgen.layout\".")));

	uidgen_take(n, UIDGEN_TAKE_BLOCK, &block);
	uidgen_count(&uidgen_counts->block, n);
	PG_RETURN_INT64(uidgen_block_id(&block, 0, tag_bits));
}
