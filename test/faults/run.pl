# run.pl: random faults and clock steps for as long as one likes; what they prove
# is in FaultRounds.pm.
#
#	UIDGEN_FAULTS='--rounds 200 --ids 100000000' ./check test/faults/run.pl
#
# --seed N       the plan of each round; printed in any case
# --rounds N     that must count (200)
# --ids N        that clients must have seen, at least (100 million); each takes 14
#                bytes in TMPDIR, and 16 of memory in the end
# --seconds N    begin no further round after that; none: 0
# --faults A,B   choose from these alone; their names are in FaultRounds.pm
#
# test/t/random_faults.pl runs the same for about a minute.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../perl";
use FaultRounds;
use Getopt::Long;
use Test::More;

unshift @ARGV, split ' ', $ENV{UIDGEN_FAULTS} // '';
my %options;
GetOptions(\%options, 'seed=i', 'rounds=i', 'ids=i', 'seconds=i', 'faults=s') or die "see the head of $0\n";
$options{faults} = [ split /,/, $options{faults} ] if $options{faults};

FaultRounds->new(%options)->run;

done_testing();
