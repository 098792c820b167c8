# The registry fails over with and without lost commits, and is restored: no gap is left out where nothing can be lost.  A primary that
# was left behind is not used, also by a server that draws nothing but numbers.
# Promise: S1, S2
# Kills: script/registry/42_segment_calls.sql segment_fetch: s.timeline := call.timeline; => NULL;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $GAP = 5000;

my $primary = fleet_registry('primary');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
my ($second, $restored) = map { PostgreSQL::Test::Cluster->new($_) } qw(second restored);
my $hosts = hosts($primary, $standby, $second, $restored);
# They draw numbers, and no ids.  No answer is lost to a busy machine.
my @servers = map { fleet_node($_, $hosts, "uidgen.registry_timeout = '1min'") } qw(one two three);
my ($one, $two, $three) = @servers;
# Where it is written down how much a fetch brings, and when.
ranges_of_100($primary, $GAP, qw(orders bills rare short));

sub last_value
{
	my ($registry, $segment) = @_;
	return segment($registry, $segment, 'last_value');
}

# All go on: all numbers are above these, and the registry has left out this gap, once.
sub goes_on_above
{
	my ($registry, $segment, $last, $gap, $name, @which) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $left = 0;
	$left += segment_status($_, $segment, 'numbers_left') || 0 foreach @which;
	my $fetches = 0;
	$fetches -= segment_status($_, $segment, 'fetched') || 0 foreach @which;
	# More than is left anywhere, so all of them fetch.
	my @numbers = map { draw_numbers($_, $segment, 350) } @which;
	await_keeper($_) foreach @which;
	$fetches += segment_status($_, $segment, 'fetched') foreach @which;
	is(last_value($registry, $segment), $last + $gap + $fetches, "$name: the gap is left out once");
	return one_by_one($segment, '... and all servers go on', in_order => 1);
}

# ---- commits are lost ----

foreach my $segment (qw(orders bills))
{
	draw_numbers($_, $segment, 150) foreach @servers;
}
draw_numbers($_, 'short', 150) foreach $one, $three;
draw_numbers($three, 'rare', 10);
await_keeper($_) foreach @servers;
$primary->wait_for_catchup($standby);
$standby->stop;
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->start;
# What it will know, and what it will not.
my %known = map { $_ => last_value($standby, $_) } qw(orders bills rare short);
draw_numbers($_, 'orders', 500) foreach $one, $two;
draw_numbers($one, 'bills', 500);
await_keeper($_) foreach @servers;
cmp_ok(last_value($primary, 'orders'), '>', $known{orders} + 900, 'ranges are given out that the standby does not know of');
# Some are still in buffers, and are drawn after the failover.
foreach my $server ($one, $two)
{
	ok(poll_until(sub { segment_status($server, 'orders', 'numbers_left') > 100 }), '... and some of them are left: ' . $server->name);
}
$primary->stop('immediate');
$standby->promote;

# The first to ask knows nothing of what was lost.
goes_on_above($standby, 'orders', $known{orders}, $GAP, 'commits are lost, and one asks who knows of none', $three, $one, $two);
# The first to ask knows all.
goes_on_above($standby, 'bills', $known{bills}, $GAP, 'commits are lost, and one asks who knows of them', $one, $two, $three);
goes_on_above($standby, 'orders', last_value($standby, 'orders'), 0, 'after that', @servers);

# ---- the old primary is back ----

# No server has a grant, as none draws ids but for the questions above, so the timeline is known by segments.
my $node = fleet_node('numbers_only', $hosts);
draw_numbers($node, $_, 150) foreach qw(orders bills);
is($node->safe_psql('postgres', 'SELECT granted_until IS NULL FROM uidgen.status'), 't', 'a server that never had a grant');
$primary->start;
my @stopped = stop_processes($standby);
# What it is told by a server that has seen the new one stops it, for all.
my $old = last_value($primary, 'orders');
my $log = -s $node->logfile;
foreach my $segment (qw(orders bills))
{
	my (undef, $err) = draw_all_numbers($node, $segment, '3s');
	like($err, qr/ERROR:  55000: /, 'while a primary that was left behind answers alone, there are no more numbers');
}
ok(poll_until(sub { log_since($node, $log) =~ /uidgen has no further numbers of segment "\w+": the registry's answer came from a server that it has left behind/ }),
	'... as its answers are not used');
ok($primary->poll_query_until('postgres', q{SELECT count(*) = 2 FROM uidgen_registry.segment WHERE stopped ~ 'knows nothing of' AND name IN ('orders', 'bills')}), '... and it has learnt that there is a new one');
is(last_value($primary, 'orders'), $old, '... and gives out no more numbers');
kill 'CONT', @stopped;
foreach my $segment (qw(bills orders))
{
	ok(poll_until(sub { (sqlstate_of($node, "SELECT uid_segment_next('$segment')"))[0] eq '' }), 'the new one is back, beside the old one: numbers go on') or diag(segment_status($node, $segment, 'last_error'));
	draw_numbers($node, $segment, 500);
}
$primary->stop('immediate');
change_setting($node, 'uidgen.registry_timeout', '1min');
one_by_one($_, "... $_", in_order => 1) foreach qw(orders bills);
goes_on_above($standby, 'orders', last_value($standby, 'orders'), 0, 'afterwards', @servers, $node);

# ---- nothing is lost ----

# A switchover with a synchronous standby; one segment's owner says that nothing can be lost.
$standby->backup('second');
$second->init_from_backup($standby, 'second', has_streaming => 1);
$second->start;
change_setting_of($standby, 'synchronous_standby_names', '*');
$standby->safe_psql('postgres', by_hand(q{UPDATE uidgen_registry.segment SET failover_gap = 0 WHERE name = 'bills'}));
draw_numbers($_, 'orders', 150) foreach @servers;
draw_numbers($_, 'bills', 150) foreach @servers;
await_keeper($_) foreach @servers, $node;
$standby->wait_for_catchup($second);
$standby->stop;
$second->promote;
change_setting_of($second, 'synchronous_standby_names', '');
goes_on_above($second, 'bills', last_value($second, 'bills'), 0, 'a switchover that loses nothing, and no gap', @servers);
goes_on_above($second, 'orders', last_value($second, 'orders'), $GAP, '... and with a gap, all the same', @servers, $node);
# Of a segment that nobody has drawn since the first of the two, the gap is left out once.
goes_on_above($second, 'rare', $known{rare}, $GAP, 'two failovers without a fetch between them', $three, $one);

# ---- a backup is restored, and lacks more than the gap ----

$second->safe_psql('postgres', by_hand(q{UPDATE uidgen_registry.segment SET failover_gap = 100, version = uidgen_registry.new_token() WHERE name = 'short'}));
$second->backup('again');
draw_numbers($one, 'short', 700);
await_keeper($one);
restored_from($restored, $second, 'again');
cmp_ok((split /\|/, $restored->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'))[0], '>', 3, 'a backup is restored, which begins a timeline');
goes_on_above($restored, 'orders', last_value($restored, 'orders'), $GAP, '... and lacks nothing of a segment', @servers);
# More is missing than the gap: who knows it is told.
my (undef, $err) = draw_all_numbers($one, 'short');
like($err, qr/ERROR:  55000: .*the registry has stopped it, as numbers may have been given out twice.*raise_segment\(\)/s, '... and of another one more than its gap: it is stopped');
like((draw_all_numbers($three, 'short'))[1], qr/ERROR:  55000: .*the registry has stopped it/s, '... also for a server that knows of no loss');
my $highest = highest('short');
$restored->safe_psql('postgres', "SELECT uidgen_registry.raise_segment('short', $highest + 100)");
cmp_ok((draw_numbers($one, 'short', 1))[0], '>', $highest, '... until the owner raises it');
draw_numbers($_, 'short', 300) foreach @servers;
one_by_one($_, "of all, $_", in_order => 1) foreach qw(orders bills rare short);

done_testing();

# A setting of a server without uidgen, for new sessions.
sub change_setting_of
{
	my ($server, $setting, $value) = @_;
	$server->safe_psql('postgres', "SET synchronous_commit = local; ALTER SYSTEM SET $setting = '$value'");
	$server->reload;
	$server->poll_query_until('postgres', "SHOW $setting", $value) or die "$setting is not $value";
	return;
}
