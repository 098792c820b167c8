-- uid_hold_row() holds each id that a statement gives, makes one where it gives none, and refuses one that readers have passed; what it refuses of
-- triggers. Who waits for the ids that it holds is in test/t/horizon_recipes.pl.

\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA hold;
SET search_path = hold, public;
CREATE TABLE event (id bigint PRIMARY KEY, body text, gone text);
ALTER TABLE event DROP gone;
CREATE TRIGGER hold BEFORE INSERT OR UPDATE OF id ON event FOR EACH ROW EXECUTE FUNCTION uid_hold_row('id');
SELECT uid_next() AS drawn, uid_min(now() - interval '1 day') AS passed \gset
CREATE FUNCTION seen() RETURNS text LANGUAGE sql RETURN (SELECT string_agg(format('%s %s', CASE WHEN uid_between(id, now() - interval '1 minute', NULL) THEN 'an id' ELSE id::text END, body), ', ' ORDER BY body) FROM event);
SELECT pg_sleep(0.01), uid_horizon() IS DISTINCT FROM 0;
-- It finds its function when it is made, and needs no path.
SET search_path = '';
\set VERBOSITY sqlstate
INSERT INTO hold.event VALUES (:passed, 'passed');
INSERT INTO hold.event VALUES (-1, 'no id');
\set VERBOSITY default
INSERT INTO hold.event VALUES (NULL, 'null'), (DEFAULT, 'default'), (public.uid_next(), 'drawn');
INSERT INTO hold.event (body) SELECT 'many ' || n FROM generate_series(1, 3) AS n;
COPY hold.event FROM stdin;
\N	copied
\.
BEGIN;
SELECT public.uid_next() AS own \gset
INSERT INTO hold.event VALUES (:own, 'own') RETURNING id = :own;
COMMIT;
UPDATE hold.event SET body = 'changed' WHERE body = 'many 1';
UPDATE hold.event SET id = id WHERE body = 'many 2';
UPDATE hold.event SET id = NULL WHERE body = 'many 3';
UPDATE hold.event SET id = public.uid_next() WHERE body = 'default';
\set VERBOSITY sqlstate
UPDATE hold.event SET id = :passed WHERE body = 'own';
INSERT INTO hold.event VALUES (:passed, 'conflict') ON CONFLICT DO NOTHING;
\set VERBOSITY default
SET search_path = hold, public;
SELECT seen();
-- What is passed is stored with the trigger off, in a transaction in which nobody else writes.
BEGIN;
ALTER TABLE event DISABLE TRIGGER hold;
INSERT INTO event VALUES (5, 'restored');
ALTER TABLE event ENABLE TRIGGER hold;
COMMIT;
UPDATE event SET id = id, body = 'restored, changed' WHERE id = 5;
SELECT seen();

-- Partitions, of which one has its columns in another order; the id decides on none.
CREATE TABLE part (k integer, id bigint) PARTITION BY LIST (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 (id bigint, k integer);
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2);
CREATE TRIGGER hold BEFORE INSERT OR UPDATE OF id ON part FOR EACH ROW EXECUTE FUNCTION uid_hold_row('id');
BEGIN;
INSERT INTO part VALUES (1), (2);
UPDATE part SET k = 3 - k;
COMMIT;
SELECT k, uid_between(id, now() - interval '1 minute', NULL) FROM part ORDER BY k;
CREATE TABLE by_id (id bigint) PARTITION BY RANGE (id);
CREATE TABLE by_id_1 PARTITION OF by_id FOR VALUES FROM (0) TO (10);
CREATE TABLE by_id_0 PARTITION OF by_id DEFAULT;
CREATE TRIGGER hold BEFORE INSERT ON by_id FOR EACH ROW EXECUTE FUNCTION uid_hold_row('id');
INSERT INTO by_id VALUES (NULL), (uid_next());
SELECT count(*) FROM by_id_0 WHERE id > 0;

-- What is refused
CREATE TABLE odd (k integer, text text, made bigint GENERATED ALWAYS AS (k) STORED, id bigint);
CREATE FUNCTION refused(definition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
	code text;
BEGIN
	EXECUTE 'CREATE TRIGGER refused ' || replace(definition, 'odd', 'ON odd');
	INSERT INTO odd VALUES (1);
	DELETE FROM odd;
	RETURN NEXT 'not refused';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, code = RETURNED_SQLSTATE;
	RETURN QUERY VALUES (format('%s %s', code, message)), (concat_ws(' ', '  ', nullif(detail, ''), hint));
END
$$;
SELECT refused(d) FROM unnest('{
	"BEFORE INSERT odd FOR EACH ROW EXECUTE FUNCTION uid_hold_row()",
	"BEFORE INSERT odd FOR EACH ROW EXECUTE FUNCTION uid_hold_row(''none'')",
	"BEFORE INSERT odd FOR EACH ROW EXECUTE FUNCTION uid_hold_row(''text'')",
	"BEFORE INSERT odd FOR EACH ROW EXECUTE FUNCTION uid_hold_row(''made'')",
	"BEFORE INSERT odd EXECUTE FUNCTION uid_hold_row(''id'')",
	"AFTER INSERT odd FOR EACH ROW EXECUTE FUNCTION uid_hold_row(''id'')",
	"BEFORE DELETE odd FOR EACH ROW EXECUTE FUNCTION uid_hold_row(''id'')"}'::text[]) AS d;
SELECT uid_hold_row();
SET client_min_messages = warning;
DROP SCHEMA hold CASCADE;
