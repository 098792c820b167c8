--
-- Privileges: only those granted above remain.
--

-- ALTER DEFAULT PRIVILEGES of this database may have granted more on objects that superusers create.
DO $$
DECLARE
	object record;
BEGIN
	FOR object IN
		SELECT o.named, string_agg(DISTINCT format('%I', pg_get_userbyid(g.grantee)), ', ') AS others
			FROM pg_depend AS d
				JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND e.extname = 'uidgen_tools'
				JOIN (SELECT 'pg_proc'::regclass AS class, p.oid, format('ROUTINE %s', p.oid::regprocedure) AS named, p.proowner AS owner, p.proacl AS acl FROM pg_proc AS p
					UNION ALL
					SELECT 'pg_class'::regclass, c.oid, format('TABLE %s', c.oid::regclass), c.relowner, c.relacl FROM pg_class AS c
					UNION ALL
					SELECT 'pg_namespace'::regclass, n.oid, format('SCHEMA %I', n.nspname), n.nspowner, n.nspacl FROM pg_namespace AS n) AS o
					ON o.class = d.classid AND o.oid = d.objid
				CROSS JOIN LATERAL aclexplode(o.acl) AS g
			WHERE g.grantee NOT IN (0, o.owner)
			GROUP BY o.named
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', object.named, object.others);
	END LOOP;
END
$$;
