--
-- Layouts: what is computed from their fields.  Their grammar is in the part before, which the registry shares.
--
-- All arithmetic is on bigint, with shifts and masks of 64 bits; the sign bit is a bit like others.
--

IF to_regtype('uidgen.parsed') IS NULL THEN
	CREATE TYPE uidgen.parsed AS (layout text, names text[], bits integer[], shifts integer[], unit bigint, epoch bigint,
		mask bigint, total integer, time_bits integer, time_shift integer);
END IF;
COMMENT ON TYPE uidgen.parsed IS 'a layout: its canonical text, its fields, and what follows from them; mask has the bits that an id may have';

-- Strict and immutable, so that the planner calls it once for a layout that is a constant.
CREATE FUNCTION uidgen.parsed(layout_text text) RETURNS uidgen.parsed
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	result uidgen.parsed;
	place integer;
BEGIN
	SELECT p.layout, p.names, p.bits, p.shifts, p.unit, p.epoch INTO result.layout, result.names, result.bits, result.shifts, result.unit, result.epoch
		FROM uidgen.parse_layout(layout_text) AS p;
	SELECT bit_or(m << s) FILTER (WHERE n <> 'zero'), sum(b) INTO result.mask, result.total
		FROM unnest(result.names, result.bits, result.shifts) AS f (n, b, s), uidgen.lowest_bits(b) AS m;
	place := array_position(result.names, 'time');
	result.time_bits := result.bits[place];
	result.time_shift := result.shifts[place];
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen.parsed(text) IS 'a layout or preset, parsed';

CREATE FUNCTION uidgen.lowest_bits(n integer) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 9223372036854775807 >> (63 - n);
COMMENT ON FUNCTION uidgen.lowest_bits(integer) IS 'the number whose n lowest bits are set; n is at most 63';

CREATE FUNCTION uidgen.given(layout text) RETURNS uidgen.parsed
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
	IF layout IS NULL THEN
		RAISE EXCEPTION 'the layout must not be null' USING ERRCODE = 'null_value_not_allowed', HINT = 'To use the server''s layout, leave the argument out.';
	END IF;
	RETURN uidgen.parsed(layout);
END
$$;
COMMENT ON FUNCTION uidgen.given(text) IS 'a layout or preset, parsed; null is an error';

CREATE FUNCTION uidgen.field_value(l uidgen.parsed, field text, id bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	i CONSTANT integer := array_position(l.names, field);
BEGIN
	RETURN id >> l.shifts[i] & uidgen.lowest_bits(l.bits[i]);
END
$$;
COMMENT ON FUNCTION uidgen.field_value(uidgen.parsed, text, bigint) IS 'a field of an id; null if the layout lacks it';

-- Not strict: null stands for 0.
CREATE FUNCTION uidgen.field_bits(l uidgen.parsed, field text, value integer) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	i CONSTANT integer := array_position(l.names, field);
	most CONSTANT bigint := coalesce(uidgen.lowest_bits(l.bits[i]), 0);
BEGIN
	IF value NOT BETWEEN 0 AND most THEN
		RAISE EXCEPTION '% % is out of range', field, value
			USING ERRCODE = 'numeric_value_out_of_range', DETAIL = CASE WHEN i IS NULL THEN format('The layout has no %s field, so the value must be 0.', field)
					ELSE format('The layout has %s bits for this field: 0 to %s.', l.bits[i], most) END,
				HINT = 'uid_layout() shows the largest value of each field.';
	END IF;
	RETURN coalesce(value::bigint << l.shifts[i], 0);
END
$$;
COMMENT ON FUNCTION uidgen.field_bits(uidgen.parsed, text, integer) IS 'the bits of an id that hold a value; an error if it does not fit';

-- Microseconds since 1970, as numeric, since the times of a layout may reach further than bigint.
CREATE FUNCTION uidgen.time_at(microseconds numeric) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	days CONSTANT numeric := floor(microseconds / 86400000000);
BEGIN
	-- PostgreSQL's first day, and the last time that has 64 bits
	IF microseconds < -210866803200000000 OR microseconds > 9223372036854775807 THEN
		RETURN NULL;
	END IF;
	RETURN timezone('UTC', timestamp '1970-01-01' + make_interval(days => days::integer) + (microseconds - days * 86400000000)::bigint * interval '1 microsecond');
END
$$;
COMMENT ON FUNCTION uidgen.time_at(numeric) IS 'a time in microseconds since 1970; null if PostgreSQL has no such time';

CREATE FUNCTION uidgen.tick_time(l uidgen.parsed, tick numeric) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.time_at(l.epoch + tick * l.unit);
COMMENT ON FUNCTION uidgen.tick_time(uidgen.parsed, numeric) IS 'when a tick begins; null if PostgreSQL has no such time';

-- Independent of the session's date style.
CREATE FUNCTION uidgen.time_text("time" timestamptz) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO'
AS $$
BEGIN
	RETURN "time"::text;
END
$$;
COMMENT ON FUNCTION uidgen.time_text(timestamptz) IS 'a time as messages show it';

CREATE FUNCTION uidgen.last_tick(l uidgen.parsed) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.lowest_bits(l.time_bits - (l.time_shift + l.time_bits) / 64);
COMMENT ON FUNCTION uidgen.last_tick(uidgen.parsed) IS 'the last tick of a layout before its time is used up or its ids turn negative';

CREATE FUNCTION uidgen.layout_fields(l uidgen.parsed, OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 5
BEGIN ATOMIC
	SELECT f.name, f.bits, f.shift, CASE WHEN f.name = 'zero' THEN 0 ELSE uidgen.lowest_bits(f.bits) END,
		CASE f.name
			WHEN 'time' THEN format('ticks of %s since %s', substring(l.layout FROM 'time:[0-9]+:(\S+)'), substring(l.layout FROM 'epoch:(\S+)'))
			WHEN 'datacenter' THEN 'a group of workers'
			WHEN 'worker' THEN 'the instance that made the id'
			WHEN 'tag' THEN 'a value of the caller''s'
			WHEN 'sequence' THEN 'counts inside one tick'
			WHEN 'zero' THEN 'always zero'
		END
	FROM unnest(l.names, l.bits, l.shifts) WITH ORDINALITY AS f (name, bits, shift, n) ORDER BY f.n;
END;
COMMENT ON FUNCTION uidgen.layout_fields(uidgen.parsed) IS 'the fields of a layout, most significant first';

CREATE FUNCTION uidgen.layout_info(l uidgen.parsed, OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint, OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT l.layout, l.total, l.unit * interval '1 microsecond', uidgen.time_at(l.epoch),
		coalesce(uidgen.tick_time(l, uidgen.last_tick(l) + 1::numeric), 'infinity'),
		(coalesce(max(f.maximum) FILTER (WHERE f.name = 'worker'), 0) + 1) * (coalesce(max(f.maximum) FILTER (WHERE f.name = 'datacenter'), 0) + 1),
		(coalesce(max(f.maximum) FILTER (WHERE f.name = 'sequence'), 0) + 1) * 1000000 / l.unit,
		l.total <= 53
	FROM uidgen.layout_fields(l) AS f;
END;
COMMENT ON FUNCTION uidgen.layout_info(uidgen.parsed) IS 'what a layout has room for';

CREATE FUNCTION uidgen.uid_layout(layout text, OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 5
BEGIN ATOMIC
	SELECT f.name, f.bits, f.shift, f.maximum, f.meaning FROM uidgen.layout_fields(uidgen.parsed($1)) AS f;
END;
COMMENT ON FUNCTION uidgen.uid_layout(text) IS 'the fields of a layout or preset, most significant first';

CREATE FUNCTION uidgen.uid_layout_info(layout text, OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint, OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT i.layout, i.bits, i.unit, i.epoch, i.expires_at, i.workers, i.ids_per_second, i.fits_in_53_bits FROM uidgen.layout_info(uidgen.parsed($1)) AS i;
END;
COMMENT ON FUNCTION uidgen.uid_layout_info(text) IS 'what a layout or preset has room for: ids_per_second is for each worker';
