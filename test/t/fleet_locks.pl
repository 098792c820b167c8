# A node's role that holds all it can get, in transactions that it does not commit: the rows of other nodes, those of
# worker ids that nobody had before, the registry's queue.  Other nodes go on, with other worker ids where theirs is
# locked; new nodes get one; the owner ends the quarantine at once.  After that all is as before.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

# One with so many worker ids that a node draws its candidates, and one with so few that it looks at all of them, in a queue.
my $registry = fleet_registry('registry');
my $LAYOUT = 'time:41:1ms worker:6 sequence:12 epoch:2025-01-01';
my $small = fleet_registry('small', layout => $LAYOUT);
foreach my $r ($registry, $small)
{
	$r->append_conf('postgresql.conf', 'max_connections = 50');
	$r->restart;
	$r->safe_psql('postgres', 'SELECT uidgen_registry.end_quarantine()');
	$r->safe_psql('postgres', "CREATE ROLE $_ LOGIN; SELECT uidgen_registry.grant_node('$_')") foreach qw(one two new three hostile pool);
	$r->safe_psql('postgres', "SELECT uidgen_registry.create_segment('s')");
}

sub node_of
{
	my ($r, $name, $role) = @_;
	return fleet_node($name . '_of_' . $r->name, hosts($r) . ' user=' . ($role // $name), $r == $small ? "uidgen.layout = '$LAYOUT'" : ());
}

my $MAX = '9223372036854775807';
my %numbers = map { $_->name => layout_arguments($_) } $registry, $small;

# A claim of a worker id by an end that it may have, so many milliseconds ahead of the clock.  One above all that the registry knows
# shows to it that it has lost something: it begins a quarantine, and only then are those below granted.
sub claim
{
	my ($r, $worker, $ahead) = @_;
	my $until = '(SELECT (extract(epoch FROM now()) * 1000)::bigint - 1735689600000 + ' . ($ahead // 20000) . ')';
	return "SELECT worker FROM uidgen_registry.node_acquire('hostile', $numbers{ $r->name }, 0, -1, 'reuse', '{}', $worker, $until, 1, 0, 10000, $MAX, $MAX, 'h', 1, 1)";
}
my $QUEUE = "SELECT done FROM uidgen_registry.node_import(0, '{}', '{}', $MAX)";

# A session of a role that takes back what the owner or a call has set against it.
sub hostile_session
{
	my ($r, $role) = @_;
	my $session = $r->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', $role // 'hostile' ]);
	$session->query('BEGIN');
	return $session;
}
# In one message with the call, since a slow machine may need longer for the next one than a call allows.
my $STAYS_IDLE = 'SET LOCAL idle_in_transaction_session_timeout = 0';

# Calls in transactions of their own, which go on.
sub hold
{
	my ($r, $role, @calls) = @_;
	my @sessions;
	foreach my $call (@calls)
	{
		my $session = hostile_session($r, $role);
		# Again, where a renewal has come first: then it has nothing, or another lock than it should.
		for (1 .. 100)
		{
			last if $session->query("$call \\; $STAYS_IDLE") =~ /\w/;
			$session->query('ROLLBACK');
			$session->{stderr} = '';
			$session->query('BEGIN');
		}
		push @sessions, $session;
	}
	is(scalar(grep { $_->{stderr} =~ /ERROR/ } @sessions), 0, '... ' . @calls . " sessions of role $role hold a lock each") or diag(map { $_->{stderr} } @sessions);
	return @sessions;
}

# So many transactions have locked something, as the query of the hint shows.
sub is_locked_by
{
	my ($r, $count) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @lines = grep { /\|hostile\|.*\|idle in transaction\|/ } split /\n/, $r->safe_psql('postgres',
		'SELECT pid, usename, client_addr, state, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL');
	return is(@lines, $count, '... which the query of the hint shows');
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
	my @sessions = hold($r, $role, map { claim($r, $_) } @workers);
	quarantine_ends_at_once($r);
	return @sessions;
}

foreach my $r ($registry, $small)
{
	my $name = $r->name;
	my $workers = $r == $small ? 64 : 1024;
	my @nodes = map { node_of($r, $_) } qw(one two);
	draws(@nodes);
	ok(goes_on(@nodes), "$name: two nodes draw ids");
	my %worker = map { $_->name => worker_id($_) } @nodes;

	# ---- all in one transaction ----

	# One that has failed holds nothing, so each call has a savepoint.
	my $session = hostile_session($r);
	my $calls = $r->basedir . '/calls.sql';
	append_to_file($calls, join("\n", map { ('SAVEPOINT s;', claim($r, $_ % $workers) . ' \gset', '\if :ERROR', 'ROLLBACK TO s;', '\endif') } 0 .. 2 * $workers - 1) . "\n$STAYS_IDLE;\n");
	$session->query("\\i $calls\n SELECT");
	like($session->{stderr}, qr/each call of a node is a transaction of its own/, "$name: a role can make one call in a transaction");
	is_locked_by($r, 1);
	ok(goes_on(@nodes), '... with that open, the nodes draw ids');
	my @before = map { status_of($_, 'granted_until') } @nodes;
	ok(poll_until(sub { status_of($nodes[$_], "granted_until > '$before[$_]'") eq 't' }), '... for which they get grants') foreach 0, 1;
	my $new = node_of($r, 'new');
	draws($new);
	ok(goes_on($new), '... as does a new node');
	is_deeply({ map { $_->name => worker_id($_) } @nodes }, \%worker, '... of the worker ids that they had');
	quarantine_ends_at_once($r, $session);

	# ---- their rows, some others, and the queue ----

	# An answer that they do not wait for would have them take another worker id without a word.
	change_setting($_, 'uidgen.registry_timeout', '10s') foreach @nodes;
	my @others = (grep { my $w = $_; !grep { $w == $_ } values %worker, worker_id($new) } 0 .. 20)[ 0 .. 9 ];
	my @held = hold_rows($r, 'hostile', values %worker, @others);
	my @queue = hold($r, 'hostile', $QUEUE);
	is_locked_by($r, @held + 1);
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
	my $three = node_of($r, 'three');
	draws($three);
	ok(goes_on($three), '... as does a new node');
	quarantine_ends_at_once($r, @queue);
	let_go(@held);
	is(rows($r, 'count(*)', "WHERE identity = 'hostile'"), 0, '... nothing of that was committed');
	change_setting($_, 'uidgen.registry_timeout', '1s') foreach @nodes;
	ok(goes_on(@nodes, $new, $three), '... and all go on');

	# ---- a role that many nodes have ----

	# Whose transaction it is cannot be told; but each call was answered, so it is none of the node's.
	my $four = node_of($r, 'four', 'pool');
	draws($four);
	ok(goes_on($four), "$name: a node with a role that others have, too");
	change_setting($four, 'uidgen.registry_timeout', '5s');
	my $its = worker_id($four);
	@held = hold_rows($r, 'pool', $its);
	ok(poll_until(sub { worker_id($four) != $its }), '... takes another worker id as well');
	ok(goes_on($four), '... and draws ids');
	let_go(@held);

	# ---- idle transactions end ----

	my $idle = $r->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'hostile' ]);
	my $pid = $idle->query('SELECT pg_backend_pid()');
	$idle->query('BEGIN');
	$idle->query(q{SELECT * FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, } . "$MAX)");
	ok($r->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)"), "$name: an idle transaction ends by itself");
	like(log_since($r, 0), qr/terminating connection due to idle-in-transaction timeout/, '... because it was idle');
	like($r->safe_psql('postgres', "BEGIN; SELECT FROM uidgen_registry.segment_fetch('s', 10, 0, 0, '{}', -1, $MAX); SHOW idle_in_transaction_session_timeout; COMMIT"), qr/^0$/m,
		'... the transactions of the owner do not');

	# ---- a whole table, which takes no call ----

	my $log = -s $nodes[0]->logfile;
	my $holder = hostile_session($r);
	$holder->query('PREPARE p AS SELECT FROM uidgen_registry.registry');
	my $waits = IPC::Run::start([ $r->installed_command('psql'), '-X', '-d', $r->connstr('postgres') . ' user=hostile', '-c', 'CREATE RULE r AS ON INSERT TO uidgen_registry.registry DO NOTHING' ],
		'<', \undef, '>&', \my $said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	my $locks = q{FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE relation IN (SELECT oid FROM pg_class
		WHERE relnamespace = 'uidgen_registry'::regnamespace AND relkind = 'r') AND usename = 'hostile'};
	ok($r->poll_query_until('postgres', "SELECT string_agg(mode || ' ' || granted, ' ' ORDER BY xact_start) $locks", 'AccessShareLock true AccessExclusiveLock false'),
		"$name: a role keeps a table, and waits for it in another session, which the query of the page shows");
	ok(poll_until(sub { log_since($nodes[0], $log) =~ /uidgen has no new grant: (?:canceling statement due to lock timeout|the registry did not answer)/ }), '... nodes get no grant');
	$r->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $locks");
	eval { $_->() } foreach sub { $holder->quit }, sub { $waits->finish };
	ok(goes_on(@nodes, $new, $three, $four), '... until these sessions are ended: all go on');

	stops_drawing($_) foreach @nodes, $new, $three, $four;
}

nothing_twice('no id was seen twice');
done_testing();
