# A call does not fail before a keeper that has nothing to do can wake up.  Neither calls nor a shutdown wait for a keeper
# that cannot connect.  pg_regress cannot wait for grants to end, nor stop its server.
# Promise: none; part: src/keeper
# Kills: src/memory/demand.c uidgen_demand_failed: demand->failures++; => ;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use POSIX qw(mkfifo);
use UidgenTest;

my $node = uidgen_node('main', "uidgen.database = 'registry'", 'uidgen.window = 100ms', 'max_prepared_transactions = 1');
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE DATABASE registry');
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

# The grant has ended, but the keeper is awake.  Its moment is a second, which a busy machine may take from it now and then.
my $OVER = 'SELECT granted_until < clock_timestamp() FROM uidgen.status';
ok( poll_until(
		sub {
			$node->safe_psql('postgres', 'SELECT uid_next()');
			$node->poll_query_until('postgres', $OVER) or die 'the grant does not end';
			return (sqlstate_of($node, 'SET uidgen.wait_timeout = 0; SELECT uid_next()'))[0] eq '';
		}),
	'without a wait, a keeper that is awake gets its moment');

# After half a minute without demand another keeper takes its place.
my $idle = the_keeper($node);
$clock->pass(31);
ok(poll_until(sub { kill 'HUP', $idle; !grep { $_ == $idle } keeper_pids($node) }), 'a keeper that has nothing to do leaves');
unlike(slurp_file($node->logfile), qr/ERROR:  lock/, '... without an error');

# An owner who is no superuser any more gets nothing back through the keeper.
$node->safe_psql('registry', <<'END');
CREATE ROLE bob SUPERUSER LOGIN;
SET ROLE bob;
DROP EXTENSION uidgen_registry;
CREATE EXTENSION uidgen_registry;
CREATE TABLE seen (who name);
CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO public.seen VALUES (current_user); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER spy AFTER INSERT OR UPDATE ON uidgen_registry.worker_node
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spy();
RESET ROLE;
ALTER ROLE bob NOSUPERUSER;
END
$node->poll_query_until('postgres', $OVER) or die 'the grant does not end';
fails_with($node, 'SELECT uid_next()', '55000', qr/deferred trigger/, 'no deferred trigger runs after the call');
is($node->safe_psql('registry', "SELECT count(*) FROM seen WHERE who <> 'bob'"), '0', 'least of all as another user');
$node->safe_psql('registry', 'DROP TRIGGER spy ON uidgen_registry.worker_node');
is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', 'without it, ids go on');

# A lock on the registry's database itself, which no end of a session ends.  A new
# keeper has to connect.
$clock->under(sub { $node->restart });
$node->safe_psql('postgres', "BEGIN; ALTER DATABASE registry RENAME TO other; PREPARE TRANSACTION 'forgotten'");
comes_to_fail($node, "SET uidgen.wait_timeout = '5s'; SELECT uid_next()", '55000', qr/could not connect to database "registry"/, 'a database that is locked: the error says so');
like($node->safe_psql('postgres', 'SELECT state, failures > 0, last_error FROM uidgen.status'), qr/^failing\|t\|could not connect/, 'and uidgen.status');
$node->stop('fast');
ok(!-e $node->data_dir . '/postmaster.pid', 'and the server stops');
$clock->under(sub { $node->start });
$node->safe_psql('postgres', "ROLLBACK PREPARED 'forgotten'");
is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', 'when it is free, ids go on');

# ---- slow to connect ----

# The keeper reads a file of its database when it connects; from a pipe it reads
# nothing until somebody has opened the other end.
$clock->under(sub { $node->restart });
my $file = $node->data_dir . '/base/'
  . $node->safe_psql('postgres', "SELECT oid FROM pg_database WHERE datname = 'registry'") . '/pg_internal.init';
unlink $file;
mkfifo($file, 0600) or die "could not make $file: $!";
fails_with($node, "SET uidgen.wait_timeout = '100ms'; SELECT uid_next()", '55000', qr/uidgen has no grant to issue ids from\n/, 'while the keeper connects, no call says that it could not');
is($node->safe_psql('postgres', "SELECT state <> 'failing', failures, last_error IS NULL FROM uidgen.status"), 't|0|t', 'nor does uidgen.status');
open(my $pipe, '>', $file) or die "could not open $file: $!";
close $pipe;
is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', 'once it has connected, ids go on');
# A short grant may have run out again by now.
is($node->safe_psql('postgres', "SELECT state IN ('granted', 'idle'), failures FROM uidgen.status"), 't|0', 'without a failure');

# A catalog that is locked keeps the keeper from connecting, and callers from looking
# whether there is a database to connect to.
$clock->under(sub { $node->restart });
my ($caller, $locker) =
  map { $node->background_psql('postgres', on_error_stop => $_) } 0, 1;
$locker->query_safe('BEGIN; LOCK TABLE pg_database');
$caller->query("SET lock_timeout = '1h'; SET uidgen.wait_timeout = '1s'; SELECT uid_next()");
like($caller->{stderr}, qr/ERROR:  uidgen has no grant/, 'a call ends before the lock on a catalog does');
$locker->query_safe('ROLLBACK');
$_->quit foreach $locker, $caller;
is((sqlstate_of($node, 'SELECT uid_next()'))[0], '', 'when it is free, ids go on');

$node->stop;
done_testing();
