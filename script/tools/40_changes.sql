--
-- Changes of a table for readers: each row has the id of its last change, and keys that are gone have one, too.
--
-- A column gets a new id by uid_stamp() with each INSERT and UPDATE, and a table beside it the key of each row that is deleted
-- or gets another key.  Readers go on by both up to uid_horizon().  A row of that table without a key is a mark: who has not
-- read as far copies the table anew.  Marks stand for what no trigger for each row sees, TRUNCATE and DROP of a partition, and
-- for the deleted keys that were purged.
--
-- A table is known as tracked by its triggers, also under another name, and the table of deleted keys by the function that they
-- call, which has the same name.  That function runs as the owner of the table, so that applications need no right on what it
-- writes.  Triggers fire in the order of their names, and the version has to be given last: so they begin with a tilde.
--
-- refuse_tracking() says whether something is in the way, by one check a rule, and plan_tracking() what has to be done, what it
-- costs, and how to undo it; track_changes() puts these in order.  All of it runs with the rights of the caller, who
-- has to own the table.  What is printed and run goes through 10_statements.sql.
--

-- Without lengths, since what is written was in the table, and without domains, since these may refuse null.
CREATE FUNCTION uidgen_tools.write_type(type oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE base (oid) AS (
		SELECT type
		UNION ALL
		SELECT t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.oid WHERE t.typtype = 'd'
	)
	SELECT uidgen_tools.write_schema(t.typnamespace) || '.' || uidgen_tools.write_name(t.typname::text)
		FROM base AS b JOIN pg_type AS t ON t.oid = b.oid WHERE t.typtype <> 'd';
$$;
COMMENT ON FUNCTION uidgen_tools.write_type(oid) IS 'a type, or what a domain is made of, as it is written in a statement';

-- The version is the column of its primary key.
CREATE FUNCTION uidgen_tools.find_deleted("table" regclass, OUT function oid, OUT relation oid, OUT version name)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	is_own boolean;
BEGIN
	SELECT p.oid, c.oid, a.attname, p.proowner = t.relowner INTO function, relation, version, is_own
		FROM pg_trigger AS g
			JOIN pg_class AS t ON t.oid = g.tgrelid
			JOIN pg_proc AS p ON p.oid = g.tgfoid
			LEFT JOIN pg_class AS c ON c.relnamespace = p.pronamespace AND c.relname = p.proname AND c.relkind = 'r'
			LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
			LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
		WHERE g.tgrelid = "table" AND g.tgname = '~uid_delete';
	IF function IS NULL THEN
		RETURN;
	-- Who has the privilege TRIGGER can make one of that name.
	ELSIF NOT is_own THEN
		RAISE EXCEPTION 'trigger "~uid_delete" of table "%" calls a function of another role', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('It is %s. The function that fills the table of deleted keys belongs to the owner of the table.', uidgen_tools.write_function(function)),
				HINT = format('Drop the trigger. If the table was tracked when it was given to another role, let a superuser run DROP FUNCTION %s CASCADE, and drop the table of that name; then call uid_track_changes(), and let all readers copy the table anew.', uidgen_tools.write_function(function));
	ELSIF version IS NULL THEN
		RAISE EXCEPTION 'table "%" has lost the table of its deleted keys', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its triggers call function %s, and there is no table of that name with a primary key.', uidgen_tools.write_function(function)),
				HINT = format('Run DROP FUNCTION %s CASCADE, which drops the triggers, then call uid_track_changes(), and let all readers copy the table anew.', uidgen_tools.write_function(function));
	END IF;
	PERFORM uidgen_tools.refuse_other_owners(ARRAY[relation]);
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_deleted(regclass) IS 'the table of the deleted keys of a tracked table, the function that fills it, and its column for the version; nothing for others';

-- Deferrable ones count: what is deleted was in the table.
CREATE FUNCTION uidgen_tools.choose_key("table" regclass) RETURNS oid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT i.indexrelid
		FROM pg_index AS i
		WHERE i.indrelid = "table" AND i.indisunique AND i.indisvalid AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
			AND NOT EXISTS (SELECT FROM generate_series(0, i.indnkeyatts - 1) AS n JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n] WHERE NOT a.attnotnull OR i.indcollation[n] <> a.attcollation)
		ORDER BY NOT i.indisprimary, i.indnkeyatts, i.indexrelid LIMIT 1);
COMMENT ON FUNCTION uidgen_tools.choose_key(regclass) IS 'the index of the key by which each row of a table is known: the primary key, or another one that is unique and not null';

CREATE FUNCTION uidgen_tools.write_truncate_trigger(relation text, function text) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY[format('CREATE TRIGGER "~uid_truncate" AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s;', relation, function),
	format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER "~uid_truncate";', relation)];
COMMENT ON FUNCTION uidgen_tools.write_truncate_trigger(text, text) IS 'the statements by which TRUNCATE of a table or partition leaves a mark';

CREATE FUNCTION uidgen_tools.write_mark(deleted oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('INSERT INTO %s DEFAULT VALUES;', uidgen_tools.write_relation(deleted));
COMMENT ON FUNCTION uidgen_tools.write_mark(oid) IS 'the statement that has readers copy a tracked table anew';

-- It runs as the owner of the table.  The owner of the schema may drop the table of deleted keys, and put his own in its place, whose triggers
-- would run as that owner: so it is locked, and its owner looked at, before anything is written.  What was put there after
-- the snapshot of the transaction has no row there, and is refused as well.
CREATE FUNCTION uidgen_tools.write_deleted_function(deleted text, schema oid, name text, columns text, old_key text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('BEGIN LOCK TABLE ONLY %1$s IN ROW EXCLUSIVE MODE; '
	'IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = to_regclass(%2$s) AND c.relkind = ''r'' AND pg_get_userbyid(c.relowner) = current_user) THEN '
	'RAISE EXCEPTION USING ERRCODE = ''insufficient_privilege'', MESSAGE = ''the table of deleted keys is another one'', DETAIL = ''Its owner is not that of the table whose changes are tracked.'', '
	'HINT = ''Drop it, and the function of its name with CASCADE, call uid_track_changes() again, and let all readers copy the table anew.''; END IF; '
	'IF TG_OP = ''TRUNCATE'' THEN INSERT INTO %1$s DEFAULT VALUES; ELSE INSERT INTO %1$s (%3$s) VALUES (%4$s); END IF; RETURN NULL; END',
	deleted, uidgen_tools.write_literal((SELECT format('"%s"."%s"', replace(n.nspname, '"', '""'), replace(name, '"', '""')) FROM pg_namespace AS n WHERE n.oid = schema)), columns, old_key);
COMMENT ON FUNCTION uidgen_tools.write_deleted_function(text, oid, text, text, text) IS 'the body of the function that writes deleted keys and marks into their table';

CREATE FUNCTION uidgen_tools.refuse_version_column("table" regclass, version_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	v record;
	shown constant text := uidgen_tools.tame(version_column::text);
	shown_table constant text := (SELECT uidgen_tools.tame(c.relname) FROM pg_class AS c WHERE c.oid = "table");
	named text;
BEGIN
	SELECT a.attnum AS number, a.atttypid::regtype AS type, a.attgenerated AS generated INTO v
		FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = version_column AND NOT a.attisdropped;
	IF version_column = '' THEN
		RAISE EXCEPTION 'a column needs a name' USING ERRCODE = 'invalid_name';
	ELSIF v.number < 0 THEN
		RAISE EXCEPTION '"%" is the name of a system column', shown USING ERRCODE = 'duplicate_column', HINT = 'Choose another name.';
	ELSIF v.generated <> '' THEN
		RAISE EXCEPTION 'column "%" of table "%" is generated', shown, shown_table
			USING ERRCODE = 'wrong_object_type', HINT = 'Name another column; one that does not exist is added.';
	ELSIF v.type <> 'bigint'::regtype THEN
		RAISE EXCEPTION 'column "%" of table "%" is of type %', shown, shown_table, uidgen_tools.tame(v.type::text)
			USING ERRCODE = 'datatype_mismatch', DETAIL = 'Versions are ids, of type bigint.',
				HINT = 'Name another column; one that does not exist is added.';
	END IF;
	SELECT CASE WHEN i.indrelid IS NULL THEN 'the table is partitioned by it' ELSE format('it is in the unique index %s', uidgen_tools.write_relation(i.indexrelid)) END INTO named
		FROM pg_class AS c
			LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisunique AND v.number = ANY (i.indkey::smallint[])
			LEFT JOIN pg_partitioned_table AS p ON p.partrelid = c.oid AND v.number = ANY (p.partattrs::smallint[])
		WHERE c.oid = "table" AND (i.indrelid IS NOT NULL OR p.partrelid IS NOT NULL)
		ORDER BY i.indexrelid LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'column "%" of table "%" cannot be the version', shown, shown_table USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Each change of a row gives it a new value, and %s: so each change would wait for all who refer to the row, or move it.', named),
				HINT = 'Name another column; one that does not exist is added.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_version_column(regclass, name) IS 'an error if a column that is there cannot hold versions, with what to do';

CREATE FUNCTION uidgen_tools.refuse_other_triggers("table" regclass, uid_stamp regprocedure) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	d record;
	named text;
BEGIN
	SELECT format('trigger %s of table %s', uidgen_tools.write_name(g.tgname), uidgen_tools.write_relation(g.tgrelid)) INTO named
		FROM (SELECT "table"::oid AS relid UNION SELECT k.relid FROM pg_partition_tree("table") AS k) AS m
			JOIN pg_trigger AS g ON g.tgrelid = m.relid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgparentid = 0
				AND g.tgtype & 3 = 3 AND g.tgtype & 20 <> 0	-- for each row, before, insert or update
				AND g.tgname > '~uid_stamp'
		ORDER BY g.tgname, g.tgrelid LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'a trigger of table "%" would fire after the one that gives the version', (SELECT uidgen_tools.tame(c.relname) FROM pg_class AS c WHERE c.oid = "table")
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It is %s. It could set the version back, and readers would miss the change.', named),
				HINT = 'Give it another name, by ALTER TRIGGER ... RENAME TO: triggers fire in the order of their names, and a name that begins with a letter comes before.';
	END IF;
	d := uidgen_tools.find_deleted("table");
	SELECT format('"%s" of table %s, which calls %s', g.tgname, uidgen_tools.write_relation(g.tgrelid), uidgen_tools.write_function(g.tgfoid)) INTO named
		FROM (SELECT "table"::oid AS relid UNION SELECT k.relid FROM pg_partition_tree("table") AS k) AS m
			JOIN pg_trigger AS g ON g.tgrelid = m.relid
		WHERE CASE g.tgname WHEN '~uid_stamp' THEN g.tgfoid <> uid_stamp WHEN '~uid_delete' THEN g.tgfoid IS DISTINCT FROM d.function
			WHEN '~uid_key' THEN g.tgfoid IS DISTINCT FROM d.function WHEN '~uid_truncate' THEN g.tgfoid IS DISTINCT FROM d.function ELSE false END
		ORDER BY g.tgrelid, g.tgname LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'a trigger has the name of one that is needed' USING ERRCODE = 'duplicate_object', DETAIL = format('It is %s.', named),
				HINT = 'Drop it, or give it another name.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_other_triggers(regclass, regprocedure) IS 'an error if a trigger would fire after uid_stamp(), or has the name of one that is made';

CREATE FUNCTION uidgen_tools.refuse_untracked_kinds("table" regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	r record;
BEGIN
	PERFORM uidgen_tools.refuse_other_kinds("table", 'Track');
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
	SELECT w.* INTO r
		FROM pg_class AS c
			LEFT JOIN LATERAL (SELECT f.oid FROM pg_partition_tree("table") AS k JOIN pg_class AS f ON f.oid = k.relid WHERE f.relkind = 'f' LIMIT 1) AS f ON true
			CROSS JOIN LATERAL (VALUES
				(1, c.relispartition, 'table "%s" is a partition',
					'A row can move to another partition, so its changes are those of the whole table.', format('Track table %s.', uidgen_tools.write_relation(pg_partition_root(c.oid)))),
				(2, c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i WHERE "table" IN (i.inhrelid, i.inhparent)), 'table "%s" inherits from another one, or another one from it',
					'Neither triggers nor keys are inherited, so changes would be missed.', 'Use partitions, or track tables that stand alone.'),
				(3, c.relpersistence <> 'p', 'table "%s" is not permanent',
					'A crash empties an unlogged table, and the end of the session a temporary one, and no trigger sees that.', format('If it is unlogged, run ALTER TABLE %s SET LOGGED.', uidgen_tools.write_relation("table"))),
				(4, f.oid IS NOT NULL, 'table "%s" has a partition that is a foreign table',
					format('It is %s. What others change there is not seen here.', uidgen_tools.write_relation(f.oid)), 'Track the table there, and this one without that partition.')) AS w (n, applies, message, detail, hint)
		WHERE c.oid = "table" AND w.applies
		ORDER BY w.n LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '%', format(r.message, (SELECT uidgen_tools.tame(c.relname) FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'wrong_object_type', DETAIL = r.detail, HINT = r.hint;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_untracked_kinds(regclass) IS 'an error if a table is of a kind whose changes no trigger would see, with what to do';

CREATE FUNCTION uidgen_tools.refuse_tracking("table" regclass, version_column name, execute boolean, uid_next regprocedure, uid_stamp regprocedure) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	most constant bigint := 1000000;
	t record;
	d record;
	shown constant text := uidgen_tools.tame(version_column::text);
	named text;
BEGIN
	PERFORM uidgen_tools.refuse_untracked_kinds("table");
	SELECT uidgen_tools.tame(c.relname) AS shown, uidgen_tools.write_relation(c.oid) AS written, c.relname AS name, c.relnamespace AS schema, c.relowner AS owner INTO t FROM pg_class AS c WHERE c.oid = "table";
	PERFORM uidgen_tools.refuse_version_column("table", version_column);

	-- The key.
	IF uidgen_tools.choose_key("table") IS NULL THEN
		RAISE EXCEPTION 'table "%" has no key', t.shown USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'By it readers know which row was deleted.',
				HINT = 'Give it a primary key, or a unique index on columns that are not null.';
	END IF;

	PERFORM uidgen_tools.refuse_other_triggers("table", uid_stamp);
	d := uidgen_tools.find_deleted("table");
	SELECT uidgen_tools.tame(s.stamped) INTO named FROM (SELECT uidgen_tools.find_version("table") AS stamped UNION ALL SELECT d.version) AS s WHERE s.stamped <> version_column LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'the versions of table "%" are in column "%"', t.shown, named
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Name that column. If it was renamed, rename it back: its trigger and its readers know it by that name.';
	END IF;

	-- What is made beside it.
	IF d.function IS NULL THEN
		SELECT uidgen_tools.write_schema(t.schema) || '.' || uidgen_tools.write_name(n.name) INTO named
			FROM (SELECT uidgen_tools.shorten_name(t.name::text, octet_length('_deleted')) || '_deleted' AS name) AS n
			WHERE EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = t.schema AND c.relname = n.name)
				OR EXISTS (SELECT FROM pg_type AS y WHERE y.typnamespace = t.schema AND y.typname = n.name)
				OR EXISTS (SELECT FROM pg_proc AS p WHERE p.pronamespace = t.schema AND p.proname = n.name);
		IF named IS NOT NULL THEN
			RAISE EXCEPTION 'the name % is taken', named
				USING ERRCODE = 'duplicate_table', DETAIL = 'It is that of the table of deleted keys, and of the function that fills it.',
					HINT = 'Drop what has this name, or rename it.';
		END IF;
	END IF;
	SELECT string_agg(uidgen_tools.write_function(f.oid), ', ' ORDER BY f.oid) INTO named
		FROM unnest(ARRAY[uid_next, uid_stamp]) AS f (oid) WHERE NOT has_function_privilege(f.oid, 'EXECUTE');
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'the owner of table "%" may not draw ids', t.shown
			USING ERRCODE = 'insufficient_privilege', HINT = format('Let a superuser run GRANT EXECUTE ON FUNCTION %s TO %s.', named, uidgen_tools.write_role(t.owner));
	END IF;

	-- Values that are in the column already.
	IF uidgen_tools.find_version("table") IS NULL AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = version_column AND NOT a.attisdropped) THEN
		PERFORM uidgen_tools.refuse_hidden_rows("table", 'uid_track_changes()'), uidgen_tools.lock_by_name("table", t.written, 'ACCESS SHARE');
		named := uidgen.run_confined(format('SELECT max(r.%s) FROM %s AS r', uidgen_tools.write_name(version_column), t.written));
		IF uidgen.run_confined(format('SELECT count(*) FROM (SELECT FROM %2$s AS r WHERE r.%1$s IS NULL LIMIT 1) AS x', uidgen_tools.write_name(version_column), t.written))::bigint > 0 THEN
			RAISE EXCEPTION 'column "%" of table "%" has nulls', shown, t.shown
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'No reader would be told of these rows.',
					HINT = format('Run UPDATE %2$s SET %1$s = 0 WHERE %1$s IS NULL.', uidgen_tools.write_name(version_column), t.written);
		ELSIF named::bigint >= uidgen.first_since(now() + interval '1 day') THEN
			RAISE EXCEPTION 'column "%" of table "%" has values above all ids of today', shown, t.shown
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('The largest is %s. Readers would not see these rows.', named),
					HINT = 'Set them to 0, or name another column.';
		END IF;
	END IF;

	-- Where only reading about it does no harm.
	IF NOT "execute" THEN
		RETURN;
	END IF;
	IF d.function IS NULL AND NOT has_schema_privilege(t.schema, 'CREATE') THEN
		RAISE EXCEPTION 'permission denied for schema %', uidgen_tools.tame((SELECT n.nspname FROM pg_namespace AS n WHERE n.oid = t.schema))
			USING ERRCODE = 'insufficient_privilege', DETAIL = 'The table of deleted keys is made in it.',
				HINT = format('Let its owner run GRANT CREATE ON SCHEMA %s TO %s, for as long as uid_track_changes() takes.', uidgen_tools.write_schema(t.schema), uidgen_tools.write_role(t.owner));
	ELSIF NOT uidgen_tools.has_index("table", version_column) THEN
		PERFORM uidgen_tools.refuse_hidden_rows("table", 'uid_track_changes()'), uidgen_tools.lock_by_name("table", t.written, 'ACCESS SHARE');
		IF uidgen.run_confined(format('SELECT count(*) FROM (SELECT FROM %s LIMIT %s) AS x', t.written, most + 1))::bigint > most THEN
			RAISE EXCEPTION 'table "%" has more than % rows', t.shown, most
				USING ERRCODE = 'program_limit_exceeded', DETAIL = 'An index is built on the column, and nobody can use the table meanwhile.',
					HINT = 'Without "execute", uid_track_changes() prints the statements. In these the index comes last, and is built beside those who write, unless the table is partitioned.';
		END IF;
	END IF;
	PERFORM uidgen_tools.refuse_without_ids();
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_tracking(regclass, name, boolean, regprocedure, regprocedure) IS 'an error if uid_track_changes() cannot be had for a table, or cannot be run, with what to do';

CREATE FUNCTION uidgen_tools.find_version("table" regclass) RETURNS name
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT convert_from(substr(g.tgargs, 1, octet_length(g.tgargs) - 1), getdatabaseencoding())::name
		FROM pg_trigger AS g WHERE g.tgrelid = "table" AND g.tgname = '~uid_stamp' AND g.tgnargs = 1);
COMMENT ON FUNCTION uidgen_tools.find_version(regclass) IS 'the column in which a tracked table has its versions; null for others';

CREATE FUNCTION uidgen_tools.has_index("table" regclass, version_column name) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM pg_index AS i
			JOIN pg_class AS c ON c.oid = i.indexrelid
			JOIN pg_am AS m ON m.oid = c.relam AND m.amname = 'btree'
			JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attname = version_column AND a.attnum = i.indkey[0]
		WHERE i.indrelid = "table" AND i.indisvalid AND i.indpred IS NULL);
COMMENT ON FUNCTION uidgen_tools.has_index(regclass, name) IS 'whether readers find the rows of a version by an index';

-- An entry of an index takes some 80 bytes of WAL (78 on PostgreSQL 15 and on 18), and 22 in a btree of bigint.
CREATE FUNCTION uidgen_tools.describe_cost("table" regclass, keys integer) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH leaf AS (
		SELECT c.oid, c.reltuples::numeric AS rows, pg_stat_get_tuples_updated(c.oid) AS updated, pg_stat_get_tuples_hot_updated(c.oid) AS hot, pg_stat_get_tuples_deleted(c.oid) AS deleted
			FROM (SELECT "table"::oid AS relid UNION SELECT k.relid FROM pg_partition_tree("table") AS k) AS m JOIN pg_class AS c ON c.oid = m.relid
			WHERE c.relkind = 'r'),
	total AS (
		SELECT CASE WHEN bool_or(l.rows < 0) THEN NULL ELSE coalesce(sum(l.rows), 0) END AS rows, coalesce(sum(l.updated), 0) AS updated, coalesce(sum(l.hot), 0) AS hot, coalesce(sum(l.deleted), 0) AS deleted,
				(SELECT count(*) FROM pg_index AS i WHERE i.indrelid = "table") AS indexes
			FROM leaf AS l)
	SELECT u.line FROM total AS t CROSS JOIN LATERAL (VALUES
		(1, format('cost of each INSERT: an id, and an entry in the index of the versions, some 80 bytes of WAL')),
		(2, format('cost of each UPDATE: the same; and no UPDATE is HOT any more, so each writes an entry in all %s indexes of the table, the new one among them: some %s bytes of WAL more than a HOT one has. Of %s updates so far %s were HOT',
			t.indexes + 1, (t.indexes + 1) * 80, t.updated, CASE WHEN t.updated > 0 THEN format('%s %%', round(100 * t.hot / t.updated)) ELSE 'none' END)),
		(3, format('cost of each DELETE: a row of some %s bytes, until uid_purge_deleted() deletes it. Of %s deletes so far that would be %s', 58 + 8 * keys, t.deleted, pg_size_pretty(t.deleted * (58 + 8 * keys)))),
		(4, 'size: 8 bytes for each row that is written from now on, and 22 in the index: ' || CASE WHEN t.rows IS NULL THEN 'of how many rows is known after ANALYZE' ELSE format('of %s rows %s', t.rows, pg_size_pretty(t.rows * 30)) END)) AS u (n, line)
		ORDER BY u.n;
$$;
COMMENT ON FUNCTION uidgen_tools.describe_cost(regclass, integer) IS 'what tracking costs a table, by its own numbers, one sentence each';

CREATE FUNCTION uidgen_tools.describe_deleted("table" regclass, deleted text) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN NEXT format('who reads changes needs SELECT on table %s, and who writes needs nothing', deleted);
	IF EXISTS (SELECT FROM pg_publication AS p WHERE p.puballtables
			OR EXISTS (SELECT FROM pg_publication_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.pnnspid WHERE n.pnpubid = p.oid AND c.oid = "table")) THEN
		RETURN NEXT format('a publication takes table %s along: a subscriber that tracks the table has to leave that out, since versions count where they are drawn', deleted);
	END IF;
	IF EXISTS (SELECT FROM pg_partitioned_table AS p WHERE p.partrelid = "table") THEN
		RETURN NEXT format('what attaches, detaches or drops a partition by hand writes a mark in the same transaction: INSERT INTO %s DEFAULT VALUES', deleted);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.describe_deleted(regclass, text) IS 'what there is to be said about the table of deleted keys that uid_track_changes() makes';

-- Two keys are the same if the index says so.  PL/pgSQL finds no field of a record by a name with U&, so what the function
-- holds is written as it is: of the whole function one literal is made.
CREATE FUNCTION uidgen_tools.write_key("table" regclass, OUT columns text, OUT old_key text, OUT types text, OUT width integer, OUT same_key text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(k.plain, ', ' ORDER BY k.n), string_agg('OLD.' || k.plain, ', ' ORDER BY k.n), string_agg(k.name || ' ' || k.type, ', ' ORDER BY k.n), count(*)::integer,
			string_agg(format('(OLD.%s OPERATOR(%s.%s) NEW.%1$s)', k.name, k.schema, k.operator), ' AND ' ORDER BY k.n)
		FROM (SELECT n.n, uidgen_tools.write_name(a.attname) AS name, format('"%s"', replace(a.attname, '"', '""')) AS plain, uidgen_tools.write_type(a.atttypid) AS type, uidgen_tools.write_schema(o.oprnamespace) AS schema, o.oprname AS operator
			FROM pg_index AS i
				CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS n (n)
				JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n.n]
				JOIN pg_opclass AS c ON c.oid = i.indclass[n.n]
				JOIN pg_amop AS m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
				JOIN pg_operator AS o ON o.oid = m.amopopr
			WHERE i.indexrelid = uidgen_tools.choose_key("table")) AS k;
$$;
COMMENT ON FUNCTION uidgen_tools.write_key(regclass) IS 'the key of a table as its deleted keys are written: names, values of the old row, names and types, how many, and when an UPDATE leaves it as it is';

-- Of each trigger, how it is made, and how it is when it was made.  Those for TRUNCATE are not inherited.
CREATE FUNCTION uidgen_tools.write_triggers("table" regclass, version_column name, function text, uid_stamp regprocedure) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	WITH member AS (SELECT "table"::oid AS relid, 0 AS level UNION SELECT k.relid, k.level FROM pg_partition_tree("table") AS k),
	wanted AS (
		SELECT w.n, w.name, w.statement, format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %s;', t.written, uidgen_tools.write_name(w.name)) AS enables
			FROM uidgen_tools.write_relation("table") AS t (written) CROSS JOIN LATERAL (VALUES
				(1, '~uid_stamp', format('CREATE TRIGGER "~uid_stamp" BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s(%s);', t.written, rtrim(uidgen_tools.write_function(uid_stamp), '()'), uidgen_tools.write_literal(version_column::text))),
				(2, '~uid_delete', format('CREATE TRIGGER "~uid_delete" AFTER DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s;', t.written, function)),
				(3, '~uid_key', format('CREATE TRIGGER "~uid_key" AFTER UPDATE ON %s FOR EACH ROW WHEN (NOT (%s)) EXECUTE FUNCTION %s;', t.written, (uidgen_tools.write_key("table")).same_key, function))) AS w (n, name, statement)),
	stale AS (
		SELECT 0 AS level, w.n::text AS place, g.oid IS NULL AS is_missing, ARRAY[w.statement, w.enables] AS lines
			FROM wanted AS w LEFT JOIN pg_trigger AS g ON g.tgrelid = "table" AND g.tgname = w.name
			WHERE g.oid IS NULL OR EXISTS (SELECT FROM pg_trigger AS o JOIN member AS m ON m.relid = o.tgrelid WHERE o.tgname = w.name AND o.tgenabled <> 'A')
		UNION ALL
		SELECT 1 + m.level, m.relid::regclass::text, g.oid IS NULL, uidgen_tools.write_truncate_trigger(uidgen_tools.write_relation(m.relid), function)
			FROM member AS m LEFT JOIN pg_trigger AS g ON g.tgrelid = m.relid AND g.tgname = '~uid_truncate'
			WHERE g.tgenabled IS DISTINCT FROM 'A')
	SELECT u.line FROM stale AS s CROSS JOIN LATERAL unnest(s.lines) WITH ORDINALITY AS u (line, n)
		WHERE s.is_missing OR u.n = 2
		ORDER BY s.level, s.place, u.n;
$$;
COMMENT ON FUNCTION uidgen_tools.write_triggers(regclass, name, text, regprocedure) IS 'the statements that make the triggers by which a table is tracked, and enable them, as far as they are missing or not enabled';

CREATE FUNCTION uidgen_tools.plan_tracking("table" regclass, version_column name, execute boolean, uid_next regprocedure, uid_stamp regprocedure, OUT part text, OUT line text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	t record;
	d record;
	k record;
	version constant text := uidgen_tools.write_name(version_column::text);
	name text;
	raw_name text;
	deleted text;
	function text;
	is_new boolean;
	steps text[] := '{}';
	late text;
	remarks text[] := '{}';
	undo text[] := '{}';
BEGIN
	SELECT uidgen_tools.write_relation(c.oid) AS written, c.relname::text AS name, c.relnamespace AS schema, c.relowner AS owner, c.relkind = 'p' AS is_partitioned
		INTO t FROM pg_class AS c WHERE c.oid = "table";
	d := uidgen_tools.find_deleted("table");
	SELECT w.* INTO k FROM uidgen_tools.write_key("table") AS w;

	is_new := NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = version_column);
	IF is_new THEN
		steps := steps || format('ALTER TABLE %s ADD COLUMN %s pg_catalog.int8 NOT NULL DEFAULT 0;', t.written, version);
		undo := undo || format('ALTER TABLE %s DROP COLUMN %s;', t.written, version);
	ELSIF EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = version_column AND NOT a.attnotnull) THEN
		steps := steps || format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', t.written, version);
		undo := undo || format('ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL;', t.written, version);
	END IF;
	IF d.function IS NULL THEN
		raw_name := uidgen_tools.shorten_name(t.name, octet_length('_deleted')) || '_deleted';
		name := uidgen_tools.write_name(raw_name);
		deleted := uidgen_tools.write_schema(t.schema) || '.' || name;
		function := deleted || '()';
		-- Whoever runs what is printed may be somebody else than the owner.
		steps := steps || format('CREATE TABLE %s (%s, %s pg_catalog.int8 PRIMARY KEY DEFAULT %s);', deleted, k.types, version, uidgen_tools.write_function(uid_next))
			|| CASE WHEN "execute" THEN '{}'::text[] ELSE ARRAY[format('ALTER TABLE %s OWNER TO %s;', deleted, uidgen_tools.write_role(t.owner))] END
			|| format('CREATE FUNCTION %s RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %s;', function,
				uidgen_tools.write_literal(uidgen_tools.write_deleted_function(deleted, t.schema, raw_name, k.columns, k.old_key)))
			-- Whoever may call it could write deleted keys by a table of his own.
			|| (SELECT format('REVOKE ALL ON FUNCTION %s FROM %s;', function, string_agg(DISTINCT uidgen_tools.write_role(g.grantee), ', '))
				FROM (SELECT 0::oid UNION
					SELECT g.grantee FROM pg_default_acl AS f, aclexplode(f.defaclacl) AS g WHERE (f.defaclrole = t.owner OR NOT "execute") AND f.defaclobjtype = 'f' AND g.grantee <> t.owner) AS g (grantee))
			|| CASE WHEN "execute" THEN '{}'::text[] ELSE ARRAY[format('ALTER FUNCTION %s OWNER TO %s;', function, uidgen_tools.write_role(t.owner))] END;
		undo := format('DROP TABLE %s;', deleted) || undo;
		undo := format('DROP FUNCTION %s CASCADE;', function) || undo;
	ELSE
		deleted := uidgen_tools.write_relation(d.relation);
		function := uidgen_tools.write_function(d.function);
	END IF;

	IF NOT EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = "table" AND g.tgname = '~uid_stamp') THEN
		undo := format('DROP TRIGGER "~uid_stamp" ON %s;', t.written) || undo;
	END IF;
	steps := steps || ARRAY(SELECT w.line FROM uidgen_tools.write_triggers("table", version_column, function, uid_stamp) WITH ORDINALITY AS w (line, n) ORDER BY w.n);
	-- While a trigger was missing or disabled, changes were told to nobody.
	IF d.function IS NOT NULL AND cardinality(steps) > 0 THEN
		steps := steps || uidgen_tools.write_mark(d.relation);
		remarks := remarks || 'changes may have been missed: all readers copy the table anew'::text;
	END IF;
	IF NOT uidgen_tools.has_index("table", version_column) THEN
		name := uidgen_tools.find_free_name(t.schema, t.name, '_changed_idx');
		late := format('CREATE INDEX %s%s ON %s (%s);', CASE WHEN "execute" OR t.is_partitioned THEN '' ELSE 'CONCURRENTLY ' END, uidgen_tools.write_name(name), t.written, version);
		IF NOT is_new THEN
			undo := undo || format('DROP INDEX %s.%s;', uidgen_tools.write_schema(t.schema), uidgen_tools.write_name(name));
		END IF;
	END IF;

	IF is_new THEN
		remarks := remarks || ARRAY(SELECT c.line FROM uidgen_tools.describe_cost("table", k.width) WITH ORDINALITY AS c (line, n) ORDER BY c.n)
			|| format('rows from before have the version 0: a reader gets them by the first copy, and never by its place');
	END IF;
	IF d.function IS NULL THEN
		remarks := remarks || ARRAY(SELECT u.line FROM uidgen_tools.describe_deleted("table", deleted) WITH ORDINALITY AS u (line, n) ORDER BY u.n);
	END IF;
	IF cardinality(steps) > 0 THEN
		RETURN QUERY SELECT 'step', format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', t.written);
	END IF;
	IF cardinality(undo) > 0 THEN
		undo := format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', t.written) || undo;
	END IF;
	RETURN QUERY SELECT 'step', u.line FROM unnest(steps) AS u (line);
	RETURN QUERY SELECT 'late', late WHERE late IS NOT NULL;
	RETURN QUERY SELECT 'remark', u.line FROM unnest(remarks) AS u (line);
	RETURN QUERY SELECT 'undo', u.line FROM unnest(undo) AS u (line);
END
$$;
COMMENT ON FUNCTION uidgen_tools.plan_tracking(regclass, name, boolean, regprocedure, regprocedure) IS 'the statements by which the changes of a table are tracked, to be printed or run, what they cost, and the statements that undo them';

CREATE FUNCTION uidgen_tools.track_changes("table" regclass, version_column name, execute boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	patience text := current_setting('lock_timeout');
	uid_next regprocedure;
	uid_stamp regprocedure;
	written text;
	parts text[];
	lines text[];
	runs boolean := "execute";
BEGIN
	IF num_nulls("table", version_column, runs) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_track_changes() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the table; the column is "changed" unless another one is named.';
	ELSIF runs AND current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_track_changes() runs its statements in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see what others do before it has its locks.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;
	uid_next := uidgen_tools.find_function('uid_next', 'uidgen_next');
	uid_stamp := uidgen_tools.find_function('uid_stamp', 'uidgen_stamp');
	IF runs THEN
		PERFORM uidgen_tools.be_patient();
	END IF;
	PERFORM uidgen_tools.refuse_tracking("table", version_column, runs, uid_next, uid_stamp);
	SELECT array_agg(p.part ORDER BY p.n), array_agg(p.line ORDER BY p.n) INTO parts, lines
		FROM uidgen_tools.plan_tracking("table", version_column, runs, uid_next, uid_stamp) WITH ORDINALITY AS p (part, line, n);
	IF parts IS NULL THEN
		RAISE NOTICE 'nothing is to be done: the changes of table "%" are tracked', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"));
		PERFORM set_config('lock_timeout', patience, true);
		RETURN;
	END IF;
	-- With its partitions, so that none has another owner or name by then.  What has changed before is looked at once more.
	IF runs THEN
		written := uidgen_tools.write_relation("table");
		PERFORM uidgen.run_confined(format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', written));
		IF uidgen_tools.write_relation("table") IS DISTINCT FROM written THEN
			PERFORM uidgen_tools.explain_renaming("table");
		END IF;
		PERFORM uidgen_tools.refuse_tracking("table", version_column, runs, uid_next, uid_stamp);
		SELECT array_agg(p.part ORDER BY p.n), array_agg(p.line ORDER BY p.n) INTO parts, lines
			FROM uidgen_tools.plan_tracking("table", version_column, runs, uid_next, uid_stamp) WITH ORDINALITY AS p (part, line, n);
	END IF;
	RETURN QUERY SELECT c.s FROM uidgen_tools.carry_out(parts, lines, runs) AS c (s);
	-- Functions, too, were known by their OIDs, and named in statements.
	IF runs AND NOT EXISTS (
		SELECT FROM uidgen_tools.find_deleted("table") AS d
			JOIN pg_proc AS f ON f.oid = d.function AND f.prosecdef AND pg_get_userbyid(f.proowner) = current_user
			JOIN pg_trigger AS g ON g.tgrelid = "table" AND g.tgname = '~uid_stamp' AND g.tgfoid = uid_stamp
			JOIN pg_attrdef AS a ON a.adrelid = d.relation
			JOIN pg_depend AS n ON n.classid = 'pg_attrdef'::regclass AND n.objid = a.oid AND n.refclassid = 'pg_proc'::regclass AND n.refobjid = uid_next)
	THEN
		RAISE EXCEPTION 'a function or schema was renamed meanwhile'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'The triggers would call another function. Who may rename schemas could put that into its place.',
				HINT = 'Call it again.';
	END IF;
	PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION uidgen_tools.track_changes(regclass, name, boolean) IS 'uid_track_changes(), which cannot have settings of its own and be seen as one query';

CREATE FUNCTION @extschema@.uid_track_changes("table" regclass, version_column name DEFAULT 'changed', execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT t.s FROM uidgen_tools.track_changes("table", version_column, execute) AS t (s);
END;
COMMENT ON FUNCTION @extschema@.uid_track_changes(regclass, name, boolean)
	IS 'the statements by which readers see each insert, update and delete of a table; optionally runs them in place of returning them; the cost, and the way back, are messages';

-- The newest of the keys that go becomes a mark, in the same statement: who has not read as far is told to copy anew.
CREATE FUNCTION uidgen_tools.purge_deleted("table" regclass, before timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	present CONSTANT timestamptz := now();
	d record;
	written text;
	version text;
	first_key text;
	no_keys text;
	floor bigint;
BEGIN
	IF num_nulls("table", before) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_purge_deleted() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the table, and the time before which its keys were deleted.';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_purge_deleted() works in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see that a table was renamed or given to another role before it has its lock.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;
	PERFORM uidgen_tools.refuse_other_kinds("table", 'Name');
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
	d := uidgen_tools.find_deleted("table");
	IF d.relation IS NULL THEN
		RAISE EXCEPTION 'the changes of table "%" are not tracked', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Name the table for which uid_track_changes() was called, not that of the deleted keys.';
	ELSIF before > present THEN
		RAISE EXCEPTION 'uid_purge_deleted() deletes only what is past'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('"before" is %s, and it is now %s.', before, present),
				HINT = 'Give a time that has passed, and that all readers have passed.';
	END IF;
	written := uidgen_tools.write_relation(d.relation);
	version := uidgen_tools.write_name(d.version);
	PERFORM uidgen_tools.lock_by_name(d.relation, written, 'SHARE UPDATE EXCLUSIVE');
	PERFORM uidgen_tools.refuse_other_owners(ARRAY[d.relation]);
	SELECT (array_agg(uidgen_tools.write_name(a.attname) ORDER BY a.attnum))[1], string_agg(format('%s = NULL', uidgen_tools.write_name(a.attname)), ', ' ORDER BY a.attnum) INTO first_key, no_keys
		FROM pg_attribute AS a WHERE a.attrelid = d.relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> d.version;
	floor := uidgen.run_confined(format('SELECT max(d.%2$s) FROM %1$s AS d WHERE d.%2$s < %3$s AND d.%4$s IS NOT NULL', written, version, uidgen.first_since(before), first_key));
	IF floor IS NULL THEN
		RETURN 0;
	END IF;
	RETURN uidgen.run_confined(format('WITH gone AS (DELETE FROM %1$s AS d WHERE d.%2$s < %3$s RETURNING d.%4$s), mark AS (UPDATE %1$s AS d SET %5$s WHERE d.%2$s = %3$s RETURNING 1) SELECT (SELECT count(g.%4$s) FROM gone AS g) + count(*) FROM mark',
		written, version, floor, first_key, no_keys));
END
$$;
COMMENT ON FUNCTION uidgen_tools.purge_deleted(regclass, timestamptz) IS 'uid_purge_deleted(), which cannot have settings of its own and be seen as one query';

CREATE FUNCTION @extschema@.uid_purge_deleted("table" regclass, before timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT uidgen_tools.purge_deleted("table", before);
END;
COMMENT ON FUNCTION @extschema@.uid_purge_deleted(regclass, timestamptz)
	IS 'deletes the deleted keys of a tracked table from before a time, and leaves a mark for readers that have not read them; how many';
