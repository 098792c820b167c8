# The keeper is terminated, kept from the registry, cannot start at all, or has
# nothing to do, or would wait for itself: ids go on as far as they are granted, calls wait no longer than
# they should and say why, and an idle server does nothing.  pg_regress cannot
# bring this about.
#
#	UIDGEN_IDLE_SECONDS=600 ./check test/t/keeper_trouble.pl	# watch idleness longer

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use IPC::Run;
use Time::HiRes qw(time);
use UidgenTest;

# What should take no time may take this long, in seconds, on a slow machine.
my $LIMIT = 20;

# How long a server without demand is watched.
my $idle_seconds = $ENV{UIDGEN_IDLE_SECONDS} // 2;

# A second server becomes idle while the first one is tested.
my $idle = uidgen_node('idle', "uidgen.database = 'registry'", 'uidgen.window = 1h', 'autovacuum = off',
	'checkpoint_timeout = 1h');
$idle->start;
$idle->safe_psql('postgres', 'CREATE EXTENSION uidgen');
$idle->safe_psql('postgres', 'CREATE DATABASE registry');
$idle->safe_psql('registry', 'CREATE EXTENSION uidgen_registry');
my $unused_keeper = the_keeper($idle);
$idle->safe_psql('postgres', 'DROP DATABASE registry');
$idle->safe_psql('postgres', 'CREATE DATABASE registry');
is(the_keeper($idle), $unused_keeper,
	'a keeper that was not needed yet does not keep its database from being dropped');
my $idle_id = $idle->safe_psql('postgres', 'SELECT uid_next()');
my $idle_keeper = the_keeper($idle);

# Eight ids a millisecond: as they are drawn faster than that, and may be, they run
# ahead of the clock, which then is of no help.  A grant lasts until it is used up.
my $node = uidgen_node('main', "include_if_exists = 'more.conf'", "uidgen.max_burst = '1h'", "uidgen.window = '30s'",
	"uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my @all;

# ---- terminated ----

$node->safe_psql('postgres', 'SELECT count(uid_next()) FROM generate_series(1, 20000)');
my $KEEPER = "backend_type = 'uidgen keeper'";
my $drawing = start_drawing($node);
ok(await_drawing($drawing, 500), 'ids are drawn');
foreach my $end (('pg_terminate_backend', 'pg_cancel_backend') x 3)
{
	ok( poll_until(sub { $node->safe_psql('postgres', "SELECT $end(pid) FROM pg_stat_activity WHERE $KEEPER") eq 't' }),
		"the keeper shows in pg_stat_activity; $end()");
	ok(await_drawing($drawing, 200), 'ids go on');
}
push @all, @{ stop_drawing($drawing) };
is(repeated(\@all), 0, 'none is issued twice');
is(scalar(grep { $all[$_] <= $all[ $_ - 1 ] } 1 .. $#all), 0, 'and they stay in order');
is($node->safe_psql('postgres', 'SELECT count(*), sum(launches) > 1 FROM uidgen_registry.worker_node'), '1|t',
	'all with the same worker id');

# ---- kept from the registry ----

# A session that waits for an id, for longer than this test lasts.
sub start_waiting
{
	my ($options) = @_;
	local $ENV{PGOPTIONS} = '-c uidgen.wait_timeout=1h ' . ($options // '');
	my $waiting = { out => '', err => '' };
	$waiting->{run} = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT uid_next()' ],
		'<', \undef, '>', \$waiting->{out}, '2>', \$waiting->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $waiting;
}
my $CALLING = "FROM pg_stat_activity WHERE query = 'SELECT uid_next()' AND state = 'active'";

$drawing = start_drawing($node);
ok(await_drawing($drawing, 500), 'ids are drawn');
my $blocker = $node->background_psql('postgres');
$blocker->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
ok(await_drawing($drawing, 50), 'while the registry is locked, ids go on');
push @all, @{ stop_drawing($drawing) };
my ($ids, $err) = draw_until_error($node, 'postgres', '3s');
push @all, @$ids;
like($err, qr/55000: uidgen has no grant to issue ids from/, 'until the grant is used up');
comes_to_fail($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()', '55000', qr/uidgen has no grant to issue ids from: .*lock timeout/,
	'without a wait, it fails; the error says why');

my $start = time();
fails_with($node, 'SET uidgen.wait_timeout = 100; SELECT uid_next()', '55000', qr/lock timeout/,
	'and after a short one');
fails_with($node, "SET uidgen.wait_timeout = '1h'; SET statement_timeout = '200ms'; SELECT uid_next()",
	'57014', qr/statement timeout/, 'statement_timeout ends a wait');
cmp_ok(time() - $start, '<', $LIMIT, 'all that did not take long');

my $waiting = start_waiting();
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $CALLING AND wait_event_type = 'Extension'"),
	'a waiting call shows as such');
$start = time();
is($node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $CALLING"), 't', 'it can be cancelled');
$waiting->{run}->finish;
like($waiting->{err}, qr/canceling statement due to user request/, 'and says so');
cmp_ok(time() - $start, '<', $LIMIT, 'at once');

$waiting = start_waiting();
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $CALLING AND wait_event_type = 'Extension'"),
	'another call waits');
$blocker->query_safe('COMMIT');
$blocker->quit;
$waiting->{run}->finish;
chomp(my $id = $waiting->{out});
like("$id$waiting->{err}", qr/^\d+$/, 'once the registry is free, it gets its id');
push @all, $id, split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 1000)');
is(repeated(\@all), 0, 'no id was issued twice');
like(log_since($node, 0), qr/LOG:  uidgen has no new grant: .*lock timeout/, 'the log has the reason');
# An id may come before the keeper has noted that it was successful.
ok(poll_until(sub { $node->safe_psql('postgres', 'SELECT state, failures > 0, waits > 0, last_error IS NULL FROM uidgen.status') =~ /^(granted|idle)\|t\|t\|t$/ }),
	'uidgen.status has the past failures');

# ---- cannot start ----

append_to_file($node->data_dir . '/more.conf', "max_worker_processes = 0\n");
$node->restart;
fails_with($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()', '55000',
	qr/keeper.*has not started.*max_worker_processes.*HINT:.*"max_worker_processes"/s,
		'without a keeper, the error names the setting');
$node->stop;

# ---- a library with a long path ----

# Up to version 16 the server keeps 95 characters of the path of a worker's library.
my $long = PostgreSQL::Test::Utils::tempdir('path') . '/' . 'long' x 25;
mkdir $long and symlink($node->config_data('--pkglibdir') . '/uidgen.so', "$long/uidgen.so") or die "$long: $!";
append_to_file($node->data_dir . '/more.conf', "max_worker_processes = 8\ndynamic_library_path = '$long:\$libdir'\n");
$node->start;
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', 0, 'a library with a long path has a keeper');
$node->stop;

# ---- nothing to do ----

# By process id, since a session of ours might do something itself.
ok(poll_until(sub { (keeper_pid($idle) || $idle_keeper) != $idle_keeper }),
	'without demand, the keeper gives up its connection');
my $ACTIVITY = 'SELECT pg_snapshot_xmax(pg_current_snapshot()), pg_current_wal_insert_lsn()';
$idle->safe_psql('postgres', $ACTIVITY) foreach 1 .. 2;
my ($before, $after, $wake_ups, $wake_ups_after);
# The keeper that has just come may still be about to go to rest.
foreach (1 .. 5)
{
	$before = $idle->safe_psql('postgres', $ACTIVITY);
	$idle_keeper = the_keeper($idle);
	$wake_ups = times_asleep($idle_keeper);
	sleep $idle_seconds;
	$after = $idle->safe_psql('postgres', $ACTIVITY);
	$wake_ups_after = times_asleep($idle_keeper);
	last if $after eq $before && $wake_ups_after == $wake_ups;
}
is($after, $before, 'then the server writes nothing and starts no transaction');
is(the_keeper($idle), $idle_keeper, 'and the keeper rests');
is($wake_ups_after, $wake_ups, 'without waking up to look');
note("in $idle_seconds s without demand: next transaction id and end of WAL were $before, are $after");
$idle->safe_psql('postgres', $_)
  foreach 'ALTER DATABASE registry RENAME TO other', 'CREATE DATABASE copy TEMPLATE other', 'DROP DATABASE copy',
  'ALTER DATABASE other RENAME TO registry';
pass('its database can be renamed, copied and dropped');
cmp_ok($idle->safe_psql('postgres', 'SELECT uid_next()'), '>', $idle_id, 'and ids go on');
is($idle->safe_psql('registry', 'SELECT launches FROM uidgen_registry.worker_node'), '1', 'with the same grant');
$idle->restart;
is($idle->safe_psql('registry', 'SELECT released FROM uidgen_registry.worker_node'), 't',
	'for whose release the keeper wakes up');

# ---- a trigger of somebody else's on the registry's tables, as an audit puts it on all ----

# It draws ids: so who is asked for a grant would wait for it.  Who waited here would do so for an hour.
my $AUDIT = q{CREATE TABLE audit (id bigint PRIMARY KEY DEFAULT uid_next(), tab text);
	CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS 'BEGIN INSERT INTO audit (tab) VALUES (tg_table_name); RETURN NULL; END'};
my $ON_ALL = q{DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'uidgen_registry'::regnamespace AND relkind = 'r' LOOP
	EXECUTE format('CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION audit()', t); END LOOP; END $$};
my $ITSELF = 'no ids or numbers are drawn while the registry is asked for them';
my $NAMED = 'trigger audit of table uidgen_registry.worker_node in database postgres';

my $audited = uidgen_node('audited', "uidgen.window = '500ms'", "uidgen.wait_timeout = '1h'");
$audited->start;
my $diagnosis = sub { return $audited->safe_psql('template1', 'SELECT * FROM uidgen.diagnose()') };
$audited->safe_psql($_, 'CREATE EXTENSION uidgen') foreach qw(postgres template1);
$audited->safe_psql('postgres', 'SELECT uid_next()');
$audited->safe_psql('postgres', "SELECT uidgen_registry.create_segment('n'); $AUDIT; $ON_ALL");
ok(poll_until(sub { $audited->safe_psql('postgres', 'SELECT uid_next()'); return $diagnosis->() =~ /^warning\|$NAMED is none of the registry's/; }), 'a trigger on a table of the registry is named in good time, in each database');
like(slurp_file($audited->logfile), qr/LOG:  $NAMED is none of the registry's\n/, '... and in the log');
$audited->stop;
my $log = -s $audited->logfile;
$audited->start;
fails_with($audited, "SELECT $_", '55000', qr/ERROR:  55000: uidgen has no grant to issue ids from: $ITSELF\nHINT:  Drop $NAMED: it is none of the registry's\./, "a grant is not waited for where it would be given: $_") foreach qw(uid_next() uid_next_batch(2));
is($diagnosis->(), "error|$ITSELF. Drop $NAMED: it is none of the registry's.", '... what is to be done is said once');
is_logged($audited, $log, qr/uidgen has no new grant: $ITSELF.*CONTEXT:.*PL\/pgSQL function (?:public\.)?audit\(\)/s, '... and the log has the context');
foreach ([ 'batches', 'uid_next_batch(2)', qr/$ITSELF/ ], [ 'numbers of a segment', q{uid_segment_next('n')}, qr/$ITSELF/ ], [ 'a trigger that fails', '1 / 0', qr/division by zero/ ])
{
	my ($what, $call, $said) = @$_;
	$audited->safe_psql('postgres', "CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM public.$call; RETURN NULL; END'" =~ s/public\.(?=1)//r =~ s/'n'/''n''/r);
	fails_with($audited, 'SELECT uid_next()', '55000', qr/issue ids from: $said\n/, "... nor $what");
	like($diagnosis->(), qr/^error\|$said\.(?: Drop |\nwarning\|)$NAMED/, '... and the trigger is named');
}
# What it is told where it asks.
$audited->safe_psql('postgres', q{CREATE TABLE told (what text); CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.told SELECT message FROM uidgen.diagnose(); RETURN NULL; END'});
like($audited->safe_psql('postgres', 'SELECT uid_next()'), qr/^\d+$/, 'a trigger that draws nothing is in nobody\'s way');
like($audited->safe_psql('postgres', 'SELECT what FROM told LIMIT 1'), qr/^$ITSELF/, '... nor does a diagnosis wait there');
# The numbers of a segment, whose table alone has it.
$audited->safe_psql('postgres', q{CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM public.uid_segment_next(''n''); RETURN NULL; END'; DROP TRIGGER audit ON uidgen_registry.worker_node; DROP TRIGGER audit ON uidgen_registry.registry});
fails_with($audited, q{SELECT uid_segment_next('n')}, '55000', qr/ERROR:  55000: segment "n" has no numbers to draw: $ITSELF\nHINT:  Drop trigger audit of table uidgen_registry\.segment/, 'numbers are not waited for, either');
$audited->safe_psql('postgres', 'DROP FUNCTION audit() CASCADE');
like($audited->safe_psql('postgres', q{SELECT uid_segment_next('n')}), qr/^\d+$/, 'without it, they are given');
ok(poll_until(sub { $audited->safe_psql('postgres', 'SELECT uid_next()'); return $diagnosis->() =~ /^ok\|/ }), '... and all is well');
$audited->stop;

# A fleet's registry, whose server is one of its nodes: its session waits for the keeper, and that for the session.
my $home = fleet_registry('home');
$home->append_conf('postgresql.conf', join "\n", preload(), "uidgen.registry = '" . hosts($home) . "'", "uidgen.wait_timeout = '1h'", "uidgen.registry_timeout = '10min'", '');
$home->restart;
$home->safe_psql('postgres', "SELECT FROM uidgen_registry.end_quarantine(); $AUDIT; $ON_ALL");
fails_with($home, 'SELECT uid_next()', '55000', qr/ERROR:  55000: uidgen has no grant to issue ids from: $ITSELF\n.*HINT:  Drop $NAMED: it is none of the registry's\./s, 'a fleet whose registry is at a node of its own');
like($home->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/^$ITSELF.*Drop $NAMED/, '... a diagnosis there names the trigger');
# Where that server has its grants elsewhere, it may wait; what it lacks is said once.
$home->append_conf('postgresql.conf', "uidgen.registry = ''\nuidgen.database = 'nowhere'\n");
$home->restart;
my $away = fleet_node('away', hosts($home));
comes_to_fail($away, 'SELECT uid_next()', '55000', qr/ERROR:  55000: uidgen has no grant to issue ids from: database "nowhere" does not exist/, 'what the registry\'s server lacks is no more than said');
$home->safe_psql('postgres', 'DROP FUNCTION audit() CASCADE; SELECT FROM uidgen_registry.end_quarantine()');
like($away->safe_psql('postgres', 'SELECT uid_next()'), qr/^\d+$/, '... and without the trigger ids are issued');
$_->stop foreach $away, $home;
done_testing();
