-- Guests: the functions of a registry for programs that make ids in their own process.
--
-- As in sql/fleet.sql, everything happens in transactions that are rolled back, with a clock and a history that are made up: a
-- tick takes a second.  Worker ids 0 to 3 are for nodes, 4 to 7 for guests; guest_lead is 20 s, clock_slack 5 s, and the clock shows
-- tick 1000.  The guest is the role of this session; other roles are made up.  What a role of its own may do, and that it needs no
-- other rights, is tried by test/t/guests_python.pl.

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
	DELETE FROM uidgen_registry.guest_role;
	PERFORM pg_temp.world(1000, '1');
END $$;

-- A registry with these rows, as 'WORKER ROLE GRANTED_UNTIL[@MODIFIED] [r], ...': role me is this session's, - is a node.  The token is
-- 100 + the worker id, and who has the row is called as the role is.
CREATE FUNCTION pg_temp.set_registry(content text, quarantine bigint DEFAULT -1, bound int DEFAULT 4) RETURNS void LANGUAGE sql AS $$
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	DELETE FROM uidgen_registry.guest_role;
	INSERT INTO uidgen_registry.registry
		(layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, only_one, shared, id, max_lead, clock_slack,
		 system_identifier, timeline, started, database, quarantine_until, first_guest, lowest_first_guest, guest_lead, guest_quarantine_until)
		SELECT 'A', 1000000, 0, 1000000, 1, 7, '2026-01-01', true, true, 42, '60 s', '5 s', h.*, quarantine + 40, 4, 4, '20 s', quarantine
		FROM uidgen_registry.registry_history() AS h;
	INSERT INTO uidgen_registry.guest_role VALUES (session_user, bound), ('other', 9);
	INSERT INTO uidgen_registry.worker_node
		SELECT 0, f[1]::int, f[2], NULL, NULL, '2026-01-01', '2026-01-01',
			to_timestamp(coalesce(f[4]::int, f[3]::int - 10)),
			f[2], CASE WHEN f[5] IS NULL THEN 100 + f[1]::bigint END, f[3]::bigint, f[5] IS NOT NULL, 7,
			CASE f[2] WHEN '-' THEN NULL WHEN 'me' THEN session_user ELSE f[2]::name END
		FROM regexp_matches(content, '(\d+) (\S+) (\d+)(?:@(\d+))?( r)?', 'g') AS f;
$$;
CREATE FUNCTION pg_temp.get_rows() RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ', worker_id, CASE WHEN guest = session_user THEN 'me' WHEN guest = '' THEN 'empty' ELSE coalesce(guest, '-') END,
		granted_until, CASE WHEN released THEN 'r' END), ', ' ORDER BY worker_id), 'empty') FROM uidgen_registry.worker_node;
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


CREATE FUNCTION pg_temp.acquire(content text DEFAULT NULL, quarantine bigint DEFAULT -1, bound int DEFAULT 4, holder text DEFAULT 'me',
	tokens bigint[] DEFAULT '{}', claimed int DEFAULT -1, claimed_until bigint DEFAULT -1, datacenter int DEFAULT 0) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	g record;
	used int[];
	message text;
	detail text;
	hint text;
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_registry(content, quarantine, bound);
	END IF;
	used := ARRAY(SELECT worker_id FROM uidgen_registry.worker_node);
	BEGIN
		SELECT * INTO STRICT g FROM uidgen_registry.guest_acquire(holder, 500, tokens, claimed, claimed_until, datacenter);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		RETURN replace(pg_temp.failure(SQLSTATE, message, detail, hint), session_user, 'ME');
	END;
	RETURN CASE WHEN g.worker IS NULL AND g.first_tick IS NULL THEN 'ask again'
			WHEN g.worker IS NULL THEN 'too far ahead'
			-- which of the never used is taken, is random
			WHEN g.worker = ANY (used) THEN 'worker ' || g.worker ELSE 'one never used' END
		|| coalesce(': ' || g.first_tick, '') || coalesce(' to ' || g.last_tick, '');
END $$;
CREATE FUNCTION pg_temp.renew(content text, worker int, token bigint, until bigint, needed bigint DEFAULT 0, quarantine bigint DEFAULT -1) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF content IS NOT NULL THEN
		PERFORM pg_temp.set_registry(content, quarantine);
	END IF;
	RETURN coalesce('until ' || (SELECT g.last_tick FROM uidgen_registry.guest_renew(worker, token, until, 600, needed) AS g), 'fenced');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION pg_temp.release(content text, worker int, tokens bigint[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.set_registry(content);
	RETURN CASE WHEN uidgen_registry.guest_release(worker, tokens) THEN 'done' ELSE 'not done' END || ' -> ' || pg_temp.get_rows();
END $$;
CREATE FUNCTION pg_temp.node(wanted int DEFAULT -1, claimed int DEFAULT -1, claimed_until bigint DEFAULT -1, holder text DEFAULT 'node') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT CASE WHEN g.worker < 4 THEN 'one of nodes' ELSE 'worker ' || g.worker END || ' to ' || g.last_tick
		FROM uidgen_registry.lease(holder, 'A', 700, '{}', claimed, claimed_until, 0, wanted, 0, 10, 9223372036854775807, 9223372036854775807, 'h', 1, 1) AS g);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
\set ECHO all

BEGIN;
CALL pg_temp.make_up_the_world();

-- A grant is half of guest_lead.  Guests have their own worker ids, and so have nodes.
SELECT pg_temp.acquire('4 other 1005, 5 other 1005, 6 other 1005'), pg_temp.get_rows() ~ '7 me 1010';
SELECT pg_temp.acquire(''), pg_temp.node(), pg_temp.acquire(), pg_temp.node(), pg_temp.node(), pg_temp.node(), pg_temp.node();
SELECT worker_id < 4 AS of_nodes, count(*), count(guest) FROM uidgen_registry.worker_node GROUP BY 1 ORDER BY 1;
-- What a node says of a worker id of guests counts for nothing.
SELECT pg_temp.set_registry('4 me 1005, 5 me 900'), pg_temp.node(wanted => 5), pg_temp.node(claimed => 4, claimed_until => 1008), pg_temp.node(claimed => 6, claimed_until => 1008),
	pg_temp.node(holder => 'me'), pg_temp.get_rows() ~ '4 me 1005, 5 me 900';
-- nor does what a guest says of one of nodes
SELECT pg_temp.acquire('1 - 1005', tokens => '{101}', claimed => 1, claimed_until => 1005), pg_temp.renew(NULL, 1, 101, 1005);
-- What a guest was granted while first_guest was raised stays its own.
SELECT pg_temp.set_registry('3 me 900'), pg_temp.node(wanted => 3), pg_temp.node(claimed => 3, claimed_until => 1008) ~ 'one of nodes', pg_temp.get_rows() ~ '3 me 900';

-- R3: free guest_lead + clock_slack and a tick after end and change, and above the end when it is released.
SELECT pg_temp.acquire('4 other 1000, 5 other 1000, 6 other 1000, 7 other 974@974');
SELECT pg_temp.acquire('4 other 1000, 5 other 1000, 6 other 1000, 7 other 973@973'), pg_temp.get_rows();
SELECT pg_temp.acquire('4 other 1000, 5 other 1000, 6 other 1000, 7 other 973@976');
SELECT pg_temp.acquire('4 other 1000, 5 other 1000, 6 other 1000, 7 other 1008 r'), pg_temp.get_rows();
SELECT pg_temp.acquire('4 other 1000, 5 other 1000, 6 other 1000, 7 other 1019 r');

-- R1: until guest_lead after the end or the change
SELECT pg_temp.renew('5 me 1005', 5, 105, 1005), pg_temp.renew('5 me 980@970', 5, 105, 980), pg_temp.renew('5 me 979@970', 5, 105, 979), pg_temp.renew('5 me 970@981', 5, 105, 970);
SELECT pg_temp.renew('5 me 1005', 5, 106, 1005), pg_temp.renew('5 me 1005', 5, 105, 1004), pg_temp.renew('5 other 1005', 5, 105, 1005);
-- R4: no further ahead than guest_lead
SELECT pg_temp.renew('5 me 1005', 5, 105, 1005, needed => 1008), pg_temp.renew('5 me 1005', 5, 105, 1005, needed => 1015), pg_temp.renew('5 me 1005', 5, 105, 1005, needed => 5000);

-- R2: by token, above the row's end, of a row that is named or the guest's by name
SELECT pg_temp.acquire('4 me 1005', tokens => '{1, 104}', claimed => 4, claimed_until => 1000), pg_temp.get_rows();
SELECT pg_temp.acquire('4 me 1005', tokens => '{104}');
SELECT pg_temp.acquire('4 me 1005', tokens => '{104}', holder => 'somebody');
SELECT pg_temp.acquire('4 me 980@970', tokens => '{104}'), pg_temp.acquire('4 me 979@970', tokens => '{104}');
-- not of another role, whatever is known
SELECT pg_temp.acquire('4 other 1005', tokens => '{104}', holder => 'other', claimed => 4, claimed_until => 1005), pg_temp.get_rows() ~ '4 other 1005';
-- By end, only below the end of a quarantine: otherwise it is a lie, and begins no quarantine.
SELECT pg_temp.acquire('4 me 1005', claimed => 4, claimed_until => 1009), (SELECT guest_quarantine_until FROM uidgen_registry.registry);
SELECT pg_temp.acquire('4 me 1005', quarantine => 1025, claimed => 4, claimed_until => 1009), pg_temp.get_rows();
SELECT pg_temp.acquire('4 other 1005', quarantine => 1025, claimed => 4, claimed_until => 1009), pg_temp.acquire('', quarantine => 1025, claimed => 4, claimed_until => 1009);

-- R5: another history.  The quarantine of guests is shorter than the one of nodes, and who has a grant goes on.
SELECT pg_temp.acquire('4 me 1005'), pg_temp.world(1001, '2'), pg_temp.acquire(), quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
SELECT quarantine_until, guest_quarantine_until, pg_temp.acquire(), pg_temp.renew(NULL, 4, 104, 1005) FROM uidgen_registry.registry;
SELECT pg_temp.world(1009), pg_temp.acquire();
SELECT pg_temp.world(1010), pg_temp.acquire();
SELECT pg_temp.world(1000, '2'), pg_temp.set_registry('4 me 1005'), pg_temp.world(1000, '3'), pg_temp.renew(NULL, 4, 104, 1005);
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
-- A loss of a renewal: asked again, the guest gets the row by its end.
SELECT pg_temp.set_registry('4 me 1005'), pg_temp.world(1001, '4'), pg_temp.acquire(tokens => '{9}', claimed => 4, claimed_until => 1011), pg_temp.acquire(tokens => '{9}', claimed => 4, claimed_until => 1011);
-- It ends for nodes alone, unless guests are named.
SELECT uidgen_registry.end_quarantine();
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
SELECT uidgen_registry.end_quarantine(guests => true);
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
-- One that no call has begun so far is theirs as well.
SELECT pg_temp.set_registry('4 me 1005'), pg_temp.world(1001, '5');
SELECT uidgen_registry.end_quarantine();
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
SELECT pg_temp.world(1000, '1');

-- R7
SELECT pg_temp.release('4 me 1005', 4, '{7, 104}'), pg_temp.release('4 me 1005', 4, '{105}'), pg_temp.release('4 other 1005', 4, '{104}'), pg_temp.release('3 - 1005', 3, '{103}');

-- The bound of a role: with as many, it gets what it has given up, and else nothing.  What is released counts until its end is over.
SELECT pg_temp.acquire('4 me 1005, 5 me 990', bound => 2);
SELECT pg_temp.acquire('4 me 1005, 5 me 1008 r', bound => 2), pg_temp.get_rows();
SELECT pg_temp.acquire('4 me 1005, 5 me 1019 r', bound => 2);
SELECT pg_temp.acquire('4 me 1005, 5 me 999 r', bound => 2), pg_temp.acquire('4 me 1005, 5 me 970', bound => 2);
-- one who takes and releases, and asks for as much as there is each time
SELECT pg_temp.set_registry('', bound => 1);
DO $$
DECLARE
	g record;
	until bigint;
BEGIN
	FOR i IN 1 .. 30 LOOP
		PERFORM pg_temp.world(1000 + i);
		BEGIN
			SELECT * INTO g FROM uidgen_registry.guest_acquire('greedy', 2 * i);
			CONTINUE WHEN g.worker IS NULL;
			SELECT r.last_tick INTO until FROM uidgen_registry.guest_renew(g.worker, 2 * i, g.last_tick, 2 * i + 1, 9999999) AS r;
			PERFORM uidgen_registry.guest_release(g.worker, ARRAY[2 * i + 1]);
		EXCEPTION WHEN configuration_limit_exceeded THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT count(*) FROM uidgen_registry.worker_node WHERE granted_until >= 1030;
SELECT pg_temp.world(1000);

-- A role that may call as a node, too, gets by that call neither a worker id of nodes nor more than its bound.
SELECT pg_temp.set_registry('');
CREATE FUNCTION pg_temp.guest_by_node_call(wanted int, policy text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT g.worker FROM uidgen_registry.lease('h', '', 1, wanted => wanted, policy => policy, guest => true) AS g);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT pg_temp.guest_by_node_call(3, 'reuse'), pg_temp.guest_by_node_call(-1, 'disposable'), pg_temp.get_rows();

-- Whose role may do nothing, and where there are no guests
SELECT pg_temp.set_registry('4 other 1005');
DELETE FROM uidgen_registry.guest_role WHERE name = session_user;
SELECT pg_temp.acquire();
SELECT pg_temp.set_registry('');
UPDATE uidgen_registry.registry SET first_guest = 8;
SELECT pg_temp.acquire();
SELECT pg_temp.acquire('', datacenter => 2);

CREATE FUNCTION pg_temp.lengths() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', max_lead, guest_lead, 'before:', former_max_lead, former_guest_lead, CASE WHEN lengths_await IS NOT NULL THEN 'awaits' END) FROM uidgen_registry.registry $$;
CREATE FUNCTION pg_temp.change_again(length interval) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	PERFORM uidgen_registry.change_registry(guest_lead => length);
	RETURN 'changed';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN pg_temp.failure(SQLSTATE, message, detail, hint);
END $$;
-- Which worker ids are for guests can be changed where they are free, by the lengths of nodes; who had them has them no more.
CREATE FUNCTION pg_temp.change(content text, first int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	PERFORM pg_temp.set_registry(content);
	PERFORM uidgen_registry.change_registry(first_guest => first);
	RETURN pg_temp.get_rows();
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN pg_temp.failure(SQLSTATE, message, detail, hint);
END $$;
SELECT pg_temp.change('2 - 1005', 2);
SELECT pg_temp.change('2 - 940', 2);
SELECT pg_temp.change('2 - 930, 3 - 1010 r, 4 me 1005', 2);
SELECT pg_temp.change('4 me 960, 5 me 1005', 5);
SELECT pg_temp.change('4 me 930, 5 me 1005', 5), pg_temp.change('3 - 1000000, 4 other 1000000', 5), pg_temp.change('', 8);
SELECT pg_temp.change('', 0);
SELECT pg_temp.change('', 9);
SELECT quarantine_until, guest_quarantine_until, guest_lead FROM uidgen_registry.registry;
SELECT pg_temp.set_registry('', quarantine => 1020);
UPDATE uidgen_registry.registry SET first_guest = NULL, guest_lead = NULL, quarantine_until = 1065, guest_quarantine_until = 1065;
SELECT uidgen_registry.change_registry(first_guest => 6);
SELECT quarantine_until, guest_quarantine_until, guest_lead, first_guest FROM uidgen_registry.registry;

-- Whoever gets worker ids waits for the quarantine of the side that had them, and the other side does not.
SELECT pg_temp.set_registry('', quarantine => 1020);
UPDATE uidgen_registry.registry SET quarantine_until = 1001;
SELECT uidgen_registry.change_registry(first_guest => 3);
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
SELECT uidgen_registry.change_registry(first_guest => 5);
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;

SELECT pg_temp.set_registry('', quarantine => 1020);
SELECT uidgen_registry.change_registry(first_guest => 3);
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;

-- R4: a node's grant of a worker id that guests may have had reaches as far as a guest's.  A failover that loses the change of first_guest ends the
-- quarantine by that length.
SELECT pg_temp.set_registry(''), uidgen_registry.change_registry(first_guest => 7), uidgen_registry.change_registry(first_guest => 8);
SELECT lowest_first_guest, first_guest FROM uidgen_registry.registry;
SELECT w.n, l.worker, l.first_tick, l.last_tick, l.max_lead FROM (VALUES (3), (4), (7)) AS w (n), uidgen_registry.lease('node ' || w.n, 'A', 500 + w.n, wanted => w.n) AS l;
SELECT w.n, r.last_tick, r.max_lead FROM (VALUES (3, 1030), (4, 1010), (7, 1010)) AS w (n, until), uidgen_registry.lease_renew(0, w.n, 500 + w.n, w.until, 600 + w.n, 1100) AS r;

-- R4: a length that was changed counts once the standbys know it.  Until then grants reach as far as the shorter one, and quarantines last as the longer one.
SAVEPOINT standbys;
CREATE OR REPLACE FUNCTION uidgen_registry.lagging_standbys(awaited pg_lsn) RETURNS text LANGUAGE sql AS
	$$ SELECT nullif(current_setting('fleet_test.lagging'), '') $$;
SELECT pg_temp.lengths() FROM set_config('fleet_test.lagging', 'b', true), pg_temp.set_registry('5 me 1005'), uidgen_registry.change_registry(guest_lead => '40 s');
SELECT pg_temp.renew(NULL, 5, 105, 1005, needed => 1100), pg_temp.lengths();
SELECT pg_temp.change_again('30 s');
SELECT pg_temp.world(1000, '2'), uidgen_registry.begin_quarantine(guest => true);
SELECT pg_temp.renew(NULL, 5, (SELECT token FROM uidgen_registry.worker_node WHERE worker_id = 5), 1020, needed => 1100) FROM set_config('fleet_test.lagging', '', true);
SELECT pg_temp.lengths();
SELECT pg_temp.lengths() FROM set_config('fleet_test.lagging', 'b', true), uidgen_registry.change_registry(guest_lead => '15 s', max_lead => '50 s');
SELECT pg_temp.renew(NULL, 5, (SELECT token FROM uidgen_registry.worker_node WHERE worker_id = 5), 1040, needed => 1100), pg_temp.world(1000, '3'), uidgen_registry.begin_quarantine(), uidgen_registry.begin_quarantine(guest => true);
-- Nobody follows: it counts at once.  What was granted by a longer length is waited for, whichever quarantine comes.
SELECT pg_temp.lengths() FROM set_config('fleet_test.lagging', '', true), pg_temp.set_registry(''), uidgen_registry.change_registry(guest_lead => '15 s', max_lead => '50 s');
SELECT pg_temp.world(1005, '4'), uidgen_registry.begin_quarantine(), uidgen_registry.begin_quarantine(guest => true);
-- A quarantine that goes on is for grants by a length that this registry was not told before.
SELECT pg_temp.set_registry('', quarantine => 1020), uidgen_registry.change_registry(guest_lead => '30 s', max_lead => '65 s', clock_slack => '6 s'), pg_temp.world(1000, '1');
SELECT quarantine_until, guest_quarantine_until FROM uidgen_registry.registry;
-- A guest's grant reaches no further than a node's.
SELECT uidgen_registry.change_registry(max_lead => '20 s');
ROLLBACK TO standbys;

-- What the owner does by hand stays on its side.
SELECT pg_temp.set_registry(''), uidgen_registry.keep_worker(0, 5) IS NOT NULL, uidgen_registry.import_worker(0, 6, to_timestamp(1030)), uidgen_registry.keep_worker(0, 3) IS NOT NULL;
SELECT pg_temp.get_rows();
SELECT uidgen_registry.forget_worker(5, 0), pg_temp.get_rows();

-- What people see
SELECT pg_temp.set_registry('1 - 1005, 2 - 900, 4 me 1005, 5 me 990, 6 me 1005 r, 7 other 1005');
SELECT replace(role, session_user, 'ME') AS role, max_workers, running, taken FROM uidgen_registry.guests ORDER BY 1;
SELECT running, free_worker_ids FROM uidgen_registry.status;
SELECT worker_id, state, replace(guest, session_user, 'ME') AS guest FROM uidgen_registry.fleet ORDER BY 1;
ROLLBACK;

-- Roles of which nobody was granted anything since the quarantine began, here with tick 1000.
BEGIN;
CALL pg_temp.make_up_the_world();
CREATE ROLE guest_of_test;
CREATE ROLE node_of_test;
SELECT uidgen_registry.grant_guest('guest_of_test'), uidgen_registry.grant_node('node_of_test'), pg_temp.set_registry('1 - 1005');
UPDATE uidgen_registry.worker_node SET called_by = 'node_of_test', modified = to_timestamp(1000);
SELECT roles_without_grant FROM uidgen_registry.status;
UPDATE uidgen_registry.registry SET quarantine_until = 1065;
SELECT roles_without_grant FROM uidgen_registry.status;
UPDATE uidgen_registry.worker_node SET modified = to_timestamp(1001);
SELECT roles_without_grant, pg_temp.world(1000, '2') FROM uidgen_registry.status;
-- the next one, which no call has begun so far
SELECT roles_without_grant, pg_temp.world(1000, '1') FROM uidgen_registry.status;
UPDATE uidgen_registry.worker_node SET token = NULL;
SELECT roles_without_grant FROM uidgen_registry.status;
-- Grants and renewals say who has called.
SELECT pg_temp.set_registry('4 me 1005, 1 - 1005'), pg_temp.acquire(), pg_temp.renew(NULL, 4, 104, 1005), (SELECT last_tick FROM uidgen_registry.lease_renew(0, 1, 101, 1005, 1));
SELECT worker_id < 4 AS of_node, count(*) FROM uidgen_registry.worker_node WHERE called_by = session_user GROUP BY 1 ORDER BY 1;
ROLLBACK;

-- Roles
BEGIN;
CREATE ROLE guest_of_test;
SELECT uidgen_registry.grant_guest('guest_of_test', 3), uidgen_registry.grant_guest('guest_of_test', 5);
SELECT * FROM uidgen_registry.guest_role;
SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'uidgen_registry'::regnamespace AND has_function_privilege('guest_of_test', p.oid, 'EXECUTE') ORDER BY 1;
SELECT has_schema_privilege('guest_of_test', 'uidgen_registry', 'USAGE'), has_table_privilege('guest_of_test', 'uidgen_registry.guest_role', 'SELECT');
SELECT uidgen_registry.revoke_guest('guest_of_test');
SELECT count(*), has_schema_privilege('guest_of_test', 'uidgen_registry', 'USAGE') FROM uidgen_registry.guest_role;
-- A role that is a node as well keeps what nodes need, and the other way round.
CREATE FUNCTION pg_temp.may() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(', ', CASE WHEN has_schema_privilege('guest_of_test', 'uidgen_registry', 'USAGE') THEN 'schema' END,
		(SELECT string_agg(p.proname, ', ' ORDER BY p.proname) FROM pg_proc AS p WHERE p.pronamespace = 'uidgen_registry'::regnamespace
			AND p.proname ~ '_renew$' AND has_function_privilege('guest_of_test', p.oid, 'EXECUTE')));
$$;
SELECT uidgen_registry.grant_guest('guest_of_test', 3), uidgen_registry.grant_node('guest_of_test'), pg_temp.may();
SELECT uidgen_registry.revoke_guest('guest_of_test'), pg_temp.may();
SELECT uidgen_registry.grant_guest('guest_of_test', 3), uidgen_registry.revoke_node('guest_of_test'), pg_temp.may();
SELECT uidgen_registry.revoke_guest('guest_of_test'), pg_temp.may();
DROP ROLE guest_of_test;
DO $$
BEGIN
	PERFORM uidgen_registry.grant_guest(current_user::regrole);
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RAISE INFO '%', replace(SQLERRM, quote_ident(current_user), 'ME');
END $$;
CREATE ROLE guest_of_test;
SELECT uidgen_registry.grant_guest('guest_of_test', 0);
ROLLBACK;
-- Nobody changes the bounds by hand.
RESET search_path;
INSERT INTO uidgen_registry.guest_role VALUES ('somebody', 1);
