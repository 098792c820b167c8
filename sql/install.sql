-- This database, and the registry, which the first id makes in the database that it should be in.
SELECT current_database() AS regression_database,
	coalesce(current_setting('uidgen.database', true), 'postgres') AS registry_database \gset
\set VERBOSITY terse
\c :"registry_database"
SELECT NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'uidgen_registry') AS made_by_us \gset
\c :"regression_database"
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen;
SELECT uid_next() > 0 AS works;
SELECT extversion FROM pg_extension WHERE extname = 'uidgen' \gset
\c :"registry_database"
SELECT extversion = :'extversion' AS same, extnamespace::regnamespace, extrelocatable
FROM pg_extension WHERE extname = 'uidgen_registry';
SELECT layout, unit, epoch, max_tick, max_datacenter, max_worker FROM uidgen_registry.registry \gset
\c :"regression_database"
-- The layout was pinned with the numbers that a shared registry would be given.
SELECT (n.layout, n.unit, n.epoch, n.max_tick, n.max_datacenter, n.max_worker) = (:'layout', :unit, :epoch, :max_tick, :max_datacenter, :max_worker) AS same
FROM uidgen.layout_numbers() AS n;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen_tools;
-- What is called directly here, and serves nobody.
CREATE EXTENSION IF NOT EXISTS uidgen_registry;
-- for leave.sql
CREATE TABLE installed AS SELECT :'made_by_us'::boolean AS made_by_us;

SELECT uid_next() > 0 AS works;

-- uid_* are where CREATE EXTENSION puts them, the rest is in schema uidgen, and no DROP SCHEMA takes the registry along.
SELECT extnamespace::regnamespace, extrelocatable
FROM pg_extension WHERE extname = 'uidgen';
ALTER EXTENSION uidgen SET SCHEMA pg_catalog;

-- What needs it goes first.
DROP EXTENSION uidgen;
BEGIN;
DROP EXTENSION uidgen, uidgen_tools;
SELECT 'uidgen' AS left_over FROM pg_namespace WHERE nspname IN ('uidgen', 'uidgen_tools')
UNION ALL SELECT oid::regprocedure::text FROM pg_proc WHERE proname LIKE 'uid\_%';
CREATE SCHEMA elsewhere;
CREATE EXTENSION uidgen SCHEMA elsewhere;
CREATE EXTENSION uidgen_tools SCHEMA elsewhere;
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
DROP EXTENSION uidgen CASCADE;
CREATE SCHEMA uidgen;
CREATE EXTENSION uidgen;
ROLLBACK;
BEGIN;
SET LOCAL client_min_messages = error;	-- it may be in use
DROP EXTENSION uidgen_registry;
CREATE SCHEMA uidgen_registry;
CREATE EXTENSION uidgen_registry;
ROLLBACK;
CREATE EXTENSION uidgen_registry SCHEMA public;
BEGIN;
DROP EXTENSION uidgen_tools;
CREATE SCHEMA uidgen_tools;
CREATE EXTENSION uidgen_tools;
ROLLBACK;

SELECT uid_next() > 0 AS works;
