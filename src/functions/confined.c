/*
 * confined.c
 *	  A statement that is run out of reach of the role that has logged in.
 *
 * adopt() and uid_partitions() plan queries and run statements on a table, and so
 * run what its owner has put there.  They do so for that owner only; but a superuser who
 * has become the owner by SET ROLE is still logged in, and code of the owner's
 * can RESET ROLE.  In a security-restricted operation it cannot, nor leave anything behind:
 * so PostgreSQL's own maintenance of others' tables does it.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "functions/values.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

SQL_FUNCTION(uidgen_run_confined);

/*
 * An error leaves by the end of a transaction or of a subtransaction, which restores
 * role, context and settings.
 */
Datum
uidgen_run_confined(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text	   *value = NULL;
	Oid			role;
	int			context;
	int			settings;
	int			result;

	if ((result = SPI_connect()) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed: %s", SPI_result_code_string(result));
	GetUserIdAndSecContext(&role, &context);
	settings = NewGUCNestLevel();

	/*
	 * Who has logged in as the owner has nothing to lose, and can go on to
	 * have temporary tables.  The session's role does not tell: SET SESSION
	 * AUTHORIZATION changes it.
	 */
	if (role != GetAuthenticatedUserId())
		SetUserIdAndSecContext(role, context | SECURITY_RESTRICTED_OPERATION);
	if ((result = SPI_execute(statement, false, 0)) < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	if (SPI_tuptable != NULL && SPI_processed > 0)
	{
		char	   *first = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);

		if (first != NULL)
		{
			int			size = VARHDRSZ + strlen(first);

			value = SPI_palloc(size);
			SET_VARSIZE(value, size);
			memcpy(VARDATA(value), first, size - VARHDRSZ);
		}
	}
	AtEOXact_GUC(false, settings);
	SetUserIdAndSecContext(role, context);
	SPI_finish();
	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(value);
}
