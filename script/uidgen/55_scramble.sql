--
-- Numbers for the public: a keyed bijection on the numbers of some width.
--

CREATE FUNCTION @extschema@.uid_scramble(value bigint, key bytea, bits integer DEFAULT 63) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_scramble'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION @extschema@.uid_scramble(bigint, bytea, integer) IS 'the image of a number below 2^bits under a secret key: another such number, which hides how many there are';

CREATE FUNCTION @extschema@.uid_unscramble(value bigint, key bytea, bits integer DEFAULT 63) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_unscramble'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION @extschema@.uid_unscramble(bigint, bytea, integer) IS 'the number whose image under a secret key this is';

--
