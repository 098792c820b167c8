# uid_backfill(time): ids of past times, under worker ids that the registry never granted, and never will.  Who may reserve
# them, for which database; that no copy goes on with them; and that what one transaction has issued no other one has, whatever
# it does: savepoints, errors, isolation levels, PREPARE, several sessions at once.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

my $node = uidgen_node('main', 'max_prepared_transactions = 5');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

sub ids { return split /\n/, $node->safe_psql('postgres', $_[0]); }

# Reserve a worker id for this database of $node, in the database of the registry, and accept it.  $more: further arguments.
# Returns the permit.
sub reserve
{
	my ($database, $registry, $more) = @_;
	my $permit = $node->safe_psql($registry, sprintf "SELECT uidgen_registry.reserve_backfill('%s'%s)", $node->safe_psql($database, 'SELECT uidgen.backfill_home()'), $more // '');
	$node->safe_psql($database, "SELECT uidgen.accept_backfill('$permit')");
	return $permit;
}

# A worker id that neither this database nor the registry has.  Not 0, which is asked for by name.
sub unused
{
	my ($database, $registry) = @_;
	my %has = map { $_ => 1 } split(/\n/, $node->safe_psql($database, 'SELECT worker_id FROM uidgen.backfill')),
	  split(/\n/, $node->safe_psql($registry, 'SELECT worker_id FROM uidgen_registry.worker_node'));
	return ', worker => ' . (grep { !$has{$_} } 1 .. 1023)[0];
}

# ---- a worker id of its own ----

fails_with($node, "SELECT uid_backfill('2025-06-01 UTC')", '53400', qr/no worker id is reserved.*HINT: .*reserve_backfill\('\d[^']*'\), and here SELECT uidgen.accept_backfill/s, 'without a worker id that is reserved there is no id, and the hint says what to run');
my $home = $node->safe_psql('postgres', 'SELECT uidgen.backfill_home()');
like(reserve('postgres', 'postgres', unused('postgres', 'postgres')), qr{^0/\d+/\d+/\d+@[0-9a-f/]+$}, 'a worker id is reserved');
my $worker = $node->safe_psql('postgres', 'SELECT worker_id FROM uidgen.backfill');
is($node->safe_psql('postgres', "SELECT granted_until = (SELECT max_tick FROM uidgen_registry.registry), token IS NULL FROM uidgen_registry.worker_node WHERE worker_id = $worker"),
	't|t', '... and kept from all servers');
is($node->safe_psql('postgres', "SELECT uidgen_registry.tick_at(now(), l.unit, l.epoch) <= e.until, e.until <= uidgen_registry.tick_at(clock_timestamp(), l.unit, l.epoch), cardinality(g.workers)
		FROM uidgen_registry.registry AS l, uidgen_registry.local_grants(l.layout, 0, 64) AS g, unnest(g.workers, g.ends) AS e (worker, until) WHERE e.worker = $worker"),
	't|t|2', '... and what the server would bring along of it into a fleet ends now');
is($node->safe_psql('postgres', "SELECT timestamp, worker FROM uid_parse(uid_backfill('2025-06-01 12:00:00.123456 UTC'))"), "2025-06-01 12:00:00.123+00|$worker", 'an id has its time');
isnt($node->safe_psql('postgres', 'SELECT worker FROM uid_parse(uid_next())'), $worker, '... and a worker id that no live id has');
$node->safe_psql('postgres', 'ALTER SYSTEM SET uidgen.worker_id = ' . $worker);
$node->restart;
fails_with($node, 'SELECT uid_next()', '55006', qr/belongs to another instance/, 'no server is granted it');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.worker_id');
$node->restart;

# ---- times ----

my @many = ids("SELECT id, uid_timestamp(id) FROM (SELECT uid_backfill('2025-06-02 UTC') AS id FROM generate_series(1, 10000)) AS t");
my %seen = map { $_ => 1 } @many;
is(scalar keys %seen, 10000, 'more ids of one time than a tick has room for are all different');
is(join(' ', map { scalar grep { $_ =~ /\|2025-06-02 00:00:00$_[0]?/ } @many } 1), '10000', '... and of that second');
is($node->safe_psql('postgres', "SELECT uid_timestamp(uid_backfill('2025-06-02 00:00:00.001 UTC'))"), '2025-06-02 00:00:00.002+00', 'a time that they have passed gets the next one that has room');
is($node->safe_psql('postgres', "SELECT uid_timestamp(uid_backfill('2025-06-02 00:00:01 UTC'))"), '2025-06-02 00:00:01+00', '... and a later one is right again');
fails_with($node, "SELECT uid_backfill('2025-06-02 UTC')", '22023', qr/times of uid_backfill\(\) must not decrease.* 1000 ms before .* worker id $worker .*reserve a further worker id/s, 'times must not decrease');
is($node->safe_psql('postgres', "SELECT uid_timestamp(upto), uid_timestamp(asked) FROM uidgen.backfill"), '2025-06-02 00:00:01+00|2025-06-02 00:00:01+00', 'the table tells how far it has come');
fails_with($node, "SELECT uid_backfill('2019-03-05 07:00 UTC')", '22008', qr/before the epoch of the layout.*begins at 2025-01-01.*"epoch:2019-03-05"/s, 'before the epoch: which one would do');
fails_with($node, "SELECT uid_backfill('-infinity')", '22008', qr/No layout begins so early/, '... or none');
fails_with($node, "SELECT uid_backfill($_)", '22023', qr/the time is not past/, "$_ is not past")
  foreach "now() + interval '1 minute'", "now() + interval '1 day'", "'infinity'", "'294276-12-31 UTC'";
fails_with($node, 'SELECT uid_backfill(NULL)', '22004', qr/time must not be null/, 'a null time is an error');
fails_with($node, "SELECT uid_backfill('2025-07-01 UTC', NULL)", '22004', qr/tag must not be null/, '... and a null tag');
fails_with($node, "SELECT uid_backfill('2025-07-01 UTC', 1)", '22003', qr/tag 1 is out of range/, '... and one that the layout has no room for');
fails_with($node, "SET default_transaction_read_only = on; SELECT uid_backfill('2025-07-01 UTC')", '25006', qr/cannot execute uid_backfill\(\) in a read-only transaction/, 'a transaction that only reads has none');

# ---- rows of the table ----

# A dump of the data alone, restored here after more ids were issued; and a row of another registry before ours.
$node->safe_psql('postgres', 'CREATE TABLE saved AS TABLE uidgen.backfill');
my @before = ids("SELECT uid_backfill('2025-06-10 UTC') FROM generate_series(1, 5)");
$node->safe_psql('postgres', 'INSERT INTO uidgen.backfill SELECT * FROM saved');
fails_with($node, "SELECT uid_backfill('2025-06-05 UTC')", '22023', qr/must not decrease/, 'a row that was restored does not set the time back');
is(repeated([ @before, map { ids("SELECT uid_backfill('2025-06-10 UTC') FROM generate_series(1, 5)") } 1 .. 3 ]), 0, '... nor is an id issued again');
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT (upto, asked)) FROM uidgen.backfill'), '2|1', '... and the rows are brought to the same state');
$node->safe_psql('postgres', q{
	UPDATE saved SET registry = registry + 1;
	DELETE FROM uidgen.backfill WHERE ctid = (SELECT max(ctid) FROM uidgen.backfill);
	INSERT INTO saved SELECT * FROM uidgen.backfill;
	DELETE FROM uidgen.backfill;
	INSERT INTO uidgen.backfill SELECT * FROM saved ORDER BY registry DESC});
is(repeated([ @before, map { ids("SELECT uid_backfill('2025-06-11 UTC') FROM generate_series(1, 5)") } 1 .. 3 ]), 0, 'a row of another registry is not taken for ours');
is($node->safe_psql('postgres', "SELECT string_agg(uid_timestamp(upto)::date::text, ' ' ORDER BY registry) FROM uidgen.backfill"), '2025-06-11 2025-06-02', '... or changed');
$node->safe_psql('postgres', 'DELETE FROM uidgen.backfill WHERE registry = (SELECT max(registry) FROM uidgen.backfill); DROP TABLE saved');

# Who may write into the table makes a row for the worker id of live ids.
$node->safe_psql('postgres', 'CREATE TABLE saved AS TABLE uidgen.backfill; UPDATE uidgen.backfill SET upto = NULL, asked = NULL, worker_id = (SELECT worker_id FROM uidgen.status)');
fails_with($node, "SELECT uid_backfill('2025-06-12 UTC')", '55000', qr/has the worker id of this server/, 'under the worker id of live ids none of the past is issued');
$node->safe_psql('postgres', 'DELETE FROM uidgen.backfill; INSERT INTO uidgen.backfill TABLE saved; DROP TABLE saved');

$node->safe_psql('postgres', 'ALTER TABLE uidgen.backfill SET UNLOGGED');
fails_with($node, "SELECT uid_backfill('2025-06-12 UTC')", '55000', qr/uidgen.backfill is not logged/, 'a table that a crash empties is not gone by');
$node->safe_psql('postgres', 'ALTER TABLE uidgen.backfill SET LOGGED');

# A copy that takes the place of its origin, with its OID.
$node->safe_psql('postgres', 'CREATE ROLE landlord LOGIN CREATEDB');
$node->safe_psql('postgres', 'CREATE DATABASE flat OWNER landlord');
$node->safe_psql('flat', 'CREATE EXTENSION uidgen; SELECT uid_next()');
reserve('flat', 'postgres');
my ($name, $oid) = split /\|/, $node->safe_psql('postgres', "SELECT datname, oid FROM pg_database WHERE datname = 'flat'");
$node->safe_psql('postgres', $_, extra_params => [ '-U', 'landlord' ]) foreach 'CREATE DATABASE snapshot TEMPLATE flat';
my $issued = $node->safe_psql('flat', "SELECT uid_backfill('2025-06-01 UTC')");
# The second in which it was made tells them apart.
poll_until(sub { $node->safe_psql('postgres', "SELECT clock_timestamp() > (pg_stat_file('base/$oid/PG_VERSION')).modification + interval '1 s'") eq 't' }) or die 'time stands still';
$node->safe_psql('postgres', $_, extra_params => [ '-U', 'landlord' ]) foreach 'DROP DATABASE flat', "CREATE DATABASE flat TEMPLATE snapshot OID = $oid";
fails_with($node, "SELECT uid_backfill('2025-06-01 UTC')", '53400', qr/no worker id is reserved/, 'a copy with the OID of its origin does not go on', 'flat');
$node->safe_psql('postgres', "DROP DATABASE $_") foreach qw(flat snapshot);

# ---- transactions ----

$node->safe_psql('postgres', 'CREATE TABLE got (id bigint PRIMARY KEY, how text)');
my $time = "timestamptz '2025-08-01 UTC'";
my $rolled_back = $node->safe_psql('postgres', "BEGIN; SELECT uid_backfill($time); ROLLBACK");
is($node->safe_psql('postgres', "INSERT INTO got VALUES (uid_backfill($time), 'first') RETURNING id") =~ s/\n.*//sr, $rolled_back, 'what was rolled back is issued again');
$node->safe_psql('postgres', "
	BEGIN;
	SAVEPOINT a;
	INSERT INTO got VALUES (uid_backfill($time), 'undone');
	ROLLBACK TO a;
	INSERT INTO got VALUES (uid_backfill($time), 'savepoint');
	SAVEPOINT b;
	INSERT INTO got VALUES (uid_backfill($time), 'savepoint');
	RELEASE b;
	COMMIT;
	DO \$\$
	DECLARE
		kept bigint;
	BEGIN
		BEGIN
			BEGIN
				kept := uid_backfill($time + interval '1 day');
			END;
			PERFORM uid_backfill($time + interval '2 days');
			RAISE EXCEPTION 'undone';
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
		-- Earlier times can be asked for again.
		INSERT INTO got VALUES (uid_backfill($time), 'again');
		BEGIN
			INSERT INTO got VALUES (uid_backfill($time), 'nested');
			BEGIN
				PERFORM 1 / 0;
			EXCEPTION WHEN division_by_zero THEN
				INSERT INTO got VALUES (uid_backfill($time), 'nested');
			END;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
		INSERT INTO got VALUES (uid_backfill($time), 'again');
	END \$\$;
	BEGIN;
	SAVEPOINT a;
	INSERT INTO got VALUES (uid_backfill($time), 'released');
	SAVEPOINT b;
	SAVEPOINT c;
	INSERT INTO got VALUES (uid_backfill($time + interval '1 h'), 'undone');
	RELEASE c;
	ROLLBACK TO b;
	INSERT INTO got VALUES (uid_backfill($time), 'released');
	RELEASE a;
	INSERT INTO got VALUES (uid_backfill($time), 'released');
	COMMIT;
	INSERT INTO got SELECT uid_backfill($time + n * interval '1 ms'), 'many' FROM generate_series(0, 999) AS n;
	BEGIN;
	INSERT INTO got VALUES (uid_backfill($time + interval '1 s'), 'prepared');
	PREPARE TRANSACTION 'p';");
fails_with($node, "SET lock_timeout = '200ms'; SELECT uid_backfill('2025-08-02 UTC')", '55P03', qr/lock timeout/, 'a prepared transaction keeps its worker id');
$node->restart;
fails_with($node, "SET lock_timeout = '200ms'; SELECT uid_backfill('2025-08-02 UTC')", '55P03', qr/lock timeout/, '... over a restart');
$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
is($node->safe_psql('postgres', "INSERT INTO got VALUES (uid_backfill('2025-08-01 00:00:01 UTC'), 'after') RETURNING (uid_parse(id)).sequence") =~ s/\n.*//sr, '1', '... and what it has issued is not issued again');

is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT uid_timestamp(id)), max((uid_parse(id)).sequence), bool_or(how = $$undone$$) FROM got WHERE uid_timestamp(id) < $$2025-08-01 00:00:01 UTC$$'),
	'1010|1000|10|f', 'what a savepoint has issued is taken back with it');

# A snapshot from before another transaction's ids.
foreach my $isolation ('repeatable read', 'serializable')
{
	my $old = $node->background_psql('postgres');
	$old->query_safe("BEGIN ISOLATION LEVEL \U$isolation; SELECT count(*) FROM got");
	my $other = $node->safe_psql('postgres', "SELECT uid_backfill('2025-08-03 UTC')");
	cmp_ok($old->query_safe("SELECT uid_backfill('2025-08-03 UTC')"), '>', $other, "$isolation: goes on above what others have issued since");
	$old->query_safe('COMMIT');
	$old->quit;
}

# A savepoint that is rolled back does not give the worker id to others.
my $holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; SAVEPOINT a; SELECT uid_backfill('2025-08-03 12:00 UTC'); ROLLBACK TO a");
fails_with($node, "SET lock_timeout = '200ms'; SELECT uid_backfill('2025-08-03 12:00 UTC')", '55P03', qr/lock timeout/, 'a transaction keeps a worker id that a savepoint has taken');
$holder->query_safe('COMMIT');
$holder->quit;

# A trigger at the end of a transaction
$node->safe_psql('postgres', "
	CREATE TABLE late (at timestamptz, id bigint);
	CREATE FUNCTION give() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE late SET id = uid_backfill(NEW.at) WHERE at = NEW.at; RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER give AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION give();
	INSERT INTO late SELECT '2025-08-04 UTC'::timestamptz + n * interval '1 s' FROM generate_series(1, 5) AS n");
is($node->safe_psql('postgres', 'SELECT count(DISTINCT id), bool_and(uid_timestamp(id) = at) FROM late'), '5|t', 'deferred triggers get ids');
is($node->safe_psql('postgres', 'SELECT uid_timestamp(upto) FROM uidgen.backfill'), '2025-08-04 00:00:05+00', '... that are written down');

# ---- several at once ----

fails_with($node, "SELECT uidgen_registry.reserve_backfill('$home', worker => $worker)", '55006', qr/was granted before, or is reserved/, 'a worker id is reserved once');
fails_with($node, "SELECT uidgen_registry.reserve_backfill('$home', worker => (SELECT worker_id FROM uidgen_registry.worker_node WHERE token IS NOT NULL))", '55006', qr/was granted before/, '... and none that a server had');
fails_with($node, "SELECT uidgen_registry.reserve_backfill('$home', worker => 1024)", '22023', qr/out of range/, '... or that the layout has not');
fails_with($node, "SELECT uidgen_registry.reserve_backfill('$home', worker => -1)", '22023', qr/worker id -1 is out of range/, '... nor one below 0');
fails_with($node, "SELECT uidgen_registry.reserve_backfill('$home', datacenter => 1)", '22023', qr/Change the argument "datacenter"/, 'of a datacenter that the layout has not, the argument is to change');
reserve('postgres', 'postgres', unused('postgres', 'postgres')) foreach 1 .. 2;
is($node->safe_psql('postgres', "SELECT uid_timestamp(uid_backfill('2025-02-01 UTC'))"), '2025-02-01 00:00:00+00', 'with a further worker id earlier times can be had');
is($node->safe_psql('postgres', "SELECT (uid_parse(uid_backfill('2025-08-05 UTC'))).worker"), $worker, 'a late time leaves the earlier ones to the others');
$node->safe_psql('postgres', 'CREATE TABLE at_once (id bigint, at timestamptz)');
# As many as there are worker ids, and more: those wait.
my @sessions = map { $node->background_psql('postgres') } 1 .. 3;
$_->query_safe("BEGIN; INSERT INTO at_once SELECT uid_backfill(t), t FROM (SELECT '2025-08-06 UTC'::timestamptz + n * interval '3 ms' AS t FROM generate_series(1, 5000) AS n) AS t") foreach @sessions;
fails_with($node, "SET lock_timeout = '200ms'; SELECT uid_backfill('2025-08-07 UTC')", '55P03', qr/lock timeout/, 'a fourth session waits');
my $fourth = $node->background_psql('postgres');
$fourth->query_until(qr/begun/, "\\echo begun\nINSERT INTO at_once VALUES (uid_backfill('2025-08-07 UTC'), '2025-08-07 UTC');\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'INSERT%' AND wait_event_type = 'Lock'}), '... for one of them');
$_->query_safe('COMMIT') foreach @sessions;
$_->quit foreach @sessions;
$fourth->query_safe('SELECT 1');
$fourth->quit;
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id), bool_and(uid_timestamp(id) = at), count(DISTINCT (uid_parse(id)).worker) FROM at_once'), '15001|15001|t|3', 'each has ids of its own');
fails_with($node, "SELECT uid_backfill('2025-03-01 UTC')", '22023', qr/3 worker ids are reserved/, 'a time before the latest of all is refused');

# ---- who may ----

$node->safe_psql('postgres', 'CREATE ROLE app LOGIN; CREATE ROLE owner LOGIN; CREATE DATABASE owned OWNER owner');
fails_with($node, "SET ROLE app; SELECT uid_backfill('2025-09-01 UTC')", '42501', qr/permission denied for function uid_backfill/, 'not everybody may take late times from the others');
fails_with($node, "SET ROLE app; SELECT uidgen_registry.reserve_backfill('$home')", '42501', qr/permission denied/, '... or reserve');
fails_with($node, "SET ROLE app; SELECT uidgen.accept_backfill('$home')", '42501', qr/permission denied/, '... or accept');

# ---- another database of the server ----

$node->safe_psql('owned', 'SET client_min_messages = warning; CREATE EXTENSION uidgen');
$home = $node->safe_psql('owned', 'SELECT uidgen.backfill_home()');
my $permit = $node->safe_psql('postgres', "SELECT uidgen_registry.reserve_backfill('$home')");
fails_with($node, "SELECT uidgen.accept_backfill('$permit')", '55000', qr/is reserved for another database/, 'a worker id is reserved for one database');
# Its owner does, since whoever owns the database could put another function in the place of this one.
$node->safe_psql('owned', "SET SESSION AUTHORIZATION owner; SELECT uidgen.accept_backfill('$permit')");
fails_with($node, "SET session_replication_role = replica; TRUNCATE uidgen.backfill", '55000', qr/cannot truncate uidgen\.backfill/, 'no role empties the table of those that were accepted', 'owned');
fails_with($node, "SELECT uidgen.accept_backfill('$permit')", '42710', qr/was accepted before/, '... and accepted there once', 'owned');
is($node->safe_psql('owned', "SET ROLE owner; SELECT uid_timestamp(uid_backfill('2025-09-01 UTC'))"), '2025-09-01 00:00:00+00', '... where the owner of the database issues ids with it');
fails_with($node, "SELECT uidgen_registry.reserve_backfill('7/1/1/1/0123456789abcdef/0123456789abcdef/1/1')", '55000', qr/registry of its own server alone/, 'a server\'s own registry reserves nothing for others');
fails_with($node, "SELECT uidgen_registry.reserve_backfill('owned')", '22023', qr/does not name a database/, 'a name is not enough');
fails_with($node, "SELECT uidgen.accept_backfill('x')", '22023', qr/not what uidgen_registry.reserve_backfill/, 'nor is any text a permit');

# ---- copies ----

$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE owned');
fails_with($node, "SELECT uid_backfill('2025-10-01 UTC')", '53400', qr/1 in uidgen.backfill are reserved for the database that this is a copy of/, 'a copy by TEMPLATE has no right to it', 'copied');
fails_with($node, "SELECT uidgen.accept_backfill('$permit')", '55000', qr/reserved for another database/, '... and cannot accept it again', 'copied');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-f', $dump, 'owned' ], 'a dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-f', $dump, 'restored' ], '... is restored');
is($node->safe_psql('restored', 'SELECT count(*) FROM uidgen.backfill'), '1', '... and knows which worker id its ids have');
fails_with($node, "SELECT uid_backfill('2025-10-01 UTC')", '53400', qr/1 in uidgen.backfill are reserved for the database/, '... but has no right to it', 'restored');
my ($worker_of_owned) = $permit =~ m{^0/(\d+)};
my $forged = $permit =~ s/@.*/'@' . $node->safe_psql('restored', 'SELECT uidgen.backfill_home()')/er;
fails_with($node, "SELECT uidgen.accept_backfill('$forged')", '55006', qr/has ids of past times in this database already/, '... whoever reserves it', 'restored');
# A further one it may have.
my $further = $node->safe_psql('postgres', 'SELECT uidgen_registry.reserve_backfill($$' . $node->safe_psql('restored', 'SELECT uidgen.backfill_home()') . '$$)');
my ($status, $out, $err) = $node->psql('restored', "SELECT uidgen.accept_backfill('$further')");
like($err, qr/WARNING:  ids of this database come from another one/, 'whoever reserves for data from elsewhere is warned');
is($node->safe_psql('restored', "SELECT uid_timestamp(uid_backfill('2025-01-02 UTC'))"), '2025-01-02 00:00:00+00', '... and may');
$node->safe_psql('restored', 'DROP EXTENSION uidgen; CREATE EXTENSION uidgen');
fails_with($node, "SELECT uidgen.accept_backfill('$further')", '55000', qr/reserved for another database/, 'an extension that was created anew is another one', 'restored');

# The data directory is copied, as it is.
$node->stop;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$node->backup_fs_cold('cold');
$copy->init_from_backup($node, 'cold');
$node->start;
$copy->start;
fails_with($copy, "SELECT uid_backfill('2025-10-01 UTC')", '53400', qr/3 in uidgen.backfill are reserved for the database that this is a copy of/, 'a copy of the server has no right to it');
$copy->stop;
is($node->safe_psql('postgres', "SELECT uid_timestamp(uid_backfill('2025-10-01 UTC'))"), '2025-10-01 00:00:00+00', '... and the server itself goes on');

# ---- another registry, another layout ----

$node->safe_psql('postgres', q{CREATE DATABASE second; ALTER SYSTEM SET uidgen.database = 'second'});
$node->safe_psql('second', 'CREATE EXTENSION uidgen_registry');
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT (SELECT uid_next()) > 0 AND count(*) = 1 FROM pg_database WHERE datname = current_setting('uidgen.database') AND datname = 'second'}), 'the server goes to another registry');
ok(poll_until(sub { $node->safe_psql('second', 'SELECT count(*) FROM uidgen_registry.worker_node') > 0 }), '... which grants');
fails_with($node, "SELECT uid_backfill('2025-11-01 UTC')", '53400', qr/3 are of another registry/, '... and knows nothing of worker ids that the other one reserved');

# Another one in its place: the same database, and the worker id that was reserved is a server's.
sub anew
{
	$node->safe_psql('second', 'BEGIN; DROP EXTENSION uidgen_registry; CREATE EXTENSION uidgen_registry; COMMIT');
	return poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 && $node->safe_psql('second', 'SELECT count(*) FROM uidgen_registry.worker_node') > 0 });
}
anew() while $node->safe_psql('second', 'SELECT count(*) FROM uidgen_registry.worker_node WHERE worker_id = 0') ne '0';
like(reserve('postgres', 'second', ', 0'), qr{^0/0/}, 'this registry reserves worker id 0');
cmp_ok($node->safe_psql('postgres', "SELECT uid_backfill('2025-01-01 UTC')"), '>', 0, '... and no id is 0');
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q{BEGIN; SELECT uid_backfill('2025-02-01 UTC')});
ok(anew(), 'the registry is dropped, and created in the same database');
# No grant is held then, which would tell.
ok(end_keeper($node), 'the keeper ends');
$session->query(q{SELECT uid_backfill('2025-02-01 UTC')});
like($session->{stderr}, qr/ERROR: .*the server has another registry than when this transaction began/, 'a transaction that has begun notices');
$session->quit;
fails_with($node, "SELECT uid_backfill('2025-02-01 UTC')", '53400', qr/4 are of another registry/, '... and the next one');
$node->safe_psql('postgres', 'ALTER SYSTEM SET uidgen.worker_id = 0');
$node->restart;
my @live = ids('SELECT uid_next() FROM generate_series(1, 2000)');
is($node->safe_psql('postgres', "SELECT worker FROM uid_parse($live[0])"), '0', 'the new one grants the worker id that the former one had reserved');
fails_with($node, "SELECT uid_backfill(uid_timestamp($live[0]))", '53400', qr/4 are of another registry/, '... which has no ids of past times any more');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.worker_id');
$node->restart;
($worker) = reserve('postgres', 'second', unused('postgres', 'second')) =~ m{^0/(\d+)};
is(repeated([ @live, ids("SELECT uid_backfill(uid_timestamp(id)) FROM unnest('{@{[ join ',', @live ]}}'::bigint[]) AS id ORDER BY id") ]), 0, '... but with a worker id of the new one, of which none is issued twice');

# A copy has the same number, and another database.
$node->stop;
$node->start;
$node->safe_psql('postgres', q{ALTER SYSTEM SET uidgen.database = 'third'; CREATE DATABASE third TEMPLATE second});
$node->restart;
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), 'a copy of the registry is used');
is($node->safe_psql('second', 'SELECT id FROM uidgen_registry.registry'), $node->safe_psql('third', 'SELECT id FROM uidgen_registry.registry'), '... which has the same number');
fails_with($node, "SELECT uid_backfill('2025-02-01 UTC')", '53400', qr/5 are of another registry/, '... and is another one');
$node->safe_psql('postgres', q{ALTER SYSTEM SET uidgen.database = 'second'});
$node->restart;
ok(poll_until(sub { (try_psql($node, "SELECT uid_backfill(now() - interval '1 ms')"))[0] == 0 }), '... which the first one is not');

# ---- what the table says is checked ----

my $ours = "SELECT datacenter_id, worker_id, upto, asked, layout, registry, registry_database, home, reserved FROM uidgen.backfill WHERE worker_id = $worker AND upto IS NOT NULL";
foreach my $change ('worker_id = -1', 'worker_id = 1024', 'datacenter_id = 1', 'datacenter_id = -1', 'upto = -1', 'upto = upto + 4096', 'asked = -5', 'asked = 9223372036854775807')
{
	$node->safe_psql('postgres', "CREATE TEMP TABLE forged AS $ours LIMIT 1; UPDATE forged SET $change, reserved = 'epoch'; INSERT INTO uidgen.backfill SELECT * FROM forged");
	fails_with($node, 'SELECT uid_backfill(now() - interval $$1 ms$$)', '55000', qr/a row of uidgen\.backfill does not fit the layout/, $change);
	$node->safe_psql('postgres', 'DELETE FROM uidgen.backfill WHERE reserved = $$epoch$$');
}
ok((try_psql($node, 'SELECT uid_backfill(now() - interval $$1 ms$$)'))[0] == 0, 'without such a row it goes on');
$node->stop;

# ---- a fleet ----

my $registry = fleet_registry('registry');
my $one = fleet_node('one', hosts($registry));
# This asks for the first grant, which does not come before the answer.
my @stopped = stop_processes($registry);
is($one->safe_psql('postgres', 'SELECT horizon IS NULL, lsn IS NULL FROM uid_horizon_lsn()'), 't|t', 'where there is no horizon, there is no position');
kill 'CONT', @stopped;
ok($one->poll_query_until('postgres', 'SELECT uid_next() > 0'), 'a node of a fleet');
$home = $one->safe_psql('postgres', 'SELECT uidgen.backfill_home()');
fails_with($one, "SELECT uid_backfill('2025-06-01 UTC')", '53400', qr/no worker id is reserved.*reserve_backfill\('$home'\)/s, '... has none, and the hint says what to run at the registry');
$registry->safe_psql('postgres', "CREATE ROLE node LOGIN; SELECT uidgen_registry.grant_node('node')");
fails_with($registry, "SET ROLE node; SELECT uidgen_registry.reserve_backfill('$home')", '42501', qr/permission denied/, '... nor can its role at the registry');
$permit = $registry->safe_psql('postgres', "SELECT uidgen_registry.reserve_backfill('$home')");
($worker) = $permit =~ m{/(\d+)/};
is($registry->safe_psql('postgres', "SELECT state FROM uidgen_registry.fleet WHERE worker_id = $worker"), 'kept', 'the owner of the registry can, and no node is granted it');
is($one->safe_psql('postgres', "SELECT uidgen.accept_backfill('$permit'); SELECT (uid_parse(uid_backfill('2025-06-01 UTC'))).worker"), "$worker\n$worker", '... and the node issues ids with it');
fails_with($registry, "SELECT uidgen_registry.forget_worker($worker)", '55006', qr/worker id $worker of datacenter 0 is reserved for ids of past times.*for good/s, '... nor is it after forget_worker(), which refuses');
$registry->safe_psql('postgres', "SELECT uidgen_registry.keep_worker(0, $worker)");
fails_with($registry, "SELECT uidgen_registry.forget_worker($worker)", '55006', qr/reserved for ids of past times/, '... also after keep_worker()');
$one->restart;
is($one->safe_psql('postgres', "SELECT (uid_parse(uid_backfill('2025-06-02 UTC'))).worker"), $worker, '... also after a restart');
$registry->restart;
fails_with($registry, "SELECT uidgen_registry.reserve_backfill('$home')", '57P03', qr/registry is in quarantine/, 'a registry in quarantine may have lost a grant, and reserves nothing');

done_testing();
