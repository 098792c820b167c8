# Rounds.pm: rounds of faults beside a control, over all of which no id may come twice.
#
# What a round does is its subclass's: one of FleetWorld.pm
# (many with one registry).  It has
#	set_up, round($ids), tear_down		# the last may return lines for the report
#	sessions							# the objects of Sessions.pm
#	expected							# what clients may be told: patterns by SQLSTATE
#	in_order							# what is, for the report
#	judge_all							# more tests at the end, if there are any
#	counts								# if it is not the control alone that makes a round count
# and hands over the files of each round by judge().
#
# A round in which the control issued no duplicate counts for nothing: it would
# not have shown one of uidgen's either.  At the end all ids of all rounds that
# clients have seen are looked at together.
package Rounds;

use strict;
use warnings;
use Cwd qw(abs_path);
use IdFiles;
use List::Util qw(max min sum0);
use POSIX qw(ceil);
use PostgreSQL::Test::Utils;
use Sessions;
use Test::More;
use Time::HiRes qw(time);
use UidgenTest;

# What PostgreSQL calls an internal error: a parallel worker whose leader has died
# before it was there.
my $ORPHANED_WORKER = qr/could not (?:attach to|map) .*segment/;

sub new
{
	my ($class, %options) = @_;
	return bless {
		seed => $options{seed} // time ^ $$,
		rounds => $options{rounds},
		ids => $options{ids},
		seconds => $options{seconds} // 0,
		# So many of the rounds may be those in which the control does not fail.
		void_share => $options{void_share} // 1 / 20,
		number => 0,			# of the current round
		begin => 0,				# and when it began
		story => [],			# what happened in it
		counted => 0,			# rounds in which the control failed
		void => 0,				# and in which it did not
		done => 0,				# ids of earlier rounds
		duplicates => 0,
		disorders => 0,
		control => [],			# duplicates of the control in each counted round
		times => {},			# seconds to the first id, by what came before
		faults_seen => {},
		kept => [],				# one file of ids for each round
		logs => {},
		folder => abs_path(PostgreSQL::Test::Utils::tempdir('faults')),
	}, $class;
}

# Its plan depends on the seed and the number; when things happen does not.
sub begin_round
{
	my ($self) = @_;
	srand($self->{seed} * 1_000_003 + ++$self->{number});
	$self->{begin} = time;
	$self->{story} = [];
	return;
}

sub note_fault
{
	my ($self, $fault, $where) = @_;
	$self->{faults_seen}{$fault}++;
	push @{ $self->{story} }, sprintf('%s%s@%.1f', $fault, defined $where ? "($where)" : '', time - $self->{begin});
	return;
}

# The end of a round: does it count, and what did it bring?  Files of ids, and of the
# control's; $disorders returns how many ids were out of order.
sub judge
{
	my ($self, $ours, $controls, $disorders) = @_;
	my $seconds = time - $self->{begin};
	my ($ids, $duplicates, undef, $details) = look_into_files(@$ours);
	my ($control_ids, $control) = look_into_files(@$controls);

	diag("round $self->{number}: $duplicates duplicates\n$details") if $duplicates;
	my $counts = $self->counts($control);
	$self->{counted}++ if $counts;
	$self->{void}++ if !$counts && defined $counts;
	push @{ $self->{control} }, $control if $control;
	$self->{done} += $ids;
	$self->{duplicates} += $duplicates;
	my $disordered = $disorders->();
	$self->{disorders} += $disordered;
	diag("round $self->{number}: $disordered ids out of order") if $disordered;
	note sprintf('round %3d: %8d ids, %d duplicates; control: %7d, %6d duplicates%s; %4.1f s; %s',
		$self->{number}, $ids, $duplicates, $control_ids, $control, $counts ? '' : defined $counts ? ' (void)' : ' (not counted)',
		$seconds, join(' ', @{ $self->{story} }));
	push @{ $self->{kept} }, join_files(sprintf('%s/round.%04d', $self->{folder}, $self->{number}), @$ours);
	return;
}

# Put the ids of files into one.
sub join_files
{
	my ($name, @files) = @_;
	open(my $out, '>', $name) or die "could not open $name: $!\n";
	binmode $out;
	my $header;
	foreach my $file (@files)
	{
		my $ids = Sessions::ids_in_file($file) or next;
		open(my $in, '<', $file) or die "could not open $file: $!\n";
		binmode $in;
		read($in, my $rows, Sessions::HEADER + $ids * Sessions::ROW);
		print $out substr($rows, 0, Sessions::HEADER) unless $header++;
		print $out substr($rows, Sessions::HEADER);
	}
	close $out or die "could not write $name: $!\n";
	return $name;
}

# ---- the whole ----

sub run
{
	my ($self) = @_;
	my $begin = time;
	my $most_void = max(3, $self->{rounds} * $self->{void_share});

	note "seed $self->{seed}";
	$self->set_up;
	while ($self->{counted} < $self->{rounds} || $self->{done} < $self->{ids})
	{
		last if $self->{seconds} && time - $begin > $self->{seconds} || $self->{void} > $most_void;
		$self->round(max(
				ceil(($self->{ids} - $self->{done}) / max(1, $self->{rounds} - $self->{counted})),
				ceil($self->{ids} / $self->{rounds} / 4)));
	}
	my @more = $self->tear_down;

	my ($ids, $duplicates, undef, $details) = look_into_files(@{ $self->{kept} });
	my @unexpected = $self->unexpected_errors;
	my @alarms = $self->alarms;
	note $_ foreach $self->report($ids, $duplicates, @more, [ 'seconds', int(time - $begin) ]);
	cmp_ok($self->{counted}, '>=', $self->{rounds}, $self->what_counts);
	cmp_ok($self->{void}, '<=', $most_void, 'rounds in which it did not are few');
	cmp_ok($ids, '>=', $self->{ids}, 'ids that clients have seen');
	is($ids, $self->{done}, 'none of their files was lost');
	is($duplicates, 0, 'no id was issued twice') || diag($details);
	is($self->{disorders}, 0, $self->in_order);
	ok(!@unexpected, 'clients were told nothing but what was to be expected') || diag(join("\n", @unexpected));
	ok(!@alarms, 'no process of the server failed by itself') || diag(join("\n", @alarms));
	$self->judge_all;
	unlink @{ $self->{kept} };
	return;
}

# Does a round count in which the control issued so many duplicates?  Undef: it is no such round, and not void either.
sub counts { my ($self, $control) = @_; return $control > 0 }

sub what_counts { return 'rounds in which the control issued duplicates' }

sub in_order { return 'ids of a session are in order, unless the clock was set back by a large step' }

sub judge_all { return }

# What clients were told, and how often, by SQLSTATE and message.
sub told
{
	my ($self) = @_;
	my %told;
	foreach my $errors (map { $_->{errors} } $self->sessions)
	{
		foreach my $sqlstate (keys %$errors)
		{
			$told{$sqlstate}{$_} += $errors->{$sqlstate}{$_} foreach keys %{ $errors->{$sqlstate} };
		}
	}
	return \%told;
}

# What clients were told and should not have been.
sub unexpected_errors
{
	my ($self) = @_;
	my $told = $self->told;
	my $expected = $self->expected;
	my @unexpected;
	foreach my $sqlstate (sort keys %$told)
	{
		push @unexpected, map { "$told->{$sqlstate}{$_} times $sqlstate: $_" }
		  grep { !$expected->{$sqlstate} || $_ !~ $expected->{$sqlstate} } sort keys %{ $told->{$sqlstate} };
	}
	return @unexpected;
}

# What is in the server logs and should not be: a crash that we did not cause, or
# an internal error.
sub alarms
{
	my ($self) = @_;
	my @alarms;
	foreach my $log (sort keys %{ $self->{logs} })
	{
		open(my $lines, '<', $log) or die "could not open $log: $!\n";
		while (my $line = <$lines>)
		{
			push @alarms, $line =~ s/\s+$//r
			  if $line =~ /PANIC:|TRAP:/
			  || $line =~ / XX\d{3} / && $line !~ $ORPHANED_WORKER
			  || $line =~ /terminated by signal (\d+)/ && $1 != 9;
		}
	}
	return @alarms;
}

sub report
{
	my ($self, $ids, $duplicates, @more) = @_;
	my $told = $self->told;
	my @lines = map { sprintf('%-34s %s', @$_) } (
		[ 'seed', $self->{seed} ],
		[ 'rounds (counted, void)', "$self->{number} ($self->{counted}, $self->{void})" ],
		[ 'ids', $ids ],
		[ 'duplicates', $duplicates ],
		[ 'disorders', $self->{disorders} ],
		[ 'duplicates of the control per round', @{ $self->{control} }
			? sprintf('%d at least, %d in all', min(@{ $self->{control} }), sum0(@{ $self->{control} })) : 'none' ],
		@more);

	push @lines, Sessions::report($self->{faults_seen}, $self->{times});
	foreach my $sqlstate (sort keys %$told)
	{
		push @lines, map { sprintf('told %s %6d  %s', $sqlstate, $told->{$sqlstate}{$_}, $_) } sort keys %{ $told->{$sqlstate} };
	}
	return @lines;
}

1;
