--
-- Operation
--

CREATE FUNCTION uidgen.status(OUT state text, OUT worker_id integer, OUT datacenter_id integer,
	OUT layout text, OUT registry text, OUT granted_until timestamptz, OUT ahead interval,
	OUT renewals bigint, OUT failures bigint, OUT last_error text, OUT waits bigint,
	OUT clock_steps bigint, OUT expires_at timestamptz, OUT wasted bigint, OUT ahead_cause text, OUT free_worker_ids bigint,
	OUT registry_host text, OUT clock_offset interval, OUT clock_width interval,
	OUT timeline integer, OUT quarantine_until timestamptz, OUT horizon_lag interval, OUT pending_restart text)
AS 'MODULE_PATHNAME', 'uidgen_status' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.status() IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';

CREATE FUNCTION uidgen.statistics(OUT ids bigint, OUT ids_single bigint,
	OUT ids_batch bigint, OUT ids_block bigint, OUT segment_numbers bigint,
	OUT grant_waits bigint, OUT grant_wait_time interval, OUT clock_waits bigint, OUT clock_wait_time interval,
	OUT segment_waits bigint, OUT segment_wait_time interval, OUT since timestamptz)
AS 'MODULE_PATHNAME', 'uidgen_read_statistics' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.statistics() IS 'what was drawn on this server, and waited for';

CREATE VIEW uidgen.statistics AS SELECT * FROM uidgen.statistics();
COMMENT ON VIEW uidgen.statistics IS 'what was drawn and waited for since the server''s start or uidgen.reset_statistics(); null: nothing yet, or not possible';
COMMENT ON COLUMN uidgen.statistics.ids IS 'ids that were drawn: the sum of the three that follow';
COMMENT ON COLUMN uidgen.statistics.ids_single IS 'by uid_next() and uid_next_after(), one at a time';
COMMENT ON COLUMN uidgen.statistics.ids_batch IS 'by uid_next_batch()';
COMMENT ON COLUMN uidgen.statistics.ids_block IS 'by uid_reserve()';
COMMENT ON COLUMN uidgen.statistics.segment_numbers IS 'numbers of segments';
COMMENT ON COLUMN uidgen.statistics.grant_waits IS 'calls that had to wait for a grant';
COMMENT ON COLUMN uidgen.statistics.grant_wait_time IS 'how long they waited, together';
COMMENT ON COLUMN uidgen.statistics.clock_waits IS 'calls that had to wait for the clock';
COMMENT ON COLUMN uidgen.statistics.clock_wait_time IS 'how long they waited, together';
COMMENT ON COLUMN uidgen.statistics.segment_waits IS 'calls that had to wait for numbers of a segment';
COMMENT ON COLUMN uidgen.statistics.segment_wait_time IS 'how long they waited, together';
COMMENT ON COLUMN uidgen.statistics.since IS 'when counting began';

CREATE FUNCTION uidgen.reset_statistics() RETURNS void
AS 'MODULE_PATHNAME', 'uidgen_reset_statistics' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.reset_statistics() IS 'uidgen.statistics begins to count anew';

CREATE VIEW uidgen.status AS
	SELECT s.*, (SELECT t.ids FROM uidgen.statistics() AS t) AS ids
	FROM uidgen.status() AS s;
COMMENT ON VIEW uidgen.status IS 'the state of this server''s generator; last_error and registry_host are for members of pg_monitor';
COMMENT ON COLUMN uidgen.status.state IS 'granted; idle: the next call gets a grant; failing: diagnose() says why; recovery; bad setting; not preloaded';
COMMENT ON COLUMN uidgen.status.worker_id IS 'the worker id in use, also while idle; null before the first grant';
COMMENT ON COLUMN uidgen.status.datacenter_id IS 'the datacenter in the ids, by the setting';
COMMENT ON COLUMN uidgen.status.layout IS 'the layout of the ids, in full, by the setting';
COMMENT ON COLUMN uidgen.status.registry IS 'local: it is this server''s own; shared: a fleet''s, by uidgen.registry';
COMMENT ON COLUMN uidgen.status.granted_until IS 'the end of the grant; in the past while idle';
COMMENT ON COLUMN uidgen.status.ahead IS 'how far the last id is ahead of the clock';
COMMENT ON COLUMN uidgen.status.renewals IS 'times that the grant was extended';
COMMENT ON COLUMN uidgen.status.failures IS 'attempts to get a grant that failed';
COMMENT ON COLUMN uidgen.status.last_error IS 'why the last attempt failed, or which setting is bad; null if neither, and for those who are not members of pg_monitor';
COMMENT ON COLUMN uidgen.status.waits IS 'calls that had to wait for a grant or for the clock';
COMMENT ON COLUMN uidgen.status.clock_steps IS 'large steps of the clock';
COMMENT ON COLUMN uidgen.status.expires_at IS 'when the time bits of the layout are used up';
COMMENT ON COLUMN uidgen.status.wasted IS 'ids that uid_reserve() passed over at the end of a tick, and ids that uid_next_after() drew and could not use';
COMMENT ON COLUMN uidgen.status.ahead_cause IS 'why ids are ahead of the clock: burst; clock set back; crash (or a restart, or a step of the clock); null: they are not';
COMMENT ON COLUMN uidgen.status.free_worker_ids IS 'worker ids free when the last one was acquired; the log warns when few are left; in a fleet it may be an estimate';
COMMENT ON COLUMN uidgen.status.registry_host IS 'in a fleet: the host of the registry that answered last; for members of pg_monitor';
COMMENT ON COLUMN uidgen.status.clock_offset IS 'in a fleet: the time of the fleet, which ids have, minus this server''s clock. Far from 0, this server''s clock is wrong';
COMMENT ON COLUMN uidgen.status.clock_width IS 'in a fleet: how exactly the registry''s clock is known; the time of its last answer';
COMMENT ON COLUMN uidgen.status.timeline IS 'in a fleet: the timeline of the registry''s server; each failover begins another one';
COMMENT ON COLUMN uidgen.status.quarantine_until IS 'in a fleet: until when the registry is in quarantine; null if it is not';
COMMENT ON COLUMN uidgen.status.horizon_lag IS 'how far uid_horizon() here is behind the clock, or behind the last id if that is ahead; null: not known';
COMMENT ON COLUMN uidgen.status.pending_restart IS 'settings whose value in the configuration files counts from the next start of the server on; null: there are none';
COMMENT ON COLUMN uidgen.status.ids IS 'ids that were drawn since the start of the server, or since uidgen.reset_statistics(); see uidgen.statistics';

CREATE FUNCTION uidgen.diagnose(OUT severity text, OUT message text) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'uidgen_diagnose' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION uidgen.diagnose() IS 'error: why no ids are issued, and what to do; warning: what may stop them later; otherwise a row of ok. Pins no layout';

CREATE FUNCTION uidgen.ask_for_grant() RETURNS text
AS 'MODULE_PATHNAME', 'uidgen_ask_for_grant' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION uidgen.ask_for_grant() IS 'asks the registry for a grant, as a first id would, and with it pins the layout: ok, or why there is none';
