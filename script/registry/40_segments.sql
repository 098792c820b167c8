--
-- Segments: named counters, of which keepers fetch ranges.
--
-- They are the same in a local and in a fleet's registry, also in one that has granted
-- nothing so far.  A range is what one UPDATE has moved, so ranges never overlap, whatever
-- the steps are.  It never ends, either: so unlike a grant, a range that the registry has
-- lost does not become safe by waiting.  The rules (docs/design/segments.md):
--
--	S1	Where the registry may have gone back since the row was written (compare_histories()), or a node
--		knows of numbers above last_value, numbers were lost: last_value is raised by failover_gap,
--		once, before anything is given out.
--	S2	A node's word that numbers were lost is believed up to failover_gap above last_value.
--	S3	A release lowers last_value only if nothing has happened since the node's last
--		fetch: version is what it was told then, and the history is the row's.
--	S4	A release goes back no further than the ranges of its own node.
--	S5	Each history of the registry, and each start of the server of a fleet's, is a reign with a
--		random number.  The row keeps the last 32 reigns, with where each ended and the next one began.  A node
--		says which of them the row had when it was told its highest number.  What the row cannot explain stops
--		the segment: nobody gets numbers until the owner raises it.  That is written down, so the
--		answer is a row and no error.
--	S6	With segments_confirmed, which the owner chooses: once the registry may have gone back, the first call
--		gives nothing and writes the history down.  Numbers are given out once enough standbys have replayed
--		that: all, or as many as an election cannot pass by.  So whoever takes over next knows of it.
--	S7	A node says the highest number that it was told last of a segment of this name, whatever registry or
--		incarnation that was.  If the segment began below it, it is stopped, unless its owner has said that its
--		numbers begin anew.
--
CREATE TABLE uidgen_registry.segment (
	name text COLLATE "C" PRIMARY KEY,	-- an index that no change of the system's locales can break
	last_value bigint NOT NULL,
	step bigint NOT NULL DEFAULT 1000,
	min_step bigint NOT NULL,
	max_step bigint NOT NULL,
	max_value bigint NOT NULL DEFAULT 9223372036854775807,
	failover_gap bigint NOT NULL,
	version bigint NOT NULL,
	incarnation bigint NOT NULL,
	run_start bigint,
	system_identifier bigint NOT NULL,
	timeline integer NOT NULL,
	database oid NOT NULL,
	dropped boolean NOT NULL DEFAULT false,
	description text,
	created timestamptz NOT NULL,
	modified timestamptz NOT NULL,
	reigns bigint[] NOT NULL DEFAULT ARRAY[uidgen_registry.new_token() & 9223372036854775806::bigint],
	reign_ends bigint[] NOT NULL DEFAULT '{}',
	reign_begins bigint[] NOT NULL DEFAULT '{}',
	reign_floor bigint NOT NULL DEFAULT -1,
	began_above bigint,
	started timestamptz,
	restored text,
	stopped text,
	stopped_since timestamptz,
	evidence bigint,
	unconfirmed pg_lsn,
	rate double precision NOT NULL DEFAULT 0,
	CONSTRAINT steps_are_in_order CHECK (1 <= min_step AND min_step <= step AND step <= max_step AND max_step <= 1000000000),
	CONSTRAINT last_value_is_in_range CHECK (-1 <= last_value AND last_value <= max_value),
	CONSTRAINT failover_gap_is_not_negative CHECK (failover_gap >= 0)
) WITH (fillfactor = 20);	-- room for the fetches' row versions (HOT)

COMMENT ON TABLE uidgen_registry.segment IS 'named counters, of which servers fetch ranges: never dumped, never replicated; see change_segment()';
COMMENT ON COLUMN uidgen_registry.segment.name IS 'up to 63 bytes of UTF-8';
COMMENT ON COLUMN uidgen_registry.segment.last_value IS 'the last number that was given out to a server; not the next one, which the largest bigint does not have';
COMMENT ON COLUMN uidgen_registry.segment.step IS 'how many numbers a server fetches at first; later as many as last for a while';
COMMENT ON COLUMN uidgen_registry.segment.min_step IS 'the least that is fetched at a time';
COMMENT ON COLUMN uidgen_registry.segment.max_step IS 'the most that is fetched at a time';
COMMENT ON COLUMN uidgen_registry.segment.max_value IS 'the last number that can be given out';
COMMENT ON COLUMN uidgen_registry.segment.failover_gap IS 'numbers to skip after a failover or restore, at least as many as can be lost; 0: a synchronous standby keeps all';
COMMENT ON COLUMN uidgen_registry.segment.version IS 'a random number, another one with each change of last_value';
COMMENT ON COLUMN uidgen_registry.segment.incarnation IS 'a random number, another one when the numbers begin anew: servers then throw away what they have fetched';
COMMENT ON COLUMN uidgen_registry.segment.run_start IS 'the first number of what was fetched last by one server, with no other between: it may hand that back; null: nothing';
COMMENT ON COLUMN uidgen_registry.segment.system_identifier IS 'the cluster that the registry was in when a range was last fetched';
COMMENT ON COLUMN uidgen_registry.segment.timeline IS 'the timeline that it was on then';
COMMENT ON COLUMN uidgen_registry.segment.database IS 'the OID of its database then';
COMMENT ON COLUMN uidgen_registry.segment.dropped IS 'whether it was dropped: the row stays, so that a segment that is created again goes on above its numbers';
COMMENT ON COLUMN uidgen_registry.segment.description IS 'for people';
COMMENT ON COLUMN uidgen_registry.segment.created IS 'when the segment was created, or began anew';
COMMENT ON COLUMN uidgen_registry.segment.modified IS 'when last_value was last changed, or the segment created or dropped; does not go back when the clock is set back';
COMMENT ON COLUMN uidgen_registry.segment.reigns IS 'random numbers of the last 32 reigns, the present one last; an even number: the reign began by leaving out a gap';
COMMENT ON COLUMN uidgen_registry.segment.reign_ends IS 'of each former reign: the last number that was given out up to its end';
COMMENT ON COLUMN uidgen_registry.segment.reign_begins IS 'of each former reign: the number after which the next one began; what lies between was left out';
COMMENT ON COLUMN uidgen_registry.segment.reign_floor IS 'up to here the reign of a number does not matter: raise_segment() went beyond it, or it was too long ago';
COMMENT ON COLUMN uidgen_registry.segment.began_above IS 'its numbers began, or were raised, above this; a server''s higher number stops it; null: it began anew (restart)';
COMMENT ON COLUMN uidgen_registry.segment.started IS 'when the registry''s server had started then; of a local registry, when the segment was created';
COMMENT ON COLUMN uidgen_registry.segment.restored IS 'the base backup that it had been started from, if any, and when the database was made';
COMMENT ON COLUMN uidgen_registry.segment.stopped IS 'why it gives out nothing until raise_segment(): some numbers may have come twice; null: it is not stopped';
COMMENT ON COLUMN uidgen_registry.segment.stopped_since IS 'when it was stopped';
COMMENT ON COLUMN uidgen_registry.segment.evidence IS 'the highest number that a server was given, as far as servers have told since it was stopped';
COMMENT ON COLUMN uidgen_registry.segment.rate IS 'numbers a second that all servers together were given when last_value was last changed, as a mean over about a minute';
COMMENT ON COLUMN uidgen_registry.segment.unconfirmed IS 'with segments_confirmed, after a failover: standbys must replay the log up to here first; 0/0: not known; null: no wait';

-- The guards of the registry's tables, of which this is the last.
DO $$
DECLARE
	g record;
BEGIN
	FOR g IN SELECT s.* FROM unnest(ARRAY['uidgen_registry.worker_node', 'uidgen_registry.registry', 'uidgen_registry.segment']::regclass[]) AS t, uidgen_registry.guard_statements(t) AS s LOOP
		EXECUTE g.makes;
		EXECUTE g.enables;
		EXECUTE g.remarks;
	END LOOP;
END
$$;

-- The row when another reign has begun, whose numbers lie above `base`.  Nothing is written.  The number of a reign
-- is positive, and odd if it goes on where the last reign ended, or where the owner said: then the gap covers its
-- numbers like the last reign's.
CREATE FUNCTION uidgen_registry.begin_reign(s uidgen_registry.segment, base bigint, goes_on boolean) RETURNS uidgen_registry.segment
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	s.reign_ends := s.reign_ends || s.last_value;
	s.reign_begins := s.reign_begins || base;
	s.reigns := s.reigns || (uidgen_registry.new_token() & 9223372036854775806 | goes_on::integer);
	s.last_value := base;
	-- What was told in a reign that is forgotten lies below where the next one began.
	IF cardinality(s.reigns) > 32 THEN
		s.reign_floor := greatest(s.reign_floor, s.reign_begins[1]);
		s.reigns := s.reigns[2:];
		s.reign_ends := s.reign_ends[2:];
		s.reign_begins := s.reign_begins[2:];
	END IF;
	RETURN s;
END
$$;
COMMENT ON FUNCTION uidgen_registry.begin_reign(uidgen_registry.segment, bigint, boolean) IS 'the row of a segment as it is when another reign has begun above a number';

-- The row when its owner lets the numbers go on above this one.
CREATE FUNCTION uidgen_registry.go_beyond(s uidgen_registry.segment, beyond bigint) RETURNS uidgen_registry.segment
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	s := uidgen_registry.begin_reign(s, greatest(s.last_value, beyond), goes_on => true);
	s.run_start := NULL;
	IF s.began_above < beyond THEN
		s.began_above := beyond;
	END IF;
	RETURN s;
END
$$;
COMMENT ON FUNCTION uidgen_registry.go_beyond(uidgen_registry.segment, bigint) IS 'the row of a segment as it is when its owner lets the numbers go on above one';

-- The row is locked.  Returns its new version.
CREATE FUNCTION uidgen_registry.write_segment(s uidgen_registry.segment) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
BEGIN
	s.version := uidgen_registry.new_token();
	UPDATE uidgen_registry.segment AS t SET
			last_value = s.last_value, version = s.version, run_start = s.run_start, rate = s.rate, modified = greatest(t.modified, uidgen_registry.registry_clock()),
			system_identifier = s.system_identifier, timeline = s.timeline, database = s.database, started = s.started, restored = s.restored,
			reigns = s.reigns, reign_ends = s.reign_ends, reign_begins = s.reign_begins, reign_floor = s.reign_floor, began_above = s.began_above,
			stopped = s.stopped, stopped_since = s.stopped_since, evidence = s.evidence, unconfirmed = s.unconfirmed
		WHERE t.name = s.name;
	PERFORM uidgen_registry.check_written(FOUND);
	RETURN s.version;
END
$$;
COMMENT ON FUNCTION uidgen_registry.write_segment(uidgen_registry.segment) IS 'writes what a fetch, a stop, raise_segment() or create_segment() has changed of a segment';

-- S2, S5.  A node was told of numbers up to `highest`, by a row that had this course: its reigns, and
-- between each two the number up to which the first one had given; none: it does not say which.  The last reign
-- that this row has, too, is where the two parted.  A server's start or the owner's word may have
-- been lost with what was given since; another history is not.  'known': the row says so, too.  'lost': numbers were
-- lost, and the gap is still to be left out.  'too many': more were lost than the gap has.  'given': others were
-- given some of these since.  'unknown': the registry has gone on elsewhere, under a reign that this row never had.
CREATE FUNCTION uidgen_registry.judge_evidence(s uidgen_registry.segment, known_course bigint[], highest bigint, jumped boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	present CONSTANT integer := cardinality(s.reigns);
	which integer := present;
	parted integer;					-- in the course
	-- What others were given since lies above this, if anything is.
	bound bigint := s.last_value;
	others boolean := false;
BEGIN
	IF highest <= s.reign_floor OR highest <= s.last_value AND known_course[cardinality(known_course)] = s.reigns[present] THEN
		RETURN 'known';
	END IF;
	IF cardinality(known_course) > 0 THEN
		SELECT max(k.place) INTO parted
			FROM unnest(known_course) WITH ORDINALITY AS k (reign, place)
			WHERE k.place % 2 = 1 AND k.reign = ANY (s.reigns);
		IF parted IS NULL OR EXISTS (SELECT FROM unnest(known_course) WITH ORDINALITY AS k (reign, place)
				WHERE k.place % 2 = 1 AND k.place > parted AND k.reign & 1 = 0) THEN
			RETURN 'unknown';
		END IF;
		which := array_position(s.reigns, known_course[parted]);
		-- Has this row given more in the reign in which they parted?
		IF known_course[parted + 1] < (s.reign_ends || s.last_value)[which] THEN
			RETURN CASE WHEN highest <= known_course[parted + 1] THEN 'known' ELSE 'given' END;
		END IF;
	END IF;
	FOR later IN which + 1 .. present LOOP
		IF (s.reign_ends || s.last_value)[later] > s.reign_begins[later - 1] THEN
			bound := s.reign_begins[later - 1];
			others := true;
			EXIT;
		END IF;
	END LOOP;
	IF highest <= bound THEN
		RETURN 'known';
	ELSIF others THEN
		RETURN 'given';
	-- In numeric, since a sum may have no bigint.
	ELSIF jumped OR highest > (s.reign_ends || s.last_value)[which] + s.failover_gap::numeric THEN
		RETURN 'too many';
	END IF;
	RETURN 'lost';
END
$$;
COMMENT ON FUNCTION uidgen_registry.judge_evidence(uidgen_registry.segment, bigint[], bigint, boolean)
	IS 'whether a segment''s row explains the highest number a server had, and its reigns: known, lost, too many, given, unknown';

-- How long failover_gap covers what all servers together are given, at a time; null where there is no gap, or
-- almost nothing was given in the last minutes.
CREATE FUNCTION uidgen_registry.gap_lasts(s uidgen_registry.segment, clock timestamptz) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN s.failover_gap > 0 AND r.rate > 0.001 THEN make_interval(secs => least(s.failover_gap / r.rate, 1000000000)) END
		FROM (SELECT s.rate * exp(-least(greatest(extract(epoch FROM clock - s.modified), 0), 1200) / 60)) AS r (rate)
$$;
COMMENT ON FUNCTION uidgen_registry.gap_lasts(uidgen_registry.segment, timestamptz) IS 'how long failover_gap covers what all servers together are given, at the present rate';

CREATE FUNCTION uidgen_registry.create_segment(
	name text,
	start bigint DEFAULT 1,
	step bigint DEFAULT 1000,
	max_value bigint DEFAULT 9223372036854775807,
	description text DEFAULT NULL,
	restart boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	largest_step CONSTANT bigint := least(step::numeric * 100, 1000000000);
	now_time CONSTANT timestamptz := uidgen_registry.registry_clock();
	h uidgen_registry.history;
	s uidgen_registry.segment;
BEGIN
	IF num_nulls(name, start, step, max_value, restart) > 0 THEN
		RAISE EXCEPTION 'only the description of a segment can be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF name = '' OR name COLLATE "C" ~ '[\x01-\x1f\x7f]' THEN
		RAISE EXCEPTION 'this cannot be the name of a segment' USING ERRCODE = 'invalid_name', DETAIL = 'It is empty or has a control character.';
	END IF;
	IF octet_length(convert_to(name, 'UTF8')) > 63 THEN
		RAISE EXCEPTION 'the name of the segment is too long'
			USING ERRCODE = 'name_too_long', DETAIL = format('It has %s bytes in UTF-8; the limit is 63.', octet_length(convert_to(name, 'UTF8')));
	END IF;
	IF step NOT BETWEEN 1 AND 1000000000 THEN
		RAISE EXCEPTION 'the step of a segment cannot be %', step USING ERRCODE = 'invalid_parameter_value', DETAIL = 'It can be from 1 to 1000000000.';
	END IF;
	IF start < 0 OR start > max_value THEN
		RAISE EXCEPTION 'a segment cannot begin at %', start
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('Its numbers can be from 0 to its largest one, which is %s.', max_value);
	END IF;

	-- A table that a crash has emptied would have forgotten numbers that were given out.
	PERFORM uidgen_registry.check_tables('{segment}');
	IF current_setting('uidgen.database', true) <> current_database() AND NOT EXISTS (SELECT FROM uidgen_registry.registry AS l WHERE l.shared) THEN
		RAISE WARNING 'no server draws numbers of the segments in this database'
			USING DETAIL = format('The registry of this server is in database "%s", or on another server.', current_setting('uidgen.database')),
				HINT = 'Create the segment there.';
	END IF;

	h := uidgen_registry.present_history(with_label => true);
	INSERT INTO uidgen_registry.segment AS t
		(name, last_value, step, min_step, max_step, max_value, failover_gap, version, incarnation,
		 system_identifier, timeline, database, description, created, modified, reign_floor, began_above, started, restored)
		VALUES (create_segment.name, start - 1, create_segment.step, create_segment.step, largest_step, create_segment.max_value, 20 * largest_step,
				uidgen_registry.new_token(), uidgen_registry.new_token(), h.system_identifier, h.timeline, h.database,
				create_segment.description, now_time, now_time, start - 1, CASE WHEN NOT restart THEN start - 1 END, h.started, h.restored)
		-- One that begins anew.  Servers may still hold numbers of before, until they ask the next time.
		ON CONFLICT ON CONSTRAINT segment_pkey DO UPDATE SET
			last_value = excluded.last_value, step = excluded.step, min_step = excluded.min_step, max_step = excluded.max_step, max_value = excluded.max_value,
			failover_gap = excluded.failover_gap, version = excluded.version, incarnation = excluded.incarnation, run_start = NULL, dropped = false,
			system_identifier = excluded.system_identifier, timeline = excluded.timeline, database = excluded.database, started = excluded.started, restored = excluded.restored,
			description = excluded.description, created = excluded.created, modified = greatest(t.modified, excluded.modified),
			reigns = excluded.reigns, reign_ends = excluded.reign_ends, reign_begins = excluded.reign_begins, reign_floor = excluded.reign_floor, began_above = excluded.began_above,
			stopped = NULL, stopped_since = NULL, evidence = NULL, unconfirmed = NULL
			WHERE t.dropped AND restart;
	IF FOUND THEN
		RETURN;
	END IF;

	-- One that goes on.  The history stays, and failover_gap becomes no smaller: if the history is another one by now, the next
	-- fetch finds that.  If it was stopped, it stays so.
	SELECT t.* INTO s FROM uidgen_registry.segment AS t WHERE t.name = create_segment.name FOR UPDATE;
	PERFORM uidgen_registry.check_written(FOUND AND NOT (s.dropped AND restart));
	IF NOT s.dropped THEN
		RAISE EXCEPTION 'there is a segment "%" already', name
			USING ERRCODE = 'duplicate_object', HINT = 'To let its numbers begin anew, drop it first, and create it with restart := true.';
	ELSIF s.last_value > max_value THEN
		RAISE EXCEPTION 'the largest number of the segment cannot be %', max_value
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('Before it was dropped, it gave out numbers up to %s.', s.last_value),
				HINT = 'To let its numbers begin anew, use restart := true. Until its next fetch, a server may still issue numbers that it fetched before the restart.';
	END IF;
	UPDATE uidgen_registry.segment AS t SET
			step = create_segment.step, min_step = create_segment.step, max_step = largest_step, max_value = create_segment.max_value,
			failover_gap = greatest(t.failover_gap, 20 * largest_step), dropped = false, description = create_segment.description
		WHERE t.name = create_segment.name;
	PERFORM uidgen_registry.check_written(FOUND);
	s := uidgen_registry.go_beyond(s, start - 1);
	PERFORM uidgen_registry.write_segment(s);
END
$$;
COMMENT ON FUNCTION uidgen_registry.create_segment(text, bigint, bigint, bigint, text, boolean)
	IS 'creates a segment; a dropped one goes on above its numbers, or with restart begins anew while servers may hold old ones';

CREATE FUNCTION uidgen_registry.explain_no_segment(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'there is no segment "%"', name
		USING ERRCODE = 'undefined_object', HINT = 'The table uidgen_registry.segment lists them; uidgen_registry.create_segment() creates one.';
END
$$;
COMMENT ON FUNCTION uidgen_registry.explain_no_segment(text) IS 'raises the error that there is no such segment';

CREATE FUNCTION uidgen_registry.lock_segment(name text) RETURNS uidgen_registry.segment
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s uidgen_registry.segment;
BEGIN
	PERFORM uidgen_registry.lock_for_owner(name);
	SELECT t.* INTO s FROM uidgen_registry.segment AS t WHERE t.name = lock_segment.name AND NOT t.dropped FOR UPDATE;
	IF NOT FOUND THEN
		PERFORM uidgen_registry.explain_no_segment(name);
	END IF;
	RETURN s;
END
$$;
COMMENT ON FUNCTION uidgen_registry.lock_segment(text) IS 'the row of a segment, locked for its owner; an error if there is none';

-- The row stays: other servers may hold numbers of it.
CREATE FUNCTION uidgen_registry.drop_segment(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
BEGIN
	PERFORM uidgen_registry.refuse_block('uidgen_registry.drop_segment()');
	UPDATE uidgen_registry.segment AS t SET
			dropped = true,
			modified = greatest(t.modified, uidgen_registry.registry_clock())
		WHERE t.name = drop_segment.name AND NOT t.dropped;
	IF NOT FOUND THEN
		PERFORM uidgen_registry.check_written(NOT EXISTS (SELECT FROM uidgen_registry.segment AS t WHERE t.name = drop_segment.name AND NOT t.dropped));
		PERFORM uidgen_registry.explain_no_segment(name);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.drop_segment(text) IS 'gives out no numbers of a segment any more; servers go on with what they have fetched until they ask the next time';

-- What the owner may change of a segment.  Null leaves a value as it is.
CREATE FUNCTION uidgen_registry.change_segment(
	name text,
	step bigint DEFAULT NULL,
	min_step bigint DEFAULT NULL,
	max_step bigint DEFAULT NULL,
	max_value bigint DEFAULT NULL,
	failover_gap bigint DEFAULT NULL,
	description text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	s uidgen_registry.segment;
BEGIN
	PERFORM uidgen_registry.refuse_block('uidgen_registry.change_segment()');
	s := uidgen_registry.lock_segment(name);
	-- After a failover the gap is left out by the next fetch.  A smaller one might not cover what
	-- was lost under the larger one.
	IF failover_gap < s.failover_gap
		AND uidgen_registry.compare_histories((s.system_identifier, s.timeline, s.started, s.database, s.restored)::uidgen_registry.history, uidgen_registry.present_history(with_label => true)) = 'went back' THEN
		RAISE EXCEPTION 'the failover_gap of segment "%" cannot be lowered now', name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'The registry has failed over or was restored, and the next fetch leaves the gap out.',
				HINT = 'Lower it when a server has fetched numbers of the segment.';
	END IF;
	UPDATE uidgen_registry.segment AS t SET
			step = coalesce(change_segment.step, t.step), min_step = coalesce(change_segment.min_step, t.min_step), max_step = coalesce(change_segment.max_step, t.max_step),
			max_value = coalesce(change_segment.max_value, t.max_value), failover_gap = coalesce(change_segment.failover_gap, t.failover_gap),
			description = coalesce(change_segment.description, t.description)
		WHERE t.name = change_segment.name;
	PERFORM uidgen_registry.check_written(FOUND);
END
$$;
COMMENT ON FUNCTION uidgen_registry.change_segment(text, bigint, bigint, bigint, bigint, bigint, text)
	IS 'changes steps, the largest number, failover_gap and description of a segment; null leaves a value as it is';

CREATE FUNCTION uidgen_registry.raise_segment(name text, beyond bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	s uidgen_registry.segment;
BEGIN
	PERFORM uidgen_registry.refuse_block('uidgen_registry.raise_segment()');
	s := uidgen_registry.lock_segment(name);
	IF (beyond <= s.max_value) IS NOT TRUE THEN
		RAISE EXCEPTION 'the numbers of the segment cannot go on beyond %', beyond
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('Its largest number is %s.', s.max_value),
				HINT = 'The owner of the registry can raise max_value with uidgen_registry.change_segment().';
	END IF;
	s := uidgen_registry.go_beyond(s, beyond);
	-- Where it is stopped, the owner has looked at what was lost, so no gap is left out besides.
	IF s.stopped IS NOT NULL THEN
		SELECT h.system_identifier, h.timeline, h.database, h.started, h.restored
			INTO STRICT s.system_identifier, s.timeline, s.database, s.started, s.restored FROM uidgen_registry.present_history(with_label => true) AS h;
	END IF;
	-- What servers were told up to here is explained by the owner's word.
	s.reign_floor := greatest(s.reign_floor, beyond);
	s.stopped := NULL;
	s.stopped_since := NULL;
	s.evidence := NULL;
	s.unconfirmed := NULL;
	PERFORM uidgen_registry.write_segment(s);
	RETURN s.last_value;
END
$$;
COMMENT ON FUNCTION uidgen_registry.raise_segment(text, bigint)
	IS 'servers fetch above this number from now on, or above all given ones if it was stopped; returns the number gone beyond';

-- What end_registry() of another registry says of a segment.  One of this name that is here goes on above both.
CREATE FUNCTION uidgen_registry.import_segment(segment jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, uidgen_registry, pg_temp
AS $$
#variable_conflict error
DECLARE
	s CONSTANT uidgen_registry.segment := jsonb_populate_record(NULL::uidgen_registry.segment, segment);
	made CONSTANT boolean := NOT EXISTS (SELECT FROM uidgen_registry.segment AS t WHERE t.name = s.name);
	here uidgen_registry.segment;
BEGIN
	IF made THEN
		PERFORM uidgen_registry.create_segment(s.name, least(s.last_value, s.max_value - 1) + 1, s.step, s.max_value);
	END IF;
	UPDATE uidgen_registry.segment AS t SET
			step = s.step, min_step = s.min_step, max_step = s.max_step, max_value = s.max_value, description = s.description, dropped = s.dropped,
			failover_gap = CASE WHEN made THEN s.failover_gap ELSE greatest(t.failover_gap, s.failover_gap) END
		WHERE t.name = s.name;
	PERFORM uidgen_registry.check_written(FOUND);
	SELECT t.* INTO STRICT here FROM uidgen_registry.segment AS t WHERE t.name = s.name;
	here := uidgen_registry.go_beyond(here, s.last_value);
	IF s.began_above IS NULL THEN
		here.began_above := NULL;
	END IF;
	IF here.stopped IS NULL THEN
		here.stopped := s.stopped;
		here.stopped_since := s.stopped_since;
	END IF;
	here.evidence := greatest(here.evidence, s.evidence);
	PERFORM uidgen_registry.write_segment(here);
END
$$;
COMMENT ON FUNCTION uidgen_registry.import_segment(jsonb) IS 'takes over a segment of another registry, as the end_registry() of that says: its numbers go on here';
