-- What ids say, under explicit layouts: nothing here depends on the server's.  sql/vectors.sql has single values.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- One id, in full
SELECT * FROM uid_parse(1278735254782615552, 'snowflake');
SELECT * FROM uid_parse(5, 'time:20:7ms tag:2 epoch:2025-01-01');

-- Times that the layout has no room for: bounds are its smallest and largest id,
-- so that a comparison with them holds for all ids or, but for that one, for none.
SELECT t, uid_min(t, 'default'), uid_max(t, 'default') FROM unnest('{4714-11-24 BC UTC, 294276-12-31 23:59:59.999999 UTC}'::timestamptz[]) AS t;
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
SELECT uid_make('infinity', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_make('-infinity', 0, 0, 0, 0, 'default');
\echo :LAST_ERROR_SQLSTATE

-- Ids that do not fit the layout
SELECT * FROM uid_parse(-1, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_timestamp(9007199254740992, 'js53');
\echo :LAST_ERROR_SQLSTATE
-- ... or have a time beyond PostgreSQL's.
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
