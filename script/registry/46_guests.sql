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
--	- a guest is less trusted than a server.  It claims rows of its own role only, and has no more at a time than
--	  grant_guest() allows.  What it says is no evidence that the registry went back: otherwise R5 would let it keep
--	  all others waiting.
--
-- docs/protocol.md says what a guest has to do.  A length of time in a call would be one more thing that clients can have wrong, so
-- the registry decides them: a grant is half of guest_lead.
--
-- Whoever locks a row of guest_role does so first, before registry.
--

CREATE TABLE uidgen_registry.guest_role (
	name name PRIMARY KEY,
	max_workers integer NOT NULL CHECK (max_workers > 0)
);
COMMENT ON TABLE uidgen_registry.guest_role IS 'roles that may be guests: changed by grant_guest() and revoke_guest() alone';
COMMENT ON COLUMN uidgen_registry.guest_role.name IS 'the role with which guests log in';
COMMENT ON COLUMN uidgen_registry.guest_role.max_workers IS 'how many worker ids all guests of this role may have at a time';

-- Renewals do not change it, so they stay HOT.
CREATE INDEX worker_node_guest_idx ON uidgen_registry.worker_node (guest) WHERE guest IS NOT NULL;
COMMENT ON INDEX uidgen_registry.worker_node_guest_idx IS 'finds the worker ids of a guest''s role';

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
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
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
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('The layout has room for worker ids from 0 to %s.', l.max_worker),
				HINT = format('It can be 1 to %s; with %s there are none for guests.', l.max_worker + 1::bigint, l.max_worker + 1::bigint);
	END IF;
	-- By the lengths of nodes, which are the longer ones.  What was kept is nobody's on either side.
	SELECT f.* INTO STRICT b FROM uidgen_registry.free_bounds(l, now_time) AS f;
	SELECT n.worker_id INTO held FROM uidgen_registry.worker_node AS n
		WHERE (n.guest IS NOT NULL) <> (n.worker_id >= first) AND n.granted_until < l.max_tick
			AND NOT uidgen_registry.is_free(n, b.ended_before, b.changed_before, reach => l.max_tick)
		ORDER BY n.worker_id LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'worker id % is in use, or was a short time ago', held USING ERRCODE = 'object_in_use', DETAIL = 'It would change from nodes to guests, or back.',
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
	-- Grants of the other side that were lost reach no further than its quarantine.  Who gets worker ids from there waits for it, and nobody else.
	UPDATE uidgen_registry.registry AS r SET
			first_guest = first,
			lowest_first_guest = least(r.lowest_first_guest, first),
			guest_lead = coalesce(r.guest_lead, r.max_lead),
			guest_quarantine_until = CASE WHEN (r.first_guest <= first) IS TRUE THEN r.guest_quarantine_until ELSE greatest(r.guest_quarantine_until, r.quarantine_until) END,
			quarantine_until = CASE WHEN r.first_guest < first THEN greatest(r.quarantine_until, r.guest_quarantine_until) ELSE r.quarantine_until END;
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.set_first_guest(integer) IS 'gives guests the worker ids from this one on, or raises an error if a worker id that would change sides is in use';

CREATE FUNCTION uidgen_registry.check_guest(l uidgen_registry.registry) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (l.first_guest <= l.max_worker) IS NOT TRUE THEN
		RAISE EXCEPTION 'this registry has no worker ids for guests'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('All that its layout has room for, 0 to %s, are for nodes.', l.max_worker),
				HINT = format('Its owner can set some apart: SELECT uidgen_registry.change_registry(first_guest => %s).', greatest((l.max_worker + 1::bigint) / 2, 1));
	ELSIF NOT EXISTS (SELECT FROM uidgen_registry.guest_role AS r WHERE r.name = session_user) THEN
		RAISE EXCEPTION 'role % is no guest', session_user USING ERRCODE = 'insufficient_privilege', DETAIL = 'The role that counts is the one that has logged in.',
				HINT = format('The owner of the registry can run SELECT uidgen_registry.grant_guest(%L).', quote_ident(session_user));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_guest(uidgen_registry.registry) IS 'raises an error if the role of the session is no guest, or the registry has no worker ids for guests';

-- The calls of guests: like the nodes' calls, with a guest's lengths, worker ids and bound.  Rights to call tell the
-- two kinds of roles apart, so each kind has functions of its own.
CREATE FUNCTION uidgen_registry.guest_acquire(
	holder text,					-- who the guest is, for people, with a random part, so that no two are called the same
	new_token bigint,				-- random
	known_tokens bigint[] DEFAULT '{}',
	claimed_worker integer DEFAULT -1,
	claimed_until bigint DEFAULT -1,
	datacenter integer DEFAULT 0,
	registry bigint DEFAULT 0,		-- the number of the one that is meant; another one writes nothing, and says which it is
	OUT worker integer,				-- null: nothing is granted
	OUT first_tick bigint,			-- without a worker: the grant would begin there; null: ask again at once
	OUT last_tick bigint, OUT layout text, OUT unit bigint, OUT epoch bigint, OUT registry_id bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	IF guest_acquire.registry <> 0 THEN
		SELECT i.registry_id, i.timeline, uidgen_registry.microseconds(uidgen_registry.registry_clock()) INTO registry_id, timeline, clock
			FROM uidgen_registry.registry_identity() AS i WHERE i.registry_id <> guest_acquire.registry;
		IF FOUND THEN
			RETURN;
		END IF;
	END IF;
	SELECT g.worker, g.first_tick, g.last_tick, g.layout, g.unit, g.epoch, g.registry_id, g.timeline, g.clock
		INTO STRICT worker, first_tick, last_tick, layout, unit, epoch, registry_id, timeline, clock
		FROM uidgen_registry.lease(holder, '', new_token, known_tokens, claimed_worker, claimed_until, datacenter, host => left(holder, 256), guest => true) AS g;
END
$$;
COMMENT ON FUNCTION uidgen_registry.guest_acquire(text, bigint, bigint[], integer, bigint, integer, bigint) IS 'leases a worker id to a guest, with a first range of ticks, or goes on with the one that it has';

CREATE FUNCTION uidgen_registry.guest_renew(
	worker integer,
	old_token bigint,
	old_until bigint,
	new_token bigint,
	needed bigint DEFAULT 0,
	datacenter integer DEFAULT 0,
	OUT last_tick bigint, OUT registry_id bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT g.last_tick, g.registry_id, g.timeline, g.clock
	FROM uidgen_registry.lease_renew(datacenter, worker, old_token, old_until, new_token, needed, guest => true) AS g;
END;
COMMENT ON FUNCTION uidgen_registry.guest_renew(integer, bigint, bigint, bigint, bigint, integer) IS 'extends the grant of a guest; last_tick is null if it has the worker id no longer';

CREATE FUNCTION uidgen_registry.guest_release(worker integer, known_tokens bigint[], datacenter integer DEFAULT 0) RETURNS boolean
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT g.done FROM uidgen_registry.lease_release(datacenter, worker, known_tokens, guest => true) AS g;
END;
COMMENT ON FUNCTION uidgen_registry.guest_release(integer, bigint[], integer) IS 'hands back the worker id of a guest; whether it was its own';

CREATE FUNCTION uidgen_registry.guest_functions() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(p.oid::regprocedure::text, ', ')
	FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE n.nspname = 'uidgen_registry' AND p.proname IN ('guest_acquire', 'guest_renew', 'guest_release')
$$;
COMMENT ON FUNCTION uidgen_registry.guest_functions() IS 'the functions that a guest calls, as GRANT names them';

CREATE FUNCTION uidgen_registry.grant_guest(role regrole, max_workers integer DEFAULT 100) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
BEGIN
	IF (grant_guest.max_workers > 0) IS NOT TRUE THEN
		RAISE EXCEPTION 'the number of worker ids of a role cannot be %', coalesce(grant_guest.max_workers::text, 'null')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use uidgen_registry.revoke_guest() for a role that is to have none.';
	END IF;
	PERFORM uidgen_registry.grant_calls(role, uidgen_registry.guest_functions());
	PERFORM uidgen_registry.lock_for_owner(guest => (SELECT r.rolname::text FROM pg_roles AS r WHERE r.oid = role));
	INSERT INTO uidgen_registry.guest_role AS g (name, max_workers)
		SELECT r.rolname, grant_guest.max_workers FROM pg_roles AS r WHERE r.oid = role
		ON CONFLICT (name) DO UPDATE SET max_workers = excluded.max_workers;
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.grant_guest(regrole, integer) IS 'lets programs that log in with a role be guests, with at most this many worker ids at a time; as strict as grant_node()';

CREATE FUNCTION uidgen_registry.revoke_guest(role regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
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
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	l.max_lead := greatest(l.guest_lead, l.former_guest_lead);
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
COMMENT ON VIEW uidgen_registry.guests IS 'the roles of guests: how many worker ids each may have, how many hold a grant, and how many count against the bound';
COMMENT ON COLUMN uidgen_registry.guests.role IS 'the role with which guests log in';
COMMENT ON COLUMN uidgen_registry.guests.max_workers IS 'how many worker ids all guests of this role may have at a time';
COMMENT ON COLUMN uidgen_registry.guests.running IS 'guests that hold a grant now';
COMMENT ON COLUMN uidgen_registry.guests.taken IS 'worker ids that count against the bound: those in use, and those that were until a short time ago';
