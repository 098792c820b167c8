# The keeper is a superuser in a database where others may create objects and set
# settings as they like: it does not run their functions, and their settings do not
# count.  pg_regress has the extension in its one database from the start.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EverySetting;
use UidgenTest;

# A commit that is not flushed at once would stay unflushed for long.
my $node = uidgen_node('main', "uidgen.database = 'registry'", 'uidgen.window = 500ms', 'wal_writer_delay = 10s',
	'autovacuum = off');
$node->start;
# The registry in this database is for its declarations alone.
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');
$node->safe_psql('postgres', 'CREATE DATABASE registry');

# ---- a schema of the same name ----

# Made by a role that may create schemas: functions that are declared like those that the
# keeper calls, but leave traces.
my $TRACE = "LANGUAGE plpgsql AS \$\$ BEGIN RAISE LOG 'forged'; CREATE TABLE public.trace(); END \$\$";
my @calls = split /\n/, $node->safe_psql('postgres',
	"SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ')' FROM pg_proc AS p
	JOIN pg_namespace AS n ON n.oid = pronamespace
	WHERE nspname = 'uidgen_registry' AND p.proname IN ('acquire_worker_id', 'renew_worker_id', 'release_worker')");
is(scalar(@calls), 3, 'three functions are forged');
$node->safe_psql('registry',
	'CREATE ROLE mallory; GRANT CREATE ON DATABASE registry TO mallory; GRANT CREATE ON SCHEMA public TO mallory');
$node->safe_psql('registry',
	join('; ', 'SET ROLE mallory', 'CREATE SCHEMA uidgen_registry', map { "CREATE FUNCTION uidgen_registry.$_ $TRACE" } @calls));

# No forged function has been called up to now.
sub no_trace
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('registry', "SELECT to_regclass('public.trace') IS NULL"), 't', "$name is not run");
	unlike(log_since($node, 0), qr/LOG:  forged/, "$name is not run at all");
}

fails_with($node, 'SELECT uid_next()', '55000', qr/cannot be made in database "registry", which has a schema "uidgen_registry" already/,
	'a schema that somebody made is not taken for the extension') foreach 1 .. 2;
no_trace('what is in it');
fails_with($node, 'CREATE EXTENSION uidgen_registry', '42P06', qr/schema "uidgen_registry" already exists/,
	'the extension is not mixed with it', 'registry');
$node->safe_psql('registry', 'DROP SCHEMA uidgen_registry CASCADE');
$node->safe_psql('registry', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');
my $id = $node->safe_psql('postgres', 'SELECT uid_next()');
cmp_ok($id, '>', 0, 'with the extension, ids are issued');
# It was created before there was a registry.
$node->safe_psql('postgres', 'SELECT uidgen.use_layout()');

# Beside the real functions, made by a role that an administrator let into the schema:
# some with fewer arguments, before them in the catalog, and some with other types,
# behind them.
$node->safe_psql('registry', 'GRANT USAGE, CREATE ON SCHEMA uidgen_registry TO mallory');
$node->safe_psql('registry',
	join('; ', 'SET ROLE mallory',
		map { "CREATE FUNCTION uidgen_registry.$_ $TRACE" }
		  map { (s/\(.*/() RETURNS boolean/r, s/\b(bigint|boolean|integer|text)\b/uuid/gr) } @calls));
my $drawing = start_drawing($node);
ok($node->poll_query_until('postgres', 'SELECT renewals > 1 FROM uidgen.status'), 'the grant is renewed');
stop_drawing($drawing);
$node->restart;
$id = $node->safe_psql('postgres', 'SELECT uid_next()');
no_trace('what is beside the extension');

# In place of a real function.
my ($acquire) = grep { /^acquire/ } map { s/, OUT.*/)/r } @calls;
$node->safe_psql('registry', "ALTER EXTENSION uidgen_registry DROP FUNCTION uidgen_registry.$acquire");
$node->restart;
fails_with($node, 'SELECT uid_next()', '55000',
	qr/function uidgen_registry.acquire_worker_id does not belong to the extension.*"registry".*HINT:/s,
	'a function that was taken out of the extension is not run');
$node->safe_psql('registry', "ALTER EXTENSION uidgen_registry ADD FUNCTION uidgen_registry.acquire_worker_id()");
fails_with($node, 'SELECT uid_next()', '55000', qr/function uidgen_registry.acquire_worker_id does not belong to the extension/,
	'nor one with other arguments');
foreach ([ '0.1.0', 'ALTER EXTENSION uidgen_registry UPDATE' ], [ '999.0', 'restart' ])
{
	my ($version, $hint) = @$_;
	$node->safe_psql('registry', "UPDATE pg_extension SET extversion = '$version' WHERE extname = 'uidgen_registry'");
	fails_with($node, 'SELECT uid_next()', '55000',
		qr/"registry" is of version \Q$version\E, but the library is of version .*HINT:.*$hint/s,
		"what to do depends on which side is older: extension $version");
}
$node->safe_psql('registry', "UPDATE pg_extension SET extversion = uidgen.library_version() WHERE extname = 'uidgen_registry'");
$node->safe_psql('registry', "ALTER EXTENSION uidgen_registry DROP FUNCTION uidgen_registry.acquire_worker_id()");
$node->safe_psql('registry', "ALTER EXTENSION uidgen_registry ADD FUNCTION uidgen_registry.$acquire");
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $id, 'put back, it is');
no_trace('what was put in its place');

# ---- settings ----

# If it counted, each of these settings would break the registry's calls.
my %hostile = (
	check_function_bodies => 'on',
	datestyle => 'German',
	default_transaction_deferrable => 'on',
	default_transaction_isolation => 'serializable',
	default_transaction_read_only => 'on',
	lock_timeout => '1ms',
	'plpgsql.variable_conflict' => 'use_column',
	role => 'mallory',
	search_path => 'evil',
	session_replication_role => 'replica',
	statement_timeout => '1ms',
	synchronous_commit => 'off',
	timezone => 'Pacific/Kiritimati',
	$node->pg_version >= 17 ? (transaction_timeout => '1ms') : ());
$node->safe_psql('registry', 'CREATE SCHEMA evil');
$node->safe_psql('registry', "CREATE FUNCTION evil.$_ $TRACE")
  foreach 'clock_timestamp() RETURNS timestamptz', 'gen_random_uuid() RETURNS uuid', 'floor(numeric) RETURNS numeric';
$node->safe_psql('postgres', join('; ', map { "ALTER DATABASE registry SET $_ = '$hostile{$_}'" } sort keys %hostile));
$node->safe_psql('postgres', "ALTER ROLE ALL SET default_transaction_read_only = 'on'");
$node->restart;

$drawing = start_drawing($node);
ok($node->poll_query_until('postgres', 'SELECT renewals > 1 FROM uidgen.status'),
	'with hostile settings, the grant is renewed');
my $ids = stop_drawing($drawing);
cmp_ok($ids->[0], '>', $id, 'and ids go on');
is($node->safe_psql('postgres', 'SELECT failures FROM uidgen.status'), '0', 'without a failure');

# This test must not run with those settings itself.
$ENV{PGOPTIONS} = '-c statement_timeout=0 -c role=none -c search_path=public -c default_transaction_read_only=off';
$ENV{PGOPTIONS} .= ' -c transaction_timeout=0' if $node->pg_version >= 17;
# Not while a renewal is on its way.
await_keeper($node);
my $granted = $node->safe_psql('postgres', 'SELECT granted_until FROM uidgen.status');
$node->stop('immediate');
$node->start;
is( $node->safe_psql(
		'registry', "SELECT n.granted_until * interval '1 ms' + epoch = '$granted'
			FROM uidgen_registry.worker_node AS n, uid_layout_info()"),
	't',
	'what was granted is on disk');
no_trace('what is first in the path');
$node->safe_psql('registry', 'SELECT uid_next()');
$node->restart;
is($node->safe_psql('registry', 'SELECT released FROM uidgen_registry.worker_node'), 't', 'and it is released at the end');

# ---- each setting ----

# The next keeper gets a grant and renews it, without being replaced by another one,
# without a failure, and without the settings having an effect; at least one round would
# have messages of each level go to the log.  A grant that lasts half a second may be over when it is looked at.
sub keeper_works
{
	my ($set) = @_;
	end_keeper($node) or die 'no keeper comes';
	my ($renewals, $failures) = split /\|/, $node->safe_psql('postgres', 'SELECT renewals, failures FROM uidgen.status');
	my $log = -s $node->logfile;
	my $drawing = start_drawing($node);
	my $renewed = $node->poll_query_until('postgres',
		"SELECT renewals > $renewals + 1 OR failures > $failures FROM uidgen.status");
	my $state = $node->safe_psql('postgres', "SELECT state, failures - $failures, last_error FROM uidgen.status");
	stop_drawing($drawing);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $said = join '', grep { /FATAL|DEBUG|: +uidgen (?!acquired)/ } split /^/, log_since($node, $log);
	ok($renewed && $state =~ /^(?:granted|idle)\|0\|$/ && $said eq '', "with $set, the keeper gets its grant and renews it")
	  || diag("$state\n" . substr($said, 0, 2000));
}

sub reset_all
{
	$node->safe_psql('postgres', 'ALTER DATABASE registry RESET ALL');
}

$node->safe_psql('postgres', 'ALTER ROLE ALL RESET ALL');
my $every = EverySetting->new($node, 'postgres');
foreach my $round (1 .. $every->rounds)
{
	reset_all();
	my $name = $every->set('DATABASE registry', $round);
	$node->safe_psql('postgres', "ALTER DATABASE registry SET $_ = mallory") foreach qw(role session_authorization);
	keeper_works($name);
}

# Where one hides what another does.
foreach my $set (
	'exit_on_error = on', 'default_transaction_read_only = on', "default_transaction_isolation = 'serializable'",
	'role = mallory', 'session_authorization = mallory', "statement_timeout = '1ms'", "lock_timeout = '1ms'",
	"idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '1ms'",
	$node->pg_version >= 17 ? ("transaction_timeout = '1ms'", 'event_triggers = off') : (),
	$node->pg_version->major < 19 ? 'standard_conforming_strings = off' : (),
	'transform_null_equals = on', 'array_nulls = off',
	"session_replication_role = 'replica'", 'log_min_messages = debug5', 'max_stack_depth = 100')
{
	reset_all();
	$node->safe_psql('postgres', "ALTER DATABASE registry SET $set");
	keeper_works($set);
}
reset_all();

# Once connected, the keeper follows the configuration files again: here, in what it
# writes to the log.
my $connected = the_keeper($node);
$node->append_conf('postgresql.conf', "log_min_messages = 'fatal'\n");
$node->reload;
ok( poll_until(sub {
			my $log = -s $node->logfile;
			$node->safe_psql('registry', by_hand(q{UPDATE uidgen_registry.worker_node SET identity = 'another', token = NULL WHERE identity <> 'another'}));
			$node->safe_psql('postgres', 'SELECT severity FROM uidgen.diagnose()') eq 'ok' && log_since($node, $log) !~ /acquired worker id/;
		}),
	'a setting that the configuration file changes counts for the keeper');
is(keeper_pid($node), $connected, 'which has not connected anew for it');
$node->append_conf('postgresql.conf', "log_min_messages = 'warning'\n");
$node->reload;

# If they are set for the whole server, the settings that the registry relies on are still
# as they must be.
$node->append_conf('postgresql.conf', join("\n",
		'exit_on_error = on',
		'default_transaction_read_only = on',
		"default_transaction_isolation = 'serializable'",
		"session_replication_role = 'replica'",
		"search_path = 'evil'",
		"lock_timeout = '1ms'",
		"statement_timeout = '1ms'",
		# less than the keeper waits for a lock, but enough for us to connect
		$node->pg_version >= 17 ? "transaction_timeout = '800ms'" : ()) . "\n");
$ENV{PGOPTIONS} .= ' -c exit_on_error=off -c lock_timeout=0 -c session_replication_role=origin';
$node->restart;
$node->safe_psql('postgres', 'SELECT uid_next()');
keeper_works('hostile settings in the configuration file');
my $locker = $node->background_psql('registry');
$locker->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
my $keeper = the_keeper($node);
ok( poll_until(sub { (sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()'))[1] =~ /lock timeout/ }),
	'an error of the registry ends the attempt');
is(keeper_pid($node), $keeper, 'and not the keeper');
$locker->query_safe('COMMIT');
$locker->quit;

done_testing();
