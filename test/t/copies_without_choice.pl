# Proves that a copy which may not take another worker id than its origin's (a
# fixed one, a layout with few of them or none) refuses to issue ids instead of
# repeating the origin's.  Once an operator has said by forget_worker(), as the hint
# advises, that the origin will issue no more ids, the copy goes on, above all that its
# registry knows was granted.  And that a server which is restored in place, into the
# files that it had, is another instance too.  pg_regress has one server.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use File::Find;
use UidgenTest;

# Grants reach far ahead of the clock, so that the clock cannot keep ids apart.
my @CONF = (preload(), 'wal_keep_size = 512MB', "uidgen.window = '30min'", "uidgen.max_ahead = '2h'");

# A server from which copies can be made.
sub begin_origin
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n", @CONF, @conf) . "\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
	return $node;
}

# A copy of a running server, promoted while its origin lives.
sub copy_of
{
	my ($origin, $name) = @_;
	my $copy = standby_of($origin, $name);
	$copy->promote;
	return $copy;
}

sub draw
{
	my ($node) = @_;
	return [ split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 1000)') ];
}

# As the registry has it: 0 in a layout without a worker field.
sub worker_of
{
	my ($node, $id) = @_;
	return $node->safe_psql('postgres', "SELECT coalesce(worker, 0) FROM uid_parse($id)");
}

# The last time that the registry has granted to this worker id.
sub granted
{
	my ($node, $worker) = @_;
	return $node->safe_psql('postgres', "SELECT epoch + granted_until * interval '1 ms'
		FROM uidgen_registry.worker_node, uid_layout_info() WHERE worker_id = $worker");
}

# The copy fails in this way, and goes on after the command that its hint gives.
sub refuses_until_told
{
	my ($node, $sqlstate, $pattern, $worker, $command, $name) = @_;
	my $granted = granted($node, $worker);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	fails_with($node, 'SELECT uid_next()', $sqlstate, qr/$pattern.*HINT:.*forget_worker/s, "$name: the copy refuses") foreach 1 .. 2;
	$node->restart;
	fails_with($node, 'SELECT uid_next()', $sqlstate, $pattern, "$name: after a restart, too");
	is(granted($node, $worker), $granted, "$name: it does not touch the row");
	$node->safe_psql('postgres', "SELECT $command");
	my $ids = draw($node);
	is(worker_of($node, $ids->[0]), $worker, "$name: told that the origin is gone, it takes its worker id");
	is($node->safe_psql('postgres', "SELECT uid_timestamp($ids->[0]) > '$granted'"), 't',
		"$name: above all that was granted");
	$node->restart;
	is(worker_of($node, draw($node)->[0]), $worker, "$name: and keeps it");
	return $ids;
}

# ---- a fixed worker id ----

my $origin = begin_origin('fixed', 'uidgen.worker_id = 7');
my @ids = (draw($origin));
my $copy = copy_of($origin, 'fixed_copy');
push @ids, draw($origin);
push @ids, refuses_until_told($copy, '55006', qr/worker id 7 belongs to another instance/, 7,
	'uidgen_registry.forget_worker(7, 0)', 'fixed worker id');
is(repeated(@ids), 0, 'fixed worker id: no id is issued twice');
$copy->append_conf('postgresql.conf', 'uidgen.worker_id = 8');
$copy->restart;
is(worker_of($copy, draw($copy)->[0]), 8, 'fixed worker id: or it is given another one');
$_->stop('immediate') foreach $origin, $copy;

# ---- one bit ----

$origin = begin_origin('one_bit', "uidgen.layout = 'time:41:1ms worker:1 sequence:12 epoch:2025-01-01'");
@ids = (draw($origin));
my $worker = worker_of($origin, $ids[0][0]);
$copy = copy_of($origin, 'one_bit_copy');
push @ids, draw($copy), draw($origin);
is(worker_of($copy, $ids[1][0]), 1 - $worker, 'one bit: the copy takes the other worker id');
my $next = copy_of($copy, 'one_bit_next');
push @ids, refuses_until_told($next, '53400', qr/no worker id is free.*2 belong to other instances, 0 were never used/s,
	$worker, "uidgen_registry.forget_worker($worker)", 'one bit, the next copy');
is(repeated(@ids), 0, 'one bit: no id is issued twice');

# Each copy of a copy takes another worker id.  The commands in docs/operations.md free
# them, also for a server that has none of its own.
my ($recipe) = slurp_file("$FindBin::RealBin/../../docs/operations.md") =~ /^### Worker ids that copies.*?```sql\n(.*?)```/ms;
my $NAMED = 'SELECT worker_id FROM uidgen_registry.worker_node WHERE identity IS NOT NULL';
$next->psql('postgres', $recipe, on_error_stop => 0);
is($next->safe_psql('postgres', $NAMED), $worker, 'reclaimed: only the row of the copy itself is still its own');
my $last = copy_of($next, 'one_bit_last');
push @ids, draw($last);
is(worker_of($last, $ids[-1][0]), 1 - $worker, 'reclaimed: a copy takes the other worker id again');
my $beyond = copy_of($last, 'one_bit_beyond');
fails_with($beyond, 'SELECT uid_next()', '53400', qr/no worker id is free/, 'reclaimed: until none is left');
$beyond->psql('postgres', $recipe, on_error_stop => 0);
push @ids, draw($beyond), draw($last);
is($beyond->safe_psql('postgres', $NAMED), worker_of($beyond, $ids[-2][0]), 'reclaimed: then all are brought back, and one is taken');
is(repeated(@ids[ 0 .. $#ids - 2 ], $ids[-1]), 0, 'reclaimed: no id is issued twice by those that live on');
$_->stop('immediate') foreach $origin, $copy, $next, $last, $beyond;

# ---- no worker field ----

$origin = begin_origin('alone', "uidgen.layout = 'time:41:1ms sequence:22 epoch:2025-01-01'");
@ids = (draw($origin));
$copy = copy_of($origin, 'alone_copy');
push @ids, refuses_until_told($copy, '53400', qr/no worker id is free.*1 belong to other instances, 0 were never used/s, 0,
	'uidgen_registry.forget_worker(0)', 'no worker field');
is(repeated(@ids), 0, 'no worker field: no id is issued twice');
$_->stop('immediate') foreach $origin, $copy;

# ---- restored in place ----

my $IDENTITY = 'SELECT identity FROM uidgen_registry.worker_node ORDER BY created';
$origin = begin_origin('in_place', "uidgen.layout = 'time:41:1ms worker:19 sequence:3 epoch:2025-01-01'");
@ids = (draw($origin));
$worker = worker_of($origin, $ids[0][0]);
$origin->backup('earlier');
$origin->safe_psql('postgres', "SELECT pg_create_restore_point('earlier')");
push @ids, draw($origin);
$origin->stop;

# The files keep their inodes, as with a restore program that writes into them.
my ($from, $to) = ($origin->backup_dir . '/earlier', $origin->data_dir);
my $inode = (stat "$to/global/pg_control")[1];
rename "$to/pg_wal", "$to/later_wal" or die $!;
mkdir "$to/$_", 0700 or die $! foreach 'pg_wal', 'pg_wal/archive_status', 'pg_wal/summaries';
find(
	{
		no_chdir => 1,
		wanted => sub {
			my $path = substr($_, length $from);
			return if !-f || $path =~ m{^/(?:postgresql\.conf|pg_wal/)};
			open(my $file, '>', "$to$path") or die "$to$path: $!";
			binmode $file;
			print $file slurp_file($_);
			close $file or die $!;
		}
	},
	$from);
is((stat "$to/global/pg_control")[1], $inode, 'in place: the control file is the same file');
$origin->set_recovery_mode;
$origin->append_conf('postgresql.conf',
	"restore_command = 'cp \"$to/later_wal/%f\" \"%p\"'\nrecovery_target_name = 'earlier'\nrecovery_target_action = promote");
$origin->start;
$origin->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
push @ids, draw($origin);
isnt(worker_of($origin, $ids[-1][0]), $worker, 'in place: the server takes another worker id');
is(repeated(@ids), 0, 'in place: no id is issued twice');
my @identities = map { [ split m{/} ] } split /\n/, $origin->safe_psql('postgres', $IDENTITY);
is_deeply([ map { $_->[1] } @identities ], [ 1, 2 ], 'in place: it is another timeline');
is("@{$identities[0]}[0, 2 .. 4]", "@{$identities[1]}[0, 2 .. 4]", 'in place: and nothing else is');
$origin->stop;

done_testing();
