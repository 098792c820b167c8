# uidgen.statistics counts each id once, by how it was drawn, whatever becomes of the session that drew it;
# and each call that waits, with its time.  pg_regress draws ids beside other tests, and cannot wait.
# Promise: none; part: src/memory/counts.c
# Kills: src/functions/statistics.c read_counts: ((uint64 *) counts)[i] -= ((uint64 *) &before)[i]; => ((uint64 *) counts)[i] += ((uint64 *) &before)[i];

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', 'uidgen.max_burst = 0', 'uidgen.window = 1s', 'max_prepared_transactions = 5', 'restart_after_crash = on');
$node->start;

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

my $KINDS = 'ids, ids_single, ids_batch, ids_block, segment_numbers';

# What has been counted since the last call, by kind.
my @before = (0) x 5;

sub drawn_since
{
	my @now = split /\|/, query("SELECT $KINDS FROM uidgen.statistics");
	my @drawn = map { $now[$_] - $before[$_] } 0 .. $#now;
	@before = @now;
	return "@drawn";
}

sub waits
{
	my ($what) = @_;
	return split /\|/, query("SELECT ${what}_waits, extract(epoch FROM ${what}_wait_time) * 1000 FROM uidgen.statistics");
}

query('CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');
query('CREATE ROLE anyone');
query('CREATE TABLE t (id bigint PRIMARY KEY DEFAULT uid_next(), n int)');
query("SELECT uidgen_registry.create_segment('s', step => 100)");

# ---- ids by the kind of call ----

is(drawn_since(), '0 0 0 0 0', 'who looks counts nothing') unless is_late();
query('SELECT uid_next()');
is(drawn_since(), '1 1 0 0 0', 'the first id of a session');
query('SELECT uid_next() FROM generate_series(1, 1000)');
is(drawn_since(), '1000 1000 0 0 0', 'many of a statement');
query('INSERT INTO t SELECT uid_next(), 1 FROM generate_series(1, 10)');
query('INSERT INTO t (n) VALUES (1), (2), (3)');
query("COPY t (n) FROM PROGRAM 'seq 50'");
is(drawn_since(), '63 63 0 0 0', 'of a default, and of COPY');
query('SELECT uid_next_batch(3000)');
is(drawn_since(), '3000 0 3000 0 0', 'a batch');
query('SELECT uid_reserve(7), uid_reserve(5)');
is(drawn_since(), '12 0 0 12 0', 'blocks');
query("SELECT uid_segment_next('s') FROM generate_series(1, 11); SELECT uid_segment_batch('s', 20); SELECT uid_segment_reserve('s', 6), uid_segment_reserve('s', 4)");
is(drawn_since(), '0 0 0 0 41', 'numbers of a segment');
query("BEGIN; SELECT uid_next(); ROLLBACK; BEGIN; SELECT uid_next(); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'");
is(drawn_since(), '2 2 0 0 0', 'whatever becomes of the transaction');
isnt((sqlstate_of($node, 'SELECT uid_next_batch(-1)'))[0], '', 'a call that is refused');
isnt((sqlstate_of($node, 'SELECT uid_reserve(100000)'))[0], '', '... and another');
is(drawn_since(), '0 0 0 0 0', '... draws nothing');

# ---- many sessions, and such as end by force ----

my $script = $node->basedir . '/draw.sql';
append_to_file($script, "SELECT uid_next();\n");
command_ok([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 400, '-f', $script, $node->connstr('postgres') ], 'sessions draw');
is(drawn_since(), '3200 3200 0 0 0', 'none is lost between them');

my $victim = $node->background_psql('postgres');
is($victim->query('SELECT count(uid_next()) FROM generate_series(1, 321)'), 321, 'a session draws');
my $pid = $victim->query('SELECT pg_backend_pid()');
query("SELECT pg_terminate_backend($pid)");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'it goes on';
$victim->{run}->finish;
is(drawn_since(), '321 321 0 0 0', 'what it drew still counts when it was terminated');
query('SELECT uid_next()');
is(drawn_since(), '1 1 0 0 0', 'and whoever comes after it counts on');

# ---- status ----

is(query('SELECT s.ids = t.ids AND s.ids > 0 FROM uidgen.status AS s, uidgen.statistics AS t'), 't', 'uidgen.status has the sum');
is(query('SET ROLE anyone; SELECT ids > 0 FROM uidgen.statistics'), 't', 'everybody may read it');

# ---- waits ----

# Without max_burst, each block that fills a tick waits for the next one, however slow the machine is.
my ($calls, $time) = waits('clock');
query('SELECT count(uid_reserve(4096)) FROM generate_series(1, 100)');
my ($calls_after, $time_after) = waits('clock');
cmp_ok($calls_after, '>', $calls, 'a call that waits for the clock counts');
cmp_ok($time_after - $time, '>', 1, '... with its time');

# Also where it is the first call of a session: an id that lies ahead is waited for.
# A busy machine may be there before the call is.
foreach (1 .. 5)
{
	($calls, $time) = waits('clock');
	is((sqlstate_of($node, 'SELECT uid_next_after(uid_min(clock_timestamp() + interval $$2 s$$))'))[0], '', 'a first call waits');
	($calls_after, $time_after) = waits('clock');
	last if $calls_after > $calls && $time_after - $time > 100;
}
cmp_ok($calls_after, '>', $calls, '... which counts');
cmp_ok($time_after - $time, '>', 100, '... with its time');

# While the registry is locked, there is no grant, and there are no numbers: calls end by wait_timeout.
($calls, $time) = waits('grant');
my $lock = $node->background_psql('postgres');
$lock->query_safe('BEGIN; LOCK uidgen_registry.worker_node, uidgen_registry.segment IN ACCESS EXCLUSIVE MODE');
my $state = '';
ok(poll_until(sub { $state = (sqlstate_of($node, "SET uidgen.wait_timeout = 300; SELECT uid_next()"))[0] }), 'the grant ends');
is($state, '55000', '... and a call fails');
($calls_after, $time_after) = waits('grant');
cmp_ok($calls_after, '>', $calls, 'it counts as one that waited for a grant');
cmp_ok($time_after - $time, '>', 150, '... with its time, though it failed');
my ($segment_calls) = waits('segment');
isnt((sqlstate_of($node, "SET uidgen.wait_timeout = 100; SELECT count(uid_segment_next('s')) FROM generate_series(1, 100000)"))[0], '', 'numbers run out');
cmp_ok((waits('segment'))[0], '>', $segment_calls, 'likewise for numbers');
$lock->quit;
ok(poll_until(sub { (sqlstate_of($node, 'SELECT uid_next()'))[0] eq '' }), 'all is well again');

# ---- reset, and a crash ----

is((sqlstate_of($node, 'SET ROLE anyone; SELECT uidgen.reset_statistics()'))[0], '42501', 'not everybody may reset it');
my $since = query('SELECT since FROM uidgen.statistics');
query('SELECT uidgen.reset_statistics()');
@before = (0) x 5;
is(drawn_since(), '0 0 0 0 0', 'after a reset it begins anew');
is(query("SELECT (grant_waits, clock_waits, segment_waits, grant_wait_time, clock_wait_time, segment_wait_time)::text FROM uidgen.statistics"),
	'(0,0,0,00:00:00,00:00:00,00:00:00)', '... with the waits');
is(query("SELECT since > '$since' FROM uidgen.statistics"), 't', '... from now on');
query('SELECT uid_next()');
is(drawn_since(), '1 1 0 0 0', 'and goes on');
crash($node);
query('SELECT uid_next() FROM generate_series(1, 5)');
is(query('SELECT ids FROM uidgen.statistics'), 5, 'after a crash, likewise');

done_testing();
