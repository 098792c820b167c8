# From versions 0.2.0 to 0.2.2 to the present one, in each order of the steps, while ids are drawn:
# they go on at each step, since the library works with all these extensions.  One database comes
# from 0.1.0 by 0.2.0, 0.2.1 and 0.2.2, another one has 0.1.0 until now.  All end up as a new installation.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Release;
use Test::More;
use UidgenTest;

my ($FIRST, $SECOND, $THIRD, $OLD) = qw(0.1.0 0.2.0 0.2.1 0.2.2);

# ---- as it was ----

install_release($FIRST);
my $node = new_node('main', "shared_preload_libraries = 'uidgen'", 'uidgen.window = 1s');
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(app chain first third last fresh);
$node->safe_psql($_, 'CREATE EXTENSION uidgen') foreach qw(postgres chain first);
draw($node, $FIRST);
install_release($SECOND);
$node->restart;
$node->safe_psql($_, 'ALTER EXTENSION uidgen UPDATE') foreach qw(postgres chain);
$node->safe_psql('app', 'CREATE EXTENSION uidgen');
same_catalog(catalog_of($node, 'chain'), catalog_of($node, 'app'), "from $FIRST to $SECOND");
foreach ([ $THIRD, 'third' ], [ $OLD, 'last' ])
{
	my ($version, $database) = @$_;
	install_release($version);
	$node->restart;
	$node->safe_psql('chain', 'ALTER EXTENSION uidgen UPDATE');
	$node->safe_psql($database, 'CREATE EXTENSION uidgen');
}
my %versions = (postgres => $SECOND, chain => $OLD, app => $SECOND, first => $FIRST, third => $THIRD, last => $OLD);
is(version_in($node, $_), $versions{$_}, "$_ has $versions{$_}") foreach sort keys %versions;
same_catalog(catalog_of($node, 'chain'), catalog_of($node, 'last'), "from $SECOND to $OLD");
$node->safe_psql('app', <<'END');
	CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), CHECK (uid_between(id, '2020-01-01', NULL, 'default')));
	CREATE INDEX ON message (uid_timestamp(id, 'default'));
	CREATE VIEW monitoring AS SELECT state, clock_offset FROM uidgen.status;
	CREATE VIEW nodes AS SELECT f, r FROM uidgen.fleet AS f, uidgen.registry_status AS r;
	CREATE VIEW recent AS SELECT * FROM message WHERE uid_between(id, now() - interval '1 day', NULL);
END
my @drawing = map { start_trying($node, $_) } sort keys %versions;
goes_on("versions $FIRST, $SECOND, $THIRD and $OLD", @drawing);

# ---- installed, and not yet loaded ----

install_release($NEW);
refuses_new($node, $OLD, sort keys %versions);
is($node->safe_psql('fresh', "CREATE EXTENSION uidgen VERSION '$_'; SELECT uid_next() > 0; DROP EXTENSION uidgen"),
	't', "where $_ can still be created") foreach $FIRST, $SECOND, $THIRD, $OLD;
goes_on('the old library in memory', @drawing);
is($node->safe_psql('postgres', 'SELECT uidgen.diagnose(), uidgen.library_version(), state FROM uidgen.status'), "ok|$OLD|granted",
	'a new session calls what it has always called');
ok(end_keeper($node), 'another keeper comes');
goes_on('a new keeper beside the new file', @drawing);
stop(@drawing);
crash($node);
draw($node, 'a crash and the old library again', $_) foreach sort keys %versions;
fails_with($node, 'ALTER EXTENSION uidgen UPDATE', '55000', qr/has loaded an older library/, 'a crash does not load another');

# ---- loaded, and not yet updated ----

my $rows = 'SELECT datacenter_id, worker_id, identity FROM uidgen.worker_node ORDER BY worker_id';
my $granted = $node->safe_psql('postgres', $rows);
$node->restart;
@drawing = map { start_trying($node, $_) } sort keys %versions;
goes_on("the former extensions with the new library", @drawing);
is($node->safe_psql('app', 'SELECT uidgen.diagnose(), uidgen.library_version(), (SELECT state FROM monitoring)'), "ok|$NEW|granted", 'nothing is missing');
is($node->safe_psql('first', 'SELECT uidgen.diagnose() IS NULL'), 't', "nor for $FIRST");
ok(end_keeper($node), 'another keeper comes');
goes_on("a new keeper with the registry of $SECOND", @drawing);

# Another database before that of the registry, and others after it.
foreach my $database (qw(app postgres chain first third last))
{
	$node->safe_psql($database, 'ALTER EXTENSION uidgen UPDATE');
	is(version_in($node, $database), $NEW, "$database is updated from $versions{$database}");
	goes_on('updated', @drawing);
}
is($node->safe_psql('postgres', $rows), $granted, 'what was granted stays granted');
ok(end_keeper($node), 'another keeper comes');
goes_on('a new keeper with the registry updated', @drawing);
is($node->safe_psql('app', 'INSERT INTO message DEFAULT VALUES; SELECT count(*), (SELECT count(*) FROM nodes), (SELECT state FROM monitoring) FROM recent'),
	'1|0|granted', 'what others have made with the extension works as before');

# ---- the same as a new one ----

$node->safe_psql('fresh', 'CREATE EXTENSION uidgen');
my $fresh = catalog_of($node, 'fresh');
cmp_ok(scalar($fresh =~ tr/\n//), '>', 500, 'the catalogs say much of the extension');
same_catalog(catalog_of($node, $_), $fresh, "$_: updated is like new") foreach qw(postgres chain first third last);

$node->safe_psql('postgres', 'CREATE DATABASE later');
$node->safe_psql('later', "CREATE EXTENSION uidgen VERSION '$OLD'");
is($node->safe_psql('later', 'SELECT uidgen.diagnose()'), 'ok', 'the old extension, created with the new library, works');
my $dump = dump_of($node, 'later');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', $dump);
is(version_in($node, 'restored'), $NEW, 'and is restored as the new one');
same_catalog(catalog_of($node, 'restored'), $fresh, 'from a dump');
$node->safe_psql('later', "ALTER EXTENSION uidgen UPDATE TO '$NEW'");
same_catalog(catalog_of($node, 'later'), $fresh, 'or updated at once');

# In a schema of its own.
$node->safe_psql('later', "DROP EXTENSION uidgen; CREATE SCHEMA ids; CREATE EXTENSION uidgen SCHEMA ids VERSION '$OLD'; ALTER EXTENSION uidgen UPDATE");
$node->safe_psql('restored', 'DROP EXTENSION uidgen; CREATE SCHEMA ids; CREATE EXTENSION uidgen SCHEMA ids');
same_catalog(catalog_of($node, 'later'), catalog_of($node, 'restored'), 'in a schema of its own');

# ---- the library set back ----

install_library($SECOND);
$node->restart;
stop(@drawing);
@drawing = map { start_trying($node, $_) } sort keys %versions;
goes_on('the new extension with the old library', @drawing);
is($node->safe_psql('postgres', 'SELECT uidgen.diagnose(), state FROM uidgen.status'), 'ok|granted', 'the status is shown');
my ($state, $text) = sqlstate_of($node, 'SELECT uid_reserve(2)');
is($state, '42883', 'what it lacks is refused');
like($text, qr/could not find function "uidgen_reserve"/, 'by the server');
$node->safe_psql('fresh', 'DROP EXTENSION uidgen');
refuses_new($node, $SECOND);
ok(end_keeper($node), 'another keeper comes');
goes_on('the old keeper with the new registry', @drawing);
install_library($NEW);
$node->restart;
stop(@drawing);
draw($node, 'the new library again', $_) foreach sort keys %versions;
is($node->safe_psql('postgres', 'SELECT uid_reserve(2) > 0'), 't', 'and its functions work');
same_catalog(catalog_of($node, 'postgres'), $fresh, 'the extension is as it was');

nothing_twice($node);
$node->stop;

# ---- pg_upgrade with the old extension ----

test_pg_upgrade($OLD);

done_testing();
