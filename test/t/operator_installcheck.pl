# `make installcheck` runs any number of times on a server of any encoding, with and without preload, and leaves nothing behind but its two
# databases: neither the extension where it was not, nor segments, roles, or anything in template1, where a user may have the extension.

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::RealBin/../perl";
use UidgenTest;

my $tree = abs_path("$FindBin::RealBin/../..");
# Not that of the private server, which is without what builders need.
my ($pg_config) = grep { -x } ($ENV{PG_CONFIG} =~ m{/} ? $ENV{PG_CONFIG} : ()), map { "$_/pg_config" } grep { $_ ne $ENV{BINDIR} } split /:/, $ENV{PATH};

# Run it; of the isolation tests those only that wait for nothing that a busy machine shows now and then.  Returns whether all is well, and what it says.
sub installcheck
{
	my ($node) = @_;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS REGRESS ISOLATION PGDATABASE PROVE_TESTS)};
	my $said = '';
	my $good = IPC::Run::run([ 'make', '-C', $tree, "PG_CONFIG=$pg_config", 'ISOLATION=acquire partitions renew', 'installcheck' ], '<', \undef, '>&', \$said);
	return ($good, $said);
}

# All that belongs to the cluster, and what is in the databases of its users.
sub what_is_there
{
	my ($node) = @_;
	my $there = $node->safe_psql('postgres', q{SELECT 'role ' || rolname FROM pg_roles UNION ALL SELECT 'database ' || datname FROM pg_database
		WHERE datname NOT IN ('contrib_regression', 'isolation_regression') UNION ALL SELECT 'tablespace ' || spcname FROM pg_tablespace
		UNION ALL SELECT 'setting ' || name FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' ORDER BY 1});
	foreach my $database ('postgres', 'template1')
	{
		$there .= "\n$database: "
		  . $node->safe_psql($database, q{SELECT string_agg(DISTINCT c.oid::regclass::text, ' ') FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE n.nspname !~ '^pg_|information_schema'}) . ' '
		  . $node->safe_psql($database, 'SELECT string_agg(extname, $$ $$) FROM pg_extension');
		$there .= $node->safe_psql($database, 'SELECT string_agg(s::text, $$ $$ ORDER BY name) FROM uidgen_registry.segment AS s') if $there =~ /uidgen_registry\.segment\b[^\n]*$/;
	}
	return $there;
}

sub passes
{
	my ($node, $name, $tests) = @_;
	my $before = what_is_there($node);
	my ($good, $said) = installcheck($node);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($good, "$name: all tests pass") || diag($said, -e "$tree/regression.diffs" ? slurp_file("$tree/regression.diffs") : '');
	like($said, $tests, '... these');
	return is(what_is_there($node), $before, '... and nothing is left behind');
}

# A user's server: the extension is in template1, too, and segments have the names that tests use.
my $used = PostgreSQL::Test::Cluster->new('used');
$used->init(extra => [ '--encoding=SQL_ASCII', '--locale=C' ]);
$used->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen'\nlog_statement = none\n");
$used->start;
$used->safe_psql($_, 'SET client_min_messages = warning; CREATE EXTENSION uidgen; CREATE EXTENSION uidgen_registry') foreach qw(postgres template1);
$used->safe_psql('postgres', "SELECT uidgen_registry.create_segment('default'), uidgen_registry.create_segment('n'), uid_next()");
passes($used, "a user's server, SQL_ASCII, run $_", qr/\bleave\b/) foreach 1 .. 2;
is($used->safe_psql('postgres', 'SELECT count(*) FROM uidgen.segment_status'), 0, 'no segment was asked for');

# A new one
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => [ '--encoding=LATIN1', '--locale=C' ]);
$new->append_conf('postgresql.conf', "shared_preload_libraries = 'uidgen'\nlog_statement = none\n");
$new->start;
passes($new, 'a new server, LATIN1', qr/\bleave\b/);

# One that does not preload it
my $unloaded = PostgreSQL::Test::Cluster->new('unloaded');
$unloaded->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$unloaded->append_conf('postgresql.conf', "log_statement = none\n");
$unloaded->start;
passes($unloaded, 'a server without preload',
	$unloaded->pg_version < 17 ? qr/does not preload uidgen: only what needs no keeper is tested.*\bunloaded\b/s : qr/\bleave\b/);

# No server
$unloaded->stop;
my ($good, $said) = installcheck($unloaded);
ok(!$good, 'without a server, it fails');
like($said, qr/installcheck: needs a running server, and a superuser/, '... and says what is missing');

# Where headers are missing, make names their package.
foreach ([ 'PG_CONFIG=/nowhere', qr/no PGXS .*: install postgresql-server-dev-NN / ], [ 'includedir_server=/nowhere', qr/no headers of a PostgreSQL server: install postgresql-server-dev-\d\d / ],
	[ 'includedir=/nowhere', qr/no headers of libpq: install libpq-dev / ])
{
	my ($setting, $named) = @$_;
	$said = '';
	ok(!IPC::Run::run([ 'make', '-C', $tree, "PG_CONFIG=$pg_config", $setting, 'headers' ], '<', \undef, '>&', \$said), "make $setting fails");
	like($said, $named, '... and names a package');
}

done_testing();
