# Proves that, without the preload, a lack of room for the second part of the shared memory, which the
# keeper makes, fails calls with its reason, ends no other session, and is over as soon as there is room.
#
# The server keeps dynamic shared memory in files (test/private.conf), so a limit on the size of files, which
# is raised while it runs, is the lack of room.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

# Processes have this limit from their parent, and may raise it again.
sub limit_files
{
	my ($pid, $bytes) = @_;
	system('prlimit', '--pid', $pid, "--fsize=$bytes:") == 0 or die "prlimit: $?\n";
	return;
}

my $node = PostgreSQL::Test::Cluster->new('main');
plan skip_all => 'before PostgreSQL 17 the library must be preloaded' if $node->pg_version < 17;
$node->init;
# They take some 200 MB.
$node->append_conf('postgresql.conf', "restart_after_crash = on\nuidgen.wait_timeout = '3s'\nuidgen.max_segments = 100000");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
# It has asked the keeper, which has made it all.
$node->restart;
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $other = $node->background_psql('postgres');
my $pid = $other->query_safe('SELECT pg_backend_pid()');

# Above the size of a segment of WAL.
limit_files($postmaster, 64 * 1024 * 1024);
my $where = -s $node->logfile;
foreach my $attempt (1 .. 3)
{
	my $err;
	# Again, where its time is over before the keeper has begun.
	poll_until(sub { $err = ($node->psql('postgres', "\\set VERBOSITY verbose\nSELECT uid_next()"))[2]; return $err !~ /has not begun within/ });
	like($err, qr/ERROR:  (?!XX)\w{5}: could not make 2\d{5} kB of shared memory for uidgen.*DETAIL:  could not resize.*HINT:  Make room/s, "call $attempt says that there is no room");
}
is(scalar(() = slurp_file($node->logfile, $where) =~ /could not make .* of shared memory/g), 4, 'the log has it for each call, and once from the keeper');
is($other->query_safe('SELECT pg_backend_pid()'), $pid, 'another session goes on');
unlike(slurp_file($node->logfile, $where), qr/was terminated by signal|PANIC/, '... for no process has failed');

limit_files($postmaster, 'unlimited');
ok($node->poll_query_until('postgres', 'SELECT uid_next() > 0'), 'where there is room again, ids are drawn');
ok($node->poll_query_until('postgres', 'SELECT severity FROM uidgen.diagnose()', 'ok'), '... and all is in order');
$other->quit;

done_testing();
