# pg_dump leaves the registry out, so that what is restored begins one of its own;
# pg_upgrade, with the library preloaded in both clusters, takes it along.
# pg_regress has one server.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my $old = uidgen_node('old');
$old->start;
$old->safe_psql('postgres', 'CREATE EXTENSION uidgen');
$old->safe_psql('postgres', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
$old->safe_psql('postgres', "INSERT INTO message (body) SELECT 'old' FROM generate_series(1, 100)");
my $row = 'SELECT worker_id, identity, launches FROM uidgen.worker_node ORDER BY created';

# Another message in the copy has an id of its own, above the old ones.
sub goes_on
{
	my ($node, $name) = @_;
	$node->safe_psql('postgres', "INSERT INTO message (body) SELECT 'new' FROM generate_series(1, 100)");
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql(
			'postgres', "SELECT count(DISTINCT id), (SELECT min(id) FROM message WHERE body = 'new') >
				(SELECT max(id) FROM message WHERE body = 'old') FROM message"),
		'200|t',
		$name);
}

# ---- pg_dump ----

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$old->command_ok([ 'pg_dump', '--file', $dump, 'postgres' ], 'pg_dump runs');
my $text = slurp_file($dump);
like($text, qr/^CREATE EXTENSION .*uidgen/m, 'the extension is in the dump');
unlike($text, qr/worker_node|registry_layout|presets/, 'what belongs to it is not');

my $restored = uidgen_node('restored');
$restored->start;
$restored->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '--file', $dump, 'postgres' ], 'it can be restored');
is($restored->safe_psql('postgres', 'SELECT count(*) FROM uidgen.worker_node'), '0', 'the registry is new');
goes_on($restored, 'ids go on where it was restored');
is($restored->safe_psql('postgres', 'SELECT count(*) FROM uidgen.worker_node'), '1', 'with a grant of its own');
$restored->stop;

# ---- pg_upgrade ----

SKIP:
{
	my $bindir = $old->config_data('--bindir');
	skip 'there is no pg_upgrade', 1 if !-x "$bindir/pg_upgrade";

	my $new = uidgen_node('new');
	my $before = $old->safe_psql('postgres', $row);
	$old->stop;
	# It starts both servers, and leaves files where it runs.
	chdir(PostgreSQL::Test::Utils::tempdir()) or die $!;
	command_ok(
		[
			'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir,
			'-s', $new->host, '-p', $old->port, '-P', $new->port
		],
		'pg_upgrade runs');
	$new->start;
	is($new->safe_psql('postgres', $row), $before, 'the registry was taken along');
	goes_on($new, 'ids go on after the upgrade');
	is($new->safe_psql('postgres', 'SELECT count(*) FROM uidgen.worker_node'), '2',
		'with a worker id that was never used');
	like($new->safe_psql('postgres', $row), qr/^\Q$before\E\n/, 'that of the old cluster is left alone');
}

done_testing();
