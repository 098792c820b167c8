/*
 * test/tools/libpq_options.c
 *	  Prints the options of a connection string that this libpq has, each with 1 if it is a secret, else 0.
 */
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int
main(void)
{
	PQconninfoOption *options = PQconndefaults();

	for (PQconninfoOption *option = options; option && option->keyword; option++)
		printf("%s %d\n", option->keyword, strcmp(option->dispchar, "*") == 0);
	PQconninfoFree(options);
	return options ? 0 : 1;
}
