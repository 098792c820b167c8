# What happens on a server whose registry has lost commits, although uidgen relies on
# them.
#
# pg_resetwal throws away what only the WAL had, and leaves the identity as it was:
# then ids can repeat if the clock does not keep them apart.  This program shows that
# the advice in docs/reliability.md helps: a worker id that was never used.  A base
# backup that is copied over the old files is the same case.
# pg_rewind puts another server's rows in place of a server's own: the server comes back
# as a standby of the other one, and when it is promoted it is another instance, as any
# copy is.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use File::Path 'remove_tree';
use UidgenTest;

sub draw
{
	my ($node) = @_;
	return [ split /\n/, $node->safe_psql('postgres', 'SELECT uid_next() FROM generate_series(1, 5000)') ];
}

sub worker_of
{
	my ($node, $id) = @_;
	return $node->safe_psql('postgres', "SELECT worker FROM uid_parse($id)");
}

# ---- pg_resetwal ----

# Nothing but the checkpoint of this test writes the registry's page.
my $node = uidgen_node('reset', "uidgen.window = '500ms'", 'autovacuum = off', 'bgwriter_lru_maxpages = 0',
	'checkpoint_timeout = 1h', "include_if_exists = 'more.conf'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

my @seen = (draw($node));
my $worker = worker_of($node, $seen[0][0]);
$node->safe_psql('postgres', 'CHECKPOINT');
my $granted = $node->safe_psql('postgres', 'SELECT granted_until FROM uidgen_registry.worker_node');
$node->poll_query_until('postgres', "SELECT clock_timestamp() > granted_until FROM uidgen.status") or die;
# From here on, ids are above what the registry will know.
my $start = $clock->now;
my $drawing = start_drawing($node);
ok(await_drawing($drawing, 6000), 'ids are drawn');
push @seen, stop_drawing($drawing);
my $identity = $node->safe_psql('postgres', 'SELECT identity FROM uidgen_registry.worker_node');
my $issued = time_of($node, $seen[1][3000]);
$node->stop('immediate');
command_ok([ 'pg_resetwal', '-f', $node->data_dir ], 'the WAL is thrown away');

# When an id was issued, in seconds since 1970.
sub time_of
{
	my ($node, $id) = @_;
	return $node->safe_psql('postgres', "SELECT extract(epoch FROM uid_timestamp($id))");
}

# Start the server with this line in its configuration, and the clock on the interval
# that was used; draw.  With a time, all is drawn at that: whoever has forgotten the ids that
# were issued then issues them again, however slow the machine is.
sub draw_again
{
	my ($line, $time) = @_;
	$clock->stop($time ? $time + 0.0005 : $start);
	unlink $node->data_dir . '/more.conf';
	append_to_file($node->data_dir . '/more.conf', "$line\n");
	$clock->under(sub { $node->start });
	my $ids;
	if ($time)
	{
		$ids = draw($node);
	}
	else
	{
		$clock->set($start);
		my $drawing = start_drawing($node);
		await_drawing($drawing, 6000) or die 'no ids are drawn';
		$ids = stop_drawing($drawing);
	}
	$node->stop;
	return $ids;
}

my $other = $worker == 7 ? 8 : 7;
push @seen, draw_again("uidgen.worker_id = $other");
is(repeated(@seen), 0, 'with a worker id that was never used, no id is issued twice, though the clock was set back');

# The control: the registry has forgotten what it granted, and the server seems to be the
# same instance.
my $again = draw_again("uidgen.worker_id = $worker", $issued);
cmp_ok(repeated(@seen, $again), '>', 0, 'with the one that it had, ids repeat');

# If the clock is correct and ids did not run ahead of it, it keeps old and new ids apart.
$clock->correct;
$clock->under(sub { $node->start });
push @seen, $again;
is(repeated(@seen, draw($node)), repeated(@seen), 'where the clock is right, none repeats');
is($node->safe_psql('postgres', "SELECT DISTINCT identity FROM uidgen_registry.worker_node"), $identity, 'all the time, the identity was the same');
$node->stop;

# ---- a base backup over the files that are there ----

$node = PostgreSQL::Test::Cluster->new('over');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf',
	join("\n", preload(), "uidgen.window = '500ms'", "include_if_exists = 'more.conf'") . "\n");
$clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
@seen = (draw($node));
$worker = worker_of($node, $seen[0][0]);
$identity = $node->safe_psql('postgres', 'SELECT identity FROM uidgen_registry.worker_node');
$node->backup('earlier');
$node->poll_query_until('postgres', "SELECT clock_timestamp() > granted_until FROM uidgen.status") or die;
$start = $clock->now;
$drawing = start_drawing($node);
ok(await_drawing($drawing, 6000), 'ids are drawn after a base backup');
push @seen, stop_drawing($drawing);
$issued = time_of($node, $seen[1][3000]);
$node->stop;

# As cp, tar --overwrite and rsync --inplace do: into the old files.
remove_tree($node->data_dir . '/pg_wal', { keep_root => 1 });
command_ok([ 'cp', '-R', $node->backup_dir . '/earlier/.', $node->data_dir ], 'the backup is copied over the files');
push @seen, draw_again('uidgen.worker_id = ' . ($worker == 7 ? 8 : 7));
is(repeated(@seen), 0, 'with a worker id that was never used, no id is issued twice, though the clock was set back');
cmp_ok(repeated(@seen, draw_again("uidgen.worker_id = $worker", $issued)), '>', 0, 'with the one that it had, ids repeat');
$clock->under(sub { $node->start });
is($node->safe_psql('postgres', "SELECT DISTINCT identity FROM uidgen_registry.worker_node"), $identity,
	'since the control file is the old one, so is the identity');
$node->stop;

# ---- pg_rewind ----

my $LAYOUT = "uidgen.layout = 'time:41:1ms worker:19 sequence:3 epoch:2005-01-01'";
my $old = PostgreSQL::Test::Cluster->new('old');
$old->init(allows_streaming => 1);
$old->append_conf('postgresql.conf', join("\n", preload(), $LAYOUT,
		'wal_log_hints = on', 'wal_keep_size = 320MB') . "\n");
$old->start;
$old->safe_psql('postgres', 'CREATE EXTENSION uidgen');
@seen = (draw($old));
my @workers = (worker_of($old, $seen[0][0]));

my $new = standby_of($old, 'new');
$new->promote;
push @seen, draw($old), draw($new);
push @workers, worker_of($new, $seen[2][0]);
# pg_rewind needs the point at which the two servers diverged.
$new->safe_psql('postgres', 'CHECKPOINT');
$old->stop;

my $conf = slurp_file($old->data_dir . '/postgresql.conf');
command_ok(
	[ 'pg_rewind', '--target-pgdata', $old->data_dir, '--source-server', $new->connstr('postgres') ],
	'the old server is rewound to the new one');
# The configuration came with the files.
unlink $old->data_dir . '/postgresql.conf';
append_to_file($old->data_dir . '/postgresql.conf', $conf);
$old->enable_streaming($new);
$old->start;
fails_with($old, 'SELECT uid_next()', '25006', qr/recovery/, 'it is a standby now');
push @seen, draw($new);
$new->wait_for_catchup($old);
$old->promote;
push @seen, draw($old), draw($new);
push @workers, worker_of($old, $seen[4][0]);
is(repeated(\@workers), 0, 'promoted, it takes another worker id than the new one has and than it had itself');
is(repeated(@seen), 0, 'no id is issued twice');
is($old->safe_psql('postgres', 'SELECT count(DISTINCT identity) FROM uidgen_registry.worker_node'), '3',
	'each of the three has an identity of its own');
$_->stop foreach $old, $new;

done_testing();
