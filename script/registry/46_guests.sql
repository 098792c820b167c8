--
-- Guests: programs that make ids in their own process, by a worker id that they lease here.
--
-- A guest is a node of another kind, and rules R1 to R7 (30_fleet.sql) hold for it as they are.  It differs in this:
--
--	- its grants reach guest_lead ahead of the clock, in place of max_lead, and its quarantine is as much shorter.  So after
--	  a failover a program that starts has ids within guest_lead, and a worker id is free again guest_lead + clock_slack
--	  after its end;
--	- worker ids from registry.first_guest on are for guests alone, and the others for nodes, so neither is judged by the
--	  other's lengths;
--	- a guest is less trusted than a server.  It claims rows of its own role only, has no more of them at a time than
--	  grant_guest() allows, and what it says is no evidence that the registry went back: with that, R5 would let it
--	  keep all others waiting.
--
-- docs/protocol.md says what a guest has to do.  A length of time in a call would be one more thing that clients can have wrong, so
-- the registry decides them: a grant is half of guest_lead.
--
-- Whoever locks a row of guest_role does so first, before registry.
--

-- [since 0.4.0]
CREATE TABLE uidgen_registry.guest_role (
	name name PRIMARY KEY,
	max_workers integer NOT NULL CHECK (max_workers > 0)
);
COMMENT ON TABLE uidgen_registry.guest_role IS 'roles that may be guests: changed by grant_guest() and revoke_guest() alone';
COMMENT ON COLUMN uidgen_registry.guest_role.name IS 'the role with which guests log in';
COMMENT ON COLUMN uidgen_registry.guest_role.max_workers IS 'how many worker ids all guests of this role may have at a time';

-- Renewals do not change it, so they stay HOT.
-- [since 0.4.0]
CREATE INDEX worker_node_guest_idx ON uidgen_registry.worker_node (guest) WHERE guest IS NOT NULL;
COMMENT ON INDEX uidgen_registry.worker_node_guest_idx IS 'finds the worker ids of a guest''s role';

-- [since 0.4.0]
DO $$
DECLARE
	g record;
BEGIN
	FOR g IN SELECT s.* FROM uidgen_registry.guard_statements('uidgen_registry.guest_role') AS s LOOP
		EXECUTE g.makes;
		EXECUTE g.enables;
		EXECUTE g.remarks;
	END LOOP;
END
$$;

-- For change_registry(), which has locked registry.  Rows whose side changes lose their token, so that nobody goes on with them.  A
-- node's call that has read the old value may still insert a row: it counts as one for nodes, and no guest gets it.
CREATE FUNCTION uidgen_registry.set_first_guest(first integer) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	now_time CONSTANT timestamptz := uidgen_registry.registry_clock();
	l uidgen_registry.registry;
	b record;
	held integer;
BEGIN
	SELECT r.* INTO STRICT l FROM uidgen_registry.registry AS r;
	IF first NOT BETWEEN 1 AND l.max_worker + 1::bigint THEN
		RAISE EXCEPTION 'the first worker id of guests cannot be %', first
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The layout has room for worker ids from 0 to %s.', l.max_worker),
				HINT = format('It can be 1 to %s; with %s there are none for guests.', l.max_worker + 1::bigint, l.max_worker + 1::bigint);
	END IF;
	-- By the lengths of nodes, which are the longer ones.  What was kept is nobody's on either side.
	SELECT f.* INTO STRICT b FROM uidgen_registry.free_bounds(l, now_time) AS f;
	SELECT n.worker_id INTO held FROM uidgen_registry.worker_node AS n
		WHERE (n.guest IS NOT NULL) <> (n.worker_id >= first) AND n.granted_until < l.max_tick
			AND NOT uidgen_registry.is_free(n, b.ended_before, b.changed_before, reach => l.max_tick)
		ORDER BY n.worker_id LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'worker id % is in use, or was a short time ago', held
			USING ERRCODE = 'object_in_use',
				DETAIL = 'It would change from nodes to guests, or back.',
				HINT = 'The view uidgen_registry.fleet shows who has it. Choose another first_guest, or wait until it is free.';
	END IF;
	UPDATE uidgen_registry.worker_node AS n SET
			guest = CASE WHEN n.worker_id >= first THEN '' END,
			identity = NULL,
			token = NULL,
			released = true,
			modified = greatest(n.modified, now_time)
		WHERE (n.guest IS NOT NULL) <> (n.worker_id >= first) AND n.granted_until < l.max_tick
			AND uidgen_registry.is_free(n, b.ended_before, b.changed_before, reach => l.max_tick);
	-- Grants of the other side that were lost reach no further than its quarantine.
	UPDATE uidgen_registry.registry AS r SET
			first_guest = first,
			guest_lead = coalesce(r.guest_lead, least(r.max_lead, greatest(interval '20 seconds', r.unit * 8 * interval '1 microsecond'))),
			guest_quarantine_until = greatest(r.guest_quarantine_until, r.quarantine_until),
			quarantine_until = greatest(r.quarantine_until, r.guest_quarantine_until);
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.set_first_guest(integer) IS 'makes worker ids from this one on those of guests, or raises an error if one that would change sides is in use';

-- As begin_node_call(), with the lengths of guests in place of those of nodes.
CREATE FUNCTION uidgen_registry.begin_guest_call(
	OUT l uidgen_registry.registry,
	OUT timeline integer,
	OUT went_back boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
BEGIN
	PERFORM uidgen_registry.begin_call();
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_node_call(queues => false) AS b;
	l := call.l;
	timeline := call.timeline;
	went_back := call.went_back;
	IF (l.first_guest <= l.max_worker) IS NOT TRUE THEN
		RAISE EXCEPTION 'this registry has no worker ids for guests'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('All that its layout has room for, 0 to %s, are for nodes.', l.max_worker),
				HINT = format('Its owner can set some apart: SELECT uidgen_registry.change_registry(first_guest => %s).', greatest((l.max_worker + 1::bigint) / 2, 1));
	ELSIF NOT EXISTS (SELECT FROM uidgen_registry.guest_role AS r WHERE r.name = session_user) THEN
		RAISE EXCEPTION 'role % is no guest', session_user
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'The role that counts is the one that has logged in.',
				HINT = format('The owner of the registry can run SELECT uidgen_registry.grant_guest(%L).', quote_ident(session_user));
	END IF;
	IF went_back THEN
		PERFORM uidgen_registry.begin_quarantine();
		SELECT r.* INTO STRICT l FROM uidgen_registry.registry AS r;
	END IF;
	l.max_lead := l.guest_lead;
	l.quarantine_until := l.guest_quarantine_until;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_guest_call() IS 'what each call of a guest begins with: the registry, with the lengths of guests, or an error if the role of the session is no guest';

-- The row that a guest goes on with, if it has one.  It is of its own role.  A claim without a token is for a registry that has lost
-- a renewal, so it counts only if the registry knows that it went back: then the claimed end is in the quarantine.
CREATE FUNCTION uidgen_registry.find_claimed_guest(
	l uidgen_registry.registry,
	clock timestamptz,
	now_tick bigint,
	holder text,
	datacenter integer,
	known_tokens bigint[],
	claimed_worker integer,
	claimed_until bigint,
	OUT before uidgen_registry.worker_node)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	SELECT (c.before).* INTO before
		FROM uidgen_registry.find_claimed_worker(l, clock, now_tick, holder, datacenter, -1, known_tokens, claimed_worker, claimed_until) AS c
		WHERE c.worker IS NOT NULL AND (c.before).guest = session_user AND (c.before).worker_id >= l.first_guest
			AND ((c.before).token = ANY (known_tokens) OR claimed_until <= l.quarantine_until);
END
$$;
COMMENT ON FUNCTION uidgen_registry.find_claimed_guest(uidgen_registry.registry, timestamptz, bigint, text, integer, bigint[], integer, bigint)
	IS 'the row whose grant a guest continues; null if there is none';

-- A worker id for a guest that has none.  All guests of a role queue on its row in guest_role, so that none is counted too few.
-- A released row counts until its end is over: somebody who takes and releases one after the other would else make all others wait
-- for ends that are ahead.  Where the bound is reached, a guest still gets what its own role has given up.
CREATE FUNCTION uidgen_registry.choose_for_guest(
	l uidgen_registry.registry,
	clock timestamptz,
	now_tick bigint,
	datacenter integer,
	reach bigint,
	OUT worker integer,
	OUT before uidgen_registry.worker_node)	-- its row then, if there is one
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	ended_before bigint;
	changed_before timestamptz;
	bound integer;
	free record;
	next_tick bigint;
BEGIN
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen_registry.free_bounds(l, clock) AS b;
	SELECT r.max_workers INTO STRICT bound FROM uidgen_registry.guest_role AS r WHERE r.name = session_user FOR UPDATE;
	IF (SELECT count(*) FROM uidgen_registry.worker_node AS n
			WHERE n.guest = session_user AND NOT uidgen_registry.is_free(n, ended_before, changed_before, reach => now_tick)) >= bound THEN
		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.guest = session_user AND uidgen_registry.is_free(n, ended_before, changed_before, reach)
				AND NOT uidgen_registry.is_locked(n, n.xmax, by_other_role => false)
			ORDER BY n.granted_until LIMIT 1;
		worker := before.worker_id;
	ELSE
		bound := NULL;
		SELECT f.* INTO STRICT free
			FROM uidgen_registry.find_free_worker(l, datacenter, 'reuse', ended_before, changed_before, reach, chooses => true, for_guest => true) AS f;
		worker := free.worker;
		before := free.before;
	END IF;
	IF worker IS NULL THEN
		SELECT min(greatest(uidgen_registry.tick_at(n.modified, l.unit, l.epoch), n.granted_until) + now_tick - ended_before + 1) INTO next_tick
			FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.granted_until < l.max_tick AND (CASE WHEN bound IS NULL THEN n.guest IS NOT NULL ELSE n.guest = session_user END);
		RAISE EXCEPTION 'no worker id is free for this guest'
			USING ERRCODE = 'configuration_limit_exceeded',
				DETAIL = CASE WHEN bound IS NULL THEN format('Guests have %s worker ids in datacenter %s, and all are in use or were until a short time ago.', l.max_worker + 1::bigint - l.first_guest, datacenter)
					ELSE format('All guests of role %s together may have %s, and as many are in use or were until a short time ago.', session_user, bound) END
					|| CASE WHEN next_tick IS NULL THEN '' ELSE format(' The next one becomes free at %s.', uidgen_registry.tick_time(next_tick, l.unit, l.epoch)) END,
				HINT = CASE WHEN bound IS NULL THEN 'Let the owner of the registry lower first_guest with uidgen_registry.change_registry().'
					ELSE 'Let the owner of the registry raise the bound with uidgen_registry.grant_guest().' END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.choose_for_guest(uidgen_registry.registry, timestamptz, bigint, integer, bigint)
	IS 'a worker id that a guest may take, or an error that there is none, or that its role has as many as it may have';

-- Acquire a worker id and its first range of ticks, or go on with one after a call without an answer.  Like node_acquire(), it may
-- succeed and grant nothing.
CREATE FUNCTION uidgen_registry.guest_acquire(
	holder text,					-- who the guest is, for people, with a random part, so that no two are called the same
	new_token bigint,				-- random
	known_tokens bigint[] DEFAULT '{}',	-- those that the guest's row may have
	claimed_worker integer DEFAULT -1,	-- the worker id that it had last, or -1
	claimed_until bigint DEFAULT -1,	-- and the end of that grant, or -1
	datacenter integer DEFAULT 0,
	OUT worker integer,				-- null: nothing is granted
	OUT first_tick bigint,			-- without a worker: the grant would begin there; null: ask again at once
	OUT last_tick bigint,
	OUT layout text,
	OUT unit bigint,				-- of a tick, in microseconds
	OUT epoch bigint,				-- of tick 0, in microseconds since 1970 UTC
	OUT registry_id bigint,
	OUT timeline integer,
	OUT clock bigint)				-- in microseconds since 1970 UTC
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	me CONSTANT text := left(holder, 256);
	call record;
	l uidgen_registry.registry;
	now_time timestamptz;
	now_tick bigint;
	latest bigint;					-- R4
	span bigint;
	enough bigint;					-- so long at least
	until bigint;
	claimed boolean := false;
	choice record;
	before uidgen_registry.worker_node;		-- as the last holder left it, when it was chosen
BEGIN
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_guest_call() AS b;
	PERFORM uidgen_registry.check_tables('{worker_node,registry,guest_role}'), uidgen_registry.check_rows();
	l := call.l;
	PERFORM uidgen_registry.check_request('reuse', datacenter, -1, l.max_datacenter, l.max_worker, by_setting => false);
	now_time := uidgen_registry.registry_clock();
	now_tick := uidgen_registry.tick_at(now_time, l.unit, l.epoch);
	PERFORM uidgen_registry.check_epoch(now_tick, l.unit, l.epoch);
	latest := now_tick + uidgen_registry.ticks_in(l.max_lead, l.unit);
	span := (latest - now_tick) / 2;
	enough := span / 4;

	-- What went back was written down, or is by another call; in either case this one has to come again.
	IF NOT call.went_back THEN
		SELECT c.* INTO before
			FROM uidgen_registry.find_claimed_guest(l, now_time, now_tick, me, datacenter, known_tokens, claimed_worker, claimed_until) AS c;
		claimed := before.worker_id IS NOT NULL;
		IF claimed THEN
			worker := before.worker_id;
			first_tick := least(claimed_until, l.max_tick) + 1;
		ELSE
			first_tick := l.quarantine_until + 1;
			IF first_tick <= latest - enough THEN
				SELECT c.* INTO STRICT choice FROM uidgen_registry.choose_for_guest(l, now_time, now_tick, datacenter, reach => latest - enough) AS c;
				worker := choice.worker;
				before := choice.before;
			END IF;
		END IF;
		first_tick := greatest(0, now_tick, before.granted_until + 1, first_tick);
		IF first_tick > latest - enough THEN
			worker := NULL;
		ELSE
			PERFORM uidgen_registry.check_lifetime(first_tick, l.max_tick, l.unit, l.epoch);
			until := least(first_tick + span, latest, l.max_tick - 1);
			IF uidgen_registry.write_grant(before, (datacenter, worker, me, NULL, NULL, now_time::date, now_time, now_time,
					me, new_token, until, false, 1, session_user)::uidgen_registry.worker_node) THEN
				last_tick := until;
			ELSE
				-- another call has changed the row meanwhile
				worker := NULL;
				first_tick := NULL;
			END IF;
		END IF;
	END IF;

	layout := l.layout;
	unit := l.unit;
	epoch := l.epoch;
	registry_id := l.id;
	timeline := call.timeline;
	clock := uidgen_registry.microseconds(uidgen_registry.registry_clock());
END
$$;
COMMENT ON FUNCTION uidgen_registry.guest_acquire(text, bigint, bigint[], integer, bigint, integer)
	IS 'leases a worker id to a guest, with a first range of ticks, or goes on with the one that it has';

-- As node_renew(): last_tick is null if the row is the guest's no longer, and may be below what is needed.
CREATE FUNCTION uidgen_registry.guest_renew(
	worker integer,
	old_token bigint,
	old_until bigint,
	new_token bigint,
	needed bigint DEFAULT 0,
	datacenter integer DEFAULT 0,
	OUT last_tick bigint,
	OUT registry_id bigint,
	OUT timeline integer,
	OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	l uidgen_registry.registry;
	now_time timestamptz;
	now_tick bigint;
	lead bigint;
	from_tick bigint;
BEGIN
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_guest_call() AS b;
	l := call.l;
	now_time := uidgen_registry.registry_clock();
	now_tick := uidgen_registry.tick_at(now_time, l.unit, l.epoch);
	lead := uidgen_registry.ticks_in(l.max_lead, l.unit);
	from_tick := greatest(now_tick, least(needed, now_tick + lead));
	PERFORM uidgen_registry.check_lifetime(from_tick, l.max_tick, l.unit, l.epoch);
	UPDATE uidgen_registry.worker_node AS n SET
			token = new_token,
			granted_until = greatest(n.granted_until, least(from_tick + lead / 2, now_tick + lead, l.max_tick - 1)),
			modified = greatest(n.modified, now_time)
		WHERE n.datacenter_id = datacenter AND n.worker_id = guest_renew.worker AND n.guest = session_user
			AND n.token = old_token AND n.granted_until = old_until
			AND (n.granted_until >= now_tick - lead OR n.modified >= now_time - l.max_lead)
		RETURNING n.granted_until INTO last_tick;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	registry_id := l.id;
	timeline := call.timeline;
	clock := uidgen_registry.microseconds(uidgen_registry.registry_clock());
END
$$;
COMMENT ON FUNCTION uidgen_registry.guest_renew(integer, bigint, bigint, bigint, bigint, integer)
	IS 'extends the grant of a guest; last_tick is null if it has the worker id no longer';

-- R7
CREATE FUNCTION uidgen_registry.guest_release(
	worker integer,
	known_tokens bigint[],
	datacenter integer DEFAULT 0) RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	done boolean;
BEGIN
	PERFORM uidgen_registry.begin_guest_call();
	UPDATE uidgen_registry.worker_node AS n SET
			token = NULL,
			released = true,
			modified = greatest(n.modified, uidgen_registry.registry_clock())
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker AND n.guest = session_user
			AND n.token = ANY (known_tokens);
	done := FOUND;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	RETURN done;
END
$$;
COMMENT ON FUNCTION uidgen_registry.guest_release(integer, bigint[], integer) IS 'hands back the worker id of a guest; whether it was its own';

CREATE FUNCTION uidgen_registry.guest_functions() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(p.oid::regprocedure::text, ', ')
	FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE n.nspname = 'uidgen_registry' AND p.proname IN ('guest_acquire', 'guest_renew', 'guest_release')
$$;
COMMENT ON FUNCTION uidgen_registry.guest_functions() IS 'the functions that a guest calls, as GRANT names them';

CREATE FUNCTION uidgen_registry.grant_guest(role regrole, max_workers integer DEFAULT 100) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
BEGIN
	IF (grant_guest.max_workers > 0) IS NOT TRUE THEN
		RAISE EXCEPTION 'the number of worker ids of a role cannot be %', coalesce(grant_guest.max_workers::text, 'null')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use uidgen_registry.revoke_guest() for a role that is to have none.';
	END IF;
	PERFORM uidgen_registry.grant_calls(role, uidgen_registry.guest_functions());
	PERFORM uidgen_registry.lock_for_owner(guest => (SELECT r.rolname::text FROM pg_roles AS r WHERE r.oid = role));
	INSERT INTO uidgen_registry.guest_role AS g (name, max_workers)
		SELECT r.rolname, grant_guest.max_workers FROM pg_roles AS r WHERE r.oid = role
		ON CONFLICT (name) DO UPDATE SET max_workers = excluded.max_workers;
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.grant_guest(regrole, integer)
	IS 'lets programs that log in with a role be guests, which have at most so many worker ids at a time; as strict as grant_node()';

CREATE FUNCTION uidgen_registry.revoke_guest(role regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
BEGIN
	PERFORM uidgen_registry.revoke_calls(role, uidgen_registry.guest_functions());
	PERFORM uidgen_registry.lock_for_owner(guest => (SELECT r.rolname::text FROM pg_roles AS r WHERE r.oid = role));
	DELETE FROM uidgen_registry.guest_role AS g USING pg_roles AS r WHERE r.oid = role AND g.name = r.rolname;
	PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.guest_role AS g JOIN pg_roles AS r ON r.rolname = g.name WHERE r.oid = role));
END
$$;
COMMENT ON FUNCTION uidgen_registry.revoke_guest(regrole) IS 'takes back what grant_guest() gave; what a guest holds it keeps until it ends';

CREATE FUNCTION uidgen_registry.guest_bounds(l uidgen_registry.registry, clock timestamptz, OUT ended_before bigint, OUT changed_before timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	l.max_lead := l.guest_lead;
	SELECT b.* INTO STRICT ended_before, changed_before FROM uidgen_registry.free_bounds(l, clock) AS b;
END
$$;
COMMENT ON FUNCTION uidgen_registry.guest_bounds(uidgen_registry.registry, timestamptz) IS 'the tick and the time before which the end and the last change of a row lie that any guest may take';

CREATE VIEW uidgen_registry.guests AS
SELECT g.name AS role, g.max_workers,
	count(n.worker_id) FILTER (WHERE NOT n.released AND n.granted_until >= l.now_tick) AS running,
	count(n.worker_id) FILTER (WHERE NOT uidgen_registry.is_free(n, l.ended_before, l.changed_before, l.now_tick)) AS taken
FROM (SELECT b.ended_before, b.changed_before, uidgen_registry.tick_at(c.clock, r.unit, r.epoch) AS now_tick
		FROM uidgen_registry.registry AS r
			CROSS JOIN uidgen_registry.registry_clock() AS c (clock)
			CROSS JOIN LATERAL uidgen_registry.guest_bounds(r, c.clock) AS b
		WHERE r.first_guest IS NOT NULL) AS l
	CROSS JOIN uidgen_registry.guest_role AS g
	LEFT JOIN uidgen_registry.worker_node AS n ON n.guest = g.name
GROUP BY g.name, g.max_workers;
COMMENT ON VIEW uidgen_registry.guests IS 'the roles that may be guests: how many worker ids each may have, how many of its guests hold a grant, and how many worker ids count against the bound';
COMMENT ON COLUMN uidgen_registry.guests.role IS 'the role with which guests log in';
COMMENT ON COLUMN uidgen_registry.guests.max_workers IS 'how many worker ids all guests of this role may have at a time';
COMMENT ON COLUMN uidgen_registry.guests.running IS 'guests that hold a grant now';
COMMENT ON COLUMN uidgen_registry.guests.taken IS 'worker ids that count against the bound: those in use, and those that were until a short time ago';
