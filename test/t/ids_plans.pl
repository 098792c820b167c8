# Proves that two calls in one row are two calls (P1), whatever plan the planner makes of
# the statement: each function that draws ids, or numbers of a segment, runs twice in one
# row through many shapes of statements, beside nextval() in the same statement.
#
# The planner takes two equal calls for one in some of them, as it must by PostgreSQL's
# rules (ORDER BY 1).  There nextval() repeats as well, and docs/guide.md says so under
# "One call for two".  Nowhere may uidgen repeat more than nextval().
#
# The control are the same functions labelled PARALLEL SAFE: then each shape that is
# parallel computes two equal calls below Gather, takes them for one above, and so repeats.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use List::Util 'max';
use UidgenTest;

# ---- what is called ----

# signature	as ALTER FUNCTION wants it
# call		in an expression; the signature's, if it is not given
# size		how many ids or numbers it takes, of which it tells the first: blocks
# set		it returns a set
# kind		ids and numbers have nothing to do with each other
my @FUNCTIONS = (
	{ signature => 'uid_next()' },
	{ signature => 'uid_next(integer)', call => 'uid_next(5)' },
	{ signature => 'uid_next_after(bigint)', call => 'uid_next_after(0)' },
	{ signature => 'uid_next_batch(integer, integer)', call => 'uid_next_batch(2)', set => 1 },
	{ signature => 'uid_reserve(integer, integer)', call => 'uid_reserve(3)', size => 3 },
	{ signature => 'uid_segment_next(text)', call => "uid_segment_next('s')" },
	{ signature => 'uid_segment_batch(text, integer)', call => "uid_segment_batch('s', 2)", set => 1 },
	{ signature => 'uid_segment_reserve(text, integer)', call => "uid_segment_reserve('s', 3)", size => 3 });

# What they are compared with: a value, a block and a set.
my @SEQUENCES = (
	{ call => "nextval('one')" },
	{ call => "nextval('three')", size => 3 },
	{ call => 'nextval_batch(2)', set => 1 });

foreach (@FUNCTIONS, @SEQUENCES)
{
	$_->{call} //= $_->{signature};
	$_->{size} //= 1;
	$_->{set} //= 0;
	$_->{label} = $_->{signature} ? 'RESTRICTED' : 'UNSAFE';
	$_->{kind} = $_->{call} =~ /segment/ ? 'numbers' : $_->{call} =~ /uid/ ? 'ids' : $_->{call};
}

sub sequence_of
{
	my ($function) = @_;
	return (grep { $_->{set} == $function->{set} && $_->{size} == $function->{size} } @SEQUENCES)[0];
}

# ---- the shapes ----

# name
# run		the statement; {f} is the call, {from x} the call in FROM, with its value as x.v
# before	statements before it; the transaction is rolled back after all of them
# after		what shows the two values, if the statement does not
# plan		patterns that its plan has, if the functions are uidgen's
# parallel	'all', or only for 'values': in the control these repeat
# only		'values' or 'sets': for functions that return these
# one_call	PostgreSQL makes one call of two here, also for nextval(): 'all', or only for 'values' or 'sets'
my $GATHER = qr/Gather.*Parallel Seq Scan/s;
my $TWO = 'SELECT {f} AS a, {f} AS b';
my $MADE = 'SELECT a, b FROM made';
my $ROWS = 'INSERT INTO made (n) SELECT n FROM small';

my @SHAPES = (
	# parallel
	[ 'a scan', "$TWO FROM rel", parallel => 'all', plan => [$GATHER] ],
	[
		'a scan of a large table, with default settings',
		"$TWO FROM large WHERE n % 1000 = 0",
		before => [
			map { "SET LOCAL $_ TO DEFAULT" }
			  qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size min_parallel_index_scan_size)
		],
		parallel => 'all', plan => [$GATHER]
	],
	[ 'two in an expression', 'SELECT {f} + 0 AS a, 0 + {f} AS b FROM rel', plan => [$GATHER], one_call => 'sets' ],
	[ 'the same expression', 'SELECT {f} + 0 AS a, {f} + 0 AS b FROM rel', parallel => 'all', plan => [$GATHER], one_call => 'sets' ],
	[ 'ORDER BY a column', "$TWO FROM rel ORDER BY k, pad", parallel => 'values', plan => [qr/Gather Merge/] ],
	[ 'LIMIT', "$TWO FROM rel ORDER BY k, pad LIMIT 50", parallel => 'values', plan => [qr/Gather Merge/] ],
	[ 'partitions', "$TWO FROM parts", parallel => 'all', plan => [qr/Gather.*Parallel Append/s] ],
	[
		'partitions, one after the other', "$TWO FROM parts",
		before => ['SET LOCAL enable_parallel_append = off'],
		parallel => 'all', plan => [qr/Gather.*Append/s]
	],
	[ 'a hash join', "$TWO FROM rel JOIN other USING (n)", parallel => 'all', plan => [qr/Gather.*Parallel Hash Join/s] ],
	[
		'a hash join of copies', "$TWO FROM rel JOIN small ON small.n = rel.k",
		before => [ 'SET LOCAL enable_parallel_hash = off', 'SET LOCAL enable_mergejoin = off' ],
		parallel => 'all', plan => [qr/Gather.*Hash Join/s]
	],
	[
		'a merge join', "$TWO FROM rel JOIN other USING (n)",
		before => [ 'SET LOCAL enable_hashjoin = off', 'SET LOCAL enable_nestloop = off' ],
		parallel => 'all', plan => [qr/Gather.*Merge Join/s]
	],
	[
		'a nested loop', "$TWO FROM rel JOIN indexed USING (n)",
		before => [ 'SET LOCAL enable_hashjoin = off', 'SET LOCAL enable_mergejoin = off' ],
		parallel => 'all', plan => [qr/Gather.*Nested Loop/s]
	],
	[
		'an index', "$TWO FROM indexed WHERE n > 0",
		before => [ 'SET LOCAL enable_seqscan = off', 'SET LOCAL enable_bitmapscan = off' ],
		parallel => 'all', plan => [qr/Gather.*Parallel Index (?:Only )?Scan/s]
	],
	[
		'a bitmap', "$TWO FROM indexed WHERE n > 0",
		before => [ 'SET LOCAL enable_seqscan = off', 'SET LOCAL enable_indexscan = off', 'SET LOCAL enable_indexonlyscan = off' ],
		parallel => 'all', plan => [qr/Gather.*Parallel Bitmap Heap Scan/s]
	],
	[
		'compiled', "$TWO FROM rel",
		before => [ 'SET LOCAL jit = on', 'SET LOCAL jit_above_cost = 0' ],
		parallel => 'all', plan => [$GATHER]
	],
	[ 'CREATE TABLE AS', "CREATE TABLE made2 AS $TWO FROM rel", after => 'TABLE made2', parallel => 'all', plan => [$GATHER] ],
	[
		'CREATE MATERIALIZED VIEW', "CREATE MATERIALIZED VIEW made2 AS $TWO FROM rel",
		after => 'TABLE made2', parallel => 'all', plan => [$GATHER]
	],
	[
		'REFRESH MATERIALIZED VIEW', 'REFRESH MATERIALIZED VIEW made2',
		before => ["CREATE MATERIALIZED VIEW made2 AS $TWO FROM rel WITH NO DATA"],
		after => 'TABLE made2', parallel => 'all'
	],
	[ 'COPY TO', "COPY ($TWO FROM rel) TO STDOUT (DELIMITER '|')", parallel => 'all' ],
	[
		'RETURN QUERY', 'SELECT * FROM pairs()',
		before => ["CREATE FUNCTION pairs() RETURNS TABLE (x bigint, y bigint) LANGUAGE plpgsql AS 'BEGIN RETURN QUERY $TWO FROM rel; END'"],
		parallel => 'all'
	],
	[ 'WITH', "WITH w AS ($TWO FROM rel) SELECT * FROM w", parallel => 'all', plan => [$GATHER] ],
	[ 'WITH, materialized', "WITH w AS MATERIALIZED ($TWO FROM rel) SELECT * FROM w", parallel => 'all', plan => [$GATHER] ],
	[ 'WITH, twice', "WITH w AS ($TWO FROM rel) SELECT x.a, y.b FROM w AS x JOIN w AS y USING (a)" ],
	[ 'a subquery', "SELECT b, a FROM ($TWO FROM rel) AS x", plan => [$GATHER] ],
	[ 'a subquery with OFFSET 0', "SELECT a, b FROM ($TWO FROM rel OFFSET 0) AS x", parallel => 'all', plan => [$GATHER] ],
	[ 'a view', 'SELECT * FROM seen', before => ["CREATE VIEW seen AS $TWO FROM rel"], plan => [$GATHER] ],
	[ 'a row', 'SELECT (x).f1, (x).f2 FROM (SELECT ROW({f}, {f})::pair AS x FROM rel OFFSET 0) AS s', plan => [$GATHER], one_call => 'sets' ],
	[ 'an array', 'SELECT x[1], x[2] FROM (SELECT ARRAY[{f}, {f}] AS x FROM rel OFFSET 0) AS s', plan => [$GATHER], one_call => 'sets' ],
	[ 'a window beside', "SELECT a, b FROM (SELECT {f} AS a, {f} AS b, row_number() OVER (ORDER BY n) FROM rel) AS s", plan => [qr/Gather/] ],
	[ 'UNION ALL', "$TWO FROM rel UNION ALL $TWO FROM other", plan => [qr/Gather/] ],
	[
		'a prepared statement', 'EXECUTE p (0)',
		before => [ 'SET LOCAL plan_cache_mode = force_generic_plan', "PREPARE p (int) AS $TWO FROM rel WHERE n > \$1" ],
		after => 'DEALLOCATE p', parallel => 'all', plan => [qr/Gather.*Parallel/s]
	],
	[ 'TABLESAMPLE', "$TWO FROM rel TABLESAMPLE system (100)" ],
	[
		'functions in SQL, which are inlined', 'SELECT own() AS a, own() AS b FROM rel',
		before => ["CREATE FUNCTION own() RETURNS {returns} LANGUAGE sql VOLATILE PARALLEL {label} AS 'SELECT {f}'"],
		plan => [$GATHER]
	],
	[
		'functions in PL/pgSQL', 'SELECT own() AS a, own() AS b FROM rel',
		before => ["CREATE FUNCTION own() RETURNS bigint LANGUAGE plpgsql VOLATILE PARALLEL {label} AS 'BEGIN RETURN {f}; END'"],
		plan => [$GATHER], only => 'values'
	],
	[ 'no table, in a parallel plan nevertheless', $TWO, before => ['SET LOCAL {force} = on'] ],
	[ 'rows of a function, in a parallel plan nevertheless', "$TWO FROM generate_series(1, 200)", before => ['SET LOCAL {force} = on'] ],

	# SELECT
	[ 'not parallel', "$TWO FROM rel", before => ['SET LOCAL max_parallel_workers_per_gather = 0'] ],
	[ 'WHERE', "$TWO FROM rel WHERE {f} > 0 AND {f} > 0", only => 'values' ],
	[ 'ON', "$TWO FROM rel JOIN small ON small.n = rel.n AND {f} > 0", only => 'values' ],
	[ 'ORDER BY 1', "$TWO FROM rel ORDER BY 1", one_call => 'values' ],
	[ 'ORDER BY the expression', "$TWO FROM rel ORDER BY {f}", one_call => 'values' ],
	[ 'ORDER BY both', "$TWO FROM rel ORDER BY 1, 2" ],
	[ 'ORDER BY 1, a part of the other', 'SELECT {f} AS a, {f} + 0 AS b FROM rel ORDER BY 1', one_call => 'all' ],
	[ 'ORDER BY 1, in a subquery', "SELECT a, b FROM ($TWO FROM rel) AS s ORDER BY 1" ],
	[ 'ORDER BY 1, with LATERAL', 'SELECT x.v, y.v FROM rel, LATERAL (SELECT {f} AS v WHERE n > 0) AS x, LATERAL (SELECT {f} AS v WHERE n > 0) AS y ORDER BY 1' ],
	[ 'GROUP BY 1', "$TWO FROM rel GROUP BY 1", only => 'values', one_call => 'values' ],
	[ 'GROUP BY both', "$TWO FROM rel GROUP BY 1, 2", only => 'values' ],
	[ 'GROUP BY a column', "$TWO FROM rel GROUP BY n" ],
	[ 'HAVING', "$TWO FROM rel GROUP BY n HAVING {f} > 0", only => 'values' ],
	[ 'GROUPING SETS', "$TWO FROM rel GROUP BY GROUPING SETS ((n), ())" ],
	[ 'CUBE, without hashing', "$TWO FROM rel GROUP BY CUBE (n, k)", before => ['SET LOCAL enable_hashagg = off'] ],
	[ 'aggregates', 'SELECT max({f}), max({f}) FROM rel GROUP BY n', only => 'values' ],
	[ 'aggregates of all rows', 'SELECT max({f}), max({f}) FROM rel', only => 'values' ],
	[ 'an aggregate with ORDER BY', 'SELECT min(x[1]), min(x[2]) FROM (SELECT array_agg({f} ORDER BY {f}) AS x FROM rel, generate_series(1, 2) GROUP BY n) AS s GROUP BY x', only => 'values' ],
	[ 'windows', 'SELECT max({f}) OVER (PARTITION BY n), max({f}) OVER (PARTITION BY n) FROM rel', only => 'values' ],
	[ 'a window in order of the ids', "SELECT {f} AS a, {f} AS b, row_number() OVER (ORDER BY {f}) FROM rel", only => 'values', one_call => 'values' ],
	[ 'DISTINCT', "SELECT DISTINCT {f} AS a, {f} AS b FROM rel" ],
	[ 'DISTINCT ON a column', "SELECT DISTINCT ON (n) {f} AS a, {f} AS b FROM rel" ],
	[ 'DISTINCT ON the id', "SELECT DISTINCT ON ({f}) {f} AS a, {f} AS b FROM rel" ],
	[ 'UNION', "$TWO FROM rel UNION $TWO FROM other" ],
	[ 'EXCEPT', "$TWO FROM rel EXCEPT $TWO FROM other" ],
	[ 'INTERSECT', "($TWO FROM rel EXCEPT ALL $TWO FROM other) EXCEPT ($TWO FROM rel INTERSECT $TWO FROM other)" ],
	[ 'CASE', 'SELECT CASE WHEN n % 2 = 0 THEN {f} ELSE {f} END, CASE WHEN n % 3 = 0 THEN {f} ELSE {f} END FROM rel', only => 'values' ],
	[ 'COALESCE', 'SELECT coalesce({f}, {f}), coalesce(NULL, {f}) FROM rel', only => 'values' ],
	[ 'GREATEST and NULLIF', 'SELECT greatest({f}, 0), nullif({f}, 0) FROM rel', only => 'values' ],
	[ 'VALUES', 'VALUES ({f}, {f}), ({f}, {f})', only => 'values' ],
	[ 'VALUES in FROM', 'SELECT v.a, v.b FROM small, (VALUES ({f}, {f}), ({f}, {f})) AS v (a, b)', only => 'values' ],
	[ 'subqueries in the list', 'SELECT (SELECT {f}), (SELECT {f}) FROM rel', only => 'values' ],
	[ 'subqueries in the list that depend on the row', 'SELECT (SELECT {f} WHERE n > 0), (SELECT {f} WHERE n > 0) FROM rel', only => 'values' ],
	[ 'FROM', 'SELECT a.v, b.v FROM {from a}, {from b}' ],
	[ 'FROM, beside a table', 'SELECT a.v, b.v FROM small, {from a}, {from b}' ],
	[ 'LATERAL', 'SELECT x.v, y.v FROM rel, LATERAL (SELECT {f} AS v WHERE n > 0) AS x, LATERAL (SELECT {f} AS v WHERE n > 0) AS y' ],
	[ 'LATERAL, both in one', 'SELECT x.a, x.b FROM rel, LATERAL (SELECT {f} AS a, {f} AS b WHERE n > 0) AS x' ],
	[ 'LATERAL, with a memory', 'SELECT x.a, x.b FROM rel, LATERAL (SELECT {f} AS a, {f} AS b WHERE k > 0 OFFSET 0) AS x', before => ['SET LOCAL enable_memoize = on'] ],
	[ 'ROWS FROM', 'SELECT a, b FROM ROWS FROM ({rows}, {rows}) AS x (a, b)', only => 'sets' ],
	[ 'WITH RECURSIVE', 'WITH RECURSIVE r AS (SELECT 1 AS i, {f} AS a, {f} AS b UNION ALL SELECT i + 1, {f}, {f} FROM r WHERE i < 50) SELECT a, b FROM r', only => 'values' ],
	[ 'FOR UPDATE', "$TWO FROM rel FOR UPDATE", only => 'values' ],
	[ 'a cursor', 'FETCH ALL FROM c', before => ["DECLARE c CURSOR FOR $TWO FROM rel"] ],
	[ 'a cursor that is held', 'FETCH ALL FROM c', before => ["DECLARE c SCROLL CURSOR WITH HOLD FOR $TWO FROM rel"] ],
	[ 'variables of PL/pgSQL', 'SELECT * FROM pairs()', before => [<<'SQL'], only => 'values' ],
CREATE FUNCTION pairs() RETURNS TABLE (x bigint, y bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 50 LOOP
		x := {f}; y := {f}; RETURN NEXT;
		SELECT {f}, {f} INTO x, y; RETURN NEXT;
		EXECUTE 'SELECT $1, $2' INTO x, y USING {f}, {f}; RETURN NEXT;
	END LOOP;
END
$$
SQL

	# what is stored
	[ 'INSERT ... SELECT', "INSERT INTO made (a, b) $TWO FROM rel", after => $MADE ],
	[ 'INSERT ... SELECT ... ORDER BY', "INSERT INTO made (a, b) $TWO FROM rel ORDER BY n", after => $MADE ],
	[ 'INSERT ... VALUES', 'INSERT INTO made (a, b) VALUES ({f}, {f}), ({f}, {f})', after => $MADE, only => 'values' ],
	[ 'RETURNING', 'INSERT INTO made (n) SELECT n FROM small RETURNING {f}, {f}', only => 'values' ],
	[ 'two defaults', 'INSERT INTO made (n) SELECT n FROM rel RETURNING a, b', before => ['{defaults}'], only => 'values' ],
	[ 'two defaults, DEFAULT VALUES', 'INSERT INTO made DEFAULT VALUES RETURNING a, b', before => ['{defaults}'], only => 'values' ],
	[ 'two defaults, VALUES', 'INSERT INTO made (a, b) VALUES (DEFAULT, DEFAULT), (DEFAULT, {f}) RETURNING a, b', before => ['{defaults}'], only => 'values' ],
	[ 'two defaults, COPY FROM', 'COPY made (n) FROM STDIN' . join("\n", ';', 1 .. 200, '\.', ''), before => ['{defaults}'], after => $MADE, only => 'values' ],
	[ 'two new columns', 'ALTER TABLE small ADD COLUMN a bigint DEFAULT {f}, ADD COLUMN b bigint DEFAULT {f}', after => 'SELECT a, b FROM small', only => 'values' ],
	[ 'ALTER ... USING', 'ALTER TABLE made ALTER a TYPE bigint USING {f}, ALTER b TYPE bigint USING {f}', before => [$ROWS], after => $MADE, only => 'values' ],
	[ 'ON CONFLICT', 'INSERT INTO made (n) SELECT n FROM rel ON CONFLICT (n) DO UPDATE SET a = {f}, b = {f}', before => [$ROWS], after => $MADE, only => 'values' ],
	[ 'UPDATE', 'UPDATE made SET a = {f}, b = {f}', before => [$ROWS], after => $MADE, only => 'values' ],
	[ 'UPDATE ... FROM', 'UPDATE made SET a = {f}, b = {f} FROM rel WHERE rel.n = made.n RETURNING made.a, made.b', before => [$ROWS], only => 'values' ],
	[ 'UPDATE of a row', 'UPDATE made SET (a, b) = ROW ({f}, {f})', before => [$ROWS], after => $MADE, only => 'values' ],
	[ 'UPDATE by a subquery', 'UPDATE made SET (a, b) = (SELECT {f}, {f} WHERE made.n > 0)', before => [$ROWS], after => $MADE, only => 'values' ],
	[ 'UPDATE ... RETURNING', 'UPDATE made SET k = 1 RETURNING {f}, {f}', before => [$ROWS], only => 'values' ],
	[ 'DELETE ... RETURNING', 'DELETE FROM made RETURNING {f}, {f}', before => [$ROWS], only => 'values' ],
	[ 'WITH ... RETURNING', 'WITH d AS (DELETE FROM made RETURNING {f} AS a, {f} AS b) SELECT a, b FROM d', before => [$ROWS], only => 'values' ],
	[
		'MERGE',
		'MERGE INTO made USING rel ON made.n = rel.n WHEN MATCHED THEN UPDATE SET a = {f}, b = {f}'
		  . ' WHEN NOT MATCHED THEN INSERT (n, a, b) VALUES (rel.n, {f}, {f})',
		before => [$ROWS], after => $MADE, only => 'values'
	],
	[ 'MERGE, from a query that draws', "MERGE INTO made USING (SELECT n, {f} AS x, {f} AS y FROM rel) AS s ON made.n = s.n WHEN NOT MATCHED THEN INSERT (a, b) VALUES (x, y)", after => $MADE ],
	[ 'a trigger', 'INSERT INTO made (n) SELECT n FROM small', before => [<<'SQL'], after => $MADE, only => 'values' ],
CREATE FUNCTION number() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.a := {f}; NEW.b := {f}; RETURN NEW; END';
CREATE TRIGGER number BEFORE INSERT ON made FOR EACH ROW EXECUTE FUNCTION number()
SQL
	[ 'a rule', 'INSERT INTO seen SELECT n FROM small', before => [<<'SQL'], after => $MADE, only => 'values' ],
CREATE VIEW seen AS SELECT n FROM made;
CREATE RULE number AS ON INSERT TO seen DO INSTEAD INSERT INTO made (n, a, b) VALUES (NEW.n, {f}, {f})
SQL

	# a foreign table, which is one of this server
	[ 'a foreign table', "$TWO FROM abroad", abroad => 1 ],
	[ 'a foreign table, sorted', "$TWO FROM abroad ORDER BY n", abroad => 1 ],
	[ 'a foreign table, joined', "$TWO FROM abroad JOIN rel USING (n)", abroad => 1 ],
	[ 'a foreign partition beside others', "$TWO FROM here_and_abroad", abroad => 1 ],
	[ 'INSERT into a foreign table', "INSERT INTO abroad (a, b) $TWO FROM rel RETURNING a, b", abroad => 1 ],
	[ 'COPY into a foreign table', 'COPY abroad (n) FROM STDIN' . join("\n", ';', 201 .. 300, '\.', ''),
		before => ['ALTER TABLE abroad ALTER a SET DEFAULT {f}, ALTER b SET DEFAULT {f}'], after => 'SELECT a, b FROM abroad WHERE n > 200', only => 'values', abroad => 1 ],
	[ 'UPDATE of a foreign table', 'UPDATE abroad SET a = {f}, b = {f} RETURNING a, b', only => 'values', abroad => 1 ],
	[ 'DELETE from a foreign table', 'DELETE FROM abroad RETURNING {f}, {f}', only => 'values', abroad => 1 ]);

@SHAPES = map { my ($name, $run, %more) = @$_; { name => $name, run => $run, %more } } @SHAPES;
my %shape = map { $_->{name} => $_ } @SHAPES;
is(scalar keys %shape, scalar @SHAPES, 'each shape has a name of its own');

# ---- the server ----

# A tick has room for all tags and blocks, and drawing need not wait.
my $node = uidgen_node('plans', "uidgen.layout = 'time:41:1ms worker:6 tag:4 sequence:12 epoch:2025-01-01'", 'uidgen.max_burst = 1h', 'autovacuum = off');
$node->start;
my $rows = 200;
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION uidgen;
CREATE EXTENSION uidgen_registry;
SELECT uidgen_registry.create_segment('s');
CREATE SEQUENCE one;
CREATE SEQUENCE three INCREMENT 3;
CREATE FUNCTION nextval_batch(n int) RETURNS SETOF bigint LANGUAGE plpgsql AS
	'BEGIN FOR i IN 1 .. n LOOP RETURN NEXT nextval(''public.one''); END LOOP; END';
CREATE TYPE pair AS (f1 bigint, f2 bigint);
-- Several pages, so that there is something to share.
CREATE TABLE rel AS SELECT n, n % 7 AS k, repeat('x', 300) AS pad FROM generate_series(1, $rows) AS n;
CREATE TABLE other AS SELECT * FROM rel;
CREATE TABLE indexed AS SELECT * FROM rel;
ALTER TABLE indexed ADD PRIMARY KEY (n), SET (parallel_workers = 2);
CREATE TABLE small AS SELECT n FROM generate_series(1, 40) AS n;
CREATE UNLOGGED TABLE large AS SELECT n, repeat('x', 50) AS pad FROM generate_series(1, 200000) AS n;
CREATE TABLE parts (LIKE rel) PARTITION BY HASH (n);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM rel;
CREATE TABLE made (n int UNIQUE, k int, a bigint, b bigint);
ALTER TABLE small SET (parallel_workers = 0);
ALTER TABLE rel SET (parallel_workers = 2);
ALTER TABLE other SET (parallel_workers = 2);
ALTER TABLE large SET (parallel_workers = 2);
ALTER TABLE parts0 SET (parallel_workers = 2);
ALTER TABLE parts1 SET (parallel_workers = 2);
VACUUM ANALYZE;
SQL

# The server itself is the foreign server.
my $has_abroad = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
$node->safe_psql('postgres', sprintf <<'SQL', $node->host, $node->port, $rows) if $has_abroad;
CREATE EXTENSION postgres_fdw;
CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname 'postgres', async_capable 'true', batch_size '10');
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
CREATE TABLE remote AS SELECT n, n %% 7 AS k, NULL::bigint AS a, NULL::bigint AS b FROM generate_series(1, %d) AS n;
CREATE FOREIGN TABLE abroad (n int, k int, a bigint, b bigint) SERVER loopback OPTIONS (table_name 'remote');
CREATE TABLE here_and_abroad (n int, k int, a bigint, b bigint) PARTITION BY LIST (k);
CREATE FOREIGN TABLE partition_abroad PARTITION OF here_and_abroad DEFAULT SERVER loopback OPTIONS (table_name 'remote');
CREATE TABLE partition_here PARTITION OF here_and_abroad FOR VALUES IN (100);
INSERT INTO here_and_abroad (n, k) SELECT n, 100 FROM small;
SQL
note('the server has no postgres_fdw: no foreign tables') unless $has_abroad;

my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';

# ---- running them ----

# The shapes that are for a function.
sub shapes_for
{
	my ($function) = @_;
	return grep {
		(!$_->{abroad} || $has_abroad) && (!$_->{only} || ($_->{only} eq 'sets') == $function->{set})
	} @SHAPES;
}

# SQL with the function in it.
sub filled
{
	my ($sql, $function) = @_;
	my $call = $function->{call};
	$sql =~ s/\{defaults\}/ALTER TABLE made ALTER a SET DEFAULT {f}, ALTER b SET DEFAULT {f}/g;
	$sql =~ s/\{returns\}/$function->{set} ? 'SETOF bigint' : 'bigint'/ge;
	$sql =~ s/\{force\}/$force/g;
	$sql =~ s/\{label\}/$function->{label}/g;
	$sql =~ s/\{rows\}/$call/g;
	$sql =~ s/\{from (\w+)\}/$call AS $1 (v)/g;
	# Inside of what is quoted already, quotes are doubled.
	$sql =~ s/( AS )'((?:SELECT|BEGIN) [^']*\{f\}[^']*)'/my ($as, $body) = ($1, $2); "$as\$\$$body\$\$"/ge;
	$sql =~ s/\{f\}/$call/g;
	return $sql;
}

# Begin to run shapes with a function, in a session of its own; @first: what comes first
# in each transaction.  Returns what end_run() takes.
sub begin_run
{
	my ($function, $shapes, @first) = @_;
	my $script = join('', map { "SET $_ = 0;\n" }
		qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size min_parallel_index_scan_size));
	# Workers take time, and it is the planner's work that is looked at.  Without them, Gather
	# does what they would do.
	$script .= "SET max_parallel_workers = 0;\n" unless $function->{signature} && $function->{signature} eq 'uid_next()';
	foreach my $shape (@$shapes)
	{
		my $end = $shape->{run} =~ /\\\.$/ ? '' : ";\n";
		$script .= "\\echo == $shape->{name}\nBEGIN;\n"
		  . filled(join('', map { "$_;\n" } @first, @{ $shape->{before} // [] }), $function)
		  . ($shape->{plan} ? filled("EXPLAIN (VERBOSE, COSTS OFF) $shape->{run};\n", $function) : '')
		  . "\\echo = rows\n"
		  . filled("$shape->{run}$end" . ($shape->{after} ? "$shape->{after};\n" : ''), $function)
		  . "ROLLBACK;\n";
	}
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ],
		'<', \$script, '>', \$out, '2>', \$err, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	return { run => $run, function => $function, shapes => $shapes, out => \$out, err => \$err };
}

# Returns for each shape, by name: its plan; rows; equal, rows whose two values are the
# same or blocks that overlap; repeated, values that another call had returned; and calls,
# the different ones as [first, last].
sub end_run
{
	my ($begun) = @_;
	my $size = $begun->{function}{size};
	my %result;

	die "$begun->{function}{call}: ${$begun->{err}}" unless $begun->{run}->finish;
	my (undef, %text) = split /^== (.*)\n/m, ${ $begun->{out} };
	foreach my $shape (@{ $begun->{shapes} })
	{
		my ($plan, $lines) = split /^= rows\n/m, $text{ $shape->{name} };
		my @rows = map { [ split /\|/ ] } split /\n/, $lines // '';
		my @values = sort { $a <=> $b } grep { defined && $_ ne '' } map { @{$_}[ 0, 1 ] } @rows;
		my @calls;
		my $repeated = 0;
		foreach (@values)
		{
			if (@calls && $calls[-1][1] >= $_) { $repeated++ }
			else { push @calls, [ $_, $_ + $size - 1 ] }
		}
		$result{ $shape->{name} } = {
			plan => $plan,
			rows => scalar @rows,
			equal => scalar(grep { ($_->[0] // '') ne '' && ($_->[1] // '') ne '' && abs($_->[0] - $_->[1]) < $size } @rows),
			repeated => $repeated,
			calls => \@calls
		};
	}
	return \%result;
}

# So many at a time.
sub run_all
{
	my (@what) = @_;
	my @results;
	while (my @some = splice @what, 0, 3)
	{
		push @results, map { end_run($_) } map { begin_run(@$_) } @some;
	}
	return @results;
}

# How many ranges begin within another one.
sub overlaps
{
	my $end = -1;
	my $overlaps = 0;
	foreach (sort { $a->[0] <=> $b->[0] } @_)
	{
		$overlaps++ if $_->[0] <= $end;
		$end = max($end, $_->[1]);
	}
	return $overlaps;
}

# ---- two in one row, beside nextval() ----

my @results = run_all(map { [ $_, [ shapes_for($_) ] ] } @SEQUENCES, @FUNCTIONS);
$_->{result} = shift @results foreach @SEQUENCES, @FUNCTIONS;

# Where PostgreSQL makes one call of two, as the page says.
foreach my $sequence (@SEQUENCES)
{
	my @one_call = grep { $sequence->{result}{ $_->{name} }{equal} > 0 } shapes_for($sequence);
	is(
		join("\n", map { $_->{name} } @one_call),
		join("\n", map { $_->{name} } grep { ($_->{one_call} // '') =~ ($sequence->{set} ? qr/^(?:all|sets)$/ : qr/^(?:all|values)$/) } shapes_for($sequence)),
		"$sequence->{call}: the shapes in which PostgreSQL makes one call of two");
}

foreach my $function (@FUNCTIONS)
{
	my ($name, $result) = @{$function}{qw(call result)};
	my $beside = sequence_of($function)->{result};
	my (@worse, @no_rows, @other_plan);

	foreach my $shape (shapes_for($function))
	{
		my ($own, $other) = map { $_->{ $shape->{name} } } $result, $beside;
		push @worse, sprintf '%s: %d rows of %d, %d repeated; nextval(): %d rows of %d, %d repeated', $shape->{name},
		  (map { @{$_}{qw(equal rows repeated)} } $own, $other)
		  if $own->{equal} > $other->{equal} || $own->{repeated} > $other->{repeated};
		push @no_rows, "$shape->{name}: $own->{rows} rows, not $other->{rows}" if $own->{rows} == 0 || $own->{rows} != $other->{rows};
		push @other_plan, map { "$shape->{name}: $own->{plan}" } grep { $own->{plan} !~ $_ } @{ $shape->{plan} // [] };
	}
	is(join("\n", @worse), '', "$name: in no shape does it repeat more than nextval()");
	is(join("\n", @no_rows), '', "$name: all have their rows");
	is(join("\n", @other_plan), '', "$name: parallel shapes have a parallel scan below Gather");
}

# Over all shapes and functions together.
foreach my $kind (qw(ids numbers))
{
	my @calls = map { @{ $_->{calls} } } map { values %{ $_->{result} } } grep { $_->{kind} eq $kind } @FUNCTIONS;
	is(overlaps(@calls), 0, scalar(@calls) . " calls for $kind: none repeats what another statement had");
}

# ---- the control ----

# The shapes that are to repeat then.
sub parallel_shapes_for
{
	my ($function) = @_;
	return grep { $_->{parallel} && ($_->{parallel} eq 'all' || !$function->{set}) } shapes_for($function);
}

my @controls = run_all(map { [ { %$_, label => 'SAFE' }, [ parallel_shapes_for($_) ], "ALTER FUNCTION $_->{signature} PARALLEL SAFE" ] } @FUNCTIONS);
foreach my $function (@FUNCTIONS)
{
	my $control = shift @controls;
	is(join("\n", grep { $control->{$_}{equal} == 0 } sort keys %$control),
		'', "$function->{call}, if it were labelled PARALLEL SAFE: each of " . keys(%$control) . ' parallel shapes repeats');
}

# Functions around it count by their own label.
my ($around) = run_all([ { %{ $FUNCTIONS[0] }, label => 'SAFE' }, [ grep { $_->{run} =~ /\bown\(\)/ } @SHAPES ] ]);
is(join("\n", grep { $around->{$_}{equal} == 0 } sort keys %$around),
	'', 'so does a function around uid_next() that is labelled so');

$node->stop;
done_testing();
