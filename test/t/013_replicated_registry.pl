# What logical replication FOR ALL TABLES brings never changes a registry, even
# where both clusters have the same worker id and so the same row; and TRUNCATE,
# which would get past that, is refused where it begins.  pg_regress has one
# server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

# The publisher grants far ahead, so that a row of its own would be noticed; and
# often, so that there is much to replicate.
my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'uidgen'
uidgen.worker_id = 5
uidgen.window = 1h
uidgen.padding_factor = 100
END
my $subscriber = uidgen_node('subscriber', 'uidgen.worker_id = 5', "wal_level = 'logical'");
foreach my $node ($publisher, $subscriber)
{
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	$node->safe_psql('postgres', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
	$node->safe_psql('postgres', 'SELECT uid_next()');
}
my $STATE = 'SELECT * FROM uidgen.worker_node, uidgen.registry_layout';
my $before = $subscriber->safe_psql('postgres', $STATE);

$publisher->safe_psql('postgres', "INSERT INTO message (body) VALUES ('initial copy')");
$publisher->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
is($publisher->safe_psql('postgres', "SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'uidgen'"),
	'2', 'the registry is published');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION everything CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION everything");
$subscriber->wait_for_subscription_sync($publisher, 'everything');
is($subscriber->safe_psql('postgres', 'SELECT body FROM message'), 'initial copy', 'the initial copy has come');
is($subscriber->safe_psql('postgres', $STATE), $before, 'and has not changed the registry');

# Updates of the row by renewals, an insert and a delete.
$publisher->safe_psql('postgres', "INSERT INTO message (body) SELECT pg_sleep(0.01) FROM generate_series(1, 100)");
my $renewals = $publisher->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
cmp_ok($renewals, '>', 0, 'the publisher renewed its grant');
$publisher->safe_psql('postgres', "INSERT INTO uidgen.worker_node
	SELECT datacenter_id, 6, host_name, port, type, launch_date, created, modified, identity, token, granted_until,
		released, launches FROM uidgen.worker_node");
$publisher->safe_psql('postgres', 'DELETE FROM uidgen.registry_layout');
$publisher->safe_psql('postgres', "INSERT INTO message (body) VALUES ('last')");
$publisher->wait_for_catchup('everything');
is($subscriber->safe_psql('postgres', "SELECT count(*) FROM message WHERE body = 'last'"), '1',
	'what was written later has come');
is($subscriber->safe_psql('postgres', $STATE), $before, 'and has not changed the registry');

my @ids = split /\n/, $subscriber->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 100)');
is(repeated(\@ids), 0, 'the subscriber goes on to issue ids');
$subscriber->restart;
cmp_ok($subscriber->safe_psql('postgres', 'SELECT uid_next()'), '>', $ids[-1], 'after a restart, too');
is( $subscriber->safe_psql(
		'postgres', 'SELECT count(*), sum(launches), bool_and(granted_until * interval \'1 ms\' + epoch < now() + interval \'10 min\')
			FROM uidgen.worker_node, uid_layout_info()'),
	'1|2|t',
	'with its own row');

# ---- TRUNCATE ----

foreach my $table ('worker_node', 'registry_layout')
{
	fails_with($subscriber, "TRUNCATE uidgen.$table", '55000', qr/cannot truncate uidgen\.$table.*DETAIL:.*HINT:/s,
		"TRUNCATE of $table is refused");
}
$subscriber->stop;
$publisher->stop;

done_testing();
