# A dump, of whatever kind, leaves the registry out, so that a restored database begins a
# registry of its own, takes a worker id at random and has no segments.  pg_upgrade, with the
# library preloaded in both clusters, takes the registry along: the new cluster takes another
# worker id, and leaves out some numbers of each segment, and none of rows.  pg_regress has one server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

# So many worker ids that two of a random choice do not meet.
my $LAYOUT = "uidgen.layout = 'time:40:1ms worker:20 sequence:3 epoch:2025-01-01'";
my $WORKER = "SELECT string_agg(DISTINCT worker::text, ' ') FROM message, uid_parse(id) WHERE body = 'new'";

my $old = uidgen_node('old', { extra => [ in_encoding('SQL_ASCII') ] }, $LAYOUT);
$old->start;
$old->safe_psql('postgres', 'CREATE EXTENSION uidgen');
$old->safe_psql('postgres', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)');
$old->safe_psql('postgres', "INSERT INTO message (body) SELECT 'old' FROM generate_series(1, 100)");
# What has the bodies of functions in SQL in it
$old->safe_psql('postgres', "CREATE VIEW recent AS SELECT * FROM message WHERE uid_between(id, now() - interval '1 day', NULL)");
$old->safe_psql('postgres', "SELECT uidgen_registry.create_segment('invoice')");
my $FETCH = "SELECT first_value FROM uidgen_registry.segment_fetch('invoice', 1, 0, 0, '{}', -1, 9223372036854775807)";
is($old->safe_psql('postgres', $FETCH), '1', 'a segment');
my $row = 'SELECT worker_id, identity, launches FROM uidgen_registry.worker_node ORDER BY created';

# Another message in the copy has an id of its own, above the old ones.
sub goes_on
{
	my ($node, $name) = @_;
	$node->safe_psql('postgres', "INSERT INTO message (body) SELECT 'new' FROM generate_series(1, 100)");
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql(
			'postgres', "SELECT count(DISTINCT id), (SELECT min(id) FROM message WHERE body = 'new') >
				(SELECT max(id) FROM message WHERE body = 'old'), (SELECT count(*) FROM recent) FROM message"),
		'200|t|200',
		$name);
}

# ---- dumps ----

my $folder = PostgreSQL::Test::Utils::tempdir();
my $worker = $old->safe_psql('postgres', 'SELECT worker_id FROM uidgen_registry.worker_node');
my %took = ($worker => 'the server that was dumped');

# What takes a dump (its last argument is the file), and what restores it.
my %DUMPS = (
	'plain pg_dump' => [ [ 'pg_dump', 'postgres', '--file' ], [ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', '--file' ] ],
	'custom pg_dump' => [ [ 'pg_dump', '-Fc', 'postgres', '--file' ], [ 'pg_restore', '--exit-on-error', '-d', 'postgres' ] ],
	# It restores the superuser, too, who is there already.
	'pg_dumpall' => [ [ 'pg_dumpall', '--file' ], [ 'psql', '-X', '-d', 'postgres', '--file' ] ]);

foreach my $kind (sort keys %DUMPS)
{
	my ($dump, $restore) = @{ $DUMPS{$kind} };
	my $file = "$folder/$kind";
	$old->command_ok([ @$dump, $file ], "$kind: runs");
	if ($kind ne 'custom pg_dump')
	{
		my $text = slurp_file($file);
		is(join(' ', sort $text =~ /^CREATE EXTENSION .*\b(uidgen\w*)/mg), 'uidgen uidgen_registry', "$kind: the extensions are in the dump");
		unlike($text =~ s/^(?:CREATE EXTENSION|COMMENT ON EXTENSION|COPY uidgen\.backfill|--) .*//gmr, qr/worker_node|registry|segment|invoice|presets/, "$kind: what belongs to them is not");
	}

	my $restored = uidgen_node('restored_by_' . $kind =~ s/ /_/r, $LAYOUT);
	$restored->start;
	$restored->command_ok([ @$restore, $file ], "$kind: it can be restored");
	is($restored->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '0', "$kind: the registry is new");
	fails_with($restored, $FETCH, 'P0002', qr/there is no such segment/, "$kind: and gives out no number of the old one's segments");
	goes_on($restored, "$kind: ids go on where it was restored");
	my $took = $restored->safe_psql('postgres', $WORKER);
	is($restored->safe_psql('postgres', 'SELECT worker_id, launches FROM uidgen_registry.worker_node'), "$took|1",
		"$kind: with a grant of its own");
	$took{$took} = $kind;
	$restored->stop;
}
# Two of them may be the same by chance, once in 200,000 runs.
cmp_ok(scalar keys %took, '>=', keys(%DUMPS) - 1, 'worker ids are taken at random');

# ---- pg_upgrade ----

SKIP:
{
	my $bindir = $old->config_data('--bindir');
	skip 'there is no pg_upgrade', 1 if !-x "$bindir/pg_upgrade";

	# One of a fleet, too.
	$old->safe_psql('postgres', 'CREATE DATABASE fleet');
	$old->safe_psql('fleet', q{SET client_min_messages = error; CREATE EXTENSION uidgen_registry;
		SELECT uidgen_registry.share_registry('time:40:1ms worker:20 sequence:3 epoch:2025-01-01', max_lead => '3 s', clock_slack => '1 s', new_fleet => true)});
	# Numbers of a table that was moved since.
	$old->safe_psql('postgres', q{SET client_min_messages = error; CREATE EXTENSION uidgen_tools; CREATE TABLE bill (id bigint PRIMARY KEY); INSERT INTO bill VALUES (1), (2); CALL uid_number_rows('bill', 'id', begin => true);
		CREATE SCHEMA moved; ALTER TABLE bill SET SCHEMA moved; ALTER TABLE moved.bill RENAME TO moved; INSERT INTO moved.moved VALUES (3)});
	my $new = uidgen_node('new', { extra => [ in_encoding('SQL_ASCII') ] }, $LAYOUT);
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
	$new->poll_query_until('postgres', 'SELECT uid_horizon() > 3') or die 'there is no horizon';
	is($new->safe_psql('postgres', q{CALL uid_number_rows('moved.moved', 'id')}) =~ s/\|\d{15,}\|/ /r, '1|0|3 0', 'numbers of rows, too');
	is($new->safe_psql('postgres', 'SELECT count(*) FROM uidgen_registry.worker_node'), '2',
		'with a worker id that was never used');
	is($new->safe_psql('postgres', 'SELECT count(DISTINCT u.layout), bool_and(u.layout = s.layout) FROM uidgen.layout_used AS u, uidgen.status AS s'), '1|t',
		'which layout the ids have was taken along');
	like($new->safe_psql('postgres', $row), qr/^\Q$before\E\n/, 'that of the old cluster is left alone');
	is($new->safe_psql('postgres', $FETCH), '2001001', 'a segment goes on above all that the old cluster could still give out');

	is($new->safe_psql('fleet', 'SELECT timeline FROM uidgen_registry.registry_identity()'), '1002', 'a fleet is told a timeline above that of the old cluster');
	my $member = uidgen_node('member', $LAYOUT, "uidgen.registry_timeout = '1s'", "uidgen.window = '500ms'", "uidgen.wait_timeout = '10min'",
		"uidgen.registry = 'host=" . join(',', map { $_->host } $new, $old) . ' port=' . join(',', map { $_->port } $new, $old) . " dbname=fleet'");
	$member->start;
	$member->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	my $first = $member->safe_psql('postgres', 'SELECT uid_next()');
	is($member->safe_psql('postgres', 'SELECT timeline FROM uidgen.status'), '1002', '... by which a node goes');
	$new->stop('immediate');
	$old->start;
	ok( poll_until(sub { $member->psql('postgres', "SET uidgen.wait_timeout = '1s'; SELECT uid_next()");
			$member->safe_psql('postgres', 'SELECT last_error FROM uidgen.status') =~ /^the registry's answer came from a server that it has left behind/ }),
		'... and it refuses the old cluster, if that is started again') || diag($member->safe_psql('postgres', 'SELECT last_error FROM uidgen.status'));
	$old->stop;
	$new->start;
	cmp_ok($member->safe_psql('postgres', 'SELECT uid_next()'), '>', $first, '... and goes on with the new one');
	is($new->safe_psql('fleet', 'SELECT timeline FROM uidgen_registry.registry_identity()'), '1002', '... which tells the same timeline as before');
}

done_testing();
