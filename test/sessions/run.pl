# test/sessions/run.pl
#	  Runs random sessions under random faults for long:
#
#	UIDGEN_SESSIONS='--programs 10000 --ids 100000000' ./check test/sessions/run.pl
#
# A folder of its own beside test/faults: there, sessions draw as many ids as they
# can, and a control tells whether a round counts; here they do all that a client can
# do, on another server in each round, and each id is judged by itself.
#
# The options:
# --seed N       repeats the programs and the plan of a run
# --programs N   that sessions run, at least (10,000)
# --ids N        that clients see, at least (none)
# --seconds N    begin no further round after that
# --rounds N     so many rounds, and no other limit
# --round N      begin with this round
# --profile N    every round is of this kind, counted from 0 (SessionRounds.pm)
# --fleets       with rounds of two nodes of a fleet
# --burst MS     judge as if uidgen.max_burst were that, also where there is none
# --keep_going   do not end with the first round that fails
#
# test/t/random_sessions.pl runs the same for about a minute.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults";
use Getopt::Long;
use SessionRounds;
use Test::More;

unshift @ARGV, split ' ', $ENV{UIDGEN_SESSIONS} // '';
my %options;
GetOptions(\%options, 'seed=i', 'programs=i', 'ids=i', 'seconds=i', 'rounds=i', 'round=i', 'profile=i', 'burst=i', 'keep_going', 'fleets')
  or die "see the head of $0\n";

SessionRounds->new(%options)->run;

done_testing();
