# DROP EXTENSION while the keeper is at work: whichever table each of them has first, the keeper
# gives way in time, and neither of them is ended by a deadlock.  Both orders are brought about by a
# third session, behind whose lock they queue up.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use UidgenTest;

my $node = uidgen_node('main', 'uidgen.window = 200ms', 'log_lock_waits = on', 'log_statement = none');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; SELECT uid_next()');
my $start = -s $node->logfile;

# Begin a statement in a session of its own.
sub begin
{
	my ($sql) = @_;
	my $session = { err => '', out => '' };
	$session->{run} = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $sql ],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err}, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $session;
}

# One test: it ends without an error.
sub succeeds
{
	my ($session, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($session->{run}->finish && $session->{err} eq '', $name) or diag($session->{err});
}

sub waits_for
{
	my ($what) = @_;
	return $node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE NOT l.granted AND $what");
}

# ---- in any order of the tables ----

foreach my $table (qw(registry worker_node segment))
{
	my $holder = $node->background_psql('postgres');
	$holder->query_safe("BEGIN; LOCK TABLE uidgen_registry.$table IN ACCESS SHARE MODE");
	my $drop = begin('SET client_min_messages = error; BEGIN; DROP EXTENSION uidgen_registry; ROLLBACK');
	ok(waits_for("relation = 'uidgen_registry.$table'::regclass AND query LIKE '%DROP EXTENSION%'"), "$table: DROP EXTENSION waits for a session");
	# The grant has ended by now, or ends soon.
	my $draw = begin("SET uidgen.wait_timeout = '60s'; DO \$\$ BEGIN FOR i IN 1 .. 100 LOOP PERFORM uid_next(), pg_sleep(0.01); END LOOP; END \$\$");
	ok(waits_for("backend_type = 'uidgen keeper'"), '... and the keeper, too');
	$holder->query_safe('COMMIT');
	$holder->quit;
	succeeds($drop, 'both go on');
	succeeds($draw, '... and so does who draws');
}

# ---- catalogs ----

# Any role can keep others from reading a catalog: CREATE RULE waits behind an open transaction before it is refused.
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
foreach my $catalog (qw(pg_extension pg_depend))
{
	my $reader = $node->background_psql('postgres', extra_params => [ '-U', 'plain' ]);
	$node->safe_psql('postgres', 'SELECT uid_next()');
	$reader->query_safe("BEGIN; SELECT count(*) FROM $catalog");
	my $rule = begin("SET ROLE plain; CREATE RULE r AS ON INSERT TO pg_catalog.$catalog DO NOTHING");
	ok(waits_for("relation = 'pg_catalog.$catalog'::regclass AND query LIKE '%CREATE RULE%'"), "a role without rights waits for a lock on $catalog");
	my $renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
	ok($node->poll_query_until('postgres', "SELECT uid_next() > 0 AND renewals > $renewals + 3 FROM uidgen.status"), '... and ids go on, over several grants');
	$reader->query_safe('COMMIT');
	$reader->quit;
	$rule->{run}->finish;
	like($rule->{err}, qr/permission denied/, '... until it is refused');
}

unlike(log_since($node, $start), qr/deadlock detected/, 'there was no deadlock');

done_testing();
