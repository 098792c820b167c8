# test/regress.pl
#	  Runs the tests of pg_regress, or those of the isolation tester, on a server of their own, and prints TAP: a test that is
#	  not reported as passed has failed.
#
#	perl test/regress.pl regress|isolation
#
# $REGRESS and $ISOLATION name the tests.  Outputs and differences lie in $TESTDATADIR.  Called by test/tools/tap.pl, as the
# programs of test/t are.
use strict;
use warnings;

use Test::More;

my ($kind) = @ARGV;
my %programs = (
	regress => [ 'regress/pg_regress', $ENV{REGRESS}, '--dbname=contrib_regression' ],
	isolation => [ 'isolation/pg_isolation_regress', $ENV{ISOLATION}, '--dbname=isolation_regression', '--inputdir=test/isolation' ]);
my ($program, $tests, @options) = @{ $programs{ $kind // '' } || die "usage: $0 regress|isolation\n" };
my $out = $ENV{TESTDATADIR};
# By ./check --late, servers do not preload uidgen.
my $conf = ($ENV{UIDGEN_LATE} // '') eq 'yes' ? '/dev/null' : 'test/tempcheck.conf';

mkdir $out;
open(my $said, '-|', "$ENV{PGXS_DIR}/src/test/$program", "--bindir=$ENV{BINDIR}", "--outputdir=$out", "--temp-instance=$out/tmp",
	"--temp-config=$conf", '--no-locale', '--encoding=UTF8', @options, split ' ', $tests)
  or die "could not run $program: $!\n";
my %passed;
while (<$said>)
{
	print "# $_";
	$passed{$1}++ if /^ok \d+ +[-+] (\S+) / || /^test (\S+) +\.\.\. ok /;
}
close $said;
my $status = $?;
ok($passed{$_}, $_) foreach split ' ', $tests;
is($status, 0, "$program says so");
done_testing();
