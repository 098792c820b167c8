# Logical replication FOR ALL TABLES never changes a registry, even if both clusters have
# the same worker id, or a segment of the same name, and so the same row; TRUNCATE, which no row trigger can drop, is
# refused where it begins.  fleet_writers has both ways at once, under load.  pg_regress has one server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

# The publisher grants far ahead, so that a row of its own would be noticed; and
# often, so that there is much to replicate.
my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', preload() . <<'END');

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
	$node->safe_psql('postgres', "SELECT uidgen_registry.create_segment('both'), uidgen_registry.create_segment('" . $node->name . "')");
}
my $FETCH = "SELECT first_value FROM uidgen_registry.segment_fetch('both', 1, 0, 0, '{}', -1, 9223372036854775807)";
my $STATE = 'SELECT w, l, s FROM uidgen_registry.worker_node AS w, uidgen_registry.registry AS l, uidgen_registry.segment AS s ORDER BY s.name';
is($subscriber->safe_psql('postgres', $FETCH), '1', 'a segment');
my $before = $subscriber->safe_psql('postgres', $STATE);

$publisher->safe_psql('postgres', "INSERT INTO message (body) VALUES ('initial copy')");
$publisher->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
is($publisher->safe_psql('postgres', "SELECT count(*) FROM pg_publication_tables WHERE schemaname IN ('uidgen', 'uidgen_registry')"),
	'6', 'the registry is published');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION everything CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION everything");
$subscriber->wait_for_subscription_sync($publisher, 'everything');
is($subscriber->safe_psql('postgres', 'SELECT body FROM message'), 'initial copy', 'the initial copy has come');
is($subscriber->safe_psql('postgres', $STATE), $before, 'and has not changed the registry');

# Updates of the row by renewals, an insert and a delete.
$publisher->safe_psql('postgres', "INSERT INTO message (body) SELECT pg_sleep(0.01) FROM generate_series(1, 100)");
ok($publisher->poll_query_until('postgres', 'SELECT renewals > 0 FROM uidgen.status'), 'the publisher renewed its grant');
$publisher->safe_psql('postgres', by_hand("INSERT INTO uidgen_registry.worker_node
	SELECT datacenter_id, 6, host_name, port, type, launch_date, created, modified, identity, token, granted_until,
		released, launches FROM uidgen_registry.worker_node"));
$publisher->safe_psql('postgres', by_hand('DELETE FROM uidgen_registry.registry'));
is($publisher->safe_psql('postgres', "$FETCH; SELECT uidgen_registry.raise_segment('both', 5000), uidgen_registry.create_segment('new'); $FETCH; " . by_hand("DELETE FROM uidgen_registry.segment WHERE name = 'publisher'")),
	"1\n5000|\n5001", 'and numbers of a segment are given out');
$publisher->safe_psql('postgres', "INSERT INTO message (body) VALUES ('last')");
$publisher->wait_for_catchup('everything');
is($subscriber->safe_psql('postgres', "SELECT count(*) FROM message WHERE body = 'last'"), '1',
	'what was written later has come');
is($subscriber->safe_psql('postgres', $STATE), $before, 'and has not changed the registry');

my @ids = split /\n/, $subscriber->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 100)');
is(repeated(\@ids), 0, 'the subscriber goes on to issue ids');
is($subscriber->safe_psql('postgres', $FETCH), '1001', 'and its segment goes on');
$subscriber->restart;
cmp_ok($subscriber->safe_psql('postgres', 'SELECT uid_next()'), '>', $ids[-1], 'after a restart, too');
is( $subscriber->safe_psql(
		'postgres', 'SELECT count(*), sum(launches), bool_and(granted_until * interval \'1 ms\' + epoch < now() + interval \'10 min\')
			FROM uidgen_registry.worker_node, uid_layout_info()'),
	'1|2|t',
	'with its own row');

# ---- TRUNCATE ----

foreach my $table ('worker_node', 'registry', 'segment')
{
	fails_with($subscriber, "TRUNCATE uidgen_registry.$table", '55000', qr/cannot truncate uidgen_registry\.$table.*DETAIL:.*HINT:/s,
		"TRUNCATE of $table is refused");
}
$_->stop foreach $subscriber, $publisher;

done_testing();
