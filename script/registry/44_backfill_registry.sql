--
-- Worker ids for ids of past times, which uid_backfill() issues: no live id has them.
--

-- The number by which a server knows the registry of its grants: see uidgen_node_registry() in src/core/node.h.
-- A copy of a local registry has its number as well, and another database.
CREATE FUNCTION uidgen_registry.registry_number(l uidgen_registry.registry) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN l.shared THEN (l.id | (-9223372036854775808)::bigint)::text || '/0'
	ELSE (l.id & 9223372036854775807::bigint)::text || '/' || l.database::text END;
COMMENT ON FUNCTION uidgen_registry.registry_number(uidgen_registry.registry) IS 'what a reservation knows a registry by: its number, negative for a fleet''s, and its database, which counts if local';

-- The registry, for a reservation.  A worker id that was granted and lost would seem to be free.  So a fleet's
-- registry reserves nothing before its nodes have had the time to claim what they hold.
CREATE FUNCTION uidgen_registry.begin_reservation() RETURNS uidgen_registry.registry
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
	went_back boolean := false;
BEGIN
	PERFORM uidgen_registry.begin_call();
	PERFORM uidgen_registry.check_tables('{worker_node,registry}'), uidgen_registry.check_rows();
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	IF l.shared THEN
		SELECT b.went_back INTO STRICT went_back FROM uidgen_registry.begin_node_call(queues => false) AS b;
		IF went_back OR l.quarantine_until >= uidgen_registry.tick_at(uidgen_registry.registry_clock(), l.unit, l.epoch) THEN
			RAISE EXCEPTION 'the registry is in quarantine'
				USING ERRCODE = 'cannot_connect_now', DETAIL = CASE WHEN went_back THEN 'It was restarted or failed over, and no node has asked since.'
						ELSE format('It ends at %s. Until then a node may hold a worker id that the registry does not know of.', uidgen_registry.tick_time(l.quarantine_until + 1, l.unit, l.epoch)) END,
					HINT = 'Try again when it is over; the view uidgen_registry.status says until when.';
		END IF;
	ELSIF l.database <> (SELECT h.database FROM uidgen_registry.registry_history() AS h) OR uidgen_registry.is_made_anew(l.made, uidgen_registry.database_made()) THEN
		RAISE EXCEPTION 'this registry is a copy' USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'What its origin has granted since is not known here.',
				HINT = 'Ask the registry in the database that "uidgen.database" names.';
	END IF;
	RETURN l;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_reservation() IS 'what a reservation begins with: the registry, or null in all columns, where it has no layout yet';

CREATE FUNCTION uidgen_registry.reserve_backfill(home text, worker integer DEFAULT NULL, datacenter integer DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	dc CONSTANT integer := coalesce(datacenter, nullif(current_setting('uidgen.datacenter_id', true), '')::integer, 0);
	clock timestamptz;
	l uidgen_registry.registry;
	chosen integer;
	done boolean;
	locked integer[] := '{}';
BEGIN
	IF (home ~ '^\d+(/\d+){3}(/[0-9a-f]{16}){2}(/\d+){2}$') IS NOT TRUE THEN
		RAISE EXCEPTION 'this does not name a database: %', coalesce(quote_literal(home), 'null')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give what SELECT uidgen.backfill_home() returns in the database whose rows are to get ids.';
	END IF;
	-- Who accepts it elsewhere cannot see whether this transaction was rolled back, which gives the worker id away.
	PERFORM uidgen_registry.refuse_block('uidgen_registry.reserve_backfill()');
	l := uidgen_registry.begin_reservation();
	IF l.layout IS NULL THEN
		RAISE EXCEPTION 'this registry has granted nothing so far, so it has no layout' USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'If the server''s registry is this one, run SELECT uidgen.ask_for_grant() where the extension uidgen is. Otherwise call this function where the registry is.';
	ELSIF NOT l.shared AND split_part(home, '/', 1) <> (SELECT h.system_identifier FROM uidgen_registry.registry_history() AS h)::text THEN
		RAISE EXCEPTION 'this is the registry of its own server alone'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It was asked for a worker id for a database of another one, %s.', home),
				HINT = 'Ask the registry of that server.';
	END IF;
	PERFORM uidgen_registry.check_request('reuse', dc, -1, l.max_datacenter, l.max_worker, by_setting => datacenter IS NULL AND NOT l.shared);
	IF worker IS NOT NULL THEN
		PERFORM uidgen_registry.check_named_workers(l, dc, ARRAY[worker], by_setting => datacenter IS NULL AND NOT l.shared);
	END IF;
	IF worker IS NULL AND NOT l.shared AND nullif(current_setting('uidgen.worker_id', true), '')::integer >= 0 THEN
		RAISE EXCEPTION 'the worker id has to be named'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = '"uidgen.worker_id" is set, so other servers may have worker ids that this registry does not know of.',
				HINT = format('Choose one that no server has, or will have: SELECT uidgen_registry.reserve_backfill(%L, worker => 1000).', home);
	END IF;
	-- The row alone is locked until the transaction ends, so that grants go on, which may write another row meanwhile.
	-- It ends where the layout does, as no grant does: so no server is granted this worker id any more.
	clock := uidgen_registry.registry_clock();
	FOR i IN 1 .. 10 LOOP
		chosen := coalesce(worker, uidgen_registry.never_used_worker(l, dc, locked));
		IF chosen IS NULL AND cardinality(locked) > 0 THEN
			PERFORM uidgen_registry.explain_lock((SELECT min(w) FROM unnest(locked) AS w));
		ELSIF chosen IS NULL THEN
			RAISE EXCEPTION 'no worker id is left that was never granted' USING ERRCODE = 'configuration_limit_exceeded',
					DETAIL = format('The layout has %s worker ids in datacenter %s. One that was granted before may have live ids of any time since.', l.max_worker + 1::bigint, dc),
					HINT = 'Begin a new registry with a layout that has more worker bits.';
		END IF;
		done := uidgen_registry.insert_worker((dc, chosen, 'uid_backfill() ' || home, NULL, NULL, clock::date, clock, clock,
			CASE WHEN NOT l.shared THEN 'uid_backfill() ' || home END, NULL, l.max_tick, false, 0, NULL, NULL)::uidgen_registry.worker_node);
		EXIT WHEN done;
		locked := locked || chosen;
		IF EXISTS (SELECT FROM uidgen_registry.worker_node AS n WHERE n.datacenter_id = dc AND n.worker_id = worker) THEN
			RAISE EXCEPTION 'worker id % was granted before, or is reserved', worker USING ERRCODE = 'object_in_use', DETAIL = 'There may be ids with it.',
					HINT = 'Choose one that is not in uidgen_registry.worker_node, or leave the choice to the registry.';
		END IF;
	END LOOP;
	IF NOT done THEN
		PERFORM uidgen_registry.explain_lock(chosen);
	END IF;
	RETURN format('%s/%s/%s@%s', dc, chosen, uidgen_registry.registry_number(l), home);
END
$$;
COMMENT ON FUNCTION uidgen_registry.reserve_backfill(text, integer, integer)
	IS 'reserves a worker id for uid_backfill() in the database named by uidgen.backfill_home(); for uidgen.accept_backfill()';
