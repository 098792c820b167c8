# Names of hosts that are looked up slowly, or never: no host waits for another one's name, a name that comes late is
# used, and nothing that ends waits for a name server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use NameServer;
use RemoteRegistry;
use UidgenTest;

my $names = NameServer->new;
my $LONG = 600_000;    # milliseconds that nobody waits for

# How many threads a process has.
sub threads
{
	my ($pid) = @_;
	my @tasks = glob "/proc/$pid/task/*";
	return scalar @tasks;
}

# A connection string for these hosts, each [name, port] or a server, whose socket it is.
sub where
{
	my (@hosts) = map { ref $_ eq 'ARRAY' ? $_ : [ $_->host, $_->port ] } @_;
	return 'host=' . join(',', map { $_->[0] } @hosts) . ' port=' . join(',', map { $_->[1] } @hosts) . ' dbname=postgres';
}

my $good = PostgreSQL::Test::Cluster->new('good');
$good->init;
$good->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'");
$good->start;
$good->safe_psql('postgres', q{CREATE SCHEMA uidgen_registry;
	CREATE FUNCTION uidgen_registry.port() RETURNS int LANGUAGE sql AS $$ SELECT current_setting('port')::int $$});
my $node = client_node($names->environment);
# Where the client waits for what never comes, a test fails.
$node->safe_psql('postgres', "ALTER SYSTEM SET statement_timeout = '1min'");
$node->reload;
my $port = $good->port;
my ($hole, $refused) = (black_hole(), refused_port());
my ($silent, $closed) = ([ '127.0.0.1', $hole ], [ '127.0.0.1', $refused ]);
my $slow = [ 'slow.test', $port ];
my $count = 0;

sub answers_ok
{
	my ($hosts, $name, $timeout, $sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @call = ($node, ref $hosts ? where(@$hosts) : $hosts, ($sql // '') . "SELECT client_call('port')", $timeout);
	return is(defined $timeout ? calls_until(qr/^port=/, @call) : calls(@call), "port=$port", $name);
}

# ---- a name that nobody answers for ----

my @orders = ([ 0, 1, 2 ], [ 0, 2, 1 ], [ 1, 0, 2 ], [ 1, 2, 0 ], [ 2, 0, 1 ], [ 2, 1, 0 ]);
answers_ok([ ($slow, $silent, $good)[@$_] ], "a slow name, a silent host and a good one, in the order @$_", 1000) foreach @orders;
answers_ok([ ($slow, $silent, $good)[ @{ $orders[$_] } ] ], '... the same with a registry that is known', 1000, 'SELECT FROM client_expect(1);')
  foreach 0 .. 2;
# With a time-out that nobody waits for.
answers_ok([ $slow, $good, [ 'slow2.test', $port ] ], 'where a registry is known, hosts that have addresses come first', $LONG, 'SELECT FROM client_expect(1);')
  foreach 1 .. 3;
calls_fail($node, where($slow), 'SELECT client_connect()', '08001',
	'could not connect to the registry\n.*host "slow.test", port \d+: its name could not be looked up within 300 ms', 'the error names the host', 300);
calls_fail($node, where($slow, $closed, $silent), $_ . 'SELECT client_connect()', '08001',
	'host "slow.test", port \d+: its name could not be looked up within 300 ms; host "127.0.0.1", port \d+: .*refused.*; host "127.0.0.1", port \d+: no connection within 300 ms',
	'... and says of each what it was', 300) foreach '', 'SELECT FROM client_expect(1); ';

# ---- a name that comes late ----

# In one session, which keeps its look-ups.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query('\set VERBOSITY verbose');
my $pid = $session->query('SELECT pg_backend_pid()');
$names->forget;
$session->query_safe(RemoteRegistry::configured(where([ 'late.test', $port ]), 200));
$session->query('SELECT client_connect()') foreach 1 .. 3;
like($session->{stderr}, qr/(?:08001.*?looked up within 200 ms.*?){3}/s, 'three attempts');
$session->{stderr} = '';
# Its thread may not have come to that yet.
poll_until(sub { $names->asked('late.test') });
is($names->asked('late.test'), 1, '... and one look-up');
is(threads($pid), 2, '... by one thread');
$names->answer('late.test', '127.0.0.1');
ok(poll_until(sub { threads($pid) == 1 }), '... which ends');
$session->query_safe(RemoteRegistry::configured(where([ 'late.test', $port ]), $LONG));
is($session->query(q{SELECT client_call('port')}), "port=$port", '... and counts for the next attempt');
is($names->asked('late.test'), 1, '... which does not look it up again');
is($session->query(q{SELECT client_disconnect(); SELECT client_call('port')}) =~ s/^\n//r, "port=$port", 'another connection');
is($names->asked('late.test'), 2, '... asks again: the name may have moved');
is($session->{stderr}, '', '... without an error');

# While somebody waits for it, however long it takes.
$session->query_safe(RemoteRegistry::configured(where([ 'later.test', $port ], $closed), $LONG) . 'SELECT client_disconnect()');
$session->query_until(qr/started/, "\\echo started\nSELECT client_host() IS NULL, client_call('port');\n");
ok(poll_until(sub { $names->asked('later.test') }), 'a name is waited for');
$names->answer('later.test', '127.0.0.1');
like($session->query('SELECT 1'), qr/t\|port=$port/, '... until it comes');

# Its time begins when the name has come; but nobody who could go on waits for all of it.  For a role that writes nothing, all
# hosts fail, and the error says for how long each was waited for.  A busy machine may bring the name or the other host too late:
# then there is another silent host.
$good->safe_psql('postgres', 'CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on; GRANT USAGE ON SCHEMA uidgen_registry TO reader;
	CREATE TABLE called(); GRANT INSERT ON called TO reader; CREATE FUNCTION uidgen_registry.write() RETURNS int LANGUAGE sql AS $$ INSERT INTO called DEFAULT VALUES; SELECT 1 $$');
$session->query_safe('SELECT client_disconnect()');
$good->safe_psql('postgres', 'CREATE DATABASE recovering TEMPLATE postgres');
$good->safe_psql('recovering', 'CREATE FUNCTION uidgen_registry.registry_identity() RETURNS TABLE (registry_id bigint, in_recovery bool) LANGUAGE sql AS $$ SELECT 1, true $$');
foreach (
	[ 'postgres', [], 'within 1000 ms\n', 'the time of a host begins when its name has come' ],
	[ 'postgres', [$good], 'within \d{1,3} ms after its name was looked up; host.*read-only', '... and where another one can be used, ends with the time of all' ],
	[ 'recovering', [$good], 'within 1000 ms; host.*read-only', '... but not where that is a standby' ])
{
	my ($database, $others, $pattern, $name) = @$_;
	my $said;
	poll_until(
		sub {
			my $host = 'silent' . ++$count . '.test';
			$session->query_safe(RemoteRegistry::configured(where([ $host, $hole ], @$others) . " dbname=$database user=reader", 1000) . 'SELECT client_disconnect()');
			$session->query_until(qr/started/, "\\echo started\nSELECT client_call('write');\n");
			poll_until(sub { $names->asked($host) });
			$names->answer($host, '127.0.0.1');
			$session->query('SELECT 1');
			($said, $session->{stderr}) = ($session->{stderr}, '');
			return $said =~ /host "$host", port $hole: no connection $pattern/s;
		});
	like($said, qr/ERROR: .*port $hole: no connection $pattern/s, $name);
}

# More names than threads, which are the same address under two ports each.
my @many = map { "many$_.test" } 1 .. 70;
$names->forget;
$session->query_safe(RemoteRegistry::configured(where((map { [ $_, $port ] } @many), $good, (map { [ $_, $refused ] } @many)), $LONG) . 'SELECT client_disconnect()');
$session->query_until(qr/started/, "\\echo started\nSELECT client_call('port');\n");
my $all = sub { my $n = 0; $n += $names->asked($_) foreach @many; return $n };
ok(poll_until(sub { $all->() >= 64 }), 'more names than threads');
is(threads($pid), 65, '... of which there is a bound');
$names->answer($_, '127.0.0.1') foreach @many;
like($session->query('SELECT 1'), qr/port=$port/, '... and all have their turn');
is($all->(), 70, '... once, whatever their ports');
is($session->{stderr}, '', '... without an error');
$session->quit;

# ---- what a name stands for ----

$names->answer('several.test', '127.0.0.2', '127.0.0.1');
answers_ok([ [ 'several.test', $port ] ], 'of several addresses, the first one refuses');
$names->answer('several.test', '::1', '127.0.0.1');
answers_ok([ [ 'several.test', $port ] ], '... or is of IPv6, where nobody listens');
$names->answer('several.test', '127.0.0.1', '::1');
answers_ok([ [ 'several.test', $port ] ], '... or is the right one');
answers_ok([ [ 'several.test', $refused ], $closed, [ 'several.test', $port ] ], 'a name with two ports');
foreach ([ '127.0.0.3', '127.0.0.2' ], [ '127.0.0.2', '127.0.0.3' ], [ '::1', '127.0.0.2' ])
{
	my ($first, $second) = map { quotemeta } @$_;
	$names->answer('several.test', @$_);
	calls_fail($node, where([ 'several.test', $refused ]), 'SELECT client_connect()', '08001', "host \"several.test\", port $refused: connection to server at \"$first\".*refused.* server at \"$second\"",
		"they are tried in the order in which the name server has them: @$_");
}
$names->answer('nothing.test');
calls_fail($node, where([ 'nothing.test', $port ]), 'SELECT client_connect()', '08001',
	'host "nothing.test", port \d+: could not translate host name "nothing.test" to address: \w+', 'a name that does not exist', $LONG);
answers_ok([ [ 'nothing.test', $port ], $good ], '... is left for the next host', $LONG, $_) foreach '', 'SELECT FROM client_expect(1);';

# libpq goes by the name where that counts: in password files, and in certificates.
my $passfile = PostgreSQL::Test::Utils::tempdir() . '/passwords';
append_to_file($passfile, "other.test:*:*:*:wrong\nnamed.test:*:*:*:right\n127.0.0.1:*:*:*:wrong\n");
chmod 0600, $passfile;
$good->safe_psql('postgres', q{CREATE ROLE careful LOGIN PASSWORD 'right'});
my $hba = $good->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
unlink $hba;
append_to_file($hba, "host all careful 127.0.0.1/32 scram-sha-256\n$rules");
$good->reload;
$names->answer($_, '127.0.0.1', '127.0.0.1') foreach 'named.test', 'other.test';
my $careful = "port=$port dbname=postgres user=careful passfile=$passfile";
like(calls($node, "host=named.test $careful", 'SELECT client_connect()'), qr/^host "named.test"/, 'the password is the one of the name');
calls_fail($node, "host=$_ $careful", 'SELECT client_connect()', '08001', 'password authentication failed', "... and not that of another one: $_")
  foreach 'other.test', '127.0.0.1';
$names->forget;
answers_ok("host=never.test hostaddr=127.0.0.1 port=$port dbname=postgres", 'an address that the setting gives');
like(calls($node, "host=named.test hostaddr=127.0.0.1 $careful", 'SELECT client_connect()'), qr/^host "named.test"/, '... beside a name');
answers_ok("host=never.test,other.test hostaddr=127.0.0.1, port=$refused,$port dbname=postgres", '... for some of the hosts');
is($names->asked('never.test') + $names->asked('named.test'), 0, '... needs no look-up');

# ---- the end of a session ----

# A session that waits for a name: (psql, its process).
sub waiting_session
{
	my ($name) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query('\set VERBOSITY verbose');
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query(RemoteRegistry::configured(where([ $name, $port ]), $LONG));
	$session->query_until(qr/started/, "\\echo started\nSELECT client_connect();\n");
	poll_until(sub { $names->asked($name) }) or die 'it does not ask';
	return ($session, $pid);
}

($session, $pid) = waiting_session('end1.test');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
$session->query('SELECT 1');
like($session->{stderr}, qr/ERROR:  57014: .*broken off/, 'a cancel ends a wait for a name');
$session->quit;
($session, $pid) = waiting_session('end2.test');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok(await_end($pid), '... SIGTERM does');
eval { $session->quit };
($session, $pid) = waiting_session('end3.test');
$node->stop('fast');
ok(await_end($pid), '... a fast shutdown does');
eval { $session->quit };
unlike(slurp_file($node->logfile), qr/was terminated by signal/, '... and no process crashes by that');

# ---- the keeper ----

my $registry = shared_registry('registry');
sub set_registry
{
	my ($node, @hosts) = @_;
	return change_setting($node, 'uidgen.registry', where(@hosts));
}

sub issues_ok
{
	my ($node, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like($node->safe_psql('postgres', 'SELECT uid_next()'), qr/^\d+$/, $name);
}

$names->forget;
$slow = [ 'slow.test', $registry->port ];
$node = uidgen_node('main', "uidgen.registry = '" . where($slow, $silent, $registry) . "'", "uidgen.registry_timeout = '500ms'", "uidgen.window = '500ms'",
	"uidgen.wait_timeout = '${PostgreSQL::Test::Utils::timeout_default}s'");
$names->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
issues_ok($node, 'a node that begins beside a slow name gets ids');
ok($names->asked('slow.test'), '... although that was asked for');
is(threads(postmaster_pid($node)), 1, 'the postmaster has no threads');
set_registry($node, $registry);
issues_ok($node, 'the list has no slow name any more');
set_registry($node, $registry, [ 'added.test', $registry->port ]);
foreach my $round (1 .. 2)
{
	issues_ok($node, "a slow name is added while the node runs: ids go on ($round)");
	# as long as a grant
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.6)');
}
is($node->safe_psql('postgres', 'SELECT registry FROM uidgen.status'), 'shared', '... of the shared registry');

# Nothing else is in the list, and somebody waits.
$names->answer('added.test');
my $log = -s $node->logfile;
# A keeper that has begun with the node still waits for its first look-up, and would begin no other one.
end_keeper($node) or die 'no keeper comes';
$names->forget;
set_registry($node, $slow);
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, "\\echo started\nSELECT uid_next();\n");
ok(poll_until(sub { $node->safe_psql('postgres', 'SELECT failures > 2 FROM uidgen.status') eq 't' }), 'nothing but a slow name: attempts fail');
like($node->safe_psql('postgres', 'SELECT last_error FROM uidgen.status'), qr/could not connect to the registry/, '... uidgen.status says so');
like(log_since($node, $log), qr/uidgen has no new grant: could not connect to the registry\n.*DETAIL:  host "slow.test", port \d+: its name could not be looked up within 500 ms/,
	'... the log says which host');
is($names->asked('slow.test'), 1, '... it is looked up once');
is(threads(the_keeper($node)), 2, '... by the only thread');
set_registry($node, $slow, $registry);
like($session->query('SELECT 1'), qr/\d{10,}/, 'another host is added: who waits gets an id');
$session->quit;

# The end of a keeper that would wait for the name.
set_registry($node, $slow);
change_setting($node, 'uidgen.registry_timeout', '10min');
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, "\\echo started\nSELECT uid_next();\n");
my $waits = sub { my $keeper = keeper_pid($node); return $keeper && threads($keeper) > 1 };
foreach my $round (1 .. 2)
{
	ok(poll_until($waits), "a keeper waits for a name ($round)");
	ok(end_keeper($node), '... SIGTERM ends it');
}
ok(poll_until($waits), 'a keeper waits for a name');
$node->stop('fast');
pass('... a fast shutdown does not wait for it');
eval { $session->quit };
unlike(slurp_file($node->logfile), qr/was terminated by signal/, '... and no process crashes by that');
is_deeply([ $names->wrong ], [], 'names are looked up in threads that block all signals');

done_testing();
