--
-- Takes the edition of uidgen in SQL out of a database: `psql -f`, by whoever put it in.  An error if anything still uses it, as a default of
-- a column; nothing is changed then.
--
-- With the variable in_transaction it neither begins a transaction nor ends it.  The variable uidgen_last is an id then that is
-- not below any that was drawn, also by transactions that have not ended when this begins.
--
\set ON_ERROR_STOP on
-- An error is to say what uses the edition, without the statement that names each function.
\set uidgen_context :SHOW_CONTEXT
\set SHOW_CONTEXT never
\if :{?in_transaction} \else
BEGIN;
\endif
SELECT current_setting('search_path') AS uidgen_path \gset
SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
DECLARE
	-- Where it put what users call; nothing is taken for its own that another role made there.
	place oid;
	functions text;
BEGIN
	IF to_regprocedure('uidgen.own_place()') IS NULL THEN
		RAISE EXCEPTION 'the edition of uidgen in SQL is not in this database'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'DROP EXTENSION uidgen drops the extension.';
	END IF;
	place := uidgen.own_place();
	functions := (SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
		WHERE l.lanname IN ('sql', 'plpgsql') AND p.proowner = (SELECT own.proowner FROM pg_proc AS own WHERE own.oid = 'uidgen.next(timestamptz)'::regprocedure)
			AND (p.pronamespace = 'uidgen'::regnamespace OR p.pronamespace = place AND p.proname IN
			('uid_next', 'uid_next_batch', 'uid_reserve', 'uid_parse', 'uid_timestamp', 'uid_make', 'uid_min', 'uid_max', 'uid_between', 'uid_range',
			'uid_layout', 'uid_layout_info', 'uid_to_text', 'uid_from_text', 'uid_to_uuid', 'uid_from_uuid', 'uid_horizon')));
	-- Waits for transactions that have drawn, and keeps out those that want to.
	ALTER SEQUENCE uidgen.position NO CYCLE;
	PERFORM set_config('uidgen_sql.last', uidgen.id_at(pg_sequence_last_value('uidgen.position'))::text, true);
	-- Together, since they call each other.
	DROP VIEW uidgen.presets;
	EXECUTE format('DROP FUNCTION %s', functions);
END
$$;
DROP TYPE uidgen.parsed;
DROP TABLE uidgen.jumping;
DROP SEQUENCE uidgen.position, uidgen.jumps, uidgen.ahead;
DROP SCHEMA uidgen;

SELECT current_setting('uidgen_sql.last') AS uidgen_last, set_config('search_path', :'uidgen_path', true) AS uidgen_path \gset
\set SHOW_CONTEXT :uidgen_context
\if :{?in_transaction} \else
COMMIT;
\endif
