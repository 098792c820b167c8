# The owner of the edition in SQL changes, or gives away parts: by REASSIGN OWNED, ALTER OWNER, another name of a role or of a schema, and dumps that others
# restore, with and without privileges.  Who may set it up and take it out; and what others have made where it is, before and after.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use SqlEdition;
use UidgenTest;

my $node = edition_node('plain');
$node->start;
landlords($node);
$node->safe_psql('postgres', 'CREATE ROLE member LOGIN IN ROLE landlord; CREATE ROLE heir LOGIN; CREATE ROLE boss LOGIN SUPERUSER');
my @scripts = map { edition_script($node, $_) } 'sql', 'sql-tools';

# Both scripts, as a role.
sub run_both
{
	my ($role, $database) = @_;
	return join '', map { as($node, $role, $database, undef, '-f', $_) } @scripts;
}

# Two tests: others draw ids of this worker, and the tools work.
sub works
{
	my ($database, $worker, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $place = $node->safe_psql($database, 'SELECT uidgen.own_place()');
	is(as($node, 'tenant', $database, "SELECT worker FROM $place.uid_parse($place.uid_next())"), $worker, "$name: others draw ids");
	return like(as($node, 'boss', $database, "CREATE TABLE public.mine (id bigserial); SELECT FROM $place.uid_adopt('public.mine', 'id', true); INSERT INTO public.mine DEFAULT VALUES RETURNING (($place.uid_parse(id)).worker); DROP TABLE public.mine"),
		qr/^$worker$/m, '... also as the default of a column');
}

# All rights of the edition, and who owns it.
sub rights
{
	my ($database) = @_;
	return $node->safe_psql($database, q{
		SELECT n.nspname, n.nspowner::regrole, n.nspacl FROM pg_namespace AS n WHERE n.nspname ~ '^uidgen'
		UNION ALL SELECT c.oid::regclass::text, c.relowner::regrole, c.relacl FROM pg_class AS c WHERE c.relnamespace::regnamespace::text ~ '^uidgen'
		UNION ALL SELECT p.oid::regprocedure::text, p.proowner::regrole, p.proacl FROM pg_proc AS p WHERE p.pronamespace::regnamespace::text ~ '^uidgen' OR p.proname ^@ 'uid_' ORDER BY 1});
}

# ---- who may set it up, and take it out ----

foreach my $role (qw(landlord member boss))
{
	my $database = add_database($node, 'by_' . $role);
	is(run_both('landlord', $database), '', "$database: it is put in");
	like(as($node, 'tenant', $database, $_), qr/42501/, "... not by another role: $_") foreach 'SELECT uidgen.set_up(worker_id => 5)', 'SELECT uidgen.take_out()';
	my $before = rights($database);
	like(as($node, $role, $database, 'SELECT uidgen.set_up(worker_id => 5)'), qr/^worker id 5/, "... set up by $role");
	is(rights($database), $before, '... which changes no owner, and no right');
	works($database, 5, $database);
	like(as($node, 'tenant', $database, $_), qr/42501/, "... not by another role: $_") foreach 'SELECT uidgen.set_up(max_ahead => $$2h$$)', 'SELECT uidgen.take_out()';
	my $prepared = $node->background_psql($database, extra_params => [ '-U', 'tenant' ], on_error_stop => 0);
	$prepared->query_safe('PREPARE a AS SELECT count(*) FROM uid_next_batch(50000000)');
	like(as($node, $role, $database, q{SELECT uidgen.set_up(max_ahead => '2s')}), qr/^worker id 5/, "... changed by $role");
	like($prepared->query('EXECUTE a') . $prepared->{stderr}, qr/ids may run ahead by 00:00:02/, '... also for sessions that are there');
	$prepared->quit;
	like(run_both($role, $database), $role eq 'landlord' ? qr/^$/ : qr/42501: schema uidgen or uidgen_history, or what is in it, belongs to another role/, "... an upgrade by $role");
	is(rights($database), $before, '... which changes no owner, and no right');
	as($node, 'landlord', $database, 'DROP SCHEMA uidgen_tools CASCADE');
	like(as($node, $role, $database, 'SELECT uidgen.take_out()'), qr/^\d+$/, "... taken out by $role");
}

# ---- other names, other owners ----

my $database = add_database($node, 'app');
as($node, 'landlord', $database, 'CREATE SCHEMA lib; GRANT USAGE ON SCHEMA lib TO PUBLIC');
is(as($node, 'landlord', $database, "SET search_path = lib;\n" . join '', map { "\\i $_\n" } @scripts), '', 'in a schema of its own');
set_up($node, $database, 'worker_id=7');
as($node, 'landlord', $database, 'CREATE TABLE public.message (id bigint PRIMARY KEY DEFAULT lib.uid_next())');
my $row = 'INSERT INTO public.message DEFAULT VALUES RETURNING id > coalesce((SELECT max(id) FROM public.message), 0)';
is(as($node, 'landlord', $database, 'ALTER SCHEMA lib RENAME TO "Its Own"; CREATE SCHEMA lib'), '', 'the schema gets another name');
works($database, 7, 'renamed');
is(run_both('landlord', $database), '', '... an upgrade');
works($database, 7, '... goes where it is');
is(as($node, 'landlord', $database, q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'lib'::regnamespace; DROP SCHEMA lib}), '0', '... and nowhere else');

$node->safe_psql('postgres', 'ALTER ROLE landlord RENAME TO lord');
is(run_both('lord', $database), '', 'the owner gets another name: an upgrade');
works($database, 7, 'renamed owner');
$node->safe_psql('postgres', 'ALTER ROLE lord RENAME TO landlord');

$node->safe_psql($database, 'REASSIGN OWNED BY landlord TO heir');
is(as($node, 'heir', $database, $row), 't', 'all gets another owner');
works($database, 7, 'reassigned');
like(run_both('landlord', $database), qr/42501: schema uidgen or uidgen_history, or what is in it, belongs to another role.*42501|55000/s, '... an upgrade by the former one is refused');
like(as($node, 'landlord', $database, $_), qr/42501/, "... so is $_") foreach q{SELECT uidgen.set_up(max_ahead => '3h')}, 'SELECT uidgen.take_out()';
is(run_both('heir', $database), '', '... and by the new one is done');
like(as($node, 'heir', $database, q{SELECT uidgen.set_up(max_ahead => '3h')}), qr/^worker id 7/, '... who also sets it up');
works($database, 7, 'reassigned');

# Of some objects only: nothing is taken for the edition's that is another role's, and nothing is half changed.
my $all = rights($database);
foreach my $given ('FUNCTION "Its Own".uid_next()', 'FUNCTION uidgen.own_layout()', 'SEQUENCE uidgen.position', 'SCHEMA uidgen', 'TABLE uidgen_history.layout_used', 'TYPE uidgen.parsed', 'SCHEMA uidgen_tools')
{
	$node->safe_psql($database, "ALTER $given OWNER TO tenant");
	my $now = rights($database);
	like(run_both('heir', $database), qr/42501: schema uidgen|42723|42501: must be owner/, "$given is another role's: an upgrade is refused");
	is(rights($database), $now, '... and changes nothing');
	like(as($node, $_, $database, 'SELECT uidgen.take_out()'), qr/ (?:42501|2BP01): /, "... nor does $_ take it out") foreach $given =~ /layout_used/ ? () : $given eq 'SCHEMA uidgen' ? qw(heir boss) : 'heir';
	like(as($node, 'boss', $database, q{SELECT uidgen.set_up(max_ahead => '4h')}), qr/42501: schema uidgen belongs to another role/, '... nor is it set up, as the plans of sessions would stay') if $given eq 'SCHEMA uidgen';
	like(as($node, 'boss', $database, q{BEGIN; CREATE TABLE public.mine (id bigserial); SELECT "Its Own".uid_adopt('public.mine', 'id')}), qr/55000: function uid_next\(\) is not what/, '... and is no default') if $given =~ /uid_next/;
	$node->safe_psql($database, "ALTER $given OWNER TO heir");
	is(rights($database), $all, '... given back');
}
works($database, 7, 'all given back');

# ---- dumps that others restore ----

foreach my $options ([], ['--no-privileges'])
{
	my $copy = add_database($node, @$options ? 'bare' : 'copy');
	my $file = $node->basedir . "/$copy.sql";
	$node->command_ok([ 'pg_dump', '-U', 'heir', '-O', @$options, '-d', $node->connstr($database), '-f', $file ], "a dump without owners @$options");
	my $last = as($node, 'heir', $database, 'SELECT max(id) FROM public.message');
	is(as($node, 'landlord', $copy, undef, '-q', '-o', '/dev/null', '-f', $file), '', '... is restored by another role');
	is(as($node, 'landlord', $copy, 'INSERT INTO public.message DEFAULT VALUES RETURNING id > ' . $last), 't', '... whose ids go on');
	like(set_up($node, $copy, 'worker_id=8', 'instead_of=7'), qr/^worker id 8/, '... who gives it another worker id');
	is(run_both('landlord', $copy), '', '... and runs the scripts again');
	is(rights($copy) =~ s/landlord/heir/gr, rights($database), '... after which all rights are as in the original') if !@$options;
	as($node, 'landlord', $copy, 'GRANT USAGE ON SCHEMA "Its Own" TO PUBLIC');
	works($copy, 8, "$copy");
	like(as($node, 'tenant', $copy, $_), qr/42501/, "... others cannot: $_")
	  foreach q{SELECT nextval('uidgen.position')}, 'SELECT uidgen.next_otherwise(1, uidgen.jumps_so_far())', q{SELECT uidgen.set_up(max_ahead => '2h')}, 'DELETE FROM uidgen_history.layout_used', 'CREATE TABLE uidgen.mine ()', 'CREATE TABLE uidgen_tools.mine ()';
}

# ---- what others have made where it is ----

my $taken = add_database($node, 'taken');
$node->safe_psql($taken, 'GRANT CREATE ON SCHEMA public TO tenant');
as($node, 'tenant', $taken, q{CREATE FUNCTION public.uid_next() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'});
my $said = run_both('landlord', $taken);
like($said, qr/42723: function uid_next\(\) already exists in schema "public"/, q{where another role has a function uid_next(), the edition is refused});
is($node->safe_psql($taken, q{SELECT count(*) FROM pg_namespace WHERE nspname ~ '^uidgen'}), '0', '... and nothing of it is there');
as($node, 'tenant', $taken, q{DROP FUNCTION public.uid_next(); CREATE FUNCTION public.uid_next(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'; CREATE TABLE public.uid_layout (); CREATE FUNCTION public.own_place() RETURNS regnamespace LANGUAGE sql AS $$SELECT 'pg_temp'::regnamespace$$});
is(run_both('landlord', $taken), '', 'other functions of theirs are left alone');
set_up($node, $taken, 'worker_id=9');
works($taken, 9, 'beside functions of others');
as($node, 'landlord', $taken, 'GRANT CREATE ON SCHEMA uidgen, uidgen_tools, uidgen_history TO tenant; GRANT ALL ON ALL SEQUENCES IN SCHEMA uidgen TO tenant; GRANT ALL ON uidgen_history.layout_used TO tenant');
is(run_both('landlord', $taken), '', 'what has been granted too much');
unlike(rights($taken) =~ s/^uid_next\(text\).*//mr, qr/tenant/, '... is taken back by an upgrade');
foreach my $schema (qw(uidgen uidgen_tools uidgen_history))
{
	as($node, 'landlord', $taken, "GRANT CREATE ON SCHEMA $schema TO tenant");
	as($node, 'tenant', $taken, "CREATE FUNCTION $schema.tame(integer) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
	like(run_both('landlord', $taken), qr/42501: schema .* or what is in it, belongs to another role/, "a function of another role's in schema $schema ends it");
	as($node, 'tenant', $taken, "DROP FUNCTION $schema.tame(integer)");
}
is(run_both('landlord', $taken), '', '... until it is gone');
works($taken, 9, 'after all');

# ---- the schema of what users call is dropped ----

my $reset = add_database($node, 'reset');
as($node, 'landlord', $reset, 'CREATE SCHEMA lib; GRANT USAGE ON SCHEMA lib TO PUBLIC; CREATE SCHEMA app');
is(as($node, 'landlord', $reset, "SET search_path = lib;\n" . join '', map { "\\i $_\n" } @scripts), '', 'in a schema of its own');
set_up($node, $reset, 'worker_id=5');
# Ahead of the clock, so that no clock hides a position that is lost.
is(as($node, 'landlord', $reset, q{CREATE TABLE app.row (id bigint DEFAULT lib.uid_next()); SELECT uidgen.jump(100000000, false) AS x \gset
	INSERT INTO app.row SELECT FROM generate_series(1, 100); SELECT severity FROM uidgen.diagnose()}), 'ok', '... ids go far ahead of the clock');
is(as($node, 'landlord', $reset, 'DROP SCHEMA lib CASCADE; CREATE SCHEMA lib; GRANT USAGE ON SCHEMA lib TO PUBLIC') =~ s/.*NOTICE.*//sr, '', '... the schema goes, and comes again');
like(as($node, 'tenant', $reset, 'SELECT message FROM uidgen.diagnose()'), qr/^functions that users call are missing\. Let the owner of uidgen run its script again/, '... which is told');
is(as($node, 'landlord', $reset, q{BEGIN; SELECT uidgen_tools.take_out() \gset
	SELECT uidgen.take_out() >= max(id) FROM app.row; ROLLBACK}), 't', '... it can be taken out');
is(as($node, 'landlord', $reset, "SET search_path = lib;\n" . join '', map { "\\i $_\n" } @scripts), '', '... and the scripts make all anew');
works($reset, 5, 'made anew');
is(as($node, 'landlord', $reset, 'SELECT lib.uid_next() > max(id), (uidgen.diagnose()).severity FROM app.row'), 't|ok', '... with ids above all');
as($node, 'landlord', $reset, 'ALTER SEQUENCE uidgen.position RENAME TO place_of_ids');
like(run_both('landlord', $reset), qr/42P06: schema uidgen is there, and not made by this script.*HINT: +Rename it\. If ids were drawn .*set_up\(worker_id => NUMBER, after => ID\)/s, 'no hint leads to a lost position');

# ---- default privileges ----

my $strict = add_database($node, 'strict');
as($node, 'landlord', $strict, 'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC');
is(run_both('landlord', $strict), '', 'put in by a role that lets nobody call its functions');
set_up($node, $strict, 'worker_id=5');
works($strict, 5, 'its functions');
like(as($node, 'tenant', $strict, q{SELECT uid_horizon() IS NULL, (uidgen.diagnose()).severity, count(*) FROM pg_proc WHERE proname ^@ 'uid_' AND NOT has_function_privilege(oid, 'EXECUTE')}), qr/^[tf]\|ok\|0$/, '... are for all, with the tools');
is($node->safe_psql($strict, q{SELECT count(*), bool_and(defaclnamespace = 0) FROM pg_default_acl}), '1|t', '... and its default privileges are what they were');
as($node, 'landlord', $strict, 'REVOKE EXECUTE ON FUNCTION uidgen.next(timestamptz), uidgen.jump(integer, boolean) FROM PUBLIC');
is(run_both('landlord', $strict), '', 'an upgrade');
like(as($node, 'tenant', $strict, 'SELECT uid_next()'), qr/42501/, '... keeps what the owner has taken back');

# ---- what the owner does while others go on ----

my $busy = add_database($node, 'busy');
run_both('landlord', $busy);
sub session { my ($role) = @_; return $node->background_psql($busy, extra_params => [ '-U', $role ], on_error_stop => 0) }
# Sends a statement that waits for a lock; returns what says what it has said.
sub waiting
{
	my ($session, $sql) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/begun/, "\\echo begun\n$sql;\n");
	poll_until(sub { $node->safe_psql('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid") eq 't' }) or die 'it does not wait';
	return sub { $session->query('SELECT') . $session->{stderr} };
}
my ($first, $second) = map { session('landlord') } 1, 2;
$first->query_safe(q{BEGIN; SELECT uidgen.set_up(worker_id => 5, max_ahead => '1h')});
my $ends = waiting($second, 'SELECT uidgen.set_up(worker_id => 6)');
$first->query_safe('COMMIT');
like($ends->(), qr/this database has worker_id 5, not 6/, 'of two that set it up at once, the second finds what the first has done');
$second->{stderr} = '';
my $ahead = as($node, 'tenant', $busy, q{SELECT uid_make(now() + interval '5 min', 5, 0)});
$first->query_safe("BEGIN; SELECT uidgen.set_up(worker_id => 5, after => $ahead)");
$ends = waiting($second, "SELECT uidgen.set_up(worker_id => 5, after => $ahead)");
my @ids = $first->query_safe("COMMIT;\nSELECT uid_next() FROM generate_series(1, 3)") =~ /(\d{15,})/g;
like($ends->(), qr/worker id 5/, '... also where both name an id');
is(join(' ', grep { my $id = $_; grep { $_ == $id } @ids } split /\n/, as($node, 'tenant', $busy, 'SELECT uid_next() FROM generate_series(1, 10)')), '', '... and no id comes twice');

# What keeps a table locked up to the commit; and what a client that does not read could keep waiting.
$first->query_safe('SET client_min_messages = error; BEGIN; ANALYZE');
like(as($node, 'tenant', $busy, "SET statement_timeout = '8s'; SELECT uid_next_batch(1)"), qr/^\d+$/, 'an ANALYZE of the owner that is not committed is in nobody\'s way');
$first->query_safe('COMMIT; RESET client_min_messages');
my $shown = as($node, 'tenant', $busy, "\\set SHOW_CONTEXT always\nSET client_min_messages = debug5; SET debug_print_plan = on; SELECT uidgen.jump(1, false); SELECT uid_next()");
like($shown, qr/function uidgen\.next/, 'a session that has all shown');
unlike($shown, qr/function uidgen\.jump/, '... is sent nothing while it keeps others waiting');

# Plans that were made before the wait have the former worker id.
my %call = (uid_next => 'uid_next()', uid_next_batch => 'uid_next_batch(1)', uid_reserve => 'uid_reserve(1)');
my ($from, $to) = (5, 6);
foreach my $name (sort keys %call)
{
	my $caller = session('tenant');
	$caller->query_safe("PREPARE p AS SELECT (uid_parse(n)).worker FROM (SELECT $call{$name} AS n OFFSET 0) AS s; EXECUTE p");
	$first->query_safe("BEGIN; SELECT uidgen.set_up(worker_id => $to, instead_of => $from)");
	$ends = waiting($caller, 'EXECUTE p');
	$first->query_safe('COMMIT');
	like($ends->(), qr/^$to$/m, "$name that waits for another worker id has that one");
	$caller->quit;
	($from, $to) = ($to, $from);
}

# An upgrade in a migration that stays open.
$first->query_safe("BEGIN; \\i $_") foreach $scripts[0];
like(as($node, 'tenant', $busy, "SET lock_timeout = '2s'; SELECT uid_next(), uid_next_batch(1), uid_horizon() IS NOT NULL, pg_sleep(0.01)::text; SELECT uid_next() FROM uidgen.presets LIMIT 1"), qr/^\d+\|\d+\|[tf]\|\n\d+$/, 'an upgrade that is not committed is in nobody\'s way');
$first->query_safe('COMMIT');
like(as($node, 'landlord', $busy, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uidgen.set_up()'), qr/25000: uidgen\.set_up\(\) works in isolation level read committed only/, 'who sets it up sees what others have done');

# CREATE RULE locks what its action writes to, up to the end of the transaction, and asks for no right to it.
$node->safe_psql('postgres', 'CREATE ROLE ruler LOGIN');
my $ruler = session('ruler');
$ruler->query_safe('BEGIN; CREATE TEMP TABLE t (x text); ' . join '; ', map { "CREATE RULE $_->[0] AS ON INSERT TO t DO ALSO INSERT INTO $_->[1] VALUES ('x')" } [ 'r1', 'uidgen.jumping' ], [ 'r2', 'uidgen_history.layout_used' ]);
like(as($node, 'landlord', $busy, "SET lock_timeout = '2s'; SELECT uidgen.set_up()") . as($node, 'tenant', $busy, 'SELECT uid_next(), uid_next_batch(1)'), qr/^worker id \d.*\d+\|\d+$/s, 'a rule that somebody makes without a right is in nobody\'s way');
$ruler->quit;

# Sessions that have drawn and read, when it is taken out and put in anew, or what they remember is discarded: all go on, also in one transaction.
my ($pooled, $again) = (session('tenant'), session('landlord'));
my $anew = "SELECT uidgen.take_out() AS last \\gset\n\\i $scripts[0]\nSELECT uidgen.set_up(worker_id => 5, after => :last, max_ahead => '1h') IS NULL AS x \\gset\n";
my $draws = q{SELECT uid_next() \gset d1
	SELECT uid_next() AS d2, uid_next_batch(1) AS d3, uid_horizon() AS d4 \gset
	SELECT 1};
as($node, 'landlord', $busy, 'SELECT uidgen_tools.take_out()');
is($pooled->query_safe($draws) . $again->query_safe("BEGIN; $draws"), '11', 'sessions that have drawn');
is($again->query_safe("$anew COMMIT; $draws"), '1', '... go on where the edition was put in anew in the same transaction');
is($pooled->query_safe($draws), '1', '... or by another session');
is($pooled->query_safe("$_; $draws"), '1', "... and after $_") foreach 'DISCARD SEQUENCES', 'DISCARD ALL', 'RESET ALL';
$_->quit foreach $pooled, $again;

# A rollback sets the position back, far below the clock or above it: so nothing is drawn before a change of it is committed, also in a savepoint.
$again = session('landlord');
as($node, 'landlord', $busy, 'CREATE TABLE stamped (v bigint); CREATE TRIGGER stamp BEFORE INSERT ON stamped FOR EACH ROW EXECUTE FUNCTION uid_stamp($$v$$)');
my $out = "DROP TABLE stamped; SELECT uidgen.take_out() AS last \\gset\n\\i $scripts[0]\n";
foreach my $change ("SELECT uidgen.set_up(after => $ahead)", 'SELECT uidgen.set_up(worker_id => 6, instead_of => 5)', "${out}SELECT uidgen.set_up(worker_id => 5, after => :last, max_ahead => '1h')", 'ALTER SEQUENCE uidgen.jumps RESTART')
{
	my $name = $change =~ s/.*;//sr;
	my $before = $again->query_safe('SELECT max(n) FROM uid_next_batch(100000) AS n');
	$again->query_safe("BEGIN; SAVEPOINT s; $change \\g /dev/null\nSAVEPOINT t");
	foreach my $call ('SELECT uid_next()', 'SELECT uid_next_batch(2)', 'SELECT uid_reserve(2)', 'SELECT uidgen.jump(0, false)', 'SELECT uid_horizon()', 'INSERT INTO stamped DEFAULT VALUES')
	{
		next if $change =~ /DROP/ && $call =~ /stamped/;
		$again->query("$call; ROLLBACK TO t");
		like($again->{stderr}, qr/there are no ids before uidgen\.set_up\(\) is committed/, "$name: $call is refused until then");
		$again->{stderr} = '';
	}
	$again->query_safe('ROLLBACK TO s');
	is($again->query_safe("SELECT uid_next() > $before; COMMIT"), 't', '... and goes on where it was after a rollback');
}
$again->quit;

# Settings of the owner's session.
my $set = add_database($node, 'set');
my $odd = q{SET plpgsql.extra_errors = 'all'; SET quote_all_identifiers = on};
foreach my $time ('first', 'again')
{
	is(as($node, 'landlord', $set, "$odd;\n" . join '', map { "\\i $_\n" } @scripts), '', "settings that change texts, and what is an error: put in, $time");
	like(as($node, 'landlord', $set, "$odd; SELECT uidgen.set_up(worker_id => 5); SELECT severity FROM uidgen.diagnose()"), qr/^worker id 5.*\nok$/, '... and set up');
}
is(as($node, 'landlord', $set, "BEGIN; $odd;\n\\i $scripts[0]\nSELECT current_setting('plpgsql.extra_errors'), current_setting('quote_all_identifiers')"), 'all|on', '... and the settings stay what they were');
like(as($node, 'landlord', $set, "SET default_transaction_isolation = serializable;\n\\i $scripts[0]"), qr/HINT: +Begin by: BEGIN ISOLATION LEVEL READ COMMITTED/, 'another isolation level is refused');
as($node, 'landlord', $set, 'ALTER SEQUENCE uidgen.position CACHE 50');
like(as($node, 'tenant', $set, 'SELECT message FROM uidgen.diagnose()'), qr/^a sequence of uidgen was altered.*CACHE 1/, 'a sequence that was altered is told');
like(as($node, 'landlord', $set, "ALTER SEQUENCE uidgen.position CACHE 1; $odd; SELECT uidgen_tools.take_out() \\gset\nSELECT uidgen.take_out()"), qr/^\d+$/, '... and all is taken out');
is($node->safe_psql($set, "SELECT count(*) FROM pg_proc WHERE proname ^\@ 'uid_'"), '0', '... with what users call');

# An upgrade beside set_up(): who comes second waits before it has locked anything.
$busy = $set;
run_both('landlord', $set);
set_up($node, $set, 'worker_id=5');
my ($setter, $upgrader) = map { session('landlord') } 1, 2;
$setter->query_safe(q{BEGIN; SELECT uidgen.set_up(max_ahead => '2min')});
$ends = waiting($upgrader, "\\i $scripts[0]");
$setter->query_safe(q{SELECT uidgen.set_up(max_ahead => '3min'); COMMIT});
is($ends->() =~ s/.*QUERY_SEPARATOR.*//r =~ s/\s//gr, '', 'an upgrade beside set_up() waits, and is done');
$_->quit foreach $setter, $upgrader;

# A role that may make schemas, beside a superuser who runs the script.
my $raced = add_database($node, 'raced');
$node->safe_psql($raced, 'GRANT CREATE ON DATABASE raced TO tenant');
$busy = $raced;
my ($racer, $boss) = (session('tenant'), session('boss'));
$racer->query_safe('BEGIN; CREATE SCHEMA uidgen');
$ends = waiting($boss, "\\i $scripts[0]");
as($node, 'tenant', $raced, 'CREATE SCHEMA uidgen_history; CREATE TABLE uidgen_history.layout_used (layout text PRIMARY KEY, since timestamptz)');
$racer->query_safe('ROLLBACK');
like($ends->(), qr/schema uidgen or uidgen_history, or what is in it, belongs to another role/, 'a schema that somebody makes while the script waits is not taken for its own');
is($node->safe_psql($raced, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'uidgen'}), '0', '... and nothing is put in');
$_->quit foreach $first, $second, $racer, $boss;

done_testing();
