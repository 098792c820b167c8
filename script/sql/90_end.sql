--
-- Privileges, and the move of users' functions to their schema.
--

-- Rights by ALTER DEFAULT PRIVILEGES are revoked, except on functions that everybody may call.  A role that may write to a sequence of
-- the edition could make ids come twice.  A role that may create in a schema of the edition could put functions in the way of calls.
CREATE FUNCTION uidgen.take_back_grants(home regnamespace) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT o.what, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
			FROM (SELECT format('SCHEMA %s', home), n.nspowner, n.nspacl FROM pg_namespace AS n WHERE n.oid = home
				UNION ALL
				SELECT format('%s %s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass), c.relowner, c.relacl
					FROM pg_class AS c WHERE c.relnamespace = home AND c.relkind IN ('r', 'v', 'S')
				UNION ALL
				SELECT format('FUNCTION %s', p.oid::regprocedure), p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) FROM pg_proc AS p
					WHERE p.pronamespace = home AND p.proname IN ('next_otherwise', 'write_constants', 'change', 'set_up', 'take_out')) AS o (what, owner, acl)
				CROSS JOIN LATERAL aclexplode(o.acl) AS a
			WHERE a.grantee <> o.owner
	LOOP
		EXECUTE format('REVOKE ALL ON %s FROM %s', given.what, given.role);
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen.take_back_grants(regnamespace) IS 'takes back what others may do in a schema of the edition, before a script says anew what they may';

PERFORM uidgen.take_back_grants('uidgen'), uidgen.take_back_grants('uidgen_history');
GRANT USAGE ON SCHEMA uidgen_history TO PUBLIC;
GRANT SELECT ON uidgen_history.layout_used TO PUBLIC;
GRANT USAGE ON SCHEMA uidgen TO PUBLIC;
GRANT SELECT ON uidgen.presets, uidgen.horizon_holders TO PUBLIC;

PERFORM uidgen.hand_out_functions('uidgen');
ALTER DEFAULT PRIVILEGES IN SCHEMA uidgen REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
-- A later version may have new constants that follow from the kept ones.
IF uidgen.is_set_up() THEN
	PERFORM uidgen.set_up();
END IF;

PERFORM set_config('client_min_messages', caller_messages, true), set_config('standard_conforming_strings', caller_strings, true), set_config('quote_all_identifiers', caller_quotes, true), set_config('plpgsql.extra_errors', caller_extras, true), set_config('search_path', caller_path, true);
END
$uidgen$;
