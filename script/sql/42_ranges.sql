--
-- Bounds for comparisons: the ids of a time, and of a range of time.  src/functions/ranges.c has the reasons for each bound.
--

CREATE FUNCTION uidgen.extreme(l uidgen.parsed, "time" timestamptz, largest boolean) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	sign CONSTANT bigint := 1::bigint << 63;
	found record := uidgen.find_tick(l, "time");
	-- The time decides its own bits when the layout has the tick; all other bits are free.
	value CONSTANT bigint := coalesce(found.tick << l.time_shift, 0);
	free CONSTANT bigint := l.mask & CASE WHEN found.place = 0 THEN ~ (uidgen.lowest_bits(l.time_bits) << l.time_shift) ELSE -1 END;
BEGIN
	RETURN value | (free & CASE WHEN found.place = 1 OR found.place = 0 AND largest THEN ~ sign ELSE sign END);
END
$$;
COMMENT ON FUNCTION uidgen.extreme(uidgen.parsed, timestamptz, boolean) IS 'smallest or largest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

-- Null stands for a bound above the largest bigint.
CREATE FUNCTION uidgen.range_bound(l uidgen.parsed, "time" timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
	last CONSTANT bigint := l.mask & 9223372036854775807;
BEGIN
	IF l.names[1] <> 'time' THEN
		RAISE EXCEPTION 'ids of this layout are not in the order of time'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('The layout is "%s": its first field is %s.', l.layout, l.names[1]),
				HINT = 'A range of time is a range of ids only where the time is the first field. Compare uid_timestamp() with the two times instead.';
	END IF;
	found := uidgen.find_tick(l, "time");
	IF found.place < 0 OR found.place = 0 AND found.tick <= uidgen.last_tick(l) THEN
		RETURN uidgen.extreme(l, "time", false);
	END IF;
	RETURN CASE WHEN last < 9223372036854775807 THEN last + 1 END;
END
$$;
COMMENT ON FUNCTION uidgen.range_bound(uidgen.parsed, timestamptz) IS 'where a half-open range of ids begins or ends; null if that is above all numbers';

CREATE FUNCTION uidgen.range_begin(l uidgen.parsed, "time" timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN "time" IS NULL THEN 1::bigint << 63 ELSE coalesce(uidgen.range_bound(l, "time"), 9223372036854775807) END;
END
$$;
COMMENT ON FUNCTION uidgen.range_begin(uidgen.parsed, timestamptz) IS 'the first id of a range; for null, the smallest bigint';

CREATE FUNCTION uidgen.range_end(l uidgen.parsed, "time" timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	bound CONSTANT bigint := uidgen.range_bound(l, "time");
BEGIN
	-- No number is below the smallest bigint, at which some layouts begin.
	RETURN CASE WHEN bound IS NULL THEN 9223372036854775807 WHEN bound = 1::bigint << 63 THEN bound ELSE bound - 1 END;
END
$$;
COMMENT ON FUNCTION uidgen.range_end(uidgen.parsed, timestamptz) IS 'the last id of a range; for null, the largest bigint';

CREATE FUNCTION uidgen.ids_between(l uidgen.parsed, "from" timestamptz, "to" timestamptz) RETURNS int8range
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	first bigint := uidgen.range_bound(l, "from");
	last bigint := uidgen.range_bound(l, "to");
BEGIN
	-- The range is empty: it begins above the largest bigint.
	IF "from" IS NOT NULL AND first IS NULL THEN
		first := 9223372036854775807;
		last := coalesce(last, first);
	END IF;
	RETURN int8range(first, last);
END
$$;
COMMENT ON FUNCTION uidgen.ids_between(uidgen.parsed, timestamptz, timestamptz) IS 'the ids of a half-open range of time; null is an open end';

CREATE FUNCTION uidgen.uid_min("timestamp" timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS 'BEGIN RETURN uidgen.extreme(uidgen.own(), "timestamp", false); END';
COMMENT ON FUNCTION uidgen.uid_min(timestamptz) IS 'smallest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION uidgen.uid_min("timestamp" timestamptz, layout text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.extreme(uidgen.parsed(layout), "timestamp", false);
COMMENT ON FUNCTION uidgen.uid_min(timestamptz, text) IS 'smallest id of the tick that a time is in, under a layout or preset; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION uidgen.uid_max("timestamp" timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS 'BEGIN RETURN uidgen.extreme(uidgen.own(), "timestamp", true); END';
COMMENT ON FUNCTION uidgen.uid_max(timestamptz) IS 'largest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION uidgen.uid_max("timestamp" timestamptz, layout text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.extreme(uidgen.parsed(layout), "timestamp", true);
COMMENT ON FUNCTION uidgen.uid_max(timestamptz, text) IS 'largest id of the tick that a time is in, under a layout or preset; where the layout has no such tick, its smallest or largest id';

-- The two bounds in uid_between(), with the names that plans of the extension show.
-- [stands for uidgen.first_since(): operator_hostile_schema]
CREATE FUNCTION uidgen.first_since("from" timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.range_begin(uidgen.own(), "from"); END';
COMMENT ON FUNCTION uidgen.first_since(timestamptz) IS 'where a range of ids begins; for null, the smallest bigint';

CREATE FUNCTION uidgen.first_since("from" timestamptz, layout text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.range_begin(uidgen.given(layout), "from"); END';
COMMENT ON FUNCTION uidgen.first_since(timestamptz, text) IS 'where a range of ids begins, under a layout or preset; for null, the smallest bigint';

-- [stands for uidgen.last_before(): operator_hostile_schema]
CREATE FUNCTION uidgen.last_before("to" timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.range_end(uidgen.own(), "to"); END';
COMMENT ON FUNCTION uidgen.last_before(timestamptz) IS 'where a range of ids ends; for null, the largest bigint';

CREATE FUNCTION uidgen.last_before("to" timestamptz, layout text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.range_end(uidgen.given(layout), "to"); END';
COMMENT ON FUNCTION uidgen.last_before(timestamptz, text) IS 'where a range of ids ends, under a layout or preset; for null, the largest bigint';

-- To be inlined, a function must be neither strict nor have settings, and name each of its
-- arguments once.
CREATE FUNCTION uidgen.uid_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from") AND id <= uidgen.last_before("to");
COMMENT ON FUNCTION uidgen.uid_between(bigint, timestamptz, timestamptz) IS 'is the time of an id in a half-open range?';

CREATE FUNCTION uidgen.uid_between(id bigint, "from" timestamptz, "to" timestamptz, layout text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from", layout) AND id <= uidgen.last_before("to", layout);
COMMENT ON FUNCTION uidgen.uid_between(bigint, timestamptz, timestamptz, text) IS 'is the time of an id in a half-open range, under a layout or preset?';

CREATE FUNCTION uidgen.uid_range("from" timestamptz, "to" timestamptz) RETURNS int8range
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.ids_between(uidgen.own(), "from", "to"); END';
COMMENT ON FUNCTION uidgen.uid_range(timestamptz, timestamptz) IS 'the ids of a half-open range of time';

CREATE FUNCTION uidgen.uid_range("from" timestamptz, "to" timestamptz, layout text) RETURNS int8range
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.ids_between(uidgen.given(layout), "from", "to"); END';
COMMENT ON FUNCTION uidgen.uid_range(timestamptz, timestamptz, text) IS 'the ids of a half-open range of time, under a layout or preset';
