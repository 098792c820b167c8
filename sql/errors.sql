-- What is refused, and how.  Where the text depends on the server's layout, only
-- the SQLSTATE is shown.
\set SHOW_CONTEXT never
-- A null argument is an error, and does not give a null id.
SELECT uid_next(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_next_after(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_next_after(0, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_next_batch(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_next_batch(1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_reserve(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_reserve(1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 0, 0, 0, 0, NULL);
\echo :LAST_ERROR_SQLSTATE

-- Numbers out of range
SELECT * FROM uid_next_batch(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT coalesce(max(maximum) FILTER (WHERE name = 'tag'), 0) + 1 AS tag_beyond,
	max(maximum) FILTER (WHERE name = 'sequence') + 2 AS n_beyond,
	max(maximum) FILTER (WHERE name = 'sequence') + 1 AS sequence_beyond,
	coalesce(max(maximum) FILTER (WHERE name = 'worker'), 0) + 1 AS worker_beyond,
	coalesce(max(maximum) FILTER (WHERE name = 'datacenter'), 0) + 1 AS datacenter_beyond
FROM uid_layout() \gset
\set VERBOSITY sqlstate
SELECT uid_next(:tag_beyond);
SELECT uid_next(-1);
SELECT uid_next_after(0, :tag_beyond);
SELECT uid_next_after(-1);
SELECT * FROM uid_next_batch(1, :tag_beyond);
SELECT * FROM uid_next_batch(0, :tag_beyond);
SELECT * FROM uid_next_batch(1, -1);
SELECT uid_reserve(1, :tag_beyond);
SELECT uid_reserve(1, -1);
SELECT uid_reserve(0);
SELECT uid_reserve(-2147483648);
SELECT uid_reserve(:n_beyond);
SELECT uid_make('2026-01-01 UTC', :worker_beyond, 0);
SELECT uid_make('2026-01-01 UTC', 0, :sequence_beyond);
SELECT uid_make('2026-01-01 UTC', 0, 0, :datacenter_beyond);
SELECT uid_make('2026-01-01 UTC', 0, 0, 0, :tag_beyond);
SELECT * FROM uid_parse(-1);
SELECT uid_timestamp(-1);
SELECT uid_make('290000-01-01 UTC', 0, 0);
SELECT uid_make('0001-01-01 BC UTC', 0, 0);
\set VERBOSITY default

-- Bounds of such times are the layout's ends.
SELECT uid_min('0001-01-01 BC UTC') = uid_min('-infinity') AND uid_max('0001-01-01 BC UTC') = uid_max('-infinity')
	AND uid_min('290000-01-01 UTC') = uid_min('infinity') AND uid_max('290000-01-01 UTC') = uid_max('infinity') AS ends;

-- A catalog and a library of different versions: each function that returns rows is
-- declared anew with one column more or less, or of another type.
CREATE FUNCTION pg_temp.declared_otherwise(OUT name text, OUT variant text, OUT code text, OUT message text, OUT detail text, OUT hint text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	f record;
	types text[];
	columns text;
BEGIN
	FOR f IN
		SELECT p.proname, p.prosrc, p.probin, p.proretset,
			(SELECT string_agg(t::regtype::text, ', ' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)) AS inputs,
			(SELECT string_agg(CASE WHEN t = 'text'::regtype THEN quote_literal('default') WHEN n = 1 THEN '1' ELSE '0' END, ', ' ORDER BY n)
				FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)) AS arguments,
			(SELECT array_agg(t::regtype::text ORDER BY n)
				FROM unnest(p.proallargtypes, p.proargmodes) WITH ORDINALITY AS a (t, m, n) WHERE m = 'o') AS outputs
		FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
			JOIN pg_language AS l ON l.oid = p.prolang
		WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'uidgen')
			AND l.lanname = 'c' AND p.proallargtypes IS NOT NULL
		ORDER BY p.proname COLLATE "C", p.pronargs
	LOOP
		name := f.proname;
		FOR variant, types IN
			SELECT 'the same', f.outputs
			UNION ALL SELECT 'one column', f.outputs[1:1]
			UNION ALL SELECT 'the first missing', f.outputs[2:]
			UNION ALL SELECT 'the last missing', f.outputs[:cardinality(f.outputs) - 1]
			UNION ALL SELECT 'one more ' || t, f.outputs || t FROM unnest(ARRAY['text', 'bigint', 'boolean']) AS t
			UNION ALL SELECT 'many more', f.outputs || array_fill('text'::text, '{40}')
			UNION ALL SELECT format('column %s is %s', n, t), f.outputs[:n - 1] || t || f.outputs[n + 1:]
				FROM generate_subscripts(f.outputs, 1) AS n, unnest(ARRAY['text', 'bigint', 'name']) AS t
				WHERE t <> f.outputs[n]
		LOOP
			SELECT string_agg(format('OUT c%s %s', n, t), ', ' ORDER BY n) INTO columns
				FROM unnest(types) WITH ORDINALITY AS c (t, n);
			EXECUTE format('CREATE FUNCTION pg_temp.variant(%s) %s AS %L, %L LANGUAGE C', concat_ws(', ', f.inputs, columns),
				CASE WHEN f.proretset THEN 'RETURNS SETOF ' || CASE cardinality(types) WHEN 1 THEN types[1] ELSE 'record' END END,
				f.probin, f.prosrc);
			BEGIN
				SELECT 'works', NULL, NULL, NULL INTO code, message, detail, hint;
				EXECUTE format('SELECT count(v::text) FROM pg_temp.variant(%s) AS v', f.arguments);
			EXCEPTION WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
					detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			END;
			DROP FUNCTION pg_temp.variant;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
CREATE TEMP TABLE declared AS SELECT * FROM pg_temp.declared_otherwise();
SELECT name, count(*) FILTER (WHERE variant = 'the same' AND code = 'works') AS work,
	bool_and((variant = 'the same') = (code = 'works')) AS others_do_not
FROM declared GROUP BY name ORDER BY name COLLATE "C";
\pset format unaligned
SELECT code, regexp_replace(message, ' \S*variant\(.*\) ', ' ... ') AS message, hint, count(*) > 100 AS many
FROM declared WHERE variant <> 'the same' GROUP BY 1, 2, 3;
\pset format aligned
SELECT variant, detail FROM declared WHERE name = 'uid_horizon_lsn';
-- Which side is older is told by the numbers of the versions.
DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION pg_temp.one_column() RETURNS text AS %L, %L LANGUAGE C', probin, prosrc)
		FROM pg_proc WHERE oid = 'uidgen.status()'::regprocedure;
END $$;
CREATE FUNCTION pg_temp.hint_at(version text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	UPDATE pg_extension SET extversion = version WHERE extname = 'uidgen';
	PERFORM pg_temp.one_column();
	RETURN 'none';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN replace(hint, uidgen.library_version(), 'LIBRARY');
END $$;
SELECT pg_temp.hint_at(version) FROM unnest(ARRAY['0.1', '0.1.99', '99', '1.99.0',
	uidgen.library_version(), uidgen.library_version() || '.0', uidgen.library_version() || '.1']) AS version;
SELECT extversion = uidgen.library_version() AS same FROM pg_extension WHERE extname = 'uidgen';
-- A caller that cannot take a set gets an error.
SELECT probin AS library FROM pg_proc WHERE oid = 'uid_next()'::regprocedure \gset
CREATE FUNCTION pg_temp.variant(text, OUT a text, OUT b int, OUT c int, OUT d bigint, OUT e text)
	AS :'library', 'uidgen_layout_fields' LANGUAGE C;
SELECT pg_temp.variant('default');
\echo :LAST_ERROR_SQLSTATE

-- Settings: a bad layout does not get into the configuration.
SELECT count(*) AS before FROM pg_file_settings WHERE name LIKE 'uidgen.%' \gset
ALTER SYSTEM SET uidgen.layout = 'bad';
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET uidgen.layout = 'default worker:40';
\echo :LAST_ERROR_SQLSTATE
-- ... nor one that is good for decoding only.
ALTER SYSTEM SET uidgen.layout = 'discord';
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET uidgen.layout = 'seata';
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET uidgen.layout = 'cockroachdb';
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET uidgen.layout = 'time:19:1s sequence:12 epoch:2025-01-01';
\echo :LAST_ERROR_SQLSTATE
ALTER SYSTEM SET uidgen.layout = 'time:51:1ms sequence:12 worker:1 epoch:2025-01-01';
\echo :LAST_ERROR_SQLSTATE
-- ... nor one whose time is over.
ALTER SYSTEM SET uidgen.layout = 'baidu';
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY sqlstate
ALTER SYSTEM SET uidgen.layout = '';
ALTER SYSTEM SET uidgen.worker_policy = 'borrow';
ALTER SYSTEM SET uidgen.sequence_start = 'one';
ALTER SYSTEM SET uidgen."window" = -1;
ALTER SYSTEM SET uidgen."window" = '2d';
ALTER SYSTEM SET uidgen.padding_factor = 101;
ALTER SYSTEM SET uidgen.max_ahead = -1;
ALTER SYSTEM SET uidgen.worker_id = -2;
ALTER SYSTEM SET uidgen.datacenter_id = -1;
\set VERBOSITY default
SELECT count(*) = :before AS unchanged FROM pg_file_settings WHERE name LIKE 'uidgen.%';

-- What makes ids unique is not for sessions to change.
\set VERBOSITY sqlstate
SET uidgen.layout = 'default';
SET uidgen.datacenter_id = 0;
SET uidgen.worker_id = 1;
SET uidgen.worker_policy = 'reuse';
SET uidgen.database = 'postgres';
SET uidgen."window" = '1s';
SET uidgen.padding_factor = 10;
SET uidgen.max_ahead = '1s';
SET uidgen.sequence_start = 'zero';
-- A misspelt name is not taken for a setting.
SET uidgen.max_waits = '1s';
SET uidgen.wait_timeout = -1;
SET uidgen.wait_timeout = '61min';
\set VERBOSITY default
SELECT uid_next() > 0 AS works;
SET uidgen.wait_timeout = '100ms';
SHOW uidgen.wait_timeout;
SELECT uid_next() > 0 AS works;
SET uidgen.wait_timeout = 0;
SELECT uid_next() > 0 AS works;
RESET uidgen.wait_timeout;

-- The registry does not forget.
TRUNCATE uidgen_registry.worker_node;
\echo :LAST_ERROR_SQLSTATE
TRUNCATE uidgen_registry.registry;
\echo :LAST_ERROR_SQLSTATE
TRUNCATE uidgen_registry.registry, uidgen_registry.worker_node CASCADE;
\echo :LAST_ERROR_SQLSTATE
-- Nobody changes it by hand.
UPDATE uidgen_registry.worker_node SET granted_until = 0;
\echo :LAST_ERROR_SQLSTATE
DELETE FROM uidgen_registry.worker_node;
INSERT INTO uidgen_registry.worker_node SELECT * FROM uidgen_registry.worker_node;
UPDATE uidgen_registry.registry SET layout = 'x';
DELETE FROM uidgen_registry.registry;
\echo :LAST_ERROR_SQLSTATE
-- Rows that come by replication are dropped, and drop nothing.
BEGIN;
SET LOCAL search_path = pg_catalog, uidgen_registry, pg_temp;	-- for what is done by hand
DELETE FROM uidgen_registry.registry;
INSERT INTO uidgen_registry.registry VALUES (true, 'ours', 1, 0, 100, 0, 0, now(), 1);
DELETE FROM uidgen_registry.worker_node;
INSERT INTO uidgen_registry.worker_node (datacenter_id, worker_id, launch_date, created, modified, identity, granted_until, released, launches)
VALUES (0, 1, now(), now(), now(), 'ours', 10, false, 1);
SET LOCAL session_replication_role = replica;
INSERT INTO uidgen_registry.worker_node (datacenter_id, worker_id, launch_date, created, modified, identity, granted_until, released, launches)
VALUES (0, 2, now(), now(), now(), 'theirs', 5, false, 1);
UPDATE uidgen_registry.worker_node SET granted_until = 5, identity = 'theirs';
DELETE FROM uidgen_registry.worker_node;
UPDATE uidgen_registry.registry SET layout = 'theirs';
DELETE FROM uidgen_registry.registry;
INSERT INTO uidgen_registry.registry VALUES (false, 'theirs', 1, 0, 100, 0, 0, now(), 1);
SET LOCAL session_replication_role = origin;
SELECT worker_id, identity, granted_until FROM uidgen_registry.worker_node;
SELECT layout FROM uidgen_registry.registry;
ROLLBACK;

-- A worker id that is not there cannot be forgotten; nor any in a transaction that goes on.
SELECT uidgen_registry.forget_worker(-1, 31);
\echo :LAST_ERROR_SQLSTATE
SELECT uidgen_registry.forget_worker(NULL, 0);
\echo :LAST_ERROR_SQLSTATE
BEGIN;
CREATE TABLE written ();
SELECT uidgen_registry.forget_worker(-1, 31);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
