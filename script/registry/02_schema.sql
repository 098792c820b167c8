--
-- The schema of the registry; part of the extension's script and of the one for a server without the extension.
--

-- This search path finds, for good, what the script names in views, constraints, DO blocks, and function bodies that
-- begin with RETURN or BEGIN ATOMIC.  A keeper runs these as superuser.  In another schema anybody may have put an
-- operator or a function that fits better than pg_catalog's.  So there is no such schema in the path.
SET LOCAL search_path = pg_catalog, pg_temp;
-- What is there already is no news to whoever runs a script twice.
SET LOCAL client_min_messages = warning;

-- Whoever owns PL/pgSQL could drop that, and with it the registry, at any time.
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_extension AS e JOIN pg_roles AS r ON r.oid = e.extowner, pg_roles AS me WHERE e.extname = 'plpgsql' AND me.rolname = current_user AND me.rolsuper AND NOT r.rolsuper) THEN
		RAISE EXCEPTION 'extension "plpgsql" belongs to a role that is no superuser'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'That role could drop it, and the registry with it.',
				HINT = 'Let a superuser make it, or make the registry in another database.';
	END IF;
END
$$;

-- All names are in this schema and in pg_catalog: whoever owns the database may have made any other one, also one
-- that is called uidgen.  If this one exists already, this fails: objects that somebody else made must not be mixed with
-- functions that run as superuser.
CREATE SCHEMA uidgen_registry;
COMMENT ON SCHEMA uidgen_registry IS 'the registry of worker ids and segments of uidgen';
