# uid_track_changes() and uid_purge_deleted() among several roles and sessions: the owner alone has it done, applications write and
# delete with no right on what is made, and nobody can forge a deleted key; an update of a row waits for nobody who refers to it; versions and deleted keys of a
# subscriber are its own; what is printed is run beside writers, on a table too large to be locked; it all comes out of a dump.
# pg_regress has no roles that log in, and no sessions beside each other.
# Promise: none; part: script/tools/40_changes.sql
# Kills: script/tools/40_changes.sql: d.defaclobjtype = 'f') AS g => d.defaclobjtype = 'r') AS g

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', 'wal_level = logical', 'max_wal_senders = 4', 'max_replication_slots = 4', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools;
CREATE ROLE shop LOGIN; CREATE ROLE app LOGIN; CREATE ROLE stranger LOGIN;
CREATE SCHEMA shop AUTHORIZATION shop; GRANT USAGE ON SCHEMA shop TO app, stranger; GRANT CREATE ON SCHEMA public TO stranger;
SQL

sub as
{
	my ($role, $sql) = @_;
	return $node->safe_psql('postgres', $sql, extra_params => [ '-U', $role ]);
}

# The SQLSTATE of a statement of a role, or '' if it is run.
sub state_of
{
	my ($role, $sql) = @_;
	my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", extra_params => [ '-U', $role ]);
	return $err =~ /ERROR:  (\w{5}):/ ? $1 : '';
}

# ---- who may ----

as('shop', 'CREATE TABLE shop.item (k integer PRIMARY KEY, body text); CREATE TABLE shop.line (item integer REFERENCES shop.item ON DELETE CASCADE ON UPDATE CASCADE, n integer, PRIMARY KEY (item, n));
	GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON shop.item, shop.line TO app; INSERT INTO shop.item SELECT n FROM generate_series(1, 100) AS n; INSERT INTO shop.line SELECT n, 1 FROM generate_series(1, 9) AS n');
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
foreach my $call (q{uid_track_changes('shop.item')}, q{uid_track_changes('shop.item', execute => true)}, q{uid_purge_deleted('shop.item', now())})
{
	is(state_of($_, "SELECT $call"), '42501', "$call is not for $_") foreach $superuser, 'app', 'stranger';
}
$node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION uid_next() FROM PUBLIC');
fails_with($node, q{SELECT uid_track_changes('shop.item')}, '42501', qr/the owner of table "item" may not draw ids.*GRANT EXECUTE ON FUNCTION "public"\."uid_next"\(\) TO "shop"/s, 'who may not draw cannot be tracked', 'postgres', 'shop');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION uid_next() TO PUBLIC; ALTER SCHEMA shop OWNER TO stranger; GRANT USAGE ON SCHEMA shop TO shop');
fails_with($node, q{SELECT uid_track_changes('shop.item', execute => true)}, '42501', qr/permission denied for schema shop.*GRANT CREATE ON SCHEMA "shop" TO "shop"/s, '... nor where no table can be made', 'postgres', 'shop');
$node->safe_psql('postgres', 'ALTER SCHEMA shop OWNER TO shop; GRANT USAGE ON SCHEMA shop TO stranger; ALTER DEFAULT PRIVILEGES FOR ROLE shop GRANT EXECUTE ON FUNCTIONS TO stranger');
as('shop', 'ALTER TABLE shop.line ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
fails_with($node, q{SELECT uid_track_changes('shop.line', execute => true)}, '42501', qr/row security hides rows/, '... nor where rows are hidden from the owner', 'postgres', 'shop');
as('shop', 'ALTER TABLE shop.line NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY');
as('shop', qq{SELECT uid_track_changes('shop.$_', execute => true)}) foreach qw(item line);

is(state_of('app', q{INSERT INTO shop.item VALUES (101, 'a'); UPDATE shop.item SET body = 'b' WHERE k = 1; UPDATE shop.item SET k = 102 WHERE k = 2; DELETE FROM shop.item WHERE k = 3}), '', 'an application writes with rights on the table alone');
is(as('shop', q{SELECT (SELECT string_agg(k::text, ' ' ORDER BY changed) FROM shop.item_deleted), (SELECT string_agg(format('%s,%s', item, n), ' ' ORDER BY changed) FROM shop.line_deleted),
		(SELECT string_agg(k::text, ' ' ORDER BY k) FROM shop.item WHERE changed > 0), (SELECT string_agg(item::text, ' ') FROM shop.line WHERE changed > 0)}),
	'2 3|2,1 3,1|1 101 102|102', '... each change is there, also those of foreign keys');
is(state_of('app', $_), '42501', "... and it can do no more: $_")
  foreach 'SELECT FROM shop.item_deleted', 'INSERT INTO shop.item_deleted VALUES (4)', 'INSERT INTO shop.item_deleted DEFAULT VALUES', 'DELETE FROM shop.item_deleted', 'UPDATE shop.item_deleted SET changed = 0';
foreach my $role (qw(app stranger))
{
	is(state_of($role, $_), '42501', "$role cannot write deleted keys: $_")
	  foreach 'CREATE TABLE pg_temp.forged (k integer); CREATE TRIGGER t AFTER DELETE ON pg_temp.forged FOR EACH ROW EXECUTE FUNCTION shop.item_deleted()', q{SELECT uidgen.write_deleted('shop.item_deleted', '{}', NULL)};
}
is(state_of('app', 'TRUNCATE shop.item, shop.line'), '', 'an application empties the tables');
is(as('shop', 'SELECT (SELECT count(*) FROM shop.item_deleted WHERE k IS NULL), (SELECT count(*) FROM shop.line_deleted WHERE item IS NULL)'), '1|1', '... and leaves a mark for each');
# What is found by a search path is not what the function calls.
as('stranger', q{CREATE FUNCTION public.evil(text, text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''trapped''; RETURN true; END'});
as('stranger', 'CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.evil)');
as('app', q{INSERT INTO shop.item VALUES (1); SET search_path = public, pg_catalog; DELETE FROM shop.item WHERE k OPERATOR(pg_catalog.=) 1});
is(as('shop', 'SELECT count(*) FROM shop.item_deleted WHERE k = 1'), '1', 'a deleted key is written whatever the search path is');
unlike(slurp_file($node->logfile), qr/LOG:  trapped/, '... and runs nothing of others');

# Nor does a trigger of that name, by who may make triggers, have another table of the owner taken for that of the deleted keys.
as('shop', 'CREATE TABLE shop.fresh (k integer PRIMARY KEY); GRANT TRIGGER ON shop.fresh TO stranger');
$node->safe_psql('postgres', 'CREATE TABLE public.precious (id bigint PRIMARY KEY, body text); INSERT INTO public.precious VALUES (1, $$a$$), (2, $$b$$); ALTER TABLE public.precious OWNER TO shop');
as('stranger', 'CREATE FUNCTION public.precious() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
	CREATE TRIGGER "~uid_delete" AFTER DELETE ON shop.fresh FOR EACH ROW EXECUTE FUNCTION public.precious()');
fails_with($node, "SELECT $_", '42710', qr/a trigger has the name of one that is needed.*It is "~uid_delete" of table "shop"."fresh", which calls "public"\."precious"\(\).*HINT:  Run DROP TRIGGER "~uid_delete" ON "shop"."fresh"/s, "a trigger of a stranger is not taken for one that was made: $_", 'postgres', 'shop')
  foreach q{uid_purge_deleted('shop.fresh', now())}, q{uid_track_changes('shop.fresh', execute => true)};
as('shop', 'DROP TRIGGER "~uid_delete" ON shop.fresh');
as('stranger', 'CREATE TABLE public.theirs (k integer PRIMARY KEY); SELECT uid_track_changes($$public.theirs$$, execute => true); CREATE TRIGGER "~uid_delete" AFTER DELETE ON shop.fresh FOR EACH ROW EXECUTE FUNCTION public.theirs_deleted()');
fails_with($node, "SELECT $_", '42501', qr/trigger "~uid_delete" of table "fresh" calls a function of another role.*It is "public"\."theirs_deleted"\(\)/s, "... nor is what was made for a table of his: $_", 'postgres', 'shop')
  foreach q{uid_purge_deleted('shop.fresh', now())}, q{uid_track_changes('shop.fresh', execute => true)};
is(as('shop', q{SELECT count(*) FROM public.precious; DROP TABLE shop.fresh}), '2', '... and nothing is purged there');

# ---- sessions beside each other ----

# An index that is unique would make each UPDATE one of a key.
as('shop', 'INSERT INTO shop.item SELECT n FROM generate_series(1, 9) AS n');
my $child = $node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
$child->query_safe('BEGIN; INSERT INTO shop.line VALUES (5, 1)');
is(state_of('app', q{SET lock_timeout = '1h'; UPDATE shop.item SET body = 'z' WHERE k = 5}), '', 'an update waits for nobody who refers to the row');
is(state_of('app', q{SET lock_timeout = '200ms'; UPDATE shop.item SET k = 50 WHERE k = 5}), '55P03', '... as one of the key does');
$child->query_safe('ROLLBACK');

# A table in use is given up soon, without what was begun.
as('shop', 'CREATE TABLE shop.busy (k integer PRIMARY KEY)');
$child->quit;
my $reader = $node->background_psql('postgres', extra_params => [ '-U', 'shop' ]);
$reader->query_safe('BEGIN; SELECT count(*) FROM shop.busy');
is(state_of('shop', q{SELECT uid_track_changes('shop.busy', execute => true)}), '55P03', 'a table in use is not waited for');
is(state_of('shop', q{BEGIN; SET LOCAL lock_timeout = '1h'; SELECT count(*) FROM uid_track_changes('shop.busy'); COMMIT}), '', '... while its statements are printed');
$reader->query_safe('COMMIT');
$reader->quit;

# The purge leaves a mark that no reader can miss; it waits for no writer.
my $writer = $node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
$writer->query_safe('BEGIN; DELETE FROM shop.item WHERE k = 6');
as('shop', 'DELETE FROM shop.item WHERE k = 7');
my $purged = as('shop', q{SET lock_timeout = '1h'; SELECT max(changed) FROM shop.item_deleted; SELECT pg_sleep(0.05); SELECT uid_purge_deleted('shop.item', now())});
$writer->query_safe('COMMIT');
$writer->quit;
my ($newest, undef, $count) = split /\n/, $purged;
is($count, '4', 'keys are purged beside a writer');
is(as('shop', "SELECT count(*), count(k), max(changed) = $newest FROM shop.item_deleted WHERE changed >= $newest"), '1|0|t', '... the newest is a mark');
is(as('shop', "SELECT k FROM shop.item_deleted WHERE changed < $newest"), '6', '... and what comes late with an older version stays for the next purge');

# ---- a table too large to be locked ----

as('shop', 'CREATE TABLE shop.many (k integer); INSERT INTO shop.many SELECT n FROM generate_series(1, 1000001) AS n; ALTER TABLE shop.many ADD PRIMARY KEY (k)');
is(state_of('shop', q{SELECT uid_track_changes('shop.many', execute => true)}), '54000', 'a large table is not locked while its index is built');
as('shop', q{CREATE TABLE shop.wide (k integer PRIMARY KEY) PARTITION BY LIST (k); DO $$ BEGIN FOR n IN 0 .. 1000 LOOP EXECUTE format('CREATE TABLE shop.wide_%1$s PARTITION OF shop.wide FOR VALUES IN (%1$s)', n); END LOOP; END $$});
is(state_of('shop', q{SELECT uid_track_changes('shop.wide', execute => true)}), '54000', '... nor one of many partitions');
as('shop', 'ALTER TABLE shop.many ADD seen bigint DEFAULT 0; CREATE INDEX ON shop.many (seen)');
fails_with($node, q{SELECT uid_track_changes('shop.many', 'seen', true)}, '54000', qr/all rows are read for SET NOT NULL.*ADD CONSTRAINT changed_there/s, '... or read for SET NOT NULL', 'postgres', 'shop');
as('shop', 'ALTER TABLE shop.many ADD CONSTRAINT changed_there CHECK ("seen" IS NOT NULL) NOT VALID; ALTER TABLE shop.many VALIDATE CONSTRAINT changed_there');
is(state_of('shop', q{BEGIN; SELECT FROM uid_track_changes('shop.many', 'seen', true); ROLLBACK}), '', '... unless a constraint says that none is null');
my $statements = $node->basedir . '/many.sql';
as('shop', q{CREATE TABLE shop.queue (k integer PRIMARY KEY); SELECT FROM uid_track_changes('shop.queue', execute => true); INSERT INTO shop.queue_deleted (k) SELECT n FROM generate_series(1, 1000001) AS n; DROP TRIGGER "~uid_key" ON shop.queue; ALTER TABLE shop.queue ALTER k TYPE bigint});
fails_with($node, q{SELECT uid_track_changes('shop.queue', execute => true)}, '54000', qr/"queue_deleted" has more than .* First call uid_purge_deleted/s, 'many deleted keys are not written anew under a lock', 'postgres', 'shop');
append_to_file($statements, as('shop', q{SELECT uid_track_changes('shop.many')}) . "\n");
like(slurp_file($statements), qr/^COMMIT;\nCREATE INDEX CONCURRENTLY "many_changed_idx" ON "shop"\."many" \("changed"\);\n\z/m, '... and what is printed has that last');
my $written_before = $node->safe_psql('postgres', q{SELECT pg_relation_filenode('shop.many')});
# By a superuser: what is made is the owner's all the same.
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $statements ], '... a superuser runs it');
is($node->safe_psql('postgres', q{SELECT pg_relation_filenode('shop.many')}), $written_before, '... no row was written anew');
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT o::regrole::text, ' ') FROM (SELECT relowner FROM pg_class WHERE relname LIKE 'many\_%' UNION SELECT proowner FROM pg_proc WHERE proname = 'many_deleted') AS a (o)}), 'shop', '... and it belongs to the owner');
is(as('shop', q{SELECT count(*) FROM uid_track_changes('shop.many', execute => true)}), '0', '... nothing is left to be done');

# ---- a subscriber ----

$node->safe_psql('postgres', 'CREATE DATABASE subscriber');
$node->safe_psql('subscriber', q{SET client_min_messages = error; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools; CREATE SCHEMA shop; CREATE TABLE shop.item (k integer PRIMARY KEY, body text); SELECT uid_track_changes('shop.item', execute => true)});
$node->safe_psql('postgres', q{CREATE PUBLICATION everything FOR ALL TABLES; CREATE PUBLICATION items FOR TABLE shop.item; SELECT pg_create_logical_replication_slot('items', 'pgoutput')});
$node->safe_psql('subscriber', "CREATE SUBSCRIPTION items CONNECTION '" . $node->connstr('postgres') =~ s/'/''/gr . "' PUBLICATION items WITH (create_slot = false, slot_name = 'items', copy_data = false)");
# In one transaction: the subscriber draws its versions after all of these.
as('app', q{BEGIN; INSERT INTO shop.item VALUES (201, 'a'), (202, 'a'), (203, 'a'); UPDATE shop.item SET body = 'b' WHERE k = 201; UPDATE shop.item SET k = 302 WHERE k = 202; DELETE FROM shop.item WHERE k = 203; COMMIT});
$node->poll_query_until('subscriber', 'SELECT count(*) = 2 FROM shop.item_deleted') or die 'nothing comes';
is($node->safe_psql('subscriber', q{SELECT string_agg(k::text, ' ' ORDER BY changed) FROM shop.item_deleted}), '202 203', 'a subscriber has deleted keys');
my $theirs = as('shop', 'SELECT max(changed) FROM shop.item WHERE k > 200');
is($node->safe_psql('subscriber', qq{SELECT count(*), min(changed) > $theirs, (SELECT min(changed) > $theirs FROM shop.item_deleted) FROM shop.item}), '2|t|t', '... and versions of its own, which it has drawn');
as('app', 'TRUNCATE shop.item, shop.line');
ok($node->poll_query_until('subscriber', 'SELECT count(*) = 1 FROM shop.item_deleted WHERE k IS NULL'), '... and a mark for TRUNCATE');
$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION items DISABLE; ALTER SUBSCRIPTION items SET (slot_name = NONE); DROP SUBSCRIPTION items');
as('shop', 'INSERT INTO shop.item VALUES (1); DELETE FROM shop.item');
is(as('shop', q{SELECT pg_sleep(0.01); SELECT uid_purge_deleted('shop.item', now()) > 0}), "\nt", 'where all tables are published, a purge works');
like((as_with_messages('shop', q{SELECT uid_track_changes('shop.busy')}))[1], qr/a publication takes table "shop"\."busy_deleted" along: a subscriber without/, '... and the call says that it goes along');

# What is made is the owner's.
$node->safe_psql('postgres', q{CREATE FUNCTION give() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN IF to_regclass('shop.handed_deleted') IS NOT NULL THEN ALTER TABLE shop.handed_deleted OWNER TO stranger; END IF; END $$;
	ALTER FUNCTION give() SECURITY DEFINER; CREATE EVENT TRIGGER give ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION give(); DROP PUBLICATION everything});
as('shop', 'CREATE TABLE shop.handed (k integer PRIMARY KEY)');
is(state_of('shop', q{SELECT uid_track_changes('shop.handed', execute => true)}), '42501', 'a table of deleted keys that is given away at once is refused');
$node->safe_psql('postgres', 'DROP EVENT TRIGGER give');
as('shop', q{CREATE TABLE shop.bill (id bigint PRIMARY KEY); CALL uid_number_rows('shop.bill', 'id', begin => true)});
foreach my $made (qw(bill_number bill_number_counter item_deleted))
{
	is(state_of('shop', $_), '42809', "what a tool has made is for no other: $_")
	  foreach "SELECT uid_track_changes('shop.$made')", "SELECT uid_adopt('shop.$made', 'id')", "CALL uid_number_rows('shop.$made', 'id', begin => true)";
}

# A subscriber stops at a column or table that it has not.
$node->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
my (undef, $error) = sqlstate_of($node, q{SELECT uid_track_changes('shop.busy', execute => true)}, 'postgres', 'shop');
like($error, qr/stop at.*by the publications: "everything".*ALTER TABLE.*CREATE TABLE/s, 'what would be published is not made');
as('shop', $error =~ /^HINT: .*again: (.*)/m);
is(state_of('shop', q{SELECT uid_track_changes('shop.busy', execute => true)}) . as('shop', q{SELECT * FROM uid_check_table('shop.busy')}), '', '... but by hand, and is taken');
$node->safe_psql('postgres', 'DROP PUBLICATION everything');
as('shop', 'CREATE TABLE shop.listed (k integer PRIMARY KEY)');
$node->safe_psql('postgres', 'CREATE PUBLICATION columns FOR TABLE shop.listed (k)');
is(state_of('shop', q{BEGIN; SELECT FROM uid_track_changes('shop.listed', execute => true); ROLLBACK}), '', '... and a list of columns sends no other');
as('shop', 'CREATE TABLE shop.part (k integer PRIMARY KEY) PARTITION BY RANGE (k); CREATE TABLE shop.part_0 PARTITION OF shop.part DEFAULT');
$node->safe_psql('postgres', 'CREATE PUBLICATION parts FOR TABLE shop.part_0');
is(state_of('shop', q{SELECT uid_track_changes('shop.part', execute => true)}), '55000', '... a partition does');

# A subscription that finds rows by all columns finds none.
my %full = (FULL => 'CREATE TABLE shop.full (k integer NOT NULL UNIQUE, body text)', PARTS => 'CREATE TABLE shop.parts (k integer NOT NULL UNIQUE, body text) PARTITION BY RANGE (k); CREATE TABLE shop.parts_0 PARTITION OF shop.parts DEFAULT');
my $past = q{CREATE TABLE shop.past (id bigint PRIMARY KEY) PARTITION BY RANGE (id); SELECT FROM uid_partitions('shop.past', now() - interval '3 months', now() + interval '1 month', '1 month', true)};
my $sold = q{CREATE TABLE shop.sold (id bigint PRIMARY KEY); CALL uid_number_rows('shop.sold', 'id', begin => true)};
as('shop', $_), $node->safe_psql('subscriber', $_) foreach $past, $sold;
as('shop', "$full{FULL}; $full{PARTS}; ALTER TABLE shop.full REPLICA IDENTITY FULL; ALTER TABLE shop.parts_0 REPLICA IDENTITY FULL; GRANT ALL ON shop.full, shop.parts TO app");
$node->safe_psql('postgres', q{CREATE PUBLICATION full_rows FOR TABLE shop.full, shop.parts, shop.past, shop.sold, shop.sold_number, shop.sold_number_counter; SELECT pg_create_logical_replication_slot('full_rows', 'pgoutput')});
$node->safe_psql('subscriber', "$full{FULL}; $full{PARTS}");
$node->safe_psql('subscriber', "CREATE SUBSCRIPTION full_rows CONNECTION '" . $node->connstr('postgres') =~ s/'/''/gr . "' PUBLICATION full_rows WITH (create_slot = false, slot_name = 'full_rows', copy_data = false)");
foreach my $table ('full', 'parts')
{
	my ($leaf) = $table eq 'parts' ? 'parts_0' : 'full';
	(undef, $error) = sqlstate_of($node, qq{SELECT uid_track_changes('shop.$table')}, 'subscriber');
	like($error, qr/no longer find the rows of table "shop"."$leaf".*Run ALTER TABLE ONLY "shop"."$leaf" REPLICA/s, "a subscriber's table without an identity is refused");
	$node->safe_psql('subscriber', $error =~ /^HINT: .*Run (.*)/m);
	$node->safe_psql('subscriber', qq{SET client_min_messages = error; SELECT FROM uid_track_changes('shop.$table', execute => true)});
	is($node->safe_psql('subscriber', qq{SELECT * FROM uid_check_table('shop.$table')}), '', '... and tracked with it');
	as('app', qq{INSERT INTO shop.$table VALUES (1, 'a'), (2, 'a'); UPDATE shop.$table SET body = 'b' WHERE k = 1; DELETE FROM shop.$table WHERE k = 2});
	ok($node->poll_query_until('subscriber', qq{SELECT array_agg(k || body) = '{1b}' FROM shop.$table}), '... so that changes arrive');
	$node->safe_psql('subscriber', "ALTER TABLE shop.$leaf REPLICA IDENTITY DEFAULT");
	like($node->safe_psql('subscriber', qq{SELECT * FROM uid_check_table('shop.$table')}), qr/^tell\|[^\n]*does not find the rows of table "shop"."$leaf"[^\n]*REPLICA IDENTITY USING INDEX "${leaf}_k_key";/, '... and the check tells when it goes');
}
fails_with($node, q{CALL uid_number_rows('shop.sold', 'id')}, '55000', qr/the numbers of table "sold" come from a publisher/, 'a subscriber gives no numbers that its publisher gives', 'subscriber');
my $drop = q{SELECT count(*) > 0 FROM uid_drop_partitions('shop.past', now() - interval '1 month', true, true)};
my (undef, $out, $err) = $node->psql('subscriber', $drop);
ok($out eq 'f' && $err =~ /is kept\nDETAIL:  On it depend: subscription full_rows\./, 'partitions that a subscription changes are kept') or diag("$out\n$err");
$node->safe_psql('postgres', 'ALTER PUBLICATION full_rows SET (publish_via_partition_root = true)');
$node->safe_psql('subscriber', q{INSERT INTO shop.past SELECT uid_min(now() - n * interval '10 days') FROM generate_series(0, 8) AS n});
$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION full_rows REFRESH PUBLICATION WITH (copy_data = false)');
fails_with($node, $drop =~ s/, true\)$/)/r, '55000', qr/a subscription changes table "shop"."past".*force => true/s, '... and those of a table that it changes', 'subscriber');
$node->safe_psql('subscriber', 'ALTER SUBSCRIPTION full_rows DISABLE; ALTER SUBSCRIPTION full_rows SET (slot_name = NONE); DROP SUBSCRIPTION full_rows');
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('full_rows'); DROP PUBLICATION full_rows; DROP PUBLICATION columns; DROP PUBLICATION parts});
like($node->safe_psql('subscriber', "$drop; CALL uid_number_rows('shop.sold', 'id')"), qr/^t\n0\|/, '... and dropped when it has gone, and numbers are given');

sub as_with_messages
{
	my ($role, $sql) = @_;
	my (undef, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ]);
	return ($out, $err);
}

# ---- the owner of the schema ----

# He can drop what others have in it, and put something of his in its place.
$node->safe_psql('postgres', q{
	CREATE ROLE landlord LOGIN; CREATE SCHEMA let AUTHORIZATION landlord; GRANT USAGE ON SCHEMA let TO PUBLIC;
	CREATE TABLE let.t (k integer PRIMARY KEY); INSERT INTO let.t VALUES (1), (2); CREATE TABLE public.traces (who text); GRANT INSERT ON public.traces TO PUBLIC;
	SELECT uid_track_changes('let.t', execute => true)});
as('landlord', q{
	DROP TABLE let.t_deleted CASCADE; CREATE TABLE let.t_deleted (k integer, changed bigint); GRANT ALL ON let.t_deleted TO PUBLIC;
	CREATE FUNCTION let.trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.traces VALUES (current_user); RETURN NULL; END $$;
	CREATE TRIGGER trap BEFORE INSERT ON let.t_deleted EXECUTE FUNCTION let.trap();
	CREATE TRIGGER each BEFORE INSERT ON let.t_deleted FOR EACH ROW EXECUTE FUNCTION let.trap()});
fails_with($node, $_, '42501', qr/the table of deleted keys is another one/, "a table of somebody else in the place of the deleted keys: $_")
  foreach 'DELETE FROM let.t WHERE k = 1', 'TRUNCATE let.t', 'BEGIN ISOLATION LEVEL REPEATABLE READ; DELETE FROM let.t';

# He can give another schema the name of his while somebody waits for the table of deleted keys: what was found by that name is written, whatever has it now.
$node->safe_psql('postgres', 'GRANT CREATE ON DATABASE postgres TO landlord; DROP TABLE let.t; CREATE TABLE let.u (k integer PRIMARY KEY); INSERT INTO let.u VALUES (1); SELECT uid_track_changes($$let.u$$, execute => true)');
as('landlord', 'CREATE SCHEMA sham; GRANT USAGE ON SCHEMA sham TO PUBLIC; CREATE TABLE sham.u_deleted (k integer, changed bigint); GRANT ALL ON sham.u_deleted TO PUBLIC; CREATE TRIGGER each BEFORE INSERT ON sham.u_deleted FOR EACH ROW EXECUTE FUNCTION let.trap()');
my ($locking, $deleting) = map { $node->background_psql('postgres') } 1 .. 2;
$locking->query_safe('BEGIN; LOCK TABLE let.u_deleted IN ACCESS EXCLUSIVE MODE');
$deleting->query_until(qr/started/, "\\echo started\nDELETE FROM let.u;\n");
ok($node->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'let.u_deleted'::regclass AND NOT granted)}), 'somebody waits for the table of deleted keys');
as('landlord', 'BEGIN; ALTER SCHEMA let RENAME TO real; ALTER SCHEMA sham RENAME TO let; COMMIT');
$locking->query_safe('COMMIT');
$deleting->query_safe('SELECT 1');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM real.u_deleted WHERE k = 1), (SELECT count(*) FROM let.u_deleted)'), '1|0', '... and writes there, though another one has its name by then');
$_->quit foreach $locking, $deleting;

# With an old snapshot the former owner deletes from what was given away, but for the function: that runs as he.
as('shop', q{CREATE TABLE shop.gift (k integer PRIMARY KEY); INSERT INTO shop.gift VALUES (1); GRANT ALL ON shop.gift TO landlord; GRANT USAGE ON SCHEMA shop TO landlord; SELECT uid_track_changes('shop.gift', execute => true)});
my $held = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'landlord' ]);
$held->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1');
$node->safe_psql('postgres', 'ALTER TABLE shop.gift OWNER TO landlord; ALTER TABLE shop.gift_deleted OWNER TO landlord; GRANT USAGE ON SCHEMA real TO PUBLIC');
as('landlord', 'GRANT ALL ON shop.gift_deleted TO PUBLIC; CREATE TRIGGER each BEFORE INSERT ON shop.gift_deleted FOR EACH ROW EXECUTE FUNCTION real.trap()');
$held->query("\\set VERBOSITY verbose\nDELETE FROM shop.gift");
like($held->{stderr}, qr/ERROR:  42501: the table of deleted keys is another one/, 'an old snapshot does not hide who owns the table of deleted keys now');
$held->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM public.traces'), '0', '... and no function of another role runs as the owner');
$node->safe_psql('postgres', 'DROP TABLE shop.gift, shop.gift_deleted CASCADE; DROP FUNCTION shop.gift_deleted()');

# With all that belongs to it a table may be given away while a snapshot is held.
as('shop', q{CREATE TABLE shop.given (k integer PRIMARY KEY); INSERT INTO shop.given VALUES (1), (2); GRANT ALL ON shop.given TO app; SELECT uid_track_changes('shop.given', execute => true)});
$held = $node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
$held->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1');
$node->safe_psql('postgres', 'ALTER TABLE shop.given OWNER TO landlord; ALTER TABLE shop.given_deleted OWNER TO landlord; ALTER FUNCTION shop.given_deleted() OWNER TO landlord');
is($held->query_safe('DELETE FROM shop.given WHERE k = 1 RETURNING k; COMMIT') . $node->safe_psql('postgres', 'SELECT k FROM shop.given_deleted'), '11', '... and a transaction from before deletes');
$held->quit;
$node->safe_psql('postgres', 'DROP TABLE shop.given, shop.given_deleted CASCADE; DROP FUNCTION shop.given_deleted()');

# ---- what was missed ----

as('shop', 'CREATE TABLE shop.late (k integer PRIMARY KEY, changed bigint); INSERT INTO shop.late VALUES (1, NULL)');
fails_with($node, q{SELECT uid_track_changes('shop.late')}, '55000', qr/column "changed" of table "late" has nulls.*HINT:  Run UPDATE/s, 'a row without a version would reach nobody', 'postgres', 'shop');
as('shop', q{UPDATE shop.late SET changed = 0; SELECT uid_track_changes('shop.late', execute => true)});
is(as('shop', 'SELECT attnotnull FROM pg_attribute WHERE attrelid = $$shop.late$$::regclass AND attname = $$changed$$; SELECT count(*) FROM shop.late_deleted'), "t\n0", '... and none comes later');
$node->safe_psql('postgres', 'ALTER TABLE shop.late DISABLE TRIGGER ALL; DELETE FROM shop.late; ALTER TABLE shop.late ENABLE TRIGGER ALL');
as('shop', q{SELECT uid_track_changes('shop.late', execute => true)});
is(as('shop', 'SELECT count(*) FROM shop.late_deleted WHERE k IS NULL'), '1', 'what mends triggers has readers copy the table anew');
is(as('shop', q{SELECT count(*) FROM uid_track_changes('shop.late', execute => true)}), '0', '... once');

# ---- a dump ----

as('shop', q{INSERT INTO shop.item VALUES (1, 'kept'); CREATE TABLE shop.event (id bigint PRIMARY KEY DEFAULT uid_next()) PARTITION BY RANGE (id); SELECT uid_partitions('shop.event', now(), now() + interval '1 day', '1 day', true); SELECT uid_track_changes('shop.event', execute => true)});
my $versions = as('shop', 'SELECT (SELECT changed FROM shop.item), (SELECT max(changed) FROM shop.item_deleted)');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-n', 'shop', '-e', 'uidgen', '-e', 'uidgen_tools', '-T', 'shop.many*', '-f', $dump, '-d', $node->connstr('postgres') ], 'a dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools');
my $restored = slurp_file($dump) =~ s/^CREATE EXTENSION [^\n]*\n//mgr;
append_to_file("$dump.sql", $restored);
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', "$dump.sql" ], '... is restored');
is($node->safe_psql('restored', 'SELECT (SELECT changed FROM shop.item), (SELECT max(changed) FROM shop.item_deleted)'), $versions, '... with the versions that it had');
$node->safe_psql('restored', 'GRANT CREATE ON SCHEMA shop TO shop');
is($node->safe_psql('restored', "SELECT count(*) FROM uid_track_changes('shop.$_', execute => true)", extra_params => [ '-U', 'shop' ]), '0', "... and nothing is to be done for $_") foreach qw(item line event);

$node->stop;
done_testing();
