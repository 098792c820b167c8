# Proves that the benchmark runs: tools/bench/run.pl, with so few rows that its
# figures say nothing, prints all of its tables, and renews those of
# docs/performance.md without touching the prose.  It checks only what a slow
# machine cannot miss.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../../tools/bench";
use BenchReport;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my ($out, $err) = run_command(
	[ $^X, "$root/tools/bench/run.pl", '--dir', $dir, qw(--rounds 1 --scale 0.001 --set fsync=off --write) ]);
note $out, $err;

# Each table has a heading, a line below it, and rows.
my %tables = $out =~ /^(\w.*)\n\n\| .*\n\|[-|]+\|\n((?:\|.*\n)+)/mg;
is_deeply(
	[ sort keys %tables ],
	[
		sort 'Machine', 'What holds', 'One call', 'Several sessions', 'In SQL', 'A thousand ids',
		'Six million ids in one statement', 'INSERT, without an index', 'INSERT, with a primary key',
		'COPY, without an index', 'COPY, with a primary key', 'A trigger for each row', 'One row each transaction',
		'A connection each query', 'Segments', 'Segments, several sessions', 'Segments, where ranges meet'
	],
	'all tables are printed');
is(scalar(() = $tables{'What holds'} =~ /\| (?:yes|no ) +\|$/mg), 12, 'each ratio that holds on any machine is judged');
like($tables{'What holds'}, qr/^\| index, size of bigserial's .* yes +\|$/m, 'ids in order fill an index like bigserial does');
like($tables{'One call'}, qr/^\| uid_next\(\) +\| [\d.]+ +\| [\d.]+ +\| [\d.]+ +\|$/m, 'a row has figures');

my ($old, $new) = map { prose(slurp_file($_)) } "$root/docs/performance.md", "$dir/performance.md";
is($new, $old, 'the prose of the page is kept');
like(slurp_file("$dir/performance.md"), qr/\Q$tables{'What holds'}\E/, 'the page has the new tables');
is(slurp_file("$dir/performance.txt") =~ s/\A.*?\n\n//sr, $out =~ s/\A.*?(?=^Machine\n)//msr =~ s/\n?\z/\n/r, 'the whole run is written down');
unlike(slurp_file("$root/docs/performance.md"), qr/\| no +\|$/m, 'the page has no ratio that does not hold');
like(slurp_file("$dir/performance.svg"), qr{^<svg .*<rect .*</svg>\n$}s, 'there is a chart');

# What a median and a spread are.
record('case', $_) foreach 4, 1, 9;
record('base', $_) foreach 2, 1, 3;
is(cell(figures('case')), '4.00 (1.00..9.00)', 'median and spread');
is(ratio_cell('case', 'base'), '2.00 (1.00..3.00)', 'ratios are made in each round');

done_testing();

# A page without what is between its marks.
sub prose
{
	my ($page) = @_;
	$page =~ s/(<!-- begin: (\w+) -->).*?(<!-- end: \2 -->)/$1$3/sg;
	return $page;
}
