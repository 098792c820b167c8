# A registry whose rows are gone, after ALTER TABLE ... SET UNLOGGED and a crash, says so to whoever comes next: to its own server
# when that joins a fleet, to whoever reserves a worker id, and of a fleet to nodes and to its owner.  No id and no ids of past
# times come twice by it; and what the hints say, and docs/runbook.md, leads on.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Procedures;
use UidgenTest;

# Two ids a millisecond, so that they get ahead of the clock.
my $LAYOUT = 'time:41:1ms worker:4 sequence:1 epoch:2025-01-01';
my $LOST = qr/the registry has lost its rows/;

my $registry = fleet_registry('registry', layout => $LAYOUT);
my $alone = uidgen_node('alone', "uidgen.layout = '$LAYOUT'", 'uidgen.worker_id = 3', "uidgen.max_burst = '1min'", "uidgen.window = '10s'");
$alone->start;
$alone->safe_psql('postgres', 'CREATE EXTENSION uidgen');

sub goes_down
{
	my ($node, $table) = @_;
	$node->safe_psql('postgres', $_) foreach "ALTER TABLE uidgen_registry.$table SET UNLOGGED", 'CHECKPOINT';
	$node->stop('immediate');
	$node->start;
	return;
}
sub mends
{
	my ($node, $table) = @_;
	$node->safe_psql('postgres', "ALTER TABLE uidgen_registry.$table SET LOGGED");
	return;
}

# ---- a server that joins a fleet ----

my $JOIN = "ALTER SYSTEM SET uidgen.registry = '" . hosts($registry) . q{'};
$alone->safe_psql('postgres', $_) foreach 'SELECT uid_next()', $JOIN;
goes_down($alone, 'worker_node');
fails_with($alone, 'SELECT uid_next()', '55000', qr/table uidgen_registry\.worker_node is not as it was made.*SET LOGGED/s, 'a server that joins a fleet looks at the table of its local registry');
mends($alone, 'worker_node');
fails_with($alone, 'SELECT uid_next()', '55000', qr/$LOST.*SELECT uidgen_registry\.end_registry\(\) in database "postgres"/s, '... and for its rows');
$alone->safe_psql('postgres', 'SELECT uidgen_registry.end_registry()');
ok(poll_until(sub { (try_psql($alone, 'SELECT uid_next()'))[0] == 0 }), '... and joins, once its owner has ended that registry');

# Back to the local registry; and the fleet's clock is behind.
$alone->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.registry');
$alone->restart;
$registry->safe_psql('postgres', q{CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$SELECT clock_timestamp() - interval '5 s'$$});
$alone->safe_psql('postgres', q{CREATE TABLE t (id bigint); INSERT INTO t SELECT uid_next() FROM generate_series(1, 60000);
	SELECT uidgen.accept_backfill(uidgen_registry.reserve_backfill(uidgen.backfill_home(), worker => 5)); CREATE TABLE past AS SELECT uid_backfill(now() - interval '1 ms') AS id});
cmp_ok($alone->safe_psql('postgres', 'SELECT uid_timestamp(max(id)) > clock_timestamp() FROM t'), 'eq', 't', 'ids are ahead of the clock');
$alone->safe_psql('postgres', $JOIN);
goes_down($alone, 'registry');
fails_with($alone, 'SELECT uid_next()', '55000', qr/table uidgen_registry\.registry is not as it was made.*SET LOGGED/s, '... or at the table of its layout');
mends($alone, 'registry');
fails_with($alone, 'SELECT uid_next()', '55000', qr/reaches too far ahead.*uidgen_registry\.import_worker\(0, 5, /s, '... and brings all rows along, without the layout also what is reserved');
$registry->safe_psql('postgres', 'SELECT uidgen_registry.keep_worker(0, 5)');
$alone->safe_psql('postgres', q{SET uidgen.wait_timeout = '1min'; CREATE TABLE u AS SELECT uid_next() AS id FROM generate_series(1, 100)});
is($alone->safe_psql('postgres', 'SELECT (SELECT count(*) FROM t JOIN u USING (id)), (SELECT min(id) FROM u) > (SELECT max(id) FROM t), (SELECT registry FROM uidgen.status)'),
	'0|t|' . $alone->safe_psql('postgres', 'SELECT registry FROM uidgen.status'), '... so that no id comes twice');

# What is reserved has no live id, and ids of the past up to the present.
$alone->safe_psql('postgres', $_) foreach 'ALTER SYSTEM RESET uidgen.registry', 'SELECT uidgen_registry.end_registry()';
$alone->restart;
$alone->safe_psql('postgres', q{SELECT uid_next(); SELECT uidgen.accept_backfill(uidgen_registry.reserve_backfill(uidgen.backfill_home(), worker => 6)); INSERT INTO past SELECT uid_backfill(now() - interval '1 ms')});
$alone->safe_psql('postgres', $JOIN);
$alone->restart;
ok(poll_until(sub { (try_psql($alone, 'SELECT uid_next()'))[0] == 0 }), 'a server joins a fleet whose clock is behind');
my $last = $alone->safe_psql('postgres', 'SELECT uid_timestamp(max(id)) FROM past');
is($registry->safe_psql('postgres', "SELECT uidgen_registry.tick_at('$last', l.unit, l.epoch) <= n.granted_until, n.granted_until < uidgen_registry.tick_at(clock_timestamp(), l.unit, l.epoch), n.released
	FROM uidgen_registry.worker_node AS n, uidgen_registry.registry AS l WHERE n.worker_id = 6"), 't|t|t', '... which grants a worker id that was reserved above the ids of the past');

# ---- a local registry that reserves ----

$alone->safe_psql('postgres', $_) foreach 'ALTER SYSTEM RESET uidgen.registry', 'SELECT uidgen_registry.end_registry()', 'CREATE DATABASE app';
$alone->restart;
$alone->safe_psql('app', 'SET client_min_messages = error; CREATE EXTENSION uidgen');
my $home = $alone->safe_psql('app', 'SELECT uidgen.backfill_home()');
$alone->safe_psql('postgres', 'SELECT uid_next(); SELECT uidgen.accept_backfill(uidgen_registry.reserve_backfill(uidgen.backfill_home(), worker => 7))');
goes_down($alone, 'worker_node');
my $reserve = "SELECT uidgen_registry.reserve_backfill('$home')";
fails_with($alone, $reserve, '55000', qr/table uidgen_registry\.worker_node is not as it was made.*SET LOGGED/s, 'whoever reserves a worker id is told of the table');
mends($alone, 'worker_node');
fails_with($alone, $_, '55000', qr/$LOST.*SELECT uidgen_registry\.end_registry\(\) in database "postgres"/s, "... and of its rows, as by $_") foreach $reserve, 'SELECT uid_next()';
$alone->stop;

# ---- a fleet ----

$registry->stop;
$registry = fleet_registry('second', layout => $LAYOUT, max_lead => '2 s', clock_slack => '1 s');
my $node = fleet_node('node', hosts($registry), "uidgen.layout = '$LAYOUT'");
$home = $node->safe_psql('postgres', 'SELECT uidgen.backfill_home()');
fails_with($registry, 'DO $$ BEGIN PERFORM uidgen_registry.keep_worker(0, 1); RAISE division_by_zero; END $$', '22012', qr/division/, 'a first row that is rolled back');
$node->safe_psql('postgres', 'SELECT uid_next()');
my $own = $node->safe_psql('postgres', 'SELECT worker_id FROM uidgen.status');
my ($reserved, $kept) = map { ($own + $_) % 16 } 1, 2;
my $permit = $registry->safe_psql('postgres', "SELECT uidgen_registry.reserve_backfill('$home', $reserved)");
$node->safe_psql('postgres', "SELECT uidgen.accept_backfill('$permit'), uid_backfill('2025-06-01')");
$registry->safe_psql('postgres', "SELECT uidgen_registry.keep_worker(0, $kept)");
goes_down($registry, 'worker_node');
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[2] =~ /table uidgen_registry\.worker_node is not as it was made.*SET LOGGED/s }), 'a node is told of the table');
mends($registry, 'worker_node');
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[2] =~ /$LOST.*docs\/runbook\.md, "Lost rows"/s }), '... and of its rows');
fails_with($registry, $_, '55000', qr/$LOST.*end it in database "postgres".*docs\/runbook\.md, "Lost rows"/s, "... and so is who calls $_")
  foreach "SELECT uidgen_registry.keep_worker(0, $kept)", "SELECT uidgen_registry.import_worker(0, $own, now())", "SELECT uidgen_registry.reserve_backfill('$home')",
  "SELECT * FROM uidgen_registry.node_import(0, '{$own}', '{7}', 9223372036854775807)";
my %is = ("'default'" => "'$LAYOUT'", '$max_lead' => "'2 s'", '$guest_lead' => 'NULL', '$first_guest' => 'NULL', '$kept' => $kept);
my $begin_anew = join '; ', statements_of_procedure('lost-rows');
$begin_anew =~ s/\Q$_\E/$is{$_}/g foreach keys %is;
$registry->safe_psql('postgres', "BEGIN; $begin_anew; COMMIT");
$node->safe_psql('postgres', $_) foreach "ALTER SYSTEM SET uidgen.registry = '" . hosts($registry) . q{ application_name=anew'}, 'SELECT pg_reload_conf()';
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), '... and a node goes on with the registry that was begun anew');
fails_with($node, "SELECT uid_backfill('2025-06-02')", '53400', qr/of another registry/, '... but not with what the former one had reserved');
is($registry->safe_psql('postgres', "SELECT state FROM uidgen_registry.fleet WHERE worker_id = $kept"), 'kept', '... and what is kept was granted to nobody');

done_testing();
