# Readers on a standby, and behind a subscription, that go on by id.  uid_horizon_lsn() on the primary tells up to which id,
# and up to which position in the WAL the standby has to have replayed.  Beside many writers whose standby is late they lose no
# row and get none twice; whoever does not wait loses rows beside the same writers.  The position is one that the standby
# reaches, though nobody writes any more, also at the end of a page of the WAL.

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use Time::HiRes 'time';
use UidgenTest;

my $rows = $ENV{UIDGEN_STANDBY_ROWS} // 20_000;
my $folder = PostgreSQL::Test::Utils::tempdir();

my ($standby, $subscriber);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 'logical');
# Nothing is flushed but by whoever commits in time, or by the function.
$primary->append_conf('postgresql.conf', join "\n", preload(), "log_statement = 'none'", 'max_connections = 60', 'max_prepared_transactions = 50', 'synchronous_commit = off',
	"wal_writer_delay = '10s'", 'wal_writer_flush_after = 0', 'autovacuum = off', "checkpoint_timeout = '1h'", "bgwriter_delay = '10s'", '');
$primary->start;
$primary->backup('backup');
$standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = '50ms'\nmax_standby_streaming_delay = -1\n");
$standby->start;

# Everything that is written by now is on the standby, and behind the subscription.
sub all_replayed
{
	my $lsn = $primary->safe_psql('postgres', 'CREATE TEMP TABLE t (); SELECT pg_current_wal_lsn()');
	return $standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'")
	  && $primary->poll_query_until('postgres', "SELECT bool_and(confirmed_flush_lsn >= '$lsn') FROM pg_replication_slots WHERE slot_type = 'logical'");
}

$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), kind text);
CREATE TABLE horizon_mark (horizon bigint);
-- As docs/readers.md has it
CREATE PROCEDURE await_replay(lsn pg_lsn) LANGUAGE plpgsql AS $$
BEGIN
	WHILE pg_last_wal_replay_lsn() < lsn LOOP
		PERFORM pg_sleep(0.005);
	END LOOP;
END
$$;
SQL
$subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE TABLE event (id bigint PRIMARY KEY, kind text); CREATE TABLE horizon_mark (horizon bigint)');
$primary->safe_psql('postgres', 'CREATE PUBLICATION events FOR TABLE event, horizon_mark');
$subscriber->safe_psql('postgres', sprintf q{CREATE SUBSCRIPTION events CONNECTION 'host=%s port=%s dbname=postgres' PUBLICATION events}, $primary->host, $primary->port);
$subscriber->wait_for_subscription_sync($primary, 'events');
ok(all_replayed(), 'the standby has all');

fails_with($standby, 'SELECT * FROM uid_horizon_lsn()', '55000', qr/not known during recovery/, 'a standby does not know the horizon itself');

# ---- writers ----

my %writers = (
	automatic => [ 10, "INSERT INTO event (kind) VALUES ('automatic');\n" ],
	long => [ 6, "\\set ms random(1, 100)\nBEGIN;\nINSERT INTO event (kind) VALUES ('long');\n\\sleep :ms ms\nINSERT INTO event (kind) VALUES ('long');\nCOMMIT;\n" ],
	synchronous => [ 4, "BEGIN;\nSET LOCAL synchronous_commit = on;\nINSERT INTO event (kind) VALUES ('synchronous');\nCOMMIT;\n" ],
	savepoint => [ 4, "BEGIN;\nINSERT INTO event (kind) VALUES ('savepoint');\nSAVEPOINT a;\nINSERT INTO event (kind) VALUES ('undone');\nROLLBACK TO a;\nCOMMIT;\n" ],
	rollback => [ 2, "BEGIN;\nINSERT INTO event (kind) VALUES ('undone');\nROLLBACK;\n" ],
	prepared => [ 3, "\\set gid random(1, 1000000000000000)\n\\set ms random(1, 50)\nBEGIN;\nINSERT INTO event (kind) VALUES ('prepared');\nPREPARE TRANSACTION 'p:gid';\n\\sleep :ms ms\nCOMMIT PREPARED 'p:gid';\n" ],
	many => [ 2, "INSERT INTO event (kind) SELECT 'many' FROM generate_series(1, 30);\n" ]);
append_to_file("$folder/$_", $writers{$_}[1]) foreach keys %writers;
my $said = '';
my $writing = IPC::Run::start([ $primary->installed_command('pgbench'), '-n', '-h', $primary->host, '-p', $primary->port, '-c', 20, '-j', 2, '-R', 500, '-T', 1000000, '-M', 'simple',
		(map { ('-f', "$folder/$_\@$writers{$_}[0]") } sort keys %writers), 'postgres' ], '<', \undef, '>&', \$said);

# ---- readers ----

my $is_19 = $primary->safe_psql('postgres', q{SELECT current_setting('server_version_num')::integer >= 190000}) eq 't';
my %session = map { $_->name => $_->background_psql('postgres') } $primary, $standby, $subscriber;
sub ask { my ($node, $sql) = @_; return $session{ $node->name }->query_safe($sql); }

# How each one reads: where, and what it waits for.
my %readers = (
	'a loop' => [ $standby, sub { ask($standby, "CALL await_replay('$_[1]')") } ],
	$is_19 ? ('WAIT FOR LSN' => [ $standby, sub { ask($standby, "WAIT FOR LSN '$_[1]'") } ]) : (),
	'a mark' => [ $subscriber, sub {
			# In one statement, the horizon is that of a snapshot from before this commit, which comes last.
			my $mark = ask($primary, 'INSERT INTO horizon_mark SELECT uid_horizon() RETURNING horizon');
			return poll_until(sub { ask($subscriber, "SELECT count(*) FROM horizon_mark WHERE horizon = $mark") > 0 }) ? $mark : die 'the mark did not come';
		} ],
	'the slot' => [ $subscriber, sub {
			my ($horizon, $lsn) = @_;
			poll_until(sub { ask($primary, "SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = 'events'") eq 't' }) or die 'the subscription does not come there';
		} ],
	'not at all' => [ $standby, sub { } ],
	'not at all, behind a subscription' => [ $subscriber, sub { } ]);
my %place = map { $_ => { last => 0, n => 0, sum => 0, polls => 0 } } keys %readers;

sub poll
{
	my ($name) = @_;
	my ($where, $waits) = @{ $readers{$name} };
	my $me = $place{$name};
	my ($horizon, $lsn) = split /\|/, ask($primary, 'SELECT * FROM uid_horizon_lsn()');
	return if ($horizon // '') eq '';
	my $other = $waits->($horizon, $lsn);
	$horizon = $other if $name eq 'a mark';
	my ($n, $sum, $last) = split /\|/, ask($where, "SELECT count(*), coalesce(sum(hashint8(id)::bigint), 0), coalesce(max(id), $me->{last}) FROM event WHERE id > $me->{last} AND id <= $horizon");
	$me->{n} += $n;
	$me->{sum} += $sum;
	# Whoever goes on by the rows that it has seen, and not by what it was told, loses no more than that.
	$me->{last} = $last;
	$me->{polls}++;
	return;
}

my $until = time() + 1800;
while (time() < $until && $place{'a loop'}{n} < $rows)
{
	poll($_) foreach sort keys %readers;
}
cmp_ok($place{'a loop'}{n}, '>=', $rows, 'rows are written and read');
ok($writing->pumpable, '... by all writers') or diag($said);

# A transaction is committed while the standby, which has a later row, does not replay.
my $early = $primary->background_psql('postgres');
$early->query_safe("BEGIN; INSERT INTO event (kind) VALUES ('early')");
my $later = $primary->safe_psql('postgres', "INSERT INTO event (kind) VALUES ('later') RETURNING id");
$standby->poll_query_until('postgres', "SELECT count(*) > 0 FROM event WHERE id = $later") or die 'the standby does not come';
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', 'SELECT pg_get_wal_replay_pause_state()', 'paused') or die 'the standby does not pause';
$early->query_safe('COMMIT');
$early->quit;
ok(poll_until(sub { poll('not at all'); $place{'not at all'}{last} >= $later }), 'whoever does not wait reads what the standby has');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');

# Records of a transaction that goes on are the last ones, and nobody flushes them.
my $open = $primary->background_psql('postgres');
$writing->signal('TERM');
$writing->finish;
$primary->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'});
$primary->safe_psql('postgres', "ROLLBACK PREPARED '$_'") foreach split /\n/, $primary->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
my $newest = $primary->safe_psql('postgres', 'SELECT max(id) FROM event');
$primary->poll_query_until('postgres', "SELECT uid_horizon() >= $newest");
$open->query_safe('BEGIN; CREATE TEMP TABLE t ()');
# Again, where the server has just written what it does now and then, and flushed it.
ok( poll_until(
		sub {
			$open->query_safe('INSERT INTO horizon_mark SELECT 0 FROM generate_series(1, 3)');
			return $primary->safe_psql('postgres', q{SELECT pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()}) eq 't';
		}),
	'some of the WAL is not flushed');
my ($horizon, $lsn) = split /\|/, $primary->safe_psql('postgres', 'SELECT * FROM uid_horizon_lsn()');
is($primary->safe_psql('postgres', "SELECT pg_current_wal_flush_lsn() >= '$lsn'"), 't', '... and then it is');
ok($standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'"), 'a standby comes there, though nobody commits');
$open->query_safe('ROLLBACK');
$open->quit;

foreach my $name (sort keys %readers)
{
	my $last = -1;
	while ($last != $place{$name}{last})
	{
		$last = $place{$name}{last};
		poll($name);
	}
	# Those who did not wait meet what they have not lost.
	all_replayed();
	poll($name);
}
my ($count, $sum) = split /\|/, $primary->safe_psql('postgres', 'SELECT count(*), sum(hashint8(id)::bigint) FROM event');
foreach my $name (sort keys %readers)
{
	my $me = $place{$name};
	note("$name: $me->{n} of $count rows in $me->{polls} polls, lost " . ($count - $me->{n}));
	next if $name =~ /^not/;
	is("$me->{n} $me->{sum}", "$count $sum", "whoever waits by $name loses no row, and gets none twice");
}
cmp_ok($place{'not at all'}{n}, '<', $count, 'whoever does not wait for the standby loses rows');

# ---- the end of a page ----

# Emit messages until the last record ends with a page of the WAL.
$primary->safe_psql('postgres', q{
CREATE PROCEDURE fill_page() LANGUAGE plpgsql AS $$
DECLARE
	before pg_lsn;
	size integer := 100;
BEGIN
	FOR i IN 1 .. 1000 LOOP
		before := pg_current_wal_insert_lsn();
		PERFORM pg_logical_emit_message(false, 'test', repeat('x', size));
		EXIT WHEN (pg_current_wal_insert_lsn() - '0/0'::pg_lsn) % 8192 = 24;
		-- What is left of the page, less what a record has besides
		size := (8192 - (pg_current_wal_insert_lsn() - '0/0'::pg_lsn) % 8192 - 56)::integer;
		IF size < 300 THEN
			size := 300;
		ELSE
			size := size - (i % 16);
		END IF;
	END LOOP;
END
$$});
my $found;
for my $try (1 .. 20)
{
	my $at = $primary->safe_psql('postgres', 'CALL fill_page(); SELECT pg_current_wal_insert_lsn(), (pg_current_wal_insert_lsn() - $$0/0$$::pg_lsn) % 8192, h.lsn, (h.lsn - $$0/0$$::pg_lsn) % 8192, pg_current_wal_insert_lsn() FROM uid_horizon_lsn() AS h');
	my ($insert, $offset, $lsn_there, $its_offset, $insert_after) = split /\|/, $at;
	next unless $offset == 24 && $insert eq $insert_after;
	my $reached = $standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn_there'");
	my $beyond = $standby->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() >= '$insert'");
	# Again, where the server has gone on by itself, as it does now and then.
	next if $reached && $primary->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()') ne $insert;
	$found = 1;
	is($its_offset, '0', 'where the last record ends with its page, the position is there');
	ok($reached, '... which a standby reaches');
	is($beyond, 'f', '... where the next record would begin it does not');
	last;
}
ok($found, 'the end of a page was met');

$_->quit foreach values %session;
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION events');
done_testing();
