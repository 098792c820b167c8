--
-- What an id says.  Functions without a layout argument use the server's layout.  With
-- one, the result depends on the arguments alone, so those functions are immutable.
--

CREATE FUNCTION @extschema@.uid_parse(id bigint, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
AS 'MODULE_PATHNAME', 'uidgen_parse' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_parse(bigint) IS 'the fields of an id; a field that the layout lacks is null';

CREATE FUNCTION @extschema@.uid_parse(id bigint, layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer)
AS 'MODULE_PATHNAME', 'uidgen_parse' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_parse(bigint, text) IS 'the fields of an id under a layout or preset; a field that the layout lacks is null';

CREATE FUNCTION @extschema@.uid_timestamp(id bigint) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'uidgen_timestamp' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_timestamp(bigint) IS 'the time in an id';

CREATE FUNCTION @extschema@.uid_timestamp(id bigint, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'uidgen_timestamp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_timestamp(bigint, text) IS 'the time in an id under a layout or preset';

CREATE FUNCTION @extschema@.uid_min("timestamp" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_min' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_min(timestamptz) IS 'smallest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION @extschema@.uid_min("timestamp" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_min' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_min(timestamptz, text) IS 'smallest id of a time''s tick, under a layout or preset; if the layout has no such tick, its smallest or largest id';

CREATE FUNCTION @extschema@.uid_max("timestamp" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_max' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_max(timestamptz) IS 'largest id of the tick that a time is in; where the layout has no such tick, its smallest or largest id';

CREATE FUNCTION @extschema@.uid_max("timestamp" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_max' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_max(timestamptz, text) IS 'largest id of a time''s tick, under a layout or preset; if the layout has no such tick, its smallest or largest id';

-- Not strict: a field that the layout lacks is passed as null, as uid_parse() returns it.
CREATE FUNCTION @extschema@.uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer DEFAULT NULL, tag integer DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_make' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_make(timestamptz, integer, integer, integer, integer) IS 'the id with these fields';

CREATE FUNCTION @extschema@.uid_make("timestamp" timestamptz, worker integer, sequence integer,
	datacenter integer, tag integer, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_make' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_make(timestamptz, integer, integer, integer, integer, text) IS 'the id with these fields under a layout or preset';

-- The distance from now is in what they return, so they are stable with a layout, too.
CREATE FUNCTION @extschema@.uid_explain(id bigint) RETURNS SETOF text
AS 'MODULE_PATHNAME', 'uidgen_explain_id' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 25;
COMMENT ON FUNCTION @extschema@.uid_explain(bigint) IS 'an id for people, a row a line: its bits and fields, its age, its forms';

CREATE FUNCTION @extschema@.uid_explain(id bigint, layout text) RETURNS SETOF text
AS 'MODULE_PATHNAME', 'uidgen_explain_id' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 25;
COMMENT ON FUNCTION @extschema@.uid_explain(bigint, text) IS 'an id for people, a row a line, under a layout or preset: its bits and fields, its age, its forms';

CREATE FUNCTION @extschema@.uid_explain(id text) RETURNS SETOF text
AS 'MODULE_PATHNAME', 'uidgen_explain_text' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 25;
COMMENT ON FUNCTION @extschema@.uid_explain(text) IS 'the id in a text of any form, for people, a row a line: its bits and fields, its age, its forms';

CREATE FUNCTION @extschema@.uid_explain(id text, layout text) RETURNS SETOF text
AS 'MODULE_PATHNAME', 'uidgen_explain_text' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 25;
COMMENT ON FUNCTION @extschema@.uid_explain(text, text) IS 'the id in a text of any form, for people, a row a line, under a layout or preset';
