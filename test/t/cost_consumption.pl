# Proves that uidgen takes little of what a server has: no connection that clients
# could use up, no more positions than ids when each comes from a session of its
# own, no wait for a renewal, which comes once a window and keeps no memory when ids are
# drawn by the million, and little room for the registry when an old snapshot keeps every
# version of its row.
#
#	UIDGEN_BATCH=1000000 ./check test/t/cost_consumption.pl	# not a hundred million

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use Time::HiRes qw(time);
use UidgenTest;

# ---- a connection for each id ----

# The clock stands still, so that the position is moved by calls alone.
my $node = uidgen_node('connections');
my $clock = FakeClock->new($node);
$clock->stop($clock->now);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my @ids = split /\n/, $node->safe_psql('postgres', "SELECT uid_next();\n\\c\n" x 200);
is(scalar @ids, 200, 'a connection for each id: there are as many ids');
is($ids[-1] - $ids[0], 199, 'and they are consecutive');

# ---- renewals ahead of need ----

# A window has ten seconds, and is renewed when five are left.
my ($renewed, $waits) = split /\|/, $node->safe_psql('postgres', 'SELECT renewals, waits FROM uidgen.status');
foreach (1 .. 5)
{
	$clock->step(6);
	$node->safe_psql('postgres', 'SELECT uid_next()');
	$renewed++;
	ok($node->poll_query_until('postgres', "SELECT renewals = $renewed FROM uidgen.status"),
		'a call that comes near the end of the grant has it renewed');
}
is($node->safe_psql('postgres', 'SELECT waits FROM uidgen.status'), $waits, 'and no call waits for that');
$node->stop;

# ---- no connections left ----

# A grant is over in a moment, so the sessions need the keeper all the time.
$node = uidgen_node('full', 'max_connections = 6', 'superuser_reserved_connections = 0', 'max_wal_senders = 0',
	'uidgen.window = 10ms');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

# What a new session is told.
sub refusal
{
	return ($node->psql('postgres', 'SELECT 1'))[2];
}

# The session of a psql that has ended may keep its place for a moment.
my @sessions;
poll_until(sub { push @sessions, eval { $node->background_psql('postgres') } // (); return @sessions == 6 }) or die 'there are no six connections';
like(refusal(), qr/FATAL:  sorry, too many clients already/, 'all connections are used up');

# Ids of each session in turn, until so many more renewals; false if they end.
my @drawn;

sub goes_on
{
	my ($count) = @_;
	my $STATUS = 'SELECT renewals FROM uidgen.status';
	my $renewals = $sessions[0]->query_safe($STATUS);
	return poll_until(
		sub {
			push @drawn, map { $_->query_safe('SELECT uid_next()') } @sessions;
			return $sessions[0]->query_safe($STATUS) >= $renewals + $count;
		});
}
ok(goes_on(10), 'ids of open sessions go on, renewal after renewal');
foreach (1 .. 3)
{
	ok(end_keeper($node), 'the keeper ends, another begins');
	ok(goes_on(10), 'and ids go on');
}
like(refusal(), qr/FATAL:  sorry, too many clients already/, 'all that without a free connection');
is(repeated(\@drawn), 0, 'no id was issued twice');
is(scalar(grep { $drawn[$_] <= $drawn[ $_ - 1 ] } 1 .. $#drawn), 0, 'and all are in order');
$_->quit foreach @sessions;
$node->stop;

# ---- a large batch ----

# 256 ids a tick: a batch runs far ahead of the clock, where it may.
my $batch = $ENV{UIDGEN_BATCH} // 100_000_000;
my $window = 1000;
$node = uidgen_node('batch', "uidgen.window = ${window}ms", "uidgen.max_burst = '1h'",
	"uidgen.layout = 'time:41:1ms worker:10 sequence:8 epoch:2025-01-01'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $renewals = $node->safe_psql('postgres', 'SELECT count(uid_next()), min(renewals) FROM uidgen.status') =~ s/.*\|//r;
my $started = time();
my ($count, $first, $last) = split /\|/,
  $node->safe_psql('postgres', "SELECT count(*), min(id), max(id) FROM (SELECT uid_next_batch($batch) AS id) AS batch");
my $took = time() - $started;
$renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status') - $renewals;
my $ticks = ($last >> 18) - ($first >> 18);
is($count, $batch, "a batch of $batch has as many ids");
cmp_ok($ticks, '>=', int($batch / 256) - 1, 'they are of as many ticks as they need');
note(sprintf '%d ids in %.1f s: %d ticks, which are %.1f windows: %d renewals', $batch, $took, $ticks, $ticks / $window, $renewals);
# With the padding of 50 % a renewal adds half a window or more, and a window at
# most; a few may come too early.
cmp_ok($renewals, '<=', 3 * $ticks / $window + 10, 'renewals grow by windows, not by ticks');
cmp_ok($renewals, '>=', $ticks / ($window + 1) - 2, 'and grant no more than that');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', 'all of one worker id');

# It writes that to the log when it is asked.
my $log = -s $node->logfile;
$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts(pid) FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'");
my $memory;
ok(poll_until(sub { ($memory) = log_since($node, $log) =~ / uidgen keeper: (\d+) total in / }), 'the keeper says how much memory it has');
cmp_ok($memory, '<', 100_000, 'that does not grow with the renewals');
$node->stop;

# ---- an old snapshot ----

# It sees the first version of the registry's row, so none of the later ones can
# be removed.
$node = uidgen_node('snapshot', 'uidgen.window = 1ms');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
$node->safe_psql('postgres', <<'SQL');
SELECT uid_next();

-- Draws ids until so many more renewals.
CREATE PROCEDURE draw(wanted bigint) LANGUAGE plpgsql AS $$
DECLARE
	enough bigint;
BEGIN
	SELECT renewals + wanted INTO enough FROM uidgen.status;
	LOOP
		PERFORM count(uid_next()) FROM generate_series(1, 1000);
		EXIT WHEN (SELECT renewals >= enough FROM uidgen.status);
	END LOOP;
END
$$;
SQL
my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $seen = $old->query_safe('SELECT granted_until FROM uidgen_registry.worker_node');
my ($part, @took) = (500);
foreach (1 .. 6)
{
	my $started = time();
	$node->safe_psql('postgres', "SET uidgen.wait_timeout = '1h'; CALL draw($part)");
	push @took, (time() - $started) / $part;
}
is($old->query_safe('SELECT granted_until FROM uidgen_registry.worker_node'), $seen, 'an old snapshot sees what it saw');
my $size = $node->safe_psql('postgres', "SELECT pg_total_relation_size('uidgen_registry.worker_node')");
note(sprintf 'an old snapshot, %d renewals: the registry has %d kB; a renewal with the ids of a tick took at first %.2f ms, at last %.2f ms',
	$part * @took, $size / 1024, 1000 * $took[0], 1000 * $took[-1]);
cmp_ok($size, '<', 2 * 1024 * 1024, 'after thousands of renewals the registry is small');
cmp_ok($took[-1], '<', 0.1 + $took[0], 'and a renewal is not slow');
is($node->safe_psql('postgres', 'SELECT failures FROM uidgen.status'), '0', 'none has failed');
$old->query_safe('COMMIT');
$old->quit;
$node->stop;

done_testing();
