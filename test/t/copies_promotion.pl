# A promoted standby, and a backup that is simply started, take other worker ids than their primary, which may still run.
# Promise: P1
# Kills: script/registry/20_local.sql choose_worker: AND n.identity = holder => AND n.identity <> holder

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', preload());
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $worker = $primary->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())');
my @all;

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($primary, 'backup');

# ---- in recovery ----

my $id = $primary->safe_psql('postgres', 'SELECT uid_next()');
$primary->wait_for_catchup($standby);
fails_with($standby, "SELECT $_", '25006', qr/recovery/, "a standby refuses $_")
  foreach 'uid_next()', 'uid_next(0)', 'uid_next_batch(1)', 'uid_reserve(1)', "uid_next_after($id)", 'uid_next_after(' . ($id + (3_600_000 << 22)) . ')';
is($standby->safe_psql('postgres', "SELECT worker FROM uid_parse($id)"), $worker, 'but it decodes');
like($standby->safe_psql('postgres', 'SELECT state FROM uidgen.status'), qr/^recovery$/, 'uidgen.status tells');
is($primary->safe_psql('postgres', 'BEGIN READ ONLY; SELECT uid_next() > 0; COMMIT'), 't',
	'while a transaction of the primary that is only read-only is welcome');

# ---- each on its own ----

# All three draw at once.
$standby->promote;
$copy->start;
my %worker;
foreach my $node ($standby, $copy)
{
	$worker{ $node->name } = $node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())');
	isnt($worker{ $node->name }, $worker, 'the ' . $node->name . ' takes another worker id');
	like($node->safe_psql('postgres', 'SELECT state FROM uidgen.status'), qr/^(granted|idle)$/, 'and has got a grant');
}
my @drawings = map { start_drawing($_) } $primary, $standby, $copy;
ok(await_drawing($_, 1000), 'ids are drawn') foreach @drawings;
@all = map { stop_drawing($_) } @drawings;
SKIP:
{
	skip 'standby and copy chose the same worker id, at random, as they may', 1 if $worker{standby} == $worker{copy};
	is(repeated(@all), 0, 'no two issue the same id');
}
is(repeated($all[0], $all[1]), 0, 'neither do the primary and its promoted standby');
is(repeated($all[0], $all[2]), 0, 'nor the primary and its copy');

# Restarted, each keeps what it has.
$_->restart foreach $standby, $copy;
is($_->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())'), $worker{ $_->name }, 'the ' . $_->name . ' keeps its worker id')
  foreach $standby, $copy;
is( $standby->safe_psql('postgres', "SELECT identity IS NOT NULL, launches FROM uidgen_registry.worker_node WHERE worker_id = $worker"),
	't|1',
	'the row that came with the copy is left alone');

done_testing();
