-- What ids are for people.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\set SHOW_CONTEXT never

-- The distance from now depends on now.
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION pg_temp.without_now(text) RETURNS text LANGUAGE sql
	RETURN regexp_replace($1, '\d+ \w+ (ago|ahead)', 'N UNITS \1');
CREATE FUNCTION pg_temp.part(lines text[], n integer) RETURNS text LANGUAGE sql
	RETURN split_part(pg_temp.without_now(array_to_string(lines, E'\n')), E'\n\n', n);
SELECT pg_temp.without_now(uid_explain(250205019140997120, 'default'));
SELECT pg_temp.without_now(uid_explain(1278735254782615552, 'twitter'));
SELECT pg_temp.without_now(uid_explain(-1, 'discord'));
SELECT pg_temp.without_now(uid_explain(10, 'tag:31 time:20:1500us datacenter:9 zero:1 sequence:2 epoch:2025-01-01T01:02:03.456789Z'));
SELECT pg_temp.without_now(uid_explain('06Y784EKEPG00', 'default'));
SELECT pg_temp.part(ARRAY(SELECT uid_explain('14444444444', 'tsid')), 1);
SELECT pg_temp.part(ARRAY(SELECT uid_explain('11', 'seconds')), 1);
SELECT pg_temp.without_now(uid_explain('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'twitter'));
SELECT pg_temp.without_now(uid_explain('017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 'twitter'));
SELECT pg_temp.part(ARRAY(SELECT uid_explain(uid_to_uuid(175928847299117063, 'discord')::text, 'twitter')), 1);
SELECT pg_temp.part(ARRAY(SELECT uid_explain(1278735254782615552, 'twitter epoch:2300-01-01')), 1);
SELECT pg_temp.part(ARRAY(SELECT uid_explain(175928847299117063, 'twitter epoch:1960-01-01')), 1);
SELECT pg_temp.part(ARRAY(SELECT uid_explain(175928847299117063, 'twitter epoch:1960-01-01')), 4);
\pset format aligned
\pset tuples_only off
-- How far from now, in each unit
SELECT distance, substring(array_to_string(ARRAY(SELECT uid_explain(uid_make(statement_timestamp() + distance, NULL, NULL, NULL, NULL, l), l)), E'\n'), '\n          (.*?)\n\n') AS said
FROM (VALUES ('time:63:1us epoch:1900-01-01')) AS v (l),
	unnest('{0, -0.5 s, 0.5 s, -1 s, -119 s, -2 min, -119 min, -2 h, -47 h, -2 days, -60 days, -62 days, -700 days, -800 days, 3 h, 25 h, 30 years 1 day, -20 years}'::interval[]) AS distance;
-- No line is wider than 80 columns, all is ASCII, and each field of each layout is there.
SELECT count(*) AS ids, max(length(line)) <= 80 AS narrow, bool_and(line ~ '^[ -~]*$') AS ascii, bool_and(line !~ ' $') AS no_blanks
FROM (SELECT name FROM uidgen.presets UNION ALL VALUES
	('time:63:1us epoch:1900-01-01'), ('time:20:3599999999us datacenter:11 worker:11 tag:11 sequence:11 epoch:1900-01-01T01:02:03.456789Z'),
	('datacenter:1 worker:2 time:57:999us tag:3 sequence:1 epoch:1900-01-01T01:02:03.456789Z'), ('time:30:60s zero:3 worker:31 epoch:0001-01-01')) AS l (layout),
	LATERAL (SELECT uid_max('2026-11-25', l.layout) AS id) AS i, uid_explain(id, layout) AS line;
-- The server's layout is named.
SELECT array_to_string(ARRAY(SELECT uid_explain(uid_next())), E'\n') ~ 'the layout of this server\ntime' AS named, ARRAY(SELECT uid_explain(uid_to_text(uid_next()))) @> '{read as   base32}' AS of_text;
-- A decimal number needs no word on how it is read.
SELECT ARRAY(SELECT uid_explain('1278735254782615552', 'twitter')) = ARRAY(SELECT uid_explain(1278735254782615552, 'twitter')) AS same;
-- Any role may ask.
BEGIN;
CREATE ROLE regress_uidgen_asks;
SET LOCAL ROLE regress_uidgen_asks;
SELECT count(*) > 20 AS explained FROM uid_explain('1278735254782615552', 'twitter');
ROLLBACK;
-- Forms
SELECT form, substring(said, '^read as +([^\n]+)') AS read_as, substring(said, '\mid +(-?\d+)\n') AS id, substring(said, '\ntime +([^\n]+)') AS "time"
FROM (VALUES (1, 'base32', uid_to_text(1278735254782615552)), (2, 'tsid', lower(uid_to_text(1278735254782615552))),
		(3, 'base58', uid_to_text(1278735254782615552, 'base58')), (4, 'base62', uid_to_text(1278735254782615552, 'base62')),
		(5, 'hex', uid_to_text(1278735254782615552, 'hex')), (6, '0x', '0x11befaf06f162000'), (7, 'hyphens', '13F-QTY1-QHC800'),
		(8, 'blanks', E' 1278735254782615552\r\n'), (9, 'uuid', uid_to_uuid(1278735254782615552, 'twitter')::text),
		(10, 'bare uuid', replace(upper(uid_to_uuid(1278735254782615552, 'twitter')::text), '-', '')),
		(11, 'ulid', '01ARZ3NDEKTSV4RRFFQ69G5FAV'), (12, 'uuidv7', '017F22E2-79B0-7CC3-98C4-DC0C0C07398F'),
		(13, 'unsigned', '18446744073709551615'), (14, 'negative', '-1')) AS v (n, form, given),
	array_to_string(ARRAY(SELECT uid_explain(given, CASE WHEN n > 12 THEN 'time:33:1s worker:31 epoch:1970-01-01' ELSE 'twitter' END)), E'\n') AS said
ORDER BY n;
-- Null, and errors
SELECT uid_explain(NULL::bigint), uid_explain(1, NULL), uid_explain(NULL::text, 'twitter');
SELECT uid_explain(-1, 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('-1', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('an id', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('18446744073709551616', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('-9223372036854775809', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('FZZZZZZZZZZZZ' || repeat('Z', 100), 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('9b5f51f4-2a32-4d54-8d4f-4c1b2b3a7d10', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('017f22e2-79b0-7cc3-18c4-dc0c0c07398f', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain(1, 'twetter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain(9223372036854775807, 'time:63:1us epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
