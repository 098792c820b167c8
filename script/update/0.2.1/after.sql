-- The view has a column more, and calls another function.
DO $$
BEGIN
	DROP FUNCTION IF EXISTS uidgen.segment_status();
EXCEPTION
	WHEN dependent_objects_still_exist THEN
		-- What somebody has made with it goes on.
		NULL;
END
$$;
