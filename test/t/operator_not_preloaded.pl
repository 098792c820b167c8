# Before PostgreSQL 17, without the library in shared_preload_libraries, CREATE EXTENSION works, and so
# do all functions that need no setting; the others say which setting to change.  pg_regress runs in a
# server that has it preloaded.  From 17 on all works: attach_late.pl.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = PostgreSQL::Test::Cluster->new('plain');
plan skip_all => 'from PostgreSQL 17 on the library need not be preloaded' if $node->pg_version >= 17;
$node->init;
$node->start;

my ($status, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION uidgen');
is($status, 0, 'the extension can be created');
like($err, qr/INFO:.*uid_next\(\) does not work yet/, 'and tells that something is missing');
like($err, qr/DETAIL:.*shared_preload_libraries.*restart/, 'and what');
unlike($err, qr/WARNING|NOTICE/, 'and nothing else');
# The registry of a fleet needs nothing of all that.
$node->safe_psql('postgres', 'CREATE DATABASE registry');
($status, $out, $err) = $node->psql('registry', "CREATE EXTENSION uidgen_registry; SELECT FROM uidgen_registry.share_registry('default')");
is($status, 0, 'a registry is created and shared');
unlike($err, qr/WARNING|INFO/, 'and nothing is missing');

# What needs the server's layout or a grant, each in a session of its own: the
# first call is what loads the library.
my $id = 1234567890123;
foreach my $call (
	'uid_next()', 'uid_next(0)',
	'uid_next_batch(1)', 'uid_reserve(1)',
	"uid_parse($id)", "uid_timestamp($id)",
	'uid_min(now())', 'uid_max(now())',
	'uid_make(now(), 0, 0)', 'uid_layout()',
	'uid_layout_info()', "uid_to_uuid($id)", "uid_explain($id)", "uid_explain('$id')",
	"uid_between($id, NULL, NULL)", 'uid_range(NULL, NULL)')
{
	fails_with($node, "SELECT $call", '55000', qr/must be loaded via shared_preload_libraries.*HINT:.*"shared_preload_libraries"/s,
		"$call says what to do");
}

# What is given a layout.
is( $node->safe_psql(
		'postgres', "SELECT timestamp AT TIME ZONE 'UTC', datacenter, worker, tag, sequence
			FROM uid_parse(1541815603606036480, 'twitter')"),
	'2022-06-28 16:07:40.105|11|26||0',
	'uid_parse() decodes under an explicit layout');
is( $node->safe_psql(
		'postgres', "SELECT uid_timestamp(uid_min('2025-06-01 12:00:00+00', 'twitter'), 'twitter') =
			'2025-06-01 12:00:00+00'"),
	't',
	'uid_min() and uid_timestamp() do');
is($node->safe_psql('postgres', "SELECT uid_from_text(uid_to_text($id)) = $id AND uid_from_uuid(uid_to_uuid($id, 'twitter')) = $id"),
	't',
	'ids as text and as uuids do');
is($node->safe_psql('postgres', "SELECT uid_between(1541815603606036480, '2022-06-28 UTC', '2022-06-29 UTC', 'twitter')"),
	't', 'uid_between() does');
is($node->safe_psql('postgres', "SELECT count(*) FROM uid_layout('twitter')"), '4', 'uid_layout() does');
is($node->safe_psql('postgres', "SELECT workers FROM uid_layout_info('twitter')"), '1024', 'uid_layout_info() does');
like($node->safe_psql('postgres', "SELECT uid_explain('1541815603606036480', 'twitter')"), qr/^worker +16-12 +26 /m, 'uid_explain() does');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM uidgen.presets'), 't', 'the presets are listed');

is( $node->safe_psql('postgres', 'SELECT * FROM uidgen.status'),
	'not preloaded' . '|' x 23,
	'uidgen.status says so');
like($node->safe_psql('postgres', 'SELECT message FROM uidgen.diagnose()'), qr/shared_preload_libraries.*"shared_preload_libraries" and restart/,
	'uidgen.diagnose() says what to do');
is( $node->safe_psql('postgres', "LOAD 'uidgen'; SELECT count(*) FROM pg_settings WHERE name LIKE 'uidgen.%'"),
	'0',
	'loading it into a session defines no setting');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen'");
$node->reload;
ok( poll_until(
		sub { (sqlstate_of($node, 'SELECT uid_next()'))[1] =~ /DETAIL:  The setting "shared_preload_libraries" was changed.*HINT:  Restart the server/s }),
	'where only the restart is missing, it says so');
$node->restart;
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', 0, 'once preloaded, ids are issued');

done_testing();
