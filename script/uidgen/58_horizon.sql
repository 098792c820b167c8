--
-- Reading on by id: up to where nothing comes any more
--

CREATE FUNCTION uidgen.uid_horizon_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'uidgen_horizon_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION uidgen.uid_horizon_support(internal) IS 'planner support function of uid_horizon()';

-- STABLE, so that it can be an index condition; it gives one answer for each snapshot.
CREATE FUNCTION @extschema@.uid_horizon() RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_horizon_of_statement' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
SUPPORT uidgen.uid_horizon_support;
COMMENT ON FUNCTION @extschema@.uid_horizon() IS 'each id up to this one is visible, if the transaction that drew it in this database ever stores it; null: not known yet';

-- Called for each column, as (uid_horizon_lsn()).* has it, it still says what holds: the horizon is the snapshot's,
-- and the position is no earlier than the horizon.
CREATE FUNCTION @extschema@.uid_horizon_lsn(OUT horizon bigint, OUT lsn pg_lsn)
AS 'MODULE_PATHNAME', 'uidgen_horizon_and_lsn' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_horizon_lsn() IS 'uid_horizon(), and the WAL position that a standby must have replayed to show all ids up to it; both null: not known yet';

CREATE FUNCTION @extschema@.uid_hold(id bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_hold_id' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_hold(bigint) IS 'the id, which was drawn before, for a row of this transaction: readers wait for it; an error if they have passed it';

CREATE FUNCTION @extschema@.uid_hold_row() RETURNS trigger
AS 'MODULE_PATHNAME', 'uidgen_hold_row' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION @extschema@.uid_hold_row() IS 'trigger BEFORE INSERT OR UPDATE for each row: holds the id in the named column as uid_hold() does; null gets a new id';

CREATE FUNCTION uidgen.list_horizon_holders(OUT pid integer, OUT database oid, OUT since timestamptz, OUT id bigint, OUT xid xid)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_horizon_holders' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.list_horizon_holders() IS 'the transactions that hold the horizon back';

CREATE VIEW uidgen.horizon_holders AS
	SELECT h.pid, d.datname AS database, h.since, h.id, p.gid AS prepared
		FROM uidgen.list_horizon_holders() AS h LEFT JOIN pg_database AS d ON d.oid = h.database
			LEFT JOIN pg_prepared_xacts AS p ON p.transaction = h.xid;
COMMENT ON VIEW uidgen.horizon_holders IS 'the transactions that hold the horizon back: they have drawn ids and have not ended';
COMMENT ON COLUMN uidgen.horizon_holders.pid IS 'process id of its session; null if it is prepared';
COMMENT ON COLUMN uidgen.horizon_holders.database IS 'only readers of this one wait';
COMMENT ON COLUMN uidgen.horizon_holders.since IS 'its start; null if it was prepared before the server started';
COMMENT ON COLUMN uidgen.horizon_holders.id IS 'it holds the horizon below this id; null likewise, and then there is no horizon';
COMMENT ON COLUMN uidgen.horizon_holders.prepared IS 'its name, if it is prepared';

CREATE FUNCTION uidgen.accept_step("from" bigint DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME', 'uidgen_accept_step' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.accept_step(bigint) IS 'all readers have gone back to the id from which on ids were drawn when the clock was set back: uid_horizon() goes on';
