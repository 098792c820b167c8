--
-- The registry of a fleet: one for many servers, its nodes, and for guests (46_guests.sql).
--
-- A caller proves by a token that a row is its own.  It proposes the token itself, so it knows its row also after a
-- call whose answer was lost.  The registry may go back: be restored, or fail over to a server that lost commits.
-- Grants that the registry has lost may then be in use.  These rules keep grants apart all the same
-- (docs/design/fleet.md).  test/t/random_fleets.pl plays them, and finds equal ids where one is left out.
--
--	R1	A renewal needs the token and the end of the grant.  That end, or the last change of the row, is no older than max_lead.
--		Without it, a row that came back with its old token renews ticks that its next holder has.
--	R2	A claim is by token, or by the end of a grant that lies above the row's.  It counts until max_lead after that end, or
--		after the last change of a row that is not released.  The new grant begins above both ends.  The identity gives no
--		right, it only prefers.  Without it, a node that slept claims what others were granted since.
--	R3	Another's row is free once it is released, or its end and its last change are older than max_lead + clock_slack.
--		Without it, a row is taken while its holder may still claim it.
--	R4	No grant reaches further than max_lead ahead of the clock.  While not all standbys know of a change, the shorter length
--		counts.  A node's grant of a worker id that may have been a guest's reaches as far as a guest's.  Without it, no
--		quarantine is long enough: a failover that loses the change ends it by the former length or side.
--	R5	What is no claim begins above the end of the quarantine.  The registry is born in quarantine; another begins with
--		another history, or with a node's claim above its row's end and above the quarantine.  Without it, a new node is
--		granted what was granted before a failover.
--	R6	A caller uses only what it was told in full: its own part.  Without it, a commit that was lost is used.
--	R7	A release marks the row and does not lower its end.  Without it, the next holder is granted what a copy of the
--		last holder's memory uses.
--

CREATE FUNCTION uidgen_registry.ticks_in(length interval, unit bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN floor(extract(epoch FROM length) * 1000000::numeric / unit::numeric)::bigint;
COMMENT ON FUNCTION uidgen_registry.ticks_in(interval, bigint) IS 'how many whole ticks a length of time has, given their unit in microseconds';

CREATE FUNCTION uidgen_registry.microseconds("time" timestamptz) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (extract(epoch FROM "time") * 1000000::numeric)::bigint;
COMMENT ON FUNCTION uidgen_registry.microseconds(timestamptz) IS 'a time in microseconds since 1970 UTC, as nodes send and get it';

CREATE FUNCTION uidgen_registry.is_another_run(l uidgen_registry.registry, present uidgen_registry.history DEFAULT uidgen_registry.present_history(with_label => false)) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN uidgen_registry.compare_histories((l.system_identifier, l.timeline, l.started, l.database, NULL)::uidgen_registry.history, present) <> 'same';
COMMENT ON FUNCTION uidgen_registry.is_another_run(uidgen_registry.registry, uidgen_registry.history) IS 'whether a fleet''s registry may have gone back, or was restarted, since it wrote down its history';

-- R5.  If another call has the lock, that one writes it down: a renewal waits for nobody.
CREATE FUNCTION uidgen_registry.begin_quarantine(guest boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	clock CONSTANT timestamptz := uidgen_registry.registry_clock();
	newest bigint;
	result bigint;
BEGIN
	PERFORM FROM uidgen_registry.registry AS r FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	-- Above all that can have been granted before: R4 held then, by a clock that was at most
	-- clock_slack ahead of this one.  The newest change shows how far it was at least.
	SELECT uidgen_registry.tick_at(greatest(clock, (SELECT max(n.modified) FROM uidgen_registry.worker_node AS n)), r.unit, r.epoch)
			+ uidgen_registry.ticks_in(r.clock_slack, r.unit) + 1
		INTO STRICT newest FROM uidgen_registry.registry AS r;
	UPDATE uidgen_registry.registry AS r SET
			system_identifier = h.system_identifier,
			timeline = h.timeline,
			timeline_offset = uidgen_registry.told_timeline(r, h) - h.timeline,
			started = h.started,
			database = h.database,
			quarantine_until = greatest(r.quarantine_until, r.reached_until, newest + uidgen_registry.ticks_in(greatest(r.max_lead, r.former_max_lead), r.unit)),
			guest_quarantine_until = greatest(r.guest_quarantine_until, r.reached_until,
				newest + uidgen_registry.ticks_in(coalesce(greatest(r.guest_lead, r.former_guest_lead), greatest(r.max_lead, r.former_max_lead)), r.unit))
		FROM uidgen_registry.present_history(with_label => false) AS h
		RETURNING CASE WHEN guest THEN r.guest_quarantine_until ELSE r.quarantine_until END INTO result;
	PERFORM uidgen_registry.check_written(FOUND);
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_quarantine(boolean) IS 'notes the present history and begins a quarantine; returns its last tick, or null if another call is doing that';

-- What all calls of nodes begin with, and those for segments in a local registry, too.
CREATE FUNCTION uidgen_registry.begin_call() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Asked first, since a standby would say something else to each of the next statements.
	IF current_setting('transaction_read_only')::boolean THEN
		-- A node keeps the message alone, of each host.
		IF NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only')::boolean THEN
			RAISE EXCEPTION 'the registry cannot be written with "default_transaction_read_only"'
				USING ERRCODE = 'read_only_sql_transaction', HINT = uidgen_registry.reset_hint('default_transaction_read_only');
		END IF;
		RAISE EXCEPTION 'the registry cannot be written on this server'
			USING ERRCODE = 'read_only_sql_transaction', DETAIL = 'The server is a standby, or this transaction may only read.',
				HINT = 'Ask the primary server.';
	END IF;
	-- Of renewals as well, which would do without: so that nodes that run say at once what is wrong, and
	-- not those alone that begin, long after the setting was made.
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		PERFORM uidgen_registry.refuse_isolation();
	END IF;
	-- For this transaction, behind whatever pooler: a caller that has given up does not hold
	-- up others, and what is answered is on disk, also of a synchronous standby.
	PERFORM set_config('lock_timeout', '1s', true), set_config('synchronous_commit', 'on', true);
	-- Errors that are caught further on are none.
	PERFORM set_config('exit_on_error', 'off', true);
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
			RAISE EXCEPTION 'each call is a transaction of its own' USING ERRCODE = 'active_sql_transaction', HINT = 'Commit before the next call.';
		END IF;
		-- And keeps them for so long, unless it wills more.  The calls of keepers are never idle
		-- before they are committed, since a call and its commit are one message; this has room
		-- for a slow network between the two.
		PERFORM set_config('idle_in_transaction_session_timeout', '5s', true);
		-- A node reads only the first bytes of an answer, and messages for debugging count as well.
		PERFORM set_config('client_min_messages', 'warning', true);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_call() IS 'raises an error where nothing can be written, and sets how this transaction waits and commits';

-- Whether another transaction that goes on has changed or locked a row, which now has this xmax.  Most rows have
-- none.  If there is one, the lock is tried, and given back: an xmax may stand for a subtransaction or for several,
-- which are in no list of locks.  A transaction of the caller's own role may be its last call, which was not answered
-- and commits at any moment; so with by_other_role the answer is false while another session of this role writes to
-- the table.
CREATE FUNCTION uidgen_registry.is_locked(n uidgen_registry.worker_node, row_xmax xid, by_other_role boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF row_xmax IS NULL OR row_xmax = '0'::xid THEN
		RETURN false;
	END IF;
	BEGIN
		PERFORM FROM uidgen_registry.worker_node AS t
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
		WHERE k.locktype = 'relation' AND k.relation = 'uidgen_registry.worker_node'::regclass AND k.mode = 'RowExclusiveLock'
			AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
			AND k.pid <> pg_backend_pid() AND a.usename = session_user);
END
$$;
COMMENT ON FUNCTION uidgen_registry.is_locked(uidgen_registry.worker_node, xid, boolean) IS 'whether another transaction has locked a row, which has this xmax; with by_other_role, whether one of another role has';

CREATE FUNCTION uidgen_registry.explain_lock(worker integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'worker id % is locked', worker
		USING ERRCODE = 'lock_not_available', DETAIL = 'A transaction of another role has changed or locked its row, and goes on.',
			HINT = 'If this lasts, see in the registry''s database who holds the lock: SELECT pid, usename, client_addr, state, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL.';
END
$$;
COMMENT ON FUNCTION uidgen_registry.explain_lock(integer) IS 'raises the error that another role has locked a worker id';

-- R4.  Who can take over without the change is a standby that follows, one that has followed, or one that left a slot.
CREATE FUNCTION uidgen_registry.lagging_standbys(awaited pg_lsn) RETURNS text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	WITH following AS MATERIALIZED (SELECT s.name, s.replayed FROM uidgen_registry.registry_standbys() AS s)
	SELECT string_agg(k.name, ', ' ORDER BY k.name)
		FROM (SELECT s.name FROM following AS s WHERE s.replayed < awaited
			UNION SELECT n.name FROM uidgen_registry.registry AS r CROSS JOIN unnest(r.standbys) AS n (name) WHERE n.name NOT IN (SELECT s.name FROM following AS s)
			UNION SELECT 'slot ' || s.slot_name FROM pg_replication_slots AS s WHERE s.slot_type = 'physical' AND NOT s.temporary AND s.restart_lsn < awaited
			-- what registry_standbys() may not see
			UNION SELECT 'a standby' FROM pg_stat_get_wal_senders() AS w WHERE NOT pg_has_role('pg_read_all_stats', 'USAGE')) AS k (name)
$$;
COMMENT ON FUNCTION uidgen_registry.lagging_standbys(pg_lsn) IS 'the standbys that may not have replayed the log up to a position; null: there are none';

-- The call that finds the change can say which position is enough: the change was committed before.  If another call has the
-- lock, that one writes: a renewal waits for nobody.
CREATE FUNCTION uidgen_registry.judge_lengths(awaited pg_lsn) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
DECLARE
	present pg_lsn;
	is_known boolean := awaited IS NOT NULL;
	is_written boolean;
BEGIN
	IF is_known AND uidgen_registry.lagging_standbys(awaited) IS NOT NULL THEN
		RETURN false;
	END IF;
	PERFORM FROM uidgen_registry.registry AS r FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	-- Behind the lock: by now the owner may have made another change, which is as new to this call.
	IF NOT is_known THEN
		present := pg_current_wal_insert_lsn();
		is_known := uidgen_registry.lagging_standbys(present) IS NULL;
	END IF;
	UPDATE uidgen_registry.registry AS r SET
			former_max_lead = CASE WHEN NOT is_known THEN r.former_max_lead END,
			former_guest_lead = CASE WHEN NOT is_known THEN r.former_guest_lead END,
			lengths_await = CASE WHEN NOT is_known THEN present END
		WHERE r.lengths_await IS NOT DISTINCT FROM awaited;
	is_written := FOUND;
	PERFORM uidgen_registry.check_written(is_written OR current_setting('session_replication_role') <> 'replica');
	RETURN is_known AND is_written;
END
$$;
COMMENT ON FUNCTION uidgen_registry.judge_lengths(pg_lsn) IS 'whether all standbys know of the last change of max_lead or guest_lead; notes that, or what they have to replay';

CREATE FUNCTION uidgen_registry.reach_of(l uidgen_registry.registry, worker integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN uidgen_registry.ticks_in(least(l.max_lead, l.former_max_lead, CASE WHEN worker >= l.lowest_first_guest THEN least(l.guest_lead, l.former_guest_lead) END), l.unit);
COMMENT ON FUNCTION uidgen_registry.reach_of(uidgen_registry.registry, integer) IS 'how many ticks ahead of the clock a grant of a worker id may reach, for the kind of caller whose lengths these are (R4)';

-- What each call of a node for worker ids goes on with, after begin_call(); lease() twice, if it has to queue.
CREATE FUNCTION uidgen_registry.begin_node_call(
	queues boolean,					-- behind others that write to registry, or look at all rows
	guest boolean DEFAULT false,	-- with the lengths of guests, for a role that may be one
	OUT l uidgen_registry.registry, OUT role text,					-- of the guest; no name, whose collation would keep identities from their index
	OUT system_identifier bigint, OUT timeline integer,			-- as nodes are told
	OUT went_back boolean)			-- the registry may have gone back since its history was written down
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	h uidgen_registry.history;
BEGIN
	IF queues THEN
		SELECT r.* INTO l FROM uidgen_registry.registry AS r FOR UPDATE;
	ELSE
		SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	END IF;
	IF l.shared IS NOT TRUE THEN
		RAISE EXCEPTION 'this registry is not shared'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = CASE WHEN l.layout IS NULL THEN 'It has no layout yet.' ELSE 'It is the local registry of its server.' END,
				HINT = CASE WHEN l.layout IS NULL THEN 'Its owner can run SELECT uidgen_registry.share_registry().'
					ELSE 'Point the setting "uidgen.registry" at a database whose registry is shared.' END;
	END IF;
	h := uidgen_registry.present_history(with_label => false);
	system_identifier := h.system_identifier;
	timeline := uidgen_registry.told_timeline(l, h);
	-- A restart counts, too: what a snapshot or an unsafe disk has lost is over after a quarantine, which costs
	-- nodes that run nothing.
	went_back := uidgen_registry.is_another_run(l, h);
	IF coalesce(l.former_max_lead, l.former_guest_lead) IS NOT NULL AND uidgen_registry.judge_lengths(l.lengths_await) THEN
		l.former_max_lead := NULL;
		l.former_guest_lead := NULL;
	END IF;
	IF guest THEN
		role := session_user;
		PERFORM uidgen_registry.check_guest(l);
		l.max_lead := l.guest_lead;
		l.former_max_lead := l.former_guest_lead;
		l.quarantine_until := l.guest_quarantine_until;
	END IF;
	l.max_lead := greatest(l.max_lead, l.former_max_lead);
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_node_call(boolean, boolean) IS 'what each call of a node goes on with after begin_call(): perhaps a queue, and what the registry knows of itself';

-- Nodes ask it of all hosts at once, standbys too.  Stable, so that it cannot write.
CREATE FUNCTION uidgen_registry.registry_identity(
	OUT registry_id bigint,			-- null: there is no registry of a fleet
	OUT system_identifier bigint, OUT timeline integer,			-- as nodes are told
	OUT in_recovery boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
	h uidgen_registry.history;
BEGIN
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	h := uidgen_registry.present_history(with_label => false);
	registry_id := CASE WHEN l.shared THEN l.id END;
	system_identifier := h.system_identifier;
	timeline := uidgen_registry.told_timeline(l, h);
	in_recovery := pg_is_in_recovery();
END
$$;
COMMENT ON FUNCTION uidgen_registry.registry_identity() IS 'the fleet''s registry in this database, if any: its number, its cluster and timeline, and whether this is a standby';

-- Read last, so that the node can bound by how much its own clock is off.
CREATE FUNCTION uidgen_registry.end_node_call(not_after bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	clock CONSTANT bigint := uidgen_registry.microseconds(uidgen_registry.registry_clock());
BEGIN
	IF clock > not_after THEN
		RAISE EXCEPTION 'the node waits for this call no longer'
			USING ERRCODE = 'query_canceled', DETAIL = format('The call finished %s ms after the deadline that the node gave it.', floor((clock::numeric - not_after) / 1000)),
				HINT = 'If this is frequent, look for what keeps the registry busy, or raise the setting "uidgen.registry_timeout" of the node.';
	END IF;
	RETURN clock;
END
$$;
COMMENT ON FUNCTION uidgen_registry.end_node_call(bigint) IS 'what each call of a node ends with: the registry''s clock, or an error if the node has given up the call';

-- The text is canonical, and the registry has parsed it itself.
CREATE FUNCTION uidgen_registry.check_node_layout(l uidgen_registry.registry, layout_text text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF l.layout IS DISTINCT FROM layout_text THEN
		RAISE EXCEPTION 'the layout differs from the registry''s'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('The registry has "%s", this server has "%s".', l.layout, left(layout_text, 256)),
				HINT = 'Set "uidgen.layout" to the registry''s layout and restart the server.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_node_layout(uidgen_registry.registry, text) IS 'raises an error if a node''s layout is another than the registry''s';

-- R2.  After a lost answer the row is the one that the node knows, or one that it acquired
-- under its identity; no index has tokens, since they change with each renewal.
--
-- Where the clock is ahead of the nodes' time, ends are old when they are granted.  So the
-- last change counts as well, as it does in is_free(): by the same comparison, clock_slack
-- earlier.
--
-- IS NOT DISTINCT FROM uses no index.  All rows may have one datacenter.  So a plan that is kept, and was made for a
-- few rows, still looks up an identity by the index of identities.
CREATE FUNCTION uidgen_registry.find_claimed_worker(
	l uidgen_registry.registry,
	clock timestamptz,
	now_tick bigint,
	holder text,
	datacenter integer,
	wanted integer,
	known_tokens bigint[],
	claimed_worker integer,
	claimed_until bigint,
	role text,						-- of a guest; null: a node
	OUT worker integer, OUT before uidgen_registry.worker_node)	-- its row then, if there is one
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	ended_since CONSTANT bigint := now_tick - uidgen_registry.ticks_in(l.max_lead, l.unit);
	changed_since CONSTANT timestamptz := clock - l.max_lead;
BEGIN
	SELECT n.* INTO before
		FROM (SELECT c.* FROM uidgen_registry.worker_node AS c WHERE c.datacenter_id = datacenter AND c.worker_id = claimed_worker
			UNION ALL
			SELECT i.* FROM uidgen_registry.worker_node AS i WHERE i.identity = holder AND i.datacenter_id IS NOT DISTINCT FROM datacenter) AS n
		WHERE n.token = ANY (known_tokens)
			AND (n.granted_until >= ended_since OR n.modified >= changed_since)
			AND (wanted < 0 OR n.worker_id = wanted)
		ORDER BY n.granted_until DESC LIMIT 1;
	IF FOUND THEN
		IF before.guest IS NOT DISTINCT FROM role AND (role IS NULL OR before.worker_id >= l.first_guest) THEN
			worker := before.worker_id;
		END IF;
	ELSIF claimed_worker BETWEEN 0 AND l.max_worker AND (wanted < 0 OR claimed_worker = wanted)
		-- A guest's end is evidence of nothing: it counts where the registry knows by itself that it went back.
		AND (role IS NULL OR claimed_until <= l.quarantine_until) THEN
		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = claimed_worker;
		IF (CASE WHEN NOT FOUND THEN role IS NULL AND (claimed_worker >= l.first_guest) IS NOT TRUE
				ELSE before.guest IS NOT DISTINCT FROM role AND (role IS NULL OR before.worker_id >= l.first_guest) AND before.granted_until < claimed_until END)
			AND (claimed_until >= ended_since OR before.modified >= changed_since AND NOT before.released) THEN
			worker := claimed_worker;
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.find_claimed_worker(uidgen_registry.registry, timestamptz, bigint, text, integer, integer, bigint[], integer, bigint, text)
	IS 'the worker id whose grant a node or a guest continues; null if there is none';

-- R3: how long the end and the last change of a row have to be over at this time of the
-- registry's clock; a tick longer for what rounding takes away.
CREATE FUNCTION uidgen_registry.free_bounds(
	l uidgen_registry.registry,
	clock timestamptz,
	OUT ended_before bigint, OUT changed_before timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	ended_before := uidgen_registry.tick_at(clock, l.unit, l.epoch) - (uidgen_registry.ticks_in(l.max_lead, l.unit) + uidgen_registry.ticks_in(l.clock_slack, l.unit) + 1);
	changed_before := clock - l.max_lead - l.clock_slack;
END
$$;
COMMENT ON FUNCTION uidgen_registry.free_bounds(uidgen_registry.registry, timestamptz) IS 'the tick and the time before which the end and the last change of a row lie that any node may take';

-- R3; a released row whose end lies beyond reach would have to be waited for.  Without a
-- search path of its own, so that the planner can put the body in place of the call.
CREATE FUNCTION uidgen_registry.is_free(n uidgen_registry.worker_node, ended_before bigint, changed_before timestamptz, reach bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN n.released AND n.granted_until < reach
	OR n.granted_until < ended_before AND n.modified < changed_before;
COMMENT ON FUNCTION uidgen_registry.is_free(uidgen_registry.worker_node, bigint, timestamptz, bigint) IS 'whether any node may take the worker id of a row';

-- One never used, at random, so that copies of a registry seldom choose the same; else
-- the one that ended longest ago.  Of up to 256 worker ids all are looked at.  Of more,
-- 50 are drawn at random, and only if none of them is free, all are.  Nodes that look at all would
-- choose the same one at the same time, so they queue (guests have a queue for each role); but not for long behind somebody who
-- keeps the lock, since whoever comes second to a row asks again.  A row that is locked is not
-- free.
CREATE FUNCTION uidgen_registry.find_free_worker(
	l uidgen_registry.registry,
	datacenter integer,
	policy text,
	ended_before bigint,
	changed_before timestamptz,
	reach bigint,
	chooses boolean,				-- not only to know how many there are
	for_guest boolean,				-- of guests' worker ids, else of nodes'
	OUT worker integer, OUT before uidgen_registry.worker_node,	-- its row then, if there is one
	OUT free_workers bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	lowest CONSTANT integer := CASE WHEN for_guest THEN l.first_guest ELSE 0 END;
	workers CONSTANT bigint := CASE WHEN for_guest THEN l.max_worker + 1::bigint ELSE coalesce(l.first_guest, l.max_worker + 1::bigint) END - lowest;
	waits CONSTANT text := current_setting('lock_timeout');
	candidates integer[];
	found_one record;
BEGIN
	IF workers > 256 THEN
		candidates := ARRAY(SELECT DISTINCT lowest + floor(random() * workers)::integer FROM generate_series(1, 50));
	END IF;
	LOOP
		IF candidates IS NULL THEN
			IF chooses AND NOT for_guest THEN
				BEGIN
					PERFORM set_config('lock_timeout', '200ms', true);
					PERFORM FROM uidgen_registry.registry AS r FOR UPDATE;
				EXCEPTION
					WHEN lock_not_available THEN
						NULL;
				END;
				PERFORM set_config('lock_timeout', waits, true);
			END IF;
			candidates := ARRAY(SELECT generate_series(lowest, (lowest + workers - 1)::integer));
		END IF;
		SELECT c.worker_id, used.n AS before, round(count(*) OVER () * workers::numeric / cardinality(candidates)) AS free_workers
			INTO found_one
			FROM unnest(candidates) AS c (worker_id)
				LEFT JOIN LATERAL (SELECT n, n.xmax AS row_xmax FROM uidgen_registry.worker_node AS n
					WHERE n.datacenter_id = datacenter AND n.worker_id = c.worker_id LIMIT 1) AS used ON true
			WHERE used.n IS NULL OR policy = 'reuse' AND ((used.n).guest IS NOT NULL) = for_guest AND uidgen_registry.is_free(used.n, ended_before, changed_before, reach)
				AND CASE WHEN used.row_xmax = '0'::xid THEN true ELSE NOT uidgen_registry.is_locked(used.n, used.row_xmax, by_other_role => false) END
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
COMMENT ON FUNCTION uidgen_registry.find_free_worker(uidgen_registry.registry, integer, text, bigint, timestamptz, bigint, boolean, boolean)
	IS 'a worker id that any node, or any guest, may take, and about how many there are';

-- The worker id whose grant the caller continues, or one that suits it.  Own ones that are not free come last: a node may have a
-- copy that uses them.  A guest has no name of its own, so it has no row that it prefers: where its role has as many as it may
-- have, it gets what its role has given up.  All guests of a role queue on its row in guest_role, so that none is counted too
-- few.  A released row counts until its end is over: somebody who takes and releases one after the other would else make all
-- others wait for ends that are ahead.
CREATE FUNCTION uidgen_registry.choose_to_lease(
	l uidgen_registry.registry,
	clock timestamptz,
	now_tick bigint,
	holder text,
	datacenter integer,
	claim integer,
	wanted integer,
	policy text,
	role text,						-- of a guest; null: a node
	reach bigint,
	OUT worker integer, OUT before uidgen_registry.worker_node,	-- its row then, if there is one; null with a claim
	OUT free_workers bigint, OUT reason text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	ended_before bigint;
	changed_before timestamptz;
	bound integer;
	full_role boolean := false;
	free record;
BEGIN
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen_registry.free_bounds(l, clock) AS b;
	IF role IS NOT NULL AND claim IS NULL THEN
		SELECT r.max_workers INTO STRICT bound FROM uidgen_registry.guest_role AS r WHERE r.name = role FOR UPDATE;
		full_role := (SELECT count(*) FROM uidgen_registry.worker_node AS n
			WHERE n.guest = role AND NOT uidgen_registry.is_free(n, ended_before, changed_before, reach => now_tick)) >= bound;
	END IF;
	IF role IS NULL OR claim IS NULL AND NOT full_role THEN
		SELECT f.* INTO free
			FROM uidgen_registry.find_free_worker(l, datacenter, policy, ended_before, changed_before, reach,
				chooses => claim IS NULL AND wanted < 0, for_guest => role IS NOT NULL) AS f;
		free_workers := free.free_workers;
	ELSE
		SELECT NULL::integer AS worker INTO free;
	END IF;
	IF claim IS NOT NULL THEN
		worker := claim;
		reason := 'This server goes on with it.';
	ELSIF wanted >= 0 THEN
		SELECT w.* INTO before FROM uidgen_registry.wanted_to_lease(l, holder, datacenter, wanted, ended_before, changed_before) AS w;
		worker := wanted;
		reason := 'The setting "uidgen.worker_id" asks for it.';
	ELSE
		IF full_role THEN
			SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
				WHERE n.guest = role AND n.datacenter_id IS NOT DISTINCT FROM datacenter AND uidgen_registry.is_free(n, ended_before, changed_before, reach)
					AND NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => false)
				ORDER BY n.granted_until LIMIT 1;
		ELSIF role IS NULL AND policy = 'reuse' THEN
			SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
				WHERE n.identity = holder AND n.datacenter_id IS NOT DISTINCT FROM datacenter AND n.guest IS NULL
					AND uidgen_registry.is_free(n, ended_before, changed_before, reach)
					AND NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => true)
				ORDER BY n.granted_until DESC LIMIT 1;
		END IF;
		worker := before.worker_id;
		reason := 'This server had it before.';
		IF worker IS NULL AND free.worker IS NOT NULL THEN
			worker := free.worker;
			before := free.before;
			reason := CASE WHEN before.worker_id IS NULL THEN 'It was never used before.' ELSE 'Its former holder gave it up.' END;
		ELSIF worker IS NULL AND role IS NULL AND policy = 'reuse' THEN
			SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
				WHERE n.identity = holder AND n.datacenter_id IS NOT DISTINCT FROM datacenter AND n.guest IS NULL
					AND NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => true)
				ORDER BY n.granted_until < now_tick DESC, n.granted_until LIMIT 1;
			worker := before.worker_id;
			reason := 'This server had it not long ago, and no worker id is free.';
		END IF;
		IF worker IS NULL THEN
			PERFORM uidgen_registry.explain_none_to_lease(l, now_tick, now_tick - ended_before, datacenter, policy, role, CASE WHEN full_role THEN bound END);
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.choose_to_lease(uidgen_registry.registry, timestamptz, bigint, text, integer, integer, integer, text, text, bigint)
	IS 'the worker id that suits a node or a guest best, and why; or an error that there is none';

CREATE FUNCTION uidgen_registry.wanted_to_lease(l uidgen_registry.registry, holder text, datacenter integer, wanted integer, ended_before bigint, changed_before timestamptz) RETURNS uidgen_registry.worker_node
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	before uidgen_registry.worker_node;
BEGIN
	IF wanted >= l.first_guest THEN
		RAISE EXCEPTION 'worker id % is for guests', wanted
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('Nodes have the worker ids from 0 to %s.', l.first_guest - 1),
				HINT = 'Change the setting "uidgen.worker_id".';
	END IF;
	SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = wanted;
	-- one whose end lies beyond reach is waited for
	IF FOUND AND before.identity IS DISTINCT FROM holder
		AND (before.guest IS NOT NULL OR NOT uidgen_registry.is_free(before, ended_before, changed_before, reach => l.max_tick)) THEN
		RAISE EXCEPTION 'worker id % belongs to another node', wanted USING ERRCODE = 'object_in_use',
				-- Where others are is no node's business.
				DETAIL = CASE WHEN before.granted_until >= l.max_tick THEN 'It is kept for a server with a local registry.'
					ELSE 'The view uidgen_registry.fleet of the registry shows who has it, and until when.' END,
				HINT = 'Set "uidgen.worker_id" to another worker id or to -1, and restart the server.';
	END IF;
	RETURN before;
END
$$;
COMMENT ON FUNCTION uidgen_registry.wanted_to_lease(uidgen_registry.registry, text, integer, integer, bigint, timestamptz) IS 'the row of the worker id that a node wants, or an error that it cannot have it';

CREATE FUNCTION uidgen_registry.explain_none_to_lease(
	l uidgen_registry.registry,
	now_tick bigint,
	quiet bigint,					-- how long the end of a row that is free has been over
	datacenter integer,
	policy text,
	role text,
	bound integer) RETURNS void		-- of the role, if that is the reason
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	nodes CONSTANT bigint := coalesce(l.first_guest, l.max_worker + 1::bigint);
	next_tick CONSTANT bigint := (SELECT min(greatest(uidgen_registry.tick_at(n.modified, l.unit, l.epoch), n.granted_until) + quiet + 1)
		FROM uidgen_registry.worker_node AS n
		WHERE n.datacenter_id = datacenter AND policy = 'reuse'
			AND CASE WHEN role IS NULL THEN n.guest IS NULL ELSE (n.guest = role OR bound IS NULL AND n.guest IS NOT NULL) AND n.granted_until < l.max_tick END);
	why record;
BEGIN
	SELECT r.* INTO STRICT why FROM (VALUES
			(1, bound IS NOT NULL, ' for this guest',
				format('All guests of role %s together may have %s, and as many are in use or were until a short time ago.', role, bound),
				'Let the owner of the registry raise the bound with uidgen_registry.grant_guest().'),
			(2, role IS NOT NULL, ' for this guest',
				format('Guests have %s worker ids in datacenter %s, and all are in use or were until a short time ago.', l.max_worker + 1::bigint - nodes, datacenter),
				'Let the owner of the registry lower first_guest with uidgen_registry.change_registry().'),
			(3, policy = 'disposable', '',
				format('The layout has %s worker ids%s in datacenter %s, and all are in use or were, and "uidgen.worker_policy" is "disposable", which uses none twice.',
					nodes, CASE WHEN l.first_guest IS NULL THEN '' ELSE ' for nodes' END, datacenter),
				'Set "uidgen.worker_policy" to "reuse", or begin a new registry with a layout that has more worker bits.'),
			(4, true, '',
				format('The layout has %s worker ids%s in datacenter %s, and all are in use or were until a short time ago.',
					nodes, CASE WHEN l.first_guest IS NULL THEN '' ELSE ' for nodes' END, datacenter),
				'If there are too few for all nodes, begin a new registry with a layout that has more worker bits.')) AS r (place, applies, whom, detail, hint)
		WHERE r.applies ORDER BY r.place LIMIT 1;
	RAISE EXCEPTION 'no worker id is free%', why.whom
		USING ERRCODE = 'configuration_limit_exceeded', DETAIL = why.detail || coalesce(' The next one becomes free at ' || uidgen_registry.tick_time(next_tick, l.unit, l.epoch) || '.', ''),
			HINT = why.hint;
END
$$;
COMMENT ON FUNCTION uidgen_registry.explain_none_to_lease(uidgen_registry.registry, bigint, bigint, integer, text, text, integer) IS 'raises the error that no worker id is free, and says when one will be';
