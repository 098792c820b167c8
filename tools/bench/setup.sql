-- What run.pl measures with, beside tables that it makes for each case.
-- :module, :rows, :file (for the bodies of so many rows)

CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_registry;
SELECT count(*) FILTER (WHERE name = 'pgstattuple') > 0 AS has_pgstattuple FROM pg_available_extensions \gset
\if :has_pgstattuple
CREATE EXTENSION pgstattuple;
\endif
SELECT count(*) > 0 AS has_pgedge FROM pg_available_extensions WHERE name = 'snowflake' \gset
\if :has_pgedge
CREATE EXTENSION snowflake;
CREATE SEQUENCE pgedge;
\endif
\ir fmgr_bench.sql

CREATE SEQUENCE cache_1;
CREATE SEQUENCE cache_50 CACHE 50;
CREATE SEQUENCE cache_1000 CACHE 1000;

CREATE TABLE source AS SELECT md5(i::text) AS body FROM generate_series(1, :rows) AS i;
VACUUM ANALYZE source;
COPY source TO :'file';

-- The steps of the first hardly ever make a call wait; those of the other are what create_segment() chooses.
SELECT uidgen_registry.create_segment('large', step => 10000000);
SELECT uidgen_registry.create_segment('usual');

-- Sessions that measure together: each says that it is there, and all begin
-- a little after the last of them.  One that does not come is noticed by its
-- result, which is missing.
CREATE UNLOGGED TABLE arrival (clock bigint);
CREATE UNLOGGED TABLE result (calls bigint);
CREATE FUNCTION bench_start(sessions integer, lead_ns bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	FOR attempt IN 1 .. 6000 LOOP
		EXIT WHEN (SELECT count(*) FROM arrival) = sessions;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN (SELECT max(clock) + lead_ns FROM arrival);
END
$$;
