# A shutdown never waits for uidgen: not under load, not for a lock that outlives
# every session, not for a standby that is dead.  What was not used is handed
# back wherever that can be written.  pg_regress cannot stop its server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use List::Util qw(max min);
use Time::HiRes qw(time);
use UidgenTest;

# In seconds, on a slow machine; pg_ctl itself gives up after 60.
my $LIMIT = 40;

# A grant of an hour makes it plain whether the rest was handed back.
my $node = uidgen_node('main', 'uidgen.window = 1h', 'max_prepared_transactions = 1',
	'wal_level = replica', 'max_wal_senders = 1');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my @all;

sub stop_within_limit
{
	my ($mode, $name) = @_;
	my $start = time();
	my $stopped = $node->stop($mode, fail_ok => 1);
	ok($stopped && time() - $start < $LIMIT, "$name: the server stops");
	return if $stopped;
	$node->stop('immediate');
}

# What the registry says after a stop, as (handed back, at or after the last id).
sub released
{
	return $node->safe_psql('postgres', 'SELECT released, granted_until >= ' . (max(@all) >> 22) . ' FROM uidgen_registry.worker_node');
}

sub draw_above
{
	my ($name) = @_;
	my @new = split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 100)');
	cmp_ok(min(@new), '>', max(@all), "$name: ids go on");
	push @all, @new;
}

# ---- under load ----

foreach my $mode ('fast', 'fast', 'smart')
{
	my @drawings = map { start_drawing($node) } 1 .. 3;
	ok(await_drawing($_, 300), "$mode: ids are drawn") foreach @drawings;
	# A smart one waits for the sessions to end.
	push @all, map { @{ stop_drawing($_) } } @drawings if $mode eq 'smart';
	stop_within_limit($mode, $mode);
	push @all, map { @{ stop_drawing($_) } } @drawings if $mode ne 'smart';
	is(repeated(\@all), 0, "$mode: no id was issued twice");
	$node->start;
	is(released(), 't|t', "$mode: the grant was handed back, and nothing that was issued");
	draw_above($mode);
}

# ---- a dead standby ----

$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
$node->restart;
draw_above('a synchronous standby that is dead');
stop_within_limit('fast', 'a synchronous standby that is dead');
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->start;
is(released(), 't|t', 'a synchronous standby that is dead: the grant was handed back');
draw_above('without the standby');

# ---- a lock ----

# The lock of a prepared transaction is the worst case: no session has it.  Then nothing
# can be handed back.
$node->safe_psql('postgres', "BEGIN; LOCK TABLE uidgen_registry.worker_node; PREPARE TRANSACTION 'forgotten'");
stop_within_limit('fast', 'a locked registry');
$node->start;
$node->safe_psql('postgres', "ROLLBACK PREPARED 'forgotten'");
is(released(), 'f|t', 'a locked registry: nothing was handed back');
draw_above('a locked registry');

# While the keeper, just started, waits for the lock.
$node->restart;
$node->safe_psql('postgres', "BEGIN; LOCK TABLE uidgen_registry.worker_node; PREPARE TRANSACTION 'forgotten'");
my $drawing = start_drawing($node);
ok( $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted"),
	'the keeper waits for a lock');
stop_within_limit('fast', 'a keeper that waits for a lock');
is_deeply(stop_drawing($drawing), [], 'no id was issued');
$node->start;
$node->safe_psql('postgres', "ROLLBACK PREPARED 'forgotten'");
draw_above('a keeper that waits for a lock');
is(repeated(\@all), 0, scalar(@all) . ' ids, none twice');

done_testing();
