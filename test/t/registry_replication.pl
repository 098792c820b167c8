# Logical replication FOR ALL TABLES never changes a registry, even if both clusters have
# the same worker id, or a segment of the same name, and so the same row; TRUNCATE, which no row trigger can drop, is
# refused where it begins.  Also both ways at once,
# under load: nothing ever stops the replication.  pg_regress has one server.

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

# ---- both ways ----

my %nodes;
my %other = (east => 'west', west => 'east');
my %worker = (east => 1, west => 2);
foreach my $name (sort keys %other)
{
	my $node = $nodes{$name} = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	# Renewed several times a second.
	$node->append_conf('postgresql.conf', preload() . <<"END");

uidgen.worker_id = $worker{$name}
uidgen.window = '500ms'
END
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	$node->safe_psql('postgres', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
	# Before version 16 a subscription has no origin = none: what comes home is
	# dropped here.
	$node->safe_psql('postgres', <<'END') if $node->pg_version < 16;
CREATE FUNCTION drop_known() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN RETURN CASE WHEN EXISTS (SELECT FROM public.message WHERE id = NEW.id AND body = NEW.body) THEN NULL ELSE NEW END; END $$;
CREATE TRIGGER drop_known BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION drop_known();
ALTER TABLE message ENABLE REPLICA TRIGGER drop_known;
END
	$node->safe_psql('postgres', 'SELECT uid_next()');
	$node->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
}
foreach my $name (sort keys %other)
{
	my $options = $nodes{$name}->pg_version < 16 ? '' : 'WITH (origin = none)';
	$nodes{$name}->psql('postgres', "CREATE SUBSCRIPTION from_$other{$name} CONNECTION '"
		  . $nodes{ $other{$name} }->connstr . " dbname=postgres' PUBLICATION everything $options", on_error_die => 1);
}
$nodes{$_}->wait_for_subscription_sync($nodes{ $other{$_} }, "from_$other{$_}") foreach sort keys %other;

# Several sessions on each side, until each has renewed its grant for some times.
my $inserted = 0;
my $renewed = poll_until(
	sub {
		foreach my $node (values %nodes)
		{
			$node->safe_psql('postgres', 'INSERT INTO message (body) SELECT i FROM generate_series(1, 100) AS i');
			$inserted += 100;
		}
		return !grep { $_->safe_psql('postgres', 'SELECT renewals < 5 FROM uidgen.status') eq 't' } values %nodes;
	});
ok($renewed, "both ways: each side renewed its grant while $inserted rows were inserted");
# Twice, because each side also gets its own changes back.
foreach my $name ((sort keys %other) x 2)
{
	$nodes{$name}->wait_for_catchup("from_$name");
}
foreach my $name (sort keys %other)
{
	my $node = $nodes{$name};
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM message'), "$inserted|$inserted",
		"both ways: the $name has the rows of both");
	is($node->safe_psql('postgres', 'SELECT worker_id, launches FROM uidgen_registry.worker_node'), "$worker{$name}|1",
		'and its own row of the registry alone');
	# Where the row of the other side is missing, version 18 and later count that, too; it
	# stops nothing.  Which counts there are depends on the version.
	is( $node->safe_psql('postgres', <<'END'),
SELECT sum(value::bigint) FROM pg_stat_subscription_stats AS s, jsonb_each_text(to_jsonb(s))
WHERE key ~ '_error_count$' OR key IN ('confl_insert_exists', 'confl_update_exists', 'confl_multiple_unique_conflicts')
END
		'0',
		'no error of the subscription was counted');
	unlike(log_since($node, 0), qr/ERROR: |subscription .* has been disabled/, 'nor is there one in the log');
}
foreach my $name (sort keys %other)
{
	fails_with($nodes{$name}, 'TRUNCATE message, uidgen_registry.worker_node', '55000', qr/cannot truncate uidgen_registry\.worker_node/,
		"both ways: TRUNCATE is refused in the $name");
	$nodes{$name}->safe_psql('postgres', "INSERT INTO message (body) VALUES ('last')");
	$nodes{$name}->wait_for_catchup("from_$name");
}
is($nodes{$_}->safe_psql('postgres', "SELECT count(*) FROM message WHERE body = 'last'"), '2', "and replication to the $_ goes on")
  foreach sort keys %other;
$_->stop foreach values %nodes;

done_testing();
