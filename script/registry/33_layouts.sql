--
-- The grammar of layouts in SQL and PL/pgSQL, for servers without the library.
--
-- src/core/layout.c is the same in C, and src/core/layout.h describes the grammar: canonical texts and
-- errors are equal, which test/t/registry_layouts.pl compares; presets come from there.  Nothing is named here but pg_catalog and these functions, so
-- any other script can include this part: the edition in SQL does, in another schema.
--

CREATE FUNCTION uidgen_registry.layout_presets(OUT name text, OUT layout text, OUT note text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
SET search_path = pg_catalog, pg_temp
AS $$
	VALUES
-- [presets]
$$;
COMMENT ON FUNCTION uidgen_registry.layout_presets() IS 'the layouts that have a name, in canonical form';

-- A date of ISO 8601, or a date, T and a time, with a fraction and a zone if need be: all in lower case.
CREATE FUNCTION uidgen_registry.parse_epoch(value text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part CONSTANT text[] COLLATE "C" := regexp_match(value COLLATE "C", '^([0-9]{4})-([0-9]{2})-([0-9]{2})'
		|| '(?:t([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]{1,6}))?)?(?:z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?$');
	zone CONSTANT integer := (part[8] || '1')::integer * (part[9]::integer * 3600 + coalesce(part[10], '0')::integer * 60);
	month date;
	result bigint;
BEGIN
	IF part IS NULL OR part[1] = '0000' OR part[2]::integer NOT BETWEEN 1 AND 12 OR part[4] > '23' OR part[5] > '59' OR part[6] > '59'
			OR part[9] > '15' OR part[10] > '59' THEN
		RETURN NULL;
	END IF;
	month := make_date(part[1]::integer, part[2]::integer, 1);
	IF part[3]::integer NOT BETWEEN 1 AND (month + interval '1 month')::date - month THEN
		RETURN NULL;
	END IF;
	result := (month - make_date(1970, 1, 1) + part[3]::integer - 1) * 86400000000
		+ (coalesce(part[4], '0')::integer * 3600 + coalesce(part[5], '0')::integer * 60 + coalesce(part[6], '0')::integer - coalesce(zone, 0)) * 1000000::bigint
		+ rpad(coalesce(part[7], '0'), 6, '0')::integer;
	-- The zone must not carry it out of the years 1 to 9999.
	RETURN CASE WHEN result >= -62135596800000000 AND result < 253402300800000000 THEN result END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.parse_epoch(text) IS 'a date or time of ISO 8601 in microseconds since 1970 UTC; null if it is none';

CREATE FUNCTION uidgen_registry.write_layout(fields text[], bits integer[], unit bigint, epoch bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	midnight CONSTANT bigint := epoch - (epoch % 86400000000 + 86400000000) % 86400000000;	-- of the epoch's day
	layout text := to_char(make_date(1970, 1, 1)::timestamp + make_interval(days => (midnight / 86400000000)::integer) + (epoch - midnight) * interval '1 microsecond',
		'"epoch:"YYYY-MM-DD' || CASE WHEN epoch = midnight THEN '' ELSE '"T"HH24:MI:SS' || CASE WHEN epoch % 1000000 = 0 THEN '' WHEN epoch % 1000 = 0 THEN '.MS' ELSE '.US' END || '"Z"' END);
BEGIN
	FOR i IN REVERSE cardinality(fields) .. 1 LOOP
		layout := concat_ws(':', fields[i], bits[i], CASE WHEN fields[i] <> 'time' THEN NULL WHEN unit % 1000000 = 0 THEN unit / 1000000 || 's'
			WHEN unit % 1000 = 0 THEN unit / 1000 || 'ms' ELSE unit || 'us' END) || ' ' || layout;
	END LOOP;
	RETURN layout;
END
$$;
COMMENT ON FUNCTION uidgen_registry.write_layout(text[], integer[], bigint, bigint) IS 'a layout in canonical form';

-- No piece of a character is at the end.
CREATE FUNCTION uidgen_registry.cut_item(item text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shown text COLLATE "C" := left(item, 60);
BEGIN
	WHILE octet_length(shown) > 60 OR (length(shown) < length(item) AND shown ~ E'[^\x01-\x7f]$') LOOP
		shown := left(shown, -1);
	END LOOP;
	RETURN shown;
END
$$;
COMMENT ON FUNCTION uidgen_registry.cut_item(text) IS 'at most 60 bytes of an item of a layout, for messages';

-- One that is no preset.  Of the others in its layout it is known which were seen, and which fields the preset has, if there is one.
CREATE FUNCTION uidgen_registry.parse_item(item text, begins boolean, preset_fields text[], seen text[],
	OUT name text, OUT number integer, OUT unit bigint, OUT epoch bigint, OUT reason text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	value text COLLATE "C";		-- behind the colon
	digits text COLLATE "C";
	most integer;
BEGIN
	name := substring(lower(item) FROM '^([^:]*):');
	value := substr(lower(item), length(name) + 2);
	IF strpos(item, ',') > 0 AND (begins OR name IS DISTINCT FROM 'epoch') THEN
		reason := 'it has a comma';
		hint := 'Separate items by blanks, without commas.';
	ELSIF begins AND name IS NULL THEN
		reason := 'there is no such preset';
		hint := 'SELECT name FROM uidgen_registry.layout_presets() lists the presets.';
	ELSIF name IS NULL THEN
		reason := 'it is neither a preset at the start nor NAME:VALUE';
	ELSIF name NOT IN ('time', 'datacenter', 'worker', 'tag', 'sequence', 'zero', 'epoch') THEN
		reason := 'there is no such field';
	ELSIF name = ANY (seen) THEN
		reason := CASE WHEN name = 'epoch' THEN 'the epoch is given twice' ELSE 'the field is given twice' END;
		hint := 'Each item may be given once.';
	ELSIF name = 'epoch' THEN
		epoch := uidgen_registry.parse_epoch(value);
		IF epoch IS NULL THEN
			reason := 'it is not a date or time of ISO 8601';
		END IF;
	ELSIF name <> ALL (preset_fields) THEN
		reason := 'the preset has no such field to replace';
		hint := 'Spell the whole layout out to change its fields.';
	ELSE
		most := CASE WHEN name = 'time' THEN 63 ELSE 31 END;
		digits := substring(value FROM '^([0-9]{1,3})(?![0-9])');
		number := digits::integer;
		value := substr(value, length(digits) + 1);
		IF (number BETWEEN 1 AND most) IS NOT TRUE THEN
			reason := format('its number of bits must be from 1 to %s', most);
		ELSIF name = 'time' THEN
			SELECT m[1]::bigint * s.scale INTO unit
				FROM regexp_match(value, '^:([0-9]{1,10})(us|ms|s)$') AS m, (VALUES ('us', 1), ('ms', 1000), ('s', 1000000)) AS s (name, scale)
				WHERE s.name = m[2];
			IF (unit BETWEEN 1 AND 3600000000) IS NOT TRUE THEN
				reason := 'its unit must be a number and us, ms or s, at most an hour';
				hint := 'Write the time as time:41:1ms, for example.';
			END IF;
		ELSIF value <> '' THEN
			reason := 'nothing may follow its number of bits';
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.parse_item(text, boolean, text[], text[]) IS 'a field or the epoch of a layout, or what is wrong with the item and what to do; null there: read the grammar';

-- Fields are told most significant first: their names, how many bits each has, and its lowest bit.
CREATE FUNCTION uidgen_registry.parse_layout(layout_text text, OUT layout text, OUT names text[], OUT bits integer[], OUT shifts integer[],
	OUT unit bigint, OUT epoch bigint, OUT max_tick bigint, OUT max_datacenter integer, OUT max_worker integer)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	grammar CONSTANT text := 'Items are time:BITS:UNIT, datacenter:BITS, worker:BITS, tag:BITS, sequence:BITS, zero:BITS and epoch:ISO-8601, separated by blanks.';
	epoch_hint CONSTANT text := 'Write the epoch as epoch:2025-01-01 or epoch:2025-01-01T08:00:00.000+08:00.';
	-- What is compared has no collation but this one, whatever the caller's text has: in what is called here, too.
	given CONSTANT text COLLATE "C" := layout_text;
	piece text[] COLLATE "C";	-- blanks, and the item that follows
	item text COLLATE "C";
	shown text COLLATE "C";
	fields text[] COLLATE "C";
	preset_fields text[] COLLATE "C";
	seen text[] COLLATE "C" := '{}';
	begins boolean;
	i record;
	total integer := 0;
	place integer := 0;			-- characters up to the end of the item
	reason text;
	detail text;
	hint text;
BEGIN
	FOR piece IN SELECT m FROM regexp_matches(given, E'([ \t\r\n]*)([^ \t\r\n]+)', 'g') AS r (m) LOOP
		begins := item IS NULL;
		item := piece[2];
		place := place + length(piece[1]) + length(item);
		IF begins THEN
			SELECT l.names, l.names, l.bits, l.unit, l.epoch INTO fields, preset_fields, bits, unit, epoch
				FROM uidgen_registry.layout_presets() AS p, uidgen_registry.parse_layout(p.layout) AS l WHERE p.name = lower(item);
			CONTINUE WHEN FOUND;
		END IF;
		i := uidgen_registry.parse_item(item, begins, preset_fields, seen);
		reason := i.reason;
		EXIT WHEN reason IS NOT NULL;
		seen := seen || i.name;
		unit := coalesce(i.unit, unit);
		epoch := coalesce(i.epoch, epoch);
		IF i.number IS NOT NULL THEN
			fields := CASE WHEN i.name = ANY (fields) THEN fields ELSE fields || i.name END;
			bits[array_position(fields, i.name)] := i.number;
		END IF;
	END LOOP;

	IF reason IS NOT NULL THEN
		shown := uidgen_registry.cut_item(item);
		detail := format('Item "%s%s" at position %s: %s.', shown, CASE WHEN shown <> item THEN '...' END, place - length(item) + 1, reason);
		hint := coalesce(i.hint, CASE i.name WHEN 'epoch' THEN epoch_hint ELSE grammar END);
	ELSIF item IS NULL THEN
		detail := 'The layout is empty.';
		hint := grammar;
	ELSIF ('time' = ANY (fields)) IS NOT TRUE THEN
		detail := 'It has no time field.';
		hint := grammar;
	ELSIF epoch IS NULL THEN
		detail := 'It has no epoch.';
		hint := epoch_hint;
	ELSE
		total := (SELECT sum(b) FROM unnest(bits) AS b);
		IF total > 64 THEN
			detail := format('Its fields take %s bits together; an id has 64.', total);
			hint := 'Give fewer bits to some of the fields.';
		END IF;
	END IF;
	IF detail IS NOT NULL THEN
		RAISE EXCEPTION 'invalid layout' USING ERRCODE = 'invalid_parameter_value', DETAIL = detail, HINT = hint;
	END IF;

	-- A zero in front of everything is what an id has there anyway.
	IF fields[1] = 'zero' THEN
		fields := fields[2:];
		bits := bits[2:];
	END IF;
	names := fields;
	layout := uidgen_registry.write_layout(fields, bits, unit, epoch);
	total := 0;
	FOR i IN REVERSE cardinality(fields) .. 1 LOOP
		shifts[i] := total;
		total := total + bits[i];
	END LOOP;
	max_tick := 9223372036854775807 >> (63 - bits[array_position(fields, 'time')]);
	max_datacenter := coalesce(2147483647 >> (31 - bits[array_position(fields, 'datacenter')]), 0);
	max_worker := coalesce(2147483647 >> (31 - bits[array_position(fields, 'worker')]), 0);
END
$$;
COMMENT ON FUNCTION uidgen_registry.parse_layout(text) IS 'a layout or preset, with items that replace the preset''s: canonical form, fields, and the numbers of a registry';

-- Of what parse_layout() returns.
CREATE FUNCTION uidgen_registry.check_generates(names text[], bits integer[]) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	total CONSTANT integer := (SELECT sum(b) FROM unnest(bits) AS b);
	detail text;
	hint text;
BEGIN
	IF names[1] <> 'time' THEN
		detail := format('Its first field is %s, so its ids are not in the order of time.', names[1]);
		hint := 'Put the time first.';
	ELSIF bits[1] < 20 THEN
		detail := format('Its time has %s bits; at least 20 are needed.', bits[1]);
		hint := 'Give more bits to the time.';
	ELSIF 'sequence' <> ALL (names) THEN
		detail := 'It has no sequence.';
		hint := 'Add a sequence field.';
	ELSIF total > 63 THEN
		detail := format('Its fields take %s bits together; with more than 63, ids could be negative.', total);
		hint := 'Give fewer bits to some of the fields.';
	ELSE
		RETURN;
	END IF;
	RAISE EXCEPTION 'layout cannot generate ids' USING ERRCODE = 'invalid_parameter_value', DETAIL = detail, HINT = hint;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_generates(text[], integer[]) IS 'raises an error if a layout is good for decoding only';
