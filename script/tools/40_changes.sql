--
-- Changes of a table for readers: each row has the id of its last change, and each deleted key has one, too.
--
-- uid_stamp() writes a new id, the version, into a column with each INSERT and UPDATE.  The table of deleted keys gets the key of each row that is
-- deleted, or whose key changes, with a version.  Readers read both up to uid_horizon().  A row of that table without a key is a mark: a reader whose
-- place is below the mark copies the table anew.  Marks stand for changes without a trigger for each row, which are TRUNCATE and DROP of a
-- partition, and for purged deleted keys.
--
-- Triggers tell that a table is tracked, whatever its name is.  They call a function that has the name of the table of deleted keys.  DROP EXTENSION
-- drops triggers and function, and people rename tables, or exchange names of two tables.  So the comments of the version's column and of the table of
-- deleted keys share a line that no other pair of the owner has.  The function runs as the owner of the table, so applications need no
-- right on the table of deleted keys.  The names of the triggers begin with a tilde, because triggers fire in the order of their names, and the version has
-- to be written last.
--
-- list_tracking() compares the catalogs with what would be made now: plan_tracking() uses its statements, and check_tracking() its reasons.
-- refuse_tracking() has a check for each reason to refuse; track_changes() calls these in order.  All but the check runs with the rights of the
-- caller, who has to own the table.  10_statements.sql writes all statements.
--

-- The type has no length, since its values were in the table, and is no domain, since a domain may refuse null.
CREATE FUNCTION uidgen_tools.write_type(type oid) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	t record;
BEGIN
	LOOP
		SELECT y.typtype AS kind, y.typbasetype AS base, y.typnamespace AS schema, y.typname::text AS name INTO t FROM pg_type AS y WHERE y.oid = type;
		EXIT WHEN t.kind IS DISTINCT FROM 'd';
		type := t.base;
	END LOOP;
	RETURN uidgen_tools.write_schema(t.schema) || '.' || uidgen_tools.write_name(t.name);
END
$$;
COMMENT ON FUNCTION uidgen_tools.write_type(oid) IS 'a type, or what a domain is made of, as it is written in a statement';

-- It runs as the owner of the table.  Who may rename schemas, or drop what others have in his own, could put a table of his in the place of the deleted keys, whose triggers
-- would run as that owner: so no statement writes them.  And no plan is kept with the types of the key.
CREATE FUNCTION uidgen_tools.write_deleted_function(deleted text, key text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('BEGIN PERFORM uidgen.write_deleted(%s, ARRAY[%s], OLD); RETURN NULL; END', deleted, key);
COMMENT ON FUNCTION uidgen_tools.write_deleted_function(text, text) IS 'the body of the function that writes deleted keys and marks into their table';

-- A role with the privilege TRIGGER can make "~uid_delete" call any function that it may execute: so a trigger's name proves nothing.  A function with
-- another body than this is not ours, or was changed.  Names in the body may be former names.  A later version that writes another body has to recognize
-- this body, too.
CREATE FUNCTION uidgen_tools.writes_deleted(function oid) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT EXISTS (SELECT FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
		WHERE p.oid = function AND p.pronargs = 0 AND uidgen_tools.bound_text(p.prosrc) ~ ('^' || replace(replace(regexp_replace(uidgen_tools.write_deleted_function('@', '@'), '[][().]', '\\\&', 'g'),
			'[@', '[@(?:, @)*'), '@', $r$(?:'(?:[^'\\]|'')*'|E'(?:[^'\\]|''|\\.)*')$r$) || '$'));
$$;
COMMENT ON FUNCTION uidgen_tools.writes_deleted(oid) IS 'whether a function is written as one that writes deleted keys, into whichever table';

-- Compares types, since uid_track_changes() alters the table that it takes as the table of deleted keys.
CREATE FUNCTION uidgen_tools.is_deleted(relation oid, version name, "table" regclass) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] AND a.attname = version AND a.atttypid = 'bigint'::regtype
			WHERE i.indrelid = relation AND i.indisprimary AND i.indnkeyatts = 1)
		AND (SELECT array_agg(format('%s %s', uidgen_tools.write_name(a.attname), uidgen_tools.write_type(a.atttypid)) ORDER BY a.attname) FROM pg_attribute AS a
				WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> version)
			= (SELECT array_agg(format('%s %s', uidgen_tools.write_name(k.name), uidgen_tools.write_type(k.type)) ORDER BY k.name) FROM uidgen_tools.list_key("table") AS k);
END
$$;
COMMENT ON FUNCTION uidgen_tools.is_deleted(oid, name, regclass) IS 'whether a table has the columns of one for the deleted keys of another';

-- Names may have been exchanged: so the line in the comment decides whose keys a table has, if it has this line.  CREATE TABLE LIKE copies comments of
-- columns, too: of several tables with the same line, the tracked table counts.
CREATE FUNCTION uidgen_tools.is_free(relation oid, "table" regclass) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT NOT EXISTS (SELECT FROM pg_class AS c CROSS JOIN LATERAL uidgen_tools.list_lines(c.relowner, 'uidgen: changes are tracked in ') AS d
			WHERE c.oid = is_free.relation AND d.line = uidgen_tools.find_line(obj_description(c.oid, 'pg_class'), 'uidgen: changes are tracked in ') AND d.relation NOT IN (is_free.relation, "table") AND d.number > 0
				AND EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = d.relation AND g.tgname IN ('~uid_stamp', '~uid_delete', '~uid_key') AND g.tgparentid = 0))
		AND NOT EXISTS (SELECT FROM pg_class AS c JOIN pg_proc AS p ON p.pronamespace = c.relnamespace AND p.proname = c.relname JOIN pg_trigger AS g ON g.tgfoid = p.oid AND g.tgparentid = 0
			WHERE c.oid = relation AND uidgen_tools.find_line(obj_description(c.oid, 'pg_class'), 'uidgen: changes are tracked in ') IS NULL AND CASE WHEN g.tgname IN ('~uid_delete', '~uid_key') AND g.tgrelid <> "table" THEN uidgen_tools.writes_deleted(g.tgfoid) END);
$$;
COMMENT ON FUNCTION uidgen_tools.is_free(oid, regclass) IS 'whether no other table has its deleted keys in a table';

CREATE FUNCTION uidgen_tools.list_copies("table" regclass, record text) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT DISTINCT l.relation FROM pg_class AS c CROSS JOIN LATERAL uidgen_tools.list_lines(c.relowner, 'uidgen: changes are tracked in ') AS l JOIN pg_class AS o ON o.oid = l.relation AND o.relkind IN ('r', 'p')
		WHERE c.oid = "table" AND l.relation <> c.oid AND l.number > 0 AND l.line = record;
$$;
COMMENT ON FUNCTION uidgen_tools.list_copies(regclass, text) IS 'other tables of the same owner that have the line of a tracked table in the comment of a column';

-- The present state, sound or not.
CREATE FUNCTION uidgen_tools.seek_tracking("table" regclass, version_column name,
	OUT written text, OUT owner oid, OUT version name, OUT record text, OUT recorded name, OUT function oid, OUT relation oid, OUT schema oid, OUT name text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	me record;
BEGIN
	SELECT c.relname::text AS name, c.relnamespace AS schema, c.relowner AS owner INTO me FROM pg_class AS c WHERE c.oid = "table";
	SELECT uidgen_tools.write_relation("table"), me.owner INTO written, owner;
	SELECT l.line, a.attname INTO record, recorded
		FROM pg_attribute AS a CROSS JOIN LATERAL uidgen_tools.find_line(col_description(a.attrelid, a.attnum), 'uidgen: changes are tracked in ') AS l (line)
		WHERE a.attrelid = "table" AND a.attnum > 0 AND l.line IS NOT NULL ORDER BY a.attnum LIMIT 1;
	version := coalesce(uidgen_tools.find_version("table"), recorded, version_column);
	SELECT g.tgfoid, p.pronamespace, p.proname INTO function, schema, name
		FROM pg_trigger AS g JOIN pg_proc AS p ON p.oid = g.tgfoid
		WHERE g.tgrelid = "table" AND (g.tgname = '~uid_delete' OR g.tgname = '~uid_key' AND p.proowner = me.owner) AND g.tgparentid = 0 AND uidgen_tools.writes_deleted(g.tgfoid) ORDER BY g.tgname LIMIT 1;
	-- The owner of any table, or a role with TRIGGER, can give a function any name: another role's function counts only if the table's comment agrees.
	relation := (SELECT c.oid FROM pg_class AS c JOIN pg_proc AS p ON p.oid = function WHERE c.relnamespace = seek_tracking.schema AND c.relname = seek_tracking.name AND c.relkind = 'r' AND (c.relowner = me.owner AND p.proowner = me.owner OR record = uidgen_tools.find_line(obj_description(c.oid, 'pg_class'), 'uidgen: changes are tracked in ') AND uidgen_tools.is_free(c.oid, "table") AND uidgen_tools.is_deleted(c.oid, version, "table")));
	IF record = uidgen_tools.find_line(obj_description(relation, 'pg_class'), 'uidgen: changes are tracked in ') IS NOT TRUE AND num_nonnulls(record, relation) > 0 THEN
		relation := coalesce((SELECT c.oid FROM uidgen_tools.list_lines(me.owner, 'uidgen: changes are tracked in ') AS d JOIN pg_class AS c ON c.oid = d.relation AND c.relkind = 'r'
			WHERE d.number = 0 AND d.line = record AND uidgen_tools.is_free(c.oid, "table")
			ORDER BY c.relnamespace = me.schema DESC, c.oid LIMIT 1), CASE WHEN uidgen_tools.is_free(relation, "table") THEN relation END);
	END IF;
	-- Without triggers nothing says which of two tables is the copy (a restore gives them other OIDs), until the user names one.
	IF version_column IS NULL AND record IS NOT NULL AND num_nulls(function, uidgen_tools.find_version("table")) = 2 AND EXISTS (SELECT FROM uidgen_tools.list_copies("table", record)) THEN
		relation := NULL;
	END IF;
	IF function IS NULL AND relation IS NULL THEN
		schema := me.schema;
		name := uidgen_tools.shorten_name(me.name, octet_length('_deleted')) || '_deleted';
		relation := (SELECT c.oid FROM pg_class AS c WHERE c.relnamespace = me.schema AND c.relname = seek_tracking.name AND c.relkind = 'r' AND c.relowner = me.owner
			AND version_column IS NOT NULL AND uidgen_tools.is_free(c.oid, "table") AND uidgen_tools.is_deleted(c.oid, version, "table"));
	END IF;
	IF relation IS NOT NULL THEN
		SELECT c.relnamespace, c.relname INTO schema, name FROM pg_class AS c WHERE c.oid = relation;
		function := coalesce(function, (SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = seek_tracking.schema AND p.proname = seek_tracking.name
			AND p.proowner = me.owner AND uidgen_tools.writes_deleted(p.oid) AND NOT EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgfoid = p.oid AND g.tgname <> '~uid_truncate')));
		version := coalesce(uidgen_tools.find_version("table"), recorded, (SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid = relation AND i.indisprimary), version);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.seek_tracking(regclass, name) IS 'what a table has of what uid_track_changes() makes, and which names it has or would have';

-- A function that writes deleted keys of another table is known by that table's triggers, whatever its name is.
CREATE FUNCTION uidgen_tools.list_namesakes("table" regclass, schema oid, names text[], own oid, OUT function oid, OUT name text, OUT gives_way boolean) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.oid, p.proname, p.proowner = c.relowner AND uidgen_tools.writes_deleted(p.oid) AND EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgfoid = p.oid AND g.tgname IN ('~uid_delete', '~uid_key'))
		FROM pg_class AS c, pg_proc AS p WHERE c.oid = "table" AND p.pronamespace = schema AND p.proname = ANY (names) AND p.pronargs = 0 AND p.oid IS DISTINCT FROM own;
$$;
COMMENT ON FUNCTION uidgen_tools.list_namesakes(regclass, oid, text[], oid) IS 'functions that have a name that the one for a table''s deleted keys is to have, and whether they may be renamed';

-- A role with the privilege TRIGGER can make a trigger of this name.  A trigger for TRUNCATE that another table has left is made anew.
CREATE FUNCTION uidgen_tools.list_other_triggers("table" regclass, function oid, uid_stamp regprocedure, OUT relid oid, OUT name name, OUT called oid) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT g.tgrelid, g.tgname, g.tgfoid FROM uidgen_tools.list_members("table") AS m JOIN pg_trigger AS g ON g.tgrelid = m.relid AND g.tgparentid = 0
		WHERE CASE g.tgname WHEN '~uid_stamp' THEN g.tgfoid <> uid_stamp WHEN '~uid_truncate' THEN g.tgfoid IS DISTINCT FROM function AND NOT uidgen_tools.writes_deleted(g.tgfoid)
			ELSE g.tgname IN ('~uid_delete', '~uid_key') AND g.tgfoid IS DISTINCT FROM function END
		ORDER BY g.tgrelid, g.tgname;
$$;
COMMENT ON FUNCTION uidgen_tools.list_other_triggers(regclass, oid, regprocedure) IS 'triggers that have the name of one that is made for a tracked table, and call another function';

CREATE FUNCTION uidgen_tools.refuse_other_triggers("table" regclass, function oid, uid_stamp regprocedure) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	t record;
BEGIN
	SELECT uidgen_tools.write_name(o.name) AS name, uidgen_tools.write_relation(o.relid) AS relation, uidgen_tools.write_function(o.called) AS called, function IS NULL AND uidgen_tools.writes_deleted(o.called) AS is_tracked
		INTO t FROM uidgen_tools.list_other_triggers("table", function, uid_stamp) AS o ORDER BY 4 LIMIT 1;
	IF FOUND AND (NOT t.is_tracked OR uid_stamp IS NOT NULL) THEN
		RAISE EXCEPTION '%', CASE WHEN t.is_tracked THEN format('partition %s is itself tracked', t.relation) ELSE 'a trigger has the name of one that is needed' END
			USING ERRCODE = 'duplicate_object', DETAIL = format('It is %s of table %s, which calls %s: a function that %s.', t.name, t.relation, t.called, CASE WHEN t.is_tracked THEN 'writes deleted keys' ELSE 'uid_track_changes() has not written, or that was changed since' END),
				HINT = CASE WHEN t.is_tracked THEN 'Drop its triggers "~uid_stamp", "~uid_delete", "~uid_key" and "~uid_truncate". Call uid_track_changes() again, and let all readers copy the table anew: those of the partition, too.'
					ELSE format('Run DROP TRIGGER %s ON %s, or give it another name. Of a table that is tracked, call uid_track_changes() then.', t.name, t.relation) END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_other_triggers(regclass, oid, regprocedure) IS 'an error if a trigger has the name of one that is made, and calls another; no uid_stamp: partitions may be tracked';

CREATE FUNCTION uidgen_tools.refuse_other_function("table" regclass, function oid) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (SELECT p.proowner <> c.relowner FROM pg_proc AS p, pg_class AS c WHERE p.oid = function AND c.oid = "table") THEN
		RAISE EXCEPTION 'trigger "~uid_delete" of table "%" calls a function of another role', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('It is %s. The function that fills the table of deleted keys belongs to the owner of the table.', uidgen_tools.write_function(function)),
				HINT = 'Drop the trigger. If the table was tracked when it was given to another role, let the owner of the function drop it with CASCADE, and drop the table of that name; then call uid_track_changes(), and let all readers copy the table anew.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_other_function(regclass, oid) IS 'an error if the function that writes deleted keys is not the table owner''s';

-- The primary key of the table of deleted keys is the version.
CREATE FUNCTION uidgen_tools.find_deleted("table" regclass, OUT function oid, OUT relation oid, OUT version name)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	SELECT s.function, s.relation INTO function, relation FROM uidgen_tools.seek_tracking("table", NULL) AS s;
	PERFORM uidgen_tools.refuse_other_triggers("table", function, NULL);
	IF function IS NULL THEN
		relation := NULL;
		RETURN;
	END IF;
	PERFORM uidgen_tools.refuse_other_function("table", function);
	version := (SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid = relation AND i.indisprimary);
	IF version IS NULL THEN
		RAISE EXCEPTION 'table "%" has lost the table of its deleted keys', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('Its triggers call function %s, and there is no table of that name with a primary key.', uidgen_tools.write_function(function)),
				HINT = 'Call uid_track_changes().';
	END IF;
	PERFORM uidgen_tools.refuse_other_owners(ARRAY[relation]);
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_deleted(regclass) IS 'the table of the deleted keys of a tracked table, the function that fills it, and its column for the version; nothing for others';

-- PostgreSQL records no dependency on its built-in objects.
CREATE FUNCTION uidgen_tools.list_compared("table" regclass, OUT columns integer[], OUT operators oid[])
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT array_agg(DISTINCT d.refobjsubid ORDER BY d.refobjsubid) FILTER (WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = "table" AND d.refobjsubid > 0),
			coalesce(array_agg(DISTINCT d.refobjid ORDER BY d.refobjid) FILTER (WHERE d.refclassid = 'pg_operator'::regclass), '{}')
		INTO columns, operators
		FROM pg_trigger AS g JOIN pg_depend AS d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
		WHERE g.tgrelid = "table" AND g.tgname = '~uid_key' AND g.tgtype = 17 AND g.tgattr = '' AND g.tgqual IS NOT NULL;	-- for each row, after, update
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_compared(regclass) IS 'the columns by which the trigger for another key tells keys apart, and operators for that which were not there from the start';

-- Deferrable keys count, since a deleted row was in the table.  Readers know the table by the key with which tracking began, while it is a key.
CREATE FUNCTION uidgen_tools.choose_key("table" regclass) RETURNS oid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	compared CONSTANT integer[] := (uidgen_tools.list_compared("table")).columns;
BEGIN
	RETURN (SELECT i.indexrelid
		FROM pg_index AS i
		WHERE i.indrelid = "table" AND i.indisunique AND i.indisvalid AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
			AND NOT EXISTS (SELECT FROM generate_series(0, i.indnkeyatts - 1) AS n JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n] WHERE NOT a.attnotnull OR i.indcollation[n] <> a.attcollation)
		ORDER BY ARRAY(SELECT i.indkey[n]::integer FROM generate_series(0, i.indnkeyatts - 1) AS n ORDER BY 1) IS DISTINCT FROM compared, NOT i.indisprimary, i.indnkeyatts, i.indexrelid LIMIT 1);
END
$$;
COMMENT ON FUNCTION uidgen_tools.choose_key(regclass) IS 'the index of the key by which each row of a table is known: the primary key, or another one that is unique and not null';

CREATE FUNCTION uidgen_tools.list_key("table" regclass, OUT n integer, OUT number smallint, OUT name name, OUT type oid, OUT operator oid) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key CONSTANT oid := uidgen_tools.choose_key("table");
BEGIN
	-- A subquery uses the index; a join would read all operators.
	RETURN QUERY SELECT n.n, a.attnum, a.attname, a.atttypid, (SELECT m.amopopr FROM pg_opclass AS c
				JOIN pg_amop AS m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
				WHERE c.oid = i.indclass[n.n])
		FROM pg_index AS i
			CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS n (n)
			JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n.n]
		WHERE i.indexrelid = key ORDER BY n.n;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_key(regclass) IS 'the columns of the key of a table, in their order, and the operators by which two keys are the same';

-- The node tree of the condition is compared: its text depends on names, and relabels types that are equal to an operator.
CREATE FUNCTION uidgen_tools.compares_key("table" regclass) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT (c.columns, c.operators, w.parts, w.test) IS NOT DISTINCT FROM (k.columns, k.operators, CASE WHEN cardinality(k.columns) > 1 THEN 'BOOLEANTEST BOOLEXPR and' ELSE 'BOOLEANTEST' END || k.parts, '1') FROM uidgen_tools.list_compared("table") AS c,
		(SELECT array_agg(l.number::integer ORDER BY l.number), coalesce(array_agg(DISTINCT l.operator ORDER BY l.operator) FILTER (WHERE l.operator >= 12000), '{}'),
				array_agg(format('%s.%s VAR 1 %s VAR 2 %3$s', o.oprnamespace, o.oprname, l.number) ORDER BY l.number)
			FROM uidgen_tools.list_key("table") AS l LEFT JOIN pg_operator AS o ON o.oid = l.operator) AS k (columns, operators, parts),
		(SELECT array_agg(p.part ORDER BY NOT starts_with(p.part, 'BOOLEANTEST'), substring(p.part FROM '[0-9]+$')::integer), min(substring(g.tgqual::text FROM ' :booltesttype ([0-9]) :location -?[0-9]+[}]$'))	-- 1 is IS NOT TRUE
			FROM pg_trigger AS g CROSS JOIN LATERAL (SELECT string_agg(coalesce((SELECT format('%s.%s', o.oprnamespace, o.oprname) FROM pg_operator AS o WHERE o.oid = t.m[3]::oid), t.m[1], t.m[2], t.m[4]), ' ' ORDER BY t.n)
					FROM regexp_matches(uidgen_tools.bound_text(g.tgqual::text), '[{](?!RELABELTYPE )([A-Z]+)|:(?:boolop|varno) ([a-z0-9]+)|:opno ([0-9]+)|:varattno ([0-9]+)', 'g') WITH ORDINALITY AS t (m, n)) AS q (tokens)
				CROSS JOIN LATERAL regexp_split_to_table(q.tokens, ' OPEXPR ') AS p (part)
			WHERE g.tgrelid = "table" AND g.tgname = '~uid_key') AS w (parts, test));
END
$$;
COMMENT ON FUNCTION uidgen_tools.compares_key(regclass) IS 'whether the trigger for another key looks at the key as it is now';

-- The trigger has the numbers of columns, and the function has their former names, in the same order.
CREATE FUNCTION uidgen_tools.list_former_names("table" regclass, function oid, OUT number integer, OUT written text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
	SELECT u.number, u.written
		FROM (SELECT array_agg(t.m[1] ORDER BY t.n) AS names
				FROM pg_proc AS p CROSS JOIN LATERAL regexp_matches(p.prosrc, $r$(E'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*')$r$, 'g') WITH ORDINALITY AS t (m, n)
				WHERE p.oid = function AND t.n > 1) AS f
			CROSS JOIN uidgen_tools.list_compared("table") AS c CROSS JOIN LATERAL unnest(c.columns, f.names) AS u (number, written)
		WHERE cardinality(f.names) = cardinality(c.columns) AND uidgen_tools.compares_key("table");
$$;
COMMENT ON FUNCTION uidgen_tools.list_former_names(regclass, oid) IS 'the columns of the key, by their numbers, and the names, as literals, under which their values are in the table of deleted keys; nothing for a key that is another one by now';

CREATE FUNCTION uidgen_tools.write_truncate_trigger(relation text, function text) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY[format('CREATE TRIGGER "~uid_truncate" AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s;', relation, function),
	format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER "~uid_truncate";', relation)];
COMMENT ON FUNCTION uidgen_tools.write_truncate_trigger(text, text) IS 'the statements by which TRUNCATE of a table or partition leaves a mark';

CREATE FUNCTION uidgen_tools.write_mark(deleted oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce('INSERT INTO ' || uidgen_tools.write_relation(deleted) || ' DEFAULT VALUES;', '');
COMMENT ON FUNCTION uidgen_tools.write_mark(oid) IS 'the statement that has readers copy a tracked table anew; empty where the table of deleted keys has to be made anew';

CREATE FUNCTION uidgen_tools.list_unique_versions("table" regclass, version_column name, OUT named text, OUT statement text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT w.named, CASE WHEN NOT i.indisprimary THEN coalesce((SELECT format('ALTER TABLE %s DROP CONSTRAINT %s;', uidgen_tools.write_relation("table"), uidgen_tools.write_name(k.conname)) FROM pg_constraint AS k WHERE k.conindid = i.indexrelid AND k.contype = 'u'), format('DROP INDEX %s;', w.named)) END
		FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attname = version_column AND a.attnum = ANY (i.indkey::smallint[]) CROSS JOIN LATERAL uidgen_tools.write_relation(i.indexrelid) AS w (named)
		WHERE i.indrelid = "table" AND i.indisunique ORDER BY i.indexrelid;
$$;
COMMENT ON FUNCTION uidgen_tools.list_unique_versions(regclass, name) IS 'unique indexes with the column of the versions, and the statements that drop them';

CREATE FUNCTION uidgen_tools.refuse_version_column("table" regclass, version_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	v record;
	shown constant text := uidgen_tools.tame(version_column::text);
	shown_table constant text := (SELECT uidgen_tools.tame(c.relname) FROM pg_class AS c WHERE c.oid = "table");
	named text;
	statement text;
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
	SELECT 'it is in the unique index ' || u.named, u.statement INTO named, statement FROM uidgen_tools.list_unique_versions("table", version_column) AS u LIMIT 1;
	named := coalesce(named, (SELECT 'the table is partitioned by it' FROM pg_partitioned_table AS p WHERE p.partrelid = "table" AND v.number = ANY (p.partattrs::smallint[])));
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'column "%" of table "%" cannot be the version', shown, shown_table USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Each change of a row gives it a new value, and %s: so each change would wait for all who refer to the row, or move it.', named),
				HINT = CASE WHEN (uidgen_tools.seek_tracking("table", version_column)).function IS NULL THEN 'Name another column; one that does not exist is added.' ELSE concat_ws(' ', 'The column has the versions already.', statement) END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_version_column(regclass, name) IS 'an error if a column that is there cannot hold versions, with what to do';

CREATE FUNCTION uidgen_tools.list_later_triggers("table" regclass) RETURNS SETOF oid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT g.oid FROM uidgen_tools.list_members("table") AS m
			JOIN pg_trigger AS g ON g.tgrelid = m.relid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgparentid = 0
				AND g.tgtype & 3 = 3 AND g.tgtype & 20 <> 0	-- for each row, before, insert or update
				AND g.tgname > '~uid_stamp'
		ORDER BY g.tgname, g.tgrelid;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_later_triggers(regclass) IS 'the triggers that fire after the one that gives the version, and could set it back';

CREATE FUNCTION uidgen_tools.refuse_later_triggers("table" regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	named text;
BEGIN
	SELECT format('trigger %s of table %s', uidgen_tools.write_name(g.tgname), uidgen_tools.write_relation(g.tgrelid)) INTO named
		FROM uidgen_tools.list_later_triggers("table") WITH ORDINALITY AS l (trigger, n) JOIN pg_trigger AS g ON g.oid = l.trigger ORDER BY l.n LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'a trigger of table "%" would fire after the one that gives the version', (SELECT uidgen_tools.tame(c.relname) FROM pg_class AS c WHERE c.oid = "table")
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It is %s. It could set the version back, and readers would miss the change.', named),
				HINT = 'Give it another name, by ALTER TRIGGER ... RENAME TO: triggers fire in the order of their names, and a name that begins with a letter comes before.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_later_triggers(regclass) IS 'an error if a trigger would fire after uid_stamp()';

CREATE FUNCTION uidgen_tools.list_untracked_kinds("table" regclass, OUT message text, OUT detail text, OUT hint text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY SELECT format(w.message, uidgen_tools.tame(CASE w.n WHEN 3 THEN u.relname ELSE c.relname END)), w.detail, w.hint
		FROM pg_class AS c
			LEFT JOIN LATERAL (SELECT k.oid, k.relname FROM uidgen_tools.list_members("table") AS m JOIN pg_class AS k ON k.oid = m.relid AND k.relpersistence <> 'p' ORDER BY m.level, k.oid LIMIT 1) AS u ON true
			LEFT JOIN LATERAL (SELECT m.relid FROM uidgen_tools.list_members("table") AS m WHERE m.kind = 'f' LIMIT 1) AS f ON true
			CROSS JOIN LATERAL (VALUES
				(1, c.relispartition, 'table "%s" is a partition',
					'A row can move to another partition, so changes are tracked for the whole table.', format('Track table %s.', uidgen_tools.write_relation(pg_partition_root(c.oid)))),
				(2, c.relkind = 'r' AND NOT c.relispartition AND EXISTS (SELECT FROM pg_inherits AS i WHERE "table" IN (i.inhrelid, i.inhparent)), 'table "%s" inherits from another one, or another one from it',
					'Neither triggers nor keys are inherited, so changes would be missed.', 'Use partitions, or track tables that stand alone.'),
				(3, u.oid IS NOT NULL, 'table "%s" is not permanent',
					'A crash empties an unlogged table, and the end of the session a temporary one, and no trigger sees that.', format('If it is unlogged, run ALTER TABLE %s SET LOGGED.', uidgen_tools.write_relation(u.oid))),
				(4, f.relid IS NOT NULL, 'table "%s" has a partition that is a foreign table',
					format('It is %s. What others change there is not seen here.', uidgen_tools.write_relation(f.relid)), 'Track the table there, and this one without that partition.')) AS w (n, applies, message, detail, hint)
		WHERE c.oid = "table" AND w.applies
		ORDER BY w.n;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_untracked_kinds(regclass) IS 'why no trigger would see the changes of a table of its kind, and what to do';

CREATE FUNCTION uidgen_tools.list_versions(deleted oid, version name, recorded name) RETURNS SETOF name
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT version UNION ALL SELECT recorded WHERE recorded IS NOT NULL
	UNION ALL
	SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid = deleted AND i.indisprimary;
$$;
COMMENT ON FUNCTION uidgen_tools.list_versions(oid, name, name) IS 'the column of the versions by its trigger, by its comment, and of the deleted keys: the same, unless it was renamed';

-- A subscription finds rows by a replica identity or a primary key.  Without these the subscription compares all columns, and each server has other versions.
CREATE FUNCTION uidgen_tools.list_unidentified("table" regclass, OUT written text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM uidgen_tools.list_members("table") AS m JOIN pg_subscription_rel AS s ON s.srrelid = m.relid) THEN
		RETURN QUERY SELECT r.written, (SELECT format('ALTER TABLE ONLY %s REPLICA IDENTITY USING INDEX %s;', r.written, uidgen_tools.write_name(c.relname))
					FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indexrelid = uidgen_tools.choose_key(m.relid) AND i.indimmediate)
			FROM uidgen_tools.list_members("table") AS m CROSS JOIN LATERAL uidgen_tools.write_relation(m.relid) AS r (written)
			WHERE m.kind = 'r' AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = m.relid AND i.indisvalid AND i.indimmediate AND (i.indisprimary OR i.indisreplident));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_unidentified(regclass) IS 'a table, or its partitions, if a subscription changes it and does not find rows by a key, and the statement that mends each';

CREATE FUNCTION uidgen_tools.refuse_replicated("table" regclass) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	r record;
BEGIN
	SELECT u.written, u.statement INTO r FROM uidgen_tools.list_unidentified("table") AS u LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a subscription would no longer find the rows of table %', r.written
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'The table has neither a primary key nor a replica identity. So the subscription compares all columns, and the publisher has other versions, or none: UPDATE and DELETE would do nothing here.',
				HINT = coalesce('Run ' || r.statement, 'Give it a primary key.');
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_replicated(regclass) IS 'an error if a subscription could not change a table that is tracked';

-- Subscriptions stop at a column or table that the subscriber has not.  What was made by hand is taken.
CREATE FUNCTION uidgen_tools.refuse_published("table" regclass, version_column name) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", version_column);
	version CONSTANT text := uidgen_tools.write_name(version_column::text);
BEGIN
	PERFORM uidgen_tools.refuse_publications("table", 'uid_track_changes', array_agg(w.publication), 'Run at each subscriber, then here, and then call it again: ' || string_agg(DISTINCT w.step, ' '))
		FROM (SELECT p.pubname, format('ALTER TABLE %s ADD COLUMN %s pg_catalog.int8 NOT NULL DEFAULT 0;', s.written, version)
				FROM uidgen_tools.list_members("table") AS m JOIN pg_class AS c ON c.oid = m.relid JOIN pg_namespace AS n ON n.oid = c.relnamespace
					JOIN pg_publication_tables AS p ON p.schemaname = n.nspname AND p.tablename = c.relname JOIN pg_publication AS o ON o.pubname = p.pubname
				WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = version_column AND NOT a.attisdropped)
					AND NOT EXISTS (SELECT FROM pg_publication_rel AS r WHERE r.prpubid = o.oid AND r.prrelid = c.oid AND r.prattrs IS NOT NULL)
			UNION ALL
			SELECT p.pubname, format('CREATE TABLE %s.%s (%s, %s pg_catalog.int8 PRIMARY KEY);', uidgen_tools.write_schema(s.schema), uidgen_tools.write_name(s.name), (uidgen_tools.write_key("table")).types, version)
				FROM uidgen_tools.list_publications(s.schema) AS p (pubname) WHERE s.relation IS NULL) AS w (publication, step);
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_published(regclass, name) IS 'an error if a publication would send a column or table that subscribers may not have';

CREATE FUNCTION uidgen_tools.refuse_tracking("table" regclass, version_column name, execute boolean, uid_next regprocedure, uid_stamp regprocedure) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	most constant bigint := 1000000;
	t record;
	s record;
	shown constant text := uidgen_tools.tame(version_column::text);
	named text;
	another text;
BEGIN
	PERFORM uidgen_tools.refuse_other_kinds("table", 'Track'), uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
	SELECT w.message, w.detail, w.hint INTO t FROM uidgen_tools.list_untracked_kinds("table") AS w LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '%', t.message USING ERRCODE = 'wrong_object_type', DETAIL = t.detail, HINT = t.hint;
	END IF;
	SELECT uidgen_tools.tame(c.relname) AS shown, uidgen_tools.write_relation(c.oid) AS written, c.relname AS name, c.relnamespace AS schema, c.relowner AS owner INTO t FROM pg_class AS c WHERE c.oid = "table";
	PERFORM uidgen_tools.refuse_version_column("table", version_column);

	IF uidgen_tools.choose_key("table") IS NULL THEN
		RAISE EXCEPTION 'table "%" has no key', t.shown USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'By it readers know which row was deleted.',
				HINT = 'Give it a primary key, or a unique index on columns that are not null.';
	END IF;

	s := uidgen_tools.seek_tracking("table", version_column);
	PERFORM uidgen_tools.refuse_replicated("table"), uidgen_tools.refuse_other_triggers("table", s.function, uid_stamp), uidgen_tools.refuse_other_function("table", s.function), uidgen_tools.refuse_later_triggers("table");
	SELECT uidgen_tools.tame(v.name) INTO named FROM uidgen_tools.list_versions(s.relation, s.version, s.recorded) AS v (name) WHERE v.name <> version_column LIMIT 1;
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'the versions of table "%" are in column "%"', t.shown, named
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Name that column. If it was renamed, rename it back: its trigger and its readers know it by that name.';
	END IF;

	IF s.relation IS NOT NULL THEN
		PERFORM uidgen_tools.refuse_other_owners(ARRAY[s.relation]);
	END IF;
	SELECT uidgen_tools.write_schema(s.schema) || '.' || uidgen_tools.write_name(s.name), (SELECT n FROM uidgen_tools.list_deleted_namesakes("table", 0) AS n LIMIT 1) INTO named, another
		WHERE s.relation IS NULL AND (EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = s.schema AND c.relname = s.name) OR EXISTS (SELECT FROM pg_type AS y WHERE y.typnamespace = s.schema AND y.typname = s.name))
			OR EXISTS (SELECT FROM uidgen_tools.list_namesakes("table", s.schema, ARRAY[s.name], s.function) AS l WHERE NOT l.gives_way);
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'the name % is taken', named
			USING ERRCODE = 'duplicate_table', DETAIL = coalesce((SELECT format('Function %s has it. ', uidgen_tools.write_function(l.function)) FROM uidgen_tools.list_namesakes("table", s.schema, ARRAY[s.name], s.function) AS l WHERE NOT l.gives_way LIMIT 1), initcap(left(another, 1)) || substr(another, 2) || '. ', '')
					|| 'The table of deleted keys and its function get this name. An existing table is taken if it has the same owner, the columns of the key, and the version as its primary key.',
				HINT = CASE WHEN another IS NULL THEN 'Drop what has this name, or rename it.' ELSE 'Rename it, and call uid_track_changes() for the table whose deleted keys it has. Then call it for this table again.' END;
	END IF;
	SELECT string_agg(uidgen_tools.write_function(f.oid), ', ' ORDER BY f.oid) INTO named
		FROM unnest(ARRAY[uid_next, uid_stamp]) AS f (oid) WHERE NOT has_function_privilege(f.oid, 'EXECUTE');
	IF named IS NOT NULL THEN
		RAISE EXCEPTION 'the owner of table "%" may not draw ids', t.shown
			USING ERRCODE = 'insufficient_privilege', HINT = format('Let a superuser run GRANT EXECUTE ON FUNCTION %s TO %s.', named, uidgen_tools.write_role(t.owner));
	END IF;

	-- Present values of the column.
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

	-- These reasons refuse to run the statements, and not to print them.
	IF NOT "execute" THEN
		RETURN;
	END IF;
	PERFORM uidgen_tools.refuse_published("table", version_column);
	IF num_nulls(s.function, s.relation) > 0 AND NOT has_schema_privilege(s.schema, 'CREATE') THEN
		RAISE EXCEPTION 'permission denied for schema %', uidgen_tools.tame((SELECT n.nspname FROM pg_namespace AS n WHERE n.oid = s.schema))
			USING ERRCODE = 'insufficient_privilege', DETAIL = 'The table of deleted keys is made in it.', HINT = format('Let its owner run GRANT CREATE ON SCHEMA %s TO %s, for as long as uid_track_changes() takes.', uidgen_tools.write_schema(s.schema), uidgen_tools.write_role(t.owner));
	END IF;
	FOR t IN SELECT c.oid, uidgen_tools.tame(c.relname) AS shown, uidgen_tools.write_relation(c.oid) AS written, r.why, r.hint
		FROM pg_class AS c JOIN (VALUES ("table"::oid, NOT uidgen_tools.has_index("table", version_column) OR uidgen_tools.is_scanned("table", version_column), 'An index is built on the column, or all rows are read for SET NOT NULL',
				'Without "execute", uid_track_changes() prints the statements. In these the index comes last, and is built beside those who write, unless the table is partitioned.' || CASE WHEN uidgen_tools.is_scanned("table", version_column) THEN format(' First run ALTER TABLE %1$s ADD CONSTRAINT changed_there CHECK (%2$s IS NOT NULL) NOT VALID, and ALTER TABLE %1$s VALIDATE CONSTRAINT changed_there.', uidgen_tools.write_relation("table"), uidgen_tools.write_name(version_column)) ELSE '' END),
			(s.relation, EXISTS (SELECT FROM uidgen_tools.list_deleted_table("table", version_column, true, uid_next) AS l WHERE l.statement ~ ' (USING NULL|ADD PRIMARY KEY .*);$'), 'It is written anew, since the key has another type, or its primary key is built',
				'First call uid_purge_deleted(). Or, when nobody needs the table, run the statements that uid_track_changes() prints without "execute".')) AS r (relid, is_read, why, hint) ON r.relid = c.oid AND r.is_read
	LOOP
		PERFORM uidgen_tools.refuse_hidden_rows(t.oid, 'uid_track_changes()'), uidgen_tools.lock_by_name(t.oid, t.written, 'ACCESS SHARE');
		IF (SELECT count(*) FROM uidgen_tools.list_members(t.oid)) > 1000 OR uidgen.run_confined(format('SELECT count(*) FROM (SELECT FROM %s LIMIT %s) AS x', t.written, most + 1))::bigint > most THEN
			RAISE EXCEPTION 'table "%" has more than % rows, or 1000 partitions', t.shown, most USING ERRCODE = 'program_limit_exceeded', DETAIL = t.why || ', and nobody can use the table meanwhile.', HINT = t.hint;
		END IF;
	END LOOP;
	PERFORM uidgen_tools.refuse_without_ids();
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_tracking(regclass, name, boolean, regprocedure, regprocedure) IS 'an error if uid_track_changes() cannot be had for a table, or cannot be run, with what to do';

CREATE FUNCTION uidgen_tools.find_version("table" regclass) RETURNS name
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT convert_from(substr(g.tgargs, 1, octet_length(g.tgargs) - 1), getdatabaseencoding())::name
			FROM pg_trigger AS g WHERE g.tgrelid = "table" AND g.tgname = '~uid_stamp' AND g.tgnargs = 1 AND octet_length(g.tgargs) <= 64 AND g.tgparentid = 0);
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_version(regclass) IS 'the column in which a tracked table has its versions; null for others';

CREATE FUNCTION uidgen_tools.has_index("table" regclass, version_column name) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM pg_index AS i
				JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS m ON m.oid = c.relam AND m.amname = 'btree'
				JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attname = version_column AND a.attnum = i.indkey[0]
			WHERE i.indrelid = "table" AND i.indisvalid AND i.indpred IS NULL);
END
$$;
COMMENT ON FUNCTION uidgen_tools.has_index(regclass, name) IS 'whether readers find the rows of a version by an index';

-- PostgreSQL takes the word of such a constraint.
CREATE FUNCTION uidgen_tools.is_scanned("table" regclass, version_column name) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = version_column AND NOT a.attisdropped AND NOT a.attnotnull
		AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = a.attrelid AND k.contype = 'c' AND k.convalidated AND pg_get_expr(k.conbin, k.conrelid) = format('(%I IS NOT NULL)', a.attname)));
END
$$;
COMMENT ON FUNCTION uidgen_tools.is_scanned(regclass, name) IS 'whether a column is there that can be null, so that SET NOT NULL reads all rows';

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

-- Two keys are the same if the index says so.
CREATE FUNCTION uidgen_tools.write_key("table" regclass, OUT names text, OUT types text, OUT width integer, OUT same_key text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	SELECT string_agg(uidgen_tools.write_literal(k.plain), ', ' ORDER BY k.number), string_agg(k.name || ' ' || k.type, ', ' ORDER BY k.n), count(*)::integer,
			string_agg(format('(OLD.%s OPERATOR(%s.%s) NEW.%1$s)', k.name, uidgen_tools.write_schema(o.oprnamespace), o.oprname), ' AND ' ORDER BY k.n)
		INTO names, types, width, same_key
		FROM (SELECT l.n, l.number, l.name::text AS plain, uidgen_tools.write_name(l.name) AS name, uidgen_tools.write_type(l.type) AS type, l.operator FROM uidgen_tools.list_key("table") AS l) AS k
			CROSS JOIN LATERAL (SELECT p.oprnamespace, p.oprname FROM pg_operator AS p WHERE p.oid = k.operator OFFSET 0) AS o;
END
$$;
COMMENT ON FUNCTION uidgen_tools.write_key(regclass) IS 'the key of a table as its deleted keys are written: names as literals, names and types, how many, and when an UPDATE leaves it as it is';

CREATE FUNCTION uidgen_tools.write_key_trigger("table" regclass, function text) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY[format('CREATE TRIGGER "~uid_key" AFTER UPDATE ON %s FOR EACH ROW WHEN ((%s) IS NOT TRUE) EXECUTE FUNCTION %s;', t.written, (uidgen_tools.write_key("table")).same_key, function),
			format('ALTER TABLE %s ENABLE ALWAYS TRIGGER "~uid_key";', t.written)]
		FROM uidgen_tools.write_relation("table") AS t (written);
$$;
COMMENT ON FUNCTION uidgen_tools.write_key_trigger(regclass, text) IS 'the statements by which another key of a row is told as a deleted one';

-- The trigger keeps the type of the columns that it compares.  Where the key is another one by now, no trigger compares it until uid_track_changes() is called.
CREATE FUNCTION uidgen_tools.exchange_key("table" regclass, columns name[], OUT before text, OUT after text[])
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", NULL);
BEGIN
	IF s.function IS NULL OR NOT EXISTS (SELECT FROM uidgen_tools.list_key("table") AS l WHERE l.name = ANY (columns)) THEN
		RETURN;
	END IF;
	PERFORM uidgen_tools.refuse_other_function("table", s.function);
	before := (SELECT format('DROP TRIGGER "~uid_key" ON %s;', s.written) FROM pg_trigger AS g WHERE g.tgrelid = "table" AND g.tgname = '~uid_key' AND g.tgfoid = s.function);
	IF before IS NOT NULL AND uidgen_tools.compares_key("table") THEN
		after := uidgen_tools.write_key_trigger("table", uidgen_tools.write_function(s.function));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.exchange_key(regclass, name[]) IS 'the statements before and after columns of a tracked table get another type; nothing if they are not of its key, or it is not tracked';

-- A new layout can give versions below the place of readers, which would silently miss rows.  So a comment records the first version of a fixed time.
CREATE FUNCTION uidgen_tools.write_version_record() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('uidgen: versions of second 1893456000 begin with %s', uidgen.first_since(to_timestamp(1893456000)));	-- 2030, whatever it is now
COMMENT ON FUNCTION uidgen_tools.write_version_record() IS 'the line of a comment that says which versions there are now';

CREATE FUNCTION uidgen_tools.find_version_record(deleted oid, version name, OUT line text, OUT is_larger boolean)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r[1], uidgen.first_since(to_timestamp(r[2]::bigint)) < r[3]::numeric FROM pg_attribute AS a CROSS JOIN LATERAL regexp_match(uidgen_tools.find_line(col_description(a.attrelid, a.attnum), 'uidgen: versions of second '), E'^(uidgen: versions of second (\\d{1,11}) begin with (-?\\d{1,19}))$') AS r
		WHERE a.attrelid = deleted AND a.attname = version;
$$;
COMMENT ON FUNCTION uidgen_tools.find_version_record(oid, name) IS 'that line, and whether ids of the time would be smaller now';

CREATE FUNCTION uidgen_tools.list_deleted_table("table" regclass, version_column name, "execute" boolean, uid_next regprocedure, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", version_column);
	version CONSTANT text := uidgen_tools.write_name(s.version::text);
	deleted CONSTANT text := uidgen_tools.write_schema(s.schema) || '.' || uidgen_tools.write_name(s.name);
	line CONSTANT text := CASE WHEN s.record = uidgen_tools.find_line(obj_description(s.relation, 'pg_class'), 'uidgen: changes are tracked in ') THEN s.record
		-- A table of this name may have been renamed.
		ELSE (SELECT l.line FROM generate_series(1, 1 + (SELECT count(*) FROM uidgen_tools.list_lines(s.owner, 'uidgen: changes are tracked in '))) AS n CROSS JOIN LATERAL (VALUES (concat_ws(' ', 'uidgen: changes are tracked in ' || deleted, '(' || nullif(n, 1) || ')'))) AS l (line)
			WHERE NOT EXISTS (SELECT FROM uidgen_tools.list_lines(s.owner, 'uidgen: changes are tracked in ') AS d WHERE d.relation NOT IN ("table", coalesce(s.relation, 0)) AND d.line = l.line)
			ORDER BY n LIMIT 1) END;
BEGIN
	IF s.relation IS NULL THEN
		RETURN QUERY SELECT 'anew', format('table %s, which has the deleted keys, is missing', deleted),
			format('CREATE TABLE %s (%s, %s pg_catalog.int8 PRIMARY KEY DEFAULT %s);', deleted, (uidgen_tools.write_key("table")).types, version, uidgen_tools.write_function(uid_next));
		-- The role that runs the printed statement need not be the owner.
		IF NOT "execute" THEN
			RETURN QUERY SELECT 'anew', NULL, format('ALTER TABLE %s OWNER TO %s;', deleted, uidgen_tools.write_role(s.owner));
		END IF;
	ELSE
		RETURN QUERY
			WITH key AS (SELECT k.n, k.number, k.name, uidgen_tools.write_type(k.type) AS type FROM uidgen_tools.list_key("table") AS k),
			have AS (SELECT a.attnum AS number, a.attname AS name, uidgen_tools.write_type(a.atttypid) AS type, a.attnotnull AS filled
				FROM pg_attribute AS a WHERE a.attrelid = s.relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> s.version),
			-- The key's columns under other names.  They are renamed here, too, since views know columns by their numbers.
			former AS (SELECT k.n, h.name FROM key AS k JOIN uidgen_tools.list_former_names("table", s.function) AS f ON f.number = k.number JOIN have AS h ON uidgen_tools.write_literal(h.name::text) = f.written AND h.type = k.type),
			pair AS (SELECT k.n, k.name, k.type, coalesce(f.name, h.name) AS old_name, CASE WHEN f.name IS NOT NULL THEN k.type ELSE h.type END AS old_type
				FROM key AS k LEFT JOIN former AS f ON f.n = k.n LEFT JOIN have AS h ON h.name = k.name AND f.n IS NULL AND NOT EXISTS (SELECT FROM former AS o WHERE o.name = h.name)),
			-- Names can be exchanged, or belong to a column of a former key: so a column whose name is needed is renamed first.
			way AS (SELECT h.name, 'uidgen_' || h.number AS other FROM have AS h JOIN pair AS p ON p.name = h.name AND p.old_name IS DISTINCT FROM h.name),
			step AS (
				SELECT 1 AS place, NULL::name AS name, format('RENAME COLUMN %s TO %s', uidgen_tools.write_name(w.name), w.other) AS line FROM way AS w
				UNION ALL
				SELECT 2 + p.n, p.name, CASE WHEN p.old_name <> p.name THEN format('RENAME COLUMN %s TO %s', uidgen_tools.write_name(coalesce(w.other, p.old_name)), uidgen_tools.write_name(p.name))
						WHEN p.old_name IS NULL THEN format('ADD COLUMN %s %s', uidgen_tools.write_name(p.name), p.type)
						-- Readers ask for no key that was deleted before the mark.
						ELSE format('ALTER COLUMN %s TYPE %s USING NULL', uidgen_tools.write_name(p.name), p.type) END
					FROM pair AS p LEFT JOIN way AS w ON w.name = p.old_name WHERE (p.old_name = p.name AND p.old_type = p.type) IS NOT TRUE)
			(SELECT 'anew', CASE WHEN t.name IS NOT NULL THEN format('column %s of table %s is not as the key of table %s has it', uidgen_tools.write_name(t.name), deleted, s.written) END, format('ALTER TABLE %s %s;', deleted, t.line)
				FROM step AS t ORDER BY t.place, t.name)
			UNION ALL
			SELECT 'mend', format('column %s of table %s is not null, so nothing can leave a mark', uidgen_tools.write_name(h.name), deleted),
					format('ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL;', deleted, uidgen_tools.write_name(coalesce(p.name, w.other, h.name)))
				FROM have AS h LEFT JOIN pair AS p ON p.old_name = h.name LEFT JOIN way AS w ON w.name = h.name WHERE h.filled
			UNION ALL
			-- As after a restore of that table alone, which lacks later keys.
			SELECT 'anew', format('table %s has no primary key', deleted), format('ALTER TABLE %s ADD PRIMARY KEY (%s);', deleted, version)
				WHERE NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = s.relation AND i.indisprimary)
			UNION ALL
			SELECT CASE WHEN a.atthasdef THEN 'anew' ELSE 'mend' END, format('column %s of table %s has no default uid_next()', version, deleted), format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s;', deleted, version, uidgen_tools.write_function(uid_next))
				FROM pg_attribute AS a WHERE a.attrelid = s.relation AND a.attname = s.version
					AND NOT EXISTS (SELECT FROM pg_attrdef AS e JOIN pg_depend AS n ON n.classid = 'pg_attrdef'::regclass AND n.objid = e.oid AND n.refclassid = 'pg_proc'::regclass AND n.refobjid = uid_next
						WHERE e.adrelid = a.attrelid AND e.adnum = a.attnum);
	END IF;
	-- A role that may write there could report deletions that did not happen; a role with TRIGGER there could run code as the owner.
	RETURN QUERY SELECT 'mend', NULL, w.line FROM uidgen_tools.write_default_revoke("table", deleted, 'SELECT', NOT "execute") AS w (line)
		WHERE w.line IS NOT NULL AND uidgen_tools.find_line(obj_description(s.relation, 'pg_class'), 'uidgen: changes are tracked in ') IS NULL;
	RETURN QUERY SELECT 'mend', CASE WHEN s.relation IS NOT NULL AND (o."column" IS NULL OR a.attnum IS NOT NULL) THEN format('the comment of %s is without the line that uidgen writes there', o.shown) END,
			CASE WHEN "execute" OR o.relation IS NULL OR o."column" IS NOT NULL AND a.attnum IS NULL THEN u.written ELSE uidgen_tools.write_line(o.relation, o."column", o.beginning, o.line) END
		FROM (VALUES ('TABLE ' || deleted, 'table ' || deleted, s.relation, NULL::name, 'uidgen: changes are tracked in ', line),
				(format('COLUMN %s.%s', s.written, version), format('column %s of table %s', version, s.written), "table"::oid, s.version, 'uidgen: changes are tracked in ', line),
				(format('COLUMN %s.%s', deleted, version), format('column %s of table %s', version, deleted), s.relation, s.version, 'uidgen: versions of ', coalesce((uidgen_tools.find_version_record(s.relation, s.version)).line, uidgen_tools.write_version_record()))) AS o (object, shown, relation, "column", beginning, line)
			LEFT JOIN pg_attribute AS a ON a.attrelid = o.relation AND a.attname = o."column"
			LEFT JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = o.relation AND d.objsubid = coalesce(a.attnum, 0) AND (o."column" IS NULL OR a.attnum IS NOT NULL)
			CROSS JOIN LATERAL uidgen_tools.write_comment(o.object, d.description, o.beginning, o.line) AS u (written)
		WHERE u.written IS NOT NULL;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_deleted_table(regclass, name, boolean, regprocedure) IS 'what is missing or different at the table of deleted keys, and the statements that mend it';

CREATE FUNCTION uidgen_tools.list_deleted_function("table" regclass, version_column name, "execute" boolean, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", version_column);
	f record;
	deleted CONSTANT text := uidgen_tools.write_schema(s.schema) || '.' || uidgen_tools.write_name(s.name);
	body CONSTANT text := uidgen_tools.write_deleted_function(uidgen_tools.write_literal((SELECT format('"%s"."%s"', replace(n.nspname, '"', '""'), replace(s.name, '"', '""')) FROM pg_namespace AS n WHERE n.oid = s.schema)), (uidgen_tools.write_key("table")).names);
	anew CONSTANT text := format('CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %s;', deleted, uidgen_tools.write_literal(body));
	others text;
BEGIN
	SELECT p.proname::text AS name, p.pronamespace AS schema, uidgen_tools.write_function(p.oid) AS written,
			p.prosrc <> body AS writes_elsewhere, NOT p.prosecdef OR p.proconfig IS NULL
				-- The text under quote_all_identifiers.
				OR p.proconfig NOT IN (ARRAY['search_path=pg_catalog, pg_temp'], ARRAY['search_path="pg_catalog", "pg_temp"'])
				OR p.provolatile <> 'v' OR p.proparallel <> 'u' OR p.proleakproof OR p.proisstrict AS runs_otherwise,
			EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'x') AS depends
		INTO f FROM pg_proc AS p WHERE p.oid = s.function;
	-- A former table of deleted keys, which had this name before.
	RETURN QUERY SELECT 'mend', NULL, format('ALTER FUNCTION %s RENAME TO %s;', uidgen_tools.write_function(l.function), uidgen_tools.write_name(uidgen_tools.find_free_name(s.schema, l.name, '')))
		FROM uidgen_tools.list_namesakes("table", s.schema, ARRAY[s.name, f.name], s.function) AS l WHERE l.gives_way;
	RETURN QUERY SELECT 'anew', format('function %s(), which writes deleted keys, is missing', deleted), replace(anew, 'CREATE OR REPLACE FUNCTION ', 'CREATE FUNCTION ') WHERE s.function IS NULL;
	RETURN QUERY SELECT 'mend', format('function %s is not in the schema of table %s', f.written, deleted), format('ALTER FUNCTION %s SET SCHEMA %s;', f.written, uidgen_tools.write_schema(s.schema)) WHERE f.schema <> s.schema;
	RETURN QUERY SELECT 'mend', format('function %s has not the name of table %s', f.written, deleted), format('ALTER FUNCTION %s.%s() RENAME TO %s;', uidgen_tools.write_schema(s.schema), uidgen_tools.write_name(f.name), uidgen_tools.write_name(s.name)) WHERE f.name <> s.name;
	RETURN QUERY SELECT CASE WHEN f.writes_elsewhere THEN 'anew' ELSE 'mend' END, format('function %s is not what it would be now', f.written), anew WHERE f.writes_elsewhere OR f.runs_otherwise;
	-- A role that may call the function could write deleted keys by a trigger on a table of its own.
	SELECT string_agg(DISTINCT uidgen_tools.write_role(g.grantee), ', ') INTO others
		FROM (SELECT x.grantee FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS x WHERE p.oid = s.function
			UNION SELECT 0::oid WHERE s.function IS NULL
			UNION SELECT x.grantee FROM pg_default_acl AS d, aclexplode(d.defaclacl) AS x WHERE s.function IS NULL AND (d.defaclrole = s.owner OR NOT "execute") AND d.defaclobjtype = 'f') AS g (grantee)
		WHERE g.grantee <> s.owner;
	RETURN QUERY SELECT 'mend', CASE WHEN s.function IS NOT NULL THEN format('function %s() is not for its owner alone', deleted) END, format('REVOKE ALL ON FUNCTION %s() FROM %s;', deleted, others) WHERE others IS NOT NULL;
	RETURN QUERY SELECT 'anew', NULL, format('ALTER FUNCTION %s() OWNER TO %s;', deleted, uidgen_tools.write_role(s.owner)) WHERE s.function IS NULL AND NOT "execute";
	-- Without this dependency the function would outlive the extension, and each DELETE would fail.  CREATE OR REPLACE removes the dependency.
	IF s.function IS NULL OR f.writes_elsewhere OR f.runs_otherwise OR NOT f.depends THEN
		RETURN QUERY SELECT 'mend', CASE WHEN NOT f.depends THEN format('function %s() does not depend on the extension "uidgen"', deleted) END, format('ALTER FUNCTION %s() DEPENDS ON EXTENSION uidgen;', deleted) FROM pg_extension AS e WHERE e.extname = 'uidgen';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_deleted_function(regclass, name, boolean) IS 'what is missing or different at the function that writes deleted keys, and the statements that mend it';

CREATE FUNCTION uidgen_tools.list_left("table" regclass, function oid) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT g.tgrelid FROM pg_depend AS d JOIN pg_trigger AS g ON g.oid = d.objid AND g.tgname = '~uid_truncate'
		WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = function AND g.tgrelid NOT IN (SELECT m.relid FROM uidgen_tools.list_members("table") AS m);
$$;
COMMENT ON FUNCTION uidgen_tools.list_left(regclass, oid) IS 'tables that were partitions of a tracked table, and have kept its trigger for TRUNCATE';

-- Partitions do not inherit triggers for TRUNCATE: a partition whose trigger calls another table's function was detached there.  ATTACH
-- makes the triggers for each row.  So a partition was attached later if all of these are newer than the parent's triggers, and was tracked before if its trigger for
-- TRUNCATE is older than they are.  A restore attaches partitions first, and then makes the triggers of parent and partitions, table by table.
CREATE FUNCTION uidgen_tools.list_triggers("table" regclass, version_column name, uid_stamp regprocedure, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", version_column);
	function CONSTANT text := uidgen_tools.write_schema(s.schema) || '.' || uidgen_tools.write_name(s.name) || '()';
	compares_key CONSTANT boolean := uidgen_tools.compares_key("table");
	newest CONSTANT oid := (SELECT max(g.oid) FROM pg_trigger AS g WHERE g.tgrelid = "table" AND g.tgname IN ('~uid_stamp', '~uid_delete'));
	r record;
	written text;
	lines text[];
BEGIN
	FOR r IN
		WITH member AS MATERIALIZED (SELECT m.relid, m.level FROM uidgen_tools.list_members("table") AS m WHERE m.kind IN ('r', 'p')),
		wanted AS (
			SELECT w.place, "table"::oid AS relid, w.name, w.called, w.type
				FROM (VALUES (1, '~uid_stamp', uid_stamp::oid, 23), (2, '~uid_delete', s.function, 9), (3, '~uid_key', s.function, 17)) AS w (place, name, called, type)
			UNION ALL
			SELECT 4 + m.level, m.relid, '~uid_truncate', s.function, 32 FROM member AS m)
		SELECT w.place, w.relid, w.name, CASE WHEN g.oid IS NULL THEN 'missing'
				WHEN g.tgfoid IS DISTINCT FROM w.called THEN 'another one: it calls ' || uidgen_tools.write_function(g.tgfoid)
				WHEN g.tgtype <> w.type OR CASE w.name WHEN '~uid_key' THEN NOT compares_key ELSE g.tgqual IS NOT NULL OR g.tgattr <> '' END
					OR w.name = '~uid_stamp' AND uidgen_tools.find_version("table") IS DISTINCT FROM s.version THEN 'not what it would be now'
				WHEN a.is_attached THEN 'from before the partition was attached'
				ELSE 'not enabled' END AS state
			FROM wanted AS w LEFT JOIN pg_trigger AS g ON g.tgrelid = w.relid AND g.tgname = w.name
				CROSS JOIN LATERAL (SELECT w.place > 4 AND min(d.oid) > greatest(newest, g.oid) FROM pg_trigger AS d WHERE d.tgrelid = w.relid AND d.tgname IN ('~uid_stamp', '~uid_delete')) AS a (is_attached)
			WHERE (g.tgenabled = 'A' AND g.tgfoid = w.called AND g.tgtype = w.type AND CASE w.name WHEN '~uid_key' THEN compares_key ELSE g.tgqual IS NULL AND g.tgattr = '' END) IS NOT TRUE
				OR w.place < 4 AND EXISTS (SELECT FROM member AS m JOIN pg_trigger AS o ON o.tgrelid = m.relid WHERE o.tgname = w.name AND o.tgenabled <> 'A')
				OR w.place = 1 AND uidgen_tools.find_version("table") IS DISTINCT FROM s.version
				OR a.is_attached
		UNION ALL
		SELECT 1000000, c.oid, '~uid_truncate', 'left, of when it was a partition' FROM uidgen_tools.list_left("table", s.function) AS f (relid) JOIN pg_class AS c ON c.oid = f.relid AND c.relowner = s.owner
		ORDER BY 1, 2
	LOOP
		written := uidgen_tools.write_relation(r.relid);
		lines := CASE r.place
			WHEN 1 THEN ARRAY[format('CREATE TRIGGER "~uid_stamp" BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s(%s);', written, rtrim(uidgen_tools.write_function(uid_stamp), '()'), uidgen_tools.write_literal(s.version::text)),
				format('ALTER TABLE %s ENABLE ALWAYS TRIGGER "~uid_stamp";', written)]
			WHEN 2 THEN ARRAY[format('CREATE TRIGGER "~uid_delete" AFTER DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s;', written, function), format('ALTER TABLE %s ENABLE ALWAYS TRIGGER "~uid_delete";', written)]
			WHEN 3 THEN uidgen_tools.write_key_trigger("table", function)
			WHEN 1000000 THEN ARRAY[format('DROP TRIGGER "~uid_truncate" ON %s;', written)]
			ELSE uidgen_tools.write_truncate_trigger(written, function) END;
		RETURN QUERY SELECT 'anew', CASE u.n WHEN 1 THEN format('trigger "%s" of table %s is %s', r.name, written, r.state) END, u.line
			FROM unnest(CASE WHEN r.state = 'not enabled' THEN lines[2:2] WHEN r.state = 'missing' OR r.place = 1000000 THEN lines
				ELSE format('DROP TRIGGER "%s" ON %s;', r.name, written) || lines END) WITH ORDINALITY AS u (line, n);
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_triggers(regclass, name, regprocedure) IS 'which triggers of a tracked table are missing or different, and the statements that mend them';

-- All rows are missing ones while the table is not tracked.
CREATE FUNCTION uidgen_tools.list_tracking("table" regclass, version_column name, "execute" boolean, uid_next regprocedure, uid_stamp regprocedure, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	t record;
	version CONSTANT text := uidgen_tools.write_name(version_column::text);
BEGIN
	SELECT uidgen_tools.write_relation(c.oid) AS written, c.relname::text AS name, c.relnamespace AS schema, c.relkind = 'p' AS is_partitioned, a.attnum AS number, a.attnotnull AS is_filled
		INTO t FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = version_column AND NOT a.attisdropped WHERE c.oid = "table";
	IF t.number IS NULL THEN
		RETURN QUERY SELECT 'anew', format('table %s has no column %s, for the versions', t.written, version), format('ALTER TABLE %s ADD COLUMN %s pg_catalog.int8 NOT NULL DEFAULT 0;', t.written, version);
	ELSIF NOT t.is_filled THEN
		RETURN QUERY SELECT 'mend', format('column %s of table %s can be null', version, t.written), format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', t.written, version);
	END IF;
	RETURN QUERY SELECT l.class, l.what, l.statement FROM uidgen_tools.list_deleted_table("table", version_column, "execute", uid_next) AS l;
	RETURN QUERY SELECT l.class, l.what, l.statement FROM uidgen_tools.list_deleted_function("table", version_column, "execute") AS l;
	RETURN QUERY SELECT l.class, l.what, l.statement FROM uidgen_tools.list_triggers("table", version_column, uid_stamp) AS l;
	IF NOT uidgen_tools.has_index("table", version_column) THEN
		RETURN QUERY SELECT 'mend', format('table %s has no index on column %s', t.written, version), format('CREATE INDEX %s%s ON %s (%s);', CASE WHEN "execute" OR t.is_partitioned THEN '' ELSE 'CONCURRENTLY ' END,
			uidgen_tools.write_name(uidgen_tools.find_free_name(t.schema, t.name, '_changed_idx')), t.written, version);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_tracking(regclass, name, boolean, regprocedure, regprocedure) IS 'what is missing or different at a tracked table, in classes, and the statements that mend it, in their order';

-- Only the trigger that a partition has kept tells that another tracked table had these rows.
CREATE FUNCTION uidgen_tools.list_former_deleted(tables oid[], function oid) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	-- In steps, each the next one's input: another plan would look at all tracked tables of the database.
	WITH g AS MATERIALIZED (SELECT DISTINCT p.relowner, g.tgfoid FROM unnest(tables) AS w (relid) JOIN pg_class AS p ON p.oid = w.relid CROSS JOIN LATERAL uidgen_tools.list_members(w.relid) AS m JOIN pg_trigger AS g ON g.tgrelid = m.relid AND g.tgname = '~uid_truncate' AND g.tgfoid IS DISTINCT FROM function),
		t AS MATERIALIZED (SELECT g.relowner, g.tgfoid, t.tgrelid FROM g JOIN pg_depend AS d ON d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = g.tgfoid JOIN pg_trigger AS t ON t.oid = d.objid AND t.tgname = '~uid_delete' AND t.tgparentid = 0)
	SELECT DISTINCT c.oid FROM t CROSS JOIN LATERAL uidgen_tools.seek_tracking(t.tgrelid, NULL) AS o JOIN pg_class AS c ON c.oid = o.relation AND c.relowner = t.relowner WHERE o.function = t.tgfoid ORDER BY 1;
$$;
COMMENT ON FUNCTION uidgen_tools.list_former_deleted(oid[], oid) IS 'the tables of deleted keys of other tracked tables that partitions of these have come from';

-- Changes are tracked at the root of a table that is itself a partition.
CREATE FUNCTION uidgen_tools.list_marked("table" regclass, partitions oid[]) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH d AS MATERIALIZED (SELECT a.relid, f.function, f.relation FROM pg_partition_ancestors("table") AS a (relid) CROSS JOIN LATERAL uidgen_tools.find_deleted(a.relid) AS f)
	SELECT d.relation FROM d WHERE d.relation IS NOT NULL
	UNION SELECT f.relid FROM uidgen_tools.list_former_deleted(partitions, (SELECT d.function FROM d WHERE d.relid = pg_partition_root("table"))) AS f (relid);
$$;
COMMENT ON FUNCTION uidgen_tools.list_marked(regclass, oid[]) IS 'the tables of deleted keys that get a mark when partitions of a table are dropped';

CREATE FUNCTION uidgen_tools.list_locked_tables("table" regclass, version_column name) RETURNS oid[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_remove(ARRAY["table"::oid, s.relation] || ARRAY(SELECT uidgen_tools.list_former_deleted(ARRAY["table"::oid], s.function))
			|| ARRAY(SELECT c.oid FROM uidgen_tools.list_left("table", s.function) AS f (relid) JOIN pg_class AS c ON c.oid = f.relid AND c.relowner = s.owner ORDER BY 1), NULL)
		FROM uidgen_tools.seek_tracking("table", version_column) AS s;
$$;
COMMENT ON FUNCTION uidgen_tools.list_locked_tables(regclass, name) IS 'the tables that uid_track_changes() locks against everybody, in their order';

CREATE FUNCTION uidgen_tools.plan_tracking("table" regclass, version_column name, execute boolean, uid_next regprocedure, uid_stamp regprocedure, OUT part text, OUT line text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", version_column);
	l record;
	v record;
	version constant text := uidgen_tools.write_name(version_column::text);
	deleted constant text := uidgen_tools.write_schema(s.schema) || '.' || uidgen_tools.write_name(s.name);
	is_first constant boolean := s.function IS NULL AND s.relation IS NULL;
	is_anew boolean := false;
	steps text[] := '{}';
	late text;
	others oid[];
	remarks text[] := '{}';
	undo text[] := '{}';
BEGIN
	SELECT a.attnum AS number, a.attnotnull AS is_filled, c.relname::text AS name, c.relnamespace AS schema
		INTO v FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = version_column AND NOT a.attisdropped WHERE c.oid = "table";
	FOR l IN SELECT w.class, w.what, w.statement FROM uidgen_tools.list_tracking("table", version_column, "execute", uid_next, uid_stamp) WITH ORDINALITY AS w (class, what, statement, n) WHERE w.statement IS NOT NULL ORDER BY w.n LOOP
		IF starts_with(l.statement, 'CREATE INDEX ') THEN
			late := l.statement;
		ELSE
			steps := steps || l.statement;
			is_anew := is_anew OR l.class = 'anew';
		END IF;
		IF NOT is_first AND l.what IS NOT NULL THEN
			remarks := remarks || l.what;
		END IF;
	END LOOP;
	IF is_anew AND (NOT is_first OR s.record IS NOT NULL) THEN
		steps := steps || format('INSERT INTO %s DEFAULT VALUES;', deleted);
		remarks := remarks || 'changes may have been missed: all readers copy the table anew'::text;
	END IF;
	IF uidgen_tools.is_scanned("table", version_column) THEN
		remarks := remarks || 'all rows are read for SET NOT NULL, and nobody else reads them meanwhile'::text;
	ELSIF v.number IS NULL THEN
		remarks := remarks || ARRAY(SELECT c.line FROM uidgen_tools.describe_cost("table", (uidgen_tools.write_key("table")).width) WITH ORDINALITY AS c (line, n) ORDER BY c.n)
			|| 'rows from before have the version 0: a reader gets them by the first copy, and never by its place'::text
			|| ARRAY(SELECT DISTINCT format('trigger %s calls %s: see that it takes a row with one more column', uidgen_tools.write_name(g.tgname), uidgen_tools.write_function(g.tgfoid))
				FROM uidgen_tools.list_members("table") AS m JOIN pg_trigger AS g ON g.tgrelid = m.relid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgparentid = 0 AND g.tgtype & 1 = 1
					JOIN pg_proc AS p ON p.oid = g.tgfoid JOIN pg_language AS i ON i.oid = p.prolang AND i.lanname NOT IN ('internal', 'c')
				WHERE g.tgname !~ '^~uid_' ORDER BY 1);
	END IF;
	IF is_first THEN
		remarks := remarks || ARRAY(SELECT u.line FROM (VALUES (1, true, format('who reads changes needs SELECT on table %s, or on a view of both, and who writes needs nothing', deleted)),
			(2, EXISTS (SELECT FROM uidgen_tools.list_publications(s.schema)),
				format('a publication takes table %s along: a subscriber without that table stops, and a subscriber that tracks the table has to leave that out, since versions count where they are drawn', deleted)),
			(3, EXISTS (SELECT FROM pg_partitioned_table AS p WHERE p.partrelid = "table"), format('what attaches, detaches or drops a partition by hand writes a mark in the same transaction: INSERT INTO %s DEFAULT VALUES', deleted))) AS u (n, applies, line)
			WHERE u.applies ORDER BY u.n);
	END IF;
	others := ARRAY(SELECT uidgen_tools.list_former_deleted(ARRAY["table"::oid], s.function));
	steps := ARRAY(SELECT uidgen_tools.write_mark(o.relation) FROM unnest(others) AS o (relation)) || steps;
	remarks := remarks || ARRAY(SELECT format('a partition was in another tracked table: its readers copy that anew, by a mark in %s', uidgen_tools.write_relation(o.relation)) FROM unnest(others) AS o (relation));
	undo := ARRAY(SELECT u.line FROM (VALUES
			(1, NOT EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = "table" AND g.tgname = '~uid_stamp'), format('DROP TRIGGER "~uid_stamp" ON %s;', s.written)),
			(2, s.function IS NULL, format('DROP FUNCTION %s() CASCADE;', deleted)),
			(3, is_first, '-- Before, drop views that select the keys or the column, such as the view of readers.'),
			(4, is_first, format('DROP TABLE %s;', deleted)),
			(5, v.number IS NULL, format('ALTER TABLE %s DROP COLUMN %s;', s.written, version)),
			(6, v.number IS NOT NULL AND NOT v.is_filled, format('ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL;', s.written, version)),
			(7, v.number IS NOT NULL AND is_first, uidgen_tools.write_line("table", version_column, 'uidgen: changes are tracked in ', NULL)),
			(8, v.number IS NOT NULL AND late IS NOT NULL, format('DROP INDEX %s.%s;', uidgen_tools.write_schema(v.schema), uidgen_tools.write_name(uidgen_tools.find_free_name(v.schema, v.name, '_changed_idx'))))) AS u (n, applies, line)
		WHERE u.applies ORDER BY u.n);
	RETURN QUERY SELECT 'step', format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', (SELECT string_agg(uidgen_tools.write_relation(t.relation), ', ' ORDER BY t.n) FROM unnest(uidgen_tools.list_locked_tables("table", version_column)) WITH ORDINALITY AS t (relation, n))) WHERE cardinality(steps) > 0 OR late IS NOT NULL AND "execute";
	RETURN QUERY SELECT 'step', u.line FROM unnest(steps) AS u (line);
	RETURN QUERY SELECT 'late', late WHERE late IS NOT NULL;
	RETURN QUERY SELECT 'remark', u.line FROM unnest(remarks) AS u (line);
	RETURN QUERY SELECT 'undo', u.line FROM unnest(CASE WHEN cardinality(undo) > 0 THEN format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', s.written) || undo END) AS u (line);
END
$$;
COMMENT ON FUNCTION uidgen_tools.plan_tracking(regclass, name, boolean, regprocedure, regprocedure) IS 'the statements by which the changes of a table are tracked, to be printed or run, what they cost, and the statements that undo them';

CREATE FUNCTION uidgen_tools.list_meddlers(relation oid, OUT what text, OUT omits boolean, OUT of_insert boolean, OUT statement text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('%s %s of table %s', w.kind, n.name, n.relation), w.omits, w.of_insert, format('DROP %s %s ON %s;', upper(w.kind), n.name, n.relation)
		FROM (SELECT 'trigger', g.tgname, g.tgtype & 3 = 3, g.tgtype & 4 = 4 FROM pg_trigger AS g WHERE g.tgrelid = list_meddlers.relation AND NOT g.tgisinternal AND g.tgenabled <> 'D'
				UNION ALL SELECT 'rule', r.rulename, r.is_instead, r.ev_type = '3' FROM pg_rewrite AS r WHERE r.ev_class = list_meddlers.relation AND r.ev_enabled <> 'D') AS w (kind, name, omits, of_insert)
			CROSS JOIN LATERAL (SELECT uidgen_tools.write_name(w.name), uidgen_tools.write_relation(list_meddlers.relation)) AS n (name, relation);
$$;
COMMENT ON FUNCTION uidgen_tools.list_meddlers(oid) IS 'triggers and rules on a table that the tools write to, whether they can leave out a row, and the statements that drop them';

-- As when two tables have exchanged names: a view that is made anew would have the keys of the other table.
CREATE FUNCTION uidgen_tools.list_deleted_namesakes("table" regclass, own oid) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('table %s has the deleted keys of table %s', uidgen_tools.write_relation(c.oid), uidgen_tools.write_relation(g.tgrelid))
		FROM pg_class AS t JOIN pg_class AS c ON c.relnamespace = t.relnamespace AND c.relname = uidgen_tools.shorten_name(t.relname, octet_length('_deleted')) || '_deleted' AND c.oid <> own
			JOIN pg_proc AS p ON p.pronamespace = c.relnamespace AND p.proname = c.relname AND uidgen_tools.writes_deleted(p.oid) JOIN pg_trigger AS g ON g.tgfoid = p.oid AND g.tgname = '~uid_delete' AND g.tgparentid = 0 AND g.tgrelid <> t.oid
		WHERE t.oid = "table";
$$;
COMMENT ON FUNCTION uidgen_tools.list_deleted_namesakes(regclass, oid) IS 'deleted keys of another table under the name that this table''s would have, if these are elsewhere';

-- Rows for the user.  No statement is printed about objects of another role: a superuser would run what the owner of the tracked table has chosen.
CREATE FUNCTION uidgen_tools.list_told("table" regclass, uid_next regprocedure, uid_stamp regprocedure, OUT ends boolean, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", NULL);
	deleted CONSTANT text := uidgen_tools.write_relation(s.relation);
	own CONSTANT oid := (SELECT c.oid FROM pg_class AS c WHERE c.oid = s.relation AND c.relowner = s.owner);	-- of another's nothing else is said
BEGIN
	RETURN QUERY SELECT true, format('trigger %s of table %s has the name of one that is needed, and calls %s, which uid_track_changes() has not written, or not so', uidgen_tools.write_name(o.name), r.written, uidgen_tools.write_function(o.called)),
				format('DROP TRIGGER %s ON %s;', uidgen_tools.write_name(o.name), r.written)
			FROM uidgen_tools.list_other_triggers("table", s.function, uid_stamp) AS o CROSS JOIN LATERAL uidgen_tools.write_relation(o.relid) AS r (written)
			WHERE s.function IS NOT NULL OR NOT uidgen_tools.writes_deleted(o.called);	-- of a partition that is itself tracked
	IF FOUND THEN	-- what they say, such as the name of a column, counts for nothing
		RETURN;
	END IF;
	RETURN QUERY SELECT true, format('function %s has the name of the one that would write deleted keys of table %s', l.written, s.written), CASE WHEN p.proowner = s.owner THEN format('ALTER FUNCTION %s RENAME TO %s;', l.written, uidgen_tools.write_name(uidgen_tools.find_free_name(s.schema, n.name, ''))) END
			FROM uidgen_tools.list_namesakes("table", s.schema, ARRAY[s.name], s.function) AS n JOIN pg_proc AS p ON p.oid = n.function CROSS JOIN LATERAL uidgen_tools.write_function(n.function) AS l (written) WHERE s.relation IS NOT NULL AND NOT n.gives_way
		UNION ALL
		-- LIKE copies comments, and no triggers.
		SELECT true, CASE WHEN o.written IS NULL THEN format('table %s has the comment of a tracked one and no triggers: it is a copy, or has taken its place; to track it, call uid_track_changes(), and let readers copy it anew', s.written)
					ELSE format('table %s has the comment of a tracked one, and so has %s, and neither has triggers: one is a copy; call uid_track_changes() for the other, and let readers copy it anew', s.written, o.written) END,
				CASE WHEN o.written IS NULL THEN uidgen_tools.write_line("table", a.attname, 'uidgen: changes are tracked in ', NULL) END
			FROM pg_attribute AS a
				CROSS JOIN (SELECT CASE WHEN NOT bool_or(EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = l AND g.tgname IN ('~uid_stamp', '~uid_delete', '~uid_key') AND g.tgparentid = 0)) THEN string_agg('table ' || uidgen_tools.write_relation(l), ', ' ORDER BY l) END
					FROM uidgen_tools.list_copies("table", s.record) AS l) AS o (written)
			WHERE a.attrelid = "table" AND a.attname = s.recorded AND num_nulls(s.function, s.relation, uidgen_tools.find_version("table")) = 3
		UNION ALL
		SELECT true, format('trigger "~uid_stamp" of table %s is there, and nothing else that uid_track_changes() makes', s.written), format('DROP TRIGGER "~uid_stamp" ON %s;', s.written)
			WHERE num_nulls(s.function, s.relation, s.record) = 3 AND uidgen_tools.find_version("table") IS NOT NULL
		UNION ALL
		SELECT true, format('nothing says any more in which column table %s has its versions: call uid_track_changes() with that', s.written), NULL WHERE s.version IS NULL AND num_nonnulls(s.function, s.relation) > 0;
	IF num_nulls(s.function, s.relation) = 2 AND num_nulls(s.record, uidgen_tools.find_version("table")) > 0 THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT true, format('function %s, which writes deleted keys of table %s, belongs to another role', uidgen_tools.write_function(p.oid), s.written), NULL FROM pg_proc AS p WHERE p.oid = s.function AND p.proowner <> s.owner
		UNION ALL
		SELECT true, format('table %s, which has deleted keys of table %s, belongs to another role', deleted, s.written), NULL WHERE s.relation IS DISTINCT FROM own
		UNION ALL
		SELECT true, format('table %s is tracked, and something else has the name %s.%s of the table of its deleted keys', s.written, uidgen_tools.write_schema(s.schema), uidgen_tools.write_name(s.name)), NULL FROM pg_class AS c JOIN pg_proc AS p ON p.oid = s.function AND p.proowner = s.owner WHERE c.relnamespace = s.schema AND c.relname = s.name AND s.relation IS NULL
		UNION ALL
		SELECT true, concat_ws(' ', k.message || ':', k.detail, k.hint), NULL FROM uidgen_tools.list_untracked_kinds("table") AS k
		UNION ALL
		SELECT true, format('table %s has no key, by which readers know which row was deleted', s.written), NULL WHERE uidgen_tools.choose_key("table") IS NULL
		UNION ALL
		SELECT true, format('column %s of table %s was column %s when the table was tracked', uidgen_tools.write_name(v.name), r.written, uidgen_tools.write_name(s.version)), format('ALTER TABLE %s RENAME COLUMN %s TO %s;', r.written, uidgen_tools.write_name(v.name), uidgen_tools.write_name(s.version))
			FROM uidgen_tools.list_versions(own, s.version, s.recorded) WITH ORDINALITY AS v (name, n) CROSS JOIN LATERAL (SELECT CASE WHEN v.name = s.recorded THEN s.written ELSE deleted END) AS r (written) WHERE v.name <> s.version
		UNION ALL
		SELECT true, format('column %s of table %s is not of type bigint', uidgen_tools.write_name(a.attname), s.written), format('ALTER TABLE %s ALTER COLUMN %s TYPE bigint;', s.written, uidgen_tools.write_name(a.attname)) FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = s.version AND a.atttypid <> 'bigint'::regtype
		UNION ALL
		SELECT true, format('the unique index %s has column %s, which gets a new value with each change', u.named, uidgen_tools.write_name(s.version)), u.statement FROM uidgen_tools.list_unique_versions("table", s.version) AS u
		UNION ALL
		SELECT false, format('%s, and table %s those of table %s', n.line, deleted, s.written), NULL FROM uidgen_tools.list_deleted_namesakes("table", own) AS n (line)
		UNION ALL
		SELECT false, format('trigger %s of table %s fires after the one that gives the version', uidgen_tools.write_name(g.tgname), uidgen_tools.write_relation(g.tgrelid)),
				format('ALTER TRIGGER %s ON %s RENAME TO %s; %s', uidgen_tools.write_name(g.tgname), uidgen_tools.write_relation(g.tgrelid), uidgen_tools.write_name('a ' || g.tgname), uidgen_tools.write_mark(own))
			FROM uidgen_tools.list_later_triggers("table") AS l JOIN pg_trigger AS g ON g.oid = l
		UNION ALL
		SELECT false, format('a subscription does not find the rows of table %s, which has neither a primary key nor a replica identity: UPDATE and DELETE do nothing there', u.written), u.statement FROM uidgen_tools.list_unidentified("table") AS u
		UNION ALL
		SELECT false, format('table %s, which has deleted keys, is emptied by a crash', deleted), format('ALTER TABLE %s SET LOGGED; %s', deleted, uidgen_tools.write_mark(own)) FROM pg_class AS c WHERE c.oid = own AND c.relpersistence = 'u'
		UNION ALL
		-- A publication for all tables of a schema has the table, too.
		SELECT false, format('%s does not fire for deleted keys%s', w.what, CASE WHEN w.omits THEN ', and may leave out marks' END), concat_ws(' ', w.statement, CASE WHEN w.omits THEN uidgen_tools.write_mark(own) END)
			FROM uidgen_tools.list_meddlers(own) AS w WHERE w.omits OR w.of_insert
		UNION ALL
		SELECT false, format('%s of table %s may refuse deleted keys or marks, and so what deletes rows', w.shown, deleted), w.line
			FROM (SELECT 'constraint ' || uidgen_tools.write_name(k.conname), format('ALTER TABLE %s DROP CONSTRAINT %s;', deleted, uidgen_tools.write_name(k.conname)) FROM pg_constraint AS k WHERE k.conrelid = own AND k.contype IN ('c', 'f', 'u', 'x')
				UNION ALL SELECT 'unique index ' || uidgen_tools.write_relation(i.indexrelid), format('DROP INDEX %s;', uidgen_tools.write_relation(i.indexrelid)) FROM pg_index AS i WHERE i.indrelid = own AND i.indisunique AND NOT i.indisprimary AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = i.indexrelid)) AS w (shown, line)
		UNION ALL
		SELECT false, format('column %s of table %s has a default, so that a mark is none', uidgen_tools.write_name(k.name), deleted), format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT; %s', deleted, uidgen_tools.write_name(k.name), uidgen_tools.write_mark(own))
			FROM uidgen_tools.list_key("table") AS k JOIN pg_attribute AS a ON a.attrelid = own AND a.attname = k.name AND a.atthasdef
		UNION ALL
		-- Which readers see the keys of a table with row security is for its owner to say, by a policy.
		SELECT false, format('row security of table %s, which has deleted keys, %s', deleted, w.what), CASE WHEN w.is_held OR NOT c.relrowsecurity THEN format('ALTER TABLE %s %s ROW LEVEL SECURITY; %s', deleted, w.verb, uidgen_tools.write_mark(own)) END FROM uidgen_tools.list_hidden(own) AS w JOIN pg_class AS c ON c.oid = "table"
		UNION ALL
		SELECT false, format('others than the owner may write to table %s, which has deleted keys', deleted), w.line FROM uidgen_tools.write_revoke(own) AS w (line) WHERE w.line IS NOT NULL
		UNION ALL
		SELECT false, format('the owner of table %s may not use %s %s, which has deleted keys, so that %s', s.written, w.kind, w.written, CASE w.kind WHEN 'table' THEN 'marks and purges fail' ELSE 'DELETE fails' END),
				CASE WHEN w.kind = 'table' OR EXISTS (SELECT FROM pg_namespace AS n WHERE n.oid = s.schema AND n.nspowner = s.owner) THEN format('GRANT %s %s TO %s;', w.granted, w.written, uidgen_tools.write_role(s.owner)) END
			FROM (SELECT 'table', 'ALL ON TABLE', deleted FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS u (privilege) HAVING NOT bool_and(has_table_privilege(s.owner, own, u.privilege))
				UNION ALL SELECT 'schema', 'USAGE ON SCHEMA', uidgen_tools.write_schema(s.schema) WHERE own IS NOT NULL AND NOT has_schema_privilege(s.owner, s.schema, 'USAGE')) AS w (kind, granted, written)
		UNION ALL
		SELECT false, format('the owner of table %s may not draw ids', s.written), format('GRANT EXECUTE ON FUNCTION %s TO %s;', uidgen_tools.write_function(uid_next), uidgen_tools.write_role(s.owner))
			WHERE NOT has_function_privilege(s.owner, uid_next, 'EXECUTE');
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_told(regclass, regprocedure, regprocedure) IS 'what is different at a tracked table and only its owner can mend, how, and whether nothing else can be said before';

-- A trigger depends on its function; anybody can make such triggers on own tables.
CREATE FUNCTION uidgen_tools.write_call(called regprocedure, tool text, arguments text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT %s.%s(%s);', uidgen_tools.write_schema(p.pronamespace), uidgen_tools.write_name(p.proname), arguments)
		FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid JOIN pg_proc AS o ON o.oid = d.refobjid AND o.proowner = p.proowner
		WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = called AND p.proname = tool;
$$;
COMMENT ON FUNCTION uidgen_tools.write_call(regprocedure, text, text) IS 'a call of one of the functions for users, wherever they are';

CREATE FUNCTION uidgen_tools.check_tracking("table" regclass, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
SET plan_cache_mode = force_generic_plan	-- the same few for all tables
AS $$
#variable_conflict error
DECLARE
	s record := uidgen_tools.seek_tracking("table", NULL);
	uid_next regprocedure;
	uid_stamp regprocedure;
	l record;
	ends boolean := false;
	call text;
BEGIN
	IF s.written IS NULL OR num_nulls(s.function, s.relation, uidgen_tools.find_version("table")) = 3
			AND (EXISTS (SELECT FROM pg_class AS c WHERE c.oid = "table" AND c.relispartition) OR s.record IS NULL AND NOT EXISTS (SELECT FROM uidgen_tools.list_other_triggers("table", NULL, NULL) AS o WHERE NOT uidgen_tools.writes_deleted(o.called))) THEN
		RETURN;
	END IF;
	uid_next := uidgen_tools.find_function('uid_next', 'uidgen_next');
	uid_stamp := uidgen_tools.find_function('uid_stamp', 'uidgen_stamp');
	FOR l IN SELECT t.ends, t.what, t.statement FROM uidgen_tools.list_told("table", uid_next, uid_stamp) AS t LOOP
		class := 'tell';
		what := l.what;
		statement := l.statement;
		RETURN NEXT;
		ends := ends OR l.ends;
	END LOOP;
	RETURN QUERY SELECT 'anew', format('ids are smaller now than the versions of table %s, so readers that go on from those see no change', s.written),
			format('LOCK TABLE %1$s, %2$s IN ACCESS EXCLUSIVE MODE; UPDATE %1$s SET %3$s = %3$s; DELETE FROM %2$s; %4$s %5$s', s.written, d.written, uidgen_tools.write_name(s.version), uidgen_tools.write_mark(s.relation),
				uidgen_tools.write_line(s.relation, s.version, 'uidgen: versions of ', uidgen_tools.write_version_record()))
		FROM uidgen_tools.find_version_record(s.relation, s.version) AS r CROSS JOIN uidgen_tools.write_relation(s.relation) AS d (written) WHERE r.is_larger AND NOT ends;
	call := uidgen_tools.write_call('uidgen_tools.track_changes(regclass,name,boolean)'::regprocedure, 'uid_track_changes', format('%s, %s::pg_catalog.name, true', uidgen_tools.write_regclass("table"), uidgen_tools.write_literal(s.version::text)));
	RETURN QUERY SELECT t.class, t.what, call FROM uidgen_tools.list_tracking("table", s.version, true, uid_next, uid_stamp) AS t WHERE t.what IS NOT NULL AND NOT ends;
	-- Only the table's owner may drop that trigger, and only the function's owner the function.
	RETURN QUERY SELECT 'tell', format('trigger "~uid_truncate" of %s is left, of when it was a partition of table %s, and belongs to another role', string_agg('table ' || uidgen_tools.write_relation(c.oid), ', ' ORDER BY c.oid), s.written),
			format('DROP FUNCTION %s CASCADE; %s', uidgen_tools.write_function(s.function), call)
		FROM uidgen_tools.list_left("table", s.function) AS f (relid) JOIN pg_class AS c ON c.oid = f.relid AND c.relowner <> s.owner WHERE NOT ends HAVING count(*) > 0;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_tracking(regclass) IS 'what is missing or different at a tracked table, in classes, and what mends it; by the catalogs alone, and without a lock';

CREATE FUNCTION uidgen_tools.track_changes("table" regclass, version_column name, execute boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	patience text := current_setting('lock_timeout');
	uid_next regprocedure;
	uid_stamp regprocedure;
	lock text;
	parts text[];
	lines text[];
	differs text;
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
	-- Partitions are locked, too, so that their owners and names stay.  All is read again under the locks.
	LOOP
		BEGIN
			PERFORM uidgen_tools.refuse_tracking("table", version_column, runs, uid_next, uid_stamp);
			SELECT array_agg(p.part ORDER BY p.n), array_agg(p.line ORDER BY p.n) INTO parts, lines
				FROM uidgen_tools.plan_tracking("table", version_column, runs, uid_next, uid_stamp) WITH ORDINALITY AS p (part, line, n);
			-- The error releases the locks of the look, as in adopt_column().
			RAISE EXCEPTION USING ERRCODE = 'UID00';
		EXCEPTION WHEN SQLSTATE 'UID00' THEN
		END;
		IF parts IS NULL THEN
			RAISE NOTICE 'nothing is to be done: the changes of table "%" are tracked', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"));
			PERFORM set_config('lock_timeout', patience, true);
			RETURN;
		END IF;
		EXIT WHEN NOT runs OR lines[1] = lock;
		IF lock IS NOT NULL THEN
			PERFORM uidgen_tools.explain_renaming("table");
		END IF;
		lock := lines[1];
		PERFORM uidgen_tools.lock_tables(lock, uidgen_tools.list_locked_tables("table", version_column), 'ACCESS EXCLUSIVE');
	END LOOP;
	RETURN QUERY SELECT c.s FROM uidgen_tools.carry_out(parts, lines, runs) AS c (s);
	-- An event trigger may have given away what was made, or rights on it.
	PERFORM uidgen_tools.refuse_other_owners(ARRAY[s.relation]), uidgen.run_confined(coalesce((SELECT r.line FROM uidgen_tools.write_revoke(s.relation) AS r (line)), 'SELECT'))
		FROM uidgen_tools.seek_tracking("table", version_column) AS s WHERE runs;
	-- The statements name functions, too, while the plan knew their OIDs.
	differs := (SELECT coalesce(t.what, t.statement) FROM uidgen_tools.list_tracking("table", version_column, runs, uid_next, uid_stamp) AS t WHERE runs LIMIT 1);
	IF differs IS NOT NULL THEN
		RAISE EXCEPTION 'what uid_track_changes() has made was changed meanwhile'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('Different is: %s.', differs),
				HINT = 'A function or schema was renamed: call it again. Or an event trigger changes what is made: disable it meanwhile.';
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

-- The newest purged key becomes a mark in the same statement, so a reader that has not read so far copies the table anew.
CREATE FUNCTION uidgen_tools.purge_deleted("table" regclass, before timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	present CONSTANT timestamptz := now();
	patience CONSTANT text := current_setting('lock_timeout');
	d record;
	locked oid;
	written text;
	version text;
	keys text;
	no_keys text;
	floor bigint;
	purged bigint;
BEGIN
	IF num_nulls("table", before) > 0 THEN
		RAISE EXCEPTION 'no argument of uid_purge_deleted() may be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the table, and the time before which its keys were deleted.';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'uid_purge_deleted() works in isolation level read committed only' USING ERRCODE = 'invalid_transaction_state',
				DETAIL = format('This transaction has %s, and would not see that a table was renamed or given to another role before it has its lock.', current_setting('transaction_isolation')),
				HINT = 'Call it in a transaction of its own.';
	END IF;
	-- All is read again under the lock.
	LOOP
		PERFORM uidgen_tools.refuse_other_kinds("table", 'Name');
		PERFORM uidgen_tools.refuse_other_owners(ARRAY["table"::oid]);
		d := uidgen_tools.find_deleted("table");
		IF d.relation IS NULL THEN
			RAISE EXCEPTION 'the changes of table "%" are not tracked', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
				USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Name the table for which uid_track_changes() was called, not the table of deleted keys.';
		ELSIF before > present THEN
			RAISE EXCEPTION 'uid_purge_deleted() deletes only what is past'
				USING ERRCODE = 'invalid_parameter_value', DETAIL = format('"before" is %s, and it is now %s.', before, present),
					HINT = 'Give a time that has passed, and that all readers have passed.';
		END IF;
		EXIT WHEN d.relation = locked;
		IF locked IS NOT NULL THEN
			PERFORM uidgen_tools.explain_renaming(locked);
		END IF;
		locked := d.relation;
		written := uidgen_tools.write_relation(locked);
		PERFORM uidgen_tools.lock_by_name(locked, written, 'SHARE UPDATE EXCLUSIVE');
	END LOOP;
	version := uidgen_tools.write_name(d.version);
	PERFORM uidgen_tools.refuse_hidden_rows(locked, 'uid_purge_deleted()');
	-- Columns of a former key count, too: a row with any key is no mark.
	SELECT format('num_nonnulls(%s) > 0', string_agg('d.' || uidgen_tools.write_name(a.attname), ', ')), string_agg(format('%s = NULL', uidgen_tools.write_name(a.attname)), ', ' ORDER BY a.attnum) INTO keys, no_keys
		FROM pg_attribute AS a WHERE a.attrelid = locked AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> d.version;
	floor := uidgen.run_confined(format('SELECT max(d.%2$s) FROM %1$s AS d WHERE d.%2$s < %3$s AND %4$s', written, version, uidgen.first_since(before), keys));
	-- Only the owner can have locked a row.
	purged := uidgen_tools.wait_for_lock(format('WITH gone AS (DELETE FROM %1$s AS d WHERE d.%2$s < %3$s RETURNING %4$s AS is_key), mark AS (UPDATE %1$s AS d SET %5$s WHERE d.%2$s = %3$s RETURNING 1) SELECT (SELECT count(*) FILTER (WHERE g.is_key) FROM gone AS g) + count(*) FROM mark',
		written, version, floor, keys, no_keys), locked, 'EXCLUSIVE', clock_timestamp()) WHERE floor IS NOT NULL;
	PERFORM set_config('lock_timeout', patience, true);
	RETURN coalesce(purged, 0);
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
