# A shared registry on a server without the extension: the script that is made of its
# parts works, for a role that is no superuser, and its functions do what those of the
# extension do.  pg_regress has a server with the extension.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
my ($script) = glob "$sharedir/extension/uidgen-registry--*.sql";

my $node = PostgreSQL::Test::Cluster->new('plain');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 1');
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE regress_uidgen_owner LOGIN CREATEROLE');
$node->safe_psql('postgres', 'CREATE DATABASE fleet OWNER regress_uidgen_owner');
my $owner = $node->connstr('fleet') . ' user=regress_uidgen_owner';

# Returns what psql prints as pg_regress runs it.
sub output_of
{
	my ($file, @options) = @_;
	my $output = '';
	IPC::Run::run([ $node->installed_command('psql'), '-X', @options, '-d', $owner ], '<', $file, '>&', \$output)
	  or diag($output);
	return $output;
}

is(output_of($script, '-q', '-v', 'ON_ERROR_STOP=1'), '', 'the script runs in a plain database, for a role that is no superuser');
is($node->safe_psql('fleet', q{
		SELECT count(*) FROM pg_proc WHERE pronamespace = 'uidgen'::regnamespace AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')}),
	'0', 'it needs no library');
is(output_of('sql/fleet.sql', '-a', '-q'), slurp_file('expected/fleet.out'), 'its functions do what those of the extension do');

# With the clock and the history of a server.
sub acquire
{
	my ($holder, $token) = @_;
	return qq{SELECT worker, registry_id, timeline FROM uidgen.node_acquire('$holder', 'A', 1000, 1735689600000000, 2199023255551, 0, 1023,
		0, -1, 'reuse', '{}', -1, -1, $token, 0, 10000, 9223372036854775807, 9223372036854775807, 'host', 5432, 2)};
}
$node->safe_psql('fleet', "SELECT uidgen.share_registry('A', 1000, 1735689600000000, 2199023255551, 0, 1023); SELECT uidgen.end_quarantine()",
	connstr => $owner);
$node->safe_psql('fleet', "CREATE ROLE regress_uidgen_node LOGIN; SELECT uidgen.grant_node('regress_uidgen_node')");
my $connstr = $node->connstr('fleet') . ' user=regress_uidgen_node';
my $first = $node->safe_psql('fleet', acquire('a', 1), connstr => $connstr);
like($first, qr/^\d+\|-?\d+\|1$/, 'a node gets a worker id');
is($node->safe_psql('fleet', 'SELECT state FROM uidgen.fleet'), 'running', 'which is seen');
is($node->safe_psql('fleet', 'SET ROLE pg_monitor; SELECT count(*) FROM uidgen.fleet'), '1', 'by pg_monitor too');

is((sqlstate_of($node, acquire('b', 2), 'fleet'))[0], '', 'another gets one at once');

# The lock is held as long as this transaction is prepared.
$node->safe_psql('fleet', q{BEGIN; SELECT FROM uidgen.registry_layout FOR UPDATE; PREPARE TRANSACTION 'stuck'});
fails_with($node, acquire('c', 3), '55P03', qr/lock timeout/, 'an acquirer does not wait for ever', 'fleet');
is($node->safe_psql('fleet', "SELECT last_tick > 0 FROM uidgen.worker_node AS n, uidgen.node_renew(0, worker_id, 2, granted_until, 5, 0, 10000, 9223372036854775807, 9223372036854775807) WHERE token = 2"),
	't', 'and a renewal does not wait for it');
$node->safe_psql('fleet', q{ROLLBACK PREPARED 'stuck'});

$node->restart;
is($node->safe_psql('fleet', acquire('c', 3) =~ s/worker, .* FROM/worker IS NULL FROM/r, connstr => $connstr), 't',
	'after a restart of the server the first call is told to ask again');
is($node->safe_psql('fleet', acquire('c', 3) =~ s/worker, .* FROM/worker IS NULL, first_tick = quarantine_until + 1, abs(clock - extract(epoch FROM now()) * 1000000) < 600000000 FROM/r,
	connstr => $connstr), 't|t|t', 'and then where it may begin, above the quarantine, and the time');
is($node->safe_psql('fleet', "SELECT last_tick > 0 FROM uidgen.worker_node AS n, uidgen.node_renew(0, worker_id, 1, granted_until, 4, 0, 10000, 9223372036854775807, 9223372036854775807) WHERE token = 1"),
	't', 'which renewals need not wait for');

# A standby can say so only.
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
my $text;
foreach my $call (acquire('d', 5), 'SELECT * FROM uidgen.node_renew(0, 1, 1, 1, 1, 1, 1, 1, 1)', q(SELECT * FROM uidgen.node_release(0, 1, '{1}', 1)))
{
	$standby->psql('fleet', "\\set VERBOSITY sqlstate\n$call", stderr => \$text);
	like($text, qr/25006/, 'a standby refuses');
}
$standby->promote;
is($standby->safe_psql('fleet', acquire('d', 5) =~ s/worker, .* FROM/worker IS NULL, timeline FROM/r), 't|2', 'promoted, it writes down its timeline');

done_testing();
