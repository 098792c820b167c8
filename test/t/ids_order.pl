# Of two calls, the one that starts after the other has returned gets the larger id, in whatever database; also when the keeper
# ends, when the row in the registry is taken away or removed, and so when the worker id changes.
# Promise: P4
# Kills: src/core/lease.c untouched_tick: return position_tick(terms, position + first_position(terms, 1) - 1); => return position_tick(terms, position + first_position(terms, 0) - 1);

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IdFiles;
use UidgenTest;

# Long ticks, so that worker ids change within one tick: then the clock does not keep
# the order.  Short grants, so that a lost row is soon noticed.
my $node = uidgen_node('order',
	"uidgen.layout = 'time:36:100ms worker:10 sequence:17 epoch:2025-01-01'",
	'uidgen.window = 200ms');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen; CREATE DATABASE second');
$node->safe_psql('second', 'CREATE EXTENSION uidgen');

# What happens to the grant.  The row that is in use is the one with a token.
my %blow = (
	'the keeper ends' => "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
	  . " WHERE backend_type = 'uidgen keeper'",
	'another instance takes the row' => by_hand("UPDATE uidgen_registry.worker_node"
	  . " SET identity = 'another', token = uidgen_registry.new_token() WHERE identity <> 'another'"),
	'the row is removed' => by_hand("DELETE FROM uidgen_registry.worker_node WHERE identity <> 'another'"),
	'the token is changed' => by_hand("UPDATE uidgen_registry.worker_node SET token = uidgen_registry.new_token()"
	  . " WHERE identity <> 'another'"));
my @blows = sort keys %blow;

# How often a worker id was acquired, by the log: rows may be gone.
sub acquisitions
{
	my @lines = slurp_file($node->logfile) =~ /uidgen acquired worker id/g;
	return scalar @lines;
}

# ---- two sessions that take turns ----

my @sessions = map { $node->background_psql($_) } qw(postgres second postgres);
my ($turns, $last, @disorders) = (0, 0);
my %workers;

sub take_turn
{
	my $session = $sessions[ $turns++ % @sessions ];
	my ($id, $worker) = split /\|/,
	  $session->query_safe('SELECT id, worker FROM uid_parse(uid_next())');
	push @disorders, "$last, $id" if $id <= $last;
	$last = $id;
	$workers{$worker}++;
}

# Try until the fault has happened: a keeper without a connection, for one, is not seen.
sub strike
{
	my ($blow, $between) = @_;
	my $before = acquisitions();
	return poll_until(
		sub {
			$node->safe_psql('postgres', $blow{$blow});
			$between->();
			return acquisitions() > $before;
		});
}

take_turn() foreach 1 .. 20;
foreach my $blow (@blows, @blows)
{
	ok(strike($blow, \&take_turn), "turns: $blow, and a new grant is acquired");
	take_turn() foreach 1 .. 10;
}
is_deeply(\@disorders, [], "turns: each of $turns ids is larger than the one before");
cmp_ok(scalar keys %workers, '>', 2, 'turns: they have several worker ids');
$_->quit foreach @sessions;

# ---- many sessions at once ----

# A cell that all sessions of all databases see at once, whatever their
# transactions: the progress of a replication origin.  Whoever has an id writes
# it there.  What a session reads there before a call is of a call that has
# returned, so the session must get a larger one.  (That a late writer may lower
# it makes the check weaker now and then, but never wrong.)
$node->safe_psql('postgres',
	"SELECT pg_replication_origin_create('returned'), pg_replication_origin_create('stop')");
$node->safe_psql($_, <<'SQL') foreach qw(postgres second);
CREATE FUNCTION watch(OUT ids bigint, OUT disorders bigint, OUT example text)
LANGUAGE plpgsql AS $$
DECLARE
	returned bigint;
	first bigint;
	last bigint;
BEGIN
	ids := 0;
	disorders := 0;
	WHILE pg_replication_origin_progress('stop', false) IS NULL LOOP
		FOR i IN 1 .. 100 LOOP
			returned := coalesce(pg_replication_origin_progress('returned', false) - '0/0', 0);
			IF i % 10 = 1 THEN
				SELECT min(b), max(b) INTO first, last FROM uid_next_batch(7) AS b;
			ELSIF i % 10 = 2 THEN
				first := uid_reserve(7);
				last := first + 6;
			ELSE
				first := uid_next();
				last := first;
			END IF;
			IF first <= returned THEN
				disorders := disorders + 1;
				example := format('%s after %s', first, returned);
			END IF;
			PERFORM pg_replication_origin_advance('returned', pg_lsn '0/0' + last);
			ids := ids + 1;
		END LOOP;
	END LOOP;
END
$$;
SQL

my @watches = map { my $said = ''; { said => \$said, run => IPC::Run::start(
	[ $node->installed_command('psql'), '-XAt', '-d', $node->connstr($_), '-c', 'SELECT * FROM watch()' ],
	'<', \undef, '>&', \$said,
	IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default)) } } (qw(postgres second) x 3);
my $returned = sub {
	$node->safe_psql('postgres', "SELECT pg_replication_origin_progress('returned', false) - '0/0'") || 0;
};
ok(poll_until($returned), 'at once: the sessions draw');
foreach my $blow ((@blows) x 3)
{
	ok(strike($blow, sub {}), "at once: $blow, and a new grant is acquired");
	my $id = $returned->();
	poll_until(sub { $returned->() > $id });
}
$node->safe_psql('postgres', "SELECT pg_replication_origin_advance('stop', '0/1')");
my $ids = 0;
foreach my $watch (@watches)
{
	$watch->{run}->finish;
	my ($count, $disorders) = ${ $watch->{said} } =~ /^(\d+)\|(\d+)\|/;
	ok(defined $disorders && $disorders == 0, 'at once: every id is larger than all that had returned')
	  or diag(${ $watch->{said} });
	$ids += $count // 0;
}
cmp_ok($ids, '>', 6000, "at once: there were $ids calls");

$node->stop;
done_testing();
