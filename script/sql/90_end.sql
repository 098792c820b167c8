--
-- Where ids begin, and who may do what.
--

-- At the clock, and above an id that was named.
CREATE FUNCTION uidgen.begin_after(id bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF id IS NOT NULL THEN
		PERFORM uidgen.id_time(uidgen.own(), id);
		PERFORM setval('uidgen.position', ((id >> uidgen.own_time_shift() & uidgen.lowest_bits((uidgen.own()).time_bits)) + 1 << uidgen.own_sequence_bits()) - 1);
	END IF;
	PERFORM uidgen.next();
END
$$;
SELECT uidgen.begin_after(nullif(:'after', '')::bigint) \gset uidgen_
DROP FUNCTION uidgen.begin_after;

-- What ALTER DEFAULT PRIVILEGES has given goes, but for functions that everybody may call: who may write to a
-- sequence of these can let ids come twice.
DO $$
DECLARE
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT o.what, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
			FROM (SELECT 'SCHEMA uidgen', n.nspowner, n.nspacl FROM pg_namespace AS n WHERE n.nspname = 'uidgen'
				UNION ALL
				SELECT format('%s %s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass), c.relowner, c.relacl
					FROM pg_class AS c WHERE c.relnamespace = 'uidgen'::regnamespace AND c.relkind IN ('r', 'v', 'S')
				UNION ALL
				SELECT format('FUNCTION %s', p.oid::regprocedure), p.proowner, p.proacl FROM pg_proc AS p WHERE p.oid = 'uidgen.next_otherwise(bigint, bigint)'::regprocedure) AS o (what, owner, acl)
				CROSS JOIN LATERAL aclexplode(o.acl) AS a
			WHERE a.grantee <> o.owner
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', given.what, given.role);
	END LOOP;
END
$$;
GRANT USAGE ON SCHEMA uidgen TO PUBLIC;
GRANT SELECT ON uidgen.presets TO PUBLIC;

SELECT set_config('search_path', :'uidgen_path', true), set_config('client_min_messages', :'uidgen_messages', true), set_config('standard_conforming_strings', :'uidgen_strings', true) \gset uidgen_
\if :{?in_transaction} \else
COMMIT;
\endif
