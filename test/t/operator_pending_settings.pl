# A setting may be corrected as long as there is no id: CREATE EXTENSION, uidgen.diagnose() and a first call that was
# refused pin nothing, and the layout that ids have is noted together with the first of them.  A restart brings the
# corrected setting, and where uidgen is not preloaded a reload.  One that comes too late is named by uidgen.diagnose()
# with what the next start will do, and it does that.  pg_regress cannot start a server with another setting.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my ($DEFAULT, $JS53MS) = map { "time:41:1ms worker:$_ epoch:2025-01-01" } '10 sequence:12', '3 sequence:9';
my $node;
my $late;

sub query
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'app', $sql);
}

# What the configuration says, without an effect yet.  Waits until new sessions see it.
sub configure
{
	my (%settings) = @_;
	my $file = $node->data_dir . '/changed.conf';
	my $before = query("SELECT pg_conf_load_time()");
	unlink $file;
	append_to_file($file, join '', map { "$_ = '$settings{$_}'\n" } sort keys %settings);
	$node->reload;
	$node->poll_query_until('app', "SELECT pg_conf_load_time() > '$before'") or die 'the configuration is not read again';
	return;
}

# The same, in whatever way it takes effect as long as nothing is pinned.
sub correct
{
	configure(@_);
	$node->restart unless $late;
	return;
}

# What is remembered: by the registry, by databases.
sub remembered
{
	my $registry = query(q{SELECT to_regnamespace('uidgen_registry') IS NULL}) eq 't' ? 'SELECT' : 'SELECT layout FROM uidgen_registry.registry';
	return join ' ', map { query($_->[1], $_->[0]) || '-' } [ app => $registry ],
	  map { [ $_ => 'SELECT DISTINCT layout FROM uidgen.layout_used' ] } qw(app other);
}

sub begin
{
	my ($name) = @_;
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', ($late ? '' : "shared_preload_libraries = 'uidgen'\n") .
		"uidgen.database = 'app'\nmax_prepared_transactions = 2\nuidgen.wait_timeout = '60s'\ninclude_if_exists = 'changed.conf'");
	$node->start;
	$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(app other);
	query('CREATE EXTENSION uidgen; CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next())', $_) foreach qw(app other);
	return;
}

# Who asks the keeper waits for two seconds, in which that of a busy machine may not have answered.
sub is_diagnosed
{
	my ($pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $said;
	poll_until(sub { ($said = query('SELECT * FROM uidgen.diagnose()')) =~ $pattern });
	return like($said, $pattern, $name);
}

foreach (0, 1)
{
	$late = $_;
	next if $late && PostgreSQL::Test::Cluster->new('version')->pg_version < 17;
	my $how = $late ? 'not preloaded' : 'preloaded';

	# ---- before the first id ----

	begin("early_$late");
	if ($late)
	{
		# What needs no grant asks nobody.
		$node->restart;
		try_psql($node, $_, database => 'app') foreach 'BEGIN; SELECT uidgen.use_layout(); ROLLBACK', 'TABLE uidgen.status',
		  'SELECT * FROM uidgen.layout_numbers(), uid_layout_info()', 'SELECT uidgen.backfill_home()', 'SELECT uid_range(now(), NULL)';
		is_deeply([ keeper_pids($node) ], [], 'functions for operators have no keeper started');
	}
	foreach my $database (qw(app other))
	{
		ok($node->poll_query_until($database, 'SELECT (uidgen.diagnose()).severity, (uidgen.diagnose()).severity', 'ok|ok'), "$how: nothing is missing in $database");
	}
	is(remembered(), '- - -', '... and nobody remembers a layout');
	is(query(q{SELECT to_regnamespace('uidgen_registry') IS NULL, state FROM uidgen.status}), 't|idle', '... nor is there a registry');

	# A first call that is refused: only the registry finds that the time begins in the future.
	correct('uidgen.layout' => 'default epoch:2090-01-01');
	fails_with($node, 'SELECT uid_next()', '22023', qr/epoch/, "$how: the first call is refused", 'app');
	fails_with($node, 'SELECT uid_next()', '22023', qr/epoch/, '... and so is the next one', 'other');
	is_diagnosed(qr/epoch/, '... which a diagnosis says');
	is(remembered(), '- - -', '... and nobody remembers a layout');
	my $session = $late ? $node->background_psql('app', on_error_stop => 0) : undef;
	$session->query('SELECT uid_next()') if $late;

	correct('uidgen.layout' => 'js53ms');
	is_diagnosed(qr/^ok\|/, 'once the setting is corrected, nothing is missing');
	is(query('BEGIN; INSERT INTO message DEFAULT VALUES; ROLLBACK; BEGIN READ ONLY; SELECT uid_next() > 0; COMMIT', 'other'), 't', 'ids are issued');
	is(remembered(), "$JS53MS - -", '... of the corrected layout; a transaction that stores nothing notes nothing');
	if ($late)
	{
		$session->{stderr} = '';
		is($session->query('SELECT uid_next() > 0'), 't', '... also in a session that was refused');
		$session->quit;
		query('DELETE FROM uidgen.layout_used');
	}

	# Two first transactions that are serializable; and one that another session commits.
	my @sessions = map { $node->background_psql('other') } 1 .. 2;
	$_->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO message DEFAULT VALUES') foreach @sessions;
	is($_->query_safe('SELECT count(*) FROM uidgen.layout_used'), '0', 'before the end of the first transaction nothing is noted') foreach $sessions[0];
	is($_->query_safe("COMMIT; SELECT 'committed'"), 'committed', 'serializable transactions that store their first ids') foreach @sessions;
	$_->quit foreach @sessions;
	query("BEGIN; SELECT uid_next(); PREPARE TRANSACTION 'first'");
	query("COMMIT PREPARED 'first'");
	is(remembered(), "$JS53MS $JS53MS $JS53MS", 'the first transaction that commits notes the layout, in each database');
	is(query('SELECT count(*) FROM uidgen.layout_used'), '1', '... once');
	query('INSERT INTO message SELECT FROM generate_series(1, 10)') foreach 1 .. 3;
	is(query('SELECT count(*) FROM uidgen.layout_used'), '1', '... and no other');
	query('DELETE FROM uidgen.layout_used; CREATE ROLE nobody; GRANT INSERT ON message TO nobody; SET ROLE nobody; INSERT INTO message DEFAULT VALUES');
	is(remembered(), "$JS53MS $JS53MS $JS53MS", '... whoever it is');

	# Where somebody keeps the table locked, nobody waits.
	query('DELETE FROM uidgen.layout_used');
	my $locker = $node->background_psql('app');
	$locker->query_safe('BEGIN; LOCK TABLE uidgen.layout_used');
	query("SET lock_timeout = '1s'; INSERT INTO message DEFAULT VALUES");
	$locker->query_safe('COMMIT');
	$locker->quit;
	is(remembered(), "$JS53MS - $JS53MS", 'a transaction that cannot note it goes on');
	query('INSERT INTO message DEFAULT VALUES');
	is(remembered(), "$JS53MS $JS53MS $JS53MS", '... and a later one does');

	# ---- too late ----

	configure('uidgen.layout' => 'default', 'uidgen.worker_id' => 5);
	ok($node->poll_query_until('app', 'SELECT pending_restart FROM uidgen.status', 'uidgen.layout, uidgen.worker_id'), 'the state names the settings that come too late');
	is_diagnosed(qr/uidgen\.layout, uidgen\.worker_id.*next start.*will refuse all ids of this database.*"\Q$JS53MS\E".*"\Q$DEFAULT\E".*docs\/layouts\.md/, "$how: a diagnosis says what the next start will do");
	is(query('SELECT uid_next() > 0'), 't', '... and until then ids are issued');
	query("CREATE EXTENSION uidgen_tools; CREATE TABLE account (id bigserial PRIMARY KEY); SELECT uid_adopt('account', 'id', true)");
	is(query('INSERT INTO account DEFAULT VALUES RETURNING id > 1000000'), 't', '... and a table can be adopted');
	$node->restart;
	fails_with($node, 'SELECT uid_next()', '55000', qr/ids of another layout/, 'it does so', 'app');
	configure('uidgen.layout' => 'js53ms');
	$node->restart unless $late;
	is(query('SELECT uid_next() > 0'), 't', 'set back, ids go on');
	is_diagnosed(qr/^ok\|/, '... and nothing is missing');
	configure('uidgen.layout' => ' js53ms ', 'uidgen.max_segments' => 7);
	ok($node->poll_query_until('app', "SELECT pending_restart ~ 'max_segments' FROM uidgen.status"), 'other settings are pending');
	is_diagnosed(qr/uidgen\.max_segments.*next start of the server on\.(?: The layout there is the same as now\.)?$/, '... of which nothing bad comes');
	configure('uidgen.layout' => 'js53ms', 'uidgen.max_segments' => 1000);
	ok($node->poll_query_until('app', 'SELECT pending_restart IS NULL FROM uidgen.status'), 'set back, they are not');

	# ---- the registry goes ----

	query('CREATE EXTENSION uidgen_registry', 'other');
	my %said = map { my ($database, $extension) = split / /; my (undef, undef, $err) = $node->psql($database, "SELECT uid_next(); BEGIN; DROP EXTENSION $extension CASCADE; ROLLBACK"); ($_ => $err) }
	  'app uidgen_registry', 'other uidgen_registry', 'app uidgen', 'other uidgen';
	like($said{'app uidgen_registry'}, qr/WARNING:  the registry of worker ids goes, from which this server issues ids.*docs\/operations\.md/s, "$how: whoever drops the registry in use is warned");
	unlike($said{$_}, qr/WARNING/, "... and who drops another extension is not: $_") foreach 'other uidgen_registry', 'app uidgen', 'other uidgen';
	$node->stop;

	# ---- a grant, and no id ----

	begin("granted_$late");
	ok($node->poll_query_until('other', 'SELECT uidgen.ask_for_grant()', 'ok'), "$how: a grant without an id");
	is(remembered(), "$DEFAULT - -", '... pins the layout of the registry');
	configure('uidgen.layout' => 'js53ms');
	ok($node->poll_query_until('app', 'SELECT pending_restart FROM uidgen.status', 'uidgen.layout'), 'another one is pending');
	is_diagnosed(qr/will refuse all ids/, '... and a diagnosis says what for');
	$node->restart;
	foreach my $sql ('SELECT uid_next()', 'SELECT 1/((uidgen.diagnose()).severity = \'ok\')::integer')
	{
		fails_with($node, $sql, '\w+', qr//, "then it is refused: $sql", 'other');
	}
	is_diagnosed(qr/differs from the registry's.*no id was issued, DROP and CREATE EXTENSION uidgen_registry in.*docs\/layouts\.md/, '... with the short way, as there is no id');
	query('DROP EXTENSION uidgen_registry');
	query('CREATE EXTENSION uidgen_registry');
	is(query('SELECT uid_next() > 0', 'other'), 't', 'which works');
	is(query('SELECT layout FROM uidgen_registry.registry'), $JS53MS, '... with the new layout');
	$node->stop;
}

done_testing();
