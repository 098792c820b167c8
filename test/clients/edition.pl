# test/clients/edition.pl
#	  The edition in SQL, put in as docs/sql-edition.md says by drivers and migration tools, which differ in how they send a file with many semicolons: twice
#	  each, as an upgrade is the script again, and then set up.  A part of the suite clients.
use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/../perl";
use PostgreSQL::Test::Utils;
use SqlEdition;
use Test::More;
use UidgenTest;

my $node = edition_node('plain', "listen_addresses = '127.0.0.1'");
$node->start;
landlords($node);
my $tools = edition_script($node, 'sql-tools');
my $page = slurp_file("$FindBin::RealBin/../../docs/sql-edition.md");

# What the page has for a migration tool, for a file of the environment.
sub shown
{
	my ($tool) = @_;
	$page =~ /^\| \Q$tool\E \| `([^`]+)` \|$/m or die "the page has no $tool";
	return $1 =~ s/"uidgen-sql--[\d.]+\.sql"/$_[1]/r;
}

my $SET_UP = 'SELECT uidgen.set_up(worker_id => 5)';
my $migration = shown('Django', 'os.environ[f]');
my $alembic = shown('Alembic', 'os.environ[f]') =~ s/op\.get_bind\(\)/connection/r;
my $rails = shown('Rails', 'ENV[f]');
my @KINDS = (
	[ 'psycopg2', 'py', qq{
import os, psycopg2
c = psycopg2.connect('')
c.autocommit = True
for f in ['SCRIPT', 'SCRIPT', 'TOOLS']: c.cursor().execute(open(os.environ[f]).read())
c.cursor().execute('$SET_UP')} ],
	[ 'psycopg', 'py', qq{
import os, psycopg
with psycopg.connect('') as c:
    for f in ['SCRIPT', 'SCRIPT', 'TOOLS']: c.execute(open(os.environ[f]).read())
    c.execute('$SET_UP')} ],
	[ 'SQLAlchemy, as by Alembic', 'py', qq{
import os, sqlalchemy
with sqlalchemy.create_engine('postgresql://').begin() as connection:
    for f in ['SCRIPT', 'SCRIPT', 'TOOLS']: $alembic
    connection.execute(sqlalchemy.text('$SET_UP'))} ],
	[ 'a migration of Django', 'py', qq{
import os, sys, django
from django.conf import settings
settings.configure(INSTALLED_APPS=['app'], DATABASES={'default': {'ENGINE': 'django.db.backends.postgresql', 'NAME': os.environ['PGDATABASE']}})
sys.path.insert(0, '.')
os.makedirs('app/migrations')
for f in ['app', 'app/migrations']: open(f + '/__init__.py', 'w')
with open('app/migrations/0001_initial.py', 'w') as f: f.write('''
import os
from django.db import migrations
class Migration(migrations.Migration):
    operations = [$migration for f in ['SCRIPT', 'SCRIPT', 'TOOLS']] + [migrations.RunSQL("$SET_UP")]
''')
django.setup()
from django.core.management import call_command
call_command('migrate', verbosity=0)} ],
	[ 'a migration of Rails', 'rb', qq{
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "postgresql", database: ENV["PGDATABASE"])
class PutIn < ActiveRecord::Migration[6.1]
  def up
    %w[SCRIPT SCRIPT TOOLS].each { |f| $rails }
    execute "$SET_UP"
  end
end
ActiveRecord::Migration.verbose = false
PutIn.migrate(:up)} ],
	[ 'node-postgres', 'mjs', qq{
import fs from 'node:fs'; import pg from 'pg';
const client = new pg.Client();
await client.connect();
for (const f of ['SCRIPT', 'SCRIPT', 'TOOLS']) await client.query(fs.readFileSync(process.env[f], 'utf8'));
await client.query('$SET_UP');
await client.end();} ],
	[ 'a migration of TypeORM', 'mjs', qq{
import fs from 'node:fs'; import typeorm from 'typeorm';
class PutIn1700000000000 { async up(runner) {
  for (const f of ['SCRIPT', 'SCRIPT', 'TOOLS']) await runner.query(fs.readFileSync(process.env[f], 'utf8'));
  await runner.query('$SET_UP'); } }
const source = new typeorm.DataSource({ type: 'postgres', host: process.env.PGHOST, port: +process.env.PGPORT, username: process.env.PGUSER, database: process.env.PGDATABASE, migrations: [PutIn1700000000000] });
await source.initialize(); await source.runMigrations(); await source.destroy();} ],
	[ 'JDBC', 'java', qq{
import java.nio.file.*; import java.sql.*;
class Program { public static void main(String[] a) throws Exception {
  String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE") + "?user=" + System.getenv("PGUSER");
  try (Connection c = DriverManager.getConnection(url); Statement s = c.createStatement()) {
    for (String f : new String[] {"SCRIPT", "SCRIPT", "TOOLS"}) s.execute(new String(Files.readAllBytes(Paths.get(System.getenv(f)))));
    s.execute("$SET_UP"); } } }} ],
	# An argument can have 128 kB, which the tools exceed.
	[ 'psql -c', 'sh', qq{
psql -qX -c "\$(cat "\$SCRIPT")" -c "\$(cat "\$SCRIPT")" -f "\$TOOLS" -c '$SET_UP'} ]);

my %command = (
	py => '/usr/bin/python3 program.py',
	rb => '/usr/bin/ruby program.rb',
	mjs => "ln -sfn '$ENV{CHECK_DIR}/node_modules' node_modules && node program.mjs",
	java => 'javac Program.java && java -cp .:/usr/share/java/postgresql.jar Program',
	sh => 'sh -e program.sh');
my $databases = 0;
foreach my $kind (@KINDS)
{
	my ($name, $language, $text) = @$kind;
	my $database = add_database($node, 'client_' . ++$databases);
	my $folder = PostgreSQL::Test::Utils::tempdir();
	append_to_file($folder . ($language eq 'java' ? '/Program' : '/program') . ".$language", $text);
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER SCRIPT TOOLS)} = ('127.0.0.1', $node->port, $database, 'landlord', edition_script($node, 'sql'), $tools);
	my $said = '';
	ok(IPC::Run::run([ 'sh', '-c', $command{$language} ], '<', \undef, '>&', \$said, init => sub { chdir $folder or die "$folder: $!" }), "$name puts the edition in") or diag($said);
	is(as($node, 'landlord', $database, q{CREATE TABLE t (id bigint PRIMARY KEY DEFAULT uid_next()); INSERT INTO t DEFAULT VALUES RETURNING (uid_parse(id)).worker, (SELECT severity FROM uidgen.diagnose()), to_regproc('uid_adopt') IS NOT NULL}), '5|ok|t', '... and rows have ids');
}

done_testing();
