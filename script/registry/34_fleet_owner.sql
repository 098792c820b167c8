--
-- What the owner of a fleet's registry does, and who may call what.
--

CREATE FUNCTION uidgen_registry.import_worker(datacenter integer, worker integer, granted_until timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
	until bigint;
BEGIN
	PERFORM uidgen_registry.begin_call();
	SELECT (b.l).* INTO STRICT l FROM uidgen_registry.begin_node_call(queues => true) AS b;
	PERFORM uidgen_registry.check_rows();
	IF isfinite(granted_until) THEN
		until := uidgen_registry.tick_at(granted_until, l.unit, l.epoch);
	END IF;
	IF until BETWEEN 0 AND l.max_tick - 1 THEN
		PERFORM uidgen_registry.check_named_workers(l, datacenter, ARRAY[worker], by_setting => false);
		PERFORM uidgen_registry.raise_ends(l, datacenter, ARRAY[worker], ARRAY[until]);
	ELSE
		RAISE EXCEPTION 'timestamp is outside the layout: %', granted_until
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('It begins at %s, and the last tick that can be granted begins at %s.',
								uidgen_registry.tick_time(0, l.unit, l.epoch), uidgen_registry.tick_time(l.max_tick - 1, l.unit, l.epoch)),
				HINT = 'To keep a worker id for ever, use uidgen_registry.keep_worker().';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.import_worker(integer, integer, timestamptz) IS 'lets grants of a worker id begin after this time: a server issues ids up to there by its local registry';

-- The last tick is never granted, so an end there belongs to no node and is never over.
CREATE FUNCTION uidgen_registry.keep_worker(datacenter integer, worker integer) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen_registry.registry;
	now_time timestamptz;
	until bigint;
BEGIN
	PERFORM uidgen_registry.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => true) AS b;
	PERFORM uidgen_registry.check_rows();
	l := call.l;
	PERFORM uidgen_registry.check_named_workers(l, datacenter, ARRAY[worker], by_setting => false);
	-- What was lost is not over because no node has asked since.
	IF call.went_back THEN
		l.quarantine_until := uidgen_registry.begin_quarantine();
	END IF;
	now_time := uidgen_registry.registry_clock();
	PERFORM uidgen_registry.note_grant();
	-- First a row, so that there is one to lock: a node may be about to take this worker id.
	INSERT INTO uidgen_registry.worker_node AS n
		(datacenter_id, worker_id, launch_date, created, modified, granted_until, released, launches, guest)
		VALUES (datacenter, worker, now_time::date, now_time, now_time, 0, true, 0, CASE WHEN worker >= l.first_guest THEN '' END)
		ON CONFLICT (datacenter_id, worker_id) DO NOTHING;
	SELECT n.granted_until INTO until FROM uidgen_registry.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker FOR UPDATE;
	PERFORM uidgen_registry.check_written(FOUND);
	UPDATE uidgen_registry.worker_node AS n SET
			modified = greatest(n.modified, now_time),
			identity = NULL,
			token = NULL,
			granted_until = l.max_tick,
			released = false
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker;
	PERFORM uidgen_registry.check_written(FOUND);
	IF until >= l.max_tick THEN
		RETURN NULL;
	END IF;
	-- As far as grants can reach that the registry knows of, or has lost.
	RETURN timestamptz '1970-01-01 00:00 UTC'
		+ ((greatest(until, l.quarantine_until) + 1::numeric) * l.unit + l.epoch)::double precision * interval '1 microsecond';
END
$$;
COMMENT ON FUNCTION uidgen_registry.keep_worker(integer, integer)
	IS 'keeps a worker id from all nodes; a local registry may issue its ids from the returned time on; null: it was kept before';

-- Settings of the database, of a role, or of both that keep nodes from being served.  Calls cannot lift them for
-- themselves.  Some are refused by name when a call meets them; a time-out that is mostly long enough shows under
-- load only.  So those who make a registry or a node are told.  A call waits for a lock for a second.
CREATE FUNCTION uidgen_registry.warn_of_settings(role oid) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record;
BEGIN
	FOR s IN
		SELECT c.name, c.value,
				CASE WHEN r.setrole = 0 THEN format('DATABASE %I', current_database())
					WHEN r.setdatabase = 0 THEN format('ROLE %s', r.setrole::regrole)
					ELSE format('ROLE %s IN DATABASE %I', r.setrole::regrole, current_database()) END AS holder
			FROM pg_db_role_setting AS r CROSS JOIN unnest(r.setconfig) AS u (entry)
				CROSS JOIN LATERAL (SELECT lower(split_part(u.entry, '=', 1)), substr(u.entry, strpos(u.entry, '=') + 1)) AS c (name, value)
			WHERE r.setrole = role AND r.setdatabase IN (0, (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
		UNION ALL
		SELECT g.name, g.setting || coalesce(g.unit, ''), NULL
			FROM pg_settings AS g WHERE role = 0 AND g.source IN ('default', 'configuration file', 'command line', 'environment variable')
		ORDER BY 1, 3
	LOOP
		CONTINUE WHEN NOT CASE
			WHEN s.name = 'default_transaction_isolation' THEN s.value NOT IN ('read committed', 'read uncommitted')
			WHEN s.name = 'default_transaction_read_only' THEN s.value::boolean
			WHEN s.name = 'session_replication_role' THEN s.value = 'replica'
			WHEN s.name IN ('statement_timeout', 'transaction_timeout', 'idle_session_timeout') THEN uidgen_registry.is_short(s.value)
			ELSE false END;
		RAISE WARNING 'the setting "%" is not for a registry', s.name
			USING DETAIL = format('It is %L, and %s.', s.value,
					CASE WHEN s.name = 'idle_session_timeout' THEN 'sessions of nodes are idle before and after a call'
						WHEN s.name LIKE '%timeout' THEN 'calls of nodes may take a second and more' ELSE 'calls of nodes are refused with it' END),
				HINT = CASE WHEN s.holder IS NOT NULL THEN format('Run ALTER %s RESET %s.', s.holder, s.name)
					ELSE format('Run ALTER DATABASE %I SET %s = %L.', current_database(), s.name,
						CASE s.name WHEN 'default_transaction_isolation' THEN 'read committed' WHEN 'default_transaction_read_only' THEN 'off'
							WHEN 'session_replication_role' THEN 'origin' ELSE '10s' END) END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_registry.warn_of_settings(oid) IS 'warns of settings of a role in this database (0: of the database and server) under which nodes cannot be served';

-- As settings have it: milliseconds, unless there is a unit.  0 is no limit.
CREATE FUNCTION uidgen_registry.is_short(length text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN length ~ '^[0-9.]+ *(us|ms|s|min|h|d)?$'
	THEN (CASE WHEN length ~ '[a-z]' THEN length ELSE length || 'ms' END)::interval BETWEEN interval '1 microsecond' AND interval '4999 milliseconds'
	ELSE false END;
COMMENT ON FUNCTION uidgen_registry.is_short(text) IS 'whether a time-out is too short for calls of nodes';

CREATE FUNCTION uidgen_registry.refuse_sharing() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'the registry is in use'
		USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = CASE WHEN EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE r.shared) THEN 'It is shared already.'
				ELSE 'It is the local registry of its server, and stays that.' END,
			HINT = 'Begin a new registry in another database.';
END
$$;
COMMENT ON FUNCTION uidgen_registry.refuse_sharing() IS 'raises the error that the registry is in use already';

-- Make the registry a fleet's.  That is decided before the first grant and for good, since a keeper of one mode would
-- not keep the other's rules.
CREATE FUNCTION uidgen_registry.share_registry(
	layout_text text DEFAULT NULL,
	max_lead interval DEFAULT '4 minutes',
	clock_slack interval DEFAULT '10 seconds',
	first_guest integer DEFAULT NULL,
	guest_lead interval DEFAULT NULL,
	new_fleet boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	l record;
	now_time timestamptz;
BEGIN
	IF guest_lead IS NOT NULL AND first_guest IS NULL THEN
		RAISE EXCEPTION 'guest_lead has no use without first_guest' USING ERRCODE = 'invalid_parameter_value', HINT = 'Name the first worker id that is for guests.';
	END IF;
	layout_text := coalesce(layout_text, nullif(current_setting('uidgen.layout', true), ''));
	IF layout_text IS NULL THEN
		RAISE EXCEPTION 'the layout is missing' USING ERRCODE = 'invalid_parameter_value', DETAIL = 'This server has no setting "uidgen.layout".',
				HINT = 'Name the layout of all nodes: SELECT uidgen_registry.share_registry(''default''), if they have set no other one.';
	END IF;
	SELECT p.* INTO STRICT l FROM uidgen_registry.parse_layout(layout_text) AS p;
	PERFORM uidgen_registry.check_generates(l.names, l.bits);

	-- The first grant writes a layout as well, and there is one row: whoever comes second finds it.
	IF EXISTS (SELECT FROM uidgen_registry.registry) OR EXISTS (SELECT FROM uidgen_registry.worker_node) THEN
		PERFORM uidgen_registry.refuse_sharing();
	END IF;
	now_time := uidgen_registry.registry_clock();
	PERFORM uidgen_registry.check_epoch(uidgen_registry.tick_at(now_time, l.unit, l.epoch), l.unit, l.epoch);
	INSERT INTO uidgen_registry.registry AS r
		(only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database,
		 shared, id, max_lead, clock_slack, guest_lead, system_identifier, timeline, started, quarantine_until)
		SELECT true, l.layout, l.unit, l.epoch, l.max_tick, l.max_datacenter, l.max_worker, now_time, h.database,
			true, uidgen_registry.new_token(), max_lead, clock_slack, guest_lead, h.system_identifier, h.timeline, h.started, uidgen_registry.tick_at(now_time, l.unit, l.epoch)
		FROM uidgen_registry.present_history(with_label => false) AS h
		ON CONFLICT (only_one) DO NOTHING;
	IF NOT FOUND THEN
		PERFORM uidgen_registry.check_written(EXISTS (SELECT FROM uidgen_registry.registry));
		PERFORM uidgen_registry.refuse_sharing();
	END IF;
	-- Made again, it knows nothing of the grants of its predecessor.
	PERFORM uidgen_registry.begin_quarantine() WHERE new_fleet IS NOT TRUE;
	PERFORM uidgen_registry.set_first_guest(first_guest) WHERE first_guest IS NOT NULL;
	PERFORM uidgen_registry.warn_of_settings(0), uidgen_registry.revoke_public(), uidgen_registry.notice_databases();
END
$$;
COMMENT ON FUNCTION uidgen_registry.share_registry(text, interval, interval, integer, interval, boolean)
	IS 'makes this a fleet''s registry, for good, with this layout or the setting''s; new_fleet: nothing was granted, no wait';

-- A node's transaction that does not end may have locked what the owner locks.  Its session is ended: the session
-- whose transaction is the oldest that uses the table, and does not wait itself.  (A row's xmax may stand for a
-- subtransaction, which is in no list of locks.)  Whoever has the owner's rights is waited for.
CREATE FUNCTION uidgen_registry.end_holder(held regclass) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
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
			USING ERRCODE = 'lock_not_available', HINT = format('Look at pg_prepared_xacts, and end it with COMMIT PREPARED or ROLLBACK PREPARED. This database has: %s.', holder.prepared);
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
				USING ERRCODE = 'lock_not_available', HINT = format('Let somebody who may do so run SELECT pg_terminate_backend(%s).', holder.pid);
	END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.end_holder(regclass) IS 'ends the session of a node that keeps a table''s rows locked, or says who else does';

-- Lock registry, or where a name is given the row of a segment, or of a role of guests, for its owner.
CREATE FUNCTION uidgen_registry.lock_for_owner(segment text DEFAULT NULL, guest text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	waits CONSTANT text := current_setting('lock_timeout');
BEGIN
	FOR i IN 1 .. 20 LOOP
		BEGIN
			PERFORM set_config('lock_timeout', CASE WHEN i < 20 THEN '200ms' ELSE waits END, true);
			IF guest IS NOT NULL THEN
				PERFORM FROM uidgen_registry.guest_role AS g WHERE g.name = guest FOR UPDATE;
			ELSIF segment IS NULL THEN
				PERFORM FROM uidgen_registry.registry AS r FOR UPDATE;
			ELSE
				PERFORM FROM uidgen_registry.segment AS s WHERE s.name = segment FOR UPDATE;
			END IF;
			PERFORM set_config('lock_timeout', waits, true);
			RETURN;
		EXCEPTION
			WHEN lock_not_available THEN
				IF i = 20 THEN
					RAISE;
				END IF;
		END;
		PERFORM uidgen_registry.end_holder(CASE WHEN guest IS NOT NULL THEN 'uidgen_registry.guest_role'::regclass
			WHEN segment IS NULL THEN 'uidgen_registry.registry'::regclass ELSE 'uidgen_registry.segment'::regclass END);
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_registry.lock_for_owner(text, text) IS 'locks registry, a segment''s row or a guest role''s row for the owner; ends sessions of nodes and guests in the way';

-- For change_registry(), which has locked registry.  R4 and R5: a quarantine that has begun is for grants by lengths
-- that this registry may not have known.  Each later quarantine is for grants by a longer length.
CREATE FUNCTION uidgen_registry.change_lengths(max_lead interval, clock_slack interval, guest_lead interval) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	old uidgen_registry.registry;
	new uidgen_registry.registry;
	now_tick bigint;
	standbys text;
BEGIN
	SELECT r.* INTO old FROM uidgen_registry.registry AS r WHERE r.shared;
	new := old;
	new.max_lead := coalesce(change_lengths.max_lead, old.max_lead);
	new.clock_slack := coalesce(change_lengths.clock_slack, old.clock_slack);
	new.guest_lead := coalesce(change_lengths.guest_lead, old.guest_lead);
	IF (new.max_lead, new.clock_slack, new.guest_lead) IS NOT DISTINCT FROM (old.max_lead, old.clock_slack, old.guest_lead) THEN
		RETURN;
	ELSIF new.guest_lead > new.max_lead THEN
		RAISE EXCEPTION 'guest_lead would be longer than max_lead' USING ERRCODE = 'invalid_parameter_value', DETAIL = format('guest_lead is %s, and max_lead is %s.', new.guest_lead, new.max_lead),
				HINT = format('Change both: SELECT uidgen_registry.change_registry(max_lead => %1$L, guest_lead => %1$L)', new.max_lead);
	ELSIF (new.max_lead, new.guest_lead) IS DISTINCT FROM (old.max_lead, old.guest_lead) THEN
		IF coalesce(old.former_max_lead, old.former_guest_lead) IS NOT NULL AND NOT uidgen_registry.judge_lengths(old.lengths_await) THEN
			standbys := uidgen_registry.lagging_standbys(coalesce(old.lengths_await, pg_current_wal_insert_lsn()));
			RAISE EXCEPTION 'the last change of "max_lead" or "guest_lead" does not count yet'
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('These have not replayed it, as far as the registry knows: %s.', standbys),
					HINT = 'Call it again when they have. Drop the slots of standbys that are gone, and run SELECT uidgen_registry.change_registry(confirming_standbys => 0) to forget their names.';
		END IF;
		standbys := uidgen_registry.lagging_standbys(pg_lsn 'FFFFFFFF/FFFFFFFF');
		new.former_max_lead := CASE WHEN standbys IS NOT NULL THEN old.max_lead END;
		new.former_guest_lead := CASE WHEN standbys IS NOT NULL THEN old.guest_lead END;
		new.lengths_await := NULL;
		IF standbys IS NOT NULL THEN
			RAISE NOTICE 'grants reach as far as the shorter length until the standbys know of this change' USING DETAIL = format('They are: %s.', standbys);
		END IF;
	END IF;
	now_tick := uidgen_registry.tick_at(uidgen_registry.registry_clock(), old.unit, old.epoch);
	UPDATE uidgen_registry.registry AS r SET
			max_lead = new.max_lead,
			clock_slack = new.clock_slack,
			guest_lead = new.guest_lead,
			former_max_lead = new.former_max_lead,
			former_guest_lead = new.former_guest_lead,
			lengths_await = new.lengths_await,
			-- who is cut off may be promoted as well
			standbys = ARRAY(SELECT unnest(r.standbys) UNION SELECT s.name FROM uidgen_registry.registry_standbys() AS s),
			reached_until = CASE WHEN new.max_lead < old.max_lead OR new.guest_lead < old.guest_lead
				THEN greatest(r.reached_until, now_tick + uidgen_registry.ticks_in(CASE WHEN new.max_lead < old.max_lead THEN old.max_lead ELSE old.guest_lead END, old.unit)) ELSE r.reached_until END,
			quarantine_until = r.quarantine_until + CASE WHEN r.quarantine_until > now_tick
				THEN greatest(0, uidgen_registry.ticks_in(new.max_lead + new.clock_slack - old.max_lead - old.clock_slack, old.unit)) ELSE 0 END,
			guest_quarantine_until = r.guest_quarantine_until + CASE WHEN r.guest_quarantine_until > now_tick
				THEN greatest(0, uidgen_registry.ticks_in(new.guest_lead + new.clock_slack - old.guest_lead - old.clock_slack, old.unit)) ELSE 0 END;
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.change_lengths(interval, interval, interval) IS 'changes max_lead, clock_slack and guest_lead of a fleet''s registry, and the quarantines that depend on them';

-- What the owner may change of the registry.  Null leaves a value as it is.
CREATE FUNCTION uidgen_registry.change_registry(
	max_lead interval DEFAULT NULL,
	clock_slack interval DEFAULT NULL,
	segments_confirmed boolean DEFAULT NULL,
	confirming_standbys integer DEFAULT NULL,
	guest_lead interval DEFAULT NULL,
	first_guest integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	owner CONSTANT regrole := (SELECT p.proowner FROM pg_proc AS p WHERE p.oid = 'uidgen_registry.registry_standbys()'::regprocedure);
	begins boolean;
BEGIN
	PERFORM uidgen_registry.refuse_block('uidgen_registry.change_registry()');
	IF confirming_standbys < 0 THEN
		RAISE EXCEPTION 'the number of standbys cannot be %', confirming_standbys
			USING ERRCODE = 'invalid_parameter_value', HINT = '0 stands for all that the registry has.';
	END IF;
	IF (segments_confirmed OR confirming_standbys = 0 OR coalesce(max_lead, guest_lead) IS NOT NULL AND EXISTS (SELECT FROM pg_stat_get_wal_senders()))
		AND NOT pg_has_role(owner, 'pg_read_all_stats', 'USAGE') THEN
		RAISE EXCEPTION 'role % cannot see what the standbys of the registry have replayed', owner
			USING ERRCODE = 'insufficient_privilege', DETAIL = 'Numbers of segments, or longer grants, would wait for that without end.',
				HINT = format('Run GRANT pg_monitor TO %s.', owner);
	END IF;
	PERFORM uidgen_registry.lock_for_owner();
	begins := segments_confirmed AND NOT EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE r.segments_confirmed);
	UPDATE uidgen_registry.registry AS r SET
			segments_confirmed = coalesce(change_registry.segments_confirmed, r.segments_confirmed),
			confirming_standbys = nullif(coalesce(change_registry.confirming_standbys, r.confirming_standbys), 0)
		WHERE r.shared;
	IF NOT FOUND THEN
		PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE r.shared));
		RAISE EXCEPTION 'this registry is not shared' USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Only a shared registry has what this changes.';
	END IF;
	PERFORM uidgen_registry.change_lengths(max_lead, clock_slack, guest_lead);
	IF first_guest IS NOT NULL THEN
		PERFORM uidgen_registry.set_first_guest(first_guest);
	END IF;
	-- What followed before need not follow for ever; who follows now is known.
	IF confirming_standbys = 0 OR begins THEN
		UPDATE uidgen_registry.registry AS r SET
				standbys = ARRAY(SELECT s.name FROM uidgen_registry.registry_standbys() AS s),
				standbys_reign = uidgen_registry.present_history(with_label => true);
		PERFORM uidgen_registry.check_written(FOUND);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.change_registry(interval, interval, boolean, integer, interval, integer)
	IS 'changes the lengths, the rules for segments and the first worker id for guests of a fleet''s registry; null: as it is';

-- A fleet's registry refuses all calls from then on, and keeps its rows, so that nobody takes it for a new one.  A local
-- one begins anew with the next grant.
CREATE FUNCTION uidgen_registry.end_registry() RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
DECLARE
	s record;
BEGIN
	IF EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE r.shared) THEN
		-- What another registry has to know to take its place.
		RETURN QUERY SELECT CASE f.state WHEN 'kept' THEN format('SELECT uidgen_registry.keep_worker(%s, %s);', f.datacenter_id, f.worker_id)
				ELSE format('SELECT uidgen_registry.import_worker(%s, %s, %L);', f.datacenter_id, f.worker_id, to_jsonb(f.until) #>> '{}') END
			FROM uidgen_registry.fleet AS f ORDER BY f.datacenter_id, f.worker_id;
		FOR s IN SELECT t.* FROM uidgen_registry.segment AS t ORDER BY t.name LOOP
			-- S1, which the next fetch would have brought about.
			IF uidgen_registry.compare_histories((s.system_identifier, s.timeline, s.started, s.database, s.restored)::uidgen_registry.history, uidgen_registry.present_history(with_label => true)) = 'went back' THEN
				IF s.last_value < s.max_value AND s.last_value + s.failover_gap::numeric > s.max_value THEN
					s.stopped := coalesce(s.stopped, format('The registry that it comes from had failed over or was restored, knew of numbers up to %s, and could not leave out failover_gap, which is %s.', s.last_value, s.failover_gap));
					s.stopped_since := coalesce(s.stopped_since, uidgen_registry.registry_clock());
				END IF;
				s.last_value := least(s.last_value + s.failover_gap::numeric, s.max_value)::bigint;
			END IF;
			RETURN NEXT format('SELECT uidgen_registry.import_segment(%L);', jsonb_strip_nulls(to_jsonb(s)
				- '{version,incarnation,run_start,system_identifier,timeline,database,created,modified,reigns,reign_ends,reign_begins,reign_floor,started,restored,unconfirmed,rate}'::text[]));
		END LOOP;
	ELSE
		PERFORM uidgen_registry.refuse_block('uidgen_registry.end_registry()');
		DELETE FROM uidgen_registry.worker_node;
		PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.worker_node));
	END IF;
	DELETE FROM uidgen_registry.registry;
	PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.registry));
END
$$;
COMMENT ON FUNCTION uidgen_registry.end_registry() IS 'ends the registry. A fleet''s refuses all calls, and returns what to run in its successor; a local one begins anew';

-- Guests refuse another registry and tell it nothing, so nobody can know which of them have grants that were lost: theirs ends by itself.
CREATE FUNCTION uidgen_registry.end_quarantine(guests boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
BEGIN
	PERFORM uidgen_registry.lock_for_owner();
	-- The guests' quarantine stays, even if no call has begun it so far.
	PERFORM uidgen_registry.begin_quarantine() FROM uidgen_registry.registry AS r
		WHERE guests IS NOT TRUE AND r.shared AND r.first_guest IS NOT NULL AND uidgen_registry.is_another_run(r);
	-- The history too: a restart that no node has noticed so far is the one that is meant.
	-- Nodes whose time is behind do not begin before this moment.
	UPDATE uidgen_registry.registry AS r SET
			system_identifier = h.system_identifier,
			timeline = h.timeline,
			timeline_offset = uidgen_registry.told_timeline(r, h) - h.timeline,
			started = h.started,
			database = h.database,
			quarantine_until = least(r.quarantine_until, uidgen_registry.tick_at(uidgen_registry.registry_clock(), r.unit, r.epoch)),
			guest_quarantine_until = CASE WHEN guests THEN least(r.guest_quarantine_until, uidgen_registry.tick_at(uidgen_registry.registry_clock(), r.unit, r.epoch))
				ELSE r.guest_quarantine_until END
		FROM uidgen_registry.present_history(with_label => false) AS h
		WHERE r.shared;
	IF NOT FOUND THEN
		PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE r.shared));
		RAISE EXCEPTION 'this registry is not shared' USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Only a shared registry has a quarantine.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.end_quarantine(boolean) IS 'lets nodes, and with true also guests, begin at once: only if no grant can be lost, as after a planned restart';

-- A node uses no answer of an earlier timeline than it has seen.  A backup that was made before some
-- failovers, or the former primary, has such a one.  This is the owner's word that it is the registry all the same.
-- Nodes are told a timeline above all that any server can have told them, also if the same backup is restored twice.
-- It begins with a quarantine.  Numbers of segments that it has lost nobody knows but the servers that have them, so
-- each segment is stopped.
CREATE FUNCTION uidgen_registry.take_over_registry() RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	now_time timestamptz;
	told integer;
	segments bigint;
BEGIN
	PERFORM uidgen_registry.refuse_block('uidgen_registry.take_over_registry()');
	PERFORM uidgen_registry.lock_for_owner();
	PERFORM uidgen_registry.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => true) AS b;
	now_time := uidgen_registry.registry_clock();
	-- A server has fewer failovers than there are seconds.
	told := greatest(call.timeline + 1, extract(epoch FROM now_time - timestamptz '2026-01-01 00:00:00+00')::integer);
	PERFORM uidgen_registry.begin_quarantine();
	UPDATE uidgen_registry.registry AS r SET timeline_offset = told - r.timeline;
	PERFORM uidgen_registry.check_written(FOUND);
	SELECT count(*) INTO segments FROM uidgen_registry.segment AS t WHERE t.stopped IS NULL;
	UPDATE uidgen_registry.segment AS t SET
			version = uidgen_registry.new_token(),
			run_start = NULL,
			modified = greatest(t.modified, now_time),
			stopped = format('The registry was taken over, and may lack numbers above %s that were given out.', t.last_value),
			stopped_since = now_time
		WHERE t.stopped IS NULL;
	PERFORM uidgen_registry.check_written(FOUND OR segments = 0);
	RETURN told;
END
$$;
COMMENT ON FUNCTION uidgen_registry.take_over_registry()
	IS 'makes the registry here the one that counts, as after a restore; stops its segments. Returns the timeline for nodes';

CREATE VIEW uidgen_registry.fleet AS
SELECT n.datacenter_id, n.worker_id, n.host_name, n.port, n.identity,
	CASE WHEN n.released THEN 'released'
		WHEN n.granted_until >= l.max_tick THEN 'kept'
		WHEN t.until <= uidgen_registry.registry_clock() THEN 'ended'
		ELSE 'running' END AS state,
	n.launch_date AS since, n.modified AS last_call, t.until, n.guest
FROM uidgen_registry.registry AS l, uidgen_registry.worker_node AS n,
	LATERAL (SELECT to_timestamp((least((n.granted_until::numeric + 1::numeric) * l.unit::numeric + l.epoch::numeric, 9200000000000000000::numeric) / 1000000::numeric)::double precision)) AS t (until);
COMMENT ON VIEW uidgen_registry.fleet IS 'the holders of worker ids: who, where, since when, until when, and the state of their grants';
COMMENT ON COLUMN uidgen_registry.fleet.datacenter_id IS 'the datacenter in the ids';
COMMENT ON COLUMN uidgen_registry.fleet.worker_id IS 'the worker id in the ids';
COMMENT ON COLUMN uidgen_registry.fleet.host_name IS 'the host of the last holder';
COMMENT ON COLUMN uidgen_registry.fleet.port IS 'the port of the last holder';
COMMENT ON COLUMN uidgen_registry.fleet.identity IS 'of the last holder: system identifier, timeline, inode of the control file, its time of birth, hash of the machine id';
COMMENT ON COLUMN uidgen_registry.fleet.state IS 'running; ended: the grant is over; released: handed back or freed; kept: by keep_worker() or reserve_backfill()';
COMMENT ON COLUMN uidgen_registry.fleet.since IS 'the day on which the worker id was last acquired';
COMMENT ON COLUMN uidgen_registry.fleet.last_call IS 'when it was last acquired, renewed or released';
COMMENT ON COLUMN uidgen_registry.fleet.until IS 'the end of its grant';
COMMENT ON COLUMN uidgen_registry.fleet.guest IS 'the role of the guest that had it last; empty: no guest has had it so far; null: it is for nodes';
