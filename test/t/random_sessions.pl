# Proves the promises on ids (P1, P2, P4, P5) and the counters for sessions that do all
# that a client can do and go on after each error, under faults, with random settings:
# rounds of random programs, each id of which is judged.  test/sessions/run.pl runs
# the same for longer.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults", "$FindBin::RealBin/../sessions";
use SessionRounds;
use Test::More;

# No further round after 30 seconds, however slow the machine.  The same plan each
# time, so that a failure comes from a change; run.pl is for others, and for fleets.
SessionRounds->new(seed => 5, rounds => 8, seconds => 30)->run;

done_testing();
