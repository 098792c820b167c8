-- A write of the registry's functions that is dropped: by replication's role, in which the
-- tables take no rows, or by somebody's trigger.  Each function raises an error, and gives
-- out nothing.
--
-- Everything happens in transactions that are rolled back, on emptied tables.

\set SHOW_CONTEXT never
-- What is changed by hand here, no guard is to refuse: see script/registry/10_registry.sql.
SET search_path = pg_catalog, uidgen_registry, pg_temp;
SET client_min_messages = error;

-- What a command says, without its ids; what it did is undone.
CREATE FUNCTION pg_temp.try(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RAISE EXCEPTION 'was carried out' USING ERRCODE = 'ZZZZZ';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION pg_temp.contents() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' / ', (SELECT string_agg(r::text, ' ') FROM uidgen_registry.registry AS r),
		(SELECT string_agg(n::text, ' ') FROM uidgen_registry.worker_node AS n), (SELECT string_agg(s::text, ' ') FROM uidgen_registry.segment AS s), (SELECT string_agg(g::text, ' ') FROM uidgen_registry.guest_role AS g));
$$;
CREATE TEMP TABLE layout AS SELECT * FROM uidgen.layout_numbers('default');
CREATE TEMP TABLE call (mode text, what text, command text);
INSERT INTO call VALUES
	('local', 'first grant', $$SELECT * FROM uidgen_registry.acquire_worker_id('me', (SELECT layout FROM layout), 0, -1, -1, 'reuse', true, 0, 10, 60, 5, 'host', 1, 1)$$),
	('local', 'renewal', $$SELECT * FROM uidgen_registry.renew_worker_id(0, 1, 101, 7, 9, 10, 9223372036854775807)$$),
	('local', 'release', $$SELECT * FROM uidgen_registry.release_worker(0, 1, 101, 7)$$),
	('local', 'a copy', $$SELECT * FROM uidgen_registry.pin_layout((SELECT (true, r.layout, r.unit, r.epoch, r.max_tick, r.max_datacenter, r.max_worker, r.pinned, 1,
		false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, true, false, NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::uidgen_registry.registry FROM uidgen_registry.registry AS r))$$),
	('local', 'forget_worker', $$SELECT uidgen_registry.forget_worker(1, 0)$$),
	('local', 'reserve_backfill', $$SELECT uidgen_registry.reserve_backfill((SELECT c.system_identifier FROM pg_control_system() AS c) || '/1/2/3/0123456789abcdef/0123456789abcdef/4/5', 9)$$),
	('none', 'share_registry', $$SELECT uidgen_registry.share_registry()$$),
	('fleet', 'first grant', $$SELECT * FROM uidgen_registry.lease('me', (SELECT layout FROM layout), 5)$$),
	('fleet', 'claim', $$SELECT * FROM uidgen_registry.lease('me', (SELECT layout FROM layout), 5, '{101}', 1, 7, wanted => 1)$$),
	('fleet', 'renewal', $$SELECT * FROM uidgen_registry.lease_renew(0, 1, 101, 7, 5, 9, 10, 9223372036854775807, 9223372036854775807)$$),
	('fleet', 'release', $$SELECT * FROM uidgen_registry.lease_release(0, 1, '{101}', 9223372036854775807)$$),
	('fleet', 'import', $$SELECT * FROM uidgen_registry.node_import(0, '{2}', '{8}', 9223372036854775807)$$),
	('fleet', 'import of a higher end', $$SELECT * FROM uidgen_registry.node_import(0, '{3}', '{9}', 9223372036854775807)$$),
	('fleet', 'import_worker', $$SELECT uidgen_registry.import_worker(0, 2, now())$$),
	('fleet', 'keep_worker', $$SELECT uidgen_registry.keep_worker(0, 2)$$),
	('fleet', 'keep_worker of a row', $$SELECT uidgen_registry.keep_worker(0, 1)$$),
	('fleet', 'reserve_backfill', $$SELECT uidgen_registry.reserve_backfill('1/1/2/3/0123456789abcdef/0123456789abcdef/4/5', 9) FROM pg_sleep(0.005)$$),
	('fleet', 'begin_quarantine', $$SELECT uidgen_registry.begin_quarantine()$$),
	('local', 'end_registry', $$SELECT uidgen_registry.end_registry()$$),
	('fleet', 'end_quarantine', $$SELECT uidgen_registry.end_quarantine()$$),
	('fleet', 'change_registry', $$SELECT uidgen_registry.change_registry('3 min')$$),
	('fleet', 'change_lengths', $$SELECT uidgen_registry.change_lengths('3 min', NULL, NULL)$$),
	('fleet', 'judge_lengths', $$SELECT uidgen_registry.judge_lengths(NULL)$$),
	('fleet', 'end_registry', $$SELECT uidgen_registry.end_registry()$$),
	('fleet', 'take_over_registry', $$SELECT uidgen_registry.take_over_registry()$$),
	('fleet', 'forget_worker', $$SELECT uidgen_registry.forget_worker(1, 0)$$),
	('fleet', 'fetch', $$SELECT * FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807)$$),
	('fleet', 'evidence', $$SELECT * FROM uidgen_registry.segment_fetch('s', 10, (SELECT incarnation FROM uidgen_registry.segment WHERE name = 's'), 0, '{1}', 5, 9223372036854775807)$$),
	('fleet', 'release of numbers', $$SELECT * FROM uidgen_registry.segment_release('s', (SELECT version FROM uidgen_registry.segment WHERE name = 's'), 5, 9223372036854775807)$$),
	('fleet', 'create_segment', $$SELECT uidgen_registry.create_segment('t')$$),
	('fleet', 'create_segment again', $$SELECT uidgen_registry.create_segment('dropped')$$),
	('fleet', 'drop_segment', $$SELECT uidgen_registry.drop_segment('s')$$),
	('fleet', 'import_segment', $$SELECT uidgen_registry.import_segment('{"name": "s", "last_value": 9, "step": 1, "min_step": 1, "max_step": 1, "max_value": 9999999, "failover_gap": 0, "dropped": false}')$$),
	('fleet', 'change_segment', $$SELECT uidgen_registry.change_segment('s', 2000)$$),
	('fleet', 'raise_segment', $$SELECT uidgen_registry.raise_segment('s', 1000)$$),
	('fleet', 'first guest', $$SELECT uidgen_registry.set_first_guest(900)$$),
	('guests', 'first grant', $$SELECT * FROM uidgen_registry.guest_acquire('me', 5)$$),
	('guests', 'claim', $$SELECT * FROM uidgen_registry.guest_acquire('me', 5, '{950}', 950, 9)$$),
	('guests', 'renewal', $$SELECT * FROM uidgen_registry.guest_renew(950, 950, (SELECT granted_until FROM uidgen_registry.worker_node WHERE worker_id = 950), 5)$$),
	('guests', 'release', $$SELECT * FROM uidgen_registry.guest_release(950, '{950}')$$),
	('guests', 'grant_guest', $$SELECT uidgen_registry.grant_guest('guest_of_writes')$$),
	('guests', 'revoke_guest', $$SELECT uidgen_registry.revoke_guest('guest_of_writes')$$),
	('fleet', 'note_standbys', $$SELECT uidgen_registry.note_standbys(true)$$);

-- Every function that writes to the registry is called here: their number.
SELECT count(*) AS functions_that_write,
	bool_and(EXISTS (SELECT FROM call WHERE command ~ (p.proname || '\(')) OR p.proname IN ('raise_ends', 'insert_worker', 'write_grant', 'check_rows', 'note_grant', 'write_segment')) AS are_called,
	bool_and(p.prosrc ~ 'check_written\(') AS are_checked
FROM pg_proc AS p WHERE p.pronamespace = 'uidgen_registry'::regnamespace AND p.prosrc ~ '(INSERT INTO|UPDATE|DELETE FROM) uidgen_registry\.';

-- The registry that a command meets
CREATE PROCEDURE pg_temp.make_registry(mode text) LANGUAGE plpgsql AS $$
BEGIN
	CREATE OR REPLACE FUNCTION uidgen_registry.in_transaction_block() RETURNS boolean LANGUAGE sql AS 'SELECT false';
	DELETE FROM uidgen_registry.segment;
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	DELETE FROM uidgen_registry.guest_role;
	IF mode = 'local' THEN
		INSERT INTO uidgen_registry.registry (layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database)
			SELECT l.*, now(), h.database FROM layout AS l, uidgen_registry.registry_history() AS h;
	ELSIF mode IN ('fleet', 'guests') THEN
		PERFORM uidgen_registry.share_registry('default', new_fleet => true);
	END IF;
	IF mode <> 'none' THEN
		INSERT INTO uidgen_registry.worker_node VALUES
			(0, 1, 'host', 1, 2, '2026-01-01', '2026-01-01', now(), 'me', 101, 7, false, 1),
			(0, 3, 'host', 1, 2, '2026-01-01', '2026-01-01', '2026-01-01', 'you', 103, 7, true, 1);
		IF mode = 'guests' THEN
			PERFORM uidgen_registry.set_first_guest(900);
			INSERT INTO uidgen_registry.guest_role VALUES (session_user, 5), ('guest_of_writes', 5);
			INSERT INTO uidgen_registry.worker_node
				SELECT 0, 950, 'host', NULL, NULL, '2026-01-01', '2026-01-01', now(), 'me', 950, r.guest_quarantine_until, false, 1, session_user FROM uidgen_registry.registry AS r;
		END IF;
		PERFORM uidgen_registry.create_segment('s'), uidgen_registry.create_segment('dropped'), uidgen_registry.drop_segment('dropped');
		PERFORM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807);
	END IF;
END $$;

-- As it should be, and then in the role of replication
BEGIN;
CREATE ROLE guest_of_writes;
CREATE FUNCTION pg_temp.call_all() RETURNS TABLE (call text, result text, unchanged boolean) LANGUAGE plpgsql AS $$
DECLARE
	c record;
	before text;
	role text := current_setting('session_replication_role');
BEGIN
	FOR c IN SELECT k.mode, k.what, k.command
		FROM pg_temp.call AS k
	LOOP
		SET LOCAL session_replication_role = origin;
		CALL pg_temp.make_registry(c.mode);
		before := pg_temp.contents();
		PERFORM set_config('session_replication_role', role, true);
		call := c.mode || ': ' || c.what;
		result := pg_temp.try(c.command);
		unchanged := before IS NOT DISTINCT FROM pg_temp.contents();
		RETURN NEXT;
	END LOOP;
END $$;
SELECT call, result FROM pg_temp.call_all();
SET LOCAL session_replication_role = replica;
SELECT * FROM pg_temp.call_all();
ROLLBACK;

-- The error in full
BEGIN;
CALL pg_temp.make_registry('fleet');
SET LOCAL session_replication_role = replica;
CREATE FUNCTION pg_temp.texts(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE command;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN detail || E'\n' || replace(replace(hint, quote_ident(current_database()), 'DATABASE'), quote_ident(session_user), 'ROLE');
END $$;
SELECT pg_temp.texts($$SELECT * FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807)$$);
SET LOCAL session_replication_role = origin;
CREATE FUNCTION pg_temp.drop_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER somebodys BEFORE INSERT OR UPDATE ON uidgen_registry.segment FOR EACH ROW EXECUTE FUNCTION pg_temp.drop_row();
SELECT pg_temp.try($$SELECT * FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807)$$),
	pg_temp.texts($$SELECT * FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, 9223372036854775807)$$);
ROLLBACK;

-- Who makes a node of a role that has such a setting is warned.
BEGIN;
CREATE ROLE regress_uidgen_replica;
ALTER ROLE regress_uidgen_replica SET session_replication_role = replica;
SET LOCAL client_min_messages = warning;
SELECT uidgen_registry.warn_of_settings('regress_uidgen_replica'::regrole);
ROLLBACK;
