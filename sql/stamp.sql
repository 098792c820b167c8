-- uid_stamp() gives each row that is written a new version, whichever way it is written; uid_track_changes() makes what readers of changes
-- need, and uid_purge_deleted() takes away what they have read.

\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';

--
-- uid_stamp()
--
CREATE SCHEMA stamp;
SET search_path = stamp, public;
CREATE TABLE item (k integer PRIMARY KEY, body text, changed bigint);
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION uid_stamp('changed');
-- Which rows have another version than when this was called last?  All versions are ids of now, and no two are the same.
CREATE TABLE last AS SELECT k, changed FROM item;
CREATE FUNCTION stamped() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	SELECT coalesce(string_agg(i.k::text, ' ' ORDER BY i.k) FILTER (WHERE i.changed > coalesce(l.changed, 0)), 'none')
			|| CASE WHEN count(DISTINCT i.changed) <> count(*) THEN ', some are the same' ELSE '' END
			|| CASE WHEN bool_or(NOT uid_between(i.changed, now() - interval '1 minute', NULL) OR i.changed IS NULL) THEN ', some are no ids' ELSE '' END
		INTO found FROM item AS i LEFT JOIN last AS l USING (k);
	DELETE FROM last;
	INSERT INTO last SELECT k, changed FROM item;
	RETURN found;
END
$$;
INSERT INTO item VALUES (1, 'a', DEFAULT), (2, NULL, 5), (3, NULL, NULL);
INSERT INTO item (k) SELECT n FROM generate_series(4, 6) AS n;
SELECT stamped();
UPDATE item SET body = 'b' WHERE k IN (1, 2);
SELECT stamped();
UPDATE item SET changed = 7, body = NULL WHERE k = 1;
UPDATE item SET k = k WHERE k = 3;
SELECT stamped();
COPY item (k, body) FROM stdin;
7	x
8	\N
\.
COPY item FROM stdin;
9	x	1
10	\N	\N
\.
SELECT stamped();
INSERT INTO item VALUES (1, 'c'), (11, 'c') ON CONFLICT (k) DO UPDATE SET body = excluded.body, changed = excluded.changed;
INSERT INTO item VALUES (1, 'd') ON CONFLICT DO NOTHING;
SELECT stamped();
MERGE INTO item AS i USING (VALUES (2), (12), (4)) AS s (k) ON i.k = s.k
	WHEN MATCHED AND i.k = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET body = 'm' WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k);
SELECT stamped();
INSERT INTO item SELECT n, repeat('y', 100 * n) FROM generate_series(20, 24) AS n;
UPDATE item SET body = body || 'z' WHERE k > 20;
SELECT stamped();
SELECT bool_and(length(body) = 100 * k + CASE WHEN k > 20 THEN 1 ELSE 0 END) FROM item WHERE k >= 20;

-- A column that is changed while the session knows it
ALTER TABLE item ADD front text, ADD more bigint GENERATED ALWAYS AS (changed + 1) STORED, ADD late bigint DEFAULT 3;
UPDATE item SET front = 'f' WHERE k = 1;
UPDATE item SET body = 'g' WHERE k = 2;
SELECT stamped(), (SELECT string_agg(format('%s %s %s %s', k, front, more = changed + 1, late), ', ' ORDER BY k) FROM item WHERE k < 4);
-- Where conditions have read the row before, and read it after
CREATE FUNCTION give_new() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''% before %'', TG_NAME, NEW.changed > 5; RETURN NEW; END';
CREATE TRIGGER a BEFORE INSERT OR UPDATE ON item FOR EACH ROW WHEN (NEW.late > 5) EXECUTE FUNCTION give_new();
CREATE TRIGGER z BEFORE INSERT OR UPDATE ON item FOR EACH ROW WHEN (NEW.changed = 5) EXECUTE FUNCTION give_new();
UPDATE item SET front = 'w', changed = 5 WHERE k = 1;
INSERT INTO item (k, changed) VALUES (30, 5);
SELECT stamped(), (SELECT bool_and(more = changed + 1) FROM item WHERE k IN (1, 30));
DROP TRIGGER a ON item;
DROP TRIGGER z ON item;
ALTER TABLE item DROP body;
UPDATE item SET front = NULL WHERE k = 1;
SELECT stamped();
ALTER TABLE item RENAME changed TO version;
UPDATE item SET front = 'h' WHERE k = 1;
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE item RENAME version TO changed;
UPDATE item SET front = 'h' WHERE k = 1;
SELECT stamped();
ALTER TABLE item DROP more;
ALTER TABLE item ALTER changed TYPE numeric;
UPDATE item SET front = 'i' WHERE k = 1;
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE item ALTER changed TYPE bigint;
UPDATE item SET front = 'i' WHERE k = 1;
SELECT stamped();
-- The same trigger with another column, and a second one
CREATE OR REPLACE TRIGGER stamp BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION uid_stamp('late');
UPDATE item SET front = 'j' WHERE k = 1;
SELECT stamped(), late > changed FROM item WHERE k = 1;
CREATE TRIGGER stamp_2 BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION uid_stamp('changed');
UPDATE item SET front = 'k' WHERE k IN (1, 2);
SELECT stamped(), (SELECT bool_and(late < changed) FROM item WHERE k IN (1, 2));
-- The last column of a row that was stored before it was added, given back by another trigger
CREATE FUNCTION give_old() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
DROP TRIGGER stamp_2 ON item;
ALTER TABLE item ADD newest bigint DEFAULT 5;
CREATE OR REPLACE TRIGGER stamp BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION uid_stamp('newest');
CREATE TRIGGER a BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION give_old();
UPDATE item SET front = 'lost' WHERE k = 9;
SELECT front, newest > late FROM item WHERE k = 9;
DROP TRIGGER stamp ON item;
UPDATE item SET front = 'lost' WHERE k = 9;
SELECT stamped();

-- Partitions, of which one has its columns in another order
CREATE TABLE part (k integer, changed bigint, body text) PARTITION BY LIST (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 (gone integer, body text, changed bigint, k integer);
ALTER TABLE part_2 DROP gone;
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2);
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION uid_stamp('changed');
INSERT INTO part VALUES (1, NULL, 'one'), (2, NULL, 'two');
SELECT k, uid_between(changed, now() - interval '1 minute', NULL), body FROM part ORDER BY k;
SELECT max(changed) AS before FROM part \gset
UPDATE part SET k = 3 - k;
SELECT k, changed > :before, body FROM part ORDER BY k;

-- A version decides on no partition.
CREATE TABLE by_version (k integer, changed bigint) PARTITION BY RANGE (changed);
CREATE TABLE by_version_1 PARTITION OF by_version FOR VALUES FROM (0) TO (10);
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON by_version FOR EACH ROW EXECUTE FUNCTION uid_stamp('changed');
\set VERBOSITY sqlstate
INSERT INTO by_version VALUES (1, 5);
\set VERBOSITY default
SELECT count(*) FROM by_version;

-- Where it does not fire, and where it does
CREATE TABLE origin (k integer, changed bigint);
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON origin FOR EACH ROW EXECUTE FUNCTION uid_stamp('changed');
SET session_replication_role = replica;
INSERT INTO origin VALUES (1, 1);
ALTER TABLE origin ENABLE ALWAYS TRIGGER stamp;
INSERT INTO origin VALUES (2, 1);
RESET session_replication_role;
SELECT k, changed > 1 FROM origin ORDER BY k;

-- What is refused
CREATE TABLE odd (k integer, small integer, text text, made bigint GENERATED ALWAYS AS (k) STORED, changed bigint);
CREATE FUNCTION refused(definition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	hint text;
	code text;
BEGIN
	BEGIN
		EXECUTE 'CREATE TRIGGER refused ' || replace(definition, 'odd', 'ON odd');
		INSERT INTO odd VALUES (1);
		UPDATE odd SET k = 2;
		DELETE FROM odd;
		TRUNCATE odd;
		RETURN NEXT 'not refused';
		DROP TRIGGER refused ON odd;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT, code = RETURNED_SQLSTATE;
		RETURN NEXT format('%s %s', code, message);
		RETURN NEXT format('   %s', hint);
	END;
END
$$;
SELECT refused(d) FROM unnest('{
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''changed'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(changed)",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp()",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''changed'', ''k'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''none'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''Changed'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''ctid'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''small'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''text'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''made'')",
	"BEFORE INSERT OR UPDATE odd FOR EACH STATEMENT EXECUTE FUNCTION uid_stamp(''changed'')",
	"AFTER INSERT OR UPDATE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''changed'')",
	"BEFORE DELETE odd FOR EACH ROW EXECUTE FUNCTION uid_stamp(''changed'')",
	"BEFORE TRUNCATE odd EXECUTE FUNCTION uid_stamp(''changed'')"}'::text[]) AS d;
SELECT uid_stamp();
SET client_min_messages = warning;
DROP SCHEMA stamp CASCADE;
RESET client_min_messages;

--
-- uid_track_changes()
--
CREATE SCHEMA track;
SET search_path = track, public;
CREATE FUNCTION track.track("table" regclass, execute boolean DEFAULT false, version_column name DEFAULT 'changed') RETURNS SETOF text LANGUAGE sql
AS $$ SELECT replace(line, 'OWNER TO ' || uidgen_tools.write_name(session_user::text), 'OWNER TO "me"') FROM uid_track_changes("table", version_column, execute) WITH ORDINALITY AS a (line, n) ORDER BY n $$;
-- What it changes, as the catalogs say
CREATE FUNCTION track.described("table" regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s%s', a.attname, a.atttypid::regtype, ' ' || pg_get_expr(d.adbin, d.adrelid))
		FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
		WHERE a.attrelid = "table" AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	(SELECT pg_get_indexdef(i.indexrelid) FROM pg_index AS i WHERE i.indrelid = "table" ORDER BY 1)
	UNION ALL
	(SELECT g.tgenabled::text || ' ' || pg_get_triggerdef(g.oid) FROM pg_trigger AS g WHERE g.tgrelid = "table" ORDER BY tgname)
$$;
CREATE TABLE item (a integer, b text, body text, PRIMARY KEY (b, a));
INSERT INTO item SELECT n, 'b' || n, 'x' FROM generate_series(1, 4) AS n;
SELECT track('item');
SELECT described('item');
SELECT track('item', true);
SELECT described('item');
SELECT described('item_deleted');
SELECT proname, prosecdef, proconfig, proacl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee <> proowner) AS owner_only FROM pg_proc WHERE proname = 'item_deleted';
SELECT count(*) FILTER (WHERE changed = 0), count(*) FROM item;
-- once more
SELECT track('item');
-- Each change, and what it leaves
INSERT INTO item VALUES (5, 'b5');
UPDATE item SET body = 'y' WHERE a = 1;
UPDATE item SET a = a, b = b WHERE a = 1;
UPDATE item SET a = 20 WHERE a = 2;
UPDATE item SET b = 'c3' WHERE a = 3;
DELETE FROM item WHERE a = 4;
INSERT INTO item VALUES (1, 'b1', 'z') ON CONFLICT (a, b) DO UPDATE SET body = excluded.body;
SELECT a, b, body, changed > 0 FROM item ORDER BY a;
SELECT d.a, d.b, uid_between(d.changed, now() - interval '1 minute', NULL) FROM item_deleted AS d ORDER BY d.changed;
TRUNCATE item;
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO item VALUES (6, 'b6', 'by replication');
DELETE FROM item;
TRUNCATE item;
COMMIT;
SELECT d.a, d.b FROM item_deleted AS d ORDER BY d.changed;
-- What is missing is made again
DROP TRIGGER "~uid_key" ON item;
ALTER TABLE item ENABLE TRIGGER "~uid_delete";
DROP INDEX item_changed_idx;
SELECT track('item');
SELECT count(*) FROM track('item', true);
SELECT track('item', true);
-- Under another name it is known, too.
ALTER TABLE item RENAME TO thing;
SELECT track('thing');
DELETE FROM thing;
INSERT INTO thing VALUES (7, 'b7');
DELETE FROM thing;
SELECT count(*) FROM item_deleted WHERE a = 7;

-- Purged, with a mark in the place of the newest
SELECT uid_purge_deleted('thing', now() - interval '1 hour');
INSERT INTO item_deleted (a, b, changed) SELECT n, 'b', uid_min('2025-08-01') + n FROM generate_series(1, 10) AS n;
INSERT INTO item_deleted VALUES (NULL, NULL, uid_min('2025-08-01'));
SELECT uid_purge_deleted('thing', '2025-08-01');
SELECT uid_purge_deleted('thing', '2025-08-02');
SELECT count(*), count(d.a), d.changed - uid_min('2025-08-01') FROM item_deleted AS d WHERE d.changed < uid_min('2025-08-02') GROUP BY d.changed;
SELECT uid_purge_deleted('thing', '2025-08-02');
\set VERBOSITY terse
SELECT uid_purge_deleted('thing', now() + interval '1 hour');
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
SELECT uid_purge_deleted('item_deleted', now());
\echo :LAST_ERROR_SQLSTATE
SELECT uid_purge_deleted('thing', NULL);
\echo :LAST_ERROR_SQLSTATE
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT uid_purge_deleted('thing', '2025-08-02');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- The way back
BEGIN;
CREATE TABLE back (k integer PRIMARY KEY);
CREATE TEMP TABLE undo AS SELECT n, line FROM uidgen_tools.plan_tracking('back', 'changed', true, 'uid_next()'::regprocedure, 'uid_stamp()'::regprocedure) WITH ORDINALITY AS p (part, line, n) WHERE part = 'undo';
SELECT count(*) FROM track('back', true);
SET client_min_messages = warning;
SELECT line FROM undo ORDER BY n \gexec
RESET client_min_messages;
SELECT described('back');
SELECT count(*) FROM pg_class WHERE relname LIKE 'back\_%' AND relname <> 'back_pkey';
ROLLBACK;

-- Partitions: marks for each of them, those to come and those that go
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), body text) PARTITION BY RANGE (id);
SELECT uid_partitions('event', '2025-08-01', '2025-10-01', '1 month', true, 'default');
SELECT track('event');
SELECT count(*) FROM track('event', true);
SELECT uid_partitions('event', '2025-10-01', '2025-11-01', '1 month', false, 'default');
SELECT uid_partitions('event', '2025-10-01', '2025-11-01', '1 month', true, 'default');
SELECT track('event');
SELECT tgrelid::regclass, string_agg(format('%s %s', tgname, tgenabled), ', ' ORDER BY tgname) FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('event')) GROUP BY 1 ORDER BY 1;
TRUNCATE event_2025_08;
SELECT count(*) FROM event_deleted;
SELECT uid_drop_partitions('event', '2025-10-15', false, 'default', true);
SELECT count(*) FROM event_deleted;
SELECT uid_drop_partitions('event', '2025-10-15', true, 'default', true);
SELECT uid_drop_partitions('event', '2025-10-15', true, 'default', true);
SELECT count(*), count(id) FROM event_deleted;
-- Rows that move are there, and a deleted key, too.
CREATE TABLE moved (k integer, part integer, PRIMARY KEY (k, part)) PARTITION BY LIST (part);
CREATE TABLE moved_1 PARTITION OF moved FOR VALUES IN (1);
CREATE TABLE moved_2 PARTITION OF moved FOR VALUES IN (2) PARTITION BY LIST (k);
CREATE TABLE moved_2_1 PARTITION OF moved_2 FOR VALUES IN (1);
SELECT count(*) FROM track('moved', true);
INSERT INTO moved VALUES (1, 1);
UPDATE moved SET part = 2;
SELECT k, part, changed > (SELECT max(changed) FROM moved_deleted) AS newer, (SELECT string_agg(format('%s %s', k, part), ', ') FROM moved_deleted) FROM moved;
TRUNCATE moved_2;
SELECT count(*) FROM moved_deleted WHERE k IS NULL;

-- Keys of other kinds, and a column that is there
CREATE DOMAIN code AS varchar(9) NOT NULL CHECK (value <> '');
CREATE TYPE mood AS ENUM ('calm', 'wild');
CREATE TABLE odd (u numeric(10, 2) NOT NULL, c code NOT NULL, m mood NOT NULL, a integer[] NOT NULL, p char(5) NOT NULL, version bigint, n integer UNIQUE, UNIQUE (u, c, m, a, p) DEFERRABLE);
CREATE UNIQUE INDEX ON odd (a) WHERE u > 5;
CREATE UNIQUE INDEX ON odd ((n + 1));
INSERT INTO odd VALUES (1, 'x', 'calm', '{1}', 'p', 5), (2, 'x', 'wild', '{1}', 'p', NULL);
-- a row without a version
SELECT count(*) FROM track('odd', true, 'version');
UPDATE odd SET version = 0 WHERE version IS NULL;
SELECT count(*) FROM track('odd', true, 'version');
SELECT described('odd_deleted');
UPDATE odd SET m = 'calm', a = '{2}' WHERE u = 2;
DELETE FROM odd;
SELECT u, c, m, a, p FROM odd_deleted ORDER BY version;

-- What it refuses
CREATE FUNCTION refused(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
	code text;
BEGIN
	EXECUTE statement;
	RETURN NEXT 'not refused';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, code = RETURNED_SQLSTATE;
	RETURN QUERY SELECT u.line FROM unnest(ARRAY[format('%s %s', code, message), nullif(detail, ''), nullif(hint, '')]) AS u (line) WHERE u.line IS NOT NULL;
END
$$;
CREATE FUNCTION given() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE no_key (k integer NOT NULL);
CREATE UNIQUE INDEX ON no_key (k) WHERE k > 0;
CREATE TABLE null_key (k integer UNIQUE);
CREATE VIEW seen AS SELECT 1 AS k;
CREATE UNLOGGED TABLE unlogged (k integer PRIMARY KEY);
CREATE TEMP TABLE temporary (k integer PRIMARY KEY);
CREATE TABLE parent (k integer PRIMARY KEY);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE plain (k integer PRIMARY KEY, text text, made bigint GENERATED ALWAYS AS (k) STORED, single bigint UNIQUE, large bigint);
INSERT INTO plain VALUES (1, '', DEFAULT, 1, 9e18);
CREATE TABLE taken (k integer PRIMARY KEY);
CREATE VIEW taken_deleted AS SELECT 1 AS k;
CREATE TABLE called (k integer PRIMARY KEY);
CREATE FUNCTION called_deleted() RETURNS integer LANGUAGE sql RETURN 1;
CREATE TABLE behind (k integer PRIMARY KEY);
CREATE TRIGGER "~z" BEFORE UPDATE ON behind FOR EACH ROW EXECUTE FUNCTION given();
CREATE TABLE before (k integer PRIMARY KEY);
CREATE TRIGGER zz BEFORE UPDATE ON before FOR EACH ROW EXECUTE FUNCTION given();
CREATE TRIGGER "~z" AFTER UPDATE ON before FOR EACH ROW EXECUTE FUNCTION given();
CREATE TABLE named (k integer PRIMARY KEY);
CREATE TRIGGER "~uid_stamp" BEFORE INSERT ON named FOR EACH ROW EXECUTE FUNCTION given();
CREATE TABLE by_key (k bigint PRIMARY KEY, b bigint) PARTITION BY RANGE (k);
CREATE TABLE by_other (k bigint, b bigint) PARTITION BY RANGE (b);
SELECT refused(format('SELECT uid_track_changes(%L%s)', split_part(w, ' ', 1), nullif(', ' || quote_literal(split_part(w, ' ', 2)), ', '''''))) FROM unnest('{
	"no_key", "null_key", "seen", "unlogged", "temporary", "parent", "child", "moved_1", "uidgen.layout_used",
	"plain ctid", "plain made", "plain text", "plain single", "plain k", "plain large", "by_key k", "by_other b",
	"taken", "called", "behind", "named", "thing", "thing other"}'::text[]) AS w;
SELECT refused('SELECT uid_track_changes(1::regclass)');
SELECT refused('SELECT uid_track_changes(NULL)');
SELECT refused($$SELECT uid_track_changes('plain', '')$$);
SELECT refused($$SELECT uid_track_changes('plain', NULL)$$);
SELECT refused($$SELECT uid_track_changes('plain', execute => NULL)$$);
SELECT count(*) > 0 FROM track('before');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT refused($$SELECT uid_track_changes('plain', execute => true)$$);
ROLLBACK;
DROP TABLE event_deleted;
SELECT refused($$SELECT uid_track_changes('event')$$);
SELECT refused($$SELECT uid_partitions('event', '2025-08-01', '2025-09-01', '1 month', false, 'default')$$);

-- A table that takes the name of a tracked one: its deleted keys have the name that the other's keep.
CREATE TABLE fresh (id bigint PRIMARY KEY, body text);
SELECT count(*) > 0 FROM track('fresh', true);
ALTER TABLE fresh RENAME TO former;
CREATE TABLE fresh (LIKE former INCLUDING ALL EXCLUDING COMMENTS) PARTITION BY RANGE (id);
SELECT refused($$SELECT uid_track_changes('fresh')$$);
ALTER TABLE fresh_deleted RENAME TO former_deleted;
SELECT count(*) > 0 FROM track('former', true);
SELECT count(*) > 0 FROM track('fresh');
-- A tracked table that becomes a partition: the tools go on, and the whole is tracked once its triggers are dropped.
SELECT format('ALTER TABLE fresh ATTACH PARTITION former FOR VALUES FROM (MINVALUE) TO (%s)', uid_min('2025-08-01')) \gexec
SELECT count(*) FROM uid_partitions('fresh', '2025-08-01', '2025-10-01', '1 month', true);
SELECT uid_drop_partitions('fresh', now());
SELECT * FROM uid_check_table('fresh');
SELECT refused($$SELECT uid_track_changes('fresh')$$);
SELECT format('DROP TRIGGER "~uid_%s" ON former', t) FROM unnest('{stamp,delete,key,truncate}'::text[]) AS t \gexec
SELECT count(*) > 0 FROM track('fresh', true);
SELECT * FROM uid_check_table('fresh');
INSERT INTO fresh VALUES (7);
DELETE FROM fresh;
SELECT id FROM fresh_deleted;

-- A long name leaves room.
CREATE TABLE a123456789b123456789c123456789d123456789e123456789f123456789xyz (k integer PRIMARY KEY);
INSERT INTO a123456789b123456789c123456789d123456789e123456789f123456789xyz SELECT generate_series(1, 10);
ANALYZE a123456789b123456789c123456789d123456789e123456789f123456789xyz;
SELECT count(*) FROM track('a123456789b123456789c123456789d123456789e123456789f123456789xyz', true);
SELECT relname FROM pg_class WHERE relname LIKE 'a123%' ORDER BY 1;

-- uid_number_rows(): a second call goes on where the first one ended.
CREATE TABLE numbered (id bigint PRIMARY KEY);
INSERT INTO numbered VALUES (10), (20);
CALL uid_number_rows('numbered', 'id', begin => true) \gset
\echo :numbered :last_number
INSERT INTO numbered VALUES (15), (30);
CALL uid_number_rows('numbered', 'id') \gset
\echo :numbered :late :last_number :remaining
SELECT * FROM numbered_number ORDER BY number;
-- The record follows a renamed column, whose own line gets lost; another column has the former name.
ALTER TABLE numbered RENAME id TO former;
ALTER TABLE numbered ADD id bigint UNIQUE DEFAULT uid_next();
CALL uid_number_rows('numbered', 'former') \gset
COMMENT ON COLUMN numbered.former IS 'the former id';
SELECT refused($$SELECT uidgen_tools.refuse_numbers('numbered', 'id')$$);
CALL uid_number_rows('numbered', 'former') \gset
\echo :numbered :last_number
-- ... and so does the line of the column.
SELECT col_description('numbered'::regclass, 1);

SET client_min_messages = warning;
DROP SCHEMA track CASCADE;
