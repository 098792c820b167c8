--
-- What this database generates with: given once, when the script runs.
--
-- Each value is a function that returns a constant, so that the planner, and PL/pgSQL for its expressions, puts the constant in its
-- place: a table would have to be read for each id.
--

CREATE FUNCTION uidgen.own() RETURNS uidgen.parsed
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
	RETURN uidgen.parsed(uidgen.own_layout());
END
$$;
COMMENT ON FUNCTION uidgen.own() IS 'the layout of this database, parsed';

CREATE FUNCTION uidgen.set_up(layout_text text, worker bigint, datacenter bigint, max_ahead interval, place regnamespace, horizon boolean) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	l CONSTANT uidgen.parsed := uidgen.parsed(layout_text);
	i CONSTANT integer := array_position(l.names, 'sequence');
	t CONSTANT integer := array_position(l.names, 'tag');
	value record;
	fixed bigint;
BEGIN
	PERFORM uidgen.check_generates(l.names, l.bits);
	IF worker > 2147483647 OR datacenter > 2147483647 THEN
		RAISE EXCEPTION 'a worker id and a datacenter are numbers up to 2147483647'
			USING ERRCODE = 'numeric_value_out_of_range', HINT = 'uid_layout() shows the largest value of each field.';
	END IF;
	IF max_ahead NOT BETWEEN interval '1 second' AND interval '10 years' THEN
		RAISE EXCEPTION 'max_ahead is out of range'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give a time from 1 second to 10 years.';
	END IF;
	fixed := uidgen.field_bits(l, 'worker', worker::integer) | uidgen.field_bits(l, 'datacenter', datacenter::integer);
	FOR value IN
		SELECT v.name, v.type, v.value, v.comment FROM (VALUES
			('layout', 'text', l.layout, 'the layout of this database'),
			('unit', 'bigint', l.unit::text, 'microseconds of a tick'),
			('epoch', 'bigint', l.epoch::text, 'when its first tick began, in microseconds since 1970'),
			('last_tick', 'bigint', (uidgen.last_tick(l) - 1)::text, 'the last tick that ids may have'),
			('time_shift', 'integer', l.time_shift::text, 'the lowest bit of the time'),
			('sequence_bits', 'integer', l.bits[i]::text, 'bits of the sequence'),
			('sequence_shift', 'integer', l.shifts[i]::text, 'the lowest bit of the sequence'),
			('sequence_mask', 'bigint', uidgen.lowest_bits(l.bits[i])::text, 'the largest sequence'),
			('tag_shift', 'integer', coalesce(l.shifts[t], 0)::text, 'the lowest bit of the tag'),
			('tag_maximum', 'bigint', coalesce(uidgen.lowest_bits(l.bits[t]), 0)::text, 'the largest tag'),
			('fixed', 'bigint', fixed::text, 'the bits of the worker id and of the datacenter'),
			('identity', 'bigint', (datacenter << 31 | worker)::text, 'datacenter and worker id as one number'),
			('horizon', 'boolean', horizon::text, 'whether draws hold back readers that ask for uid_horizon()'),
			('place', 'regnamespace', place::text, 'the schema of what users call'),
			('max_ahead', 'bigint', floor(extract(epoch FROM max_ahead) * 1000000)::bigint::text, 'microseconds that ids may run ahead of the clock'))
			AS v (name, type, value, comment)
	LOOP
		EXECUTE format('CREATE FUNCTION uidgen.own_%s() RETURNS %s LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN %L::%2$s', value.name, value.type, value.value);
		EXECUTE format('COMMENT ON FUNCTION uidgen.own_%s() IS %L', value.name, value.comment);
	END LOOP;
END
$$;
SELECT uidgen.set_up(:'layout', :'worker_id', :'datacenter_id', :'max_ahead', quote_ident(:'schema')::regnamespace, :'horizon') \gset uidgen_
DROP FUNCTION uidgen.set_up;

-- Tables go on with ids of an earlier layout when the edition or its tools are taken out and put in anew: so a schema of its own,
-- which neither drops.
DO $$
BEGIN
	IF to_regnamespace('uidgen_history') IS NULL THEN
		CREATE SCHEMA uidgen_history;
		COMMENT ON SCHEMA uidgen_history IS 'what uidgen''s edition in SQL remembers when it is taken out';
		CREATE TABLE uidgen_history.layout_used (layout text PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
		COMMENT ON TABLE uidgen_history.layout_used IS 'the layouts that ids of this database have';
		COMMENT ON COLUMN uidgen_history.layout_used.layout IS 'a layout in canonical form';
		COMMENT ON COLUMN uidgen_history.layout_used.since IS 'when the edition was put in with it';
		GRANT USAGE ON SCHEMA uidgen_history TO PUBLIC;
		GRANT SELECT ON uidgen_history.layout_used TO PUBLIC;
	ELSIF EXISTS (SELECT FROM pg_roles AS me, pg_namespace AS n LEFT JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'layout_used'
			WHERE me.rolname = current_user AND n.nspname = 'uidgen_history' AND (n.nspowner = me.oid AND c.relowner = me.oid AND c.relkind = 'r') IS NOT TRUE) THEN
		RAISE EXCEPTION 'schema uidgen_history belongs to another role'
			USING ERRCODE = 'insufficient_privilege', HINT = 'Put the edition in by the role that did so before, or drop the schema.';
	END IF;
END
$$;
INSERT INTO uidgen_history.layout_used (layout) VALUES (uidgen.own_layout()) ON CONFLICT DO NOTHING;

CREATE FUNCTION :"schema".uid_layout(OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 5
AS $$
BEGIN
	RETURN QUERY SELECT f.name, f.bits, f.shift, f.maximum, f.meaning FROM uidgen.layout_fields(uidgen.own()) AS f;
END
$$;
COMMENT ON FUNCTION :"schema".uid_layout() IS 'the fields of this database''s layout, most significant first';

CREATE FUNCTION :"schema".uid_layout_info(OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint,
	OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT i.layout, i.bits, i.unit, i.epoch, i.expires_at, i.workers, i.ids_per_second, i.fits_in_53_bits FROM uidgen.layout_info(uidgen.own()) AS i;
END;
COMMENT ON FUNCTION :"schema".uid_layout_info() IS 'what this database''s layout has room for: ids_per_second is for each worker';
