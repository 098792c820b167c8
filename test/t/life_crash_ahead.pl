# Proves that a crash stops nobody, although it leaves the grant in use up to a window
# ahead of the clock, which may be far more than uidgen.max_ahead: ids go on at once,
# ahead of the clock by as much; crash after crash, until another worker id is nearer to
# the clock; and readers that go on by id are behind by as much, and are told so.  If
# the clock was set back, another worker id has the true time at once, however long the
# window is.  If there is no other worker id, calls wait for the clock.  pg_regress can
# neither kill nor wait.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use UidgenTest;

my ($node, $clock, $last);

# A server with a long window, under a clock that stands still until it is moved: then
# a call that waits for the clock gets no id.
sub begin_server
{
	my ($name, @conf) = @_;
	$node = uidgen_node($name, 'restart_after_crash = on', "uidgen.window = '60s'", "uidgen.max_ahead = '1s'", @conf);
	$clock = FakeClock->new($node);
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	$clock->stop(int($clock->now) + 1);
	$last = 0;
	return;
}

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Time passes.
sub elapse
{
	my ($seconds) = @_;
	$clock->suspend($seconds);
	return;
}

sub restart
{
	my ($back) = @_;
	$node->stop;
	$clock->step(-$back);
	$clock->under(sub { $node->start });
	return;
}

# One test: an id comes, which is larger than all before unless the clock was set back;
# so far ahead of the clock in whole seconds, and for this reason.  Returns its worker
# id.
sub draws
{
	my ($ahead, $cause, $name) = @_;
	my ($state, $said) = sqlstate_of($node, "SELECT 'got', id, coalesce(worker, -1) FROM uid_parse(uid_next())");
	my ($id, $worker) = $said =~ /got\|(\d+)\|(\S+)/;
	my $status = query('SELECT round(extract(epoch FROM ahead)), ahead_cause FROM uidgen.status');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($state eq '' && $id > $last && $status eq "$ahead|$cause", $name) || diag("after $last: $said, $status");
	$last = $id if $id;
	return $worker;
}

# How far readers that go on by id are behind, in whole seconds.
sub lag
{
	query('SELECT uid_horizon()');	# where the library is not preloaded, nobody may have begun yet
	return query('SELECT round(extract(epoch FROM horizon_lag)) FROM uidgen.status');
}

sub worker_ids
{
	return query('SELECT count(*) FROM uidgen_registry.worker_node');
}

# One test: what the log says of the latest choice of a worker id.  An id may come before the keeper has written that.
sub is_reason
{
	my ($pattern, $name) = @_;
	my $reason = '';
	poll_until(sub { ($reason = (log_since($node, 0) =~ /LOG:  uidgen acquired worker id \d+\n.*DETAIL:  (.*)/g)[-1] // '') =~ $pattern });
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like($reason, $pattern, $name);
}

# ---- a crash ----

foreach my $max_ahead ('1s', '0')
{
	my $name = "max_ahead = $max_ahead, window = 60s";
	begin_server("max_ahead_$max_ahead", "uidgen.max_ahead = '$max_ahead'");
	my $worker = draws(0, '', "$name: ids are drawn");
	is_reason(qr/^It was never used before\.$/, "$name: the log says why this worker id");
	crash($node);
	is(lag(), 0, "$name: after a crash readers have all that there is");
	is(draws(60, 'crash', "$name: after a crash ids go on at once, a window ahead"), $worker, "$name: with the same worker id");
	is(lag(), 60, "$name: and readers are behind them by as much");
	is_reason(qr/^This server had it before\. Its grant begins 60\d{3} ms ahead of the clock\.$/, "$name: the log says so");
	is(query('SELECT clock_steps FROM uidgen.status'), '0', "$name: it is no step of the clock");
	elapse(30);
	draws(30, 'crash', "$name: the clock comes nearer");
	is(lag(), 30, "$name: and readers, too");
	elapse(31);
	is(lag(), 0, "$name: when it is there, they have all");
	draws(0, '', "$name: and ids have its time");
	is(worker_ids(), 1, "$name: one worker id does for it");
	$node->stop;
}

# ---- crash after crash ----

begin_server('series');
my $first = draws(0, '', 'ids are drawn');
crash($node);
is(draws(60, 'crash', 'the first crash: ids go on, a window ahead'), $first, 'the first crash: with the same worker id');
crash($node);
# not larger than before: of another worker id, in no order with those
$last = 0;
my $second = draws(0, '', 'the second crash: ids go on, with the true time');
isnt($second, $first, 'the second crash: with another worker id');
is_reason(qr/^It was never used before\. The grants of this server's earlier worker ids are too far from the time of the clock\.$/,
	'the second crash: the log says why');
crash($node);
is(draws(60, 'crash', 'the third crash: a window ahead again'), $second, 'the third crash: with the second worker id');
crash($node);
$last = 0;
draws(0, '', 'the fourth crash: with the true time');
is(worker_ids(), 3, 'every other crash within a window takes a worker id');
elapse(200);
foreach (1 .. 2)
{
	crash($node);
	draws($_ == 1 ? 0 : 60, $_ == 1 ? '' : 'crash', 'later on: after a crash');
}
is(worker_ids(), 3, 'later on: no more worker ids are needed');
$node->stop;

# ---- crash after crash, with one worker id and no other ----

foreach my $case (
	[ 'fixed worker id', 1, 'uidgen.worker_id = 3' ],
	[ 'no worker field', 1, "uidgen.layout = 'time:41:1ms sequence:22 epoch:2025-01-01'" ],
	[ 'two worker ids', 2, "uidgen.layout = 'time:41:1ms worker:1 sequence:12 epoch:2025-01-01'" ])
{
	my ($name, $rows, @conf) = @$case;
	begin_server($name =~ s/ /_/gr, @conf);
	draws(0, '', "$name: ids are drawn");
	foreach my $row (1 .. $rows)
	{
		crash($node);
		draws(60, 'crash', "$name: after a crash ids go on");
		crash($node);
		$last = 0, draws(0, '', "$name: after another crash, too, with another worker id") if $row < $rows;
	}
	# Not before the keeper has a grant.
	my $CALL = "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()";
	poll_until(sub { (sqlstate_of($node, $CALL))[1] =~ /too far ahead/ });
	fails_with($node, $CALL, '55000',
		qr/ids would run too far ahead.*before a crash or a restart.* 12\d{4} ms ahead, and 64003 ms are.*HINT:.*"uidgen.wait_timeout"/s,
		"$name: after another crash calls wait");
	is_reason(qr/no worker id is free, so calls may wait for the clock/, "$name: the log says so") if $name !~ /fixed/;
	my $waiting = $node->background_psql('postgres');
	$waiting->query_until(qr/begun/, "\\echo begun\nSET uidgen.wait_timeout = '1h';\nSELECT 'got ' || uid_next();\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query LIKE 'SELECT ''got%'")
	  or die 'the call does not wait';
	elapse(60);
	my ($id) = $waiting->query('SELECT 1') =~ /got (\d+)/;
	ok(defined $id && $id > $last, "$name: until the clock is near enough") || diag($waiting->{stderr});
	$waiting->quit;
	draws(60, 'crash', "$name: then all go on");
	is(worker_ids(), $rows, "$name: no worker id was used up");
	$node->stop;
}

# ---- the clock is set back while the server runs ----

begin_server('set_back');
$first = draws(0, '', 'ids are drawn');
$clock->step(-50);
$last = 0;
$second = draws(0, '', 'set back by less than a window: the time is true at once');
isnt($second, $first, 'set back by less than a window: another worker id');
is_reason(qr/^The clock was set back by 50\d{3} ms\. It was never used before\./, 'set back by less than a window: the log says so');
$clock->step(50);
is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', 'and set right: ids go on');
elapse(100);
foreach (1 .. 3)
{
	foreach my $step (-50, 50)
	{
		$clock->step($step);
		is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', 'to and fro: ids go on');
		await_keeper($node);
	}
}
cmp_ok(worker_ids(), '<=', 3, 'to and fro: three worker ids do for it');
$node->stop;

# While ids are ahead after a crash they go on at half the clock's pace; also when the
# clock is set back by a small step then, and not only after the clock is back where it was.
begin_server('set_back_after_crash', "uidgen.max_ahead = '1h'");
draws(0, '', 'ids are drawn');
crash($node);
draws(60, 'crash', 'a crash: ids are a window ahead');
elapse(20);
is( (sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT count((uid_reserve(4096) + 4096 - 1)) FROM generate_series(1, 30000)'))[0],
	'55000', 'ids are drawn as far as they may, ten seconds and a burst further');
$clock->step(-40);
# The keeper learns of the step from a call.
sqlstate_of($node, q{SET uidgen.wait_timeout = '1s'; SELECT uid_next()});
elapse(0.1);
draws(91, 'crash', 'set back by 40 seconds: ids go on');
elapse(10);
is( (sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT count((uid_reserve(4096) + 4096 - 1)) FROM generate_series(1, 4900)'))[0],
	'', 'at half the pace of the clock');
$node->stop;

# Where the grant in use is nearly over, it begins anew less than two windows ahead.
begin_server('nearly_over', 'uidgen.padding_factor = 0');
$first = draws(0, '', 'ids are drawn');
elapse(59.5);
draws(0, '', 'the grant in use is nearly over');
$clock->step(-60.2);
$last = 0;
isnt(draws(0, '', 'set back by a window: the time is true at once'), $first, 'set back by a window: the one in use is no other worker id');
$node->stop;

# ---- while it is down ----

begin_server('down');
$first = draws(0, '', 'ids are drawn');
restart(1.5);
is(draws(2, 'clock set back', 'set back by a small step while the server is down: ids go on in order'), $first, 'with the same worker id');
elapse(100);
draws(0, '', 'ids are drawn');
restart(50);
$last = 0;
isnt(draws(0, '', 'set back by a large step while the server is down: the time is true at once'), $first, 'with another worker id');
is(worker_ids(), 2, 'two worker ids do for it');
$node->stop;

begin_server('down_fixed', 'uidgen.worker_id = 3');
draws(0, '', 'fixed worker id: ids are drawn');
restart(50);
draws(50, 'crash', 'fixed worker id, set back by less than a crash can leave: ids go on in order');
restart(120);
fails_with($node, 'SELECT uid_next()', '55000',
	qr/behind the last grant of worker id 3.*next one would begin 17\d{4} ms ahead of the clock; 63003 ms are.*HINT:.*"uidgen.max_ahead"/s,
	'fixed worker id, set back by more: refused');
$clock->step(180);
draws(0, '', 'fixed worker id, set right: ids go on');
$node->stop;

done_testing();
