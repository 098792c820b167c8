-- The registry's functions, called directly.
--
-- Everything happens in transactions that are rolled back, on emptied tables: a
-- registry in use is not disturbed.  Ticks take a minute, and each transaction
-- begins early in tick 1000, so that all ticks shown are stable.

\set SHOW_CONTEXT never
-- What the tests call is not shown.
\set ECHO none
-- What is changed by hand here, no guard is to refuse: see script/registry/10_registry.sql.
SET search_path = pg_catalog, uidgen_registry, pg_temp;
-- Warnings are shown where they are tested.
SET client_min_messages = error;

-- The registry's content, as '[DATACENTER/]WORKER IDENTITY GRANTED_UNTIL [r], ...':
-- identity - is null, r means released, and the token is 100 + the worker id.
CREATE FUNCTION pg_temp.set_rows(content text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM uidgen_registry.worker_node;
	INSERT INTO uidgen_registry.worker_node
		SELECT coalesce(f[1]::int, 0), f[2]::int, 'host ' || f[2], 5432, 2, '2026-01-01', '2026-01-01', '2026-01-01',
			nullif(f[3], '-'), CASE WHEN f[5] IS NULL THEN 100 + f[2]::bigint END, f[4]::bigint, f[5] IS NOT NULL, 7
		FROM regexp_matches(content, '(?:(\d+)/)?(\d+) (\S+) (\d+)( r)?', 'g') AS f;
$$;
-- All were last changed in this tick.
CREATE FUNCTION pg_temp.set_modified(tick bigint) RETURNS void LANGUAGE sql AS $$
	UPDATE uidgen_registry.worker_node SET modified = to_timestamp((current_setting('registry_test.epoch')::bigint + tick * 60000000) / 1000000.0);
$$;
CREATE FUNCTION pg_temp.get_rows() RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ',
			CASE WHEN datacenter_id <> 0 THEN datacenter_id || '/' ELSE '' END || worker_id,
			coalesce(identity, '-'), granted_until, CASE WHEN released THEN 'r' END),
		', ' ORDER BY datacenter_id, worker_id), 'empty')
	FROM uidgen_registry.worker_node;
$$;

-- The numbers of the layouts A and B: see reset().
CREATE FUNCTION pg_temp.set_layout(epoch bigint DEFAULT current_setting('registry_test.epoch')::bigint, max_tick bigint DEFAULT 1000000, max_worker int DEFAULT 3)
RETURNS void LANGUAGE sql AS $$
	SELECT set_config('registry_test.layout', ARRAY[epoch, max_tick, max_worker]::text, false);
$$;
-- Empty tables, and an epoch by which the clock is one second in tick 1000.
CREATE FUNCTION pg_temp.reset() RETURNS void LANGUAGE sql AS $$
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	CREATE OR REPLACE FUNCTION uidgen_registry.in_transaction_block() RETURNS boolean LANGUAGE sql AS 'SELECT false';
	CREATE OR REPLACE FUNCTION uidgen_registry.parse_layout(layout_text text, OUT layout text, OUT names text[], OUT bits integer[], OUT shifts integer[],
		OUT unit bigint, OUT epoch bigint, OUT max_tick bigint, OUT max_datacenter integer, OUT max_worker integer) LANGUAGE sql AS
		'SELECT layout_text, NULL::text[], NULL::integer[], NULL::integer[], 60000000::bigint, n[1], n[2], 1, n[3]::integer
			FROM (SELECT current_setting(''registry_test.layout'')::bigint[]) AS s (n) WHERE layout_text IN (''A'', ''B'')
		UNION ALL SELECT n.layout, NULL, NULL, NULL, n.unit, n.epoch, n.max_tick, n.max_datacenter, n.max_worker
			FROM (SELECT layout_text WHERE layout_text NOT IN (''A'', ''B'')) AS l, uidgen.layout_numbers(l.layout_text) AS n';
	SELECT set_config('registry_test.epoch',
		((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 1000 * 60000000::bigint - 1000000)::text, false);
	SELECT pg_temp.set_layout();
$$;
CREATE FUNCTION pg_temp.epoch() RETURNS bigint LANGUAGE sql AS $$
	SELECT current_setting('registry_test.epoch')::bigint;
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
		result := replace(result, found,
			'tick ' || round((extract(epoch FROM found::timestamptz) * 1000000 - pg_temp.epoch()) / 60000000));
	END LOOP;
	RETURN result;
END $$;

-- The three calls; with content, on a registry that has just that.
CREATE FUNCTION pg_temp.acquire(content text DEFAULT NULL, holder text DEFAULT 'me',
	wanted int DEFAULT -1, avoid int DEFAULT -1, policy text DEFAULT 'reuse',
	take_never_used boolean DEFAULT true,
	floor_tick bigint DEFAULT 0, window_ticks bigint DEFAULT 10, max_lead bigint DEFAULT 60, max_step bigint DEFAULT 5,
	datacenter int DEFAULT 0, max_worker int DEFAULT 3, max_tick bigint DEFAULT 1000000,
	layout_text text DEFAULT 'A', epoch_tick bigint DEFAULT 0)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	used int[];
	g record;
	message text;
	detail text;
	hint text;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_rows(content);
		-- without rows it has granted nothing
		DELETE FROM uidgen_registry.registry WHERE content = '' AND layout = layout_text;
	END IF;
	used := ARRAY(SELECT worker_id FROM uidgen_registry.worker_node WHERE datacenter_id = datacenter);
	PERFORM pg_temp.set_layout(pg_temp.epoch() + epoch_tick * 60000000, max_tick, max_worker);
	BEGIN
		SELECT * INTO STRICT g
		FROM uidgen_registry.acquire_worker_id(holder, layout_text, datacenter, wanted, avoid, policy, take_never_used, floor_tick, window_ticks, max_lead, max_step, 'new host', 5433, 1);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN pg_temp.failure(SQLSTATE, message, detail, hint);
	END;
	IF g.token IS NULL OR g.worker NOT BETWEEN 0 AND max_worker
		OR (g.worker = ANY (used)) IS NOT DISTINCT FROM g.never_used THEN
		RETURN 'wrong: ' || g;
	END IF;
	-- which of the never used is taken, is random
	RETURN CASE WHEN NOT g.never_used THEN 'worker ' || g.worker
			WHEN wanted >= 0 THEN 'worker ' || g.worker || ', never used'
			ELSE 'one never used' END ||
		': ' || g.first_tick || ' to ' || g.last_tick;
END $$;

CREATE FUNCTION pg_temp.renew(content text, worker int, token bigint, until bigint,
	needed bigint DEFAULT 0, window_ticks bigint DEFAULT 10, datacenter int DEFAULT 0, max_tick bigint DEFAULT 1000000,
	at_most bigint DEFAULT 1000)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
	message text;
	detail text;
	hint text;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_rows(content);
		DELETE FROM uidgen_registry.registry;
		INSERT INTO uidgen_registry.registry VALUES (true, 'A', 60000000, pg_temp.epoch(), max_tick, 1, 3, now(),
			(SELECT oid FROM pg_database WHERE datname = current_database()));
	END IF;
	BEGIN
		SELECT * INTO STRICT g FROM uidgen_registry.renew_worker_id(datacenter, worker, token, until, needed, window_ticks, at_most);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN pg_temp.failure(SQLSTATE, message, detail, hint);
	END;
	IF g.token = token OR (g.token IS NULL) <> (g.last_tick IS NULL) THEN
		RETURN 'wrong: ' || g;
	END IF;
	RETURN coalesce('until ' || g.last_tick, 'fenced') || ' -> ' || pg_temp.get_rows();
END $$;

CREATE FUNCTION pg_temp.release(content text, worker int, token bigint, last_issued bigint, datacenter int DEFAULT 0)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_rows(content);
	END IF;
	RETURN CASE WHEN uidgen_registry.release_worker(datacenter, worker, token, last_issued) THEN 'done' ELSE 'not done' END ||
		' -> ' || pg_temp.get_rows();
END $$;

\pset format unaligned
\pset tuples_only on
\set ECHO all

-- The automatic choice
BEGIN;
SELECT pg_temp.reset();
-- nothing there yet
SELECT pg_temp.acquire('');
-- not below the floor
SELECT pg_temp.acquire('', floor_tick => 1002);
SELECT pg_temp.acquire('0 me 990', floor_tick => 999);
SELECT pg_temp.acquire('0 me 1005', floor_tick => 1020);
SELECT pg_temp.acquire('0 me 1005', floor_tick => 1002);
-- own rows, highest grant first
SELECT pg_temp.acquire('0 me 950, 1 me 990, 2 me 970');
SELECT pg_temp.acquire('0 me 950, 1 me 990 r, 2 me 970');
SELECT pg_temp.acquire('0 me 1005, 1 me 1030, 2 me 970');
-- ... unless too far ahead of the clock
SELECT pg_temp.acquire('0 me 1005, 1 me 1059');
SELECT pg_temp.acquire('0 me 1005, 1 me 1060');
SELECT pg_temp.acquire('1 me 1060');
SELECT pg_temp.acquire('1 me 1060', max_lead => 61);
-- ... or the clock was set back since they were used last, by more than a small step
SELECT modified_in, granted_until,
	pg_temp.acquire(NULL) AS granted FROM (VALUES (1005, 1059), (1006, 1059), (1006, 990), (1005, 1060)) AS cases (modified_in, granted_until),
	LATERAL (SELECT pg_temp.set_rows('1 me ' || granted_until)) AS rows,
	LATERAL (SELECT pg_temp.set_modified(modified_in)) AS set;
-- one never used, before those of others
SELECT pg_temp.acquire('0 - 100 r, 1 other 100 r, 2 other 100');
-- if none of these may be taken: one that was forgotten
SELECT pg_temp.acquire('0 other 100 r, 1 - 500 r, 2 other 100', take_never_used => false);
SELECT pg_temp.acquire('0 other 100 r, 1 - 1005 r, 2 other 100', take_never_used => false);
SELECT pg_temp.acquire('0 other 100 r, 1 - 1060 r, 2 - 1059 r', take_never_used => false);
-- not one too far ahead, though handed back
SELECT pg_temp.acquire('0 a 1005, 1 - 1060 r, 2 c 950, 3 d 930');
-- in a local registry never another holder's, who renews it unseen
SELECT pg_temp.acquire('0 a 1005, 1 b 100 r, 2 c 100, 3 d 1');
SELECT pg_temp.acquire('0 a 1005, 1 b 100 r, 2 - 1010 r, 3 d 1');
-- at last an own row however far ahead, the nearest
SELECT pg_temp.acquire('0 me 5000, 1 me 4000, 2 a 100, 3 b 100');
SELECT pg_temp.acquire('0 me 5000, 1 me 4000, 2 - 500 r, 3 b 100');
SELECT pg_temp.acquire('0 me 5000, 1 me 4000', take_never_used => false);
-- the one to avoid is avoided in every case
SELECT pg_temp.acquire('0 me 1005', avoid => 0);
SELECT pg_temp.acquire('0 me 1005, 1 me 990', avoid => 0);
SELECT pg_temp.acquire('0 me 1005, 1 me 990', avoid => 1);
SELECT pg_temp.acquire('0 - 1 r, 1 - 2 r, 2 a 1005, 3 a 1005', avoid => 0);
SELECT pg_temp.acquire('0 me 4000, 1 me 5000, 2 a 1005, 3 a 1005', avoid => 0);
SELECT pg_temp.acquire('0 me 4000, 1 a 1005, 2 a 1005, 3 a 1005', avoid => 0);
SELECT pg_temp.acquire('0 me 1005', avoid => 0, max_worker => 0);
-- other datacenters have ids of their own
SELECT pg_temp.acquire('1/0 me 990, 1/1 me 990, 1/2 a 990, 1/3 a 990');
SELECT pg_temp.acquire('0 a 990, 1 a 990, 2 a 990, 3 a 990', datacenter => 1);
SELECT pg_temp.acquire('0 me 990, 1/1 me 980', datacenter => 1);
SELECT pg_temp.acquire('0 me 990, 1/1 me 995', datacenter => 0);
SELECT pg_temp.acquire('0 - 990 r, 1/0 a 990, 1/1 a 990, 1/2 a 990, 1/3 me 5000', datacenter => 1);
SELECT pg_temp.acquire('0 a 990, 1 a 990, 2 a 990, 3 a 990, 1/0 me 5000, 1/1 me 990, 1/2 - 990 r') LIKE '53400 %';
-- a layout without worker ids has one
SELECT pg_temp.acquire('', max_worker => 0);
SELECT pg_temp.acquire('0 me 1005', max_worker => 0);
SELECT pg_temp.acquire('0 me 3000', max_worker => 0);
SELECT pg_temp.acquire('0 a 100 r', max_worker => 0);
ROLLBACK;

-- One never used is taken at random: whatever is used, each of the others is
-- reached, and never one that is used.
BEGIN;
SELECT pg_temp.reset();
DO $$
DECLARE
	taken int[];
	free int[];
	w int;
BEGIN
	FOR used IN 0 .. 14 LOOP
		DELETE FROM uidgen_registry.worker_node;
		DELETE FROM uidgen_registry.registry;
		INSERT INTO uidgen_registry.worker_node
		SELECT 0, id, 'host', 1, 1, now(), now(), now(), 'other', 1, 1, false, 1
		FROM generate_series(0, 3) AS id WHERE used >> id & 1 = 1;
		SELECT array_agg(id ORDER BY id) INTO free FROM generate_series(0, 3) AS id WHERE used >> id & 1 = 0;
		taken := '{}';
		FOR i IN 1 .. 100 LOOP
			SELECT worker INTO w
			FROM uidgen_registry.acquire_worker_id('me', 'A', 0, -1, -1, 'reuse', true, 0, 1, 60, 60, 'host', 1, 1);
			taken := taken || w;
			DELETE FROM uidgen_registry.worker_node WHERE identity = 'me';
			DELETE FROM uidgen_registry.registry;
		END LOOP;
		SELECT array_agg(DISTINCT id ORDER BY id) INTO taken FROM unnest(taken) AS id;
		IF taken <> free THEN
			RAISE EXCEPTION 'free %, taken %', free, taken;
		END IF;
	END LOOP;
END $$;
-- With many ids, neither the first nor the last is the rule.
DO $$
DECLARE
	w int[] := '{}';
BEGIN
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	PERFORM pg_temp.set_layout(max_worker => 2147483647);
	FOR i IN 1 .. 100 LOOP
		w := w || (SELECT worker
			FROM uidgen_registry.acquire_worker_id('instance ' || i, 'A', 0, -1, -1, 'reuse', true, 0, 1, 60, 60, 'host', 1, 1));
	END LOOP;
	RAISE INFO 'low %, high %, distinct %', (SELECT count(*) > 20 FROM unnest(w) AS id WHERE id < 1073741824),
		(SELECT count(*) > 20 FROM unnest(w) AS id WHERE id >= 1073741824), (SELECT count(DISTINCT id) FROM unnest(w) AS id);
END $$;
ROLLBACK;

-- A worker id that is wanted
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('', wanted => 2);
SELECT pg_temp.acquire('', wanted => 0, floor_tick => 1005);
SELECT pg_temp.acquire('', wanted => 3);
SELECT pg_temp.acquire('1 me 999', wanted => 2);
SELECT pg_temp.acquire('2 me 1005, 1 me 1006', wanted => 2);
SELECT pg_temp.acquire('1/2 other 1005', wanted => 2);
SELECT pg_temp.acquire('2 me 100 r', wanted => 2);
-- too far ahead after crashes: calls wait
SELECT pg_temp.acquire('2 me 1059', wanted => 2);
SELECT pg_temp.acquire('2 me 1060', wanted => 2);
-- ... because the clock was set back since
SELECT modified_in, granted_until,
	pg_temp.acquire(NULL, wanted => 2) AS granted FROM (VALUES (1005, 1120), (1006, 1059), (1006, 1060), (1120, 1120)) AS cases (modified_in, granted_until),
	LATERAL (SELECT pg_temp.set_rows('2 me ' || granted_until)) AS rows,
	LATERAL (SELECT pg_temp.set_modified(modified_in)) AS set;
-- another's: never in a local registry, even if handed back or ended long ago
SELECT pg_temp.acquire('2 other 1005', wanted => 2);
SELECT pg_temp.acquire('2 other 100', wanted => 2);
SELECT pg_temp.acquire('2 other 100 r', wanted => 2);
SELECT pg_temp.acquire('1/2 other 100', wanted => 2, datacenter => 1);
-- ... until it is forgotten
SELECT pg_temp.acquire('2 - 1005 r', wanted => 2);
SELECT pg_temp.acquire('2 - 1061 r', wanted => 2);
-- no room for it in the layout
SELECT pg_temp.acquire('', wanted => 4);
SELECT pg_temp.acquire('', wanted => 1, max_worker => 0);
SELECT pg_temp.acquire('', datacenter => 2);
SELECT pg_temp.acquire('', datacenter => -1);
ROLLBACK;

-- disposable: only ids never used
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('', policy => 'disposable');
SELECT pg_temp.acquire('0 me 990, 1 me 990 r', policy => 'disposable');
SELECT pg_temp.acquire('0 - 1 r, 1 other 1 r', policy => 'disposable');
SET LOCAL client_min_messages = warning;
-- a warning when few are left: fewer than three, or at most a tenth of all
SELECT pg_temp.acquire('0 me 1, 1 me 1, 2 me 1', policy => 'disposable');
SELECT pg_temp.acquire((SELECT string_agg(n || ' me 1', ', ') FROM generate_series(0, 34) AS n), policy => 'disposable', max_worker => 39);
SELECT pg_temp.acquire((SELECT string_agg(n || ' me 1', ', ') FROM generate_series(0, 35) AS n), policy => 'disposable', max_worker => 39);
SELECT pg_temp.acquire((SELECT string_agg(n || ' me 1', ', ') FROM generate_series(0, 33) AS n), policy => 'disposable', max_worker => 39);
SELECT pg_temp.acquire((SELECT string_agg(n || ' me 1', ', ') FROM generate_series(0, 42) AS n), policy => 'disposable', max_worker => 48);
SELECT pg_temp.acquire('0 me 1', policy => 'disposable');
SELECT pg_temp.acquire('', policy => 'disposable');
-- also when ids are reused, and other servers have taken the others
SELECT pg_temp.acquire('0 a 1, 1 a 1, 2 a 1');
SELECT pg_temp.acquire('0 a 1, 1 - 1, 2 a 1');
SELECT pg_temp.acquire('', max_worker => 1);
-- not when it takes its own again
SELECT pg_temp.acquire('0 a 1, 1 me 1, 2 a 1');
-- nor where there is no choice
SELECT pg_temp.acquire('', max_worker => 0);
SELECT pg_temp.acquire('0 a 1, 1 a 1, 2 a 1', wanted => 3);
SELECT pg_temp.acquire('1 a 1, 2 a 1, 3 a 1', wanted => 0);
SET LOCAL client_min_messages = error;
-- none left
SELECT pg_temp.acquire('0 me 1, 1 me 1 r, 2 - 1 r, 3 other 1', policy => 'disposable');
-- some are, but may not be taken now
SELECT pg_temp.acquire('0 me 1', policy => 'disposable', take_never_used => false);
SELECT pg_temp.acquire('0 me 1, 1 me 1, 2 me 1', policy => 'disposable', take_never_used => false);
SELECT pg_temp.acquire('', policy => 'retain');
ROLLBACK;

-- The layout is pinned by the first grant.
BEGIN;
SELECT pg_temp.reset();
SELECT count(*) FROM uidgen_registry.registry;
SELECT pg_temp.acquire('', layout_text => 'A', max_tick => 12345);
SELECT layout, unit, epoch = pg_temp.epoch(), max_tick, max_datacenter, max_worker, pinned <= clock_timestamp() FROM uidgen_registry.registry;
SELECT pg_temp.acquire('0 me 990', layout_text => 'B');
SELECT pg_temp.acquire('', layout_text => 'B', holder => 'other', wanted => 1);
SELECT pg_temp.get_rows();
SELECT pg_temp.acquire('', layout_text => 'A', max_tick => 12345);
SELECT count(*), min(layout) FROM uidgen_registry.registry;
ROLLBACK;
-- ... not by an attempt that failed.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('', wanted => 4);
SELECT pg_temp.acquire('0 a 1, 1 a 1, 2 a 1, 3 a 1', layout_text => 'B');
SELECT count(*) FROM uidgen_registry.registry;
ROLLBACK;

-- A registry that has lost its rows grants nothing to a server that starts; one that runs knows what it was granted.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('');
DELETE FROM uidgen_registry.worker_node;
SELECT replace(pg_temp.acquire(), format('"%s"', current_database()), 'REGISTRY');
SELECT pg_temp.acquire(floor_tick => 1005), id AS registry_id FROM uidgen_registry.registry \gset
DELETE FROM uidgen_registry.worker_node;
SELECT uidgen_registry.end_registry();
SELECT pg_temp.acquire();
-- the new one has another number
SELECT id <> :registry_id FROM uidgen_registry.registry;
ROLLBACK;

-- A copy of the registry in another database of the server: all of its rows are
-- somebody else's, from the first grant on.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('');
SELECT pg_temp.set_rows('0 me 990, 1 me 990 r, 2 - 500 r');
UPDATE uidgen_registry.registry SET database = 1;
SELECT pg_temp.acquire();
SELECT count(*) FROM uidgen_registry.worker_node WHERE identity = 'copied from database 1: me';
SELECT database = (SELECT oid FROM pg_database WHERE datname = current_database()) FROM uidgen_registry.registry;
SELECT pg_temp.acquire(wanted => 0);
SELECT pg_temp.acquire(take_never_used => false);
ROLLBACK;

-- What it says of its choice, and how many worker ids are left
BEGIN;
SELECT pg_temp.reset();
CREATE FUNCTION pg_temp.explain(content text, wanted int DEFAULT -1, avoid int DEFAULT -1, take_never_used boolean DEFAULT true, policy text DEFAULT 'reuse') RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.set_rows(content), pg_temp.set_layout(max_worker => 9);
	SELECT g.free_workers || ' left: ' || g.reason
	FROM uidgen_registry.acquire_worker_id('me', 'A', 0, wanted, avoid, policy, take_never_used, 0, 10, 60, 5, 'host', 1, 1) AS g;
$$;
SELECT pg_temp.explain('');
SELECT pg_temp.explain('1 me 990');
SELECT pg_temp.explain('1 me 1080');
SELECT pg_temp.explain('1 me 990', avoid => 1);
SELECT pg_temp.explain('1 me 990', wanted => 1);
SELECT pg_temp.explain('1 me 990', wanted => 2);
SELECT pg_temp.explain('1 a 990, 2 - 990 r, 3 - 990 r', take_never_used => false);
SELECT pg_temp.explain('1 me 1080', take_never_used => false);
SELECT pg_temp.explain('1/1 me 1080');
SELECT pg_temp.explain('1 me 990', policy => 'disposable');
SELECT pg_temp.explain('1 - 990 r', wanted => 1, policy => 'disposable');
ROLLBACK;

-- The end of the layout's time, and what is before its beginning
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('', max_tick => 1012);
SELECT pg_temp.acquire('', max_tick => 1011);
SELECT pg_temp.acquire('', max_tick => 1010);
SELECT pg_temp.acquire('', max_tick => 1001);
SELECT pg_temp.acquire('', max_tick => 1000);
SELECT pg_temp.acquire('', max_tick => 900);
SELECT pg_temp.acquire('', max_tick => 1010, floor_tick => 1009);
SELECT pg_temp.acquire('', max_tick => 1010, floor_tick => 1010);
SELECT pg_temp.acquire('2 me 1008', max_tick => 1010);
SELECT pg_temp.acquire('2 me 1009', max_tick => 1010, wanted => 2);
SELECT pg_temp.acquire('', window_ticks => 9000000, max_tick => 9000);
SELECT pg_temp.acquire('', window_ticks => 1);
SELECT pg_temp.acquire('', epoch_tick => 1000);
SELECT pg_temp.acquire('', epoch_tick => 1001);
SELECT pg_temp.acquire('', epoch_tick => 1010);
ROLLBACK;

-- What is written: all of the new holder, but when the row was first acquired
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('2 - 900 r', wanted => 2);
SELECT datacenter_id, worker_id, host_name, port, type, current_date - launch_date BETWEEN 0 AND 1, created = '2026-01-01', modified > now(),
	identity, token <> 102, granted_until, released, launches FROM uidgen_registry.worker_node;
SELECT pg_temp.acquire('', wanted => 1, datacenter => 1);
SELECT datacenter_id, worker_id, host_name, port, type, current_date - launch_date BETWEEN 0 AND 1, created > now(), modified > now(),
	identity, token IS NOT NULL, granted_until, released, launches FROM uidgen_registry.worker_node;
-- Each grant of a row begins above the last one, and has a token of its own.
SELECT pg_temp.acquire('1 me 990');
SELECT token FROM uidgen_registry.worker_node \gset
SELECT pg_temp.acquire();
SELECT token <> :token, granted_until, launches FROM uidgen_registry.worker_node;
SELECT pg_temp.acquire(window_ticks => 1);
SELECT pg_temp.acquire(max_lead => 10);
-- The keeper learns when the row was changed before, if it was.
SELECT pg_temp.set_rows('1 me 990');
SELECT pg_temp.set_modified(1003);
SELECT worker, seen_tick FROM uidgen_registry.acquire_worker_id('me', 'A', 0, 1, -1, 'reuse', true, 0, 10, 60, 5, 'host', 1, 1);
SELECT worker, seen_tick FROM uidgen_registry.acquire_worker_id('me', 'A', 0, 2, -1, 'reuse', true, 0, 10, 60, 5, 'host', 1, 1);
-- Tokens cannot be guessed: each bit is random.
SELECT count(DISTINCT t), bit_or(t), bit_and(t) FROM (SELECT uidgen_registry.new_token() AS t FROM generate_series(1, 1000)) AS n;
ROLLBACK;

-- An older snapshot would not show what others have taken.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('', wanted => 1);
ROLLBACK;

-- Renewal: compares both token and end, and swaps them.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.renew('1 me 1005, 2 other 1005', 1, 101, 1005);
SELECT pg_temp.renew('1 me 1005', 1, 102, 1005);
SELECT pg_temp.renew('1 me 1005', 1, NULL, 1005);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1004);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1006);
SELECT pg_temp.renew('1 me 1005', 1, 101, NULL);
SELECT pg_temp.renew('1 me 1005, 2 other 1005', 2, 101, 1005);
SELECT pg_temp.renew('1 me 1005, 1/1 other 1005', 1, 102, 1005, datacenter => 1);
SELECT pg_temp.renew('1 me 1005, 1/1 me 1005', 1, 101, 1005, datacenter => 1);
SELECT pg_temp.renew('1 me 1005', 0, 101, 1005);
-- handed back, or forgotten
SELECT pg_temp.renew('1 me 1005 r', 1, 101, 1005);
SELECT pg_temp.renew('1 me 1005 r', 1, NULL, 1005);
SELECT pg_temp.renew('1 - 1005 r', 1, 101, 1005);
-- no time-out decides: as long as nobody took it, it is the holder's
SELECT pg_temp.renew('1 me 5', 1, 101, 5);
-- beyond what is needed, if that is later than the clock
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, needed => 1006);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, needed => 999);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, needed => 1020, window_ticks => 0);
-- never lowered
SELECT pg_temp.renew('1 me 1030', 1, 101, 1030);
SELECT pg_temp.renew('1 me 1030', 1, 101, 1030, needed => 1021);
-- up to the last tick but one
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, max_tick => 1011);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, max_tick => 1010);
SELECT pg_temp.renew('1 me 1009', 1, 101, 1009, max_tick => 1010);
SELECT pg_temp.renew('1 me 1009', 1, 101, 1009, max_tick => 1010, needed => 1009);
SELECT pg_temp.renew('1 me 1009', 1, 101, 1009, max_tick => 1010, needed => 1010);
SELECT pg_temp.renew('1 me 999', 1, 101, 999, max_tick => 1000);
-- of two copies of one memory only the first goes on
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005);
SELECT pg_temp.renew(NULL, 1, 101, 1005);
SELECT pg_temp.renew(NULL, 1, 101, 1010);
SELECT token FROM uidgen_registry.worker_node \gset
SELECT pg_temp.renew(NULL, 1, :token, 1010, needed => 1050);
-- who acquired it has it
SELECT pg_temp.renew('1 other 900', 1, 101, 900);
SELECT pg_temp.acquire(wanted => 1);
SELECT pg_temp.set_rows('1 - 900');
SELECT pg_temp.acquire(wanted => 1);
SELECT pg_temp.renew(NULL, 1, 101, 900);
SELECT pg_temp.release(NULL, 1, 101, 1);
-- what a renewal writes, and does not
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005);
SELECT host_name, port, type, launch_date = '2026-01-01', created = '2026-01-01', modified > now(), identity, released, launches
FROM uidgen_registry.worker_node;
-- a registry that was made anew knows nobody
SELECT pg_temp.renew('', 1, 101, 1005);
DELETE FROM uidgen_registry.registry;
SELECT pg_temp.set_rows('1 me 1005');
SELECT pg_temp.renew(NULL, 1, 101, 1005);
-- Refused if the clock is beyond what was expected, and then all stays as it is: the
-- row is not looked at, nor the end of the layout.
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, at_most => 1001);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, at_most => 1000);
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, at_most => 999);
SELECT pg_temp.get_rows(), token, modified = '2026-01-01' FROM uidgen_registry.worker_node;
SELECT pg_temp.renew('1 me 1005', 1, 102, 1005, at_most => 990);
SELECT pg_temp.renew('1 me 999', 1, 101, 999, at_most => 999, max_tick => 1000);
-- only the clock is judged, not what is needed
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, needed => 1020);
-- a null argument changes nothing
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005, at_most => NULL);
ROLLBACK;

-- A registry that many servers share is no local one.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.renew('1 me 1005', 1, 101, 1005);
UPDATE uidgen_registry.registry AS r SET shared = true, id = 1, max_lead = '1 h', clock_slack = '1 h',
	system_identifier = h.system_identifier, timeline = h.timeline, started = h.started, quarantine_until = 0
FROM uidgen_registry.registry_history() AS h;
SELECT pg_temp.acquire();
SELECT pg_temp.renew(NULL, 1, 101, 1010);
SAVEPOINT s;
SELECT uidgen_registry.release_worker(0, 1, 101, 1003);
ROLLBACK TO s;
SELECT pg_temp.get_rows();
ROLLBACK;
-- A server with the library knows the numbers of a layout.
SELECT * FROM uidgen.layout_numbers('twitter');
SELECT * FROM uidgen.layout_numbers('sequence:23 time:40:1s epoch:2026-01-01');
BEGIN;
SELECT pg_temp.reset();
SELECT uidgen_registry.share_registry();
SELECT r.layout = i.layout, r.shared, r.max_lead, r.clock_slack FROM uidgen_registry.registry AS r, public.uid_layout_info() AS i;
SELECT pg_temp.reset();
SELECT uidgen_registry.share_registry('twitter', max_lead => '5 min');
SELECT layout, unit, epoch, max_tick, max_datacenter, max_worker, max_lead FROM uidgen_registry.registry;
ROLLBACK;

-- Release: what was not used comes back.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.release('1 me 1010, 2 other 1010', 1, 101, 1003);
SELECT token IS NULL, modified > now(), created = '2026-01-01', launches FROM uidgen_registry.worker_node WHERE worker_id = 1;
SELECT pg_temp.release(NULL, 1, 101, 1001);
SELECT pg_temp.release(NULL, 1, NULL, 1001);
SELECT pg_temp.acquire(wanted => 1);
SELECT pg_temp.release('1 me 1010', 1, 101, 1010);
SELECT pg_temp.release('1 me 1010', 1, 101, 1011);
SELECT pg_temp.release('1 me 1010', 1, 102, 1003);
SELECT pg_temp.release('1 me 1010, 2 other 1010', 2, 101, 1003);
SELECT pg_temp.release('1 me 1010, 1/1 other 1010', 1, 101, 1003, datacenter => 1);
-- the next grant, of this holder or another, begins above what was issued
SELECT pg_temp.release('1 me 1010', 1, 101, 1003);
SELECT uidgen_registry.forget_worker(1, 0);
SELECT pg_temp.acquire(holder => 'other', take_never_used => false);
SELECT pg_temp.release('1 me 1010', 1, 101, 999);
SELECT pg_temp.acquire();
ROLLBACK;

-- forget_worker: what was granted stays granted.
BEGIN;
SELECT pg_temp.reset();
SELECT pg_temp.acquire('1 other 1005, 2 other 1005', take_never_used => false);
SELECT uidgen_registry.forget_worker(1, 0), pg_temp.get_rows();
SELECT token IS NULL, modified > now(), launches FROM uidgen_registry.worker_node WHERE worker_id = 1;
SELECT pg_temp.renew(NULL, 1, 101, 1005);
SELECT pg_temp.acquire(take_never_used => false);
SELECT pg_temp.set_rows('1 other 1005, 1/1 other 1005');
SELECT uidgen_registry.forget_worker(1, 1), pg_temp.get_rows();
SELECT uidgen_registry.forget_worker(worker => 1, datacenter => 0), pg_temp.get_rows();
-- without a datacenter, that of this server
SELECT pg_temp.set_rows(current_setting('uidgen.datacenter_id') || '/1 other 1005, 1023/1 other 1005');
SELECT uidgen_registry.forget_worker(1);
SELECT datacenter_id = current_setting('uidgen.datacenter_id')::int FROM uidgen_registry.worker_node WHERE identity IS NULL;
ROLLBACK;

-- The registry goes by its clock and history alone, which can be replaced: here by a
-- clock that shows a tick and half a minute, in a database of any OID.
BEGIN;
SELECT pg_temp.reset();
CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz LANGUAGE sql AS $$
	SELECT to_timestamp((current_setting('registry_test.epoch')::bigint + current_setting('registry_test.tick')::bigint * 60000000 + 30000000) / 1000000.0);
$$;
CREATE OR REPLACE FUNCTION uidgen_registry.registry_history(OUT system_identifier bigint, OUT timeline int, OUT started timestamptz, OUT database oid) LANGUAGE sql AS $$
	SELECT 1, 2, '2026-01-01'::timestamptz, current_setting('registry_test.database')::oid;
$$;
CREATE FUNCTION pg_temp.set_world(tick bigint, database oid) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('registry_test.tick', tick::text, true), set_config('registry_test.database', database::text, true);
$$;
-- what is written down of times, in ticks
CREATE FUNCTION pg_temp.times(OUT pinned_in numeric, OUT created_in numeric, OUT modified_in numeric, OUT launched_on_that_day boolean) LANGUAGE sql AS $$
	SELECT (extract(epoch FROM pinned) * 1000000 - pg_temp.epoch()) / 60000000, (extract(epoch FROM created) * 1000000 - pg_temp.epoch()) / 60000000,
		(extract(epoch FROM modified) * 1000000 - pg_temp.epoch()) / 60000000, launch_date = created::date
	FROM uidgen_registry.worker_node, uidgen_registry.registry;
$$;
SELECT pg_temp.set_world(500000, 4711);
SELECT pg_temp.acquire('', wanted => 1);
SELECT round(pinned_in, 3), round(created_in, 3), round(modified_in, 3), launched_on_that_day FROM pg_temp.times();
SELECT database FROM uidgen_registry.registry;
SELECT token FROM uidgen_registry.worker_node \gset
SELECT pg_temp.set_world(500005, 4711);
SELECT pg_temp.renew(NULL, 1, :token, 500010, at_most => 500004);
SELECT pg_temp.renew(NULL, 1, :token, 500010, at_most => 500005);
SELECT round(created_in, 3), round(modified_in, 3) FROM pg_temp.times();
SELECT token FROM uidgen_registry.worker_node \gset
-- If the clock is set back, the highest time that was seen stays.
SELECT pg_temp.set_world(500002, 4711);
SELECT pg_temp.renew(NULL, 1, :token, 500015, at_most => 500005);
SELECT round(modified_in, 3) FROM pg_temp.times();
SELECT token FROM uidgen_registry.worker_node \gset
SELECT pg_temp.set_world(500006, 4711);
SELECT pg_temp.release(NULL, 1, :token, 500012);
SELECT round(modified_in, 3) FROM pg_temp.times();
SELECT pg_temp.set_world(500007, 4711);
SELECT uidgen_registry.forget_worker(1, 0);
SELECT round(modified_in, 3) FROM pg_temp.times();
-- another database: a copy
SELECT pg_temp.set_rows('1 me 500000');
SELECT pg_temp.acquire(wanted => 1);
SELECT pg_temp.set_world(500007, 4712);
SELECT pg_temp.acquire(wanted => 1);
ROLLBACK;

-- Whatever instances do, with a clock that goes to and fro, no tick of a worker id
-- is granted twice.  Each of five instances remembers its grant and how far it
-- issued; sometimes one is copied, stops, or is forgotten.
BEGIN;
SELECT pg_temp.reset();
DO $$
DECLARE
	base bigint := pg_temp.epoch();
	clock bigint := 0;
	worker int[] := '{}';		-- by instance; null: holds nothing
	token bigint[] := '{}';
	until bigint[] := '{}';
	used bigint[] := '{0, 0, 0, 0}';	-- by worker id + 1: last tick that may have been issued
	renewed int := 0;
	fenced int := 0;
	acquired int := 0;
	refused int := 0;
	i int;
	j int;
	g record;
BEGIN
	PERFORM setseed(0.5);
	FOR step IN 1 .. 3000 LOOP
		i := 1 + floor(random() * 5);
		IF random() < 0.1 THEN
			clock := clock + floor(random() * 400) - 180;
			UPDATE uidgen_registry.registry SET epoch = base - clock * 60000000;
		END IF;
		CASE floor(random() * 8)::int
			WHEN 0, 1, 2 THEN
				CONTINUE WHEN worker[i] IS NULL;
				SELECT * INTO g FROM uidgen_registry.renew_worker_id(0, worker[i], token[i], until[i], CASE WHEN random() < 0.2 THEN until[i] + 1 ELSE 0 END, 10, 1000000);
				IF g.token IS NULL THEN
					fenced := fenced + 1;
					worker[i] := NULL;
				ELSE
					renewed := renewed + 1;
					IF used[worker[i] + 1] <> until[i] THEN
						RAISE EXCEPTION 'step %: worker id % renewed from %, but % was granted', step, worker[i], until[i], used[worker[i] + 1];
					END IF;
					token[i] := g.token;
					until[i] := g.last_tick;
					used[worker[i] + 1] := g.last_tick;
				END IF;
			WHEN 3 THEN
				CONTINUE WHEN worker[i] IS NULL;
				IF uidgen_registry.release_worker(0, worker[i], token[i], until[i] - 5) THEN
					IF used[worker[i] + 1] <> until[i] THEN
						RAISE EXCEPTION 'step %: worker id % released at %, but % was granted', step, worker[i], until[i], used[worker[i] + 1];
					END IF;
					used[worker[i] + 1] := until[i] - 5;
				END IF;
				worker[i] := NULL;
			WHEN 4, 5 THEN
				PERFORM pg_temp.set_layout(base - clock * 60000000);
				BEGIN
					SELECT * INTO g FROM uidgen_registry.acquire_worker_id('instance ' || i, 'A', 0,
						CASE WHEN random() < 0.2 THEN floor(random() * 4)::int ELSE -1 END,
						coalesce(CASE WHEN random() < 0.2 THEN worker[i] END, -1),
						'reuse', random() < 0.5, 0, 10, 60, 60, 'host', 1, 1);
					acquired := acquired + 1;
					IF g.first_tick <= used[g.worker + 1] THEN
						RAISE EXCEPTION 'step %: worker id % granted from %, but % was granted', step, g.worker, g.first_tick, used[g.worker + 1];
					END IF;
					worker[i] := g.worker;
					token[i] := g.token;
					until[i] := g.last_tick;
					used[g.worker + 1] := g.last_tick;
				EXCEPTION WHEN configuration_limit_exceeded OR object_in_use OR object_not_in_prerequisite_state THEN
					refused := refused + 1;
				END;
			WHEN 6 THEN
				-- one memory, two servers
				j := 1 + i % 5;
				worker[j] := worker[i];
				token[j] := token[i];
				until[j] := until[i];
			ELSE
				IF random() < 0.3 AND EXISTS (SELECT FROM uidgen_registry.worker_node AS n WHERE n.worker_id = worker[i]) THEN
					PERFORM uidgen_registry.forget_worker(worker[i], 0);
				END IF;
		END CASE;
	END LOOP;
	RAISE INFO 'acquired %, renewed %, fenced %, refused %', acquired > 200, renewed > 200, fenced > 50, refused > 50;
END $$;
ROLLBACK;

-- When a tick begins, for messages
SELECT uidgen_registry.tick_time(0, 1000, 0);
SELECT uidgen_registry.tick_time(1, 1, 1735689600000000), uidgen_registry.tick_time(1999, 1, 1735689600000000);
SELECT uidgen_registry.tick_time(2199023255551, 1000, 1735689600000000);
SELECT uidgen_registry.tick_time(-10, 60000000, 0);
SELECT uidgen_registry.tick_time(9223372036854775807, 3600000000, 0), uidgen_registry.tick_time(9223372036854775807, 1, 0);
-- The tick that a time is in
SELECT uidgen_registry.tick_at('2025-01-01 00:00:01.999999 UTC', 1000000, 1735689600000000), uidgen_registry.tick_at('2025-01-01 01:00 UTC', 3600000000, 1735689600000000),
	uidgen_registry.tick_at('2024-12-31 23:59:59.9999 UTC', 1000, 1735689600000000);
-- The clock and the history that the registry goes by
SELECT uidgen_registry.registry_clock() BETWEEN statement_timestamp() AND clock_timestamp();
SELECT h.system_identifier = c.system_identifier, timeline >= t.timeline_id, started = pg_postmaster_start_time(), database = d.oid
FROM uidgen_registry.registry_history() AS h, pg_control_system() AS c, pg_control_checkpoint() AS t, pg_database AS d WHERE datname = current_database();

-- A statement has the name of a child in full, up to 90 bytes.
BEGIN;
CREATE SCHEMA regress_uidgen_aaaaaaaaaaa;
CREATE TABLE regress_uidgen_aaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb () INHERITS (uidgen_registry.worker_node);
SELECT mend FROM uidgen_registry.list_defects('uidgen_registry.worker_node', 'datacenter_id, worker_id');
ALTER SCHEMA regress_uidgen_aaaaaaaaaaa RENAME TO regress_uidgen_aaaaaaaaaaaa;
SELECT mend FROM uidgen_registry.list_defects('uidgen_registry.worker_node', 'datacenter_id, worker_id');
ROLLBACK;
