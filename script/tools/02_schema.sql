--
-- Schema uidgen_tools, and the look at the extension uidgen that the tools work for.
--
-- Functions for users are in the schema given at CREATE EXTENSION, all others in schema uidgen_tools.  The tools call functions of schemas
-- uidgen_tools, pg_catalog and uidgen alone: these belong to superusers, and nobody else creates in them.  The tools call nothing in the
-- schemas that the user chose for this extension and for uidgen: anybody may have functions there, and a database's owner can add
-- functions to the extensions.
--

-- This search path decides for good which objects the SQL bodies below refer to: PostgreSQL parses them now.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_min_messages = warning;

-- CREATE SCHEMA fails if the schema exists, since the schema would be somebody else's.
CREATE SCHEMA uidgen_tools;
COMMENT ON SCHEMA uidgen_tools IS 'what the functions of the extension uidgen_tools are made of';
-- ALTER DEFAULT PRIVILEGES may have changed the rights on new schemas.
REVOKE ALL ON SCHEMA uidgen_tools FROM PUBLIC;
GRANT USAGE ON SCHEMA uidgen_tools TO PUBLIC;

CREATE FUNCTION uidgen_tools.check_versions(may_be_older boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	own CONSTANT text := (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'uidgen_tools');
	other CONSTANT text := (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'uidgen');
	is_older boolean;
BEGIN
	IF own = other THEN
		RETURN;
	END IF;
	is_older := string_to_array(own, '.')::integer[] < string_to_array(other, '.')::integer[];
	IF NOT (is_older AND may_be_older) THEN
		RAISE EXCEPTION 'extension "uidgen_tools" is of version %, but extension "uidgen" is of version %', own, other
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'They work together in the same version.',
				HINT = format('Run ALTER EXTENSION %s UPDATE.', CASE WHEN is_older THEN 'uidgen_tools' ELSE 'uidgen' END);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_tools.check_versions(boolean) IS 'an error unless the extensions uidgen and uidgen_tools are of one version, or this one is older where it may be';

-- A script of a later version may run as an update.
-- [always]
DO $$
BEGIN
	PERFORM uidgen_tools.check_versions(true);
END
$$;

-- Membership in the extension is not enough, since the owner of a database can add functions to an extension.  Before PostgreSQL 16 a script
-- cannot name the schema of another extension.
CREATE FUNCTION uidgen_tools.find_function(name text, symbol text) RETURNS regprocedure
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found CONSTANT regprocedure := (SELECT p.oid
		FROM pg_extension AS e
			JOIN pg_proc AS p ON p.pronamespace = e.extnamespace
			JOIN pg_language AS l ON l.oid = p.prolang
			JOIN pg_roles AS r ON r.oid = p.proowner
		WHERE e.extname = 'uidgen' AND p.proname = find_function.name AND p.pronargs = 0
			AND l.lanname = 'c' AND p.prosrc = find_function.symbol AND r.rolsuper);
BEGIN
	IF found IS NULL THEN
		RAISE EXCEPTION 'function %() is not what the extension "uidgen" has made', name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('The schema of the extension has no function %s() of the library''s that belongs to a superuser.', name),
				HINT = 'Let a superuser see who has changed it. DROP EXTENSION uidgen CASCADE and CREATE EXTENSION make it anew.';
	END IF;
	RETURN found;
END
$$;
COMMENT ON FUNCTION uidgen_tools.find_function(text, text) IS 'a function of the library''s without arguments, such as uid_next(), in whichever schema';

-- PostgreSQL looks up the functions that a tool calls while the tool runs.  Meanwhile, the owner of the database could drop the extensions, and
-- put own functions in their place, which would run as the caller.  DROP EXTENSION waits for this lock.
CREATE TABLE uidgen_tools.in_use ();
COMMENT ON TABLE uidgen_tools.in_use IS 'locked while a function of the extension uidgen_tools runs, so that the extension stays';
REVOKE ALL ON uidgen_tools.in_use FROM PUBLIC;
GRANT SELECT ON uidgen_tools.in_use TO PUBLIC;

-- Functions for users call this function by its OID, and all other functions by name after it.
CREATE FUNCTION uidgen_tools.hold_extensions() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	patience CONSTANT text := current_setting('lock_timeout');
BEGIN
	-- Any role can wait here, also for a lock that it will not get.  Before its own lock, this function calls PostgreSQL's functions alone: so the
	-- bodies of patience() and list_holders() are repeated here.
	BEGIN
		IF patience = '0' THEN
			PERFORM set_config('lock_timeout', ceil(least(250, extract(epoch FROM current_setting('deadlock_timeout')::interval) * 250)) || 'ms', true);
		END IF;
		LOCK TABLE uidgen.layout_used, uidgen_tools.in_use IN ACCESS SHARE MODE;
		PERFORM set_config('lock_timeout', patience, true);
	EXCEPTION WHEN lock_not_available THEN
		RAISE EXCEPTION 'the extensions are in use' USING ERRCODE = 'lock_not_available',
				DETAIL = coalesce((SELECT string_agg(format('%s %s %s on table %s.', CASE WHEN l.pid IS NULL THEN 'A prepared transaction' ELSE format('Process %s of role "%s", application "%s",', l.pid, a.usename, a.application_name) END, CASE WHEN l.granted THEN 'has' ELSE 'waits for' END, l.mode, l.relation::regclass), ' ')
					FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
					WHERE l.relation IN (to_regclass('uidgen.layout_used'), to_regclass('uidgen_tools.in_use')) AND l.mode = 'AccessExclusiveLock'), 'Whoever had them has gone meanwhile.'),
				HINT = 'Call it again. To wait for longer, set lock_timeout.';
	END;
	IF (SELECT count(*) FROM pg_namespace AS n JOIN pg_roles AS r ON r.oid = n.nspowner WHERE n.nspname IN ('uidgen', 'uidgen_tools') AND r.rolsuper) <> 2
		-- An older snapshot would show schemas that were dropped during the wait, and not the schemas in their place.
		OR (SELECT count(*) FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner WHERE c.oid IN (to_regclass('uidgen.layout_used'), to_regclass('uidgen_tools.in_use')) AND r.rolsuper) <> 2 THEN
		RAISE EXCEPTION 'the extensions were dropped meanwhile, or belong to a role that is no superuser' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = (SELECT format('Their schemas belong to %s.', string_agg(DISTINCT format('role "%s"', pg_get_userbyid(n.nspowner)), ' and ')) FROM pg_namespace AS n WHERE n.nspname IN ('uidgen', 'uidgen_tools')),
				HINT = 'Let a superuser run ALTER ROLE ... SUPERUSER, if that is the role that the cluster was made with.';
	END IF;
	PERFORM uidgen_tools.check_versions();
END
$$;
COMMENT ON FUNCTION uidgen_tools.hold_extensions() IS 'keeps the extensions uidgen and uidgen_tools to the end of the transaction; an error if they are not what they were, or of two versions';
