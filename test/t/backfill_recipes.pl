# docs/backfilling.md and companion_column.sql as they stand: their blocks are run one after the other on parents and children, which keep who belongs to
# whom, and whose ids have their time to the millisecond.  What goes on for long is broken off by kill -9 and goes on where it was;
# beside the batches others write; and the ways back lead back.
#
# UIDGEN_RECIPES is how many rows each table has.

use FindBin;
use IPC::Run;
use lib "$FindBin::RealBin/../perl";
use Pages;
use UidgenTest;

my $rows = $ENV{UIDGEN_RECIPES} // 20_000;
# As many batches, and so moments to break off, as the page has at 200,000.
my $batch = int($rows / 40);

# Each crash carries ids ahead by a window.
my $node = uidgen_node('main', "uidgen.window = '1s'", 'restart_after_crash = on', "max_wal_size = '4GB'", "checkpoint_timeout = '1h'", "log_statement = 'none'", 'log_min_duration_statement = -1');
$node->start;
# Its first call reserves a worker id, for which the registry has to have a layout.
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
await_keeper($node);

# Run what psql would be given, and return what is wrong with it.
sub run_sql
{
	my ($sql) = @_;
	my $said = '';
	IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', '-' ], '<', \$sql, '>', '/dev/null', '2>', \$said);
	return $said;
}

# Call a procedure, and kill it each time that it has come further, so many times; then let it end.  By a trigger it stands
# still in the fifth batch of each call, so that it does not end before it is killed.
sub call_and_kill
{
	my ($call, $table, $kills, $progress, $between) = @_;
	my $broken = 0;
	is(run_sql(qq{CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS \$\$
		BEGIN
			IF current_query() LIKE 'CALL %' THEN
				PERFORM set_config('test.batches', coalesce(current_setting('test.batches', true), '') || '+', false);
				IF current_setting('test.batches') = '+++++' THEN
					PERFORM pg_sleep(600);
				END IF;
			END IF;
			RETURN NULL;
		END \$\$;
		CREATE TRIGGER stand_still BEFORE INSERT OR UPDATE ON $table EXECUTE FUNCTION stand_still()}), '', "$call stands still before its end");
	while ($broken < $kills)
	{
		# Anew each time: a batch may have been committed just before the kill.
		my $came = $node->safe_psql('postgres', $progress);
		my $run = IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', $call ], '<', \undef, '>&', \my $said);
		# Its end is seen by a look at its output.
		poll_until(sub { $run->pump_nb if $run->pumpable; !$run->pumpable || $node->safe_psql('postgres', $progress) > $came });
		last if !$run->pumpable;
		my $log = -s $node->logfile;
		kill 'KILL', $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE query LIKE '$call%' AND backend_type = 'client backend' AND pid <> pg_backend_pid()") || last;
		$run->finish;
		$broken++;
		await_recovery($node, $log);
		$between->() if $between;
	}
	is($broken, $kills, "$call is broken off $kills times");
	is(run_sql("DROP TRIGGER stand_still ON $table; DROP FUNCTION stand_still(); $call"), '', '... and goes on to the end');
	return;
}

# By the blocks of a section, each run as it is, with as many rows as this test has.
my %sections;
{
	my $page = slurp_file("$FindBin::RealBin/../../docs/backfilling.md");
	foreach my $part (split /^(?=## )/m, $page)
	{
		my ($title) = $part =~ /^## (.*)$/m or next;
		$sections{$title} = [ grep { !defined $_->{not_run} && $_->{kind} eq 'sql' } blocks_of($part) ];
	}
	# The last one is in files: its steps, and the way back.
	my ($before) = $page =~ /^## In batches, with a companion column\n.*?<!-- before: (.*?) -->/ms or die 'the page makes no tables for its last section';
	my @steps = map { split /^(?=-- Step)/m, slurp_file("$FindBin::RealBin/../../docs/$_.sql") } qw(companion_column companion_column_back);
	$sections{'In batches, with a companion column'} = [ map { { before => '', text => s/^\\.*\n//mr, name => /^-- (Step \d)/ ? lc $1 : 'the head' } } @steps ];
	$sections{'In batches, with a companion column'}[0]{before} = $before;
}

# `instead`: a pattern of blocks, and what is done for them.
sub run_section
{
	my ($title, %instead) = @_;
	my $blocks = $sections{$title} or die "there is no section $title";
	foreach my $block (@$blocks)
	{
		if ($block->{before} ne '')
		{
			my $before = $block->{before} =~ s/\b1000\b/$rows/gr;
			is(run_sql("SET client_min_messages = warning; $before; ANALYZE"), '', "$title: the tables");
		}
		my ($pattern) = grep { $block->{text} =~ /$_/ } sort keys %instead;
		if (defined $pattern)
		{
			$instead{$pattern}->($block->{text});
			next;
		}
		is(run_sql("SET client_min_messages = warning; $block->{text}"), '', "$title: " . ($block->{name} // "line $block->{line}"));
	}
	return;
}

# Each book has the author that it was given, and each author that was there has an id of its time.
my $RIGHT = "SELECT (SELECT count(*) FROM book AS b JOIN author AS a ON a.id = b.author_id WHERE b.title ~ '^book' AND a.name = 'author ' || (1 + substr(b.title, 6)::integer % $rows)),
	(SELECT count(*) FROM author WHERE name ~ '^author' AND uid_timestamp(id) = date_trunc('milliseconds', created_at)),
	(SELECT count(*) FROM book AS b WHERE NOT EXISTS (SELECT FROM author AS a WHERE a.id = b.author_id))";
my $OLD = "SELECT (SELECT count(*) FROM book AS b JOIN author AS a ON a.id = b.author_id WHERE b.title ~ '^book' AND a.name = 'author ' || (1 + substr(b.title, 6)::integer % $rows)),
	(SELECT count(*) FROM author WHERE name = 'author ' || id)";

# ---- reserve, look, rows from elsewhere ----

run_section('Before you begin');
run_section('Rows from elsewhere');
is($node->safe_psql('postgres', q{SELECT count(*), bool_and(uid_timestamp(id) = created_at) FROM event}), "$rows|t", 'rows from elsewhere have ids of their time');

# ---- a map, and in place ----

$node->safe_psql('postgres', 'SELECT uidgen.accept_backfill(uidgen_registry.reserve_backfill(uidgen.backfill_home()))');
run_section('A map of old to new ids', qr/^CALL/m => sub { call_and_kill("CALL map_authors($batch)", 'author_map', 3, 'SELECT count(*) FROM author_map') });
is($node->safe_psql('postgres', q{SELECT count(*), bool_and(uid_timestamp(m.new) = date_trunc('milliseconds', a.created_at)) FROM author_map AS m JOIN author AS a ON a.id = m.old}), "$rows|t",
	'the map has each row once, with its time');
# One that comes late, with a time that the map has passed.
$node->safe_psql('postgres', q{INSERT INTO author (name, created_at) VALUES ('late', '2025-01-02 03:04:05.678 UTC'); CALL map_authors()});
my ($swap) = map { $_->{text} } grep { $_->{text} =~ /^LOCK TABLE/m } @{ $sections{'In place, by ON UPDATE CASCADE'} };
like(run_sql($swap), qr/ERROR:  authors are missing in author_map/, 'the swap refuses while an author has no new id');
run_section('In place, by ON UPDATE CASCADE', qr/SET id = m\.old/ => sub {
		my ($text) = @_;
		is($node->safe_psql('postgres', $RIGHT), "$rows|$rows|0", 'in place: all have ids of their time, and belong together');
		is($node->safe_psql('postgres', q{SELECT uid_timestamp(id) = created_at FROM author WHERE name = 'late'}), 't', '... also the one that came late');
		is($node->safe_psql('postgres', q{INSERT INTO author (name, created_at) VALUES ('new', now()) RETURNING id > (SELECT max(new) FROM author_map)}) =~ s/\n.*//sr, 't', '... and new ones follow');
		is(run_sql("SET client_min_messages = warning; $text"), '', 'the way back');
		is($node->safe_psql('postgres', $OLD), "$rows|$rows", '... leads back');
	});

# ---- in batches, while others write ----

my @writers;
my $n = 0;
my $dir = PostgreSQL::Test::Utils::tempdir();
sub start_writer
{
	$n++;
	# By whatever name the columns have at the moment; a row that meets the swap is tried again.
	push @writers, IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', "
		DO \$\$
		DECLARE
			a bigint;
		BEGIN
			FOR i IN 1 .. 1000000 LOOP
				BEGIN
					INSERT INTO author (name) VALUES ('new') RETURNING id INTO a;
					INSERT INTO book (author_id, title) VALUES (a, 'new'), (a, 'new');
					INSERT INTO book (author_id, title) SELECT id, 'more' FROM author WHERE name = 'author ' || (1 + i % $rows);
				EXCEPTION WHEN undefined_column OR foreign_key_violation OR not_null_violation THEN
					NULL;
				END;
				COMMIT;
				EXIT WHEN (pg_stat_file('$dir/enough', true)).size IS NOT NULL;
				PERFORM pg_sleep(0.01);
			END LOOP;
		END \$\$" ], '<', \undef, '>&', "$dir/said$n", IPC::Run::timeout(8 * $PostgreSQL::Test::Utils::timeout_default));
	return;
}

my $swapped;
run_section('In batches, with a companion column',
	qr/^CREATE PROCEDURE with_lock_retries/m => sub {
		my ($text) = @_;
		is(run_sql($text), '', 'batches: with_lock_retries()');
		$node->safe_psql('postgres', 'CREATE INDEX ON author (name)');
		start_writer();
	},
	qr/^CALL fill_authors/m => sub { call_and_kill("CALL fill_authors($batch)", 'author', 3, 'SELECT count(*) FROM author WHERE new_id IS NOT NULL AND name ~ $$^author$$', \&start_writer) },
	qr/^CALL fill_books/m => sub { call_and_kill("CALL fill_books($batch)", 'book', 2, 'SELECT count(*) FROM book WHERE new_author_id IS NOT NULL AND title ~ $$^book$$', \&start_writer) },
	qr/DROP TRIGGER book_old_author_id/ => sub {
		my ($text) = @_;
		my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM author');
		ok($node->poll_query_until('postgres', "SELECT count(*) > $before FROM author"), 'batches: others write on after the swap');
		is($node->safe_psql('postgres', $RIGHT), "$rows|$rows|0", '... and all have ids of their time, and belong together');
		is($node->safe_psql('postgres', q{SELECT count(*) FROM author AS a WHERE name = 'new' AND abs(extract(epoch FROM uid_timestamp(id) - created_at)) > 60}), '0', '... new ones too');
		is(run_sql("SET client_min_messages = warning; $text"), '', 'the way back');
		append_to_file("$dir/enough", '');
		$_->finish foreach $writers[-1];
		is($node->safe_psql('postgres', $OLD), "$rows|$rows", '... leads back');
		is($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM author WHERE id IS NULL), (SELECT count(*) FROM book AS b WHERE NOT EXISTS (SELECT FROM author AS a WHERE a.id = b.author_id)),
			(SELECT count(*) > 0 FROM author AS a JOIN book AS b ON b.author_id = a.id WHERE a.name = 'new' AND b.title = 'new')}), '0|0|t', '... for rows of all times');
		$swapped = 1;
	});
ok($swapped, 'the whole page was run');
unlike(slurp_file("$dir/said$n"), qr/ERROR/, 'the last writer has met no error');

done_testing();
