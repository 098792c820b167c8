# SegmentRounds.pm: random rounds of faults for numbers of segments, which three servers draw
# from one registry that fails over and loses what was committed last.
#
#	SegmentRounds->new(rounds => 3, ids => 300_000)->run;
#
# Each round:
#	1. sessions draw numbers on all servers, as fast as they can: one by one, in batches and in
#	   blocks.  Meanwhile one to three faults of a server or of the registry, or acts of its owner;
#	2. the registry's standby is cut off at a moment when it knows all ranges.  From then
#	   on no segment gives out more than failover_gap.  Some servers start anew, others end.  The
#	   standby is promoted, perhaps before the former primary ends, or a backup of that moment is restored; those
#	   that had ended start;
#	3. mostly, the registry changes its primary again: the same once more, or without a loss, there and back; or, with
#	   segments_confirmed, to the server that has heard nothing of the last change;
#	4. none to two more faults or acts; at last each server has to draw a number of each
#	   segment once more.
#
# Segment "control" is the control: for it the registry leaves no gap where it has lost
# numbers, and believes nobody that it has.
#
# So that a number says what it belongs to, each incarnation of each segment begins at a
# multiple of 10^12 of its own, each below those of the same segment before.  The registry writes a
# diary: which range went to which server, and what was left out.  It is kept and lost in the
# same commits as the ranges.  Hence, at the end (judge_all):
#	- no number was drawn on another server than the one that fetched it, unless that one
#	  may have handed it back just before a failover;
#	- what was drawn and is in no such range was lost by a failover, and lies in its gap;
#	- nothing but a failover leaves a gap;
#	- numbers are missing only where a server ended, at most the two ranges that
#	  it fetched last; or where an answer was lost, one range; or the servers have
#	  counted them: left in a buffer, skipped or lost.
#
# What makes a round count, and what is proved besides: Rounds.pm.  Processes, the failover's parts and
# most of the faults: FleetWorld.pm.
package SegmentRounds;

use strict;
use warnings;
use parent 'FleetWorld';
use Chance;
use List::Util qw(max min shuffle sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RemoteRegistry;
use Sessions;
use Test::More;
use Time::HiRes qw(time usleep);
use UidgenTest;

# Where incarnations begin: (their number of a segment downwards) * $APART, and segments $FAR apart.
my $APART = 1e12;
my $INCARNATIONS = 1000;
my $FAR = $INCARNATIONS * $APART;
my @OURS = ('one', 'two', 'three');
my @SEGMENTS = (@OURS, 'control');

# Numbers of a block, and what a batch takes at a time (BATCH_BLOCK of segments.c).
my $LONGEST_BLOCK = 2000;
my $BATCH_BLOCK = 1024;
# Rows on their way to a client when its server ends.
my $ON_THE_WAY = 1000;

# How often each is chosen, relative to the others.
my %FAULTS = (
	# of a server: see FleetWorld.pm
	backend => 2,
	keeper => 2,
	postmaster => 2,
	immediate => 1,
	fast => 3,
	terminate_keeper => 3,
	freeze => 2,
	# of the registry
	registry_restart => 2,
	registry_freeze => 3,
	cut_calls => 3,
	standby_end => 1,
	standby_freeze => 1,
	names => 3,					# the name server is silent
	segment_lock => 3,			# by a transaction that is left open
	# acts of the owner
	steps => 5,
	raise => 2,
	drop => 2,					# and create, which goes on above
	anew => 3);					# drop, and create with restart := true

# How the registry loses what it knew last.
my %LOSSES = (
	promote => 4,
	restore => 2,				# a backup, by the run book
	as_it_is => 1);				# a backup, started as it is

my %ACTS = (segment_lock => 1, steps => 1, raise => 1, drop => 1, anew => 1);

# After these a server has lost its shared memory.
my %ENDS = (backend => 1, keeper => 1, postmaster => 1, immediate => 1, fast => 1);

my $NO_NUMBERS = qr/^segment "\w+" has no numbers to draw/;
my %EXPECTED = (
	'01000' => qr/^AbortTransaction while in ABORT state/,
	'08001' => qr/^No such file|^Connection refused|^Connection reset/,
	'08006' => qr/server closed the connection|could not/,
	'22003' => qr/^number of consecutive numbers is out of range/,
	'2200H' => $NO_NUMBERS,		# up to the failover
	'42704' => $NO_NUMBERS,		# while it is dropped
	'55000' => $NO_NUMBERS,
	'57P01' => qr/^terminating connection/,
	'57P02' => qr/^terminating connection/,
	'57P03' => qr/^the database system is /);

sub new
{
	my ($class, %options) = @_;
	my $self = $class->SUPER::new(rounds => 25, ids => 20_000_000, %options);
	$self->{incarnation} = { map { $_ => 0 } @SEGMENTS };
	$self->{seen} = [];			# by server: runs of numbers, [first, last]
	$self->{ended} = [];		# by server: when it did
	$self->{lives} = [];		# by server, then life and segment: the last look at segment_status
	$self->{failovers} = [];	# when
	$self->{troubles} = 0;		# that may have cost answers
	$self->{miscounted} = 0;	# lives whose counters are wrong
	return $self;
}

# ---- servers ----

sub set_up
{
	my ($self) = @_;
	$self->set_up_registry;
	$self->{places} = [];
	foreach my $number (0 .. 2)
	{
		my $name = 'node' . ($number + 1);
		my $node = uidgen_node($name, @FleetWorld::SMALL, "uidgen.registry_timeout = '1s'");
		my $folder = "$self->{folder}/$name";
		mkdir $folder;
		my $place = {
			number => $number,
			state => 'up',
			hosts => $self->registry_hosts,
			servers => [ { kind => 'node', node => $node, next => 0, sessions => Sessions->new($node, $folder) } ] };
		write_settings($place);
		$self->start($node);
		$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
		push @{ $self->{places} }, $place;
	}
	return;
}

# What a server is set to, besides what it was made with.
sub write_settings
{
	my ($place, @settings) = @_;
	my $node = $place->{servers}[0]{node};
	my $file = $node->data_dir . '/round.conf';
	unlink $file;
	append_to_file($file, join('', map { "$_\n" } "uidgen.registry = '$place->{hosts} dbname=postgres user=" . $node->name . "'", @settings));
	return;
}

# A server ends, or is about to: what it has in its buffers may be lost.
sub note_end
{
	my ($self, $place) = @_;
	push @{ $self->{ended}[ $place->{number} ] }, time;
	return;
}

sub down
{
	my ($self, $place, $how) = @_;
	$self->look($place);
	$self->SUPER::down($place, $how);
	$self->note_end($place);
	$place->{servers}[0]{sessions}->end;
	return;
}

sub up
{
	my ($self, $place) = @_;
	$self->SUPER::up($place);
	$self->begin_life($place);
	return;
}

# What it counts from now on is compared with what its clients see from now on.
sub begin_life
{
	my ($self, $place) = @_;
	my $sessions = $place->{servers}[0]{sessions};
	$place->{began} = $self->look($place);
	$place->{seen_before} = { map { $_ => $sessions->ids($_) } @SEGMENTS };
	return;
}

# ---- the registry ----

# What the control lacks.
my @RULES = ('went_back', 'known_incarnation = s.incarnation', 'least(highest, s.max_value) > s.began_above');

my $DIARY = <<'END';
CREATE TABLE diary (entry bigint GENERATED ALWAYS AS IDENTITY, at double precision, server text, what text, low bigint, high bigint);
CREATE FUNCTION write_diary() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
DECLARE
	at double precision := extract(epoch FROM clock_timestamp());
	low bigint := new.last_value + 1;
BEGIN
	IF TG_OP = 'INSERT' OR new.incarnation <> old.incarnation THEN
		INSERT INTO diary (at, server, what, low, high) VALUES (at, session_user, 'begin', low, new.last_value);
	ELSIF new.last_value < old.last_value THEN
		INSERT INTO diary (at, server, what, low, high) VALUES (at, session_user, 'release', low, old.last_value);
	ELSIF new.last_value > old.last_value THEN
		low := old.last_value + 1;
		IF new.run_start > low THEN
			INSERT INTO diary (at, server, what, low, high) VALUES (at, session_user, 'gap', low, new.run_start - 1);
			low := new.run_start;
		ELSIF new.unconfirmed = '0/0' THEN
			-- Nothing is given out so far.
			INSERT INTO diary (at, server, what, low, high) VALUES (at, session_user, 'gap', low, new.last_value);
			RETURN NULL;
		END IF;
		INSERT INTO diary (at, server, what, low, high) VALUES (at, session_user,
			CASE WHEN session_user LIKE 'node%' THEN 'fetch' ELSE coalesce(current_setting('diary.what', true), 'raise') END, low, new.last_value);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER diary AFTER INSERT OR UPDATE ON uidgen_registry.segment FOR EACH ROW EXECUTE FUNCTION write_diary();
END

sub set_up_registry
{
	my ($self) = @_;
	my $primary = $self->make_registry_servers;

	share_registry($primary, 'postgres', "'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'");
	$primary->safe_psql('postgres', "CREATE ROLE node$_ LOGIN; SELECT uidgen_registry.grant_node('node$_')") foreach 1 .. 3;
	my $text = $primary->safe_psql('postgres', q{SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'leave_out_lost' AND pronamespace = 'uidgen_registry'::regnamespace});
	foreach my $rule (@RULES)
	{
		$text =~ s/IF \K\Q$rule\E(?= THEN)/s.name <> 'control' AND $rule/ or die "leave_out_lost has no \"$rule\"\n";
	}
	$primary->safe_psql('postgres', $text);
	$primary->safe_psql('postgres', $DIARY);
	$primary->safe_psql('postgres', "SELECT uidgen_registry.create_segment('$_', " . $self->next_start($_) . ', 100)') foreach @SEGMENTS;
	# So that all servers fetch of the control while the standby is cut off.
	$primary->safe_psql('postgres', q{SELECT uidgen_registry.change_segment('control', max_step => 1000, failover_gap => 1000000000)});
	$self->bring_back;
	return;
}

# The owner of a restored registry raises all segments above what was given out since the backup.
sub take_over
{
	my ($self, $restored) = @_;
	$restored->safe_psql('postgres', q{SELECT uidgen_registry.take_over_registry()});
	$restored->safe_psql('postgres', qq{SET diary.what = 'gap'; SELECT uidgen_registry.raise_segment('$_->[0]', $_->[1])})
	  foreach map { [ split /\|/ ] } split /\n/, $restored->safe_psql('postgres', q{SELECT name, least(last_value + CASE name WHEN 'control' THEN 0 ELSE failover_gap END, max_value)
		FROM uidgen_registry.segment WHERE NOT dropped});
	$restored->safe_psql('postgres', 'SELECT uidgen_registry.change_registry(confirming_standbys => 0)');
	return;
}

# Where the next incarnation of a segment begins.
sub next_start
{
	my ($self, $segment) = @_;
	my ($index) = grep { $SEGMENTS[$_] eq $segment } 0 .. $#SEGMENTS;
	my $incarnation = ++$self->{incarnation}{$segment};
	die "too many incarnations of $segment\n" if $incarnation >= $INCARNATIONS;
	return sprintf '%d', $index * $FAR + ($INCARNATIONS - $incarnation) * $APART;
}

# Run SQL as the owner, on the primary as it is now; what comes back, or undef if it was
# broken off.
sub own
{
	my ($self, $sql) = @_;
	my ($status, $out, $error) = try_psql($self->{primary}, $sql, on_error_stop => 1);
	return $out if $status == 0;
	die "$sql: $error\n" if $error =~ /ERROR/ && $error !~ /terminating|canceling|lock timeout|no segment/;
	return undef;
}

# Steps of a segment, and with them how many numbers a failover may lose at most.  These are not
# made fewer while the gap of the last failover is still to come, nor after the standby was cut off.
sub steps
{
	my ($lower) = @_;
	my $min_step = int pick_magnitude(1, 20_000);
	my $step = int($min_step * pick(1, pick_magnitude(1, 50)));
	# Each range takes some milliseconds.
	my $max_step = max(500, int($step * pick(1, pick_magnitude(1, 20))));
	my $gap = int($max_step * pick_magnitude(1, 100));
	return "min_step => $min_step, step => $step, max_step => $max_step, failover_gap => "
	  . ($lower ? "CASE WHEN timeline = (SELECT h.timeline FROM uidgen_registry.registry_history() AS h) THEN $gap ELSE greatest(failover_gap, $gap) END"
		: "greatest(failover_gap, $gap)");
}

# As create_segment() makes them; but no more may be given out than before.
sub recreate
{
	my ($self, $segment, $start) = @_;
	my $largest = $self->own("SELECT max_value FROM uidgen_registry.segment WHERE name = '$segment'") || return;
	$self->own("SELECT uidgen_registry.create_segment('$segment', " . ($start
			? "$start, " . int(pick_magnitude(1, 20_000)) . ', restart => true)'
			: 'step => ' . int(pick_magnitude(1, 20_000)) . ", max_value => $largest)"));
	# It was dropped when the registry was taken over.
	$self->own("SET diary.what = 'gap'; SELECT uidgen_registry.raise_segment(name, least(last_value + failover_gap, max_value)) FROM uidgen_registry.segment WHERE name = '$segment' AND stopped IS NOT NULL");
	return;
}

sub inject
{
	my ($self, $fault) = @_;
	my ($what, $segment) = @$fault{qw(what segment)};
	my $place = $self->{places}[ $fault->{place} ];

	$self->{troubles}++;
	if (!$ACTS{$what})
	{
		$self->do_later($place->{number}) if $ENDS{$what};
		$self->look($place) if $ENDS{$what};
		$self->SUPER::inject($fault);
		$self->note_end($place) if $ENDS{$what};
		return;
	}
	$self->do_later('registry');
	$self->note_fault($what, $segment);
	if ($what eq 'segment_lock')
	{
		my $lockers = $self->{lockers}{ $self->{primary} };
		my $pid = $lockers->hold('postgres', "BEGIN; SELECT FROM uidgen_registry.segment WHERE name = '$segment' FOR UPDATE");
		$self->later($fault->{for}, 'registry', sub { $lockers->release($pid); $lockers->end($pid) });
	}
	elsif ($what eq 'steps')
	{
		$self->own("SELECT uidgen_registry.change_segment(name, $fault->{steps}) FROM uidgen_registry.segment WHERE name = '$segment'");
	}
	elsif ($what eq 'raise')
	{
		# Not further than numbers can be given out; up to the failover those are few.
		$self->own("SELECT uidgen_registry.raise_segment('$segment', (SELECT least(last_value + $fault->{raise}, max_value)
			FROM uidgen_registry.segment WHERE name = '$segment'))");
	}
	else
	{
		my $start = $what eq 'anew' ? $self->next_start($segment) : undef;
		$self->own("SELECT uidgen_registry.drop_segment('$segment')");
		$self->later($fault->{for} / 3, 'registry', sub { $self->recreate($segment, $start) });
	}
	return;
}

# The standby gets nothing any more.  It knows all that was given out so far, and from now on
# no segment gives out more than failover_gap.  Nobody fetches in between.
sub cut_standby
{
	my ($self, $with_backup) = @_;
	my ($primary, $standby, $third) = @$self{qw(primary standby third)};
	my $lockers = $self->{lockers}{$primary};

	$self->do_later('registry');
	my $held = $lockers->hold('postgres', 'BEGIN; SELECT FROM uidgen_registry.segment FOR UPDATE');
	my $rows = q{SELECT string_agg(name || version || failover_gap || dropped, ' ' ORDER BY name) FROM uidgen_registry.segment};
	my $known = $primary->safe_psql('postgres', $rows);
	foreach my $node ($standby, $self->{third_does} eq 'cut' ? $third : ())
	{
		poll_until(sub { (try_psql($node, $rows))[1] eq $known }) or die "the standby does not follow\n";
	}
	$self->{backup} = $self->back_up('cut') if $with_backup;
	$self->SUPER::cut_standby;
	my $session = $lockers->{running}{$held} or die "the lock was lost\n";
	$lockers->_say($session, by_hand('UPDATE uidgen_registry.segment SET max_value = last_value + failover_gap') . "; COMMIT;\n");
	$lockers->release($held);
	$lockers->end($held);
	return;
}

# The registry changes its primary, and mostly what was committed since the cut is lost; false if it cannot be.
sub fail_over
{
	my ($self, $plan, $step) = @_;
	my ($first, $late) = @{ $self->{places} }[ @{ $step->{places} } ];

	if ($step->{loss} eq 'none')
	{
		$self->arrange_standbys($step->{swap}, 'ahead');
		push @{ $self->{failovers} }, time;
		$self->switch_over;
		return 1;
	}
	foreach my $place ($first, $late)
	{
		$self->do_later($place->{number});
		$self->up($place) if $place->{state} eq 'down';
	}
	if ($step->{blind})
	{
		# It has got nothing since before the last failover.
		$self->do_later('registry');
		@$self{qw(standby third)} = @$self{qw(third standby)};
		$self->{forked} = 1;
	}
	else
	{
		# Where all are to know of a failover, it is known who they are.
		my $names = join ', ', map { "'" . $_->name . "'" } grep { $_ != $self->{primary} } @{ $self->{registries} };
		return 0 if $step->{blind_next} && !$self->await_registry("SELECT standbys \@> ARRAY[$names] FROM uidgen_registry.registry", 10);
		$self->arrange_standbys($step->{swap}, $step->{third});
		$self->cut_standby($step->{loss} ne 'promote');
	}
	my ($primary, $standby) = @$self{qw(primary standby)};
	my $cut = time;
	# One begins with empty buffers; what it fetches will be lost.
	if ($step->{restart})
	{
		$self->down($first, $step->{restart});
		$self->up($first);
	}
	$self->go_on(rand $step->{cut});
	$self->down($late, $step->{end});
	$self->inject_some($step->{owner});
	$self->do_later('registry');
	$self->go_on($cut + $step->{cut} - time);

	my @processes;
	$primary->stop('immediate') if $step->{how} eq 'down';
	@processes = stop_processes($primary) if $step->{how} eq 'frozen';
	$self->go_on($step->{down});
	$self->up($late) if $step->{early};
	push @{ $self->{failovers} }, time;
	if ($step->{loss} ne 'promote')
	{
		$self->restore($self->{backup}, $step->{loss} eq 'restore', $step->{beside});
	}
	else
	{
		$standby->promote;
	}
	if ($step->{how} eq 'alive')
	{
		# Servers that have not seen the new one may still fetch from the old one.
		$self->go_on($step->{beside});
	}
	@processes = stop_processes($primary) if $step->{how} eq 'alive';
	FleetWorld::end_for_good($primary, @processes);
	@$self{qw(primary standby)} = ($standby, $primary);
	$self->note_fault(join ' ', $step->{loss}, $step->{blind} ? 'blind' : (), $plan->{confirmed} ? 'confirmed' : (), "($step->{how})");
	$self->up($late) if !$step->{early};
	# The former primary may be back before a server takes over that has heard nothing of this one.
	my @back = $step->{blind_next} ? $step->{swap} ? $primary : () : @{ $self->{registries} };
	$self->bring_back(map { $_ => $step->{ways}[ rand 2 ] } @back) if @back;
	# One that is gone is forgotten: here it is the primary itself, as another one.
	$self->own('SELECT uidgen_registry.change_registry(confirming_standbys => 0)') if $step->{loss} eq 'as_it_is';
	# It knows of nothing, so it is given what others have drawn of the control.
	$self->await(5, 'control', $late);
	return 1;
}

# Wait until the registry says so.
sub await_registry
{
	my ($self, $sql, $seconds) = @_;
	my $next = 0;
	return $self->go_on($seconds, sub { return time >= $next && ($next = time + 0.2) && ($self->own($sql) // '') eq 't' });
}

# ---- load ----

my $NOW = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

sub tend
{
	my ($self, $place) = @_;
	return if $place->{state} ne 'up';
	my $server = $place->{servers}[0];
	return if $server->{sessions}->running >= $place->{sessions} || time < $server->{next};
	$server->{sessions}->start('postgres', statements());
	# Now and then nobody asks for a while.
	$server->{next} = time + (rand > 0.1 ? 0.01 : pick_magnitude(0.05, 1));
	return;
}

# Before and after each statement that draws, a session asks what time it is.
sub statements
{
	my $most = pick(30, 1000, 100_000);
	my @draws = map {
		my $segment = rand > 0.15 ? $OURS[ rand @OURS ] : 'control';
		my $count = int pick_magnitude(1, $most);
		my $block = int pick_magnitude(1, $LONGEST_BLOCK);
		my $kind = rand;
		[ $segment,
			$kind < 0.5 ? "SELECT uid_segment_next('$segment') FROM generate_series(1, $count)"
			: $kind < 0.8 ? "SELECT uid_segment_batch('$segment', $count)"
			: "SELECT generate_series(n, n + $block - 1) FROM (SELECT b.* FROM generate_series(1, 1 + $count / $block), uid_segment_reserve('$segment', $block + 0 * generate_series::int) AS b (n)) AS blocks" ]
	} 1 .. 2 + rand 8;
	return ("SET uidgen.wait_timeout = '" . int(pick_magnitude(20, 5_000)) . "ms'", map { [ 'time', $NOW ], $_, [ 'time', $NOW ] } @draws);
}

# Wait until each of some servers has drawn another number of a segment; true if they have.
sub await
{
	my ($self, $seconds, $segment, @places) = @_;
	my %had = map { $_ => $_->{servers}[0]{sessions}->ids($segment) } @places;
	return $self->go_on($seconds, sub { return !grep { $_->{servers}[0]{sessions}->ids($segment) <= $had{$_} } @places });
}

# ---- rounds ----

# All that chance decides on, but for what sessions do.
sub plan_round
{
	my ($self) = @_;
	srand(2**32 * rand);
	my $fault = sub {
		return {
			what => pick_weighted($_[0]),
			place => int rand 3,
			segment => $OURS[ rand @OURS ],
			how => pick('fast', 'immediate', 'kill'),
			all => rand > 0.5,
			for => pick_magnitude(0.02, 3),
			steps => steps(),
			raise => int pick_magnitude(1, 100_000),
			pause => rand 0.8 };
	};
	my $is_confirmed = rand > 0.5;
	my $acts = [ map { $fault->({ steps => 2, raise => 1, drop => 1, anew => 1 }) } 1 .. rand 2.5 ];
	# A change of the primary; a backup of the same timeline is not started beside it.
	my $step = sub {
		my ($loss, %options) = @_;
		return {
			loss => $loss,
			places => [ shuffle 0 .. 2 ],
			restart => pick(undef, 'postmaster', 'fast'),
			end => pick('postmaster', 'immediate', 'fast'),
			how => $loss =~ /^(?:promote|none)$/ ? pick('down', 'frozen', 'alive') : pick('down', 'frozen'),
			owner => [],
			cut => 0.5 + rand 1,
			down => pick(0, pick_magnitude(0.02, 1)),
			beside => pick_magnitude(0.02, 1),
			early => rand > 0.5,
			third => pick(qw(cut ahead cascade down)),
			swap => rand > 0.5,
			ways => [ map { pick('go on', 'rewind', 'rewind', 'copy') } 0, 1 ],
			%options };
	};
	my @then = @{ pick([], [], ['none'], [ 'none', 'none' ], ['promote'], [ 'none', 'promote' ], $is_confirmed ? (['blind']) x 3 : ()) };
	my @steps = @then && $then[0] eq 'blind'
	  ? ($step->('promote', third => 'cut', blind_next => 1), $step->('promote', blind => 1))
	  : ($step->(pick_weighted(\%LOSSES)), map { $step->($_) } @then);
	$steps[0]{owner} = $acts;
	return {
		before => [ map { $fault->(\%FAULTS) } 1 .. 1 + rand 3 ],
		after => [ map { $fault->(\%FAULTS) } 1 .. rand 3 ],
		steps => { map { $_ => rand > 0.3 ? steps(1) : undef } @OURS },
		changes => \@steps,
		confirmed => $is_confirmed,
		hosts => [ map { rand > 0.8 ? $self->registry_hosts : undef } 0 .. 2 ],
		sessions => [ map { pick(1, 2, 3) } 0 .. 2 ],
		duration => pick('1s', '1s', '15min') };
}

sub round
{
	my ($self, $ids) = @_;
	$self->begin_round;
	my $plan = $self->plan_round;
	my @places = @{ $self->{places} };

	foreach my $place (@places)
	{
		my $node = $place->{servers}[0]{node};
		$place->{sessions} = $plan->{sessions}[ $place->{number} ];
		$place->{hosts} = $plan->{hosts}[ $place->{number} ] // $place->{hosts};
		write_settings($place, "uidgen.segment_duration = '$plan->{duration}'");
		$node->reload;
		$self->begin_life($place);
	}
	foreach my $segment (grep { $plan->{steps}{$_} } @OURS)
	{
		$self->own("SELECT uidgen_registry.change_segment(name, $plan->{steps}{$segment}) FROM uidgen_registry.segment WHERE name = '$segment'");
	}
	$self->own('SELECT uidgen_registry.change_registry(segments_confirmed => ' . ($plan->{confirmed} ? 'true' : 'false') . ')');
	$self->go_on(0.3);
	$self->inject_some($plan->{before});
	foreach my $change (@{ $plan->{changes} })
	{
		$self->fail_over($plan, $change) or last;
	}
	$self->inject_some($plan->{after});
	$self->do_later('all');
	# What the failover has undone.
	$self->recreate($_) foreach grep { $self->own("SELECT dropped FROM uidgen_registry.segment WHERE name = '$_'") eq 't' } @SEGMENTS;
	my $end = time;
	foreach my $segment (@OURS)
	{
		$self->await($PostgreSQL::Test::Utils::timeout_default, $segment, @places) or die "a server draws no numbers of segment $segment any more\n";
	}
	push @{ $self->{times}{'end of all faults'} }, time - $end;
	# So many in this round, too.
	$self->go_on(30, sub { return $ids <= sum0(map { my $s = $_->{servers}[0]{sessions}; map { $s->ids($_) } @OURS } @places) });
	$_->{servers}[0]{sessions}->end foreach @places;
	$self->judge_files;
	return;
}

# ---- what was drawn ----

sub numbers_in_file
{
	my ($file) = @_;
	my $count = Sessions::ids_in_file($file) or return;
	open(my $in, '<:raw', $file) or die "could not open $file: $!\n";
	read($in, my $rows, Sessions::HEADER + $count * Sessions::ROW);
	return unpack('x' . Sessions::HEADER . ' (x6q>)*', $rows);
}

sub judge_files
{
	my ($self) = @_;
	my (@ours, @controls, @texts);
	my $disorders = 0;

	foreach my $place (@{ $self->{places} })
	{
		my $sessions = $place->{servers}[0]{sessions};
		my %time;
		foreach my $file ($sessions->files('time'))
		{
			($time{$file}) = numbers_in_file($file);
		}
		my (%drawn, @numbers, @statements);
		foreach my $segment (@SEGMENTS)
		{
			foreach my $file ($sessions->files($segment))
			{
				push @{ $segment eq 'control' ? \@controls : \@ours }, $file;
				my @these = numbers_in_file($file) or next;
				$drawn{$segment} += @these;
				next if $segment eq 'control';
				push @numbers, \@these;
				my ($stem, $number) = $file =~ /(.*)\.(\d+)$/;
				my $end = $time{ sprintf('%s.%02d', $stem, $number + 1) };
				push @statements, [ $time{ sprintf('%s.%02d', $stem, $number - 1) }, $end // 9e18, incarnations(\@these, \$disorders) ];
			}
		}
		$disorders += count_overtaken($place->{number}, @statements);
		push @{ $self->{seen}[ $place->{number} ] }, runs(map { @$_ } @numbers);
		$self->compare_counters($place, \%drawn);
	}
	$self->judge(\@ours, \@controls, sub { return $disorders });
	$_->{servers}[0]{sessions}->clear foreach @{ $self->{places} };
	return;
}

# The least and the largest number of each incarnation among those of a statement, which are
# to increase: { incarnation => [least, largest] }.
sub incarnations
{
	my ($numbers, $disorders) = @_;
	my %found;
	foreach my $number (@$numbers)
	{
		my $bounds = $found{ int($number / $APART) } //= [ $number, -1 ];
		$$disorders++ if $number <= $bounds->[1];
		$bounds->[1] = $number;
	}
	return \%found;
}

# Of two statements one of which began after the other had ended, the later one has
# the larger numbers.  How often not?
sub count_overtaken
{
	my ($server, @statements) = @_;
	my @ends = sort { $a->[1] <=> $b->[1] } @statements;
	my %largest;
	my $overtaken = 0;
	foreach my $statement (sort { $a->[0] <=> $b->[0] } @statements)
	{
		while (@ends && $ends[0][1] < $statement->[0])
		{
			my $found = (shift @ends)->[2];
			$largest{$_} = max($largest{$_} // -1, $found->{$_}[1]) foreach keys %$found;
		}
		my $found = $statement->[2];
		foreach my $incarnation (grep { $found->{$_}[0] <= ($largest{$_} // -1) } keys %$found)
		{
			diag("a statement on server $server got $found->{$incarnation}[0] after $largest{$incarnation} was told, at $statement->[0]") if !$overtaken++;
		}
	}
	return $overtaken;
}

# Runs of consecutive numbers: [first, last].
sub runs
{
	my @runs;
	foreach my $number (sort { $a <=> $b } @_)
	{
		@runs && $number <= $runs[-1][1] + 1 ? ($runs[-1][1] = $number) : push @runs, [ $number, $number ];
	}
	return @runs;
}

# ---- what servers count ----

# The life of a server, and its counters by segment; undef if it does not answer.
sub look
{
	my ($self, $place) = @_;
	my ($status, $out) = try_psql($place->{servers}[0]{node}, q{SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer';
		SELECT name, drawn, skipped, lost FROM uidgen.segment_status}, on_error_stop => 1);
	my ($life, @rows) = split /\n/, $out;
	my %segments;
	return undef if $status != 0;
	foreach (@rows)
	{
		my ($name, @counts) = split /\|/;
		@{ $segments{$name} }{qw(drawn skipped lost)} = @counts;
	}
	$self->{lives}[ $place->{number} ]{$life} = \%segments;
	return { life => $life, segments => \%segments };
}

# A server whose life goes on has counted what its clients have seen.
# A call that slept may count as skipped what was none (segment.h), and then as not drawn.
sub compare_counters
{
	my ($self, $place, $drawn) = @_;
	my $before = $place->{began};
	my $after = $self->look($place);
	return if !$before || !$after || $before->{life} ne $after->{life};
	foreach my $segment (@SEGMENTS)
	{
		my ($b, $a) = map { $_->{segments}{$segment} // {} } $before, $after;
		my ($counted, $skipped) = map { ($a->{$_} // 0) - ($b->{$_} // 0) } qw(drawn skipped);
		my $seen = ($drawn->{$segment} // 0) - $place->{seen_before}{$segment};
		next if $counted <= $seen && $seen <= $counted + $skipped;
		$self->{miscounted}++;
		diag("round $self->{number}: server $place->{number} counts $counted numbers drawn of segment $segment, $skipped skipped; clients saw $seen");
	}
	$self->{compared}++;
	return;
}

# ---- what the registry has written ----

# Its diary as ranges, in order: [low, high, whose, when].  Releases and what they undo are gone.
sub read_diary
{
	my ($self) = @_;
	my (%ranges, @wrong);
	foreach (split /\n/, $self->{primary}->safe_psql('postgres', 'SELECT at, server, what, low, high FROM diary ORDER BY entry'))
	{
		my ($at, $server, $what, $low, $high) = split /\|/;
		my $incarnation = int($low / $APART);
		my $list = $ranges{$incarnation} //= [];
		next if $what eq 'begin' || $incarnation >= @OURS * $INCARNATIONS;
		my $next = @$list ? $list->[-1][1] + 1 : $incarnation * $APART;
		if ($what eq 'release')
		{
			push @wrong, "$server handed back what it had not: $low-$high" if $high != $next - 1;
			while (@$list && $list->[-1][0] >= $low)
			{
				my $range = pop @$list;
				push @wrong, "$server handed back what was given to $range->[2]: $low-$high" if $range->[2] ne $server;
			}
			$list->[-1][1] = $low - 1 if @$list && $list->[-1][1] >= $low;
			next;
		}
		push @wrong, "$what of $server: $low-$high, where $next follows" if $low != $next;
		push @$list, [ $low, $high, $what eq 'fetch' ? $server : $what, $at ];
	}
	return (\%ranges, @wrong);
}

sub judge_all
{
	my ($self) = @_;
	my $ranges = $self->{ranges};
	my @wrong = @{ $self->{diary_faults} };
	my @all = sort { $a->[0] <=> $b->[0] } map { @$_ } values %$ranges;
	my %sum = map { $_ => 0 } qw(given drawn drawn_of_gaps gap raise missing last rest);
	my $undone = 0;

	# A server may have handed them back, of which the failover knows nothing.
	my %handed_back;
	foreach my $list (values %$ranges)
	{
		foreach my $i (grep { $list->[$_][2] eq 'gap' } 1 .. $#$list)
		{
			my @before = reverse @$list[ max(0, $i - 2) .. $i - 1 ];
			$handed_back{$_} = 1 foreach grep { $_->[2] eq $before[0][2] } @before;
		}
	}

	# Which of what clients have seen is in which range?
	foreach my $number (0 .. 2)
	{
		my @seen = sort { $a->[0] <=> $b->[0] } @{ $self->{seen}[$number] };
		my $i = 0;
		foreach my $run (@seen)
		{
			my ($low, $high) = @$run;
			while ($low <= $high)
			{
				$i++ while $i < @all && $all[$i][1] < $low;
				if ($i == @all || $all[$i][0] > $low)
				{
					# An incarnation that was lost with its segment's first ranges, or begins with them.
					my $incarnation = int($low / $APART);
					push @wrong, "$low was drawn on server $number, and is above all that was given" if $ranges->{$incarnation};
					$undone += $high - $low + 1;
					last;
				}
				my $end = min($high, $all[$i][1]);
				my $whose = $all[$i][2];
				push @wrong, "$low was drawn on server $number, and was given to: $whose"
				  if $whose ne 'node' . ($number + 1) && $whose ne 'gap' && !$handed_back{ $all[$i] };
				$all[$i][4] += $end - $low + 1;
				$low = $end + 1;
			}
		}
	}

	# What is missing of each range, and why?  The end of the run is an end for all.
	my %last;
	foreach my $number (0 .. 2)
	{
		foreach my $end (@{ $self->{ended}[$number] // [] }, time)
		{
			foreach my $list (values %$ranges)
			{
				my @before = sort { $b->[3] <=> $a->[3] } grep { $_->[2] eq 'node' . ($number + 1) && $_->[3] <= $end } @$list;
				$last{$_} = 1 foreach @before[ 0 .. min(1, $#before) ];
			}
		}
	}
	my @untouched;
	foreach my $range (@all)
	{
		my ($low, $high, $whose, undef, $seen) = @$range;
		my $size = $high - $low + 1;
		my $missing = $size - ($seen // 0);
		$sum{given} += $size;
		if ($whose eq 'gap' || $whose eq 'raise')
		{
			$sum{$whose} += $size;
			$sum{drawn_of_gaps} += $seen // 0;
			next;
		}
		$sum{drawn} += $seen // 0;
		$sum{missing} += $missing;
		if ($last{$range}) { $sum{last} += $missing }
		elsif (!$seen) { push @untouched, $missing }
		else { $sum{rest} += $missing }
	}
	# Each trouble may have cost each server an answer of each segment.
	@untouched = sort { $b <=> $a } @untouched;
	my @unanswered = splice @untouched, 0, @OURS * 3 * ($self->{troubles} + @{ $self->{failovers} });
	my $counted = 0;
	foreach my $life (map { values %$_ } @{ $self->{lives} })
	{
		$counted += sum0(map { @{ $life->{$_} }{qw(skipped lost)} } grep { $_ ne 'control' } keys %$life);
	}
	my $ends = sum0(map { scalar @{ $_ // [] } } @{ $self->{ended} });
	my ($gaps, $false_gaps) = (0, 0);
	foreach my $list (values %$ranges)
	{
		my $last = 0;
		foreach my $at (map { $_->[3] } grep { $_->[2] eq 'gap' } @$list)
		{
			$gaps++;
			$false_gaps++ if !grep { $last < $_ && $_ <= $at } @{ $self->{failovers} };
			$last = $at;
		}
	}
	my $rest = $sum{rest} + sum0(@untouched);
	# What sessions had taken and not told when their server ended.
	my $untold = $ends * 3 * ($LONGEST_BLOCK + $BATCH_BLOCK + $ON_THE_WAY);
	note sprintf('%-52s %10d', @$_) foreach
	  [ 'numbers that the registry gave out or left out', $sum{given} ],
	  [ '  drawn', $sum{drawn} ],
	  [ "  left out at failovers, $gaps times", $sum{gap} ],
	  [ '    given out before, lost by the registry, and drawn', $sum{drawn_of_gaps} ],
	  [ '  left out by the owner', $sum{raise} ],
	  [ '  missing', $sum{missing} ],
	  [ '    in the last two ranges before an end of a server', $sum{last} ],
	  [ '    in ' . @unanswered . ' whole ranges, perhaps not answered', sum0(@unanswered) ],
	  [ '    of others', $rest ],
	  [ 'counted by servers: skipped and lost', $counted ],
	  [ 'drawn of incarnations that a failover undid', $undone ],
	  [ 'ends of servers', $ends ],
	  [ 'times that counters were compared', $self->{compared} // 0 ];
	ok(!@wrong, 'numbers were drawn where they had been given to, and nowhere else')
	  || diag(join("\n", @wrong[ 0 .. min(9, $#wrong) ]));
	is($self->{miscounted}, 0, 'servers count as drawn what their clients have seen');
	cmp_ok($rest, '<=', $counted + $untold, 'what else is missing was counted by servers as skipped or lost');
	is($false_gaps, 0, 'nothing but a failover leaves a gap, once for each segment');
	$self->SUPER::judge_all;
	return;
}

# ---- what the whole asks ----

sub expected { return \%EXPECTED }

sub in_order { return 'numbers are in order in each session, and of statements of a server that follow one another' }

sub tear_down
{
	my ($self) = @_;
	my $timeline = $self->{primary}->safe_psql('postgres', 'SELECT timeline FROM uidgen_registry.registry_history()');
	($self->{ranges}, @{ $self->{diary_faults} }) = $self->read_diary;
	$_->stop('immediate') foreach map { $_->{servers}[0]{node} } @{ $self->{places} };
	$_->stop('immediate') foreach @{ $self->{registries} };
	return [ 'incarnations of segments', sum0(values %{ $self->{incarnation} }) ], [ 'timeline of the registry', $timeline ];
}

1;
