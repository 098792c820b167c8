# The leading server of a fleet's registry is lost, and for a while there is none.  A node whose window is
# longer than that issues ids as if nothing had happened; one whose grant has ended has the next one soon
# after another server leads.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Time::HiRes 'time';
use UidgenTest;

my $primary = fleet_registry('primary', max_lead => '1 h');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $leaders = hosts($primary, $standby);
# It asks again when half of that is left, which has to last until the end of this test on any machine.
my $long = fleet_node('long', $leaders, "uidgen.window = '20min'");
my $short = fleet_node('short', $leaders);
draws($long, $short);
ok(goes_on($long, $short), 'two nodes draw ids');
$primary->wait_for_catchup($standby);

my $waited = status_of($long, 'waits');
$primary->stop('immediate');
ok(poll_until(sub { log_since($short, 0) =~ /uidgen has no new grant/ }), 'no grant is to be had');
ok($short->poll_query_until('postgres', 'SELECT granted_until < now() FROM uidgen.status'), 'a short window comes to its end');
ok(goes_on($long), 'ids of a long one go on');

$standby->promote;
my $promoted = time;
ok(goes_on($short), 'another server leads: the next grant comes');
note(sprintf '%.1f s later', time - $promoted);
ok(goes_on($long), 'and the long window never ended');
is(status_of($long, 'waits'), $waited, '... nor was there a wait');
is(status_of($short, 'timeline'), 2, 'the answer came from the new leader');

nothing_twice('no id was seen twice');
done_testing();
