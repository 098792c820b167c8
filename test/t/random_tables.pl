# Proves that the tools know what they made, whatever was done to a table meanwhile: random sequences of tools, applications, readers and owners on a few
# tables, and what must hold of them.  A copy by the statement of docs/readers.md equals the table, or a mark tells its reader to begin anew; numbers are
# 1 to n, and none changes; no partition goes with rows younger than asked; no statement of an application fails because of a tool; and
# uid_check_table() says what is unsound, and nothing else.  What fails is made short, and told with what was run.
#
#	UIDGEN_RANDOM_TABLES='--seconds 3600 --seed 7' ./check test/t/random_tables.pl
#
# --sequences N   so many (60); 0: any number, as long as there is time
# --seconds N     no further sequence after that (30)
# --seed N        begin with this one (1)
# --rules         leave out each rule of the tools, and of readers, besides; --rules=NAME: that one alone, and nothing else
# --without A,B   leave out these steps; --only A,B: all others
# --known REGEX   leave aside what matches, each time
# --pairs         print how often each step came after each other
# --play TEXT     play this sequence alone, as it is printed
use strict;
use warnings;

use FindBin;
use Getopt::Long qw(GetOptionsFromString);
use List::Util qw(min sum0);
use lib "$FindBin::RealBin/../perl", "$FindBin::RealBin/../tables";
use Chance;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use TableRules;
use TableSteps;
use TableWorld;
use Test::More;
use Time::HiRes 'time';
use UidgenTest;

my %o = (sequences => 60, seconds => 30, seed => 1, known => []);
GetOptionsFromString($ENV{UIDGEN_RANDOM_TABLES} // '', \%o, qw(sequences=i seconds=f seed=i rules:s without=s only=s known=s@ pairs play=s)) or die "see the head of $0\n";

# Nothing of it has to last.
my $node = uidgen_node('tables', 'fsync = off', 'autovacuum = off', 'jit = off', 'log_min_messages = fatal', 'max_wal_size = 4GB');
$node->start;
my $server = TableWorld->prepare($node);

# How often a step came after another one, over all.
my %pairs;

# A sequence: the table that it is about, and steps, each with the number from which it takes what it chooses.  Of two steps, what came less often after the
# one before comes sooner.
sub draw
{
	my ($mix, $focus, $least, $most) = @_;
	$focus = pick(split //, $focus // 'ttskpp');
	my ($before, @sequence) = ('');
	foreach (1 .. $least + rand($most - $least + 1))
	{
		my %weights = map { $_ => $mix->{$_} / (1 + ($pairs{$before}{$_} // 0) / 20) } keys %$mix;
		# Of a table that is not tracked there is less to be said.
		my $step = !@sequence && $mix->{track} && rand() < 0.6 ? 'track' : pick_weighted(\%weights);
		$pairs{$before}{$step}++;
		push @sequence, [ $step, int rand 1e6 ];
		$before = $step;
	}
	return ($focus, @sequence);
}

sub written
{
	my ($focus, @sequence) = @_;
	return "$focus: " . join ' ', map { "$_->[0]=$_->[1]" } @sequence;
}

# What two failures of one cause have in common.
sub signature
{
	my ($failure) = @_;
	my ($text) = split /\n/, $failure->{text};
	return "$failure->{kind} " . $text =~ s/"[^"]*"|\bw2?\.\w+|\b\d{6,}|\b\d{1,4}\b/_/gr;
}

# Without what it fails without, too, first halves of it and at last single steps.
sub shorten
{
	my ($failure, $focus, @sequence) = @_;
	my $end = time() + 60;
	$#sequence = $failure->{step} if $failure->{step} < $#sequence;
	for (my $size = int(@sequence / 2) || 1; ; $size = int($size / 2) || 1)
	{
		my $is_shorter = 0;
		for (my $at = 0; $at < @sequence && time() < $end;)
		{
			my @others = @sequence;
			splice @others, $at, $size;
			my $again = @others ? TableWorld->play($server, \%STEPS, $focus, @others) : undef;
			if ($again && signature($again) eq signature($failure))
			{
				($failure, $is_shorter) = ($again, 1);
				@sequence = @others[ 0 .. min($again->{step}, $#others) ];
			}
			else { $at += $size }
		}
		last if $size == 1 && !$is_shorter || time() >= $end;
	}
	return ($failure, @sequence);
}

# Plays sequences of a mix until there is no time; returns what came of it.
sub search
{
	my (%s) = @_;
	my %found = (sequences => 0, steps => 0, known => {}, failures => {});
	my $start = time();
	while (time() - $start < $s{seconds} && (!$s{sequences} || $found{sequences} < $s{sequences}))
	{
		srand $s{seed} + $found{sequences};
		my ($focus, @sequence) = draw($s{mix}, $s{focus}, @{ $s{length} });
		my $failure = TableWorld->play($server, \%STEPS, $focus, @sequence);
		$found{sequences}++;
		$found{steps} += $failure ? $failure->{step} + 1 : @sequence;
		next if !$failure;
		my $signature = signature($failure);
		if (grep { $signature =~ /$_/ } @{ $s{known} })
		{
			$found{known}{$signature}++;
			next;
		}
		$found{failures}{$signature}{count}++ and next;
		my $time = time() - $start;
		($failure, @sequence) = shorten($failure, $focus, @sequence) if !$s{is_quick};
		%{ $found{failures}{$signature} } = (count => 1, time => $time, seed => $s{seed} + $found{sequences} - 1, text => $failure->{text}, kind => $failure->{kind}, sequence => written($focus, @sequence), log => $failure->{log});
		last if $s{is_quick};
		diag(told($found{failures}{$signature}));
	}
	$found{seconds} = time() - $start;
	return \%found;
}

sub told
{
	my ($f) = @_;
	return sprintf "seed %d, after %.1f s: %s: %s\n  --play '%s'\n%s", $f->{seed}, $f->{time}, $f->{kind}, $f->{text}, $f->{sequence}, join '', map { "    $_\n" =~ s/[\t ]*\n[\t ]*(?=.)/ /gr } @{ $f->{log} };
}

my %mix = map { $_ => $STEPS{$_}{weight} } grep { my $step = $_; (!$o{only} || grep { $_ eq $step } split /,/, $o{only}) && !grep { $_ eq $step } split /,/, $o{without} // '' } keys %STEPS;

if ($o{play})
{
	my ($focus, @sequence) = split /:? /, $o{play};
	my $failure = TableWorld->play($server, \%STEPS, $focus, map { [ split /=/ ] } @sequence);
	ok(!$failure, 'the sequence plays') or diag(told({ %$failure, seed => 0, time => 0, sequence => $o{play} }));
	done_testing();
	exit;
}

if (!length($o{rules} // ''))
{
	my $found = search(%o, mix => \%mix, length => [ 8, 25 ]);
	ok(!%{ $found->{failures} }, "all holds in $found->{sequences} sequences from seed $o{seed} on");
	my $all = keys %mix;
	my %after = %pairs;
	delete $after{''};
	my @counts = map { my $first = $_; map { $after{$first}{$_} // 0 } sort keys %mix } sort keys %mix;
	note(sprintf "%d steps in %.0f s; of %d pairs of steps %d came, the least often %d times, the most often %d times", $found->{steps}, $found->{seconds}, $all**2, scalar(grep { $_ } @counts), (sort { $a <=> $b } @counts)[ 0, -1 ]);
	note(map { "left aside $found->{known}{$_} times: $_\n" } sort keys %{ $found->{known} });
	diag(map { "found $found->{failures}{$_}{count} times: $_\n" } sort keys %{ $found->{failures} }) if %{ $found->{failures} };
	if ($o{pairs})
	{
		my @steps = sort keys %mix;
		note(join("\t", '', @steps), "\n", map { my $first = $_; join("\t", $first, map { $after{$first}{$_} // 0 } @steps) . "\n" } @steps);
	}
}

# What is left out stays so: each has a database of its own.
foreach my $rule (defined $o{rules} ? grep({ $o{rules} eq '' || $o{rules} eq $_->{name} } @RULES) : ())
{
	$server->{rule} = $rule;
	delete $server->{session};
	my $found = search(%o, sequences => 0, seconds => 120, mix => $rule->{steps}, focus => $rule->{focus}, length => [ 4, 14 ], is_quick => 1);
	my ($failure) = values %{ $found->{failures} };
	ok($failure && $failure->{kind} =~ /^[$rule->{kinds}]$/ && !$rule->{is_gone}, sprintf 'without rule %s: %s', $rule->{name},
		$rule->{is_gone} ? 'its text is another one' : $failure ? sprintf('after %.1f s, in sequence %d: %s %s', $failure->{time}, $found->{sequences}, $failure->{kind}, $failure->{text} =~ s/\n.*//sr) : "nothing in $found->{sequences} sequences");
	$server->{rule} = {};
	delete $server->{session};
}

done_testing();
