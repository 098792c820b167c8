--
-- Layouts
--

CREATE FUNCTION @extschema@.uid_layout(OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_layout_fields' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION @extschema@.uid_layout() IS 'the fields of the server''s layout, most significant first';

CREATE FUNCTION @extschema@.uid_layout(layout text, OUT name text, OUT bits integer, OUT shift integer, OUT maximum bigint, OUT meaning text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_layout_fields' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION @extschema@.uid_layout(text) IS 'the fields of a layout or preset, most significant first';

CREATE FUNCTION @extschema@.uid_layout_info(OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint, OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
AS 'MODULE_PATHNAME', 'uidgen_layout_info' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_layout_info() IS 'what the server''s layout has room for; ids_per_second is a worker''s. Raise uidgen.max_burst to load faster for a while';

CREATE FUNCTION @extschema@.uid_layout_info(layout text, OUT layout text, OUT bits integer, OUT unit interval,
	OUT epoch timestamptz, OUT expires_at timestamptz, OUT workers bigint, OUT ids_per_second bigint, OUT fits_in_53_bits boolean)
AS 'MODULE_PATHNAME', 'uidgen_layout_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_layout_info(text) IS 'what a layout or preset has room for; ids_per_second is a worker''s. Raise uidgen.max_burst to load faster for a while';

CREATE FUNCTION uidgen.layout_numbers(for_layout text DEFAULT NULL, OUT layout text, OUT unit bigint,
	OUT epoch bigint, OUT max_tick bigint, OUT max_datacenter integer, OUT max_worker integer)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT i.layout, (extract(epoch FROM i.unit) * 1000000::numeric)::bigint, (extract(epoch FROM i.epoch) * 1000000::numeric)::bigint,
		max(f.maximum) FILTER (WHERE f.name = 'time'),
		coalesce(max(f.maximum) FILTER (WHERE f.name = 'datacenter'), 0)::integer,
		coalesce(max(f.maximum) FILTER (WHERE f.name = 'worker'), 0)::integer
	FROM (SELECT coalesce($1, (SELECT s.layout FROM @extschema@.uid_layout_info() AS s))) AS c (layout),
		@extschema@.uid_layout_info(c.layout) AS i, @extschema@.uid_layout(c.layout) AS f
	GROUP BY i.layout, i.unit, i.epoch;
END;
COMMENT ON FUNCTION uidgen.layout_numbers(text) IS 'the layout of this server, or a named one, and its numbers as a registry keeps them';

CREATE FUNCTION uidgen.presets(OUT name text, OUT layout text, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_preset_list' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 30;
COMMENT ON FUNCTION uidgen.presets() IS 'the layouts that have a name';

CREATE VIEW uidgen.presets AS SELECT * FROM uidgen.presets();
COMMENT ON VIEW uidgen.presets IS 'the layouts that have a name';
COMMENT ON COLUMN uidgen.presets.name IS 'the preset';
COMMENT ON COLUMN uidgen.presets.layout IS 'in canonical form';
COMMENT ON COLUMN uidgen.presets.note IS 'which system it is of';
