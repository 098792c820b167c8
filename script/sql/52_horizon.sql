--
-- Readers that go on by id: up to where nothing comes any more.
--
-- Before a transaction draws its first id, it holds readers back: by a shared advisory lock whose key says where `position` was.  All that it
-- draws is above that.  A reader looks where `position` is, then at these locks, and goes up to the lowest of them.  A lock goes when
-- its transaction has ended, and is visible.
--
-- A statement has a snapshot that is older than the look.  So what was found is noted with a snapshot that was taken after it, and a
-- later statement goes by that note.  docs/design/sql-edition.md has the rules with what happens without each.
--

CREATE FUNCTION uidgen.position_so_far() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN greatest(pg_sequence_last_value('uidgen.position'), 0);
COMMENT ON FUNCTION uidgen.position_so_far() IS 'where ids are; what it says counts as a draw does: if there was no jump meanwhile';

CREATE FUNCTION uidgen.no_jump_since(jumps bigint) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN jumps & 1 = 0 AND uidgen.jumps_so_far() = jumps;
COMMENT ON FUNCTION uidgen.no_jump_since(bigint) IS 'whether what was looked at since then counts';

-- The first nine bits of a key tell these locks from others, 55 are left: where positions have more, keys are coarser.
CREATE FUNCTION uidgen.key_unit() RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((((uidgen.own_last_tick() + 1) << uidgen.own_sequence_bits()) - 1) >> 55) + 1;
COMMENT ON FUNCTION uidgen.key_unit() IS 'how many positions have one key';

-- Whatever is lower holds readers back as well, so nobody who has taken a key lets a draw wait.
CREATE FUNCTION uidgen.can_hold("position" bigint, lower integer) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN pg_try_advisory_xact_lock_shared((34::bigint << 55) | greatest("position" / uidgen.key_unit() - lower, 0));
COMMENT ON FUNCTION uidgen.can_hold(bigint, integer) IS 'takes the lock that holds readers back at a position, or so many keys below it, unless somebody has locked that key for himself';

-- Until the transaction ends, or the savepoint is rolled back with which the lock goes.
CREATE FUNCTION uidgen.remember_hold() RETURNS text
LANGUAGE sql VOLATILE
RETURN set_config('uidgen_sql.held', 'yes', true);
COMMENT ON FUNCTION uidgen.remember_hold() IS 'remembers that this transaction holds readers back';

-- Like uidgen.next(), without operators and without a name that has no schema.
CREATE FUNCTION uidgen.hold_now() RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
	jumps bigint;
	place bigint;
BEGIN
	jumps := uidgen.jumps_so_far();
	place := uidgen.position_so_far();
	IF uidgen.no_jump_since(jumps) THEN
		FOR lower IN 0 .. 2147483647 LOOP
			IF uidgen.can_hold(place, lower) THEN
				PERFORM uidgen.remember_hold();
				RETURN uidgen.jumps_so_far();
			END IF;
		END LOOP;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION uidgen.hold_now() IS 'holds readers back at the position; jumps_so_far() after that, or null if a jump is going on';

CREATE FUNCTION uidgen.hold() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN uidgen.own_horizon() AND coalesce(current_setting('uidgen_sql.held', true), '') = '' THEN uidgen.hold_now() ELSE uidgen.jumps_so_far() END;
COMMENT ON FUNCTION uidgen.hold() IS 'jumps_so_far(), in a transaction that holds readers back; null if it could not because of a jump';

-- An id has its tag above the sequence in some layouts: there only a whole tick ends.
CREATE FUNCTION uidgen.has_ticks_only() RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN uidgen.own_tag_shift() > uidgen.own_sequence_shift();
COMMENT ON FUNCTION uidgen.has_ticks_only() IS 'whether ids of one tick are in another order than their positions';

CREATE FUNCTION uidgen.last_id_at("position" bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN uidgen.has_ticks_only() THEN ((("position" + 1) >> uidgen.own_sequence_bits()) << uidgen.own_time_shift()) - 1
	ELSE uidgen.id_at("position") | (uidgen.own_tag_maximum() << uidgen.own_tag_shift()) END;
COMMENT ON FUNCTION uidgen.last_id_at(bigint) IS 'the largest id up to which no id is above a position';

CREATE FUNCTION uidgen.read_horizon(OUT snapshot text, OUT horizon bigint)
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	jumps bigint;
	place bigint;
BEGIN
	IF uidgen.has_ticks_only() THEN
		PERFORM uidgen.jump(0, false);	-- so that the last tick ends where nobody draws
	END IF;
	-- Jumps are short, and in a read-only transaction none can be finished.
	FOR attempt IN 1 .. 1000 LOOP
		jumps := uidgen.jumps_so_far();
		place := uidgen.position_so_far();
		EXIT WHEN uidgen.no_jump_since(jumps);
		place := NULL;
		IF attempt % 10 = 0 THEN
			PERFORM uidgen.jump(0, false);
		ELSE
			PERFORM pg_sleep(0.001);
		END IF;
	END LOOP;
	-- After the look at the position: who draws later has a lock by then, or draws above it.
	place := least(place, (SELECT min((l.classid::bigint << 32 | l.objid::bigint) & ((1::bigint << 55) - 1)) * uidgen.key_unit() FROM pg_locks AS l
		WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock' AND l.granted AND l.classid::bigint >> 23 = 34
			AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())));
	-- What is further ahead of the clock could be drawn again after a crash.
	place := least(place, ((uidgen.clock() + 1000) / uidgen.own_unit() << uidgen.own_sequence_bits()) - 1);
	horizon := uidgen.last_id_at(place);
	snapshot := pg_current_snapshot();
END
$$;
COMMENT ON FUNCTION uidgen.read_horizon() IS 'up to where ids are final for all snapshots from this one on, which was taken after that was found';

CREATE FUNCTION uidgen.sees_all_of(later pg_snapshot, earlier pg_snapshot) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_snapshot_xmax(later) >= pg_snapshot_xmax(earlier) AND NOT EXISTS (SELECT FROM pg_snapshot_xip(later) AS x (xid) WHERE pg_visible_in_snapshot(x.xid, earlier));
COMMENT ON FUNCTION uidgen.sees_all_of(pg_snapshot, pg_snapshot) IS 'whether a snapshot sees all that another one sees';

-- Two settings: what was noted last, for the session; and what the statement was told, until its transaction ends, since another answer in
-- the middle of a scan would pass over rows.
CREATE FUNCTION :"schema".uid_horizon() RETURNS bigint
LANGUAGE plpgsql STABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	mine CONSTANT pg_snapshot := pg_current_snapshot();
	told CONSTANT text[] := string_to_array(current_setting('uidgen_sql.told', true), ' ', '');
	noted CONSTANT text[] := string_to_array(current_setting('uidgen_sql.noted', true), ' ', '');
	found record;
	answer bigint;
BEGIN
	IF told[1] = mine::text THEN
		RETURN told[2]::bigint;
	END IF;
	IF NOT uidgen.own_horizon() THEN
		RAISE EXCEPTION 'this database has no horizon of ids'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'The edition was put in without it.', HINT = 'Read in the order of transaction ids, or put it in anew with it.';
	ELSIF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'the horizon of ids is not known during recovery'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It rests on who is drawing ids, which only the primary server knows.', HINT = 'Read on the primary server.';
	ELSIF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
		RAISE EXCEPTION 'the horizon of ids needs the isolation level READ COMMITTED'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'A transaction whose snapshot stays the same cannot tell what has ended since.', HINT = 'Ask for it before the transaction begins.';
	END IF;
	SELECT * INTO found FROM uidgen.read_horizon();
	answer := CASE WHEN uidgen.sees_all_of(mine, found.snapshot::pg_snapshot) THEN found.horizon
		WHEN uidgen.sees_all_of(mine, noted[1]::pg_snapshot) THEN noted[2]::bigint END;
	PERFORM set_config('uidgen_sql.noted', concat_ws(' ', found.snapshot, found.horizon), false),
		set_config('uidgen_sql.told', format('%s %s', mine, answer), true);
	RETURN answer;
END
$$;
COMMENT ON FUNCTION :"schema".uid_horizon() IS 'each id up to this one that was drawn in the transaction that stores it, in this database, is visible to the statement or will never be stored; null: nothing can be said yet';
