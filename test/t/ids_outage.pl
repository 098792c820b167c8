# Proves what happens to calls while the registry does not answer: they wait, all
# of them are served when it answers again, and neither calls that are cancelled
# nor calls that fail use up more than one position each; so no outage can drive
# ids ahead of the clock.
#
# The clock is set back by ten minutes first.  From then on ids run ahead of it,
# so that the position is moved by calls alone and can be counted.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use IPC::Run;
use Time::HiRes ();
use UidgenTest;

my $sessions = 20;

# Grants of one tick, so that no ids are left when the registry is silent.
my $node = uidgen_node('waits', 'uidgen.window = 1ms',
	"uidgen.layout = 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;
SELECT uid_next();

-- Draws until a call fails.  Returns the last position that was issued.
CREATE FUNCTION exhaust() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
BEGIN
	LOOP
		id := uid_next();
	END LOOP;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN (id >> 22 << 12) | (id & 4095);
END
$$;

-- Calls so often, and wants each call to fail.
CREATE FUNCTION fail(calls integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. calls LOOP
		BEGIN
			RETURN format('call %s got %s', i, uid_next());
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
		END;
	END LOOP;
	RETURN 'each failed';
END
$$;
SQL
$clock->step(-600);

sub query
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub position
{
	my ($id) = @_;
	return ($id >> 22 << 12) | ($id & 4095);
}

# Begin a session that runs this.
sub begin
{
	my ($sql) = @_;
	my $said = '';
	my $run = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'),
			'-c', "SET uidgen.wait_timeout = '1h'", '-c', $sql
		],
		'<', \undef, '>&', \$said,
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	return { run => $run, said => \$said };
}

# Wait for its end; returns what it said.
sub finish
{
	my ($session) = @_;
	$session->{run}->finish;
	chomp ${ $session->{said} };
	return ${ $session->{said} };
}

sub number_waiting
{
	return query("SELECT count(*) FROM pg_stat_activity"
		  . " WHERE backend_type = 'client backend' AND wait_event_type = 'Extension'");
}

# Make the registry silent, and use up what is granted.  Returns the last
# position that was issued.
my $lock = $node->background_psql('postgres');

sub silence
{
	# What the keeper was doing would bring another grant.
	await_keeper($node);
	$lock->query_safe('BEGIN');
	$lock->query_safe('LOCK TABLE uidgen_registry.worker_node IN ACCESS EXCLUSIVE MODE');
	return query('SET uidgen.wait_timeout = 0; SELECT exhaust()');
}

sub answer
{
	$lock->query_safe('COMMIT');
	return;
}

# Are these ids, none twice, all above a position and at most so far above?
sub are_next
{
	my ($last, $most, $name, @ids) = @_;
	my @positions = sort { $a <=> $b } map { /^\d+$/ ? position($_) : 0 } @ids;
	my %different = map { $_ => 1 } @positions;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(
		@positions > 0 && keys %different == @positions && $positions[0] > $last
		  && $positions[-1] <= $last + $most,
		$name)
	  || diag("last $last, then @positions (@ids)");
}

# ---- all are served ----

my $last = silence();
my $waits = query('SELECT waits FROM uidgen.status');
my @waiting = map { begin('SELECT uid_next()') } 1 .. $sessions;
ok(poll_until(sub { number_waiting() == $sessions }), "locked registry: $sessions calls wait");
is(query('SELECT waits FROM uidgen.status') - $waits, $sessions, 'locked registry: uidgen.status counts them');
answer();
are_next($last, $sessions, 'locked registry: then all are served, with the next ids',
	map { finish($_) } @waiting);

# ---- cancelled ----

# All draw what there is, so that some may have got a position beyond the grant.
foreach my $round (1 .. 3)
{
	query('SELECT uid_next()');
	$lock->query_safe('BEGIN');
	$lock->query_safe('LOCK TABLE uidgen_registry.worker_node IN ACCESS EXCLUSIVE MODE');
	my @ids;
	@waiting = map { begin('SELECT uid_next() FROM generate_series(1, 20000)') } 1 .. $sessions;
	ok(poll_until(sub { number_waiting() == $sessions }),
		"cancelled $round: $sessions sessions draw until they wait");
	query("SELECT count(*) FROM (SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
		  . " WHERE backend_type = 'client backend' AND wait_event_type = 'Extension' ORDER BY pid LIMIT 8) AS c");
	my $errors = 0;
	ok(poll_until(sub { number_waiting() == $sessions - 8 }), "cancelled $round: eight of them stop waiting");
	answer();
	foreach (@waiting)
	{
		my $said = finish($_);
		$errors++ if $said =~ /canceling statement due to user request/;
		push @ids, $said =~ /^(\d+)$/mg;
	}
	is($errors, 8, "cancelled $round: with the usual error");
	# nobody saw the ids of a statement that was cancelled
	is(scalar @ids, 20_000 * ($sessions - 8), "cancelled $round: the others get all their ids");
	is(repeated(\@ids), 0, "cancelled $round: no duplicate");
}

# ---- failing ----

# The registry is locked; or it answers with an error, either of a kind that goes away
# with time, or of one that does not.
query("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \$\$"
	  . " BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = TG_ARGV[0]; END \$\$");
foreach my $outage ('locked', '40001', 'P0001')
{
	my $last;
	if ($outage eq 'locked')
	{
		$last = silence();
	}
	else
	{
		await_keeper($node);
		query("CREATE TRIGGER refuse BEFORE UPDATE ON uidgen_registry.worker_node"
			  . " FOR EACH ROW EXECUTE FUNCTION refuse('$outage')");
		$last = query('SET uidgen.wait_timeout = 0; SELECT exhaust()');
	}
	my @failing = map { begin('SET uidgen.wait_timeout = 0; SELECT fail(5)') } 1 .. 8;
	is_deeply([ map { finish($_) } @failing ], [ ('each failed') x 8 ], "outage ($outage): calls fail");

	my $before = Time::HiRes::time();
	my ($state) = sqlstate_of($node, "SET uidgen.wait_timeout = '2s'; SELECT uid_next()");
	my $took = Time::HiRes::time() - $before;
	is($state, '55000', "outage ($outage): a call with a wait_timeout fails");
	cmp_ok($took, '>=', $outage eq 'P0001' ? 0 : 2, "outage ($outage): not too early");
	cmp_ok($took, '<', 2 + 15, "outage ($outage): nor too late");
	is(query('SELECT state FROM uidgen.status'), 'failing', "outage ($outage): uidgen.status shows it");

	answer() if $outage eq 'locked';
	query('DROP TRIGGER refuse ON uidgen_registry.worker_node') if $outage ne 'locked';
	are_next($last, 1 + 8 + 1, "outage ($outage): the failed calls took one position a session at most",
		query("SET uidgen.wait_timeout = '1h'; SELECT uid_next()"));
	# An id may come before the keeper has noted that it was successful.
	ok(poll_until(sub { query('SELECT state FROM uidgen.status') =~ /^(granted|idle)$/ }), "outage ($outage): uidgen.status shows the end of it");
}

# ---- the keeper ends meanwhile ----

$last = silence();
@waiting = map { begin('SELECT uid_next()') } 1 .. $sessions;
ok(poll_until(sub { number_waiting() == $sessions }), "the keeper ends: $sessions calls wait");
ok(end_keeper($node), 'the keeper ends: another comes');
answer();
# a new grant begins at a new tick, and this one was not handed back
are_next($last, 16 * 4096, 'the keeper ends: then all are served',
	map { finish($_) } @waiting);

$lock->quit;
$node->stop;
done_testing();
