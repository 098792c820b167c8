-- COPY FROM collects rows although a default issues ids, and nothing else changes.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set three_rows 'FROM PROGRAM ''seq 3'''

-- Says for each new row how many rows of its table are stored by then: rows that COPY has
-- collected are not.
CREATE FUNCTION look(target regclass) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	stored bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s', target) INTO stored;
	RAISE NOTICE '% stored', stored;
	RETURN true;
END
$$;
CREATE TABLE target (id bigint, n integer);
ALTER TABLE target ADD CHECK (look('target'));

-- With a volatile default rows are stored one by one, with uid_next() they are not.
ALTER TABLE target ALTER id SET DEFAULT (random() * 1000)::bigint;
COPY target (n) :three_rows;
TRUNCATE target;
ALTER TABLE target ALTER id SET DEFAULT uid_next();
SELECT uid_next() AS before \gset
COPY target (n) :three_rows;
COPY target (n) FROM stdin;
4
5
\.
SELECT n, id > lag(id, 1, :before::bigint) OVER (ORDER BY n) AS increasing FROM target ORDER BY n;
TRUNCATE target;

-- Nobody can call the twin by its name.
-- By what error depends on the minor release.
CREATE FUNCTION refuses(statement text) RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
	EXECUTE statement;
	RETURN false;
EXCEPTION
	WHEN internal_error THEN
		RAISE;
	WHEN OTHERS THEN
		RETURN true;
END
$$;
SELECT refuses(statement), statement
	FROM (VALUES
		(1, 'SELECT uidgen.uid_next_in_copy()'),
		(2, 'SELECT uidgen.uid_next_in_copy(NULL)'),
		(3, $$SELECT uidgen.uid_next_in_copy('')$$),
		(4, 'SELECT uidgen.uid_next_in_copy(NULL::internal)'),
		(5, 'SELECT uidgen.uid_next_in_copy(1, NULL)'),
		(6, 'SELECT uidgen.uid_next_in_copy(1, 1::bigint)'),
		(7, $$SELECT uidgen.uid_next_in_copy(VARIADIC '{}'::internal[])$$),
		(8, 'PREPARE twin (internal) AS SELECT uidgen.uid_next_in_copy($1); EXECUTE twin(NULL)'),
		(9, 'ALTER TABLE target ALTER id SET DEFAULT uidgen.uid_next_in_copy(NULL)'),
		(10, $$CREATE FUNCTION twin(internal) RETURNS bigint LANGUAGE sql AS 'SELECT uidgen.uid_next_in_copy($1)'$$),
		(11, 'CREATE CAST (internal AS bigint) WITH FUNCTION uidgen.uid_next_in_copy(internal)'),
		(12, 'SELECT uidgen.uid_next_support(NULL)')) AS s (number, statement)
	ORDER BY number;
DROP FUNCTION refuses(text);

-- Defaults that contain a call: with a tag, in an expression, in an SQL function, of a
-- domain.  What a function of another language does is not known to the planner.
CREATE DOMAIN id AS bigint DEFAULT uid_next();
CREATE FUNCTION numbered() RETURNS text LANGUAGE sql AS $$ SELECT 'number ' || uid_next() $$;
CREATE FUNCTION slow_id() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN uid_next(); END';
CREATE TABLE various (n integer, tagged bigint DEFAULT uid_next(0), named bigint DEFAULT uid_next(tag => 0),
	text text DEFAULT uid_to_text(uid_next()), two text DEFAULT uid_next() || ' ' || uid_next(), sql text DEFAULT numbered(),
	domain id, CHECK (look('various')));
COPY various (n) :three_rows;
SELECT count(DISTINCT id) AS ids, min(id::bigint) > :before AS later
FROM various, unnest(ARRAY[tagged::text, named::text, uid_from_text(text)::text, substring(sql, '\d+'), domain::text] ||
	string_to_array(two, ' ')) AS id;
TRUNCATE various;
ALTER TABLE various ALTER tagged SET DEFAULT slow_id();
COPY various (n) :three_rows;
ALTER TABLE various ALTER tagged SET DEFAULT uid_next((random() * 0)::integer);
COPY various (n) :three_rows;
ALTER TABLE various ALTER tagged SET DEFAULT uid_next(-1);
COPY various (n) :three_rows;
ALTER TABLE various ALTER tagged SET DEFAULT uid_next(NULL);
COPY various (n) :three_rows;
DROP TABLE various;

-- An argument that an SQL function uses twice is one call, however little a call may cost.
CREATE FUNCTION pair(bigint) RETURNS bigint[] LANGUAGE sql AS 'SELECT ARRAY[$1, $1]';
CREATE TABLE pairs (n integer, pair bigint[] DEFAULT pair(uid_next()), tagged bigint[] DEFAULT pair(uid_next(0)));
COPY pairs (n) :three_rows;
SET cpu_operator_cost = 0;
COPY pairs (n) :three_rows;
SET cpu_operator_cost = '1e308';
COPY pairs (n) :three_rows;
RESET cpu_operator_cost;
SELECT count(*) FILTER (WHERE pair[1] = pair[2]) AS pairs, count(*) FILTER (WHERE tagged[1] = tagged[2]) AS tagged FROM pairs;
DROP TABLE pairs;

-- Where a stable call would give all rows one id, calls are not replaced: outside of COPY,
-- and in statements that run inside of it, whatever became of statements before them.
CREATE TABLE filled AS SELECT generate_series(1, 3) AS n;
CREATE FUNCTION alter_filled(place text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE filled DROP COLUMN IF EXISTS added, DROP COLUMN IF EXISTS changed;
	ALTER TABLE filled ADD added bigint DEFAULT uid_next(), ADD changed text;
	ALTER TABLE filled ALTER changed TYPE bigint USING uid_next();
	CREATE TEMP TABLE created AS SELECT uid_next() AS id FROM generate_series(1, 3);
	RAISE NOTICE '%: % ids', place, (SELECT count(DISTINCT id)
		FROM (SELECT added FROM filled UNION ALL SELECT changed FROM filled UNION ALL SELECT id FROM created) AS ids (id));
	DROP TABLE created;
	RETURN true;
END
$$;
SELECT alter_filled('outside');
CREATE FUNCTION copy_inside() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM alter_filled('inside');
	COPY target (n) FROM PROGRAM 'seq 3';
	PERFORM alter_filled('after COPY');
	BEGIN
		COPY target (n) FROM PROGRAM 'echo none';
	EXCEPTION WHEN invalid_text_representation THEN
		PERFORM alter_filled('after a failure of COPY');
	END;
	RETURN NULL;
END
$$;
CREATE TABLE outer_target (id bigint DEFAULT uid_next(), n integer);
CREATE TRIGGER inside BEFORE INSERT ON outer_target EXECUTE FUNCTION copy_inside();
COPY outer_target (n) :three_rows;
SELECT count(DISTINCT id) FROM target;
TRUNCATE target;
-- COPY TO and what it runs
COPY (INSERT INTO outer_target (n) SELECT 4 WHERE alter_filled('inside of COPY TO') RETURNING n) TO stdout;
DROP TRIGGER inside ON outer_target;
-- After a failure
TRUNCATE outer_target;
ALTER TABLE outer_target ADD CHECK (n < 3);
COPY outer_target (n) :three_rows;
SELECT alter_filled('after a failure');
DROP TABLE outer_target, filled;

-- COPY leaves nothing behind: an INSERT after it plans its table's CHECK as before.
CREATE TABLE checked_target (id bigint DEFAULT uid_next(), n integer CHECK (uid_next() > n));
CREATE FUNCTION calls(OUT original bigint, OUT twin bigint)
RETURN (coalesce(pg_stat_get_xact_function_calls('uid_next()'::regprocedure), 0),
	coalesce(pg_stat_get_xact_function_calls('uidgen.uid_next_in_copy(internal)'::regprocedure), 0));
-- Queries that run inside of it are planned as before, too.
CREATE FUNCTION draw_three() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN PERFORM count(uid_next()) FROM generate_series(1, 3); RETURN NULL; END';
CREATE TRIGGER draw AFTER INSERT ON checked_target EXECUTE FUNCTION draw_three();
BEGIN;
SET LOCAL track_functions = 'all';
COPY checked_target (n) :three_rows;
SELECT * FROM calls();
INSERT INTO checked_target VALUES (1, 1);
SELECT * FROM calls();
SAVEPOINT failure;
COPY checked_target (n) FROM PROGRAM 'echo none';
ROLLBACK TO failure;
INSERT INTO checked_target VALUES (1, 1);
SELECT * FROM calls();
COMMIT;
DROP TABLE checked_target;

-- A domain's CHECK that COPY was the first to plan is kept for the session.
CREATE TABLE issued (id bigint UNIQUE);
CREATE FUNCTION note_id(id bigint) RETURNS boolean LANGUAGE sql AS 'INSERT INTO issued VALUES (id) RETURNING true';
CREATE DOMAIN checked AS integer CHECK (note_id(uid_next()));
CREATE TABLE with_domain (n checked);
COPY with_domain :three_rows;
ALTER TABLE with_domain ADD id bigint DEFAULT uid_next();
INSERT INTO with_domain SELECT generate_series(4, 6);
SELECT generate_series(7, 9)::checked;
SELECT (SELECT count(*) FROM issued) AS in_checks, count(DISTINCT id) AS in_rows FROM with_domain;
DROP TABLE with_domain;

-- Conditions of COPY, of the table and of its triggers are evaluated for each row.
TRUNCATE issued;
CREATE FUNCTION do_nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER row_by_row AFTER INSERT ON target FOR EACH ROW WHEN (note_id(uid_next())) EXECUTE FUNCTION do_nothing();
ALTER TABLE target ADD CONSTRAINT noted CHECK (note_id(uid_next()));
COPY target (n) :three_rows WHERE note_id(uid_next()) AND n > 1;
SELECT count(*) FROM issued;
ALTER TABLE target DROP CONSTRAINT noted;
DROP TRIGGER row_by_row ON target;
TRUNCATE target;
COPY target (n) :three_rows WHERE uid_next() % 2 >= 0;

-- FREEZE, generated columns, partitions
BEGIN;
TRUNCATE target;
COPY target (n) :three_rows FREEZE;
COMMIT;
SELECT count(DISTINCT id) FROM target;
CREATE TABLE parted (id bigint DEFAULT uid_next(), n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED,
	CHECK (look('parted'))) PARTITION BY RANGE (id);
SELECT uid_min(now() - interval '1 day') AS early, uid_max('infinity') AS late \gset
CREATE TABLE parted_now PARTITION OF parted FOR VALUES FROM (:early) TO (:late);
COPY parted (n) :three_rows;
SELECT count(DISTINCT id), sum(twice) FROM parted;
DROP TABLE parted;

-- An option of 16 and one of 17; before, there is nothing to see.
\set columns (n)
\set default_option :three_rows
\set both_options :three_rows
SELECT current_setting('server_version_num')::integer >= 160000 AS has_default,
	current_setting('server_version_num')::integer >= 170000 AS has_on_error \gset
\if :has_default
\set columns
\set default_option 'FROM PROGRAM ''printf "1,D\\\\n2,D\\\\n3,D\\\\n"'' (FORMAT csv, DEFAULT ''D'')'
\set both_options :default_option
\endif
\if :has_on_error
\set both_options 'FROM PROGRAM ''printf "1,D\\\\nx,D\\\\n2,D\\\\n3,D\\\\n"'' (FORMAT csv, DEFAULT ''D'', ON_ERROR ignore)'
\endif
CREATE TABLE optional (n integer, id bigint DEFAULT uid_next(), CHECK (look('optional')));
COPY optional :columns :default_option;
SET client_min_messages = warning;
COPY optional :columns :both_options;
RESET client_min_messages;
SELECT count(DISTINCT id) FROM optional;
DROP TABLE optional;

-- Plans that are kept are not those of COPY.
CREATE FUNCTION load() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	COPY target (n) FROM PROGRAM 'seq 3';
	INSERT INTO target (n) SELECT generate_series(4, 6);
	RETURN count(DISTINCT id) FROM target;
END
$$;
ALTER TABLE target DROP CONSTRAINT target_check;
PREPARE add AS INSERT INTO target (n) SELECT generate_series(7, 9);
SET plan_cache_mode = force_generic_plan;
SELECT load();
EXECUTE add;
SELECT load();
EXECUTE add;
SELECT count(DISTINCT id) FROM target;
RESET plan_cache_mode;
TRUNCATE target;
ALTER TABLE target ADD CHECK (look('target'));

-- What was changed of the function counts in COPY, too, and so do privileges.
ALTER FUNCTION uid_next() SET timezone = 'UTC';
COPY target (n) :three_rows;
ALTER FUNCTION uid_next() RESET ALL SECURITY DEFINER;
TRUNCATE target;
COPY target (n) :three_rows;
ALTER FUNCTION uid_next() SECURITY INVOKER;
CREATE ROLE regress_uidgen_loader;
GRANT ALL ON target TO regress_uidgen_loader;
REVOKE USAGE ON SCHEMA uidgen FROM PUBLIC;
TRUNCATE target;
SET ROLE regress_uidgen_loader;
COPY target (n) FROM stdin;
1
2
\.
RESET ROLE;
GRANT USAGE ON SCHEMA uidgen TO PUBLIC;
TRUNCATE target;
REVOKE EXECUTE ON FUNCTION uidgen.uid_next_in_copy(internal) FROM PUBLIC;
SET ROLE regress_uidgen_loader;
COPY target (n) FROM stdin;
1
2
\.
RESET ROLE;
GRANT EXECUTE ON FUNCTION uidgen.uid_next_in_copy(internal) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION uid_next() FROM PUBLIC;
SET ROLE regress_uidgen_loader;
\copy target (n) FROM /dev/null
RESET ROLE;
GRANT EXECUTE ON FUNCTION uid_next() TO PUBLIC;
DROP TABLE target;
DROP ROLE regress_uidgen_loader;
