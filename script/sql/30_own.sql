--
-- The settings of this database, and values that follow from them, as uidgen.set_up() has written them.
--
-- Each value is a function that returns a constant, because the planner replaces the call by the constant, also in PL/pgSQL.  A table would
-- have to be read for each id.  Before set_up(), each function raises an error instead of returning null, since a plan would keep the null.
--

CREATE FUNCTION uidgen.refuse_to_begin() RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
	RAISE EXCEPTION 'this database has no worker id yet'
		USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Two databases with one worker id can issue the same ids.',
			HINT = 'Choose a number that no other database has, and let the owner of uidgen run: SELECT uidgen.set_up(worker_id => NUMBER)';
END
$$;
COMMENT ON FUNCTION uidgen.refuse_to_begin() IS 'the error before uidgen.set_up()';

-- First the arguments of set_up() and the position where ids began; the values after these follow from them.
CREATE FUNCTION uidgen.write_constants(l uidgen.parsed, worker integer, datacenter integer, max_ahead bigint, horizon boolean, first bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	i CONSTANT integer := array_position(l.names, 'sequence');
	t CONSTANT integer := array_position(l.names, 'tag');
	value record;
BEGIN
	FOR value IN
		SELECT v.name, v.type, v.value, v.comment FROM (VALUES
			('layout', 'text', l.layout, 'the layout of this database'),
			('worker', 'integer', worker::text, 'the worker id of this database'),
			('datacenter', 'integer', datacenter::text, 'the datacenter of this database'),
			('max_ahead', 'bigint', max_ahead::text, 'microseconds that ids may run ahead of the clock'),
			('horizon', 'boolean', horizon::text, 'whether readers can ask for the horizon'),
			('first', 'bigint', first::text, 'the position where ids began'),
			('unit', 'bigint', l.unit::text, 'microseconds of a tick'),
			('epoch', 'bigint', l.epoch::text, 'when its first tick began, in microseconds since 1970'),
			('last_tick', 'bigint', (uidgen.last_tick(l) - 1)::text, 'the last tick that ids may have'),
			('time_shift', 'integer', l.time_shift::text, 'the lowest bit of the time'),
			('sequence_bits', 'integer', l.bits[i]::text, 'bits of the sequence'),
			('sequence_shift', 'integer', l.shifts[i]::text, 'the lowest bit of the sequence'),
			('sequence_mask', 'bigint', uidgen.lowest_bits(l.bits[i])::text, 'the largest sequence'),
			('tag_shift', 'integer', coalesce(l.shifts[t], 0)::text, 'the lowest bit of the tag'),
			('tag_maximum', 'bigint', coalesce(uidgen.lowest_bits(l.bits[t]), 0)::text, 'the largest tag'),
			('fixed', 'bigint', (uidgen.field_bits(l, 'worker', worker) | uidgen.field_bits(l, 'datacenter', datacenter))::text, 'the bits of the worker id and of the datacenter'))
			AS v (name, type, value, comment)
	LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION uidgen.own_%s() RETURNS %s IMMUTABLE STRICT PARALLEL SAFE LANGUAGE %s', value.name, value.type,
			CASE WHEN l.layout IS NULL THEN 'plpgsql AS ''BEGIN PERFORM uidgen.refuse_to_begin(); END''' ELSE format('sql RETURN %L::%s', value.value, value.type) END);
		EXECUTE format('COMMENT ON FUNCTION uidgen.own_%s() IS %L', value.name, value.comment);
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.write_constants(uidgen.parsed, integer, integer, bigint, boolean, bigint) IS 'makes the functions uidgen.own_*(); without a layout, those that are errors';
IF to_regprocedure('uidgen.own_layout()') IS NULL THEN
	PERFORM uidgen.write_constants(NULL, NULL, NULL, NULL, NULL, NULL);
END IF;

CREATE FUNCTION uidgen.is_set_up() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang WHERE p.oid = 'uidgen.own_layout()'::regprocedure AND l.lanname = 'sql');
END
$$;
COMMENT ON FUNCTION uidgen.is_set_up() IS 'whether uidgen.set_up() was called';

CREATE FUNCTION uidgen.own() RETURNS uidgen.parsed
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
	RETURN uidgen.parsed(uidgen.own_layout());
END
$$;
COMMENT ON FUNCTION uidgen.own() IS 'the layout of this database, parsed';

CREATE FUNCTION uidgen.uid_layout(OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 5
AS $$
BEGIN
	RETURN QUERY SELECT f.name, f.bits, f.shift, f.maximum, f.meaning FROM uidgen.layout_fields(uidgen.own()) AS f;
END
$$;
COMMENT ON FUNCTION uidgen.uid_layout() IS 'the fields of this database''s layout, most significant first';

CREATE FUNCTION uidgen.uid_layout_info(OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint, OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT i.layout, i.bits, i.unit, i.epoch, i.expires_at, i.workers, i.ids_per_second, i.fits_in_53_bits FROM uidgen.layout_info(uidgen.own()) AS i;
END;
COMMENT ON FUNCTION uidgen.uid_layout_info() IS 'what this database''s layout has room for: ids_per_second is for each worker';
