--
-- What comes last: what the user is told.
--

-- By INFO, because CREATE EXTENSION hides NOTICE.
DO $$
DECLARE
	missing CONSTANT text := (SELECT d.message FROM uidgen.diagnose() AS d WHERE d.severity = 'error');
BEGIN
	IF missing IS NOT NULL THEN
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing;
	END IF;
END
$$;
