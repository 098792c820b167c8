-- test/simulation/setup.sql
--	  Makes a database with a registry's functions one that the simulation can drive.
--
-- The clock and the history of the registry are what the simulation says, and all else is
-- as the extension's script has it.  Run after that script, in the same database; see
-- registry.c, which calls what is made here.

CREATE SCHEMA simulation;

-- Time goes on between two looks at the clock.
CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
AS $$
DECLARE
	clock CONSTANT bigint := current_setting('simulation.clock');
BEGIN
	PERFORM set_config('simulation.clock', (clock + current_setting('simulation.pace')::bigint)::text, false);
	RETURN timestamptz 'epoch' + clock * interval '1 microsecond';
END
$$;

CREATE OR REPLACE FUNCTION uidgen_registry.registry_history(
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT started timestamptz,
	OUT database oid)
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
AS $$
DECLARE
	history CONSTANT text[] := string_to_array(current_setting('simulation.history'), ' ');
BEGIN
	system_identifier := history[1];
	timeline := history[2];
	started := timestamptz 'epoch' + history[3]::integer * interval '1 second';
	database := history[4];
END
$$;

-- Who follows has replayed the log as far as the simulation says.
CREATE OR REPLACE FUNCTION uidgen_registry.lagging_standbys(awaited pg_lsn) RETURNS text
LANGUAGE sql VOLATILE
AS $$
	SELECT 'a standby' WHERE awaited - '0/0' > split_part(current_setting('simulation.history'), ' ', 5)::numeric
$$;

-- ... as its operator sees it, too, whose transactions find these names first.
CREATE VIEW simulation.pg_replication_slots AS
	SELECT '0/0'::pg_lsn + h.replayed::numeric AS restart_lsn FROM split_part(current_setting('simulation.history'), ' ', 5) AS h (replayed) WHERE h.replayed <> '9223372036854775807';
CREATE FUNCTION simulation.pg_last_wal_receive_lsn() RETURNS pg_lsn
LANGUAGE sql VOLATILE
RETURN '0/0'::pg_lsn + split_part(current_setting('simulation.history'), ' ', 6)::numeric;

-- A layout is what the schedule says, whatever its text, and no rights are played.
CREATE OR REPLACE FUNCTION uidgen_registry.parse_layout(layout_text text, OUT layout text, OUT names text[], OUT bits integer[], OUT shifts integer[],
	OUT unit bigint, OUT epoch bigint, OUT max_tick bigint, OUT max_datacenter integer, OUT max_worker integer)
LANGUAGE sql VOLATILE
AS $$
	SELECT 'simulated', '{time,worker,sequence}'::text[], '{41,10,12}'::integer[], NULL::integer[], l.numbers[1], 0, l.numbers[2], 0, l.numbers[3]
	FROM (SELECT string_to_array(current_setting('simulation.layout'), ' ')::bigint[]) AS l (numbers)
$$;
CREATE OR REPLACE FUNCTION uidgen_registry.grant_calls(role regrole, functions text) RETURNS void LANGUAGE sql BEGIN ATOMIC END;
CREATE OR REPLACE FUNCTION uidgen_registry.revoke_calls(role regrole, functions text) RETURNS void LANGUAGE sql BEGIN ATOMIC END;
CREATE OR REPLACE FUNCTION uidgen_registry.warn_of_settings(role oid) RETURNS void LANGUAGE sql BEGIN ATOMIC END;
DO $$
DECLARE
	role text;
BEGIN
	FOREACH role IN ARRAY '{app,node1,node2}'::text[] LOOP
		IF to_regrole(role) IS NULL THEN
			EXECUTE format('CREATE ROLE %I LOGIN SUPERUSER', role);
		END IF;
	END LOOP;
END
$$;

-- What its owner does, all in transactions that go on.
CREATE OR REPLACE FUNCTION uidgen_registry.in_transaction_block() RETURNS boolean LANGUAGE sql AS 'SELECT false';

-- What the next call sees of the world.  The result is used as an argument of the call,
-- so that it comes first.
CREATE FUNCTION simulation.look(clock bigint, pace bigint, history text, seed double precision) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	PERFORM set_config('simulation.clock', clock::text, false),
		set_config('simulation.pace', pace::text, false),
		set_config('simulation.history', history, false),
		setseed(seed);
	RETURN 0;
END
$$;

-- A new registry.
CREATE FUNCTION simulation.begin(
	unit bigint,
	max_tick bigint,
	max_worker integer,
	max_lead bigint,				-- microseconds, as clock_slack
	clock_slack bigint,
	registry_number bigint,
	ends_quarantine boolean,
	guest_workers integer,			-- the highest ones
	guest_lead bigint,
	guest_bound integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, uidgen_registry, pg_temp	-- rows are changed by hand
AS $$
BEGIN
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	DELETE FROM uidgen_registry.segment;
	DELETE FROM uidgen_registry.guest_role;
	DROP TABLE IF EXISTS simulation.moved;
	PERFORM set_config('simulation.layout', concat_ws(' ', unit, max_tick, max_worker), false);
	PERFORM uidgen_registry.share_registry('default', max_lead * interval '1 microsecond', clock_slack * interval '1 microsecond');
	UPDATE uidgen_registry.registry AS r SET id = registry_number;
	IF guest_workers > 0 THEN
		UPDATE uidgen_registry.registry AS r SET guest_lead = begin.guest_lead * interval '1 microsecond';
		PERFORM uidgen_registry.set_first_guest(begin.max_worker - guest_workers + 1);
		INSERT INTO uidgen_registry.guest_role VALUES (session_user, guest_bound);
	END IF;
	IF ends_quarantine THEN
		PERFORM uidgen_registry.end_quarantine();
	END IF;
END
$$;

-- A segment of it.
CREATE FUNCTION simulation.begin_segment(
	name text,
	start bigint,
	step bigint,
	min_step bigint,
	max_step bigint,
	max_value bigint,
	failover_gap bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, uidgen_registry, pg_temp	-- rows are changed by hand
AS $$
BEGIN
	PERFORM uidgen_registry.create_segment(name, start, step, max_value);
	UPDATE uidgen_registry.segment AS s SET
			min_step = begin_segment.min_step, max_step = begin_segment.max_step, failover_gap = begin_segment.failover_gap
		WHERE s.name = begin_segment.name;
END
$$;

-- What its owner does.  Returns above which number the next ones are to lie.
CREATE FUNCTION simulation.change_segment(name text, what text, number bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, uidgen_registry, pg_temp	-- rows are changed by hand
AS $$
DECLARE
	s uidgen_registry.segment;
BEGIN
	SELECT t.* INTO STRICT s FROM uidgen_registry.segment AS t WHERE t.name = change_segment.name;
	IF what = 'raise' AND NOT s.dropped THEN
		-- Where it is stopped, above all that is known.
		RETURN uidgen_registry.raise_segment(name, least(greatest(s.last_value::numeric + number, s.evidence), s.max_value)::bigint);
	ELSIF what = 'steps' THEN
		UPDATE uidgen_registry.segment AS t SET
				step = number, min_step = greatest(number / 2, 1), max_step = number * 3
			WHERE t.name = change_segment.name;
	ELSIF what IN ('drop', 'create', 'restart', 'anew') THEN
		-- As a registry has it that is begun anew, or that has lost it.
		IF what = 'anew' THEN
			DELETE FROM uidgen_registry.segment AS t WHERE t.name = change_segment.name;
		ELSIF NOT s.dropped THEN
			PERFORM uidgen_registry.drop_segment(name);
		END IF;
		IF what = 'drop' THEN
			RETURN NULL;
		END IF;
		-- Its gap stays: what may be lost goes by it.
		PERFORM uidgen_registry.create_segment(name, least(number, s.max_value), s.step, s.max_value, restart := what = 'restart');
		UPDATE uidgen_registry.segment AS t SET
				min_step = s.min_step, max_step = s.max_step, failover_gap = s.failover_gap, version = uidgen_registry.new_token()
			WHERE t.name = change_segment.name;
		RETURN least(number, s.max_value) - 1;
	END IF;
	RETURN NULL;
END
$$;

-- Likewise of the registry.  What is refused changes nothing.  Returns the first worker id of guests.
CREATE FUNCTION simulation.change_registry(first_guest integer, max_lead bigint, guest_lead bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	BEGIN
		PERFORM uidgen_registry.change_registry(max_lead => max_lead * interval '1 microsecond', guest_lead => guest_lead * interval '1 microsecond', first_guest => first_guest);
	EXCEPTION
		WHEN object_in_use OR object_not_in_prerequisite_state THEN
			NULL;
	END;
	RETURN (SELECT r.first_guest FROM uidgen_registry.registry AS r);
END
$$;

-- The segments, for the simulation to read.
CREATE FUNCTION simulation.segment_rows() RETURNS text
LANGUAGE sql VOLATILE
AS $$
	SELECT coalesce(string_agg(concat_ws(' ', s.last_value, s.step, s.min_step, s.max_step, s.max_value, s.failover_gap,
			s.incarnation, s.system_identifier, s.timeline, s.database, s.dropped::integer), ';' ORDER BY s.name), '')
		FROM uidgen_registry.segment AS s
$$;

-- Of the table that a procedure makes when the registry moves.
CREATE TYPE simulation.former_row AS (statement text, attempt integer, is_all boolean);

-- All that a database knows of grants and numbers, as texts, so that the registry can go back to
-- what a standby or a backup has.  As quick as a call; CREATE DATABASE ... TEMPLATE copies the
-- same tables, and takes a hundred times as long.
CREATE FUNCTION simulation.keep(OUT workers text, OUT layout text, OUT segments text, OUT rows text, OUT first_guest integer, OUT log bigint, OUT guests text, OUT moved text, OUT timeline_offset integer)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	IF to_regclass('simulation.moved') IS NOT NULL THEN
		EXECUTE 'SELECT array_agg((m.*)::text::simulation.former_row)::text FROM simulation.moved AS m' INTO moved;
	END IF;
	SELECT (SELECT coalesce(array_agg(n ORDER BY n.worker_id), '{}') FROM uidgen_registry.worker_node AS n)::text,
		(SELECT r FROM uidgen_registry.registry AS r)::text,
		(SELECT coalesce(array_agg(s), '{}') FROM uidgen_registry.segment AS s)::text,
		simulation.segment_rows(), (SELECT r.first_guest FROM uidgen_registry.registry AS r), (pg_current_wal_insert_lsn() - '0/0')::bigint,
		(SELECT coalesce(array_agg(g), '{}') FROM uidgen_registry.guest_role AS g)::text, (SELECT r.timeline_offset FROM uidgen_registry.registry AS r)
		INTO workers, layout, segments, rows, first_guest, log, guests, timeline_offset;
END
$$;

CREATE FUNCTION simulation.go_back(workers text, layout text, segments text, guests text, moved text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, uidgen_registry, pg_temp	-- rows are changed by hand
AS $$
BEGIN
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	DELETE FROM uidgen_registry.segment;
	INSERT INTO uidgen_registry.worker_node SELECT n.* FROM unnest(workers::uidgen_registry.worker_node[]) AS n;
	INSERT INTO uidgen_registry.registry SELECT (layout::uidgen_registry.registry).* WHERE layout IS NOT NULL;
	DELETE FROM uidgen_registry.guest_role;
	INSERT INTO uidgen_registry.guest_role SELECT g.* FROM unnest(guests::uidgen_registry.guest_role[]) AS g;
	INSERT INTO uidgen_registry.segment SELECT s.* FROM unnest(segments::uidgen_registry.segment[]) AS s;
	IF to_regclass('simulation.moved') IS NOT NULL THEN
		EXECUTE 'DROP TABLE simulation.moved';
	END IF;
	IF moved IS NOT NULL THEN
		EXECUTE 'CREATE TABLE simulation.moved AS SELECT m.* FROM unnest($1::simulation.former_row[]) AS m' USING moved;
	END IF;
END
$$;

-- Take a rule out of a function: `old` has to be there, as often as is said.
CREATE FUNCTION simulation.break_rule(function_name text, old text, new text, times integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
	-- of those of one name, the one that servers call now
	definition CONSTANT text := pg_get_functiondef((SELECT p.oid FROM pg_proc AS p
		WHERE p.pronamespace = 'uidgen_registry'::regnamespace AND p.proname = function_name ORDER BY p.pronargs DESC LIMIT 1));
	found_times CONSTANT integer := cardinality(string_to_array(definition, old)) - 1;
BEGIN
	IF found_times <> times THEN
		RAISE EXCEPTION 'uidgen.% has "%" % times instead of %', function_name, old, found_times, times;
	END IF;
	EXECUTE replace(definition, old, new);
END
$$;

-- Since 1970 its clock has fewer seconds.
DO $$ BEGIN PERFORM simulation.break_rule('take_over_registry', '2026-01-01', '1970-01-01', 1); END $$;

-- As after a crash of a table that somebody made UNLOGGED.
CREATE FUNCTION simulation.lose_rows() RETURNS void LANGUAGE sql
SET search_path = pg_catalog, uidgen_registry, pg_temp	-- rows are changed by hand
AS 'DELETE FROM uidgen_registry.worker_node';
