# The first grant pins the layout: a server started with another one issues
# nothing until the layout is set back, since ids of two layouts could be equal.  A layout
# that is only written differently is the same one.  pg_regress cannot start a server with
# another setting.  Partitions of both are made and dropped after a new layout.
# Promise: P6
# Kills: src/ids/layout_used.c look: RelationGetDescr(table)->natts == COLUMNS) => RelationGetDescr(table)->natts != COLUMNS)

use FindBin;
use lib "$FindBin::RealBin/../perl";
use SqlEdition;
use Twins;
use UidgenTest;

my $first_layout = 'time:41:1ms worker:10 sequence:12 epoch:2025-01-01';
my $second_layout = 'time:40:1ms worker:10 sequence:13 epoch:2025-01-01';

my $node = uidgen_node('main', "uidgen.wait_timeout = '1h'", "include_if_exists = 'layout.conf'");
my $conf = $node->data_dir . '/layout.conf';
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $last = $node->safe_psql('postgres', 'SELECT uid_next()');
is($node->safe_psql('postgres', 'SELECT layout, unit, max_tick, max_worker FROM uidgen_registry.registry'),
	"$first_layout|1000|2199023255551|1023",
	'the first grant pins the layout');

sub restart_with
{
	my ($layout) = @_;
	unlink $conf;
	append_to_file($conf, "uidgen.layout = '$layout'\n");
	$node->restart;
}

restart_with($second_layout);
my $before = $node->safe_psql('postgres', 'SELECT n, l FROM uidgen_registry.worker_node AS n, uidgen_registry.registry AS l');
fails_with($node, 'SELECT uid_next()', '55000',
	qr/this database has ids of another layout.*DETAIL:.*"$first_layout".*"$second_layout".*HINT:.*"uidgen.layout"/s,
	'another layout is refused, and both are told');
# Where the owner allows for it, and where no id was drawn, the registry refuses it.
$node->safe_psql('postgres', 'CREATE DATABASE other; SELECT uidgen.use_layout()');
$node->safe_psql('other', 'CREATE EXTENSION uidgen');
fails_with($node, 'SELECT uid_next()', '55000',
	qr/differs from the registry's.*DETAIL:.*"$first_layout".*"$second_layout".*HINT:.*"uidgen.layout"/s,
	'the registry refuses it besides', $_) foreach qw(postgres other);
is($node->safe_psql('postgres', 'SELECT bits FROM uid_layout() WHERE name = \'sequence\''), '13',
	'the server decodes by its own layout');
is( $node->safe_psql('postgres', 'SELECT n, l FROM uidgen_registry.worker_node AS n, uidgen_registry.registry AS l'),
	$before, 'the registry is as it was');

# Another database is another registry: the way to a new layout.
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.database = 'fresh'");
$node->reload;
ok( $node->poll_query_until('postgres', "SELECT current_setting('uidgen.database') = 'fresh'")
	  && poll_until(sub { (sqlstate_of($node, 'SELECT uid_next()'))[0] eq '' }),
	'a new registry takes the new layout');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET uidgen.database');

# Set back, but written differently.
restart_with(' epoch:2025-01-01T00:00:00Z  time:41:1000us   worker:10 sequence:12 ');
my $next = $node->safe_psql('postgres', 'SELECT uid_next()');
cmp_ok($next, '>', $last, 'with the old layout, in other words, ids go on');
is($node->safe_psql('postgres', 'SELECT count(*), sum(launches) FROM uidgen_registry.worker_node'), '1|2',
	'and the refused start took no worker id');

# ---- partitions of two layouts ----

# The job of docs/partitions.md goes on after "A new layout" of docs/layouts.md, once with larger ids and once with smaller ones.
my $make = "SELECT count(*) FROM uid_partitions('event', now(), now() + interval '3 months', '1 month', true)";
my $drop = "SELECT count(*) FROM uid_drop_partitions('event', now() - interval '6 months', true";
# The owner of the tables
sub keeper_says
{
	my ($sql) = @_;
	return as($node, 'keeper', 'parts', "SET client_min_messages = warning; $sql");
}

sub begin_layout
{
	my ($kind, $database, $layout) = @_;
	if ($kind eq 'edition')
	{
		$node->safe_psql('parts', 'ALTER TABLE event ALTER id DROP DEFAULT');
		like(as($node, 'maker', 'parts', 'SELECT uidgen_tools.take_out(); SELECT uidgen.take_out()'), qr/^\d+$/m, 'the edition is taken out');
		put_twin_in($kind, $node, 'parts', layout => $layout);
		$node->safe_psql('parts', 'ALTER TABLE event ALTER id SET DEFAULT uid_next()');
		return;
	}
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my $given = $node->safe_psql($node->safe_psql('postgres', 'SHOW uidgen.database'), q{SELECT last_value FROM uidgen_registry.segment WHERE name = 's'});
	# As the page says.
	$node->safe_psql($database, "CREATE EXTENSION uidgen_registry; SELECT uidgen_registry.create_segment('s', start => $given + 1)");
	$node->safe_psql('postgres', "ALTER SYSTEM SET uidgen.database = '$database'");
	restart_with($layout);
	$node->safe_psql('parts', 'SELECT uidgen.use_layout()');
}

sub store
{
	$node->safe_psql('parts', "INSERT INTO event (body) SELECT 'row ' || n FROM generate_series(1, 100) AS n");
}

sub rows
{
	return $node->safe_psql('parts', 'SELECT count(*) FROM event');
}

foreach my $kind (kinds())
{
	# The extension goes on with its server.
	if ($kind eq 'edition')
	{
		$node->stop;
		$node = twin_node($kind);
		$node->start;
	}
	$node->safe_psql('postgres', 'CREATE DATABASE parts');
	put_twin_in($kind, $node, 'parts');
	$node->safe_psql('parts', "CREATE ROLE keeper LOGIN; GRANT CREATE ON SCHEMA public TO keeper; CREATE TABLE event (id bigint PRIMARY KEY DEFAULT uid_next(), body text) PARTITION BY RANGE (id);
		ALTER TABLE event OWNER TO keeper");
	keeper_says(q{SELECT FROM uid_partitions('event', now() - interval '7 months', now() + interval '3 months', '1 month', true)});
	store();
	$node->safe_psql('parts', "INSERT INTO event (id) VALUES (uid_min(now() - interval '7 months')), (uid_min(now() - interval '5 months'))");

	# Without its rows, nothing tells which layouts the ids have.
	if ($kind eq 'extension')
	{
		fails_with($node, $_, '55000', qr/cannot truncate uidgen\.layout_used.*DETAIL: .*uid_drop_partitions.*HINT: .*delete the row/s, $_, 'parts')
		  foreach 'TRUNCATE uidgen.layout_used', 'SET session_replication_role = replica; TRUNCATE uidgen.layout_used', 'ALTER TABLE uidgen.layout_used DISABLE TRIGGER ALL, ENABLE ALWAYS TRIGGER refuse_truncate; TRUNCATE uidgen.layout_used';
	}
	my $used = $kind eq 'extension' ? 'uidgen.layout_used' : 'uidgen_history.layout_used';
	$node->safe_psql('parts', "CREATE TABLE kept AS TABLE $used; DELETE FROM $used");
	is(keeper_says("SELECT count(*) FROM uid_drop_partitions('event', now() - interval '6 months', force => true) AS d WHERE d ~ '^DROP'"), '1', 'the layouts are in the records of the partitions, too');
	$node->safe_psql('parts', "INSERT INTO $used TABLE kept");
	$node->safe_psql('parts', "ALTER TABLE $used SET UNLOGGED");
	like(keeper_says("$drop)"), qr/55000: it is not certain which layouts the ids of table "event" have.*DETAIL: .*not logged.*HINT: .*fourth argument/s, 'where a crash would empty them, a layout has to be named');
	is(keeper_says("SELECT count(*) FROM uid_drop_partitions('event', now() - interval '6 months', false, 'default', true) AS d WHERE d ~ '^DROP'"), '1', '... and then counts');
	$node->safe_psql('parts', "ALTER TABLE $used SET LOGGED");

	my $number;
	if ($kind eq 'extension')
	{
		$node->safe_psql('postgres', "SELECT uidgen_registry.create_segment('s'), uidgen_registry.create_segment('left behind')");
		$number = $node->safe_psql('postgres', "SELECT uid_segment_next('s') FROM generate_series(1, 3) ORDER BY 1 DESC LIMIT 1");
	}
	begin_layout($kind, 'early', 'default epoch:2015-01-01');
	if ($kind eq 'extension')
	{
		cmp_ok($node->safe_psql('postgres', "SELECT uid_segment_next('s')"), '>', $number, 'a segment goes on above its numbers');
		fails_with($node, "SELECT uid_segment_next('left behind')", '42704', qr/no such segment.*HINT: .*create_segment\(\), in database "early", and has to commit that before numbers are drawn; if it was there before, with start => above all numbers/s, '... and one that was left behind says how to');
		$node->safe_psql('parts', 'SELECT uidgen.ask_for_grant()');
		my $permit = $node->safe_psql('early', q{SELECT uidgen_registry.reserve_backfill('} . $node->safe_psql('parts', 'SELECT uidgen.backfill_home()') . q{')});
		like((try_psql($node, "SELECT uidgen.accept_backfill('$permit')", database => 'parts'))[2], qr/WARNING:  this database has ids of another layout.*DETAIL:  They are of "\Q$first_layout\E"/s,
			'whoever accepts a worker id for ids of past times is warned of live ids of the old layout');
	}
	is(keeper_says($make), '4', 'after a layout of larger ids, partitions are made as before');
	is($node->safe_psql('parts', q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass AND inhrelid::regclass::text ~ '^event_\d{4}_\d\d_2$'}), '4', '... by another name, since that of the month is taken');
	store();
	is(keeper_says("$drop, 'default epoch:2015-01-01', true)"), '0', 'by the new one alone all old partitions are past: none of them goes by it');
	is(keeper_says("$drop)"), '0', '... and with few rows none by its own');
	is(keeper_says("$drop, true)"), '1', '... until that is forced');
	is(rows(), '201', '... with its row, and no other');
	is($node->safe_psql('parts', q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass}), '14', '... and what is to come stays');
	# Nothing is left that knows the old layout, but the records.
	$node->safe_psql('parts', "SET client_min_messages = warning; " . ($kind eq 'edition' ? "DELETE FROM $used WHERE layout = '$first_layout'"
		: 'DROP EXTENSION uidgen CASCADE; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools; ALTER TABLE event ALTER id SET DEFAULT uid_next()'));
	is($node->safe_psql('parts', "SELECT uid_next() > 0, (SELECT string_agg(layout, ', ') FROM $used)") =~ s/ epoch.*/.../r, $kind eq 'edition' ? 't|time:41:1ms worker:10 sequence:12...' : 't|', 'the database forgets a layout');
	is(keeper_says("$drop, true)"), '0', '... and no partition of that is past');
	# Of the new layout, too, once there are such.
	keeper_says("SELECT FROM uid_partitions('event', now() - interval '8 months', now() - interval '7 months', '1 month', true)");
	cmp_ok(keeper_says("$drop, 'default epoch:2015-01-01', true)"), '>=', 1, '... and of the new layout what is past by that');
	is(rows(), '201', '... and nothing else');

	# What readers do then, as the page says: the check knows it.
	my $changes = 'SELECT id, gone FROM (SELECT id, changed, false AS gone FROM item UNION ALL SELECT id, changed, true FROM item_deleted) AS c WHERE changed <= uid_horizon()';
	keeper_says(q{CREATE TABLE item (id integer PRIMARY KEY, name text); SELECT uid_track_changes('item', execute => true); INSERT INTO item VALUES (1), (2), (3); DELETE FROM item WHERE id = 3}) if $kind eq 'extension';
	begin_layout($kind, 'small', 'js53ms');
	if ($kind eq 'extension')
	{
		keeper_says(q{UPDATE item SET name = 'x' WHERE id = 1});
		ok(poll_until(sub { keeper_says($changes) eq '1|f' }), 'after a layout of smaller ids, readers do not see what is from before');
		like(keeper_says(q{SELECT class, what FROM uid_check_tables() WHERE "table" = 'item'::regclass}), qr/^anew\|ids are smaller now than the versions of table "public"."item"[^\n]*$/, '... which is told');
		keeper_says(keeper_says(q{SELECT statement FROM uid_check_table('item')}));
		is(keeper_says(q{SELECT * FROM uid_check_table('item')}), '', '... and mended');
		ok(poll_until(sub { keeper_says("$changes ORDER BY id") eq "1|f\n2|f\n|t" }), '... so that who begins anew sees all rows');
	}
	is(keeper_says($make), '4', 'after a layout of smaller ids, partitions are made as before');
	store();
	is(keeper_says("SELECT count(*) FROM uid_drop_partitions('event', now() - interval '4 months', true, '$_', true)"), $_ eq 'default' ? '2' : '0', "... and by $_ what is past is dropped")
	  foreach 'default', 'default epoch:2015-01-01', 'js53ms';
	is(rows(), '300', '... and nothing else');
	like(keeper_says("SELECT uid_partitions('event', now() + interval '10 days', now() + interval '3 months', '7 days', true)"), qr/42P17: partition "public"\."event_.*" of table "event" is in the way/s, 'what overlaps says so');
}

done_testing();
