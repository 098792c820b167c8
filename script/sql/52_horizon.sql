--
-- The horizon: the id up to which readers may go, because no row below it can appear any more.
--
-- A transaction holds readers back before it draws its first id: it takes a shared advisory lock whose key is the value of `position`.  All
-- ids that the transaction draws are above that value.  A reader reads `position`, then these locks, and goes up to the lowest of them.  A lock
-- is released when its transaction has ended and is visible.
--
-- The snapshot of a statement is older than its look at the locks.  So the session notes the horizon with the number of a snapshot that was
-- taken after the look, and a later statement uses the note.  docs/design/sql-edition.md has the rules, and what happens without each.
--

CREATE FUNCTION uidgen.position_so_far() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN pg_sequence_last_value('uidgen.position');
COMMENT ON FUNCTION uidgen.position_so_far() IS 'the position; it counts, like a draw, only if there was no jump meanwhile';

CREATE FUNCTION uidgen.no_jump_since(jumps bigint) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN jumps & 1 = 0 AND uidgen.jumps_so_far() = jumps;
COMMENT ON FUNCTION uidgen.no_jump_since(bigint) IS 'whether there was no jump since a value of jumps_so_far()';

-- A key is the position with the sign bit set.  A lower key holds readers back as well, so a draw never waits for a key that somebody else has locked.
CREATE FUNCTION uidgen.can_hold("position" bigint, lower integer) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN pg_try_advisory_xact_lock_shared(1::bigint << 63 | "position" - lower);
COMMENT ON FUNCTION uidgen.can_hold(bigint, integer) IS 'locks the key of a position minus lower, shared; false if somebody else has locked this key exclusively';

-- The local setting ends with the transaction, or with a savepoint that is rolled back, as the lock does.  Everybody can set this setting: so the lock is
-- taken once more, at a place that nobody else can set, which is cheap when the lock is there.  The setting contains the OID of the sequence, which
-- changes when the edition is put in anew.
CREATE FUNCTION uidgen.is_held() RETURNS boolean
LANGUAGE sql VOLATILE
RETURN CASE WHEN NOT uidgen.own_horizon() THEN true WHEN current_setting('uidgen_sql.held', true) = 'uidgen.place'::regclass::oid::text THEN uidgen.can_hold(currval('uidgen.place'), 0) ELSE false END;
COMMENT ON FUNCTION uidgen.is_held() IS 'whether this transaction holds readers back, or the horizon is switched off';

CREATE FUNCTION uidgen.transaction_time() RETURNS bigint
LANGUAGE sql STABLE
RETURN (date_part('epoch', now()) * 1000000)::bigint;
COMMENT ON FUNCTION uidgen.transaction_time() IS 'tells a transaction from others of the session, but for those of one message, which begin at one time';

-- currval() survives the rollback of a savepoint.  A later statement can store an id that was drawn in the savepoint: so the transaction holds
-- readers back from there again.
CREATE FUNCTION uidgen.place_again() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN currval('uidgen.place_of') = uidgen.transaction_time() THEN currval('uidgen.place') ELSE uidgen.position_so_far() END;
COMMENT ON FUNCTION uidgen.place_again() IS 'the position at which this transaction held readers back; an error in a session without one';

CREATE FUNCTION uidgen.take_turn() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN pg_sequence_last_value('uidgen.turn') = 1 THEN setval('uidgen.turn_1', 1) ELSE setval('uidgen.turn_0', 1) END;
COMMENT ON FUNCTION uidgen.take_turn() IS 'locks the present turn up to the end of this transaction, whatever is rolled back to a savepoint';

CREATE FUNCTION uidgen.remember_hold("position" bigint) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN uidgen.take_turn() IS NOT NULL AND setval('uidgen.place', "position") IS NOT NULL AND setval('uidgen.place_of', uidgen.transaction_time()) IS NOT NULL AND set_config('uidgen_sql.held', 'uidgen.place'::regclass::oid::text, true) <> '' THEN uidgen.jumps_so_far() END;
COMMENT ON FUNCTION uidgen.remember_hold(bigint) IS 'remembers that this transaction holds readers back, and where; jumps_so_far() after that';

CREATE FUNCTION uidgen.hold_below("position" bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	FOR lower IN 1 .. 2147483647 LOOP
		IF uidgen.can_hold("position", lower) THEN
			RETURN uidgen.remember_hold("position" OPERATOR(pg_catalog.-) lower);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.hold_below(bigint) IS 'holds readers back below a position whose key somebody has locked for himself';

CREATE FUNCTION uidgen.hold_at("position" bigint, jumps bigint) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN uidgen.no_jump_since(jumps) AND "position" IS NOT NULL
	THEN CASE WHEN uidgen.can_hold("position", 0) THEN uidgen.remember_hold("position") ELSE uidgen.hold_below("position") END END;
COMMENT ON FUNCTION uidgen.hold_at(bigint, bigint) IS 'holds readers back at a position, if that counts';

-- This function has no search path of its own, like uidgen.next(), and few expressions, since each costs a microsecond in a new transaction.
CREATE FUNCTION uidgen.hold_now() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
AS $$
DECLARE
	jumps bigint;
	place bigint;
BEGIN
	jumps := uidgen.jumps_so_far();
	BEGIN
		place := uidgen.place_again();
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		-- This transaction has drawn ids, and then discarded its sequences.
		place := CASE WHEN uidgen.has_locked('uidgen.place', 'RowExclusiveLock') THEN uidgen.own_first() ELSE uidgen.position_so_far() END;
	END;
	RETURN uidgen.hold_at(place, jumps);
END
$$;
COMMENT ON FUNCTION uidgen.hold_now() IS 'holds readers back at the position; jumps_so_far() after that, or null if a jump is going on';

CREATE FUNCTION uidgen.hold() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN uidgen.is_held() THEN uidgen.jumps_so_far() ELSE uidgen.hold_now() END;
COMMENT ON FUNCTION uidgen.hold() IS 'jumps_so_far(), in a transaction that holds readers back; null if it could not because of a jump';

CREATE FUNCTION uidgen.hold_and_jump(n integer, in_one_tick boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	FOR attempt IN 1 .. 1000 LOOP
		IF (CASE WHEN uidgen.own_horizon() THEN uidgen.hold_now() IS NOT NULL ELSE true END) THEN
			RETURN uidgen.jump(n, in_one_tick);
		END IF;
		PERFORM uidgen.jump(0, false);
	END LOOP;
	RETURN uidgen.refuse_for_jumps();
END
$$;
COMMENT ON FUNCTION uidgen.hold_and_jump(integer, boolean) IS 'the first of n positions that follow each other, for which readers wait';

-- The position is null for a transaction that has rolled back the savepoint in which it took its key.  Such a transaction still has the lock on the
-- sequence of its turn: turns has a bit for each turn.  A key above the position, which is read after the locks, is the application's own lock, and is
-- left out: it would count as the key of such a transaction.
CREATE FUNCTION uidgen.held_positions(OUT pid integer, OUT virtualtransaction text, OUT held bigint, OUT turns integer) RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	SELECT max(l.pid), l.virtualtransaction, min(k.held), bit_or(CASE l.relation WHEN 'uidgen.turn_0'::regclass THEN 1 WHEN 'uidgen.turn_1'::regclass THEN 2 END) FROM pg_locks AS l, LATERAL (SELECT (l.classid::bigint << 32 | l.objid::bigint) & 9223372036854775807) AS k (held)
		WHERE l.granted AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
			AND (l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ShareLock' AND l.classid::bigint >> 31 = 1 AND k.held <= (SELECT p.last_value FROM uidgen.position AS p)
				OR l.relation IN ('uidgen.place'::regclass, 'uidgen.turn_0'::regclass, 'uidgen.turn_1'::regclass) AND l.mode = 'RowExclusiveLock')
		GROUP BY l.virtualtransaction
$$;
COMMENT ON FUNCTION uidgen.held_positions() IS 'the positions at which transactions hold readers back';

CREATE FUNCTION uidgen.list_horizon_holders(OUT pid integer, OUT database name, OUT since timestamptz, OUT id bigint, OUT prepared text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
	SELECT h.pid, current_database(), a.xact_start, uidgen.id_at(h.held), p.gid FROM uidgen.held_positions() AS h
		LEFT JOIN pg_stat_activity AS a ON a.pid = h.pid
		LEFT JOIN pg_locks AS t ON h.pid IS NULL AND t.pid IS NULL AND t.locktype = 'transactionid' AND t.virtualtransaction = h.virtualtransaction
		LEFT JOIN pg_prepared_xacts AS p ON p.transaction = t.transactionid
$$;
COMMENT ON FUNCTION uidgen.list_horizon_holders() IS 'the transactions that hold the horizon back';

IF to_regclass('uidgen.horizon_holders') IS NULL THEN
	-- [stands for uidgen.horizon_holders: operator_hostile_owner]
	CREATE VIEW uidgen.horizon_holders AS SELECT * FROM uidgen.list_horizon_holders();
	COMMENT ON VIEW uidgen.horizon_holders IS 'the transactions that hold the horizon back: they have drawn ids and have not ended';
END IF;

-- The later of two different snapshots has the higher xmax, or the same xmax and fewer running transactions.
CREATE FUNCTION uidgen.number_of(snapshot pg_snapshot) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (pg_snapshot_xmax(snapshot)::text::bigint << 20) - (SELECT count(*) FROM pg_snapshot_xip(snapshot));
COMMENT ON FUNCTION uidgen.number_of(pg_snapshot) IS 'a number that is higher for a later snapshot, and equal only for snapshots that see the same rows';

CREATE FUNCTION uidgen.read_horizon(OUT snapshot bigint, OUT horizon bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	jumps bigint;
	place bigint;
	reached bigint;
	is_known boolean;
	turns integer;	-- a bit for each turn in which somebody draws
	present CONSTANT integer := coalesce(pg_sequence_last_value('uidgen.turn'), 0);
	begin_0 CONSTANT bigint := coalesce(pg_sequence_last_value('uidgen.begin_0'), 0);
	begin_1 CONSTANT bigint := coalesce(pg_sequence_last_value('uidgen.begin_1'), 0);
BEGIN
	-- Ids of a tick are in another order than their positions when the tag is above the sequence.  So the horizon moves by whole ticks, also while nobody draws.
	IF uidgen.own_tag_shift() > uidgen.own_sequence_shift() THEN
		PERFORM uidgen.jump(0, false);
	END IF;
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
	IF place IS NULL THEN
		PERFORM uidgen.jump(0, false), uidgen.refuse_for_jumps();
	END IF;
	-- After a crash, ids can be drawn again from a tick that has not ended, or that ends more than a millisecond from now.
	place := least(place, ((uidgen.clock() + 1000) / uidgen.own_unit() << uidgen.own_sequence_bits()) - 1);
	reached := place;
	-- Read after the position: a transaction that draws later has its lock by then, or draws above this position.
	SELECT bool_and(s.held IS NOT NULL), least(place, min(s.held) FILTER (WHERE s.held <= place)), bit_or(h.turns) INTO is_known, place, turns
		FROM uidgen.held_positions() AS h, LATERAL (SELECT coalesce(h.held, CASE h.turns WHEN 1 THEN begin_0 WHEN 2 THEN begin_1 WHEN 3 THEN least(begin_0, begin_1) END)) AS s (held);
	-- A transaction that locks the other turn from here on draws above this position.  So the present turn ends some day, and the next turn begins
	-- higher, however transactions overlap.
	IF coalesce(turns, 0) & (2 >> present) = 0 THEN
		PERFORM setval(format('uidgen.begin_%s', 1 - present)::regclass, reached), setval('uidgen.turn', 1 - present);
	END IF;
	horizon := CASE WHEN is_known IS NOT FALSE THEN uidgen.id_at(place + 1) - 1 END;
	snapshot := uidgen.number_of(pg_current_snapshot());
END
$$;
COMMENT ON FUNCTION uidgen.read_horizon() IS 'the horizon for this snapshot and all later ones; the snapshot has to be taken after the horizon was found';

-- [stands for uidgen.present_horizon(): operator_hostile_owner]
-- The session remembers the horizon that it found last.  It also remembers the answer to each statement until the transaction ends, since another answer in the
-- middle of a scan would skip rows.  Sequences hold both, because everybody can set a setting, and a savepoint rolls a setting back.
CREATE FUNCTION uidgen.present_horizon() RETURNS bigint
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	mine CONSTANT bigint := uidgen.number_of(pg_current_snapshot());
	is_late boolean;
	found record;
	answer bigint;
BEGIN
	IF NOT uidgen.own_horizon() THEN
		RAISE EXCEPTION 'this database has no horizon' USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Read in the order of transaction ids, or put the edition in anew, with set_up(horizon => true).';
	ELSIF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'the horizon is not known during recovery'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It rests on who is drawing ids, which only the primary server knows.', HINT = 'Read on the primary server.';
	ELSIF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
		RAISE EXCEPTION 'the horizon needs isolation level READ COMMITTED'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'A transaction whose snapshot stays the same cannot tell what has ended since.', HINT = 'Read in a transaction of its own.';
	ELSIF current_setting('transaction_read_only')::boolean THEN
		RAISE EXCEPTION 'the horizon is not known in a read-only transaction'
			USING ERRCODE = 'read_only_sql_transaction', DETAIL = 'What a statement was told is remembered in sequences.', HINT = 'Ask in a transaction before, and pass the number.';
	END IF;
	-- The first lock, as in a draw, so that the two cannot deadlock
	PERFORM uidgen.jumps_so_far();
	BEGIN
		is_late := currval('uidgen.told_in') = uidgen.transaction_time() AND currval('uidgen.told_of') > mine;
		IF currval('uidgen.told_in') = uidgen.transaction_time() AND currval('uidgen.told_of') = mine THEN
			RETURN nullif(currval('uidgen.told'), 1::bigint << 63);
		ELSIF currval('uidgen.noted_of') <= mine THEN
			answer := currval('uidgen.noted');
		END IF;
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		is_late := coalesce(is_late, uidgen.has_locked('uidgen.told', 'RowExclusiveLock'));
	END;
	IF is_late THEN
		RAISE EXCEPTION 'the horizon of this statement is not known any more' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A later statement of the transaction has asked meanwhile, or has discarded sequences.', HINT = 'Ask once in a statement: (SELECT uid_horizon()).';
	END IF;
	SELECT * INTO found FROM uidgen.read_horizon();
	IF found.horizon IS NOT NULL THEN
		answer := CASE WHEN found.snapshot <= mine THEN found.horizon ELSE answer END;
		-- The snapshot comes first, since a horizon is also right for later snapshots.
		PERFORM setval('uidgen.noted_of', found.snapshot), setval('uidgen.noted', found.horizon);
	END IF;
	PERFORM setval('uidgen.told_of', mine), setval('uidgen.told', coalesce(answer, 1::bigint << 63)), setval('uidgen.told_in', uidgen.transaction_time());
	RETURN answer;
END
$$;
COMMENT ON FUNCTION uidgen.present_horizon() IS 'uid_horizon(), whose schema is of choice';

CREATE FUNCTION uidgen.uid_horizon() RETURNS bigint
LANGUAGE plpgsql STABLE STRICT
AS 'BEGIN RETURN uidgen.present_horizon(); END';
COMMENT ON FUNCTION uidgen.uid_horizon() IS 'each id up to this one that was drawn in the transaction that stores it, in this database, is visible to the statement or will never be stored; null: nothing can be said yet';
