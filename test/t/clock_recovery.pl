# Ids go on by themselves, without using up worker ids, when a machine wakes up after hours, a clock that was wrong from the start is
# corrected, the clock toggles, ids may not run ahead of it, and the keeper ends while it is set back.
# Promise: P1, P5
# Kills: src/ids/generator.c read_clock: if (likely(uidgen_clock_counter() - last_look.counter < last_look.good_for && => if (likely(uidgen_clock_counter() - last_look.counter < last_look.good_for ||

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IdFiles;
use UidgenTest;

my $hour = 3600;
my $day = 24 * $hour;

my ($node, $clock);

# A server under a false clock, with the extension, that has not drawn yet.
sub begin_server
{
	my ($name, %options) = @_;
	$node = uidgen_node($name, 'restart_after_crash = on', @{ $options{conf} // [] });
	$clock = FakeClock->new($node);
	$clock->step($options{step}) if $options{step};
	$clock->under(sub { $node->start });
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	return;
}

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub worker_ids
{
	return query('SELECT count(*) FROM uidgen_registry.worker_node');
}

sub clock_steps
{
	return query('SELECT clock_steps FROM uidgen.status');
}

# One test: from now on, does a new id get the clock's time?  Whoever
# waited for the clock would wait for hours.  The server may refuse connections, or calls, for a while.
sub true_time_soon
{
	my ($name, $most) = @_;
	my $said;
	my $is_true = poll_until(
		sub {
			my ($state, $text) = sqlstate_of($node,
				"SELECT 'lead ' || extract(epoch FROM uid_timestamp(uid_next()) - clock_timestamp())");
			$said = $text;
			return $state eq '' && $text =~ /lead (\S+)/ && abs($1) < ($most // 60);
		});

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($is_true, $name) || diag($said);
}

# One test: a session that draws throughout goes on, without an error.
sub goes_on
{
	my ($drawing, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(await_drawing($drawing, 200), $name) || diag(slurp_file("$drawing->{file}.err"));
}

sub disorders
{
	my ($ids) = @_;
	return scalar grep { $ids->[$_] <= $ids->[ $_ - 1 ] } 1 .. $#$ids;
}

# ---- a machine that is suspended ----

begin_server('suspended');
my $drawing = do
{
	local $ENV{PGOPTIONS} = '-c uidgen.wait_timeout=1h';
	start_drawing($node);
};
goes_on($drawing, 'ids are drawn');
my $worker = query('SELECT worker FROM uid_parse(uid_next())');
foreach my $night (1 .. 3)
{
	$clock->suspend(8 * $hour);
	true_time_soon("night $night: a machine wakes up after 8 hours: the time is true at once", 1);
	goes_on($drawing, "night $night: a session that draws goes on");
}

# Also with no grant in hand, and with calls that wait for one: this call and the session
# that draws.  They wait for more than an hour only if they count the hours of sleep.
my $lock = $node->background_psql('postgres');
$lock->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
ok(end_keeper($node), 'the keeper begins anew');
my $waiting = $node->background_psql('postgres');
$waiting->query_safe("SET uidgen.wait_timeout = '1h'");
$waiting->query_until(qr/begun/, "\\echo begun\nSELECT extract(epoch FROM uid_timestamp(uid_next()) - clock_timestamp());\n");
my $WAITING = 'SELECT count(*) = 2 FROM pg_stat_activity'
  . " WHERE backend_type = 'client backend' AND wait_event_type = 'Extension'";
ok($node->poll_query_until('postgres', $WAITING), 'calls wait');
my $pid = query("SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT extract%uid_next%'");
$clock->suspend(8 * $hour);
my $looks = times_asleep($pid);
ok(poll_until(sub { times_asleep($pid) > $looks + 3 }), 'a machine wakes up: the calls look at it');
# One that looks just now does not wait at this moment.
ok($node->poll_query_until('postgres', $WAITING), 'and wait on');
$lock->query_safe('COMMIT');
$lock->quit;
my ($lead) = $waiting->query('SELECT 1') =~ /^(-?\d+\.\d+)$/m;
cmp_ok(abs($lead // 1e9), '<', 60, 'and are served, with the true time');
$waiting->quit;
goes_on($drawing, 'the session that draws goes on');

my $ids = stop_drawing($drawing);
is(repeated($ids), 0, 'suspended: no id was issued twice');
is(disorders($ids), 0, 'suspended: all are in order');
is(query('SELECT worker FROM uid_parse(uid_next())') . '|' . worker_ids() . '|' . clock_steps(),
	"$worker|1|0", 'suspended: the same worker id, no other was used, and no step is counted');
$node->stop;

# ---- a clock that was wrong from the start is corrected by a day ----

foreach my $case ([ 'behind', -$day ], [ 'ahead', $day ])
{
	my ($name, $wrong) = @$case;
	begin_server($name, step => $wrong);
	query("CREATE FUNCTION pause() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM generate_series(1, 5000); END'");
	$drawing = start_drawing($node, 'postgres', 'pause()');
	goes_on($drawing, "a day $name: ids are drawn");
	$clock->correct;
	true_time_soon("a day $name, corrected: the time is true at once", 15);
	goes_on($drawing, "a day $name, corrected: a session that draws goes on");
	is(clock_steps(), '1', "a day $name, corrected: one step is counted");
	$ids = stop_drawing($drawing);
	is(repeated($ids), 0, "a day $name: no id was issued twice");
	is(disorders($ids), $wrong > 0 ? 1 : 0, "a day $name: order is broken once at most, by a step back");

	foreach my $mode ('fast', 'immediate')
	{
		$node->stop($mode);
		$clock->under(sub { $node->start });
		true_time_soon("a day $name, corrected: after a stop ($mode) the time is true");
	}
	note("a day $name: " . worker_ids() . ' worker ids');
	cmp_ok(worker_ids(), '<=', 2, "a day $name: two worker ids do for it all");
	$node->stop;
}

# ---- a clock that toggles ----

# In one session, which looks at the clock after each step.
begin_server('toggling');
query('SELECT uid_next()');
my $session = $node->background_psql('postgres');
my $untrue = 0;
my @ids;
foreach my $toggle (1 .. 100)
{
	foreach my $step (-2 * $hour, 2 * $hour)
	{
		$clock->step($step);
		my ($id, $ahead) = split /\|/,
		  $session->query_safe('SELECT id, extract(epoch FROM uid_timestamp(id) - clock_timestamp()) FROM uid_next() AS id');
		push @ids, $id;
		$untrue++ unless abs($ahead) < 0.5 * $hour;
	}
}
$session->quit;
note('a hundred times to and fro: worker ids: ' . worker_ids());
is($untrue, 0, 'a hundred times to and fro: the time is true at once');
is(worker_ids(), '2', 'a hundred times to and fro: two worker ids do for it');
is(clock_steps(), '200', 'a hundred times to and fro: the steps are counted');
is(repeated(\@ids), 0, 'a hundred times to and fro: no id was issued twice');
$node->stop;

# ---- ids that may not run ahead of the clock, and batches far larger than a grant ----

# 160 ids a window.
begin_server('strict', conf => [
	"uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'", 'uidgen.max_ahead = 0', 'uidgen.max_burst = 0',
	'uidgen.window = 20ms', "uidgen.wait_timeout = '1h'" ]);
my @files = draw_files($node, ('SELECT uid_next_batch(4000)') x 4);
unique_in_order(16_000, 'no id ahead of the clock: batches of 25 windows in four sessions: unique, in order', @files);
is(worker_ids() . '|' . clock_steps() . '|' . query('SELECT sum(launches) FROM uidgen_registry.worker_node'), '1|0|1',
	'no id ahead of the clock: all from one worker id, and nothing looked like a step of the clock');
$node->stop;

# ---- the keeper ends while the clock is set back ----

# Just beyond a small step, of which a second and up to a window are room for what was
# granted before; and far beyond.
foreach my $back ($hour + 12, 2 * $hour)
{
	foreach my $end ('kill -9', 'pg_terminate_backend')
	{
		my $name = "$end of the keeper, set back by $back s";
		begin_server('keeper' . $back . ($end =~ /kill/ ? 'k' : 't'));
		# With a grant two seconds old.
		query('SELECT uid_next()');
		$clock->step(2);
		my @before = split /\n/, query('SELECT uid_next() FROM generate_series(1, 1000)');
		my $pid = the_keeper($node);
		stop_pids($pid);
		$clock->step(-$back);
		if ($end eq 'kill -9')
		{
			my $log = -s $node->logfile;
			kill 'KILL', $pid;
			poll_until(sub { log_since($node, $log) =~ /terminated by signal 9/ });
		}
		else
		{
			query("SELECT pg_terminate_backend($pid)");
			kill 'CONT', $pid;
		}
		true_time_soon("$name: the time is true at once");
		my @after = split /\n/, query('SELECT uid_next() FROM generate_series(1, 1000)');
		is(repeated(\@before, \@after), 0, "$name: no id was issued twice");
		note("$name: the lead is " . query('SELECT extract(epoch FROM uid_timestamp(uid_next()) - clock_timestamp())')
			  . ' s, worker ids: ' . worker_ids());
		cmp_ok(worker_ids(), '<=', 2, "$name: two worker ids at most");
		$node->stop;
	}
}

done_testing();
