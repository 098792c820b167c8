# From a local registry to a shared one, to another one and back, while ids are drawn: they stay unique and in order, and a
# registry that cannot be had is no reason to stop.  Also a server that is a node of its own registry, and what the
# role of a node may do.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RegistryProxy;
use Test::More;
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
	return ok(poll_until(sub { log_since($node, $log) =~ /$pattern/ }), $name) || diag(log_since($node, $log));
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
isnt(rows($node, 'token', ''), $local, '... whose grant is renewed');
# Here, that of the resident is free only.
$first->safe_psql('postgres', sprintf(
		"INSERT INTO uidgen.worker_node SELECT 0, %d, 'elsewhere', 0, 0, now(), now(), now(), 'x', 1, quarantine_until + 3600000, false, 1 FROM uidgen.registry_layout",
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
$proxy->set(cut => 'node_');
$proxy->await('cut node_');
moves(hosts($second));
$proxy->set();
says('uidgen acquired worker id', 'another registry');
ok(goes_on($node, $resident), '... and ids go on');
is(nodes_of($second), 2, '... by its grant');
is(worker_id($resident), $worker, '... while the node that was there keeps what it has');
unlike(log_since($resident, 0), qr/uidgen lost worker id/, '... all the time');

nothing_twice('no server issued an id twice', apart => 1);
done_testing();
