#!/usr/bin/perl
# docs/build/pictures.pl
#	  Draws the pictures of the pages, for light and dark pages:
#
#	id		the bits of an id of the default layout, and what they say, as the extension says it
#	horizon		what a plain reader and one with uid_horizon() get beside an open transaction, by their rules
#	fleet		nodes, their grants in the registry, and the first id of each
#	performance	the main figures of a run of tools/bench
#
#	docs/build/pictures.pl [FOLDER [NAME...]]	writes FOLDER/NAME.svg, all of them into docs by default
#
# The id asks the database that PGHOST and the like name; performance reads FOLDER/performance.txt, or that of docs/runs.
# test/t/operator_pages.pl compares.  Core Perl, and psql.
use strict;
use warnings;

use FindBin;
use List::Util qw(max min);

my ($folder, @names) = @ARGV;
$folder //= "$FindBin::RealBin/..";

my (@svg, $width, $height);

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

sub put_box
{
	my ($x, $y, $width, $height, $class, $round) = @_;
	put(sprintf '<rect x="%s" y="%s" width="%s" height="%s" rx="%s" class="%s"/>', $x, $y, $width, $height, $round // 2, $class);
	return;
}

sub put_path
{
	my ($class, $path, $more) = @_;
	put(qq{<path d="$path" class="$class"}, $more // '', '/>');
	return;
}

sub begin
{
	my ($title);
	($width, $height, $title) = @_;
	@svg = ();
	put(qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height" role="img" aria-labelledby="title">});
	put('<title id="title">', escaped($title), '</title>');
	put('<!-- made by docs/build/pictures.pl -->');
	put(<<'END' =~ s/\n\z//r);
<style>
	.page { fill: #ffffff; stroke: #dde1e9; } .ink { fill: #1a2230; } .soft { fill: #566175; }
	.time { fill: #d9e6ff; } .time-ink { fill: #163d8c; } .time-line { stroke: #163d8c; }
	.worker { fill: #d3f0e1; } .worker-ink { fill: #0c5637; } .worker-line { stroke: #0c5637; }
	.sequence { fill: #fedde1; } .sequence-ink { fill: #8c2033; } .sequence-line { stroke: #8c2033; }
	.none { fill: #e9ecf1; } .none-ink { fill: #545e70; } .none-line { stroke: #8a94a6; } .head { fill: #8a94a6; }
	.ours { fill: #2f6f9f; } .theirs { fill: #b0b7bd; }
	@media (prefers-color-scheme: dark) {
		.page { fill: #191f2a; stroke: #2d3646; } .ink { fill: #e5e9f0; } .soft { fill: #9ba7ba; }
		.time { fill: #1f3a73; } .time-ink { fill: #d3e2ff; } .time-line { stroke: #d3e2ff; }
		.worker { fill: #154b34; } .worker-ink { fill: #cdf5df; } .worker-line { stroke: #cdf5df; }
		.sequence { fill: #642733; } .sequence-ink { fill: #ffd8dd; } .sequence-line { stroke: #ffd8dd; }
		.none { fill: #262e3a; } .none-ink { fill: #97a3b5; } .none-line { stroke: #6d7a8e; } .head { fill: #6d7a8e; }
		.ours { fill: #5fa8dc; } .theirs { fill: #566175; }
	}
	text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
	.mono { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; }
	.big { font-size: 22px; font-weight: 600; } .value { font-size: 16px; font-weight: 600; } .number { font-size: 11px; } .label { font-weight: 600; }
	.line { fill: none; stroke-width: 1.5; } .dashed { stroke-dasharray: 4 4; }
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" class="head"/></marker></defs>
END
	put_box(0.5, 0.5, $width - 1, $height - 1, 'page', 12);
	return;
}

# ---- the bits of an id ----

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

sub draw_id
{
	my ($id, $named) = ('250205019140997122', 'default');
	my ($left, $cell, $bit_top, $bit_height) = (20, 13, 92, 30);
	my @fields = ask("SELECT name, bits, shift, meaning FROM uid_layout('$named')");
	my ($parsed) = ask("SELECT p.timestamp, p.worker, p.sequence, p.id::bit(64), uid_to_text(p.id), l.layout FROM uid_parse($id, '$named') AS p, uid_layout_info('$named') AS l");
	my ($time, $worker, $sequence, $bits, $text, $layout) = @$parsed;
	my %says = (time => $time, worker => $worker, sequence => $sequence);
	my $left_of = sub { my ($bit) = @_; return $left + (63 - $bit) * $cell };

	begin(2 * $left + 64 * $cell, 236, "The 64 bits of the id $id: time $time, worker $worker, sequence $sequence");
	put_text($left, 42, 'mono big ink', $id);
	put_text($width - $left, 30, 'soft', "as text: $text", 'end');
	put_text($width - $left, 50, 'mono soft number', $layout, 'end');
	put_text($left_of->($_) + $cell / 2, $bit_top - 8, 'soft number', $_, 'middle') foreach 63, 55, 47, 39, 31, 23, 15, 7, 0;
	foreach my $bit (reverse 0 .. 63)
	{
		my ($field) = grep { $bit >= $_->[2] && $bit < $_->[2] + $_->[1] } @fields;
		my $class = $field ? $field->[0] : 'none';
		put_box($left_of->($bit) + 0.5, $bit_top, $cell - 1, $bit_height, $class);
		put_text($left_of->($bit) + $cell / 2, $bit_top + 20, "mono $class-ink", substr($bits, 63 - $bit, 1), 'middle');
	}
	foreach (@fields)
	{
		my ($name, $size, $shift, $meaning) = @$_;
		my ($x0, $x1, $y) = ($left_of->($shift + $size - 1) + 1, $left_of->($shift) + $cell - 1, $bit_top + $bit_height);
		my $middle = ($x0 + $x1) / 2;
		put_path("line $name-line", sprintf 'M%s %s v6 H%s v-6 M%s %s v6', $x0, $y + 4, $x1, $middle, $y + 10);
		put_text($middle, $y + 34, "label $name-ink", "$name, $size bits", 'middle');
		put_text($middle, $y + 58, 'mono value ink', $says{$name}, 'middle');
		put_text($middle, $y + 80, 'soft', $meaning =~ s/^the instance that made the id$/which server/r, 'middle');
	}
	return;
}

# ---- what a horizon does ----

sub draw_horizon
{
	# A transaction draws its id, and commits; both readers ask at the same times.
	my @transactions = ([ 'transaction A', 101, 1, 3 ], [ 'transaction B', 102, 2, 8.1 ], [ 'transaction C', 103, 3.6, 5.6 ]);
	my @asks = (6.4, 9.4);
	my ($right, $row) = (848, 46);
	my $at = sub { my ($time) = @_; return 116 + 60 * $time };
	my $bottom = 40 + @transactions * $row + 10;

	begin(872, $bottom + 150, 'A plain reader skips the row of a transaction that is still open; a reader that ends at uid_horizon() gets it later');
	put_text(24, 30, 'soft', 'time →');
	put_path('line none-line', "M84 26 H$right", ' marker-end="url(#arrow)"');
	foreach my $i (0 .. $#asks)
	{
		put_path('line none-line dashed', sprintf 'M%s 40 V%s', $at->($asks[$i]), $bottom + 134);
		put_text($at->($asks[$i]) + 8, $bottom + 4, 'soft', $i ? 'both ask again' : 'both readers ask');
	}
	foreach my $i (0 .. $#transactions)
	{
		my ($name, $id, $drawn, $committed) = @{ $transactions[$i] };
		my $y = 40 + $i * $row;
		put_text(24, $y + 23, 'label ink', $name);
		put_box($at->($drawn), $y + 4, $at->($committed) - $at->($drawn), 30, 'time', 6);
		put_text($at->($drawn) + 8, $y + 24, 'mono time-ink label', $id);
		put_text($at->($committed) - 8, $y + 24, 'time-ink', 'commits', 'end');
		put_text($at->($drawn) + 44, $y + 24, 'time-ink', 'is drawn, and not yet committed') if $committed - $drawn > 5;
	}
	foreach my $with_horizon (0, 1)
	{
		my ($last, $y) = (0, $bottom + 14 + $with_horizon * 62);
		put_text(24, $y + 20, 'label ink', $with_horizon ? 'a reader up to' : 'a plain reader');
		put_text(24, $y + 40, 'mono soft number', $with_horizon ? 'id <= uid_horizon()' : 'id > last');
		foreach my $time (@asks)
		{
			# Below the first id that is drawn and not committed
			my $horizon = min(map { $_->[2] <= $time && $_->[3] > $time ? $_->[1] - 1 : () } @transactions) // max(map { $_->[1] } @transactions);
			my @got = grep { $_ > $last && (!$with_horizon || $_ <= $horizon) } map { $_->[3] <= $time ? $_->[1] : () } @transactions;
			my @lost = grep { my $id = $_->[1]; $_->[3] <= $time && $id <= $last && $_->[3] > $asks[0] } @transactions;
			$last = max($last, @got);
			my $class = @lost && !$with_horizon ? 'sequence' : $with_horizon ? 'worker' : 'none';
			put_box($at->($time) + 8, $y, 160, 50, $class, 6);
			put_text($at->($time) + 18, $y + 21, "label $class-ink", @got ? 'gets ' . join(', ', @got) : 'gets nothing');
			put_text($at->($time) + 18, $y + 40, "$class-ink", @lost && !$with_horizon ? join(', ', map { $_->[1] } @lost) . ' is lost for good' : $with_horizon ? "the horizon is $horizon" : "goes on behind $last");
		}
	}
	return;
}

# ---- a fleet with its registry ----

sub draw_fleet
{
	# [name, what became of it, worker id, first id at ms, granted until]
	my $from = 1795341600_000 - 1735689600_000;	# 2026-11-22 10:00:00 since the default's epoch
	my @nodes = ([ 'node1', 'a primary', 987, 12, '10:01:47' ], [ 'node2', 'a shard', 90, 15, '10:01:52' ], [ 'node2, restored', 'its backup, running beside it', 412, 841, '10:01:33' ]);
	my ($left, $node_width, $gap) = (24, 256, 28);

	begin(872, 380, 'A registry grants each node a worker id until a time; each node issues ids out of its grant by itself');
	my ($x0, $y0, $w0) = (236, 20, 400);
	put_box($x0, $y0, $w0, 142, 'none', 8);
	put_text($x0 + 20, $y0 + 26, 'label ink', 'the registry: a table in any PostgreSQL');
	my @columns = ($x0 + 20, $x0 + 130, $x0 + 280);
	put_text($columns[$_], $y0 + 52, 'soft', (qw(worker_id node), 'granted until')[$_]) foreach 0 .. 2;
	foreach my $i (0 .. $#nodes)
	{
		my ($name, undef, $worker, undef, $until) = @{ $nodes[$i] };
		put_text($columns[0], $y0 + 76 + 22 * $i, 'mono ink label', $worker);
		put_text($columns[1], $y0 + 76 + 22 * $i, 'mono ink', $name);
		put_text($columns[2], $y0 + 76 + 22 * $i, 'mono ink', $until);
	}
	foreach my $i (0 .. $#nodes)
	{
		my ($name, $what, $worker, $ms) = @{ $nodes[$i] };
		my $x = $left + $i * ($node_width + $gap);
		my $middle = $x + $node_width / 2;
		my $top = $x0 + 60 + $i * ($w0 - 120) / 2;
		put_path('line none-line', "M$top 162 L$middle 226", ' marker-start="url(#arrow)" marker-end="url(#arrow)"');
		put_box($x, 230, $node_width, 126, 'worker', 8);
		put_text($x + 18, 256, 'label worker-ink', $name);
		put_text($x + 18, 276, 'worker-ink', $what);
		put_text($x + 18, 304, 'worker-ink', "worker id $worker");
		put_text($x + 18, 336, 'mono value worker-ink', $from + $ms << 22 | $worker << 12);
	}
	my @beside = ([ 24, 'Each node renews its grant', 'before the grant ends,', 'and issues none after it.' ], [ $x0 + $w0 + 24, 'uid_next() takes ids out', 'of memory, and asks', 'the registry nothing.' ]);
	foreach (@beside)
	{
		my ($x, @lines) = @$_;
		put_text($x, 72 + 20 * $_, 'soft', $lines[$_]) foreach 0 .. $#lines;
	}
	return;
}

# ---- the chart of performance ----

sub draw_performance
{
	my ($file) = grep { -e } "$folder/performance.txt", "$FindBin::RealBin/../runs/performance.txt";
	open(my $in, '<', $file) or die "$file: $!\n";
	# {heading of a table}{column}{row}: the median, which comes first in a cell
	my (%figures, $heading, @columns);
	foreach my $line (<$in>)
	{
		if ($line !~ /^\|/) { $heading = $1 if $line =~ /^(\S.*)$/; @columns = (); next }
		my (undef, $name, @cells) = map { s/^ +| +$//gr } split /\|/, $line =~ s/\n//r;
		if (!@columns) { @columns = @cells; next }
		$figures{$heading}{ $columns[$_] }{$name} = ($cells[$_] =~ /^([\d.]+)/)[0] foreach 0 .. $#cells;
	}
	close $in;
	my $rows = 'INSERT, with a primary key';
	my @calls = ('uid_next()', 'nextval(), CACHE 1', 'nextval(), CACHE 1000', 'uuidv7()', 'pgEdge, snowflake.nextval()');
	my @tables = ('uid_next()', 'bigserial', 'bigserial, CACHE 50', 'uuidv7()', 'gen_random_uuid()');
	my @charts = (
		[ 'One call, ns', 'One call', 'ns a call', @calls[ 0 .. 2, 4 ] ],
		[ 'Two sessions, million calls a second', 'Several sessions', '2 sessions', @calls ],
		[ '64 sessions, million calls a second', 'Several sessions', '64 sessions', @calls ],
		[ 'INSERT of 1000000 rows with a primary key, seconds', $rows, 'seconds', @tables ],
		[ 'Its index, MB', $rows, 'index, MB', @tables ],
		[ 'Rows that come later, bytes of WAL each', $rows, 'WAL bytes a row, later', @tables ]);
	# Two columns, three charts each.
	my ($label, $bar, $high) = (186, 160, 24);
	my @heights = (16, 16);
	begin(872, 500, 'What an id costs: uid_next() beside nextval(), uuids and pgEdge');
	foreach my $i (0 .. $#charts)
	{
		my ($title, $table, $column, @cases) = @{ $charts[$i] };
		my $values = $figures{$table}{$column} // next;
		my $side = $i < 3 ? 0 : 1;
		my $left = 20 + $side * 424;
		my $longest = max(map { $values->{$_} // 0 } @cases) || 1;
		put_text($left, $heights[$side] + 18, 'label ink', $title);
		$heights[$side] += 26;
		foreach my $case (grep { defined $values->{$_} } @cases)
		{
			my $length = sprintf '%.1f', max(1, $bar * $values->{$case} / $longest);
			put_text($left + $label, $heights[$side] + 16, 'soft', $case, 'end');
			put_box($left + $label + 10, $heights[$side] + 4, $length, 16, $case =~ /^uid_/ ? 'ours' : 'theirs', 3);
			put_text($left + $label + 16 + $length, $heights[$side] + 16, $case =~ /^uid_/ ? 'label ink' : 'ink', $values->{$case});
			$heights[$side] += $high;
		}
		$heights[$side] += 16;
	}
	return;
}

my %draw = (id => \&draw_id, horizon => \&draw_horizon, fleet => \&draw_fleet, performance => \&draw_performance);
foreach my $name (@names ? @names : sort keys %draw)
{
	$draw{$name}->();
	put('</svg>');
	open(my $out, '>', "$folder/$name.svg") or die "$folder/$name.svg: $!\n";
	print $out join("\n", @svg), "\n";
	close $out or die "$folder/$name.svg: $!\n";
}
