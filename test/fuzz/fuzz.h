/*
 * fuzz.h
 *	  What the fuzz targets share.
 *
 * A target is a function that libFuzzer calls with one input after the other;
 * whatever does not hold ends it with the input in a file.
 */
#ifndef UIDGEN_FUZZ_H
#define UIDGEN_FUZZ_H

#include "core/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: does not hold: %s\n", \
					__FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* A text of its own on the heap, so that a step outside of it is seen. */
static inline char *
text_of(const uint8_t *data, size_t size)
{
	char	   *text = malloc(size + 1);

	REQUIRE(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif							/* UIDGEN_FUZZ_H */
