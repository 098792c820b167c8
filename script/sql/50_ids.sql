--
-- New ids, by a lock that is made of sequences.
--
-- The sequence `position` holds the tick and, in the lowest bits, the sequence number of the last id.  The sequence `jumps` counts jumps: changes
-- of `position` that are no draw.  An odd value of `jumps` means that a jump is going on, and that no draw counts.
--
-- A draw takes no lock: it reads `jumps`, calls nextval(position), and reads `jumps` again.  The draw counts only if both values of `jumps` are
-- equal and even.  A jump makes `jumps` odd, reads `position` after that, sets `position` to the higher of its value and the clock, and makes
-- `jumps` even.
--
-- So positions that count increase.  Between two jumps, nextval() ensures this.  No draw that counts overlaps a jump, since `jumps` never returns to
-- an earlier value.  So a jump reads a `position` above all draws that count so far, and never sets a lower one.
--
-- The lock of view `jumping` admits one jump at a time.  A subtransaction takes the lock, and is always rolled back: so the lock is released however
-- the jump ends, also by a cancel.  Changes of sequences are not rolled back.  A session that ends in the middle of a jump leaves an odd value;
-- the next call that finds it jumps, and so finishes the jump.  docs/design/sql-edition.md has the rules, and what happens without each.
--

-- Crash recovery and promotion set an unlogged sequence back to its start: no last value, or the first value of `jumps`, which is odd.
-- Both count as a jump that is going on.
IF to_regclass('uidgen.jumps') IS NULL THEN
	CREATE UNLOGGED SEQUENCE uidgen.jumps;
	COMMENT ON SEQUENCE uidgen.jumps IS 'counts the jumps of uidgen.position: twice each, so that an odd number means that one is going on';
	-- Made before `position`, with names that sort before it: so a dump reads these first, and none is above the position that a restore sets.
	CREATE UNLOGGED SEQUENCE uidgen.begin_0 MINVALUE -9223372036854775808 START 0;
	COMMENT ON SEQUENCE uidgen.begin_0 IS 'a position above which all draw that have locked uidgen.turn_0';
	CREATE UNLOGGED SEQUENCE uidgen.begin_1 MINVALUE -9223372036854775808 START 0;
	COMMENT ON SEQUENCE uidgen.begin_1 IS 'a position above which all draw that have locked uidgen.turn_1';
	CREATE SEQUENCE uidgen.position;
	COMMENT ON SEQUENCE uidgen.position IS 'where ids are: tick and sequence';
	CREATE SEQUENCE uidgen.ahead;
	COMMENT ON SEQUENCE uidgen.ahead IS 'written to, so that a commit makes durable what was drawn ahead of the clock';
	-- A session remembers values in these sequences, by currval(): no other session sees them, and only the owner's functions set them.  They are unlogged,
	-- since each transaction that draws or reads writes them.  MINVALUE admits any number.
	CREATE UNLOGGED SEQUENCE uidgen.place MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.place IS 'currval(): the position at which this session has held readers back last';
	CREATE UNLOGGED SEQUENCE uidgen.place_of MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.place_of IS 'currval(): the transaction in which it did, by the time of its begin';
	-- The lock on the sequence of a turn survives the rollback of a savepoint, unlike an advisory lock.
	CREATE UNLOGGED SEQUENCE uidgen.turn MINVALUE 0 START 0;
	COMMENT ON SEQUENCE uidgen.turn IS 'the present turn, 0 or 1: readers go to the other one when nobody draws in it any more';
	CREATE UNLOGGED SEQUENCE uidgen.turn_0;
	COMMENT ON SEQUENCE uidgen.turn_0 IS 'locked by transactions that draw in turn 0';
	CREATE UNLOGGED SEQUENCE uidgen.turn_1;
	COMMENT ON SEQUENCE uidgen.turn_1 IS 'locked by transactions that draw in turn 1';
	CREATE UNLOGGED SEQUENCE uidgen.told MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.told IS 'currval(): the horizon that this session was told last';
	CREATE UNLOGGED SEQUENCE uidgen.told_of MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.told_of IS 'currval(): for which snapshot, by its number';
	CREATE UNLOGGED SEQUENCE uidgen.told_in MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.told_in IS 'currval(): in which transaction, by the time of its begin';
	CREATE UNLOGGED SEQUENCE uidgen.noted MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.noted IS 'currval(): the horizon that this session has found last';
	CREATE UNLOGGED SEQUENCE uidgen.noted_of MINVALUE -9223372036854775808 START 1;
	COMMENT ON SEQUENCE uidgen.noted_of IS 'currval(): from which snapshot on it is final, by its number';
	-- A view, because ANALYZE keeps a table locked until it commits, and a publication of all tables has each table.  Jumps lock it in a mode that does not
	-- conflict with CREATE RULE, since everybody may name this view in a rule.
	CREATE VIEW uidgen.jumping AS SELECT 'nothing' AS nothing;
	COMMENT ON VIEW uidgen.jumping IS 'locked by whoever changes uidgen.position otherwise than by drawing';
END IF;

CREATE FUNCTION uidgen.clock() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
-- Not rounded: half of all ids would be ahead of the clock.
RETURN floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint - uidgen.own_epoch();
COMMENT ON FUNCTION uidgen.clock() IS 'microseconds since the epoch of this database''s layout';

CREATE FUNCTION uidgen.ahead("position" bigint) RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN ("position" >> uidgen.own_sequence_bits()) * uidgen.own_unit() - uidgen.clock();
COMMENT ON FUNCTION uidgen.ahead(bigint) IS 'microseconds from now until the tick of a position begins';

-- A position may be two milliseconds behind the clock: so there is at most a jump each two milliseconds.
CREATE FUNCTION uidgen.is_far("position" bigint) RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN uidgen.ahead("position") NOT BETWEEN -2000 - uidgen.own_unit() AND uidgen.own_max_ahead();
COMMENT ON FUNCTION uidgen.is_far(bigint) IS 'whether nothing should be drawn there: behind the clock, or too far ahead';

CREATE FUNCTION uidgen.bits_at("position" bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (("position" >> uidgen.own_sequence_bits()) << uidgen.own_time_shift()) | (("position" & uidgen.own_sequence_mask()) << uidgen.own_sequence_shift());
COMMENT ON FUNCTION uidgen.bits_at(bigint) IS 'time and sequence of a position, as they are in its id';

CREATE FUNCTION uidgen.with_worker(bits bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN bits | uidgen.own_fixed();
COMMENT ON FUNCTION uidgen.with_worker(bigint) IS 'bits of an id, with the worker id and datacenter of this database';

CREATE FUNCTION uidgen.id_at("position" bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.with_worker(uidgen.bits_at("position"));
COMMENT ON FUNCTION uidgen.id_at(bigint) IS 'the id of a position, with the worker id and datacenter of this database';

CREATE FUNCTION uidgen.refuse(tick bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF tick > uidgen.own_last_tick() THEN
		RAISE EXCEPTION 'the time bits of the layout are used up'
			USING ERRCODE = 'sequence_generator_limit_exceeded', HINT = 'uid_layout_info() shows when a layout begins and ends.';
	END IF;
	RAISE EXCEPTION 'ids are too far ahead of the clock' USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('An id would be of %s; ids may run ahead by %s.', uidgen.time_text(uidgen.tick_time(uidgen.own(), tick)), uidgen.own_max_ahead() * interval '1 microsecond'),
			HINT = 'If the clock was set back, set it right. If more ids were drawn than the layout has room for, wait, or use a layout whose sequence has more bits. The owner of uidgen can allow more: SELECT uidgen.set_up(max_ahead => INTERVAL)';
END
$$;
COMMENT ON FUNCTION uidgen.refuse(bigint) IS 'the error for a tick that ids cannot have now';

-- Locks of other sessions do not count.
CREATE FUNCTION uidgen.has_locked(sequence regclass, mode text) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = pg_backend_pid() AND l.relation = sequence AND l.mode = has_locked.mode);
COMMENT ON FUNCTION uidgen.has_locked(regclass, text) IS 'whether this transaction has locked a sequence in this mode: who sets one, or reads what the session knows of it, has, to the end';

-- Returns the first of n consecutive positions, which lie within a tick if in_one_tick is true.  n = 0 moves `position` to the clock, if it is behind.
-- Everybody may call this function, with any arguments: no call moves `position` back, and a refused call does not move it ahead of the clock.
-- `jumps` stays odd while `position` is too far ahead, so that callers who are refused, and try again, draw nothing.
CREATE FUNCTION uidgen.jump(n integer, in_one_tick boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- No call waits for ever, whatever holds the lock.
SET lock_timeout = '10s'
-- Nothing is sent to the client while the lock is held: a client that does not read would keep the lock.
SET client_min_messages = 'error'
AS $$
DECLARE
	bits CONSTANT integer := uidgen.own_sequence_bits();
	now bigint;			-- the tick of the clock
	next bigint;		-- the next position: neither drawn nor behind the clock
	first bigint;
	is_allowed boolean := true;
	is_first boolean;	-- since the server recovered from a crash, or was promoted
BEGIN
	IF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'a standby issues no ids' USING ERRCODE = 'read_only_sql_transaction', HINT = 'Draw ids on the primary.';
	END IF;
	-- The first lock, as in a draw: so calls of the owner keep out both, without a deadlock.
	PERFORM uidgen.jumps_so_far();
	BEGIN
		LOCK TABLE uidgen.jumping IN SHARE UPDATE EXCLUSIVE MODE;
		IF coalesce(pg_sequence_last_value('uidgen.position'), 0) < uidgen.own_first() THEN
			RAISE EXCEPTION 'sequence uidgen.position was restarted'
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It is below the place where ids of this database began, so that ids could come twice.',
					HINT = 'Let the owner of uidgen run, with the largest id that was drawn, or 0 if none was: SELECT uidgen.set_up(after => ID)';
		END IF;
		-- 1: a session has ended in the middle of the first jump
		is_first := coalesce(pg_sequence_last_value('uidgen.jumps'), 1) = 1;
		-- A rollback of set_up() sets the position back, while a client or a savepoint may keep ids.  set_up() restarts `jumps`, so each draw comes here first.
		IF is_first AND uidgen.has_locked('uidgen.jumps', 'ShareRowExclusiveLock') THEN
			RAISE EXCEPTION 'there are no ids before uidgen.set_up() is committed'
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'If this transaction is rolled back, the same ids could be drawn again.', HINT = 'Commit it, and draw in another one. If an event trigger draws, disable it until then.';
		END IF;
		-- Read after the wait for the lock, in which others may have jumped.
		IF n > 0 OR pg_sequence_last_value('uidgen.jumps') & 1 IS DISTINCT FROM 0 OR uidgen.is_far(pg_sequence_last_value('uidgen.position')) THEN
			IF coalesce(pg_sequence_last_value('uidgen.jumps') & 1, 0) = 0 THEN
				PERFORM nextval('uidgen.jumps');		-- closed: no draw counts from here on
			END IF;
			now := greatest(uidgen.clock() / uidgen.own_unit(), 0);
			next := greatest(pg_sequence_last_value('uidgen.position') + 1, least(now + CASE WHEN is_first THEN 10000 / uidgen.own_unit() + 2 ELSE 0 END, uidgen.own_last_tick()) << bits);
			first := next;
			IF in_one_tick AND (first & uidgen.own_sequence_mask()) + n > uidgen.own_sequence_mask() + 1 THEN
				first := ((first >> bits) + 1) << bits;
			END IF;
			is_allowed := now <= uidgen.own_last_tick() AND (first + n - 1) >> bits <= uidgen.own_last_tick()
				AND uidgen.ahead(first + n - 1) <= uidgen.own_max_ahead();
			PERFORM setval('uidgen.position', CASE WHEN is_allowed AND n > 0 THEN first + n ELSE next END - 1);
			IF uidgen.ahead(next - 1) <= uidgen.own_max_ahead() THEN
				PERFORM nextval('uidgen.jumps');		-- open
			END IF;
		END IF;
		RAISE SQLSTATE 'UIDOK';
	EXCEPTION WHEN SQLSTATE 'UIDOK' THEN
		NULL;
	END;
	IF NOT is_allowed THEN
		PERFORM uidgen.refuse(greatest(now, (first + n - 1) >> bits));
	END IF;
	RETURN first;
END
$$;
COMMENT ON FUNCTION uidgen.jump(integer, boolean) IS 'the first of n consecutive positions; with n = 0, moves the position to the clock';

-- The functions of a draw follow.  Their bodies are parsed when this script runs, and uidgen.next() has no operator and no name without a schema.
-- So uidgen.next() is SECURITY DEFINER without a search path of its own, which would take a third of its time.

CREATE FUNCTION uidgen.jumps_so_far() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN pg_sequence_last_value('uidgen.jumps');
COMMENT ON FUNCTION uidgen.jumps_so_far() IS 'the number that tells draws whether there was a jump; odd while one is going on';

CREATE FUNCTION uidgen.draw(jumps bigint) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN CASE WHEN jumps & 1 = 0 THEN nextval('uidgen.position') END;
COMMENT ON FUNCTION uidgen.draw(bigint) IS 'a position, which counts if there was no jump meanwhile; null while a jump is going on';

-- The tick of the position ended at most 2 ms ago, or ends within 1 ms.  A sum and abs() need only one look at the clock.
CREATE FUNCTION uidgen.counts_at_clock(drawn bigint, jumps bigint) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN uidgen.jumps_so_far() = jumps AND abs(uidgen.ahead(drawn) + uidgen.own_unit() + 500) <= 1500;
COMMENT ON FUNCTION uidgen.counts_at_clock(bigint, bigint) IS 'whether a position counts, and is at the clock';

CREATE FUNCTION uidgen.counts_ahead(drawn bigint, jumps bigint) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN uidgen.jumps_so_far() = jumps AND NOT uidgen.is_far(drawn);
COMMENT ON FUNCTION uidgen.counts_ahead(bigint, bigint) IS 'whether a position counts, and is not too far ahead of the clock';

-- What a crash makes the sequence forget could be drawn again before the clock has passed it.  This writes to the log, and so the commit waits
-- for all that is in there.
CREATE FUNCTION uidgen.write_to_log() RETURNS bigint
LANGUAGE sql VOLATILE
RETURN setval('uidgen.ahead', 1);
COMMENT ON FUNCTION uidgen.write_to_log() IS 'makes the commit of this transaction wait for the log';

CREATE FUNCTION uidgen.refuse_for_jumps() RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	RAISE EXCEPTION 'no id was to be had'
		USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'At each of 1000 attempts another session had changed uidgen.position.', HINT = 'Try again.';
END
$$;
COMMENT ON FUNCTION uidgen.refuse_for_jumps() IS 'the error when jumps get in the way again and again';

-- Its owner's alone: who could name a position would make an id of it.
CREATE FUNCTION uidgen.next_otherwise(drawn bigint, jumps bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	FOR attempt IN 1 .. 1000 LOOP
		IF uidgen.counts_at_clock(drawn, jumps) THEN
			RETURN uidgen.id_at(drawn);
		END IF;
		IF uidgen.counts_ahead(drawn, jumps) THEN
			PERFORM uidgen.write_to_log();
			RETURN uidgen.id_at(drawn);
		END IF;
		PERFORM uidgen.jump(0, false);
		jumps := uidgen.hold();
		drawn := uidgen.draw(jumps);
	END LOOP;
	RETURN uidgen.refuse_for_jumps();
END
$$;
COMMENT ON FUNCTION uidgen.next_otherwise(bigint, bigint) IS 'a new unique id: a position that was drawn, if it counts, or a later one';

-- PL/pgSQL takes a snapshot for each expression of a function that is not stable, and no part of this reads a table.  The
-- argument, at which nothing looks, keeps the planner from calling it once for several rows.
CREATE FUNCTION uidgen.next(moment timestamptz DEFAULT clock_timestamp()) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
AS $$
DECLARE
	jumps bigint;
	drawn bigint;
BEGIN
	jumps := uidgen.hold();
	drawn := uidgen.draw(jumps);
	RETURN CASE WHEN uidgen.counts_at_clock(drawn, jumps) THEN uidgen.id_at(drawn) ELSE uidgen.next_otherwise(drawn, jumps) END;
END
$$;
COMMENT ON FUNCTION uidgen.next(timestamptz) IS 'a new unique id';

CREATE FUNCTION uidgen.refuse_tag(tag integer) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
	IF tag IS NULL THEN
		RAISE EXCEPTION 'tag must not be null' USING ERRCODE = 'null_value_not_allowed', HINT = 'Pass a number; the argument has no default here.';
	END IF;
	RETURN uidgen.field_bits(uidgen.own(), 'tag', tag);
END
$$;
COMMENT ON FUNCTION uidgen.refuse_tag(integer) IS 'the error for a tag that an id cannot have';

CREATE FUNCTION uidgen.tag_bits(tag integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN tag BETWEEN 0 AND uidgen.own_tag_maximum() THEN tag::bigint << uidgen.own_tag_shift() ELSE uidgen.refuse_tag(tag) END;
COMMENT ON FUNCTION uidgen.tag_bits(integer) IS 'the bits of a tag; an error if there is none';

CREATE FUNCTION uidgen.check_n(n integer) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
	IF n IS NULL THEN
		RAISE EXCEPTION 'n must not be null' USING ERRCODE = 'null_value_not_allowed', HINT = 'Pass a number; the argument has no default here.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_n(integer) IS 'an error if it is null';

CREATE FUNCTION uidgen.uid_next() RETURNS bigint
LANGUAGE sql VOLATILE STRICT
RETURN uidgen.next();
COMMENT ON FUNCTION uidgen.uid_next() IS 'a new unique id, in order of time';

-- Not strict: a null tag is an error, where STRICT would return a null id.
CREATE FUNCTION uidgen.uid_next(tag integer) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN uidgen.tag_bits(tag) | uidgen.next();
COMMENT ON FUNCTION uidgen.uid_next(integer) IS 'a new unique id with a tag of the caller''s';

CREATE FUNCTION uidgen.batch(n integer, tag integer, OUT first bigint, OUT last bigint, OUT bits bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen.check_n(n);
	bits := uidgen.tag_bits(tag);
	IF n < 0 THEN
		RAISE EXCEPTION 'number of ids must not be negative'
			USING ERRCODE = 'numeric_value_out_of_range', DETAIL = format('%s ids were asked for.', n), HINT = 'Ask for 0 ids or more.';
	ELSIF n > 0 THEN
		first := uidgen.hold_and_jump(n, false);
		last := first + n - 1;
		-- After a wait for set_up(), which may have given another worker id: what was planned before has the former one.
		bits := uidgen.with_worker(bits);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.batch(integer, integer) IS 'the first and the last of n new positions; null if n is 0';

-- In SQL, so that it streams in the SELECT list.
CREATE FUNCTION uidgen.uid_next_batch(n integer, tag integer DEFAULT 0) RETURNS SETOF bigint
LANGUAGE sql VOLATILE ROWS 1000
BEGIN ATOMIC
	SELECT uidgen.bits_at(s.p) | s.bits FROM (SELECT generate_series(b.first, b.last) AS p, b.bits FROM uidgen.batch($1, $2) AS b OFFSET 0) AS s;
END;
COMMENT ON FUNCTION uidgen.uid_next_batch(integer, integer) IS 'n new ids, increasing';

CREATE FUNCTION uidgen.uid_reserve(n integer, tag integer DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	bits bigint;
	first bigint;
	capacity CONSTANT bigint := uidgen.own_sequence_mask() + 1;
BEGIN
	PERFORM uidgen.check_n(n);
	bits := uidgen.tag_bits(tag);
	IF uidgen.own_sequence_shift() <> 0 THEN
		RAISE EXCEPTION 'the layout has no blocks of consecutive ids' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its lowest field is %s, not the sequence.', (SELECT f.name FROM uidgen.layout_fields(uidgen.own()) AS f WHERE f.shift = 0)),
				HINT = 'Use uid_next_batch(), or a layout that ends with the sequence.';
	END IF;
	IF n < 1 OR n > capacity THEN
		RAISE EXCEPTION 'number of ids is out of range'
			USING ERRCODE = 'numeric_value_out_of_range', DETAIL = format('%s ids were asked for; a block has from 1 to %s ids, the capacity of one tick.', n, capacity),
				HINT = 'Ask for several blocks, use uid_next_batch(), or use a layout with more bits for the sequence.';
	END IF;
	first := uidgen.hold_and_jump(n, true);
	RETURN uidgen.id_at(first) | bits;
END
$$;
COMMENT ON FUNCTION uidgen.uid_reserve(integer, integer) IS 'the first of n new ids that are consecutive numbers within one tick; the last is n - 1 above it';
