--
-- Who may do what with the registry.  Its owner may do all, and else counts what is granted here, and by grant_node().
--

-- What ALTER DEFAULT PRIVILEGES in this database has given goes first: who may write to these tables can let ids come
-- twice.  This runs once, since an administrator may grant more later.  A later version takes from PUBLIC what it adds.
DO $$
DECLARE
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT o.what, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
			FROM (SELECT 'SCHEMA uidgen_registry', n.nspowner, n.nspacl FROM pg_namespace AS n WHERE n.nspname = 'uidgen_registry'
				UNION ALL
				SELECT format('TABLE %s', c.oid::regclass), c.relowner, c.relacl FROM pg_class AS c
					WHERE c.relnamespace = 'uidgen_registry'::regnamespace AND c.relkind IN ('r', 'v')
				UNION ALL
				SELECT format('FUNCTION %s', p.oid::regprocedure), p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) FROM pg_proc AS p
					WHERE p.pronamespace = 'uidgen_registry'::regnamespace) AS o (what, owner, acl)
				CROSS JOIN LATERAL aclexplode(o.acl) AS a
			WHERE a.grantee <> o.owner
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', given.what, given.role);
	END LOOP;
END
$$;

-- Not to PUBLIC: who may name a table can lock it, by PREPARE or CREATE RULE, before PostgreSQL looks whether he may do more.
-- Nodes get it from grant_node().  Host names and ports are for monitoring only.
GRANT USAGE ON SCHEMA uidgen_registry TO pg_monitor;
GRANT SELECT ON uidgen_registry.registry, uidgen_registry.segment, uidgen_registry.fleet, uidgen_registry.status, uidgen_registry.guest_role, uidgen_registry.guests TO pg_monitor;
-- All but the token, by which a node proves that a row is its own.
GRANT SELECT (datacenter_id, worker_id, host_name, port, type, launch_date, created, modified, identity, granted_until, released, launches, guest, called_by)
	ON uidgen_registry.worker_node TO pg_monitor;
-- The views call these as whoever looks at them.
GRANT EXECUTE ON FUNCTION
	uidgen_registry.registry_clock(),
	uidgen_registry.ticks_in(interval, bigint),
	uidgen_registry.tick_at(timestamptz, bigint, bigint),
	uidgen_registry.free_bounds(uidgen_registry.registry, timestamptz),
	uidgen_registry.guest_bounds(uidgen_registry.registry, timestamptz),
	uidgen_registry.is_free(uidgen_registry.worker_node, bigint, timestamptz, bigint),
	uidgen_registry.gap_lasts(uidgen_registry.segment, timestamptz),
	uidgen_registry.is_another_run(uidgen_registry.registry, uidgen_registry.history),
	uidgen_registry.compare_histories(uidgen_registry.history, uidgen_registry.history),
	uidgen_registry.is_made_anew(text, text),
	uidgen_registry.present_history(boolean),
	uidgen_registry.registry_history(),
	uidgen_registry.registry_restored()
	TO pg_monitor;
