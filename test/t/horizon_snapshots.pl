# Which reading counts for which snapshot.  The reading that a call of uid_horizon() makes is of no use for its statement once a
# transaction has ended since the statement's snapshot, so the answer is the newest of the former readings that count: exactly that one.
# Here it is known which, case by case; horizon_readers has readers in the thousands, and does not notice one that lags.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Time::HiRes 'time';
use UidgenTest;

# Some thousand transaction ids before a wraparound.  Nobody answers for a synchronous standby.
my $CONNECTIONS = 12;
my $WRAP = 2**32;
my $next = $WRAP - 3000;
my $node = uidgen_node('main', "max_connections = $CONNECTIONS", 'max_prepared_transactions = 2', 'autovacuum = off', "uidgen.window = '5min'",
	'wal_level = replica', 'max_wal_senders = 1', 'synchronous_commit = local', "synchronous_standby_names = 'nobody'");
# What initdb has written with transaction ids that would now be those of the future.
$node->start;
$node->safe_psql('postgres', 'VACUUM FREEZE pg_database');
$node->stop;
command_ok([ 'pg_resetwal', '-u', $next - 1000, '-x', $next, $node->data_dir ], 'transaction ids are skipped');
# A page of the commit log has 8192 * 4 of them, a file 32 pages.
append_to_file(sprintf('%s/pg_xact/%04X', $node->data_dir, $next / (8192 * 4 * 32)), "\0" x (8192 * 32));
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE TABLE event (id bigint DEFAULT uid_next()); CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION uidgen');

my @sessions;

sub session
{
	my ($database) = @_;
	push @sessions, $node->background_psql($database // 'postgres', on_error_stop => 0);
	return $sessions[-1];
}

# By their order, $preparer is neither the first nor the last of the processes that have transaction ids.
my ($notes, $reader, $second, $writer, $one, $preparer, $other) = map { session() } 1 .. 7;

# What a session is told; 0: nothing.
sub told
{
	my ($session) = @_;
	return $session->query_safe('SELECT coalesce(uid_horizon(), 0)');
}

# A reading, the first in its millisecond.
sub reading
{
	my ($session) = @_;
	$session->query_safe(q{DO 'BEGIN PERFORM pg_sleep(0.002); END'});
	return told($session);
}

# One that is beyond all ids that were drawn before.
sub later_reading
{
	my ($session, $id) = @_;
	$id //= $session->query_safe('SELECT uid_next()');
	return poll_until(sub { my $said = reading($session); $said >= $id && $said }) || die "the horizon does not reach $id";
}

sub snapshot
{
	my ($session) = @_;
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT');
	return;
}

# From here on, what a session reads does not count for its snapshot.
sub end_a_transaction
{
	$writer->query_safe('SELECT pg_current_xact_id()');
	return;
}

sub begin_with_id
{
	$_->query_safe('BEGIN; SELECT pg_current_xact_id()') foreach @_;
	return;
}

# ---- readings of others ----

my $id = $notes->query_safe('SELECT uid_next()');
my $said = reading($notes);
cmp_ok($said, '>=', $id, 'an id whose tick is over is final');
snapshot($reader);
end_a_transaction();
is(told($reader), $said, 'a snapshot goes by the reading of before it, though that is the only one and was made by another session');
$reader->query_safe('COMMIT');

$said = later_reading($notes);
snapshot($reader);
end_a_transaction();
cmp_ok(later_reading($notes), '>', $said, 'a reading that is later than the snapshot');
$reader->query_safe('SELECT pg_current_xact_id()');
is(told($reader), $said, '... does not count; nor does the transaction id that the reader gets meanwhile');
$reader->query_safe('COMMIT');

# ---- the same xmax ----

# The ids of these two are below one that has been completed: when they end, no xmax changes.
begin_with_id($one);
$id = $writer->query_safe('BEGIN; INSERT INTO event DEFAULT VALUES RETURNING id');
$other->query_safe('SELECT pg_current_xact_id()');
$said = reading($notes);
cmp_ok($said, '<', $id, 'an open transaction holds the horizon');
snapshot($reader);
$writer->query_safe('COMMIT');
later_reading($notes, $id);
is($reader->query_safe("SELECT count(*) FROM event WHERE id = $id"), '0', 'it ended after a snapshot with the same xmax, which does not see its row');
is(told($reader), $said, '... and is not told of it');
$_->query_safe('COMMIT') foreach $reader, $one;

# A snapshot leaves out its own session's id.
begin_with_id($reader);
$id = $writer->query_safe('BEGIN; INSERT INTO event DEFAULT VALUES RETURNING id');
$other->query_safe('SELECT pg_current_xact_id()');
$said = reading($notes);
$reader->query_safe("DECLARE c CURSOR FOR SELECT coalesce(uid_horizon(), 0), (SELECT count(*) FROM event WHERE id = $id)");
$writer->query_safe('COMMIT');
later_reading($notes, $id);
is($reader->query_safe('FETCH c'), "$said|0", 'likewise where the reader has a transaction id below xmax');
$reader->query_safe('COMMIT');

# During PREPARE, a snapshot has an id twice, here while it waits for a standby.
foreach my $others ([], [ $one, $other ])
{
	my $beside = sprintf '%d others', scalar @$others;
	begin_with_id($preparer, @$others);
	$id = $writer->query_safe('BEGIN; INSERT INTO event DEFAULT VALUES RETURNING id');
	$second->query_safe('SELECT pg_current_xact_id()');
	$said = reading($notes);
	snapshot($reader);
	$writer->query_safe('COMMIT');
	my $pid = $preparer->query_safe('SET LOCAL synchronous_commit = on; SELECT pg_backend_pid()');
	$preparer->query_until(qr/begins/, "\\echo begins\nPREPARE TRANSACTION 'waits';\n");
	ok(poll_until(sub { $notes->query_safe("SELECT wait_event FROM pg_stat_activity WHERE pid = $pid") eq 'SyncRep' }), "PREPARE beside $beside waits for a standby");
	later_reading($notes, $id);
	is(told($reader), $said, '... and its transaction counts once');
	$notes->query_safe("SELECT pg_cancel_backend($pid)");
	$preparer->query('SELECT');
	like($preparer->{stderr}, qr/canceling wait for synchronous replication/, '... until it no longer waits');
	$preparer->{stderr} = '';
	$preparer->query_safe(q{ROLLBACK PREPARED 'waits'});
	$_->query_safe('COMMIT') foreach $reader, @$others;
}

# ---- over a wraparound ----

$said = later_reading($notes);
snapshot($reader);
$writer->query_safe("DO 'BEGIN WHILE pg_current_xact_id()::text::bigint < $WRAP + 100 LOOP COMMIT; END LOOP; END'");
cmp_ok(later_reading($notes), '>', $said, 'transaction ids have begun anew');
is(told($reader), $said, 'a snapshot of before goes by a reading of before');
$reader->query_safe('COMMIT');
snapshot($reader);
$said = told($reader);
cmp_ok(later_reading($notes), '>', $said, 'a reading after the wraparound');
is(told($reader), $said, '... for a snapshot that was told before');
$reader->query_safe('COMMIT');

# ---- several snapshots in a transaction ----

foreach my $time ('', ', in the next transaction, too')
{
	begin_with_id($one, $other);
	end_a_transaction();
	later_reading($notes);
	$reader->query_safe('BEGIN');
	my @said;
	foreach my $cursor ('a', 'b', 'c')
	{
		$reader->query_safe("DECLARE $cursor CURSOR FOR SELECT uid_horizon() FROM generate_series(1, 3)");
		push @said, $reader->query_safe("FETCH $cursor");
		$_->query_safe('COMMIT') foreach $cursor eq 'a' ? $one : $cursor eq 'b' ? $other : ();
		later_reading($notes);
	}
	cmp_ok($said[0], '<', $said[1], "one and the same xmax: fewer are running, and a later snapshot is told more$time");
	cmp_ok($said[1], '<', $said[2], "... and more, when nobody is$time");
	is_deeply([ map { $reader->query_safe("FETCH $_") } 'a', 'b', 'c' ], \@said, "... each what it was told before$time");
	$reader->query_safe('COMMIT');
}

# ---- how far back readings go ----

# The first of a second is kept longest, for each database; and a session's own last one.
$clock->pass(10);
my $elsewhere = session('other');
later_reading($elsewhere);
my $first = later_reading($notes);
my $own = later_reading($reader);
cmp_ok($own, '>', $first, 'two readings, and one in another database before');
snapshot($_) foreach $reader, $second;
end_a_transaction();
later_reading($notes);
$notes->query_safe(q{DO 'BEGIN FOR i IN 1 .. 1100 LOOP PERFORM pg_sleep(0.001); PERFORM uid_horizon(); COMMIT; END LOOP; END'});
is(told($reader), $own, 'a thousand readings later, in as many milliseconds, its own last one counts');
like(told($second), qr/^(?:$first|$own)$/, '... and for another session the first of a second');
$_->query_safe('COMMIT') foreach $reader, $second;

# In a millisecond one is kept, however many there are; unless it takes so long that all is forgotten.
my $latest;
poll_until(
	sub {
		my $began = time;
		$latest = later_reading($notes);
		snapshot($second);
		end_a_transaction();
		$notes->query_safe(q{DO 'BEGIN FOR i IN 1 .. 600 LOOP PERFORM pg_sleep(0.001); FOR j IN 1 .. 4 LOOP PERFORM uid_horizon(); COMMIT; END LOOP; END LOOP; END'});
		$said = told($second);
		my $took = time - $began;
		$second->query_safe('COMMIT');
		return $said == $latest || $took < 1;
	});
is($said, $latest, 'four in each of 600 milliseconds later, the last one before the snapshot counts');

# Likewise where another database has some in the same milliseconds; unless it takes so long that all is forgotten.
my $reads = q{DO 'DECLARE began timestamptz := clock_timestamp();
	BEGIN WHILE clock_timestamp() < began + interval ''300 ms'' LOOP PERFORM uid_horizon(); COMMIT; END LOOP; END'};
my $fast = poll_until(
	sub {
		later_reading($notes);
		my $began = time;
		$latest = later_reading($notes);
		snapshot($second);
		end_a_transaction();
		$elsewhere->query_until(qr/begins/, "\\echo begins\n$reads;\n");
		$notes->query_safe($reads);
		$said = told($second);
		my $took = time - $began;
		$second->query_safe('COMMIT');
		$elsewhere->query_safe('SELECT');
		return $said == $latest || $took < 0.45;
	});
ok($fast && $said == $latest, '... also beside those in another database') || diag "$said, not $latest";

# ---- every process ----

session() until @sessions == $CONNECTIONS;
foreach my $asks (0, $CONNECTIONS - 1)
{
	my @holders = grep { $_ != $sessions[$asks] && $_ != $elsewhere } @sessions;
	# Each reading ends a tick, so that each holds another one.
	my @ids = map { reading($sessions[$asks]); $_->query_safe('BEGIN; SELECT uid_next()') } @holders;
	my @seen;
	foreach my $i (0 .. $#holders)
	{
		push @seen, $i if reading($sessions[$asks]) >= $ids[$i];
		$holders[$i]->query_safe('COMMIT');
		later_reading($sessions[$asks], $ids[$i]);
	}
	is("@seen", '', "each of all processes holds the horizon, asked by process $asks");
}

done_testing();
