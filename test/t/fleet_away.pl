# An outage of the registry of a minute, by the default lengths: no call fails of a node that has drawn an id, whether or not it draws more, and none of a guest.
# What it costs: a node that crashed takes another worker id, since its grant goes on for a while.
# Promise: P5
# Kills: src/keeper/keeper.c: sooner(timeout, keep_grant(link)), timeout

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Guests;
use UidgenTest;

plan skip_all => 'needs psycopg for /usr/bin/python3' if !-x '/usr/bin/python3' || system("/usr/bin/python3 -c 'import psycopg' 2>/dev/null") != 0;

my $MINUTE = 60;

my $world = Guests->new('UTF8');
my $registry = $world->{primary};
$registry->safe_psql('guests', q{SET client_min_messages = error; SELECT FROM uidgen_registry.share_registry('default', first_guest => 512, new_fleet => true);
	SELECT uidgen_registry.grant_guest('app', 5)});
is($registry->safe_psql('guests', 'SELECT max_lead, guest_lead FROM uidgen_registry.registry'), '00:04:00|00:04:00', 'the lengths are the default ones');

# A server as its owner would set it up
sub node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', join('', map { "$_\n" } preload(), sprintf(q{uidgen.registry = 'host=%s port=%s dbname=guests'}, $registry->host, $registry->port)));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE TABLE item (id bigint DEFAULT uid_next()); INSERT INTO item DEFAULT VALUES');
	return $node;
}

# How long its grant lasts, in seconds
sub left
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT extract(epoch FROM granted_until - clock_timestamp()) FROM uidgen.status');
}

my ($busy, $idle) = map { node($_) } qw(busy idle);
my $first = $idle->safe_psql('postgres', 'SELECT granted_until FROM uidgen.status');
cmp_ok(left($_), '>', $MINUTE, $_->name . ': its first grant lasts for longer than a minute') foreach $busy, $idle;
my $guest = begin($world->client('python', 'psycopg'), place('guests', 'app', $registry->port), batch => 1, pause => 50);
ok(go_on($guest), 'a guest draws');

my $worker = worker_id($busy);
$busy->stop('immediate');
$busy->start;
is($busy->safe_psql('postgres', q{INSERT INTO item DEFAULT VALUES RETURNING uid_timestamp(id) <= clock_timestamp()}), 't', 'a node that crashed goes on at the clock');
isnt(worker_id($busy), $worker, '... by another worker id');

# The outage begins just before a renewal of both nodes.
ok(poll_until(sub { $idle->safe_psql('postgres', "SELECT granted_until > '$first' FROM uidgen.status") eq 't' }), 'a grant is renewed while nobody draws');
ok(poll_until(sub { left($busy) < $MINUTE + 2 || left($idle) < $MINUTE + 2 }), 'half of it is used up');
complaints($guest);
$registry->stop('immediate');
my (undef, undef, $failed) = try_psql($busy, "DO \$\$ BEGIN
	FOR i IN 1 .. $MINUTE * 10 LOOP INSERT INTO item DEFAULT VALUES; COMMIT; PERFORM pg_sleep(0.1); END LOOP;
	END \$\$");
is($failed, '', 'a minute without a registry: no INSERT fails');
$registry->start;
foreach my $node ($busy, $idle)
{
	my (undef, undef, $said) = try_psql($node, 'INSERT INTO item DEFAULT VALUES');
	is($said, '', '... nor one after it, ' . $node->name);
}
ok(go_on($guest), '... the guest goes on');
is(complaints($guest), '', '... and was refused no id');

ends('KILL', $guest);

done_testing();
