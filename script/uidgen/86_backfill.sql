--
-- Ids of past times
--

-- A copy of the database has these rows as well.  `home` tells that they are not its own.  They are dumped
-- so that a restored database knows which worker ids its ids of past times have.  No key, so that a restore
-- never fails on it; accept_backfill() sees to that.
CREATE TABLE IF NOT EXISTS uidgen.backfill (
	datacenter_id integer NOT NULL,
	worker_id integer NOT NULL,
	upto bigint,
	asked bigint,
	layout text NOT NULL,
	registry bigint NOT NULL,
	registry_database oid NOT NULL,
	home text NOT NULL,
	reserved timestamptz NOT NULL
);
ALTER TABLE uidgen.backfill REPLICA IDENTITY FULL;	-- it may be published, and is updated
COMMENT ON TABLE uidgen.backfill IS 'the worker ids that are reserved for ids of past times, and how far those have come: never to be edited by hand';
COMMENT ON COLUMN uidgen.backfill.datacenter_id IS 'the datacenter field of the ids; 0 if the layout has none';
COMMENT ON COLUMN uidgen.backfill.worker_id IS 'the worker field of the ids';
COMMENT ON COLUMN uidgen.backfill.upto IS 'the last id that was issued, without its tag; null: none';
COMMENT ON COLUMN uidgen.backfill.asked IS 'the first id of the latest time that was asked for: no earlier one is issued any more';
COMMENT ON COLUMN uidgen.backfill.layout IS 'the layout of the ids';
COMMENT ON COLUMN uidgen.backfill.registry IS 'the number of the registry that has reserved the worker id; the sign bit is set for a fleet''s';
COMMENT ON COLUMN uidgen.backfill.registry_database IS 'the OID of the database of a local registry, which a copy with the same number has not; 0: it is a fleet''s';
COMMENT ON COLUMN uidgen.backfill.home IS 'the database that it is reserved for, as uidgen.backfill_home() names it';
COMMENT ON COLUMN uidgen.backfill.reserved IS 'when it was accepted here';

DO $$
BEGIN
	PERFORM pg_extension_config_dump('uidgen.backfill', ''::text);
END
$$;

CREATE OR REPLACE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.backfill
	FOR EACH ROW EXECUTE FUNCTION uidgen.guard_table();
ALTER TABLE uidgen.backfill ENABLE REPLICA TRIGGER drop_replicated_row;
COMMENT ON TRIGGER drop_replicated_row ON uidgen.backfill IS 'drops rows that logical replication brings';
CREATE OR REPLACE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.backfill
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.guard_table();
ALTER TABLE uidgen.backfill ENABLE ALWAYS TRIGGER refuse_truncate;
COMMENT ON TRIGGER refuse_truncate ON uidgen.backfill IS 'refuses TRUNCATE of the worker ids for ids of past times';

CREATE FUNCTION uidgen.backfill_home() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_backfill_home_text' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.backfill_home() IS 'tells this database on this server from all copies: instance, OID and time of the database, OID of the extension';

CREATE FUNCTION uidgen.accept_backfill(permit text) RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	part CONSTANT text[] := regexp_match(permit, '^(\d{1,10})/(\d{1,10})/(-?\d{1,19})/(\d{1,10})@(.+)$');
	here CONSTANT text := uidgen.backfill_home();
	datacenter CONSTANT integer := part[1]::integer;
	worker CONSTANT integer := part[2]::integer;
	known text;
	others text;
BEGIN
	IF part IS NULL THEN
		RAISE EXCEPTION 'this is not what uidgen_registry.reserve_backfill() returns: %', coalesce(quote_literal(permit), 'null')
			USING ERRCODE = 'invalid_parameter_value', HINT = format('In the database of the registry, its owner can run SELECT uidgen_registry.reserve_backfill(%L).', here);
	ELSIF part[5] <> here THEN
		RAISE EXCEPTION 'worker id % is reserved for another database', worker
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It is reserved for %s, and this database is %s.', part[5], here),
				HINT = format('In the database of the registry, its owner can run SELECT uidgen_registry.reserve_backfill(%L).', here);
	END IF;
	-- Two at once would not see each other's row; those who issue ids are not held up.
	PERFORM pg_advisory_xact_lock('uidgen.backfill'::regclass::oid::bigint);
	SELECT b.home INTO known FROM uidgen.backfill AS b WHERE b.datacenter_id = datacenter AND b.worker_id = worker
		ORDER BY b.home = here DESC LIMIT 1;
	IF known = here THEN
		RAISE EXCEPTION 'worker id % was accepted before', worker USING ERRCODE = 'duplicate_object';
	ELSIF known IS NOT NULL THEN
		RAISE EXCEPTION 'worker id % has ids of past times in this database already', worker
			USING ERRCODE = 'object_in_use', DETAIL = format('They were issued in the database that this is a copy of, or was: %s.', regexp_replace(known, '[^ -~]', '?', 'g')),
				HINT = 'Reserve another worker id.';
	END IF;
	INSERT INTO uidgen.backfill (datacenter_id, worker_id, layout, registry, registry_database, home, reserved)
		SELECT datacenter, worker, n.layout, part[3]::bigint, part[4]::oid, here, clock_timestamp() FROM uidgen.layout_numbers() AS n;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the row could not be written'
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'A trigger or a rule on uidgen.backfill, which is not of the extension, has dropped it.',
				HINT = 'Remove that trigger or rule.';
	END IF;
	IF EXISTS (SELECT FROM uidgen.layout_used AS u, pg_control_system() AS c, pg_database AS d
			WHERE d.datname = current_database() AND (u.system_identifier, u.database) IS DISTINCT FROM (c.system_identifier, d.oid)) THEN
		RAISE WARNING 'ids of this database come from another one'
			USING DETAIL = 'Which worker ids they have is not known to the registry, and some may have the one that was reserved now.',
				HINT = format('Look whether a row has worker id %s, as docs/backfilling.md shows, before you go on.', worker);
	END IF;
	-- Who restores a database may say what is in it, so this need not be a layout.
	SELECT string_agg(format('"%s"', regexp_replace(u.layout, E'[^\\u0020-\\u007e]', '?', 'g')), ', ' ORDER BY u.layout) INTO others
		FROM uidgen.layout_used AS u, uidgen.layout_numbers() AS n WHERE u.layout <> n.layout;
	IF others IS NOT NULL THEN
		RAISE WARNING 'this database has ids of another layout'
			USING DETAIL = format('They are of %s. An id of a past time by the present layout can be equal to one of those.', others),
				HINT = 'A primary key refuses what comes twice in one table. docs/layouts.md, "A new layout", says where such ids lie.';
	END IF;
	RETURN worker;
END
$$;
COMMENT ON FUNCTION uidgen.accept_backfill(text) IS 'lets uid_backfill() use the worker id that reserve_backfill() of the registry has reserved here, and returns it';

-- Not strict: a null time is an error, where STRICT would return a null id.
CREATE FUNCTION @extschema@.uid_backfill("time" timestamptz, tag integer DEFAULT 0) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_backfill' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.uid_backfill(timestamptz, integer) IS 'a new unique id of a past time, perhaps with a tag of the caller''s; times must not decrease';
