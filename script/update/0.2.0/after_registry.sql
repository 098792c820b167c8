-- A view that was dropped is a new one.
DO $$
DECLARE
	made regclass;
BEGIN
	FOR made IN
		SELECT c.oid FROM pg_class AS c
			WHERE c.oid IN ('uidgen.fleet'::regclass, 'uidgen.registry_status'::regclass) AND c.relacl IS NULL
	LOOP
		EXECUTE format('GRANT SELECT ON %s TO pg_monitor', made);
	END LOOP;
END
$$;
