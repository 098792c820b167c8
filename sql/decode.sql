-- What ids say, under explicit layouts: nothing here depends on the server's.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- Ids that others published (test/unit/known-ids.tsv)
CREATE TEMP TABLE known (id bigint, layout text, "timestamp" timestamptz, datacenter int, worker int, tag int, sequence int, tolerance interval);
INSERT INTO known VALUES
	(1278735254782615552, 'twitter', '2020-07-02T17:00:17.149Z', 11, 2, NULL, 0, '0'),
	(1120596181019111426, 'mybatis-plus', '2019-04-23T07:52:03.882Z', 6, 27, NULL, 2, '1 day'),
	(180363646902239241, 'time:29:1s worker:21 sequence:13 epoch:2016-09-20', '2017-01-19T12:15:46Z', NULL, 4, NULL, 9, '0'),
	(175928847299117063, 'discord', '2016-04-30T11:18:25.796Z', NULL, 1, 0, 7, '0'),
	(103270115826048975, 'mastodon', '2019-12-08T03:48:33.849Z', NULL, NULL, NULL, 40911, '60 ms'),
	(84748203440664576, 'seata-2020', '2020-12-22T12:39:06.245Z', NULL, 751, NULL, NULL, '3 s'),
	(2207391485099498761, 'seata', '2025-03-11T06:26:21.629Z', NULL, 245, NULL, 3337, '0'),
	(136169504773242881, 'pgedge-2023', '2024-01-11T18:08:59.845Z', NULL, 1, NULL, 0, '0'),
	(148656994422095873, 'cockroachdb', '2016-06-09T01:48:34.411040Z', NULL, 1, NULL, NULL, '0'),
	(266241948824764416, 'discord', '2017-01-04T16:30:27.136Z', NULL, 1, 0, 0, '0');
SELECT k.layout, p.* FROM known AS k, uid_parse(k.id, k.layout) AS p ORDER BY p.id;
SELECT k.*, p.*
FROM known AS k, uid_parse(k.id, k.layout) AS p
WHERE p.id <> k.id
	OR abs(extract(epoch FROM p.timestamp - k.timestamp)) > extract(epoch FROM k.tolerance)
	OR p.datacenter IS DISTINCT FROM k.datacenter OR p.worker IS DISTINCT FROM k.worker
	OR p.tag IS DISTINCT FROM coalesce(k.tag, p.tag) OR p.sequence IS DISTINCT FROM coalesce(k.sequence, p.sequence)
	OR uid_timestamp(k.id, k.layout) <> p.timestamp
	OR uid_make(p.timestamp, p.worker, p.sequence, p.datacenter, p.tag, k.layout) <> k.id;

-- One id, in full; the layout as a preset, spelled out, and overridden
SELECT * FROM uid_parse(1278735254782615552, 'snowflake');
SELECT * FROM uid_parse(1278735254782615552, 'time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2010-11-04T01:42:54.657Z');
SELECT * FROM uid_parse(1278735254782615552, 'twitter epoch:2025-01-01');
SELECT * FROM uid_parse(0, 'default');
SELECT * FROM uid_parse(9223372036854775807, 'default');
SELECT * FROM uid_parse(9007199254740991, 'js53');
SELECT * FROM uid_parse(5, 'time:20:7ms tag:2 epoch:2025-01-01');
SELECT uid_timestamp(1278735254782615552, 'twitter');
SELECT uid_timestamp(1, 'time:63:1us epoch:2025-01-01'), uid_timestamp(1, 'time:10:10us epoch:2025-01-01'),
	uid_timestamp(1, 'time:10:3600s epoch:2025-01-01'), uid_timestamp(1, 'time:10:1s epoch:1969-12-31T23:59:59.5Z');

-- Smallest and largest id of a tick
SELECT uid_min('2026-01-01 00:00:00.0019 UTC', 'default') AS min, uid_max('2026-01-01 00:00:00.0019 UTC', 'default') AS max,
	uid_min('2026-01-01 00:00:00.002 UTC', 'default') AS next,
	uid_timestamp(uid_min('2026-01-01 00:00:00.0019 UTC', 'default'), 'default');
SELECT uid_min('2025-01-01 UTC', 'default'), uid_max('2025-01-01 UTC', 'default'),
	uid_min('2094-09-07 15:47:35.551999 UTC', 'default'), uid_max('2094-09-07 15:47:35.551999 UTC', 'default');
SELECT uid_min('-infinity', 'default'), uid_max('-infinity', 'default'), uid_min('infinity', 'default'), uid_max('infinity', 'default');
SELECT uid_min('-infinity', 'js53'), uid_max('infinity', 'js53'), uid_max('infinity', 'time:20:1s zero:3 epoch:2025-01-01');
-- Layouts whose ids can be negative: by bigint's order, and the infinities are its ends.
SELECT uid_min('-infinity', 'discord'), uid_max('infinity', 'discord'),
	uid_min('2084-09-06 15:47:35.551 UTC', 'discord') AS last_min, uid_max('2084-09-06 15:47:35.551 UTC', 'discord') AS last_max,
	uid_min('2084-09-06 15:47:35.552 UTC', 'discord') AS negative_min, uid_max('2084-09-06 15:47:35.552 UTC', 'discord') AS negative_max;
SELECT * FROM uid_parse(-1, 'discord');
SELECT * FROM uid_parse(-9223372036854775808, 'discord');
-- The sign bit is not the time's: the smallest has it, the largest has not.
SELECT uid_min('2025-01-01 00:00:01 UTC', l), uid_max('2025-01-01 00:00:01 UTC', l),
	uid_min('-infinity', l), uid_max('infinity', l)
FROM (VALUES ('worker:10 time:42:1s sequence:12 epoch:2025-01-01')) AS v (l);
SELECT p.*
FROM (VALUES ('worker:10 time:42:1s sequence:12 epoch:2025-01-01')) AS v (l),
	uid_parse(uid_min('2025-01-01 00:00:01 UTC', l), l) AS p;

-- Times that the layout has no room for: bounds are its smallest and largest id,
-- so that a comparison with them holds for all ids or, but for that one, for none.
SELECT t, uid_min(t, 'default'), uid_max(t, 'default'), uid_min(t, 'js53ms') AS js_min, uid_max(t, 'js53ms') AS js_max
FROM unnest(ARRAY['4714-11-24 BC UTC', '2000-01-01 UTC', '2024-12-31 23:59:59.999999 UTC', '2025-01-01 UTC',
	'2094-09-07 15:47:35.551999 UTC', '2094-09-07 15:47:35.552 UTC', '3000-01-01 UTC',
	'294276-12-31 23:59:59.999999 UTC']::timestamptz[]) AS t;
-- They never decrease as time goes on, and can be decoded.
SELECT count(*) AS bounds, bool_and(lowest <= highest AND lowest >= coalesce(last, lowest)) AS grow,
	bool_and((uid_parse(lowest, 'default')).id = lowest AND (uid_parse(highest, 'default')).id = highest) AS decode
FROM (
	SELECT lowest, highest, lag(highest) OVER (ORDER BY t) AS last
	FROM (
		SELECT t, uid_min(t, 'default') AS lowest, uid_max(t, 'default') AS highest
		FROM (SELECT timestamptz '2020-01-01 UTC' + n * interval '400 days' FROM generate_series(0, 80) AS n
			UNION ALL VALUES (timestamptz '-infinity'), (timestamptz 'infinity')) AS u (t)) AS b) AS s;
SELECT count(*) FILTER (WHERE id >= uid_min('2000-01-01 UTC', 'default')) AS since_before,
	count(*) FILTER (WHERE id <= uid_max('2000-01-01 UTC', 'default')) AS until_before,
	count(*) FILTER (WHERE id >= uid_min('2100-01-01 UTC', 'default')) AS since_after,
	count(*) FILTER (WHERE id <= uid_max('2100-01-01 UTC', 'default')) AS until_after
FROM unnest(ARRAY[1, uid_min('2025-01-01 00:00:00.001 UTC', 'default'), uid_max('2026-01-01 UTC', 'default'),
	uid_max('2094-09-07 15:47:35.55 UTC', 'default'), uid_max('infinity', 'default') - 1]) AS id;
-- uid_make() refuses such times.
SELECT uid_make('2024-12-31 23:59:59.999999 UTC', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2094-09-07 15:47:35.552 UTC', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('294276-12-31 23:59:59.999999 UTC', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('4714-11-24 BC UTC', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2024-12-31 UTC', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('infinity', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('-infinity', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE

-- Ids that do not fit the layout
SELECT * FROM uid_parse(-1, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_timestamp(9007199254740992, 'js53');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_timestamp(2, 'time:20:1s zero:2 epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_timestamp(4, 'time:20:1s zero:2 epoch:2025-01-01') AS fits;
SELECT uid_timestamp(4, 'zero:2 time:20:1s epoch:2025-01-01') AS fits;
-- ... or have a time beyond PostgreSQL's.
SELECT uid_timestamp(9223372036854775807, 'time:63:1us epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM uid_parse(9223372036854775807, 'time:63:3600s epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
-- The last tick of all
SELECT uid_min('294247-01-10 04:00:54.775807 UTC', 'time:63:1us epoch:1970-01-01') AS last;
SELECT uid_max('294247-01-10 04:00:54.775808 UTC', 'time:63:1us epoch:1970-01-01') AS end;
SELECT uid_make('294247-01-10 04:00:54.775808 UTC', 0, 0, NULL, NULL, 'time:63:1us epoch:1970-01-01');
\echo :LAST_ERROR_SQLSTATE

-- An id from its fields
SELECT uid_make('2020-07-02T17:00:17.149Z', 2, 0, 11, NULL, 'twitter'), uid_make('2020-07-02T17:00:17.149Z', 2, 0, 11, 0, 'twitter');
SELECT uid_make('2026-01-01 UTC', NULL, NULL, NULL, NULL, 'default') = uid_min('2026-01-01 UTC', 'default') AS nulls_are_zero;
SELECT uid_make('2026-01-01 UTC', worker => 1023, sequence => 4095, datacenter => NULL, tag => NULL, layout => 'default') =
	uid_max('2026-01-01 UTC', 'default') AS largest;
SELECT uid_make('2026-01-01 UTC', 2147483647, 3, NULL, NULL, 'time:31:1s worker:31 sequence:2 epoch:2025-01-01');
-- Each field that does not fit is named.
SELECT uid_make('2026-01-01 UTC', 1024, 0, NULL, NULL, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', -1, 0, NULL, NULL, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 0, 4096, NULL, NULL, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 0, 0, 32, NULL, 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 0, 0, 1, NULL, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 0, 0, NULL, 1, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 0, 0, NULL, 32, 'discord');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', 1, 0, NULL, NULL, 'mastodon');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('2026-01-01 UTC', -2147483648, 0, NULL, NULL, 'time:31:1s worker:31 epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
-- With null as layout or time
SELECT uid_make('2026-01-01 UTC', 0, 0, NULL, NULL, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make(NULL, 0, 0, NULL, NULL, 'default') IS NULL AS make, uid_parse(NULL, 'default') IS NULL AS parse,
	uid_parse(1, NULL) IS NULL AS parse_layout, uid_timestamp(NULL, 'default') IS NULL AS time,
	uid_timestamp(1, NULL) IS NULL AS time_layout, uid_min(NULL, 'default') IS NULL AS min, uid_max(NULL, 'default') IS NULL AS max,
	uid_min('2026-01-01 UTC', NULL) IS NULL AS min_layout;

-- There and back, for ids with bits all over, under every preset and some more
CREATE TEMP TABLE trial AS
SELECT layout, (h & mask)::bigint AS id
FROM (SELECT name FROM uidgen.presets UNION ALL VALUES
	('time:63:1us epoch:1900-01-01'), ('worker:10 time:42:1s sequence:12 epoch:2025-01-01'),
	('sequence:31 time:32:1s tag:1 epoch:2025-01-01'), ('time:30:60s zero:3 worker:31 epoch:0001-01-01'),
	('tag:31 time:20:1500us datacenter:9 zero:1 sequence:2 epoch:2025-01-01T01:02:03.456789Z')) AS l (layout),
	LATERAL (SELECT bit_or((maximum::bit(64)) << shift) AS mask FROM uid_layout(layout)) AS m,
	LATERAL (SELECT hashint8extended(n, 42)::bit(64) FROM generate_series(1, 200) AS n
		UNION ALL VALUES (0::bigint::bit(64)), (~ 0::bigint::bit(64))
		UNION ALL SELECT 1::bigint::bit(64) << n FROM generate_series(0, 63) AS n) AS b (h);
SELECT count(DISTINCT layout) > 30 AS layouts, count(*) = 266 * count(DISTINCT layout) AS ids FROM trial;
SELECT count(*) FILTER (WHERE timestamp IS NULL) AS bad,
	count(*) FILTER (WHERE p.id IS DISTINCT FROM t.id
	OR uid_make(p.timestamp, p.worker, p.sequence, p.datacenter, p.tag, layout) <> t.id) AS changed,
	count(*) FILTER (WHERE p.timestamp <> uid_timestamp(t.id, layout)) AS other_time,
	count(*) FILTER (WHERE uid_min(p.timestamp, layout) > t.id OR uid_max(p.timestamp, layout) < t.id) AS outside,
	count(*) FILTER (WHERE uid_min('-infinity', layout) > t.id OR uid_max('infinity', layout) < t.id) AS beyond
FROM trial AS t, uid_parse(t.id, layout) AS p;
-- Which fields are null: those that the layout lacks
SELECT count(*) AS differ
FROM trial AS t, uid_parse(t.id, layout) AS p,
	LATERAL (SELECT array_agg(name) AS names FROM uid_layout(layout)) AS f
WHERE (p.datacenter IS NULL) = ('datacenter' = ANY (names)) OR (p.worker IS NULL) = ('worker' = ANY (names))
	OR (p.tag IS NULL) = ('tag' = ANY (names)) OR (p.sequence IS NULL) = ('sequence' = ANY (names));
-- A call site keeps the layout of the last call, and notices another one.
SELECT layout, uid_timestamp(1278735254782615552, layout)
FROM unnest('{twitter, discord, twitter, twitter epoch:2020-01-01, twitter epoch:2020-01-02, twitter}'::text[]) WITH ORDINALITY AS g (layout, n)
ORDER BY n;
DO $$
DECLARE
	layout text;
BEGIN
	FOREACH layout IN ARRAY '{twitter, twetter, twitter, twetter, twetter, discord}'::text[] LOOP
		BEGIN
			RAISE INFO '%: %', layout, uid_timestamp(1278735254782615552, layout);
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE INFO '%', SQLERRM;
		END;
	END LOOP;
END $$;

-- Immutable: fit for indexes, generated columns and constant folding
CREATE TEMP TABLE event (id bigint PRIMARY KEY, happened timestamptz GENERATED ALWAYS AS (uid_timestamp(id, 'discord')) STORED);
INSERT INTO event VALUES (175928847299117063), (266241948824764416) RETURNING *;
CREATE INDEX ON event (uid_timestamp(id, 'discord'));
CREATE INDEX ON event (((uid_parse(id, 'discord')).worker));
SET compute_query_id = off;
EXPLAIN (COSTS OFF, VERBOSE) SELECT uid_min('2026-01-01 UTC', 'default'), uid_timestamp(0, 'default');
SELECT count(*) FROM event WHERE uid_timestamp(id, 'discord') < '2017-01-01 UTC';
-- The server's layout may change at a restart: only stable.  PostgreSQL 19 shows the place in the line.
\set VERBOSITY sqlstate
CREATE INDEX ON event (uid_timestamp(id));
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
CREATE TEMP TABLE refused (id bigint, happened timestamptz GENERATED ALWAYS AS (uid_timestamp(id)) STORED);
\echo :LAST_ERROR_SQLSTATE

-- Bounds of range partitions
CREATE TEMP TABLE log (id bigint PRIMARY KEY, line text) PARTITION BY RANGE (id);
CREATE TEMP TABLE log_2025 PARTITION OF log
	FOR VALUES FROM (uid_min('2025-01-01 UTC', 'default')) TO (uid_min('2026-01-01 UTC', 'default'));
CREATE TEMP TABLE log_2026 PARTITION OF log
	FOR VALUES FROM (uid_min('2026-01-01 UTC', 'default')) TO (uid_min('2027-01-01 UTC', 'default'));
SELECT relname, pg_get_expr(relpartbound, oid) AS bound FROM pg_class WHERE relname LIKE 'log\_2%' AND relispartition AND relkind = 'r' ORDER BY 1;
INSERT INTO log
SELECT uid_make(t, 1023, 4095, NULL, NULL, 'default'), t
FROM unnest('{2025-01-01 UTC, 2025-12-31 23:59:59.999999 UTC, 2026-01-01 UTC, 2026-12-31 23:59:59.999999 UTC}'::timestamptz[]) AS t;
SELECT tableoid::regclass, line FROM log ORDER BY id;
INSERT INTO log VALUES (uid_make('2027-01-01 UTC', 0, 0, NULL, NULL, 'default'), 'none');
\echo :LAST_ERROR_SQLSTATE
SET enable_bitmapscan = off;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM log WHERE id >= uid_min('2026-03-01 UTC', 'default') AND id < uid_min('2026-04-01 UTC', 'default');
-- BETWEEN takes the whole of the last tick.
SELECT line FROM log WHERE id BETWEEN uid_min('2025-12-31 23:59:59.999 UTC', 'default') AND uid_max('2026-01-01 UTC', 'default') ORDER BY id;
