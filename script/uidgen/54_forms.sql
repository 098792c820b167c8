--
-- Ids as text and as uuids.  Text is the same for all layouts, a uuid begins with the time.
--

CREATE FUNCTION @extschema@.uid_to_text(id bigint) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_to_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_text(bigint) IS 'an id as text: 13 digits of Crockford''s base 32';

CREATE FUNCTION @extschema@.uid_to_text(id bigint, form text) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_to_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_text(bigint, text) IS 'an id as text in a form: base32, base58, base62 or hex';

CREATE FUNCTION @extschema@.uid_from_text(id text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_from_text(text) IS 'the id in a text of Crockford''s base 32';

CREATE FUNCTION @extschema@.uid_from_text(id text, form text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_from_text(text, text) IS 'the id in a text of a form: base32, base58, base62 or hex';

CREATE FUNCTION @extschema@.uid_to_uuid(id bigint) RETURNS uuid
AS 'MODULE_PATHNAME', 'uidgen_to_uuid' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_uuid(bigint) IS 'a uuid of version 7 with the time of an id and the id';

CREATE FUNCTION @extschema@.uid_to_uuid(id bigint, layout text) RETURNS uuid
AS 'MODULE_PATHNAME', 'uidgen_to_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_to_uuid(bigint, text) IS 'a uuid of version 7 with the time of an id under a layout or preset, and the id';

CREATE FUNCTION @extschema@.uid_from_uuid(id uuid) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_from_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_from_uuid(uuid) IS 'the id in a uuid that uid_to_uuid() made';
