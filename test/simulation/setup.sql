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
	PERFORM uidgen_registry.share_registry(format('time:62:%sus sequence:1 epoch:1970-01-01', unit),
		max_lead * interval '1 microsecond', clock_slack * interval '1 microsecond');
	UPDATE uidgen_registry.registry AS r SET
			layout = 'simulated', max_tick = begin.max_tick, max_worker = begin.max_worker, id = registry_number;
	IF guest_workers > 0 THEN
		UPDATE uidgen_registry.registry AS r SET guest_lead = begin.guest_lead * interval '1 microsecond';
		PERFORM uidgen_registry.set_first_guest(begin.max_worker - guest_workers + 1);
		INSERT INTO uidgen_registry.guest_role AS g VALUES (session_user, guest_bound)
			ON CONFLICT (name) DO UPDATE SET max_workers = guest_bound WHERE g.max_workers <> guest_bound;
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

-- All that a database knows of grants and numbers, as three texts, so that the registry can go back to
-- what a standby or a backup has.  As quick as a call; CREATE DATABASE ... TEMPLATE copies the
-- same tables, and takes a hundred times as long.
CREATE FUNCTION simulation.keep(OUT workers text, OUT layout text, OUT segments text, OUT rows text, OUT first_guest integer, OUT log bigint)
LANGUAGE sql VOLATILE
AS $$
	SELECT (SELECT coalesce(array_agg(n ORDER BY n.worker_id), '{}') FROM uidgen_registry.worker_node AS n)::text,
		(SELECT r FROM uidgen_registry.registry AS r)::text,
		(SELECT coalesce(array_agg(s), '{}') FROM uidgen_registry.segment AS s)::text,
		simulation.segment_rows(), (SELECT r.first_guest FROM uidgen_registry.registry AS r), (pg_current_wal_insert_lsn() - '0/0')::bigint
$$;

CREATE FUNCTION simulation.go_back(workers text, layout text, segments text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, uidgen_registry, pg_temp	-- rows are changed by hand
AS $$
BEGIN
	DELETE FROM uidgen_registry.worker_node;
	DELETE FROM uidgen_registry.registry;
	DELETE FROM uidgen_registry.segment;
	INSERT INTO uidgen_registry.worker_node SELECT n.* FROM unnest(workers::uidgen_registry.worker_node[]) AS n;
	INSERT INTO uidgen_registry.registry SELECT (layout::uidgen_registry.registry).*;
	INSERT INTO uidgen_registry.segment SELECT s.* FROM unnest(segments::uidgen_registry.segment[]) AS s;
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
