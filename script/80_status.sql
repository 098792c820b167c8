--
-- Operation
--

CREATE FUNCTION uidgen.status(OUT state text, OUT worker_id integer, OUT datacenter_id integer,
	OUT layout text, OUT registry text, OUT granted_until timestamptz, OUT ahead interval,
	OUT renewals bigint, OUT failures bigint, OUT last_error text, OUT waits bigint,
	OUT clock_steps bigint, OUT expires_at timestamptz, OUT wasted bigint,
	OUT ahead_cause text, OUT free_worker_ids bigint,
	OUT registry_host text, OUT clock_offset interval, OUT clock_width interval,
	OUT timeline integer, OUT quarantine_until timestamptz)
AS 'MODULE_PATHNAME', 'uidgen_status_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.status() IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';

CREATE VIEW uidgen.status AS SELECT s.*, uidgen.horizon_lag() AS horizon_lag FROM uidgen.status() AS s;
COMMENT ON VIEW uidgen.status IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';
-- [since 0.1.0]
GRANT SELECT ON uidgen.status TO PUBLIC;

CREATE FUNCTION uidgen.diagnose() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_diagnose_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.diagnose() IS 'ok, or what is missing before ids can be issued and what to do';

