# In single-user mode no background worker runs, so that nothing can be granted:
# uid_next() says so at once, and decoding works.  pg_regress needs a server that
# others can connect to.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use UidgenTest;

my $node = uidgen_node('main');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $id = $node->safe_psql('postgres', 'SELECT uid_next()');
my $worker = $node->safe_psql('postgres', "SELECT worker FROM uid_parse($id)");
$node->stop;

# What the server says to some SQL, one statement a line.
sub single_user
{
	my ($sql, @options) = @_;
	my $said = '';
	IPC::Run::run([ $node->installed_command('postgres'), '--single', @options, '-D', $node->data_dir, 'postgres' ],
		'<', \$sql, '>', \$said, '2>&1', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $said;
}

like(single_user("SELECT uid_next();\n"),
	qr/ERROR:  uidgen issues no ids in single-user mode.*DETAIL:.*HINT:  Start the server normally/s,
	'uid_next() says that it does not work here');
like(single_user("SELECT worker FROM uid_parse($id);\nSELECT state FROM uidgen.status;\n"),
	qr/worker = "$worker".*state = /s, 'decoding works, and uidgen.status');
unlike(single_user("DROP EXTENSION uidgen;\nCREATE EXTENSION uidgen;\n"), qr/ERROR|PANIC|WARNING/,
	'the extension can be dropped and created');
my $why = $node->pg_version < 17 ? qr/uidgen must be loaded via shared_preload_libraries/ : qr/uidgen issues no ids in single-user mode/;
like(single_user("SELECT uid_next();\n", '-c', 'shared_preload_libraries='), qr/ERROR:  $why/, 'also without the library');

$node->start;
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $id, 'started normally, ids go on');

done_testing();
