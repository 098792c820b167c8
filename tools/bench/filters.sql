-- tools/bench/filters.sql
--	  How rows of a time are found, of ten million that one year has made: what docs/filters.md says of plans and times.
--
--	./try -f tools/bench/filters.sql		prints what is in docs/runs/filters.txt; some minutes, 5 GB of disk
--
-- A time is the least of three runs, planning included, with the settings of a new server.
\set QUIET on
\pset footer off
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION uidgen_tools;
SELECT split_part(version(), ' (', 1) AS server, current_setting('shared_buffers') AS shared_buffers, current_setting('max_parallel_workers_per_gather') AS workers, current_setting('jit') AS jit;
\set layout '''time:41:1ms worker:10 sequence:12 epoch:2025-01-01'''

-- The same rows twice: message has the id alone, logged a column of its own for the time.
CREATE TABLE message (id bigint, author integer, body text);
INSERT INTO message
	SELECT uid_make(t, 1, 0, NULL, NULL, :layout), n % 1000, md5(n::text)
	FROM (SELECT n, timestamptz '2025-11-01' + n * interval '3153600 us' AS t FROM generate_series(0, 9999999) AS n) AS rows;
ALTER TABLE message ADD PRIMARY KEY (id);
CREATE TABLE logged (id bigint, created_at timestamptz, author integer, body text);
INSERT INTO logged SELECT id, uid_timestamp(id, :layout), author, body FROM message;
ALTER TABLE logged ADD PRIMARY KEY (id);
CREATE INDEX logged_created_at ON logged (created_at);
CREATE VIEW shown AS SELECT *, uid_timestamp(id, 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01') AS created_at FROM message;
SELECT current_setting('server_version_num')::integer >= 180000 AS has_virtual,
	format('ALTER TABLE message ADD made_at timestamptz GENERATED ALWAYS AS (%s) VIRTUAL', uid_time_expression('id', :layout)) AS add_virtual \gset
\if :has_virtual
:add_virtual;
\endif
VACUUM ANALYZE message, logged;

CREATE FUNCTION nodes(plan jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' < ', concat_ws(' ', CASE WHEN (plan -> 'Parallel Aware')::boolean THEN 'Parallel' END, plan ->> 'Node Type', CASE plan ->> 'Scan Direction' WHEN 'Backward' THEN 'Backward' END,
			'using ' || (plan ->> 'Index Name')),
		(SELECT string_agg(nodes(p), ', ') FROM jsonb_array_elements(plan -> 'Plans') AS p));
$$;
-- A query is planned anew each time, with what it says for its times.
CREATE FUNCTION measure(query text, OUT ms numeric, OUT estimated bigint, OUT rows bigint, OUT plan text) LANGUAGE plpgsql AS $$
DECLARE
	said jsonb;
	scan jsonb;
BEGIN
	FOR try IN 1 .. 3 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO said;
		ms := least(ms, (said -> 0 ->> 'Planning Time')::numeric + (said -> 0 ->> 'Execution Time')::numeric);
	END LOOP;
	ms := round(ms, CASE WHEN ms < 10 THEN 2 ELSE 0 END);
	plan := nodes(said -> 0 -> 'Plan');
	-- of the scan, which is the lowest node
	scan := jsonb_path_query_first(said, 'strict $.**  ? (@."Node Type" like_regex "Scan$")');
	estimated := (scan ->> 'Plan Rows')::bigint;
	rows := (scan ->> 'Actual Rows')::numeric::bigint;
END
$$;
CREATE FUNCTION report(list text[]) RETURNS TABLE (query text, ms numeric, estimated bigint, rows bigint, plan text) LANGUAGE sql AS
	$$ SELECT q, m.* FROM unnest(list) WITH ORDINALITY AS l (q, n), measure(q) AS m ORDER BY n $$;

\pset format unaligned
\echo '== without an index on the time'
SELECT * FROM report(ARRAY[
	$$SELECT count(author) FROM message WHERE uid_between(id, '2026-09-01', '2026-09-02')$$,
	$$SELECT count(author) FROM shown WHERE created_at >= '2026-09-01' AND created_at < '2026-09-02'$$,
	$$SELECT id FROM message ORDER BY id DESC LIMIT 10$$,
	$$SELECT id FROM shown ORDER BY created_at DESC LIMIT 10$$,
	$$SELECT max(created_at) FROM shown$$,
	$$SELECT uid_timestamp(max(id)) FROM message$$,
	$$SELECT date_trunc('day', created_at) AS day, count(*) FROM shown WHERE created_at >= '2026-09-01' AND created_at < '2026-10-01' GROUP BY day$$,
	$$SELECT date_trunc('day', created_at) AS day, count(*) FROM shown WHERE uid_between(id, '2026-09-01', '2026-10-01') GROUP BY day$$]);
\if :has_virtual
SELECT * FROM report(ARRAY[
	$$SELECT count(author) FROM message WHERE made_at >= '2026-09-01' AND made_at < '2026-09-02'$$,
	$$SELECT made_at FROM message ORDER BY id DESC LIMIT 10$$]);
\endif
\echo '== a column and an index on it'
SELECT * FROM report(ARRAY[
	$$SELECT count(author) FROM logged WHERE created_at >= '2026-09-01' AND created_at < '2026-09-02'$$,
	$$SELECT id FROM logged ORDER BY created_at DESC LIMIT 10$$,
	$$SELECT date_trunc('day', created_at) AS day, count(*) FROM logged WHERE created_at >= '2026-09-01' AND created_at < '2026-10-01' GROUP BY day$$]);

CREATE INDEX message_created_at ON message (uid_timestamp(id, 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'));
SELECT format('CREATE INDEX message_made_at ON message ((%s))', uid_time_expression('id', :layout)) AS index_virtual \gset
\if :has_virtual
:index_virtual;
\endif
ANALYZE message;
\echo '== with an index on the expression'
SELECT * FROM report(ARRAY[
	$$SELECT count(author) FROM shown WHERE created_at >= '2026-09-01' AND created_at < '2026-09-02'$$,
	$$SELECT id FROM shown ORDER BY created_at DESC LIMIT 10$$,
	$$SELECT max(created_at) FROM shown$$,
	$$SELECT date_trunc('day', created_at) AS day, count(*) FROM shown WHERE created_at >= '2026-09-01' AND created_at < '2026-10-01' GROUP BY day$$,
	$$SELECT count(author) FROM shown WHERE created_at::date = '2026-09-01'$$,
	$$SELECT count(author) FROM shown WHERE date_trunc('day', created_at) = '2026-09-01'$$,
	$$SELECT count(author) FROM shown WHERE created_at AT TIME ZONE 'Europe/Berlin' >= '2026-09-01' AND created_at AT TIME ZONE 'Europe/Berlin' < '2026-09-02'$$]);
\if :has_virtual
SELECT * FROM report(ARRAY[
	$$SELECT count(author) FROM message WHERE made_at >= '2026-09-01' AND made_at < '2026-09-02'$$]);
\endif

\echo '== room, MB'
SELECT c.relname, pg_relation_size(c.oid) / 1000000 AS mb FROM pg_class AS c WHERE c.relname ~ '^(message|logged)' AND c.relkind IN ('r', 'i') ORDER BY 1;
