-- New ids, under whatever layout the server has.

SET timezone = 'UTC';
SET intervalstyle = 'postgres';

-- As the default of a column
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), n int);
INSERT INTO item (n) SELECT generate_series(1, 10000);
-- In the order of the calls, without gaps in what was asked for
SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids, bool_and(id > before) AS increasing, bool_and(id > 0) AS positive
FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS before FROM item) AS i;
INSERT INTO item (n) VALUES (0), (0) RETURNING id > (SELECT max(id) FROM item) AS larger;
INSERT INTO item VALUES (DEFAULT, -1);
WITH added AS (INSERT INTO item (n) VALUES (-2) RETURNING id)
SELECT (p).id = added.id AS same FROM added, uid_parse(added.id) AS p;
COPY item (n) FROM stdin;
-3
-4
-5
\.
SELECT count(*) AS ids, bool_and(id > before) AS increasing
FROM (SELECT id, lag(id) OVER (ORDER BY n DESC) AS before FROM item WHERE n < 0) AS i;
ALTER TABLE item ADD other bigint UNIQUE DEFAULT uid_next();
SELECT count(DISTINCT other) = count(*) AS all_distinct, min(other) > max(id) AS later FROM item;

-- The time in an id is the clock's at the call: not below, and ahead only by
-- what the settings allow.
SELECT unit FROM uid_layout_info() \gset
CREATE TABLE timed AS
SELECT clock_timestamp() AS before, uid_next() AS id FROM generate_series(1, 100);
ALTER TABLE timed ADD after timestamptz DEFAULT clock_timestamp();
SELECT count(*) FILTER (WHERE uid_timestamp(id) + :'unit' <= before) AS too_early,
	count(*) FILTER (WHERE uid_timestamp(id) > after +
		greatest(current_setting('uidgen.max_ahead')::interval, current_setting('uidgen.window')::interval)) AS too_late
FROM timed;
SELECT uid_timestamp(uid_next()) > clock_timestamp() - :'unit'::interval - interval '1 minute' AS not_early;
-- Fields: the worker id and the datacenter are this server's.
SELECT uid_next() AS id \gset
SELECT p.id = :id AS id, p.timestamp = uid_timestamp(:id) AS time,
	coalesce(p.worker, 0) = s.worker_id AS worker, coalesce(p.datacenter, 0) = s.datacenter_id AS datacenter,
	coalesce(p.tag, 0) = 0 AS tag, :id BETWEEN uid_min(p.timestamp) AND uid_max(p.timestamp) AS between,
	uid_make(p.timestamp, p.worker, p.sequence, p.datacenter, p.tag) = :id AS made,
	p = uid_parse(:id, s.layout) AS same_by_name
FROM uid_parse(:id) AS p, uidgen.status AS s;
-- The server's layout is what the functions without one use.
SELECT i.layout = s.layout AS same, i = uid_layout_info(s.layout) AS info,
	(SELECT array_agg(l) FROM uid_layout() AS l) = (SELECT array_agg(l) FROM uid_layout(s.layout) AS l) AS fields,
	uid_min('-infinity') = 0 AS first, uid_max('infinity') > :id AS last,
	i.expires_at = s.expires_at AS expires
FROM uid_layout_info() AS i, uidgen.status AS s;

-- ... and they are stable enough for an index.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM item WHERE id >= uid_min(now() - interval '1 hour') AND id <= uid_max(now());
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*) = (SELECT count(*) FROM item) AS all_found FROM item
WHERE id BETWEEN uid_min(now() - interval '1 hour') AND uid_max('infinity');

-- A tag does not disturb the order of ids with the same tag.
SELECT coalesce(max(maximum) FILTER (WHERE name = 'tag'), 0) AS tag_max FROM uid_layout() \gset
SELECT bool_and(coalesce((uid_parse(id)).tag, 0) = :tag_max) AS tagged, bool_and(id > before) AS increasing
FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS before
			FROM (SELECT n, uid_next(:tag_max) AS id FROM generate_series(1, 1000) AS n) AS a) AS b;
SELECT bool_and(coalesce((uid_parse(id)).tag, 0) = :tag_max) AS tagged FROM uid_next_batch(10, :tag_max) AS id;

-- Many at once
SELECT count(*) FROM uid_next_batch(0);
SELECT id > 0 AS positive FROM uid_next_batch(1) AS id;
SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids, bool_and(id > before) AS increasing
FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS before FROM uid_next_batch(5000) WITH ORDINALITY AS b (id, n)) AS c;
SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids, bool_and(id > before) AS increasing
FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS before
			FROM (SELECT uid_next_batch(5000) AS id, generate_series(1, 5000) AS n) AS b) AS c;
SELECT uid_next_batch(0) IS NULL AS none;
-- In the SELECT list it streams: as many as are fetched.
SET statement_timeout = '1min';
SELECT count(*) FROM (SELECT uid_next_batch(2147483647) LIMIT 3) AS b;
BEGIN;
DECLARE c CURSOR FOR SELECT uid_next_batch(2147483647) > 0 AS positive;
FETCH 2 FROM c;
MOVE 2000 FROM c;
FETCH 1 FROM c;
COMMIT;
RESET statement_timeout;
-- Several at a time, for each of several rows
SELECT n, count(DISTINCT id) FROM generate_series(0, 3) AS n, uid_next_batch(n * 700) AS id GROUP BY n ORDER BY n;
SELECT count(*) = count(DISTINCT id) AS all_distinct
FROM (SELECT unnest(ARRAY[a, b]) AS id FROM (SELECT uid_next_batch(2500) AS a, uid_next_batch(2500) AS b) AS s) AS t;

-- Blocks: numbers that follow each other, within one tick
SELECT maximum + 1 AS capacity FROM uid_layout() WHERE name = 'sequence' \gset
SELECT uid_timestamp(first) = uid_timestamp(first + :capacity - 1) AS same_tick FROM uid_reserve(:capacity) AS first;
SELECT coalesce((uid_parse(first)).tag, 0) = :tag_max AND coalesce((uid_parse(first + 9)).tag, 0) = :tag_max AS tagged
FROM uid_reserve(10, :tag_max) AS first;
CREATE TABLE reserved AS SELECT n, 1 + n * 37 % 900 AS size, uid_reserve(1 + n * 37 % 900) AS first_id FROM generate_series(1, 500) AS n;
SELECT bool_and(uid_timestamp(first_id) = uid_timestamp(first_id + size - 1)) AS same_tick, bool_and(first_id > before) AS increasing
FROM (SELECT *, lag(first_id + size - 1, 1, 0::bigint) OVER (ORDER BY n) AS before FROM reserved) AS b;
SELECT (uid_parse(uid_reserve(:capacity))).sequence AS sequence, coalesce((uid_parse(uid_reserve(10, :tag_max))).tag, 0) = :tag_max AS tagged;

-- All the ways together: no id twice
CREATE TABLE mixed AS
SELECT uid_next() AS id FROM generate_series(1, 1000)
UNION ALL SELECT uid_next(0) FROM generate_series(1, 1000)
UNION ALL SELECT uid_next_batch(1000)
UNION ALL SELECT id FROM generate_series(1, 50) AS n, uid_reserve(20 + 0 * n) AS first, generate_series(first, first + 19) AS id
UNION ALL SELECT id FROM reserved, generate_series(first_id, first_id + size - 1) AS id
UNION ALL SELECT id FROM item UNION ALL SELECT other FROM item;
SELECT count(*) = count(DISTINCT id) AS all_distinct, count(*) > 24000 AS many FROM mixed;

-- No write: works where nothing may be written, and takes no transaction id.
BEGIN READ ONLY;
SELECT uid_next() > 0 AS works;
SELECT count(*) FROM uid_next_batch(10);
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE;
SELECT uid_next() > 0 AS works;
COMMIT;
BEGIN;
SELECT count(uid_next()) FROM generate_series(1, 10000);
SELECT uid_reserve(10) > 0 AS works;
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
-- No lock of a table either, but of those in this query
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation::regclass::text LIKE 'uidgen.%';
COMMIT;

-- What was rolled back is not issued again.
BEGIN;
SELECT uid_next() AS a \gset
SAVEPOINT s;
SELECT uid_next() AS b \gset
ROLLBACK TO s;
SELECT uid_next() AS c \gset
ROLLBACK;
SELECT uid_next() AS d \gset
SELECT :a < :b AND :b < :c AND :c < :d AS increasing;

-- In the order of the calls also over sessions and databases
SELECT current_database() AS regression_database, coalesce(current_setting('uidgen.database', true), 'postgres') AS registry_database,
	uid_next() AS a \gset
\c -
SELECT uid_next() AS b \gset
\c :"registry_database"
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS uidgen;
SELECT uid_next() AS c \gset
ROLLBACK;
\c :"regression_database"
SELECT uid_next() AS d \gset
SELECT :a < :b AND :b < :c AND :c < :d AS increasing;

-- Prepared, in a loop, in a parallel plan, at COMMIT
PREPARE p AS SELECT uid_next();
SET plan_cache_mode = force_generic_plan;
EXECUTE p \gset a_
EXECUTE p \gset b_
DEALLOCATE p;
PREPARE p (int) AS SELECT uid_next($1);
EXECUTE p (0) \gset c_
EXECUTE p (0) \gset d_
SELECT :a_uid_next < :b_uid_next AND :b_uid_next < :c_uid_next AND :c_uid_next < :d_uid_next AS increasing;
RESET plan_cache_mode;

DO $$
DECLARE
	before bigint := 0;
	id bigint;
BEGIN
	FOR i IN 1 .. 20000 LOOP
		id := uid_next();
		IF id <= before THEN
			RAISE EXCEPTION '% after %', id, before;
		END IF;
		before := id;
	END LOOP;
END $$;

SET compute_query_id = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE item SET (parallel_workers = 2);
-- The leader draws, so that two calls stay two, and the workers scan.
EXPLAIN (COSTS OFF, VERBOSE) SELECT uid_next(), uid_next(0) FROM item;
CREATE TABLE parallel_ids AS SELECT uid_next() AS a, uid_next(0) AS b, uid_min('-infinity') AS c FROM item;
SELECT count(*) = 2 * (SELECT count(*) FROM item) AS complete, count(*) = count(DISTINCT id) AS all_distinct
FROM (SELECT a FROM parallel_ids UNION ALL SELECT b FROM parallel_ids) AS i (id);
RESET ALL;

CREATE TABLE entry (n int);
CREATE TABLE committed (n int, id bigint DEFAULT uid_next());
CREATE FUNCTION note_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO committed (n) VALUES (NEW.n);
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON entry DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION note_entry();
BEGIN;
INSERT INTO entry SELECT generate_series(1, 100);
SELECT uid_next() AS id \gset
SELECT count(*) FROM committed;
COMMIT;
SELECT count(DISTINCT id) AS ids, min(id) > :id AS later FROM committed;
-- Holdable cursors take their rows at COMMIT, too.
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT uid_next() > 0 AS works FROM generate_series(1, 3);
COMMIT;
FETCH ALL FROM h;
CLOSE h;

-- The state, soon after an id was drawn
SELECT uid_next() > 0 AS works;
SELECT state, worker_id BETWEEN 0 AND (SELECT coalesce(max(maximum), 0) FROM uid_layout() WHERE name = 'worker') AS worker_id,
	datacenter_id = current_setting('uidgen.datacenter_id')::int AS datacenter_id,
	layout LIKE 'time:%' AS layout, registry,
	granted_until > now() - interval '1 minute' AS granted_until, ahead >= '0' AS ahead,
	ahead <= greatest(current_setting('uidgen.max_ahead')::interval, current_setting('uidgen.window')::interval) AS not_far,
	renewals >= 0 AS renewals, failures >= 0 AS failures, last_error, waits >= 0 AS waits,
	clock_steps >= 0 AS clock_steps, expires_at > now() AS expires_at
FROM uidgen.status;
SELECT count(*) FROM uidgen.status;
-- A container, or a machine that builds packages, may have no machine id.
SELECT severity IN ('ok', 'warning') AS issued FROM uidgen.diagnose();

-- Any role may take ids and read them; the registry and its functions are not
-- for everybody.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_uidgen_user;
RESET client_min_messages;
CREATE ROLE regress_uidgen_user;
SELECT has_schema_privilege('regress_uidgen_user', 'uidgen_registry', 'USAGE');
-- Without the schema's, they would not be asked for.
GRANT USAGE ON SCHEMA uidgen_registry TO regress_uidgen_user;
SET ROLE regress_uidgen_user;
SELECT uid_next() > 0 AS works, uid_next(0) > 0 AS tagged, (SELECT count(*) FROM uid_next_batch(5)) AS batch,
	uid_reserve(5) > 0 AS reserve, uid_timestamp(uid_next()) IS NOT NULL AS time,
	(uid_parse(uid_next())).id > 0 AS parse, uid_min('infinity') > 0 AS min, uid_max('infinity') > 0 AS max,
	uid_make(uid_timestamp(uid_next()), 0, 0) > 0 AS make;
SELECT count(*) > 0 AS presets FROM uidgen.presets;
SELECT state = 'granted' OR state = 'idle' AS state, worker_id >= 0 AS worker_id, last_error FROM uidgen.status;
SELECT (SELECT count(*) FROM uid_layout()) > 1 AS layout, (uid_layout_info()).bits BETWEEN 21 AND 63 AS info;
SELECT severity IN ('ok', 'warning') AS issued FROM uidgen.diagnose();
SELECT uidgen_registry.acquire_worker_id('me', 'default', 0, -1, -1, 'reuse', true, 0, 1, 1, 1, 'host', 1, 1);
SELECT uidgen_registry.renew_worker_id(0, 0, 0, 0, 0, 0, 0);
SELECT uidgen_registry.release_worker(0, 0, 0, 0);
SELECT uidgen_registry.forget_worker(0);
SELECT uidgen_registry.check_lifetime(1, 2, 1, 1);
SELECT uidgen_registry.new_token();
SELECT uidgen_registry.registry_clock();
SELECT uidgen_registry.registry_history();
SELECT uidgen_registry.tick_at('2026-01-01', 1, 1);
SELECT uidgen_registry.tick_time(1, 1, 1);
SELECT * FROM uidgen_registry.worker_node;
DELETE FROM uidgen_registry.worker_node;
SELECT * FROM uidgen_registry.registry;
CREATE TABLE uidgen.mine ();
SET uidgen.wait_timeout = '5s';
RESET uidgen.wait_timeout;
RESET ROLE;
-- Monitoring reads the registry, but changes nothing.
GRANT pg_monitor TO regress_uidgen_user;
SET ROLE regress_uidgen_user;
SELECT count(*) >= 0 AS rows FROM uidgen_registry.worker_node;
-- But not what proves to the registry of a fleet that a row is a node's own.
SELECT token FROM uidgen_registry.worker_node;
SELECT count(worker_id) >= 0 AS rows, count(granted_until) >= 0 AS ends FROM uidgen_registry.worker_node;
SELECT count(*) >= 0 AS nodes FROM uidgen_registry.fleet;
SELECT count(*) >= 0 AS nodes FROM uidgen_registry.status;
SELECT count(*) >= 0 AS rows FROM uidgen_registry.registry;
SELECT count(last_error) FROM uidgen.status;
UPDATE uidgen_registry.worker_node SET granted_until = 0;
SELECT uidgen_registry.forget_worker(0);
RESET ROLE;
REVOKE USAGE ON SCHEMA uidgen_registry FROM regress_uidgen_user;
DROP ROLE regress_uidgen_user;

-- The database keeps in mind which layout its ids have, of which server, and since when.
SELECT layout = (SELECT layout FROM uidgen.status), system_identifier = (SELECT system_identifier FROM pg_control_system()), since <= now() FROM uidgen.layout_used;

DROP TABLE item, timed, reserved, mixed, parallel_ids, entry, committed;
DROP FUNCTION note_entry;
