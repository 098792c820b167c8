--
-- What comes last: what the user is told.
--

-- Tell the user what else is needed; by INFO, because CREATE EXTENSION hides NOTICE.
-- [since 0.4.0]
DO $$
DECLARE
	registry text := pg_catalog.current_setting('uidgen.database', true);
	missing text := uidgen.diagnose();
BEGIN
	IF registry OPERATOR(pg_catalog.<>) pg_catalog.current_database()::text THEN
		RAISE INFO 'worker ids come from the registry in another database'
			USING DETAIL = pg_catalog.format('The setting "uidgen.database" is "%s".', registry);
	END IF;
	IF registry IS NULL THEN	-- without preload the setting is not defined
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing,
				HINT = 'If this server only has the registry of a fleet, nothing is missing: go on with SELECT uidgen.share_registry().';
	ELSIF missing OPERATOR(pg_catalog.<>) 'ok' THEN
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing;
	END IF;
END
$$;

