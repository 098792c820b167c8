# Proves that from PostgreSQL 17 on a server that was never restarted for uidgen issues ids: the first
# session that draws has a keeper started, which pins the settings of the postmaster; who only looks makes
# nothing.  What ALTER DATABASE, ALTER ROLE, a client or SET says of settings of the server changes
# nothing; a bad setting stops ids until it is corrected, without a restart; and two versions of the
# library do not generate together.  The suites with ./check --late prove the promises in this way of
# running.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use File::Copy 'copy';
use UidgenTest;

my $node = PostgreSQL::Test::Cluster->new('main');
plan skip_all => 'before PostgreSQL 17 the library must be preloaded' if $node->pg_version < 17;
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "restart_after_crash = on\nuidgen.wait_timeout = '60s'");
$node->start;

my $LAYOUT = 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01';
my @ids;

sub draw
{
	my ($name, $database) = @_;
	my $id = $node->safe_psql($database // 'postgres', 'SELECT uid_next()');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok($id, '>', $ids[-1] // 0, $name);
	push @ids, $id;
	return;
}

sub status
{
	my ($columns, $database) = @_;
	return $node->safe_psql($database // 'postgres', "SELECT $columns FROM uidgen.status");
}

# ---- who looks, and who draws ----

my ($status, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION uidgen');
is("$status $err", '0 ', 'the extension is created, and nothing is missing');
is(scalar(keeper_pids($node)), 1, '... as its keeper has found out');
$node->restart;
is(status('state, layout, worker_id, renewals'), "idle|$LAYOUT||", 'who looks at the state sees what ids will be like');
is($node->safe_psql('postgres', 'SELECT worker FROM uid_parse(250000000000000000)'), '400', 'who decodes goes by it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.segment_status') . $node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'),
	'00', 'there are no segments, and no holders');
is_deeply([ keeper_pids($node) ], [], 'none of them has a keeper started');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_dsm_registry_allocations WHERE name LIKE 'uidgen%'"), '0', 'nor any memory made')
  if $node->pg_version >= 19;

# Not even what the keeper has judged for CREATE EXTENSION stays as it was, before the first grant.
$node->safe_psql('postgres', 'CREATE DATABASE early');
$node->safe_psql('early', q{CREATE EXTENSION uidgen; ALTER SYSTEM SET uidgen.layout = 'js53ms'; ALTER SYSTEM SET uidgen.max_segments = 7});
$node->reload;
ok($node->poll_query_until('early', q{SELECT layout = (SELECT layout FROM uidgen.presets WHERE name = $$js53ms$$) FROM uidgen.status}), 'a layout that is set after CREATE EXTENSION');
is($node->safe_psql('early', 'SELECT uid_next() < 1::bigint << 53; SHOW uidgen.max_segments; SELECT pending_restart IS NULL FROM uidgen.status'), "t\n7\nt", '... counts for the first id');
$node->safe_psql('postgres', $_) foreach 'DROP DATABASE early', 'DROP EXTENSION uidgen_registry', 'ALTER SYSTEM RESET ALL';
$node->restart;

# Many at once.
my @drawing = map { start_drawing($node) } 1 .. 8;
ok(await_drawing($_, 100), 'a session draws') || diag(slurp_file("$_->{file}.err")) foreach @drawing;
is(scalar(keeper_pids($node)), 1, 'there is one keeper');
is(repeated(map { stop_drawing($_) } @drawing), 0, 'no id is drawn twice');
like(status('state, layout, free_worker_ids'), qr/^(?:granted|idle)\|\Q$LAYOUT\E\|1023$/, 'another session sees what is pinned, without drawing');
is($node->safe_psql('postgres', 'SELECT severity FROM uidgen.diagnose()'), 'ok', 'a diagnosis');
draw('a session draws after them');

# ---- what sessions may not decide ----

$node->safe_psql('postgres', 'CREATE DATABASE app; CREATE ROLE bob LOGIN');
$node->safe_psql('app', 'CREATE EXTENSION uidgen');
my %elsewhere = (
	layout => 'js53ms', datacenter_id => 3, worker_id => 7, max_segments => 1, database => 'app', registry => 'host=nowhere.invalid',
	sequence_start => 'random', window => '1h', max_ahead => '9h', max_burst => '9h', worker_policy => 'disposable');
my @names = sort keys %elsewhere;

# What a session sees of the generator, and an id of it.
sub seen
{
	my ($what, $database, @options) = @_;
	my ($code, $seen, $said) = $node->psql($database, "$what
		SELECT uid_next() AS id \\gset
		SELECT layout, datacenter_id, registry, state, pending_restart FROM uidgen.status;
		SELECT timestamp BETWEEN now() - interval '1 hour' AND now() + interval '1 hour', worker, sequence < 4096 FROM uid_parse(:id);
		SELECT uid_horizon() IS NOT NULL", @options);
	$seen =~ s/^\s+//;
	return $seen;
}
my $usual = seen('', 'app');
like($usual, qr/^\Q$LAYOUT\E\|0\|local\|granted\|\nt\|\d+\|t\nt$/, 'what a session sees');
foreach my $name (@names)
{
	$node->safe_psql('postgres', "ALTER DATABASE app SET uidgen.\"$name\" = '$elsewhere{$name}'");
	is(seen('', 'app'), $usual, "ALTER DATABASE ... SET uidgen.$name changes nothing");
	$node->safe_psql('postgres', "ALTER DATABASE app RESET uidgen.\"$name\"");
	$node->safe_psql('postgres', "ALTER ROLE bob SET uidgen.\"$name\" = '$elsewhere{$name}'; GRANT pg_monitor TO bob");
	is(seen('', 'app', extra_params => [ '-U', 'bob' ]), $usual, '... nor ALTER ROLE');
	$node->safe_psql('postgres', "ALTER ROLE bob RESET uidgen.\"$name\"");
	{
		local $ENV{PGOPTIONS} = "-c uidgen.$name=" . $elsewhere{$name};
		is(seen('', 'app'), $usual, '... nor the client');
	}
	is(seen("SET uidgen.\"$name\" = '$elsewhere{$name}';", 'app'), $usual, '... nor SET');
}

# Also where such a session is the first one that draws.
$node->safe_psql('postgres', "ALTER DATABASE app SET uidgen.\"$_\" = '$elsewhere{$_}'") foreach @names;
$node->append_conf('postgresql.conf', "uidgen.sequence_start = 'continue'");
$node->restart;
fails_with($node, 'SELECT uid_parse(1)', '55000', qr/does not know the server's layout.*HINT:.*RESET/s, 'a session that cannot know the layout says so', 'app');
is(status('layout, state', 'app'), '|idle', 'the state does not name it');
fails_with($node, 'SELECT uid_next()', '55000', qr/the layout is set where it does not count.*HINT:.*RESET/s, 'and it does not draw the first id, which would fix another layout than was meant', 'app');
like($node->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/^the layout is set where it does not count\. /, '... as a diagnosis says');
is_deeply([ keeper_pids($node) ], [], 'none of them has a keeper started');
$node->safe_psql('postgres', 'ALTER DATABASE app RESET uidgen.layout');
is(seen('', 'app'), $usual, 'the first session that draws has none of the values of ALTER DATABASE');
is($node->safe_psql('app', 'SELECT uid_next() > 0; SHOW uidgen.sequence_start; SHOW uidgen.database; SHOW uidgen.registry'), "t\ncontinue\npostgres\n",
	'it goes by what the keeper sees');
like($node->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/^ALTER DATABASE, ALTER ROLE or the client has set uidgen\.\w+, .*uidgen\.window.*, and only the configuration of the server counts/, 'and a diagnosis names what does not count');
is($node->safe_psql('app', 'SELECT worker FROM uid_parse(250000000000000000)'), '400', 'and a session that decodes does so now');
my $session = $node->background_psql('app');
$session->query('SELECT uid_next()');
$session->{stderr} = '';
change_setting($node, 'uidgen.sequence_start', 'random');
is($session->query_safe('SELECT pg_sleep(0.1); SHOW uidgen.sequence_start') =~ s/\s+//r, 'random', 'it follows a reload');
$session->quit;
$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL; ALTER DATABASE app RESET ALL');
$node->reload;
draw('others go on');

# A parallel query during which no setting may change loads the library.
$node->append_conf('postgresql.conf', "uidgen.database = 'app'");
$node->restart;
$node->safe_psql('postgres', q{
	CREATE TABLE source AS SELECT generate_series(1, 10000) AS n;
	CREATE FUNCTION draw() RETURNS bigint LANGUAGE plpgsql PARALLEL RESTRICTED AS 'BEGIN RETURN uid_next(); END'});
my $parallel = 'SET debug_parallel_query = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;';
foreach my $turn ('the first session that draws', 'a later one')
{
	is( $node->safe_psql('postgres', "$parallel SELECT count(DISTINCT draw()) FROM source WHERE n <= 5; SELECT state FROM uidgen.status; SHOW uidgen.database"),
		"5\ngranted\napp", "loaded by a parallel query: $turn");
}
is($node->safe_psql('app', 'SELECT count(*) FROM uidgen_registry.worker_node'), '1', '... and the registry is that of the configuration');
$node->append_conf('postgresql.conf', "uidgen.database = 'postgres'");
$node->restart;
draw('with the registry where it was');

# ---- changes that count from the next start on ----

$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.layout = 'js53ms'; ALTER SYSTEM SET uidgen.worker_id = 5");
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT pending_restart FROM uidgen.status', 'uidgen.layout, uidgen.worker_id'), 'a changed layout is pending');
like(status('layout, state'), qr/^\Q$LAYOUT\E\|(?:granted|idle)$/, 'and ids go on as before');
draw('also in new sessions');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT pending_restart IS NULL FROM uidgen.status'), 'set back, it is no longer');

# ---- bad settings ----

# Corrected without a restart; also where the first session that draws cannot see the setting.
foreach my $case (
	[ "uidgen.worker_id = 5000", 'uidgen.worker_id', "uidgen.worker_id = -1" ],
	[ "uidgen.layout = 'snowball'", 'uidgen.layout', "uidgen.layout = 'default'" ],
	[ "uidgen.window = 'long'", 'uidgen.window', "uidgen.window = '10s'" ],
	)
{
	my ($bad, $setting, $good) = @$case;
	foreach my $hidden ($setting eq 'uidgen.layout' ? 0 : (0, 1))
	{
		my $who = $hidden ? 'and by a session that does not see it' : 'by a session';
		$node->safe_psql('postgres', 'ALTER DATABASE postgres SET uidgen.sequence_start = random') if $hidden;
		$node->append_conf('postgresql.conf', $bad);
		$node->restart;
		my $log = -s $node->logfile;
		my $old = $node->background_psql('postgres', on_error_stop => 0);
		foreach my $turn (1, 2)
		{
			fails_with($node, 'SELECT uid_next()', '22023', qr/off because of the setting "$setting".*HINT:  Correct the setting "$setting" and reload/s,
				"$bad: told $who");
		}
		like($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/because of the setting "$setting"/, '... and by a diagnosis');
		is(status('state'), $hidden ? 'idle' : 'bad setting', '... and by the state, if it is seen');
		is_logged($node, $log, qr/LOG:.*uidgen issues no ids because of the setting "$setting"/, '... and in the log') if $hidden;
		$old->query('SELECT uid_next()');
		like($old->{stderr}, qr/because of the setting "$setting"/, '... in a session that stays');
		$old->{stderr} = '';
		# The first call after a session has read the configuration works, whatever was told a moment before.
		my $read = $old->query('SELECT pg_conf_load_time()');
		$node->append_conf('postgresql.conf', $good);
		$node->reload;
		ok(poll_until(sub { $old->query("SELECT pg_conf_load_time() > '$read'") eq 't' }), '... until the configuration is read again');
		like($old->query('SELECT uid_next()'), qr/^\d+$/, '... there, too');
		is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', '... and in a new session');
		$old->quit;
		$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET uidgen.sequence_start') if $hidden;
	}
}
draw('all is well');

# One that is taken out of the configuration has its default.
foreach my $line ("uidgen.window = '20s'", 'uidgen.worker_id = 5', "uidgen.sequence_start = 'random'", "uidgen.layout = 'default epoch:2024-01-01'")
{
	my $configuration = slurp_file($node->data_dir . '/postgresql.conf');
	my ($name) = $line =~ /^uidgen\.(\w+)/;
	$configuration =~ s/^uidgen\.$name .*\n//mg;
	$node->append_conf('postgresql.conf', $line);
	$node->restart;
	open(my $file, '>', $node->data_dir . '/postgresql.conf') or die $!;
	print $file $configuration;
	close $file;
	$node->reload;
	$node->poll_query_until('postgres', qq{SELECT coalesce(current_setting('uidgen.$name', true), '') = ''}) or die "$line is still there";
	is($node->safe_psql('postgres', 'SELECT layout, datacenter FROM uidgen.status, uid_parse(uid_next())'), "$LAYOUT|", "$line was taken out again");
	crash($node);
	is($node->safe_psql('postgres', 'SELECT layout, datacenter FROM uidgen.status, uid_parse(uid_next())'), "$LAYOUT|", '... also after a crash');
}
$ids[-1] = $node->safe_psql('postgres', 'SELECT uid_next()');

# ---- ids of another layout ----

# Before anything is pinned: then a reload is enough.
$node->safe_psql('app', "INSERT INTO uidgen.layout_used (layout, since, system_identifier, database) VALUES ('time:41:1ms worker:10 sequence:12 epoch:2020-01-01', now(), 1, 1)");
$node->restart;
fails_with($node, 'SELECT uid_next()', '55000', qr/ids of another layout.*HINT:.*reload the configuration/s, 'a database with ids of another layout: told before a layout is pinned', 'app');
like($node->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/ids of another layout.*reload/, '... by a diagnosis, too');
is(status('state', 'app'), 'failing', '... and by the state');
is_deeply([ keeper_pids($node) ], [], '... without a keeper');
$node->safe_psql('app', 'SELECT uidgen.use_layout()');
cmp_ok($node->safe_psql('app', 'SELECT uid_next()'), '>', $ids[-1], '... until its owner says that this layout suits, too');

# ---- the end of processes ----

# Far ahead of the clock, if it was not handed back.
$node->append_conf('postgresql.conf', "uidgen.window = '1h'");
$node->restart;
draw('a long grant');
$node->restart;
draw('and after a restart');
is(status("ahead < interval '10 minutes'"), 't', 'it had been handed back');
$node->append_conf('postgresql.conf', "uidgen.window = '10s'");
$node->restart;
draw('with a short one again');
# It takes a second until the next one comes; who only looks in that time sees all the same what there is.
{
	my ($keeper) = keeper_pids($node);
	kill 'TERM', $keeper;
	poll_until(sub { !grep { $_ == $keeper } keeper_pids($node) }) or die 'the keeper does not end';
	is(status('ids > 0'), 't', 'without a keeper for a moment, the generator is seen');
}
ok(end_keeper($node), 'a keeper that is told to end is followed by another one');
draw('and ids go on');
crash($node);
draw('after a crash, too');
ok(poll_until(sub { keeper_pid($node) }), 'with a keeper');
crash($node);
ok(poll_until(sub { keeper_pid($node) }), 'which comes back by itself');
end_keeper($node, 'KILL');
ok($node->poll_query_until('postgres', 'SELECT true'), 'a keeper that is killed takes all sessions with it');
draw('and ids go on');
like(log_since($node, 0) =~ s/.*(signal 9|terminat).*//gr, qr/^(?!.*(?:PANIC|TRAP|signal 11|signal 6)).*$/s, 'no process has crashed by itself');

# Whoever leaves while a transaction holds the horizon.
$session = $node->background_psql('postgres');
$session->query_safe('BEGIN; SELECT uid_next()');
is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'), '1', 'a transaction holds the horizon');
$session->quit;
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM uidgen.horizon_holders'), 'until its session ends');
$node->safe_psql('postgres', 'DROP EXTENSION uidgen; CREATE EXTENSION uidgen');
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', 0, 'the extension is dropped and made anew');

# ---- what is there from the first statement on ----

$node->safe_psql('postgres', q{
	CREATE TABLE target (id bigint DEFAULT uid_next(), n integer);
	CREATE FUNCTION stored() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% stored', (SELECT count(*) FROM target); RETURN true; END $$;
	ALTER TABLE target ADD CHECK (stored())});
my $copy = "COPY target (n) FROM PROGRAM 'seq 3';";

# How many rows were stored before each: with a default that counts as volatile, as many as came before.
sub stored_before
{
	my ($sql) = @_;
	my ($code, $result, $said) = $node->psql('postgres', "TRUNCATE target; $sql");
	return join ' ', $said =~ /(\d+) stored/g;
}
is(stored_before($copy), '0 1 2', 'the COPY that loads the library stores row by row');
is(stored_before("SELECT uid_next(); $copy"), '0 0 0', 'a later one many at a time');
{
	local $ENV{PGOPTIONS} = '-c session_preload_libraries=uidgen';
	is(stored_before($copy), '0 0 0', 'also the first one, with session_preload_libraries');
	is($node->safe_psql('postgres', 'SHOW uidgen.wait_timeout'), '1min', 'with which settings are defined');
}
is( $node->safe_psql('postgres', "SET uidgen.wait_timeout = 'long'; SELECT uid_next() > 0; SHOW uidgen.wait_timeout", extra_params => [ '-v', 'ON_ERROR_STOP=0' ]),
	"t\n1min", 'one that makes no sense does not');
foreach my $own ("SET uidgen.wait_timeout = 'long'", "SET uidgen.worker_policy = 'sometimes'", "SET uidgen.worker_id = -7")
{
	$node->restart;
	my ($state, $said) = sqlstate_of($node, "$own; SELECT uid_next()");
	is($state, '', "... nor where it is the first session: $own") or diag($said);
}

# ---- no worker slot ----

$node->append_conf('postgresql.conf', "max_worker_processes = 0\nuidgen.wait_timeout = '200ms'");
$node->restart;
fails_with($node, 'SELECT uid_next()', '53000', qr/cannot start its keeper.*"max_worker_processes" is 0.*HINT:.*max_worker_processes/s, 'without a worker slot it says so');
like($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/cannot start its keeper.*max_worker_processes/, '... and so does a diagnosis');
is($node->safe_psql('postgres', 'SELECT worker FROM uid_parse(250000000000000000)'), '400', 'decoding works');
$node->append_conf('postgresql.conf', "max_worker_processes = 8\nuidgen.wait_timeout = '60s'");
$node->restart;

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
fails_with($standby, 'SELECT uid_next()', '25006', qr/during recovery/, 'a standby issues no id');
is($standby->safe_psql('postgres', 'SELECT state FROM uidgen.status; SELECT worker FROM uid_parse(250000000000000000)'), "recovery\n400", 'and decodes');
is_deeply([ keeper_pids($standby) ], [], 'without a keeper');
$standby->promote;
cmp_ok($standby->safe_psql('postgres', 'SELECT uid_next()'), '>', 0, 'promoted, it issues ids');
$standby->stop;

# ---- two copies of the library ----

# Of one version: one generator.
my $folder = PostgreSQL::Test::Utils::tempdir();
my ($installed) = run_command([ 'pg_config', '--pkglibdir' ]);
copy("$installed/uidgen.so", "$folder/other.so") or die "could not copy uidgen.so: $!";
$node->safe_psql('postgres', "CREATE FUNCTION other_next() RETURNS bigint AS '$folder/other', 'uidgen_next' LANGUAGE C");
my @pair = ($node->safe_psql('postgres', 'SELECT other_next()'), $node->safe_psql('postgres', 'SELECT uid_next()'));
cmp_ok($pair[0], '<', $pair[1], 'a session with another copy of the library draws from the same grant');
is($node->safe_psql('postgres', "SELECT count(DISTINCT worker) FROM (VALUES ($pair[0]), ($pair[1])) AS i (id), uid_parse(id)"), '1', 'by the same worker id');
is(scalar(keeper_pids($node)), 1, 'of one keeper');
fails_with($node, 'SELECT uid_next(); SELECT other_next()', '55000', qr/another library of uidgen is loaded/, 'no session has two');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen'");
$node->restart;
fails_with($node, 'SELECT other_next()', '55000', qr/another library of uidgen is loaded/, 'nor beside one that is preloaded');
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $pair[1], 'which works');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;

# Of two: none but the one that came first.
my $other_version = build_module('tools/other_version', "-I$FindBin::RealBin/../../src", '-DUIDGEN_VERSION="9.9.9"');
$node->safe_psql('postgres', "CREATE FUNCTION make_strange_memory() RETURNS void AS '$other_version' LANGUAGE C; SELECT make_strange_memory()");
my $log = -s $node->logfile;
fails_with($node, 'SELECT uid_next()', '55000', qr/another version of uidgen.*DETAIL:.*9\.9\.9.*HINT:  Restart the server/s, 'a session with another version says so');
fails_with($node, 'SELECT uid_horizon()', '55000', qr/another version of uidgen/, '... to readers, too');
like($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/another version of uidgen.*9\.9\.9/, '... and in a diagnosis');
$node->restart;
push @ids, $pair[1];
draw('after a restart ids go on');

$node->stop;
done_testing();
