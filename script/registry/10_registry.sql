--
-- The registry: which instance holds which worker id, and up to which tick.
--
-- Only SQL and PL/pgSQL, so that the registry can also live on a server without the
-- library.  Its functions are given numbers (unit, epoch, maxima) and parse no layouts, but for
-- share_registry().
--
-- It is local or shared: of one server, whose keeper calls it as its owner, or of a fleet,
-- whose nodes call it with privileges for that alone.  Each has functions of its own for
-- the three calls.  The two modes have in common the tables and the steps that come first.
--

-- The order of locks.  What locks more than one of these tables locks registry first, then
-- worker_node, and segment last; a guest's call locks the row of its role in guest_role before.  By two orders, one call could hold registry and wait for
-- worker_node, while another holds that and waits for registry: a deadlock.
--
-- No call locks a table.  A transaction that goes on would then keep all others from being granted what
-- they need.  A row is locked that is about to be changed, and nothing besides.
--
-- DROP EXTENSION locks them in the order that pg_depend has them in, which no call can rely on.  So a
-- keeper locks the extension before it calls its own server's registry (lock_extension() in
-- link_local.c).  Calls of nodes come in ordinary sessions, which cannot do that: whoever drops a
-- registry that nodes use locks the tables before, or may have to do it again.

CREATE FUNCTION uidgen_registry.new_token() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	-- the first 32 and the last 32 bits of a version 4 uuid are random
	SELECT ('x' || left(u, 8) || right(u, 8))::bit(64)::bigint
	FROM (SELECT gen_random_uuid()::text) AS t (u)
$$;
COMMENT ON FUNCTION uidgen_registry.new_token() IS 'a random number that nobody can guess';

CREATE TABLE uidgen_registry.worker_node (
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
	guest name,
	called_by name,
	PRIMARY KEY (datacenter_id, worker_id)
) WITH (fillfactor = 20);	-- room for the renewals' row versions (HOT)

-- An index on what a renewal changes would end HOT.
CREATE INDEX worker_node_identity_idx ON uidgen_registry.worker_node (identity);
COMMENT ON INDEX uidgen_registry.worker_node_identity_idx IS 'finds the worker ids that a node of a fleet had before';

COMMENT ON TABLE uidgen_registry.worker_node IS 'worker ids that were ever granted: never dumped, never replicated, and changed by the functions of the registry alone';
COMMENT ON COLUMN uidgen_registry.worker_node.datacenter_id IS 'the datacenter field of the ids; 0 if the layout has none';
COMMENT ON COLUMN uidgen_registry.worker_node.worker_id IS 'the worker field of the ids';
COMMENT ON COLUMN uidgen_registry.worker_node.host_name IS 'host of the last holder';
COMMENT ON COLUMN uidgen_registry.worker_node.port IS 'port of the last holder';
COMMENT ON COLUMN uidgen_registry.worker_node.type IS 'what the last holder runs on; 1: container, 2: server';
COMMENT ON COLUMN uidgen_registry.worker_node.launch_date IS 'day on which the worker id was last acquired';
COMMENT ON COLUMN uidgen_registry.worker_node.created IS 'when the worker id was first acquired';
COMMENT ON COLUMN uidgen_registry.worker_node.modified IS 'when the worker id was last acquired, renewed or released; does not go back when the clock is set back';
COMMENT ON COLUMN uidgen_registry.worker_node.identity IS 'the last holder: system identifier/timeline/inode and birth time of control file/hash of machine id; null: forgotten';
COMMENT ON COLUMN uidgen_registry.worker_node.token IS 'proves who the holder is; changes with each renewal; null: released';
COMMENT ON COLUMN uidgen_registry.worker_node.granted_until IS 'last tick granted; the last one of the layout: granted to no node any more, by keep_worker()';
COMMENT ON COLUMN uidgen_registry.worker_node.released IS 'whether anybody may have it: handed back by a clean shutdown, freed by forget_worker(), or only its end is known';
COMMENT ON COLUMN uidgen_registry.worker_node.launches IS 'how many times the worker id was acquired';
COMMENT ON COLUMN uidgen_registry.worker_node.called_by IS 'in a fleet''s registry: with which role the last holder called';
COMMENT ON COLUMN uidgen_registry.worker_node.guest IS 'the role of the guest that had it last; empty: reserved for guests, and none has had it; null: it is for nodes';

CREATE TYPE uidgen_registry.history AS (
	system_identifier bigint,		-- 0: it cannot be known, nor can the timeline
	timeline integer,				-- 0: it cannot be known
	started timestamptz,
	database oid,
	restored text);
COMMENT ON TYPE uidgen_registry.history IS 'a course of history of the registry: registry_history() and registry_restored()';

CREATE TABLE uidgen_registry.registry (
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
	id bigint NOT NULL DEFAULT uidgen_registry.new_token(),
	max_lead interval,
	clock_slack interval,
	system_identifier bigint,
	timeline integer,
	started timestamptz,
	quarantine_until bigint,
	timeline_offset integer NOT NULL DEFAULT 0,
	has_granted boolean NOT NULL DEFAULT false,
	segments_confirmed boolean NOT NULL DEFAULT false,
	confirming_standbys integer,
	standbys text[] NOT NULL DEFAULT '{}',
	standbys_reign uidgen_registry.history,
	made text,
	first_guest integer,
	guest_lead interval,
	guest_quarantine_until bigint,
	lowest_first_guest integer,
	former_max_lead interval,
	former_guest_lead interval,
	lengths_await pg_lsn,
	reached_until bigint,
	CONSTRAINT shared_is_complete CHECK (NOT shared
		OR (max_lead, clock_slack, system_identifier, timeline, started, quarantine_until) IS NOT NULL),
	CONSTRAINT max_lead_is_some_ticks CHECK (extract(epoch FROM max_lead) * 1000000::numeric >= (8::bigint * unit)::numeric),
	CONSTRAINT clock_slack_is_not_negative CHECK (clock_slack >= interval '0'),
	CONSTRAINT lengths_have_no_days CHECK (date_trunc('day'::text, max_lead) = interval '0' AND date_trunc('day'::text, clock_slack) = interval '0'),
	CONSTRAINT only_a_shared_one_is_confirmed CHECK (shared OR NOT segments_confirmed),
	CONSTRAINT confirming_standbys_are_some CHECK (confirming_standbys > 0),
	CONSTRAINT guests_are_complete CHECK (first_guest IS NULL OR shared AND (guest_lead, guest_quarantine_until) IS NOT NULL),
	CONSTRAINT guest_lead_is_some_ticks CHECK (extract(epoch FROM guest_lead) * 1000000::numeric >= (8::bigint * unit)::numeric),
	CONSTRAINT guest_lead_is_no_longer_than_max_lead CHECK (guest_lead <= max_lead)
);

COMMENT ON TABLE uidgen_registry.registry IS 'one row: the layout, pinned by the first grant or share_registry(), and what a fleet''s registry knows of itself';
COMMENT ON COLUMN uidgen_registry.registry.only_one IS 'always true: the primary key then allows for one row only';
COMMENT ON COLUMN uidgen_registry.registry.layout IS 'the layout in canonical form';
COMMENT ON COLUMN uidgen_registry.registry.unit IS 'length of a tick, in microseconds';
COMMENT ON COLUMN uidgen_registry.registry.epoch IS 'start of tick 0, in microseconds since 1970 UTC';
COMMENT ON COLUMN uidgen_registry.registry.max_tick IS 'the last tick, which is never granted';
COMMENT ON COLUMN uidgen_registry.registry.max_datacenter IS 'largest datacenter id';
COMMENT ON COLUMN uidgen_registry.registry.max_worker IS 'largest worker id';
COMMENT ON COLUMN uidgen_registry.registry.pinned IS 'when the layout was pinned';
COMMENT ON COLUMN uidgen_registry.registry.database IS 'OID of the registry''s database; a copy of the database has another OID, unless who made it has chosen the same';
COMMENT ON COLUMN uidgen_registry.registry.made IS 'of a local registry: when its database was made, by database_made()';
COMMENT ON COLUMN uidgen_registry.registry.shared IS 'whether many servers share this registry; decided once, before the first grant';
COMMENT ON COLUMN uidgen_registry.registry.id IS 'a random number that tells this registry from others, also from a new one in its place; copies have the same number';
COMMENT ON COLUMN uidgen_registry.registry.max_lead IS 'no grant of a fleet''s registry reaches further ahead of its clock; at least 8 ticks; change_registry() changes it';
COMMENT ON COLUMN uidgen_registry.registry.clock_slack IS 'by how much the clock of a server that takes over a fleet''s registry may be behind; change_registry() changes it';
COMMENT ON COLUMN uidgen_registry.registry.system_identifier IS 'the cluster that a fleet''s registry was in when it last looked';
COMMENT ON COLUMN uidgen_registry.registry.timeline IS 'the timeline of this cluster when the registry last looked';
COMMENT ON COLUMN uidgen_registry.registry.timeline_offset IS 'take_over_registry() raises it. Nodes are told timeline + this number, so they take this registry for the later one';
COMMENT ON COLUMN uidgen_registry.registry.has_granted IS 'whether there was a row in uidgen_registry.worker_node: then a table without rows is one that has lost them';
COMMENT ON COLUMN uidgen_registry.registry.segments_confirmed IS 'whether, after a failover, segments give out numbers only once enough standbys know of it: change_registry()';
COMMENT ON COLUMN uidgen_registry.registry.confirming_standbys IS 'how many standbys are enough for segments_confirmed; null: all; change_registry() changes it';
COMMENT ON COLUMN uidgen_registry.registry.standbys IS 'names of the standbys that have followed since one reign began, as fetches saw them with segments_confirmed set';
COMMENT ON COLUMN uidgen_registry.registry.standbys_reign IS 'the history in whose reign standbys begins';
COMMENT ON COLUMN uidgen_registry.registry.first_guest IS 'guests get worker ids from here on, nodes get those below; null: no guests; change_registry() changes it';
COMMENT ON COLUMN uidgen_registry.registry.guest_lead IS 'what max_lead is for nodes: no grant of a guest reaches further ahead of the clock; change_registry() changes it';
COMMENT ON COLUMN uidgen_registry.registry.guest_quarantine_until IS 'what quarantine_until is for nodes; it ends earlier, since grants of guests reach less far';
COMMENT ON COLUMN uidgen_registry.registry.lowest_first_guest IS 'the lowest first_guest so far: from it on nodes get no longer grants than guests, since a failover may lose a change';
COMMENT ON COLUMN uidgen_registry.registry.former_max_lead IS 'max_lead before its last change, until the standbys know: grants obey the shorter of both, quarantines the longer';
COMMENT ON COLUMN uidgen_registry.registry.former_guest_lead IS 'guest_lead before its last change, as former_max_lead';
COMMENT ON COLUMN uidgen_registry.registry.lengths_await IS 'the standbys must replay the log up to here before a change of max_lead or guest_lead counts; null: not noted, or none';
COMMENT ON COLUMN uidgen_registry.registry.reached_until IS 'grants from before max_lead or guest_lead became shorter reach up to this tick, so no quarantine ends before it';
COMMENT ON COLUMN uidgen_registry.registry.started IS 'when its server had started';
COMMENT ON COLUMN uidgen_registry.registry.quarantine_until IS 'a grant begins above this tick, unless it continues one that its node knows: lost grants may reach up to here';

-- Who changes these tables by hand lets ids or numbers come twice.  So a guard on each of them refuses that,
-- unless a function of the registry does it: those that write have this search path, and nothing else has.
-- (A setting of our own would say it more plainly, but only a superuser can give that to a function.)
--
-- Logical replication FOR ALL TABLES publishes these tables, but the grants of another cluster mean nothing
-- here and would overwrite our own.  So the guards are ENABLE ALWAYS, and drop what replication brings, in
-- apply and in the initial copy.  TRUNCATE, which no trigger can drop, is refused wherever it comes from.
--
-- It has no search path of its own, since it looks at its caller's.
CREATE FUNCTION uidgen_registry.guard_row() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
	IF pg_catalog.current_setting('session_replication_role') OPERATOR(pg_catalog.=) 'replica' THEN
		RETURN NULL;
	ELSIF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, uidgen_registry, pg_temp' THEN
		RETURN CASE WHEN TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN OLD ELSE NEW END;
	END IF;
	RAISE EXCEPTION 'table uidgen_registry.% is not changed by hand', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Ids or numbers could come twice.',
			HINT = CASE
				WHEN TG_TABLE_NAME OPERATOR(pg_catalog.=) 'worker_node' THEN 'uidgen_registry.forget_worker() frees a worker id, uidgen_registry.keep_worker() keeps one, uidgen_registry.import_worker() raises its end, and uidgen_registry.end_registry() ends the registry.'
				WHEN TG_TABLE_NAME OPERATOR(pg_catalog.=) 'registry' THEN 'uidgen_registry.change_registry() changes what the owner may change, and uidgen_registry.end_registry() ends the registry.'
				WHEN TG_TABLE_NAME OPERATOR(pg_catalog.=) 'guest_role' THEN 'uidgen_registry.grant_guest() changes how many worker ids a role may have, and uidgen_registry.revoke_guest() removes it.'
				ELSE 'uidgen_registry.change_segment() changes steps, max_value, failover_gap and description, and uidgen_registry.raise_segment() leaves numbers out. To begin anew, use uidgen_registry.drop_segment(), and then uidgen_registry.create_segment() with restart := true.' END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.guard_row() IS 'trigger: lets the functions of the registry alone change rows, and drops rows that logical replication brings';

CREATE FUNCTION uidgen_registry.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'cannot truncate %.%', TG_TABLE_SCHEMA, TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'The registry would forget which ids and numbers may be in use.',
			HINT = 'To begin a new registry, name another database in "uidgen.database".';
END
$$;
COMMENT ON FUNCTION uidgen_registry.refuse_truncate() IS 'trigger: refuses TRUNCATE of the registry';

-- What makes the guards of a table, as statements.  40_segments.sql runs them, once all tables are there.
CREATE FUNCTION uidgen_registry.guard_statements(guarded regclass, OUT name text, OUT function regproc, OUT type smallint, OUT makes text, OUT enables text, OUT remarks text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT g.name, g.function::regproc, g.type::smallint,
			format('CREATE OR REPLACE TRIGGER %I BEFORE %s ON %s FOR EACH %s EXECUTE FUNCTION %s()', g.name, g.events, guarded, g.each, g.function),
			format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', guarded, g.name),
			format('COMMENT ON TRIGGER %I ON %s IS %L', g.name, guarded, g.remark)
		FROM (VALUES
			('guard_row', 'uidgen_registry.guard_row', 31, 'INSERT OR UPDATE OR DELETE', 'ROW', 'lets the functions of the registry alone change rows, and drops rows that logical replication brings'),
			('refuse_truncate', 'uidgen_registry.refuse_truncate', 34, 'TRUNCATE', 'STATEMENT', 'refuses TRUNCATE of the registry')) AS g (name, function, type, events, each, remark)
$$;
COMMENT ON FUNCTION uidgen_registry.guard_statements(regclass) IS 'the guards that a table of the registry has, and the statements that make, enable and explain them';

-- The owner of a table can take away what keeps its rows: with a statement that is meant for other tables, such as
-- DISABLE TRIGGER ALL in a loader of fixtures.  So whoever is about to be granted a worker id looks first.
CREATE FUNCTION uidgen_registry.list_defects(guarded regclass, key_columns text, OUT what text, OUT mend text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	-- A crash empties it, so whoever is told may have lost the rows already.
	SELECT 'It is not logged: a crash empties it, or has done so. ' || CASE guarded WHEN to_regclass('uidgen_registry.segment')
				THEN 'If it is empty, create each segment again afterwards, with a first number above all that were given out.'
				ELSE 'If it is empty and ids were issued, wait until the clock is past the time of all of them before you mend that.' END,
			format('ALTER TABLE %s SET LOGGED', guarded)
		FROM pg_class AS c WHERE c.oid = guarded AND c.relpersistence <> 'p'
	UNION ALL
	SELECT format('The rows of table %s count as its own, by inheritance.', c.oid::regclass),
			-- Its own session alone can alter a temporary one.
			CASE WHEN c.relpersistence <> 't' THEN format('ALTER TABLE %s NO INHERIT %s',
				CASE WHEN octet_length(c.oid::regclass::text) <= 90 THEN c.oid::regclass::text ELSE '...' END, guarded) END
		FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = guarded
	UNION ALL
	SELECT 'It has row level security, which hides rows.',
			format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', guarded)
		FROM pg_class AS c WHERE c.oid = guarded AND c.relrowsecurity
	UNION ALL
	SELECT format('Rule %I does something else in place of what the registry wants, or besides.', r.rulename),
			format('DROP RULE %I ON %s', r.rulename, guarded)
		FROM pg_rewrite AS r WHERE r.ev_class = guarded
	UNION ALL
	SELECT 'Its primary key is not there, or does not hold.',
			CASE WHEN k.indexrelid IS NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY (%s)', guarded, c.relname || '_pkey', key_columns)
				WHEN NOT (k.indisvalid AND k.indisready) THEN format('REINDEX INDEX %s', k.indexrelid::regclass)
				ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', guarded, n.conname) END
		FROM pg_class AS c LEFT JOIN pg_index AS k ON k.indrelid = c.oid AND k.indisprimary
			LEFT JOIN pg_constraint AS n ON n.conindid = k.indexrelid AND n.contype = 'p'
		WHERE c.oid = guarded
			AND (k.indisvalid AND k.indisready AND k.indimmediate AND n.conname = c.relname || '_pkey'
				AND (SELECT string_agg(a.attname, ', ' ORDER BY u.n) FROM unnest(k.indkey) WITH ORDINALITY AS u (attnum, n)
					JOIN pg_attribute AS a ON a.attrelid = guarded AND a.attnum = u.attnum) = key_columns) IS NOT TRUE
	UNION ALL
	SELECT format('Its guard %I is not there, or is another one.', g.name), g.makes
		FROM uidgen_registry.guard_statements(guarded) AS g LEFT JOIN pg_trigger AS t ON t.tgrelid = guarded AND t.tgname = g.name
		WHERE (t.tgfoid = g.function AND t.tgtype = g.type AND t.tgqual IS NULL AND t.tgattr::text = '') IS NOT TRUE
	UNION ALL
	SELECT format('Its guard %s does not always fire.', string_agg(format('%I', g.name), ', ')),
			string_agg(CASE g.place WHEN 1 THEN g.enables ELSE regexp_replace(g.enables, '^.* ENABLE', 'ENABLE') END, ', ' ORDER BY g.place)
		FROM (SELECT g.name, g.enables, row_number() OVER () AS place
				FROM uidgen_registry.guard_statements(guarded) AS g JOIN pg_trigger AS t ON t.tgrelid = guarded AND t.tgname = g.name
				WHERE t.tgenabled <> 'A') AS g
		HAVING count(*) > 0
$$;
COMMENT ON FUNCTION uidgen_registry.list_defects(regclass, text) IS 'what a table of the registry lacks to keep its rows safe, and the statements that mend it; null: no statement can';

CREATE FUNCTION uidgen_registry.check_tables(guarded text[] DEFAULT '{worker_node,registry,segment}') RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	defect record;
BEGIN
	-- One at a time: what a keeper passes on of a hint is 250 bytes (HINT_MAX in src/remote/client.c).
	SELECT g.name, d.what, d.mend INTO defect
		FROM unnest(guarded) WITH ORDINALITY AS g (name, n),
			uidgen_registry.list_defects(('uidgen_registry.' || g.name)::regclass, CASE g.name WHEN 'worker_node' THEN 'datacenter_id, worker_id'
				WHEN 'registry' THEN 'only_one' ELSE 'name' END) AS d
		ORDER BY g.n LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'table uidgen_registry.% is not as it was made', defect.name USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = defect.what,
				HINT = CASE WHEN defect.mend IS NOT NULL THEN format('In database "%s", its owner can run: %s', current_database(), defect.mend)
					ELSE format('It is a temporary table in database "%s": its session has to end.', current_database()) END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_tables(text[]) IS 'raises an error if a table of the registry is not as it was made, with a statement that mends it';

-- Only these functions look at the clock, at what tells one run of the registry's database from
-- another, and at how far its standbys are.  So a test can replace them and play any course of events.
CREATE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	SELECT clock_timestamp()
$$;
COMMENT ON FUNCTION uidgen_registry.registry_clock() IS 'the clock that the registry goes by';

CREATE FUNCTION uidgen_registry.registry_history(
	OUT system_identifier bigint, OUT timeline integer, OUT started timestamptz, OUT database oid)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
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
COMMENT ON FUNCTION uidgen_registry.registry_history() IS 'which course of history the registry''s database is in: cluster, timeline, start of the server, and database';

-- Who may create databases may choose the OID, also of a database that was dropped.  Two things tell such a copy: its
-- folder has a file that CREATE DATABASE writes, and its row in pg_database has the transaction.  Recovery can write
-- the file once more, and ALTER DATABASE the row; both together have changed in a copy.  Another cluster, as after
-- pg_upgrade, is told by itself.
CREATE FUNCTION uidgen_registry.database_made() RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF has_function_privilege('pg_stat_file(text, boolean)', 'EXECUTE') THEN
		RETURN (SELECT format('%s/%s/%s', extract(epoch FROM (pg_stat_file(regexp_replace(pg_relation_filepath('pg_class'::regclass), '[^/]*$', 'PG_VERSION'), true)).modification)::bigint, d.xmin, c.system_identifier)
			FROM pg_database AS d, pg_control_system() AS c WHERE d.datname = current_database());
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION uidgen_registry.database_made() IS 'when the registry''s database was made, by which transaction, in which cluster; null: its owner cannot see that';

CREATE FUNCTION uidgen_registry.is_made_anew(known text, present text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(split_part(known, '/', 1) <> split_part(present, '/', 1) AND split_part(known, '/', 2) <> split_part(present, '/', 2)
			AND split_part(known, '/', 3) = split_part(present, '/', 3), false)
		AND '' NOT IN (known, present)
$$;
COMMENT ON FUNCTION uidgen_registry.is_made_anew(text, text) IS 'whether the database was made anew in the same cluster since database_made() was noted; false if not known';

-- The first start from a base backup leaves the timeline as it was, though what was committed after the backup is
-- lost.  It renames the label of the backup, which nothing else does.  So another label than before says that there
-- was such a start, also where the server has been restarted since.  A snapshot of a volume has no label of its own.
-- Behind it stands when the database was made.
CREATE FUNCTION uidgen_registry.registry_restored() RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	label text;
BEGIN
	IF has_function_privilege('pg_read_binary_file(text, bigint, bigint, boolean)', 'EXECUTE') THEN
		-- It says where the log of the backup begins, and when it was begun.  In bytes, since a name in it may be in any encoding.
		label := encode(sha256(pg_read_binary_file('backup_label.old', 0, 4096, true)), 'hex');
	END IF;
	RETURN coalesce(label, '') || coalesce('@' || uidgen_registry.database_made(), '');
END
$$;
COMMENT ON FUNCTION uidgen_registry.registry_restored() IS 'the base backup that the server was started from, and when its database was made, as far as the owner can see';

-- To look for the label of a backup reads a file.  Calls for grants, of which a fleet makes hundreds a second, do without: each start of
-- the server counts for them, and the label comes with a start.
CREATE FUNCTION uidgen_registry.present_history(with_label boolean) RETURNS uidgen_registry.history
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	-- Who does not know the cluster does not know its timeline, whatever number stands for that.
	SELECT coalesce(h.system_identifier, 0), CASE WHEN h.system_identifier <> 0 THEN coalesce(h.timeline, 0) ELSE 0 END, h.started, h.database,
			CASE WHEN with_label THEN uidgen_registry.registry_restored() END
		FROM uidgen_registry.registry_history() AS h
$$;
COMMENT ON FUNCTION uidgen_registry.present_history(boolean) IS 'the course of history that the registry''s database is in';

-- The one answer to whether the registry may have gone back, for grants and for segments:
--
--	went back	another cluster, timeline or database, also one of the same OID, or a start from a base backup; and each start of the server
--				where the timeline cannot be known, as any of them may be a failover.  What was committed may be lost.
--	restarted	the server has started since.  Nothing is lost, unless its files are a snapshot or were not flushed.
--	same		neither
--
-- A label that is gone says nothing.
CREATE FUNCTION uidgen_registry.compare_histories(known uidgen_registry.history, present uidgen_registry.history) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN (known.system_identifier, known.timeline, known.database) IS DISTINCT FROM (present.system_identifier, present.timeline, present.database)
			OR split_part(present.restored, '@', 1) <> '' AND split_part(present.restored, '@', 1) IS DISTINCT FROM split_part(known.restored, '@', 1)
			OR uidgen_registry.is_made_anew(split_part(known.restored, '@', 2), split_part(present.restored, '@', 2)) THEN 'went back'
		WHEN known.started IS NOT DISTINCT FROM present.started THEN 'same'
		WHEN present.timeline = 0 THEN 'went back'
		ELSE 'restarted' END
$$;
COMMENT ON FUNCTION uidgen_registry.compare_histories(uidgen_registry.history, uidgen_registry.history) IS 'whether the registry went back, was only restarted, or is the same as when a history was written down';

-- Nodes use no answer of an earlier timeline than they have seen.  pg_upgrade begins the timelines anew, in another
-- cluster.  So nodes are told timelines above the former cluster's: by 1000, since nodes may have been told of
-- failovers that no call has written down.
CREATE FUNCTION uidgen_registry.told_timeline(l uidgen_registry.registry, present uidgen_registry.history) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN l.shared AND l.system_identifier <> present.system_identifier THEN l.timeline + l.timeline_offset + 1000 + present.timeline
		ELSE present.timeline + coalesce(l.timeline_offset, 0) END
$$;
COMMENT ON FUNCTION uidgen_registry.told_timeline(uidgen_registry.registry, uidgen_registry.history) IS 'the timeline of the registry as nodes are told';

-- What follows this server.  A name that standbys have without that anybody chose it (Debian gives all clusters the same one)
-- tells them apart by their addresses only; and who has the same name and address is another one all the same.
--
-- A standby that was not made anew after a failover may keep a connection.  It then says what it has replayed of the
-- timeline before.  What it was sent ends where that timeline does.
CREATE FUNCTION uidgen_registry.registry_standbys(OUT name text, OUT replayed pg_lsn) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL RESTRICTED ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name || CASE WHEN count(*) OVER (PARTITION BY n.name) = 1 THEN '' ELSE ' #' || row_number() OVER (PARTITION BY n.name ORDER BY n.backend_start, n.pid) END, n.replayed
		FROM (SELECT CASE WHEN r.application_name IN ('', 'walreceiver', current_setting('cluster_name')) THEN concat_ws(' at ', r.application_name, host(r.client_addr))
					ELSE left(r.application_name, 64) END,
				least(r.replay_lsn, r.sent_lsn), r.backend_start, r.pid
			-- a subscriber, which has a database, has no registry of ours
			FROM pg_stat_replication AS r JOIN pg_stat_activity AS a ON a.pid = r.pid AND a.datid IS NULL
			WHERE r.replay_lsn IS NOT NULL) AS n (name, replayed, backend_start, pid)
$$;
COMMENT ON FUNCTION uidgen_registry.registry_standbys() IS 'the standbys of this server, and how far each has replayed the log; no rows without the privileges of pg_monitor';

-- Who takes over next is one that follows now, or has followed before: a standby that is cut off may be promoted as well.  So
-- all count that followed.  On a later timeline of the same cluster this server is itself one of those that were noted before, and may
-- be missing.  (The former primary can only come back as one that follows.)
CREATE FUNCTION uidgen_registry.registry_log(OUT written pg_lsn, OUT replayed pg_lsn)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	present CONSTANT uidgen_registry.history := uidgen_registry.present_history(with_label => false);
	l uidgen_registry.registry;
	noted uidgen_registry.history;
	by_all pg_lsn;
	names text[];
BEGIN
	written := pg_current_wal_insert_lsn();
	SELECT r.* INTO STRICT l FROM uidgen_registry.registry AS r;
	IF l.confirming_standbys IS NOT NULL THEN
		replayed := (SELECT s.replayed FROM uidgen_registry.registry_standbys() AS s ORDER BY s.replayed DESC OFFSET l.confirming_standbys - 1 LIMIT 1);
		RETURN;
	END IF;
	noted := l.standbys_reign;
	SELECT min(s.replayed), array_agg(s.name) INTO by_all, names FROM uidgen_registry.registry_standbys() AS s;
	IF (SELECT count(*) FROM unnest(l.standbys) AS k (name) WHERE k.name <> ALL (names))
		<= (noted.system_identifier = present.system_identifier AND noted.timeline < present.timeline)::integer THEN
		replayed := by_all;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.registry_log() IS 'how far a fleet''s registry has written its log, and how far enough standbys for a failover have replayed it';

-- So that after a failover it is known who is missing.  Names are only added, since a standby that is cut off is none that is gone;
-- but once the standbys have confirmed a reign, all that can take over follow, and the names begin anew with these.  A row that somebody has
-- locked is left to the next call: who asks has locked a segment, and by the order of locks would have to lock this row before.
CREATE FUNCTION uidgen_registry.note_standbys(confirmed boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	present uidgen_registry.history;
	names CONSTANT text[] := ARRAY(SELECT s.name FROM uidgen_registry.registry_standbys() AS s);
	l uidgen_registry.registry;
	begins boolean := false;
BEGIN
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	IF confirmed THEN
		present := uidgen_registry.present_history(with_label => true);
		begins := uidgen_registry.compare_histories(l.standbys_reign, present) = 'went back';
	END IF;
	IF NOT begins AND names <@ l.standbys THEN
		RETURN;
	END IF;
	PERFORM FROM uidgen_registry.registry AS r FOR UPDATE SKIP LOCKED;
	IF FOUND THEN
		UPDATE uidgen_registry.registry AS r SET
				standbys = CASE WHEN begins THEN names ELSE ARRAY(SELECT unnest(r.standbys) UNION SELECT unnest(names)) END,
				standbys_reign = CASE WHEN begins THEN present ELSE r.standbys_reign END;
		PERFORM uidgen_registry.check_written(FOUND);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.note_standbys(boolean) IS 'notes new standbys of the registry; once standbys have confirmed its reign, the list begins anew';

-- Whether the transaction goes on after this statement, as far as SQL can tell: it has written already, but not by calls of this
-- statement for other rows, or begun a second ago.  (Not less: in the extended protocol its first message may have come before
-- the one that runs the statement.)
CREATE FUNCTION uidgen_registry.in_transaction_block() RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	SELECT statement_timestamp() - transaction_timestamp() > interval '1 s' OR pg_current_xact_id_if_assigned() IS NOT NULL
		AND current_setting('uidgen_registry.statement', true) IS DISTINCT FROM extract(epoch FROM statement_timestamp())::text
$$;
COMMENT ON FUNCTION uidgen_registry.in_transaction_block() IS 'whether the transaction goes on after this statement';

-- What a call of the keeper or of a node may wait for, the owner locks for the length of one statement only.
CREATE FUNCTION uidgen_registry.refuse_block(what text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF uidgen_registry.in_transaction_block() THEN
		RAISE EXCEPTION '% cannot be called in a transaction block', what
			USING ERRCODE = 'active_sql_transaction', DETAIL = 'It locks what servers wait for, until the transaction ends.',
				HINT = 'Call it in a transaction of its own.';
	END IF;
	PERFORM set_config('uidgen_registry.statement', extract(epoch FROM statement_timestamp())::text, true);
	-- For a block that could not be seen.
	PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
END
$$;
COMMENT ON FUNCTION uidgen_registry.refuse_block(text) IS 'raises an error in a transaction that goes on, and lets one that could not be seen end when it is idle';

CREATE FUNCTION uidgen_registry.tick_at("time" timestamptz, unit bigint, epoch bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN floor((extract(epoch FROM "time") * 1000000::numeric - epoch::numeric) / unit::numeric)::bigint;
COMMENT ON FUNCTION uidgen_registry.tick_at(timestamptz, bigint, bigint) IS 'the tick that a time is in, given the unit and the epoch of a layout in microseconds';

CREATE FUNCTION uidgen_registry.tick_time(tick bigint, unit bigint, epoch bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN (tick::numeric * unit + epoch) < 9200000000000000000
		THEN to_char(timestamp '1970-01-01' + (tick::numeric * unit + epoch)::bigint * interval '1 microsecond',
					 'YYYY-MM-DD HH24:MI:SS.MS') || ' UTC'
		ELSE 'tick ' || tick END
$$;
COMMENT ON FUNCTION uidgen_registry.tick_time(bigint, bigint, bigint) IS 'when a tick begins, for messages';

CREATE FUNCTION uidgen_registry.check_lifetime(tick bigint, max_tick bigint, unit bigint, epoch bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- The last tick is never granted: the end is noticed before it is reached.
	IF tick >= max_tick THEN
		RAISE EXCEPTION 'the time bits of the layout are used up' USING ERRCODE = 'sequence_generator_limit_exceeded',
				DETAIL = format('The next id would have tick %s (%s); the last tick that can be granted is %s.', tick, uidgen_registry.tick_time(tick, unit, epoch), max_tick - 1),
				HINT = 'If the clock is wrong, correct it. Otherwise begin a new registry with a later epoch or more time bits in "uidgen.layout".';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_lifetime(bigint, bigint, bigint, bigint) IS 'raises an error if a tick is beyond what may be granted';

CREATE FUNCTION uidgen_registry.reset_hint(setting text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN format('Set it back: ALTER DATABASE %I RESET %s, or ALTER ROLE %I RESET %s.', current_database(), setting, session_user, setting);
END
$$;
COMMENT ON FUNCTION uidgen_registry.reset_hint(text) IS 'how to take back a setting of this database, or of the role of this session';

-- A snapshot is older than the call, so a function cannot change this for its own transaction.
CREATE FUNCTION uidgen_registry.refuse_isolation() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'a registry can be asked in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
			DETAIL = format('This transaction has isolation level %s, so it may not see what others were granted meanwhile.', current_setting('transaction_isolation')),
			HINT = CASE WHEN current_setting('transaction_isolation') = current_setting('default_transaction_isolation')
				THEN 'The setting "default_transaction_isolation" is not for a registry. ' || uidgen_registry.reset_hint('default_transaction_isolation')
				ELSE 'Use isolation level read committed.' END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.refuse_isolation() IS 'raises the error that a transaction''s isolation level is not for a registry';

CREATE FUNCTION uidgen_registry.check_request(
	policy text,
	datacenter integer,
	wanted integer,
	max_datacenter integer,
	max_worker integer,
	by_setting boolean DEFAULT true) RETURNS void	-- of the server that calls; false: by an argument of the function that was called
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		PERFORM uidgen_registry.refuse_isolation();
	END IF;
	IF policy NOT IN ('reuse', 'disposable') THEN
		RAISE EXCEPTION 'there is no worker policy "%"', policy USING ERRCODE = 'invalid_parameter_value', HINT = 'The policies are "reuse" and "disposable".';
	END IF;
	-- A role that may be a node and a guest gets no worker id of nodes by the lengths of guests.
	IF NOT by_setting AND (wanted >= 0 OR policy <> 'reuse') THEN
		RAISE EXCEPTION 'a guest chooses neither its worker id nor a policy' USING ERRCODE = 'invalid_parameter_value', HINT = 'Call uidgen_registry.guest_acquire().';
	END IF;
	IF datacenter NOT BETWEEN 0 AND max_datacenter THEN
		RAISE EXCEPTION 'datacenter id % is out of range', datacenter
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('The layout has room for datacenter ids from 0 to %s.', max_datacenter),
				HINT = format('Change the %s.', CASE WHEN by_setting THEN 'setting "uidgen.datacenter_id"' ELSE 'argument "datacenter"' END);
	END IF;
	IF wanted > max_worker THEN
		RAISE EXCEPTION 'worker id % is out of range', wanted
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('The layout has room for worker ids from 0 to %s.', max_worker),
				HINT = 'Change the setting "uidgen.worker_id".';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_request(text, integer, integer, integer, integer, boolean) IS 'raises an error if a request for a worker id makes no sense';

CREATE FUNCTION uidgen_registry.check_epoch(now_tick bigint, unit bigint, epoch bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF now_tick < 0 THEN
		RAISE EXCEPTION 'the epoch of the layout is in the future' USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The epoch is %s, the clock shows %s.', uidgen_registry.tick_time(0, unit, epoch), uidgen_registry.tick_time(now_tick, unit, epoch)),
				HINT = 'If the clock is wrong, correct it. Otherwise give the setting "uidgen.layout" an epoch in the past.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_epoch(bigint, bigint, bigint) IS 'raises an error if the epoch of a layout is in the future';

CREATE FUNCTION uidgen_registry.never_used_worker(l uidgen_registry.registry, datacenter integer, locked integer[]) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	workers CONSTANT bigint := coalesce(l.first_guest, l.max_worker + 1::bigint);	-- the others are for guests
	free bigint;
	pick bigint;
BEGIN
	SELECT workers - count(*) INTO free
		FROM (SELECT n.worker_id FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = datacenter AND n.worker_id < workers UNION SELECT unnest(locked)) AS used;
	IF free <= 0 THEN
		RETURN NULL;
	END IF;
	-- The pick-th free id, counted from 0, is pick plus the number of used ids that have at most `pick` free ids
	-- below.
	pick := floor(random() * free)::bigint;
	RETURN pick + (SELECT count(*)
		FROM (SELECT n.worker_id - (row_number() OVER (ORDER BY n.worker_id) - 1) AS free_below
			  FROM (SELECT n.worker_id FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = datacenter AND n.worker_id < workers
					UNION SELECT unnest(locked)) AS n (worker_id)) AS used
		WHERE used.free_below <= pick);
END
$$;
COMMENT ON FUNCTION uidgen_registry.never_used_worker(uidgen_registry.registry, integer, integer[]) IS 'a worker id that the registry has no row of, and that is none of those, at random; null: there is none';

-- What is given out without having been written would be given out again.  So each write is
-- followed by this; one that may find another row than it expects, by
--	check_written(FOUND OR current_setting('session_replication_role') <> 'replica').
CREATE FUNCTION uidgen_registry.check_written(written boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF written IS NOT TRUE THEN
		RAISE EXCEPTION 'the registry could not write a row'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = CASE WHEN current_setting('session_replication_role') = 'replica'
					THEN '"session_replication_role" is "replica", as for rows that replication brings, and the registry takes none of these.'
					ELSE 'A trigger or a rule on a table of schema uidgen_registry, which is not of the extension, has dropped the row.' END,
				HINT = CASE WHEN current_setting('session_replication_role') = 'replica'
					THEN uidgen_registry.reset_hint('session_replication_role')
					ELSE 'Remove that trigger or rule.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_written(boolean) IS 'raises an error if a row was not written';

-- With the first row, registry notes that there is one (has_granted).  Only end_registry() removes the last row, and
-- it removes the layout as well.  Where all are gone, somebody or something has removed them: a crash, of a table
-- that was not logged.  A server that has been granted something by its local registry knows how far that reached.
-- One that starts does not, nor does a fleet's registry know what all of its nodes have, and what was kept from them.
CREATE FUNCTION uidgen_registry.check_rows(floor_tick bigint DEFAULT 0) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
BEGIN
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	IF l.has_granted IS NOT TRUE OR EXISTS (SELECT FROM uidgen_registry.worker_node) THEN
		RETURN;
	-- Tick 0 has no id 0, so whoever has drawn nothing begins with the next one.
	ELSIF floor_tick <= 1 THEN
		RAISE EXCEPTION 'the registry has lost its rows'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It has granted worker ids, and knows neither which nor until when, so ids could come twice.',
				HINT = format(CASE WHEN l.shared THEN 'If you have a backup of it, restore that. Otherwise let its owner end it in database "%s", and begin anew: docs/runbook.md, "Lost rows".'
					ELSE 'If you have a backup of it, use that. Otherwise wait until the clock is past the time of all ids, and let its owner run SELECT uidgen_registry.end_registry() in database "%s": then a new registry begins.' END,
					current_database());
	END IF;
	-- Which worker ids are reserved for ids of the past is forgotten, too.  By another number it is another registry, whose
	-- reservations these are not.
	UPDATE uidgen_registry.registry AS r SET id = uidgen_registry.new_token();
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_rows(bigint) IS 'if the rows were lost: an error if the caller does not know what was granted, otherwise a new registry number';

-- Before a row is inserted, since who locks both tables locks registry first.  So the first one of a fleet, and
-- that one alone, keeps others from inserting theirs until it is committed.
CREATE FUNCTION uidgen_registry.note_grant() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
BEGIN
	-- Otherwise this transaction seems to be one that keeps the row locked: see end_holder().
	IF EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE NOT r.has_granted) THEN
		UPDATE uidgen_registry.registry AS r SET has_granted = true;
		PERFORM uidgen_registry.check_written(FOUND);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.note_grant() IS 'notes that there are rows, for check_rows()';

-- A worker id that no row has.  A transaction that goes on may have just inserted one, which nobody sees: then another
-- worker id is better than to wait.
CREATE FUNCTION uidgen_registry.insert_worker(node uidgen_registry.worker_node) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	waits CONSTANT text := current_setting('lock_timeout');
	inserted boolean := false;
BEGIN
	BEGIN
		PERFORM set_config('lock_timeout', '100ms', true);
		PERFORM uidgen_registry.note_grant();
		INSERT INTO uidgen_registry.worker_node AS n SELECT (insert_worker.node).* ON CONFLICT (datacenter_id, worker_id) DO NOTHING;
		inserted := FOUND;
		PERFORM uidgen_registry.check_written(inserted
			OR EXISTS (SELECT FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = node.datacenter_id AND n.worker_id = node.worker_id));
		PERFORM set_config('lock_timeout', waits, true);
	EXCEPTION
		WHEN lock_not_available THEN
			NULL;
	END;
	RETURN inserted;
END
$$;
COMMENT ON FUNCTION uidgen_registry.insert_worker(uidgen_registry.worker_node) IS 'whether a worker id that had no row has this one now; false: another transaction has made one, or is about to';

CREATE FUNCTION uidgen_registry.forget_worker(worker integer, datacenter integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	dc integer := coalesce(datacenter, nullif(current_setting('uidgen.datacenter_id', true), '')::integer, 0);
	clock CONSTANT timestamptz := uidgen_registry.registry_clock();
	l uidgen_registry.registry;
BEGIN
	PERFORM uidgen_registry.refuse_block('uidgen_registry.forget_worker()');
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	-- Who was granted it would issue ids that uid_backfill() issues later.  A local registry goes by the end of the
	-- grant, which stays, and grants it to nobody.
	IF l.shared AND EXISTS (SELECT FROM uidgen_registry.worker_node AS n
		WHERE n.datacenter_id = dc AND n.worker_id = worker AND n.granted_until >= l.max_tick AND starts_with(n.host_name, 'uid_backfill() ')) THEN
		RAISE EXCEPTION 'worker id % of datacenter % is reserved for ids of past times', worker, dc
			USING ERRCODE = 'object_in_use', DETAIL = 'It is used up by uidgen_registry.reserve_backfill(), for good: uid_backfill() has issued ids with it, or may.',
				HINT = 'If worker ids are scarce, begin a new registry with a layout that has more worker bits.';
	END IF;
	-- The row stays, so that the next grant of this worker id begins above what was granted:
	-- for one that keep_worker() kept, above what any grant can reach.
	UPDATE uidgen_registry.worker_node AS n SET
			identity = NULL,
			token = NULL,
			granted_until = CASE WHEN l.shared AND n.granted_until >= l.max_tick
				THEN uidgen_registry.tick_at(clock, l.unit, l.epoch) + uidgen_registry.ticks_in(l.max_lead, l.unit) + uidgen_registry.ticks_in(l.clock_slack, l.unit) + 1
				ELSE n.granted_until END,
			released = true,
			modified = greatest(CASE WHEN l.shared THEN n.modified END, clock)
		WHERE n.datacenter_id = dc AND n.worker_id = worker;
	IF NOT FOUND THEN
		PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = dc AND n.worker_id = worker));
		RAISE EXCEPTION 'there is no worker id % of datacenter % in the registry', worker, dc
			USING ERRCODE = 'undefined_object', DETAIL = format('The registry has %s worker ids.', (SELECT count(*) FROM uidgen_registry.worker_node)),
				HINT = 'The table uidgen_registry.worker_node lists them.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.forget_worker(integer, integer) IS 'frees a worker id whose instance will never issue ids again, or one that keep_worker() kept';
