-- Segments: numbers of named counters.
--

CREATE FUNCTION uidgen.uid_segment_next_in_copy(name text, internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_next'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_segment_next_in_copy(text, internal) IS 'uid_segment_next(name), as COPY FROM calls it';

-- Not strict: a null name is an error, where STRICT would return a null number.
CREATE FUNCTION @extschema@.uid_segment_next(name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_next'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_segment_next(text) IS 'the next number of a segment, of those that this server has fetched';

CREATE FUNCTION @extschema@.uid_segment_batch(name text, n integer) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_batch'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.uid_segment_batch(text, integer) IS 'n numbers of a segment, increasing';

CREATE FUNCTION @extschema@.uid_segment_block(name text, n integer, OUT first_number bigint, OUT last_number bigint)
AS 'MODULE_PATHNAME', 'uidgen_segment_block'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_segment_block(text, integer) IS 'n numbers of a segment that are consecutive; only for FROM, since (uid_segment_block(name, n)).* takes a block for each column: uid_segment_reserve() is simpler';

CREATE FUNCTION @extschema@.uid_segment_reserve(name text, n integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_reserve'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_segment_reserve(text, integer) IS 'the first of n numbers of a segment that are consecutive; the last is n - 1 above it';

CREATE FUNCTION uidgen.list_segments(OUT name text, OUT state text, OUT numbers_left bigint, OUT lasts interval,
	OUT rate double precision, OUT step bigint, OUT fetches bigint, OUT fetched bigint, OUT drawn bigint,
	OUT skipped bigint, OUT returned bigint, OUT lost bigint, OUT waits bigint, OUT failures bigint, OUT last_error text,
	OUT gap_lasts interval)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_list_segments'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.list_segments() IS 'the segments that this server has drawn numbers of since it started';
-- [since 0.2.2]
REVOKE EXECUTE ON FUNCTION uidgen.list_segments() FROM PUBLIC;
-- [since 0.2.2]
GRANT EXECUTE ON FUNCTION uidgen.list_segments() TO pg_monitor;
-- It takes the place of segment_status(), with what was granted there.
-- [since 0.2.2]
DO $$
DECLARE
	former CONSTANT regprocedure := to_regprocedure('uidgen.segment_status()');
	g record;
BEGIN
	FOR g IN
		SELECT a.grantee, a.is_grantable FROM pg_proc AS p, aclexplode(p.proacl) AS a WHERE p.oid = former AND a.grantee <> p.proowner
	LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION uidgen.list_segments() TO %s%s',
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
	END LOOP;
END
$$;

CREATE VIEW uidgen.segment_status AS SELECT * FROM uidgen.list_segments();
COMMENT ON VIEW uidgen.segment_status IS 'the segments that this server has drawn numbers of since it started';
-- [since 0.2.0]
GRANT SELECT ON uidgen.segment_status TO pg_monitor;

