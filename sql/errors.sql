-- What is refused, and how.  Where the text depends on the server's layout, only
-- the SQLSTATE is shown.
\set SHOW_CONTEXT never

-- Null is a mistake, not a null id.
SELECT uid_next(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_next_batch(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_next_batch(1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_next_block(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_next_block(1, NULL);
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
SELECT * FROM uid_next_batch(1, :tag_beyond);
SELECT * FROM uid_next_batch(0, :tag_beyond);
SELECT * FROM uid_next_batch(1, -1);
SELECT * FROM uid_next_block(1, :tag_beyond);
SELECT * FROM uid_next_block(1, -1);
SELECT * FROM uid_next_block(0);
SELECT * FROM uid_next_block(-2147483648);
SELECT * FROM uid_next_block(:n_beyond);
SELECT uid_make('2026-01-01 UTC', :worker_beyond, 0);
SELECT uid_make('2026-01-01 UTC', 0, :sequence_beyond);
SELECT uid_make('2026-01-01 UTC', 0, 0, :datacenter_beyond);
SELECT uid_make('2026-01-01 UTC', 0, 0, 0, :tag_beyond);
SELECT * FROM uid_parse(-1);
SELECT uid_timestamp(-1);
SELECT uid_min('0001-01-01 BC UTC');
SELECT uid_max('290000-01-01 UTC');
SELECT uid_make('0001-01-01 BC UTC', 0, 0);
\set VERBOSITY default

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
\set VERBOSITY sqlstate
ALTER SYSTEM SET uidgen.layout = '';
ALTER SYSTEM SET uidgen.worker_policy = 'borrow';
ALTER SYSTEM SET uidgen.sequence_start = 'one';
ALTER SYSTEM SET uidgen."window" = 0;
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
-- Nor may a typing error be taken for a setting.
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
TRUNCATE uidgen.worker_node;
\echo :LAST_ERROR_SQLSTATE
TRUNCATE uidgen.registry_layout;
\echo :LAST_ERROR_SQLSTATE
TRUNCATE uidgen.registry_layout, uidgen.worker_node CASCADE;
\echo :LAST_ERROR_SQLSTATE
-- Rows that come by replication are dropped, and drop nothing.
BEGIN;
DELETE FROM uidgen.registry_layout;
INSERT INTO uidgen.registry_layout VALUES (true, 'ours', 1, 0, 100, 0, 0, now(), 1);
DELETE FROM uidgen.worker_node;
INSERT INTO uidgen.worker_node (datacenter_id, worker_id, launch_date, created, modified, identity, granted_until, released, launches)
VALUES (0, 1, now(), now(), now(), 'ours', 10, false, 1);
SET LOCAL session_replication_role = replica;
INSERT INTO uidgen.worker_node (datacenter_id, worker_id, launch_date, created, modified, identity, granted_until, released, launches)
VALUES (0, 2, now(), now(), now(), 'theirs', 5, false, 1);
UPDATE uidgen.worker_node SET granted_until = 5, identity = 'theirs';
DELETE FROM uidgen.worker_node;
UPDATE uidgen.registry_layout SET layout = 'theirs';
DELETE FROM uidgen.registry_layout;
INSERT INTO uidgen.registry_layout VALUES (false, 'theirs', 1, 0, 100, 0, 0, now(), 1);
SET LOCAL session_replication_role = origin;
SELECT worker_id, identity, granted_until FROM uidgen.worker_node;
SELECT layout FROM uidgen.registry_layout;
ROLLBACK;

-- A worker id that is not there cannot be forgotten.
BEGIN;
DELETE FROM uidgen.worker_node;
SAVEPOINT s;
SELECT uidgen.forget_worker(1023, 0);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT uidgen.forget_worker(-1, 31);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT uidgen.forget_worker(NULL, 0);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
