# Numbers begin when the caller says so, and once.  They stay those of their table: after RENAME and SET SCHEMA, after a dump and restore of whatever part in whatever
# order, in another schema or database, and where another table takes the name.  What has lost its numbers is refused, with the statements
# that give them back; and uidgen_tools.check_numbers() says what is not as it was made.  Of pg_upgrade, upgrade_postgres has a scene.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SqlEdition;
use Test::More;
use Twins;
use UidgenTest;

my ($kind, $node, $database);

sub shop
{
	my ($sql) = @_;
	return as($node, 'shop', $database, "SET client_min_messages = warning; $sql");
}

# How many rows got a number, and the last number; or the error.
sub call
{
	my ($table, @more) = @_;
	return shop('CALL uid_number_rows(' . join(', ', "'$table'", "'id'", @more) . ')') =~ s/^(\d+)\|\d+\|(\d+)\|.*$/$1 $2/r;
}

# All numbers with their ids.
sub numbers
{
	my ($table) = @_;
	return shop("SELECT string_agg(number || '=' || id, ' ' ORDER BY number) FROM $table");
}

sub refused
{
	my ($said, $state, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like($said, qr/ERROR:  $state: $pattern/s, $name);
}

# The statements of check_numbers() of a class, run.
sub mend
{
	my ($table, $class) = @_;
	return shop("SELECT statement FROM uidgen_tools.check_numbers('$table') WHERE class = '$class' \\gexec");
}

sub check
{
	my ($table, $what) = @_;
	return shop('SELECT ' . ($what // q{class || ': ' || what}) . " FROM uidgen_tools.check_numbers('$table')");
}

# A table with four numbers, of which the last row came late and the second row is gone.
sub make_invoice
{
	my ($schema) = @_;
	my $said = shop("CREATE SCHEMA $schema; CREATE TABLE $schema.invoice (id bigint PRIMARY KEY, customer text); INSERT INTO $schema.invoice VALUES (10, 'a'), (20, 'b'), (30, 'c')");
	$said .= call("$schema.invoice", 'begin => true') . shop("DELETE FROM $schema.invoice WHERE id = 20; INSERT INTO $schema.invoice VALUES (15, 'late')") . call("$schema.invoice");
	return $said eq '3 31 4' && numbers("$schema.invoice_number") eq '1=10 2=20 3=30 4=15';
}

# One row more gets number 5, and the others keep theirs.
sub goes_on
{
	my ($table, $numbers, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	shop("INSERT INTO $table VALUES (40, 'new')");
	return is(call($table) . '|' . numbers($numbers) . '|' . check($table), '1 5|1=10 2=20 3=30 4=15 5=40|', $name);
}

foreach (kinds())
{
	$kind = $_;
	$node = twin_node($kind, 'autovacuum = off');
	$node->start;
	$database = 'postgres';
	$node->safe_psql('postgres', 'CREATE ROLE shop LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE other LOGIN');
	my @databases = ('postgres', map { "restored_$_" } 0 .. 6);
	foreach my $made (@databases)
	{
		$node->safe_psql('postgres', "CREATE DATABASE $made") if $made ne 'postgres';
		$node->safe_psql('postgres', "GRANT CREATE ON DATABASE $made TO shop, stranger");
		put_twin_in($kind, $node, $made);
		$kind eq 'edition' ? as($node, 'maker', $made, 'SELECT uidgen.set_up(horizon => true); SELECT uidgen.next()') : $node->safe_psql($made, 'SELECT uid_next()');
		$node->poll_query_until($made, 'SELECT public.uid_horizon() > 1000') or die 'there is no horizon';
	}

	# ---- where numbers begin ----

	shop('CREATE SCHEMA s; CREATE TABLE s.bill (id bigint PRIMARY KEY); INSERT INTO s.bill SELECT generate_series(1, 5001)');
	refused(call('s.bill', @$_), '55000', 'table "bill" has no numbers.*begin => true.*under another name', join(' ', 'no number without', @$_)) foreach [], ['begin => false'], ['begin => NULL'], ['1'];
	is(shop(q{SELECT to_regclass('s.bill_number')}) . check('s.bill'), '', '... nothing was made, and nothing is wrong');
	shop('CREATE TABLE s.bill_number_counter (a integer)');
	refused(call('s.bill', 'begin => true'), '42P07', 'the names of the tables .* are taken.*"s"\."bill_number" and "s"\."bill_number_counter"', 'a name that is taken');
	is(check('s.bill'), '', '... is nothing wrong either');
	shop('DROP TABLE s.bill_number_counter; CREATE TYPE s.bill_number AS ENUM ()');
	refused(call('s.bill', 'begin => true'), '42P07', 'the names of the tables .* are taken', '... also by a type');
	# The call that begins is broken off in its second transaction.
	shop('DROP TYPE s.bill_number');
	$node->safe_psql('postgres', q{CREATE FUNCTION arm() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN IF to_regclass('s.bill_number_counter') IS NOT NULL THEN ALTER TABLE s.bill_number ADD CONSTRAINT broken_off CHECK (number <= 5000); END IF; END $$;
		CREATE EVENT TRIGGER arm ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION arm()});
	refused(call('s.bill', 'begin => true'), '23514', '.*"broken_off"', 'the first call ends in the middle');
	$node->safe_psql('postgres', 'DROP EVENT TRIGGER arm; ALTER TABLE s.bill_number DROP CONSTRAINT broken_off');
	refused(call('s.bill', 'begin => true'), '55000', 'table "bill" has numbers.*without "begin"', '... it has begun, and does not begin once more');
	is(call('s.bill') . shop('SELECT count(*), min(number), max(number) FROM s.bill_number'), "1 50015001|1|5001", '... and goes on without it');

	# ---- tables that are published before they are made ----

	shop('CREATE SCHEMA p; CREATE TABLE p.invoice (id bigint PRIMARY KEY); INSERT INTO p.invoice VALUES (10), (20)');
	foreach my $what ('FOR ALL TABLES', 'FOR TABLES IN SCHEMA p')
	{
		$node->safe_psql('postgres', qq{SET client_min_messages = error; CREATE PUBLICATION "A ""ll" $what});
		my $said = call('p.invoice', 'begin => true');
		refused($said, '55000', 'a subscriber would stop at what uid_number_rows\(\) makes for table "p"\."invoice"\n.*sent by the publications: "A ""ll"\.', "what a publication $what would send");
		is(call('s.bill'), '0 5001', '... numbers that there are go on');
		my ($makes) = $said =~ /Run at each subscriber, then here, and then call it again: (.*;)$/m;
		is(shop('SELECT count(*) FROM pg_class WHERE relname LIKE \'invoice_number%\'') . shop('CREATE TEMP TABLE t (id bigint PRIMARY KEY); CALL uid_number_rows(\'t\', \'id\', begin => true)') =~ s/\|.*//r, '00', '... nothing was made, and a temporary table is not sent');
		is(shop("BEGIN; $makes COMMIT; INSERT INTO p.invoice_number VALUES (7, 7)"), '', 'its statements make the tables');
		refused(call('p.invoice', 'begin => true'), '42P07', 'the names of the tables', '... which begin no numbers unless they are empty');
		is(shop('TRUNCATE p.invoice_number') . call('p.invoice', 'begin => true') . '|' . numbers('p.invoice_number') . '|' . check('p.invoice'), '2 2|1=10 2=20|', '... and begin them if they are');
		refused(call('p.invoice', 'begin => true'), '55000', 'table "invoice" has numbers', '... once');
		$node->safe_psql('postgres', 'DROP PUBLICATION "A ""ll"');
		shop('DROP TABLE p.invoice_number, p.invoice_number_counter; CREATE TABLE p.invoice_number (number bigint, id bigint); CREATE TABLE p.invoice_number_counter (one boolean, number bigint, id bigint)');
		refused(call('p.invoice', 'begin => true'), '55000', 'the numbers of table "invoice" are not as they were made', '... and not without their keys');
		shop('DROP TABLE p.invoice_number, p.invoice_number_counter');
	}

	# ---- where the table goes ----

	ok(make_invoice('moved'), 'four numbers');
	shop('CREATE SCHEMA accounting; ALTER TABLE moved.invoice SET SCHEMA accounting; ALTER TABLE accounting.invoice RENAME TO bill');
	goes_on('accounting.bill', 'moved.invoice_number', 'a table that was moved and renamed keeps its numbers');
	shop('ALTER TABLE moved.invoice_number RENAME TO n; ALTER TABLE moved.invoice_number_counter SET SCHEMA accounting; ALTER SCHEMA moved RENAME TO "a ""b\' c"; ALTER TABLE accounting.bill RENAME TO "my ""bill\'s";
		INSERT INTO accounting."my ""bill\'s" VALUES (50)');
	is(call('accounting."my ""bill\'\'s"'), '1 6', '... and so do tables of numbers that were renamed, with strange names');

	ok(make_invoice('swapped'), 'four numbers');
	shop(q{ALTER TABLE swapped.invoice RENAME TO invoice_old; CREATE TABLE swapped.invoice (id bigint PRIMARY KEY, customer text)});
	is(check('swapped.invoice_old'), '', 'nothing is wrong with a table that was renamed');
	refused(call('swapped.invoice'), '55000', 'table "invoice" has no numbers.*says that it has the numbers of table "swapped"\."invoice_old".*"swapped"\."invoice_number_counter" has the last number.*ALTER TABLE "swapped"\."invoice_number" DROP CONSTRAINT', 'another table of its name is refused');
	refused(call('swapped.invoice', 'begin => true'), '42P07', '', '... and cannot begin');
	is(mend('swapped.invoice', 'tell'), '', '... unless its owner hands the numbers over');
	shop('INSERT INTO swapped.invoice SELECT * FROM swapped.invoice_old');
	goes_on('swapped.invoice', 'swapped.invoice_number', '... and then they go on');
	refused(call('swapped.invoice_old'), '55000', 'table "invoice_old" has no numbers', '... and the first one has none');

	refused(shop('DROP TABLE swapped.invoice'), '2BP01', '.*constraint uid_numbers_of on table swapped.invoice_number depends on table swapped.invoice.*uid_last_number_of on table swapped.invoice_number_counter', 'to drop a numbered table takes CASCADE');
	is(shop('DROP TABLE swapped.invoice CASCADE; SELECT count(*) FROM swapped.invoice_number; CREATE TABLE swapped.invoice (id bigint PRIMARY KEY); INSERT INTO swapped.invoice VALUES (1)'), '5', '... and leaves the numbers');
	refused(call('swapped.invoice'), '55000', 'table "invoice" has no numbers.*says of no table that it has them', '... which are not those of a new one');
	shop('DROP TABLE swapped.invoice, swapped.invoice_old');

	# ---- which column has them ----

	ok(make_invoice('by'), 'four numbers');
	my $by = sub { return shop(qq{CALL uid_number_rows('by.invoice', '$_[0]')}) };
	shop('ALTER TABLE by.invoice ADD COLUMN nr bigint GENERATED ALWAYS AS IDENTITY UNIQUE');
	refused($by->('nr'), '55000', 'column "nr" is not the one by which the rows of table "invoice" are numbered.*by column "id".*Name column "id"', 'rows are numbered by one column');
	is(shop(q{COMMENT ON COLUMN by.invoice.id IS 'mine'; COMMENT ON COLUMN by.invoice.nr IS 'mine, too'}) . $by->('id') =~ s/\|.*//r, '0', '... that is known without its comment');
	refused($by->('nr'), '55000', '.*by column "id"', '... from the others');
	is(shop(q{COMMENT ON COLUMN by.invoice.id IS E'mine\nuidgen: rows are numbered by this column'; COMMENT ON TABLE by.invoice_number IS 'mine'; ALTER TABLE by.invoice RENAME id TO former; ALTER TABLE by.invoice RENAME nr TO id}) . $by->('former') =~ s/\|.*//r, '0', '... and under another name');
	refused(call('by.invoice'), '55000', '.*by column "former"', '... which another one has now');
	my ($move) = call('by.invoice') =~ /row by row, run: (.*?;)$/m;
	is(shop(qq{BEGIN; COMMENT ON COLUMN by.invoice.id IS 'later'; $move SELECT col_description('by.invoice'::regclass, attnum) FROM pg_attribute WHERE attrelid = 'by.invoice'::regclass AND attname IN ('former', 'id') UNION ALL SELECT obj_description('by.invoice_number'::regclass) ORDER BY 1; ROLLBACK}),
		qq{later\nuidgen: rows are numbered by this column\nmine\nmine\nuidgen: numbers of column "id"}, '... unless its owner says so');
	is(shop(qq{ALTER TABLE by.invoice RENAME id TO nr; ALTER TABLE by.invoice RENAME former TO id}) . check('by.invoice'), '', '... and under its own');
	is(shop('ALTER TABLE by.invoice DROP CONSTRAINT invoice_pkey') . check('by.invoice'), 'tell: column "id" of table "by"."invoice", by which rows are numbered, is no unique bigint', 'a column that is unique no more is told');
	is(shop('COMMENT ON TABLE by.invoice_number IS NULL; COMMENT ON COLUMN by.invoice.id IS NULL') . check('by.invoice'), 'tell: nothing says by which column the rows of table "by"."invoice" are numbered', '... and one that nothing knows');
	refused($by->('nr'), '55000', '.*Nothing says which column that is', '... is refused');
	shop('DROP SCHEMA by CASCADE');

	# ---- dump and restore ----

	ok(make_invoice('shop'), 'four numbers');
	my $folder = $node->basedir;
	my $dump = sub { my ($file, @options) = @_; $node->command_ok([ 'pg_dump', '-f', "$folder/$file", @options, 'postgres' ], "a dump: @options"); return "$folder/$file" };
	my @TABLES = map { "shop.$_" } qw(invoice invoice_number invoice_number_counter);
	my $whole = $dump->('whole', '-n', 'shop');
	my $restore = sub { my ($n, @files) = @_; $database = "restored_$n"; return join '', map { (as($node, $node->safe_psql('postgres', 'SELECT current_user'), $database, undef, '-f', $_)) } @files };
	unlike($restore->(0, $whole), qr/ERROR/, 'a whole dump is restored in a database of another name');
	is(check('shop.invoice'), '', '... nothing is wrong');
	goes_on('shop.invoice', 'shop.invoice_number', '... and numbers go on');
	my $elsewhere = slurp_file($whole) =~ s/\bshop\./elsewhere./gr =~ s/SCHEMA shop\b/SCHEMA elsewhere/gr;
	append_to_file("$folder/elsewhere", $elsewhere);
	unlike($restore->(0, "$folder/elsewhere"), qr/ERROR/, 'in another schema');
	goes_on('elsewhere.invoice', 'elsewhere.invoice_number', '... numbers go on');

	unlike($restore->(1, $dump->('schema', '-s', '-n', 'shop')), qr/ERROR/, 'the schema alone');
	shop(q{INSERT INTO shop.invoice VALUES (10, 'a')});
	refused(call('shop.invoice'), '55000', '.*"shop"\."invoice_number_counter" has no row.*Restore it', '... gives no number');
	shop('TRUNCATE shop.invoice');
	my @data = map { $dump->("data of $_", '-a', '-t', $_) } @TABLES;
	unlike($restore->(1, $data[2], $data[0]), qr/ERROR/, '... then the last number, and the rows');
	refused(call('shop.invoice'), '55000', 'table "shop"\."invoice_number" is empty, and the last number was 4', '... gives no number yet');
	unlike($restore->(1, $data[1]), qr/ERROR/, '... then the numbers');
	goes_on('shop.invoice', 'shop.invoice_number', '... which go on');

	my @tables = map { $dump->("table $_", '-t', $_) } @TABLES;
	$node->safe_psql("restored_$_", 'CREATE SCHEMA shop AUTHORIZATION shop') foreach 2 .. 5;
	unlike($restore->(2, @tables), qr/ERROR/, 'table by table');
	goes_on('shop.invoice', 'shop.invoice_number', '... numbers go on');
	like($restore->(3, @tables[ 2, 1, 0 ]), qr/ERROR:  42P01: relation "shop.invoice" does not exist.*ERROR:  42P01: relation "shop.invoice" does not exist(?!.*ERROR)/s, 'in the other order two statements fail');
	refused(call('shop.invoice'), '55000', 'table "invoice" has no numbers.*uid_last_number_of', '... and the table has no numbers yet');
	is(mend('shop.invoice', 'tell'), '', '... the statements of the error are run');
	goes_on('shop.invoice', 'shop.invoice_number', '... and they go on');
	$restore->(4, $tables[0]);
	refused(call('shop.invoice'), '55000', 'table "invoice" has no numbers', 'the table alone has none');
	$restore->(4, $tables[1]);
	refused(call('shop.invoice'), '55000', 'the numbers of table "invoice" are not as they were made.*has the last number of table "shop"\."invoice" is missing', '... and with the numbers no last one');
	is(mend('shop.invoice', 'mend') . mend('shop.invoice', 'tell'), '', '... which can be made');
	goes_on('shop.invoice', 'shop.invoice_number', '... and they go on');

	# pg_restore -t restores no keys.
	$dump->('custom', '-Fc', '-n', 'shop');
	$node->command_ok([ 'pg_restore', '-d', 'restored_5', '-n', 'shop', (map { ('-t', s/.*\.//r) } @TABLES), "$folder/custom" ], 'pg_restore -t');
	$database = 'restored_5';
	refused(call('shop.invoice'), '55000', 'column "id" of table "invoice" is not a unique bigint', '... leaves out all keys');
	shop('ALTER TABLE shop.invoice ADD PRIMARY KEY (id)');
	refused(call('shop.invoice'), '55000', 'table "invoice" has no numbers', '... and whose the numbers are');
	is(mend('shop.invoice', 'tell') . check('shop.invoice'), join("\n", 'mend: column "number" of table "shop"."invoice_number" is no unique bigint', 'mend: column "id" of table "shop"."invoice_number" is no unique bigint',
			'mend: column "one" of table "shop"."invoice_number_counter" is no unique boolean'), '... and their keys');
	is(mend('shop.invoice', 'mend'), '', '... which are made');
	goes_on('shop.invoice', 'shop.invoice_number', '... and numbers go on');
	foreach my $again ('once', 'twice')
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', '--clean', '--if-exists', '-d', 'restored_6', "$folder/custom" ], "pg_restore --clean, $again");
	}
	$database = 'restored_6';
	goes_on('shop.invoice', 'shop.invoice_number', '... numbers go on');
	is(shop(q{SELECT count(*) FROM pg_constraint WHERE conname LIKE 'uid%' AND NOT convalidated; ALTER TABLE shop.invoice_number VALIDATE CONSTRAINT uid_numbers_of}) . check('shop.invoice'), '2', '... also with constraints that somebody validates');
	is(shop(q{SELECT class || ': ' || what FROM uid_check_table('shop.invoice'); SELECT statement FROM uid_check_table('shop.invoice') \gexec
		SELECT class FROM uid_check_table('shop.invoice')}), 'mend: constraint uid_numbers_of of table "shop"."invoice_number" is validated: a dump of that table alone restores no number', '... which is mended, for the next dump');
	$database = 'postgres';

	# ---- what check_numbers() says ----

	ok(make_invoice('c'), 'four numbers');
	is(shop('ALTER TABLE c.invoice ADD COLUMN x integer DEFAULT 1; ALTER TABLE c.invoice ALTER id TYPE numeric; ALTER TABLE c.invoice ALTER id TYPE bigint; VACUUM FULL c.invoice; ALTER TABLE c.invoice_number ADD COLUMN y text; TRUNCATE c.invoice') . check('c.invoice'), '', 'nothing after DDL that does no harm');
	my $locked = $node->background_psql('postgres');
	$locked->query_safe('BEGIN; LOCK TABLE c.invoice, c.invoice_number, c.invoice_number_counter');
	is(as($node, 'stranger', 'postgres', q{SET lock_timeout = '1ms'; SELECT count(*) FROM pg_class AS c, uidgen_tools.check_numbers(c.oid); SELECT count(*) FROM uidgen_tools.check_numbers(NULL) AS a, uidgen_tools.check_numbers(1) AS b;
		SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation >= 16384}), "0\n0\n0", '... for whoever calls it, of whatever there is, and without a lock');
	$locked->quit;
	$node->safe_psql('postgres', 'GRANT USAGE ON SCHEMA c TO stranger');
	is(as($node, 'stranger', 'postgres', q{CREATE SCHEMA stranger; CREATE TABLE stranger.n (number bigint PRIMARY KEY, id bigint NOT NULL UNIQUE);
		ALTER TABLE stranger.n ADD CONSTRAINT uid_numbers_of CHECK ('c.invoice'::regclass IS NOT NULL) NOT VALID, ADD CONSTRAINT uid_last_number_of CHECK ('c.invoice'::regclass IS NOT NULL) NOT VALID}), '', 'somebody says that he has the numbers');
	is(check('c.invoice'), '', '... whatever a stranger says of his table');
	as($node, 'stranger', 'postgres', 'DROP TABLE stranger.n');
	foreach (
		[ 'CREATE TABLE c.twice (LIKE c.invoice_number INCLUDING ALL)', 'DROP TABLE c.twice', 'tell: 2 tables say that they have the numbers of table "c"."invoice": "c"."invoice_number", "c"."twice"', 'two tables' ],
		[ 'ALTER TABLE c.invoice_number_counter SET UNLOGGED', undef, 'mend: table "c"."invoice_number_counter" is not logged, and is empty after a crash', 'a table that is not logged' ],
		[ 'DROP TABLE c.invoice_number_counter', undef, join("\n", ('tell: the table that has the last number of table "c"."invoice" is missing: if no number was deleted, the highest that is left was the last') x 3), 'no last number' ],
		[ 'ALTER TABLE c.invoice_number ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', undef, 'tell: row security of table "c"."invoice_number", which has the numbers, holds for its owner, too', 'row security' ],
		[ 'ALTER TABLE c.invoice_number_counter ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', undef, 'tell: row security of table "c"."invoice_number_counter", which has the last number, holds for its owner, too', '... of the last number' ],
		[ 'ALTER TABLE c.invoice_number ADD CONSTRAINT mine FOREIGN KEY (id) REFERENCES c.invoice ON DELETE CASCADE NOT VALID', undef, 'tell: constraint "mine" of table "c"."invoice_number" may take numbers away, or refuse them', 'a foreign key' ],
		[ 'ALTER TABLE c.invoice_number ALTER id DROP NOT NULL', undef, 'mend: column "id" of table "c"."invoice_number" is no unique bigint', 'null' ],
		[ 'ALTER TABLE c.invoice_number_counter ALTER number TYPE numeric', 'ALTER TABLE c.invoice_number_counter ALTER number TYPE bigint', 'tell: column "number" of table "c"."invoice_number_counter" is no bigint', 'a type' ],
		[ 'ALTER TABLE c.invoice_number RENAME TO kept; ALTER TABLE c.kept DROP CONSTRAINT uid_numbers_of', 'ALTER TABLE c.kept RENAME TO invoice_number', 'tell: the table that has the numbers of table "c"."invoice" is missing', 'no numbers' ],
		[ 'SELECT 1 AS n \gset', undef, 'tell: table "c"."invoice_number" has the numbers of table "c"."invoice" by its name, and says of no table that it has them', 'numbers of no table' ])
	{
		my ($break, $back, $says, $name) = @$_;
		is(shop($break) . check('c.invoice'), $says, "$name");
		refused(call('c.invoice'), '55000', 'the numbers of table "invoice" are not as they were made', '... is refused');
		is(defined $back ? shop($back) : mend('c.invoice', $says =~ /^(\w+)/), '', '... and mended');
	}
	goes_on('c.invoice', 'c.invoice_number', 'numbers go on');
	# Versions are unique, too.
	shop(q{CREATE TABLE c.item (id bigint NOT NULL); CREATE UNIQUE INDEX ON c.item (id); CREATE TABLE c.changed (id bigint PRIMARY KEY); SELECT FROM uid_track_changes('c.changed', 'version', true); CREATE UNIQUE INDEX ON c.changed (version)});
	refused(shop(q{CALL uid_number_rows('c.changed', 'version', begin => true)}), '55000', 'column "version" of table "changed" has the versions of its rows', 'versions get no numbers');
	call('c.item', 'begin => true');
	shop(q{ALTER TABLE c.item ADD PRIMARY KEY (id), ADD version bigint NOT NULL DEFAULT 0; SELECT FROM uid_track_changes('c.item', 'version', true); CREATE UNIQUE INDEX ON c.item (version); COMMENT ON COLUMN c.item.version IS 'uidgen: rows are numbered by this column'; COMMENT ON COLUMN c.item.id IS NULL});
	is(check('c.item'), 'tell: column "version" of table "c"."item", by which rows are numbered, has their versions', '... and what has is told');
	$node->safe_psql('postgres', 'ALTER TABLE c.invoice OWNER TO other; GRANT ALL ON SCHEMA c TO other');
	my ($other) = as($node, 'other', 'postgres', q{CALL uid_number_rows('c.invoice', 'id')});
	refused($other, '55000', 'table "invoice" has no numbers.*"c"\."invoice_number" of role "shop" says that it has the numbers of table "c"\."invoice", which belongs to role "other"', 'a table of another owner');
	refused(as($node, 'other', 'postgres', q{CALL uid_number_rows('c.invoice', 'id', begin => true)}), '42P07', '', '... cannot begin');
	$node->safe_psql('postgres', 'ALTER TABLE c.invoice_number OWNER TO other; ALTER TABLE c.invoice_number_counter OWNER TO other');
	is(as($node, 'other', 'postgres', q{INSERT INTO c.invoice VALUES (60); CALL uid_number_rows('c.invoice', 'id')}) =~ s/\|.*//r, '1', '... and goes on with what is his');
	$node->stop;
}

done_testing();
