# test/tools/tap.pl
#	  Runs TAP programs, some at a time, and tells what came of each: a line when
#	  it ends, with what it said if it failed, and a line now and then while there
#	  is nothing new.
#
#	perl test/tools/tap.pl SUITE JOBS SECONDS HANGS PROGRAM...
#
# JOBS programs run at a time.  A program may have arguments, separated by blanks.  A program has failed when it and all
# that it started have used SECONDS of CPU time: a busy machine takes time from a program, but not CPU time.  HANGS is a
# limit of wall-clock time, so long that only a program that waits for ever meets it.  A program alone is shown as it runs.
# Each program has folders of its own for data and logs, so that it may run several times at once: $TIMES times in all.
#
# Called by test/tempcheck.sh, whose files "counts", "failed" and "skipped" in $CHECK_DIR it
# goes on with.  Unlike prove, it runs the other programs when one bails out, and
# a program of which no test ran has failed.  Core Perl only; Linux, for /proc.
use strict;
use warnings;

use File::Glob qw(bsd_glob);
use File::Path qw(make_path);
use POSIX qw(WNOHANG);
use TAP::Parser;
use Time::HiRes qw(sleep time);

use constant SAY_SOMETHING_AFTER => 20;	# seconds
use constant REMARKS => 12;	# lines on a test that failed, at the end of all
use constant CPU_EVERY => 1;	# seconds between two looks at the CPU time

my ($suite, $jobs, $limit, $hangs, @programs) = @ARGV;
my @waiting = map { @programs } 1 .. $ENV{TIMES} // 1;
my $dir = $ENV{CHECK_DIR};
my $count = @waiting;
my $done = 0;
my ($passed, $failed) = (0, 0);
my $number = 0;
my %running;	# by process id of the reaper: program, folder, file with its output, start, offset shown, CPU time, limit met
my $last_line = time;
my $last_look = 0;
my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());

$| = 1;

sub show_line
{
	print @_, "\n";
	$last_line = time;
}

sub note
{
	my ($file, $line) = @_;
	open(my $fh, '>>', "$dir/$file") or die "could not write $dir/$file: $!";
	print $fh "$line\n";
	close $fh;
}

sub slurp
{
	my ($file, $offset) = @_;
	open(my $fh, '<', $file) or return '';
	seek($fh, $offset || 0, 0);
	local $/;
	return scalar(<$fh>) // '';
}

sub last_lines
{
	my ($number, @lines) = @_;
	splice(@lines, 0, -$number) if @lines > $number;
	return @lines;
}

# Below a reaper of its own, the parent of all that it leaves behind, so that their CPU time counts as the program's.
sub start
{
	my ($program) = @_;
	my ($file, @arguments) = split ' ', $program;
	my @command = ("$dir/reaper", $file =~ /\.pl$/ ? ($^X, $file) : $file =~ m{^/} ? $file : "./$file", @arguments);
	my $folder = sprintf '%s/tap/%d_%s', $dir, ++$number, $program =~ s{.*/}{}r =~ s{[^\w]+}{_}gr;
	make_path($folder);

	# Empty before it is read for the first time.
	open(my $output, '>', "$folder/output") or die "could not write $folder/output: $!";
	my $pid = fork() // die "could not fork: $!";
	if ($pid == 0)
	{
		# PostgreSQL 15 makes the other two of the first.
		@ENV{qw(TESTDIR TESTDATADIR TESTLOGDIR)} = ($folder, "$folder/tmp_check", "$folder/tmp_check/log");
		open(STDOUT, '>&', $output) && open(STDERR, '>&', $output) && exec { $command[0] } @command;
		POSIX::_exit(127);
	}
	$running{$pid} = { program => $program, folder => $folder, log => "$folder/output", start => time, shown => 0, cpu => 0 };
}

# By process id: the parent, and the CPU seconds of the process and of all its children that have ended.
sub processes
{
	my %found;
	foreach my $file (bsd_glob('/proc/[0-9]*/stat'))
	{
		my ($pid, $fields) = slurp($file) =~ /^(\d+) \(.*\) (.*)/s or next;
		my @fields = split ' ', $fields;
		$found{$pid} = { parent => $fields[1], cpu => ($fields[11] + $fields[12] + $fields[13] + $fields[14]) / $ticks };
	}
	return \%found;
}

# Add up the CPU time of each program, and end a program that has met a limit.
sub check_limits
{
	my $processes = processes();
	my %sum;
	foreach my $pid (keys %$processes)
	{
		my $top = $pid;
		$top = $processes->{$top}{parent} while $processes->{$top} && !$running{$top};
		$sum{$top} += $processes->{$pid}{cpu} if $running{$top};
	}
	foreach my $pid (keys %running)
	{
		my $run = $running{$pid};
		# A process that ends between two looks takes its time along until its parent has waited for it.
		$run->{cpu} = $sum{$pid} if ($sum{$pid} // 0) > $run->{cpu};
		next if $run->{over};
		$run->{over} = "not done after $limit s of CPU time" if $run->{cpu} > $limit;
		$run->{over} //= "hangs: not done after $hangs s" if time - $run->{start} > $hangs;
		# The program alone: its reaper ends what it leaves behind.
		kill 'KILL', grep { $processes->{$_}{parent} == $pid } keys %$processes if $run->{over};
	}
	$last_look = time;
}

# Show what a program alone has said since the last look.
sub show_news
{
	my ($run) = @_;
	my $news = slurp($run->{log}, $run->{shown});
	return if $news eq '';
	print $news;
	$run->{shown} += length $news;
	$last_line = time;
}

# What is wrong with a program's end, as a list of phrases.
sub complaints
{
	my ($parser, $text, $status, $over) = @_;
	my @wrong = $parser->failed;
	my @complaints;
	push @complaints, @wrong . ' of ' . $parser->tests_run . ' tests failed' if @wrong;
	push @complaints, "Bail out! $1" if $text =~ /^Bail out!\s*(.*)/m;
	return (@complaints, $over) if $over;
	if (!@complaints)
	{
		push @complaints, 'signal ' . ($status & 127) if $status & 127;
		push @complaints, 'exit status ' . ($status >> 8) if $status >> 8;
		push @complaints, $parser->parse_errors;
	}
	return @complaints;
}

# Of these lines, each test that failed and the first remarks on it; where none did, the last lines, since the program broke
# off.
sub what_failed
{
	my $remarks = 0;
	my @failed;
	foreach (@_)
	{
		$remarks = /^not ok/ ? 1 + REMARKS : /^#/ ? $remarks - 1 : 0;
		push @failed, $_ if $remarks > 0;
	}
	return @failed ? @failed : last_lines(REMARKS, @_);
}

sub finish
{
	my ($run, $status) = @_;
	my $program = $run->{program};
	my $text = slurp($run->{log});
	my $parser = TAP::Parser->new({ tap => "$text\n" });
	$parser->run;
	my $good = () = $parser->passed;
	my $bad = () = $parser->failed;
	my $skipped = () = $parser->skipped;
	my @complaints = complaints($parser, $text, $status, $run->{over});

	$done++;
	$passed += $good;
	$failed += $bad || (@complaints ? 1 : 0);

	my $line = sprintf '[%d of %d] %s: ', $done, $count, $program;
	my $seconds = sprintf '%.1f s, %.1f s of CPU', time - $run->{start}, $run->{cpu};
	if (@complaints)
	{
		my $what = join '; ', @complaints;
		# What passed is not of interest now.
		my @lines = grep { !/^\s*ok / } split /\n/, $text;
		# The verdict at the end says it again: a log of two sets of tests may be cut in between.
		note('failed', join "\n\t", "$program: $what", what_failed(@lines));
		@lines = last_lines(200, @lines);
		show_line($_) foreach $run->{shown} ? () : @lines;
		show_logs($run);
		show_line("${line}FAILED: $what, $seconds");
	}
	elsif (defined $parser->skip_all)
	{
		note('skipped', "$program: " . $parser->skip_all);
		show_line("${line}skipped: ", $parser->skip_all);
	}
	else
	{
		my %why = map { $_ => 1 } $text =~ /^ok \d+[^#\n]*# skip (.*)$/mg;
		note('skipped', "$program: $skipped of its tests: " . join('; ', sort keys %why)) if $skipped;
		show_line("$line$good passed, ", $skipped ? "of which $skipped skipped, " : '', $seconds);
	}
}

# The ends of the logs that a program of PostgreSQL's kind, and its servers, wrote.
sub show_logs
{
	my ($run) = @_;
	foreach my $log (grep { -f } bsd_glob("$run->{folder}/tmp_check/{log/*,regression.diffs}"))
	{
		next if !-s $log;
		show_line("-- $log");
		show_line($_) foreach last_lines($log =~ /diffs$/ ? 500 : $log =~ /regress_log_/ ? 60 : 20, split /\n/, slurp($log));
	}
}

while (@waiting || %running)
{
	start(shift @waiting) while @waiting && keys %running < $jobs;

	check_limits() if time - $last_look > CPU_EVERY;
	my $pid = waitpid(-1, WNOHANG);
	my $status = $?;
	show_news(values %running) if $count == 1;
	if (my $run = delete $running{$pid})
	{
		finish($run, $status);
	}
	else
	{
		sleep(0.1);
	}
	if (time - $last_line > SAY_SOMETHING_AFTER)
	{
		show_line("[$done of $count] running: ",
			join ', ', map { sprintf '%s (%d s)', $_->{program}, time - $_->{start} } sort { $a->{start} <=> $b->{start} } values %running);
	}
}

if ($passed + $failed == 0)
{
	$failed = 1;
	note('failed', "$suite: no test ran");
}
note('counts', "$suite $passed $failed");
