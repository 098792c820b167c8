-- test/upgrade/catalog.sql
--	  All that the catalogs say of the extensions in this database, a line for each
--	  thing, without OIDs: two databases with the same extension give the same lines.
--	  Without the extension: of schema uidgen_registry, the registry by itself.
CREATE FUNCTION pg_temp.acl(acl aclitem[], kind "char", owner oid) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(a::text, ' ' ORDER BY a::text COLLATE "C") FROM unnest(coalesce(acl, acldefault(kind, owner))) AS a
$$;
CREATE TEMP VIEW member AS
	SELECT classid, objid FROM pg_depend
	WHERE (deptype, refclassid, refobjid) IN (SELECT 'e'::"char", 'pg_extension'::regclass, oid FROM pg_extension WHERE extname LIKE 'uidgen%')
		OR NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'uidgen_registry')
			AND (deptype, refclassid, refobjid) = ('n', 'pg_namespace'::regclass, to_regnamespace('uidgen_registry'));
CREATE TEMP VIEW member_table AS
	SELECT c.* FROM member JOIN pg_class AS c ON classid = 'pg_class'::regclass AND c.oid = objid;

SELECT regexp_replace(line, 'pg_toast_\d+', 'pg_toast_N') FROM (
	SELECT concat_ws(' | ', 'extension', extversion, extowner::regrole, extnamespace::regnamespace, extrelocatable,
		extconfig::regclass[], extcondition, obj_description(oid, 'pg_extension'))
	FROM pg_extension WHERE extname LIKE 'uidgen%'
UNION ALL
	SELECT concat_ws(' | ', 'member', i.type, i.identity, 'initially ' || pg_temp.acl(initprivs, k.kind, k.owner))
	FROM member AS m
		CROSS JOIN pg_identify_object(m.classid, m.objid, 0) AS i
		LEFT JOIN (SELECT 'pg_proc'::regclass AS class, oid, 'f'::"char" AS kind, proowner AS owner FROM pg_proc
				UNION ALL SELECT 'pg_class', oid, 'r', relowner FROM pg_class
				UNION ALL SELECT 'pg_namespace', oid, 'n', nspowner FROM pg_namespace) AS k
			ON k.class = m.classid AND k.oid = m.objid
		LEFT JOIN pg_init_privs AS r ON r.classoid = m.classid AND r.objoid = m.objid AND r.objsubid = 0
UNION ALL
	SELECT concat_ws(' | ', 'dependency', pg_describe_object(d.classid, d.objid, d.objsubid), d.deptype,
		pg_describe_object(refclassid, refobjid, refobjsubid))
	FROM pg_depend AS d
	WHERE (d.classid, d.objid) IN (SELECT * FROM member) OR (refclassid, refobjid) IN (SELECT * FROM member)
UNION ALL
	SELECT concat_ws(' | ', 'schema', nspname, nspowner::regrole, pg_temp.acl(nspacl, 'n', nspowner), obj_description(n.oid, 'pg_namespace'))
	FROM member JOIN pg_namespace AS n ON classid = 'pg_namespace'::regclass AND n.oid = objid
UNION ALL
	SELECT concat_ws(' | ', 'function', pg_get_functiondef(p.oid), proowner::regrole, pg_temp.acl(proacl, 'f', proowner),
		obj_description(p.oid, 'pg_proc'))
	FROM member JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND p.oid = objid
UNION ALL
	SELECT concat_ws(' | ', 'relation', oid::regclass, relkind, relpersistence, relowner::regrole, relnatts, relchecks, relhasrules,
		relhastriggers, relrowsecurity, relreplident, reloptions, (SELECT amname FROM pg_am AS a WHERE a.oid = relam),
		pg_temp.acl(relacl, 'r', relowner), obj_description(oid, 'pg_class'), CASE relkind WHEN 'v' THEN pg_get_viewdef(oid) END)
	FROM member_table
UNION ALL
	SELECT concat_ws(' | ', 'column', attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef,
		atthasmissing, attisdropped, attstorage, attcompression, attidentity, attgenerated, attislocal, attacl,
		'initially ' || (SELECT initprivs::text FROM pg_init_privs AS r WHERE r.classoid = 'pg_class'::regclass AND r.objoid = attrelid AND r.objsubid = attnum),
		(SELECT string_agg(o, ' ') FROM unnest(attoptions) AS o WHERE o LIKE 'n\_distinct%'),
		attcollation::regcollation, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
	FROM member_table AS c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0
		LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
UNION ALL
	SELECT concat_ws(' | ', 'constraint', conrelid::regclass, conname, convalidated, pg_get_constraintdef(o.oid), obj_description(o.oid, 'pg_constraint'))
	FROM member_table AS c JOIN pg_constraint AS o ON conrelid = c.oid
UNION ALL
	SELECT concat_ws(' | ', 'index', pg_get_indexdef(indexrelid), indisvalid, obj_description(indexrelid, 'pg_class'))
	FROM member_table AS c JOIN pg_index ON indrelid = c.oid
UNION ALL
	-- After pg_upgrade, PostgreSQL shows fewer parentheses in the same condition.
	SELECT concat_ws(' | ', 'trigger', translate(pg_get_triggerdef(t.oid), '()', ''), tgenabled, obj_description(t.oid, 'pg_trigger'))
	FROM member_table AS c JOIN pg_trigger AS t ON tgrelid = c.oid
UNION ALL
	SELECT concat_ws(' | ', 'rule', pg_get_ruledef(r.oid), ev_enabled, obj_description(r.oid, 'pg_rewrite'))
	FROM member_table AS c JOIN pg_rewrite AS r ON ev_class = c.oid
) AS t (line)
ORDER BY line COLLATE "C";
