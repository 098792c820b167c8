# Which worker id a server takes: a fixed one, one of its datacenter, a fresh one
# for each start, the only one of a layout without a worker field; and the errors when
# none is left, or another instance has it.  pg_regress cannot restart its server.
# Promise: P6
# Kills: src/ids/waiting.c report_failure: bool show_detail = has_detail && may_see_details(); => bool show_detail = has_detail || may_see_details();

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', "uidgen.wait_timeout = '1h'", "include_if_exists = 'more.conf'");
my $conf = $node->data_dir . '/more.conf';
my $registry = 'postgres';
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

# Start the server again with these lines in its configuration.
sub restart_with
{
	unlink $conf;
	append_to_file($conf, join("\n", "uidgen.database = '$registry'", @_) . "\n");
	$node->restart;
	if (grep { /^uidgen\.layout/ } @_)
	{
		$node->safe_psql('postgres', 'SELECT uidgen.use_layout()');
	}
}

# From here on, another database is the registry.
sub new_registry
{
	($registry) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $registry");
}

sub worker
{
	return $node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())');
}

# What a copied registry looks like: its rows belong to others.
sub make_foreign
{
	my ($columns) = @_;
	$node->safe_psql($registry,
		by_hand("UPDATE uidgen_registry.worker_node SET identity = 'foreign', host_name = 'elsewhere', port = 4711"
			  . ($columns ? ", $columns" : '')));
}

# ---- a fixed worker id ----

restart_with('uidgen.worker_id = 7');
is(worker(), 7, 'a fixed worker id is claimed');
restart_with('uidgen.worker_id = 1023');
is(worker(), 1023, 'another one');
restart_with('uidgen.worker_id = 7');
is(worker(), 7, 'and again the first one');

# Its ticks stay granted when it is another's, and when that one is forgotten.
restart_with('uidgen.worker_id = 0');
make_foreign('granted_until = granted_until + 600000, released = true');
restart_with('uidgen.worker_id = 7');
fails_with($node, 'SELECT uid_next()', '55006',
	qr/worker id 7 belongs to another instance.*DETAIL:.*"elsewhere", port 4711.*HINT:.*SELECT uidgen_registry\.forget_worker\(7, 0\)/s,
	'a fixed worker id of another instance is refused, though released');
fails_with($node, 'SELECT uid_next()', '55006', qr/worker id 7/, 'again');

# Not everyone may see where an instance runs.
$node->safe_psql('postgres', 'CREATE ROLE guest LOGIN; CREATE ROLE watcher; GRANT pg_monitor TO watcher');
my (undef, $said) = sqlstate_of($node, 'SET ROLE guest; SELECT uid_next()');
like($said, qr/ERROR:  55006: .*worker id 7.*HINT:.*SELECT uidgen_registry\.forget_worker\(7, 0\)/s,
	'an ordinary role learns what to do');
unlike($said, qr/elsewhere|4711/, 'but neither host nor port');
fails_with($node, 'SET ROLE watcher; SELECT uid_next()', '55006', qr/DETAIL:.*"elsewhere", port 4711/s,
	'a member of pg_monitor does');
like(log_since($node, 0), qr/LOG:  uidgen has no new grant: .*worker id 7.*\n.*DETAIL:.*"elsewhere", port 4711/,
	'and so does the log');

# And no call waits for a locked catalog to find out who may.
foreach my $lock ('LOCK TABLE pg_auth_members', 'LOCK TABLE pg_authid', 'LOCK TABLE pg_database',
	'REINDEX INDEX pg_database_datname_index')
{
	my $guest = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'guest' ]);
	my $locker = $node->background_psql('postgres');
	$locker->query_safe("BEGIN; $lock");
	$guest->query("SET lock_timeout = '1h'; SET uidgen.wait_timeout = '1s'; SELECT uid_next()");
	like($guest->{stderr}, qr/ERROR:  uidgen has no grant/, "$lock: a call ends before that");
	$locker->query_safe('ROLLBACK');
	$_->quit foreach $locker, $guest;
}
my $granted = $node->safe_psql('postgres', 'SELECT granted_until FROM uidgen_registry.worker_node WHERE worker_id = 7');
$node->safe_psql('postgres', 'SELECT uidgen_registry.forget_worker(7, 0)');
my $id = $node->safe_psql('postgres', 'SELECT uid_next()');
is($node->safe_psql('postgres', "SELECT worker FROM uid_parse($id)"), 7, 'after forget_worker() it is free');
is( $node->safe_psql(
		'postgres', "SELECT (extract(epoch FROM uid_timestamp($id)) - extract(epoch FROM epoch)) * 1000 > $granted
			FROM uid_layout_info()"),
	't',
	'and its ids begin above all that was granted');

# Too far ahead of the clock, which was set back since; or so it seems.
restart_with('uidgen.worker_id = 9', 'uidgen.max_ahead = 60s');
is(worker(), 9, 'a further one');
restart_with('uidgen.worker_id = 10', 'uidgen.max_ahead = 60s');
$node->safe_psql('postgres', by_hand("UPDATE uidgen_registry.worker_node
	SET granted_until = granted_until + 600000, modified = modified + interval '10 min' WHERE worker_id = 9"));
restart_with('uidgen.worker_id = 9', 'uidgen.max_ahead = 60s');
fails_with($node, 'SELECT uid_next()', '55000',
	qr/clock is behind the last grant of worker id 9.*DETAIL:.*72003 ms are allowed.*HINT:.*"uidgen.max_ahead"/s,
	'a fixed worker id that was granted too far ahead is refused');
restart_with('uidgen.max_ahead = 60s');
my $other = worker();
isnt($other, 9, 'without a fixed one, that row is passed over');

# ---- datacenters ----

new_registry('centers');
my $layout = "uidgen.layout = 'time:41:1ms datacenter:5 worker:5 sequence:12 epoch:2025-01-01'";
restart_with($layout, 'uidgen.datacenter_id = 3', 'uidgen.worker_id = 4');
is($node->safe_psql('postgres', 'SELECT datacenter, worker FROM uid_parse(uid_next())'), '3|4',
	'the datacenter is in the ids');
restart_with($layout, 'uidgen.datacenter_id = 31', 'uidgen.worker_id = 4');
is($node->safe_psql('postgres', 'SELECT datacenter, worker FROM uid_parse(uid_next())'), '31|4',
	'another one has worker ids of its own');
is($node->safe_psql('centers', 'SELECT datacenter_id, worker_id, launches FROM uidgen_registry.worker_node ORDER BY 1, 2'),
	"3|4|1\n31|4|1",
	'both are in the registry');

# ---- a fresh worker id for each start ----

new_registry('disposable');
$layout = "uidgen.layout = 'time:41:1ms worker:1 sequence:12 epoch:2025-01-01'";
my $log = -s $node->logfile;
restart_with($layout, "uidgen.worker_policy = 'disposable'");
my $first = worker();
restart_with($layout, "uidgen.worker_policy = 'disposable'");
is(worker(), 1 - $first, 'a disposable worker id is not taken a second time');
end_keeper($node) or die 'no other keeper has begun';
is(worker(), 1 - $first, 'but it is where only the keeper begins anew');
like(log_since($node, $log), qr/WARNING:.*few worker ids are left: 0/, 'the log warns of the last one');
restart_with($layout, "uidgen.worker_policy = 'disposable'");
fails_with($node, 'SELECT uid_next()', '53400',
	qr/all worker ids have been used.*DETAIL:.*2 worker ids.*disposable.*HINT:.*"uidgen.worker_policy"/s,
	'when all have been used, it says so');
is($node->safe_psql('disposable', 'SELECT sum(launches) FROM uidgen_registry.worker_node'), 3, 'and takes none');
unlink $conf;
append_to_file($conf, "uidgen.database = 'disposable'\n$layout\n");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('uidgen.worker_policy') = 'reuse'");
like(worker(), qr/^[01]$/, 'the policy can be changed while the server runs');

# ---- no worker id is free ----

# The rows are the second and the first start's.
restart_with($layout);
is( worker(),
	$node->safe_psql('disposable', 'SELECT worker_id FROM uidgen_registry.worker_node ORDER BY granted_until DESC LIMIT 1'),
	'of several that it had, a server takes the latest');
make_foreign('released = true');
restart_with($layout);
fails_with($node, 'SELECT uid_next()', '53400',
	qr/no worker id is free.*DETAIL:.*2 worker ids.*2 belong to other instances, 0 were never used.*HINT:.*forget_worker/s,
	'rows of other instances are never taken, though released');
is($node->safe_psql('disposable', "SELECT count(*) FROM uidgen_registry.worker_node WHERE identity = 'foreign'"), 2,
	'they stay as they are');
$node->safe_psql('disposable', 'SELECT uidgen_registry.forget_worker(1)');
is(worker(), 1, 'one that is forgotten is taken');
fails_with($node, 'SELECT uidgen_registry.forget_worker(2)', '42704', qr/no worker id 2/, 'there is no other to forget',
	'disposable');

# ---- a layout without worker ids ----

new_registry('alone');
$layout = "uidgen.layout = 'time:41:1ms sequence:22 epoch:2025-01-01'";
restart_with($layout);
is($node->safe_psql('postgres', 'SELECT worker IS NULL FROM uid_parse(uid_next())'), 't',
	'a layout without worker ids has one');
restart_with($layout);
$node->safe_psql('postgres', 'SELECT uid_next()');
is($node->safe_psql('alone', 'SELECT worker_id, launches FROM uidgen_registry.worker_node'), '0|2',
	'which is 0 in the registry');
make_foreign();
restart_with($layout);
fails_with($node, 'SELECT uid_next()', '53400', qr/no worker id is free.*forget_worker/s, 'and may be another\'s');

# ---- a registry that parses the layout otherwise ----

new_registry('other');
$node->safe_psql('other', q{CREATE EXTENSION uidgen_registry;
	ALTER FUNCTION uidgen_registry.parse_layout(text) RENAME TO parsed;
	CREATE FUNCTION uidgen_registry.parse_layout(layout_text text, OUT layout text, OUT names text[], OUT bits integer[], OUT shifts integer[],
		OUT unit bigint, OUT epoch bigint, OUT max_tick bigint, OUT max_datacenter integer, OUT max_worker integer) LANGUAGE sql AS
		'SELECT p.layout, p.names, p.bits, p.shifts, p.unit, p.epoch + 1000, p.max_tick, p.max_datacenter, p.max_worker FROM uidgen_registry.parsed(layout_text) AS p'});
restart_with("uidgen.layout = 'default'");
fails_with($node, 'SELECT uid_next()', '55000', qr/makes no sense.*epoch/s, 'is refused');

done_testing();
