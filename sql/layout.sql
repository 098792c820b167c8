-- Layouts: the grammar, its errors, the canonical form, the presets; sql/vectors.sql has more of them.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';

-- Fields, most significant first
SELECT * FROM uid_layout('default');
SELECT * FROM uid_layout('worker:31 zero:2 time:20:1s sequence:9 epoch:2025-01-01T12:30:00.5Z');
SELECT * FROM uid_layout('time:63:1us epoch:1970-01-01');
SELECT * FROM uid_layout('tag:4 datacenter:31 time:29:1500us epoch:2000-02-29');
SELECT name, bits, shift, maximum FROM uid_layout('time:33:1us tag:31 epoch:2000-01-01');
-- Units are told exactly, and in plain digits.
SELECT unit, meaning
FROM unnest(ARRAY['1us', '10us', '999us', '1ms', '1234567us', '59999999us', '60s', '3599999ms', '3600s']) AS unit,
	uid_layout('time:41:' || unit || ' epoch:2025-01-01') AS f,
	LATERAL (SELECT (uid_layout_info('time:41:' || unit || ' epoch:2025-01-01')).unit AS length) AS i,
	LATERAL (SELECT regexp_match(meaning, '^ticks of ([0-9.]+) ?(us|ms|s) since 2025-01-01$') AS m) AS r
WHERE (m[1] || m[2])::interval IS DISTINCT FROM length;

-- Columns of the pieces
SELECT (uid_layout_info('js53')).*;
SELECT (uid_layout_info('js53ms')).*;
SELECT pg_typeof(unit) AS unit, pg_typeof(workers) AS workers, pg_typeof(expires_at) AS expires_at
FROM uid_layout_info('default');
SELECT (uid_layout('sonyflake')).name;
-- Strict
SELECT uid_layout_info(NULL) IS NULL AS is_null, (SELECT count(*) FROM uid_layout(NULL)) AS fields;

-- Capacity and lifetime
SELECT layout, bits, unit, workers, ids_per_second, expires_at, fits_in_53_bits
FROM unnest(ARRAY[
	'time:41:1ms sequence:12 epoch:2025-01-01',			-- no worker: one
	'time:33:1ms datacenter:30 epoch:2025-01-01',
	'time:41:7ms datacenter:3 worker:4 sequence:1 epoch:2025-01-01',	-- rounded down
	'time:22:3600s worker:10 datacenter:1 sequence:31 epoch:2025-01-01',
	'time:20:1s epoch:2025-01-01',
	'time:1:1us epoch:2025-01-01',
	'time:32:1us sequence:31 epoch:2025-01-01',
	'time:53:1ms epoch:1970-01-01',						-- 53 bits
	'time:54:1us epoch:1970-01-01',
	'time:33:1s datacenter:31 epoch:2025-01-01',			-- 64 bits: negative ids do not count
	'time:63:1us epoch:1970-01-01',						-- beyond PostgreSQL's time
	'time:63:3600s epoch:9999-12-31',
	'time:10:1s epoch:9999-12-31T23:59:59Z',
	'worker:31 datacenter:31 time:2:1s epoch:0001-01-01']) AS given,
	uid_layout_info(given) AS i;

-- The canonical form, with blanks of all kinds
SELECT layout FROM uid_layout_info(E'\t time:41:1ms\nworker:10\r\nsequence:12 epoch:2025-01-01 \n');
-- Written out and read again, nothing changes.
SELECT p.name FROM uidgen.presets AS p, uid_layout_info(p.name) AS once, uid_layout_info(once.layout) AS twice
WHERE once IS DISTINCT FROM twice;

-- What is wrong, as the caller sees it
SELECT uid_layout_info('');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_layout('time:41:1ms workers:10 epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_timestamp(1, 'twiter');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_parse(1, 'time:41:1ms worker:10 worker:10 epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_min('2026-01-01 UTC', 'time:41:1ms epoch:01.01.2025');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_max('2026-01-01 UTC', 'time:41:1ms');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 1, 1, 1, 1, 'time:41 epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
-- Strict: the layout is not even looked at.
SELECT uid_timestamp(NULL, 'twiter') IS NULL AS is_null;

-- Each kind of error, with its hint; test/unit/test_layout.c has more.
DO $$
DECLARE
	given text;
	detail text;
	hint text;
BEGIN
	FOREACH given IN ARRAY ARRAY[E'\n', 'default,worker:11', 'default worker:32', 'default worker:10:1ms', 'default time:41:3601s', 'default worker:11 worker:11',
		'default epoch:2025-01-01 epoch:2025-01-01', 'default datacenter:5', 'worker:10 epoch:2025-01-01', 'default worker:20', 'default epoch:2025-02-29', repeat('x', 60), repeat('x:', 5000)] LOOP
		BEGIN
			PERFORM uid_layout_info(given);
		EXCEPTION WHEN invalid_parameter_value THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			RAISE INFO '% %', detail, hint;
		END;
	END LOOP;
END $$;
