--
-- Numbers for the public: a keyed bijection on the numbers of some width.
--
-- A number that counts tells everybody how many there are.  uid_scramble() maps the numbers from 0 to 2^bits - 1 onto
-- themselves.  Images look random without the key, and are as unique as the numbers.  The map never changes, because
-- images are stored and printed.  It is a Feistel network of 8 rounds over HMAC-SHA256.  Its definition, for clients:
--
-- The low half of a number is its lower (bits + 1) / 2 bits, the high half is the rest.  Round 0, 2, 4 and 6 change the
-- high half, round 1, 3, 5 and 7 the low half, by exclusive or with the low bits of F(other half).  F is the first 4
-- bytes, as a big-endian number, of the HMAC-SHA256 with the key over 23 bytes: "uidgen scramble 1" in ASCII, bits as
-- 1 byte, the round as 1 byte, the other half as 4 bytes, big-endian.  The halves are not swapped, so a round is its own
-- inverse, and the rounds from 7 to 0 undo the map.
--
-- No two maps of a key share a message.  HMAC pads a key with zeros to 64 bytes, and takes the hash of a longer key.
--

CREATE FUNCTION uidgen_tools.scramble(value bigint, key bytea, bits integer, backwards boolean) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hex CONSTANT text := rpad(encode(CASE WHEN length(key) > 64 THEN sha256(key) ELSE key END, 'hex'), 128, '0');
	inner_key bytea := '';
	outer_key bytea := '';
	largest bigint;
	low_bits integer;
	low_mask bigint;
	word bigint;
	round integer;
	f bigint;
BEGIN
	IF bits NOT BETWEEN 2 AND 63 THEN
		RAISE EXCEPTION 'bits is out of range: %', bits USING ERRCODE = 'invalid_parameter_value', DETAIL = 'Numbers have 2 to 63 bits.',
				HINT = 'Leave bits out, for numbers that are hard to guess, or give 33 for numbers of at most 10 digits.';
	END IF;
	IF length(key) < 16 THEN
		RAISE EXCEPTION 'the key is too short' USING ERRCODE = 'invalid_parameter_value', DETAIL = format('It has %s bytes, and needs 16 at least.', length(key)),
				HINT = 'Make a random key once and keep it: uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), or gen_random_bytes(32) of pgcrypto.';
	END IF;
	largest := 9223372036854775807 >> (63 - bits);
	IF value NOT BETWEEN 0 AND largest THEN
		RAISE EXCEPTION 'number % is out of range', value USING ERRCODE = 'numeric_value_out_of_range', DETAIL = format('Numbers of %s bits are 0 to %s.', bits, largest),
				HINT = CASE WHEN value < 0 THEN 'Take numbers that count up from 0 or 1, such as values of a sequence.'
					ELSE 'Give as many bits as the largest number will ever need; uid_unscramble() needs the same bits as uid_scramble() was given.' END;
	END IF;

	-- The pads of HMAC: each byte of the key with 0x36, and with 0x5c.
	FOR i IN 0 .. 7 LOOP
		word := ('x' || substr(hex, 16 * i + 1, 16))::bit(64)::bigint;
		inner_key := inner_key || int8send(word # 3906369333256140342);
		outer_key := outer_key || int8send(word # 6655295901103053916);
	END LOOP;
	inner_key := inner_key || 'uidgen scramble 1' || substr(int4send(bits), 4);
	low_bits := (bits + 1) / 2;
	low_mask := (1::bigint << low_bits) - 1;
	FOREACH round IN ARRAY CASE WHEN backwards THEN '{7, 6, 5, 4, 3, 2, 1, 0}' ELSE '{0, 1, 2, 3, 4, 5, 6, 7}'::integer[] END LOOP
		f := ('x' || encode(substr(sha256(outer_key || sha256(inner_key || substr(int4send(round), 4)
			|| substr(int8send(CASE WHEN round % 2 = 0 THEN value & low_mask ELSE value >> low_bits END), 5))), 1, 4), 'hex'))::bit(32)::bigint;
		value := value # CASE WHEN round % 2 = 0 THEN f << low_bits & largest ELSE f & low_mask END;
	END LOOP;
	RETURN value;
END
$$;
COMMENT ON FUNCTION uidgen_tools.scramble(bigint, bytea, integer, boolean) IS 'the map of uid_scramble(), or backwards of uid_unscramble()';

CREATE FUNCTION @extschema@.uid_scramble(value bigint, key bytea, bits integer DEFAULT 63) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
RETURN uidgen_tools.scramble(value, key, bits, false);
COMMENT ON FUNCTION @extschema@.uid_scramble(bigint, bytea, integer) IS 'the image of a number below 2^bits under a secret key: another such number, which hides how many there are';

CREATE FUNCTION @extschema@.uid_unscramble(value bigint, key bytea, bits integer DEFAULT 63) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
RETURN uidgen_tools.scramble(value, key, bits, true);
COMMENT ON FUNCTION @extschema@.uid_unscramble(bigint, bytea, integer) IS 'the number whose image under a secret key this is';
