--
-- Ranges of time, half-open: an id of the tick that a bound is in belongs to what follows
-- the bound.  Null is an open end.
--

-- These two are what uid_between() is made of.  Not strict: an open end is a number, too.
CREATE FUNCTION uidgen.first_since("from" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_first_since' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.first_since(timestamptz) IS 'where a range of ids begins; for null, the smallest bigint';

CREATE FUNCTION uidgen.first_since("from" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_first_since' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.first_since(timestamptz, text) IS 'where a range of ids begins, under a layout or preset; for null, the smallest bigint';

CREATE FUNCTION uidgen.last_before("to" timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_last_before' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.last_before(timestamptz) IS 'where a range of ids ends; for null, the largest bigint';

CREATE FUNCTION uidgen.last_before("to" timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_last_before' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION uidgen.last_before(timestamptz, text) IS 'where a range of ids ends, under a layout or preset; for null, the largest bigint';

-- To be inlined, a function must be neither strict nor have settings, and name each of its
-- arguments once: the planner copies no argument that is a subquery, or volatile.
CREATE FUNCTION @extschema@.uid_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from") AND id <= uidgen.last_before("to");
COMMENT ON FUNCTION @extschema@.uid_between(bigint, timestamptz, timestamptz) IS 'is the time of an id in a half-open range?';

CREATE FUNCTION @extschema@.uid_between(id bigint, "from" timestamptz, "to" timestamptz, layout text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= uidgen.first_since("from", layout) AND id <= uidgen.last_before("to", layout);
COMMENT ON FUNCTION @extschema@.uid_between(bigint, timestamptz, timestamptz, text) IS 'is the time of an id in a half-open range, under a layout or preset?';

CREATE FUNCTION @extschema@.uid_range("from" timestamptz, "to" timestamptz) RETURNS int8range
AS 'MODULE_PATHNAME', 'uidgen_range' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_range(timestamptz, timestamptz) IS 'the ids of a half-open range of time';

CREATE FUNCTION @extschema@.uid_range("from" timestamptz, "to" timestamptz, layout text) RETURNS int8range
AS 'MODULE_PATHNAME', 'uidgen_range' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.uid_range(timestamptz, timestamptz, text) IS 'the ids of a half-open range of time, under a layout or preset';
