# Proves that no id of a committed transaction of the edition in SQL comes again after a crash, however quickly the server recovers: by a clock that stands still,
# so that recovery takes no time at all, with both fences and with each left out; also where unlogged data survives, in copies, after a session that ended in the middle of the
# first jump, and on a standby that is promoted.  And on a server that recovers as quickly as it can, of which those tries count that took no more than 20 ms: by UIDGEN_SQL_CRASH='--quick N'
# until there are N of each kind, one after the other with fsync and without.  chrt -f 5 ./check runs it before other programs.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use File::Path 'rmtree';
use File::Temp 'tempdir';
use Getopt::Long 'GetOptionsFromString';
use List::Util 'min';
use Time::HiRes qw(time usleep);
use FakeClock;
use SqlEdition;
use UidgenTest;

my $QUICK = 2;
GetOptionsFromString($ENV{UIDGEN_SQL_CRASH} // '', 'quick=i' => \$QUICK) or die 'UIDGEN_SQL_CRASH: --quick N';

my $JUMP = 'uidgen.jump(integer, boolean)';
my %RULES = (
	'D8' => [ 'uidgen.next_otherwise(bigint, bigint)', 'PERFORM uidgen.write_to_log();' => '' ],
	'the margin' => [ $JUMP, 'WHEN is_first THEN' => 'WHEN false THEN' ],
	'the margin after a jump that was not finished' => [ $JUMP, q{coalesce(pg_sequence_last_value('uidgen.jumps'), 1) = 1} => q{pg_sequence_last_value('uidgen.jumps') IS NULL} ],
	'a restart of jumps' => [ 'uidgen.change(bigint, text, bigint, interval, bigint, boolean, bigint)', 'jumps RESTART' => 'jumps NO CYCLE' ],
	'the end of its own session in a jump' => [ $JUMP, qr/PERFORM nextval\('uidgen\.jumps'\);\s+-- closed.*/ => q{PERFORM nextval('uidgen.jumps'); PERFORM pg_terminate_backend(pg_backend_pid());} ],
	# 10 ms in place of 1 and 2.
	'the second fence' => [ 'uidgen.counts_at_clock(bigint, bigint)', ' + 500)) <= 1500' => ')) <= 10000', 'uidgen.is_far(bigint)', '-2000' => '-10000' ]);
$RULES{both} = [ map { @{ $RULES{$_} } } 'the margin', 'the second fence' ];

# What puts the functions back as they were.
sub leave_out
{
	my ($node, $database, $rule) = @_;
	my @changes = @{ $RULES{$rule} };
	my $before = '';
	while (my ($function, $from, $to) = splice @changes, 0, 3)
	{
		$from = quotemeta $from if !ref $from;
		$before = $node->safe_psql($database, "SELECT pg_get_functiondef('$function'::regprocedure) || ';'") . "\n$before";
		change_function($node, $database, $function, sub { s/$from/$to/ });
	}
	return $before;
}

sub ids_of
{
	my ($node, $database, $n) = @_;
	return [ split /\n/, as($node, 'landlord', $database, "SELECT uid_next() FROM generate_series(1, $n)") ];
}

# ---- recovery takes no time ----

my $node = edition_node('plain', "wal_writer_delay = '10s'", 'wal_level = minimal', 'max_wal_senders = 0');
my $clock = FakeClock->new($node);
my $tick = 1_800_000_000;
$clock->stop($tick);
$clock->under(sub { $node->start });
landlords($node);
put_in($node, add_database($node, 'app'), 'worker_id=1');
ids_of($node, 'app', 1);
# Copies; each goes on as the original does.
$node->safe_psql('postgres', "CREATE DATABASE copy_$_ OWNER landlord TEMPLATE app STRATEGY $_") foreach qw(wal_log file_copy);
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-U', 'landlord', '-d', $node->connstr('app'), '-f', $dump ], 'a dump');
add_database($node, 'restored');
is(as($node, 'landlord', 'restored', undef, '-q', '-o', '/dev/null', '-f', $dump), '', '... and a database of it');
my @copies = qw(copy_wal_log copy_file_copy restored);
my $original = ids_of($node, 'app', 100);
cmp_ok(repeated($original, ids_of($node, $_, 100)), '>', 0, "$_: issues ids of the original, as all copies do") foreach @copies;

# One test: a session takes a block, by which ids are as far ahead of the clock as it has ticks, and commits; another draws, and stays open; a third one
# draws and commits.  The server crashes, and what it has not written is lost; so many milliseconds later, by the clock, it is there again.
sub crashes
{
	my ($comes, $database, %o) = @_;
	%o = (block => 0, later => 0, %o);
	my $before = $o{without} && leave_out($node, $database, $o{without});
	$tick += 100;
	$clock->stop($tick);
	as($node, 'landlord', $database, 'SELECT uid_next()');
	as($node, 'landlord', $database, "SELECT uidgen.set_up($o{set_up})") if $o{set_up};
	as($node, 'landlord', $database, 'SELECT uid_next()') if $o{set_up};
	as($node, 'landlord', $database, "SELECT uidgen.batch($o{block}, 0)") if $o{block};
	# The log writer, if it is woken up, writes whole pages.
	$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	my $open = $node->background_psql($database, extra_params => [ '-U', 'landlord' ]);
	$open->query_safe('BEGIN; SELECT uid_next() FROM generate_series(1, 40)');
	local $ENV{PGOPTIONS} = "-c synchronous_commit=$o{synchronous_commit}" if $o{synchronous_commit};
	my $committed = ids_of($node, $database, 4);
	my $jumps = as($node, 'landlord', $database, 'SELECT last_value FROM uidgen.jumps');
	$node->stop('immediate');
	eval { $open->quit };
	$clock->stop($tick + $o{later} / 1000);
	$clock->under(sub { $node->start });
	as($node, 'landlord', $database, "SELECT setval('uidgen.jumps', $jumps)") if $o{survives};
	if ($o{ends})
	{
		my $whole = leave_out($node, $database, 'the end of its own session in a jump');
		as($node, 'landlord', $database, 'SELECT uid_next()');
		$node->safe_psql($database, $whole);
		is(as($node, 'landlord', $database, 'SELECT last_value, is_called FROM uidgen.jumps'), '1|t', 'a session ends in the middle of the first jump');
	}
	my $twice = repeated($committed, ids_of($node, $database, 100));
	$node->safe_psql($database, $before) if $before;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($comes eq 'none' ? $twice == 0 : $twice == 4, "$database" . join('', map { ", $_: $o{$_}" } sort keys %o) . ": $comes of 4 come again") || diag("$twice do");
}

# At the clock, and ahead of it by 8 and by 14 ms.
crashes('none', 'app', block => $_) foreach 0, 36_000, 60_000;
crashes('all', 'app', block => 60_000, without => 'D8');
crashes('none', $_) foreach @copies;
crashes('none', 'app', without => 'the second fence', block => $_) foreach 0, 36_000;
crashes('all', 'app', without => 'the margin');
crashes('none', 'app', without => 'the margin', later => 1.1);
crashes('all', 'app', without => 'both', block => 36_000, later => 8);

# A crash sets what was changed to what it was then.
crashes('all', 'app', set_up => 'after => 1', without => 'a restart of jumps');
crashes('none', 'app', set_up => $_) foreach 'after => 1', 'worker_id => 2, instead_of => 1';

crashes('none', 'app', ends => 1);
crashes('all', 'app', ends => 1, without => 'the margin after a jump that was not finished');

# What can come twice, as the page says: a commit that waits for nothing, ahead of the clock; and a clock that is set back.
crashes('all', 'app', block => 60_000, synchronous_commit => 'off');
crashes('none', 'app', later => -10);
crashes('all', 'app', later => -13);

# A host where unlogged data survives: the second fence alone, and its 3 ms.
crashes('all', 'app', survives => 1, later => 2.9);
crashes('none', 'app', survives => 1, later => 3.1);
crashes('none', 'app', survives => 1, later => 3.1, block => 36_000);
crashes('all', 'app', survives => 1, later => 17, block => 36_000, without => 'the second fence');

# ---- a standby that is promoted at once, without the last commits ----

$clock->stop($tick += 100);
$node->append_conf('postgresql.conf', "wal_level = replica\nmax_wal_senders = 4");
$clock->under(sub { $node->restart });
leave_out($node, 'restored', 'the margin');
ids_of($node, $_, 1) foreach qw(app restored);
my $standby = $clock->under(sub { standby_of($node, 'standby') });
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->reload;
poll_until(sub { $node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_replication') eq '0' });
my %lost = map { ($_ => ids_of($node, $_, 50)) } qw(app restored);
$node->stop('immediate');
$standby->promote;
is(repeated($lost{app}, ids_of($standby, 'app', 100)), 0, 'a failover that loses commits: those at the clock do not come again');
cmp_ok(repeated($lost{restored}, ids_of($standby, 'restored', 100)), '>', 0, '... as they would without the margin');
$standby->stop;

# ---- a server that recovers quickly ----

my $folder = tempdir(-w '/dev/shm' ? (DIR => '/dev/shm') : (TMPDIR => 1));
my $quick = do {
	local $PostgreSQL::Test::Utils::tmp_check = $folder;
	edition_node('quick', 'shared_buffers = 1MB', 'max_connections = 8', 'superuser_reserved_connections = 0', 'max_wal_senders = 0', 'wal_level = minimal', 'max_worker_processes = 0',
		'max_prepared_transactions = 0', 'max_files_per_process = 64', 'recovery_init_sync_method = syncfs', "wal_writer_delay = '10s'", 'log_min_messages = panic', 'update_process_title = off',
		'log_connections = off', 'log_disconnections = off', 'log_replication_commands = off', 'huge_pages = off', 'jit = off')
};
$quick->append_conf('postgresql.conf', 'io_method = sync') if $quick->pg_version >= 18;
$quick->start;
landlords($quick);
put_in($quick, add_database($quick, $_), 'worker_id=1') foreach qw(app wide);
leave_out($quick, 'wide', 'the second fence');
# Else the first crash would have all that to read.
$quick->safe_psql('postgres', 'CHECKPOINT');

# Also where this program fails.
END
{
	local $?;
	$quick->stop('immediate', fail_ok => 1) if $quick;
	rmtree($folder) if $folder;
}

# A session by hand: psql takes longer to begin than the server to recover.
sub session
{
	my ($database) = @_;
	my $socket = eval { $quick->raw_connect } or return;
	my $start = pack 'N (Z*)4 x', 196608, user => 'landlord', database => $database;
	syswrite($socket, pack('N', 4 + length $start) . $start);
	return answer($socket) && $socket;
}

# The first columns of its rows; undefined after an error, with what the server says in $@.
sub answer
{
	my ($socket) = @_;
	my ($read, @rows) = ('');
	$@ = 'the connection is gone';
	while (1)
	{
		while (length $read > 4 && length $read > (my $length = unpack 'x N', $read))
		{
			my ($type, $body) = unpack "a x4 a@{[ $length - 4 ]}", $read;
			substr($read, 0, 1 + $length) = '';
			$@ = $body =~ tr/\0/ /r if $type eq 'E';
			return if $type eq 'E';
			return \@rows if $type eq 'Z';
			push @rows, unpack 'x2 N/a', $body if $type eq 'D';
		}
		sysread($socket, $read, 8192, length $read) or return;
	}
}

sub ask
{
	my ($socket, $sql) = @_;
	syswrite($socket, pack 'a N Z*', 'Q', 5 + length $sql, $sql);
	return answer($socket) // die "$sql: $@";
}

sub session_soon
{
	my ($database, $pause) = @_;
	my $session;
	return poll_until(sub { for (1 .. 100) { return $session if $session = session($database); usleep($pause) } }) || die 'the server does not come back';
}

# The same as above.  How many ids come again, and how many milliseconds after the block the first id was there.
sub try_quickly
{
	my ($database, $survives, $block) = @_;
	my ($victim, @others) = map { session_soon($database, 10_000) } 1 .. 4;
	my ($pid) = @{ ask($victim, 'SELECT pg_backend_pid()') };
	ask($_, 'SELECT uid_next(); SELECT uidgen.batch(1, 0)') foreach @others;
	my ($taker, $open, $committer) = @others;
	usleep(40_000);
	ask($open, 'BEGIN; SELECT 1');
	ask($taker, 'SELECT uid_next()');
	ask($taker, "SELECT uidgen.batch($block, 0)") if $block;
	my $begin = time;
	ask($open, 'SELECT uid_next() FROM generate_series(1, 40)');
	my @committed = @{ ask($committer, 'SELECT uid_next() FROM generate_series(1, 4); SELECT last_value FROM uidgen.jumps') };
	my $jumps = pop @committed;
	kill 'KILL', $pid;
	# Who begins before the server has noticed is ended, too.
	1 while sysread($open, my $said, 8192);
	# Whoever comes meanwhile is refused by a process of his own, which takes its time.
	usleep(4_000);
	my $restore = $survives ? "SELECT setval('uidgen.jumps', $jumps);" : '';
	my $session = session_soon($database, 500);
	my $first = ask($session, "$restore SELECT uid_next()");
	my $milliseconds = (time - $begin) * 1000;
	return (repeated(\@committed, [ $first->[-1] ], ask($session, 'SELECT uid_next() FROM generate_series(1, 100)')), $milliseconds);
}

my %KINDS = (
	'as it is' => [ 'app', 0 ],
	'where unlogged data survives' => [ 'app', 1 ],
	'without the second fence' => [ 'wide', 0 ],
	'with neither' => [ 'wide', 1 ]);
foreach my $fsync (qw(on off))
{
	$quick->append_conf('postgresql.conf', "fsync = $fsync");
	$quick->reload;
	my %did = map { $_ => { tries => 0, quick => 0, twice => 0, times => [] } } keys %KINDS;
	# On a slow machine there are few.
	my $end = time + 20 + 2 * $QUICK;
	while (time < $end && (my @kinds = grep { $did{$_}{quick} < $QUICK } sort keys %did))
	{
		foreach (@kinds)
		{
			my ($database, $survives) = @{ $KINDS{$_} };
			my ($twice, $time) = try_quickly($database, $survives, $database eq 'app' && rand() < 0.5 ? 0 : 36_000);
			my $did = $did{$_};
			$did->{tries}++;
			$did->{quick}++ if $time < 20;
			$did->{twice}++ if $twice;
			push @{ $did->{times} }, $time;
		}
	}
	foreach my $kind (sort keys %did)
	{
		my $did = $did{$kind};
		my $name = sprintf "fsync = $fsync, $kind: ids come again in %d of %d tries, %d of them within 20 ms, the quickest in %.1f ms", @$did{qw(twice tries quick)}, min(@{ $did->{times} });
	  SKIP:
		{
			skip "$name, which says nothing", 1 if !$did->{quick};
			# The control repeats ids in two of three of these.
			ok($kind ne 'with neither' ? $did->{twice} == 0 : $did->{twice} > 0 || $did->{quick} < 20, $name);
		}
	}
}
done_testing();
