--
-- What monitoring sees of a registry.
--

-- LIMIT tells the planner that there is one layout: it would plan for hundreds.
CREATE VIEW uidgen.registry_status AS
SELECT coalesce(d.datacenter_id, 0) AS datacenter_id,
	coalesce(d.running, 0) AS running,
	l.max_worker + 1::bigint - coalesce(d.taken, 0) AS free_worker_ids,
	CASE WHEN l.quarantine_until >= l.now_tick THEN to_timestamp(((l.quarantine_until::numeric + 1::numeric) * l.unit::numeric + l.epoch::numeric)::double precision / 1000000::double precision) END AS quarantine_until,
	pg_stat_get_dead_tuples('uidgen.worker_node'::regclass::oid) AS dead_rows,
	g.stopped_segments,
	g.gap_lasts
FROM (SELECT r.max_tick, r.max_worker, r.unit, r.epoch, r.quarantine_until,
			b.ended_before, b.changed_before,
			t.now_tick,
			t.now_tick + uidgen.ticks_in(r.max_lead, r.unit) AS reach
		FROM uidgen.registry_layout AS r
			CROSS JOIN uidgen.registry_clock() AS c (clock)
			CROSS JOIN LATERAL uidgen.free_bounds(r, c.clock) AS b
			CROSS JOIN LATERAL uidgen.tick_at(c.clock, r.unit, r.epoch) AS t (now_tick)
		WHERE r.shared
		LIMIT 1) AS l
	LEFT JOIN LATERAL (
		SELECT n.datacenter_id,
			count(*) FILTER (WHERE NOT n.released AND n.granted_until >= l.now_tick AND n.granted_until < l.max_tick) AS running,
			count(*) FILTER (WHERE NOT uidgen.is_free(n, l.ended_before, l.changed_before, l.reach)) AS taken
		FROM uidgen.worker_node AS n GROUP BY n.datacenter_id) AS d ON true
	CROSS JOIN (
		SELECT count(*) FILTER (WHERE s.stopped IS NOT NULL), min(uidgen.gap_lasts(s, uidgen.registry_clock()))
		FROM uidgen.segment AS s WHERE NOT s.dropped) AS g (stopped_segments, gap_lasts);
COMMENT ON VIEW uidgen.registry_status IS 'a shared registry, one row for each datacenter that was granted worker ids, or one of datacenter 0: how many nodes hold a grant, how many worker ids are free, until when it is in quarantine, what VACUUM has to remove from uidgen.worker_node; and of all segments, how many are stopped, and how long the failover_gap of that one lasts where it is shortest';
COMMENT ON COLUMN uidgen.registry_status.datacenter_id IS 'the datacenter field of the ids; 0 if the layout has none';
COMMENT ON COLUMN uidgen.registry_status.running IS 'nodes that hold a grant now';
COMMENT ON COLUMN uidgen.registry_status.free_worker_ids IS 'worker ids that a new node could take now';
COMMENT ON COLUMN uidgen.registry_status.quarantine_until IS 'until when the registry is in quarantine; null if it is not';
COMMENT ON COLUMN uidgen.registry_status.dead_rows IS 'versions of rows that VACUUM has not removed yet';
COMMENT ON COLUMN uidgen.registry_status.stopped_segments IS 'segments that are stopped';
COMMENT ON COLUMN uidgen.registry_status.gap_lasts IS 'for how long failover_gap covers what is given out now, of the segment where that is shortest; null: no segment has a gap, or none is drawn from';
-- [since 0.4.0]
GRANT SELECT ON uidgen.registry_status TO pg_monitor;

-- [since 0.4.0]
REVOKE EXECUTE ON FUNCTION
	uidgen.create_segment(text, bigint, bigint, bigint, text, boolean),
	uidgen.explain_no_segment(text),
	uidgen.lock_segment(text),
	uidgen.drop_segment(text),
	uidgen.raise_segment(text, bigint),
	uidgen.change_segment(text, bigint, bigint, bigint, bigint, bigint, text),
	uidgen.segment_release(bytea, bigint, bigint, bigint)
	FROM PUBLIC;
-- [since 0.4.0]
REVOKE EXECUTE ON FUNCTION
	uidgen.gap_lasts(uidgen.segment, timestamptz),
	uidgen.explain_unconfirmed(pg_lsn),
	uidgen.begin_segment_call(bytea),
	uidgen.creating_hint(),
	uidgen.segments_there(bytea[], bigint),
	uidgen.begin_reign(uidgen.segment, bigint, boolean),
	uidgen.judge_evidence(uidgen.segment, bigint[], bigint, boolean),
	uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint[], bigint, bigint)
	FROM PUBLIC;
-- The view calls it as whoever looks at it.
-- [since 0.4.0]
GRANT EXECUTE ON FUNCTION uidgen.gap_lasts(uidgen.segment, timestamptz) TO pg_monitor;

