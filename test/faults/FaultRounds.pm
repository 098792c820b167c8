# FaultRounds.pm: random rounds of load, faults and clock steps, against uidgen and
# a naive control.
#
#	FaultRounds->new(rounds => 8, ids => 10_000_000)->run;
#
# Each round:
#	1. several sessions draw ids, one of them from the control, which is a
#	   generator of the same kind that keeps nothing durable (naive.c);
#	2. during that, one to three random faults, and at last a crash of everything;
#	3. the clock is set back to the instant at which the round began, and the
#	   sessions draw again, with or without a further fault: so the interval that
#	   was used before is used again;
#	4. the clock goes home, or on from where it is.
#
# What makes a round count, and what is proved at the end: Rounds.pm.
#
# A round is long enough for the control to be caught, so that a fast machine sees
# more ids than were asked for.
package FaultRounds;

use strict;
use warnings;
use parent 'Rounds';
use Carp;
use Chance;
use FakeClock;
use IdFiles;
use List::Util qw(max min sum0);
use POSIX qw(ceil);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Sessions;
use Time::HiRes qw(time usleep);
use UidgenTest;

my $HOUR = 3600;
my $YEAR = 365 * 24 * $HOUR;

# How often each fault is chosen during the load, relative to the others.
my %FAULTS = (
	backend => 3,				# kill -9
	keeper => 2,				# kill -9
	process => 1,				# kill -9 of another process of the server
	postmaster => 1,			# kill -9
	immediate => 1,				# immediate stop, start
	fast => 2,					# fast stop, start
	terminate_keeper => 2,		# pg_terminate_backend()
	terminate_backend => 1,
	cancel => 2,				# pg_cancel_backend() of all that draw
	clock_small => 4,			# a step of a millisecond to 50 minutes
	clock_large => 3,			# a step of hours to years
	lock => 3);					# the registry's table is locked for a moment

# And the crash at the end of the load.
my %CRASHES = (backend => 5, keeper => 2, postmaster => 1, immediate => 1);

# These end the life of the shared memory.
my %ENDS = map { $_ => 1 } qw(backend keeper process postmaster immediate fast);

# Where the clock may go; the layout has room for it.
my $LAYOUT = 'time:41:1ms worker:10 sequence:12 epoch:2005-01-01';
my ($EARLIEST, $LATEST) = (1167609600, 2871763200);		# 2007 to 2061

# What clients may be told, and why.
my %EXPECTED = (
	# it has ended before it was terminated; the server crashed in between
	'01000' => qr/^PID N is not a PostgreSQL (?:backend|server) process|^AbortTransaction while in ABORT state/,
	'08001' => qr/^No such file|^Connection refused|^Connection reset/,
	'08006' => qr/server closed the connection|could not/,
	# the registry is locked; many crashes while ids were ahead of a clock that is then set
	# back by less than a large step; a parallel worker was killed
	'55000' => qr/^uidgen has no grant to issue ids from|^ids would run too far ahead of the clock|^lost connection to parallel worker|^parallel worker failed/,
	'57014' => qr/^canceling statement due to (?:user request|statement timeout)/,
	'57P01' => qr/^terminating (?:connection|background worker)|^postmaster exited/,
	'57P02' => qr/^terminating connection/,
	'57P03' => qr/^the database system is /);

sub new
{
	my ($class, %options) = @_;
	my $self = $class->SUPER::new(rounds => 200, ids => 100_000_000, %options);
	$self->{faults} = { map { $_ => $FAULTS{$_} // croak "there is no fault \"$_\"" }
		  @{ $options{faults} // [ keys %FAULTS ] } };
	my %crashes = map { $_ => $CRASHES{$_} } grep { $self->{faults}{$_} } keys %CRASHES;
	$self->{crashes} = %crashes ? \%crashes : \%CRASHES;
	$self->{starts} = [];		# of the clock, of earlier rounds
	$self->{clock_high} = 0;	# what the clock showed in the life of the memory
	return $self;
}

# ---- the server ----

sub set_up
{
	my ($self) = @_;
	my $node = $self->{node} = uidgen_node('faults',
		'restart_after_crash = on',
		'log_statement = none',
		"log_line_prefix = '%m [%p] %e %q%a '",
		"uidgen.layout = '$LAYOUT'",
		"uidgen.wait_timeout = '5s'",
		"include_if_exists = 'round.conf'");
	my $control = build_module('faults/naive');
	$node->append_conf('postgresql.conf', preload(qq("$control")) . "\n");

	$self->{sessions} = Sessions->new($node, $self->{folder});
	$self->{clock} = FakeClock->new($node);
	$self->start_server;
	$node->safe_psql('postgres', 'CREATE DATABASE second');
	foreach my $database ('postgres', 'second')
	{
		$node->safe_psql($database, "CREATE EXTENSION uidgen;
			CREATE FUNCTION naive_next() RETURNS bigint AS '$control' LANGUAGE C VOLATILE;
			CREATE TABLE source AS SELECT generate_series(1, 200000) AS i;
			-- The planner leaves uid_next() itself to the leader.
			CREATE FUNCTION in_worker() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uid_next()';
			VACUUM ANALYZE source");
	}
	return;
}

# Its log is new, so that a failed start shows that alone.
sub start_server
{
	my ($self, %options) = @_;
	my $node = $self->{node};
	my $log = $node->rotate_logfile;
	my $started = $self->{clock}->under(sub { $node->start(%options) });
	$self->{logs}{$log} = 1;
	$self->{postmaster} = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0] if $started;
	return $started;
}

# The processes of the server: title by process id.
sub children
{
	my ($self) = @_;
	my %title;
	foreach my $process (glob '/proc/[0-9]*')
	{
		# It may have ended since.
		open(my $stat, '<', "$process/stat") or next;
		next unless (readline($stat) // '') =~ /\) \S $self->{postmaster} /;
		open(my $command, '<', "$process/cmdline") or next;
		$title{ substr($process, length '/proc/') } = (readline($command) // '') =~ s/\0.*//sr;
	}
	return \%title;
}

# The process id of a child whose title matches, at random; undef if there is none.
sub child
{
	my ($self, $pattern) = @_;
	my $children = $self->children;
	return pick(grep { $children->{$_} =~ $pattern } sort keys %$children);
}

# Set the clock, and keep in mind what it showed before.  With $stop it stands
# still at that time until it is set again.
sub set_clock
{
	my ($self, $time, $stop) = @_;
	$self->{clock_high} = max($self->{clock_high}, $self->{clock}->now);
	# Then ids start again from the clock's time, out of order.
	$self->{large_step} = 1 if $self->{clock_high} - $time > 0.9 * $HOUR;
	$stop ? $self->{clock}->stop($time) : $self->{clock}->set($time);
	return;
}

# ---- load ----

# Ids of this round that clients have seen.
my @OURS = ('first', 'serial', 'parallel');

sub seen
{
	my ($self) = @_;
	return sum0(map { $self->{sessions}->ids($_) } @OURS);
}

# How a session draws n ids: [kind, query].  Serial ones are in order.
my $many = '(SELECT generate_series(1, %d) AS i) AS many';
my %draw = (
	next => [ 'serial', "SELECT uid_next() FROM $many" ],
	batch => [ 'serial', 'SELECT uid_next_batch(%d)' ],
	block => [
		'serial',
		"SELECT generate_series(b, b + 499) FROM $many, LATERAL uid_reserve(500 + 0 * i) AS b"
	],
	parallel => [ 'parallel', "SELECT in_worker() FROM $many" ],
	workers => [ 'parallel', 'SELECT in_worker() FROM source WHERE i <= %d' ],
	control => [ 'control', "SELECT naive_next() FROM $many" ]);

sub draw
{
	my ($how, $count) = @_;
	my ($kind, $query) = @{ $draw{$how} };
	return [ $kind, sprintf($query, $how eq 'block' ? ceil($count / 500) : $count) ];
}

# Statements that draw so many ids, by some at a time.
sub draw_in_parts
{
	my ($how, $count, $part) = @_;
	my @draws;
	# The statements have to fit a pipe.
	$part = max($part, $count / 100);
	while ($count > 0)
	{
		my $size = min($count, int($part * (0.5 + rand)));
		push @draws, draw($how, $size);
		$count -= $size;
	}
	return @draws;
}

# The kinds of sessions, and how often each is chosen relative to the others.
my %SESSIONS = (
	next => 4,
	cache => 2,					# from the session's cache
	batch => 4,
	block => 1,
	parallel => 2,				# in one parallel worker
	workers => 1,				# in several
	statement_timeout => 1,		# statements that are cut off
	wait_timeout => 2);			# of little patience

# The statements of a session.
sub session_statements
{
	my ($self, $kind, $count) = @_;
	my $force = $self->{node}->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';

	$self->{faults_seen}{$kind}++ if $kind =~ /timeout/;
	return ("SET $force = on", draw_in_parts('parallel', $count, 60_000))
	  if $kind eq 'parallel';
	return ((map { "SET $_ = 0" } qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size)),
		draw_in_parts('workers', $count, 100_000))
	  if $kind eq 'workers';
	return (sprintf('SET uidgen.cache = %d', pick_magnitude(2, 5000)), draw_in_parts('next', $count, 60_000))
	  if $kind eq 'cache';
	return (sprintf("SET statement_timeout = '%dms'", pick_magnitude(5, 300)),
		draw_in_parts('next', $count, 100_000))
	  if $kind eq 'statement_timeout';
	return (sprintf("SET uidgen.wait_timeout = '%dms'", rand > 0.3 ? pick_magnitude(1, 500) : 0),
		draw_in_parts('next', $count, 20_000))
	  if $kind eq 'wait_timeout';
	return draw_in_parts($kind, $count, 60_000);
}

# Several sessions that draw so many ids together.  They begin when all are
# connected, and $just_before is called then: else the time that it takes to
# connect would decide whether the interval that was used is used again.
sub start_load
{
	my ($self, $count, $just_before) = @_;
	my $sessions = $self->{sessions};
	my $number = 3 + int rand 3;
	# So many that the control's time is not over while others are still to begin.
	my $control = max(int($count / 4), $just_before ? 100_000 : 0);
	my @pids = $sessions->prepare(pick('postgres', 'second'), draw_in_parts('control', $control, 60_000));

	push @pids, $sessions->prepare(pick('postgres', 'second'),
		$self->session_statements(pick_weighted(\%SESSIONS), ceil($count / $number)))
	  foreach 1 .. $number;
	foreach my $pid (@pids)
	{
		usleep(1000) until $sessions->is_ready($pid);
	}
	$just_before->() if $just_before;
	$sessions->go(@pids);
	return;
}

# Wait until clients have seen so many ids of this round, and more than so many of
# the control, which has come to draw for so many seconds; or nothing comes any
# more; or the sessions have ended.  Says which.  While the registry is locked, the
# number does not count: what comes next is to meet callers that wait.
sub watch
{
	my ($self, $ids, $control, $seconds) = @_;
	my $sessions = $self->{sessions};
	my $since;
	my $patience = defined $ids ? 0.2 + rand 2 : 3 * $PostgreSQL::Test::Utils::timeout_default;
	my ($last_seen, $last_time) = (0, time);

	for (;;)
	{
		my $running = $sessions->running;
		my $seen = $self->seen;

		if ($self->{locker} && time > $self->{locked_until})
		{
			$self->unlock;
			$last_time = time;
		}
		if (defined $ids && !$self->{locker} && $sessions->ids('control') > $control)
		{
			$since //= time;
			return 'due' if $seen >= $ids && time - $since >= $seconds;
		}
		return 'ended' if !$running;
		($last_seen, $last_time) = ($seen, time) if $seen > $last_seen;
		return 'stalled' if time - $last_time > $patience;
		usleep(3000);
	}
}

# Draw so many ids, or about that, and have the faults happen on the way.  Options:
# faults; until_fault (the end is the last fault, while the load is still on); least
# (seconds for which the control draws before the first fault); just_before (called
# as the first load begins).
sub drive
{
	my ($self, $target, %options) = @_;
	my @faults = @{ $options{faults} // [] };
	my $sessions = $self->{sessions};
	my $begin = $self->seen;
	my $control = $sessions->ids('control');
	my $step = $target / (@faults + 1);
	my $due = $step;
	my $least = $options{least} // 0;
	my $loads = 0;

	for (;;)
	{
		if (!$sessions->running)
		{
			my $left = $target - ($self->seen - $begin);
			return if !@faults && ($left < $target / 5 || $loads >= 6);
			# Many more if a fault will end the load, so that the fault does not come too late.
			$self->start_load(
				$options{until_fault} ? max($left * 20, 3_000_000) : max($left, $target / 5) * (@faults ? 2 : 1),
				delete $options{just_before});
			$loads++;
		}
		if (!@faults)
		{
			die "the sessions do not come to an end\n" if $self->watch eq 'stalled';
			next;
		}
		my $outcome = $self->watch($begin + $due, $control, $least);
		next if $outcome eq 'ended' && $loads < 6;
		$least = 0;
		$self->inject(shift @faults);
		return if $options{until_fault} && !@faults;
		$due += $step;
	}
}

# ---- faults ----

# A fault; in [fault, when] it says when the clock goes back to the start.
sub inject
{
	my ($self, $what) = @_;
	my ($fault, $when) = ref $what ? @$what : $what;
	my $sessions = $self->{sessions};

	if ($ENDS{$fault})
	{
		$self->bring_down($fault, $when // pick('before', 'during', 'after', 'never', 'never', 'never'));
		return;
	}
	$self->note_fault($fault);
	if ($fault eq 'terminate_keeper' || $fault eq 'terminate_backend')
	{
		my $pid = $self->child($fault eq 'terminate_keeper' ? qr/uidgen keeper/ : qr/\[local\] COPY/);
		$self->query("SELECT pg_terminate_backend($pid)") if $pid;
	}
	elsif ($fault eq 'cancel')
	{
		$self->query('SELECT pg_cancel_backend(pid) FROM pg_stat_activity'
			  . " WHERE pid <> pg_backend_pid() AND query LIKE 'COPY%'");
	}
	elsif ($fault eq 'clock_small' || $fault eq 'clock_large')
	{
		my $step = pick_magnitude($fault eq 'clock_small' ? (0.001, 50 * 60) : (1.1 * $HOUR, 15 * $YEAR));
		my $time = $self->{clock}->now + pick(-1, 1) * $step;
		$self->set_clock(max($EARLIEST, min($LATEST, $time)));
	}
	elsif ($fault eq 'lock' && !$self->{locker})
	{
		my $locker = $sessions->hold('postgres', 'BEGIN; LOCK TABLE uidgen_registry.worker_node IN ACCESS EXCLUSIVE MODE');
		$self->{locker} = $locker;
		$self->{locked_until} = time + pick_magnitude(0.3, 3);
	}
	return;
}

# Not by the node: the server may be on its way down.
sub query
{
	my ($self, $sql) = @_;
	$self->{sessions}->end($self->{sessions}->start('postgres', $sql));
	return;
}

# Bring the server down and up again, and wait for its first id.  The clock goes
# back to where the round began: before, while the server is down, after, or never.
# It stands still until there is an id, so that it has not left the interval by then.
sub bring_down
{
	my ($self, $how, $when) = @_;
	my $node = $self->{node};
	my $back = sub { $self->set_clock($self->{start}, 1) if $when eq $_[0] };
	my $begin;

	$back->('before');
	if ($how eq 'postmaster')
	{
		$begin = time;
		$node->kill9;
		$back->('during');
		# Not before all of its children have gone.
		poll_until(sub {
			return 1 if $self->start_server(fail_ok => 1);
			# It may take the process that is ending for a server.
			$node->stop('immediate', fail_ok => 1);
			return 0;
		}) || die "the server does not start\n";
	}
	elsif ($how eq 'immediate' || $how eq 'fast')
	{
		$begin = time;
		$node->stop($how);
		$back->('during');
		$self->start_server;
	}
	else
	{
		($how, $begin) = $self->kill_child($how);
		$back->('during');
	}
	$self->{clock_high} = 0;
	$self->first_id;
	$self->note_fault($how);
	push @{ $self->{times}{$how} }, time - $begin;
	$self->set_clock($self->{start}) if $when ne 'never';

	$self->unlock;
	$self->{sessions}->end;
	return;
}

# Kill a process of the server with signal 9; returns when the postmaster has
# taken note and ended all others.  Returns what was killed, and when.
sub kill_child
{
	my ($self, $what) = @_;
	my %title = (
		backend => qr/\[local\] COPY|parallel worker/,
		keeper => qr/uidgen keeper/,
		process => qr/background writer|walwriter|autovacuum launcher/);

	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	for (;;)
	{
		die "there is no $what to kill\n" if time > $end;
		my $checkpointer = $self->child(qr/checkpointer/);
		my $victim = $self->child($title{$what});
		my $begin = time;
		if ($checkpointer && $victim && kill 'KILL', $victim)
		{
			# It may have come to its end just before.
			usleep(500) while kill(0, $checkpointer) && time - $begin < 3;
			return ($what, $begin) unless kill 0, $checkpointer;
		}
		usleep(1000);
		# There is no backend when the load has ended early.
		$what = 'process' if $what eq 'backend' && !$self->{sessions}->running;
	}
}

# Ask until there is an id.
sub first_id
{
	my ($self) = @_;
	my $sessions = $self->{sessions};
	my $had = $sessions->ids('first');
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	for (;;)
	{
		$sessions->end($sessions->start('postgres', [ 'first', 'SELECT uid_next()' ]));
		return if $sessions->ids('first') > $had;
		die 'there is no id after a fault; the server log is ' . $self->{node}->logfile . "\n" if time > $end;
		usleep(2000);
	}
}

sub unlock
{
	my ($self) = @_;
	my $locker = delete $self->{locker} or return;
	$self->{sessions}->release($locker);
	return;
}

# ---- rounds ----

sub round
{
	my ($self, $ids) = @_;
	my $clock = $self->{clock};

	$self->begin_round;
	my @faults = map { pick_weighted($self->{faults}) } 1 .. 1 + rand 3;
	my $crash = [ pick_weighted($self->{crashes}), pick('before', 'during', 'during', 'after') ];
	my @late_faults = rand > 0.4 ? () : pick_weighted($self->{faults});
	my $late_end = @late_faults && $ENDS{ $late_faults[0] };
	my $goes_home = rand > 0.3;
	my $start = @{ $self->{starts} } && rand > 0.8 ? pick(@{ $self->{starts} }) : undef;
	# If the registry is to be locked, short grants and none from before: so that
	# they end.
	my $locks = grep { $_ eq 'lock' } @faults, @late_faults;
	my $window = pick('20ms', '100ms', $locks ? () : ('1s', '10s'));
	$self->configure("uidgen.window = $window", 'synchronous_commit = ' . pick('off', 'off', 'on'));
	$self->{large_step} = 0;

	# The control never goes behind what its memory has seen: if the clock does,
	# begin with new memory.
	if (defined $start || $locks || $clock->now < $self->{clock_high})
	{
		$self->{start} = $start // $clock->now;
		$self->bring_down(pick('immediate', 'fast'), 'during');
	}
	$self->drive($ids * 0.5,
		faults => [ @faults, $crash ],
		until_fault => 1,
		least => 0.1,
		just_before => sub {
			$self->set_clock($start) if defined $start;
			$self->{start} = $clock->now;
			push @{ $self->{starts} }, $self->{start};
		});
	$self->drive($ids * 0.4,
		faults => \@late_faults,
		until_fault => $late_end,
		least => $late_end ? 0.1 : 0,
		just_before => sub { $self->set_clock($self->{start}) });
	if ($goes_home)
	{
		$self->set_clock($clock->now);
		$clock->correct;
	}
	$self->drive($ids * 0.1);
	$self->unlock;
	my $sessions = $self->{sessions};
	$sessions->end;
	$self->judge([ $sessions->files(@OURS) ], [ $sessions->files('control') ],
		sub { return $self->{large_step} ? 0 : (look_into_files($sessions->files('serial')))[2] });
	$sessions->clear;
	return;
}

sub configure
{
	my ($self, @lines) = @_;
	my $file = $self->{node}->data_dir . '/round.conf';
	unlink $file;
	append_to_file($file, join('', map { "$_\n" } @lines));
	$self->{node}->reload;
	return;
}

# ---- what the whole asks ----

sub sessions
{
	my ($self) = @_;
	return $self->{sessions};
}

sub expected { return \%EXPECTED }

sub tear_down
{
	my ($self) = @_;
	my $workers = $self->{node}->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node');
	$self->{node}->stop;
	return [ 'worker ids used', $workers ];
}

1;
