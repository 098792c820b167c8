--
-- What monitoring sees of a registry.
--

-- LIMIT tells the planner that there is one layout: it would plan for hundreds.
CREATE VIEW uidgen_registry.status AS
SELECT coalesce(d.datacenter_id, 0) AS datacenter_id,
	coalesce(d.running, 0) AS running,
	coalesce(l.first_guest, l.max_worker + 1::bigint) - coalesce(d.taken, 0) AS free_worker_ids,
	CASE WHEN l.quarantine_until >= l.now_tick THEN to_timestamp(((l.quarantine_until::numeric + 1::numeric) * l.unit::numeric + l.epoch::numeric)::double precision / 1000000::double precision)
		WHEN l.begins THEN uidgen_registry.registry_clock() + l.longest END AS quarantine_until,
	pg_stat_get_dead_tuples('uidgen_registry.worker_node'::regclass::oid) AS dead_rows,
	g.stopped_segments,
	g.gap_lasts,
	w.roles_without_grant
FROM (SELECT r.max_tick, r.max_worker, r.first_guest, r.unit, r.epoch, r.quarantine_until,
			b.ended_before, b.changed_before,
			t.now_tick,
			t.now_tick + uidgen_registry.ticks_in(r.max_lead, r.unit) AS reach,
			greatest(r.max_lead, r.former_max_lead) + r.clock_slack AS longest,
			-- one that no call has begun so far
			NOT pg_is_in_recovery() AND uidgen_registry.is_another_run(r) AS begins
		FROM uidgen_registry.registry AS r
			CROSS JOIN uidgen_registry.registry_clock() AS c (clock)
			CROSS JOIN LATERAL uidgen_registry.free_bounds(r, c.clock) AS b
			CROSS JOIN LATERAL uidgen_registry.tick_at(c.clock, r.unit, r.epoch) AS t (now_tick)
		WHERE r.shared
		LIMIT 1) AS l
	LEFT JOIN LATERAL (
		SELECT n.datacenter_id,
			count(*) FILTER (WHERE NOT n.released AND n.granted_until >= l.now_tick AND n.granted_until < l.max_tick) AS running,
			count(*) FILTER (WHERE NOT uidgen_registry.is_free(n, l.ended_before, l.changed_before, l.reach)) AS taken
		FROM uidgen_registry.worker_node AS n WHERE n.guest IS NULL AND n.worker_id < coalesce(l.first_guest, l.max_worker + 1::bigint) GROUP BY n.datacenter_id) AS d ON true
	CROSS JOIN (
		SELECT count(*) FILTER (WHERE s.stopped IS NOT NULL), min(uidgen_registry.gap_lasts(s, uidgen_registry.registry_clock()))
		FROM uidgen_registry.segment AS s WHERE NOT s.dropped) AS g (stopped_segments, gap_lasts)
	CROSS JOIN LATERAL (
		SELECT CASE WHEN l.begins OR l.quarantine_until >= l.now_tick THEN ARRAY(
			SELECT DISTINCT a.grantee::regrole::text
				FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS a JOIN pg_roles AS k ON k.oid = a.grantee
				WHERE p.pronamespace = 'uidgen_registry'::regnamespace AND p.proname IN ('lease', 'guest_acquire') AND a.grantee <> p.proowner
					AND (l.begins OR NOT EXISTS (SELECT FROM uidgen_registry.worker_node AS n
						WHERE n.called_by = k.rolname AND n.token IS NOT NULL AND uidgen_registry.tick_at(n.modified, l.unit, l.epoch) > l.quarantine_until - uidgen_registry.ticks_in(l.longest, l.unit)))
				ORDER BY 1) END) AS w (roles_without_grant);
COMMENT ON VIEW uidgen_registry.status IS 'for monitoring: a row for each datacenter of a fleet''s registry, or for datacenter 0 if nothing was granted';
COMMENT ON COLUMN uidgen_registry.status.datacenter_id IS 'the datacenter field of the ids; 0 if the layout has none';
COMMENT ON COLUMN uidgen_registry.status.running IS 'nodes that hold a grant now';
COMMENT ON COLUMN uidgen_registry.status.free_worker_ids IS 'worker ids that a new node could take now';
COMMENT ON COLUMN uidgen_registry.status.quarantine_until IS 'until when the registry is in quarantine; null if it is not';
COMMENT ON COLUMN uidgen_registry.status.dead_rows IS 'versions of rows that VACUUM has not removed yet';
COMMENT ON COLUMN uidgen_registry.status.stopped_segments IS 'segments that are stopped';
COMMENT ON COLUMN uidgen_registry.status.gap_lasts IS 'how long failover_gap covers the present demand, for the segment where that is shortest; null: no gap, or no demand';
COMMENT ON COLUMN uidgen_registry.status.roles_without_grant IS 'in a quarantine: roles of nodes and guests without a grant since it began; they have not called, or wait; else null';
