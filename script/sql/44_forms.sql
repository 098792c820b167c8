--
-- Ids as text and as uuids, and back.  src/core/textform.c and uuidform.c say where each digit and bit lies.
--

CREATE FUNCTION uidgen.form(form text, OUT name text, OUT length integer, OUT digits text, OUT good text, OUT last text, OUT hint text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	name := lower(form COLLATE "C");
	CASE name
		WHEN 'base32' THEN
			length := 13;
			digits := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
			good := '^[0-9A-TV-Za-tv-z-]*';
			last := 'FZZZZZZZZZZZZ';
			hint := 'Its digits are 0 to 9 and A to Z, but not U, in upper or lower case; I and L are read as 1, O as 0, and hyphens are passed over.';
		WHEN 'base58' THEN
			length := 11;
			digits := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
			good := '^[1-9A-HJ-NP-Za-km-z]*';
			last := 'jpXCZedGfVQ';
			hint := 'Its digits are 1 to 9, A to Z without I and O, and a to z without l; upper and lower case differ.';
		WHEN 'base62' THEN
			length := 11;
			digits := '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
			good := '^[0-9A-Za-z]*';
			last := 'LygHa16AHYF';
			hint := 'Its digits are 0 to 9, A to Z and a to z; upper and lower case differ.';
		WHEN 'hex' THEN
			length := 16;
			digits := '0123456789abcdef';
			good := '^[0-9A-Fa-f]*';
			last := 'ffffffffffffffff';
			hint := 'Its digits are 0 to 9 and a to f, in upper or lower case.';
		ELSE
			RAISE EXCEPTION 'there is no form "%"', uidgen.shown(form) USING ERRCODE = 'invalid_parameter_value', HINT = 'Forms are base32, base58, base62 and hex.';
	END CASE;
END
$$;
COMMENT ON FUNCTION uidgen.form(text) IS 'a form of ids as text: how many digits, which, what texts may have, the largest number';

CREATE FUNCTION uidgen.shown(value text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	result text := left(value, 40);
BEGIN
	WHILE octet_length(result) > 40 LOOP
		result := left(result, -1);
	END LOOP;
	RETURN result || CASE WHEN length(result) < length(value) THEN '...' ELSE '' END;
END
$$;
COMMENT ON FUNCTION uidgen.shown(text) IS 'at most 40 bytes of a text, for messages';

CREATE FUNCTION uidgen.uid_to_text(id bigint, form text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	f CONSTANT record := uidgen.form(form);
	base CONSTANT integer := length(f.digits);
	-- An unsigned number: all digits but the last fit into bigint.
	number CONSTANT numeric := CASE WHEN id < 0 THEN id + 18446744073709551616 ELSE id END;
	rest bigint := div(number, base);
	result text := substr(f.digits, mod(number, base)::integer + 1, 1);
BEGIN
	FOR i IN 2 .. f.length LOOP
		result := substr(f.digits, (rest % base)::integer + 1, 1) || result;
		rest := rest / base;
	END LOOP;
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen.uid_to_text(bigint, text) IS 'an id as text in a form: base32, base58, base62 or hex';

CREATE FUNCTION uidgen.uid_to_text(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.uid_to_text(id, 'base32');
COMMENT ON FUNCTION uidgen.uid_to_text(bigint) IS 'an id as text: 13 digits of Crockford''s base 32';

CREATE FUNCTION uidgen.uid_from_text(id text, form text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	other_form CONSTANT text := 'An id is read in the form that it was written in: base32, base58, base62 or hex.';
	f CONSTANT record := uidgen.form(form);
	base CONSTANT integer := length(f.digits);
	-- A text that was copied by hand can have blanks around it.
	given CONSTANT text COLLATE "C" := btrim(id, E' \t\n\r\f');
	good CONSTANT integer := length(substring(given FROM f.good));
	bad CONSTANT text COLLATE "C" := substr(given, good + 1, 1);
	number text COLLATE "C";
	value bigint := 0;
	last integer;
	detail text;
BEGIN
	IF f.name = 'base32' THEN
		number := CASE WHEN bad = '' THEN translate(upper(given), 'ILO-', '110') END;
	ELSE
		number := CASE f.name WHEN 'hex' THEN lower(given) ELSE given END;
	END IF;
	IF bad <> '' THEN
		detail := CASE WHEN bad ~ '^[!-~]$' THEN format('Character "%s" at position %s is no digit of %s.', bad, good + 1, f.name)
			ELSE format('The character at position %s is no digit of %s.', good + 1, f.name) END;
	ELSIF length(number) <> f.length THEN
		detail := format('Digits: %s in the text, %s in each %s id.', length(number), f.length, f.name);
	ELSE
		-- All digits but the last have at most 60 bits.
		FOR i IN 1 .. f.length - 1 LOOP
			value := value * base + strpos(f.digits, substr(number, i, 1)) - 1;
		END LOOP;
		last := strpos(f.digits, right(number, 1)) - 1;
		IF value::numeric * base + last <= 18446744073709551615 THEN
			-- Half of the number cannot overflow into the sign.
			RETURN (value::numeric * base + last - CASE WHEN value::numeric * base + last > 9223372036854775807 THEN 18446744073709551616 ELSE 0 END)::bigint;
		END IF;
		detail := format('The number has more than 64 bits; the largest one is %s.', f.last);
	END IF;
	RAISE EXCEPTION 'invalid % id: "%"', f.name, uidgen.shown(given)
		USING ERRCODE = 'invalid_text_representation', DETAIL = detail, HINT = CASE WHEN bad <> '' THEN f.hint ELSE other_form END;
END
$$;
COMMENT ON FUNCTION uidgen.uid_from_text(text, text) IS 'the id in a text of a form: base32, base58, base62 or hex';

CREATE FUNCTION uidgen.uid_from_text(id text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.uid_from_text(id, 'base32');
COMMENT ON FUNCTION uidgen.uid_from_text(text) IS 'the id in a text of Crockford''s base 32';

CREATE FUNCTION uidgen.check_bits(milliseconds bigint, id bigint) RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Remainders of 0 to 15, times x^10, by the polynomial.
	remainders CONSTANT integer[] := '{0, 563, 597, 102, 665, 170, 204, 767, 769, 306, 340, 871, 408, 939, 973, 510}';
	result integer := 0;
BEGIN
	FOR i IN REVERSE 11 .. 0 LOOP
		result := (result << 4 & 1023) # remainders[((result >> 6) # (milliseconds >> 4 * i & 15)::integer) + 1];
	END LOOP;
	FOR i IN REVERSE 15 .. 0 LOOP
		result := (result << 4 & 1023) # remainders[((result >> 6) # (id >> 4 * i & 15)::integer) + 1];
	END LOOP;
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen.check_bits(bigint, bigint) IS 'the check bits of a uuid: the CRC-10 of its time and id';

CREATE FUNCTION uidgen.to_uuid(l uidgen.parsed, id bigint) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	"time" CONSTANT timestamptz := uidgen.id_time(l, id);
	milliseconds CONSTANT bigint := floor(extract(epoch FROM "time") * 1000);
BEGIN
	IF milliseconds < 0 OR milliseconds >> 48 <> 0 THEN
		RAISE EXCEPTION 'the time in id % has no place in a uuid: %', id, uidgen.time_text("time")
			USING ERRCODE = 'datetime_field_overflow', DETAIL = 'A uuid of version 7 has 48 bits for the milliseconds since 1970; they end in the year 10889.',
				HINT = uidgen.other_layout_hint();
	END IF;
	RETURN lpad(to_hex((milliseconds << 16) | (7 << 12) | (id >> 52 & 4095)), 16, '0')
		|| to_hex((1::bigint << 63) | ((id & uidgen.lowest_bits(52)) << 10) | uidgen.check_bits(milliseconds, id));
END
$$;
COMMENT ON FUNCTION uidgen.to_uuid(uidgen.parsed, bigint) IS 'a uuid of version 7 with the time of an id and the id';

CREATE FUNCTION uidgen.uid_to_uuid(id bigint) RETURNS uuid
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS 'BEGIN RETURN uidgen.to_uuid(uidgen.own(), id); END';
COMMENT ON FUNCTION uidgen.uid_to_uuid(bigint) IS 'a uuid of version 7 with the time of an id and the id';

CREATE FUNCTION uidgen.uid_to_uuid(id bigint, layout text) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN uidgen.to_uuid(uidgen.parsed(layout), id);
COMMENT ON FUNCTION uidgen.uid_to_uuid(bigint, text) IS 'a uuid of version 7 with the time of an id under a layout or preset, and the id';

CREATE FUNCTION uidgen.uid_from_uuid(id uuid) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	digits CONSTANT text := replace(id::text, '-', '');
	first CONSTANT bigint := ('x' || left(digits, 16))::bit(64)::bigint;
	second CONSTANT bigint := ('x' || right(digits, 16))::bit(64)::bigint;
	result CONSTANT bigint := ((first & 4095) << 52) | (second >> 10 & uidgen.lowest_bits(52));
	version CONSTANT bigint := first >> 12 & 15;
	expected CONSTANT integer := uidgen.check_bits(first >> 16 & uidgen.lowest_bits(48), result);
	detail CONSTANT text := CASE
		WHEN (second >> 62 & 3) <> 2 THEN 'Its variant is not RFC 9562''s.'
		WHEN version <> 7 THEN format('Its version is %s; uuids of ids have version 7.', version)
		WHEN (second & 1023) <> expected THEN format('Its check bits are %s; its time and id give %s.', second & 1023, expected) END;
BEGIN
	IF detail IS NOT NULL THEN
		RAISE EXCEPTION 'uuid holds no id: "%"', id
			USING ERRCODE = 'invalid_text_representation', DETAIL = detail, HINT = 'Only uuids that uid_to_uuid() made can be read.';
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen.uid_from_uuid(uuid) IS 'the id in a uuid that uid_to_uuid() made';
