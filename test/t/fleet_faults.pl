# Proves that no id is issued twice (P1) by five servers with one registry, two copies and
# a promoted standby among them, whatever is killed, stopped or frozen, whatever their
# clocks show, and although the registry, which has three servers, fails over or is restored
# and loses what it committed last: rounds of random faults, under which a fleet whose registry
# lacks the rules against that does issue duplicates.  test/faults/FleetRounds.pm has the rounds.
#
# Only with UIDGEN_FLEET, which ./check --world sets; for a long run
#
#	UIDGEN_FLEET='--rounds 100 --ids 50000000' ./check test/t/fleet_faults.pl
#
# --seed N       the plan of each round; printed in any case
# --rounds N     that must count (3)
# --ids N        that clients must have seen, at least (100,000); each takes 14 bytes in
#                TMPDIR, and 16 of memory in the end
# --seconds N    begin no further round after that; none: 0
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults";
use FleetRounds;
use Getopt::Long;
use Test::More;

plan skip_all => 'takes several minutes; ./check --world runs it' unless defined $ENV{UIDGEN_FLEET};
my %options = (rounds => 3, ids => 100_000);
unshift @ARGV, split ' ', $ENV{UIDGEN_FLEET};
GetOptions(\%options, 'seed=i', 'rounds=i', 'ids=i', 'seconds=i') or die "see the head of $0\n";

FleetRounds->new(%options)->run;

done_testing();
