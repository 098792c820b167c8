# Proves that three servers on one registry draw no number of a segment twice, and each
# in order, whatever is killed, stopped or frozen, whatever the owner does to the segments,
# and although the registry, which has three servers, fails over or is restored and loses what it
# committed last; and that the numbers that are missing are those that may be.
# test/faults/SegmentRounds.pm has the rounds.
#
# Only with UIDGEN_SEGMENTS, which ./check --world sets; for a long run
#
#	UIDGEN_SEGMENTS='--rounds 50 --numbers 20000000' ./check test/t/segments_faults.pl
#
# --seed N       the plan of each round; printed in any case
# --rounds N     that must count (3)
# --numbers N    that clients must have seen, at least (300,000); each takes 14 bytes in
#                TMPDIR, and 16 of memory in the end
# --seconds N    begin no further round after that; none: 0
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults";
use Getopt::Long;
use SegmentRounds;
use Test::More;

plan skip_all => 'takes several minutes; ./check --world runs it' unless defined $ENV{UIDGEN_SEGMENTS};
my %options = (rounds => 3, ids => 300_000);
unshift @ARGV, split ' ', $ENV{UIDGEN_SEGMENTS};
GetOptions(\%options, 'seed=i', 'rounds=i', 'numbers=i' => \$options{ids}, 'seconds=i') or die "see the head of $0\n";

SegmentRounds->new(%options)->run;

done_testing();
