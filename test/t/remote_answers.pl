# Which answer of a registry on another server counts, and what is said of the others.  One
# that counts is committed there; a refusal comes through as it is, and nothing is committed;
# everything else is a call without an answer (SQLSTATE 08007).
# Promise: none; part: src/remote
# Kills: src/remote/client.c receive_answer: if (PQstatus(conn) != CONNECTION_OK || PQtransactionStatus(conn) != PQTRANS_IDLE) => if (PQstatus(conn) != CONNECTION_OK && PQtransactionStatus(conn) != PQTRANS_IDLE)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use RemoteRegistry;
use UidgenTest;

my $node = client_node();
my $registry = PostgreSQL::Test::Cluster->new('registry');
# Without senders of WAL, no commit waits for a standby.
$registry->init(allows_streaming => 1, extra => ['--encoding=UTF8']);
$registry->append_conf('postgresql.conf', 'restart_after_crash = on');
$registry->start;
$registry->safe_psql('postgres', <<'END');
CREATE SCHEMA uidgen_registry;
CREATE TABLE called(what text);
-- Notes the call, and answers with so many rows.
CREATE FUNCTION uidgen_registry.rows(a text) RETURNS TABLE (number bigint, nothing text) LANGUAGE sql
	AS $$ INSERT INTO called VALUES ('rows ' || a); SELECT g, NULL FROM generate_series(1, a::bigint) AS g $$;
CREATE FUNCTION uidgen_registry.scalar(a text, b text) RETURNS text LANGUAGE sql AS $$ SELECT a || b $$;
CREATE FUNCTION uidgen_registry.process() RETURNS int LANGUAGE sql AS $$ SELECT pg_backend_pid() $$;
CREATE FUNCTION uidgen_registry.say(a text, b text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO called VALUES (a);
	IF a = 'notice' THEN RAISE NOTICE '%', b; END IF;
	IF a = 'warning' THEN RAISE WARNING '%', b; END IF;
	IF a = 'error' THEN RAISE 'no, %', b USING ERRCODE = '53400', DETAIL = 'why ' || b, HINT = 'do ' || b; END IF;
	RETURN true;
END $$;
CREATE FUNCTION uidgen_registry.slow() RETURNS bool LANGUAGE sql AS $$ INSERT INTO called VALUES ('slow'); SELECT pg_sleep(3600) IS NULL $$;
CREATE FUNCTION uidgen_registry.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused at the end'; END $$;
CREATE TABLE checked(what text);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON checked DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION uidgen_registry.late();
CREATE FUNCTION uidgen_registry.deferred() RETURNS bool LANGUAGE sql AS $$ INSERT INTO checked VALUES (''); SELECT true $$;
END
my $to = [$registry];

sub committed
{
	my ($what) = @_;
	return $registry->safe_psql('postgres', "SELECT count(*) FROM called WHERE what = '$what'");
}

# ---- answers that count ----

is(calls($node, $to, 'SELECT client_version()'), slurp_file("$FindBin::RealBin/../../uidgen.control") =~ /^default_version = '(.*)'/m ? $1 : '', 'the library file says its version');
is(calls($node, $to, "SELECT client_call('rows', '1')"), 'number=1 nothing=NULL', 'a row');
is(committed('rows 1'), 1, 'which is committed');
is(calls($node, $to, "SELECT client_call('scalar', 'a ''b\"', 'c\\')"), q{scalar=a 'b"c\\}, 'arguments are no SQL');
is(calls($node, $to, "SELECT client_call('scalar', '1', E'\\n\\u00e9\\u20ac')"), 'scalar=1??????', 'what is not printable ASCII is replaced');
my $kept = join "\n", map { "SELECT client_call('process') AS process_$_ \\gset" } 1 .. 2;
is(calls($node, $to, "$kept\n\\echo :process_1 :process_2") =~ /^(\S+) \1$/, 1, 'the connection is kept');
is(calls($node, $to, "SELECT client_call('say', 'notice', 'x')"), 'say=t', 'a notice does no harm');

# ---- refusals ----

calls_fail($node, $to, "SELECT client_call('say', 'error', 'sir')", '53400', 'no, sir.*DETAIL:  why sir SQLSTATE 53400 of uidgen_registry.say, host .*HINT:  do sir', 'a refusal comes through');
calls_fail($node, $to, "SELECT client_call('say', 'error', repeat('long', 1000))", '53400', 'no, (long)+[long]*\.\.\.\n.*(long)+[long]*\.\.\..*(long)+[long]*\.\.\.\n', 'a long one is cut');
calls_fail($node, $to, "SELECT client_call('say', 'error', U&'z\\00fcrich\\6771')", '53400', 'configuration_limit_exceeded\n', 'one that is not ASCII is told by its SQLSTATE');
calls_fail($node, $to, "SELECT client_call('nowhere')", '42883', 'function uidgen_registry.nowhere\(\) does not exist\n.*HINT:  The database that "uidgen.registry" names has no registry', 'no such function');
calls_fail($node, "port=@{[ $registry->port ]} host=@{[ $registry->host ]} dbname=template1", "SELECT client_call('scalar', '1')", '3F000',
	'schema "uidgen_registry" does not exist\n.*HINT:  The database that "uidgen.registry" names has no registry', 'a database without a registry');
$registry->safe_psql('postgres', 'CREATE ROLE nobody_special LOGIN; REVOKE EXECUTE ON FUNCTION uidgen_registry.process() FROM PUBLIC; GRANT USAGE ON SCHEMA uidgen_registry TO PUBLIC');
calls_fail($node, "port=@{[ $registry->port ]} host=@{[ $registry->host ]} dbname=postgres user=nobody_special", "SELECT client_call('process')", '42501',
	'permission denied for function process\n.*HINT:  The owner of the registry can run SELECT uidgen_registry.grant_node', 'a role that is no node');
calls_fail($node, $to, "SELECT client_call('deferred')", '08007', 'there was more than one result: .*refused at the end', 'an error while it commits is no answer that counts');
is(committed('error'), 0, 'what was refused is not committed');
is( calls($node, $to, "SELECT client_call('process') AS process_1 \\gset
\\set ON_ERROR_STOP 0
SELECT client_call('say', 'error', 'x');
SELECT client_call('process') AS process_2 \\gset
\\echo :process_1 :process_2") =~ /^(\S+) \1$/, 1, 'the connection is kept after a refusal');

# ---- no answer ----

my $NONE = 'the registry did not answer.*DETAIL:  uidgen_registry\.';

calls_fail($node, $to, "SELECT client_call('rows', '2')", '08007', "${NONE}rows, .*: it has 2 rows", 'two rows');
calls_fail($node, $to, "SELECT client_call('rows', '0')", '08007', "${NONE}rows, .*: it has 0 rows", 'no row');
calls_fail($node, $to, "SELECT client_call('say', 'warning', 'beware')", '08007', "${NONE}say, .*: it came with the warning \"beware\"", 'a warning');
is(committed('warning'), 1, 'it is committed there, nevertheless');
calls_fail($node, $to, "SELECT client_call('scalar', repeat('x', 5000000), repeat('y', 5000000))", '08007', "${NONE}scalar, .*: the answer is too long", 'a huge answer');
like(calls($node, $to, "\\set ON_ERROR_STOP 0
SELECT client_call('say', 'warning', 'x');
SELECT client_host() IS NULL;
SELECT client_call('rows', '1');"), qr/^t\n.*number=1/s, 'the connection is closed, and the next call makes another');
calls_fail($node, $to, "SELECT client_call('slow')", '08007', "${NONE}slow, .*: no answer within 200 ms", 'the time-out', 200);
# It goes on there.
my $SLOW = "FROM pg_stat_activity WHERE query LIKE 'SELECT * FROM uidgen_registry.slow%'";
$registry->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $SLOW");
$registry->poll_query_until('postgres', "SELECT count(*) = 0 $SLOW") or die 'it goes on';

# Run SQL in a session of its own, and do something to the registry when its process there is
# in a wait.  Returns what psql said.
sub meanwhile
{
	my ($sql, $wait_event, $code) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query("\\set VERBOSITY verbose");
	$session->query(RemoteRegistry::configured($to));
	$session->query_until(qr/started/, "\\echo started\n$sql\n");
	my $pid;
	poll_until(sub {
		$pid = (try_psql($registry,
			"SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT * FROM uidgen_registry%' AND state = 'active' AND wait_event = '$wait_event'"))[1]
		  =~ /^(\d+)$/ ? $1 : 0;
	}) or die "there is no process that waits for $wait_event";
	$code->($pid);
	$session->query("SELECT 1");
	my $said = $session->{stderr};
	$session->quit;
	return $said;
}

my $registry_sql = sub { my ($sql) = @_; return sub { $registry->safe_psql('postgres', sprintf($sql, $_[0])) } };
like(meanwhile("SELECT client_call('slow');", 'PgSleep', $registry_sql->('SELECT pg_cancel_backend(%d)')), qr/57014: canceling statement due to user request/, 'a cancel there is a refusal');
like(meanwhile("SELECT client_call('slow');", 'PgSleep', $registry_sql->('SELECT pg_terminate_backend(%d)')), qr/08007: .*terminating connection due to administrator command/s, 'the end of the session there');
my $log = -s $registry->logfile;
like(meanwhile("SELECT client_call('slow');", 'PgSleep', sub { kill 'KILL', $_[0] }), qr/08007: .*the registry did not answer/s, 'the server there crashes');
await_recovery($registry, $log);

# A commit that waits for a synchronous standby, and is let go.
my $rows = committed('rows 1');
$registry->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
$registry->reload;
$registry->poll_query_until('postgres', 'SHOW synchronous_standby_names', 'nobody');
# Commits wait once the checkpointer, too, has read it.
$registry->safe_psql('postgres', 'CHECKPOINT');
like(meanwhile("SELECT client_call('rows', '1');", 'SyncRep', $registry_sql->('SELECT pg_cancel_backend(%d)')),
	qr/08007: .*it came with the warning "canceling wait for synchronous replication/s, 'a commit that waits for a standby is cancelled');
like(meanwhile("SELECT client_call('rows', '1');", 'SyncRep', $registry_sql->('SELECT pg_terminate_backend(%d)')), qr/08007: .*the registry did not answer/s, 'and one is terminated');
is(committed('rows 1'), $rows + 2, 'both are committed there, for as long as that server lives');
$registry->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$registry->reload;

# The server was restarted while there was nothing to do: that costs no answer.
my $idle = $node->background_psql('postgres');
$idle->query_safe(RemoteRegistry::configured($to));
is($idle->query_safe("SELECT client_call('rows', '1')"), 'number=1 nothing=NULL', 'a call');
$registry->stop('fast');
$registry->start;
is($idle->query_safe("SELECT client_call('rows', '1')"), 'number=1 nothing=NULL', 'a call after a restart');
$idle->quit;

# ---- what no PostgreSQL says ----

my $endless = [ join('', map { RemoteRegistry::message('N', "SNOTICE\0VNOTICE\0C00000\0M" . 'x' x 20000 . "\0\0") } 1 .. 1000), '' ];
my $fake = fake_server({
	good => row('1'),
	row_and_end => [ row('1') ],
	row_and_fatal => [ row('1') . error_message('E', 'FATAL', '57P01', 'terminated') ],
	row_and_error => row('1') . error_message('E', 'ERROR', '40001', 'not committed'),
	row_in_transaction => [ row('1'), RemoteRegistry::message('Z', 'T') ],
	two_statements => row('1') . row('2'),
	nothing => '',
	empty => RemoteRegistry::message('I', ''),
	command => RemoteRegistry::message('C', "UPDATE 1\0"),
	copy => RemoteRegistry::message('H', pack('C n', 0, 0)),
	fatal => [ error_message('E', 'FATAL', '57P01', 'terminated') ],
	fatal_but_alive => error_message('E', 'FATAL', '53400', 'terminated'),
	error_and_end => [ error_message('E', 'ERROR', '22023', 'no') ],
	ambiguous => error_message('E', 'ERROR', '40003', 'who knows'),
	connection => error_message('E', 'ERROR', '08006', 'the server behind the pooler is lost'),
	success => error_message('E', 'ERROR', '00000', 'nothing is wrong'),
	strange => error_message('E', 'ERROR', '2%', 'strange'),
	unknown_severity => error_message('N', 'ALARM', '01000', 'fire') . row('1'),
	warning_later => row('1') . error_message('N', 'WARNING', '01000', 'not replicated'),
	notices => join('', map { error_message('N', 'NOTICE', '00000', 'n') } 1 .. 100) . row('1'),
	no_text => RemoteRegistry::message('E', "SERROR\0VERROR\0C53400\0\0"),
	zero_inside => row("1\0002"),
	latin1 => error_message('E', 'ERROR', '53400', "m\xfcde\t\n\x07ist  er"),
	endless => $endless,
	nonsense => [ 'nonsense' x 10 ],
});
is(calls($node, [$fake], "SELECT client_call('good')"), 'value=1', 'the host that is made up can give an answer that counts');
is(calls($node, [$fake], "SELECT client_call('notices')"), 'value=1', 'many notices');
is(calls($node, [$fake], "SELECT client_call('zero_inside')"), 'value=1?2', 'a zero byte does not end a value');
calls_fail($node, [$fake], "SELECT client_call('$_->[0]')", '08007', $NONE . $_->[0] . ", .*: $_->[1]", "no answer: $_->[0]") foreach (
	[ 'row_and_end', '.*server closed the connection' ],
	[ 'row_and_fatal', 'there was more than one result: .*terminated' ],
	[ 'row_and_error', 'there was more than one result: .*not committed' ],
	[ 'row_in_transaction', 'the connection was lost' ],
	[ 'two_statements', 'there was more than one result' ],
	[ 'nothing', 'there was no result' ],
	[ 'empty', 'the result is of the kind PGRES_EMPTY_QUERY' ],
	[ 'command', 'the result is of the kind PGRES_COMMAND_OK' ],
	[ 'copy', 'the result is of the kind PGRES_COPY_OUT' ],
	[ 'fatal', '.*terminated' ],
	[ 'fatal_but_alive', '.*terminated' ],
	[ 'error_and_end', '.*server closed the connection' ],
	[ 'ambiguous', '.*who knows' ],
	[ 'connection', '.*the server behind the pooler is lost' ],
	[ 'success', '.*nothing is wrong' ],
	[ 'strange', '.*strange' ],
	[ 'unknown_severity', 'it came with the warning "fire"' ],
	[ 'warning_later', 'it came with the warning "not replicated"' ],
	[ 'endless', 'the answer is too long' ],
	[ 'nonsense', '' ]);
calls_fail($node, [$fake], "SELECT client_call('no_text')", '53400', 'the registry refused without a message', 'a refusal without a text');
calls_fail($node, [$fake], "SELECT client_call('latin1')", '53400', 'configuration_limit_exceeded\n', 'a refusal in another encoding');

my $closed = fake_server({ connect => error_message('E', 'FATAL', '57P03', "das Datenbanksystem startet; \xfcb\xe9r") });
calls_fail($node, [$closed], 'SELECT client_connect()', '08001', 'could not connect to the registry\n.*failed: cannot_connect_now', 'a host that refuses, in another encoding');
my $talks = fake_server({ registry_identity => [ $endless->[0] ] });
calls_fail($node, [ $talks, refused_port() ], 'SELECT client_connect()', '08001', 'the answer is too long', 'a host that does not stop saying which registry it has');

# One host has answered, and the other one ends when that connection does: the time-out ends the one that nobody waits for.
my $silent = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1', Blocking => 0) or die "could not listen: $!";
my $answered = fake_server({ good => row('1'), ended => sub { 1 while $silent->accept } });
is(calls_until(qr/^value|closed the connection/, $node, [ $answered, $silent->sockport ], "SELECT client_call('good')", 1000), 'value=1', 'a host that says nothing, beside one that has answered');

done_testing();
