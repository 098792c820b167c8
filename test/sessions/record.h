/*
 * record.h
 *	  What session.c writes of the ids and numbers that a client saw, and oracle.c
 *	  reads.
 *
 * A file is a sequence of chunks: a header, and the ranges of ids that arrived
 * with one read of the connection, in their order.  One id is a range of one.
 * Times are in nanoseconds; the wall clock is that of the server, be it false.
 */
#ifndef UIDGEN_RECORD_H
#define UIDGEN_RECORD_H

#include <stdint.h>

#define RECORD_ORDERED 1		/* drawn in the order in which they arrived */
#define RECORD_FRESH 2			/* drawn after the statement began */
#define RECORD_NUMBERS 4		/* no ids, but numbers of segments */

typedef struct Chunk
{
	uint32_t	line;			/* of the program: the statement */
	uint32_t	connection;		/* of the session, counted from 1 */
	uint16_t	node;
	uint16_t	flags;
	int32_t		tag;			/* -1: not known */
	uint32_t	ranges;			/* that follow */
	uint32_t	unused;
	int64_t		mono_before;	/* before the statement was sent */
	int64_t		wall_before;
	int64_t		wall_after;		/* after the ids were read */
	int64_t		mono_after;
} Chunk;

typedef struct Range
{
	int64_t		first;
	int64_t		last;
} Range;

#endif							/* UIDGEN_RECORD_H */
