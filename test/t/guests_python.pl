# Guests in Python, with both drivers: the faults of Guests.pm, a failover that loses commits, and what the role of a guest may do to others.
# Promise: P1
# Kills: script/registry/32_fleet_calls.sql: floor_tick, before.granted_until + 1, CASE => floor_tick, CASE

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Guests;
use UidgenTest;

plan skip_all => 'needs psycopg and psycopg2 for /usr/bin/python3' if !-x '/usr/bin/python3' || system("/usr/bin/python3 -c 'import psycopg, psycopg2' 2>/dev/null") != 0;

# Drivers differ in what they make of text where the database is SQL_ASCII.
my $world = Guests->new('SQL_ASCII');
my $primary = $world->{primary};
my $client = $world->client('python', 'psycopg');
read_vectors($client);
play($client);
play($world->client('python', 'psycopg2'), 'warned');
my $utf8 = Guests->new('UTF8');
play($utf8->client('python', $_), 'warned') foreach qw(psycopg psycopg2);

# ---- the role ----

my $database = $world->registry(12, lead => '60 s');
foreach (
	[ 'SELECT * FROM uidgen_registry.worker_node', '42501' ],
	[ 'SELECT * FROM uidgen_registry.guest_role', '42501' ],
	[ "SELECT uidgen_registry.grant_guest('other', 500)", '42501' ],
	[ 'SELECT * FROM uidgen_registry.lease_release(0, 1016, \'{1}\', 1)', '42501' ],
	[ 'SELECT uidgen_registry.end_quarantine()', '42501' ],
	[ 'CREATE TEMP TABLE t ()', '42501' ],
  )
{
	my ($statement, $code) = @$_;
	my (undef, undef, $said) = $primary->psql($database, "\\set VERBOSITY sqlstate\n$statement", extra_params => [ '-U', 'other' ]);
	is($said =~ /ERROR:\s+(\w{5})/ ? $1 : '00000', $code, "a guest: $statement");
}

$primary->psql($database, join('', map { "SELECT worker FROM uidgen_registry.guest_acquire('x$_', $_);" } 1 .. 20), extra_params => [ '-U', 'other' ], on_error_stop => 0);
is($primary->safe_psql($database, q{SELECT taken FROM uidgen_registry.guests WHERE role = 'other'}), '9', 'a role has no more worker ids than its bound');
$primary->safe_psql($database, q{SELECT uidgen_registry.grant_guest('other', 10)});
my $hostile = $primary->background_psql($database, on_error_stop => 0, extra_params => [ '-U', 'other' ]);
$hostile->query("BEGIN \\; SELECT worker FROM uidgen_registry.guest_acquire('y', 1) \\; SET idle_in_transaction_session_timeout = 0");
is($primary->safe_psql($database, q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'other' AND state = 'idle in transaction'}), '1', 'it keeps a transaction open');
my @guests = map { begin($client, place($database, 'app', $primary->port)) } 1, 2;
ok(!(grep { !go_on($_) } @guests), '... while guests of another role begin, and go on');
is(twice(map { [$_] } @guests), '', '... with ids of their own');
$primary->safe_psql($database, q{SELECT uidgen_registry.revoke_guest('other')});
is($primary->safe_psql($database, q{SELECT count(*) FROM uidgen_registry.guest_role WHERE name = 'other'}), '0', 'and the owner takes the right away, whatever is locked');
eval { $hostile->quit };
ends('KILL', @guests);

fail_over($world, $client);

done_testing();
