# The extension uidgen_tools: the owner of a database makes it, whatever schemas the two extensions are in; what it takes for uid_next() is
# that of the library, though the owner adds functions to extensions and renames schemas; default privileges give nobody a right by it;
# it is dumped, restored and dropped.  pg_regress has one database, and no roles that log in.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use IPC::Run;
use SqlEdition ();
use Twins;
use UidgenTest;

my $node;

# What psql prints as a role, and what goes wrong.
sub as
{
	my ($role, $sql, $database) = @_;
	my ($status, $out, $err) = $node->psql($database // 'app', $sql, extra_params => [ '-U', $role, '-v', 'VERBOSITY=verbose' ], on_error_stop => 1);
	return $status == 0 ? $out : $err;
}

foreach my $kind (kinds())
{
	$node = twin_node($kind, 'autovacuum = off', "deadlock_timeout = '1h'");
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE landlord LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE maker LOGIN; CREATE DATABASE app OWNER landlord');
	my $is_extension = $kind eq 'extension';
	$node->safe_psql('postgres', 'CREATE EXTENSION uidgen') if $is_extension;
	$node->safe_psql('app', 'CREATE SCHEMA "We Ird" AUTHORIZATION landlord');
	$node->safe_psql('app', 'CREATE EXTENSION uidgen SCHEMA "We Ird"') if $is_extension;

	# ---- made by the owner of the database ----

	if ($is_extension)
	{
		# What the superuser gives by default on all that is new.
		$node->safe_psql('app', "ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO stranger WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO PUBLIC") foreach qw(SCHEMAS FUNCTIONS);
		like(as('stranger', 'CREATE EXTENSION uidgen_tools'), qr/ERROR:  42501: permission denied to create extension/, 'who may not create in the database makes no extension');
		like(as('landlord', 'CREATE SCHEMA uidgen_tools; CREATE EXTENSION uidgen_tools'), qr/ERROR:  42P06: schema "uidgen_tools" already exists/,
			'a schema of somebody else\'s is not taken over');
		is(as('landlord', 'DROP SCHEMA uidgen_tools; CREATE SCHEMA tools; CREATE EXTENSION uidgen_tools SCHEMA tools'), '', 'the owner of the database makes the extension');
		my $rights = q{
			SELECT has_schema_privilege('stranger', 'uidgen_tools', 'USAGE'), has_schema_privilege('stranger', 'uidgen_tools', 'CREATE'),
				count(*) > 30, count(*) FILTER (WHERE acl::text ~ 'stranger')
			FROM (SELECT p.proacl AS acl FROM pg_proc AS p JOIN member AS d ON d.objid = p.oid UNION ALL SELECT n.nspacl FROM pg_namespace AS n WHERE n.nspname = 'uidgen_tools') AS o};
		is($node->safe_psql('app', "CREATE TEMP VIEW member AS SELECT d.objid FROM pg_depend AS d JOIN pg_extension AS e ON d.refobjid = e.oid AND e.extname = 'uidgen_tools' AND d.deptype = 'e'; $rights"),
			't|f|t|0', 'default privileges of superusers give nobody a right by it');
		like(as($_, "CREATE FUNCTION uidgen_tools.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'"), qr/ERROR:  42501: permission denied for schema uidgen_tools/, "$_ creates nothing there")
		  foreach qw(landlord stranger);
	}
	else
	{
		# What the owner gives by default on all that is new.  Who may write to a schema of it, or to a sequence, would have its calls.
		$node->safe_psql('app', "ALTER DEFAULT PRIVILEGES FOR ROLE maker GRANT ALL ON $_ TO stranger WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES FOR ROLE maker GRANT ALL ON $_ TO PUBLIC") foreach qw(SCHEMAS FUNCTIONS TABLES SEQUENCES TYPES);
		put_twin_in($kind, $node, 'app', schema => '"We Ird"');
		is($node->safe_psql('app', q{
			SELECT string_agg(o.what, ' ' ORDER BY o.what)
			FROM (SELECT c.oid::regclass::text AS what, c.relacl AS acl FROM pg_class AS c WHERE c.relnamespace::regnamespace::text ~ '^uidgen' AND c.relkind <> 'i'
				UNION ALL SELECT n.nspname, n.nspacl FROM pg_namespace AS n WHERE n.nspname ~ '^uidgen'
				UNION ALL SELECT p.proname, p.proacl FROM pg_proc AS p WHERE p.pronamespace = 'uidgen'::regnamespace AND p.proname IN ('next_otherwise', 'write_constants', 'set_up', 'take_out')) AS o
			WHERE o.acl::text ~ 'stranger|(?:^.|,)=[^,/]*[awdDxtC]'}), '', 'default privileges of its owner give nobody a right by it');
		is(as('stranger', 'DELETE FROM uidgen_history.layout_used') =~ /42501/, 1, '... such as to forget a layout');
		like(as('stranger', "CREATE FUNCTION $_.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'"), qr/ERROR:  42501: permission denied for schema/, "... nor does a stranger create in $_")
		  foreach qw(uidgen uidgen_tools uidgen_history);
	}
	my $tools = $is_extension ? 'tools' : '"We Ird"';

	# ---- used in whichever schemas ----

	is(as('landlord', <<"SQL"), "f\nt\n2\n1\nf", 'a table is adopted, partitions are made and dropped');
CREATE TABLE account (id bigserial PRIMARY KEY);
SELECT FROM $tools.uid_adopt('account', 'id', true);
INSERT INTO account DEFAULT VALUES RETURNING "We Ird".uid_timestamp(id) < now() - interval '1 day';
CREATE TABLE event (id bigint) PARTITION BY RANGE (id);
SELECT pg_get_expr(adbin, adrelid) = '"We Ird".uid_next()' FROM pg_attrdef WHERE adrelid = 'account'::regclass;
SELECT count(*) FROM $tools.uid_partitions('event', '2026-01-01', '2026-03-01', '1 month', true, 'default');
SELECT count(*) FROM $tools.uid_drop_partitions('event', '2026-02-01', true, 'default', true);
SELECT count(*) > 2 FROM $tools.uid_partitions('event', '2026-01-01', '2026-03-01', '1 month') AS p WHERE p LIKE 'CREATE %';
SQL
	# An end that no timestamp can have, and what a partition in the way tells of itself.
	is(as('landlord', qq{SELECT count(*) FROM $tools.uid_partitions('event', '9999-01-01', '10002-01-01', '1 year', false, 'time:46:3600s worker:10 sequence:7 epoch:2020-01-01') AS p WHERE p LIKE 'CREATE %'}), '3', 'a layout that lasts longer than timestamps');
	like(as('landlord', qq{SET timezone = 'UTC'; SELECT $tools.uid_partitions('event', '2026-02-10', '2026-03-10', '7 days', true, 'default')}),
		qr/42P17: partition "public"\."event_2026_02" .*By the layout .* its times are from 2026-02-01 00:00:00\+00 to 2026-03-01 00:00:00\+00/s, 'what is in the way is told by its times');

	# ---- what an owner can do ----

	# He may add to both extensions what is his; both schemas are his.
	is(as('landlord', <<"SQL"), '', 'the owner adds his own functions');
CREATE FUNCTION "We Ird".uid_next(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
@{[ $is_extension ? q{CREATE FUNCTION tools.uid_next() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION tools.uid_min(timestamptz) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
ALTER EXTENSION uidgen_tools ADD FUNCTION tools.uid_next();} : '' ]}
ALTER SCHEMA "We Ird" RENAME TO "Very'Strange";
CREATE SCHEMA "We Ird";
CREATE FUNCTION "We Ird".uid_next() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
SQL
	$tools = q{"Very'Strange"} if !$is_extension;
	$node->safe_psql('app', "CREATE TABLE public.mine (id bigserial PRIMARY KEY); SELECT FROM $tools.uid_adopt('public.mine', 'id', true)");
	is($node->safe_psql('app', q{SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'mine'::regclass}), q{"Very'Strange".uid_next()},
		'a superuser\'s table gets its ids from the library, whatever its schema is called now');

	# While the rows of a table are written anew, its owner's own function waits, and the name of the schema is given to another one.
	$node->safe_psql('app', q{CREATE ROLE shop LOGIN; GRANT ALL ON SCHEMA public, "Very'Strange", "We Ird" TO shop});
	$node->safe_psql('app', "GRANT USAGE ON SCHEMA $tools TO shop");
	is(as('shop', <<'SQL'), '', 'a table of another role\'s');
CREATE TABLE late (id serial PRIMARY KEY, body integer);
CREATE FUNCTION wait(a integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN a; END $$;
CREATE INDEX ON late (wait(body));
INSERT INTO late (body) VALUES (1);
SQL
	my $locker = $node->background_psql('app');
	$locker->query_safe('SELECT pg_advisory_lock(1)');
	my $said = '';
	my $adopting = IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose', '-U', 'shop', '-d', $node->connstr('app'),
			'-c', q{SET lock_timeout = '3min'}, '-c', "SELECT $tools.uid_adopt('public.late', 'id', true)" ], '<', \undef, '>&', \$said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
	ok($node->poll_query_until('app', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = 'shop' AND wait_event = 'advisory'}), 'it is being written anew');
	is(as('landlord', q{ALTER SCHEMA "We Ird" RENAME TO spare; ALTER SCHEMA "Very'Strange" RENAME TO away; ALTER SCHEMA spare RENAME TO "Very'Strange"}), '', '... while the owner of the database exchanges the schemas');
	$locker->query_safe('SELECT pg_advisory_unlock(1)');
	$adopting->finish;
	like($said, qr/ERROR:  55000: function uid_next\(\) was renamed meanwhile.*DETAIL:  It is "away"\."uid_next"\(\) now/s, '... and the table does not get his function');
	is(as('landlord', q{ALTER SCHEMA "Very'Strange" RENAME TO "We Ird"; ALTER SCHEMA away RENAME TO "Very'Strange"}), '', '... nor anything');
	$locker->quit;

	# Nor by the name, were its function not there.
	my $extension = sub { my ($sql) = @_; $node->safe_psql('app', "ALTER EXTENSION uidgen $sql FUNCTION \"Very'Strange\".uid_next()") if $is_extension };
	$extension->('DROP');
	$node->safe_psql('app', q{ALTER FUNCTION "Very'Strange".uid_next() RENAME TO former});
	my $not_it = qr/function uid_next\(\) is not what (?:the extension "uidgen"|the edition of uidgen) has made/;
	fails_with($node, "SELECT $tools.uid_adopt('mine', 'id')", '55000', $not_it, 'where there is none, no table is adopted', 'app');
	my $impostor = q{CREATE FUNCTION "Very'Strange".uid_next() RETURNS bigint LANGUAGE %s};
	foreach ([ 'of the owner\'s', 'landlord', 'sql AS \'SELECT 1::bigint\'' ], [ 'of a superuser\'s, in SQL', undef, 'sql AS \'SELECT 1::bigint\'' ],
		$is_extension ? [ 'of the library, with another symbol', undef, q{c AS '$libdir/uidgen', 'uidgen_diagnose'} ] : [ 'that calls uidgen.next()', 'stranger', 'sql BEGIN ATOMIC SELECT uidgen.next(); END' ])
	{
		my ($name, $role, $body) = @$_;
		$node->safe_psql('app', q{GRANT CREATE ON SCHEMA "Very'Strange" TO stranger; } . ($role ? "SET ROLE $role; " : '') . sprintf($impostor, $body));
		$extension->('ADD');
		fails_with($node, "SELECT $tools.uid_adopt('mine', 'id')", '55000', $not_it, "a function $name is not taken for it", 'app');
		$extension->('DROP');
		$node->safe_psql('app', q{DROP FUNCTION "Very'Strange".uid_next()});
	}
	$node->safe_psql('app', q{ALTER FUNCTION "Very'Strange".former() RENAME TO uid_next});
	$extension->('ADD');

	if ($is_extension)
	{
		# ---- dropped under a call ----

		# By code of the table's own, which runs when a member has become its owner; it would then put functions of its own in their place.
		$node->safe_psql('app', 'CREATE ROLE tenant LOGIN IN ROLE landlord');
		is(as('landlord', q{CREATE FUNCTION public.drop_them() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF session_user <> 'landlord' THEN DROP EXTENSION IF EXISTS uidgen_tools; END IF; END $$;
			CREATE FUNCTION drops() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM public.drop_them(); RETURN 1; END $$;
			CREATE TABLE trap (id bigint PRIMARY KEY) PARTITION BY RANGE (id); CREATE INDEX ON trap (id) WHERE drops() = 1}), '', 'a table whose code drops the extension');
		like(as('tenant', q{SET ROLE landlord; SELECT tools.uid_partitions('trap', now(), now() + interval '1 day', '1 day', true)}), qr/55006: .* cannot be dropped by a table's own code/, '... cannot while it is run for somebody else');
		my $caller = $node->background_psql('app');
		$caller->query_safe(q{SET ROLE landlord; BEGIN; SELECT tools.uid_partitions('event', now(), now() + interval '1 day', '1 day')});
		fails_with($node, "SET lock_timeout = '100ms'; DROP EXTENSION $_ CASCADE", '55P03', qr/lock timeout/, "another session cannot drop $_ before a call's transaction has ended", 'app') foreach qw(uidgen_tools uidgen);
		$caller->quit;
		$node->safe_psql('app', 'DROP TABLE trap');
	}
	fails_with($node, "SET ROLE landlord; SELECT $tools.uid_partitions('event', now(), now() + interval '1 day', '1 day', true)", '28000', qr/who has become role "landlord"/, 'code of a table runs for no superuser, and so drops nothing under a call', 'app');

	# ---- dropped, dumped and restored ----

	if ($is_extension)
	{
		is($node->safe_psql('app', q{DROP EXTENSION uidgen_tools; SELECT count(*) FROM pg_namespace WHERE nspname = 'uidgen_tools'; INSERT INTO account DEFAULT VALUES; INSERT INTO mine DEFAULT VALUES;
			SELECT count(*) FROM account; SELECT count(*) FROM mine}), "0\n2\n1", 'dropped, it leaves nothing behind, and tables go on');
		# A schema with a quote in its name is refused for new extensions, also by a restore.
		is(as('landlord', q{DROP SCHEMA "We Ird" CASCADE; ALTER SCHEMA "Very'Strange" RENAME TO "We Ird"; CREATE EXTENSION uidgen_tools SCHEMA tools}), '', 'it is made again');
	}
	else
	{
		is(as('maker', q{SELECT uidgen_tools.take_out()}) =~ /ERROR/, '', 'the tools are dropped');
		is($node->safe_psql('app', q{INSERT INTO account DEFAULT VALUES; INSERT INTO mine DEFAULT VALUES; SELECT count(*) FROM account; SELECT count(*) FROM mine}), "2\n1", '... and tables go on');
		is(as('landlord', q{DROP SCHEMA "We Ird" CASCADE; ALTER SCHEMA "Very'Strange" RENAME TO "We Ird"}) =~ /ERROR/, '', 'the schema has its name again');
		put_twin_in($kind, $node, 'app', schema => 'public');
		$tools = '"We Ird"';
		is($node->safe_psql('app', q{SELECT string_agg(DISTINCT pronamespace::regnamespace::text, ' ') FROM pg_proc WHERE proname IN ('uid_next', 'uid_adopt')}), $tools, 'an upgrade, and tools that are made again, go where it is, whatever the search path says');
	}
	my $file = $node->basedir . '/dump';
	$node->command_ok([ 'pg_dump', '-Fc', '--file', $file, 'app' ], 'the database is dumped');
	$node->safe_psql('postgres', 'CREATE DATABASE restored OWNER landlord');
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-1', '-d', $node->connstr('restored'), $file ], '... and restored');
	is($node->safe_psql('restored', q{SELECT string_agg(e.extname || ' in ' || n.nspname, ', ' ORDER BY e.extname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname ~ 'uidgen'}),
		'uidgen in We Ird, uidgen_tools in tools', '... with both extensions where they were')
	  if $is_extension;
	is(as('landlord', qq{CREATE TABLE other (id bigserial PRIMARY KEY); SELECT FROM $tools.uid_adopt('other', 'id', true); INSERT INTO other DEFAULT VALUES RETURNING id > 1000000}, 'restored'), 't', '... and work');
	if ($is_extension)
	{
		fails_with($node, 'DROP EXTENSION uidgen', '2BP01', qr/extension uidgen_tools depends on extension uidgen/, 'uidgen is not dropped alone', 'restored');
		$node->safe_psql('restored', 'SET client_min_messages = warning; DROP EXTENSION uidgen CASCADE');
		is($node->safe_psql('restored', q{SELECT count(*) FROM pg_extension WHERE extname ~ 'uidgen'; SELECT count(*) FROM pg_proc WHERE proname ~ '^uid_(adopt|partitions|drop)'; SELECT count(*) > 0 FROM account}),
			"0\n0\nt", 'with CASCADE both go, and the rows stay');

		# ---- dropped between two transactions of a call ----

		# A superuser numbers rows; while the first batch waits, the owner of the database wants to drop the extension.  He gets
		# it when the batch is committed, and puts a function of his own in its place before the next one begins.
		is(as('landlord', 'CREATE SCHEMA two; CREATE EXTENSION uidgen SCHEMA two; CREATE EXTENSION uidgen_tools SCHEMA two', 'restored'), '', 'both are made once more');
		$node->safe_psql('restored', q{SET client_min_messages = error; CREATE SCHEMA boss; CREATE TABLE boss.many (id bigint PRIMARY KEY); INSERT INTO boss.many SELECT generate_series(1, 3);
			SELECT two.uid_next(); CALL two.uid_number_rows('boss.many', 'id', begin => true); INSERT INTO boss.many SELECT generate_series(11, 5100)});
		my $holder = $node->background_psql('restored');
		$holder->query_safe('BEGIN; SELECT FROM boss.many_number_counter FOR UPDATE');
		my ($numbering_said, $dropping_said) = ('', '');
		my @psql = ($node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('restored'));
		my $numbering = IPC::Run::start([ @psql, '-c', q{SET lock_timeout = '5min'}, '-c', q{CALL two.uid_number_rows('boss.many', 'id')} ], '<', \undef, '>&', \$numbering_said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
		ok($node->poll_query_until('restored', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'CALL two.uid_number%' AND wait_event_type = 'Lock'}), 'a batch waits');
		my $dropping = IPC::Run::start(
			[
				@psql, '-U', 'landlord', '-c', q{DROP EXTENSION uidgen_tools; CREATE SCHEMA uidgen_tools; GRANT USAGE ON SCHEMA uidgen_tools TO PUBLIC; CREATE TABLE uidgen_tools.in_use (); GRANT SELECT ON uidgen_tools.in_use TO PUBLIC;
				CREATE FUNCTION uidgen_tools.number_batch(regclass, name, INOUT place bigint, INOUT horizon bigint, INOUT numbered bigint, INOUT late bigint, begins boolean, OUT last_number bigint, OUT remaining bigint)
					LANGUAGE plpgsql AS $$ BEGIN ALTER ROLE landlord SUPERUSER; remaining := 0; END $$}
			],
			'<', \undef, '>&', \$dropping_said, IPC::Run::timeout(2 * $PostgreSQL::Test::Utils::timeout_default));
		ok($node->poll_query_until('restored', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'DROP EXTENSION%' AND wait_event_type = 'Lock'}), '... and so does the owner of the database');
		$holder->quit;
		$numbering->finish;
		$dropping->finish;
		is($dropping_said, '', '... who gets what he wants between two batches');
		like($numbering_said, qr/ERROR:  55000: the extensions were dropped meanwhile/, '... at which the call ends');
		is($node->safe_psql('restored', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'landlord'; SELECT count(*) FROM boss.many_number}), "f\n5003", '... without a call of his function');
	}

	$node->stop;
}
done_testing();
