# An idle keeper gives up its connection without a word in the log, and another one takes its
# place: through hundreds of generations, whatever is killed or terminated
# at that moment, without a free worker slot, and in shutdowns, there is one keeper
# afterwards, never none and never two, and no id comes twice.  Half minutes pass by a false
# clock.  pg_regress cannot bring this about.
#
#	UIDGEN_GENERATIONS=5000 ./check test/t/keeper_quiet.pl	# not 150

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use Time::HiRes qw(time);
use UidgenTest;

my $generations = $ENV{UIDGEN_GENERATIONS} // 150;

# In seconds, on a slow machine.
my $LIMIT = 40;

# What the tests themselves send is not in the log, and each line says which process wrote it.
my @QUIET = ('log_statement = none', 'log_min_error_statement = panic', "log_line_prefix = '%m [%p] %b: '");

my @all;

sub draw
{
	my ($node) = @_;
	my $id = $node->safe_psql('postgres', 'SELECT uid_next()');
	push @all, $id;
	return $id;
}

# A server whose grants are over in a moment, with a clock; what it takes to start it again.
my %clock_of;

sub start_node
{
	my ($name, @conf) = @_;
	my $node = uidgen_node($name, @QUIET, 'restart_after_crash = on', "uidgen.window = '20ms'", "uidgen.wait_timeout = '1min'", @conf);
	$clock_of{$name} = FakeClock->new($node);
	start($node);
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	draw($node);
	return $node;
}

sub start
{
	my ($node) = @_;
	return $clock_of{ $node->name }->under(sub { $node->start });
}

# What the log has since an offset that the keeper wrote, or others wrote about it.
sub lines
{
	my ($node, $offset) = @_;
	return join('', grep { /uidgen|background workers|worker process:/ } map { "$_\n" } split /\n/, log_since($node, $offset));
}

# Of these, what the server says of the process.
sub ends
{
	my ($node, $offset) = @_;
	my @ends = lines($node, $offset) =~ /^.*background worker "uidgen keeper".*\n/mg;
	return @ends;
}

# So much time passes, and the keeper looks at its clock.  It sleeps until half a minute has
# passed by the true one.
sub idle
{
	my ($node, $seconds) = @_;
	$clock_of{ $node->name }->pass($seconds // 31);
	kill 'HUP', keeper_pids($node);
	return;
}

# Half a minute passes; true once another keeper has taken its place.  An id that was just drawn, or is
# drawn meanwhile, may still be an attempt's, which ends later; then another half minute has to pass.
sub is_followed
{
	my ($node, $meanwhile) = @_;
	my $keeper = the_keeper($node);
	my $next_try = 0;
	return poll_until(
		sub {
			if (time() > $next_try && keeper_pid($node) eq $keeper)
			{
				idle($node);
				$next_try = time() + 0.5;
			}
			$meanwhile->() if $meanwhile;
			undef $meanwhile;
			my $next = keeper_pid($node);
			return $next && $next != $keeper;
		});
}

# Two tests: ids go on, and there is one keeper, also after it was idle for another time.
sub goes_on
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(draw($node), '>', 0, "$name: ids go on");
	ok(is_followed($node) && draw($node), "$name: and one keeper follows another");
	return;
}

my $node = start_node('main');
goes_on($node, 'at first');
is_followed($node);

# ---- generations ----

# Ids are drawn until the next one has come, some of them while it does.
my $session = $node->background_psql('postgres');
my @seconds;
my $log = -s $node->logfile;
foreach (1 .. $generations)
{
	my $start = time();
	push @all, $session->query_safe('SELECT uid_next()');
	push @seconds, time() - $start;
	is_followed($node, sub { push @all, split /\n/, $session->query_safe('SELECT uid_next() FROM generate_series(1, 20)') })
	  or last;
}
$session->quit;
is(scalar @seconds, $generations, "$generations generations");
is(lines($node, $log), '', 'without a line in the log');
is($node->safe_psql('postgres', 'SELECT failures FROM uidgen.status'), '0', 'or a failure');
note('the first id after each: ' . spread(@seconds));

# ---- killed or terminated while one follows the other ----

# The keeper, after ids were drawn, with the postmaster stopped, so that no successor can start.
sub stop_postmaster
{
	my ($node) = @_;
	my $postmaster = postmaster_pid($node);
	return poll_until(
		sub {
			draw($node);
			my $keeper = the_keeper($node);
			stop_pids($postmaster);

			# It may have given up its connection just before.
			return $keeper if keeper_pid($node) eq $keeper;
			kill 'CONT', $postmaster;
			return 0;
		}) || die 'there is not one keeper';
}

# A keeper and its successor, which has come and waits; the keeper is stopped.
sub side_by_side
{
	my ($node) = @_;

	# As in is_followed(), it may take another half minute.
	foreach (1 .. 20)
	{
		my $keeper = stop_postmaster($node);
		my $asleep = times_asleep($keeper);
		idle($node);
		poll_until(sub { times_asleep($keeper) > $asleep }) or die 'the keeper does nothing';
		stop_pids($keeper);
		kill 'CONT', postmaster_pid($node);
		if (poll_until(sub { keeper_pids($node) == 2 }, 1))
		{
			my ($successor) = grep { $_ != $keeper } keeper_pids($node);
			poll_until(sub { is_asleep($successor) }) or die 'the successor does not wait';
			return ($keeper, $successor);
		}
		kill 'CONT', $keeper;
	}
	die 'no successor comes';
}

foreach my $killed ('the keeper', 'the successor', 'a backend')
{
	my ($keeper, $successor) = side_by_side($node);
	my $victim = $node->background_psql('postgres', on_error_die => 0, on_error_stop => 0) if $killed eq 'a backend';
	my $pid = $killed eq 'the keeper' ? $keeper : $killed eq 'the successor' ? $successor : $victim->query_safe('SELECT pg_backend_pid()');
	$log = -s $node->logfile;
	kill 'KILL', $pid;
	kill 'CONT', $keeper;
	ok(await_recovery($node, $log), "$killed is killed: the server comes back");
	eval { $victim->quit } if $victim;
	is(scalar(ends($node, $log)), $killed eq 'a backend' ? 0 : 1, 'and of two keepers one ends without a line');
	goes_on($node, "$killed is killed");
}

# Between the call for a successor and the moment that the postmaster notices it.
{
	my $victim = $node->background_psql('postgres', on_error_die => 0, on_error_stop => 0);
	my $pid = $victim->query_safe('SELECT pg_backend_pid()');
	stop_postmaster($node);
	$log = -s $node->logfile;
	idle($node);
	ok(!poll_until(sub { !keeper_pids($node) }, 1), 'a keeper does not end before a successor has come');
	kill 'KILL', $pid;
	await_end($pid);
	kill 'CONT', postmaster_pid($node);
	ok(await_recovery($node, $log), 'a crash before the postmaster knows of a successor: the server comes back');
	eval { $victim->quit };
	goes_on($node, 'such a crash');
}

{
	my ($keeper, $successor) = side_by_side($node);
	# Until the successor has its place, no other one is started.
	my $postmaster = postmaster_pid($node);
	stop_pids($postmaster);
	my $asleep = times_asleep($successor);
	kill 'TERM', $keeper;
	kill 'CONT', $keeper;
	ok(await_end($keeper), 'the keeper is terminated: it ends');
	poll_until(sub { times_asleep($successor) > $asleep && is_asleep($successor) }) or die 'the successor does nothing';
	kill 'CONT', $postmaster;
	is(the_keeper($node), $successor, 'and its successor is the one keeper');
	goes_on($node, 'the keeper is terminated');

	($keeper, $successor) = side_by_side($node);
	$log = -s $node->logfile;
	kill 'TERM', $successor;
	ok(await_end($successor), 'the successor is terminated: it ends');
	kill 'CONT', $keeper;
	is(the_keeper($node), $keeper, 'and the keeper stays');
	is(lines($node, $log), '', 'without a line in the log');
	goes_on($node, 'the successor is terminated');
}

ok( $node->poll_query_until('postgres', "SELECT pg_terminate_backend(pid), uid_next() > 0 FROM pg_stat_activity WHERE backend_type = 'uidgen keeper' UNION ALL SELECT false, uid_next() IS NULL LIMIT 1", 't|t'),
	'a connected keeper is terminated');
goes_on($node, 'pg_terminate_backend()');

# ---- shutdown ----

sub stops
{
	my ($name, $mode, $before, $after) = @_;
	my $offset = -s $node->logfile;
	$before->() if $before;
	my $start = time();
	my $stop = IPC::Run::start([ 'pg_ctl', '-D', $node->data_dir, '-m', $mode, 'stop' ], '>', \my $out, '2>', \my $err);
	$after->() if $after;
	$stop->finish;
	$node->{_pid} = undef;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(!-e $node->data_dir . '/postmaster.pid' && time() - $start < $LIMIT, "$name, $mode: the server stops");
	# A successor that had not begun yet when it was told to end has a line as well.
	cmp_ok(scalar(ends($node, $offset)), '<=', 2, "$name, $mode: with a line of the keeper, and one of a successor, at most");
	start($node);
	return;
}
foreach my $mode ('smart', 'fast', 'immediate')
{
	my $keeper;
	stops('a keeper and its successor', $mode, sub { ($keeper) = side_by_side($node) }, sub {
		Time::HiRes::usleep(100_000);
		kill 'CONT', $keeper;
	});
	draw($node);
	stops('half a minute after the last id', $mode, sub { idle($node) });
	goes_on($node, "after a $mode shutdown");
}
is(repeated(\@all), 0, scalar(@all) . ' ids of this server, none twice');
$node->stop;

# ---- another database ----

$node = start_node('other');
# The keeper waits for its successor for a second, which a busy machine may take from it now and then.
my $other;
foreach (1 .. 5)
{
	$other = "other$_";
	$node->safe_psql('postgres', "CREATE DATABASE $other");
	the_keeper($node);
	$log = -s $node->logfile;
	change_setting($node, 'uidgen.database', $other);
	draw($node);
	last if !ends($node, $log);
}
is($node->safe_psql($other, 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', 'the registry is another database: the grant is from there');
is(join('', ends($node, $log)), '', 'and the log has no line of the keeper that has ended');
is($node->safe_psql('postgres', "SELECT datname FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'"), $other, 'whose successor is connected there');
$node->stop;

# ---- no free worker slot ----

# A parallel worker has the slot that is free.
@all = ();
$node = start_node('slots', 'max_worker_processes = 2', 'max_logical_replication_workers = 0', 'max_parallel_workers = 2');
goes_on($node, 'one slot is free');
my $force = $node->safe_psql('postgres', "SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')");
my $blocker = IPC::Run::start(
	[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET $force = on", '-c', 'SELECT pg_sleep(3600)' ],
	'<', \undef, '>', \my $out, '2>', \my $err, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"),
	'a parallel worker has the free slot');
$log = -s $node->logfile;
my $keeper = the_keeper($node);
foreach my $round (1 .. 3)
{
	draw($node);
	my $asleep = times_asleep($keeper);
	idle($node);
	poll_until(sub { times_asleep($keeper) > $asleep });
	is(the_keeper($node), $keeper, "round $round: without a free slot the keeper stays");
}
is(lines($node, $log), '', 'and says nothing');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'"), '1', 'it stays connected');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(3600)' AND backend_type = 'client backend'");
eval { $blocker->finish };
ok( poll_until(
		sub {
			my $next = keeper_pid($node);
			return 1 if $next && $next != $keeper;
			idle($node);
			return 0;
		}),
	'the slot is free again: the keeper gives up its connection by itself');
is(lines($node, $log), '', 'all that without a line');
goes_on($node, 'the slot is free again');

# The keeper's own is the only one.
$node->append_conf('postgresql.conf', 'max_worker_processes = 1');
$node->stop;
start($node);
draw($node);
$keeper = the_keeper($node);
$log = -s $node->logfile;
idle($node);
draw($node);
is(the_keeper($node), $keeper, 'max_worker_processes = 1: the keeper stays');
is(lines($node, $log), '', 'and says nothing');
ok(end_keeper($node), 'terminated, it is started again');
ok(draw($node), 'and ids go on');
$node->safe_psql('postgres', 'CREATE DATABASE other');
change_setting($node, 'uidgen.database', 'other');
ok(draw($node), 'the registry is another database: ids go on, without a free slot');
like(join('', ends($node, $log)), qr/ exited with exit code 1/, 'though the log has a line of that');
$node->stop;

done_testing();
