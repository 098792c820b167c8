--
-- The calls of a fleet's nodes: lease a worker id, renew, release, and bring along what another registry granted.
--

-- Only if the row is as it was when it was chosen: its holder may renew meanwhile, and the owner may make it one of
-- guests.
CREATE FUNCTION uidgen_registry.write_grant(
	before uidgen_registry.worker_node,		-- null: there was none
	after uidgen_registry.worker_node) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	written boolean;
BEGIN
	IF before.worker_id IS NULL THEN
		RETURN uidgen_registry.insert_worker(after);
	END IF;
	UPDATE uidgen_registry.worker_node AS n SET
			host_name = after.host_name, port = after.port, type = after.type, launch_date = after.launch_date, modified = greatest(n.modified, after.modified),
			identity = after.identity, guest = after.guest, called_by = after.called_by, token = after.token, granted_until = after.granted_until, released = false, launches = n.launches + 1
		WHERE n.datacenter_id = after.datacenter_id AND n.worker_id = after.worker_id
			AND n.token IS NOT DISTINCT FROM before.token AND n.granted_until = before.granted_until
			AND n.guest IS NOT DISTINCT FROM before.guest;
	written := FOUND;
	PERFORM uidgen_registry.check_written(written OR current_setting('session_replication_role') <> 'replica');
	RETURN written;
END
$$;
COMMENT ON FUNCTION uidgen_registry.write_grant(uidgen_registry.worker_node, uidgen_registry.worker_node)
	IS 'writes a grant into the chosen row of a worker id; false: another call has changed or made the row meanwhile';

-- How lease() begins: at which moment all is judged, and which worker id the caller goes on with.  One call writes
-- down that the registry went back; the others queue for it, and look again.
CREATE FUNCTION uidgen_registry.begin_lease(
	holder text,
	layout_text text,
	known_tokens bigint[],
	claimed_worker integer,
	claimed_until bigint,
	datacenter integer,
	wanted integer,
	policy text,
	guest boolean,
	OUT l uidgen_registry.registry, OUT role text,					-- of the guest
	OUT system_identifier bigint, OUT timeline integer,			-- as nodes are told
	OUT clock timestamptz,			-- read once, so that all is of one moment
	OUT worker integer,				-- null: none
	OUT before uidgen_registry.worker_node,	-- its row, if there is one
	OUT wrote_history boolean)		-- nothing else can be written with this call
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	claim record;
	now_tick bigint;
	unknown_end boolean;
	queues boolean := false;
BEGIN
	LOOP
		SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => queues, guest => guest) AS b;
		l := call.l;
		IF NOT guest THEN
			PERFORM uidgen_registry.check_node_layout(l, layout_text);
		ELSIF call.went_back THEN
			-- A claim by its end counts in the new quarantine.
			l.quarantine_until := coalesce(uidgen_registry.begin_quarantine(guest), l.quarantine_until);
		END IF;
		PERFORM uidgen_registry.check_request(policy, datacenter, wanted, l.max_datacenter, l.max_worker, by_setting => NOT guest);

		clock := uidgen_registry.registry_clock();
		now_tick := uidgen_registry.tick_at(clock, l.unit, l.epoch);
		PERFORM uidgen_registry.check_epoch(now_tick, l.unit, l.epoch);
		SELECT c.* INTO STRICT claim
			FROM uidgen_registry.find_claimed_worker(l, clock, now_tick, holder, datacenter, wanted, known_tokens, claimed_worker, claimed_until, call.role) AS c;
		before := claim.before;
		-- R5.  A claimed end below quarantine_until tells nothing new.  An end beyond all that a correct registry can have
		-- granted is not believed, nor is a guest.
		unknown_end := NOT guest AND claim.worker = claimed_worker AND claimed_until > greatest(before.granted_until, l.quarantine_until)
			AND claimed_until <= now_tick + uidgen_registry.ticks_in(l.max_lead, l.unit) + uidgen_registry.ticks_in(l.clock_slack, l.unit)
			AND NOT call.went_back;
		worker := claim.worker;
		IF wanted < 0 AND (SELECT uidgen_registry.is_locked(n, n.xmax, by_other_role => true) FROM uidgen_registry.worker_node AS n
				WHERE n.datacenter_id = datacenter AND n.worker_id = claim.worker) THEN
			worker := NULL;
		END IF;
		wrote_history := coalesce(unknown_end, false) OR call.went_back AND worker IS NULL;
		EXIT WHEN queues OR guest OR NOT wrote_history;
		queues := true;
	END LOOP;
	IF NOT guest AND (wrote_history OR call.went_back) THEN
		l.quarantine_until := coalesce(uidgen_registry.begin_quarantine(), l.quarantine_until);
	END IF;
	role := call.role;
	system_identifier := call.system_identifier;
	timeline := call.timeline;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_lease(text, text, bigint[], integer, bigint, integer, integer, text, boolean)
	IS 'how lease() begins: which worker id the caller goes on with; writes down that the registry went back';

-- Acquire a worker id and its first range of ticks, or go on with one after a call without
-- an answer.
--
-- A call that grants nothing may succeed all the same; worker is null then.  Where first_tick
-- is null, too, the caller asks again at once.  Either the registry has written down that it
-- went back: an error would undo that, and each call would begin the quarantine anew.  Or
-- another call has changed the row that was chosen.  Where first_tick is given, the clamp (R4)
-- is in the way of a grant that would begin there.  The caller gets the clock with it: one that
-- was set back may be the reason.
--
-- Nobody is stopped by what another role has locked and does not commit.  A claim on a row that
-- such a transaction has locked is passed over: the row gets nothing, and the caller another
-- worker id.  One that the caller's own role has locked is waited for: it may be the call before
-- this one.  Of a registry that went back a claim needs to write nothing, as a renewal
-- does not: the history goes on to tell all others.
--
-- Whoever locks registry does so before a row of worker_node, otherwise two calls could
-- wait for each other.  An UPDATE that has waited for a row in vain keeps it locked.  So its call ends; to choose
-- again it might have to queue.
--
-- Nodes call it; guests call guest_acquire() (46_guests.sql), which calls it as the owner.
CREATE FUNCTION uidgen_registry.lease(
	holder text,					-- identity of the caller
	layout_text text,				-- its layout in canonical form; a guest's is not looked at
	new_token bigint,				-- random
	known_tokens bigint[] DEFAULT '{}',	-- those that the caller's row may have
	claimed_worker integer DEFAULT -1,	-- the worker id that it had last, or -1
	claimed_until bigint DEFAULT -1,	-- and the end of that grant, or -1
	datacenter integer DEFAULT 0,
	wanted integer DEFAULT -1,		-- exactly this worker id, or -1
	floor_tick bigint DEFAULT 0,	-- begin no earlier
	window_ticks bigint DEFAULT 9223372036854775807,	-- length of the grant; half of max_lead at most
	at_tick bigint DEFAULT 9223372036854775807,	-- the caller's own time; largest bigint: it has none yet
	not_after bigint DEFAULT 9223372036854775807,	-- microseconds since 1970 UTC: the caller waits no longer; largest bigint: not known
	host text DEFAULT '',			-- for people: host, port and type of the caller
	host_port integer DEFAULT -1,
	host_type integer DEFAULT -1,
	policy text DEFAULT 'reuse',	-- or 'disposable'
	guest boolean DEFAULT false,
	OUT worker integer,				-- null: nothing is granted
	OUT first_tick bigint,			-- null: ask again
	OUT last_tick bigint, OUT seen_tick bigint,			-- tick of the clock when the row was last changed
	OUT never_used boolean, OUT free_workers bigint,		-- about how many worker ids any node could take before this call
	OUT reason text,				-- why this worker id, for the log
	OUT layout text, OUT unit bigint,				-- of a tick, in microseconds
	OUT epoch bigint,				-- of tick 0, in microseconds since 1970 UTC
	OUT quarantine_until bigint,	-- the last tick in quarantine
	OUT max_lead bigint,			-- ticks: no grant reaches further ahead of the clock
	OUT registry_id bigint, OUT system_identifier bigint, OUT timeline integer, OUT clock bigint)				-- microseconds since 1970 UTC
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	me CONSTANT text := left(holder, 256);
	call record;
	l uidgen_registry.registry;
	now_tick bigint;
	latest bigint;					-- R4
	span bigint;
	enough bigint;					-- so long at least
	until bigint;
	choice record;
	before uidgen_registry.worker_node;		-- as the last holder left it, when it was chosen
BEGIN
	PERFORM uidgen_registry.begin_call();
	PERFORM uidgen_registry.check_tables(CASE WHEN guest THEN '{worker_node,registry,guest_role}'::text[] ELSE '{worker_node,registry,segment}' END), uidgen_registry.check_rows();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_lease(me, layout_text, known_tokens, claimed_worker, claimed_until, datacenter, wanted, policy, guest) AS b;
	l := call.l;
	now_tick := uidgen_registry.tick_at(call.clock, l.unit, l.epoch);
	max_lead := uidgen_registry.reach_of(l, coalesce(call.worker, wanted));
	latest := now_tick + max_lead;
	span := least(greatest(window_ticks, 0), max_lead / 2);
	-- A node that begins ahead of the clock need not wait until a whole window is within reach:
	-- the clock catches up while it draws, and its renewals get the rest.
	enough := span / 4;
	IF call.wrote_history THEN
		reason := 'The registry was restarted or went back, and has written that down. Ask again.';
	ELSIF call.worker IS NULL AND l.quarantine_until >= latest - enough THEN
		-- whichever row it would be
		first_tick := greatest(floor_tick, l.quarantine_until + 1);
	ELSE
		SELECT c.* INTO STRICT choice
			FROM uidgen_registry.choose_to_lease(l, call.clock, now_tick, me, datacenter, call.worker, wanted, policy, call.role, reach => latest - enough) AS c;
		before := CASE WHEN call.worker IS NULL THEN choice.before ELSE call.before END;
		-- It may reach less far than what was looked for.
		max_lead := least(max_lead, uidgen_registry.reach_of(l, choice.worker));
		latest := now_tick + max_lead;
		span := least(span, max_lead / 2);
		enough := span / 4;
		first_tick := greatest(0, least(now_tick, at_tick), floor_tick, before.granted_until + 1,
			CASE WHEN call.worker IS NULL THEN l.quarantine_until + 1 ELSE least(claimed_until, l.max_tick) + 1 END);
		IF first_tick <= latest - enough THEN
			PERFORM uidgen_registry.check_lifetime(first_tick, l.max_tick, l.unit, l.epoch);
			until := least(first_tick + span, latest, l.max_tick - 1);
			IF (SELECT uidgen_registry.is_locked(n, n.xmax, by_other_role => true) FROM uidgen_registry.worker_node AS n
					WHERE n.datacenter_id = datacenter AND n.worker_id = choice.worker) THEN
				PERFORM uidgen_registry.explain_lock(choice.worker);
			END IF;

			IF uidgen_registry.write_grant(before, (datacenter, choice.worker, left(host, 256), nullif(host_port, -1), nullif(host_type, -1), call.clock::date, call.clock, call.clock,
					me, new_token, until, false, 1, call.role::name, session_user)::uidgen_registry.worker_node) THEN
				worker := choice.worker;
				last_tick := until;
				seen_tick := coalesce(uidgen_registry.tick_at(before.modified, l.unit, l.epoch), 0);
				never_used := before.worker_id IS NULL;
				free_workers := choice.free_workers;
				reason := choice.reason;
			ELSE
				first_tick := NULL;
				reason := 'Another call has changed the row meanwhile. Ask again.';
			END IF;
		END IF;
	END IF;

	SELECT l.layout, l.unit, l.epoch, l.quarantine_until, l.id, call.system_identifier, call.timeline
		INTO layout, unit, epoch, quarantine_until, registry_id, system_identifier, timeline;
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.lease(text, text, bigint, bigint[], integer, bigint, integer, integer, bigint, bigint, bigint, bigint, text, integer, integer, text, boolean)
	IS 'leases a worker id to a node or a guest with a first range of ticks, or goes on with the one that it has';

-- Extend a grant beyond both the node's time and the tick that is needed, but no further
-- than the clamp allows (R1, R4): last_tick may be below what is needed.  It is null if
-- another holder has taken the row.  One who has not committed has not taken it so far: then
-- the caller is told at once, and goes on to its end before it leaves the row.
CREATE FUNCTION uidgen_registry.lease_renew(
	datacenter integer,
	worker integer,
	old_token bigint,
	old_until bigint,
	new_token bigint,
	needed bigint DEFAULT 0,
	window_ticks bigint DEFAULT 9223372036854775807,
	at_tick bigint DEFAULT 9223372036854775807,
	not_after bigint DEFAULT 9223372036854775807,
	guest boolean DEFAULT false,
	OUT last_tick bigint, OUT quarantine_until bigint, OUT max_lead bigint, OUT registry_id bigint, OUT system_identifier bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen_registry.registry;
	now_time timestamptz;
	now_tick bigint;
	from_tick bigint;
	lead bigint;					-- R1
	span bigint;
	valid boolean;
BEGIN
	PERFORM uidgen_registry.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => false, guest => guest) AS b;
	l := call.l;
	IF call.went_back THEN
		l.quarantine_until := coalesce(uidgen_registry.begin_quarantine(guest), l.quarantine_until);
	END IF;
	now_time := uidgen_registry.registry_clock();
	now_tick := uidgen_registry.tick_at(now_time, l.unit, l.epoch);
	lead := uidgen_registry.ticks_in(l.max_lead, l.unit);
	max_lead := uidgen_registry.reach_of(l, worker);
	span := least(greatest(window_ticks, 0), max_lead / 2);
	from_tick := greatest(least(now_tick, at_tick), least(needed, now_tick + max_lead));
	PERFORM uidgen_registry.check_lifetime(from_tick, l.max_tick, l.unit, l.epoch);
	UPDATE uidgen_registry.worker_node AS n SET
			token = new_token,
			granted_until = greatest(n.granted_until, least(from_tick + span, now_tick + lease_renew.max_lead, l.max_tick - 1)),
			modified = greatest(n.modified, now_time),
			called_by = session_user
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.guest IS NOT DISTINCT FROM call.role AND n.token = old_token AND n.granted_until = old_until
			AND (n.granted_until >= now_tick - lead OR n.modified >= now_time - l.max_lead)
			-- looked at before the row is waited for
			AND CASE WHEN n.xmax = '0'::xid THEN true ELSE NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => true) END
		RETURNING n.granted_until INTO last_tick;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	IF last_tick IS NULL THEN
		-- If it is the caller's, also if that transaction has ended since then.
		SELECT true INTO valid FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = lease_renew.worker
				AND n.guest IS NOT DISTINCT FROM call.role AND n.token = old_token AND n.granted_until = old_until
				AND (n.granted_until >= now_tick - lead OR n.modified >= now_time - l.max_lead);
		IF valid THEN
			PERFORM uidgen_registry.explain_lock(worker);
		END IF;
	END IF;
	quarantine_until := l.quarantine_until;
	registry_id := l.id;
	system_identifier := call.system_identifier;
	timeline := call.timeline;
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.lease_renew(integer, integer, bigint, bigint, bigint, bigint, bigint, bigint, bigint, boolean)
	IS 'extends a grant of a fleet''s registry; last_tick is null if another has taken the worker id';

-- Hand back the worker id.  What was granted stays granted, since a copy of the node's
-- memory may use it (R7).
CREATE FUNCTION uidgen_registry.lease_release(
	datacenter integer,
	worker integer,
	known_tokens bigint[],
	not_after bigint DEFAULT 9223372036854775807,
	guest boolean DEFAULT false,
	OUT done boolean, OUT registry_id bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
BEGIN
	PERFORM uidgen_registry.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => false, guest => guest) AS b;
	UPDATE uidgen_registry.worker_node AS n SET
			token = NULL,
			released = true,
			modified = greatest(n.modified, uidgen_registry.registry_clock())
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.guest IS NOT DISTINCT FROM call.role AND n.token = ANY (known_tokens);
	done := FOUND;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	registry_id := (call.l).id;
	timeline := call.timeline;
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.lease_release(integer, integer, bigint[], bigint, boolean) IS 'hands back a worker id of a fleet''s registry';

CREATE FUNCTION uidgen_registry.check_named_workers(l uidgen_registry.registry, datacenter integer, workers integer[], by_setting boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	bad integer;
BEGIN
	PERFORM uidgen_registry.check_request('reuse', datacenter, -1, l.max_datacenter, l.max_worker, by_setting);
	SELECT w INTO bad FROM unnest(workers) AS w WHERE (w BETWEEN 0 AND l.max_worker) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '%', coalesce('worker id ' || bad || ' is out of range', 'a worker id is null')
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('The layout has room for worker ids from 0 to %s.', l.max_worker);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_named_workers(uidgen_registry.registry, integer, integer[], boolean) IS 'raises an error if the layout has no room for a datacenter or one of these worker ids';

-- Raise the ends of worker ids, so that nobody is granted those ticks again: a server was
-- granted them by its local registry.  A free row becomes a released one, without a token:
-- its last node, long asleep, could else claim by it, since the new end is not old.  A row
-- whose end is high enough is not locked: a call that succeeds keeps locked what it has changed.
CREATE FUNCTION uidgen_registry.raise_ends(
	l uidgen_registry.registry,
	datacenter integer,
	workers integer[],
	ends bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	now_time CONSTANT timestamptz := uidgen_registry.registry_clock();
	ended_before bigint;
	changed_before timestamptz;
	held record;
BEGIN
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen_registry.free_bounds(l, now_time) AS b;
	IF cardinality(workers) <> cardinality(array_remove(ends, NULL)) THEN
		RAISE EXCEPTION 'each worker id needs an end'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('There are %s worker ids and %s ends.', cardinality(workers), cardinality(array_remove(ends, NULL)));
	END IF;

	PERFORM uidgen_registry.note_grant();
	INSERT INTO uidgen_registry.worker_node AS n
		(datacenter_id, worker_id, launch_date, created, modified, granted_until, released, launches, guest)
		SELECT datacenter, i.worker, now_time::date, now_time, now_time, max(i.until), true, 0, CASE WHEN i.worker >= l.first_guest THEN '' END
			FROM unnest(workers, ends) AS i (worker, until)
				LEFT JOIN uidgen_registry.worker_node AS w ON w.datacenter_id = datacenter AND w.worker_id = i.worker
			WHERE w.worker_id IS NULL OR w.granted_until < i.until
			GROUP BY i.worker ORDER BY i.worker
		ON CONFLICT (datacenter_id, worker_id) DO UPDATE SET
				modified = greatest(n.modified, excluded.modified),
				token = NULL,
				granted_until = excluded.granted_until,
				released = true
			WHERE n.granted_until < excluded.granted_until
				AND uidgen_registry.is_free(n, ended_before, changed_before, reach => l.max_tick);

	SELECT n.*, i.until INTO held
		FROM unnest(workers, ends) AS i (worker, until)
			LEFT JOIN uidgen_registry.worker_node AS n ON n.datacenter_id = datacenter AND n.worker_id = i.worker
		WHERE (n.granted_until >= i.until) IS NOT TRUE
		ORDER BY i.worker, i.until DESC LIMIT 1;
	IF FOUND THEN
		PERFORM uidgen_registry.check_written(held.worker_id IS NOT NULL AND current_setting('session_replication_role') <> 'replica');
		RAISE EXCEPTION 'worker id % belongs to another node', held.worker_id USING ERRCODE = 'object_in_use',
				-- Where others are is no node's business.
				DETAIL = format('The view uidgen_registry.fleet of the registry shows who has it. The local registry of the calling server has granted it until %s: ids of both could be equal.',
								uidgen_registry.tick_time(held.until, l.unit, l.epoch)),
				HINT = format('Wait: once the local registry grants nothing any more and the clock has passed %s, nothing needs to be brought along.', uidgen_registry.tick_time(held.until + 1, l.unit, l.epoch));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.raise_ends(uidgen_registry.registry, integer, integer[], bigint[])
	IS 'raises the ends of worker ids that nobody holds, or raises an error if another node holds one of them';

-- What a server brings along that changes from its local registry to this one: the ends of
-- the grants of its rows there.  Who has chosen a row by its old end does not get it.  R4 is for
-- these ends as well: a registry that loses this call is in quarantine beyond them.
CREATE FUNCTION uidgen_registry.node_import(
	datacenter integer,
	workers integer[],
	ends bigint[],					-- of the same worker ids
	not_after bigint,
	OUT done boolean, OUT registry_id bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen_registry.registry;
	beyond record;
BEGIN
	PERFORM uidgen_registry.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => true) AS b;
	PERFORM uidgen_registry.check_rows();
	l := call.l;
	-- Keepers remember 64.
	IF cardinality(workers) > 128 THEN
		RAISE EXCEPTION 'a node cannot bring along the ends of % worker ids', cardinality(workers)
			USING ERRCODE = 'program_limit_exceeded', HINT = 'The registry''s owner can, with uidgen_registry.import_worker().';
	END IF;
	PERFORM uidgen_registry.check_named_workers(l, datacenter, workers, by_setting => true);
	SELECT i.* INTO beyond FROM unnest(workers, ends) AS i (worker, until)
		WHERE i.until > uidgen_registry.tick_at(uidgen_registry.registry_clock(), l.unit, l.epoch) + uidgen_registry.ticks_in(l.max_lead, l.unit)
			-- import_worker() or keep_worker() has raised it already
			AND NOT EXISTS (SELECT FROM uidgen_registry.worker_node AS n
				WHERE n.datacenter_id = node_import.datacenter AND n.worker_id = i.worker AND n.granted_until >= i.until)
		ORDER BY i.until DESC LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a grant of the local registry reaches too far ahead of the clock'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('The grant of worker id %s ends at %s. A node can bring along ends up to %s ahead of the clock.',
								beyond.worker, uidgen_registry.tick_time(beyond.until, l.unit, l.epoch), l.max_lead),
				-- Texts of times end with milliseconds; ticks may be shorter.
				HINT = format('Wait, or have the registry''s owner run SELECT uidgen_registry.import_worker(%s, %s, %L).',
								datacenter, beyond.worker, uidgen_registry.tick_time(least(beyond.until, l.max_tick) + 1 + 999 / l.unit, l.unit, l.epoch));
	END IF;
	PERFORM uidgen_registry.raise_ends(l, datacenter, workers, ends);
	done := true;
	registry_id := l.id;
	timeline := call.timeline;
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.node_import(integer, integer[], bigint[], bigint)
	IS 'raises the ends of worker ids to their ends in a local registry, for a server that changes to this registry';
