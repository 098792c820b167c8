-- Layouts: the grammar, its errors, the canonical form, the presets.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';

-- The presets
\pset format unaligned
SELECT * FROM uidgen.presets;
SELECT p.name, i.bits, i.unit, i.epoch, i.expires_at, i.workers, i.ids_per_second, i.fits_in_53_bits
FROM uidgen.presets AS p, uid_layout_info(p.name) AS i;
-- They are written in canonical form.
SELECT p.name, p.layout, i.layout AS canonical
FROM uidgen.presets AS p, uid_layout_info(p.name) AS i
WHERE p.layout IS DISTINCT FROM i.layout;
SELECT string_agg(l.name || ' ' || l.bits || '<<' || l.shift, ', ' ORDER BY l.shift DESC) AS fields,
	string_agg(p.name, ' ') FILTER (WHERE l.shift = 0) AS preset
FROM uidgen.presets AS p, uid_layout(p.name) AS l
GROUP BY p.name ORDER BY p.name COLLATE "C";

-- Fields, most significant first
\pset format aligned
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

-- The canonical form
SELECT given, i.layout AS canonical
FROM unnest(ARRAY[
	'default',
	'twitter epoch:2026-01-01',
	'twitter  sequence:10   worker:7',
	'sequence:12 worker:10 time:41:1ms epoch:2025-01-01',
	'epoch:2025-01-01 time:41:1ms worker:10 sequence:12',
	E'\t time:41:1ms\nworker:10\r\nsequence:12 epoch:2025-01-01 \n',
	'Twitter EPOCH:2026-01-01',
	'TIME:41:1MS Worker:3 sequencE:9 epoch:2025-01-01t00:00z',
	'JS53MS time:40:1uS',
	'time:41:1000us epoch:2025-01-01',
	'time:41:1000000us epoch:2025-01-01',
	'time:41:1000ms epoch:2025-01-01',
	'time:41:1500ms epoch:2025-01-01',
	'time:41:1500us epoch:2025-01-01',
	'time:41:60s epoch:2025-01-01',
	'time:041:01ms epoch:2025-01-01',
	'zero:1 time:41:1ms sequence:12 epoch:2025-01-01',
	'zero:1 time:41:1ms sequence:22 epoch:2025-01-01',
	'time:41:1ms zero:1 sequence:12 epoch:2025-01-01',
	'time:41:1ms sequence:12 zero:10 epoch:2025-01-01',
	'time:41:1ms epoch:2025-01-01T00:00',
	'time:41:1ms epoch:2025-01-01T00:00:00.000000Z',
	'time:41:1ms epoch:2025-01-01T08:00:00+08:00',
	'time:41:1ms epoch:2025-01-01T08:00+0800',
	'time:41:1ms epoch:2024-12-31T16:00-08',
	'time:41:1ms epoch:2025-01-01T00:00:00.1Z',
	'time:41:1ms epoch:2025-01-01T00:00:00.120Z',
	'time:41:1ms epoch:2025-01-01T00:00:00.000001',
	'time:41:1ms epoch:2025-03-01T00:30+01:00',
	'time:41:1ms epoch:2024-02-29T23:59:59.999999Z',
	'time:41:1ms epoch:1969-12-31T23:59:59.999Z',
	'time:41:1ms epoch:0001-01-01',
	'time:41:1ms epoch:9999-12-31T23:59:59.999999Z']) WITH ORDINALITY AS g (given, n),
	uid_layout_info(given) AS i
ORDER BY n;
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

-- All that may be wrong
CREATE FUNCTION pg_temp.refusal(layout text, OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM uid_layout_info(layout);
	code := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;
CREATE TEMP TABLE refused AS
SELECT n, r.* FROM unnest(ARRAY[
	'', ' ', E'\n',
	-- names
	'foo', 'Defalt', 'default worker:11 foo', 'foo worker:10', 'worker:10 default',
	'Tim:41:1ms epoch:2025-01-01', ':41', 'time', 'default time', 'default,worker:11',
	'default node:10', 'default epoch', 'default layout:default',
	-- bits
	'default worker:', 'default worker:0', 'default worker:32', 'default worker:-1', 'default worker:+1',
	'default worker:1x', 'default worker:10:1ms', 'default worker:99999999999999999999',
	'default sequence:0', 'default time:0:1ms', 'default time:64:1ms', 'zero:32 time:30:1s epoch:2025-01-01',
	'default worker:20', 'time:63:1ms worker:2 epoch:2025-01-01', 'time:63:1ms zero:2 epoch:2025-01-01',
	'time:40:1ms datacenter:31 worker:31 tag:31 sequence:31 zero:31 epoch:2025-01-01',
	-- units
	'default time:41', 'default time:41:', 'default time:41:1', 'default time:41:ms', 'default time:41:0ms',
	'default time:41:1m', 'default time:41:1min', 'default time:41:1h', 'default time:41:1ns', 'default time:41:1MSS',
	'default time:41:-1ms', 'default time:41:1.5ms', 'default time:41:1ms:1', 'default time:41:3601s',
	'default time:41:3600001ms', 'default time:41:3600000001us', 'default time:41:99999999999999999999us',
	-- twice, or missing
	'default worker:11 worker:11', 'default epoch:2025-01-01 epoch:2025-01-01', 'time:20:1s time:20:1s epoch:2025-01-01',
	'default datacenter:5', 'mastodon worker:2', 'worker:10 sequence:12 epoch:2025-01-01', 'time:41:1ms worker:10',
	'epoch:2025-01-01',
	-- epochs
	'default epoch:', 'default epoch:now', 'default epoch:2025', 'default epoch:2025-1-1', 'default epoch:2025-13-01',
	'default epoch:2025-00-01', 'default epoch:2025-02-29', 'default epoch:1900-02-29', 'default epoch:2025-04-31',
	'default epoch:2025-01-00', 'default epoch:0000-01-01', 'default epoch:-2025-01-01', 'default epoch:10000-01-01',
	'default epoch:2025-01-01Z', 'default epoch:2025-01-01T', 'default epoch:2025-01-01T24:00', 'default epoch:2025-01-01T00',
	'default epoch:2025-01-01T00:60', 'default epoch:2025-01-01T00:00:60', 'default epoch:2025-01-01T00:00:00.',
	'default epoch:2025-01-01T00:00:00.1234567', 'default epoch:2025-01-01tT00:00', 'default epoch:2025-01-01T00:00zz',
	'default epoch:2025-01-01T00:00+', 'default epoch:2025-01-01T00:00+8', 'default epoch:2025-01-01T00:00+16:00',
	'default epoch:2025-01-01T00:00+08:60', 'default epoch:2025-01-01T00:00+08:00:00', 'default epoch:2025-01-01T00:00 UTC',
	'default epoch:2025/01/01', 'default epoch:2025-01-01 12:00', 'default epoch:0001-01-01T00:00+01:00',
	'default epoch:9999-12-31T23:00-01:00', 'default epoch:1735689600',
	-- long items are cut
	repeat('x', 60), repeat('x', 61), repeat('x:', 5000)
	]) WITH ORDINALITY AS g (given, n), pg_temp.refusal(given) AS r;
\pset format unaligned
SELECT detail FROM refused ORDER BY n;
SELECT code, message, hint, count(*) FROM refused GROUP BY 1, 2, 3 ORDER BY min(n);
\pset format aligned

-- With all 64 bits ids may be negative: for decoding only.
SELECT p.name FROM uidgen.presets AS p, uid_layout_info(p.name) AS i WHERE i.bits = 64;
