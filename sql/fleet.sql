-- The functions of a shared registry, called directly.
--
-- Everything happens in transactions that are rolled back, on emptied tables, with a clock
-- and a history of the registry that are made up: a tick takes a second, and tick 0 is
-- 1970-01-01.  test/t/fleet_script.pl runs this file also where the registry lies without
-- the extension, as a role that is no superuser.

\set SHOW_CONTEXT never
-- What the tests call is not shown.
\set ECHO none
-- What is changed by hand here, no guard is to refuse: see script/registry/10_registry.sql.
SET search_path = pg_catalog, uidgen_registry, pg_temp;
SET client_min_messages = error;
SET intervalstyle = postgres;
SET datestyle = ISO;
SET timezone = UTC;

-- Which tick the clock shows, half a second past its beginning, and which run of the server it is.
CREATE FUNCTION pg_temp.world(tick bigint, run text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('fleet_test.tick', tick::text, true),
		set_config('fleet_test.run', coalesce(run, current_setting('fleet_test.run')), true);
$$;
SELECT set_config('fleet_test.run', '1', false);
-- In a transaction: what the registry goes by.
CREATE PROCEDURE pg_temp.make_up_the_world() LANGUAGE plpgsql AS $$
BEGIN
	CREATE OR REPLACE FUNCTION uidgen_registry.in_transaction_block() RETURNS boolean LANGUAGE sql AS 'SELECT false';
	CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz LANGUAGE sql AS
		'SELECT to_timestamp(current_setting(''fleet_test.tick'')::bigint + 0.5)';
	CREATE OR REPLACE FUNCTION uidgen_registry.registry_history(OUT system_identifier bigint, OUT timeline int, OUT started timestamptz, OUT database oid) LANGUAGE sql AS
		'SELECT 7, current_setting(''fleet_test.run'')::int, ''2026-01-01''::timestamptz, 8::oid';
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	PERFORM pg_temp.world(1000, '1');
END $$;

-- A registry with this quarantine and these rows, as 'WORKER IDENTITY GRANTED_UNTIL[@MODIFIED] [r], ...':
-- identity - is null, r means released; the token is 100 + the worker id.  A row was changed
-- last ten ticks before its end, unless it says when.
CREATE FUNCTION pg_temp.set_registry(content text, quarantine bigint, max_worker int) RETURNS void LANGUAGE sql AS $$
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	INSERT INTO uidgen_registry.registry
		(layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, only_one, shared, id, max_lead, clock_slack,
		 system_identifier, timeline, started, database, quarantine_until)
		SELECT 'A', 1000000, 0, 1000000, 1, max_worker, '2026-01-01', true, true, 42, '60 s', '5 s', h.*, quarantine
		FROM uidgen_registry.registry_history() AS h;
	INSERT INTO uidgen_registry.worker_node
		SELECT coalesce(f[1]::int, 0), f[2]::int, 'host ' || f[2], 5432, 2, '2026-01-01', '2026-01-01',
			to_timestamp(coalesce(f[5]::int, f[4]::int - 10)),
			nullif(f[3], '-'), CASE WHEN f[6] IS NULL THEN 100 + f[2]::bigint END, f[4]::bigint, f[6] IS NOT NULL, 7
		FROM regexp_matches(content, '(?:(\d+)/)?(\d+) (\S+) (\d+)(?:@(\d+))?( r)?', 'g') AS f;
$$;
CREATE FUNCTION pg_temp.get_rows() RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ',
			CASE WHEN datacenter_id <> 0 THEN datacenter_id || '/' ELSE '' END || worker_id,
			coalesce(identity, '-'), granted_until, CASE WHEN released THEN 'r' END),
		', ' ORDER BY datacenter_id, worker_id), 'empty')
	FROM uidgen_registry.worker_node;
$$;

-- An error, with ticks for the times in it
CREATE FUNCTION pg_temp.failure(code text, message text, detail text, hint text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text := concat_ws(E'\n  ', code || ' ' || message, nullif(detail, ''), nullif(hint, ''));
	found text;
BEGIN
	LOOP
		found := substring(result FROM '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC');
		EXIT WHEN found IS NULL;
		result := replace(result, found, 'tick ' || extract(epoch FROM found::timestamptz)::int);
	END LOOP;
	RETURN result;
END $$;

-- The three calls; with content, on a registry that has just that.
CREATE FUNCTION pg_temp.acquire(content text DEFAULT NULL, holder text DEFAULT 'me', quarantine bigint DEFAULT -1,
	wanted int DEFAULT -1, policy text DEFAULT 'reuse',
	tokens bigint[] DEFAULT '{}', claimed int DEFAULT -1, claimed_until bigint DEFAULT -1,
	floor_tick bigint DEFAULT 0, window_ticks bigint DEFAULT 10,
	at bigint DEFAULT 9223372036854775807, not_after bigint DEFAULT 9223372036854775807,
	datacenter int DEFAULT 0, layout_text text DEFAULT 'A', registry_workers int DEFAULT 3)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
	message text;
	detail text;
	hint text;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_registry(content, quarantine, registry_workers);
	END IF;
	BEGIN
		SELECT * INTO STRICT g
		FROM uidgen_registry.lease(holder, layout_text, 500, tokens, claimed, claimed_until, datacenter, wanted, floor_tick, window_ticks, at, not_after, 'new host', 5433, 1, policy);
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN pg_temp.failure(SQLSTATE, message, detail, hint);
	END;
	-- which of the never used is taken, is random
	RETURN CASE WHEN g.worker IS NULL AND g.first_tick IS NULL THEN 'ask again'
			WHEN g.worker IS NULL THEN 'too far ahead'
			WHEN NOT g.never_used OR wanted >= 0 OR claimed >= 0 THEN 'worker ' || g.worker ELSE 'one never used' END ||
		coalesce(': ' || g.first_tick, '') || coalesce(' to ' || g.last_tick, '') ||
		CASE WHEN g.quarantine_until > 0 THEN ', quarantine until ' || g.quarantine_until ELSE '' END;
END $$;

CREATE FUNCTION pg_temp.renew(content text, worker int, token bigint, until bigint, needed bigint DEFAULT 0, window_ticks bigint DEFAULT 10,
	at bigint DEFAULT 9223372036854775807, not_after bigint DEFAULT 9223372036854775807, quarantine bigint DEFAULT -1, datacenter int DEFAULT 0)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
	message text;
	detail text;
	hint text;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_registry(content, quarantine, 3);
	END IF;
	BEGIN
		SELECT * INTO STRICT g FROM uidgen_registry.lease_renew(datacenter, worker, token, until, 600, needed, window_ticks, at, not_after);
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN pg_temp.failure(SQLSTATE, message, detail, hint);
	END;
	RETURN coalesce('until ' || g.last_tick, 'fenced') || CASE WHEN g.quarantine_until > 0 THEN ', quarantine until ' || g.quarantine_until ELSE '' END;
END $$;

CREATE FUNCTION pg_temp.release(content text, worker int, tokens bigint[], not_after bigint DEFAULT 9223372036854775807) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_registry(content, -1, 3);
	END IF;
	SELECT * INTO STRICT g FROM uidgen_registry.lease_release(0, worker, tokens, not_after);
	RETURN CASE WHEN g.done THEN 'done' ELSE 'not done' END || ' -> ' || pg_temp.get_rows();
EXCEPTION WHEN query_canceled THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE FUNCTION pg_temp.import(content text, workers int[], ends bigint[], datacenter int DEFAULT 0, not_after bigint DEFAULT 9223372036854775807)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
	message text;
	detail text;
	hint text;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_registry(content, -1, 3);
	END IF;
	BEGIN
		SELECT * INTO STRICT g FROM uidgen_registry.node_import(datacenter, workers, ends, not_after);
	EXCEPTION WHEN OTHERS OR query_canceled THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN pg_temp.failure(SQLSTATE, message, detail, hint) || E'\n  -> ' || pg_temp.get_rows();
	END;
	RETURN coalesce(g.done::text, 'null') || ' -> ' || pg_temp.get_rows();
END $$;

-- A command that may fail; what fails is undone.
CREATE FUNCTION pg_temp.try(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	-- the row that a constraint refuses is random
	RETURN pg_temp.failure(SQLSTATE, message, CASE WHEN SQLSTATE <> '23514' THEN detail END, hint);
END $$;

\pset format unaligned
\pset tuples_only on
\set ECHO all

-- A registry is made a shared one, before its first grant and for good.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire();
SELECT uidgen_registry.share_registry('time:20:1s datacenter:1 worker:2 sequence:1 epoch:1970-01-01', '60 s', '5 s');
SELECT layout, unit, epoch, max_tick, max_datacenter, max_worker, extract(epoch FROM pinned), database, shared, id <> 0, max_lead, clock_slack,
	system_identifier, timeline, quarantine_until FROM uidgen_registry.registry;
SELECT pg_temp.try($$SELECT uidgen_registry.share_registry('time:20:1s datacenter:1 worker:2 sequence:1 epoch:1970-01-01')$$);
DELETE FROM uidgen_registry.registry;
INSERT INTO uidgen_registry.registry (only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database) VALUES (true, 'A', 1000000, 0, 1000000, 1, 3, now(), 8);
SELECT pg_temp.try($$SELECT uidgen_registry.share_registry('time:20:1s datacenter:1 worker:2 sequence:1 epoch:1970-01-01')$$);
-- ... which is a local one:
SELECT pg_temp.acquire();
SELECT pg_temp.renew(NULL, 1, 101, 1005);
SELECT pg_temp.try($$SELECT uidgen_registry.lease_release(0, 1, '{101}', 9223372036854775807)$$);
SELECT pg_temp.try('SELECT uidgen_registry.end_quarantine()');
DELETE FROM uidgen_registry.registry;
INSERT INTO uidgen_registry.worker_node VALUES (0, 1, 'host', 1, 1, now(), now(), now(), 'a', 1, 1, false, 1);
SELECT pg_temp.try($$SELECT uidgen_registry.share_registry('time:20:1s datacenter:1 worker:2 sequence:1 epoch:1970-01-01')$$);
DELETE FROM uidgen_registry.worker_node;
-- what makes no sense
SELECT pg_temp.try(format('SELECT uidgen_registry.share_registry(%s)', arguments)) FROM (VALUES
	($$'A'$$),
	($$'mastodon worker:3'$$),
	($$'seata'$$),
	($$'time:19:1s sequence:1 epoch:1970-01-01'$$),
	($$'cockroachdb'$$),
	($$'time:51:1ms worker:1 sequence:12 epoch:1970-01-01'$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01T00:33:20'$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01', '7 s'$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01', '60 s', '-1 s'$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01', NULL$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01', '1 day'$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01', '60 s', '1 day'$$),
	($$'time:20:1s sequence:1 epoch:1970-01-01', '8 s', '24 h'$$)) AS c (arguments);
ROLLBACK;

-- Which worker id
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('');
-- one of this server's that is free: handed back, or ended and unchanged for more than 65 seconds
SELECT pg_temp.acquire('0 me 933');
SELECT pg_temp.acquire('0 me 934');
SELECT pg_temp.acquire('0 me 900@935');
SELECT pg_temp.acquire('0 me 900@936');
SELECT pg_temp.acquire('0 me 1005 r, 1 me 900, 2 a 800');
SELECT pg_temp.acquire('0 me 1005');
-- then one never used, then the one that ended longest ago
SELECT pg_temp.acquire('0 a 900, 1 a 800, 2 - 700 r');
SELECT pg_temp.acquire('0 a 900, 1 a 800, 2 - 850 r, 3 a 1005');
SELECT pg_temp.acquire('0 a 900, 1 a 1005, 2 a 890 r, 3 a 1005');
SELECT pg_temp.acquire('0 a 1003 r, 1 a 1005, 2 a 1002 r, 3 a 1005');
-- not one that would have to be waited for
SELECT pg_temp.acquire('0 a 1058 r, 1 a 1005, 2 a 1005, 3 a 1005', holder => 'b');
SELECT pg_temp.acquire('0 a 1057 r, 1 a 1005, 2 a 1005, 3 a 1005', holder => 'b');
-- nothing is free: this server's own, first one that has ended
SELECT pg_temp.acquire('0 me 1010, 1 me 999, 2 me 1005, 3 a 1005');
SELECT pg_temp.acquire('0 me 1010, 1 a 999, 2 me 1005, 3 a 1005');
-- none: says when there will be one
SELECT pg_temp.acquire('0 a 1010, 1 a 1005, 2 a 1020, 3 a 1030');
SELECT pg_temp.acquire('0 a 900@990, 1 a 1005, 2 a 1020, 3 a 1030');
SELECT pg_temp.world(1071);
SELECT pg_temp.acquire('0 a 1010, 1 a 1005, 2 a 1020, 3 a 1030');
SELECT pg_temp.world(1072);
SELECT pg_temp.acquire('0 a 1010, 1 a 1005, 2 a 1020, 3 a 1030');
SELECT pg_temp.world(1000);
-- a worker id that is wanted
SELECT pg_temp.acquire('0 a 1005', wanted => 2);
SELECT pg_temp.acquire('2 a 1005 r', wanted => 2);
SELECT pg_temp.acquire('2 a 933', wanted => 2);
SELECT pg_temp.acquire('2 a 934', wanted => 2);
SELECT pg_temp.acquire('2 me 1005', wanted => 2);
SELECT pg_temp.acquire('2 - 1005 r', wanted => 2);
SELECT pg_temp.acquire('', wanted => 4);
SELECT pg_temp.acquire('', datacenter => 2);
-- none twice
SELECT pg_temp.acquire('0 me 900, 1 me 900 r, 2 a 900', policy => 'disposable');
SELECT pg_temp.acquire('0 me 900, 1 me 900 r, 2 a 900, 3 a 900', policy => 'disposable');
SELECT pg_temp.acquire('', policy => 'retain');
-- other datacenters have worker ids of their own
SELECT pg_temp.acquire('0 a 1005, 1 a 1005, 2 a 1005, 3 a 1005, 1/0 a 900', datacenter => 1);
SELECT pg_temp.acquire('1/0 me 900', datacenter => 1);
SELECT pg_temp.acquire('0 a 1005, 1 a 1005, 2 a 1005, 3 a 900, 1/0 a 900 r');
-- how many are free, and why this one
CREATE FUNCTION pg_temp.explain(content text, tokens bigint[] DEFAULT '{}', wanted int DEFAULT -1) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.set_registry(content, -1, 9);
	SELECT g.free_workers || ' free: ' || g.reason
	FROM uidgen_registry.lease('me', 'A', 1, tokens, -1, -1, 0, wanted, 0, 10, 2000, 9223372036854775807, 'host', 1, 1) AS g;
$$;
SELECT pg_temp.explain('');
SELECT pg_temp.explain('0 me 990, 1 me 900, 2 a 1005, 3 a 1005, 4 a 1005');
SELECT pg_temp.explain('0 a 990, 1 a 900, 2 a 1005, 3 a 1005, 4 a 1005, 5 a 1005, 6 a 1005, 7 a 1005, 8 a 1005, 9 a 1005');
SELECT pg_temp.explain('0 a 990, 1 me 990, 2 a 1005, 3 a 1005, 4 a 1005, 5 a 1005, 6 a 1005, 7 a 1005, 8 a 1005, 9 a 1005');
SELECT pg_temp.explain('0 me 990', tokens => '{100}');
SELECT pg_temp.explain('0 me 990', wanted => 5);
ROLLBACK;

-- Of many worker ids a few are looked at; if none of them is free, all are.
BEGIN;
CALL pg_temp.make_up_the_world();
DO $$
DECLARE
	taken int[] := '{}';
	few int[] := '{}';
	about numeric[] := '{}';
	g record;
BEGIN
	FOR i IN 1 .. 40 LOOP
		PERFORM pg_temp.set_registry('', -1, 9999);
		SELECT * INTO g FROM uidgen_registry.lease('me', 'A', 1, '{}', -1, -1, 0, -1, 0, 10, 2000, 9223372036854775807, 'host', 1, 1);
		taken := taken || g.worker;
	END LOOP;
	RAISE INFO 'distinct %, low %, high %', cardinality(ARRAY(SELECT DISTINCT unnest(taken))) > 35,
		(SELECT min(t) < 2500 FROM unnest(taken) AS t), (SELECT max(t) > 7500 FROM unnest(taken) AS t);

	PERFORM pg_temp.set_registry('', -1, 1999);
	INSERT INTO uidgen_registry.worker_node SELECT 0, id, 'host', 1, 1, '2026-01-01', '1970-01-01', to_timestamp(995), 'a', 1, 1005, false, 1
		FROM generate_series(0, 1999) AS id WHERE id % 1000 <> 7;
	FOR i IN 1 .. 20 LOOP
		SELECT * INTO g FROM uidgen_registry.lease('me', 'A', 1, '{}', -1, -1, 0, -1, 0, 10, 2000, 9223372036854775807, 'host', 1, 1);
		few := few || g.worker;
		DELETE FROM uidgen_registry.worker_node WHERE identity = 'me';
	END LOOP;
	RAISE INFO 'the only ones: %', (SELECT array_agg(DISTINCT f) FROM unnest(few) AS f);
	-- half of them ended long ago
	UPDATE uidgen_registry.worker_node SET granted_until = 900, modified = to_timestamp(900) WHERE worker_id % 2 = 1;
	FOR i IN 1 .. 20 LOOP
		SELECT * INTO g FROM uidgen_registry.lease('b' || i, 'A', 1, '{}', -1, -1, 0, -1, 0, 10, 2000, 9223372036854775807, 'host', 1, 1);
		about := about || g.free_workers::numeric;
	END LOOP;
	RAISE INFO 'about half: %', (SELECT avg(a) BETWEEN 800 AND 1200 FROM unnest(about) AS a);
END $$;
ROLLBACK;

-- R2: claims.  By token, whoever it seems to be, and then above the row's end
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('0 me 1005, 1 a 900', tokens => '{100}');
SELECT pg_temp.acquire('0 me 1005, 1 a 900', tokens => '{99,100}', claimed => 0, claimed_until => 1005);
-- ... above the end that the node knows, too
SELECT pg_temp.acquire('0 me 1005', tokens => '{100}', claimed => 0, claimed_until => 1015);
-- a lost answer: the row has the token that was proposed, and a later end
SELECT pg_temp.acquire('0 me 1025', tokens => '{77,100}', claimed => 0, claimed_until => 1010);
SELECT pg_temp.acquire('0 other 1025', tokens => '{77,100}', claimed => 0, claimed_until => 1010);
-- of an acquisition, where the node knows the row by its identity only
SELECT pg_temp.acquire('2 me 1025', tokens => '{102}');
SELECT pg_temp.acquire('2 other 1025', tokens => '{102}');
-- its end may be max_lead old, or its last change
SELECT pg_temp.acquire('0 me 940', tokens => '{100}');
SELECT pg_temp.acquire('0 me 939, 1 a 900 r, 2 a 1005, 3 a 1005', tokens => '{100}');
SELECT pg_temp.acquire('0 me 900@941, 1 a 900 r, 2 a 1005, 3 a 1005', tokens => '{100}');
SELECT pg_temp.acquire('0 me 900@940, 1 a 900 r, 2 a 1005, 3 a 1005', tokens => '{100}');
-- another token is nobody's right, and null is none
SELECT pg_temp.acquire('0 me 1005, 1 a 900 r, 2 a 1005, 3 a 1005', tokens => '{101}');
SELECT pg_temp.acquire('0 me 1005 r', tokens => '{NULL,100}');
-- by the end of the grant, where the registry's is lower or missing
SELECT pg_temp.acquire('0 a 1005', claimed => 0, claimed_until => 1006, quarantine => 1006);
SELECT pg_temp.acquire('0 a 1005, 1 a 900 r, 2 a 1005, 3 a 1005', claimed => 0, claimed_until => 1005);
SELECT pg_temp.acquire('', claimed => 3, claimed_until => 1006, quarantine => 1006), pg_temp.get_rows();
SELECT pg_temp.acquire('0 a 1005, 1 a 900 r, 2 a 1005, 3 a 1005', claimed => 4, claimed_until => 1006, quarantine => 1006);
-- the same age: later it is an ordinary call
SELECT pg_temp.acquire('0 a 900', claimed => 0, claimed_until => 940, quarantine => 1006);
SELECT pg_temp.acquire('0 a 900, 1 a 1005, 2 a 800, 3 a 1005', claimed => 0, claimed_until => 939, quarantine => 1006);
-- and the row's last change counts, but for that of a release
SELECT pg_temp.acquire('0 a 900@941, 1 a 800 r, 2 a 1005, 3 a 1005', claimed => 0, claimed_until => 939, quarantine => 970);
SELECT pg_temp.acquire('0 a 900@940, 1 a 800 r, 2 a 1005, 3 a 1005', claimed => 0, claimed_until => 939, quarantine => 970);
SELECT pg_temp.acquire('0 a 900@941 r, 1 a 800 r, 2 a 1005, 3 a 1005', claimed => 0, claimed_until => 939, quarantine => 970);
SELECT pg_temp.acquire('0 a 900@941 r', claimed => 0, claimed_until => 940, quarantine => 970);
-- a wanted worker id is not given up for a claim
SELECT pg_temp.acquire('0 me 1005, 1 me 900', tokens => '{100}', wanted => 1);
SELECT pg_temp.acquire('1 me 900', claimed => 0, claimed_until => 1006, wanted => 1, quarantine => 1006);
SELECT pg_temp.acquire('0 me 1005', tokens => '{100}', wanted => 0);
-- in its own datacenter only
SELECT pg_temp.acquire('1/0 me 1005', tokens => '{100}');
SELECT pg_temp.acquire('1/0 me 1005', tokens => '{100}', datacenter => 1);
ROLLBACK;

-- R4: how far
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('', window_ticks => 30), pg_temp.acquire('', window_ticks => 31), pg_temp.acquire('', window_ticks => -1);
SELECT pg_temp.acquire('', floor_tick => 1050);
SELECT pg_temp.acquire('', floor_tick => 1058);
SELECT pg_temp.acquire('', floor_tick => 1059);
SELECT pg_temp.acquire('', floor_tick => 9223372036854775807);
SELECT pg_temp.acquire('0 me 1049', tokens => '{100}');
SELECT pg_temp.acquire('0 me 1057', tokens => '{100}');
SELECT pg_temp.acquire('0 me 1058', tokens => '{100}');
SELECT pg_temp.acquire('0 me 1050', tokens => '{100}', window_ticks => 9);
SELECT pg_temp.acquire('', claimed => 0, claimed_until => 9223372036854775807);
-- nothing is granted then, but the node learns the clock: one that was set back, here
SELECT pg_temp.acquire('0 me 1049', tokens => '{100}'), pg_temp.world(900);
SELECT * FROM uidgen_registry.lease('me', 'A', 501, '{500}', 0, 1060, 0, -1, 0, 10, 2000, 9223372036854775807, 'host', 1, 1);
SELECT token, granted_until, launches FROM uidgen_registry.worker_node;
SELECT * FROM uidgen_registry.lease_renew(0, 0, 500, 1060, 502, 1061, 10, 1055, 9223372036854775807);
SELECT token, granted_until, extract(epoch FROM modified) FROM uidgen_registry.worker_node;
SELECT pg_temp.world(1000);
-- at the node's own time, if that is behind
SELECT pg_temp.acquire('', at => 700), pg_temp.acquire('', at => 1001), pg_temp.acquire('0 me 750 r', at => 700);
-- up to the end of the layout
SELECT pg_temp.world(999985);
SELECT pg_temp.acquire('', wanted => 0);
SELECT pg_temp.acquire('', wanted => 0, floor_tick => 999999);
SELECT pg_temp.acquire('', wanted => 0, floor_tick => 1000000);
SELECT pg_temp.renew('0 me 999990', 0, 100, 999990, needed => 999995);
SELECT pg_temp.renew('0 me 999990', 0, 100, 999990, needed => 1000000);
SELECT pg_temp.world(-1);
SELECT pg_temp.acquire('');
ROLLBACK;

-- The numbers are the registry's: a node with others is refused.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('', layout_text => 'B');
SELECT pg_temp.get_rows();
ROLLBACK;

-- R1: renewals
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.renew('1 me 1005, 2 a 1005', 1, 101, 1005), pg_temp.get_rows();
SELECT token, extract(epoch FROM modified), launches FROM uidgen_registry.worker_node WHERE worker_id = 1;
-- of two copies of one memory only one goes on
SELECT pg_temp.renew(NULL, 1, 101, 1005);
SELECT pg_temp.renew('1 me 1005', 1, 102, 1005);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1004), pg_temp.renew('1 me 1005', 1, 101, 1006);
SELECT pg_temp.renew('1 me 1005 r', 1, 101, 1005);
SELECT pg_temp.renew('1/1 me 1005', 1, 101, 1005), pg_temp.renew('1/1 me 1005', 1, 101, 1005, datacenter => 1);
-- its end may be max_lead old, or its last change
SELECT pg_temp.renew('1 me 940', 1, 101, 940), pg_temp.renew('1 me 939', 1, 101, 939);
SELECT pg_temp.renew('1 me 900@941', 1, 101, 900), pg_temp.renew('1 me 900@940', 1, 101, 900);
-- from the node's own time, or from what it needs
SELECT pg_temp.renew('1 me 990', 1, 101, 990, at => 985), pg_temp.renew('1 me 990', 1, 101, 990, at => 1020);
SELECT pg_temp.renew('1 me 990', 1, 101, 990, needed => 1003, at => 985);
-- never lowered
SELECT pg_temp.renew('1 me 1020', 1, 101, 1020, needed => 1005);
-- up to max_lead ahead, also if that is less than what is needed
SELECT pg_temp.renew('1 me 1020', 1, 101, 1020, window_ticks => 90);
SELECT pg_temp.renew('1 me 1050', 1, 101, 1050, needed => 1051);
SELECT pg_temp.renew('1 me 1059', 1, 101, 1059, needed => 1060);
SELECT pg_temp.renew('1 me 1060', 1, 101, 1060, needed => 1061), pg_temp.get_rows();
SELECT pg_temp.renew('1 me 1060', 1, 101, 1060, needed => 1060), pg_temp.get_rows();
-- if the clock is set back, the time of the last change stays
SELECT pg_temp.renew('1 me 1060@1050', 1, 101, 1060);
SELECT extract(epoch FROM modified) FROM uidgen_registry.worker_node;
-- a null argument changes nothing
SELECT last_tick, clock FROM uidgen_registry.lease_renew(0, 1, 600, 1060, NULL, 0, 10, 0, 0);
ROLLBACK;

-- A registry's clock that is ten minutes ahead for good: its nodes keep their own time and
-- their worker ids, also after an answer that was lost, and after commits that were.
BEGIN;
CALL pg_temp.make_up_the_world();
DO $$
DECLARE
	g record;
	h record;
	lost uidgen_registry.worker_node;
	token bigint := 1;
	worker int;
	until bigint;
BEGIN
	PERFORM pg_temp.set_registry('', -1, 3);
	FOR step IN 0 .. 23 LOOP
		PERFORM pg_temp.world(1600 + step * 10);
		IF step IN (0, 21, 23) THEN
			-- after a lost answer it knows two tokens
			SELECT * INTO STRICT g FROM uidgen_registry.lease('me', 'A', token + 1, CASE step WHEN 21 THEN ARRAY[token - 1, token] ELSE ARRAY[token] END, coalesce(worker, -1), coalesce(until, -1), 0, -1, 0, 10, 1000 + step * 10, 9223372036854775807, 'host', 1, 1);
			RAISE INFO 'step %: % to %', step, g.first_tick, g.last_tick;
			IF g.worker <> worker THEN
				RAISE INFO 'another worker id';
			END IF;
			worker := g.worker;
		ELSE
			SELECT * INTO lost FROM uidgen_registry.worker_node;
			SELECT * INTO STRICT h FROM uidgen_registry.lease_renew(0, worker, token, until, token + 1, until + 1, 10, 1000 + step * 10, 9223372036854775807);
			g.last_tick := h.last_tick;
			IF h.last_tick IS NULL THEN
				RAISE INFO 'step %: fenced', step;
			END IF;
			IF step = 22 THEN
				-- the registry went back to before this renewal, and has written that down
				UPDATE uidgen_registry.worker_node AS n SET token = lost.token, granted_until = lost.granted_until, modified = lost.modified;
				UPDATE uidgen_registry.registry SET quarantine_until = 1900;
			END IF;
		END IF;
		token := token + 1;
		IF step <> 20 THEN
			until := g.last_tick;
		END IF;
	END LOOP;
END $$;
SELECT granted_until, extract(epoch FROM modified), launches FROM uidgen_registry.worker_node;
ROLLBACK;

-- R7: a release does not lower the end.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.release('1 me 1010, 2 me 1010', 1, '{101}');
SELECT token IS NULL, extract(epoch FROM modified) FROM uidgen_registry.worker_node WHERE worker_id = 1;
SELECT pg_temp.release(NULL, 1, '{101}');
SELECT pg_temp.release('1 me 1010', 1, '{77,101}');
SELECT pg_temp.release('1 me 1010', 1, '{77}');
SELECT pg_temp.release('1 me 1010', 1, '{}');
-- the next one begins above it
SELECT pg_temp.release('1 me 1010', 1, '{101}');
SELECT pg_temp.acquire(wanted => 1, holder => 'b');
-- so does the one after an operator has freed it
SELECT pg_temp.set_registry('1 me 1010', -1, 3);
SELECT uidgen_registry.forget_worker(1), pg_temp.get_rows();
SELECT pg_temp.acquire(wanted => 1, holder => 'b'), pg_temp.renew(NULL, 1, 101, 1010);
ROLLBACK;

-- R5: the quarantine.  A registry is born in it.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT uidgen_registry.share_registry('time:20:1s datacenter:1 worker:2 sequence:1 epoch:1970-01-01', '60 s', '5 s');
UPDATE uidgen_registry.registry SET layout = 'A', max_tick = 1000000;
SELECT pg_temp.acquire();
SELECT pg_temp.world(1008);
SELECT pg_temp.acquire();
-- a quarter of what is asked for is enough
SELECT pg_temp.world(1009);
SELECT pg_temp.acquire();
SELECT pg_temp.world(1017);
SELECT pg_temp.acquire();
-- a claim begins at once
SELECT pg_temp.acquire(tokens => '{500}');
-- ... so does a renewal
SELECT pg_temp.renew('1 me 1025', 1, 101, 1025, quarantine => 1066);
-- It is not forgotten when it is over: a node's own time may be behind.
SELECT pg_temp.world(5000);
SELECT pg_temp.acquire('', quarantine => 1066, at => 1030), pg_temp.acquire('', quarantine => 1066);
SELECT pg_temp.acquire('0 me 1030', quarantine => 1066, at => 1030);
-- Its owner can end it.
SELECT pg_temp.world(1010);
SELECT pg_temp.set_registry('', 1066, 3);
SELECT uidgen_registry.end_quarantine();
SELECT pg_temp.acquire(), pg_temp.acquire(at => 700);
SELECT quarantine_until FROM uidgen_registry.registry;
SELECT pg_temp.world(1020);
SELECT uidgen_registry.end_quarantine();
SELECT quarantine_until FROM uidgen_registry.registry;
ROLLBACK;

-- Another history begins one; it is written down by a call that grants nothing.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('0 a 900, 1 a 1050@990', wanted => 2);
SELECT pg_temp.world(1001, '2');
SELECT pg_temp.acquire(holder => 'b'), pg_temp.get_rows();
SELECT timeline, quarantine_until FROM uidgen_registry.registry;
SELECT pg_temp.acquire(holder => 'b');
SELECT pg_temp.world(1018);
SELECT pg_temp.acquire(holder => 'b');
-- claims go on at once, and write it down as renewals do
SELECT pg_temp.world(1020, '3');
SELECT pg_temp.acquire(tokens => '{101}', claimed => 1, claimed_until => 1050);
-- back on an old timeline is another history, too; a renewal goes on and writes it down
SELECT pg_temp.world(1000, '1');
SELECT pg_temp.set_registry('1 me 1005', -1, 3);
SELECT pg_temp.world(1001, '2');
SELECT pg_temp.renew(NULL, 1, 101, 1005);
SELECT timeline FROM uidgen_registry.registry;
SELECT pg_temp.world(1002, '1');
SELECT pg_temp.renew(NULL, 1, 600, 1011);
SELECT timeline FROM uidgen_registry.registry;
-- by the newest change, where the clock is behind it
SELECT pg_temp.set_registry('1 me 1005, 2 a 900@1030', -1, 3);
SELECT pg_temp.world(1002, '2');
SELECT pg_temp.acquire();
-- never earlier than the last one
SELECT pg_temp.set_registry('', 2000, 3);
SELECT pg_temp.world(1003, '3');
SELECT pg_temp.acquire();
-- a planned restart, which no node has seen before its owner ends the quarantine
SELECT pg_temp.world(1003, '1');
SELECT pg_temp.set_registry('', -1, 3);
SELECT pg_temp.world(1004, '2');
SELECT uidgen_registry.end_quarantine();
SELECT pg_temp.acquire();
-- each part of a history counts
SELECT pg_temp.set_registry('', -1, 3);
UPDATE uidgen_registry.registry SET system_identifier = 6;
SELECT pg_temp.acquire();
SELECT system_identifier FROM uidgen_registry.registry;
UPDATE uidgen_registry.registry SET started = '2025-01-01';
SELECT pg_temp.acquire();
SELECT started = '2026-01-01' FROM uidgen_registry.registry;
UPDATE uidgen_registry.registry SET database = 1;
SELECT pg_temp.acquire();
SELECT database FROM uidgen_registry.registry;
SELECT pg_temp.acquire();
ROLLBACK;

-- The owner's word that a registry which knows less than nodes have seen is the one that counts: its
-- timeline, as nodes are told, is above all that were told before, though the true one goes on to be compared.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.set_registry('1 me 1005', -1, 3);
DELETE FROM uidgen_registry.segment;
SELECT uidgen_registry.create_segment('s'), uidgen_registry.create_segment('t'), uidgen_registry.drop_segment('t');
CREATE FUNCTION pg_temp.timelines() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', r.timeline, r.timeline_offset, r.quarantine_until, (SELECT n.timeline FROM uidgen_registry.lease_release(0, 1, '{}', 9223372036854775807) AS n),
			(SELECT f.timeline FROM uidgen_registry.segment_fetch('u', 10, 0, 0, '{}', -1, 9223372036854775807) AS f), (SELECT timeline FROM uidgen_registry.segment WHERE name = 'u'))
		FROM uidgen_registry.registry AS r
$$;
SELECT uidgen_registry.create_segment('u'), pg_temp.timelines();
SELECT pg_temp.world(1767225600 + 500000, '2');
SELECT uidgen_registry.take_over_registry(), pg_temp.timelines();
SELECT name, stopped, extract(epoch FROM stopped_since) FROM uidgen_registry.segment ORDER BY name;
SELECT first_value, refusal, refusal_detail, timeline FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807);
SELECT uidgen_registry.raise_segment('u', 5000), pg_temp.timelines();
-- no call begins another quarantine, as none is of another history
SELECT pg_temp.world(1767225600 + 500001);
SELECT timeline, quarantine_until FROM uidgen_registry.lease_renew(0, 1, 101, 1005, 1, 1, 10, 1, 9223372036854775807);
SELECT pg_temp.world(1767225600 + 500001, '3');
SELECT timeline, quarantine_until FROM uidgen_registry.lease_renew(0, 1, 101, 1005, 1, 1, 10, 1, 9223372036854775807);
-- again, in the same second, and after a clock that was ahead
SELECT uidgen_registry.take_over_registry(), pg_temp.timelines();
SELECT pg_temp.world(1767225600 + 500007), uidgen_registry.take_over_registry(), pg_temp.world(1767225600 + 500005), uidgen_registry.take_over_registry();
SELECT count(*) FROM uidgen_registry.segment WHERE stopped IS NOT NULL;
-- from the same backup
SELECT pg_temp.set_registry('1 me 1005', -1, 3);
SELECT pg_temp.world(1767225600 + 500020, '2'), uidgen_registry.take_over_registry();
-- not a local one
UPDATE uidgen_registry.registry SET shared = false;
SELECT pg_temp.try('SELECT uidgen_registry.take_over_registry()');
ROLLBACK;

-- A server that changes from its local registry to this one brings its ends along.
BEGIN;
CALL pg_temp.make_up_the_world();
-- no row, a free one, one with a later end
SELECT pg_temp.import('', '{1}', '{1020}');
SELECT launches, token IS NULL, launch_date, created = modified, extract(epoch FROM modified), host_name, port, type FROM uidgen_registry.worker_node;
SELECT pg_temp.import('0 a 900 r, 1 a 933, 2 - 1010 r, 3 a 1005', '{0,1,2,3}', '{1020,1020,1020,1005}');
SELECT worker_id, token, identity, launches, extract(epoch FROM modified) FROM uidgen_registry.worker_node ORDER BY 1;
SELECT pg_temp.import('1/1 a 900', '{1}', '{1020}', datacenter => 1);
SELECT pg_temp.import('0 a 900 r', '{0,0}', '{1020,1010}');
SELECT pg_temp.import('', '{}', '{}');
-- nobody is granted those ticks again
SELECT pg_temp.import('0 a 900', '{0}', '{1020}');
SELECT pg_temp.acquire(wanted => 0, at => 800), pg_temp.renew(NULL, 0, 100, 900), pg_temp.renew(NULL, 0, 100, 1020);
-- neither by a claim of who had the row long ago, for which the end would be new enough
SELECT pg_temp.import('0 a 900, 1 b 1005, 2 b 1005, 3 b 1005', '{0}', '{1020}');
UPDATE uidgen_registry.registry SET quarantine_until = 1030;
SELECT pg_temp.acquire(holder => 'a', tokens => '{100}', claimed => 0, claimed_until => 900);
-- one beyond reach is waited for
SELECT pg_temp.import('', '{1}', '{1058}');
SELECT pg_temp.acquire(wanted => 1), pg_temp.world(1006);
SELECT pg_temp.acquire(wanted => 1), pg_temp.world(1000);
-- one that another holds, or may claim; then nothing is done
SELECT pg_temp.import('1 a 1005', '{0,1}', '{1020,1020}');
SELECT pg_temp.import('1 a 934', '{0,1}', '{1020,1020}');
SELECT pg_temp.import('1 a 900@936', '{1}', '{1020}');
-- as far as grants reach
SELECT pg_temp.import('', '{0,1}', '{1020,1060}');
SELECT pg_temp.import('', '{0,1}', '{1020,1061}');
SELECT pg_temp.import('', '{1}', '{9223372036854775807}');
-- what makes no sense
SELECT pg_temp.import('', '{0,1}', '{1020}');
SELECT pg_temp.import('', '{0}', '{1020,1020}');
SELECT pg_temp.import('', '{0}', '{NULL}');
SELECT pg_temp.import('', '{NULL}', '{1020}');
SELECT pg_temp.import('', '{NULL}', '{9223372036854775807}');
SELECT pg_temp.import('', '{0,4}', '{1020,1020}'), pg_temp.import('', '{-1}', '{1020}');
SELECT pg_temp.import('', '{1}', '{1020}', datacenter => 2);
SELECT pg_temp.import('', NULL, '{1020}');
SELECT pg_temp.import('', '{1}', '{1020}', not_after => 999000000);
SELECT pg_temp.set_registry('', 20, 3);
SELECT * FROM uidgen_registry.node_import(0, '{1}', '{1020}', 9223372036854775807);
-- the owner may go further
SELECT pg_temp.set_registry('2 a 1005', -1, 3);
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''1970-01-01 01:00:00 UTC'')'), pg_temp.get_rows();
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''1970-01-01 00:30:00 UTC'')'), pg_temp.get_rows();
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 2, ''1970-01-01 01:00:00 UTC'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 4, ''1970-01-01 01:00:00 UTC'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, NULL, ''1970-01-01 01:00:00 UTC'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(2, 1, ''1970-01-01 01:00:00 UTC'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''1970-01-12 13:46:40 UTC'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''1970-01-12 13:46:39 UTC'')'), pg_temp.get_rows();
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''1969-12-31 23:59:59 UTC'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''infinity'')');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, NULL)');
-- the hint of a refusal leads there, for short ticks too
UPDATE uidgen_registry.registry SET unit = 300, max_tick = 1000000000, has_granted = false;
DELETE FROM uidgen_registry.worker_node;
SELECT pg_temp.import(NULL, '{1}', '{3600000}');
SELECT uidgen_registry.import_worker(0, 1, '1970-01-01 00:18:00.001 UTC'), pg_temp.get_rows();
ROLLBACK;

-- A worker id can be kept from all nodes, for a server that goes back to its local registry.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.set_registry('1 me 1010', 970, 3);
SELECT uidgen_registry.keep_worker(0, 1), pg_temp.get_rows();
SELECT datacenter_id, worker_id, host_name, port, identity, state, until FROM uidgen_registry.fleet;
SELECT token, launches, extract(epoch FROM modified) FROM uidgen_registry.worker_node;
-- the one that held it goes on to the end of its grant, and then with another one
SELECT pg_temp.set_registry('0 a 900, 1 me 1010, 2 a 1005, 3 a 1005', -1, 3);
SELECT uidgen_registry.keep_worker(0, 1), pg_temp.renew(NULL, 1, 101, 1010);
SELECT pg_temp.acquire(tokens => '{101}', claimed => 1, claimed_until => 1010), pg_temp.get_rows();
SELECT pg_temp.acquire(tokens => '{500}', wanted => 1);
SELECT pg_temp.release(NULL, 1, '{101}');
-- it is never free
SELECT pg_temp.world(999000);
SELECT pg_temp.acquire(wanted => 1);
SELECT pg_temp.world(1000);
SELECT pg_temp.set_registry('0 a 1005, 2 a 1005, 3 a 1005', -1, 3);
SELECT uidgen_registry.keep_worker(0, 1);
SELECT pg_temp.acquire();
SELECT pg_temp.acquire(tokens => '{NULL}', claimed => 1, claimed_until => 999999);
SELECT pg_temp.acquire(claimed => 1, claimed_until => 9223372036854775807);
-- what its server brings along one day is covered
SELECT pg_temp.import(NULL, '{1}', '{1020}');
-- again; and where a grant that was lost may reach further, or where there was none
SELECT uidgen_registry.keep_worker(0, 1);
SELECT pg_temp.set_registry('1 me 900', 1066, 3);
SELECT uidgen_registry.keep_worker(0, 1), uidgen_registry.keep_worker(1, 1);
SELECT pg_temp.try('SELECT uidgen_registry.keep_worker(0, 4)'), pg_temp.try('SELECT uidgen_registry.keep_worker(0, -1)'), pg_temp.try('SELECT uidgen_registry.keep_worker(0, NULL)');
SELECT pg_temp.try('SELECT uidgen_registry.keep_worker(2, 1)');
-- its owner can free it: then grants begin above what any grant can reach
SELECT uidgen_registry.forget_worker(1, 0), pg_temp.get_rows();
SELECT pg_temp.acquire(wanted => 1), pg_temp.world(1026);
SELECT pg_temp.acquire(wanted => 1);
-- or above where the server says that its ids end
SELECT pg_temp.world(1000);
SELECT uidgen_registry.forget_worker(1, 1), uidgen_registry.import_worker(1, 1, '1970-01-01 01:00:00 UTC'), pg_temp.get_rows();
-- the last change of a shared registry's row stays, and its end
SELECT pg_temp.set_registry('1 me 1200@1100', -1, 3);
SELECT uidgen_registry.forget_worker(1, 0), pg_temp.get_rows();
SELECT extract(epoch FROM modified) FROM uidgen_registry.worker_node;
-- where grants that were lost may reach further, and no node has called since
SELECT pg_temp.set_registry('1 me 900', -1, 3), pg_temp.world(1000, '2');
SELECT uidgen_registry.keep_worker(0, 1);
SELECT pg_temp.acquire();
-- only a shared registry knows such rows
UPDATE uidgen_registry.registry SET shared = false;
SELECT pg_temp.try('SELECT uidgen_registry.keep_worker(0, 1)');
SELECT pg_temp.try('SELECT uidgen_registry.import_worker(0, 1, ''1970-01-01 01:00:00 UTC'')');
SELECT pg_temp.import(NULL, '{1}', '{1020}');
ROLLBACK;

-- Evidence begins one: a claim whose end is above its row's, and above the quarantine.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('0 a 900', claimed => 0, claimed_until => 1005), pg_temp.get_rows();
SELECT pg_temp.acquire(claimed => 0, claimed_until => 1005), pg_temp.get_rows();
-- one that the quarantine covers does not prolong it
SELECT pg_temp.acquire('0 a 900', claimed => 0, claimed_until => 1030, quarantine => 1030);
SELECT pg_temp.acquire('0 a 900', claimed => 0, claimed_until => 1031, quarantine => 1030);
-- nor does one of a row that others hold
SELECT pg_temp.acquire('0 a 1040', claimed => 0, claimed_until => 1035, quarantine => 1030, holder => 'b', wanted => 1);
-- one that no clock explains is not believed, and has to wait
SELECT pg_temp.acquire('0 a 900', claimed => 0, claimed_until => 1065);
SELECT pg_temp.acquire('0 a 900', claimed => 0, claimed_until => 1066);
SELECT quarantine_until FROM uidgen_registry.registry;
ROLLBACK;

-- A call that its node has given up does nothing.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('', not_after => 1000500000);
SELECT pg_temp.acquire('', not_after => 1000499999), pg_temp.get_rows();
SELECT pg_temp.acquire('', not_after => -9223372036854775808), pg_temp.get_rows();
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, not_after => 1000500000);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, not_after => 999000000), pg_temp.get_rows();
SELECT pg_temp.release('1 me 1005', 1, '{101}', not_after => 999000000), pg_temp.get_rows();
ROLLBACK;

-- What is written, and what each answer says of the registry
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.set_registry('2 a 900', 20, 3);
SELECT * FROM uidgen_registry.lease(repeat('i', 300), 'A', 4711, '{}', -1, -1, 0, 2, 0, 10, 2000, 9223372036854775807, repeat('h', 300), 5433, 1);
SELECT datacenter_id, worker_id, length(host_name), port, type, created = '2026-01-01', extract(epoch FROM modified), length(identity), token, granted_until, released, launches
FROM uidgen_registry.worker_node;
SELECT * FROM uidgen_registry.lease_renew(0, 2, 4711, 1010, 4712, 1005, 10, 1003, 9223372036854775807);
SELECT * FROM uidgen_registry.lease_release(0, 2, '{4712}', 9223372036854775807);
SELECT worker FROM uidgen_registry.lease('i', 'A', 4711, '{}', -1, -1, 0, 3, 0, 10, 2000, 9223372036854775807, repeat('h', 300), 5433, 1);
SELECT max(length(host_name)) FROM uidgen_registry.worker_node;
-- how it waits and commits, for this transaction
SELECT current_setting('lock_timeout'), current_setting('synchronous_commit');
-- the fleet
SELECT pg_temp.set_registry('0 a 1005, 1 b 999, 2 c 1000 r, 1/3 d 999', -1, 3);
SELECT datacenter_id, worker_id, host_name, port, identity, state, since, extract(epoch FROM last_call), extract(epoch FROM until) FROM uidgen_registry.fleet ORDER BY 1, 2;
UPDATE uidgen_registry.worker_node SET granted_until = 9223372036854775807 WHERE worker_id = 0;
SELECT until > '200000-01-01' FROM uidgen_registry.fleet WHERE worker_id = 0;
-- the owner's numbers count from the next call on
UPDATE uidgen_registry.registry SET max_lead = '20 s';
SELECT pg_temp.acquire(window_ticks => 30, wanted => 3);
ROLLBACK;

-- How it is.  Free is what a node can get: a worker id never used, one handed back that ends within reach, one that ended and was unchanged for more than 65 seconds.
BEGIN;
CALL pg_temp.make_up_the_world();
CREATE FUNCTION pg_temp.status(content text, quarantine bigint DEFAULT -1) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.set_registry(content, quarantine, 3);
	SELECT string_agg(format('%s: %s running, %s free', datacenter_id, running, free_worker_ids) || coalesce(', quarantine until ' || extract(epoch FROM quarantine_until), ''),
		'; ' ORDER BY datacenter_id) FROM uidgen_registry.status;
$$;
SELECT pg_temp.status('');
SELECT pg_temp.status('0 a 1005, 1 b 999, 2 c 1000 r');
SELECT pg_temp.status('0 a 1005, 1 b 933, 2 c 933@935'), pg_temp.status('0 a 1005, 1 b 935, 2 c 933@936');
SELECT pg_temp.status('0 a 1005, 1 b 1005, 2 c 1005, 3 d 1005, 1/3 e 1005 r');
SELECT pg_temp.status('0 - 1059 r, 1 - 1060 r');
SELECT pg_temp.status('0 a 1005', 999), pg_temp.status('0 a 1005', 1000), pg_temp.status('0 a 999999', 1065);
UPDATE uidgen_registry.worker_node SET granted_until = 9223372036854775807;
SELECT running, free_worker_ids FROM uidgen_registry.status;
UPDATE uidgen_registry.registry SET shared = false;
SELECT * FROM uidgen_registry.status;
ROLLBACK;

-- Where nothing can be written
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.set_registry('1 me 1005', -1, 3);
SET TRANSACTION READ ONLY;
SELECT pg_temp.acquire();
SELECT pg_temp.renew(NULL, 1, 101, 1005);
ROLLBACK;
-- An older snapshot would not show what others have taken.
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.acquire('');
ROLLBACK;

-- Plans that were made for a few rows do for many: no call reads the table.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.set_registry('1 me 1005, 2 you 1005', -1, 65535);
CLUSTER uidgen_registry.worker_node USING worker_node_pkey;
ANALYZE uidgen_registry.worker_node;
CREATE FUNCTION pg_temp.rows_read() RETURNS bigint LANGUAGE sql AS $$
	SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'uidgen_registry.worker_node'::regclass $$;
-- A new node, one that goes on, one that renews: how many they are, and whether all of them read few rows.
CREATE FUNCTION pg_temp.calls(first int, last int, OUT granted bigint, OUT read_few boolean) LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_temp.rows_read();
BEGIN
	SELECT count(a.worker) + count(c.worker) + count(r.last_tick) INTO granted
		FROM generate_series(first, last) AS i,
			LATERAL uidgen_registry.lease('n' || i, 'A', i, '{}', -1, -1, 0, -1, 0, 10, 2000, 9223372036854775807, 'h', 5433, 1) AS a,
			LATERAL uidgen_registry.lease('n' || i, 'A', -i, ARRAY[i]::bigint[], a.worker, a.last_tick, 0, -1, 0, 10, 2000, 9223372036854775807, 'h', 5433, 1) AS c,
			LATERAL uidgen_registry.lease_renew(0, c.worker, -i, c.last_tick, i, 0, 10, 2000, 9223372036854775807) AS r;
	read_few := pg_temp.rows_read() - before < 150 * (last - first + 1);
END $$;
SELECT * FROM pg_temp.calls(1, 20);
INSERT INTO uidgen_registry.worker_node
	SELECT 0, i, 'host', 1, 1, '2026-01-01', '2026-01-01', to_timestamp(995), 'old ' || i, i, 1005, false, 1
	FROM generate_series(0, 20000) AS i ON CONFLICT DO NOTHING;
SELECT * FROM pg_temp.calls(21, 40);
ROLLBACK;

-- Which registry it is.  None yet, a local one, a shared one; in another history; where nothing can be written.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT registry_id IS NULL, system_identifier, timeline, in_recovery FROM uidgen_registry.registry_identity();
INSERT INTO uidgen_registry.registry (only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database) VALUES (true, 'A', 1000000, 0, 1000000, 1, 3, now(), 8);
SELECT registry_id IS NULL FROM uidgen_registry.registry_identity();
SELECT pg_temp.set_registry('1 me 1005', -1, 3);
SELECT pg_temp.world(1000, '2');
SET TRANSACTION READ ONLY;
SELECT * FROM uidgen_registry.registry_identity();
ROLLBACK;

-- What a node may do: the calls of a keeper.
BEGIN;
CALL pg_temp.make_up_the_world();
SELECT pg_temp.set_registry('1 me 1005', -1, 3);
CREATE ROLE regress_uidgen_node;
GRANT regress_uidgen_node TO CURRENT_USER;
SET ROLE regress_uidgen_node;
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease_renew(0, 1, 101, 1005, 600, 0, 10, 2000, 9223372036854775807)');
SELECT pg_temp.try('SELECT * FROM uidgen_registry.registry_identity()');
RESET ROLE;
-- Not by rights that fill the disk.
SET LOCAL client_min_messages = error;
SELECT uidgen_registry.grant_node('regress_uidgen_node'), uidgen_registry.revoke_node('regress_uidgen_node');
SELECT what FROM uidgen_registry.spare_rights() WHERE grantee = 0 AND pg_has_role(owner, 'USAGE');
CREATE SCHEMA regress_uidgen_own AUTHORIZATION regress_uidgen_node;
SELECT pg_temp.try('SELECT uidgen_registry.grant_node(''regress_uidgen_node'')');
DROP SCHEMA regress_uidgen_own;
CREATE SCHEMA regress_uidgen;
GRANT CREATE ON SCHEMA regress_uidgen TO regress_uidgen_node;
SELECT pg_temp.try('SELECT uidgen_registry.grant_node(''regress_uidgen_node'')');
REVOKE CREATE ON SCHEMA regress_uidgen FROM regress_uidgen_node;
SELECT uidgen_registry.grant_node('regress_uidgen_node');
SET ROLE regress_uidgen_node;
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease_renew(0, 1, 101, 1005, 600, 0, 10, 2000, 9223372036854775807)');
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease(''n'', ''A'', 4711, ''{}'', -1, -1, 0, 2, 0, 10, 2000, 9223372036854775807, ''h'', 5433, 1)');
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease_release(0, 2, ''{4711}'', 9223372036854775807)');
SELECT pg_temp.try('SELECT * FROM uidgen_registry.node_import(0, ''{0}'', ''{1020}'', 9223372036854775807)');
SELECT * FROM uidgen_registry.registry_identity();
-- nothing else
SELECT p.oid::regprocedure FROM pg_proc AS p
WHERE pronamespace = 'uidgen_registry'::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')
ORDER BY proname COLLATE "C";
SELECT relname, has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') OR has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES') AS any
FROM pg_class AS c WHERE relnamespace = 'uidgen_registry'::regnamespace AND relname IN ('worker_node', 'registry', 'fleet', 'status') ORDER BY relname COLLATE "C";
SELECT has_schema_privilege('uidgen_registry', 'CREATE');
SELECT pg_temp.try(command) FROM (VALUES ('SELECT token FROM uidgen_registry.worker_node'), ('SELECT * FROM uidgen_registry.registry'), ('SELECT * FROM uidgen_registry.fleet'), ('SELECT * FROM uidgen_registry.status'),
	('SELECT FROM uidgen_registry.registry FOR UPDATE'), ('LOCK TABLE uidgen_registry.worker_node IN SHARE MODE'), ('UPDATE uidgen_registry.worker_node SET token = 1'),
	('DELETE FROM uidgen_registry.worker_node'), ('TRUNCATE uidgen_registry.worker_node'), ('SELECT uidgen_registry.end_quarantine()'), ('SELECT uidgen_registry.forget_worker(1)'),
	('SELECT uidgen_registry.keep_worker(0, 1)'), ('SELECT uidgen_registry.import_worker(0, 1, now())'),
	('SELECT uidgen_registry.grant_node(''regress_uidgen_node'')'), ('SELECT uidgen_registry.share_registry()'), ('SELECT uidgen_registry.registry_clock()'), ('SELECT uidgen_registry.new_token()'),
	('CREATE TABLE uidgen_registry.t ()'), ('CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz LANGUAGE sql AS ''SELECT now()''')) AS c (command);
-- another's row, or far ahead
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease(''n'', ''A'', 4711, ''{}'', -1, -1, 0, 1, 0, 10, 2000, 9223372036854775807, ''h'', 5433, 1)');
SELECT worker, first_tick FROM uidgen_registry.lease('n', 'A', 4711, '{}', -1, -1, 0, 3, 900000, 10, 2000, 9223372036854775807, 'h', 5433, 1);
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease(''n'', ''A'', 4711, ''{1,2,3}'', -1, -1, 0, 1, 0, 10, 2000, 9223372036854775807, ''h'', 5433, 1)');
SELECT done FROM uidgen_registry.lease_release(0, 1, '{1,2,3}', 9223372036854775807);
-- objects of its own by the names that the functions use
RESET ROLE;
DO $$BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO regress_uidgen_node', current_database()); END$$;
SET ROLE regress_uidgen_node;
CREATE FUNCTION pg_temp.floor(double precision) RETURNS double precision LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called as %', current_user; END $$;
SET LOCAL search_path = pg_temp, pg_catalog;
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease(''o'', ''A'', 4711, ''{}'', -1, -1, 0, 0, 0, 10, 2000, 9223372036854775807, ''h'', 5433, 1)');
RESET search_path;
RESET ROLE;
SELECT uidgen_registry.revoke_node('regress_uidgen_node');
SET ROLE regress_uidgen_node;
SELECT pg_temp.try('SELECT * FROM uidgen_registry.lease_renew(0, 1, 600, 1010, 601, 0, 10, 2000, 9223372036854775807)');
RESET ROLE;
SELECT pg_temp.try('SELECT uidgen_registry.grant_node(''nobody_of_this_name'')'), pg_temp.try('SELECT uidgen_registry.grant_node(''public'')');
SELECT pg_temp.get_rows();
ROLLBACK;

-- Who cannot write is told why, if a setting is why.
BEGIN READ ONLY;
SELECT pg_temp.try('SELECT uidgen_registry.begin_call()');
SET LOCAL default_transaction_read_only = on;
SELECT split_part(pg_temp.try('SELECT uidgen_registry.begin_call()'), E'\n', 1);
ROLLBACK;
