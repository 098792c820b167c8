-- In version 0.2.0 all calls locked registry_layout before worker_node, but for two: where a
-- server acquires a worker id of its local registry, and share_registry().  These alone wait
-- for this lock, and wait here.  Without it they would lock worker_node, and then wait for
-- registry_layout, which the next statement locks, until that waits for worker_node: a deadlock.
LOCK TABLE uidgen.worker_node IN SHARE UPDATE EXCLUSIVE MODE;

-- In version 0.2.0 these could be bound to what somebody had put into the schema of the
-- extension.  Functions are replaced below.  A view is as well, but one whose columns have got
-- other types by that cannot be.  Each is named once, however much it is bound to.
ALTER TABLE uidgen.registry_layout
	DROP CONSTRAINT shared_is_complete,
	DROP CONSTRAINT max_lead_is_some_ticks,
	DROP CONSTRAINT clock_slack_is_not_negative,
	DROP CONSTRAINT lengths_have_no_days;
DO $$
DECLARE
	bound regclass;
BEGIN
	FOR bound IN
		SELECT DISTINCT r.ev_class::regclass
			FROM pg_rewrite AS r JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid,
				pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) AS o
			WHERE r.ev_class IN ('uidgen.fleet'::regclass, 'uidgen.registry_status'::regclass) AND o.schema <> 'uidgen'
	LOOP
		EXECUTE format('DROP VIEW IF EXISTS %s', bound);
	END LOOP;
END
$$;

-- Whoever reads tokens can hand back, or renew, what is granted to a node.
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_class AS c, aclexplode(c.relacl) AS a
			WHERE c.oid = 'uidgen.worker_node'::regclass AND a.grantee = 'pg_monitor'::regrole AND a.privilege_type = 'SELECT') THEN
		REVOKE SELECT ON uidgen.worker_node FROM pg_monitor;
		GRANT SELECT (datacenter_id, worker_id, host_name, port, type, launch_date, created, modified, identity, granted_until, released, launches)
			ON uidgen.worker_node TO pg_monitor;
	END IF;
END
$$;

-- It has more columns.
DROP FUNCTION IF EXISTS uidgen.begin_segment_call(bytea);
