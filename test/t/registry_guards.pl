# What statements of a table's owner, meant for other tables, do to the registry's: each is refused, or found by the next call
# for a worker id, with a statement that mends it.  DISABLE TRIGGER ALL, as loaders of fixtures run it; SET UNLOGGED, which a
# crash follows; TRUNCATE and rows as replication brings them; keys, children, rules and row security.
# Promise: P6
# Kills: script/registry/10_registry.sql check_tables: ORDER BY g.n LIMIT 1; => ORDER BY g.n LIMIT 0;

use FindBin;
use List::Util qw(max);
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', 'uidgen.window = 200ms', 'restart_after_crash = on');
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION uidgen; SELECT uid_next(); SELECT uidgen_registry.create_segment('s')});

# What a server that starts calls.
my $call = q{SELECT worker FROM uidgen.layout_numbers() AS l, uidgen_registry.acquire_worker_id('another', l.layout,
	0, -1, -1, 'reuse', true, 0, 10, 60000, 60000, 'h', 1, 1)};
$node->safe_psql('postgres', $call);
my $ROWS = 'SELECT (SELECT count(*) FROM uidgen_registry.worker_node), (SELECT count(*) FROM uidgen_registry.registry), (SELECT count(*) FROM uidgen_registry.segment)';
my $rows = $node->safe_psql('postgres', $ROWS);

is((sqlstate_of($node, "SET quote_all_identifiers = on; $call"))[0], '', 'a setting that quotes names has no defects found');

# ---- refused where it is done ----

foreach my $table (qw(worker_node registry segment))
{
	my ($column) = { worker_node => 'host_name', registry => 'layout', segment => 'description' }->{$table};
	fails_with($node, $_, '55000', qr/(?:is not changed by hand|cannot truncate).*DETAIL: .*HINT: .*uidgen_registry\./s, $_)
	  foreach "UPDATE uidgen_registry.$table SET $column = 'x'", "DELETE FROM uidgen_registry.$table", "INSERT INTO uidgen_registry.$table SELECT * FROM uidgen_registry.$table",
	  "MERGE INTO uidgen_registry.$table AS t USING (VALUES (1)) AS v (n) ON true WHEN MATCHED THEN DELETE",
	  "TRUNCATE uidgen_registry.$table", "SET session_replication_role = replica; TRUNCATE uidgen_registry.$table",
	  "SET search_path = pg_catalog, uidgen_registry; DELETE FROM uidgen_registry.$table";
	$node->safe_psql('postgres', "SET session_replication_role = replica; DELETE FROM uidgen_registry.$table; UPDATE uidgen_registry.$table SET $column = 'x';
		INSERT INTO uidgen_registry.$table SELECT * FROM uidgen_registry.$table");
}
is($node->safe_psql('postgres', $ROWS), $rows, 'nothing was changed, in the role of replication neither');

# ---- found, and mended ----

# The longest hint, as it would be in a database whose name has 20 characters.
my $longest = 0;
sub hint_of
{
	my ($hint) = $_[0] =~ /^HINT:  (.*)/m;
	$longest = max($longest, length($hint) - length('postgres') + 20) if defined $hint;
	return $hint // '';
}

# Two tests: a call finds it, and what it says mends it.
sub found
{
	my ($sql, $pattern, $table) = @_;
	$node->safe_psql('postgres', $sql);
	my ($sqlstate, $said) = sqlstate_of($node, $call);
	like("$sqlstate $said", qr/^55000 .*table uidgen_registry\.$table is not as it was made.*DETAIL: .*$pattern/s, $sql);
	for (my $tries = 0; $tries < 2 && hint_of($said) =~ /^In database "postgres", its owner can run: (.*)/; $tries++)
	{
		$node->safe_psql('postgres', $1);
		(undef, $said) = sqlstate_of($node, $call);
	}
	unlike($said, qr/ERROR/, '... and what it says mends it');
	return;
}
foreach my $table (qw(worker_node registry segment))
{
	my $key = { worker_node => 'datacenter_id, worker_id', registry => 'only_one', segment => 'name' }->{$table};
	found($_->[0], $_->[1], $table)
	  foreach [ "ALTER TABLE uidgen_registry.$table DISABLE TRIGGER ALL; ALTER TABLE uidgen_registry.$table ENABLE TRIGGER ALL", 'guard guard_row' ],
	  [ "ALTER TABLE uidgen_registry.$table DISABLE TRIGGER ALL", 'guard guard_row' ],
	  [ "ALTER TABLE uidgen_registry.$table ENABLE REPLICA TRIGGER guard_row", 'guard guard_row' ],
	  [ "ALTER TABLE uidgen_registry.$table DISABLE TRIGGER refuse_truncate", 'guard refuse_truncate' ],
	  [ "DROP TRIGGER guard_row ON uidgen_registry.$table", 'guard guard_row' ],
	  [ "CREATE OR REPLACE TRIGGER guard_row BEFORE INSERT OR UPDATE OR DELETE ON uidgen_registry.$table FOR EACH ROW WHEN (false) EXECUTE FUNCTION uidgen_registry.guard_row(); ALTER TABLE uidgen_registry.$table ENABLE ALWAYS TRIGGER guard_row", 'guard guard_row' ],
	  [ "CREATE OR REPLACE TRIGGER guard_row BEFORE UPDATE ON uidgen_registry.$table FOR EACH ROW EXECUTE FUNCTION uidgen_registry.guard_row(); ALTER TABLE uidgen_registry.$table ENABLE ALWAYS TRIGGER guard_row", 'guard guard_row' ],
	  [ "ALTER TABLE uidgen_registry.$table SET UNLOGGED", 'not logged' ],
	  [ qq{CREATE TABLE "a \x{22}\x{22}child" () INHERITS (uidgen_registry.$table)}, 'by inheritance' ],
	  [ "ALTER TABLE uidgen_registry.$table DROP CONSTRAINT ${table}_pkey", 'primary key' ],
	  [ "ALTER TABLE uidgen_registry.$table DROP CONSTRAINT ${table}_pkey, ADD CONSTRAINT ${table}_pkey PRIMARY KEY ($key) DEFERRABLE", 'primary key' ],
	  [ "ALTER TABLE uidgen_registry.$table RENAME CONSTRAINT ${table}_pkey TO \"" . 'a ' x 31 . 'a"', 'primary key' ],
	  [ "ALTER TABLE uidgen_registry.$table ENABLE ROW LEVEL SECURITY", 'row level security' ],
	  [ qq{CREATE RULE "a rule" AS ON UPDATE TO uidgen_registry.$table DO INSTEAD NOTHING}, 'Rule "a rule"' ];
	$node->safe_psql('postgres', qq{DROP TABLE "a \x{22}\x{22}child"});

	# A temporary child, and one of a long name, are its owner's to find.
	my $session = $node->background_psql('postgres');
	$session->query_safe("CREATE TEMP TABLE child () INHERITS (uidgen_registry.$table)");
	my $said = (sqlstate_of($node, $call))[1];
	like($said, qr/not as it was made.*by inheritance/s, "a temporary child of $table");
	is(hint_of($said), 'It is a temporary table in database "postgres": its session has to end.', '... and what has to happen');
	$session->quit;
	ok(poll_until(sub { (sqlstate_of($node, $call))[0] eq '' }), '... which is enough');
	my $child = '"' . 'a ' x 31 . 'a"';
	$node->safe_psql('postgres', "CREATE SCHEMA $child; CREATE TABLE $child.$child () INHERITS (uidgen_registry.$table)");
	$said = (sqlstate_of($node, $call))[1];
	like($said, qr/The rows of table $child\.$child count.*HINT: .*: ALTER TABLE \.\.\. NO INHERIT uidgen_registry\.$table$/ms, 'a child of a long name');
	hint_of($said);
	$node->safe_psql('postgres', "DROP SCHEMA $child CASCADE");
}
cmp_ok($longest, '<=', 250, 'a keeper can pass on each statement as a whole');
cmp_ok($longest, '>', 150, '... of which some are long');
is($node->safe_psql('postgres', q{SELECT string_agg(format('%s %s %s', tgrelid::regclass, tgname, tgenabled), ', ' ORDER BY 1) FROM pg_trigger WHERE tgname IN ('guard_row', 'refuse_truncate') AND tgrelid::regclass::text ~ 'uidgen_registry\.(worker|registry|segment)'}) =~ tr/A//,
	6, 'all guards always fire');
is($node->safe_psql('postgres', $ROWS), $rows, 'nothing was changed');

# ---- while ids are drawn ----

my $renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
$node->safe_psql('postgres', q{DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT c.oid FROM pg_class AS c WHERE relnamespace = 'uidgen_registry'::regnamespace AND relkind = 'r' LOOP
		EXECUTE format('ALTER TABLE %s DISABLE TRIGGER ALL', t);
		EXECUTE format('ALTER TABLE %s ENABLE TRIGGER ALL', t);
	END LOOP; END $$});
my $failed = '';
poll_until(sub {
		$failed = (try_psql($node, 'SELECT uid_next()'))[2];
		$failed || $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status') > $renewals + 3 }) or die;
is($failed, '', 'after DISABLE and ENABLE TRIGGER ALL, ids go on');
$node->restart;
fails_with($node, 'SELECT uid_next()', '55000', qr/table uidgen_registry\.\w+ is not as it was made.*its owner can run: ALTER TABLE uidgen_registry\.\w+ ENABLE ALWAYS TRIGGER/s, 'a server that starts says what is missing');
foreach (1 .. 3)
{
	$node->safe_psql('postgres', $1) if (try_psql($node, 'SELECT uid_next()'))[2] =~ /its owner can run: (.*)/;
}
is((try_psql($node, 'SELECT uid_next()'))[0], 0, '... and goes on, once each table is mended');

# A server that runs knows how far its grants reach, but not what was reserved.
my $number = $node->safe_psql('postgres', 'SELECT id FROM uidgen_registry.registry');
$node->safe_psql('postgres', 'ALTER TABLE uidgen_registry.worker_node DISABLE TRIGGER guard_row; DELETE FROM uidgen_registry.worker_node; ALTER TABLE uidgen_registry.worker_node ENABLE ALWAYS TRIGGER guard_row');
ok(end_keeper($node), 'rows are gone, and the keeper ends');
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), '... a server that runs goes on');
isnt($node->safe_psql('postgres', 'SELECT id FROM uidgen_registry.registry'), $number, '... with a registry of another number, whose reservations the former ones are not');

# ---- a crash empties what is not logged ----

$node->safe_psql('postgres', q{SELECT uidgen_registry.create_segment('emptied'); SELECT uid_segment_next('emptied');
	ALTER TABLE uidgen_registry.worker_node SET UNLOGGED; ALTER TABLE uidgen_registry.segment SET UNLOGGED; CHECKPOINT; SELECT uid_next()});
$node->stop('immediate');
$node->start;
fails_with($node, 'SELECT uid_next()', '55000', qr/not logged: a crash empties it, or has done so.*ALTER TABLE uidgen_registry\.worker_node SET LOGGED/s, 'a table that is not logged');
fails_with($node, $_, '55000', qr/table uidgen_registry\.segment is not as it was made.*create each segment again afterwards, with a first number above all.*ALTER TABLE uidgen_registry\.segment SET LOGGED/s, "... so does $_")
  foreach q{SELECT uidgen_registry.create_segment('emptied')}, q{SELECT * FROM uidgen_registry.segment_fetch('emptied', 1, 0, 0, '{}', -1, 9223372036854775807)};
$node->safe_psql('postgres', 'ALTER TABLE uidgen_registry.worker_node SET LOGGED; ALTER TABLE uidgen_registry.segment SET LOGGED');
fails_with($node, 'SELECT uid_next()', '55000', qr/the registry has lost its rows.*DETAIL: .*HINT: .*SELECT uidgen_registry\.end_registry\(\) in database "postgres"/s, '... and that its rows are gone');
$node->safe_psql('postgres', 'SELECT uidgen_registry.end_registry()');
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), '... and how to go on');

done_testing();
