--
-- Of which layouts the ids of this database are.  It is dumped with them, so that a server into which they
-- are restored notices that it has another layout.
--

-- It has no key, so that a restore never fails on it.  Only these write it: the first transaction that has drawn
-- ids here, at its end (src/ids/layout_used.c), and use_layout().  So CREATE EXTENSION leaves it empty, and the layout
-- may be changed until there is an id of it.
CREATE TABLE IF NOT EXISTS uidgen.layout_used (
	layout text NOT NULL,
	since timestamptz NOT NULL,
	system_identifier bigint NOT NULL,
	database oid NOT NULL,
	extension oid
);
ALTER TABLE uidgen.layout_used REPLICA IDENTITY FULL;	-- it may be published, and use_layout() updates it
COMMENT ON TABLE uidgen.layout_used IS 'the layouts that ids of this database have; dumped with them';
COMMENT ON COLUMN uidgen.layout_used.layout IS 'a layout in canonical form';
COMMENT ON COLUMN uidgen.layout_used.since IS 'when it was noted here: with the first ids, or by use_layout()';
COMMENT ON COLUMN uidgen.layout_used.system_identifier IS 'the cluster of the database that noted it; rows of another database came with its data, and decide which layouts suit';
COMMENT ON COLUMN uidgen.layout_used.database IS 'OID of the database that noted it';
COMMENT ON COLUMN uidgen.layout_used.extension IS 'OID of the extension that noted it: what was noted before the extension was dropped and created came with the data, too';

DO $$
BEGIN
	PERFORM pg_extension_config_dump('uidgen.layout_used', ''::text);
END
$$;

-- What a publisher has noted is about its own ids.  Where they come here by replication FOR ALL TABLES, this
-- server goes on with its own layout.  A restore, which may run as replication does, is not kept out.
--
-- Where a layout has no row, uid_drop_partitions() takes its ids for ids of another one; where a reserved worker id has none,
-- it can be accepted again.  So no statement that is meant for all tables empties these, in whatever role.  A DELETE is
-- somebody's own word.
CREATE FUNCTION uidgen.guard_table() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		RAISE EXCEPTION 'cannot truncate %.%', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = CASE TG_TABLE_NAME
					WHEN 'layout_used' THEN 'It tells which layouts the ids of this database have. What is of today by a layout that it does not name, uid_drop_partitions() may take for past.'
					ELSE 'It tells how far ids of past times have come: without that they could come twice.' END,
				HINT = CASE TG_TABLE_NAME WHEN 'layout_used' THEN 'If no id of a layout is left, delete the row of that layout.'
					ELSE 'To leave a worker id, reserve another one.' END;
	ELSIF (SELECT a.backend_type FROM pg_stat_get_activity(pg_backend_pid()) AS a) LIKE 'logical replication%' THEN
		RETURN NULL;
	END IF;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
COMMENT ON FUNCTION uidgen.guard_table() IS 'trigger: drops rows that logical replication brings, and refuses TRUNCATE, of what uidgen knows of this database''s ids';
CREATE OR REPLACE TRIGGER drop_replicated_row
	BEFORE INSERT OR UPDATE OR DELETE ON uidgen.layout_used
	FOR EACH ROW EXECUTE FUNCTION uidgen.guard_table();
ALTER TABLE uidgen.layout_used ENABLE REPLICA TRIGGER drop_replicated_row;
COMMENT ON TRIGGER drop_replicated_row ON uidgen.layout_used IS 'drops rows that logical replication brings';
CREATE OR REPLACE TRIGGER refuse_truncate BEFORE TRUNCATE ON uidgen.layout_used
	FOR EACH STATEMENT EXECUTE FUNCTION uidgen.guard_table();
ALTER TABLE uidgen.layout_used ENABLE ALWAYS TRIGGER refuse_truncate;
COMMENT ON TRIGGER refuse_truncate ON uidgen.layout_used IS 'refuses TRUNCATE of the layouts that ids have';

CREATE FUNCTION uidgen.use_layout() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	here CONSTANT oid := (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database());
	cluster CONSTANT bigint := (SELECT c.system_identifier FROM pg_control_system() AS c);
	present CONSTANT text := (SELECT n.layout FROM uidgen.layout_numbers() AS n);
	present_extension CONSTANT oid := (SELECT e.oid FROM pg_extension AS e WHERE e.extname = 'uidgen');
BEGIN
	-- Rows that came with the data are taken for this database's own; otherwise they alone would decide.
	UPDATE uidgen.layout_used AS u SET system_identifier = cluster, database = here, extension = present_extension
		WHERE (u.system_identifier, u.database, u.extension) IS DISTINCT FROM (cluster, here, present_extension);
	INSERT INTO uidgen.layout_used (layout, since, system_identifier, database, extension)
		SELECT present, clock_timestamp(), cluster, here, present_extension
			WHERE NOT EXISTS (SELECT FROM uidgen.layout_used AS u WHERE u.layout = present);
END
$$;
COMMENT ON FUNCTION uidgen.use_layout() IS 'the word of the database''s owner that this server''s layout is one of those that its ids have, or will have';
