# From version 0.1.0 to the present one, in each order of its steps, while ids are drawn:
# nothing crashes, ids go on or an error says what is missing, none comes twice, and the
# catalogs end up as those of a new installation.  pg_regress has one library.
use strict;
use warnings;

use File::Copy 'copy';
use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Release;
use Test::More;
use UidgenTest;

my $OLD = '0.1.0';

# ---- as it was ----

install_release($OLD);
my $node = new_node('main', "shared_preload_libraries = 'uidgen'", 'uidgen.window = 1s');
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(app unused fresh);
$node->safe_psql($_, 'CREATE EXTENSION uidgen') foreach qw(postgres app unused);
$node->safe_psql('app', <<'END');
	CREATE ROLE operator;
	CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next());
	CREATE INDEX ON message (uid_timestamp(id, 'default'));
	CREATE VIEW monitoring AS SELECT state, failures FROM uidgen.status;
	CREATE VIEW diagnosis AS SELECT uidgen.diagnose() AS missing;
	GRANT EXECUTE ON FUNCTION uidgen.diagnose() TO operator;
END
my @drawing = map { start_trying($node, $_) } qw(postgres app app);
goes_on("all of version $OLD", @drawing);

# ---- installed, and not yet loaded ----

install_release($NEW);
refuses_new($node, $OLD, qw(postgres app));
is($node->safe_psql('fresh', "CREATE EXTENSION uidgen VERSION '$OLD'; SELECT uid_next() > 0; DROP EXTENSION uidgen"),
	't', 'where the old one can still be created');
goes_on('the old library in memory', @drawing);
is($node->safe_psql('postgres', "SELECT uidgen.diagnose() IS NULL, count(*) FROM uidgen.status WHERE wasted = 0"), 't|1',
	'a new session calls what it has always called');

# A file by the name of one that is loaded would not be looked at; so the second library
# has another name.
copy("$LIBRARIES/uidgen.so", "$FOLDER/other.so") or die $!;
my $other = "CREATE FUNCTION pg_temp.next() RETURNS bigint AS '$FOLDER/other.so', 'uidgen_next' LANGUAGE C;
	CREATE FUNCTION pg_temp.diagnose() RETURNS text AS '$FOLDER/other.so', 'uidgen_diagnose_0_2' LANGUAGE C;
	CREATE FUNCTION pg_temp.bounds(timestamptz, text) RETURNS bigint AS '$FOLDER/other.so', 'uidgen_min' LANGUAGE C";
fails_with($node, "$other; SELECT pg_temp.next()", '55000',
	qr/another library of uidgen is loaded than the one that was called.*version \Q$NEW\E.*HINT:.*Restart/s,
	'a second library in a process issues no ids');
is( $node->safe_psql('postgres',
		"SELECT uid_next() > 0; $other; SELECT pg_temp.diagnose() ~ 'another library.*Restart';
		SELECT pg_temp.bounds('2026-01-01', 'default') = uid_min('2026-01-01', 'default'); SELECT uid_next() > 0;
		SELECT count(*) FROM pg_settings WHERE name = 'uidgen.layout'"),
	"t\nt\nt\nt\n1",
	'and leaves the first one alone');

ok(end_keeper($node), 'another keeper comes');
goes_on('a new keeper beside the new file', @drawing);
stop(@drawing);
crash($node);
draw($node, 'a crash and the old library again');
fails_with($node, 'ALTER EXTENSION uidgen UPDATE', '55000', qr/has loaded an older library/, 'a crash does not load another');

# ---- loaded, and not yet updated ----

$node->restart;
my $rows = 'SELECT * FROM uidgen.worker_node ORDER BY worker_id';
my $granted = $node->safe_psql('postgres', $rows);
my $too_old = qr/extension "uidgen" in database "postgres" is of version \Q$OLD\E, but the library is of version \Q$NEW\E.*HINT:.*ALTER EXTENSION uidgen UPDATE/s;
@drawing = map { start_trying($node, $_) } qw(postgres app app);
fails_with($node, 'SELECT uid_next()', '55000', $too_old, 'the old extension with the new library: no ids', $_)
  foreach qw(postgres app);
ok(poll_until(sub { slurp_file("$_->{file}.err") =~ $too_old }), 'nor for a session that draws') foreach @drawing;
like($node->safe_psql('postgres', 'SELECT uidgen.diagnose()'), qr/is of version \Q$OLD\E.*ALTER EXTENSION uidgen UPDATE/,
	'uidgen.diagnose() says what to do');
is($node->safe_psql('app', 'SELECT state FROM monitoring'), 'failing', 'uidgen.status is as it was declared');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT (s).* FROM (SELECT uidgen.status() AS s) AS t) AS t WHERE renewals = 0'), '1',
	'and so is its function');
is($node->safe_psql('app', "SELECT uid_timestamp(uid_min('2026-01-01', 'default')) = '2026-01-01', count(*) > 9 FROM uidgen.presets"), 't|t',
	'ids are decoded');

# Not in the registry's database first.
$node->safe_psql('app', 'ALTER EXTENSION uidgen UPDATE');
is(version_in($node, 'app'), $NEW, 'a database without the registry can be updated');
fails_with($node, 'SELECT uid_next()', '55000', $too_old, 'which does not help', 'app');
is($node->safe_psql('app', 'SELECT state FROM monitoring'), 'failing', 'a view on uidgen.status has outlived the update');
like($node->safe_psql('app', 'SET ROLE operator; SELECT uidgen.diagnose()'), qr/is of version \Q$OLD\E/, 'and a privilege');
is($node->safe_psql('app', 'SELECT count(*) FROM diagnosis'), '1', 'and a view on a function');
is( $node->safe_psql('app', "SELECT count(*) FROM uidgen.registry_layout"), '0', 'its registry is as empty as before');

is($node->safe_psql('postgres', $rows), $granted, 'nothing was granted meanwhile');
is( $node->safe_psql('postgres', "BEGIN; ALTER EXTENSION uidgen UPDATE; $rows; COMMIT"), $granted,
	'what was granted stays granted');
is($node->safe_psql('postgres', 'SELECT database = (SELECT oid FROM pg_database WHERE datname = current_database()) FROM uidgen.registry_layout'),
	't', 'and the registry knows where it lies');
is($node->safe_psql('postgres', 'SELECT layout FROM uidgen.layout_used'), $node->safe_psql('postgres', 'SELECT layout FROM uidgen.registry_layout'),
	'and it is noted of which layout the ids are');
goes_on('updated', @drawing);
draw($node, 'updated', $_) foreach qw(postgres app);
is($node->safe_psql('app', 'INSERT INTO message DEFAULT VALUES RETURNING id > 0'), 't', 'a default works as before');
is($node->safe_psql('unused', 'SELECT uid_next() > 0'), 't', 'and so does the old extension in a database without the registry');
$node->safe_psql('unused', 'ALTER EXTENSION uidgen UPDATE');
is($node->safe_psql('unused', 'SELECT u.layout = s.layout FROM uidgen.layout_used AS u, uidgen.status AS s'), 't', 'where ids come from another database it is noted, too');
goes_on('an update elsewhere', @drawing);
stop(@drawing);

# ---- the same as a new one ----

$node->safe_psql('fresh', 'CREATE EXTENSION uidgen');
my $fresh = catalog_of($node, 'fresh');
cmp_ok(scalar($fresh =~ tr/\n//), '>', 300, 'the catalogs say much of the extension');
same_catalog(catalog_of($node, $_), $fresh, "$_: updated is like new") foreach qw(postgres unused);
# What others have done to it stays.
isnt(catalog_of($node, 'app'), $fresh, 'a difference would show');

$node->safe_psql('postgres', 'CREATE DATABASE later');
$node->safe_psql('later', "CREATE EXTENSION uidgen VERSION '$OLD'");
is($node->safe_psql('later', 'SELECT uidgen.diagnose() IS NULL'), 't', 'the old extension, created with the new library, works');
my $dump = dump_of($node, 'later');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', $dump);
is(version_in($node, 'restored'), $NEW, 'and restored as the new one');
$node->safe_psql('later', "ALTER EXTENSION uidgen UPDATE TO '$NEW'");
same_catalog(catalog_of($node, 'later'), $fresh, 'or updated at once');
$node->safe_psql('later', 'DROP EXTENSION uidgen; CREATE EXTENSION uidgen');
same_catalog(catalog_of($node, 'later'), $fresh, 'or dropped and created');
draw($node, 'created anew', 'later');

# ---- the library set back ----

install_library($OLD);
$node->restart;
@drawing = map { start_trying($node, $_) } qw(postgres app);
fails_with($node, 'SELECT uid_next()', '42883', qr/could not find function "uidgen_next_support"/,
	'the new extension with the old library: no ids', $_) foreach qw(postgres app);
my ($state, $text) = sqlstate_of($node, 'SELECT * FROM uidgen.status');
is($state, '42883', 'what it lacks is refused');
like($text, qr/could not find function "uidgen_status_0_2"/, 'by the server');
install_library($NEW);
$node->restart;
stop(@drawing);
draw($node, 'the new library again');
is($node->safe_psql('postgres', 'SELECT state FROM uidgen.status'), 'granted', 'and uidgen.status works');
same_catalog(catalog_of($node, 'postgres'), $fresh, 'the extension is as it was');

# ---- the new library with a grant, and without the function that acquires one ----

# This server had that only if the registry were exchanged while it runs.
my $acquire = $node->safe_psql('postgres', "SELECT oid::regprocedure FROM pg_proc WHERE proname = 'acquire_worker_id'");
$node->safe_psql('postgres', "ALTER EXTENSION uidgen DROP FUNCTION $acquire; UPDATE pg_extension SET extversion = '$OLD' WHERE extname = 'uidgen'");
my $renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
@drawing = map { start_trying($node, $_) } qw(postgres app);
ok($node->poll_query_until('postgres', "SELECT renewals > $renewals + 1 FROM uidgen.status"), 'the grant is renewed');
goes_on('renewed', @drawing);
ok(end_keeper($node), 'the keeper gives it back');
ok(poll_until(sub { slurp_file("$_->{file}.err") =~ $too_old }), 'and gets no other') foreach @drawing;
$node->safe_psql('postgres', "ALTER EXTENSION uidgen ADD FUNCTION $acquire; UPDATE pg_extension SET extversion = '$NEW' WHERE extname = 'uidgen'");
goes_on('whole again', @drawing);
stop(@drawing);

# ---- the end ----

nothing_twice($node);

# A server that would have two.
$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen, $FOLDER/other.so'");
my $log = -s $node->logfile;
is($node->start(fail_ok => 1), 0, 'a server does not start with two libraries');
like(log_since($node, $log), qr/attempt to redefine parameter "uidgen.layout"/, 'and says so');

# ---- pg_upgrade with the old extension ----

test_pg_upgrade($OLD);

done_testing();
