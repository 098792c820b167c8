# Servers go to another registry, while they draw: numbers of segments go on there above all that was given, by the statements of
# end_registry().  Where somebody forgets them, and creates the segment anew, no server gets a number that it had: it says how
# far its numbers of that name went, whatever registry they came from, and the segment is stopped for all.  Unless the owner has
# said that the numbers begin anew.
# Promise: S7
# Kills: src/memory/segment_slots.c find_free_slot: if (vacant->supply.highest < 0) => if (true)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use Procedures;
use UidgenTest;

my $registry = fleet_registry('registry');
my @nodes = map { fleet_node($_, hosts($registry), "uidgen.window = '4min'", 'uidgen.max_segments = 4') } qw(one two);
my ($one, $two) = @nodes;

# Another registry, in a database of its own.
sub registry_in
{
	my ($database) = @_;
	$registry->safe_psql('postgres', "CREATE DATABASE $database");
	$registry->safe_psql($database, "SET client_min_messages = warning; CREATE EXTENSION uidgen_registry;
		SELECT FROM uidgen_registry.share_registry('time:41:1ms worker:10 sequence:12 epoch:2025-01-01', new_fleet => true)");
	return;
}

sub go_to
{
	my ($database, @servers) = @_;
	change_setting($_, 'uidgen.registry', hosts($registry) =~ s/dbname=postgres/dbname=$database/r) foreach @servers;
	return;
}

# One test: a call fails so.
sub is_stopped
{
	my ($server, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return fails_with($server, q{SELECT uid_segment_next('orders')}, '55000', qr/the registry has stopped it, as numbers may have been given out twice.*$pattern/s, $name);
}

# ---- as docs/runbook.md says ----

create_segment($registry, q{'orders', 11, 100000, max_value => 1000000000, description => 'of the "shop"'});
$registry->safe_psql('postgres', q{SELECT uidgen_registry.change_segment('orders', failover_gap => 300000)});
create_segment($registry, q{'gone', 1, 20});
foreach my $node (@nodes)
{
	# In this order, which is the order of slots.
	draw_numbers($node, $_, 5) foreach qw(orders gone);
}
$registry->safe_psql('postgres', q{SELECT uidgen_registry.drop_segment('gone')});
registry_in('managed');
my @drawings = map { start_numbers($_, 'orders') } @nodes;
ok(await_drawing($_, 1000), 'a server draws numbers') foreach @drawings;
my ($lock, $end, $attempt, undef, undef, $move) = statements_of_procedure('to-another-registry');
$registry->safe_psql('postgres', "BEGIN; $lock; $end; $attempt; COMMIT");
$registry->safe_psql('managed', join(' ', 'BEGIN;', $registry->safe_psql('postgres', $move), 'COMMIT'));
go_to('managed', @nodes);
ok(await_drawing($_, 1000), 'to another registry: it draws on') foreach @drawings;
stop_numbers($_) foreach @drawings;
my $given = segment($registry, 'orders', 'began_above', 'managed');
cmp_ok((draw_numbers($_, 'orders', 100))[0], '>', $given, '... above all that the first one gave') foreach @nodes;
one_by_one('orders', 'over the move', in_order => 1);
is(segment($registry, 'orders', 'step, max_step, max_value, failover_gap, description', 'managed'),
	'100000|10000000|1000000000|300000|of the "shop"', '... and has what it had');
is(segment($registry, 'gone', 'last_value, dropped', 'managed'), segment($registry, 'gone', 'last_value, true'), '... also one that was dropped');

# ---- as somebody who forgets that ----

registry_in('forgetful');
go_to('forgetful', @nodes);
foreach my $node (@nodes)
{
	fails_with($node, q{SELECT uid_segment_next('orders')}, '42704', qr/no such segment/, 'a registry that knows nothing of the segment');
	# It has a slot for each name, of which there are four.
	fails_with($node, "SELECT uid_segment_next('no $_')", '42704', qr/no such segment/, '... nor of others') foreach 1 .. 8;
}
create_segment($registry, q{'orders', step => 1000}, 'forgetful');
# Somebody who knows nothing can be given numbers.
my $stranger = fleet_node('stranger', hosts($registry) =~ s/dbname=postgres/dbname=forgetful/r);
is(($stranger->safe_psql('postgres', q{SELECT uid_segment_next('orders')})), '1', 'it is created there: who knows nothing is given numbers');
is_stopped($one, qr/A server was given numbers up to \d+ of another segment of this name, by this registry or another one\. This one began after 0, and not with restart := true\. The role of that server is "\w+"\..*HINT: .*raise_segment/s,
	'... but a server that had some already says so');
is_stopped($two, qr/another segment of this name/, '... and so does another one');
fails_with($stranger, q{SELECT uid_segment_next('orders') FROM generate_series(1, 5000)}, '55000', qr/the registry has stopped it/, '... and nobody gets more');
my $evidence = segment($registry, 'orders', 'evidence', 'forgetful');
cmp_ok($evidence, '>=', highest('orders'), 'the owner sees how far the numbers went');
$registry->safe_psql('forgetful', "SELECT uidgen_registry.raise_segment('orders', $evidence)");
cmp_ok((draw_numbers($_, 'orders', 100))[0], '>', $evidence, '... raises the segment, and they go on') foreach @nodes, $stranger;
one_by_one('orders', 'and then');

# ---- a registry for tests ----

registry_in('staging');
create_segment($registry, q{'orders', 50}, 'staging');
go_to('staging', $one);
is_stopped($one, qr/This one began after 49\b/, 'a server is pointed to a registry for tests: it is stopped there');
go_to('forgetful', $one);
cmp_ok((draw_numbers($one, 'orders', 100))[0], '>', $evidence, '... and goes on where it was');
one_by_one('orders', '... as before');

# ---- numbers that begin anew ----

$registry->safe_psql('staging', q{SELECT uidgen_registry.drop_segment('orders')});
create_segment($registry, q{'orders', 50, restart => true}, 'staging');
go_to('staging', $one);
is(($one->safe_psql('postgres', q{SELECT uid_segment_next('orders')})), '50', 'where the owner has said so, numbers begin anew');
registry_in('later');
create_segment($registry, q{'orders', 1050}, 'later');
go_to('later', $one);
is(($one->safe_psql('postgres', q{SELECT uid_segment_next('orders')})), '1050', '... and what was before is forgotten');

# ---- registries of its own ----

$stranger->safe_psql('postgres', q{ALTER SYSTEM SET uidgen.registry = ''});
$stranger->reload;
$stranger->poll_query_until('postgres', q{SELECT registry = 'local' FROM uidgen.status, (SELECT uid_next() > 0) AS drawn}) or die 'it has no registry of its own';
create_segment($stranger, q{'orders'});
is_stopped($stranger, qr/This one began after 0, and not with restart := true\. Servers have/, 'a registry of its own');
$stranger->safe_psql('postgres', q{SELECT uidgen_registry.drop_segment('orders')});
create_segment($stranger, q{'orders', restart => true});
is(($stranger->safe_psql('postgres', q{SELECT uid_segment_next('orders')})), '1', '... whose numbers begin anew');

done_testing();
