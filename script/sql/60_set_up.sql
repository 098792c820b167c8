--
-- The owner's functions: set_up(), diagnose(), version(), take_out().
--

CREATE FUNCTION uidgen.check_kept(name text, kept text, given text, hint text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF given <> kept THEN
		RAISE EXCEPTION 'this database has % %, not %', name, kept, given USING ERRCODE = 'object_not_in_prerequisite_state', HINT = hint;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.check_kept(text, text, text, text) IS 'an error if a value is given that is not the one that is kept';

-- Null keeps the present value, or takes the default in the first call.
CREATE FUNCTION uidgen.change(worker_id bigint, layout text, datacenter_id bigint, max_ahead interval, after bigint, horizon boolean, instead_of bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_first CONSTANT boolean := NOT uidgen.is_set_up();
	worker bigint := worker_id;
	datacenter bigint := datacenter_id;
	ahead bigint := floor(extract(epoch FROM max_ahead) * 1000000);
	with_horizon boolean := horizon;
	l uidgen.parsed;
	first bigint;
	floor bigint;	-- the position below which no id may be
	reached bigint;
	function record;
BEGIN
	IF max_ahead NOT BETWEEN interval '1 second' AND interval '10 years' THEN
		RAISE EXCEPTION 'max_ahead is out of range' USING ERRCODE = 'invalid_parameter_value', HINT = 'Give a time from 1 second to 10 years.';
	ELSIF is_first THEN
		IF worker IS NULL THEN
			PERFORM uidgen.refuse_to_begin();
		END IF;
		l := uidgen.parsed(coalesce(layout, 'default'));
		PERFORM uidgen.check_generates(l.names, l.bits);
		datacenter := coalesce(datacenter, 0);
		with_horizon := coalesce(horizon, true);
		-- Readers wait until the clock has reached the position, which anybody who may draw can move ahead.
		ahead := coalesce(ahead, CASE WHEN with_horizon THEN greatest(60000000, 4 * l.unit) ELSE 3600000000 END);
	ELSE
		l := uidgen.own();
		IF layout IS NOT NULL THEN
			PERFORM uidgen.check_kept('layout', l.layout, (uidgen.parsed(layout)).layout, 'Take the edition out by uidgen.take_out(), and put it in again with this layout, and after the id that take_out() has returned.');
		END IF;
		PERFORM uidgen.check_kept('worker_id', uidgen.own_worker()::text, coalesce(instead_of, worker)::text,
			format('If it is a copy that goes on beside its original, and no database has worker id %s: SELECT uidgen.set_up(worker_id => %1$s, instead_of => %s)', worker, uidgen.own_worker()));
		IF instead_of IS NULL THEN
			PERFORM uidgen.check_kept('datacenter_id', uidgen.own_datacenter()::text, datacenter::text, 'Two databases with one worker id in one datacenter can issue the same ids.');
		END IF;
		worker := coalesce(worker, uidgen.own_worker());
		datacenter := coalesce(datacenter, uidgen.own_datacenter());
		ahead := coalesce(ahead, uidgen.own_max_ahead());
		-- A draw that is under way would not hold readers back.
		PERFORM uidgen.check_kept('horizon', uidgen.own_horizon()::text, horizon::text, 'Take the edition out by uidgen.take_out(), and put it in again, after the id that take_out() has returned.');
		with_horizon := uidgen.own_horizon();
		first := uidgen.own_first();
	END IF;
	IF worker > 2147483647 OR datacenter > 2147483647 THEN
		RAISE EXCEPTION 'a worker id and a datacenter are numbers up to 2147483647'
			USING ERRCODE = 'numeric_value_out_of_range', HINT = 'uid_layout() shows the largest value of each field.';
	END IF;
	IF ahead < 3 * l.unit + 10000 THEN
		RAISE EXCEPTION 'max_ahead is out of range'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'After a crash ids begin two ticks and 10 ms ahead of the clock.', HINT = 'Give at least three ticks of the layout, and 10 ms.';
	END IF;
	IF after IS NOT NULL THEN
		PERFORM uidgen.id_time(l, after);
		floor := ((after >> l.time_shift & uidgen.lowest_bits(l.time_bits)) + 1 << l.bits[array_position(l.names, 'sequence')]) - 1;
	END IF;

	IF is_first OR instead_of IS NOT NULL OR after IS NOT NULL THEN
		-- Waits for transactions that have drawn, and keeps out all others: so no draw is under way.  Each draw begins with a look at `jumps`, which stays
		-- closed until this transaction commits.  A crash sets `jumps` to the value that it gets here.
		ALTER SEQUENCE uidgen.jumps RESTART;
		-- The position may be below the first id, after somebody has restarted the sequence.
		ALTER SEQUENCE uidgen.begin_0 RESTART;
		ALTER SEQUENCE uidgen.begin_1 RESTART;
		-- The bounds of the sequence contain datacenter and worker id, because PostgreSQL 19 replicates sequences, and refuses a sequence with other bounds.
		EXECUTE format('ALTER SEQUENCE uidgen.position MINVALUE %s MAXVALUE %s',
			-1 - worker - (datacenter << coalesce(l.bits[array_position(l.names, 'worker')], 0)),
			(uidgen.last_tick(l) << l.bits[array_position(l.names, 'sequence')]) - 1);
	END IF;
	IF is_first THEN
		first := greatest(floor, greatest(div((extract(epoch FROM clock_timestamp()) * 1000000)::numeric - l.epoch, l.unit), 0)::bigint << l.bits[array_position(l.names, 'sequence')]);
		PERFORM setval('uidgen.position', first);
	ELSIF floor IS NOT NULL OR instead_of IS NOT NULL THEN
		-- Ids with a lower worker id, in the present tick or the next, would be below a horizon that readers were given.
		reached := CASE WHEN instead_of IS NULL THEN pg_sequence_last_value('uidgen.position') ELSE pg_sequence_last_value('uidgen.position') + 1 | uidgen.own_sequence_mask() END;
		PERFORM setval('uidgen.position', CASE WHEN floor IS NULL THEN reached ELSE greatest(floor, first, reached) END);
	END IF;
	-- Written in each call, since a dump of the schema alone brings no rows, and the schema of this table may be dropped.
	INSERT INTO uidgen_history.layout_used (layout) SELECT l.layout WHERE NOT EXISTS (SELECT FROM uidgen_history.layout_used AS u WHERE u.layout = l.layout);
	PERFORM uidgen.write_constants(l, worker::integer, datacenter::integer, ahead, with_horizon, first);
	-- Sessions keep plans with the former constants.  Any change of a function, also to the present definition, invalidates these plans.
	FOR function IN SELECT f.f, p.procost FROM uidgen.own_functions('uidgen') AS f JOIN pg_proc AS p ON p.oid = f.f LOOP
		EXECUTE format('ALTER FUNCTION %s COST %s', function.f, function.procost);
	END LOOP;
	reached := greatest(uidgen.clock() / l.unit, pg_sequence_last_value('uidgen.position') + 1 >> uidgen.own_sequence_bits());
	IF (is_first OR after IS NOT NULL) AND (reached > uidgen.own_last_tick() OR reached * l.unit - uidgen.clock() > ahead) THEN
		PERFORM uidgen.refuse(reached);
	END IF;
	RETURN format('worker id %s, layout %s', worker, l.layout);
END
$$;
COMMENT ON FUNCTION uidgen.change(bigint, text, bigint, interval, bigint, boolean, bigint) IS 'uidgen.set_up(), one call at a time';

-- The second of two concurrent calls has to see what the first has written: so the work is in a function of its own, which is looked up after the wait.
CREATE FUNCTION uidgen.set_up(worker_id bigint DEFAULT NULL, layout text DEFAULT NULL, datacenter_id bigint DEFAULT NULL, max_ahead interval DEFAULT NULL,
	after bigint DEFAULT NULL, horizon boolean DEFAULT NULL, instead_of bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uidgen.set_up() works in isolation level read committed only'
			USING ERRCODE = 'invalid_transaction_state', HINT = 'Begin by: BEGIN ISOLATION LEVEL READ COMMITTED';
	END IF;
	LOCK TABLE uidgen_history.layout_used IN SHARE UPDATE EXCLUSIVE MODE;
	RETURN uidgen.change(worker_id, layout, datacenter_id, max_ahead, after, horizon, instead_of);
END
$$;
COMMENT ON FUNCTION uidgen.set_up(bigint, text, bigint, interval, bigint, boolean, bigint) IS 'begins to issue ids, with a worker id that no other database has; later changes what may change';

-- [stands for uidgen.diagnose(): operator_adopt]
CREATE FUNCTION uidgen.diagnose(OUT severity text, OUT message text) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hint text;
BEGIN
	PERFORM uidgen.own_layout(), uidgen.jump(0, false);
	IF EXISTS (SELECT FROM pg_sequence AS s WHERE s.seqrelid IN ('uidgen.position'::regclass, 'uidgen.jumps'::regclass) AND (s.seqincrement <> 1 OR s.seqcache <> 1)) THEN
		RAISE EXCEPTION 'a sequence of uidgen was altered, so that ids come out of order'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Let the owner of uidgen run: ALTER SEQUENCE uidgen.position INCREMENT 1 CACHE 1; ALTER SEQUENCE uidgen.jumps INCREMENT 1 CACHE 1';
	END IF;
	IF (SELECT count(*) FROM uidgen.own_functions('uidgen') AS f JOIN pg_proc AS p ON p.oid = f WHERE p.pronamespace <> 'uidgen'::regnamespace) < cardinality(uidgen.own_names()) THEN
		RAISE EXCEPTION 'functions that users call are missing' USING ERRCODE = 'undefined_function', HINT = 'Let the owner of uidgen run its script again: ids go on where they are.';
	END IF;
	RETURN QUERY VALUES ('ok', 'nothing is missing');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN QUERY VALUES ('error', message || coalesce('. ' || nullif(hint, ''), ''));
END
$$;
COMMENT ON FUNCTION uidgen.diagnose() IS 'error: why no ids can be issued and what to do; or one row of ok';

CREATE FUNCTION uidgen.version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'UIDGEN_VERSION';
COMMENT ON FUNCTION uidgen.version() IS 'the version of the edition in SQL';

CREATE FUNCTION uidgen.drop_functions(home regnamespace) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	users text;
BEGIN
	-- One statement for all, since the functions call each other, and this function can be among them.
	EXECUTE (SELECT format('DROP ROUTINE %s', string_agg(f::text, ', ')) FROM uidgen.own_functions(home) AS f);
EXCEPTION WHEN dependent_objects_still_exist THEN
	GET STACKED DIAGNOSTICS users = PG_EXCEPTION_DETAIL;		-- without the context, which names each function
	RAISE EXCEPTION 'the functions of % are in use', home
		USING ERRCODE = 'dependent_objects_still_exist', DETAIL = users,
			HINT = CASE WHEN home = to_regnamespace('uidgen') AND to_regprocedure('uidgen_tools.take_out()') IS NOT NULL THEN 'Take out the tools first: SELECT uidgen_tools.take_out(). Then drop what else depends on them: ' ELSE 'Drop what depends on them first: ' END || 'a default that is dropped changes no row.';
END
$$;
COMMENT ON FUNCTION uidgen.drop_functions(regnamespace) IS 'drops the functions of a schema of the edition, with those that users call';

CREATE FUNCTION uidgen.take_out() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	last bigint;
BEGIN
	-- Waits for transactions that have drawn, and keeps out all others, as each draw begins with a look at `jumps`.
	ALTER SEQUENCE uidgen.jumps NO CYCLE;
	ALTER SEQUENCE uidgen.position NO CYCLE;
	IF uidgen.is_set_up() THEN
		last := uidgen.id_at(pg_sequence_last_value('uidgen.position')) | uidgen.tag_bits(uidgen.own_tag_maximum()::integer);
	END IF;
	DROP VIEW uidgen.presets, uidgen.horizon_holders, uidgen.jumping;
	PERFORM uidgen.drop_functions('uidgen');
	DROP TYPE uidgen.parsed;
	DROP SEQUENCE uidgen.position, uidgen.jumps, uidgen.ahead, uidgen.place, uidgen.place_of, uidgen.turn, uidgen.turn_0, uidgen.turn_1, uidgen.begin_0, uidgen.begin_1, uidgen.told, uidgen.told_of, uidgen.told_in, uidgen.noted, uidgen.noted_of;
	DROP SCHEMA uidgen;
	RETURN last;
END
$$;
COMMENT ON FUNCTION uidgen.take_out() IS 'takes the edition out of the database; returns an id that is not below any that was drawn';
