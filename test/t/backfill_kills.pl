# A table of old rows, of three years, gets ids of their own time by uid_backfill(), in batches that commit; the session is ended by
# kill -9, again and again, at any moment, while others draw live ids.  At the end each row has an id that is right to the millisecond.
# UIDGEN_BACKFILL='--rows N --kills N' makes it thorough.
# Promise: P1
# Kills: src/ids/backfill.c uidgen_backfill_id: stream->next = position + 1; => stream->next = position + 2;

use FindBin;
use Getopt::Long 'GetOptionsFromString';
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use Time::HiRes 'usleep';
use UidgenTest;

my ($rows, $kills) = (30_000, 3);
GetOptionsFromString($ENV{UIDGEN_BACKFILL} // '', 'rows=i' => \$rows, 'kills=i' => \$kills) or die 'UIDGEN_BACKFILL makes no sense';

my $node = uidgen_node('main', "uidgen.layout = 'default epoch:2022-01-01'", 'restart_after_crash = on', "max_wal_size = '8GB'", "checkpoint_timeout = '1h'", "log_statement = 'none'");
$node->start;
# Few rows would be done before they are looked at.
my $pause = $rows > 100_000 ? 0 : 0.03;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
await_keeper($node);
$node->safe_psql('postgres', "
	SELECT uidgen.accept_backfill(uidgen_registry.reserve_backfill(uidgen.backfill_home()));
	CREATE TABLE old (n bigint PRIMARY KEY, at timestamptz NOT NULL);
	SELECT setseed(0.5);
	-- 2022 to 2024; and one burst, of more rows than a few ticks have room for
	INSERT INTO old SELECT n, timestamptz '2022-01-01 UTC' + random() * interval '1095 days' FROM generate_series(1, $rows) AS n;
	INSERT INTO old SELECT $rows + n, '2023-05-05 05:05:05.005 UTC' FROM generate_series(1, 10000) AS n;
	CREATE INDEX ON old (at, n);
	ANALYZE old;
	CREATE TABLE new (id bigint PRIMARY KEY, n bigint UNIQUE, at timestamptz);
	CREATE TABLE live (id bigint PRIMARY KEY);
	CREATE PROCEDURE move(batch integer) LANGUAGE plpgsql AS \$\$
	DECLARE
		last new;
		moved integer;
	BEGIN
		LOOP
			SELECT * INTO last FROM new ORDER BY id DESC LIMIT 1;
			INSERT INTO new SELECT uid_backfill(s.at), s.n, s.at FROM (SELECT o.n, o.at FROM old AS o
				WHERE (o.at, o.n) > (coalesce(last.at, '-infinity'), coalesce(last.n, 0)) ORDER BY o.at, o.n LIMIT batch) AS s;
			GET DIAGNOSTICS moved = ROW_COUNT;
			COMMIT;
			EXIT WHEN moved < batch;
			PERFORM pg_sleep($pause);
		END LOOP;
	END
	\$\$;
	CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN PERFORM pg_sleep(3600); RETURN NULL; END \$\$;");
my $total = $rows + 10_000;
my @seen;
my $drawing = start_drawing($node);
my $batch = 1000;
my ($killed, @came) = 0;
# As far as it comes from one kill to the next, at most.
my $stretch = $total / ($kills + 1);
while ($killed < $kills)
{
	# There it stands still, within a batch, so that it is not over before it is killed.
	my $last = $node->safe_psql('postgres', 'SELECT n FROM old ORDER BY at, n OFFSET ' . int(($came[-1] // 0) + $stretch - rand($batch)) . ' LIMIT 1');
	$node->safe_psql('postgres', "CREATE TRIGGER stand_still BEFORE INSERT ON new FOR EACH ROW WHEN (NEW.n = $last) EXECUTE FUNCTION stand_still()");
	my $run = IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL move($batch)" ], '<', \undef, '>&', \my $said);
	# At least one batch, and all over the table; at any moment after that.
	my $least = ($came[-1] // 0) + $stretch / 2;
	poll_until(sub { !$run->pumpable || $node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT FROM new LIMIT 100000000) AS t') >= $least });
	usleep(rand(100_000) * ($rows > 100_000 ? 5 : 0.5));
	my $log = -s $node->logfile;
	kill 'KILL', $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL move%' AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state = 'active'});
	$run->finish;
	$killed++;
	await_recovery($node, $log);
	$node->safe_psql('postgres', 'DROP TRIGGER stand_still ON new');
	push @came, $node->safe_psql('postgres', 'SELECT count(*) FROM new');
	# The crash has ended those who draw.
	push @seen, @{ stop_drawing($drawing) };
	$drawing = start_drawing($node);
}
is(scalar(grep { $came[$_] >= $total || $_ && $came[$_] <= $came[ $_ - 1 ] } 0 .. $#came), 0, "broken off $killed times, at " . join(', ', @came));
my ($status, $out, $err) = $node->psql('postgres', "CALL move($batch)", timeout => 1800);
is($err, '', '... and it goes on to the end');
ok(await_drawing($drawing, 100), 'live ids are drawn meanwhile');
push @seen, @{ stop_drawing($drawing) };

is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id), count(DISTINCT n) FROM new'), "$total|$total|$total", 'each old row has an id, and no other one has it');
is($node->safe_psql('postgres', "SELECT count(*) FROM new WHERE n <= $rows AND uid_timestamp(id) <> date_trunc('milliseconds', at)"), '0', 'each has its time, to the millisecond');
is($node->safe_psql('postgres', "SELECT min(uid_timestamp(id) - at), max(uid_timestamp(id) - at) FROM new WHERE n > $rows"), '00:00:00|00:00:00.002', 'of a burst, what one tick has no room for is in the next ones');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT at, lag(at) OVER (ORDER BY id) AS former FROM new) AS t WHERE at < former'), '0', 'they are in the order of time');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT worker), bool_and(worker = (SELECT worker_id FROM uidgen.backfill)) FROM new, uid_parse(id)'), '1|t', '... under the worker id that is reserved');
my $forged = q{INSERT INTO uidgen.backfill SELECT 0, 1024, upto, asked, layout, registry, registry_database, home, reserved FROM uidgen.backfill};
fails_with($node, "BEGIN; $forged; SELECT uid_backfill(now() - interval '1 s')", '55000', qr/a row of uidgen\.backfill does not fit the layout/, 'a row of a worker id that the layout has no room for is refused');
my $file = PostgreSQL::Test::Utils::tempdir() . '/live';
append_to_file($file, join('', map { "$_\n" } @seen));
$node->safe_psql('postgres', "COPY live FROM '$file'");
is($node->safe_psql('postgres', 'SELECT count(*) FROM live JOIN new USING (id)'), '0', 'no live id is the same, of ' . scalar @seen);
is($node->safe_psql('postgres', 'SELECT count(*) FROM live, uid_parse(id) WHERE worker = (SELECT worker_id FROM uidgen.backfill)'), '0', '... or has that worker id');
note("$total rows, $killed kills at " . join(', ', @came) . '; ' . scalar(@seen) . ' live ids');

done_testing();
