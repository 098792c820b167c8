--
-- The registry of a fleet: one for many servers, its nodes.
--
-- A node proves by a token that a row is its own, and proposes the token itself, so that
-- it knows its row also after a call whose answer was lost.  The registry may go back: be
-- restored, or fail over to a server that lost commits.  Grants that it does not know of
-- any more may then be in use, so these rules hold (docs/design/fleet.md; test/t/
-- random_fleets.pl plays them, and what happens without each):
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

CREATE FUNCTION uidgen_registry.ticks_in(length interval, unit bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN floor(extract(epoch FROM length) * 1000000::numeric / unit::numeric)::bigint;
COMMENT ON FUNCTION uidgen_registry.ticks_in(interval, bigint) IS 'how many whole ticks a length of time has, given their unit in microseconds';

CREATE FUNCTION uidgen_registry.microseconds("time" timestamptz) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (extract(epoch FROM "time") * 1000000::numeric)::bigint;
COMMENT ON FUNCTION uidgen_registry.microseconds(timestamptz) IS 'a time in microseconds since 1970 UTC, as nodes send and get it';

-- R5.  If another call has the lock, that one writes it down: a renewal waits for nobody.
CREATE FUNCTION uidgen_registry.begin_quarantine() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, uidgen_registry, pg_temp
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
			quarantine_until = greatest(r.quarantine_until, newest + uidgen_registry.ticks_in(r.max_lead, r.unit)),
			guest_quarantine_until = greatest(r.guest_quarantine_until, newest + uidgen_registry.ticks_in(coalesce(r.guest_lead, r.max_lead), r.unit))
		FROM uidgen_registry.present_history(with_label => false) AS h
		RETURNING r.quarantine_until INTO result;
	PERFORM uidgen_registry.check_written(FOUND);
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_quarantine() IS 'writes down the history that the registry is in, and begins a quarantine; returns its last tick, or null if another call is about to do so';

-- What all calls of nodes begin with, and those for segments in a local registry, too.
CREATE FUNCTION uidgen_registry.begin_call() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Asked first, since a standby would say something else to each of the next statements.
	IF current_setting('transaction_read_only')::boolean THEN
		-- A node keeps the message alone, of each host.
		IF NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only')::boolean THEN
			RAISE EXCEPTION 'the registry cannot be written with "default_transaction_read_only"'
				USING ERRCODE = 'read_only_sql_transaction',
					HINT = uidgen_registry.reset_hint('default_transaction_read_only');
		END IF;
		RAISE EXCEPTION 'the registry cannot be written on this server'
			USING ERRCODE = 'read_only_sql_transaction',
				DETAIL = 'The server is a standby, or this transaction may only read.',
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
			RAISE EXCEPTION 'each call of a node is a transaction of its own'
				USING ERRCODE = 'active_sql_transaction',
					HINT = 'Commit before the next call.';
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

-- Whether another transaction that goes on has changed or locked a row, which now has this xmax.  Most
-- rows have none.  Where there is one, the lock is tried, and given back: an xmax may be that of a
-- subtransaction or of several, which are in no list of locks.  A transaction of the caller's own role may
-- be its last call, which was not answered and commits at any moment; so with by_other_role the answer is
-- false while another session of this role writes to the table.
CREATE FUNCTION uidgen_registry.is_locked(n uidgen_registry.worker_node, row_xmax xid, by_other_role boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
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
COMMENT ON FUNCTION uidgen_registry.explain_lock(integer) IS 'raises the error that another role has locked a worker id';

-- What each call of a node for worker ids goes on with, after begin_call(); node_acquire() twice, if it has to queue.
CREATE FUNCTION uidgen_registry.begin_node_call(
	queues boolean,					-- behind others that write to registry, or look at all rows
	OUT l uidgen_registry.registry,
	OUT system_identifier bigint,
	OUT timeline integer,			-- as nodes are told
	OUT went_back boolean)			-- the registry may have gone back since its history was written down
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
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
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = CASE WHEN l.layout IS NULL THEN 'It has no layout yet.' ELSE 'It is the local registry of its server.' END,
				HINT = CASE WHEN l.layout IS NULL THEN 'Its owner can run SELECT uidgen_registry.share_registry().'
					ELSE 'Point the setting "uidgen.registry" at a database whose registry is shared.' END;
	END IF;
	h := uidgen_registry.present_history(with_label => false);
	system_identifier := h.system_identifier;
	timeline := uidgen_registry.told_timeline(l, h);
	-- A restart counts, too: what a snapshot or an unsafe disk has lost is over after a quarantine, which costs
	-- nodes that run nothing.
	went_back := uidgen_registry.compare_histories((l.system_identifier, l.timeline, l.started, l.database, NULL)::uidgen_registry.history, h) <> 'same';
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_node_call(boolean) IS 'what each call of a node goes on with after begin_call(): perhaps a queue, and what the registry knows of itself';

-- Nodes ask it of all hosts at once, standbys too.  Stable, so that it cannot write.
CREATE FUNCTION uidgen_registry.registry_identity(
	OUT registry_id bigint,			-- null: there is no registry of a fleet
	OUT system_identifier bigint,
	OUT timeline integer,			-- as nodes are told
	OUT in_recovery boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
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
COMMENT ON FUNCTION uidgen_registry.registry_identity()
	IS 'which registry of a fleet this database has, if any: its number, which tells it from others, the cluster and its timeline, and whether this server is a standby';

-- Read last, so that the node can bound by how much its own clock is off.
CREATE FUNCTION uidgen_registry.end_node_call(not_after bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	clock CONSTANT bigint := uidgen_registry.microseconds(uidgen_registry.registry_clock());
BEGIN
	IF clock > not_after THEN
		RAISE EXCEPTION 'the node waits for this call no longer'
			USING ERRCODE = 'query_canceled',
				DETAIL = format('The call finished %s ms after the deadline that the node gave it.', (clock - not_after) / 1000),
				HINT = 'If this is frequent, look for what keeps the registry busy, or raise the setting "uidgen.registry_timeout" of the node.';
	END IF;
	RETURN clock;
END
$$;
COMMENT ON FUNCTION uidgen_registry.end_node_call(bigint) IS 'what each call of a node ends with: the registry''s clock, or an error if the node has given up the call';

-- The numbers count that the owner has pinned; a node with others would mean other ticks.
CREATE FUNCTION uidgen_registry.check_node_layout(l uidgen_registry.registry, node uidgen_registry.registry) RETURNS void
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
				HINT = 'Install the same version of uidgen on both servers.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_node_layout(uidgen_registry.registry, uidgen_registry.registry) IS 'raises an error if a node''s layout is another than the registry''s';

-- R2.  After a lost answer the row is the one that the node knows, or one that it acquired
-- under its identity; no index has tokens, since they change with each renewal.
--
-- Where the clock is ahead of the nodes' time, ends are old when they are granted.  So the
-- last change counts as well, as it does in is_free(): by the same comparison, clock_slack
-- earlier.
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
	OUT worker integer,
	OUT before uidgen_registry.worker_node)	-- its row then, if there is one
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	ended_since CONSTANT bigint := now_tick - uidgen_registry.ticks_in(l.max_lead, l.unit);
	changed_since CONSTANT timestamptz := clock - l.max_lead;
BEGIN
	SELECT n.* INTO before
		FROM (SELECT c.* FROM uidgen_registry.worker_node AS c WHERE c.datacenter_id = datacenter AND c.worker_id = claimed_worker
			UNION ALL
			SELECT i.* FROM uidgen_registry.worker_node AS i WHERE i.datacenter_id = datacenter AND i.identity = holder) AS n
		WHERE n.token = ANY (known_tokens)
			AND (n.granted_until >= ended_since OR n.modified >= changed_since)
			AND (wanted < 0 OR n.worker_id = wanted)
		ORDER BY n.granted_until DESC LIMIT 1;
	IF FOUND THEN
		worker := before.worker_id;
	ELSIF claimed_worker BETWEEN 0 AND l.max_worker AND (wanted < 0 OR claimed_worker = wanted) THEN
		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = claimed_worker;
		IF (NOT FOUND OR before.granted_until < claimed_until)
			AND (claimed_until >= ended_since OR before.modified >= changed_since AND NOT before.released) THEN
			worker := claimed_worker;
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.find_claimed_worker(uidgen_registry.registry, timestamptz, bigint, text, integer, integer, bigint[], integer, bigint)
	IS 'the worker id whose grant a node continues; null if there is none';

-- R3: how long the end and the last change of a row have to be over at this time of the
-- registry's clock; a tick longer for what rounding takes away.
CREATE FUNCTION uidgen_registry.free_bounds(
	l uidgen_registry.registry,
	clock timestamptz,
	OUT ended_before bigint,
	OUT changed_before timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
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
	for_guest boolean,				-- of the worker ids of guests, else of those of nodes
	OUT worker integer,
	OUT before uidgen_registry.worker_node,	-- its row then, if there is one
	OUT free_workers bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
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

-- The worker id whose grant a node continues, or one that suits it.  Own ones that are not
-- free come last: the node may have a copy that uses them.
CREATE FUNCTION uidgen_registry.choose_for_node(
	l uidgen_registry.registry,
	clock timestamptz,
	now_tick bigint,
	holder text,
	datacenter integer,
	claim integer,
	wanted integer,
	policy text,
	reach bigint,
	OUT worker integer,
	OUT before uidgen_registry.worker_node,	-- its row then, if there is one; not that of a claim
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
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen_registry.free_bounds(l, clock) AS b;
	SELECT f.* INTO free FROM uidgen_registry.find_free_worker(l, datacenter, policy, ended_before, changed_before, reach,
		chooses => claim IS NULL AND wanted < 0, for_guest => false) AS f;
	free_workers := free.free_workers;
	IF claim IS NOT NULL THEN
		worker := claim;
		reason := 'This server goes on with it.';
		RETURN;
	END IF;
	IF wanted >= l.first_guest THEN
		RAISE EXCEPTION 'worker id % is for guests', wanted
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Nodes have the worker ids from 0 to %s.', l.first_guest - 1),
				HINT = 'Change the setting "uidgen.worker_id".';
	ELSIF wanted >= 0 THEN
		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = wanted;
		-- one whose end lies beyond reach is waited for
		IF FOUND AND before.identity IS DISTINCT FROM holder
			AND (before.guest IS NOT NULL OR NOT uidgen_registry.is_free(before, ended_before, changed_before, reach => l.max_tick)) THEN
			RAISE EXCEPTION 'worker id % belongs to another node', wanted
				USING ERRCODE = 'object_in_use',
					-- Where others are is no node's business.
					DETAIL = CASE WHEN before.granted_until >= l.max_tick THEN 'It is kept for a server with a local registry.'
						ELSE 'The view uidgen_registry.fleet of the registry shows who has it, and until when.' END,
					HINT = 'Set "uidgen.worker_id" to another worker id or to -1, and restart the server.';
		END IF;
		worker := wanted;
		reason := 'The setting "uidgen.worker_id" asks for it.';
		RETURN;
	END IF;

	IF policy = 'reuse' THEN
		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.identity = holder AND n.guest IS NULL
				AND uidgen_registry.is_free(n, ended_before, changed_before, reach)
				AND NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => true)
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
		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.identity = holder AND n.guest IS NULL
				AND NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => true)
			ORDER BY n.granted_until < now_tick DESC, n.granted_until LIMIT 1;
		IF FOUND THEN
			worker := before.worker_id;
			reason := 'This server had it not long ago, and no worker id is free.';
			RETURN;
		END IF;
	END IF;

	IF policy = 'reuse' THEN
		SELECT min(greatest(uidgen_registry.tick_at(n.modified, l.unit, l.epoch), n.granted_until) + now_tick - ended_before + 1) INTO next_tick
			FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = datacenter AND n.guest IS NULL;
	END IF;
	RAISE EXCEPTION 'no worker id is free'
		USING ERRCODE = 'configuration_limit_exceeded',
			DETAIL = format('The layout has %s worker ids%s in datacenter %s, and all are in use%s.', coalesce(l.first_guest, l.max_worker + 1::bigint), CASE WHEN l.first_guest IS NULL THEN '' ELSE ' for nodes' END, datacenter,
				CASE WHEN policy = 'reuse' THEN format(' or were until a short time ago. The next one becomes free at %s', uidgen_registry.tick_time(next_tick, l.unit, l.epoch))
					ELSE ' or were, and "uidgen.worker_policy" is "disposable", which uses none twice' END),
			HINT = CASE WHEN policy = 'reuse' THEN 'If there are too few for all nodes, begin a new registry with a layout that has more worker bits.'
				ELSE 'Set "uidgen.worker_policy" to "reuse", or begin a new registry with a layout that has more worker bits.' END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.choose_for_node(uidgen_registry.registry, timestamptz, bigint, text, integer, integer, integer, text, bigint)
	IS 'the worker id that suits a node best, and why; or an error that there is none';
