--
-- The check compares the objects that the tools have made in tables with what they would make now.
--
-- Each tool has a function check_TOOL() in its own part, which returns rows: a class, what is missing or different, and the statement that mends it.
-- 'anew': changes may have been missed, and readers copy the table anew.  'mend': the object is made again, and nothing was missed.  'tell': only the user can
-- act.  Monitoring calls the check for tables of others.  So it reads pg_catalog and the list of layouts alone, and raises no error for a table in an
-- unexpected state.
--

CREATE FUNCTION uidgen_tools.check_table("table" regclass, OUT class text, OUT what text, OUT statement text) RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- What is run on a table runs code of its owner, in the session of whoever was told so.
	is_told CONSTANT boolean := (SELECT pg_has_role(c.relowner, 'USAGE') AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname IN (current_user, session_user) AND r.oid <> c.relowner AND r.rolsuper) FROM pg_class AS c WHERE c.oid = "table");
BEGIN
	-- A call bounds its waits by itself, and the others wait for no lock that readers or writers have.
	RETURN QUERY SELECT c.class, c.what, CASE WHEN is_told AND c.statement !~ '^(SELECT|GRANT|REVOKE|COMMENT|CREATE TABLE|INSERT|ALTER FUNCTION|DO) ' THEN array_to_string(uidgen_tools.with_patience(ARRAY[c.statement], true), ' ')
				WHEN is_told OR c.statement IS NULL THEN c.statement ELSE '-- The owner of the table is told the statement.' END
		FROM (SELECT * FROM uidgen_tools.check_tracking("table") UNION ALL SELECT * FROM uidgen_tools.check_adoption("table") UNION ALL SELECT * FROM uidgen_tools.check_partitions("table")
			UNION ALL SELECT * FROM uidgen_tools.check_numbers("table") UNION ALL SELECT * FROM uidgen_tools.check_number_records("table")) AS c;
	RETURN QUERY SELECT 'tell', format('table %s belongs to role %s, and is a partition of table %s, which belongs to role %s: the tools refuse what has several owners', uidgen_tools.write_relation(p.oid), uidgen_tools.write_role(p.relowner), uidgen_tools.write_relation(t.oid), uidgen_tools.write_role(t.relowner)), NULL
		FROM pg_class AS t CROSS JOIN uidgen_tools.list_members(t.oid) AS m JOIN pg_class AS p ON p.oid = m.relid
		WHERE t.oid = "table" AND CASE WHEN p.relowner <> t.relowner THEN "table" IN (SELECT l.t FROM uidgen_tools.list_checked_tables() AS l (t)) END ORDER BY p.oid;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_table(regclass) IS 'uid_check_table(), all topics';

-- For a partition, the root is checked; and the partition itself, if it was tracked or numbered before it was attached.
CREATE FUNCTION uidgen_tools.list_checked_tables() RETURNS SETOF regclass
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	uid_next CONSTANT regprocedure := uidgen_tools.find_function('uid_next', 'uidgen_next');
BEGIN
	RETURN QUERY SELECT DISTINCT CASE WHEN t.is_own THEN c.oid ELSE coalesce(pg_partition_root(c.oid), c.oid) END::regclass
		FROM (SELECT g.tgrelid, u.is_own FROM pg_trigger AS g, (VALUES (true), (false)) AS u (is_own) WHERE g.tgname IN ('~uid_stamp', '~uid_delete', '~uid_key') AND g.tgparentid = 0
			UNION SELECT d.objoid, false FROM pg_description AS d WHERE d.classoid = 'pg_class'::regclass AND uidgen_tools.find_line(d.description, 'uidgen: ') IS NOT NULL
			UNION SELECT e.adrelid, false FROM pg_depend AS n JOIN pg_attrdef AS e ON e.oid = n.objid WHERE n.classid = 'pg_attrdef'::regclass AND n.refclassid = 'pg_proc'::regclass AND n.refobjid = uid_next
			UNION SELECT r."table", true FROM uidgen_tools.list_number_records() AS r) AS t (relid, is_own)
			JOIN pg_class AS c ON c.oid = t.relid AND c.relkind IN ('r', 'p');
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_checked_tables() IS 'the tables of this database in which the tools have made something';

CREATE FUNCTION @extschema@.uid_check_table("table" regclass) RETURNS TABLE (class text, what text, statement text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT c.class, c.what, c.statement FROM uidgen_tools.check_table("table") AS c;
END;
COMMENT ON FUNCTION @extschema@.uid_check_table(regclass) IS 'what uidgen has made in a table, or expects of it, and is missing or different: in classes, with what mends it; no row if all is sound';

CREATE FUNCTION @extschema@.uid_check_tables() RETURNS TABLE ("table" regclass, class text, what text, statement text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT t.t, c.class, c.what, c.statement FROM uidgen_tools.list_checked_tables() AS t (t) CROSS JOIN LATERAL uidgen_tools.check_table(t.t) AS c;
END;
COMMENT ON FUNCTION @extschema@.uid_check_tables() IS 'uid_check_table() of all tables of this database in which uidgen has made something';
