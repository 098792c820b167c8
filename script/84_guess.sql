--
-- Of which layouts an id may be.  Two functions in C, given the layouts that this database knows of; and two that
-- look for these.
--

-- Not strict: null stands for the usual times.
CREATE FUNCTION uidgen.rank_layouts(id bigint, since timestamptz, until timestamptz, layouts text[],
	OUT rank integer, OUT layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer, OUT also text[], OUT why text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_guess_of_id'
LANGUAGE C STABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION uidgen.rank_layouts(bigint, timestamptz, timestamptz, text[]) IS 'uid_guess(), given the layouts of this database';

-- Not strict: null stands for the usual times.
CREATE FUNCTION uidgen.rank_layouts(id text, since timestamptz, until timestamptz, layouts text[],
	OUT rank integer, OUT layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer, OUT also text[], OUT why text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_guess_of_text'
LANGUAGE C STABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION uidgen.rank_layouts(text, timestamptz, timestamptz, text[]) IS 'uid_guess(), given the layouts of this database';

CREATE FUNCTION @extschema@.uid_guess(id bigint, since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL,
	OUT rank integer, OUT layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer, OUT also text[], OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	SELECT r.*
		FROM uidgen.rank_layouts($1, $2, $3, ARRAY(SELECT u.layout FROM uidgen.layout_used AS u ORDER BY u.since DESC)) AS r;
END;
COMMENT ON FUNCTION @extschema@.uid_guess(bigint, timestamptz, timestamptz) IS 'the layouts that an id may be of, the likeliest first, and what it says under each';

CREATE FUNCTION @extschema@.uid_guess(id text, since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL,
	OUT rank integer, OUT layout text, OUT id bigint, OUT "timestamp" timestamptz,
	OUT datacenter integer, OUT worker integer, OUT tag integer, OUT sequence integer, OUT also text[], OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	SELECT r.*
		FROM uidgen.rank_layouts($1, $2, $3, ARRAY(SELECT u.layout FROM uidgen.layout_used AS u ORDER BY u.since DESC)) AS r;
END;
COMMENT ON FUNCTION @extschema@.uid_guess(text, timestamptz, timestamptz) IS 'the layouts that the id in a text of any form may be of, the likeliest first, and what it says under each';
