/*
 * meddling.h
 *	  What others do at a certain access to a shared word, in one thread; and under stress, that they go
 *	  first now and then.  For tests whose accesses are those of stress.h.
 */
#ifndef MEDDLING_H
#define MEDDLING_H

#include "stress.h"

/* What happens after so many further accesses to a shared word. */
static __thread void (*happening) (void);
static __thread int accesses;

/* Now and then another thread goes first; or what is to happen at this access. */
static void
disturb(void)
{
	if (happening && accesses-- == 0)
	{
		void		(*happens) (void) = happening;

		happening = NULL;
		happens();
	}
	if (disturbance != 0)
		give_way();
}

/* Call a function before the n-th access to a shared word from now on. */
static void
meddle_before(int n, void (*function) (void))
{
	happening = function;
	accesses = n - 1;
}

#endif							/* MEDDLING_H */
