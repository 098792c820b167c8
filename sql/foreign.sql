-- uid_horizon() is not compared with a column of a foreign table, in whatever form a query says so; what has nothing to do with such a column
-- is planned. The wrapper of the foreign tables has no handler: a query that is not refused ends with the error that says so. But some queries do so
-- before they can be refused: test/t/horizon_recipes.pl runs all with a real one, whose name it gives.

\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA far;
SET search_path = far, public;
\if :{?wrapper}
\else
\set wrapper far_wrapper
CREATE FOREIGN DATA WRAPPER far_wrapper;
\endif
SELECT :'wrapper' <> 'far_wrapper' AS is_real \gset
CREATE SERVER far_server FOREIGN DATA WRAPPER :wrapper;
CREATE FOREIGN TABLE remote (id bigint, who text) SERVER far_server;
CREATE TABLE here (id bigint PRIMARY KEY, who text, gone text);
ALTER TABLE here DROP gone;
CREATE TABLE place (last bigint);
CREATE VIEW remote_view AS SELECT who, id FROM remote;
CREATE VIEW remote_barrier WITH (security_barrier) AS SELECT * FROM remote WHERE who <> 'x';
CREATE VIEW both_views AS SELECT id FROM here UNION ALL SELECT id FROM remote;
CREATE TABLE mixed (id bigint, who text) PARTITION BY RANGE (id);
CREATE TABLE mixed_here PARTITION OF mixed FOR VALUES FROM (0) TO (10);
CREATE TABLE mixed_more PARTITION OF mixed FOR VALUES FROM (10) TO (90) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE mixed_remote PARTITION OF mixed_more FOR VALUES FROM (10) TO (20) SERVER far_server;
CREATE TABLE local (id bigint, who text) PARTITION BY RANGE (id);
CREATE TABLE local_1 PARTITION OF local FOR VALUES FROM (0) TO (10);
CREATE TABLE local_2 PARTITION OF local FOR VALUES FROM (10) TO (20);
CREATE TABLE parent (id bigint, who text);
CREATE FOREIGN TABLE child () INHERITS (parent) SERVER far_server;
CREATE TYPE pair AS (id bigint, h bigint);
CREATE FUNCTION in_sql(bigint) RETURNS SETOF bigint STABLE BEGIN ATOMIC SELECT id FROM remote WHERE id > $1 AND id <= uid_horizon(); END;

CREATE TABLE query (n integer GENERATED ALWAYS AS IDENTITY, query text);
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'EXPLAIN ' || query;
	RETURN 'planned';
EXCEPTION
	WHEN feature_not_supported THEN
		RETURN CASE WHEN SQLERRM LIKE 'uid_horizon() cannot be compared with a column of %table "%' THEN 'refused' ELSE SQLERRM END;
	WHEN object_not_in_prerequisite_state THEN
		RETURN CASE WHEN SQLERRM LIKE 'foreign-data wrapper % has no handler' THEN 'planned' ELSE SQLERRM END;
END
$$;

\echo 'Refused:'
INSERT INTO query (query) VALUES
	('SELECT * FROM remote WHERE id <= uid_horizon()'),
	('SELECT * FROM remote WHERE uid_horizon() >= id AND who = ''x'''),
	('SELECT * FROM remote AS r WHERE (r).id <= uid_horizon()'),
	('SELECT * FROM remote WHERE NOT (id > uid_horizon() OR who IS NULL)'),
	('SELECT * FROM remote WHERE id <= (SELECT uid_horizon())'),
	('SELECT * FROM remote WHERE id <= (SELECT h FROM (SELECT uid_horizon() AS h OFFSET 0) AS s)'),
	('WITH h AS (SELECT uid_horizon() AS h) SELECT r.* FROM remote AS r, h WHERE r.id <= h.h'),
	('WITH h AS MATERIALIZED (SELECT uid_horizon() AS h) SELECT r.* FROM remote AS r, h WHERE r.id <= h.h'),
	('WITH h AS MATERIALIZED (SELECT uid_horizon() AS h) SELECT * FROM remote WHERE id <= (SELECT h FROM h)'),
	('WITH h AS MATERIALIZED (SELECT uid_horizon() AS h) SELECT * FROM here WHERE EXISTS (SELECT FROM remote AS r, h WHERE r.id = here.id AND r.id <= h.h OFFSET 0)'),
	('SELECT * FROM remote, uid_horizon() AS h WHERE id <= h'),
	('SELECT * FROM remote WHERE id BETWEEN 5 AND uid_horizon()'),
	('SELECT * FROM remote WHERE id <= least(uid_horizon(), 5)'),
	('SELECT * FROM remote WHERE coalesce(id, 0) <= coalesce(uid_horizon(), 0)'),
	('SELECT * FROM remote WHERE id::numeric + 1 <= uid_horizon()'),
	('SELECT * FROM remote WHERE id <@ int8range(0, uid_horizon())'),
	('SELECT * FROM remote WHERE id = ANY (ARRAY[1, uid_horizon()])'),
	('SELECT * FROM remote WHERE (id, who) < (uid_horizon(), ''x'')'),
	('SELECT * FROM remote_view WHERE id <= uid_horizon()'),
	('SELECT * FROM remote_barrier WHERE id <= uid_horizon()'),
	('SELECT * FROM both_views WHERE id <= uid_horizon()'),
	('SELECT * FROM (SELECT id FROM remote UNION SELECT id FROM here) AS x WHERE id <= uid_horizon()'),
	('SELECT * FROM (SELECT id FROM here EXCEPT (SELECT 1 UNION SELECT id FROM remote)) AS x WHERE id <= uid_horizon()'),
	('SELECT id FROM here UNION ALL SELECT id FROM remote WHERE id <= uid_horizon()'),
	('SELECT * FROM mixed WHERE id <= uid_horizon()'),
	('SELECT * FROM mixed WHERE id <= (SELECT uid_horizon())'),
	('SELECT * FROM mixed_more WHERE id <= uid_horizon()'),
	('SELECT * FROM mixed_remote WHERE id <= uid_horizon()'),
	('SELECT * FROM parent WHERE id <= uid_horizon()'),
	('SELECT * FROM remote JOIN here USING (id) WHERE id <= uid_horizon()'),
	('SELECT * FROM here FULL JOIN remote USING (id) WHERE id <= uid_horizon()'),
	('SELECT * FROM here LEFT JOIN remote AS r ON r.id = here.id AND r.id <= uid_horizon()'),
	('SELECT * FROM here LEFT JOIN (SELECT id, 1 AS one FROM remote) AS r ON r.id = here.id WHERE r.id + r.one <= uid_horizon()'),
	('SELECT * FROM here CROSS JOIN LATERAL (SELECT * FROM remote WHERE id <= uid_horizon() LIMIT 1) AS x'),
	('SELECT * FROM (SELECT uid_horizon() AS h OFFSET 0) AS s CROSS JOIN LATERAL (SELECT * FROM remote WHERE id <= s.h LIMIT 1) AS x'),
	('SELECT * FROM remote AS r WHERE EXISTS (SELECT FROM here WHERE here.who = r.who AND r.id <= uid_horizon() OFFSET 0)'),
	('SELECT * FROM here WHERE EXISTS (SELECT FROM remote AS r WHERE r.id = here.id AND r.id <= uid_horizon())'),
	('SELECT * FROM here WHERE id IN (SELECT id FROM remote WHERE id <= uid_horizon())'),
	('SELECT id <= uid_horizon() AS final FROM remote'),
	('SELECT count(*) FILTER (WHERE id <= uid_horizon()) FROM remote'),
	('SELECT who FROM remote GROUP BY who HAVING max(id) <= uid_horizon()'),
	('SELECT id FROM remote GROUP BY id HAVING id <= uid_horizon()'),
	('SELECT id <= uid_horizon() AS final, count(*) FROM remote GROUP BY 1'),
	('SELECT * FROM (SELECT id, count(*) FROM remote GROUP BY id, who) AS x WHERE id <= uid_horizon()'),
	('SELECT * FROM remote ORDER BY id <= uid_horizon(), id'),
	('SELECT * FROM in_sql(5)'),
	('INSERT INTO here SELECT * FROM remote WHERE id <= uid_horizon()'),
	('DELETE FROM remote WHERE id <= uid_horizon()'),
	('UPDATE mixed SET who = ''x'' WHERE id <= uid_horizon()'),
	('CREATE TABLE copied AS SELECT * FROM remote WHERE id <= uid_horizon()'),
	('DECLARE c CURSOR FOR SELECT * FROM remote WHERE id <= uid_horizon()');
SELECT count(*) FROM query;
\if :is_real
INSERT INTO query (query) VALUES
	('WITH r AS MATERIALIZED (SELECT * FROM remote) SELECT * FROM r WHERE id <= uid_horizon()'),
	('SELECT * FROM remote, (SELECT uid_horizon() AS h OFFSET 0) AS s WHERE id <= s.h'),
	('SELECT * FROM (here JOIN (remote AS r (n, who) CROSS JOIN place) USING (who)) AS j WHERE (SELECT uid_horizon()) < coalesce(j.n, j.last)'),
	('UPDATE here SET who = r.who FROM remote AS r WHERE r.id = here.id AND r.id <= uid_horizon()'),
	('DELETE FROM here USING remote AS r WHERE r.id = here.id AND r.id <= uid_horizon()'),
	('MERGE INTO here USING (SELECT * FROM remote WHERE id <= uid_horizon()) AS r ON here.id = r.id WHEN MATCHED THEN DELETE'),
	('MERGE INTO here USING remote AS r ON here.id = r.id AND r.id <= uid_horizon() WHEN NOT MATCHED THEN INSERT VALUES (r.id, r.who)'),
	('MERGE INTO here USING remote AS r ON here.id = r.id WHEN MATCHED AND r.id <= uid_horizon() THEN DELETE'),
	('WITH d AS (DELETE FROM remote RETURNING id) SELECT * FROM d WHERE id <= uid_horizon()'),
	('WITH RECURSIVE c (id) AS (SELECT id FROM remote UNION ALL SELECT id + 1 FROM c WHERE id < 5) SELECT * FROM c WHERE id <= uid_horizon()');
\endif
SELECT n, query, outcome(query) FROM query WHERE outcome(query) <> 'refused' ORDER BY n;
TRUNCATE query;

\echo 'Not refused:'
INSERT INTO query (query) VALUES
	('SELECT * FROM here WHERE id <= uid_horizon()'),
	('SELECT * FROM local WHERE id > 5 AND id <= uid_horizon()'),
	('SELECT * FROM ONLY parent WHERE id <= uid_horizon()'),
	('SELECT * FROM here JOIN remote USING (who) WHERE here.id <= uid_horizon()'),
	('SELECT * FROM here JOIN remote AS r USING (id) WHERE here.id <= uid_horizon()'),
	('SELECT * FROM here AS h, remote AS r WHERE h.id = r.id AND h.id <= uid_horizon() AND r.id > 5'),
	('SELECT * FROM remote WHERE id > (SELECT max(id) FROM here WHERE id <= uid_horizon())'),
	('DELETE FROM remote WHERE id <= (SELECT last FROM place WHERE last <= uid_horizon())'),
	('SELECT * FROM remote WHERE EXISTS (SELECT FROM here WHERE here.who = remote.who AND here.id <= uid_horizon())'),
	('SELECT r.id FROM remote AS r, LATERAL (SELECT h.id FROM here AS h WHERE h.who = r.who AND h.id <= uid_horizon() LIMIT 1) AS x WHERE x.id < r.id'),
	('SELECT * FROM remote AS r WHERE EXISTS (SELECT FROM here AS h, LATERAL (SELECT FROM uid_horizon() AS f WHERE h.id <= f) AS x WHERE h.who = r.who)'),
	('SELECT (SELECT count(*) FROM remote), * FROM here WHERE id <= uid_horizon()'),
	('SELECT id - uid_horizon() AS lag FROM remote'),
	('INSERT INTO remote SELECT id, who FROM here WHERE id <= uid_horizon()'),
	('SELECT * FROM remote WHERE id <= uid_next()');
SELECT n, query, outcome(query) FROM query ORDER BY n;
TRUNCATE query;

-- In PL/pgSQL.  A variable is seen by nobody.
DO $$ BEGIN PERFORM FROM remote WHERE id <= uid_horizon(); END $$;
DO $$ DECLARE h bigint := uid_horizon(); BEGIN PERFORM FROM remote WHERE id <= h; END $$;
PREPARE later AS SELECT * FROM local WHERE id <= uid_horizon();
EXECUTE later;

-- What becomes a parent of a foreign table, and what is none any more, is noticed: also two levels above, and in a plan that was kept.
SELECT outcome('SELECT * FROM parent WHERE id <= uid_horizon()');
ALTER FOREIGN TABLE child NO INHERIT parent;
SELECT outcome('SELECT * FROM parent WHERE id <= uid_horizon()');
ALTER TABLE mixed_more DETACH PARTITION mixed_remote;
SELECT outcome('SELECT * FROM mixed WHERE id <= uid_horizon()');
CREATE FOREIGN TABLE local_3 PARTITION OF local FOR VALUES FROM (20) TO (30) SERVER far_server;
EXECUTE later;

-- Odd ones: whole rows, system columns, columns made of many, deep queries.
INSERT INTO query (query) VALUES
	('SELECT * FROM remote AS r WHERE r::text = uid_horizon()::text'),
	('SELECT * FROM (SELECT * FROM here OFFSET 0) AS h WHERE h::text = uid_horizon()::text'),
	('SELECT * FROM here AS h WHERE h.ctid::text = uid_horizon()::text AND (h).id <= uid_horizon() AND (SELECT h) IS NOT NULL'),
	('SELECT * FROM (VALUES (1), (uid_horizon())) AS v (h), here AS x WHERE x.id <= v.h'),
	('SELECT * FROM ROWS FROM (generate_series(1, 2), uid_horizon()) WITH ORDINALITY AS f (a, b, n), here AS x WHERE x.id <= f.b AND f.n <= f.b'),
	('SELECT grouping(who), who FROM here GROUP BY ROLLUP (who, id) HAVING max(id) <= uid_horizon() AND grouping(id) <= uid_horizon()'),
	('SELECT rank() OVER (PARTITION BY id <= uid_horizon() ORDER BY who) FROM here WINDOW w AS (ORDER BY id - uid_horizon())'),
	('SELECT CASE uid_horizon() WHEN id THEN 1 ELSE 2 END, NULLIF(id, uid_horizon()), id IS DISTINCT FROM uid_horizon() FROM here LIMIT uid_horizon() OFFSET uid_horizon()'),
	('SELECT * FROM here TABLESAMPLE BERNOULLI (uid_horizon()) WHERE id NOT IN (SELECT uid_horizon() FROM here AS i WHERE i.id <= uid_horizon())'),
	('SELECT * FROM here WHERE (id, who) IN (SELECT max(id), who FROM here GROUP BY who HAVING max(id) <= uid_horizon()) AND ROW(id, id) <= ROW(uid_horizon(), 5)'),
	('SELECT a.id FROM here AS a NATURAL FULL JOIN (here AS b CROSS JOIN place) WHERE a IS NOT NULL AND last <= uid_horizon()'),
	('INSERT INTO here VALUES (uid_horizon(), ''x'') ON CONFLICT (id) DO UPDATE SET who = excluded.who WHERE excluded.id <= uid_horizon() RETURNING id <= uid_horizon()'),
	('WITH RECURSIVE c (id) AS (SELECT uid_horizon() UNION SELECT h.id FROM c JOIN here AS h ON h.id < c.id) SEARCH DEPTH FIRST BY id SET o CYCLE id SET y USING p SELECT * FROM c WHERE id <= uid_horizon()'),
	('WITH u AS (UPDATE here SET who = who RETURNING id, uid_horizon() AS h) SELECT * FROM u WHERE id <= h'),
	('SELECT (ROW(id, uid_horizon())::pair).h <= id FROM here');
DO $$
DECLARE
	deep text := 'SELECT 1::bigint AS c';
	wide text := 'SELECT id, uid_horizon() AS h FROM here';
BEGIN
	FOR i IN 1 .. 40 LOOP
		deep := format('SELECT p.c + p.c AS c FROM (%s OFFSET 0) AS p', deep);
		wide := format('SELECT id, h FROM (%s) AS p%s WHERE id <= h', wide, i);
	END LOOP;
	INSERT INTO query (query) VALUES (format('SELECT * FROM (%s) AS q, here AS x WHERE x.id <= uid_horizon() AND q.c <= x.id', deep)), (wide);
END
$$;
SELECT n, left(query, 60), outcome(query) FROM query ORDER BY n;
SELECT * FROM remote WHERE id <= uid_horizon();
SET client_min_messages = warning;
DROP SCHEMA far CASCADE;
DROP SERVER far_server CASCADE;
\if :is_real
\else
DROP FOREIGN DATA WRAPPER far_wrapper;
\endif
