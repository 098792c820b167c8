# What uid_horizon() says, case by case: who holds it back and who does not, one answer for each snapshot, prepared
# transactions of before, ids of an earlier transaction, a clock that was set back.  pg_regress has no second session.
# Promise: P8
# Kills: src/ids/horizon_hold.c note_prepared: if (!holder || uidgen_atomic_read(&holder->bound) == 0) => if (!holder || uidgen_atomic_read(&holder->bound) != 0)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use UidgenTest;

my $node = uidgen_node('main', 'max_prepared_transactions = 10', 'autovacuum = off', 'wal_level = replica', "uidgen.window = '5min'", "uidgen.wait_timeout = '1h'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_registry;
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), body text);
CREATE DATABASE other;
CREATE ROLE nobody;
SQL

sub session
{
	return $node->background_psql('postgres', on_error_stop => 0);
}

# Does a new statement see up to this id?
sub is_final
{
	my ($id) = @_;
	return $node->safe_psql('postgres', "SELECT coalesce(uid_horizon(), 0) >= $id") eq 't';
}
sub becomes_final
{
	my ($id, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(poll_until(sub { is_final($id) }), $name);
}

# ---- who holds it back ----

# Its bound is the lowest there is, as nothing was drawn yet.
my $lock = session();
my $early = session();
$lock->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
$early->query(q{SET statement_timeout = '200ms'; SELECT uid_next()});
like($early->{stderr}, qr/statement timeout/, 'the first grant is late');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'), '0', 'a transaction that failed while it waited for the first grant holds nothing');
is($node->safe_psql('postgres', q{SELECT uid_horizon() BETWEEN uid_min(now() - interval '1 s') AND uid_max(clock_timestamp())}), 't', '... and readers go by the clock till then');
$lock->query_safe('COMMIT');
$early->{stderr} = '';
$_->quit foreach $lock, $early;
$node->safe_psql('other', 'CREATE EXTENSION uidgen');
my $first = $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id');
becomes_final($first, 'an id is final when its tick is over, though no other is drawn');
my $writer = session();
my $held = $writer->query_safe('BEGIN; INSERT INTO event DEFAULT VALUES RETURNING id');
my $later = $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id');
my $bystander = session();
$bystander->query_safe('BEGIN; SELECT count(*) FROM event');
cmp_ok($node->safe_psql('postgres', 'SELECT uid_horizon()'), '<', $held, 'an open transaction that drew an id holds it back');
is($node->safe_psql('postgres', "SELECT count(*) FROM event WHERE id > $first AND id <= uid_horizon()"), '0', '... and what was committed later waits');
my $pid = $writer->query_safe('SELECT pg_backend_pid()');
is($node->safe_psql('postgres', "SELECT pid, database, since < now(), id < $held, prepared IS NULL FROM uidgen.horizon_holders"), "$pid|postgres|t|t|t", '... and is shown');
like($node->safe_psql('postgres', 'SELECT horizon_lag FROM uidgen.status'), qr/^\d\d:/, '... and the lag');
cmp_ok($node->safe_psql('other', 'SELECT uid_horizon()'), '>=', $held, 'in another database it holds nothing back');
fails_with($node, 'SET ROLE nobody; SELECT * FROM uidgen.horizon_holders', '42501', qr/permission denied/, 'not everybody sees who it is');
fails_with($node, 'SET ROLE nobody; SELECT uidgen.accept_step()', '42501', qr/permission denied/, '... or accepts what was missed');
like($node->safe_psql('postgres', 'SET ROLE nobody; SELECT uid_horizon(), uid_hold(uid_next())'), qr/^\d+\|\d+$/, 'but everybody may read on and write');
$writer->query_safe('COMMIT');
becomes_final($later, 'it is committed: the horizon goes on');
is($node->safe_psql('postgres', "SELECT count(*) FROM event WHERE id > $first AND id <= uid_horizon()"), '2', '... with both rows');
is($bystander->query_safe('SELECT 1'), '1', 'a transaction that has drawn none does not hold it');
$bystander->query_safe('COMMIT');

foreach my $end ('ROLLBACK', 'COMMIT AND CHAIN', 'SELECT 1/0; ROLLBACK', 'SAVEPOINT a; SELECT uid_next(); ROLLBACK TO a; COMMIT')
{
	$writer->query_safe('BEGIN');
	my $id = $writer->query_safe('SELECT uid_next()');
	$writer->query($end);
	$writer->{stderr} = '';
	becomes_final($id, "ended by $end");
	$writer->query_safe('ROLLBACK') if $end =~ /CHAIN/;
}
$writer->query_safe('BEGIN; SELECT uid_next()');
kill 'TERM', $writer->query_safe('SELECT pg_backend_pid()');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM uidgen.horizon_holders'), 'and a session that is ended holds nothing');
$writer = session();

# ---- one answer for each snapshot ----

# A filter calls it for each row, an index condition once; both see what the snapshot sees.
my $reader = session();
my $id = $writer->query_safe('BEGIN; INSERT INTO event DEFAULT VALUES RETURNING id');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $said = $reader->query_safe('SELECT uid_horizon()');
cmp_ok($said, '<', $id, 'a snapshot');
$writer->query_safe('COMMIT');
becomes_final($id, 'a later one is told of the row');
is($reader->query_safe('SELECT uid_horizon()'), $said, '... and the former one is told what it was told before');
$reader->query_safe('COMMIT');
my $cursors = $node->safe_psql('postgres', 'SELECT count(*) FROM event');
$reader->query_safe('BEGIN; DECLARE one CURSOR FOR SELECT uid_horizon() FROM event');
my $one = $reader->query_safe('FETCH one');
$node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES');
$reader->query_safe('DECLARE two CURSOR FOR SELECT uid_horizon() FROM event; SELECT pg_sleep(0.01)');
cmp_ok($reader->query_safe('FETCH two'), '>', $one, 'a cursor with a later snapshot');
is($reader->query_safe('FETCH one'), $one, '... does not change the answer of the former one');
$reader->query_safe('COMMIT');

# In READ COMMITTED each statement is told anew, also where its snapshot is equal to the one before: of a transaction that has drawn
# and has no transaction id, no snapshot knows.  A loop in one statement has a snapshot for each turn.
my $looping = session();
$writer->query_safe('BEGIN; SELECT uid_next()');
$id = $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id');
my ($loop_pid) = $looping->query_safe('SELECT pg_backend_pid()');
$looping->query_until(qr/begins/, "\\echo begins\nDO 'BEGIN WHILE coalesce(uid_horizon(), 0) < $id LOOP PERFORM pg_sleep(0.01); END LOOP; END';\n\\echo 'has ended'\n");
ok($node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $loop_pid"), 'a loop that polls');
$reader->query_safe('BEGIN; DECLARE before CURSOR FOR SELECT uid_horizon() FROM generate_series(1, 2)');
$said = $reader->query_safe('FETCH before');
cmp_ok($said, '<', $id, 'a transaction without a transaction id holds it back');
$writer->query_safe('COMMIT');
ok(poll_until(sub { $reader->query_safe('SELECT uid_horizon()') >= $id }), 'it has ended: a reader that goes on in its transaction is told');
is($reader->query_safe('FETCH before'), $said, '... and what its cursor was told stays');
$reader->query_safe('COMMIT');
like($looping->query('SELECT 1'), qr/has ended/, '... and so is a loop in one statement');
$looping->quit;

like($node->safe_psql('postgres', 'SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id > 1 AND id <= uid_horizon() ORDER BY id LIMIT 10'),
	qr/Index Cond: \(\(id > '?1'?(?:::bigint)?\) AND \(id <= uid_horizon\(\)\)\)/, 'it is an index condition');

# A reader that has a transaction id itself leaves it out of its snapshot, and so must not take a later note for its own.
$writer->query_safe('BEGIN');
$id = $writer->query_safe('INSERT INTO event DEFAULT VALUES RETURNING id');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()');
$writer->query_safe('COMMIT');
$node->safe_psql('postgres', 'SELECT uid_horizon(); INSERT INTO event DEFAULT VALUES; SELECT uid_horizon()') foreach 1 .. 3;
my ($sees, $horizon) = split /\|/, $reader->query_safe("SELECT count(*), coalesce(uid_horizon(), 0) FROM event WHERE id = $id");
ok($sees == 1 || $horizon < $id, 'with a transaction id of its own: what it is told it sees');
$reader->query_safe('COMMIT');

# ---- ids of an earlier transaction ----

# An idle server does not lag, and whoever only looks at the lag is no reader.
my $idle = $node->safe_psql('postgres', 'SELECT uid_next()');
is($node->safe_psql('postgres', 'SELECT pg_sleep(0.01); SELECT horizon_lag FROM uidgen.status'), "\n00:00:00", 'nobody holds the horizon: no lag');
is($node->safe_psql('postgres', "SELECT uid_hold($idle)"), $idle, '... and to ask for it is no reading');
my $old = $node->safe_psql('postgres', 'SELECT uid_next()');
becomes_final($old, 'an id that no row has');
$node->safe_psql('postgres', 'SELECT uidgen.accept_step()');	# there was none
fails_with($node, "SELECT uid_hold($old)", '40001', qr/readers have passed the id $old/, 'readers have passed it: it cannot be stored any more');
$reader->query_safe('BEGIN');
my $fresh = $reader->query_safe('SELECT uid_next()');
$writer->query_safe("BEGIN; INSERT INTO event VALUES (uid_hold($fresh))");
$reader->query_safe('COMMIT');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
ok(!is_final($fresh), 'another transaction holds it');
$writer->query_safe('COMMIT');
becomes_final($fresh, '... and stores it');
# What the transaction has drawn itself is held, whatever readers have read meanwhile; what is refused holds nothing.
$writer->query_safe('BEGIN');
my $own = $writer->query_safe('SELECT uid_next()');
$node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES; SELECT pg_sleep(0.01), uid_horizon()') foreach 1 .. 2;
is($writer->query_safe("SELECT uid_hold($own)"), $own, 'an id of the same transaction can be held at any time');
$writer->query_safe(qq{DO \$\$ BEGIN PERFORM uid_hold(1); EXCEPTION WHEN serialization_failure THEN NULL; END \$\$});
is($node->safe_psql('postgres', 'SELECT count(*) FILTER (WHERE id > 1) FROM uidgen.horizon_holders'), '1', 'one that is refused holds nothing');
$writer->query_safe('COMMIT');
becomes_final($own, 'that transaction has ended');
$writer->query("SELECT uid_hold($own)");
like($writer->{stderr}, qr/readers have passed the id $own/, '... and in the next one of its session the id is as any other');
$writer->{stderr} = '';
$node->safe_psql('postgres', q{CREATE TABLE held (LIKE event INCLUDING ALL); CREATE TRIGGER hold_id BEFORE INSERT ON held FOR EACH ROW EXECUTE FUNCTION uid_hold_row('id')});
my $poller = IPC::Run::start([ $node->installed_command('psql'), '-Xq', '-d', $node->connstr('postgres') ], '<', \("SELECT uid_horizon();\n" x 3000), '>', \my $polled, '2>', \my $complained);
is($node->safe_psql('postgres', 'WITH new AS (INSERT INTO held SELECT FROM generate_series(1, 20000) RETURNING id) SELECT count(*) FROM new'), '20000', 'a trigger that holds each id, beside readers');
$poller->finish;

# In one transaction the lowest of all counts.
$reader->query_safe('BEGIN');
$fresh = $reader->query_safe('SELECT uid_next()');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
$writer->query_safe('BEGIN');
my $middle = $writer->query_safe('SELECT uid_next()');
$writer->query_safe("INSERT INTO event VALUES (uid_hold($fresh))");
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
$writer->query_safe('SELECT uid_hold(uid_next())');
$reader->query_safe('COMMIT');
ok(!is_final($fresh), 'an older id that is held after others are drawn, and newer ones after that');
$writer->query_safe('COMMIT');
becomes_final($middle, '... until the end');
fails_with($node, 'SELECT uid_hold(-1)', '22003', qr/does not fit the layout/, 'what is no id cannot be held');
is($node->safe_psql('postgres', 'SELECT uid_hold(NULL) IS NULL'), 't', 'nor can null');

# A function that is wrongly labelled draws in a parallel worker.
$node->safe_psql('postgres', q{CREATE FUNCTION wrongly() RETURNS bigint LANGUAGE sql PARALLEL SAFE VOLATILE AS 'SELECT uid_next()';
	CREATE TABLE numbers AS SELECT i FROM generate_series(1, 10000) AS i; ALTER TABLE numbers SET (parallel_workers = 2)});
$writer->query_safe(q{BEGIN; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL parallel_leader_participation = off});
like($writer->query_safe('EXPLAIN SELECT count(*) FROM numbers WHERE wrongly() > 0'), qr/Parallel/, 'a plan with workers');
my ($low) = $writer->query_safe('SELECT min(wrongly()) FROM numbers');
ok(!is_final($low), '... which hold it in the name of their leader');
$writer->query_safe('COMMIT');
becomes_final($low, '... until it ends');
$node->safe_psql('postgres', q{CREATE FUNCTION wrongly_read(int) RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN uid_horizon(); END'});
fails_with($node, q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
	SELECT count(*) FROM numbers WHERE wrongly_read(i) > 0}, '55000', qr/cannot be asked for in a parallel worker.*HINT:.*PARALLEL RESTRICTED/s, 'but a worker cannot ask for the horizon');

# ---- prepared transactions ----

$writer->query_safe('BEGIN');
$id = $writer->query_safe('INSERT INTO event DEFAULT VALUES RETURNING id');
my $began = $writer->query_safe('SELECT now()');
$writer->query_safe(q{PREPARE TRANSACTION 'drawn'});
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01)');
ok(!is_final($id), 'a prepared transaction holds it');
is($node->safe_psql('postgres', "SELECT pid IS NULL, database, since = '$began', id < $id, prepared FROM uidgen.horizon_holders"), 't|postgres|t|t|drawn', '... and is shown');
$writer->query_safe("BEGIN; INSERT INTO event VALUES (1); PREPARE TRANSACTION 'drew none'");
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'), '1', 'one that drew none does not');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'drew none'});
# There is room for all that can be prepared at a time.
$node->safe_psql('postgres', q{BEGIN; SELECT uid_next(); PREPARE TRANSACTION 'one of many'; COMMIT PREPARED 'one of many';} x 400);
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'), '1', 'those that have ended take no room');
$_->quit foreach $writer, $reader, $bystander;
my $pool = $node->safe_psql('postgres', 'SELECT uid_next()');
foreach my $granted ('nothing is granted yet', 'a grant is there, but nobody has drawn')
{
	$clock->under(sub { $node->restart });
	if ($granted =~ /there/)
	{
		$node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()');
		is($node->safe_psql('postgres', 'SELECT horizon_lag IS NULL FROM uidgen.status'), 't', 'of a prepared transaction from before a start nothing is known, so no lag');
	}
	fails_with($node, "SELECT uid_hold($pool)", '40001', qr/readers have passed/, "an id of before a start cannot be held, as readers may have passed it: $granted");
}
is($node->safe_psql('postgres', 'SELECT uid_horizon() IS NULL'), 't', 'of one from before a start nothing is known, so nothing can be said');
is($node->safe_psql('postgres', 'SELECT since IS NULL, id IS NULL, prepared FROM uidgen.horizon_holders'), 't|t|drawn', '... and it is shown');
my $there = $node->safe_psql('other', 'SELECT uid_horizon()');
cmp_ok($there, '>', 0, '... but in another database there is something to say');
my $elsewhere = $node->background_psql('other');
$elsewhere->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT');
$node->safe_psql('other', 'SELECT pg_current_xact_id()');
$node->safe_psql('postgres', q{DO 'BEGIN FOR i IN 1 .. 1100 LOOP PERFORM uid_horizon(); COMMIT; END LOOP; END'});
is($elsewhere->query_safe('SELECT uid_horizon()'), $there, '... which is not forgotten over a thousand calls without an answer');
$elsewhere->quit;
$node->safe_psql('postgres', q{COMMIT PREPARED 'drawn'});
becomes_final($id, 'it is committed');
$later = $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id');
becomes_final($later, 'and ids of this run are final after it');

# Somebody draws before anybody reads: the rest of the run is known.
$clock->under(sub { $node->restart });
($writer, $reader) = (session(), session());
$reader->query_safe('BEGIN');
$fresh = $reader->query_safe('SELECT uid_next()');
is($node->safe_psql('postgres', q{SELECT id > uid_min(clock_timestamp() - interval '1 hour') FROM uidgen.horizon_holders WHERE prepared IS NULL}), 't',
	'a transaction that had to wait for the first grant holds what it draws, and no more');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01); SELECT uid_next()');
is($writer->query_safe("SELECT uid_hold($fresh)"), $fresh, 'an id of this run can be held, long after others were drawn');
$reader->query_safe('COMMIT');
$_->quit foreach $writer, $reader;
$clock->under(sub { $node->restart });
$node->safe_psql('postgres', q{SELECT uid_next(); BEGIN; INSERT INTO event VALUES (2); PREPARE TRANSACTION 'drew none'});
ok($node->poll_query_until('postgres', 'SELECT uid_horizon() IS NOT NULL'), 'of what is prepared after a draw it is known that it drew none');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'drew none'});

# ---- the clock ----

my $before = $node->safe_psql('postgres', 'SELECT uid_horizon()');
$clock->step(-7200);
my $low_id;
ok(poll_until(sub { ($low_id) = $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id'); $low_id < $before }), 'the clock is set back: ids are lower');
fails_with($node, 'SELECT uid_horizon()', '55000', qr/readers that go on by id would miss rows.*DETAIL:.*up to the id \d+.*ids from \d+ on.*HINT:.*accept_step/s, 'readers are told that they would miss rows');
sub told_of
{
	return (sqlstate_of($node, 'SELECT uid_horizon()'))[1] =~ /up to the id (\d+) .* ids from (\d+) on/;
}
my ($to, $from) = told_of();
ok($from <= $low_id && $low_id <= $to, '... and which');
fails_with($node, 'SELECT count(*) FROM event WHERE id <= uid_horizon()', '55000', qr/would miss rows/, '... each time');
$node->safe_psql('postgres', 'SELECT uidgen.accept_step()');
becomes_final($low_id, 'the owner accepts it');
fails_with($node, "SELECT uid_hold(uid_min(now() - interval '1 day'))", '40001', qr/readers have passed/, '... and what readers had passed before the step stays so');
$clock->step(7200);
ok(poll_until(sub { $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id') > $before }), 'the clock is corrected');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.01), uid_horizon()');
$clock->step(-7200);
ok(poll_until(sub { $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id') < $before }), 'set back again');
fails_with($node, 'SELECT uid_horizon()', '55000', qr/would miss rows/, 'readers are told again');
cmp_ok((told_of())[1], '>', $low_id, '... not of what was accepted');
$node->safe_psql('postgres', 'SELECT uidgen.accept_step()');
$clock->step(-7200);
ok(poll_until(sub { $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id') < $low_id }), 'and once more, before anybody has read');
fails_with($node, 'SELECT uid_horizon()', '55000', qr/would miss rows/, '... and are told, too');
($to, $from) = told_of();
$clock->step(-7200);
ok(poll_until(sub { ($low_id) = $node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES RETURNING id'); $low_id < $from }), 'and once more, before it is accepted');
my ($to_then, $from_then) = told_of();
ok($from_then <= $low_id && $to_then == $to, '... and are told of all');
fails_with($node, "SELECT uidgen.accept_step($from)", '55000', qr/ids from $from_then on were.*accept_step\($from_then\)/s, '... and who accepts what was told before is told, too');
$node->safe_psql('postgres', "SELECT uidgen.accept_step($from_then); INSERT INTO event DEFAULT VALUES");
my $end = $node->safe_psql('postgres', 'SELECT uid_horizon()');
cmp_ok($end, '<', $before, '... and the horizon is where ids are');


# A transaction that is open over a step holds what it draws after it.
my $open = session();
$open->query_safe('BEGIN');
my $high_id = $open->query_safe('INSERT INTO event DEFAULT VALUES RETURNING id');
$clock->step(-7200);
ok(poll_until(sub { ($low_id) = $open->query_safe('INSERT INTO event DEFAULT VALUES RETURNING id'); $low_id < $high_id }), 'and again, while a transaction is open');
$node->safe_psql('postgres', 'SELECT uidgen.accept_step(); SELECT pg_sleep(0.01); INSERT INTO event DEFAULT VALUES');
ok(!is_final($low_id), '... which holds its lower ids, too');
$open->query_safe('COMMIT');
becomes_final($low_id, '... until it ends');
$open->quit;

# The clock was ahead when the server started, and is corrected before anybody draws: nobody was told of ids up to there.
$node->stop;
$clock->step(3600);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()');
$lock = session();
$lock->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
$clock->step(-3600);
$early = session();
$pid = $early->query_safe('SELECT pg_backend_pid()');
$early->query_until(qr/draws/, "\\echo draws\nSELECT uid_next();\n");
ok($node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid"), 'the first draw waits for the grant of the true time');
$lock->query_safe('COMMIT');
($low_id) = $early->query_safe('SELECT uid_next()') =~ /(\d+)\s*\z/;
cmp_ok($node->safe_psql('postgres', "SELECT extract(epoch FROM uid_timestamp($low_id) - clock_timestamp())"), '<', 1800, '... and has it');
becomes_final($low_id, '... and readers miss nothing');
$_->quit foreach $lock, $early;

# ---- where there is none ----

$node->safe_psql('postgres', q{BEGIN; INSERT INTO event DEFAULT VALUES; PREPARE TRANSACTION 'before a promotion'});
$node->stop;
if ($node->pg_version < 17)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
	$node->start;
	fails_with($node, 'SELECT uid_horizon()', '55000', qr/must be loaded via shared_preload_libraries/, 'without the preload there is none');
	is($node->safe_psql('postgres', 'SELECT horizon_lag IS NULL FROM uidgen.status'), 't', '... and no lag');
	$node->stop;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen'");
}
append_to_file($node->data_dir . '/standby.signal', '');
$node->start;
fails_with($node, 'SELECT uid_horizon()', '55000', qr/not known during recovery.*HINT:.*primary/s, 'nor in recovery');
fails_with($node, "SELECT uid_hold($low_id)", '25006', qr/cannot be held during recovery/, '... where no id is held, either');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'), '0', '... and nobody is seen');
is($node->safe_psql('postgres', 'SELECT horizon_lag IS NULL FROM uidgen.status'), 't', '... and no lag');
my $standby_snapshot = session();
$standby_snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT');
$node->promote;
$standby_snapshot->query('SELECT uid_horizon()');
like($standby_snapshot->{stderr}, qr/needs a statement with a snapshot of this server/, 'nor for a snapshot of before a promotion');
$standby_snapshot->{stderr} = '';
$standby_snapshot->quit;
is($node->safe_psql('postgres', 'SELECT uid_horizon() IS NULL, (SELECT prepared FROM uidgen.horizon_holders)'), 't|before a promotion', 'a promoted server knows of what was prepared before, whoever asks first');
$node->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES; SELECT pg_sleep(0.01)');
is($node->safe_psql('postgres', 'SELECT uid_horizon() IS NULL'), 't', '... also when ids have been drawn');
$node->safe_psql('postgres', q{COMMIT PREPARED 'before a promotion'});
# Ids of a grant that begins above the former one are ahead of the clock, which the horizon never passes.
is($node->safe_psql('postgres', 'SELECT uid_timestamp(uid_horizon()) <= clock_timestamp()'), 't', '... until it ends');

done_testing();
