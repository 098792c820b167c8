# A copy of a tracked table that is kept by the statement of docs/readers.md, "Changes", equals the table, row by row, when the last change
# was read: beside writers that insert, update, delete, change keys, swap, merge, move rows between partitions, roll back to savepoints, prepare
# and truncate, over a crash and a restart; on the primary, on a standby, behind a subscription, and in another database by the page's
# own reader in SQL.  Whoever reads without the horizon, by updated_at, or takes deletions in the order of changes has another copy.
#
# UIDGEN_CHANGES='--changes N' makes N changes.  Above 100,000 there is a crash and two restarts for each million, and writers beside the others
# that change hundreds of rows with each statement.
use strict;
use warnings;

use FindBin;
use Getopt::Long 'GetOptionsFromString';
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use Pages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX 'ceil';
use Test::More;
use Time::HiRes qw(time usleep);
use UidgenTest;

my $changes = 8_000;
GetOptionsFromString($ENV{UIDGEN_CHANGES} // '', 'changes=i' => \$changes) or die 'UIDGEN_CHANGES makes no sense';
my $is_long = $changes > 100_000;
my $keys = $is_long ? 5000 : 300;
# What one poll of most readers gets is this many times as much, and there are fewer polls.
my $more = $is_long ? 10 : 1;

my @conf = ('max_prepared_transactions = 100', 'max_connections = 100', "uidgen.window = '2s'", "log_statement = 'none'", "max_wal_size = '4GB'", 'restart_after_crash = on', 'deadlock_timeout = 50ms',
	"wal_retrieve_retry_interval = '500ms'", 'jit = off', 'autovacuum_naptime = 5s');
my $node = uidgen_node('main', @conf, 'wal_level = logical', 'max_wal_senders = 10', 'wal_receiver_status_interval = 1s');
$node->start;
my $subscriber = uidgen_node('subscriber', @conf);
$subscriber->start;

# ---- what the page has ----

my ($page) = slurp_file("$FindBin::RealBin/../../docs/readers.md") =~ /^(## Changes\n.*?)(?=^## )/ms;
my @blocks = map { $_->{text} } grep { $_->{kind} eq 'sql' } blocks_of($page);
my ($tracking) = grep { /uid_track_changes/ } @blocks;
my ($view) = grep { /CREATE VIEW item_changes/ } @blocks;
my ($reader) = grep { /dblink/ } @blocks;
my ($of_partitions) = $page =~ /`(r\.oid IN \(SELECT .*?)`/;
sub view_of_partitions { return $view =~ s/r\.oid IN \(.*?\)/$of_partitions/r }

# ---- the table ----

my $TABLE = <<'SQL';
SET client_min_messages = error;
CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_tools;
CREATE ROLE app LOGIN;
CREATE TABLE item (k integer, part integer NOT NULL DEFAULT 0, body text, touched timestamptz, g text GENERATED ALWAYS AS (body || k::text) STORED, PRIMARY KEY (k, part)) PARTITION BY LIST (part);
CREATE TABLE item_0 PARTITION OF item FOR VALUES IN (0); CREATE TABLE item_1 PARTITION OF item FOR VALUES IN (1);
SQL
my $TRACK = <<'SQL';
SET client_min_messages = error;
-- autovacuum may have the table
SET lock_timeout = '1min'; SET deadlock_timeout = '2min';
SELECT uid_track_changes('item', execute => true);
SQL
$TRACK .= view_of_partitions() =~ s/i\.id = c\.id/(i.k, i.part) = (c.k, c.part)/r =~ s/SELECT id, name, price/SELECT k, part, body/r =~ s/SELECT id, NULL, NULL/SELECT k, part, NULL/r;
$node->safe_psql('postgres', $TABLE . "INSERT INTO item (k, body) SELECT n, 'from before' FROM generate_series(1, $keys, 2) AS n;" . $TRACK . <<'SQL');
-- Applications have rights on the table alone.
GRANT SELECT, INSERT, UPDATE, DELETE ON item TO app;
-- As many have it.
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.touched := now(); RETURN NEW; END';
CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION touch();
-- Between the version and the check of the key, where another backend can come in; it was refused before the table was tracked.
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF random() < 0.02 THEN PERFORM pg_sleep(random() * 0.02); END IF; RETURN NEW; END';
CREATE TRIGGER "~v_slow" BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION slow();

-- Readers, each with a copy: the first time all that is final, and then what is new.
CREATE TABLE reader (name text PRIMARY KEY, first text, next text, last text, polls bigint NOT NULL DEFAULT 0, copies bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20);
CREATE TABLE copy (name text, k integer, part integer, body text, PRIMARY KEY (name, k, part)) WITH (fillfactor = 50);
CREATE FUNCTION follow(who text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	me reader;
	c record;
	n bigint := 0;
BEGIN
	SELECT * INTO me FROM reader WHERE name = who FOR UPDATE;
	IF me.last IS NULL THEN
		DELETE FROM copy WHERE name = who;
	END IF;
	FOR c IN EXECUTE CASE WHEN me.last IS NULL THEN me.first ELSE me.next END USING me.last LOOP
		IF c.k IS NULL AND me.last IS NOT NULL THEN		-- a mark
			UPDATE reader SET last = NULL WHERE name = who;
			RETURN 1;
		ELSIF c.gone THEN
			DELETE FROM copy WHERE name = who AND (copy.k, copy.part) = (c.k, c.part);
		ELSE
			INSERT INTO copy VALUES (who, c.k, c.part, c.body) ON CONFLICT (name, k, part) DO UPDATE SET body = excluded.body;
		END IF;
		n := n + 1;
	END LOOP;
	IF n > 0 THEN
		UPDATE reader SET last = c.changed, polls = polls + 1, copies = copies + (me.last IS NULL)::integer WHERE name = who;
	END IF;
	RETURN n;
END
$$;
CREATE PROCEDURE follow_to_end(who text) LANGUAGE plpgsql AS 'BEGIN WHILE follow(who) > 0 LOOP COMMIT; END LOOP; END';

-- The subscriber applies in one process what many write.
CREATE FUNCTION keep_pace() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_replication_slots AS s WHERE pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn) > 32000000) LOOP
		PERFORM pg_sleep(0.1);
	END LOOP;
END
$$;

-- What may fail by a key that is there already, also because of others.
CREATE FUNCTION try(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN unique_violation THEN
	NULL;
END
$$;
SQL

my $ALL = 'SELECT * FROM item_changes WHERE changed <= uid_horizon() ORDER BY changed';
my $NEXT = 'SELECT * FROM item_changes WHERE changed > $1::bigint AND changed <= uid_horizon() ORDER BY changed LIMIT %d';
# name => [first, next, options, whether its copy is right]
my %readers = (
	page => [ $ALL, sprintf($NEXT, 1000 * $more), '', 1 ],
	few => [ $ALL, sprintf($NEXT, 7), '', 1 ],
	repeatable => [ $ALL, sprintf($NEXT, 50 * $more), '-c default_transaction_isolation=repeatable\ read', 1 ],
	# by no index of the versions
	sequential => [ map({ s/\bchanged\b/changed + 0/gr } $ALL, sprintf($NEXT, 500 * $more)), '', 1 ],
	# joins in the middle
	late => [ $ALL, sprintf($NEXT, 1000 * $more), '', 1 ],
	# controls
	no_horizon => [ $ALL =~ s/ WHERE.*(?= ORDER)//r, sprintf($NEXT, 1000 * $more) =~ s/ AND changed <= uid_horizon\(\)//r, '', 0 ],
	updated_at => [ q{SELECT k, part, body, touched AS changed, false AS gone FROM item ORDER BY coalesce(touched, '-infinity')}, 'SELECT k, part, body, touched AS changed, false AS gone FROM item WHERE touched > $1::timestamptz ORDER BY touched', '', 0 ]);
$node->safe_psql('postgres', 'INSERT INTO reader (name, first, next) VALUES ' . join ', ', map { "('$_', \$q\$$readers{$_}[0]\$q\$, \$q\$$readers{$_}[1]\$q\$)" } sort keys %readers);

# The statement goes by both indexes, and ends with the LIMIT, whatever is known of the deleted keys: none is a row, or nearly all are.
foreach my $keys ('SELECT -n, 0 FROM generate_series(1, 20000) AS n', 'SELECT i.k, i.part FROM item AS i, generate_series(1, 50)')
{
	$node->safe_psql('postgres', "DELETE FROM item_deleted; INSERT INTO item_deleted (k, part) $keys; VACUUM ANALYZE item, item_deleted");
	ok($node->poll_query_until('postgres', 'SELECT coalesce(uid_horizon() >= max(changed), false) FROM item_deleted'), 'many deleted keys');
	my $plan = $node->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) $ALL LIMIT 10");
	like($plan, qr/Merge Append.*Index Scan using item_0_changed_idx.*Index Scan using item_deleted_pkey/s, '... the statement walks over the indexes of the versions');
	unlike($plan, qr/-> +Sort$|hashed/m, '... and neither sorts nor hashes');
}
$node->safe_psql('postgres', 'DELETE FROM item_deleted');

# ---- a standby, and a subscriber that tracks what it gets ----

my $standby = standby_of($node, 'standby');
$node->safe_psql('postgres', 'CREATE PUBLICATION items FOR TABLE item');
$subscriber->safe_psql('postgres', $TABLE);
$subscriber->safe_psql('postgres', $TRACK =~ s/(?=SELECT uid_track)/ALTER TABLE item ADD COLUMN changed bigint NOT NULL DEFAULT 0; /r);
$subscriber->safe_psql('postgres', sprintf q{CREATE SUBSCRIPTION items CONNECTION '%s' PUBLICATION items}, $node->connstr('postgres') =~ s/'/''/gr);

# Their readers are here, each with a copy of its own.
my %outside = (standby => { on => $standby, copies => 0, polls => 0 }, subscriber => { on => $subscriber, copies => 0, polls => 0 });
sub follow_outside
{
	my ($name) = @_;
	my $me = $outside{$name};
	my ($horizon, $lsn) = ('uid_horizon()');
	if ($name eq 'standby')
	{
		my ($status, $said) = try_psql($node, 'SELECT * FROM uid_horizon_lsn()');
		return 1 if $status != 0 || $said eq '|';
		($horizon, $lsn) = split /\|/, $said;
		$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") or die 'the standby does not come';
	}
	my ($status, $said) = try_psql($me->{on}, "SELECT k, part, body, changed, gone FROM item_changes WHERE changed <= $horizon" . (defined $me->{last} ? " AND changed > $me->{last} ORDER BY changed LIMIT " . 500 * $more : ' ORDER BY changed'));
	return 1 if $status != 0;
	if (!defined $me->{last})
	{
		$me->{copy} = {};
		$me->{copies}++;
	}
	my @rows = map { [ split /\|/, $_, -1 ] } split /\n/, $said;
	$me->{polls}++ if @rows;
	foreach (@rows)
	{
		my ($k, $part, $body, $changed, $gone) = @$_;
		if ($k eq '' && defined $me->{last})
		{
			$me->{last} = undef;
			return 1;
		}
		$gone eq 't' ? delete $me->{copy}{"$k|$part"} : ($me->{copy}{"$k|$part"} = $body);
	}
	$me->{last} = $rows[-1][3] if @rows;
	return scalar @rows;
}

# ---- without the horizon, or by updated_at, a change is lost ----

$node->safe_psql('postgres', <<'SQL');
SET client_min_messages = error;
CREATE TABLE early (id bigint PRIMARY KEY, name text, touched timestamptz DEFAULT now());
SELECT uid_track_changes('early', execute => true);
SQL
my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; INSERT INTO early VALUES (1, 'open')});
$node->safe_psql('postgres', q{INSERT INTO early VALUES (2, 'committed')});
my $SEEN = q{SELECT string_agg(name, ' ' ORDER BY %1$s), max(%1$s) FROM early WHERE %1$s > '%2$s' AND %3$s};
my %seen;
# In which order each one reads, from where on, and up to where.
my %early = (no_horizon => [ 'changed', 0, 'true' ], updated_at => [ 'touched', '-infinity', 'true' ], page => [ 'changed', 0, 'changed <= uid_horizon()' ]);
my $look = sub {
	foreach my $name (keys %early)
	{
		my ($names, $last) = split /\|/, $node->safe_psql('postgres', sprintf $SEEN, @{ $early{$name} });
		$seen{$name} = join ' ', grep { length } $seen{$name}, $names;
		$early{$name}[1] = $last if $last;
	}
	return join ', ', map { "$_: $seen{$_}" } sort keys %seen;
};
is($look->(), 'no_horizon: committed, page: , updated_at: committed', 'a change that is not committed holds the horizon back');
$open->query_safe('COMMIT');
$open->quit;
$node->poll_query_until('postgres', 'SELECT uid_horizon() >= max(changed) FROM early') or die 'the changes do not become final';
is($look->(), 'no_horizon: committed, page: open committed, updated_at: committed', '... and a reader without it, or by updated_at, loses what is committed later');

# ---- deletions in the order of changes are wrong ----

# The one who inserts is slow, and has its version; the other inserts the same key, deletes it, and has both committed.
$node->safe_psql('postgres', <<'SQL');
SET client_min_messages = error;
CREATE TABLE single (id bigint PRIMARY KEY, name text, price numeric);
SELECT uid_track_changes('single', execute => true);
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.name = 'slow' THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN NEW; END $$;
CREATE TRIGGER "~v_wait" BEFORE INSERT ON single FOR EACH ROW EXECUTE FUNCTION wait();
SQL
my $holder = $node->background_psql('postgres');
$holder->query_safe('SELECT pg_advisory_lock(1)');
my $slow = IPC::Run::start([ $node->installed_command('psql'), '-Xq', '-d', $node->connstr('postgres'), '-c', q{INSERT INTO single VALUES (1, 'slow')} ], '<', \undef);
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'INSERT INTO single%' AND wait_event = 'advisory'}) or die 'it does not wait';
$node->safe_psql('postgres', q{INSERT INTO single VALUES (1, 'quick')});
$node->safe_psql('postgres', q{DELETE FROM single WHERE id = 1});
$holder->query_safe('SELECT pg_advisory_unlock(1)');
$holder->quit;
$slow->finish;
$node->poll_query_until('postgres', 'SELECT uid_horizon() >= max(changed) FROM single_deleted');
$node->safe_psql('postgres', $view =~ s/\bitem/single/gr);
my $GONE = q{SELECT string_agg(CASE WHEN gone THEN 'gone' ELSE name END, ' ' ORDER BY changed) FROM %s AS c WHERE changed <= uid_horizon()};
is($node->safe_psql('postgres', sprintf $GONE, '(SELECT name, changed, false AS gone FROM single UNION ALL SELECT NULL, d.changed, true FROM single_deleted AS d)'), 'slow gone',
	'a row that is there can have a later deletion: who takes it in the order of changes loses the row');
is($node->safe_psql('postgres', sprintf $GONE, 'single_changes'), 'slow', '... and where the table has a row of its key the view of the page leaves it out');

# ---- a table that is rewritten behind a snapshot ----

# A first copy in a transaction that has its snapshot before: of the view without its last lines it gets the deleted keys alone, or the rows alone.
foreach my $partitioned ('', ' PARTITION BY RANGE (id)')
{
	$node->safe_psql('postgres', "SET client_min_messages = error; DROP TABLE IF EXISTS file, file_deleted CASCADE; DROP FUNCTION IF EXISTS file_deleted; CREATE TABLE file (id bigint PRIMARY KEY, name text, price numeric)$partitioned;"
		. ($partitioned && 'CREATE TABLE file_1 PARTITION OF file FOR VALUES FROM (1) TO (3); CREATE TABLE file_2 PARTITION OF file FOR VALUES FROM (3) TO (9);')
		. "SELECT uid_track_changes('file', execute => true); INSERT INTO file SELECT n FROM generate_series(1, 4) AS n; DELETE FROM file WHERE id = 4;"
		. ($partitioned ? view_of_partitions() : $view) =~ s/\bitem/file/gr . $view =~ s/\bitem_changes/file_without/r =~ s/\bitem/file/gr =~ s/\n\s*AND NOT EXISTS.*(?=;)//sr);
	my $session = $node->background_psql('postgres');
	foreach (map { [ $_, $partitioned ? 'a partitioned table' : 'a table' ] } 'file', 'file_deleted')
	{
		my ($table, $what) = @$_;
		$node->poll_query_until('postgres', "SELECT uid_horizon() >= max(changed) FROM file_changes") or die 'nothing is final';
		$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uid_horizon()');
		$node->safe_psql('postgres', "ALTER TABLE $table ADD COLUMN token uuid DEFAULT gen_random_uuid()");
		is($session->query_safe("SELECT (SELECT count(*) FROM file_without WHERE changed <= uid_horizon()), (SELECT count(*) FROM file_changes WHERE changed <= uid_horizon())"), $table eq 'file' ? '1|0' : '3|0',
			"$what: $table was rewritten behind a snapshot, and the view is empty");
		$session->query_safe('COMMIT');
		is($session->query_safe('SELECT count(*) FROM file_changes WHERE changed <= uid_horizon()'), '4', '... and the next snapshot sees all');
	}
	$session->quit;
}

# ---- those who write ----

my $folder = PostgreSQL::Test::Utils::tempdir();
my $SET = "\\set k random(1, $keys)\n\\set k2 random(1, $keys)\n\\set p random(0, 1)\n\\set b random(1, 1000000000)\n\\set ms random(0, 40)\n";
sub tried { my ($statement) = @_; return "SELECT try(format('" . $statement . "', :k, :p, :b, :k2));\n" }
my %writers = (
	insert => [ 2, "INSERT INTO item (k, part, body) VALUES (:k, :p, :b) ON CONFLICT DO NOTHING;\n" ],
	update => [ 5, "UPDATE item SET body = :b WHERE k = :k;\n" ],
	delete => [ 3, "DELETE FROM item WHERE k = :k;\n" ],
	key => [ 2, tried('UPDATE item SET k = %4$s, body = %3$s WHERE k = %1$s') ],
	conflict => [ 4, "INSERT INTO item (k, part, body) VALUES (:k, :p, :b) ON CONFLICT (k, part) DO UPDATE SET body = excluded.body, changed = excluded.changed;\n" ],
	merge => [ 3, tried('MERGE INTO item USING (VALUES (%1$s, %2$s, %3$s)) AS v (k, p, b) ON item.k = v.k AND item.part = v.p WHEN MATCHED AND v.b %% 7 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET body = b WHEN NOT MATCHED THEN INSERT (k, part, body) VALUES (v.k, v.p, v.b)') ],
	savepoint => [ 2, "BEGIN;\nUPDATE item SET body = :b WHERE k = :k;\nSAVEPOINT s;\nUPDATE item SET body = 'undone' WHERE k = :k;\nDELETE FROM item WHERE k = :k2;\nINSERT INTO item (k, part, body) VALUES (:k2, :p, 'undone') ON CONFLICT DO NOTHING;\nROLLBACK TO s;\nCOMMIT;\n" ],
	rollback => [ 2, "BEGIN;\nUPDATE item SET body = 'undone' WHERE k = :k;\nDELETE FROM item WHERE k = :k2;\nROLLBACK;\n" ],
	move => [ 2, tried('UPDATE item SET part = 1 - part, body = %3$s WHERE k = %1$s') ],
	replace => [ 2, tried('WITH d AS (DELETE FROM item WHERE k = %1$s AND part = %2$s RETURNING k) INSERT INTO item (k, part, body) SELECT d.k, 1 - %2$s, %3$s FROM d') ],
	delete_insert => [ 2, "BEGIN;\nDELETE FROM item WHERE k = :k AND part = :p;\nINSERT INTO item (k, part, body) VALUES (:k, :p, :b) ON CONFLICT DO NOTHING;\nCOMMIT;\n" ],
	insert_delete => [ 2, "BEGIN;\nINSERT INTO item (k, part, body) VALUES (:k, :p, :b) ON CONFLICT DO NOTHING;\nDELETE FROM item WHERE k = :k AND part = :p;\nCOMMIT;\n" ],
	nothing => [ 1, "UPDATE item SET body = body WHERE k = :k;\n" ],
	long => [ 3, "BEGIN;\nUPDATE item SET body = :b WHERE k = :k AND part = :p;\n\\sleep :ms ms\nDELETE FROM item WHERE k = :k2 AND part = :p;\nCOMMIT;\n" ],
	prepared => [ 2, "\\set gid random(1, 1000000000000000)\nBEGIN;\nUPDATE item SET body = :b WHERE k = :k AND part = :p;\nINSERT INTO item (k, part, body) VALUES (:k2, :p, :b) ON CONFLICT DO NOTHING;\nPREPARE TRANSACTION 'p:gid';\n\\sleep :ms ms\nCOMMIT PREPARED 'p:gid';\n" ],
	# each key once, so that what is lost is lost for good
	once => [ 6, "\\set new random(1000000, 2000000000)\nBEGIN;\nINSERT INTO item (k, part, body) VALUES (:new, :p, :b) ON CONFLICT DO NOTHING;\n\\sleep :ms ms\nCOMMIT;\n" ],
	gone_once => [ 2, "BEGIN;\nDELETE FROM item WHERE (k, part) IN (SELECT i.k, i.part FROM item AS i WHERE i.k >= 1000000 + :b % 1000000000 ORDER BY i.k LIMIT 1);\n\\sleep :ms ms\nCOMMIT;\n" ]);
# Of many rows, in the long mode: also with the sign of their key, and the partition, exchanged where the other one is free.
my $KEYS = 'k BETWEEN :k AND :k + 300';
my $SERIES = 'generate_series(:k, :k + 300) AS n';
my $FREE = 'NOT EXISTS (SELECT FROM item AS o WHERE (o.k, o.part) = (%s))';
my $SOME = 'abs(i.k) BETWEEN %1$s AND %1$s + 300';
my %many = (
	many_update => [ 8, "UPDATE item SET body = :b WHERE k BETWEEN :k AND :k + 700;\n" ],
	many_insert => [ 1, "INSERT INTO item (k, part, body) SELECT n, :p, :b FROM $SERIES ON CONFLICT DO NOTHING;\n" ],
	many_conflict => [ 5, "INSERT INTO item (k, part, body) SELECT n, :p, :b + n FROM $SERIES ON CONFLICT (k, part) DO UPDATE SET body = excluded.body;\n" ],
	many_delete => [ 3, "DELETE FROM item WHERE $KEYS AND part = :p;\n" ],
	many_merge => [ 3, tried('MERGE INTO item USING (SELECT n, %2$s, %3$s::bigint + n FROM generate_series(%1$s, %1$s + 300) AS n) AS v (k, p, b) ON item.k = v.k AND item.part = v.p WHEN MATCHED AND v.b %% 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET body = b WHEN NOT MATCHED THEN INSERT (k, part, body) VALUES (v.k, v.p, v.b)') ],
	many_savepoint => [ 3, "BEGIN;\nUPDATE item SET body = :b WHERE $KEYS;\nSAVEPOINT s;\nDELETE FROM item WHERE k BETWEEN :k AND :k + 50;\nINSERT INTO item (k, part, body) SELECT n, :p, 'undone' FROM generate_series(:k, :k + 50) AS n ON CONFLICT DO NOTHING;\nROLLBACK TO s;\nDELETE FROM item WHERE k BETWEEN :k AND :k + 25;\nCOMMIT;\n" ],
	many_rollback => [ 1, "BEGIN;\nUPDATE item SET body = 'undone' WHERE k BETWEEN :k AND :k + 50;\nDELETE FROM item WHERE $KEYS AND part = :p;\n\\sleep :ms ms\nROLLBACK;\n" ],
	many_key => [ 2, tried("UPDATE item AS i SET k = -k, body = %3\$s WHERE $SOME AND " . sprintf $FREE, '-i.k, i.part') ],
	many_move => [ 3, tried("UPDATE item AS i SET part = 1 - part, body = %3\$s WHERE $SOME AND " . sprintf $FREE, 'i.k, 1 - i.part') ],
	many_long => [ 2, "BEGIN;\nUPDATE item SET body = :b WHERE $KEYS;\n\\sleep :ms ms\nDELETE FROM item WHERE k BETWEEN :k AND :k + 100;\nCOMMIT;\n" ],
	many_prepared => [ 2, "\\set gid random(1, 1000000000000000)\nBEGIN;\nDELETE FROM item WHERE k BETWEEN :k AND :k + 20;\nINSERT INTO item (k, part, body) SELECT n, :p, :b FROM $SERIES ON CONFLICT (k, part) DO UPDATE SET body = excluded.body;\nPREPARE TRANSACTION 'p:gid';\n\\sleep :ms ms\nCOMMIT PREPARED 'p:gid';\n" ]);
append_to_file("$folder/$_", $SET . $writers{$_}[1]) foreach keys %writers;
append_to_file("$folder/$_", $SET . "SELECT keep_pace();\n" . $many{$_}[1]) foreach keys %many;
append_to_file("$folder/follow_$_", "SELECT follow('$_');\n") foreach keys %readers;
# By the owner alone, and seldom.
append_to_file("$folder/truncate", "\\set p random(0, 1)\n\\sleep " . 1500 * $more . " ms\nTRUNCATE item_:p;\n");

sub start_pgbench
{
	my ($role, $options, @args) = @_;
	local $ENV{PGOPTIONS} = $options;
	my $said = '';
	my $run = IPC::Run::start([ $node->installed_command('pgbench'), '-n', '-U', $role, '-h', $node->host, '-p', $node->port, @args, '--max-tries', 0, '-T', 1000000, 'postgres' ],
		'<', \undef, '>&', \$said);
	return { run => $run, said => \$said };
}
my $owner = $node->safe_psql('postgres', 'SELECT current_user');

sub start_writers
{
	# Beside those who write many rows the others do not take the whole machine.
	my @rate = $is_long ? ('-R', 100) : ();
	return (start_pgbench('app', '', '-c', 24, '-j', 2, @rate, map { ('-f', "$folder/$_\@$writers{$_}[0]") } sort keys %writers),
		start_pgbench('app', '', '-c', 6, @rate, map { ('-f', "$folder/$_\@$writers{$_}[0]") } qw(insert update delete conflict long once)),
		$is_long ? start_pgbench('app', '', '-c', 4, map { ('-f', "$folder/$_\@$many{$_}[0]") } sort keys %many) : (),
		start_pgbench($owner, '-c lock_timeout=0', '-c', 1, '-f', "$folder/truncate"));
}

sub start_readers
{
	return map { start_pgbench($owner, $readers{$_}[2], '-c', 1, '-R', !$is_long ? 60 : $_ eq 'few' ? 15 : 2, '-M', 'prepared', '-f', "$folder/follow_$_") } @_;
}

# Its output has to be taken before it is known.
sub has_ended
{
	my ($run) = @_;
	$run->pump_nb if $run->pumpable;
	return !$run->pumpable;
}

sub stop_all
{
	foreach my $bench (@_)
	{
		$bench->{run}->signal('TERM');
		eval { $bench->{run}->finish };
	}
	# What a client that ended has left others wait for.
	ok( poll_until(sub {
				try_psql($node, "ROLLBACK PREPARED '$_'") foreach split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
				return $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}) == 0;
			}), '... and all clients have ended');
	return;
}

# What was committed and has come to the subscriber, whose statistics no crash sets back.
sub made
{
	return $subscriber->safe_psql('postgres', q{SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE relname IN ('item_0', 'item_1')});
}

my @round = ('writers', 'a backend is killed', 'a restart', 'an immediate stop');
@round = (@round) x ceil($changes / 1_000_000) if $is_long;
my $base = made();
my $purged = time();
foreach my $n (0 .. $#round)
{
	my $what = $round[$n];
	my @names = grep { $n > 0 || $_ ne 'late' } sort keys %readers;
	# Three at a time, while the others are away.
	@names = @names[ map { ($n + $_) % @names } 0 .. 2 ] if $is_long;
	my @writing = start_writers();
	my @reading = start_readers(@names);
	ok( poll_until(sub {
			follow_outside($_) foreach sort keys %outside;
			if (time() > $purged + 10)
			{
				try_psql($_, q{SELECT uid_purge_deleted('item', now() - interval '10 s')}) foreach $node, $subscriber;
				$purged = time();
			}
			# The machine is the writers'.
			usleep(400_000) if $is_long;
			return made() - $base >= $changes * ($n + 1) / @round;
		}, 7200), "$what: rows are changed and read");
	foreach my $bench (@writing, @reading)
	{
		fail('... by all sessions') or diag(${ $bench->{said} }) if has_ended($bench->{run});
	}
	if ($what eq 'a backend is killed')
	{
		crash($node);
	}
	elsif ($what ne 'writers')
	{
		# What was written has to be sent to the subscriber before it ends.
		local $ENV{PGCTLTIMEOUT} = 600;
		$node->stop($what eq 'a restart' ? 'fast' : 'immediate');
		start_again($node);
	}
	stop_all(@writing, @reading);
}

# ---- the copies ----

my ($newest) = $node->safe_psql('postgres', 'SELECT max(changed) FROM item_changes');
ok($node->poll_query_until('postgres', "SELECT coalesce(uid_horizon() >= $newest, false)"), 'all changes are final');
note(made() - $base . ' changes; ' . $node->safe_psql('postgres', q{SELECT format('%s rows, %s deleted keys, %s marks, %s rows with a later deletion', (SELECT count(*) FROM item), count(*) FILTER (WHERE k IS NOT NULL), count(*) FILTER (WHERE k IS NULL),
	(SELECT count(*) FROM item AS i WHERE EXISTS (SELECT FROM item_deleted AS e WHERE (e.k, e.part) = (i.k, i.part) AND e.changed > i.changed))) FROM item_deleted}));
foreach my $name (sort keys %readers)
{
	local $ENV{PGOPTIONS} = $readers{$name}[2];
	$node->safe_psql('postgres', "CALL follow_to_end('$name')");
	my ($lost, $resurrected, $stale, $polls, $copies) = split /\|/, $node->safe_psql('postgres', qq{
		SELECT count(*) FILTER (WHERE c.k IS NULL), count(*) FILTER (WHERE i.k IS NULL), count(*) FILTER (WHERE c.body IS DISTINCT FROM i.body AND c.k IS NOT NULL AND i.k IS NOT NULL),
			(SELECT polls FROM reader WHERE name = '$name'), (SELECT copies FROM reader WHERE name = '$name')
			FROM (SELECT * FROM copy WHERE name = '$name') AS c FULL JOIN item AS i USING (k, part)});
	note("$name: lost $lost, resurrected $resurrected, stale $stale; $polls polls, of which $copies copied all");
	# What the others have lost may have been truncated, or copied anew, just before the end: see above.
	is("$lost $resurrected $stale", '0 0 0', "$name: the copy equals the table") if $readers{$name}[3];
}
cmp_ok($node->safe_psql('postgres', q{SELECT copies FROM reader WHERE name = 'page'}), '>', 1, 'marks have made readers copy anew');
$node->wait_for_catchup('items');
foreach my $name (sort keys %outside)
{
	my $me = $outside{$name};
	my $end = $me->{on}->safe_psql('postgres', 'SELECT max(changed) FROM item_changes');
	ok(poll_until(sub { follow_outside($name); return defined $me->{last} && $me->{last} == $end }), "$name: all is read");
	my %table = map { /^(-?\d+\|\d+)\|(.*)$/ } split /\n/, $me->{on}->safe_psql('postgres', 'SELECT k, part, body FROM item');
	my @wrong = grep { ($me->{copy}{$_} // 'none') ne ($table{$_} // 'none') } keys %table, keys %{ $me->{copy} };
	is("@wrong[0 .. ($#wrong < 5 ? $#wrong : 5)]", '', "... the copy of $me->{polls} polls, of which $me->{copies} copied all, equals the table of " . keys(%table) . ' rows');
}
my $ROWS = 'SELECT count(*), sum(hashtext(concat(k, part, body))::bigint) FROM item';
is($subscriber->safe_psql('postgres', $ROWS), $node->safe_psql('postgres', $ROWS), 'the subscriber has what the publisher has');
cmp_ok($subscriber->safe_psql('postgres', 'SELECT max(changed) FROM item'), '!=', $node->safe_psql('postgres', 'SELECT max(changed) FROM item'), '... with versions of its own');

# ---- purged keys ----

$node->safe_psql('postgres', q{UPDATE reader SET last = (SELECT min(changed) FROM item_deleted) WHERE name = 'few'; DELETE FROM item WHERE k < 50});
$node->poll_query_until('postgres', 'SELECT uid_horizon() >= max(changed) FROM item_deleted');
$node->safe_psql('postgres', q{CALL follow_to_end('page')});
cmp_ok($node->safe_psql('postgres', q{SELECT uid_purge_deleted('item', now() - interval '1 ms')}), '>', 0, 'deleted keys are purged');
my ($before) = $node->safe_psql('postgres', q{SELECT copies FROM reader WHERE name = 'page'});
foreach my $name (qw(page few))
{
	$node->safe_psql('postgres', "CALL follow_to_end('$name')");
	is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT k, part, body FROM copy WHERE name = '$name') AS c FULL JOIN item AS i USING (k, part) WHERE c.body IS DISTINCT FROM i.body"), '0',
		$name eq 'few' ? '... one that was away copies anew, and is right' : '... a reader that had read them goes on');
}
is($node->safe_psql('postgres', q{SELECT copies FROM reader WHERE name = 'page'}), $before, '... without another copy');
$standby->stop;
$subscriber->stop;

# ---- the page ----

# A new user copies a table into another database, as the page has it, while 30 sessions change it.
my $rows = $is_long ? 100_000 : 3000;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(shop copy);
$node->safe_psql('shop', "SET client_min_messages = error; SET lock_timeout = '1min'; SET deadlock_timeout = '2min'; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools; CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text NOT NULL, price numeric);
	INSERT INTO item (name, price) SELECT n, n FROM generate_series(1, $rows) AS n; $tracking; $view");
my $TO = sprintf "host '%s', port '%s', dbname 'shop'", $node->host, $node->port;
$node->safe_psql('copy', $reader =~ s/OPTIONS \(.*?\)/OPTIONS ($TO)/r);
my $SETS = "\\set n random(1, $rows)\n\\set ms random(0, 30)\n";
append_to_file("$folder/shop_$_->[0]", $SETS . $_->[1]) foreach (
	[ 'update', "UPDATE item SET price = price + 1 WHERE id = (SELECT id FROM item WHERE name = :n::text LIMIT 1);\n" ], [ 'insert', "BEGIN;\nINSERT INTO item (name) VALUES (:n);\n\\sleep :ms ms\nCOMMIT;\n" ],
	[ 'delete', "BEGIN;\nDELETE FROM item WHERE id = (SELECT max(id) FROM item);\n\\sleep :ms ms\nCOMMIT;\n" ]);
$node->safe_psql('shop', 'CREATE INDEX ON item (name)');
my $said = '';
my $writing = IPC::Run::start([ $node->installed_command('pgbench'), '-n', '-h', $node->host, '-p', $node->port, '-c', 30, '-j', 2, map({ ('-f', "$folder/shop_$_") } qw(update insert delete)), '--max-tries', 1000, '-t', $is_long ? 3000 : 30, 'shop' ], '<', \undef, '>&', \$said);
ok(poll_until(sub { $node->safe_psql('copy', 'CALL follow_item()'); return has_ended($writing) }, 3600), 'the reader of the page follows 30 writers');
$writing->finish;
my $LAST = $node->safe_psql('shop', 'SELECT max(changed) FROM item_changes');
ok(poll_until(sub { $node->safe_psql('copy', 'CALL follow_item()'); return $node->safe_psql('copy', 'SELECT last FROM item_place') eq $LAST }), '... to the last change');
my $SUM = 'SELECT count(*), sum(hashint8(id)::numeric), sum(hashtext(concat(id, name, price))::numeric) FROM item';
is($node->safe_psql('copy', $SUM), $node->safe_psql('shop', $SUM), '... and both tables are equal');
# Nobody knows the ids of what was prepared before the server started: until that ends, a copy that begins anew keeps its rows.
$node->safe_psql('shop', "BEGIN; INSERT INTO item (name) VALUES ('prepared'); PREPARE TRANSACTION 'before'");
$node->restart;
is($node->safe_psql('copy', "UPDATE item_place SET last = NULL; CALL follow_item(); SELECT last IS NULL FROM item_place; $SUM"), $node->safe_psql('shop', "SELECT uid_horizon() IS NULL; $SUM"), 'an empty answer, as by a null horizon, leaves the copy as it was');
$node->safe_psql('shop', "COMMIT PREPARED 'before'");
ok(poll_until(sub { $node->safe_psql('copy', 'CALL follow_item()'); return $node->safe_psql('copy', $SUM) eq $node->safe_psql('shop', $SUM) }), '... and it is made anew when the horizon is back');
note("pgbench: $said") if $said !~ /number of failed transactions: 0/;
note($node->safe_psql('shop', 'SELECT count(*) FROM item') . ' rows');

$node->stop;
done_testing();
