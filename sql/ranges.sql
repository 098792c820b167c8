-- Ranges of time: uid_between(), uid_range(), uid_partitions().  What is independent of the
-- server's layout has its own.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET client_min_messages = warning;

--
-- Which ids are in a range
--

-- Half-open, by whole ticks; a bound within a tick is the tick's beginning.
SELECT id - uid_min('2026-11-22 12:00', 'default') AS id,
	uid_between(id, '2026-11-22 12:00', '2026-11-22 12:00:00.001', 'default') AS tick,
	uid_between(id, '2026-11-22 12:00:00.0009', '2026-11-22 12:00:00.0019', 'default') AS same_tick,
	uid_between(id, '2026-11-22 12:00', '2026-11-22 12:00', 'default') AS empty,
	uid_between(id, '2026-11-22 12:00', '2026-11-22 12:00:00.0009', 'default') AS too_short
FROM (SELECT uid_min('2026-11-22 12:00', 'default') + i AS id FROM unnest('{-1,0,4194303,4194304}'::bigint[]) AS i) AS t;
-- Null is an open end; a null id is neither in a range nor outside.
SELECT id, uid_between(id, NULL, NULL, 'default') AS "all", uid_between(id, '2026-11-22', NULL, 'default') AS since,
	uid_between(id, NULL, '2026-11-22', 'default') AS until, id <@ uid_range('2026-11-22', NULL, 'default') AS range
FROM unnest(ARRAY[NULL, -9223372036854775808, -1, 0, uid_min('2026-11-22', 'default'), 9223372036854775807]) AS id;
SELECT uid_between(NULL, '2026-11-22', '2026-11-23', 'default');
-- An end before the beginning: no id is between, but it is no range.
SELECT uid_between(uid_min('2026-11-22', 'default'), '2026-11-23', '2026-11-21', 'default');
SELECT uid_range('2026-11-23', '2026-11-21', 'default');
\echo :LAST_ERROR_SQLSTATE
-- Ranges
SELECT uid_range('2026-11-22', '2026-11-23', 'default'), uid_range('2026-11-22', NULL, 'default'), uid_range(NULL, '2026-11-22', 'default'),
	uid_range(NULL, NULL, 'default'), uid_range('2026-11-22', '2026-11-22', 'default');
-- Ends that the layout does not reach are its own; in js53 seconds count.
SELECT uid_range('2000-01-01', '2026-11-22', 'default') AS before_epoch, uid_range('2026-11-22', '3000-01-01', 'default') AS after_end,
	uid_range('-infinity', 'infinity', 'js53'), uid_range('2000-01-01', '2001-01-01', 'default') AS nothing,
	uid_range('3000-01-01', '3001-01-01', 'default') AS nothing, uid_range('2026-11-22 00:00:00.2', '2026-11-22 00:00:01.2', 'js53');
-- A range that ends after the layout has its last id; one that begins there has none, where a number is left above it.
SELECT uid_between(9007199254740991, '-infinity', 'infinity', 'js53'), 9007199254740991 <@ uid_range('-infinity', 'infinity', 'js53'),
	uid_between(9223372036854775807, '-infinity', 'infinity', 'default'), 9223372036854775807 <@ uid_range('-infinity', 'infinity', 'default');
SELECT uid_between(9007199254740991, 'infinity', NULL, 'js53'), uid_range('infinity', NULL, 'js53'), uid_range('infinity', 'infinity', 'js53'), uid_range('infinity', NULL, 'default');
-- Ranges that meet share no id and leave none out; both functions say the same.
SELECT count(*) AS ranges, bool_and(part -|- next) AS meet, bool_and(uid_between(lower(part), at, at + step, l)
	AND NOT uid_between(upper(part), at, at + step, l) AND uid_between(upper(part) - 1, at, at + step, l)
	AND NOT uid_between(lower(part) - 1, at, at + step, l)) AS same
FROM (SELECT *, uid_range(at, at + step, l) AS part, uid_range(at + step, at + 2 * step, l) AS next
	FROM unnest('{default, js53, js53ms, twitter, discord, sonyflake}'::text[]) AS l,
		unnest('{1 hour, 86399.999999 s, 1 month}'::interval[]) AS step,
		(SELECT timestamptz '2026-01-01' + n * interval '12345.678901 s' AS at FROM generate_series(1, 100) AS n) AS t) AS r;
SELECT count(*) FILTER (WHERE NOT uid_between(id, t, t + interval '1 s', l)) AS outside
FROM unnest('{default, js53, js53ms}'::text[]) AS l, generate_series(timestamptz '2026-11-22', '2026-11-23', '777.777 s') AS t, uid_make(t, 3, 5, NULL, NULL, l) AS id;
-- The server's layout
SELECT uid_between(uid_next(), now() - interval '1 hour', NULL) AS since, uid_between(uid_next(), now() - interval '1 hour', now() + interval '1 day') AS "in",
	uid_between(uid_next(), NULL, now() - interval '1 hour') AS until, uid_next() <@ uid_range(now() - interval '1 hour', NULL) AS range;
SELECT bool_and(uid_range(a, b) IS NOT DISTINCT FROM uid_range(a, b, layout)) AS same
FROM uid_layout_info(), (VALUES (timestamptz '2030-01-01', timestamptz '2030-02-01'), (NULL, '2030-02-01'), ('2030-01-01', NULL)) AS v (a, b);
-- A null layout is refused, where it could pass for an open end.
SELECT uid_between(1, '2026-11-22', '2026-11-23', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_between(1, NULL, NULL, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_range('2026-11-22', '2026-11-23', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_between(1, '2026-11-22', '2026-11-23', 'twetter');
\echo :LAST_ERROR_SQLSTATE
-- So is a layout whose ids are not in the order of time.
SELECT uid_between(1, '2026-11-22', NULL, 'seata');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_range(NULL, '2026-11-22', 'zero:1 worker:10 time:41:1ms epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_range('2026-11-22', '2026-11-23', 'zero:1 time:41:1ms worker:10 epoch:2025-01-01');
-- A layout with the sign bit in its time ends where its ids turn negative, and begins at the smallest number.
SELECT uid_range('2084-09-06 15:47:35.551', '2085-01-01', 'discord'), uid_range('2000-01-01', '2016-01-01', 'discord'),
	uid_between(5, '2010-01-01', '2011-01-01', 'discord'), uid_between(5, '2010-01-01', '2015-01-02', 'discord');

--
-- Plans
--

-- The lines of a plan, for what differs between versions
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END
$$;

-- Partitions by month, by the server's layout and by one that is named
CREATE TABLE event (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('event', '2030-01-01', '2030-05-01', '1 month', true);
INSERT INTO event SELECT uid_min(t), t FROM generate_series(timestamptz '2030-01-01', '2030-04-30', '10 min') AS t;
CREATE TABLE mark (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('mark', '2030-01-01', '2030-05-01', '1 month', true, 'default');
INSERT INTO mark SELECT uid_min(t, 'default'), t FROM generate_series(timestamptz '2030-01-01', '2030-04-30', '10 min') AS t;
ANALYZE event, mark;

-- Inlined, by the index, of the one partition: when the executor starts, for the server's
-- layout may change with a restart; with a layout, when the plan is made.
EXPLAIN (COSTS OFF) SELECT body FROM event WHERE uid_between(id, '2030-02-03', '2030-02-04');
EXPLAIN (COSTS OFF) SELECT body FROM mark WHERE uid_between(id, '2030-02-03', '2030-02-04', 'default');
-- Open ends, and times that are known when the statement starts
EXPLAIN (COSTS OFF) SELECT body FROM event WHERE uid_between(id, '2030-04-29', NULL);
EXPLAIN (COSTS OFF) SELECT body FROM event WHERE uid_between(id, NULL, '2030-01-02');
EXPLAIN (COSTS OFF) SELECT body FROM event WHERE uid_between(id, now() + interval '1000 years', NULL);
-- Parameters, in a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE span(timestamptz, timestamptz) AS SELECT count(*) FROM event WHERE uid_between(id, $1, $2);
EXPLAIN (COSTS OFF) EXECUTE span('2030-02-03', '2030-02-04');
EXECUTE span('2030-02-03', '2030-02-04');
EXECUTE span('2030-03-31 23:55', NULL);
EXECUTE span(NULL, NULL);
EXECUTE span('2030-02-04', '2030-02-03');
RESET plan_cache_mode;
-- A column of another table
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE TEMP TABLE span (a timestamptz, b timestamptz);
INSERT INTO span VALUES ('2030-02-03', '2030-02-04'), ('2030-04-29 23:00', NULL);
EXPLAIN (COSTS OFF) SELECT * FROM span, mark WHERE uid_between(id, a, b, 'default');
SELECT a, count(*), min(id), max(id) FROM span, mark WHERE uid_between(id, a, b, 'default') GROUP BY a ORDER BY a;
-- Each argument is named once in the body, so a subquery or a volatile function as
-- argument is no reason to call it row by row.
SELECT count(*) FILTER (WHERE line LIKE '%uid_between%') AS calls, bool_or(line LIKE '%Index Cond%first_since%') AS index
FROM pg_temp.plan('SELECT body FROM event WHERE uid_between(id, (SELECT min(a) FROM span), clock_timestamp())') AS line;
-- The planner knows how many rows to expect: a day has 144.
CREATE FUNCTION pg_temp.expected(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END
$$;
SELECT pg_temp.expected($$SELECT FROM event_2030_02 WHERE uid_between(id, '2030-02-03', '2030-02-04')$$) BETWEEN 100 AND 200 AS server,
	pg_temp.expected($$SELECT FROM mark_2030_02 WHERE uid_between(id, '2030-02-03', '2030-02-04', 'default')$$) BETWEEN 100 AND 200 AS named;
-- Changing rows
EXPLAIN (COSTS OFF) DELETE FROM mark WHERE uid_between(id, '2030-02-03', '2030-02-04', 'default');
DELETE FROM event WHERE uid_between(id, '2030-02-03', '2030-02-04');
SELECT count(*) FROM event WHERE uid_between(id, '2030-02-01', '2030-02-05');
-- In a parallel plan; fit for an index's predicate and a check, with a layout
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FILTER (WHERE line LIKE '%Parallel Seq Scan%') > 0 AS parallel
FROM pg_temp.plan($$SELECT sum(length(body)) FROM event WHERE uid_between(id, '2030-01-01', '2030-04-01')$$) AS line;
SELECT count(*) FROM event WHERE uid_between(id, '2030-01-01', '2030-04-01');
RESET ALL;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET client_min_messages = warning;
CREATE INDEX ON mark (body) WHERE uid_between(id, '2030-02-01 UTC', '2030-03-01 UTC', 'default');
CREATE TEMP TABLE checked (id bigint CHECK (uid_between(id, '2025-01-01 UTC', '2030-01-01 UTC', 'default')));
INSERT INTO checked VALUES (uid_min('2026-11-22', 'default'));
INSERT INTO checked VALUES (uid_min('2030-01-01', 'default'));
\echo :LAST_ERROR_SQLSTATE

-- BRIN: a small index for a large table
CREATE TABLE line (id bigint NOT NULL, body text);
INSERT INTO line SELECT uid_min(t), repeat('.', 100) FROM generate_series(timestamptz '2030-01-01', '2030-01-31', '30 s') AS t;
CREATE INDEX line_brin ON line USING brin (id) WITH (pages_per_range = 16);
ANALYZE line;
EXPLAIN (COSTS OFF) SELECT count(*) FROM line WHERE uid_between(id, '2030-01-03 12:00', '2030-01-03 13:00');
SELECT count(*) FROM line WHERE uid_between(id, '2030-01-03 12:00', '2030-01-03 13:00');
SELECT pg_relation_size('line_brin') * 50 < pg_relation_size('line') AS small;
DROP TABLE event, mark, line;

--
-- Partitions
--

\set SHOW_CONTEXT never
-- The times of a statement, which has numbers
CREATE FUNCTION pg_temp.times(statement text, layout text DEFAULT 'default',
	OUT partition text, OUT "from" timestamptz, OUT "to" timestamptz) RETURNS SETOF record LANGUAGE sql
AS $$SELECT substring(statement, 'TABLE (.*) [(]LIKE '), uid_timestamp(substring(statement, 'FROM \((\d+)')::bigint, layout),
	uid_timestamp(substring(statement, 'TO \((\d+)')::bigint, layout) WHERE statement LIKE 'CREATE TABLE %'$$;
CREATE TABLE event (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);

-- The statements, and nothing else
SELECT * FROM uid_partitions('event', '2026-11-22', '2026-11-24', '1 day', false, 'default');
SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass;
-- or run as well; a later call adds what is missing.
SELECT * FROM uid_partitions('event', '2026-11-22', '2026-11-24', '1 day', true, 'default');
SELECT * FROM uid_partitions('event', '2026-11-22', '2026-11-24', '1 day', true, 'default');
ALTER TABLE event_2026_11_23 RENAME TO the_first;
SELECT * FROM uid_partitions('event', '2026-11-23 15:00', '2026-11-24 15:00', '1 day', true, 'default');
SELECT relid, pg_get_expr(relpartbound, relid) AS bound FROM pg_partition_tree('event') JOIN pg_class ON oid = relid WHERE level = 1 ORDER BY 2;
-- What overlaps with others is an error that names them, and nothing is made.
SELECT * FROM uid_partitions('event', '2026-11-24', '2026-12-15', '1 month', true, 'default');
\echo :LAST_ERROR_SQLSTATE
SET timezone = 'Asia/Tokyo';
SELECT * FROM uid_partitions('event', '2026-11-25', '2026-11-27', '1 day', true, 'default');
\echo :LAST_ERROR_SQLSTATE
SET timezone = 'UTC';
SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass;
-- Rows in the default partition that belong into a new one
CREATE TABLE event_default PARTITION OF event DEFAULT;
INSERT INTO event VALUES (uid_min('2026-12-01 12:00', 'default'));
SELECT * FROM uid_partitions('event', '2026-11-30', '2026-12-02', '1 day', true, 'default');
\echo :LAST_ERROR_SQLSTATE

-- The way out is the page's.
BEGIN;
ALTER TABLE event DETACH PARTITION event_default;
SELECT count(*) FROM uid_partitions('event', '2026-11-30', '2026-12-02', '1 day', true, 'default');
WITH moved AS (DELETE FROM event_default WHERE id >= uid_min('2026-11-30', 'default') AND id < uid_min('2026-12-02', 'default') RETURNING *) INSERT INTO event SELECT * FROM moved;
ALTER TABLE event ATTACH PARTITION event_default DEFAULT;
SELECT tableoid::regclass, count(*) FROM event GROUP BY 1;
ROLLBACK;
-- A name that is taken: by the same time in another layout, by a table, by a type
CREATE TABLE named (id bigint) PARTITION BY RANGE (id);
SELECT * FROM uid_partitions('named', '2026-11-22', '2026-11-23', '1 day', true, 'default');
SELECT * FROM uid_partitions('named', '2026-11-22', '2026-11-23', '1 day', true, 'default epoch:2015-01-01');
CREATE TABLE named_2026_11_23 (); CREATE TYPE named_2026_11_23_2 AS ENUM ();
SELECT * FROM uid_partitions('named', '2026-11-22', '2026-11-24', '1 day', true, 'default');
DROP TABLE named, named_2026_11_23;
DROP TYPE named_2026_11_23_2;

-- Steps have fixed places in the calendar, whatever "from" is.
CREATE TABLE plain (id bigint) PARTITION BY RANGE (id);
SELECT step, t.*
FROM unnest('{1 minute, 90 minutes, 1 hour, 6 hours, 1 day, 36 hours, 1 week, 1 month, 3 months, 1 year, 10 years}'::interval[]) WITH ORDINALITY AS i (step, n),
	uid_partitions('plain', '2026-11-22 15:17:30', '2026-11-22 15:17:31', step, false, 'default') AS s, pg_temp.times(s) AS t
ORDER BY n;
-- They cover what was asked for, one by one.
SELECT step, count(*), min("from") <= '2026-11-22 15:17:30' AND max("to") >= '2027-01-03 12:00' AS cover,
	bool_and("from" = before OR before IS NULL) AS meet, count(DISTINCT partition) AS names
FROM (SELECT step, t.*, lag("to") OVER (PARTITION BY step ORDER BY "from") AS before
	FROM unnest('{20 minutes, 5 hours, 1 day, 36 hours, 10 days, 1 month, 5 months, 1 year}'::interval[]) AS step,
		uid_partitions('plain', '2026-11-22 15:17:30', '2027-01-03 12:00', step, false, 'default') AS s, pg_temp.times(s) AS t) AS u
GROUP BY step ORDER BY step;
-- By the session's time zone: where clocks are set forward there is a step less, or a shorter one;
-- where they are set back a longer one.  Names stay different.
SET timezone = 'Europe/Berlin';
SELECT t.* FROM uid_partitions('plain', '2026-03-29 01:00', '2026-03-29 04:00', '1 hour', false, 'default') AS s, pg_temp.times(s) AS t;
SELECT t.* FROM uid_partitions('plain', '2026-03-29 01:30', '2026-03-29 03:30', '30 min', false, 'default') AS s, pg_temp.times(s) AS t;
SELECT t.* FROM uid_partitions('plain', '2026-03-29 00:00', '2026-03-29 05:00', '2 hours', false, 'default') AS s, pg_temp.times(s) AS t;
SELECT t.* FROM uid_partitions('plain', '2026-10-25 01:00', '2026-10-25 04:00', '1 hour', false, 'default') AS s, pg_temp.times(s) AS t;
-- ... from the first of the two hours from 2 to 3 on
SELECT t.* FROM uid_partitions('plain', '2026-10-25 00:10 UTC', '2026-10-25 01:10 UTC', '30 min', false, 'default') AS s, pg_temp.times(s) AS t;
SELECT t.* FROM uid_partitions('plain', '2026-10-24', '2026-10-26', '1 day', false, 'default') AS s, pg_temp.times(s) AS t;
SELECT t.* FROM uid_partitions('plain', '2026-10-01', '2026-11-30', '1 month', false, 'default') AS s, pg_temp.times(s) AS t;
-- A day without midnight, and a day that was left out
SET timezone = 'America/Sao_Paulo';
SELECT t.* FROM uid_partitions('plain', '2017-10-14', '2017-10-16', '1 day', false, 'twitter') AS s, pg_temp.times(s, 'twitter') AS t;
SET timezone = 'Pacific/Apia';
SELECT t.* FROM uid_partitions('plain', '2011-12-29', '2012-01-01', '1 day', false, 'twitter') AS s, pg_temp.times(s, 'twitter') AS t;
SET timezone = 'UTC';

-- The layout's ends are those of the first and the last partition.
SELECT s FROM uid_partitions('plain', '2000-01-01', '2026-01-01', '1 year', false, 'default') AS s;
SELECT s FROM uid_partitions('plain', '2094-01-01', '3000-01-01', '1 year', false, 'default') AS s;
SELECT count(*) FROM uid_partitions('plain', '0001-01-01', '2026-01-01', '1 day', false, 'default');
-- Ticks of an hour: a step begins with a tick.
SELECT s FROM uid_partitions('plain', '2026-11-22', '2026-11-22 03:00', '90 min', false, 'time:30:3600s worker:10 epoch:2025-01-01') AS s;

-- Names: quoted, in the schema of the table, and cut where they would be too long, so that
-- tables of different names have partitions of different names.
CREATE SCHEMA "Odd ""schema";
CREATE TABLE "Odd ""schema"."My %I Table" (id bigint) PARTITION BY RANGE (id);
SELECT * FROM uid_partitions('"Odd ""schema"."My %I Table"', '2026-11-22', '2026-11-23', '1 day', true, 'default');
SELECT relid FROM pg_partition_tree('"Odd ""schema"."My %I Table"') WHERE isleaf;
SELECT repeat('x', 61) || 'a' AS long_a, repeat('x', 61) || 'b' AS long_b, repeat('é', 31) AS wide, repeat('y', 51) AS fits \gset
CREATE TABLE :"long_a" (id bigint) PARTITION BY RANGE (id);
CREATE TABLE :"long_b" (id bigint) PARTITION BY RANGE (id);
CREATE TABLE :"wide" (id bigint) PARTITION BY RANGE (id);
CREATE TABLE :"fits" (id bigint) PARTITION BY RANGE (id);
SELECT count(*) FROM unnest(ARRAY[:'long_a', :'long_b', :'wide', :'fits']::regclass[]) AS t, uid_partitions(t, '2026-11-22', '2026-11-24', '1 day', true, 'default');
-- In an encoding of single bytes the first byte of a wide letter is none.
SELECT CASE WHEN left(relname, 1) IN ('x', 'y') THEN left(relname, 1) ELSE 'wide' END AS "table", count(*), max(octet_length(relname)) AS longest, min(right(relname, 11)) AS "from", max(right(relname, 11)) AS "to",
	bool_or(relname = :'fits' || '_2026_11_22') AS whole
FROM pg_class JOIN pg_inherits ON inhrelid = oid
WHERE inhparent = ANY (ARRAY[:'long_a', :'long_b', :'wide', :'fits']::regclass[])
GROUP BY 1 ORDER BY max(relname) COLLATE "C";
-- So many that the names of their array types could not all be told apart by underscores
CREATE TABLE invoices_of_the_northern_sales_region_by_customer_group_2026 (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('invoices_of_the_northern_sales_region_by_customer_group_2026', '2026-01-01', '2034-05-01', '1 month', true, 'default');
DROP TABLE invoices_of_the_northern_sales_region_by_customer_group_2026;

-- A temporary table, and one whose name another schema has first
CREATE TEMP TABLE event (id bigint) PARTITION BY RANGE (id);
SELECT * FROM uid_partitions('event', '2026-11-22', '2026-11-23', '1 day', true, 'default');
SELECT * FROM uid_partitions('public.event', '2026-11-22', '2026-11-23', '1 day', false, 'default');
DROP TABLE pg_temp.event;

-- By the server's layout
CREATE TABLE own (id bigint DEFAULT uid_next()) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('own', now(), now() + interval '2 hours', '1 hour', true);
INSERT INTO own VALUES (DEFAULT);
SELECT count(*) FROM own WHERE uid_between(id, now() - interval '1 minute', NULL);
DROP TABLE own;

-- Statements are for the owner.
CREATE ROLE regress_uidgen_ranges;
SET ROLE regress_uidgen_ranges;
\set VERBOSITY sqlstate
SELECT count(*) FROM uid_partitions('event', '2027-11-22', '2027-11-23', '1 day', false, 'default');
SELECT count(*) FROM uid_partitions('event', '2027-11-22', '2027-11-23', '1 day', true, 'default');
\set VERBOSITY default
SELECT uid_between(uid_next(), NULL, now() + interval '1 day'), uid_range(NULL, NULL);
RESET ROLE;
DROP ROLE regress_uidgen_ranges;

-- What is refused
SELECT uid_partitions('pg_class', '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('the_first', '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions(1::regclass, '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
CREATE TEMP TABLE by_hash (id bigint) PARTITION BY HASH (id);
SELECT uid_partitions('by_hash', '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
CREATE TEMP TABLE by_two (id bigint, part int) PARTITION BY RANGE (id, part);
SELECT uid_partitions('by_two', '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
CREATE TEMP TABLE by_integer (id integer) PARTITION BY RANGE (id);
SELECT uid_partitions('by_integer', '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
CREATE TEMP TABLE by_expression (id bigint) PARTITION BY RANGE ((id / 2));
SELECT uid_partitions('by_expression', '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-23', '2026-11-22', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-22', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', 'infinity', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '0');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '-1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 ms');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '100000 years');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 month 1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 month -1 hour');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2036-11-23', '1 hour', false, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '30 min', false, 'time:30:3600s worker:10 epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2000-01-01', '2025-01-01', '1 year', false, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2100-01-01', '2101-01-01', '1 year', false, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 day', false, 'seata');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 day', false, 'twetter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions(NULL, '2026-11-22', '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', NULL, '2026-11-23', '1 day');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 day', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_partitions('event', '2026-11-22', '2026-11-23', '1 day', false, NULL);
\echo :LAST_ERROR_SQLSTATE

DROP TABLE event, plain, :"long_a", :"long_b", :"wide", :"fits";
DROP SCHEMA "Odd ""schema" CASCADE;

--
-- uid_time_expression(): the time without a function of uidgen
--

SELECT p.name, uid_time_expression('id', p.name) FROM uidgen.presets AS p WHERE p.name IN ('default', 'js53', 'twitter', 'sonyflake', 'seata', 'mastodon', 'cockroachdb');
SELECT uid_time_expression('id', l) FROM unnest('{time:40:1us sequence:10 epoch:2025-01-01T08:00:00.5+08:00, zero:3 time:30:1500us worker:8 epoch:1969-12-31T23:59:59.999999,
	tag:7 sequence:3 time:31:1s epoch:2020-02-03T04:00:00, time:44:1s worker:20 epoch:1970-01-01T00:00:10}'::text[]) AS l;
-- The server's layout; what is written is a name, whatever it is.
SELECT uid_time_expression() = uid_time_expression('id', layout) AS same, uid_time_expression('ID") + (', 'js53'), uid_time_expression(NULL, 'js53') FROM uid_layout_info();
SELECT uid_time_expression('id', 'time:41:1ms');
\echo :LAST_ERROR_SQLSTATE
-- It is uid_timestamp(), for each layout and in each time zone: of ids of the first 285 years, with all other bits at random.
CREATE FUNCTION wrong_times(layout text, zone text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
BEGIN
	PERFORM set_config('timezone', zone, false);
	EXECUTE format('SELECT count(*) FILTER (WHERE %s IS DISTINCT FROM uid_timestamp(id, $1)) + 300 - count(*)
		FROM (SELECT (mod(hashint8extended(k, 1) & 9223372036854775807, least(n.max_tick, 9000000000000000 / n.unit)) << t.shift)
				| (hashint8extended(k, 2) & (SELECT bit_or(f.maximum << f.shift) FROM uid_layout($1) AS f WHERE f.name <> ''time'')) AS id
			FROM uidgen.layout_numbers($1) AS n, uid_layout($1) AS t, generate_series(1, 300) AS k WHERE t.name = ''time'') AS ids', uid_time_expression('id', layout))
		INTO wrong USING layout;
	RETURN wrong;
END
$$;
SELECT z AS zone, sum(wrong_times(l, z)) FROM unnest('{UTC, America/Sao_Paulo, Pacific/Apia}'::text[]) AS z,
	(SELECT name FROM uidgen.presets UNION ALL SELECT * FROM unnest('{time:40:1us sequence:10 epoch:2025-01-01T08:00:00.5+08:00, zero:3 time:30:1500us worker:8 epoch:1969-12-31T23:59:59.999999,
	tag:7 sequence:3 time:31:1s epoch:2020-02-03T04:00:00, time:44:1s worker:20 epoch:1970-01-01T00:00:10, time:42:1ms sequence:22 epoch:1970-01-01}'::text[])) AS p (l)
	GROUP BY z ORDER BY z;
SET timezone = 'UTC';
-- It can be a column that is computed when it is read, where there are such columns; the index on it is one on the expression.
CREATE TABLE shown (id bigint PRIMARY KEY, body text);
SELECT format('ALTER TABLE shown ADD created_at timestamptz GENERATED ALWAYS AS (%s) %s', uid_time_expression('id', 'default'),
	CASE WHEN current_setting('server_version_num')::integer >= 180000 THEN 'VIRTUAL' ELSE 'STORED' END) AS statement \gset
:statement;
INSERT INTO shown VALUES (250088872058847232);
SELECT *, created_at = uid_timestamp(id, 'default') AS same FROM shown;
SELECT format('CREATE INDEX shown_time ON shown ((%s))', uid_time_expression('id', 'default')) AS statement \gset
:statement;
SET enable_seqscan = off;
CREATE VIEW shown_view AS SELECT id, (timestamp '2025-01-01' + (id >> 22) * interval '1 ms') AT TIME ZONE 'UTC' AS created_at FROM shown;
EXPLAIN (COSTS OFF) SELECT id FROM shown_view WHERE created_at > '2026-11-22';
RESET enable_seqscan;
DROP VIEW shown_view;
DROP TABLE shown;
DROP FUNCTION wrong_times;
