# A table whose partitions are foreign tables on other servers (postgres_fdw): who issues the ids, by the worker id in each, and that
# they are unique, wherever rows are inserted: through the table, into a shard directly, through a foreign table with the
# column and without it.  And which conditions reach the shards.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Fleet;
use UidgenTest;

my $registry = fleet_registry('registry');
plan skip_all => 'the server has no postgres_fdw'
  if $registry->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") == 0;
my ($hub, @shards) = map { fleet_node($_, hosts($registry)) } qw(hub shard_0 shard_1);

# ---- the tables ----

# On each shard by hash of the id, by its time, and by a tenant; each statement that inserts is counted.
foreach my $shard (@shards)
{
	$shard->safe_psql('postgres', q{CREATE TABLE statement (name text);
		CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO public.statement VALUES (TG_TABLE_NAME); RETURN NULL; END'});
	foreach my $table (qw(by_hash by_time by_tenant given))
	{
		$shard->safe_psql('postgres', "CREATE TABLE $table (id bigint PRIMARY KEY DEFAULT uid_next(), tenant integer, body text);
			CREATE TRIGGER counted AFTER INSERT ON $table EXECUTE FUNCTION count_statement()");
	}
	# as docs/writers.md has it
	$shard->safe_psql('postgres', (slurp_file("$FindBin::RealBin/../../docs/writers.md") =~ /^```sql\n([^`]*TRIGGER give_id[^`]*)/m)[0] =~ s/\borders\b/given/gr);
}

$hub->safe_psql('postgres', q{CREATE EXTENSION postgres_fdw;
	CREATE TABLE by_hash (id bigint NOT NULL DEFAULT uid_next(), tenant integer, body text) PARTITION BY HASH (id);
	CREATE TABLE by_time (LIKE by_hash INCLUDING DEFAULTS) PARTITION BY RANGE (id);
	CREATE TABLE by_tenant (LIKE by_hash INCLUDING DEFAULTS) PARTITION BY LIST (tenant)});
my $month = $hub->safe_psql('postgres', "SELECT uid_min(date_trunc('month', now()))");
my @month = ("FROM (0) TO ($month)", "FROM ($month) TO (MAXVALUE)");
foreach my $number (0, 1)
{
	my ($host, $port) = ($shards[$number]->host, $shards[$number]->port);
	my $of = "SERVER shard_$number OPTIONS (table_name";
	$hub->safe_psql('postgres', "
		CREATE SERVER shard_$number FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', batch_size '100', extensions 'uidgen');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$number;
		CREATE FOREIGN TABLE by_hash_$number PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER $number) $of 'by_hash');
		CREATE FOREIGN TABLE by_time_$number PARTITION OF by_time FOR VALUES $month[$number] $of 'by_time');
		CREATE FOREIGN TABLE by_tenant_$number PARTITION OF by_tenant FOR VALUES IN ($number) $of 'by_tenant');
		CREATE FOREIGN TABLE with_default_$number (id bigint DEFAULT uid_next(), tenant integer, body text) $of 'by_tenant');
		CREATE FOREIGN TABLE no_default_$number (id bigint, tenant integer, body text) $of 'by_tenant');
		CREATE FOREIGN TABLE no_column_$number (tenant integer, body text) $of 'by_tenant');
		CREATE FOREIGN TABLE given_$number (id bigint, tenant integer, body text) $of 'given')");
}

# ---- who issues ----

# What this SQL brings to the two shards: who issued the ids, by name, how many rows came to each, and by how many statements.
my %worker;
my %seen;
sub brings
{
	my ($server, $sql) = @_;
	$server->safe_psql('postgres', $sql);
	%worker = map { worker_id($_) => $_->name } $hub, @shards unless %worker;
	my (%issuer, @rows, @statements);
	foreach my $shard (@shards)
	{
		my $name = $shard->name;
		my @ids = grep { !$seen{"$name $_"}++ }
		  split /\n/, $shard->safe_psql('postgres', 'SELECT id FROM by_hash UNION ALL SELECT id FROM by_time UNION ALL SELECT id FROM by_tenant UNION ALL SELECT id FROM given');
		$issuer{ $worker{$_} }++ foreach @ids ? split /\n/, $hub->safe_psql('postgres', 'SELECT (uid_parse(id)).worker FROM unnest(ARRAY[' . join(',', @ids) . ']) AS id') : ();
		push @rows, scalar @ids;
		push @statements, $shard->safe_psql('postgres', 'WITH gone AS (DELETE FROM statement RETURNING 1) SELECT count(*) FROM gone');
	}
	return { by => join(' ', sort keys %issuer), rows => \@rows, statements => \@statements };
}

# Each of them draws an id first, so that it has a worker id.
$_->safe_psql('postgres', 'SELECT uid_next()') foreach $hub, @shards;
my $file = PostgreSQL::Test::Utils::tempdir() . '/rows';
append_to_file($file, join('', map { $_ % 2 . "\n" } 1 .. 1000));

foreach my $table (qw(by_hash by_time by_tenant))
{
	my $came = brings($hub, "INSERT INTO $table (tenant) VALUES (0), (1)");
	is("$came->{by} @{[ $came->{rows}[0] + $came->{rows}[1] ]}", 'hub 2', "$table: INSERT: the ids are the coordinator's");
	foreach ([ 'INSERT ... SELECT', "INSERT INTO $table (tenant) SELECT i % 2 FROM generate_series(1, 1000) AS i" ],
		# LOAD, because a COPY that loads the library itself stores row by row.
		[ 'COPY', "LOAD 'uidgen'; COPY $table (tenant) FROM '$file'" ])
	{
		my ($what, $sql) = @$_;
		my $came = brings($hub, $sql);
		is("$came->{by} @{[ $came->{rows}[0] + $came->{rows}[1] ]}", 'hub 1000', "$table: $what: the ids are the coordinator's");
		my $statements = $came->{statements}[0] + $came->{statements}[1];
		# Before 16, COPY sends row by row to a foreign table.
		cmp_ok($statements, '<=', $what eq 'COPY' && $hub->pg_version < 16 ? 1000 : 12, "... and rows are sent together, in $statements statements");
	}
}

# Into a foreign table, and into a partition itself; into the shard itself.
foreach (
	[ $hub, 'with_default_1', 'hub', 'its foreign table has the default' ],
	[ $hub, 'by_tenant_1', 'hub', 'a partition has the default of its parent' ],
	[ $hub, 'no_column_1', 'shard_1', 'its foreign table lacks the column' ],
	[ $hub, 'given_1', 'shard_1', 'its foreign table has no default, and the shard a trigger' ],
	[ $shards[1], 'by_tenant', 'shard_1', 'the shard itself' ])
{
	my ($server, $table, $who, $why) = @$_;
	foreach ([ 'INSERT', "INSERT INTO $table (tenant) VALUES (1)", 1 ], [ 'INSERT ... SELECT', "INSERT INTO $table (tenant) SELECT 1 FROM generate_series(1, 200)", 200 ],
		[ 'COPY', "COPY $table (tenant) FROM PROGRAM 'yes 1 | head -n 200'", 200 ])
	{
		my ($what, $sql, $count) = @$_;
		my $came = brings($server, $sql);
		is_deeply([ @$came{qw(by rows)} ], [ $who, [ 0, $count ] ], "$why: $what: the ids are of $who");
	}
}
# A column that is left out is sent, as null.
fails_with($hub, 'INSERT INTO no_default_1 (tenant) VALUES (1)', '23502', qr/null value in column "id".*remote SQL command: INSERT INTO public\.by_tenant\(id, tenant, body\)/s,
	'a foreign table that has the column without a default sends a null');
like($hub->safe_psql('postgres', 'INSERT INTO given_1 (tenant) VALUES (1) RETURNING id'), qr/^\d+$/, 'RETURNING tells the id that a trigger of the shard has issued');

# All at once.
my (@sessions, @said);
foreach ([ $hub, 'by_hash' ], [ $hub, 'by_tenant' ], [ $hub, 'no_column_0' ], [ $hub, 'given_1' ], [ $shards[0], 'by_tenant' ], [ $shards[1], 'by_hash' ])
{
	my ($server, $table) = @$_;
	# From a file: what comes from here waits until this session is looked at.
	my $script = PostgreSQL::Test::Utils::tempdir() . '/script';
	append_to_file($script, "INSERT INTO $table (tenant) SELECT i % 2 FROM generate_series(1, 500) AS i;\n" x 20);
	push @said, "$script.said";
	push @sessions, IPC::Run::start(
		[ $server->installed_command('psql'), '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $server->connstr('postgres') ],
		'<', $script, '>&', $said[-1], IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default));
}
$_->finish foreach @sessions;
is(join('', map { slurp_file($_) } @said), '', 'from everywhere at once: no session meets an error');
my @ids = map { split /\n/, $_->safe_psql('postgres', 'SELECT id FROM by_hash UNION ALL SELECT id FROM by_time UNION ALL SELECT id FROM by_tenant UNION ALL SELECT id FROM given') } @shards;
cmp_ok(scalar @ids, '>', 60_000, '... and all rows are there');
is(repeated(\@ids), 0, '... each with an id of its own, in whatever table or shard');

# No unique index could say so.
fails_with($hub, 'ALTER TABLE by_hash ADD PRIMARY KEY (id)', '42809', qr/contains partitions that are foreign tables/, 'the whole table cannot have a primary key');

# ---- rows on the wrong shard ----

# Where the id says which shard it is on, a shard that issues ids itself has ids of others.
my @own = split /\n/, $shards[0]->safe_psql('postgres', 'INSERT INTO by_hash (tenant) SELECT 0 FROM generate_series(1, 100) RETURNING id');
my $found = grep { $hub->safe_psql('postgres', "SELECT count(*) FROM by_hash WHERE id = $_") } @own;
note("$found of 100 rows that a shard took in by itself are found by their id");
cmp_ok($found, '<', 100, 'by hash, rows that a shard takes in by itself are not all found by their id');
@own = split /\n/, $shards[1]->safe_psql('postgres', 'INSERT INTO by_time (tenant) SELECT 0 FROM generate_series(1, 20) RETURNING id');
is(scalar(grep { $hub->safe_psql('postgres', "SELECT count(*) FROM by_time WHERE id = $_") } @own), 20, 'by time they are, on the shard of this time');

# ---- what reaches the shards ----

# The conditions in what is sent to the shards, each once.
sub sent
{
	my ($condition, $table) = @_;
	my $plan = $hub->safe_psql('postgres', 'EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM ' . ($table // 'by_tenant') . " WHERE $condition");
	my %sent = map { /WHERE (.*)/ ? ($1 => 1) : ('all rows' => 1) } $plan =~ /Remote SQL: (.*)/g;
	return join '; ', sort keys %sent;
}

my $between = qr/^\(\(id >= \d+::bigint\)\) AND \(\(id <= \d+::bigint\)\)$/;
like(sent("uid_between(id, '2026-11-21', '2026-11-22', 'default')"), $between, 'uid_between() with a layout is sent, as a range of ids');
is(sent("uid_between(id, '2026-11-21', '2026-11-22')"), 'all rows', '... without one it is not: the layout is a setting');
unlike(sent("uid_between(id, now() - interval '1 hour', NULL, 'default')"), qr/id >=/, '... nor with times that are not constant');
like(sent("id >= (SELECT uid_min(now() - interval '1 hour'))"), qr/^\(\(id >= \(?\$1(?:::bigint)?\)?\)\)$/, '... but a bound out of a subquery is sent');
is(sent("uid_timestamp(id, 'default') > '2026-11-21 00:00:00+00'"), 'all rows', 'a function with a text among its arguments is not, even with the option extensions');
is_deeply([ $hub->safe_psql('postgres', "EXPLAIN SELECT FROM by_time WHERE uid_between(id, '2025-03-01', '2025-04-01', 'default')") =~ /(by_time_\d)/g ],
	['by_time_0'], 'only the shard of that time is asked');

$_->stop foreach $hub, @shards, $registry;
done_testing();
