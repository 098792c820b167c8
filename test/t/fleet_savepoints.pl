# A node's role that makes its call within a savepoint, and releases that: the row's xmax is then a subtransaction, which
# has no lock of its own in pg_locks any more.  What looks for the holder there does not find it.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

my $LAYOUT = 'time:41:1ms worker:2 sequence:12 epoch:2025-01-01';
my $MAX = '9223372036854775807';
my $NOW = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1735689600000)';
my $registry = fleet_registry('registry', layout => $LAYOUT);
$registry->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT uidgen_registry.grant_node('$_')") foreach qw(hostile one);

sub hold
{
	my ($call, $plain) = @_;
	my $session = $registry->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'hostile' ]);
	# In one message, since a slow machine may need longer for the next one than a call allows.
	$session->query($_) foreach 'BEGIN', join(' \\; ', $plain ? $call : ('SAVEPOINT a', $call, 'RELEASE a'), 'SET LOCAL idle_in_transaction_session_timeout = 0');
	return $session;
}

sub let_go
{
	my ($session) = @_;
	$registry->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'hostile'});
	eval { $session->quit };
	return;
}

# ---- the owner ----

my $session = hold("SELECT done FROM uidgen_registry.node_import(0, '{}', '{}', $MAX)");
my (undef, undef, $err) = try_psql($registry, q{SET statement_timeout = '1min'; SELECT uidgen_registry.end_quarantine()});
unlike($err, qr/ERROR/, 'the owner ends the quarantine, and the session that is in the way');
let_go($session);

# Where a call looks at all worker ids, it locks the queue in a block with an exception of its own: no savepoint is needed.
my $numbers = layout_arguments($registry);
$session = hold("SELECT worker FROM uidgen_registry.node_acquire('hostile', $numbers, 0, -1, 'reuse', '{}', -1, -1, 1, 0, 10000, $MAX, $MAX, 'h', 1, 1)", 1);
(undef, undef, $err) = try_psql($registry, q{SET statement_timeout = '1min'; SELECT uidgen_registry.end_quarantine()});
unlike($err, qr/ERROR/, 'the same where a node has acquired, without a savepoint');
let_go($session);

# ---- a node that begins ----

# All four worker ids ended long ago; the one that ended first is locked.
$registry->safe_psql('postgres', by_hand("INSERT INTO uidgen_registry.worker_node
	SELECT 0, i, 'h', 1, 1, '2026-01-01', '2026-01-01', '2026-01-01', 'old ' || i, i + 1, 1000 + i, false, 1 FROM generate_series(0, 3) AS i"));
$session = hold("SELECT done FROM uidgen_registry.node_import(0, '{0}', ARRAY[$NOW], $MAX)");
my $node = fleet_node('one', hosts($registry) . ' user=one', "uidgen.layout = '$LAYOUT'");
(undef, undef, $err) = try_psql($node, q{SET uidgen.wait_timeout = '1min'; SELECT uid_next()});
unlike($err, qr/ERROR/, 'a node that begins takes another worker id than the one that is locked');
let_go($session);

# ---- a node that renews ----

ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), 'nothing is locked: ids are drawn');
$registry->safe_psql('postgres', by_hand("UPDATE uidgen_registry.worker_node SET token = 4711, granted_until = $NOW + 3000 WHERE worker_id = 3"));
my $until = $registry->safe_psql('postgres', 'SELECT granted_until FROM uidgen_registry.worker_node WHERE worker_id = 3');
$session = hold("SELECT last_tick FROM uidgen_registry.node_renew(0, 3, 4711, $until, 1, 0, 10000, $MAX, $MAX)");
my $log = -s $registry->logfile;
my ($state, $text) = sqlstate_of($registry, "SET log_lock_waits = on; SET deadlock_timeout = '1ms'; SET SESSION AUTHORIZATION one; SELECT last_tick FROM uidgen_registry.node_renew(0, 3, 4711, $until, 2, 0, 10000, $MAX, $MAX)");
like($text, qr/worker id 3 is locked/, 'a node whose row is locked is told so');
unlike(log_since($registry, $log), qr/still waiting for/, '... without a wait for its lock');
let_go($session);

done_testing();
