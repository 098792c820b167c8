--
-- The edition of uidgen in SQL and PL/pgSQL, for servers where no library can be installed.
--
-- psql runs it, by the owner of a database, in one transaction.  Variables of psql, by `-v NAME=VALUE`:
--
--	worker_id		which of the servers with this layout this database is; it has no default
--	datacenter_id	the same for a layout that has such a field; 0
--	layout			a layout or preset; default
--	schema			where the uid_* functions go; public
--	max_ahead		how far ids may run ahead of the clock; 1 hour
--	horizon			whether draws hold back readers that ask for uid_horizon(); true
--	after			an id that all new ones are above, for a database that has some already; null
--	in_transaction	if it is set, the script neither begins a transaction nor ends it: \i between BEGIN and COMMIT of one's own
--
-- What users call is in the schema of choice, all else in schema uidgen, as in the extension: so the edition and the
-- extension cannot both be in a database.  docs/design/sql-edition.md says how it works.
--
\set ON_ERROR_STOP on
\if :{?datacenter_id} \else \set datacenter_id 0
\endif
\if :{?layout} \else \set layout default
\endif
\if :{?schema} \else \set schema public
\endif
\if :{?max_ahead} \else \set max_ahead '1 hour'
\endif
\if :{?horizon} \else \set horizon true
\endif
\if :{?after} \else \set after ''
\endif
\if :{?in_transaction} \else
BEGIN;
\endif
\if :{?worker_id}
\else
DO $$
BEGIN
	RAISE EXCEPTION 'no worker id is given'
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = 'Two databases with one worker id can issue the same ids.',
			HINT = 'Choose a number that no other database has, and run: psql -v worker_id=NUMBER -f SCRIPT.';
END
$$;
\endif

-- What is parsed while this script runs is bound to what this search path finds, for good.
SELECT current_setting('search_path') AS uidgen_path, current_setting('client_min_messages') AS uidgen_messages, current_setting('standard_conforming_strings') AS uidgen_strings \gset
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_min_messages = warning;
SET LOCAL standard_conforming_strings = on;

-- If it exists already, this fails: it is the extension's, or somebody else's.
CREATE SCHEMA uidgen;
COMMENT ON SCHEMA uidgen IS 'what uidgen''s edition in SQL, version UIDGEN_VERSION, is made of';
