--
-- The tools of the edition in SQL: partitions by the time in ids, and tables that exist get ids.  psql runs it after the edition, by the same role:
-- variable schema says where the uid_* functions go; public.
--
-- They are parts of the extension uidgen_tools as they are.  Here is what those call that the library has, or the extension's script.
--
\set ON_ERROR_STOP on
\if :{?schema} \else \set schema public
\endif
BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_min_messages = warning;
SET LOCAL standard_conforming_strings = on;

DO $$
BEGIN
	IF to_regprocedure('uidgen.own_layout()') IS NULL THEN
		RAISE EXCEPTION 'the edition of uidgen in SQL is not in this database'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Put it in first. For the extension there is CREATE EXTENSION uidgen_tools.';
	END IF;
END
$$;

-- If it exists already, this fails.
CREATE SCHEMA uidgen_tools;
COMMENT ON SCHEMA uidgen_tools IS 'what the tools of uidgen''s edition in SQL are made of';
GRANT USAGE ON SCHEMA uidgen_tools TO PUBLIC;

-- All of this belongs to one role, which can change it at any time: so there is nothing to hold.
CREATE FUNCTION uidgen_tools.hold_extensions() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS 'BEGIN END';
COMMENT ON FUNCTION uidgen_tools.hold_extensions() IS 'nothing: the extension keeps itself from being dropped meanwhile';

-- Everybody may call uidgen.next(), and so make a function uid_next() that does.
CREATE FUNCTION uidgen_tools.find_function(name text, symbol text) RETURNS regprocedure
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_proc AS own ON own.oid = 'uidgen.next(timestamptz)'::regprocedure AND own.proowner = p.proowner
		WHERE p.pronamespace = uidgen.own_place() AND p.proname = find_function.name AND p.pronargs = 0
$$;
COMMENT ON FUNCTION uidgen_tools.find_function(text, text) IS 'uid_next() of the edition, where the edition was put';

-- Code of a table's owner runs in the session of the caller: a superuser who has become the owner by SET ROLE
-- would lend it the way back.
CREATE FUNCTION uidgen_tools.run_confined(statement text) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	result text;
	super name;
BEGIN
	-- SET SESSION AUTHORIZATION does not change who has logged in.
	SELECT r.rolname INTO super FROM pg_roles AS r
		WHERE r.rolsuper AND (r.rolname = session_user OR r.oid = (SELECT a.usesysid FROM pg_stat_get_activity(pg_backend_pid()) AS a))
			AND NOT (SELECT c.rolsuper FROM pg_roles AS c WHERE c.rolname = current_user);
	IF FOUND THEN
		RAISE EXCEPTION 'a superuser who has become role "%" cannot change its tables', current_user
			USING ERRCODE = 'invalid_authorization_specification',
				DETAIL = format('The session is of superuser "%s", and code of the owner of a table could become that role again.', super),
				HINT = 'Log in as the owner of the table.';
	END IF;
	-- Other statements return nothing, and may not.
	IF statement ~ '^SELECT ' THEN
		EXECUTE statement INTO result;
	ELSE
		EXECUTE statement;
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION uidgen_tools.run_confined(text) IS 'runs a statement with the rights of the caller; the first value that it returns';

CREATE FUNCTION uidgen_tools.layout_numbers(for_layout text DEFAULT NULL, OUT layout text, OUT unit bigint, OUT epoch bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT (l.l).layout, (l.l).unit, (l.l).epoch FROM (SELECT uidgen.parsed(coalesce($1, uidgen.own_layout())) AS l OFFSET 0) AS l;
END;
COMMENT ON FUNCTION uidgen_tools.layout_numbers(text) IS 'the layout of this database, or a named one, and its numbers';

CREATE FUNCTION uidgen_tools.diagnose() RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
AS 'BEGIN PERFORM uidgen.next(); END';
COMMENT ON FUNCTION uidgen_tools.diagnose() IS 'nothing, but an error if no id can be drawn';

-- Copies that see each change are the extension's alone.
CREATE FUNCTION uidgen_tools.find_deleted("table" regclass, OUT function oid, OUT relation oid)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS 'BEGIN END';
COMMENT ON FUNCTION uidgen_tools.find_deleted(regclass) IS 'nothing: no table is tracked';
