--
-- What comes last: privileges of what is new, and what the user is told.
--

-- An administrator may have taken the right to call a function away.  What is new and does
-- the same must not give it back, neither here nor in a dump: so the privileges do not count
-- as those that the extension was created with.
CREATE FUNCTION uidgen.take_over_privileges(old regprocedure, new regprocedure) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	f record;
	g record;
BEGIN
	SELECT p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl INTO f
		FROM pg_proc AS p WHERE p.oid = old AND p.proacl <> acldefault('f', p.proowner);
	IF NOT FOUND THEN
		RETURN;
	END IF;
	EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', new);
	FOR g IN SELECT a.grantee, a.is_grantable FROM aclexplode(f.acl) AS a WHERE a.grantee <> f.proowner LOOP
		EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s%s', new,
			CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' END);
	END LOOP;
	DELETE FROM pg_init_privs AS i WHERE i.classoid = 'pg_proc'::regclass AND i.objoid = new;
END
$$;
-- [since 0.2.1]
DO $$
BEGIN
	PERFORM uidgen.take_over_privileges('@extschema@.uid_next_block(integer, integer)', '@extschema@.uid_reserve(integer, integer)');
	PERFORM uidgen.take_over_privileges('@extschema@.uid_segment_block(text, integer)', '@extschema@.uid_segment_reserve(text, integer)');
END
$$;
-- [since 0.3.0]
DO $$
BEGIN
	PERFORM uidgen.take_over_privileges('@extschema@.uid_next()', '@extschema@.uid_next_after(bigint)');
	PERFORM uidgen.take_over_privileges('@extschema@.uid_next(integer)', '@extschema@.uid_next_after(bigint, integer)');
END
$$;
DROP FUNCTION uidgen.take_over_privileges(regprocedure, regprocedure);

-- PostgreSQL takes all privileges of an object that a script grants on, or revokes from, as those
-- that the extension was created with; in an update also what an administrator has granted.
-- A dump would leave that out.  The extension itself grants to these only.  Where nothing is left,
-- as of a column, there must be no row: an array without elements has no dimension, and the server
-- takes it for no list of privileges.
DELETE FROM pg_init_privs AS i
	USING pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
	WHERE e.extname = 'uidgen' AND d.deptype = 'e' AND d.classid = i.classoid AND d.objid = i.objoid
		AND EXISTS (SELECT FROM aclexplode(i.initprivs))
		AND NOT EXISTS (SELECT FROM aclexplode(i.initprivs) AS x
			WHERE x.grantee IN (x.grantor, 0::oid, 'pg_monitor'::regrole::oid, 'pg_database_owner'::regrole::oid));
UPDATE pg_init_privs AS i
	SET initprivs = ARRAY(
		SELECT u.a FROM unnest(i.initprivs) WITH ORDINALITY AS u (a, n)
			WHERE EXISTS (SELECT FROM aclexplode(ARRAY[u.a]) AS x
				WHERE x.grantee IN (x.grantor, 0::oid, 'pg_monitor'::regrole::oid, 'pg_database_owner'::regrole::oid))
			ORDER BY u.n)
	FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
	WHERE e.extname = 'uidgen' AND d.deptype = 'e' AND d.classid = i.classoid AND d.objid = i.objoid
		AND EXISTS (SELECT FROM aclexplode(i.initprivs) AS x
			WHERE x.grantee NOT IN (x.grantor, 0::oid, 'pg_monitor'::regrole::oid, 'pg_database_owner'::regrole::oid));
-- PostgreSQL 17 and later have written down that these roles cannot be dropped.
DELETE FROM pg_shdepend AS s
	USING pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
	WHERE e.extname = 'uidgen' AND d.deptype = 'e' AND d.classid = s.classid AND d.objid = s.objid
		AND s.deptype = 'i' AND s.dbid = (SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
		AND NOT EXISTS (SELECT FROM pg_init_privs AS i, aclexplode(i.initprivs) AS x
			WHERE i.classoid = s.classid AND i.objoid = s.objid AND i.objsubid = s.objsubid AND s.refobjid IN (x.grantee, x.grantor));

-- A function that says to be safe in parallel workers takes two calls in one row for one, also
-- if what it calls is restricted.  By INFO, because CREATE EXTENSION hides NOTICE.
DO $$
DECLARE
	wrapper regprocedure;
BEGIN
	FOR wrapper IN
		WITH RECURSIVE drawing (oid, name) AS (
			SELECT p.oid, p.proname FROM pg_proc AS p
				JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass::oid AND d.objid = p.oid AND d.deptype = 'e'
				JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass::oid AND d.refobjid = e.oid
				WHERE e.extname = 'uidgen' AND p.proname::text ~ '^uid_(segment_)?(next|batch|block|reserve|backfill)'
			UNION
			SELECT p.oid, p.proname FROM drawing AS w, pg_proc AS p
				WHERE p.oid <> w.oid AND p.pronamespace <> 'pg_catalog'::regnamespace::oid
					AND (p.prosrc ~* ('(^|\W)' || regexp_replace(replace(w.name::text, '"', '""'), '(\W)', '\\\1', 'g') || '"?\s*\(')
						OR EXISTS (SELECT FROM pg_depend AS d
							WHERE d.classid = 'pg_proc'::regclass::oid AND d.objid = p.oid AND d.refclassid = 'pg_proc'::regclass::oid AND d.refobjid = w.oid)))
		SELECT w.oid FROM drawing AS w JOIN pg_proc AS p ON p.oid = w.oid WHERE p.proparallel = 's' ORDER BY w.oid
	LOOP
		RAISE INFO 'function % draws ids or numbers, and is labelled as safe in parallel workers', wrapper
			USING DETAIL = 'Two calls of it in one row of a parallel plan can return the same id.',
				HINT = format('Run ALTER FUNCTION %s PARALLEL RESTRICTED.', wrapper);
	END LOOP;
END
$$;

-- Tell the user what else is needed; by INFO, because CREATE EXTENSION hides NOTICE.
-- [since 0.1.0]
DO $$
DECLARE
	registry text := pg_catalog.current_setting('uidgen.database', true);
	missing text := uidgen.diagnose();
BEGIN
	IF registry OPERATOR(pg_catalog.<>) pg_catalog.current_database()::text THEN
		RAISE INFO 'worker ids come from the registry in another database'
			USING DETAIL = pg_catalog.format('The setting "uidgen.database" is "%s".', registry);
	END IF;
	IF registry IS NULL THEN	-- without preload the setting is not defined
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing,
				HINT = 'If this server only has the registry of a fleet, nothing is missing: go on with SELECT uidgen.share_registry().';
	ELSIF missing OPERATOR(pg_catalog.<>) 'ok' THEN
		RAISE INFO 'uid_next() does not work yet'
			USING DETAIL = missing;
	END IF;
END
$$;

