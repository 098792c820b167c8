--
-- What comes last: what the user is told.
--

-- By INFO, because CREATE EXTENSION hides NOTICE.
DO $$
DECLARE
	missing CONSTANT text := uidgen.diagnose();
BEGIN
	IF missing <> 'ok' THEN
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing;
	END IF;
END
$$;
