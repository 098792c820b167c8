# Copies of a node, its standby, its crashes, and more nodes than worker ids: no two servers issue ids of the same worker id at
# the same time, and where there is none left, a node waits until there is one.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

# Four worker ids; at first one that was left without a word is not free soon, however slow the machine is.
my $LAYOUT = 'time:41:1ms worker:2 sequence:12 epoch:2025-01-01';
my $registry = fleet_registry('registry', layout => $LAYOUT, max_lead => '1 min', clock_slack => '1 h');

sub node
{
	return fleet_node($_[0], hosts($registry), "uidgen.layout = '$LAYOUT'");
}

# Worker ids of these nodes, which are different ones.
sub differ
{
	my ($name, @nodes) = @_;
	my %nodes = map { worker_id($_) => $_ } @nodes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(keys %nodes, @nodes, "$name: each has a worker id of its own");
}

# ---- copies ----

my $origin = node('origin');
draws($origin);
ok(goes_on($origin), 'a node draws ids');
# Its extension was created before it knew its layout.
$origin->safe_psql('postgres', 'SELECT uidgen.use_layout()');
$origin->backup('backup');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($origin, 'backup');
$copy->start;
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($origin, 'backup', has_streaming => 1);
$standby->start;
draws($copy, $standby);
ok(goes_on($origin, $copy, $standby), 'its copy and its standby draw ids beside it');
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', '... in recovery');
ok($standby->poll_query_until('postgres', "SELECT state IN ('granted', 'idle') FROM uidgen.status"), '... as uidgen.status says');
ok($standby->poll_query_until('postgres', 'SELECT uidgen.diagnose()', 'ok'), '... and the diagnosis');
differ('copies', $origin, $copy, $standby);
my $worker = worker_id($standby);
$standby->promote;
ok(goes_on($origin, $copy, $standby), 'the standby is promoted, and ids go on');
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 'f', '... on a primary');
is(worker_id($standby), $worker, '... of the same worker id');

# ---- crashes ----

my $left = worker_id($origin);
$origin->stop('immediate');
$origin->start;
draws($origin);
ok(goes_on($origin), 'a node that crashed draws ids');
isnt(worker_id($origin), $left, '... of another worker id, since somebody may have its memory');
differ('a crash', $origin, $copy, $standby);

# ---- no worker id left ----

# The one that was left is not free before it is looked for, however long that takes to begin.
$registry->safe_psql('postgres', "SELECT uidgen_registry.keep_worker(0, $left)");
my $last = node('last');
draws($last);
ok(poll_until(sub { log_since($last, 0) =~ /LOG:  uidgen has no new grant: no worker id is free/ }), 'more nodes than worker ids: one waits');
like(log_since($last, 0), qr/DETAIL:  The layout has 4 worker ids in datacenter 0, .* The next one becomes free at /, '... and knows until when');
# From here on, after four seconds.
$registry->safe_psql('postgres', by_hand(q{UPDATE uidgen_registry.registry SET max_lead = '3 s', guest_lead = '3 s', clock_slack = '1 s'}));
$registry->safe_psql('postgres', "SELECT uidgen_registry.forget_worker($left, 0)");
$worker = worker_id($copy);
$copy->stop('fast');
ok(goes_on($last), 'one is handed back, and it goes on');
my %free = map { $_ => 1 } $left, $worker;
ok($free{ worker_id($last) }, '... with a free one');
$copy->start;
draws($copy);
ok(goes_on($origin, $standby, $last, $copy), 'the one that crashed and was not taken again is free after a while');
differ('all worker ids are in use', $origin, $copy, $standby, $last);
is(rows($registry, "string_agg(worker_id::text, ' ' ORDER BY worker_id)", ''), '0 1 2 3', '... so all were granted');

nothing_twice('no id was seen twice');
done_testing();
