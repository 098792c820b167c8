# Proves that no id is issued twice (P1) by five servers whose registry is three PostgreSQL servers under Patroni, whatever becomes of the
# leader: killed, frozen, cut off, switched over, in synchronous and in asynchronous mode, where commits are lost; and that
# Patroni and the nodes recover by themselves.  PatroniRounds.pm has the rounds.
#
# It needs the packages patroni, etcd-server and psycopg; ./check --install brings them.
#
#	UIDGEN_PATRONI='--rounds 34 --ids 7000000 --seed 20261141' ./check test/fleet/patroni.pl
#
# --seed N       the plan of each round; printed in any case
# --rounds N     changes of leader that must count (5)
# --ids N        that clients must have seen, at least (100,000)
# --max_lead N   of the registry, in seconds (24): losses of commits are twice as far apart, and two of the
#                nodes have a window of half of it
# --seconds N    begin no further round after that; none: 0
# --faults A,B   choose from these alone; their names are in PatroniRounds.pm
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../perl", "$FindBin::RealBin/../faults";
use Getopt::Long;
use PatroniRounds;
use Test::More;

my $missing = Patroni::missing();
plan skip_all => "there is no $missing; ./check --world --install installs it" if $missing;

my %options = (rounds => 5, ids => 100_000);
unshift @ARGV, split ' ', $ENV{UIDGEN_PATRONI} // '';
GetOptions(\%options, 'seed=i', 'rounds=i', 'ids=i', 'seconds=i', 'max_lead=i', 'faults=s') or die "see the head of $0\n";
$options{faults} = [ split /,/, $options{faults} ] if $options{faults};

PatroniRounds->new(%options)->run;

done_testing();
