--
-- The edition of uidgen in SQL and PL/pgSQL, for servers where no library can be installed.
--
-- The owner of a database runs this script with any client, since the script is a single statement.  After that the owner runs
--
--	SELECT uidgen.set_up(worker_id => NUMBER);
--
-- with a number that no other database has.  An upgrade runs the script of the later version, which keeps the arguments of set_up() and the position.
--
-- The script makes the functions for users in the first schema of the search path, as CREATE EXTENSION does, and all others in schema uidgen.
-- So a database cannot have both the edition and the extension.  docs/design/sql-edition.md has the rules.
--
DO $uidgen$
DECLARE
	-- Each function and type in this block is of pg_catalog, since the search path is still the caller's.
	caller_schema CONSTANT pg_catalog.text := pg_catalog.current_schema();
	caller_path CONSTANT pg_catalog.text := pg_catalog.current_setting('search_path');
	caller_messages CONSTANT pg_catalog.text := pg_catalog.current_setting('client_min_messages');
	caller_strings CONSTANT pg_catalog.text := pg_catalog.current_setting('standard_conforming_strings');
	caller_quotes CONSTANT pg_catalog.text := pg_catalog.current_setting('quote_all_identifiers');
	caller_extras CONSTANT pg_catalog.text := pg_catalog.current_setting('plpgsql.extra_errors');
BEGIN
-- This search path decides for good which objects the SQL bodies below refer to: PostgreSQL parses them now.
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
PERFORM set_config('client_min_messages', 'warning', true), set_config('standard_conforming_strings', 'on', true), set_config('quote_all_identifiers', 'off', true), set_config('plpgsql.extra_errors', 'none', true);

IF EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'uidgen') THEN
	RAISE EXCEPTION 'the extension uidgen is in this database' USING ERRCODE = 'duplicate_object', HINT = 'It does what the edition in SQL does, and more.';
ELSIF EXISTS (SELECT FROM pg_namespace AS n JOIN pg_roles AS me ON me.oid = n.nspowner AND me.rolname = current_user
		WHERE n.nspname = 'uidgen' AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'position' AND c.relkind = 'S')) THEN
	RAISE EXCEPTION 'schema uidgen is there, and not made by this script' USING ERRCODE = 'duplicate_schema',
			HINT = 'Rename it. If ids were drawn in this database, name the largest one when you begin: SELECT uidgen.set_up(worker_id => NUMBER, after => ID)';
ELSIF to_regnamespace('uidgen') IS NULL THEN
	CREATE SCHEMA uidgen;
END IF;
-- The record of layouts has a schema of its own, which take_out() does not drop: tables keep ids of an earlier layout when the
-- edition is taken out and put in anew.
IF to_regnamespace('uidgen_history') IS NULL THEN
	CREATE SCHEMA uidgen_history;
END IF;
-- Everybody may call the functions that follow, whatever the owner's default privileges are.  90_end.sql sets these back.
ALTER DEFAULT PRIVILEGES IN SCHEMA uidgen GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
-- Looked at after CREATE SCHEMA, which may have waited for another session that makes schemas of the same names.
IF EXISTS (SELECT FROM pg_namespace AS n
		LEFT JOIN LATERAL (SELECT p.proowner FROM pg_proc AS p WHERE p.pronamespace = n.oid UNION SELECT c.relowner FROM pg_class AS c WHERE c.relnamespace = n.oid
			UNION SELECT t.typowner FROM pg_type AS t WHERE t.typnamespace = n.oid) AS o (owner) ON true,
		pg_roles AS me
		WHERE n.nspname IN ('uidgen', 'uidgen_history') AND me.rolname = current_user AND (n.nspowner <> me.oid OR o.owner <> me.oid)) THEN
	RAISE EXCEPTION 'schema uidgen or uidgen_history, or what is in it, belongs to another role'
		USING ERRCODE = 'insufficient_privilege', HINT = 'Put the edition in by the role that did so before. A schema that is not of the edition can be renamed.';
ELSIF to_regprocedure('uidgen.own_place()') IS NOT NULL THEN
	-- The first lock, as in set_up(), so that the two cannot deadlock
	IF to_regclass('uidgen_history.layout_used') IS NOT NULL THEN
		LOCK TABLE uidgen_history.layout_used IN SHARE UPDATE EXCLUSIVE MODE;
	END IF;
	PERFORM uidgen.fetch_functions('uidgen');
ELSIF coalesce(caller_schema, 'uidgen') = 'uidgen' THEN
	RAISE EXCEPTION 'no schema has been selected for the functions of uidgen'
		USING ERRCODE = 'invalid_schema_name', HINT = 'Name a schema that exists first in search_path.';
ELSE
	-- A reference to the schema itself: it survives a rename and a dump.  DROP SCHEMA drops this function; then users' functions get another schema.
	EXECUTE format('CREATE FUNCTION uidgen.own_place() RETURNS regnamespace LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN %L::regnamespace', quote_ident(caller_schema));
END IF;
COMMENT ON SCHEMA uidgen IS 'what uidgen''s edition in SQL, version UIDGEN_VERSION, is made of';
COMMENT ON SCHEMA uidgen_history IS 'what uidgen''s edition in SQL remembers when it is taken out';
COMMENT ON FUNCTION uidgen.own_place() IS 'the schema of what users call';

-- An existing table and its comments stay as they are: an upgrade in a long transaction would lock the table against sessions that draw.
IF to_regclass('uidgen_history.layout_used') IS NULL THEN
	-- [stands for uidgen.layout_used: operator_layout_change]
	-- The table has no key, since a subscription to all tables of another database adds the rows of that database.
	CREATE TABLE uidgen_history.layout_used (layout text NOT NULL, since timestamptz NOT NULL DEFAULT now());
	ALTER TABLE uidgen_history.layout_used REPLICA IDENTITY FULL;
	COMMENT ON TABLE uidgen_history.layout_used IS 'the layouts that ids of this database have';
	COMMENT ON COLUMN uidgen_history.layout_used.layout IS 'a layout in canonical form';
	COMMENT ON COLUMN uidgen_history.layout_used.since IS 'when the edition was put in with it';
END IF;

-- The script makes users' functions in schema uidgen, where nobody else can have made anything, and moves them to their place at the end.
-- An upgrade moves them back first.

CREATE FUNCTION uidgen.own_functions(home regnamespace) RETURNS SETOF regprocedure
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off	-- names of types are compared
AS $$
DECLARE
	names text[] := '{}';
	place regnamespace;
BEGIN
	IF to_regprocedure(format('%s.own_names()', home)) IS NOT NULL THEN
		EXECUTE format('SELECT %s.own_names()', home) INTO names;
	END IF;
	-- DROP SCHEMA of the users' schema drops it, too.
	IF to_regprocedure('uidgen.own_place()') IS NOT NULL THEN
		place := uidgen.own_place();
	END IF;
	-- A function uid_next() of somebody else may call uidgen.next(), as everybody may: so the owner is compared, too.
	RETURN QUERY SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = home AND n.nspowner = p.proowner
		WHERE p.pronamespace = home OR p.pronamespace = place AND format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) = ANY (names);
	IF NOT FOUND AND home = 'uidgen'::regnamespace THEN
		RAISE EXCEPTION 'schema uidgen belongs to another role than its functions'
			USING ERRCODE = 'insufficient_privilege', HINT = 'Let it belong to the same role: ALTER SCHEMA uidgen OWNER TO ...';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.own_functions(regnamespace) IS 'the functions of a schema of the edition, with those that users call, wherever they are';

CREATE FUNCTION uidgen.fetch_functions(home regnamespace) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	function regprocedure;
BEGIN
	FOR function IN SELECT f FROM uidgen.own_functions(home) AS f JOIN pg_proc AS p ON p.oid = f WHERE p.pronamespace <> home LOOP
		EXECUTE format('ALTER ROUTINE %s SET SCHEMA %s', function, home);
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.fetch_functions(regnamespace) IS 'moves what users call into a schema of the edition, where a script replaces it';

CREATE FUNCTION uidgen.hand_out_functions(home regnamespace) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off
AS $$
DECLARE
	functions CONSTANT regprocedure[] := ARRAY(SELECT p.oid::regprocedure FROM pg_proc AS p WHERE p.pronamespace = home AND p.proname ^@ 'uid_');
	function regprocedure;
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION %s.own_names() RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN %L::text[]', home,
		ARRAY(SELECT format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) FROM pg_proc AS p WHERE p.oid = ANY (functions)));
	EXECUTE format('COMMENT ON FUNCTION %s.own_names() IS %L', home, 'names and argument types of what users call');
	FOREACH function IN ARRAY functions LOOP
		EXECUTE format('ALTER ROUTINE %s SET SCHEMA %s', function, uidgen.own_place());
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.hand_out_functions(regnamespace) IS 'moves what users call out of a schema of the edition, to where they call it';
