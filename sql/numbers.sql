-- Numbers of segments, as callers draw them on one server.  What the registry does is in
-- segments.sql.
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = error;
SELECT current_database() AS here, coalesce(current_setting('uidgen.database', true), 'postgres') AS registry \gset
-- A segment in another database than the registry's is of no use, which can be said where the library is loaded.
LOAD 'uidgen';
RESET client_min_messages;
SELECT uidgen_registry.create_segment('misplaced');
\connect :registry
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen;
RESET client_min_messages;
SELECT uidgen_registry.create_segment('n');
-- The first calls, in order and without gaps.
SELECT uid_segment_next('n'), uid_segment_next('n'), uid_segment_next('n');
SELECT * FROM uid_segment_batch('n', 5);
SELECT uid_segment_next('n'), uid_segment_reserve('n', 10), uid_segment_next('n');
SELECT count(*) FROM uid_segment_batch('n', 0);
-- Over the seams of many ranges, and in several statements: each number once, in order.
SELECT uidgen_registry.create_segment('seams', 10, 3);
CREATE TEMP TABLE drawn AS SELECT g, uid_segment_next('seams') AS n FROM generate_series(1, 1000) AS g;
SELECT min(n), max(n), count(DISTINCT n), bool_and(n = g + 9) AS in_order FROM drawn;
SELECT min(n), max(n), count(DISTINCT n) FROM uid_segment_batch('seams', 5000) AS n;
SELECT state, fetches > 5 AS several, step > 3 AS longer, fetched - numbers_left AS drawn, drawn = fetched - numbers_left AS same, skipped, returned, lost
	FROM uidgen.segment_status WHERE name = 'seams';
-- A call site with more than one name.
SELECT uidgen_registry.create_segment('a'), uidgen_registry.create_segment('b', 500);
SELECT s, uid_segment_next(s) FROM unnest(ARRAY['a', 'b', 'a', 'a', 'b', 'b', 'a']) AS s;
-- A default
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT uid_segment_next('a'), what text);
INSERT INTO orders (what) VALUES ('tea'), ('milk') RETURNING id;
COPY orders (what) FROM stdin;
sugar
salt
\.
SELECT * FROM orders ORDER BY id;
ALTER TABLE orders ADD COLUMN other bigint DEFAULT uid_segment_next('b');
SELECT count(DISTINCT other) FROM orders;
-- A block leaves the rest of a range that is too short; a batch does not.
SELECT uidgen_registry.create_segment('short', step => 10);
SELECT uid_segment_next('short');
SELECT uid_segment_reserve('short', 10) > 10 AS later;
SELECT skipped > 0 AS skipped FROM uidgen.segment_status WHERE name = 'short';
SELECT uid_segment_reserve('short', 1000) > 20 AS later;
SELECT uid_segment_reserve('short', 1001);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_segment_reserve('short', 2147483647);
\echo :LAST_ERROR_SQLSTATE
-- The end
SELECT uidgen_registry.create_segment('ends', 1, 10, 15);
SELECT count(*), max(n) FROM uid_segment_batch('ends', 15) AS n;
SELECT uid_segment_next('ends');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_segment_next('ends');
SELECT state, numbers_left FROM uidgen.segment_status WHERE name = 'ends';
SELECT uidgen_registry.change_segment('ends', max_value => 20);
SELECT uid_segment_next('ends');
SELECT count(*), max(n) FROM uid_segment_batch('ends', 4) AS n;
SELECT * FROM uid_segment_batch('ends', 1);
SELECT uidgen_registry.create_segment('largest', 9223372036854775800, 1000);
SELECT count(*), max(n) FROM uid_segment_batch('largest', 8) AS n;
SELECT uid_segment_next('largest');
-- What the errors say: a segment is created in the registry's database.
CREATE FUNCTION pg_temp.hint(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN replace(hint, format('"%s"', current_setting('uidgen.database')), 'REGISTRY');
END $$;
SELECT pg_temp.hint($$SELECT uid_segment_next('nowhere')$$);
SELECT pg_temp.hint($$SELECT uid_segment_next('ends')$$);
SELECT pg_temp.hint($$SELECT uid_segment_reserve('n', 1000000)$$);
-- There is no such segment; once there is, its numbers can be drawn.
SELECT uid_segment_next('none');
\echo :LAST_ERROR_SQLSTATE
SELECT state, drawn, last_error FROM uidgen.segment_status WHERE name = 'none';
SELECT uidgen_registry.create_segment('none');
SELECT uid_segment_next('none');
-- Names that the registry was never asked for take no slot from others.
SELECT count(*) FROM (SELECT uid_segment_batch('x' || i, 0) FROM generate_series(1, current_setting('uidgen.max_segments')::integer) AS i) AS nothing;
SELECT uidgen_registry.create_segment('last to come');
SELECT uid_segment_next('last to come');
-- A range that could not be fetched in advance is fetched although nobody asks again.
SELECT uidgen_registry.create_segment('advance');
CREATE FUNCTION pg_temp.wait_until(condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	reached boolean;
BEGIN
	FOR i IN 1..1000 LOOP
		EXECUTE format('SELECT %s FROM uidgen.segment_status WHERE name = %L', condition, 'advance') INTO reached;
		EXIT WHEN reached;
		PERFORM pg_sleep(0.02);
	END LOOP;
	RETURN reached;
END $$;
CREATE FUNCTION fail_for_a_while() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'not now' USING ERRCODE = 'lock_not_available';
END $$;
SELECT uid_segment_next('advance');
CREATE TRIGGER fail_for_a_while BEFORE UPDATE ON uidgen_registry.segment FOR EACH ROW
	WHEN (old.name = 'advance') EXECUTE FUNCTION fail_for_a_while();
SELECT count(*) FROM uid_segment_batch('advance', 100);
SELECT pg_temp.wait_until('failures > 0');
DROP TRIGGER fail_for_a_while ON uidgen_registry.segment;
DROP FUNCTION fail_for_a_while();
SELECT pg_temp.wait_until('fetches = 2'), drawn FROM uidgen.segment_status WHERE name = 'advance';
-- Not before it is committed.
BEGIN;
SELECT uidgen_registry.create_segment('late');
SELECT uid_segment_next('late');
ROLLBACK;
-- Dropped, created again, and begun anew.
SELECT uid_segment_next('b') > 0 AS drawn, uidgen_registry.drop_segment('b');
-- what was fetched is given out until the server asks the next time
SELECT count(*) FROM uid_segment_batch('b', 100000);
SELECT uidgen_registry.create_segment('b');
SELECT uid_segment_next('b') > 500 AS above;
SELECT uidgen_registry.drop_segment('b'), uidgen_registry.create_segment('b', restart => true, step => 5);
SELECT min(n) = 1 AS begins_anew FROM uid_segment_batch('b', 100000) AS n;
-- raise_segment(): what is fetched from now on lies above.
SELECT uidgen_registry.create_segment('raised', step => 2);
SELECT uid_segment_next('raised'), uidgen_registry.raise_segment('raised', 1000000);
SELECT max(n) > 1000000 AS above, min(n) FROM uid_segment_batch('raised', 20) AS n;
-- A segment that the keeper cannot see yet: one that was created in this transaction, or in
-- a part of it, also for a role that may not read the table.
CREATE ROLE regress_uidgen_clerk;
BEGIN;
SELECT uidgen_registry.create_segment('early');
SAVEPOINT s;
SELECT uid_segment_next('early');
ROLLBACK TO s;
SELECT pg_temp.hint($$SELECT uid_segment_next('early')$$);
SET ROLE regress_uidgen_clerk;
SELECT * FROM uid_segment_batch('early', 3);
ROLLBACK TO s;
RESET ROLE;
SELECT uidgen_registry.drop_segment('early');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
COMMIT;
SELECT uidgen_registry.drop_segment('early');
SELECT uid_segment_next('early');
BEGIN;
SAVEPOINT s;
SELECT uidgen_registry.create_segment('undone');
ROLLBACK TO s;
SELECT uid_segment_next('undone');
ROLLBACK;
DROP ROLE regress_uidgen_clerk;
-- Names
SELECT uid_segment_next('');
SELECT uid_segment_next(NULL);
SELECT uid_segment_next(repeat('x', 64));
SELECT uidgen_registry.create_segment(repeat('x', 63)), uidgen_registry.create_segment(E'Name "1" $$ \\ '' %s');
SELECT uid_segment_next(repeat('x', 63)), uid_segment_next(E'Name "1" $$ \\ '' %s');
SELECT * FROM uid_segment_batch('n', -1);
SELECT uid_segment_reserve('n', 0);
SELECT uid_segment_reserve('n', NULL);
SELECT uid_segment_reserve(NULL, 1);
-- Drawing needs no right but EXECUTE; making a segment does.
CREATE ROLE regress_uidgen_clerk;
SET ROLE regress_uidgen_clerk;
SELECT uid_segment_next('n') > 0 AS drawn;
SELECT uid_segment_next('no such');
SELECT uidgen_registry.create_segment('mine');
SELECT uidgen_registry.drop_segment('n');
SELECT uidgen_registry.raise_segment('n', 1000);
SELECT * FROM uidgen.segment_status;
RESET ROLE;
DROP ROLE regress_uidgen_clerk;
-- In a read-only transaction, in a parallel plan, in a cursor, after an error.
BEGIN READ ONLY;
SELECT uid_segment_next('n') > 0 AS drawn;
ROLLBACK;
SELECT count(DISTINCT n) FROM (SELECT uid_segment_next('n') AS n UNION ALL SELECT n FROM uid_segment_batch('n', 3000) AS n) AS all_numbers;
DROP TABLE orders;
-- An answer that makes no sense is refused, and the error says what in it does not.
SELECT uidgen_registry.create_segment('odd', step => 1000);
SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS add_constraint FROM pg_constraint WHERE conname = 'steps_are_in_order' \gset
ALTER TABLE uidgen_registry.segment DROP CONSTRAINT steps_are_in_order;
SET search_path = pg_catalog, uidgen_registry, pg_temp;
UPDATE uidgen_registry.segment SET min_step = 10, max_step = 5 WHERE name = 'odd';
\set VERBOSITY default
SELECT public.uid_segment_next('odd');
\set VERBOSITY terse
UPDATE uidgen_registry.segment SET min_step = 1, max_step = 1000 WHERE name = 'odd';
RESET search_path;
:add_constraint;
SELECT uid_segment_next('odd') > 0 AS drawn;
-- In another database the numbers go on.
SELECT uid_segment_next('n') AS last \gset
\connect :here
SELECT uid_segment_next('n') - :last AS distance;
