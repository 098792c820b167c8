# Clocks of a fleet: a node whose clock is wrong, or set, issues ids of the registry's time and keeps its worker id; a leap of
# the registry's clock is not followed, a step back is.
#
# A node's clock and the registry's are those of test/tools/clockshim.c.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Fleet;
use UidgenTest;

my %clock;

# Gives a server a clock that is off by so many seconds.
sub clock_off_by
{
	my ($seconds) = @_;
	return sub {
		my ($node) = @_;
		my $clock = $clock{ $node->name } = FakeClock->new($node);
		$clock->step($seconds);
		return $clock;
	};
}

my $registry = fleet_registry('registry', clock => clock_off_by(0));
my ($right, $wrong) = (fleet_node('right', hosts($registry), clock_off_by(0)), fleet_node('wrong', hosts($registry), clock_off_by(3600)));
draws($right, $wrong);
ok(goes_on($right, $wrong), 'two nodes draw ids, one of which has a clock that is an hour ahead');
my %worker = map { $_->name => worker_id($_) } $right, $wrong;
is_logged($wrong, 0, qr/LOG:  uidgen begins by the clock of the registry, which is 3[56]\d{5} ms behind this server's\n/, 'at first contact the log says so');
unlike(log_since($right, 0), qr/begins by the clock/, '... where clocks differ');

# By how many seconds the time of a new id is outside of what the registry's clock shows before and after.
sub off
{
	my ($node) = @_;
	my ($before, $id, $after) = map { $_->[0]->safe_psql('postgres', "SELECT $_->[1]") }
	  [ $registry, 'extract(epoch FROM clock_timestamp())' ], [ $node, 'extract(epoch FROM uid_timestamp(uid_next()))' ],
	  [ $registry, 'extract(epoch FROM clock_timestamp())' ];
	return $id < $before ? $id - $before : $id > $after ? $id - $after : 0;
}

# Ids of both have the time of the registry, to within what a call of it takes.
sub has_the_registrys_time
{
	my ($name, $offset) = @_;
	my @off = map { off($_) } $right, $wrong;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(!(grep { abs($_ - ($offset // 0)) > 5 } @off), "$name: ids have the time of the registry") || diag("off by @off seconds");
}

# They go on with the worker ids that they had.
sub keep_worker_ids
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(goes_on($right, $wrong), "$name: ids go on");
	return is_deeply({ map { $_->name => worker_id($_) } $right, $wrong }, \%worker, '... of the same worker ids');
}

sub times_logged
{
	my ($node, $what) = @_;
	return scalar(() = log_since($node, 0) =~ /$what/g);
}

sub asks_for_an_id
{
	my ($node) = @_;
	return (try_psql($node, "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()"))[0] == 0;
}

# ---- a node's clock ----

has_the_registrys_time('an hour ahead');
ok($wrong->poll_query_until('postgres', q{SELECT clock_offset BETWEEN '-1:00:05' AND '-0:59:55' AND clock_width < '5 s' FROM uidgen.status}),
	'uidgen.status says how far it is off');
foreach my $step (-7200, 30, 80_000)
{
	$clock{wrong}->step($step);
	keep_worker_ids("the clock is set by $step s");
	has_the_registrys_time('so');
}
is(status_of($wrong, 'clock_steps'), 0, 'these were no steps of the fleet\'s time');
is(times_logged($wrong, 'uidgen acquired worker id'), 1, 'nor was anything acquired');
stops_drawing($wrong);
$wrong->stop('fast');
$clock{wrong}->set(time + 3 * 86400);
$clock{wrong}->under(sub { $wrong->start });
fails_with($wrong, 'SELECT uid_next()', '55000',
	qr/the clocks of this server and of the registry are more than a day apart.*DETAIL:  .*behind this server's.*HINT:  Correct the clock/s,
	'more than a day apart: callers are told');
$clock{wrong}->set(time - 3600);
draws($wrong);
keep_worker_ids('corrected');
has_the_registrys_time('corrected');

# ---- readers that go on by id, after a restart ----

stops_drawing($wrong);
$clock{wrong}->set(time + 3600);
$clock{wrong}->under(sub { $wrong->restart });
# The call asks for the first grant, which does not come before its answer.
my @stopped = stop_processes($registry);
is($wrong->safe_psql('postgres', 'SELECT (SELECT horizon_lag FROM uidgen.status) IS NULL, uid_horizon() IS NULL'), 't|t', 'before the first grant a node does not tell readers what time it is');
kill 'CONT', @stopped;
ok($wrong->poll_query_until('postgres', 'SELECT uid_horizon() IS NOT NULL'), '... but a reader asks for one');
my $id = $wrong->safe_psql('postgres', 'SELECT uid_next()');
ok($wrong->poll_query_until('postgres', "SELECT uid_horizon() BETWEEN $id AND uid_max(uid_timestamp($id) + interval '10 min')"),
	'... and is told of ids in the time of the registry');
draws($wrong);
keep_worker_ids('so');

# ---- the registry's clock ----

# A node whose own clock is wrong is no witness of a leap.
$clock{wrong}->correct;
$clock{registry}->step(3600);
my $leap = 'uidgen does not follow the clock of the registry, which was set forward';
ok(poll_until(sub { times_logged($right, $leap) && times_logged($wrong, $leap) }), 'the clock of the registry leaps: nodes say that they do not follow');
keep_worker_ids('not followed');
has_the_registrys_time('a leap', -3600);
is(times_logged($right, $leap), 1, 'it is said once');
$clock{registry}->correct;
keep_worker_ids('the clock of the registry is correct again');
has_the_registrys_time('correct again');
is(status_of($right, 'clock_steps'), 0, 'nothing of that was a step of the fleet\'s time');

# As if the last quarantine had ended long ago, since nobody begins before its end.
$registry->safe_psql('postgres', by_hand('UPDATE uidgen_registry.registry SET quarantine_until = quarantine_until - 7200000'));
$clock{registry}->step(-3600);
ok(poll_until(sub { status_of($right, 'clock_steps') && status_of($wrong, 'clock_steps') }), 'it is set back: nodes follow');
ok(goes_on($right, $wrong), '... and ids go on');
has_the_registrys_time('set back');
isnt(worker_id($_), $worker{ $_->name }, '... of another worker id') foreach $right, $wrong;
isnt(worker_id($right), worker_id($wrong), '... each of its own');
is_logged($right, 0, qr/the time of the fleet was set back by 3[56]\d{5} ms/, '... as the log says');

# ---- a node that draws numbers alone ----

# Nobody asks for ids, whose grants tell what the registry's clock shows.
stops_drawing($_) foreach $right, $wrong;
$registry->safe_psql('postgres', q{SELECT uidgen_registry.create_segment('numbers', step := 1)});
$clock{registry}->step(3600);
ok(poll_until(sub { $right->psql('postgres', q{SET uidgen.wait_timeout = '20s'; SELECT uid_segment_next('numbers')}, on_error_stop => 1) == 0 }),
	'the clock of the registry leaps: a node gets numbers, though nothing but them is drawn');

# ---- a registry whose clock was ahead for a moment ----

# What began in that moment is ahead, and so is the quarantine after a restart.
$clock{registry}->correct;
quarantine_ends($registry);
ok(poll_until(sub { asks_for_an_id($right) }), 'the clock of the registry is correct');
$clock{registry}->step(3600);
my $misled = fleet_node('misled', hosts($registry), clock_off_by(0));
ok(poll_until(sub { asks_for_an_id($misled) }), 'it is an hour ahead for a moment, in which a node begins');
is_logged($misled, 0, qr/LOG:  uidgen begins by the clock of the registry, which is 3[56]\d{5} ms ahead of this server's\n.*\n.*HINT:  If it is the registry's, ids go back once that is correct/,
	'... which says so');
$clock{registry}->correct;
$registry->stop('fast');
$clock{registry}->under(sub { $registry->start });
my $late = fleet_node('late', hosts($registry), clock_off_by(0), "uidgen.wait_timeout = '100ms'");
ok(poll_until(sub { asks_for_an_id($late); last_error($late) =~ /^the registry is in quarantine until/ }), 'restarted later it is in quarantine');
comes_to_fail($late, 'SELECT uid_next()', '55000', qr/HINT:  The clock of the registry was ahead when the quarantine began\. If it is correct now, and nothing can be lost, .*end_quarantine/,
	'... for as much longer, and a node that waits says why');
quarantine_ends($registry);
ok(poll_until(sub { asks_for_an_id($late) }), 'the owner ends it');

nothing_twice('no id was seen twice');
done_testing();
