-- The functions for segments, called directly.
--
-- Everything happens in transactions that are rolled back, with a clock and a history of the
-- registry that are made up.  What is random is shown as new or as before.
-- test/t/fleet_script.pl runs this file also where the registry lies without the extension,
-- as a role that is no superuser.

\set SHOW_CONTEXT never
-- What the tests call is not shown.
\set ECHO none
-- What is changed by hand here, no guard is to refuse: see script/registry/10_registry.sql.
SET search_path = pg_catalog, uidgen_registry, pg_temp;
SET client_min_messages = error;
SET intervalstyle = postgres;
SET datestyle = ISO;
SET timezone = UTC;

-- Which second the clock shows, and which history the registry has: cluster/timeline/database, and
-- perhaps the second in which its server has started.
CREATE FUNCTION pg_temp.world(second bigint, history text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('segments_test.second', second::text, true),
		set_config('segments_test.history', coalesce(history, current_setting('segments_test.history')), true);
$$;
SELECT set_config('segments_test.history', '7/1/8', false), set_config('segments_test.version', '', false);
-- In a transaction: what the registry goes by.  It has no layout, so it is a local one.
CREATE PROCEDURE pg_temp.make_up_the_world() LANGUAGE plpgsql AS $$
BEGIN
	CREATE OR REPLACE FUNCTION uidgen_registry.in_transaction_block() RETURNS boolean LANGUAGE sql AS 'SELECT false';
	CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz LANGUAGE sql AS
		'SELECT to_timestamp(current_setting(''segments_test.second'')::bigint)';
	CREATE OR REPLACE FUNCTION uidgen_registry.registry_history(OUT system_identifier bigint, OUT timeline int, OUT started timestamptz, OUT database oid) LANGUAGE sql AS
		'SELECT h[1]::bigint, h[2]::int, to_timestamp(coalesce(h[4], ''0'')::int), h[3]::oid FROM string_to_array(current_setting(''segments_test.history''), ''/'') AS h';
	DELETE FROM uidgen_registry.segment;
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	PERFORM pg_temp.world(1000, '7/1/8');
END $$;

-- The rows, and what is new of each since the last look.
CREATE FUNCTION pg_temp.show() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text[] := string_to_array(current_setting('segments_test.version'), ' ');
	result text;
BEGIN
	SELECT coalesce(string_agg(concat_ws(', ', name || ': ' || last_value, 'run from ' || run_start,
				CASE WHEN dropped THEN 'dropped' END,
				CASE WHEN version::text <> ALL (before) THEN 'new version' END,
				CASE WHEN incarnation::text <> ALL (before) THEN 'new incarnation' END),
			'; ' ORDER BY name), 'empty')
		INTO result FROM uidgen_registry.segment;
	PERFORM set_config('segments_test.version', string_agg(version || ' ' || incarnation, ' '), false) FROM uidgen_registry.segment;
	RETURN result;
END $$;

-- A command that may fail; what fails is undone.  A row that a constraint refuses has random numbers.
CREATE FUNCTION pg_temp.try(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS OR query_canceled THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	-- The tests are also run in another database.
	hint := replace(hint, format('"%s"', current_database()), 'REGISTRY');
	RETURN concat_ws(E'\n  ', SQLSTATE || ' ' || message, CASE WHEN SQLSTATE NOT IN ('23502', '23514') THEN nullif(detail, '') END, nullif(hint, ''));
END $$;

-- As PostgreSQL before 19 shows positions in the log.
CREATE FUNCTION pg_temp.short(message text) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace(message, '\m([0-9A-F]+/)0+(?=[0-9A-F])', '\1', 'g')
$$;

-- The two calls of a keeper.  It knows what the row has, unless it is told otherwise.
CREATE FUNCTION pg_temp.take(wanted bigint DEFAULT 10, highest bigint DEFAULT -1, version bigint DEFAULT NULL, incarnation bigint DEFAULT NULL,
	not_after bigint DEFAULT 9223372036854775807, name text DEFAULT 's', course text DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
	message text;
	detail text;
	hint text;
	version_before bigint;
	incarnation_before bigint;
BEGIN
	SELECT s.version, s.incarnation INTO version_before, incarnation_before FROM uidgen_registry.segment AS s WHERE s.name = take.name;
	SELECT * INTO STRICT g FROM uidgen_registry.segment_fetch(convert_to(name, 'UTF8'), wanted,
		coalesce(incarnation, incarnation_before, 0), coalesce(version, version_before, 0), course::bigint[], highest, not_after);
	IF g.refusal IS NOT NULL THEN
		RETURN concat_ws(E'\n  ', CASE WHEN num_nonnulls(g.first_value, g.last_value, g.version, g.course) = 0 THEN g.refusal END,
			pg_temp.short(regexp_replace(g.refusal_detail, 'server is "[^"]*"', 'server is ROLE')),
			replace(g.refusal_hint, format('"%s"', current_database()), 'REGISTRY'));
	END IF;
	RETURN g.first_value || ' to ' || g.last_value;
EXCEPTION WHEN OTHERS OR query_canceled THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	hint := replace(hint, format('"%s"', current_database()), 'REGISTRY');
	RETURN concat_ws(E'\n  ', SQLSTATE || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;
CREATE FUNCTION pg_temp.release(first_unused bigint, version bigint DEFAULT NULL, not_after bigint DEFAULT 9223372036854775807, name text DEFAULT 's')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
BEGIN
	SELECT r.* INTO STRICT g FROM uidgen_registry.segment_release(convert_to(name, 'UTF8'),
		coalesce(version, (SELECT s.version FROM uidgen_registry.segment AS s WHERE s.name = release.name), 0), first_unused, not_after) AS r;
	RETURN CASE WHEN g.done THEN 'done' ELSE 'not done' END;
EXCEPTION WHEN OTHERS OR query_canceled THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- The course that a node is told of with what it fetches now, and where they ended and the next one began.
CREATE FUNCTION pg_temp.course(name text DEFAULT 's') RETURNS text LANGUAGE sql AS $$
	SELECT array_agg(n)::text FROM uidgen_registry.segment AS s, unnest(s.reigns, s.reign_ends) AS r (reign, number), unnest(ARRAY[r.reign, r.number]) AS n
		WHERE s.name = course.name AND n IS NOT NULL;
$$;
CREATE FUNCTION pg_temp.reigns(name text DEFAULT 's') RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(', ', cardinality(s.reigns) || ' reigns', (SELECT string_agg(e || '-' || b, ' ') FROM unnest(s.reign_ends, s.reign_begins) AS r (e, b)),
			'floor ' || s.reign_floor, 'stopped since ' || extract(epoch FROM s.stopped_since), 'told of ' || s.evidence)
		|| CASE WHEN (SELECT count(DISTINCT r) FROM unnest(s.reigns) AS r) < cardinality(s.reigns) THEN ', of which some are equal' ELSE '' END
	FROM uidgen_registry.segment AS s WHERE s.name = reigns.name;
$$;
CREATE FUNCTION pg_temp.version(name text DEFAULT 's') RETURNS bigint LANGUAGE sql AS $$
	SELECT s.version FROM uidgen_registry.segment AS s WHERE s.name = version.name;
$$;

\pset format unaligned
\pset tuples_only on
\set ECHO all

-- A segment is created: what it has, and what it cannot have.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('plain');
SELECT uidgen_registry.create_segment('all', 0, 7, 1000, 'invoices of "the" shop');
SELECT uidgen_registry.create_segment('at the end', 9223372036854775807, 1000000000);
SELECT name, last_value, step, min_step, max_step, max_value, failover_gap, version <> incarnation, run_start, system_identifier, timeline, database,
	dropped, description, extract(epoch FROM created), extract(epoch FROM modified) FROM uidgen_registry.segment ORDER BY name;
SELECT count(DISTINCT version), count(DISTINCT incarnation) FROM uidgen_registry.segment;
SELECT pg_temp.try(format('SELECT uidgen_registry.create_segment(%s)', arguments)) FROM (VALUES
	($$'plain'$$),
	($$'plain', restart => true$$),
	($$'Plain'$$),
	($$'plain '$$),
	($$''$$),
	($$E'line\nbreak'$$),
	($$E'escape\x1b'$$),
	($$E'delete\x7f'$$),
	($$repeat('x', 63)$$),
	($$repeat('x', 64)$$),
	($$'n', -1$$),
	($$'n', 0$$),
	($$'o', 11, 1, 10$$),
	($$'o', 10, 1, 10$$),
	($$'p', 0, 1, -1$$),
	($$'p', step => 0$$),
	($$'p', step => 1000000001$$),
	('NULL'),
	($$'q', NULL$$),
	($$'q', 1, NULL$$),
	($$'q', 1, 1, NULL$$),
	($$'q', restart => NULL$$)) AS c (arguments);
ROLLBACK;

-- Ranges: each begins above the last one.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 4), pg_temp.show();
UPDATE uidgen_registry.segment SET min_step = 2, max_step = 20;
SELECT pg_temp.take(5), pg_temp.show();
-- no more than max_step, no less than min_step; 0 is the step
SELECT pg_temp.take(20), pg_temp.take(21), pg_temp.take(9223372036854775807);
SELECT pg_temp.take(2), pg_temp.take(1), pg_temp.take(0), pg_temp.take(-9223372036854775808);
-- as the owner changes them
UPDATE uidgen_registry.segment SET step = 30, max_step = 30, min_step = 30;
SELECT pg_temp.take(5);
-- others are not touched
SELECT uidgen_registry.create_segment('t', 0);
SELECT pg_temp.take(1, incarnation => 1, name => 't'), pg_temp.show();
SELECT pg_temp.take(1, name => 'T');
-- all that an answer says
SELECT pg_temp.world(2000);
UPDATE uidgen_registry.segment SET min_step = 3, step = 4, max_step = 5, max_value = 900 WHERE name = 's';
SELECT first_value, last_value, incarnation = (SELECT s.incarnation FROM uidgen_registry.segment AS s WHERE name = 's'), version = pg_temp.version('s'), step, min_step, max_step,
	max_value, registry_id, system_identifier, timeline, clock FROM uidgen_registry.segment_fetch('s', 4, 0, 0, '{}', -1, 2000000000);
SELECT extract(epoch FROM created), extract(epoch FROM modified) FROM uidgen_registry.segment WHERE name = 's';
-- a clock that is set back does not show
SELECT pg_temp.world(1500);
SELECT pg_temp.take(4), extract(epoch FROM created), extract(epoch FROM modified) FROM uidgen_registry.segment WHERE name = 's';
SELECT pg_temp.release(111);
SELECT uidgen_registry.raise_segment('s', 200), extract(epoch FROM modified) FROM uidgen_registry.segment WHERE name = 's';
SELECT uidgen_registry.drop_segment('s'), extract(epoch FROM modified) FROM uidgen_registry.segment WHERE name = 's';
SELECT uidgen_registry.create_segment('s'), extract(epoch FROM modified) FROM uidgen_registry.segment WHERE name = 's';
SELECT extract(epoch FROM created), extract(epoch FROM modified) FROM uidgen_registry.segment WHERE name = 's';
-- nulls are not asked for
SELECT uidgen_registry.segment_fetch('s', NULL, 0, 0, '{}', -1, 2000000000) IS NULL, uidgen_registry.segment_release(NULL, 0, 0, 2000000000) IS NULL;
ROLLBACK;

-- The end
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', 9223372036854775790);
SELECT pg_temp.take(10);
UPDATE uidgen_registry.segment SET min_step = 1;
SELECT pg_temp.take(10), pg_temp.show();
SELECT pg_temp.take(1), pg_temp.show();
SELECT pg_temp.release(9223372036854775807), pg_temp.show();
SELECT pg_temp.take(10), pg_temp.show();
SELECT pg_temp.world(1000, '7/2/8');
SELECT pg_temp.take(10), pg_temp.show();
-- of all there are at once
SELECT uidgen_registry.create_segment('all', 0, 1000000000);
SELECT pg_temp.take(9223372036854775807, name => 'all');
-- an earlier one, which can be moved
SELECT uidgen_registry.create_segment('t', 1, 10, 15);
SELECT pg_temp.take(10, name => 't'), pg_temp.take(10, name => 't'), pg_temp.take(10, name => 't');
SELECT pg_temp.try('UPDATE uidgen_registry.segment SET max_value = 14 WHERE name = ''t''');
UPDATE uidgen_registry.segment SET max_value = 16 WHERE name = 't';
SELECT pg_temp.take(10, name => 't');
-- one number
SELECT uidgen_registry.create_segment('u', 0, 1, 0);
SELECT pg_temp.take(10, name => 'u'), pg_temp.take(10, name => 'u');
ROLLBACK;

-- Which segment: names are compared as bytes, and messages do not have them.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT attcollation::regcollation, attcollation = ALL (indcollation::oid[])
FROM pg_attribute JOIN pg_index ON indrelid = attrelid WHERE attrelid = 'uidgen_registry.segment'::regclass AND attname = 'name';
SELECT pg_temp.take(10);
SELECT pg_temp.try($$SELECT uidgen_registry.segment_fetch('\xc3', 10, 0, 0, '{}', -1, 9223372036854775807)$$);
SELECT pg_temp.try($$SELECT uidgen_registry.segment_fetch('\x00', 10, 0, 0, '{}', -1, 9223372036854775807)$$);
SELECT pg_temp.try($$SELECT uidgen_registry.segment_release('\xc3', 10, 0, 9223372036854775807)$$);
SELECT pg_temp.release(1);
SELECT uidgen_registry.create_segment('s');
SELECT pg_temp.take(10, name => ''), pg_temp.take(10, name => 's'), pg_temp.take(10, name => 's ');
ROLLBACK;

-- A call that its node has given up does nothing.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10), pg_temp.show();
SELECT pg_temp.take(not_after => 1000000000), pg_temp.show();
SELECT pg_temp.take(not_after => 999999999), pg_temp.show();
SELECT pg_temp.release(5, not_after => 999999999), pg_temp.show();
SELECT pg_temp.release(5, not_after => 1000000000), pg_temp.show();
ROLLBACK;

-- Evidence: a node knows of numbers that the registry does not.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10, restart => true);
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.take(highest => 20), pg_temp.show();
-- of the numbers of before it knows nothing that counts
SELECT pg_temp.take(highest => 9223372036854775807, incarnation => 1), pg_temp.show();
SELECT pg_temp.take(highest => 30), pg_temp.show();
-- others may have been given more: once, all that can be lost is left out
SELECT pg_temp.take(highest => 41), pg_temp.show();
SELECT pg_temp.take(highest => 150), pg_temp.show();
SELECT pg_temp.take(highest => 260), pg_temp.show();
SELECT pg_temp.take(highest => 371), pg_temp.show();
-- from then on nobody gets numbers, until the owner has raised it above what servers know of
SELECT pg_temp.world(2000), pg_temp.take(), pg_temp.reigns();
SELECT pg_temp.take(highest => 400), pg_temp.reigns();
SELECT pg_temp.take(highest => 390), pg_temp.take(highest => 500, incarnation => 1), pg_temp.show(), pg_temp.reigns();
SELECT pg_temp.release(265), pg_temp.show();
SELECT uidgen_registry.raise_segment('s', 390), pg_temp.take(), pg_temp.show(), pg_temp.reigns();
SELECT pg_temp.take(highest => 400), pg_temp.show(), pg_temp.reigns();
SELECT pg_temp.take(highest => 9223372036854775807);
SELECT uidgen_registry.raise_segment('s', 600), pg_temp.take(highest => 510), pg_temp.show();
-- who has no gap believes nobody
UPDATE uidgen_registry.segment SET failover_gap = 0;
SELECT pg_temp.take(highest => 610), pg_temp.show();
SELECT pg_temp.take(highest => 621), pg_temp.show();
-- the place where it stands may be the right one
SELECT uidgen_registry.raise_segment('s', -1), pg_temp.take(highest => 620), pg_temp.show();
-- no sum is too large
UPDATE uidgen_registry.segment SET failover_gap = 9223372036854775807;
SELECT pg_temp.take(highest => 630), pg_temp.show();
SELECT pg_temp.take(highest => 9223372036854775807), pg_temp.show();
ROLLBACK;

-- Another history: once, at the next use, the numbers are left out that can be lost.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10);
SELECT uidgen_registry.create_segment('t', step => 10);
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.world(1000, '7/2/8');
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.world(1000, '9/2/8');
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.world(1000, '9/2/9');
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.take(), pg_temp.show();
SELECT name, system_identifier, timeline, database FROM uidgen_registry.segment ORDER BY name;
SELECT pg_temp.take(name => 't'), pg_temp.show();
-- together with evidence: no more than that
SELECT pg_temp.world(1000, '9/3/9');
SELECT pg_temp.take(highest => 460), pg_temp.show();
SELECT pg_temp.world(1000, '9/4/9');
SAVEPOINT beyond;
SELECT pg_temp.take(highest => 571), pg_temp.show();
ROLLBACK TO beyond;
SELECT pg_temp.take(highest => 570), pg_temp.show();
-- one that loses nothing
UPDATE uidgen_registry.segment SET failover_gap = 0 WHERE name = 's';
SELECT pg_temp.world(1000, '9/5/9');
SELECT pg_temp.take(highest => 580), pg_temp.show();
-- what may be lost is counted from last_value on, so another history takes nothing back
SELECT pg_temp.world(1000, '9/6/9');
SELECT pg_temp.release(585), pg_temp.show();
SELECT pg_temp.world(1000, '9/5/9');
SELECT pg_temp.release(585), pg_temp.show();
-- a call that is given up leaves nothing out
UPDATE uidgen_registry.segment SET failover_gap = 5000 WHERE name = 's';
SELECT pg_temp.world(1000, '9/6/9');
SELECT pg_temp.take(not_after => 1), pg_temp.show();
SELECT pg_temp.take(), pg_temp.show();
-- the owner's calls do not hide it, nor make it smaller
SELECT pg_temp.world(1000, '9/7/9');
SELECT uidgen_registry.drop_segment('s');
SELECT uidgen_registry.create_segment('s', step => 1);
SELECT uidgen_registry.raise_segment('s', 6000);
SELECT pg_temp.take(1), pg_temp.show();
-- beyond the end
UPDATE uidgen_registry.segment SET max_value = 16000 WHERE name = 's';
SELECT pg_temp.world(1000, '9/8/9');
SELECT pg_temp.take(), pg_temp.show();
ROLLBACK;

-- A release: only by who fetched last, only what was fetched, and once.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10), pg_temp.show();
-- nothing was fetched
SELECT pg_temp.release(0), pg_temp.release(1), pg_temp.show();
SELECT pg_temp.take(), pg_temp.version() AS first_version \gset
SELECT pg_temp.show();
SELECT pg_temp.release(5, version => 1), pg_temp.release(5, version => 0), pg_temp.show();
SELECT pg_temp.release(0), pg_temp.release(11), pg_temp.release(-9223372036854775808), pg_temp.release(9223372036854775807), pg_temp.show();
SELECT pg_temp.release(10), pg_temp.show();
SELECT pg_temp.release(5), pg_temp.show();
-- its version is spent, also when the number is the same again
SELECT pg_temp.take(1, version => :first_version), pg_temp.take(version => 0), pg_temp.show();
SELECT pg_temp.release(5, version => :first_version), pg_temp.show();
-- all of it
SELECT pg_temp.release(20), pg_temp.show();
-- ranges without anybody between are one
SELECT pg_temp.take(version => 0), pg_temp.take(), pg_temp.take(), pg_temp.show();
SELECT pg_temp.release(19), pg_temp.show();
SELECT pg_temp.release(25), pg_temp.show();
-- another server was between
SELECT pg_temp.take(version => 0), pg_temp.take(version => 0), pg_temp.show();
SELECT pg_temp.release(34), pg_temp.show();
SELECT pg_temp.release(35), pg_temp.show();
-- an end that the registry has lost was between
SELECT pg_temp.take(version => 0), pg_temp.show();
SELECT pg_temp.world(1000, '7/2/8');
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.release(20044), pg_temp.show();
SELECT pg_temp.release(20045), pg_temp.show();
-- the owner was
SELECT pg_temp.take(), uidgen_registry.raise_segment('s', 0), pg_temp.show();
SELECT pg_temp.release(20050), pg_temp.take(), pg_temp.show();
SELECT pg_temp.release(20054), pg_temp.release(20055), pg_temp.show();
-- a dropped one takes numbers back as well
SELECT pg_temp.take(), uidgen_registry.drop_segment('s'), pg_temp.release(20060), pg_temp.show();
-- what is said
SELECT r.* FROM uidgen_registry.segment_release('s', 1, 1, 2000000000) AS r;
ROLLBACK;

-- The owner raises, drops and creates again.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', 1, 10, 1000), pg_temp.show();
SELECT pg_temp.take(), pg_temp.show();
SELECT uidgen_registry.raise_segment('s', 10), pg_temp.show();
SELECT uidgen_registry.raise_segment('s', -1), pg_temp.show();
SELECT uidgen_registry.raise_segment('s', 500), pg_temp.show();
SELECT pg_temp.take(), pg_temp.show();
SELECT pg_temp.try(format('SELECT uidgen_registry.raise_segment(%s)', arguments)), pg_temp.show() FROM (VALUES
	($$'s', 1001$$), ($$'s', NULL$$), ($$'none', 1$$), ('NULL, 1')) AS c (arguments);
SELECT uidgen_registry.raise_segment('s', 1000), pg_temp.show();
SELECT pg_temp.take();
SELECT pg_temp.world(2000);
SELECT uidgen_registry.drop_segment('s'), pg_temp.show();
SELECT pg_temp.take();
SELECT there, replace(hint, format('"%s"', current_database()), 'REGISTRY'), registry_id IS NULL FROM uidgen_registry.segments_there(ARRAY['s', 'none', '\xc3', '']::bytea[], 9223372036854775807);
SELECT pg_temp.try('SELECT uidgen_registry.drop_segment(''s'')'), pg_temp.try('SELECT uidgen_registry.drop_segment(''none'')'), pg_temp.try('SELECT uidgen_registry.drop_segment(NULL)'),
	pg_temp.try('SELECT uidgen_registry.raise_segment(''s'', 1)');
-- it goes on above its numbers
SELECT pg_temp.try('SELECT uidgen_registry.create_segment(''s'', max_value => 999)');
SELECT uidgen_registry.create_segment('s', max_value => 1000), pg_temp.show();
SELECT step, min_step, max_step, failover_gap FROM uidgen_registry.segment;
SELECT uidgen_registry.drop_segment('s');
SELECT uidgen_registry.create_segment('s', 5, 3, 5000, 'again'), pg_temp.show();
SELECT name, step, min_step, max_step, max_value, failover_gap, description, extract(epoch FROM created), extract(epoch FROM modified) FROM uidgen_registry.segment;
SELECT pg_temp.take(), pg_temp.show();
SELECT uidgen_registry.drop_segment('s'), uidgen_registry.create_segment('s', 2000), pg_temp.show();
SELECT pg_temp.take(), pg_temp.show();
-- or begins anew: of what was before, nothing counts
SELECT pg_temp.version() AS old_version, incarnation AS old_incarnation FROM uidgen_registry.segment \gset
SELECT pg_temp.world(3000, '9/2/9');
SELECT uidgen_registry.drop_segment('s'), uidgen_registry.create_segment('s', 5, 3, 20, restart => true), pg_temp.show();
SELECT failover_gap, description, extract(epoch FROM created), extract(epoch FROM modified) FROM uidgen_registry.segment;
SELECT pg_temp.release(2500, version => :old_version), pg_temp.show();
SELECT pg_temp.take(highest => 2999, incarnation => :old_incarnation, version => :old_version), pg_temp.show();
-- one that never was there begins as any
SELECT uidgen_registry.create_segment('t', restart => true), pg_temp.show();
ROLLBACK;

-- What the owner may change, and what not
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10);
SELECT pg_temp.take();
SELECT pg_temp.try(format('SELECT uidgen_registry.change_segment(''s'', %s)', change)), pg_temp.show() FROM (VALUES
	('step => 20'), ('min_step => 1'), ('max_step => 1000000000'), ('max_value => 10'), ('failover_gap => 0'), ('failover_gap => 9223372036854775807'), ('description => ''d'''),
	('step => 0'), ('min_step => 0'), ('min_step => 21'), ('max_step => 19'), ('max_step => 1000000001'), ('max_value => 9'), ('failover_gap => -1'), ('failover_gap => NULL')) AS c (change);
SELECT step, min_step, max_step, max_value, failover_gap, description FROM uidgen_registry.segment;
SELECT pg_temp.try('SELECT uidgen_registry.change_segment(''none'', 1)'), pg_temp.try('SELECT uidgen_registry.change_registry(max_lead => ''1 min'')');
-- None of it by hand
RESET search_path;
SELECT pg_temp.try(command) FROM (VALUES ('UPDATE uidgen_registry.segment SET step = 20'), ('UPDATE uidgen_registry.segment SET last_value = 5, version = 1'), ('DELETE FROM uidgen_registry.segment'),
	('INSERT INTO uidgen_registry.segment SELECT * FROM uidgen_registry.segment'), ('TRUNCATE uidgen_registry.segment')) AS c (command);
SET search_path = pg_catalog, uidgen_registry, pg_temp;
ROLLBACK;

-- How calls wait and commit: a local registry does not wait for a standby, unless the owner says that there is one.
BEGIN;
CALL pg_temp.make_up_the_world();
SET LOCAL synchronous_commit = remote_write;
SELECT uidgen_registry.create_segment('s', step => 10);
SELECT pg_temp.take(), current_setting('lock_timeout'), current_setting('synchronous_commit');
SELECT pg_temp.release(10), current_setting('synchronous_commit');
UPDATE uidgen_registry.segment SET failover_gap = 0;
SELECT pg_temp.take(), current_setting('synchronous_commit');
INSERT INTO uidgen_registry.registry (only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database) VALUES (true, 'A', 1000000, 0, 1000000, 1, 3, now(), 8);
SELECT pg_temp.take(), current_setting('synchronous_commit');
UPDATE uidgen_registry.segment SET failover_gap = 1;
SELECT pg_temp.take(), current_setting('synchronous_commit');
-- a shared one waits
DELETE FROM uidgen_registry.registry;
SELECT uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
UPDATE uidgen_registry.registry SET id = 42;
SELECT pg_temp.take(), current_setting('synchronous_commit');
SELECT pg_temp.release(45), current_setting('synchronous_commit');
-- which says who it is
SELECT first_value, registry_id, system_identifier, timeline, clock FROM uidgen_registry.segment_fetch('s', 4, 0, 0, '{}', -1, 2000000000);
SELECT r.* FROM uidgen_registry.segment_release('s', 1, 1, 2000000000) AS r;
-- and nothing of its quarantine, or of its restarts, is for segments
UPDATE uidgen_registry.registry SET started = 'epoch', quarantine_until = 999999;
SELECT pg_temp.take(), quarantine_until FROM uidgen_registry.registry;
-- nor do they need the layout
SET TRANSACTION READ ONLY;
SELECT pg_temp.take();
SELECT pg_temp.release(50);
ROLLBACK;

-- What a node may do
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10);
CREATE ROLE regress_uidgen_node;
GRANT regress_uidgen_node TO CURRENT_USER;
SET ROLE regress_uidgen_node;
SELECT pg_temp.try($$SELECT uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807)$$);
SELECT pg_temp.try($$SELECT uidgen_registry.segment_release('s', 1, 1, 9223372036854775807)$$);
RESET ROLE;
SET LOCAL client_min_messages = error;
SELECT uidgen_registry.grant_node('regress_uidgen_node');
SET ROLE regress_uidgen_node;
SELECT first_value, last_value FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807);
SELECT done FROM uidgen_registry.segment_release('s', 1, 1, 9223372036854775807);
SELECT there FROM uidgen_registry.segments_there('{s,t}', 9223372036854775807);
SELECT pg_temp.try(command) FROM (VALUES ('SELECT version FROM uidgen_registry.segment'), ('UPDATE uidgen_registry.segment SET step = 1'), ('INSERT INTO uidgen_registry.segment DEFAULT VALUES'),
	('DELETE FROM uidgen_registry.segment'), ('TRUNCATE uidgen_registry.segment'), ('SELECT FROM uidgen_registry.segment FOR UPDATE'), ('LOCK TABLE uidgen_registry.segment IN SHARE MODE'),
	('SELECT uidgen_registry.create_segment(''t'')'), ('SELECT uidgen_registry.drop_segment(''s'')'), ('SELECT uidgen_registry.raise_segment(''s'', 1)'),
	('SELECT uidgen_registry.begin_segment_call(''s'')'), ('SELECT uidgen_registry.begin_call()')) AS c (command);
-- objects of its own by the names that the functions use
RESET ROLE;
CREATE SCHEMA regress_uidgen;
GRANT CREATE, USAGE ON SCHEMA regress_uidgen TO regress_uidgen_node;
DO $$BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO regress_uidgen_node', current_database()); END$$;
SET ROLE regress_uidgen_node;
CREATE FUNCTION regress_uidgen.called(bigint, integer) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called as the owner'; END $$;
CREATE OPERATOR regress_uidgen.+ (FUNCTION = regress_uidgen.called, LEFTARG = bigint, RIGHTARG = integer);
CREATE OPERATOR regress_uidgen.- (FUNCTION = regress_uidgen.called, LEFTARG = bigint, RIGHTARG = integer);
CREATE FUNCTION regress_uidgen.convert_from(bytea, name) RETURNS text LANGUAGE sql AS $$ SELECT 1::bigint OPERATOR(regress_uidgen.+) 1 $$;
CREATE TEMP TABLE segment (name text);
SET LOCAL search_path = pg_temp, regress_uidgen, pg_catalog;
SELECT pg_temp.try('SELECT 1::bigint + 1');
SELECT first_value, last_value, done FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807) AS f, uidgen_registry.segment_release('s', f.version, 15, 9223372036854775807);
RESET search_path;
RESET ROLE;
SELECT uidgen_registry.revoke_node('regress_uidgen_node');
SET ROLE regress_uidgen_node;
SELECT pg_temp.try($$SELECT uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807)$$);
SELECT pg_temp.try($$SELECT uidgen_registry.segment_release('s', 1, 1, 9223372036854775807)$$);
RESET ROLE;
-- who watches
SELECT has_table_privilege('pg_monitor', 'uidgen_registry.segment', 'SELECT'), has_table_privilege('pg_monitor', 'uidgen_registry.segment', 'INSERT, UPDATE, DELETE, TRUNCATE');
ROLLBACK;

-- Reigns: each history is one, and a node says in which it was told what it knows.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10, restart => true);
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.reigns(), pg_temp.take(), pg_temp.reigns();
SELECT course::text = pg_temp.course() FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807);
SELECT pg_temp.course() AS one \gset
SELECT pg_temp.world(1000, '7/2/8');
SELECT pg_temp.take(course => :'one', highest => 120), pg_temp.reigns();
SELECT pg_temp.course() AS two \gset
-- of the former one: what was left out is explained, what others were given is not
SELECT pg_temp.take(course => :'one', highest => 120), pg_temp.take(course => :'two', highest => 140), pg_temp.take(course => :'one', highest => 15), pg_temp.reigns();
SAVEPOINT fine;
SELECT pg_temp.take(course => :'one', highest => 121), pg_temp.reigns();
ROLLBACK TO fine;
-- one that the registry never had
SELECT pg_temp.take(course => '{2}', highest => 15), pg_temp.show(), pg_temp.reigns();
SELECT pg_temp.take(course => :'two', highest => 130), pg_temp.take();
SELECT uidgen_registry.raise_segment('s', 200), pg_temp.reigns();
SELECT pg_temp.take(course => '{2}', highest => 200), pg_temp.take(course => :'one', highest => 199), pg_temp.take(course => :'two', highest => 140), pg_temp.show();
SELECT pg_temp.course() AS three \gset
SELECT pg_temp.take(course => :'three', highest => 230), pg_temp.take(course => '{2}', highest => 201), pg_temp.reigns();
ROLLBACK TO fine;
-- who was told nothing says nothing
SELECT pg_temp.take(course => '{2}', highest => -1), pg_temp.take(course => '{2}', highest => 500, incarnation => 1);
-- numbers that were lost without another history
SELECT pg_temp.take(course => :'two', highest => 280), pg_temp.reigns();
SELECT pg_temp.take(course => :'two', highest => 280), pg_temp.show();
-- once more, before anybody has fetched in between: what the one may have lost is left out, not more
SELECT pg_temp.world(1000, '7/3/8');
SELECT pg_temp.course() AS three \gset
SAVEPOINT fine;
SELECT pg_temp.take(course => :'three', highest => 401), pg_temp.reigns();
ROLLBACK TO fine;
SELECT pg_temp.take(course => :'three', highest => 400), pg_temp.reigns();
ROLLBACK;

-- Numbers that a server had under this name elsewhere: where the segment began below them, it is stopped.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', 21, 10, 1000);
SAVEPOINT begun;
SELECT pg_temp.take(highest => 20, incarnation => 1), pg_temp.take(highest => -1, incarnation => 0), pg_temp.show();
-- also if it has gone on beyond them
SELECT pg_temp.take(highest => 21, incarnation => 1), pg_temp.show(), pg_temp.reigns();
SELECT pg_temp.take(), pg_temp.take(highest => 35, incarnation => 2), pg_temp.take(highest => 20, incarnation => 2), pg_temp.reigns();
SELECT uidgen_registry.raise_segment('s', 35), pg_temp.take(highest => 35, incarnation => 2), pg_temp.take(highest => 36, incarnation => 2);
-- no number lies above max_value, unless it is raised
SELECT pg_temp.reigns(), uidgen_registry.raise_segment('s', 36), pg_temp.take(highest => 2000, incarnation => 2), pg_temp.reigns();
SELECT uidgen_registry.raise_segment('s', 1000), pg_temp.take(highest => 2000, incarnation => 2);
SELECT uidgen_registry.change_segment('s', max_value => 1500), pg_temp.take(highest => 1000, incarnation => 2), pg_temp.take(highest => 2000, incarnation => 2);
-- one that goes on is raised as well, and one that begins anew is meant to begin below
SELECT uidgen_registry.drop_segment('s'), uidgen_registry.create_segment('s', 2001, 10), uidgen_registry.raise_segment('s', -1), pg_temp.take(highest => 2000, incarnation => 2), pg_temp.take(highest => 2001, incarnation => 2);
SELECT uidgen_registry.drop_segment('s'), uidgen_registry.create_segment('s', 2, 10, restart => true), pg_temp.take(highest => 2000, incarnation => 2), uidgen_registry.raise_segment('s', 50),
	pg_temp.take(highest => 9223372036854775807, incarnation => 2), pg_temp.show();
-- together with a failover: no number is given out, and nothing of it is forgotten
ROLLBACK TO begun;
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take(), pg_temp.world(1000, '7/2/8'), pg_temp.take(highest => 40, incarnation => 1), pg_temp.reigns();
SELECT uidgen_registry.raise_segment('s', 50), pg_temp.take(highest => 40, incarnation => 1), pg_temp.reigns();
ROLLBACK;

-- Another registry takes the place of this one: its numbers go on there.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
SELECT uidgen_registry.create_segment('a "name"', 7, 10, 40, 'what it''s for'), uidgen_registry.create_segment('anew', restart => true), uidgen_registry.create_segment('dropped', step => 10),
	uidgen_registry.create_segment('ended', 1, 10, 10), uidgen_registry.create_segment('new'), uidgen_registry.create_segment('of all', 9223372036854775800, 10), uidgen_registry.create_segment('stopped', step => 10);
SELECT uidgen_registry.change_segment('a "name"', min_step => 2, max_step => 20, failover_gap => 30);
SELECT pg_temp.take(5, name => n) FROM unnest('{"a \"name\"",anew,dropped,ended,of all,stopped}'::text[]) AS n;
SELECT uidgen_registry.drop_segment('dropped'), pg_temp.take(highest => 77, incarnation => 1, name => 'stopped') IS NULL;
SELECT uidgen_registry.keep_worker(0, 0);
SAVEPOINT there;
CREATE TEMP TABLE moved AS SELECT uidgen_registry.end_registry() AS statement;
SELECT regexp_replace(statement, 'server is [^.]*', 'server is ROLE') FROM moved;
SELECT count(*) FROM uidgen_registry.registry;
-- which has some of these, too
DELETE FROM uidgen_registry.segment WHERE name NOT IN ('dropped', 'anew');
SELECT uidgen_registry.raise_segment('anew', 5000);
CREATE FUNCTION pg_temp.run_moved() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	m text;
BEGIN
	FOR m IN SELECT statement FROM moved WHERE statement ~ 'import_segment' LOOP
		EXECUTE m;
	END LOOP;
END $$;
SELECT pg_temp.run_moved(), pg_temp.show();
SELECT name, step, min_step, max_step, max_value, failover_gap, description, reign_floor, began_above, regexp_replace(stopped, 'server is [^.]*', 'server is ROLE'), extract(epoch FROM stopped_since), evidence FROM uidgen_registry.segment ORDER BY name;
SELECT pg_temp.take(1, highest => 11, incarnation => 1, name => 'a "name"'), pg_temp.take(1, highest => 9000, incarnation => 1, name => 'anew'), pg_temp.take(name => 'ended'), pg_temp.take(name => 'of all');
-- once more changes nothing but reigns
SELECT pg_temp.run_moved(), pg_temp.show();
ROLLBACK TO there;
-- one that has failed over since: the next fetch would leave the gap out
SELECT pg_temp.world(1000, '7/2/8');
SELECT substring(statement FROM '"name": "([^:]*)",'), substring(statement FROM '"last_value": (\d+)'), substring(statement FROM '"stopped": "[^,]*, [^,]*, [^,]*') FROM uidgen_registry.end_registry() AS m (statement)
	WHERE statement ~ 'import_segment' AND statement !~ 'given numbers';
ROLLBACK;

-- A node of a version that says nothing of reigns: no numbers for it, where there are none for others.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10);
SELECT first_value, last_value FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807);
SELECT first_value, last_value, step, max_value, timeline FROM uidgen_registry.segment_fetch('s', 10, (SELECT incarnation FROM uidgen_registry.segment), 0, '{}', 50000, 9223372036854775807);
SELECT pg_temp.take(), pg_temp.reigns();
SELECT first_value, last_value, version, step, max_value, timeline FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807);
ROLLBACK;

-- A start of a shared registry's server is a reign as well, and leaves nothing out.  So a copy of its
-- files that is started as it is is noticed, and the original after it.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10), uidgen_registry.create_segment('t', step => 10);
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take(), pg_temp.world(1000, '7/1/8/1'), pg_temp.take(), pg_temp.reigns();
SELECT uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
SELECT pg_temp.take(), pg_temp.reigns();
SELECT pg_temp.course() AS one \gset
SELECT pg_temp.take(course => :'one', highest => 30), pg_temp.world(1000, '7/1/8/2'), pg_temp.take(course => :'one', highest => 40), pg_temp.show(), pg_temp.reigns();
-- who was given both hands both back
SELECT pg_temp.world(1000, '7/1/8/3'), pg_temp.take(), pg_temp.reigns(), pg_temp.show();
SELECT pg_temp.release(45), pg_temp.take(course => :'one', highest => 40), pg_temp.reigns();
SELECT pg_temp.world(1000, '7/1/8/4'), pg_temp.take(course => :'one', highest => 40), pg_temp.reigns();
-- the original has gone on meanwhile, and nobody was given anything here since: as after a failover
SELECT pg_temp.world(1000, '7/1/8/5'), pg_temp.course() AS last \gset
SAVEPOINT fine;
SELECT pg_temp.take(course => :'last', highest => 100), pg_temp.reigns();
ROLLBACK TO fine;
-- or somebody was
SELECT pg_temp.take(), pg_temp.take(course => :'last', highest => 64), pg_temp.take(course => :'last', highest => 65), pg_temp.take();
ROLLBACK;

-- With segments_confirmed: after a failover nothing is given out until a standby knows of it.
BEGIN;
CALL pg_temp.make_up_the_world();
CREATE OR REPLACE FUNCTION uidgen_registry.registry_log(OUT written pg_lsn, OUT replayed pg_lsn) LANGUAGE sql AS
	'SELECT l[1]::pg_lsn, nullif(l[2], '''')::pg_lsn FROM string_to_array(current_setting(''segments_test.log''), '' '') AS l';
CREATE FUNCTION pg_temp.log(log text) RETURNS void LANGUAGE sql AS $$ SELECT set_config('segments_test.log', log, true) $$;
SELECT pg_temp.log('0/10 0/10'), uidgen_registry.create_segment('s', step => 10), uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
SELECT uidgen_registry.change_registry(segments_confirmed => true);
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take(), pg_temp.world(1000, '7/1/8/2'), pg_temp.take(), pg_temp.show();
SELECT pg_temp.version() AS old_version \gset
SELECT pg_temp.world(1000, '7/2/8/3'), pg_temp.take(), pg_temp.show(), pg_temp.reigns(), (SELECT pg_temp.short(unconfirmed::text) FROM uidgen_registry.segment);
-- what was fetched before is not handed back any more
SELECT pg_temp.release(15, version => :old_version), pg_temp.release(115), pg_temp.show();
SELECT pg_temp.log('0/20 0/20'), pg_temp.take(), pg_temp.show(), (SELECT pg_temp.short(unconfirmed::text) FROM uidgen_registry.segment);
SELECT pg_temp.log('0/30 0/1F'), pg_temp.take(), pg_temp.log('0/30 '), pg_temp.take(), pg_temp.show();
SELECT pg_temp.log('0/30 0/20'), pg_temp.take(), pg_temp.show(), pg_temp.reigns(), (SELECT pg_temp.short(unconfirmed::text) FROM uidgen_registry.segment);
-- the next failover while it waits; the owner's word; switched off
SELECT pg_temp.world(1000, '7/3/8/3'), pg_temp.take(), pg_temp.world(1000, '7/4/8/3'), pg_temp.take(), pg_temp.show(), pg_temp.reigns();
SELECT uidgen_registry.raise_segment('s', 0), pg_temp.take(), pg_temp.show();
SELECT pg_temp.world(1000, '7/5/8/3'), pg_temp.take();
UPDATE uidgen_registry.registry SET segments_confirmed = false;
SELECT pg_temp.take(), pg_temp.show(), (SELECT pg_temp.short(unconfirmed::text) FROM uidgen_registry.segment);
-- an old node, too
UPDATE uidgen_registry.registry SET segments_confirmed = true;
SELECT pg_temp.world(1000, '7/6/8/3'), (SELECT f.first_value IS NULL FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807) AS f);
-- not of a local registry
SELECT pg_temp.try('UPDATE uidgen_registry.registry SET shared = false');
ROLLBACK;

-- Who has to have replayed it: all standbys that follow now, and all that followed before, but for this server; or as many as
-- the owner says.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s'), pg_temp.world(1000, '7/2/8');
CREATE OR REPLACE FUNCTION uidgen_registry.registry_standbys(OUT name text, OUT replayed pg_lsn) RETURNS SETOF record LANGUAGE sql AS
	'SELECT split_part(s, ''='', 1), split_part(s, ''='', 2)::pg_lsn FROM string_to_table(nullif(current_setting(''segments_test.standbys''), ''''), '' '') AS s';
CREATE FUNCTION pg_temp.replayed(standbys text, known text, known_in text, needed integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('segments_test.standbys', standbys, true);
	UPDATE uidgen_registry.registry SET standbys = known::text[], standbys_reign.system_identifier = split_part(known_in, '/', 1)::bigint,
		standbys_reign.timeline = split_part(known_in, '/', 2)::integer, confirming_standbys = needed;
	RETURN (SELECT pg_temp.short(l.replayed::text) FROM uidgen_registry.registry_log() AS l);
END $$;
SELECT c.*, pg_temp.replayed(standbys, known, known_in, needed) FROM (VALUES
	('', '{}', '7/2', NULL),
	('a=0/3', '{}', '7/2', NULL),
	('a=0/3 b=0/1 c=0/2', '{}', '7/2', NULL),
	('a=0/3 b=0/2', '{a,b}', '7/2', NULL),
	-- one that is cut off could take over; on a later timeline it may be this server, elsewhere not
	('a=0/3', '{a,b}', '7/2', NULL),
	('a=0/3', '{a,b}', '7/1', NULL),
	('a=0/3', '{a,b,c}', '7/1', NULL),
	('a=0/3', '{a,b}', '7/3', NULL),
	('a=0/3', '{a,b}', '9/1', NULL),
	('', '{a}', '7/1', NULL),
	('a=0/3 b=0/1 c=0/2', '{d,e}', '7/2', 1),
	('a=0/3 b=0/1 c=0/2', '{}', '7/2', 2),
	('a=0/3 b=0/1 c=0/2', '{}', '7/2', 3),
	('a=0/3 b=0/1 c=0/2', '{}', '7/2', 4)) AS c (standbys, known, known_in, needed);
-- what is said of those that have not
SELECT pg_temp.replayed('a=0/1', '{}', '7/2', NULL);
SELECT e.refusal FROM (VALUES ('0/1'), ('0/2')) AS a (awaited), uidgen_registry.explain_unconfirmed(awaited::pg_lsn) AS e;
-- names are added, and begin anew where another history is confirmed
CREATE FUNCTION pg_temp.note(names text, confirmed boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('segments_test.standbys', names, true), uidgen_registry.note_standbys(confirmed);
	RETURN (SELECT format('%s in %s', ARRAY(SELECT unnest(r.standbys) ORDER BY 1), (r.standbys_reign).timeline) FROM uidgen_registry.registry AS r);
END $$;
UPDATE uidgen_registry.registry SET standbys = '{}', standbys_reign = uidgen_registry.present_history(with_label => true);
SELECT pg_temp.note('a=0/1 b=0/1', false), pg_temp.note('b=0/1 c=0/1', false), pg_temp.note('c=0/1', true);
SELECT pg_temp.world(1000, '7/3/8'), pg_temp.note('c=0/1', false), pg_temp.note('c=0/1 d=0/1', false), pg_temp.note('c=0/1', true);
ROLLBACK;

-- A start or the owner's word that a failover has lost is no other history: the gap covers it.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10), uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take();
SAVEPOINT standby;
SELECT pg_temp.world(1000, '7/1/8/2'), pg_temp.take(), uidgen_registry.raise_segment('s', 50), pg_temp.take(), pg_temp.reigns();
SELECT pg_temp.course() AS lost \gset
ROLLBACK TO standby;
SELECT pg_temp.world(1000, '7/2/8/3'), pg_temp.take(course => :'lost', highest => 60), pg_temp.reigns();
SELECT pg_temp.take(course => :'lost', highest => 110), pg_temp.take(course => :'lost', highest => 111);
ROLLBACK TO standby;
-- but not what this row has given as well
SELECT pg_temp.take(), pg_temp.take(course => :'lost', highest => 60), pg_temp.reigns();
ROLLBACK TO standby;
-- nor what was given in another history
SELECT pg_temp.world(1000, '7/2/8/3'), pg_temp.take(), pg_temp.world(1000, '7/2/8/4'), pg_temp.take();
SELECT pg_temp.course() AS lost \gset
ROLLBACK TO standby;
SELECT pg_temp.world(1000, '7/2/8/3'), pg_temp.take(course => :'lost', highest => 20);
ROLLBACK;

-- The original of such a copy goes on as well, and is told of what the copy gave out.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10), uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take();
SAVEPOINT copied;
SELECT pg_temp.world(1000, '7/1/8/2'), pg_temp.take();
SELECT pg_temp.course() AS copy \gset
ROLLBACK TO copied;
SELECT pg_temp.take(), pg_temp.take(course => :'copy', highest => 10);
SAVEPOINT fine;
SELECT pg_temp.take(course => :'copy', highest => 11);
ROLLBACK TO fine;
SELECT pg_temp.world(1000, '7/1/8/3'), pg_temp.take(), pg_temp.take(course => :'copy', highest => 11);
ROLLBACK TO fine;
SELECT pg_temp.world(1000, '7/2/8/3'), pg_temp.take(), pg_temp.take(course => :'copy', highest => 11);
ROLLBACK;

-- What happens with a stopped one; the last 32 reigns; those of the owner's making.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 10);
UPDATE uidgen_registry.segment SET failover_gap = 100;
SELECT pg_temp.take(), pg_temp.course() AS one \gset
SELECT pg_temp.take(course => '{2}', highest => 5);
SELECT uidgen_registry.drop_segment('s'), uidgen_registry.create_segment('s', 50, 10), pg_temp.take(), pg_temp.reigns();
SELECT uidgen_registry.drop_segment('s'), uidgen_registry.create_segment('s', 7, 10, restart => true), pg_temp.take(), pg_temp.reigns();
SELECT pg_temp.take(course => '{2}', highest => 8);
-- a history that nobody has noticed so far is left out all the same
SELECT pg_temp.course() AS one \gset
SELECT pg_temp.world(1000, '7/2/8'), uidgen_registry.raise_segment('s', 30), pg_temp.take(course => :'one', highest => 116), pg_temp.reigns();
SELECT pg_temp.course() AS two \gset
SELECT uidgen_registry.raise_segment('s', g) FROM generate_series(200, 228) AS g \g /dev/null
SELECT pg_temp.reigns(), pg_temp.take(), (SELECT (:'two'::bigint[])[3] = ANY (reigns) FROM uidgen_registry.segment);
-- forgotten, and known for too high a number
SELECT pg_temp.world(1000, '7/' || g || '/8'), pg_temp.take() FROM generate_series(3, 40) AS g \g /dev/null
SELECT regexp_replace(pg_temp.reigns(), ' .* ', ' ... '), (SELECT reign_floor < last_value AND (:'two'::bigint[])[3] <> ALL (reigns) FROM uidgen_registry.segment);
SELECT reign_floor, last_value FROM uidgen_registry.segment \gset
SELECT pg_temp.take(course => :'two', highest => :reign_floor) = format('%s to %s', :last_value + 1, :last_value + 10);
SELECT pg_temp.take(course => :'two', highest => :reign_floor + 1) ~ 'stopped';
ROLLBACK;

-- A gap that is still to be left out is not made smaller.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s');
UPDATE uidgen_registry.segment SET failover_gap = 5000;
SELECT pg_temp.take(10), pg_temp.world(2000, '7/2/8');
SELECT pg_temp.try('SELECT uidgen_registry.change_segment($$s$$, failover_gap => 4999)'), pg_temp.try('SELECT uidgen_registry.change_segment($$s$$, failover_gap => 5001, description => $$x$$)');
SELECT pg_temp.take(10), pg_temp.try('SELECT uidgen_registry.change_segment($$s$$, failover_gap => 4999)');
ROLLBACK;

-- For how long the gap covers what is given: 100 numbers a second, in steps of 10 s, and then nothing more.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.create_segment('s', step => 1000), uidgen_registry.create_segment('t'), uidgen_registry.create_segment('gone'), uidgen_registry.drop_segment('gone');
UPDATE uidgen_registry.segment SET failover_gap = 20000;
SELECT uidgen_registry.gap_lasts(s, uidgen_registry.registry_clock()) FROM uidgen_registry.segment AS s;
SELECT pg_temp.world(1000 + 10 * g), pg_temp.take(0) FROM generate_series(0, 60) AS g \g /dev/null
SELECT name, round(rate), justify_interval(date_trunc('second', uidgen_registry.gap_lasts(s, uidgen_registry.registry_clock()))) FROM uidgen_registry.segment AS s ORDER BY name;
SELECT gap_lasts / 1000000 FROM uidgen_registry.segment_fetch('s', 0, 0, 0, '{}', -1, 9223372036854775807);
SELECT pg_temp.world(1720), date_trunc('second', uidgen_registry.gap_lasts(s, to_timestamp(1720))) FROM uidgen_registry.segment AS s WHERE name = 's';
SELECT pg_temp.world(1000000), uidgen_registry.gap_lasts(s, to_timestamp(1000000)) IS NULL FROM uidgen_registry.segment AS s WHERE name = 's';
UPDATE uidgen_registry.segment SET failover_gap = 0;
SELECT gap_lasts IS NULL FROM uidgen_registry.segment_fetch('s', 0, 0, 0, '{}', -1, 9223372036854775807);
ROLLBACK;
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.share_registry('time:20:1s sequence:1 epoch:1970-01-01', '60 s', '5 s');
SELECT stopped_segments, gap_lasts FROM uidgen_registry.status;
SELECT uidgen_registry.create_segment('s', step => 1000), uidgen_registry.create_segment('t', step => 10), uidgen_registry.create_segment('gone'), uidgen_registry.drop_segment('gone');
SELECT pg_temp.take(0), pg_temp.take(0, name => 't'), pg_temp.take(highest => 1000000000);
SELECT stopped_segments, gap_lasts = (SELECT min(uidgen_registry.gap_lasts(s, uidgen_registry.registry_clock())) FROM uidgen_registry.segment AS s) FROM uidgen_registry.status;
ROLLBACK;

-- A row that stays locked is an error, however often it was tried.
BEGIN;
ALTER TABLE uidgen_registry.segment RENAME TO held;
CREATE FUNCTION public.held() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'it is locked' USING ERRCODE = 'lock_not_available'; END $$;
CREATE VIEW uidgen_registry.segment AS SELECT 's' AS name WHERE public.held();
SELECT pg_temp.try($$SELECT uidgen_registry.lock_for_owner('s')$$);
ROLLBACK;
