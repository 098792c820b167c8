# A database that is restored into a server with another layout issues no id there, and pins nothing; once the setting is
# corrected, ids go on above the old ones.  What has the same layout, or whose layout was decided before the first id, sees
# nothing of it: dumps of each kind, templates, subscribers, a start as containers do it.  pg_regress has one server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $folder = PostgreSQL::Test::Utils::tempdir();
my ($OLD, $DEFAULT, $JS53MS) = map { "time:$_" }
  ('41:1ms worker:10 sequence:12 epoch:2020-01-01', '41:1ms worker:10 sequence:12 epoch:2025-01-01', '41:1ms worker:3 sequence:9 epoch:2025-01-01');
my $REFUSED = qr/this database has ids of another layout.*DETAIL:.*"$OLD"; .*"$DEFAULT".*HINT:.*"uidgen.layout".*use_layout/s;

# A server whose registry is in the database app.
sub app_server
{
	my ($name, @conf) = @_;
	my $node = uidgen_node($name, "uidgen.database = 'app'", "include_if_exists = 'layout.conf'", @conf);
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	return $node;
}

sub restart_with
{
	my ($node, $layout) = @_;
	my $conf = $node->data_dir . '/layout.conf';
	unlink $conf;
	append_to_file($conf, "uidgen.layout = '$layout'\n");
	return $node->restart;
}

# The layouts that a database remembers, without those that are the same.
sub remembered
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, 'SELECT DISTINCT layout FROM uidgen.layout_used ORDER BY 1');
}

# Ids go on there, and nothing is said.
sub is_unhindered
{
	my ($node, $database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is((sqlstate_of($node, 'SELECT uid_next()', $database))[0], '', "$name: ids are issued");
	return is($node->safe_psql($database, 'SELECT severity FROM uidgen.diagnose()'), 'ok', '... and nothing is wrong');
}

# ---- an application's database, restored where the setting was forgotten ----

my $origin = app_server('origin', "uidgen.layout = 'default epoch:2020-01-01'", "wal_level = 'logical'", "max_wal_senders = 4");
$origin->safe_psql('app', 'CREATE EXTENSION uidgen; CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
is(remembered($origin, 'app'), '', 'before the first id nothing is certain');
$origin->safe_psql('app', "INSERT INTO message (body) SELECT 'old' FROM generate_series(1, 1000)");
is(remembered($origin, 'app'), $OLD, 'the first ids bring the layout');
my $last = $origin->safe_psql('app', 'SELECT max(id) FROM message');
my %DUMPS = (plain => [], custom => ['-Fc'], directory => [ '-Fd', '--jobs', 2 ], data => ['--data-only']);
$origin->command_ok([ 'pg_dump', @{ $DUMPS{$_} }, '--file', "$folder/$_", 'app' ], "a dump: $_") foreach sort keys %DUMPS;

sub restore
{
	my ($node, $database, $kind) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return $node->command_ok(
		$kind =~ /plain|data|again/ ? [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f', "$folder/$kind" ]
		: [ 'pg_restore', '--exit-on-error', $kind eq 'directory' ? ('--jobs', 2) : (), '-d', $database, "$folder/$kind" ],
		"restored into $database: $kind");
}

my $forgot = app_server('forgot');
restore($forgot, 'app', 'plain');
like($forgot->safe_psql('app', 'SELECT state, last_error FROM uidgen.status'), qr/^failing\|this database has ids of another layout$/, 'the status says so beforehand');
like($forgot->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/^this database has ids of another layout\. .*"$OLD".*uidgen\.use_layout\(\).*uid_parse/, '... and diagnose()');
$forgot->safe_psql('app', q{UPDATE uidgen.layout_used SET layout = layout || E'\nHINT:  Run this.'});
unlike($forgot->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/\n/, '... in one line, whatever the owner of the database has written');
$forgot->safe_psql('app', q{UPDATE uidgen.layout_used SET layout = split_part(layout, E'\n', 1)});
$forgot->safe_psql('app', 'CREATE ROLE nobody LOGIN; GRANT INSERT, SELECT ON message TO nobody');
my @as_nobody = (connstr => $forgot->connstr('app') . ' user=nobody');
foreach my $call ('INSERT INTO message DEFAULT VALUES', 'SELECT uid_next()', 'SELECT uid_next_batch(3)', 'SELECT uid_reserve(3)',
	"COPY message (body) FROM PROGRAM 'echo new'", 'BEGIN READ ONLY; SELECT uid_next()', 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT uid_next()')
{
	fails_with($forgot, $call, '55000', $REFUSED, "refused: $call", 'app');
}
my ($status, undef, $err) = $forgot->psql('app', 'SELECT uid_next()', @as_nobody);
like($err, $REFUSED, 'a role without rights is told the same');
is($forgot->safe_psql('app', 'SELECT count(*) FROM uidgen_registry.registry'), '0', 'and the registry pins nothing');

restart_with($forgot, $OLD);
cmp_ok($forgot->safe_psql('app', 'INSERT INTO message DEFAULT VALUES RETURNING id'), '>', $last, 'the setting is corrected: ids go on above the old ones');
is_unhindered($forgot, 'app', 'the setting is corrected');
is($forgot->safe_psql('app', 'SELECT extract(year FROM uid_timestamp(min(id))) >= 2025 FROM message'), 't', '... and old ids have their time');

# ---- the owner's word ----

my $moved = app_server('moved');
restore($moved, 'app', 'custom');
$moved->safe_psql('app', 'CREATE ROLE nobody LOGIN; CREATE ROLE owner LOGIN; CREATE ROLE deputy LOGIN IN ROLE owner; ALTER DATABASE app OWNER TO owner');
my @as = map { [ connstr => $moved->connstr('app') . " user=$_" ] } qw(nobody deputy);
($status, undef, $err) = $moved->psql('app', 'SELECT uidgen.use_layout()', @{ $as[0] });
like($err, qr/permission denied for function use_layout/, 'not everybody may say that the layout suits');
($status, undef, $err) = $moved->psql('app', "INSERT INTO uidgen.layout_used VALUES ('x', now(), 1, 1)", @{ $as[0] });
like($err, qr/permission denied for table layout_used/, '... by hand either');
my $undoing = $moved->background_psql('app', on_error_stop => 0);
$undoing->query_safe('BEGIN; SELECT uidgen.use_layout()');
isnt($undoing->query_safe('SELECT uid_next()'), '', 'a transaction that says so draws');
$undoing->query_safe('ROLLBACK');
$undoing->query('SELECT uid_next()');
like($undoing->{stderr}, $REFUSED, '... and when it is rolled back, its session draws no more');
$undoing->quit;
# Within one step of the coarse clock, in which calls do not look again without a reason.
foreach my $back (
	[ 'a subtransaction', q{BEGIN PERFORM uidgen.use_layout(), uid_next(); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN END;} ],
	[ 'a command', qq{PERFORM uidgen.use_layout(); PERFORM uid_next(); DELETE FROM uidgen.layout_used WHERE layout = '$DEFAULT';} ])
{
	my ($what, $commands) = @$back;
	fails_with($moved, "DO \$\$BEGIN $commands PERFORM uid_next(); END\$\$", '55000', $REFUSED, "... nor where $what of the same transaction takes it back", 'app');
}
# And what others write, in a statement that goes on.
$moved->safe_psql('postgres', 'CREATE DATABASE fresh');
$moved->safe_psql('fresh', 'CREATE EXTENSION uidgen');
my $drawing = start_drawing($moved, 'fresh');
ok(await_drawing($drawing, 100), 'in a database of which nothing is known, a statement draws');
$moved->safe_psql('fresh', "INSERT INTO uidgen.layout_used VALUES ('$OLD', now(), 1, 1)");
ok(poll_until(sub { -s "$drawing->{file}.err" }), '... until a row comes, by which its ids are of another layout');
finish_drawing($drawing);
like(slurp_file("$drawing->{file}.err"), $REFUSED, '... as the error says');
# A call that was refused, and whose error is caught, leaves no older look in force.  All is called once before, so that this
# happens within one step of the coarse clock.
$moved->safe_psql('fresh', 'CREATE EXTENSION dblink');
my $insert = "dblink_exec('other', 'INSERT INTO uidgen.layout_used VALUES (''$OLD'', now(), 1, 1)')";
my $caught = sprintf q{SELECT dblink_connect('other', '%s');
	DO $$BEGIN
		PERFORM dblink_exec('other', 'BEGIN'), %s, dblink_exec('other', 'ROLLBACK'), uid_next();
		PERFORM uid_next();
		BEGIN
			PERFORM %s;
			PERFORM uid_next();
			RAISE 'drawn';
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
		END;
		PERFORM uid_next();
	END$$}, $moved->connstr('fresh') =~ s/'/''/gr, $insert, $insert;
foreach (1 .. 5)
{
	$moved->safe_psql('fresh', 'DELETE FROM uidgen.layout_used');
	fails_with($moved, $caught, '55000', $REFUSED, 'after a call that was refused, the next one is, too', 'fresh');
}
is($moved->safe_psql('app', 'BEGIN; SELECT uidgen.use_layout(); ROLLBACK; TABLE uidgen.layout_used EXCEPT TABLE uidgen.layout_used', @{ $as[1] }), '', 'it can be taken back');
fails_with($moved, 'SELECT uid_next()', '55000', $REFUSED, '... and then counts for nothing', 'app');
$moved->safe_psql('app', 'SELECT uidgen.use_layout()', @{ $as[1] });
is(remembered($moved, 'app'), "$OLD\n$DEFAULT", 'the owner says so: both layouts are remembered');
is_unhindered($moved, 'app', 'the owner has said so');
$moved->safe_psql('app', 'SELECT uidgen.use_layout()');
is($moved->safe_psql('app', 'SELECT count(*) FROM uidgen.layout_used WHERE layout = (SELECT layout FROM uidgen.status)'), '1', 'said again, it changes nothing');
# What a superuser or the owner may do to the table crashes nobody.
foreach my $change ('ALTER TABLE uidgen.layout_used ALTER layout DROP NOT NULL; UPDATE uidgen.layout_used SET layout = NULL', 'ALTER TABLE uidgen.layout_used DROP COLUMN database',
	'ALTER TABLE uidgen.layout_used ALTER layout TYPE integer USING 1', "UPDATE uidgen.layout_used SET layout = repeat('x', 1000000)",
	"INSERT INTO uidgen.layout_used SELECT 'x' || i, now(), 1, 1 FROM generate_series(1, 10000) AS i")
{
	my ($sqlstate, $text) = sqlstate_of($moved, "BEGIN; $change; SELECT uid_next(); SELECT (uidgen.diagnose()).message, state FROM uidgen.status; ROLLBACK", 'app');
	like($sqlstate, qr/^(?:55000)?$/, "an odd table: $change");
	cmp_ok(length($text), '<', 10000, '... and an error of a bearable length');
}
# From there on, either layout suits.
$moved->command_ok([ 'pg_dump', '--file', "$folder/both", 'app' ], 'a dump of it');
my $either = app_server('either');
restart_with($either, $OLD);
$either->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'app', '-f', "$folder/both" ], '... is restored');
is_unhindered($either, 'app', 'of two layouts either suits');
like($either->safe_psql('app', q{BEGIN; SELECT uid_next(); SELECT 'locked: ' || coalesce(string_agg(relation::regclass::text, ' '), 'nothing') FROM pg_locks
		WHERE pid = pg_backend_pid() AND relation::regclass::text ~ 'layout_used|pg_(extension|depend|trigger)'; COMMIT}), qr/locked: nothing$/, 'and after a first id nothing is locked');
restart_with($either, $JS53MS);
fails_with($either, 'SELECT uid_next()', '55000', qr/They are of (?:"$OLD", "$DEFAULT"|"$DEFAULT", "$OLD"); this server/, 'otherwise both are named', 'app');
unlike($either->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/uid_parse/, '... and either may be meant');
$_->stop foreach $moved, $either;

# ---- what is harmless ----

my $n = 0;
foreach my $kind (sort keys %DUMPS)
{
	my $database = 'copy' . ++$n;
	$forgot->safe_psql('postgres', "CREATE DATABASE $database");
	$forgot->safe_psql($database, 'CREATE EXTENSION uidgen; CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text); INSERT INTO message DEFAULT VALUES') if $kind eq 'data';
	restore($forgot, $database, $kind);
	is_unhindered($forgot, $database, "the same layout, $kind");
}
$forgot->safe_psql('postgres', 'CREATE DATABASE by_template TEMPLATE copy1');
is_unhindered($forgot, 'by_template', 'a template');
is($forgot->safe_psql('by_template', "SELECT string_agg(DISTINCT (u.database = d.oid)::text, ' ') FROM uidgen.layout_used AS u, pg_database AS d WHERE d.datname = 'by_template'"),
	'false', '... whose rows are of another database');

# A restore into the database that was dumped, by which the extension is made anew.
$forgot->safe_psql('postgres', 'CREATE DATABASE again');
$forgot->safe_psql('again', 'CREATE EXTENSION uidgen; CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next()); INSERT INTO message DEFAULT VALUES');
$forgot->command_ok([ 'pg_dump', '--clean', '--if-exists', '--file', "$folder/again", 'again' ], 'a dump that drops what is there');
restore($forgot, 'again', 'again');
is_unhindered($forgot, 'again', 'a database that is restored in place');

# A row in which a first id is drawn is no conflict of serializable transactions, and needs no transaction id.
my @sessions = map { $forgot->background_psql('copy1') } 1 .. 2;
$_->query_safe('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT uid_next()') foreach @sessions;
is($_->query_safe('SELECT pg_current_xact_id_if_assigned() IS NULL'), 't', 'a first id needs no transaction id') foreach @sessions;
$_->query_safe('INSERT INTO message DEFAULT VALUES') foreach @sessions;
is($_->query_safe("COMMIT; SELECT 'committed'"), 'committed', 'serializable transactions that draw their first ids') foreach @sessions;
$_->quit foreach @sessions;

restart_with($forgot, $DEFAULT);
restore($forgot, 'again', 'again');
fails_with($forgot, 'SELECT uid_next()', '55000', $REFUSED, 'restored in place after the layout was changed', 'again');

# Where the table cannot be read at once, nobody waits for it, and the next call looks again.
foreach my $table ('uidgen.layout_used', 'pg_attribute')
{
	my $locker = $forgot->background_psql('copy1');
	my $drawer = $forgot->background_psql('copy1', on_error_stop => 0);
	# What the server itself reads of the catalogs
	$drawer->query_safe("SELECT uid_parse(1, 'default')");
	$locker->query_safe("BEGIN; LOCK TABLE $table");
	$drawer->query('SELECT uid_next()');
	like($drawer->{stderr}, qr/the layout differs from the registry's/, "$table is locked: nobody waits for it");
	$locker->query_safe('COMMIT');
	$drawer->{stderr} = '';
	$drawer->query('SELECT uid_next()');
	like($drawer->{stderr}, qr/this database has ids of another layout/, '... and the next call has seen it');
	$_->quit foreach $locker, $drawer;
}
$forgot->stop;

# ---- a layout that is decided before the first id ----

my $undecided = app_server('undecided');
$undecided->safe_psql('app', 'CREATE EXTENSION uidgen');
is($undecided->safe_psql('app', 'SELECT state FROM uidgen.status'), 'idle', 'an extension, and no id yet');
restart_with($undecided, $JS53MS);
is_unhindered($undecided, 'app', 'a layout that is decided late');
is(remembered($undecided, 'app'), $JS53MS, '... is the only one that is remembered');

# A second database is no different.
$undecided->safe_psql('postgres', 'CREATE DATABASE second');
$undecided->safe_psql('second', 'CREATE EXTENSION uidgen');
is(remembered($undecided, 'second'), '', 'a second database knows nothing before its first id');
is_unhindered($undecided, 'second', 'a second database');
is(remembered($undecided, 'second'), $JS53MS, '... which brings the layout');

# A new registry with another layout, in the steps of the manual.
$undecided->safe_psql('postgres', 'CREATE DATABASE another');
$undecided->safe_psql('another', 'CREATE EXTENSION uidgen');
$undecided->append_conf('postgresql.conf', "uidgen.database = 'another'");
restart_with($undecided, $DEFAULT);
is_unhindered($undecided, 'another', 'a database without ids goes on with a new layout');
fails_with($undecided, 'SELECT uid_next()', '55000', qr/this database has ids of another layout/, 'others have a step', 'second');
$undecided->safe_psql('second', 'SELECT uidgen.use_layout()');
is_unhindered($undecided, 'second', '... after which ids go on');
$undecided->stop;

# ---- replication ----

my $subscriber = app_server('subscriber');
$subscriber->safe_psql('app', 'CREATE EXTENSION uidgen; CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text); INSERT INTO message DEFAULT VALUES');
$origin->safe_psql('app', 'CREATE PUBLICATION everything FOR ALL TABLES');
$subscriber->safe_psql('app', "CREATE SUBSCRIPTION everything CONNECTION '" . $origin->connstr . " dbname=app' PUBLICATION everything");
$subscriber->wait_for_subscription_sync($origin, 'everything', 'app');
$origin->safe_psql('app', "INSERT INTO uidgen.layout_used VALUES ('another', now(), 1, 1); SELECT uidgen.use_layout(); INSERT INTO message (body) VALUES ('last')");
$origin->wait_for_catchup('everything');
is($subscriber->safe_psql('app', "SELECT count(*) FROM message WHERE body IN ('old', 'last')"), '1001', 'all is replicated');
is(remembered($subscriber, 'app'), $DEFAULT, '... but the layouts are not');
is_unhindered($subscriber, 'app', 'a subscriber');
# A restore may run as replication does.
$subscriber->safe_psql('app', "SET session_replication_role = replica; INSERT INTO uidgen.layout_used VALUES ('$OLD', now(), 1, 1)");
fails_with($subscriber, 'SELECT uid_next()', '55000', $REFUSED, 'rows that somebody brings in by hand count', 'app');
$_->stop foreach $subscriber, $origin;

# ---- a start as containers do it ----

# The image's script makes the cluster, runs what is to be run in a server that only it can reach, and then starts for good.
my $container = PostgreSQL::Test::Cluster->new('container');
$container->init;
my @start = ('pg_ctl', '-w', '-D', $container->data_dir, '-l', $container->logfile, '-o',
	'-c shared_preload_libraries=uidgen -c uidgen.database=app', 'start');
my @stop = ('pg_ctl', '-w', '-D', $container->data_dir, '-m', 'fast', 'stop');
$container->command_ok(\@start, 'the server that makes the database starts');
$container->safe_psql('postgres', 'CREATE DATABASE app');
$container->safe_psql('app', 'CREATE EXTENSION uidgen');
$container->command_ok(\@stop, '... and stops');
$container->command_ok(\@start, 'the server starts');
is_unhindered($container, 'app', 'in a container');
$container->command_ok(\@stop, 'stopped');

done_testing();
