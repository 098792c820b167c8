-- images/registry.sql
--	  The registry of images/compose.yaml, in the database uidgen, when its cluster has been made.
SELECT uidgen.share_registry('default');	-- the layout of all nodes
CREATE ROLE node1 LOGIN PASSWORD 'secret-1';
CREATE ROLE node2 LOGIN PASSWORD 'secret-2';
SELECT uidgen.grant_node('node1'), uidgen.grant_node('node2');
SELECT uidgen.end_quarantine();	-- nothing was granted before (but each start begins one)
