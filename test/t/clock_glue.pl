# Proves that servers do what the rules of test/unit say of clocks and crashes: the keeper follows them, callers come to know,
# and the log and uidgen.status say so.
#
# The clock stands still, but where a scene moves it: so numbers are known, and ids come back to instants that were used.
#
#	UIDGEN_CRASHES=200 ./check test/t/clock_glue.pl

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use UidgenTest;

my $hour = 3600;
my $SOON = qr/^\d?\d\|/;	# above a grant that was left behind, if not at the true time
my $REFUSED_SOON = "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()";

my ($node, $clock, %last);

sub begin_server
{
	my ($name, @conf) = @_;
	$node = uidgen_node($name, 'restart_after_crash = on', "uidgen.window = '60s'", "uidgen.max_ahead = '1s'", "uidgen.wait_timeout = '1h'", @conf);
	$clock = FakeClock->new($node);
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	query(q{CREATE FUNCTION pause() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM generate_series(1, 5000); END'});
	$clock->stop(int($clock->now) + 1);
	%last = ();
	return;
}

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub draw
{
	my ($server) = @_;
	return [ split /\n/, $server->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 1000)') ];
}

# What passes is no step.
sub elapse
{
	my ($seconds) = @_;
	$clock->suspend($seconds);
	return;
}

# The clock is set while the server is down.
sub restart
{
	my ($step, $mode) = @_;
	$node->stop($mode // 'fast');
	$clock->step($step);
	$clock->under(sub { $node->start });
	return;
}

# One test: an id comes, larger than all before of its worker id, which is returned; uidgen.status says by how many seconds
# it is ahead of the clock, and why.
sub draws
{
	my ($name, $ahead) = @_;
	my ($state, $said) = sqlstate_of($node, "SELECT 'got', id, coalesce(worker, -1) FROM uid_parse(uid_next())");
	my ($id, $worker) = $said =~ /got\|(\d+)\|(\S+)/;
	my $status = query('SELECT round(extract(epoch FROM ahead)), ahead_cause FROM uidgen.status');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$ahead //= '0|';
	ok($state eq '' && $id > ($last{$worker} // 0) && (ref $ahead ? $status =~ $ahead : $status eq $ahead), $name) || diag("$said, $status");
	$last{$worker} = $id if $state eq '';
	return $worker // 'none';
}

sub steps
{
	return query('SELECT clock_steps FROM uidgen.status');
}

sub worker_ids
{
	return query('SELECT count(*) FROM uidgen_registry.worker_node');
}

# One test: by how many seconds readers that go on by id are behind.
sub lags
{
	my ($seconds, $name) = @_;
	query('SELECT uid_horizon()');	# where the library is not preloaded, nobody may have begun yet
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(query('SELECT round(extract(epoch FROM horizon_lag)) FROM uidgen.status'), $seconds, $name);
}

# One test: why the latest worker id was taken.  An id may come before the keeper has written that.
sub is_reason
{
	my ($pattern, $name) = @_;
	my $reason = '';
	poll_until(sub { ($reason = (log_since($node, 0) =~ /LOG:  uidgen acquired worker id \d+\n.*DETAIL:  (.*)/g)[-1] // '') =~ $pattern });
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like($reason, $pattern, $name);
}

# ---- a crash, with a window that is longer than max_ahead ----

begin_server('main');
my $first = draws('ids are drawn');
crash($node);
lags(0, 'a crash: readers have all that there is');
is(draws('a crash: ids go on at once, a window ahead', '60|crash'), $first, '... with the same worker id');
is_reason(qr/^This server had it before\. Its grant begins 60\d{3} ms ahead of the clock\.$/, '... as the log says');
lags(60, '... and readers are behind by as much');
crash($node);
my $second = draws('a second crash: the true time');
isnt($second, $first, '... of another worker id');
is_reason(qr/^It was never used before\. The grants of this server's earlier worker ids are too far from the time of the clock\.$/, '... as the log says');
elapse(200);
is(draws('later the clock has come to what was granted'), $second, '... which goes on');
lags(0, '... and readers have all');
is(steps() . '|' . worker_ids(), '0|2', 'a crash is no step of the clock');

# ---- set back by less than a window, while the server runs or is down ----

$clock->step(-50);
isnt(draws('set back by 50 s, of one allowed: the true time at once'), $second, '... of another worker id');
is_reason(qr/^The clock was set back by 50\d{3} ms\. /, '... as the log says');
is(steps(), 1, '... and the step is counted');
elapse(300);
$first = draws('ids are drawn');
restart(-1.5);
is(draws('set back by little while the server is down: in order', '2|clock set back'), $first, '... with the same worker id');
elapse(100);
draws('ids are drawn');
restart(-50);
isnt(draws('set back by much while the server is down: the true time at once'), $first, '... of another worker id');

# ---- an hour is allowed ----

change_setting($node, 'uidgen.max_ahead', '1h');
elapse(300);
$first = draws('ids are drawn');
my $steps = steps();
$clock->step(-0.5 * $hour);
is(draws('set back by half an hour: in order, ahead of the clock', '1800|clock set back'), $first, '... with the same worker id');
end_keeper($node) or die 'no other keeper has begun';
is(draws('and the keeper begins anew: in order', '1800|clock set back'), $first, '... with the same worker id');
is(steps(), $steps, '... and that is no large step');
$clock->step(-0.7 * $hour);
isnt(draws('two small steps make a large one: the true time at once'), $first, '... of another worker id');
$clock->step(1.2 * $hour);
is(draws('and home again: the true time at once', $SOON), $first, '... of the first worker id');
is_reason(qr/^The clock was set forward by 4\d{6} ms; worker id \d+ is kept for when the clock returns\. This server had it before\./, '... as the log says');
is(steps(), $steps + 2, '... and both are counted');

elapse(300);
my $kept = query("SELECT granted_until FROM uidgen_registry.worker_node WHERE worker_id = " . draws('ids are drawn'));
my $home = $clock->now;
$clock->stop(2082758400);
$second = draws('set forward to 2036: the true time at once');
isnt($second, $first, '... of another worker id');
is(query("SELECT current_date - launch_date BETWEEN 0 AND 1, (SELECT granted_until FROM uidgen_registry.worker_node WHERE worker_id = $first) FROM uidgen_registry.worker_node WHERE worker_id = $second"),
	"t|$kept", '... whose row has the day, and the row of the first one stays as it is');
$clock->stop($home);
is(draws('and back: the true time at once', $SOON), $first, '... of the first worker id');

# Nothing is held.
elapse(300);
draws('ids are drawn');
$steps = steps();
end_keeper($node) or die 'no other keeper has begun';
$clock->step(-4 * $hour);
draws('handed back, then set back: the true time at once');
is(steps(), $steps + 1, '... and the step is counted');
restart(4 * $hour, 'immediate');
is(draws('set right after an immediate stop: the true time', $SOON), $first, '... of the first worker id');

# Sessions draw throughout.
my $rows = worker_ids();
my @throughout = map { start_drawing($node, 'postgres', 'pause()') } 1, 2;
is((grep { $clock->step($_); !await_drawing($throughout[0], 100) || !await_drawing($throughout[1], 100) } (-2 * $hour, 2 * $hour) x 3),
	0, 'to and fro, while two sessions draw: both go on');
is(repeated(map { stop_drawing($_) } @throughout), 0, '... and no id comes twice');
is(worker_ids(), $rows, '... and no worker id is used up');

# ---- the clock leaps while the grant is renewed ----

# The registry looks at the clock after the keeper has, and commits even later.
foreach my $case ([ 'before the registry looks', 'LOCK TABLE uidgen_registry.registry' ],
	[ 'before the renewal ends', 'SELECT FROM uidgen_registry.worker_node FOR UPDATE' ])
{
	my ($when, $wait) = @$case;
	elapse(300);
	$first = draws('ids are drawn', $SOON);
	my $lock = $node->background_psql('postgres');
	$lock->query_safe("BEGIN; $wait");
	elapse(300);
	my $drawing = start_drawing($node, 'postgres', 'pause()');
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'uidgen keeper' AND wait_event_type = 'Lock'")
	  or die 'the keeper does not wait';
	$clock->step(2 * $hour);
	$lock->query_safe('COMMIT');
	ok(await_drawing($drawing, 100), "set forward $when: ids go on");
	stop_drawing($drawing);
	draws("set forward $when: the time is true", $SOON);
	$clock->step(-2 * $hour);
	is(draws("set forward $when, and set right: the time is true", $SOON), $first, '... of the worker id that kept its time');
	$lock->quit;
}

# ---- the clock is set back while a worker id is acquired ----

# The registry has looked at a clock that was ahead, and commits when that is right again.
foreach my $case ([ 'no grant is held', sub { end_keeper($node) or die 'no other keeper has begun' } ], [ 'a grant is held', sub { } ])
{
	my ($when, $begin) = @$case;
	local $ENV{PGOPTIONS} = '-c uidgen.wait_timeout=20s';
	elapse(300);
	draws('ids are drawn', $SOON);
	$begin->();
	my $lock = $node->background_psql('postgres');
	$lock->query_safe('BEGIN; SELECT FROM uidgen_registry.worker_node FOR UPDATE');
	$clock->step(2 * $hour);
	my $drawing = start_drawing($node, 'postgres', 'pause()');
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'uidgen keeper' AND wait_event_type = 'Lock'")
	  or die 'the keeper does not wait';
	$clock->step(-2 * $hour);
	$lock->query_safe('COMMIT');
	ok(await_drawing($drawing, 100), "set back while a worker id is acquired, where $when: ids go on");
	stop_drawing($drawing);
	draws('... with the true time', $SOON);
	$lock->quit;
}

# ---- crash after crash, with the clock set back on what was used ----

my $crashes = $ENV{UIDGEN_CRASHES} // 4;
my @ids;
elapse(300);
$rows = worker_ids();
$home = $clock->now;
foreach (1 .. $crashes)
{
	my $drawing = start_drawing($node, 'postgres', 'pause()');
	ok(await_drawing($drawing, 100), 'ids are drawn');
	crash($node);
	$clock->stop($home);
	push @ids, stop_drawing($drawing), draw($node);
	elapse(5);
	draws('a crash, and set back on what was used: ids go on', qr/crash/);
}
is(repeated(@ids), 0, '... none twice');
cmp_ok(worker_ids(), '<=', $rows + 1, '... and at most one other worker id does for it');
$clock->step(-2 * $hour);
draws('set back by two hours while ids are ahead after a crash: the true time at once');

# ---- ids may not run ahead at all ----

$clock->step(2 * $hour);
elapse(6 * $hour);
change_setting($node, 'uidgen.max_burst', '0');
draws('ids are drawn');
elapse(1200);
draws('a grant has been in force for long');
$clock->step(-600);
draws('set back where a grant has been in force for long: in order', '600|clock set back');
comes_to_fail($node, "SET uidgen.wait_timeout = '100ms'; SELECT count(uid_next()) FROM generate_series(1, 20000)", '55000',
	qr/DETAIL:  The clock was set back by 600000 ms: the time of the next id is 60000\d ms ahead of it, and 600000 ms are allowed\.\nHINT:  Correct the clock/,
	'... and where ids are used up, the error has the numbers');
change_setting($node, 'uidgen.max_ahead', '0');
elapse(1200);
$first = draws('max_ahead = 0: ids are drawn');
crash($node);
is(draws('max_ahead = 0, a crash: in order, a window ahead', '60|crash'), $first, '... with the same worker id');
$clock->step(-0.7);
is(draws('max_ahead = 0, set back by 0.7 s: in order', '61|crash'), $first, '... with the same worker id');
is(steps(), 0, '... and that is no large step');
$clock->step(-0.7);
isnt(draws('max_ahead = 0, set back by 0.7 s again: the true time at once'), $first, '... of another worker id');
is(steps(), 1, '... and both together are a large step');
elapse(300);
draws('ids are drawn');
$clock->set($clock->now - 0.5);
draws('max_ahead = 0, set back by half a second: in order, after a wait for the clock');
$clock->stop($clock->now);

# ---- ever further back ----

$home = $clock->now;
$rows = worker_ids();
foreach my $step (1 .. 13)
{
	$clock->stop($home - 2 * $hour * $step);
	sqlstate_of($node, "SET uidgen.wait_timeout = '1s'; SELECT uid_next()");
}
cmp_ok(worker_ids(), '<=', $rows + 10, 'ever further back: ten worker ids an hour are taken for steps, and no more');
comes_to_fail($node, $REFUSED_SOON, '55000', 'ahead of the clock', '... then it is an error that has the numbers');
$clock->stop($home + 100);
draws('... and home: the true time at once');
$node->stop;

# ---- a server that has one worker id and no other ----

foreach my $case (
	# The lowest, which is as fixed as any other.
	[ 'fixed', 'setting "uidgen.worker_id" allows for no other', 'uidgen.worker_id = 0' ],
	[ 'none', 'layout has no worker field', "uidgen.layout = 'time:41:1ms zero:10 sequence:12 epoch:2025-01-01'" ])
{
	my ($name, $reason, @conf) = @$case;
	begin_server($name, @conf);
	draws("$name: ids are drawn");
	foreach my $case ([ -2, 'back' ], [ 2, 'forward' ])
	{
		my ($hours, $way) = @$case;
		$clock->step($hours * $hour);
		comes_to_fail($node, $REFUSED_SOON, '55000',
			qr/set $way by a large step.*is 7\d{6} ms\. Above \d+ ms another worker id is needed, but the \Q$reason\E/s, "$name, set $way by two hours: refused");
		$clock->step(-$hours * $hour);
		draws("$name, set right: ids go on", $SOON);
	}
	elapse(300);
	draws("$name: ids are drawn");
	restart(-50);
	draws("$name, set back by less than a crash can leave, while the server is down: in order", '50|crash');
	restart(-2 * $hour);
	comes_to_fail($node, $REFUSED_SOON, '55000', qr/7[23]\d{5} ms ahead/, "$name, set back by two hours while the server is down: refused");
	$clock->step(2 * $hour + 350);
	draws("$name, set right: ids go on");

	crash($node);
	draws("$name, a crash: ids go on", '60|crash');
	crash($node);
	comes_to_fail($node, $REFUSED_SOON, '55000',
		qr/ids would run too far ahead.*before a crash or a restart.* 12\d{4} ms ahead, and \d+ ms are.*HINT:.*"uidgen.wait_timeout"/s, "$name, another crash: calls wait");
	is_reason(qr/no worker id is free, so calls may wait for the clock/, '... as the log says') if $name eq 'none';
	my $waiting = $node->background_psql('postgres');
	$waiting->query_until(qr/begun/, "\\echo begun\nSET uidgen.wait_timeout = '1h';\nSELECT 'got ' || uid_next();\n");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query LIKE 'SELECT ''got%'")
	  or die 'the call does not wait';
	elapse(60);
	like($waiting->query('SELECT 1'), qr/got \d+/, '... until the clock is near enough');
	$waiting->quit;
	draws('... then all go on', '60|crash');

	# Behind when the grant began: no step when it is correct.
	elapse(300);
	draws("$name: ids are drawn");
	change_setting($node, 'uidgen.max_ahead', '1s');
	restart(-62);
	draws("$name, slow when the grant began: in order", '62|crash');
	$clock->step(100);
	draws("$name, set right: ids go on");
	is(worker_ids(), 1, "$name: one row");
	$node->stop;
}
done_testing();
