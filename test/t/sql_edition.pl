# The edition in SQL and PL/pgSQL (script/sql), put in by a role that owns a database on a server without the library, and nothing else: its
# functions are those of the extension, and say the same, by the files of pg_regress (all of them: sql_answers.pl); others have no more rights than they need; no id comes twice, in short (at
# length: sql_unique.pl); and it can be taken out.
# Promise: none; part: script/sql
# Kills: script/sql/50_ids.sql: next := greatest(pg_sequence_last_value('uidgen.position') + 1, least(now + CASE WHEN is_first THEN 10000 / uidgen.own_unit() + 2 ELSE 0 END, uidgen.own_last_tick()) << bits); => next := least(now, uidgen.own_last_tick()) << bits;

use File::Basename 'basename';
use FindBin;
use lib "$FindBin::RealBin/../perl";
use SqlEdition;
use UidgenTest;

my $node = edition_node('plain');
$node->start;
landlords($node);
add_database($node, $_) foreach qw(app small);
my $main = uidgen_node('main');
$main->start;
$main->safe_psql('postgres', 'CREATE EXTENSION uidgen');
my $script = edition_script($node, 'sql');
my $take_out = 'SELECT uidgen.take_out()';

# All that is in a database, but what every database has.
sub objects
{
	my ($database) = @_;
	return $node->safe_psql($database, q{
		SELECT 'function', oid::regprocedure::text FROM pg_proc WHERE pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
		UNION ALL SELECT 'relation', oid::regclass::text FROM pg_class WHERE relnamespace = 'public'::regnamespace OR relnamespace::regnamespace::text = 'uidgen'
		UNION ALL SELECT 'schema', nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1, 2});
}

# An id so many seconds ahead of the clock
sub far
{
	my ($seconds) = @_;
	return (time + $seconds - 1735689600) * 1000 << 22;
}

# ---- putting it in ----

my $made = $node->basedir . '/made';
mkdir $made or die "could not make $made: $!";
PostgreSQL::Test::Utils::run_log([ 'env', '-u', 'MAKEFLAGS', '-u', 'MAKELEVEL', 'make', '-s', '-C', $made, '-f', "$FindBin::RealBin/../../Makefile", 'PG_CONFIG=/nowhere/pg_config', 'scripts' ]);
is(join(' ', map { slurp_file($_) eq slurp_file($made . '/script/' . basename($_)) ? basename($_) =~ s/--.*//r : () } map { edition_script($node, $_) } 'registry', 'sql', 'sql-tools'),
	'uidgen-registry uidgen-sql uidgen-sql-tools', 'make writes the scripts where there is no PostgreSQL');

my $empty = objects('app');
is($node->safe_psql('app', q{SELECT count(*) FROM pg_roles WHERE rolname = 'landlord' AND NOT rolsuper AND NOT rolcreatedb AND NOT rolcreaterole}), '1', 'the owner of the database is no superuser');
is(run_script($node, 'app', $script), '', 'the owner of a database puts it in');
my $kept = $node->background_psql('app', extra_params => [ '-U', 'tenant' ], on_error_stop => 0);
$kept->query('PREPARE a AS SELECT uid_next() > 0; EXECUTE a');
like($kept->{stderr}, qr/this database has no worker id yet.*HINT.*uidgen\.set_up\(worker_id/s, 'ids need a worker id');
$kept->{stderr} = '';
like(as($node, 'tenant', 'app', "SELECT $_"), qr/55000: this database has no worker id yet/, "... so does $_") foreach qw(uid_timestamp(1) uid_next(0) uid_next_batch(1) uid_reserve(1) uid_layout());
like(as($node, 'tenant', 'app', "SELECT uid_timestamp(1, 'default')"), qr/^2025-01-01/, '... but no function with a layout');
like(as($node, 'tenant', 'app', 'SELECT * FROM uidgen.diagnose()'), qr/^error\|this database has no worker id yet\. Choose a number/, '... which it says when it is asked');
like(as($node, 'tenant', 'app', 'SELECT uidgen.set_up(worker_id => 5)'), qr/42501/, '... and which the owner gives');
like(set_up($node, 'app'), qr/55000: this database has no worker id yet/, '... and names');
like(set_up($node, 'app', 'worker_id=1024'), qr/22003: worker 1024 is out of range/, '... as one that the layout has room for');
like(set_up($node, 'app', 'worker_id=1', 'layout=discord'), qr/22023: layout cannot generate ids/, '... in a layout that generates');
like(set_up($node, 'app', 'worker_id=1', 'max_ahead=0'), qr/22023: max_ahead is out of range/, '... with a bound that is one');
like(set_up($node, 'app', 'worker_id=1', 'max_ahead=2s', 'layout=time:34:1s worker:10 sequence:19 epoch:2025-01-01'), qr/22023: max_ahead is out of range.*two ticks/s, '... of three ticks at least');
like(set_up($node, 'app', 'worker_id=5', 'after=' . far(7200)), qr/55000: ids are too far ahead/, '... and does not begin far ahead of the clock');
like(set_up($node, 'app', 'worker_id=5'), qr/^worker id 5, layout time:41:1ms worker:10 sequence:12 epoch:2025-01-01$/, 'the owner sets it up');
is($kept->query_safe('EXECUTE a'), 't', '... and statements that were prepared before run');
like(set_up($node, 'app', join '=', @$_), qr/55000: this database has \Q$_->[0]\E/, "what it was given stays: $_->[0]") foreach [ 'worker_id', 6 ], [ 'layout', 'twitter' ], [ 'datacenter_id', 1 ];

# A later version has what was there, and where ids are.
as($node, 'landlord', 'app', q{SELECT setval('uidgen.position', last_value + 10000000) FROM uidgen.position});
my $there = objects('app');
my $ahead = as($node, 'tenant', 'app', 'SELECT uid_next()');
is(run_script($node, 'app', $script), '', 'it is put in again');
is(objects('app'), $there, '... and nothing else is there than before');
is(as($node, 'tenant', 'app', "SELECT n > $ahead, n - $ahead < 1::bigint << 30, (uid_parse(n)).worker FROM uid_next() AS n"), 't|t|5', '... and goes on where it was');
is($kept->query_safe('EXECUTE a'), 't', '... for prepared statements, too');
is(set_up($node, 'app', 'max_ahead=20s') =~ s/,.*//r, 'worker id 5', 'a bound is changed');
like($kept->query('SELECT count(*) FROM uid_next_batch(100000000)') . $kept->{stderr}, qr/ids may run ahead by 00:00:20/, '... for sessions that are there');
is(set_up($node, 'app', 'max_ahead=1h') =~ s/,.*//r, 'worker id 5', '... and back');
$kept->quit;
my $alien = add_database($node, 'alien');
$node->safe_psql($alien, 'CREATE SCHEMA uidgen AUTHORIZATION tenant');
like(run_script($node, $alien, $script), qr/42501: schema uidgen or uidgen_history, or what is in it, belongs to another role/, q{another role's schema is left alone});
$node->safe_psql($alien, 'DROP SCHEMA uidgen; CREATE SCHEMA uidgen AUTHORIZATION landlord');
like(run_script($node, $alien, $script), qr/42P06: schema uidgen is there/, q{... and the owner's own});
$node->safe_psql($alien, 'DROP SCHEMA uidgen');
like(as($node, 'landlord', $alien, "SET search_path = nowhere; \\i $script"), qr/3F000: no schema has been selected/, 'where functions go has to be there');
is(as($node, 'landlord', $alien, qq{CREATE SCHEMA "a ""b"; SET search_path = "a ""b", public; \\i $script\nSHOW search_path; SELECT uidgen.set_up(worker_id => 1) IS NOT NULL; SELECT uid_next() > 0}), "\"a \"\"b\", public\nt\nt", '... and is the first schema of the search path');
like(run_script($node, $alien, edition_script($node, 'sql-tools')) . as($node, 'landlord', $alien, q{SELECT string_agg(DISTINCT pronamespace::regnamespace::text, ' ') FROM pg_proc WHERE proname ^@ 'uid_'}), qr/^"a ""b"$/, '... where an upgrade and the tools put theirs')
  foreach run_script($node, $alien, $script);

like(as($node, 'landlord', 'app', 'CREATE TABLE used (id bigint PRIMARY KEY DEFAULT uid_next(), n integer); INSERT INTO used (n) VALUES (1), (2) RETURNING (uid_parse(id)).worker'), qr/^5\n5$/, 'it is the default of a column');

# ---- the same functions, and the same answers ----

my $signatures = q{
	SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.provolatile, p.proisstrict
	FROM pg_proc AS p WHERE p.pronamespace = 'public'::regnamespace AND p.proname ~ '^uid_' ORDER BY 1, 2};
my %extension = map { $_ => 1 } split /\n/, $main->safe_psql('postgres', $signatures);
my @edition = split /\n/, $node->safe_psql('app', $signatures);
cmp_ok(scalar @edition, '>', 25, 'it has many functions');
is(join("\n", grep { !$extension{$_} } @edition), '', '... each as the extension declares it');
# What would look into the caller's search path while it runs has one of its own: all that has an operator, or calls a function without its schema.
is($node->safe_psql('app', q{
	SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc AS p
	WHERE p.pronamespace IN ('uidgen'::regnamespace, 'public'::regnamespace) AND p.prosqlbody IS NULL
		AND 'search_path=pg_catalog, pg_temp' <> ALL (coalesce(p.proconfig, '{}'))
		AND regexp_replace(p.prosrc, $$--[^\n]*|'[^']*'|:=|[A-Z]+ = |OPERATOR\(pg_catalog\.[^)]+\)$$, '', 'g') ~ $$[-+*/<>=~!@#%^&|]|(^|[^.a-z_])[a-z_]+[(]$$}), '',
	'... and no function depends on the search path of its caller');
is($node->safe_psql('app', q{SELECT string_agg(oid::regprocedure::text, ' ' ORDER BY oid::regprocedure::text) FROM pg_proc WHERE prosecdef}), 'uidgen.held_positions() uidgen.hold_now() uidgen.jump(integer,boolean) uidgen.next(timestamp with time zone) uidgen.present_horizon() uidgen.read_horizon()', '... six of them have their owner\'s rights');

says_the_same($main, $node, 'layout', undef, 'landlord');
says_the_same($main, $node, 'decode', undef, 'landlord');
says_the_same($main, $node, 'errors', '-- A catalog and a library', 'landlord');

# ---- no id twice ----

put_in($node, 'small', 'worker_id=3', 'layout=time:41:1ms worker:4 sequence:2 epoch:2025-01-01');
nap_between_statements($node, 'small', 0.01, 0.02);
my $drawn = draw($node, databases => ['small'], ids => 4_000, cancel => 30, stop => 30);
my ($twice, $disorders, $ids) = judge($drawn);
note "$ids ids, $drawn->{did}";
is($twice, 0, 'no id comes twice');
is($disorders, 0, '... and each session\'s increase');
like(as($node, 'tenant', 'small', 'SELECT count(*) FROM uid_next_batch(2147483647)'), qr/55000: ids are too far ahead/, 'nobody carries ids further ahead of the clock than the bound');
without_rule($node, 'small', 'closing');
$twice = 0;
foreach my $round (1 .. 30)
{
	last if $twice += (judge(draw($node, databases => ['small'], ids => 1_000)))[0];
}
cmp_ok($twice, '>', 0, '... as they would without a rule');

# ---- what a crash makes the server forget, however quickly it recovers ----

$node->stop('immediate');
$node->start;
my $margin = q{SELECT clock_timestamp() AS before \gset
	SELECT uid_timestamp(uid_next()) >= :'before'::timestamptz + interval '10 ms'};
is(as($node, 'tenant', 'app', $margin), 't', 'after a crash ids begin above all that were at the clock');
as($node, 'landlord', 'app', q{ALTER SEQUENCE uidgen.jumps RESTART; SELECT nextval('uidgen.jumps')});
is(as($node, 'tenant', 'app', $margin), 't', '... also after a session that ended in the middle of the first jump');
is($node->safe_psql('app', q{SELECT count(*) FROM pg_class WHERE oid = 'uidgen.jumps'::regclass AND relpersistence = 'u'}), '1', '... since what says so is not logged');
# What tools do that begin with an empty table: a restart, setval(), a dump without data.
foreach my $lost ('ALTER SEQUENCE uidgen.position RESTART', q{SELECT setval('uidgen.position', 1) > 0 AS lost \gset}, q{SELECT setval('uidgen.position', 1000000, false) > 0 AS lost \gset})
{
	my $before = as($node, 'tenant', 'app', 'SELECT uid_next()');
	is(as($node, 'landlord', 'app', $lost), '', $lost);
	like(as($node, 'tenant', 'app', "SELECT $_"), qr/55000: sequence uidgen\.position was restarted.*set_up\(after/s, "... is seen by $_") foreach 'uid_next()', 'uid_next()', 'uid_next_batch(1)', 'uid_reserve(1)';
	like(as($node, 'tenant', 'app', 'SELECT message FROM uidgen.diagnose()'), qr/^sequence uidgen\.position was restarted/, '... and told');
	like(set_up($node, 'app', 'after=' . ($before + 1)), qr/^worker id 5/, '... and mended');
	is(as($node, 'tenant', 'app', "SELECT uid_next() > $before, (uidgen.diagnose()).severity"), 't|ok', '... so that ids go on above');
}
is(as($node, 'landlord', 'app', q{SELECT setval('uidgen.begin_0', 1) + setval('uidgen.begin_1', 1) AS begins \gset}) . set_up($node, 'app', 'after=0') =~ s/,.*//r . as($node, 'landlord', 'app', q{SELECT num_nonnulls(pg_sequence_last_value('uidgen.begin_0'), pg_sequence_last_value('uidgen.begin_1'))}),
	'worker id 50', '... and no turn has begun above');
# A copy
like(set_up($node, 'app', 'worker_id=6', 'instead_of=4'), qr/55000: this database has worker_id 5, not 4/, 'a copy names the worker id that it has');
like(set_up($node, 'app', 'worker_id=6', 'instead_of=5'), qr/^worker id 6/, '... and gets another');
is(as($node, 'tenant', 'app', 'SELECT worker FROM uid_parse(uid_next())') . set_up($node, 'app', 'worker_id=5', 'instead_of=6') =~ s/,.*//r, '6worker id 5', '... and back');
# PostgreSQL 19 replicates sequences, but none whose bounds differ.
is(join(' ', map { $node->safe_psql($_, q{SELECT min_value FROM pg_sequences WHERE sequencename = 'position'}) } qw(app small)), '-6 -4', 'the bounds of the position tell databases apart');

# ---- the rules of a draw, one call after the other ----

# Of a hundred looks one will be in time: at the clock, 3 ms ahead of it, 3 ms behind it, and ahead of it by a minute and by more than an hour.
is(as($node, 'landlord', 'app', q{SELECT uid_next() \gset
	SELECT bool_or(uidgen.counts_at_clock(p, j)), bool_or(uidgen.counts_at_clock(p, j - 2)), bool_and(uidgen.counts_at_clock(p + 3 * tick, j)), bool_and(uidgen.counts_at_clock(p - 4 * tick, j)),
		bool_or(uidgen.counts_ahead(p + 60000 * tick, j)), bool_or(uidgen.counts_ahead(p + 60000 * tick, j - 2)), bool_or(uidgen.counts_ahead(p + 3660000 * tick, j)), bool_and(uidgen.counts_ahead(p - 4 * tick, j))
	FROM (SELECT (uidgen.clock() / uidgen.own_unit()) << uidgen.own_sequence_bits(), uidgen.jumps_so_far(), 1::bigint << uidgen.own_sequence_bits() FROM generate_series(1, 100) OFFSET 0) AS s (p, j, tick)}),
	't|f|f|f|t|f|f|f', 'a draw counts unless there was a jump, or it is too far from the clock');
is(as($node, 'landlord', 'app', 'SELECT uidgen.draw(1) IS NULL AND uidgen.draw(NULL) IS NULL'), 't', '... and there is none while a jump is going on');
is(as($node, 'landlord', 'app', q{SELECT uidgen.jumps_so_far() AS j \gset
	SELECT uidgen.jump(1, false) \gset
	SELECT uidgen.jumps_so_far() - :j}), '2', 'a jump closes, and opens');
is(as($node, 'landlord', 'app', q{SELECT uid_next() AS last, nextval('uidgen.jumps') AS closed \gset
	SELECT uid_next() > :last, uidgen.jumps_so_far() - :closed}), 't|1', '... also what another one has closed');
is(as($node, 'landlord', 'app', q{SELECT setval('uidgen.position', last_value + (60000::bigint << uidgen.own_sequence_bits())) FROM uidgen.position \gset
	SELECT uid_next() FROM generate_series(1, 2) \g /dev/null
	BEGIN;
	SELECT uid_next() \gset
	SELECT pg_current_xact_id_if_assigned() IS NOT NULL}), 't', 'a draw ahead of the clock writes to the log');

# ---- readers, by the column and the condition that the page has ----

my ($column, $condition) = slurp_file("$FindBin::RealBin/../../docs/sql-edition.md") =~ s/\n/ /gr =~ /store `(xid [^`]+)` .* read `(WHERE xid [^`]+)` in the order of `\(xid, id\)`/;
as($node, 'landlord', 'app', "CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT uid_next(), $column, name text)");
my $open = $node->background_psql('app', extra_params => [ '-U', 'landlord' ]);
$open->query_safe("BEGIN; INSERT INTO outbox (name) VALUES ('early')");
as($node, 'landlord', 'app', "INSERT INTO outbox (name) VALUES ('late')");
my $read = "SELECT string_agg(name, ' ' ORDER BY xid, id) FROM outbox $condition";
is(as($node, 'landlord', 'app', $read), '', 'a reader waits for what was drawn before, and is not committed');
my $last = as($node, 'landlord', 'app', 'SELECT max(id) FROM outbox');
$open->query_safe('COMMIT');
$open->quit;
is(as($node, 'landlord', 'app', $read), 'early late', '... and then has both');
is(as($node, 'landlord', 'app', "SELECT count(*) FROM outbox WHERE id > $last"), '0', '... of which one that goes on by id has lost the first');

# ---- rights ----

like(as($node, 'tenant', 'app', $_), qr/42501/, "others cannot: $_")
  foreach q{SELECT nextval('uidgen.position')}, q{SELECT setval('uidgen.jumps', 2)}, q{SELECT last_value FROM uidgen.position}, q{SELECT setval('uidgen.ahead', 2)}, 'BEGIN; LOCK TABLE uidgen.jumping', 'SELECT uidgen.next_otherwise(1, uidgen.jumps_so_far())', 'CREATE TABLE uidgen.mine ()';
is(as($node, 'tenant', 'app', 'SELECT a < b FROM (SELECT uid_next() AS a, pg_sleep(0.002)::text AS nap, uidgen.jump(-20, false) AS jumped, uidgen.jump(NULL, NULL) AS null, uid_next() AS b OFFSET 0) AS s'), 't', '... nor lead ids back by a jump');
like(as($node, 'tenant', 'app', 'BEGIN READ ONLY; SELECT uid_next()'), qr/25006/, 'a read-only transaction has no ids');
# All that a draw uses, in a schema of the caller's.
as($node, 'landlord', 'app', q{
	CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO tenant;
	CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
	CREATE FUNCTION evil.pg_sequence_last_value(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 2::bigint';
	CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT '2001-01-01'::timestamptz$$;
	CREATE FUNCTION evil.abs(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
	DO $$
	DECLARE
		other text;
		name text;
	BEGIN
		FOREACH other IN ARRAY '{integer,bigint}'::text[] LOOP
			EXECUTE format('CREATE FUNCTION evil.one(bigint, %1$s) RETURNS bigint LANGUAGE sql AS ''SELECT 1::bigint''; CREATE FUNCTION evil.yes(bigint, %1$s) RETURNS boolean LANGUAGE sql AS ''SELECT true''', other);
			FOREACH name IN ARRAY '{&,|,<<,>>,+,-,*}'::text[] LOOP
				EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.one, LEFTARG = bigint, RIGHTARG = %s)', name, other);
			END LOOP;
			FOREACH name IN ARRAY '{=,<,>,<=,>=}'::text[] LOOP
				EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.yes, LEFTARG = bigint, RIGHTARG = %s)', name, other);
			END LOOP;
		END LOOP;
	END $$});
is(as($node, 'tenant', 'app', "SET search_path = evil, public, pg_catalog; SELECT (uid_parse($_)).worker"), '5', "operators and functions of others are not called: $_") foreach 'uid_next()', 'uid_next(0)', 'uid_reserve(2)';
as($node, 'landlord', 'app', 'REVOKE EXECUTE ON FUNCTION uidgen.next(timestamptz), uidgen.jump(integer, boolean) FROM PUBLIC');
like(as($node, 'tenant', 'app', "SELECT $_"), qr/42501/, "who may draw can be said: $_") foreach 'uid_next()', 'uid_next_batch(1)', 'uid_reserve(1)';
like(as($node, 'tenant', 'app', 'SELECT uid_timestamp(0)'), qr/^2025-01-01/, '... and all others decode');

# ---- the tools, and what other roles put in their way ----

is(run_script($node, 'app', edition_script($node, 'sql-tools')), '', 'the tools are put in');
$node->safe_psql('app', 'CREATE SCHEMA nobody AUTHORIZATION tenant; GRANT USAGE ON SCHEMA nobody TO PUBLIC');
as($node, 'tenant', 'app', 'CREATE FUNCTION nobody.uid_next() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT uidgen.next(); END');
as($node, 'landlord', 'app', 'CREATE TABLE account (id bigint PRIMARY KEY, name text)');
like(as($node, 'landlord', 'app', q{SELECT uid_adopt('account', 'id', true)}), qr/SET DEFAULT "public"\."uid_next"\(\)/, q{a function of another role's is no default});
like(as($node, 'landlord', 'app', $take_out), qr/2BP01.*nobody\.uid_next/s, '... and is named where it is in the way');
as($node, 'tenant', 'app', 'DROP FUNCTION nobody.uid_next()');

$node->safe_psql('app', q{GRANT USAGE ON SCHEMA evil TO PUBLIC});
is(as($node, 'landlord', 'app', q{CREATE FUNCTION evil.become(bigint) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 0; END';
	CREATE TABLE event (id bigint DEFAULT uid_next() PRIMARY KEY, body text) PARTITION BY RANGE (id); CREATE TABLE event_rest PARTITION OF event DEFAULT; CREATE INDEX event_evil ON event_rest (id) WHERE evil.become(3) = 0;
	CREATE OR REPLACE FUNCTION evil.become(bigint) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM set_config($$role$$, $$none$$, false); RETURN 0; END'}), '', 'a table whose owner has code in it');
my $make = q{SELECT count(*) FROM uid_partitions('event', date_trunc('month', now(), 'UTC'), date_trunc('month', now(), 'UTC') + interval '1 month', '1 month', true)};
like($_, qr/28000: who has become role "landlord".*HINT.*Log in as the owner/s, 'a superuser who has become the owner runs nothing of the owner\'s')
  foreach map { my (undef, undef, $said) = $node->psql('app', "$_; $make", extra_params => [ '-v', 'VERBOSITY=verbose' ]); $said } 'SET ROLE landlord', 'SET SESSION AUTHORIZATION landlord';
is(as($node, 'landlord', 'app', "DROP INDEX event_evil; $make"), '1', '... and the owner does');

# Another layout, whose epochs make of today what was eleven years ago: the tools know that there are ids of the first one.
as($node, 'landlord', 'app', q{INSERT INTO event (body) VALUES ('today'); ALTER TABLE event ALTER id DROP DEFAULT; ALTER TABLE account ALTER id DROP DEFAULT; DROP SCHEMA evil CASCADE; SELECT uidgen_tools.take_out() IS NULL AS out \\gset
	DROP TABLE used, outbox});
like(as($node, 'landlord', 'app', $take_out) . put_in($node, 'app', 'worker_id=5', 'layout=default epoch:2015-01-01') . run_script($node, 'app', edition_script($node, 'sql-tools')), qr/^\d+app$/, 'another layout');
is(as($node, 'landlord', 'app', q{SELECT uid_drop_partitions('event', now() - interval '6 months', true, true)}), '', '... after which no partition is taken for past');
is(as($node, 'landlord', 'app', 'SELECT body FROM event'), 'today', '... and rows of today stay');
$node->safe_psql('small', 'DROP FUNCTION uidgen.nap()');
like(as($node, 'landlord', 'small', $take_out) . $node->safe_psql('small', q{ALTER TABLE uidgen_history.layout_used OWNER TO tenant}) . run_script($node, 'small', $script), qr/42501: schema uidgen or uidgen_history, or what is in it, belongs to another role/, 'what another role has made there is not taken for its memory');
as($node, 'landlord', 'app', 'DROP TABLE event, account; CREATE TABLE used (id bigint PRIMARY KEY DEFAULT uid_next(), n integer); SELECT uidgen_tools.take_out()');

# ---- out ----

like(as($node, 'landlord', 'app', $take_out), qr/2BP01.*used/s, 'it is not taken out while a column needs it');
unlike(as($node, 'landlord', 'app', $take_out), qr/own_layout/, '... which it says in short');
is(as($node, 'landlord', 'app', 'SELECT count(*) FROM uid_layout()'), '3', '... and all is there');
as($node, 'landlord', 'app', 'DROP TABLE used');
my $last_drawn = as($node, 'tenant', 'app', 'SELECT uid_next()');
is(as($node, 'landlord', 'app', $take_out), $last_drawn, 'it is taken out, and tells the last id');
$node->safe_psql('app', 'DROP SCHEMA uidgen_history CASCADE; DROP SCHEMA nobody');
is(objects('app'), $empty, '... and nothing is left, but the layouts that were used');
my $after = far(1800);
put_in($node, 'app', 'worker_id=5', "after=$after", 'max_ahead=1h');
cmp_ok(as($node, 'tenant', 'app', 'SELECT uid_next()'), '>', $after, 'it begins after an id that is named');

done_testing();
