--
-- The calls of a keeper about segments: fetch a range, and hand back what is left.
--

-- What both calls of a keeper begin with.  Only this row is locked, so segments wait neither
-- for each other nor for worker ids.
--
-- Messages do not have the name in them, since the caller knows it in an encoding of its own.
CREATE FUNCTION uidgen_registry.begin_segment_call(
	name bytea,
	OUT s uidgen_registry.segment,			-- null: there is none
	OUT registry_id bigint,			-- null: the registry is local
	OUT system_identifier bigint, OUT timeline integer, OUT told_timeline integer,		-- as nodes are told
	OUT database oid, OUT started timestamptz, OUT restored text, OUT went_back boolean,			-- the registry may have gone back since the row was written
	OUT restarted boolean,			-- it is shared, and its server has started since
	OUT confirmed boolean)			-- S6
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	h uidgen_registry.history;
	since text;
	l uidgen_registry.registry;
	wanted text;
BEGIN
	PERFORM uidgen_registry.begin_call();
	-- Meanwhile the caller's other segments and its worker id wait.
	PERFORM set_config('lock_timeout', '100ms', true);
	BEGIN
		wanted := convert_from(begin_segment_call.name, 'UTF8');
	EXCEPTION
		WHEN untranslatable_character THEN
			-- No segment of this database can have such a name.
			wanted := NULL;
		WHEN character_not_in_repertoire THEN
			RAISE EXCEPTION 'the name of the segment is not in UTF-8' USING ERRCODE = 'character_not_in_repertoire';
	END;
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	confirmed := l.segments_confirmed IS TRUE;
	SELECT t.* INTO s FROM uidgen_registry.segment AS t WHERE t.name = wanted FOR UPDATE;
	-- A local registry is called by the keeper that all ids of its server come from.  It is
	-- not to wait for a standby that may be gone, where failover_gap covers what that lacks.
	IF l.shared IS NOT TRUE AND s.failover_gap > 0 THEN
		PERFORM set_config('synchronous_commit', 'local', true);
	END IF;
	h := uidgen_registry.present_history(with_label => true);
	since := uidgen_registry.compare_histories((s.system_identifier, s.timeline, s.started, s.database, s.restored)::uidgen_registry.history, h);
	registry_id := CASE WHEN l.shared THEN l.id END;
	SELECT h.system_identifier, h.timeline, h.database, h.started, h.restored INTO system_identifier, timeline, database, started, restored;
	told_timeline := uidgen_registry.told_timeline(l, h);
	went_back := since = 'went back';
	restarted := l.shared IS TRUE AND since = 'restarted';
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_segment_call(bytea) IS 'what each call of a keeper for a segment begins with: settings, its row, and what the registry knows of itself';

-- Why numbers are not given out, with segments_confirmed, where the log has to be replayed up to a position.
CREATE FUNCTION uidgen_registry.explain_unconfirmed(awaited pg_lsn, OUT refusal text, OUT detail text)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
	have text;
BEGIN
	SELECT r.* INTO STRICT l FROM uidgen_registry.registry AS r;
	SELECT string_agg(format('"%s"', s.name), ', ' ORDER BY s.name) INTO have
		FROM uidgen_registry.registry_standbys() AS s WHERE s.replayed >= awaited AND awaited <> '0/0';
	refusal := CASE WHEN have IS NULL THEN 'no standby of the registry has' ELSE 'too few standbys of the registry have' END || ' replayed its failover so far';
	detail := CASE
		WHEN awaited = '0/0' THEN 'The failover was written down by this call.'
		WHEN NOT pg_has_role('pg_read_all_stats', 'USAGE') THEN format('Role "%s" cannot see what standbys have replayed: it has no longer the privileges of pg_monitor.', current_user)
		ELSE format('The log has to be replayed up to %s by %s. It has been by: %s.', awaited,
			CASE WHEN l.confirming_standbys IS NOT NULL THEN format('%s standbys', l.confirming_standbys)
				ELSE 'all standbys that follow' || CASE WHEN l.standbys = '{}' THEN ''
					ELSE format(', and by those that followed before, but for this server: %s',
						(SELECT string_agg(format('"%s"', k.name), ', ' ORDER BY k.name) FROM unnest(l.standbys) AS k (name))) END END,
			coalesce(have, 'none')) END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.explain_unconfirmed(pg_lsn) IS 'which standbys have to replay the log up to a position before numbers are given out, as the parts of an error';

CREATE FUNCTION uidgen_registry.creating_hint() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('The owner of the registry can create it with uidgen_registry.create_segment(), in database "%s", and has to commit that before numbers are drawn; if it was there before, with start => above all numbers that were given out.', current_database())
$$;
COMMENT ON FUNCTION uidgen_registry.creating_hint() IS 'what to do about a segment that there is not';

-- Which of these segments there are.  A keeper asks it where several names wait that the registry has not known so far: anybody
-- can name what there is not, and each would cost a call.  It locks nothing and writes nothing.
CREATE FUNCTION uidgen_registry.segments_there(
	names bytea[],					-- in UTF-8
	not_after bigint,
	OUT there bigint[],				-- for each: 1 it is there; 0 it is not; -1 it was dropped
	OUT hint text,					-- for those that are not
	OUT registry_id bigint,			-- null: the registry is local
	OUT system_identifier bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	l uidgen_registry.registry;
	h uidgen_registry.history;
	wanted text;
	s uidgen_registry.segment;
BEGIN
	PERFORM uidgen_registry.begin_call();
	there := '{}';
	FOR i IN 1 .. cardinality(names) LOOP
		BEGIN
			wanted := convert_from(names[i], 'UTF8');
		EXCEPTION
			WHEN untranslatable_character OR character_not_in_repertoire THEN
				wanted := NULL;
		END;
		SELECT t.* INTO s FROM uidgen_registry.segment AS t WHERE t.name = wanted;
		there := there || CASE WHEN s.name IS NULL THEN 0 WHEN s.dropped THEN -1 ELSE 1 END::bigint;
	END LOOP;
	IF 0 = ANY (there) THEN
		PERFORM uidgen_registry.check_tables('{segment}');
	END IF;
	hint := uidgen_registry.creating_hint();
	SELECT r.* INTO l FROM uidgen_registry.registry AS r;
	h := uidgen_registry.present_history(with_label => false);
	registry_id := CASE WHEN l.shared THEN l.id END;
	system_identifier := h.system_identifier;
	timeline := uidgen_registry.told_timeline(l, h);
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.segments_there(bytea[], bigint) IS 'which of these segments there are, for keepers';

-- Numbers may have been given out twice: the segment gives none until its owner has said from where on.  History and
-- reigns stay as they were, for when the owner has raised it.
CREATE FUNCTION uidgen_registry.stop_segment(
	s uidgen_registry.segment,
	verdict text,					-- of leave_out_lost(); counts if the segment goes on yet
	highest bigint,					-- the highest number that the caller was told; null: that says nothing here
	of_fleet boolean,
	OUT refusal text, OUT refusal_detail text, OUT refusal_hint text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	before CONSTANT uidgen_registry.segment := s;
BEGIN
	IF s.stopped IS NULL THEN
		s.stopped := CASE verdict
			WHEN 'unknown' THEN format('The registry knows of numbers up to %s, and a server was given numbers up to %s in a course of history that it knows nothing of: it has failed over more than once, was restored, or is a copy.', s.last_value, highest)
			WHEN 'given' THEN format('A server was given numbers up to %s before the registry failed over, was restored or copied, and others may have been given some of these since.', highest)
			WHEN 'elsewhere' THEN format('A server was given numbers up to %s of another segment of this name, by this registry or another one. This one began after %s, and not with restart := true.', highest, s.began_above)
			WHEN 'no room' THEN format('The registry has failed over or was restored, knows of numbers up to %s, and cannot leave out failover_gap, which is %s: max_value is %s.', s.last_value, s.failover_gap, s.max_value)
			ELSE format('The registry knows of numbers up to %s, a server was given numbers up to %s, and failover_gap is %s.', s.last_value, highest, s.failover_gap) END
			|| CASE WHEN verdict = 'no room' OR NOT of_fleet THEN '' ELSE format(' The role of that server is "%s".', session_user) END;
		s.stopped_since := uidgen_registry.registry_clock();
	END IF;
	IF highest IS NOT NULL THEN
		-- No number was given out beyond max_value, whatever a node says.
		s.evidence := greatest(s.evidence, least(highest, s.max_value), s.last_value);
	END IF;
	IF (s.stopped, s.evidence) IS DISTINCT FROM (before.stopped, before.evidence) THEN
		s.run_start := NULL;
		PERFORM uidgen_registry.write_segment(s);
	END IF;
	refusal := 'the registry has stopped it, as numbers may have been given out twice';
	refusal_detail := s.stopped || format(' Servers have told of numbers up to %s so far.', greatest(s.evidence, s.last_value));
	refusal_hint := format('The owner of the registry can let the numbers go on above all that any server was given, with uidgen_registry.raise_segment(), in database "%s".', current_database());
END
$$;
COMMENT ON FUNCTION uidgen_registry.stop_segment(uidgen_registry.segment, text, bigint, boolean) IS 'stops a segment, unless it is, notes up to where servers were given numbers, and says why and what to do';

-- S1, S2, S5, S7.  Nothing is written.
CREATE FUNCTION uidgen_registry.leave_out_lost(
	before uidgen_registry.segment,
	went_back boolean,				-- and the others of begin_segment_call() and segment_fetch()
	restarted boolean,
	known_incarnation bigint,
	known_course bigint[],
	highest bigint,
	OUT s uidgen_registry.segment, OUT verdict text)				-- of judge_evidence(), or that the gap has no room, or elsewhere: the segment began below what the caller had
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	s := before;
	verdict := 'known';
	-- S1.  Other servers may have been given more than this one.
	IF went_back THEN
		s := uidgen_registry.begin_reign(s, least(s.last_value + s.failover_gap::numeric, s.max_value)::bigint, goes_on => false);
	ELSIF restarted THEN
		s := uidgen_registry.begin_reign(s, s.last_value, goes_on => true);
	END IF;
	-- S2, S5; S7.
	IF known_incarnation = s.incarnation THEN
		verdict := uidgen_registry.judge_evidence(s, known_course, highest, jumped => went_back);
	ELSIF least(highest, s.max_value) > s.began_above THEN
		verdict := 'elsewhere';
	END IF;
	-- A gap that max_value cuts off may not cover it.
	IF (verdict = 'lost' OR went_back) AND before.last_value < s.max_value AND before.last_value + s.failover_gap::numeric > s.max_value THEN
		verdict := CASE verdict WHEN 'known' THEN 'no room' WHEN 'lost' THEN 'too many' ELSE verdict END;
	END IF;
	IF verdict = 'lost' THEN
		s := uidgen_registry.begin_reign(s, least(s.last_value + s.failover_gap::numeric, s.max_value)::bigint, goes_on => false);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.leave_out_lost(uidgen_registry.segment, boolean, boolean, bigint, bigint[], bigint)
	IS 'the row of a segment above what the registry may have lost, and whether that explains what the caller was told';

-- S6.  By the second call, the position is beyond the first one's commit.
CREATE FUNCTION uidgen_registry.await_standbys(before pg_lsn, went_back boolean) RETURNS pg_lsn
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	awaited pg_lsn := CASE WHEN went_back THEN '0/0' ELSE before END;
	log record;
BEGIN
	IF before IS NOT NULL AND NOT went_back THEN
		SELECT r.* INTO STRICT log FROM uidgen_registry.registry_log() AS r;
		awaited := CASE WHEN awaited = '0/0' THEN log.written WHEN log.replayed >= awaited THEN NULL ELSE awaited END;
	END IF;
	PERFORM uidgen_registry.note_standbys(confirmed => awaited IS NULL AND before IS NOT NULL);
	RETURN awaited;
END
$$;
COMMENT ON FUNCTION uidgen_registry.await_standbys(pg_lsn, boolean) IS 'up to where the log has to be replayed from now on before numbers are given out; null: they are';

-- The next range of a segment: of the wanted length, as far as the steps and the largest
-- number allow.  Where the segment is stopped, nothing but the reason.
CREATE FUNCTION uidgen_registry.segment_fetch(
	name bytea,						-- in UTF-8, so that databases of any encoding can call
	wanted_step bigint,				-- 0: the segment's step
	known_incarnation bigint,		-- what the node was told last under this name, be it by another registry; 0: nothing
	known_version bigint,
	known_course bigint[],
	highest bigint,					-- the highest number of that incarnation that it was ever told, less what it has handed back; -1: none
	not_after bigint,				-- microseconds since 1970 UTC: the node waits no longer; largest bigint: not known
	OUT first_value bigint,			-- null: nothing is given out
	OUT last_value bigint, OUT incarnation bigint,
	OUT version bigint, OUT course bigint[],			-- the reigns, and between each two the number up to which the first one had given
	OUT step bigint, OUT min_step bigint, OUT max_step bigint, OUT max_value bigint, OUT refusal text,				-- why nothing is given out, in the parts of an error
	OUT refusal_detail text, OUT refusal_hint text, OUT refusal_passes boolean,		-- without that anybody does anything
	OUT gap_lasts bigint,			-- microseconds; null: not known, or there is no gap
	OUT registry_id bigint,			-- null: the registry is local
	OUT system_identifier bigint, OUT timeline integer, OUT clock bigint)				-- microseconds since 1970 UTC
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
	look record;
	s uidgen_registry.segment;				-- as it is to be
	before uidgen_registry.segment;			-- as it was
	verdict text;
	now_time timestamptz;
BEGIN
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_segment_call(name) AS b;
	before := call.s;
	IF before.name IS NULL THEN
		PERFORM uidgen_registry.check_tables('{segment}');
		RAISE EXCEPTION 'there is no such segment' USING ERRCODE = 'no_data_found', HINT = uidgen_registry.creating_hint();
	ELSIF before.dropped THEN
		RAISE EXCEPTION 'the segment was dropped' USING ERRCODE = 'no_data_found', HINT = uidgen_registry.creating_hint();
	END IF;

	SELECT b.* INTO STRICT look FROM uidgen_registry.leave_out_lost(before, call.went_back, call.restarted, known_incarnation, known_course, highest) AS b;
	s := look.s;
	verdict := look.verdict;
	SELECT s.incarnation, s.step, s.min_step, s.max_step, s.max_value, call.registry_id, call.system_identifier, call.told_timeline
		INTO incarnation, step, min_step, max_step, max_value, registry_id, system_identifier, timeline;
	IF verdict NOT IN ('known', 'lost') OR s.stopped IS NOT NULL THEN
		SELECT f.* INTO STRICT refusal, refusal_detail, refusal_hint
			FROM uidgen_registry.stop_segment(before, verdict, CASE WHEN known_incarnation = s.incarnation OR verdict = 'elsewhere' THEN highest END, of_fleet => call.registry_id IS NOT NULL) AS f;
		refusal_passes := false;
		clock := uidgen_registry.end_node_call(not_after);
		RETURN;
	END IF;
	IF s.last_value >= s.max_value THEN
		RAISE EXCEPTION 'the numbers of the segment are used up'
			USING ERRCODE = 'sequence_generator_limit_exceeded', DETAIL = format('The last number given out is %s, the largest one is %s.', before.last_value, s.max_value),
				HINT = 'The owner of the registry can raise max_value with uidgen_registry.change_segment(), or create another segment.';
	END IF;

	s.system_identifier := call.system_identifier;
	s.timeline := call.timeline;
	s.database := call.database;
	s.started := call.started;
	s.restored := call.restored;

	s.unconfirmed := CASE WHEN call.confirmed THEN uidgen_registry.await_standbys(before.unconfirmed, call.went_back) END;
	IF s.unconfirmed IS NOT NULL THEN
		IF s.unconfirmed IS DISTINCT FROM before.unconfirmed OR call.went_back OR verdict = 'lost' THEN
			s.run_start := NULL;
			PERFORM uidgen_registry.write_segment(s);
		END IF;
		refusal_passes := true;
		SELECT * INTO STRICT refusal, refusal_detail FROM uidgen_registry.explain_unconfirmed(s.unconfirmed);
		refusal_hint := format('%s, its owner can let the numbers go on with uidgen_registry.raise_segment(), in database "%s".',
			CASE WHEN refusal LIKE 'no %' THEN 'Start a standby of the registry. Without one' ELSE 'Start the other standbys of the registry. Without them' END, current_database());
		clock := uidgen_registry.end_node_call(not_after);
		RETURN;
	END IF;

	first_value := s.last_value + 1;
	last_value := least(s.last_value + CASE wanted_step WHEN 0 THEN s.step ELSE greatest(least(wanted_step, s.max_step), s.min_step) END::numeric, s.max_value);
	now_time := greatest(s.modified, uidgen_registry.registry_clock());
	s.rate := s.rate * exp(-least(extract(epoch FROM now_time - s.modified), 600) / 60) + (segment_fetch.last_value - s.last_value)::double precision / 60;
	s.modified := now_time;
	gap_lasts := extract(epoch FROM uidgen_registry.gap_lasts(s, now_time)) * 1000000;
	course := (SELECT array_agg(c.n ORDER BY c.place, c.half) FROM (
			SELECT r.place, 1, r.reign FROM unnest(s.reigns) WITH ORDINALITY AS r (reign, place)
			UNION ALL SELECT e.place, 2, e.number FROM unnest(s.reign_ends) WITH ORDINALITY AS e (number, place)) AS c (place, half, n));
	IF (s.last_value = before.last_value AND known_version = s.version AND s.run_start IS NOT NULL) IS NOT TRUE THEN
		s.run_start := first_value;
	END IF;
	s.last_value := segment_fetch.last_value;
	version := uidgen_registry.write_segment(s);
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.segment_fetch(bytea, bigint, bigint, bigint, bigint[], bigint, bigint) IS 'gives out the next range of a segment, for keepers';

-- Hand back what was not used of the last ranges (S3, S4).  A keeper never tries again:
-- if the answer is lost, so are the numbers.
CREATE FUNCTION uidgen_registry.segment_release(
	name bytea,
	known_version bigint,			-- what the last fetch returned
	first_unused bigint,			-- from here to the end of that range
	not_after bigint,
	OUT done boolean, OUT registry_id bigint, OUT timeline integer, OUT clock bigint)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	call record;
BEGIN
	SELECT b.* INTO STRICT call FROM uidgen_registry.begin_segment_call(name) AS b;
	UPDATE uidgen_registry.segment AS t SET
			last_value = first_unused - 1,
			version = uidgen_registry.new_token(),
			run_start = NULL,
			modified = greatest(t.modified, uidgen_registry.registry_clock())
		WHERE t.name = (call.s).name AND t.version = known_version AND NOT call.went_back
			AND first_unused BETWEEN t.run_start AND t.last_value;
	done := FOUND;
	PERFORM uidgen_registry.check_written(FOUND OR current_setting('session_replication_role') <> 'replica');
	registry_id := call.registry_id;
	timeline := call.told_timeline;
	clock := uidgen_registry.end_node_call(not_after);
END
$$;
COMMENT ON FUNCTION uidgen_registry.segment_release(bytea, bigint, bigint, bigint) IS 'takes back the unused rest of what a server fetched last, if nobody has fetched since; for keepers';
