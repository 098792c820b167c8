--
-- What comes last: only what is granted above is granted.
--

-- ALTER DEFAULT PRIVILEGES may have given more, on what superusers create in this database, to roles of its own.
-- [since 0.4.0]
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

-- The owner of the extension can add a function of his own to it, and an update would take that for the extension's: replaced, it stays his.
DO $$
DECLARE
	other record;
BEGIN
	SELECT pg_identify_object(d.classid, d.objid, 0)::text AS object, r.rolname INTO other
		FROM pg_depend AS d
			JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND e.extname = 'uidgen_tools'
			LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
			LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
			JOIN pg_roles AS r ON r.oid IN (p.proowner, c.relowner)
		WHERE NOT r.rolsuper
		LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'an object of extension "uidgen_tools" belongs to role "%"', other.rolname
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('It is %s, and was added to the extension.', other.object),
				HINT = 'Take it out with ALTER EXTENSION uidgen_tools DROP ..., and rename it if the new version has an object of that name.';
	END IF;
END
$$;
