# Proves that sessions with a cache of ids (uidgen.cache) go on after an error as if
# there had been none: whatever failed, even their very first id, they issue ids of this
# server's worker id, none of them twice, each session in order.  pg_regress can neither
# lock the registry's rows from another session nor promote a standby.
#
# While ids are drawn the clock stands still, so that it cannot keep them apart.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use UidgenTest;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', preload() . <<'END');

uidgen.layout = 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'
uidgen.cache = 100
uidgen.window = 1s
END
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', <<'END');
CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_registry;
CREATE TABLE drawn (round text, session integer, n integer, id bigint);
END

sub begin_session
{
	my ($server) = @_;
	my $session = $server->background_psql('postgres', on_error_stop => 0);
	$session->query('\set VERBOSITY sqlstate');
	return $session;
}

# What psql says of a call that fails.
sub error_of
{
	my ($session, $sql) = @_;
	$session->{stderr} = '';
	$session->query($sql);
	my ($state) = $session->{stderr} =~ /ERROR:\s+([0-9A-Z]{5})/;
	$session->{stderr} = '';
	return $state // 'none';
}

# All sessions draw, turn by turn.  Then the tests.
sub draw_all
{
	my ($server, $round, @sessions) = @_;
	foreach my $turn (1 .. 4)
	{
		# ten thousand, and one more, twice
		my $count = $turn % 2 ? 10_000 : 1;
		$sessions[$_]->query_safe("INSERT INTO drawn SELECT '$round', $_, 10000 * $turn + n, uid_next() FROM generate_series(1, $count) AS n")
		  foreach 0 .. $#sessions;
	}
	my $query = sub { return $server->safe_psql('postgres', "SELECT count(*) $_[0]") };
	my $of_round = "FROM drawn WHERE round = '$round'";

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($query->($of_round), 20_002 * @sessions, "$round: all sessions draw");
	is($query->('- count(DISTINCT id) FROM drawn'), 0, "$round: no id is issued twice");
	is($query->("$of_round AND (uid_parse(id)).worker <> (SELECT worker_id FROM uidgen.status)"),
		0, "$round: all are of this server's worker id");
	is($query->("FROM (SELECT id - lag(id) OVER (PARTITION BY session ORDER BY n) AS step $of_round) AS steps WHERE step <= 0"),
		0, "$round: each session's increase");
	is($server->safe_psql('postgres', 'SELECT wasted BETWEEN 0 AND 100000 FROM uidgen.status'), 't', "$round: few are wasted");
	return;
}

# ---- the registry is locked after a restart ----

$clock->stop($clock->now);
$node->stop('immediate');
$clock->under(sub { $node->start });
my $lock = $node->background_psql('postgres');
$lock->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
my @sessions = map { begin_session($node) } 1 .. 4;
is(error_of($sessions[0], "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()"), '55000', 'the first id: no grant in time');
is(error_of($sessions[1], 'SET uidgen.wait_timeout = 0; SELECT uid_next()'), '55000', 'the first id: no grant at once');
# Not by a time-out: the server's time-outs use the clock that stands still.
$sessions[2]->query_until(qr/begun/, "\\echo begun\nSET uidgen.wait_timeout = '1h';\nSELECT uid_next();\n");
my $WAITING = "FROM pg_stat_activity WHERE query LIKE '%uid_next%' AND wait_event_type = 'Extension' AND backend_type = 'client backend'";
ok(poll_until(sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $WAITING") eq 't' }), 'the first id: a call waits');
is(error_of($sessions[2], 'SELECT 1'), '57014', 'the first id: and is cancelled');
is(error_of($sessions[3], "SET uidgen.wait_timeout = '100ms'; DO \$\$ BEGIN FOR i IN 1 .. 3 LOOP"
		  . ' BEGIN PERFORM uid_next(); EXCEPTION WHEN object_not_in_prerequisite_state THEN END; END LOOP; END $$'),
	'none', 'the first id: errors that the session catches');
$lock->query_safe('COMMIT');
$_->query_safe('RESET uidgen.wait_timeout') foreach @sessions;
draw_all($node, 'after the first call failed', @sessions);

# ---- the grant is lost while caches are in use ----

# The clock goes on meanwhile, so that the keeper's wait for the lock can end.
$clock->set($clock->now);
$lock->query_safe('BEGIN; LOCK TABLE uidgen_registry.worker_node');
end_keeper($node) or die 'no other keeper has begun';
is(error_of($_, "SET uidgen.wait_timeout = 0; SELECT uid_next()"), '55000', 'without a grant the cache is of no use') foreach @sessions;
$lock->query_safe('COMMIT');
$clock->stop($clock->now);
$_->query_safe('RESET uidgen.wait_timeout') foreach @sessions;
draw_all($node, 'after the grant was lost', @sessions);

# ---- the clock stands still: ids may not run further ahead ----

change_setting($node, 'uidgen.max_burst', '0');
is(error_of($_, 'SET uidgen.wait_timeout = 0; SELECT count(uid_next()) FROM generate_series(1, 10000)'),
	'55000', 'the clock stands still: no more ids') foreach @sessions;
$_->query_safe('RESET uidgen.wait_timeout') foreach @sessions;
$clock->step(600);
change_setting($node, 'uidgen.max_burst', '1s');
draw_all($node, 'after the clock stood still', @sessions);

# ---- the extensions are dropped and created again ----

$node->safe_psql('postgres', 'DROP EXTENSION uidgen, uidgen_registry; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');
end_keeper($node) or die 'no other keeper has begun';
draw_all($node, 'after DROP and CREATE EXTENSION', @sessions);

# ---- a standby is promoted ----

$clock->correct;
my $worker = $node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$clock = FakeClock->new($standby);
$clock->under(sub { $standby->start });
$node->wait_for_catchup($standby);
$_->quit foreach @sessions, $lock;
@sessions = map { begin_session($standby) } 1 .. 4;
is(error_of($_, 'SELECT uid_next()'), '25006', 'a standby issues no ids') foreach @sessions;
$standby->promote;
$clock->stop($clock->now + 1);
draw_all($standby, 'after the standby was promoted', @sessions);
isnt($standby->safe_psql('postgres', 'SELECT worker_id FROM uidgen.status'), $worker, 'which has a worker id of its own');
$_->quit foreach @sessions;
$_->stop foreach $standby, $node;

done_testing();
