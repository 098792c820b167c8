# What a node's role of ill will can do.  It keeps open what it can lock, also in a subtransaction, which has no lock of its own in
# pg_locks once that is released: other nodes go on, with other worker ids where theirs is locked, new nodes get one, and the
# owner ends the quarantine at once.  It fills the disk of its registry: by grant_node() it has no right to, and what it needs no
# right for is bounded.  And its settings, and those of the database: those that keep nodes from being served are named when they
# are made, and by the next call of a node that runs; all others have no effect.  test/isolation/specs/locks.spec has each lock by
# itself, and keeper_hostile_database the settings of a local registry.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use SmallDisk (registry => '112m', optional => 1);
use EverySetting;
use Fleet;
use Numbers;
use RemoteRegistry qw(share_registry);
use UidgenTest;

my $MAX = '9223372036854775807';
my $NOW = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1735689600000)';
my $LAYOUT = "'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'";
my %layout;

# A registry with so many bits of worker ids.  With many of these a node draws its candidates; it looks at all of a few, in a queue.
sub registry_of
{
	my ($name, $bits, @roles) = @_;
	my $r = fleet_registry($name, layout => $LAYOUT =~ s/worker:10/worker:$bits/r =~ tr/'//dr);
	$r->append_conf('postgresql.conf', 'max_connections = 50');
	$r->restart;
	quarantine_ends($r);
	$r->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT uidgen_registry.grant_node('$_')") foreach 'hostile', @roles;
	$layout{$name} = $r->safe_psql('postgres', 'SELECT quote_literal(layout) FROM uidgen_registry.registry');
	return $r;
}

sub node_of
{
	my ($r, $role, $bits) = @_;
	return fleet_node($role . '_of_' . $r->name, hosts($r) . " user=$role", 'uidgen.layout = ' . $LAYOUT =~ s/worker:10/worker:$bits/r);
}

# A claim of a worker id by an end that it may have, so many milliseconds ahead of the clock.  An end above all that the registry
# knows shows to it that it has lost something: it begins a quarantine, and only then are ends below granted.
sub claim
{
	my ($r, $worker, $ahead) = @_;
	my $until = $worker < 0 ? -1 : "$NOW + " . ($ahead // 20000);
	return "SELECT worker FROM uidgen_registry.lease('hostile', $layout{ $r->name }, 1, '{}', $worker, $until, window_ticks => 10000)";
}
my $QUEUE = "SELECT done FROM uidgen_registry.node_import(0, '{}', '{}', $MAX)";

# A call in a transaction that goes on, by a role that takes back what the call has set against that.  In one message, since a slow
# machine may need longer for the next one than a call allows.
sub hold
{
	my ($r, $role, @call) = @_;
	my $session = $r->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', $role ]);
	# Again, where a renewal has come first: then it has nothing, or another lock than it should.
	for (1 .. 100)
	{
		$session->query('BEGIN');
		last if $session->query(join ' \\; ', @call, 'SET LOCAL idle_in_transaction_session_timeout = 0') =~ /\w/;
		$session->query('ROLLBACK');
		$session->{stderr} = '';
	}
	unlike($session->{stderr}, qr/ERROR/, "... a session of role $role holds a lock");
	return $session;
}

sub let_go
{
	my (@sessions) = @_;
	foreach my $session (@sessions)
	{
		$session->query('ROLLBACK');
		$session->quit;
	}
	return;
}

# The owner does not wait; who was in the way has lost the session.
sub quarantine_ends_at_once
{
	my ($r, @sessions) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, undef, $err) = try_psql($r, "SET statement_timeout = '60s'; SELECT uidgen_registry.end_quarantine()");
	is($status, 0, '... and the owner ends the quarantine') or diag($err);
	like($err, qr/ended the session of a node that kept the registry locked.*role "hostile"/s, '... and the session that was in the way') if @sessions;
	eval { $_->quit } foreach @sessions;
	return;
}

# Locks these rows.  The claims count in a quarantine only; that ends before nodes are looked at.
sub hold_rows
{
	my ($r, $role, @workers) = @_;
	is((try_psql($r, claim($r, $workers[0], 30000), extra_params => [ '-U', $role ]))[0], 0, '... a wrong claim begins a quarantine');
	my @sessions = map { hold($r, $role, claim($r, $_)) } @workers;
	quarantine_ends_at_once($r);
	return @sessions;
}

# ---- what other nodes have, and the queue ----

foreach my $bits (10, 6)
{
	my $r = registry_of("bits_$bits", $bits, qw(one two new three pool));
	my @nodes = map { node_of($r, $_, $bits) } qw(one two);
	draws(@nodes);
	ok(goes_on(@nodes), "$bits bits: two nodes draw ids");
	my %worker = map { $_->name => worker_id($_) } @nodes;

	# An answer that they do not wait for would have them take another worker id without a word.
	change_setting($_, 'uidgen.registry_timeout', '10s') foreach @nodes;
	my @others = (grep { my $w = $_; !grep { $w == $_ } values %worker } 0 .. 20)[ 0 .. 9 ];
	my @held = hold_rows($r, 'hostile', values %worker, @others);
	my @queue = hold($r, 'hostile', $QUEUE);
	my @lines = grep { /\|hostile\|.*\|idle in transaction\|/ } split /\n/, $r->safe_psql('postgres',
		'SELECT pid, usename, client_addr, state, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL');
	is(@lines, @held + 1, '... which the query of the hint shows');
	# Ids are drawn meanwhile, since without a demand nothing is asked for.
	ok( poll_until(
			sub {
				$_->psql('postgres', 'SELECT uid_next()');
				return worker_id($_) != $worker{ $_->name };
			}),
		'... ' . $_->name . ' takes another worker id') foreach @nodes;
	ok(goes_on(@nodes), '... and both draw ids');
	my $left = $worker{ $nodes[0]->name };
	ok(poll_until(sub { log_since($nodes[0], 0) =~
				/has no new grant: worker id $left is locked\n.*HINT:  If this lasts, see in the registry's database who holds the lock: SELECT pid, .*uidgen (?:left worker id $left|acquired worker id \d+)\n/s }),
		'... after it was told why, and how to see by whom');
	my $three = node_of($r, 'three', $bits);
	draws($three);
	ok(goes_on($three), '... as does a new node');
	quarantine_ends_at_once($r, @queue);
	let_go(@held);
	is(rows($r, 'count(*)', "WHERE identity = 'hostile'"), 0, '... nothing of that was committed');
	change_setting($_, 'uidgen.registry_timeout', '1s') foreach @nodes;
	ok(goes_on(@nodes, $three), '... and all go on');

	# A role that many nodes have: whose transaction it is cannot be told; but each call was answered, so it is none of the node's.
	my $four = node_of($r, 'pool', $bits);
	draws($four);
	ok(goes_on($four), 'a node with a role that others have, too');
	change_setting($four, 'uidgen.registry_timeout', '5s');
	my $its = worker_id($four);
	@held = hold_rows($r, 'pool', $its);
	ok(poll_until(sub { worker_id($four) != $its }), '... takes another worker id as well');
	ok(goes_on($four), '... and draws ids');
	let_go(@held);

	# Idle transactions end.
	$r->safe_psql('postgres', "SELECT uidgen_registry.create_segment('s')");
	my $idle = $r->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'hostile' ]);
	my $pid = $idle->query('SELECT pg_backend_pid()');
	$idle->query('BEGIN');
	$idle->query(q{SELECT * FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, } . "$MAX)");
	ok($r->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)"), "an idle transaction ends by itself");
	eval { $idle->quit };
	like(log_since($r, 0), qr/terminating connection due to idle-in-transaction timeout/, '... because it was idle');
	like($r->safe_psql('postgres', "BEGIN; SELECT FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, $MAX); SHOW idle_in_transaction_session_timeout; COMMIT"), qr/^0$/m,
		'... the transactions of the owner do not');

	# A whole table, which takes no call.
	my $log = -s $nodes[0]->logfile;
	my $holder = $r->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'hostile' ]);
	$holder->query('BEGIN');
	$holder->query('PREPARE p AS SELECT FROM uidgen_registry.registry');
	my $waits = IPC::Run::start([ $r->installed_command('psql'), '-X', '-d', $r->connstr('postgres') . ' user=hostile', '-c', 'CREATE RULE r AS ON INSERT TO uidgen_registry.registry DO NOTHING' ],
		'<', \undef, '>&', \my $said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	my $locks = q{FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE relation IN (SELECT oid FROM pg_class
		WHERE relnamespace = 'uidgen_registry'::regnamespace AND relkind = 'r') AND usename = 'hostile'};
	ok($r->poll_query_until('postgres', "SELECT string_agg(mode || ' ' || granted, ' ' ORDER BY xact_start) $locks", 'AccessShareLock true AccessExclusiveLock false'),
		"a role keeps a table, and waits for it in another session, which the query of the page shows");
	ok(poll_until(sub { log_since($nodes[0], $log) =~ /uidgen has no new grant: (?:canceling statement due to lock timeout|the registry did not answer)/ }), '... nodes get no grant');
	$r->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $locks");
	eval { $_->() } foreach sub { $holder->quit }, sub { $waits->finish };
	ok(goes_on(@nodes, $three, $four), '... until these sessions are ended: all go on');

	stops_drawing($_) foreach @nodes, $three, $four;
	$_->stop foreach @nodes, $three, $four, $r;
}

# ---- locks of a subtransaction ----

my $registry = registry_of('tiny', 2, 'one');

sub hold_in_savepoint
{
	my ($call) = @_;
	return hold($registry, 'hostile', 'SAVEPOINT a', $call, 'RELEASE a');
}

sub end_hostile
{
	my ($session) = @_;
	$registry->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'hostile'});
	eval { $session->quit };
	return;
}

quarantine_ends_at_once($registry, hold_in_savepoint($QUEUE));
# Where a call looks at all worker ids, it locks the queue in a block with an exception of its own: no savepoint is needed.
quarantine_ends_at_once($registry, hold($registry, 'hostile', claim($registry, -1)));

# All four worker ids ended long ago; the one that ended first is locked.
$registry->safe_psql('postgres', by_hand("INSERT INTO uidgen_registry.worker_node
	SELECT 0, i, 'h', 1, 1, '2026-01-01', '2026-01-01', '2026-01-01', 'old ' || i, i + 1, 1000 + i, false, 1 FROM generate_series(0, 3) AS i"));
my $session = hold_in_savepoint("SELECT done FROM uidgen_registry.node_import(0, '{0}', ARRAY[$NOW], $MAX)");
my $node = node_of($registry, 'one', 2);
my (undef, undef, $err) = try_psql($node, q{SET uidgen.wait_timeout = '1min'; SELECT uid_next()});
unlike($err, qr/ERROR/, 'a node that begins takes another worker id than the one that is locked');
end_hostile($session);

ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), 'nothing is locked: ids are drawn');
$registry->safe_psql('postgres', by_hand("UPDATE uidgen_registry.worker_node SET token = 4711, granted_until = $NOW + 3000 WHERE worker_id = 3"));
my $until = $registry->safe_psql('postgres', 'SELECT granted_until FROM uidgen_registry.worker_node WHERE worker_id = 3');
$session = hold_in_savepoint("SELECT last_tick FROM uidgen_registry.lease_renew(0, 3, 4711, $until, 1, 0, 10000, $MAX, $MAX)");
my $log = -s $registry->logfile;
my ($state, $text) = sqlstate_of($registry, "SET log_lock_waits = on; SET deadlock_timeout = '1ms'; SET SESSION AUTHORIZATION one; SELECT last_tick FROM uidgen_registry.lease_renew(0, 3, 4711, $until, 2, 0, 10000, $MAX, $MAX)");
like($text, qr/worker id 3 is locked/, 'a node whose row is locked is told so');
unlike(log_since($registry, $log), qr/still waiting for/, '... without a wait for its lock');
end_hostile($session);

$_->stop foreach $node, $registry;
nothing_twice('no id was seen twice');

# ---- a small disk ----

SKIP:
{
	skip 'this machine has no namespaces for users, and so no small disk', 1 if !SmallDisk::path('registry');

	# All of the server lies on this disk, pg_wal too.
	my $disk = SmallDisk::path('registry');
	$registry = PostgreSQL::Test::Cluster->new('small_disk');
	mkdir $registry->basedir;
	mkdir "$disk/data", 0700 or die $!;
	symlink "$disk/data", $registry->data_dir or die $!;
	$registry->init(extra => ['--wal-segsize=1']);
	$registry->append_conf('postgresql.conf', "min_wal_size = 2MB\nmax_wal_size = 8MB\nautovacuum = off\n");
	$registry->start;
	$registry->safe_psql('postgres', q{SET client_min_messages = warning; CREATE EXTENSION uidgen_registry;
		CREATE ROLE honest LOGIN; CREATE ROLE evil LOGIN CONNECTION LIMIT 3; CREATE ROLE owner; GRANT CREATE ON SCHEMA public TO PUBLIC});
	$registry->safe_psql('postgres', 'CREATE DATABASE owned OWNER owner');

	my $LARGE_OBJECTS = qr/EXECUTE ON FUNCTION lo_creat\(integer\), lo_create\(oid\), lo_from_bytea\(oid,bytea\), [^;]*pg_export_snapshot\(\), pg_logical_emit_message\([^;]*/;

	my (undef, undef, $said) = try_psql($registry, q{SELECT uidgen_registry.share_registry('time:41:1ms worker:10 sequence:12 epoch:2025-01-01')});
	like($said, qr/NOTICE:  revoked from PUBLIC: CREATE ON SCHEMA public\n.*NOTICE:  revoked from PUBLIC: $LARGE_OBJECTS\n.*NOTICE:  revoked from PUBLIC: TEMPORARY ON DATABASE postgres$/sm,
		'what lets any role fill the disk is taken from PUBLIC, and that is said');
	like($said, qr/NOTICE:  roles of nodes and guests have the right to connect to other databases of this server\nDETAIL:  They are: owned, template1\..*\nHINT:  .*REVOKE CONNECT ON DATABASE owned, template1 FROM PUBLIC;$/m,
		'... as are other databases');
	$registry->safe_psql('postgres', q{SELECT uidgen_registry.end_quarantine(); SELECT uidgen_registry.create_segment('orders'); GRANT TEMPORARY ON DATABASE postgres TO PUBLIC});
	(undef, undef, $said) = try_psql($registry, q{SELECT uidgen_registry.grant_node('honest')});
	like($said, qr/^\S+ NOTICE:  revoked from PUBLIC: TEMPORARY ON DATABASE postgres$/, '... also when a node is made, if it was given back');
	$registry->safe_psql('postgres', 'GRANT TEMPORARY ON DATABASE postgres TO evil');
	fails_with($registry, q{SELECT uidgen_registry.grant_node('evil')}, '55000', qr/HINT:  Run REVOKE TEMPORARY ON DATABASE postgres FROM evil;/, '... and what the role has by itself');
	$registry->safe_psql('postgres', 'REVOKE TEMPORARY ON DATABASE postgres FROM evil; REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
	(undef, undef, $said) = try_psql($registry, q{SELECT uidgen_registry.grant_node('evil'), uidgen_registry.grant_node('honest')});
	is($said, '', '... and nothing is said where there is nothing');

	# Who owns a database, and no more.
	$registry->safe_psql('owned', 'SET ROLE owner; CREATE SCHEMA mine');
	my $script = $registry->config_data('--sharedir') . '/extension';
	$script = (glob "$script/uidgen-registry--*.sql")[0];
	SKIP:
	{
		skip 'the script is not installed', 3 unless $script;
		my $as_owner = sub { my ($sql) = @_; return (try_psql($registry, "SET ROLE owner; $sql", database => 'owned'))[2]; };
		$registry->psql('owned', "SET ROLE owner;\n" . slurp_file($script), on_error_die => 1);
		$said = $as_owner->(q{SELECT uidgen_registry.grant_node('evil')});
		like($said, qr/WARNING:  PUBLIC keeps rights with which a role can fill the disk of the registry\nDETAIL:  .*\nHINT:  If you can have that role do so: REVOKE $LARGE_OBJECTS FROM PUBLIC;\n/,
			'the owner of a database is told what a superuser has to take away');
		like($said, qr/NOTICE:  revoked from PUBLIC: TEMPORARY ON DATABASE owned$/m, '... and takes away the rest');
		is($registry->safe_psql('owned', q{SELECT has_function_privilege('evil', 'uidgen_registry.registry_identity()', 'EXECUTE')}), 't', '... a node is made all the same');
	}

	{
		my $rules = slurp_file($registry->data_dir . '/pg_hba.conf');
		unlink $registry->data_dir . '/pg_hba.conf';
		append_to_file($registry->data_dir . '/pg_hba.conf', "local postgres evil,honest trust\nlocal all evil,honest reject\n$rules");
	}
	$registry->reload;

	$node = fleet_node('honest', hosts($registry) . ' user=honest');
	draws($node);
	ok(goes_on($node), 'a node draws ids');
	draw_numbers($node, 'orders', 10);

	my $used = sub {
		my ($used) = `df -k $disk | tail -1` =~ /^\S+\s+\d+\s+(\d+)/ or die 'df';
		return $used / 1024;
	};

	# What psql says of it, as that role.
	my $evil = sub {
		my ($sql, $database) = @_;
		my ($status, $out, $err) = try_psql($registry, $sql, connstr => $registry->connstr($database // 'postgres') . ' user=evil',
			on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		return $out . $err;
	};

	my $before = $used->();
	my $BIG = q{SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 1000000) AS g ORDER BY 2};
	foreach my $refused (
		q{CREATE TEMP TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)}, q{SELECT 1 AS one INTO TEMP t}, 'CREATE TEMP SEQUENCE s',
		q{SELECT lo_from_bytea(0, 'x')}, 'SELECT lo_create(0)', 'SELECT lo_creat(-1)', q{SELECT lo_put(1, 0, 'x')}, q{SELECT lo_import('/etc/passwd')}, q{SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))},
		q{SELECT pg_logical_emit_message(true, '', 'x'::bytea)}, 'SELECT pg_export_snapshot()', 'CREATE TABLE t ()', 'CREATE TABLE public.t ()',
		'CREATE SCHEMA s', 'CREATE DATABASE d', 'CREATE ROLE r', q{SELECT pg_create_physical_replication_slot('s', true)},
		'SET temp_file_limit = -1', 'ALTER ROLE evil SET temp_file_limit = -1', 'ALTER ROLE evil IN DATABASE postgres RESET temp_file_limit')
	{
		like($evil->($refused), qr/ERROR:  42501/, "refused: $refused");
	}
	unlike($evil->('ALTER ROLE evil IN DATABASE postgres RESET ALL'), qr/ERROR/, 'what is its own of its settings it may take back');
	like($evil->("SELECT count(*) FROM ($BIG) AS b"), qr/ERROR:  53400: temporary file size exceeds "?temp_file_limit"? \(16\d{3}kB\)/, 'a sort is bounded all the same');
	like($evil->("BEGIN; DECLARE c CURSOR WITH HOLD FOR $BIG; COMMIT"), qr/ERROR:  53400/, '... as is a cursor');
	like($evil->('SELECT 1', $_), qr/FATAL: .*pg_hba\.conf rejects/, "... it comes not into $_") foreach qw(owned template1);
	cmp_ok($used->() - $before, '<', 32, 'nothing of it is left on the disk but WAL');

	# Each session has as much as it may have, for as long as it likes.  There are three when those of before have ended.
	$registry->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'evil'}) or die 'a session does not end';
	my @sessions = map {
		my ($out, $err) = ('', '');
		IPC::Run::start([ $registry->installed_command('psql'), '-XAtq', '-d', $registry->connstr('postgres') . ' user=evil', '-c',
				q{BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT repeat(md5(g::text), 30) FROM generate_series(1, 14000) AS g;
				COMMIT; SELECT pg_sleep(1000)} ],
			'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
	} 1 .. 3;
	ok($registry->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE usename = 'evil' AND wait_event = 'PgSleep'}), 'three sessions keep what they have');
	like($evil->('SELECT 1'), qr/FATAL: .*too many connections for role "evil"/, '... and there is no fourth');
	cmp_ok($used->() - $before, '>', 20, '... which is much');
	my $renewals = status_of($node, 'renewals');
	ok($node->poll_query_until('postgres', "SELECT renewals > $renewals + 10 FROM uidgen.status"), '... but grants are renewed');
	ok(goes_on($node), '... ids go on');
	draw_numbers($node, 'orders', 3000);
	one_by_one('orders', '... and so do numbers');
	unlike(log_since($registry, 0), qr/No space left|PANIC/, '... and the disk was never full');

	$registry->safe_psql('postgres', q{SELECT uidgen_registry.revoke_node('evil'); SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'evil'});
	eval { $_->finish } foreach @sessions;
	$registry->safe_psql('owned', q{SET ROLE owner; SELECT uidgen_registry.revoke_node('evil')}) if $script;
	$registry->safe_psql('postgres', 'DROP ROLE evil');
	nothing_twice('no id was issued twice');
	$node->stop;
	$registry->stop;
}

# ---- settings ----

$registry = PostgreSQL::Test::Cluster->new('settings');
$registry->init;
$registry->append_conf('postgresql.conf', "log_statement = none\nmax_connections = 50\n");
$registry->start;
$registry->safe_psql('postgres', 'CREATE DATABASE registry; CREATE ROLE node LOGIN');

# What psql says, with the warnings.
sub says
{
	my ($database, $sql) = @_;
	my ($out, $err) = ('', '');
	$registry->psql($database, $sql, stdout => \$out, stderr => \$err, on_error_die => 1);
	return $err;
}

share_registry($registry, 'registry', $LAYOUT);
$registry->safe_psql('registry', 'REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC');
is(says('registry', "SELECT uidgen_registry.grant_node('node')"), '', 'without such settings there is no word');
my %warned = (
	default_transaction_isolation => [ 'repeatable read', 'calls of nodes are refused with it' ],
	default_transaction_read_only => [ 'on', 'calls of nodes are refused with it' ],
	session_replication_role => [ 'replica', 'calls of nodes are refused with it' ],
	idle_session_timeout => [ '10ms', 'sessions of nodes are idle before and after a call' ],
	statement_timeout => [ '2s', 'calls of nodes may take a second and more' ],
	$registry->pg_version >= 17 ? (transaction_timeout => [ '999', 'calls of nodes may take a second and more' ]) : ());
foreach my $setting (sort keys %warned)
{
	my ($value, $why) = @{ $warned{$setting} };
	# Our own sessions may take their time.
	local $ENV{PGOPTIONS} = join ' ', map { "-c $_=0" } grep { /timeout/ } keys %warned;
	foreach my $holder ('DATABASE registry', 'ROLE node', 'ROLE node IN DATABASE registry')
	{
		$registry->safe_psql('postgres', "ALTER $holder SET $setting = '$value'");
		my $said = says('registry', $holder =~ /^DATABASE/ ? "SET default_transaction_read_only = off; BEGIN ISOLATION LEVEL READ COMMITTED;
			SELECT uidgen_registry.warn_of_settings(0); COMMIT" : "SELECT uidgen_registry.grant_node('node')");
		like($said, qr/WARNING:  the setting "$setting" is not for a registry\nDETAIL:  It is '$value', and $why\.\nHINT:  Run ALTER \Q$holder\E RESET $setting\./,
			"$holder with $setting = $value: a warning");
		$registry->safe_psql('postgres', "ALTER $holder RESET $setting");
	}
}
foreach my $fine ('statement_timeout = 0', "statement_timeout = '5s'", "statement_timeout = '1min'", "default_transaction_isolation = 'read uncommitted'", "work_mem = '64kB'")
{
	$registry->safe_psql('postgres', "ALTER ROLE node SET $fine");
	is(says('registry', "SELECT uidgen_registry.grant_node('node')"), '', "no word about $fine");
	$registry->safe_psql('postgres', 'ALTER ROLE node RESET ALL');
}
# A new one, with a setting of the server; a superuser's session has its own.
$registry->safe_psql('postgres', 'CREATE DATABASE another');
$registry->safe_psql('another', 'CREATE EXTENSION uidgen_registry');
$registry->append_conf('postgresql.conf', "statement_timeout = '4999ms'\n");
$registry->reload;
$registry->poll_query_until('postgres', "SELECT current_setting('statement_timeout') = '4999ms'") or die 'no reload';
like(says('another', "SET client_min_messages = warning; SELECT FROM uidgen_registry.share_registry($LAYOUT)"),
	qr/WARNING:  the setting "statement_timeout" is not for a registry\nDETAIL:  It is '4999ms', .*\nHINT:  Run ALTER DATABASE another SET statement_timeout = '10s'\./,
	'share_registry() warns of settings of the server, too');
$registry->append_conf('postgresql.conf', "statement_timeout = 0\n");
$registry->reload;

my $hosts = hosts($registry) =~ s/dbname=postgres/dbname=registry user=node/r;
$node = fleet_node('node', $hosts, 'log_statement = none');
my @ids;

# Draw an id, if there is one: so a node without a grant asks for one.
sub asks
{
	my ($status, $out) = try_psql($node, "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()");
	push @ids, $out if $status == 0;
	return $status == 0;
}
ok(poll_until(\&asks), 'a node');

# Settings count from the next session on.
sub begin_sessions_anew
{
	$registry->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node'");
	return;
}

# Each of these is refused, or fails, with words that name it; and is over when it is taken back.
my %refused = (
	"default_transaction_isolation = 'serializable'" => qr/^a registry can be asked in isolation level read committed only$/,
	"default_transaction_isolation = 'repeatable read'" => qr/^a registry can be asked in isolation level read committed only$/,
	'default_transaction_read_only = on' => qr/^no host of the registry takes writes$/,
	"session_replication_role = 'replica'" => qr/^the registry could not write a row$/,
	"session_preload_libraries = 'evil'" => qr/could not connect to the registry/);
foreach my $set (sort keys %refused)
{
	my ($name) = $set =~ /^(\w+)/;
	my $log = -s $node->logfile;
	$registry->safe_psql('postgres', "ALTER ROLE node IN DATABASE registry SET $set");
	begin_sessions_anew();
	ok(poll_until(sub { asks(); last_error($node) =~ $refused{$set} }), "$set: a node that runs says so") or diag(last_error($node));
	ok(poll_until(sub { log_since($node, $log) =~ /HINT:  .*$name|DETAIL:  .*$name/ }), '... and names it in its log') if $name !~ /^session_preload/;
	like(log_since($node, $log), qr/HINT:  .*ALTER DATABASE registry RESET $name, or ALTER ROLE node RESET $name\./, '... and says what to do')
	  if $name eq 'default_transaction_isolation' || $name eq 'session_replication_role';
	$registry->safe_psql('postgres', "ALTER ROLE node IN DATABASE registry RESET ALL");
	begin_sessions_anew();
	ok(poll_until(sub { asks() && last_error($node) eq '' }), '... and is served again') or diag(last_error($node));
	# The same cause is news only in another outage; another place begins anew.
	change_setting($node, 'uidgen.registry', "$hosts application_name=$name" . @ids);
}
$registry->safe_psql('postgres', 'ALTER DATABASE registry SET default_transaction_read_only = on');
fails_with($registry, 'SELECT FROM uidgen_registry.lease_renew(0, 1, 1, 1, 1, 1, 1, 1, 1)', '25006',
	qr/the registry cannot be written with "default_transaction_read_only"\n.*HINT:.*ALTER DATABASE registry RESET/s, 'a call says which setting it is', 'registry');
$registry->safe_psql('postgres', 'ALTER DATABASE registry RESET ALL');

# All others that ALTER ROLE can set, but for those whose error the server itself says with their name.  Together with client_min_messages at a debug level, what the first of these print makes an answer
# longer than a node reads; it says so.
my @printing = qw(debug_print_parse debug_print_plan debug_print_rewritten);
my $every = EverySetting->new($registry, 'registry',
	but => [ @printing, qw(default_transaction_isolation default_transaction_read_only session_replication_role statement_timeout transaction_timeout
		  session_preload_libraries local_preload_libraries dynamic_library_path default_table_access_method) ]);
# With these settings.
sub is_served
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $log = -s $node->logfile;
	begin_sessions_anew();
	my $renewals = status_of($node, 'renewals');
	ok(poll_until(sub { asks(); status_of($node, "renewals > $renewals + 1") eq 't' }), "$name: the node is served") or diag(last_error($node), log_since($node, $log));
	unlike(log_since($node, $log), qr/uidgen acquired/, '... and goes on with its worker id');
	$registry->safe_psql('postgres', 'ALTER ROLE node IN DATABASE registry RESET ALL');
	return;
}
is_served($every->set('ROLE node IN DATABASE registry', $_)) foreach 1 .. $every->rounds;
# Where one hides what another does.
foreach my $set ((map { "$_ = on" } @printing), 'client_min_messages = debug5', 'max_stack_depth = 100', "search_path = 'evil'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '1s'", "exit_on_error = on",
	'transform_null_equals = on', 'array_nulls = off', 'synchronous_commit = off', 'log_min_messages = debug5', "timezone = 'Pacific/Kiritimati'",
	$registry->pg_version->major < 19 ? 'standard_conforming_strings = off' : ())
{
	$registry->safe_psql('postgres', "ALTER ROLE node IN DATABASE registry SET $set");
	is_served($set);
}
is(repeated(\@ids), 0, 'no id came twice');

done_testing();
