# A fleet from version 0.2.0 to the present one: registry and nodes of both versions work with each
# other, in any order.  And a registry without the extension, which its owner updates.
# pg_regress has one server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Release;
use RemoteRegistry;
use Test::More;
use UidgenTest;

my $OLD = '0.2.0';

install_release($OLD);
my $registry = new_node('registry');
$registry->start;
$registry->safe_psql('postgres', q{CREATE EXTENSION uidgen; CREATE ROLE node LOGIN; SELECT uidgen.grant_node('node');
	SELECT uidgen.share_registry('time:41:1ms worker:10 sequence:12 epoch:2025-01-01'); SELECT uidgen.end_quarantine();
	SELECT uidgen.create_segment('s', 10)});

# A node, started.
sub node
{
	my ($name) = @_;
	my $node = new_node($name, "shared_preload_libraries = 'uidgen'", "uidgen.window = '500ms'",
		"uidgen.registry = '" . conninfo($registry) . " user=node'");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	return $node;
}

my %drawing;
my @numbers;

sub draws
{
	foreach my $node (@_)
	{
		stop($drawing{ $node->name }) if $drawing{ $node->name };
		$drawing{ $node->name } = start_trying($node, 'postgres');
	}
}

# All nodes draw, renew their grants, and get numbers of a segment.
sub all_go_on
{
	my ($name, @nodes) = @_;
	my @renewals = map { $_->safe_psql('postgres', 'SELECT renewals FROM uidgen.status') } @nodes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	goes_on($name, map { $drawing{ $_->name } } @nodes);
	ok($nodes[$_]->poll_query_until('postgres', "SELECT renewals > $renewals[$_] + 1 FROM uidgen.status"), "$name: grants are renewed")
	  foreach 0 .. $#nodes;
	push @numbers, map { [ split /\n/, $_->safe_psql('postgres', "SELECT uid_segment_next('s') FROM generate_series(1, 25)") ] } @nodes;
}

my $one = node('one');
my $two = node('two');
draws($one, $two);
all_go_on("a fleet of $OLD", $one, $two);

# ---- a node before the registry ----

install_release($NEW);
$two->restart;
draws($two);
all_go_on('one node with the new library', $one, $two);
is($two->safe_psql('postgres', 'SELECT uidgen.library_version(), uidgen.diagnose()'), "$NEW|ok", 'which misses nothing');
ok(end_keeper($two), 'its keeper begins anew');
all_go_on('and asks again', $two);
$two->safe_psql('postgres', 'ALTER EXTENSION uidgen UPDATE');
all_go_on('its extension is updated', $two);

# ---- the registry before a node ----

# Its library is not preloaded: each session loads the file that is there.
$registry->safe_psql('postgres', 'ALTER EXTENSION uidgen UPDATE');
all_go_on('the registry is updated', $one, $two);
is($one->safe_psql('postgres', 'SELECT uidgen.library_version()'), $OLD, 'while one node has the old library');
$registry->restart;
$registry->safe_psql('postgres', 'SELECT uidgen.end_quarantine()');
all_go_on('the registry has restarted', $one, $two);

# A registry that has lost more than its gap, as after two failovers: what a node of the old version knows is
# written down, although that node says nothing of reigns.
$registry->safe_psql('postgres', q{SELECT uidgen.create_segment('t', 1, 100)});
$one->safe_psql('postgres', q{SELECT uid_segment_next('t') FROM generate_series(1, 250)});
ok(poll_until(sub { $one->safe_psql('postgres', q{SELECT numbers_left >= 50 FROM uidgen.segment_status WHERE name = 't'}) eq 't' }), 'a node has numbers of a segment');
$registry->safe_psql('postgres', q{UPDATE uidgen.segment SET failover_gap = 0, last_value = 100, version = version + 1 WHERE name = 't'});
$two->safe_psql('postgres', q{SELECT uid_segment_next('t') FROM generate_series(1, 10)});
my (undef, $text) = sqlstate_of($one, q{SELECT uid_segment_next('t') FROM generate_series(1, 5000)});
like($text, qr/segment "t".*(makes no sense|has stopped it)/s, 'the registry has lost some: a node of the old version is given nothing');
is($registry->safe_psql('postgres', q{SELECT stopped ~ 'a server was given numbers up to' FROM uidgen.segment WHERE name = 't'}), 't', 'and what it knows stops the segment');
(undef, $text) = sqlstate_of($two, q{SELECT uid_segment_next('t') FROM generate_series(1, 5000)});
like($text, qr/the registry has stopped it/, 'for all');
$registry->safe_psql('postgres', q{SELECT uidgen.raise_segment('t', evidence) FROM uidgen.segment WHERE name = 't'});
is($_->safe_psql('postgres', q{SELECT count(DISTINCT uid_segment_next('t')) FROM generate_series(1, 50)}), '50', 'until it is raised: ' . $_->name) foreach $one, $two;

# What it loads only when it connects has been replaced.
ok(end_keeper($one), 'the keeper of the old library begins anew');
ok($one->poll_query_until('postgres', qq{SELECT last_error ~ 'the library file "uidgen_libpq" is of version $NEW, but the server runs uidgen of version $OLD' FROM uidgen.status}),
	'and says that the node has to be restarted');
$one->restart;
draws($one);
all_go_on('all have the new library', $one, $two);
$one->safe_psql('postgres', 'ALTER EXTENSION uidgen UPDATE');
all_go_on('all is updated', $one, $two);
stop(values %drawing);
nothing_twice($one, $two, $registry);
is(scalar(repeated(@numbers)), 0, 'and no number of the segment');

# ---- a registry without the extension ----

# Runs a script, as psql -f does for the owner, and returns what is printed.
sub run_script
{
	my ($database, $file) = @_;
	my ($out, $err) = run_command([ "$BINDIR/psql", '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $registry->connstr($database) . ' user=owner', '-f', $file ]);
	return "$out$err";
}

my $script = "$SCRIPTS/uidgen-registry-";
$registry->safe_psql('postgres', 'CREATE ROLE owner LOGIN');
$registry->safe_psql('postgres', "CREATE DATABASE $_ OWNER owner") foreach qw(updated new withdrawn third last);
is(run_script($_, "$script-$OLD.sql"), '', "$_: the script of $OLD") foreach qw(updated withdrawn);
$registry->safe_psql('updated', "SELECT uidgen.share_registry('A', 1000, 1735689600000000, 2199023255551, 0, 1023); SELECT uidgen.end_quarantine()");
$registry->safe_psql('withdrawn', 'REVOKE SELECT ON uidgen.worker_node, uidgen.fleet FROM pg_monitor; GRANT SELECT ON uidgen.worker_node TO node');
my $row = $registry->safe_psql('updated', 'SELECT * FROM uidgen.registry_layout');
is(run_script('new', "$script-$NEW.sql"), '', 'the present script');
my $new = catalog_of($registry, 'new');
cmp_ok(scalar($new =~ tr/\n//), '>', 200, 'the catalogs say much of the registry');
foreach my $time ('the script that updates', 'once more')
{
	is(run_script($_, "$script-$OLD--$NEW.sql"), '', "$_: $time") foreach qw(updated withdrawn);
	same_catalog(catalog_of($registry, 'updated'), $new, 'updated is like new');
}
is($registry->safe_psql('updated', 'SELECT * FROM uidgen.registry_layout'), "$row|0|f", 'its registry is the same');
foreach ([ '0.2.1', 'third' ], [ '0.2.2', 'last' ])
{
	my ($version, $database) = @$_;
	install_scripts($version);
	is(run_script($database, "$script-$version.sql"), '', "the script of $version");
	is(run_script($database, "$script-$version--$NEW.sql"), '', 'the script that updates it');
	same_catalog(catalog_of($registry, $database), $new, "updated from $version is like new");
}
is($registry->safe_psql('withdrawn', q{SELECT has_any_column_privilege('pg_monitor', 'uidgen.worker_node', 'SELECT'), has_table_privilege('pg_monitor', 'uidgen.fleet', 'SELECT'),
		has_table_privilege('node', 'uidgen.worker_node', 'SELECT')}),
	'f|f|t', 'what was granted and revoked stays so');

done_testing();
