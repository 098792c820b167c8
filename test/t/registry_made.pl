# The registry is made by the server where it is needed: by the first id of a server, in the database that uidgen.database names, and
# whatever has been prepared there.  Where it was lost, it is not made anew in silence.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $node = uidgen_node('main', "uidgen.window = '2s'", "uidgen.wait_timeout = '20s'", "max_connections = 40");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE app OWNER owner; CREATE ROLE anybody LOGIN');

sub as_owner
{
	my ($sql) = @_;
	my ($status, $out, $err) = $node->psql('app', $sql, extra_params => [ '-U', 'owner' ]);
	return $status == 0 ? $out : "failed: $err";
}

# How many registries are in a database: 0 or 1.
sub registries
{
	my ($database) = @_;
	return $node->safe_psql($database, q{SELECT count(*) FROM pg_extension WHERE extname = 'uidgen_registry'});
}

# One test: when the grant has ended, calls fail so.
sub ends_with
{
	my ($pattern, $name) = @_;
	my $said;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(poll_until(sub { ($said = join ' ', sqlstate_of($node, "SET uidgen.wait_timeout = '1s'; SELECT uid_next()", 'app')) =~ /^55000 .*$pattern/s }), $name) || diag($said);
}

# One test: ids are drawn, and the registry in this database is there.
sub is_made
{
	my ($database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(poll_until(sub { as_owner('SELECT uid_next()') =~ /^\d+$/ && registries($database) == 1 }), $name);
}

sub worker_id { return $node->safe_psql('app', 'SELECT worker_id FROM uidgen.status'); }

# Name a new database for the registry, prepared by these statements or this function, and look what comes of it.
my $databases = 0;

sub prepared
{
	my ($prepare, $check) = @_;
	my $name = 'prepared_' . ++$databases;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	ref $prepare ? $prepare->($name) : $node->safe_psql($name, $prepare) if $prepare;
	change_setting($node, 'uidgen.database', $name);
	$check->($name);
	return;
}

# ---- the owner of a database, and nothing else ----

my $log = -s $node->logfile;
is(as_owner('CREATE EXTENSION uidgen; CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)'), '', 'the owner of a database makes the extension');
is(registries('postgres'), 0, '... which makes no registry');
ok(poll_until(sub { as_owner(q{SELECT severity FROM uidgen.diagnose()}) eq 'ok' }), '... nor does a diagnosis, for which nothing is missing');
fails_with($node, q{SELECT uid_segment_next('none')}, '55000', qr/extension "uidgen_registry" is not in database "postgres".*HINT: .*The first id makes it/s, '... or a draw from a segment', 'app');
is(registries('postgres'), 0, '... still none');
like(as_owner(q{INSERT INTO message (body) VALUES ('hello') RETURNING id}), qr/^\d+$/, 'the first id comes');
is(registries('postgres'), 1, '... by a registry');
is(registries('app'), 0, '... which is not in the database of the ids');
is(scalar(() = log_since($node, $log) =~ /LOG:  uidgen has made the registry of worker ids in database "postgres"/g), 1, '... of which the log tells, once');
my $worker = worker_id();
my $last = $node->safe_psql('app', 'SELECT max(id) FROM message');
is(as_owner('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION uidgen'), '', 'all is reset, as by a test of an application');
cmp_ok(as_owner('SELECT uid_next()'), '>', $last, '... and ids go on');
is(worker_id(), $worker, '... of the same worker id');
$node->restart;
cmp_ok(as_owner('SELECT uid_next()'), '>', $last, '... also after a restart');
is(worker_id(), $worker, '... of the same worker id');
like(as_owner('BEGIN; DROP EXTENSION uidgen; CREATE EXTENSION uidgen; SELECT uid_next(); ROLLBACK'), qr/^\d+$/, 'in the transaction that makes the extension, too');

# ---- what somebody has prepared ----

prepared('', sub {
		my ($name) = @_;
		is_made($name, 'another database gets a registry of its own');
	});
prepared('CREATE SCHEMA uidgen_registry', sub {
		my ($name) = @_;
		ends_with(qr/registry of worker ids cannot be made in database "$name", which has a schema "uidgen_registry".*HINT: .*Rename or drop/s, 'a schema of that name');
		like($node->safe_psql('app', 'SELECT message FROM uidgen.diagnose()'), qr/cannot be made.*schema "uidgen_registry"/, '... as a diagnosis says, too');
		$node->safe_psql($name, 'DROP SCHEMA uidgen_registry');
		is_made($name, '... until it is gone');
	});
# Who owns the language can drop it, and what is written in it.
prepared(sub { $node->safe_psql('postgres', "GRANT CREATE ON DATABASE $_[0] TO anybody"); $node->safe_psql($_[0], 'DROP EXTENSION plpgsql; SET ROLE anybody; CREATE EXTENSION plpgsql') }, sub {
		my ($name) = @_;
		ends_with(qr/cannot be made.*plpgsql of a superuser.*HINT: .*Let a superuser.*make it a superuser until/s, 'PL/pgSQL of somebody else');
		fails_with($node, 'CREATE EXTENSION uidgen_registry', '55000', qr/extension "plpgsql" belongs to a role that is no superuser/, '... nor by hand', $name);
	});
prepared('DROP EXTENSION plpgsql', sub {
		my ($name) = @_;
		ends_with(qr/cannot be made.*plpgsql.*HINT: .*CREATE EXTENSION plpgsql/s, 'no PL/pgSQL');
	});
prepared(sub { $node->safe_psql('postgres', "ALTER DATABASE $_[0] IS_TEMPLATE true") }, sub {
		my ($name) = @_;
		ends_with(qr/cannot be made.*template.*HINT: .*another database/s, 'a template');
		$node->safe_psql('postgres', "ALTER DATABASE $name IS_TEMPLATE false");
		is_made($name, '... which it is no more');
	});

# Event triggers are a superuser's, and their functions may be another role's.
prepared(q{CREATE TABLE called (); GRANT INSERT ON called TO PUBLIC; GRANT CREATE ON SCHEMA public TO anybody; SET ROLE anybody;
	CREATE FUNCTION act() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.called DEFAULT VALUES; END'; RESET ROLE;
	CREATE EVENT TRIGGER starts ON ddl_command_start EXECUTE FUNCTION act(); CREATE EVENT TRIGGER ends ON ddl_command_end EXECUTE FUNCTION act()}, sub {
		my ($name) = @_;
		is_made($name, 'event triggers: an id comes');
		is($node->safe_psql($name, 'SELECT count(*) FROM called; CREATE TABLE uses (); SELECT count(*) FROM called'), "0\n2", '... and none has fired, which two do for other commands');
	});
prepared(q{CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$no$$; END'; CREATE EVENT TRIGGER refuses ON ddl_command_start EXECUTE FUNCTION refuse()}, sub {
		my ($name) = @_;
		is_made($name, 'an event trigger that refuses all commands does not stop ids');
	});

# What the superuser lets others do with tables to come is not for these.
prepared(q{ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO anybody; ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO anybody; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO anybody;
	ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO pg_monitor}, sub {
		my ($name) = @_;
		is_made($name, 'default privileges: an id comes');
		foreach my $extension ('uidgen_registry', 'uidgen')
		{
			$node->safe_psql($name, 'CREATE EXTENSION uidgen') if $extension eq 'uidgen';
			is($node->safe_psql($name, qq{SELECT count(*) FROM pg_class AS c WHERE relnamespace = '$extension'::regnamespace AND relkind IN ('r', 'v')
				AND (has_table_privilege('anybody', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') OR has_table_privilege('pg_monitor', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))}), 0, "... $extension: and nobody else writes to its tables");
			is($node->safe_psql($name, qq{SELECT has_schema_privilege('anybody', '$extension', 'CREATE')}), 'f', '... or makes anything in its schema');
		}
		is($node->safe_psql($name, q{SELECT count(*) FROM pg_proc AS p WHERE pronamespace = 'uidgen_registry'::regnamespace AND has_function_privilege('anybody', p.oid, 'EXECUTE')}), 0, '... or calls a function of the registry');
	});

# Nor where tables are to lie, or how.
$node->safe_psql('postgres', q{SET allow_in_place_tablespaces = on; CREATE TABLESPACE elsewhere LOCATION ''});
$node->append_conf('postgresql.conf', "default_tablespace = 'elsewhere'\ndefault_table_access_method = 'elsewhere'");
$node->reload;
prepared('', sub {
		my ($name) = @_;
		is_made($name, 'settings that say where and how tables are stored: an id comes');
		is($node->safe_psql($name, q{SELECT count(*) FROM pg_class WHERE relnamespace = 'uidgen_registry'::regnamespace AND reltablespace <> 0}), 0, '... and all lies with the database');
	});
$node->adjust_conf('postgresql.conf', $_, undef) foreach qw(default_tablespace default_table_access_method);
$node->reload;

# ---- several at once, and one that another session makes ----

prepared('', sub {
		my ($name) = @_;
		$node->safe_psql('postgres', join '', map { "CREATE DATABASE app_$_ OWNER owner;" } 1 .. 6);
		$node->safe_psql("app_$_", 'CREATE EXTENSION uidgen') foreach 1 .. 6;
		my @runs = map { start_drawing($node, "app_$_") } 1 .. 6;
		ok(!(grep { !await_drawing($_, 10) } @runs), 'six databases at once: each gets ids');
		stop_drawing($_) foreach @runs;
		ok(poll_until(sub { registries($name) == 1 }), '... by one registry');
	});
my $session;
prepared(sub {
		$session = $node->background_psql($_[0]);
		$session->query_safe('BEGIN; CREATE EXTENSION uidgen_registry');
	}, sub {
		my ($name) = @_;
		ends_with(qr/could not be made in database "$name".*HINT: .*Another session may be making it/s, 'another session makes it, and has not committed');
		$session->query_safe('COMMIT');
		$session->quit;
		is_made($name, '... until it has');
	});

# ---- a registry that is lost ----

prepared('', sub {
		my ($name) = @_;
		is_made($name, 'a registry');
		my $first = $node->safe_psql($name, 'SELECT id FROM uidgen_registry.registry');
		$node->safe_psql($name, 'SET client_min_messages = error; DROP EXTENSION uidgen_registry');
		ends_with(qr/registry of worker ids is gone from database "$name".*DETAIL: .*kept or reserved.*HINT: .*backup.*CREATE EXTENSION uidgen_registry/s, '... is dropped: ids end with the grant');
		is(registries($name), 0, '... no other one is made');
		$node->safe_psql($name, 'CREATE EXTENSION uidgen_registry');
		is_made($name, '... but somebody may make it');
		isnt($node->safe_psql($name, 'SELECT id FROM uidgen_registry.registry'), $first, '... with another number');
		$node->safe_psql($name, 'SET client_min_messages = error; DROP EXTENSION uidgen_registry');
		$node->restart;
		is_made($name, '... and after a restart the server does');
	});

# ---- who may stop it ----

# Locks come before rights, so who can name a table could lock it.
change_setting($node, 'uidgen.database', 'postgres');
is_made('postgres', 'the first registry again');
$node->safe_psql('postgres', 'GRANT CREATE ON SCHEMA public TO anybody');
foreach ('PREPARE p AS SELECT FROM uidgen_registry.worker_node', 'CREATE RULE r AS ON INSERT TO uidgen_registry.worker_node DO NOTHING')
{
	my ($status, $out, $err) = $node->psql('postgres', $_, extra_params => [ '-U', 'anybody' ]);
	like($err, qr/permission denied for schema uidgen_registry/, "a role without rights: $_");
}
my $anybody = $node->background_psql('postgres', extra_params => [ '-U', 'anybody' ]);
$anybody->query_safe(q{BEGIN; CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'; ALTER FUNCTION public.mine() DEPENDS ON EXTENSION uidgen_registry});
my $drawing = start_drawing($node, 'app');
ok(await_drawing($drawing, 10), '... locks the extension, and ids come');
my $until = $node->safe_psql('app', 'SELECT granted_until FROM uidgen.status');
ok($node->poll_query_until('app', "SELECT granted_until > '$until'::timestamptz + interval '2 s' FROM uidgen.status"), '... also when the grant was renewed');
ok(await_drawing($drawing, 10), '... they go on');
stop_drawing($drawing);
$anybody->query_safe('ROLLBACK');
$anybody->quit;

done_testing();
