# One generator serves all databases of a cluster, and its registry may lie in
# any of them: missing, not to be made there, created, dropped and switched
# while ids are drawn, or know less than it has granted.  pg_regress knows one database,
# and cannot change settings of the server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use List::Util qw(max min);
use UidgenTest;

# A window that short is renewed several times a second.  Every registry grants
# the same worker id, and there are eight ids a millisecond: as they are drawn
# faster than that, and may be, they run ahead of the clock, which then cannot keep them
# apart.
my $node = uidgen_node(
	'main', 'uidgen.window = 500ms', 'uidgen.worker_id = 1', "uidgen.max_burst = '1h'",
	"uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'");
$node->start;
my @all;

sub draw
{
	my ($database) = @_;
	my @ids = split /\n/, $node->safe_psql($database, 'SELECT uid_next() FROM generate_series(1, 20000)');
	return \@ids;
}

# Draw in this database; the ids are above all before.
sub draw_above
{
	my ($database, $name) = @_;
	my $new = draw($database);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(min(@$new), '>', max(0, @all), $name);
	push @all, @$new;
}

sub set_database
{
	my ($database) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.database = '$database'");
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	$node->poll_query_until('postgres', "SELECT current_setting('uidgen.database') = '$database'");
}

sub info_of
{
	my ($sql, $database) = @_;
	my $err;
	$node->psql($database, $sql, stderr => \$err, on_error_die => 1);
	return $err;
}

# ---- the extension and its first transaction ----

my $first = $node->safe_psql('postgres', 'BEGIN; CREATE EXTENSION uidgen; SELECT uid_next(); ROLLBACK');
like($first, qr/^\d+$/, 'ids come in the transaction of CREATE EXTENSION, before there is a registry');
push @all, $first, $node->safe_psql('postgres', 'BEGIN; CREATE EXTENSION uidgen; SELECT uid_next(); ROLLBACK');
cmp_ok($all[1], '>', $all[0], '... and when there is one');
is(info_of('CREATE EXTENSION uidgen', 'postgres'), '', 'CREATE EXTENSION has nothing to tell in the registry\'s database');
draw_above('postgres', 'afterwards, too');

# ---- two databases ----

$node->safe_psql('postgres', 'CREATE DATABASE second');
is(info_of('CREATE EXTENSION uidgen', 'second'), '', '... nor in another one');
draw_above('second', 'another database draws from the same generator');
draw_above('postgres', 'in turns');

my @drawings = map { start_drawing($node, $_) } qw(postgres second);
ok(await_drawing($_, 2000), 'both draw at once') foreach @drawings;
my @seen = map { stop_drawing($_) } @drawings;
is(repeated(\@all, @seen), 0, 'no id was issued twice over the two');
push @all, map { @$_ } @seen;
is($node->safe_psql('second', q{SELECT to_regnamespace('uidgen_registry') IS NULL}), 't', 'one registry is used');

# ---- the registry moves ----

# Each move while ids are drawn.
my $drawing = start_drawing($node, 'second');
set_database('second');
ok($node->poll_query_until('second', 'SELECT count(*) = 1 FROM uidgen_registry.worker_node'),
	'the setting can be changed while the server runs');
ok(await_drawing($drawing, 1000), 'and ids go on');
my $seen = stop_drawing($drawing);
is(repeated(\@all, $seen), 0, 'none is issued twice');
push @all, @$seen;
draw_above('postgres', 'and they stay in order');

$drawing = start_drawing($node, 'second');
ok(await_drawing($drawing, 1000), 'ids are drawn');
$node->safe_psql('second', 'DROP EXTENSION uidgen_registry');
$node->safe_psql('second', 'CREATE EXTENSION uidgen_registry');
# Where a machine is so slow that the grant ends in between, the session is told, and ends; then another one asks, and draws.
ok( poll_until(
		sub {
			if (-s "$drawing->{file}.err")
			{
				push @all, @{ finish_drawing($drawing) };
				$drawing = start_drawing($node, 'second');
			}
			return $node->safe_psql('second', 'SELECT count(*) = 1 FROM uidgen_registry.worker_node') eq 't';
		}),
	'the registry can be dropped and created anew');
ok(await_drawing($drawing, 1000), 'and ids go on');
$seen = stop_drawing($drawing);
is(repeated(\@all, $seen), 0, 'none is issued twice');
push @all, @$seen;
draw_above('postgres', 'and they stay in order');

# ---- without a registry ----

# It cannot be made there.
$node->safe_psql('postgres', 'CREATE DATABASE third');
$node->safe_psql('third', 'CREATE EXTENSION uidgen; CREATE SCHEMA uidgen_registry');
my $log = -s $node->logfile;
# The keeper asks the new registry at once.
set_database('third');
my ($ids, $text) = draw_until_error($node);
like($text, qr/55000: .*cannot be made in database "third".*HINT:.*Rename or drop that schema/s,
	'without a registry ids end with the grant, and the error says what is in the way');
push @all, @$ids;
sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()', 'postgres') foreach 1 .. 4;
like($node->safe_psql('postgres', 'SELECT state, last_error FROM uidgen.status'),
	qr/^failing\|.*cannot be made in database "third"/, 'uidgen.status says it too');
my $lines = () = log_since($node, $log) =~ /LOG:  uidgen has no new grant/g;
is($lines, 1, 'the log says so once');
$node->safe_psql('third', 'DROP SCHEMA uidgen_registry');
draw_above('third', 'once it can be made, ids are issued at once');

# ---- without the database ----

$drawing = start_drawing($node, 'second');
ok(await_drawing($drawing, 1000), 'ids are drawn');
$log = -s $node->logfile;
drop_database($node, 'third');
$drawing->{run}->finish;
like(slurp_file("$drawing->{file}.err"), qr/ERROR:.*"third".*HINT:.*"uidgen.database"/s,
	'the database can be dropped by force; then ids end with the grant');
$seen = stop_drawing($drawing);
is(repeated(\@all, $seen), 0, 'none is issued twice');
push @all, @$seen;
fails_with($node, 'SELECT uid_next()', '55000', qr/"third".* does not exist.*HINT:.*"uidgen.database"/s,
	'and a call says what is missing', 'second') foreach 1 .. 5;
$lines = () = log_since($node, $log) =~ /FATAL:/g;
cmp_ok($lines, '<', 12, 'the log is not flooded');
$node->safe_psql('postgres', 'CREATE DATABASE third');
# Where it could not connect, the keeper pauses for five seconds.
comes_to_fail($node, 'SELECT uid_next()', '55000', qr/registry of worker ids is gone from database "third".*HINT:.*CREATE EXTENSION uidgen_registry/s,
	'an empty one of that name is not taken for it', 'second');
$node->safe_psql('third', 'CREATE EXTENSION uidgen_registry; CREATE EXTENSION uidgen');
draw_above('third', 'once it is there, ids are issued at once');

is(repeated(\@all), 0, scalar(@all) . ' ids, none twice');
$node->stop;

# ---- a registry that knows less than was granted ----

# The clock stands still.  A grant of ten seconds is renewed when five are left.
$node = uidgen_node('behind');
my $clock = FakeClock->new($node);
$clock->stop($clock->now);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
$node->safe_psql('postgres', 'SELECT uid_next()');
my $row = 'worker_id, token, granted_until FROM uidgen_registry.worker_node';
my ($worker, $token, $granted) = split /\|/, $node->safe_psql('postgres', "SELECT $row");
$node->safe_psql('postgres', by_hand('UPDATE uidgen_registry.worker_node SET granted_until = granted_until - 1, token = token + 1'));
$clock->step(6);
$node->safe_psql('postgres', 'SELECT uid_next()');
ok($node->poll_query_until('postgres', "SELECT token NOT IN ($token, $token + 1) FROM uidgen_registry.worker_node"),
	'the registry forgets the last tick: the row counts as lost, and is taken anew');
ok($node->poll_query_until('postgres', "SELECT uid_next() >> 22 > $granted"), 'then no tick is granted twice');
is($node->safe_psql('postgres', 'SELECT count(*), min(worker_id) FROM uidgen_registry.worker_node'), "1|$worker", 'with the same worker id');
$node->stop;

done_testing();
