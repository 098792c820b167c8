-- Ids as text and as uuids, under explicit layouts: nothing here depends on the server's.  sql/vectors.sql has single values.
\set SHOW_CONTEXT never

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

SELECT uid_from_text('00000000000000Ff', 'HEX') AS form_in_any_case;

-- There and back; in the collation "C" texts are in the order of the numbers.
CREATE TEMP TABLE trial AS
SELECT id, form, uid_to_text(id, form) AS text
FROM (SELECT hashint8extended(n, 42) FROM generate_series(1, 300) AS n
	UNION SELECT (1::bigint << n) + d FROM generate_series(0, 62) AS n, generate_series(-1, 1) AS d
	UNION VALUES (-9223372036854775808), (-9223372036854775807), (-1), (9223372036854775807)) AS t (id),
	unnest('{base32, base58, base62, hex}'::text[]) AS form;
SELECT form, count(*) > 450 AS many, count(*) FILTER (WHERE uid_from_text(text, form) <> id) AS changed,
	min(length(text)), max(length(text)), count(*) - count(DISTINCT text) AS equal, bool_and(ordered) AS ordered
FROM (SELECT *, row_number() OVER (PARTITION BY form ORDER BY text COLLATE "C") =
		row_number() OVER (PARTITION BY form ORDER BY id < 0, id) AS ordered FROM trial) AS t
GROUP BY form ORDER BY form;
SELECT count(*) AS differ FROM trial WHERE form = 'base32' AND (text <> uid_to_text(id) OR uid_from_text(text) <> id);
-- The server's own hexadecimal numbers
SELECT count(*) AS differ FROM trial WHERE form = 'hex' AND text <> lpad(to_hex(id), 16, '0');

-- Texts of no id
SELECT uid_from_text('0DS8RXW6W0DYU');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('0DS8RXW6W0DY');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('G000000000000');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text(' 0DS8RXW6W0DYY');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('111111lIO01', 'base58');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('2qjo-YFz4T6', 'base62');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('00000000000000fg', 'hex');
\echo :LAST_ERROR_SQLSTATE
-- A long text is not shown in full.
SELECT uid_from_text(repeat('0123456789', 100000));
\echo :LAST_ERROR_SQLSTATE
-- Nor is there such a form.
SELECT uid_to_text(1, 'base64');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_text('1', '');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_to_text(NULL) IS NULL AS id, uid_to_text(NULL, 'hex') IS NULL AS id_form, uid_to_text(1, NULL) IS NULL AS form,
	uid_from_text(NULL) IS NULL AS text, uid_from_text(NULL, 'hex') IS NULL AS text_form, uid_from_text('ff', NULL) IS NULL AS from_form;

-- A uuid begins with the milliseconds of the id, and has the id in it.
-- Ids with bits all over, under every preset and some more; the sign bit where the layout has it
CREATE TEMP TABLE uuid_trial AS
SELECT layout, id, uid_to_uuid(id, layout) AS uuid, uid_timestamp(id, layout) AS "timestamp"
FROM (SELECT name FROM uidgen.presets UNION ALL VALUES
	('time:42:1ms worker:10 sequence:12 epoch:1970-01-01'), ('time:50:1us tag:14 epoch:1999-12-31T23:59:59.999999Z'),
	('time:36:60s zero:3 worker:25 epoch:1970-01-01'), ('tag:31 time:20:1500us sequence:13 epoch:2025-01-01T01:02:03.456789Z')) AS l (layout),
	LATERAL (SELECT bit_or((maximum::bit(64)) << shift) AS mask FROM uid_layout(layout)) AS m,
	LATERAL (SELECT hashint8extended(n, 42)::bit(64) FROM generate_series(1, 100) AS n
		UNION ALL VALUES (0::bigint::bit(64)), (~ 0::bigint::bit(64))
		UNION ALL SELECT 1::bigint::bit(64) << n FROM generate_series(0, 63) AS n) AS b (h),
	LATERAL (SELECT (h & mask)::bigint AS id) AS i
WHERE uid_timestamp(id, layout) < '10889-08-02 05:31:50.656 UTC';
SELECT count(DISTINCT layout) > 28 AS layouts, count(*) > 4000 AS many, count(*) FILTER (WHERE id < 0) > 50 AS negative,
	count(*) FILTER (WHERE uid_from_uuid(uuid) <> id) AS changed,
	count(*) FILTER (WHERE uuid::text !~ '^.{8}-.{4}-7.{3}-[89ab]') AS not_version_7,
	count(*) FILTER (WHERE ('x0000' || left(replace(uuid::text, '-', ''), 12))::bit(64)::bigint <>
		floor(extract(epoch FROM "timestamp") * 1000)) AS other_time
FROM uuid_trial;
-- Where the time comes first, uuids are in the order of the ids.
SELECT count(DISTINCT layout) > 25 AS layouts, count(*) FILTER (WHERE by_uuid <> by_id) AS disordered
FROM (SELECT layout, rank() OVER (PARTITION BY layout ORDER BY uuid) AS by_uuid,
		rank() OVER (PARTITION BY layout ORDER BY id < 0, id) AS by_id
	FROM uuid_trial WHERE layout <> 'seata' AND layout !~ '^tag') AS t;
-- The check bits, bit by bit: the CRC-10/ATM of 14 bytes
CREATE FUNCTION pg_temp.crc10(bits text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	crc int := 0;
	next int;
BEGIN
	FOREACH next IN ARRAY string_to_array(bits, NULL)::int[] LOOP
		crc := (crc << 1) # (next << 10);
		crc := CASE WHEN crc >= 1024 THEN crc # x'633'::int ELSE crc END;
	END LOOP;
	RETURN crc;
END $$;
SELECT to_hex(pg_temp.crc10(string_agg(ascii(c)::bit(8)::text, '' ORDER BY n))) AS published_199
FROM string_to_table('123456789', NULL) WITH ORDINALITY AS s (c, n);
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE pg_temp.crc10(('x' || left(replace(uuid::text, '-', ''), 12))::bit(48)::text || id::bit(64)::text) <>
	('x' || right(uuid::text, 8))::bit(32)::int & 1023) AS differ
FROM uuid_trial WHERE layout IN ('default', 'discord');
-- From PostgreSQL 18 on the server reads the time of version 7.
DO $$
DECLARE
	differ bigint := 0;
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		EXECUTE 'SELECT count(*) FROM uuid_trial WHERE uuid_extract_timestamp(uuid) IS DISTINCT FROM date_trunc(''milliseconds'', "timestamp")'
			INTO differ;
	END IF;
	RAISE INFO '% differ', differ;
END $$;

-- Uuids of no id
SELECT uid_from_uuid('01a1ff26-c1ed-7037-9ffd-45edc9400173');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_uuid('01a1ff26-c1ed-4037-9ffd-45edc9400172');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_from_uuid('01a1ff26-c1ed-7037-cffd-45edc9400172');
\echo :LAST_ERROR_SQLSTATE
-- Times that a uuid has no place for, and ids that are none of the layout's
SELECT uid_to_uuid(0, 'time:40:1ms sequence:12 epoch:1969-12-31T23:59:59.999Z');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_to_uuid(9223372036854775807, 'time:63:3600s epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_to_uuid(-1, 'default');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_to_uuid(1, 'no layout');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_to_uuid(NULL, 'default') IS NULL AS id, uid_to_uuid(1, NULL) IS NULL AS layout, uid_from_uuid(NULL) IS NULL AS uuid;

-- Immutable: fit for indexes and generated columns
CREATE TEMP TABLE event (id bigint PRIMARY KEY,
	public_id text COLLATE "C" GENERATED ALWAYS AS (uid_to_text(id)) STORED UNIQUE,
	uuid uuid GENERATED ALWAYS AS (uid_to_uuid(id, 'default')) STORED);
CREATE INDEX ON event (uid_to_text(id, 'base58'));
INSERT INTO event VALUES (249949029770874880), (249949029775069184) RETURNING *;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- A text from outside is turned into the id, for the key's index.
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id = uid_from_text('06xz-za5x-q4m00');
-- The server's layout may change at a restart: only stable.
CREATE TEMP TABLE refused (id bigint, uuid uuid GENERATED ALWAYS AS (uid_to_uuid(id)) STORED);
\echo :LAST_ERROR_SQLSTATE
