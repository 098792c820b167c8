# test/guests/guests.pl
#	  Guests in all languages (clients/): the same faults for each of them, and each with a rule left out, which has to be found; and the blocks of
#	  docs/guests.md, run as they stand there.  A part of the suite clients; needs a JDK, PostgreSQL's driver for it, psycopg, psycopg2, Node
#	  with pg, Go and lib/pq.
#
# UIDGEN_GUESTS='--ids 100000000 --faults 200' is for a long run besides, and for 1,000 guests at once; with --long for these alone.  With
# '--client COMMAND' it plays the faults on that player alone, which test/guests/player.py says what it does; '--without forked,clock_set' leaves out
# what a language has not.
use strict;
use warnings;

use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use Getopt::Long qw(GetOptionsFromString);
use lib "$FindBin::RealBin/../perl";
use Guests;
use Pages;
use PostgreSQL::Test::Utils;
use Test::More;
use UidgenTest;

my %enough = (ids => 0, faults => 0);
GetOptionsFromString($ENV{UIDGEN_GUESTS} // '', \%enough, 'ids=i', 'faults=i', 'long', 'seed=i', 'client=s', 'without=s') or die "UIDGEN_GUESTS: see above\n";

my $world = Guests->new('SQL_ASCII', connections => $enough{ids} || $enough{faults} ? 1100 : 60);
if ($enough{client})
{
	my $player = $world->player(@enough{qw(client without)});
	play($player);
	play(Guests->new('UTF8')->player($enough{client}), 'warned');
	fail_over($world, $player);
	done_testing();
	exit;
}
my $primary = $world->{primary};
my ($python, $java, $javascript, $go) = map { $world->client(@$_) } [ 'python', 'psycopg' ], ['java'], ['javascript'], ['go'];
my @all = ($python, $java, $javascript, $go);

# ---- the page ----

{
	my $root = "$FindBin::RealBin/../..";
	my $dir = PostgreSQL::Test::Utils::tempdir();
	make_path("$dir/uidgen");
	copy("$root/clients/python/uidgen.py", $dir) && copy("$root/clients/java/uidgen/Guest.java", "$dir/uidgen") or die "$dir: $!";
	$primary->safe_psql('postgres', 'CREATE DATABASE page');
	$primary->safe_psql('page', 'DROP ROLE app; CREATE EXTENSION uidgen_registry');
	my %blocks;
	my @blocks = blocks_of(slurp_file("$root/docs/guests.md"));
	push @{ $blocks{ $_->{kind} } }, $_->{text} foreach @blocks;
	is_deeply([ map { scalar @{ $blocks{$_} } } 'sql', 'python', 'java', 'javascript', 'go', '' ], [ 2, 1, 3, 1, 1, 4 ], 'the page has the blocks that are run here');
	$primary->safe_psql('page', $_) foreach @{ $blocks{sql} };

	my $port = $primary->port;
	my $run = sub {
		my ($file, $text, @command) = @_;
		$text =~ s/host=registry dbname=uidgen/host=127.0.0.1 port=$port dbname=page/ || $text =~ s{//(?:(app):secret@)?registry/uidgen}{'//' . ($1 ? "$1@" : '') . "127.0.0.1:$port/page"}e;
		append_to_file("$dir/$file", $text);
		my ($printed, $said);
		# On a slow machine a program may have to begin again, as the registry has not answered in time.
		ok(poll_until(
				sub {
					($printed, $said) = ('', '');
					return IPC::Run::run([ 'sh', '-c', "@command" ], '<', \undef, '>', \$printed, '2>', \$said, init => sub { chdir $dir or die $! }) || $said !~ /NoGrant/;
				})
			  && $said !~ /rror|xception/,
			"$file runs") or diag($said);
		# Numbers and times are others; which there are, and how many digits a number of some digits has, is the same.
		return $printed;
	};
	my $like = sub {
		my ($text) = @_;
		return $text =~ s/\d+(?:[-:T., ]+\d+)*/N/gr;
	};
	is($like->($run->('billing.py', $blocks{python}[0], '/usr/bin/python3 billing.py')), $like->($blocks{''}[0]), '... and prints what the page shows');
	is($like->($run->('Billing.java', $blocks{java}[0], 'javac -Xlint:all -Werror uidgen/Guest.java Billing.java && java -cp .:/usr/share/java/postgresql.jar Billing')),
		$like->($blocks{''}[1]), '... and prints what the page shows');

	copy("$root/clients/javascript/uidgen.mjs", $dir) && symlink("$ENV{CHECK_DIR}/node_modules", "$dir/node_modules") or die "$dir: $!";
	is($like->($run->('billing.mjs', $blocks{javascript}[0], 'node billing.mjs')), $like->($blocks{''}[2]), '... and prints what the page shows');
	make_path("$dir/src/uidgen", "$dir/src/billing");
	copy("$root/clients/go/uidgen.go", "$dir/src/uidgen") or die "$dir: $!";
	is($like->($run->('src/billing/billing.go', $blocks{go}[0], "GO111MODULE=off GOPATH=$dir:/usr/share/gocode GOCACHE=$dir/gocache /usr/bin/go run billing")),
		$like->($blocks{''}[3]), '... and prints what the page shows');

	# The adapters, with as much of the two libraries as they need, which Debian does not have
	my $adapters = 'import java.lang.annotation.*; import java.sql.*; import uidgen.Guest;
		interface SharedSessionContractImplementor { }
		interface DataSource { Connection getConnection() throws SQLException; }
		@interface Bean { }
		@interface IdGeneratorType { Class<?> value(); }';
	my $registry = 'class Registry { static Connection connect() throws SQLException { return DriverManager.getConnection("jdbc:postgresql://registry/uidgen?user=app"); } }';
	my ($mybatis, $hibernate) = @{ $blocks{java} }[ 1, 2 ];
	$hibernate =~ s/public class/class/;
	is($run->('Plus.java', "$adapters $registry interface IdentifierGenerator { Number nextId(Object entity); default boolean assignId(Object id) { return id == null; } }
		public class Plus { $mybatis public static void main(String[] args) { System.out.println(new Plus().identifierGenerator(Registry::connect).nextId(null).longValue() > 0); } }",
			'javac uidgen/Guest.java Plus.java && java -cp .:/usr/share/java/postgresql.jar Plus'), "true\n", 'MyBatis-Plus: the bean makes ids');
	is($run->('Hibernate.java', "$adapters $registry interface IdentifierGenerator { Object generate(SharedSessionContractImplementor session, Object entity); } $hibernate
		public class Hibernate { \@GuestId Long id; public static void main(String[] args) { System.out.println((Long) new GuestGenerator().generate(null, null) > 0); } }",
			'javac uidgen/Guest.java Hibernate.java && java -cp .:/usr/share/java/postgresql.jar Hibernate'), "true\n", 'Hibernate: the generator makes ids');
	$primary->safe_psql('page', q{SELECT uidgen_registry.revoke_guest('app')});
}

# ---- faults ----

if (!$enough{long})
{
	read_vectors($_) foreach $java, $javascript, $go;
	play($_) foreach @all, $world->client('python', 'psycopg2');
	my $utf8 = Guests->new('UTF8');
	play($_, 'warned') foreach map { $utf8->client($_) } qw(java javascript go);
	play_without_rules($_) foreach @all;
}
if ($enough{ids} || $enough{faults})
{
	play_long($world, \%enough, @all);
	crowd($_, 1000) foreach @all;
}
fail_over($world, @all) if !$enough{long};

done_testing();
