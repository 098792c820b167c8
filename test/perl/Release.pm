# Release.pm: a later version than the present one, and a server of our own that both can be installed in.
#
# The later version is made up, out of the tree, as a maintainer makes the next one: a part of the script more and another
# one less, a table, a function and a grant that it has since then, and a library with one function more.  So what is shown
# of the marks, of update.awk and of the library's checks is shown of those that the next version will have.
package Release;

use strict;
use warnings;
use Exporter 'import';
use File::Basename qw(basename dirname);
use File::Copy 'copy';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

our @EXPORT = qw($OLD $NEW $FOLDER $BINDIR $LIBRARIES $SCRIPTS later_scripts install_library install_scripts install_release new_node start_trying goes_on stop draw
  nothing_twice refuses_new catalog_of version_in same_catalog dump_of test_pg_upgrade);

our ($OLD, $NEW, $FOLDER, $BINDIR, $LIBRARIES, $SCRIPTS);

# Where the files of each version are: libraries, and scripts with the control file.
my (%libraries, %scripts);
my $TREE = "$FindBin::RealBin/../..";

# When PostgreSQL::Test::Utils has set itself up.
INIT
{
	$FOLDER = PostgreSQL::Test::Utils::tempdir('upgrade');
	my %path = map { $_ => (run_command([ 'pg_config', "--$_" ]))[0] } qw(bindir pkglibdir sharedir);
	my $root = $ENV{CHECK_DIR} . '/inst';
	# Links, since what is installed takes the place of a file and changes none.
	system_or_bail('cp', '-al', $root, "$FOLDER/inst");
	my $scripts = "$path{sharedir}/extension";
	($BINDIR, $LIBRARIES, $SCRIPTS) = map { s/^\Q$root\E/$FOLDER\/inst/r } @path{qw(bindir pkglibdir)}, $scripts;
	($OLD) = slurp_file("$scripts/uidgen.control") =~ /^default_version = '(.*)'/m;
	$NEW = $OLD =~ s/(\d+)$/$1 + 1/er;
	($libraries{$OLD}, $scripts{$OLD}) = ($path{pkglibdir}, $scripts);
	unlink glob "$SCRIPTS/uidgen*--*";
}

# ---- the later version ----

# Change a file of the later version's tree: each pair is a pattern, which must be there, and what takes its place.
sub change
{
	my ($file, @changes) = @_;
	my $text = slurp_file($file);
	while (my ($pattern, $by) = splice @changes, 0, 2)
	{
		$text =~ s/$pattern/$by/ or die "$file has no $pattern";
	}
	unlink $file;
	append_to_file($file, $text);
}

# The folder of its tree.  Without the part 54_forms, with the part 88_later, with more in two others.
sub later_tree
{
	my $tree = "$FOLDER/$NEW";
	return $tree if -d $tree;
	mkdir $tree or die $!;
	system_or_bail('cp', '-R', map({ "$TREE/$_" } qw(Makefile uidgen.control uidgen_registry.control uidgen_tools.control script src)), $tree);
	system_or_bail('chmod', '-R', 'u+w', $tree);
	unlink glob("$tree/script/*--*.sql"), "$tree/script/uidgen/54_forms.sql";
	change("$tree/$_.control", qr/'\Q$OLD\E'/, "'$NEW'") foreach qw(uidgen uidgen_registry uidgen_tools);
	change("$tree/Makefile", qr/^UPDATES_FROM =.*/m, "UPDATES_FROM = $OLD", qr/ 54_forms/, '', qr/ 95_end$/m, ' 88_later 95_end');
	my %changes = map { $_ => "$tree/script/$_/update/$OLD" } qw(uidgen tools);
	system_or_bail('mkdir', '-p', values %changes);
	append_to_file("$changes{uidgen}/after.sql", <<'END');
DROP FUNCTION @extschema@.uid_to_text(bigint), @extschema@.uid_to_text(bigint, text), @extschema@.uid_from_text(text), @extschema@.uid_from_text(text, text),
	@extschema@.uid_to_uuid(bigint), @extschema@.uid_to_uuid(bigint, text), @extschema@.uid_from_uuid(uuid);
END
	# Also where the registry is a script by itself.
	append_to_file("$tree/script/registry/48_registry_status.sql", <<"END");

-- [since $NEW]
CREATE TABLE uidgen_registry.later (a integer);
CREATE FUNCTION uidgen_registry.count_later() RETURNS bigint LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS 'SELECT count(*) FROM uidgen_registry.later';
END
	append_to_file("$tree/script/registry/90_privileges.sql", <<"END");
-- [since $NEW]
GRANT SELECT ON uidgen_registry.later TO pg_monitor;
-- [since $NEW]
REVOKE EXECUTE ON FUNCTION uidgen_registry.count_later() FROM PUBLIC;
END
	append_to_file("$tree/script/uidgen/88_later.sql", <<'END');
CREATE FUNCTION @extschema@.uid_later() RETURNS bigint
AS 'MODULE_PATHNAME', 'uidgen_later'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
END
	# Of the tools, a function of another type, one less and one more.
	change("$tree/script/tools/30_adopt.sql", qr/(?<=name_former\(sequence name\) RETURNS )text/, 'name');
	change("$tree/script/tools/20_partitions.sql", qr/^CREATE FUNCTION \@extschema\@\.uid_drop_partitions\([^)]*, layout text, force.*\z/ms,
		"CREATE FUNCTION \@extschema\@.uid_later_partitions() RETURNS bigint LANGUAGE sql RETURN 1::bigint;\n");
	append_to_file("$changes{tools}/before.sql", "DROP FUNCTION uidgen_tools.name_former(name);\n");
	append_to_file("$changes{tools}/after.sql", "DROP FUNCTION \@extschema\@.uid_drop_partitions(regclass, timestamptz, boolean, text, boolean);\n");
	# A column more, at the end.
	change("$tree/script/uidgen/80_status.sql", qr/(?<=AS ids)(?=\n\tFROM uidgen\.status\(\) AS s;)/, ', true AS later');
	append_to_file("$tree/src/functions/later.c", <<'END');
#include "postgres.h"
#include "fmgr.h"
extern PGDLLEXPORT Datum uidgen_later(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(uidgen_later);
Datum
uidgen_later(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(1);
}
END
	return $tree;
}

# Make its scripts, and return their folder.  What they update from is not among them.
sub later_scripts
{
	my $tree = later_tree();
	my @made = map { "script/$_" } map({ ("$_--$NEW.sql", "$_--$OLD--$NEW.sql") } qw(uidgen uidgen_registry uidgen_tools uidgen-registry));
	system_or_bail('make', '-s', '-C', $tree, "PG_CONFIG=$ENV{BUILD_CONFIG}", @made) unless -f "$tree/$made[0]";
	copy("$tree/$_.control", "$tree/script/$_.control") or die $! foreach qw(uidgen uidgen_registry uidgen_tools);
	return "$tree/script";
}

# ---- what is installed ----

sub scripts_of
{
	my ($version) = @_;
	return $scripts{$version} //= later_scripts();
}

sub libraries_of
{
	my ($version) = @_;
	return $libraries{$version} //= do
	{
		my $tree = later_tree();
		my @compile = ($ENV{CC} || 'gcc', qw(-shared -fPIC -O0 -w -fvisibility=hidden -D_GNU_SOURCE),
			'-DPGDLLEXPORT=__attribute__((visibility("default")))', qq(-DUIDGEN_VERSION="$version"), "-I$ENV{SERVER_HEADERS}", "-I$tree/src", '-o');
		system_or_bail(@compile, "$tree/uidgen.so", grep { !m{/remote/} } glob "$tree/src/{,*/}*.c");
		system_or_bail(@compile, "$tree/uidgen_libpq.so", "-I$ENV{CLIENT_HEADERS}", glob("$tree/src/remote/*.c"), "-L$ENV{CLIENT_LIBRARIES}", '-lpq');
		$tree;
	};
}

# As packages do it: a file that is in use stays as it is, under no name.
sub install
{
	my ($to, @files) = @_;
	foreach my $from (@files)
	{
		my $name = "$to/" . basename($from);
		copy($from, "$name.new") && chmod(0755, "$name.new") && rename("$name.new", $name) or die "could not install $name: $!";
	}
}

sub install_library
{
	my ($version) = @_;
	install($LIBRARIES, glob libraries_of($version) . '/uidgen*.so');
}

# Those of former versions stay where later ones are installed beside.
sub install_scripts
{
	my ($version) = @_;
	install($SCRIPTS, glob scripts_of($version) . '/uidgen*.{control,sql}');
}

sub install_release
{
	my ($version) = @_;
	install_library($version);
	install_scripts($version);
}

# A server that is not started yet.
sub new_node
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => dirname($BINDIR));
	# pg_upgrade needs the same on both sides.
	$node->init(extra => [ in_encoding('UTF8') ]);
	$node->append_conf('postgresql.conf', join("\n", 'log_statement = none', 'restart_after_crash = on', @conf) . "\n");
	return $node;
}

# ---- what is drawn ----

my @all;

# Begin to draw ids one by one in a session that goes on after errors.
sub start_trying
{
	my ($node, $database) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/ids';
	append_to_file("$file.sql", "SELECT uid_next(), pg_sleep(0.002);\n" x 200_000);
	my $run = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr($database), '-f', "$file.sql" ],
		'<', \undef, '>', $file, '2>', "$file.err",
		IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default));
	return { run => $run, file => $file };
}

# Wait for more ids than there are now.
sub goes_on
{
	my ($name, @drawings) = @_;
	my @size = map { -s $_->{file} } @drawings;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( poll_until(sub { !grep { -s $drawings[$_]{file} < $size[$_] + 1000 } 0 .. $#drawings }),
		"$name: ids go on in " . @drawings . ' sessions');
}

sub stop
{
	foreach (@_)
	{
		$_->{run}->signal('TERM');
		eval { $_->{run}->finish };
		push @all, [ slurp_file($_->{file}) =~ /^(\d+)\|?\n/mg ];
	}
}

sub draw
{
	my ($node, $name, $database) = @_;
	my $id = $node->safe_psql($database // 'postgres', 'SELECT uid_next()');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok($id, '>', 0, "$name: ids are issued");
	push @all, [$id];
}

# Two tests, for the end.
sub nothing_twice
{
	my (@nodes) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(scalar(repeated(@all)), 0, 'no id of ' . (map { @$_ } @all) . ' came twice');
	unlike(join('', map { slurp_file($_->logfile) } @nodes), qr/terminated by signal (?!9)|PANIC/, 'nothing crashed but what was killed');
}

# ---- what the catalogs say ----

# With an older library in memory, nothing leads to the present extension: neither an update, which changes
# nothing, nor a new one in the database fresh.
sub refuses_new
{
	my ($node, $loaded, @databases) = @_;
	my $refused = qr/has loaded an older library.*DETAIL:.*version \Q$loaded\E, and version \Q$NEW\E is needed.*HINT:.*Restart the server/s;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $database (@databases)
	{
		my $version = version_in($node, $database);
		fails_with($node, 'ALTER EXTENSION uidgen UPDATE', '55000', $refused, "the library $loaded in memory: the update in $database is refused", $database);
		is(version_in($node, $database), $version, 'and has changed nothing');
	}
	fails_with($node, 'CREATE EXTENSION uidgen', '55000', $refused, 'and so is the present extension in another database', 'fresh');
}

sub catalog_of
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, "SET client_min_messages = warning;\n" . slurp_file("$FindBin::RealBin/../upgrade/catalog.sql"));
}

sub version_in
{
	my ($node, $database, $extension) = @_;
	$extension //= 'uidgen';
	return $node->safe_psql($database, "SELECT extversion FROM pg_extension WHERE extname = '$extension'");
}

# One test: two catalogs have the same lines.
sub same_catalog
{
	my ($got, $expected, $name) = @_;
	my %got = map { $_ => 1 } split /\n/, $got;
	my %expected = map { $_ => 1 } split /\n/, $expected;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($got eq $expected, $name)
	  or diag(join "\n", (map { "  upgraded: $_" } grep { !$expected{$_} } sort keys %got),
		(map { "  new: $_" } grep { !$got{$_} } sort keys %expected));
}

# A dump of a database, as SQL.
sub dump_of
{
	my ($node, $database) = @_;
	my ($dump, $err) = run_command([ "$BINDIR/pg_dump", '-d', $node->connstr($database) ]);
	is($err, '', "$database can be dumped");
	return $dump;
}

# Tests: pg_upgrade takes the extension along in the former version, and it can be updated then.
sub test_pg_upgrade
{
	my $old = $OLD;
  SKIP:
	{
		skip 'there is no pg_upgrade', 1 if !-x "$BINDIR/pg_upgrade";
		my @conf = ("shared_preload_libraries = 'uidgen'", "uidgen.layout = 'time:40:1ms worker:20 sequence:3 epoch:2025-01-01'");
		install_library($old);
		my $before = new_node('before', @conf);
		$before->start;
		$before->safe_psql('postgres', "CREATE EXTENSION uidgen VERSION '$old'; SELECT uid_next()");
		my $worker = $before->safe_psql('postgres', 'SELECT worker_id FROM uidgen_registry.worker_node');
		$before->stop;
		install_library($NEW);
		my $after = new_node('after', @conf);
		chdir $FOLDER or die $!;
		command_ok(
			[
				"$BINDIR/pg_upgrade", '--no-sync', '-d', $before->data_dir, '-D', $after->data_dir, '-b', $BINDIR, '-B', $BINDIR,
				'-s', $after->host, '-p', $before->port, '-P', $after->port
			],
			"pg_upgrade runs with the extension of $old");
		$after->start;
		is(version_in($after, 'postgres', $_), $old, "and takes $_ along") foreach qw(uidgen uidgen_registry);
		$after->safe_psql('postgres', 'ALTER EXTENSION uidgen UPDATE; ALTER EXTENSION uidgen_registry UPDATE');
		$after->safe_psql('postgres', 'CREATE DATABASE fresh');
		$after->safe_psql('fresh', 'CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry');
		same_catalog(catalog_of($after, 'postgres'), catalog_of($after, 'fresh'), 'which is like new when updated');
		draw($after, 'after pg_upgrade');
		like($after->safe_psql('postgres', 'SELECT worker_id FROM uidgen_registry.worker_node ORDER BY created'), qr/^$worker\n\d+$/,
			'by another worker id, beside what was granted');
	}
}

1;
