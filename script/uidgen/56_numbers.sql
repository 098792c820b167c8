-- Segments: numbers of named counters.
--

CREATE FUNCTION uidgen.uid_segment_next_in_copy(name text, internal) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_next' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION uidgen.uid_segment_next_in_copy(text, internal) IS 'uid_segment_next(name), as COPY FROM calls it';

-- Not strict: a null name is an error, where STRICT would return a null number.
CREATE FUNCTION @extschema@.uid_segment_next(name text) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_next' LANGUAGE C VOLATILE PARALLEL RESTRICTED
SUPPORT uidgen.uid_next_support;
COMMENT ON FUNCTION @extschema@.uid_segment_next(text) IS 'the next number of a segment, of those that this server has fetched';

CREATE FUNCTION @extschema@.uid_segment_batch(name text, n integer) RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_batch' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.uid_segment_batch(text, integer) IS 'n numbers of a segment, increasing';

CREATE FUNCTION @extschema@.uid_segment_reserve(name text, n integer) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_segment_reserve' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_segment_reserve(text, integer) IS 'the first of n numbers of a segment that are consecutive; the last is n - 1 above it';

CREATE FUNCTION uidgen.list_segments(OUT name text, OUT state text, OUT numbers_left bigint, OUT lasts interval,
	OUT rate double precision, OUT step bigint, OUT fetches bigint, OUT fetched bigint, OUT drawn bigint,
	OUT skipped bigint, OUT returned bigint, OUT lost bigint, OUT waits bigint, OUT failures bigint, OUT last_error text,
	OUT gap_lasts interval)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_list_segments' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.list_segments() IS 'the segments that this server has drawn numbers of since it started';

CREATE VIEW uidgen.segment_status AS SELECT * FROM uidgen.list_segments();
COMMENT ON VIEW uidgen.segment_status IS 'the segments that this server has drawn numbers of since it started';
COMMENT ON COLUMN uidgen.segment_status.name IS 'the segment';
COMMENT ON COLUMN uidgen.segment_status.state IS 'ready; idle: the next call fetches; failing: the last fetch failed; last numbers: no more left; used up; no such segment';
COMMENT ON COLUMN uidgen.segment_status.numbers_left IS 'numbers in memory';
COMMENT ON COLUMN uidgen.segment_status.lasts IS 'how long they last at the present rate';
COMMENT ON COLUMN uidgen.segment_status.rate IS 'numbers a second, since the last range was fetched';
COMMENT ON COLUMN uidgen.segment_status.step IS 'how many numbers are fetched the next time';
COMMENT ON COLUMN uidgen.segment_status.fetches IS 'ranges that were fetched';
COMMENT ON COLUMN uidgen.segment_status.fetched IS 'numbers in the ranges that were fetched';
COMMENT ON COLUMN uidgen.segment_status.drawn IS 'numbers that calls have returned';
COMMENT ON COLUMN uidgen.segment_status.skipped IS 'numbers that calls have passed over, mostly because a block was longer than the rest of a range';
COMMENT ON COLUMN uidgen.segment_status.returned IS 'numbers that were handed back to the registry';
COMMENT ON COLUMN uidgen.segment_status.lost IS 'numbers that were thrown away: the registry was changed, the segment began anew, or they could not be handed back';
COMMENT ON COLUMN uidgen.segment_status.waits IS 'calls that waited for numbers. The first call does; if the count goes on growing, raise the segment''s step or max_step';
COMMENT ON COLUMN uidgen.segment_status.failures IS 'attempts to fetch that failed';
COMMENT ON COLUMN uidgen.segment_status.last_error IS 'why the last attempt failed; null if it did not';
COMMENT ON COLUMN uidgen.segment_status.gap_lasts IS 'how long failover_gap covers what all servers fetch: a failover must not lose more time; null: no gap, or not known';
