# What the owner of a registry calls in a transaction that goes on keeps nobody from drawing: each of the owner's functions
# is held open while the keeper renews three times, of a local registry and of a fleet's.  A function that would have to
# lock what servers wait for is refused there.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

my $LAYOUT = 'time:41:1ms worker:3 sequence:12 epoch:2025-01-01';

# So many draws that the keeper has renewed the grant three times; returns what went wrong.
sub draws
{
	my ($node, $known) = @_;
	my $wanted = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status') + 3;
	my $said;
	poll_until(sub {
			(undef, undef, $said) = try_psql($node, q{SET uidgen.wait_timeout = '10s'; SELECT uid_next(), uid_segment_next('s') FROM generate_series(1, 20)});
			$said =~ /ERROR/ || $node->safe_psql('postgres', "SELECT renewals >= $wanted FROM uidgen.status") eq 't';
		}) or return 'no renewal';
	return $said;
}

# Two tests: a call in a transaction that goes on, and what is drawn beside it.
sub held
{
	my ($registry, $node, $call, $refused) = @_;
	my $session = $registry->background_psql('postgres', on_error_stop => 0);
	$session->query('BEGIN');
	# A block is seen if it has written.
	$session->query('SELECT pg_current_xact_id()') if $refused;
	$session->query("SELECT $call");
	if ($refused)
	{
		like($session->{stderr}, $refused, "$call is refused in a block");
	}
	else
	{
		unlike($session->{stderr}, qr/ERROR/, "$call is called in a block");
	}
	$session->{stderr} = '';
	is(draws($node), '', '... and ids and numbers are drawn beside it');
	$session->query('ROLLBACK');
	$session->quit;
	return;
}
my $BLOCK = qr/ERROR: .*cannot be called in a transaction block/s;

# ---- a local registry ----

my $alone = uidgen_node('alone', "uidgen.layout = '$LAYOUT'", 'uidgen.window = 200ms', "uidgen.segment_duration = '1s'");
$alone->start;
$alone->safe_psql('postgres', "CREATE EXTENSION uidgen; SELECT uid_next(); SELECT uidgen_registry.create_segment('s', step => 20)");
my $own = '(SELECT worker_id FROM uidgen.status)';
held($alone, $alone, @$_) foreach
	[ 'uidgen_registry.reserve_backfill(uidgen.backfill_home())', $BLOCK ],
	[ "uidgen_registry.forget_worker($own)", $BLOCK ],
	[ 'uidgen_registry.end_registry()', $BLOCK ],
	[ "uidgen_registry.create_segment('t')" ],
	[ "uidgen_registry.change_segment('s', 10)", $BLOCK ],
	[ "uidgen_registry.raise_segment('s', 100)", $BLOCK ],
	[ "uidgen_registry.drop_segment('s')", $BLOCK ],
	[ "uidgen_registry.change_registry('1 min')", $BLOCK ],
	[ 'uidgen_registry.share_registry()', qr/ERROR: .*the registry is in use/s ],
	[ 'uidgen.use_layout()' ];

# A block that has written nothing so far cannot be seen: it ends when it is idle.  (On a machine that takes a second from one statement to
# the next, it is seen.)
{
	my $session = $alone->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query("BEGIN; SELECT uidgen_registry.forget_worker($own)");
	my $seen = $session->{stderr} =~ $BLOCK;
	is(draws($alone), '', 'ids and numbers are drawn beside a block that could not be seen');
	ok($seen || $alone->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), '... which has ended');
	eval { $session->quit };
}

# ---- a fleet ----

my $registry = fleet_registry('registry', layout => $LAYOUT);
$registry->safe_psql('postgres', "CREATE ROLE one LOGIN; SELECT uidgen_registry.grant_node('one'); SELECT uidgen_registry.create_segment('s', step => 20)");
my $node = fleet_node('node', hosts($registry) . ' user=one', "uidgen.layout = '$LAYOUT'", 'uidgen.window = 200ms', "uidgen.segment_duration = '1s'");
$node->safe_psql('postgres', 'SELECT uid_next()');
$own = $node->safe_psql('postgres', 'SELECT worker_id FROM uidgen.status');
my $free = ($own + 1) % 8;
held($registry, $node, @$_) foreach
	[ "uidgen_registry.reserve_backfill('1/1/2/3/0123456789abcdef/0123456789abcdef/4/5')", $BLOCK ],
	[ "uidgen_registry.keep_worker(0, $free)" ],
	[ "uidgen_registry.keep_worker(0, $own)" ],
	[ "uidgen_registry.import_worker(0, $free, now())" ],
	[ "uidgen_registry.forget_worker($own)", $BLOCK ],
	[ "uidgen_registry.import_segment(to_jsonb(s) || '{\"name\": \"u\"}') FROM uidgen_registry.segment AS s" ],
	[ 'uidgen_registry.end_quarantine()' ],
	[ 'uidgen_registry.end_registry()' ],
	[ 'uidgen_registry.take_over_registry()', $BLOCK ],
	[ "uidgen_registry.change_registry(max_lead => '3 min')", $BLOCK ],
	[ "uidgen_registry.create_segment('t')" ],
	[ "uidgen_registry.change_segment('s', 10)", $BLOCK ],
	[ "uidgen_registry.raise_segment('s', 100)", $BLOCK ],
	[ "uidgen_registry.drop_segment('s')", $BLOCK ],
	[ "uidgen_registry.revoke_node('one')" ],
	[ "uidgen_registry.grant_node('one')" ];

done_testing();
