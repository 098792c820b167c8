# test/clients/clients.pl
#	  The recipes of docs/applications.md and docs/clients, and the readers of docs/readers.md, run as they stand there: the suite clients.
#
# Each client has a section of the page, or a file whose parts begin with a line "---- what it is", and a program here with the tests.  A line "page"
# in its comments, "#page", "//page" or "--page", stands for the next block of the section, as it is;
# "#page > FILE" puts it into a file.  All blocks have to be used.  What the program prints
# besides its tests is what the section shows, if it shows that.  npm's packages are installed by
# test/tempcheck.sh, from package-lock.json, the others are Debian's.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/../perl";
use Pages;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my $docs = "$FindBin::RealBin/../../docs";
my $dir = "$ENV{CHECK_DIR}/clients";
BAIL_OUT('npm could not install what test/clients/package.json names; the first lines of the run say why')
  unless -d "$ENV{CHECK_DIR}/node_modules/pg" && -d "$ENV{CHECK_DIR}/node_modules/prisma";

# Debian's, not what else is in the PATH.
my ($python, $ruby) = ('/usr/bin/python3', '/usr/bin/ruby');
my $go = '/usr/share/gocode';
my ($pgx) = grep { -d "$go/src/github.com/jackc/pgx/$_" } qw(v5 v4);
my $jars = join ':', '.', map { "/usr/share/java/$_.jar" }
  qw(hibernate3 hibernate-commons-annotations geronimo-jpa_2.0_spec geronimo-jta-1.2-spec slf4j-api slf4j-nop dom4j antlr javassist commons-collections3 postgresql);
my %command = (
	py => "$python program.py",
	rb => "$ruby program.rb",
	mjs => 'node program.mjs',
	go => "GO111MODULE=off GOPATH=\$PWD:$go GOCACHE='$dir/gocache' /usr/bin/go run program.go checks.go",
	sql => 'psql -X -v ON_ERROR_STOP=1 -f program.sql',
	java => "javac -nowarn -cp $jars *.java && java -cp $jars Program");

# Drivers of Java know no other way than TCP.
my $node = uidgen_node('main', "listen_addresses = '127.0.0.1'");
my $has_timescale = -e $node->config_data('--sharedir') . '/extension/timescaledb.control';
$node->append_conf('postgresql.conf', preload('timescaledb') . "\ntimescaledb.telemetry_level = off") if $has_timescale;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');

# Guests have a registry of their own.
$node->safe_psql('postgres', 'CREATE DATABASE registry; CREATE ROLE app LOGIN');
$node->safe_psql('registry', q{SET client_min_messages = error; CREATE EXTENSION uidgen_registry;
	SELECT FROM uidgen_registry.share_registry('default', first_guest => 512, new_fleet => true); SELECT uidgen_registry.grant_guest('app', 20)});
local $ENV{GUESTS} = 'postgresql://app@127.0.0.1:' . $node->port . '/registry';

# The blocks of a client, and what its section shows that is printed.
sub blocks_for
{
	my ($heading, $name, $kind) = @_;
	my ($text) = slurp_file("$docs/applications.md") =~ /^(## \Q$heading\E\n.*?)(?=^## |\z)/ms;
	($text) = slurp_file("$docs/readers.md") =~ /^(### \Q$heading\E\n.*?)(?=^##|\z)/ms if !$text;
	my @blocks = $text ? blocks_of($text) : ();
	my @parts = map { (split m{^(?:#|//) ---- .*\n}m, slurp_file($_))[ 1 .. 20 ] } grep { -e } map { "$docs/clients/$name.$_" } 'prisma', $kind;
	@parts = map { s/\n+\z/\n/r } grep { defined } @parts;
	die "neither docs/applications.md, docs/readers.md nor docs/clients has \"$heading\"" if !@blocks && !@parts;
	return ([ (map { $_->{text} } grep { $_->{kind} ne '' } @blocks), @parts ], join('', map { $_->{text} } grep { $_->{kind} eq '' } @blocks));
}

sub write_file
{
	my ($file, $text) = @_;
	make_path(dirname($file));
	open(my $fh, '>', $file) or die "$file: $!";
	print $fh $text;
	close($fh) or die "$file: $!";
	return;
}

# An empty database for one client, which is its own by the environment.
my $databases = 0;
sub new_database
{
	my ($encoding) = @_;
	my $name = 'client_' . ++$databases;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc");
	$node->safe_psql($name, 'CREATE EXTENSION uidgen');
	return $name;
}

sub try_client
{
	my ($heading, $program, %replace) = @_;
	my $encoding = delete $replace{encoding} // 'UTF8';
	my ($name, $kind) = $program =~ /^(.*)\.(\w+)$/;
	my $folder = "$dir/$name-$kind";
	make_path($folder);
	make_path("$folder/src/uidgen");
	copy($_, $folder) or die "$_: $!" foreach glob("$FindBin::RealBin/checks.*"), "$docs/uidgen.mjs";
	copy($_, $folder) or die "$_: $!" foreach map { "$docs/../clients/$_" } 'python/uidgen_reader.py', 'javascript/uidgen-reader.mjs';
	copy("$docs/../clients/javascript/uidgen.mjs", "$folder/guest.mjs") && copy("$docs/../clients/go/uidgen.go", "$folder/src/uidgen") or die $!;

	my ($blocks, $shown) = blocks_for($heading, $name, $kind);
	my @blocks = @$blocks;
	(my $text = slurp_file("$FindBin::RealBin/$program")) =~ s{^([ \t]*)(?:#|//|--)page(?: > (\S+))?\n}{
		my ($indent, $file) = ($1, $2);
		my $block = shift(@blocks) // die "$heading has too few blocks for $program";
		write_file("$folder/$file", $block) if defined $file;
		defined $file ? '' : $block =~ s/^(?=.)/$indent/mgr}mge;
	is(scalar(@blocks), 0, "$heading: all blocks are run");
	$text =~ s/\Q$_\E/$replace{$_}/g foreach keys %replace;
	write_file("$folder/program.$kind", $text);

	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER)} = ('127.0.0.1', $node->port, new_database($encoding), $node->safe_psql('postgres', 'SELECT current_user'));
	my ($printed, $said) = ('', '');
	my $well = IPC::Run::run([ 'sh', '-c', $command{$kind} ], '<', \undef, '>', \$printed, '2>', \$said, init => sub { chdir $folder or die "$folder: $!" });
	my $tests = 0;
	foreach my $line (split /^/, $printed)
	{
		next unless $line =~ /^(not )?ok - (.*)/;
		ok(!$1, "$heading: $2");
		$tests++;
	}
	ok($well && $tests, "$heading: the program comes to its end") or diag($printed, $said);
	# New ids are other ones than on the page; what is in an id that the page names is the same.
	$printed =~ s/^(?:not )?ok - .*\n//mg;
	my $as_shown = "$heading: it prints what the page shows";
	$shown eq '' || is_as_shown($printed, $shown, $as_shown);
	return;
}

# Which versions these are, for the page.
foreach (
	[ 'Python', $python, '-c', 'import django, psycopg, psycopg2, sqlalchemy; print("psycopg", psycopg.__version__, "psycopg2", psycopg2.__version__, "SQLAlchemy", sqlalchemy.__version__, "Django", django.__version__)' ],
	[ 'Ruby', $ruby, '-e', 'require "active_record"; require "pg"; puts "Active Record #{ActiveRecord.version} pg #{PG::VERSION}"' ],
	[ 'Debian', 'dpkg-query', '-W', '-f', '${Package} ${Version}\n', 'libhibernate3-java', 'libpostgresql-jdbc-java', 'golang-github-jackc-pgx-v*-dev' ],
	[ 'Node', 'node', '--version' ])
{
	my ($name, @command) = @$_;
	my $said = '';
	IPC::Run::run(\@command, '<', \undef, '>&', \$said);
	note("$name: $said");
}

try_client('SQLAlchemy', 'sqlalchemy.py');
try_client('Django', 'django.py');
try_client('Active Record', 'activerecord.rb');
try_client('Hibernate', 'hibernate.java');
try_client('pgx', 'pgx.go', 'github.com/jackc/pgx/v5' => "github.com/jackc/pgx/$pgx");
try_client('node-postgres', 'node-postgres.mjs');
try_client('Drizzle', 'drizzle.mjs');
try_client('Sequelize', 'sequelize.mjs');
try_client('TypeORM', 'typeorm.mjs');
try_client('Prisma', 'prisma.mjs');
try_client('GORM', 'gorm.go');
try_client('A reader in Node', 'readers.mjs');
foreach my $encoding (qw(UTF8 SQL_ASCII))
{
	# As the page says
	local $ENV{PGCLIENTENCODING} = 'utf8' if $encoding eq 'SQL_ASCII';
	try_client('psycopg', 'psycopg.py', encoding => $encoding);
	try_client('A reader in Python', 'readers.py', encoding => $encoding);
}
SKIP:
{
	skip('no TimescaleDB for this server', 1) if !$has_timescale;
	try_client('TimescaleDB', 'timescale.sql');
}
$node->stop;

done_testing();
