# Proves what steps of the clock do while no grant is held, or while the grant in
# force began with a wrong clock: the true time counts, no worker id is wasted, and
# ids are not refused because the clock is corrected.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use UidgenTest;

my $hour = 3600;

# A server under a false clock, which still shows the true time.
sub begin_server
{
	my ($name, @conf) = @_;
	my $node = uidgen_node($name, @conf);
	my $clock = FakeClock->new($node);
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	return ($node, $clock);
}

# One test: a new id has the clock's time, but for a window or two.
sub has_true_time
{
	my ($node, $name) = @_;
	my ($sqlstate, $said) = sqlstate_of($node,
		"SELECT 'lead ' || extract(epoch FROM uid_timestamp(uid_next()) - clock_timestamp())");
	my ($lead) = $said =~ /lead (\S+)/;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($sqlstate eq '' && defined $lead && abs($lead) < 30, $name) || diag($said);
}

# ---- a step back while nothing is held ----

my ($node, $clock) = begin_server('released');
foreach my $policy ('reuse', 'disposable')
{
	$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.worker_policy = '$policy'");
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	$node->poll_query_until('postgres', "SELECT current_setting('uidgen.worker_policy') = '$policy'");
	has_true_time($node, "$policy: the clock is right");
	my $steps = $node->safe_psql('postgres', 'SELECT clock_steps FROM uidgen.status');
	end_keeper($node) or die 'no other keeper has begun';
	$clock->step(-2 * $hour);
	has_true_time($node, "$policy: handed back, then set back: the time is true at once");
	cmp_ok($node->safe_psql('postgres', 'SELECT clock_steps FROM uidgen.status'),
		'>', $steps, "$policy: and the step is counted");
	$clock->correct;
	has_true_time($node, "$policy: and set right again");
}
$node->stop;

# ---- a clock that was behind when the only worker id was granted ----

($node, $clock) = begin_server('alone', "uidgen.layout = 'time:41:1ms sequence:22 epoch:2025-01-01'");
has_true_time($node, 'one worker id: the clock is right');
$clock->step(-2 * $hour);
$clock->under(sub { $node->restart });
# Not before the keeper has a grant.
my $CALL = "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()";
poll_until(sub { (sqlstate_of($node, $CALL))[1] =~ /too far ahead/ });
fails_with($node, $CALL, '55000', qr/7[12]\d{5} ms ahead, and/,
	'one worker id, the clock is behind: it says by how much');
$clock->correct;
has_true_time($node, 'one worker id: when the clock is set right, ids go on');
$node->stop;

# ---- a clock that leaps while the grant is renewed ----

# The registry looks at the clock after the keeper has, and commits even later.
# The locks delay the look or the commit.
my $WAITS = "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'uidgen keeper' AND wait_event_type = 'Lock'";
foreach my $case (
	[ 'before the registry looks', 'LOCK TABLE uidgen_registry.registry' ],
	[ 'before the renewal ends', 'SELECT FROM uidgen_registry.worker_node FOR UPDATE' ])
{
	my ($when, $wait) = @$case;
	my $name = "set forward by two hours $when";
	($node, $clock) = begin_server($when =~ s/ /_/gr, 'uidgen.window = 2s');
	my $worker = $node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())');
	my $lock = $node->background_psql('postgres');
	$node->poll_query_until('postgres', 'SELECT granted_until < clock_timestamp() FROM uidgen.status') or die;
	$lock->query_safe("BEGIN; $wait");
	my $drawing = do
	{
		local $ENV{PGOPTIONS} = '-c uidgen.wait_timeout=1h';
		start_drawing($node);
	};
	$node->poll_query_until('postgres', $WAITS) or die 'the keeper does not wait';
	$clock->step(2 * $hour);
	$lock->query_safe('COMMIT');
	ok(await_drawing($drawing, 100), "$name: ids go on");
	stop_drawing($drawing);
	has_true_time($node, "$name: the time is true");
	$clock->correct;
	has_true_time($node, "$name, and set right again: the time is true");
	is($node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())'), $worker,
		"$name, and set right again: the old worker id, which kept its time");
	$lock->quit;
	$node->stop;
}

# ---- ids that outran the clock are no step of it ----

($node, $clock) = begin_server('outrun', "uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'",
	'uidgen.window = 500ms', "uidgen.max_burst = '60s'", "uidgen.wait_timeout = '60s'");
$node->safe_psql('postgres', 'SELECT count(uid_next()) FROM generate_series(1, 100000)');
end_keeper($node) or die 'no other keeper has begun';
my $last = $node->safe_psql('postgres', 'SELECT uid_next()');
$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.max_ahead = '1s'");
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
$node->poll_query_until('postgres', "SELECT current_setting('uidgen.max_ahead') = '1s'") or die;
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $last,
	'max_ahead below what ids outran the clock by: ids go on in order');
is($node->safe_psql('postgres', 'SELECT clock_steps FROM uidgen.status'), '0', 'and no step is counted');
$node->stop;

# Nor after a crash, together with a small step.
($node, $clock) = begin_server('outrun_and_crash', "uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'",
	'uidgen.window = 500ms', "uidgen.max_ahead = '20s'", "uidgen.max_burst = '20s'");
my $began = $clock->now;
$clock->stop($began);
$node->safe_psql('postgres', 'SELECT count(uid_next()) FROM generate_series(1, 120000)');
$node->stop('immediate');
$clock->under(sub { $node->start });
$last = $node->safe_psql('postgres', 'SELECT uid_next()');
$clock->stop($began - 12);
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $last,
	'outrun by 15 s, a crash, set back by 12 s of the 20 s allowed: ids go on in order');
is($node->safe_psql('postgres', 'SELECT clock_steps FROM uidgen.status'), '0', 'and no step is counted');
$node->stop;

# ---- a crash is no step of the clock, nor a large one together with a small step ----

# The clock stands still, so that it does not catch up with what the crash left behind.
($node, $clock) = begin_server('small', 'uidgen.max_ahead = 0', "uidgen.window = '60s'");
my $start = $clock->now;
$clock->stop($start);
$last = $node->safe_psql('postgres', 'SELECT uid_next()');
$node->stop('immediate');
$clock->under(sub { $node->start });
foreach my $time ($start, $start - 0.7)
{
	$clock->stop($time);
	my $id = $node->safe_psql('postgres', 'SELECT uid_next()');
	cmp_ok($id, '>', $last, 'max_ahead = 0, after a crash: ids go on in order, also when the clock is set back by less than a second');
	$last = $id;
}
is($node->safe_psql('postgres', 'SELECT clock_steps FROM uidgen.status'), '0', 'and that is no large step');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', 'with the same worker id');

# Two small steps make a large one.
$clock->stop($start - 1.4);
has_true_time($node, 'set back by less than a second once more: the time is true');
is($node->safe_psql('postgres', 'SELECT clock_steps FROM uidgen.status'), '1', 'both together are a large step');
$node->stop;

done_testing();
