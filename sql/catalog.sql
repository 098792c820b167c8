-- What the extensions consist of: comments, labels, privileges, triggers; first uidgen and uidgen_registry.
CREATE TEMP TABLE looked_at AS SELECT unnest(ARRAY['uidgen', 'uidgen_registry']) AS extension;

-- Some versions count the row types of tables, too.
CREATE TEMP VIEW member AS
SELECT classid, objid
FROM pg_depend LEFT JOIN pg_type AS t ON classid = 'pg_type'::regclass AND t.oid = objid
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid IN (SELECT e.oid FROM pg_extension AS e JOIN looked_at ON extname = extension)
	AND (t.oid IS NULL OR typrelid = 0 AND typelem = 0);

SELECT d.type, d.identity
FROM member, pg_identify_object(classid, objid, 0) AS d
WHERE d.type <> 'function'
ORDER BY d.type COLLATE "C", d.identity COLLATE "C";

-- Everything has a comment: the members, the columns of tables and views, and triggers.
WITH described AS (
	SELECT classid, objid, 0 AS objsubid FROM member
	UNION ALL
	SELECT 'pg_class'::regclass, attrelid, attnum
	FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
	WHERE (('pg_class'::regclass)::oid, attrelid) IN (SELECT classid, objid FROM member)
		AND c.relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
	UNION ALL
	SELECT 'pg_trigger'::regclass, oid, 0
	FROM pg_trigger
	WHERE (('pg_class'::regclass)::oid, tgrelid) IN (SELECT classid, objid FROM member)
		AND NOT tgisinternal
), commented AS (
	SELECT d.*, description
	FROM described AS d LEFT JOIN pg_description AS t
		ON t.classoid = d.classid AND t.objoid = d.objid AND t.objsubid = d.objsubid
)
SELECT pg_describe_object(classid, objid, objsubid) AS uncommented
FROM commented WHERE description IS NULL OR description ~ '^\s*$'
UNION ALL
SELECT 'only ' || count(*) || ' objects seen' FROM commented HAVING count(*) < 50;

-- The labels of the functions, and what they return.
CREATE TEMP VIEW func AS
SELECT p.*, l.lanname,
	CASE WHEN n.nspname IN ('uidgen', 'uidgen_registry', 'uidgen_tools') THEN n.nspname || '.' ELSE '' END || proname AS name,
	regexp_replace(pg_get_function_arguments(p.oid), '(^|, )OUT .*', '') AS arguments,
	pg_get_function_result(p.oid) ||
	coalesce(': ' || substring(pg_get_function_arguments(p.oid), 'OUT .*'), '') AS result
FROM pg_proc AS p
	JOIN pg_namespace AS n ON n.oid = pronamespace
	JOIN pg_language AS l ON l.oid = prolang
WHERE ('pg_proc'::regclass, p.oid) IN (SELECT classid, objid FROM member);
\pset format unaligned
SELECT name || '(' || arguments || ')' AS function, lanname AS language,
	CASE provolatile WHEN 'v' THEN 'volatile' WHEN 's' THEN 'stable' ELSE 'immutable' END AS volatility,
	CASE WHEN proisstrict THEN 'strict' ELSE '-' END AS strict,
	'parallel ' || CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel,
	CASE WHEN proretset THEN prorows::text ELSE '-' END AS rows
FROM func
ORDER BY name COLLATE "C", pronargs, arguments COLLATE "C";
SELECT name, pronargs, result FROM func ORDER BY name COLLATE "C", pronargs;
\pset format aligned

-- With a layout as argument a result depends on the arguments alone, but for what makes tables, and what says how long ago an id was made.
SELECT name, arguments, provolatile FROM func
WHERE 'layout' = ANY (proargnames[:pronargs]) AND provolatile <> 'i' AND NOT name ~ '(partitions|explain)$';

-- None runs with its owner's rights but those that a node calls, and no body is read
-- by the caller's search_path, but the guard's.  Those that write have the one that lets them.
SELECT name, prosecdef, proconfig FROM func
WHERE prosecdef OR (lanname <> 'c' AND prosqlbody IS NULL
		AND proconfig IS DISTINCT FROM CASE WHEN prosrc ~ '(INSERT INTO|UPDATE|DELETE FROM) uidgen_registry\.(worker_node|registry|segment)\M'
			THEN '{"search_path=pg_catalog, uidgen_registry, pg_temp"}' ELSE '{"search_path=pg_catalog, pg_temp"}' END::text[])
ORDER BY name COLLATE "C";
-- The registry's functions learn the time, and what tells one run of the database from
-- another, from two of them.
SELECT name, found[1] FROM func,
	regexp_matches(regexp_replace(prosrc, '--[^\n]*', '', 'g'),
		'\m(\w*_timestamp|timeofday|now\s*\(|current_(?:date|time|database)|localtime\w*|pg_database|pg_control_\w+|pg_\w*start_time|pg_\w*(?:wal|lsn)\w*)', 'gi') AS found
WHERE lanname <> 'c'
ORDER BY name COLLATE "C", found[1] COLLATE "C";
-- All belong to one role.
SELECT count(DISTINCT proowner) FROM func;

-- What PUBLIC may do, and pg_monitor.
WITH acl AS (
	SELECT classid, objid, coalesce(proacl, acldefault('f', proowner)) AS acl
	FROM member JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
	UNION ALL
	SELECT classid, objid, coalesce(relacl, acldefault('r', relowner))
	FROM member JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
	UNION ALL
	SELECT classid, objid, coalesce(nspacl, acldefault('n', nspowner))
	FROM member JOIN pg_namespace n ON classid = 'pg_namespace'::regclass AND n.oid = objid
), granted AS (
	SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS grantee,
	privilege_type AS privilege, is_grantable,
	coalesce((SELECT name
		FROM func AS f WHERE classid = 'pg_proc'::regclass AND f.oid = objid),
		pg_describe_object(classid, objid, 0)) AS object
	FROM acl, aclexplode(acl) WHERE grantee <> grantor
)
SELECT grantee, privilege, object, count(*) AS objects, bool_or(is_grantable) AS grantable
FROM granted GROUP BY 1, 2, 3
ORDER BY grantee COLLATE "C", privilege COLLATE "C", object COLLATE "C";

-- Nothing is dumped but CREATE EXTENSION, and of which layouts the ids are: a copy must not get our grants.
SELECT extname, extconfig::regclass[], extcondition FROM pg_extension WHERE extname LIKE 'uidgen%' ORDER BY 1;

-- What arrives by replication is dropped (R: replica mode only), TRUNCATE is
-- refused where it begins (O: not in replica mode).
SELECT tgrelid::regclass, tgname, tgenabled, tgtype & 2 <> 0 AS before,
	tgtype & 1 <> 0 AS each_row,
	concat_ws(' ', CASE WHEN tgtype & 4 <> 0 THEN 'insert' END,
		CASE WHEN tgtype & 8 <> 0 THEN 'delete' END,
		CASE WHEN tgtype & 16 <> 0 THEN 'update' END,
		CASE WHEN tgtype & 32 <> 0 THEN 'truncate' END) AS events,
	tgfoid::regproc AS calls
FROM pg_trigger
WHERE (('pg_class'::regclass)::oid, tgrelid) IN (SELECT classid, objid FROM member)
	AND NOT tgisinternal
ORDER BY tgrelid::regclass::text COLLATE "C", tgname COLLATE "C";

-- The keys.
SELECT conrelid::regclass, contype, pg_get_constraintdef(oid)
FROM pg_constraint
WHERE (('pg_class'::regclass)::oid, conrelid) IN (SELECT classid, objid FROM member)
	AND contype IN ('p', 'u', 'c', 'f')
ORDER BY 1, 2, pg_get_constraintdef(oid) COLLATE "C";
-- Permanent tables, without row-level security.
SELECT relname, relpersistence, relrowsecurity
FROM pg_class
WHERE (('pg_class'::regclass)::oid, oid) IN (SELECT classid, objid FROM member) AND relkind = 'r'
ORDER BY relname;

-- uidgen_tools: no table, nothing in C, and nothing that runs with its owner's rights.
UPDATE looked_at SET extension = 'uidgen_tools';
SELECT d.type, d.identity
FROM member, pg_identify_object(classid, objid, 0) AS d
WHERE d.type <> 'function';
SELECT pg_describe_object(classid, objid, 0) AS uncommented
FROM member LEFT JOIN pg_description AS t ON t.classoid = classid AND t.objoid = objid AND t.objsubid = 0
WHERE description IS NULL OR description ~ '^\s*$';
\pset format unaligned
SELECT name || '(' || arguments || ')' AS function, result, lanname AS language,
	CASE provolatile WHEN 'v' THEN 'volatile' WHEN 's' THEN 'stable' ELSE 'immutable' END AS volatility,
	CASE WHEN proisstrict THEN 'strict' ELSE '-' END AS strict,
	'parallel ' || CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel
FROM func
ORDER BY name COLLATE "C", pronargs, arguments COLLATE "C";
\pset format aligned
SELECT name, prosecdef, lanname = 'c' AS c, proconfig FROM func
WHERE prosecdef OR lanname = 'c' OR (prosqlbody IS NULL AND proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}'::text[])
ORDER BY name COLLATE "C";
SELECT count(DISTINCT proowner) FROM func;
-- Everybody may do these, and nobody else than the owner more.
SELECT pg_describe_object(classid, objid, 0) AS granted FROM member
	LEFT JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND p.oid = objid
	LEFT JOIN pg_namespace AS n ON classid = 'pg_namespace'::regclass AND n.oid = objid
WHERE ARRAY(SELECT a.privilege_type FROM aclexplode(coalesce(proacl, acldefault('f', proowner), nspacl, acldefault('n', nspowner))) AS a WHERE a.grantee <> a.grantor OR a.grantee = 0)
	<> ARRAY[CASE WHEN n.oid IS NULL THEN 'EXECUTE' ELSE 'USAGE' END];
-- It is dumped as CREATE EXTENSION, after uidgen.
SELECT extconfig, (SELECT string_agg(pg_describe_object(refclassid, refobjid, 0), ', ' ORDER BY refclassid) FROM pg_depend WHERE classid = 'pg_extension'::regclass AND objid = e.oid) AS needs
FROM pg_extension AS e WHERE extname = 'uidgen_tools';

-- The settings, and who may change them; those that are pinned: as it should be, also where the library
-- is not preloaded.
LOAD 'uidgen';
SELECT name, CASE WHEN name IN ('uidgen.datacenter_id', 'uidgen.instance', 'uidgen.layout', 'uidgen.max_segments', 'uidgen.worker_id') THEN
		(context = CASE WHEN current_setting('shared_preload_libraries') ~ 'uidgen' THEN 'postmaster' ELSE 'sighup' END)::text
	ELSE context END AS context, vartype, unit, boot_val, min_val, max_val, enumvals
FROM pg_settings WHERE name LIKE 'uidgen.%' ORDER BY name COLLATE "C";
-- SQL can write the names without quotes, but for uidgen."window".
SELECT name, catdesc FROM pg_settings, pg_get_keywords()
WHERE name LIKE 'uidgen.%' AND word = substr(name, 8) AND catcode IN ('R', 'T');
-- Each is described in sentences.
SELECT name, short_desc, extra_desc FROM pg_settings
WHERE name LIKE 'uidgen.%' AND (short_desc !~ '^[A-Z].*\.$' OR extra_desc !~ '^[A-Z0-9"-].*\.$');
