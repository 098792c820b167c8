--
-- The schema of what operators use, and of all that the library looks up.
--

-- This search path finds, for good, what the script names in views, constraints, DO blocks, and function bodies that
-- begin with RETURN or BEGIN ATOMIC.  A superuser may run these.  In another schema anybody may have put an operator
-- or a function that fits better than pg_catalog's.  So there is no such schema in the path, and what goes to the
-- schema given at CREATE EXTENSION is named in full.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Whoever makes a trusted extension may name any schema.
DO $$
BEGIN
	IF '@extschema@' IN ('uidgen_registry', 'uidgen_tools', 'pg_catalog') THEN
		RAISE EXCEPTION 'the functions of uidgen cannot be in schema %', '@extschema@'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Name another schema: CREATE EXTENSION uidgen SCHEMA public.';
	END IF;
END
$$;

-- The uid_* functions go to the schema given at CREATE EXTENSION, and all else to this one.  It belongs to a superuser, whoever
-- makes the extension, and nobody else may create in it: so what has a name in it is what this script has made.  (That an
-- object belongs to the extension proves nothing: the extension's owner may add his own.)  If it exists already, this fails.
CREATE SCHEMA uidgen;
COMMENT ON SCHEMA uidgen IS 'status, settings of a database and presets of uidgen';
