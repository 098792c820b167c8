# What no failover_gap covers is noticed: two failovers in a row, of which the second server knows nothing of the
# first one; and a copy of the registry's files that is started as it is.  Who knows of numbers that the registry cannot
# explain stops the segment for all, until its owner raises it.  With segments_confirmed, two failovers repeat nothing.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $GAP = 5000;
my $STOPPED = qr/ERROR:  55000: .*the registry has stopped it, as numbers may have been given out twice.*raise_segment\(\)/s;

# A registry, two standbys that follow it, and servers that reach all of them.
sub set_up
{
	my ($name, @nodes) = @_;
	my $registry = fleet_registry($name);
	$registry->backup('backup');
	my @standbys = map { PostgreSQL::Test::Cluster->new("${name}_$_") } 1, 2;
	foreach my $standby (@standbys)
	{
		$standby->init_from_backup($registry, 'backup', has_streaming => 1);
		$standby->start;
	}
	my $hosts = hosts($registry, @standbys);
	# No answer is lost to a busy machine.
	return ($registry, @standbys, map { fleet_node($_, $hosts, "uidgen.registry_timeout = '1min'") } @nodes);
}

sub follows_all
{
	my ($registry, @standbys) = @_;
	$registry->wait_for_catchup($_) foreach @standbys;
	return;
}

# The numbers that two servers have both seen.
sub common
{
	my ($segment, $one, $other) = @_;
	my %seen = map { $_ => 1 } seen_numbers($segment, $one);
	return scalar grep { $seen{$_} } seen_numbers($segment, $other);
}

sub stopped
{
	my ($server, $segment, $name) = @_;
	my (undef, $err) = draw_all_numbers($server, $segment);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like($err, $STOPPED, $name);
}

# ---- two failovers, of which the second server has not seen the first ----

my ($registry, $first, $second, $one, $two, $three) = set_up('registry', 'one', 'two', 'three');
create_segment($registry, qq{'$_', step => 100}) foreach qw(noticed late orders);
$registry->safe_psql('postgres', by_hand("UPDATE uidgen_registry.segment SET max_step = 100, failover_gap = $GAP"));
foreach my $segment (qw(noticed late orders))
{
	draw_numbers($_, $segment, 50) foreach $one, $two;
}
await_keeper($_) foreach $one, $two;
follows_all($registry, $first, $second);
$registry->stop('immediate');
$first->promote;
draw_numbers($one, $_, 350) foreach qw(noticed late);
await_keeper($one);
cmp_ok((sort { $b <=> $a } seen_numbers('noticed', $one))[0], '>', $GAP, 'a first server takes over, and gives out numbers above the gap');
$first->stop('immediate');
# It never followed that one, which ends before it could.
$second->promote;
is($second->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'), 2, 'a second one takes over, on the same timeline');
# Who knows comes first.
stopped($one, 'noticed', 'who was given numbers by the first one stops the segment');
stopped($_, 'noticed', '... also for others: ' . $_->name) foreach $two, $three;
is($second->safe_psql('postgres', q{SELECT string_agg(name, ' ') FROM uidgen_registry.segment WHERE stopped IS NOT NULL}), 'noticed', '... and no other one');
my $evidence = segment($second, 'noticed', 'evidence');
cmp_ok($evidence, '>=', (sort { $b <=> $a } seen_numbers('noticed', $one))[0], '... and how far it was given numbers is written down');
$second->safe_psql('postgres', "SELECT uidgen_registry.raise_segment('noticed', $evidence)");
draw_numbers($_, 'noticed', 250) foreach $one, $two, $three;
one_by_one('noticed', 'raised, it goes on', in_order => 1);

# Others come first: their numbers do repeat, up to the first call of who knows.
draw_numbers($two, 'late', 350);
cmp_ok(common('late', $one, $two), '>', 100, 'who knows nothing of the first one is given the same numbers');
await_keeper($two);
stopped($one, 'late', '... until one comes who does');
draw_all_numbers($two, 'late');
my $last = segment($second, 'late', 'last_value');
stopped($_, 'late', '... after which nobody gets any: ' . $_->name) foreach $two, $three;
is(segment($second, 'late', 'last_value'), $last, '... from the registry');
$second->safe_psql('postgres', q{SELECT uidgen_registry.raise_segment('late', greatest(last_value, evidence)) FROM uidgen_registry.segment WHERE name = 'late'});
my @later = map { draw_numbers($_, 'late', 250) } $three, $one, $two;
is(scalar(repeated(\@later)), 0, 'raised, it goes on without repeating any');
# One that nobody drew from the first server has nothing to be stopped for.
draw_numbers($_, 'orders', 250) foreach $one, $two, $three;
one_by_one('orders', 'a segment that the first one gave nothing of goes on', in_order => 1);

# ---- a copy of the files, started as it is ----

draw_numbers($_, 'orders', 150) foreach $one, $two;
await_keeper($_) foreach $one, $two;
$second->stop;
$second->backup_fs_cold('snapshot');
$second->start;
$second->safe_psql('postgres', q{SELECT count(*) FROM uidgen_registry.segment});
$last = segment($second, 'orders', 'last_value');
draw_numbers($one, 'orders', 450);
await_keeper($one);
is(segment($second, 'orders', 'last_value') - $last, 100 * int((segment($second, 'orders', 'last_value') - $last) / 100), 'a restart leaves no number out');
cmp_ok(segment($second, 'orders', 'cardinality(reigns)'), '>', 1, '... though it is a reign');
$second->stop('immediate');
PostgreSQL::Test::Utils::system_or_bail('rm', '-rf', $second->data_dir);
PostgreSQL::Test::Utils::system_or_bail('cp', '-a', $second->backup_dir . '/snapshot', $second->data_dir);
chmod 0700, $second->data_dir or die $!;
$second->append_conf('postgresql.conf', 'port = ' . $second->port);
$second->start;
is($second->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'), 2, 'a snapshot is started as it is, without another timeline');
draw_numbers($three, 'orders', 450);
await_keeper($three);
cmp_ok(common('orders', $one, $three), '>', 100, '... and who knows of nothing later is given numbers that were given out');
stopped($one, 'orders', '... until one comes who does');
draw_all_numbers($three, 'orders');
stopped($_, 'orders', '... after which nobody gets any: ' . $_->name) foreach $two, $three;
$second->stop('immediate');
$_->stop('immediate') foreach $one, $two, $three;

# ---- with segments_confirmed ----

($registry, $first, $second, $one, $two) = set_up('confirmed', 'four', 'five');
create_segment($registry, q{'bills', step => 100});
$registry->safe_psql('postgres', "SELECT uidgen_registry.change_segment(name, max_step => 100, failover_gap => $GAP) FROM uidgen_registry.segment; SELECT uidgen_registry.change_registry(segments_confirmed => true)");
draw_numbers($_, 'bills', 50) foreach $one, $two;
follows_all($registry, $first, $second);
$registry->stop('immediate');
$first->promote;
my $NONE = qr/ERROR:  55000: .*no standby of the registry has replayed its failover so far.*raise_segment\(\)/s;
like(draw_to_error($one, 'bills', '3s', $NONE), $NONE, 'confirmed: a server that took over gives nothing by itself');
# A call waits for that, and goes on by itself.
my $waiting = start_numbers($two, 'bills', 20);
$second->append_conf('postgresql.conf', "primary_conninfo = '" . $first->connstr . "'");
$second->reload;
is(scalar(finish_numbers($waiting)), 20, '... until a standby follows it; who waits goes on then');
draw_numbers($_, 'bills', 350) foreach $one, $two;
await_keeper($_) foreach $one, $two;
follows_all($first, $second);
$first->stop('immediate');
$second->promote;
draw_all_numbers($one, 'bills', '3s');
$second->safe_psql('postgres', q{SELECT uidgen_registry.raise_segment('bills', 0)});
draw_numbers($_, 'bills', 350) foreach $two, $one;
one_by_one('bills', 'confirmed: two failovers, and the owner\'s word where no standby is left', in_order => 1);

done_testing();
