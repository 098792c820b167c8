# BenchReport.pm: the figures of run.pl, and what is made of them: tables in
# Markdown, and a page whose tables are renewed and whose prose is kept.  Core Perl only.
package BenchReport;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(max min sum);

our @EXPORT = qw(record has figures ratios median cell ratio_cell table renew_page);

my %figures;    # of each case, one value a round

# Note a value of this round; several, if it was measured several times in it.
sub record
{
	my ($case, @values) = @_;
	push @{ $figures{$case} }, sum(@values) / @values;
	return;
}

sub has
{
	return !grep { !$figures{$_} } @_;
}

sub figures
{
	return @{ $figures{ $_[0] } // [] };
}

# One case against another, round by round.
sub ratios
{
	my ($case, $base) = @_;
	my @bases = figures($base);
	return map { my $below = shift @bases; $below ? $_ / $below : () } figures($case);
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return @sorted % 2 ? $sorted[ $#sorted / 2 ] : ($sorted[ $#sorted / 2 ] + $sorted[ @sorted / 2 ]) / 2;
}

# Three digits that count.
sub digits
{
	my ($x) = @_;
	my $size = abs $x;
	return sprintf($size >= 99.95 || $size == 0 ? '%.0f' : $size >= 9.995 ? '%.1f' : $size >= 0.9995 ? '%.2f' : '%.3f', $x);
}

# Median, and the spread if there is one: "12.3 (11.9..14.0)".
sub cell
{
	my (@values) = @_;
	return '' unless @values;
	my ($middle, $least, $most) = map { digits($_) } median(@values), min(@values), max(@values);
	return $least eq $most ? $middle : "$middle ($least..$most)";
}

sub ratio_cell
{
	return cell(ratios(@_));
}

# A table in Markdown that can be read as it is.  $header and rows are references
# to lists of cells; rows without a figure are left out, and a table without rows.
sub table
{
	my (@rows) = @_;
	my $header = shift @rows;
	@rows = grep { my ($name, @cells) = @$_; grep { length } @cells } @rows;
	return '' unless @rows;
	my @widths = map { my $i = $_; max(map { length($_->[$i] // '') } $header, @rows) } 0 .. $#$header;
	my $line = sub {
		my @cells = @_;
		return '| ' . join(' | ', map { sprintf('%-*s', $widths[$_], $cells[$_] // '') } 0 .. $#widths) . " |\n";
	};
	return join('', $line->(@$header), '|' . join('|', map { '-' x ($_ + 2) } @widths) . "|\n", map { $line->(@$_) } @rows);
}

# Put texts between the marks "begin: NAME" and "end: NAME" of a page, as far as it has such; all else is kept.
sub renew_page
{
	my ($page, %texts) = @_;
	$page =~ s/(<!-- begin: (\w+) -->\n).*?(<!-- end: \2 -->)/"$1\n" . ($texts{$2} \/\/ die "there is no table \"$2\"\n") . "\n$3"/gse;
	return $page;
}

1;
