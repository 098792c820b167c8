# The role of a node does what it can to fill the disk of its registry: by grant_node() it has no right to, whoever
# had given it that, and what it needs no right for is bounded.  So the registry goes on.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use SmallDisk (registry => '112m');
use Fleet;
use Numbers;
use UidgenTest;

# All of the server lies on this disk, pg_wal too.
my $disk = SmallDisk::path('registry');
my $registry = PostgreSQL::Test::Cluster->new('registry');
mkdir $registry->basedir;
mkdir "$disk/data", 0700 or die $!;
symlink "$disk/data", $registry->data_dir or die $!;
$registry->init(extra => ['--wal-segsize=1']);
$registry->append_conf('postgresql.conf', "min_wal_size = 2MB\nmax_wal_size = 8MB\nautovacuum = off\n");
$registry->start;
$registry->safe_psql('postgres', q{SET client_min_messages = warning; CREATE EXTENSION uidgen_registry;
	CREATE ROLE honest LOGIN; CREATE ROLE evil LOGIN CONNECTION LIMIT 3; CREATE ROLE owner; GRANT CREATE ON SCHEMA public TO PUBLIC});
$registry->safe_psql('postgres', 'CREATE DATABASE owned OWNER owner');

# ---- what is said ----

my $LARGE_OBJECTS = qr/EXECUTE ON FUNCTION lo_creat\(integer\), lo_create\(oid\), lo_from_bytea\(oid,bytea\), [^;]*pg_export_snapshot\(\), pg_logical_emit_message\([^;]*/;

my (undef, undef, $said) = try_psql($registry, q{SELECT uidgen_registry.share_registry('time:41:1ms worker:10 sequence:12 epoch:2025-01-01')});
like($said, qr/NOTICE:  revoked from PUBLIC: CREATE ON SCHEMA public\n.*NOTICE:  revoked from PUBLIC: $LARGE_OBJECTS\n.*NOTICE:  revoked from PUBLIC: TEMPORARY ON DATABASE postgres$/sm,
	'what lets any role fill the disk is taken from PUBLIC, and that is said');
like($said, qr/NOTICE:  roles of nodes have the right to connect to other databases of this server\nDETAIL:  They are: owned, template1\..*\nHINT:  .*REVOKE CONNECT ON DATABASE owned, template1 FROM PUBLIC;$/m,
	'... as are other databases');
$registry->safe_psql('postgres', q{SELECT uidgen_registry.end_quarantine(); SELECT uidgen_registry.create_segment('orders'); GRANT TEMPORARY ON DATABASE postgres TO PUBLIC});
(undef, undef, $said) = try_psql($registry, q{SELECT uidgen_registry.grant_node('honest')});
like($said, qr/^\S+ NOTICE:  revoked from PUBLIC: TEMPORARY ON DATABASE postgres$/, '... also when a node is made, if it was given back');
$registry->safe_psql('postgres', 'GRANT TEMPORARY ON DATABASE postgres TO evil');
fails_with($registry, q{SELECT uidgen_registry.grant_node('evil')}, '55000', qr/HINT:  Run REVOKE TEMPORARY ON DATABASE postgres FROM evil;/, '... and what the role has by itself');
$registry->safe_psql('postgres', 'REVOKE TEMPORARY ON DATABASE postgres FROM evil; REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
(undef, undef, $said) = try_psql($registry, q{SELECT uidgen_registry.grant_node('evil'), uidgen_registry.grant_node('honest')});
is($said, '', '... and nothing is said where there is nothing');

# Who owns a database, and no more.
$registry->safe_psql('owned', 'SET ROLE owner; CREATE SCHEMA mine');
my $script = $registry->config_data('--sharedir') . '/extension';
$script = (glob "$script/uidgen-registry--*.sql")[0];
SKIP:
{
	skip 'the script is not installed', 3 unless $script;
	my $as_owner = sub { my ($sql) = @_; return (try_psql($registry, "SET ROLE owner; $sql", database => 'owned'))[2]; };
	$registry->psql('owned', "SET ROLE owner;\n" . slurp_file($script), on_error_die => 1);
	$said = $as_owner->(q{SELECT uidgen_registry.grant_node('evil')});
	like($said, qr/WARNING:  PUBLIC keeps rights with which a role can fill the disk of the registry\nDETAIL:  .*\nHINT:  If you can have that role do so: REVOKE $LARGE_OBJECTS FROM PUBLIC;\n/,
		'the owner of a database is told what a superuser has to take away');
	like($said, qr/NOTICE:  revoked from PUBLIC: TEMPORARY ON DATABASE owned$/m, '... and takes away the rest');
	is($registry->safe_psql('owned', q{SELECT has_function_privilege('evil', 'uidgen_registry.registry_identity()', 'EXECUTE')}), 't', '... a node is made all the same');
}

# ---- its worst ----

{
	my $rules = slurp_file($registry->data_dir . '/pg_hba.conf');
	unlink $registry->data_dir . '/pg_hba.conf';
	append_to_file($registry->data_dir . '/pg_hba.conf', "local postgres evil,honest trust\nlocal all evil,honest reject\n$rules");
}
$registry->reload;

my $node = fleet_node('node', hosts($registry) . ' user=honest');
draws($node);
ok(goes_on($node), 'a node draws ids');
draw_numbers($node, 'orders', 10);

sub used
{
	my ($used) = `df -k $disk | tail -1` =~ /^\S+\s+\d+\s+(\d+)/ or die 'df';
	return $used / 1024;
}

# What psql says of it, as that role.
sub evil
{
	my ($sql, $database) = @_;
	my ($status, $out, $err) = try_psql($registry, $sql, connstr => $registry->connstr($database // 'postgres') . ' user=evil',
		on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $out . $err;
}

my $before = used();
my $BIG = q{SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 1000000) AS g ORDER BY 2};
foreach my $refused (
	q{CREATE TEMP TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 1000)}, q{SELECT 1 AS one INTO TEMP t}, 'CREATE TEMP SEQUENCE s',
	q{SELECT lo_from_bytea(0, 'x')}, 'SELECT lo_create(0)', 'SELECT lo_creat(-1)', q{SELECT lo_put(1, 0, 'x')}, q{SELECT lo_import('/etc/passwd')}, q{SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))},
	q{SELECT pg_logical_emit_message(true, '', 'x'::bytea)}, 'SELECT pg_export_snapshot()', 'CREATE TABLE t ()', 'CREATE TABLE public.t ()',
	'CREATE SCHEMA s', 'CREATE DATABASE d', 'CREATE ROLE r', q{SELECT pg_create_physical_replication_slot('s', true)},
	'SET temp_file_limit = -1', 'ALTER ROLE evil SET temp_file_limit = -1', 'ALTER ROLE evil IN DATABASE postgres RESET temp_file_limit')
{
	like(evil($refused), qr/ERROR:  42501/, "refused: $refused");
}
unlike(evil('ALTER ROLE evil IN DATABASE postgres RESET ALL'), qr/ERROR/, 'what is its own of its settings it may take back');
like(evil("SELECT count(*) FROM ($BIG) AS b"), qr/ERROR:  53400: temporary file size exceeds "?temp_file_limit"? \(16\d{3}kB\)/, 'a sort is bounded all the same');
like(evil("BEGIN; DECLARE c CURSOR WITH HOLD FOR $BIG; COMMIT"), qr/ERROR:  53400/, '... as is a cursor');
like(evil('SELECT 1', $_), qr/FATAL: .*pg_hba\.conf rejects/, "... it comes not into $_") foreach qw(owned template1);
cmp_ok(used() - $before, '<', 32, 'nothing of it is left on the disk but WAL');

# Each session has as much as it may have, for as long as it likes.  There are three when those of before have ended.
$registry->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'evil'}) or die 'a session does not end';
my @sessions = map {
	my ($out, $err) = ('', '');
	IPC::Run::start([ $registry->installed_command('psql'), '-XAtq', '-d', $registry->connstr('postgres') . ' user=evil', '-c',
			q{BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT repeat(md5(g::text), 30) FROM generate_series(1, 14000) AS g;
			COMMIT; SELECT pg_sleep(1000)} ],
		'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
} 1 .. 3;
ok($registry->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE usename = 'evil' AND wait_event = 'PgSleep'}), 'three sessions keep what they have');
like(evil('SELECT 1'), qr/FATAL: .*too many connections for role "evil"/, '... and there is no fourth');
cmp_ok(used() - $before, '>', 20, '... which is much');
my $renewals = status_of($node, 'renewals');
ok($node->poll_query_until('postgres', "SELECT renewals > $renewals + 10 FROM uidgen.status"), '... but grants are renewed');
ok(goes_on($node), '... ids go on');
draw_numbers($node, 'orders', 3000);
one_by_one('orders', '... and so do numbers');
unlike(log_since($registry, 0), qr/No space left|PANIC/, '... and the disk was never full');

# ---- the end ----

$registry->safe_psql('postgres', q{SELECT uidgen_registry.revoke_node('evil'); SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'evil'});
eval { $_->finish } foreach @sessions;
$registry->safe_psql('owned', q{SET ROLE owner; SELECT uidgen_registry.revoke_node('evil')}) if $script;
$registry->safe_psql('postgres', 'DROP ROLE evil');
nothing_twice('no id was issued twice');
$node->stop;
$registry->stop;

done_testing();
