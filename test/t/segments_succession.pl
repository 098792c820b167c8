# Proves that what no failover_gap covers is noticed, for three servers of a registry that take over from each other in
# quick succession, lose what was committed last, are restarted and are set back to a copy of their files: where a
# server has been given numbers that the registry has given to others as well, its next call stops the segment, and
# nobody gets any more.  Beside it a control: a segment whose servers say nothing of the course that the registry took
# must repeat numbers without being stopped.
#
# The calls are those of keepers, made here; the registry writes a diary, which is kept and lost with the ranges.
#
#	UIDGEN_SEGMENTS='--rounds 100' ./check test/t/segments_succession.pl
#
# --seed N       the plan of each round; printed in any case
# --rounds N     (3)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Getopt::Long;
use List::Util qw(max shuffle sum0);
use UidgenTest;

my %options = (seed => time ^ $$, rounds => 3);
unshift @ARGV, split ' ', $ENV{UIDGEN_SEGMENTS} // '';
GetOptions(\%options, 'seed=i', 'rounds=i', 'numbers=i', 'seconds=i') or die "see the head of $0\n";
note "seed $options{seed}";

my @NODES = (0 .. 3);
my @SEGMENTS = qw(ours control);
my $GAP = 3000;

my $template = fleet_registry('registry');
$template->safe_psql('postgres', <<"END");
CREATE TABLE diary (segment text, node text, low bigint, high bigint);
CREATE FUNCTION write_diary() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
	IF new.last_value > old.last_value AND new.run_start IS NOT NULL THEN
		INSERT INTO public.diary VALUES (new.name, current_setting('test.node'), new.last_value - current_setting('test.size')::bigint + 1, new.last_value);
	END IF;
	RETURN NULL;
END \$\$;
CREATE TRIGGER diary AFTER UPDATE ON uidgen_registry.segment FOR EACH ROW EXECUTE FUNCTION write_diary();
SELECT uidgen_registry.create_segment(s, step => 10) FROM unnest('{@{[join ',', @SEGMENTS]}}'::text[]) AS s;
SELECT uidgen_registry.change_segment(name, failover_gap => $GAP) FROM uidgen_registry.segment;
END
$template->backup('round');
$template->stop;

my (%sum, @wrong);

foreach my $round (1 .. $options{rounds})
{
	srand($options{seed} * 1_000_003 + $round);
	my @story;
	my @servers = map { PostgreSQL::Test::Cluster->new("r${round}_$_") } 0 .. 2;
	my $leader = $servers[0];
	$leader->init_from_backup($template, 'round');
	$leader->append_conf('postgresql.conf', "max_wal_senders = 5\nwal_level = replica");
	$leader->start;
	$leader->backup('standby');
	my @standbys = @servers[ 1, 2 ];
	foreach my $standby (@standbys)
	{
		$standby->init_from_backup($leader, 'standby', has_streaming => 1);
		$standby->start;
	}
	my %knows;		# segment, node: what it was told
	my %is_stopped;
	my $snapshot;

	my $fetch = sub {
		my ($segment, $node) = @_;
		my $k = $knows{$segment}{$node} //= { incarnation => 0, version => 0, course => '{}', highest => -1, timeline => 0, runs => [] };
		my $course = $segment eq 'control' ? '{}' : $k->{course};
		my $size = 10;
		my ($first, $last, $incarnation, $version, $got, $refusal, $timeline) = split /\|/, (split /\n/, $leader->safe_psql('postgres', <<"END"))[-1];
			SELECT set_config('test.node', '$node', false), set_config('test.size', '$size', false);
			SELECT first_value, last_value, incarnation, version, course, refusal, timeline
			FROM uidgen_registry.segment_fetch('$segment', $size, $k->{incarnation}, $k->{version}, '$course', $k->{highest}, 9223372036854775807)
END
		# It does not use what a server says that was left behind.
		return 'old' if $timeline < $k->{timeline};
		$k->{timeline} = $timeline;
		if ($refusal ne '')
		{
			$is_stopped{$segment} = 1;
			return 'stopped';
		}
		push @wrong, "round $round: $segment was stopped, and gave $first" if $is_stopped{$segment};
		push @wrong, "round $round: $segment gave $first after $k->{highest}" if $first <= $k->{highest};
		@$k{qw(incarnation version course highest)} = ($incarnation, $version, $got, $last);
		push @{ $k->{runs} }, [ $first, $last ];
		return 'given';
	};
	my $draw = sub {
		my ($times) = @_;
		foreach (1 .. $times)
		{
			my $node = $NODES[ rand @NODES ];
			$fetch->($_, $node) foreach @SEGMENTS;
		}
	};
	my $fail_over = sub {
		return if !@standbys;
		my ($next) = splice @standbys, rand @standbys, 1;
		# The others stay as they are: they have not begun to follow it when it fails.
		$leader->stop('immediate');
		$next->promote;
		$leader = $next;
		push @story, 'failover';
		%is_stopped = ();
	};
	my $cut = sub {
		my ($standby) = shuffle @standbys or return;
		$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
		$standby->reload;
		push @story, 'cut';
	};
	my $restart = sub { $leader->stop('immediate'); $leader->start; push @story, 'restart' };
	my $take_snapshot = sub {
		$leader->stop;
		my $folder = $snapshot = $leader->data_dir . '_snapshot';
		system_or_bail('rm', '-rf', $folder);
		system_or_bail('cp', '-a', $leader->data_dir, $folder);
		$leader->start;
		push @story, 'snapshot';
	};
	my $set_back = sub {
		return if !$snapshot || $snapshot ne $leader->data_dir . '_snapshot';
		$leader->stop('immediate');
		system_or_bail('rm', '-rf', $leader->data_dir);
		system_or_bail('mv', $snapshot, $leader->data_dir);
		# Another course of the same timeline must not be written over what the standbys have: its WAL would begin in
		# the midst of theirs, and a promotion would end in a PANIC.
		foreach my $standby (@standbys)
		{
			$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
			$standby->restart;
		}
		$leader->start;
		undef $snapshot;
		push @story, 'set back';
		%is_stopped = ();
	};

	$draw->(2 + rand 4);
	if (rand > 0.3)
	{
		# In quick succession.
		$cut->() if rand > 0.5;
		$draw->(1 + rand 3);
		$fail_over->();
		$draw->(1 + rand 4);
		$fail_over->();
	}
	foreach (1 .. rand 4)
	{
		my $act = rand;
		($act < 0.35 ? $fail_over : $act < 0.5 ? $restart : $act < 0.75 ? $take_snapshot : $set_back)->();
		$draw->(rand 4);
	}
	$set_back->() if $snapshot && rand > 0.3;
	$draw->(rand 4);

	# All call once more.  Whose numbers others were given by this server stops the segment.
	my %given;
	foreach my $line (split /\n/, $leader->safe_psql('postgres', 'SELECT * FROM diary'))
	{
		my ($segment, $node, $low, $high) = split /\|/, $line;
		push @{ $given{$segment}{$node} }, $low .. $high;
	}
	foreach my $segment (@SEGMENTS)
	{
		my (%whose, $twice);
		foreach my $node (keys %{ $knows{$segment} })
		{
			$whose{$_}++ foreach map { $_->[0] .. $_->[1] } @{ $knows{$segment}{$node}{runs} };
		}
		$twice = grep { $_ > 1 } values %whose;
		$sum{"$segment: numbers"} += keys %whose;
		$sum{"$segment: numbers that came twice"} += $twice;
		$sum{"$segment: rounds in which some did"}++ if $twice;
		foreach my $node (shuffle keys %{ $knows{$segment} })
		{
			my %others = map { $_ => 1 } map { @{ $given{$segment}{$_} } } grep { $_ ne $node } keys %{ $given{$segment} };
			my $both = grep { $others{$_} } map { $_->[0] .. $_->[1] } @{ $knows{$segment}{$node}{runs} };
			my $was_stopped = $is_stopped{$segment};
			my $result = $fetch->($segment, $node);
			next if $result eq 'old';
			$sum{"$segment: times that a call stopped it"}++ if $result eq 'stopped' && !$was_stopped;
			next if $segment eq 'control';
			push @wrong, "round $round: node $node has $both numbers that others were given, and is given more (@story)" if $both && $result ne 'stopped';
		}
		$sum{"$segment: rounds in which it was stopped in the end"}++ if $is_stopped{$segment};
		$sum{"$segment: rounds with repeated numbers that were not stopped"}++ if $twice && !$is_stopped{$segment};
	}
	note "round $round: @story";
	$_->stop('immediate') foreach $leader, @standbys;
	system_or_bail('rm', '-rf', map { $_->basedir } @servers);
}

note sprintf '%-64s %8d', $_, $sum{$_} foreach sort keys %sum;
ok(!@wrong, 'who was given numbers that others were given stops the segment, and then nobody is given any') or diag(join "\n", @wrong);
cmp_ok($sum{'control: numbers that came twice'} // 0, '>', 0, 'numbers of the control come twice') if $options{rounds} > 9;
cmp_ok($sum{'control: rounds with repeated numbers that were not stopped'} // 0, '>', 0, '... and nobody notices') if $options{rounds} > 9;
done_testing();
