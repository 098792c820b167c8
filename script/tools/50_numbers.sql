--
-- Numbers without gaps: final rows get 1, 2, 3 ... in a table of their own.
--
-- uid_number_rows() numbers by INSERT alone.  A number in a column of the table would need an UPDATE of each row: writers and numbering would
-- deadlock, and readers of changes would see a change more for each row.  So no row of the table is changed or locked.  No lock is needed: a row gets its
-- number after a snapshot has shown the row, so the row is committed, and a row that is deleted meanwhile keeps its number, like a row that is deleted later.
--
-- A row of a third table holds the last number.  Each batch locks this row before it reads anything.  So callers wait for each other, and see the numbers of
-- the caller before.  The lock ends with the transaction; a session's lock would stay in a pooler.  max(number) would give a number again after
-- the row with this number was deleted.
--
-- Rows that are not final yet are counted, and left for the next call.
--
-- Both tables record whose numbers they have, and the comment of a column says that the numbers belong to its ids: the comment follows a rename, and is in a
-- dump.  The comment on the table of numbers repeats the name, for users who replace the column's comment.  Numbers begin only when the caller says so: a name without
-- numbers may belong to another table, and numbers are made to prevent a second series.
--

CREATE FUNCTION uidgen_tools.is_unique(relation oid, "column" name, type regtype DEFAULT 'bigint'::regtype) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM pg_attribute AS a JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indkey[0] = a.attnum
		WHERE a.attrelid = relation AND a.attname = "column" AND a.attnum > 0 AND a.atttypid = type AND a.attnotnull
			AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1 AND i.indpred IS NULL);
COMMENT ON FUNCTION uidgen_tools.is_unique(oid, name, regtype) IS 'whether a column is of a type, never null and never the same in two rows';

-- A table of numbers has its record in a constraint that is always true.  The constraint refers to the named table by OID: so it follows a rename or a new schema,
-- a dump writes the present name, and DROP TABLE names what depends on the table.  The constraint is NOT VALID, so a dump adds it after the rows: this
-- statement alone fails when the named table is missing, and no number is lost.
CREATE FUNCTION uidgen_tools.list_number_records(OUT relation oid, OUT record name, OUT "table" oid) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT k.conrelid, k.conname, d.refobjid FROM pg_constraint AS k JOIN pg_depend AS d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid AND d.deptype = 'n'
		WHERE k.contype = 'c' AND k.conname IN ('uid_numbers_of', 'uid_last_number_of') AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> k.conrelid;
END;
COMMENT ON FUNCTION uidgen_tools.list_number_records() IS 'which tables say that they have the numbers, or the last number, of which table';

CREATE FUNCTION uidgen_tools.write_number_record(relation oid, written text, record text, "table" regclass) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('ALTER TABLE %s %sADD CONSTRAINT %s CHECK (%s IS NOT NULL) NOT VALID;', written,
		CASE WHEN EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = relation AND k.conname = record) THEN format('DROP CONSTRAINT %s, ', record) ELSE '' END,
		record, uidgen_tools.write_regclass("table"));
COMMENT ON FUNCTION uidgen_tools.write_number_record(oid, text, text, regclass) IS 'the statement by which a table says whose numbers it has';

CREATE FUNCTION uidgen_tools.find_numbered("table" regclass, numbers oid) RETURNS name
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.name FROM (SELECT a.attname AS name, uidgen_tools.find_line(col_description(a.attrelid, a.attnum), 'uidgen: rows are numbered by ') = 'uidgen: rows are numbered by this column' AS is_noted,
				uidgen_tools.find_line(obj_description(numbers, 'pg_class'), 'uidgen: numbers of column ') = 'uidgen: numbers of column ' || uidgen_tools.write_name(a.attname) AS is_named
			FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attnum > 0 AND NOT a.attisdropped) AS c
		WHERE c.is_noted OR c.is_named ORDER BY c.is_noted IS NOT TRUE, c.is_named IS NOT TRUE LIMIT 1;
$$;
COMMENT ON FUNCTION uidgen_tools.find_numbered(regclass, oid) IS 'the column whose ids have the numbers, if anything says which';

-- A constraint allows the counter a single row.  The counter has a key, since a publication may have all tables.
CREATE FUNCTION uidgen_tools.write_counter(counter text, numbers text) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY[format('CREATE TABLE %s (one pg_catalog.bool PRIMARY KEY DEFAULT true CHECK (one), number pg_catalog.int8 NOT NULL, id pg_catalog.int8 NOT NULL);', counter),
	format('INSERT INTO %s (number, id) SELECT coalesce(pg_catalog.max(n.number), 0), coalesce(pg_catalog.max(n.id), %s) FROM %s AS n;', counter, -9223372036854775808, numbers)];
COMMENT ON FUNCTION uidgen_tools.write_counter(text, text) IS 'the statements that make the table of the last number, and its row';

-- Records on tables of another role do not count.
CREATE FUNCTION uidgen_tools.find_numbers("table" regclass, OUT schema oid, OUT owner oid, OUT number_name text, OUT counter_name text, OUT numbers oid, OUT counter oid)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT t.relnamespace, t.relowner, uidgen_tools.shorten_name(t.relname, 7) || '_number', uidgen_tools.shorten_name(t.relname, 15) || '_number_counter', r.numbers, r.counter
		FROM pg_class AS t CROSS JOIN LATERAL (
			SELECT max(c.oid) FILTER (WHERE l.record = 'uid_numbers_of') AS numbers, max(c.oid) FILTER (WHERE l.record = 'uid_last_number_of') AS counter
				FROM uidgen_tools.list_number_records() AS l JOIN pg_class AS c ON c.oid = l.relation AND c.relowner = t.relowner WHERE l."table" = t.oid) AS r
		WHERE t.oid = find_numbers."table";
$$;
COMMENT ON FUNCTION uidgen_tools.find_numbers(regclass) IS 'the table of a table''s numbers, and the table of its last number; the names to make them with, if there are none';

CREATE FUNCTION uidgen_tools.write_numbered("table" regclass, id_column name, numbers text, comment text) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT uidgen_tools.write_line("table", a.attname, 'uidgen: rows are numbered by ', c.line)
		FROM pg_attribute AS a CROSS JOIN LATERAL (SELECT CASE WHEN a.attname = id_column THEN 'uidgen: rows are numbered by this column' END) AS c (line)
		WHERE a.attrelid = "table" AND a.attnum > 0 AND NOT a.attisdropped AND uidgen_tools.write_comment('', col_description(a.attrelid, a.attnum), 'uidgen: rows are numbered by ', c.line) IS NOT NULL
	UNION ALL
	SELECT CASE WHEN f.numbers IS NULL THEN w.line ELSE uidgen_tools.write_line(f.numbers, NULL, 'uidgen: numbers of column ', l.line) END
		FROM uidgen_tools.find_numbers("table") AS f CROSS JOIN LATERAL (SELECT 'uidgen: numbers of column ' || uidgen_tools.write_name(id_column)) AS l (line)
			CROSS JOIN LATERAL uidgen_tools.write_comment('TABLE ' || write_numbered.numbers, write_numbered.comment, 'uidgen: numbers of column ', l.line) AS w (line) WHERE w.line IS NOT NULL;
$$;
COMMENT ON FUNCTION uidgen_tools.write_numbered(regclass, name, text, text) IS 'the statements by which tables say whose ids have the numbers';

CREATE FUNCTION uidgen_tools.check_numbers("table" regclass, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	written CONSTANT text := uidgen_tools.write_relation("table");
	f record;
	k record;
	counter text;
BEGIN
	SELECT n.* INTO f FROM uidgen_tools.find_numbers("table") AS n;
	RETURN QUERY SELECT 'tell', format('table %s, which has numbers, inherits from another one, or another one from it: uid_number_rows() refuses it', written), NULL
		FROM pg_class AS c WHERE c.oid = "table" AND c.relkind = 'r' AND NOT c.relispartition AND num_nonnulls(f.numbers, f.counter) > 0 AND EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent))
		UNION ALL SELECT 'tell', format('row security of table %s, which has numbers, holds for its owner, too: uid_number_rows() refuses it', written), NULL FROM uidgen_tools.list_hidden("table") AS h WHERE h.is_held AND num_nonnulls(f.numbers, f.counter) > 0;
	-- For each kind: the records that name this table, here and on other tables; the table found by name; whether there is any record.
	FOR k IN
		SELECT w.*, uidgen_tools.write_relation(w.own[1]) AS first, uidgen_tools.write_relation(w.named) AS shown, coalesce(num_nonnulls(f.numbers, f.counter) > 0, false) AS is_numbered,
				bool_and(w.named IS NOT NULL) OVER () AS are_named, (SELECT uidgen_tools.write_relation(l."table") FROM uidgen_tools.list_number_records() AS l WHERE l.relation = w.named AND l.record = w.record) AS former
			FROM (
				SELECT v.record, v.holds, v.n = 3 AS is_counter,
						ARRAY(SELECT l.relation FROM uidgen_tools.list_number_records() AS l JOIN pg_class AS c ON c.oid = l.relation AND c.relowner = f.owner WHERE l."table" = check_numbers."table" AND l.record = v.record ORDER BY 1) AS own,
						(SELECT min(uidgen_tools.write_relation(c.oid) || ' of role ' || uidgen_tools.write_role(c.relowner)) FROM uidgen_tools.list_number_records() AS l JOIN pg_class AS c ON c.oid = l.relation AND c.relowner <> f.owner
							WHERE l."table" = check_numbers."table" AND l.record = v.record) AS others,
						(SELECT c.oid FROM pg_class AS c WHERE c.relname = v.name AND c.relnamespace = f.schema AND c.relowner = f.owner AND c.relkind = 'r' AND v.n = (SELECT count(*) FROM pg_attribute AS a
							WHERE a.attrelid = c.oid AND a.attnum > 0 AND (a.attname, a.atttypid) IN (('one', 'boolean'::regtype), ('number', 'bigint'::regtype), ('id', 'bigint'::regtype)))) AS named
					FROM (VALUES ('uid_numbers_of', 'the numbers', f.number_name, 2), ('uid_last_number_of', 'the last number', f.counter_name, 3)) AS v (record, holds, name, n)) AS w
	LOOP
		statement := NULL;
		class := 'tell';
		IF cardinality(k.own) > 1 THEN
			what := format('%s tables say that they have %s of table %s: %s', cardinality(k.own), k.holds, written, (SELECT string_agg(uidgen_tools.write_relation(o.oid), ', ') FROM unnest(k.own) AS o (oid)));
			RETURN NEXT;
		ELSIF k.first IS NOT NULL THEN
			RETURN QUERY
				SELECT CASE WHEN a.atttypid = n.type THEN 'mend' ELSE 'tell' END, format('column "%s" of table %s is no %s', n.name, k.first, concat_ws(' ', CASE WHEN n.is_key THEN 'unique' END, n.type)),
						CASE WHEN a.atttypid = n.type THEN format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL, ADD %s (%2$s);', k.first, n.name,
							CASE WHEN n.name <> 'id' AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = k.own[1] AND i.indisprimary) THEN 'PRIMARY KEY' ELSE 'UNIQUE' END) END
					FROM (SELECT c.name, c.type, (c.name = 'one') = k.is_counter AS is_key FROM (VALUES ('one', 'boolean'::regtype), ('number', 'bigint'), ('id', 'bigint')) AS c (name, type)
							WHERE c.name <> 'one' OR k.is_counter) AS n
						LEFT JOIN pg_attribute AS a ON a.attrelid = k.own[1] AND a.attname = n.name
					WHERE (a.atttypid = n.type AND (NOT n.is_key OR uidgen_tools.is_unique(k.own[1], n.name, n.type))) IS NOT TRUE
				UNION ALL
				SELECT 'tell', format('others than the owner may write to table %s, which has %s of table %s', k.first, k.holds, written), w.line FROM uidgen_tools.write_revoke(k.own[1]) AS w (line) WHERE w.line IS NOT NULL
				UNION ALL
				SELECT 'tell', format('%s, which has %s of table %s, may change or leave out what is written there', w.what, k.holds, written), w.statement FROM uidgen_tools.list_meddlers(k.own[1]) AS w WHERE w.omits
				UNION ALL
				SELECT 'tell', format('constraint %s of table %s may take numbers away, or refuse them', uidgen_tools.write_name(o.conname), k.first), format('ALTER TABLE %s DROP CONSTRAINT %s;', k.first, uidgen_tools.write_name(o.conname))
					FROM pg_constraint AS o WHERE o.conrelid = k.own[1] AND o.contype = 'f'
				UNION ALL
				SELECT 'mend', format('table %s is not logged, and is empty after a crash', k.first), format('ALTER TABLE %s SET LOGGED;', k.first)
					FROM pg_class AS c WHERE c.oid = k.own[1] AND c.relpersistence = 'u'
				UNION ALL
				SELECT 'tell', format('row security of table %s, which has %s, %s', k.first, k.holds, w.what), format('ALTER TABLE %s %s ROW LEVEL SECURITY;', k.first, w.verb) FROM uidgen_tools.list_hidden(k.own[1]) AS w WHERE w.is_held
				UNION ALL
				SELECT 'tell', CASE WHEN n.name IS NULL THEN format('nothing says by which column the rows of table %s are numbered', written) ELSE format('column %s of table %s, by which rows are numbered, %s', uidgen_tools.write_name(n.name), written,
						CASE WHEN uidgen_tools.is_unique("table", n.name) THEN 'has their versions' ELSE 'is no unique bigint' END) END, NULL
					FROM uidgen_tools.find_numbered("table", k.own[1]) AS n (name) WHERE NOT k.is_counter AND (NOT uidgen_tools.is_unique("table", n.name) OR n.name = uidgen_tools.find_version("table"));
		ELSIF k.named IS NOT NULL AND (k.is_numbered OR k.are_named) THEN
			what := format('table %s has %s of table %s by its name, and says %s', k.shown, k.holds, written, coalesce('that it has the numbers of table ' || k.former, 'of no table that it has them'));
			statement := uidgen_tools.write_number_record(k.named, k.shown, k.record, "table");
			RETURN NEXT;
		ELSIF k.others IS NOT NULL THEN
			what := format('table %s says that it has %s of table %s, which belongs to role %s', k.others, k.holds, written, uidgen_tools.write_role(f.owner));
			RETURN NEXT;
		ELSIF k.is_numbered THEN
			what := format('the table that has %s of table %s is missing', k.holds, written);
			IF k.is_counter THEN
				-- A deleted number above all remaining numbers would be given again.
				what := what || ': if no number was deleted, the highest that is left was the last';
				counter := uidgen_tools.write_schema(f.schema) || '.' || uidgen_tools.write_name(uidgen_tools.find_free_name(f.schema, (SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"), '_number_counter'));
				FOREACH statement IN ARRAY array_remove(uidgen_tools.write_counter(counter, uidgen_tools.write_relation(f.numbers)) || uidgen_tools.write_number_record(NULL, counter, k.record, "table") || uidgen_tools.write_default_revoke("table", counter, 'SELECT', false), NULL) LOOP
					RETURN NEXT;
				END LOOP;
			ELSE
				RETURN NEXT;
			END IF;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_numbers(regclass) IS 'what is missing or wrong of the numbers of a table: to mend, with the statement, or to tell its owner, with that which may be right; nothing if all is as it was made';

-- A validated record does not stop numbering: so refuse_numbers() does not check it.
CREATE FUNCTION uidgen_tools.check_number_records("table" regclass, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT 'mend', format('constraint %s of table %s is validated: a dump of that table alone restores no number', l.record, w.written), uidgen_tools.write_number_record(l.relation, w.written, l.record::text, l."table")
		FROM uidgen_tools.list_number_records() AS l JOIN pg_constraint AS o ON o.conrelid = l.relation AND o.conname = l.record AND o.convalidated
			JOIN pg_class AS c ON c.oid = l.relation JOIN pg_class AS t ON t.oid = l."table" AND t.relowner = c.relowner CROSS JOIN LATERAL uidgen_tools.write_relation(l.relation) AS w (written)
		WHERE l."table" = check_number_records."table" ORDER BY l.record DESC;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_number_records(regclass) IS 'which records of the numbers of a table a dump writes before their rows, with the statement that mends it';

CREATE FUNCTION uidgen_tools.refuse_numbering("table" regclass, id_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	t record;
BEGIN
	IF num_nulls("table", id_column) > 0 THEN
		RAISE EXCEPTION 'neither table nor column of uid_number_rows() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the table, and the column that holds its ids.';
	END IF;
	PERFORM uidgen_tools.refuse_other_kinds("table", 'Number');
	PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
	PERFORM uidgen_tools.refuse_hidden_rows("table", 'uid_number_rows()');
	SELECT c.relkind AS kind, c.relispartition AS is_partition, uidgen_tools.tame(c.relname) AS shown INTO t FROM pg_class AS c WHERE c.oid = "table";
	IF NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = id_column AND a.attnum > 0) THEN
		RAISE EXCEPTION 'table "%" has no column "%"', t.shown, uidgen_tools.tame(id_column::text) USING ERRCODE = 'undefined_column';
	ELSIF NOT uidgen_tools.is_unique("table", id_column) THEN
		RAISE EXCEPTION 'column "%" of table "%" is not a unique bigint', uidgen_tools.tame(id_column::text), t.shown USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A row gets one number, and keeps it, by its id. So the column has to be of type bigint, NOT NULL, and unique by itself.',
				HINT = 'Name the primary key, if that is the column that holds the ids.';
	ELSIF id_column = uidgen_tools.find_version("table") THEN
		RAISE EXCEPTION 'column "%" of table "%" has the versions of its rows', uidgen_tools.tame(id_column::text), t.shown USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'Each update gives a row another one, so it would get one more number.', HINT = 'Name the column that holds the ids.';
	-- The partitions' ids can be equal.
	ELSIF NOT t.is_partition AND t.kind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i WHERE "table" IN (i.inhrelid, i.inhparent)) THEN
		RAISE EXCEPTION 'table "%" inherits from another one, or another one from it', t.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = 'Ids are unique in each of these tables, and not over all of them.',
				HINT = 'Number a table that is partitioned, or one that stands alone.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_numbering(regclass, name) IS 'an error unless the current role owns a table whose rows can be numbered by this column';

CREATE FUNCTION uidgen_tools.make_numbers("table" regclass, id_column name) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	shown CONSTANT text := uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"));
	f record;
	numbers text;
	counter text;
	makes text[];
	by_hand oid[];
BEGIN
	-- The second of two concurrent calls finds the tables of the first.
	PERFORM uidgen_tools.lock_by_name("table", uidgen_tools.write_relation("table"), 'SHARE UPDATE EXCLUSIVE');
	PERFORM uidgen_tools.refuse_numbering("table", id_column);
	f := uidgen_tools.find_numbers("table");
	numbers := uidgen_tools.write_schema(f.schema) || '.' || uidgen_tools.write_name(f.number_name);
	counter := uidgen_tools.write_schema(f.schema) || '.' || uidgen_tools.write_name(f.counter_name);
	makes := ARRAY[format('CREATE TABLE %s (number pg_catalog.int8 PRIMARY KEY, id pg_catalog.int8 NOT NULL UNIQUE);', numbers), (uidgen_tools.write_counter(counter, numbers))[1]];
	-- Two tables that check_numbers() knows by their names.  They were made by hand if they never had numbers: numbers that have begun left a row of the last number.
	by_hand := ARRAY(SELECT c.oid FROM pg_class AS c WHERE c.relname IN (f.number_name, f.counter_name) AND c.relnamespace = f.schema AND c.relowner = f.owner AND c.oid NOT IN (SELECT l.relation FROM uidgen_tools.list_number_records() AS l)
		AND (SELECT count(k.statement) FROM uidgen_tools.check_numbers("table") AS k) = 2);
	IF num_nulls(f.numbers, f.counter) = 2 AND cardinality(by_hand) = 2 THEN
		PERFORM uidgen_tools.refuse_other_owners(by_hand), uidgen_tools.lock_tables(NULL, by_hand, 'SHARE ROW EXCLUSIVE');
		makes := CASE WHEN NOT uidgen.run_confined(format('SELECT EXISTS (SELECT FROM %s) OR EXISTS (SELECT FROM %s)', numbers, counter))::boolean THEN '{}'::text[] ELSE makes END;
	END IF;
	IF num_nonnulls(f.numbers, f.counter) > 0 THEN
		RAISE EXCEPTION 'table "%" has numbers', shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'They can begin once.', HINT = 'Call it without "begin": the numbers go on, also where the call that began was broken off.';
	ELSIF makes <> '{}' AND (EXISTS (SELECT FROM pg_class AS c WHERE c.relname IN (f.number_name, f.counter_name) AND c.relnamespace = f.schema)
		OR EXISTS (SELECT FROM pg_type AS t WHERE t.typname IN (f.number_name, f.counter_name) AND t.typnamespace = f.schema)) THEN
		RAISE EXCEPTION 'the names of the tables for the numbers of table "%" are taken', shown
			USING ERRCODE = 'duplicate_table', DETAIL = format('They are %s and %s.', numbers, counter),
				HINT = 'If these have numbers of this table, call it without "begin", which says what is missing. Otherwise rename what has these names.';
	END IF;
	PERFORM uidgen_tools.refuse_publications("table", 'uid_number_rows', ARRAY(SELECT uidgen_tools.list_publications(f.schema)), 'Run at each subscriber, then here, and then call it again: ' || array_to_string(makes, ' '))
		WHERE makes <> '{}' AND f.schema <> pg_my_temp_schema();
	PERFORM uidgen.run_confined(l.line) FROM unnest(makes || (uidgen_tools.write_counter(counter, numbers))[2]
		|| uidgen_tools.write_number_record(NULL, numbers, 'uid_numbers_of', "table") || uidgen_tools.write_number_record(NULL, counter, 'uid_last_number_of', "table")
		|| ARRAY(SELECT w.line FROM uidgen_tools.write_numbered("table", id_column, numbers, NULL) AS w (line))
		|| ARRAY(SELECT uidgen_tools.write_default_revoke("table", m.made, 'SELECT', false) FROM unnest(ARRAY[numbers, counter]) AS m (made))) AS l (line) WHERE l.line IS NOT NULL;
	PERFORM uidgen.run_confined(r.line) FROM uidgen_tools.find_numbers("table") AS n CROSS JOIN unnest(ARRAY[n.numbers, n.counter]) AS o (oid) CROSS JOIN LATERAL uidgen_tools.write_revoke(o.oid) AS r (line) WHERE r.line IS NOT NULL;
	RAISE NOTICE 'the numbers of table "%" begin with 1, in table %', shown, numbers;
END
$$;
COMMENT ON FUNCTION uidgen_tools.make_numbers(regclass, name) IS 'makes the table of a table''s numbers, and the table of its last number, unless there are any';

CREATE FUNCTION uidgen_tools.refuse_numbers("table" regclass, id_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	f CONSTANT record := uidgen_tools.find_numbers("table");
	shown CONSTANT text := uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"));
	numbered CONSTANT name := uidgen_tools.find_numbered("table", f.numbers);
	faults text;
	statements text;
BEGIN
	SELECT upper(left(string_agg(c.what, '; '), 1)) || substr(string_agg(c.what, '; '), 2) || '.', array_to_string(uidgen_tools.with_patience(array_agg(c.statement) FILTER (WHERE c.statement IS NOT NULL)), ' ') INTO faults, statements FROM uidgen_tools.check_numbers("table") AS c;
	IF num_nulls(f.numbers, f.counter) = 2 THEN
		RAISE EXCEPTION 'table "%" has no numbers', shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = coalesce(faults, 'No table says that it has the numbers of this one.'),
				HINT = 'If they are to begin with 1 now, call it with begin => true. If there were numbers before, they are in a table under another name or of another role, or not restored: give them back first'
					|| coalesce(', by ' || statements, '.');
	ELSIF f.numbers IS NOT NULL AND numbered IS DISTINCT FROM id_column THEN
		RAISE EXCEPTION 'column "%" is not the one by which the rows of table "%" are numbered', uidgen_tools.tame(id_column::text), shown USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = coalesce('They are numbered by column ' || uidgen_tools.write_name(numbered) || '.', 'Nothing says which column that is.') || ' By other ids, each row would get one more number.',
				HINT = concat_ws(' ', 'Name column ' || uidgen_tools.write_name(numbered) || '.', 'If this one has the same ids, row by row, run:', (SELECT string_agg(w.line, ' ')
					FROM uidgen_tools.write_numbered("table", id_column, uidgen_tools.write_relation(f.numbers), obj_description(f.numbers, 'pg_class')) AS w (line)));
	ELSIF EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid IN (f.numbers, f.counter)) THEN
		RAISE EXCEPTION 'the numbers of table "%" come from a publisher', shown USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Numbers that are given here, the publisher would give to other rows.',
				HINT = 'Number the rows at the publisher. When this server has taken its place, drop the subscription.';
	ELSIF faults IS NOT NULL THEN
		RAISE EXCEPTION 'the numbers of table "%" are not as they were made', shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = faults, HINT = coalesce('If that is right, run: ' || statements, 'Let one table have them, or restore it.');
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_numbers(regclass, name) IS 'an error unless a table has all that numbers are given in, for this column, with what to do';

-- A batch; the last batch also counts the rows that are left.  A batch begins above the last id of the batch before: the whole call walks the index
-- of the ids once, beside the index of the numbered ids.  Settings exclude plans that read all rows in each batch.
CREATE FUNCTION uidgen_tools.number_batch("table" regclass, id_column name,
	INOUT place bigint, INOUT horizon bigint, INOUT numbered bigint, INOUT late bigint, begins boolean, OUT last_number bigint, OUT remaining bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
SET enable_hashjoin = off
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict error
DECLARE
	most CONSTANT integer := 5000;
	id CONSTANT text := uidgen_tools.write_name(id_column::text);
	tries integer := 0;
	f record;
	locked oid[];
	written text;
	numbers text;
	counter text;
	last_id bigint;
	highest bigint;
	-- rows found; rows numbered; the last number; late rows; the last id
	got bigint[];
BEGIN
	PERFORM uidgen_tools.hold_extensions();
	-- A crash would otherwise take numbers back that others have seen, and they would be given to other rows.
	PERFORM uidgen_tools.be_patient(), uidgen_tools.refuse_numbering("table", id_column), set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true);
	SELECT coalesce(numbered, 0), coalesce(late, 0), uidgen_tools.write_relation("table") INTO numbered, late, written;
	PERFORM uidgen_tools.make_numbers("table", id_column) WHERE begins;
	-- What was found before there are all locks is looked at once more.
	LOOP
		PERFORM uidgen_tools.refuse_numbering("table", id_column), uidgen_tools.refuse_numbers("table", id_column);
		f := uidgen_tools.find_numbers("table");
		PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid, f.numbers, f.counter]);
		EXIT WHEN locked = ARRAY[f.numbers, f.counter];
		locked := ARRAY[f.numbers, f.counter];
		SELECT uidgen_tools.write_relation(f.numbers), uidgen_tools.write_relation(f.counter) INTO numbers, counter;
		PERFORM uidgen_tools.lock_by_name("table", written, 'ACCESS SHARE'), uidgen_tools.lock_by_name(f.numbers, numbers, 'ROW EXCLUSIVE'), uidgen_tools.lock_by_name(f.counter, counter, 'ROW EXCLUSIVE'),
			uidgen_tools.wait_for_lock(format('SELECT c.number FROM %s AS c FOR UPDATE', counter), f.counter, 'EXCLUSIVE', clock_timestamp());
	END LOOP;

	-- A column may have been renamed, or its comment replaced.  If the other record were lost later, another column with its name would be taken for it.
	PERFORM uidgen.run_confined(w.line) FROM uidgen_tools.write_numbered("table", id_column, numbers, obj_description(f.numbers, 'pg_class')) AS w (line);
	-- Statements after the lock see all numbers that were given before it.
	got := uidgen.run_confined(format('SELECT ARRAY[c.number, c.id] FROM %s AS c', counter))::bigint[];
	IF got IS NULL THEN
		RAISE EXCEPTION 'table % has no row', counter
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It has the last number, after which the next ones come.',
				HINT = 'Restore it. If all numbers are there, but this one is lost: ' || (uidgen_tools.write_counter(counter, numbers))[2];
	END IF;
	last_number := got[1];
	last_id := got[2];
	highest := uidgen.run_confined(format('SELECT n.number FROM %s AS n ORDER BY n.number DESC LIMIT 1', numbers));
	IF highest > last_number THEN
		RAISE EXCEPTION 'table % has numbers above the last one that was given, %', numbers, last_number
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Somebody has written them by hand, or has set the last number back.',
				HINT = format('Let numbers go on behind them: UPDATE %s SET number = %s;', counter, highest);
	-- A restore that is not finished looks so; all rows would get a second number.
	ELSIF highest IS NULL AND last_number > 0 THEN
		RAISE EXCEPTION 'table % is empty, and the last number was %', numbers, last_number
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'All rows would get a number once more.', HINT = 'Restore its rows.';
	END IF;

	-- A horizon that rises during the call would keep the call running as long as there are writers.  A second look, with a newer snapshot, gets an answer
	-- when the first look came at a bad moment.
	WHILE horizon IS NULL AND tries < 10 LOOP
		horizon := uidgen.present_horizon();
		tries := tries + 1;
	END LOOP;
	IF horizon IS NULL THEN
		RAISE EXCEPTION 'it is not known yet which rows are final' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'uid_horizon() is null, as it is while a transaction is prepared of which nobody knows whether it has drawn ids, or before the first grant of a server.',
				HINT = 'See uidgen.horizon_holders, and call it again.';
	END IF;

	got := uidgen.run_confined(format('WITH found AS MATERIALIZED (
				SELECT t.%1$s AS id FROM %2$s AS t WHERE t.%1$s > %4$s AND t.%1$s <= %5$s AND NOT EXISTS (SELECT FROM %3$s AS n WHERE n.id = t.%1$s) ORDER BY t.%1$s LIMIT %6$s),
			given AS (
				INSERT INTO %3$s (number, id) SELECT %7$s + row_number() OVER (ORDER BY f.id), f.id FROM found AS f ORDER BY f.id RETURNING number, id)
			SELECT ARRAY[(SELECT count(*) FROM found), count(*), coalesce(max(g.number), %7$s), count(*) FILTER (WHERE g.id < %8$s), (SELECT coalesce(max(f.id), %8$s) FROM found AS f)] FROM given AS g',
		id, written, numbers, coalesce(place, -9223372036854775808), horizon, most, last_number, last_id))::bigint[];
	IF got[1] <> got[2] OR got[3] <> last_number + got[1] THEN
		RAISE EXCEPTION 'not all rows that were given a number are in table %', numbers
			USING ERRCODE = 'triggered_action_exception', DETAIL = format('There were %s, and %s were stored. A number that is left out would be a gap.', got[1], got[2]),
				HINT = 'See that no trigger or rule of that table changes or leaves out rows.';
	END IF;
	IF got[1] > 0 THEN
		IF uidgen.run_confined(format('WITH kept AS (UPDATE %s SET number = %s, id = %s RETURNING 1) SELECT count(*) FROM kept', counter, got[3], greatest(last_id, got[5]))) <> '1' THEN
			RAISE EXCEPTION 'table % does not keep the last number', counter USING ERRCODE = 'triggered_action_exception', HINT = 'See that no trigger of that table leaves out the update.';
		END IF;
		numbered := numbered + got[1];
		late := late + got[4];
		last_number := got[3];
		place := got[5];
	END IF;
	IF got[1] < most THEN
		remaining := uidgen.run_confined(format('SELECT count(*) FROM %2$s AS t WHERE t.%1$s > %4$s AND NOT EXISTS (SELECT FROM %3$s AS n WHERE n.id = t.%1$s)',
			id, written, numbers, horizon));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.number_batch(regclass, name, bigint, bigint, bigint, bigint, boolean) IS 'numbers some rows above a place; how many are left is null unless these were the last ones';

-- A procedure that commits can have no settings of its own, and PostgreSQL looks up its names under the caller's search path.  So all names are qualified,
-- and the procedure only begins transactions.  It calls hold_extensions() by name: so it first makes sure that the schema belongs to a superuser,
-- and stays.
CREATE PROCEDURE @extschema@.uid_number_rows("table" regclass, id_column name, above bigint DEFAULT NULL, "begin" boolean DEFAULT false, INOUT numbered bigint DEFAULT NULL,
	INOUT late bigint DEFAULT NULL, INOUT last_number bigint DEFAULT NULL, INOUT horizon bigint DEFAULT NULL, INOUT remaining bigint DEFAULT NULL)
LANGUAGE plpgsql
AS $$
#variable_conflict error
DECLARE
	place bigint := above;
	begins boolean := "begin";
BEGIN
	-- COMMIT fails inside a transaction block of the caller, before there is work that would be lost.
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	numbered := NULL;
	late := NULL;
	horizon := NULL;
	LOOP
		BEGIN
			LOCK TABLE uidgen_tools.in_use IN ACCESS SHARE MODE;
		EXCEPTION WHEN lock_not_available THEN
			RAISE EXCEPTION 'the extensions are in use' USING ERRCODE = 'lock_not_available', HINT = 'Call it again. To wait for longer, set lock_timeout.',
				DETAIL = (SELECT pg_catalog.format('Whoever drops or changes them has locked them: processes %s.', pg_catalog.string_agg(coalesce(l.pid::pg_catalog.text, 'of a prepared transaction'), ', '))
					FROM pg_catalog.pg_locks AS l WHERE l.relation OPERATOR(pg_catalog.=) pg_catalog.to_regclass('uidgen_tools.in_use')::pg_catalog.oid AND l.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock');
		END;
		IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace AS n JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
			WHERE n.nspname OPERATOR(pg_catalog.=) 'uidgen_tools' AND r.rolsuper)
		THEN
			RAISE EXCEPTION 'the extensions were dropped meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		SELECT b.* INTO place, horizon, numbered, late, last_number, remaining FROM uidgen_tools.number_batch("table", id_column, place, horizon, numbered, late, begins) AS b;
		begins := false;
		EXIT WHEN remaining IS NOT NULL;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE @extschema@.uid_number_rows(regclass, name, bigint, boolean, bigint, bigint, bigint, bigint, bigint)
	IS 'gives 1, 2, 3 ... without gaps to all rows of a table up to the horizon that have no number yet; how many, how many of them late, the last number, that horizon, how many are above it';

