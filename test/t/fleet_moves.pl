# From a local registry to a shared one, to another one and back, while ids are drawn: they stay unique and in order, and a
# registry that cannot be had is no reason to stop.  Also a server that is a node of its own registry.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use RegistryProxy;
use UidgenTest;

# Two worker ids.
my $LAYOUT = 'time:41:1ms worker:1 sequence:12 epoch:2025-01-01';
my ($first, $second) = map { fleet_registry($_, layout => $LAYOUT) } qw(first second);
my $proxy = RegistryProxy->new($first);
my $node = fleet_node('main', '', "uidgen.layout = '$LAYOUT'", "uidgen.window = '2s'");
my $resident = fleet_node('resident', hosts($second), "uidgen.layout = '$LAYOUT'");
draws($node, $resident);
ok(goes_on($node, $resident), 'a server with a local registry, and a node of another one');
my $log;

# Change uidgen.registry.
sub moves
{
	my ($registry) = @_;
	$log = -s $node->logfile;
	change_setting($node, 'uidgen.registry', $registry);
	return;
}

# What it has logged since then matches.
sub says
{
	my ($pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is_logged($node, $log, qr/$pattern/, $name);
}

sub nodes_of
{
	my ($registry) = @_;
	return rows($registry, 'count(*)', 'WHERE NOT released');
}

# ---- from the local registry to a shared one ----

my $worker = worker_id($node);
my $local = rows($node, 'token', '');
moves(hosts($proxy->port) =~ s/dbname=postgres/dbname=nowhere/r);
says('LOG:  uidgen goes on with its local registry: could not connect to the registry', 'a shared registry that is not there');
ok(goes_on($node), '... and ids go on');
is(worker_id($node), $worker, '... of the same worker id');
ok(poll_until(sub { rows($node, 'token', '') ne $local }), '... whose grant is renewed');
# Here, that of the resident is free only.
$first->safe_psql('postgres', by_hand(sprintf
		"INSERT INTO uidgen_registry.worker_node SELECT 0, %d, 'elsewhere', 0, 0, now(), now(), now(), 'x', 1, quarantine_until + 3600000, false, 1 FROM uidgen_registry.registry",
		1 - worker_id($resident)));
moves(hosts($proxy->port));
says('uidgen acquired worker id', 'it is there');
ok(goes_on($node), '... and ids go on');
is(nodes_of($first), 2, '... by its grant');
$worker = worker_id($node);

# ---- to another one ----

# An answer of the first one is lost, so the node does not know what it has there; and that would be the resident's worker id
# in the second one, if it went by what it says of the first.
is($worker, worker_id($resident), 'in another registry another node has the same worker id');
$proxy->set(cut => 'lease');
$proxy->await('cut lease');
moves(hosts($second));
$proxy->set();
says('uidgen acquired worker id', 'another registry');
ok(goes_on($node, $resident), '... and ids go on');
is(nodes_of($second), 2, '... by its grant');
is(worker_id($resident), $worker, '... while the node that was there keeps what it has');
unlike(log_since($resident, 0), qr/uidgen lost worker id/, '... all the time');

# ---- back ----

moves('');
says('uidgen acquired worker id', 'back to the local registry');
ok(goes_on($node), '... ids go on');
is(status_of($node, 'registry'), 'local', '... by its grant');
$first->safe_psql('postgres', 'CREATE DATABASE other');
$first->safe_psql('other', "SET client_min_messages = warning; CREATE EXTENSION uidgen_registry; SELECT FROM uidgen_registry.share_registry('snowflake')");
moves(hosts($first) =~ s/dbname=postgres/dbname=other/r);
says(q{LOG:  uidgen goes on with its local registry: the layout differs from the registry's}, 'a registry with another layout');
ok(goes_on($node), '... and ids go on');
my $ids = stops_drawing($node);
is(scalar(grep { $ids->[ $_ - 1 ] >= $ids->[$_] } 1 .. $#$ids), 0, 'from the first move to the last, the ids of this session are in order');

# ---- a node of its own registry ----

# 4 ids in a millisecond, so that it is easy to outrun the clock, by more than a busy machine takes to draw them.
my $NARROW = 'time:41:1ms worker:1 sequence:2 epoch:2025-01-01';
my $own = fleet_node('own', '', "uidgen.layout = '$NARROW'", "uidgen.max_burst = '60s'");
$own->safe_psql('postgres', 'CREATE DATABASE fleet');
$own->safe_psql('fleet', "SET client_min_messages = warning; CREATE EXTENSION uidgen_registry;
	SELECT FROM uidgen_registry.share_registry('$NARROW', clock_slack => '0', new_fleet => true)");
my $ahead = draws_ahead($own, 40 * 4_000);
my ($tick, $before) = split /\|/, $own->safe_psql('postgres', "SELECT $ahead >> 3, worker FROM uid_parse($ahead)");
draws($own);
ok(goes_on($own), 'a server that has the registry of a fleet');
change_setting($own, 'uidgen.registry', hosts($own) =~ s/dbname=postgres/dbname=fleet/r);
ok($own->poll_query_until('postgres', "SELECT timeline IS NOT NULL FROM uidgen.status"), '... becomes a node of it');
ok($own->poll_query_until('fleet', "SELECT granted_until >= $tick FROM uidgen_registry.worker_node WHERE worker_id = $before"),
	'... and has told it what it had issued ahead of the clock');
ok(goes_on($own), '... and ids go on');
foreach my $how ('fast', 'immediate')
{
	$own->stop($how);
	$own->start;
	draws($own);
	ok(goes_on($own), "... after a restart ($how)");
}

unlike(log_since($_, 0), qr/another server answered/, 'each was told of what came along: ' . $_->name) foreach $node, $own;
nothing_twice('no server issued an id twice', apart => 1);
done_testing();
