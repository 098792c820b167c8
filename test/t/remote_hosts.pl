# A registry on several hosts, of which some do not answer: the client goes on to the next one, each
# wait has a limit, and none keeps a session or a server from ending.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use RemoteRegistry;
use UidgenTest;

my $main = PostgreSQL::Test::Cluster->new('main');
$main->init(allows_streaming => 1);
$main->start;
$main->safe_psql('postgres', <<'END');
CREATE SCHEMA uidgen_registry;
CREATE TABLE called();
CREATE FUNCTION uidgen_registry.write() RETURNS int LANGUAGE sql AS $$ INSERT INTO called DEFAULT VALUES; SELECT current_setting('port')::int $$;
CREATE FUNCTION uidgen_registry.session() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', current_setting('application_name'), current_setting('client_encoding'), current_setting('work_mem')) $$;
END
$main->backup('backup');
my ($one, $two) = map { PostgreSQL::Test::Cluster->new($_) } qw(one two);
foreach ($one, $two)
{
	$_->init_from_backup($main, 'backup');
	$_->start;
}
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($main, 'backup', has_streaming => 1);
$standby->start;

# The file of services is the postmaster's, and so is the rest of its environment.
my $services = PostgreSQL::Test::Utils::tempdir() . '/services';
append_to_file($services, "[registry]\n" . conninfo($one, $two) =~ s/ /\n/gr . "\noptions=-c work_mem=3MB\n");
my $node = client_node(PGSERVICEFILE => $services, PGOPTIONS => '-c work_mem=2MB', PGTARGETSESSIONATTRS => 'standby');
my $hole = black_hole();
my $refused = refused_port();
my $LONG = 600_000;    # milliseconds that nobody waits for

# The port that answers in a new session, once or several times.
sub answers
{
	my ($hosts, $times, $timeout) = @_;
	my @call = ($node, $hosts, "SELECT client_call('write')", $timeout);
	return map { /(\d+)$/ ? $1 : $_ } map { defined $timeout ? calls_until(qr/^write=/, @call) : calls(@call) } 1 .. $times // 1;
}

# ---- one host ----

is_deeply([ answers([$one]) ], [ $one->port ], 'one host');
calls_fail($node, [$refused], 'SELECT client_connect()', '08001',
	"could not connect to the registry\n.*host \"127.0.0.1\", port $refused: .*Connection refused.*HINT:  Check host, port, dbname, user and passfile", 'nobody listens');
calls_fail($node, [$hole], 'SELECT client_connect()', '08001', "could not connect to the registry\n.*host \"127.0.0.1\", port $hole: no connection within 300 ms", 'nobody answers', 300);
calls_fail($node, 'host=registry.invalid', 'SELECT client_connect()', '08001', 'host "registry.invalid", port \d+: .*name', 'a name that nobody knows');

# ---- several ----

is_deeply([ answers([ $refused, $hole, $one, $refused ], 8, 1000) ], [ ($one->port) x 8 ], 'the one that answers, in each order');
calls_fail($node, [ $refused, $hole, $refused ], 'SELECT client_connect()', '08001', "DETAIL:  host .*: .*refused.*; host .*: .*; host .*: ", 'none: all are named', 300);
my %seen = map { $_ => 1 } answers([ $one, $two ], 40);
is_deeply([ sort keys %seen ], [ sort $one->port, $two->port ], 'the first one is chosen at random');
my $again = "SELECT client_disconnect(); SELECT client_call('write');\n";
like(calls($node, [ $one, $two ], $again x 10), qr/^(?:\s*write=(\d+)\s*)(?:\s*write=\1\s*){9}$/, 'then it is the one that answered last');

# Frozen, as when its machine is suspended; $code is run with a session that was connected to it.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query('\set VERBOSITY verbose');
$session->query_safe(RemoteRegistry::configured([ $one, $two ]));
my ($first) = $session->query("SELECT client_call('write')") =~ /=(\d+)/;
my ($frozen, $other) = $first == $one->port ? ($one, $two) : ($two, $one);
my @stopped = stop_processes($frozen);
$session->query(RemoteRegistry::configured([ $one, $two ], 2000) . "SELECT client_call('write')");
like($session->{stderr}, qr/08007: .*no answer within 2000 ms/s, 'the host is frozen: there is no answer');
$session->{stderr} = '';
# With a time-out that nobody waits for: once a registry has answered, it does not even try the frozen one.
$session->query_safe(RemoteRegistry::configured([ $one, $two ], $LONG) . 'SELECT FROM client_expect(1)');
is($session->query("SELECT client_call('write')"), 'write=' . $other->port, 'the next call goes to the other host');
is_deeply([ answers([ $frozen, $other ], 4, 2000) ], [ ($other->port) x 4 ], 'so do new sessions');
is_deeply([ answers([ $frozen, $other, $hole ], 4, 1000) ], [ ($other->port) x 4 ], 'a black hole beside it');
kill 'CONT', @stopped;
is($session->query("SELECT client_disconnect(); SELECT client_call('write')") =~ s/^\n//r, 'write=' . $other->port, 'the one that answered last is the first one, when the other is back');
$session->quit;

# ---- a host that takes no writes ----

calls_fail($node, [$standby], "SELECT client_call('write')", '25006', 'no host of the registry takes writes\n.*cannot execute INSERT in a read-only transaction', 'a standby');
is_deeply([ answers([ $standby, $refused, $main, $standby ], 8) ], [ ($main->port) x 8 ], 'a standby is left for the next host');
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(RemoteRegistry::configured([ $main, $standby ]));
is($session->query("SELECT client_call('write')"), 'write=' . $main->port, 'a primary');
$standby->promote;
$main->append_conf('postgresql.conf', 'default_transaction_read_only = on');
$main->reload;
poll_until(sub { (try_psql($main, 'SHOW transaction_read_only'))[1] eq 'on' });
my $answer;
ok(poll_until(sub { ($answer = $session->query("SELECT client_call('write')")) eq 'write=' . $standby->port }), 'it changes to one that takes none, and another takes its place') or diag($answer);
$session->quit;

# ---- the string ----

my $string = 'uidgen\.registry" is not a connection string that can be used\nDETAIL:  ';
calls_fail($node, 'host=a colour=red', 'SELECT client_connect()', '22023', "$string.*colour", 'an option that does not exist');
calls_fail($node, 'a', 'SELECT client_connect()', '22023', "$string.*missing", 'no option at all');
calls_fail($node, 'host=a,b port=1,2,3', 'SELECT client_connect()', '22023', "${string}It has 3 ports for 2 hosts", 'another number of ports');
calls_fail($node, 'host=a,b hostaddr=127.0.0.1', 'SELECT client_connect()', '22023', "${string}It has 2 hosts, but 1 addresses", 'another number of addresses');
calls_fail($node, 'service=nothing', 'SELECT client_connect()', '22023', "$string.*nothing", 'a service that is not defined');
@stopped = stop_processes($one);
is_deeply([ answers('service=registry', 4, 1000) ], [ ($two->port) x 4 ], 'the hosts of a service are taken apart as well');
kill 'CONT', @stopped;
is(calls($node, 'service=registry', "SELECT client_call('session')"), 'session=uidgen keeper UTF8 4MB', 'nothing is set in the session, be it in the service or the environment');
my $log = -s $node->logfile;
my $ignored = conninfo($one) . " target_session_attrs=read-only options='-c work_mem=1MB' application_name=mine";
is(calls($node, $ignored, "SELECT client_call('session'); SELECT client_disconnect(); SELECT client_call('session')") =~ s/\n+/ /gr,
	'session=mine UTF8 4MB session=mine UTF8 4MB', 'options that do not count');
my @said = log_since($node, $log) =~ /LOG:  uidgen ignores the option "(\w+)" of the setting "uidgen.registry"/g;
is("@said", 'options target_session_attrs', 'the log says so, once') or diag(log_since($node, $log));

# Each connection that failed has given back what it took.
is( calls($node, [ $refused, $refused ], <<'END'), 3000, 'thousands of failed connections leave nothing behind');
DO $$ BEGIN
	FOR i IN 1 .. 3000 LOOP
		BEGIN PERFORM client_connect(); EXCEPTION WHEN sqlclient_unable_to_establish_sqlconnection THEN NULL; END;
	END LOOP;
END $$; SELECT 3000
END

# ---- the end ----

# A session that waits for a host: (psql, its process).
sub waiting_session
{
	my ($hosts, $sql) = @_;
	my $log = -s $node->logfile;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query('\set VERBOSITY verbose');
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query(RemoteRegistry::configured($hosts, $LONG));
	$session->query_until(qr/started/, "\\echo started\n$sql;\n");
	poll_until(sub { (try_psql($node, "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $pid"))[1] eq 'Extension' })
	  or die 'it does not wait';
	return ($session, $pid);
}

@stopped = stop_processes($one);
foreach (
	[ 'a connection to a black hole', [$hole], 'SELECT client_connect()', 'ERROR:  57014: .*broken off' ],
	[ 'a connection to a frozen host', [$one], 'SELECT client_connect()', 'ERROR:  57014: .*broken off' ])
{
	my ($name, $hosts, $sql, $error) = @$_;
	my ($session, $pid) = waiting_session($hosts, $sql);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$session->query('SELECT 1');
	like($session->{stderr}, qr/$error/, "$name: a cancel ends it");
	$session->quit;
	($session, $pid) = waiting_session($hosts, $sql);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	ok(await_end($pid), "$name: SIGTERM ends it");
	eval { $session->quit };
}
kill 'CONT', @stopped;

# A session with a call that has no answer.  While the host is frozen, which is undone at the end.
sub call_without_answer
{
	my ($session, $pid) = (undef, undef);
	$two->safe_psql('postgres', 'CREATE OR REPLACE FUNCTION uidgen_registry.slow() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(3600) $$');
	($session, $pid) = waiting_session([$two], "SELECT client_call('slow')");
	poll_until(sub { $two->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") > 0 });
	@stopped = stop_processes($two);
	return ($session, $pid);
}

my $pid;
($session, $pid) = call_without_answer();
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
$session->query('SELECT 1');
like($session->{stderr}, qr/ERROR:  08007: .*broken off/, 'a call: a cancel ends it, and it is a call without an answer');
$session->quit;
kill 'CONT', @stopped;
($session, $pid) = call_without_answer();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok(await_end($pid), 'a call: SIGTERM ends it');
eval { $session->quit };
kill 'CONT', @stopped;
($session, $pid) = call_without_answer();
$node->stop('fast');
ok(await_end($pid), 'a call: a fast shutdown ends it');
eval { $session->quit };
$node->start;
kill 'CONT', @stopped;
($session, $pid) = call_without_answer();
kill_and_start($node);
ok(await_end($pid), 'a call: the end of the postmaster ends it');
eval { $session->quit };
kill 'CONT', @stopped;

# The last calls of a process together end within a second, which is far below the time-out, and connect no more.
$two->safe_psql('postgres', 'CREATE OR REPLACE FUNCTION uidgen_registry.slow() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(3600) $$');
my $once = qr/^host .*\n+write=\d+$/;
like(calls_until($once, $node, [$two], "\\set ON_ERROR_STOP 0
SELECT client_connect(); SELECT FROM client_finish();
SELECT client_call('write');
SELECT client_call('slow');
SELECT client_call('write');", $LONG), $once, 'the last calls: as long as there is a connection');
calls_fail($node, [$two], "SELECT client_connect(); SELECT FROM client_finish(); SELECT client_call('slow')", '08007', 'no answer',
	'the last calls: no longer than they may', $LONG);
calls_fail($node, [$two], "SELECT client_connect(); SELECT FROM client_finish(); SELECT client_disconnect(); SELECT client_call('write')", '57P01',
	'the server ends', 'the last calls: nothing connects any more', $LONG);

done_testing();
