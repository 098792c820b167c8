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

CREATE FUNCTION uidgen.find_pending_restart() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_pending_restart'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.find_pending_restart() IS 'settings whose value in the configuration files counts from the next start of the server on; null: there are none';

-- uidgen.status has to work on a server that has an older library, such as a standby before its restart.
CREATE FUNCTION uidgen.later_status(OUT horizon_lag interval, OUT pending_restart text)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF string_to_array(uidgen.library_version(), '.')::integer[] >= ARRAY[0, 3, 0] THEN
		horizon_lag := uidgen.measure_horizon();
		pending_restart := uidgen.find_pending_restart();
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen.later_status() IS 'columns of uidgen.status that an older library does not know';

CREATE VIEW uidgen.status AS
	SELECT s.*, l.horizon_lag, l.pending_restart
	FROM uidgen.status() AS s, uidgen.later_status() AS l;
COMMENT ON VIEW uidgen.status IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';
-- [since 0.1.0]
GRANT SELECT ON uidgen.status TO PUBLIC;

CREATE FUNCTION uidgen.diagnose() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_diagnose_0_2'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.diagnose() IS 'ok, or what is missing before ids can be issued and what to do';

