--
-- What the role of a node may do: the calls of a node, and as little else as PostgreSQL lets one take away.
--
-- PUBLIC has rights in each database with which any role can fill its disk.  Where that is the disk of pg_wal as
-- well, the server goes down and stays down, and all nodes with it.  So share_registry() and grant_node() take these from PUBLIC, in the registry's
-- database, and say so; grant_node() bounds what the role needs, and refuses a role that has more by itself.  What their caller
-- cannot take away they warn of.  What no right decides is in docs/node-roles.md.
--

CREATE FUNCTION uidgen_registry.node_functions() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT string_agg(p.oid::regprocedure::text, ', ')
	FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE n.nspname = 'uidgen_registry'
		AND p.proname IN ('lease', 'lease_renew', 'lease_release', 'node_import', 'segment_fetch', 'segments_there', 'segment_release', 'registry_identity')
$$;
COMMENT ON FUNCTION uidgen_registry.node_functions() IS 'the functions that a node calls, as GRANT names them';

-- Each with whoever has it, as in an ACL: 0 is PUBLIC.  Functions that write to a large object count as well, since a
-- role may have one from before.  pg_logical_emit_message() writes WAL, and pg_export_snapshot() files.
CREATE FUNCTION uidgen_registry.spare_rights(
	OUT grantee oid, OUT what text,					-- as GRANT names it
	OUT statement text,				-- that takes it away
	OUT owner oid)					-- who may do that
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.grantee, r.what, format('REVOKE %s FROM %s', r.what, CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE r.grantee::regrole::text END), r.owner
	FROM (
		SELECT a.grantee, format('%s ON DATABASE %I', string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type), d.datname), d.datdba
			FROM pg_database AS d CROSS JOIN LATERAL aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) AS a
			WHERE d.datname = current_database() AND a.privilege_type IN ('CREATE', 'TEMPORARY')
			GROUP BY a.grantee, d.datname, d.datdba
		UNION ALL
		SELECT a.grantee, format('CREATE ON SCHEMA %I', n.nspname), n.nspowner
			FROM pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
			WHERE a.privilege_type = 'CREATE'
		UNION ALL
		SELECT a.grantee, 'EXECUTE ON FUNCTION ' || string_agg(p.oid::regprocedure::text, ', ' ORDER BY p.oid::regprocedure::text COLLATE "C"), p.proowner
			FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
			WHERE p.pronamespace = 'pg_catalog'::regnamespace
				AND p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_import', 'lo_put', 'lowrite', 'pg_logical_emit_message', 'pg_export_snapshot')
			GROUP BY a.grantee, p.proowner) AS r (grantee, what, owner)
	WHERE r.grantee <> r.owner
	ORDER BY r.what COLLATE "C"
$$;
COMMENT ON FUNCTION uidgen_registry.spare_rights() IS 'who has rights in this database that no node needs, and with which a role can fill the disk of the registry';

CREATE FUNCTION uidgen_registry.revoke_public() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	spare record;
BEGIN
	FOR spare IN SELECT s.* FROM uidgen_registry.spare_rights() AS s WHERE s.grantee = 0 LOOP
		IF pg_has_role(spare.owner, 'USAGE') THEN
			EXECUTE spare.statement;
			RAISE NOTICE 'revoked from PUBLIC: %', spare.what;
		ELSE
			RAISE WARNING 'PUBLIC keeps rights with which a role can fill the disk of the registry'
				USING DETAIL = format('Only role %s can take them away.', spare.owner::regrole),
					HINT = format('If you can have that role do so: %s;', spare.statement);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_registry.revoke_public()
	IS 'takes from PUBLIC what can fill the registry''s disk and what no node needs; warns of what the caller cannot take away';

-- Refuse a role that is no node, or that may do more here than a node needs, if the caller can take that away.
CREATE FUNCTION uidgen_registry.check_node_role(node regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	spare record;
BEGIN
	IF (SELECT r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication
				OR pg_has_role(r.oid, p.proowner, 'MEMBER') OR pg_has_role(r.oid, d.datdba, 'MEMBER')
				OR EXISTS (SELECT FROM pg_namespace AS n WHERE pg_has_role(r.oid, n.nspowner, 'MEMBER'))
			FROM pg_roles AS r, pg_proc AS p, pg_database AS d
			WHERE r.oid = node AND p.oid = 'uidgen_registry.node_functions()'::regprocedure AND d.datname = current_database()) THEN
		RAISE EXCEPTION 'role % may do more than a node', node USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It has SUPERUSER, CREATEROLE, CREATEDB or REPLICATION, or the rights of the owner of the registry, of its database, or of a schema in it.',
				HINT = 'Make a role for each node with CREATE ROLE, without any of these.';
	END IF;
	FOR spare IN
		SELECT pg_has_role(s.owner, 'USAGE') AS revocable, string_agg(s.what, ' and ') AS what, string_agg(s.statement, '; ') AS statements
			FROM uidgen_registry.spare_rights() AS s WHERE s.grantee <> 0 AND pg_has_role(node, s.grantee, 'MEMBER')
			GROUP BY 1 ORDER BY 1 DESC
	LOOP
		IF spare.revocable THEN
			RAISE EXCEPTION 'role % can fill the disk of the registry', node
				USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('It has %s.', spare.what),
					HINT = format('Run %s;', spare.statements);
		ELSE
			RAISE WARNING 'role % can fill the disk of the registry', node
				USING DETAIL = format('It has %s.', spare.what),
					HINT = format('If you can have the owner do so: %s;', spare.statements);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION uidgen_registry.check_node_role(regrole) IS 'refuses a role that may do more in this database than a node, or warns where its caller cannot take that away';

-- Sorts and cursors need no right to write temporary files.  Of the calls of nodes, those that look at all worker ids
-- do, by some 15 bytes for each of them.  What somebody has set for the role stays.
CREATE FUNCTION uidgen_registry.limit_temporary_files(node regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	enough CONSTANT bigint := 16384 + coalesce((SELECT (r.max_worker + 1::bigint) * 100 / 1024 FROM uidgen_registry.registry AS r), 0);
	statement CONSTANT text := format('ALTER ROLE %s IN DATABASE %I SET temp_file_limit = %L', node, current_database(), enough || 'kB');
BEGIN
	IF EXISTS (SELECT FROM pg_db_role_setting AS r CROSS JOIN unnest(r.setconfig) AS u (entry)
			WHERE r.setrole = node AND split_part(u.entry, '=', 1) = 'temp_file_limit' AND u.entry <> 'temp_file_limit=-1')
		OR (SELECT g.setting::bigint BETWEEN 0 AND enough AND g.source IN ('configuration file', 'command line')
			FROM pg_settings AS g WHERE g.name = 'temp_file_limit')
	THEN
		RETURN;
	END IF;
	BEGIN
		EXECUTE statement;
	EXCEPTION
		WHEN insufficient_privilege THEN
			RAISE WARNING 'role % can fill the disk of the registry with temporary files', node
				USING HINT = format('If you can have a superuser do so: %s;', statement);
	END;
END
$$;
COMMENT ON FUNCTION uidgen_registry.limit_temporary_files(regrole) IS 'sets temp_file_limit for a node''s role, unless that has one, or warns where its caller may not';

-- In other databases somebody may need PUBLIC's rights.  pg_hba.conf may keep nodes out of these databases, but not
-- everybody may read it.  So the owner is told once.
CREATE FUNCTION uidgen_registry.notice_databases() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
DECLARE
	others CONSTANT text := (SELECT string_agg(quote_ident(d.datname), ', ' ORDER BY d.datname)
		FROM pg_database AS d CROSS JOIN LATERAL aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) AS a
		WHERE d.datallowconn AND d.datname <> current_database() AND a.grantee = 0 AND a.privilege_type = 'CONNECT');
BEGIN
	IF others IS NOT NULL THEN
		RAISE NOTICE 'roles of nodes and guests have the right to connect to other databases of this server'
			USING DETAIL = format('They are: %s. There they may do what PUBLIC may, such as to fill the same disk.', others),
				HINT = format('Have pg_hba.conf let them into database %I alone. Or grant CONNECT to the roles that use the others, and then run: REVOKE CONNECT ON DATABASE %s FROM PUBLIC;', current_database(), others);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.notice_databases() IS 'tells of other databases of the server that everybody has the right to connect to';

-- A role may be a node and a guest: either may be taken back without the other.
CREATE FUNCTION uidgen_registry.grant_calls(role regrole, functions text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen_registry.check_node_role(role), uidgen_registry.revoke_public();
	EXECUTE format('GRANT USAGE ON SCHEMA uidgen_registry TO %s', role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', functions, role);
	IF NOT has_database_privilege(role, current_database(), 'CONNECT') THEN
		EXECUTE format('GRANT CONNECT ON DATABASE %I TO %s', current_database(), role);
	END IF;
	PERFORM uidgen_registry.limit_temporary_files(role), uidgen_registry.warn_of_settings(role);
END
$$;
COMMENT ON FUNCTION uidgen_registry.grant_calls(regrole, text)
	IS 'grants a role these calls and what they need; takes from PUBLIC what can fill the disk; refuses a role that can';

CREATE FUNCTION uidgen_registry.revoke_calls(role regrole, functions text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict error
BEGIN
	EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM %s', functions, role);
	IF EXISTS (SELECT FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS a
			WHERE p.pronamespace = 'uidgen_registry'::regnamespace AND a.grantee = role) THEN
		RETURN;
	END IF;
	EXECUTE format('REVOKE USAGE ON SCHEMA uidgen_registry FROM %s', role);
	-- Otherwise the role could not be dropped.
	IF EXISTS (SELECT FROM pg_database AS d CROSS JOIN LATERAL aclexplode(d.datacl) AS a
			WHERE d.datname = current_database() AND a.grantee = role AND a.privilege_type = 'CONNECT') THEN
		EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM %s', current_database(), role);
	END IF;
END
$$;
COMMENT ON FUNCTION uidgen_registry.revoke_calls(regrole, text) IS 'takes back what grant_calls() gave; what other calls of the registry need, it leaves to a role that has them';

CREATE FUNCTION uidgen_registry.grant_node(node regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen_registry.grant_calls(node, uidgen_registry.node_functions());
END
$$;
COMMENT ON FUNCTION uidgen_registry.grant_node(regrole)
	IS 'lets a role be a node; takes from PUBLIC what can fill the registry''s disk; refuses a role that has such rights';

CREATE FUNCTION uidgen_registry.revoke_node(node regrole) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM uidgen_registry.revoke_calls(node, uidgen_registry.node_functions());
END
$$;
COMMENT ON FUNCTION uidgen_registry.revoke_node(regrole) IS 'takes back what grant_node() gave; what the node holds it keeps until it ends';
