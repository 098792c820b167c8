--
-- Ids
--

-- COPY FROM calls the twins in place of uid_next(): see src/functions/copy.c, also for their
-- cost.  Nobody else can, since SQL has no value of the type internal.
CREATE FUNCTION uidgen.uid_next_in_copy(internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_next_in_copy(internal) IS 'uid_next(), as COPY FROM calls it';

CREATE FUNCTION uidgen.uid_next_in_copy(tag integer, internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_tagged' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_next_in_copy(integer, internal) IS 'uid_next(tag), as COPY FROM calls it';

CREATE FUNCTION uidgen.uid_next_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'uidgen_next_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION uidgen.uid_next_support(internal) IS 'planner support function of uid_next()';

CREATE FUNCTION @extschema@.uid_next() RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_next() IS 'a new unique id, in order of time';

-- Not strict: a null tag is an error, where STRICT would return a null id.
CREATE FUNCTION @extschema@.uid_next(tag integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_tagged' LANGUAGE C VOLATILE PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_next(integer) IS 'a new unique id with a tag of the caller''s';

-- Not strict, either.
CREATE FUNCTION @extschema@.uid_next_after(id bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_after_id' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_next_after(bigint) IS 'a new unique id above this one, which another server may have issued; waits for the clock';

CREATE FUNCTION @extschema@.uid_next_after(id bigint, tag integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_next_after_id' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_next_after(bigint, integer) IS 'a new unique id above this one, with a tag of the caller''s';

CREATE FUNCTION @extschema@.uid_next_batch(n integer, tag integer DEFAULT 0) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'uidgen_next_batch' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.uid_next_batch(integer, integer) IS 'n new ids, increasing';

CREATE FUNCTION @extschema@.uid_reserve(n integer, tag integer DEFAULT 0) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_reserve' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_reserve(integer, integer) IS 'the first of n new ids that are consecutive numbers within one tick; the last is n - 1 above it';

CREATE FUNCTION @extschema@.uid_stamp() RETURNS trigger
AS 'MODULE_PATHNAME', 'uidgen_stamp' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_stamp() IS 'trigger BEFORE INSERT OR UPDATE for each row: the column that is its argument gets a new id';
