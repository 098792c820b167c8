--
-- What comes last in scripts that update.
--

-- The owner of the extension can add a function of his own to it, and an update would take that for the extension's: replaced, it stays his.
DO $$
DECLARE
	other record;
BEGIN
	SELECT pg_identify_object(d.classid, d.objid, 0)::text AS object, r.rolname INTO other
		FROM pg_depend AS d
			JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND e.extname = 'EXTENSION_NAME'
			LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
			LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
			JOIN pg_roles AS r ON r.oid IN (p.proowner, c.relowner)
		WHERE NOT r.rolsuper
		LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'an object of extension "EXTENSION_NAME" belongs to role "%"', other.rolname
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It is %s, and was added to the extension.', other.object),
				HINT = 'Take it out with ALTER EXTENSION EXTENSION_NAME DROP ..., and rename it if the new version has an object of that name.';
	END IF;
END
$$;
