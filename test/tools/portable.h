/*
 * portable.h
 *	  For ./check --portable, in front of each file: takes away what Linux has and other systems lack.  What is in src for those
 *	  is then compiled and tested here.
 *
 * What they lack at run time are files, such as the machine id, which copies_instances hides; and the counter of the
 * processor, which i386 and arm64 lack, too.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#undef CLOCK_BOOTTIME
#undef CLOCK_MONOTONIC_COARSE
#undef STATX_BTIME
