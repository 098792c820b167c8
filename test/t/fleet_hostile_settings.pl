# Settings of the registry's database and of a node's role: those that keep nodes from being served are named when they are
# made, by share_registry() and grant_node(), and by the next call of a node that runs; all others have no effect on nodes.
# keeper_hostile_database has the local registry, whose keeper can lift all of them.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EverySetting;
use Fleet;
use RemoteRegistry qw(share_registry);
use UidgenTest;

my $LAYOUT = "'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'";
my $registry = PostgreSQL::Test::Cluster->new('registry');
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

# ---- when a registry or a node is made ----

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

# ---- nodes that run ----

my $hosts = hosts($registry) =~ s/dbname=postgres/dbname=registry user=node/r;
my $node = fleet_node('node', $hosts, 'log_statement = none');
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
fails_with($registry, 'SELECT FROM uidgen_registry.node_renew(0, 1, 1, 1, 1, 1, 1, 1, 1)', '25006',
	qr/the registry cannot be written with "default_transaction_read_only"\n.*HINT:.*ALTER DATABASE registry RESET/s, 'a call says which setting it is', 'registry');
$registry->safe_psql('postgres', 'ALTER DATABASE registry RESET ALL');

# ---- each setting ----

# All others that ALTER ROLE can set, but for those whose error the server itself says with their name.  Together with client_min_messages at a debug level, what the first of these print makes an answer
# longer than a node reads; it says so.
my @printing = qw(debug_print_parse debug_print_plan debug_print_rewritten);
my $every = EverySetting->new($registry, 'registry',
	but => [ @printing, qw(default_transaction_isolation default_transaction_read_only session_replication_role statement_timeout transaction_timeout
		  session_preload_libraries local_preload_libraries dynamic_library_path default_table_access_method) ]);
foreach my $round (1 .. $every->rounds)
{
	my $name = $every->set('ROLE node IN DATABASE registry', $round);
	my $log = -s $node->logfile;
	begin_sessions_anew();
	my $renewals = status_of($node, 'renewals');
	ok(poll_until(sub { asks(); status_of($node, "renewals > $renewals + 1") eq 't' }), "$name: the node is served") or diag(log_since($node, $log));
	unlike(log_since($node, $log), qr/uidgen acquired/, '... and goes on with its worker id');
	$registry->safe_psql('postgres', 'ALTER ROLE node IN DATABASE registry RESET ALL');
}
# Where one hides what another does.
foreach my $set ((map { "$_ = on" } @printing), 'client_min_messages = debug5', 'max_stack_depth = 100', "search_path = 'evil'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '1s'", "exit_on_error = on",
	'transform_null_equals = on', 'array_nulls = off', 'synchronous_commit = off', 'log_min_messages = debug5', "timezone = 'Pacific/Kiritimati'",
	$registry->pg_version->major < 19 ? 'standard_conforming_strings = off' : ())
{
	$registry->safe_psql('postgres', "ALTER ROLE node IN DATABASE registry SET $set");
	begin_sessions_anew();
	my $renewals = status_of($node, 'renewals');
	ok(poll_until(sub { asks(); status_of($node, "renewals > $renewals + 1") eq 't' }), "$set: the node is served") or diag(last_error($node));
	$registry->safe_psql('postgres', 'ALTER ROLE node IN DATABASE registry RESET ALL');
}
is(repeated(\@ids), 0, 'no id came twice');

done_testing();
