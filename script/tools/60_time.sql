--
-- The time of an id as an expression that calls PostgreSQL's own functions alone.  Virtual columns refuse functions of extensions, and some databases
-- have the ids without the extension.
--
-- The arithmetic is exact, on whole microseconds.  PostgreSQL rounds an interval times a number only when the product has more than 53 bits, 285 years after the
-- epoch.  to_timestamp() with seconds as float8 is not exact: some ticks of 10 ms, and of microseconds, are a microsecond off.  The sum is of timestamps without
-- time zone, since the sum of a timestamptz and an interval depends on the session's time zone, and so is not immutable.
--

CREATE FUNCTION @extschema@.uid_time_expression(id_column name DEFAULT 'id', layout text DEFAULT NULL) RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT format('(timestamp ''%s'' + (%s%s%s) * interval ''%s'') AT TIME ZONE ''UTC''',
			regexp_replace(to_char(timestamp '1970-01-01' + n.epoch * interval '1 us', 'YYYY-MM-DD HH24:MI:SS.US'), '( 00:00:00)?\.?0*$', ''),
			uidgen_tools.write_name(id_column),
			' >> ' || nullif(b.behind, 0),
			-- Only zeros are above the time, if it is the highest field and the sign bit is not part of it.
			CASE WHEN n.layout !~ '^time:' OR b.own + b.behind = 64 THEN ' & ' || n.max_tick END,
			CASE WHEN n.unit % 1000000 = 0 THEN n.unit / 1000000 || ' s' WHEN n.unit % 1000 = 0 THEN n.unit / 1000 || ' ms' ELSE n.unit || ' us' END)
		FROM uidgen.layout_numbers(layout) AS n,
			LATERAL (SELECT substring(n.layout, 'time:([0-9]+)')::integer AS own, coalesce(sum(m.field[1]::integer), 0) AS behind
				FROM regexp_matches(substring(n.layout, 'time:.*'), ' (?:datacenter|worker|tag|sequence|zero):([0-9]+)', 'g') AS m (field)) AS b
		WHERE id_column IS NOT NULL;
END;
COMMENT ON FUNCTION @extschema@.uid_time_expression(name, text)
	IS 'the time of the ids of a column as an expression of PostgreSQL''s own functions, under a layout or preset; by default under the server''s layout';
