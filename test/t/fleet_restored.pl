# The registry is lost, and a backup of it restored that was made before some failovers.  Nodes that run refuse it, as they
# have seen later timelines, and nodes that start take it.  One word of its owner, and all do: take_over_registry().  A
# former primary that still lives stays refused; the same backup can be restored again.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $primary = fleet_registry('primary', max_lead => '3 s', clock_slack => '1 s');
create_segment($primary, qq{'orders', step => 100});
my ($second, $third, $restored, $again) = map { PostgreSQL::Test::Cluster->new($_) } qw(second third restored again);
my $hosts = hosts($primary, $second, $third, $restored, $again);
my ($running, $restarted) = map { fleet_node($_, $hosts) } qw(running restarted);

# A server from the backup, promoted if it is said; it follows nobody.
sub restore
{
	my ($server, $promotes) = @_;
	$server->init_from_backup($primary, 'before');
	if ($promotes)
	{
		$server->append_conf('postgresql.conf', "restore_command = 'false'\nprimary_conninfo = ''");
		append_to_file($server->data_dir . '/recovery.signal', '');
	}
	$server->start;
	$server->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	return (split /\|/, $server->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()'))[0];
}

# The registry goes from one server to a standby of it.
sub fail_over
{
	my ($from, $to) = @_;
	$from->backup($to->name);
	$to->init_from_backup($from, $to->name, has_streaming => 1);
	$to->start;
	$from->wait_for_catchup($to);
	$from->stop('immediate');
	$to->promote;
	draws($running, $restarted);
	ok(goes_on($running, $restarted), 'the registry fails over to the server ' . $to->name);
	draw_numbers($_, 'orders', 150) foreach $running, $restarted;
	return;
}

sub refuses
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(poll_until(sub { last_error($node) =~ /^the registry's answer came from a server that it has left behind/ }), $name) || diag(last_error($node));
}

draw_numbers($_, 'orders', 150) foreach $running, $restarted;
$primary->backup('before');
fail_over($primary, $second);
fail_over($second, $third);
ok($running->poll_query_until('postgres', 'SELECT timeline = 3 FROM uidgen.status'), 'nodes have seen timeline 3');

# ---- the backup is restored ----

my $highest = (sort { $b <=> $a } seen_numbers('orders'))[0];
$third->stop('immediate');
stops_drawing($restarted);
is(restore($restored, 1), 2, 'the registry is lost; a backup is restored from before two failovers, and promoted');
refuses($running, '... a node that runs refuses it');
# The attempt that a diagnosis asks for may meet no server that answers in time.
ok(poll_until(sub { $running->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()') =~ /SELECT uidgen_registry\.take_over_registry\(\)/ }), '... and says what to do');
$restarted->restart;
draws($restarted);
ok(goes_on($restarted), '... and one that is restarted takes it at once');
is(status_of($running, 'timeline'), 3, '... but the other one does not');

# ---- its owner's word ----

my $told = $restored->safe_psql('postgres', 'SELECT uidgen_registry.take_over_registry()');
cmp_ok($told, '>', 1_000_000, 'its owner says that it counts from here on');
draws($running, $restarted);
ok(goes_on($running, $restarted), '... and all nodes take it');
ok($_->poll_query_until('postgres', "SELECT timeline = $told FROM uidgen.status"), '... as later than all before: ' . $_->name) foreach $running, $restarted;

# What of the numbers was given since nobody knows, not even a node that was restarted.
foreach my $node ($restarted, $running)
{
	like((draw_all_numbers($node, 'orders'))[1], qr/ERROR:  55000: .*the registry has stopped it, as numbers may have been given out twice.*raise_segment\(\)/s,
		'... its segments are stopped: ' . $node->name);
}
my $evidence = segment($restored, 'orders', 'evidence');
cmp_ok($evidence, '>=', (sort { $b <=> $a } seen_numbers('orders', $running))[0], '... and it is written down what nodes know of');
$restored->safe_psql('postgres', 'SELECT uidgen_registry.raise_segment(name, greatest(evidence, last_value) + failover_gap) FROM uidgen_registry.segment');
draw_numbers($_, 'orders', 150) foreach $running, $restarted;
one_by_one('orders', 'raised, they go on', in_order => 1);

# ---- a former primary that lives ----

# It was the registry's last, with a later timeline than that of the backup.
$third->start;
my @stopped = stop_processes($restored);
refuses($_, 'a former primary that still answers is refused: ' . $_->name) foreach $running, $restarted;
kill 'CONT', @stopped;
ok(goes_on($running, $restarted), '... and nodes go back to the one that was taken over');
ok($_->poll_query_until('postgres', "SELECT timeline = $told FROM uidgen.status"), '... ' . $_->name) foreach $running, $restarted;
$third->stop('immediate');

# ---- the same backup once more ----

$restored->stop('immediate');
is(restore($again, 0), 1, 'the same backup is restored again, and started as it is');
refuses($_, '... nodes refuse it: ' . $_->name) foreach $running, $restarted;
cmp_ok($again->safe_psql('postgres', 'SELECT uidgen_registry.take_over_registry()'), '>', $told, '... until its owner says that it is the later one');
draws($running, $restarted);
ok(goes_on($running, $restarted), '... and all nodes take it');
like((draw_all_numbers($running, 'orders'))[1], qr/the registry has stopped it/, '... where its segments are stopped, too');
# It goes on in its standbys.
my $standby = standby_of($again, 'standby');
is($standby->safe_psql('postgres', 'SELECT timeline_offset FROM uidgen_registry.registry'), $again->safe_psql('postgres', 'SELECT timeline_offset FROM uidgen_registry.registry'),
	'a standby has what it takes as well');

nothing_twice('no id was seen twice');
done_testing();
