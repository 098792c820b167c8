#!/usr/bin/perl
# docs/build/pictures.pl
#	  Draws docs/id.svg: the bits of an id of the default layout, and what they say, as the
#	  extension says it.
#
#	docs/build/pictures.pl		writes it, asking the database that PGHOST and the like name
#	docs/build/pictures.pl -	prints it
#
# All that it shows comes from uid_layout() and uid_parse(), so a picture that differs from
# what this prints is old: test/t/operator_pages.pl compares.  It is drawn for light and
# dark pages.  Core Perl, and psql.
use strict;
use warnings;

use FindBin;

my $ID = '250205019140997122';
my $LAYOUT = 'default';

# The rows of a query, each a list.
sub ask
{
	my ($query) = @_;
	open(my $psql, '-|', 'psql', '-X', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', "SET timezone = 'UTC'", '-c', "SET datestyle = 'ISO'", '-c', $query, $ENV{PGDATABASE} // 'postgres')
	  or die "psql: $!\n";
	my @rows = map { chomp; [ split /\|/, $_, -1 ] } grep { !/^SET$/ } <$psql>;
	close $psql or die "psql has failed\n";
	return @rows;
}

my @fields = ask("SELECT name, bits, shift, meaning FROM uid_layout('$LAYOUT')");
my ($parsed) = ask("SELECT p.timestamp, p.worker, p.sequence, p.id::bit(64), uid_to_text(p.id), l.layout FROM uid_parse($ID, '$LAYOUT') AS p, uid_layout_info('$LAYOUT') AS l");
my ($time, $worker, $sequence, $bits, $text, $layout) = @$parsed;
my %says = (time => $time, worker => $worker, sequence => $sequence);

# Sizes, in pixels
my ($left, $cell, $bit_top, $bit_height) = (20, 13, 92, 30);
my $width = 2 * $left + 64 * $cell;
my $height = 236;
my @svg;

sub put
{
	push @svg, join '', @_;
	return;
}

sub escaped
{
	my ($text) = @_;
	my %names = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;');
	return $text =~ s/([&<>])/$names{$1}/gr;
}

# Text at a place: classes, and where it is anchored.
sub put_text
{
	my ($x, $y, $class, $text, $anchor) = @_;
	put(qq{<text x="$x" y="$y" class="$class"}, $anchor ? qq{ text-anchor="$anchor"} : '', '>', escaped($text), '</text>');
	return;
}

# The left edge of a bit
sub left_of
{
	my ($bit) = @_;
	return $left + (63 - $bit) * $cell;
}

put(qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height" role="img" aria-labelledby="title">});
put('<title id="title">', escaped("The 64 bits of the id $ID: time $time, worker $worker, sequence $sequence"), '</title>');
put('<!-- made by docs/build/pictures.pl -->');
put(<<'END' =~ s/\n\z//r);
<style>
	.page { fill: #ffffff; stroke: #dde1e9; } .ink { fill: #1a2230; } .soft { fill: #566175; }
	.time { fill: #d9e6ff; } .time-ink { fill: #163d8c; } .time-line { stroke: #163d8c; }
	.worker { fill: #d3f0e1; } .worker-ink { fill: #0c5637; } .worker-line { stroke: #0c5637; }
	.sequence { fill: #fedde1; } .sequence-ink { fill: #8c2033; } .sequence-line { stroke: #8c2033; }
	.none { fill: #e9ecf1; } .none-ink { fill: #545e70; }
	@media (prefers-color-scheme: dark) {
		.page { fill: #191f2a; stroke: #2d3646; } .ink { fill: #e5e9f0; } .soft { fill: #9ba7ba; }
		.time { fill: #1f3a73; } .time-ink { fill: #d3e2ff; } .time-line { stroke: #d3e2ff; }
		.worker { fill: #154b34; } .worker-ink { fill: #cdf5df; } .worker-line { stroke: #cdf5df; }
		.sequence { fill: #642733; } .sequence-ink { fill: #ffd8dd; } .sequence-line { stroke: #ffd8dd; }
		.none { fill: #262e3a; } .none-ink { fill: #97a3b5; }
	}
	text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
	.mono { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; }
	.big { font-size: 22px; font-weight: 600; } .value { font-size: 16px; font-weight: 600; } .number { font-size: 11px; } .label { font-weight: 600; }
	.line { fill: none; stroke-width: 1.5; }
</style>
END
put(qq{<rect x="0.5" y="0.5" width="@{[ $width - 1 ]}" height="@{[ $height - 1 ]}" rx="12" class="page"/>});
put_text($left, 42, 'mono big ink', $ID);
put_text($width - $left, 30, 'soft', "as text: $text", 'end');
put_text($width - $left, 50, 'mono soft number', $layout, 'end');

put_text(left_of($_) + $cell / 2, $bit_top - 8, 'soft number', $_, 'middle') foreach 63, 55, 47, 39, 31, 23, 15, 7, 0;
foreach my $bit (reverse 0 .. 63)
{
	my ($field) = grep { $bit >= $_->[2] && $bit < $_->[2] + $_->[1] } @fields;
	my $class = $field ? $field->[0] : 'none';
	put(sprintf '<rect x="%s" y="%s" width="%s" height="%s" rx="2" class="%s"/>', left_of($bit) + 0.5, $bit_top, $cell - 1, $bit_height, $class);
	put_text(left_of($bit) + $cell / 2, $bit_top + 20, "mono $class-ink", substr($bits, 63 - $bit, 1), 'middle');
}
foreach (@fields)
{
	my ($name, $width, $shift, $meaning) = @$_;
	my ($x0, $x1, $y) = (left_of($shift + $width - 1) + 1, left_of($shift) + $cell - 1, $bit_top + $bit_height);
	my $middle = ($x0 + $x1) / 2;
	put(sprintf '<path d="M%s %s v6 H%s v-6 M%s %s v6" class="line %s-line"/>', $x0, $y + 4, $x1, $middle, $y + 10, $name);
	put_text($middle, $y + 34, "label $name-ink", "$name, $width bits", 'middle');
	put_text($middle, $y + 58, 'mono value ink', $says{$name}, 'middle');
	put_text($middle, $y + 80, 'soft', $meaning =~ s/^the instance that made the id$/which made the id/r, 'middle');
}
put('</svg>');

my $picture = join("\n", @svg) . "\n";
if (@ARGV && $ARGV[0] eq '-')
{
	print $picture;
	exit;
}
open(my $out, '>', "$FindBin::RealBin/../id.svg") or die "docs/id.svg: $!\n";
print $out $picture;
close $out or die "docs/id.svg: $!\n";
