# Several servers draw numbers of one segment, while its steps are changed, servers stop and crash, and it is
# dropped, created, begun anew and raised.  No number comes twice, each server's increase, and of those that nobody has
# seen it is known where they are.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $registry = fleet_registry('registry');
# Ranges are used up sooner than that, and grow.  No answer is lost to a busy machine.
my @servers = map { fleet_node($_, hosts($registry), "uidgen.segment_duration = '1s'", "uidgen.registry_timeout = '1min'") } qw(one two three);
my ($one, $two, $three) = @servers;

sub set_steps
{
	my ($segment, $min, $step, $max) = @_;
	$registry->safe_psql('postgres', "SELECT uidgen_registry.change_segment('$segment', $step, $min, $max)");
	return;
}

sub fetches
{
	return map { segment_status($_, 'orders', 'fetches') || 0 } @servers;
}

# ---- steps are changed ----

create_segment($registry, "'orders', step => 50");
my @drawings = map { start_numbers($_, 'orders', 9_000) } @servers;
my $changes = 0;
my $all_draw = sub { !grep { !is_drawing($_) } @drawings };
while ($all_draw->())
{
	my @before = fetches();
	set_steps('orders', @$_) foreach ([ 1, 1, 1 ], [ 30, 30, 4000 ], [ 2, 7, 10 ], [ 500, 500, 500 ])[ $changes % 4 ];
	# Each of them learns of that.
	poll_until(
		sub {
			my @now = fetches();
			return !$all_draw->() || !grep { $now[$_] < $before[$_] + 2 } 0 .. $#servers;
		});
	$changes++;
}
is(scalar(finish_numbers($_)), 9_000, 'all calls get a number: ' . $_->{server}->name) foreach @drawings;
note("steps changed $changes times");
cmp_ok($changes, '>', 0, 'meanwhile the steps were changed');
one_by_one('orders', 'steps change under load', in_order => 1);

set_steps('orders', 100, 100, 100);
fetch_numbers($_, 'orders', 3) foreach @servers;
foreach my $size (60, 100, 60, 33, 90)
{
	draw_block($_, 'orders', $size) foreach @servers;
}
await_keeper($_) foreach @servers;
is(segment_status($_, 'orders', 'drawn'), scalar(seen_numbers('orders', $_)), 'what was drawn is counted: ' . $_->name) foreach @servers;
cmp_ok(segment_status($one, 'orders', 'skipped'), '>', 0, 'blocks leave numbers out');
is(missing($registry, 'orders'), held('orders', @servers), 'what nobody has seen is left, skipped or lost');

# ---- servers stop ----

# What servers that have ended since knew of.
my $gone = 0;

sub left
{
	my ($server) = @_;
	return segment_status($server, 'orders', 'numbers_left');
}

# Alone since three ranges, so that both of its buffers can be handed back.  Who ends has a second for that, which a busy machine
# may take from it now and then.
my ($last, $left, $returned);
foreach (1 .. 5)
{
	$one->start if defined $left;
	fetch_numbers($one, 'orders', 3);
	($last, $left) = (segment($registry, 'orders', 'last_value'), left($one));
	$gone += held('orders', $one);
	$one->stop;
	$returned = $last - segment($registry, 'orders', 'last_value');
	$gone -= $returned;
	last if $returned == $left;
}
cmp_ok($left, '>', 100, 'a server has numbers in both buffers');
is($returned, $left, 'a clean stop hands them back');
my $before = (seen_numbers('orders', $one))[-1];
$one->start;
is((draw_numbers($one, 'orders', 1))[0], $before + 1, '... and the next number follows the last one');

# So does a keeper that is terminated.
foreach (1 .. 5)
{
	fetch_numbers($two, 'orders', 3);
	$left = left($two);
	$before = (seen_numbers('orders', $two))[-1];
	my $returned_before = segment_status($two, 'orders', 'returned');
	end_keeper($two);
	$returned = segment_status($two, 'orders', 'returned') - $returned_before;
	last if $returned == $left;
}
is($returned, $left, 'a keeper that ends hands back what is left, and counts it');
is((draw_numbers($two, 'orders', 1))[0], $before + 1, '... and the next number follows the last one');

# Somebody else has fetched since.
fetch_numbers($three, 'orders', 1);
$last = segment($registry, 'orders', 'last_value');
$gone += held('orders', $one);
$one->restart;
is(segment($registry, 'orders', 'last_value'), $last, 'a server whose range is not the last one cannot hand it back');
draw_numbers($one, 'orders', 10);
fetch_numbers($two, 'orders', 1);
my $lost;
foreach (1 .. 5)
{
	# A keeper that ends has a second for that.
	await_keeper($three);
	$lost = segment_status($three, 'orders', 'lost');
	$left = left($three);
	end_keeper($three);
	$lost = segment_status($three, 'orders', 'lost') - $lost;
	last if $lost == $left;
}
is($lost, $left, '... which is counted as lost');

# ---- a server crashes ----

fetch_numbers($two, 'orders', 2);
await_keeper($two);
$last = segment($registry, 'orders', 'last_value');
$gone += held('orders', $two);
kill_and_start($two);
is(segment($registry, 'orders', 'last_value'), $last, 'a crash hands nothing back');
cmp_ok((draw_numbers($two, 'orders', 1))[0], '>', $last, '... and what follows is above');

draw_numbers($_, 'orders', 500) foreach @servers;
one_by_one('orders', 'stops and crashes', in_order => 1);
await_keeper($_) foreach @servers;
is(missing($registry, 'orders'), held('orders', @servers) + $gone, 'what is missing was in the buffers of servers that crashed, skipped or lost');

# While they draw, so that nobody knows which were the last.
@drawings = map { start_numbers($_, 'orders') } @servers;
await_drawing($_, 500) foreach @drawings;
kill_and_start($three);
ok(await_drawing($_, 500), 'a server crashes while all draw: ' . $_->{server}->name . ' goes on') foreach @drawings[ 0, 1 ];
stop_numbers($_) foreach @drawings;
draw_numbers($_, 'orders', 500) foreach @servers;
one_by_one('orders', 'a crash under load', in_order => 1);

# ---- dropped, and created again ----

create_segment($registry, "'bills', step => 100");
draw_numbers($_, 'bills', 150) foreach @servers;
await_keeper($_) foreach @servers;
$last = segment($registry, 'bills', 'last_value');
$registry->safe_psql('postgres', "SELECT uidgen_registry.drop_segment('bills')");
foreach my $server (@servers)
{
	my (undef, $err) = draw_all_numbers($server, 'bills');
	like($err, qr/ERROR:  42704: .*the segment was dropped/, 'dropped: calls say so, ' . $server->name);
}
is(segment($registry, 'bills', 'last_value'), $last, '... and nothing more is given out');
# One calls while it is being created, by a transaction that others wait for.
my $creating = $registry->background_psql('postgres');
$creating->query_safe(q{BEGIN; SELECT FROM uidgen_registry.create_segment('bills', step => 100)});
my $waiting = start_numbers($one, 'bills', 10);
ok($one->poll_query_until('postgres', q{SELECT failures > 0 AND last_error ~ 'lock timeout' FROM uidgen.segment_status WHERE name = 'bills'}),
	'a server waits for the one who creates it again');
$creating->query_safe('COMMIT');
$creating->quit;
is(scalar(finish_numbers($waiting)), 10, '... and then draws');
is((sort { $a <=> $b } draw_numbers($_, 'bills', 150))[0] > $last, 1, 'created again, it goes on above: ' . $_->name) foreach @servers;
one_by_one('bills', 'dropped and created again', in_order => 1);
is(missing($registry, 'bills'), held('bills', @servers), '... and what is missing is left, or lost');

# ---- begun anew ----

create_segment($registry, "'tickets', step => 100");
draw_numbers($_, 'tickets', 150) foreach @servers;
await_keeper($_) foreach @servers;
one_by_one('tickets', 'before it begins anew');
my %drawn = map { $_->name => segment_status($_, 'tickets', 'drawn') } @servers;
my %fetched = map { $_->name => segment_status($_, 'tickets', 'numbers_left') } @servers;
$registry->safe_psql('postgres', q{SELECT FROM uidgen_registry.drop_segment('tickets'), uidgen_registry.create_segment('tickets', step => 100, restart => true)});
my @anew;
foreach my $server (@servers)
{
	my (@numbers, $break);
	poll_until(
		sub {
			push @numbers, @{ finish_drawing(start_numbers($server, 'tickets', 50)) };
			await_keeper($server);
			($break) = grep { $numbers[ $_ - 1 ] > $numbers[$_] } 1 .. $#numbers;
			return $break;
		});
	ok($break, 'begun anew: ' . $server->name . ' asks, and then goes by the new numbers');
	push @anew, @numbers[ $break .. $#numbers ];
	is(segment_status($server, 'tickets', 'lost'), $fetched{ $server->name } - $break, '... and throws away what it had, and counts it');
	is(segment_status($server, 'tickets', 'drawn'), $drawn{ $server->name } + @numbers, '... as it counts what was drawn');
}
is((sort { $a <=> $b } @anew)[0], 1, '... from 1 on');
is(repeated(\@anew), 0, '... and none of them comes twice');

# ---- raised ----

create_segment($registry, "'parcels', step => 100");
draw_numbers($_, 'parcels', 50) foreach @servers;
await_keeper($_) foreach @servers;
my ($known, $old) = (segment($registry, 'parcels', 'last_value'), 0);
$old += segment_status($_, 'parcels', 'numbers_left') foreach @servers;
$registry->safe_psql('postgres', q{SELECT uidgen_registry.raise_segment('parcels', 1000000)});
my @numbers = map { draw_numbers($_, 'parcels', 300) } @servers;
is(scalar(grep { $_ <= $known } @numbers), $old, 'raised: what was fetched is given out');
is(scalar(grep { $_ > $known && $_ <= 1_000_000 } @numbers), 0, '... and then what lies above');
one_by_one('parcels', 'raised', in_order => 1);
await_keeper($_) foreach @servers;
is(missing($registry, 'parcels') - (1_000_000 - $known), held('parcels', @servers), '... and no more is missing');

# ---- the last numbers ----

create_segment($registry, "'seats', step => 100, max_value => 4950");
@drawings = map { start_numbers($_, 'seats') } @servers;
foreach my $drawing (@drawings)
{
	finish_numbers($drawing);
	like(slurp_file("$drawing->{file}.err"), qr/ERROR:  segment "seats" has no numbers to draw: the numbers of the segment are used up/,
		'used up: calls say so, ' . $drawing->{server}->name);
}
is_deeply([ sort { $a <=> $b } seen_numbers('seats') ], [ 1 .. 4950 ], '... after every number was given out, once');
fails_with($_, q{SELECT uid_segment_next('seats')}, '2200H', qr/HINT: .*raise max_value/, '... and say what to do: ' . $_->name) foreach @servers;
is(segment_status($_, 'seats', 'state'), 'used up', '... as does the status') foreach @servers;
$registry->safe_psql('postgres', q{SELECT uidgen_registry.change_segment('seats', max_value => 1000000)});
draw_numbers($_, 'seats', 300) foreach @servers;
one_by_one('seats', 'the end is moved', in_order => 1);

done_testing();
