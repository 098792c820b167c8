--
-- What comes last: what the user is told.
--

-- By INFO, because CREATE EXTENSION hides NOTICE.
-- [since 0.4.0]
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
