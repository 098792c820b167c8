--
-- Who may do what.  A superuser owns all of this, also where the owner of the database has made the extension.
--

-- What ALTER DEFAULT PRIVILEGES in this database has given goes first, but for functions that everybody may call: who may
-- create in schema uidgen, or write to its tables, can let ids come twice.  This runs once, since an administrator may grant more
-- later.
DO $$
DECLARE
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT o.what, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
			FROM (SELECT 'SCHEMA uidgen', n.nspowner, n.nspacl FROM pg_namespace AS n WHERE n.nspname = 'uidgen'
				UNION ALL
				SELECT format('TABLE %s', c.oid::regclass), c.relowner, c.relacl FROM pg_class AS c
					WHERE c.relnamespace = 'uidgen'::regnamespace AND c.relkind IN ('r', 'v')
				UNION ALL
				SELECT format('FUNCTION %s', p.oid::regprocedure), p.proowner, p.proacl FROM pg_proc AS p
					WHERE p.oid IN (SELECT d.objid FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
						WHERE d.refclassid = 'pg_extension'::regclass AND e.extname = 'uidgen' AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')) AS o (what, owner, acl)
				CROSS JOIN LATERAL aclexplode(o.acl) AS a
			WHERE a.grantee <> o.owner AND (a.grantee <> 0 OR o.what NOT LIKE 'FUNCTION %')
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', given.what, given.role);
	END LOOP;
END
$$;

GRANT USAGE ON SCHEMA uidgen TO PUBLIC;
GRANT SELECT ON uidgen.status, uidgen.statistics, uidgen.presets, uidgen.layout_used TO PUBLIC;
-- Names of segments, sessions of others, and worker ids are for monitoring.
GRANT SELECT ON uidgen.segment_status, uidgen.horizon_holders, uidgen.backfill TO pg_monitor;
-- Who may restore a database may say what is in it.
GRANT INSERT, UPDATE ON uidgen.layout_used TO pg_database_owner;
GRANT SELECT, INSERT ON uidgen.backfill TO pg_database_owner;

-- Who asks uid_backfill() for a late time ends the earlier ones for all others.  What is granted to nobody below is for superusers.
REVOKE EXECUTE ON FUNCTION
	@extschema@.uid_backfill(timestamptz, integer),
	uidgen.accept_backfill(text),
	uidgen.accept_step(bigint),
	uidgen.backfill_home(),
	uidgen.guard_table(),
	uidgen.list_horizon_holders(),
	uidgen.list_segments(),
	uidgen.reset_statistics(),
	uidgen.use_layout()
	FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
	@extschema@.uid_backfill(timestamptz, integer),
	uidgen.accept_backfill(text),
	uidgen.backfill_home(),
	uidgen.use_layout()
	TO pg_database_owner;
-- The views call these as whoever looks at them.
GRANT EXECUTE ON FUNCTION uidgen.list_horizon_holders(), uidgen.list_segments() TO pg_monitor;
