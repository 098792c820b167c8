--
-- Statements for others to run: how they write names and texts, and for whom the tools make them.
--
-- The tools print statements about tables.  Somebody else chose the names of these tables, and of all that belongs to them.  A name is never more
-- than a name: whatever characters it has, the statement stays whole and on one line, and has the same meaning under each search path and
-- setting.  So each name goes through one of the writers here, also in messages; tame() is for texts that nobody runs.  PostgreSQL's own
-- functions and types are qualified.
--
-- A look at a table runs code that its owner has put there: the planner computes functions of an index.  So only the owner may call the
-- tools: refuse_other_owners().  A superuser who has become the owner by SET ROLE is refused.  Any other role that has become the owner by SET ROLE runs
-- this code as PostgreSQL's maintenance does: uidgen.run_confined().
--

-- Functions in SQL are bound to pg_catalog while this script runs, so they need no search path.  Functions that read catalogs are in PL/pgSQL, which
-- keeps plans: uid_check_tables() calls them for each table.

-- Encodings in which a byte of ASCII, such as the backslash, can be the second byte of a character.
CREATE FUNCTION uidgen_tools.client_hides_quotes() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_client_encoding() IN ('SJIS', 'SHIFT_JIS_2004', 'BIG5', 'GBK', 'UHC', 'JOHAB', 'GB18030');
COMMENT ON FUNCTION uidgen_tools.client_hides_quotes() IS 'whether the encoding of the client is one in which a quote may be part of another character';

-- Refuses a name that this client's encoding cannot show: psql would not see the end of the name, or would send back another name.  Role names are shared
-- by databases of different encodings, so a role's name may be no valid text here.
CREATE FUNCTION uidgen_tools.check_text(text text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	here CONSTANT name := getdatabaseencoding();
	there CONSTANT name := pg_client_encoding();
	bytes CONSTANT bytea := convert_to(text, here);
	spoilt boolean := false;
BEGIN
	-- Such clients get escapes with the numbers of the characters, for a text in UTF-8.
	IF here <> there AND here <> 'UTF8' AND text ~ E'[^\\u0001-\\u007f]' THEN
		IF here = 'SQL_ASCII' OR there = 'SQL_ASCII' THEN
			spoilt := uidgen_tools.client_hides_quotes();
		ELSE
			spoilt := convert(convert(bytes, here, there), there, here) <> bytes;
		END IF;
	END IF;
	IF spoilt THEN
		RAISE EXCEPTION 'a name or text cannot be written in encoding %', there USING ERRCODE = 'character_not_in_repertoire',
				DETAIL = format('It has characters that are others there, or bytes of which nothing says which characters they are: the encoding of the database is %s.', here),
				HINT = format('Run SET client_encoding = %s.', here);
	END IF;
	RETURN true;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_text(text) IS 'raises an error if a text cannot be written for this client; else true';

-- A client with another encoding may run the printed statement, for instance from a file.  In some encodings the last byte of a character could hide
-- the quote after it.  So statements are in ASCII alone, if the database's encoding says which characters its bytes are.
CREATE FUNCTION uidgen_tools.escape_controls(text text, mark text, for_people boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Characters of UTF-8 that end a line in other programs, change the direction of text, or are invisible are escaped, too.  Clients of other
	-- encodings get ASCII alone.
	control CONSTANT text := CASE WHEN getdatabaseencoding() <> 'UTF8'
			THEN CASE WHEN getdatabaseencoding()::text ~ '^(LATIN|ISO_8859)' THEN E'[\\u0001-\\u001f\\u007f-\\u009f]' ELSE E'[\\u0001-\\u001f\\u007f]' END
		WHEN NOT for_people OR pg_client_encoding() NOT IN ('UTF8', 'SQL_ASCII') THEN E'[^\\u0020-\\u007e]'
		ELSE E'[\\u0001-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e007f]' END;
BEGIN
	PERFORM uidgen_tools.check_text(text);
	IF text !~ control THEN
		RETURN text;
	END IF;
	RETURN (SELECT string_agg(CASE WHEN r.c !~ control THEN r.c
			WHEN ascii(r.c) < 65536 THEN mark || lpad(to_hex(ascii(r.c)), 4, '0')
			WHEN mark = E'\\' THEN E'\\+' || lpad(to_hex(ascii(r.c)), 6, '0')
			ELSE E'\\U' || lpad(to_hex(ascii(r.c)), 8, '0') END, '' ORDER BY r.n)
		FROM regexp_split_to_table(text, '') WITH ORDINALITY AS r (c, n));
END
$$;
COMMENT ON FUNCTION uidgen_tools.escape_controls(text, text, boolean) IS 'a text with its control characters as numbers of four digits behind a mark, in UTF-8 all that is not ASCII unless it is for people';

CREATE FUNCTION uidgen_tools.tame(text text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN uidgen_tools.escape_controls(text, E'\\', for_people => true);
COMMENT ON FUNCTION uidgen_tools.tame(text) IS 'a name or text for a message: on one line, without control characters';

-- Names are always quoted, since the list of words that need quotes differs between versions.
CREATE FUNCTION uidgen_tools.write_name(name text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN uidgen_tools.escape_controls(name, E'\\') = name THEN '"' || replace(name, '"', '""') || '"'
	ELSE 'U&"' || uidgen_tools.escape_controls(replace(replace(name, E'\\', E'\\\\'), '"', '""'), E'\\') || '"' END;
COMMENT ON FUNCTION uidgen_tools.write_name(text) IS 'a name as it is written in a statement';

-- E'...', because PostgreSQL refuses U&'...' without standard_conforming_strings.
CREATE FUNCTION uidgen_tools.write_literal(value text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN uidgen_tools.escape_controls(value, E'\\') = value AND strpos(value, E'\\') = 0 THEN '''' || replace(value, '''', '''''') || ''''
	ELSE 'E''' || uidgen_tools.escape_controls(replace(replace(value, E'\\', E'\\\\'), '''', ''''''), E'\\u') || '''' END;
COMMENT ON FUNCTION uidgen_tools.write_literal(text) IS 'a text as it is written in a statement, with and without standard_conforming_strings';

-- pg_temp names the temporary schema of the session that runs the statement: only this session finds its temporary tables, as it should be.
CREATE FUNCTION uidgen_tools.write_schema(schema oid) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT uidgen_tools.write_name(CASE n.oid WHEN pg_my_temp_schema() THEN 'pg_temp' ELSE n.nspname::text END) FROM pg_namespace AS n WHERE n.oid = schema);
END
$$;
COMMENT ON FUNCTION uidgen_tools.write_schema(oid) IS 'a schema as it is written in a statement';

CREATE FUNCTION uidgen_tools.write_relation(relation oid) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT uidgen_tools.write_schema(c.relnamespace) || '.' || uidgen_tools.write_name(c.relname::text) FROM pg_class AS c WHERE c.oid = relation);
END
$$;
COMMENT ON FUNCTION uidgen_tools.write_relation(oid) IS 'a table or sequence as it is written in a statement';

-- A text that is cast to regclass, which knows no escapes.
CREATE FUNCTION uidgen_tools.write_regclass(relation oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT uidgen_tools.write_literal(format('"%s"."%s"', replace(CASE n.oid WHEN pg_my_temp_schema() THEN 'pg_temp' ELSE n.nspname::text END, '"', '""'),
			replace(c.relname::text, '"', '""'))) || '::pg_catalog.regclass'
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
$$;
COMMENT ON FUNCTION uidgen_tools.write_regclass(oid) IS 'a table or sequence as an argument of a function in a statement';

CREATE FUNCTION uidgen_tools.write_function(function oid) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT uidgen_tools.write_schema(p.pronamespace) || '.' || uidgen_tools.write_name(p.proname::text) || '('
				|| coalesce((SELECT string_agg(uidgen_tools.write_schema(t.typnamespace) || '.' || uidgen_tools.write_name(t.typname::text), ', ' ORDER BY a.n)
					FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, n) JOIN pg_type AS t ON t.oid = a.type), '') || ')'
			FROM pg_proc AS p WHERE p.oid = function);
END
$$;
COMMENT ON FUNCTION uidgen_tools.write_function(oid) IS 'a function with the types of its arguments, as it is written in a statement';

CREATE FUNCTION uidgen_tools.write_role(role oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE role WHEN 0::oid THEN 'PUBLIC' ELSE uidgen_tools.write_name(pg_get_userbyid(role)::text) END;
COMMENT ON FUNCTION uidgen_tools.write_role(oid) IS 'a role, or PUBLIC for 0, as it is written in a statement';

-- Default privileges may have granted rights.  A role with TRIGGER there would run code as the owner, and a role that may write there would change what the tools rely on.
CREATE FUNCTION uidgen_tools.write_revoke(relation oid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT format('REVOKE INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON TABLE %s FROM %s;', uidgen_tools.write_relation(relation), string_agg(DISTINCT uidgen_tools.write_role(g.grantee), ', '))
	FROM pg_class AS c JOIN (SELECT t.oid, t.relacl FROM pg_class AS t UNION ALL SELECT a.attrelid, a.attacl FROM pg_attribute AS a WHERE a.attnum > 0) AS r (oid, acl) ON r.oid = c.oid, aclexplode(r.acl) AS g
	WHERE c.oid = write_revoke.relation AND g.grantee <> c.relowner AND g.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER') HAVING count(*) > 0);
COMMENT ON FUNCTION uidgen_tools.write_revoke(oid) IS 'the statement that leaves writing to a table to its owner; null where only the owner may write';

-- Tables that the tools make have rows and keys of another table: a role that may not read that table, or only by a policy, may not read them there either.
-- To a partition no privilege is kept by a policy, since its own row security is on.
CREATE FUNCTION uidgen_tools.write_default_revoke("table" regclass, made text, kept text, any_role boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(format('REVOKE %s ON TABLE %s FROM %s;', r.privileges, made, uidgen_tools.write_role(r.grantee)), ' ' ORDER BY r.grantee)
		FROM (SELECT g.grantee, string_agg(DISTINCT g.privilege_type, ', ')
			FROM pg_class AS c, pg_default_acl AS f, aclexplode(f.defaclacl) AS g
			WHERE c.oid = "table" AND (f.defaclrole = c.relowner OR any_role) AND f.defaclobjtype = 'r' AND f.defaclnamespace IN (0, c.relnamespace) AND g.grantee <> c.relowner
				AND NOT (g.privilege_type ~ kept AND NOT (c.relrowsecurity AND kept <> '') AND CASE g.grantee WHEN 0 THEN EXISTS (SELECT FROM aclexplode(c.relacl) AS o WHERE o.grantee = 0 AND o.privilege_type = g.privilege_type) ELSE has_table_privilege(g.grantee, c.oid, g.privilege_type) END)
			GROUP BY g.grantee) AS r (grantee, privileges);
$$;
COMMENT ON FUNCTION uidgen_tools.write_default_revoke(regclass, text, text, boolean) IS 'the statements that take from roles what default privileges give them on a table that is made, but for kept privileges that they have on another table; null if there are none';

-- Anybody can comment what is his, or make a function, with a text of any length: so a text of others is measured before it is read, which needs no copy of it.
CREATE FUNCTION uidgen_tools.bound_text(text text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(text) <= 100000 THEN text END;
COMMENT ON FUNCTION uidgen_tools.bound_text(text) IS 'a text, or null if it is longer than all that the tools write';

CREATE FUNCTION uidgen_tools.find_line(comment text, beginning text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN strpos(E'\n' || uidgen_tools.bound_text(comment), E'\n' || beginning) > 0
	THEN beginning || split_part(split_part(E'\n' || uidgen_tools.bound_text(comment), E'\n' || beginning, 2), E'\n', 1) END;
COMMENT ON FUNCTION uidgen_tools.find_line(text, text) IS 'the first line of a comment that begins so; null if there is none, or the comment is too long';

-- Comments of other owners count for nothing, and are not read.
CREATE FUNCTION uidgen_tools.list_lines(owner oid, beginning text, OUT relation oid, OUT number integer, OUT line text) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.oid, d.objsubid, l.line
		FROM pg_class AS c JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid
			CROSS JOIN LATERAL uidgen_tools.find_line(CASE WHEN c.relowner = list_lines.owner THEN d.description END, beginning) AS l (line)
		WHERE c.relowner = list_lines.owner AND l.line IS NOT NULL;
$$;
COMMENT ON FUNCTION uidgen_tools.list_lines(oid, text) IS 'the lines with a beginning in the comments of an owner''s tables, and of their columns';

-- The server wrote this text under the search path "pg_catalog, pg_temp", and the text keeps its meaning only under it.  The server writes backslashes
-- in literals as they are when standard_conforming_strings is on.
CREATE FUNCTION uidgen_tools.write_expression(expression text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT string_agg(CASE left(t.m[1], 1)
			WHEN '''' THEN uidgen_tools.write_literal(replace(substr(t.m[1], 2, length(t.m[1]) - 2), '''''', ''''))
			WHEN '"' THEN uidgen_tools.write_name(replace(substr(t.m[1], 2, length(t.m[1]) - 2), '""', '"'))
			ELSE regexp_replace(t.m[1], '[[:space:][:cntrl:]]+', ' ', 'g') END, '' ORDER BY t.n)
	FROM regexp_matches(expression, '''(?:[^'']|'''')*''|"(?:[^"]|"")*"|[^''"]+', 'g') WITH ORDINALITY AS t (m, n));
COMMENT ON FUNCTION uidgen_tools.write_expression(text) IS 'an expression as the server writes it, on one line';

CREATE FUNCTION uidgen_tools.explain_renaming(relation oid) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'a table was renamed meanwhile' USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('It is %s now. Who may rename tables or schemas could put another one into its place.', uidgen_tools.write_relation(relation)), HINT = 'Call it again.';
END
$$;
COMMENT ON FUNCTION uidgen_tools.explain_renaming(oid) IS 'raises the error that a table had another name before it was locked';

-- PostgreSQL hides from other roles what a session does, but not its process id and role.
CREATE FUNCTION uidgen_tools.list_holders(relation oid, mode text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH l AS (SELECT l.*, array_position(m.modes, l.mode) AS rank, array_position(m.modes, replace(initcap(list_holders.mode), ' ', '') || 'Lock') AS wanted
		FROM pg_locks AS l CROSS JOIN (SELECT '{AccessShareLock,RowShareLock,RowExclusiveLock,ShareUpdateExclusiveLock,ShareLock,ShareRowExclusiveLock,ExclusiveLock,AccessExclusiveLock}'::text[]) AS m (modes)
		WHERE l.locktype = 'relation' AND l.relation = list_holders.relation AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()) AND l.pid IS DISTINCT FROM pg_backend_pid())
	SELECT string_agg(h.line, ' ') FROM (SELECT CASE WHEN l.pid IS NULL THEN format('Prepared transaction "%s" ', uidgen_tools.tame(p.gid)) ELSE format('Process %s of role "%s", application "%s", ', l.pid, uidgen_tools.tame(a.usename), uidgen_tools.tame(a.application_name)) END
				|| CASE WHEN l.granted THEN 'has ' ELSE 'waits for ' END || l.mode || ' on it.' AS line
			FROM l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid LEFT JOIN pg_locks AS x ON x.locktype = 'transactionid' AND x.pid IS NULL AND x.virtualtransaction = l.virtualtransaction LEFT JOIN pg_prepared_xacts AS p ON p.transaction = x.transactionid
			WHERE rank + wanted > 8 OR rank + wanted = 8 AND least(rank, wanted) > 2
			ORDER BY l.granted DESC, l.pid LIMIT 3) AS h;
$$;
COMMENT ON FUNCTION uidgen_tools.list_holders(oid, text) IS 'who is in the way of a lock on a table, three at most';

-- Shorter than deadlock_timeout, so that the tool gives up before PostgreSQL cancels a statement of the application.
CREATE FUNCTION uidgen_tools.patience() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ceil(least(500, extract(epoch FROM current_setting('deadlock_timeout')::interval) * 500)) || 'ms';
COMMENT ON FUNCTION uidgen_tools.patience() IS 'how long a tool waits for a lock, if the caller does not say';

-- All who come later wait behind whoever waits for a strong lock.  One row is one statement: \gexec goes on after an error, in no aborted transaction.
CREATE FUNCTION uidgen_tools.with_patience(statements text[], as_one boolean DEFAULT false) RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN CASE WHEN as_one THEN ARRAY[format('DO %s;', uidgen_tools.write_literal(format('BEGIN SET LOCAL lock_timeout = %L; EXECUTE %s; END', uidgen_tools.patience(), uidgen_tools.write_literal(array_to_string(statements, ' ')))))]
	ELSE ARRAY['BEGIN;', format('SET LOCAL lock_timeout = %L;', uidgen_tools.patience())] || statements || 'COMMIT;'::text END;
COMMENT ON FUNCTION uidgen_tools.with_patience(text[], boolean) IS 'statements to be printed that lock a table, with a bound for each of their waits';

CREATE FUNCTION uidgen_tools.be_patient() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A tool that waited for longer, with a lock that a program waits for, would have PostgreSQL cancel the program.
	PERFORM set_config('lock_timeout', CASE current_setting('lock_timeout') WHEN '0' THEN uidgen_tools.patience()
		ELSE ceil(least(1000 * extract(epoch FROM current_setting('lock_timeout')::interval), 500 * extract(epoch FROM current_setting('deadlock_timeout')::interval))) || 'ms' END, true);
END
$$;
COMMENT ON FUNCTION uidgen_tools.be_patient() IS 'bounds the waits for locks by what the caller has set, and by half of deadlock_timeout';

-- What it takes is taken from lock_timeout.  So all waits of a tool together are shorter than the time after which whoever waits for its first lock looks for deadlocks.
CREATE FUNCTION uidgen_tools.wait_for_lock(statement text, relation oid, mode text, since timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	patience CONSTANT text := current_setting('lock_timeout');
	result text;
BEGIN
	PERFORM uidgen_tools.be_patient();
	result := uidgen.run_confined(statement);
	PERFORM set_config('lock_timeout', CASE patience WHEN '0' THEN patience ELSE greatest(1, floor(1000 * extract(epoch FROM patience::interval + since - clock_timestamp()))) || 'ms' END, true);
	RETURN result;
EXCEPTION WHEN lock_not_available THEN
	RAISE EXCEPTION 'table % is in use', uidgen_tools.write_relation(relation)
		USING ERRCODE = 'lock_not_available', DETAIL = coalesce(uidgen_tools.list_holders(relation, mode), 'Whoever had it has gone meanwhile.'), HINT = 'Call it again.';
END
$$;
COMMENT ON FUNCTION uidgen_tools.wait_for_lock(text, oid, text, timestamptz) IS 'the result of a statement that waits for a lock on a table; an error says who is in the way';

-- LOCK takes the table's name, while the caller means its OID.  Somebody may have exchanged names before the lock was there.
CREATE FUNCTION uidgen_tools.lock_by_name(relation oid, written text, mode text, since timestamptz DEFAULT clock_timestamp()) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen_tools.wait_for_lock(format('LOCK TABLE ONLY %s IN %s MODE', written, mode), relation, mode, since);
	IF uidgen_tools.write_relation(relation) IS DISTINCT FROM written THEN
		PERFORM uidgen_tools.explain_renaming(relation);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.lock_by_name(oid, text, text, timestamptz) IS 'locks a table, and raises an error if it has lost its name before that';

-- A statement that locks several waits for each as long as for one alone.  So it is run when they are locked.
CREATE FUNCTION uidgen_tools.lock_tables(statement text, relations oid[], mode text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	since timestamptz := clock_timestamp();
	member oid;
BEGIN
	FOREACH member IN ARRAY ARRAY(SELECT m.relid FROM unnest(relations) WITH ORDINALITY AS r (relid, n) CROSS JOIN LATERAL uidgen_tools.list_members(r.relid) AS m WHERE m.kind <> 'f' GROUP BY m.relid ORDER BY min(r.n), min(m.level), m.relid) LOOP
		PERFORM uidgen_tools.lock_by_name(c.oid, uidgen_tools.write_relation(c.oid), mode, since) FROM pg_class AS c WHERE c.oid = member;
		since := clock_timestamp();
	END LOOP;
	IF statement IS NOT NULL THEN
		PERFORM uidgen_tools.wait_for_lock(statement, relations[1], mode, since);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.lock_tables(text, oid[], text) IS 'locks tables with their partitions one after the other, and then runs a statement that locks them';

-- Reads catalogs alone, with two index scans for each table, since there may be thousands of partitions.
CREATE FUNCTION uidgen_tools.list_families(tables oid[]) RETURNS SETOF oid
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE family (relid) AS (
		SELECT u.relid FROM unnest(tables) AS u (relid)
		UNION
		SELECT n.relid
			FROM family AS f
				CROSS JOIN LATERAL (
					SELECT i.inhparent FROM pg_inherits AS i WHERE i.inhrelid = f.relid
					UNION ALL
					SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = f.relid) AS n (relid)
	)
	SELECT f.relid FROM family AS f;
$$;
COMMENT ON FUNCTION uidgen_tools.list_families(oid[]) IS 'tables with those above and below them, as partitions and by inheritance';

CREATE FUNCTION uidgen_tools.list_publications(schema oid) RETURNS SETOF name
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.pubname FROM pg_publication AS p WHERE p.puballtables OR EXISTS (SELECT FROM pg_publication_namespace AS n WHERE n.pnpubid = p.oid AND n.pnnspid = schema);
$$;
COMMENT ON FUNCTION uidgen_tools.list_publications(oid) IS 'the publications that send each table that is made in a schema';

CREATE FUNCTION uidgen_tools.refuse_publications("table" regclass, tool text, publications name[], hint text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF cardinality(publications) > 0 THEN
		RAISE EXCEPTION 'a subscriber would stop at what %() makes for table %', tool, uidgen_tools.write_relation("table")
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = hint,
				DETAIL = format('It would be sent by the publications: %s.', (SELECT string_agg(DISTINCT uidgen_tools.write_name(p.name), ', ') FROM unnest(publications) AS p (name)));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_publications(regclass, text, name[], text) IS 'an error if publications would send a column or table that subscribers may not have';

-- Reads catalogs alone: pg_partition_tree() would lock the partitions.  PostgreSQL estimates thousands of members, and would read all of pg_class.
CREATE FUNCTION uidgen_tools.list_members("table" regclass, OUT relid oid, OUT level integer, OUT kind "char") RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
	RETURN QUERY WITH RECURSIVE member (relid, level) AS (
		SELECT "table"::oid, 0
		UNION ALL
		SELECT i.inhrelid, m.level + 1 FROM member AS m JOIN pg_partitioned_table AS p ON p.partrelid = m.relid JOIN pg_inherits AS i ON i.inhparent = m.relid AND NOT i.inhdetachpending
	)
	SELECT m.relid, m.level, c.relkind FROM member AS m JOIN pg_class AS c ON c.oid = m.relid;
END
$$;
COMMENT ON FUNCTION uidgen_tools.list_members(regclass) IS 'a table, and all partitions below it';

CREATE FUNCTION uidgen_tools.refuse_other_owners(tables oid[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	other record;
BEGIN
	SELECT c.oid AS relid, c.relowner, min(c.relowner) OVER () = max(c.relowner) OVER () AS alone INTO other
		FROM uidgen_tools.list_families(tables) AS f (relid) JOIN pg_class AS c ON c.oid = f.relid
		ORDER BY c.relowner = (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = current_user), array_position(tables, c.oid), c.oid LIMIT 1;
	IF FOUND AND pg_get_userbyid(other.relowner) <> current_user THEN
		RAISE EXCEPTION 'table % belongs to role %', uidgen_tools.write_relation(other.relid), uidgen_tools.write_role(other.relowner)
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Who looks at a table or changes it runs what its owner has put into it, such as the functions of its indexes. So this is done for the owner alone, and for nobody else, not even a superuser.',
				HINT = CASE WHEN other.alone THEN format('Log in as role %s, or as a member of it who is no superuser and runs SET ROLE, and call it again.', uidgen_tools.write_role(other.relowner))
					ELSE 'The tables that belong together have several owners. Let each owner run the statements for his own tables: docs/adopting.md has them under "Tables of several owners".' END;
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_other_owners(oid[]) IS 'an error unless the current role owns these tables, and all above and below them';

CREATE FUNCTION uidgen_tools.is_made("table" regclass) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN uidgen_tools.find_line(obj_description("table", 'pg_class'), 'uidgen: changes are tracked in ') IS NOT NULL
		OR EXISTS (SELECT FROM uidgen_tools.list_number_records() AS l WHERE l.relation = is_made."table");
END
$$;
COMMENT ON FUNCTION uidgen_tools.is_made(regclass) IS 'whether a tool has made a table, for another one';

CREATE FUNCTION uidgen_tools.refuse_other_kinds("table" regclass, verb text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	t record;
	extension text;
BEGIN
	SELECT c.relkind AS kind, uidgen_tools.tame(c.relname) AS shown INTO t FROM pg_class AS c WHERE c.oid = "table";
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no table with OID %', "table"::oid USING ERRCODE = 'undefined_table';
	ELSIF t.kind NOT IN ('r', 'p') THEN
		RAISE EXCEPTION '"%" is not a table', t.shown
			USING ERRCODE = 'wrong_object_type', HINT = CASE t.kind WHEN 'v' THEN format('%s the table that it selects from.', verb)
					WHEN 'f' THEN format('A foreign table has its rows elsewhere: %s the table there.', lower(verb))
					ELSE 'Name the table that has the column.' END;
	END IF;
	SELECT e.extname INTO extension FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
		WHERE d.classid = 'pg_class'::regclass AND d.objid = "table" AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e';
	IF extension IS NOT NULL THEN
		RAISE EXCEPTION 'table "%" belongs to the extension "%"', t.shown, uidgen_tools.tame(extension)
			USING ERRCODE = 'wrong_object_type', DETAIL = 'A dump has no definition of such a table, so the next restore would undo what is changed.',
				HINT = 'Leave this table to its extension.';
	ELSIF uidgen_tools.is_made("table") THEN
		RAISE EXCEPTION 'table "%" is made by uid_track_changes() or uid_number_rows()', t.shown
			USING ERRCODE = 'wrong_object_type', DETAIL = 'It has deleted keys, numbers or the last number of another table. A default or trigger of another tool would change these.',
				HINT = format('%s the table that it belongs to.', verb);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_other_kinds(regclass, text) IS 'an error unless it is a table, partitioned or not, and none of an extension''s or of another tool''s';

-- An event trigger may enable row security on each new table.
CREATE FUNCTION uidgen_tools.list_hidden(relation oid, OUT what text, OUT verb text, OUT is_held boolean) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN o.is_held THEN 'holds for its owner, too' ELSE 'has no policy, so that readers see no row' END, CASE WHEN o.is_open THEN 'NO FORCE' ELSE 'DISABLE' END, o.is_held
		FROM pg_class AS c CROSS JOIN LATERAL (SELECT c.relforcerowsecurity AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = c.relowner AND (r.rolsuper OR r.rolbypassrls)),
				EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid)) AS o (is_held, is_open)
		WHERE c.oid = relation AND c.relrowsecurity AND (o.is_held OR NOT o.is_open);
$$;
COMMENT ON FUNCTION uidgen_tools.list_hidden(oid) IS 'whether row security hides all rows of a table that the tools write to, and what ends that';

CREATE FUNCTION uidgen_tools.refuse_hidden_rows("table" regclass, caller text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF row_security_active("table") THEN
		RAISE EXCEPTION 'row security hides rows of table "%"', uidgen_tools.tame((SELECT c.relname FROM pg_class AS c WHERE c.oid = "table"))
			USING ERRCODE = 'insufficient_privilege', DETAIL = format('%s has to see all ids of the table.', caller),
				HINT = format('Run ALTER TABLE %s NO FORCE ROW LEVEL SECURITY, and FORCE it again when this is done.', uidgen_tools.write_relation("table"));
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_hidden_rows(regclass, text) IS 'an error if the current role does not see all rows of a table';

-- A setting that waits for a restart, for instance, is no reason to refuse.
CREATE FUNCTION uidgen_tools.refuse_without_ids() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing text;
BEGIN
	SELECT d.message INTO missing FROM uidgen.diagnose() AS d WHERE d.severity = 'error';
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'no ids can be issued' USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('uidgen.diagnose() says: %s', missing),
				HINT = 'Mend this first, or new rows would be refused.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.refuse_without_ids() IS 'an error, with what to do, where a new row could not get an id';

-- A plan has a row for each part: steps; late steps, which a printed plan has after the transaction; remarks; and the way back.  No setting bounds the
-- waits of a printed LOCK together: lock_timeout is for each table, and statement_timeout could not be set back to what the session has.
CREATE FUNCTION uidgen_tools.carry_out(parts text[], lines text[], execute boolean) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	runs boolean := "execute";
	steps text[];
	late text[] := '{}';
	undo text[];
BEGIN
	FOR n IN 1 .. coalesce(cardinality(parts), 0) LOOP
		CASE
			WHEN parts[n] IN ('step', 'late') AND runs THEN
				PERFORM uidgen.run_confined(lines[n]);
				-- The returned statements are run later, by \gexec or from a file.
				RAISE INFO 'done: %', lines[n];
			WHEN parts[n] = 'step' THEN
				steps := steps || lines[n];
			WHEN parts[n] = 'late' THEN
				late := late || CASE WHEN starts_with(lines[n], 'CREATE INDEX CONCURRENTLY ') THEN ARRAY[lines[n]] ELSE uidgen_tools.with_patience(ARRAY[lines[n]]) END;
			WHEN parts[n] = 'remark' THEN
				RAISE INFO '%', lines[n];
			WHEN parts[n] = 'undo' THEN
				undo := undo || lines[n];
		END CASE;
	END LOOP;
	RETURN QUERY SELECT u.line FROM unnest(uidgen_tools.with_patience(steps) || late) AS u (line);
	IF undo IS NOT NULL THEN
		RAISE INFO E'the way back:\n    %', array_to_string(uidgen_tools.with_patience(undo), E'\n    ');
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.carry_out(text[], text[], boolean) IS 'returns the steps of a plan, or runs them, and says what there is to be said';
