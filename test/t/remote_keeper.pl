# The keeper with a registry on another server: ids are issued by its grants, no state of that server and no
# wait for it keeps this one from starting or ending, and without the library file it says what is missing.

use File::Copy;
use FindBin;
use lib "$FindBin::RealBin/../perl";
use RemoteRegistry;
use UidgenTest;

# A plain server that holds the registry of a fleet.
my $registry = shared_registry('registry');
$registry->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
my $hole = black_hole();

my $node = uidgen_node('main', "uidgen.registry = '" . conninfo($registry) . "'", "uidgen.registry_timeout = '2s'", "uidgen.window = '500ms'",
	"uidgen.wait_timeout = '60s'", "include_if_exists = 'more.conf'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

my @ids;

sub goes_on
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ids_go_on($node, \@ids, $_[0]);
}

# Those of libpq and of uidgen that a process has loaded.
sub libraries
{
	my ($pid) = @_;
	return join ' ', sort { $a cmp $b } keys %{ { map { m{/((?:libpq|uidgen)[^/\s]*)$} ? ($1 => 1) : () } split /\n/, process_file($pid, 'maps') } };
}

# ---- as it should be ----

goes_on('a registry on another server');
is($registry->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), 1, 'the grant is its');
is($node->safe_psql('postgres', q{SELECT to_regnamespace('uidgen_registry') IS NULL}), 't', '... and not of this server, which has none');
is($node->safe_psql('postgres', 'SELECT registry FROM uidgen.status'), 'shared', 'uidgen.status says so');
ok($node->poll_query_until('postgres', 'SELECT severity FROM uidgen.diagnose()', 'ok'), 'and the diagnosis');
# The first keeper has looked into the local registry and ends because of that connection; the next one loads
# the library file when it is asked for something.
ok( poll_until(
		sub {
			$node->safe_psql('postgres', 'SELECT uid_next()');
			return $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'uidgen keeper'") eq '0'
			  && libraries(keeper_pid($node)) =~ /^libpq\.so\S* uidgen.so uidgen_libpq.so$/;
		}),
	'the keeper has the library file');
my $session = $node->background_psql('postgres');
$session->query_safe('SELECT uid_next()');
is(libraries($session->query_safe('SELECT pg_backend_pid()')), 'uidgen.so', 'nobody else has');
$session->quit;
is(libraries(slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/), 'uidgen.so', 'the postmaster has not');

# ---- the end ----

sub released
{
	return $registry->safe_psql('postgres', 'SELECT released FROM uidgen_registry.worker_node');
}
# It has a second for that, which a busy machine may take from it now and then.
my $released;
foreach (1 .. 5)
{
	push @ids, $node->safe_psql('postgres', 'SELECT uid_next()');
	$node->stop('fast');
	$released = released();
	$node->start;
	last if $released eq 't';
}
is($released, 't', 'a shutdown hands the grant back');
goes_on('restarted');
my @stopped = stop_processes($registry);
$node->stop('fast');
pass('a shutdown does not wait for a frozen registry');
$node->start;
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, "\\echo started\nSELECT uid_next();\n");
ok(poll_until(sub { ($node->safe_psql('postgres', 'SELECT last_error FROM uidgen.status')) eq 'could not connect to the registry' }),
	'while it is frozen, uidgen.status says why');
foreach my $timeout ('2s', '10min')
{
	change_setting($node, 'uidgen.registry_timeout', $timeout) if $timeout ne '2s';
	ok(end_keeper($node), "SIGTERM ends a keeper that waits for a connection ($timeout)");
}
$node->stop('fast');
pass('a shutdown does not wait for a connection either');
eval { $session->quit };
$node->start;
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, "\\echo started\nSELECT uid_next();\n");
poll_until(sub { keeper_pid($node) && libraries(keeper_pid($node)) =~ /libpq/ });
my $keeper = the_keeper($node);
kill_and_start($node);
ok(await_end($keeper), 'the end of the postmaster ends the wait');
eval { $session->quit };
kill 'CONT', @stopped;
$node->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.registry_timeout');
$node->restart;
goes_on('the registry is back');

# ---- changes ----

$registry->stop('fast');
$registry->start;
goes_on('the registry was restarted');
change_setting($node, 'uidgen.registry', conninfo($hole, $registry, $hole));
goes_on('more hosts');
my $log = -s $node->logfile;
change_setting($node, 'uidgen.registry', conninfo($registry) . ' target_session_attrs=standby');
goes_on('an option that does not count');
like(log_since($node, $log), qr/LOG:  uidgen ignores the option "target_session_attrs"/, 'which the log says');
change_setting($node, 'uidgen.registry', conninfo($registry) . ' user=stranger');
fails_with($node, "DO 'BEGIN FOR i IN 1 .. 100 LOOP PERFORM uid_next(), pg_sleep(0.1); END LOOP; END'", '55000', qr/permission denied/,
	'the registry refuses: callers are told');
change_setting($node, 'uidgen.registry', conninfo($registry) . ' port=1,2');
poll_until(sub { $node->safe_psql('postgres', 'SELECT last_error FROM uidgen.status') =~ /connection string/ });
fails_with($node, 'SELECT uid_next()', '22023', qr/the setting "uidgen.registry" is not a connection string that can be used.*2 ports for 1 hosts/s,
	'a string that makes no sense: callers are told');
change_setting($node, 'uidgen.registry', '');
goes_on('the registry of this server');
is($node->safe_psql('postgres', 'SELECT registry FROM uidgen.status'), 'local', 'uidgen.status says so');
change_setting($node, 'uidgen.registry', conninfo($registry));
goes_on('the other server again');
ok($node->poll_query_until('postgres', "SELECT registry = 'shared' FROM uidgen.status"), 'uidgen.status says so, once it has moved');
goes_on('moved');

# ---- passwords ----

# The value is refused, and nothing that is said repeats it; psql shows the line of the statement.
sub refused
{
	my ($value, $why, $name) = @_;
	my ($state, $text) = sqlstate_of($node, "ALTER SYSTEM SET uidgen.registry = '" . ($value =~ s/'/''/gr) . "'");
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like("$state $text", qr/^22023 .*$why.*the log may have this statement/s, "refused: $name");
	return unlike($text =~ s/^(LINE|psql:).*//mgr, qr/s3c|hunter/, '... without repeating it');
}
refused($_, 'It holds a password', $_)
  foreach "host=a password=s3cret", "password = s3cret", "host='/a b' password='s3cret'", "host=/a\\ PassWord:x password=s3cret", 'PASSWORD=s3cret', "sslpassword=s3cret",
  'postgresql://node:s3cret@a/uidgen', 'postgres://node:s3c/ret@a,b', 'postgres://node:s3c?ret@a', 'postgresql://a/uidgen?password=s3cret',
  'postgresql://a/x?user=y&p%61ssword=s3cret', "host=a password='s3cret";
# What libpq cannot read, it would report with a piece of it.
my $POSITION = 'DETAIL:\s+There is [^:@]* at position \d+\.';
refused($_, $POSITION, $_)
  foreach "host='a password=s3cret", "host=a, password s3cret", ' postgresql://u:s3cret@h/db', ' postgresql://u:s3cret@h/db?sslmode=require', 'Postgresql://u:s3cret@h/db',
  'postgres:/u:s3cret@h/db', 'u:s3cret@h/db', 'passwort=s3cret', 'pass=s3cret', 'host=h passwd=s3cret', "dbname='postgresql://u:s3cret\@h/db'", "dbname='user=u pass=s3cret'",
  'host=h\\ password=s3cret', 'host=postgresql://u:s3cret@h', 'port=s3cret', 'postgresql://node:s3cret%40a/uidgen', 'postgresql://a/uidgen?s3cret',
  'postgresql://a/uidgen?pass=s3cret', 'postgresql://[::1/s3cret', 'postgresql://[::1]s3cret/', 'postgresql://h/postgresql%3A%2F%2Fu%3Ahunter2%40h', '=s3cret', 's3cret';
foreach my $good (
	'', 'host=a passfile=/etc/password', "application_name='password=x' host=b", 'host=a user=password', 'postgresql://node@[::1]:5432/uidgen?application_name=a@b',
	'postgresql://a:5432,b:5433/uidgen', 'postgresql:///uidgen?host=/tmp&port=5433', 'postgresql://%2Fvar%2Frun/uidgen', 'postgres://', 'postgresql://a?ssl=true&sslmode=require',
	"host='/a folder' port='5432, 5433'", 'service=password', "host=@/abstract user = 'a\\'b' dbname=x ")
{
	is($node->psql('postgres', "ALTER SYSTEM SET uidgen.registry = '" . ($good =~ s/'/''/gr) . "'"), 0, "not refused: $good");
}
# Each option of the libpq that is there.
my $lister = build_program('tools/libpq_options', 'libpq_options', "-I$ENV{CLIENT_HEADERS}", "-L$ENV{CLIENT_LIBRARIES}", '-lpq');
my ($options) = run_command([$lister]);
my %is_secret = $options =~ /^(\w+) (\d)$/mg;
cmp_ok(scalar keys %is_secret, '>', 30, 'libpq has options');
foreach my $option (sort keys %is_secret)
{
	my $value = $option eq 'port' ? 1 : 'hunter2';
	# libpq shows these, which are as good as a password.
	$is_secret{$option} || $option =~ /^scram_\w+_key$/
	  ? refused("$option=$value", 'It holds a password', "the secret $option")
	  : is($node->psql('postgres', "ALTER SYSTEM SET uidgen.registry = '$option=$value'"), 0, "not refused: the option $option");
}
$node->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.registry');
$log = -s $node->logfile;
append_to_file($node->data_dir . '/more.conf', "uidgen.registry = ' postgresql://u:s3cret\@h/db'\n");
$node->reload;
ok(poll_until(sub { log_since($node, $log) =~ /invalid value for the setting "uidgen.registry"/ }), 'refused in a file');
unlike(log_since($node, $log), qr/s3cret/, 'the log does not repeat it');
$node->restart;
unlike(log_since($node, $log), qr/s3cret/, '... nor does it when the server starts');
fails_with($node, 'SELECT uid_next()', '22023', qr/uidgen\.registry.*DETAIL:  There is an option.* at position 2\./s, 'the server starts without ids');
unlink $node->data_dir . '/more.conf';
$node->restart;
goes_on('without it');
$node->safe_psql('postgres', 'CREATE ROLE nobody_special LOGIN');
fails_with($node, 'SET ROLE nobody_special; SHOW uidgen.registry', '42501', qr//, 'the setting is not for everybody');

# ---- without the library file ----

# And with one of another version, as when the files were replaced under a running server.  A server that has uidgen in a
# folder of its own, since others run from the usual one.
my $folder = PostgreSQL::Test::Utils::tempdir();
my $file = "$folder/uidgen_libpq.so";
my $installed = `pg_config --pkglibdir` =~ s/\n//r;
copy("$installed/uidgen.so", $folder) or die "could not copy uidgen.so: $!";
my $apart = uidgen_node('apart', "shared_preload_libraries = '$folder/uidgen'", "uidgen.registry = '" . conninfo($registry) . "'", "uidgen.window = '500ms'");
$apart->start;
$apart->safe_psql('postgres', "CREATE FUNCTION uid_next() RETURNS bigint AS '$folder/uidgen', 'uidgen_next' LANGUAGE C STRICT;
	CREATE FUNCTION uid_timestamp(bigint) RETURNS timestamptz AS '$folder/uidgen', 'uidgen_timestamp' LANGUAGE C STRICT");
foreach my $what ('missing', 'not to be loaded')
{
	append_to_file($file, "no library\n") if $what ne 'missing';
	$apart->restart;
	fails_with($apart, 'SELECT uid_next()', '55000', qr/could not load the library file by which uidgen reaches the registry.*HINT:  Install libpq/s,
		"the library file is $what: callers are told");
	like($apart->safe_psql('postgres', 'SELECT uid_timestamp(1)'), qr/^2025/, '... and the rest works');
}
my @sources = glob "$FindBin::RealBin/../../src/remote/*.c";
my ($out, $err) = run_command([ $ENV{CC} || 'gcc', '-shared', '-fPIC', '-D_GNU_SOURCE', '-DUIDGEN_VERSION="0.0.0"', "-I$FindBin::RealBin/../../src",
	"-I$ENV{SERVER_HEADERS}", "-I$ENV{CLIENT_HEADERS}", '-o', $file, @sources, "-L$ENV{CLIENT_LIBRARIES}", '-lpq', '-lpthread' ]);
die "could not build $file: $err" unless -s $file > 1000;
$apart->restart;
fails_with($apart, 'SELECT uid_next()', '55000', qr/the library file "uidgen_libpq" is of version 0\.0\.0, but the server runs uidgen of version/,
	'the library file is of another version: callers are told');
copy("$installed/uidgen_libpq.so", $folder) or die "could not copy uidgen_libpq.so: $!";
$apart->restart;
like($apart->safe_psql('postgres', 'SELECT uid_next()'), qr/^\d+$/, 'the library file is there: ids are issued');

done_testing();
