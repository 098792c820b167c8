--
-- The local registry: three calls for the keeper of this server.
--
-- The steps of acquiring a worker id come first; only acquire_worker_id() calls them.
-- l is the layout of the caller, as the registry would pin it; now_tick is the tick that
-- the clock shows.
--

CREATE FUNCTION uidgen_registry.check_local() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM uidgen_registry.registry AS r WHERE r.shared) THEN
		RAISE EXCEPTION 'this registry is shared by many servers'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It was called as the local registry of its server.',
				HINT = 'Point the setting "uidgen.registry" at the server itself, as on all other servers that share the registry.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_local() IS 'raises an error if the registry is shared';

-- Pin the caller's layout if none is pinned; otherwise compare it with the pinned one.
--
-- CREATE DATABASE ... TEMPLATE copies a registry within one server, so the identity of
-- the server does not tell the copy from the original.  The database's OID does: if it has
-- changed, all rows are marked as another instance's.
CREATE FUNCTION uidgen_registry.pin_layout(l uidgen_registry.registry) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	pinned uidgen_registry.registry;
	marked bigint;
BEGIN
	PERFORM uidgen_registry.check_local();
	INSERT INTO uidgen_registry.registry AS r
		(only_one, layout, unit, epoch, max_tick, max_datacenter, max_worker, pinned, database, made)
		VALUES (l.only_one, l.layout, l.unit, l.epoch, l.max_tick, l.max_datacenter, l.max_worker, l.pinned, l.database, l.made)
		ON CONFLICT (only_one) DO NOTHING;
	SELECT r.* INTO pinned FROM uidgen_registry.registry AS r;
	PERFORM uidgen_registry.check_written(FOUND);
	IF pinned.layout <> l.layout THEN
		RAISE EXCEPTION 'the layout differs from the registry''s'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('The registry has "%s", this server has "%s".', pinned.layout, l.layout),
				HINT = 'Set "uidgen.layout" back, and restart the server if uidgen is preloaded, else reload. If no id was issued, DROP and CREATE EXTENSION uidgen_registry in the registry''s database instead. To change the layout, follow "A new layout" in docs/layouts.md.';
	END IF;

	IF pinned.database <> l.database OR uidgen_registry.is_made_anew(pinned.made, l.made) THEN
		-- These worker ids stay the original's for good: it goes on with them, or has
		-- issued ids with them before.
		UPDATE uidgen_registry.worker_node AS n SET
				identity = format('copied from database %s: %s', pinned.database, n.identity)
			WHERE n.identity IS NOT NULL;
		GET DIAGNOSTICS marked = ROW_COUNT;
		PERFORM uidgen_registry.check_written(marked = (SELECT count(*) FROM uidgen_registry.worker_node AS n WHERE n.identity IS NOT NULL));
		UPDATE uidgen_registry.registry AS r SET database = l.database, made = l.made,
			-- Reservations know a registry by its number and the OID.
			id = CASE WHEN pinned.database = l.database THEN uidgen_registry.new_token() ELSE r.id END;
		PERFORM uidgen_registry.check_written(FOUND);
	ELSIF l.made <> pinned.made THEN
		-- One of the two has changed, as it may.  The other one may, later.
		UPDATE uidgen_registry.registry AS r SET made = l.made;
		PERFORM uidgen_registry.check_written(FOUND);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.pin_layout(uidgen_registry.registry) IS 'pins the layout, or raises an error if another one is pinned';

CREATE FUNCTION uidgen_registry.check_wanted_worker(
	l uidgen_registry.registry,
	now_tick bigint,
	holder text,
	datacenter integer,
	wanted integer,
	max_lead bigint,
	max_step bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	candidate uidgen_registry.worker_node;
BEGIN
	SELECT n.* INTO candidate FROM uidgen_registry.worker_node AS n
		WHERE n.datacenter_id = datacenter AND n.worker_id = wanted;
	IF candidate.identity <> holder THEN
		RAISE EXCEPTION 'worker id % belongs to another instance', wanted
			USING ERRCODE = 'object_in_use', DETAIL = format('It was granted to host "%s", port %s, until %s.',
								candidate.host_name, candidate.port,
								uidgen_registry.tick_time(candidate.granted_until, l.unit, l.epoch)),
				HINT = format('If that instance will never issue ids again, run SELECT uidgen_registry.forget_worker(%s, %s). Otherwise set "uidgen.worker_id" to another worker id or to -1, and restart the server.', wanted, datacenter);
	END IF;
	-- If only crashes have carried the grant ahead, it is given, and calls wait until the
	-- clock is near enough.  If the clock was set back, it has to be corrected.
	IF candidate.granted_until + 1 - now_tick > max_lead
		AND uidgen_registry.tick_at(candidate.modified, l.unit, l.epoch) - now_tick > max_step THEN
		RAISE EXCEPTION 'the clock is behind the last grant of worker id %', wanted
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('The last grant ended at %s. The next one would begin %s ms ahead of the clock; %s ms are allowed.',
								uidgen_registry.tick_time(candidate.granted_until, l.unit, l.epoch),
								round((candidate.granted_until + 1 - now_tick)::numeric * l.unit / 1000),
								round(max_lead::numeric * l.unit / 1000)),
				HINT = 'Correct the clock, or raise the setting "uidgen.max_ahead", or set "uidgen.worker_id" to -1 and restart the server.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_wanted_worker(uidgen_registry.registry, bigint, text, integer, integer, bigint, bigint)
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
-- A row of this instance counts by two bounds ahead of the clock: its next grant begins within max_lead ticks, and
-- its last change was within max_step ticks.  max_lead has room for what crashes leave behind.  max_step finds a
-- clock that was set back since the row was changed: then another worker id has the true time at once.
CREATE FUNCTION uidgen_registry.choose_worker(
	l uidgen_registry.registry,
	now_tick bigint,
	holder text,
	datacenter integer,
	avoid integer,
	policy text,
	take_never_used boolean,
	max_lead bigint,
	max_step bigint,
	locked integer[],				-- never used, as far as can be seen, and locked by others
	OUT worker integer, OUT reason text)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	IF policy = 'reuse' THEN
		SELECT n.worker_id INTO worker FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id <> avoid
				AND n.identity = holder
				AND n.granted_until + 1 - now_tick <= max_lead
				AND uidgen_registry.tick_at(n.modified, l.unit, l.epoch) - now_tick <= max_step
			ORDER BY n.granted_until DESC LIMIT 1;
		IF FOUND THEN
			reason := 'This server had it before.';
			RETURN;
		END IF;
	END IF;

	IF take_never_used THEN
		worker := uidgen_registry.never_used_worker(l, datacenter, locked);
	END IF;
	IF worker IS NOT NULL THEN
		reason := 'It was never used before.';
		IF policy = 'reuse' AND EXISTS (SELECT FROM uidgen_registry.worker_node AS n
				WHERE n.datacenter_id = datacenter AND n.identity = holder) THEN
			reason := 'It was never used before. The grants of this server''s earlier worker ids are too far from the time of the clock.';
		END IF;
		RETURN;
	END IF;

	IF policy = 'reuse' THEN
		SELECT n.worker_id INTO worker FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id <> avoid
				AND n.identity IS NULL
				AND n.granted_until + 1 - now_tick <= max_lead
			ORDER BY n.granted_until LIMIT 1;
		IF FOUND THEN
			reason := 'Its former holder gave it up.';
			RETURN;
		END IF;
		SELECT n.worker_id INTO worker FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id <> avoid
				AND n.identity = holder
			ORDER BY n.granted_until LIMIT 1;
		reason := 'This server had it before. Its grants end far ahead of the clock, but no worker id is free, so calls may wait for the clock.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.choose_worker(uidgen_registry.registry, bigint, text, integer, integer, text, boolean, bigint, bigint, integer[])
	IS 'the worker id that suits an instance best, and why';

CREATE FUNCTION uidgen_registry.explain_no_worker(
	l uidgen_registry.registry,
	holder text,
	datacenter integer,
	avoid integer,
	policy text,
	take_never_used boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	workers CONSTANT bigint := l.max_worker + 1::bigint;
	free bigint;
	others bigint;
BEGIN
	SELECT workers - count(*), count(*) FILTER (WHERE n.identity IS DISTINCT FROM holder)
		INTO free, others
		FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = datacenter;
	IF policy = 'disposable' AND free <= 0 THEN
		RAISE EXCEPTION 'all worker ids have been used' USING ERRCODE = 'configuration_limit_exceeded',
				DETAIL = format('The layout has %s worker ids in datacenter %s, and "uidgen.worker_policy" is "disposable", which uses none twice.', workers, datacenter),
				HINT = 'Set "uidgen.worker_policy" to "reuse", or begin a new registry with a layout that has more worker bits.';
	END IF;
	RAISE EXCEPTION 'no worker id is free'
		USING ERRCODE = 'configuration_limit_exceeded', DETAIL = format('The layout has %s worker ids in datacenter %s: %s belong to other instances, %s were never used.',
							workers, datacenter, others, free) ||
				CASE WHEN NOT take_never_used AND free > 0
					THEN ' After many large steps of the clock, the unused ones are not taken for now.'
					WHEN avoid >= 0 AND others = 0
					THEN ' The clock was set forward by a large step, and the worker id in use is kept for when the clock returns.'
					ELSE '' END,
			HINT = CASE WHEN NOT take_never_used AND free > 0 THEN 'If the clock is correct now, restart the server; otherwise correct the clock.'
				WHEN others = 0 THEN 'Begin a new registry with a layout that has more worker bits.'
				ELSE 'If an instance will never issue ids again, free its worker id with SELECT uidgen_registry.forget_worker(worker). Otherwise begin a new registry with a layout that has more worker bits.' END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.explain_no_worker(uidgen_registry.registry, text, integer, integer, text, boolean) IS 'raises the error that no worker id can be granted, and says why';

CREATE FUNCTION uidgen_registry.warn_of_few_workers(
	free_workers bigint,
	max_worker integer,
	datacenter integer,
	policy text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF max_worker > 0 AND (free_workers < 3 OR free_workers * 10 <= max_worker + 1::bigint) THEN
		RAISE WARNING 'few worker ids are left: %', free_workers
			USING DETAIL = format('The layout has %s worker ids in datacenter %s. Each promotion, restore or move of a server takes another one for good.',
								  max_worker + 1::bigint, datacenter) ||
					CASE WHEN policy = 'disposable' THEN ' So does each start, because "uidgen.worker_policy" is "disposable".' ELSE '' END,
				HINT = CASE WHEN policy = 'disposable' THEN 'Set "uidgen.worker_policy" to "reuse".'
					ELSE 'Run SELECT uidgen_registry.forget_worker(worker) for each worker id whose instance will never issue ids again; the table uidgen_registry.worker_node lists them.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.warn_of_few_workers(bigint, integer, integer, text) IS 'warns if few worker ids are left';

-- Acquire a worker id and its first range of ticks.
CREATE FUNCTION uidgen_registry.acquire_worker_id(
	holder text,					-- identity of the caller
	layout_text text,				-- its layout in canonical form
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
	OUT worker integer, OUT token bigint, OUT first_tick bigint, OUT last_tick bigint, OUT seen_tick bigint,			-- tick of the clock when the row was last changed
	OUT never_used boolean, OUT free_workers bigint,		-- worker ids that are left: never used, or forgotten
	OUT reason text,				-- why this worker id, for the log
	OUT unit bigint,				-- of a tick, in microseconds
	OUT epoch bigint,				-- of tick 0, in microseconds since 1970 UTC
	OUT registry_id bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	clock timestamptz;
	now_tick bigint;
	l uidgen_registry.registry;
	before uidgen_registry.worker_node;		-- as the last holder left it
	tries integer := 0;
	locked integer[] := '{}';
BEGIN
	SELECT p.layout, p.unit, p.epoch, p.max_tick, p.max_datacenter, p.max_worker
		INTO STRICT l.layout, l.unit, l.epoch, l.max_tick, l.max_datacenter, l.max_worker FROM uidgen_registry.parse_layout(layout_text) AS p;
	PERFORM uidgen_registry.check_request(policy, datacenter, wanted, l.max_datacenter, l.max_worker);
	PERFORM uidgen_registry.check_tables();

	-- The clock is read once, so that all that follows is of one moment.
	clock := uidgen_registry.registry_clock();
	l.only_one := true;
	l.pinned := clock;
	SELECT h.database, uidgen_registry.database_made() INTO l.database, l.made FROM uidgen_registry.registry_history() AS h;
	PERFORM uidgen_registry.pin_layout(l), uidgen_registry.check_rows(floor_tick);
	SELECT r.id INTO STRICT registry_id FROM uidgen_registry.registry AS r;
	unit := l.unit;
	epoch := l.epoch;

	now_tick := uidgen_registry.tick_at(clock, l.unit, l.epoch);
	PERFORM uidgen_registry.check_epoch(now_tick, l.unit, l.epoch);

	-- Another acquirer may choose the same row, its holder may wake up and renew, and the owner may reserve it or
	-- forget its holder.  So the row is claimed as it was when it was chosen, or another one is chosen.
	LOOP
		IF wanted >= 0 THEN
			PERFORM uidgen_registry.check_wanted_worker(l, now_tick, holder, datacenter, wanted,
				max_lead => max_lead, max_step => max_step);
			worker := wanted;
			reason := 'The setting "uidgen.worker_id" asks for it.';
		ELSE
			SELECT c.worker, c.reason INTO worker, reason
				FROM uidgen_registry.choose_worker(l, now_tick, holder, datacenter, avoid, policy,
					take_never_used => take_never_used, max_lead => max_lead, max_step => max_step, locked => locked) AS c;
			IF worker IS NULL AND cardinality(locked) > 0 THEN
				PERFORM uidgen_registry.explain_lock((SELECT min(w) FROM unnest(locked) AS w));
			ELSIF worker IS NULL THEN
				PERFORM uidgen_registry.explain_no_worker(l, holder, datacenter, avoid, policy,
					take_never_used => take_never_used);
			END IF;
		END IF;

		SELECT n.* INTO before FROM uidgen_registry.worker_node AS n
			WHERE n.datacenter_id = datacenter AND n.worker_id = worker;
		never_used := NOT FOUND;
		first_tick := greatest(now_tick, floor_tick, before.granted_until + 1);
		PERFORM uidgen_registry.check_lifetime(first_tick, l.max_tick, l.unit, l.epoch);
		last_tick := least(first_tick + window_ticks, l.max_tick - 1);
		seen_tick := coalesce(uidgen_registry.tick_at(before.modified, l.unit, l.epoch), 0);
		token := uidgen_registry.new_token();

		IF never_used THEN
			EXIT WHEN uidgen_registry.insert_worker((datacenter, worker, host, host_port, host_type, clock::date, clock, clock,
				holder, token, last_tick, false, 1, NULL, NULL)::uidgen_registry.worker_node);
			locked := locked || worker;
		ELSE
			UPDATE uidgen_registry.worker_node AS n SET
					host_name = host, port = host_port, type = host_type, launch_date = clock::date, modified = greatest(n.modified, clock),
					identity = holder, token = acquire_worker_id.token, granted_until = last_tick, released = false, launches = n.launches + 1
				WHERE n.datacenter_id = datacenter AND n.worker_id = worker AND n = before;
			EXIT WHEN FOUND;
			PERFORM uidgen_registry.check_written(current_setting('session_replication_role') <> 'replica');
		END IF;
		tries := tries + 1;
		IF tries = 10 THEN
			PERFORM uidgen_registry.explain_lock(worker);
		END IF;
	END LOOP;

	SELECT l.max_worker + 1::bigint - count(*) INTO free_workers FROM uidgen_registry.worker_node AS n
		WHERE n.datacenter_id = datacenter AND (n.identity IS NOT NULL OR policy = 'disposable');
	IF before.identity IS NULL AND wanted < 0 THEN
		PERFORM uidgen_registry.warn_of_few_workers(free_workers, l.max_worker, datacenter, policy);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.acquire_worker_id(text, text, integer, integer, integer, text, boolean, bigint, bigint, bigint, bigint, text, integer, integer)
	IS 'acquires a worker id with a first range of ticks; for the keeper';

-- Extend a grant beyond both the clock and the tick that is needed.  A compare-and-swap on
-- token and granted_until: of two copies of one memory image only one can go on.  The
-- result is all null if another holder has taken the row, or if an argument is null.
--
-- at_most is the latest tick that the caller expects of the clock.  If the clock shows a
-- later one, it was set forward since the caller looked.  A renewal would then grant all
-- ticks up to there, and this worker id could not be used when the clock returns.  So the
-- call is refused, and the caller decides anew.  This is checked before the row is looked
-- at; a holder whose row was taken learns of that from a later call.
CREATE FUNCTION uidgen_registry.renew_worker_id(
	datacenter integer,
	worker integer,
	old_token bigint,
	old_until bigint,
	needed bigint,
	window_ticks bigint,
	at_most bigint,
	OUT token bigint, OUT last_tick bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	-- Read once, so that the check and the grant go by the same time.
	clock CONSTANT timestamptz := uidgen_registry.registry_clock();
	l uidgen_registry.registry;
	now_tick bigint;
	from_tick bigint;
BEGIN
	PERFORM uidgen_registry.check_local();
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	now_tick := uidgen_registry.tick_at(clock, l.unit, l.epoch);
	IF now_tick > at_most THEN
		RAISE EXCEPTION 'the registry''s clock is further ahead than expected' USING ERRCODE = 'serialization_failure',
				DETAIL = format('The clock is %s ms beyond the latest time that was expected: it was set forward, or the call took that long.', round((now_tick::numeric - at_most) * l.unit / 1000)),
				HINT = 'If the clock is wrong, correct it. If it is correct, the next attempt follows it.';
	END IF;
	from_tick := greatest(now_tick, needed);
	PERFORM uidgen_registry.check_lifetime(from_tick, l.max_tick, l.unit, l.epoch);
	UPDATE uidgen_registry.worker_node AS n SET
			token = uidgen_registry.new_token(),
			granted_until = greatest(n.granted_until, least(from_tick + window_ticks, l.max_tick - 1)),
			modified = greatest(n.modified, clock)
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = old_token AND n.granted_until = old_until
		RETURNING n.token, n.granted_until INTO renew_worker_id.token, last_tick;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
END
$$;
COMMENT ON FUNCTION uidgen_registry.renew_worker_id(integer, integer, bigint, bigint, bigint, bigint, bigint) IS 'extends a grant, for the keeper; null if another holder has taken the worker id';

-- Hand back the worker id and what was granted above the last tick issued.
CREATE FUNCTION uidgen_registry.release_worker(
	datacenter integer,
	worker integer,
	old_token bigint,
	last_issued bigint,
	OUT done boolean)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
BEGIN
	PERFORM uidgen_registry.check_local();
	UPDATE uidgen_registry.worker_node AS n SET
			token = NULL,
			granted_until = least(n.granted_until, last_issued),
			released = true,
			modified = greatest(n.modified, uidgen_registry.registry_clock())
		WHERE n.datacenter_id = datacenter AND n.worker_id = worker
			AND n.token = old_token;
	done := FOUND;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
END
$$;
COMMENT ON FUNCTION uidgen_registry.release_worker(integer, integer, bigint, bigint) IS 'hands back a worker id and what was not used of its grant; for the keeper';

-- Called when a server joins a fleet, also if it has the fleet's registry itself.  Returns all rows, also those
-- whose grant is over by this clock, since the fleet's clock may be behind.  They count where the layout is lost, too.
CREATE FUNCTION uidgen_registry.local_grants(layout_text text, datacenter integer, at_most integer, OUT workers integer[], OUT ends bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
BEGIN
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	IF l.shared IS NOT TRUE THEN
		PERFORM uidgen_registry.check_tables('{worker_node,registry}'), uidgen_registry.check_rows();
	END IF;
	SELECT coalesce(array_agg(g.worker_id), '{}'), coalesce(array_agg(g.until), '{}') INTO STRICT workers, ends
		FROM (SELECT n.worker_id,
					-- What is reserved for ids of the past has the layout's end, and ids up to now.
					CASE WHEN n.granted_until >= l.max_tick THEN uidgen_registry.tick_at(uidgen_registry.registry_clock(), l.unit, l.epoch) ELSE n.granted_until END AS until
				FROM uidgen_registry.worker_node AS n
				WHERE n.datacenter_id = datacenter AND (l.layout IS NULL OR NOT l.shared AND l.layout = layout_text)
				ORDER BY 2 DESC LIMIT at_most) AS g;
END
$$;
COMMENT ON FUNCTION uidgen_registry.local_grants(text, integer, integer) IS 'the worker ids of a local registry with their ends, the highest first, or an error if it has lost them; for the keeper';
