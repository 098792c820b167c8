# FleetRounds.pm: random rounds of faults for a fleet: many servers with one registry,
# which fails over and loses what was committed last.
#
#	FleetRounds->new(rounds => 3, ids => 100_000)->run;
#
# The fleet has five nodes: two servers, a copy of the data directory of each, and a
# standby of the first that is promoted.  Copies and standby are made anew now and then.
# The registry is a primary with an asynchronous standby.  Each round:
#	1. sessions draw ids on all nodes, as fast as they can; meanwhile one to three
#	   faults of a node or of the registry;
#	2. the registry's standby is cut off; some nodes are restarted, mostly as if on another
#	   machine, so that what they are granted is lost, and some of these freeze; others
#	   end.  The standby is promoted, those that had ended start, and the frozen ones go on;
#	3. none to two more faults; at last each node has to have an id once more.  The former
#	   primary becomes the new one's standby.
#
# Beside each node runs a node of the control, with the same clock and the same faults.
# The two fleets have their registries in two databases of the same server; that of the
# control lacks three rules: no quarantine, no limit on how far ahead a grant may reach,
# and a worker id is renewed and taken whatever the token says.
#
# All stays within what docs/design.md promises: each server of the registry has a clock that is
# off by less than half of clock_slack, two primaries are there at once for less than that, and
# failovers are far apart.
#
# What makes a round count, and what is proved at the end: Rounds.pm.
package FleetRounds;

use strict;
use warnings;
use parent 'Rounds';
use Chance;
use FakeClock;
use File::Copy ();
use File::Path qw(remove_tree);
use IdFiles;
use List::Util qw(max min shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use Time::HiRes qw(time usleep);
use UidgenTest;

# So few ids a tick that sessions are soon as far ahead of the clock as they may be; and
# so few worker ids that those of before are used again.
our $LAYOUT = 'time:41:1ms worker:5 sequence:5 epoch:2025-01-01';
my $WORKERS = 32;
# In seconds.
my $MAX_LEAD = 3;
my $CLOCK_SLACK = 1;
# Two failovers that lose commits are so far apart that nobody claims a grant any more in
# the second one that the first one lost.
my $BETWEEN_FAILOVERS = 2 * $MAX_LEAD + $CLOCK_SLACK;
# As far is the clock of each of the registry's servers off, at most.
my $REGISTRY_OFF = 0.45 * $CLOCK_SLACK;
# And those of the nodes; more than a day is refused.
my $NODE_OFF = 20 * 3600;

# How often each fault is chosen, relative to the others.
my %FAULTS = (
	# of a node
	backend => 2,				# kill -9
	keeper => 2,				# kill -9
	postmaster => 2,			# kill -9, start
	immediate => 1,				# immediate stop, start
	fast => 2,					# fast stop, start
	terminate_keeper => 2,
	freeze => 3,				# all of its processes
	clock_small => 3,
	clock_large => 3,
	boot_clock => 1,			# leaps forward
	copy => 2,					# made anew
	standby => 2,				# made anew, promoted later
	# of the registry
	registry_restart => 2,
	registry_freeze => 3,
	registry_lock => 2,
	registry_clock => 2,
	cut_calls => 2);			# the sessions of nodes at the registry are terminated

# How a node ends before and after the standby is cut off; seldom by handing back its grant.
my %ENDS = (postmaster => 4, immediate => 4, fast => 1);

my %EXPECTED = (
	'01000' => qr/^AbortTransaction while in ABORT state/,
	'08001' => qr/^No such file|^Connection refused|^Connection reset/,
	'08006' => qr/server closed the connection|could not/,
	'55000' => qr/^uidgen has no grant to issue ids from|^ids would run too far ahead of the clock/,
	'57014' => qr/^canceling authentication due to timeout/,	# the clock was set meanwhile
	'57P01' => qr/^terminating connection/,
	'57P02' => qr/^terminating connection/,
	'57P03' => qr/^the database system is /);

sub new
{
	my ($class, %options) = @_;
	my $self = $class->SUPER::new(rounds => 100, ids => 50_000_000, void_share => 1 / 5, %options);
	$self->{failed_over} = 0;
	$self->{later} = [];		# what is to be done: [time, whom it is about, what]
	return $self;
}

# ---- servers ----

sub start
{
	my ($self, $node, $clock, %options) = @_;
	$clock->under(sub { start_again($node) });
	$self->{logs}{ $node->logfile } = 1;
	return;
}

# One that will be a copy of another one.
sub new_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	mkdir $node->basedir;
	return $node;
}

# Make a server out of a copy of another one that runs; with $standby it follows it.
sub copy
{
	my ($from, $to, $standby) = @_;
	remove_tree($to->data_dir);
	system_or_bail('pg_basebackup', '-D', $to->data_dir, '-h', $from->host, '-p', $from->port,
		'--checkpoint', 'fast', '--wal-method', 'stream', '--no-sync');
	$to->append_conf('postgresql.conf', 'port = ' . $to->port . "\n");
	follow($to, $standby ? $from : undef);
	$to->set_standby_mode if $standby;
	return;
}

# What a standby follows.
sub follow
{
	my ($node, $primary) = @_;
	my $file = $node->data_dir . '/link.conf';
	unlink $file;
	append_to_file($file, "primary_conninfo = '" . ($primary ? $primary->connstr : '') . "'\n");
	return;
}

our @SMALL = (
	'shared_buffers = 4MB',
	'max_connections = 30',
	'max_wal_senders = 6',
	'wal_level = replica',
	'hot_standby = on',
	'wal_retrieve_retry_interval = 100ms',
	'restart_after_crash = on',
	'autovacuum = off',
	'log_statement = none',
	"log_line_prefix = '%m [%p] %e %q%a '",
	"include_if_exists = 'link.conf'",
	"include_if_exists = 'round.conf'");

sub set_up
{
	my ($self) = @_;
	$self->set_up_registry;
	my @registries = map { conninfo($self->{primary}, $self->{standby}) =~ s/dbname=\K\w+/$_/r } 'postgres', 'control';

	$self->{places} = [];
	foreach my $number (0 .. 4)
	{
		my $place = { number => $number, state => 'down', servers => [] };
		push @{ $self->{places} }, $place;
		foreach my $kind ('node', 'control')
		{
			my $name = $kind . ($number + 1);
			my $node = $number > 1 || $kind eq 'control' ? new_node($name) : uidgen_node($name, @SMALL,
				"uidgen.layout = '$LAYOUT'", "uidgen.registry = '$registries[0]'", "uidgen.registry_timeout = '1s'");
			my $folder = "$self->{folder}/$name";
			mkdir $folder;
			push @{ $place->{servers} }, { kind => $kind, node => $node, next => 0, sessions => Sessions->new($node, $folder) };
			$place->{clock} //= FakeClock->new($node);
		}
		my ($ours, $control) = map { $_->{node} } @{ $place->{servers} };
		if ($number < 2)
		{
			$self->start($ours, $place->{clock});
			$ours->safe_psql('postgres', 'CREATE EXTENSION uidgen');
			copy($ours, $control);
			$control->append_conf('postgresql.conf', "uidgen.registry = '$registries[1]'");
			$self->start($control, $place->{clock});
			$place->{state} = 'up';
		}
		else
		{
			$self->make_anew($place);
		}
		$self->promote($place) if $number == 4;
	}
	return;
}

# Copies are of the first or the second place, and the last place is a standby.
sub make_anew
{
	my ($self, $place) = @_;
	my $from = $self->{places}[ $place->{number} % 2 ];
	$self->down($place, 'immediate') if $place->{state} ne 'down';
	copy($from->{servers}[$_]{node}, $place->{servers}[$_]{node}, $place->{number} == 4) foreach 0, 1;
	$self->up($place);
	return;
}

sub promote
{
	my ($self, $place) = @_;
	foreach my $node (map { $_->{node} } @{ $place->{servers} })
	{
		$node->promote if -e $node->data_dir . '/standby.signal';
	}
	return;
}

sub down
{
	my ($self, $place, $how) = @_;
	$self->do_later($place->{number});
	foreach my $node (map { $_->{node} } @{ $place->{servers} })
	{
		$how eq 'postmaster' ? $node->kill9 : $node->stop($how);
	}
	$place->{state} = 'down';
	return;
}

sub up
{
	my ($self, $place) = @_;
	$self->start($_->{node}, $place->{clock}) foreach @{ $place->{servers} };
	$place->{state} = 'up';
	return;
}

# The data directory of one that is down was copied to another machine; so it does not
# get a worker id because it had that before.
sub move
{
	my ($place) = @_;
	foreach my $file (map { $_->{node}->data_dir . '/global/pg_control' } @{ $place->{servers} })
	{
		# As if all were copied: the identity shows by this file.
		rename($file, "$file.old") && File::Copy::copy("$file.old", $file) && unlink("$file.old") or die "could not copy $file: $!\n";
	}
	return;
}

# All of a place is as if its machine stood still, until it is thawed.
sub freeze
{
	my ($self, $place, $seconds) = @_;
	my @stopped = map { stop_processes($_->{node}) } @{ $place->{servers} };
	$place->{state} = 'frozen';
	$self->later($seconds, $place->{number}, sub { kill 'CONT', @stopped; $place->{state} = 'up' });
	return;
}

# ---- the registry ----

sub set_up_registry
{
	my ($self) = @_;
	my $primary = PostgreSQL::Test::Cluster->new('registry1');
	my @nodes = ($primary, new_node('registry2'));

	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', join('', map { "$_\n" } @SMALL, 'max_connections = 100'));
	$self->{registry_clock}{$_} = FakeClock->new($_) foreach @nodes;
	$self->start($primary, $self->{registry_clock}{$primary});
	make_databases($primary, map { $_ => [ $MAX_LEAD, $CLOCK_SLACK ] } 'postgres', 'control');
	$self->{primary} = $primary;
	$self->{standby} = $nodes[1];
	$self->{lockers} = { map { $_ => Sessions->new($_, $self->{folder}) } @nodes };
	$self->follow_primary;
	return;
}

# The database of the registry, and that of the control's.  By name: max_lead and clock_slack in seconds.
sub make_databases
{
	my ($primary, %lengths) = @_;
	$primary->safe_psql('postgres', 'CREATE DATABASE control');
	foreach my $database (sort keys %lengths)
	{
		my ($max_lead, $clock_slack) = @{ $lengths{$database} };
		share_registry($primary, $database, "'$LAYOUT', max_lead => '$max_lead s', clock_slack => '$clock_slack s'");
		# As in a fleet that has been there for long.
		$primary->safe_psql($database, "INSERT INTO uidgen.worker_node
			(datacenter_id, worker_id, launch_date, created, modified, granted_until, released, launches)
			SELECT 0, w, '2025-01-02', '2025-01-02', '2025-01-02', w, true, 1 FROM generate_series(0, $WORKERS - 1) AS w");
	}
	take_rules_away($primary, 'control');
	return;
}

# What the control's registry lacks: [function, text, what stands there instead].
my @RULES = (
	# no quarantine
	[ 'begin_node_call', '(h.system_identifier, h.timeline, h.started, h.database) IS DISTINCT FROM (l.system_identifier, l.timeline, l.started, l.database)', 'false' ],
	[ 'node_acquire', 'unknown_end :=', 'unknown_end := false AND' ],
	# nor a limit
	[ 'node_acquire', 'latest := now_tick + max_lead', 'latest := 4611686018427387904' ],
	[ 'node_renew', ', now_tick + node_renew.max_lead', '' ],
	# nor tokens
	[ 'node_acquire', 'AND n.token IS NOT DISTINCT FROM before.token AND n.granted_until = before.granted_until', '' ],
	[ 'node_renew', 'AND n.token = old_token AND n.granted_until = old_until', '' ],
	# nor the end of the grant, which stands for them
	[ 'node_renew', 'greatest(n.granted_until,', 'greatest(old_until,' ]);

# The registry knows nothing of the worker id that nobody has had for longest.
my $FORGET_ONE = "DELETE FROM uidgen.worker_node WHERE worker_id =
	(SELECT worker_id FROM uidgen.worker_node WHERE modified < now() - interval '1 minute' ORDER BY granted_until LIMIT 1)";

sub take_rules_away
{
	my ($node, $database) = @_;
	foreach (@RULES)
	{
		my ($function, $rule, $instead) = @$_;
		my $text = $node->safe_psql($database, "SELECT pg_get_functiondef('uidgen.$function'::regproc)");
		my $pattern = join '\s+', map { quotemeta } split / /, $rule;
		$text =~ s/$pattern/$instead/ or die "$function has no \"$rule\"\n";
		$node->safe_psql($database, $text);
	}
	return;
}

# The standby begins anew, as a copy of the primary.
sub follow_primary
{
	my ($self) = @_;
	my ($primary, $standby) = @$self{qw(primary standby)};
	copy($primary, $standby, 1);
	$self->start($standby, $self->{registry_clock}{$standby});
	return;
}

sub cut_standby
{
	my ($self) = @_;
	my $standby = $self->{standby};
	follow($standby);
	$standby->reload;
	poll_until(sub { !grep { UidgenTest::process_file($_, 'cmdline') =~ /walreceiver/ } UidgenTest::child_pids($standby) })
	  or die "the standby of the registry goes on to receive\n";
	$self->note_fault('cut');
	return;
}

# ---- time goes on ----

sub later
{
	my ($self, $seconds, $whom, $what) = @_;
	push @{ $self->{later} }, [ time + $seconds, $whom, $what ];
	return;
}

# What is due; or all that is about somebody, or about anybody ('all').
sub do_later
{
	my ($self, $whom) = @_;
	my $is_due = sub { return defined $whom ? $whom eq 'all' || $_->[1] eq $whom : $_->[0] <= time };
	while (my ($next) = sort { $a->[0] <=> $b->[0] } grep { $is_due->() } @{ $self->{later} })
	{
		$self->{later} = [ grep { $_ != $next } @{ $self->{later} } ];
		$next->[2]->();
	}
	return;
}

# Let sessions draw for so many seconds, or until $code returns true; says whether it did.
sub go_on
{
	my ($self, $seconds, $code) = @_;
	my $end = time + $seconds;
	for (;;)
	{
		$self->do_later;
		$self->tend($_) foreach @{ $self->{places} };
		return 1 if $code && $code->();
		return 0 if time > $end;
		usleep(5000);
	}
}

# ---- load ----

# See to it that a place has as many sessions as it should, if it can.
sub tend
{
	my ($self, $place) = @_;
	return if $place->{state} ne 'up';
	foreach my $server (@{ $place->{servers} })
	{
		my $sessions = $server->{sessions};
		my $wanted = $server->{kind} eq 'control' ? 1 : $place->{sessions};
		next if $sessions->running >= $wanted || time < $server->{next};
		$sessions->start('postgres', statements($server->{kind}));
		# Now and then nobody asks for a while.
		$server->{next} = time + (rand > 0.1 ? 0.01 : pick_magnitude(0.05, 1));
	}
	return;
}

sub statements
{
	my ($kind) = @_;
	my $cache = pick(1, 1, 2, 10, 100, 5000);
	my @settings = ("SET uidgen.cache = $cache", "SET uidgen.wait_timeout = '" . int(pick_magnitude(20, 10_000)) . "ms'");
	my @draws = map {
		my $count = int pick_magnitude(10, 10_000);
		rand > 0.2 || $cache > 1 ? "SELECT uid_next() FROM generate_series(1, $count)" : "SELECT uid_next_batch($count)"
	} 1 .. 1 + rand 5;
	return ($kind eq 'node' ? @settings : (), map { [ $kind, $_ ] } @draws);
}

# How many ids clients have seen of a server in this round.
sub seen
{
	my ($server) = @_;
	return $server->{sessions}->ids($server->{kind});
}

# Wait until each of some servers has an id that it had not yet; true if they have.
# Notes how long nodes took after what, if that is said.
sub await_ids
{
	my ($self, $seconds, $what, @servers) = @_;
	my %had = map { $_ => seen($_) } @servers;
	my $begin = time;
	return $self->go_on($seconds,
		sub {
			foreach my $server (grep { defined $had{$_} && seen($_) > $had{$_} } @servers)
			{
				delete $had{$server};
				push @{ $self->{times}{$what} }, time - $begin if $what && $server->{kind} eq 'node';
			}
			return !%had;
		});
}

# ---- faults ----

sub inject
{
	my ($self, $fault) = @_;
	my ($what, $for) = @$fault{qw(what for)};
	my $place = $self->{places}[ $fault->{place} ];
	my @nodes = map { $_->{node} } @{ $place->{servers} };
	my $clock = $place->{clock};
	my $primary = $self->{primary};

	$self->do_later($what =~ /^registry|^cut/ ? 'registry' : $place->{number});
	$self->note_fault($what, $what =~ /^registry|^cut/ ? () : $place->{number});
	if ($what eq 'backend' || $what eq 'keeper')
	{
		my $title = $what eq 'keeper' ? qr/uidgen keeper/ : qr/\[local\] COPY/;
		kill 'KILL', map { child($_, $title) } @nodes;
	}
	elsif ($ENDS{$what})
	{
		$self->down($place, $what);
		$self->later($for, $place->{number}, sub { $self->up($place) });
	}
	elsif ($what eq 'terminate_keeper')
	{
		kill 'TERM', map { child($_, qr/uidgen keeper/) } @nodes;
	}
	elsif ($what eq 'freeze') { $self->freeze($place, $for) }
	elsif ($what eq 'clock_small' || $what eq 'clock_large') { $self->set_clock($clock, $fault->{step}, $NODE_OFF) }
	elsif ($what eq 'boot_clock')
	{
		my @stopped = map { stop_processes($_) } @nodes;
		$clock->suspend($for);
		kill 'CONT', @stopped;
	}
	elsif ($what eq 'copy' || $what eq 'standby')
	{
		my $from = $self->{places}[ $place->{number} % 2 ];
		$self->do_later($from->{number});
		# One that is about to come back from a crash cannot be copied.
		return if grep { !answers($_->{node}) } @{ $from->{servers} };
		$self->make_anew($place);
		$self->later($for, $place->{number}, sub { $self->promote($place) }) if $what eq 'standby';
	}
	elsif ($what eq 'registry_restart')
	{
		$primary->stop($fault->{how});
		$self->later($for, 'registry', sub { $self->start($primary, $self->{registry_clock}{$primary}) });
	}
	elsif ($what eq 'registry_freeze')
	{
		my @stopped = stop_processes($primary);
		$self->later($for, 'registry', sub { kill 'CONT', @stopped });
	}
	elsif ($what eq 'registry_lock')
	{
		my $lockers = $self->{lockers}{$primary};
		my @pids = map { $lockers->hold($_, 'BEGIN; LOCK TABLE uidgen.worker_node IN ACCESS EXCLUSIVE MODE') } 'postgres', 'control';
		$self->later($for, 'registry', sub { $lockers->release($_) foreach @pids; $lockers->end(@pids) });
	}
	elsif ($what eq 'registry_clock')
	{
		$self->set_clock($self->{registry_clock}{$primary}, $fault->{step}, $REGISTRY_OFF);
	}
	elsif ($what eq 'cut_calls')
	{
		$primary->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	}
	return;
}

# The process id of a child whose title matches; nothing if there is none.
sub child
{
	my ($node, $title) = @_;
	my @pids = eval { UidgenTest::child_pids($node) };
	return (grep { UidgenTest::process_file($_, 'cmdline') =~ $title } @pids)[0] // ();
}

sub answers
{
	my ($node) = @_;
	return (try_psql($node, 'SELECT 1'))[0] == 0;
}

# Step a clock, but keep it within so many seconds of the true time.
sub set_clock
{
	my ($self, $clock, $step, $most) = @_;
	my $off = $clock->now + $step - time;
	$clock->set(time + max(-$most, min($most, $off)));
	return;
}

# The registry fails over, and what was committed since the cut is lost.
sub fail_over
{
	my ($self, $plan) = @_;
	my ($primary, $standby) = @$self{qw(primary standby)};
	my @places = @{ $self->{places} };
	my @lost = @places[ @{ $plan->{lost} } ];
	my @late = @places[ @{ $plan->{late} } ];

	$self->do_later('registry');
	$self->go_on($self->{failed_over} + $BETWEEN_FAILOVERS - time);
	foreach my $place (@lost, @late)
	{
		$self->do_later($place->{number});
		$self->up($place) if $place->{state} eq 'down';
	}

	$self->cut_standby if !$plan->{early_cut};
	my $cut = time;
	$self->down($_, pick_weighted(\%ENDS)) foreach @lost;
	foreach my $place (@lost)
	{
		move($place) if $plan->{moved};
		$self->up($place);
	}
	# So that they have a grant that will be lost.
	$self->await_ids(5, 'restart', map { @{ $_->{servers} } } @lost);
	$self->down($_, pick_weighted(\%ENDS)) foreach @late;
	move($_) foreach $plan->{moved} ? @late : ();
	$self->go_on($cut + $plan->{cut} - time);
	$self->freeze($_, 'inf') foreach @lost[ 0 .. $plan->{frozen} - 1 ];

	my @processes;
	if ($plan->{how} eq 'down')
	{
		$primary->stop('immediate');
	}
	else
	{
		@processes = stop_processes($primary);
	}
	$self->go_on($plan->{down});
	$self->up($_) foreach $plan->{early} ? @late : ();
	if ($plan->{how} eq 'alive')
	{
		# It may grant until the next lines, which take less than clock_slack.
		$self->set_clock($_, 0, 0) foreach values %{ $self->{registry_clock} };
		kill 'CONT', @processes;
	}
	$standby->promote;
	$primary->kill9;
	kill 'KILL', @processes;
	poll_until(sub { !grep { UidgenTest::process_file($_, 'cmdline') } @processes }) or die "the former primary does not end\n";
	@$self{qw(primary standby)} = ($standby, $primary);
	$self->{failed_over} = time;
	$self->note_fault("failover($plan->{how})");
	$self->up($_) foreach $plan->{early} ? () : @late;
	my @new = map { @{ $_->{servers} } } @late;
	# The control does not wait for the end of a quarantine.
	$self->await_ids(5, undef, grep { $_->{kind} eq 'control' } @new);
	$self->go_on($plan->{thaw});
	$self->do_later($_->{number}) foreach @lost;
	# For a moment those that were frozen draw beside those that may have taken their place.
	$self->await_ids(5, undef, grep { $_->{kind} eq 'control' } map { @{ $_->{servers} } } @lost, @late);
	return;
}

# ---- rounds ----

# All that chance decides on, but for what sessions do.
sub plan_round
{
	my ($self) = @_;
	# Numbers that follow seeds in a row are not independent of each other.
	srand(2**32 * rand);
	my @places = shuffle(0 .. 4);
	my $lost = pick(1, 1, 2);
	my $late = pick(1, 2, 2);
	# What the former primary is while the standby is promoted.
	my $how = pick('down', 'down', 'frozen', 'frozen', 'alive');
	my $fault = sub {
		my $what = pick_weighted(\%FAULTS);
		return {
			what => $what,
			place => $what eq 'standby' ? 4 : $what eq 'copy' ? pick(2, 3) : int rand 5,
			how => pick('fast', 'immediate'),
			for => pick_magnitude(0.02, $what =~ /freeze/ ? 6 : 1.5),
			step => pick(-1, 1) * ($what eq 'clock_large' ? pick_magnitude(5, $NODE_OFF) : pick_magnitude(0.001, 3)),
			pause => rand 0.8 };
	};
	return {
		before => [ map { $fault->() } 1 .. 1 + rand 3 ],
		after => [ map { $fault->() } 1 .. rand 3 ],
		lost => [ @places[ 0 .. $lost - 1 ] ],
		late => [ @places[ $lost .. $lost + $late - 1 ] ],
		frozen => pick(0, (1 .. $lost) x 10),
		moved => rand > 0.05,
		early_cut => rand > 0.7,
		cut => 0.3 + rand 1.2,
		how => $how,
		forget => rand > 0.6,
		down => pick(0, pick_magnitude(0.02, 1)),
		early => rand > ($how eq 'alive' ? 0.9 : 0.6),
		thaw => pick_magnitude(0.01, 1),
		clocks => [ map { pick(0, pick(-1, 1) * pick_magnitude(0.001, $NODE_OFF)) } 0 .. 4 ],
		registry_clocks => $how eq 'alive' ? [ 0, 0 ] : [ map { $REGISTRY_OFF * (2 * rand() - 1) } 0, 1 ],
		sessions => [ map { pick(1, 1, 2, 3) } 0 .. 4 ],
		settings => [ map { [
				'uidgen.window = ' . pick('100ms', '500ms', '1s', '10s'),
				'uidgen.max_burst = ' . pick('0', '100ms', '1s', '10s'),
				'uidgen.max_ahead = ' . pick('0', '1s', '1h') ] } 0 .. 4 ] };
}

sub round
{
	my ($self) = @_;
	$self->begin_round;
	my $plan = $self->plan_round;
	my @places = @{ $self->{places} };
	my @servers = map { @{ $_->{servers} } } @places;
	my @ours = grep { $_->{kind} eq 'node' } @servers;

	foreach my $place (@places)
	{
		my $number = $place->{number};
		$place->{sessions} = $plan->{sessions}[$number];
		$place->{clock}->set(time + $plan->{clocks}[$number]);
		foreach my $server (@{ $place->{servers} })
		{
			my $node = $server->{node};
			unlink $node->data_dir . '/round.conf';
			append_to_file($node->data_dir . '/round.conf', join('', map { "$_\n" } @{ $plan->{settings}[$number] }));
			$node->reload;
			$server->{log} = -s $node->logfile;
		}
	}
	$self->{registry_clock}{ $self->{primary} }->set(time + $plan->{registry_clocks}[0]);
	$self->{registry_clock}{ $self->{standby} }->set(time + $plan->{registry_clocks}[1]);

	if ($plan->{forget})
	{
		$self->{primary}->safe_psql($_, $FORGET_ONE) foreach 'postgres', 'control';
	}
	$self->go_on(0.3);
	$self->cut_standby if $plan->{early_cut};
	$self->inject_some($plan->{before});
	$self->fail_over($plan);
	$self->inject_some($plan->{after});
	$self->do_later('all');
	if (!$self->await_ids(3 * $PostgreSQL::Test::Utils::timeout_default / 2, 'end of all faults', @ours))
	{
		die "a node has no id any more; the logs are " . join(' ', map { $_->{node}->logfile } @ours) . "\n";
	}
	$_->{sessions}->end foreach @servers;
	$self->follow_primary;
	$self->judge_files(@servers);
	return;
}

sub inject_some
{
	my ($self, $faults) = @_;
	foreach my $fault (@$faults)
	{
		$self->inject($fault);
		$self->go_on($fault->{pause});
	}
	return;
}

# The files of each session in one, so that its order shows.
sub judge_files
{
	my ($self, @servers) = @_;
	my (@ours, @ordered);
	foreach my $server (grep { $_->{kind} eq 'node' } @servers)
	{
		my %files;
		push @{ $files{ s/\.\d+$//r } }, $_ foreach $server->{sessions}->files('node');
		my @joined = map { Rounds::join_files("$_.ids", sort @{ $files{$_} }) } sort keys %files;
		push @ours, @joined;
		push @ordered, @joined
		  unless log_since($server->{node}, $server->{log}) =~ /the time of the fleet was set back|The clock was set back/;
	}
	$self->judge(\@ours, [ map { $_->{sessions}->files('control') } @servers ], sub { @ordered ? (look_into_files(@ordered))[2] : 0 });
	unlink @ours;
	$_->{sessions}->clear foreach @servers;
	return;
}

# ---- what the whole asks ----

sub sessions
{
	my ($self) = @_;
	return map { $_->{sessions} } grep { $_->{kind} eq 'node' } map { @{ $_->{servers} } } @{ $self->{places} };
}

sub expected { return \%EXPECTED }

sub tear_down
{
	my ($self) = @_;
	my $acquired = $self->{primary}->safe_psql('postgres', 'SELECT sum(launches) FROM uidgen.worker_node');
	my $timeline = $self->{primary}->safe_psql('postgres', 'SELECT timeline FROM uidgen.registry_history()');
	$_->stop('immediate') foreach map { map { $_->{node} } @{ $_->{servers} } } @{ $self->{places} };
	$_->stop('immediate') foreach @$self{qw(standby primary)};
	return [ 'worker ids acquired', $acquired ], [ 'timeline of the registry', $timeline ];
}

1;
