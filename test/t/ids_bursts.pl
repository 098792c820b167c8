# Proves that drawing alone, which every role may do, moves the time in ids no further
# ahead of the clock than uidgen.max_burst; that this bound, and that of clocks which
# were set back, hold for statements that run already, and stop nobody when they are
# lowered; and that at the bound all sessions get ids.  pg_regress cannot stop the
# clock.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use IdFiles;
use List::Util 'min';
use Time::HiRes qw(time);
use UidgenTest;

# What should take no time may take this long, in seconds, on a slow machine.
my $LIMIT = 20;

# 256 ids a tick, under a clock that stands still until it is moved: then a call that
# has to wait for the clock never gets an id.  What is granted reaches further than all
# bursts, so that calls without a wait_timeout do not need the keeper.
my $node = uidgen_node('main', "uidgen.layout = 'time:41:1ms worker:10 sequence:8 epoch:2025-01-01'", "uidgen.window = '60s'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE ROLE anybody LOGIN');
$clock->stop(int($clock->now) + 1);

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# How far the last id is ahead of the clock, and why.
sub ahead
{
	return query('SELECT ahead, ahead_cause FROM uidgen.status');
}

# ---- any role, in any way ----

query('SELECT uid_next()');
is(ahead(), '00:00:00|', 'ids are not ahead of the clock, and so for no reason');
foreach my $call (
	'(uid_reserve(256) + 256 - 1)', '(uid_reserve(129) + 129 - 1)', 'uid_next()',
	'(SELECT max(id) FROM uid_next_batch(1000 + 0 * n) AS id)')
{
	$clock->step(10);
	query('SELECT uid_next()');
	my ($status, $out, $said) = try_psql($node, "SET uidgen.wait_timeout = 0; SELECT count($call) FROM generate_series(1, 300000) AS n",
		on_error_stop => 1, extra_params => [ '-U', 'anybody', '-v', 'VERBOSITY=verbose' ]);
	like($said,
		qr/55000: ids would run too far ahead of the clock.*drawn faster than the layout has room for.*"uidgen.max_burst"/s,
		"any role, $call: fails at the bound");
	like($said, qr/ 100[1-4] ms ahead of the clock, and 1000 ms are allowed/, "any role, $call: and says how far that is");
	my ($ahead, $cause) = split /\|/, ahead();
	ok($ahead gt '00:00:00.99' && $ahead le '00:00:01', "any role, $call: ids are ahead of the clock by that") || diag($ahead);
	is($cause, 'burst', "any role, $call: and uidgen.status knows why");
	$clock->step(0.001);
	is(query("SELECT uid_timestamp(uid_next()) <= clock_timestamp() + interval '1 s'"), 't',
		"any role, $call: others get ids, no further ahead");
}
$clock->step(10);
query('SELECT uid_next()');
is(ahead(), '00:00:00|', 'when the clock has caught up, ids have its time');

# ---- raised, and zero ----

my $load = begin_file($node, "SELECT uid_next_batch(5000 * 256) FROM (SELECT set_config('uidgen.wait_timeout', '1h', false)) AS set");
my $WAITING = "FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND backend_type = 'client backend'";
$node->poll_query_until('postgres', "SELECT count(*) = 1 $WAITING") or die 'the load does not wait';
cmp_ok((split /\|/, ahead())[0], 'le', '00:00:01', 'a load waits at the bound');
change_setting($node, 'uidgen.max_burst', '10s');
unique_in_order(5000 * 256, 'max_burst is raised: it goes on at once', end_file($load));
like(ahead(), qr/^00:00:0[45].*\|burst$/, 'as far ahead as it needs');

$clock->step(10);
change_setting($node, 'uidgen.max_burst', '0');
query('SELECT count(uid_next()) FROM generate_series(1, 256)');
is(ahead(), '00:00:00|', 'max_burst = 0: the ids of a tick');
fails_with($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()', '55000', qr/ 1 ms ahead of the clock, and 0 ms are allowed/,
	'max_burst = 0: and none of the next');

# ---- lowered, while a statement runs and ids are ahead ----

# Draws ids of so many ticks, waits for a lock, draws as many ids as it can, and waits again.
# Returns the ids at the start and before and after the waits, as ticks since the first.
query(<<'SQL');
CREATE FUNCTION burst(ticks integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	seen bigint[];
	id bigint := uid_next();
BEGIN
	PERFORM set_config('uidgen.wait_timeout', '0', true);
	seen := seen || id;
	FOR i IN 1 .. ticks LOOP
		id := (uid_reserve(256) + 256 - 1);
	END LOOP;
	FOR part IN 1 .. 2 LOOP
		seen := seen || id;
		PERFORM pg_advisory_lock(part);
		BEGIN
			LOOP
				id := uid_next();
			END LOOP;
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
		END;
	END LOOP;
	seen := seen || id;
	RETURN (SELECT string_agg(((s >> 18) - (seen[1] >> 18))::text, ' ') FROM unnest(seen) AS s);
END
$$;
SQL

# Start it, and wait until it waits for the lock of that number.
my $session = $node->background_psql('postgres');
my $lock = $node->background_psql('postgres');

sub at_lock
{
	my ($number) = @_;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $number AND NOT granted")
	  or die 'the statement does not wait';
	return;
}

sub begin_burst
{
	my ($ticks) = @_;
	$lock->query_safe('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
	$session->query_until(qr/begun/, "\\echo begun\nSELECT 'ticks: ' || burst($ticks);\n");
	at_lock(1);
	return;
}

sub end_burst
{
	$lock->query_safe('SELECT pg_advisory_unlock_all()');
	return $session->query('SELECT pg_advisory_unlock_all()') =~ /^ticks: (.*)$/m ? split / /, $1 : ();
}

# One test: an id comes at once, and is larger than all before.
my $last = 0;

sub goes_on
{
	my ($name) = @_;
	my $began = time();
	my ($status, $id) = try_psql($node, 'SELECT uid_next()');

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($status == 0 && $id > $last && time() - $began < $LIMIT, $name) || diag("after $last: $id");
	$last = $id if $status == 0;
	return;
}

foreach my $to ('1s', '0')
{
	change_setting($node, 'uidgen.max_burst', '10s');
	$clock->step(100);
	begin_burst(5000);
	goes_on("max_burst = 10s: ids are five seconds ahead");
	change_setting($node, 'uidgen.max_burst', $to);
	goes_on("max_burst lowered to $to: nobody is stopped");
	$lock->query_safe('SELECT pg_advisory_unlock(1)');
	at_lock(2);
	$clock->step(1);
	goes_on("max_burst lowered to $to: as the clock goes on, so do ids");
	my @ticks = end_burst();
	note("ticks: @ticks");
	is($ticks[1], 5000, "max_burst lowered to $to: until then the statement was as far ahead");
	# By a tick that was begun, or by another era.
	ok($ticks[2] >= 5000 && $ticks[2] <= 5002, "max_burst lowered to $to: it goes no further") || diag("@ticks");
	ok($ticks[3] >= 5500 && $ticks[3] <= 5502, "max_burst lowered to $to: but at half the clock's pace") || diag("@ticks");

	$clock->step(10);
	goes_on("max_burst lowered to $to: the clock catches up");
	is(ahead(), '00:00:00|', "max_burst lowered to $to: then ids have its time");
	sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT count((uid_reserve(256) + 256 - 1)) FROM generate_series(1, 20000)');
	is(ahead(), $to eq '0' ? '00:00:00|' : '00:00:01|burst', "max_burst lowered to $to: and the new bound holds");
}

# Likewise the bound of clocks that were set back.
change_setting($node, 'uidgen.max_burst', '1s');
my $worker = query('SELECT worker_id FROM uidgen.status');
foreach my $to ('1s', '0')
{
	change_setting($node, 'uidgen.max_ahead', '1h');
	$clock->step(2000);
	goes_on('max_ahead = 1h: ids are drawn');
	$clock->step(-600);
	goes_on('max_ahead = 1h, set back by ten minutes: ids go on');
	like(ahead(), qr/^00:10:00.*\|clock set back$/, 'and uidgen.status knows why they are ahead');
	begin_burst(500);
	change_setting($node, 'uidgen.max_ahead', $to);
	goes_on("max_ahead lowered to $to: nobody is stopped");
	$lock->query_safe('SELECT pg_advisory_unlock(1)');
	at_lock(2);
	$clock->step(1);
	my @ticks = end_burst();
	note("ticks: @ticks");
	ok($ticks[2] <= 1002, "max_ahead lowered to $to: a statement that runs goes no further than it could") || diag("@ticks");
	ok($ticks[3] >= $ticks[2] + 499 && $ticks[3] <= $ticks[2] + 501, "max_ahead lowered to $to: but at half the clock's pace")
	  || diag("@ticks");
	$clock->step(599);
	$clock->suspend(10);
	goes_on("max_ahead lowered to $to: the clock is set right, and time passes");
	is(ahead(), '00:00:00|', "max_ahead lowered to $to: then ids have its time");
	is(query('SELECT worker_id, clock_steps FROM uidgen.status'), "$worker|0", "max_ahead lowered to $to: no worker id was taken for that");
}
$_->quit foreach $session, $lock;

# ---- what blocks leave unused ----

$clock->step(10);
my $wasted = query('SELECT wasted FROM uidgen.status');
foreach my $case (
	[ 'uid_next()', 0 ], [ 'uid_reserve(255)', 0 ], [ 'uid_reserve(256)', 0 ], [ 'uid_next()', 0 ], [ 'uid_reserve(256)', 255 ],
	[ 'uid_reserve(200)', 0 ], [ 'uid_reserve(57)', 56 ],
	[ 'uid_reserve(198)', 0 ], [ 'uid_reserve(2)', 1 ])
{
	my ($call, $more) = @$case;
	query("SELECT $call");
	$wasted += $more;
	is(query('SELECT wasted FROM uidgen.status'), $wasted, "$call: what it passes over is counted as wasted: $more");
}
$node->stop;

# ---- all get ids ----

# At the bound, one session that takes whole ticks, and four that take single ids, in a
# layout with little room.
$node = uidgen_node('fair', "uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'");
$node->start;
query(<<'SQL');
CREATE EXTENSION uidgen;

-- Draws for so long.  Returns in how many ticks it has ids, of how many ticks; and how
-- many ticks there were between two of its ids, at most, and milliseconds a call took.
CREATE FUNCTION draw(n integer, duration interval, OUT had integer, OUT ticks bigint, OUT gap bigint, OUT longest float8)
LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz := clock_timestamp();
	before timestamptz := began;
	after timestamptz;
	first bigint;
	last bigint;
	tick bigint;
BEGIN
	WHILE before < began + duration LOOP
		tick := CASE n WHEN 1 THEN uid_next() ELSE (uid_reserve(n) + n - 1) END >> 13;
		after := clock_timestamp();
		longest := greatest(longest, 1000 * extract(epoch FROM after - before));
		first := coalesce(first, tick);
		gap := greatest(gap, tick - last);
		had := coalesce(had + (tick <> last)::integer, 1);
		last := tick;
		before := after;
	END LOOP;
	ticks := last - first + 1;
END
$$;
SQL
sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT count((uid_reserve(8) + 8 - 1)) FROM generate_series(1, 100000)');
my @drawings;
# While a machine stands still nobody has ids; but that is not each time.
foreach (1 .. 3)
{
	@drawings = map {
		my $said = '';
		my $run = IPC::Run::start(
			[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', "SELECT * FROM draw($_, '5 s')" ],
			'<', \undef, '>&', \$said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
		{ run => $run, said => \$said, who => $_ == 1 ? 'who draws single ids' : 'who draws whole ticks' };
	} 8, (1) x 4;
	foreach my $drawing (@drawings)
	{
		$drawing->{run}->finish;
		@$drawing{qw(had ticks gap longest)} = ${ $drawing->{said} } =~ /^(\d+)\|(\d+)\|(\d+)\|(\S+)$/ or die ${ $drawing->{said} };
		note(sprintf '%s: has ids of %.1f %% of %d ticks, at most %d ticks apart, and waited for %.0f ms at most',
			$drawing->{who}, 100 * $drawing->{had} / $drawing->{ticks}, @$drawing{qw(ticks gap longest)});
	}
	last if !grep { $_->{had} < $_->{ticks} / 20 } @drawings;
}
foreach my $drawing (@drawings)
{
	cmp_ok($drawing->{had}, '>=', $drawing->{ticks} / 20, "$drawing->{who} has ids of a twentieth of the ticks, or more");
	# The goals are 100; a slow machine that has other things to do gets more.
	cmp_ok(min(@$drawing{qw(gap longest)}), '<', 1000 * $LIMIT, "$drawing->{who} does not wait for long");
}
$node->stop;

done_testing();
