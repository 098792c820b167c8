# UidgenTest.pm: what the TAP tests of uidgen share, on top of PostgreSQL::Test.
#
# A program that uses it has strict, warnings, Test::More and PostgreSQL::Test as well.
package UidgenTest;

use strict;
use warnings;
use Cwd 'abs_path';
use parent 'Exporter';
use File::Basename 'basename';
use FindBin;
use IPC::Run;
use List::Util qw(max);
use POSIX qw(ceil);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(preload is_late in_encoding uidgen_node by_hand standby_of try_psql sqlstate_of fails_with comes_to_fail poll_until log_since is_logged
  start_drawing await_drawing stop_drawing finish_drawing draw_until_error repeated ids_go_on change_setting await_keeper keeper_pid keeper_pids the_keeper
  postmaster_pid process_file child_pids end_keeper await_end times_asleep is_asleep drop_database stop_pids stop_processes crash await_recovery kill_and_start start_again percentile spread build_program build_preload
  build_module);

# A session's time is over when a statement takes too long, not when so much time has passed since it began.
{
	no warnings 'redefine';
	my ($new, $quit) = (\&PostgreSQL::Test::Cluster::background_psql, \&PostgreSQL::Test::BackgroundPsql::quit);
	*PostgreSQL::Test::Cluster::background_psql = sub {
		my $session = $new->(@_);
		$session->set_query_timer_restart;
		return $session;
	};
	*PostgreSQL::Test::BackgroundPsql::quit = sub {
		my ($session) = @_;
		$session->{timeout}->start;
		return $quit->($session);
	};
}

# By itself, a cluster would have the encoding and locale of the environment, so each machine would test another one.  A program's clusters take these in
# turn, unless it says which.  Which is the first depends on the program's name: some programs have one cluster.
{
	no warnings 'redefine';
	my ($init, $turn) = (\&PostgreSQL::Test::Cluster::init, unpack('%32C*', basename($0)));
	*PostgreSQL::Test::Cluster::init = sub {
		my ($node, %options) = @_;
		my @extra = @{ $options{extra} // [] };
		unshift @extra, in_encoding(qw(SQL_ASCII UTF8 LATIN1 ICU)[ $turn++ % 4 ]) if !grep { /^--(?:encoding|locale)=/ } @extra;
		return $init->($node, %options, extra => \@extra);
	};
}

# Options of init() for a cluster of an encoding, with the locale C; "ICU" is UTF8 with a locale by which texts are in another order, if the server has that.
sub in_encoding
{
	my ($encoding) = @_;
	return ("--encoding=$encoding", '--locale=C') if $encoding ne 'ICU';
	# Up to PostgreSQL 15 a server has it if the builder says so, and later unless the builder says no.
	my ($options) = run_command([ 'pg_config', '--configure' ]);
	my ($version) = run_command([ 'pg_config', '--version' ]);
	my $has_icu = $version =~ / 15/ ? $options =~ /--with-icu/ : $options !~ /--without-icu/;
	return (in_encoding('UTF8'), $has_icu ? qw(--locale-provider=icu --icu-locale=en) : ());
}

sub import
{
	my ($class) = @_;
	strict->import;
	warnings->import;
	eval 'package main; PostgreSQL::Test::Utils->import; Test::More->import; 1' or die $@ if caller eq 'main';
	return $class->export_to_level(1, $class);
}

# Do servers load the library when somebody calls it?  By ./check --late, from PostgreSQL 17 on.
sub is_late
{
	return ($ENV{UIDGEN_LATE} // '') eq 'yes';
}

# The line of postgresql.conf by which a server has uidgen, and @others, which are preloaded in any case.
sub preload
{
	my (@others) = @_;
	return sprintf "shared_preload_libraries = '%s'", join ', ', is_late() ? () : 'uidgen', @others;
}

# A server that has uidgen, not yet started.  @conf: more lines for
# postgresql.conf; the first of them may be a hash with options of init().  The extension is created by the test, where it wants it.
sub uidgen_node
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(ref $conf[0] ? %{ shift @conf } : ());
	$node->append_conf('postgresql.conf',
		join("\n", preload(), @conf) . "\n");
	return $node;
}

# A standby of a server, which has all that is there by now.
sub standby_of
{
	my ($primary, $name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$primary->backup("for_$name");
	$standby->init_from_backup($primary, "for_$name", has_streaming => 1);
	$standby->start;
	$primary->wait_for_catchup($standby);
	return $standby;
}

# Statements that change tables of the registry by hand, which only its functions may: as they would.
sub by_hand
{
	my ($sql) = @_;
	return "SET search_path = pg_catalog, uidgen_registry, pg_temp; $sql; RESET search_path";
}

# psql() of a server that may be down: (exit status, output, error).  Then psql may
# give up before it has read its input, of which IPC::Run dies.
sub try_psql
{
	my ($node, $sql, %options) = @_;
	my @result = eval { $node->psql($options{database} // 'postgres', $sql, %options) };
	die $@ unless @result || $@ =~ /Broken pipe/;
	return @result ? @result : (2, '', $@);
}

# Run SQL that should fail, by a login of the role if one is named; returns (SQLSTATE, everything that psql said).
# SQLSTATE is '' if it did not fail.
sub sqlstate_of
{
	my ($node, $sql, $database, $role) = @_;
	my ($status, $out, $err) = try_psql($node, $sql,
		database => $database, on_error_stop => 1, extra_params => [ '-v', 'VERBOSITY=verbose', defined $role ? ('-U', $role) : () ]);
	return ('', $out) if $status == 0;
	return ($err =~ /ERROR:\s+([0-9A-Z]{5}):/ ? $1 : 'unknown', $err);
}

# One test: this SQL fails with this SQLSTATE, and what psql says of it (message,
# detail and hint) matches the pattern.
sub fails_with
{
	my ($node, $sql, $sqlstate, $pattern, $name, $database, $role) = @_;
	my ($state, $text) = sqlstate_of($node, $sql, $database, $role);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like("$state $text", qr/^$sqlstate .*$pattern/s, $name);
}

# The same for a call that waits for the keeper: as often as its time is over before the keeper has met what is in the way, and
# it says no more than that, it is called again.
sub comes_to_fail
{
	my ($node, $sql, $sqlstate, $pattern, $name, $database) = @_;
	my ($state, $text);
	poll_until(
		sub {
			($state, $text) = sqlstate_of($node, $sql, $database);
			return $text =~ /$pattern/s;
		});

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like("$state $text", qr/^$sqlstate .*$pattern/s, $name);
}

# Call $code until it returns true; false after a generous limit.
sub poll_until
{
	my ($code, $seconds) = @_;
	my $end = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	while (time() < $end)
	{
		my $result = $code->();
		return $result if $result;
		usleep(20_000);
	}
	return 0;
}

# The server log from an offset on; take the offset with -s $node->logfile.
sub log_since
{
	my ($node, $offset) = @_;
	return substr(slurp_file($node->logfile), $offset);
}

# One test: the server log has this from an offset on, or comes to have it: the keeper writes what it has done after it has made
# that known.
sub is_logged
{
	my ($node, $offset, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(poll_until(sub { log_since($node, $offset) =~ $pattern }), $name) || diag(log_since($node, $offset));
}

# Begin to draw ids in a session of its own, some ten a millisecond, into a file:
# so these are ids that a client has seen.  $pause: what it calls after every ten,
# if not pg_sleep(), which does not end when the clock is set back.  $call: what it draws
# by, if not uid_next(); $tens: how often ten.
sub start_drawing
{
	my ($node, $database, $pause, $call, $tens) = @_;
	$call //= 'uid_next()';
	$tens //= 1_000_000;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/ids';
	my $run = IPC::Run::start(
		[
			$node->installed_command('psql'),
			'-XAtq', '-d', $node->connstr($database // 'postgres'), '-c',
			"COPY (SELECT $call FROM (SELECT generate_series(1, 10) FROM (SELECT "
			  . ($pause // 'pg_sleep(0.001)')
			  . " FROM generate_series(1, $tens)) AS pace) AS ten) TO STDOUT"
		],
		'<', \undef, '>', $file, '2>', "$file.err",
		# If it goes on for ever, a test that waits for its end should not.
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	return { run => $run, file => $file };
}

# The ids that a drawing has brought so far.  A line that was cut is left out.
sub drawn
{
	my ($drawing) = @_;
	return slurp_file($drawing->{file}) =~ /^(\d+)\n/mg;
}

# Wait until a drawing has brought at least this many more ids than now; false
# if it does not, or it ends in an error.
sub await_drawing
{
	my ($drawing, $count) = @_;
	my $size = (-s $drawing->{file}) + $count * 20;
	return poll_until(sub { -s "$drawing->{file}.err" || (-s $drawing->{file}) >= $size })
	  && !-s "$drawing->{file}.err";
}

# End a drawing, if it has not come to an end by itself; returns a reference to
# its ids.
sub stop_drawing
{
	my ($drawing) = @_;
	$drawing->{run}->signal('INT');
	eval { $drawing->{run}->finish };
	return [ drawn($drawing) ];
}

# Wait until a drawing has come to its end by itself; returns a reference to its ids.
sub finish_drawing
{
	my ($drawing) = @_;
	eval { $drawing->{run}->finish };
	return [ drawn($drawing) ];
}

# Draw ids as fast as they come, until a call fails, which may have waited for
# $timeout.  $call: as above.  Returns a reference to the ids, and what psql said of it.
sub draw_until_error
{
	my ($node, $database, $timeout, $call) = @_;
	my ($out, $err);

	$call //= 'uid_next()';
	local $ENV{PGOPTIONS} = "-c uidgen.wait_timeout=$timeout" if defined $timeout;
	$node->psql(
		$database // 'postgres', "COPY (SELECT $call FROM (SELECT generate_series(1, 1000000)) AS many) TO STDOUT",
		stdout => \$out, stderr => \$err, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return ([ split /\n/, $out ], $err);
}

# How often lists of ids have one that was there before.
sub repeated
{
	my %seen;
	return scalar grep { $seen{$_}++ } map { @$_ } @_;
}

# Two tests: ids can be drawn, perhaps after a while, and none is among those that were issued before, to which they are added.
sub ids_go_on
{
	my ($node, $issued, $name) = @_;
	my ($status, $out, $err);
	poll_until(
		sub {
			($status, $out, $err) = try_psql($node, "SET uidgen.wait_timeout = '10s'; SELECT uid_next() FROM generate_series(1, 100)");
			return $status == 0;
		});
	push @$issued, split /\n/, $out;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($status, 0, "$name: ids go on") or diag($err);
	return is(repeated($issued), 0, "$name: none was issued before");
}

# What the kernel says of a process in one of its files; '' if it has ended.
sub process_file
{
	my ($pid, $file) = @_;
	return eval { slurp_file("/proc/$pid/$file") } // '';
}

# Wait until a process has ended, whether or not its parent knows.
sub await_end
{
	my ($pid) = @_;
	return poll_until(sub { process_file($pid, 'stat') =~ /^(?:\d+ \(.*\) Z|$)/ });
}

# How often a process has gone to sleep.
sub times_asleep
{
	my ($pid) = @_;
	return process_file($pid, 'status') =~ /^voluntary_ctxt_switches:\s+(\d+)$/m ? $1 : -1;
}

# Is it asleep now?
sub is_asleep
{
	my ($pid) = @_;
	return process_file($pid, 'stat') =~ /^\d+ \(.*\) S/;
}

sub postmaster_pid
{
	my ($node) = @_;
	return (slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/)[0];
}

# Process ids of the postmaster's children.
sub child_pids
{
	my ($node) = @_;
	my $postmaster = postmaster_pid($node);
	return grep { process_file($_, 'status') =~ /^PPid:\s+$postmaster$/m } map { m{(\d+)$} } glob '/proc/[0-9]*';
}

# Process ids of the keeper and of its successor, if that has come.  Not by pg_stat_activity,
# where they do not show while they have no connection.
sub keeper_pids
{
	my ($node) = @_;
	return grep { process_file($_, 'cmdline') =~ /uidgen keeper/ } child_pids($node);
}

# Process id of the keeper, or '' if there is none, or one follows another at this moment.
sub keeper_pid
{
	my ($node) = @_;
	my @keepers = keeper_pids($node);
	return @keepers == 1 ? $keepers[0] : '';
}

# The keeper, once there is one, and no successor beside it.
sub the_keeper
{
	my ($node) = @_;
	return poll_until(sub { keeper_pid($node) }) || die 'there is not one keeper';
}

# End the keeper; with 'TERM', as pg_terminate_backend() does it, its grant is handed
# back.  True once another one has begun.  There may be none for a moment: a keeper whose
# registry is another database since a reload ends by itself.  Where the library is not
# preloaded, the postmaster starts another one after a second of the wall clock, which may
# stand still here; whoever waits for a keeper calls one.
sub end_keeper
{
	my ($node, $signal) = @_;
	my $keeper;
	# Another one, where it has just left its place to a successor.
	do { $keeper = the_keeper($node) } until kill $signal // 'TERM', $keeper;
	return poll_until(
		sub {
			my $next = keeper_pid($node);
			return 1 if $next && $next != $keeper;
			# With KILL, the server is in recovery for a moment.
			eval { await_keeper($node) } if is_late() && !$next;
			return 0;
		});
}

# Change a setting of a server that runs, until keeper and new sessions go by it.
sub change_setting
{
	my ($node, $setting, $value) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting = '$value'");
	$node->reload;
	$node->poll_query_until('postgres', "SHOW $setting", $value) or die "$setting is not $value";
	await_keeper($node);
	return;
}

# Wait until the keeper has followed what was changed before this call, a setting or the
# clock.  Twice: the first answer may be to a question that was asked before.
sub await_keeper
{
	my ($node) = @_;
	foreach (1 .. 2)
	{
		# Who asks waits for two seconds, in which the keeper of a busy machine may not have answered.
		poll_until(
			sub {
				return $node->safe_psql('postgres', q{
					CREATE FUNCTION pg_temp.ask_keeper() RETURNS text AS '$libdir/uidgen', 'uidgen_ask_for_grant' LANGUAGE C;
					SELECT pg_temp.ask_keeper()}) !~ /^The keeper has not answered/;
			});
	}
	return;
}

# By force; PostgreSQL waits for five seconds at most for those that it ends.
sub drop_database
{
	my ($node, $name) = @_;
	return poll_until(sub { (try_psql($node, "DROP DATABASE $name WITH (FORCE)"))[0] == 0 }) || die "database $name is not dropped";
}

# A test that dies leaves none of them stopped, since its server could not be shut down.
my @stopped_once;

END
{
	my $status = $?;
	kill 'CONT', grep { process_file($_, 'status') =~ /^State:\s+T/m } @stopped_once;
	$? = $status;
}

# Stop these processes; SIGCONT continues them, at the latest when the program ends.
sub stop_pids
{
	my (@pids) = @_;
	push @stopped_once, @pids;
	kill 'STOP', @pids;
	poll_until(sub { !grep { process_file($_, 'status') =~ /^State:\s+[RSD]/m } @pids })
	  or die "processes of the server do not stop\n";
	return @pids;
}

# Stop all processes of a server, as when its machine is suspended; returns their
# ids, for SIGCONT.  The postmaster first, so that no more of them come.
sub stop_processes
{
	my ($node) = @_;
	return map { stop_pids($_->($node)) } \&postmaster_pid, \&child_pids;
}

# That much of the values is at most this.
sub percentile
{
	my ($percent, @values) = @_;
	return (sort { $a <=> $b } @values)[ max(0, ceil($percent / 100 * @values) - 1) ];
}

# For a note: seconds that were measured, in milliseconds.
sub spread
{
	my (@seconds) = @_;
	return sprintf('n %d, p50 %.1f ms, p99 %.1f ms, max %.1f ms',
		scalar @seconds, map { 1000 * percentile($_, @seconds) } 50, 99, 100);
}

# Kill a backend with signal 9; returns when the server, which goes through recovery
# (with restart_after_crash), answers again.
sub crash
{
	my ($node) = @_;
	my $log = -s $node->logfile;
	my $run = IPC::Run::start(
		[ $node->installed_command('psql'), '-X', '-d', $node->connstr('postgres'), '-c', 'SELECT pg_sleep(3600) /* victim */' ],
		'<', \undef, '>&', \my $said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	my $pid;
	poll_until(
		sub {
			$pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%victim%'");
		}) or die 'no backend to kill';
	kill 'KILL', $pid;
	eval { $run->finish };
	return await_recovery($node, $log);
}

# After the kill of a backend: wait until the server, which goes through recovery, answers again.  $log: the size of its log
# before the kill.  The client of a process that was killed may know of that before the postmaster does, which lets new
# sessions in until then.
sub await_recovery
{
	my ($node, $log) = @_;
	return poll_until(
		sub {
			return log_since($node, $log) =~ /all server processes terminated; reinitializing/
			  && (try_psql($node, 'SELECT 1'))[0] == 0;
		}) || die 'the server does not come back';
}

# Kill the postmaster with signal 9, and start the server again.
sub kill_and_start
{
	my ($node) = @_;
	$node->kill9;
	return start_again($node);
}

# Start a server that was stopped or killed.
sub start_again
{
	my ($node) = @_;
	# Not before all of its children have gone.
	return poll_until(
		sub {
			return 1 if $node->start(fail_ok => 1);
			# It may take the process that is ending for a server.
			$node->stop('immediate', fail_ok => 1);
			return 0;
		}) || die 'the server does not start';
}

# Compile test/NAME.c; returns the program's full name.
sub build_program
{
	my ($name, $target, @options) = @_;
	my $program = abs_path(PostgreSQL::Test::Utils::tempdir($target)) . "/$target";
	my $source = "$FindBin::RealBin/../$name.c";
	my @command = ($ENV{CC} || 'gcc', '-O2', '-o', $program, $source, @options);
	my ($out, $err) = run_command(\@command);
	die "could not compile $source: $err\n" unless -e $program;
	return $program;
}

# Compile test/tools/NAME.c for LD_PRELOAD, without a libc of its own: the server may have another one than sh, which pg_ctl runs.
sub build_preload
{
	my ($name) = @_;
	return build_program("tools/$name", "$name.so", qw(-shared -fPIC -nodefaultlibs));
}

# Compile test/NAME.c as a module for the server; returns the library's full name.
sub build_module
{
	my ($name, @options) = @_;
	return build_program($name, basename($name) . '.so',
		qw(-shared -fPIC -D_GNU_SOURCE), "-I$ENV{SERVER_HEADERS}", @options);
}

1;
