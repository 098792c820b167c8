--
-- What the extension uidgen_tools calls.  Nobody but a superuser can create in this schema, and its name stays.  So
-- nobody can put other functions in their place, whoever owns the database or the schema of the uid_* functions.
--

-- Not for a superuser who has become another role.  For others as PostgreSQL's own maintenance: nothing that is called inside can become another
-- role, leave a setting behind, or put something off until later.
CREATE FUNCTION uidgen.run_confined(statement text) RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_run_confined' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION uidgen.run_confined(text) IS 'runs a statement as the caller, out of reach of the role that has logged in; returns its first value';

CREATE FUNCTION uidgen.present_horizon() RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_horizon_of_statement' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.present_horizon() IS 'uid_horizon(), whose schema is of choice';

-- By the triggers of tracked tables, as their owners.  Whoever calls it has a table of his own: he draws by it, as by a trigger.
CREATE FUNCTION uidgen.write_deleted(relation regclass, key text[], deleted record) RETURNS void
AS 'MODULE_PATHNAME', 'uidgen_write_deleted' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION uidgen.write_deleted(regclass, text[], record) IS 'writes the key of a deleted row, or a mark, into a table of the caller''s, without triggers';
