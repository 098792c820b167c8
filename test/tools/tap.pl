# test/tools/tap.pl
#	  Runs TAP programs, some at a time, and tells what came of each: a line when
#	  it ends, with what it said if it failed, and a line now and then while there
#	  is nothing new.
#
#	perl test/tools/tap.pl SUITE JOBS SECONDS PROGRAM...
#
# JOBS run at a time.  One that takes longer than SECONDS has failed; 0: there is
# no limit.  A program alone is shown as it runs.
#
# Called by test/tempcheck.sh, whose files "counts" and "failed" in $CHECK_DIR it
# goes on with.  Unlike prove, it runs the other programs when one bails out, and
# a program of which no test ran has failed.  Core Perl only.
use strict;
use warnings;

use File::Glob qw(bsd_glob);
use POSIX qw(WNOHANG);
use TAP::Parser;
use Time::HiRes qw(sleep time);

use constant SAY_SOMETHING_AFTER => 20;	# seconds
use constant REMARKS => 12;	# lines on a test that failed, at the end of all

my ($suite, $jobs, $limit, @waiting) = @ARGV;
my $dir = $ENV{CHECK_DIR};
my $count = @waiting;
my $done = 0;
my ($passed, $failed) = (0, 0);
my %running;	# by process id: program, file with its output, start, offset shown
my $last_line = time;

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

sub start
{
	my ($program) = @_;
	(my $name = $program) =~ s{[^\w.]}{_}g;
	my $log = "$dir/tap_$name.log";
	my @command = ($program =~ /\.pl$/ ? ($^X, $program) : $program =~ m{^/} ? $program : "./$program");
	# In the foreground, so that it sees Ctrl-C.
	unshift @command, 'timeout', '--foreground', '--kill-after=30', $limit if $limit;

	# Empty before it is read for the first time.
	open(my $output, '>', $log) or die "could not write $log: $!";
	my $pid = fork() // die "could not fork: $!";
	if ($pid == 0)
	{
		open(STDOUT, '>&', $output) && open(STDERR, '>&', $output) && exec { $command[0] } @command;
		POSIX::_exit(127);
	}
	$running{$pid} = { program => $program, log => $log, start => time, shown => 0 };
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
	my ($parser, $text, $status) = @_;
	my @wrong = $parser->failed;
	my @complaints;
	push @complaints, @wrong . ' of ' . $parser->tests_run . ' tests failed' if @wrong;
	push @complaints, "Bail out! $1" if $text =~ /^Bail out!\s*(.*)/m;
	if ($limit && ($status >> 8 == 124 || $status >> 8 == 137))		# the other one if it had to be killed
	{
		push @complaints, "not done after $limit s";
	}
	elsif (!@complaints)
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
	my @complaints = complaints($parser, $text, $status);

	$done++;
	$passed += $good;
	$failed += $bad || (@complaints ? 1 : 0);

	my $line = sprintf '[%d of %d] %s: ', $done, $count, $program;
	my $seconds = sprintf '%.1f s', time - $run->{start};
	if (@complaints)
	{
		my $what = join '; ', @complaints;
		# What passed is not of interest now.
		my @lines = grep { !/^\s*ok / } split /\n/, $text;
		# The verdict at the end says it again: a log of two sets of tests may be cut in between.
		note('failed', join "\n\t", "$program: $what", what_failed(@lines));
		@lines = last_lines(200, @lines);
		show_line($_) foreach $run->{shown} ? () : @lines;
		show_logs($program);
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
	my ($program) = @_;
	my ($name) = $program =~ m{([^/]+)\.pl$} or return;
	my $logs = $ENV{TESTLOGDIR} or return;
	foreach my $log ("$logs/regress_log_$name", bsd_glob("$logs/${name}_*.log"))
	{
		next if !-s $log;
		show_line("-- $log");
		show_line($_) foreach last_lines($log =~ /regress_log_/ ? 60 : 20, split /\n/, slurp($log));
	}
}

while (@waiting || %running)
{
	start(shift @waiting) while @waiting && keys %running < $jobs;

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
			join ', ', map { sprintf '%s (%d s)', $_->{program}, time - $_->{start} } values %running);
	}
}

if ($passed + $failed == 0)
{
	$failed = 1;
	note('failed', "$suite: no test ran");
}
note('counts', "$suite $passed $failed");
