-- The registry's database first, then this one; where they are not the same,
-- CREATE EXTENSION says so.
SELECT current_database() AS regression_database,
	current_setting('uidgen.database') AS registry_database \gset
\set VERBOSITY terse
\c :"registry_database"
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen;
-- The keeper is at work when the next one asks it, also on a slow machine.
SELECT uid_next() > 0 AS works;
\c :"regression_database"
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS uidgen;

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
ROLLBACK;

-- A schema of somebody else's is not taken over.
BEGIN;
DROP EXTENSION uidgen;
CREATE SCHEMA uidgen;
CREATE EXTENSION uidgen;
ROLLBACK;

SELECT uid_next() > 0 AS works;
