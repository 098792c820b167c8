# What calls that wait can rely on: at the end of a layout all of them end, with the error that says so; a cancel and
# uidgen.wait_timeout end a wait, never too early.  The time is measured inside the server, call by call.
# Promise: P1, P6
# Kills: src/ids/generator.c next_id_slowly: UidgenBlock block = take_slowly(result, ticket, 1, UIDGEN_TAKE_ROW); => UidgenBlock block = take_slowly(result, ticket, 2, UIDGEN_TAKE_ROW);

use FindBin;
use lib "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults";
use FakeClock;
use IdFiles;
use POSIX qw(strftime);
use Sessions;
use Time::HiRes qw(time usleep);
use UidgenTest;

my $trials = 30;

my $WAITING = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND wait_event_type = 'Extension'";

# ---- the last tick ----

# Ticks of a second.  Three are left to the clock, and calls may not run ahead of it: so
# each call waits for the next tick, until there is none.
my $callers = 64;
my $left = 3;
my $now = int(time());
my $epoch = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($now + $left - (2**20 - 1)));
my $node = uidgen_node('end', "uidgen.layout = 'time:20:1s worker:4 sequence:10 epoch:$epoch'",
	'uidgen.max_burst = 0', "uidgen.wait_timeout = '1h'", 'max_connections = 100');
my $clock = FakeClock->new($node);
$clock->stop($now);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

my $sessions = Sessions->new($node, $node->basedir);
$sessions->start('postgres', [ 'ids', 'SELECT uid_next() FROM generate_series(1, 1000000)' ]) foreach 1 .. $callers;
my $probe = $node->basedir . '/probe';
foreach my $tick (1 .. $left)
{
	# Calls look at the clock every 100 ms, so just after a step all may still wait for the tick that has
	# come, or for the keeper.  A call that does not wait draws ids until the tick has no more.
	ok(poll_until(sub {
			my ($status, $id, $err) = try_psql($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()', on_error_stop => 1);
			append_to_file($probe, "$id\n") if $status == 0;
			return $status != 0 && $err =~ /too far ahead of the clock|time bits of the layout are used up/;
		}), "tick $tick of $left has no more ids");
	# In the last tick a call may have found already that there is no other one.
	my $all = $tick < $left ? $callers : "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND query ~ '^COPY')";
	ok($node->poll_query_until('postgres', "SELECT count(*) = $all $WAITING"),
		"$callers calls wait for the next tick, of which there are " . ($left - $tick) . ' more');
	$clock->step(1);
}
ok(poll_until(sub { !$sessions->running }), 'at the last tick none of them hangs');
is_deeply(
	$sessions->{errors},
	{ '2200H' => { 'uidgen has no grant to issue ids from: the time bits of the layout are used up' => $callers } },
	'all say that the layout is used up');
unique_in_order($left * 1024, 'they have all ids of the ticks before, none twice', $sessions->files('ids'), grep { -e } $probe);
$node->stop;

# ---- a wait that ends early ----

# Calls wait for a keeper that has no access to the registry; or for the clock, because
# ids may not run ahead of it and a minute has room for four.
$node = uidgen_node('waits', "uidgen.layout = 'time:30:60s worker:4 sequence:2 epoch:2025-01-01'", 'uidgen.max_burst = 0');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;

CREATE FUNCTION now_exactly() RETURNS float8 LANGUAGE sql AS 'SELECT extract(epoch FROM clock_timestamp())::float8';

-- Calls until a call has to wait and is cancelled: when?
CREATE FUNCTION cancelled_at() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		PERFORM uid_next();
	END LOOP;
EXCEPTION WHEN query_canceled THEN
	RETURN now_exactly();
END
$$;

-- Calls until a call has to wait and fails: how much later than it should?
CREATE FUNCTION overshoot(timeout integer) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	began float8;
BEGIN
	PERFORM set_config('uidgen.wait_timeout', timeout::text, false);
	LOOP
		began := now_exactly();
		PERFORM uid_next();
	END LOOP;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN now_exactly() - began - timeout / 1000.0;
END
$$;
SQL

# One test each: calls ended, and none of them too early.
sub none_early
{
	my ($name, @seconds) = @_;
	note("$name: " . spread(@seconds));
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	# The clock that a call reads may be slewed meanwhile, while a wait goes by the monotonic one.
	return ok(@seconds == (grep { $_ >= -0.005 } @seconds), $name) || diag("seconds: @seconds");
}

my $session = $node->background_psql('postgres');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
my $monitor = $node->background_psql('postgres');
my $lock = $node->background_psql('postgres');

foreach my $cause ('clock', 'registry')
{
	if ($cause eq 'registry')
	{
		# and nothing in hand
		$lock->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
		end_keeper($node) or die 'no other keeper has begun';
	}
	my $event = $cause eq 'clock' ? 'UidgenClock' : 'UidgenGrant';
	$event = 'Extension' if $node->pg_version < 17;

	my @cancelled;
	$session->query_safe("SET uidgen.wait_timeout = '1h'");
	foreach my $trial (1 .. $trials)
	{
		$session->query_until(qr/begun/, "\\echo begun\nSELECT 'at ' || cancelled_at();\n");
		poll_until(sub { $monitor->query_safe("SELECT 1 $WAITING AND pid = $pid AND wait_event = '$event'") eq '1' });
		# anywhere between two looks at the clock
		usleep(100_000 * $trial / $trials);
		my $signalled = time();
		kill 'INT', $pid;
		my ($at) = $session->query('SELECT') =~ /at (\S+)/;
		push @cancelled, $at - $signalled;
	}
	none_early("$cause: cancelled calls end before their wait_timeout", @cancelled);

	my @overshoot;
	foreach my $trial (1 .. $trials)
	{
		push @overshoot, $session->query_safe("SELECT overshoot(30 + 4 * $trial)");
	}
	none_early("$cause: calls end when their wait_timeout is over, not earlier", @overshoot);
}
$_->quit foreach $session, $monitor, $lock;
$node->stop;

done_testing();
