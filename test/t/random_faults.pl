# Proves that no id is issued twice (P1) whatever is killed, stopped, cancelled or
# locked while ids are drawn, when at the same time the clock is set back onto
# the interval that was used before: rounds of random faults, under which a naive
# control does issue duplicates.  test/faults/run.pl runs the same for longer.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults";
use FaultRounds;
use Test::More;

# No further round after a quarter of an hour, however slow the machine.
FaultRounds->new(rounds => 10, ids => 6_000_000, seconds => 900)->run;

done_testing();
