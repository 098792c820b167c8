# A full disk.  If the registry lies on it, that stops nothing, since a renewal needs no
# more room; if pg_wal lies on it, the server itself goes down.  As soon as there is
# room, ids go on, above all earlier ones.  pg_regress has no disk of
# its own.
# Promise: P1, P2
# Kills: src/keeper/grants.c count: uidgen_memory->renewals += attempt->renewed; => uidgen_memory->renewals -= attempt->renewed;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use SmallDisk (tables => '16m', wal => '16m');
use IO::Handle;
use List::Util qw(max min);
use UidgenTest;

my $disk = SmallDisk::path('');

sub fill_disk
{
	my ($part) = @_;
	open(my $file, '>', "$disk/$part/filler") or die $!;
	1 while defined syswrite($file, "\0" x 4096);
	ok($!{ENOSPC}, "the disk of $part is full");
	close $file;
	return;
}

sub make_room
{
	my ($part) = @_;
	unlink "$disk/$part/filler" or die $!;
	return;
}

# ---- the registry's disk ----

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--waldir', "$disk/wal/main", '--wal-segsize=1' ]);
$node->append_conf('postgresql.conf', preload() . <<'END');

uidgen.layout = 'time:41:1ms worker:10 sequence:3 epoch:2025-01-01'
uidgen.database = 'registry'
uidgen.window = '500ms'
uidgen.wait_timeout = '1h'
restart_after_crash = on
min_wal_size = 2MB
max_wal_size = 4MB
autovacuum = off
END
$node->start;
$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$disk/tables'");
$node->safe_psql('postgres', 'CREATE DATABASE registry TABLESPACE small STRATEGY file_copy');
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

my $drawing = start_drawing($node);
ok(await_drawing($drawing, 1000), 'ids are drawn');
fill_disk('tables');
my $renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
fails_with($node, 'CREATE TABLE filler AS SELECT generate_series(1, 10000)', '53100', qr/No space left/,
	'nothing can be stored where the registry is', 'registry');
ok($node->poll_query_until('postgres', "SELECT renewals > $renewals + 10 FROM uidgen.status"), 'but the grant is renewed');
ok(await_drawing($drawing, 1000), 'and ids go on');

# ---- the disk of pg_wal ----

make_room('tables');
# So that no old file of WAL can be used as a new one.
$node->append_conf('postgresql.conf', 'wal_keep_size = 1GB');
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('wal_keep_size') = '1GB'") or die;
fill_disk('wal');

# Renewals as drawing ids makes them, and a little faster.
ok( poll_until(sub { (try_psql($node, 'SELECT txid_current(); SELECT pg_switch_wal()'))[0] != 0 }),
	'the server breaks down');
eval { $drawing->{run}->finish };
like(slurp_file("$drawing->{file}.err"), qr/server closed the connection/, 'with the sessions that draw');
like(log_since($node, 0), qr/PANIC: .*pg_wal.*No space left/, 'because there is no room');
my $seen = stop_drawing($drawing);

# The server may start and fail again several times.
$node->stop('immediate', fail_ok => 1);
make_room('wal');
$node->append_conf('postgresql.conf', 'wal_keep_size = 0');
start_again($node);
my @ids = split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 1000)');
cmp_ok(min(@ids), '>', max(@$seen), 'when there is room, ids go on above all before');
is(repeated($seen, \@ids), 0, 'none is issued twice');
$node->stop;

done_testing();
