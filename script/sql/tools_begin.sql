--
-- The tools of the edition in SQL: partitions by the time in ids, and ids for existing tables.  The role that ran the script of the edition runs this
-- script after it, with any client, and again for an upgrade.
--
-- The tools are unchanged parts of the extension uidgen_tools.  This part replaces the functions that they call of the library or of the extension's script.
--
DO $uidgen$
DECLARE
	caller_path CONSTANT pg_catalog.text := pg_catalog.current_setting('search_path');
	caller_messages CONSTANT pg_catalog.text := pg_catalog.current_setting('client_min_messages');
	caller_strings CONSTANT pg_catalog.text := pg_catalog.current_setting('standard_conforming_strings');
	caller_quotes CONSTANT pg_catalog.text := pg_catalog.current_setting('quote_all_identifiers');
	caller_extras CONSTANT pg_catalog.text := pg_catalog.current_setting('plpgsql.extra_errors');
BEGIN
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
PERFORM set_config('client_min_messages', 'warning', true), set_config('standard_conforming_strings', 'on', true), set_config('quote_all_identifiers', 'off', true), set_config('plpgsql.extra_errors', 'none', true);

IF (SELECT count(*) FROM pg_proc AS p JOIN pg_roles AS me ON me.oid = p.proowner WHERE p.oid IN (to_regprocedure('uidgen.version()'), to_regprocedure('uidgen.own_place()')) AND me.rolname = current_user) <> 2 THEN
	RAISE EXCEPTION 'this role has not put the edition of uidgen in SQL into this database'
		USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Put it in first. For the extension there is CREATE EXTENSION uidgen_tools.';
ELSIF uidgen.version() <> 'UIDGEN_VERSION' THEN
	RAISE EXCEPTION 'the edition of uidgen has version %, and these tools UIDGEN_VERSION', uidgen.version()
		USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run the script of the edition of the same version first.';
ELSIF to_regnamespace('uidgen_tools') IS NULL THEN
	CREATE SCHEMA uidgen_tools;
ELSIF EXISTS (SELECT FROM pg_namespace AS n LEFT JOIN pg_proc AS p ON p.pronamespace = n.oid, pg_roles AS me
		WHERE n.nspname = 'uidgen_tools' AND me.rolname = current_user AND (n.nspowner <> me.oid OR p.proowner <> me.oid)) THEN
	RAISE EXCEPTION 'schema uidgen_tools, or what is in it, belongs to another role' USING ERRCODE = 'insufficient_privilege', HINT = 'Drop the schema.';
ELSE
	PERFORM uidgen.fetch_functions('uidgen_tools');
END IF;
ALTER DEFAULT PRIVILEGES IN SCHEMA uidgen_tools GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
COMMENT ON SCHEMA uidgen_tools IS 'what the tools of uidgen''s edition in SQL are made of';

-- [stands for uidgen_tools.hold_extensions(): operator_tools]
-- All of the edition belongs to one role, which can change it at any time: so a lock would protect nothing.
CREATE FUNCTION uidgen_tools.hold_extensions() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS 'BEGIN END';
COMMENT ON FUNCTION uidgen_tools.hold_extensions() IS 'nothing: the extension keeps itself from being dropped meanwhile';

-- [stands for uidgen_tools.find_function(): operator_tools]
-- A function uid_next() of somebody else may call uidgen.next(), as everybody may: so the owner is compared, too.
CREATE FUNCTION uidgen_tools.find_function(name text, symbol text) RETURNS regprocedure
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found CONSTANT regprocedure := (SELECT p.oid FROM pg_proc AS p JOIN pg_proc AS own ON own.oid = 'uidgen.next(timestamptz)'::regprocedure AND own.proowner = p.proowner
		WHERE p.pronamespace = uidgen.own_place() AND p.proname = find_function.name AND p.pronargs = 0);
BEGIN
	IF found IS NULL THEN
		RAISE EXCEPTION 'function %() is not what the edition of uidgen has made', name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('Schema %s has no function %s() of the owner of uidgen.', uidgen.own_place(), name),
				HINT = 'Let the owner of uidgen run its script again.';
	END IF;
	RETURN found;
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_function(text, text) IS 'uid_next() of the edition, where the edition was put';

-- [stands for uidgen.run_confined(): operator_hostile_owner]
-- Code of a table's owner runs in the session of the caller.  A caller who has become the owner by SET ROLE would let this code go back to the caller's
-- own role.  PostgreSQL refuses SET ROLE in a function with SECURITY DEFINER.
CREATE FUNCTION uidgen_tools.run_confined(statement text) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
	result text;
	named text[];
	relation regclass;
	-- SET SESSION AUTHORIZATION does not change the role that has logged in.
	login CONSTANT name := (SELECT r.rolname FROM pg_stat_get_activity(pg_backend_pid()) AS a JOIN pg_roles AS r ON r.oid = a.usesysid);
BEGIN
	IF (session_user = login AND (current_setting('role') = 'none' OR current_user = login) OR (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user)) IS NOT TRUE THEN
		RAISE EXCEPTION 'who has become role "%" cannot change its tables', current_user
			USING ERRCODE = 'invalid_authorization_specification', DETAIL = format('The session is of role "%s", and code of the owner of a table could become that role again.', login),
				HINT = 'Log in as the owner of the table, or let the owner make a function with SECURITY DEFINER that does this.';
	END IF;
	-- Other statements return no rows, and cannot be opened as a query.
	IF statement ~ '^(SELECT|WITH) ' THEN
		-- Somebody else may have given the name of the table to a view meanwhile.
		FOR named IN SELECT r FROM regexp_matches(statement, '((?:U&)?"(?:[^"]|"")+")\.((?:U&)?"(?:[^"]|"")+")', 'g') AS r LOOP
			FOR again IN 1 .. 2 LOOP
				EXECUTE (SELECT format('SELECT to_regclass(format(''%%I.%%I'', %s))', string_agg(format('U&''%s''', replace(replace(CASE WHEN starts_with(n.part, 'U') THEN substr(n.part, 4, length(n.part) - 4) ELSE replace(substr(n.part, 2, length(n.part) - 2), E'\\', E'\\\\') END, '""', '"'), '''', '''''')), ', ' ORDER BY n.place))
					FROM unnest(named) WITH ORDINALITY AS n (part, place)) INTO relation;
				EXIT WHEN again = 2 OR NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = relation AND c.relkind IN ('r', 'p', 'v', 'm'));
				EXECUTE format('LOCK TABLE ONLY %s.%s IN ACCESS SHARE MODE', named[1], named[2]);
			END LOOP;
			IF (SELECT pg_get_userbyid(c.relowner) <> current_user FROM pg_class AS c WHERE c.oid = relation AND c.relkind <> 'S') THEN
				RAISE EXCEPTION 'a table was exchanged for another role''s meanwhile'
					USING ERRCODE = 'insufficient_privilege', DETAIL = 'When it was looked up by its number, the table belonged to the current role.', HINT = 'Call it again.';
			END IF;
		END LOOP;
		EXECUTE statement INTO result;
	ELSE
		EXECUTE statement;
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen_tools.run_confined(text) IS 'runs a statement with the rights of the caller; the first value that it returns';

-- [stands for uidgen.write_deleted(): tools_check]
-- A statement finds the table by its name.  So that is locked, and looked at, also if the snapshot of the transaction is of before; and where schemas were renamed since,
-- what the triggers of another table have done is undone.
CREATE FUNCTION uidgen_tools.write_deleted(relation regclass, key text[], deleted record) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Not as the settings of the caller have it.
	named CONSTANT text := (SELECT format('"%s"."%s"', replace(n.nspname, '"', '""'), replace(c.relname, '"', '""')) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation);
	columns CONSTANT text := (SELECT string_agg(format('"%s"', replace(k, '"', '""')), ', ') FROM unnest(key) AS k);
	fields CONSTANT text := (SELECT string_agg(format('($1)."%s"', replace(k, '"', '""')), ', ') FROM unnest(key) AS k);
	written oid;
BEGIN
	IF named IS NOT NULL THEN
		EXECUTE format('LOCK TABLE ONLY %s IN ROW EXCLUSIVE MODE', named);
	END IF;
	-- With its former owner an old snapshot shows who has changed that since.
	IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = relation AND (current_setting('transaction_isolation') = 'read committed' OR c.xmax = '0' OR txid_status(txid_current() - age(c.xmax)) IS DISTINCT FROM 'committed')) THEN
		RAISE EXCEPTION 'the table of deleted keys was made or changed after the snapshot of this transaction' USING ERRCODE = 'serialization_failure', HINT = 'Begin the transaction anew.';
	ELSIF EXISTS (SELECT FROM pg_class AS c WHERE c.oid = relation AND c.relkind = 'r' AND pg_get_userbyid(c.relowner) = current_user) THEN
		EXECUTE format('INSERT INTO %s %s RETURNING tableoid', named, CASE WHEN deleted IS NULL THEN 'DEFAULT VALUES' ELSE format('(%s) VALUES (%s)', columns, fields) END) INTO written USING deleted;
		IF written = relation THEN
			RETURN;
		END IF;
	END IF;
	RAISE EXCEPTION 'the table of deleted keys is another one' USING ERRCODE = 'insufficient_privilege', DETAIL = 'It does not belong to the owner of the table whose changes are tracked, or a trigger has left the row out.',
			HINT = 'Drop it, and the function of its name with CASCADE, call uid_track_changes() again, and let all readers copy the table anew.';
END
$$;
COMMENT ON FUNCTION uidgen_tools.write_deleted(regclass, text[], record) IS 'writes the key of a deleted row, or a mark, into a table of the caller''s';

-- [stands for uidgen.layout_numbers(): operator_hostile_schema]
CREATE FUNCTION uidgen_tools.layout_numbers(for_layout text DEFAULT NULL, OUT layout text, OUT unit bigint, OUT epoch bigint, OUT max_tick bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT (l.l).layout, (l.l).unit, (l.l).epoch, uidgen.lowest_bits((l.l).time_bits) FROM (SELECT uidgen.parsed(coalesce($1, uidgen.own_layout())) AS l OFFSET 0) AS l;
END;
COMMENT ON FUNCTION uidgen_tools.layout_numbers(text) IS 'the layout of this database, or a named one, and its numbers';

-- The tools lock this table while they look whether it still belongs to the extension.
-- [stands for uidgen_tools.in_use: operator_hostile_owner]
CREATE UNLOGGED TABLE IF NOT EXISTS uidgen_tools.in_use ();
COMMENT ON TABLE uidgen_tools.in_use IS 'locked while uid_number_rows() runs';
