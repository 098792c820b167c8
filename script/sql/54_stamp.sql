--
-- uid_stamp(), the trigger of the extension (src/functions/stamp.c), with its errors.
--

CREATE FUNCTION uidgen.refuse_stamp(problem text, trigger name, "table" regclass, "column" text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named CONSTANT name := (SELECT c.relname FROM pg_class AS c WHERE c.oid = "table");
	type regtype;
BEGIN
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION 'uid_stamp() %', problem USING ERRCODE = 'trigger_protocol_violated',
				HINT = 'Create the trigger with BEFORE INSERT OR UPDATE, FOR EACH ROW and EXECUTE FUNCTION uid_stamp(''column''), where the column is of type bigint.';
	END IF;
	SELECT a.atttypid INTO type FROM pg_attribute AS a WHERE a.attrelid = "table" AND a.attname = "column" AND NOT a.attisdropped AND a.attnum > 0;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'table "%" has no column "%"', named, "column"
			USING ERRCODE = 'undefined_column', DETAIL = format('Trigger "%s" calls uid_stamp() for it.', trigger),
				HINT = 'If the column was renamed, create the trigger anew with the new name.';
	ELSIF type <> 'bigint'::regtype THEN
		RAISE EXCEPTION 'column "%" of table "%" is of type %', "column", named, type
			USING ERRCODE = 'datatype_mismatch', DETAIL = format('Trigger "%s" calls uid_stamp(), which writes ids, of type bigint.', trigger),
				HINT = 'Change the type of the column to bigint, or name another column in the trigger.';
	END IF;
	RAISE EXCEPTION 'column "%" of table "%" is generated', "column", named
		USING ERRCODE = 'wrong_object_type', DETAIL = format('Trigger "%s" calls uid_stamp(), and what that writes would be computed anew.', trigger),
			HINT = 'Name another column in the trigger.';
END
$$;
COMMENT ON FUNCTION uidgen.refuse_stamp(text, name, regclass, text) IS 'the error of uid_stamp(): the problem, or what is wrong with the column';

-- This trigger runs for each row, so it has no search path of its own, and qualifies each name and operator.  jsonb_populate_record()
-- would silently skip a name that is no column.
CREATE FUNCTION uidgen.uid_stamp() RETURNS trigger
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
	IF TG_LEVEL OPERATOR(pg_catalog.<>) 'ROW' THEN
		PERFORM uidgen.refuse_stamp('was called for a statement', TG_NAME, TG_RELID, NULL);
	ELSIF TG_WHEN OPERATOR(pg_catalog.<>) 'BEFORE' THEN
		PERFORM uidgen.refuse_stamp('was not called before the row is written', TG_NAME, TG_RELID, NULL);
	ELSIF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
		PERFORM uidgen.refuse_stamp('was called for DELETE', TG_NAME, TG_RELID, NULL);
	ELSIF TG_NARGS OPERATOR(pg_catalog.<>) 1 THEN
		PERFORM uidgen.refuse_stamp('needs one argument, the name of a column', TG_NAME, TG_RELID, NULL);
	ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute AS a WHERE a.attrelid OPERATOR(pg_catalog.=) TG_RELID AND a.attname OPERATOR(pg_catalog.=) TG_ARGV[0]
			AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) '' AND a.atttypid OPERATOR(pg_catalog.=) 20) THEN
		PERFORM uidgen.refuse_stamp(NULL, TG_NAME, TG_RELID, TG_ARGV[0]);
	END IF;
	NEW := pg_catalog.jsonb_populate_record(NEW, pg_catalog.jsonb_build_object(TG_ARGV[0], uidgen.next()));
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION uidgen.uid_stamp() IS 'trigger BEFORE INSERT OR UPDATE for each row: the column that is its argument gets a new id';
