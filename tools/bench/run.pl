# run.pl: measures uidgen; called by tools/bench/run, which says how.
#
# Every case of every part is run once in each round (or twice, forth and back),
# and ratios are made within a round, so that a machine that changes its mood
# disturbs them little.  Needs BINDIR, a private server with uidgen installed, and
# SERVER_HEADERS.  Core Perl only.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use BenchReport;
use BenchServer;
use Getopt::Long;
use List::Util qw(max min sum);
use POSIX qw(strftime);

my @asked = @ARGV;
my %options = (rounds => undef, scale => undef, only => 'calls,throughput,sql,load,triggers,commits,connect,segments');
GetOptions(\%options, 'rounds=i', 'scale=f', 'quick', 'only=s', 'set=s@', 'write', 'dir=s') or die "see tools/bench/run --help\n";
my $dir = $options{dir} or die "tools/bench/run calls this\n";
my $rounds = $options{rounds} // ($options{quick} ? 2 : 5);
my $scale = $options{scale} // ($options{quick} ? 0.1 : 1);
die "--write needs all parts\n" if $options{write} && grep { /^--only/ } @asked;
my %parts = map { $_ => 1 } split /,/, $options{only};
my $rows = max(1000, int(1_000_000 * $scale));
my @session_counts = (1, 2, 4, 16, 64);

# A layout with room for 65 million ids a second in true time.
my $wide_layout = 'time:41:1ms worker:6 sequence:16 epoch:2025-01-01';
my $cached = 'uidgen.cache=64';

$| = 1;
my $module = build_module();
my @conf = (
	'snowflake.node = 1',		# pgEdge's extension, where it is installed
	'shared_buffers = 512MB', 'work_mem = 256MB', 'max_wal_size = 4GB', 'min_wal_size = 1GB',
	'checkpoint_timeout = 1h', 'autovacuum = off', 'jit = off', "uidgen.max_burst = '12h'",
	map { /^([\w.]+)=(.*)$/ or die "--set NAME=VALUE\n"; "$1 = '$2'" } @{ $options{set} // [] });
progress('starting the servers');
my $server = BenchServer->new($dir, 'main', @conf);
$server->sql("\\i '$FindBin::RealBin/setup.sql'\n", module => $module, rows => $rows, file => "$dir/bodies");
my $wide = BenchServer->new($dir, 'wide', @conf, "uidgen.layout = '$wide_layout'");
$wide->sql("CREATE EXTENSION uidgen;\n\\i '$FindBin::RealBin/fmgr_bench.sql'\n", module => $module);
write_wal();
my ($registry, $fleet_node) = fleet() if $parts{segments};
# The first id waits for the first grant.
$_->sql('SELECT uid_next()') foreach grep { $_ } $server, $wide, $fleet_node;
my $has_uuidv7 = $server->sql("SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'") > 0;
my @pgedge = $server->sql("SELECT count(*) FROM pg_extension WHERE extname = 'snowflake'") > 0 ? ('pgEdge, snowflake.nextval()') : ();
my $has_pgstattuple = $server->sql("SELECT count(*) FROM pg_extension WHERE extname = 'pgstattuple'") > 0;

# What is called through fmgr: name => [function, arguments, server, setting].
my %call = (
	'empty C function' => ['bench_empty()'],
	'coarse clock' => ['bench_coarse_clock()'],
	'uid_next()' => ['uid_next()'],
	'uid_next(), cache 64' => [ 'uid_next()', '', $server, $cached ],
	'uid_next(), 16 bits of sequence' => [ 'uid_next()', '', $wide ],
	'uid_next(), cache 64, 16 bits' => [ 'uid_next()', '', $wide, $cached ],
	'nextval(), CACHE 1' => [ 'nextval(regclass)', ", 'cache_1'" ],
	'nextval(), CACHE 50' => [ 'nextval(regclass)', ", 'cache_50'" ],
	'nextval(), CACHE 1000' => [ 'nextval(regclass)', ", 'cache_1000'" ],
	'gen_random_uuid()' => ['gen_random_uuid()'],
	$has_uuidv7 ? ('uuidv7()' => ['uuidv7()']) : (),
	(map { $_ => [ 'snowflake.nextval(regclass)', ", 'pgedge'" ] } @pgedge),
	'uid_segment_next(), step 10,000,000' => [ 'uid_segment_next(text)', ", 'large'" ],
	'uid_segment_next(), step 1,000' => [ 'uid_segment_next(text)', ", 'usual'" ],
);
my @calls = (
	'empty C function', 'coarse clock', 'uid_next()', 'uid_next(), 16 bits of sequence', 'uid_next(), cache 64',
	'uid_next(), cache 64, 16 bits', 'nextval(), CACHE 1', 'nextval(), CACHE 50', 'nextval(), CACHE 1000',
	'gen_random_uuid()', $has_uuidv7 ? 'uuidv7()' : (), @pgedge);
my @throughput = ('uid_next()', 'uid_next(), cache 64', 'nextval(), CACHE 1', 'nextval(), CACHE 1000', $has_uuidv7 ? 'uuidv7()' : (), @pgedge);

# Segments beside what else makes dense numbers.
my @segments = ('uid_segment_next(), step 10,000,000', 'uid_segment_next(), step 1,000');
my @sequences = ('nextval(), CACHE 1', 'nextval(), CACHE 50', 'nextval(), CACHE 1000');
my @segment_sessions = (1, 2, 16, 64);

# Where ranges come from while calls are made at a pace: name => [server, milliseconds that each answer of the registry
# takes longer, segments].  A keeper fetches one range after the other.
my @seams = (
	[ 'local', $server, 0, 4 ],
	[ 'shared', $fleet_node, 0, 4 ],
	[ 'shared, 20 ms more', $fleet_node, 20, 4 ],
	[ 'shared, 900 ms more', $fleet_node, 900, 1 ]);
my $seam_calls_per_ms = 20;

# What a table's ids come from: name => [column, more SQL, setting].
my %column = (
	'constant' => ['bigint NOT NULL DEFAULT 1'],
	'volatile' => ['bigint NOT NULL DEFAULT (random() * 1e18)::bigint'],
	'uid_next()' => ['bigint NOT NULL DEFAULT uid_next()'],
	'uid_next(), cache 64' => [ 'bigint NOT NULL DEFAULT uid_next()', '', $cached ],
	'bigserial' => ['bigserial'],
	'bigserial, CACHE 50' => [ 'bigserial', 'ALTER SEQUENCE item_id_seq CACHE 50;' ],
	'identity' => ['bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY'],
	(map { $_ => [q{bigint NOT NULL DEFAULT snowflake.nextval('pgedge')}] } @pgedge),
	'gen_random_uuid()' => ['uuid NOT NULL DEFAULT gen_random_uuid()'],
	'uuidv7()' => ['uuid NOT NULL DEFAULT uuidv7()'],
);
my @ordered_columns = ('uid_next()', 'uid_next(), cache 64', 'bigserial', 'bigserial, CACHE 50', 'identity', @pgedge);
my @uuids = ('gen_random_uuid()', $has_uuidv7 ? 'uuidv7()' : ());
my $insert = 'INSERT INTO item (body) SELECT body FROM source';
my $copy = "COPY item (body) FROM '$dir/bodies'";

# Triggers BEFORE INSERT OR UPDATE for each row, on a table of three columns.
my %trigger = ('none' => '', 'empty C function' => 'bench_empty_trigger()', 'uid_stamp()' => "uid_stamp('changed')");
my @triggers = ('none', 'empty C function', 'uid_stamp()');
my @stamped = ('INSERT', 'UPDATE');

my @clients = (1, 2, 8, 64);
my @commit_columns = ('constant', 'uid_next()', 'bigserial', 'identity', @pgedge);

# ---- Measuring --------------------------------------------------------------

foreach my $round (1 .. $rounds)
{
	my @part_subs = (
		calls => \&measure_calls, throughput => \&measure_throughput, sql => \&measure_sql,
		load => \&measure_load, triggers => \&measure_triggers, commits => \&measure_commits, connect => \&measure_connect,
		segments => \&measure_segments);
	while (my ($part, $measure) = splice(@part_subs, 0, 2))
	{
		next unless $parts{$part};
		progress("round $round of $rounds: $part");
		$measure->($round);
	}
}
$_->stop foreach grep { $_ } $server, $wide, $fleet_node, $registry;

report();

# Run $code for each case, forth and back, and record the mean of both.
sub forth_and_back
{
	my ($prefix, $code, @cases) = @_;
	my %values;
	push @{ $values{$_} }, $code->($_) foreach @cases, reverse @cases;
	record("$prefix $_", @{ $values{$_} }) foreach @cases;
	return;
}

# Nanoseconds a call in one session, measured for about a third of a second.
sub measure_calls
{
	forth_and_back('ns', \&ns_a_call, grep { $call{$_} } @calls);

	foreach my $case (grep { $call{$_} } @calls)
	{
		my ($function, $arguments, $where, $set) = @{ $call{$case} };
		my @latencies = split ' ', ($where // $server)->sql(
			"SELECT * FROM bench_latency('$function', " . $rows . ($arguments // '') . ")", set => $set);
		record("$_ $case", shift @latencies) foreach qw(p50 p99 p999 max);
	}
	return;
}

sub ns_a_call
{
	my ($case) = @_;
	my $length = int(150e6 * $scale) + 1;
	my ($function, $arguments, $where, $set) = @{ $call{$case} };
	$arguments //= '';
	return ($where // $server)->sql(
		"SELECT bench_ns('$function', greatest(1000, ($length / bench_ns('$function', 1000$arguments))::bigint)$arguments)",
		set => $set);
}

# Calls a second of several sessions together, in millions.
sub measure_throughput
{
	foreach my $sessions (@session_counts)
	{
		record("total $sessions $_", throughput($_, $sessions)) foreach @throughput;
	}
	return;
}

sub throughput
{
	my ($case, $sessions) = @_;
	my ($function, $arguments, $where, $set) = @{ $call{$case} };
	my $length = int(5e8 * $scale) + 1;
	$arguments //= '';

	# A session that comes too late for the window fails: then a later window.
	foreach my $patience (1, 4, 16, 64)
	{
		my $lead_ms = (20 + 2 * $sessions) * $patience;
		$server->sql('TRUNCATE arrival, result');
		$server->pgbench(
			"INSERT INTO arrival VALUES (bench_clock());\n"
			  . "INSERT INTO result SELECT bench_window('$function', bench_start($sessions, ${lead_ms}000000), $length$arguments);\n",
			options => [ '-c', $sessions, '-j', min($sessions, 4), '-t', 1 ],
			set => $set, may_fail => 1);
		my ($count, $calls) = split ' ', $server->sql('SELECT count(*), sum(calls) FROM result');
		return $calls * 1e3 / $length if $count == $sessions;
	}
	die "$sessions sessions did not come together\n";
}

# Seconds that a query of one row takes.
sub seconds
{
	my ($query, $set) = @_;
	return $server->sql(
		"SELECT bench_clock() AS began \\gset\n$query \\gset result_\nSELECT (bench_clock() - :began) / 1e9;\n",
		set => $set);
}

sub measure_sql
{
	my $series = "generate_series(1, $rows)";
	my %expression = (
		'constant' => ['1::bigint'],
		'uid_next()' => ['uid_next()'],
		'uid_next(), cache 64' => [ 'uid_next()', $cached ],
		'nextval(), CACHE 1' => ["nextval('cache_1')"],
		'nextval(), CACHE 1000' => ["nextval('cache_1000')"],
		'gen_random_uuid()' => ['gen_random_uuid()'],
		$has_uuidv7 ? ('uuidv7()' => ['uuidv7()']) : (),
		map { $_ => ["snowflake.nextval('pgedge')"] } @pgedge);
	forth_and_back(
		'rate',
		sub {
			my ($what, $set) = @{ $expression{ $_[0] } };
			return $rows / 1e6 / seconds("SELECT count($what) FROM $series", $set);
		},
		sort keys %expression);

	# Small differences: several times, in turn.
	my (@batch, @series);
	foreach (1 .. 5)
	{
		push @series, seconds("SELECT count(id) FROM (SELECT generate_series(1, $rows) AS id) AS ids") / $rows * 1e9;
		push @batch, seconds("SELECT count(id) FROM (SELECT uid_next_batch($rows) AS id) AS ids") / $rows * 1e9;
	}
	record('batch generate_series', median(@series));
	record('batch uid_next_batch', median(@batch));
	record('batch difference', median(map { $batch[$_] - $series[$_] } 0 .. $#batch));

	# A thousand ids.
	my $times = max(10, int(10_000 * $scale));
	record('thousand set', $server->sql("SELECT bench_ns('uid_next_batch(integer, integer)', $times, '1000', '0') / 1000"));
	record('thousand block', $server->sql("SELECT bench_ns('uid_reserve(integer, integer)', $times, '1000', '0') / 1000"));
	record('thousand statement',
		$server->sql("SELECT bench_clock() AS began \\gset\n"
			. "DO \$\$ BEGIN FOR i IN 1 .. $times LOOP PERFORM count(id) FROM (SELECT uid_next_batch(1000) AS id) AS ids; END LOOP; END \$\$;\n"
			. "SELECT (bench_clock() - :began) / 1e3 / $times"));

	# Six million in one statement, and how far the last one's time is from the
	# clock: neither ahead of it, nor behind.
	my $count = 6 * $rows;
	foreach my $case (
		[ 'uid_next()', "SELECT uid_next() AS id FROM (SELECT generate_series(1, $count)) AS many" ],
		[ 'uid_next(), cache 64', "SELECT uid_next() AS id FROM (SELECT generate_series(1, $count)) AS many", $cached ],
		[ 'uid_next_batch()', "SELECT uid_next_batch($count) AS id" ])
	{
		my ($name, $query, $set) = @$case;
		# OFFSET keeps the query as one of its own, and the series in the SELECT
		# list is not stored before it is used.
		my ($ns, $ahead) = split ' ', $wide->sql(
			"SELECT bench_clock() AS began \\gset\n"
			  . "SELECT max(id) AS last, clock_timestamp() AS ended FROM ($query OFFSET 0) AS ids \\gset\n"
			  . "SELECT bench_clock() - :began, extract(epoch FROM uid_timestamp(:last) - :'ended') * 1000;\n",
			set => $set);
		record("wide $name", $count * 1e3 / $ns);
		record("ahead $name", $ahead);
	}
	return;
}

# Fill a new table; returns what came of it.
sub fill
{
	my ($definition, $index, $before, $timed, $set) = @_;
	my $key = $index ? ', PRIMARY KEY (id)' : '';
	my $script = <<"END";
DROP TABLE IF EXISTS item;
CREATE TABLE item (id $definition, body text$key);
$before
CHECKPOINT;
SELECT bench_clock() AS began, pg_current_wal_insert_lsn() AS lsn \\gset
$timed
SELECT (bench_clock() - :began) / 1e9 AS seconds, (pg_current_wal_insert_lsn() - :'lsn') / $rows AS wal \\gset
SELECT pg_stat_force_next_flush();
SELECT :seconds, :wal, pg_relation_size('item') / 1e6,
	(SELECT coalesce(sum(pg_relation_size(indexrelid)), 0) / 1e6 FROM pg_index WHERE indrelid = 'item'::regclass),
	(SELECT coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0) FROM pg_statio_user_tables WHERE relname = 'item')::numeric / $rows;
END
	if ($index && $has_pgstattuple)
	{
		$script .= "SELECT avg_leaf_density FROM pgstatindex('item_pkey');\n";
	}
	my @values = split ' ', $server->sql($script, set => $set);
	return map { $_ => shift @values } qw(seconds wal heap index buffers), $index && $has_pgstattuple ? 'density' : ();
}

# Rows that come to a full table after a checkpoint.
sub add_rows
{
	my ($set) = @_;
	my $more = max(100, int($rows / 100));
	return $server->sql(<<"END", set => $set);
CHECKPOINT;
SELECT pg_current_wal_insert_lsn() AS lsn \\gset
$insert LIMIT $more;
SELECT (pg_current_wal_insert_lsn() - :'lsn') / $more;
END
}

sub measure_load
{
	my ($round) = @_;
	my @order = $round % 2 ? sub { @_ } : sub { reverse @_ };

	# Without an index, since a constant allows for none that is unique.
	foreach my $statement ([ insert => $insert ], [ copy => $copy ])
	{
		my ($name, $sql) = @$statement;
		forth_and_back(
			"$name plain",
			sub {
				my ($definition, $before, $set) = @{ $column{ $_[0] } };
				my %result = fill($definition, 0, $before // '', "$sql;", $set);
				record("$name plain wal $_[0]", $result{wal});
				return $result{seconds};
			},
			'constant', $name eq 'copy' ? 'volatile' : (), @ordered_columns);

		foreach my $case ($order[0]->(@ordered_columns, @uuids))
		{
			my ($definition, $before, $set) = @{ $column{$case} };
			my %result = fill($definition, 1, $before // '', "$sql;", $set);
			record("$name key $_ $case", $result{$_}) foreach keys %result;
			record("$name key more $case", add_rows($set)) if $name eq 'insert';
		}
	}
	return;
}

# Nanoseconds of processor time a row, the least of many short runs in turn: so what else the machine does is not in it, nor the
# disk, since the tables are not logged.
sub measure_triggers
{
	my $few = max(100, int(5_000 * $scale));
	my @tables = map { "stamped_$_" } 0 .. $#triggers;
	my $script = "SET client_min_messages = warning;\n";
	foreach my $i (0 .. $#triggers)
	{
		$script .= "DROP TABLE IF EXISTS $tables[$i];\nCREATE UNLOGGED TABLE $tables[$i] (id bigint NOT NULL, body text, changed bigint NOT NULL DEFAULT 0);\n";
		$script .= "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON $tables[$i] FOR EACH ROW EXECUTE FUNCTION $trigger{$triggers[$i]};\n" if $trigger{ $triggers[$i] };
	}
	$script .= join '', map { <<"END" } (@tables, reverse @tables) x 20;
TRUNCATE $_;
SELECT bench_cpu_clock() AS began \\gset
INSERT INTO $_ (id, body) SELECT n, 'some words' FROM generate_series(1, $few) AS n;
SELECT bench_cpu_clock() AS between \\gset
UPDATE $_ SET body = 'other words';
SELECT '$_', (:between - :began)::numeric / $few, (bench_cpu_clock() - :between)::numeric / $few;
END
	my %least;
	foreach (split /\n/, $server->sql($script))
	{
		my ($table, @ns) = split;
		my $case = $triggers[ $table =~ s/.*_//r ];
		foreach my $i (0 .. $#stamped)
		{
			$least{"$stamped[$i] $case"} = min($ns[$i], $least{"$stamped[$i] $case"} // $ns[$i]);
		}
	}
	record("row $_", $least{$_}) foreach keys %least;
	foreach my $statement (@stamped)
	{
		record("row more $statement $_", $least{"$statement $_"} - $least{"$statement empty C function"}) foreach @triggers;
	}
	return;
}

# How long pgbench runs: for a time, or where that is short by count.
sub pgbench_options
{
	my ($clients) = @_;
	my $length = 1.5 * $scale;
	my @length = $length >= 1 ? ('-T', sprintf('%.0f', $length)) : ('-t', max(2, int(4000 * $length / $clients)));
	return [ '-M', 'prepared', '-c', $clients, '-j', min($clients, 4), @length ];
}

# One row each transaction; without an index, as above.
sub measure_commits
{
	foreach my $mode ((map { [ 'off', $_ ] } @clients), [ 'on', 8 ])
	{
		my ($synchronous, $clients) = @$mode;
		foreach my $case (@commit_columns)
		{
			$server->sql("DROP TABLE IF EXISTS item; CREATE TABLE item (id $column{$case}[0], body text);");
			record("commits $synchronous $clients $case",
				$server->pgbench(
					"INSERT INTO item (body) VALUES ('one row');\n",
					options => pgbench_options($clients),
					set => "synchronous_commit=$synchronous"));
		}
	}
	return;
}

# A connection for each query.
sub measure_connect
{
	forth_and_back(
		'connect',
		sub { return $server->pgbench("SELECT $_[0];\n", options => [ '-C', '-c', 1, '-t', max(5, int(400 * $scale)) ]) },
		'1', 'uid_next()', "nextval('cache_1')");
	return;
}

# Segments, in a table of their own beside sequences of the same minute.
sub measure_segments
{
	forth_and_back('segments ns', \&ns_a_call, @segments, @sequences);
	foreach my $sessions (@segment_sessions)
	{
		record("segments $sessions $_", throughput($_, $sessions)) foreach @segments, @sequences;
	}
	measure_seam(@$_) foreach @seams;
	return;
}

# Calls at a pace, while ranges that last for 2 to 4 seconds follow each other.
sub measure_seam
{
	my ($name, $where, $ms, $count) = @_;
	my $status = "SELECT sum(fetches), sum(waits), min(step) FROM uidgen.segment_status WHERE name LIKE 'seam %'";
	my $run = sub {
		my ($seconds) = @_;
		$where->sql('TRUNCATE paced');
		$where->pgbench(
			"INSERT INTO paced SELECT longest FROM bench_pace('uid_segment_next(text)', $seam_calls_per_ms, "
			  . int($seconds * 1e9) . ", 'seam ' || (:client_id + 1));\n",
			options => [ '-c', $count, '-j', $count, '-t', 1 ]);
		return [ split ' ', $where->sql($status) ];
	};

	$where->sql("ALTER SYSTEM SET uidgen.segment_duration = '2s';\nSELECT pg_reload_conf();\n");
	# A call of the registry reads its clock several times, and waits at the first of them.  The segment begins with a quarter
	# of what it will need.
	($where == $server ? $server : $registry)->sql(<<"END");
CREATE OR REPLACE FUNCTION uidgen_registry.registry_clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS \$\$
		SELECT pg_sleep($ms / 1000.0), set_config('bench.has_waited', 'yes', true) WHERE coalesce(current_setting('bench.has_waited', true), '') <> 'yes';
		SELECT clock_timestamp()
	\$\$;
SELECT format('SELECT uidgen_registry.drop_segment(%L)', name) FROM uidgen_registry.segment WHERE name LIKE 'seam %' AND NOT dropped \\gexec
SELECT uidgen_registry.create_segment('seam ' || i, step => 15000, restart => true) FROM generate_series(1, 4) AS i;
END
	$run->(max(0.1, 8 * min(1, $scale)));
	my $before = $where->sql($status);
	my ($fetches, $waits) = split ' ', $before;
	my $after = $run->(max(0.1, 12 * $scale));
	$where->sql("ALTER SYSTEM RESET uidgen.segment_duration;\nSELECT pg_reload_conf();\n");
	record("seam ranges $name", $after->[0] - $fetches);
	record("seam lasts $name", $after->[2] / $seam_calls_per_ms / 1000);
	record("seam waits $name", $after->[1] - $waits);
	record("seam longest $name", $where->sql('SELECT max(longest) / 1e3 FROM paced'));
	return;
}

# ---- Telling ----------------------------------------------------------------

sub report
{
	my %text = (machine => machine());
	my %title = (
		machine => 'Machine', goals => 'What holds', calls => 'One call', latency => 'Single calls',
		throughput => 'Several sessions', sql => 'In SQL', true_time => 'Six million ids in one statement',
		thousand => 'A thousand ids', insert_plain => 'INSERT, without an index', insert_key => 'INSERT, with a primary key',
		copy_plain => 'COPY, without an index', copy_key => 'COPY, with a primary key', triggers => 'A trigger for each row',
		commits => 'One row each transaction', connect => 'A connection each query',
		segments => 'Segments', segment_sessions => 'Segments, several sessions', seams => 'Segments, where ranges meet');

	$text{calls} = table(
		[ 'function', 'ns a call', 'of nextval(), CACHE 1', 'of nextval(), CACHE 1000' ],
		map { [ $_, cell(figures("ns $_")), ratio_cell("ns $_", 'ns nextval(), CACHE 1'), ratio_cell("ns $_", 'ns nextval(), CACHE 1000') ] } @calls);
	$text{latency} = table(
		[ 'ns', 'p50', 'p99', 'p99.9', 'longest' ],
		map { my $case = $_; [ $case, map { cell(figures("$_ $case")) } qw(p50 p99 p999 max) ] } @calls);
	$text{throughput} = table(
		[ 'million calls a second', map { $_ == 1 ? '1 session' : "$_ sessions" } @session_counts ],
		(map { my $case = $_; [ $case, map { cell(figures("total $_ $case")) } @session_counts ] } @throughput),
		map { my $case = $_; [ "$case, of nextval(), CACHE 1", map { ratio_cell("total $_ $case", "total $_ nextval(), CACHE 1") } @session_counts ] } @throughput[ 0, 1 ]);
	$text{sql} = join("\n", grep { $_ }
		table(
			[ 'count(...) over generate_series', 'million a second', 'of the constant', 'of nextval(), CACHE 1' ],
			map { [ $_, cell(figures("rate $_")), ratio_cell("rate $_", 'rate constant'), ratio_cell("rate $_", 'rate nextval(), CACHE 1') ] }
			  'constant', @calls),
		table(
			[ 'in the SELECT list', 'ns a row' ],
			[ "generate_series(1, $rows)", cell(figures('batch generate_series')) ],
			[ "uid_next_batch($rows)", cell(figures('batch uid_next_batch')) ],
			[ 'difference', cell(figures('batch difference')) ]));
	$text{thousand} = table(
		[ 'a thousand ids in one call', 'us' ],
		[ 'uid_reserve(1000)', cell(figures('thousand block')) ],
		[ 'uid_next_batch(1000), to the end of the set', cell(figures('thousand set')) ],
		[ 'a statement: count(id) of uid_next_batch(1000)', cell(figures('thousand statement')) ]);
	$text{true_time} = table(
		[ sprintf('%s ids, %s', 6 * $rows, $wide_layout =~ s/ epoch.*//r), 'million a second', 'ms that the last id is ahead of the clock' ],
		map { [ $_, cell(figures("wide $_")), cell(figures("ahead $_")) ] } 'uid_next()', 'uid_next(), cache 64', 'uid_next_batch()');
	foreach my $name (qw(insert copy))
	{
		$text{"${name}_plain"} = table(
			[ "$rows rows", 'seconds', 'of the constant', 'of bigserial', 'WAL bytes a row' ],
			map { [ $_, cell(figures("$name plain $_")), ratio_cell("$name plain $_", "$name plain constant"),
				ratio_cell("$name plain $_", "$name plain bigserial"), cell(figures("$name plain wal $_")) ] } 'constant', $name eq 'copy' ? 'volatile' : (), @ordered_columns);
		$text{"${name}_key"} = table(
			[ "$rows rows", 'seconds', 'of bigserial', 'table, MB', 'index, MB', 'leaves full, %', 'WAL bytes a row',
				'buffers a row', $name eq 'insert' ? 'WAL bytes a row, later' : () ],
			map { my $case = $_; [ $case, cell(figures("$name key seconds $case")), ratio_cell("$name key seconds $case", "$name key seconds bigserial"),
				map { cell(figures("$name key $_ $case")) } qw(heap index density wal buffers), $name eq 'insert' ? 'more' : () ] }
			  @ordered_columns, @uuids);
	}
	$text{triggers} = table(
		[ 'trigger', map { ("$_, ns a row", 'more than the empty one') } @stamped ],
		map { my $case = $_; [ $case, map { (cell(figures("row $_ $case")), cell(figures("row more $_ $case"))) } @stamped ] } @triggers);
	$text{commits} = table(
		[ 'transactions a second', map({ $_ == 1 ? '1 client' : "$_ clients" } @clients), '8 clients, synchronous_commit on' ],
		(map { my $case = $_; [ $case, map({ cell(figures("commits off $_ $case")) } @clients), cell(figures("commits on 8 $case")) ] } @commit_columns),
		map { my $base = $_; [ "uid_next(), of $base", map({ ratio_cell("commits off $_ uid_next()", "commits off $_ $base") } @clients),
			ratio_cell('commits on 8 uid_next()', "commits on 8 $base") ] } 'constant', 'bigserial');
	$text{connect} = table(
		[ 'query', 'a second', 'of SELECT 1' ],
		map { [ "SELECT $_", cell(figures("connect $_")), ratio_cell("connect $_", 'connect 1') ] } '1', 'uid_next()', "nextval('cache_1')");
	$text{segments} = table(
		[ 'function', 'ns a call', map { "of $_" } @sequences ],
		map { my $case = $_; [ $case, cell(figures("segments ns $case")), map { ratio_cell("segments ns $case", "segments ns $_") } @sequences ] } @segments, @sequences);
	$text{segment_sessions} = table(
		[ 'million calls a second', map { $_ == 1 ? '1 session' : "$_ sessions" } @segment_sessions ],
		(map { my $case = $_; [ $case, map { cell(figures("segments $_ $case")) } @segment_sessions ] } @segments, @sequences),
		map { my $case = $_; map { my $base = $_; [ "$case, of $base", map { ratio_cell("segments $_ $case", "segments $_ $base") } @segment_sessions ] } @sequences } @segments);
	$text{seams} = table(
		[ 'registry', 'segments', 'ranges', 'a range lasts, s', 'calls that waited', 'longest call, us' ],
		map { my ($name, undef, undef, $count) = @$_; [ $name, $count, total("seam ranges $name"), cell(figures("seam lasts $name")),
			total("seam waits $name"), cell(figures("seam longest $name")) ] } grep { has("seam waits $_->[0]") } @seams);
	$text{goals} = goals();

	my $all = join "\n", map { "$title{$_}\n\n$text{$_}" } grep { $text{$_} } qw(machine goals calls latency throughput sql thousand true_time insert_plain insert_key
		copy_plain copy_key triggers commits connect segments segment_sessions seams);
	print $all;
	if ($options{write})
	{
		spew("$dir/performance.md", renew_page(slurp("$FindBin::RealBin/../../docs/performance.md"), %text));
		spew("$dir/performance.svg", bars());
		spew("$dir/performance.txt", "tools/bench/run --write: each cell is the median of the rounds, and in brackets the least and the greatest.\n"
			  . "docs/performance.md says what the cases are.\n\n$all");
	}
	return;
}

# What holds on any machine: ratios of uidgen and its peers in one run, and counts.  The bounds leave room for what machines
# differ by; what rests on the machine is in the other tables, and is not judged.
sub goals
{
	my $row = sub {
		my ($goal, $sign, $bound, @values) = @_;
		return [ $goal, "$sign $bound" ] unless @values;
		my $middle = median(@values);
		my $good = $sign eq '<=' ? $middle <= $bound : $sign eq '<' ? $middle < $bound : $middle >= $bound;
		return [ $goal, "$sign $bound", cell(@values), $good ? 'yes' : 'no' ];
	};
	my @rows = (
		$row->('uid_next(), of nextval(), CACHE 1', '<=', 0.2, ratios('ns uid_next()', 'ns nextval(), CACHE 1')),
		$row->('uid_next(), cache 64, of nextval(), CACHE 1000', '<=', 0.25, ratios('ns uid_next(), cache 64', 'ns nextval(), CACHE 1000')),
		$row->('two sessions, uid_next(), of nextval(), CACHE 1', '>=', 2, ratios('total 2 uid_next()', 'total 2 nextval(), CACHE 1')),
		$row->('64 sessions, uid_next(), of nextval(), CACHE 1', '>=', 2, ratios('total 64 uid_next()', 'total 64 nextval(), CACHE 1')),
		$row->('64 sessions, uid_next(), cache 64, of nextval(), CACHE 1', '>=', 10, ratios('total 64 uid_next(), cache 64', 'total 64 nextval(), CACHE 1')),
		$row->('INSERT, time of a constant default', '<=', 1.1, ratios('insert plain uid_next()', 'insert plain constant')),
		$row->('INSERT, time of bigserial, without an index', '<', 1, ratios('insert plain uid_next()', 'insert plain bigserial')),
		$row->('INSERT, time of bigserial, with a primary key', '<', 1, ratios('insert key seconds uid_next()', 'insert key seconds bigserial')),
		$row->('COPY, time of a constant default', '<=', 1.15, ratios('copy plain uid_next()', 'copy plain constant')),
		$row->('COPY, WAL of a constant default', '<=', 1.02, ratios('copy plain wal uid_next()', 'copy plain wal constant')),
		$row->('index, size of bigserial\'s', '<=', '1.00', ratios('insert key index uid_next()', 'insert key index bigserial')),
		$row->('uid_segment_next(), of nextval(), CACHE 50', '<=', 0.5, ratios("segments ns $segments[0]", 'segments ns nextval(), CACHE 50')),
		$row->('16 sessions, uid_segment_next(), of nextval(), CACHE 1', '>=', 2, ratios("segments 16 $segments[0]", 'segments 16 nextval(), CACHE 1')),
		$row->('calls that waited where ranges of 2 s and more meet', '<=', 0, total(map { "seam waits $_->[0]" } @seams)));
	return table([ 'of what', 'bound', 'measured', 'holds' ], map { [ map { $_ // '' } @$_ ] } grep { length($_->[2] // '') } @rows);
}

sub bars
{
	return chart(
		[ 'One call', 'ns', map { [ $_, "ns $_" ] } grep { !/uuid/ } @calls ],
		[ 'Two sessions', 'million calls a second', map { [ $_, "total 2 $_" ] } @throughput ],
		[ '64 sessions', 'million calls a second', map { [ $_, "total 64 $_" ] } @throughput ],
		[ "INSERT of $rows rows with a primary key", 'seconds', map { [ $_, "insert key seconds $_" ] } @ordered_columns, @uuids ],
		[ 'Its index', 'MB', map { [ $_, "insert key index $_" ] } @ordered_columns, @uuids ],
		[ 'Rows that come later', 'bytes of WAL a row', map { [ $_, "insert key more $_" ] } @ordered_columns, @uuids ]);
}

sub machine
{
	my ($model) = slurp('/proc/cpuinfo') =~ /^model name\s*:\s*(.*)$/m;
	my ($memory) = slurp('/proc/meminfo') =~ /^MemTotal:\s*(\d+)/m;
	my ($kernel, $architecture) = (POSIX::uname())[ 2, 4 ];
	my $version = (split /\n/, `'$ENV{BINDIR}/postgres' --version`)[0];
	my ($clock) = split /\n/, slurp('/sys/devices/system/clocksource/clocksource0/current_clocksource');
	my @shown;
	for (my $i = 0; $i < @asked; $i++)
	{
		if ($asked[$i] eq '--dir') { $i++; next }
		push @shown, $asked[$i];
	}
	return table(
		[ 'what', 'which' ],
		[ 'processor', join(', ', grep { $_ } $model, cores() . ' cores', $architecture) ],
		[ 'memory', sprintf('%.0f GB', ($memory // 0) / 1024 / 1024) ],
		[ 'kernel', "$kernel, clocksource " . ($clock // 'unknown') ],
		[ 'server', $version =~ s/^postgres \(PostgreSQL\)/PostgreSQL/r ],
		[ 'settings', join(', ', @conf) ],
		[ 'rounds, rows', "$rounds, $rows" ],
		[ 'date', strftime('%Y-%m-%d', gmtime) ],
		[ 'command', join(' ', 'tools/bench/run', @shown) ]);
}

sub cores
{
	return scalar(() = slurp('/proc/cpuinfo') =~ /^processor\s*:/mg) || 1;
}

# So that segments of WAL are there and the first cases need not create them: as
# much as min_wal_size keeps.
sub write_wal
{
	$server->sql("SELECT count(pg_logical_emit_message(false, 'bench', repeat('x', 10000000))) FROM generate_series(1, "
		  . max(1, int(min(1, $scale) * 110))
		  . ");\nSELECT pg_switch_wal();\nCHECKPOINT;\n");
	return;
}

# A server with the registry of a fleet, which waits as long as it is told, and a node.
sub fleet
{
	my $shared = BenchServer->new($dir, 'registry', @conf);
	$shared->sql("CREATE EXTENSION uidgen_registry;\nSELECT uidgen_registry.share_registry('default');\nSELECT uidgen_registry.end_quarantine();\n");
	my $node = BenchServer->new($dir, 'node', @conf, 'uidgen.registry = ' . "'" . $shared->conninfo . "'");
	foreach ($server, $node)
	{
		$_->sql("CREATE EXTENSION IF NOT EXISTS uidgen;\nCREATE UNLOGGED TABLE paced (longest bigint);\n");
	}
	$node->sql("\\i '$FindBin::RealBin/fmgr_bench.sql'\n", module => $module);
	return ($shared, $node);
}

# ---- Little helpers ---------------------------------------------------------

sub build_module
{
	my @command = (
		$ENV{CC} || 'gcc', '-O2', '-shared', '-fPIC', "-I$ENV{SERVER_HEADERS}", '-o', "$dir/fmgr_bench.so",
		"$FindBin::RealBin/fmgr_bench.c");
	system(@command) == 0 or die "@command failed\n";
	return "$dir/fmgr_bench.so";
}

# Of all rounds together.
sub total
{
	my @values = map { figures($_) } @_;
	return @values ? sum(@values) : ();
}

sub progress
{
	print STDERR "uidgen: $_[0]\n";
	return;
}

sub slurp
{
	my ($name) = @_;
	open(my $file, '<', $name) or return '';
	local $/;
	return scalar <$file>;
}

sub spew
{
	my ($name, $text) = @_;
	open(my $file, '>', $name) or die "$name: $!";
	print $file $text;
	close $file or die "$name: $!";
	return;
}
