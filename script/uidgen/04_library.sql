--
-- Is the server's library as new as this script?
--

-- A running server keeps the library that it has loaded, also after a newer one is
-- installed.  An older library lacks C functions that are declared below, so the user is told
-- what to do before the first of them.
CREATE FUNCTION uidgen.library_version() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_library_version' LANGUAGE C STABLE STRICT PARALLEL SAFE;
-- [always]
DO $$
DECLARE
	loaded text := uidgen.library_version();
BEGIN
	IF string_to_array(loaded, '.')::integer[] < string_to_array('UIDGEN_VERSION', '.')::integer[] THEN
		RAISE EXCEPTION 'the server has loaded an older library of uidgen than this version of the extension needs' USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('It has loaded version %s, and version %s is needed. The server loads a newly installed library only when it starts.', loaded, 'UIDGEN_VERSION'),
				HINT = 'Restart the server, and run this command again.';
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.library_version() IS 'version of the library that the server has loaded; the extension''s version is in pg_extension';
