/* sql/uidgen.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION uidgen" to load this file. \quit

-- sql/update/script.awk makes the scripts that update to this version from this one.  They replace
-- each function and view, and leave out a statement below the mark [since VERSION] where the
-- former version has that already: what can be made only once, and privileges, since an
-- administrator may have changed those.

-- What is parsed while this script runs (function bodies that begin with RETURN or BEGIN
-- ATOMIC, views, constraints, DO blocks) is bound to what this search path finds, for good,
-- and a keeper runs it as superuser.  In another schema anybody may have put an operator or a
-- function that fits better than pg_catalog's.  So there is no such schema in the path, and
-- what goes to the schema given at CREATE EXTENSION is named in full.
-- [registry]
SET LOCAL search_path = pg_catalog, pg_temp;
-- What is there already is no news to whoever runs a script twice.
SET LOCAL client_min_messages = warning;
-- [end of registry]

-- The registry and what operators use are in schema uidgen; the uid_* functions go to the
-- schema given at CREATE EXTENSION.  If a schema uidgen exists already, this fails: objects
-- that somebody else made must not be mixed with functions that run as superuser.
-- [registry]
-- [since 0.1.0]
CREATE SCHEMA uidgen;
COMMENT ON SCHEMA uidgen IS 'registry of worker ids, status and presets of uidgen';
-- [since 0.1.0]
GRANT USAGE ON SCHEMA uidgen TO PUBLIC;
-- [end of registry]

-- A running server keeps the library that it has loaded, also after a newer one is
-- installed.  An older library lacks C functions that are declared below, so the user is told
-- what to do before the first of them.  That of version 0.1.0 cannot say its version.
DO $$
DECLARE
	loaded text := '0.1.0';
BEGIN
	BEGIN
		CREATE FUNCTION uidgen.library_version() RETURNS text
		AS 'MODULE_PATHNAME', 'uidgen_library_version'
		LANGUAGE C STABLE STRICT PARALLEL SAFE;
		loaded := uidgen.library_version();
	EXCEPTION WHEN undefined_function THEN
		NULL;
	END;
	IF string_to_array(loaded, '.')::integer[] < string_to_array('UIDGEN_VERSION', '.')::integer[] THEN
		RAISE EXCEPTION 'the server has loaded an older library of uidgen than this version of the extension needs'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('It has loaded version %s, and version %s is needed. The server loads a newly installed library only when it starts.', loaded, 'UIDGEN_VERSION'),
				HINT = 'Restart the server, and run this command again.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.library_version() IS 'version of the library that the server has loaded; that of the extension is in pg_extension';

-- [changes before]

--
-- The registry: which instance holds which worker id, and up to which tick.
--
-- Only SQL and PL/pgSQL, so that the registry can also live on a server without the
-- library.  Its functions are given numbers (unit, epoch, maxima) and parse no layouts.
--
-- It is local or shared: of one server, whose keeper calls it as its owner, or of a fleet,
-- whose nodes call it with privileges for that alone.  Each has functions of its own for
-- the three calls.  The two modes have in common the tables and the steps that come first.
--
-- What stands between the marks [registry] and [end of registry] is also a script by
-- itself, which the Makefile takes out: a shared registry for a server on which no
-- extension can be installed.
--

-- [registry]

-- The order of locks.  What locks more than one of these tables locks registry_layout first, then
-- worker_node, and segment last.  By two orders, one call could hold registry_layout and wait for
-- worker_node, while another holds that and waits for registry_layout: a deadlock.  A script that
-- updates meets calls of the former version: sql/update/from-OLD.sql has to go by their order.
--
-- DROP EXTENSION locks them in the order that pg_depend has them in, which no call can rely on.  So a
-- keeper locks the extension before it calls its own server's registry (lock_extension() in
-- link_local.c).  Calls of nodes come in ordinary sessions, which cannot do that: whoever drops a
-- registry that nodes use locks the tables before, or may have to do it again.

-- [since 0.1.0]
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

-- An index on what a renewal changes would end HOT.
-- [since 0.2.0]
CREATE INDEX worker_node_identity_idx ON uidgen.worker_node (datacenter_id, identity);
COMMENT ON INDEX uidgen.worker_node_identity_idx IS 'finds the worker ids that a node of a fleet had before';

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
COMMENT ON COLUMN uidgen.worker_node.granted_until IS 'last tick granted; the last one of the layout: granted to no node any more, by keep_worker()';
COMMENT ON COLUMN uidgen.worker_node.released IS 'whether anybody may have it: it was handed back by a clean shutdown, freed by forget_worker(), or only its end was brought along';
COMMENT ON COLUMN uidgen.worker_node.launches IS 'how many times the worker id was acquired';

-- [since 0.1.0]
CREATE TABLE uidgen.registry_layout (
	only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
	layout text NOT NULL,
	unit bigint NOT NULL,
	epoch bigint NOT NULL,
	max_tick bigint NOT NULL,
	max_datacenter integer NOT NULL,
	max_worker integer NOT NULL,
	pinned timestamptz NOT NULL,
	database oid NOT NULL,
	shared boolean NOT NULL DEFAULT false,
	registry_id bigint,
	max_lead interval,
	clock_slack interval,
	system_identifier bigint,
	timeline integer,
	started timestamptz,
	quarantine_until bigint
);

-- [since 0.2.1]
ALTER TABLE uidgen.registry_layout
	ADD CONSTRAINT shared_is_complete CHECK (NOT shared
		OR (registry_id, max_lead, clock_slack, system_identifier, timeline, started, quarantine_until) IS NOT NULL),
	ADD CONSTRAINT max_lead_is_some_ticks CHECK (extract(epoch FROM max_lead) * 1000000::numeric >= (8::bigint * unit)::numeric),
	ADD CONSTRAINT clock_slack_is_not_negative CHECK (clock_slack >= interval '0'),
	ADD CONSTRAINT lengths_have_no_days CHECK (date_trunc('day'::text, max_lead) = interval '0' AND date_trunc('day'::text, clock_slack) = interval '0');

-- [since 0.2.2]
ALTER TABLE uidgen.registry_layout
	ADD COLUMN IF NOT EXISTS timeline_offset integer NOT NULL DEFAULT 0,
	ADD COLUMN IF NOT EXISTS segments_confirmed boolean NOT NULL DEFAULT false,
	DROP CONSTRAINT IF EXISTS only_a_shared_one_is_confirmed,
	ADD CONSTRAINT only_a_shared_one_is_confirmed CHECK (shared OR NOT segments_confirmed);

COMMENT ON TABLE uidgen.registry_layout IS 'the one layout of all ids of this registry, pinned by the first grant or by share_registry(), and what a shared registry knows of itself';
COMMENT ON COLUMN uidgen.registry_layout.only_one IS 'always true: the primary key then allows for one row only';
COMMENT ON COLUMN uidgen.registry_layout.layout IS 'the layout in canonical form';
COMMENT ON COLUMN uidgen.registry_layout.unit IS 'length of a tick, in microseconds';
COMMENT ON COLUMN uidgen.registry_layout.epoch IS 'start of tick 0, in microseconds since 1970 UTC';
COMMENT ON COLUMN uidgen.registry_layout.max_tick IS 'the last tick, which is never granted';
COMMENT ON COLUMN uidgen.registry_layout.max_datacenter IS 'largest datacenter id';
COMMENT ON COLUMN uidgen.registry_layout.max_worker IS 'largest worker id';
COMMENT ON COLUMN uidgen.registry_layout.pinned IS 'when the layout was pinned';
COMMENT ON COLUMN uidgen.registry_layout.database IS 'OID of the registry''s database; a copy of the database has another OID';
COMMENT ON COLUMN uidgen.registry_layout.shared IS 'whether many servers share this registry; decided once, before the first grant';
COMMENT ON COLUMN uidgen.registry_layout.registry_id IS 'a random number that tells a shared registry from others; a copy or a restored one has the same';
COMMENT ON COLUMN uidgen.registry_layout.max_lead IS 'no grant of a shared registry reaches further ahead of its clock; at least 8 ticks; the owner may change it, which protects from lost commits once the longer of both values has passed';
COMMENT ON COLUMN uidgen.registry_layout.clock_slack IS 'by how much the clock of a server that takes over a shared registry may be behind; the owner may change it';
COMMENT ON COLUMN uidgen.registry_layout.system_identifier IS 'the cluster that a shared registry was in when it last looked';
COMMENT ON COLUMN uidgen.registry_layout.timeline IS 'the timeline that it was on then';
COMMENT ON COLUMN uidgen.registry_layout.timeline_offset IS 'added to the timeline that nodes are told, so that they take this registry for later than what they have seen: by take_over_registry()';
COMMENT ON COLUMN uidgen.registry_layout.segments_confirmed IS 'whether a shared registry that has failed over gives out numbers of a segment only once a standby has replayed that it did, so that two failovers in a row repeat none; the owner may change it, who then needs the privileges of pg_monitor';
COMMENT ON COLUMN uidgen.registry_layout.started IS 'when its server had started';
COMMENT ON COLUMN uidgen.registry_layout.quarantine_until IS 'a grant of a shared registry that does not continue one that its node knows begins above this tick: grants that were lost may reach up to it';

-- Host names and ports are for monitoring only.
-- [since 0.1.0]
GRANT SELECT ON uidgen.registry_layout TO pg_monitor;
-- All but the token, by which a node proves that a row is its own.  An update does this
-- only where pg_monitor had all.
-- [since 0.1.0]
GRANT SELECT (datacenter_id, worker_id, host_name, port, type, launch_date, created, modified, identity, granted_until, released, launches)
	ON uidgen.worker_node TO pg_monitor;

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
-- [since 0.1.0]
REVOKE EXECUTE ON FUNCTION uidgen.drop_replicated_row() FROM PUBLIC;

-- [since 0.1.0]
CREATE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.worker_node
	FOR EACH ROW EXECUTE FUNCTION uidgen.drop_replicated_row();
-- [since 0.1.0]
ALTER TABLE uidgen.worker_node ENABLE REPLICA TRIGGER drop_replicated_row;
COMMENT ON TRIGGER drop_replicated_row ON uidgen.worker_node IS 'drops rows that logical replication brings';

-- [since 0.1.0]
CREATE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.registry_layout
	FOR EACH ROW EXECUTE FUNCTION uidgen.drop_replicated_row();
-- [since 0.1.0]
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
			DETAIL = 'The registry would forget which ids and numbers may be in use.',
			HINT = 'To begin a new registry, create the extension in another database and name that in "uidgen.database".';
END
$$;
COMMENT ON FUNCTION uidgen.refuse_truncate() IS 'trigger: refuses TRUNCATE of the registry';
-- [since 0.1.0]
REVOKE EXECUTE ON FUNCTION uidgen.refuse_truncate() FROM PUBLIC;

-- [since 0.1.0]
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.worker_node
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.refuse_truncate();
COMMENT ON TRIGGER refuse_truncate ON uidgen.worker_node IS 'refuses TRUNCATE of the registry';
-- [since 0.1.0]
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.registry_layout
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.refuse_truncate();
COMMENT ON TRIGGER refuse_truncate ON uidgen.registry_layout IS 'refuses TRUNCATE of the registry';

-- Only these functions look at the clock, at what tells one run of the registry's database from
-- another, and at how far its standbys are.  So a test can replace them and play any course of events.
CREATE FUNCTION uidgen.registry_clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
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
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Not from the control file: it has the timeline of the last checkpoint, which for
	-- some time after a promotion is still the old one.  But a standby can tell no other.
	SELECT c.system_identifier,
			CASE WHEN pg_is_in_recovery()
				THEN (SELECT greatest(k.timeline_id, r.min_recovery_end_timeline) FROM pg_control_checkpoint() AS k, pg_control_recovery() AS r)
				ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END,
			pg_postmaster_start_time(),
			d.oid
		INTO STRICT system_identifier, timeline, started, database
		FROM pg_control_system() AS c, pg_database AS d
		WHERE d.datname = current_database();
END
$$;
COMMENT ON FUNCTION uidgen.registry_history() IS 'which course of history the registry''s database is in: cluster, timeline, start of the server, and database';

-- `replayed` is null for whoever has not the privileges of pg_monitor.
CREATE FUNCTION uidgen.registry_log(OUT written pg_lsn, OUT replayed pg_lsn)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT pg_current_wal_insert_lsn(), (
			-- a subscriber, which has a database, has no registry of ours
			SELECT max(r.replay_lsn) FROM pg_stat_replication AS r JOIN pg_stat_activity AS a ON a.pid = r.pid AND a.datid IS NULL)
		INTO STRICT written, replayed;
END
$$;
COMMENT ON FUNCTION uidgen.registry_log() IS 'how far the log of the registry''s server is written, and how far one of its standbys has replayed it';
-- [since 0.2.2]
REVOKE EXECUTE ON FUNCTION uidgen.registry_log() FROM PUBLIC;

CREATE FUNCTION uidgen.check_confirmable() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	owner regrole;
BEGIN
	SELECT p.proowner INTO STRICT owner FROM pg_proc AS p WHERE p.oid = 'uidgen.registry_log()'::regprocedure;
	IF NOT pg_has_role(owner, 'pg_read_all_stats', 'USAGE') THEN
		RAISE EXCEPTION 'role % cannot see what the standbys of the registry have replayed', owner
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Numbers of segments would wait for that without end.',
				HINT = format('Run GRANT pg_monitor TO %s.', owner);
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION uidgen.check_confirmable() IS 'trigger: refuses segments_confirmed where the registry''s owner cannot see how far its standbys are';
-- [since 0.2.2]
REVOKE EXECUTE ON FUNCTION uidgen.check_confirmable() FROM PUBLIC;
-- [since 0.2.2]
CREATE OR REPLACE TRIGGER check_confirmable BEFORE UPDATE ON uidgen.registry_layout
	FOR EACH ROW WHEN (new.segments_confirmed AND NOT old.segments_confirmed) EXECUTE FUNCTION uidgen.check_confirmable();
COMMENT ON TRIGGER check_confirmable ON uidgen.registry_layout IS 'refuses segments_confirmed where the registry''s owner cannot see how far its standbys are';

CREATE FUNCTION uidgen.new_token() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	-- the first 32 and the last 32 bits of a version 4 uuid are random
	SELECT ('x' || left(u, 8) || right(u, 8))::bit(64)::bigint
	FROM (SELECT gen_random_uuid()::text) AS t (u)
$$;
COMMENT ON FUNCTION uidgen.new_token() IS 'a random number that nobody can guess';

CREATE FUNCTION uidgen.tick_at("time" timestamptz, unit bigint, epoch bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN floor((extract(epoch FROM "time") * 1000000::numeric - epoch::numeric) / unit::numeric)::bigint;
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
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
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

CREATE FUNCTION uidgen.check_request(
	policy text,
	datacenter integer,
	wanted integer,
	max_datacenter integer,
	max_worker integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
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

CREATE FUNCTION uidgen.check_epoch(now_tick bigint, unit bigint, epoch bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF now_tick < 0 THEN
		RAISE EXCEPTION 'the epoch of the layout is in the future'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The epoch is %s, the clock shows %s.', uidgen.tick_time(0, unit, epoch), uidgen.tick_time(now_tick, unit, epoch)),
				HINT = 'If the clock is wrong, correct it. Otherwise give the setting "uidgen.layout" an epoch in the past.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_epoch(bigint, bigint, bigint) IS 'raises an error if the epoch of a layout is in the future';

-- What is given out without having been written would be given out again.  So each write is
-- followed by this; one that may find another row than it expects, by
--	check_written(FOUND OR current_setting('session_replication_role') <> 'replica').
CREATE FUNCTION uidgen.check_written(written boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF written IS NOT TRUE THEN
		RAISE EXCEPTION 'the registry could not write a row'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = CASE WHEN current_setting('session_replication_role') = 'replica'
					THEN '"session_replication_role" is "replica", as for rows that replication brings, and the registry takes none of these.'
					ELSE 'A trigger or a rule on a table of schema uidgen, which is not of the extension, has dropped the row.' END,
				HINT = CASE WHEN current_setting('session_replication_role') = 'replica'
					THEN format('Set it back: ALTER DATABASE %I RESET session_replication_role, or ALTER ROLE %I RESET session_replication_role.', current_database(), session_user)
					ELSE 'Remove that trigger or rule.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_written(boolean) IS 'raises an error if a row was not written';
-- [since 0.2.1]
REVOKE EXECUTE ON FUNCTION uidgen.check_written(boolean) FROM PUBLIC;

CREATE FUNCTION uidgen.forget_worker(worker integer, datacenter integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	dc integer := coalesce(datacenter, current_setting('uidgen.datacenter_id', true)::integer, 0);
	clock CONSTANT timestamptz := uidgen.registry_clock();
	l uidgen.registry_layout;
BEGIN
	SELECT r.* INTO l FROM uidgen.registry_layout AS r;
	-- The row stays, so that the next grant of this worker id begins above what was granted:
	-- for one that keep_worker() kept, above what any grant can reach.
	UPDATE uidgen.worker_node AS n SET
			identity = NULL,
			token = NULL,
			granted_until = CASE WHEN l.shared AND n.granted_until >= l.max_tick
				THEN uidgen.tick_at(clock, l.unit, l.epoch) + uidgen.ticks_in(l.max_lead, l.unit) + uidgen.ticks_in(l.clock_slack, l.unit) + 1
				ELSE n.granted_until END,
			released = true,
			modified = greatest(CASE WHEN l.shared THEN n.modified END, clock)
		WHERE n.datacenter_id = dc AND n.worker_id = worker;
	IF NOT FOUND THEN
		PERFORM uidgen.check_written(NOT EXISTS (SELECT FROM uidgen.worker_node AS n WHERE n.datacenter_id = dc AND n.worker_id = worker));
		RAISE EXCEPTION 'there is no worker id % of datacenter % in the registry', worker, dc
			USING ERRCODE = 'undefined_object',
				DETAIL = format('The registry has %s worker ids.', (SELECT count(*) FROM uidgen.worker_node)),
				HINT = 'The table uidgen.worker_node lists them.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.forget_worker(integer, integer)
	IS 'frees a worker id whose instance will never issue ids again, or one that keep_worker() kept';

-- [since 0.2.0]
REVOKE EXECUTE ON FUNCTION
	uidgen.registry_clock(),
	uidgen.registry_history(),
	uidgen.new_token(),
	uidgen.tick_at(timestamptz, bigint, bigint),
	uidgen.tick_time(bigint, bigint, bigint),
	uidgen.check_lifetime(bigint, bigint, bigint, bigint),
	uidgen.check_request(text, integer, integer, integer, integer),
	uidgen.check_epoch(bigint, bigint, bigint),
	uidgen.forget_worker(integer, integer)
	FROM PUBLIC;
-- [end of registry]

--
-- The local registry: three calls for the keeper of this server.
--
-- The steps of acquiring a worker id come first; only acquire_worker_id() calls them.
-- l is the layout of the caller, as the registry would pin it; now_tick is the tick that
-- the clock shows.
--

CREATE FUNCTION uidgen.check_local() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM uidgen.registry_layout AS r WHERE r.shared) THEN
		RAISE EXCEPTION 'this registry is shared by many servers'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It was called as the local registry of its server.',
				HINT = 'Point the setting "uidgen.registry" at the server itself, as on all other servers that share the registry.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_local() IS 'raises an error if the registry is shared';

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
	marked bigint;
BEGIN
	PERFORM uidgen.check_local();
	INSERT INTO uidgen.registry_layout AS r
		(only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database)
		VALUES (l.only_one, l.layout, l.unit, l.epoch, l.max_tick, l.max_datacenter, l.max_worker, l.pinned, l.database)
		ON CONFLICT (only_one) DO NOTHING;
	SELECT r.* INTO pinned FROM uidgen.registry_layout AS r;
	PERFORM uidgen.check_written(FOUND);
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
		GET DIAGNOSTICS marked = ROW_COUNT;
		PERFORM uidgen.check_written(marked = (SELECT count(*) FROM uidgen.worker_node AS n WHERE n.identity IS NOT NULL));
		UPDATE uidgen.registry_layout AS r SET database = l.database;
		PERFORM uidgen.check_written(FOUND);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.pin_layout(uidgen.registry_layout)
	IS 'pins the layout, or raises an error if another one is pinned';

CREATE FUNCTION uidgen.check_wanted_worker(
	l uidgen.registry_layout,
	now_tick bigint,
	holder text,
	datacenter integer,
	wanted integer,
	max_lead bigint,
	max_step bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	candidate uidgen.worker_node;
BEGIN
	SELECT n.* INTO candidate FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = wanted;
	IF candidate.identity <> holder THEN
		RAISE EXCEPTION 'worker id % belongs to another instance', wanted
			USING ERRCODE = 'object_in_use',
				DETAIL = format('It was granted to host "%s", port %s, until %s.',
								candidate.host_name, candidate.port,
								uidgen.tick_time(candidate.granted_until, l.unit, l.epoch)),
				HINT = format('If that instance will never issue ids again, run SELECT uidgen.forget_worker(%s, %s). Otherwise set "uidgen.worker_id" to another worker id or to -1, and restart the server.', wanted, datacenter);
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
COMMENT ON FUNCTION uidgen.check_wanted_worker(uidgen.registry_layout, bigint, text, integer, integer, bigint, bigint)
	IS 'raises an error if the worker id that is wanted cannot be granted';

-- The order of candidates keeps crashes, and a clock that goes to and fro, from using up
-- worker ids.  First a worker id that this instance had, if its grant does not begin too
-- far ahead of the clock; then one that was never used, at random, so that copies of a
-- registry seldom choose the same; then one that an operator has freed; at last one that
-- this instance had, however far ahead.  Null if there is none.
--
-- Rows of other holders are never taken: the rows came with a copy, and their holder goes
-- on renewing them in a table of its own, which cannot be seen from here.
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
	max_lead bigint,
	max_step bigint,
	OUT worker integer,
	OUT reason text)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
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
				AND n.identity IS NULL
				AND n.granted_until + 1 - now_tick <= max_lead
			ORDER BY n.granted_until LIMIT 1;
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
COMMENT ON FUNCTION uidgen.choose_worker(uidgen.registry_layout, bigint, text, integer, integer, text, boolean, bigint, bigint)
	IS 'the worker id that suits an instance best, and why';

CREATE FUNCTION uidgen.explain_no_worker(
	l uidgen.registry_layout,
	holder text,
	datacenter integer,
	avoid integer,
	policy text,
	take_never_used boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	workers CONSTANT bigint := l.max_worker + 1::bigint;
	free bigint;
	others bigint;
BEGIN
	SELECT workers - count(*), count(*) FILTER (WHERE n.identity IS DISTINCT FROM holder)
		INTO free, others
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
					WHEN avoid >= 0 AND others = 0
					THEN ' The clock was set forward by a large step, and the worker id in use is kept for when the clock returns.'
					ELSE '' END,
			HINT = CASE WHEN NOT take_never_used AND free > 0 THEN 'If the clock is correct now, restart the server; otherwise correct the clock.'
				WHEN others = 0 THEN 'Begin a new registry with a layout that has more worker bits.'
				ELSE 'If an instance will never issue ids again, free its worker id with SELECT uidgen.forget_worker(worker). Otherwise begin a new registry with a layout that has more worker bits.' END;
END
$$;
COMMENT ON FUNCTION uidgen.explain_no_worker(uidgen.registry_layout, text, integer, integer, text, boolean)
	IS 'raises the error that no worker id can be granted, and says why';

CREATE FUNCTION uidgen.warn_of_few_workers(
	free_workers bigint,
	max_worker integer,
	datacenter integer,
	policy text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
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

	LOCK TABLE uidgen.registry_layout IN ROW EXCLUSIVE MODE;	-- the order of locks
	-- No row may change between choice and claim: another acquirer would choose the
	-- same one, and a holder may wake up and renew.
	LOCK TABLE uidgen.worker_node IN SHARE ROW EXCLUSIVE MODE;

	-- The clock is read once, so that all that follows is of one moment.
	clock := uidgen.registry_clock();
	l.only_one := true;
	l.layout := layout_text;
	l.unit := tick_unit;
	l.epoch := tick_epoch;
	l.max_tick := max_tick;
	l.max_datacenter := max_datacenter;
	l.max_worker := max_worker;
	l.pinned := clock;
	SELECT h.database INTO l.database FROM uidgen.registry_history() AS h;
	PERFORM uidgen.pin_layout(l);

	now_tick := uidgen.tick_at(clock, tick_unit, tick_epoch);
	PERFORM uidgen.check_epoch(now_tick, tick_unit, tick_epoch);

	IF wanted >= 0 THEN
		PERFORM uidgen.check_wanted_worker(l, now_tick, holder, datacenter, wanted,
			max_lead => max_lead, max_step => max_step);
		worker := wanted;
		reason := 'The setting "uidgen.worker_id" asks for it.';
	ELSE
		SELECT c.worker, c.reason INTO worker, reason
			FROM uidgen.choose_worker(l, now_tick, holder, datacenter, avoid, policy,
				take_never_used => take_never_used, max_lead => max_lead, max_step => max_step) AS c;
		IF worker IS NULL THEN
			PERFORM uidgen.explain_no_worker(l, holder, datacenter, avoid, policy,
				take_never_used => take_never_used);
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
	PERFORM uidgen.check_written(FOUND);

	SELECT max_worker + 1::bigint - count(*) INTO free_workers FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter AND (n.identity IS NOT NULL OR policy = 'disposable');
	IF before.identity IS NULL AND wanted < 0 THEN
		PERFORM uidgen.warn_of_few_workers(free_workers, max_worker, datacenter, policy);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.acquire_worker_id(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, bigint, bigint, bigint, bigint, text, integer, integer)
	IS 'acquires a worker id with a first range of ticks; for the keeper';

-- The same under the name that the library of version 0.1.0 calls, so that ids go on where
-- a server has that library: a standby that was not restarted, or a server that was set
-- back.  That library takes any function of this name, so there must be no other one.  It
-- knows of local registries only.
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
			datacenter, wanted, avoid, policy, take_never_used, floor_tick, window_ticks, max_lead, max_lead,
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
	PERFORM uidgen.check_local();
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
	PERFORM uidgen.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
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
	PERFORM uidgen.check_local();
	UPDATE uidgen.worker_node AS n SET
			token = NULL,
			granted_until = least(n.granted_until, last_issued),
			released = true,
			modified = greatest(n.modified, uidgen.registry_clock())
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = old_token;
	done := FOUND;
	PERFORM uidgen.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
END
$$;
COMMENT ON FUNCTION uidgen.release_worker(integer, integer, bigint, bigint)
	IS 'hands back a worker id and what was not used of its grant; for the keeper';

-- For a server that becomes a node of a fleet; that may be the one which has the fleet's registry.  All of
-- them, since the fleet's clock may be behind this one.
CREATE FUNCTION uidgen.local_grants(layout_text text, datacenter integer, at_most integer, OUT workers integer[], OUT ends bigint[])
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(array_agg(g.worker_id), '{}'), coalesce(array_agg(g.granted_until), '{}')
		FROM (SELECT n.worker_id, n.granted_until
				FROM uidgen.registry_layout AS l, uidgen.worker_node AS n
				WHERE n.datacenter_id = datacenter AND NOT l.shared AND l.layout = layout_text
				ORDER BY n.granted_until DESC LIMIT at_most) AS g
$$;
COMMENT ON FUNCTION uidgen.local_grants(text, integer, integer)
	IS 'the worker ids of a local registry with their ends, the highest first; for the keeper';

-- The keeper calls these functions as their owner; nobody else should call them.
-- [since 0.2.0]
REVOKE EXECUTE ON FUNCTION
	uidgen.check_local(),
	uidgen.local_grants(text, integer, integer),
	uidgen.pin_layout(uidgen.registry_layout),
	uidgen.check_wanted_worker(uidgen.registry_layout, bigint, text, integer, integer, bigint, bigint),
	uidgen.choose_worker(uidgen.registry_layout, bigint, text, integer, integer, text, boolean, bigint, bigint),
	uidgen.explain_no_worker(uidgen.registry_layout, text, integer, integer, text, boolean),
	uidgen.warn_of_few_workers(bigint, integer, integer, text),
	uidgen.acquire_worker_id(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, bigint, bigint, bigint, bigint, text, integer, integer),
	uidgen.acquire_worker(text, text, bigint, bigint, bigint, integer, integer, integer, integer, integer, text, boolean, boolean, bigint, bigint, bigint, text, integer, integer),
	uidgen.renew_worker_id(integer, integer, bigint, bigint, bigint, bigint, bigint),
	uidgen.renew_worker(integer, integer, bigint, bigint, bigint, bigint),
	uidgen.release_worker(integer, integer, bigint, bigint)
	FROM PUBLIC;

--
-- The shared registry: one for a fleet of servers, its nodes.
--
-- A node proves by a token that a row is its own, and proposes the token itself, so that
-- it knows its row also after a call whose answer was lost.  The registry may go back: be
-- restored, or fail over to a server that lost commits.  Grants that it does not know of
-- any more may then be in use, so these rules hold (design.md, section 6; test/model/
-- fleet.pml tries them, and what happens without each):
--
--	R1	A renewal needs the token and the end of the grant, and that end, or the last change
--		of the row, is no older than max_lead.
--	R2	A claim is by token, or by the end of a grant that lies above the row's; it counts
--		until max_lead after that end, or after the last change of a row that is not
--		released, and the new grant begins above both ends.  The identity gives no right,
--		it only prefers.
--	R3	Another's row is free once it is released, or its end and its last change are older
--		than max_lead + clock_slack.
--	R4	No grant reaches further than max_lead ahead of the clock.
--	R5	What is no claim begins above the end of the quarantine.  The registry is born in
--		quarantine; another begins with another history, or with a claim above its row's end
--		and above the quarantine.
--	R6	What a node was not told in full it does not use: the node's part.
--	R7	A release marks the row and does not lower its end.
--

-- [registry]
CREATE FUNCTION uidgen.ticks_in(length interval, unit bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN floor(extract(epoch FROM length) * 1000000::numeric / unit::numeric)::bigint;
COMMENT ON FUNCTION uidgen.ticks_in(interval, bigint) IS 'how many whole ticks a length of time has, given their unit in microseconds';

CREATE FUNCTION uidgen.microseconds("time" timestamptz) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (extract(epoch FROM "time") * 1000000::numeric)::bigint;
COMMENT ON FUNCTION uidgen.microseconds(timestamptz) IS 'a time in microseconds since 1970 UTC, as nodes send and get it';

-- R5.  If another call has the lock, that one writes it down: a renewal waits for nobody.
CREATE FUNCTION uidgen.begin_quarantine() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	clock CONSTANT timestamptz := uidgen.registry_clock();
	result bigint;
BEGIN
	PERFORM FROM uidgen.registry_layout AS r FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	-- Above all that can have been granted before: R4 held then, by a clock that was at most
	-- clock_slack ahead of this one.  The newest change shows how far it was at least.
	UPDATE uidgen.registry_layout AS r SET
			system_identifier = h.system_identifier,
			timeline = h.timeline,
			started = h.started,
			database = h.database,
			quarantine_until = greatest(r.quarantine_until,
				uidgen.tick_at(greatest(clock, (SELECT max(n.modified) FROM uidgen.worker_node AS n)), r.unit, r.epoch)
				+ uidgen.ticks_in(r.max_lead, r.unit) + uidgen.ticks_in(r.clock_slack, r.unit) + 1)
		FROM uidgen.registry_history() AS h
		RETURNING r.quarantine_until INTO result;
	PERFORM uidgen.check_written(FOUND);
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen.begin_quarantine() IS 'writes down the history that the registry is in, and begins a quarantine; returns its last tick, or null if another call is about to do so';

-- What all calls of nodes begin with, and those for segments in a local registry, too.
CREATE FUNCTION uidgen.begin_call() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Asked first, since a standby would say something else to each of the next statements.
	IF current_setting('transaction_read_only')::boolean THEN
		RAISE EXCEPTION 'the registry cannot be written on this server'
			USING ERRCODE = 'read_only_sql_transaction',
				DETAIL = 'The server is a standby, or its transactions may only read.',
				HINT = 'Ask the primary server.';
	END IF;
	-- For this transaction, behind whatever pooler: a caller that has given up does not hold
	-- up others, and what is answered is on disk, also of a synchronous standby.
	PERFORM set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'on', true);
	-- Plans that were made for a few rows are kept, and a fleet that begins at once has thousands
	-- before anybody has counted them.
	PERFORM set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true);
	-- Who has the rights of the owner needs no calls to do harm, and has transactions of its own
	-- making.  No function called here, since each renewal comes by; and the caller of a function
	-- cannot change its session_user.
	IF NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
		-- A transaction that goes on keeps what it has locked from others.  So a node has the
		-- locks of one call, however many savepoints it makes.
		IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
			RAISE EXCEPTION 'each call of a node is a transaction of its own'
				USING ERRCODE = 'active_sql_transaction',
					HINT = 'Commit before the next call.';
		END IF;
		-- And keeps them for so long, unless it wills more.  The calls of keepers are never idle
		-- before they are committed, since a call and its commit are one message; this has room
		-- for a slow network between the two.
		PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.begin_call() IS 'raises an error where nothing can be written, and sets how this transaction waits and commits';

-- Whether another transaction that goes on has changed or locked a row, which now has this xmax.  Most
-- rows have none.  Where there is one, the lock is tried, and given back: an xmax may be that of a
-- subtransaction or of several, which are in no list of locks.  A transaction of the caller's own role may
-- be its last call, which was not answered and commits at any moment; so with by_other_role the answer is
-- false while another session of this role writes to the table.
CREATE FUNCTION uidgen.is_locked(n uidgen.worker_node, row_xmax xid, by_other_role boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF row_xmax IS NULL OR row_xmax = '0'::xid THEN
		RETURN false;
	END IF;
	BEGIN
		PERFORM FROM uidgen.worker_node AS t
			WHERE t.datacenter_id = n.datacenter_id AND t.worker_id = n.worker_id FOR UPDATE NOWAIT;
		RAISE SQLSTATE 'UIDFR';
	EXCEPTION
		WHEN SQLSTATE 'UIDFR' THEN
			RETURN false;
		WHEN lock_not_available THEN
			NULL;
	END;
	RETURN NOT by_other_role OR NOT EXISTS (
		SELECT FROM pg_locks AS k JOIN pg_stat_activity AS a ON a.pid = k.pid
		WHERE k.locktype = 'relation' AND k.relation = 'uidgen.worker_node'::regclass AND k.mode = 'RowExclusiveLock'
			AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
			AND k.pid <> pg_backend_pid() AND a.usename = session_user);
END
$$;
COMMENT ON FUNCTION uidgen.is_locked(uidgen.worker_node, xid, boolean) IS 'whether another transaction has locked a row, which has this xmax; with by_other_role, whether one of another role has';

CREATE FUNCTION uidgen.explain_lock(worker integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'worker id % is locked', worker
		USING ERRCODE = 'lock_not_available',
			DETAIL = 'A transaction of another role has changed or locked its row, and goes on.',
			HINT = 'If this lasts, see in the registry''s database who holds the lock: SELECT pid, usename, client_addr, state, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL.';
END
$$;
COMMENT ON FUNCTION uidgen.explain_lock(integer) IS 'raises the error that another role has locked a worker id';

-- What each call of a node for worker ids goes on with, after begin_call(); node_acquire() twice, if it has to queue.
CREATE FUNCTION uidgen.begin_node_call(
	queues boolean,					-- behind others that write to registry_layout, or look at all rows
	OUT l uidgen.registry_layout,
	OUT system_identifier bigint,
	OUT timeline integer,			-- as nodes are told
	OUT went_back boolean)			-- the database has another history than was written down
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	h record;
BEGIN
	IF queues THEN
		SELECT r.* INTO l FROM uidgen.registry_layout AS r FOR UPDATE;
	ELSE
		SELECT r.* INTO l FROM uidgen.registry_layout AS r;
	END IF;
	IF l.shared IS NOT TRUE THEN
		RAISE EXCEPTION 'this registry is not shared'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = CASE WHEN l.layout IS NULL THEN 'It has no layout yet.' ELSE 'It is the local registry of its server.' END,
				HINT = CASE WHEN l.layout IS NULL THEN 'Its owner can run SELECT uidgen.share_registry().'
					ELSE 'Point the setting "uidgen.registry" at a database whose registry is shared.' END;
	END IF;
	SELECT r.* INTO STRICT h FROM uidgen.registry_history() AS r;
	system_identifier := h.system_identifier;
	timeline := h.timeline + l.timeline_offset;
	went_back := (h.system_identifier, h.timeline, h.started, h.database)
		IS DISTINCT FROM (l.system_identifier, l.timeline, l.started, l.database);
END
$$;
COMMENT ON FUNCTION uidgen.begin_node_call(boolean) IS 'what each call of a node goes on with after begin_call(): perhaps a queue, and what the registry knows of itself';

-- Nodes ask it of all hosts at once, standbys too.  Stable, so that it cannot write.
CREATE FUNCTION uidgen.registry_identity(
	OUT registry_id bigint,			-- null: there is no shared registry
	OUT system_identifier bigint,
	OUT timeline integer,			-- as nodes are told
	OUT in_recovery boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen.registry_layout;
	h record;
BEGIN
	SELECT r.* INTO l FROM uidgen.registry_layout AS r;
	SELECT r.* INTO STRICT h FROM uidgen.registry_history() AS r;
	registry_id := CASE WHEN l.shared THEN l.registry_id END;
	system_identifier := h.system_identifier;
	timeline := h.timeline + coalesce(l.timeline_offset, 0);
	in_recovery := pg_is_in_recovery();
END
$$;
COMMENT ON FUNCTION uidgen.registry_identity()
	IS 'which shared registry this database has, if any: its number, which tells it from others, the cluster and its timeline, and whether this server is a standby';

-- Read last, so that the node can bound by how much its own clock is off.
CREATE FUNCTION uidgen.end_node_call(not_after bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	clock CONSTANT bigint := uidgen.microseconds(uidgen.registry_clock());
BEGIN
	IF clock > not_after THEN
		RAISE EXCEPTION 'the node waits for this call no longer'
			USING ERRCODE = 'query_canceled',
				DETAIL = format('The call came or was kept waiting %s ms beyond the time that the node gave it.', (clock - not_after) / 1000),
				HINT = 'If this is frequent, look for what keeps the registry busy, or raise the setting "uidgen.registry_timeout" of the node.';
	END IF;
	RETURN clock;
END
$$;
COMMENT ON FUNCTION uidgen.end_node_call(bigint) IS 'what each call of a node ends with: the registry''s clock, or an error if the node has given up the call';

-- The numbers count that the owner has pinned; a node with others would mean other ticks.
CREATE FUNCTION uidgen.check_node_layout(l uidgen.registry_layout, node uidgen.registry_layout) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF l.layout IS DISTINCT FROM node.layout THEN
		RAISE EXCEPTION 'the layout differs from the registry''s'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The registry has "%s", this server has "%s".', l.layout, left(node.layout, 256)),
				HINT = 'Set "uidgen.layout" to the registry''s layout and restart the server.';
	END IF;
	IF (l.unit, l.epoch, l.max_tick, l.max_datacenter, l.max_worker)
		IS DISTINCT FROM (node.unit, node.epoch, node.max_tick, node.max_datacenter, node.max_worker) THEN
		RAISE EXCEPTION 'the numbers of the layout differ from the registry''s'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('For "%s" the registry has unit %s, epoch %s, largest tick %s, datacenter id %s and worker id %s; this server has %s, %s, %s, %s and %s.',
					l.layout, l.unit, l.epoch, l.max_tick, l.max_datacenter, l.max_worker,
					node.unit, node.epoch, node.max_tick, node.max_datacenter, node.max_worker),
				HINT = 'If the owner of the registry gave wrong numbers to uidgen.share_registry(), begin a new registry.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_node_layout(uidgen.registry_layout, uidgen.registry_layout) IS 'raises an error if a node''s layout is another than the registry''s';

-- R2.  After a lost answer the row is the one that the node knows, or one that it acquired
-- under its identity; no index has tokens, since they change with each renewal.
--
-- Where the clock is ahead of the nodes' time, ends are old when they are granted.  So the
-- last change counts as well, as it does in is_free(): by the same comparison, clock_slack
-- earlier.
CREATE FUNCTION uidgen.find_claimed_worker(
	l uidgen.registry_layout,
	clock timestamptz,
	now_tick bigint,
	holder text,
	datacenter integer,
	wanted integer,
	known_tokens bigint[],
	claimed_worker integer,
	claimed_until bigint,
	OUT worker integer,
	OUT before uidgen.worker_node)	-- its row then, if there is one
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	ended_since CONSTANT bigint := now_tick - uidgen.ticks_in(l.max_lead, l.unit);
	changed_since CONSTANT timestamptz := clock - l.max_lead;
BEGIN
	SELECT n.* INTO before
		FROM (SELECT c.* FROM uidgen.worker_node AS c WHERE c.datacenter_id = datacenter AND c.worker_id = claimed_worker
			UNION ALL
			SELECT i.* FROM uidgen.worker_node AS i WHERE i.datacenter_id = datacenter AND i.identity = holder) AS n
		WHERE n.token = ANY (known_tokens)
			AND (n.granted_until >= ended_since OR n.modified >= changed_since)
			AND (wanted < 0 OR n.worker_id = wanted)
		ORDER BY n.granted_until DESC LIMIT 1;
	IF FOUND THEN
		worker := before.worker_id;
	ELSIF claimed_worker BETWEEN 0 AND l.max_worker AND (wanted < 0 OR claimed_worker = wanted) THEN
		SELECT n.* INTO before FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = claimed_worker;
		IF (NOT FOUND OR before.granted_until < claimed_until)
			AND (claimed_until >= ended_since OR before.modified >= changed_since AND NOT before.released) THEN
			worker := claimed_worker;
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.find_claimed_worker(uidgen.registry_layout, timestamptz, bigint, text, integer, integer, bigint[], integer, bigint)
	IS 'the worker id whose grant a node continues; null if there is none';

-- R3: how long the end and the last change of a row have to be over at this time of the
-- registry's clock; a tick longer for what rounding takes away.
CREATE FUNCTION uidgen.free_bounds(
	l uidgen.registry_layout,
	clock timestamptz,
	OUT ended_before bigint,
	OUT changed_before timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	ended_before := uidgen.tick_at(clock, l.unit, l.epoch) - (uidgen.ticks_in(l.max_lead, l.unit) + uidgen.ticks_in(l.clock_slack, l.unit) + 1);
	changed_before := clock - l.max_lead - l.clock_slack;
END
$$;
COMMENT ON FUNCTION uidgen.free_bounds(uidgen.registry_layout, timestamptz) IS 'the tick and the time before which the end and the last change of a row lie that any node may take';

-- R3; a released row whose end lies beyond reach would have to be waited for.  Without a
-- search path of its own, so that the planner can put the body in place of the call.
CREATE FUNCTION uidgen.is_free(n uidgen.worker_node, ended_before bigint, changed_before timestamptz, reach bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN n.released AND n.granted_until < reach
	OR n.granted_until < ended_before AND n.modified < changed_before;
COMMENT ON FUNCTION uidgen.is_free(uidgen.worker_node, bigint, timestamptz, bigint) IS 'whether any node may take the worker id of a row';

-- One never used, at random, so that copies of a registry seldom choose the same; else
-- the one that ended longest ago.  Of up to 256 worker ids all are looked at.  Of more,
-- 50 are drawn at random, and only if none of them is free, all are.  Nodes that look at all would
-- choose the same one at the same time, so they queue; but not for long behind somebody who
-- keeps the lock, since whoever comes second to a row asks again.  A row that is locked is not
-- free.
CREATE FUNCTION uidgen.find_free_worker(
	l uidgen.registry_layout,
	datacenter integer,
	policy text,
	ended_before bigint,
	changed_before timestamptz,
	reach bigint,
	chooses boolean,				-- not only to know how many there are
	OUT worker integer,
	OUT before uidgen.worker_node,	-- its row then, if there is one
	OUT free_workers bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	workers CONSTANT bigint := l.max_worker + 1::bigint;
	waits CONSTANT text := current_setting('lock_timeout');
	candidates integer[];
	found_one record;
BEGIN
	IF workers > 256 THEN
		candidates := ARRAY(SELECT DISTINCT floor(random() * workers)::integer FROM generate_series(1, 50));
	END IF;
	LOOP
		IF candidates IS NULL THEN
			IF chooses THEN
				BEGIN
					PERFORM set_config('lock_timeout', '200ms', true);
					PERFORM FROM uidgen.registry_layout AS r FOR UPDATE;
				EXCEPTION
					WHEN lock_not_available THEN
						NULL;
				END;
				PERFORM set_config('lock_timeout', waits, true);
			END IF;
			candidates := ARRAY(SELECT generate_series(0, l.max_worker));
		END IF;
		SELECT c.worker_id, used.n AS before, round(count(*) OVER () * workers::numeric / cardinality(candidates)) AS free_workers
			INTO found_one
			FROM unnest(candidates) AS c (worker_id)
				LEFT JOIN LATERAL (SELECT n, n.xmax AS row_xmax FROM uidgen.worker_node AS n
					WHERE n.datacenter_id = datacenter AND n.worker_id = c.worker_id LIMIT 1) AS used ON true
			WHERE used.n IS NULL OR policy = 'reuse' AND uidgen.is_free(used.n, ended_before, changed_before, reach)
				AND CASE WHEN used.row_xmax = '0'::xid THEN true ELSE NOT uidgen.is_locked(used.n, used.row_xmax, by_other_role => false) END
			ORDER BY used.n IS NULL DESC, CASE WHEN used.n IS NULL THEN random() END, (used.n).granted_until
			LIMIT 1;
		EXIT WHEN FOUND OR cardinality(candidates) = workers;
		candidates := NULL;
	END LOOP;
	worker := found_one.worker_id;
	before := found_one.before;
	free_workers := coalesce(found_one.free_workers, 0);
END
$$;
COMMENT ON FUNCTION uidgen.find_free_worker(uidgen.registry_layout, integer, text, bigint, timestamptz, bigint, boolean)
	IS 'a worker id that any node may take, and about how many there are';

-- The worker id whose grant a node continues, or one that suits it.  Own ones that are not
-- free come last: the node may have a copy that uses them.
CREATE FUNCTION uidgen.choose_for_node(
	l uidgen.registry_layout,
	clock timestamptz,
	now_tick bigint,
	holder text,
	datacenter integer,
	claim integer,
	wanted integer,
	policy text,
	reach bigint,
	OUT worker integer,
	OUT before uidgen.worker_node,	-- its row then, if there is one; not that of a claim
	OUT free_workers bigint,
	OUT reason text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	ended_before bigint;
	changed_before timestamptz;
	free record;
	next_tick bigint;
BEGIN
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen.free_bounds(l, clock) AS b;
	SELECT f.* INTO free FROM uidgen.find_free_worker(l, datacenter, policy, ended_before, changed_before, reach,
		chooses => claim IS NULL AND wanted < 0) AS f;
	free_workers := free.free_workers;
	IF claim IS NOT NULL THEN
		worker := claim;
		reason := 'This server goes on with it.';
		RETURN;
	END IF;
	IF wanted >= 0 THEN
		SELECT n.* INTO before FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = wanted;
		-- one whose end lies beyond reach is waited for
		IF FOUND AND before.identity IS DISTINCT FROM holder
			AND NOT uidgen.is_free(before, ended_before, changed_before, reach => l.max_tick) THEN
			RAISE EXCEPTION 'worker id % belongs to another node', wanted
				USING ERRCODE = 'object_in_use',
					-- Where others are is no node's business.
					DETAIL = CASE WHEN before.granted_until >= l.max_tick THEN 'It is kept for a server with a local registry.'
						ELSE 'The view uidgen.fleet of the registry shows who has it, and until when.' END,
					HINT = 'Set "uidgen.worker_id" to another worker id or to -1, and restart the server.';
		END IF;
		worker := wanted;
		reason := 'The setting "uidgen.worker_id" asks for it.';
		RETURN;
	END IF;

	IF policy = 'reuse' THEN
		SELECT n.* INTO before FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.identity = holder
				AND uidgen.is_free(n, ended_before, changed_before, reach)
				AND NOT uidgen.is_locked(n, n.xmax, by_other_role => true)
			ORDER BY n.granted_until DESC LIMIT 1;
		IF FOUND THEN
			worker := before.worker_id;
			reason := 'This server had it before.';
			RETURN;
		END IF;
	END IF;
	IF free.worker IS NOT NULL THEN
		worker := free.worker;
		before := free.before;
		reason := CASE WHEN before.worker_id IS NULL THEN 'It was never used before.' ELSE 'Its former holder gave it up.' END;
		RETURN;
	END IF;
	IF policy = 'reuse' THEN
		SELECT n.* INTO before FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.identity = holder
				AND NOT uidgen.is_locked(n, n.xmax, by_other_role => true)
			ORDER BY n.granted_until < now_tick DESC, n.granted_until LIMIT 1;
		IF FOUND THEN
			worker := before.worker_id;
			reason := 'This server had it not long ago, and no worker id is free.';
			RETURN;
		END IF;
	END IF;

	IF policy = 'reuse' THEN
		SELECT min(greatest(uidgen.tick_at(n.modified, l.unit, l.epoch), n.granted_until) + now_tick - ended_before + 1) INTO next_tick
			FROM uidgen.worker_node AS n WHERE n.datacenter_id = datacenter;
	END IF;
	RAISE EXCEPTION 'no worker id is free'
		USING ERRCODE = 'configuration_limit_exceeded',
			DETAIL = format('The layout has %s worker ids in datacenter %s, and all are in use%s.', l.max_worker + 1::bigint, datacenter,
				CASE WHEN policy = 'reuse' THEN format(' or were until a short time ago. The next one becomes free at %s', uidgen.tick_time(next_tick, l.unit, l.epoch))
					ELSE ' or were, and "uidgen.worker_policy" is "disposable", which uses none twice' END),
			HINT = CASE WHEN policy = 'reuse' THEN 'If there are too few for all nodes, begin a new registry with a layout that has more worker bits.'
				ELSE 'Set "uidgen.worker_policy" to "reuse", or begin a new registry with a layout that has more worker bits.' END;
END
$$;
COMMENT ON FUNCTION uidgen.choose_for_node(uidgen.registry_layout, timestamptz, bigint, text, integer, integer, integer, text, bigint)
	IS 'the worker id that suits a node best, and why; or an error that there is none';

-- Acquire a worker id and its first range of ticks, or go on with one after a call without
-- an answer.
--
-- A call that grants nothing may succeed all the same; worker is null then.  Where first_tick
-- is null, too, the node asks again at once.  Either the registry has written down that it
-- went back: an error would undo that, and each call would begin the quarantine anew.  Or
-- another call has changed the row that was chosen.  Where first_tick is given, the clamp (R4)
-- is in the way of a grant that would begin there.  The node gets the clock with it: one that
-- was set back may be the reason.
--
-- Nobody is stopped by what another role has locked and does not commit.  A claim on a row that
-- such a transaction has locked is passed over: the row gets nothing, and the node another
-- worker id.  One that the node's own role has locked is waited for: it may be the call before
-- this one.  Of a registry that went back a claim needs to write nothing, as a renewal
-- does not: the history goes on to tell all others.
--
-- Whoever locks registry_layout does so before a row of worker_node, otherwise two calls could
-- wait for each other.  An UPDATE that has waited for a row in vain keeps it locked, so its
-- call ends instead of choosing again, for which it might have to queue.
CREATE FUNCTION uidgen.node_acquire(
	holder text,					-- identity of the caller
	layout_text text,				-- its layout in canonical form; the next five are the numbers in it
	tick_unit bigint,				-- microseconds
	tick_epoch bigint,				-- microseconds since 1970 UTC
	max_tick bigint,
	max_datacenter integer,
	max_worker integer,
	datacenter integer,
	wanted integer,					-- exactly this worker id, or -1
	policy text,					-- 'reuse' or 'disposable'
	known_tokens bigint[],			-- those that the node's row may have
	claimed_worker integer,			-- the worker id that it had last, or -1
	claimed_until bigint,			-- and the end of that grant, or -1
	new_token bigint,				-- random
	floor_tick bigint,				-- begin no earlier
	window_ticks bigint,			-- length of the grant
	at_tick bigint,					-- the node's own time; largest bigint: it has none yet
	not_after bigint,				-- microseconds since 1970 UTC: the node waits no longer; largest bigint: not known
	host text,						-- for people: host, port and type of the caller
	host_port integer,
	host_type integer,
	OUT worker integer,				-- null: nothing is granted
	OUT first_tick bigint,			-- null: ask again
	OUT last_tick bigint,
	OUT seen_tick bigint,			-- tick of the clock when the row was last changed
	OUT never_used boolean,
	OUT free_workers bigint,		-- about how many worker ids any node could take before this call
	OUT reason text,				-- why this worker id, for the log
	OUT quarantine_until bigint,	-- the last tick in quarantine
	OUT max_lead bigint,			-- ticks: no grant reaches further ahead of the clock
	OUT registry_id bigint,
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT clock bigint)				-- microseconds since 1970 UTC
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	me CONSTANT text := left(holder, 256);
	node uidgen.registry_layout;
	call record;
	l uidgen.registry_layout;
	now_time timestamptz;
	now_tick bigint;
	latest bigint;					-- R4
	span bigint;
	enough bigint;					-- so long at least
	until bigint;
	claim record;
	choice record;
	unknown_end boolean;
	queues boolean := false;
	before uidgen.worker_node;		-- as the last holder left it, when it was chosen
BEGIN
	node.layout := layout_text;
	node.unit := tick_unit;
	node.epoch := tick_epoch;
	node.max_tick := max_tick;
	node.max_datacenter := max_datacenter;
	node.max_worker := max_worker;

	-- What is written down about the history is written by one call; the others look again.
	PERFORM uidgen.begin_call();
	LOOP
		SELECT b.* INTO STRICT call FROM uidgen.begin_node_call(queues => queues) AS b;
		l := call.l;
		PERFORM uidgen.check_node_layout(l, node);
		PERFORM uidgen.check_request(policy, datacenter, wanted, l.max_datacenter, l.max_worker);

		-- Read once, so that all that follows is of one moment.
		now_time := uidgen.registry_clock();
		now_tick := uidgen.tick_at(now_time, l.unit, l.epoch);
		PERFORM uidgen.check_epoch(now_tick, l.unit, l.epoch);
		max_lead := uidgen.ticks_in(l.max_lead, l.unit);
		latest := now_tick + max_lead;
		span := least(greatest(window_ticks, 0), max_lead / 2);
		-- A node that begins ahead of the clock need not wait until a whole window is within reach:
		-- the clock catches up while it draws, and its renewals get the rest.
		enough := span / 4;

		SELECT c.* INTO STRICT claim
			FROM uidgen.find_claimed_worker(l, now_time, now_tick, me, datacenter, wanted, known_tokens, claimed_worker, claimed_until) AS c;
		before := claim.before;
		-- R5.  An end that the quarantine covers is no news; one that not even a clock behind by
		-- clock_slack explains is not believed.
		unknown_end := claim.worker = claimed_worker AND claimed_until > greatest(before.granted_until, l.quarantine_until)
			AND claimed_until <= latest + uidgen.ticks_in(l.clock_slack, l.unit)
			AND NOT call.went_back;
		IF wanted < 0 AND (SELECT uidgen.is_locked(n, n.xmax, by_other_role => true) FROM uidgen.worker_node AS n
				WHERE n.datacenter_id = datacenter AND n.worker_id = claim.worker) THEN
			claim.worker := NULL;
		END IF;
		EXIT WHEN queues OR NOT coalesce(unknown_end, false) AND NOT (call.went_back AND claim.worker IS NULL);
		queues := true;
	END LOOP;
	IF call.went_back AND claim.worker IS NOT NULL THEN
		l.quarantine_until := coalesce(uidgen.begin_quarantine(), l.quarantine_until);
	END IF;
	IF unknown_end OR call.went_back AND claim.worker IS NULL THEN
		l.quarantine_until := uidgen.begin_quarantine();
		reason := 'The registry was restarted or went back, and has written that down. Ask again.';
	ELSIF claim.worker IS NULL AND l.quarantine_until >= latest - enough THEN
		-- whichever row it would be
		first_tick := greatest(floor_tick, l.quarantine_until + 1);
	ELSE
		SELECT c.* INTO STRICT choice
			FROM uidgen.choose_for_node(l, now_time, now_tick, me, datacenter, claim.worker, wanted, policy, reach => latest - enough) AS c;
		before := CASE WHEN claim.worker IS NULL THEN choice.before ELSE claim.before END;
		first_tick := greatest(0, least(now_tick, at_tick), floor_tick, before.granted_until + 1,
			CASE WHEN claim.worker IS NULL THEN l.quarantine_until + 1 ELSE least(claimed_until, l.max_tick) + 1 END);
		IF first_tick <= latest - enough THEN
			PERFORM uidgen.check_lifetime(first_tick, l.max_tick, l.unit, l.epoch);
			until := least(first_tick + span, latest, l.max_tick - 1);
			IF (SELECT uidgen.is_locked(n, n.xmax, by_other_role => true) FROM uidgen.worker_node AS n
					WHERE n.datacenter_id = datacenter AND n.worker_id = choice.worker) THEN
				PERFORM uidgen.explain_lock(choice.worker);
			END IF;

			-- Only if the row is as it was when it was chosen: its holder may renew meanwhile.
			IF before.worker_id IS NULL THEN
				INSERT INTO uidgen.worker_node AS n
					(datacenter_id, worker_id, host_name, port, type, launch_date, created, modified,
					 identity, token, granted_until, released, launches)
					VALUES (datacenter, choice.worker, left(host, 256), host_port, host_type, now_time::date, now_time, now_time,
							me, new_token, until, false, 1)
					ON CONFLICT (datacenter_id, worker_id) DO NOTHING;
			ELSE
				UPDATE uidgen.worker_node AS n SET
						host_name = left(host, 256),
						port = host_port,
						type = host_type,
						launch_date = now_time::date,
						modified = greatest(n.modified, now_time),
						identity = me,
						token = new_token,
						granted_until = until,
						released = false,
						launches = n.launches + 1
					WHERE n.datacenter_id = datacenter AND n.worker_id = choice.worker
						AND n.token IS NOT DISTINCT FROM before.token AND n.granted_until = before.granted_until;
			END IF;
			IF FOUND THEN
				worker := choice.worker;
				last_tick := until;
				seen_tick := coalesce(uidgen.tick_at(before.modified, l.unit, l.epoch), 0);
				never_used := before.worker_id IS NULL;
				free_workers := choice.free_workers;
				reason := choice.reason;
			ELSE
				PERFORM uidgen.check_written(current_setting('session_replication_role') <> 'replica');
				first_tick := NULL;
				reason := 'Another call has changed the row meanwhile. Ask again.';
			END IF;
		END IF;
	END IF;

	quarantine_until := l.quarantine_until;
	registry_id := l.registry_id;
	system_identifier := call.system_identifier;
	timeline := call.timeline;
	clock := uidgen.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen.node_acquire(text, text, bigint, bigint, bigint, integer, integer, integer, integer, text, bigint[], integer, bigint, bigint, bigint, bigint, bigint, bigint, text, integer, integer)
	IS 'acquires a worker id of a shared registry with a first range of ticks; for the keepers of nodes';

-- Extend a grant beyond both the node's time and the tick that is needed, but no further
-- than the clamp allows (R1, R4): last_tick may be below what is needed.  It is null if
-- another holder has taken the row.  One who has not committed has not taken it so far: then
-- the node is told at once, and goes on to its end before it leaves the row.
CREATE FUNCTION uidgen.node_renew(
	datacenter integer,
	worker integer,
	old_token bigint,
	old_until bigint,
	new_token bigint,
	needed bigint,
	window_ticks bigint,
	at_tick bigint,
	not_after bigint,
	OUT last_tick bigint,
	OUT quarantine_until bigint,
	OUT max_lead bigint,
	OUT registry_id bigint,
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen.registry_layout;
	now_time timestamptz;
	now_tick bigint;
	from_tick bigint;
	span bigint;
	valid boolean;
BEGIN
	PERFORM uidgen.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen.begin_node_call(queues => false) AS b;
	l := call.l;
	IF call.went_back THEN
		l.quarantine_until := coalesce(uidgen.begin_quarantine(), l.quarantine_until);
	END IF;
	now_time := uidgen.registry_clock();
	now_tick := uidgen.tick_at(now_time, l.unit, l.epoch);
	max_lead := uidgen.ticks_in(l.max_lead, l.unit);
	span := least(greatest(window_ticks, 0), max_lead / 2);
	from_tick := greatest(least(now_tick, at_tick), needed);
	PERFORM uidgen.check_lifetime(from_tick, l.max_tick, l.unit, l.epoch);
	UPDATE uidgen.worker_node AS n SET
			token = new_token,
			granted_until = greatest(n.granted_until, least(from_tick + span, now_tick + node_renew.max_lead, l.max_tick - 1)),
			modified = greatest(n.modified, now_time)
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = old_token AND n.granted_until = old_until
			AND (n.granted_until >= now_tick - node_renew.max_lead OR n.modified >= now_time - l.max_lead)
			-- looked at before the row is waited for
			AND CASE WHEN n.xmax = '0'::xid THEN true ELSE NOT uidgen.is_locked(n, n.xmax, by_other_role => true) END
		RETURNING n.granted_until INTO last_tick;
	PERFORM uidgen.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	IF last_tick IS NULL THEN
		-- If it is the caller's, also if that transaction has ended since then.
		SELECT true INTO valid FROM uidgen.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = node_renew.worker
				AND n.token = old_token AND n.granted_until = old_until
				AND (n.granted_until >= now_tick - node_renew.max_lead OR n.modified >= now_time - l.max_lead);
		IF valid THEN
			PERFORM uidgen.explain_lock(worker);
		END IF;
	END IF;
	quarantine_until := l.quarantine_until;
	registry_id := l.registry_id;
	system_identifier := call.system_identifier;
	timeline := call.timeline;
	clock := uidgen.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen.node_renew(integer, integer, bigint, bigint, bigint, bigint, bigint, bigint, bigint)
	IS 'extends a grant of a shared registry, for the keepers of nodes; last_tick is null if another node has taken the worker id';

-- Hand back the worker id.  What was granted stays granted, since a copy of the node's
-- memory may use it (R7).
CREATE FUNCTION uidgen.node_release(
	datacenter integer,
	worker integer,
	known_tokens bigint[],
	not_after bigint,
	OUT done boolean,
	OUT registry_id bigint,
	OUT timeline integer,
	OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
BEGIN
	PERFORM uidgen.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen.begin_node_call(queues => false) AS b;
	UPDATE uidgen.worker_node AS n SET
			token = NULL,
			released = true,
			modified = greatest(n.modified, uidgen.registry_clock())
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = ANY (known_tokens);
	done := FOUND;
	PERFORM uidgen.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	registry_id := (call.l).registry_id;
	timeline := call.timeline;
	clock := uidgen.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen.node_release(integer, integer, bigint[], bigint)
	IS 'hands back a worker id of a shared registry, for the keepers of nodes';

CREATE FUNCTION uidgen.check_named_workers(l uidgen.registry_layout, datacenter integer, workers integer[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	bad integer;
BEGIN
	PERFORM uidgen.check_request('reuse', datacenter, -1, l.max_datacenter, l.max_worker);
	SELECT w INTO bad FROM unnest(workers) AS w WHERE (w BETWEEN 0 AND l.max_worker) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'worker id % is out of range', bad
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The layout has room for worker ids from 0 to %s.', l.max_worker);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_named_workers(uidgen.registry_layout, integer, integer[]) IS 'raises an error if the layout has no room for a datacenter or one of these worker ids';

-- Raise the ends of worker ids, so that nobody is granted those ticks again: a server was
-- granted them by its local registry.  A free row becomes a released one, without a token:
-- its last node, long asleep, could else claim by it, since the new end is not old.  A row
-- whose end is high enough is not locked: a call that succeeds keeps locked what it has changed.
CREATE FUNCTION uidgen.raise_ends(
	l uidgen.registry_layout,
	datacenter integer,
	workers integer[],
	ends bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	now_time CONSTANT timestamptz := uidgen.registry_clock();
	ended_before bigint;
	changed_before timestamptz;
	held record;
BEGIN
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen.free_bounds(l, now_time) AS b;
	PERFORM uidgen.check_named_workers(l, datacenter, workers);
	IF cardinality(workers) <> cardinality(array_remove(ends, NULL)) THEN
		RAISE EXCEPTION 'each worker id needs an end'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('There are %s worker ids and %s ends.', cardinality(workers), cardinality(array_remove(ends, NULL)));
	END IF;

	INSERT INTO uidgen.worker_node AS n
		(datacenter_id, worker_id, launch_date, created, modified, granted_until, released, launches)
		SELECT datacenter, i.worker, now_time::date, now_time, now_time, max(i.until), true, 0
			FROM unnest(workers, ends) AS i (worker, until)
				LEFT JOIN uidgen.worker_node AS w ON w.datacenter_id = datacenter AND w.worker_id = i.worker
			WHERE w.worker_id IS NULL OR w.granted_until < i.until
			GROUP BY i.worker ORDER BY i.worker
		ON CONFLICT (datacenter_id, worker_id) DO UPDATE SET
				modified = greatest(n.modified, excluded.modified),
				token = NULL,
				granted_until = excluded.granted_until,
				released = true
			WHERE n.granted_until < excluded.granted_until
				AND uidgen.is_free(n, ended_before, changed_before, reach => l.max_tick);

	SELECT n.*, i.until INTO held
		FROM unnest(workers, ends) AS i (worker, until)
			LEFT JOIN uidgen.worker_node AS n ON n.datacenter_id = datacenter AND n.worker_id = i.worker
		WHERE (n.granted_until >= i.until) IS NOT TRUE
		ORDER BY i.worker, i.until DESC LIMIT 1;
	IF FOUND THEN
		PERFORM uidgen.check_written(held.worker_id IS NOT NULL AND current_setting('session_replication_role') <> 'replica');
		RAISE EXCEPTION 'worker id % belongs to another node', held.worker_id
			USING ERRCODE = 'object_in_use',
				-- Where others are is no node's business.
				DETAIL = format('The view uidgen.fleet of the registry shows who has it. The local registry of the calling server has granted it until %s: ids of both could be equal.',
								uidgen.tick_time(held.until, l.unit, l.epoch)),
				HINT = format('Wait: once the local registry grants nothing any more and the clock has passed %s, nothing needs to be brought along.', uidgen.tick_time(held.until + 1, l.unit, l.epoch));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.raise_ends(uidgen.registry_layout, integer, integer[], bigint[])
	IS 'raises the ends of worker ids that nobody holds, or raises an error if another node holds one of them';

-- What a server brings along that changes from its local registry to this one: the ends of
-- the grants of its rows there.  Who has chosen a row by its old end does not get it.  R4 is for
-- these ends as well: a registry that loses this call is in quarantine beyond them.
CREATE FUNCTION uidgen.node_import(
	datacenter integer,
	workers integer[],
	ends bigint[],					-- of the same worker ids
	not_after bigint,
	OUT done boolean,
	OUT registry_id bigint,
	OUT timeline integer,
	OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen.registry_layout;
	beyond record;
BEGIN
	PERFORM uidgen.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen.begin_node_call(queues => true) AS b;
	l := call.l;
	-- Keepers remember 64.
	IF cardinality(workers) > 128 THEN
		RAISE EXCEPTION 'a node cannot bring along the ends of % worker ids', cardinality(workers)
			USING ERRCODE = 'program_limit_exceeded',
				HINT = 'The registry''s owner can, with uidgen.import_worker().';
	END IF;
	SELECT i.* INTO beyond FROM unnest(workers, ends) AS i (worker, until)
		WHERE i.until > uidgen.tick_at(uidgen.registry_clock(), l.unit, l.epoch) + uidgen.ticks_in(l.max_lead, l.unit)
		ORDER BY i.until DESC LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a grant of the local registry reaches too far ahead of the clock'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('That of worker id %s ends at %s. A node can bring along ends up to %s ahead of the clock.',
								beyond.worker, uidgen.tick_time(beyond.until, l.unit, l.epoch), l.max_lead),
				-- Texts of times end with milliseconds; ticks may be shorter.
				HINT = format('Wait, or have the registry''s owner run SELECT uidgen.import_worker(%s, %s, %L).',
								datacenter, beyond.worker, uidgen.tick_time(least(beyond.until, l.max_tick) + 1 + 999 / l.unit, l.unit, l.epoch));
	END IF;
	PERFORM uidgen.raise_ends(l, datacenter, workers, ends);
	done := true;
	registry_id := l.registry_id;
	timeline := call.timeline;
	clock := uidgen.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen.node_import(integer, integer[], bigint[], bigint)
	IS 'raises the ends of worker ids to those of a local registry, for the keeper of a server that changes to this shared one';

CREATE FUNCTION uidgen.import_worker(datacenter integer, worker integer, granted_until timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen.registry_layout;
	until bigint;
BEGIN
	PERFORM uidgen.begin_call();
	SELECT (b.l).* INTO STRICT l FROM uidgen.begin_node_call(queues => true) AS b;
	IF isfinite(granted_until) THEN
		until := uidgen.tick_at(granted_until, l.unit, l.epoch);
	END IF;
	IF until BETWEEN 0 AND l.max_tick - 1 THEN
		PERFORM uidgen.raise_ends(l, datacenter, ARRAY[worker], ARRAY[until]);
	ELSE
		RAISE EXCEPTION 'the layout has no tick for %', granted_until
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It begins at %s, and the last tick that can be granted is that of %s.',
								uidgen.tick_time(0, l.unit, l.epoch), uidgen.tick_time(l.max_tick - 1, l.unit, l.epoch)),
				HINT = 'To keep a worker id for ever, use uidgen.keep_worker().';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.import_worker(integer, integer, timestamptz)
	IS 'lets grants of a worker id begin after this time: a server issues ids up to there by its local registry';

-- The last tick is never granted, so an end there belongs to no node and is never over.
CREATE FUNCTION uidgen.keep_worker(datacenter integer, worker integer) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen.registry_layout;
	now_time timestamptz;
	until bigint;
BEGIN
	PERFORM uidgen.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen.begin_node_call(queues => true) AS b;
	l := call.l;
	PERFORM uidgen.check_named_workers(l, datacenter, ARRAY[worker]);
	-- What was lost is not over because no node has asked since.
	IF call.went_back THEN
		l.quarantine_until := uidgen.begin_quarantine();
	END IF;
	now_time := uidgen.registry_clock();
	-- First a row, so that there is one to lock: a node may be about to take this worker id.
	INSERT INTO uidgen.worker_node AS n
		(datacenter_id, worker_id, launch_date, created, modified, granted_until, released, launches)
		VALUES (datacenter, worker, now_time::date, now_time, now_time, 0, true, 0)
		ON CONFLICT (datacenter_id, worker_id) DO NOTHING;
	SELECT n.granted_until INTO until FROM uidgen.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker FOR UPDATE;
	PERFORM uidgen.check_written(FOUND);
	UPDATE uidgen.worker_node AS n SET
			modified = greatest(n.modified, now_time),
			identity = NULL,
			token = NULL,
			granted_until = l.max_tick,
			released = false
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker;
	PERFORM uidgen.check_written(FOUND);
	IF until >= l.max_tick THEN
		RETURN NULL;
	END IF;
	-- As far as grants can reach that the registry knows of, or has lost.
	RETURN timestamptz '1970-01-01 00:00 UTC'
		+ ((greatest(until, l.quarantine_until) + 1::numeric) * l.unit + l.epoch)::double precision * interval '1 microsecond';
END
$$;
COMMENT ON FUNCTION uidgen.keep_worker(integer, integer)
	IS 'grants a worker id to no node any more: for a server with a local registry, which may issue ids of it from the time on that is returned; null if it was kept before';

-- Make the registry a shared one.  It is decided before the first grant and for good, since
-- a keeper of one mode would not keep the other's rules.
CREATE FUNCTION uidgen.share_registry(
	layout_text text DEFAULT NULL,
	unit bigint DEFAULT NULL,
	epoch bigint DEFAULT NULL,
	max_tick bigint DEFAULT NULL,
	max_datacenter integer DEFAULT NULL,
	max_worker integer DEFAULT NULL,
	max_lead interval DEFAULT '2 minutes',
	clock_slack interval DEFAULT '10 seconds') RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	numbers CONSTANT integer := num_nonnulls(unit, epoch, max_tick, max_datacenter, max_worker);
	now_time timestamptz;
BEGIN
	IF numbers = 0 AND to_regprocedure('uidgen.layout_numbers(text)') IS NOT NULL THEN
		EXECUTE 'SELECT n.* FROM uidgen.layout_numbers($1) AS n' USING layout_text
			INTO STRICT layout_text, unit, epoch, max_tick, max_datacenter, max_worker;
	ELSIF numbers < 5 OR layout_text IS NULL THEN
		RAISE EXCEPTION 'the numbers of the layout are missing'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A server without the library of uidgen needs the layout and all of its numbers; one with it can do without the numbers.',
				HINT = 'SELECT * FROM uidgen.layout_numbers() on one of the nodes gives all that is needed.';
	END IF;
	IF unit < 1 OR max_tick NOT BETWEEN 1 AND 4611686018427387904 OR max_datacenter < 0 OR max_worker < 0 OR epoch IS NULL THEN
		RAISE EXCEPTION 'the numbers of the layout make no sense'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('They are: unit %s, epoch %s, largest tick %s, datacenter id %s and worker id %s.', unit, epoch, max_tick, max_datacenter, max_worker),
				HINT = 'SELECT * FROM uidgen.layout_numbers() on one of the nodes gives all that is needed.';
	END IF;

	LOCK TABLE uidgen.registry_layout IN ROW EXCLUSIVE MODE;	-- the order of locks
	-- No grant may come in between.
	LOCK TABLE uidgen.worker_node IN SHARE ROW EXCLUSIVE MODE;
	IF EXISTS (SELECT FROM uidgen.registry_layout) OR EXISTS (SELECT FROM uidgen.worker_node) THEN
		RAISE EXCEPTION 'the registry is in use'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = CASE WHEN EXISTS (SELECT FROM uidgen.registry_layout AS r WHERE r.shared) THEN 'It is shared already.'
					ELSE 'It is the local registry of its server, and stays that.' END,
				HINT = 'Begin a new registry in another database.';
	END IF;
	now_time := uidgen.registry_clock();
	PERFORM uidgen.check_epoch(uidgen.tick_at(now_time, unit, epoch), unit, epoch);
	INSERT INTO uidgen.registry_layout AS r
		(only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database,
		 shared, registry_id, max_lead, clock_slack, system_identifier, timeline, started, quarantine_until)
		SELECT true, layout_text, unit, epoch, max_tick, max_datacenter, max_worker, now_time, h.database,
			true, uidgen.new_token(), max_lead, clock_slack, h.system_identifier, h.timeline, h.started, -1
		FROM uidgen.registry_history() AS h;
	PERFORM uidgen.check_written(FOUND);
	-- Made again, it knows nothing of the grants of its predecessor.
	PERFORM uidgen.begin_quarantine();
END
$$;
COMMENT ON FUNCTION uidgen.share_registry(text, bigint, bigint, bigint, integer, integer, interval, interval)
	IS 'makes this registry a shared one, for good, with the layout of all its nodes: this server''s, one that is named, or on a server without the library the numbers that uidgen.layout_numbers() gives elsewhere';

-- What the owner locks may be locked by a node's transaction that does not end.  Its session is ended: that
-- of the oldest transaction that uses the table, and does not wait itself.  (A row's xmax may be that of a
-- subtransaction, which is in no list of locks.)  Whoever has the owner's rights is waited for.
CREATE FUNCTION uidgen.end_holder(held regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	holder record;
BEGIN
	SELECT k.pid, a.usename, pg_has_role(a.usename, c.relowner, 'MEMBER') AS is_owner,
			(SELECT string_agg(quote_literal(x.gid), ', ') FROM pg_prepared_xacts AS x WHERE x.database = current_database()) AS prepared
		INTO holder
		FROM pg_locks AS k JOIN pg_class AS c ON c.oid = k.relation LEFT JOIN pg_stat_activity AS a ON a.pid = k.pid
		WHERE k.locktype = 'relation' AND k.relation = held AND k.mode IN ('RowShareLock', 'RowExclusiveLock')
			AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
			AND k.pid IS DISTINCT FROM pg_backend_pid()
			AND NOT EXISTS (SELECT FROM pg_locks AS w WHERE w.pid = k.pid AND NOT w.granted)
		ORDER BY a.xact_start LIMIT 1;
	IF NOT FOUND THEN
		RETURN;
	ELSIF holder.pid IS NULL THEN
		RAISE EXCEPTION 'a prepared transaction keeps % locked', held
			USING ERRCODE = 'lock_not_available',
				HINT = format('Look at pg_prepared_xacts, and end it with COMMIT PREPARED or ROLLBACK PREPARED. This database has: %s.', holder.prepared);
	ELSIF holder.is_owner THEN
		RAISE NOTICE 'waiting for a transaction of role "%", with the process id %', holder.usename, holder.pid;
		RETURN;
	END IF;
	BEGIN
		PERFORM pg_terminate_backend(holder.pid, 1000);
		RAISE NOTICE 'ended the session of a node that kept the registry locked'
			USING DETAIL = format('It was one of role "%s", with the process id %s.', holder.usename, holder.pid);
	EXCEPTION
		WHEN insufficient_privilege THEN
			RAISE EXCEPTION 'a transaction of role "%" keeps the registry locked', holder.usename
				USING ERRCODE = 'lock_not_available',
					HINT = format('Let somebody who may do so run SELECT pg_terminate_backend(%s).', holder.pid);
	END;
END
$$;
COMMENT ON FUNCTION uidgen.end_holder(regclass) IS 'ends the session of a node that keeps a table''s rows locked, or says who else does';

-- Lock registry_layout, or where a name is given the row of a segment, for its owner.
CREATE FUNCTION uidgen.lock_for_owner(segment text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	waits CONSTANT text := current_setting('lock_timeout');
BEGIN
	FOR i IN 1 .. 20 LOOP
		BEGIN
			PERFORM set_config('lock_timeout', CASE WHEN i < 20 THEN '200ms' ELSE waits END, true);
			IF segment IS NULL THEN
				PERFORM FROM uidgen.registry_layout AS r FOR UPDATE;
			ELSE
				PERFORM FROM uidgen.segment AS s WHERE s.name = segment FOR UPDATE;
			END IF;
			PERFORM set_config('lock_timeout', waits, true);
			RETURN;
		EXCEPTION
			WHEN lock_not_available THEN
				IF i = 20 THEN
					RAISE;
				END IF;
		END;
		PERFORM uidgen.end_holder(CASE WHEN segment IS NULL THEN 'uidgen.registry_layout'::regclass ELSE 'uidgen.segment'::regclass END);
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.lock_for_owner(text) IS 'locks registry_layout, or the row of a segment, for its owner, and ends the sessions of nodes that keep it locked';

CREATE FUNCTION uidgen.end_quarantine() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	PERFORM uidgen.lock_for_owner();
	-- The history too: a restart that no node has noticed so far is the one that is meant.
	-- Nodes whose time is behind do not begin before this moment.
	UPDATE uidgen.registry_layout AS r SET
			system_identifier = h.system_identifier,
			timeline = h.timeline,
			started = h.started,
			database = h.database,
			quarantine_until = least(r.quarantine_until, uidgen.tick_at(uidgen.registry_clock(), r.unit, r.epoch))
		FROM uidgen.registry_history() AS h
		WHERE r.shared;
	IF NOT FOUND THEN
		PERFORM uidgen.check_written(NOT EXISTS (SELECT FROM uidgen.registry_layout AS r WHERE r.shared));
		RAISE EXCEPTION 'this registry is not shared'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Only a shared registry has a quarantine.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.end_quarantine()
	IS 'lets nodes begin at once: only if no grant can be lost, because the fleet is new or the registry was restarted as planned';

-- A node uses no answer of an earlier timeline than it has seen.  A backup that was made before some
-- failovers, or the former primary, has such a one.  This is the owner's word that it is the
-- registry all the same: nodes are told a timeline above all that any server can have told them,
-- also if the same backup is restored twice, and it begins with a quarantine.  Numbers of segments
-- that it has lost nobody knows but the servers that have them, so each segment is stopped.
CREATE FUNCTION uidgen.take_over_registry() RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	now_time timestamptz;
	told integer;
	segments bigint;
BEGIN
	PERFORM uidgen.lock_for_owner();
	PERFORM uidgen.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen.begin_node_call(queues => true) AS b;
	now_time := uidgen.registry_clock();
	-- A server has fewer failovers than there are seconds.
	told := greatest(call.timeline + 1, extract(epoch FROM now_time - timestamptz '2026-01-01 00:00:00+00')::integer);
	UPDATE uidgen.registry_layout AS r SET timeline_offset = told - h.timeline FROM uidgen.registry_history() AS h;
	PERFORM uidgen.check_written(FOUND);
	PERFORM uidgen.begin_quarantine();
	SELECT count(*) INTO segments FROM uidgen.segment AS t WHERE t.stopped IS NULL;
	UPDATE uidgen.segment AS t SET
			version = uidgen.new_token(),
			run_start = NULL,
			modified = greatest(t.modified, now_time),
			stopped = format('The registry was taken over, and may lack numbers above %s that were given out.', t.last_value),
			stopped_since = now_time
		WHERE t.stopped IS NULL;
	PERFORM uidgen.check_written(FOUND OR segments = 0);
	RETURN told;
END
$$;
COMMENT ON FUNCTION uidgen.take_over_registry()
	IS 'lets the registry on this server be the one that counts from here on, as after a restored backup: nodes take it as later than what they have seen, and its segments are stopped until raise_segment(); returns the timeline that nodes are told';

CREATE FUNCTION uidgen.grant_node(node regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', uidgen.node_functions(), node);
END
$$;
COMMENT ON FUNCTION uidgen.grant_node(regrole) IS 'lets a role be a node of the fleet: it may make the calls of a keeper, and nothing else';

CREATE FUNCTION uidgen.revoke_node(node regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %s', uidgen.node_functions(), node);
END
$$;
COMMENT ON FUNCTION uidgen.revoke_node(regrole) IS 'takes back what grant_node() gave; what the node holds it keeps until it ends';

CREATE FUNCTION uidgen.node_functions() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(p.oid::regprocedure::text, ', ')
	FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE n.nspname = 'uidgen'
		AND p.proname IN ('node_acquire', 'node_renew', 'node_release', 'node_import', 'segment_fetch', 'segment_release', 'registry_identity')
$$;
COMMENT ON FUNCTION uidgen.node_functions() IS 'the functions that a node calls, as GRANT names them';

CREATE VIEW uidgen.fleet AS
SELECT n.datacenter_id, n.worker_id, n.host_name, n.port, n.identity,
	CASE WHEN n.released THEN 'released'
		WHEN n.granted_until >= l.max_tick THEN 'kept'
		WHEN t.until <= uidgen.registry_clock() THEN 'ended'
		ELSE 'running' END AS state,
	n.launch_date AS since, n.modified AS last_call, t.until
FROM uidgen.registry_layout AS l, uidgen.worker_node AS n,
	LATERAL (SELECT to_timestamp((least((n.granted_until::numeric + 1::numeric) * l.unit::numeric + l.epoch::numeric, 9200000000000000000::numeric) / 1000000::numeric)::double precision)) AS t (until);
COMMENT ON VIEW uidgen.fleet IS 'the holders of worker ids: who and where, since when and until when, and whether the grant is running, ended, released or kept from all nodes';
-- [since 0.2.0]
GRANT SELECT ON uidgen.fleet TO pg_monitor;

-- Nodes call those of node_functions(), by grant_node(); the owner share_registry() and so on.
-- [since 0.2.0]
REVOKE EXECUTE ON FUNCTION
	uidgen.ticks_in(interval, bigint),
	uidgen.microseconds(timestamptz),
	uidgen.begin_quarantine(),
	uidgen.begin_call(),
	uidgen.begin_node_call(boolean),
	uidgen.end_node_call(bigint),
	uidgen.check_node_layout(uidgen.registry_layout, uidgen.registry_layout),
	uidgen.find_claimed_worker(uidgen.registry_layout, timestamptz, bigint, text, integer, integer, bigint[], integer, bigint),
	uidgen.free_bounds(uidgen.registry_layout, timestamptz),
	uidgen.is_free(uidgen.worker_node, bigint, timestamptz, bigint),
	uidgen.find_free_worker(uidgen.registry_layout, integer, text, bigint, timestamptz, bigint, boolean),
	uidgen.choose_for_node(uidgen.registry_layout, timestamptz, bigint, text, integer, integer, integer, text, bigint),
	uidgen.node_acquire(text, text, bigint, bigint, bigint, integer, integer, integer, integer, text, bigint[], integer, bigint, bigint, bigint, bigint, bigint, bigint, text, integer, integer),
	uidgen.node_renew(integer, integer, bigint, bigint, bigint, bigint, bigint, bigint, bigint),
	uidgen.node_release(integer, integer, bigint[], bigint),
	uidgen.check_named_workers(uidgen.registry_layout, integer, integer[]),
	uidgen.raise_ends(uidgen.registry_layout, integer, integer[], bigint[]),
	uidgen.node_import(integer, integer[], bigint[], bigint),
	uidgen.import_worker(integer, integer, timestamptz),
	uidgen.keep_worker(integer, integer),
	uidgen.share_registry(text, bigint, bigint, bigint, integer, integer, interval, interval),
	uidgen.end_quarantine(),
	uidgen.grant_node(regrole),
	uidgen.revoke_node(regrole),
	uidgen.node_functions()
	FROM PUBLIC;
-- [since 0.2.2]
REVOKE EXECUTE ON FUNCTION
	uidgen.is_locked(uidgen.worker_node, xid, boolean),
	uidgen.explain_lock(integer),
	uidgen.end_holder(regclass),
	uidgen.lock_for_owner(text),
	uidgen.registry_identity(),
	uidgen.take_over_registry()
	FROM PUBLIC;
-- Who is a node already may call it as well.
-- [since 0.2.2]
DO $$
DECLARE
	g record;
BEGIN
	FOR g IN
		SELECT DISTINCT a.grantee, a.is_grantable FROM pg_proc AS p, aclexplode(p.proacl) AS a
			WHERE p.pronamespace = 'uidgen'::regnamespace AND p.proname = 'node_acquire' AND a.grantee NOT IN (0::oid, p.proowner)
	LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION uidgen.registry_identity() TO %s%s',
			g.grantee::regrole, CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
	END LOOP;
END
$$;
-- The views call these as whoever looks at them.
-- [since 0.2.0]
GRANT EXECUTE ON FUNCTION
	uidgen.registry_clock(),
	uidgen.ticks_in(interval, bigint),
	uidgen.tick_at(timestamptz, bigint, bigint),
	uidgen.free_bounds(uidgen.registry_layout, timestamptz),
	uidgen.is_free(uidgen.worker_node, bigint, timestamptz, bigint)
	TO pg_monitor;

--
-- Segments: named counters, of which keepers fetch ranges.
--
-- They are the same in a local and in a shared registry, also in one that has granted
-- nothing so far.  A range is what one UPDATE has moved, so ranges never overlap, whatever
-- the steps are.  It never ends, either: so unlike a grant, a range that the registry has
-- lost does not become safe by waiting.  Four rules (design.md, section 6):
--
--	S1	Where the history of the registry is another than the row's, or a node knows of
--		numbers above last_value, numbers were lost: last_value is raised by failover_gap,
--		once, before anything is given out.
--	S2	A node's word that numbers were lost is believed up to failover_gap above last_value.
--	S3	A release lowers last_value only if nothing has happened since the node's last
--		fetch: version is what it was told then, and the history is the row's.
--	S4	A release goes back no further than the ranges of its own node.
--	S5	Each history of the registry, and each start of a shared one's server, is a reign with a
--		random number; the row keeps the last 32 with where each ended and the next one began, and a
--		node says which of them the row had when it was told its highest number.  What the row cannot explain stops
--		the segment: nobody gets numbers until the owner raises it.  That is written down, so the
--		answer is a row and no error.
--	S6	Where the owner has chosen that (segments_confirmed), the first call in another history
--		gives nothing and writes the history down, and numbers are given out once a standby has
--		replayed that.  So whoever takes over next knows of it.
--
-- [since 0.2.0]
CREATE TABLE uidgen.segment (
	name text COLLATE "C" PRIMARY KEY,	-- an index that no change of the system's locales can break
	last_value bigint NOT NULL,
	step bigint NOT NULL DEFAULT 1000,
	min_step bigint NOT NULL,
	max_step bigint NOT NULL,
	max_value bigint NOT NULL DEFAULT 9223372036854775807,
	failover_gap bigint NOT NULL,
	version bigint NOT NULL,
	incarnation bigint NOT NULL,
	run_start bigint,
	system_identifier bigint NOT NULL,
	timeline integer NOT NULL,
	database oid NOT NULL,
	dropped boolean NOT NULL DEFAULT false,
	description text,
	created timestamptz NOT NULL,
	modified timestamptz NOT NULL,
	CONSTRAINT steps_are_in_order CHECK (1 <= min_step AND min_step <= step AND step <= max_step AND max_step <= 1000000000),
	CONSTRAINT last_value_is_in_range CHECK (-1 <= last_value AND last_value <= max_value),
	CONSTRAINT failover_gap_is_not_negative CHECK (failover_gap >= 0)
) WITH (fillfactor = 20);	-- room for the fetches' row versions (HOT)

-- [since 0.2.2]
ALTER TABLE uidgen.segment
	ADD COLUMN IF NOT EXISTS reigns bigint[] NOT NULL DEFAULT ARRAY[uidgen.new_token() & 9223372036854775806::bigint],
	ADD COLUMN IF NOT EXISTS reign_ends bigint[] NOT NULL DEFAULT '{}',
	ADD COLUMN IF NOT EXISTS reign_begins bigint[] NOT NULL DEFAULT '{}',
	ADD COLUMN IF NOT EXISTS reign_floor bigint NOT NULL DEFAULT -1,
	ADD COLUMN IF NOT EXISTS started timestamptz,
	ADD COLUMN IF NOT EXISTS stopped text,
	ADD COLUMN IF NOT EXISTS stopped_since timestamptz,
	ADD COLUMN IF NOT EXISTS evidence bigint,
	ADD COLUMN IF NOT EXISTS unconfirmed pg_lsn,
	ADD COLUMN IF NOT EXISTS rate double precision NOT NULL DEFAULT 0;

COMMENT ON TABLE uidgen.segment IS 'named counters, of which servers fetch ranges: never dumped, never replicated; the owner may change the steps, max_value, failover_gap and description';
COMMENT ON COLUMN uidgen.segment.name IS 'up to 63 bytes of UTF-8';
COMMENT ON COLUMN uidgen.segment.last_value IS 'the last number that was given out to a server; not the next one, which the largest bigint does not have';
COMMENT ON COLUMN uidgen.segment.step IS 'how many numbers a server fetches at first; later as many as last for a while';
COMMENT ON COLUMN uidgen.segment.min_step IS 'the least that is fetched at a time';
COMMENT ON COLUMN uidgen.segment.max_step IS 'the most that is fetched at a time';
COMMENT ON COLUMN uidgen.segment.max_value IS 'the last number that can be given out';
COMMENT ON COLUMN uidgen.segment.failover_gap IS 'how many numbers are left out once when the registry has failed over or was restored, so that none comes twice: at least as many as it can have lost; 0: it loses nothing, as it has a synchronous standby';
COMMENT ON COLUMN uidgen.segment.version IS 'a random number, another one with each change of last_value';
COMMENT ON COLUMN uidgen.segment.incarnation IS 'a random number, another one when the numbers begin anew: servers then throw away what they have fetched';
COMMENT ON COLUMN uidgen.segment.run_start IS 'the first number of what was fetched last by one server, with no other between: it may hand that back; null: nothing';
COMMENT ON COLUMN uidgen.segment.system_identifier IS 'the cluster that the registry was in when a range was last fetched';
COMMENT ON COLUMN uidgen.segment.timeline IS 'the timeline that it was on then';
COMMENT ON COLUMN uidgen.segment.database IS 'the OID of its database then';
COMMENT ON COLUMN uidgen.segment.dropped IS 'whether it was dropped: the row stays, so that a segment that is created again goes on above its numbers';
COMMENT ON COLUMN uidgen.segment.description IS 'for people';
COMMENT ON COLUMN uidgen.segment.created IS 'when the segment was created, or began anew';
COMMENT ON COLUMN uidgen.segment.modified IS 'when last_value was last changed, or the segment created or dropped; does not go back when the clock is set back';
COMMENT ON COLUMN uidgen.segment.reigns IS 'random numbers of the last 32 reigns, the present one last: one for each history of the registry, each start of a shared one''s server, and each raise_segment(); even where numbers were left out by itself';
COMMENT ON COLUMN uidgen.segment.reign_ends IS 'of each former reign: the last number that was given out up to its end';
COMMENT ON COLUMN uidgen.segment.reign_begins IS 'of each former reign: the number after which the next one began; what lies between was left out';
COMMENT ON COLUMN uidgen.segment.reign_floor IS 'up to here it does not matter in which reign a number was given out: the owner has raised the segment above it, or it was too long ago';
COMMENT ON COLUMN uidgen.segment.started IS 'when the registry''s server had started then; of a local registry, when the segment was created';
COMMENT ON COLUMN uidgen.segment.stopped IS 'why nobody is given numbers until the owner calls raise_segment(): some may have been given out twice; null: it is not stopped';
COMMENT ON COLUMN uidgen.segment.stopped_since IS 'when it was stopped';
COMMENT ON COLUMN uidgen.segment.evidence IS 'the highest number that a server was given, as far as servers have told since it was stopped';
COMMENT ON COLUMN uidgen.segment.rate IS 'numbers a second that all servers together were given when last_value was last changed, as a mean over about a minute';
COMMENT ON COLUMN uidgen.segment.unconfirmed IS 'with segments_confirmed, after a failover: numbers are given out once a standby has replayed the log up to here; 0/0: that is not known yet; null: they are given out';

-- [since 0.2.0]
GRANT SELECT ON uidgen.segment TO pg_monitor;

-- [since 0.2.0]
CREATE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.segment
	FOR EACH ROW EXECUTE FUNCTION uidgen.drop_replicated_row();
-- [since 0.2.0]
ALTER TABLE uidgen.segment ENABLE REPLICA TRIGGER drop_replicated_row;
COMMENT ON TRIGGER drop_replicated_row ON uidgen.segment IS 'drops rows that logical replication brings';

-- [since 0.2.0]
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.segment
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.refuse_truncate();
COMMENT ON TRIGGER refuse_truncate ON uidgen.segment IS 'refuses TRUNCATE of the registry';

-- Who sets last_value by hand gives numbers out again, or has a release set it back.
CREATE FUNCTION uidgen.refuse_last_value() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'the numbers of a segment cannot be set by hand'
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'Servers hold ranges of them, and numbers could come twice.',
			HINT = 'uidgen.raise_segment() leaves numbers out, and lets a segment go on that is stopped. To begin anew, use uidgen.drop_segment(), and then uidgen.create_segment() with restart := true.';
END
$$;
COMMENT ON FUNCTION uidgen.refuse_last_value() IS 'trigger: refuses to set the numbers of a segment by hand';
-- [since 0.2.0]
REVOKE EXECUTE ON FUNCTION uidgen.refuse_last_value() FROM PUBLIC;

-- [since 0.2.0]
CREATE TRIGGER refuse_last_value BEFORE UPDATE ON uidgen.segment
	FOR EACH ROW WHEN (new.version = old.version
		AND (new.name, new.last_value, new.incarnation, new.run_start, new.system_identifier, new.timeline, new.database)
			IS DISTINCT FROM (old.name, old.last_value, old.incarnation, old.run_start, old.system_identifier, old.timeline, old.database))
	EXECUTE FUNCTION uidgen.refuse_last_value();
COMMENT ON TRIGGER refuse_last_value ON uidgen.segment IS 'refuses to set the numbers of a segment by hand';

-- As text, since pg_catalog has no operator for just these arrays.
-- [since 0.2.2]
CREATE OR REPLACE TRIGGER refuse_reigns BEFORE UPDATE ON uidgen.segment
	FOR EACH ROW WHEN (new.version = old.version
		AND (new.reigns::text, new.reign_ends::text, new.reign_begins::text, new.reign_floor, new.started, new.stopped, new.stopped_since, new.evidence, new.unconfirmed)
			IS DISTINCT FROM (old.reigns::text, old.reign_ends::text, old.reign_begins::text, old.reign_floor, old.started, old.stopped, old.stopped_since, old.evidence, old.unconfirmed))
	EXECUTE FUNCTION uidgen.refuse_last_value();
COMMENT ON TRIGGER refuse_reigns ON uidgen.segment IS 'refuses to set by hand what servers'' numbers are compared with, or to let a segment go on that is stopped';

-- After a failover the gap is left out by the next fetch.  A smaller one might not cover what
-- was lost under the larger one.
CREATE FUNCTION uidgen.refuse_smaller_gap() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM uidgen.registry_history() AS h
			WHERE (h.system_identifier, h.timeline, h.database) IS DISTINCT FROM (new.system_identifier, new.timeline, new.database)) THEN
		RAISE EXCEPTION 'the failover_gap of segment "%" cannot be lowered now', new.name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The registry has failed over or was restored, and the next fetch leaves the gap out.',
				HINT = 'Lower it when a server has fetched numbers of the segment.';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION uidgen.refuse_smaller_gap() IS 'trigger: refuses to lower failover_gap while it is still to be left out';
-- [since 0.2.0]
REVOKE EXECUTE ON FUNCTION uidgen.refuse_smaller_gap() FROM PUBLIC;

-- [since 0.2.0]
CREATE TRIGGER refuse_smaller_gap BEFORE UPDATE ON uidgen.segment
	FOR EACH ROW WHEN (new.version = old.version AND new.failover_gap < old.failover_gap)
	EXECUTE FUNCTION uidgen.refuse_smaller_gap();
COMMENT ON TRIGGER refuse_smaller_gap ON uidgen.segment IS 'refuses to lower failover_gap while it is still to be left out';

-- The row when another reign has begun, whose numbers lie above `base`.  Nothing is written.  The
-- number of a reign is positive, and odd if it goes on where the one before ended, or where the
-- owner said: then what is given in it is covered by the gap like that of the one before.
CREATE FUNCTION uidgen.begin_reign(s uidgen.segment, base bigint, goes_on boolean) RETURNS uidgen.segment
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	s.reign_ends := s.reign_ends || s.last_value;
	s.reign_begins := s.reign_begins || base;
	s.reigns := s.reigns || (uidgen.new_token() & 9223372036854775806 | goes_on::integer);
	s.last_value := base;
	-- What was told in a reign that is forgotten lies below where the next one began.
	IF cardinality(s.reigns) > 32 THEN
		s.reign_floor := greatest(s.reign_floor, s.reign_begins[1]);
		s.reigns := s.reigns[2:];
		s.reign_ends := s.reign_ends[2:];
		s.reign_begins := s.reign_begins[2:];
	END IF;
	RETURN s;
END
$$;
COMMENT ON FUNCTION uidgen.begin_reign(uidgen.segment, bigint, boolean) IS 'the row of a segment as it is when another reign has begun above a number';

-- S2, S5.  A node was told of numbers up to `highest`, by a row that had this course: its reigns, and
-- between each two the number up to which the first one had given; none: it does not say which.  The last reign
-- that this row has, too, is where the two parted.  A server's start or the owner's word may have
-- been lost with what was given since; another history is not.  Is that as the row has it ('known'), were numbers lost of which those that can be
-- lost are still to be left out ('lost'), or were more lost ('too many'), some of which others were
-- given since ('given')?  Or has the registry gone on elsewhere, under a reign that this row never
-- had ('unknown')?
CREATE FUNCTION uidgen.judge_evidence(s uidgen.segment, known_course bigint[], highest bigint, jumped boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	present CONSTANT integer := cardinality(s.reigns);
	which integer := present;
	parted integer;					-- in the course
	-- What others were given since lies above this, if anything is.
	bound bigint := s.last_value;
	others boolean := false;
BEGIN
	IF highest <= s.reign_floor OR highest <= s.last_value AND known_course[cardinality(known_course)] = s.reigns[present] THEN
		RETURN 'known';
	END IF;
	IF cardinality(known_course) > 0 THEN
		SELECT max(k.place) INTO parted
			FROM unnest(known_course) WITH ORDINALITY AS k (reign, place)
			WHERE k.place % 2 = 1 AND k.reign = ANY (s.reigns);
		IF parted IS NULL OR EXISTS (SELECT FROM unnest(known_course) WITH ORDINALITY AS k (reign, place)
				WHERE k.place % 2 = 1 AND k.place > parted AND k.reign & 1 = 0) THEN
			RETURN 'unknown';
		END IF;
		which := array_position(s.reigns, known_course[parted]);
		-- Has this row given more in the reign in which they parted?
		IF known_course[parted + 1] < (s.reign_ends || s.last_value)[which] THEN
			RETURN CASE WHEN highest <= known_course[parted + 1] THEN 'known' ELSE 'given' END;
		END IF;
	END IF;
	FOR later IN which + 1 .. present LOOP
		IF (s.reign_ends || s.last_value)[later] > s.reign_begins[later - 1] THEN
			bound := s.reign_begins[later - 1];
			others := true;
			EXIT;
		END IF;
	END LOOP;
	IF highest <= bound THEN
		RETURN 'known';
	ELSIF others THEN
		RETURN 'given';
	-- In numeric, since a sum may have no bigint.
	ELSIF jumped OR highest > (s.reign_ends || s.last_value)[which] + s.failover_gap::numeric THEN
		RETURN 'too many';
	END IF;
	RETURN 'lost';
END
$$;
COMMENT ON FUNCTION uidgen.judge_evidence(uidgen.segment, bigint[], bigint, boolean)
	IS 'whether the row of a segment explains the highest number that a server was told, by a row of which course: known, lost, too many, given or unknown';

-- How long failover_gap covers what all servers together are given, at a time; null where there is no gap, or
-- almost nothing was given in the last minutes.
CREATE FUNCTION uidgen.gap_lasts(s uidgen.segment, clock timestamptz) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN s.failover_gap > 0 AND r.rate > 0.001 THEN make_interval(secs => least(s.failover_gap / r.rate, 1000000000)) END
		FROM (SELECT s.rate * exp(-least(greatest(extract(epoch FROM clock - s.modified), 0), 1200) / 60)) AS r (rate)
$$;
COMMENT ON FUNCTION uidgen.gap_lasts(uidgen.segment, timestamptz) IS 'how long failover_gap covers what all servers together are given, at the present rate';

CREATE FUNCTION uidgen.create_segment(
	name text,
	start bigint DEFAULT 1,
	step bigint DEFAULT 1000,
	max_value bigint DEFAULT 9223372036854775807,
	description text DEFAULT NULL,
	restart boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	largest_step CONSTANT bigint := least(step::numeric * 100, 1000000000);
	now_time CONSTANT timestamptz := uidgen.registry_clock();
	h record;
	s uidgen.segment;
BEGIN
	IF num_nulls(name, start, step, max_value, restart) > 0 THEN
		RAISE EXCEPTION 'only the description of a segment can be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF name = '' OR name COLLATE "C" ~ '[\x01-\x1f\x7f]' THEN
		RAISE EXCEPTION 'this cannot be the name of a segment'
			USING ERRCODE = 'invalid_name',
				DETAIL = 'It is empty or has a control character.';
	END IF;
	IF octet_length(convert_to(name, 'UTF8')) > 63 THEN
		RAISE EXCEPTION 'the name of the segment is too long'
			USING ERRCODE = 'name_too_long',
				DETAIL = format('It has %s bytes in UTF-8; the limit is 63.', octet_length(convert_to(name, 'UTF8')));
	END IF;
	IF step NOT BETWEEN 1 AND 1000000000 THEN
		RAISE EXCEPTION 'the step of a segment cannot be %', step
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'It can be from 1 to 1000000000.';
	END IF;
	IF start < 0 OR start > max_value THEN
		RAISE EXCEPTION 'a segment cannot begin at %', start
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Its numbers can be from 0 to its largest one, which is %s.', max_value);
	END IF;

	IF current_setting('uidgen.database', true) <> current_database() AND NOT EXISTS (SELECT FROM uidgen.registry_layout AS l WHERE l.shared) THEN
		RAISE WARNING 'no server draws numbers of the segments in this database'
			USING DETAIL = format('The registry of this server is in database "%s", or on another server.', current_setting('uidgen.database')),
				HINT = 'Create the segment there.';
	END IF;

	SELECT r.* INTO STRICT h FROM uidgen.registry_history() AS r;
	INSERT INTO uidgen.segment AS t
		(name, last_value, step, min_step, max_step, max_value, failover_gap, version, incarnation,
		 system_identifier, timeline, database, description, created, modified, reign_floor, started)
		VALUES (create_segment.name, start - 1, create_segment.step, create_segment.step, largest_step, create_segment.max_value, 20 * largest_step,
				uidgen.new_token(), uidgen.new_token(), h.system_identifier, h.timeline, h.database,
				create_segment.description, now_time, now_time, start - 1, h.started)
		ON CONFLICT ON CONSTRAINT segment_pkey DO NOTHING;
	IF FOUND THEN
		RETURN;
	END IF;

	SELECT t.* INTO s FROM uidgen.segment AS t WHERE t.name = create_segment.name FOR UPDATE;
	PERFORM uidgen.check_written(FOUND);
	IF NOT s.dropped THEN
		RAISE EXCEPTION 'there is a segment "%" already', name
			USING ERRCODE = 'duplicate_object',
				HINT = 'To let its numbers begin anew, drop it first, and create it with restart := true.';
	END IF;
	IF restart THEN
		-- Servers may still hold numbers of before, until they ask the next time.
		s.last_value := start - 1;
		s.incarnation := uidgen.new_token();
		s.created := now_time;
		s.system_identifier := h.system_identifier;
		s.timeline := h.timeline;
		s.database := h.database;
		s.reigns := ARRAY[uidgen.new_token() & 9223372036854775806];
		s.reign_ends := '{}';
		s.reign_begins := '{}';
		s.reign_floor := start - 1;
		s.started := h.started;
		s.stopped := NULL;
		s.stopped_since := NULL;
		s.evidence := NULL;
		s.unconfirmed := NULL;
	ELSIF s.last_value > max_value THEN
		RAISE EXCEPTION 'the largest number of the segment cannot be %', max_value
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Before it was dropped, it gave out numbers up to %s.', s.last_value),
				HINT = 'To let its numbers begin anew, use restart := true. Servers may hold numbers of before until they ask the next time.';
	ELSE
		-- The history stays, and failover_gap becomes no smaller: if the history is another one
		-- by now, the next fetch finds that.  One that was stopped stays so.
		s := uidgen.begin_reign(s, greatest(s.last_value, start - 1), goes_on => true);
	END IF;
	UPDATE uidgen.segment AS t SET
			last_value = s.last_value,
			step = create_segment.step,
			min_step = create_segment.step,
			max_step = largest_step,
			max_value = create_segment.max_value,
			failover_gap = CASE WHEN restart THEN 20 * largest_step ELSE greatest(t.failover_gap, 20 * largest_step) END,
			version = uidgen.new_token(),
			incarnation = s.incarnation,
			run_start = NULL,
			system_identifier = s.system_identifier,
			timeline = s.timeline,
			database = s.database,
			dropped = false,
			description = create_segment.description,
			created = s.created,
			modified = greatest(t.modified, now_time),
			reigns = s.reigns,
			reign_ends = s.reign_ends,
			reign_begins = s.reign_begins,
			reign_floor = s.reign_floor,
			started = s.started,
			stopped = s.stopped,
			stopped_since = s.stopped_since,
			evidence = s.evidence,
			unconfirmed = s.unconfirmed
		WHERE t.name = create_segment.name;
	PERFORM uidgen.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen.create_segment(text, bigint, bigint, bigint, text, boolean)
	IS 'creates a segment; one that was dropped goes on above its numbers, or with restart := true begins anew, while servers may still hold numbers of before until they ask the next time';

CREATE FUNCTION uidgen.explain_no_segment(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'there is no segment "%"', name
		USING ERRCODE = 'undefined_object',
			HINT = 'The table uidgen.segment lists them; uidgen.create_segment() creates one.';
END
$$;
COMMENT ON FUNCTION uidgen.explain_no_segment(text) IS 'raises the error that there is no such segment';

-- The row stays: other servers may hold numbers of it.
CREATE FUNCTION uidgen.drop_segment(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	UPDATE uidgen.segment AS t SET
			dropped = true,
			modified = greatest(t.modified, uidgen.registry_clock())
		WHERE t.name = drop_segment.name AND NOT t.dropped;
	IF NOT FOUND THEN
		PERFORM uidgen.check_written(NOT EXISTS (SELECT FROM uidgen.segment AS t WHERE t.name = drop_segment.name AND NOT t.dropped));
		PERFORM uidgen.explain_no_segment(name);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.drop_segment(text)
	IS 'gives out no numbers of a segment any more; servers go on with what they have fetched until they ask the next time';

CREATE FUNCTION uidgen.raise_segment(name text, beyond bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s uidgen.segment;
BEGIN
	PERFORM uidgen.lock_for_owner(name);
	SELECT t.* INTO s FROM uidgen.segment AS t WHERE t.name = raise_segment.name AND NOT t.dropped FOR UPDATE;
	IF NOT FOUND THEN
		PERFORM uidgen.explain_no_segment(name);
	END IF;
	IF (beyond <= s.max_value) IS NOT TRUE THEN
		RAISE EXCEPTION 'the numbers of the segment cannot go on beyond %', beyond
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Its largest number is %s.', s.max_value),
				HINT = 'The owner of the registry can raise max_value in the table uidgen.segment.';
	END IF;
	s := uidgen.begin_reign(s, greatest(s.last_value, beyond), goes_on => true);
	-- Where it is stopped, the owner has looked at what was lost, so no gap is left out besides.
	IF s.stopped IS NOT NULL THEN
		SELECT h.system_identifier, h.timeline, h.database, h.started
			INTO STRICT s.system_identifier, s.timeline, s.database, s.started FROM uidgen.registry_history() AS h;
	END IF;
	UPDATE uidgen.segment AS t SET
			last_value = s.last_value,
			version = uidgen.new_token(),
			run_start = NULL,
			modified = greatest(t.modified, uidgen.registry_clock()),
			reigns = s.reigns,
			reign_ends = s.reign_ends,
			reign_begins = s.reign_begins,
			-- what servers were told up to here is explained by the owner's word
			reign_floor = greatest(s.reign_floor, beyond),
			system_identifier = s.system_identifier,
			timeline = s.timeline,
			database = s.database,
			started = s.started,
			stopped = NULL,
			stopped_since = NULL,
			evidence = NULL,
			unconfirmed = NULL
		WHERE t.name = raise_segment.name;
	PERFORM uidgen.check_written(FOUND);
	RETURN s.last_value;
END
$$;
COMMENT ON FUNCTION uidgen.raise_segment(text, bigint)
	IS 'lets what servers fetch from now on lie above a number, as after an import, or where the segment is stopped: beyond all that any server was given; what they have fetched they still give out; returns the number that is gone beyond';

-- What both calls of a keeper begin with.  Only this row is locked, so segments wait neither
-- for each other nor for worker ids.
--
-- Messages do not have the name in them, since the caller knows it in an encoding of its own.
CREATE FUNCTION uidgen.begin_segment_call(
	name bytea,
	OUT s uidgen.segment,			-- null: there is none
	OUT registry_id bigint,			-- null: the registry is local
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT told_timeline integer,		-- as nodes are told
	OUT database oid,
	OUT started timestamptz,
	OUT went_back boolean,			-- the registry has another history than the row
	OUT restarted boolean,			-- it is shared, and its server has started since
	OUT confirmed boolean)			-- S6
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	h record;
	l uidgen.registry_layout;
	wanted text;
BEGIN
	PERFORM uidgen.begin_call();
	-- Meanwhile the caller's other segments and its worker id wait.
	PERFORM set_config('lock_timeout', '100ms', true);
	BEGIN
		wanted := convert_from(begin_segment_call.name, 'UTF8');
	EXCEPTION
		WHEN untranslatable_character THEN
			-- No segment of this database can have such a name.
			wanted := NULL;
		WHEN character_not_in_repertoire THEN
			RAISE EXCEPTION 'the name of the segment is not in UTF-8'
				USING ERRCODE = 'character_not_in_repertoire';
	END;
	SELECT r.* INTO l FROM uidgen.registry_layout AS r;
	SELECT t.* INTO s FROM uidgen.segment AS t WHERE t.name = wanted FOR UPDATE;
	-- A local registry is called by the keeper that all ids of its server come from.  It is
	-- not to wait for a standby that may be gone, where failover_gap covers what that lacks.
	IF l.shared IS NOT TRUE AND s.failover_gap > 0 THEN
		PERFORM set_config('synchronous_commit', 'local', true);
	END IF;
	SELECT r.* INTO STRICT h FROM uidgen.registry_history() AS r;
	registry_id := l.registry_id;
	system_identifier := h.system_identifier;
	timeline := h.timeline;
	told_timeline := h.timeline + coalesce(l.timeline_offset, 0);
	database := h.database;
	started := h.started;
	confirmed := l.segments_confirmed IS TRUE;
	restarted := l.shared IS TRUE AND h.started IS DISTINCT FROM s.started;
	went_back := (h.system_identifier, h.timeline, h.database) IS DISTINCT FROM (s.system_identifier, s.timeline, s.database);
END
$$;
COMMENT ON FUNCTION uidgen.begin_segment_call(bytea)
	IS 'what each call of a keeper for a segment begins with: settings, its row, and what the registry knows of itself';

-- The next range of a segment: of the wanted length, as far as the steps and the largest
-- number allow.  Where the segment is stopped, nothing but the reason.
CREATE FUNCTION uidgen.segment_fetch(
	name bytea,						-- in UTF-8, so that databases of any encoding can call
	wanted_step bigint,				-- 0: the segment's step
	known_incarnation bigint,		-- what the node was told last; 0: nothing
	known_version bigint,
	known_course bigint[],
	highest bigint,					-- the highest number of this incarnation that it was ever told, less what it has handed back; -1: none
	not_after bigint,				-- microseconds since 1970 UTC: the node waits no longer; largest bigint: not known
	OUT first_value bigint,			-- null: nothing is given out
	OUT last_value bigint,
	OUT incarnation bigint,
	OUT version bigint,
	OUT course bigint[],			-- the reigns, and between each two the number up to which the first one had given
	OUT step bigint,
	OUT min_step bigint,
	OUT max_step bigint,
	OUT max_value bigint,
	OUT refusal text,				-- why nothing is given out, in the parts of an error
	OUT refusal_detail text,
	OUT refusal_hint text,
	OUT refusal_passes boolean,		-- without that anybody does anything
	OUT gap_lasts bigint,			-- microseconds; null: not known, or there is no gap
	OUT registry_id bigint,			-- null: the registry is local
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT clock bigint)				-- microseconds since 1970 UTC
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	s uidgen.segment;				-- as it is to be
	before uidgen.segment;			-- as it was
	log record;
	verdict text := 'known';
	now_time timestamptz;
BEGIN
	SELECT b.* INTO STRICT call FROM uidgen.begin_segment_call(name) AS b;
	s := call.s;
	before := call.s;
	IF s.name IS NULL THEN
		RAISE EXCEPTION 'there is no such segment'
			USING ERRCODE = 'no_data_found',
				HINT = format('The owner of the registry can create it with uidgen.create_segment(), in database "%s".', current_database());
	ELSIF s.dropped THEN
		RAISE EXCEPTION 'the segment was dropped'
			USING ERRCODE = 'no_data_found',
				HINT = format('The owner of the registry can create it again with uidgen.create_segment(), in database "%s".', current_database());
	END IF;

	-- S1.  Other servers may have been given more than this one.
	IF call.went_back THEN
		s := uidgen.begin_reign(s, least(s.last_value + s.failover_gap::numeric, s.max_value)::bigint, goes_on => false);
	ELSIF call.restarted THEN
		s := uidgen.begin_reign(s, s.last_value, goes_on => true);
	END IF;
	-- S2, S5.
	IF known_incarnation = s.incarnation THEN
		verdict := uidgen.judge_evidence(s, known_course, highest, jumped => call.went_back);
	END IF;
	-- A gap that max_value cuts off may not cover it.
	IF (verdict = 'lost' OR call.went_back) AND before.last_value < s.max_value AND before.last_value + s.failover_gap::numeric > s.max_value THEN
		verdict := CASE verdict WHEN 'known' THEN 'no room' WHEN 'lost' THEN 'too many' ELSE verdict END;
	END IF;
	IF verdict = 'lost' THEN
		s := uidgen.begin_reign(s, least(s.last_value + s.failover_gap::numeric, s.max_value)::bigint, goes_on => false);
	END IF;

	incarnation := s.incarnation;
	step := s.step;
	min_step := s.min_step;
	max_step := s.max_step;
	max_value := s.max_value;
	registry_id := call.registry_id;
	system_identifier := call.system_identifier;
	timeline := call.told_timeline;
	IF verdict NOT IN ('known', 'lost') OR s.stopped IS NOT NULL THEN
		-- History and reigns stay as they were, for when the owner has raised it.
		s := before;
		IF s.stopped IS NULL THEN
			s.stopped := CASE verdict
				WHEN 'unknown' THEN format('The registry knows of numbers up to %s, and a server was given numbers up to %s in a course of history that it knows nothing of: it has failed over more than once, was restored, or is a copy.', s.last_value, highest)
				WHEN 'given' THEN format('A server was given numbers up to %s before the registry failed over, was restored or copied, and others may have been given some of these since.', highest)
				WHEN 'no room' THEN format('The registry has failed over or was restored, knows of numbers up to %s, and cannot leave out failover_gap, which is %s: max_value is %s.', s.last_value, s.failover_gap, s.max_value)
				ELSE format('The registry knows of numbers up to %s, a server was given numbers up to %s, and failover_gap is %s.', s.last_value, highest, s.failover_gap) END
				|| CASE WHEN verdict = 'no room' OR call.registry_id IS NULL THEN '' ELSE format(' The role of that server is "%s".', session_user) END;
			s.stopped_since := uidgen.registry_clock();
		END IF;
		IF known_incarnation = s.incarnation THEN
			-- No number was given out beyond max_value, whatever a node says.
			s.evidence := greatest(s.evidence, least(highest, s.max_value), s.last_value);
		END IF;
		IF (s.stopped, s.evidence) IS DISTINCT FROM (before.stopped, before.evidence) THEN
			UPDATE uidgen.segment AS t SET
					version = uidgen.new_token(),
					run_start = NULL,
					modified = greatest(t.modified, uidgen.registry_clock()),
					stopped = s.stopped,
					stopped_since = s.stopped_since,
					evidence = s.evidence
				WHERE t.name = s.name;
			PERFORM uidgen.check_written(FOUND);
		END IF;
		refusal_passes := false;
		refusal := 'the registry has stopped it, as numbers may have been given out twice';
		refusal_detail := s.stopped || format(' Servers have told of numbers up to %s so far.', greatest(s.evidence, s.last_value));
		refusal_hint := format('The owner of the registry can let the numbers go on above all that any server was given, with uidgen.raise_segment(), in database "%s".', current_database());
		clock := uidgen.end_node_call(not_after);
		RETURN;
	END IF;
	IF s.last_value >= s.max_value THEN
		RAISE EXCEPTION 'the numbers of the segment are used up'
			USING ERRCODE = 'sequence_generator_limit_exceeded',
				DETAIL = format('The last number given out is %s, the largest one is %s.', before.last_value, s.max_value),
				HINT = 'The owner of the registry can raise max_value in the table uidgen.segment, or create another segment.';
	END IF;

	-- S6.  By the second call, the position is beyond the first one's commit.
	IF NOT call.confirmed THEN
		s.unconfirmed := NULL;
	ELSIF call.went_back THEN
		s.unconfirmed := '0/0';
	END IF;
	IF s.unconfirmed IS NOT NULL THEN
		SELECT r.* INTO STRICT log FROM uidgen.registry_log() AS r;
		IF s.unconfirmed = '0/0' AND NOT call.went_back THEN
			s.unconfirmed := log.written;
		ELSIF s.unconfirmed <> '0/0' AND log.replayed >= s.unconfirmed THEN
			s.unconfirmed := NULL;
		END IF;
	END IF;
	IF s.unconfirmed IS NOT NULL THEN
		IF s.unconfirmed IS DISTINCT FROM before.unconfirmed OR call.went_back OR verdict = 'lost' THEN
			UPDATE uidgen.segment AS t SET
					last_value = s.last_value,
					version = uidgen.new_token(),
					run_start = NULL,
					system_identifier = call.system_identifier,
					timeline = call.timeline,
					database = call.database,
					started = call.started,
					modified = greatest(t.modified, uidgen.registry_clock()),
					reigns = s.reigns,
					reign_ends = s.reign_ends,
					reign_begins = s.reign_begins,
					reign_floor = s.reign_floor,
					unconfirmed = s.unconfirmed
				WHERE t.name = s.name;
			PERFORM uidgen.check_written(FOUND);
		END IF;
		refusal_passes := true;
		refusal := 'no standby of the registry has replayed its failover so far';
		refusal_detail := CASE WHEN s.unconfirmed = '0/0' THEN 'The failover was written down by this call.'
			WHEN NOT pg_has_role('pg_read_all_stats', 'USAGE') THEN format('Role "%s" cannot see what standbys have replayed: it has no longer the privileges of pg_monitor.', current_user)
			ELSE format('A standby has to replay the log up to %s, and %s.', s.unconfirmed, coalesce('the furthest one is at ' || log.replayed, 'none is connected')) END;
		refusal_hint := format('Start a standby of the registry. Without one, its owner can let the numbers go on with uidgen.raise_segment(), in database "%s".', current_database());
		clock := uidgen.end_node_call(not_after);
		RETURN;
	END IF;

	first_value := s.last_value + 1;
	last_value := least(s.last_value + CASE wanted_step WHEN 0 THEN s.step ELSE greatest(least(wanted_step, s.max_step), s.min_step) END::numeric, s.max_value);
	version := uidgen.new_token();
	now_time := greatest(s.modified, uidgen.registry_clock());
	s.rate := s.rate * exp(-least(extract(epoch FROM now_time - s.modified), 600) / 60) + (segment_fetch.last_value - s.last_value)::double precision / 60;
	s.modified := now_time;
	gap_lasts := extract(epoch FROM uidgen.gap_lasts(s, now_time)) * 1000000;
	course := (SELECT array_agg(c.n ORDER BY c.place, c.half) FROM (
			SELECT r.place, 1, r.reign FROM unnest(s.reigns) WITH ORDINALITY AS r (reign, place)
			UNION ALL SELECT e.place, 2, e.number FROM unnest(s.reign_ends) WITH ORDINALITY AS e (number, place)) AS c (place, half, n));
	UPDATE uidgen.segment AS t SET
			last_value = segment_fetch.last_value,
			version = segment_fetch.version,
			run_start = CASE WHEN s.last_value = before.last_value AND known_version = s.version AND s.run_start IS NOT NULL THEN s.run_start ELSE first_value END,
			system_identifier = call.system_identifier,
			timeline = call.timeline,
			database = call.database,
			started = call.started,
			modified = s.modified,
			rate = s.rate,
			reigns = s.reigns,
			reign_ends = s.reign_ends,
			reign_begins = s.reign_begins,
			reign_floor = s.reign_floor,
			unconfirmed = NULL
		WHERE t.name = s.name;
	PERFORM uidgen.check_written(FOUND);
	clock := uidgen.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint[], bigint, bigint)
	IS 'gives out the next range of a segment, for keepers';

-- What keepers of version 0.2.0 and 0.2.1 call.  They say nothing of reigns.  Where nothing is given out
-- and that had to be written down, they get an answer that makes no sense to them: an error would
-- undo it.  From then on they get the error.
CREATE FUNCTION uidgen.segment_fetch(
	name bytea,
	wanted_step bigint,
	known_incarnation bigint,
	known_version bigint,
	highest bigint,
	not_after bigint,
	OUT first_value bigint,
	OUT last_value bigint,
	OUT incarnation bigint,
	OUT version bigint,
	OUT step bigint,
	OUT min_step bigint,
	OUT max_step bigint,
	OUT max_value bigint,
	OUT registry_id bigint,
	OUT system_identifier bigint,
	OUT timeline integer,
	OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	answer record;
BEGIN
	SELECT f.* INTO STRICT answer
		FROM uidgen.segment_fetch(name, wanted_step, known_incarnation, known_version, '{}'::bigint[], highest, not_after) AS f;
	IF answer.refusal IS NOT NULL AND NOT EXISTS (SELECT FROM uidgen.segment AS t WHERE t.xmin = pg_current_xact_id()::xid) THEN
		RAISE EXCEPTION '%', answer.refusal
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = answer.refusal_detail,
				HINT = answer.refusal_hint;
	END IF;
	first_value := answer.first_value;
	last_value := answer.last_value;
	incarnation := answer.incarnation;
	version := answer.version;
	step := answer.step;
	min_step := answer.min_step;
	max_step := answer.max_step;
	max_value := answer.max_value;
	registry_id := answer.registry_id;
	system_identifier := answer.system_identifier;
	timeline := answer.timeline;
	clock := answer.clock;
END
$$;
COMMENT ON FUNCTION uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint, bigint)
	IS 'gives out the next range of a segment, for keepers of servers with version 0.2.0 or 0.2.1';

-- Hand back what was not used of the last ranges (S3, S4).  A keeper never tries again:
-- if the answer is lost, so are the numbers.
CREATE FUNCTION uidgen.segment_release(
	name bytea,
	known_version bigint,			-- what the last fetch returned
	first_unused bigint,			-- from here to the end of that range
	not_after bigint,
	OUT done boolean,
	OUT registry_id bigint,
	OUT timeline integer,
	OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
BEGIN
	SELECT b.* INTO STRICT call FROM uidgen.begin_segment_call(name) AS b;
	UPDATE uidgen.segment AS t SET
			last_value = first_unused - 1,
			version = uidgen.new_token(),
			run_start = NULL,
			modified = greatest(t.modified, uidgen.registry_clock())
		WHERE t.name = (call.s).name AND t.version = known_version AND NOT call.went_back
			AND first_unused BETWEEN t.run_start AND t.last_value;
	done := FOUND;
	PERFORM uidgen.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	registry_id := call.registry_id;
	timeline := call.told_timeline;
	clock := uidgen.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen.segment_release(bytea, bigint, bigint, bigint)
	IS 'takes back the unused rest of what a server fetched last, if nobody has fetched since; for keepers';

-- LIMIT tells the planner that there is one layout: it would plan for hundreds.
CREATE VIEW uidgen.registry_status AS
SELECT coalesce(d.datacenter_id, 0) AS datacenter_id,
	coalesce(d.running, 0) AS running,
	l.max_worker + 1::bigint - coalesce(d.taken, 0) AS free_worker_ids,
	CASE WHEN l.quarantine_until >= l.now_tick THEN to_timestamp(((l.quarantine_until::numeric + 1::numeric) * l.unit::numeric + l.epoch::numeric)::double precision / 1000000::double precision) END AS quarantine_until,
	pg_stat_get_dead_tuples('uidgen.worker_node'::regclass::oid) AS dead_rows,
	g.stopped_segments,
	g.gap_lasts
FROM (SELECT r.max_tick, r.max_worker, r.unit, r.epoch, r.quarantine_until,
			b.ended_before, b.changed_before,
			t.now_tick,
			t.now_tick + uidgen.ticks_in(r.max_lead, r.unit) AS reach
		FROM uidgen.registry_layout AS r
			CROSS JOIN uidgen.registry_clock() AS c (clock)
			CROSS JOIN LATERAL uidgen.free_bounds(r, c.clock) AS b
			CROSS JOIN LATERAL uidgen.tick_at(c.clock, r.unit, r.epoch) AS t (now_tick)
		WHERE r.shared
		LIMIT 1) AS l
	LEFT JOIN LATERAL (
		SELECT n.datacenter_id,
			count(*) FILTER (WHERE NOT n.released AND n.granted_until >= l.now_tick AND n.granted_until < l.max_tick) AS running,
			count(*) FILTER (WHERE NOT uidgen.is_free(n, l.ended_before, l.changed_before, l.reach)) AS taken
		FROM uidgen.worker_node AS n GROUP BY n.datacenter_id) AS d ON true
	CROSS JOIN (
		SELECT count(*) FILTER (WHERE s.stopped IS NOT NULL), min(uidgen.gap_lasts(s, uidgen.registry_clock()))
		FROM uidgen.segment AS s WHERE NOT s.dropped) AS g (stopped_segments, gap_lasts);
COMMENT ON VIEW uidgen.registry_status IS 'a shared registry, one row for each datacenter that was granted worker ids, or one of datacenter 0: how many nodes hold a grant, how many worker ids are free, until when it is in quarantine, what VACUUM has to remove from uidgen.worker_node; and of all segments, how many are stopped, and how long the failover_gap of that one lasts where it is shortest';
-- [since 0.2.0]
GRANT SELECT ON uidgen.registry_status TO pg_monitor;

-- [since 0.2.0]
REVOKE EXECUTE ON FUNCTION
	uidgen.create_segment(text, bigint, bigint, bigint, text, boolean),
	uidgen.explain_no_segment(text),
	uidgen.drop_segment(text),
	uidgen.raise_segment(text, bigint),
	uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint, bigint),
	uidgen.segment_release(bytea, bigint, bigint, bigint)
	FROM PUBLIC;
-- [since 0.2.2]
REVOKE EXECUTE ON FUNCTION
	uidgen.gap_lasts(uidgen.segment, timestamptz),
	uidgen.begin_segment_call(bytea),
	uidgen.begin_reign(uidgen.segment, bigint, boolean),
	uidgen.judge_evidence(uidgen.segment, bigint[], bigint, boolean),
	uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint[], bigint, bigint)
	FROM PUBLIC;
-- The view calls it as whoever looks at it.
-- [since 0.2.2]
GRANT EXECUTE ON FUNCTION uidgen.gap_lasts(uidgen.segment, timestamptz) TO pg_monitor;
-- Who may call the one may call the other: roles that grant_node() was called for before an update.
-- [since 0.2.2]
DO $$
DECLARE
	g record;
BEGIN
	FOR g IN
		SELECT a.grantee, a.is_grantable
			FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
			WHERE p.oid = 'uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint, bigint)'::regprocedure
				AND a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
	LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint[], bigint, bigint) TO %s%s',
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' END);
	END LOOP;
END
$$;
-- [end of registry]
--
-- Ids
--

-- COPY FROM calls the twins in place of uid_next(): see src/functions/copy.c, also for their
-- cost.  Nobody else can, since SQL has no value of the type internal.
CREATE FUNCTION uidgen.uid_next_in_copy(internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_next_in_copy(internal) IS 'uid_next(), as COPY FROM calls it';

CREATE FUNCTION uidgen.uid_next_in_copy(tag integer, internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_tagged'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_next_in_copy(integer, internal) IS 'uid_next(tag), as COPY FROM calls it';

CREATE FUNCTION uidgen.uid_next_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'uidgen_next_support'
LANGUAGE C STRICT;
COMMENT ON FUNCTION uidgen.uid_next_support(internal) IS 'planner support function of uid_next()';

CREATE FUNCTION @extschema@.uid_next() RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_next() IS 'a new unique id, in order of time';

-- Not strict: a null tag is an error, where STRICT would return a null id.
CREATE FUNCTION @extschema@.uid_next(tag integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_tagged'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_next(integer) IS 'a new unique id with a tag of the caller''s';

CREATE FUNCTION @extschema@.uid_next_batch(n integer, tag integer DEFAULT 0) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'uidgen_next_batch'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.uid_next_batch(integer, integer) IS 'n new ids, increasing';

CREATE FUNCTION @extschema@.uid_next_block(n integer, tag integer DEFAULT 0, OUT first_id bigint, OUT last_id bigint)
AS 'MODULE_PATHNAME', 'uidgen_next_block'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_next_block(integer, integer) IS 'n new ids that are consecutive numbers within one tick; only for FROM, since (uid_next_block(n)).* takes a block for each column: uid_reserve() is simpler';

CREATE FUNCTION @extschema@.uid_reserve(n integer, tag integer DEFAULT 0) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_reserve'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_reserve(integer, integer) IS 'the first of n new ids that are consecutive numbers within one tick; the last is n - 1 above it';

--
-- What an id says.  Functions without a layout argument use the server's layout.  With
-- one, the result depends on the arguments alone, so those functions are immutable.
--

CREATE FUNCTION @extschema@.uid_parse(id bigint, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
AS 'MODULE_PATHNAME', 'uidgen_parse'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_parse(bigint) IS 'the fields of an id; a field that the layout lacks is null';

CREATE FUNCTION @extschema@.uid_parse(id bigint, layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
AS 'MODULE_PATHNAME', 'uidgen_parse'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_parse(bigint, text) IS 'the fields of an id under a layout or preset; a field that the layout lacks is null';

CREATE FUNCTION @extschema@.uid_timestamp(id bigint) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'uidgen_timestamp'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_timestamp(bigint) IS 'the time in an id';

CREATE FUNCTION @extschema@.uid_timestamp(id bigint, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'uidgen_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_timestamp(bigint, text) IS 'the time in an id under a layout or preset';

CREATE FUNCTION @extschema@.uid_min("timestamp" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_min'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_min(timestamptz) IS 'smallest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION @extschema@.uid_min("timestamp" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_min'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_min(timestamptz, text) IS 'smallest id of the tick that a time is in, under a layout or preset; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION @extschema@.uid_max("timestamp" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_max'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_max(timestamptz) IS 'largest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION @extschema@.uid_max("timestamp" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_max'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_max(timestamptz, text) IS 'largest id of the tick that a time is in, under a layout or preset; where the layout has no such tick, its smallest or largest id';

-- Not strict: a field that the layout lacks is passed as null, as uid_parse() returns it.
CREATE FUNCTION @extschema@.uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer DEFAULT NULL, tag integer DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_make'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_make(timestamptz, integer, integer, integer, integer) IS 'the id with these fields';

CREATE FUNCTION @extschema@.uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer, tag integer, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_make'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_make(timestamptz, integer, integer, integer, integer, text) IS 'the id with these fields under a layout or preset';

--
-- Ids as text and as uuids.  Text is the same for all layouts, a uuid begins with the time.
--

CREATE FUNCTION @extschema@.uid_to_text(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_text(bigint) IS 'an id as text: 13 digits of Crockford''s base 32';

CREATE FUNCTION @extschema@.uid_to_text(id bigint, form text) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_text(bigint, text) IS 'an id as text in a form: base32, base58, base62 or hex';

CREATE FUNCTION @extschema@.uid_from_text(id text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_from_text(text) IS 'the id in a text of Crockford''s base 32';

CREATE FUNCTION @extschema@.uid_from_text(id text, form text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_from_text(text, text) IS 'the id in a text of a form: base32, base58, base62 or hex';

CREATE FUNCTION @extschema@.uid_to_uuid(id bigint) RETURNS uuid
AS 'MODULE_PATHNAME', 'uidgen_to_uuid'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_uuid(bigint) IS 'a uuid of version 7 with the time of an id and the id';

CREATE FUNCTION @extschema@.uid_to_uuid(id bigint, layout text) RETURNS uuid
AS 'MODULE_PATHNAME', 'uidgen_to_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_uuid(bigint, text) IS 'a uuid of version 7 with the time of an id under a layout or preset, and the id';

CREATE FUNCTION @extschema@.uid_from_uuid(id uuid) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_from_uuid(uuid) IS 'the id in a uuid that uid_to_uuid() made';

--
-- Numbers for the public: a keyed bijection on the numbers of some width.
--

CREATE FUNCTION @extschema@.uid_scramble(value bigint, key bytea, bits integer DEFAULT 63) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_scramble'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION @extschema@.uid_scramble(bigint, bytea, integer) IS 'the image of a number below 2^bits under a secret key: another such number, which hides how many there are';

CREATE FUNCTION @extschema@.uid_unscramble(value bigint, key bytea, bits integer DEFAULT 63) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_unscramble'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION @extschema@.uid_unscramble(bigint, bytea, integer) IS 'the number whose image under a secret key this is';

--
-- Segments: numbers of named counters.
--

CREATE FUNCTION uidgen.uid_segment_next_in_copy(name text, internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_next'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_segment_next_in_copy(text, internal) IS 'uid_segment_next(name), as COPY FROM calls it';

-- Not strict: a null name is an error, where STRICT would return a null number.
CREATE FUNCTION @extschema@.uid_segment_next(name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_next'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_segment_next(text) IS 'the next number of a segment, of those that this server has fetched';

CREATE FUNCTION @extschema@.uid_segment_batch(name text, n integer) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_batch'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.uid_segment_batch(text, integer) IS 'n numbers of a segment, increasing';

CREATE FUNCTION @extschema@.uid_segment_block(name text, n integer, OUT first_number bigint, OUT last_number bigint)
AS 'MODULE_PATHNAME', 'uidgen_segment_block'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_segment_block(text, integer) IS 'n numbers of a segment that are consecutive; only for FROM, since (uid_segment_block(name, n)).* takes a block for each column: uid_segment_reserve() is simpler';

CREATE FUNCTION @extschema@.uid_segment_reserve(name text, n integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_reserve'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_segment_reserve(text, integer) IS 'the first of n numbers of a segment that are consecutive; the last is n - 1 above it';

CREATE FUNCTION uidgen.list_segments(OUT name text, OUT state text, OUT numbers_left bigint, OUT lasts interval,
	OUT rate double precision, OUT step bigint, OUT fetches bigint, OUT fetched bigint, OUT drawn bigint,
	OUT skipped bigint, OUT returned bigint, OUT lost bigint, OUT waits bigint, OUT failures bigint, OUT last_error text,
	OUT gap_lasts interval)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_list_segments'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.list_segments() IS 'the segments that this server has drawn numbers of since it started';
-- [since 0.2.2]
REVOKE EXECUTE ON FUNCTION uidgen.list_segments() FROM PUBLIC;
-- [since 0.2.2]
GRANT EXECUTE ON FUNCTION uidgen.list_segments() TO pg_monitor;
-- It takes the place of segment_status(), with what was granted there.
-- [since 0.2.2]
DO $$
DECLARE
	former CONSTANT regprocedure := to_regprocedure('uidgen.segment_status()');
	g record;
BEGIN
	FOR g IN
		SELECT a.grantee, a.is_grantable FROM pg_proc AS p, aclexplode(p.proacl) AS a WHERE p.oid = former AND a.grantee <> p.proowner
	LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION uidgen.list_segments() TO %s%s',
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
	END LOOP;
END
$$;

CREATE VIEW uidgen.segment_status AS SELECT * FROM uidgen.list_segments();
COMMENT ON VIEW uidgen.segment_status IS 'the segments that this server has drawn numbers of since it started';
-- [since 0.2.0]
GRANT SELECT ON uidgen.segment_status TO pg_monitor;

--
-- Layouts
--

CREATE FUNCTION @extschema@.uid_layout(OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_layout_fields'
LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION @extschema@.uid_layout() IS 'the fields of the server''s layout, most significant first';

CREATE FUNCTION @extschema@.uid_layout(layout text, OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_layout_fields'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION @extschema@.uid_layout(text) IS 'the fields of a layout or preset, most significant first';

CREATE FUNCTION @extschema@.uid_layout_info(OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint,
	OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
AS 'MODULE_PATHNAME', 'uidgen_layout_info'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_layout_info() IS 'what the server''s layout has room for: ids_per_second is for each worker; a bulk load is slowed to that rate once its ids are uidgen.max_burst ahead of the clock, so raise that setting while loading';

CREATE FUNCTION @extschema@.uid_layout_info(layout text, OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint,
	OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
AS 'MODULE_PATHNAME', 'uidgen_layout_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_layout_info(text) IS 'what a layout or preset has room for: ids_per_second is for each worker; a bulk load is slowed to that rate once its ids are uidgen.max_burst ahead of the clock, so raise that setting while loading';

CREATE FUNCTION uidgen.layout_numbers(for_layout text DEFAULT NULL, OUT layout text, OUT unit bigint,
	OUT epoch bigint, OUT max_tick bigint, OUT max_datacenter integer, OUT max_worker integer)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT i.layout, (extract(epoch FROM i.unit) * 1000000::numeric)::bigint, (extract(epoch FROM i.epoch) * 1000000::numeric)::bigint,
		max(f.maximum) FILTER (WHERE f.name = 'time'),
		coalesce(max(f.maximum) FILTER (WHERE f.name = 'datacenter'), 0)::integer,
		coalesce(max(f.maximum) FILTER (WHERE f.name = 'worker'), 0)::integer
	FROM (SELECT coalesce($1, (SELECT s.layout FROM @extschema@.uid_layout_info() AS s))) AS c (layout),
		@extschema@.uid_layout_info(c.layout) AS i, @extschema@.uid_layout(c.layout) AS f
	GROUP BY i.layout, i.unit, i.epoch;
END;
COMMENT ON FUNCTION uidgen.layout_numbers(text) IS 'the layout of this server, or a named one, and its numbers as a registry keeps them: what uidgen.share_registry() needs on a server without the library';

CREATE FUNCTION uidgen.presets(OUT name text, OUT layout text, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_preset_list'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 26;
COMMENT ON FUNCTION uidgen.presets() IS 'the layouts that have a name';

CREATE VIEW uidgen.presets AS SELECT * FROM uidgen.presets();
COMMENT ON VIEW uidgen.presets IS 'the layouts that have a name';
-- [since 0.1.0]
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
CREATE FUNCTION @extschema@.uid_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from") AND id <= uidgen.last_before("to");
COMMENT ON FUNCTION @extschema@.uid_between(bigint, timestamptz, timestamptz) IS 'is the time of an id in a half-open range?';

CREATE FUNCTION @extschema@.uid_between(id bigint, "from" timestamptz, "to" timestamptz, layout text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from", layout) AND id <= uidgen.last_before("to", layout);
COMMENT ON FUNCTION @extschema@.uid_between(bigint, timestamptz, timestamptz, text) IS 'is the time of an id in a half-open range, under a layout or preset?';

CREATE FUNCTION @extschema@.uid_range("from" timestamptz, "to" timestamptz) RETURNS int8range
AS 'MODULE_PATHNAME', 'uidgen_range'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_range(timestamptz, timestamptz) IS 'the ids of a half-open range of time';

CREATE FUNCTION @extschema@.uid_range("from" timestamptz, "to" timestamptz, layout text) RETURNS int8range
AS 'MODULE_PATHNAME', 'uidgen_range'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_range(timestamptz, timestamptz, text) IS 'the ids of a half-open range of time, under a layout or preset';

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
	-- that tables of different names have partitions of different names.  A byte is left for
	-- the underscore that begins the name of a partition's array type: a longer name would be
	-- cut at its end, where the names of partitions differ.
	prefix := parent.name;
	room := current_setting('max_identifier_length')::integer - octet_length(to_char(until, form)) - 2;
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

CREATE FUNCTION @extschema@.uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT m.s
		FROM @extschema@.uid_layout_info() AS l,
			uidgen.make_partitions("table", "from", "to", step, execute, l.layout, l.unit, l.epoch, l.expires_at) AS m (s);
END;
COMMENT ON FUNCTION @extschema@.uid_partitions(regclass, timestamptz, timestamptz, interval, boolean)
	IS 'the statements that make the partitions for a range of time, or those that are missing; optionally runs them';

CREATE FUNCTION @extschema@.uid_partitions("table" regclass, "from" timestamptz, "to" timestamptz, step interval,
	execute boolean, layout text) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT m.s
		FROM @extschema@.uid_layout_info(layout) AS l,
			uidgen.make_partitions("table", "from", "to", step, execute, l.layout, l.unit, l.epoch, l.expires_at) AS m (s);
END;
COMMENT ON FUNCTION @extschema@.uid_partitions(regclass, timestamptz, timestamptz, interval, boolean, text)
	IS 'the statements that make the partitions for a range of time under a layout or preset, or those that are missing; optionally runs them';

--
-- Operation
--

CREATE FUNCTION uidgen.status(OUT state text, OUT worker_id integer, OUT datacenter_id integer,
	OUT layout text, OUT registry text, OUT granted_until timestamptz, OUT ahead interval,
	OUT renewals bigint, OUT failures bigint, OUT last_error text, OUT waits bigint,
	OUT clock_steps bigint, OUT expires_at timestamptz, OUT wasted bigint,
	OUT ahead_cause text, OUT free_worker_ids bigint,
	OUT registry_host text, OUT clock_offset interval, OUT clock_width interval,
	OUT timeline integer, OUT quarantine_until timestamptz)
AS 'MODULE_PATHNAME', 'uidgen_status_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.status() IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';

CREATE VIEW uidgen.status AS SELECT * FROM uidgen.status();
COMMENT ON VIEW uidgen.status IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';
-- [since 0.1.0]
GRANT SELECT ON uidgen.status TO PUBLIC;

CREATE FUNCTION uidgen.diagnose() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_diagnose_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.diagnose() IS 'ok, or what is missing before ids can be issued and what to do';

-- An administrator may have taken the right to call a function away.  What is new and does
-- the same must not give it back, neither here nor in a dump: so the privileges do not count
-- as those that the extension was created with.
-- [since 0.2.1]
DO $$
DECLARE
	f record;
	g record;
BEGIN
	FOR f IN
		SELECT o.oid::regprocedure AS old, n.oid::regprocedure AS new, o.proowner, coalesce(o.proacl, acldefault('f', o.proowner)) AS acl
			FROM (VALUES ('uid_next_block(integer,integer)', 'uid_reserve(integer,integer)'),
					('uid_segment_block(text,integer)', 'uid_segment_reserve(text,integer)')) AS p (old, new)
				JOIN pg_proc AS o ON o.oid = to_regprocedure('@extschema@.' || p.old)
				JOIN pg_proc AS n ON n.oid = to_regprocedure('@extschema@.' || p.new)
			WHERE o.proacl <> acldefault('f', o.proowner)
	LOOP
		EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f.new);
		FOR g IN SELECT a.grantee, a.is_grantable FROM aclexplode(f.acl) AS a WHERE a.grantee <> f.proowner LOOP
			EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s%s', f.new,
				CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' END);
		END LOOP;
		DELETE FROM pg_init_privs AS i WHERE i.classoid = 'pg_proc'::regclass AND i.objoid = f.new;
	END LOOP;
END
$$;

-- PostgreSQL takes all privileges of an object that a script grants on, or revokes from, as those
-- that the extension was created with; in an update also what an administrator has granted.
-- A dump would leave that out.  The extension itself grants to these only.  Where nothing is left,
-- as of a column, there must be no row: an array without elements has no dimension, and the server
-- takes it for no list of privileges.
DELETE FROM pg_init_privs AS i
	USING pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
	WHERE e.extname = 'uidgen' AND d.deptype = 'e' AND d.classid = i.classoid AND d.objid = i.objoid
		AND EXISTS (SELECT FROM aclexplode(i.initprivs))
		AND NOT EXISTS (SELECT FROM aclexplode(i.initprivs) AS x
			WHERE x.grantee IN (x.grantor, 0::oid, 'pg_monitor'::regrole::oid));
UPDATE pg_init_privs AS i
	SET initprivs = ARRAY(
		SELECT u.a FROM unnest(i.initprivs) WITH ORDINALITY AS u (a, n)
			WHERE EXISTS (SELECT FROM aclexplode(ARRAY[u.a]) AS x
				WHERE x.grantee IN (x.grantor, 0::oid, 'pg_monitor'::regrole::oid))
			ORDER BY u.n)
	FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
	WHERE e.extname = 'uidgen' AND d.deptype = 'e' AND d.classid = i.classoid AND d.objid = i.objoid
		AND EXISTS (SELECT FROM aclexplode(i.initprivs) AS x
			WHERE x.grantee NOT IN (x.grantor, 0::oid, 'pg_monitor'::regrole::oid));
-- PostgreSQL 17 and later have written down that these roles cannot be dropped.
DELETE FROM pg_shdepend AS s
	USING pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
	WHERE e.extname = 'uidgen' AND d.deptype = 'e' AND d.classid = s.classid AND d.objid = s.objid
		AND s.deptype = 'i' AND s.dbid = (SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
		AND NOT EXISTS (SELECT FROM pg_init_privs AS i, aclexplode(i.initprivs) AS x
			WHERE i.classoid = s.classid AND i.objoid = s.objid AND i.objsubid = s.objsubid AND s.refobjid IN (x.grantee, x.grantor));

-- A function that says to be safe in parallel workers takes two calls in one row for one, also
-- if what it calls is restricted.  By INFO, because CREATE EXTENSION hides NOTICE.
DO $$
DECLARE
	wrapper regprocedure;
BEGIN
	FOR wrapper IN
		WITH RECURSIVE drawing (oid, name) AS (
			SELECT p.oid, p.proname FROM pg_proc AS p
				JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass::oid AND d.objid = p.oid AND d.deptype = 'e'
				JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
				WHERE e.extname = 'uidgen' AND p.proname::text ~ '^uid_(segment_)?(next|batch|block|reserve)'
			UNION
			SELECT p.oid, p.proname FROM drawing AS w, pg_proc AS p
				WHERE p.oid <> w.oid AND p.pronamespace <> 'pg_catalog'::regnamespace::oid
					AND (p.prosrc ~* ('(^|\W)' || regexp_replace(replace(w.name::text, '"', '""'), '(\W)', '\\\1', 'g') || '"?\s*\(')
						OR EXISTS (SELECT FROM pg_depend AS d
							WHERE d.classid = 'pg_proc'::regclass::oid AND d.objid = p.oid AND d.refclassid = 'pg_proc'::regclass::oid AND d.refobjid = w.oid)))
		SELECT w.oid FROM drawing AS w JOIN pg_proc AS p ON p.oid = w.oid WHERE p.proparallel = 's' ORDER BY w.oid
	LOOP
		RAISE INFO 'function % draws ids or numbers, and is labelled as safe in parallel workers', wrapper
			USING DETAIL = 'Two calls of it in one row of a parallel plan can return the same id.',
				HINT = format('Run ALTER FUNCTION %s PARALLEL RESTRICTED.', wrapper);
	END LOOP;
END
$$;

-- Tell the user what else is needed; by INFO, because CREATE EXTENSION hides NOTICE.
-- [since 0.1.0]
DO $$
DECLARE
	registry text := pg_catalog.current_setting('uidgen.database', true);
	missing text := uidgen.diagnose();
BEGIN
	IF registry OPERATOR(pg_catalog.<>) pg_catalog.current_database()::text THEN
		RAISE INFO 'worker ids come from the registry in another database'
			USING DETAIL = pg_catalog.format('The setting "uidgen.database" is "%s".', registry);
	END IF;
	IF registry IS NULL THEN	-- without preload the setting is not defined
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing,
				HINT = 'If this server only has the registry of a fleet, nothing is missing: go on with SELECT uidgen.share_registry().';
	ELSIF missing OPERATOR(pg_catalog.<>) 'ok' THEN
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing;
	END IF;
END
$$;
