# PatroniRounds.pm: random rounds of faults for the registry of a fleet that is three PostgreSQL servers under Patroni.
#
#	PatroniRounds->new(rounds => 6, ids => 300_000)->run;
#
# Five nodes with windows of different lengths draw ids all the time; beside each runs a node of the control (FleetRounds.pm), with the
# same network, whose registry lacks the rules.  Each round has one fault, and a mode of replication:
#
#	machine		kill -9 of the leader's Patroni and server; later the machine is there again
#	server		kill -9 of the leader's server; its Patroni gives up the lead at once
#	patroni		kill -9 of the leader's Patroni: its server goes on beside the new leader, until Patroni runs again
#	freeze		the leader's Patroni and server stand still, and wake up as an old leader
#	cut			the network between the leader and the rest of its cluster is cut; all, some or no nodes still reach it
#	switchover	an operator asks for it
#	node		the network of one node is cut; this one changes no leader
#
# In asynchronous mode the first five lose commits: the standbys receive nothing for a moment before the fault.  Some nodes are restarted in that moment as if on
# another machine, so that what they are granted is lost, and some of these freeze; others end, and start when the next server
# leads.  All other nodes are left alone, whatever becomes of the registry, and have to have grants and ids again by themselves.  The former leader
# comes back by Patroni's doing alone.
#
# A round counts if another member leads after it, and, where commits were lost, if the control has repeated ids.  All stays within what docs/design.md
# promises: faults that lose commits are 2 * max_lead + clock_slack apart, and two leaders are there at once for less than clock_slack.
#
# The registry keeps a diary of its grants, in the same commits: so it shows what was lost, and who got none for how long.
package PatroniRounds;

use strict;
use warnings;
use parent 'FleetRounds';
use Chance;
use List::Util qw(max shuffle sum0 uniq);
use Network;
use Patroni;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use Time::HiRes qw(time usleep);
use UidgenTest;

# In seconds.
my $CLOCK_SLACK = 8;
# Windows of the nodes; 0: as long as may be, which is half of max_lead.
my @WINDOWS = (0, 0, 5, 5, 2);
# The control may ask for more, so that what it was granted and lost is still in use when the next leader grants.
my ($CONTROL_LEAD, $CONTROL_WINDOW) = (120, 60);

my %FAULTS = (machine => 5, server => 3, patroni => 2, freeze => 3, cut => 4, switchover => 4, node => 2);
my %ENDS = (postmaster => 1, immediate => 1);

# For so long the control draws with a worker id that two of its nodes may have.
my $BESIDE = 3;

# Without ids for longer than this, a node counts as stopped: what clients see comes in pieces.
my $STALLED = 1.5;

sub new
{
	my ($class, %options) = @_;
	my $self = $class->SUPER::new(%options);
	$self->{max_lead} = $options{max_lead} // 24;
	$self->{between_losses} = 2 * $self->{max_lead} + $CLOCK_SLACK;
	my %chosen = map { $_ => 1 } $options{faults} ? @{ $options{faults} } : keys %FAULTS;
	exists $FAULTS{$_} or die "there is no fault $_\n" foreach keys %chosen;
	$self->{faults} = { map { $_ => $FAULTS{$_} } keys %chosen };
	$self->{records} = [];
	return $self;
}

# ---- servers ----

sub set_up
{
	my ($self) = @_;
	my $network = $self->{network} = Network->new;
	my $cluster = $self->{cluster} = Patroni->new($network, map { [ split / = / ] } grep { !/include|wal_level|hot_standby|max_wal_senders|max_connections|log_line_prefix/ } @FleetWorld::SMALL);
	my @ports = map {
		my $place = $_;
		[ map { $network->link("node${place}_" . $_->name, $_->port) } $cluster->members ]
	} 0 .. $#WINDOWS;
	$network->start;
	$cluster->start;
	$self->{logs}{ $_->logfile } = 1 foreach $cluster->members;
	$self->set_up_registry($cluster->leader);

	my $template = uidgen_node('template', @FleetWorld::SMALL, "uidgen.layout = '$FleetWorld::LAYOUT'", "uidgen.registry_timeout = '1s'");
	$self->start($template);
	$template->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	$self->{places} = [];
	foreach my $number (0 .. $#WINDOWS)
	{
		my $place = { number => $number, state => 'down', sessions => 2, servers => [] };
		push @{ $self->{places} }, $place;
		foreach ([ 'node', 'postgres', $WINDOWS[$number] || $self->{max_lead} / 2 ], [ 'control', 'control', $CONTROL_WINDOW ])
		{
			my ($kind, $database, $window) = @$_;
			my $node = FleetWorld::new_node($kind . ($number + 1));
			my $folder = "$self->{folder}/" . $node->name;
			mkdir $folder;
			FleetWorld::copy($template, $node);
			$node->append_conf('postgresql.conf', "uidgen.registry = '" . (conninfo(@{ $ports[$number] }) =~ s/dbname=\K\w+/$database/r) . "'\nuidgen.window = '${window}s'\n");
			push @{ $place->{servers} }, { kind => $kind, node => $node, next => 0, sessions => Sessions->new($node, $folder) };
		}
		$self->up($place);
	}
	$template->stop('immediate');
	return;
}

sub set_up_registry
{
	my ($self, $leader) = @_;
	FleetWorld::make_databases($leader, postgres => [ $self->{max_lead}, $CLOCK_SLACK ], control => [ $CONTROL_LEAD, $CLOCK_SLACK ]);
	$leader->safe_psql('postgres', q{
		CREATE TABLE diary (at timestamptz DEFAULT clock_timestamp(), port int, worker_id int, token bigint, granted_until bigint);
		CREATE FUNCTION keep_diary() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN
			INSERT INTO public.diary (port, worker_id, token, granted_until) VALUES (NEW.port, NEW.worker_id, NEW.token, NEW.granted_until);
			RETURN NULL;
		END $$;
		CREATE TRIGGER keep_diary AFTER INSERT OR UPDATE ON uidgen_registry.worker_node FOR EACH ROW WHEN (NEW.token IS NOT NULL) EXECUTE FUNCTION keep_diary()});
	return;
}

# The grants that a member knows of since then, [when, port, worker id, ...] by what tells them apart; undef if it does not answer.
sub diary
{
	my ($self, $member, $since) = @_;
	my ($status, $out) = try_psql($member, "SELECT extract(epoch FROM at), port, worker_id, token, granted_until FROM diary WHERE at >= to_timestamp($since)",
		timeout => 10, timed_out => \my $late);
	return defined $status && $status == 0 ? { map { /^([^|]*)\|(.*)/ ? ($2 => [ $1, split /\|/, $2 ]) : () } split /\n/, $out } : undef;
}

# For how long does a node bring no ids?
sub watch
{
	my ($self) = @_;
	foreach my $place (@{ $self->{places} })
	{
		my $watched = $place->{watched} or next;
		my $ids = FleetWorld::seen($place->{servers}[0]);
		my $now = time;
		$watched->{stall} = max($watched->{stall}, $now - $watched->{at});
		@$watched{qw(ids at)} = ($ids, $now) if $ids != $watched->{ids};
	}
	return;
}

sub tend
{
	my ($self, $place) = @_;
	return if $place->{state} ne 'up';
	foreach my $server (@{ $place->{servers} })
	{
		my $control = $server->{kind} eq 'control';
		next if $server->{sessions}->running >= ($control ? 1 : $place->{sessions}) || time < $server->{next};
		$server->{sessions}->start('postgres', statements($server->{kind}));
		$server->{next} = time + 0.1 + rand 0.3;
	}
	return;
}

# The control draws in bursts, and at random, so that two that have the same worker id soon meet in a tick.
sub statements
{
	my ($kind) = @_;
	my ($many, $pause, $times) = $kind eq 'control' ? (150, 'random() * 0.1', 80) : @{ pick([ 20, 0.02, 200 ], [ 20, 0.02, 200 ], [ 500, 0.5, 8 ]) };
	my $draw = "SELECT uid_next() FROM (SELECT generate_series(1, $many) FROM (SELECT pg_sleep($pause) FROM generate_series(1, $times)) AS pace) AS many";
	return [ $kind, $draw ] if $kind eq 'control';
	return (
		"SET uidgen.wait_timeout = '" . int(pick_magnitude(200, 20_000)) . "ms'",
		[ $kind, $draw ]);
}

# ---- rounds ----

# All that chance decides on, but for what sessions do.
sub plan_round
{
	my ($self) = @_;
	srand(2**32 * rand);
	my @places = shuffle(0 .. $#WINDOWS);
	my $lost = pick(1, 1, 2);
	my $reach = pick('all', 'some', 'none');
	my $plan = {
		# In turn, as far as leaders change; so losses are apart by themselves.
		synchronous => ($self->{seed} + grep { $_->{next} } @{ $self->{records} }) % 2,
		fault => pick_weighted($self->{faults}),
		lost => [ @places[ 0 .. $lost - 1 ] ],
		late => [ @places[ $lost .. $lost + pick(0, 1) ] ],
		frozen => pick(0, $lost, $lost),
		# Before the next one leads, where nobody else answers.
		early => pick(0, 0, 1),
		held => 0.3 + rand 1.2,
		node => int rand @WINDOWS,
		cut_for => pick_magnitude(2, 25),
		# Which nodes do not reach a leader that is cut off.
		blind => [ $reach eq 'all' ? () : grep { $reach eq 'none' || rand > 0.5 } 0 .. $#WINDOWS ],
		# How long the former leader is away after the next one leads.
		away => rand 3 };
	$plan->{early} = 0 if $plan->{fault} =~ /^(?:patroni|cut)$/;
	$plan->{lossy} = !$plan->{synchronous} && $plan->{fault} !~ /^(?:switchover|node)$/;
	return $plan;
}

sub round
{
	my ($self, $ids) = @_;
	$self->begin_round;
	my $plan = $self->plan_round;
	my $cluster = $self->{cluster};
	my @places = @{ $self->{places} };
	my @ours = map { $_->{servers}[0] } @places;
	my %touched = map { $_ => 1 } $plan->{lossy} ? (@{ $plan->{lost} }, @{ $plan->{late} }) : ();

	foreach my $server (map { @{ $_->{servers} } } @places)
	{
		$server->{log} = -s $server->{node}->logfile;
	}
	$cluster->synchronous($plan->{synchronous});
	$self->await_ids(60, undef, @ours);
	$self->go_on($self->{failed_over} + $self->{between_losses} - time) if $plan->{lossy};

	my $leader = $cluster->any_leader;
	my $record = $self->{record} = {
		plan => $plan,
		leader => $leader,
		begin => time,
		timeline => $self->timeline($leader),
		logs => { map { $_->name => -s $_->logfile } $cluster->members },
		quarantine => Patroni::sql($leader, 'SELECT quarantine_until FROM uidgen_registry.registry'),
		lost => 0,
	};
	my @left_alone = grep { !$touched{ $_->{number} } } @places;
	my %waits = map { $_ => $self->waits($_) } @left_alone;
	my $told = $self->told_in_all;
	$_->{watched} = { ids => FleetWorld::seen($_->{servers}[0]), at => time, stall => 0 } foreach @left_alone;

	if ($plan->{fault} eq 'node') { $self->cut_node($plan) }
	else { $self->change_leader($plan) }

	# All is well again, and nobody did anything for it.
	$self->await_whole;
	$self->await_grants;
	$self->do_later('all');
	if (!$self->await_ids(3 * $PostgreSQL::Test::Utils::timeout_default / 2, 'end of all faults', @ours))
	{
		die "a node has no id any more; the logs are " . join(' ', map { $_->{node}->logfile } @ours) . "\n";
	}
	$self->go_on(120, sub { sum0(map { FleetWorld::seen($_) } @ours) >= $ids });
	$self->{failed_over} = time if $plan->{lossy};

	my @stalls = map { $_->{watched}{stall} } @left_alone;
	delete $_->{watched} foreach @places;
	$record->{waits} = sum0(map { max(0, $self->waits($_) - $waits{$_}) } @left_alone);
	$record->{failed} = $self->told_in_all - $told;
	$record->{stall} = max(@stalls);
	$record->{alone} = @stalls;
	$record->{through} = grep { $_ < $STALLED } @stalls;
	my $diary = $self->diary($record->{next} // $leader, $record->{begin}) // {};
	$record->{workers} = uniq(map { $_->[2] } values %$diary);
	$self->tell($record);
	$_->{sessions}->end foreach map { @{ $_->{servers} } } @places;
	$self->judge_files(map { @{ $_->{servers} } } @places);
	return;
}

sub tell
{
	my ($self, $record) = @_;
	push @{ $self->{records} }, $record;
	my @told = mode($record->{plan});
	push @told, sprintf('%s to %s, timeline %d', map({ $_->name } @$record{qw(leader next)}), $record->{timeline}),
	  sprintf('no leader %.1f s', $record->{leaderless}), $record->{both} > 0 ? sprintf('two %.1f s', $record->{both}) : (),
	  sprintf('no grant %.1f s', $record->{no_grant}), "grants lost $record->{lost}", $record->{quarantined} ? 'quarantine' : 'no quarantine'
	  if $record->{next};
	push @told, "$record->{through} of $record->{alone} nodes went on", sprintf('no ids %.1f s', $record->{stall}),
	  "worker ids $record->{workers}", "calls waited $record->{waits}, failed $record->{failed}", sprintf('whole after %.1f s', $record->{whole});
	push @{ $self->{story} }, join('; ', @told);
	return;
}

sub mode { my ($plan) = @_; return $plan->{synchronous} ? 'synchronous' : 'asynchronous' }

sub timeline
{
	my ($self, $member) = @_;
	my $timeline;
	poll_until(sub { ($timeline) = Patroni::sql($member, 'SELECT timeline FROM uidgen_registry.registry_history()') =~ /^(\d+)$/ })
	  or die $member->name . " leads no more; the logs of Patroni are in $self->{cluster}{folder}\n";
	return $timeline;
}

# How many calls of a node have waited since it started.
sub waits
{
	my ($self, $place) = @_;
	return Patroni::sql($place->{servers}[0]{node}, 'SELECT waits FROM uidgen.status') || 0;
}

sub told_in_all
{
	my ($self) = @_;
	my $told = $self->told;
	return sum0(map { values %$_ } values %$told);
}

sub await_whole
{
	my ($self) = @_;
	my $next = 0;
	$self->go_on(
		180,
		sub {
			return 0 if time < $next;
			my $whole = $self->{cluster}->is_whole;
			$next = time + 0.5;
			return $whole;
		}) or die "a member does not come back; the logs of Patroni are in $self->{cluster}{folder}\n";
	$self->{record}{whole} = time - $self->{record}{begin};
	return;
}

# Wait until each node has had a grant of the one that leads now, since the fault.
sub await_grants
{
	my ($self) = @_;
	my $record = $self->{record};
	my $leader = $record->{next} // $record->{leader};
	my $since = $record->{since} // $record->{begin};
	my ($next, $diary) = 0;
	$self->go_on(
		180,
		sub {
			return 0 if time < $next;
			$next = time + 0.5;
			$diary = $self->diary($leader, $since) or return 0;
			return @WINDOWS == uniq(map { $_->[1] } values %$diary);
		}) or die "a node has no grant of the new leader\n";
	my @times = sort { $a <=> $b } map { $_->[0] } values %$diary;
	$record->{no_grant} = $times[0] - $record->{last_grant} if $record->{last_grant};
	return;
}

# ---- faults ----

sub cut_node
{
	my ($self, $plan) = @_;
	my @links = map { "node$plan->{node}_" . $_->name } $self->{cluster}->members;
	$self->note_fault('node', $plan->{node});
	$self->{network}->cut(@links);
	$self->go_on($plan->{cut_for});
	$self->{network}->heal(@links);
	$self->{record}{since} = time;
	return;
}

# What some nodes do before commits are lost.
sub prepare_loss
{
	my ($self, $plan) = @_;
	my @lost = map { $self->{places}[$_] } @{ $plan->{lost} };
	my @late = map { $self->{places}[$_] } @{ $plan->{late} };
	foreach my $place (@lost)
	{
		$self->down($place, pick_weighted(\%ENDS));
		FleetWorld::move($place);
		$self->up($place);
	}
	# So that they have a grant that will be lost.
	$self->await_ids(20, 'restart', map { @{ $_->{servers} } } @lost);
	foreach my $place (@late)
	{
		$self->down($place, pick_weighted(\%ENDS));
		FleetWorld::move($place);
	}
	$self->go_on($plan->{held});
	$self->freeze($_, 'inf') foreach @lost[ 0 .. $plan->{frozen} - 1 ];
	return;
}

sub change_leader
{
	my ($self, $plan) = @_;
	my ($cluster, $record) = @$self{qw(cluster record)};
	my $leader = $record->{leader};
	my $fault = $plan->{fault};
	my @late = $plan->{lossy} ? map { $self->{places}[$_] } @{ $plan->{late} } : ();
	my @blind = map { "node${_}_" . $leader->name } @{ $plan->{blind} };
	my $wait = sub { return $self->go_on(@_) };
	my ($frozen, $known);

	if ($fault ne 'switchover')
	{
		$cluster->hold_back($leader);
		# In synchronous mode calls wait from now on, and none is answered.
		if ($plan->{lossy}) { $self->prepare_loss($plan) }
		else { $self->go_on($plan->{held}) }
	}
	$known = $self->diary($leader, $record->{begin} - $self->{between_losses});
	$record->{fault} = time;
	$self->note_fault($fault);
	if ($fault eq 'machine') { $cluster->kill_machine($leader) }
	elsif ($fault eq 'server') { $cluster->kill_server($leader) }
	elsif ($fault eq 'patroni') { $cluster->kill_patroni($leader) }
	elsif ($fault eq 'freeze') { $frozen = $cluster->freeze($leader) }
	elsif ($fault eq 'cut')
	{
		$cluster->cut($leader);
		$self->{network}->cut(@blind) if @blind;
	}
	else { $cluster->switch_over($leader) }
	foreach my $place ($plan->{early} ? @late : ()) { $self->up($place) }

	my $next = $record->{next} = $cluster->await_leader($wait, $leader);
	$record->{since} = $self->ready_since($next);
	foreach my $place ($plan->{early} ? () : @late) { $self->up($place) }
	# The control does not wait for the end of a quarantine.
	my $controls = sub { return map { $_->{servers}[1] } map { $self->{places}[$_] } @_ };

	# The former leader is back before it has been one beside the other for long.
	my $overlap = time;
	$self->go_on($plan->{away});
	$known = $self->diary($leader, $record->{begin} - $self->{between_losses}) // $known if $fault =~ /^(?:patroni|cut)$/;
	if ($fault eq 'freeze')
	{
		$overlap = time;
		$cluster->thaw($leader, $frozen);
	}
	elsif ($fault =~ /^(?:machine|patroni)$/) { $cluster->run($leader) }
	if ($fault ne 'switchover')
	{
		$cluster->heal($leader);
		$self->{network}->heal(@blind) if @blind;
	}
	if ($plan->{lossy})
	{
		$self->await_ids(20, undef, $controls->(@{ $plan->{late} }));
		$self->do_later($_) foreach @{ $plan->{lost} };
		# For a moment those that were frozen draw beside those that may have taken their place.
		$self->await_ids(20, undef, $controls->(@{ $plan->{lost} }, @{ $plan->{late} }));
		$self->go_on($BESIDE);
	}
	$self->await_whole;
	$self->look_back($known, $overlap);
	return;
}

# When a member that leads began to take writes.
sub ready_since
{
	my ($self, $member) = @_;
	my $time;
	poll_until(sub { $time = ($self->log_times($member, qr/database system is ready to accept connections/))[-1] }) or die "a leader does not say that it is ready\n";
	return $time;
}

# When the log of a member says something since the round began.
sub log_times
{
	my ($self, $member, $pattern) = @_;
	return log_since($member, $self->{record}{logs}{ $member->name }) =~ /^(\d+\.\d+) .*$pattern/mg;
}

# What the change of leader did: what was lost, how long none led, or two.
sub look_back
{
	my ($self, $known, $overlap) = @_;
	my $record = $self->{record};
	my ($leader, $next, $fault) = (@$record{qw(leader next)}, $record->{plan}{fault});
	my ($stopped) = $fault =~ /^(?:machine|server)$/ ? () : $self->log_times($leader, qr/received (?:fast|immediate) shutdown request/);
	my $end = $fault =~ /^(?:machine|server|freeze)$/ ? $record->{fault} : $stopped // $record->{fault};

	$record->{leaderless} = max(0, $record->{since} - $end);
	$record->{both} = $fault eq 'freeze' ? max(0, ($stopped // $overlap) - $overlap) : max(0, $end - $record->{since});
	$record->{timeline} = $self->timeline($next);
	$record->{last_grant} = max($record->{fault} - $self->{max_lead}, map { $_->[0] } grep { $_->[0] < $record->{since} } values %{ $known // {} });
	my $kept = $self->diary($next, $record->{begin} - 2 * $self->{between_losses});
	$record->{lost} = grep { !$kept->{$_} } keys %{ $known // {} };
	$record->{quarantined} = Patroni::sql($next, 'SELECT quarantine_until FROM uidgen_registry.registry') > $record->{quarantine};
	return;
}

# ---- what the whole asks ----

# Where commits were lost, the control has to fail; without a change of leader a round is none of those.
sub counts
{
	my ($self, $control) = @_;
	my $record = $self->{records}[-1];
	$record->{control} = $control;
	return undef if !$record->{next};
	return 0 if $record->{both} >= $CLOCK_SLACK;
	return !$record->{plan}{lossy} || $record->{lost} > 0 && $control > 0;
}

sub what_counts { return 'changes of leader; where grants were lost, the control issued duplicates' }

sub tear_down
{
	my ($self) = @_;
	my $leader = $self->{cluster}->any_leader;
	my @used = split /\|/, $leader->safe_psql('postgres', 'SELECT count(DISTINCT worker_id), (SELECT sum(launches) - count(*) FROM uidgen_registry.worker_node) FROM diary');
	my $timeline = $self->timeline($leader);
	my @versions = map { (run_command($_))[0] =~ /([\d.]+)/ } [ 'patroni', '--version' ], [ 'etcd', '--version' ], [ 'postgres', '--version' ];
	$_->stop('immediate') foreach map { map { $_->{node} } @{ $_->{servers} } } @{ $self->{places} };
	$self->{cluster}->stop;
	my @changes = grep { $_->{next} } @{ $self->{records} };
	my @lossy = grep { $_->{plan}{lossy} } @changes;
	return [ 'versions of Patroni, etcd, PostgreSQL', "@versions" ],
	  [ 'changes of leader (asynchronous)', sprintf('%d (%d)', scalar @changes, scalar grep { !$_->{plan}{synchronous} } @changes) ],
	  [ 'rounds with grants lost', sprintf('%d, with %d grants', scalar(grep { $_->{lost} } @lossy), sum0(map { $_->{lost} } @lossy)) ],
	  [ 'grants lost in other changes', sum0(map { $_->{lost} } grep { !$_->{plan}{lossy} } @changes) ],
	  [ 'quarantines begun', scalar grep { $_->{quarantined} } @changes ],
	  [ 'two leaders at once, s at most', sprintf('%.1f', max(0, map { $_->{both} } @changes)) ],
	  [ 'worker ids used (acquired)', "$used[0] ($used[1])" ], [ 'timeline of the registry', $timeline ];
}

# The rounds by fault and mode.
sub report
{
	my ($self, @arguments) = @_;
	my %groups;
	push @{ $groups{ sprintf '%-10s %s', $_->{plan}{fault}, mode($_->{plan}) } }, $_ foreach @{ $self->{records} };
	my @lines = sprintf '%-24s %5s %5s %7s  %13s  %13s  %8s  %13s %7s %7s %13s', 'fault and mode', 'n', 'lost', 'control', 'no leader, s', 'no grant, s', 'went on', 'no ids, s', 'waited', 'failed', 'whole, s';
	push @lines, sprintf '%-24s %5s %5s %7s  %13s  %13s  %8s  %13s %7s %7s %13s', '', '', '', '', ('median    max') x 2, 'nodes', 'median    max', 'calls', 'calls', 'median    max';
	foreach my $group (sort keys %groups)
	{
		my @records = @{ $groups{$group} };
		my $spread = sub {
			my @values = grep { defined } map { $_->{ $_[0] } } @records;
			return @values ? sprintf('%6.1f %6.1f', percentile(50, @values), max(@values)) : '';
		};
		push @lines, sprintf '%-24s %5d %5d %7d  %13s  %13s  %3d of %3d %13s %7d %7d %13s', $group, scalar @records,
		  scalar(grep { $_->{lost} } @records), scalar(grep { $_->{control} } @records), $spread->('leaderless'), $spread->('no_grant'),
		  sum0(map { $_->{through} } @records), sum0(map { $_->{alone} } @records), $spread->('stall'),
		  sum0(map { $_->{waits} } @records), sum0(map { $_->{failed} } @records), $spread->('whole');
	}
	return ($self->SUPER::report(@arguments), @lines);
}

1;
