# A server tells the registry of numbers that this one has lost, where failover_gap reaches beyond max_value: the segment is
# stopped, since a gap that is cut off covers nothing, and an error would undo what the registry has learned by the call.
# Promise: S5
# Kills: script/registry/42_segment_calls.sql leave_out_lost: IF (verdict = 'lost' OR went_back) AND before.last_value < s.max_value AND before.last_value + s.failover_gap::numeric > s.max_value THEN => IF (verdict = 'lost' AND went_back) AND before.last_value < s.max_value AND before.last_value + s.failover_gap::numeric > s.max_value THEN

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use Numbers;
use UidgenTest;

my $registry = fleet_registry('registry');
my ($one, $two) = map { fleet_node($_, hosts($registry)) } qw(one two);
create_segment($registry, q{'near', step => 100, max_value => 3000});
$registry->safe_psql('postgres', by_hand('UPDATE uidgen_registry.segment SET max_step = 100, failover_gap = 5000'));
draw_numbers($one, 'near', 50);
await_keeper($one);
take_snapshot($registry);
draw_numbers($one, 'near', 850);
await_keeper($one);
my $highest = segment($registry, 'near', 'last_value');
set_back($registry);
my $snapshot = segment($registry, 'near', 'last_value');
cmp_ok($snapshot, '<', $highest, "a snapshot is started that knows of numbers up to $snapshot, and a server of $highest");
# A call's time may be over before the keeper has called.
ok(poll_until(
		sub {
			my (undef, $err) = draw_all_numbers($one, 'near', '2s');
			note($err);
			return segment($registry, 'near', 'stopped IS NOT NULL OR last_value >= ' . $highest) eq 't';
		}), 'the server has called: the segment is stopped, or goes on above what it knows');
my (undef, $err_of_two) = draw_all_numbers($two, 'near', '2s');
note($err_of_two);
is(common('near', $one, $two), 0, '... and no other one is given the same numbers');
note(segment($registry, 'near', 'last_value, stopped, evidence'));

done_testing();
