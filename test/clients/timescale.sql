-- timescale.sql: TimescaleDB, as docs/applications.md has it.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION timescaledb;
RESET client_min_messages;
\o /dev/null
--page
INSERT INTO event (id, body) SELECT uid_make(now() - n * interval '1 day', 0, 0), 'old' FROM generate_series(0, 40) AS n;
INSERT INTO event (body) VALUES ('new');
\pset tuples_only on
\o
--page
\o /dev/null
--page
\o
\pset format unaligned
SELECT CASE WHEN count(*) BETWEEN 31 AND 32 THEN 'ok' ELSE 'not ok' END || ' - a chunk is a day, and old ones are dropped by their ids'
FROM timescaledb_information.chunks WHERE hypertable_name = 'event';
SELECT CASE WHEN range_start_integer = uid_min(date_trunc('day', uid_timestamp((SELECT max(id) FROM event)), 'UTC')) THEN 'ok' ELSE 'not ok' END || ' - a day begins at midnight, UTC'
FROM timescaledb_information.chunks WHERE hypertable_name = 'event' ORDER BY range_start_integer DESC LIMIT 1;

\o /dev/null
CREATE FUNCTION id_time(bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN uid_timestamp($1, 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01');
CREATE TABLE reading (id bigint PRIMARY KEY DEFAULT uid_next(), body text);
SELECT create_hypertable('reading', by_range('id', interval '1 day', partition_func => 'id_time'));
INSERT INTO reading (id, body) SELECT uid_make(now() - n * interval '1 day', 0, 0), 'old' FROM generate_series(0, 40) AS n;
SELECT drop_chunks('reading', now() - interval '30 days');
\o
SELECT CASE WHEN count(*) BETWEEN 31 AND 32 THEN 'ok' ELSE 'not ok' END || ' - with time_partitioning_func, old ones are dropped by their times'
FROM timescaledb_information.chunks WHERE hypertable_name = 'reading';

-- How many chunks does a query read?
CREATE FUNCTION chunks_read(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	line text;
	chunks bigint := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		chunks := chunks + (line ~ 'Scan.* on _hyper')::integer - (line ~ 'Bitmap Index Scan on _hyper')::integer;
	END LOOP;
	RETURN chunks;
END $$;
SELECT CASE WHEN chunks_read($$SELECT * FROM event WHERE uid_between(id, now() - interval '1 day', NULL)$$) <= 2 THEN 'ok' ELSE 'not ok' END
	|| ' - by id, a query of a day reads its chunks';
SELECT CASE WHEN chunks_read($$SELECT * FROM reading WHERE id_time(id) >= now() - interval '1 day'$$) <= 2 THEN 'ok' ELSE 'not ok' END
	|| ' - by the function, so does one that names it';
SELECT CASE WHEN chunks_read($$SELECT * FROM reading WHERE uid_between(id, now() - interval '1 day', NULL)$$) > 30 THEN 'ok' ELSE 'not ok' END
	|| ' - ... and one by id reads all';
