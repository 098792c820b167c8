/* sql/uidgen.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION uidgen" to load this file. \quit

-- Make each change here also in the script that upgrades to this version.

-- The registry and what operators use are in schema uidgen; the uid_* functions go to the
-- schema given at CREATE EXTENSION.  If a schema uidgen exists already, this fails: objects
-- that somebody else made must not be mixed with functions that run as superuser.
CREATE SCHEMA uidgen;
COMMENT ON SCHEMA uidgen IS 'registry of worker ids, status and presets of uidgen';
GRANT USAGE ON SCHEMA uidgen TO PUBLIC;

-- A running server keeps the library that it has loaded, also after a newer one is
-- installed.  An older library lacks C functions that are declared below; the first of
-- them is declared here, so that the user is told what to do.
DO $$
BEGIN
	CREATE FUNCTION uidgen.library_version() RETURNS text
	AS 'MODULE_PATHNAME', 'uidgen_library_version'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
EXCEPTION WHEN undefined_function THEN
	RAISE EXCEPTION 'the server has loaded an older library of uidgen than this version of the extension needs'
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'The server loads a newly installed library only when it starts.',
			HINT = 'Restart the server, and run this command again.';
END
$$;
COMMENT ON FUNCTION uidgen.library_version() IS 'version of the library that the server has loaded; that of the extension is in pg_extension';

--
-- The registry: which instance holds which worker id, and up to which tick.
--
-- Only SQL and PL/pgSQL, so that the registry can also live on a server without the
-- library.  Its functions are given numbers (unit, epoch, maxima) and parse no layouts.
--

CREATE TABLE uidgen.worker_node (
	datacenter_id integer NOT NULL,
	worker_id integer NOT NULL,
	host_name text,
	port integer,
	type integer,
	launch_date date NOT NULL,
	created timestamptz NOT NULL,
	modified timestamptz NOT NULL,
	identity text,
	token bigint,
	granted_until bigint NOT NULL,
	released boolean NOT NULL,
	launches bigint NOT NULL,
	PRIMARY KEY (datacenter_id, worker_id)
) WITH (fillfactor = 20);	-- room for the renewals' row versions (HOT)

COMMENT ON TABLE uidgen.worker_node IS 'worker ids that were ever granted: never dumped, never replicated, never to be edited by hand';
COMMENT ON COLUMN uidgen.worker_node.datacenter_id IS 'the datacenter field of the ids; 0 if the layout has none';
COMMENT ON COLUMN uidgen.worker_node.worker_id IS 'the worker field of the ids';
COMMENT ON COLUMN uidgen.worker_node.host_name IS 'host of the last holder';
COMMENT ON COLUMN uidgen.worker_node.port IS 'port of the last holder';
COMMENT ON COLUMN uidgen.worker_node.type IS 'what the last holder runs on; 1: container, 2: server';
COMMENT ON COLUMN uidgen.worker_node.launch_date IS 'day on which the worker id was last acquired';
COMMENT ON COLUMN uidgen.worker_node.created IS 'when the worker id was first acquired';
COMMENT ON COLUMN uidgen.worker_node.modified IS 'when the worker id was last acquired, renewed or released; does not go back when the clock is set back';
COMMENT ON COLUMN uidgen.worker_node.identity IS 'the last holder: system identifier/timeline/inode of the control file/its time of birth/hash of the machine id; null: forgotten';
COMMENT ON COLUMN uidgen.worker_node.token IS 'proves who the holder is; changes with each renewal; null: released';
COMMENT ON COLUMN uidgen.worker_node.granted_until IS 'last tick granted';
COMMENT ON COLUMN uidgen.worker_node.released IS 'whether the worker id was handed back, by a clean shutdown or by forget_worker()';
COMMENT ON COLUMN uidgen.worker_node.launches IS 'how many times the worker id was acquired';

CREATE TABLE uidgen.registry_layout (
	only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
	layout text NOT NULL,
	unit bigint NOT NULL,
	epoch bigint NOT NULL,
	max_tick bigint NOT NULL,
	max_datacenter integer NOT NULL,
	max_worker integer NOT NULL,
	pinned timestamptz NOT NULL,
	database oid NOT NULL
);

COMMENT ON TABLE uidgen.registry_layout IS 'the one layout of all ids of this registry, pinned by the first grant';
COMMENT ON COLUMN uidgen.registry_layout.only_one IS 'always true: the primary key then allows for one row only';
COMMENT ON COLUMN uidgen.registry_layout.layout IS 'the layout in canonical form';
COMMENT ON COLUMN uidgen.registry_layout.unit IS 'length of a tick, in microseconds';
COMMENT ON COLUMN uidgen.registry_layout.epoch IS 'start of tick 0, in microseconds since 1970 UTC';
COMMENT ON COLUMN uidgen.registry_layout.max_tick IS 'the last tick, which is never granted';
COMMENT ON COLUMN uidgen.registry_layout.max_datacenter IS 'largest datacenter id';
COMMENT ON COLUMN uidgen.registry_layout.max_worker IS 'largest worker id';
COMMENT ON COLUMN uidgen.registry_layout.pinned IS 'when the layout was pinned';
COMMENT ON COLUMN uidgen.registry_layout.database IS 'OID of the registry''s database; a copy of the database has another OID';

-- Host names and ports are for monitoring only.
GRANT SELECT ON uidgen.worker_node, uidgen.registry_layout TO pg_monitor;

-- Logical replication FOR ALL TABLES publishes these tables, but the grants of another
-- cluster mean nothing here and would overwrite our own.  A row trigger that fires only
-- for replication drops such rows, in apply and in the initial copy.
CREATE FUNCTION uidgen.drop_replicated_row() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION uidgen.drop_replicated_row() IS 'trigger: drops rows that logical replication brings';
REVOKE EXECUTE ON FUNCTION uidgen.drop_replicated_row() FROM PUBLIC;

CREATE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.worker_node
	FOR EACH ROW EXECUTE FUNCTION uidgen.drop_replicated_row();
ALTER TABLE uidgen.worker_node ENABLE REPLICA TRIGGER drop_replicated_row;
COMMENT ON TRIGGER drop_replicated_row ON uidgen.worker_node IS 'drops rows that logical replication brings';

CREATE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.registry_layout
	FOR EACH ROW EXECUTE FUNCTION uidgen.drop_replicated_row();
ALTER TABLE uidgen.registry_layout ENABLE REPLICA TRIGGER drop_replicated_row;
COMMENT ON TRIGGER drop_replicated_row ON uidgen.registry_layout IS 'drops rows that logical replication brings';

-- No trigger can drop a TRUNCATE that replication brings, so it is refused where
-- it begins.
CREATE FUNCTION uidgen.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'cannot truncate %.%', TG_TABLE_SCHEMA, TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'The registry would forget which ids may have been issued.',
			HINT = 'To begin a new registry, create the extension in another database and name that in "uidgen.database".';
END
$$;
COMMENT ON FUNCTION uidgen.refuse_truncate() IS 'trigger: refuses TRUNCATE of the registry';
REVOKE EXECUTE ON FUNCTION uidgen.refuse_truncate() FROM PUBLIC;

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.worker_node
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.refuse_truncate();
COMMENT ON TRIGGER refuse_truncate ON uidgen.worker_node IS 'refuses TRUNCATE of the registry';
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.registry_layout
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.refuse_truncate();
COMMENT ON TRIGGER refuse_truncate ON uidgen.registry_layout IS 'refuses TRUNCATE of the registry';

-- Only these two functions look at the clock, and at what tells one run of the registry's
-- database from another.  So a test can replace them and play any course of events.
CREATE FUNCTION uidgen.registry_clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT clock_timestamp()
$$;
COMMENT ON FUNCTION uidgen.registry_clock() IS 'the clock that the registry goes by';

CREATE FUNCTION uidgen.registry_history(
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT started timestamptz,
	OUT database oid)
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- Not from the control file: it has the timeline of the last checkpoint, which for
	-- some time after a promotion is still the old one.
	SELECT c.system_identifier,
		('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer,
		pg_postmaster_start_time(),
		d.oid
	FROM pg_control_system() AS c, pg_database AS d
	WHERE d.datname = current_database()
$$;
COMMENT ON FUNCTION uidgen.registry_history() IS 'which course of history the registry''s database is in: cluster, timeline, start of the server, and database';

CREATE FUNCTION uidgen.new_token() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- the first 32 and the last 32 bits of a version 4 uuid are random
	SELECT ('x' || left(u, 8) || right(u, 8))::bit(64)::bigint
	FROM (SELECT gen_random_uuid()::text) AS t (u)
$$;
COMMENT ON FUNCTION uidgen.new_token() IS 'a random number that nobody can guess';

CREATE FUNCTION uidgen.tick_at("time" timestamptz, unit bigint, epoch bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT floor((extract(epoch FROM "time") * 1000000 - epoch) / unit)::bigint
$$;
COMMENT ON FUNCTION uidgen.tick_at(timestamptz, bigint, bigint) IS 'the tick that a time is in, given the unit and the epoch of a layout in microseconds';

CREATE FUNCTION uidgen.tick_time(tick bigint, unit bigint, epoch bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN (tick::numeric * unit + epoch) < 9200000000000000000
		THEN to_char(timestamp '1970-01-01' + (tick::numeric * unit + epoch)::bigint * interval '1 microsecond',
					 'YYYY-MM-DD HH24:MI:SS.MS') || ' UTC'
		ELSE 'tick ' || tick END
$$;
COMMENT ON FUNCTION uidgen.tick_time(bigint, bigint, bigint) IS 'when a tick begins, for messages';

CREATE FUNCTION uidgen.check_lifetime(tick bigint, max_tick bigint, unit bigint, epoch bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- The last tick is never granted: the end is noticed before it is reached.
	IF tick >= max_tick THEN
		RAISE EXCEPTION 'the time bits of the layout are used up'
			USING ERRCODE = 'sequence_generator_limit_exceeded',
				DETAIL = format('The next id would have tick %s (%s); the last tick that can be granted is %s.', tick, uidgen.tick_time(tick, unit, epoch), max_tick - 1),
				HINT = 'If the clock is wrong, correct it. Otherwise begin a new registry with a later epoch or more time bits in "uidgen.layout".';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_lifetime(bigint, bigint, bigint, bigint) IS 'raises an error if a tick is beyond what may be granted';

--
-- The steps of acquiring a worker id; only acquire_worker_id(), below, calls them.
-- l is the layout of the caller, as the registry would pin it; now_tick is the tick that
-- the clock shows.
--

CREATE FUNCTION uidgen.check_request(
	policy text,
	datacenter integer,
	wanted integer,
	max_datacenter integer,
	max_worker integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'worker ids can be acquired in isolation level read committed only'
			USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has isolation level %s, so it may not see what others were granted meanwhile.', current_setting('transaction_isolation')),
				HINT = 'Use isolation level read committed.';
	END IF;
	IF policy NOT IN ('reuse', 'disposable') THEN
		RAISE EXCEPTION 'there is no worker policy "%"', policy
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The policies are "reuse" and "disposable".';
	END IF;
	IF datacenter NOT BETWEEN 0 AND max_datacenter THEN
		RAISE EXCEPTION 'datacenter id % is out of range', datacenter
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The layout has room for datacenter ids from 0 to %s.', max_datacenter),
				HINT = 'Change the setting "uidgen.datacenter_id".';
	END IF;
	IF wanted > max_worker THEN
		RAISE EXCEPTION 'worker id % is out of range', wanted
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The layout has room for worker ids from 0 to %s.', max_worker),
				HINT = 'Change the setting "uidgen.worker_id".';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_request(text, integer, integer, integer, integer)
	IS 'raises an error if a request for a worker id makes no sense';

-- Pin the caller's layout if none is pinned; otherwise compare it with the pinned one.
--
-- CREATE DATABASE ... TEMPLATE copies a registry within one server, so the identity of
-- the server does not tell the copy from the original.  The database's OID does: if it has
-- changed, all rows are marked as another instance's.
CREATE FUNCTION uidgen.pin_layout(l uidgen.registry_layout) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	pinned uidgen.registry_layout;
BEGIN
	INSERT INTO uidgen.registry_layout VALUES (l.*) ON CONFLICT (only_one) DO NOTHING;
	SELECT r.* INTO STRICT pinned FROM uidgen.registry_layout AS r;
	IF pinned.layout <> l.layout THEN
		RAISE EXCEPTION 'the layout differs from the registry''s'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The registry has "%s", this server has "%s".', pinned.layout, l.layout),
				HINT = 'Set "uidgen.layout" back to the registry''s layout and restart the server. To change the layout, begin a new registry as "A new layout" in the README describes: ids of two layouts can be equal.';
	END IF;

	IF pinned.database <> l.database THEN
		-- These worker ids stay the original's for good: it goes on with them, or has
		-- issued ids with them before.
		UPDATE uidgen.worker_node AS n SET
				identity = format('copied from database %s: %s', pinned.database, n.identity)
			WHERE n.identity IS NOT NULL;
		UPDATE uidgen.registry_layout AS r SET database = l.database;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.pin_layout(uidgen.registry_layout)
	IS 'pins the layout, or raises an error if another one is pinned';

-- How long this is does not matter for uniqueness: the token keeps a holder whose row was
-- taken from renewing.
CREATE FUNCTION uidgen.idle_ticks(unit bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 3600000000 / unit
$$;
COMMENT ON FUNCTION uidgen.idle_ticks(bigint)
	IS 'for how many ticks after the end of its grant a row of a shared registry stays with its holder, who may only be idle';

CREATE FUNCTION uidgen.check_wanted_worker(
	l uidgen.registry_layout,
	now_tick bigint,
	holder text,
	datacenter integer,
	wanted integer,
	shared boolean,
	max_lead bigint,
	max_step bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	candidate uidgen.worker_node;
BEGIN
	SELECT n.* INTO candidate FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = wanted;
	IF candidate.identity <> holder
		AND NOT (shared AND (candidate.released OR candidate.granted_until < now_tick - uidgen.idle_ticks(l.unit))) THEN
		RAISE EXCEPTION 'worker id % belongs to another instance', wanted
			USING ERRCODE = 'object_in_use',
				DETAIL = format('It was granted to host "%s", port %s, until %s.',
								candidate.host_name, candidate.port,
								uidgen.tick_time(candidate.granted_until, l.unit, l.epoch)),
				HINT = CASE WHEN shared THEN 'Set "uidgen.worker_id" to another worker id or to -1, and restart the server.'
					ELSE format('If that instance will never issue ids again, run SELECT uidgen.forget_worker(%s, %s). Otherwise set "uidgen.worker_id" to another worker id or to -1, and restart the server.', wanted, datacenter) END;
	END IF;
	-- If only crashes have carried the grant ahead, it is given, and calls wait until the
	-- clock is near enough.  If the clock was set back, it has to be corrected.
	IF candidate.granted_until + 1 - now_tick > max_lead
		AND uidgen.tick_at(candidate.modified, l.unit, l.epoch) - now_tick > max_step THEN
		RAISE EXCEPTION 'the clock is behind the last grant of worker id %', wanted
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The last grant ended at %s. The next one would begin %s ms ahead of the clock; %s ms are allowed.',
								uidgen.tick_time(candidate.granted_until, l.unit, l.epoch),
								round((candidate.granted_until + 1 - now_tick)::numeric * l.unit / 1000),
								round(max_lead::numeric * l.unit / 1000)),
				HINT = 'Correct the clock, or raise the setting "uidgen.max_ahead", or set "uidgen.worker_id" to -1 and restart the server.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_wanted_worker(uidgen.registry_layout, bigint, text, integer, integer, boolean, bigint, bigint)
	IS 'raises an error if the worker id that is wanted cannot be granted';

-- The order of candidates keeps crashes, and a clock that goes to and fro, from using up
-- worker ids.  First a worker id that this instance had, if its grant does not begin too
-- far ahead of the clock; then one that was never used, at random, so that copies of a
-- registry seldom choose the same; then one that another holder handed back or left long
-- ago; at last one that this instance had, however far ahead.  Null if there is none.
--
-- In a registry that is not shared, rows of other holders are never taken: the rows came
-- with a copy, and their holder goes on renewing them in a table of its own, which cannot
-- be seen from here.
--
-- A row of this instance counts if its next grant begins at most max_lead ticks ahead of
-- the clock, and if it was last changed at most max_step ticks ahead of the clock.
-- max_lead has room for what crashes leave behind.  max_step finds a clock that was set
-- back since the row was changed: then another worker id has the true time at once.
CREATE FUNCTION uidgen.choose_worker(
	l uidgen.registry_layout,
	now_tick bigint,
	holder text,
	datacenter integer,
	avoid integer,
	policy text,
	take_never_used boolean,
	shared boolean,
	max_lead bigint,
	max_step bigint,
	OUT worker integer,
	OUT reason text)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	idle_ticks CONSTANT bigint := uidgen.idle_ticks(l.unit);
	free bigint;
	pick bigint;
BEGIN
	IF policy = 'reuse' THEN
		SELECT n.worker_id INTO worker FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id <> avoid
				AND n.identity = holder
				AND n.granted_until + 1 - now_tick <= max_lead
				AND uidgen.tick_at(n.modified, l.unit, l.epoch) - now_tick <= max_step
			ORDER BY n.granted_until DESC LIMIT 1;
		IF FOUND THEN
			reason := 'This server had it before.';
			RETURN;
		END IF;
	END IF;

	SELECT l.max_worker + 1::bigint - count(*) INTO free FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter;
	IF take_never_used AND free > 0 THEN
		-- The pick-th of the free ids, counted from 0, is pick plus the
		-- number of used ids that have at most that many free ones below.
		pick := floor(random() * free)::bigint;
		SELECT pick + count(*) INTO worker
			FROM (SELECT n.worker_id - (row_number() OVER (ORDER BY n.worker_id) - 1) AS free_below
				  FROM uidgen.worker_node AS n
				  WHERE n.datacenter_id = datacenter) AS used
			WHERE used.free_below <= pick;
		reason := 'It was never used before.';
		IF policy = 'reuse' AND EXISTS (SELECT FROM uidgen.worker_node AS n
				WHERE n.datacenter_id = datacenter AND n.identity = holder) THEN
			reason := 'It was never used before. The grants of this server''s earlier worker ids are too far from the time of the clock.';
		END IF;
		RETURN;
	END IF;

	IF policy = 'reuse' THEN
		SELECT n.worker_id INTO worker FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id <> avoid
				AND (n.identity IS NULL OR shared)
				AND n.granted_until + 1 - now_tick <= max_lead
				AND (n.released OR n.granted_until < now_tick - idle_ticks)
			ORDER BY n.released DESC, n.granted_until LIMIT 1;
		IF FOUND THEN
			reason := 'Its former holder gave it up.';
			RETURN;
		END IF;
		SELECT n.worker_id INTO worker FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id <> avoid
				AND n.identity = holder
			ORDER BY n.granted_until LIMIT 1;
		reason := 'This server had it before. Its grants end far ahead of the clock, but no worker id is free, so calls may wait for the clock.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.choose_worker(uidgen.registry_layout, bigint, text, integer, integer, text, boolean, boolean, bigint, bigint)
	IS 'the worker id that suits an instance best, and why';

CREATE FUNCTION uidgen.explain_no_worker(
	l uidgen.registry_layout,
	holder text,
	datacenter integer,
	avoid integer,
	policy text,
	take_never_used boolean,
	shared boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	workers CONSTANT bigint := l.max_worker + 1::bigint;
	free bigint;
	others bigint;
	next_end bigint;
BEGIN
	SELECT workers - count(*), count(*) FILTER (WHERE n.identity IS DISTINCT FROM holder),
			min(n.granted_until) FILTER (WHERE n.identity IS DISTINCT FROM holder)
		INTO free, others, next_end
		FROM uidgen.worker_node AS n WHERE n.datacenter_id = datacenter;
	IF policy = 'disposable' AND free <= 0 THEN
		RAISE EXCEPTION 'all worker ids have been used'
			USING ERRCODE = 'configuration_limit_exceeded',
				DETAIL = format('The layout has %s worker ids in datacenter %s, and "uidgen.worker_policy" is "disposable", which uses none twice.', workers, datacenter),
				HINT = 'Set "uidgen.worker_policy" to "reuse", or begin a new registry with a layout that has more worker bits.';
	END IF;
	RAISE EXCEPTION 'no worker id is free'
		USING ERRCODE = 'configuration_limit_exceeded',
			DETAIL = format('The layout has %s worker ids in datacenter %s: %s belong to other instances, %s were never used.',
							workers, datacenter, others, free) ||
				CASE WHEN NOT take_never_used AND free > 0
					THEN ' After many large steps of the clock, the unused ones are not taken for now.'
					WHEN shared AND next_end IS NOT NULL
					THEN format(' The next one becomes free at %s.', uidgen.tick_time(next_end + uidgen.idle_ticks(l.unit) + 1, l.unit, l.epoch))
					WHEN avoid >= 0 AND others = 0
					THEN ' The clock was set forward by a large step, and the worker id in use is kept for when the clock returns.'
					ELSE '' END,
			HINT = CASE WHEN NOT take_never_used AND free > 0 THEN 'If the clock is correct now, restart the server; otherwise correct the clock.'
				WHEN shared OR others = 0 THEN 'Begin a new registry with a layout that has more worker bits.'
				ELSE 'If an instance will never issue ids again, free its worker id with SELECT uidgen.forget_worker(worker). Otherwise begin a new registry with a layout that has more worker bits.' END;
END
$$;
COMMENT ON FUNCTION uidgen.explain_no_worker(uidgen.registry_layout, text, integer, integer, text, boolean, boolean)
	IS 'raises the error that no worker id can be granted, and says why';

CREATE FUNCTION uidgen.warn_of_few_workers(
	free_workers bigint,
	max_worker integer,
	datacenter integer,
	policy text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF max_worker > 0 AND (free_workers < 3 OR free_workers * 10 <= max_worker + 1::bigint) THEN
		RAISE WARNING 'few worker ids are left: %', free_workers
			USING DETAIL = format('The layout has %s worker ids in datacenter %s. Each promotion, restore or move of a server takes another one for good.',
								  max_worker + 1::bigint, datacenter) ||
					CASE WHEN policy = 'disposable' THEN ' So does each start, because "uidgen.worker_policy" is "disposable".' ELSE '' END,
				HINT = CASE WHEN policy = 'disposable' THEN 'Set "uidgen.worker_policy" to "reuse".'
					ELSE 'Run SELECT uidgen.forget_worker(worker) for each worker id whose instance will never issue ids again; the table uidgen.worker_node lists them.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.warn_of_few_workers(bigint, integer, integer, text)
	IS 'warns if few worker ids are left';

-- Acquire a worker id and its first range of ticks.
CREATE FUNCTION uidgen.acquire_worker_id(
	holder text,					-- identity of the caller
	layout_text text,				-- its layout in canonical form; the next five are the numbers in it
	tick_unit bigint,				-- microseconds
	tick_epoch bigint,				-- microseconds since 1970 UTC
	max_tick bigint,
	max_datacenter integer,
	max_worker integer,
	datacenter integer,
	wanted integer,					-- exactly this worker id, or -1
	avoid integer,					-- not this one, or -1
	policy text,					-- 'reuse' or 'disposable'
	take_never_used boolean,		-- worker ids that were never used may be taken
	shared boolean,					-- all holders renew in this one table
	floor_tick bigint,				-- begin no earlier
	window_ticks bigint,			-- length of the grant
	max_lead bigint,				-- ticks that the grant may begin ahead of the clock
	max_step bigint,				-- ticks that the clock may have been set back since the row changed
	host text,						-- for people: host, port and type of the caller
	host_port integer,
	host_type integer,
	OUT worker integer,
	OUT token bigint,
	OUT first_tick bigint,
	OUT last_tick bigint,
	OUT seen_tick bigint,			-- tick of the clock when the row was last changed
	OUT never_used boolean,
	OUT free_workers bigint,		-- worker ids that are left: never used, or forgotten
	OUT reason text)				-- why this worker id, for the log
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	clock timestamptz;
	now_tick bigint;
	l uidgen.registry_layout;
	before uidgen.worker_node;		-- as the last holder left it
BEGIN
	PERFORM uidgen.check_request(policy, datacenter, wanted, max_datacenter, max_worker);

	-- No row may change between choice and claim: another acquirer would choose the
	-- same one, and a holder may wake up and renew.
	LOCK TABLE uidgen.worker_node IN SHARE ROW EXCLUSIVE MODE;

	-- The clock is read once, so that all that follows is of one moment.
	clock := uidgen.registry_clock();
	l := (true, layout_text, tick_unit, tick_epoch, max_tick, max_datacenter, max_worker, clock,
		(SELECT h.database FROM uidgen.registry_history() AS h));
	PERFORM uidgen.pin_layout(l);

	now_tick := uidgen.tick_at(clock, tick_unit, tick_epoch);
	IF now_tick < 0 THEN
		RAISE EXCEPTION 'the epoch of the layout is in the future'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The epoch is %s, the clock shows %s.', uidgen.tick_time(0, tick_unit, tick_epoch), uidgen.tick_time(now_tick, tick_unit, tick_epoch)),
				HINT = 'If the clock is wrong, correct it. Otherwise give the setting "uidgen.layout" an epoch in the past.';
	END IF;

	IF wanted >= 0 THEN
		PERFORM uidgen.check_wanted_worker(l, now_tick, holder, datacenter, wanted,
			shared => shared, max_lead => max_lead, max_step => max_step);
		worker := wanted;
		reason := 'The setting "uidgen.worker_id" asks for it.';
	ELSE
		SELECT c.worker, c.reason INTO worker, reason
			FROM uidgen.choose_worker(l, now_tick, holder, datacenter, avoid, policy,
				take_never_used => take_never_used, shared => shared, max_lead => max_lead, max_step => max_step) AS c;
		IF worker IS NULL THEN
			PERFORM uidgen.explain_no_worker(l, holder, datacenter, avoid, policy,
				take_never_used => take_never_used, shared => shared);
		END IF;
	END IF;

	SELECT n.* INTO before FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker;
	never_used := NOT FOUND;
	first_tick := greatest(now_tick, floor_tick, before.granted_until + 1);
	PERFORM uidgen.check_lifetime(first_tick, max_tick, tick_unit, tick_epoch);
	last_tick := least(first_tick + window_ticks, max_tick - 1);
	seen_tick := coalesce(uidgen.tick_at(before.modified, tick_unit, tick_epoch), 0);
	token := uidgen.new_token();

	INSERT INTO uidgen.worker_node AS n
		(datacenter_id, worker_id, host_name, port, type, launch_date, created, modified,
		 identity, token, granted_until, released, launches)
		VALUES (datacenter, worker, host, host_port, host_type, clock::date, clock, clock,
				holder, acquire_worker_id.token, last_tick, false, 1)
		ON CONFLICT (datacenter_id, worker_id) DO UPDATE SET
			host_name = excluded.host_name,
			port = excluded.port,
			type = excluded.type,
			launch_date = excluded.launch_date,
			modified = greatest(n.modified, excluded.modified),
			identity = excluded.identity,
			token = excluded.token,
			granted_until = excluded.granted_until,
			released = excluded.released,
			launches = n.launches + 1;

	SELECT max_worker + 1::bigint - count(*) INTO free_workers FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter AND (n.identity IS NOT NULL OR policy = 'disposable');
	IF before.identity IS NULL AND wanted < 0 THEN
		PERFORM uidgen.warn_of_few_workers(free_workers, max_worker, datacenter, policy);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.acquire_worker_id(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, boolean, bigint, bigint, bigint, bigint, text, integer, integer)
	IS 'acquires a worker id with a first range of ticks; for the keeper';

-- The same under the name that the library of version 0.1.0 calls, so that ids go on where
-- a server has that library: a standby that was not restarted, or a server that was set
-- back.  That library takes any function of this name, so there must be no other one.
CREATE FUNCTION uidgen.acquire_worker(
	holder text,
	layout_text text,
	tick_unit bigint,
	tick_epoch bigint,
	max_tick bigint,
	max_datacenter integer,
	max_worker integer,
	datacenter integer,
	wanted integer,
	avoid integer,
	policy text,
	take_never_used boolean,
	shared boolean,
	floor_tick bigint,
	window_ticks bigint,
	max_lead bigint,
	host text,
	host_port integer,
	host_type integer,
	OUT worker integer,
	OUT token bigint,
	OUT first_tick bigint,
	OUT last_tick bigint,
	OUT seen_tick bigint,
	OUT never_used boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT g.worker, g.token, g.first_tick, g.last_tick, g.seen_tick, g.never_used
		INTO STRICT worker, token, first_tick, last_tick, seen_tick, never_used
		FROM uidgen.acquire_worker_id(holder, layout_text, tick_unit, tick_epoch, max_tick, max_datacenter, max_worker,
			datacenter, wanted, avoid, policy, take_never_used, shared, floor_tick, window_ticks, max_lead, max_lead,
			host, host_port, host_type) AS g;
END
$$;
COMMENT ON FUNCTION uidgen.acquire_worker(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, boolean, bigint, bigint, bigint, text, integer, integer)
	IS 'acquires a worker id for a keeper of version 0.1.0';

-- Extend a grant beyond both the clock and the tick that is needed.  A compare-and-swap on
-- token and granted_until: of two copies of one memory image only one can go on.  The
-- result is all null if another holder has taken the row, or if an argument is null.
--
-- at_most is the latest tick that the caller expects of the clock.  If the clock shows a
-- later one, it was set forward since the caller looked.  A renewal would then grant all
-- ticks up to there, and this worker id could not be used when the clock returns.  So the
-- call is refused, and the caller decides anew.  This is checked before the row is looked
-- at; a holder whose row was taken learns of that from a later call.
CREATE FUNCTION uidgen.renew_worker_id(
	datacenter integer,
	worker integer,
	old_token bigint,
	old_until bigint,
	needed bigint,
	window_ticks bigint,
	at_most bigint,
	OUT token bigint,
	OUT last_tick bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	-- Read once, so that the check and the grant go by the same time.
	clock CONSTANT timestamptz := uidgen.registry_clock();
	l uidgen.registry_layout;
	now_tick bigint;
	from_tick bigint;
BEGIN
	SELECT r.* INTO l FROM uidgen.registry_layout AS r;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	now_tick := uidgen.tick_at(clock, l.unit, l.epoch);
	IF now_tick > at_most THEN
		RAISE EXCEPTION 'the registry''s clock is further ahead than expected'
			USING ERRCODE = 'serialization_failure',
				DETAIL = format('The clock is %s ms beyond the latest time that was expected: it was set forward, or the call took that long.', round((now_tick::numeric - at_most) * l.unit / 1000)),
				HINT = 'If the clock is wrong, correct it. If it is correct, the next attempt follows it.';
	END IF;
	from_tick := greatest(now_tick, needed);
	PERFORM uidgen.check_lifetime(from_tick, l.max_tick, l.unit, l.epoch);
	UPDATE uidgen.worker_node AS n SET
			token = uidgen.new_token(),
			granted_until = greatest(n.granted_until, least(from_tick + window_ticks, l.max_tick - 1)),
			modified = greatest(n.modified, clock)
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = old_token AND n.granted_until = old_until
		RETURNING n.token, n.granted_until INTO renew_worker_id.token, last_tick;
END
$$;
COMMENT ON FUNCTION uidgen.renew_worker_id(integer, integer, bigint, bigint, bigint, bigint, bigint)
	IS 'extends a grant, for the keeper; null if another holder has taken the worker id';

-- The same under the name that the library of version 0.1.0 calls.  That library has no
-- at_most: it looks at its own clock after the call.
CREATE FUNCTION uidgen.renew_worker(
	datacenter integer,
	worker integer,
	old_token bigint,
	old_until bigint,
	needed bigint,
	window_ticks bigint,
	OUT token bigint,
	OUT last_tick bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT g.token, g.last_tick INTO STRICT token, last_tick
		FROM uidgen.renew_worker_id(datacenter, worker, old_token, old_until, needed, window_ticks,
			at_most => 9223372036854775807) AS g;
END
$$;
COMMENT ON FUNCTION uidgen.renew_worker(integer, integer, bigint, bigint, bigint, bigint)
	IS 'extends a grant for a keeper of version 0.1.0';

-- Hand back the worker id and what was granted above the last tick issued.
CREATE FUNCTION uidgen.release_worker(
	datacenter integer,
	worker integer,
	old_token bigint,
	last_issued bigint,
	OUT done boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	UPDATE uidgen.worker_node AS n SET
			token = NULL,
			granted_until = least(n.granted_until, last_issued),
			released = true,
			modified = greatest(n.modified, uidgen.registry_clock())
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = old_token;
	done := FOUND;
END
$$;
COMMENT ON FUNCTION uidgen.release_worker(integer, integer, bigint, bigint)
	IS 'hands back a worker id and what was not used of its grant; for the keeper';

CREATE FUNCTION uidgen.forget_worker(worker integer, datacenter integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	dc integer := coalesce(datacenter, current_setting('uidgen.datacenter_id', true)::integer, 0);
BEGIN
	-- The row stays, so that the next grant of this worker id begins above what was
	-- granted.
	UPDATE uidgen.worker_node AS n SET
			identity = NULL, token = NULL, released = true, modified = uidgen.registry_clock()
		WHERE n.datacenter_id = dc AND n.worker_id = worker;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no worker id % of datacenter % in the registry', worker, dc
			USING ERRCODE = 'undefined_object',
				DETAIL = format('The registry has %s worker ids.', (SELECT count(*) FROM uidgen.worker_node)),
				HINT = 'The table uidgen.worker_node lists them.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.forget_worker(integer, integer)
	IS 'frees a worker id whose instance will never issue ids again';

-- The keeper calls these functions as their owner; nobody else should call them.  An
-- operator with superuser rights calls forget_worker().
REVOKE EXECUTE ON FUNCTION
	uidgen.registry_clock(),
	uidgen.registry_history(),
	uidgen.new_token(),
	uidgen.tick_at(timestamptz, bigint, bigint),
	uidgen.tick_time(bigint, bigint, bigint),
	uidgen.check_lifetime(bigint, bigint, bigint, bigint),
	uidgen.check_request(text, integer, integer, integer, integer),
	uidgen.pin_layout(uidgen.registry_layout),
	uidgen.idle_ticks(bigint),
	uidgen.check_wanted_worker(uidgen.registry_layout, bigint, text, integer, integer, boolean, bigint, bigint),
	uidgen.choose_worker(uidgen.registry_layout, bigint, text, integer, integer, text, boolean, boolean, bigint, bigint),
	uidgen.explain_no_worker(uidgen.registry_layout, text, integer, integer, text, boolean, boolean),
	uidgen.warn_of_few_workers(bigint, integer, integer, text),
	uidgen.acquire_worker_id(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, boolean, bigint, bigint, bigint, bigint, text, integer, integer),
	uidgen.acquire_worker(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, boolean, bigint, bigint, bigint, text, integer, integer),
	uidgen.renew_worker_id(integer, integer, bigint, bigint, bigint, bigint, bigint),
	uidgen.renew_worker(integer, integer, bigint, bigint, bigint, bigint),
	uidgen.release_worker(integer, integer, bigint, bigint),
	uidgen.forget_worker(integer, integer)
	FROM PUBLIC;

--
-- Ids
--

-- COPY FROM calls the twins in place of uid_next(): see src/functions/copy.c, also for their
-- cost.  Nobody else can, since SQL has no value of the type internal.
CREATE FUNCTION uidgen.uid_next_in_copy(internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION uidgen.uid_next_in_copy(internal) IS 'uid_next(), as COPY FROM calls it';

CREATE FUNCTION uidgen.uid_next_in_copy(tag integer, internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_tagged'
LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION uidgen.uid_next_in_copy(integer, internal) IS 'uid_next(tag), as COPY FROM calls it';

CREATE FUNCTION uidgen.uid_next_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'uidgen_next_support'
LANGUAGE C STRICT;
COMMENT ON FUNCTION uidgen.uid_next_support(internal) IS 'planner support function of uid_next()';

CREATE FUNCTION uid_next() RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION uid_next() IS 'a new unique id, in order of time';

-- Not strict: a null tag is an error, where STRICT would return a null id.
CREATE FUNCTION uid_next(tag integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_tagged'
LANGUAGE C VOLATILE PARALLEL SAFE
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION uid_next(integer) IS 'a new unique id with a tag of the caller''s';

CREATE FUNCTION uid_next_batch(n integer, tag integer DEFAULT 0) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'uidgen_next_batch'
LANGUAGE C VOLATILE PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION uid_next_batch(integer, integer) IS 'n new ids, increasing';

CREATE FUNCTION uid_next_block(n integer, tag integer DEFAULT 0, OUT first_id bigint, OUT last_id bigint)
AS 'MODULE_PATHNAME', 'uidgen_next_block'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION uid_next_block(integer, integer) IS 'n new ids that are consecutive numbers within one tick';

--
-- What an id says.  Functions without a layout argument use the server's layout.  With
-- one, the result depends on the arguments alone, so those functions are immutable.
--

CREATE FUNCTION uid_parse(id bigint, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
AS 'MODULE_PATHNAME', 'uidgen_parse'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_parse(bigint) IS 'the fields of an id; a field that the layout lacks is null';

CREATE FUNCTION uid_parse(id bigint, layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
AS 'MODULE_PATHNAME', 'uidgen_parse'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_parse(bigint, text) IS 'the fields of an id under a layout or preset; a field that the layout lacks is null';

CREATE FUNCTION uid_timestamp(id bigint) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'uidgen_timestamp'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_timestamp(bigint) IS 'the time in an id';

CREATE FUNCTION uid_timestamp(id bigint, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'uidgen_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_timestamp(bigint, text) IS 'the time in an id under a layout or preset';

CREATE FUNCTION uid_min("timestamp" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_min'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_min(timestamptz) IS 'smallest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION uid_min("timestamp" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_min'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_min(timestamptz, text) IS 'smallest id of the tick that a time is in, under a layout or preset; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION uid_max("timestamp" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_max'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_max(timestamptz) IS 'largest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION uid_max("timestamp" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_max'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_max(timestamptz, text) IS 'largest id of the tick that a time is in, under a layout or preset; where the layout has no such tick, its smallest or largest id';

-- Not strict: a field that the layout lacks is passed as null, as uid_parse() returns it.
CREATE FUNCTION uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer DEFAULT NULL, tag integer DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_make'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION uid_make(timestamptz, integer, integer, integer, integer) IS 'the id with these fields';

CREATE FUNCTION uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer, tag integer, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_make'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION uid_make(timestamptz, integer, integer, integer, integer, text) IS 'the id with these fields under a layout or preset';

--
-- Ids as text and as uuids.  Text is the same for all layouts, a uuid begins with the time.
--

CREATE FUNCTION uid_to_text(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_to_text(bigint) IS 'an id as text: 13 digits of Crockford''s base 32';

CREATE FUNCTION uid_to_text(id bigint, form text) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_to_text(bigint, text) IS 'an id as text in a form: base32, base58, base62 or hex';

CREATE FUNCTION uid_from_text(id text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_from_text(text) IS 'the id in a text of Crockford''s base 32';

CREATE FUNCTION uid_from_text(id text, form text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_from_text(text, text) IS 'the id in a text of a form: base32, base58, base62 or hex';

CREATE FUNCTION uid_to_uuid(id bigint) RETURNS uuid
AS 'MODULE_PATHNAME', 'uidgen_to_uuid'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_to_uuid(bigint) IS 'a uuid of version 7 with the time of an id and the id';

CREATE FUNCTION uid_to_uuid(id bigint, layout text) RETURNS uuid
AS 'MODULE_PATHNAME', 'uidgen_to_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_to_uuid(bigint, text) IS 'a uuid of version 7 with the time of an id under a layout or preset, and the id';

CREATE FUNCTION uid_from_uuid(id uuid) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_from_uuid(uuid) IS 'the id in a uuid that uid_to_uuid() made';

--
-- Layouts
--

CREATE FUNCTION uid_layout(OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_layout_fields'
LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION uid_layout() IS 'the fields of the server''s layout, most significant first';

CREATE FUNCTION uid_layout(layout text, OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_layout_fields'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION uid_layout(text) IS 'the fields of a layout or preset, most significant first';

CREATE FUNCTION uid_layout_info(OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint,
	OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
AS 'MODULE_PATHNAME', 'uidgen_layout_info'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_layout_info() IS 'what the server''s layout has room for: ids_per_second is for each worker; a bulk load is slowed to that rate once its ids are uidgen.max_burst ahead of the clock, so raise that setting while loading';

CREATE FUNCTION uid_layout_info(layout text, OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint,
	OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
AS 'MODULE_PATHNAME', 'uidgen_layout_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid_layout_info(text) IS 'what a layout or preset has room for: ids_per_second is for each worker; a bulk load is slowed to that rate once its ids are uidgen.max_burst ahead of the clock, so raise that setting while loading';

CREATE FUNCTION uidgen.presets(OUT name text, OUT layout text, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_preset_list'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 26;
COMMENT ON FUNCTION uidgen.presets() IS 'the layouts that have a name';

CREATE VIEW uidgen.presets AS SELECT * FROM uidgen.presets();
COMMENT ON VIEW uidgen.presets IS 'the layouts that have a name';
GRANT SELECT ON uidgen.presets TO PUBLIC;

--
-- Ranges of time, half-open: an id of the tick that a bound is in belongs to what follows
-- the bound.  Null is an open end.
--

-- These two are what uid_between() is made of.  Not strict: an open end is a number, too.
CREATE FUNCTION uidgen.first_since("from" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_first_since'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.first_since(timestamptz) IS 'where a range of ids begins; for null, the smallest bigint';

CREATE FUNCTION uidgen.first_since("from" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_first_since'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.first_since(timestamptz, text) IS 'where a range of ids begins, under a layout or preset; for null, the smallest bigint';

CREATE FUNCTION uidgen.last_before("to" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_last_before'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.last_before(timestamptz) IS 'where a range of ids ends; for null, the largest bigint';

CREATE FUNCTION uidgen.last_before("to" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_last_before'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.last_before(timestamptz, text) IS 'where a range of ids ends, under a layout or preset; for null, the largest bigint';

-- To be inlined, a function must be neither strict nor have settings, and name each of its
-- arguments once: the planner copies no argument that is a subquery, or volatile.
CREATE FUNCTION uid_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from") AND id <= uidgen.last_before("to");
COMMENT ON FUNCTION uid_between(bigint, timestamptz, timestamptz) IS 'is the time of an id in a half-open range?';

CREATE FUNCTION uid_between(id bigint, "from" timestamptz, "to" timestamptz, layout text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from", layout) AND id <= uidgen.last_before("to", layout);
COMMENT ON FUNCTION uid_between(bigint, timestamptz, timestamptz, text) IS 'is the time of an id in a half-open range, under a layout or preset?';

CREATE FUNCTION uid_range("from" timestamptz, "to" timestamptz) RETURNS int8range
AS 'MODULE_PATHNAME', 'uidgen_range'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION uid_range(timestamptz, timestamptz) IS 'the ids of a half-open range of time';

CREATE FUNCTION uid_range("from" timestamptz, "to" timestamptz, layout text) RETURNS int8range
AS 'MODULE_PATHNAME', 'uidgen_range'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION uid_range(timestamptz, timestamptz, text) IS 'the ids of a half-open range of time, under a layout or preset';

-- The work of uid_partitions(), which adds what uid_layout_info() says of the layout: this
-- function cannot know in which schema that is.
CREATE FUNCTION uidgen.make_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text, tick interval, epoch timestamptz, expires_at timestamptz) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	most constant integer := 10000;
	since timestamptz := "from";
	until timestamptz := "to";
	months integer;
	parent record;
	start timestamp;
	form text;
	prefix text;
	room integer;
	statement text;
BEGIN
	IF num_nulls("table", since, until, step, "execute", layout) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_partitions() may be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Partitions have two ends: give the time of each. To use the server''s layout, leave that argument out.';
	END IF;

	SELECT CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END AS schema,
			c.relname AS name, p.partstrat, p.partnatts, a.atttypid
		INTO parent
		FROM pg_class AS c
			JOIN pg_namespace AS n ON n.oid = c.relnamespace
			LEFT JOIN pg_partitioned_table AS p ON p.partrelid = c.oid
			LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
		WHERE c.oid = "table";
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no table with OID %', "table"::oid
			USING ERRCODE = 'undefined_table';
	ELSIF parent.partstrat IS NULL THEN
		RAISE EXCEPTION 'table "%" is not partitioned', parent.name
			USING ERRCODE = 'wrong_object_type',
				HINT = 'Create it with PARTITION BY RANGE (id), where id is the bigint column that holds the ids.';
	ELSIF parent.partstrat <> 'r' OR parent.partnatts <> 1 OR parent.atttypid IS DISTINCT FROM 'bigint'::regtype THEN
		RAISE EXCEPTION 'table "%" is not partitioned by the range of one bigint column', parent.name
			USING ERRCODE = 'wrong_object_type',
				DETAIL = format('It is partitioned by %s.', pg_get_partkeydef("table")),
				HINT = 'Create it with PARTITION BY RANGE (id), where id is the bigint column that holds the ids.';
	END IF;

	IF NOT isfinite(since) OR NOT isfinite(until) OR since >= until THEN
		RAISE EXCEPTION 'uid_partitions() needs two finite times, the earlier one first'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('They are %s and %s.', since, until),
				HINT = 'Partitions go from the time in "from" to that in "to".';
	ELSIF step < interval '1 minute' OR step > interval '1000 years' THEN
		RAISE EXCEPTION 'step is out of range: %', step
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A step has a minute at least, and a thousand years at most.';
	END IF;
	months := extract(year FROM step) * 12 + extract(month FROM step);
	IF months <> 0 AND step <> make_interval(months => months) THEN
		RAISE EXCEPTION 'step mixes months with days or hours: %', step
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Months have different lengths, so such steps have no fixed places in the calendar.',
				HINT = 'Take months or years alone, or days and hours alone.';
	ELSIF step < tick THEN
		RAISE EXCEPTION 'step is shorter than a tick of the layout: %', step
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The layout is "%s"; ids of one tick cannot be told apart by time.', layout),
				HINT = 'Take a longer step.';
	END IF;

	since := greatest(since, epoch);
	until := least(until, expires_at);
	IF since >= until THEN
		RAISE EXCEPTION 'the layout has no ids from % to %', "from", "to"
			USING ERRCODE = 'datetime_field_overflow',
				DETAIL = format('The layout "%s" begins at %s and ends at %s.', layout, epoch, expires_at),
				HINT = 'Take other times, or another layout.';
	ELSIF extract(epoch FROM until - since) / extract(epoch FROM step) > most THEN
		RAISE EXCEPTION 'steps of % from % to % are too many', step, since, until
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('One call makes %s partitions at most; a table with more than some thousands is slow.', most),
				HINT = 'Take a longer step.';
	END IF;

	-- Steps have fixed places in the calendar, so that a later call goes on where this one
	-- ended.  Clocks that are set back repeat an hour: so begin a day earlier, and leave
	-- out what is not wanted.
	start := since::timestamp - interval '1 day';
	IF months <> 0 THEN
		start := date_trunc('month', start);
		start := start - make_interval(months => (extract(year FROM start) * 12 + extract(month FROM start) - 1)::integer % months);
		form := CASE months % 12 WHEN 0 THEN 'YYYY' ELSE 'YYYY_MM' END;
	ELSE
		-- from a Monday on
		start := date_bin(step, start, timestamp '2000-01-03');
		form := CASE 0
			WHEN extract(epoch FROM step) % 86400 THEN 'YYYY_MM_DD'
			WHEN extract(epoch FROM step) % 3600 THEN 'YYYY_MM_DD_HH24'
			ELSE 'YYYY_MM_DD_HH24_MI' END;
	END IF;

	-- In a name that is too long for its partition's, a hash takes the place of the end, so
	-- that tables of different names have partitions of different names.
	prefix := parent.name;
	room := current_setting('max_identifier_length')::integer - octet_length(to_char(until, form)) - 1;
	IF octet_length(prefix) > room THEN
		WHILE octet_length(prefix) + 9 > room LOOP
			prefix := left(prefix, -1);
		END LOOP;
		prefix := prefix || '_' || lpad(to_hex(hashtext(parent.name)), 8, '0');
	END IF;

	-- Who comes second finds the partitions of who came first.
	IF "execute" THEN
		EXECUTE format('LOCK TABLE ONLY %I.%I IN SHARE UPDATE EXCLUSIVE MODE', parent.schema, parent.name);
	END IF;

	FOR statement IN
		SELECT format('CREATE TABLE %I.%I PARTITION OF %I.%I FOR VALUES FROM (%s) TO (%s)',
				parent.schema, prefix || '_' || to_char(s.start, form), parent.schema, parent.name, s.low, s.high)
			FROM (SELECT b.start, uidgen.first_since(b.start, layout) AS low, uidgen.first_since(b.next, layout) AS high
				FROM (SELECT g::timestamptz AS start, lead(g::timestamptz) OVER (ORDER BY g::timestamptz) AS next
					FROM generate_series(start, until::timestamp + step, step) AS g) AS b
				WHERE b.start < until AND b.next > since) AS s
			-- A time that clocks leap over is the same as a later one, and the step between them is empty.
			WHERE s.low < s.high
				AND format('FOR VALUES FROM (%L) TO (%L)', s.low, s.high) NOT IN (
					SELECT pg_get_expr(c.relpartbound, c.oid)
						FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
						WHERE i.inhparent = "table")
			ORDER BY s.start
	LOOP
		IF "execute" THEN
			EXECUTE statement;
		END IF;
		RETURN NEXT statement;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.make_partitions(regclass, timestamptz, timestamptz, interval, boolean, text, interval, timestamptz, timestamptz)
	IS 'uid_partitions(), given the tick, the epoch and the end of the layout';

CREATE FUNCTION uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT m.s
		FROM uid_layout_info() AS l,
			uidgen.make_partitions("table", "from", "to", step, execute, l.layout, l.unit, l.epoch, l.expires_at) AS m (s);
END;
COMMENT ON FUNCTION uid_partitions(regclass, timestamptz, timestamptz, interval, boolean)
	IS 'the statements that make the partitions for a range of time, or those that are missing; optionally runs them';

CREATE FUNCTION uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT m.s
		FROM uid_layout_info(layout) AS l,
			uidgen.make_partitions("table", "from", "to", step, execute, l.layout, l.unit, l.epoch, l.expires_at) AS m (s);
END;
COMMENT ON FUNCTION uid_partitions(regclass, timestamptz, timestamptz, interval, boolean, text)
	IS 'the statements that make the partitions for a range of time under a layout or preset, or those that are missing; optionally runs them';

--
-- Operation
--

CREATE FUNCTION uidgen.status(OUT state text, OUT worker_id integer, OUT datacenter_id integer,
	OUT layout text, OUT registry text, OUT granted_until timestamptz, OUT ahead interval,
	OUT renewals bigint, OUT failures bigint, OUT last_error text, OUT waits bigint,
	OUT clock_steps bigint, OUT expires_at timestamptz, OUT wasted bigint,
	OUT ahead_cause text, OUT free_worker_ids bigint)
AS 'MODULE_PATHNAME', 'uidgen_status_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.status() IS 'the state of this server''s generator; last_error is for members of pg_monitor';

CREATE VIEW uidgen.status AS SELECT * FROM uidgen.status();
COMMENT ON VIEW uidgen.status IS 'the state of this server''s generator; last_error is for members of pg_monitor';
GRANT SELECT ON uidgen.status TO PUBLIC;

CREATE FUNCTION uidgen.diagnose() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_diagnose_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.diagnose() IS 'ok, or what is missing before ids can be issued and what to do';

-- Tell the user what else is needed; by INFO, because CREATE EXTENSION hides NOTICE.
DO $$
DECLARE
	registry text := pg_catalog.current_setting('uidgen.database', true);
	missing text := uidgen.diagnose();
BEGIN
	IF registry OPERATOR(pg_catalog.<>) pg_catalog.current_database()::text THEN
		RAISE INFO 'worker ids come from the registry in another database'
			USING DETAIL = pg_catalog.format('The setting "uidgen.database" is "%s".', registry);
	END IF;
	IF missing OPERATOR(pg_catalog.<>) 'ok' THEN
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing;
	END IF;
END
$$;
