# What others have made around the extension outlives an update: who may do what, which a dump
# still tells, and functions that draw, of which the update names those that are wrongly
# labelled as safe in parallel workers.  pg_regress has one version.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Release;
use Test::More;
use UidgenTest;

install_scripts($_) foreach qw(0.1.0 0.2.0 0.2.1 0.2.2), $NEW;
my $node = new_node('main', "shared_preload_libraries = 'uidgen'");
$node->start;
$node->safe_psql('postgres', "CREATE ROLE $_") foreach qw(app node operator leaver);

# ---- privileges ----

# Who may do what with the extension's objects, but for their owner: a line for each right.
sub rights_in
{
	my ($database) = @_;
	return { map { $_ => 1 } split /\n/, $node->safe_psql($database, q{
		SELECT concat_ws(' ', i.identity, CASE a.grantee WHEN 0 THEN 'public' ELSE a.grantee::regrole::text END, a.privilege_type, nullif(a.is_grantable, false))
		FROM (SELECT 'pg_proc'::regclass AS class, oid, 0 AS part, coalesce(proacl, acldefault('f', proowner)) AS acl FROM pg_proc
				UNION ALL SELECT 'pg_class', oid, 0, relacl FROM pg_class
				UNION ALL SELECT 'pg_class', attrelid, attnum, attacl FROM pg_attribute
				UNION ALL SELECT 'pg_namespace', oid, 0, nspacl FROM pg_namespace) AS o
			JOIN pg_depend AS d ON d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e'
			JOIN pg_extension AS e ON d.refobjid = e.oid AND e.extname = 'uidgen',
			pg_identify_object(o.class, o.oid, o.part) AS i, aclexplode(o.acl) AS a
		WHERE a.grantee <> a.grantor}) };
}

# The lines that one has and the other has not.
sub beyond
{
	my ($some, $others) = @_;
	return join "\n", sort grep { !$others->{$_} } keys %$some;
}

my @COLUMNS = map { "uidgen.worker_node.$_ pg_monitor SELECT" }
  qw(created datacenter_id granted_until host_name identity launch_date launches modified port released type worker_id);
my $ALL = 'uidgen.worker_node pg_monitor SELECT';
my $WITHDRAWN = "REVOKE SELECT ON uidgen.worker_node FROM pg_monitor";
my $GRANTED = 'REVOKE EXECUTE ON FUNCTION uid_next(), uid_next_block(integer, integer) FROM PUBLIC;
	GRANT EXECUTE ON FUNCTION uid_next(), uid_next_block(integer, integer) TO app WITH GRANT OPTION;
	GRANT EXECUTE ON FUNCTION uidgen.diagnose(), uidgen.forget_worker(integer, integer) TO operator;
	GRANT SELECT ON uidgen.worker_node TO operator; GRANT SELECT (worker_id, token) ON uidgen.worker_node TO app;
	GRANT USAGE ON SCHEMA uidgen TO operator WITH GRANT OPTION';

foreach (
	# The update from which version, what was done before, and which rights pg_monitor loses and gets.
	[ '0.1.0', $GRANTED, $ALL, @COLUMNS ],
	[ '0.1.0', $WITHDRAWN, '' ],
	[ '0.2.0', "$GRANTED; SELECT uidgen.grant_node('node'); REVOKE SELECT ON uidgen.fleet FROM pg_monitor;
		GRANT EXECUTE ON FUNCTION uidgen.share_registry(text, bigint, bigint, bigint, integer, integer, interval, interval) TO operator",
		$ALL, @COLUMNS ],
	[ '0.2.0', "$GRANTED; $WITHDRAWN", '' ],
	[ '0.2.1', "$GRANTED; SELECT uidgen.grant_node('node'); GRANT EXECUTE ON FUNCTION uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint, bigint), uidgen.segment_status() TO app", '',
		@COLUMNS ],
	[ '0.2.2', "$GRANTED; SELECT uidgen.grant_node('node'); GRANT EXECUTE ON FUNCTION uidgen.segment_fetch(bytea, bigint, bigint, bigint, bigint, bigint), uidgen.list_segments() TO app", '',
		@COLUMNS ])
{
	my ($old, $done, $lost, @got) = @$_;
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS old');
	$node->safe_psql('postgres', 'CREATE DATABASE old');
	$node->safe_psql('old', "CREATE EXTENSION uidgen VERSION '$old'; $done");
	my $before = rights_in('old');
	$node->safe_psql('old', 'ALTER EXTENSION uidgen UPDATE');
	my $after = rights_in('old');
	# The function of the view uidgen.segment_status has another name.
	$before = { map { s/^uidgen\.segment_status\(\)/uidgen.list_segments()/r => 1 } keys %$before };
	is(beyond($before, $after), $lost, "$old: what was granted is kept, but that pg_monitor sees tokens");
	is(join("\n", grep { /^uidgen\.worker_node.* pg_monitor/ } sort keys %$after), join("\n", @got), 'and what pg_monitor still may see');
	foreach (['public.uid_next_after(bigint)', 'public.uid_next()'],
		['public.uid_next_after(bigint,integer)', 'public.uid_next(integer)'],
		['public.uid_reserve(integer,integer)', 'public.uid_next_block(integer,integer)'],
		['uidgen.segment_fetch(bytea,bigint,bigint,bigint,bigint[],bigint,bigint)', 'uidgen.segment_fetch(bytea,bigint,bigint,bigint,bigint,bigint)'])
	{
		my ($new, $like) = @$_;
		is($after->{"$new $_"}, $before->{"$new $_"} // $before->{"$like $_"}, "$new is as private as what does the same: $_")
		  foreach 'public EXECUTE', 'app EXECUTE', 'node EXECUTE';
	}

	my $dump = dump_of($node, 'old');
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS restored');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->safe_psql('restored', $dump);
	my $restored = rights_in('restored');
	is(beyond($after, $restored), '', 'a dump has all of it');
	is(beyond($restored, $after), '', 'and nothing that was taken away');
}

# Which PostgreSQL 17 refuses where something still says that the role is granted anything.
$node->safe_psql('old', "DROP EXTENSION uidgen; CREATE EXTENSION uidgen VERSION '0.2.0';
	GRANT SELECT ON uidgen.worker_node TO leaver; GRANT SELECT (token) ON uidgen.worker_node TO leaver;
	GRANT EXECUTE ON FUNCTION uid_next_block(integer, integer) TO leaver; REVOKE EXECUTE ON FUNCTION uid_next_block(integer, integer) FROM PUBLIC;
	ALTER EXTENSION uidgen UPDATE;
	REVOKE ALL ON uidgen.worker_node FROM leaver; REVOKE ALL ON FUNCTION uid_next_block(integer, integer), uid_reserve(integer, integer) FROM leaver");
is((sqlstate_of($node, 'DROP ROLE leaver', 'old'))[0], '', 'a role that has lost its rights can be dropped');

# ---- functions that draw ----

# Returns the names of functions, and the statements, that this SQL is answered with.
sub named_by
{
	my ($database, $sql) = @_;
	my $err;
	$node->psql($database, $sql, stderr => \$err, on_error_die => 1);
	return ([ $err =~ /INFO:  function (.*) draws ids or numbers/mg ], [ $err =~ /HINT:  Run (ALTER FUNCTION .*)\.$/mg ]);
}

$node->safe_psql('postgres', 'CREATE DATABASE wrappers');
$node->safe_psql('wrappers', <<'END');
	CREATE EXTENSION uidgen VERSION '0.2.0';
	CREATE SCHEMA "My (s)";
	CREATE TYPE "My (s)"."T, 1" AS (a integer);
	SET check_function_bodies = off;
	CREATE FUNCTION a_text() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT uid_next()';
	CREATE FUNCTION b_atomic() RETURNS bigint LANGUAGE sql PARALLEL SAFE BEGIN ATOMIC SELECT uid_next(1); END;
	CREATE FUNCTION c_return() RETURNS bigint LANGUAGE sql PARALLEL SAFE RETURN b_atomic();
	CREATE FUNCTION d_outer() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN public . A_TEXT (); END';
	CREATE FUNCTION "e(id"("My (s)"."T, 1") RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT first_id FROM "uid_next_block"(2)';
	CREATE FUNCTION f_outer() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT "e(id"(null)';
	CREATE FUNCTION "My (s)"."(""g\+"() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT f_outer()';
	CREATE FUNCTION h_outer() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT "My (s)"."(""g\+"()';
	CREATE FUNCTION i_number() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS $$SELECT uid_segment_next('invoice')$$;
	CREATE FUNCTION j_one() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT j_two() + uid_next()';
	CREATE FUNCTION j_two() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT j_one()';
	CREATE FUNCTION k_comment() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT 1 /* not uid_next() */';
	CREATE FUNCTION l_restricted() RETURNS bigint LANGUAGE sql PARALLEL RESTRICTED AS 'SELECT uid_next()';
	CREATE FUNCTION m_outer() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT l_restricted()';
	-- These are not named.
	CREATE FUNCTION n_unsafe() RETURNS bigint LANGUAGE sql AS 'SELECT uid_next()';
	CREATE FUNCTION o_word() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT 1 /* not uid_next */';
	CREATE FUNCTION my_uid_next() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT 1';
	CREATE FUNCTION p_other() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT my_uid_next() + uid_next_year()';
	CREATE FUNCTION q_says() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS 'SELECT uid_min(now())';
	CREATE PROCEDURE r_procedure() LANGUAGE sql AS 'SELECT uid_next()';
	CREATE AGGREGATE s_aggregate(integer) (SFUNC = int4pl, STYPE = integer, PARALLEL = SAFE);
END
my ($named, $statements) = named_by('wrappers', 'ALTER EXTENSION uidgen UPDATE');
is_deeply(
	[ sort @$named ],
	[
		sort map({ "public.$_()" } qw(a_text b_atomic c_return d_outer f_outer h_outer i_number j_one j_two k_comment m_outer)),
		'public."e(id"("My (s)"."T, 1")', '"My (s)"."(""g\+"()'
	],
	'an update names the functions that draw and are labelled as safe, and one that speaks of it');
is(scalar(@$statements), scalar(@$named), 'and a statement for each');
is((sqlstate_of($node, join('', map { "$_;\n" } @$statements), 'wrappers'))[0], '', 'which can be run as it is');
($named) = named_by('wrappers', "UPDATE pg_extension SET extversion = '0.2.0' WHERE extname = 'uidgen'; ALTER EXTENSION uidgen UPDATE");
is_deeply($named, [], 'after that an update names none');
($named) = named_by('wrappers', 'DROP EXTENSION uidgen CASCADE; CREATE EXTENSION uidgen');
is_deeply($named, [], 'nor does a new extension');
($named) = named_by('wrappers', 'DROP EXTENSION uidgen; ALTER FUNCTION a_text() PARALLEL SAFE; CREATE EXTENSION uidgen');
is_deeply($named, ['public.a_text()'], 'which names what was there before it');

done_testing();
