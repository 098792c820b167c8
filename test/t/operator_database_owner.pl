# What the owner of a database can do with the extensions that he has made there himself, and what he cannot, statement by statement: the table
# of docs/reference/rights.md.  Nothing of his is called by the library, the keeper or the tools as somebody else; neither while the extension
# is there, nor when he has dropped it and has put objects of the same names in its place.  pg_regress has no such owner.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Twins;
use UidgenTest;

my $node = uidgen_node('main', 'uidgen.window = 500ms', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
make_roles();

sub make_roles
{
	$node->safe_psql('postgres', 'CREATE ROLE landlord LOGIN; CREATE ROLE tenant LOGIN; CREATE ROLE stranger LOGIN');
	$node->safe_psql('postgres', "CREATE DATABASE $_->[0] OWNER $_->[1]") foreach [ app => 'landlord' ], [ again => 'landlord' ], [ theirs => 'tenant' ], [ single => 'tenant' ];
	return;
}

# What psql prints as a role, or what goes wrong.
sub as
{
	my ($role, $sql, $database) = @_;
	my ($status, $out, $err) = $node->psql($database // 'app', $sql, extra_params => [ '-U', $role, '-v', 'VERBOSITY=verbose' ], on_error_stop => 1);
	return $out . $err;
}

# All objects of the extensions, with owners and rights.
sub objects
{
	my ($database) = @_;
	return $node->safe_psql($database // 'app', q{
		SELECT pg_describe_object(d.classid, d.objid, 0), coalesce(p.proowner, c.relowner, n.nspowner), coalesce(p.proacl, acldefault('f', p.proowner), c.relacl, n.nspacl)::text, md5(pg_get_functiondef(p.oid)), c.relhastriggers, c.relrowsecurity
			FROM pg_depend AS d
				LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
				LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
				LEFT JOIN pg_namespace AS n ON d.classid = 'pg_namespace'::regclass AND n.oid = d.objid
				JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname ~ '^uidgen' AND d.deptype = 'e'
		UNION ALL
		SELECT t.tgname, t.tgfoid, t.tgenabled::text, t.tgrelid::text, NULL, NULL FROM pg_trigger AS t ORDER BY 1, 2});
}

# One test: he is refused, and all is as before.  Where he has some right on an object and cannot pass it on, PostgreSQL only warns.
my ($before, $folder);

sub cannot
{
	my ($sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like(as('landlord', $sql), qr/(?:ERROR:  (?:42501|0A000|2BP01)|WARNING:  0100[67]): /, "he cannot: $sql");
}

# One test: he can.  It is taken back.
sub can
{
	my ($sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return unlike(as('landlord', "BEGIN; $sql; ROLLBACK"), qr/ERROR|WARNING/, "he can: $sql");
}

# He dumps his database, and restores it; others do, too.  Returns the last id that was dumped.
sub dumps_and_restores
{
	my $last = as('landlord', 'SELECT max(id) FROM public.message');
	$node->command_ok([ 'pg_dump', '-U', 'landlord', '--file', "$folder/plain", 'app' ], 'the owner dumps it');
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-U', 'landlord', '-d', 'again', '-f', "$folder/plain" ], '... and restores it');
	$node->command_ok([ 'pg_dump', '-U', 'landlord', '--no-owner', '--no-privileges', '-Fc', '--file', "$folder/custom", 'app' ], 'a dump for anybody');
	$node->command_ok([ 'pg_restore', '--exit-on-error', '--no-owner', '-U', 'tenant', '-d', 'theirs', "$folder/custom" ], '... is restored by another owner');
	$node->command_ok([ 'pg_restore', '--single-transaction', '--no-owner', '-U', 'tenant', '-d', 'single', "$folder/custom" ], '... and in one transaction');
	cmp_ok(as($_->[1], 'INSERT INTO public.message DEFAULT VALUES RETURNING id', $_->[0]), '>', $last, "$_->[0]: ids go on") foreach [ again => 'landlord' ], [ theirs => 'tenant' ], [ single => 'tenant' ];
	return $last;
}

# ---- he makes them, and draws ----

like(as('landlord', 'CREATE SCHEMA lib; BEGIN; CREATE EXTENSION uidgen SCHEMA lib; CREATE EXTENSION uidgen_tools SCHEMA lib; SELECT lib.uid_next(); COMMIT'), qr/^\d+$/,
	'the owner of a database makes the extensions in a schema of choice, and draws in the same transaction');
is(as('landlord', 'CREATE TABLE public.message (id bigint PRIMARY KEY DEFAULT lib.uid_next(), body text); INSERT INTO public.message (body) SELECT n FROM generate_series(1, 10) AS n'), '', '... and stores ids');
is(as('landlord', "CREATE SCHEMA his; CREATE FUNCTION his.own() RETURNS integer LANGUAGE sql AS 'SELECT 1'; CREATE FUNCTION his.trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"), '', '... and has functions of his own');
$node->safe_psql('app', q{SET client_min_messages = error; CREATE EXTENSION uidgen_registry});
is($node->safe_psql('app', q{SELECT DISTINCT rolsuper FROM pg_roles AS r JOIN (SELECT nspowner AS owner FROM pg_namespace WHERE nspname ~ '^uidgen' UNION SELECT relowner FROM pg_class WHERE relnamespace::regnamespace::text ~ '^uidgen'
	UNION SELECT proowner FROM pg_proc WHERE proname ~ '^uid_' OR pronamespace::regnamespace::text ~ '^uidgen') AS o ON r.oid = o.owner}), 't', 'all objects are a superuser\'s');

# ---- what he cannot ----

$before = objects();
cannot($_) foreach
	# functions
	'ALTER FUNCTION lib.uid_next() OWNER TO landlord', 'ALTER FUNCTION lib.uid_next() RENAME TO next', 'ALTER FUNCTION lib.uid_next() SET SCHEMA his', 'ALTER FUNCTION lib.uid_next() IMMUTABLE',
	'DROP FUNCTION lib.uid_next() CASCADE', "CREATE OR REPLACE FUNCTION lib.uid_next() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'", "COMMENT ON FUNCTION lib.uid_next() IS 'x'",
	"CREATE OR REPLACE FUNCTION uidgen.diagnose(OUT severity text, OUT message text) RETURNS SETOF record LANGUAGE sql AS 'SELECT NULL::text, NULL::text'", 'ALTER FUNCTION uidgen.use_layout() SECURITY DEFINER', 'ALTER FUNCTION lib.uid_adopt(regclass, name, boolean) SECURITY DEFINER',
	# the extensions
	'ALTER EXTENSION uidgen DROP FUNCTION lib.uid_next()', 'ALTER EXTENSION uidgen DROP TABLE uidgen.backfill', 'ALTER EXTENSION uidgen DROP SCHEMA uidgen', 'ALTER EXTENSION uidgen SET SCHEMA his',
	'ALTER EXTENSION uidgen ADD FUNCTION pg_catalog.now()', 'ALTER EXTENSION uidgen_tools DROP SCHEMA uidgen_tools', 'ALTER EXTENSION uidgen_registry ADD FUNCTION his.own()', 'ALTER EXTENSION uidgen_registry UPDATE', 'DROP EXTENSION uidgen_registry',
	# their schemas
	(map { ("CREATE TABLE $_.mine ()", "CREATE FUNCTION $_.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'", "CREATE VIEW $_.mine AS SELECT 1", "CREATE TYPE $_.mine AS ENUM ()", "ALTER TABLE public.message SET SCHEMA $_",
		"ALTER SCHEMA $_ OWNER TO landlord", "ALTER SCHEMA $_ RENAME TO mine", "DROP SCHEMA $_ CASCADE", "GRANT CREATE ON SCHEMA $_ TO landlord", "REVOKE USAGE ON SCHEMA $_ FROM PUBLIC") } qw(uidgen uidgen_tools uidgen_registry)),
	# tables and views
	(map { ("TRUNCATE $_", "ALTER TABLE $_ DISABLE TRIGGER ALL", "DELETE FROM $_", "CREATE TRIGGER his AFTER INSERT ON $_ FOR EACH ROW EXECUTE FUNCTION his.trigger()", "CREATE RULE his AS ON INSERT TO $_ DO INSTEAD NOTHING", "CREATE INDEX ON $_ (his.own())",
		"ALTER TABLE $_ ADD his integer", "ALTER TABLE $_ ENABLE ROW LEVEL SECURITY", "ALTER TABLE $_ OWNER TO landlord", "DROP TABLE $_ CASCADE", "GRANT INSERT ON $_ TO stranger",
		"CREATE TABLE his.child () INHERITS ($_)") } qw(uidgen.layout_used uidgen.backfill uidgen_registry.worker_node)),
	'BEGIN; LOCK TABLE uidgen.backfill', 'UPDATE uidgen.backfill SET upto = NULL', 'CREATE OR REPLACE VIEW uidgen.status AS SELECT 1', 'ALTER VIEW uidgen.status OWNER TO landlord', 'DROP VIEW uidgen.status CASCADE', 'SET session_replication_role = replica',
	# rights
	'REVOKE EXECUTE ON FUNCTION lib.uid_next() FROM PUBLIC', 'GRANT EXECUTE ON FUNCTION lib.uid_next() TO stranger', 'GRANT SELECT ON uidgen.segment_status TO stranger', 'SELECT FROM uidgen.segment_status', 'GRANT SELECT ON uidgen.status TO stranger',
	"GRANT EXECUTE ON FUNCTION lib.uid_backfill TO stranger", 'SELECT uidgen.accept_step(1)', 'SELECT uidgen.reset_statistics()', 'REASSIGN OWNED BY ' . $node->safe_psql('app', 'SELECT current_user') . ' TO landlord',
	# the registry
	'SELECT FROM uidgen_registry.worker_node', 'SELECT FROM uidgen_registry.status', 'INSERT INTO uidgen_registry.segment DEFAULT VALUES', "SELECT uidgen_registry.create_segment('his')", 'SELECT uidgen_registry.forget_worker(1)', 'PREPARE p AS SELECT FROM uidgen_registry.worker_node';
my %known = map { $_ => 1 } split /\n/, $before;
is(join("\n", grep { !$known{$_} } split /\n/, objects()), '', '... all is as before');
$node->safe_psql('app', 'DROP EXTENSION uidgen_registry');
cannot('CREATE EXTENSION uidgen_registry');

# ---- what he can ----

can($_) foreach 'DROP EXTENSION uidgen CASCADE', 'DROP EXTENSION uidgen_tools', "SET client_min_messages = error; ALTER EXTENSION uidgen UPDATE", 'ALTER EXTENSION uidgen ADD FUNCTION his.own()', 'SELECT uidgen.use_layout()', 'SELECT uidgen.backfill_home(), (uidgen.diagnose()).message, uidgen.ask_for_grant()',
	q{INSERT INTO uidgen.layout_used VALUES ('x', now(), 1, 1)}, 'UPDATE uidgen.layout_used SET since = now()', 'LOCK TABLE uidgen.layout_used', q{INSERT INTO uidgen.backfill VALUES (0, 1, NULL, NULL, 'x', 1, 1, 'x', now())}, 'TABLE uidgen.backfill',
	'CREATE SCHEMA uidgen_registry', q{SELECT lib.uid_adopt('public.message', 'id')};

# Functions that he has added are in neither schema that the library looks into, and no tool takes them for the extension's.
is(as('landlord', q{ALTER EXTENSION uidgen ADD FUNCTION his.own(); CREATE FUNCTION lib.uid_next(internal) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'}) =~ /ERROR:  42P13/, 1, 'a function as COPY calls it cannot be made');
$node->safe_psql('app', q{CREATE TABLE copied (id bigint DEFAULT lib.uid_next(), n integer); COPY copied (n) FROM PROGRAM 'seq 3'});
is($node->safe_psql('app', 'SELECT count(DISTINCT id), min(id) > (SELECT max(id) FROM public.message) FROM copied; DROP TABLE copied'), '3|t', 'with a function of his in the extension, ids are as always');
is(as('landlord', 'ALTER EXTENSION uidgen DROP FUNCTION his.own()'), '', 'he takes it out again');

# ---- dump and restore, without a superuser ----

$folder = PostgreSQL::Test::Utils::tempdir();
my $last = dumps_and_restores();

# ---- where the registry is in his database ----

change_setting($node, 'uidgen.database', 'app');
ok(poll_until(sub { as('landlord', 'SELECT lib.uid_next()') =~ /^\d+$/ }), 'the registry is in his database: ids go on');
cannot($_) foreach 'SELECT FROM uidgen_registry.worker_node', 'DROP EXTENSION uidgen_registry', 'DROP SCHEMA uidgen_registry CASCADE', 'ALTER EXTENSION uidgen_registry ADD FUNCTION his.own()', 'BEGIN; LOCK TABLE uidgen_registry.worker_node', 'DROP OWNED BY ' . $node->safe_psql('app', 'SELECT current_user');
$node->command_ok([ 'pg_dump', '-U', 'landlord', '--extension=uidgen', '--extension=uidgen_tools', '--file', "$folder/without", 'app' ], 'he dumps it without the registry');
$node->safe_psql('postgres', 'CREATE DATABASE without OWNER landlord');
$node->command_ok([ 'psql', '-Xq', '-1', '-v', 'ON_ERROR_STOP=1', '-U', 'landlord', '-d', 'without', '-f', "$folder/without" ], '... and restores it');
$node->command_ok([ 'pg_dump', '-U', 'landlord', '--file', "$folder/with", 'app' ], 'he dumps it as a whole');
$node->safe_psql('postgres', 'CREATE DATABASE whole OWNER landlord');
like((run_command([ 'psql', '-Xq', '-U', 'landlord', '-d', $node->connstr('whole'), '-f', "$folder/with" ]))[1], qr/permission denied to create extension "uidgen_registry"/, '... which needs a superuser to be restored');
is(as('landlord', 'SELECT count(*) FROM public.message', 'whole'), as('landlord', 'SELECT count(*) FROM public.message'), '... for the registry alone');

# ---- objects of the same names in the place of the extension ----

# They tell the log who has called them.
my $TRAP = q{PERFORM his.trap()};
as('landlord', q{CREATE FUNCTION his.trap() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE LOG $$trapped as %.$$, current_user; RETURN 1; END'; GRANT USAGE ON SCHEMA his TO PUBLIC;
	CREATE FUNCTION his.spring() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM his.trap(); RETURN NEW; END'});
my $log;

sub begin_log { $log = -s $node->logfile; return; }

sub trapped
{
	my %seen = map { $_ => 1 } log_since($node, $log) =~ /LOG:  trapped as ([^.\n]+)\.$/mg;
	return join ' ', sort grep { $_ ne 'landlord' } keys %seen;
}

# How to make everything that is in there, with a trap in it.
my @forged = split /;\n/, $node->safe_psql('app', q{
	SELECT string_agg(made, E';\n') FROM (
		SELECT format('CREATE FUNCTION %s.%I(%s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN PERFORM his.trap(); %s END''', n.nspname, p.proname, pg_get_function_arguments(p.oid), coalesce(pg_get_function_result(p.oid), 'void'),
				CASE WHEN p.proretset OR p.prorettype = 'void'::regtype THEN 'RETURN;' WHEN p.prorettype = 'trigger'::regtype THEN 'RETURN NEW;' WHEN 'o' = ANY (p.proargmodes) THEN '' ELSE 'RETURN NULL;' END)
			FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
			WHERE n.nspname IN ('uidgen', 'uidgen_tools') AND NOT 'internal'::regtype::oid = ANY (p.proargtypes::oid[])
		UNION ALL
		SELECT format('CREATE VIEW uidgen.%I AS SELECT his.trap() AS trap, %s', c.relname, string_agg(format('NULL::%s AS %I', format_type(a.atttypid, a.atttypmod), a.attname), ', ' ORDER BY a.attnum))
			FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 WHERE c.relnamespace = 'uidgen'::regnamespace AND c.relkind = 'v' GROUP BY c.relname) AS objects (made)});
my @columns = map { [ $_, $node->safe_psql('app', "SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'uidgen.$_'::regclass AND attnum > 0") ] } qw(layout_used backfill);
my $tables = join '; ', 'DROP EXTENSION uidgen CASCADE; CREATE SCHEMA uidgen; GRANT USAGE, CREATE ON SCHEMA uidgen TO PUBLIC', map {
	("CREATE TABLE uidgen.$_->[0] ($_->[1])", "CREATE TRIGGER spring BEFORE INSERT OR UPDATE OR DELETE ON uidgen.$_->[0] FOR EACH ROW EXECUTE FUNCTION his.spring()", "GRANT ALL ON uidgen.$_->[0] TO PUBLIC",
		"ALTER TABLE uidgen.$_->[0] ADD CHECK (his.trap() = 1)") } @columns;

# Ids of past times are under way, his own and a superuser's, and the first ids of a database: at the end of the transaction the library writes
# into its table, which is his by then.
my $home = as('landlord', 'SELECT uidgen.backfill_home()');
$node->safe_psql('app', "SELECT lib.uid_next(); SELECT uidgen.accept_backfill(uidgen_registry.reserve_backfill('$home'))") foreach 1 .. 2;
my $exchange = "SET client_min_messages = error; CREATE TABLE his.saved AS TABLE uidgen.backfill; $tables; INSERT INTO uidgen.backfill TABLE his.saved; CREATE INDEX ON uidgen.backfill ((his.trap() || home))";
begin_log();
like(as('landlord', "BEGIN; SELECT lib.uid_backfill('2025-06-01'); $exchange; COMMIT"), qr/ERROR:  55000: this database has no table uidgen\.backfill/, 'ids of past times, and the table is another one: an error');
my $session = $node->background_psql('app', on_error_stop => 0);
$session->query("BEGIN; SELECT lib.uid_backfill('2025-06-01')");
is($session->{stderr}, '', 'a superuser draws ids of past times');
is(as('landlord', $exchange), '', '... meanwhile he exchanges the table');
$session->query('COMMIT');
like($session->{stderr}, qr/ERROR:  this database has no table uidgen\.backfill/, '... which is an error, too');
$session->quit;
is(trapped(), '', '... and nothing of his was called');

sub made_anew
{
	as('landlord', 'SET client_min_messages = error; DROP SCHEMA IF EXISTS uidgen CASCADE; DROP SCHEMA IF EXISTS uidgen_tools CASCADE; DROP TABLE IF EXISTS his.saved; CREATE EXTENSION uidgen SCHEMA lib; CREATE EXTENSION uidgen_tools SCHEMA lib');
	return;
}
made_anew();
$session = $node->background_psql('app', on_error_stop => 0);
$session->query('BEGIN; CREATE TEMP TABLE t AS SELECT lib.uid_next() AS id');
is(as('landlord', "SET client_min_messages = error; $tables"), '', 'the first ids of a database, and he exchanges the table');
$session->query('COMMIT');
is($session->{stderr}, '', '... the transaction ends as always');
$session->quit;
is(as('landlord', 'SELECT count(*) FROM uidgen.layout_used'), '0', '... his table is not written');
is(trapped(), '', '... and nothing of his was called');

# With all names.
as('landlord', 'CREATE SCHEMA uidgen_tools; GRANT USAGE ON SCHEMA uidgen_tools TO PUBLIC');
my $made = grep { as('landlord', $_) eq '' } @forged;
cmp_ok($made, '>', 40, "$made objects are forged");
begin_log();
fails_with($node, "CREATE EXTENSION $_", '42P06', qr/schema "uidgen" already exists/, "CREATE EXTENSION $_ fails, and says why", 'app') foreach 'uidgen', 'uidgen SCHEMA lib', 'uidgen_tools CASCADE';
like(as('landlord', 'CREATE EXTENSION uidgen'), qr/42P06: schema "uidgen" already exists/, '... for himself, too');

# The keeper, whose registry is in this database, and the functions of that.
my $renewals = $node->safe_psql('postgres', 'SELECT renewals FROM uidgen.status');
ok(poll_until(sub { $node->safe_psql('postgres', 'SELECT uid_next() > 0') eq 't' && $node->safe_psql('postgres', "SELECT renewals > $renewals + 2 FROM uidgen.status") eq 't' }), 'the keeper renews its grant in this database');
ok(end_keeper($node), '... ends, and begins');
$node->restart;
cmp_ok($node->safe_psql('postgres', 'SELECT uid_next()'), '>', $last, '... also by a restart');
$home = $node->safe_psql('postgres', 'SELECT uidgen.backfill_home()');
$node->safe_psql('app', "SELECT uidgen_registry.create_segment('s'); SELECT uidgen_registry.reserve_backfill('$home'); TABLE uidgen_registry.fleet; TABLE uidgen_registry.status; SELECT uidgen_registry.registry_history()");
$node->safe_psql('app', "SELECT uidgen_registry.change_segment('s', max_value => 100000)");
is($node->safe_psql('postgres', q{SELECT uid_segment_next('s')}), '1', '... segments are drawn from');
$node->safe_psql('app', 'SELECT uidgen_registry.end_registry()');
ok(poll_until(sub { (try_psql($node, 'SELECT uid_next()'))[0] == 0 }), '... and the registry is begun anew');

# The library, in a session of a superuser: each of its functions that needs no table.
my @calls = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', q{
	SELECT prosrc, format('RETURNS %s LANGUAGE C', pg_get_function_result(oid)), pg_get_function_arguments(oid), proname FROM pg_proc
		WHERE probin = '$libdir/uidgen' AND pronargs = 0 AND NOT proretset AND prorettype <> 'record'::regtype AND prorettype <> 'trigger'::regtype});
cmp_ok(scalar(@calls), '>', 5, scalar(@calls) . ' functions are called in his database');
foreach my $call (@calls)
{
	my ($symbol, $returns, undef, $name) = @$call;
	try_psql($node, "CREATE FUNCTION pg_temp.$name() $returns AS '\$libdir/uidgen', '$symbol'; CREATE TEMP TABLE t AS SELECT pg_temp.$name() AS id", database => 'app');
}
try_psql($node, q{CREATE FUNCTION pg_temp.past(timestamptz, integer) RETURNS bigint LANGUAGE C AS '$libdir/uidgen', 'uidgen_backfill'; CREATE TEMP TABLE t AS SELECT pg_temp.past('2025-06-01', 0) AS id}, database => 'app');
is(trapped(), '', 'nothing of his was called as anybody else');
unlike(log_since($node, 0), qr/terminated by signal/, '... nor did any process crash');

# What the page warns of: who reads a view of that name there runs what it has.
$node->safe_psql('app', 'TABLE uidgen.status');
is(trapped(), $node->safe_psql('app', 'SELECT current_user'), 'but who reads uidgen.status there himself reads a view of his');

# ---- the edition, dumped and restored without a superuser ----

$node->stop;
$node = twin_node('edition');
$node->start;
make_roles();
as('landlord', 'CREATE SCHEMA lib');
put_twin_in('edition', $node, 'app', owner => 'landlord', schema => 'lib');
is(as('landlord', 'CREATE TABLE public.message (id bigint PRIMARY KEY DEFAULT lib.uid_next(), body text); INSERT INTO public.message (body) SELECT n FROM generate_series(1, 10) AS n'), '', 'he stores ids');
dumps_and_restores();

done_testing();
