-- What ids are for people, and of which layouts they may be.  The rows of this server's own layout, which come first,
-- are left out where the others are shown: nothing here depends on it.

SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\set SHOW_CONTEXT never

CREATE FUNCTION pg_temp.others(given text, since timestamptz DEFAULT NULL, until timestamptz DEFAULT '2026-11-25',
	OUT place bigint, OUT layout text, OUT id bigint, OUT "timestamp" timestamptz, OUT datacenter int, OUT worker int, OUT tag int,
	OUT sequence int, OUT also text[], OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE
AS $$
	SELECT row_number() OVER (ORDER BY rank), layout, id, timestamp, datacenter, worker, tag, sequence, also, why
	FROM uid_guess(given, since, until)
	WHERE why !~ '^(a layout of this database|the layout of this server)' AND layout <> 'default'
$$;

-- One id, in full.  Its bigint and its text are the same.
SELECT * FROM pg_temp.others('1278735254782615552');
SELECT count(*) > 4 AS rows, bool_and(a = b) AS same
FROM uid_guess(1278735254782615552, until => '2026-11-25') AS a
	FULL JOIN uid_guess('1278735254782615552', until => '2026-11-25') AS b USING (rank);
-- Ranks are 1, 2, ...; each layout comes once; each row decodes as its layout does.
SELECT bool_and(rank = n) AS ranked, count(*) = count(DISTINCT layout) AS once,
	bool_and((g.id, g.timestamp, g.datacenter, g.worker, g.tag, g.sequence) IS NOT DISTINCT FROM (p.id, p.timestamp, p.datacenter, p.worker, p.tag, p.sequence)) AS decoded,
	bool_and(g.timestamp BETWEEN '2010-01-01' AND '2026-11-25') AS plausible
FROM uid_guess(175928847299117063, until => '2026-11-25') WITH ORDINALITY AS g (rank, layout, id, timestamp, datacenter, worker, tag, sequence, also, why, n),
	uid_parse(g.id, g.layout) AS p;

-- Ids that others published (test/unit/known-ids.tsv): the place among the layouts of others
SELECT k.layout, o.place, o.timestamp, o.datacenter, o.worker, o.tag, o.sequence, o.why
FROM (VALUES (1278735254782615552, 'twitter'), (1120596181019111426, 'mybatis-plus'), (175928847299117063, 'discord'),
		(103270115826048975, 'mastodon'), (84748203440664576, 'seata-2020'), (2207391485099498761, 'seata'),
		(136169504773242881, 'pgedge-2023'), (148656994422095873, 'cockroachdb'), (266241948824764416, 'discord')) AS k (id, layout),
	pg_temp.others(k.id::text) AS o
WHERE k.layout = o.layout OR k.layout = ANY (o.also);

-- What is known of the time narrows it.
SELECT place, layout, timestamp FROM pg_temp.others('175928847299117063', '2016-04-01', '2016-06-01');
SELECT count(*) FROM uid_guess(175928847299117063, '2016-04-30 11:18:25.796 UTC', '2016-04-30 11:18:25.796 UTC');
SELECT count(*) FROM uid_guess(175928847299117063, '2016-04-30 11:18:25.797 UTC', '2016-04-30 11:18:26 UTC');
SELECT uid_guess(1, '2020-01-02', '2020-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) > 10 AS any_time FROM uid_guess(1278735254782615552, '-infinity', 'infinity');
SELECT layout, timestamp FROM pg_temp.others('1278735254782615552', '-infinity', 'infinity') WHERE timestamp > '2200-01-01';
-- Numbers without a time in them
SELECT n, count(*) FROM unnest('{0, 1, 4711, 1000000000, -1, -9223372036854775808, 9223372036854775807}'::bigint[]) AS n
	LEFT JOIN pg_temp.others(n::text) AS o ON true WHERE o.place IS NOT NULL GROUP BY n;
-- Null gives nothing, and null times are the usual ones.
SELECT (SELECT count(*) FROM uid_guess(NULL::bigint)) AS id, (SELECT count(*) FROM uid_guess(NULL::text)) AS text,
	(SELECT count(*) FROM uid_guess(1278735254782615552, NULL, NULL)) > 4 AS times;

-- The layouts of this database, then the server's, then the presets; each once, under its best-known name
SELECT rank, layout, also, why FROM uidgen.rank_layouts(1278735254782615552, '2010-01-01', '2026-11-25',
	ARRAY['sonyflake', 'time:39:1ms worker:12 sequence:12 epoch:2017-01-01', 'leaf', 'mybatis-plus epoch:2010-11-04T01:42:54.657Z', 'leaf', NULL])
WHERE why !~ '^the layout of this server';
SELECT rank, timestamp FROM uidgen.rank_layouts(5, NULL, NULL, ARRAY['time:41:1ms sequence:12 epoch:1990-01-01']) WHERE rank = 1;
SELECT uidgen.rank_layouts(1, NULL, NULL, ARRAY['twetter']);
\echo :LAST_ERROR_SQLSTATE
BEGIN;
INSERT INTO uidgen.layout_used VALUES ('time:40:1ms worker:11 sequence:12 epoch:2018-01-01', 'infinity', 1, 1, 1);
SELECT rank, layout, why FROM uid_guess(250205019140997120, until => '2026-11-25') WHERE rank = 1;
ROLLBACK;
SELECT g.layout = coalesce(p.name, s.layout) AS this_server, why ~ '^a layout of this database' AS noted
FROM uidgen.status AS s LEFT JOIN uidgen.presets AS p USING (layout), uid_guess(uid_next()) AS g WHERE rank = 1;
-- Any role may ask.
BEGIN;
CREATE ROLE regress_uidgen_asks;
SET LOCAL ROLE regress_uidgen_asks;
SELECT count(*) > 4 AS rows, uid_explain('1278735254782615552', 'twitter') IS NOT NULL AS explained FROM uid_guess(1278735254782615552);
ROLLBACK;

-- Forms
SELECT form, place, o.layout, o.id, o.timestamp, o.why
FROM (VALUES (1, 'base32', uid_to_text(1278735254782615552)), (2, 'tsid', lower(uid_to_text(1278735254782615552))),
		(3, 'base58', uid_to_text(1278735254782615552, 'base58')), (4, 'base62', uid_to_text(1278735254782615552, 'base62')),
		(5, 'hex', uid_to_text(1278735254782615552, 'hex')), (6, '0x', '0x11befaf06f162000'), (7, 'hyphens', '13F-QTY1-QHC800'),
		(8, 'blanks', E' 1278735254782615552\r\n'), (9, 'uuid', uid_to_uuid(1278735254782615552, 'twitter')::text),
		(10, 'bare uuid', replace(upper(uid_to_uuid(1278735254782615552, 'twitter')::text), '-', '')),
		(11, 'ulid', '01ARZ3NDEKTSV4RRFFQ69G5FAV'), (12, 'uuidv7', '017F22E2-79B0-7CC3-98C4-DC0C0C07398F'),
		(13, 'unsigned', '18446744073709551615'), (14, 'negative', '-1')) AS v (n, form, given)
	LEFT JOIN pg_temp.others(given) AS o ON place <= 2
ORDER BY n, place;
-- A text of several forms
SELECT layout, id, timestamp, why FROM pg_temp.others('1125899906842624');
SELECT DISTINCT id, substring(why, 'read as \w+') AS form FROM pg_temp.others('14444444444');
-- Layouts whose time is not that of the uuid are none.
SELECT o.layout, o.also, o.why FROM pg_temp.others(uid_to_uuid(175928847299117063, 'discord')::text) AS o;
SELECT o.layout, o.id FROM pg_temp.others(uid_to_uuid(175928847299117063, 'twitter epoch:2014-01-01')::text) AS o;
SELECT uid_guess('');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_guess('an id');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_guess('18446744073709551616');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_guess('-9223372036854775809');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_guess('FZZZZZZZZZZZZ' || repeat('Z', 100));
\echo :LAST_ERROR_SQLSTATE
SELECT uid_guess('9b5f51f4-2a32-4d54-8d4f-4c1b2b3a7d10');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_guess('017f22e2-79b0-7cc3-18c4-dc0c0c07398f');
\echo :LAST_ERROR_SQLSTATE

-- For people.  The distance from now depends on now.
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION pg_temp.without_now(text) RETURNS text LANGUAGE sql
	RETURN regexp_replace($1, '\d+ \w+ (ago|ahead)', 'N UNITS \1');
SELECT pg_temp.without_now(uid_explain(250205019140997120, 'default'));
SELECT pg_temp.without_now(uid_explain(1278735254782615552, 'twitter'));
SELECT pg_temp.without_now(uid_explain(-1, 'discord'));
SELECT pg_temp.without_now(uid_explain(10, 'tag:31 time:20:1500us datacenter:9 zero:1 sequence:2 epoch:2025-01-01T01:02:03.456789Z'));
SELECT pg_temp.without_now(uid_explain('06Y784EKEPG00', 'default'));
SELECT split_part(pg_temp.without_now(uid_explain('14444444444', 'tsid')), E'\n\n', 1);
SELECT split_part(pg_temp.without_now(uid_explain('11', 'seconds')), E'\n\n', 1);
SELECT pg_temp.without_now(uid_explain('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'twitter'));
SELECT pg_temp.without_now(uid_explain('017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 'twitter'));
SELECT split_part(pg_temp.without_now(uid_explain(uid_to_uuid(175928847299117063, 'discord')::text, 'twitter')), E'\n\n', 1);
SELECT split_part(pg_temp.without_now(uid_explain(1278735254782615552, 'twitter epoch:2300-01-01')), E'\n\n', 1);
SELECT split_part(pg_temp.without_now(uid_explain(175928847299117063, 'twitter epoch:1960-01-01')), E'\n\n', 1);
SELECT split_part(uid_explain(175928847299117063, 'twitter epoch:1960-01-01'), E'\n\n', 4);
\pset format aligned
\pset tuples_only off
-- How far from now, in each unit
SELECT distance, substring(uid_explain(uid_make(statement_timestamp() + distance, NULL, NULL, NULL, NULL, l), l), '\n          (.*?)\n\n') AS said
FROM (VALUES ('time:63:1us epoch:1900-01-01')) AS v (l),
	unnest('{0, -0.5 s, 0.5 s, -1 s, -119 s, -2 min, -119 min, -2 h, -47 h, -2 days, -60 days, -62 days, -700 days, -800 days, 3 h, 25 h, 30 years, -20 years}'::interval[]) AS distance;
-- No line is wider than 80 columns, all is ASCII, and each field of each layout is there.
SELECT count(*) AS ids, max(length(line)) <= 80 AS narrow, bool_and(line ~ '^[ -~]*$') AS ascii, bool_and(line !~ ' $') AS no_blanks
FROM (SELECT name FROM uidgen.presets UNION ALL VALUES
	('time:63:1us epoch:1900-01-01'), ('time:20:3599999999us datacenter:11 worker:11 tag:11 sequence:11 epoch:1900-01-01T01:02:03.456789Z'),
	('datacenter:1 worker:2 time:57:999us tag:3 sequence:1 epoch:1900-01-01T01:02:03.456789Z'), ('time:30:60s zero:3 worker:31 epoch:0001-01-01')) AS l (layout),
	LATERAL (SELECT uid_max('2026-11-25', l.layout) AS id) AS i, unnest(string_to_array(uid_explain(id, layout), E'\n')) AS line;
-- The server's layout is named.
SELECT uid_explain(uid_next()) ~ 'the layout of this server\ntime' AS named, uid_explain(uid_to_text(uid_next())) ~ '^read as   base32\n' AS of_text;
-- A decimal number needs no word on how it is read.
SELECT uid_explain('1278735254782615552', 'twitter') = uid_explain(1278735254782615552, 'twitter') AS same;
-- Null, and errors
SELECT uid_explain(NULL::bigint) IS NULL AS id, uid_explain(1, NULL) IS NULL AS layout, uid_explain(NULL::text, 'twitter') IS NULL AS text;
SELECT uid_explain(-1, 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('-1', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain('an id', 'twitter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain(1, 'twetter');
\echo :LAST_ERROR_SQLSTATE
SELECT uid_explain(9223372036854775807, 'time:63:1us epoch:2025-01-01');
\echo :LAST_ERROR_SQLSTATE
