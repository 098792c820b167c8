/*
 * complaint.h
 *	  What is wrong with a text or a setting, in the parts of ereport().
 *
 * The core says what is wrong and knows no ereport(); who calls it from the server
 * hands the parts on, with the SQLSTATE.
 */
#ifndef UIDGEN_COMPLAINT_H
#define UIDGEN_COMPLAINT_H

typedef struct UidgenComplaint
{
	char		message[128];	/* what is wrong */
	char		detail[192];	/* the numbers; may be empty */
	char		hint[192];		/* what to do; may be empty */
} UidgenComplaint;

#endif							/* UIDGEN_COMPLAINT_H */
