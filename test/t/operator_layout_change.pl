# The first grant pins the layout: a server started with another one issues
# nothing until the layout is set back, since ids of two layouts could be equal.  A layout
# that is only written differently is the same one.  pg_regress cannot start a server with
# another setting.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my $first_layout = 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01';
my $second_layout = 'time:40:1ms worker:10 sequence:13 epoch:2025-01-01';

my $node = uidgen_node('main', "include_if_exists = 'layout.conf'");
my $conf = $node->data_dir . '/layout.conf';
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $last = $node->safe_psql('postgres', 'SELECT uid_next()');
is($node->safe_psql('postgres', 'SELECT layout, unit, max_tick, max_worker FROM uidgen.registry_layout'),
	"$first_layout|1000|2199023255551|1023",
	'the first grant pins the layout');

sub restart_with
{
	my ($layout) = @_;
	unlink $conf;
	append_to_file($conf, "uidgen.layout = '$layout'\n");
	$node->restart;
}

restart_with($second_layout);
my $before = $node->safe_psql('postgres', 'SELECT n, l FROM uidgen.worker_node AS n, uidgen.registry_layout AS l');
fails_with($node, 'SELECT uid_next()', '55000',
	qr/this database has ids of another layout.*DETAIL:.*"$first_layout".*"$second_layout".*HINT:.*"uidgen.layout"/s,
	'another layout is refused, and both are told');
# Where the owner allows for it, and where no id was drawn, the registry refuses it.
$node->safe_psql('postgres', 'CREATE DATABASE other; SELECT uidgen.use_layout()');
$node->safe_psql('other', 'CREATE EXTENSION uidgen');
fails_with($node, 'SELECT uid_next()', '55000',
	qr/differs from the registry's.*DETAIL:.*"$first_layout".*"$second_layout".*HINT:.*"uidgen.layout"/s,
	'the registry refuses it besides', $_) foreach qw(postgres other);
is($node->safe_psql('postgres', 'SELECT bits FROM uid_layout() WHERE name = \'sequence\''), '13',
	'the server decodes by its own layout');
is( $node->safe_psql('postgres', 'SELECT n, l FROM uidgen.worker_node AS n, uidgen.registry_layout AS l'),
	$before, 'the registry is as it was');

# Another database is another registry: the way to a new layout.
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION uidgen');
$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.database = 'fresh'");
$node->reload;
ok( $node->poll_query_until('postgres', "SELECT current_setting('uidgen.database') = 'fresh'")
	  && poll_until(sub { (sqlstate_of($node, 'SELECT uid_next()'))[0] eq '' }),
	'a new registry takes the new layout');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.database');

# Set back, but written differently.
restart_with(' epoch:2025-01-01T00:00:00Z  time:41:1000us   worker:10 sequence:12 ');
my $next = $node->safe_psql('postgres', 'SELECT uid_next()');
cmp_ok($next, '>', $last, 'with the old layout, in other words, ids go on');
is($node->safe_psql('postgres', 'SELECT count(*), sum(launches) FROM uidgen.worker_node'), '1|2',
	'and the refused start took no worker id');

done_testing();
