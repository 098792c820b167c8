# Proves that a clock which is set back or forward, by little or by much, while
# the server runs, between two starts of it or after a crash, never makes an id
# repeat (P1): after a small step back, ids run ahead of the clock, in order; a large
# step either way leads to another worker id and to the true time at once, and back to
# the first worker id when the clock returns; neither uses worker ids up.
#
# Times are set, not shifted: the clock comes back to the very instants in which
# ids were drawn before, so that a generator which trusts it would repeat them.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use IdFiles;
use UidgenTest;

my $hour = 3600;
my $year_2036 = 2082758400;

my ($node, $clock, $start, @files, $drawn);

# A server under a false clock, with the extension.
sub begin_server
{
	my ($name, @conf) = @_;
	$node = uidgen_node($name, 'uidgen.window = 1s', 'restart_after_crash = on', @conf);
	$clock = FakeClock->new($node);
	$start = int($clock->now);
	$clock->set($start);
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	(@files, $drawn) = ();
	return;
}

# No id of this server was issued twice.  Stops it.
sub end_server
{
	my ($name) = @_;
	unique_in_order($drawn, "$name: no id was issued twice", @files);
	$node->stop;
	return;
}

# Draw many ids in several sessions.  It fails only if they cannot be drawn.
sub draw
{
	my ($each) = @_;
	$each //= 20_000;
	foreach my $draw (map { begin_file($node, $_) } (
			"SELECT uid_next() FROM generate_series(1, $each)",
			"SELECT uid_next() FROM generate_series(1, $each)",
			"SELECT uid_next_batch($each)"))
	{
		my $file = eval { end_file($draw) };
		local $Test::Builder::Level = $Test::Builder::Level + 1;
		fail('ids are drawn') || diag($@) if !$file;
		push @files, $file if $file;
		$drawn += $each if $file;
	}
	return;
}

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub worker
{
	return query('SELECT worker FROM uid_parse(uid_next())');
}

sub granted_until
{
	my ($worker) = @_;
	return query('SELECT extract(epoch FROM uid_timestamp((w.granted_until << 22))) FROM uidgen_registry.worker_node AS w'
		  . " WHERE worker_id = $worker");
}

# By how many seconds a new id is ahead of the clock.
sub lead
{
	return query('SELECT extract(epoch FROM uid_timestamp(uid_next()) - clock_timestamp())');
}

# Is this the clock's time, give or take some grants ahead of it and a slow machine?
# A wrong time would be wrong by hours.
sub is_near
{
	my ($lead) = @_;
	return $lead > -300 && $lead < 300;
}

sub is_true_time
{
	my ($name) = @_;
	my $lead = lead();

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(is_near($lead), $name) || diag("the lead is $lead s");
}

# ---- a server with many worker ids ----

begin_server('many');
draw();
my $first = worker();
is_true_time('the clock goes on: the time is true');

# Small steps back.  Then the clock stands still, so that it does not overtake the ids.
$clock->set($start);
draw();
$clock->stop($start);
draw();
is(worker(), $first, 'set back by a second: the worker id is the same');
cmp_ok(lead(), '>', 0, 'set back by a second: ids are ahead of the clock');
my $last = query('SELECT uid_next()');
$clock->set($start - 0.5 * $hour);
draw();
is(worker(), $first, 'set back by half an hour: the worker id is the same');
cmp_ok(query('SELECT uid_next()'), '>', $last, 'set back by half an hour: ids go on in order');
$clock->stop($start - 0.5 * $hour);
my $lead = lead();
ok($lead > 0.5 * $hour && $lead < 0.5 * $hour + 300,
	'set back by half an hour: ids are ahead of the clock by that');
is(query("SELECT ahead BETWEEN '30 min' AND '35 min' FROM uidgen.status"), 't',
	'set back by half an hour: uidgen.status shows by how much');
is(query('SELECT clock_steps FROM uidgen.status'), '0', 'small steps: none is counted as a large one');
$clock->set($start + 10);
draw();
is_true_time('the clock has come back: the time is true');
is(worker(), $first, 'the clock has come back: the worker id is the same');

# A large step back, and return.
my $log = -s $node->logfile;
$last = query('SELECT uid_next()');
$clock->set($start - 2 * $hour);
draw();
my $second = worker();
isnt($second, $first, 'set back by two hours: another worker id');
is_true_time('set back by two hours: the time is true at once');
cmp_ok(query('SELECT uid_next()'), '<', $last, 'set back by two hours: so ids are smaller than before');
is(query('SELECT clock_steps FROM uidgen.status'), '1', 'set back by two hours: the step is counted');
is_logged($node, $log,
	qr/LOG:  uidgen acquired worker id $second\n.*DETAIL:  The clock was set back by 7\d{6} ms\. It was never used before/,
	'set back by two hours: the log says so');

$log = -s $node->logfile;
$clock->set($start + 11);
draw();
is(worker(), $first, 'and home again: the first worker id again');
is_true_time('and home again: the time is true at once');
is(query('SELECT clock_steps FROM uidgen.status'), '2', 'and home again: the step is counted');
is_logged($node, $log,
	qr/LOG:  uidgen acquired worker id $first\n.*DETAIL:  The clock was set forward by 7\d{6} ms; .* This server had it before\./,
	'and home again: the log says so');

# To and fro, always to the same two instants, while some sessions draw throughout.
my $untrue = 0;
my @throughout = map {
	begin_file($node, 'SELECT uid_next() FROM (SELECT md5(repeat(i::text, 1000))'
		  . ' FROM (SELECT generate_series(1, 1000000000)) AS many (i)) AS slow') } 1 .. 2;
foreach (1 .. 10)
{
	foreach my $time ($start - 2 * $hour, $start + 11)
	{
		$clock->set($time);
		draw(2000);
		$untrue++ if !is_near(lead());
	}
}
query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%slow%'");
@throughout = map { end_file($_, may_fail => 1) } @throughout;
is($untrue, 0, 'to and fro: the time is true at once, twenty times');
{
	# no order in these: they went back with the clock
	my ($ids, $duplicates) = count_in_files(@files, @throughout);
	is($duplicates, 0, 'to and fro: no duplicate, also of sessions that draw throughout');
	cmp_ok($ids, '>', $drawn + 1000, 'to and fro: those drew as well');
}
cmp_ok(query('SELECT count(*) FROM uidgen_registry.worker_node'), '<=', 3,
	'to and fro: three worker ids do for it');

# Forward: the row that was in use is kept for when the clock returns.
foreach my $case ([ 'forward by two hours', $start + 2 * $hour ], [ 'forward to 2036', $year_2036 ])
{
	my ($name, $time) = @$case;
	my $old = worker();
	$clock->set($time);
	draw();
	isnt(worker(), $old, "$name: another worker id");
	is_true_time("$name: the time is true at once");
	is(query('SELECT current_date - launch_date BETWEEN 0 AND 1 FROM uidgen_registry.worker_node WHERE worker_id = ' . worker()),
		't', "$name: its row has the day");
	cmp_ok(granted_until($old), '<', $start + 0.5 * $hour, "$name: the old one's grant stays where it was");
	$clock->set($start + 12);
	draw();
	is(worker(), $old, "$name, and back: the old worker id");
	is_true_time("$name, and back: the time is true at once");
}
cmp_ok(query('SELECT count(*) FROM uidgen_registry.worker_node'), '<=', 4,
	'forward and back: four worker ids do for it all');

# While the server is down.
$node->stop;
$clock->set($start - 2 * $hour);
$clock->under(sub { $node->start });
draw();
is_true_time('set back by two hours while the server was down: the time is true at once');
$node->stop('immediate');
$clock->set($start + 12);
$clock->under(sub { $node->start });
draw();
is_true_time('set right while the server was down: the time is true at once');
$node->stop;
$clock->set($start + 11.5);
$clock->under(sub { $node->start });
draw();
is_true_time('set back by a second while the server was down: ids go on');
cmp_ok(query('SELECT count(*) FROM uidgen_registry.worker_node'), '<=', 4,
	'while the server was down: four worker ids do for it all');
end_server('many worker ids');

# ---- a server whose clock is set back where a grant has been in force for long ----

# It stands still, so that all numbers are known.
begin_server('later', 'uidgen.max_burst = 0');
$clock->stop($start);
query('SELECT uid_next()');
$clock->stop($start + 1200);
$last = query('SELECT uid_next()');
$clock->stop($start + 600);
cmp_ok(query('SELECT uid_next()'), '>', $last, 'set back later in the life of a grant: ids go on in order');
comes_to_fail(
	$node, "SET statement_timeout = '60s'; SET uidgen.wait_timeout = '100ms'; SELECT count(uid_next()) FROM generate_series(1, 20000)", '55000',
	'DETAIL:  The clock was set back by 600000 ms: the time of the next id is 60000\d ms ahead of it, and 600000 ms are allowed\.'
	  . '\nHINT:  Correct the clock',
	'set back later in the life of a grant: where ids are used up, the error has the numbers');
$node->stop;

# ---- a server whose clock goes ever further back ----

begin_server('back');
foreach my $step (1 .. 13)
{
	$clock->set($start - 2 * $hour * $step);
	# refused when no more worker ids are taken
	query('SELECT uid_next()') if $step <= 10;
	sqlstate_of($node, "SET uidgen.wait_timeout = '1s'; SELECT uid_next()") if $step > 10;
}
cmp_ok(query('SELECT count(*) FROM uidgen_registry.worker_node'), '<=', 11,
	'ever further back: no more than ten worker ids an hour are taken for it');
comes_to_fail($node, "SET uidgen.wait_timeout = '1s'; SELECT uid_next()", '55000', 'ahead of the clock',
	'ever further back: then it is an error that has the numbers');
$clock->set($start + 10);
draw();
is_true_time('ever further back, and home: the time is true at once');
end_server('ever further back');

# ---- servers that have one worker id and no other ----

foreach my $case (
	# The lowest, which is as fixed as any other.
	[ 'fixed', 'setting "uidgen.worker_id" allows for no other', 'uidgen.worker_id = 0' ],
	[ 'none', 'layout has no worker field', "uidgen.layout = 'time:41:1ms zero:10 sequence:12 epoch:2025-01-01'" ])
{
	my ($name, $reason, @conf) = @$case;
	begin_server($name, @conf);
	# What is refused is refused soon; other calls may wait for as long as always.
	my $CALL = "SET uidgen.wait_timeout = '2s'; SELECT uid_next()";
	draw();
	$clock->set($start - 0.5 * $hour);
	draw();
	$clock->set($start);
	draw();

	# The size of the step is that of what was used before, so a bit more.
	$clock->set($start - 2 * $hour);
	comes_to_fail($node, $CALL, '55000',
		qr/set back by a large step.*is 7\d{6} ms\. Above 3601000 ms another worker id is needed, but the \Q$reason\E/s,
		"$name worker id, set back by two hours: refused, with the size of the step");
	is(query("SELECT count(*) FROM uidgen_registry.worker_node"), '1',
		"$name worker id, set back by two hours: no other is taken");
	$clock->set($start);
	draw();
	is_true_time("$name worker id, set right: goes on");

	# A step is measured from the last grant, which may be of the half hour before.
	my $renewals = query('SELECT renewals FROM uidgen.status');
	ok(poll_until(sub { query('SELECT uid_next()'); query('SELECT renewals FROM uidgen.status') > $renewals }), "$name worker id, set right: the grant is extended");
	$clock->set($start + 2 * $hour);
	comes_to_fail($node, $CALL, '55000',
		qr/set forward by a large step.*is 7\d{6} ms\. Above 3601000 ms another worker id is needed, but the \Q$reason\E/s,
		"$name worker id, set forward by two hours: refused, with the size of the step");
	$clock->set($start);
	draw();
	is_true_time("$name worker id, set right: goes on");

	$node->stop;
	$clock->set($start - 2 * $hour);
	$clock->under(sub { $node->start });
	comes_to_fail($node, $CALL, '55000', qr/7\d{6} ms ahead/,
		"$name worker id, set back by two hours while the server was down: refused, with the size of the step");
	$clock->set($start);
	draw();
	is_true_time("$name worker id, set right: goes on");
	end_server("$name worker id");
}

# ---- a server whose ids may not run ahead ----

# With max_ahead = 0, a step of over a second is a large one.
begin_server('strict', 'uidgen.max_ahead = 0', 'uidgen.max_burst = 0');
draw();
$last = query('SELECT uid_next()');
$first = worker();
$clock->step(-0.5);
cmp_ok(query('SELECT uid_next()'), '>', $last, 'max_ahead = 0, set back by half a second: ids go on in order');
cmp_ok(lead(), '<=', 0.001, 'max_ahead = 0, set back by half a second: they waited for the clock');
is(worker(), $first, 'max_ahead = 0, set back by half a second: the worker id is the same');
# It stands still, so that no time passes between the two ids.
$clock->stop($clock->now);
$last = query('SELECT uid_next()');
$clock->step(-5);
cmp_ok(query('SELECT uid_next()'), '<', $last,
	'max_ahead = 0, set back by five seconds: ids are smaller than before');
isnt(worker(), $first, 'max_ahead = 0, set back by five seconds: of another worker id');
$clock->set($clock->now);
draw();
$clock->step(5);
draw();
is(worker(), $first, 'max_ahead = 0, and home again: the first worker id again');
end_server('max_ahead = 0');

# ---- crashes ----

# Kill a backend that draws; returns when the server is up again.
sub kill_backend
{
	my $log = -s $node->logfile;
	my $draw = begin_file($node, 'SELECT uid_next() FROM (SELECT generate_series(1, 1000000000)) AS many');
	my $pid;
	poll_until(
		sub {
			$pid = query("SELECT pid FROM pg_stat_activity WHERE query LIKE 'COPY%many%'");
			return $pid && -s $draw->{file};
		});
	kill 'KILL', $pid;
	my $file = end_file($draw, may_fail => 1);
	poll_until(sub { log_since($node, $log) =~ /terminated by signal 9.*ready to accept connections/s });
	return $file;
}

# The classic: what was drawn just before the crash is the clock's time again
# just after it.
begin_server('crash');
$clock->set($start);
my @half = (kill_backend());
foreach (1 .. 3)
{
	$clock->set($start);
	draw(50_000);
	push @half, kill_backend();
}
$clock->set($start + 30);
draw();
is_true_time('crashes, with the clock set back on what was used: the time is true soon');
{
	my ($ids, $duplicates) = count_in_files(@files, @half);
	is($duplicates, 0, 'crashes, with the clock set back on what was used: no duplicate');
	cmp_ok($ids, '>', $drawn, 'crashes: ids of the sessions that were killed are looked at too');
}

# Crash after crash.
foreach (1 .. 20)
{
	$clock->set($start + 30);
	push @half, kill_backend();
}
draw();
cmp_ok(query('SELECT count(*) FROM uidgen_registry.worker_node'), '<=', 2,
	'twenty crashes in a row use two worker ids at most');
is((count_in_files(@files, @half))[1], 0, 'twenty crashes in a row: no duplicate');

# After a crash ids begin ahead of the clock, at the end of the old grant.  The
# clock is set back before it comes there.
$clock->stop($start + 1000);
draw();
kill_backend();
cmp_ok(lead(), '>', 0, 'after a crash: ids are ahead of the clock');
$clock->stop($start + 1000 - 2 * $hour);
my ($state, $said) = sqlstate_of($node, "SET uidgen.wait_timeout = '1min'; SELECT uid_next()");
ok($state eq '', 'after a crash, while ids are ahead, set back by two hours: ids go on')
  || diag($said);
is_true_time('after a crash, while ids are ahead, set back by two hours: the time is true at once')
  if $state eq '';
$node->stop;

# Likewise when the keeper begins anew while ids are ahead, here because the
# clock was set back a little: two small steps make a large one.
begin_server('steps');
draw();
$clock->stop($start - 0.7 * $hour);
draw();
ok( poll_until(sub {
			query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'");
			draw(100);
			query('SELECT sum(launches) > 1 FROM uidgen_registry.worker_node') eq 't' }),
	'the keeper begins anew while ids are ahead');
cmp_ok(lead(), '>', 0.7 * $hour, 'the keeper begins anew while ids are ahead: in order');
$clock->stop($start - 1.4 * $hour);
($state, $said) = sqlstate_of($node, 'SELECT uid_next()');
ok($state eq '', 'two small steps that make a large one: ids go on') || diag($said);
is_true_time('two small steps that make a large one: the time is true at once')
  if $state eq '';
end_server('two small steps');

done_testing();
