--
-- The fields of an id, and an id from its fields.
--
-- A function with a layout as its argument is in SQL: the planner inlines it, and parses a constant layout once a query.  A function
-- without a layout is in PL/pgSQL, so that it is not inlined: it would count as immutable then, and an index on it would be wrong after
-- the database gets another layout.
--

CREATE FUNCTION uidgen.id_time(l uidgen.parsed, id bigint) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	tick CONSTANT bigint := id >> l.time_shift & uidgen.lowest_bits(l.time_bits);
	result timestamptz;
BEGIN
	IF id & ~ l.mask <> 0 THEN
		RAISE EXCEPTION 'id % does not fit the layout', id
			USING ERRCODE = 'numeric_value_out_of_range', DETAIL = format('The layout "%s" uses %s bits, but the id has other bits set.', l.layout, l.total),
				HINT = uidgen.other_layout_hint();
	END IF;
	result := uidgen.tick_time(l, tick);
	IF result IS NULL THEN
		RAISE EXCEPTION 'the time in id % is out of range', id
			USING ERRCODE = 'datetime_field_overflow', DETAIL = format('Its tick is %s.', tick), HINT = uidgen.other_layout_hint();
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen.id_time(uidgen.parsed, bigint) IS 'the time in an id; an error if the id is none of the layout';

CREATE FUNCTION uidgen.other_layout_hint() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'It may be an id of another layout: the page docs/decoder.html lists which, and functions that decode ids take one as an argument.';
COMMENT ON FUNCTION uidgen.other_layout_hint() IS 'for messages';

CREATE FUNCTION uidgen.id_fields(l uidgen.parsed, id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
	"timestamp" := uidgen.id_time(l, id);
	datacenter := uidgen.field_value(l, 'datacenter', id);
	worker := uidgen.field_value(l, 'worker', id);
	tag := uidgen.field_value(l, 'tag', id);
	sequence := uidgen.field_value(l, 'sequence', id);
END
$$;
COMMENT ON FUNCTION uidgen.id_fields(uidgen.parsed, bigint) IS 'the fields of an id; a field that the layout lacks is null';

-- A time is before the ticks of a layout (-1), in them (0), or after them (1).
CREATE FUNCTION uidgen.find_tick(l uidgen.parsed, "time" timestamptz, OUT place integer, OUT tick bigint)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- extract() gives numbers for the infinities, too, and rounds the epoch of the last decades of timestamptz.
	microseconds CONSTANT numeric := CASE WHEN "time" < '294000-01-01 UTC' THEN extract(epoch FROM "time") * 1000000
		ELSE (extract(epoch FROM "time" - interval '2400000 hours') + 8640000000) * 1000000 END;
	found numeric;
BEGIN
	IF microseconds < l.epoch THEN
		place := -1;
	ELSIF microseconds > 9223372036854775807 THEN
		place := 1;
	ELSE
		found := div(microseconds - l.epoch, l.unit);
		place := (found > uidgen.lowest_bits(l.time_bits))::integer;
		IF place = 0 THEN
			tick := found;
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.find_tick(uidgen.parsed, timestamptz) IS 'the tick that a time is in; without, whether it is before the layout''s ticks (-1) or after them (1)';

CREATE FUNCTION uidgen.make(l uidgen.parsed, "time" timestamptz, worker integer, sequence integer, datacenter integer, tag integer) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	IF "time" IS NULL THEN
		RETURN NULL;
	END IF;
	found := uidgen.find_tick(l, "time");
	IF found.place < 0 THEN
		RAISE EXCEPTION 'timestamp is before the epoch of the layout: %', uidgen.time_text("time")
			USING ERRCODE = 'datetime_field_overflow', DETAIL = format('The epoch of the layout "%s" is %s.', l.layout, uidgen.time_text(uidgen.time_at(l.epoch))),
				HINT = 'For older times, use a layout with an earlier epoch.';
	ELSIF found.place > 0 THEN
		RAISE EXCEPTION 'timestamp is out of range: %', uidgen.time_text("time")
			USING ERRCODE = 'datetime_field_overflow', DETAIL = format('The layout "%s" has %s bits of time since its epoch.', l.layout, l.time_bits),
				HINT = 'uid_layout_info() shows when a layout begins and ends.';
	END IF;
	RETURN (found.tick << l.time_shift) | uidgen.field_bits(l, 'worker', worker) | uidgen.field_bits(l, 'sequence', sequence)
		| uidgen.field_bits(l, 'datacenter', datacenter) | uidgen.field_bits(l, 'tag', tag);
END
$$;
COMMENT ON FUNCTION uidgen.make(uidgen.parsed, timestamptz, integer, integer, integer, integer) IS 'the id with these fields';

CREATE FUNCTION uidgen.uid_parse(id bigint, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT $1, f."timestamp", f.datacenter, f.worker, f.tag, f.sequence FROM uidgen.id_fields(uidgen.own(), $1) AS f;
END;
COMMENT ON FUNCTION uidgen.uid_parse(bigint) IS 'the fields of an id; a field that the layout lacks is null';

CREATE FUNCTION uidgen.uid_parse(id bigint, layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT $1, f."timestamp", f.datacenter, f.worker, f.tag, f.sequence FROM uidgen.id_fields(uidgen.parsed($2), $1) AS f;
END;
COMMENT ON FUNCTION uidgen.uid_parse(bigint, text) IS 'the fields of an id under a layout or preset; a field that the layout lacks is null';

CREATE FUNCTION uidgen.uid_timestamp(id bigint) RETURNS timestamptz
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS 'BEGIN RETURN uidgen.id_time(uidgen.own(), id); END';
COMMENT ON FUNCTION uidgen.uid_timestamp(bigint) IS 'the time in an id';

CREATE FUNCTION uidgen.uid_timestamp(id bigint, layout text) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.id_time(uidgen.parsed(layout), id);
COMMENT ON FUNCTION uidgen.uid_timestamp(bigint, text) IS 'the time in an id under a layout or preset';

-- Not strict: uid_parse() returns null for a field that the layout lacks, and these functions take null for it.
CREATE FUNCTION uidgen.uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer DEFAULT NULL, tag integer DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS 'BEGIN RETURN uidgen.make(uidgen.own(), "timestamp", worker, sequence, datacenter, tag); END';
COMMENT ON FUNCTION uidgen.uid_make(timestamptz, integer, integer, integer, integer) IS 'the id with these fields';

CREATE FUNCTION uidgen.uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer, tag integer, layout text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN uidgen.make(uidgen.given(layout), "timestamp", worker, sequence, datacenter, tag);
COMMENT ON FUNCTION uidgen.uid_make(timestamptz, integer, integer, integer, integer, text) IS 'the id with these fields under a layout or preset';
