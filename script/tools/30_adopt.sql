--
-- Existing tables: new rows get ids of uidgen.
--
-- uid_adopt() returns the statements that adopt a column, or runs them.  Each question has a function: look_at_column() describes the column,
-- list_referring_columns() lists other columns with its values, refuse_adoption() has a check for each reason to refuse, and plan_adoption()
-- writes the statements and the way back.  adopt_column() calls these in order.  All of it runs with the rights of the caller, who has to own the
-- tables: refuse_others().
--
-- uid_adopt() returns statements alone: each is whole, and on one line.  Remarks, what a call has done, and the way back are messages.
-- 10_statements.sql writes all names in both.
--

-- A line in the comment of a column or table tells the tools its purpose, and survives the loss of triggers and defaults.
CREATE FUNCTION uidgen_tools.write_comment(object text, comment text, beginning text, line text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('COMMENT ON %s IS %s;', object, coalesce(uidgen_tools.write_literal(c.comment), 'NULL'))
		FROM (SELECT nullif(concat_ws(E'\n', (SELECT string_agg(u.line, E'\n' ORDER BY u.n) FROM unnest(string_to_array(uidgen_tools.bound_text(write_comment.comment), E'\n')) WITH ORDINALITY AS u (line, n) WHERE NOT starts_with(u.line, beginning)), line), '') AS comment) AS c
		WHERE c.comment IS DISTINCT FROM write_comment.comment AND (write_comment.comment IS NULL OR uidgen_tools.bound_text(write_comment.comment) IS NOT NULL);
$$;
COMMENT ON FUNCTION uidgen_tools.write_comment(text, text, text, text) IS 'the statement that puts a line into a comment in the place of those with the same beginning, or takes them out; null if it is so already, or the comment is too long';

-- The sequence that the column's default or identity draws from.
CREATE FUNCTION uidgen_tools.look_at_column("table" regclass, id_column name, uid_next regprocedure,
	OUT kind "char", OUT shown text, OUT written text, OUT owner oid, OUT number smallint, OUT type regtype, OUT identity "char",
	OUT generated "char", OUT value text, OUT sequence oid, OUT adopted boolean)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.relkind, uidgen_tools.tame(c.relname), uidgen_tools.write_relation(c.oid), c.relowner, a.attnum, a.atttypid,
			a.attidentity, a.attgenerated, d.value, s.sequence,
			starts_with(d.value, rtrim(uid_next::text, ')'))
		FROM pg_class AS c
			LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = id_column AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN LATERAL (SELECT e.oid, pg_get_expr(e.adbin, e.adrelid) AS value FROM pg_attrdef AS e
				WHERE e.adrelid = c.oid AND e.adnum = a.attnum) AS d ON true
			LEFT JOIN LATERAL (SELECT q.oid AS sequence FROM pg_depend AS p JOIN pg_class AS q ON q.relkind = 'S' AND (
					(p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass AND p.refobjid = q.oid)
					OR (p.classid = 'pg_class'::regclass AND p.objid = q.oid AND p.deptype = 'i'
						AND p.refclassid = 'pg_class'::regclass AND p.refobjid = c.oid AND p.refobjsubid = a.attnum))
				LIMIT 1) AS s ON true
		WHERE c.oid = "table";
$$;
COMMENT ON FUNCTION uidgen_tools.look_at_column(regclass, name, regprocedure) IS 'what uid_adopt() has to know of a column; nothing if there is no such table';

-- A printed statement may be run at any time: other tools and people may have written into the comment by then.
CREATE FUNCTION uidgen_tools.write_line("table" regclass, "column" name, beginning text, line text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('DO %s;', uidgen_tools.write_literal(format(CASE WHEN line IS NULL THEN 'BEGIN EXECUTE %s OPERATOR(pg_catalog.||) pg_catalog.quote_nullable(%s); END' ELSE 'BEGIN EXECUTE %s OPERATOR(pg_catalog.||) pg_catalog.quote_nullable(pg_catalog.concat_ws(pg_catalog.chr(10), %s, %s)); END' END,
			uidgen_tools.write_literal(format('COMMENT ON %s IS ', coalesce(format('COLUMN %s.', uidgen_tools.write_relation("table")) || uidgen_tools.write_name("column"), 'TABLE ' || uidgen_tools.write_relation("table")))),
			format(CASE WHEN "column" IS NULL THEN '(SELECT pg_catalog.string_agg(l, pg_catalog.chr(10)) FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.obj_description(%s, %3$L), pg_catalog.chr(10))) AS l WHERE NOT pg_catalog.starts_with(l, %4$s))'
				ELSE '(SELECT pg_catalog.string_agg(l, pg_catalog.chr(10)) FROM pg_catalog.pg_attribute AS a, pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.col_description(a.attrelid, a.attnum), pg_catalog.chr(10))) AS l WHERE a.attrelid OPERATOR(pg_catalog.=) %s AND a.attname OPERATOR(pg_catalog.=) %s AND NOT pg_catalog.starts_with(l, %4$s))' END,
				uidgen_tools.write_regclass("table"), uidgen_tools.write_literal("column"), 'pg_class', uidgen_tools.write_literal(beginning)), uidgen_tools.write_literal(line))));
$$;
COMMENT ON FUNCTION uidgen_tools.write_line(regclass, name, text, text) IS 'the statement that puts a line, or none, into what the comment of a column or table is when it runs, in the place of those with the same beginning';

-- The column itself, columns that refer to it by foreign keys over any number of tables, and columns of deleted keys.  The root stands for its
-- partitions.
CREATE FUNCTION uidgen_tools.list_referring_columns("table" regclass, id_column name,
	OUT relation regclass, OUT name name, OUT number smallint, OUT type regtype, OUT owner oid, OUT distance integer) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY WITH RECURSIVE referring (relid, name, distance) AS (
		SELECT "table"::oid, id_column, 0
		UNION
		SELECT coalesce(pg_partition_root(f.conrelid), f.conrelid), a.attname, r.distance + 1
			FROM referring AS r
				CROSS JOIN LATERAL (SELECT t.relid FROM uidgen_tools.list_members(r.relid) AS t) AS m (relid)
				JOIN pg_constraint AS f ON f.confrelid = m.relid AND f.contype = 'f' AND f.conparentid = 0
				CROSS JOIN LATERAL unnest(f.confkey, f.conkey) AS k (referred, referring)
				JOIN pg_attribute AS o ON o.attrelid = m.relid AND o.attnum = k.referred AND o.attname = r.name
				JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = k.referring
			WHERE r.distance < 100	-- keys can refer to each other in a circle
	)
	SELECT r.relid::regclass, r.name, a.attnum, a.atttypid::regtype, c.relowner, min(r.distance)
		FROM (SELECT f.relid, f.name, f.distance FROM referring AS f
			UNION ALL
			SELECT d.relation, f.name, f.distance + 1 FROM referring AS f JOIN pg_trigger AS g ON g.tgrelid = f.relid AND g.tgname = '~uid_delete' CROSS JOIN LATERAL uidgen_tools.seek_tracking(f.relid, NULL) AS d
				WHERE d.function IS NOT NULL AND EXISTS (SELECT FROM uidgen_tools.list_key(f.relid) AS k WHERE k.name = f.name)) AS r
			JOIN pg_class AS c ON c.oid = r.relid
			JOIN pg_attribute AS a ON a.attrelid = r.relid AND a.attname = r.name
		GROUP BY r.relid, r.name, a.attnum, a.atttypid, c.relowner
		ORDER BY min(r.distance), r.relid::regclass::text, r.name;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_referring_columns(regclass, name) IS 'a column, and all columns that hold its values because of foreign keys, or of deleted rows';

-- The type change of a column also reads each table that refers to it, or that it refers to, when PostgreSQL restores the foreign
-- keys.
CREATE FUNCTION uidgen_tools.refuse_others("table" regclass, id_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	changed oid[] := ARRAY(SELECT l.relation::oid FROM uidgen_tools.list_referring_columns("table", id_column) AS l WHERE l.type <> 'bigint'::regtype);
BEGIN
	IF cardinality(changed) > 0 THEN
		changed := ARRAY(SELECT f.relid FROM uidgen_tools.list_families(changed) AS f (relid));
		changed := ARRAY(SELECT CASE WHEN k.conrelid = ANY (changed) THEN k.confrelid ELSE k.conrelid END
			FROM pg_constraint AS k WHERE k.contype = 'f' AND (k.conrelid = ANY (changed) OR k.confrelid = ANY (changed))) || changed;
	END IF;
	PERFORM uidgen_tools.refuse_other_owners("table"::oid || changed);
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_others(regclass, name) IS 'an error unless the current role owns all tables that uid_adopt() reads, changes or has read for a column';

-- Triggers that run before each INSERT, and may replace the id.  The text of a PL/pgSQL function shows whether it does; other languages'
-- functions are unknown.
CREATE FUNCTION uidgen_tools.list_insert_triggers("table" regclass, id_column name, OUT trigger oid, OUT sets_it boolean) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT g.oid, l.lanname = 'plpgsql' AND (
			b.body ~* format('(^|;|\m(begin|then|else|loop)\M)\s*new\s*\.\s*"?%s"?\s*:?=', n.pattern)
			OR b.body ~* format('\minto\s[^;]*\mnew\s*\.\s*"?%s"?(\s|,|;)', n.pattern))
		FROM uidgen_tools.list_members("table") AS m
			JOIN pg_trigger AS g ON g.tgrelid = m.relid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgparentid = 0
				AND g.tgtype & 7 = 7	-- for each row, before, insert
			JOIN pg_proc AS p ON p.oid = g.tgfoid
			JOIN pg_language AS l ON l.oid = p.prolang
			CROSS JOIN LATERAL (SELECT regexp_replace(regexp_replace(uidgen_tools.bound_text(p.prosrc), '/\*.*?\*/', ' ', 'g'), '--[^\n]*', ' ', 'g') AS body) AS b
			CROSS JOIN (SELECT regexp_replace(id_column::text, '(\W)', '\\\1', 'g') AS pattern) AS n;
$$;
COMMENT ON FUNCTION uidgen_tools.list_insert_triggers(regclass, name) IS 'triggers that run before each INSERT, and whether they set a column, as far as that can be seen';

-- PostgreSQL takes down and puts up again the foreign keys of a column that gets another type, and for that locks the tables at both ends of each.
CREATE FUNCTION uidgen_tools.list_locked("table" regclass, id_column name) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH l AS MATERIALIZED (SELECT r.* FROM uidgen_tools.list_referring_columns("table", id_column) AS r WHERE r.type <> 'bigint'::regtype)
	SELECT u.relid FROM (SELECT "table"::oid UNION SELECT l.relation::oid FROM l
			UNION SELECT e.relid FROM l JOIN pg_constraint AS f ON f.contype = 'f' AND f.conparentid = 0 AND (f.conrelid = l.relation AND l.number = ANY (f.conkey) OR f.confrelid = l.relation AND l.number = ANY (f.confkey))
				CROSS JOIN LATERAL (VALUES (f.conrelid), (f.confrelid)) AS e (relid)) AS u (relid)
		ORDER BY u.relid;
$$;
COMMENT ON FUNCTION uidgen_tools.list_locked(regclass, name) IS 'the tables that uid_adopt() locks against everybody for a column';

CREATE FUNCTION uidgen_tools.list_read("table" regclass, id_column name) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH l AS MATERIALIZED (SELECT r.* FROM uidgen_tools.list_referring_columns("table", id_column) AS r WHERE r.type <> 'bigint'::regtype)
	SELECT coalesce(pg_partition_root(f.conrelid), f.conrelid) FROM l JOIN pg_constraint AS f ON f.contype = 'f' AND f.conparentid = 0 AND f.confrelid = l.relation AND l.number = ANY (f.confkey)
	EXCEPT SELECT l.relation FROM l ORDER BY 1;
$$;
COMMENT ON FUNCTION uidgen_tools.list_read(regclass, name) IS 'the tables that keep their types, and are read because a foreign key leads to a column that gets another type';

-- Triggers' functions, and what else receives the ids and may keep them in 32 bits, as far as catalogs and texts tell.
CREATE FUNCTION uidgen_tools.list_users_of_ids("table" regclass, id_column name) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	WITH holding AS (SELECT DISTINCT l.relation FROM uidgen_tools.list_referring_columns("table", id_column) AS l),
		after_rows AS (
			SELECT g.oid, g.tgname, g.tgrelid, g.tgfoid
				FROM holding AS h CROSS JOIN LATERAL uidgen_tools.list_members(h.relation) AS m
					JOIN pg_trigger AS g ON g.tgrelid = m.relid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgparentid = 0 AND g.tgtype & 2 = 0	-- after
						AND g.tgname NOT IN ('~uid_delete', '~uid_key', '~uid_truncate')),	-- whose table is changed, too
		functions AS (
			SELECT p.oid, count(*) OVER () AS number
				FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname NOT IN ('internal', 'c')
					CROSS JOIN LATERAL uidgen_tools.bound_text(p.prosrc) AS b (body)
				WHERE p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
					AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
					AND NOT EXISTS (SELECT FROM after_rows AS g WHERE g.tgfoid = p.oid)
					AND EXISTS (SELECT FROM holding AS h JOIN pg_class AS c ON c.oid = h.relation
						WHERE b.body ~* ('(^|\W)' || regexp_replace(c.relname::text, '(\W)', '\\\1', 'g') || '(\W|$)')
							OR EXISTS (SELECT FROM pg_depend AS d
								WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid))
					AND (coalesce(p.proallargtypes, p.proargtypes::oid[]) || p.prorettype && '{integer,smallint,integer[],smallint[]}'::regtype[]::oid[]
						OR b.body ~* '\m(integer|int|int4|smallint|int2)\M'))
	SELECT format('trigger %s of table %s runs after changes and calls %s: see that it has room for ids of 64 bits',
			uidgen_tools.write_name(g.tgname), uidgen_tools.write_relation(g.tgrelid), uidgen_tools.write_function(g.tgfoid)) FROM after_rows AS g
	UNION ALL
	(SELECT format('function %s names a table of these ids, and has integers of 32 bits: see that they are no ids', uidgen_tools.write_function(f.oid)) FROM functions AS f ORDER BY 1 LIMIT 20)
	UNION ALL
	SELECT format('such functions are %s, and these are the first 20', max(f.number)) FROM functions AS f HAVING max(f.number) > 20;
$$;
COMMENT ON FUNCTION uidgen_tools.list_users_of_ids(regclass, name) IS 'triggers and functions that may hold the ids of a column in fewer bits than new ones take, one sentence each';

-- A default can also contain the name of a sequence as a text, which is looked up when the default is computed.
CREATE FUNCTION uidgen_tools.write_default(value text, sequence oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT CASE WHEN value IS NULL THEN 'DROP DEFAULT'
		WHEN value ~ '^nextval\(''([^'']|'''')+''::regclass\)$' AND sequence IS NOT NULL THEN format('SET DEFAULT pg_catalog.nextval(%s)', uidgen_tools.write_regclass(sequence))
		WHEN value ~ '^nextval\(\(''([^'']|'''')+''::text\)::regclass\)$' THEN
			format('SET DEFAULT pg_catalog.nextval((%s::pg_catalog.text)::pg_catalog.regclass)', uidgen_tools.write_literal(replace((regexp_match(value, '''(([^'']|'''')+)'''))[1], '''''', '''')))
		ELSE 'SET DEFAULT ' || uidgen_tools.write_expression(value) END;
$$;
COMMENT ON FUNCTION uidgen_tools.write_default(text, oid) IS 'how a default is set again that the server writes so, under the search path "pg_catalog, pg_temp"';

-- The reasons to refuse uid_adopt(): refuse_adoption() checks them in their order.
CREATE FUNCTION uidgen_tools.refuse_column("table" regclass, id_column name, uid_next regprocedure) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	t record;
	shown constant text := uidgen_tools.tame(id_column::text);
	alter_column text;
	named text;
BEGIN
	SELECT l.* INTO t FROM uidgen_tools.look_at_column("table", id_column, uid_next) AS l;
	alter_column := format('ALTER TABLE %s ALTER COLUMN %s', t.written, uidgen_tools.write_name(id_column));

	-- The relation.
	IF t.number IS NULL THEN
		RAISE EXCEPTION 'table "%" has no column "%"', t.shown, shown
			USING ERRCODE = 'undefined_column', HINT = format('It has: %s.', (SELECT string_agg(uidgen_tools.write_name(a.attname), ', ' ORDER BY a.attnum)
					FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attnum > 0 AND NOT a.attisdropped));
	END IF;
	-- The checks from here on read the table.
	PERFORM uidgen_tools.refuse_others("table", id_column);
	SELECT uidgen_tools.write_relation(pg_partition_root("table")) INTO named FROM pg_class AS c WHERE c.oid = "table" AND c.relispartition;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'table "%" is a partition', t.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = format('Rows that come through table %s get their ids by the default of that.', named),
				HINT = format('Adopt table %s.', named);
	ELSIF t.kind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i WHERE "table" IN (i.inhrelid, i.inhparent)) THEN
		RAISE EXCEPTION 'table "%" inherits from another one, or another one from it', t.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = 'A default can be meant for one of these tables, or for all, and so can a sequence.',
				HINT = format('Set it by hand, for each table that is meant: ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s.', t.written, uidgen_tools.write_name(id_column), uidgen_tools.write_function(uid_next));
	END IF;

	-- The type of the column.
	IF t.generated <> '' THEN
		RAISE EXCEPTION 'column "%" of table "%" is generated', shown, t.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = format('It is computed by %s.', uidgen_tools.tame(t.value)),
				HINT = 'Adopt the key that it is computed from, if it is.';
	ELSIF t.type = 'uuid'::regtype THEN
		RAISE EXCEPTION 'column "%" of table "%" is of type uuid', shown, t.shown
			USING ERRCODE = 'datatype_mismatch', DETAIL = 'Ids are of type bigint. A uuid has twice as many bits, so none can become an id.',
				HINT = format('Give the table another column: ALTER TABLE %s ADD COLUMN uid bigint. New rows, and what refers to them, go by that one.', t.written);
	ELSIF t.type NOT IN ('bigint', 'integer', 'smallint') THEN
		RAISE EXCEPTION 'column "%" of table "%" is of type %', shown, t.shown, uidgen_tools.tame(t.type::text)
			USING ERRCODE = 'datatype_mismatch', DETAIL = 'Ids are of type bigint.',
				HINT = format('If it has whole numbers only, change it first: %s TYPE bigint; and so each column that refers to it.', alter_column);
	END IF;
	SELECT format('column "%s" of table %s is of type %s', uidgen_tools.tame(l.name), uidgen_tools.write_relation(l.relation), uidgen_tools.tame(l.type::text)) INTO named
		FROM uidgen_tools.list_referring_columns("table", id_column) AS l WHERE l.type NOT IN ('bigint', 'integer', 'smallint') LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'a foreign key that leads to column "%" of table "%" has another type', shown, t.shown
			USING ERRCODE = 'datatype_mismatch', DETAIL = format('The %s.', named),
				HINT = 'Change it to bigint first, so that it can hold new ids.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_column(regclass, name, regprocedure) IS 'an error if a column is not one whose values uid_next() could give, with what to do';

CREATE FUNCTION uidgen_tools.name_without_ids("table" regclass, uid_next regprocedure) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT string_agg(DISTINCT uidgen_tools.write_role(x.role), ', ')
		FROM (SELECT c.relowner FROM pg_class AS c WHERE c.oid = "table"
				UNION SELECT g.grantee FROM pg_class AS c, aclexplode(c.relacl) AS g WHERE c.oid = "table" AND g.privilege_type = 'INSERT'
				UNION SELECT g.grantee FROM pg_attribute AS a, aclexplode(a.attacl) AS g WHERE a.attrelid = "table" AND g.privilege_type = 'INSERT') AS x (role)
		WHERE NOT CASE x.role WHEN 0 THEN has_function_privilege('public', uid_next, 'EXECUTE') ELSE has_function_privilege(x.role, uid_next, 'EXECUTE') END);
END
$$;
COMMENT ON FUNCTION uidgen_tools.name_without_ids(regclass, regprocedure) IS 'who may insert into a table, and may not draw ids; null if nobody';

CREATE FUNCTION uidgen_tools.refuse_source("table" regclass, id_column name, uid_next regprocedure) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	t record;
	shown constant text := uidgen_tools.tame(id_column::text);
	alter_column text;
	named text;
BEGIN
	SELECT l.* INTO t FROM uidgen_tools.look_at_column("table", id_column, uid_next) AS l;
	alter_column := format('ALTER TABLE %s ALTER COLUMN %s', t.written, uidgen_tools.write_name(id_column));

	-- The source of the column's values.
	SELECT format('"%s", which refers to table %s', uidgen_tools.tame(f.conname), uidgen_tools.write_relation(f.confrelid)) INTO named
		FROM pg_constraint AS f WHERE f.conrelid = "table" AND f.contype = 'f' AND t.number = ANY (f.conkey) ORDER BY f.conname LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'column "%" of table "%" has the ids of another table', shown, t.shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('There is a foreign key, %s. A new id would be in no row there.', named),
				HINT = 'Adopt the table that it refers to. Rows here go on to bring its ids.';
	ELSIF t.value IS NOT NULL AND NOT t.adopted AND t.value !~ '^nextval\(\(?''([^'']|'''')+''(::text\))?::regclass\)$' THEN
		RAISE EXCEPTION 'column "%" of table "%" has a default that is no sequence', shown, t.shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It is %s.', uidgen_tools.tame(t.value)),
				HINT = format('If new ids shall take its place, drop it first: %s DROP DEFAULT.', alter_column);
	END IF;
	SELECT format('"%s" of table %s, which calls %s', uidgen_tools.tame(g.tgname), uidgen_tools.write_relation(g.tgrelid), uidgen_tools.write_function(g.tgfoid)) INTO named
		FROM uidgen_tools.list_insert_triggers("table", id_column) AS l JOIN pg_trigger AS g ON g.oid = l.trigger
		WHERE l.sets_it ORDER BY g.tgname, g.tgrelid LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'a trigger sets column "%" of table "%"', shown, t.shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It is %s. It comes after the default, and would replace new ids.', named),
				HINT = 'Drop or disable it, or take the assignment out of its function, and call uid_adopt() again.';
	END IF;

	-- Roles that may insert have to be able to draw ids, since PostgreSQL computes a default with the rights of the role that inserts.
	named := uidgen_tools.name_without_ids("table", uid_next);
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'not all who may insert into table "%" may draw ids', t.shown
			USING ERRCODE = 'insufficient_privilege', DETAIL = format('These may not: %s.', named),
				HINT = format('Let a superuser run GRANT EXECUTE ON FUNCTION %s TO %s.', uidgen_tools.write_function(uid_next), named);
	END IF;

	-- DROP IDENTITY drops the sequence, too.
	IF t.identity <> '' THEN
		SELECT string_agg(uidgen_tools.tame(pg_describe_object(d.classid, d.objid, d.objsubid)), ', ') INTO named
			FROM pg_depend AS d WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = t.sequence AND d.deptype = 'n';
		IF named IS NOT NULL THEN
			RAISE EXCEPTION 'others use the sequence of column "%" of table "%"', shown, t.shown USING ERRCODE = 'dependent_objects_still_exist',
					DETAIL = format('Sequence %s belongs to an identity column, and is used by: %s.', uidgen_tools.write_relation(t.sequence), named),
					HINT = 'Give these a sequence of their own, or adopt them first.';
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_source(regclass, name, regprocedure) IS 'an error if something else than a sequence gives a column its values, or who inserts may not draw ids, with what to do';

-- The reasons why integer columns cannot become bigint.
CREATE FUNCTION uidgen_tools.refuse_narrow_columns("table" regclass, id_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	named text;
BEGIN
	SELECT string_agg(DISTINCT w.what, '; ') INTO named
		FROM uidgen_tools.list_referring_columns("table", id_column) AS l
			JOIN pg_class AS c ON c.oid = l.relation,
			LATERAL (
				SELECT uidgen_tools.tame(pg_describe_object(d.classid, d.objid, d.objsubid))
					FROM pg_depend AS d
					WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = l.relation AND d.refobjsubid = l.number
						AND (d.classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_publication_rel'::regclass, 'pg_proc'::regclass)
							OR (d.classid = 'pg_trigger'::regclass AND EXISTS (SELECT FROM pg_trigger AS g WHERE g.oid = d.objid AND NOT g.tgisinternal
								AND NOT (g.tgname = '~uid_key' AND g.tgfoid = (uidgen_tools.seek_tracking(l.relation, NULL)).function))))
				UNION ALL
				SELECT format('generated column %s of table %s', uidgen_tools.write_name(a.attname), uidgen_tools.write_relation(l.relation))
					FROM pg_depend AS d
						LEFT JOIN pg_attrdef AS e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid
						JOIN pg_attribute AS a ON a.attrelid = l.relation AND a.attgenerated <> ''
							AND a.attnum = coalesce(e.adnum, CASE WHEN d.classid = 'pg_class'::regclass AND d.objid = l.relation THEN d.objsubid END)
					WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = l.relation AND d.refobjsubid = l.number AND a.attnum <> l.number
				UNION ALL
				SELECT format('table %s is partitioned by it', uidgen_tools.write_relation(k.relid))
					FROM uidgen_tools.list_members(l.relation) AS k
						JOIN pg_partitioned_table AS p ON p.partrelid = k.relid
						JOIN pg_attribute AS a ON a.attrelid = k.relid AND a.attname = l.name
					WHERE a.attnum = ANY (p.partattrs::smallint[])
				UNION ALL
				SELECT format('table %s is a foreign table', uidgen_tools.write_relation(k.relid))
					FROM uidgen_tools.list_members(l.relation) AS k JOIN pg_class AS o ON o.oid = k.relid WHERE o.relkind = 'f'
				UNION ALL
				SELECT format('table %s is of type %s', uidgen_tools.write_relation(l.relation), uidgen_tools.tame(c.reloftype::regtype::text)) WHERE c.reloftype <> 0
				UNION ALL
				SELECT format('table %s inherits from another one, or another one from it', uidgen_tools.write_relation(l.relation))
					WHERE c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i WHERE l.relation IN (i.inhrelid, i.inhparent))
			) AS w (what)
		WHERE l.type <> 'bigint'::regtype;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'columns that new ids do not fit into cannot be changed'
			USING ERRCODE = 'dependent_objects_still_exist', DETAIL = format('Columns of type integer and smallint have to become bigint. In the way are: %s.', named),
				HINT = 'Drop what is in the way, call uid_adopt() again, and create it anew, all in one transaction.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_narrow_columns(regclass, name) IS 'an error if columns of type integer and smallint cannot become bigint, with what to do';

CREATE FUNCTION uidgen_tools.refuse_rows("table" regclass, id_column name, uid_next regprocedure, lowest bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	t record;
	named text;
	parted text;
BEGIN
	SELECT l.* INTO t FROM uidgen_tools.look_at_column("table", id_column, uid_next) AS l;
	-- A partition for new ids.  With a key of one column, the partition is known; with other keys, only a default partition is certain to
	-- take new ids.
	SELECT uidgen_tools.write_relation(s.relid), pg_get_partkeydef(s.relid) INTO named, parted FROM (
		WITH RECURSIVE reached (relid) AS (
			SELECT "table"::oid
			UNION ALL
			SELECT i.inhrelid
				FROM reached AS p
					JOIN pg_partitioned_table AS k ON k.partrelid = p.relid
					JOIN pg_attribute AS a ON a.attrelid = p.relid AND a.attname = id_column
					JOIN pg_inherits AS i ON i.inhparent = p.relid AND NOT i.inhdetachpending
					JOIN pg_class AS c ON c.oid = i.inhrelid
					LEFT JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''?(MINVALUE|-?\d+)''?\) TO \(''?(MAXVALUE|-?\d+)''?\)$') AS b ON k.partnatts = 1
				WHERE NOT a.attnum = ANY (k.partattrs::smallint[]) OR k.partstrat = 'h' OR k.partdefid = i.inhrelid
					OR (coalesce(nullif(b[1], 'MINVALUE')::bigint <= lowest, b[1] IS NOT NULL) AND coalesce(nullif(b[2], 'MAXVALUE')::bigint > lowest, b[2] IS NOT NULL))
		)
		SELECT p.relid FROM reached AS p JOIN pg_partitioned_table AS k ON k.partrelid = p.relid
				JOIN pg_attribute AS a ON a.attrelid = p.relid AND a.attname = id_column
			WHERE a.attnum = ANY (k.partattrs::smallint[]) AND NOT EXISTS (SELECT FROM reached AS n JOIN pg_inherits AS i ON i.inhrelid = n.relid AND i.inhparent = p.relid)
			LIMIT 1) AS s;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'table "%" has no partition for new ids', t.shown
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('Table %s is partitioned by %s, and new ids begin at %s.', named, uidgen_tools.tame(parted), lowest),
				HINT = 'Make partitions for them first, from today on; uid_partitions() does.';
	END IF;

	-- Present ids in the range of new ids, such as rows of a column that was adopted before.
	PERFORM uidgen_tools.refuse_hidden_rows("table", 'uid_adopt()');
	IF NOT coalesce(t.adopted, false) THEN
		named := uidgen.run_confined(format('SELECT format(''%%s, the largest is %%s'', count(*), max(i.%1$s)) FROM %2$s AS i WHERE i.%1$s >= %3$s HAVING count(*) > 0',
			uidgen_tools.write_name(id_column), t.written, lowest));
		IF named IS NOT NULL THEN
			RAISE EXCEPTION 'table "%" has ids where new ones will be', t.shown
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('New ids begin at %s. Rows with that id or a larger one: %s.', lowest, named),
					HINT = 'If this server has just drawn them, call it again while nobody writes. The page docs/decoder.html tells what else made such numbers. Give these rows smaller ids, or choose a layout whose ids are larger, with an earlier epoch, before the first id is issued.';
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_rows(regclass, name, regprocedure, bigint) IS 'an error if a table has no partition for new ids, or has ids that lie where new ones will, with what to do';

-- These reasons refuse to run the statements, and not to print them.
CREATE FUNCTION uidgen_tools.refuse_running("table" regclass, id_column name, uid_next regprocedure) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	most constant bigint := 1000000;
	t record;
	r record;
	named text;
	total bigint := 0;
BEGIN
	SELECT l.* INTO t FROM uidgen_tools.look_at_column("table", id_column, uid_next) AS l;
	IF t.identity <> '' AND NOT has_schema_privilege((SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = "table"), 'CREATE') THEN
		RAISE EXCEPTION 'permission denied for schema %', uidgen_tools.tame((SELECT c.relnamespace::regnamespace::text FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'insufficient_privilege', DETAIL = 'The sequence of an identity column can be kept only as another one.',
				HINT = format('Let its owner run GRANT CREATE ON SCHEMA %s TO %s, for as long as uid_adopt() takes.', (SELECT uidgen_tools.write_schema(c.relnamespace) FROM pg_class AS c WHERE c.oid = "table"), uidgen_tools.write_name(current_user::text));
	END IF;
	SELECT string_agg(DISTINCT format('%s by "%s"', uidgen_tools.write_relation(l.relation), uidgen_tools.tame(p.pubname)), ', ') INTO named
		FROM uidgen_tools.list_referring_columns("table", id_column) AS l
			CROSS JOIN LATERAL uidgen_tools.list_members(l.relation) AS m
			JOIN pg_class AS c ON c.oid = m.relid
			JOIN pg_namespace AS n ON n.oid = c.relnamespace
			JOIN pg_publication_tables AS p ON p.schemaname = n.nspname AND p.tablename = c.relname
		WHERE l.type <> 'bigint'::regtype;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'tables that would get another type are published' USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('Published are: %s. A subscriber whose column is smaller stops at the first new id.', named),
				HINT = 'Change the type at the subscribers, and then here, by the statements that uid_adopt() prints without "execute".';
	END IF;
	FOR r IN SELECT l.relation FROM uidgen_tools.list_referring_columns("table", id_column) AS l WHERE l.type <> 'bigint'::regtype UNION SELECT l.relid::regclass FROM uidgen_tools.list_read("table", id_column) AS l (relid)
		-- Without such an index, refuse_rows() reads all rows, under the lock, too.
		UNION SELECT "table" WHERE NOT coalesce(t.adopted, false) AND EXISTS (SELECT FROM uidgen_tools.list_members("table") AS m JOIN pg_class AS c ON c.oid = m.relid AND c.relkind = 'r' JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = id_column
			WHERE NOT EXISTS (SELECT FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid JOIN pg_am AS y ON y.oid = x.relam AND y.amname = 'btree' WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indisvalid AND i.indpred IS NULL)) LOOP
		PERFORM uidgen_tools.lock_tables(NULL, ARRAY[r.relation::oid], 'ACCESS SHARE');
		total := total + uidgen.run_confined(format('SELECT count(*) FROM (SELECT FROM %s LIMIT %s) AS x', uidgen_tools.write_relation(r.relation), most + 1))::bigint;
	END LOOP;
	IF total > most THEN
		RAISE EXCEPTION 'tables with more than % rows would be rewritten, or read', most USING ERRCODE = 'program_limit_exceeded', DETAIL = 'To change integer into bigint, each row is written anew, and foreign keys that lead to it are checked anew. Without an index that begins with the column, its values are looked at in all rows. Nobody can read these tables meanwhile.',
				HINT = 'Without "execute", uid_adopt() prints the statements: run them when the tables can be locked for as long. Or make such an index before, or fill a new column beside the old one, and exchange them.';
	END IF;
	PERFORM uidgen_tools.refuse_without_ids();
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_running(regclass, name, regprocedure) IS 'an error if uid_adopt() cannot run its statements, with what to do';

CREATE FUNCTION uidgen_tools.refuse_adoption("table" regclass, id_column name, execute boolean, uid_next regprocedure, lowest bigint) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen_tools.refuse_other_kinds("table", 'Adopt'), uidgen_tools.refuse_others("table", id_column);
	-- Reading the column waits for locks on its table.
	PERFORM uidgen_tools.lock_tables(NULL, ARRAY["table"::oid], 'ACCESS SHARE');
	PERFORM uidgen_tools.refuse_column("table", id_column, uid_next);
	PERFORM uidgen_tools.refuse_source("table", id_column, uid_next);
	PERFORM uidgen_tools.refuse_narrow_columns("table", id_column);
	PERFORM uidgen_tools.refuse_rows("table", id_column, uid_next, lowest);
	IF "execute" THEN
		PERFORM uidgen_tools.refuse_running("table", id_column, uid_next);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_adoption(regclass, name, boolean, regprocedure, bigint) IS 'an error if uid_adopt() cannot be had for a column, or cannot be run, with what to do';

-- The name of the identity column's former sequence during the exchange; the same name on each server.
CREATE FUNCTION uidgen_tools.name_former(sequence name) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'uidgen_' || left(encode(sha256(convert_to(sequence::text, getdatabaseencoding())), 'hex'), 16);
COMMENT ON FUNCTION uidgen_tools.name_former(name) IS 'a name for a sequence while another one takes its own';

-- DROP IDENTITY drops the sequence: so a new sequence takes over its name, position, privileges, comment and labels, as does the identity's sequence on the way back.
CREATE FUNCTION uidgen_tools.exchange_sequence("table" regclass, id_column name, execute boolean, uid_next regprocedure, OUT steps text[], OUT undo text[])
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT ARRAY[q.leaves,
				format('CREATE %sSEQUENCE %s AS %s %s;', CASE c.relpersistence WHEN 't' THEN 'TEMPORARY ' WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, q.name, s.seqtypid::regtype, q.options),
				q.goes_on,
				format('%s DROP IDENTITY;', q.alter_column)]
			-- The role that runs the printed statement need not be the owner.
			|| CASE WHEN "execute" THEN '{}'::text[] ELSE ARRAY[format('ALTER SEQUENCE %s OWNER TO %s;', q.name, uidgen_tools.write_role(c.relowner))] END
			|| format('ALTER SEQUENCE %s OWNED BY %s.%s;', q.name, t.written, uidgen_tools.write_name(id_column)) || g.grants,
			ARRAY[format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', t.written),
				format('%s DROP DEFAULT;', q.alter_column),
				q.leaves,
				format('%s ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s);', q.alter_column, CASE t.identity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, q.name, q.options),
				q.goes_on,
				format('DROP SEQUENCE %s;', o.written)]
			-- The identity's sequence begins as its table is.
			|| ARRAY(SELECT format('ALTER SEQUENCE %s SET %s;', q.name, CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED' ELSE 'LOGGED' END) FROM pg_class AS r WHERE r.oid = "table" AND r.relpersistence <> c.relpersistence) || g.grants
		FROM uidgen_tools.look_at_column("table", id_column, uid_next) AS t
			JOIN pg_class AS c ON c.oid = t.sequence
			JOIN pg_sequence AS s ON s.seqrelid = c.oid
			CROSS JOIN LATERAL (SELECT uidgen_tools.write_name(uidgen_tools.name_former(c.relname)) AS name, uidgen_tools.write_schema(c.relnamespace) || '.' || uidgen_tools.write_name(uidgen_tools.name_former(c.relname)) AS written) AS o
			CROSS JOIN LATERAL (SELECT uidgen_tools.write_relation(c.oid) AS name, format('ALTER TABLE %s ALTER COLUMN %s', t.written, uidgen_tools.write_name(id_column)) AS alter_column,
				format('ALTER SEQUENCE %s RENAME TO %s;', uidgen_tools.write_relation(c.oid), o.name) AS leaves,
				format('SELECT pg_catalog.setval(%s, last_value, is_called) FROM %s;', uidgen_tools.write_regclass(c.oid), o.written) AS goes_on,
				format('INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s%s', s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache, CASE WHEN s.seqcycle THEN ' CYCLE' ELSE '' END) AS options) AS q
			-- Default privileges of the role that runs the statements apply to the new sequence, too.
			CROSS JOIN LATERAL (SELECT ARRAY(SELECT format('REVOKE ALL ON SEQUENCE %s FROM %s;', q.name, string_agg(DISTINCT uidgen_tools.write_role(e.grantee), ', '))
						FROM pg_default_acl AS d, aclexplode(d.defaclacl) AS e
						WHERE (d.defaclrole = c.relowner OR NOT "execute") AND d.defaclobjtype = 'S' AND e.grantee <> c.relowner
						HAVING count(*) > 0)
					|| ARRAY(SELECT format('GRANT %s ON SEQUENCE %s TO %s%s;', e.privilege_type, q.name, uidgen_tools.write_role(e.grantee), CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
						FROM aclexplode(c.relacl) AS e WHERE e.grantee <> c.relowner)
					|| ARRAY(SELECT format('COMMENT ON SEQUENCE %s IS %s;', q.name, uidgen_tools.write_literal(d.comment)) FROM obj_description(c.oid, 'pg_class') AS d (comment) WHERE d.comment IS NOT NULL)
					|| ARRAY(SELECT format('SECURITY LABEL FOR %s ON SEQUENCE %s IS %s;', uidgen_tools.write_name(b.provider), q.name, uidgen_tools.write_literal(b.label)) FROM pg_seclabel AS b
						WHERE b.classoid = 'pg_class'::regclass AND b.objoid = c.oid ORDER BY b.provider) AS grants) AS g
		WHERE t.identity <> '';
$$;
COMMENT ON FUNCTION uidgen_tools.exchange_sequence(regclass, name, boolean, regprocedure) IS 'the statements by which an identity column loses its identity and keeps its sequence, and those that undo them; nothing for others';

CREATE FUNCTION uidgen_tools.plan_adoption("table" regclass, id_column name, execute boolean, uid_next regprocedure, OUT part text, OUT line text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
SET datestyle = 'ISO, MDY'	-- or defaults would mean another day elsewhere
SET intervalstyle = postgres
SET extra_float_digits = 1
AS $$
#variable_conflict error
DECLARE
	t record;
	r record;
	alter_column text;
	rewritten text[] := '{}';
	around record;
	late text[] := '{}';
	steps text[];
	remarks text[] := '{}';
	undo text[];
	others text[];
	adopts boolean;
	noted text;
BEGIN
	SELECT l.* INTO t FROM uidgen_tools.look_at_column("table", id_column, uid_next) AS l;
	alter_column := format('ALTER TABLE %s ALTER COLUMN %s', t.written, uidgen_tools.write_name(id_column));

	SELECT q.steps, q.undo INTO steps, undo FROM uidgen_tools.exchange_sequence("table", id_column, "execute", uid_next) AS q;

	-- The farthest first.
	FOR r IN
		SELECT uidgen_tools.write_relation(l.relation) AS relation, l.relation AS relid, array_agg(l.name) AS names, string_agg(format('ALTER COLUMN %s TYPE bigint', uidgen_tools.write_name(l.name)), ', ' ORDER BY l.name) AS changes
			FROM uidgen_tools.list_referring_columns("table", id_column) AS l
			WHERE l.type <> 'bigint'::regtype
			GROUP BY l.relation ORDER BY max(l.distance) DESC, l.relation::text
	LOOP
		around := uidgen_tools.exchange_key(r.relid, r.names);
		steps := array_remove(ARRAY[around.before], NULL) || steps || format('ALTER TABLE %s %s;', r.relation, r.changes);
		late := late || around.after;
		rewritten := rewritten || r.relation;
	END LOOP;
	steps := steps || late;
	IF cardinality(rewritten) > 0 THEN
		remarks := remarks || format('all rows are written anew, and nobody reads them meanwhile: %s', array_to_string(rewritten, ', '))
			|| ARRAY(SELECT format('all rows are read, since a foreign key is checked anew, and nobody else reads them meanwhile: %s', string_agg(uidgen_tools.write_relation(l.relid), ', ')) FROM uidgen_tools.list_read("table", id_column) AS l (relid) HAVING count(*) > 0)
			|| 'programs that hold these ids in 32 bits have to change, too'::text;
	END IF;

	IF NOT coalesce(t.adopted, false) THEN
		steps := steps || format('%s SET DEFAULT %s;', alter_column, uidgen_tools.write_function(uid_next));
		IF t.identity = '' THEN
			-- A table's new default and type pass to its partitions.
			others := ARRAY(SELECT format('ALTER TABLE ONLY %s ALTER COLUMN %s %s;', uidgen_tools.write_relation(k.relid), uidgen_tools.write_name(id_column), uidgen_tools.write_default(d.value, d.sequence))
					FROM uidgen_tools.list_members("table") AS k
						CROSS JOIN LATERAL uidgen_tools.look_at_column(k.relid, id_column, uid_next) AS d
					WHERE d.value IS DISTINCT FROM t.value ORDER BY k.level, k.relid::regclass::text);
			-- Any other default is written so that it can be read under the search path of the statement.
			undo := undo || CASE WHEN cardinality(others) > 0 THEN ARRAY['SET LOCAL search_path = pg_catalog, pg_temp;'] ELSE '{}' END
				|| format('%s %s;', alter_column, uidgen_tools.write_default(t.value, t.sequence)) || others;
		END IF;
	END IF;
	adopts := t.adopted IS NOT TRUE OR cardinality(steps) > 0;
	-- DROP EXTENSION drops the default, too, also one of CREATE TABLE; this line tells uid_check_table() that there was a default.
	noted := CASE WHEN t.adopted IS NOT TRUE OR t.value = uid_next::text THEN uidgen_tools.write_comment(format('COLUMN %s.%s', t.written, uidgen_tools.write_name(id_column)), col_description("table", t.number), 'uidgen: the default is ', 'uidgen: the default is uid_next()') END;	-- uid_next(tag) is another one
	steps := array_remove(steps || CASE WHEN "execute" OR noted IS NULL THEN noted ELSE uidgen_tools.write_line("table", id_column, 'uidgen: the default is ', 'uidgen: the default is uid_next()') END, NULL);
	undo := array_remove(undo || CASE WHEN noted IS NOT NULL OR t.adopted IS NOT TRUE THEN uidgen_tools.write_line("table", id_column, 'uidgen: the default is ', NULL) END, NULL);
	IF t.sequence IS NOT NULL THEN
		remarks := remarks || format(CASE t.identity WHEN '' THEN 'sequence %s stays: in sessions that have used it, lastval() and currval() go on to return its numbers, without an error' ELSE 'another sequence %s takes the place of the identity''s: in sessions that have used the former, lastval() and currval() are errors' END, uidgen_tools.write_relation(t.sequence))
			|| ARRAY(SELECT format('it is used by %s, too', u.who) FROM (
				SELECT uidgen_tools.tame(pg_describe_object(d.classid, d.objid, d.objsubid))
					FROM pg_depend AS d LEFT JOIN pg_attrdef AS e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid
					WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = t.sequence AND d.deptype = 'n'
						AND (e.adrelid, e.adnum) IS DISTINCT FROM ("table"::oid, t.number)
						AND NOT EXISTS (SELECT FROM uidgen_tools.list_members("table") AS k WHERE k.level > 0 AND k.relid = e.adrelid)
				UNION
				SELECT format('function %s, by its text', uidgen_tools.write_function(p.oid))
					FROM pg_class AS q, pg_proc AS p CROSS JOIN LATERAL uidgen_tools.bound_text(p.prosrc) AS b (body)
					WHERE q.oid = t.sequence AND b.body ~* '(next|curr|set)val' AND strpos(lower(b.body), lower(q.relname)) > 0) AS u (who) ORDER BY u.who COLLATE "C");
	END IF;
	IF t.identity = 'a' THEN
		remarks := remarks || 'INSERT can bring an id from now on, without OVERRIDING SYSTEM VALUE'::text;
	END IF;
	remarks := remarks || ARRAY(SELECT DISTINCT format('trigger %s runs before each INSERT: see that it leaves the id as it is', uidgen_tools.write_name(g.tgname))
			FROM uidgen_tools.list_insert_triggers("table", id_column) AS l JOIN pg_trigger AS g ON g.oid = l.trigger WHERE g.tgname <> '~uid_stamp' ORDER BY 1)
		|| ARRAY(SELECT u.line FROM uidgen_tools.list_users_of_ids("table", id_column) WITH ORDINALITY AS u (line, n) ORDER BY u.n)
		|| 'new ids lie far above the old ones: a job that walks over ids in steps does not come to an end, and after the way back readers by id miss the rows that come'::text;

	-- All locks come first, so that a missing lock loses no work.
	RETURN QUERY SELECT 'step', format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', (SELECT string_agg(uidgen_tools.write_relation(l.relid), ', ' ORDER BY l.n) FROM uidgen_tools.list_locked("table", id_column) WITH ORDINALITY AS l (relid, n))) WHERE cardinality(steps) > 0;
	RETURN QUERY SELECT 'step', u.line FROM unnest(steps) AS u (line);
	IF adopts THEN
		RETURN QUERY SELECT 'remark', u.line FROM unnest(remarks) AS u (line);
	END IF;
	RETURN QUERY SELECT 'undo', u.line FROM unnest(undo) AS u (line);
END
$$;
COMMENT ON FUNCTION uidgen_tools.plan_adoption(regclass, name, boolean, regprocedure) IS 'the statements by which new rows get ids, to be printed or run, what there is to be said about them, and the statements that undo them';

CREATE FUNCTION uidgen_tools.check_adoption("table" regclass, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan	-- the same few for all tables
AS $$
#variable_conflict error
DECLARE
	uid_next CONSTANT regprocedure := uidgen_tools.find_function('uid_next', 'uidgen_next');
	written CONSTANT text := uidgen_tools.write_relation("table");
	drawn CONSTANT text := uidgen_tools.write_function(uid_next);
	c record;
BEGIN
	FOR c IN SELECT a.attname AS name, uidgen_tools.write_name(a.attname) AS written, e.oid IS NOT NULL AS has_default, e.is_plain, a.attidentity AS identity,
			uidgen_tools.write_call('uidgen_tools.adopt_column(regclass,name,boolean)'::regprocedure, 'uid_adopt', format('%s, %s::pg_catalog.name, true', uidgen_tools.write_regclass("table"), uidgen_tools.write_literal(a.attname::text))) AS adopts
		FROM pg_attribute AS a
			LEFT JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = a.attrelid AND d.objsubid = a.attnum AND uidgen_tools.find_line(d.description, 'uidgen: the default is ') = 'uidgen: the default is uid_next()'
			LEFT JOIN LATERAL (SELECT e.oid, p.oid = uid_next AS is_plain FROM pg_attrdef AS e JOIN pg_depend AS n ON n.classid = 'pg_attrdef'::regclass AND n.objid = e.oid AND n.refclassid = 'pg_proc'::regclass
				JOIN pg_proc AS p ON p.oid = n.refobjid JOIN pg_proc AS o ON o.oid = uid_next AND (o.pronamespace, o.proname) = (p.pronamespace, p.proname) WHERE e.adrelid = a.attrelid AND e.adnum = a.attnum LIMIT 1) AS e ON true	-- also uid_next(tag)
			JOIN pg_class AS t ON t.oid = a.attrelid AND NOT t.relispartition
		WHERE a.attrelid = "table" AND a.attnum > 0 AND NOT a.attisdropped AND num_nulls(d.description, e.oid) < 2 ORDER BY a.attnum
	LOOP
		RETURN QUERY SELECT 'mend', format('column %s of table %s has lost its default uid_next()', c.written, written),
				CASE WHEN c.identity = '' THEN format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s;', written, c.written, drawn) ELSE c.adopts END WHERE NOT c.has_default;
		RETURN QUERY SELECT 'mend', format('column %s of table %s has another default than the table that it is a partition of', c.written, uidgen_tools.write_relation(m.relid)),
				format('ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s;', uidgen_tools.write_relation(m.relid), c.written, drawn)
			FROM uidgen_tools.list_members("table") AS m JOIN pg_attribute AS a ON a.attrelid = m.relid AND a.attname = c.name JOIN pg_attrdef AS e ON e.adrelid = m.relid AND e.adnum = a.attnum
			WHERE c.is_plain AND m.level > 0 AND NOT EXISTS (SELECT FROM pg_depend AS n WHERE n.classid = 'pg_attrdef'::regclass AND n.objid = e.oid AND n.refclassid = 'pg_proc'::regclass AND n.refobjid = uid_next);
		RETURN QUERY SELECT 'mend', format('column %s of table %s holds ids of table %s, and is of type %s', uidgen_tools.write_name(l.name), uidgen_tools.write_relation(l.relation), written, l.type),
				c.adopts
			FROM uidgen_tools.list_referring_columns("table", c.name) AS l WHERE l.type IN ('integer'::regtype, 'smallint'::regtype);
		RETURN QUERY SELECT 'tell', format('not all who may insert into table %s may draw ids', written), format('GRANT EXECUTE ON FUNCTION %s TO %s;', drawn, n.named)
			FROM uidgen_tools.name_without_ids("table", uid_next) AS n (named) WHERE n.named IS NOT NULL;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_adoption(regclass) IS 'what is missing or different at columns that have their ids of uid_next(), in classes, and what mends it; by the catalogs alone, and without a lock';

CREATE FUNCTION uidgen_tools.adopt_column("table" regclass, id_column name, execute boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off	-- or defaults would be written otherwise than all that is called here knows them
AS $$
#variable_conflict error
DECLARE
	patience text := current_setting('lock_timeout');
	is_key CONSTANT boolean := id_column IS NULL;
	uid_next regprocedure;
	parts text[];
	lines text[];
	runs boolean := "execute";
	lock text;
BEGIN
	IF num_nulls("table", runs) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_adopt() but the column may be null' USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the table.';
	ELSIF runs AND current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_adopt() runs its statements in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see what others do before it has its locks.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;
	uid_next := uidgen_tools.find_function('uid_next', 'uidgen_next');
	-- A tool that waits for less than deadlock_timeout gives way before PostgreSQL looks for a deadlock.
	PERFORM uidgen_tools.be_patient();
	-- Names and tables may have changed before the locks were there, so the plan is made again.  With other tables or names, the tables are locked
	-- again: a former name may be of another table now.
	FOR tries IN 0 .. 4 LOOP
		BEGIN
			IF is_key THEN
				PERFORM uidgen_tools.refuse_other_kinds("table", 'Adopt');
				SELECT a.attname INTO id_column FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
					WHERE i.indrelid = "table" AND i.indisprimary AND i.indnkeyatts = 1;
				IF NOT FOUND THEN
					RAISE EXCEPTION 'table % has no primary key of one column', uidgen_tools.write_relation("table")
						USING ERRCODE = 'undefined_column', HINT = 'Name the column that holds the ids.';
				END IF;
			END IF;
			PERFORM uidgen_tools.refuse_adoption("table", id_column, runs, uid_next, uidgen.first_since(clock_timestamp()));	-- what was drawn before counts for nothing
			SELECT array_agg(p.part ORDER BY p.n), array_agg(p.line ORDER BY p.n) INTO parts, lines
				FROM uidgen_tools.plan_adoption("table", id_column, runs, uid_next) WITH ORDINALITY AS p (part, line, n);
			-- An error releases the locks of the look: two callers that keep them, and both ask for a stronger lock, would deadlock.
			RAISE EXCEPTION USING ERRCODE = 'UID00';
		EXCEPTION WHEN SQLSTATE 'UID00' THEN
		END;
		IF parts[1] IS DISTINCT FROM 'step' THEN
			RAISE NOTICE 'nothing is to be done: new rows of table "%" have ids of uidgen', (uidgen_tools.look_at_column("table", id_column, uid_next)).shown;
			PERFORM set_config('lock_timeout', patience, true);
			RETURN;
		END IF;
		EXIT WHEN NOT runs OR lines[1] IS NOT DISTINCT FROM lock;
		IF tries = 4 THEN
			PERFORM uidgen_tools.explain_renaming("table");
		END IF;
		lock := lines[1];
		PERFORM uidgen_tools.lock_tables(lock, ARRAY(SELECT l.relation FROM uidgen_tools.list_locked("table", id_column) WITH ORDINALITY AS l (relation, n) ORDER BY l.n), 'ACCESS EXCLUSIVE');
	END LOOP;
	RETURN QUERY SELECT c.s FROM uidgen_tools.carry_out(parts, lines, runs) AS c (s);
	-- The statement names the function, too, while the plan knew its OID.
	IF runs AND (uidgen_tools.look_at_column("table", id_column, uid_next)).adopted IS NOT TRUE THEN
		RAISE EXCEPTION 'function uid_next() was renamed meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('It is %s now. New rows would call another one. Who may rename its schema could put that into its place.', uidgen_tools.write_function(uid_next)),
				HINT = 'Call it again.';
	END IF;
	PERFORM set_config('lock_timeout', patience, true);
END
$$;
COMMENT ON FUNCTION uidgen_tools.adopt_column(regclass, name, boolean) IS 'uid_adopt(), which cannot have settings of its own and be seen as one query';

CREATE FUNCTION @extschema@.uid_adopt("table" regclass, id_column name DEFAULT NULL, execute boolean DEFAULT false) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT uidgen_tools.hold_extensions();
	SELECT a.s FROM uidgen_tools.adopt_column("table", id_column, execute) AS a (s);
END;
COMMENT ON FUNCTION @extschema@.uid_adopt(regclass, name, boolean)
	IS 'the statements by which new rows of a table get ids, with their locks; optionally runs them in place of returning them; what there is to be said, and the way back, are messages';
