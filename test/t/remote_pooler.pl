# A registry behind pgbouncer, which gives each transaction another connection: calls work as without it,
# and what goes wrong behind it is told as it is.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IO::Socket::UNIX;
use IPC::Run;
use RemoteRegistry;
use UidgenTest;

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'there is no pgbouncer; ./check --world --install installs it' unless $pgbouncer;

my $registry = PostgreSQL::Test::Cluster->new('registry');
$registry->init(allows_streaming => 1, extra => ['--encoding=UTF8']);
$registry->append_conf('postgresql.conf', "restart_after_crash = on\nclient_connection_check_interval = '1s'");
$registry->start;
$registry->safe_psql('postgres', <<'END');
CREATE SCHEMA uidgen_registry;
CREATE TABLE called();
CREATE FUNCTION uidgen_registry.write() RETURNS int LANGUAGE sql AS $$ INSERT INTO called DEFAULT VALUES; SELECT current_setting('port')::int $$;
CREATE FUNCTION uidgen_registry.state() RETURNS text LANGUAGE sql AS $$
	SELECT pg_backend_pid() || ' ' || current_setting('client_encoding') || ' ' || count(*) FROM pg_prepared_statements $$;
CREATE FUNCTION uidgen_registry.refuse() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'no' USING ERRCODE = '53400'; END $$;
CREATE FUNCTION uidgen_registry.warn() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'beware'; RETURN 1; END $$;
CREATE FUNCTION uidgen_registry.slow() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM pg_sleep(3600) $$;
END
$registry->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($registry, 'backup', has_streaming => 1);
$standby->start;

# Two databases, of two servers, behind one pooler.
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $user = getpwuid($<);
append_to_file("$dir/pgbouncer.ini", <<"END");
[databases]
primary = host=@{[ $registry->host ]} port=@{[ $registry->port ]} dbname=postgres user=$user pool_size=3
standby = host=@{[ $standby->host ]} port=@{[ $standby->port ]} dbname=postgres user=$user
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $dir
auth_type = any
pool_mode = transaction
server_login_retry = 0.1
idle_transaction_timeout = 2
query_timeout = 4
logfile = $dir/log
END
my $pooler = IPC::Run::start([ $pgbouncer, "$dir/pgbouncer.ini" ], '<', \undef, '>', "$dir/out", '2>&1');
END
{
	my $status = $?;
	$pooler->kill_kill if $pooler;
	$? = $status;
}
my $node = client_node();
my ($primary, $replica) = map { "host=$dir port=$port dbname=$_" } 'primary', 'standby';
poll_until(sub { -S "$dir/.s.PGSQL.$port" }) or BAIL_OUT('pgbouncer does not start');

# The pooler ends a statement after four seconds, for which a busy machine may stand still now and then: then it is called again.
my $WRITE = qr/^write=/;
my $LONG = 1000 * $PostgreSQL::Test::Utils::timeout_default;
is(calls_until($WRITE, $node, $primary, "SELECT client_call('write')"), 'write=' . $registry->port, 'a call');
my @states = map { calls_until(qr/^(?:state=.*\s*){5}$/, $node, $primary, "SELECT client_call('state');\n" x 5) =~ /^state=\d+ (.*)$/mg } 1 .. 4;
is_deeply(\@states, [ ('UTF8 0') x 20 ], 'many, in several sessions; none leaves a prepared statement');
is(calls_until($WRITE, $node, "$primary target_session_attrs=read-only options='-c work_mem=1MB'", "SELECT client_call('write')"), 'write=' . $registry->port,
	'options that do not work behind a pooler are not passed on');
calls_fail($node, $primary, "SELECT client_call('refuse')", '53400', 'no\n', 'a refusal', $LONG);
calls_fail($node, $primary, "SELECT client_call('warn')", '08007', 'the registry did not answer', 'a warning', $LONG);
calls_fail($node, $primary, "SELECT client_call('slow')", '08007', 'no answer within 200 ms', 'the time-out', 200);
calls_fail($node, "host=$dir port=$port dbname=nothing", 'SELECT client_connect()', '08001', 'could not connect', 'a database that is not pooled');

# Who keeps a transaction open, and lifts what the registry does against that, is ended by the pooler.
foreach my $will ([ 'stands idle', '' ], [ 'is busy', 'SELECT pg_sleep(3600);' ])
{
	my ($name, $sql) = @$will;
	my $holder = IPC::Run::start([ $registry->installed_command('psql'), '-XAtq', '-d', "$primary user=$user" ], '<',
		\my $in, '>', \my $out, '2>', \my $err, IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default));
	$in = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0; LOCK TABLE called; SELECT 'locked'; $sql\n";
	$holder->pump until $out =~ /locked/ || $err ne '' || !$holder->pumpable;
	like($out, qr/locked/, "a transaction that $name has a lock") or diag($err);
	ok(poll_until(sub { $registry->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE relation = 'called'::regclass AND granted}) eq '0' }),
		'... and the pooler ends it');
	$holder->kill_kill;
}
is(calls_until($WRITE, $node, $primary, "SELECT client_call('write')"), 'write=' . $registry->port, 'calls go on');

# One connection of the pooler has to do with all that follows.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query('\set VERBOSITY verbose');
$session->query_safe(RemoteRegistry::configured($primary));
ok(poll_until(sub { $session->query("SELECT client_call('write')") eq 'write=' . $registry->port }), 'a session of its own');
$registry->stop('fast');
$registry->start;
poll_until(sub { $session->query("SELECT client_call('write')") eq 'write=' . $registry->port });
my $errors = $session->{stderr};
unlike($errors, qr/ERROR:  (?!08007)/, 'the server is restarted: calls go on, and those between had no answer') or diag($errors);
my @stopped = stop_processes($registry);
calls_fail($node, $primary, "SELECT client_connect(); SELECT client_call('write')", '08007', 'no answer within 500 ms',
	'the server is frozen, though the pooler lets sessions in', 500);
kill 'CONT', @stopped;

# The pooler goes on to say what the server was when it logged in.
calls_fail($node, $replica, "SELECT client_call('write')", '25006', 'no host of the registry takes writes', 'a standby behind the pooler', $LONG);
$standby->promote;
is(calls_until($WRITE, $node, $replica, "SELECT client_call('write')"), 'write=' . $standby->port, 'it is promoted, and takes writes');
$session->quit;

done_testing();
