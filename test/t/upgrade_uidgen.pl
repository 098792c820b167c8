# From the present version to the next one, which Release.pm makes up, in each order of the steps, while ids are drawn: they go
# on at each step or an error says what is missing, none comes twice, what was granted and revoked stays so, and the catalogs
# end up as those of a new installation.  Also the registry of a fleet, with the extension and without.

use File::Copy 'copy';
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Release;
use RemoteRegistry;
use UidgenTest;

# ---- as it was ----

install_release($OLD);
my $node = new_node('main', "shared_preload_libraries = 'uidgen'", 'uidgen.window = 1s');
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(app other fresh);
$node->safe_psql($_, 'CREATE EXTENSION uidgen') foreach qw(postgres app other);
$node->safe_psql('app', <<'END');
	CREATE EXTENSION uidgen_tools;
	CREATE EXTENSION uidgen_registry;
	CREATE TABLE event (id bigint) PARTITION BY RANGE (id);
	CREATE ROLE operator;
	CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), CHECK (uid_between(id, '2020-01-01', NULL, 'default')));
	CREATE INDEX ON message (uid_timestamp(id, 'default'));
	CREATE VIEW monitoring AS SELECT state, failures FROM uidgen.status;
	CREATE VIEW diagnosis AS SELECT severity AS missing FROM uidgen.diagnose();
	CREATE VIEW recent AS SELECT * FROM message WHERE uid_between(id, now() - interval '1 day', NULL);
	REVOKE EXECUTE ON FUNCTION uid_next(integer) FROM PUBLIC;
	GRANT EXECUTE ON FUNCTION uid_next(integer), uidgen_registry.forget_worker(integer, integer) TO operator WITH GRANT OPTION;
	GRANT SELECT ON uidgen_registry.worker_node TO operator;
	REVOKE SELECT ON uidgen_registry.fleet FROM pg_monitor
END

# Who may do what with the extension's objects in database app, but for their owner: a line for each right.
sub rights
{
	return $node->safe_psql('app', q{
		SELECT concat_ws(' ', i.identity, CASE a.grantee WHEN 0 THEN 'public' ELSE a.grantee::regrole::text END, a.privilege_type, nullif(a.is_grantable, false))
		FROM (SELECT 'pg_proc'::regclass AS class, oid, 0 AS part, coalesce(proacl, acldefault('f', proowner)) AS acl FROM pg_proc
				UNION ALL SELECT 'pg_class', oid, 0, relacl FROM pg_class
				UNION ALL SELECT 'pg_class', attrelid, attnum, attacl FROM pg_attribute
				UNION ALL SELECT 'pg_namespace', oid, 0, nspacl FROM pg_namespace) AS o
			JOIN pg_depend AS d ON d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e'
			JOIN pg_extension AS e ON d.refobjid = e.oid AND e.extname IN ('uidgen', 'uidgen_registry'),
			pg_identify_object(o.class, o.oid, o.part) AS i, aclexplode(o.acl) AS a
		WHERE a.grantee <> a.grantor AND i.identity !~ 'later|uid_(to|from)_' ORDER BY 1});
}
my $rights = rights();
like($rights, qr/^public\.uid_next\(integer\) operator EXECUTE t$/m, 'a right that was granted');

my @databases = qw(postgres app other);
my @drawing = map { start_trying($node, $_) } @databases;
goes_on("all of version $OLD", @drawing);

# ---- installed, and not yet loaded ----

install_release($NEW);
refuses_new($node, $OLD, @databases);
$node->safe_psql('other', "CREATE DATABASE created");
is($node->safe_psql('created', "CREATE EXTENSION uidgen VERSION '$OLD'; SELECT uid_next() > 0; DROP EXTENSION uidgen"),
	't', 'where the old one can still be created');
goes_on('the old library in memory', @drawing);
# A grant that lasts a second may be over when it is looked at.
ok(poll_until(sub { $node->safe_psql('postgres', 'SELECT (uidgen.diagnose()).severity, uidgen.library_version(), state FROM uidgen.status') =~ /^ok\|\Q$OLD\E\|(?:granted|idle)$/ }),
	'a new session calls what it has always called');

# A file by the name of one that is loaded would not be looked at; so the second library
# has another name.
copy("$LIBRARIES/uidgen.so", "$FOLDER/other.so") or die $!;
my $other = "CREATE FUNCTION pg_temp.next() RETURNS bigint AS '$FOLDER/other.so', 'uidgen_next' LANGUAGE C;
	CREATE FUNCTION pg_temp.diagnose(OUT severity text, OUT message text) RETURNS SETOF record AS '$FOLDER/other.so', 'uidgen_diagnose' LANGUAGE C;
	CREATE FUNCTION pg_temp.bounds(timestamptz, text) RETURNS bigint AS '$FOLDER/other.so', 'uidgen_min' LANGUAGE C";
fails_with($node, "$other; SELECT pg_temp.next()", '55000',
	qr/another library of uidgen is loaded than the one that was called.*version \Q$NEW\E.*HINT:.*Restart/s,
	'a second library in a process issues no ids');
is( $node->safe_psql('postgres',
		"SELECT uid_next() > 0; $other; SELECT message ~ 'another library.*Restart' FROM pg_temp.diagnose();
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

my $rows = 'SELECT datacenter_id, worker_id, identity FROM uidgen_registry.worker_node ORDER BY worker_id';
my $granted = $node->safe_psql('postgres', $rows);
$node->restart;
@drawing = map { start_trying($node, $_) } @databases;
goes_on('the old extension with the new library', @drawing);
ok(poll_until(sub { $node->safe_psql('app', 'SELECT (uidgen.diagnose()).severity, uidgen.library_version(), (SELECT state FROM monitoring)') =~ /^ok\|\Q$NEW\E\|(?:granted|idle)$/ }), 'nothing is missing');
ok(end_keeper($node), 'another keeper comes');
goes_on('a new keeper with the old registry', @drawing);

# The tools come after uidgen.
my $make = "SELECT count(*) FROM uid_partitions('event', date_trunc('month', now()), date_trunc('month', now()) + interval '1 day', '1 month') AS p WHERE p LIKE '%CREATE TABLE%'";
fails_with($node, 'ALTER EXTENSION uidgen_tools UPDATE', '55000', qr/"uidgen_tools" is of version \Q$NEW\E, but extension "uidgen" is of version \Q$OLD\E.*HINT:  Run ALTER EXTENSION uidgen UPDATE\./s,
	'the tools are not updated before uidgen', 'app');
is($node->safe_psql('app', $make), '1', '... and work as they were');

# Another database before that of the registry, and one after it.
foreach my $database (qw(app postgres other))
{
	if ($database eq 'app')
	{
		# An update would replace it, and leave it his.
		$node->safe_psql('app', "CREATE ROLE landlord SUPERUSER; SET ROLE landlord; CREATE FUNCTION public.uid_own() RETURNS integer LANGUAGE sql AS 'SELECT 1'; ALTER EXTENSION uidgen ADD FUNCTION public.uid_own(); RESET ROLE; ALTER ROLE landlord NOSUPERUSER");
		fails_with($node, 'ALTER EXTENSION uidgen UPDATE', '55000', qr/an object of extension "uidgen" belongs to role "landlord".*uid_own.*HINT:  Take it out/s, 'no function of somebody else becomes the extension\'s', 'app');
		$node->safe_psql('app', 'ALTER EXTENSION uidgen DROP FUNCTION public.uid_own(); DROP FUNCTION public.uid_own(); DROP ROLE landlord');
	}
	$node->safe_psql($database, 'ALTER EXTENSION uidgen UPDATE');
	is(version_in($node, $database), $NEW, "$database is updated");
	goes_on('updated', @drawing);
}
# The registry that the first id has made has its own version.
is(version_in($node, 'postgres', 'uidgen_registry'), $OLD, 'the registry is of the old version so far');
foreach my $database (qw(postgres app))
{
	$node->safe_psql($database, 'ALTER EXTENSION uidgen_registry UPDATE');
	goes_on("updated in $database as well", @drawing);
}
fails_with($node, $make, '55000', qr/HINT:  Run ALTER EXTENSION uidgen_tools UPDATE\./, 'the tools wait for their update', 'app');
is($node->safe_psql('app', "ALTER EXTENSION uidgen_tools UPDATE; $make"), '1', '... and work after it');
is($node->safe_psql('postgres', $rows), $granted, 'what was granted stays granted');
ok(end_keeper($node), 'another keeper comes');
goes_on('a new keeper with the registry updated', @drawing);
$node->safe_psql('app', 'INSERT INTO message DEFAULT VALUES');
ok(poll_until(sub { $node->safe_psql('app', 'SELECT count(*), (SELECT missing FROM diagnosis), (SELECT state FROM monitoring), uid_later() FROM recent') =~ /^1\|ok\|(?:granted|idle)\|1$/ }),
	'what others have made with the extension works as before, and so does what is new');
is(rights(), $rights, 'rights that were granted or revoked stay so');

# ---- the same as a new one ----

$node->safe_psql('fresh', 'CREATE EXTENSION uidgen');
my $fresh = catalog_of($node, 'fresh');
cmp_ok(scalar($fresh =~ tr/\n//), '>', 300, 'the catalogs say much of the extension');
like($fresh, qr/uid_later/, 'and what is new in it');
unlike($fresh, qr/uid_to_text/, 'and not what is gone');
same_catalog(catalog_of($node, 'other'), $fresh, 'updated is like new');
$node->safe_psql('fresh', 'CREATE EXTENSION uidgen_registry');
my $both = catalog_of($node, 'fresh');
cmp_ok(scalar($both =~ tr/\n//), '>', 500 + scalar($fresh =~ tr/\n//), '... and much of the registry');
same_catalog(catalog_of($node, 'postgres'), $both, '... which is, too');
# What others have done to it stays.
$node->safe_psql('fresh', 'CREATE EXTENSION uidgen_tools');
isnt(catalog_of($node, 'app'), catalog_of($node, 'fresh'), 'a difference would show');

$node->safe_psql('postgres', 'CREATE DATABASE later');
$node->safe_psql('later', "CREATE EXTENSION uidgen VERSION '$OLD'");
ok($node->poll_query_until('later', 'SELECT severity FROM uidgen.diagnose()', 'ok'), 'the old extension, created with the new library, works');
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

install_library($OLD);
$node->restart;
stop(@drawing);
@drawing = map { start_trying($node, $_) } @databases;
goes_on('the new extension with the old library', @drawing);
my ($state, $text) = sqlstate_of($node, 'SELECT uid_later()');
is($state, '42883', 'what it lacks is refused');
like($text, qr/could not find function "uidgen_later"/, 'by the server');
$node->safe_psql('fresh', 'DROP EXTENSION uidgen CASCADE');
refuses_new($node, $OLD);
install_library($NEW);
$node->restart;
stop(@drawing);
draw($node, 'the new library again', $_) foreach @databases;
is($node->safe_psql('postgres', 'SELECT uid_later()'), '1', 'and its functions work');
same_catalog(catalog_of($node, 'postgres'), $both, 'the extensions are as they were');

# ---- the new library with a grant, and without the function that acquires one ----

# As with a registry that is of another version, and other functions.
my $acquire = $node->safe_psql('postgres', "SELECT oid::regprocedure FROM pg_proc WHERE proname = 'acquire_worker_id'");
my $too_old = qr/extension "uidgen_registry" in database "postgres" is of version \Q$OLD\E, but the library is of version \Q$NEW\E.*HINT:.*ALTER EXTENSION uidgen_registry UPDATE/s;
$node->safe_psql('postgres', "ALTER EXTENSION uidgen_registry DROP FUNCTION $acquire; UPDATE pg_extension SET extversion = '$OLD' WHERE extname = 'uidgen_registry'");
my $renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
@drawing = map { start_trying($node, $_) } qw(postgres app);
ok($node->poll_query_until('postgres', "SELECT renewals > $renewals + 1 FROM uidgen.status"), 'the grant is renewed');
goes_on('renewed', @drawing);
ok(end_keeper($node), 'the keeper gives it back');
ok(poll_until(sub { slurp_file("$_->{file}.err") =~ $too_old }), 'and gets no other') foreach @drawing;
like($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/is of version \Q$OLD\E.*ALTER EXTENSION uidgen_registry UPDATE/, 'uidgen.diagnose() says what to do');
$node->safe_psql('postgres', "ALTER EXTENSION uidgen_registry ADD FUNCTION $acquire; UPDATE pg_extension SET extversion = '$NEW' WHERE extname = 'uidgen_registry'");
goes_on('whole again', @drawing);
stop(@drawing);
$node->stop;

# ---- a fleet ----

install_release($OLD);
my $registry = new_node('registry');
$registry->start;
$registry->safe_psql('postgres', qq{CREATE EXTENSION uidgen_registry VERSION '$OLD'; CREATE ROLE node LOGIN; SELECT uidgen_registry.grant_node('node');
	SELECT uidgen_registry.share_registry('time:41:1ms worker:10 sequence:12 epoch:2025-01-01'); SELECT uidgen_registry.end_quarantine();
	SELECT uidgen_registry.create_segment('s', 10)});
my ($one, $two) = map
{
	my $member = new_node($_, "shared_preload_libraries = 'uidgen'", "uidgen.window = '500ms'", "uidgen.registry = '" . conninfo($registry) . " user=node'");
	$member->start;
	$member->safe_psql('postgres', "CREATE EXTENSION uidgen VERSION '$OLD'");
	$member
} qw(one two);

my @numbers;

# Both nodes draw, renew their grants, and get numbers of a segment.
sub all_go_on
{
	my ($name) = @_;
	my @nodes = ($one, $two);
	my @members = map { start_trying($_, 'postgres') } @nodes;
	my @before = map { $_->safe_psql('postgres', 'SELECT renewals FROM uidgen.status') } @nodes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	goes_on($name, @members);
	ok($nodes[$_]->poll_query_until('postgres', "SELECT renewals > $before[$_] + 1 FROM uidgen.status"), "$name: grants are renewed") foreach 0, 1;
	push @numbers, map { [ split /\n/, $_->safe_psql('postgres', "SELECT uid_segment_next('s') FROM generate_series(1, 25)") ] } @nodes;
	stop(@members);
}

all_go_on("a fleet of $OLD");
install_release($NEW);
$two->restart;
all_go_on('one node with the new library');
$registry->safe_psql('postgres', 'ALTER EXTENSION uidgen_registry UPDATE');
all_go_on('the registry is updated');
is($one->safe_psql('postgres', 'SELECT uidgen.library_version()'), $OLD, 'while one node has the old library');
# What it loads only when it connects has been replaced.
my $late = start_trying($one, 'postgres');
ok(end_keeper($one), 'the keeper of the old library begins anew');
ok( $one->poll_query_until('postgres',
		qq{SELECT last_error ~ 'the library file "uidgen_libpq" is of version $NEW, but the server runs uidgen of version $OLD' FROM uidgen.status}),
	'and says that the node has to be restarted');
stop($late);
$one->restart;
all_go_on('all have the new library');
$_->safe_psql('postgres', 'ALTER EXTENSION uidgen UPDATE') foreach $one, $two;
all_go_on('all is updated');
nothing_twice($node, $one, $two, $registry);
is(scalar(repeated(@numbers)), 0, 'and no number of the segment');
$_->stop foreach $one, $two;

# ---- a registry without the extension ----

# Runs a script, as psql -f does for the owner, and returns what is printed.
sub run_script
{
	my ($database, $file) = @_;
	my ($out, $err) = run_command([ "$BINDIR/psql", '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $registry->connstr($database) . ' user=owner', '-f', $file ]);
	return "$out$err";
}

my $script = "$SCRIPTS/uidgen-registry-";
$registry->safe_psql('postgres', 'CREATE ROLE owner LOGIN');
$registry->safe_psql('postgres', "CREATE DATABASE $_ OWNER owner") foreach qw(updated new);
is(run_script('updated', "$script-$OLD.sql"), '', "the script of $OLD");
$registry->safe_psql('updated', "SELECT uidgen_registry.share_registry('default'); SELECT uidgen_registry.end_quarantine()");
my $row = $registry->safe_psql('updated', 'SELECT * FROM uidgen_registry.registry');
is(run_script('new', "$script-$NEW.sql"), '', 'the present script');
my $new = catalog_of($registry, 'new');
cmp_ok(scalar($new =~ tr/\n//), '>', 200, 'the catalogs say much of the registry');
is(run_script('updated', "$script-$OLD--$NEW.sql"), '', 'the script that updates');
same_catalog(catalog_of($registry, 'updated'), $new, 'updated is like new');
is($registry->safe_psql('updated', 'SELECT * FROM uidgen_registry.registry'), $row, 'its registry is the same');

# ---- the end ----

# A server that would have two.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen, $FOLDER/other.so'");
my $log = -s $node->logfile;
is($node->start(fail_ok => 1), 0, 'a server does not start with two libraries');
like(log_since($node, $log), qr/attempt to redefine parameter "uidgen.layout"/, 'and says so');

test_pg_upgrade();

done_testing();
