--
-- Readers that go on by id: up to where nothing comes any more.
--
-- Before its first draw, a transaction takes an advisory lock that names where `position` stands, and keeps it to its end: what it draws is above.  So a reader
-- that looks at `position` first, and then at these locks, knows of each lower id that its transaction has ended, or shows.  Here are the locks and the
-- reader; 50_ids.sql takes them, by is_held() and hold().  docs/design/sql-edition.md has the rules with what happens without each.
--

-- Negative, and a position without the sign: keys that applications take are seldom both.
CREATE FUNCTION uidgen.key_of("position" bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 1::bigint << 63 | "position";
COMMENT ON FUNCTION uidgen.key_of(bigint) IS 'the key of the advisory lock that names a position';

-- The local setting ends with the transaction, and with a savepoint that is rolled back, as the lock does.
CREATE FUNCTION uidgen.is_held() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN NOT uidgen.own_horizon() OR coalesce(current_setting('uidgen_sql.held', true), '') <> '';
COMMENT ON FUNCTION uidgen.is_held() IS 'whether readers wait for what this transaction draws, or nobody asks for that';

-- It also ends with a function of the caller's that has settings of its own, and the lock does not.  So a setting of the session says which position that was,
-- and of which transaction: else each call would take one more lock.
CREATE FUNCTION uidgen.place_held() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN current_setting('uidgen_sql.place', true) LIKE '% ' || now() THEN split_part(current_setting('uidgen_sql.place', true), ' ', 1)::bigint END;
COMMENT ON FUNCTION uidgen.place_held() IS 'the position that this transaction has locked; null if there is none';

CREATE FUNCTION uidgen.position_at(jumps bigint) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN jumps & 1 = 0 THEN pg_sequence_last_value('uidgen.position') END;
COMMENT ON FUNCTION uidgen.position_at(bigint) IS 'where uidgen.position stands; null while a jump is going on';

-- While a jump goes on, what is drawn can be above what the jump sets: so this looks at `jumps` before and after, as a draw does.
CREATE FUNCTION uidgen.open_position() RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
	jumps bigint;
	found bigint;
BEGIN
	FOR attempt IN 1 .. 1000 LOOP
		jumps := uidgen.jumps_so_far();
		found := uidgen.position_at(jumps);
		IF found IS NOT NULL AND uidgen.jumps_so_far() OPERATOR(pg_catalog.=) jumps THEN
			RETURN found;
		END IF;
		PERFORM uidgen.jump(0, false);
	END LOOP;
	RETURN uidgen.refuse_for_jumps();
END
$$;
COMMENT ON FUNCTION uidgen.open_position() IS 'where uidgen.position stood at a moment without a jump';

-- Without a search path of its own, with which the local setting would end.  It never waits: a lower position does as well.
CREATE FUNCTION uidgen.hold() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
AS $$
DECLARE
	place bigint;
BEGIN
	place := uidgen.place_held();
	IF place IS NULL THEN
		place := uidgen.open_position();
	END IF;
	WHILE NOT pg_catalog.pg_try_advisory_xact_lock_shared(uidgen.key_of(place)) LOOP
		place := place OPERATOR(pg_catalog.-) 1;
	END LOOP;
	PERFORM pg_catalog.set_config('uidgen_sql.held', 'yes', true), pg_catalog.set_config('uidgen_sql.place', pg_catalog.concat(place, ' ', pg_catalog.now()), false);
	RETURN uidgen.jumps_so_far();
END
$$;
COMMENT ON FUNCTION uidgen.hold() IS 'has readers wait for what this transaction draws from now on; uidgen.jumps_so_far() after that';

-- `position` first, then the locks: who takes one later draws above the position.  What is ahead of the clock can be forgotten by a crash, and drawn again.
CREATE FUNCTION uidgen.present_horizon() RETURNS bigint
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	place bigint;
	held bigint;
BEGIN
	IF NOT uidgen.own_horizon() THEN
		RAISE EXCEPTION 'this database has no horizon'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Let the owner of uidgen run: SELECT uidgen.set_up(horizon => true)';
	ELSIF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'a standby does not know the horizon'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Ask the primary, and read there.';
	ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'the horizon is for isolation level read committed'
			USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('In %s a later statement sees no more than the first one of its transaction, and the horizon is of now.', current_setting('transaction_isolation')),
				HINT = 'Ask for the horizon before the transaction begins.';
	END IF;
	place := uidgen.open_position();
	SELECT min(k.named) INTO held
		FROM (SELECT (l.classid::bigint << 32 | l.objid::bigint) & 9223372036854775807 AS named FROM pg_locks AS l
				WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid::bigint >> 31 = 1 AND l.mode = 'ShareLock' AND l.granted
					AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())) AS k
		WHERE k.named <= place;
	RETURN uidgen.id_at(least(place, held, ((uidgen.clock() + 1000) / uidgen.own_unit() << uidgen.own_sequence_bits()) - 1) + 1) - 1;
END
$$;
COMMENT ON FUNCTION uidgen.present_horizon() IS 'uid_horizon(), whose schema is of choice';

CREATE FUNCTION uidgen.uid_horizon() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN uidgen.present_horizon();
COMMENT ON FUNCTION uidgen.uid_horizon() IS 'each id up to this one that was drawn in the transaction that stores it is visible to a statement that begins later, or will never be stored';
