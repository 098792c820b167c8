# A registry loses commits by a failover and by a restore: what was lost is granted to nobody else, and who holds a grant goes on.
# Without the rules (docs/design/fleet.md), two equal ids came out of these schedules: nodes slept while others took their worker ids,
# a node crashed whose row nobody knows any more, and the clock of the server that takes over is behind.  Ids run ahead of the
# clock meanwhile, since otherwise the time alone would keep them apart.
# Promise: P1
# Kills: script/registry/30_fleet.sql: quarantine_until = greatest(r.quarantine_until, r.reached_until, newest => quarantine_until = least(r.quarantine_until, r.reached_until, newest

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Fleet;
use UidgenTest;

# 16 ids in a millisecond, so that it is easy to outrun the clock.
my $LAYOUT = 'time:41:1ms worker:10 sequence:4 epoch:2025-01-01';
my $AHEAD = 24_000;    # ids: 1.5 s

my $primary = fleet_registry('primary', layout => $LAYOUT, max_lead => '3 s', clock_slack => '5 s');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
my $clock = FakeClock->new($standby);
$clock->under(sub { $standby->start });
my $restored = PostgreSQL::Test::Cluster->new('restored');

# A node that takes this worker id only.
sub node
{
	my ($name, $worker) = @_;
	return fleet_node($name, hosts($primary, $standby, $restored), "uidgen.layout = '$LAYOUT'", "uidgen.max_burst = '2s'", "uidgen.worker_id = $worker");
}

sub granted_until
{
	my ($worker) = @_;
	return rows($primary, 'granted_until', "WHERE worker_id = $worker");
}

# ---- two nodes sleep, and what comes then is lost ----

my ($sleeper_1, $sleeper_2) = (node('sleeper_1', 1), node('sleeper_2', 2));
my ($heir_1, $heir_2, $crashed) = (node('heir_1', 1), node('heir_2', 2), node('crashed', 3));
draws($sleeper_1, $sleeper_2);
ok(goes_on($sleeper_1, $sleeper_2), 'two nodes draw ids');
# The standby knows the last grant of the one ...
my @asleep = stop_processes($sleeper_2);
$primary->wait_for_catchup($standby);
$standby->stop;
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$clock->under(sub { $standby->start });
# ... and an earlier one of the other.
my $end = granted_until(1);
ok(poll_until(sub { granted_until(1) > $end }), 'one has renewed after the standby was cut off');
# While it still draws, so that it is told that, however long its first call takes.
draws($heir_1);
ok(poll_until(sub { log_since($heir_1, 0) =~ /worker id 1 belongs to another node/ }), 'another node asks for the worker id of one of them, in vain');
push @asleep, stop_processes($sleeper_1);

draws($heir_2, $crashed);
ok(goes_on($crashed), 'another node comes');
ok(goes_on($heir_1, $heir_2), 'the worker ids of those that sleep are free after a while');
stops_drawing($_) foreach $heir_1, $heir_2, $crashed;
draws_ahead($_, $AHEAD) foreach $heir_1, $heir_2, $crashed;

# ---- failover ----

$crashed->stop('immediate');
$primary->stop('immediate');
$clock->step(-0.8);
$standby->promote;
kill 'CONT', @asleep;
$crashed->start;
draws($crashed);
foreach my $sleeper ($sleeper_1, $sleeper_2)
{
	my $said = '';
	poll_until(sub { ($said) = log_since($sleeper, 0) =~ /(no new grant: the registry is in quarantine|no new grant: worker id|(?:uidgen acquired.*){2})/s });
	like($said, qr/no new grant/, 'who slept gets nothing at once') or diag(last_error($sleeper));
}
# They come first, and wait for the end of the quarantine; but not while they sleep again.
@asleep = map { stop_processes($_) } $sleeper_1, $sleeper_2;
draws($heir_1, $heir_2);
ok(goes_on($heir_1, $heir_2), 'who holds a grant goes on');
ok($_->poll_query_until('postgres', 'SELECT timeline = 2 FROM uidgen.status'), '... by the new primary') foreach $heir_1, $heir_2;
kill 'CONT', @asleep;
ok(poll_until(sub { log_since($_, 0) =~ /worker id \d belongs to another node/ }), '... and not who slept: ' . $_->name) foreach $sleeper_1, $sleeper_2;
ok(goes_on($crashed), 'who crashed goes on');
is_deeply([ map { worker_id($_) } $heir_1, $heir_2, $crashed ], [ 1, 2, 3 ], 'each has the worker id that it had');
stops_drawing($_), $_->stop('immediate') foreach $sleeper_1, $sleeper_2;

# ---- the old primary is back ----

$primary->start;
my @stopped = stop_processes($standby);
ok(poll_until(sub { log_since($heir_1, 0) =~ /LOG:  uidgen has no new grant: the registry's answer came from a server that it has left behind/ }),
	'the answer of a primary that was left behind is not used');
kill 'CONT', @stopped;
ok(goes_on($heir_1, $heir_2, $crashed), 'ids go on');
is(status_of($heir_1, 'timeline'), 2, '... by the one that is ahead');
$primary->stop;

# ---- a backup is restored ----

$standby->backup('backup');
$restored->init_from_backup($standby, 'backup');
stops_drawing($crashed);
draws_ahead($_, $AHEAD) foreach $heir_1, $heir_2, $crashed;
$crashed->stop('immediate');
$standby->stop('immediate');
$restored->start;
$crashed->start;
draws($crashed);
ok(goes_on($heir_1, $heir_2), 'after a restore, who holds a grant goes on');
ok(goes_on($crashed), 'who crashed goes on');
is_deeply([ map { worker_id($_) } $heir_1, $heir_2, $crashed ], [ 1, 2, 3 ], 'each has the worker id that it had');

nothing_twice('no id was seen twice');
done_testing();
