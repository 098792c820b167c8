-- test/installcheck.sql
--	  What "make installcheck" needs of the server; it is run first, so that what is
--	  missing is said before each test fails for it.
\set SHOW_CONTEXT never
DO $$
BEGIN
	IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		RAISE EXCEPTION 'role % is no superuser', quote_ident(current_user)
			USING HINT = 'Name one in PGUSER.';
	END IF;
	-- A value of a setting that no library has defined is not in this view.
	IF NOT EXISTS (SELECT FROM pg_settings WHERE name = 'uidgen.database' OR current_setting('server_version_num')::integer >= 170000) THEN
		RAISE WARNING 'the server does not preload uidgen: only what needs no keeper is tested'
			USING HINT = 'Add "uidgen" to "shared_preload_libraries" and restart the server.';
		RETURN;
	END IF;
	-- It is not defined where no session has loaded the library.
	IF coalesce(current_setting('uidgen.database', true), 'postgres') <> 'contrib_regression'
		AND NOT EXISTS (SELECT FROM pg_database WHERE datname = coalesce(current_setting('uidgen.database', true), 'postgres')) THEN
		RAISE EXCEPTION 'database % does not exist', quote_ident(current_setting('uidgen.database', true))
			USING DETAIL = '"uidgen.database" names it as the home of the registry.',
			HINT = 'Create the database, or set "uidgen.database" to another one.';
	END IF;
END $$;

-- pg_regress will drop its database, but not while the keeper is connected to it,
-- as it is for half a minute after an earlier run.
SET client_min_messages = warning;
SELECT 'DROP DATABASE IF EXISTS contrib_regression WITH (FORCE)'
WHERE current_setting('uidgen.database', true) = 'contrib_regression' \gexec
