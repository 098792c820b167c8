/*
 * nogettext.c
 *	  Takes message translation out of a server that runs under the address
 *	  sanitizer.
 *
 * Preloaded after the sanitizer's library.  With libintl's own functions the
 * server hangs at its start, in a lock below bindtextdomain().
 */
#include <stddef.h>

char *
bindtextdomain(const char *domain, const char *folder)
{
	(void) domain;
	return (char *) folder;
}

char *
bind_textdomain_codeset(const char *domain, const char *codeset)
{
	(void) domain;
	return (char *) codeset;
}

char *
textdomain(const char *domain)
{
	return (char *) domain;
}
