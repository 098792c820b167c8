-- The registry's database first, then this one; where they are not the same,
-- CREATE EXTENSION says so.
SELECT current_database() AS regression_database,
	coalesce(current_setting('uidgen.database', true), 'postgres') AS registry_database \gset
\set VERBOSITY terse
\c :"registry_database"
SELECT NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'uidgen') AS made_by_us \gset
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen;
-- The keeper is at work when the next one asks it, also on a slow machine.
SELECT uid_next() > 0 AS works;
-- The layout was pinned with the numbers that a shared registry would be given.
SELECT (n.layout, n.unit, n.epoch, n.max_tick, n.max_datacenter, n.max_worker) = (r.layout, r.unit, r.epoch, r.max_tick, r.max_datacenter, r.max_worker) AS same
FROM uidgen.layout_numbers() AS n, uidgen.registry_layout AS r;
\c :"regression_database"
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen;
-- for leave.sql
CREATE TABLE installed AS SELECT :'made_by_us'::boolean AS made_by_us;

SELECT uid_next() > 0 AS works;

-- uid_* are where CREATE EXTENSION puts them, the rest is in schema uidgen.
SELECT extnamespace::regnamespace, extrelocatable
FROM pg_extension WHERE extname = 'uidgen';
ALTER EXTENSION uidgen SET SCHEMA pg_catalog;

BEGIN;
DROP EXTENSION uidgen;
SELECT 'uidgen' AS left_over FROM pg_namespace WHERE nspname = 'uidgen'
UNION ALL SELECT oid::regprocedure::text FROM pg_proc WHERE proname LIKE 'uid\_%';
CREATE SCHEMA elsewhere;
CREATE EXTENSION uidgen SCHEMA elsewhere;
SELECT to_regprocedure('uid_next()') IS NULL AS only_there, elsewhere.uid_next() > 0 AS works;
SELECT elsewhere.uid_next(0) > 0 AS works;
SELECT count(*) FROM elsewhere.uid_next_batch(3);
SELECT elsewhere.uid_min('2026-01-01 UTC', 'default') > 0 AS works;
SELECT state FROM uidgen.status;
-- Functions in SQL find the others when that schema is renamed, and whatever the caller's
-- search_path finds first.
CREATE FUNCTION elsewhere.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR elsewhere.>= (FUNCTION = elsewhere.never, LEFTARG = bigint, RIGHTARG = bigint);
ALTER SCHEMA elsewhere RENAME TO moved;
SET LOCAL search_path = moved, pg_catalog;
SELECT 2::bigint >= 1::bigint AS as_usual, uid_between(uid_min('2030-01-01'), '2030-01-01', '2030-01-02') AS works,
	uid_range('2030-01-01', '2030-01-02') = int8range(uid_min('2030-01-01'), uid_min('2030-01-02')) AS works;
CREATE TABLE moved.event (id bigint) PARTITION BY RANGE (id);
SELECT count(*) FROM uid_partitions('event', '2030-01-01', '2030-01-03', '1 day', true);
SELECT count(*) FROM uid_partitions('event', '2030-01-01', '2030-01-04', '1 day');
ROLLBACK;

-- A schema of somebody else's is not taken over.
BEGIN;
DROP EXTENSION uidgen;
CREATE SCHEMA uidgen;
CREATE EXTENSION uidgen;
ROLLBACK;

SELECT uid_next() > 0 AS works;
