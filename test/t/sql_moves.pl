# The edition in SQL (script/sql) where databases are copied, restored, fail over and lose commits: what can come twice does, and what its page says to do about it
# helps.  And from it to the extension and back, in one transaction each, with ids that go on above, also of tables in a dump.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use SqlEdition;
use UidgenTest;

my $LAYOUT = 'default';
my $node = edition_node('plain', 'wal_level = logical', 'max_wal_senders = 4');
$node->start;
landlords($node);

sub ids_of
{
	my ($server, $database, $n) = @_;
	return [ split /\n/, as($server, 'tenant', $database, 'SELECT uid_next() FROM generate_series(1, ' . ($n // 20) . ')') ];
}

# Ids that are ahead of the clock by so many seconds from now on.
sub go_ahead
{
	my ($server, $database, $seconds) = @_;
	as($server, 'landlord', $database, "SELECT setval('uidgen.position', greatest(last_value, ((uidgen.clock() + $seconds * 1000000::bigint) / uidgen.own_unit()) << uidgen.own_sequence_bits())) FROM uidgen.position");
}

# ---- worker ids from a registry ----

add_database($node, 'fleet');
is(run_script($node, 'fleet', edition_script($node, 'registry')), '', 'a registry on a server without the library');
as($node, 'landlord', 'fleet', q{SELECT uidgen_registry.share_registry('default')});
like(as($node, 'landlord', 'fleet', "SELECT uidgen_registry.keep_worker(0, $_)"), qr/^\d{4}-/, "... keeps worker id $_ for the edition") foreach 1 .. 4;
is(as($node, 'landlord', 'fleet', q{SELECT string_agg(worker_id::text, ' ' ORDER BY worker_id) FROM uidgen_registry.fleet WHERE state = 'kept'}), '1 2 3 4', '... for good');

# ---- dumps and copies ----

put_in($node, add_database($node, 'app'), 'worker_id=1', 'max_ahead=1h');
like(as($node, 'landlord', 'app', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text); INSERT INTO message (body) VALUES ($$a$$), ($$b$$) RETURNING (uid_parse(id)).worker'), qr/^1\n1$/, 'a table has ids');
go_ahead($node, 'app', 600);
my $seen = ids_of($node, 'app');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-U', 'landlord', '-d', $node->connstr('app'), '-f', $dump ], 'pg_dump takes it along');
like(slurp_file($dump), qr/setval\('uidgen\.begin_0'.*setval\('uidgen\.begin_1'.*setval\('uidgen\."position"'/s, '... and looks at the position last, as no turn may begin above it');
add_database($node, 'copied');
is(as($node, 'landlord', 'copied', undef, '-q', '-o', '/dev/null', '-f', $dump), '', '... into another database');
my $copied = ids_of($node, 'copied');
is(repeated($seen, $copied), 0, '... where none of before comes again');
cmp_ok($copied->[0], '>', $seen->[-1], '... and ids go on above');
cmp_ok(repeated($copied, ids_of($node, 'app')), '>', 0, '... but the original and its copy issue the same ids, ahead of the clock');

# What the page says: another worker id for the copy.
like(set_up($node, 'copied', 'worker_id=2', 'instead_of=1'), qr/^worker id 2/, 'another worker id for the copy');
is(as($node, 'landlord', 'copied', 'INSERT INTO message (body) VALUES ($$c$$) RETURNING id > (SELECT max(id) FROM message), (uid_parse(id)).worker'), 't|2', '... and ids go on above all, and are others');

# A restore in its place: the same as a failover that loses commits.  A dump is of before.
my $lost = ids_of($node, 'app', 500);
drop_database($node, 'app');
add_database($node, 'app');
as($node, 'landlord', 'app', undef, '-q', '-o', '/dev/null', '-f', $dump);
cmp_ok(repeated($lost, ids_of($node, 'app', 500)), '>', 0, 'a backup that is restored issues ids again that were ahead of the clock');
like(set_up($node, 'app', "after=$lost->[-1]"), qr/^worker id 1/, 'what is said about the largest id that is known');
is(repeated($lost, ids_of($node, 'app', 500)), 0, '... and none comes again');
# A dump of the schema alone has no row of it, and anybody whose schema it is may drop it.
as($node, 'landlord', 'app', 'DELETE FROM uidgen_history.layout_used');
set_up($node, 'app', "after=$lost->[-1]");
is(as($node, 'landlord', 'app', 'SELECT count(*) FROM uidgen_history.layout_used'), '1', 'what is set up again is a layout that ids have had');
as($node, 'landlord', 'app', 'DROP SCHEMA uidgen_history CASCADE');
is(run_script($node, 'app', edition_script($node, 'sql')) . as($node, 'landlord', 'app', 'SELECT count(*) FROM uidgen_history.layout_used'), '1', '... also where the script runs again');

# ---- a standby, and a failover that loses commits ----

put_in($node, add_database($node, 'town'), 'worker_id=3', 'max_ahead=1h');
put_in($node, add_database($node, 'village'), 'worker_id=4', 'max_ahead=1h');
my $standby = standby_of($node, 'standby');
go_ahead($node, 'village', 300);
ids_of($node, $_) foreach qw(town village);
$node->wait_for_catchup($standby);
like(as($standby, 'tenant', 'town', 'SELECT uid_next()'), qr/25006: a standby issues no ids.*HINT/s, 'a standby has no ids');
like(as($standby, 'tenant', 'town', 'SELECT uid_timestamp(0)'), qr/^2025-01-01/, '... and decodes');
# From here on, nothing arrives.
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->reload;
poll_until(sub { $node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_replication') eq '0' });
my %gone = map { ($_ => ids_of($node, $_, 500)) } qw(town village);
$node->stop('immediate');
$standby->promote;
my %then = map { ($_ => ids_of($standby, $_, 500)) } qw(town village);
is(repeated($gone{town}, $then{town}), 0, 'a failover that loses commits: those at the clock do not come again');
cmp_ok(repeated($gone{village}, $then{village}), '>', 0, '... and those ahead of it can');
like(set_up($standby, 'village', "after=$gone{village}[-1]"), qr/^worker id 4/, 'the largest id is named');
is(repeated($gone{village}, ids_of($standby, 'village', 500)), 0, '... and none comes again');
$standby->stop;

# ---- a subscription to all tables of another database with the edition ----

$node->start;
my @replicated = map { add_database($node, "replicated_$_") } 7, 8;
foreach my $database (@replicated)
{
	put_in($node, $database, "worker_id=" . ($database =~ s/\D//gr));
	is(run_script($node, $database, edition_script($node, 'sql-tools')) . as($node, 'landlord', $database, 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next())'), '', "$database has the edition, the tools and a table");
}
as($node, 'landlord', $replicated[0], 'INSERT INTO message DEFAULT VALUES');
$node->safe_psql($replicated[0], q{CREATE PUBLICATION whole FOR ALL TABLES; SELECT pg_create_logical_replication_slot('whole', 'pgoutput')});
$node->safe_psql($replicated[1], sprintf q{CREATE SUBSCRIPTION whole CONNECTION '%s' PUBLICATION whole WITH (create_slot = false)}, $node->connstr($replicated[0]) =~ s/'/''/gr);
ok(poll_until(sub { $node->safe_psql($replicated[1], q{SELECT count(*) > 1 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel}) eq 't' }), 'a subscription to all tables copies them');
is($node->safe_psql($replicated[1], q{SELECT string_agg(srrelid::regclass::text, ' ' ORDER BY srrelid::regclass::text) FROM pg_subscription_rel}), 'message uidgen_history.layout_used', '... of the edition, what tells layouts');
is(as($node, 'landlord', $replicated[0], q{DELETE FROM uidgen_history.layout_used; INSERT INTO uidgen_history.layout_used (layout) VALUES ('time:41:1ms worker:10 sequence:12 epoch:2015-01-01'); INSERT INTO message DEFAULT VALUES}), '', '... whose rows can be changed');
ok(poll_until(sub { $node->safe_psql($replicated[1], 'SELECT count(*) FROM message') eq '2' }), '... and goes on');
is($node->safe_psql($replicated[1], 'SELECT count(*), count(DISTINCT layout) FROM uidgen_history.layout_used'), '2|2', '... so that the subscriber knows the layouts of both');
$node->safe_psql($replicated[1], 'DROP SUBSCRIPTION whole');
$node->stop;

# ---- a subscription to all sequences of another database ----

SKIP:
{
	skip 'PostgreSQL replicates sequences from version 19 on', 3 if $node->pg_version < '19beta1';
	$node->start;
	put_in($node, add_database($node, "twin_$_"), "worker_id=$_", 'max_ahead=1h') foreach 5, 6;
	go_ahead($node, 'twin_6', 600);
	my $before = ids_of($node, 'twin_6');
	my $log = -s $node->logfile;
	$node->safe_psql('twin_5', q{CREATE PUBLICATION numbers FOR ALL SEQUENCES; SELECT pg_create_logical_replication_slot('numbers', 'pgoutput')});
	$node->safe_psql('twin_6', sprintf q{CREATE SUBSCRIPTION numbers CONNECTION '%s' PUBLICATION numbers WITH (create_slot = false)}, $node->connstr('twin_5') =~ s/'/''/gr);
	is_logged($node, $log, qr/mismatched or renamed sequence on subscriber \("uidgen\.position"\)/, 'the position of another worker id is refused');
	is(repeated($before, ids_of($node, 'twin_6')), 0, '... and no id comes twice');
	$node->safe_psql('twin_6', q{ALTER SUBSCRIPTION numbers DISABLE; ALTER SEQUENCE uidgen.position MINVALUE -6});
	# Where ids of this one began, or above, else that is seen.
	ids_of($node, 'twin_5', 1);
	$node->safe_psql('twin_6', 'ALTER SUBSCRIPTION numbers ENABLE; ALTER SUBSCRIPTION numbers REFRESH SEQUENCES');
	ok(poll_until(sub { my ($id) = @{ ids_of($node, 'twin_6', 1) }; $id =~ /^\d+$/ && $id < $before->[0] }), '... where with the same bounds ids would go back');
	$node->stop;
}

# ---- the extension and back ----

my $main = uidgen_node('main', "uidgen.layout = 'default'");
$main->start;
landlords($main);
$main->safe_psql('postgres', 'CREATE EXTENSION uidgen');
$main->safe_psql('postgres', 'SELECT uid_next()');

my $mine = $main->safe_psql('postgres', 'SELECT worker_id FROM uidgen.status');
my $kept = ($mine + 1) % 1024;
put_in($main, add_database($main, 'app'), "worker_id=$kept", 'max_ahead=1h');
as($main, 'landlord', 'app', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text); INSERT INTO message (body) SELECT $$x$$ FROM generate_series(1, 100)');
go_ahead($main, 'app', 2);
as($main, 'landlord', 'app', 'INSERT INTO message (body) SELECT $$y$$ FROM generate_series(1, 10)');

my $in = edition_script($main, 'sql');
my $there = qq{
\\set ON_ERROR_STOP on
BEGIN;
ALTER TABLE message ALTER id DROP DEFAULT;
SELECT uidgen.take_out() AS last \\gset
CREATE EXTENSION uidgen;
SELECT uid_next_after(:last) > :last AS above;
ALTER TABLE message ALTER id SET DEFAULT uid_next();
COMMIT;
};
my $back = qq{
\\set ON_ERROR_STOP on
BEGIN;
ALTER TABLE message ALTER id DROP DEFAULT;
SELECT uid_next() AS after \\gset
DROP EXTENSION uidgen;
\\i $in
SELECT uidgen.set_up(worker_id => $kept, after => :after) AS said \\gset
ALTER TABLE message ALTER id SET DEFAULT uid_next();
COMMIT;
};
my $insert = 'INSERT INTO message (body) VALUES ($$z$$) RETURNING id > (SELECT max(id) FROM message), (uid_parse(id)).worker';
is(as($main, 'landlord', 'app', $there), 't', 'to the extension in one transaction, with an id above all');
is(as($main, 'landlord', 'app', $insert), "t|$mine", '... and rows go on with its ids');
is(as($main, 'landlord', 'app', $back), '', 'and back');
is(as($main, 'landlord', 'app', $insert), "t|$kept", '... and rows go on');

# Too far ahead: nothing has happened.
set_up($main, 'app', 'max_ahead=1h');
go_ahead($main, 'app', 1800);
as($main, 'landlord', 'app', $insert);
like(as($main, 'landlord', 'app', "SET uidgen.wait_timeout = '100ms'; $there"), qr/22023/, 'ids that are too far ahead for the extension');
is(as($main, 'landlord', 'app', $insert), "t|$kept", '... change nothing');

# Sessions that draw all the while.
drop_database($main, 'app');
put_in($main, add_database($main, 'app'), "worker_id=$kept", 'max_ahead=1h');
as($main, 'landlord', 'app', 'CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text); INSERT INTO message (body) VALUES ($$x$$)');
my @writers = map {
	my $file = $main->basedir . "/writer.$_";
	append_to_file($file, "INSERT INTO message (body) VALUES ('w');\nSELECT pg_sleep(0.002);\n" x 1000);
	IPC::Run::start([ $main->installed_command('psql'), '-XAtq', '-U', 'landlord', '-d', $main->connstr('app'), '-f', $file ], '<', \undef, '>&', "$file.out",
		IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default))
} 1 .. 4;
is(as($main, 'landlord', 'app', $there), 't', 'to the extension while others write');
is(as($main, 'landlord', 'app', $back), '', '... and back');
$main->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'app'});
$_->finish foreach @writers;
is(as($main, 'landlord', 'app', 'SELECT count(*) > 1, count(*) = count(DISTINCT id) FROM message'), 't|t', '... no id came twice');

# Tables alone, from the one to the other.
my $table = $main->basedir . '/table.sql';
$main->command_ok([ 'pg_dump', '-U', 'landlord', '-t', 'message', '-d', $main->connstr('app'), '-f', $table ], 'a dump of a table with the edition');
add_database($main, 'other');
as($main, 'landlord', 'other', 'CREATE EXTENSION uidgen');
is(as($main, 'landlord', 'other', undef, '-q', '-o', '/dev/null', '-f', $table), '', '... goes into a database with the extension');
is(as($main, 'landlord', 'other', $insert), "t|$mine", '... which goes on above');
$main->command_ok([ 'pg_dump', '-U', 'landlord', '-t', 'message', '-d', $main->connstr('other'), '-f', "$table.2" ], 'and one with the extension');
put_in($main, add_database($main, 'third'), "worker_id=$kept", 'max_ahead=1h');
is(as($main, 'landlord', 'third', undef, '-q', '-o', '/dev/null', '-f', "$table.2"), '', '... into a database with the edition');
is(as($main, 'landlord', 'third', $insert), "t|$kept", '... which goes on above');

# The way back that the page has, where ids are ahead of the clock.
go_ahead($main, 'third', 600);
as($main, 'landlord', 'third', $insert . '; DROP SCHEMA uidgen CASCADE');
my ($anew) = slurp_file("$FindBin::RealBin/../../docs/sql-edition.md") =~ /^### After `DROP SCHEMA .*?```sql\n(.*?)```/ms;
like(as($main, 'landlord', 'third', $anew =~ s/\\i \S+/\\i $in/r =~ s/worker_id => 5/worker_id => $kept, max_ahead => '1h'/r), qr/^worker id $kept,(?!.*ERROR)/s, 'the schema was dropped');
is(as($main, 'landlord', 'third', $insert), "t|$kept", '... and ids go on above');

done_testing();
