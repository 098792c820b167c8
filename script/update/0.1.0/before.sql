-- Who acquires a worker id locks worker_node first in version 0.1.0, and waits here.
LOCK TABLE uidgen.worker_node IN SHARE UPDATE EXCLUSIVE MODE;

-- The rows are taken as granted in this database, since nothing tells otherwise; from here
-- on, a copy of the database is noticed.
ALTER TABLE uidgen.registry_layout ADD COLUMN database oid;
UPDATE uidgen.registry_layout SET database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database());
ALTER TABLE uidgen.registry_layout ALTER COLUMN database SET NOT NULL;

-- A registry that has granted is local for good.
ALTER TABLE uidgen.registry_layout
	ADD COLUMN shared boolean,
	ADD COLUMN registry_id bigint,
	ADD COLUMN max_lead interval,
	ADD COLUMN clock_slack interval,
	ADD COLUMN system_identifier bigint,
	ADD COLUMN timeline integer,
	ADD COLUMN started timestamptz,
	ADD COLUMN quarantine_until bigint;
UPDATE uidgen.registry_layout SET shared = false;
ALTER TABLE uidgen.registry_layout ALTER COLUMN shared SET NOT NULL, ALTER COLUMN shared SET DEFAULT false;

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

GRANT EXECUTE ON FUNCTION uidgen.diagnose() TO PUBLIC;

-- The view is not dropped, because views of others may depend on it.
ALTER FUNCTION uidgen.status() RENAME TO status_0_1;
