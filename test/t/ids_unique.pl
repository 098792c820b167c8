# Many sessions draw at once: in two databases, in parallel workers, one by one, in batches and in blocks, with and without tags.
# First of all: the program which looks for duplicates finds them.
# Promise: P1, P2
# Kills: src/ids/generator.c next_id_slowly: return uidgen_block_id(&block, 0, tag_bits); => return uidgen_block_id(&block, 1, tag_bits);

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use IdFiles;
use UidgenTest;

my $million = 1_000_000;

# ---- the duplicate checker itself ----

my $node = uidgen_node('plain');
$node->start;

my @planted = draw_files($node,
	'SELECT generate_series(1, 100000)::bigint',
	'SELECT generate_series(100000, 200000)::bigint',
	'SELECT unnest(ARRAY[300007, 300001]::bigint[])',
	'SELECT unnest(ARRAY[4611686018427387905, -5]::bigint[]) ORDER BY 1',
	'SELECT 1::bigint WHERE false');
is_deeply([ count_in_files(@planted[ 0, 3, 4 ]) ], [ 100_002, 0, 0 ],
	'dupcheck: good ids are found good');
is_deeply([ count_in_files(@planted[ 0, 1 ]) ], [ 200_001, 1, 0 ],
	'dupcheck: one duplicate among many ids is found');
is_deeply([ count_in_files(@planted[ 0, 0 ]) ], [ 200_000, 100_000, 0 ],
	'dupcheck: each duplicate is counted');
is_deeply([ count_in_files($planted[2]) ], [ 2, 0, 1 ],
	'dupcheck: ids out of order are found');
# The fifth row is cut in the middle.
append_to_file("$planted[0].cut", substr(slurp_file($planted[0]), 0, 19 + 4 * 14 + 9));
is_deeply([ count_in_files("$planted[0].cut") ], [ 4, 0, 0 ],
	'dupcheck: a file that was cut off is read as far as it goes');
ok(!eval { count_in_files($node->basedir . '/backup-does-not-exist'); 1 },
	'dupcheck: says so if it could not look');

# ---- many sessions ----

$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE DATABASE second');
$node->safe_psql('second', 'CREATE EXTENSION uidgen');

my $one_by_one = "SELECT uid_next() FROM generate_series(1, $million)";
my $batches = "SELECT uid_next_batch($million / 10) FROM generate_series(1, 10)";
# The argument depends on i, so that there is a call for each i.
my $blocks = "SELECT generate_series(b, b + i % 999)"
  . " FROM generate_series(0, $million / 500 - 1) AS i,"
  . " LATERAL uid_reserve(1 + i % 999) AS b";

# The same in parallel workers, at the same time: by a function whose label lets the planner
# put it there, as it does not put uid_next() itself.
$node->safe_psql('postgres', qq{
	CREATE UNLOGGED TABLE source AS SELECT FROM generate_series(1, $million);
	CREATE FUNCTION in_worker() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uid_next()'});
my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
my $parallel = "CREATE UNLOGGED TABLE made AS SELECT in_worker() AS id FROM source";
my $creation = $node->background_psql('postgres');
$creation->query_safe("SET $force = on");
$creation->query_safe("SET $_ = 0")
  foreach qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size);

my @draws = map { begin_file($node, $_) } (
	$one_by_one, $one_by_one, [ 'second', $one_by_one ], [ 'second', $one_by_one ],
	$batches, [ 'second', $batches ],
	$blocks, [ 'second', $blocks ]);
my $plan = $creation->query_safe("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) $parallel");
$creation->quit;
like($plan, qr/Workers Launched: [1-9].*Parallel Seq Scan.*Output: uid_next\(\)/s,
	'ids are made in parallel workers');
my @files = map { end_file($_) } @draws;
push @files, draw_files($node, 'SELECT id FROM made ORDER BY id');
# blocks of 1 to 999 ids, twice around and two more
my $in_blocks = 2 * 999 * 1000 / 2 + 1 + 2;
unique_in_order(7 * $million + 2 * $in_blocks,
	'8 sessions in two databases and a parallel query: no duplicate, each in order',
	@files);
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '1',
	'they are of one worker id');

# Ids of a block are consecutive numbers, and none is anybody else's.
is( $node->safe_psql(
		'postgres',
		'SELECT count(*) FROM generate_series(1, 4096) AS i, LATERAL uid_reserve(i) AS b WHERE b >> 12 <> (b + i - 1) >> 12'),
	'0',
	'a block lies within one tick');
$node->stop;

# ---- tags ----

# Half the ids of a tick have one tag, half another: the tag must not stand in
# for the sequence.
my $tagged = uidgen_node('tagged',
	"uidgen.layout = 'time:41:1ms datacenter:2 worker:4 tag:6 sequence:10 epoch:2025-01-01'",
	'uidgen.datacenter_id = 2');
$tagged->start;
$tagged->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $count = 250_000;
@files = draw_files($tagged,
	"SELECT uid_next(7) FROM generate_series(1, $count)",
	"SELECT uid_next(7) FROM generate_series(1, $count)",
	# order is promised for the ids of one tag
	"SELECT uid_next(i % 64) FROM generate_series(1, $count) AS i ORDER BY 1",
	"SELECT uid_next() FROM generate_series(1, $count)",
	"SELECT uid_next_batch($count, 63)",
	"SELECT generate_series(b, b + 499) FROM generate_series(1, $count / 500) AS i,"
	  . ' LATERAL uid_reserve(500 + 0 * i, 21) AS b');
unique_in_order(6 * $count, 'with tags: no duplicate, each in order', @files);
is( $tagged->safe_psql(
		'postgres',
		'SELECT count(*), min(p.tag), max(p.tag), count(DISTINCT p.tag), min(p.datacenter), max(p.datacenter)'
		  . ' FROM generate_series(1, 1000) AS i, LATERAL uid_parse(uid_next(i % 64)) AS p'),
	'1000|0|63|64|2|2',
	'ids have the tag and the datacenter that they should');
$tagged->stop;

# ---- granted before issued ----

# Grants of one tick, which has room for few ids, and sessions that look into the
# registry after each call.  The clock is set back, so that what is needed of a
# grant depends on the calls alone: else a slow machine's might be over as soon as
# it is there.
my $granted = uidgen_node('granted', 'uidgen.window = 1ms',
	"uidgen.layout = 'time:41:1ms worker:10 sequence:4 epoch:2025-01-01'");
my $clock = FakeClock->new($granted);
$clock->under(sub { $granted->start });
$granted->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;
SELECT uid_next();
CREATE FUNCTION watch() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
BEGIN
	FOR i IN 1 .. 4000 LOOP
		id := uid_next();
		-- a snapshot of its own
		PERFORM FROM uidgen_registry.worker_node AS w
			WHERE w.worker_id = (uid_parse(id)).worker AND w.granted_until >= id >> 14;
		IF NOT FOUND THEN
			RETURN format('id %s of tick %s was issued before it was granted', id, id >> 14);
		END IF;
	END LOOP;
	RETURN 'all were granted';
END
$$;
SQL
$clock->step(-600);
my @watches = map {
	my $said = '';
	my $run = IPC::Run::start(
		[ $granted->installed_command('psql'), '-XAtq', '-d', $granted->connstr('postgres'), '-c', 'SELECT watch()' ],
		'<', \undef, '>&', \$said,
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	[ $run, \$said ]
} 1 .. 4;
foreach (@watches)
{
	my ($run, $said) = @$_;
	$run->finish;
	is($$said, "all were granted\n", 'an id is not issued before its grant is committed');
}
cmp_ok($granted->safe_psql('postgres', 'SELECT renewals FROM uidgen.status'), '>', 50,
	'for that, there were many grants');
$granted->stop;

done_testing();
