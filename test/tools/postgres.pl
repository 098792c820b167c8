#!/usr/bin/perl
# test/tools/postgres.pl
#	  Stands in for the program "postgres" of the private server, and runs the
#	  real one under the sanitizers or valgrind.  Installed by test/tempcheck.sh;
#	  test/reports.pl looks at what they found.
#
# Only the server is run so, not what starts it or talks to it, and whatever is
# preloaded already (a false clock) stays so, behind the sanitizer's library.
use strict;
use warnings;

my $dir = $ENV{CHECK_DIR};

open(my $runs, '>>', "$dir/runs") or die "could not write $dir/runs: $!";
print $runs "@ARGV\n";
close $runs;

if ($ENV{CHECK_MODE} eq 'sanitize')
{
	$ENV{LD_PRELOAD} = join ' ', "$dir/libasan.so", "$dir/nogettext.so", $ENV{LD_PRELOAD} // ();
	# What a server process has allocated when it ends is no leak.
	$ENV{ASAN_OPTIONS} = 'detect_leaks=0:abort_on_error=1';
	$ENV{UBSAN_OPTIONS} = 'halt_on_error=1:abort_on_error=1:print_stacktrace=1';
	# Under its own name, by which it is started again.
	exec { "$0.real" } $0, @ARGV;
}
else
{
	exec 'valgrind', '--quiet', '--leak-check=no', '--error-limit=no', '--xml=yes',
	  "--xml-file=$dir/valgrind.%p.xml", "$0.real", @ARGV;
}
die "could not run $0.real: $!";
