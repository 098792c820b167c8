# Readers of each kind of plan, isolation and connection end at uid_horizon(), beside writers that commit late, roll back to savepoints,
# prepare, load or use ids of an earlier transaction.  Whoever reads without the horizon loses rows beside the same writers.
#
# UIDGEN_HORIZON='--rows N --faults' makes it thorough, with a round of faults for each 2 million rows.
#
# README.md and docs/readers.md name what the outbox of the manual lost, with the horizon and without: the note "outbox" of a run with
# UIDGEN_HORIZON='--rows 50000', which stands in docs/runs/outbox.txt.
# Promise: P8
# Kills: src/ids/horizon.c counts: (note->xmax < place->xmax || => (note->xmax <= place->xmax ||

use FindBin;
use Getopt::Long 'GetOptionsFromString';
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use FakeClock;
use POSIX 'ceil';
use Time::HiRes 'time';
use UidgenTest;

my ($rows, $faults) = (20_000);
GetOptionsFromString($ENV{UIDGEN_HORIZON} // '', 'rows=i' => \$rows, 'faults' => \$faults) or die 'UIDGEN_HORIZON makes no sense';

my $limit = 2000 + $rows / 200;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $node = uidgen_node('main', 'max_prepared_transactions = 100', 'max_connections = 100', "uidgen.window = '30s'", "log_statement = 'none'", 'restart_after_crash = on',
	'synchronous_commit = off', 'autovacuum_naptime = 1s', "max_wal_size = '8GB'");
my $clock = FakeClock->new($node);
$clock->under(sub { $node->start });
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen;
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), kind text);
CREATE TABLE reader (name text PRIMARY KEY, last bigint NOT NULL DEFAULT 0, n bigint NOT NULL DEFAULT 0, sum numeric NOT NULL DEFAULT 0,
	polls bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20);
CREATE TABLE refused (id bigint);

-- Ids that are drawn in one transaction, and stored in later ones.
CREATE PROCEDURE held() LANGUAGE plpgsql AS $$
DECLARE
	ids bigint[] := ARRAY(SELECT uid_next_batch(5));
	one bigint;
BEGIN
	COMMIT;
	PERFORM pg_sleep(random() * 0.05);
	FOREACH one IN ARRAY ids LOOP
		BEGIN
			INSERT INTO event VALUES (uid_hold(one), 'held');
		EXCEPTION WHEN serialization_failure THEN
			INSERT INTO refused VALUES (one);	-- readers have passed it
		END;
		COMMIT;
	END LOOP;
END
$$;
CREATE PROCEDURE committing() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 5 LOOP
		INSERT INTO event (kind) VALUES ('procedure');
		PERFORM pg_sleep(random() * 0.01);
		INSERT INTO event (kind) VALUES ('procedure');
		COMMIT;
	END LOOP;
END
$$;
-- Goes on where it was, by a cursor.
CREATE FUNCTION poll_by_cursor() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	me reader;
	c refcursor;
	found_id bigint;
BEGIN
	SELECT * INTO me FROM reader WHERE name = 'cursor' FOR UPDATE;
	OPEN c FOR SELECT id FROM event WHERE id > me.last AND id <= uid_horizon() ORDER BY id LIMIT 10000;
	LOOP
		FETCH c INTO found_id;
		EXIT WHEN NOT FOUND;
		me.last := found_id;
		me.n := me.n + 1;
		me.sum := me.sum + hashint8(found_id);
	END LOOP;
	CLOSE c;
	UPDATE reader SET last = me.last, n = me.n, sum = me.sum, polls = polls + 1 WHERE name = 'cursor';
END
$$;
SQL

sub script
{
	my ($name, $text) = @_;
	append_to_file("$folder/$name", $text);
	return "$folder/$name";
}

# ---- those who read ----

sub poll
{
	my ($name, $until) = @_;
	return "WITH place AS MATERIALIZED (SELECT last FROM reader WHERE name = '$name'),
	found AS MATERIALIZED (SELECT e.id FROM event AS e WHERE e.id > (SELECT last FROM place) $until ORDER BY e.id LIMIT $limit)
	UPDATE reader SET last = greatest(last, (SELECT max(id) FROM found)), n = n + (SELECT count(*) FROM found),
		sum = sum + coalesce((SELECT sum(hashint8(id)) FROM found), 0), polls = polls + 1 WHERE name = '$name';\n" =~ s/\s*\n\s*/ /gr . "\n";
}
sub outbox
{
	my ($name, $until) = @_;
	return "BEGIN;\nSELECT FROM reader WHERE name = '$name' FOR UPDATE;\n" . "WITH new AS (
		SELECT e.* FROM event AS e, reader AS p WHERE p.name = '$name' AND e.id > p.last $until ORDER BY e.id LIMIT $limit),
	moved AS (
		UPDATE reader SET last = (SELECT max(id) FROM new), n = n + (SELECT count(*) FROM new), sum = sum + (SELECT sum(hashint8(id)) FROM new), polls = polls + 1
			WHERE name = '$name' AND EXISTS (SELECT FROM new))
	SELECT count(*) FROM new;" =~ s/\s*\n\s*/ /gr . "\nCOMMIT;\n";
}
my $UNTIL = 'AND e.id <= uid_horizon()';
my $CONTROL = qr/^(?:control|plain_outbox)$/;
my @retry = ('--max-tries', 0, '-T', 1000000);
my %readers = (
	simple => [ poll('simple', $UNTIL), '', '-M', 'simple' ],
	prepared => [ poll('prepared', $UNTIL), '', '-M', 'prepared' ],
	generic => [ poll('generic', $UNTIL), '-c plan_cache_mode=force_generic_plan', '-M', 'prepared' ],
	repeatable => [ poll('repeatable', $UNTIL), '-c default_transaction_isolation=repeatable\ read', '-M', 'prepared' ],
	serializable => [ poll('serializable', $UNTIL), '-c default_transaction_isolation=serializable', '-M', 'simple' ],
	sequential => [ poll('sequential', $UNTIL), '-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off', '-M', 'prepared' ],
	cursor => [ "SELECT poll_by_cursor();\n", '', '-M', 'simple' ],
	own_xid => [ "BEGIN;\nUPDATE reader SET polls = polls + 1 WHERE name = 'own_xid';\n" . poll('own_xid', $UNTIL) . "COMMIT;\n", '', '-M', 'simple' ],
	connecting => [ poll('connecting', $UNTIL), '', '-C' ],
	# as docs/readers.md has it, and as many have it
	outbox => [ outbox('outbox', $UNTIL), '', '-M', 'simple' ],
	plain_outbox => [ outbox('plain_outbox', ''), '', '-M', 'simple' ],
	# loses rows
	control => [ poll('control', ''), '', '-M', 'prepared' ]);
script($_, $readers{$_}[0]) foreach keys %readers;

# ---- those who write ----

my %writers = (
	automatic => [ 20, "INSERT INTO event (kind) VALUES ('automatic');\n" ],
	long => [ 6, "\\set ms random(1, 150)\nBEGIN;\nINSERT INTO event (kind) VALUES ('long');\n\\sleep :ms ms\nINSERT INTO event (kind) VALUES ('long');\nCOMMIT;\n" ],
	savepoint => [ 6, "BEGIN;\nINSERT INTO event (kind) VALUES ('savepoint');\nSAVEPOINT a;\nINSERT INTO event (kind) VALUES ('undone');\nROLLBACK TO a;\nINSERT INTO event (kind) VALUES ('savepoint');\nCOMMIT;\n" ],
	rollback => [ 4, "BEGIN;\nINSERT INTO event (kind) VALUES ('undone');\nROLLBACK;\n" ],
	prepared => [ 4, "\\set gid random(1, 1000000000000000)\n\\set ms random(1, 50)\nBEGIN;\nINSERT INTO event (kind) VALUES ('prepared');\nPREPARE TRANSACTION 'p:gid';\n\\sleep :ms ms\nCOMMIT PREPARED 'p:gid';\n" ],
	many => [ 4, "INSERT INTO event (kind) SELECT 'many' FROM generate_series(1, 30);\n" ],
	copied => [ 1, "COPY event (kind) FROM PROGRAM 'echo a; echo b; sleep 0.02; echo c';\n" ],
	procedure => [ 2, "CALL committing();\n" ],
	held => [ 4, "CALL held();\n" ]);
script("write_$_", $writers{$_}[1]) foreach keys %writers;
my @weighted = map { ('-f', "$folder/write_$_\@$writers{$_}[0]") } sort keys %writers;

sub start_pgbench
{
	my ($options, @args) = @_;
	local $ENV{PGOPTIONS} = $options;
	my $said = '';
	my $run = IPC::Run::start([ $node->installed_command('pgbench'), '-n', '-h', $node->host, '-p', $node->port, @args, 'postgres' ],
		'<', \undef, '>&', \$said);
	return { run => $run, said => \$said };
}

sub start_readers
{
	return map { my ($text, $options, @args) = @{ $readers{$_} }; my $name = $_; { name => $name, %{ start_pgbench($options, '-f', "$folder/$name", '-c', 1, '-R', 300, @args, @retry) } } }
	  sort keys %readers;
}

sub start_writers
{
	return (start_pgbench('', '-c', 26, '-j', 2, '-M', 'simple', @weighted, @retry), start_pgbench('', '-c', 4, '-M', 'prepared',
			'-f', "$folder/write_automatic\@8", '-f', "$folder/write_long\@2", '-f', "$folder/write_savepoint\@2", @retry));
}

sub stop_pgbench
{
	foreach my $bench (@_)
	{
		$bench->{run}->signal('TERM');
		$bench->{run}->finish;
	}
	return;
}

$node->safe_psql('postgres', "INSERT INTO reader (name) VALUES " . join(', ', map { "('$_')" } sort keys %readers));
# More rows are more rounds of faults, not longer ones.
my @round = ('writers', $faults ? ('a backend is killed', 'a restart', 'an immediate stop', 'steps of the clock') : ());
my @parts = (@round) x ($faults ? ceil($rows / 2_000_000) : 1);
my $wanted = 0;

# What a transaction writes that stays open until the readers that lose rows are past it.
sub lose_row
{
	my $open = $node->background_psql('postgres');
	my ($id) = $open->query_safe("BEGIN; INSERT INTO event (kind) VALUES ('open') RETURNING id") =~ /(\d+)/;
	ok($node->poll_query_until('postgres', "SELECT bool_and(last > $id) FROM reader WHERE name IN ('control', 'plain_outbox')"), 'who reads without the horizon goes past an open transaction');
	$open->query_safe('COMMIT');
	$open->quit;
	return;
}
foreach my $what (@parts)
{
	$wanted += $rows / @parts;
	my @writing = start_writers();
	my @reading = start_readers();
	lose_row() if $wanted == $rows / @parts;
	# Counted by a reader, since a scan of the table takes ever longer.
	my $steps = 0;
	ok( poll_until(sub {
			# Ids go on ahead of a clock that is set back by less than uidgen.max_ahead; readers wait for it.
			$clock->step($steps++ % 2 ? 2 : -2) if $what =~ /clock/ && $steps < 40;
			return $node->safe_psql('postgres', "SELECT n FROM reader WHERE name = 'simple'") >= $wanted;
		}, 3600), "$what: rows are written and read");
	my ($running) = grep { !$_->{run}->pumpable } @reading;
	ok(!$running, '... by all readers') or diag("$running->{name}: ${ $running->{said} }");
	if ($what eq 'a backend is killed')
	{
		crash($node);
		stop_pgbench(@writing, @reading);
	}
	elsif ($what =~ /restart|stop/)
	{
		$node->stop($what =~ /restart/ ? 'fast' : 'immediate');
		stop_pgbench(@writing, @reading);
		$clock->under(sub { $node->start });
	}
	else
	{
		stop_pgbench(@writing);
		stop_pgbench(grep { $_->{name} =~ /$CONTROL/ } @reading);
		stop_pgbench(grep { $_->{name} !~ /$CONTROL/ } @reading);
	}
	# A poll that goes on without its client would be counted with the next one.
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}),
		'... and all have ended');
	# What a client that ended has left
	$node->safe_psql('postgres', "ROLLBACK PREPARED '$_'") foreach split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM uidgen.horizon_holders'), '0', '... and nobody holds the horizon');
	my $newest = $node->safe_psql('postgres', 'SELECT max(id) FROM event');
	ok($node->poll_query_until('postgres', "SELECT uid_horizon() >= $newest"), '... which passes all ids');
}

foreach my $name (sort keys %readers)
{
	my ($text, $options, @args) = @{ $readers{$name} };
	my $last = -1;
	while ((my $now = $node->safe_psql('postgres', "SELECT last FROM reader WHERE name = '$name'")) != $last)
	{
		$last = $now;
		my $bench = start_pgbench($options, '-f', "$folder/$name", '-c', 1, '-t', 10, grep { $_ ne '-C' } @args);
		$bench->{run}->finish;
	}
}
my ($count, $sum) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*), sum(hashint8(id)::numeric) FROM event');
note("$count rows: " . $node->safe_psql('postgres', q{SELECT string_agg(kind || ' ' || n, ', ') FROM (SELECT kind, count(*) AS n FROM event GROUP BY kind ORDER BY 2 DESC) AS k}));
my $lost_outbox;
foreach my $name (sort keys %readers)
{
	my ($n, $its_sum, $polls) = split /\|/, $node->safe_psql('postgres', "SELECT n, sum, polls FROM reader WHERE name = '$name'");
	note("$name: $n rows in $polls polls, lost " . ($count - $n));
	if ($name =~ /$CONTROL/)
	{
		$lost_outbox = $count - $n if $name eq 'plain_outbox';
		cmp_ok($n, '<', $count, "$name: who reads without the horizon loses rows");
		next;
	}
	is("$n $its_sum", "$count $sum", "$name: no row is lost, and none comes twice");
}
is($node->safe_psql('postgres', q{SELECT count(DISTINCT kind) FROM event WHERE kind IN ('automatic', 'long', 'savepoint', 'prepared', 'many', 'procedure', 'a')}), '7',
	'all kinds of writers have written');
cmp_ok($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM event WHERE kind = 'held') + (SELECT count(*) FROM refused)}), '>', 0, '... or were refused');

# As the pages write it.
sub told
{
	my ($rows, $lost) = @_;
	return map { 1 while s/^(\d+)(\d{3})/$1,$2/; $_ } "$rows", "$lost", sprintf('%.0f', 100 * $lost / $rows);
}
note(sprintf 'outbox: of %s rows, a plain reader lost %s (%s %%), and one that ends at uid_horizon() 0', told($count, $lost_outbox));
{
	my @figures = slurp_file("$FindBin::RealBin/../../docs/runs/outbox.txt") =~ /^# outbox: of (\S+) rows, a plain reader lost (\S+) \((\d+) %\), and one that ends at uid_horizon\(\) 0$/m;
	ok(@figures && slurp_file("$FindBin::RealBin/../../$_") =~ s/\s+/ /gr =~ /$figures[0] rows.{1,200}\b$figures[1] \($figures[2] %\)/, "$_ names the figures of docs/runs/outbox.txt") foreach qw(README.md docs/readers.md);
	# With the words of another language between them
	ok(@figures && slurp_file("$FindBin::RealBin/../../README.zh-CN.md") =~ s/\s+/ /gr =~ /$figures[0] .{1,300}\| $figures[1] \($figures[2] %\)/, 'README.zh-CN.md, too');
}

done_testing();
