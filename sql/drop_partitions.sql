-- uid_drop_partitions(): which partitions of a table are past, and what keeps them.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\set SHOW_CONTEXT never

CREATE TABLE event (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('event', '2025-02-01', '2025-08-01', '1 month', true, 'default');
SELECT layout FROM uidgen_tools.list_partitions('event') LIMIT 1 \gset
CREATE VIEW partition AS SELECT relid::text, pg_get_expr(c.relpartbound, relid) AS bound
	FROM pg_partition_tree('event') JOIN pg_class AS c ON c.oid = relid WHERE level = 1 ORDER BY 1;

-- The statements, and nothing else: what ends at the time is before it, what the time lies in is not.
SELECT * FROM uid_drop_partitions('event', '2025-04-01', false, 'default', true);
SELECT * FROM uid_drop_partitions('event', '2025-03-31 23:59:59.999', false, 'default', true);
SELECT * FROM uid_drop_partitions('event', '2025-02-01', false, 'default', true);
SELECT * FROM uid_drop_partitions('event', '2001-01-01', false, 'default', true);
SELECT count(*) FROM partition;
-- or run as well; a second call finds nothing.
INSERT INTO event SELECT uid_min(t, 'default') FROM generate_series(timestamptz '2025-02-01', '2025-07-31', '1 day') AS t;
-- By an older snapshot one that was detached meanwhile would be dropped.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM uid_drop_partitions('event', '2025-04-15', true, 'default', true);
ROLLBACK;
SELECT * FROM uid_drop_partitions('event', '2025-04-15', true, 'default', true);
SELECT * FROM uid_drop_partitions('event', '2025-04-15', true, 'default', true);
SELECT relid FROM partition;
SELECT uid_timestamp(min(id), 'default'), count(*) FROM event;
-- Dropped partitions can be made again.
SELECT count(*) FROM uid_partitions('event', '2025-02-01', '2025-08-01', '1 month', true, 'default');

-- Oldest first, whatever their names are; quoted, and in whatever schema they lie.
CREATE SCHEMA "Odd ""schema";
ALTER TABLE event_2025_02 RENAME TO "z %I";
ALTER TABLE event_2025_03 SET SCHEMA "Odd ""schema";
ALTER TABLE "Odd ""schema".event_2025_03 RENAME TO "A ""table""";
SELECT * FROM uid_drop_partitions('event', '2025-05-01', true, 'default', true);
-- A default partition stays, with what is in it, and takes what comes late.
CREATE TABLE event_other PARTITION OF event DEFAULT;
INSERT INTO event SELECT uid_min('2025-02-01', 'default');
SELECT * FROM uid_drop_partitions('event', '2025-06-01', true, 'default', true);
INSERT INTO event SELECT uid_min('2025-05-01', 'default');
SELECT tableoid::regclass, count(*) FROM event GROUP BY 1 ORDER BY 1;
SELECT * FROM uid_drop_partitions('event', now(), true, 'default', true);
SELECT relid FROM partition;
SELECT count(*) FROM event;
DROP TABLE event_other;

-- Partitions of partitions go along.  One that begins in the first day of the layout, or before, may hold the numbers of a sequence.
SELECT uid_min('2025-01-02', 'default') AS second_day, uid_min('2025-02-01', 'default') AS february,
	uid_min('2025-03-01', 'default') AS march, uid_min('2025-04-01', 'default') AS april \gset
CREATE TABLE numbers PARTITION OF event FOR VALUES FROM (MINVALUE) TO (-1);
CREATE TABLE more_numbers PARTITION OF event FOR VALUES FROM (5000000) TO (6000000);
CREATE TABLE first_day PARTITION OF event FOR VALUES FROM (6000000) TO (:second_day);
CREATE TABLE january PARTITION OF event FOR VALUES FROM (:second_day) TO (:february) PARTITION BY HASH (id);
CREATE TABLE january_0 PARTITION OF january FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE later PARTITION OF event FOR VALUES FROM (:april) TO (MAXVALUE);
-- What was made by hand has no record, until somebody gives it one.
SELECT * FROM uidgen_tools.check_partitions('event');
SELECT * FROM uid_drop_partitions('event', '2025-03-01', true, 'default', true);
SELECT format('COMMENT ON TABLE %s IS %L', relation::regclass, format('uidgen: ids of layout "%s" from %s to %s', :'layout', low, high))
	FROM uidgen_tools.list_partitions('event') WHERE NOT is_recorded \gexec
SELECT * FROM uid_drop_partitions('event', '2025-03-01', true, 'default', true);
SELECT relid FROM partition;
DROP TABLE numbers, more_numbers, first_day, later;

-- A foreign partition is dropped here, and stays where it is.
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE TABLE plain (id bigint) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE far PARTITION OF plain FOR VALUES FROM (:february) TO (:march) SERVER nowhere;
SELECT * FROM uid_drop_partitions('plain', '2025-03-01', true, 'default', true);
SELECT format('COMMENT ON FOREIGN TABLE far IS %L', format('uidgen: ids of layout "%s" from %s to %s', :'layout', :'february', :'march')) \gexec
SELECT * FROM uid_drop_partitions('plain', '2025-03-01', true, 'default');
SELECT * FROM uid_drop_partitions('plain', '2025-03-01', true, 'default', true);
DROP SERVER nowhere;
DROP FOREIGN DATA WRAPPER nowhere;

-- A temporary table, and one whose name another schema has first
CREATE TEMP TABLE event (id bigint) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('event', '2025-02-01', '2025-03-01', '1 month', true, 'default');
SELECT * FROM uid_drop_partitions('event', '2025-03-01', true, 'default', true);
DROP TABLE pg_temp.event;

-- By the server's layout
CREATE TABLE own (id bigint DEFAULT uid_next()) PARTITION BY RANGE (id);
SELECT count(*) BETWEEN 26 AND 27 AS made FROM uid_partitions('own', now() - interval '1 day', now() + interval '2 hours', '1 hour', true);
SELECT count(*) FROM uidgen_tools.check_partitions('own');
INSERT INTO own VALUES (DEFAULT);
-- What stays has to hold rows for as long as is asked for, whatever the clock says: of those that do, the one that is not over from a row on.
SET client_min_messages = warning;
INSERT INTO own SELECT uid_min(now() - n * interval '1 hour') FROM generate_series(1, 2) AS n;
SELECT count(*) FROM uid_drop_partitions('own', date_trunc('hour', now()) - interval '3 hours', true);
INSERT INTO own SELECT uid_min(now() - n * interval '1 hour') FROM generate_series(3, 6) AS n;
SELECT count(*) BETWEEN 19 AND 21 AS dropped FROM uid_drop_partitions('own', date_trunc('hour', now()) - interval '3 hours', true);
SELECT count(*) BETWEEN 6 AND 8 AS remain FROM pg_inherits WHERE inhparent = 'own'::regclass;
-- Hours without rows do not count, nor do those of the future.
DELETE FROM own WHERE id < uid_min(now() - interval '30 min');
INSERT INTO own VALUES (uid_min(now() + interval '1 hour'));
SELECT count(*) FROM uid_drop_partitions('own', now() - interval '90 min', true);
SELECT count(*) > 0 AS dropped FROM uid_drop_partitions('own', now() - interval '90 min', force => true);
SELECT count(*) > 0 AS dropped FROM uid_drop_partitions('own', now() - interval '90 min', true, true);
RESET client_min_messages;
SELECT count(*) FROM own;
DROP TABLE own;
-- Each by the layout of its record, and with a layout named only what is of that one.
CREATE TABLE old (id bigint) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('old', '2025-02-01', '2025-04-01', '1 month', true, 'twitter');
SELECT * FROM uid_drop_partitions('old', '2025-03-01', false, 'default', true);
SELECT * FROM uid_drop_partitions('old', '2025-03-01', false, 'twitter', true);
SELECT * FROM uid_drop_partitions('old', '2025-03-01', force => true);
-- A record that is of other bounds, or of no layout, counts for nothing.
SELECT low + 1 AS low, high - 1 AS high FROM uidgen_tools.list_partitions('old') LIMIT 1 \gset
ALTER TABLE old DETACH PARTITION old_2025_02;
ALTER TABLE old ATTACH PARTITION old_2025_02 FOR VALUES FROM (:low) TO (:high);
SELECT * FROM uid_drop_partitions('old', '2025-05-01', false, 'twitter', true);
SELECT * FROM uidgen_tools.check_partitions('old');
SELECT format('COMMENT ON TABLE old_2025_02 IS %L', format('uidgen: ids of layout "no layout" from %s to %s', :'low', :'high')) \gexec
SELECT * FROM uid_drop_partitions('old', '2025-05-01', force => true);
-- Rows of another layout can be of today: one that a record alone names.
CREATE TABLE another (id bigint) PARTITION BY RANGE (id);
CREATE TABLE another_low PARTITION OF another FOR VALUES FROM (MINVALUE) TO (0);
CREATE FUNCTION pg_temp.note(layout text) RETURNS void LANGUAGE plpgsql AS
	$$ BEGIN EXECUTE format('COMMENT ON TABLE another_low IS %L', format('uidgen: ids of layout "%s" from -9223372036854775808 to 0', regexp_replace(layout, '\S*$', 'epoch:' || (now() - interval '70 days')::date))); END $$;
SELECT pg_temp.note(:'layout');
DROP TABLE old;
CREATE TABLE old (id bigint) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('old', '2025-03-01', '2025-04-01', '1 month', true, 'default');
\set VERBOSITY terse
SELECT * FROM uid_drop_partitions('old', now(), force => true);
-- Of one that has no order of time, anywhere.
SELECT is_past FROM uidgen_tools.list_past('old', now(), NULL, ARRAY[:'layout', 'worker:10 time:41:1ms sequence:12 epoch:2020-05-02T16:00:00Z'], NULL);
\set VERBOSITY default
DROP TABLE another;
SELECT * FROM uid_drop_partitions('old', now(), force => true);
DROP TABLE old;
-- What the check says of strange tables, and of rows in a default partition.
SELECT count(*) >= 0 AS ends FROM pg_class AS c, uidgen_tools.check_partitions(c.oid) AS k;
SELECT c.* FROM unnest(ARRAY[1, NULL]::regclass[]) AS t, uidgen_tools.check_partitions(t) AS c;
CREATE TABLE wide (id numeric) PARTITION BY RANGE (id);
CREATE TABLE wide_1 PARTITION OF wide FOR VALUES FROM (1) TO (1000000000000000000000000000);
SELECT * FROM uidgen_tools.check_partitions('wide');
DROP TABLE wide;
CREATE TABLE with_default (id bigint) PARTITION BY RANGE (id);
CREATE TABLE with_default_other PARTITION OF with_default DEFAULT;
SELECT * FROM uidgen_tools.check_partitions('with_default');
INSERT INTO with_default VALUES (1);
ANALYZE with_default_other;
SELECT * FROM uidgen_tools.check_partitions('with_default');
DROP TABLE with_default;
-- A name that leaves no room for what comes behind it
SELECT length(uidgen_tools.shorten_name(repeat('x', 100), 60)), length(uidgen_tools.find_free_name('public'::regnamespace, 'x', repeat('y', 60)));

-- The session's lock_timeout is what it was, and is not raised.
SHOW lock_timeout;
SELECT count(*) FROM uid_partitions('event', '2025-02-01', '2025-08-01', '1 month', true, 'default');
CREATE FUNCTION pg_temp.show_patience() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'lock_timeout is at most %', (SELECT min(m) FROM unnest('{500 ms,7 s,1 day}'::interval[]) AS m WHERE current_setting('lock_timeout')::interval <= m); END $$;
BEGIN;
CREATE EVENT TRIGGER regress_uidgen_patience ON ddl_command_start WHEN TAG IN ('DROP TABLE') EXECUTE FUNCTION pg_temp.show_patience();
SAVEPOINT s;
SELECT * FROM uid_drop_partitions('event', '2025-03-01', true, 'default', true);
SHOW lock_timeout;
ROLLBACK TO s;
SET LOCAL lock_timeout = '7s';
SELECT * FROM uid_drop_partitions('event', '2025-03-01', true, 'default', true);
SHOW lock_timeout;
DROP EVENT TRIGGER regress_uidgen_patience;
COMMIT;

-- Where nothing is to be dropped or made, nobody waits, nor is waited for.
BEGIN;
SELECT * FROM uid_drop_partitions('event', '2025-03-01', true, 'default', true);
SELECT * FROM uid_partitions('event', '2025-03-01', '2025-05-01', '1 month', true, 'default');
SELECT mode FROM pg_locks WHERE relation = 'event'::regclass AND pid = pg_backend_pid() ORDER BY 1;
COMMIT;

-- Foreign keys
CREATE TABLE answer (id integer PRIMARY KEY, event_id bigint CONSTRAINT answers REFERENCES event);
SELECT uid_drop_partitions('event', '2025-05-01', false, 'default', true);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', '2025-03-01', true, 'default', true);
-- The way out: as long as a row refers to it, it cannot be detached.
INSERT INTO event VALUES (uid_min('2025-03-01', 'default')), (uid_min('2025-05-01', 'default'));
INSERT INTO answer VALUES (1, uid_min('2025-03-01', 'default')), (2, uid_min('2025-05-01', 'default'));
\set VERBOSITY sqlstate
ALTER TABLE event DETACH PARTITION event_2025_03;
\set VERBOSITY default
DELETE FROM answer WHERE uid_between(event_id, NULL, '2025-04-01', 'default');
ALTER TABLE event DETACH PARTITION event_2025_03;
DROP TABLE event_2025_03;
SELECT count(*) FROM answer;
DROP TABLE answer;
-- ... that refer to a partition alone, and to the table itself
CREATE TABLE answer (id integer PRIMARY KEY, event_id bigint CONSTRAINT answers REFERENCES event_2025_04);
SELECT uid_drop_partitions('event', '2025-05-01', true, 'default', true);
DROP TABLE answer;
ALTER TABLE event ADD parent bigint CONSTRAINT of_itself REFERENCES event;
SELECT uid_drop_partitions('event', '2025-05-01', true, 'default', true);
ALTER TABLE event DROP parent;

-- What something depends on is kept, and the others are dropped.
CREATE VIEW of_may AS SELECT * FROM event_2025_05;
\set VERBOSITY terse
SELECT uid_drop_partitions('event', '2025-06-01', true, 'default', true);
\set VERBOSITY default
DROP VIEW of_may;
SELECT relid FROM partition;

-- Statements are for the owner.
CREATE ROLE regress_uidgen_drop;
SET ROLE regress_uidgen_drop;
\set VERBOSITY sqlstate
SELECT * FROM uid_drop_partitions('public.event', '2025-05-01', false, 'default', true);
SELECT * FROM uid_drop_partitions('public.event', '2025-05-01', true, 'default', true);
\set VERBOSITY default
RESET ROLE;
DROP ROLE regress_uidgen_drop;

-- What is refused
\set VERBOSITY terse
SELECT uid_drop_partitions('event', now() + interval '1 month');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', 'infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', '-infinity', true);
\set VERBOSITY default
SELECT uid_drop_partitions('event_2025_05', '2025-05-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('pg_class', '2025-05-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions(1::regclass, '2025-05-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', '2025-05-01', false, 'seata');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions(NULL, '2025-05-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', '2025-05-01', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', '2025-05-01', false, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_drop_partitions('event', '2025-05-01', force => NULL);
\echo :LAST_ERROR_SQLSTATE

DROP VIEW partition;
DROP TABLE event, plain;
DROP SCHEMA "Odd ""schema";
