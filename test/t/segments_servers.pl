# Several servers draw numbers of one segment, while its steps are changed, servers stop and crash.  No number comes twice,
# each server's increase, and of those that nobody has seen it is known where they are.

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

done_testing();
