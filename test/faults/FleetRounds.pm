# FleetRounds.pm: random rounds of faults for a fleet: many servers with one registry,
# which fails over and loses what was committed last.
#
#	FleetRounds->new(rounds => 3, ids => 100_000)->run;
#
# The fleet has five nodes: two servers, a copy of the data directory of each, and a
# standby of the first that is promoted.  Copies and standby are made anew now and then.
# The registry is a primary with two asynchronous standbys, behind names that are looked up slowly or never, and
# poolers.  Each round:
#	1. sessions draw ids on all nodes, as fast as they can; meanwhile one to three
#	   faults of a node or of the registry;
#	2. the registry's standby is cut off; some nodes are restarted, mostly as if on another
#	   machine, so that what they are granted is lost, and some of these freeze; others
#	   end.  The standby is promoted, or a backup is restored, those that had ended start, and the frozen ones go on;
#	3. mostly, the registry changes its primary again: the same once more, or to the server that has heard
#	   nothing of the last change, or without a loss, there and back;
#	4. none to two more faults; at last each node has to have an id once more.
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
use parent 'FleetWorld';
use Chance;
use FakeClock;
use IdFiles;
use List::Util qw(max min shuffle sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use Time::HiRes qw(time usleep);
use UidgenTest;

# In seconds.
my $MAX_LEAD = 3;
my $CLOCK_SLACK = $FleetWorld::CLOCK_SLACK;
# Two failovers that lose commits are so far apart that nobody claims a grant any more in
# the second one that the first one lost.
my $BETWEEN_FAILOVERS = 2 * $MAX_LEAD + $CLOCK_SLACK;

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
	standby_end => 1,
	standby_freeze => 1,
	names => 3,					# the name server is silent
	cut_calls => 2);			# the sessions of nodes at the registry are terminated

# How the registry loses what it knew last.
my %LOSSES = (
	promote => 12,
	restore => 2,				# a backup of the moment in which the standby was cut off, by the run book
	old => 1,					# one of an earlier round, by the run book
	as_it_is => 1);				# of that moment, started as it is

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
	my $self = $class->SUPER::new(rounds => 100, ids => 50_000_000, void_share => 1 / 3, %options);
	$self->{failed_over} = 0;
	return $self;
}

# ---- servers ----

sub set_up
{
	my ($self) = @_;
	$self->set_up_registry;
	$self->{places} = [];
	foreach my $number (0 .. 4)
	{
		my $place = { number => $number, state => 'down', servers => [], hosts => $self->registry_hosts };
		push @{ $self->{places} }, $place;
		foreach my $kind ('node', 'control')
		{
			my $name = $kind . ($number + 1);
			my $node = $number > 1 || $kind eq 'control' ? FleetWorld::new_node($name) : uidgen_node($name, @FleetWorld::SMALL,
				"uidgen.layout = '$FleetWorld::LAYOUT'", "uidgen.registry_timeout = '300ms'");
			my $folder = "$self->{folder}/$name";
			mkdir $folder;
			push @{ $place->{servers} }, { kind => $kind, node => $node, next => 0, sessions => Sessions->new($node, $folder) };
			$place->{clock} //= FakeClock->new($node);
		}
		my ($ours, $control) = map { $_->{node} } @{ $place->{servers} };
		if ($number < 2)
		{
			write_settings($place, $place->{servers}[0]);
			$self->start($ours, $place->{clock});
			$ours->safe_psql('postgres', 'CREATE EXTENSION uidgen');
			FleetWorld::copy($ours, $control);
			write_settings($place, $place->{servers}[1]);
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

sub set_up_registry
{
	my ($self) = @_;
	my $primary = $self->make_registry_servers(1);
	FleetWorld::make_databases($primary, map { $_ => [ $MAX_LEAD, $CLOCK_SLACK ] } 'postgres', 'control');
	$primary->safe_psql('postgres', 'CREATE ROLE node LOGIN');
	$primary->safe_psql($_, "SET client_min_messages = warning; SELECT uidgen_registry.grant_node('node')") foreach 'postgres', 'control';
	$self->bring_back;
	return;
}

sub take_over
{
	my ($self, $restored) = @_;
	$restored->safe_psql($_, 'SELECT uidgen_registry.take_over_registry()') foreach 'postgres', 'control';
	# The control has no quarantine.
	$restored->safe_psql('control', 'SELECT uidgen_registry.end_quarantine()');
	return;
}

# What a server is set to, besides what it was made with.
sub write_settings
{
	my ($place, $server, @settings) = @_;
	my $file = $server->{node}->data_dir . '/round.conf';
	my $database = $server->{kind} eq 'node' ? 'postgres' : 'control';
	unlink $file;
	append_to_file($file, join('', map { "$_\n" } "uidgen.registry = '$place->{hosts} dbname=$database user=node'", @settings));
	return;
}

# The registry knows nothing of the worker id that nobody has had for longest.
my $FORGET_ONE = by_hand("DELETE FROM uidgen_registry.worker_node WHERE worker_id =
	(SELECT worker_id FROM uidgen_registry.worker_node WHERE modified < now() - interval '1 minute' ORDER BY granted_until LIMIT 1)");

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
	my @settings = ("SET uidgen.wait_timeout = '" . int(pick_magnitude(20, 10_000)) . "ms'");
	my @draws = map {
		my $count = int pick_magnitude(10, 10_000);
		rand > 0.2 ? "SELECT uid_next() FROM generate_series(1, $count)" : "SELECT uid_next_batch($count)"
	} 1 .. 1 + rand 5;
	return ($kind eq 'node' ? @settings : (), map { [ $kind, $_ ] } @draws);
}

# The registry changes its primary, and mostly loses what was committed since the cut.
sub fail_over
{
	my ($self, $step) = @_;
	my @places = @{ $self->{places} };
	my @lost = @places[ @{ $step->{lost} } ];
	my @late = @places[ @{ $step->{late} } ];

	if ($step->{loss} eq 'none')
	{
		$self->arrange_standbys($step->{swap}, 'ahead');
		# What a failover before has lost may be in use for so long.
		my $may_end = time - $self->{failed_over} > $BETWEEN_FAILOVERS;
		if (!$self->switch_over) { $self->{failed_over} = time }
		elsif ($may_end) { $self->{primary}->safe_psql('postgres', 'SELECT uidgen_registry.end_quarantine()') }
		return;
	}
	$self->do_later('registry');
	$self->go_on($self->{failed_over} + $BETWEEN_FAILOVERS - time);
	foreach my $place (@lost, @late)
	{
		$self->do_later($place->{number});
		$self->up($place) if $place->{state} eq 'down';
	}

	if ($step->{blind})
	{
		# It has got nothing since before the last failover.
		@$self{qw(standby third)} = @$self{qw(third standby)};
		$self->{forked} = 1;
	}
	elsif (!$step->{early_cut})
	{
		$self->cut_off($step);
	}
	my ($primary, $standby) = @$self{qw(primary standby)};
	my $cut = time;
	$self->down($_, pick_weighted(\%ENDS)) foreach @lost;
	foreach my $place (@lost)
	{
		FleetWorld::move($place) if $step->{moved};
		$self->up($place);
	}
	# So that they have a grant that will be lost.
	$self->await_ids(5, 'restart', map { @{ $_->{servers} } } @lost);
	$self->down($_, pick_weighted(\%ENDS)) foreach @late;
	FleetWorld::move($_) foreach $step->{moved} ? @late : ();
	$self->go_on($cut + $step->{cut} - time);
	$self->freeze($_, 'inf') foreach @lost[ 0 .. $step->{frozen} - 1 ];

	my @processes;
	if ($step->{how} eq 'down')
	{
		$primary->stop('immediate');
	}
	else
	{
		@processes = stop_processes($primary);
	}
	$self->go_on($step->{down});
	$self->up($_) foreach $step->{early} ? @late : ();
	if ($step->{loss} ne 'promote')
	{
		$self->restore($self->{backup}{ $step->{loss} eq 'old' ? 'old' : 'cut' }, $step->{loss} ne 'as_it_is', $step->{thaw});
	}
	else
	{
		if ($step->{how} eq 'alive')
		{
			# It may grant until the next lines, which take less than clock_slack.
			$self->set_clock($_, 0, 0) foreach values %{ $self->{registry_clock} };
			kill 'CONT', @processes;
		}
		$standby->promote;
	}
	FleetWorld::end_for_good($primary, @processes);
	@$self{qw(primary standby)} = ($standby, $primary);
	$self->{failed_over} = time;
	$self->note_fault(join ' ', $step->{loss}, $step->{blind} ? 'blind' : (), "($step->{how})");
	$self->up($_) foreach $step->{early} ? () : @late;
	my @new = map { @{ $_->{servers} } } @late;
	# The control does not wait for the end of a quarantine.
	$self->await_ids(5, undef, grep { $_->{kind} eq 'control' } @new);
	$self->go_on($step->{thaw});
	$self->do_later($_->{number}) foreach @lost;
	# For a moment those that were frozen draw beside those that may have taken their place.
	$self->await_ids(5, undef, grep { $_->{kind} eq 'control' } map { @{ $_->{servers} } } @lost, @late);
	# The former primary may be back before a server takes over that has heard nothing of this one.
	my @back = $step->{blind_next} ? $step->{early} ? $primary : () : @{ $self->{registries} };
	$self->bring_back(map { $_ => $step->{ways}[ rand 2 ] } @back) if @back;
	return;
}

# From now on nothing of what is granted comes to the next primary, nor into the backup that may be restored.
sub cut_off
{
	my ($self, $step) = @_;
	$self->arrange_standbys($step->{swap}, $step->{third});
	$self->{backup}{cut} = $self->back_up('cut') if $step->{loss} =~ /^(?:restore|as_it_is)$/;
	$self->cut_standby;
	return;
}

# ---- rounds ----

# All that chance decides on, but for what sessions do.
sub plan_round
{
	my ($self) = @_;
	# Numbers that follow seeds in a row are not independent of each other.
	srand(2**32 * rand);
	my $fault = sub {
		my $what = pick_weighted(\%FAULTS);
		return {
			what => $what,
			place => $what eq 'standby' ? 4 : $what eq 'copy' ? pick(2, 3) : int rand 5,
			how => pick('fast', 'immediate', 'kill'),
			all => rand > 0.5,
			for => pick_magnitude(0.02, $what =~ /freeze/ ? 6 : 1.5),
			step => pick(-1, 1) * ($what eq 'clock_large' ? pick_magnitude(5, $FleetWorld::NODE_OFF) : pick_magnitude(0.001, 3)),
			pause => rand 0.8 };
	};
	# A change of the primary.  How the former one is while the next one is promoted; a backup of the same timeline is not started beside it.
	my $step = sub {
		my ($loss, %options) = @_;
		my @places = shuffle(0 .. 4);
		my $lost = pick(1, 1, 2);
		my $how = $loss =~ /^(?:promote|none)$/ ? pick('down', 'down', 'frozen', 'frozen', 'alive') : pick('down', 'frozen');
		return {
			loss => $loss,
			lost => [ @places[ 0 .. $lost - 1 ] ],
			late => [ @places[ $lost .. $lost + pick(0, 1, 1) ] ],
			frozen => pick(0, (1 .. $lost) x 10),
			moved => rand > 0.05,
			cut => 0.3 + rand 1.2,
			how => $how,
			down => pick(0, pick_magnitude(0.02, 1)),
			early => rand > ($how eq 'alive' ? 0.9 : 0.6),
			thaw => pick_magnitude(0.01, 1),
			third => pick(qw(cut ahead cascade down)),
			swap => rand > 0.5,
			ways => [ map { pick('go on', 'rewind', 'rewind', 'copy') } 0, 1 ],
			%options };
	};
	my @then = @{ pick([], [], ['none'], [ 'none', 'none' ], ['promote'], ['blind'], [ 'none', 'promote' ]) };
	my $loss = pick_weighted(\%LOSSES);
	my $is_blind = @then && $then[0] eq 'blind';
	my @steps = $is_blind
	  ? ($step->('promote', third => 'cut', blind_next => 1), $step->('promote', blind => 1))
	  : ($step->($loss), map { $step->($_) } @then);
	$steps[0]{early_cut} = rand > 0.7 && $steps[0]{loss} eq 'promote';
	return {
		before => [ map { $fault->() } 1 .. 1 + rand 3 ],
		after => [ map { $fault->() } 1 .. rand 3 ],
		steps => \@steps,
		backup => rand > 0.9,
		forget => rand > 0.6,
		hosts => [ map { rand > 0.7 ? $self->registry_hosts : undef } 0 .. 4 ],
		clocks => [ map { pick(0, pick(-1, 1) * pick_magnitude(0.001, $FleetWorld::NODE_OFF)) } 0 .. 4 ],
		registry_clocks => [ map { $FleetWorld::REGISTRY_OFF * (2 * rand() - 1) } 0 .. 2 ],
		sessions => [ map { pick(1, 1, 2, 3) } 0 .. 4 ],
		settings => [ map { [
				'uidgen.window = ' . pick('100ms', '500ms', '1s', '10s'),
				'uidgen.max_burst = ' . pick('0', '100ms', '1s', '10s'),
				'uidgen.max_ahead = ' . pick('0', '1s', '1h') ] } 0 .. 4 ] };
}

sub round
{
	my ($self, $ids) = @_;
	$self->begin_round;
	my $plan = $self->plan_round;
	my @places = @{ $self->{places} };
	my @servers = map { @{ $_->{servers} } } @places;
	my @ours = grep { $_->{kind} eq 'node' } @servers;

	foreach my $place (@places)
	{
		my $number = $place->{number};
		$place->{sessions} = $plan->{sessions}[$number];
		$place->{hosts} = $plan->{hosts}[$number] // $place->{hosts};
		$place->{clock}->set(time + $plan->{clocks}[$number]);
		foreach my $server (@{ $place->{servers} })
		{
			my $node = $server->{node};
			write_settings($place, $server, @{ $plan->{settings}[$number] });
			$node->reload;
			$server->{log} = -s $node->logfile;
		}
	}
	# Where two are primaries at once, they count as one for less than clock_slack.
	my $is_alive = grep { $_->{how} eq 'alive' } @{ $plan->{steps} };
	$self->{registry_clock}{ $self->{registries}[$_] }->set(time + ($is_alive ? 0 : $plan->{registry_clocks}[$_])) foreach 0 .. 2;
	$self->{backup}{old} = $self->back_up('old') if $plan->{backup} || !$self->{backup}{old};

	if ($plan->{forget})
	{
		$self->{primary}->safe_psql($_, $FORGET_ONE) foreach 'postgres', 'control';
	}
	$self->go_on(0.3);
	$self->cut_off($plan->{steps}[0]) if $plan->{steps}[0]{early_cut};
	$self->inject_some($plan->{before});
	$self->fail_over($_) foreach @{ $plan->{steps} };
	$self->inject_some($plan->{after});
	$self->do_later('all');
	if (!$self->await_ids(3 * $PostgreSQL::Test::Utils::timeout_default / 2, 'end of all faults', @ours))
	{
		die "a node has no id any more; the logs are " . join(' ', map { $_->{node}->logfile } @ours) . "\n";
	}
	# So many in this round, too.
	$self->go_on(30, sub { return $ids <= sum0(map { FleetWorld::seen($_) } @ours) });
	$_->{sessions}->end foreach @servers;
	$self->judge_files(@servers);
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

sub expected { return \%EXPECTED }

sub tear_down
{
	my ($self) = @_;
	my $acquired = $self->{primary}->safe_psql('postgres', 'SELECT sum(launches) FROM uidgen_registry.worker_node');
	my $timeline = $self->{primary}->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()');
	$_->stop('immediate') foreach map { map { $_->{node} } @{ $_->{servers} } } @{ $self->{places} };
	$_->stop('immediate') foreach @{ $self->{registries} };
	return [ 'worker ids acquired', $acquired ], [ 'timeline of the registry', $timeline ];
}

1;
