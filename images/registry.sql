-- images/registry.sql
--	  The registry of images/compose.yaml, in the database uidgen, when its cluster has been made.
CREATE EXTENSION uidgen_registry;
SELECT uidgen_registry.share_registry('default', new_fleet => true);	-- the layout of all nodes
CREATE ROLE node1 LOGIN PASSWORD 'secret-1';
CREATE ROLE node2 LOGIN PASSWORD 'secret-2';
SELECT uidgen_registry.grant_node('node1'), uidgen_registry.grant_node('node2');
SELECT uidgen_registry.end_quarantine();	-- nothing was granted before, but each start begins one
