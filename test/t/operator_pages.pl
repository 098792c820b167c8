# What the pages show can be copied: their blocks are run as they are, one after the other, on a new server, and print
# what the page says.  test/perl/Pages.pm says how.  The pages of a fleet, which make servers of their own, are run by fleet_page.pl.
# Functions of triggers that pages print run with an empty search path.  And the pictures are up to date.

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Pages;
use UidgenTest;

# test/meta.pl reads this line.
my @PAGES = qw(docs/segments.md README.md README.zh-CN.md docs/skill.md docs/guide.md docs/adopting.md docs/layouts.md docs/decoding.md docs/partitions.md docs/filters.md docs/readers.md docs/numbers.md docs/applications.md docs/reference/functions.md docs/operations.md);

my $node = uidgen_node('main', 'max_connections = 20');
$node->start;

# The statements of a page, each between two marks, so that one sees what it prints.
sub run_page
{
	my ($page, $database) = @_;
	my @blocks = blocks_of(slurp_file($page));
	my (@tests, $script);
	foreach my $i (0 .. $#blocks)
	{
		my $block = $blocks[$i];
		my @statements = statements_of($block->{text});
		$script .= "\\o /dev/null\nSET client_min_messages = warning;\n$block->{before}\nRESET client_min_messages;\n\\o\n" if $block->{before} ne '';
		my ($since) = ($block->{not_run} // '') =~ /^before PostgreSQL (\d+)$/;
		next if (defined $since ? $node->pg_version < $since : defined $block->{not_run}) || $block->{kind} !~ /^(?:sql)?$/ || !@statements;
		# What a block of statements alone prints is in the next one.
		$statements[-1][1] = $blocks[ $i + 1 ]{text}
		  if $block->{kind} eq 'sql' && $i < $#blocks && $blocks[ $i + 1 ]{follows} && $blocks[ $i + 1 ]{kind} eq '' && !statements_of($blocks[ $i + 1 ]{text});
		foreach my $j (0 .. $#statements)
		{
			my ($statement, $shown) = @{ $statements[$j] };
			push @tests, [ "$page, line $block->{line}, statement " . ($j + 1), $shown ];
			$script .= "\\echo \@\@\n$statement\n";
		}
	}
	my $file = $node->basedir . "/$database.sql";
	append_to_file($file, $script . "\\echo \@\@\n");
	my $printed = '';
	IPC::Run::run([ $node->installed_command('psql'), '-X', '-q', '-P', 'pager=off', '-d', $node->connstr($database), '-f', $file ], '<', \undef, '>&', \$printed);
	$printed =~ s/^psql:[^ ]*: //mg;
	my (undef, @printed) = split /^\@\@\n/m, $printed;
	foreach (@tests)
	{
		my ($name, $shown) = @$_;
		my $got = shift(@printed) // 'nothing: the page has ended before';
		# Pages show plans alone.
		$got =~ s/^ *QUERY PLAN *\n-+\n(.*)^\(\d+ rows?\)\n/$1/ms;
		if (defined $shown)
		{
			is_as_shown($got, $shown, $name);
		}
		else
		{
			unlike($got, qr/^(?:ERROR|FATAL|WARNING):/m, $name);
		}
	}
	return;
}

# The first one in the database of the registry.
$node->safe_psql('postgres', 'CREATE EXTENSION uidgen');
foreach my $i (0 .. $#PAGES)
{
	$node->safe_psql('postgres', "CREATE DATABASE page_$i") if $i > 0;
	$node->safe_psql("page_$i", 'CREATE EXTENSION uidgen') if $i > 0;
	run_page($PAGES[$i], $i > 0 ? "page_$i" : 'postgres');
}

# ---- functions of triggers ----

# Sessions of pg_restore and postgres_fdw have an empty search path, and triggers fire there. All functions of pages that find names when they are called are triggers'.
my %fires = (fill_id_new => 'measurement (id) VALUES (1)', book_new_author_id => 'book (author_id) VALUES (1)', book_old_author_id => 'book (author_id) VALUES (1)');
my @late;
$node->safe_psql('postgres', 'DROP TABLE IF EXISTS author, book, measurement CASCADE; CREATE TABLE author (id bigint, new_id bigint, old_id bigint); CREATE TABLE measurement (id bigint, id_new bigint); CREATE TABLE book (author_id bigint, new_author_id bigint, old_author_id bigint)');
foreach my $page (map { glob "$FindBin::RealBin/../../$_" } qw(*.md docs/*.md docs/*/*.md docs/*.sql))
{
	my $text = slurp_file($page);
	while ($text =~ /^(CREATE (?:OR REPLACE )?FUNCTION (\w+)\(.*?(?:\bAS (?:\$\$.*?\$\$|'[^']*');|\bRETURN\b))/msg)
	{
		my ($function, $name) = ($1, $2);
		next if $function =~ /^\s+RETURN\b/m && $function !~ /plpgsql/;
		push @late, $name;
		my ($table, $row) = ($fires{$name} // next) =~ /^(\w+)(.*)/;
		is((sqlstate_of($node, "$function CREATE TRIGGER t BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION $name(); SET search_path = ''; INSERT INTO public.$table$row; DROP TRIGGER t ON public.$table"))[0], '', "$name() of " . ($page =~ m{([^/]+)$})[0] . " needs no search path");
	}
}
is_deeply([ sort @late ], [ sort 'common_id', keys %fires ], 'and these are all, but for the one that is not to be copied');

# The pictures, of which one is made of what the server says.
{
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER)} = ($node->host, $node->port, 'postgres', $node->safe_psql('postgres', 'SELECT current_user'));
	is(system($^X, "$FindBin::RealBin/../../docs/build/pictures.pl", my $folder = PostgreSQL::Test::Utils::tempdir()), 0, 'docs/build/pictures.pl draws');
	is(slurp_file("$FindBin::RealBin/../../docs/$_.svg"), slurp_file("$folder/$_.svg"), "docs/$_.svg is what it draws") foreach qw(id horizon fleet performance);
}
$node->stop;

done_testing();
