# uid_check_table(): each recipe for a table that is tracked or adopted, once more after whatever may befall the table.  It says nothing of a sound table, by
# whatever names and keys, after any DDL that does no harm; it says what is missing or different, and in which class; what it says mends it, with a mark if
# changes may have been missed, and without one if not; and afterwards all that is written and deleted is tracked.  By a role without rights, while others hold the
# tables.  pg_regress has no roles that log in, no sessions beside each other, and no dumps.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use List::Util qw(uniq);
use SqlEdition;
use StrangeNames;
use Twins;
use UidgenTest;

my ($node, $kind, $scene);
my @unbounded;	# printed statements that wait for a lock without a limit, while all who come later wait behind them

# As the owner of all tables, in the schema of the scene.
sub shop
{
	my ($sql, $database) = @_;
	my $printed = as($node, 'shop', $database // 'app', "SET search_path = $scene, public;\nSET client_min_messages = warning;\n$sql", '-v', 'VERBOSITY=default');
	push @unbounded, ($printed =~ s/^ *BEGIN;\s+SET LOCAL lock_timeout = '\d+ms';.*?COMMIT;//gmsr) =~ /^ *((?:BEGIN|LOCK|ALTER (?!FUNCTION)|DROP|UPDATE|DELETE|TRUNCATE|CREATE (?!INDEX CONCURRENTLY|TABLE)|DO (?!E?'BEGIN (?:SET LOCAL lock_timeout = ''\d+ms''; EXECUTE|EXECUTE E?''COMMENT ON) )).*;)/mg;
	return $printed =~ s/^psql:[^\n]*? INFO: .*?(?=^psql:|\z)//gmsr =~ s/\s+\z//r;
}

# All that the tools print for it, to be run by somebody.
sub plans
{
	my ($table) = @_;
	return shop("SELECT uid_track_changes('$table'); SELECT uid_adopt('$table'); SELECT uid_partitions('$table', now() + interval '1 year', now() + interval '14 months', '1 month'); SELECT uid_drop_partitions('$table', now() - interval '1 month', force => true)") =~ s/^psql:.*\n?//mgr;
}

sub super
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'app', "SET search_path = $scene, public; SET client_min_messages = warning; $sql");
}

# What is said of a table: lines of class and text, without the schema of the scene.
sub said
{
	my ($table, $database) = @_;
	return shop("SELECT class || ' ' || what FROM uid_check_table('$table')", $database) =~ s/"?\b$scene\b"?\.//gr;
}

sub marks
{
	my ($deleted) = @_;
	return shop("SELECT count(*) FROM $deleted WHERE " . (shop("SELECT string_agg(format('%I IS NULL', attname), ' AND ') FROM pg_attribute WHERE attrelid = '$deleted'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'changed'")));
}

# A scene has a schema with table item, tracked, and three rows of it: unless it has others.
sub begin
{
	my ($name, $create) = @_;
	$scene = "s_$name";
	$node->safe_psql('app', "CREATE SCHEMA $scene AUTHORIZATION shop; GRANT USAGE ON SCHEMA $scene TO PUBLIC");
	my $said = shop($create // "CREATE TABLE item (id integer PRIMARY KEY, tenant integer NOT NULL DEFAULT 1, name text); INSERT INTO item SELECT n, 1, 'x' FROM generate_series(1, 3) AS n;
		SELECT uid_track_changes('item', execute => true)");
	is($said, '', "$name: begins");
	return;
}

# Whether changes are told: a row that comes, one that goes, and TRUNCATE.
sub is_told
{
	my ($what, $table, $deleted, $values) = @_;
	my $before = marks($deleted);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(shop("INSERT INTO $table VALUES ($values); SELECT count(*) FROM $table WHERE changed >= (SELECT coalesce(max(changed), 0) FROM $deleted); DELETE FROM $table WHERE changed = (SELECT max(changed) FROM $table);
		SELECT count(*) - (SELECT count(*) FROM $table) FROM $deleted WHERE changed = (SELECT max(changed) FROM $deleted) AND NOT EXISTS (SELECT FROM $table); TRUNCATE $table") =~ s/\n.*//sr, '1', "$what: a row has a version");
	cmp_ok(marks($deleted), '>', $before, "$what: TRUNCATE leaves a mark");
	return;
}

# What befalls the table, what is said of it then, and that what is said to be done mends it.
sub befalls
{
	my ($what, $sql, $expected, %o) = @_;
	%o = (table => 'item', deleted => 'item_deleted', values => q{7, 1, 'new'}, %o);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($o{by_super} ? super($sql) : shop($sql), '', "$what: is done");
	is(said($o{table}), $expected, "$what: is said");
	if ($expected ne '')
	{
		my $before = shop("SELECT count(*) FROM $o{deleted}");
		$before = 0 if $before =~ /ERROR/;
		foreach my $class ('tell', $o{then} ? 'tell' : (), 'anew', 'mend')
		{
			my $statements = shop("SELECT DISTINCT statement FROM uid_check_table('$o{table}') WHERE class = '$class'");
			is($o{super_mends} ? super($statements) : shop($statements), '', "$what: $class is mended") if $statements ne '';
			is(said($o{table}), delete $o{then}, "$what: then that is said") if $o{then};
		}
		is(said($o{table}), '', "$what: nothing is left");
		is(shop("SELECT count(*) > $before FROM $o{deleted}"), $expected =~ /^anew|\bINSERT INTO/m || $o{marks} ? 't' : 'f', "$what: a mark only if changes may have been missed");
	}
	is_told($what, @o{qw(table deleted values)});
	return;
}

foreach (kinds())
{
	$kind = $_;
	$node = twin_node($kind, 'autovacuum = off', 'wal_level = logical');
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE shop LOGIN; CREATE ROLE other LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE DATABASE app');
	put_twin_in($kind, $node, 'app');
	$node->safe_psql('app', 'GRANT CREATE ON DATABASE app TO shop; GRANT USAGE, CREATE ON SCHEMA public TO shop, other');

	# ---- sound tables ----

	begin('sound');
	foreach my $ddl (
		'ALTER TABLE item ADD COLUMN more integer', 'ALTER TABLE item DROP COLUMN more', 'ALTER TABLE item ALTER name TYPE varchar(9)', 'CREATE INDEX ON item (name)', 'VACUUM FULL item', 'CLUSTER item USING item_pkey',
		'ANALYZE item', 'GRANT SELECT ON item_deleted TO other', 'GRANT ALL ON item TO other', 'ALTER TABLE item SET (fillfactor = 50)', 'ALTER TABLE item REPLICA IDENTITY FULL', 'CREATE TABLE line (item integer REFERENCES item)', 'DROP TABLE line',
		'CREATE VIEW seen AS SELECT id FROM item UNION ALL SELECT id FROM item_deleted', q{COMMENT ON COLUMN item.id IS 'mine'}, q{SELECT uid_track_changes('item', execute => true)},
		'CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$; CREATE TRIGGER t BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION t()', 'ALTER TABLE item ENABLE ROW LEVEL SECURITY',
		'ALTER INDEX item_deleted_pkey RENAME TO x', 'ALTER TABLE item RENAME TO item2; ALTER TABLE item2 RENAME TO item', 'CREATE STATISTICS st ON id, tenant FROM item', q{INSERT INTO item VALUES (8, 1, 'x'); UPDATE item SET id = 9 WHERE id = 8; DELETE FROM item; TRUNCATE item},
		q{SELECT FROM (SELECT uid_purge_deleted('item', now()) OFFSET 0) AS p}, q{CREATE TABLE item_copy (LIKE item INCLUDING ALL)}, 'CREATE TABLE item_rows AS SELECT * FROM item', 'ALTER TABLE item_deleted ADD COLUMN note text', 'REINDEX TABLE item')
	{
		is(shop($ddl), '', "$ddl is done");
		is(said('item'), '', "$ddl does no harm");
	}
	my $is_copy = sub { return qq{tell table "$_[0]" has the comment of a tracked one and no triggers: it is a copy, or has taken its place; to track it, call uid_track_changes(), and let readers copy it anew} };
	is(said('item_copy'), $is_copy->('item_copy'), 'a copy of the table is not tracked');
	is(shop('ALTER TABLE item RENAME TO thing; ALTER TABLE thing SET SCHEMA public') . said('public.thing'), '', 'a table may be renamed and moved');
	is_told('moved', 'public.thing', 'item_deleted', q{7, 1, 'x'});
	like(shop('ALTER TABLE item_copy RENAME TO item; SELECT uid_track_changes($$item$$, execute => true)'), qr/the name "s_sound"."item_deleted" is taken/, '... and its copy does not get its deleted keys');
	is(said('item') . shop(shop(q{SELECT statement FROM uid_check_table('item')})) . said('item'), $is_copy->('item'), '... nor is it silent about a copy that has taken the place of the table, until it is none');
	shop('DROP TABLE public.thing CASCADE');

	is(shop(q{SET standard_conforming_strings = off; CREATE TABLE old (id serial PRIMARY KEY); SELECT uid_adopt('old', 'id', true); SELECT uid_track_changes('old', execute => true); ALTER TABLE old RENAME id TO nr;
		SELECT uid_track_changes('old', execute => true); SELECT * FROM uid_check_table('old'); SELECT uid_purge_deleted('old', now())}), '0', 'no setting of the session gives a warning');

	# Where the setting is off, they would be other texts, or give a warning.
	is(super(q{SELECT p.oid::regprocedure FROM pg_proc AS p WHERE p.pronamespace = 'uidgen_tools'::regnamespace AND p.prosqlbody IS NULL AND 'standard_conforming_strings=on' <> ALL (coalesce(p.proconfig, '{}'))
		AND strpos(regexp_replace(p.prosrc, $$E'(''|[^'])*'|--[^\n]*$$, '', 'g'), chr(92)) > 0}), '', 'no function has backslashes in its texts');

	begin('plans', 'CREATE TABLE item (id serial PRIMARY KEY); CREATE TABLE event (id bigint PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE tracked (LIKE event INCLUDING ALL) PARTITION BY RANGE (id)');
	shop(q{SELECT uid_track_changes('tracked', execute => true); SELECT FROM (VALUES ('event'), ('tracked')) AS t (t), uid_partitions(t.t::regclass, now() - interval '3 months', now(), '1 month', true)});
	my $plans = join '', map { plans($_) } qw(item event tracked);
	like($plans, qr/^$_/m, "$_ is printed") foreach 'CREATE INDEX CONCURRENTLY', 'CREATE INDEX "', 'DROP TABLE', 'BEGIN;\nSET LOCAL lock_timeout = .*\nCREATE TABLE .*; ALTER TABLE', 'ALTER TABLE "s_plans"."item" ALTER COLUMN "id" TYPE', 'INSERT INTO "s_plans"."tracked_deleted" DEFAULT VALUES';

	begin('keys', 'CREATE DOMAIN code AS integer NOT NULL; CREATE TYPE mood AS ENUM (\'calm\', \'wild\')');
	my @keys = ([ 'code', '7' ], [ 'mood', q{'calm'} ], [ 'integer[]', q{'{1}'} ], [ 'varchar(5) COLLATE "C"', q{'x'} ], [ 'numeric(9, 2)', '1.5' ], [ 'char(3)', q{'x'} ], [ 'timestamptz', 'now()' ]);
	foreach my $i (0 .. $#keys)
	{
		is(shop("CREATE TABLE k$i (a $keys[$i][0], b integer, PRIMARY KEY (b, a)); SELECT uid_track_changes('k$i', execute => true)") . said("k$i"), '', "a key of type $keys[$i][0] is sound");
		is_told($keys[$i][0], "k$i", "k${i}_deleted", "$keys[$i][1], 1");
	}
	is(shop('CREATE TABLE k (a integer NOT NULL UNIQUE, b integer NOT NULL); SELECT uid_track_changes($$k$$, execute => true); ALTER TABLE k ADD PRIMARY KEY (b); ALTER TABLE k ADD UNIQUE (a)') . said('k'), '', 'the key that was chosen stays, as long as it is one');
	is_told('two keys', 'k', 'k_deleted', '1, 1');
	is(shop('INSERT INTO k VALUES (5, 5); BEGIN; ALTER TABLE k ALTER a DROP NOT NULL; UPDATE k SET a = NULL; UPDATE k SET a = 6; ALTER TABLE k ALTER a SET NOT NULL; COMMIT; SELECT count(*) FROM k_deleted WHERE a = 5') . said('k'), '1', 'a key that is null for a while');
	befalls('a unique index of versions', 'CREATE UNIQUE INDEX once ON k (changed, b)', 'tell the unique index "once" has column "changed", which gets a new value with each change', table => 'k', deleted => 'k_deleted', values => '1, 1');
	shop(q{CREATE TABLE m (id integer PRIMARY KEY, code integer NOT NULL UNIQUE); SELECT uid_track_changes('m', execute => true); INSERT INTO m SELECT n, n FROM generate_series(1, 4) AS n; DELETE FROM m WHERE id = 1;
		ALTER TABLE m DROP CONSTRAINT m_pkey; SELECT uid_track_changes('m', execute => true); DELETE FROM m WHERE id = 2; DELETE FROM m WHERE id = 3});
	ok(poll_until(sub { shop(q{SELECT uid_purge_deleted('m', now())}); return shop('SELECT count(*), count(id), count(code) FROM m_deleted') eq '1|0|0' }), 'deleted keys are purged, whichever key they are of');
	foreach my $name ('A b', q{it's}, q{"}, 'percent%s%1$s', q{back\\slash}, 'SELECT', q{$$}, "line\nfeed", 'x' x 63)
	{
		my $quoted = '"' . ($name =~ s/"/""/gr) . '"';
		is(shop("CREATE TABLE $quoted ($quoted integer PRIMARY KEY); SELECT uid_track_changes(max(oid)::regclass, execute => true) FROM pg_class WHERE relkind = 'r' AND relnamespace = '$scene'::regnamespace"), '', 'a name of ' . length($name) . ' characters is tracked');
		is(shop("SELECT what FROM pg_class AS c, uid_check_table(c.oid) WHERE c.relnamespace = '$scene'::regnamespace"), '', '... and sound');
	}
	is(shop('SELECT * FROM uid_check_table(1::regclass); SELECT c.class FROM pg_class AS c2, uid_check_table(c2.oid) AS c WHERE c2.relnamespace = $$pg_catalog$$::regnamespace'), '', 'nothing is said of what is no table of ours');

	# ---- what befalls a tracked table ----

	begin('key');
	befalls('another primary key', 'ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (tenant, id)', <<'SAID' =~ s/\n\z//r);
anew column "tenant" of table "item_deleted" is not as the key of table "item" has it
anew function "item_deleted"() is not what it would be now
anew trigger "~uid_key" of table "item" is not what it would be now
SAID
	is(shop(q{INSERT INTO item VALUES (5, 1), (5, 2); DELETE FROM item WHERE (id, tenant) = (5, 1); SELECT tenant, id FROM item_deleted WHERE tenant IS NOT NULL ORDER BY changed DESC LIMIT 1}), '1|5', '... and the whole key is told');
	befalls('a key of fewer columns', 'TRUNCATE item; ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (id)', <<'SAID' =~ s/\n\z//r, marks => 1);
anew function "item_deleted"() is not what it would be now
anew trigger "~uid_key" of table "item" is not what it would be now
SAID
	befalls('columns of the key under other names', q{INSERT INTO item VALUES (1, 1); ALTER TABLE item RENAME id TO nr}, <<'SAID' =~ s/\n\z//r);
anew column "nr" of table "item_deleted" is not as the key of table "item" has it
anew function "item_deleted"() is not what it would be now
SAID
	is(shop('ALTER TABLE item RENAME nr TO id; ALTER TABLE item DROP CONSTRAINT item_pkey') . said('item'), 'tell table "item" has no key, by which readers know which row was deleted', 'a table without a key is told');

	# Names of a key that move on, are exchanged, or are new while the key has another order, and one that a column of a former key has: a view goes by the columns.
	my $n_key = 0;
	foreach my $renames ([ 'a TO c', 'b TO a' ], [ 'a TO x', 'b TO a', 'x TO b' ], [ 'a TO p', 'b TO q' ], [ 'b TO f' ])
	{
		begin('rename' . ++$n_key, q{CREATE TABLE item (f integer, b integer, a integer, v text, PRIMARY KEY (f)); SELECT uid_track_changes('item', execute => true); ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (a, b);
			SELECT uid_track_changes('item', execute => true); CREATE VIEW item_gone AS SELECT a, b FROM item_deleted WHERE a IS NOT NULL; ALTER TABLE item DROP COLUMN f; INSERT INTO item VALUES (2, 1), (4, 3)});
		is(shop(join '; ', $n_key > 2 ? 'ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (b, a)' : (), $n_key == 4 ? 'SET quote_all_identifiers = on' : (), 'BEGIN', (map { "ALTER TABLE item RENAME $_" } @$renames), 'SELECT uid_track_changes($$item$$, execute => true)', 'COMMIT; DELETE FROM item WHERE v IS NULL AND item::text LIKE $$(2,1%$$; SELECT * FROM item_gone'),
			'1|2', "@$renames: a view tells the key that is deleted");
		is(said('item'), '', '... and the table is sound');
	}

	begin('type');
	befalls('another type of the key', 'ALTER TABLE item DISABLE TRIGGER USER; DROP TRIGGER "~uid_key" ON item; ALTER TABLE item ALTER id TYPE bigint', <<'SAID' =~ s/\n\z//r, values => q{70000000000, 1, 'x'});
anew column "id" of table "item_deleted" is not as the key of table "item" has it
anew trigger "~uid_stamp" of table "item" is not enabled
anew trigger "~uid_delete" of table "item" is not enabled
anew trigger "~uid_key" of table "item" is missing
anew trigger "~uid_truncate" of table "item" is not enabled
SAID
	my $session = $node->background_psql('app', on_error_stop => 0, extra_params => [ '-U', 'shop' ]);
	$session->query_safe("\\set VERBOSITY verbose\nSET search_path = s_type, public; INSERT INTO item VALUES (1), (2), (3); DELETE FROM item WHERE id = 1");
	shop('DROP TRIGGER "~uid_key" ON item; ALTER TABLE item ALTER id TYPE numeric');
	if ($kind eq 'extension')
	{
		$session->query('DELETE FROM item WHERE id = 3');
		like($session->{stderr}, qr/ERROR:  42804: column "id" is of type numeric, and in the table of deleted keys of type bigint/, 'a key that has another type is not deleted');
		$session->{stderr} = '';
	}
	shop('SELECT uid_track_changes($$item$$, execute => true)');
	is($session->query('DELETE FROM item WHERE id = 3') . $session->{stderr} . said('item'), '', '... and after the call is, in a session from before');
	$session->quit;

	begin('grown', 'CREATE TABLE item (id serial PRIMARY KEY, tenant integer NOT NULL DEFAULT 1, name text); SELECT uid_track_changes($$item$$, execute => true)');
	befalls('a key that was adopted after it was another one', 'ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (tenant, id); SELECT uid_adopt($$item$$, $$id$$, true); INSERT INTO item VALUES (2); DELETE FROM item', <<'SAID' =~ s/\n\z//r, marks => 1);
anew column "tenant" of table "item_deleted" is not as the key of table "item" has it
anew function "item_deleted"() is not what it would be now
anew trigger "~uid_key" of table "item" is missing
SAID

	begin('swap', 'CREATE TABLE item (id integer PRIMARY KEY, new_id bigint NOT NULL UNIQUE); SELECT uid_track_changes($$item$$, execute => true)');
	befalls('columns that are exchanged', 'ALTER TABLE item DROP CONSTRAINT item_pkey; ALTER TABLE item RENAME id TO old_id; ALTER TABLE item RENAME new_id TO id; ALTER TABLE item ADD PRIMARY KEY (id)', <<'SAID' =~ s/\n\z//r, values => '1, 70000000000');
anew column "id" of table "item_deleted" is not as the key of table "item" has it
anew trigger "~uid_key" of table "item" is not what it would be now
SAID

	begin('pieces');
	befalls('a trigger that is gone', 'DROP TRIGGER "~uid_delete" ON item', 'anew trigger "~uid_delete" of table "item" is missing');
	befalls('a trigger that was made by hand', 'DROP TRIGGER "~uid_delete" ON item; CREATE TRIGGER "~uid_delete" AFTER DELETE ON item FOR EACH ROW WHEN (OLD.id > 2) EXECUTE FUNCTION item_deleted(); ALTER TABLE item ENABLE ALWAYS TRIGGER "~uid_delete"',
		'anew trigger "~uid_delete" of table "item" is not what it would be now');
	befalls('triggers that do not fire in subscribers', 'ALTER TABLE item ENABLE TRIGGER "~uid_key"', 'anew trigger "~uid_key" of table "item" is not enabled');
	befalls('a default that is gone', 'ALTER TABLE item_deleted ALTER changed DROP DEFAULT', 'mend column "changed" of table "item_deleted" has no default uid_next()');
	befalls('another default', 'ALTER TABLE item_deleted ALTER changed SET DEFAULT 1', 'anew column "changed" of table "item_deleted" has no default uid_next()');
	befalls('a primary key that is gone', 'ALTER TABLE item_deleted DROP CONSTRAINT item_deleted_pkey', 'anew table "item_deleted" has no primary key');
	befalls('an index that is gone', 'DROP INDEX item_changed_idx', 'mend table "item" has no index on column "changed"');
	befalls('versions that can be null', 'ALTER TABLE item ALTER changed DROP NOT NULL', 'mend column "changed" of table "item" can be null');
	befalls('keys that cannot be null', 'DELETE FROM item_deleted; ALTER TABLE item_deleted ALTER id SET NOT NULL', 'mend column "id" of table "item_deleted" is not null, so nothing can leave a mark');
	befalls('a function that everybody may call', 'GRANT EXECUTE ON FUNCTION item_deleted() TO PUBLIC', 'mend function "item_deleted"() is not for its owner alone');
	befalls('a function that runs as the caller', 'ALTER FUNCTION item_deleted() SECURITY INVOKER', 'mend function "item_deleted"() is not what it would be now');
	befalls('a search path of the caller', 'ALTER FUNCTION item_deleted() RESET search_path', 'mend function "item_deleted"() is not what it would be now');
	my $is_other = sub { return qq{tell trigger "~uid_$_[0]" of table "item" has the name of one that is needed, and calls "$_[1]"(), which uid_track_changes() has not written, or not so} };
	befalls('another text', q{CREATE OR REPLACE FUNCTION item_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NULL; END'},
		join("\n", map { $is_other->($_, 'item_deleted') } qw(delete key truncate)), then => 'tell function "item_deleted"() has the name of the one that would write deleted keys of table "item"', marks => 1);
	befalls("a function that is $_", "ALTER FUNCTION item_deleted() $_", 'mend function "item_deleted"() is not what it would be now') foreach 'STABLE', 'STRICT PARALLEL SAFE';
	my $no_line = 'mend the comment of %s is without the line that uidgen writes there';
	befalls('nothing but the key tells the versions', q{COMMENT ON COLUMN item.changed IS 'x'; DROP TRIGGER "~uid_stamp" ON item}, sprintf("$no_line\n", 'column "changed" of table "item"') . 'anew trigger "~uid_stamp" of table "item" is missing', marks => 1);
	befalls('comments are gone', 'COMMENT ON COLUMN item.changed IS NULL; COMMENT ON TABLE item_deleted IS NULL; COMMENT ON COLUMN item_deleted.changed IS NULL',
		join("\n", map { sprintf $no_line, $_ } 'table "item_deleted"', map { qq{column "changed" of table "$_"} } qw(item item_deleted)));
	befalls('its owner may not write deleted keys', 'REVOKE INSERT ON item_deleted FROM shop', 'tell the owner of table "item" may not use table "item_deleted", which has deleted keys, so that marks and purges fail');
	as($node, 'other', 'app', q{CREATE TABLE public.claim (changed bigint); COMMENT ON COLUMN public.claim.changed IS 'uidgen: changes are tracked in "s_pieces"."item_deleted"';
		CREATE TRIGGER "~uid_stamp" BEFORE INSERT ON public.claim FOR EACH ROW EXECUTE FUNCTION uid_stamp('changed')});
	befalls('the function is gone', 'DROP FUNCTION item_deleted CASCADE', <<'SAID' =~ s/\n\z//r);
anew function "item_deleted"(), which writes deleted keys, is missing
anew trigger "~uid_delete" of table "item" is missing
anew trigger "~uid_key" of table "item" is missing
anew trigger "~uid_truncate" of table "item" is missing
SAID
	as($node, 'other', 'app', 'DROP TABLE public.claim');
	befalls('the table of deleted keys is gone', 'DROP TABLE item_deleted', 'anew table "item_deleted", which has the deleted keys, is missing');
	befalls('the versions are gone', 'ALTER TABLE item DROP COLUMN changed', qq{anew table "item" has no column "changed", for the versions\nmend table "item" has no index on column "changed"});
	befalls('versions under another name', 'ALTER TABLE item RENAME changed TO version', 'tell column "version" of table "item" was column "changed" when the table was tracked');
	befalls('deleted keys with versions of another name', 'ALTER TABLE item_deleted RENAME changed TO version', 'tell column "version" of table "item_deleted" was column "changed" when the table was tracked');
	befalls('others may write deleted keys', 'GRANT INSERT, TRIGGER ON item_deleted TO other', 'tell others than the owner may write to table "item_deleted", which has deleted keys');
	befalls('deleted keys that a crash empties', 'ALTER TABLE item_deleted SET UNLOGGED', 'tell table "item_deleted", which has deleted keys, is emptied by a crash', marks => 1);
	befalls('a trigger that fires behind', "CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER \"~z\" BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION t()",
		'tell trigger "~z" of table "item" fires after the one that gives the version', marks => 1);
	# A session from before keeps no plan with a rule in it, and none fires.
	$session = $node->background_psql('app', extra_params => [ '-U', 'shop' ]);
	$session->query_safe('SET search_path = s_pieces, public; INSERT INTO item SELECT n FROM generate_series(101, 104) AS n; DELETE FROM item WHERE id = 101');
	befalls('a trigger on deleted keys', "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER swallow BEFORE INSERT ON item_deleted FOR EACH ROW EXECUTE FUNCTION swallow()",
		'tell trigger "swallow" of table "item_deleted" does not fire for deleted keys, and may leave out marks', marks => 1);
	is(shop('CREATE TRIGGER swallow BEFORE INSERT ON item_deleted FOR EACH ROW EXECUTE FUNCTION swallow(); CREATE RULE swallow AS ON INSERT TO item_deleted DO INSTEAD NOTHING; INSERT INTO item SELECT n FROM generate_series(102, 103) AS n'), '', 'both');
	if ($kind eq 'extension')
	{
		$session->query_safe('DELETE FROM item WHERE id = 102');
		is(shop('DELETE FROM item WHERE id = 103; SELECT string_agg(id::text, $$ $$ ORDER BY id) FROM item_deleted WHERE id > 100'), '101 102 103', '... leave out no key');
	}
	shop('DROP TRIGGER swallow ON item_deleted; DROP RULE swallow ON item_deleted; INSERT INTO item VALUES (104)');
	$session->query_safe('DELETE FROM item WHERE id = 104');
	$session->quit;
	is(shop('SELECT count(*) FROM item_deleted WHERE id = 104'), '1', '... nor when they are gone');
	befalls('a rule on deleted keys', 'CREATE RULE swallow AS ON INSERT TO item_deleted DO INSTEAD NOTHING', 'tell rule "swallow" of table "item_deleted" does not fire for deleted keys, and may leave out marks', marks => 1);
	befalls("$_->[0] on deleted keys", $_->[1], "tell $_->[2] of table \"item_deleted\" may refuse deleted keys or marks, and so what deletes rows") foreach [ 'a check', 'ALTER TABLE item_deleted ADD CONSTRAINT filled CHECK (id IS NOT NULL) NOT VALID', 'constraint "filled"' ],
	  [ 'a unique index', 'DELETE FROM item_deleted; CREATE UNIQUE INDEX once ON item_deleted ((id IS NULL))', 'unique index "once"' ], [ 'a unique key', 'DELETE FROM item_deleted; ALTER TABLE item_deleted ADD CONSTRAINT once UNIQUE (id)', 'constraint "once"' ],
	  [ 'a deferred key', 'DELETE FROM item_deleted; ALTER TABLE item_deleted ADD CONSTRAINT once UNIQUE (id) DEFERRABLE', 'constraint "once"' ];
	befalls('a default of deleted keys', 'ALTER TABLE item_deleted ALTER id SET DEFAULT 7', 'tell column "id" of table "item_deleted" has a default, so that a mark is none', marks => 1);
	is(shop('ALTER TABLE item_deleted FORCE ROW LEVEL SECURITY') . said('item'), '', '... and without a policy it is no row security');
	befalls('others', 'CREATE TRIGGER seen AFTER INSERT ON item_deleted FOR EACH ROW EXECUTE FUNCTION swallow(); CREATE RULE also AS ON INSERT TO item_deleted DO ALSO NOTHING', join "\n", map { "tell $_ of table \"item_deleted\" does not fire for deleted keys" } 'trigger "seen"', 'rule "also"');
	befalls('row security of deleted keys', 'ALTER TABLE item_deleted ENABLE ROW LEVEL SECURITY; CREATE POLICY hidden ON item_deleted FOR INSERT WITH CHECK (true)', 'tell row security of table "item_deleted", which has deleted keys, holds for its owner, too', marks => 1);
	like(shop('ALTER TABLE item_deleted FORCE ROW LEVEL SECURITY; SELECT uid_purge_deleted($$item$$, now())'), qr/row security hides rows of table "item_deleted"/, '... is none that a purge overlooks');
	shop('ALTER TABLE item_deleted DISABLE ROW LEVEL SECURITY');
	befalls('row security of deleted keys without a policy', 'DROP POLICY hidden ON item_deleted; ALTER TABLE item_deleted NO FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY', 'tell row security of table "item_deleted", which has deleted keys, has no policy, so that readers see no row', marks => 1);
	is(shop('CREATE TABLE child () INHERITS (item)') . said('item') =~ s/:.*//sr, 'tell table "item" inherits from another one, or another one from it', 'a child is told');
	is(shop('DROP TABLE child; ALTER TABLE item SET UNLOGGED') . said('item') =~ s/:.*//sr, 'tell table "item" is not permanent', 'a table that a crash empties is told');
	shop('ALTER TABLE item SET LOGGED');

	# Who has the privilege TRIGGER may have one of any name call whatever function PUBLIC may execute.  No tool takes that for one of its own.
	foreach my $trigger ('delete" AFTER DELETE', 'key" AFTER UPDATE', 'truncate" AFTER TRUNCATE', 'stamp" BEFORE INSERT')
	{
		my ($short) = $trigger =~ /^(\w+)/;
		my $level = $short eq 'truncate' ? 'STATEMENT' : 'ROW';
		my $make = sub { return as($node, 'other', 'app', qq{CREATE TRIGGER "~uid_$trigger ON s_$_[0].item FOR EACH $level EXECUTE FUNCTION s_$_[0].$_[1]}) };
		begin("strange_$short", q{CREATE TABLE item (id serial PRIMARY KEY, tenant integer NOT NULL DEFAULT 1, name text); INSERT INTO item VALUES (1), (2); GRANT TRIGGER ON item TO other;
			CREATE TABLE run (id bigint PRIMARY KEY DEFAULT uid_next(), what text); INSERT INTO run (what) VALUES ('x'); CREATE FUNCTION run() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN EXECUTE TG_ARGV[0]; RETURN NEW; END$$});
		my $state = sub { return shop(q{SELECT pg_get_functiondef(p.oid), p.proacl, (SELECT count(what) FROM run) FROM pg_proc AS p WHERE p.oid = 'run'::regproc}) };
		my $before = $state->();
		$make->("strange_$short", q{run('SELECT 1')});
		is(said('item'), $is_other->($short, 'run'), "a trigger ~uid_$short that a stranger made is told");
		like(shop(qq{SELECT uid_$_}), /^adopt/ ? qr/^$/ : /^track/ || $short =~ /delete|key|trunc/ ? qr/ERROR:  a trigger has the name of one that is needed/ : qr/ERROR:  the changes of table "item" are not tracked/, "... to $_")
		  foreach q{adopt('item', 'id', true)}, q{track_changes('item', execute => true)}, q{purge_deleted('item', now())};
		is($state->(), $before, '... and the function that it calls is as it was');
		is(shop(shop(q{SELECT statement FROM uid_check_table('item')})) . said('item'), '', '... it is dropped, and no function');
		# Where the table is tracked, and lacks that trigger.
		shop(qq{SELECT uid_track_changes('item', execute => true); DROP TRIGGER "~uid_$short" ON item});
		$make->("strange_$short", q{run('SELECT 1')});
		befalls("the trigger ~uid_$short is a stranger's", '', $is_other->($short, 'run'), marks => 1);
		is($state->(), $before, '... whose function is as it was');
	}
	begin('stamped', 'CREATE TABLE item (id integer PRIMARY KEY, n bigint); GRANT TRIGGER ON item TO other');
	as($node, 'other', 'app', q{CREATE TRIGGER "~uid_stamp" BEFORE INSERT ON s_stamped.item FOR EACH ROW EXECUTE FUNCTION uid_stamp('n')});
	is(said('item') . shop(shop(q{SELECT statement FROM uid_check_table('item')})) . said('item'), 'tell trigger "~uid_stamp" of table "item" is there, and nothing else that uid_track_changes() makes', 'a stamp alone does not track a table');

	begin('numbered', 'CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text)');
	shop('CALL uid_number_rows($$item$$, $$id$$, begin => true)');
	is(shop('CREATE TABLE child () INHERITS (item)') . said('item'), 'tell table "item", which has numbers, inherits from another one, or another one from it: uid_number_rows() refuses it', 'a table with numbers and a child is told');
	is(shop('DROP TABLE child; ALTER TABLE item ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY') . said('item') =~ s/, which.*//r . shop('ALTER TABLE item DISABLE ROW LEVEL SECURITY'), 'tell row security of table "item"', '... and what hides its rows from its owner');
	shop('INSERT INTO item DEFAULT VALUES; CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$; CREATE TRIGGER skip BEFORE UPDATE ON item_number_counter FOR EACH ROW EXECUTE FUNCTION skip()');
	like(shop('CALL uid_number_rows($$item$$, $$id$$)'), qr/Trigger "skip" of table "s_numbered"."item_number_counter", which has the last number of .*, may change or leave out/, 'a last number that would not be kept is an error');
	is(shop('SELECT count(*) FROM item_number'), '0', '... and gives none');
	begin('default_rights', 'CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next()); ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO other');
	shop('CALL uid_number_rows($$item$$, $$id$$, begin => true); ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM other');
	is(said('item') . shop('SET array_nulls = off; CALL uid_number_rows($$item$$, $$id$$)') =~ s/\|\d+(?=\|0\z)//r, '0|0|0|0', 'nobody else may write to numbers, whatever the default privileges are');
	is(shop('GRANT INSERT (number), SELECT ON item_number TO other') . said('item'), 'tell others than the owner may write to table "item_number", which has the numbers of table "item"', '... and whoever may later, also to a column, is told');
	is(shop(shop(q{SELECT statement FROM uid_check_table('item')})) . said('item') . super("SELECT has_table_privilege('other', 'item_number', 'SELECT')"), 't', '... with what takes that back, and no more');

	# As after a new layout: ids of a time in the past would be smaller now.
	begin('layout');
	befalls('versions of larger ids', q{UPDATE item SET name = 'y'; COMMENT ON COLUMN item_deleted.changed IS E'mine\nuidgen: versions of second 1790000000 begin with 9000000000000000000'},
		'anew ids are smaller now than the versions of table "item", so readers that go on from those see no change');
	is(shop(q{SELECT split_part(col_description('item_deleted'::regclass, 2), E'\n', 1)}), 'mine', '... with the other lines of the comment');

	# What is written under quote_all_identifiers has other texts in the catalogs.
	begin('quoted', 'SET quote_all_identifiers = on; CREATE TABLE item (id integer PRIMARY KEY, tenant integer, name text); SELECT uid_track_changes($$item$$, execute => true); SELECT uid_track_changes($$item$$, execute => true)');
	is(said('item') . shop('SET quote_all_identifiers = on; SELECT what FROM uid_check_table($$item$$)'), '', 'what is made under quote_all_identifiers is sound');
	befalls('the settings of the function', 'ALTER FUNCTION item_deleted() SET search_path = pg_catalog', 'mend function "item_deleted"() is not what it would be now');

	begin('names');
	befalls('deleted keys under another name', 'ALTER TABLE item_deleted RENAME TO gone', <<'SAID' =~ s/\n\z//r, deleted => 'gone');
mend function "item_deleted"() has not the name of table "gone"
anew function "item_deleted"() is not what it would be now
SAID
	befalls('deleted keys in another schema', 'CREATE SCHEMA elsewhere; ALTER TABLE gone SET SCHEMA elsewhere', <<'SAID' =~ s/\n\z//r, deleted => 'elsewhere.gone');
mend function "gone"() is not in the schema of table "elsewhere"."gone"
anew function "gone"() is not what it would be now
SAID
	is(shop('REVOKE USAGE ON SCHEMA elsewhere FROM shop') . said('item') . shop(shop(q{SELECT statement FROM uid_check_table('item')})) . said('item'), 'tell the owner of table "item" may not use schema "elsewhere", which has deleted keys, so that DELETE fails', 'a schema that the owner may not use is told');
	shop('DROP SCHEMA elsewhere CASCADE');

	# Blue and green are exchanged: two tables with all that belongs to them, whichever is mended first; and the one that was replaced, with a new one.
	foreach my $first ('item', 'other')
	{
		begin("exchanged_$first", join ' ', map { "CREATE TABLE $_ (id integer PRIMARY KEY, tenant integer, name text); INSERT INTO $_ VALUES (1), (2); SELECT uid_track_changes('$_', execute => true);" } qw(item other));
		my ($second) = grep { $_ ne $first } qw(item other);
		my $is_of_other = sub { return qq{mend function "$_[1]"() has not the name of table "$_[0]_deleted"\nanew function "$_[1]"() is not what it would be now} };
		foreach my $again ('', 'once more, ')
		{
			befalls("${again}the name of another one, of $first first", join('; ', map { "ALTER TABLE item$_ RENAME TO x$_; ALTER TABLE other$_ RENAME TO item$_; ALTER TABLE x$_ RENAME TO other$_" } '', '_deleted'),
				$is_of_other->($first, "${second}_deleted"), table => $first, deleted => "${first}_deleted");
			befalls("${again}the name of another one, then of $second", '', $is_of_other->($second, "${first}_deleted_2"), table => $second, deleted => "${second}_deleted");
			is(said($first), '', '... without harm to the first');
			next if $again;
			is(shop('ALTER TABLE other RENAME TO former; ALTER TABLE other_deleted RENAME TO former_deleted; SELECT uid_track_changes($$former$$, execute => true);
				CREATE TABLE other (LIKE former INCLUDING ALL); SELECT uid_track_changes($$other$$, execute => true)'), '', 'one is replaced');
			befalls("... and $_ has its own", '', '', table => $_, deleted => "${_}_deleted") foreach qw(item other former);
		}
	}
	begin('renamed', join ' ', map { "CREATE TABLE $_ (id integer PRIMARY KEY); SELECT uid_track_changes('$_', execute => true);" } qw(item other));
	is(shop('ALTER TABLE item RENAME TO former; ALTER TABLE other RENAME TO item') . said('item'), 'tell table "item_deleted" has the deleted keys of table "former", and table "other_deleted" those of table "item"', 'another table that has the name of its deleted keys is told');
	is(shop('ALTER TABLE item_deleted RENAME TO former_deleted; ALTER TABLE other_deleted RENAME TO item_deleted; SELECT uid_track_changes($$former$$, execute => true); SELECT uid_track_changes($$item$$, execute => true)') . said('item') . said('former'), '', '... until it is renamed');
	begin('green');
	begin('blue');
	super('ALTER SCHEMA s_blue RENAME TO s_old; ALTER SCHEMA s_green RENAME TO s_blue');
	foreach my $now ('s_old', 's_blue')
	{
		$scene = $now;
		befalls("a schema that is $now now", '', 'anew function "item_deleted"() is not what it would be now');
	}

	# Partitions.
	begin('parts', 'CREATE TABLE item (id bigint PRIMARY KEY, tenant integer, name text) PARTITION BY RANGE (id); CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10); SELECT uid_track_changes($$item$$, execute => true)');
	befalls('a partition that was made by hand', q{CREATE TABLE item_2 PARTITION OF item FOR VALUES FROM (10) TO (20); INSERT INTO item VALUES (11, 1); TRUNCATE item_2}, 'anew trigger "~uid_truncate" of table "item_2" is missing', values => q{11, 1, 'x'});
	befalls('a partition that was detached', 'ALTER TABLE item DETACH PARTITION item_2', 'anew trigger "~uid_truncate" of table "item_2" is left, of when it was a partition');
	is(said('item_2'), '', '... of which nothing else is said');
	befalls('a partition that was attached', 'INSERT INTO item_2 VALUES (12, 1); ALTER TABLE item ATTACH PARTITION item_2 FOR VALUES FROM (10) TO (20)', 'anew trigger "~uid_truncate" of table "item_2" is missing');
	befalls('a partition that was changed while it was none', 'ALTER TABLE item DETACH PARTITION item_2; INSERT INTO item_2 VALUES (13, 1); ALTER TABLE item ATTACH PARTITION item_2 FOR VALUES FROM (10) TO (20)', 'anew trigger "~uid_truncate" of table "item_2" is from before the partition was attached',
		values => q{11, 1, 'x'});
	befalls('a trigger that partitions have from the table', 'DROP TRIGGER "~uid_delete" ON item', 'anew trigger "~uid_delete" of table "item" is missing');
	is(shop('ALTER TABLE item_1 DISABLE TRIGGER "~uid_truncate"') . said('item'), 'anew trigger "~uid_truncate" of table "item_1" is not enabled', 'a trigger of a partition is looked at');
	# Code of its owner would run in their sessions.
	is($_, '-- The owner of the table is told the statement.', '... and who is not the owner, or a superuser who has become that, is told no statement')
	  foreach map { as($node, $_->[0], 'app', "$_->[1] SELECT DISTINCT statement FROM uid_check_table('s_parts.item')") } [ 'watcher', '' ], [ $node->safe_psql('app', 'SELECT current_user'), '' ], [ $node->safe_psql('app', 'SELECT current_user'), 'SET ROLE shop;' ];

	is(shop('CREATE TABLE whole (id bigint, tenant integer, name text, changed bigint NOT NULL DEFAULT 0) PARTITION BY RANGE (id); CREATE TABLE leaf (id bigint PRIMARY KEY, tenant integer, name text); SELECT uid_track_changes($$leaf$$, execute => true);
		ALTER TABLE whole ATTACH PARTITION leaf FOR VALUES FROM (0) TO (10); SELECT "table", left(what, 28) FROM uid_check_tables() WHERE "table" IN ($$whole$$, $$leaf$$)'), 'leaf|table "leaf" is a partition:', 'a tracked table that became a partition is told');

	# Partitions of a partition, by time: what is dropped there is gone from the whole, which is tracked.
	begin('levels', q{CREATE TABLE item (tenant integer, id bigint DEFAULT uid_next(), name text, PRIMARY KEY (tenant, id)) PARTITION BY LIST (tenant); CREATE TABLE item_1 PARTITION OF item FOR VALUES IN (1) PARTITION BY RANGE (id);
		SELECT uid_track_changes('item', execute => true); DO $$ BEGIN PERFORM uid_partitions('item_1', now() - interval '5 months', now() + interval '1 month', '1 month', true); END $$;
		INSERT INTO item SELECT 1, uid_min(t) FROM generate_series(now() - interval '5 months', now(), '7 days') AS t});
	is(said('item') . said('item_1'), '', 'partitions of a partition have triggers for TRUNCATE');
	shop('TRUNCATE item_1_' . shop(q{SELECT to_char(now(), 'YYYY_MM')}));
	is(marks('item_deleted'), 1, '... which leaves a mark');
	my $drop = q{uid_drop_partitions('item_1', now() - interval '2 months', %s, force => true)};
	is(shop(sprintf "SELECT string_agg(CASE WHEN d ~ '^DROP' THEN '-' ELSE d END, ' ') FROM (SELECT $drop AS d LIMIT 5) AS d", 'false'), qq{BEGIN; SET LOCAL lock_timeout = '500ms'; - INSERT INTO "s_levels"."item_deleted" DEFAULT VALUES; COMMIT;}, '... a drop is printed with the mark of the whole');
	is(shop(sprintf "SELECT count(*) FROM $drop AS d WHERE d ~ '^DROP'", 'true') . marks('item_deleted'), '32', '... and run with one');
	shop('CREATE TABLE item_old PARTITION OF item_1 FOR VALUES FROM (0) TO (100); CREATE TABLE item_rest PARTITION OF item_1 DEFAULT; INSERT INTO item VALUES (1, 1000); ANALYZE item_rest; SELECT uid_track_changes($$item$$, execute => true)');
	is(shop(q{SELECT "table", class, left(what, 28) FROM uid_check_tables() WHERE "table"::text LIKE 'item%' ORDER BY 3}), qq{item|tell|partition "s_levels"."item_o\nitem|tell|the default partition "s_lev}, 'what is of no layout, or in a default partition there, is told of the whole');
	is(said('item_old'), '', '... and nothing of a partition that is as it should be');

	# A partition that goes elsewhere: the trigger that it has kept is all that tells of its rows in the former table, whichever table is mended first.
	my $parts = 'CREATE TABLE item (id bigint PRIMARY KEY, tenant integer, name text) PARTITION BY RANGE (id); CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10); CREATE TABLE item_2 PARTITION OF item FOR VALUES FROM (10) TO (20); INSERT INTO item VALUES (1);
		SELECT uid_track_changes($$item$$, execute => true)';
	my $track = q{SELECT uid_track_changes('%s', execute => %s)};
	foreach ([ 'tracked', sprintf($track, 'other', 'true'), 'other', 'true' ], [ 'printed', sprintf($track, 'other', 'true'), 'other', 'false' ], [ 'untracked', '', 'other', 'true' ], [ 'alone', '', 'item_1', 'true' ])
	{
		my ($name, $before, $table, $execute) = @$_;
		begin("moved_$name", $parts);
		shop("CREATE TABLE other (id bigint PRIMARY KEY, tenant integer, name text, changed bigint NOT NULL DEFAULT 0) PARTITION BY RANGE (id); $before");
		is(shop('ALTER TABLE item DETACH PARTITION item_1' . ($table eq 'other' ? '; ALTER TABLE other ATTACH PARTITION item_1 FOR VALUES FROM (0) TO (10)' : '')) . said('item'),
			'anew trigger "~uid_truncate" of table "item_1" is left, of when it was a partition', "$name: a partition that went elsewhere is told");
		is(shop(shop(sprintf $track, $table, $execute)) . said('item') . said($table) . marks('item_deleted'), '1', '... and who tracks it there writes the mark here');
	}
	# ... and is dropped there by a tool, which tells the readers of both.
	foreach my $track ('', 'SELECT uid_track_changes($$other$$, execute => true);')
	{
		begin($track ? 'dropped_both' : 'dropped_one', join '', (map { "CREATE TABLE $_ (id bigint PRIMARY KEY DEFAULT uid_next()" . ($_ eq 'other' ? ', changed bigint NOT NULL DEFAULT 0' : '') . ') PARTITION BY RANGE (id); ' } qw(item other)),
			'SELECT uid_track_changes($$item$$, execute => true); ', $track, q{DO $$ BEGIN PERFORM uid_partitions('item', now() - interval '5 months', now(), '1 month', true); END $$; INSERT INTO item SELECT uid_min(now() - interval '4 months')});
		shop(q{SELECT format('ALTER TABLE item DETACH PARTITION %1$s; ALTER TABLE other ATTACH PARTITION %1$s %2$s', c.oid::regclass, pg_get_expr(c.relpartbound, c.oid)) FROM item AS i JOIN pg_class AS c ON c.oid = i.tableoid \gexec});
		my $drop = q{uid_drop_partitions('other', now() - interval '2 months', %s, force => true)};
		my $marks = join ' ', map { qq{INSERT INTO "$scene"."${_}_deleted" DEFAULT VALUES;} } 'item', $track ? 'other' : ();
		like(shop(sprintf "SELECT $drop", 'false'), qr/^BEGIN;\nSET LOCAL lock_timeout = '500ms';\nDROP TABLE [^\n]*;\n\Q$marks\E\nCOMMIT;\z/, "$scene: a drop is printed with a mark for each reader");
		like(shop(sprintf "SELECT 'done: ' || $drop", 'true'), qr/^done: DROP TABLE [^\n]*;\ndone: \Q$marks\E\z/, '... and run with it');
		is(said('item') . said('other') . marks('item_deleted') . ($track ? marks('other_deleted') : ''), $track ? '11' : '1', '... and both tables are sound');
	}
	begin('archived', $parts);
	befalls('a partition that was given away', 'ALTER TABLE item DETACH PARTITION item_1; ALTER TABLE item_1 OWNER TO other', 'tell trigger "~uid_truncate" of table "item_1" is left, of when it was a partition of table "item", and belongs to another role',
		by_super => 1, marks => 1, values => q{11, 1, 'x'});

	begin('partly', 'CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next()) PARTITION BY RANGE (id); CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id); CREATE TABLE item_2 PARTITION OF item_1 FOR VALUES FROM (0) TO (5)');
	my $is_others = sub { return qq{tell table "$_[0]" belongs to role "other", and is a partition of table "item", which belongs to role "shop": the tools refuse what has several owners} };
	super('ALTER TABLE item_2 OWNER TO other');
	is(said('item'), $is_others->('item_2'), 'a partition of another owner is told of a table that is no more than adopted');
	super('ALTER TABLE item_1 OWNER TO other');
	is(said('item'), join("\n", map { $is_others->("item_$_") } 1, 2), '... each');
	is(said('item_1') . super('ALTER TABLE item ALTER id DROP DEFAULT') . said('item'), '', '... and of none that uidgen has nothing in');
	super('ALTER TABLE item_1 OWNER TO shop; ALTER TABLE item_2 OWNER TO shop');
	shop('SELECT uid_track_changes($$item$$, execute => true)');
	super('ALTER TABLE item_1 OWNER TO other');
	is(said('item'), $is_others->('item_1'), '... and of one that is tracked');
	like(shop('SELECT uid_track_changes($$item$$, execute => true)'), qr/ERROR:  table "s_partly"."item_1" belongs to role "other"/, '... which the tools refuse');

	# The same columns, compared otherwise: by the tree, so that neither names nor types matter.
	begin('compared', 'CREATE TABLE item (id integer, tenant varchar(5), name text, PRIMARY KEY (tenant, id)); SELECT uid_track_changes($$item$$, execute => true)');
	befalls("a trigger for another key WHEN ($_->[0])", qq{DROP TRIGGER "~uid_key" ON item; CREATE TRIGGER "~uid_key" AFTER UPDATE ON item FOR EACH ROW WHEN ($_->[0]) EXECUTE FUNCTION item_deleted(); ALTER TABLE item ENABLE ALWAYS TRIGGER "~uid_key"},
		$_->[1] ? 'anew trigger "~uid_key" of table "item" is not what it would be now' : '')
	  foreach [ 'old.id = new.id AND old.tenant = new.tenant', 1 ], (map { [ "($_->[0]) IS NOT TRUE", $_->[1] ] } [ 'old.id = new.id AND old.tenant = old.tenant', 1 ], [ 'old.id = new.id OR old.tenant = new.tenant', 1 ], [ 'old.id = new.id AND old.tenant >= new.tenant', 1 ],
	  [ 'old.id = new.id AND old.tenant = new.tenant AND old.name = new.name', 1 ], [ 'old.id = new.id AND old.tenant = new.tenant', 0 ]), map { [ $_, 1 ] } 'NOT (old.id = new.id AND old.tenant = new.tenant)', '(old.id = new.id AND old.tenant = new.tenant) IS NOT FALSE';

	# Other owners: of the table alone, and of all.
	begin('owners');
	super('GRANT CREATE ON SCHEMA s_owners TO other; ALTER TABLE item OWNER TO other');
	like(join("\n", sort split /\n/, said('item')), qr/^tell function "item_deleted"\(\), which writes deleted keys of table "item", belongs to another role\ntell table/, 'a table of another owner is told');
	super('ALTER TABLE item_deleted OWNER TO other');
	like(as($node, 'other', 'app', "SET search_path = s_owners, public; SELECT uid_adopt('item', 'id')"), qr/^psql:[^\n]*ERROR:  42501: trigger "~uid_delete" of table "item" calls a function of another role/, '... and to adopt it prints nothing of a function that is not its owner\'s');
	super('ALTER FUNCTION item_deleted() OWNER TO other');
	is(said('item'), '', 'a table of another owner with all that belongs to it is sound');
	super('ALTER TABLE item_deleted OWNER TO shop; ALTER FUNCTION item_deleted() OWNER TO shop; ALTER TABLE item OWNER TO shop');

	# ---- what another role has ----

	# His table is tracked, and its function gets the name of what is not his: nothing is printed that a superuser would run on that.
	begin('strange', 'CREATE TABLE customers (id bigint PRIMARY KEY, secret text, CHECK (id > 0)); GRANT SELECT, INSERT ON customers TO watcher; CREATE FUNCTION login(a text) RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
		CREATE FUNCTION entry() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$; CREATE TABLE own (id integer PRIMARY KEY, name text); SELECT uid_track_changes($$own$$, execute => true); GRANT TRIGGER ON own TO other');
	super('GRANT CREATE ON SCHEMA s_strange TO other');
	my $theirs = sub { return as($node, 'other', 'app', "SET search_path = s_strange, public; SET client_min_messages = error; $_[0]") };
	my $look = sub { return super("SELECT class || ' ' || what || coalesce(' ' || statement, '') FROM uid_check_table('$_[0]')") };
	$theirs->('CREATE TABLE h (secret text PRIMARY KEY); SELECT FROM uid_track_changes($$h$$, $$id$$, execute => true); ALTER TABLE h_deleted RENAME TO hx; COMMENT ON TABLE hx IS NULL; COMMENT ON COLUMN h.id IS NULL; ALTER FUNCTION h_deleted() RENAME TO customers');
	my $taken = 'tell table "s_strange"."h" is tracked, and something else has the name "s_strange"."%s" of the table of its deleted keys';
	is($look->('h'), sprintf($taken, 'customers'), "a stranger's table is not taken for that of deleted keys, whatever its columns");
	super(q{COMMENT ON COLUMN s_strange.h.id IS 'uidgen: changes are tracked in "s_strange"."own_deleted"'; ALTER FUNCTION customers() RENAME TO own_deleted2; ALTER FUNCTION own_deleted() RENAME TO own_deleted3; ALTER FUNCTION own_deleted2() RENAME TO own_deleted});
	is($look->('h'), sprintf($taken, 'own_deleted'), '... nor if a comment says so');
	super('ALTER FUNCTION own_deleted() RENAME TO own_deleted2; ALTER FUNCTION own_deleted3() RENAME TO own_deleted');
	$theirs->('DROP FUNCTION own_deleted2 CASCADE; DROP TABLE h, hx; CREATE TABLE h (id integer PRIMARY KEY); SELECT FROM uid_track_changes($$h$$, execute => true); ALTER TABLE h_deleted RENAME TO entry');
	is($look->('h') =~ s/\n.*//sr, 'tell function "s_strange"."entry"() has the name of the one that would write deleted keys of table "s_strange"."h"', q{a stranger's function is told, and not renamed});
	unlike($theirs->('ALTER TABLE entry RENAME TO login; SELECT FROM uid_track_changes($$h$$, execute => true)') . $look->('h'), qr/ERROR|^tell/m, '... and with arguments it is no conflict');
	# The privilege TRIGGER is enough for a function of his with the name of another table of the owner's.
	$theirs->('ALTER FUNCTION login() RENAME TO customers; ALTER TABLE login RENAME TO login2; DROP TRIGGER "~uid_delete" ON h; GRANT EXECUTE ON FUNCTION customers() TO PUBLIC');
	super('DROP TRIGGER "~uid_delete" ON own; DROP TRIGGER "~uid_key" ON own; SET ROLE other; CREATE TRIGGER "~uid_delete" AFTER DELETE ON own FOR EACH ROW EXECUTE FUNCTION customers()');
	unlike($look->('own'), qr/(?:TABLE|FUNCTION) "s_strange"\."customers"/, q{nothing is printed of a table whose name a stranger's function has});
	like($look->('own'), qr/^tell function "s_strange"\."customers"\(\), which writes deleted keys of table "s_strange"\."own", belongs to another role$/m, '... which is told');

	# Lines that others write into comments are no lines of ours.
	begin('lines');
	$theirs->('CREATE TABLE public.lines (); DO $$ BEGIN EXECUTE format($f$COMMENT ON TABLE public.lines IS %L$f$, (SELECT string_agg($f$uidgen: changes are tracked in "s_lines"."item_deleted"$f$ || coalesce(format($f$ (%s)$f$, nullif(n, 1)), $f$$f$), chr(10)) FROM generate_series(1, 1000) AS n)); END $$');
	is(shop(q{COMMENT ON TABLE item_deleted IS NULL; COMMENT ON COLUMN item.changed IS NULL; SELECT uid_track_changes('item', execute => true); SELECT obj_description('item_deleted'::regclass)}), 'uidgen: changes are tracked in "s_lines"."item_deleted"', 'no comment of another role keeps a table from its record');
	befalls('others may write columns of deleted keys', 'DELETE FROM item; GRANT INSERT (id), REFERENCES (changed) ON item_deleted TO other', 'tell others than the owner may write to table "item_deleted", which has deleted keys');
	$theirs->('DROP TABLE public.lines');

	# ---- another tool on the table ----

	begin('adopt', 'CREATE TABLE item (id serial PRIMARY KEY, tenant integer NOT NULL DEFAULT 1, name text); CREATE TABLE line (item integer REFERENCES item ON DELETE CASCADE, n integer, PRIMARY KEY (item, n));
		INSERT INTO item (name) SELECT n FROM generate_series(1, 10) AS n; INSERT INTO line SELECT n, 1 FROM generate_series(1, 9) AS n;
		SELECT uid_track_changes(t::regclass, execute => true) FROM unnest(ARRAY[\'item\', \'line\']) AS t; COMMENT ON COLUMN item.id IS \'the key\'');
	$session = $node->background_psql('app', extra_params => [ '-U', 'shop' ]);
	$session->query_safe('SET search_path = s_adopt, public; DELETE FROM item WHERE id = 1; UPDATE item SET id = 20 WHERE id = 10; DELETE FROM line WHERE item = 2');
	is(shop(q{SELECT uid_adopt('item', 'id', true)}), '', 'a tracked table is adopted in one call');
	$session->query_safe('DELETE FROM item WHERE id = 2; UPDATE item SET id = uid_next() WHERE id = 20; DELETE FROM line WHERE item = 3');
	$session->quit;
	is(shop(q{SELECT string_agg(id::text, ' ' ORDER BY changed) FROM item_deleted}), '1 10 2 20', '... and a session from before tells what it deletes');
	is(shop(q{SELECT string_agg(DISTINCT atttypid::regtype::text, ' ') FROM pg_attribute WHERE attname IN ('id', 'item') AND attnum > 0 AND attrelid IN ('item'::regclass, 'item_deleted'::regclass, 'line'::regclass, 'line_deleted'::regclass)}), 'bigint', '... all columns of it are bigint');
	is(said('item') . said('line'), '', '... and it is sound');
	is(marks('item_deleted') + marks('line_deleted'), 0, '... without a mark');
	is(shop(q{SELECT col_description('item'::regclass, 1)}), "the key\nuidgen: the default is uid_next()", 'the comment of the column says it, too');
	is(shop('ALTER TABLE item ALTER id DROP DEFAULT') . said('item'), 'mend column "id" of table "item" has lost its default uid_next()', 'a default that is gone is told');
	shop(shop(q{SELECT statement FROM uid_check_table('item')}));
	is(said('item'), '', '... and mended');
	is(shop('ALTER TABLE item ALTER id DROP DEFAULT; ALTER TABLE item ALTER id ADD GENERATED BY DEFAULT AS IDENTITY') . said('item') . shop(shop(q{SELECT statement FROM uid_check_table('item')})) . said('item'),
		'mend column "id" of table "item" has lost its default uid_next()', '... also where it is an identity now');
	is(shop('CREATE TABLE note (item bigint REFERENCES item); CREATE TABLE tag (item integer REFERENCES item)') . said('item'), 'mend column "item" of table "tag" holds ids of table "item", and is of type integer', 'a column that refers to it, and is too small, is told');
	shop(shop(q{SELECT statement FROM uid_check_table('item')}));
	is(said('item') . shop('INSERT INTO item (name) VALUES ($$x$$) RETURNING id > 1000'), 't', '... and mended');
	is(shop('BEGIN; SELECT uid_partitions($$item$$, now(), now(), $$1 day$$); ROLLBACK') =~ /42809|not partitioned/ ? 1 : 0, 1, 'a table that is not partitioned gets no partitions');
	super('REVOKE EXECUTE ON FUNCTION uid_next() FROM PUBLIC');
	like(said('item'), qr/^tell the owner of table "item" may not draw ids\ntell not all who may insert into table "item" may draw ids$/, 'who may not draw is told');
	super('GRANT EXECUTE ON FUNCTION uid_next() TO PUBLIC');

	begin('back', 'CREATE TABLE item (id serial PRIMARY KEY); COMMENT ON COLUMN item.id IS $$mine$$');
	my ($back) = as($node, 'shop', 'app', q{SET search_path = s_back, public; SELECT uid_adopt('item', 'id', true)}) =~ /the way back:\n(.*?COMMIT;)/s;
	shop('CALL uid_number_rows($$item$$, $$id$$, begin => true)');
	is(shop($back) . shop(q{SELECT col_description('item'::regclass, 1)}) . said('item'), "mine\nuidgen: rows are numbered by this column", 'the way back of uid_adopt() leaves nothing, and what others have written');
	($back) = as($node, 'shop', 'app', q{SET search_path = s_back, public; SELECT uid_track_changes('item', execute => true)}) =~ /the way back:\n(.*?COMMIT;)/s;
	like(shop(qq{CREATE VIEW item_changes AS SELECT changed FROM item UNION ALL SELECT changed FROM item_deleted;\n$back}) . $back, qr/view item_changes depends on table item_deleted.*\n    -- Before, drop views .*\n    DROP TABLE/s, 'a way back beside a view says what goes first');
	is(shop("DROP VIEW item_changes;\n$back") . said('item'), '', 'the way back of uid_track_changes(), too');
	shop(q{CREATE TABLE other (id integer PRIMARY KEY, "the ""v\ 's" bigint NOT NULL DEFAULT 0)});
	($back) = as($node, 'shop', 'app', q{SET search_path = s_back, public; SELECT uid_track_changes('other', $$the "v\ 's$$, execute => true)}) =~ /the way back:\n(.*?COMMIT;)/s;
	is(shop(q{SELECT format('COMMENT ON COLUMN other."the ""v\ ''s" IS %L', col_description('other'::regclass, 2) || E'\nit\'s mine \\\\') \gexec} . "\n$back") . shop(q{SELECT col_description('other'::regclass, 2)}) . said('other'), "it's mine \\", '... from a column that was there');

	# What is printed leaves in a comment what comes into it before it is run.
	begin('later', 'CREATE TABLE item (id bigserial PRIMARY KEY, changed bigint NOT NULL DEFAULT 0); INSERT INTO item DEFAULT VALUES');
	my $printed = shop(q{SELECT uid_adopt('item', 'id'); SELECT uid_track_changes('item')});
	my $comments = q{SELECT coalesce(col_description(attrelid, attnum), '-') FROM pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0 ORDER BY attnum};
	is(shop("COMMENT ON COLUMN item.id IS 'mine'; COMMENT ON COLUMN item.changed IS E'mine,\ntoo'; $printed") . shop(sprintf $comments, 'item') . said('item'),
		qq{mine\nuidgen: the default is uid_next()\nmine,\ntoo\nuidgen: changes are tracked in "s_later"."item_deleted"}, 'what is printed leaves lines that were written later');
	shop(q{COMMENT ON TABLE item_deleted IS NULL; COMMENT ON COLUMN item_deleted.changed IS E'uidgen: versions of second 1893456000 begin with 9000000000000000000'});
	$printed = shop(q{SELECT uid_track_changes('item'); SELECT statement FROM uid_check_table('item') WHERE statement LIKE '%lock_timeout%'});
	is(shop("COMMENT ON TABLE item_deleted IS 'its'; COMMENT ON COLUMN item_deleted.changed IS E'its, too\nuidgen: versions of second 1893456000 begin with 9000000000000000000'; $printed SELECT obj_description('item_deleted'::regclass);") . "\n" . shop(sprintf $comments, 'item_deleted') =~ s/begin with .*//r . said('item'),
		qq{its\nuidgen: changes are tracked in "s_later"."item_deleted"\n-\nits, too\nuidgen: versions of second 1893456000 }, '... and so of the table of deleted keys');

	# The tools for partitions, purges and numbers leave it sound.
	begin('tools', 'CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next(), name text) PARTITION BY RANGE (id); SELECT uid_track_changes($$item$$, execute => true)');
	is(shop(q{SELECT count(*) > 0 FROM uid_partitions('item', now() - interval '3 months', now() + interval '2 months', '1 month', true); INSERT INTO item (name) VALUES ('a'), ('b'); DELETE FROM item WHERE name = 'b'}) . said('item'), 't', 'with partitions');
	# Texts of others are not read, whatever their length, and their records count for nothing; nor does an owner's, but on a partition with these bounds.
	my $record = q{'uidgen: ids of layout "sequence:12 time:41:1ms worker:10 epoch:2025-01-01" from 0 to 1'};
	shop("CREATE TABLE plain (); COMMENT ON TABLE plain IS $record");
	is(as($node, 'other', 'app', qq{CREATE TABLE public.theirs (id bigint) PARTITION BY RANGE (id); CREATE TABLE public.theirs_1 PARTITION OF public.theirs FOR VALUES FROM (0) TO (1); COMMENT ON TABLE public.theirs_1 IS $record;
		DO \$\$ BEGIN EXECUTE 'COMMENT ON COLUMN public.theirs.id IS ' || quote_literal(repeat(chr(10), 70000000)); EXECUTE 'CREATE FUNCTION public.theirs() RETURNS trigger LANGUAGE plpgsql AS ' || quote_literal('BEGIN END' || repeat(' ', 70000000)); END \$\$;
		CREATE TRIGGER "~uid_delete" AFTER DELETE ON public.theirs FOR EACH ROW EXECUTE FUNCTION public.theirs()}) =~ s/\s+//gr, '', 'tables of others with long texts');
	is(shop(q{CREATE TABLE fresh (id bigint PRIMARY KEY); SELECT count(*) > 0 FROM uid_track_changes('fresh'); SELECT count(*) > 0 FROM uid_drop_partitions('item', now() - interval '1 month', true, force => true); SELECT uid_purge_deleted('item', now())})
		=~ s/\n\d+\z//r =~ s/\s+/ /gr . said('item'), 't t', '... and partitions go, as if these were not there');
	is(as($node, 'watcher', 'app', q{SELECT count(*) > 0 FROM uid_check_tables(); SELECT count(*) > 0 FROM uid_check_table('public.theirs')}), "t\nt", '... and a watcher goes on');
	as($node, 'other', 'app', 'DROP TABLE public.theirs; DROP FUNCTION public.theirs()');
	my $is_lost = sub { return qq{table "$_[0]" is not permanent: A crash empties an unlogged table, and the end of the session a temporary one, and no trigger sees that. If it is unlogged, run ALTER TABLE "$_[0]" SET LOGGED.} };
	my ($unlogged) = split /\n/, shop(q{SELECT min(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'item'::regclass});
	is(shop("ALTER TABLE $unlogged SET UNLOGGED") . said('item'), 'tell ' . $is_lost->($unlogged), 'a partition that a crash empties is told');
	like(shop(q{SELECT uid_track_changes('item')}), qr/ERROR:  table "$unlogged" is not permanent/, '... and refused');
	is(shop("ALTER TABLE $unlogged SET LOGGED") . said('item'), '', '... and mended');

	my $unrecorded = 'tell partition "old_part" has no record of the layout that its ids have: uid_drop_partitions() keeps it';
	is(shop(q{CREATE TABLE old_part (id bigserial PRIMARY KEY, name text, changed bigint NOT NULL DEFAULT 0); ALTER TABLE item ATTACH PARTITION old_part FOR VALUES FROM (0) TO (100)}) . said('item'),
		qq{anew trigger "~uid_truncate" of table "old_part" is missing\nmend column "id" of table "old_part" has another default than the table that it is a partition of\n$unrecorded}, 'a partition with ids of its own is told');
	$session = $node->background_psql('app');
	$session->query_safe("BEGIN; LOCK TABLE $scene.item IN SHARE UPDATE EXCLUSIVE MODE");
	like(shop("\\set ON_ERROR_STOP 0\n$_ UNION ALL SELECT 'SELECT 7' \\gexec"), qr/^7\npsql.*canceling statement due to lock timeout/, 'what is printed and waits in vain leaves no transaction behind')
	  foreach q{SELECT statement FROM uid_check_table('item') WHERE statement ~ '^(DO|BEGIN)'}, q{SELECT uid_partitions('item', now() + interval '3 years', now() + interval '37 months', '1 month')};
	$session->quit;
	shop("SELECT statement FROM uid_check_table('item') WHERE statement ~ '^(DO|SELECT)' \\gexec");
	is(said('item'), $unrecorded, '... and mended, but for what only its owner knows');

	begin('rest', 'CREATE TABLE item (id bigint PRIMARY KEY DEFAULT uid_next()) PARTITION BY RANGE (id); CREATE TABLE rest PARTITION OF item DEFAULT');
	my $is_spared = sub { return shop(q{SET client_min_messages = debug1; SELECT FROM uid_partitions('item', now(), now() + interval '1 day', $$1 day$$, true) AS p (s) WHERE s IS NULL}) =~ /partition "rest" is implied by existing constraints/ ? 1 : 0 };
	shop(shop(q{SELECT format('ALTER TABLE rest ADD CONSTRAINT not_to_come CHECK (id < %s OR id >= %s) NOT VALID', uid_min(now() - interval '1 week'), uid_min(now() + interval '1 year'))}) . '; ALTER TABLE rest VALIDATE CONSTRAINT not_to_come');
	is($is_spared->(), 1, 'a constraint of a default partition spares the look at its rows');

	begin('given', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO other; CREATE TABLE item (id integer PRIMARY KEY); SELECT uid_track_changes($$item$$, execute => true); ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM other');
	my $rights = q{SELECT string_agg(p, ' ') FROM unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS p, unnest('{item_deleted,item_number,item_number_counter}'::text[]) AS t WHERE has_table_privilege('other', to_regclass(t), p)};
	is(said('item') . shop($rights), 'SELECT', 'by default privileges others may read deleted keys, and no more');
	super(q{CREATE FUNCTION public.secure() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$DECLARE r record; BEGIN FOR r IN SELECT * FROM pg_event_trigger_ddl_commands() AS c WHERE c.object_type = 'table' LOOP EXECUTE 'ALTER TABLE ' || r.objid::regclass || ' ENABLE ROW LEVEL SECURITY'; END LOOP; END$$;
		CREATE EVENT TRIGGER secure ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.secure()});
	begin('secured', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO other; CREATE TABLE item (id bigint PRIMARY KEY); CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$; CREATE TRIGGER audit AFTER INSERT ON item FOR EACH ROW EXECUTE FUNCTION audit()');
	like(as($node, 'shop', 'app', 'SET search_path = s_secured, public; SELECT uid_track_changes($$item$$, execute => true); CALL uid_number_rows($$item$$, $$id$$, begin => true)'), qr/INFO:  (?:\w+: )?trigger "audit" calls "s_secured"\."audit"\(\): see that it takes a row with one more column$/m, 'a trigger that will get one more column is named');
	super('DROP EVENT TRIGGER secure');
	is(shop('ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM other') . said('item') . shop($rights), 'tell row security of table "item_deleted", which has deleted keys, has no policy, so that readers see no row', 'beside row security they may not read what tools make');
	is(shop('SELECT statement IS NULL FROM uid_check_table($$item$$)'), 't', '... nor by what is proposed');
	begin('taken', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO other, PUBLIC; CREATE TABLE item (id bigint PRIMARY KEY); CREATE TABLE day (id bigint PRIMARY KEY) PARTITION BY RANGE (id); REVOKE ALL ON item, day FROM other, PUBLIC; GRANT INSERT ON day TO other');
	shop(q{SELECT uid_track_changes('item', execute => true); CALL uid_number_rows('item', 'id', begin => true); SELECT FROM uid_partitions('day', now(), now() + interval '1 day', '1 day', true); ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM other, PUBLIC});
	is(shop($rights) . '/' . shop($rights =~ s/unnest\(\S+item_number_counter\S+/(SELECT max(inhrelid)::regclass::text AS t FROM pg_inherits WHERE inhparent = 'day'::regclass)/r), '/INSERT', 'whoever may not read a table may not read what tools make for it');

	# ---- dumps ----

	begin('dumped');
	shop('CREATE TABLE account (id serial PRIMARY KEY); SELECT uid_adopt($$account$$, $$id$$, true); CREATE TABLE "~~" (id bigint PRIMARY KEY DEFAULT uid_next()) PARTITION BY RANGE (id);
		SELECT uid_track_changes($$"~~"$$, execute => true); SELECT FROM uid_partitions($$"~~"$$, now(), now() + $$3 months$$::interval, $$1 month$$, true)');
	my $dump = $node->basedir . '/dump';
	foreach my $part ([ 'whole' ], [ 'schema alone', '-s' ], [ 'data alone', '-a', '--disable-triggers' ])
	{
		my ($name, @options) = @$part;
		my $database = $name =~ s/ /_/gr;
		$node->safe_psql('postgres', "CREATE DATABASE $database");
		put_twin_in($kind, $node, $database);
		$node->safe_psql($database, 'GRANT CREATE ON DATABASE ' . $database . ' TO shop');
		if ($name eq 'data alone')
		{
			$node->command_ok([ 'pg_dump', '-s', '-n', 's_dumped', '-f', "$dump.s.$name", $node->connstr('app') ], 'a dump of the schema');
			$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$dump.s.$name" ], '... is restored');
		}
		$node->command_ok([ 'pg_dump', @options, '-n', 's_dumped', '-f', "$dump.$name", $node->connstr('app') ], "a dump: $name");
		$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$dump.$name" ], '... is restored');
		is(said('account', $database), '', '... and what was adopted is sound');
		is(said('"~~"', $database) =~ s/^.* is not enabled$//mgr =~ s/\n//gr, '', '... and what is partitioned was not attached since');
		is(said('item', $database), $name eq 'data alone' ? join("\n", map { qq{anew trigger "~uid_$_" of table "item" is not enabled} } qw(stamp delete key truncate)) : '', '... what was tracked has its triggers');
		shop(q{SELECT uid_track_changes('item', execute => true)}, $database);
		is(said('item', $database), '', '... after a call, if need be');
	}

	# ---- a transaction from before, and others that look at it, and hold it ----

	begin('before', 'CREATE TABLE item (id integer PRIMARY KEY); INSERT INTO item VALUES (1), (2)');
	my $before = $node->background_psql('app', on_error_stop => 0, extra_params => [ '-U', 'shop' ]);
	$before->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1');
	shop('SELECT uid_track_changes($$item$$, execute => true)');
	$before->query("\\set VERBOSITY verbose\nDELETE FROM s_before.item WHERE id = 1; COMMIT");
	$kind eq 'extension' ? is($before->{stderr} . shop('SELECT id FROM item_deleted'), '1', 'a transaction from before tells what it deletes')
	  : like($before->{stderr}, qr/ERROR:  40001: the table of deleted keys was made or changed after the snapshot/, 'a transaction from before begins anew');
	$before->quit;

	begin('held');
	shop('ALTER TABLE item DISABLE TRIGGER "~uid_key"');
	$session = $node->background_psql('app');
	$session->query_safe('SET client_min_messages = error; BEGIN; LOCK TABLE s_held.item, s_held.item_deleted, s_adopt.item IN ACCESS EXCLUSIVE MODE; DROP FUNCTION s_held.item_deleted CASCADE');
	is(as($node, 'watcher', 'app', q{SET lock_timeout = '1ms'; SELECT "table", class, what FROM uid_check_tables() WHERE "table"::text LIKE 's\_held%'}), 's_held.item|anew|trigger "~uid_key" of table "s_held"."item" is not enabled', 'a watcher sees it, and waits for nobody');
	$session->query_safe('ROLLBACK');
	is(as($node, 'watcher', 'app', "SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \\gset\nSELECT count(*) FROM uid_check_tables()"), as($node, 'watcher', 'app', 'SELECT count(*) FROM uid_check_tables()'), '... in a parallel worker, too');
	is($session->query_safe(q{BEGIN; SELECT count(*) FROM uid_check_tables() \g (format=unaligned)
SELECT count(*) FROM pg_locks AS l WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.relation > 16384 AND relation::regclass::text !~ '\.layout_used$' AND relation::regclass::text NOT LIKE 'pg\_%'}) =~ s/.*\n//sr, '0', '... and locks nothing but the list of layouts');
	$session->quit;

	# ---- the extension goes, and comes again ----

	$node->safe_psql('app', join '; ', map { "DROP SCHEMA $_ CASCADE" } split /\n/, $node->safe_psql('app', q{SELECT nspname FROM pg_namespace WHERE nspname LIKE 's\_%'}));
	begin('dropped');
	# What was copied has the comments, too.
	my $copy = 'CREATE TABLE item (LIKE thing INCLUDING ALL)';
	# Of two tables with the comment, and no triggers, none is taken for the tracked one until it is named.  A restore can make either first.
	my $is_told_apart = sub {
		is(shop($copy) . said('thing') . "\n" . said('item'), join("\n", map { qq{tell table "$_->[0]" has the comment of a tracked one, and so has table "$_->[1]", and neither has triggers: one is a copy; call uid_track_changes() for the other, and let readers copy it anew} } [ 'thing', 'item' ], [ 'item', 'thing' ]),
			'without triggers either of two tables may be the copy');
		is(shop(q{BEGIN; COMMENT ON COLUMN item.changed IS NULL; SELECT class || ' ' || what FROM uid_check_table('thing'); ROLLBACK}) =~ s/"s_dropped"\.//gr, $_[0], '... and that with the comment alone is taken');
		is(shop(q{SELECT uid_track_changes('thing', execute => true)}) . said('thing') . marks('gone'), '1', '... or the one that is named, with a mark');
	};
	my $has_own = sub {
		is(said('item') . shop('SELECT uid_track_changes($$item$$, execute => true)') . said('item') . said('thing'), $is_copy->('item'), 'a copy has deleted keys of its own');
		is_told($_->[0], @$_, q{7, 1, 'x'}) foreach [ 'item', 'item_deleted' ], [ 'thing', 'gone' ];
	};
	my $all_missing = <<'SAID' =~ s/\n\z//r;
mend column "changed" of table "gone" has no default uid_next()
anew function "gone"(), which writes deleted keys, is missing
anew trigger "~uid_stamp" of table "thing" is missing
anew trigger "~uid_delete" of table "thing" is missing
anew trigger "~uid_key" of table "thing" is missing
anew trigger "~uid_truncate" of table "thing" is missing
SAID
	if ($kind eq 'edition')
	{
		is(shop('DROP FUNCTION item_deleted() CASCADE; DROP TRIGGER "~uid_stamp" ON item; ALTER TABLE item_deleted ALTER changed DROP DEFAULT; ALTER TABLE item RENAME TO thing; ALTER TABLE item_deleted RENAME TO gone'), '', 'what needs the edition is dropped');
		is(as($node, 'maker', 'app', 'SELECT uidgen_tools.take_out(); SELECT uidgen.take_out() > 0') =~ s/^\s+//r, 't', 'the edition goes');
		put_twin_in($kind, $node, 'app');
		$is_told_apart->($all_missing);
		$has_own->();
	}
	else
	{
		is(shop('CREATE TABLE made (id bigint PRIMARY KEY DEFAULT uid_next()); SELECT uid_adopt($$made$$, execute => true); SELECT col_description($$made$$::regclass, 1)'), 'uidgen: the default is uid_next()', 'a default of CREATE TABLE is noted');
		shop('CREATE TABLE account (id serial PRIMARY KEY); SELECT uid_adopt($$account$$, $$id$$, true); CREATE VIEW item_changes AS SELECT id, changed FROM item UNION ALL SELECT id, changed FROM item_deleted');
		$node->safe_psql('app', 'DROP EXTENSION uidgen_tools');
		my (undef, $said) = sqlstate_of($node, 'DROP EXTENSION uidgen', 'app');
		like($said, qr/\Q$_\E/, "DROP EXTENSION names $_")
		  foreach 'default value for column id of table s_dropped.account', map { "trigger $_ on table s_dropped.item" } '~uid_stamp', '~uid_delete', '~uid_key', '~uid_truncate';
		$node->safe_psql('app', 'SET client_min_messages = error; DROP EXTENSION uidgen CASCADE');
		is(shop(q{UPDATE item SET name = 'missed' WHERE id = 1; DELETE FROM item WHERE id = 2; INSERT INTO item VALUES (4); UPDATE item SET id = 5 WHERE id = 4; INSERT INTO account VALUES (1); TRUNCATE account}), '', 'without the extension tables go on as tables');
		shop('ALTER TABLE item RENAME TO thing; ALTER TABLE item_deleted RENAME TO gone');
		$node->safe_psql('app', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools');
		is(said($_), qq{mend column "id" of table "$_" has lost its default uid_next()}, 'a default that went is told') foreach 'made', 'account';
		shop(shop(q{SELECT statement FROM uid_check_table('account')}));
		is(said('account'), '', '... and mended');
		$is_told_apart->($all_missing);
		$has_own->();
		# Without what the comments say, by its name and columns.
		begin('again');
		$node->safe_psql('app', 'SET client_min_messages = error; DROP EXTENSION uidgen CASCADE; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_tools; COMMENT ON TABLE s_again.item_deleted IS NULL; COMMENT ON COLUMN s_again.item.changed IS NULL');
		is(said('item') . shop(q{SELECT uid_track_changes('item', execute => true); SELECT count(*) FROM item_deleted}) . said('item'), '1', 'a table without comments is tracked again, with a mark');
		is_told('again', 'item', 'item_deleted', q{7, 1, 'x'});
	}
	is_deeply([ uniq(@unbounded) ], [], 'no statement that is printed waits for a lock without a limit');
	$node->stop;
}
done_testing();
