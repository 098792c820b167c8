# DROP EXTENSION while the keeper is at work: whichever table each of them has first, the keeper
# gives way in time, and neither of them is ended by a deadlock.  Both orders are brought about by a
# third session, behind whose lock they queue up.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use Twins;
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

# ---- the edition: who takes it out or sets it up, and who draws, whichever sequence each of them has first ----

$node->stop;
$node = twin_node('edition', 'log_lock_waits = on', 'log_statement = none');
$node->start;
put_twin_in('edition', $node, 'postgres');
$start = -s $node->logfile;
foreach my $call ("uidgen.set_up(after => uid_max(now()))", 'uidgen.set_up(worker_id => 6, instead_of => 5)', 'uidgen.take_out()')
{
	my @first = map { my $session = $node->background_psql('postgres'); $session->query_safe("BEGIN; SELECT $_"); $session } 'uid_next()', 'uid_reserve(2)';
	my $owner = begin('SET client_min_messages = error; DROP SCHEMA IF EXISTS uidgen_tools CASCADE; SELECT ' . $call);
	ok(waits_for("query LIKE '%uidgen.%'"), "$call waits for those who have drawn");
	my @next = map { begin("SELECT $_") } 'uid_next()', 'uid_reserve(2)', 'uid_next()';
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE query ~ '^SELECT uid_' AND wait_event_type = 'Lock'}), '... and others for it');
	$first[0]->query_safe('SELECT uid_reserve(2), uid_next(); COMMIT');
	$first[1]->query_safe('SELECT uid_next(), uid_reserve(2); COMMIT');
	$_->quit foreach @first;
	succeeds($owner, '... and gets what it wants');
	foreach my $session (@next)
	{
		$session->{run}->finish;
		like($session->{out} . $session->{err}, $call =~ /take_out/ ? qr/ERROR:  (?!deadlock)/ : qr/^\d+$/, '... and so do they, if there is any');
	}
}
unlike(log_since($node, $start), qr/deadlock detected/, 'there was no deadlock');

done_testing();
