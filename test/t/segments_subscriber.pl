# segments_confirmed: after a failover numbers are given out once a standby has replayed it.  A subscriber of logical
# replication is in pg_stat_replication as well, but is no standby: it cannot take over, and knows nothing of the failover.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $registry = fleet_registry('registry');
$registry->append_conf('postgresql.conf', 'wal_level = logical');
$registry->restart;
$registry->safe_psql('postgres', 'SELECT uidgen_registry.end_quarantine(); CREATE TABLE t (i integer); CREATE PUBLICATION p FOR TABLE t;
	SELECT uidgen_registry.change_registry(segments_confirmed => true)');
$registry->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($registry, 'backup', has_streaming => 1);
$standby->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE TABLE t (i integer)');
my $node = fleet_node('one', hosts($registry, $standby));
create_segment($registry, q{'bills', step => 100});
draw_numbers($node, 'bills', 50);
await_keeper($node);
$registry->wait_for_catchup($standby);
$registry->stop('immediate');
$standby->promote;
my $NONE = qr/no standby of the registry has replayed its failover so far/;
like(draw_to_error($node, 'bills', '2s', $NONE), $NONE, 'a standby takes over: nothing is given out without another one');
$subscriber->safe_psql('postgres', q{CREATE SUBSCRIPTION s CONNECTION '} . $standby->connstr . q{ dbname=postgres' PUBLICATION p});
$standby->safe_psql('postgres', 'INSERT INTO t VALUES (1)');
$subscriber->poll_query_until('postgres', 'SELECT count(*) = 1 FROM t') or die;
note($standby->safe_psql('postgres', 'SELECT application_name, replay_lsn, sync_state FROM pg_stat_replication'));
like(draw_to_error($node, 'bills', '5s', $NONE), $NONE, '... nor where a subscriber has connected');
is(segment($standby, 'bills', 'unconfirmed IS NOT NULL'), 't', '... which is no standby');

done_testing();
